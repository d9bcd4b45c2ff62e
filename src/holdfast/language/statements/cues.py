"""The words by which a sentence is known to state a lasting fact, and of which category.

Everything is matched on one clause in lower case whose quotations are blanked. `signals` hint
what a turn may show and forgive much; here a clause must state the thing itself, because what is
kept is believed. No pattern has nested unbounded repeats.
"""

from __future__ import annotations

import re

from holdfast.language.lexicon import MONTHS, NEAREST_KIN, PET, RELATIVES, SEASONS, WEEKDAY, any_of
from holdfast.language.regex import regex

# ----------------------------------------------------------------------
# The words by which a clause states nothing that lasts, whatever else stands in it.
# ----------------------------------------------------------------------

#: Who speaks of themselves, in either language.
FIRST_PERSON = regex(r"\b(?:i|im|ive|we|my|our|me|us|mine)\b|我")
#: Said with less than certainty.
HEDGED = regex(
    r"\b(?:i (?:think|guess|suppose|believe)|maybe|perhaps|probably|possibly|might be|not sure"
    r"|i'm pretty sure|as far as i (?:know|remember)|if i remember)\b|可能|也许|大概|好像|应该是"
)
#: Supposed, wished or asked: states nothing.
SUPPOSED = regex(
    r"^(?:(?:and|but|so|well|sure|ok|okay|yes|yeah|great),? )*(?:if|otherwise|or else"
    r"|suppose|imagine|pretend|what if|unless|let me"
    r"|let's (?!go with|stick with|settle on)|say i|as if|would|should|do|does|did|have you"
    r"|are you|is it|how|what|why|when(?=.*\?)|where|who)\b|\bi wish\b|\b(?:i|we) (?:might|may"
    r"|could|should|wonder|was wondering|were wondering)\b|\b(?:what )?if (?:i"
    r"|we)\b(?=.{0,12}\b(?:was|were|had|have|could|can|should)\b)|\bwould (?:be|have|you)\b"
    r"|\bmaybe (?:i|we|you)\b(?=.{0,200}\b(?:can|should|try)\b)|^(?:如果|假如|要是)|[吗呢][?？。]?$"
)
#: What is felt, or is going on in the talk, and says nothing about a life.
IDLE = regex(
    r"\bi (?:have|had|get|got|'ve got) (?:an?|some|one|another|no|the|two|a few"
    r"|a couple of) (?:\w+ )?(?:questions?|ideas?|feeling|problems?|issues?|doubts?|question"
    r"|favou?r|hunch|clue|errors?|bugs?|thoughts?|suggestions?|concerns?|request|lot|blast|chance"
    r"|look|moment|minute|point|(?:good|great|hard|bad|nice|rough|fun|lovely|amazing) (?:time|day"
    r"|week|weekend|idea|feeling))\b|\bi(?:'?m| am) (?:(?:so|really|very|just|also|not|still|super"
    r"|pretty|quite|a bit|a little|kinda|kind of|already) )*(?:sure|stressed|nervous|anxious"
    r"|unsure|pumped|psyched|overwhelmed|glad|happy|sorry|proud|excited|curious|grateful|thankful"
    r"|wondering|asking|looking|confused|thrilled|impressed|afraid|getting an?|seeing"
    r"|having (?:trouble|issues|problems|a hard)|stuck|using the following|facing|encountering"
    r"|concerned|worried|struggling|thinking|trying to (?:understand|figure|find|get|see|decide"
    r"|implement|fix|debug|solve|make sense|ensure|work out|come up))\b"
    r"|\b(?:can't|cannot|could not|couldn't) (?:wait|believe|help|imagine|thank|seem|agree more"
    r"|complain|tell|figure|remember|see|find|get|say|think|decide|explain|recall)\b"
    r"|\b(?:here's|here is|below is|attached|see below)\b|^(?:thanks|thank you|sounds|that sounds"
    r"|wow|congrat|good luck|take care|no worries)\b(?!.*[,!.] (?:i|my|we)\b)"
)

#: Points at something outside of the sentence: alone it says nothing.
POINTS = regex(
    r"\b(?:of|love|like|enjoy|hate|prefer|into|using|use|have|bought|joined|started|adore|doing|on"
    r"|about|for|in|to|at|with) (?:this|that|these|those)\b(?! (?:year|month|week|summer|winter"
    r"|spring|autumn|fall|morning|evening|weekend|time|is|are))|\bthere[.!]?$|\b(?:done|tried|do"
    r"|make|making|doing|create|borrowing|buying|getting) (?:one|this|that|it)(?: before| again"
    r"| too)?[.!]?$|\b(?:something|take a look|check it out|here are|the idea|your)\b"
    r"|^(?:[\w',]+ ){0,4}?(?:i|we)(?:'\w+)?(?: (?!an?\b|the\b|my\b|our\b|some\b"
    r"|two\b)[\w']+){1,6} (?:it|them|him|her|there)\b(?! (?:is|was|are|were|'s))"
)


# ----------------------------------------------------------------------
# What is told in passing: how somebody or something is, what became of it, what is planned.
#
# Here a clause begins with what it is about: a name, "my sister", "the bank", a pronoun. Only
# events of lasting weight count (moved, signed, died, approved); how nice something is, does not.
# ----------------------------------------------------------------------

_LEAD = (
    r"^(?:(?:and|but|so|also|well|oh|hey|ok|okay|yeah|yes|yep|no|nah|ugh|hm+|luckily|sadly"
    r"|unfortunately|anyway|btw|by the way|fyi|update|turns out|(?:good|bad|big"
    r"|great) news(?: first)?|then|plus|now|tbh)[,.!:]* )*"
)
_OFT = (
    r"(?:(?:also|now|currently|still|just|really|recently|finally|already|both|never|always|only"
    r"|usually) ){0,8}"
)
_KIN = (
    rf"(?:{RELATIVES}|baby|granpa|roommate|flatmate|in-laws|stepson|stepdaughter|ex|boss|manager"
    r"|supervisor|colleague|neighbou?r|landlord|landlady|teacher|tutor|doctor|dentist|vet|therapist"
    r"|coach|client|accountant|lawyer|builder|contractor|friend|bestie|team|company|school|bank)"
)
_ANIMAL = rf"(?:{PET}|pup|pet)"
_ROLES = (
    r"(?:landlord|landlady|boss|manager|supervisor|chair|builder|contractor|accountant|lawyer"
    r"|solicitor|agent|doctor|gp|dentist|vet|teacher|tutor|coach|therapist|plumber|electrician"
    r"|architect|supplier|client|customer|lead|contact|cto|ceo|advisor|adviser|notary|surgeon"
    r"|physio|nanny|babysitter|neighbou?r|owner|editor|publisher|dealer|caterer|photographer)"
)
#: What becomes of things and people and is not undone by tomorrow.
_EVENT = (
    r"(?:approved|rejected|(?:counter|co-?)?signed|paid|cancell?ed|confirmed|agreed|refused"
    r"|resigned|quit|retired|died|passed away|passed|failed|graduated|moved|left (?:the|us|for|me"
    r"|his|her)|broke (?:down|up|his|her|my)|broke|got (?:married|engaged|divorced|promoted|fired"
    r"|paid|sick|in|into|a (?:new )?(?:job|dog|cat|puppy|kitten|visa|offer))|gets? (?:married"
    r"|divorced)|had (?:a baby|surgery|twins|a stroke|an operation)|gave birth|bought|sold|opened"
    r"|closed|shut|launched|hired|fired|joined|started (?:at|school|work|an?|in|his|her)|finished"
    r"|split up|postponed|rescheduled|increased|raised|lowered|cut (?:him|her|them|us|my|our)"
    r"|adopted|won|lost (?:his|her|the|their)|was (?:diagnosed|born|hired|fired|promoted|accepted"
    r"|rejected|approved|cancell?ed|stolen|delivered|signed|sold)|has been (?:diagnosed|promoted"
    r"|cancell?ed|approved|postponed))"
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
OF_NAMED = regex(
    rf"{_NAME_ASIDE}(?: {_OFT}|(?=')){_TRAITS}"
    rf"|{_NAME_ASIDE} {_OFT}(?:{_EVENT}\b|{_NOT_YET} {_OFT}{_PENDING}\b)"
    r"| \((?:my|our|the) [^)]{2,60}\)"
    r"|,? (?:who is |which is )?(?:my|our) (?:\w+ )?[a-z]+(?=,|$|\.)"
    r"|, an? (?:[\w-]+ ){1,3}(?:in|at|from|near) \w"
)
EVENT_OF_NAMED = regex(rf"{_NAME_ASIDE} {_OFT}(?:{_EVENT}\b|{_NOT_YET} {_OFT}{_PENDING}\b)")
#: The same, told of by somebody: what is told must be a number or a day.
TOLD = regex(rf"{_NAME_ASIDE} (?:says|writes|said|wrote|confirmed|told (?:me|us))\b.{{1,80}}\d")
#: Somebody of the speaker's, without a name or with one.
_OF_KIN = (
    rf"{_LEAD}(?:my|our) (?:[\w'-]+ ){{0,2}}?(?:{_KIN}|{_ANIMAL})(?:'s (?:[\w-]+ ){{0,2}}[\w-]+)?"
    rf"(?:,? [a-z][\w'-]+,?| \([^)]{{1,60}}\)|, [^,]{{2,40}},)?(?: {_OFT}|(?='))"
    rf"(?:{_TRAITS}|{_EVENT}\b|starts \w|has to \w|died\b)"
    rf"|{_LEAD}(?:the|our|my) {_ANIMAL} \([^)]{{2,60}}\)"
    rf"|{_LEAD}(?:grandpa|grandma|mum|mom|dad|granny|uncle|aunt) \w+ {_OFT}(?:{_TRAITS}|{_EVENT})"
)
OF_KIN = regex(_OF_KIN)
#: Something definite, and what became of it.
OF_THING = regex(
    rf"{_LEAD}(?:the|my|our) (?!same\b|whole\b|idea\b|fact\b|one\b|error\b|code\b|test\b|function"
    rf"\b|query\b|build\b|movie\b|film\b|book\b|game\b|team\b|crowd\b|people\b|others?\b|kids\b)"
    rf"(?:[\w'&-]+ ){{1,3}}?{_OFT}(?:{_EVENT}\b(?! (?:me|out|by|up|off|through|well|great)\b)"
    rf"|said (?:yes|no)\b|is called \w|(?:is|are) on the \d|(?:is|are) [\d.,]+ ?(?:mm|cm|m|km|kg"
    rf"|kilos|miles|feet|hours|years|euros?|dollars|pounds)\b|(?:only )?goes (?:up )?to \d"
    rf"|{_NOT_YET} {_OFT}{_PENDING}\b|(?:got|was|were|has been) (?:paid|signed|delivered|sold))"
    rf"|{_LEAD}(?=[\w&/-]*\d)[\w&/-]++ (?:got|was|is|has been) (?:paid|signed|delivered|approved"
    r"|sold|cancell?ed|ordered)\b"
)
#: Who is who: a role, with a name to follow.
IS_NAMED = regex(rf"{_LEAD}(?:(?:the|my|our|their) )?(?:[\w-]+ ){{0,2}}?{_ROLES}(?: is|'s) ")
#: A limit or a price of the speaker's own.
LIMIT = regex(
    rf"{_LEAD}(?:(?:the|my|our|total|max|overall) )*budget(?:'s| is|:| of)?(?: \w+){{0,2}}? "
    r"[$€£]?\d"
    r"|\b(?:i|we) (?:can|could|can't|cannot)(?: only| at most)? (?:spend|afford|pay|go up to)"
    r"(?: \w+){0,3}? [$€£]?\d"
    r"|\b(?:i|we) (?:always )?get (?:\w+ )?(?:sick|seasick|carsick|migraines?|headaches?|dizzy"
    r"|hives|nauseous) (?:on|from|when|in|after|if)\b"
    r"|\b(?:hurts?|ruins?|wrecks?) my (?:wrists?|back|knees?|eyes|neck|hands?|shoulders?|hips?)\b"
    r"|\b(?:i|we) can't (?:stay|come|work|do|have|stand|take)\b.{0,30}\b(?:late|early|nights"
    rf"|weekends|weekdays|{WEEKDAY}s)\b"
    r"|\bi(?:'?m| am) off (?:dairy|gluten|sugar|meat|alcohol|coffee|caffeine|carbs|bread|nuts)\b"
)
PRICE = regex(
    rf"{_LEAD}(?:(?:the|my|our) )?(?:monthly |yearly )?(?:rent|salary|deposit|mortgage|lead time"
    r"|last day|room|flat|fee|deadline|delivery|shift|commute|lease|notice period)"
    r" (?:is|starts|ends|takes|costs|was)(?: \w+){0,2}? [$€£]?\d"
)
#: What the speaker never did.
NEVER = regex(
    r"\b(?:i|we)(?:'?ve| have) never (?!thought|felt|heard|seen (?:any|such|so|it)|been (?:so|more"
    r"|this|happ|better|good|able|one|a )|realized|realised|met any|looked|wanted|understood"
    r"|experienced|really|quite|had (?:any|such|so|this))[a-z]+|\b(?:i|we) never (?:learned|learnt"
    r"|got|had|owned|went|finished|drank|smoked|lived|worked|married|studied|played|travell?ed|flew"
    r"|drove)\b(?! (?:any|such|to (?:see|say|know)|why|how|the point)\b)"
)
#: What the speaker no longer does, or does not do or have.
NOT = regex(
    r"\b(?:i|we) no longer \w|\b(?:i|we) (?:don't|do not|dont|can't|cannot) .{2,60} any ?more\b"
    r"|\b(?:i|we) (?:don't|do not|dont) (?:own|drive|smoke|drink|eat|use|wear|speak|cook|travel"
    r"|live|work (?:on|at|for|in|with)|watch|play|have (?:(?:an? )(?:car|dog|cat|pet|degree"
    r"|licen[cs]e|job|garden|tv|phone|laptop|visa|passport|partner|boyfriend|girlfriend|wife"
    r"|husband|kitchen|oven|dishwasher|bike|house|balcony|freezer|microwave|printer|budget|lift"
    r"|landlord)|kids|children|pets|siblings|insurance))\b(?! (?:it|that|this|them|enough|much)\b)"
    rf"|\b(?:i|we)(?:'?ve| have)? {_OFT}(?:stopped|quit|gave up|given up) (?!(?:by|in|at|to|for|on"
    r"|it|worrying|thinking)\b)\w"
)
#: Said by one who has chosen, with or without "I".
CHOSEN = regex(
    rf"{_LEAD}(?:decided[,.:] )?(?:going|sticking|staying|settled|went) (?:with|on) (?!the flow"
    r"|that|it\b)\w"
    rf"|{_LEAD}(?!(?:so|as|that|what|whatever|here|there|how|the way|this|like|and|well|but)\b)"
    r"[\w&'-]+(?: [\w&'-]+){0,3} it is[.!]?$"
    r"|\b(?:i|we)(?:'?ve| have)? (?:just |finally |really )*changed (?:my|our) minds?(?: about| on"
    r"|,) (?!it\b|that\b)\w"
    rf"|{_LEAD}changed my mind (?:about|on) \w"
    rf"|{_LEAD}(?:i|we)(?:(?:'?m|'re) (?=[a-z]+ing\b)|(?:'?ve|'ll)? )(?!feel|hope|think|know|guess"
    rf"|believe|love|like"
    r"|enjoy|wish|want|need|had|was|were|am|are|convinced|learned|realized|realised).{3,80}"
    r" (?:in the end|after all|instead)[.!]?$"
    r"|\b(?:i|we)(?:'re|'m) (?:naming|calling) (?:him|her|it|them|the|our) \w"
    r"|\b(?:i'm|i am|we're|we are) not (?:doing|buying|taking|moving|selling|going (?:to|for|with)"
    r"|paying|renewing|renting) (?!that|this|it|anywhere|there)\w"
)
WANTED = regex(r"\b(?:i|we) (?:want|need) .{2,60}, not \w|\b(?:i|we) want (?:\w+ ){1,3}only\b")
#: What the speaker did, has, or does for a living, beside CONTEXT.
DONE = regex(
    rf"\b(?:i|we)(?:'?ve| have)? {_OFT}(?:signed(?! up)|paid|sold|married|passed|moved (?:in|out"
    r"|house)|submitted|cancelled|canceled|handed in|inherited|hired|fired|got (?:the|my"
    r"|our) (?:job|visa|offer|permit|keys|results|grant|licen[cs]e|mortgage|loan|flat|house"
    r"|degree|promotion)|switched (?:to|from)|signed up for|registered|applied (?:for|to)"
    r"|finished (?:the|my|our"
    r"|reading|building)|bought|ordered|booked|left (?:my|our) (?:\w+ ){0,2}?(?:job|company|band"
    r"|team)|attended|entered (?:an?|the|my)|declined|turned down|(?:co-)?hosted|completed"
    r"|competed|(?:came|finished|took) (?:first|second|third|1st|2nd|3rd)|ran (?:an?|the"
    r"|my) (?:\w+ )?(?:half|marathon|race)|travell?ed to|recorded|performed at|allocated|met (?:my"
    r"|our|with)|(?:increased|reduced|raised|lowered|cut) (?:my|our|the)\b[^.;]{2,60} (?:to|by)"
    r"|set aside|wrote (?:an?|my)|made (?:an? (?:limited|new|website|app|film|album|cake|deal)"
    r"|my (?:first|own)))\b(?! (?:it|this|that|them|attention|off|the price|by)\b)(?= \S)"
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
PLANS = regex(
    r"\b(?:i|we)(?:'?m|'re| am| are) (?:(?:also|both|just|still|now) )*(?!thinking|hoping|wondering"
    r"|considering|keeping|starting to|looking|feeling|trying|asking|getting (?:ready|excited"
    r"|nervous)|not\b)[a-z]+ing\b"
    r"|(?<!think )\b(?:i|we)(?:'ll| will) (?!let|tell|send|check|ask|try|keep|see|talk|think|do"
    r"|be (?:happy|glad|sure|there)|make sure|definitely|never|always|get back|post|share)[a-z]+"
    r"|\b(?:i|we) (?:fly|leave|travel|move|start|go|drive|present|return|meet|defend|have (?:an?|my"
    r"|our|the|to)|need to|must|get (?:my|the|married|paid)|go back|come back|am due|are due)\b"
)
#: The same, without "I".
ELIDED = regex(
    rf"{_LEAD}(?:starting|flying|moving|leaving|heading|travell?ing|meeting|seeing|visiting) \w"
)
#: Something begins or ends, on a day that is named.
BEGINS = regex(
    rf"{_LEAD}(?:(?:the|my|our) )?(?!it\b|that\b|this\b|what\b|who\b)(?:[a-z'-]+ ){{1,3}}?"
    r"(?:starts?|begins?|ends?|opens?|closes?|(?:is|are) (?:due|on|at)|arrives?|expires?|moves? to"
    r"|runs until|is back)\b"
)
#: Somebody else will.
THEY_PLAN = regex(
    r"\b(?:moves?|moved|pushed|pushes|starts?|ends?|comes?|arrives?|leaves?|flies|gets?|wants?"
    r"|needs?|delivers?|takes?|returns?|opens?|closes?|visits?|lands|expects?|graduates?|retires?"
    r"|has|have|is|are|will|'s|'ll|begins?|picks?|postponed|delivery|expires?)\b"
)
#: A clause about who or what the one before it is about, and what it says that lasts.
BACK = regex(r"^(?:and |but |so |bc |because |cause )*(?P<who>he|she|it|they)\b")
BACK_STATE = regex(
    rf"^(?:and |but |so |bc |because |cause )*(?:(?:he|she|they)(?: {_OFT}|(?=')){_TRAITS}"
    rf"|(?:he|she|they) {_OFT}(?:{_EVENT}\b|{_NOT_YET} {_OFT}{_PENDING}\b)"
    r"|(?:it|they)(?:'s|'re| is| are) (?:called \w|made of|due\b|broken\b|booked\b|sold\b|paid\b"
    r"|signed\b|from \w|in (?!the (?:middle|end)|my (?:blood|heart))\w+$|on the \d|written in"
    r"|based (?:in|on)|\d|[a-z]+[- ](?:bearing|proof|free|resistant|tight|made|sized|based)\b)"
    r"|it(?:'s| is) an? [a-z]*\d)"
)
#: To whom or what it can point: somebody named before, or a thing.
WHO = regex(rf"\b(?:{_KIN}|{_ANIMAL}|{_ROLES}|guy|woman|man|lady|girl|boy|nurse|dev|adopted)\b")
_FAMILY_STATE = rf"\b(?:my|our) (?:\w+ ){{0,2}}?(?:{RELATIVES})\b"
FAMILY = regex(_FAMILY_STATE)
OF_FAMILY = regex(rf"(?=.{{0,60}}{_FAMILY_STATE})(?:{_OF_KIN})")
WHAT = regex(r"\b(?:the|my|our|an?|this|that) \w")
#: A name at the beginning of a sentence, told by what follows it; in the text as it is written.
SOMEBODY = regex(
    r"(?:(?i:and|but|so|also|oh|ok|hey|well),? )?(?!(?:The|My|Our|It|This|That|What|Yes|No|You"
    r"|He|She|They|We|There|Here|Who|So|And|But|Then|If|When|Maybe|Someone|Everyone|Nobody|Mine)\b)"
    r"[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}"
    r"(?= (?:could|can|will|is|was|has|had|does|did|wants|says|said|lives|works|might|\w+ed)\b)"
)
OF_MINE = regex(
    r"(?:(?i:and|but|so|also|oh|ok|hey|well|(?:last|one more) thing),? )?[A-Z][\w'-]+(?: "
    r"[A-Z][\w'-]+)?(?: \((?:my|our) (?:\w+ )?\w+|, (?:my|our) (?:\w+ )?\w+,)"
)
#: What only people do: then the capital at the beginning is that of a name.
SOMEBODY_DID = regex(
    r"(?!(?:It|This|That|He|She|They|We|You|There|Who|Someone|Everyone|Nobody|Never|Just|Finally"
    r"|Then|Already|Yesterday|Always)\b)[A-Z][a-z]+(?: [A-Z][a-z]+)? (?:finally |just |also )?"
    r"(?:quit|resigned|retired|died|passed away|got (?:married|engaged|divorced|fired|promoted)"
    r"|had a baby|gave birth|moved (?:to|in|out|away)|signed off)\b"
)
#: With these a clause that begins with nobody is still worth a look.
WORTH = regex(
    r"\b(?:he|she|it|they|budget|rent|salary|deposit|going with|sticking with|it is|after all"
    r"|instead|changed my mind|last day|room|flat|commute|starts?|ends|begins|expires|due|quit"
    r"|died|resigned|retired|married|passed away|paid|signed|approved|sold|booked|ordered|sent"
    rf"|cancelled)\b|\b(?:{_ROLES}|the)\b"
)


_SOFT = (
    r"(?:(?:really|also|still|just|do|quite|currently|now|actually|mostly|recently|finally|already"
    r"|always|even|both|mainly|totally|absolutely|only) )*"
)
_FAMILY = rf"(?:{RELATIVES}|boss|roommate|in-laws|stepson|stepdaughter)"
_PETS = rf"(?:{PET})"
_COUNT = r"(?:an?|one|two|three|four|five|six|seven|\d{1,2}|several|my own|our own)"
_WEEKDAYS = (
    rf"{WEEKDAY}s|weekends|weekdays|weeknights|{WEEKDAY} (?:mornings|evenings|nights|afternoons)"
)
_OFTEN = (
    rf"(?:every (?:single )?(?:other )?(?:day|morning|evening|night|week|month|year|summer|winter"
    rf"|weekend|spring|autumn|fall|second|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?\b"
    rf"|(?:once|twice|\w+ times) (?:a|per) (?:day|week|month|year)|on (?:{_WEEKDAYS})"
    r"|(?:in the|most) (?:mornings|evenings))"
)


def _any(*patterns: str) -> re.Pattern[str]:
    return regex("|".join(patterns))


#: What somebody must, must not, or cannot.
CONSTRAINT = _any(
    r"\b(?:i|we)(?:'?m|'re| am| are)? (?:\w+ )?(?:allergic|intolerant|coeliac|celiac)\b",
    r"\bi(?:'?m| am) (?:\w+ )?(?:lactose|gluten)[- ]intolerant\b|\b(?:have|has"
    r"|got) (?:an? )?(?:\w+ )?(?:allerg(?:y|ies)|intolerance)\b",
    r"\b(?:i|we) (?:can'?t|cannot|can not|am not able to|are not able to) (?:eat|drink (?!to)|drive"
    r"|swim|fly|lift|spend|afford|work (?:on|after|before|past|more|late|week|night|in|with)|digest"
    r"|have (?:dairy|gluten|nuts|alcohol|caffeine|sugar|lactose)|run (?:any ?more|long)|travel"
    r"|attend|stay (?:past|later)|meet (?:on|before|after)|take (?:ibuprofen|aspirin|penicillin"
    r"|time off)|use (?:cloud|my left|my right|stairs)|climb|hear (?:with|on|out)|see colou?rs)\b",
    r"\b(?:i|we) (?:don'?t|do not|no longer) (?:eat|drink)\b(?! (?:enough|much|well|a lot))",
    r"\b(?:i|we) (?:must|have got to|have to|need to|'ve got to)(?: not| always| never)? .{1,80}"
    rf"(?:{_OFTEN}|\bevery\b|\bwhenever\b|\b(?:by|until|till|before) (?:the |next |end |my )?"
    rf"(?:\w+day|\d|{any_of(MONTHS, SEASONS)}|end|year|month|noon|midnight)\b)",
    r"\b(?:i|we) must(?: not|n't| never| always) \w",
    r"\b(?:i|we)(?:'?m|'re| am| are) (?:not|never) (?:allowed|permitted|supposed) to\b",
    r"\b(?:my|our) (?:\w+ ){0,2}budget(?: for(?: [\w'-]+){1,5}?)?(?: is|'s| of| can't| must)\b"
    r"|\b(?:i|we)(?:'?ve got| have| got)? an? (?:\w+ )?budget of\b|\bon an? (?:tight "
    r"|strict )?budget of|\b(?:i|we) (?:don't|do not) want to spend (?:more|over)",
    r"\b(?:my|our|the) (?:\w+ )?(?:landlord|company|school|doctor|employer|boss|office|contract"
    r"|manager|building|university|insurance|client|team|lease|visa|cardiologist|physio\w*)"
    r" (?:doesn't|does not|won't|will not) (?:allow|permit|let|cover)\b",
    r"\b(?:my|our) (?:\w+ )?(?:landlord|company|school|doctor|employer|boss|office|contract|manager"
    r"|building|university|insurance|client|lease|visa|cardiologist)"
    r" (?:forbids?|prohibits?|bans?|requires?|insists?|only allows?)\b",
    r"对[^，。]{1,8}过敏|我们?(?:必须|不能|不可以|不得)(?![^，。]{0,4}(?:理解|确定|同意))|我(?:的|们的)?预算",
)

#: Beside what `extraction.decisions` finds: other forms of a decision.
DECISION = _any(
    r"(?:我们?|团队|大家)[^，。]{0,5}(?:决定|选择了|选了|选用|选定|商量好|下定决心|敲定|说好了)|就这么(?:定|办)|那就(?:用|选|定)",
    r"\b(?:i|we)(?:'?ve| have)? (?:ruled out|turned down|decided against)\b",
)

_STRIVE = (
    r"(?:learn|become|quit|stop (?:smoking|drinking|eating)|lose (?:\w+ )?(?:weight|\d|kilos"
    r"|pounds)|save|improve my|reduce|cut (?:down|back)|build (?:an?|my|our)|start (?:an?|my|our)"
    r"|run (?:an?|my|the)|finish my|pass (?:my|the)|publish|open (?:an?|my|our)|buy (?:an?|my|our)"
    r"|move (?:to|into|back|abroad|out)|live (?:in|on|abroad)|retire|grow my|master|earn|pay off"
    r"|adopt|travel|win|achieve|reach|launch|double|work (?:for|as|in|abroad)|complete my|graduate"
    r"|study|speak|write an? (?:\w+ )?(?:book|novel|memoir|thesis)|read (?:more|\d+)|own"
    r"|apply (?:to|for)|renovate|spend (?:more|less)|eat (?:more|less|health)|exercise"
    r"|change (?:careers?|jobs?)|get (?:my|a (?:dog|cat|degree|job|promotion|licen[cs]e)|married"
    r"|in shape|fit|into)|go (?:back )?to (?:university|college|school|med)|visit|climb|hike|teach"
    r"|help (?:people|others|kids|children)|make a (?:living|career)|have (?:my own|kids|children"
    r"|a family)|continue my|create (?:an?|my) (?:\w+ )?(?:business|company|space|home|family)"
    r"|pursue|explore (?:\w+ )?(?:careers?|options in)|sail|swim|bike|cycle)"
)
_HORIZON = (
    r"(?:(?:by|before|until) (?!(?:noon|tonight|tomorrow|lunch|then|\d)\b)(?:the |my |our |i |we )?"
    r"\w+|(?:this|next) (?:year|spring|summer|autumn|fall|winter|month|quarter|decade)|one day"
    r"|some ?day|eventually|within \w+ (?:\w+ )?(?:years?|months?)|in (?:\w+ )years?)\b"
)
#: What somebody wants to reach in the weeks or years to come.
GOAL = _any(
    r"\b(?:my|our) (?:[\w'-]+ ){0,3}?(?:goal|aim|objective|dream|ambition|mission|resolution)s?"
    r"(?: (?:this|for|of|at|in|here) (?:\w+ ){0,3}?\w+)? (?:is|are|has always been)\b(?! (?:so|very"
    r"|clear))",
    rf"\b(?:i|we)(?:'?m|'re|'?ve| am| are| have| always)? {_SOFT}(?:hope|hoping|intend"
    rf"|intending|plan"
    rf"|planning|aspire|aspiring|aim|aiming|dream|dreaming|determined|striving|trying|looking|hoped"
    rf"|planned) (?:to|of|on|for) {_SOFT}(?:{_STRIVE}|\w+ing\b)",
    rf"\b(?:i|we) {_SOFT}(?:hope|intend|plan|aspire|aim|am going|are going|want|need) to"
    rf" (?!make sure|know|see|understand|ask|check|ensure|get (?:in)?to it).{{1,80}}{_HORIZON}",
    rf"\b(?:i|we)(?:'d| would)? (?:{_SOFT}|eventually |definitely |one day |someday )(?:want|wish"
    rf"|like|love|need) to {_SOFT}{_STRIVE}\b",
    rf"\b(?:i|we)(?:'d| would) (?:{_SOFT})(?:like|love) to .{{1,80}}{_HORIZON}",
    r"\b(?:i|we)(?:'?m|'re| am| are|'?ve been| have been|'ve started| started) (?:\w+ )?"
    r"(?:saving(?: up)? for|saving money|training for|preparing for (?:my|the|an?) (?:\w+ )?(?:exam"
    r"|marathon|test|interview|certification|race|bar|defen[cs]e)|working towards?|studying for"
    r"|aiming (?:for|to))\b",
    r"\b(?:set|setting) (?:myself|ourselves) (?:the|a) (?:\w+ )?(?:goal|target)"
    r"|\bi(?:'?ve| have) always (?:wanted|dreamed|dreamt) (?:to|of)\b",
    r"我们?的?(?:\w{0,4})(?:目标|梦想|愿望)是|我们?(?:正)?在?攒钱|我们?(?:今年|明年|正在|正|也|一直|还|都)*(?:打算|计划|希望(?!你)|立志"
    r"|争取)",
)

#: Who somebody is.
IDENTITY = _any(
    r"\bmy (?:(?:full|first|last|maiden|middle|native|home|real) )?(?:name|surname|nickname"
    r"|birthday|age|profession|occupation|mother tongue|language|hometown|nationality|pronouns"
    r"|star sign|blood type|height|weight)(?:'s| is| are)\b"
    r"|\bmy (?:\w+ ){0,2}?(?:e-?mail|phone|mobile|cell|address|postcode|number|size|handle"
    r"|username)"
    r"(?: (?:address|number|code))?(?:'s| is) \S"
    r"|\bis my (?:first|native|second"
    r"|mother) (?:language|tongue)\b",
    r"^(?:please )?call me (?!back|later|when|if|tomorrow|at|on|once|an?\b|crazy)\w+$",
    r"\bi(?:'?m| am) (?:\d{1,3}(?: years old)?(?=[.,!]|$| and)|\w+(?:-\w+)? years old)"
    r"|\bi (?:just |recently )?turn(?:ed)? (?:\d\d|twenty|thirty|forty|fifty|sixty)\b",
    r"\bi(?:'?m| am) (?:(?:currently|now|actually|also|both|just|originally|basically) )*an?"
    r" (?:[\w'-]+ ){0,4}?(?:[a-z]{3,}(?:er|or|ist|ian|ant|eer|yst|ect|ive)|nurse|chef|cook|coach"
    r"|pilot|lawyer|judge|nurse|clerk|mum|mom|dad|mother|father|parent|widow|widower|vegan"
    r"|vegetarian|muslim|catholic|buddhist|christian|student|freshman|sophomore|junior|senior"
    r"|graduate|pensioner|freelancer|veteran|farmer|architect|midwife|carpenter|plumber|dentist"
    r"|surgeon|guide|monk|priest|poet|athlete|fellow|postdoc|apprentice|trainee|nanny|foreman|ceo"
    r"|cto|cfo|founder|native|citizen|immigrant|refugee|introvert|extrovert|twin|barista|librarian"
    r"|trans woman|trans man|woman|man|developer|engineer|manager|director|assistant professor"
    r"|professor)\b",
    r"\bi(?:'?m| am) (?:the )?(?:head|director|manager|owner|founder|ceo|cto|lead|captain|president"
    r"|chair) (?:of|at|for)\b|\bi(?:'?m| am) (?:doing|in) my (?:residency|phd|masters?|internship"
    r"|apprenticeship|\w+ year)\b",
    r"\bi(?:'?m| am) (?:(?:originally|actually|happily|newly|recently|also|a bit|now"
    r"|currently) )*(?:from (?!the (?:bottom|start|other)|here|my)|based in|born|vegan|vegetarian"
    r"|pescatarian|married|divorced|widowed|engaged (?:to|with)|single(?=[.,!]|$| and)|pregnant"
    r"|retired|unemployed|self-employed|left-handed|right-handed|colou?r-?blind|deaf"
    r"|blind(?! (?:to|sided))|gay|bisexual|autistic|diabetic|dyslexic|jewish|muslim|catholic"
    r"|transgender|non-?binary|an only child)\b",
    rf"\bi {_SOFT}(?:work|worked) (?:for (?!me|now|hours|you)|at (?!home|night|it)|as (?:an?|the)\b"
    r"|in (?!the (?:morning|evening|afternoon)|my (?:room|garden))|remotely|part-time|full-time"
    r"|from home (?:as|for))",
    rf"\b(?:i|we) {_SOFT}(?:live|lived|reside|grew up|was (?:born|raised)|were (?:born|raised)|come"
    r"|came) (?:in|on|near|at|with|from|off|outside|close to|about|alone) ?(?!(?:fear|the moment"
    r"|home|hope|across|to terms|up)\b)|\b(?:i|we)(?:'?ve| have) (?:lived|been living) (?:in"
    r"|here|on"
    r"|with)\b|\b(?:i|we) both come from\b",
    rf"\b(?:i|we)(?:'?ve| have| 've)? {_SOFT}(?:moved|relocated|emigrated|immigrated) (?:to|from"
    r"|into|back to|out of|in with)\b|\b(?:i|we) live \w+ (?:hours?|minutes?|miles|km) from\b",
    rf"\bmy (?:\w+ )?{_FAMILY}(?: and i)?(?:,? [a-z]\w+,?)? (?:is|are|was|'s) (?:an?|the|from|in"
    r"|at|\d|born|called|named|my|based|married|studying|living|working|turning|pregnant|retired"
    r"|deaf|blind|autistic|allergic|expecting|getting married|both)\b",
    rf"\bmy (?:\w+ )?{_FAMILY}(?: and i)?(?:,? [a-z]\w+,?)? (?:both )?(?:lives?|works?|studies"
    r"|study|teach(?:es)?|passed away|died|turned \d|goes to|owns?|runs|plays|speaks?|comes? from"
    r"|has (?:diabetes|asthma|an?|two|three|been)|moved to|grew up)\b",
    rf"\bmy (?:\w+ )?(?:{_FAMILY}|{_PETS}|middle name|best friend)'s name is\b",
    rf"\b(?:i|we)(?:'?ve got| have| had| 've) {_COUNT} (?:\w+ ){{0,2}}?(?:{_FAMILY}|siblings?)\b",
    r"\b(?:i|we)(?:'re| are|'?ve been| have been)? (?:just |recently |finally )?(?:got )?(?:married"
    r" (?:to|for|since|in|last)|engaged (?:to|last)|divorced (?:in|last|since))",
    r"\bi (?:currently |also )?(?:stud(?:y|ied)|graduated|majored|teach|taught|used to (?:be an?"
    r"|work|live)) (?!hard|for (?:the|my|an?) (?:test|exam)|myself|that)\w",
    r"\bi (?:also |can |only )?speak (?!to|with|of|about|up|from|for|out)(?:\w+ )?(?:[a-z]+ish"
    r"|french|german|dutch|italian|portuguese|arabic|mandarin|chinese|japanese|korean|russian"
    r"|hindi|greek|thai|czech|[a-z]+ian|[a-z]+ese|\w+ and|\w+,|\w+ languages|\w+ fluently)",
    r"\bi(?:'?ve| have)(?: got| had)? (?:(?:mild|severe|chronic|a mild|a severe"
    r"|an?) )?(?:type \d )?"
    r"(?:diabetes|asthma|adhd|epilepsy|co?eliac(?: disease)?|dyslexia|arthritis|migraines?"
    r"|high blood pressure|hypertension|anxiety|depression|insomnia|ibs|eczema|anemia|anaemia"
    r"|tinnitus|(?:degree|phd|master|masters|bachelor'?s?|heart condition|bad (?:knee|back|hip))\b)"
    r"|\bi(?:'?ve| have)? (?:was |been )?(?:\w+ )?diagnosed with\b",
    r"\bwe(?:'re| are) a family of\b|\bi (?:currently )?(?:earn|make) (?:about |around "
    r"|roughly )?[$€£]?\d",
    r"我(?:的名字)?叫|我姓|我是(?:一)?[名个位](?![^，。]{0,4}(?:猫子|吃货|迷|控))|我是[^，。]{0,8}(?:人|师|生|员|者|手|长|教授|护士|律师"
    r"|老板|\d后)[，。！]?|我(?:现在|一直|也)?住(?:在)?|我家在|我来自|我出生|我毕业于|我在[^，。]{1,10}(?:上班|工作|长大|读书|上学"
    r"|任职)|我今年[^，。]{1,5}岁|我的(?:生日|母语|职业|家乡|老家|年龄|专业|工作是)|我们家有",
)

#: A name is known by its capital alone: looked for in the clause as it is written.
NAMED = regex(
    r"(?i:\bi'm|\bi am|\bi’m|\bname'?s) [A-Z][a-z]+(?: [A-Z][a-z]+)?"
    r"(?:[.,!]|$|,? (?:from|an?|and (?i:i'm|i am|my|i))\b)"
)

#: Beside what `extraction.preferences` finds: tastes that name no verb of liking.
PREFERENCE = _any(
    rf"\b(?:i|we)(?:'d| would) (?:{_SOFT})(?:rather|prefer)\b(?! not (?:say|to say))",
    r"\bmy (?:\w+ ){0,2}?(?:favou?rites?|preferred|go-to|preference|guilty pleasure) .{0,60}?"
    r"\b(?:is|are|has to be|would be)\b|\b(?:is|are|was) (?:\w+ )?my (?:\w+ )?(?:favou?rite"
    r"|go-to)\b",
    r"\b(?:works?|suits?) (?:me )?best for (?:me|us)\b|\bi work best (?:in|at|with|when)\b"
    r"|\bover .{1,60} any ?day\b|\bnot my (?:thing|cup of tea)\b",
    rf"\bi(?:'?m| am) {_SOFT}(?:not )?(?:{_SOFT})(?:into (?!this|it|that)|fond of|crazy about"
    r"|keen on|partial to|an? (?:\w+ )?(?:fan|lover) of|more of an?|an? (?:\w+ )?(?:\w+ (?:person"
    r"|lover)|sucker for))\b",
    r"\b(?:stress(?:es)?|annoys?|bores?|bothers?|irritates?|relaxes?|calms?) me\b(?! that)",
    r"\bi(?:'?ve| have) (?:always|never|long) (?:liked|loved|hated|enjoyed|preferred)\b",
    r"我们?\s*(?:最|更|比较|特别|很|非常|真的|也|一直|还是|不|太|怎么|其实)*(?:喜欢|偏爱|偏好|讨厌"
    r"|宁愿|宁可|受不了|爱(?:吃|喝|看|听|玩|用))(?!你)|我(?:一般|通常|从来|从|平时|总是|都)*不(?:吃|喝|穿|抽)",
)

_NO_HABIT = (
    r"(?:get|got|forget|had|see|saw|need|want|know|knew|wonder|thought|think|asked|said|did|mean"
    r"|meant|found|noticed|remember|feel|felt|tried|been|wanted|loved|heard|realized|realised"
    r"|expected|made|imagined|understood|knew|seen|done|dreamed|dreamt|gonna|love|like|enjoy|hate"
    r"|prefer|be|appreciate|admire|look forward|believed?|was|were|will|would|could|can)"
)
#: What somebody does again and again.
BEHAVIOR = _any(
    rf"\b(?:i|we) (?:always|usually|never|normally|typically|generally|mostly|tend to|often|rarely"
    rf"|seldom|hardly ever|regularly) (?!{_NO_HABIT}\b)(?![a-z]+ed\b)[a-z]+",
    rf"\b(?:i|we) (?!{_NO_HABIT}\b)(?:[a-z]+ly )?(?![a-z]+ed\b)[a-z]+ .{{0,80}}{_OFTEN}",
    rf"(?:^|, ){_OFTEN},? (?:i|we) (?!{_NO_HABIT}\b)(?![a-z]+ed\b)[a-z]+"
    rf"|^on (?:{_WEEKDAYS}),? (?:i|we) ",
    r"我(?:每[天周月年次]|经常|总是|通常|一般)(?!想)",
)

_THING = (
    r"(?!(?:question|idea|feeling|problem|issue|doubt|hunch|clue|error|bug|thought|lot|bit|few"
    r"|blast|chance|look|moment|minute|point|good|great|hard|bad|nice|rough|fun|lovely|amazing"
    r"|tough|similar|sense|wonderful|new (?:idea|question)|ton|suggestion|concern|request|while"
    r"|break|hard time|deep|strong|pic|picture|photo|decision|story|funny|special place|long day"
    r"|busy|list|table|meeting|call|deadline (?:today|tonight)|couple of questions)\b)"
)
_DOING = (
    r"(?:working on|writing|building|taking (?:an?|some|up|lessons|part|piano|guitar|singing)"
    r"|learning|restoring|studying|developing|renovating|designing|running|managing|organi[sz]ing"
    r"|planning|remodel+ing|translating|researching|teaching|coaching|attending|volunteering"
    r"|seeing a|practi[cs]ing|reading|using|preparing|migrating|starting(?! to feel)|moving"
    r"|training|doing (?:an?|my|yoga|research)|leading|hosting|launching|editing|recording|painting"
    r"|growing|playing|expecting|raising|fostering|dating|knitting|making (?:an?|my)|creating"
    r"|composing|collecting|living|leaving|flying|visiting|getting married|signed up|enrolled)"
)
_DID = (
    r"(?:bought|adopted|started|joined|signed up (?:for|to)|launched|published|graduated|enrolled"
    r"|inherited|rented|sold|opened|founded|got (?:an?|my|our) (?!great|good|question|chance|call"
    r"|message|error|lot|bit|few|feeling|idea|email|text|look|funny|story|pic|decision|question)"
    r"|booked|accepted|quit|retired|finished (?:my|writing)|completed|hired|lost my (?:job|dad|mum"
    r"|mom|father|mother|licen[cs]e)|broke my|won|switched to|installed|set up|passed (?:my|the)"
    r"|ordered an?|planted|took up|picked up (?!where|on)|became|been promoted|was promoted)"
)
_NO_MATTER = (
    r"(?!(?:mind|heart|advice|question|point|guess|thoughts?|opinion|life|day|week|weekend|pleasure"
    r"|fault|bad|turn|problem|issue|answer|message|understanding|apologies|condolences|feelings?"
    r"|hope|bet|take|concern|worry|idea|goodness|god|gosh|eyes|head|jaw|friend|dear|one|own|time"
    r"|conversation|chat|talk|journey|trip|experience|first|last|next|best|main|biggest"
    r"|current (?:code|approach|understanding)|code|approach|query|function|plan|friendship|work"
    r"|support|stress)\b)"
)
#: What somebody has, does, is at work on, or has before them.
CONTEXT = _any(
    rf"\b(?:i|we)(?:'?ve got| have| own| also have| still have| now have| currently have| have got)"
    rf" (?:an?|one|two|three|four|five|\d{{1,4}}|my own|our own) {_THING}[a-z0-9]",
    rf"\b(?:i|we|(?:my|our) (?:team|company|department|family|school|lab)) {_SOFT}(?:drive|own|use"
    rf"|uses"
    r"|rent|play(?! (?:it|with (?!my)|around))|run (?:an?|the|my|our)|manage|lead|coach|volunteer"
    r"|attend|go to (?:\w+ ){1,3}(?:classes|lessons|school|university|church|therapy)|teach|host"
    r"|collect|grow|paint|knit|write (?:for|an?|poetry|songs|code)|sing in|code in|program in"
    r"|subscribe to|foster|belong to|am a member of)\b(?! (?:it|this|that|them|the following"
    r"|to)\b) \S",
    rf"\b(?:i|we)(?:'?m|'re| am| are|'?ve been| have been|'?ve"
    rf"| have) {_SOFT}{_DOING}\b(?! (?:it|this"
    rf"|that"
    r"|them|forward|a (?:ton|lot|bit)|your|you|the following|with the following|some (?:issues"
    r"|trouble)|my (?:dream|life|true|best)|for (?:an?|about|over|around|\d+|two|three|four|five"
    r"|six|ten|years|months)|next|soon|ever|as usual|all day|along|together(?=[.!,]))\b)",
    rf"\b(?:i|we)(?:'?ve| have)? {_SOFT}{_DID}\b(?! (?:it|this|that|them|to (?!learn|play|study"
    r"|work|run|volunteer|teach)|with (?:the|this)|getting|thinking|feeling|noticing|noticed|by"
    r"|a few (?:days|weeks|months)|since|last|yesterday|recently|a while|off)\b)(?![.,!']|$)",
    rf"\b(?:my|our) {_NO_MATTER}(?:[\w'-]+ ){{1,3}}?(?:is|are|'s) (?:an?|called|named|in|at|on"
    r"|from|due|until|scheduled|booked|built|written|made|based|located|\d)\b",
    rf"\b(?:my|our|the) {_NO_MATTER}(?:(?!of )[\w'-]+ ){{1,4}}?(?:leaves|lands|departs|arrives"
    rf"|starts|begins"
    r"|ends|expires|runs (?:on|until|out|with|for)|takes place|is due|happens|opens|closes)\b",
    rf"\b(?:my|our) (?:\w+ )?(?:{_PETS}|car|laptop|phone|computer|bike|house|flat|apartment|garden"
    r"|company|team|band|project|app|website|shop|business|restaurant) (?:has|have|is|are|runs|uses"
    r"|was built|sells|makes|supports)\b(?! (?:so|very|really|too|not|amazing|great|good|doing|been"
    r" (?:so|very|great))\b)",
    r"我们?(?:有|养了?|开|用|正在(?:做|写|学|开发|准备))(?!(?:点|些|没有|空|个问题|问题|时间))",
)
#: A day that is fixed for something: told with a date it is worth keeping.
DATED = regex(
    r"\b(?:deadline|appointment|flight|meeting|exam|interview|wedding|birthday|anniversary"
    r"|conference|trip|vacation|holiday|surgery|operation|move|release|launch|presentation|concert"
    r"|race|marathon|party|visit|hearing|defen[cs]e|due date|lease|contract|train|ceremony"
    r"|graduation|recital|tournament|submission|rent|workshop|course|class|retreat)\b"
)

#: What a person other than the speaker is or does, right after the name.
OTHERS = regex(
    r"(?:,[^,]{1,40},)? (?:also |now |currently |still |just |really |recently ){0,8}"
    r"(?:(?:is|was|'s) (?:an? (?!bit|lot|great (?:idea|way)|good)|the (?:head|owner|founder"
    r"|director|author|coach|captain|ceo|manager|capital|president"
    rf"|{any_of(NEAREST_KIN)})|my|our|from|in (?!the middle|trouble)|at|based|married|engaged"
    r"|allergic|moving|studying|working|living|retired|pregnant|vegan|vegetarian|training"
    r"|planning|writing"
    r"|located)\b|works? (?:at|for|in|as)|lives? (?:in|at|near|with|on)|stud(?:y|ies) "
    r"|teach(?:es)? |plays? (?:the|in|for|\w+ )|owns? |runs? (?:an?|the)\b|manages? |speaks? "
    r"|likes? |loves? |hates? |prefers? |has (?:an?|two|three|four|\d)\b|moved to |graduated "
    r"|joined |wants? to |hopes? to |plans? to |comes from |grew up |was born )"
)
