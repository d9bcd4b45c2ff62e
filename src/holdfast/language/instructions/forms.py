"""The forms of a request to the assistant, each with its weight: the first that fits decides.

Everything is matched in a lower-case sentence whose quotations are blanked, where a request begins.
No pattern has nested unbounded repeats: a hostile sentence costs no more than a long one.
"""

from __future__ import annotations

import re

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
    r"|do|does"
    r"|did|isn't|aren't|wasn't|weren't|won't|can't|don't|doesn't|didn't)\b"
)
_PAST = r"(?:\w{1,20}[^e]ed|\w{1,20}ing)\b(?<!bring)(?<!embed)(?<!shed)"
ANY_VERB = re.compile(
    rf"(?:just )?(?:do (?:it|so|that|them)\b|(?!{_NO_VERB}|{_AUX}"
    rf"|{_PAST})[a-z]{{2,20}}(?: (?!{_AUX})\w|\.?$))"
)
AGREED = re.compile(
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
    r"(?:(?:whatever|what|anything|everything|things|all|stuff|(?:the|any|every|each|all|my) "
    r"(?:[\w-]{1,20} ){0,2}?[\w-]{1,20}) (?:that )?you (?:\w{1,12}ly )?(?!said\b|told\b|gave\b"
    r"|wrote\b)"
    r"[a-z]{2,20})"
)
_OUGHT = (
    r"(?:should|must|shall|(?:has|have|needs?|ought|is|are) to|can (?:be|stay|always)|stays?|goes?"
    r"|go"
    r"|belongs?|comes?|ends?|starts?)\b"
)
_WISH = (
    r"i(?:'d| would)?(?: really| only| just)* "
    r"(?:want|need|expect|like|prefer|rather|appreciate|love)"
)

_BARE = (
    rf"(?![^,.;:]{{0,80}}\b{_AUX})(?:only |just |all ){{0,8}}(?!{_NO_VERB})"
    rf"(?:(?:of |(?!{_NO_VERB})[\w'-]{{1,20}} )){{0,2}}?"
)
_HOW = (
    r"(?:please|pls|as|in|with|without|for|one per|on top|instead of|rather than|before|over|not"
    r"|at most|max|tops|only|first|=|always (?:as|in|with|like|without))(?= |,|$|\.)"
)
# What is not to be done is seldom meant for once.
NEGATIVE = (
    r"(?:do not|don't|dont|needn't) (?:ever )?\w+|(?:stop|quit|avoid|refrain from|cut|skip|drop"
    r"|leave"
    r" out|omit|no more|ditch|spare me) \w+|don't you (?:dare|ever) \w+|(?:leave"
    r"|keep) (?:[\w']+ ){1,3}out\b"
)
# (weight, pattern): the first that matches at the start of the request decides; None is a refusal.
FORMS: tuple[tuple[float | None, re.Pattern[str]], ...] = tuple(
    (weight, re.compile(pattern))
    for weight, pattern in (
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
            rf"i go by (?=\w)|it's \w+ to you\b|it's (?:mrs?|ms|miss|dr|prof(?:essor)?|captain"
            rf"|sir)\b|(?:you can |you may |(?:can|could) you |don't |do not |dont "
            rf"|{_WISH} you to )?(?:call"
            rf"|address) me (?=\w|\")"
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
            r"|wish"
            r"|like|care) to (?:hear|see|read|be (?:told|asked|reminded|called|addressed))\b",
        ),
        (-1.0, r"i (?:always|generally|usually) (?:want|expect|prefer) (?!to\b|my\b)"),
        (
            1.5,
            r"i(?:'d| would) be (?:really |very |so )?(?:grateful|glad|happy|pleased|thankful"
            r"|delighted)"
            r"(?: if| for| that)\b",
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
            rf"(?:can|could|would|will) (?:you|we) (?:please |kindly |mind |just |(?:from now on"
            rf"|in future"
            rf"|going forward),? )*(?:{STYLE_VERB}\b|\w+ing\b)|would it be possible to"
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
            rf"|unless|and))"
            r"|throughout|at a time|over \w+)\b",
        ),
        (1.0, r"\w{1,64} in \w+(?=,? please)"),
        (
            1.0,
            rf"(?:only|just) (?!{_NO_VERB}|{_AUX})[\w' -]{{2,30}}?"
            r"(?: for me| with me| from you)?(?=[.!]|$)",
        ),
        # A taste: for answers only if it names what they are made of.
        (
            1.0,
            r"(?:i(?:'d| would) (?:like|love|prefer)|i (?:(?:really|absolutely|just) )?(?:hate"
            r"|dislike|loathe|prefer|love|like|need|want|can't (?:stand|read"
            r"|bear|follow)|(?:don't|do not) (?:like|want|need|enjoy|care for"
            r"|get on with)))(?! to\b) (?:[\w'-]{{1,20}} ){{0,3}}?(?:{'"
            r"|'.join(sorted(talk.PARTS))})\b",
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
        (1.0, rf"{_BARE}(?:[a-z]{{2,20}}s|spelling|prose|code),? {_HOW}"),
        (0.5, rf"{_BARE}(?!{_NO_VERB}|{_AUX})[a-z]{{2,20}},? {_HOW}"),
    )
)
NEGATES = re.compile(NEGATIVE)
# An order whose object is a kind, not a thing: "suggest walks", "be patient", "answer in French".
BARE = re.compile(
    rf"(?:only |just ){{0,8}}(?!be\b|stay\b|take\b|wait\b|confirm\b|read\b){STYLE_VERB} (?:me "
    rf"|us )?(?!(?:a|an|the|this|that|these|those|some|any|one|two|three"
    r"|four|five|ten|it|them|him|her|me|how|why|what|who|where|when|whether|if|about|my|your|our"
    r"|his|up|on|off|back"
    r"|over|out|again|of|for|to|at|by|with|there|here|now|right|yes|no|so|and|or|\d+)\b)[a-z]"
)
# Behind a condition a wish is a rule: "for directions I prefer landmarks".
WANTS = re.compile(
    r"i(?:'d| would)? (?:only |just |always )?(?:want|need|prefer|like|expect"
    r"|love)\b(?! to\b(?! be\b))"
)
ORDERS = re.compile(rf"(?:only |just |please ){{0,8}}{STYLE_VERB}\b")
