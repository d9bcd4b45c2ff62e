"""From what a reader found to the records that are stored: drafts, known facts and their outcomes.

A plan is made without any transaction and stored as a whole if no fact has changed meanwhile. The
drafts of one plan meet each other as well, in the order in which they were said. The same drafts
again give nothing: a fact has the id of its turn and its text, a repeat that of the turn it left.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.border.validate import least
from holdfast.errors import InvalidInput, ModelError, TooLarge
from holdfast.index.view import packed
from holdfast.language.claims.claim import Claim, read_claim
from holdfast.language.claims.relate import Thresholds, relation, tells_apart
from holdfast.language.claims.slots import USER
from holdfast.language.sentences import may_stand_alone, parts_of, without_joints
from holdfast.language.statements.clear import is_clear
from holdfast.language.statements.values import BY_USER, CATEGORIES, USERS_OWN, FactDraft
from holdfast.language.terms import fold
from holdfast.records import parts
from holdfast.records.entries import indexed_terms
from holdfast.records.facts.follow import (
    ANSWERED,
    CONFLICT,
    TIER,
    OwnerFacts,
    is_compared,
    is_of_one,
    known_of,
    likest,
)
from holdfast.records.facts.judge import (
    DOUBTFUL,
    Opinion,
    apply_opinion,
    facts_for_judge,
    nobody,
)
from holdfast.records.facts.reconcile import (
    KnownFact,
    New,
    Outcome,
    guard_outcome,
    importance,
    may_repeat,
    reconcile,
)
from holdfast.records.graph.check import distrust
from holdfast.records.rules import Relate
from holdfast.records.versions import first_id
from holdfast.store.protocols import Derived
from holdfast.types import Metadata, Record, Scope

log = logging.getLogger(__name__)

#: Texts to unit vectors, in their order: the embedder of the memory.
Embed = Callable[[list[str]], NDArray[np.float32]]
#: Vectors that are kept.
_MOST_KEPT = 4_096


class Alike:
    """The cosine of two texts. Threads may share it."""

    def __init__(self, embed: Embed | None) -> None:
        self._embed = embed
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, NDArray[Any]] = OrderedDict()

    def likeness(self, one: str, other: str) -> float | None:
        """-1..1, the model is waited for; None without an embedder, or when it cannot be reached:
        then nothing is ended or left out for being alike."""
        return self.at_hand(one, other) if self.fetch((one, other)) else None

    def at_hand(self, one: str, other: str) -> float | None:
        """The same by the vectors that are kept, for who must not wait; None where one is not."""
        with self._lock:
            vectors = self._kept.get(one), self._kept.get(other)
        if vectors[0] is None or vectors[1] is None:
            return None
        return float(vectors[0] @ vectors[1])

    def missing(self, texts: Iterable[str]) -> list[str]:
        """The texts whose vectors are not kept and can be asked for."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        return [] if self._embed is None else missing

    def fetch(self, texts: Iterable[str]) -> bool:
        """Have the vectors of some texts kept; False when the model cannot give them."""
        if self._embed is None:
            return False
        wanted = list(dict.fromkeys(texts))
        missing = self.missing(wanted)
        try:
            made = dict(zip(missing, self._embed(missing), strict=True)) if missing else {}
        except ModelError as error:
            # Its kind alone: its text may quote what was compared.
            log.warning("facts: compared without vectors: %s", type(error).__name__)
            return False
        with self._lock:
            for text in wanted:
                if text in made:
                    self._kept[text] = made[text]
                if text in self._kept:
                    self._kept.move_to_end(text)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return True


# ----------------------------------------------------------------------
# When facts of one attribute held: each until the next began, also where one is told late.
#
# A plan compares what is new with what holds. What ended before, or was over when it was told,
# holds for a time all the same: a fact that falls into it ends it there, and one that was said
# before it ends where it begins. So at no time two of them held that cannot both be so. Left
# alone is what contradicts another, which holds beside it on purpose, ages, which are somebody's
# each, and what was told to another agent, or is seen by others.
# ----------------------------------------------------------------------

_LATE = "told-late"
_LIMITS = Thresholds()


def with_intervals(
    records: Iterable[Derived],
    facts: OwnerFacts,
    agent: str | None,
    own: str,
    taken_back: Callable[[Record], bool],
) -> list[Derived]:
    """The records of a plan, each with the time for which it held beside what is known; `own` is
    the name of the memory's owner."""
    made = {each.id: each for each in records}
    for id in [*made]:
        new = made[id]
        if id not in facts.records and is_of_one(new):
            slot = str(new.data["slot"])
            known = facts.of_slot(slot, agent, new.visibility)
            beside = [
                each
                for each in made.values()
                if each.data.get("slot") == slot and each.visibility == new.visibility
            ]
            _place(made, id, known, [each for each in beside if is_of_one(each)], own, taken_back)
    return list(made.values())


def leaves_no_room(later: Record | Derived, earlier: Record | Derived, own: str) -> bool:
    """Whether of two facts of one attribute the earlier held no longer when the later began: not so
    of a country and a town in it, nor where the later one says less of the same."""
    new, old = (
        read_claim(each.content, str(each.data.get("speaker") or USER), own)
        for each in (later, earlier)
    )
    how = relation(new, old, lambda: 0.0, _LIMITS)
    if how == "same":
        return relation(old, new, lambda: 0.0, _LIMITS) == "same"
    return how in ("other", "over", "corrected")


def _place(  # noqa: PLR0917 (what a fact is placed among)
    made: dict[str, Derived],
    id: str,
    known: Sequence[Record],
    beside: Sequence[Derived],
    own: str,
    taken_back: Callable[[Record], bool],
) -> None:
    new = made[id]
    replaced = {each for fact in beside for each in fact.data.get("replaces") or ()}
    if new.data.get("outcome") == "add":
        every: list[Record | Derived] = [*known, *beside]
        later = [each for each in every if each.valid_from > new.valid_from]
        for each in sorted(later, key=lambda each: (each.valid_from, each.id)):
            # One that was taken back by hand says nothing of what was so before it.
            is_wrong = isinstance(each, Record) and taken_back(each)
            if not is_wrong and leaves_no_room(each, new, own):
                new = _before(new, each)
                break
    ended = [
        each.id
        for each in known
        if each.valid_to is not None
        and each.valid_from < new.valid_from < each.valid_to
        and leaves_no_room(new, each, own)
    ]
    made[id] = replace(new, shortens=(*new.shortens, *ended))
    for each in beside:
        is_over = each.valid_to is not None or each.id in replaced
        is_before = each.valid_from < new.valid_from and each.id != id
        if is_over and is_before and leaves_no_room(new, each, own):
            until = min(each.valid_to or new.valid_from, new.valid_from)
            made[each.id] = replace(made[each.id], valid_to=until)


def _before(new: Derived, bound: Record | Derived) -> Derived:
    """A fact that was over when another one began: a version of the same claim."""
    until = bound.valid_from if new.valid_to is None else min(new.valid_to, bound.valid_from)
    claim = first_id(bound) if isinstance(bound, Record) else str(bound.data["claim"])
    return replace(
        new, valid_to=until, reason=_LATE, data={**new.data, "claim": claim, "reason": _LATE}
    )


#: Drafts of one call.
MOST_DRAFTS = 200
#: Not searched; searched only when facts are asked for; searched.
UNSEARCHED, QUIET, LOUD = 2, 1, 0
#: Turns that are kept as sources of one fact.
_MOST_SOURCES = 1_000

#: How alike two texts are, -1..1; None where nobody can tell.
Likeness = Callable[[str, str], float | None]
_FAR_AHEAD = timedelta(days=366)
#: Facts that the model that reads compares with a new one: the nearest of the latest and of those
#: that share its words.
_LATEST, _NEAREST, _FARTHEST = 100, 8, 0.1
#: From which on what the model says counts more than numbers or names that tell two things apart.
_APART = 0.9
#: From which probability on a line ends a fact: by five sets of conversations. A lower one leaves
#: fewer facts that are no longer so, and ends more that still are.
ENDS_FROM = 0.4
#: And below which a part of one that it ends is so all the same.
_KEEPS_BELOW = 0.04
#: And from which on it may end one: then the later is told first.
REVISES_FROM = 0.1
#: The reason of what the model that reads ended.
READ = "read"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model that reads is asked of facts."""

    #: How a line, behind what stood before it, relates to known ones.
    relate: Relate
    #: Whether a text says something that lasts.
    states: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Tools:
    """What a plan works with besides the facts."""

    #: Whether there is a record with this id, forgotten ones too.
    exists: Callable[[str], bool]
    #: Whether a fact that ended was taken back by hand.
    taken_back: Callable[[Record], bool] = lambda _record: False
    likeness: Likeness = lambda _one, _other: None
    opinion: Opinion = nobody
    #: The model that reads; None: nobody can tell.
    reading: Reading | None = None
    limits: Thresholds = field(default_factory=Thresholds)


@dataclass(frozen=True, slots=True)
class DraftOutcome:
    """What became of one draft; no id where it had been learned before and was forgotten."""

    id: str | None
    outcome: Outcome


class FactPlan:
    """The records of one call."""

    def __init__(self, facts: OwnerFacts, scope: Scope, now: datetime, tools: Tools) -> None:
        self._facts = facts
        self._scope = scope
        self.now = now
        self._tools = tools
        self._own = own_name(scope.user)
        self._records: dict[str, Derived] = {}
        self._new: dict[str, KnownFact] = {}
        self._ended: set[str] = set()

    def records(self) -> list[Derived]:
        """What is to be stored, in order."""
        own, taken_back = self._own, self._tools.taken_back
        return with_intervals(
            self._records.values(), self._facts, self._scope.agent, own, taken_back
        )

    def add_all(self, drafts: Sequence[FactDraft]) -> list[DraftOutcome]:
        """What becomes of some drafts, in the order in which they were said."""
        if len(drafts) > MOST_DRAFTS:
            raise TooLarge(
                f"drafts are {len(drafts)}, the limit of one call is {MOST_DRAFTS}", field="drafts"
            )
        return [self.add(each) for each in sorted(drafts, key=lambda each: each.at)]

    def add_found(self, drafts: Sequence[FactDraft]) -> None:
        """Take up what a reader found in turns: as many as it found, some after others."""
        ordered = sorted(drafts, key=lambda each: each.at)
        for start in range(0, len(ordered), MOST_DRAFTS):
            self.add_all(ordered[start : start + MOST_DRAFTS])

    def add(
        self, draft: FactDraft, *, id: str | None = None, metadata: Metadata | None = None
    ) -> DraftOutcome:
        """What becomes of one draft; with an id and metadata for what has no turn."""
        if draft.at > self.now + _FAR_AHEAD:  # A clock that ran ahead must not outlast all others.
            draft = replace(draft, at=self.now)
        speaker = _speaker(draft, self._own)
        claim = read_claim(draft.text, speaker, self._own)
        fact_id = id or draft_id(draft)
        if fact_id in self._records or self._tools.exists(fact_id):
            return DraftOutcome(fact_id, Outcome("noop", "learned-before", (fact_id,)))
        if (before := self._learned(draft, claim)) is not None:
            return DraftOutcome(before, Outcome("noop", "learned-before", (before,)))
        new = New(claim, draft.at, draft.confidence, draft.origin, self._scope.agent)
        known = self._candidates(claim, draft.visibility)
        outcome = self._reconciled(new, known)
        if self._tools.reading is not None and outcome.reason in DOUBTFUL:
            outcome = self._by_model(new, draft, outcome, self._tools.reading.relate)
        outcome = self._trusting(new, outcome)
        if outcome.action == "noop":
            self._confirm(outcome.targets[0], draft)
            return DraftOutcome(outcome.targets[0], outcome)
        self._store(fact_id, draft, new, outcome, metadata)
        return DraftOutcome(fact_id, outcome)

    def put(self, record: Derived) -> str:
        """Take up a version made by hand; its id. It is one claim with what it replaces."""
        for each in record.supersedes:
            self._check_chain(record.id, each)
        ended = [each for each in record.data.get("replaces", ()) if each in self._facts.records]
        data = {**record.data, "claim": self._chain(ended[::-1], record.id)}
        self._records[record.id] = replace(record, data=data)
        return record.id

    def _store(
        self,
        id: str,
        draft: FactDraft,
        new: New,
        outcome: Outcome,
        metadata: Metadata | None,
    ) -> None:
        ended = outcome.targets if outcome.action in ("update", "supersede", "delete") else ()
        targets = [known for each in ended if (known := self._known(each)) is not None]
        for target in targets:
            self._check_chain(id, target.id)
        record = _derived(id, draft, new, outcome, chain=self._chain(ended, id))
        record = replace(
            record,
            importance=importance(draft.importance, targets, self._tools.limits),
            metadata=metadata,
        )
        self._records[id] = record
        self._ended.update(ended)
        if outcome.action not in ("clarify", "delete") and outcome.until is None:
            self._new[id] = KnownFact(
                id, new.claim, draft.at, record.importance, record.origin, self._scope.agent
            )
            for other in outcome.disputes:
                self._dispute(id, other, new)
        if outcome.reason == READ and outcome.action == "supersede" and self._tools.reading:
            for target in targets:
                self._keep_rest(target, draft, self._tools.reading)

    def _keep_rest(self, ended: KnownFact, draft: FactDraft, reading: Reading) -> None:
        """Of a fact that a line ends, what is so all the same stays as a fact of its own."""
        rest = _rest_of(ended.claim.text, draft, reading.relate)
        if not rest or not reading.states(rest):
            return
        if _ended_by(draft, [rest], reading.relate)[0] >= _KEEPS_BELOW:
            return
        base = self._records.get(ended.id) or to_derived(self._facts.records[ended.id])
        claim = read_claim(rest, str(base.data.get("speaker") or USER), self._own)
        id = parts.digest("rest", base.id, rest)
        is_said = any(self._repeats(claim, each) for each in self._held_with(base))
        if is_said or not base.sources or id in self._records or self._tools.exists(id):
            return
        self._records[id] = rest_version(base, id, rest, claim)
        self._new[id] = replace(ended, id=id, claim=claim)

    def _held_with(self, base: Derived) -> list[Record]:
        """The facts of the same turns that hold."""
        found = [each for source in base.sources for each in self._facts.of_source(source)]
        return [each for each in found if is_compared(each) and each.id not in self._ended]

    def _dispute(self, id: str, other: str, new: New) -> None:
        """Note that another agent holds something else."""
        known = self._known(other)
        if known is not None and new.claim.slot is not None:
            sources = (*self._sources(other), *self._records[id].sources)
            record = dispute(new.claim.slot, known, self._new[id], sources, self.now)
            self._records[record.id] = record

    def _sources(self, id: str) -> tuple[str, ...]:
        if id in self._records:
            return self._records[id].sources
        return self._facts.records[id].sources

    def _candidates(self, claim: Claim, visibility: str | None) -> list[KnownFact]:
        """What a claim is compared with: the facts that the same may see who will see it. What one
        agent keeps to itself neither ends nor confirms what others know."""
        found = self._facts.near(
            claim, agent=self._scope.agent, visibility=visibility, but=self._ended
        )
        fresh = [
            known
            for id, known in self._new.items()
            if id not in self._ended
            and self._records[id].visibility == visibility
            and (known.claim.slot == claim.slot or known.claim.terms & (claim.terms | claim.left))
        ]
        return [known_of(record, self._own) for record in found] + likest(claim, fresh)

    def _reconciled(self, new: New, known: Sequence[KnownFact]) -> Outcome:
        likeness, limits = self._likeness(new.claim.text), self._tools.limits
        outcome = reconcile(new, known, likeness, limits)
        if self._tools.opinion is nobody:
            return outcome
        seen = facts_for_judge(outcome, new, known, likeness, limits)
        opinion = self._tools.opinion(new, seen) if seen else None
        if opinion is None:
            return outcome
        return apply_opinion(opinion, outcome, new, seen, likeness=likeness, limits=limits)

    def _by_model(self, new: New, draft: FactDraft, outcome: Outcome, relate: Relate) -> Outcome:
        """The outcome with what the model that reads says of the nearest known facts: it may end
        what was said before, as far as the guards allow it."""
        near = {each.id: each for each in self._neighbours(draft) if each.at <= new.at}
        told = _ended_by(draft, [each.claim.text for each in near.values()], relate)
        sure = dict(zip(near, told, strict=True))
        apart = {
            id
            for id, each in near.items()
            if sure[id] < _APART and tells_apart(new.claim, each.claim)
        }
        apart |= {id for id, each in near.items() if self._is_part(each, draft)}
        may_end = [id for id in sure if sure[id] >= REVISES_FROM and id not in apart]
        ended = [id for id in may_end if sure[id] >= ENDS_FROM]
        maybe = tuple(id for id in may_end if id not in ended)
        if not ended:
            return replace(outcome, revises=maybe)
        limits = self._tools.limits
        as_sure = replace(new, confidence=max(new.confidence, limits.sure))
        contradicts = tuple(each for each in outcome.contradicts if each not in ended)
        ends = Outcome(
            "supersede", READ, tuple(ended), contradicts, outcome.disputes, revises=maybe
        )
        return guard_outcome(ends, as_sure, [*near.values()], limits)

    def _is_part(self, known: KnownFact, draft: FactDraft) -> bool:
        """Whether a fact is a part of what its turn says here: no line ends what it says itself."""
        is_same_turn = not set(self._sources(known.id)).isdisjoint(draft.sources)
        return is_same_turn and fold(known.claim.text).rstrip(".!") in fold(draft.text)

    def _neighbours(self, draft: FactDraft) -> list[KnownFact]:
        """The known facts of the same agent that are nearest to a draft by their vectors: of those
        that share its words, and of the latest."""
        known = [
            known_of(record, self._own)
            for record in self._facts.latest(
                _LATEST, agent=self._scope.agent, visibility=draft.visibility, but=self._ended
            )
        ]
        claim = read_claim(draft.text, _speaker(draft, self._own), self._own)
        there = {each.id for each in known}
        known += [
            each for each in self._candidates(claim, draft.visibility) if each.id not in there
        ]
        there = {each.id for each in known}
        known += [
            each
            for id, each in self._new.items()
            if id not in self._ended
            and id not in there
            and self._records[id].visibility == draft.visibility
        ]
        alike = [
            (self._tools.likeness(draft.text, each.claim.text) or 0.0, each)
            for each in known
            if each.agent == self._scope.agent
        ]
        alike.sort(key=lambda pair: -pair[0])
        return [each for sure, each in alike[:_NEAREST] if sure > _FARTHEST]

    def _trusting(self, new: New, outcome: Outcome) -> Outcome:
        """Who repeats what a less trusted one said does not confirm it: their word takes its place,
        or stands beside that of another agent."""
        known = self._known(outcome.targets[0]) if outcome.action == "noop" else None
        if known is None or distrust(new.origin) >= distrust(known.origin):
            return outcome
        if known.agent != new.agent:
            return Outcome("add", "more-trusted")
        return replace(outcome, action="supersede", reason="more-trusted")

    def _likeness(self, text: str) -> Callable[[KnownFact], float | None]:
        return lambda known: self._tools.likeness(text, known.claim.text)

    def _learned(self, draft: FactDraft, claim: Claim) -> str | None:
        """The fact that was drawn from this turn before and says the same, ended or not."""
        for source in draft.sources:
            for record in self._facts.of_source(source):
                if record.kind != CONFLICT and self._repeats(claim, record):
                    return record.id
        return None

    def _repeats(self, claim: Claim, record: Record) -> bool:
        """Whether a claim says the same as a fact of its own turn: by the words, or so much alike
        that a judge may have said so when it was read first."""
        known, limits = known_of(record, self._own), self._tools.limits
        how = relation(claim, known.claim, lambda: 0.0, limits)
        likeness = self._likeness(claim.text)
        return how == "same" or (how == "none" and may_repeat(claim, known, likeness, limits))

    def _confirm(self, id: str, draft: FactDraft) -> None:
        """Add the turns of a draft to the fact that it repeats."""
        planned = self._records.get(id)
        before = planned or to_derived(self._facts.records[id])
        more = tuple(each for each in draft.sources if each not in before.sources)
        if len(before.sources) >= _MOST_SOURCES:
            return
        if more or not draft.sources:
            self._records[id] = replace(before, sources=before.sources + more)

    def _known(self, id: str) -> KnownFact | None:
        if id in self._new:
            return self._new[id]
        record = self._facts.records.get(id)
        return None if record is None else known_of(record, self._own)

    def _chain(self, ended: Sequence[str], id: str) -> str:
        """The claim that a new version belongs to: that of the first one it ends."""
        for each in ended:
            if each in self._records:
                return str(self._records[each].data["claim"])
            if each in self._facts.records:
                return first_id(self._facts.records[each])
        return id

    def _check_chain(self, id: str, target: str) -> None:
        """A fact cannot take the place of one that took its own."""
        if id != target and not self._facts.instead_of(id):
            return
        ahead, seen = [target], set[str]()
        while ahead:
            each = ahead.pop()
            if each == id:
                raise InvalidInput(f"{target} replaces {id} itself", field="replaces")
            if each not in seen and each in self._facts.records:
                seen.add(each)
                ahead += self._facts.records[each].data.get("replaces", ())


def _ended_by(draft: FactDraft, texts: Sequence[str], relate: Relate) -> list[float]:
    """How probably a line ends each of some texts."""
    told = relate(draft.text, draft.before, texts)
    return [each["replaces"] + each["corrects"] for each in told]


def _rest_of(text: str, draft: FactDraft, relate: Relate) -> str:
    """What a line leaves of a fact that it ends: parts that stand side by side stay as they are.
    Nothing, if it is not clear which part it ends."""
    spans = parts_of(text)
    if len(spans) < 2:
        return ""
    sure = _ended_by(draft, [text[start:end] for start, end in spans], relate)
    if max(sure) < _KEEPS_BELOW:
        return ""
    kept: list[tuple[int, int]] = []
    if sure[0] >= _KEEPS_BELOW and not may_stand_alone(text[slice(*spans[0])]):
        return ""  # "Since May, ...": it says when, or of whom, the rest is.
    beside = False
    for span, each in zip(spans, sure, strict=True):
        is_kept = each < _KEEPS_BELOW
        if is_kept:
            kept[-1:] = [(kept[-1][0], span[1])] if beside else [*kept[-1:], span]
        beside = is_kept
    runs = [without_joints(text[start:end]) for start, end in kept]
    return ", ".join(each for each in runs if may_stand_alone(each))


def rest_version(base: Derived, id: str, text: str, claim: Claim) -> Derived:
    """What is so still of a fact that was replaced in part, since the fact was."""
    row, length = packed(indexed_terms(base.name, text))
    of_whole = {*_OF_TEXT, "replaces", "revises", "about"}
    if not is_clear(text):
        of_whole.remove("before")
    kept = {name: value for name, value in base.data.items() if name not in of_whole}
    told = {"slot": claim.slot, "value": claim.value}
    data = {
        **kept,
        **{name: value for name, value in told.items() if value},
        "claim": id,
        "rest_of": base.id,
        "outcome": "add",
        "reason": "rest",
        "polarity": claim.polarity,
    }
    return replace(
        base, id=id, content=text, data=data, terms=row, length=length, valid_to=None,
        supersedes=(), shortens=(), reason="rest",
    )  # fmt: skip


def draft_id(draft: FactDraft) -> str:
    """The id of a fact that was found in a turn: the same each time it is found."""
    return parts.digest("fact", draft.sources[0] if draft.sources else "", draft.text)


def own_name(user: str) -> str:
    """What the owner of a memory is called, if that can be told: "ann" of "ann@example.org"."""
    name = user.partition("@")[0]
    return name if name.isalpha() else ""


def to_derived(record: Record) -> Derived:
    """A stored fact as it would be stored again: nothing of it changes."""
    return replace(parts.to_derived(record, record.data), metadata=None)


def dispute(
    slot: str, known: KnownFact, new: KnownFact, sources: Sequence[str], at: datetime
) -> Derived:
    """The record that two agents disagree. It quotes neither: when one is forgotten, so is that."""
    ids = [known.id, new.id]
    return parts.derived(
        parts.digest("conflict", *sorted(ids)), TIER, CONFLICT, f"Two agents differ: {slot}",
        origin=least([known.origin, new.origin]), at=at, sources=tuple(dict.fromkeys(sources)),
        data={"facts": ids, "agents": [known.agent, new.agent], "slot": slot},
        confidence=1.0, importance=max(known.importance, new.importance), role="system",
        quiet=UNSEARCHED, shared=True,
    )  # fmt: skip


def category_of(category: str, origin: str) -> str:
    """The category of a fact: what only users can say of themselves is that only from them."""
    is_allowed = category in CATEGORIES and (category not in USERS_OWN or origin in BY_USER)
    return category if is_allowed else "other"


def _speaker(draft: FactDraft, own: str) -> str:
    """Who "I" is in a draft: the owner, unless somebody else is quoted."""
    if not draft.verbatim:
        return USER
    if draft.role == "user":
        name = draft.name or ""
        return USER if not name or name.casefold() == own.casefold() else name.casefold()
    return draft.role


def _derived(id: str, draft: FactDraft, new: New, outcome: Outcome, *, chain: str) -> Derived:
    is_hidden = outcome.action in ("clarify", "delete")
    return parts.derived(
        id, TIER, category_of(draft.category, draft.origin), draft.text,
        origin=draft.origin, at=draft.at, data=_data(draft, new.claim, outcome, chain),
        valid_to=draft.at if outcome.action == "delete" else outcome.until,
        sources=draft.sources, confidence=draft.confidence, importance=draft.importance,
        role=draft.role, name=draft.name, visibility=draft.visibility,
        supersedes=() if outcome.action == "clarify" else outcome.targets,
        quiet=UNSEARCHED if is_hidden else QUIET if draft.verbatim else LOUD,
        reason=outcome.reason, ends="invalidated" if outcome.action == "delete" else "superseded",
    )  # fmt: skip


def _data(draft: FactDraft, claim: Claim, outcome: Outcome, chain: str) -> dict[str, Any]:
    """What the system keeps with a fact; what is empty is left out."""
    is_end = outcome.action in ("update", "supersede", "delete")
    optional: dict[str, Any] = {
        "replaces": list(outcome.targets) if is_end else [],
        "about": list(outcome.targets) if outcome.action == "clarify" else [],
        "contradicts": list(outcome.contradicts),
        "revises": list(outcome.revises),
        "headline": draft.headline,
        "keywords": list(draft.keywords),
        "entities": list(draft.entities),
        "avoid": draft.avoid,
        "on": draft.on.isoformat() if draft.on else "",
        "due": draft.due.isoformat() if draft.due else "",
        "slot": claim.slot,
        "value": claim.value,
        "speaker": claim.speaker if claim.speaker != USER else "",
        "before": draft.shown_before,
    }
    return {
        "claim": chain,
        "category": category_of(draft.category, draft.origin),
        "outcome": outcome.action,
        "reason": outcome.reason,
        "polarity": claim.polarity,
        "verbatim": draft.verbatim,
        **{name: value for name, value in optional.items() if value},
    }


# ----------------------------------------------------------------------
# New versions made by hand: another text, or the answer to what was unclear; and whether the same
# was done before.
# ----------------------------------------------------------------------

#: What was said of the old text and need not be so of the new one.
_OF_TEXT = frozenset(
    {"headline", "keywords", "entities", "slot", "value", "contradicts", "avoid", "before"}
)


def edited_version(
    record: Record,
    text: str,
    *,
    origin: str,
    now: datetime,
    category: str | None = None,
    confidence: float | None = None,
) -> Derived:
    """A fact with another text, category or confidence, in the place of the one it had."""
    kind = category_of(category or record.kind, origin)
    claim = read_claim(text, str(record.data.get("speaker") or USER))
    row, length = packed(indexed_terms(record.name, text))
    kept = {name: value for name, value in record.data.items() if name not in _OF_TEXT}
    told = {"slot": claim.slot, "value": claim.value}
    data = {
        **kept,
        **{name: value for name, value in told.items() if value},
        "claim": first_id(record),
        "replaces": [record.id],
        "outcome": "update",
        "reason": "edited",
        "polarity": claim.polarity,
        "verbatim": False,
        "category": kind,
    }
    return replace(
        to_derived(record),
        id=parts.digest("edited", record.id, text, now.isoformat()),
        kind=kind,
        confidence=record.confidence if confidence is None else confidence,
        content=text,
        data=data,
        origin=origin,
        terms=row,
        length=length,
        valid_from=max(now, record.valid_from),
        valid_to=None,
        supersedes=(record.id,),
        quiet=LOUD,
        sources=(),  # By hand: it stays when the turn is forgotten whose words it corrects.
        metadata=record.metadata,
        reason="edited",
    )


def added_id(draft: FactDraft, moment: str) -> str:
    """The id of a fact without a turn: of its text and the moment, so that it can be added again
    after it was taken back."""
    return parts.digest("added", draft.text, draft.origin, moment)


def share(value: object, name: str) -> float:
    """A number in 0..1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number in 0..1, not {str(value)[:64]!r}", field=name)
    return float(value)


def confirmed_version(record: Record, *, keep: str, about: Sequence[str]) -> Derived:
    """The fact that was unclear, or said the opposite of `about`, now that somebody said that it
    holds: in their place, or beside them."""
    ended = list(about) if keep == "new" else []
    asked = ("about", "contradicts")
    data = {name: value for name, value in record.data.items() if name not in asked}
    data |= {
        "claim": first_id(record),
        "outcome": "supersede" if ended else "add",
        "reason": ANSWERED,
        "replaces": [record.id, *ended],
    }
    if keep == "both":
        data["contradicts"] = list(about)
    return replace(
        to_derived(record),
        id=answer_id(record.id),
        data=data,
        valid_to=None,
        supersedes=(record.id, *ended),
        quiet=QUIET if record.data.get("verbatim") else LOUD,
        metadata=record.metadata if not record.sources else None,
        reason=ANSWERED,
    )


def edited_before(
    versions: Iterable[Record],
    record: Record,
    text: str,
    *,
    origin: str,
    category: str | None = None,
    confidence: float | None = None,
) -> str | None:
    """The version in force that this very change made of a fact: it was sent before."""
    kind = None if category is None else category_of(category, origin)
    for each in versions:
        is_of_it = each.data.get("reason") == "edited" and each.data["replaces"] == [record.id]
        is_so = (each.content, each.origin) == (text, origin)
        is_so = is_so and kind in (None, each.kind) and confidence in (None, each.confidence)
        if is_of_it and is_so and each.known_to is None:
            return each.id
    return None


def answer_id(id: str) -> str:
    """The id of what a fact that was asked about becomes when somebody says that it holds."""
    return parts.digest("answered", id)


def is_answer(record: Record, keep: str) -> bool:
    """Whether a fact that was asked about holds because of this answer."""
    is_both = "contradicts" in record.data
    return record.known_to is None and keep == ("both" if is_both else "new")
