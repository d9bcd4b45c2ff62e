"""The step `extract`: what follows after every turn, in the background.

    collect    the turns of one conversation that wait, in order            store.claim_group
    filter     tool traffic, uploads, acknowledgements, our own blocks out  filter.py
    extract    by a language model if one is named, else spaCy, else rules  llm/, nlp.py
    gate       what may be kept of it, and how much it matters              drafts_from_*.py
    facts      what people state of themselves, in their words              language/statements/
    judge      facts that the rules leave in doubt, if a model is named     judging.py
    resolve    which known entity a name means; new ones, merges            records/graph/plan.py
    write      records and provenance, and the jobs are gone: one commit    store.learn

A model that fails costs nothing but time: the turns are tried again, and after the last try what
the rules find is kept and the jobs become dead letters, which can be replayed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from holdfast.border.write_options import NOBODY, provider_of, treatment, visibility_of
from holdfast.config import Config
from holdfast.config import Extraction as Settings
from holdfast.errors import Harmful, ModelError
from holdfast.language.echo import without_recalled
from holdfast.language.names.matching import same
from holdfast.learn.apart import PATIENCE, Apart, ExtractorFactory, ReadRequest
from holdfast.learn.drafts_from_llm import Drafted
from holdfast.learn.drafts_from_rules import own_name
from holdfast.learn.filter import learnable
from holdfast.learn.llm.extractor import LlmExtractor
from holdfast.learn.llm.prompt import KnownEntity
from holdfast.learn.parts import Parts
from holdfast.models.budget import Paid
from holdfast.records.facts.alike import Compare, Unembedded
from holdfast.records.facts.judge import LlmJudge, Opinion, Opinions, settled
from holdfast.records.graph.verbs import Graph
from holdfast.store.protocols import Derived, Store
from holdfast.types import Event, Job, Metadata, Scope

# ----------------------------------------------------------------------
# Turns that are to be treated otherwise than the rest of their conversation
# (border/write_options.py).
#
# What is read together is treated alike, so nothing that is drawn from turns that one agent keeps
# to itself is mixed with what everybody may see.
# ----------------------------------------------------------------------

_BY_MODEL = (None, "auto", "llm")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def of_one_kind(store: Store, jobs: list[Job]) -> tuple[list[Job], Metadata]:
    """Those that are treated as the one that is due first, and how; the others go back, untried."""
    if not jobs:
        return [], {}
    turns = store.events(jobs[0].scope, [job.subject for job in jobs])
    data = {turn.id: how for turn in turns if (how := treatment(turn.data))}
    if not data:
        return jobs, {}
    first = min(jobs, key=lambda job: (job.due or _LONG_AGO, job.id))
    kind = data.get(first.subject, {})
    rest = [job for job in jobs if data.get(job.subject, {}) != kind]
    if rest:
        store.release(rest)
    return [job for job in jobs if data.get(job.subject, {}) == kind], kind


def may_ask(data: Metadata) -> bool:
    """Whether a language model, if there is one, may be shown such turns."""
    return provider_of(data) in _BY_MODEL


def to_be_read(turns: Sequence[Event]) -> list[Event]:
    """Those that something may be drawn from."""
    return [turn for turn in turns if provider_of(turn.data) != NOBODY]


def for_the_same(turns: Sequence[Event], data: Metadata) -> list[Event]:
    """Those that everybody may know of who will see what is drawn now."""
    whose = (None, visibility_of(data))
    return [turn for turn in to_be_read(turns) if visibility_of(turn.data) in whose]


def kept_within(drafted: Drafted, data: Metadata) -> Drafted:
    """What may be stored of it. The graph has no place for what one agent keeps to itself: entities
    are everybody's."""
    visibility = visibility_of(data)
    if visibility is None:
        return drafted
    facts = tuple(replace(each, visibility=visibility) for each in drafted.facts)
    return replace(drafted, entities=(), relations=(), facts=facts)


# ----------------------------------------------------------------------
# The judge of facts, asked and paid for as the extraction itself: one model, one purse.
# ----------------------------------------------------------------------

#: A group of turns waits for its judge no longer than this many timeouts of one call: no question
#: is asked when one of them is over, and the last one may take another.
PATIENCES = 2


def judging(model: Paid, settings: Settings) -> Callable[[Scope], Opinions] | None:
    """Makes the opinions on the facts of one group of turns; None when no judge is wanted."""
    if not settings.judge:
        return None

    def opinions(scope: Scope) -> Opinions:
        def ask(system: str, text: str, schema: Mapping[str, Any]) -> str:
            return model.ask(scope, system, text, schema=schema).text

        return Opinions(LlmJudge(ask), patience_s=settings.llm.timeout_seconds)

    return opinions


log = logging.getLogger("holdfast.learn")

STEP = "extract"
#: Turns read at once where no model is asked: names are told by all of them together.
_MOST_TURNS = 64
#: Turns of the same talk before those that are read, and how far back they are looked for.
_MOST_EARLIER = 4
_LOOK_BACK = 20
#: Entities shown to a model, those spoken of in the turns first.
_MOST_KNOWN = 40
#: A slow answer must not be asked for twice: a claim outlives the call by this.
_LEASE_MARGIN_S = 30.0


@dataclass(frozen=True, slots=True)
class _Talk:
    """The turns of one claim that may be learned from, and what was said just before them."""

    scope: Scope
    turns: Sequence[Event] = ()
    earlier: Sequence[Event] = ()
    #: How they are treated: all alike.
    data: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExtractStep:
    """The step, and everything it works with; a `Reader` for the worker."""

    parts: Parts
    #: The one that is named, None: that of the settings. Made at the first turn: a parser takes a
    #: second to load.
    extractor: Callable[[str | None], ExtractorFactory]
    config: Config
    #: Where it reads.
    apart: Apart
    llm: LlmExtractor | None = None
    #: Who is asked about the facts of one group of turns.
    judge: Callable[[Scope], Opinions] | None = None

    @property
    def store(self) -> Store:
        return self.parts.store

    @property
    def graph(self) -> Graph:
        return self.parts.graph

    @property
    def step(self) -> str:
        return STEP

    def claim(self, *, ignore_backoff: bool) -> list[Job]:
        """The jobs of one conversation that is ready to be read, as many as fit one call."""
        settings, jobs = self.config.extraction, self.config.jobs
        claimed = self.store.claim_group(
            STEP,
            most=_MOST_TURNS if self.llm is None else settings.group_turns,
            now=self.parts.clock(),
            lease_s=self._lease_seconds,
            max_attempts=jobs.max_attempts,
            quiet_s=settings.quiet_seconds,
            wait_s=settings.wait_seconds,
            ignore_backoff=ignore_backoff,
        )
        alike, data = of_one_kind(self.store, claimed)
        llm = self.llm if may_ask(data) else None
        return alike if llm is None or not alike else self._fitting(llm, alike)

    def warm(self) -> None:
        """Read in a process of its own from now on, also the shortest turn."""
        self.apart.warm()

    def halt(self) -> None:
        """Let go of what is being read."""
        self.apart.halt()

    def claim_turns(self, scope: Scope, turns: Sequence[str]) -> list[Job]:
        """The jobs of some turns of one call, that somebody waits for."""
        lease, now = self.config.jobs.lease_seconds, self.parts.clock()
        return self.store.claim_turns(scope, STEP, turns, now=now, lease_s=lease)

    @property
    def _lease_seconds(self) -> float:
        jobs = self.config.jobs
        reading = PATIENCE * jobs.read_seconds
        if self.llm is None:
            return max(jobs.lease_seconds, reading)
        calls = 1 if self.judge is None else 1 + PATIENCES
        asking = calls * self.config.extraction.llm.timeout_seconds
        return max(jobs.lease_seconds, asking + reading + _LEASE_MARGIN_S)

    def read(self, jobs: Sequence[Job], steps: Sequence[str], *, quick: bool = False) -> int:
        """Learn from the turns of these jobs and finish them; how many. ModelError when a model or
        an extractor fails: nothing is stored then. `quick`: no embedding model is asked either, so
        facts without vectors are compared by words alone."""
        talk = self._talk(jobs)
        if quick or self.llm is None or not talk.turns or not may_ask(talk.data):
            return self._learn(jobs, talk, self._by_rules(talk), steps, quick=quick)
        opinions = None if self.judge is None else self.judge(talk.scope)
        return self._learn(jobs, talk, self._by_llm(self.llm, talk), steps, opinions=opinions)

    def give_up(
        self, jobs: Sequence[Job], steps: Sequence[str], *, error: str, transient: bool
    ) -> int:
        """Keep what the rules find; the jobs become dead letters. How many."""
        talk = self._talk(jobs)
        try:
            found = self._by_rules(talk)
        except Harmful:
            if len(jobs) > 1:  # Who is it? The others can be read.
                raise
            found = Drafted()
        except ModelError:  # Not even that; the turns are there all the same.
            found = Drafted()
        return self._learn(jobs, talk, found, steps, error=error, transient=transient)

    def _fitting(self, llm: LlmExtractor, jobs: list[Job]) -> list[Job]:
        """The first jobs, up to what one call can hold; the others go back, untried."""
        late = {turn.id for group in llm.groups(self._talk(jobs).turns)[1:] for turn in group}
        rest = [job for job in jobs if job.subject in late]
        if rest:
            self.store.release(rest)
        return [job for job in jobs if job.subject not in late]

    def _talk(self, jobs: Sequence[Job]) -> _Talk:
        owner = jobs[0].scope
        events = self.store.events(owner, [job.subject for job in jobs])  # Without forgotten ones.
        if not events:
            return _Talk(owner)
        talk = (events[0].session, events[0].agent)
        first = min(event.arrival for event in events)
        around = self.store.scan(owner, after=max(0, first - 1 - _LOOK_BACK), limit=_LOOK_BACK)
        before = [e for e in around if e.arrival < first and (e.session, e.agent) == talk]
        recalled = self.parts.recalled(owner)

        def own(text: str) -> str:
            return without_recalled(text, recalled)

        scope = Scope(owner.workspace, owner.user, events[0].agent, events[0].session)
        data = events[0].data
        most = self.config.extraction.turn_chars
        said = learnable(for_the_same(before, data), own=own, most=most)
        return _Talk(scope, learnable(to_be_read(events), own=own, most=most), said, data)

    def _by_rules(self, talk: _Talk) -> Drafted:
        if not talk.turns:
            return Drafted()
        called = self.graph.called(talk.scope)
        earlier = [turn for turn in talk.earlier[-_MOST_EARLIER:] if self._was_read(talk, turn)]
        asked = ReadRequest(talk.turns, earlier, own_name(talk.scope.user))
        made = self.extractor(provider_of(talk.data))
        return self.apart.read(made, asked, lambda name: same(name) in called)

    def _was_read(self, talk: _Talk, turn: Event) -> bool:
        """Whether it is no dead letter: what nobody could read helps to read nothing."""
        return not self.store.counts(subject=(talk.scope, turn.id), steps=[STEP]).dead

    def _by_llm(self, llm: LlmExtractor, talk: _Talk) -> Drafted:
        text = "\n".join(turn.content for turn in talk.turns)
        nodes = self.graph.spoken_of(talk.scope, text, limit=_MOST_KNOWN)
        found = llm.extract(
            talk.scope,
            talk.turns,
            user=own_name(talk.scope.user),
            earlier=[turn for turn in talk.earlier if may_ask(turn.data)][-_MOST_EARLIER:],
            known=[KnownEntity(node.id, node.name, node.type, node.aliases) for node in nodes],
        )
        # What was cut off, or speaks of what nobody said, is made up for by the rules.
        return found.also(self._by_rules(talk)) if found.partial else found

    def _learn(
        self,
        jobs: Sequence[Job],
        talk: _Talk,
        drafted: Drafted,
        steps: Sequence[str],
        *,
        opinions: Opinions | None = None,
        quick: bool = False,
        error: str | None = None,
        transient: bool = False,
    ) -> int:
        if drafted.notes:
            log.info("extract: left out %s", ", ".join(drafted.notes))
        drafted = kept_within(drafted, talk.data)

        def learned(opinion: Opinion) -> int:
            now = self.parts.clock()  # Others may have written while a judge was asked.

            def stated(compare: Compare) -> list[Derived]:
                facts = self.parts.facts.planned(
                    talk.scope, drafted.facts, now=now, opinion=opinion, compare=compare
                )
                return facts + self.parts.notes.planned(talk.scope, drafted.facts, turns=talk.turns)

            def stored(compare: Compare) -> int:
                return self.graph.learn(
                    talk.scope,
                    drafted.entities,
                    drafted.relations,
                    facts=lambda: stated(compare),
                    jobs=jobs,
                    known_at=now,
                    steps=steps,
                    error=error,
                    transient=transient,
                )

            try:
                return stored("kept" if quick else "needing")
            except Unembedded:
                stated("asking")  # Here no other writer waits for the model.
                return stored("kept")

        return settled(learned, opinions)
