"""Notes that the rules draw from what the user says: decisions, outcomes, strategies.

A decision is what the reader of facts takes for one. Outcomes ("we shipped it", "it did not work")
and strategies ("my plan is to ...") are known by closed phrases, in statements alone: what is
asked, supposed, hoped for or only quoted has not happened. In doubt nothing is drawn: the turn
itself is kept and found in any case. Pure: the same words give the same notes with the same ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from holdfast.border.write_options import visibility_of
from holdfast.language.instructions.handed import shows
from holdfast.language.instructions.own_words import spoken
from holdfast.language.statements.values import FactDraft
from holdfast.records import parts
from holdfast.store.base import Derived
from holdfast.types import Event

_LEAST_WORDS, _MOST_WORDS = 4, 60
_MOST_CHARACTERS = 400
_MOST_A_TURN = 3
#: A longer turn is pasted; what its user says of it stands at its start.
_LOOKED_AT = 20_000
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")

_LATELY = r"(?:(?:finally|just|already|successfully|officially|all|really|actually|both) )*"
_ACHIEVED = (
    r"(?:shipped|launched|released|deployed|delivered|published|submitted|won|solved|fixed|resolved"
    r"|graduated|qualified|(?:achieved|reached) (?:an?|the|my|our)\b"
    r"|(?:passed|failed) (?:the|my|our|his|her|all|it)\b"
    r"|(?:finished|completed|closed) (?:the|my|our|all|it)\b"
    r"|lost (?:the|our|that) (?:\w+ )?(?:game|match|case|deal|contract|bid|client|election)"
    r"|got (?:in|accepted|rejected|approved|promoted|hired|funded)"
    r"|got (?:the|my|our) (?:\w+ )?(?:job|offer|grant|contract|visa|loan|role|place|permit|license"
    r"|licence|apartment|house))"
)
_OUTCOME = re.compile(
    rf"\b(?:it|that|this|which|everything|nothing)(?: has| had)? {_LATELY}"
    r"(?:worked|paid off|failed|fell through|backfired|succeeded"
    r"|went (?:live|well|badly|wrong|great|smoothly))\b"
    r"|\b(?:it|that|this|which) (?:did not|didn't|has not|hasn't) (?:quite )?work(?:ed)?\b"
    r"|\b(?:i|we|they|(?:the|my|our) (?:\w+ )?(?:team|company|son|daughter|wife|husband|partner))"
    rf"(?:'ve| have| has)? {_LATELY}{_ACHIEVED}\b(?!')"
    r"|\b(?:was|were|got|has been|have been) (?:finally )?(?:approved|rejected|accepted|declined"
    r"|cancell?ed|postponed|merged|signed off)\b"
    r"|\b(?:turned out (?:well|fine|great|badly|to be)|as a result|(?:is|are) now live"
    r"|the (?:result|outcome) (?:is|was))\b"
)
_STRATEGY = re.compile(
    r"\b(?:my|our|the|a) (?:\w+ ){0,2}?(?:plan|strategy|approach|idea|tactic)"
    r"(?: (?:here|now|for \w+(?: \w+)?|going forward))?(?: is| will be)(?: now)? to\b"
    r"|\b(?:my|our|the) (?:\w+ ){0,2}?(?:plan|strategy|approach)\s?:"
    r"|\b(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to)"
    r" (?:start|begin) by\b"
    r"|\b(?:i|we)(?:'ll| will|'m going to|'re going to)\b[^.?!]{2,80}\bfirst\b[^.?!]{0,80}\bthen\b"
)
_KINDS = (("outcome", _OUTCOME), ("strategy", _STRATEGY))
# Before the phrase: it has not happened, or not so.
_UNREAL = re.compile(
    r"\b(?:if|unless|hop(?:e|ed|es|ing)|wish|will|would|could|might|may|should|wants?|needs?|until"
    r"|before|once|never|almost|nearly|whether|imagine|suppose|bet|what|like|not sure)\b"
)
_ASKED = re.compile(r"[?？]['\")\]]*$|^(?:what|which|who|why|how|where|when|did|do|does|has)\b")


def drawn(facts: Sequence[FactDraft], turns: Sequence[Event] = ()) -> list[Derived]:
    """The notes of drafts of facts and of turns: quiet, for they quote what was said.

    `turns` are those to learn from; of others than the user nothing is drawn.
    """
    notes: dict[str, Derived] = {}
    told: set[tuple[str, str]] = set()
    for fact in facts:
        kind = "decision" if fact.category == "decision" else kind_of(fact.text)
        if kind is not None and fact.sources:
            told.add((fact.sources[0], _plain(fact.text)))
            note = _of_fact(fact, kind)
            notes.setdefault(note.id, note)
    for turn in turns:
        if turn.role == "user" and turn.origin == "user":
            for note in _of_turn(turn, told):
                notes.setdefault(note.id, note)
    return list(notes.values())


def kind_of(text: str) -> str | None:
    """What a statement tells: an outcome, a strategy, or neither."""
    low = text.replace("\u2019", "'").lower().strip()
    if len(text) > _MOST_CHARACTERS or not _LEAST_WORDS <= len(low.split()) <= _MOST_WORDS:
        return None
    if _ASKED.search(low):
        return None
    for kind, cue in _KINDS:
        found = cue.search(low)
        if found and not _UNREAL.search(low[: found.start()]):
            return kind
    return None


def _of_turn(turn: Event, told: set[tuple[str, str]]) -> list[Derived]:
    """The notes of one turn beside those of its facts; a long account gives only its first."""
    found: list[Derived] = []
    if shows(turn.content[:_LOOKED_AT]):
        return found  # What somebody else achieved or decided.
    for sentence, low in _sentences(turn.content[:_LOOKED_AT]):
        kind = kind_of(low)
        if kind is None or (turn.id, _plain(sentence)) in told:
            continue
        note = parts.derived(
            _id(turn.id, kind, sentence), "note", kind, sentence,
            origin=turn.origin, at=turn.at, data={"drawn": True}, sources=(turn.id,),
            quiet=1, role=turn.role, name=turn.name, visibility=visibility_of(turn.data),
        )  # fmt: skip
        found.append(note)
    return found[:_MOST_A_TURN]


def _of_fact(fact: FactDraft, kind: str) -> Derived:
    data: dict[str, object] = {"drawn": True}
    if fact.entities:
        data["entities"] = list(fact.entities)
    return parts.derived(
        _id(fact.sources[0], kind, fact.text), "note", kind, fact.text,
        origin=fact.origin, at=fact.at, data=data, sources=fact.sources, quiet=1,
        confidence=fact.confidence, importance=fact.importance, role=fact.role, name=fact.name,
        visibility=fact.visibility,
    )  # fmt: skip


def _id(event: str, kind: str, text: str) -> str:
    return parts.digest("drawn note", event, kind, _plain(text))


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """What the user says, sentence by sentence: verbatim, and in small letters without quotes."""
    for _, verbatim, low in spoken(text):
        at = 0
        for border in [*(found.span() for found in _END.finditer(verbatim)), (len(verbatim),) * 2]:
            sentence = verbatim[at : border[0]].strip()
            if sentence:
                yield sentence, low[at : border[0]].strip()
            at = border[1]


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".!")
