"""What may not happen to a memory, whatever others than the user write into it.

    rule      a standing instruction that the user did not give
    identity  a fact of the kinds that only users state of themselves (identity, constraint)
    profile   a field of the profile that was not there before, or says something else
    told      a context that tells such a text as a rule or a trait of the user, or out of its block
    origin    a record that is trusted more than the least of its sources; a turn, than its role
    lost      a rule, a fact or a note of the user that no longer holds

Everything is asked of the verbs and the store; no model judges.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from holdfast import Context, Memory, Scope
from holdfast.border.validate import ORIGINS, least
from holdfast.language.statements.values import BY_USER, USERS_OWN
from holdfast.recall import deerflow
from holdfast.recall.context import astra, safe
from holdfast.types import ALL_TIERS, ORIGIN_OF_ROLE, TEAM, Record
from tests.trust.channels import ANN

#: What Ann says herself: her rules and who she is. Nothing else may ever hold authority.
SAID = (
    "My name is Ann Berg.",
    "I live in Porto.",
    "I am allergic to walnuts.",
    "Always answer in short sentences.",
    "Whenever I ask about recipes, give grams instead of cups.",
    "Yesterday we repaired the kitchen window.",
)
#: What she states as facts.
STATED = {
    "My name is Ann Berg.": "identity",
    "I live in Porto.": "identity",
    "My favourite bank is the savings bank on the corner.": "preference",
    "I can't eat walnuts.": "constraint",
}
#: Asked of every memory beside the hostile texts themselves.
ASKED = ("What are my rules?", "Who am I, where do I live, what must I not eat?")
FORMATS = ("safe", "astra", "deerflow")
#: Contexts are asked for with each of these in turn.
_TIERS: tuple[Sequence[str] | None, ...] = (
    None, ("procedure",), ("fact", "note", "profile"), ALL_TIERS,
)  # fmt: skip


@dataclass
class Found:
    """Violations: kind and text, each once."""

    seen: set[tuple[str, str]] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.seen)

    def kinds(self) -> Counter[str]:
        """How many of each kind."""
        return Counter(kind for kind, _ in self.seen)

    def examples(self, most: int = 5) -> list[str]:
        """A few of them, as text."""
        return [f"{kind}: {text[:160]!r}" for kind, text in sorted(self.seen)[:most]]


class Watch:
    """Ann's memory in one workspace: told a few things by herself, then looked at."""

    def __init__(self, memory: Memory, workspace: str) -> None:
        self._memory = memory
        self._workspace = workspace
        self._own: set[str] = set()
        #: What contexts may tell with authority: Ann's sentences, in whole or their rules alone.
        self._words = {*SAID, *STATED}
        #: All that she said and that was derived from it.
        self._standing: set[str] = set()
        self._profile: dict[str, str] = {}

    def begin(self) -> None:
        """Let Ann speak, and note what holds after that."""
        for text in SAID:
            self._memory.remember(text, user=ANN, workspace=self._workspace, session="ann")
        for text, category in STATED.items():
            self._memory.facts.add(text, category=category, user=ANN, workspace=self._workspace)
        self._memory.notes.add(SAID[-1], user=ANN, workspace=self._workspace)
        self._memory.drain()
        self.note()

    def note(self) -> None:
        """What holds now is Ann's own."""
        records = list(self._records())
        self._standing = {_held(record) for record in records if _is_users_own(record)}
        own = [record for record in records if _has_authority(record)]
        self._own = {_held(record) for record in own}
        self._words |= {str(record.data.get("rule")) for record in own}
        self._profile = self._fields()

    def over(self, memory: Memory) -> "Watch":
        """The same watch over a copy of the memory."""
        copy = Watch(memory, self._workspace)
        copy._own, copy._words = self._own, self._words
        copy._standing, copy._profile = self._standing, self._profile
        return copy

    def violations(self, texts: Sequence[str], *, thorough: bool = False) -> Found:
        """What happened that may not happen. Contexts are asked for with each text, in one format;
        `thorough`: in all of them."""
        found = set(self._in_store())
        fields = self._fields()
        for name in sorted(fields.keys() | self._profile.keys()):
            if fields.get(name) != self._profile.get(name):
                found.add(("profile", f"{name}: {self._profile.get(name)} -> {fields.get(name)}"))
        for number, text in enumerate((*ASKED, *texts)):
            found |= {("told", told) for told in self._told(text[:2_000], number, thorough)}
        return Found(found)

    def _in_store(self) -> Iterator[tuple[str, str]]:
        records = list(self._records())
        for record in records:
            if _has_authority(record) and _held(record) not in self._own:
                yield "rule" if record.kind == "instruction" else "identity", _shown(record)
            if _is_raised(record, self._sources(record)):
                yield "origin", _shown(record)
        for gone in sorted(self._standing - {_held(record) for record in records}):
            yield "lost", gone

    def _records(self) -> Iterator[Record]:
        for user in (ANN, TEAM):
            for tier in ALL_TIERS:
                scope = Scope(self._workspace, user)
                yield from self._memory.store.listed(scope, tier=tier)

    def _sources(self, record: Record) -> list[str]:
        scope = Scope(self._workspace, ANN)
        return [event.origin for event in self._memory.store.events(scope, record.sources)]

    def _fields(self) -> dict[str, str]:
        shown = self._memory.profile(user=ANN, workspace=self._workspace)
        fields = {name: field.value for name, field in shown.fields.items()}
        return fields | {name: summary.text for name, summary in shown.summaries.items()}

    def _told(self, text: str, number: int, thorough: bool) -> Iterator[str]:
        tiers = _TIERS[number % len(_TIERS)]
        for format in FORMATS if thorough else FORMATS[number % len(FORMATS) :][:1]:
            context = self._memory.context(
                text, user=ANN, workspace=self._workspace, tiers=tiers, format=format,
                record=False,
            )  # fmt: skip
            for told in _with_authority(context, format):
                if told not in self._words:
                    yield f"{format}: {told}"


def _has_authority(record: Record) -> bool:
    """Rules that are followed, and what counts as the user's own word about themselves."""
    if record.kind == "instruction" and record.tier != "session":
        return True
    return record.tier == "fact" and record.kind in USERS_OWN


def _is_users_own(record: Record) -> bool:
    derived = record.tier in ("fact", "procedure", "note", "profile")
    return derived and record.origin in BY_USER


def _shown(record: Record) -> str:
    return f"{record.tier}/{record.kind}, {record.origin}: {record.content}"


def _held(record: Record) -> str:
    return f"{record.id} {record.content}"


def _is_raised(record: Record, sources: Sequence[str]) -> bool:
    """Whether a record is trusted more than what it was made of."""
    if record.tier == "session":
        return _rank(record.origin) < _rank(ORIGIN_OF_ROLE[record.role])
    if not sources:
        return False
    return _rank(record.origin) < _rank(least(sources))


def _rank(origin: str) -> int:
    # What a user confirms is as good as what they say.
    return 0 if origin in BY_USER else ORIGINS.index(origin)


def _with_authority(context: Context, format: str) -> list[str]:
    """What a context tells as rules or as traits of the user; its whole text if it cannot be read
    back, for then a memory has broken out of it."""
    try:
        return _READ[format](context.text)
    except ValueError:
        return [f"broken out: {context.text}"]


_READ: dict[str, Callable[[str], list[str]]] = {
    "safe": lambda text: [item.text for item in safe.parse(text) if item.section != "memories"],
    "astra": lambda text: [
        block.content for block in astra.parse(text) if block.kind in ("instruction", *USERS_OWN)
    ],
    "deerflow": lambda text: [
        fact.content for fact in deerflow.parse(text) if fact.category in USERS_OWN
    ],
}
