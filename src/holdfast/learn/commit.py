"""Stores what was learned from turns: entities, relations, facts and notes, all or nothing.

    plan    what the drafts make of what is known now
    ask     the models for what the plan lacked, and plan again
    store   the records, and the jobs are gone: one transaction, unless others wrote since the plan

While a model is asked nothing is locked and no transaction is open: others read and write. The same
drafts again change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.border.write_options import visibility_of
from holdfast.language.instructions.rules import rule_id
from holdfast.learn.drafts_from_rules import Drafts
from holdfast.models.reader import LineReader, states_something
from holdfast.records.after_forget import rules_gone
from holdfast.records.facts.judge import Opinion, Opinions, nobody
from holdfast.records.facts.plan import Alike, Reading
from holdfast.records.facts.verbs import TIERS, Facts
from holdfast.records.graph.follow import Graphs
from holdfast.records.graph.plan import plan_heard
from holdfast.records.notes import Notes
from holdfast.records.rules import DOUBTFUL, planned_rules
from holdfast.records.versions import attempts
from holdfast.store.protocols import Derived, Store
from holdfast.types import Event, Job, Scope

#: Vectors that one plan lacks are fetched together; another may lack others, but not for ever.
_MOST_FETCHES = 10


@dataclass(frozen=True, slots=True)
class Learned:
    """What was understood of the turns of some jobs."""

    scope: Scope
    jobs: Sequence[Job]
    drafts: Drafts
    turns: Sequence[Event] = ()
    #: Why the jobs become dead letters, and whether another try may help; None: they are done.
    error: str | None = None
    transient: bool = False


@dataclass(frozen=True, slots=True)
class Committer:
    """Puts what was learned into the store. Threads may share it."""

    store: Store
    graphs: Graphs
    facts: Facts
    notes: Notes
    clock: Callable[[], datetime]
    #: Tells how a line relates to known ones; None: nobody can tell.
    reader: LineReader | None = None

    def commit(
        self,
        learned: Learned,
        steps: Sequence[str],
        *,
        opinions: Opinions | None = None,
        quick: bool = False,
    ) -> int:
        """Store what was learned and finish its jobs; how many of them were ours. `steps` are
        queued for the new records. `opinions`: a judge for facts in doubt. `quick`: no embedding
        model is waited for, facts without vectors are compared by words alone."""
        questions = _Questions(self.facts.alike, opinions, fetches=0 if quick else _MOST_FETCHES)
        while True:  # Each round answers one of few questions.
            done = self._store_plan(learned, steps, questions)
            if done is not None:
                return done
            questions.ask()

    def _store_plan(
        self, learned: Learned, steps: Sequence[str], questions: _Questions
    ) -> int | None:
        """Plan, and store it; None when the plan lacks something that a model can tell."""
        now = self.clock()  # Others may have written while a model was asked.
        with self.graphs.writing:
            for since in attempts(self.store, learned.scope):
                questions.forget()
                records = self._plan(learned, now, questions)
                if questions.are_open:
                    return None
                done = self.store.learn(
                    learned.scope, learned.jobs, records, known_at=now, steps=steps,
                    error=learned.error, transient=learned.transient, since=since, tiers=TIERS,
                )  # fmt: skip
                if done is not None:
                    self._let_stand(learned.scope, records, now)
                    return done
        raise AssertionError("attempts end with an error")

    def _let_stand(self, scope: Scope, records: Sequence[Derived], now: datetime) -> None:
        """Let rules stand again that were ended by what turned out to be somebody else's word."""
        gone = [id for each in records if each.kind == DOUBTFUL for id in each.supersedes]
        if gone:
            rules_gone(self.store, scope, self.store.get(scope, gone), now)

    def _plan(self, learned: Learned, now: datetime, questions: _Questions) -> list[Derived]:
        scope, drafts = learned.scope, learned.drafts
        graph = plan_heard(
            self.store, self.graphs, scope, drafts.entities, drafts.relations, now=now
        )
        facts = self.facts.planned(
            scope, drafts.facts, now=now, opinion=questions.opinion,
            likeness=questions.likeness, reading=self._reading(),
        )  # fmt: skip
        notes = self.notes.planned(scope, drafts.facts, turns=learned.turns)
        rules = self._rules(learned) if drafts.rules else []
        return [*(each.record for each in graph), *facts, *notes, *rules]

    def _rules(self, learned: Learned) -> list[Derived]:
        """What lines make of the rules that the same agent was given, for the same to see. What was
        made of a line when its turn was read before stays."""
        scope, visibility = learned.scope, visibility_of(learned.turns[0].data)
        ids = {rule_id(each.event.id, each.rule.ordinal): each for each in learned.drafts.rules}
        stored = {each.id for each in self.store.get(scope, list(ids), hidden=True)}
        drafts = [each for id, each in ids.items() if id not in stored]
        kinds = ("instruction", DOUBTFUL, "release") if drafts else ()
        listed = [
            each for kind in kinds for each in self.store.listed(scope, tier="procedure", kind=kind)
        ]
        current = [
            each for each in listed if (each.agent, each.visibility) == (scope.agent, visibility)
        ]
        assert self.reader is not None, "only the model that reads drafts rules"
        return planned_rules(drafts, current, self.reader.relations)

    def _reading(self) -> Reading | None:
        reader = self.reader
        if reader is None:
            return None
        return Reading(reader.relations, lambda text: states_something(text, reader))


class _Questions:
    """What plans lack: vectors of texts to compare, and the opinion of a judge.

    A plan waits for no model. It notes here what it lacks, goes on without it and is thrown away;
    then the models are asked, and the plan is made anew of what is known by then.
    """

    def __init__(self, alike: Alike, opinions: Opinions | None, *, fetches: int) -> None:
        self._alike = alike
        self._opinions = opinions
        self._fetches = fetches
        self._texts: dict[str, None] = {}
        self.opinion: Opinion = nobody if opinions is None else opinions.of

    def likeness(self, one: str, other: str) -> float | None:
        """How alike two texts are, by the vectors at hand."""
        found = self._alike.at_hand(one, other)
        if found is None and self._fetches > 0:
            self._texts.update(dict.fromkeys(self._alike.missing((one, other))))
        return found

    @property
    def are_open(self) -> bool:
        """Whether the plan lacks something that a model can tell."""
        return bool(self._texts) or (self._opinions is not None and self._opinions.open is not None)

    def forget(self) -> None:
        """A new plan begins: what the last one lacked does not count."""
        self._texts.clear()
        if self._opinions is not None:
            self._opinions.open = None

    def ask(self) -> None:
        """Ask the models. Vectors first: they may answer what a judge would be asked."""
        if self._texts:
            self._fetches = self._fetches - 1 if self._alike.fetch(self._texts) else 0
        elif self._opinions is not None and self._opinions.open is not None:
            self._opinions.ask(self._opinions.open)
