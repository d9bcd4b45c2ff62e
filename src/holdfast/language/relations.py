"""Relations between names: what a verb phrase says, which way it points, and who "I" is.

The verb phrase is kept as it was said; its type is the nearest of the graph's own. A phrase that
says the reverse of a type ("causes") gives the relation the other way round. Without a parse
(`pattern_relations`) subject, a verb phrase of a known form and object must stand side by side in a
plain statement; with one (`Parse`) they are those of the verb. Questions, conditions, wishes and
negations give nothing: a relation that is missed can be said again, one that is wrong stays.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, NamedTuple

from holdfast.language.lexicon import BLOOD_KIN, GRANDPARENTS, KIN, PETS, any_of, word_set
from holdfast.language.mentions import OPENERS, Mention, Span
from holdfast.language.regex import regex
from holdfast.language.sentences import is_denied, opens_clause, sentence_spans

# Closed classes that decide whether a clause states something, and of what.

#: Labels of a model for what is counted or measured, never a name.
NUMBER_LABELS = frozenset(("DATE", "TIME", "CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY"))
IF = frozenset(("if", "unless", "whether", "whenever"))

#: Short forms as they are kept in a phrase.
FULL = {
    mark + short: full
    for mark in "'’"
    for short, full in {"m": "am", "re": "are", "ve": "have", "ll": "will", "s": "is"}.items()
}
MODALS = word_set("would could should might may can must ca wo 'd ’d")
DOUBTS = word_set("never hardly maybe perhaps possibly barely")
#: Verbs after which nothing has happened yet, or ever will.
WISHES = word_set(
    "hope want wish plan like need try expect intend consider dream wonder ask refuse fail let"
)
#: Prepositions that say when, how or why, not what; after them only a name counts.
LOOSE = word_set("""
after as before beyond by despite during for like off over per since than under unlike until within
without
""")
#: Nouns that name nothing one would look up.
VAGUE = word_set("""
amount anyone anything assistance back best bit blast boost break bunch bye call care case chance
congrats control couple day deal decision difference direction doubt effort end error evening
everyone everything eye fan favorite favourite feeling few fun go good great haha hand head heart
hello help hour hunt idea joy kind lease life look lookout lot luck magic middle mind minute
moment month morning night nothing number one other part people piece place point progress reality
reason rest sense side someone something sort start step stuff support thank thanks thing thought
time today tomorrow ton top touch trouble try use way week while word work world year yesterday
""")


ANY_RELATION = "related_to"


@dataclass(frozen=True, slots=True)
class MentionedRelation:
    """Two things and what was said of them; an end that is no mention is a concept."""

    source: str
    type: str
    target: str
    #: The verb phrase as it was said, read between source and target.
    original: str
    start: int
    end: int
    confidence: float
    #: Whether the words say how the two are related, so that it is worth an edge of the graph.
    telling: bool = True


@dataclass(frozen=True, slots=True)
class Speakers:
    """Who speaks, and to whom; `other` is None unless exactly two are named."""

    speaker: str
    other: str | None = None

    def person(self, word: str) -> str | None:
        """The name behind a pronoun or a possessive."""
        low = word.lower()
        if low in _FIRST:
            return self.speaker or None
        return self.other if low in _SECOND else None


_FIRST = frozenset(("i", "me", "my", "mine", "myself", "we", "us", "our", "ours"))
_SECOND = frozenset(("you", "your", "yours"))

_BE = r"(?:am|is|are|was|were|be|been|being|'m|'s|'re|got|get|gets|’m|’s|’re)"
# (type, whether the phrase says its reverse, pattern); the first that fits counts.
_TYPES: tuple[tuple[str, bool, re.Pattern[str]], ...] = tuple(
    (kind, turned, regex(rf"(?:^|\b)(?:{pattern})$", re.I))
    for kind, turned, pattern in (
        (
            "plays_for",
            False,
            r"(?:work(?:s|ed|ing)?(?: as .{0,80})?|intern(?:s|ed|ing)?) (?:at|for)"
            r"|play(?:s|ed|ing)? (?:for|in)|(?:hired|employed) (?:by|at)",
        ),
        ("caused_by", False, r"caused by|due to|because(?: of)?|result(?:s|ed)? from|triggered by"),
        (
            "caused_by",
            True,
            r"caus(?:e|es|ed|ing)|(?:lead|leads|led) to|result(?:s|ed)? in|trigger(?:s|ed)?",
        ),
        (
            "contradicts",
            False,
            r"contradict(?:s|ed|ing)?|(?:conflict|disagree)(?:s|d|ed)? with|refut(?:e|es|ed)"
            r"|disprov(?:e|es|ed)",
        ),
        (
            "supports",
            False,
            r"support(?:s|ed|ing)?|confirm(?:s|ed)?|back(?:s|ed)? up|agree(?:s|d)? with",
        ),
        (
            "part_of",
            False,
            r"(?:part|member|subset|branch) of|belong(?:s|ed)? to|located in"
            rf"|{_BE} (?:in|within|inside)",
        ),
        ("preceded_by", True, r"followed by|preced(?:e|es)"),
        ("preceded_by", False, r"preceded by|follow(?:s|ed)|(?:come|comes|came) after"),
        ("correlated_with", False, r"(?:correlat|associat|link)(?:es|ed)? (?:with|to)"),
        ("mentioned_in", False, r"(?:mentioned|cited|described|quoted) in|appear(?:s|ed)? in"),
    )
)

_OWNER = r"(?P<owner>\b(?:[Mm]y|[Yy]our|[Oo]ur)\b)"
# Its last word is no verb: "our team uses Postgres" gives no role.
_ROLE = r"(?P<role>(?:[a-z][\w-]* ){0,2}[a-z][\w-]*(?:[^\W\ds]|ss))(?<!ed)(?<!ing)"
# "my sister Clara", "Tania's band Velvet Moth": the role stands right before the name.
_OWN_BEFORE = regex(rf"{_OWNER} {_ROLE},? \Z")
_NAME_BEFORE = regex(rf"['’]s {_ROLE},? \Z")
# "Viktor, my neighbour,": after it.
_OWN_AFTER = regex(rf",? (?:is )?{_OWNER} {_ROLE}(?=[,.!;]|$)")
_NO_ROLE = regex(
    r"\b(?:and|or|in|on|at|to|of|for|from|with|by|is|was|are|were|has|had|like|about|the|a|an|as"
    r"|own|than|that|called|named|favou?rite|name|when|if|while|because|but|so|then|not|also)\b"
)
#: What only a person can be to somebody.
PEOPLE = """
assistant boss child classmate client coach colleague coworker dentist director doctor editor ex
flatmate friend guide instructor landlord lawyer manager mentor neighbou?r nurse producer professor
roommate spouse stepfather stepmother student supervisor teacher teammate therapist trainer tutor
twin vet
"""
#: What else somebody has that bears a name. Any other word before a name may be an adjective: "my
#: new Prius" is nobody's new.
_THINGS = """
app band bike blog boat book brand bakery business cafe car church city club company employer farm
firm gym hometown hospital label neighbou?rhood newsletter novel office organi[sz]ation pet podcast
project restaurant school shop song startup store studio team town university village website
"""
_PERSON_ROLE = regex(rf"(?:[a-z-]+ )*(?:{any_of(KIN, GRANDPARENTS, PEOPLE, PETS)})")
_ROLE_NOUN = regex(rf"(?:[a-z-]+ )*(?:{any_of(KIN, GRANDPARENTS, PEOPLE, PETS, _THINGS)})")
#: By hand, not measured.
_ROLE_CONFIDENCE = 0.85

# ----------------------------------------------------------------------
# What makes an edge of a claim: words that relate two things, said and not denied.
# ----------------------------------------------------------------------

#: Doubt before "is my boss": "if she is", "I don't think she is".
_SUPPOSED = regex(r"\b(?:if|unless|whether|wish|maybe|perhaps|pretend|imagine)\b", re.I)

_SMALL = word_set("""
am is are was were be been being have has had do does did got get gets used 's 'm 're 've ’s ’m ’re
also just really finally recently now still already actually always once only even both ever to in
at for from with by of on up into about against through over after out as under off down back away
around the a an my our your his her their some this that
""")
#: Of what is only meant to happen there is nothing to tell yet.
_AHEAD = regex(r"\b(?:will|gonna|shall|hoping|planning|trying)\b|['’]ll\b|\bgoing to \w", re.I)
#: Verbs that say little by themselves, whatever follows.
_LIGHT = word_set("""
have had has got get gets getting do does did doing make makes made making take takes took taken
taking give gives gave given giving look looks looked looking think thinks thought thinking see sees
saw seen seeing find finds found finding keep keeps kept keeping let put come comes came coming feel
feels felt mean means meant know knows knew ask asks asked say says said tell tells told want wants
wanted need needs needed try tries tried start starts started begin began like likes hear heard mind
catch consider considered considering check
""")
_GOES = regex(r"\b(?:go|goes|going|gone|went)(?: back)?$", re.I)
#: Verbs that tell something of a person also where their object is an ordinary noun.
_TELLING = """
adopt attend borrow coach collect compose cook design direct edit founded graduate invent join
launch manage marry mentor own paint perform plant play practise practice prescribe produce publish
record rent repair restore study teach train use volunteer work learn support
"""
_TELLING_FORMS = """
bought buy buys buying build builds built building sell sells sold drive drives drove driving lead
leads led quit ride rides rode run runs ran sing sings sang speak speaks spoke taught teaches wear
wears wore win wins won write writes wrote written writing grow grows grew lost
allergic afraid married engaged
"""
_POINTING = regex(r"(?:those|these|such|other|same|any|every|each|different|few|many) ", re.I)
_SAID_PLAINLY = regex(
    r"(?:likes|dislikes|decided|avoids|is allergic to|does not (?:eat|drink)|is [\w -]+ of"
    r"|favou?rite [\w ]+ (?:is|are|was))",
    re.I,
)
_BEING_IN = regex(r".*\b(?:in|within|inside)", re.I)


def tells(relation: MentionedRelation, *, named: bool) -> bool:
    """Whether the words of a relation say how the two are related, so that it is worth an edge:
    by one of the graph's own types, as a role or a taste, or by a verb that says something of the
    two. `named`: what it points to is a name and not only a noun."""
    said = relation.original
    if _AHEAD.search(said):
        return False
    if relation.type != ANY_RELATION:
        return named or not _BEING_IN.fullmatch(said)
    if _SAID_PLAINLY.fullmatch(said):
        return True
    words = [word for word in said.lower().split() if word not in _SMALL]
    if not words or words[-1] == "like" or (words[0] in _LIGHT and len(words) == 1):
        return False
    if named:
        return _tells_of_name(said, words)
    is_thing = not (set(relation.target.lower().split()) & VAGUE)
    return is_thing and words[-1] in _TELLS and not _POINTING.match(relation.target)


def _tells_of_name(said: str, words: Sequence[str]) -> bool:
    """Whether a verb phrase, its telling words given, says something of a name behind it."""
    if _GOES.search(" ".join(words)):
        return said.lower().endswith((" to", " into", " through"))
    return words[0] not in _LIGHT or words[-1] in _TELLS


def typed_relation(
    source: str, phrase: str, target: str, span: tuple[int, int], confidence: float
) -> MentionedRelation:
    """A relation from what was said, turned round where its type reads the other way."""
    for kind, turned, pattern in _TYPES:
        if pattern.search(phrase):
            if turned:
                source, target, phrase = target, source, f"{kind.replace('_', ' ')} ({phrase})"
            return MentionedRelation(source, kind, target, phrase, *span, confidence)
    return MentionedRelation(source, ANY_RELATION, target, phrase, *span, confidence)


def roles(text: str, mentions: Sequence[Mention], who: Speakers) -> Iterator[MentionedRelation]:
    """Who is whose: "my sister Clara", "Clara, my sister", "Tania's band Velvet Moth"."""
    for mention in mentions:
        before = _OWN_BEFORE.search(text, max(0, mention.start - 60), mention.start)
        after = _OWN_AFTER.match(text, mention.end)
        found = before or after
        if found is None or not _is_role(text, found, mention, who):
            continue
        if owner := who.person(found["owner"]):
            yield _role(mention, found["role"], owner, found)
    yield from _roles_of_names(text, mentions)


def _is_role(text: str, found: re.Match[str], mention: Mention, who: Speakers) -> bool:
    """Whether a role is one, is this one's, and is said and not only supposed."""
    role = found["role"].strip()
    if _NO_ROLE.search(role) or not _ROLE_NOUN.fullmatch(role):
        return False
    if found.start() >= mention.end:  # "Clara is my boss"
        begin = max(text.rfind(stop, 0, mention.start) for stop in ".!?\n") + 1
        return not _SUPPOSED.search(text, begin, mention.start) and not is_denied(
            text, mention.start, found.end()
        )
    if not found.group().endswith(", "):
        return True
    # "My boss, Karen" is she; "my business, Jon" calls somebody.
    return mention.text != who.other and _PERSON_ROLE.fullmatch(role) is not None


def _roles_of_names(text: str, mentions: Sequence[Mention]) -> Iterator[MentionedRelation]:
    for owner, mention in pairwise(mentions):
        found = _NAME_BEFORE.fullmatch(text, owner.end, mention.start)
        if found is None or _NO_ROLE.search(found["role"]):
            continue
        if _ROLE_NOUN.fullmatch(found["role"].strip()):
            yield _role(mention, found["role"], owner.text, found)


def _role(mention: Mention, role: str, owner: str, found: re.Match[str]) -> MentionedRelation:
    start, end = min(found.start(), mention.start), max(found.end(), mention.end)
    original = f"is {role.strip()} of"
    return MentionedRelation(
        mention.text, ANY_RELATION, owner, original, start, end, confidence=_ROLE_CONFIDENCE
    )


def distinct(found: Iterable[MentionedRelation]) -> list[MentionedRelation]:
    """Each claim once, the surest first of its kind; nothing is related to itself."""
    kept: dict[tuple[str, str, str], MentionedRelation] = {}
    for relation in found:
        if relation.source.lower() == relation.target.lower():
            continue
        key = (relation.source, relation.type, relation.target)
        known = kept.get(key)
        if known is None:
            kept[key] = relation
        elif relation.confidence > known.confidence:
            kept[key] = replace(known, confidence=relation.confidence)
    return list(kept.values())


# ----------------------------------------------------------------------
# The verbs that join two names in plain speech, in all their forms.
#
# Not a dictionary: the everyday verbs of moving, meeting, working, making, owning and liking, so
# that a relation is found without a parse.
# ----------------------------------------------------------------------

_REGULAR = """
accept acquire adopt appear arrive attend belong bike bake book borrow call cancel cause celebrate
chat climb coach collaborate confirm contact contradict cook create depend design direct discover
email enjoy enter explore finish fix follow found graduate guide hate hike hire host help identify
intern introduce invite invent join launch learn like live love manage marry mentor miss move
organise organize open own paint perform phone plant play precede prefer prepare prescribe
produce promote publish raise receive recommend record refute relate release relocate rent repair
replace report represent rescue result return review score share ski sponsor start stay study
support teach text thank trace train transfer travel trigger try use visit volunteer walk want
watch welcome work
"""
_IRREGULAR = """
became began bought bring brings brought build builds building built buy buys buying came caught
come comes coming drive drives driving drove drew fell flew fly flies flying found gave give gives
giving go goes going gone got grew hear heard held hold holds keep keeps kept knew know knows leave
leaves leaving led lead leads leading left lost made make makes making married meet meets meeting
met paid pay pays ran read reading reads ride rides riding rode run runs running sang saw see sees
seen sell sells selling sent sing sings sold speak speaks spoke spent take takes taking taught
teaches teaching told took went win wins winning won wore write writes writing written wrote
named called engaged correlated associated mentioned cited described hired had has have
"""
_VOWELS = "aeiou"


def _forms(verb: str) -> tuple[str, ...]:
    """The forms of a regular verb: move, moves, moved, moving."""
    if verb.endswith("e"):
        return verb, f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb, f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"
    ending = "es" if verb.endswith(("s", "x", "ch", "sh")) else "s"
    return verb, f"{verb}{ending}", f"{verb}ed", f"{verb}ing"


_TELLS = {form for verb in _TELLING.split() for form in _forms(verb)} | set(_TELLING_FORMS.split())

#: The longest first: a pattern must not stop at "live" in "lives".
VERB_FORMS: tuple[str, ...] = tuple(
    sorted(
        {form for verb in _REGULAR.split() for form in _forms(verb)} | set(_IRREGULAR.split()),
        key=lambda form: (-len(form), form),
    )
)


_DOUBT = regex(
    r"\b(?:if|unless|ensures?|make sure|maybe|perhaps"
    r"|would|could|should|might|hope|hopes|hoping|wish|wishes|want"
    r"|wants|never|not|no longer|wonder|hardly|barely|rarely|seldom|neither|nor|nobody|none|no one"
    r"|without|fail(?:s|ed)? to|refus(?:e|es|ed) to)\b|n['’]t\b|['’]d\b|\?\s*\Z",
    re.I,
)
_ADVERB = r"(?:(?:also|just|really|finally|recently|now|still|already|actually|always|once) )*"
_AUX = r"(?:(?:am|is|are|was|were|have|has|had|been|will|got|gonna|going to|used to) )*"
_PREPOSITION = r"(?:to|in|at|for|from|with|by|of|on|up|into|about|against|through|over|after)"
_STATES = (
    r"(?:part|(?:a )?member|(?:the )?(?:capital|coach|captain|head|owner|founder|author|boss"
    rf"|{any_of(BLOOD_KIN)})) of|due to|allergic to|afraid of|married to"
    r"|engaged to|located in|based in|born in|because of|in"
)
_DETERMINER = r"(?:(?:the|a|an|my|our|some|his|her|their) )?"
_PHRASE = regex(
    rf"(?:, who|, which)? (?P<phrase>{_AUX}{_ADVERB}"
    rf"(?:(?:{'|'.join(VERB_FORMS)})(?: {_PREPOSITION}){{0,2}}|{_STATES})) (?P<the>{_DETERMINER})"
)
# A state needs "is" before it: "Clara in Rome" says little.
_BARE_STATE = regex(_STATES)
_CONTRACTED = regex(r"['’](?:m|s|re|ve|ll)\b")
#: What is only to come is said so.
_WILL = {"'ll": "will ", "’ll": "will "}
#: "Diana's fee": not Diana is meant.
_OF_NAME = regex(r"['’]s? \S")
#: "A Tolkien evening": nor is Tolkien meant, unless a small word or the end follows.
_COMPOUND = regex(r" (?P<next>[a-z]{3,})\b")
_NOUNS = regex(r"(?:[a-z][a-z-]+ )?[a-z][a-z-]{2,}(?=[.,!;]| (?:in|at|with|from|for|and|by)\b|$)")
_NO_NOUN = regex(
    r"\b(?:it|that|this|them|him|her|me|you|us|there|here|time|lot|lots|way|bit|thing|things|one"
    r"|day|days|week|month|year|kind|ton|chance|much|more|well|again|so|very|best|back|same|fun"
    r"|most|end|care|look|first|last|next|while|blast|great|good|part|member|moment|idea|and|of|to)\b"
)
_PRONOUN = regex(r"\b(?:I|[Ww]e|[Yy]ou)\b")
_OWNED = regex(r"\b(?P<owner>[Mm]y|[Oo]ur|[Yy]our) (?P<noun>[a-z]+)(?<!ing)(?= )")
#: So far before a name "my favourite ... is" begins: a text may be one endless sentence.
_LONGEST_FAVOURITE = 64
_FAVOURITE = regex(r"\b(?P<owner>[Mm]y|[Yy]our) (?P<said>favou?rite [a-z ]{2,30}? is) \Z")
_NOUN_SUBJECT = regex(
    r"\s*(?:(?:The|A|An|This) (?P<noun>(?:[a-z-]+ )??[a-z-]+)|(?P<name>[A-Z][a-z]+))(?= )"
)
_AND = regex(r",? and |, ")
#: By hand, not measured.
_NAMED_CONFIDENCE, _CONCEPT_CONFIDENCE = 0.75, 0.55
_MOST_VERBS = 3  # Of one subject: "lives in A, works for B and plays for C".


class Subject(NamedTuple):
    """Who or what a sentence may speak of, and where it stands."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A plain statement with its names."""

    text: str
    end: int
    mentions: dict[int, Mention]


def pattern_relations(
    text: str, mentions: Sequence[Mention], who: Speakers
) -> Iterator[MentionedRelation]:
    """The relations of a text whose names are known."""
    yield from roles(text, mentions, who)
    for start, end in sentence_spans(text, names=True):
        if _DOUBT.search(text, start, end):
            continue
        first = bisect_left(mentions, start, key=lambda one: one.start)
        last = bisect_right(mentions, end, key=lambda one: one.end)
        inside = {one.start: one for one in mentions[first:last]}
        sentence = Sentence(text, end, inside)
        yield from _stated(sentence, _subjects(sentence, start, who))
        yield from _favourites(sentence, start, who)
        yield from _of_nouns(sentence, start)


def _subjects(sentence: Sentence, start: int, who: Speakers) -> list[Subject]:
    found = [Subject(one.text, one.start, one.end) for one in sentence.mentions.values()]
    for pronoun in _PRONOUN.finditer(sentence.text, start, sentence.end):
        name = who.person(pronoun.group())
        if name and opens_clause(sentence.text, pronoun.start()):
            found.append(Subject(name, *pronoun.span()))
    for owned in _OWNED.finditer(sentence.text, start, sentence.end):
        if name := who.person(owned["owner"]):
            found.append(Subject(f"{name}'s {owned['noun']}", *owned.span()))
    return sorted(found, key=lambda each: each.start)


def _stated(sentence: Sentence, subjects: Sequence[Subject]) -> Iterator[MentionedRelation]:
    """What is said of each subject; of "Mira and I" the same of both."""
    later: list[MentionedRelation] = []
    next_start = -1
    for subject in reversed(subjects):
        claims = list(_objects(sentence, subject, subject.end))
        if not claims and sentence.text[subject.end : next_start] == " and ":
            claims = [replace(one, source=subject.name, start=subject.start) for one in later]
        yield from claims
        later, next_start = claims, subject.start


def _objects(
    sentence: Sentence, subject: Subject, at: int, left: int = _MOST_VERBS
) -> Iterator[MentionedRelation]:
    text = sentence.text
    short = _CONTRACTED.match(text, at)  # "I'm flying": the verb begins after it.
    found = _PHRASE.match(text, short.end() if short else at, sentence.end)
    if not found or not left:
        return
    phrase = _WILL.get(short.group() if short else "", "") + found["phrase"]
    if _is_unfinished(phrase, short.group() if short else ""):
        return
    end = found.end()
    if end in sentence.mentions:
        for target in (
            () if _is_compound(found["the"], text, sentence, end) else _listed(sentence, end)
        ):
            span = (subject.start, target.end)
            yield typed_relation(subject.name, phrase, target.text, span, _NAMED_CONFIDENCE)
            end = target.end
    elif found["the"] and (noun := _NOUNS.match(text, end, sentence.end)):
        end = noun.end()
        if not _NO_NOUN.search(noun.group()):
            span = (subject.start, end)
            yield typed_relation(subject.name, phrase, noun.group(), span, _CONCEPT_CONFIDENCE)
    if again := _AND.match(text, end, sentence.end):  # "lives in Oslo and works for Nordsee"
        yield from _objects(sentence, subject, again.end() - 1, left - 1)


def _is_compound(article: str, text: str, sentence: Sentence, at: int) -> bool:
    """Whether a name with an article before it only tells what kind of thing follows."""
    more = _COMPOUND.match(text, sentence.mentions[at].end, sentence.end) if article else None
    return more is not None and more["next"] not in OPENERS and not more["next"].endswith("ly")


def _is_unfinished(phrase: str, short: str) -> bool:
    """Whether a phrase lacks its verb: "Clara in Rome", "a Master's in", "a Zoom meeting with"."""
    if short[1:] in ("", "s") and _BARE_STATE.fullmatch(phrase):
        return not short or phrase == "in"
    return not short and phrase.partition(" ")[0].endswith("ing")


def _of_nouns(sentence: Sentence, start: int) -> Iterator[MentionedRelation]:
    """What is said of a noun that opens the sentence, where its type is known: "X caused Y"."""
    found = _NOUN_SUBJECT.match(sentence.text, start, sentence.end)
    name = found and (found["noun"] or found["name"])
    if not found or not name or name.lower() in OPENERS:
        return
    for one in _objects(sentence, Subject(name, found.end() - len(name), found.end()), found.end()):
        if one.type != ANY_RELATION:
            yield one


def _listed(sentence: Sentence, at: int) -> Iterator[Mention]:
    """The name that stands here, and those listed with it: "Jonas and Farid"."""
    while mention := sentence.mentions.get(at):
        if _OF_NAME.match(sentence.text, mention.end, sentence.end):
            return
        yield mention
        more = _AND.match(sentence.text, mention.end, sentence.end)
        at = more.end() if more else -1


def _favourites(sentence: Sentence, start: int, who: Speakers) -> Iterator[MentionedRelation]:
    for mention in sentence.mentions.values():
        near = max(start, mention.start - _LONGEST_FAVOURITE)
        found = _FAVOURITE.search(sentence.text, near, mention.start)
        if found and (owner := who.person(found["owner"])):
            span = (found.start(), mention.end)
            yield typed_relation(owner, found["said"], mention.text, span, _NAMED_CONFIDENCE)


# ----------------------------------------------------------------------
# Relations from a parsed sentence: the subjects of a verb, the verb phrase, its objects.
#
# A parse is any sequence of tokens with spaCy's attributes; this module does not import spaCy. A
# clause that is asked, denied, wished or only supposed gives nothing.
# ----------------------------------------------------------------------

#: A token of a parse; untyped here because spaCy is an extra.
Token = Any

_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "attr", "oprd")
#: By hand, not measured.
_NAMED, _CONCEPT = 0.9, 0.7
_LONGEST_CONCEPT = 4  # Words.
_LONGEST_PHRASE = 80  # Characters.
#: So far up or along a parse is looked, and at so many words that hang on one: a text may be one
#: endless sentence.
_DEEPEST = 8
_MOST_CHILDREN = 64


class End(NamedTuple):
    """One end of a relation."""

    name: str
    #: Whether it is a name or a person who speaks, and not only a noun.
    named: bool
    token: Token


class ParsedClause(NamedTuple):
    """A verb with what it needs to be read."""

    verb: Token
    subjects: list[End]
    #: The words before the verb that belong to it: "decided to".
    lead: str


class Parse:
    """A parsed text with its names and its speakers."""

    def __init__(self, doc: Any, mentions: Sequence[Mention], who: Speakers) -> None:
        self._doc = doc
        self._who = who
        self._mentions = mentions
        self._at = {
            place: mention for mention in mentions for place in range(mention.start, mention.end)
        }
        self._dates: list[Span] = [
            (ent.start_char, ent.end_char) for ent in doc.ents if ent.label_ in NUMBER_LABELS
        ]

    def relations(self) -> Iterator[MentionedRelation]:
        """Everything the text states, in its order."""
        yield from roles(self._doc.text, self._mentions, self._who)
        for sentence in self._doc.sents:
            if sentence.text.rstrip(" \"'”)").endswith("?"):
                continue
            for token in sentence:
                if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass"):
                    yield from self._of_verb(token)

    def _of_verb(self, verb: Token) -> Iterator[MentionedRelation]:
        clause = self._clause(verb)
        if clause and clause.subjects and not _is_doubtful(verb) and not _lacks_tense(clause):
            for each in self._stated(clause):
                if not is_denied(self._doc.text, each.start, each.end):
                    yield each

    def _clause(self, verb: Token, left: int = _DEEPEST) -> ParsedClause | None:
        """A verb with its subjects, its own or those of the verb above; None without any."""
        subjects = [child for child in verb.children if child.dep_ in _SUBJECTS]
        if subjects:
            ends = [end for each in subjects for end in self._sources(each, verb)]
            if len(subjects) > 1:  # "Your cousin Petra called": two to the parser, one person.
                ends = [end for end in ends if end.named]
            return ParsedClause(verb, ends, "")
        if left and verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX"):
            above = self._clause(verb.head, left - 1)
            return above and ParsedClause(verb, above.subjects, "")
        if left and verb.dep_ == "xcomp" and verb.head.pos_ == "VERB":
            return self._governed(verb, left - 1)
        return None

    def _governed(self, verb: Token, left: int) -> ParsedClause | None:
        """As in "decided to cancel"; of "hope to visit" nothing follows."""
        above = verb.head
        if above.lemma_ in WISHES or _is_doubtful(above):
            return None
        if any(child.dep_ == "dobj" for child in above.children):
            return None  # "Asked me to come": the object does it, not the subject.
        clause = self._clause(above, left)
        between = self._doc.text[above.idx : verb.idx]
        return clause and ParsedClause(verb, clause.subjects, clause.lead + between)

    def _sources(self, token: Token, verb: Token) -> list[End]:
        found: list[End] = []
        for each in (token, *_joined(token)):
            if each.tag_ in ("WDT", "WP") and verb.dep_ == "relcl":
                each = verb.head  # noqa: PLW2901 - "who" is the noun before it.
            end = self._third(each, verb) if each.lower_ in ("he", "she") else self._end(each)
            if end:
                found.append(end)
        return found

    def _third(self, token: Token, verb: Token) -> End | None:
        """He or she, where the verb above has one named subject: "Sven told me he ..."."""
        if verb.dep_ != "ccomp":
            return None
        above = [child for child in verb.head.children if child.dep_ in _SUBJECTS]
        end = self._end(above[0]) if len(above) == 1 else None
        return end if end and end.named and above[0].pos_ == "PROPN" else None

    def _end(self, token: Token) -> End | None:
        """What a token stands for; None where that is nothing to speak of."""
        if token.pos_ == "PRON" or token.tag_ in ("PRP", "PRP$"):
            person = self._who.person(token.text)
            return End(person, True, token) if person else None
        for child in token.children:
            if child.dep_ in ("appos", "acl") and (renamed := self._renaming(child)):
                return End(renamed.text, True, token)
        mention = self._at.get(token.idx)
        if mention and mention.end >= token.idx + len(token.text):
            return End(mention.text, True, token)
        return self._concept(token)

    def _renaming(self, child: Token) -> Mention | None:
        """The name in "my sister Clara", "a puppy named Biscuit"."""
        if child.dep_ == "appos":
            name = self._at.get(child.idx) if child.head.pos_ == "NOUN" else None
            called = name and name.text == self._who.other and _is_called(child)
            return None if called else name
        if child.lemma_ not in ("name", "call"):
            return None
        names = [self._at.get(each.idx) for each in child.children if each.dep_ == "oprd"]
        return names[0] if names else None

    def _concept(self, token: Token) -> End | None:
        if token.pos_ not in ("NOUN", "PROPN") or token.lemma_.lower() in VAGUE:
            return None
        if any(start <= token.idx < end for start, end in self._dates):
            return None
        if any(each.lower_ == "no" for each in token.lefts):
            return None
        first = _first_of_noun(token)
        name = self._doc[first : token.i + 1].text
        named = any(each.idx in self._at for each in self._doc[first : token.i])
        owner = self._owner(token)
        return End(f"{owner}'s {name}" if owner else name, named, token)

    def _owner(self, token: Token) -> str | None:
        for child in token.children:
            if child.dep_ == "poss":
                mention = self._at.get(child.idx)
                return mention.text if mention else self._who.person(child.text)
        return None

    def _stated(self, clause: ParsedClause) -> Iterator[MentionedRelation]:
        phrase = clause.lead + _verb_phrase(clause.verb)
        direct = [child for child in clause.verb.children if child.dep_ in _OBJECTS]
        for child in direct:
            yield from self._direct(clause, phrase, child)
        for child in clause.verb.children:
            if child.dep_ in ("prep", "agent"):
                # "Sent the agenda to Greg": what was sent belongs to what was said.
                said = f"{phrase} {direct[0].text}" if direct and _is_plain(direct[0]) else phrase
                yield from self._through(clause, said, child, alone=not direct)
            elif child.dep_ == "acomp":
                for prep in child.children:
                    if prep.dep_ == "prep":
                        yield from self._through(clause, f"{phrase} {child.text}", prep, alone=True)

    def _direct(
        self, clause: ParsedClause, phrase: str, child: Token
    ) -> Iterator[MentionedRelation]:
        if child.dep_ == "attr" and clause.verb.lemma_ == "be":
            yield from self._is(clause, phrase, child)
            return
        for each in (child, *_joined(child)):
            target = self._end(each)
            if target and not (each.dep_ == "conj" and not target.named):
                yield from self._claims(clause, phrase, target._replace(name=_unowned(target)))
        for prep in child.children:
            if prep.dep_ == "prep":
                yield from self._through(clause, f"{phrase} {child.text}", prep, alone=False)

    def _is(self, clause: ParsedClause, phrase: str, child: Token) -> Iterator[MentionedRelation]:
        """As in "is the coach of Real Oviedo", "my favourite city is Bologna"."""
        target = self._end(child)
        if target and target.named:
            for subject in clause.subjects:
                owner = self._owner(subject.token)
                if owner and not subject.named:
                    said = f"{subject.name.removeprefix(owner + chr(39) + 's ')} {phrase}"
                    yield typed_relation(
                        owner, said, target.name, _span(clause.verb, child), _NAMED
                    )
        for prep in child.children:
            if prep.dep_ == "prep":
                yield from self._through(clause, f"{phrase} {child.text}", prep, alone=True)

    def _through(
        self, clause: ParsedClause, phrase: str, prep: Token, *, alone: bool
    ) -> Iterator[MentionedRelation]:
        """Over a preposition; a bare noun counts only where there is no direct object."""
        words = f"{phrase} {prep.text}"
        for child in prep.children:
            if child.dep_ == "prep" and len(words) < _LONGEST_PHRASE:  # "out of"
                yield from self._through(clause, words, child, alone=alone)
            elif child.dep_ == "pobj":
                yield from self._targets(clause, words, child, alone=alone)

    def _targets(
        self, clause: ParsedClause, words: str, child: Token, *, alone: bool
    ) -> Iterator[MentionedRelation]:
        for each in (child, *_joined(child)):
            target = self._end(each)
            if target is None or self._is_date(each):
                continue
            if target.named or (alone and not _is_loose(clause.verb, child.head)):
                yield from self._claims(clause, words, target._replace(name=_unowned(target)))
        for prep in child.children:
            if prep.dep_ == "prep" and clause.verb.lemma_ == "work" and alone:
                yield from self._through(clause, f"{words} {child.text}", prep, alone=False)

    def _is_date(self, token: Token) -> bool:
        return any(start <= token.idx < end for start, end in self._dates)

    def _claims(
        self, clause: ParsedClause, phrase: str, target: End
    ) -> Iterator[MentionedRelation]:
        spoken = target.token.pos_ == "PRON"
        if spoken and clause.verb.lemma_ == "be" and phrase.rpartition(" ")[2] in LOOSE:
            return  # "I'm here for you"
        if _is_called(target.token):
            return
        for subject in clause.subjects:
            if spoken and not subject.named:
                continue  # "Your help means a lot to me"
            confidence = _NAMED if subject.named and target.named else _CONCEPT
            relation = typed_relation(
                subject.name, phrase, target.name, _span(subject.token, target.token), confidence
            )
            known = relation.type != "related_to"
            # A noun that nobody bears or owns is worth a node only in a claim of a known type.
            if subject.named or known or target.named or "'s " in subject.name:
                yield relation


def _lacks_tense(clause: ParsedClause) -> bool:
    """Whether a verb states nothing of its subject: "helps me sleep", "Outlander: buy the box"."""
    verb = clause.verb
    if clause.lead or any(child.dep_ in ("aux", "auxpass") for child in verb.children):
        return False
    if verb.tag_ == "VB" and verb.dep_ == "ccomp":
        return True
    alone = len(clause.subjects) == 1 and clause.subjects[0].token.tag_ == "NNP"
    return bool(alone and verb.tag_ in ("VB", "VBP"))


def _is_plain(token: Token) -> bool:
    return token.pos_ == "NOUN" and bool(token.dep_ == "dobj")


def _is_called(token: Token) -> bool:
    """Whether a name only calls somebody: "I'll take the bet, James!"."""
    first = int(token.left_edge.i)
    return first > 0 and bool(token.dep_ != "conj" and token.doc[first - 1].text == ",")


def _is_loose(verb: Token, prep: Token) -> bool:
    """Whether a preposition says when, how or why: only a name after it is worth a relation."""
    if prep.head == verb and verb.lemma_ == "be":
        return True  # "I'm on the lookout"
    return prep.dep_ != "agent" and prep.lower_ in LOOSE


def _joined(token: Token) -> Iterator[Token]:
    """What is listed with a word: "Jonas, Farid and Ewa"."""
    for _ in range(_DEEPEST):
        following = next((child for child in token.children if child.dep_ == "conj"), None)
        if following is None:
            return
        yield following
        token = following


def _first_of_noun(token: Token) -> int:
    """Where a noun begins with the adjectives and nouns right before it."""
    first = int(token.i)
    while token.i - first < _LONGEST_CONCEPT - 1 and first > 0:
        before = token.doc[first - 1]
        if before.dep_ not in ("amod", "compound", "nmod") or before.pos_ in ("NUM", "PUNCT"):
            break
        first -= 1
    return first


def _verb_phrase(verb: Token) -> str:
    """The verb with its auxiliaries and particles, without adverbs."""
    parts = [
        child
        for child in verb.children
        if child.dep_ in ("aux", "auxpass", "prt") and child.tag_ != "TO"
    ]
    ordered = sorted([*parts, verb], key=lambda each: int(each.i))
    return " ".join(FULL.get(each.lower_, each.text) for each in ordered)


def _unowned(end: End) -> str:
    return end.name if end.named else end.name.rpartition("'s ")[2]


def _span(one: Token, other: Token) -> Span:
    first, last = sorted((one, other), key=lambda each: int(each.i))
    return int(first.idx), int(last.idx) + len(last.text)


def _is_doubtful(verb: Token) -> bool:
    """Whether a clause, or one it hangs on, is denied, wished or supposed."""
    token, below = verb, None
    for _ in range(_DEEPEST):
        if _has_doubt(token, below):
            return True
        if token.dep_ not in ("ccomp", "xcomp", "conj", "advcl") or token.head.i == token.i:
            break
        token, below = token.head, token
    return False


def _has_doubt(token: Token, below: Token | None) -> bool:
    for child in islice(token.children, _MOST_CHILDREN):
        if child.dep_ == "neg" or child.lower_ in DOUBTS:
            return True
        if child.dep_ == "aux" and child.lower_ in MODALS:
            return True
        if child.dep_ == "advcl" and any(mark.lower_ in IF for mark in child.children):
            return True
        if child.dep_ in ("mark", "advmod") and child.lower_ in IF:
            return True
    return below is not None and below.dep_ != "conj" and token.lemma_ in WISHES
