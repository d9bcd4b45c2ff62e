"""The words by which `rules` knows a standing rule: each cue with its weight and its reason.

Everything is matched on a lower-case sentence whose quotations are blanked. No pattern has nested
unbounded repeats: a hostile sentence costs no more than a long one.
"""

from __future__ import annotations

from holdfast.language.lexicon import WEEKDAY, word_set
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS

# ----------------------------------------------------------------------
# Words for what answers are made of: a wish about one of these is a wish about answers.
# ----------------------------------------------------------------------

# Of talk and nothing else: a taste for them is one for answers, too.
_PARTS_OF_TALK = """
abbreviation acronym adjective adverb analogy anecdote apology asterisk bracket bullet buzzword
capital caveat citation cliché cliche comma compliment contraction dash definition disclaimer
ellipsis emoji emojis exclamation explanation footnote frill grammar greeting heading headline idiom
intro introduction italics jargon lecturing markdown metaphor opinion paragraph parenthesis
pleasantry preamble pronoun pun quotation recap reference reminder repetition reply response
sarcasm semicolon sentence signoff slang smalltalk smiley spelling spoiler subheading suggestion
summary swearing synonym synopsis typo vocabulary wording
"""
# Also of other things: in an order they mean answers.
_ALSO = """
advice answer attachment bold caption chart code column comment comparison conclusion correction
currency date detail diagram draft email encouragement equation error example excuse fact figure
filler flattery formula fraction hint humour idea image irony joke keyword language line link list
mail mark maths measurement message mistake motivation name nickname note noun number option outline
percentage phrase poem politeness praise price proof question quote rating reasoning recipe
recommendation rhyme section signature snippet solution source statistic step story style table
temperature text tip title tone topic translation unit variable verb version warning word
"""


def _forms(words: str) -> frozenset[str]:
    singular = words.split()
    plural = (f"{word[:-1]}ies" if word.endswith("y") else f"{word}s" for word in singular)
    return frozenset((*singular, *plural))


PARTS_OF_TALK = _forms(_PARTS_OF_TALK)
ALL = PARTS_OF_TALK | _forms(_ALSO)


# ----------------------------------------------------------------------
# The forms of a request to the assistant, each with its weight: the first that fits decides.
#
# Everything is matched in a lower-case sentence whose quotations are blanked, where a request
# begins. No pattern has nested unbounded repeats: a hostile sentence costs no more than a long
# one.
# ----------------------------------------------------------------------

# Verbs of answering and of conduct, as orders.
STYLE_VERB = (
    r"(?:use|answer|reply|respond|write|format|keep|speak|talk|explain|cite|quote|show|give"
    r"|include|put|provide|list|limit|start|begin|end|finish|sign|round|stick|default|prefer"
    r"|prioriti[sz]e|favou?r|assume|treat|address|refer|call|link|spell|number|translate|correct"
    r"|check|ask|tell|warn|flag|let me know|remind|think|be|stay|mark|state|name|mention|add"
    r"|convert|express|present|structure|phrase|remember|note|bear|summari[sz]e|point|suggest"
    r"|recommend|double-check|confirm|make|leave|break|go back|wrap|highlight|label|specify"
    r"|consider|offer|challenge|return|describe|simplify|rank|refuse|say|quiz|outline|restate"
    r"|comment|listen|verify|aim|focus|err|lean|help(?! me)|plot|draw|sort|render|count|order|adapt"
    r"|adjust|capitali[sz]e|choose|credit|estimate|exclude|go with|greet|group|hide|indent"
    r"|insert|introduce|lead|match|mirror|mix|move|omit|open with|pick|propose|rate|read|reference"
    r"|repeat|rephrase|save|separate|shorten|spare|split|take|time|type|underline|wait|weigh)"
)
_NO_VERB = (
    r"(?:a|an|the|and|or|but|i|we|he|she|it|they|my|our|his|her|their|there|here|happy|glad|mind"
    r"|again|better|heard|seen|been|had|done|gone|knew|thought|felt|got|made|said|gonna|too|so|to"
    r"|in|on|at|of|for|with|as|if|mine|forever|sunny|good|nice|great|is|are|was|were|will|would"
    r"|can|could|you|your|this|that|these|those|what|nothing|everything|all|no|not|never|always"
    r"|people|even|when|because|then|now|today|yesterday|just)\b"
)
_AUX = (
    r"(?:will|would|can|could|may|might|must|shall|should|is|are|was|were|am|be|been|has|have|had"
    r"|do|does|did|isn't|aren't|wasn't|weren't|won't|can't|don't|doesn't|didn't)\b"
)
_PAST = r"(?:\w{1,20}[^e]ed|\w{1,20}ing)\b(?<!bring)(?<!embed)(?<!shed)"
ANY_VERB = regex(
    rf"(?:just )?(?:do (?:it|so|that|them)\b|(?!{_NO_VERB}|{_AUX}"
    rf"|{_PAST})[a-z]{{2,20}}(?: (?!{_AUX})\w|\.?$))"
)
AGREED = regex(
    r"i mean |i (?:only|just) (?:want|need) |you (?!can\b|could\b|are\b|were\b|have\b|had\b|will\b"
    r"|get\b|know\b)[a-z]+ "
)
_SPEAKING = (
    r"(?:saying|telling|using|adding|asking|calling|apologi[sz]ing|repeating|explaining|suggesting"
    r"|ending|recommending|citing|quoting|giving|writing|answering|replying|responding|starting"
    r"|putting|including|mentioning|reminding|lecturing|being so|converting|translating"
    r"|summari[sz]ing|correcting|assuming|guessing|making up|agreeing|flattering|interrupting"
    r"|offering|formatting|treating me|showing|listing|hedging|praising|morali[sz]ing|speculating"
    r"|padding|inventing)\b"
)
_OUTPUT = (
    r"(?:answers?|repl(?:y|ies)|responses?|explanations?|summar(?:y|ies)|code|recipes|suggestions"
    r"|tone|links|recommendations|options|emojis?|disclaimers|bullets?|bullet points|tables|lists"
    r"|dates|units|prices|amounts|temperatures|sums|numbers|sentences|paragraphs|citations|sources"
    r"|examples|spelling|jargon|greetings|feedback|headings|translations|definitions|measurements"
    r"|references|style|version|wording|format|figures|the words?|all \w+ in|everything (?:in|on"
    r"|as))"
)
# "Whatever you suggest", "the mails you draft": what comes from the assistant.
_YOURS = (
    r"(?:(?:whatever|what|anything|everything|things|all|stuff|(?:the|any|every|each|all"
    r"|my) (?:[\w-]{1,20} ){0,2}?[\w-]{1,20}) (?:that )?you (?:\w{1,12}ly )?(?!said\b|told\b"
    r"|gave\b|wrote\b)[a-z]{2,20})"
)
_OUGHT = (
    r"(?:should|must|shall|(?:has|have|needs?|ought|is|are) to|can (?:be|stay|always)|stays?|goes?"
    r"|go|belongs?|comes?|ends?|starts?)\b"
)
_WISH = (
    r"i(?:'d| would)?(?: really| only| just)* "
    r"(?:want|need|expect|like|prefer|rather|appreciate|love)"
)

_BARE = (
    rf"(?:only |just |all ){{0,8}}(?!{_NO_VERB})(?:(?:of |(?!{_NO_VERB})[\w'-]{{1,20}} )){{0,2}}?"
)
#: Asked last of all: it takes longer than all that stands before it.
_NO_AUX = rf"(?![^,.;:]{{0,80}}\b{_AUX})"
_HOW = (
    r"(?:please|pls|as|in|with|without|for|one per|on top|instead of|rather than|before|over|not"
    r"|at most|max|tops|only|first|=|always (?:as|in|with|like|without))(?= |,|$|\.)"
)
_KINDS = rf"{_BARE}(?:[a-z]{{2,20}}s|spelling|prose|code),? {_HOW}"
_THING = rf"{_BARE}(?!{_NO_VERB}|{_AUX})[a-z]{{2,20}},? {_HOW}"
# What is not to be done is seldom meant for once.
NEGATIVE = (
    r"(?:do not|don't|dont|needn't) (?:ever )?\w+|(?:stop|quit|avoid|refrain from|cut|skip|drop"
    r"|leave out|omit|no more|ditch|spare me) \w+|don't you (?:dare|ever) \w+|(?:leave"
    r"|keep) (?:[\w']+ ){1,3}out\b"
)
# (weight, pattern): the first that matches at the start of the request decides; None is a refusal.
_FORMS: tuple[tuple[float | None, str], ...] = (
    (
        # "Order A1234 was shipped", "Return flights were late": a thing, and what became of it.
        None,
        rf"{STYLE_VERB} (?:(?!(?:i|we|you|he|she|it|they|that|what|who|how|where|when|if|me"
        r"|there|\w+thing|all|sure)\b)[\w'-]{1,40} ){1,2}?(?:was|were)\b",
    ),
    (
        None,
        r"(?:don't|do not|never) (?:worry|get me|you\b(?! (?:dare|ever)\b)|mind|panic|bother"
        r"|hurry|tell me (?:it|that|you|this|they|he|she|we|there)\b|let\b(?! (?:them|it|my)\b)"
        r"|stop\b|say never)|keep (?:going|me|it up|the change|your (?:eyes|hands))|no"
        r" (?:problem|idea|way|wonder|matter|chance|more (?:for|sugar)|thanks|one|doubt"
        r"|worries|rush|need to (?:hurry|worry|come|rush|wait))|be (?:right|back|there)\b|call"
        r" me (?:a|an|back|tomorrow|later|tonight|at|when|on|if)\b|write back|use your|less"
        r" than|more than|go on|answer (?:him|her|them)|reply to|feel free to (?:ask|come)"
        r"|(?:do )?let me know if you|stay with",
    ),
    (3.0, rf"(?:always|never) (?:ever )?(?!{_NO_VERB}|{_PAST})[a-z]"),
    (2.0, rf"(?:(?:can|could|would) you (?:please )?)?(?:stop|quit) {_SPEAKING}"),
    (
        2.0,
        r"i go by (?=\w)|it's \w+ to you\b|it's (?:mrs?|ms|miss|dr|prof(?:essor)?|captain"
        r"|sir)\b|(?:you can |you may |(?:can|could) you |don't |do not |dont "
        rf"|{_WISH} you to )?(?:call|address) me (?=\w|\")"
        r"|(?:use|spell|write) my (?:\w+ )?(?:name|nickname|title|surname|initials)\b"
        r"|(?:treat|speak to|talk to) me (?:like|as|in)\b|(?:refer to"
        r"|address) (?:\w+ ){1,4}as\b",
    ),
    (1.5, NEGATIVE),
    (
        2.0,
        r"i (?:really )?(?:like|love|hate|enjoy|don't like|dislike|can't stand|prefer) (?:it"
        r" )?when you\b|i don't (?:want|need|like) you\b",
    ),
    (
        2.0,
        r"i (?:really |just |would )?(?:always|never|no longer|don't(?: ever)?) (?:want|need"
        r"|wish|like|care) to (?:hear|see|read|be (?:told|asked|reminded|called|addressed))\b",
    ),
    (-1.0, r"i (?:always|generally|usually) (?:want|expect|prefer) (?!to\b|my\b)"),
    (
        1.5,
        r"i(?:'d| would) be (?:really |very |so )?(?:grateful|glad|happy|pleased|thankful"
        r"|delighted)(?: if| for| that)\b",
    ),
    (1.5, rf"{_WISH}(?: it)?(?: if| that)? you\b"),
    (
        2.0,
        rf"(?:{_WISH}|i don't (?:want|like)) to be (?:addressed|called|asked|told|challenged"
        rf"|reminded"
        r"|corrected)\b|it \w{3,12}s me (?:\w{1,12} )?(?:when|if|that) you\b",
    ),
    (
        1.0,
        rf"(?:{_WISH}|i (?:no longer|don't) (?:want|need|like)(?: to see)?|i (?:can't stand"
        rf"|hate|dislike)) (?:(?!to |using )[\w'-]+ ){{0,3}}?{_OUTPUT}\b",
    ),
    (
        2.0,
        r"it(?:'d|'s| would| is)? (?:really )?(?:helps?|bothers?|annoys|be (?:great|nice|good"
        r"|helpful)|important)(?: (?:to |for )?me)? (?:if|when|that) you (?!could (?:come|look"
        r"|help|send))",
    ),
    (1.0, r"let's (?:go back|switch) to\b"),
    (1.5, r"let's (?:stick|keep) (?:to|with) "),
    (0.5, r"(?:let's|can we|could we) (?:stick|keep|use|agree|speak|talk|write)\b"),
    (
        -0.5,
        r"(?:can|could|would|will) (?:you|we) (?:please |kindly |mind |just |(?:from now on"
        rf"|in future|going forward),? )*(?:{STYLE_VERB}\b|\w+ing\b)|would it be possible to"
        rf"|any chance (?:of|you|we)\b",
    ),
    (1.0, r"(?:can|could|would|will) you (?:please |mind )?(?:always|never|not)\b"),
    (
        1.0,
        r"you (?:don't need to|don't have to|no longer (?:have|need) to|needn't|can (?:skip"
        r"|stop|be|use|drop|leave|assume|\w+ (?!that|this|it|here|there|now)\w+ again"
        r"(?=[.!]|$)))\b"
        r"|it's (?:ok|okay|fine) (?:to|if you)\b|feel free to (?:be|swear|disagree|use|skip"
        r"|joke|challenge|correct|interrupt)\b",
    ),
    (0.5, r"you (?:should|must|need to|ought to)\b"),
    (2.0, rf"{_YOURS}\b[^.]{{0,80}}? {_OUGHT}"),
    (
        2.0,
        r"(?:whatever|what|anything|everything|all) (?:i|about|from|between)\b[^.]{0,60}? "
        r"(?:stays?|remains?|is) (?:out of|between us|off|private|confidential|just for)\b",
    ),
    (
        1.0,
        rf"(?!.{{0,200}} our\b)(?:[\w'-]{{1,20}} ){{0,2}}?{_OUTPUT} (?:(?:for|to|in|of"
        rf"|from) (?:\w+ ){{1,3}}?)?{_OUGHT}",
    ),
    (
        1.0,
        rf"(?:(?:all|any|every|each)(?: my| your)? (?:\w+ )?{_OUTPUT}|everything you \w+|your"
        rf" (?:\w+ )?{_OUTPUT})\b(?!.{{0,600}} our\b)[^,]{{0,60}}? (?:should|must|has to"
        rf"|have to)\b",
    ),
    (
        -0.5,
        rf"(?!{_NO_VERB})(?:[\w-]{{1,64}} ){{1,3}}?(?:is|are) (?:fine|ok|okay|allowed|welcome)"
        r"(?: with me)? again\b",
    ),
    (1.0, r"no (?:need to )?\w+|(?:less|fewer|more) \w+|just the \w+"),
    (1.0, rf"(?:just |only |do ){{0,8}}{STYLE_VERB}\b"),
    (
        1.0,
        rf"(?!{_NO_VERB})(?:\w{{1,64}} ){{1,4}}?(?:(?:only|first|please)(?=[,.!]|$| (?:when|if"
        r"|unless|and))|throughout|at a time|over \w+)\b",
    ),
    (1.0, r"\w{1,64} in \w+(?=,? please)"),
    (
        1.0,
        rf"(?:only|just) (?!{_NO_VERB}|{_AUX})[\w' -]{{2,30}}?"
        r"(?: for me| with me| from you)?(?=[.!]|$)",
    ),
    (
        1.0,
        r"i (?:like|want|prefer|need|love) (?:it|things|them|everything)"
        r" (?!to\b|that\b|when\b)\w",
    ),
    (
        1.0,
        r"nothing (?:that|with|over|under|too|from)\b"
        r"|you(?:'re| are) (?:allowed|free|welcome) to\b",
    ),
    (1.0, r"always (?:in|with|as|like|the \w+ (?:first|last))\b"),
    (
        0.5,
        r"(?:[\w'-]{1,20} ){1,3}?(?:is|are) (?:enough|plenty|sufficient|better|best)\b"
        r"|let me (?!know|think|see)",
    ),
    # Without a verb: "dates as day, month, year", "three options at most".
    (1.0, rf"(?={_KINDS}){_NO_AUX}"),
    (0.5, rf"(?={_THING}){_NO_AUX}"),
)
#: All of them in one pattern, a group for each: asked one after another they would take most of the
#: time in which a text is looked through for rules.
FORM = regex("|".join(f"({pattern})" for _, pattern in _FORMS))
#: By the number of the group.
FORM_WEIGHTS = dict(enumerate((weight for weight, _ in _FORMS), start=1))
#: What FORM begins with, but for forms that may begin with any word. By hand; a test holds it to
#: the patterns.
FORM_WORDS = word_set("""
adapt add address adjust aim all always answer any anything ask assume avoid be bear begin break
call can capitalise capitalize challenge check choose cite comment confirm consider convert correct
could count credit cut default describe ditch do don dont double draw drop each end err estimate
every everything exclude explain express favor favour feel fewer finish flag focus format give go
greet group help hide highlight i include indent insert introduce it just keep label lead lean leave
less let limit link list listen make mark match mention mirror mix more move my name needn never no
note nothing number offer omit only open order outline phrase pick plot point prefer present
prioritise prioritize propose provide put quit quiz quote rank rate read recommend refer reference
refrain refuse remember remind render repeat rephrase reply respond restate return round save say
separate shorten show sign simplify skip sort spare speak specify spell split start state stay stick
stop structure stuff style suggest summarise summarize take talk tell the things think time
translate treat type underline use verify wait warn weigh what whatever will would wrap write you
your
""")
#: What those have near their beginning; also held to them.
OPEN_FORM = regex(
    rf"(?:[\w'-]{{1,20}} ){{0,2}}?{_OUTPUT}\b|(?:[\w'-]{{1,64}},? ){{1,4}}?(?:please|pls|as|in|with"
    r"|without|for|one|on|instead|rather|before|over|not|at|most|max|tops|only|first|=|always|is"
    r"|are|throughout)(?!\w)"
)
NEGATES = regex(NEGATIVE)
# An order whose object is a kind, not a thing: "suggest walks", "be patient", "answer in French".
BARE = regex(
    rf"(?:only |just ){{0,8}}(?!be\b|stay\b|take\b|wait\b|confirm\b|read\b){STYLE_VERB} (?:me "
    r"|us )?(?!(?:a|an|the|this|that|these|those|some|any|one|two|three|four|five|ten|it|them|him"
    r"|her|me|how|why|what|who|where|when|whether|if|about|my|your|our|his|up|on|off|back|over"
    r"|out|again|of|for|to|at|by|with|there|here|now|right|yes|no|so|and|or|\d+)\b)[a-z]"
)
# Behind a condition a wish is a rule: "for directions I prefer landmarks".
WANTS = regex(
    r"i(?:'d| would)? (?:only |just |always )?(?:want|need|prefer|like|expect"
    r"|love)\b(?! to\b(?! be\b))"
)
ORDERS = regex(rf"(?:only |just |please ){{0,8}}{STYLE_VERB}\b")


# A question that asks, against one that requests ("could you ...?").
ASKS = regex(
    r"(?:(?:what|why|how|who|whom|where|which|when|is|are|was|were|do|does|did|has|have|had|should"
    r"|shall|may|must|am|any)\b)(?!.*\b(?:can|could|would|will) you (?:always|never|stop)\b)"
)
REQUEST = regex(r"\b(?:(?:can|could|would|will) (?:you|we)|would it be possible|any chance)\b")

# Someone else's words, or the user's own life: never a request to the assistant.
REPORTED = regex(
    r"\b(?:(?<!i )(?<!nobody )(?<!no one )(?<!who )(?<!being )(?<!be )(?:said|says|told|shouted"
    r"|shouts|wrote|advised|advises|insists|warned)\b|according to|they say|it says|as you (?:said"
    r"|told|instructed|suggested)|(?:per|following) your (?:advice|instructions?)|(?:thanks"
    r"|thank you) for|(?:wants?|wanted|asks?|asked|tells?|requires?|required|expects?|reminds?"
    r"|taught|advises?) (?:(?:him|her|them|us|people|everyone|members) to|that (?:i|we)\b"
    r"|my \w+ to)|(?:(?:(?!\w+days\b)\w+s|they|people|you) (?:want|ask|tell|expect|remind|advise)"
    r"|wants|wanted|asks|asked|tells|requires|required|expects|reminds|reminded|taught"
    r"|advises) me to|suppose|imagine|pretend|let's say|haha|lol|myself:|(?:rule|policy"
    r"|motto) (?:in|at|of|is|for)\b)"
)
OWN_LIFE = regex(
    r"(?:please )?(?:tell|ask|remind|teach|inform|let) (?!me\b|us\b|\w+ing\b|if\b|wh)(?:my|your"
    r"|the|him|her|them|everyone|people|\w+ (?:to|that|whether|know))\b|(?:i|we|he|she|they|it|you"
    r"|my \w+|the \w+)(?:'ve|'d|'ll|'m|'re| have| had| has)? (?:(?:always|never|usually|mostly)"
    r"(?! (?:want|expect|prefer)\b)|used|was|were|will|wish|think|guess|hope|know|wonder|decided)\b"
    r"|(?:i'll|i will|i'm (?:going|trying)|let me (?!know)|we'll|we will)\b|(?:i|we) (?:want|need"
    r"|have|'d like|would like|had|try|must|should)(?: to| not)\b(?! be (?:addressed|called|asked"
    r"|told|challenged|reminded|corrected)\b)(?! (?:see|have) (?:the word|any|your|more|less"
    r"|fewer))"
    r"|(?:from the|notes from|house rules|instructions on|dear)\b|\bmyself: |\b(?:rule(?!:)"
    r"|policy|motto)"
)

# A sentence of ASCII without any of these words, and without the marks, is no injection.
INJECTION_WORDS = word_set("""
system assistant developer ignore disregard forget override bypass disobey follow now dan mode
hidden initial everything no safety content restrictions
""")
INJECTION = regex(
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
GRANT = regex(
    r"\b(?:you (?:may|can|could)(?: always| also| just)?|you(?:'re| are) (?:allowed|free"
    r"|authori[sz]ed|permitted) to|feel free to|go ahead and|permission to|(?:allow|permit"
    r"|authori[sz]e) you to"
    r"|consent to you|it(?:'s| is) (?:fine|ok|okay) to|and may) " + _ACTS
)
GRANTED = regex(
    r"\b(?:i (?:hereby )?(?:grant|give|allow) you (?:\w+ ){0,2}?(?:access|permission|authority)"
    r"|you have (?:my |full |complete )+(?:access|permission|authority))\b"
)
_UNASKED = (
    r"(?:without (?:asking|checking with|telling|my (?:approval|permission|consent|ok))|(?:no need"
    r"|(?:don't|do not) (?:need|have)|needn't)(?: to)? (?:ask|check with|my (?:approval"
    r"|permission)))"
)
UNASKED = regex(rf"\b{_UNASKED}\b")
ACTS = regex(rf"\b{_ACTS}")

# A sentence of ASCII without any of these words grants nothing.
GRANTING_WORDS = word_set("""
may can could allowed free authorised authorized permitted ahead permission allow permit authorise
authorize consent fine ok okay access authority asking checking telling approval ask check
""")

# The end of an earlier rule, in so many words.
_TAKES_BACK = (
    r"(?:(?:actually|ok|okay|please|and|now|you can|you may),? )*(?:forget(?: about)?|ignore|scrap"
    r"|drop|cancel|disregard|never mind|undo|lift|remove|delete|clear|(?:i|i'd like to|i want to)"
    r" (?:take back|withdraw|cancel|revoke|drop)) "
)
_SAID = r"what i(?:'ve)? (?:said|told you|asked)(?: you)?(?: earlier| before)? (?:about|regarding) "
_WISHES = r"(?:rules|requests|instructions|preferences|wishes)"
ENDS = regex(
    rf"{_TAKES_BACK}(?:{_SAID}|(?:my|the|that|your) (?:\w+ )?(?:rule|request|instruction|preference"
    rf"|wish)\b|(?:all )?(?:of )?my (?:\w+ )?{_WISHES} (?:about|regarding|on|for)\b)"
)
# All of them, and nothing else: what the sentence says beyond that would be another matter.
ENDS_ALL = regex(
    rf"{_TAKES_BACK}(?:all |every one |each )?(?:of )?(?:my (?:(?:own|earlier|previous|old|standing"
    rf"|current|other|personal) )*{_WISHES}|(?:the |those |these )?(?:\w+ )?{_WISHES}(?: that)?"
    r" i(?:'ve| have)? (?:gave|given|told|set|made|asked)(?: (?:you|for|of|up))*)"
    r"(?:,? (?:so far|until now|till now|up to now|now|please|for good|again|before|earlier))*\W*$"
)
#: What ENDS_ALL and ENDS begin with.
ENDING_WORDS = word_set("""
actually ok okay please and now you forget ignore scrap drop cancel disregard never undo lift remove
delete clear i
""")
REPLACES = regex(
    r"\b(?:any ?more|any longer|no longer|again|stop|quit|changed my mind|go back to|instead of"
    r"|no need to|don't (?:have|need) to|enough with|no more)\b"
)

# A request with a question mark behind it.
TAG = regex(r",? (?:ok(?:ay)?|all ?right|yes|yeah|please|pls|deal|got it|will you)\?+$")
# Why it is wished: no part of the wish.
WHY = regex(
    r",? (?:because|since|otherwise|so (?:that )?(?:i|we)) |, (?:i|i'm|i've|i'd|my|our|they|they're"
    r"|that's|it's|it|he|she|we|nobody|everybody|last|the \w+ \w+)\b"
)
# A lasting reason after the request: "..., I live alone".
SINCE = regex(
    r"(?:,|\. |;| -) ?(?:(?:because|since|as|cause|bc) )?(?:i|i'm|i've|my|mine|me)\b(?! will\b|'ll)"
)
# What may come before the request.
FILLER = regex(
    r"(?:(?:ok(?:ay)?|hi|hello|hey|thanks|thank you|also|and|but|so|then|actually|btw|anyway|oh"
    r"|well|yes|yeah|sorry|by the way|one (?:more )?thing(?: though)?|for the record|honestly"
    r"|instead|do me a favou?r(?: and)?|i(?:'ve)? changed my mind|please|pls|kindly|remember to"
    r"|be sure to|make sure (?:to|you|that you)|(?:don't|do not) forget to)\b[,:;.!-]*\s+)+"
)
ONWARD = regex(
    r"(?:from (?:now|here|today|this point) on(?:ward|wards)?(?: out)?|going forward|in (?:the"
    r" )?future|for future \w+|as of (?:now|today)|as a (?:general )?(?:rule(?: of thumb)?|default)"
    r"|by default|in general|generally"
    r"|at all times|until (?:i (?:tell|say)[^,]*|further notice)|next time(?= ?,)),?\s+"
)
REASON = regex(r"(?:since|because|as|given that) (?:i|i'm|i've|my)\b[^,]*,\s+")
# Not where a verb can stand as an order: "when I ask you to list", "if the order".
_BEFORE_NOUNS = "to you i we a an the my your our of for about and or in on with as is"
_NO_ORDER = "".join(rf"(?<! {word})" for word in _BEFORE_NOUNS.split())
# Of these, those behind which any verb is a request.
FROM_NOW = regex(
    r"\b(?:from (?:now|here|today|this)|going forward|in (?:the )?future|for (?:the )?future)\b"
)
CONDITION = regex(
    r"((?:when(?:ever)?|if|every time|each time|any ?time) (?:i|i'm|we|you|it's|my|a|an|something"
    rf"|anything)\b[^,]{{3,80}}?){_NO_ORDER}\s+(?=(?:just|please|pls|always|never|don't|do not|only"
    rf"|i mean|i (?:only|just) (?:want|need)|skip|{STYLE_VERB})\b(?!,? (?:is|are|was|up|down)\b))"
    r"|((?:on|for|in|with|about) (?!this\b|the\b)(?:\w{1,20} )?(?:\w{2,20}s|anything|everything)\b"
    rf"[^,:]{{0,40}}?){_NO_ORDER}\s+(?=(?:i (?:want|need|prefer|only)|i'd (?:like|prefer|rather)"
    rf"|please|always|never|{STYLE_VERB})\b)"
    r"|((?:in|for|with) (?:any|all|every|each|anything|everything)\b[^,:]{0,60}? (?:you|i) \w{2,20}"
    r"(?: (?:for|to|with) me)?)\s+(?=[a-z]{2,20} (?:a|an|the|my|me|in|it|only)\b)"
    rf"|((?:every|each) (?:{WEEKDAY}|morning|evening|night|day|week"
    r"|month)(?: morning| evening| night)?),?\s+(?=(?:i|please|tell|give|remind|send|start|ask)\b)"
    r"|((?:rather than|instead of) [^,:]{3,40}?)\s+(?=i (?:want|need|prefer)\b)"
    r"|(should (?:i|we|you) [^,?]{3,80}),\s+"
    r"|((?:when(?:ever)?|if|unless|every ?time|each time|any ?time|next time i|before|after|while"
    r"|once|as soon as|whatever|for|in|with|on|at|during|instead of)\b[^,:]{0,300})[,:]\s+"
)
#: What FILLER, ONWARD, REASON and CONDITION begin with.
OPENING_WORDS = word_set("""
ok okay hi hello hey thanks thank also and but so then actually btw anyway oh well yes yeah sorry by
one for honestly instead do i please pls kindly remember be make don from going in as generally at
until next since because given when whenever if every each any anytime everytime on with about
rather should unless before after while once whatever during
""")
#: What a sentence of ASCII begins with that gives a rule, but for open forms and second thoughts.
ASKING_WORDS = FORM_WORDS | OPENING_WORDS | ENDING_WORDS
# Where a second thought of the sentence begins, which may be the request.
# By the letter that it begins with, so that one is looked for where a letter of these stands.
_PLEASE = "(?:and |but )?(?:please|pls) "
_SO = "so,? (?:please )?"
_BUT = r"but (?=(?:never|always|don't|no|not|only|keep|use)\b)"
_ORDER = (
    r"(?:don't|always|never|just|only|keep|use|write|leave|give|call|address|break|no|when(?:ever)?"
    r"|if|each time|every time|going forward|from now on|in future)"
)
_MORE = r"\*{0,2} (?:please )?"
_TURNS = (
    rf" (?:{_SO}|{_BUT}|{_PLEASE}|[-–—] (?:please )?)|;{_MORE}|:{_MORE}"
    rf"|, (?:{_SO}|{_BUT}|{_PLEASE}|(?={_ORDER}\b)"
)
TURNS = regex(rf"{_TURNS})")
# Behind what the user says of themselves any verb may begin it: "I hate small talk, get to it".
REASONED = regex(rf"{_TURNS}|(?=(?:{STYLE_VERB}|get|go|take)\b))")
TAIL = regex(
    rf"(?<=\s)on (?:{WEEKDAY}s|weekends)\b|(?<=\s)(?:when(?:ever)?"
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
STRONG_WHEN = regex(
    r"whatever (?:the|i|we|you|it)\b|(?:every|each) \w|should (?:i|we|you)\b|(?:when|if) (?:it's"
    r"|it is|its) about\b|in (?:anything|everything)\b|(?:for|in|with|on) "
    r"(?:[\w'-]+ )?[\w'-]+s (?:to|from|about|that|i|you|we|of)\b|(?:when|if) (?:a|an|any"
    r"|my) [^,]{1,40}? (?:i|you) (?:show|send|give|paste|forward|share|write)\b|(?:whenever"
    r"|every (?:single )?time|each time|any ?time|next time i|unless i|until i|as soon as i)\b"
    r"|(?:when|if) (?:the|my) (?:topic|subject|question|conversation) "
    rf"|(?:when|if) (?:(?:i|we|you)(?: \w+ly)? {_TALK}|i'm|we're|you're)\b"
    r"|(?:when|if) (?:i|we) (?!\w+ed\b|could\b|would\b|will\b|can\b|have\b|had\b|did\b|was\b|were\b"
    r"|went\b|came\b|got\b|take\b|invest\b|retire\b|understand\b|recall\b|may\b)[a-z]{2,20}\b"
    r"|(?:when|while|before|after) (?:asked|\w+ing\b|it comes to)|before you (?!go|leave)"
    r"|(?:for|in|with|on|during) (?:all|any|every|each|your|future)\b"
    r"|(?:after|at the end of) (?:each|every|your|any)\b|on (?:\w+days|weekends)\b"
)
WEAK_WHEN = regex(
    r"(?:when|if) (?:i|we|you|a|an|any|anyone|someone|something|there|my)\b"
    r"|(?:for|in|with|on) (?:(?!the |this |my )\w+ ){0,2}?\w{3,}s\b"
    r"|(?:for|in|on|with) my (?:\w+ )?\w{3,}s\b|(?:for|with|in) (?:travel|code|maths?|work|prose"
    r"|food)\b|it comes to"
)
ONCE_WHEN = regex(
    r"(?:for|in|on|at|during|with|before|after) (?:this|the (?!end)|that|now|today|it|those"
    r"|these)\b|(?:when|if|before) (?:you (?:have (?!to)|need|still|get|can|could|want|look|go|see"
    r"|were|'re done)|you're (?:done|ready|finished|in|back|free|there)|possible|i (?:was|were|had"
    r"|get|run|click)|it\b(?! comes|'s about| is about)|the\b(?! (?:topic|subject|question"
    r"|conversation|answer|price|source|result) ))|at (?:six|\d)"
)

# Words about how to answer: a request with one of them is about manner.
MANNER = word_set("""
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
""")
GENERAL = regex(
    r"\b(?:always|never|ever|whenever|every ?time|each time|from (?:now|here|today|this point) on"
    r"|going forward|in (?:the )?future|for future|by default|as a (?:general )?(?:rule|default)"
    r"|in general|generally|at all times|any ?more|no longer|throughout|unless i|until i"
    r"|every single|every time|not even|everywhere|everything else|(?:everything|anything|whatever"
    r"|all) (?:that )?(?:i|you) \w+|(?:don't|do not|never|not) [^.]{1,60} again|whatever (?:we|i"
    r"|you|it|else)|for good|no exceptions?|without exception|no matter|regardless|forever"
    r"|permanently|all the time|as long as i|as a habit|a habit to|from (?:today|this (?:day|moment"
    r"|point))|(?:all|any|every) (?:later|other|future|next)|all the times|for the future"
    r"|on principle|our (?:chats|conversations|talks|messages)|from time to time|now and (?:then"
    r"|again)|occasionally|first(?=[.,!]|$)|otherwise|so many|(?:in|for|to|with|of) (?:all|any"
    r"|every|each) (?:my|your|future)|(?:can|ok|okay|fine|free|allowed|welcome)\b.{0,600}\bagain)\b"
)
# How far a wish goes: said of one's answers at large rather than of one thing.
LIMITS = regex(
    r"\b(?:at (?:most|least)|tops|max|in one (?:go|block|line)|nothing (?:else|more)|no more than"
    r"|instead of|rather than"
    r"|per \w+|as if|as though|in full|in between|on top|the words?|the phrase|the term)\b"
    r"|\bonly(?=[.,!]|$)|, not (?!sure\b|that\b|the\b)"
)
# Whole classes of things: "all dates", "each reply", "anything you write", "my emails".
CLASSES = regex(
    r"\b(?:all|any|every|each|everything|anything|things|wherever|anyone|anybody|answers?|replies"
    r"|at a time|as we go|what i (?:ask|say|write|tell|said)(?:ed)?|(?:no|not|me) more than"
    r"|you (?:write|give|draft|use|recommend|suggest|tell|show|make|say|send)|my (?:\w+"
    r" )?(?:texts|emails|mails|drafts|reports|letters|posts|files|documents|questions|spreadsheets"
    r"|essays|notes|ideas|assumptions|mistakes|typos|messages|articles|projects|photos|arguments"
    r"|poems|stories|translations|plans))\b|\b(?:with|to) me[.!]?$|\b(?:write|use|say|saying"
    r"|words?|phrase) \"_"
)
MINE = regex(r"\b(?:me|my)\b")
# A bare plural is a kind, not a thing: "in charts".
PLURAL = regex(
    r"\b(?:in|on|with|of|for|use|using|avoid|without|give|show|add|no|suggest|explain|write) "
    r"(?:(?!the |these |those |my |your |our |his |her )[a-z-]+ ){0,2}?[a-z]{3,}[^s'\W]s\b"
    r"|\b(?:don't|do not|never|stop"
    r"|avoid) [a-z-]+ (?:[a-z-]+ )?(?<!the )(?<!these )(?<!those )[a-z]{3,}[^s'\W]s\b"
)
PERSONAL = regex(
    r"(?:i'm|i am|i have|i've|my|keep in mind|remember:?(?: that)? i|note that i|i (?:don't|can't"
    r"|hate|prefer|use|work|live|read|teach|like|need|only|go)|hate|we're|we are|we have)\b"
)
REMINDS = regex(r"(?:keep in mind|remember|note that)\b")
# The thing at hand.
AT_HAND = regex(
    rf"\b(?:(?<!new to )this|these|those|that \w+(?= (?:with|of|in|on|for)\b|[{STOPS}]|$)|attached"
    r"|my last|your last|below(?! it)|above|previous|following|today(?!'s)|tonight|tomorrow"
    r"|yesterday|right now|(?<!from )now(?! and)|yet|this time|once|here(?! on)|the (?:second"
    rf"|third|fourth|last|next)(?! person| time)|again with|by {WEEKDAY}|at (?:\d+|one|two|three"
    rf"|four|five|six|seven|eight|nine|ten)|on {WEEKDAY}|for now|(?:he|she|him|his)(?= ))\b"
)
DEFINITE = regex(r"\bthe (?!words?\b|phrase\b|term\b|first time\b|usual\b|same\b|way\b)([a-z]+)")
# Parts that any answer has.
PARTS = word_set("""
answer answers beginning bit bottom chatter commas conclusion details disclaimers emojis end ending
explanation fluff form greeting greetings hello intro jokes numbers point pleasantries preamble
question questions reasoning recipes rest sentences sources summary top
""")
ONE = regex(
    r"(?:(?!the )\w+ ){1,2}(?:me |us )?(?:a|an|some|one|two|three|four|five|ten|\d+)\b(?! (?:time"
    r"|at|\w+ at a time|\w+ per\b))"
)
SHOWS = regex(
    r"(?:add|give me|tell me|show me|find me|explain|list) (?:a|an|the|this|some|it|how|about|our"
    r"|why|what)\b"
)
# Something is to be made: an "always" after it is a property of that thing.
MAKES = regex(
    r"(?:write|draft|create|build|implement|design|compose|make|generate|develop|prepare|translate)"
    r" (?:me |us )?(?:(?:a|an|the|this|some|it|our|three|two|up)\b|\")"
)

HAN = regex("[\u4e00-\u9fff]")
HAN_RULE = regex(
    "从现在(?:开始|起)|以后|今后|往后|每次|每当|永远(?:不要|别)|不要再|别再|总是|始终|一律|一直(?:用|叫)|默认"
    "|请?(?:叫|称呼)我|请?(?:只)?用.{1,8}(?:回答|回复|写|说|跟我)|回答(?:时|的时候|要|请)|当我.{1,20}(?:时|的时候)"
    "|(?:如果|只要)我.{1,20}[,，]|不要用|别用|请不要|我希望你|我想让你|我更?喜欢你"
)
HAN_ASK = regex(
    "请|不要|别|用.{0,8}(?:回答|回复|写|说|单位|制)|回答|回复|叫我|称呼我|给我|告诉我|列出|提醒我|希望你|让你|喜欢你|保持"
)
HAN_LIFE = regex(
    "(?:我|他|她|我们|他们|她们|妈|爸|老板|同事|孩子)(?:们)?(?:总是|始终|每次|从不|一直|以后(?:要|会|想))"
    "|(?:他|她|妈妈|爸爸|老板|老师|医生)(?:说|告诉|让|叫)|[吗呢么？?]$|这(?:个|次|篇|段|封|份)|今天|明天|现在(?!开始|起)"
)
HAN_WHEN = regex("(?:每次|每当|当|如果|只要)我?[^,，。]{1,20}?(?:时|的时候|(?=[,，]))")
HAN_REPLACES = regex("不要再|别再|不用再|不再|改(?:成|用|为)|可以再|忘(?:了|掉)我说")
