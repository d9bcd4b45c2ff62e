"""What of a user's turn the user says, and what is only shown: code, quotations, pasted material.

A rule in a mail that the user pastes is the sender's rule. What is shown is told by its marks
(fences, quotation marks, tags, speaker labels, mail headers) and by how it is handed over
("Translate into French: ..."). In doubt it is pasted: a rule missed can be said again, while one
that somebody else wrote would be followed from then on. `said_by_user` gives the user's own words,
`is_handed` and `shows` tell whether a turn hands over somebody else's.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import Literal, NamedTuple

from holdfast.language.instructions import cues
from holdfast.language.lexicon import LANGUAGES, WEEKDAY, any_of, word_set
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS, cut_sentences

# A fence ends with the mark it began with; with text between backticks on one line it is no fence.
_FENCE = regex(r"[ \t]*(?P<quote>(?:>[ \t]*)*)(?P<mark>`{3,}(?!.*`)|~{3,})(?P<rest>.*)")
_DIVIDER = regex(r"\s*-{3,}\s*$")
_INDENTED = regex(r" {4}|\t")
_ITEM = regex(r"\s*(?:[-*•]|\d+[.)])\s+")
# Of quotations over several lines only the strict form: inch marks and strays open none.
_QUOTED = regex(
    r"\"[^\"\n]{1,300}\"|(?<!\w)\"(?=\S)[^\"]{1,3000}\"(?!\w)|“[^“”]{1,3000}”|«[^«»]{1,3000}»"
    r"|„[^„“”]{1,3000}[“”]|‘[^‘'\n]{1,300}'(?!\w)|「[^「」]{1,3000}」|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)"
    r"|<!--[^<]{1,3000}-->"
)
#: What every quotation begins with.
_QUOTATION_MARK = regex("[\"“«„‘「`'<]")
_TAG = regex(r"<(/?)([a-z][\w-]{0,40})(?:\s[^<>]{0,300})?>", re.I)
_INSIDE = regex(r"[^\n]")

# A quoted block, a row of a table, a comment or a header line: text that was pasted, not said.
_PASTED = regex(r"\s*(?:>|\||//|/\*|#include|\$ |TODO\b|(?:fwd?|re|subject|step \d+)\s*:)", re.I)
_MAIL = regex(r"\s*(?:from|to|cc|bcc|subject|sent)\s*:\s*\S|-+ ?original message", re.I)
# The first line of something longer: a heading, a salutation.
_DOCUMENT = regex(rf"\s*(?:#{{1,6}} |(?:hi|hello|hey|dear)\b[^{STOPS}]{{0,40}}[,!]?\s*$)")
# The user again, after material in paragraphs of its own.
_RESUMES = regex(r"\s*(?:also|p\.? ?s\b|btw|by the way|one more thing|oh)\b")

_LABEL = regex(
    r"\s*[*_]{0,2}(?P<time>\[[^\]]{1,40}\]\s*|\(?\d{1,2}[:.]\d\d(?:[:.]\d\d)?\s?(?:[ap]m)?\)?[\s,–-]+)?"
    r"(?P<name>[^\W\d_][\w.'\u2019-]{0,30}(?: [\w.'\u2019-]{1,30}){0,3})"
    r"(?: ?[(\[][^)\]]{1,40}[)\]])? ?[*_]{0,2}[:：][*_]{0,2}(?=\s|$)",
    re.I,
)
_ROLE = regex(
    r"(?:the )?(?:(?:tool|function|search|system|api|command|shell) )?(?:results?|outputs?|logs?)"
    r"|system(?: prompt| message)?|assistant|developer|user|human|tool|function|bot|chatbot|ai|gpt"
    r"|llm|agent|model|customer|client|support|me|you|him|her|them|[qa]"
    r"|(?!i\b|as i\b).+ (?:replied|wrote|writes|said|says|answered|asked|responded|told me)"
)
# Labels of what the user says, "Note: ...", beside the words of manner, "Tone: ...".
_OWN = (
    word_set("""
again also always and anyway btw but code coding correction dates default email emails finally first
formatting forward fyi general generally heads-up hint honestly important instruction instructions
key last later length listen look mails maths n.b. naming nb never no note notes now ok okay one
only onward p.s. please pls preference preferences ps psa python quick recipes remember reminder
request requests requirement requirements rule rules second seriously so sql style suggestion thing
things third tip tips travel update urgent warning wish wishes work writing yes
""")
    | cues.MANNER
)

_THINGS = (
    r"(?:announcement|article|blog|chat|comment|contract|conversation|copy|description|doc|document"
    r"|draft|e-?mail|essay|excerpt|guide|guidelines?|instructions?|letter|list|log|mail|manual|memo"
    r"|message|note|notes|page|paragraph|passage|piece|poem|policy|post|prompt|prompts|quote|readme"
    r"|recipe|review|rules?|screenplay|script|section|sentences?|snippet|spec|story|system prompt"
    r"|template|text|thread|transcript|tweet|website|wording)"
)
_HANDLES = (
    r"(?:analy[sz]e|check|classify|comment on|convert|copy-?edit|correct|critique|edit|evaluate"
    r"|expand|explain|extract|fix|grade|improve|interpret|paraphrase|parse|polish|proof-?read|rate"
    r"|read|reformat|rephrase|review|reword|rewrite|shorten|simplify|summari[sz]e|tidy(?: up)?"
    r"|transcribe|translate|make|turn|tell me|reply to|respond to)"
)
_HANDED = (
    r"(?:this|these|following|below|it|into [a-z]+|to (?!me\b|you\b)[a-z]+"
    rf"|(?:the|my|a|an|his|her|our|their) (?:\w+ ){{0,3}}?{_THINGS})"
)
# Something is handed over: an order to work on it, its announcement, a question about it. Asked at
# the start of a line and behind each stop.
_STOP = regex(rf"[{STOPS}]\s")
_HANDS = regex(
    rf"\s*(?:(?P<work>(?:(?:please|pls|hi|hello|hey|ok|okay|now|can you"
    rf"|could you|would you|help me|and|then)[,!]? )*{_HANDLES}(?:\s*"
    rf"|\b[^{STOPS}:]{{0,80}}?\b{_HANDED}\b[^{STOPS}:]{{0,60}}):)|(?:here(?:'s| is| are| was)"
    r"|below (?:is|are)|this is|these are|i (?:got|received|found)|(?:he|she|they|my \w+) (?:sent"
    rf"|gave|wrote))\b[^{STOPS}:]{{0,80}}:|[^{STOPS}:]{{0,80}}\b(?:this|these"
    rf"|the following) (?:\w+ ){{0,2}}?{_THINGS}\b[^{STOPS}:]{{0,60}}(?:\?\s*$|:)"
    rf"|on [^{STOPS}]{{3,60}} wrote\s*:)"
)
# Rules given as a list are announced, "Some rules for you:"; other lists are pasted.
_RULES = r"(?:rules?|preferences?|requests?|instructions?|guidelines|wish(?:es)?)"
_ANNOUNCES = regex(
    r"\b(?:(?:for|from|of|want|need|like|expect|ask|asking|wish|tell|telling|when|whenever|how) you"
    r"|you (?:should|must|need|to|always|have)|your|(?:how|what) i (?:want|like|need|prefer)"
    rf"|i (?:want|need|expect|prefer)|things?|reminders?|{_RULES}"
    r"|remember|clear|favou?r|follow|important|going forward|fyi|in mind)\b"
    r"|^\W*(?:(?:please|quick|also|and) )*(?:note|please|also|again|p\.?s\.?)\b"
)
_THEIRS = regex(
    r"\b(?:from(?! (?:now|here|today|this point|you)\b)|our|house|team|their|his|her|company|office"
    r"|meeting|manual|handbook|of the|at the|on the|found|got|received|sent|wrote"
    r"|(?!here|let|that|it|what|there)\w+'s"
    r"|for (?:bots?|agents?|kids|children|students|employees|users|customers|clients|guests"
    r"|visitors|staff|interns|(?:the|a|an|my|our|his|her|their|new|another)"
    r"(?! (?:\w+ )?(?:answers|replies|responses|chats?|conversations?|assistant)\b)))\b|s' "
)
_FOR_NAME = regex(r"\b(?:for|by|of) [A-Z][a-z]")

Paste = Literal["", "due", "paragraph", "document", "mail"]


class Said(NamedTuple):
    """A part of a line that the user says."""

    #: Where it starts in the turn.
    start: int
    verbatim: str
    #: In lower case, of the same length, with quotations blanked.
    low: str


#: Where a line starts, the line, the same in lower case, and whether it is code or lies between two
#: dividers.
_TurnLine = tuple[int, str, str, bool]


# Several readers ask for the same turn, one after the other.
@lru_cache(maxsize=16)
def said_by_user(text: str) -> tuple[Said, ...]:
    """What the user says of a turn, line by line."""
    hear = _SpeakerTracker().hear
    said = list[Said]()
    for start, line, low, block in _lines(text):
        if heard := hear(line, low, block=block):
            at, own = heard
            said.append(Said(start + at, line[at : at + len(own)], own))
    return tuple(said)


def all_lines(text: str) -> Iterator[tuple[int, str]]:
    """All lines but code, also those of others: (where each starts, lower case, no quotations)."""
    return ((start, low) for start, _, low, block in _lines(text) if not block)


@lru_cache(maxsize=16)
def _lines(text: str) -> tuple[_TurnLine, ...]:
    lines = text.splitlines()
    starts = accumulate(map(len, text.splitlines(keepends=True)), initial=0)
    blocks = _blocks(lines, text)
    plain = _plain("\n".join(_without_blocks(lines, blocks))).split("\n")
    return tuple(zip(starts, lines, plain, blocks, strict=False))


class _SpeakerTracker:
    """Follows a turn line by line and knows who is speaking."""

    def __init__(self) -> None:
        self._paste: Paste = ""
        self._listing = False  # The items that follow are the user's.
        self._opening = True  # At the start of a paragraph.
        self._set_off = False  # A blank line lies between an announcement and its material.

    def hear(self, line: str, low: str, *, block: bool) -> tuple[int, str] | None:
        """What the user says of the next line, behind its place in the line; None: nothing."""
        blank, heard = not line.strip(), None
        if block or (self._paste == "due" and line.startswith(">")):
            self._paste = "" if self._paste == "due" else self._paste  # This was the material.
        elif blank:
            self._pause()
        elif not self._is_material(line, low) and not _PASTED.match(line):
            heard = self._listen(line, low)
        self._opening = block or blank
        return heard

    def _pause(self) -> None:
        self._set_off = self._paste == "due"
        if self._paste == "paragraph":
            self._paste = ""

    def _is_material(self, line: str, low: str) -> bool:
        if self._opening and _MAIL.match(line):
            self._paste = "mail"
        elif self._paste == "document" and self._opening and _RESUMES.match(low):
            self._paste = ""
        elif self._paste == "due":
            long = self._set_off or _DOCUMENT.match(low)
            self._paste = "document" if long else "paragraph"
        return self._paste != ""

    def _listen(self, line: str, low: str) -> tuple[int, str] | None:
        if label := _speaker(line):
            self._hand_over(low[label:])
            if low[label:].strip():
                self._paste = ""  # The next line has a label of its own, or none.
            return 0, low[:label] + "_" * (len(low) - label)
        if item := _ITEM.match(line):
            return (item.end(), low[item.end() :]) if self._listing else None
        return self._say(line, low)

    def _say(self, line: str, low: str) -> tuple[int, str] | None:
        announces = low.rstrip().endswith(":")
        self._listing = announces and _for_us(line[-200:], low[-200:])
        hands = _handing(low)
        if hands and (hands["work"] or not _for_us(hands[0], hands[0])):
            self._hand_over(low[hands.end() :])
            return 0, low[: hands.start()]
        if announces and not self._listing:
            self._hand_over("")
            return None
        return 0, low

    def _hand_over(self, rest: str) -> None:
        self._paste = "paragraph" if rest.strip() else "due"
        self._set_off = self._listing = False


def _for_us(line: str, low: str) -> bool:
    """Whether what is announced are the user's rules for the assistant, not those of others."""
    return bool(_ANNOUNCES.search(low)) and not (_THEIRS.search(low) or _FOR_NAME.search(line))


def _handing(low: str) -> re.Match[str] | None:
    if ":" not in low and not low.rstrip().endswith("?"):  # Most lines are settled by this alone.
        return None
    places = chain([0], (stop.end() for stop in _STOP.finditer(low)))
    return next(filter(None, (_HANDS.match(low, place) for place in places)), None)


def is_marked(line: str) -> bool:
    """Whether a line says of itself that it is another's: by the label of a speaker, or a mark."""
    return _speaker(line) is not None or _PASTED.match(line) is not None


def _speaker(line: str) -> int | None:
    """Where the label of a speaker ends; None where the line has none."""
    label = _LABEL.match(line) if ":" in line or "：" in line else None
    if label is None:
        return None
    name = label["name"]
    words = name.lower().replace("\u2019", "'").split()
    named = len(words) <= 3 and all(word[0].isupper() for word in name.split())
    if label["time"] or _ROLE.fullmatch(" ".join(words)):
        return label.end()
    return label.end() if named and _OWN.isdisjoint(words) else None


def _blocks(lines: list[str], text: str) -> list[bool]:
    """For each line, whether it is code or lies between two dividers."""
    blocks = [False] * len(lines)
    for mark, other, find in _BLOCKS:
        if mark in text or other in text:  # Few texts have any: their lines are not read.
            found = find(_without_blocks(lines, blocks))
            blocks = [old or new for old, new in zip(blocks, found, strict=True)]
    return blocks


def _without_blocks(lines: list[str], blocks: list[bool]) -> list[str]:
    """With an empty line for each that lies in a block."""
    if True not in blocks:
        return lines
    return ["" if block else line for line, block in zip(lines, blocks, strict=True)]


def _find_fenced(lines: list[str]) -> Iterator[bool]:
    mark, quoted = "", False
    for line in lines:
        fence = _FENCE.match(line)
        yield bool(mark or fence)
        if mark:
            closed = fence and fence["mark"].startswith(mark) and not fence["rest"].strip()
            if closed or (quoted and not line.strip()):  # A quotation ends with its paragraph.
                mark = ""
        elif fence:
            mark, quoted = fence["mark"], bool(fence["quote"])


def _find_indented(lines: list[str]) -> Iterator[bool]:
    after = False  # A blank line, or more of the code.
    for line in lines:
        blank = not line.strip()
        code = after and not blank and bool(_INDENTED.match(line)) and not _ITEM.match(line)
        yield code
        after = blank or code


def _find_divided(lines: list[str]) -> Iterator[bool]:
    left = sum(_DIVIDER.match(line) is not None for line in lines)
    inside = False
    for line in lines:
        divider = _DIVIDER.match(line) is not None
        yield inside or divider
        left -= divider
        if divider:
            inside = not inside and left > 0  # The last one, left alone, opens nothing.


#: What finds blocks, and the marks without which a text has none of them; in this order.
_BLOCKS = (
    ("```", "~~~", _find_fenced),
    ("    ", "\t", _find_indented),
    ("---", "---", _find_divided),
)


def _plain(text: str) -> str:
    """Lower case, of the same length, with the inside of quotations and tags blanked."""
    low = _without_quoted(_without_tagged(text.replace("\u2019", "'")))
    folded = low.lower()
    if len(folded) != len(low):  # A few capitals have a longer small form.
        folded = "".join(c.lower() if len(c.lower()) == 1 else c for c in low)
    return folded


def _without_quoted(text: str) -> str:
    """With the inside of quotations blanked. A quotation is tried only where a mark stands, not at
    every letter: that took a seventh of the time in which rules are looked for."""
    parts: list[str] = []
    at = 0
    mark = _QUOTATION_MARK.search(text)
    while mark:
        quote = _QUOTED.match(text, mark.start())
        if quote:
            parts += text[at : quote.start()], '"', _INSIDE.sub("_", quote[0][1:-1]), '"'
            at = quote.end()
        mark = _QUOTATION_MARK.search(text, at if quote else mark.end())
    return "".join((*parts, text[at:])) if parts else text


def _without_tagged(text: str) -> str:
    if "<" not in text:
        return text
    opened: defaultdict[str, list[int]] = defaultdict(list)
    spans: list[tuple[int, int]] = []
    for tag in _TAG.finditer(text):
        begun = opened[tag[2].lower()]
        if not tag[1]:
            begun.append(tag.end())
        elif begun:
            spans.append((begun.pop(), tag.start()))
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            parts += text[at:start], _INSIDE.sub("_", text[start:end])
            at = end
    return "".join((*parts, text[at:]))


# ----------------------------------------------------------------------
# Whether a turn hands over a text that somebody else wrote, so that a rule in it may be theirs.
#
# Whoever shows a text says so around it. What stands beside a rule is asked three questions:
#
#     work    is something to be done with a text ("Translate to French.", "Which is clearer?")?
#     source  is it told where a text comes from ("got this from the bank", "the poster says")?
#     voice   does somebody else speak, or is spoken to ("Dear Ms Albrecht", "guests must ...")?
#
#     doubt = the sum of what was found;    from 2.0 upwards the rule is not taken for the user's
#
# One clear sign is enough, two faint ones are. What is not plainly the user's own talk is a faint
# sign itself: in doubt it is asked back, and a rule can be said again. What is said of texts to
# come counts for nothing ("when I forward you a mail, ..."). Matched in lower case, with quotations
# blanked. No pattern has nested unbounded repeats.
# ----------------------------------------------------------------------

# Things with words on them, in them or made of them.
_TEXTS = (
    r"(?:abstract|ad|advert|advertisement|affiliate|announcement|answer sheet|app store|article"
    r"|assignment|bio|blog|book|booklet|brochure|bulletin|bumper sticker|caption|card|chapter|chat"
    r"|chorus|circular|clause|clip|code comment|column|commandments?|comment|comments"
    r"|commit message|contract|conversation|cookbook|copy|cover letter|cv|description|dialog"
    r"|dialogue|diary|disclaimer|dm|doc|document|docs|draft|e-?mail|entry|essay|excerpt|faq"
    r"|fine print|flyer|footer|form|fortune cookie|forum|graffiti|guide|guidelines?|handbook"
    r"|handout|headline|homework|horoscope|inbox|inscription|instructions?|interview|invitation"
    r"|invoice|joke|journal|label|leaflet|lease|letter|letterbox|line|lines|listing|log|lyrics"
    r"|magazine|mail|manifesto|manual|manuscript|memo|menu|message|messages|minutes|monologue|motto"
    r"|newsletter|newspaper|note|notes|notice|noticeboard|novel|obituary|offer letter|page|pamphlet"
    r"|paper|paragraph|passage|pdf|petition|pitch|placard|plaque|podcast|poem|policy|pop-?up|post"
    r"|poster|postcard|post-?it|prayer|press release|printout|prompt|prompts|prospectus|proverb"
    r"|quote|readme|recipe|release notes|reply|repo|report|review|reviews|rulebook|rules|saying"
    r"|screenplay|screenshot|script|section|sentence|sermon|sign|slack|slide|slides|slogan|snippet"
    r"|song|speech|statement|sticker|sticky|story|subject lines?|subtitles|survey|t-?shirt|tattoo"
    r"|template|terms|testimonial|text|texts|thread|ticket|toast|transcript|translation|tweet"
    r"|user agreement|utterance|verse|version|video|voice ?mail|voice message|wall|warning"
    r"|web ?page|web ?site|whatsapp|whiteboard|wiki|wording|writing)"
)
_A_TEXT = rf"\b{_TEXTS}s?\b"
_MORE_LANGUAGES = """
bulgarian croatian estonian farsi icelandic latvian lithuanian serbian slovak slovenian englische
französische deutsch deutsche
"""
_LANGUAGE = rf"(?:{any_of(LANGUAGES, _MORE_LANGUAGES)})"
# What is at hand; not "this week".
_THIS = (
    rf"(?:(?:this|these|those)\b(?! {WEEKDAY}| (?:week|month|year"
    r"|morning|evening|afternoon|time|summer|winter|spring|autumn|weekend|way|far|chat"
    r"|conversation|and all)\b)|(?:the )?following\b|\bbelow\b|\battached\b)"
)

# Before the verb of a request.
_ASKS = (
    r"(?:(?:please|pls|plz|hi|hello|hey|ok|okay|so|now|and|then|just|also|kindly|quick(?:ly)?"
    r"|(?:can|could|would|will) (?:you|u|ya)|help me(?: to)?|i need (?:you )?to|i(?:'d"
    r"| would) like you to"
    r"|i want you to|i have to|act as an? [\w ]{1,30}? and|let's|mind)[,!:]?\s+){0,6}"
)
# Done to texts and to nothing else: needs no object.
_TEXT_WORK = (
    r"(?:translat(?:e|ion)|übersetze?n?|proof-?read(?:ing)?|summari[sz]e|summary|sum (?:it "
    r"|this )?up|tl;? ?dr|gist|paraphrase|rephrase|reword|re-?write|shorten|simplify|transcribe"
    r"|copy-?edit|spell-?check|fact-?check|critique|grammar|typos?|bullet points?|headline"
    r"|red flags?|count the (?:words|letters|vowels|syllables|characters))\b"
)
# Done to anything: a text must be the object.
_ANY_WORK = (
    r"(?:analy[sz]e|answer|assess|break|categori[sz]e|check|clarify|classify|clean|comment"
    r"|compare|condense|continue|convert|correct|decode|decipher|edit|evaluate|expand|explain"
    r"|extract|fix|format|go over|go through|grade|have a look|highlight|identify|improve|interpret"
    r"|judge|look|mark|outline|parse|polish|pull|put|rank|rate|read|react|refute|reply|respond"
    r"|review|score|sort|spot|tidy|tighten|tone|turn|fill|complete|underline|unpack)\b"
)
# Makes something new, unless it is made of what is at hand.
_MAKES = (
    r"(?:compose|create|draft|find|finish|generate|give|guess|list|make|name|pick|say|suggest"
    r"|tell me|write)\b"
)
_AT_HAND = rf"(?:{_THIS}|\b(?:it|that)\b)"
_OF_TEXT = (
    rf"(?:{_TEXT_WORK}|{_ANY_WORK}[^{STOPS}]{{0,80}}?(?:{_AT_HAND}|{_A_TEXT})"
    rf"|{_ANY_WORK} (?:in)?to (?!me\b|you\b)\w|{_MAKES}[^{STOPS}]{{0,80}}?{_AT_HAND})"
)
WORK = regex(
    rf"(?:^|, |[:;-] )\W{{0,5}}{_ASKS}(?:{_OF_TEXT}|(?:a |the )?{_LANGUAGE} (?:version"
    rf"|translation)\b|(?:in|into|to|auf|ins) {_LANGUAGE}\b)|\b(?:kannst|könntest) du\b|\bbitte\b"
    rf"|\b(?:can|could|would|will) (?:you|someone|anyone) (?:\w{{1,20}} ){{0,2}}?{_OF_TEXT}"
    rf"|\b(?:need|want) (?:a |an |the )?(?:\w{{1,20}} ){{0,3}}?(?:summary|translation|headline"
    r"|gist|action items|reply|comeback|no|answer) (?:to|of|for|from|only|on)\b"
    rf"|\bthe {_LANGUAGE} (?:for|word)\b"
)
# A question whose matter is a text, or what is said in it.
ABOUT = regex(
    rf"\b(?:spelling|mistakes?|wording|phrasing|punctuation|register)\b[^.!]{{0,40}}\?"
    r"|\b(?:don't|can't|cannot|didn't|couldn't) (?:really |quite |even )?(?:understand"
    r"|make (?:out|sense)|figure|read (?:this|it|that|the|his|her)|get (?:it|this|that|the"
    r"|what))\b|\b(?:sanity|quick|spell) ?check\b"
    rf"|\b(?:any truth|truth in|scam|scammy|legit|phishing|fake|hoax|fraud|genuine|spam"
    rf"|passive[- ]aggressive|cliché|cheesy"
    rf"|enforceable|legally binding|gdpr|plagiari\w+|rhetorical|typos?)\b"
    rf"|^\W{{0,5}}(?:thoughts|opinions?|feedback|true or false|fact or fiction|any thoughts"
    rf"|comments)\b"
    rf"|\bwhat(?:'s| is| does| do| did| would| could| can| should| might)\b[^?]{{0,40}}?"
    rf"\b(?:mean|make of|think of|stand for|going on here|catch)\b"
    rf"|\bwhat (?:do|can|should|could|would|shall) i (?:\w+ ){{0,2}}?(?:answer|reply|say|write"
    rf"|respond|do (?:with|about)|tell)\b"
    rf"|\bhow (?:should|would|do|can|could|shall|might|to)\b[^?]{{0,30}}?\b(?:reply|respond|answer"
    rf"|put (?:it|this|that)|phrase|read (?:it|this|that)|react|translate|take (?:it|this|that)"
    rf"|interpret|word)\b"
    rf"|\b(?:write|writing|say|answer|reply|respond|get) (?:something (?:nice )?)?back\b"
    rf"|\bwho (?:is|'s|are) right\b|\bwhich (?:of|one|version)\b|\bwho (?:writes?|said|wrote"
    rf"|does that)\b"
    rf"|\bwhere (?:does )?(?:that|this|it)(?:'s| is)? ?(?:comes? )?from\b"
    rf"|\bdo you know (?:it|if that|if this|where|what this)\b"
    rf"|\bwhat (?:song|film|book|language|font|poem|tone|style|meter|dialect)\b"
    rf"|\b(?:is|are|was|does|do|did|sounds?|looks?|seems?|reads?|should i|am i|isn't|doesn't) "
    rf"[^?]{{0,60}}?{_THIS}"
    rf"|\b(?:can|could|may|must|is|are|do|does|did|should|would|will|has|have|was) (?:he|she"
    rf"|they)\b"
    rf"|\bis (?:it|that|he|she) (?:\w+ )?(?:me|legal|normal|allowed|rude|true|real|serious|joking"
    rf"|too|even|actually|funny|ok|okay|fair|safe|balanced|a joke|from|why)\b"
    rf"|\bdoes (?:that|it) (?:\w+ )?(?:mean|bind|apply|count|make sense|follow|say|sound)\b"
    rf"|\bshould i (?:worry|laugh|cry|be|respond|reply|answer|report|ignore|believe|trust|sign"
    rf"|click|pay)\b"
    rf"|\bread that as\b|\bin which tone\b|\bsound(?:s|ed)? (?:angry|rude|like|friendlier|nicer)\b"
)
# Where a text comes from.
_SAYS = (
    r"(?:sends?|sent|writes?|wrote|written|forwards?|forwarded|forwarding|e-?mailed|texted|texts"
    r"|messaged|posted|posts|shared|handed|left|says?|said|told|tells|reads(?! (?:this|it|my|over"
    r"|along))|states?|stated|goes|put up|hung|stuck|taped|scribbled|printed|displayed|answered"
    r"|replied|dm'?e?d|announced|circulated|dropped|pinned|typed|scrawled|published|tweeted"
    r"|commented|suggested|claims?|claimed|demands?|demanded|insists?|wants?|reminded|informed"
    r"|asked|signed|slipped|submitted|gave (?:me|us|him|her|them|everyone)|mailed|edited)"
)
_OTHERS = (
    r"(?:he|she|they|somebody|someone|some \w{1,40}|people|the (?:\w{1,40} ){1,4}?"
    r"|my (?:\w{1,40}(?:'s)? ){1,4}?|our (?:\w{1,40}(?:'s)? ){1,4}?|his|her (?:\w{1,40} )"
    r"|their (?:\w{1,40} )|an? (?:\w{1,40} ){1,3}?|it|who|which"
    r"|that|[\w'-]{1,30}'s (?:\w{1,40} ){1,3}?)"
)
SOURCE = regex(
    rf"\b{_OTHERS} ?(?:\w{{1,40}}ly |just |once |now |also |always |keeps? |has |have |had "
    rf"|only ){{0,8}}{_SAYS}\b"
    r"|\b(?:got|received|found|saw|spotted|came across|copied|pasted|noticed|overheard|inherited"
    r"|discovered|screenshotted|ran|opened|getting|fetched|scanned|typed"
    rf"|stumbled)\b[^{STOPS}]{{0,60}}?(?:\b(?:this|these)\b|{_A_TEXT})"
    rf"|^\W{{0,5}}(?:got|received|found|saw|spotted|overheard|copied|seen|read|pasted) (?:this"
    r"|these|it|a|an|in|on|the)\b"
    r"|\b(?:this|that|it|these|those|here)(?:'s| is| are| was| were| came| popped| arrived"
    rf"| landed| appeared| goes| comes| showed)(?: \w+){{0,4}}? (?:(?:from|off) (?!you\b|now\b"
    rf"|here\b)|in the|on the|on a|what|by|in my|up|{_TEXTS})\b"
    rf"|\bhere(?:'s| is| are| goes| comes| you go)\b(?! (?:my|the) (?:code|function|class|query"
    rf"|script|error))"
    rf"|\bit(?:'s| is| was) (?:from|off|copied|by)\b"
    rf"|^\W{{0,5}}(?:[\w'-]{{1,20}} ){{1,4}}?from (?:the|our|my|an?|his|her|their)\b"
    rf"|\bthere(?:'s| is| was| were| are) [^{STOPS}]{{0,40}}?{_A_TEXT}"
    rf"|{_A_TEXT} (?:\w+ ){{0,4}}?(?:from|by|has|had|contains?|arrived|came|landed|starts|ends"
    r"|begins|went|goes|on my|i got|we (?:got|received)|just|of my|of our)\b"
    rf"|\b(?:reviewing|reading|editing|translating|grading|moderating|marking|transcribing"
    rf"|proofreading|staring at|looking at|typing)\b"
    rf"|\b(?:has|had|bears|carries) (?:a|an|the|this) (?:\w+ ){{0,2}}?{_TEXTS}\b"
    rf"|\b(?:new|updated|these) (?:\w+ ){{0,2}}?(?:rules|terms)\b|\btype it out\b"
    rf"|\bliterally what\b"
)
# Somebody else speaks, or is spoken to.
VOICE = regex(
    r"^\W{0,5}(?:dear|dearest) \w+|^\W{0,5}(?:hi|hello|hey|good (?:morning|evening|afternoon|day)) "
    r"(?:team|all|everyone|everybody|folks|guys|mum|mom|dad|dear|friends?|valued|there (?!,)"
    r"|partner"
    r"|mrs?\b|ms\b|dr\b)|^\W{0,5}(?:gentlemen|ladies|friends|attention|minutes)\b"
    r"|\b(?:kind|best|warm) regards\b|\byours (?:sincerely|faithfully|truly)\b|^\W{0,5}(?:regards"
    r"|cheers"
    r"|kisses|sincerely|best|love|yours|your (?:mother|father|aunt|uncle|friend)),? \w*\W{0,5}$"
    r"|\bvalued customer|\b(?:our|friendly) team\b|\bwe (?:at|refer|noticed|regret|are sorry"
    r"|updated"
    r"|count on|value|propose)\b|\bthe undersigned\b|^\W{0,5}ref\b|^\W{0,5}subject\b|^\W{0,5}§"
    r"|\b(?:assistants?|ai|ais|bots?|robots?|chatbots?|language models?|llms?|machines?) (?:reading"
    r"|processing|evaluating|used|should|must|shall|is|are)\b"
)
TEXT = regex(_A_TEXT)
HERE = regex(rf"\b{_THIS}")
WONDERS = regex(
    r"\W{0,5}(?:(?:and|or|but|so) )?(?:what|how|why|who|where|which|is|are|does|do|did|can|could"
    r"|should|any idea)\b"
)
ENGLISH = regex(
    r"\b(?:a|an|and|are|at|by|for|from|have|i|i'm|in|is|it|it's|me|my|no|not|of|on|or|so|that|the"
    r"|this|to|was|we|what|when|with|you|your|how|do|does|please|pls|thanks|be|been|all|but|if|just"
    r"|never|always)\b"
)
# A question about something that was just shown.
ASKED_OF = regex(r"\b(?:this|that|these|those|it(?! again)|he|she|they|them|him|her|his|their)\b")
# Something is to be done with what is there, unless it is made anew or asked for.
ACTS = regex(
    rf"(?:^|, |: )\W{{0,5}}{_ASKS}(?:{_ANY_WORK}|{_MAKES}|[a-z]{{2,20}}(?:-?i?fy|i[sz]e)\b|tone"
    r"|reduce|remove|replace|add)"
)
NEW = regex(
    rf"\W{{0,5}}{_ASKS}(?!(?:have|take) a\b)(?:[a-z]{{2,20}} (?:(?:me|us) )?(?:a|an|some|any|one"
    rf"|two|three|four|five|ten|\d+|about|how|why|what|whether|which|who)\b(?!.{{0,200}}\b(?:out "
    r"of|of the|from the|from it|about it|for it)\b))"
)
LASTING = regex(
    r"\b(?:always|never|ever|every|each|all|any|when(?:ever)?|if|future|everything|anything|now on"
    r"|with me)\b"
)
OTHER_PEOPLE = regex(
    r"\b(?:members?|guests?|customers?|visitors?|staff|employees?|readers?|the users?|participants?"
    r"|tenants?|residents?|pupils?|players?|everyone|everybody|applicants?|passengers?|clients?"
    r"|patients?|us)\b"
)
# The user speaks of themselves, or to the assistant.
OWN = regex(
    r"\b(?:i|i'm|i've|i'd|i'll|im|ive|id|my|me|mine|myself|you|your|you're|thanks|thank|thx|sorry"
    r"|ok|okay|hate|remember|note|anything|everything|whatever|things)\b"
)
_OPENS = (
    r"\W{0,5}(?:(?:and|so|but|in fact|please|pls|thanks|sorry|well|because|since|as"
    r"|also|anyway),? ){0,4}"
)
# A reason begins with the user; what is announced with a colon must be wished by them.
SELF = regex(
    rf"{_OPENS}(?:{cues.STYLE_VERB}|i|i'm|im|i've|i'd|i'll|my|we|we're|our|you|you're|your|hate|love"
    rf"|let's|remember|note|keep in mind"
    r"|anything|everything|whatever|things|all|every|each|any|nobody|it's|that's|it \w+s me)\b"
)
ASKS_SELF = regex(
    rf"{_OPENS}(?:(?:i|i'd|i'm) (?:\w{{1,12}} )?(?:like|want|prefer|insist|ask|expect|mean|repeat"
    rf"|asking|love|said|say)"
    r"|you (?:can|may|should|must|know)|let's|remember|note|keep in mind|be|act|in fact i)\b"
)
TALKS = regex(
    r"\b(?:answer|reply|respond|write|say|tell|explain|speak|talk|call|address|suggest|recommend"
    r"|mention|ask|remind|translat|summari[sz]|cit|quot|format|use|using|give|show|list|spell|phras"
    r"|refer|correct|warn|assum|treat|describ|discuss|convert|round|apologi[sz]|sign)(?:e|es|s|ing"
    r"|ed)?\b"
)
TALK_WORDS = cues.MANNER | cues.ALL
WORD = regex(r"[a-z][a-z'_-]*")
LABEL = regex(
    r"\W{0,5}(?:(?:one|two|three|a few|some|first(?: of all)?|last|another|quick|my|general"
    r"|important|ground|house|standing|little|small|more|last|just|and|also|ok|okay|for the record"
    r"|heads|by the way|btw),? ){0,4}(?:things?|one|wish(?:es)?|requests?|rules?|notes?|favou?rs?"
    r"|points?|reminders?|preferences?|important|up|record|units|style|tone|length|format(?:ting)?"
    r"|listen|look|seriously|once and for all|ps)\W{0,5}$"
)
# What is said of texts to come, or of what is done at any time: no text is there yet.
TO_COME = regex(
    r"\b(?:when(?:ever)?|if|each time|every ?time|any ?time|once|as soon as|unless|until|before"
    rf"|after) (?:\w{{1,20}}ing|i|you|we|it|a|an|any|my|someone|somebody)\b[^{STOPS},:;]*"
    r"|\b(?:whatever|anything|everything|things|all|what|those|texts?|mails?|emails?|letters?"
    r"|messages|articles|reviews?|posts|reports|documents|photos|links|pages) (?:that )?(?:i|you"
    rf"|we)\b[^{STOPS},:;]*"
    rf"|\bfor (?!the\b)(?:(?!and\b)\w{{1,30}} ){{1,5}}?(?:that )?i\b(?!')[^{STOPS},:;]*"
)
# Surely a text, or a question about one, in a turn without any rule.
SIGNED = regex(
    r"^\W{0,5}dear (?:mr|mrs|ms|dr|all|sir|madam|customer|\w+,)|^\W{0,5}(?:kind "
    r"|best )?regards,? \w+"
)
ABOUT_TEXT = regex(
    r"^\W{0,5}(?:thoughts|legit|is this (?:legit|real|genuine|a scam)|true or false)\b[^?]*\?"
    r"|\b(?:on|in|of) (?:a|the|our|my|his|her|their) (?:\w{1,20} )?"
    r"(?:poster|leaflet|flyer|notice|sticker|sign|newsletter|group chat|letterbox|noticeboard)\b"
    r"|\bwhat do they mean\b|\bwho writes th\w+\b"
    r"|\bhow would you reply\b"
)


#: From here on a rule is not taken for the user's own.
#: This and what follows: settled on tests/trust/pastes.jsonl and rules.jsonl (docs/howto/trust.md).
DOUBT = 2.0
CLEAR, FAINT = 2.0, 1.0
_FEW_WORDS, _MANY_WORDS = 3, 6
#: Of the words of an English sentence, how many are of the commonest.
_LEAST_ENGLISH = 0.15

# Whoever hands over a long text says so at one of its ends.
_HEAD, _TAIL = 4_000, 4_000
_AT_A_TEXT = regex(
    r"\b(?:sent(?: me| us)?|wrote|gave (?:me|us)|(?<!you )(?<!we )(?<!'ve )got|found|is|does|was"
    r"|about|saw|like) this\b(?! (?:is|week|year)\b)"
)
_LONGEST = 600  # Characters of a sentence that are looked at.


class Place(NamedTuple):
    """A sentence with a request: where it begins, in lower case; where in it the openings end
    ("when I ask, ..."), and where the thought begins that holds the request."""

    start: int
    sentence: str
    opened: int
    asked: int


def is_handed(lines: Iterable[tuple[int, str]], rules: Sequence[Place]) -> bool:
    """Whether a turn with these lines (where each starts; in lower case, quotations blanked) hands
    over a text, so that the rules in it are in doubt."""
    total = sum(_doubt_by_opening(each.sentence[: each.opened]) for each in rules)
    total += sum(_doubt_by_frame(each.sentence[each.opened : each.asked]) for each in rules)
    total += sum(_doubt_by_colon(each.sentence) for each in rules)
    if total >= DOUBT:
        return True
    others = list(_others(list(lines), rules))
    if others or len(rules) > 1:
        total += sum(_doubt_by_request(each.sentence) for each in rules)
    if others:
        total += sum(_doubt_by_matter(each.sentence) for each in rules)
    for sentence in others:
        if total >= DOUBT:
            return True
        total += _doubt_beside(sentence)
    return total >= DOUBT


def _others(lines: Sequence[tuple[int, str]], rules: Sequence[Place]) -> Iterator[str]:
    """The sentences beside the rules, at both ends of a long turn."""
    size = lines[-1][0] + len(lines[-1][1])
    starts = [each.start for each in rules]
    for at, sentence in _sentences(lines):
        if _HEAD <= at < size - _TAIL:
            continue
        before = bisect_left(starts, at + len(sentence)) - 1
        if before < 0 or at >= starts[before] + len(rules[before].sentence):
            yield sentence[:_LONGEST]


def _doubt_by_colon(sentence: str) -> float:
    """The same of a request that follows a colon in its sentence: "Check my homework: ..."."""
    head, colon, _ = sentence.partition(": ")
    is_work = colon and ACTS.match(head) and not LASTING.search(head)
    return CLEAR if is_work else 0.0


def _doubt_by_request(sentence: str) -> float:
    """The same of a request among other sentences, which may be work to be done on them."""
    return CLEAR if WORK.match(sentence) and not LASTING.search(sentence) else 0.0


def _doubt_by_matter(sentence: str) -> float:
    """The same of whom a request is for: how to wash a mug is no matter of an assistant's."""
    is_talk = TALKS.search(sentence) or not TALK_WORDS.isdisjoint(WORD.findall(sentence))
    return FAINT if not is_talk or OTHER_PEOPLE.search(sentence) else 0.0


def _doubt_beside(sentence: str) -> float:
    """How much a sentence beside a rule says that a text of another is there."""
    told = TO_COME.sub(" ", sentence).strip()
    if _points(told) or VOICE.search(told) or HERE.search(told) or _is_foreign(told):
        return CLEAR
    if told.endswith("?") or WONDERS.match(told):
        return FAINT if ASKED_OF.search(told) else 0.0
    if (acts := ACTS.search(told)) and not NEW.match(told[acts.start() :]):
        return CLEAR
    is_own = OWN.search(told) or told.count(" ") < _FEW_WORDS
    return 0.0 if is_own and not TEXT.search(told) else FAINT


def _doubt_by_opening(before: str) -> float:
    """The same of what opens a request: "On the poster in the lift: ..."."""
    return CLEAR if _points(TO_COME.sub(" ", before).strip()) else 0.0


def _doubt_by_frame(before: str) -> float:
    """The same of what stands before a request in its sentence: a reason of the user's ("I'm
    dyslexic, so ..."), or who says it."""
    told = TO_COME.sub(" ", before).strip(" ,;-")
    head, colon, _ = told.partition(":")
    if LABEL.match(head) or (not colon and told.count(" ") < _FEW_WORDS):
        return 0.0
    if _points(told) or HERE.search(told):
        return CLEAR
    return 0.0 if (ASKS_SELF if colon else SELF).match(head) else CLEAR


def _is_foreign(told: str) -> bool:
    """Whether a sentence is in another language than English: around an English rule, or beside."""
    words = told.count(" ") + 1
    return words >= _MANY_WORDS and len(ENGLISH.findall(told)) < words * _LEAST_ENGLISH


def _points(told: str) -> bool:
    return bool(WORK.search(told) or ABOUT.search(told) or SOURCE.search(told))


def _sentences(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for at, line in lines:
        for start, end in cut_sentences(line):
            if line[start:end].strip():
                yield at + start, line[start:end]


@lru_cache(maxsize=16)
def shows(text: str) -> bool:
    """Whether a turn surely hands over a text: who speaks of themselves in it need not be the user.
    Stricter than `is_handed`, which is asked only where there is a rule."""
    return any(_surely(sentence[:_LONGEST]) for _, sentence in _sentences(all_lines(text)))


#: "fix the grammar pls", and the text in paragraphs of its own.
_ORDERS_REST = regex(
    rf"\s*(?:(?:please|pls|hi|hey|ok|can you|could you|would you|help me)[,!]? )*{_HANDLES}\b"
    rf"[^{STOPS}\n]{{0,60}}[{STOPS}:]?[ \t]*\n[ \t]*\n\s*\S",
    re.I,
)


def orders_rest(text: str) -> bool:
    """Whether the first paragraph of a turn says what to do with those below it."""
    found = _ORDERS_REST.match(text)
    return found is not None and not LASTING.search(found[0].lower())


def _surely(sentence: str) -> bool:
    told = TO_COME.sub(" ", sentence).strip()
    if _AT_A_TEXT.search(told) and (ABOUT.search(told) or SOURCE.search(told)):
        return True
    if told.count(" ") > _MANY_WORDS * 2:
        return False
    if SIGNED.search(told) or ABOUT_TEXT.search(told):
        return True
    return bool(WORK.match(told) and not LASTING.search(told))
