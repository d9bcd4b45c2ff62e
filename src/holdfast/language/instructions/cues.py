"""The words by which `tag` knows a standing rule: each cue with its weight and its reason.

Everything is matched on a lower-case sentence whose quotations are blanked. No pattern has nested
unbounded repeats: a hostile sentence costs no more than a long one.
"""

from __future__ import annotations

import re

from holdfast.language.instructions.forms import STYLE_VERB

# A question that asks, against one that requests ("could you ...?").
ASKS = re.compile(
    r"(?:(?:what|why|how|who|whom|where|which|when|is|are|was|were|do|does|did|has|have|had|should"
    r"|shall|may|must|am|any)\b)(?!.*\b(?:can|could|would|will) you (?:always|never|stop)\b)"
)
REQUEST = re.compile(r"\b(?:(?:can|could|would|will) (?:you|we)|would it be possible|any chance)\b")

# Someone else's words, or the user's own life: never a request to the assistant.
REPORTED = re.compile(
    r"\b(?:(?<!i )(?<!nobody )(?<!no one )(?<!who )(?<!being )(?<!be )(?:said|says|told|shouted"
    r"|shouts|wrote|advised|advises|insists|warned)\b"
    r"|according to|they say|it says|as you (?:said|told|instructed|suggested)"
    r"|(?:per|following) your (?:advice|instructions?)|(?:thanks|thank you) for"
    r"|(?:wants?|wanted|asks?|asked|tells?|requires?|required|expects?|reminds?|taught|advises?) "
    r"(?:(?:him|her|them|us|people|everyone|members) to|that (?:i|we)\b|my \w+ to)"
    r"|(?:(?:(?!\w+days\b)\w+s|they|people|you) (?:want|ask|tell|expect|remind|advise)|wants|wanted"
    r"|asks|asked"
    r"|tells|requires|required|expects|reminds|reminded|taught|advises) me to"
    r"|suppose|imagine|pretend|let's say|haha|lol|myself:|(?:rule|policy|motto) (?:in|at|of|is"
    r"|for)\b)"
)
OWN_LIFE = re.compile(
    r"(?:please )?(?:tell|ask|remind|teach|inform|let) (?!me\b|us\b|\w+ing\b|if\b|wh)(?:my|your"
    r"|the|him|her|them|everyone|people|\w+ (?:to|that|whether|know))\b|(?:i|we|he|she|they|it|you"
    r"|my \w+|the \w+)(?:'ve|'d|'ll|'m|'re| have| had| has)? (?:(?:always|never|usually|mostly)"
    r"(?! (?:want|expect|prefer)\b)|used|was|were|will|wish|think|guess|hope|know|wonder|decided)\b"
    r"|(?:i'll|i will|i'm (?:going"
    r"|trying)|let me (?!know)|we'll|we will)\b|(?:i|we) (?:want|need|have|'d like|would like|had"
    r"|try|must|should)(?: to| not)\b(?! be (?:addressed|called|asked|told|challenged|reminded"
    r"|corrected)\b)"
    r"(?! (?:see|have) (?:the word|any|your|more|less|fewer))"
    r"|(?:from the|notes from|house rules|instructions on|dear)\b|\bmyself: |\b(?:rule(?!:)"
    r"|policy|motto)"
)

# A sentence without any of these is no injection; looking them up is twenty times as fast.
INJECTION_HINTS = (
    *(
        "ignor",
        "disregard",
        "forget",
        "overrid",
        "bypass",
        "disobey",
        "follow",
        "system",
        "assistant",
    ),
    *("developer", "[", "<", "you are", "mode", "prompt", "above", "have no", "had no", "safety"),
    *("content", "restrictions", "hidden"),
)
INJECTION = re.compile(
    r"^\W*(?:system|assistant|developer)\s*:|</?(?:system|assistant|instructions?)>|\[/?inst\]"
    r"|<\|[a-z_]+\|>|\bnew system (?:instruction|prompt|message)|\b(?:ignore|disregard|forget"
    r"|override|bypass|disobey|(?:do not|don't|never) follow) (?:(?:all|any|of|the|your|ur"
    r"|previous|prior|above|earlier|these|those|and) ){1,5}(?:\w+ ){0,2}?(?:instructions?|rules"
    r"|guidelines|directions|directives|prompts?|polic(?:y|ies)|safety|filters|restrictions"
    r"|settings|programming|training|print|reveal)\b|\b(?:ignore|disregard|forget|override|bypass)"
    r" (?:prior|previous|earlier|safety|system) \w+|\byou are now (?:in |an? )?(?:\w+ )?(?:dan"
    r"|mode|unrestricted|jailbroken|free of|uncensored)|\byou are dan\b|\b(?:developer|god"
    r"|jailbreak) mode\b|\b(?:reveal|print|show|repeat|output|leak|dump) (?:me )?(?:\w+"
    r" ){0,3}?(?:system prompt|hidden (?:instructions|prompt)|initial prompt)|\b(?:print|repeat"
    r"|output) everything above|\byou (?:have|had) no (?:rules|restrictions|content policy|limits"
    r"|guidelines|filters)\b|\bhave no (?:restrictions|content policy|safety)|\b(?:safety|content)"
    r" (?:guidelines|rules|polic(?:y|ies)|filters) (?:do not|don't|no longer|are off)"
    r"|\brestrictions (?:lifted|removed|off)\b"
)

# Deeds in the world; how to answer is not among them.
_ACTS = (
    r"(?:delet|send|buy|purchas|book|pay|transfer|wir|sign|post|publish|shar|access|approv|accept"
    r"|merg|push|deploy|install|run|execut|cancel|order|withdraw|invit|email|mov|spend|subscrib"
    r"|upload|forward|remov|overwrit|reboot|restart|schedul|sell|trad|submit|authori[sz]|contact"
    r"|messag|modify|(?:read|use|edit|drop|access|make|making|reading|open)(?= (?:all )?(?:my|the"
    r" old|purchases|payments)))(?:e|es|ing|ting|ning|ping|s)?\b"
)
GRANT = re.compile(
    r"\b(?:you (?:may|can|could)(?: always| also| just)?|you(?:'re| are) (?:allowed|free"
    r"|authori[sz]ed|permitted) to|feel free to|go ahead and|permission to|(?:allow|permit"
    r"|authori[sz]e) you to"
    r"|consent to you|it(?:'s| is) (?:fine|ok|okay) to|and may) " + _ACTS
)
GRANTED = re.compile(
    r"\b(?:i (?:hereby )?(?:grant|give|allow) you (?:\w+ ){0,2}?(?:access|permission|authority)"
    r"|you have (?:my |full |complete )+(?:access|permission|authority))\b"
)
_UNASKED = (
    r"(?:without (?:asking|checking with|telling|my (?:approval|permission|consent|ok))|(?:no need"
    r"|(?:don't|do not) (?:need|have)|needn't)(?: to)? (?:ask|check with|my (?:approval"
    r"|permission)))"
)
UNASKED = re.compile(rf"\b{_UNASKED}\b")
ACTS = re.compile(rf"\b{_ACTS}")

# The end of an earlier rule, in so many words.
_TAKES_BACK = (
    r"(?:(?:actually|ok|okay|please|and|now|you can|you may),? )*(?:forget(?: about)?|ignore|scrap"
    r"|drop|cancel|disregard|never mind|undo|lift|remove|delete|clear|(?:i|i'd like to|i want to)"
    r" (?:take back|withdraw|cancel|revoke|drop)) "
)
_SAID = r"what i(?:'ve)? (?:said|told you|asked)(?: you)?(?: earlier| before)? (?:about|regarding) "
_WISHES = r"(?:rules|requests|instructions|preferences|wishes)"
ENDS = re.compile(
    rf"{_TAKES_BACK}(?:{_SAID}|(?:my|the|that|your) (?:\w+ )?(?:rule|request|instruction|preference"
    rf"|wish)\b|(?:all )?(?:of )?my (?:\w+ )?{_WISHES} (?:about|regarding|on|for)\b)"
)
# All of them, and nothing else: what the sentence says beyond that would be another matter.
ENDS_ALL = re.compile(
    rf"{_TAKES_BACK}(?:all |every one |each )?(?:of )?(?:my (?:(?:own|earlier|previous|old|standing"
    rf"|current|other|personal) )*{_WISHES}|(?:the |those |these )?(?:\w+ )?{_WISHES}(?: that)?"
    r" i(?:'ve| have)? (?:gave|given|told|set|made|asked)(?: (?:you|for|of|up))*)"
    r"(?:,? (?:so far|until now|till now|up to now|now|please|for good|again|before|earlier))*\W*$"
)
REPLACES = re.compile(
    r"\b(?:any ?more|any longer|no longer|again|stop|quit|changed my mind|go back to|instead of"
    r"|no need to|don't (?:have|need) to|enough with|no more)\b"
)

# A request with a question mark behind it.
TAG = re.compile(r",? (?:ok(?:ay)?|all ?right|yes|yeah|please|pls|deal|got it|will you)\?+$")
# Why it is wished: no part of the wish.
WHY = re.compile(
    r",? (?:because|since|otherwise|so (?:that )?(?:i|we)) |, (?:i|i'm|i've|i'd|my|our|they|they're"
    r"|that's|it's|it|he|she|we|nobody|everybody|last|the \w+ \w+)\b"
)
# A lasting reason after the request: "..., I live alone".
SINCE = re.compile(
    r"(?:,|\. |;| -) ?(?:(?:because|since|as|cause|bc) )?(?:i|i'm|i've|my|mine|me)\b(?! will\b|'ll)"
)
# What may come before the request.
FILLER = re.compile(
    r"(?:(?:ok(?:ay)?|hi|hello|hey|thanks|thank you|also|and|but|so|then|actually|btw|anyway|oh"
    r"|well|yes|yeah|sorry|by the way|one (?:more )?thing(?: though)?|for the record|honestly"
    r"|instead|do me a favou?r(?: and)?|i(?:'ve)? changed my mind|please|pls|kindly|remember to"
    r"|be sure to|make sure (?:to"
    r"|you|that you)|(?:don't|do not) forget to)\b[,:;.!-]*\s+)+"
)
ONWARD = re.compile(
    r"(?:from (?:now|here|today|this point) on(?:ward|wards)?(?: out)?|going forward|in (?:the"
    r" )?future|for future \w+|as of (?:now|today)|as a (?:general )?(?:rule(?: of thumb)?|default)"
    r"|by default|in general|generally"
    r"|at all times|until (?:i (?:tell|say)[^,]*|further notice)|next time(?= ?,)),?\s+"
)
REASON = re.compile(r"(?:since|because|as|given that) (?:i|i'm|i've|my)\b[^,]*,\s+")
# Not where a verb can stand as an order: "when I ask you to list", "if the order".
_BEFORE_NOUNS = "to you i we a an the my your our of for about and or in on with as is"
_NO_ORDER = "".join(rf"(?<! {word})" for word in _BEFORE_NOUNS.split())
# Of these, those behind which any verb is a request.
FROM_NOW = re.compile(
    r"\b(?:from (?:now|here|today|this)|going forward|in (?:the )?future|for (?:the )?future)\b"
)
CONDITION = re.compile(
    r"((?:when(?:ever)?|if|every time|each time|any ?time) (?:i|i'm|we|you|it's|my|a|an|something"
    rf"|anything)\b[^,]{{3,80}}?){_NO_ORDER}\s+(?=(?:just|please|pls|always|never|don't|do not|only"
    rf"|i mean|i (?:only|just) (?:want|need)|skip|{STYLE_VERB})\b(?!,? (?:is|are|was|up|down)\b))"
    r"|((?:on|for|in|with|about) (?!this\b|the\b)(?:\w{1,20} )?(?:\w{2,20}s|anything|everything)\b"
    rf"[^,:]{{0,40}}?){_NO_ORDER}\s+"
    rf"(?=(?:i (?:want|need|prefer|only)|i'd (?:like|prefer|rather)|please|always|never"
    rf"|{STYLE_VERB})\b)"
    r"|((?:in|for|with) (?:any|all|every|each|anything|everything)\b[^,:]{0,60}? (?:you|i) \w{2,20}"
    r"(?: (?:for|to|with) me)?)\s+(?=[a-z]{2,20} (?:a|an|the|my|me|in|it|only)\b)"
    r"|((?:every|each) (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|morning|evening|night|day|week"
    r"|month)(?: morning| evening| night)?),?\s+(?=(?:i|please|tell|give|remind|send|start|ask)\b)"
    r"|((?:rather than|instead of) [^,:]{3,40}?)\s+(?=i (?:want|need|prefer)\b)"
    r"|(should (?:i|we|you) [^,?]{3,80}),\s+"
    r"|((?:when(?:ever)?|if|unless|every ?time|each time|any ?time|next time i|before|after|while"
    r"|once|as soon as|whatever|for|in|with|on|at|during|instead of)\b[^,:]{0,300})[,:]\s+"
)
# Where a second thought of the sentence begins, which may be the request.
_TURNS = (
    r",? so,? (?:please )?|,? but (?=(?:never|always|don't|no|not|only|keep|use)\b)"
    r"|[;:]\*{0,2} (?:please )?|,? (?:and |but )?(?:please|pls) "
    r"| [-–—] (?:please )?"
    r"|, (?=(?:don't|always|never|just|only|keep|use|write|leave|give|call|address|break|no"
    r"|when(?:ever)?"
    r"|if|each time|every time|going forward|from now on|in future)\b)"
)
TURNS = re.compile(_TURNS)
# Behind what the user says of themselves any verb may begin it: "I hate small talk, get to it".
REASONED = re.compile(rf"{_TURNS}|, (?=(?:{STYLE_VERB}|get|go|take)\b)")
TAIL = re.compile(
    r"(?<=\s)on (?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekends)\b|(?<=\s)(?:when(?:ever)?"
    r"|if|unless|every (?:single )?time|each time|any ?time|before|while)"
    r"\s+(?:i|we|you|i'm|we're|you're|a|an|any|my|asked|\w+ing|it comes|there|something"
    r"|the (?:topic|subject|question|conversation))\b.*"
)
_TALK = (
    r"(?:ask|say|paste|send|share|mention|type|write|upload|forget|request|tell|talk|discuss|speak"
    r"|give|make|submit|post|show|use|start|don't|do not|quote|cite|list|translate|summari[sz]e"
    r"|answer|reply|respond|explain|suggest|recommend|describe|plan|do|work on|draft|review|edit"
    r"|slip|say|have to|mean|call|need|phrase|propose|compare|offer|am|are|bring up|refer)"
)
STRONG_WHEN = re.compile(
    r"whatever (?:the|i|we|you|it)\b|(?:every|each) \w|should (?:i|we|you)\b|(?:when|if) (?:it's"
    r"|it is|its) about\b|in (?:anything|everything)\b|(?:for|in|with|on) (?:[\w'-]+"
    r" )?[\w'-]+s (?:to|from|about|that|i|you|we|of)\b|(?:when|if) (?:a|an|any|my) [^,]{1,40}? (?:i"
    r"|you)"
    r" (?:show|send|give|paste|forward|share|write)\b|(?:whenever|every (?:single )?time|each time"
    r"|any ?time|next time i|unless i|until i"
    r"|as soon as i)\b|(?:when|if) (?:the|my) (?:topic|subject|question|conversation) "
    rf"|(?:when|if) (?:(?:i|we|you)(?: \w+ly)? {_TALK}|i'm|we're|you're)\b"
    r"|(?:when|if) (?:i|we) (?!\w+ed\b|could\b|would\b|will\b|can\b|have\b|had\b|did\b|was\b|were\b"
    r"|went\b|came\b|got\b|take\b|invest\b|retire\b|understand\b|recall\b|may\b)[a-z]{2,20}\b"
    r"|(?:when|while|before|after) (?:asked|\w+ing\b|it comes to)|before you (?!go|leave)"
    r"|(?:for|in|with|on|during) (?:all|any|every|each|your|future)\b"
    r"|(?:after|at the end of) (?:each|every|your|any)\b|on (?:\w+days|weekends)\b"
)
WEAK_WHEN = re.compile(
    r"(?:when|if) (?:i|we|you|a|an|any|anyone|someone|something|there|my)\b"
    r"|(?:for|in|with|on) (?:(?!the |this |my )\w+ ){0,2}?\w{3,}s\b"
    r"|(?:for|in|on|with) my (?:\w+ )?\w{3,}s\b|(?:for|with|in) (?:travel|code|maths?|work|prose"
    r"|food)\b|it comes to"
)
ONCE_WHEN = re.compile(
    r"(?:for|in|on|at|during|with|before|after) (?:this|the (?!end)|that|now|today|it|those"
    r"|these)\b|(?:when|if|before) (?:you (?:have (?!to)|need|still|get|can|could|want|look|go|see"
    r"|were|'re done)|you're (?:done|ready|finished|in|back|free|there)|possible|i (?:was|were|had"
    r"|get|run|click)|it\b(?! comes|'s about| is about)|the\b(?! (?:topic|subject|question"
    r"|conversation|answer|price"
    r"|source|result) ))"
    r"|at (?:six|\d)"
)

# Words about how to answer: a request with one of them is about manner.
_MANNER = """
abbreviations acronyms adjectives adverbs advice agree american amounts analogies answer answers
apologise apologising apologize apologizing arabic ascii assume basics beginner bengali blunt
bluntly brief briefly british bullet bullets buzzword buzzwords calm camelcase cantonese caps casual
catalan celsius chatter chatty chinese citations cm code comma commas comments concise contractions
critical currency czech danish dashes dates decimals default detailed direct disagree disclaimer
disclaimers docstrings dollars dutch emoji emojis english euros exclamation expert explanation
explanations facts fahrenheit feedback filler finnish flatter flattery fluff formal formally format
formatting francs french friendly gendered gentle german grams greek greeting greetings guess
hallucinate headers headings hebrew hindi hints honest html humor humour hungarian hyphens igbo
imperative imperial inclusive indonesian informal informally interrupt intro introduction
introductions intros invent irish iso italian japanese jargon jokes json kelvin kg kilograms
kilometers kilometres korean kr kroner language latex latin lecture legalese links lists literal
lower-case lowercase mandarin markdown measurements metric miles mood moralise moralize neutral
norwegian numbers options oxford paragraph paragraphs passive patient pirate plain plainly
pleasantries polish polite politics portuguese pounds preachy preamble prices professional pronouns
punctuation recommendations references repeat replies reply response responses romanian russian
sarcasm sarcastic semicolons sentence sentences serious short shorter simple simpler slang
small-talk snake_case sources spaces spanish speculate spelling spoilers step-by-step strict
succinct sugarcoat suggestions summaries swahili swear swedish tables tabs talk tamil temperatures
tense terse thai tone turkish type-hints typed ukrainian units uppercase urdu verbose vietnamese
voice welsh words wordy working yaml yen yoruba
"""
MANNER = frozenset(_MANNER.split())
GENERAL = re.compile(
    r"\b(?:always|never|ever|whenever|every ?time|each time|from (?:now|here|today|this point) on"
    r"|going forward|in (?:the )?future|for future|by default|as a (?:general )?(?:rule|default)"
    r"|in general|generally|at all times|any ?more|no longer|throughout|unless i|until i|every"
    r" single|every time|not even|everywhere|everything else|(?:everything|anything|whatever"
    r"|all) (?:that )?(?:i|you) \w+|(?:don't|do not|never|not) [^.]{1,60} again|whatever (?:we|i"
    r"|you|it|else)|for good|no exceptions?"
    r"|without exception|no matter|regardless|forever|permanently|all the time|as long as i"
    r"|as a habit"
    r"|a habit to|from (?:today|this (?:day|moment|point))|(?:all|any|every) (?:later|other|future"
    r"|next)"
    r"|all the times|for the future|on principle|our (?:chats|conversations|talks|messages)"
    r"|from time to time|now and (?:then|again)|occasionally|first(?=[.,!]|$)|otherwise|so many"
    r"|(?:in|for|to|with|of) (?:all|any|every|each) (?:my|your|future)"
    r"|(?:can|ok|okay|fine|free|allowed|welcome)\b.{0,600}\bagain)\b"
)
# How far a wish goes: said of one's answers at large rather than of one thing.
LIMITS = re.compile(
    r"\b(?:at (?:most|least)|tops|max|in one (?:go|block|line)|nothing (?:else|more)|no more than"
    r"|instead of|rather than"
    r"|per \w+|as if|as though|in full|in between|on top|the words?|the phrase|the term)\b"
    r"|\bonly(?=[.,!]|$)|, not (?!sure\b|that\b|the\b)"
)
# Whole classes of things: "all dates", "each reply", "anything you write", "my emails".
CLASSES = re.compile(
    r"\b(?:all|any|every|each|everything|anything|things|wherever|anyone|anybody|answers?|replies"
    r"|at a time|as we go|what i (?:ask|say|write|tell|said)(?:ed)?|(?:no|not|me) more than"
    r"|you (?:write|give|draft|use|recommend|suggest|tell|show|make|say|send)|my (?:\w+"
    r" )?(?:texts|emails|mails|drafts|reports|letters|posts|files|documents|questions|spreadsheets"
    r"|essays|notes|ideas|assumptions|mistakes|typos|messages|articles|projects|photos|arguments"
    r"|poems|stories|translations|plans))\b|\b(?:with|to) me[.!]?$|\b(?:write|use|say|saying"
    r"|words?|phrase) \"_"
)
MINE = re.compile(r"\b(?:me|my)\b")
# A bare plural is a kind, not a thing: "in charts".
PLURAL = re.compile(
    r"\b(?:in|on|with|of|for|use|using|avoid|without|give|show|add|no|suggest|explain|write) "
    r"(?:(?!the |these |those |my |your |our |his |her )[a-z-]+ ){0,2}?[a-z]{3,}[^s'\W]s\b"
    r"|\b(?:don't|do not|never|stop"
    r"|avoid) [a-z-]+ (?:[a-z-]+ )?(?<!the )(?<!these )(?<!those )[a-z]{3,}[^s'\W]s\b"
)
PERSONAL = re.compile(
    r"(?:i'm|i am|i have|i've|my|keep in mind|remember:?(?: that)? i|note that i|i (?:don't|can't"
    r"|hate"
    r"|prefer|use|work|live|read|teach|like|need|only|go)|hate|we're|we are|we have)\b"
)
REMINDS = re.compile(r"(?:keep in mind|remember|note that)\b")
# The thing at hand.
AT_HAND = re.compile(
    r"\b(?:(?<!new to )this|these|those|that \w+(?= (?:with|of|in|on|for)\b|[.!?]|$)|attached"
    r"|my last|your last|below(?! it)|above|previous|following|today(?!'s)|tonight|tomorrow"
    r"|yesterday|right now|(?<!from )now(?!"
    r" and)|yet|this time|once|here(?! on)|the (?:second|third|fourth|last|next)(?! person| time)"
    r"|again"
    r" with|by (?:mon|tues|wednes|thurs|fri|satur|sun)day|at (?:\d+|one|two|three|four|five|six"
    r"|seven|eight|nine|ten)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|for now|(?:he|she"
    r"|him|his)(?= ))\b"
)
DEFINITE = re.compile(
    r"\bthe (?!words?\b|phrase\b|term\b|first time\b|usual\b|same\b|way\b)([a-z]+)"
)
# Parts that any answer has.
_PARTS = """
answer answers beginning bit bottom chatter commas conclusion details disclaimers emojis end ending
explanation fluff form greeting greetings hello intro jokes numbers point pleasantries preamble
question questions reasoning recipes rest sentences sources summary top
"""
PARTS = frozenset(_PARTS.split())
ONE = re.compile(
    r"(?:(?!the )\w+ ){1,2}(?:me |us )?(?:a|an|some|one|two|three|four|five|ten|\d+)\b(?! (?:time"
    r"|at|\w+ at a time|\w+ per\b))"
)
SHOWS = re.compile(
    r"(?:add|give me|tell me|show me|find me|explain|list) (?:a|an|the|this|some|it|how|about|our"
    r"|why|what)\b"
)
# Something is to be made: an "always" after it is a property of that thing.
MAKES = re.compile(
    r"(?:write|draft|create|build|implement|design|compose|make|generate|develop|prepare|translate)"
    r" (?:me |us )?(?:(?:a|an|the|this|some|it|our|three|two|up)\b|\")"
)

HAN = re.compile("[\u4e00-\u9fff]")
HAN_RULE = re.compile(
    "从现在(?:开始|起)|以后|今后|往后|每次|每当|永远(?:不要|别)|不要再|别再|总是|始终|一律|一直(?:用|叫)|默认"
    "|请?(?:叫|称呼)我|请?(?:只)?用.{1,8}(?:回答|回复|写|说|跟我)|回答(?:时|的时候|要|请)|当我.{1,20}(?:时|的时候)"
    "|(?:如果|只要)我.{1,20}[,，]|不要用|别用|请不要|我希望你|我想让你|我更?喜欢你"
)
HAN_ASK = re.compile(
    "请|不要|别|用.{0,8}(?:回答|回复|写|说|单位|制)|回答|回复|叫我|称呼我|给我|告诉我|列出|提醒我|希望你|让你|喜欢你|保持"
)
HAN_LIFE = re.compile(
    "(?:我|他|她|我们|他们|她们|妈|爸|老板|同事|孩子)(?:们)?(?:总是|始终|每次|从不|一直|以后(?:要|会|想))"
    "|(?:他|她|妈妈|爸爸|老板|老师|医生)(?:说|告诉|让|叫)|[吗呢么？?]$|这(?:个|次|篇|段|封|份)|今天|明天|现在(?!开始|起)"
)
HAN_WHEN = re.compile("(?:每次|每当|当|如果|只要)我?[^,，。]{1,20}?(?:时|的时候|(?=[,，]))")
HAN_REPLACES = re.compile("不要再|别再|不用再|不再|改(?:成|用|为)|可以再|忘(?:了|掉)我说")
