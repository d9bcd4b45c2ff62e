"""What is told in passing: how somebody or something is, what became of it, what is planned.

Matched as in `fact_cues`, on one clause in lower case whose quotations are blanked. Here a clause
begins with what it is about: a name, "my sister", "the bank", a pronoun. Only events of lasting
weight count (moved, signed, died, approved); how nice something is, does not.
"""

from __future__ import annotations

import re

_LEAD = (
    r"^(?:(?:and|but|so|also|well|oh|hey|ok|okay|yeah|yes|yep|no|nah|ugh|hm+|luckily|sadly"
    r"|unfortunately|anyway|btw|by the way|fyi|update|turns out|(?:good|bad|big"
    r"|great) news(?: first)?|then"
    r"|plus|now|tbh)[,.!:]* )*"
)
_SOFT = (
    r"(?:(?:also|now|currently|still|just|really|recently|finally|already|both|never|always|only"
    r"|usually) ){0,8}"
)
_KIN = (
    r"(?:wife|husband|partner|daughters?|sons?|kids?|child|children|baby|mother|mum|mom|father|dad"
    r"|brothers?|sisters?|parents|girlfriend|boyfriend|fianc[eé]e?|grand[a-z]+|grand?pa|twins|niece"
    r"|nephew|uncle|aunt|cousins?|roommate|flatmate|in-laws|stepson|stepdaughter|ex|boss|manager"
    r"|supervisor|colleague|neighbou?r|landlord|landlady|teacher|tutor|doctor|dentist|vet|therapist"
    r"|coach|client|accountant|lawyer|builder|contractor|friend|bestie|team|company|school|bank)"
)
_PETS = r"(?:dogs?|cats?|pup|puppy|kitten|horse|parrot|rabbits?|hamster|tortoise|fish|pet)"
_ROLES = (
    r"(?:landlord|landlady|boss|manager|supervisor|chair|builder|contractor|accountant|lawyer"
    r"|solicitor|agent|doctor|gp|dentist|vet|teacher|tutor|coach|therapist|plumber|electrician"
    r"|architect|supplier|client|customer|lead|contact|cto|ceo|advisor|adviser|notary|surgeon"
    r"|physio|nanny|babysitter|neighbou?r|owner|editor|publisher|dealer|caterer|photographer)"
)
#: What becomes of things and people and is not undone by tomorrow.
_EVENT = (
    r"(?:approved|rejected|(?:counter|co-?)?signed|paid|cancell?ed|confirmed|agreed|refused"
    r"|resigned"
    r"|quit|retired|died|passed away|passed|failed|graduated|moved|left (?:the|us|for|me|his|her)"
    r"|broke (?:down|up|his|her|my)|broke|got (?:married|engaged|divorced|promoted|fired|paid|sick"
    r"|in|into|a (?:new )?(?:job|dog|cat|puppy|kitten|visa|offer))|gets? (?:married|divorced)"
    r"|had (?:a baby|surgery|twins|a stroke|an operation)|gave birth|bought|sold|opened|closed|shut"
    r"|launched|hired|fired|joined|started (?:at|school|work|an?|in|his|her)|finished|split up"
    r"|postponed|rescheduled|increased|raised|lowered|cut (?:him|her|them|us|my|our)|adopted"
    r"|won|lost (?:his|her|the|their)"
    r"|was (?:diagnosed|born|hired|fired|promoted|accepted|rejected|approved|cancell?ed|stolen"
    r"|delivered|signed|sold)|has been (?:diagnosed|promoted|cancell?ed|approved|postponed))"
)
_NOT_YET = r"(?:hasn't|haven't|has not|have not|hadn't|had not|didn't|won't|will not)"
_PENDING = (
    r"(?:pay|paid|sign(?:ed)?|approved?|book(?:ed)?|order(?:ed)?|deliver(?:ed)?|answer(?:ed)?|sold"
    r"|sell|start(?:ed)?|finish(?:ed)?)"
)
_TRAITS = (
    r"(?:(?:is|was|are|were|'s|'re) (?:not )?(?:an? (?!bit\b|lot\b|great\b|good\b|real\b|true\b"
    r"|big\b|huge\b|bad\b|nice\b|blast\b|pleasure\b|joy\b|must\b|mess\b|disaster\b|nightmare\b"
    r"|blessing\b|beautiful\b|lovely\b|wonderful\b|reminder\b|symbol\b|way\b|thing\b|relief\b"
    r"|super\b|amazing\b|special\b|powerful\b|such\b|really\b|pretty\b|perfect\b|fun\b|cool\b|tough"
    r"\b|hard\b|key\b|testament\b|source\b)[\w'-]+|my \w|our \w|from \w|based\b|married\b|engaged\b"
    r"|allergic\b|retired\b|retiring\b|pregnant\b|vegan\b|vegetarian\b|deaf\b|blind\b|diabetic\b"
    r"|called \w|named \w|moving\b|studying\b|in hospital\b|on (?:leave|holiday|sick|maternity)\b"
    r"|coming (?:on|to|home|back|in|at)\b|getting (?:married|divorced)\b|scared of\b|afraid of\b"
    r"|expecting\b|working (?:at|for|as|in|on)\b|living\b|training (?:for|as|to)\b"
    r"|(?:only |now |almost |just )?\d{1,3}\b(?![%/]))"
    r"|works? (?:at|for|in|as|on|from|nights)\b|lives? (?:in|at|near|with|on|alone|next|down|up)"
    r"|stud(?:y|ies) \w|teach(?:es)? \w|plays? (?:the|in|for|\w+)\b|owns? \w|runs? (?:an?|the|it"
    r"|my|our)\b|manages? \w|speaks? \w|(?:really )?(?:likes?|loves?|hates?|prefers?|wants?) \w"
    r"|has (?:an?|the|two|three|four|five|\d|got|diabetes|asthma|no|never)\b|graduated\b"
    r"|comes from\b|grew up\b|was born\b|charges? \w|costs? \w|sells? \w|handles? \w|takes? care"
    r"|can't (?:have|eat|drink|drive|walk|come|swim|read|hear|see|stand)\b"
    r"|doesn't (?:eat|drink|like|drive|speak|want|have|live|work|allow)\b|only (?:eats|drinks|works"
    r"|speaks)\b|eats? \w|drinks? \w|takes? (?:him|her|them|it|the|over|\d|my|our)\b"
    r"|needs? (?:an?|new|to)\b|picks? (?:me|us|him|her|them) up|left (?:me|us)\b)"
)
_NAME_ASIDE = r"(?:,[^,]{1,40},| \([^)]{1,60}\))?"

#: After the name of somebody, or of something.
OF_NAMED = re.compile(
    rf"{_NAME_ASIDE}(?: {_SOFT}|(?=')){_TRAITS}"
    rf"|{_NAME_ASIDE} {_SOFT}(?:{_EVENT}\b|{_NOT_YET} {_SOFT}{_PENDING}\b)"
    r"| \((?:my|our|the) [^)]{2,60}\)"
    r"|,? (?:who is |which is )?(?:my|our) (?:\w+ )?[a-z]+(?=,|$|\.)"
    r"|, an? (?:[\w-]+ ){1,3}(?:in|at|from|near) \w"
)
EVENT_OF_NAMED = re.compile(rf"{_NAME_ASIDE} {_SOFT}(?:{_EVENT}\b|{_NOT_YET} {_SOFT}{_PENDING}\b)")
#: The same, told of by somebody: what is told must be a number or a day.
TOLD = re.compile(
    rf"{_NAME_ASIDE} (?:says|writes|said|wrote|confirmed|told (?:me|us))\b.{{1,80}}\d"
)
#: Somebody of the speaker's, without a name or with one.
_OF_KIN = (
    rf"{_LEAD}(?:my|our) (?:[\w'-]+ ){{0,2}}?(?:{_KIN}|{_PETS})(?:'s (?:[\w-]+ ){{0,2}}[\w-]+)?"
    rf"(?:,? [a-z][\w'-]+,?| \([^)]{{1,60}}\)|, [^,]{{2,40}},)?(?: {_SOFT}|(?='))"
    rf"(?:{_TRAITS}|{_EVENT}\b|starts \w|has to \w|died\b)"
    rf"|{_LEAD}(?:the|our|my) {_PETS} \([^)]{{2,60}}\)"
    rf"|{_LEAD}(?:grandpa|grandma|mum|mom|dad|granny|uncle|aunt) \w+ {_SOFT}(?:{_TRAITS}|{_EVENT})"
)
OF_KIN = re.compile(_OF_KIN)
#: Something definite, and what became of it.
OF_THING = re.compile(
    rf"{_LEAD}(?:the|my|our) (?!same\b|whole\b|idea\b|fact\b|one\b|error\b|code\b|test\b|function"
    rf"\b|query\b|build\b|movie\b|film\b|book\b|game\b|team\b|crowd\b|people\b|others?\b|kids\b)"
    rf"(?:[\w'&-]+ ){{1,3}}?{_SOFT}(?:{_EVENT}\b(?! (?:me|out|by|up|off|through|well|great)\b)"
    rf"|said (?:yes|no)\b|is called \w|(?:is|are) on the \d|(?:is|are) [\d.,]+ ?(?:mm|cm|m|km|kg"
    rf"|kilos|miles|feet|hours|years|euros?|dollars|pounds)\b|(?:only )?goes (?:up )?to \d"
    rf"|{_NOT_YET} {_SOFT}{_PENDING}\b|(?:got|was|were|has been) (?:paid|signed|delivered|sold))"
    rf"|{_LEAD}(?=[\w&/-]*\d)[\w&/-]++ (?:got|was|is|has been) (?:paid|signed|delivered"
    rf"|approved|sold"
    r"|cancell?ed|ordered)\b"
)
#: Who is who: a role, with a name to follow.
IS_NAMED = re.compile(rf"{_LEAD}(?:(?:the|my|our|their) )?(?:[\w-]+ ){{0,2}}?{_ROLES}(?: is|'s) ")
#: A limit or a price of the speaker's own.
LIMIT = re.compile(
    rf"{_LEAD}(?:(?:the|my|our|total|max|overall) )*budget(?:'s| is|:| of)?(?: \w+){{0,2}}? "
    r"[$€£]?\d"
    r"|\b(?:i|we) (?:can|could|can't|cannot)(?: only| at most)? (?:spend|afford|pay|go up to)"
    r"(?: \w+){0,3}? [$€£]?\d"
    r"|\b(?:i|we) (?:always )?get (?:\w+ )?(?:sick|seasick|carsick|migraines?|headaches?|dizzy"
    r"|hives|nauseous) (?:on|from|when|in|after|if)\b"
    r"|\b(?:hurts?|ruins?|wrecks?) my (?:wrists?|back|knees?|eyes|neck|hands?|shoulders?|hips?)\b"
    r"|\b(?:i|we) can't (?:stay|come|work|do|have|stand|take)\b.{0,30}\b(?:late|early|nights"
    r"|weekends|weekdays|(?:mon|tues|wednes|thurs|fri|satur|sun)days)\b"
    r"|\bi(?:'m| am) off (?:dairy|gluten|sugar|meat|alcohol|coffee|caffeine|carbs|bread|nuts)\b"
)
PRICE = re.compile(
    rf"{_LEAD}(?:(?:the|my|our) )?(?:monthly |yearly )?(?:rent|salary|deposit|mortgage|lead time"
    r"|last day|room|flat|fee|deadline|delivery|shift|commute|lease|notice period)"
    r" (?:is|starts|ends|takes|costs|was)(?: \w+){0,2}? [$€£]?\d"
)
#: What the speaker never did.
NEVER = re.compile(
    r"\b(?:i|we)(?:'ve| have) never (?!thought|felt|heard|seen (?:any|such|so|it)|been (?:so|more"
    r"|this|happ|better|good|able|one|a )|realized|realised|met any|looked|wanted|understood"
    r"|experienced|really|quite|had (?:any|such|so|this))[a-z]+"
    r"|\b(?:i|we) never (?:learned|learnt|got|had|owned|went|finished|drank|smoked|lived|worked"
    r"|married|studied|played|travell?ed|flew|drove)\b(?! (?:any|such|to (?:see|say|know)|why|how"
    r"|the point)\b)"
)
#: What the speaker no longer does, or does not do or have.
NOT = re.compile(
    r"\b(?:i|we) no longer \w|\b(?:i|we) (?:don't|do not|dont|can't|cannot) .{2,60} any ?more\b"
    r"|\b(?:i|we) (?:don't|do not|dont) (?:own|drive|smoke|drink|eat|use|wear|speak|cook|travel"
    r"|live|work (?:on|at|for|in|with)|watch|play|have (?:(?:an? )(?:car|dog|cat|pet|degree"
    r"|licen[cs]e"
    r"|job|garden|tv|phone|laptop|visa|passport|partner|boyfriend|girlfriend|wife|husband|kitchen"
    r"|oven|dishwasher|bike|house|balcony|freezer|microwave|printer|budget|lift|landlord)"
    r"|kids|children|pets|siblings|insurance))\b(?! (?:it|that|this|them|enough"
    r"|much)\b)"
    rf"|\b(?:i|we)(?:'ve| have)? {_SOFT}(?:stopped|quit|gave up|given up) (?!(?:by|in|at|to|for|on"
    r"|it|worrying|thinking)\b)\w"
)
#: Said by one who has chosen, with or without "I".
CHOSEN = re.compile(
    rf"{_LEAD}(?:decided[,.:] )?(?:going|sticking|staying|settled|went) (?:with|on) (?!the flow"
    r"|that|it\b)\w"
    rf"|{_LEAD}(?!(?:so|as|that|what|whatever|here|there|how|the way|this|like|and|well|but)\b)"
    r"[\w&'-]+(?: [\w&'-]+){0,3} it is[.!]?$"
    r"|\b(?:i|we)(?:'ve| have)? (?:just |finally |really )*changed (?:my|our) minds?(?: about| on|,"
    r") (?!it\b|that\b)\w"
    rf"|{_LEAD}changed my mind (?:about|on) \w"
    rf"|{_LEAD}(?:i|we)(?:(?:'m|'re) (?=[a-z]+ing\b)|(?:'ve|'ll)? )(?!feel|hope|think|know|guess"
    rf"|believe|love|like"
    r"|enjoy|wish|want|need|had|was|were|am|are|convinced|learned|realized|realised).{3,80}"
    r" (?:in the end|after all|instead)[.!]?$"
    r"|\b(?:i|we)(?:'re|'m) (?:naming|calling) (?:him|her|it|them|the|our) \w"
    r"|\b(?:i'm|i am|we're|we are) not (?:doing|buying|taking|moving|selling|going (?:to|for|with)"
    r"|paying|renewing|renting) (?!that|this|it|anywhere|there)\w"
)
WANTED = re.compile(r"\b(?:i|we) (?:want|need) .{2,60}, not \w|\b(?:i|we) want (?:\w+ ){1,3}only\b")
#: What the speaker did, has, or does for a living, beside `fact_cues`.
DONE = re.compile(
    rf"\b(?:i|we)(?:'ve| have)? {_SOFT}(?:signed(?! up)|paid|sold|married|passed"
    r"|moved (?:in|out|house)|submitted|cancelled|canceled|handed in|inherited|hired|fired"
    r"|got (?:the|my|our) (?:job|visa|offer|permit|keys|results|grant|licen[cs]e|mortgage|loan"
    r"|flat|house|degree"
    r"|promotion)|switched (?:to|from)|signed up for|registered|applied (?:for|to)"
    r"|finished (?:the|my|our"
    r"|reading|building)|bought|ordered|booked|left (?:my|our) (?:\w+ ){0,2}?(?:job|company|band"
    r"|team)|attended|entered (?:an?|the|my)|declined|turned down|(?:co-)?hosted|completed|competed"
    r"|(?:came|finished|took) (?:first|second|third|1st|2nd|3rd)|ran (?:an?|the|my) (?:\w+ )?"
    r"(?:half|marathon|race)|travell?ed to|recorded|performed at|allocated|met (?:my|our|with)"
    r"|(?:increased|reduced|raised|lowered|cut) (?:my|our|the)\b[^.;]{2,60} (?:to|by)|set aside"
    r"|wrote (?:an?|my)|made (?:an? (?:limited|new|website|app|film|album|cake|deal)"
    r"|my (?:first|own)))\b"
    r"(?! (?:it|this|that|them|attention|off|the price|by)\b)(?= \S)"
    r"|\b(?:i|we) (?:haven't|hadn't|have not|didn't) (?:yet )?(?:paid?|sign(?:ed)?|book(?:ed)?"
    r"|order(?:ed)?|buy|bought|finish(?:ed)?|sell|sold|renew(?:ed)?) (?!it|that|this)\w"
    r"|\bwe (?:sell|make|build|serve|rent out|ship|offer|deploy|meet|rehearse|train|brew|bake)"
    r" (?!sure|it|that|this|sense|the most|up|a (?:great|good)|them|use)\w"
    rf"|{_LEAD}(?:sent|ordered|booked|signed|paid|bought|sold|cancelled|submitted|hired|quit) "
    r"(?:the|an?|my|our|them|him|her|\d+|[\w&]+ (?:&|an?|the)) ?[\w&]"
    r"|\b(?:i|we) (?!love|like|want|need|feel|think|know|see|get|hear|am|have)[a-z]+ (?:to|from|at"
    r"|in|with) [\w ]{2,30}? (?:now|these days|nowadays)(?=[.!,]|$)"
)
#: The speaker will, on a day that is named.
PLANS = re.compile(
    r"\b(?:i|we)(?:'m|'re| am| are) (?:(?:also|both|just|still|now) )*(?!thinking|hoping|wondering"
    r"|considering|keeping|starting to|looking|feeling|trying|asking|getting (?:ready|excited"
    r"|nervous)|not\b)[a-z]+ing\b"
    r"|(?<!think )\b(?:i|we)(?:'ll| will) (?!let|tell|send|check|ask|try|keep|see|talk|think|do"
    r"|be (?:happy|glad|sure|there)|make sure|definitely|never|always|get back|post|share)[a-z]+"
    r"|\b(?:i|we) (?:fly|leave|travel|move|start|go|drive|present|return|meet|defend|have (?:an?|my"
    r"|our|the|to)|need to|must|get (?:my|the|married|paid)|go back|come back|am due|are due)\b"
)
#: The same, without "I".
ELIDED = re.compile(
    rf"{_LEAD}(?:starting|flying|moving|leaving|heading|travell?ing|meeting|seeing|visiting) \w"
)
#: Something begins or ends, on a day that is named.
BEGINS = re.compile(
    rf"{_LEAD}(?:(?:the|my|our) )?(?!it\b|that\b|this\b|what\b|who\b)(?:[a-z'-]+ ){{1,3}}?"
    r"(?:starts?|begins?|ends?|opens?|closes?|(?:is|are) (?:due|on|at)|arrives?|expires?|moves? to"
    r"|runs until|is back)\b"
)
#: Somebody else will.
THEY_PLAN = re.compile(
    r"\b(?:moves?|moved|pushed|pushes|starts?|ends?|comes?|arrives?|leaves?|flies|gets?|wants?"
    r"|needs?|delivers?|takes?|returns?|opens?|closes?|visits?|lands|expects?|graduates?|retires?"
    r"|has|have|is|are|will|'s|'ll|begins?|picks?|postponed|delivery|expires?)\b"
)
#: A clause about who or what the one before it is about, and what it says that lasts.
BACK = re.compile(r"^(?:and |but |so |bc |because |cause )*(?P<who>he|she|it|they)\b")
BACK_STATE = re.compile(
    rf"^(?:and |but |so |bc |because |cause )*(?:(?:he|she|they)(?: {_SOFT}|(?=')){_TRAITS}"
    rf"|(?:he|she|they) {_SOFT}(?:{_EVENT}\b|{_NOT_YET} {_SOFT}{_PENDING}\b)"
    r"|(?:it|they)(?:'s|'re| is| are) (?:called \w|made of|due\b|broken\b|booked\b|sold\b|paid\b"
    r"|signed\b|from \w|in (?!the (?:middle|end)|my (?:blood|heart))\w+$|on the \d|written in"
    r"|based (?:in|on)|\d|[a-z]+[- ](?:bearing|proof|free|resistant|tight|made|sized|based)\b)"
    r"|it(?:'s| is) an? [a-z]*\d)"
)
#: To whom or what it can point: somebody named before, or a thing.
WHO = re.compile(rf"\b(?:{_KIN}|{_PETS}|{_ROLES}|guy|woman|man|lady|girl|boy|nurse|dev|adopted)\b")
_FAMILY = (
    r"\b(?:my|our) (?:\w+ ){0,2}?(?:wife|husband|partner|daughters?|sons?|kids?|mother|mum|mom"
    r"|father|dad|brothers?|sisters?|parents|girlfriend|boyfriend|fianc[eé]e?|grand[a-z]+|twins"
    r"|niece"
    r"|nephew|uncle|aunt|cousins?|child|children)\b"
)
FAMILY = re.compile(_FAMILY)
OF_FAMILY = re.compile(rf"(?=.{{0,60}}{_FAMILY})(?:{_OF_KIN})")
WHAT = re.compile(r"\b(?:the|my|our|an?|this|that) \w")
#: A name at the beginning of a sentence, told by what follows it; in the text as it is written.
SOMEBODY = re.compile(
    r"(?:(?i:and|but|so|also|oh|ok|hey|well),? )?(?!(?:The|My|Our|It|This|That|What|Yes|No|You"
    r"|He|She|They|We|There|Here|Who|So|And|But|Then|If|When|Maybe|Someone|Everyone|Nobody|Mine)\b)"
    r"[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}"
    r"(?= (?:could|can|will|is|was|has|had|does|did|wants|says|said|lives|works|might|\w+ed)\b)"
)
OF_MINE = re.compile(
    r"(?:(?i:and|but|so|also|oh|ok|hey|well|(?:last|one more) thing),? )?"
    r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)?"
    r"(?: \((?:my|our) (?:\w+ )?\w+|, (?:my|our) (?:\w+ )?\w+,)"
)
#: What only people do: then the capital at the beginning is that of a name.
SOMEBODY_DID = re.compile(
    r"(?!(?:It|This|That|He|She|They|We|You|There|Who|Someone|Everyone|Nobody|Never|Just|Finally"
    r"|Then|Already|Yesterday|Always)\b)[A-Z][a-z]+(?: [A-Z][a-z]+)? (?:finally |just |also )?"
    r"(?:quit|resigned|retired|died|passed away|got (?:married|engaged|divorced|fired|promoted)"
    r"|had a baby|gave birth|moved (?:to|in|out|away)|signed off)\b"
)
#: With these a clause that begins with nobody is still worth a look.
WORTH = re.compile(
    r"\b(?:he|she|it|they|budget|rent|salary|deposit|going with|sticking with|it is|after all"
    r"|instead|changed my mind|last day|room|flat|commute|starts?|ends|begins|expires|due"
    r"|quit|died|resigned|retired|married|passed away|paid|signed|approved|sold|booked|ordered"
    r"|sent|cancelled)\b"
    rf"|\b(?:{_ROLES}|the)\b"
)
