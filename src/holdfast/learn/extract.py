"""The step `extract`: what follows after every turn, in the background.

    claim      the jobs of one conversation that is at rest                 store.claim_group
    read       their turns, without tool traffic, uploads, our own blocks   filter.py
    draft      by a language model if one is named, else spaCy, else rules  drafts_*.py, nlp.py
    restrict   nothing that one agent keeps to itself is seen by others
    commit     plan entities, facts and notes; store them, the jobs go      commit.py

A model that fails costs nothing but time: the turns are tried again, and after the last try what
the rules find is kept and the jobs become dead letters, which can be replayed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

from holdfast.border.write_options import NOBODY, provider_of, treatment, visibility_of
from holdfast.config import Config
from holdfast.errors import Harmful, ModelError
from holdfast.language.echo import without_recalled
from holdfast.language.extraction import Extractor
from holdfast.language.names import same
from holdfast.language.statements.facts import without_request
from holdfast.learn.commit import Committer, Learned
from holdfast.learn.drafts_from_lines import read_lines
from holdfast.learn.drafts_from_llm import LlmExtractor, make_llm_extractor
from holdfast.learn.drafts_from_rules import Drafts
from holdfast.learn.filter import turns_to_learn_from
from holdfast.learn.llm_prompt import KnownEntity
from holdfast.learn.nlp import extractor_named
from holdfast.learn.reader_process import PATIENCE, ExtractorFactory, ReaderProcesses, ReadRequest
from holdfast.models.base import Generator
from holdfast.models.reader import LineReader
from holdfast.records.facts.judge import LlmJudge, Opinions
from holdfast.records.graph.check import own_name
from holdfast.records.graph.walk import entities_in
from holdfast.store.protocols import Store
from holdfast.types import Event, Job, Metadata, Scope

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
#: A group of turns waits for its judge no longer than this many timeouts of one call: no question
#: is asked when one of them is over, and the last one may take another.
JUDGE_TIMEOUTS = 2
_BY_MODEL = (None, "auto", "llm")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

#: The digests of what recent contexts told an owner: text that comes back is not learned again.
Echoes = Callable[[Scope], Collection[bytes]]


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

    committer: Committer
    echoes: Echoes
    #: The one that is named, None: that of the settings. Made at the first turn: a parser takes a
    #: second to load.
    extractor: Callable[[str | None], ExtractorFactory]
    config: Config
    processes: ReaderProcesses
    llm: LlmExtractor | None = None
    #: The model that reads line by line; None: patterns alone.
    lines: LineReader | None = None

    @property
    def step(self) -> str:
        return STEP

    def warm(self) -> None:
        """Read in a process of its own from now on, also the shortest turn."""
        self.processes.warm()

    def halt(self) -> None:
        """Let go of what is being read."""
        self.processes.halt()

    # The three ways through the step

    def read(self, jobs: Sequence[Job], steps: Sequence[str], *, quick: bool = False) -> int:
        """Learn from the turns of these jobs and finish them; how many. ModelError when a model or
        an extractor fails: nothing is stored then. `quick`: no model is asked for anything."""
        talk = self._talk(jobs)
        if quick or self.llm is None or not talk.turns or not _may_ask(talk.data):
            return self._commit(jobs, talk, self._by_rules(talk), steps, quick=quick)
        drafts = self._by_llm(self.llm, talk)
        return self._commit(jobs, talk, drafts, steps, opinions=self._opinions(self.llm, talk))

    def give_up(
        self, jobs: Sequence[Job], steps: Sequence[str], *, error: str, transient: bool
    ) -> int:
        """Keep what the rules find; the jobs become dead letters. How many."""
        talk = self._talk(jobs)
        try:
            drafts = self._by_rules(talk)
        except Harmful:
            if len(jobs) > 1:  # Who is it? The others can be read.
                raise
            drafts = Drafts()
        except ModelError:  # Not even that; the turns are there all the same.
            drafts = Drafts()
        return self._commit(jobs, talk, drafts, steps, error=error, transient=transient)

    # Claim

    def claim(self, *, ignore_backoff: bool) -> list[Job]:
        """The jobs of one conversation that is ready to be read, as many as fit one call."""
        settings, jobs = self.config.extraction, self.config.jobs
        claimed = self._store.claim_group(
            STEP,
            most=_MOST_TURNS if self.llm is None else settings.group_turns,
            now=self.committer.clock(),
            lease_s=self._lease_seconds,
            max_attempts=jobs.max_attempts,
            quiet_s=settings.quiet_seconds,
            wait_s=settings.wait_seconds,
            ignore_backoff=ignore_backoff,
        )
        alike, data = _treated_alike(self._store, claimed)
        if self.llm is None or not alike or not _may_ask(data):
            return alike
        groups = self.llm.groups(self._talk(alike).turns)
        late = {turn.id for group in groups[1:] for turn in group}
        return _release_others(self._store, alike, lambda job: job.subject not in late)

    def claim_turns(self, scope: Scope, turns: Sequence[str]) -> list[Job]:
        """The jobs of some turns of one call, that somebody waits for."""
        jobs = self.config.jobs
        return self._store.claim(
            [STEP],
            limit=len(turns),
            now=self.committer.clock(),
            lease_s=jobs.lease_seconds,
            max_attempts=jobs.max_attempts,
            turns=(scope, turns),
        )

    @property
    def _lease_seconds(self) -> float:
        jobs, settings = self.config.jobs, self.config.extraction
        reading = PATIENCE * jobs.read_seconds
        if self.llm is None:
            return max(jobs.lease_seconds, reading)
        calls = 1 + JUDGE_TIMEOUTS if settings.judge else 1
        asking = calls * settings.llm.timeout_seconds
        return max(jobs.lease_seconds, asking + reading + _LEASE_MARGIN_S)

    # Read

    @property
    def _store(self) -> Store:
        return self.committer.store

    def _talk(self, jobs: Sequence[Job]) -> _Talk:
        owner = jobs[0].scope
        events = self._store.events(owner, [job.subject for job in jobs])  # Without forgotten ones.
        if not events:
            return _Talk(owner)
        talk = (events[0].session, events[0].agent)
        first = min(event.arrival for event in events)
        around = self._store.events(owner, after=max(0, first - 1 - _LOOK_BACK), limit=_LOOK_BACK)
        before = [e for e in around if e.arrival < first and (e.session, e.agent) == talk]
        data = events[0].data
        # Of earlier turns those that everybody may know of who will see what is drawn now.
        whose = (None, visibility_of(data))
        before = [turn for turn in before if visibility_of(turn.data) in whose]
        echoes, most = self.echoes(owner), self.config.extraction.turn_chars

        def own(text: str) -> str:
            return without_recalled(text, echoes)

        turns, earlier = (
            turns_to_learn_from(
                [e for e in some if provider_of(e.data) != NOBODY], own=own, most=most
            )
            for some in (events, before)
        )
        scope = Scope(owner.workspace, owner.user, events[0].agent, events[0].session)
        return _Talk(scope, turns, earlier, data)

    # Draft

    def _by_rules(self, talk: _Talk) -> Drafts:
        if not talk.turns:
            return Drafts()
        known = self.committer.graphs.of(talk.scope).called
        earlier = [turn for turn in talk.earlier[-_MOST_EARLIER:] if self._was_read(talk, turn)]
        request = ReadRequest(talk.turns, earlier, own_name(talk.scope.user))
        extractor = self.extractor(provider_of(talk.data))
        found = self.processes.read(extractor, request, lambda name: same(name) in known)
        return self._with_lines(talk, found)

    def _with_lines(self, talk: _Talk, found: Drafts) -> Drafts:
        """With what the model that reads finds, where it may be asked."""
        if self.lines is None or provider_of(talk.data) == "rules":
            return found
        own, facts, rules = read_lines(talk.turns, self.lines, found.facts, earlier=talk.earlier)
        alone = [replace(each, text=without_request(each.text)) for each in facts]
        found = replace(found, facts=tuple(own), rules=tuple(rules))
        return found.also(Drafts(facts=tuple(alone)))

    def _was_read(self, talk: _Talk, turn: Event) -> bool:
        """Whether it is no dead letter: what nobody could read helps to read nothing."""
        dead = self._store.jobs(states=("dead",), scope=talk.scope, subject=turn.id)
        return all(job.step != STEP for job in dead)

    def _by_llm(self, llm: LlmExtractor, talk: _Talk) -> Drafts:
        text = "\n".join(turn.content for turn in talk.turns)
        graph, now = self.committer.graphs.of(talk.scope), self.committer.clock()
        nodes = entities_in(graph, text, agent=talk.scope.agent, now=now, limit=_MOST_KNOWN)
        drafts = llm.extract(
            talk.scope,
            talk.turns,
            user=own_name(talk.scope.user),
            earlier=[turn for turn in talk.earlier if _may_ask(turn.data)][-_MOST_EARLIER:],
            known=[KnownEntity(node.id, node.name, node.type, node.aliases) for node in nodes],
        )
        # What was cut off, or speaks of what nobody said, is made up for by the rules.
        return drafts.also(self._by_rules(talk)) if drafts.partial else drafts

    def _opinions(self, llm: LlmExtractor, talk: _Talk) -> Opinions | None:
        """The judge of the facts of one group of turns, asked and paid for as the extraction
        itself: one model, one purse. None when no judge is wanted."""
        if not self.config.extraction.judge:
            return None

        def ask(system: str, text: str, schema: Mapping[str, Any]) -> str:
            return llm.model.ask(talk.scope, system, text, schema=schema).text

        patience = self.config.extraction.llm.timeout_seconds
        return Opinions(LlmJudge(ask), patience_s=patience)

    # Restrict and commit

    def _commit(
        self,
        jobs: Sequence[Job],
        talk: _Talk,
        drafts: Drafts,
        steps: Sequence[str],
        *,
        opinions: Opinions | None = None,
        quick: bool = False,
        error: str | None = None,
        transient: bool = False,
    ) -> int:
        if drafts.notes:
            log.info("extract: left out %s", ", ".join(drafts.notes))
        drafts = _restricted(drafts, talk.data)
        learned = Learned(talk.scope, jobs, drafts, talk.turns, error, transient)
        return self.committer.commit(learned, steps, opinions=opinions, quick=quick)


# ----------------------------------------------------------------------
# Turns that are to be treated otherwise than the rest of their conversation
# (border/write_options.py).
#
# What is read together is treated alike, so nothing that is drawn from turns that one agent keeps
# to itself is mixed with what everybody may see.
# ----------------------------------------------------------------------


def _treated_alike(store: Store, jobs: list[Job]) -> tuple[list[Job], Metadata]:
    """Those that are treated as the one that is due first, and how; the others go back, untried."""
    if not jobs:
        return [], {}
    turns = store.events(jobs[0].scope, [job.subject for job in jobs])
    data = {turn.id: how for turn in turns if (how := treatment(turn.data))}
    if not data:
        return jobs, {}
    first = min(jobs, key=lambda job: (job.due or _LONG_AGO, job.id))
    how = data.get(first.subject, {})
    return _release_others(store, jobs, lambda job: data.get(job.subject, {}) == how), how


def _release_others(
    store: Store, jobs: Sequence[Job], is_wanted: Callable[[Job], bool]
) -> list[Job]:
    """The jobs that are wanted; the others go back, untried."""
    rest = [job for job in jobs if not is_wanted(job)]
    if rest:
        store.release(rest)
    return [job for job in jobs if is_wanted(job)]


def _may_ask(data: Metadata) -> bool:
    """Whether a language model, if there is one, may be shown such turns."""
    return provider_of(data) in _BY_MODEL


def _restricted(drafts: Drafts, data: Metadata) -> Drafts:
    """What may be stored of drafts. The graph has no place for what one agent keeps to itself:
    entities are everybody's."""
    visibility = visibility_of(data)
    if visibility is None:
        return drafts
    facts = tuple(replace(each, visibility=visibility) for each in drafts.facts)
    return replace(drafts, entities=(), relations=(), facts=facts)


# ----------------------------------------------------------------------
# The step as the settings want it.
# ----------------------------------------------------------------------


def make_extract(
    config: Config,
    *,
    extractor: Extractor | None,
    generator: Generator | None,
    lines: LineReader | None = None,
) -> Callable[[Committer, Echoes], ExtractStep]:
    """Makes the step for a memory. `extractor` stands for the one that the settings name;
    `generator` is the language model, if one is to be asked, `lines` the model that reads."""

    @cache
    def factory(provider: str | None) -> ExtractorFactory:
        if provider == "rules":  # Threads may share it: quick turns are read by their caller's.
            return ExtractorFactory(partial(extractor_named, provider))
        if extractor is not None:
            return ExtractorFactory(partial(_itself, extractor))
        # A write that names spaCy cannot know whether it is installed: there are the rules.
        name = "auto" if provider == "nlp" else provider
        return ExtractorFactory(partial(extractor_named, name or config.extraction.provider))

    def make(committer: Committer, echoes: Echoes) -> ExtractStep:
        llm = None
        if generator is not None:
            llm = make_llm_extractor(generator, committer.store, config.extraction, committer.clock)
        processes = ReaderProcesses(config.jobs.read_seconds)
        return ExtractStep(
            replace(committer, reader=lines), echoes, factory, config, processes, llm, lines
        )

    return make


def _itself(extractor: Extractor) -> Extractor:
    return extractor
