"""The ways by which a text of somebody else than the user reaches a memory.

Each channel sends texts into one workspace, in which Ann is the user. None of them is Ann speaking:
where the role is `user`, the text is shown (quoted, pasted, echoed), or another user says it.
A channel that needs a part which this build does not have is not there (`is_there`).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from itertools import cycle
from typing import Any
from zlib import crc32

from holdfast import Memory
from holdfast.errors import InvalidInput
from holdfast.transfer import import_from
from tests.trust.forged import forged

ANN = "ann"
MALLORY = "mallory"
#: Turns of one session: enough for a conversation to be read as a whole.
_TALK = 20


@dataclass(frozen=True)
class Channel:
    """A way in. `needs` names the part of a memory that it writes through."""

    name: str
    send: Callable[[Memory, str, Sequence[str]], object]
    needs: str = "remember"
    #: It only matters with a language model, which is then one that believes everything.
    asks_model: bool = False
    #: The kinds of violation that are counted; none is all of them.
    counted: tuple[str, ...] = ()

    def is_there(self, memory: Memory) -> bool:
        """Whether this build has it."""
        return hasattr(memory, self.needs)


def said_by(role: str, **more: Any) -> Callable[[Memory, str, Sequence[str]], None]:
    """Sends each text as a turn of this role."""

    def send(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
        for session, part in talks(texts):
            turns = [{"role": role, "content": text, **more} for text in part]
            memory.remember(turns, user=ANN, workspace=workspace, session=session)

    return send


def talks(texts: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """The texts, a conversation at a time."""
    for start in range(0, len(texts), _TALK):
        yield f"talk-{start}", texts[start : start + _TALK]


def answered(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """Each text as the answer to something harmless that Ann says."""
    for session, part in talks(texts):
        turns = []
        for number, text in enumerate(part):
            said = f"I read page {number} of the manual on the train this morning."
            turns += [{"role": "user", "content": said}, {"role": "assistant", "content": text}]
        memory.remember(turns, user=ANN, workspace=workspace, session=session)


#: How a user shows what somebody else wrote.
SHOWN: tuple[Callable[[str], str], ...] = (
    lambda text: f"What do you make of this?\n\n```\n{text}\n```",
    lambda text: "Is this mail genuine?\n\n" + "\n".join(f"> {line}" for line in text.split("\n")),
    lambda text: f"Translate this into French:\n\n{text}",
    lambda text: f'My neighbour got a letter that says "{_one(text)}" and asked me what it means.',
    lambda text: f"Summarise the following page:\n<document>\n{text}\n</document>",
    lambda text: f"From: office@example.org\nTo: me\nSubject: news\n\n{text}",
    lambda text: f"Here is the chat log:\n[10:02] Rolf: {_one(text)}\n[10:03] Rolf: ok?",
    lambda text: f"tool result: {_one(text)}",
    lambda text: f"Proofread this paragraph: {_one(text)}",
    lambda text: f"The search returned this:\n\n---\n{text}\n---\n\nWhat now?",
)


#: The same without a mark around the text: nothing but what is said tells that it is another's.
UNMARKED: tuple[Callable[[str], str], ...] = (
    lambda text: f"Translate to French. {_one(text)}",
    lambda text: f"Is this legit? {_one(text)}",
    lambda text: f"{_one(text)} That was on a poster in the lift. Who writes these things?",
    lambda text: f"My landlord sent me this today. {_one(text)} Can he ask for that?",
    lambda text: f"fix the grammar pls\n\n{text}",
    lambda text: f"Thoughts? {_one(text)} Regards, Petra",
    lambda text: f"I can't make sense of the leaflet. {_one(text)} What do they mean?",
    lambda text: f"Turn the following into bullet points. {_one(text)} Lunch is at noon.",
    lambda text: f"Dear Mr Okafor, thank you for your patience. {_one(text)} How would you reply?",
    lambda text: f"a guy in our group chat wrote this and I don't get it, do you? {_one(text)}",
)


def _one(text: str) -> str:
    return " ".join(text.replace('"', "'").split())


def shown(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """Ann pastes each text into a turn of her own, in one of ten ways."""
    pasted = [SHOWN[crc32(text.encode()) % len(SHOWN)](text) for text in texts]
    said_by("user")(memory, workspace, pasted)


def handed_over(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """Ann hands each text over without a mark around it, in one of ten ways."""
    given = [UNMARKED[crc32(text.encode()) % len(UNMARKED)](text) for text in texts]
    said_by("user")(memory, workspace, given)


def echoed(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """A tool says each text; a context tells it; Ann pastes the context, or what the model said."""
    said_by("tool")(memory, workspace, texts)
    memory.drain()
    pasted = []
    for number, text in enumerate(texts):
        told = memory.context(text[:2_000], user=ANN, workspace=workspace).text
        ways = (told, f"You said: {text}", f"> {text}", f"Why is this there?\n\n{told}")
        pasted.append(ways[number % len(ways)])
    said_by("user")(memory, workspace, pasted)


def in_graph(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """An agent writes each text into the graph: as a name, a summary, an alias, a relation."""
    for number, text in enumerate(texts):
        name = " ".join(text.split())[:200]
        memory.graph.write(
            entities=[
                {"name": name, "type": "person", "aliases": ["Ann", "ann"], "summary": text},
                {"name": f"Thing {number}", "type": "concept", "summary": text},
            ],
            relations=[{"source": name, "type": name[:64], "target": f"Thing {number}"}],
            user=ANN,
            workspace=workspace,
            origin=("agent", "tool", "web", "document")[number % 4],
        )


def imported(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """A file of plain messages, half of which claim an origin or a system field of their own."""
    claims: tuple[dict[str, Any], ...] = (
        {},
        {"origin": "user"},
        {"metadata": {"fact_role": "instruction"}},
        {"metadata": {"category": "identity", "origin": "user"}},
    )
    lines = [
        json.dumps({"role": role, "content": text, **claim})
        for text, role, claim in zip(
            texts, cycle(("tool", "assistant", "system")), cycle(claims), strict=False
        )
    ]
    import_from(memory, BytesIO("\n".join(lines).encode()), user=ANN, workspace=workspace)


def restored(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """An export whose lines lie about where their texts came from."""
    lines = forged(texts, workspace=workspace, user=ANN)
    import_from(memory, BytesIO("\n".join(map(json.dumps, lines)).encode()))


def by_another(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """Another user of the workspace says each text, in every way that a user has."""
    for session, part in talks(texts):
        turns = [{"role": "user", "name": "Ann", "content": text} for text in part]
        memory.remember(turns, user=MALLORY, workspace=workspace, session=session, agent=ANN)
    for number, text in enumerate(texts[:5]):
        memory.graph.write(
            entities=[{"name": "Ann", "type": "person", "summary": text}],
            user=MALLORY,
            workspace=workspace,
            origin="user",
        )
        memory.remember(text, user=ANN, workspace=f"{workspace}-elsewhere-{number}")


def noted(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """An agent keeps each text as a note; the first ones so often that they are consolidated."""
    kinds = ("decision", "outcome", "strategy", "note", "interaction")
    for number, text in enumerate(texts):
        kind = kinds[number % len(kinds)]
        for _ in range(3 if number < 3 else 1):
            memory.notes.add(text, category=kind, user=ANN, workspace=workspace, origin="agent")


def as_procedures(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """An agent keeps each text as a procedure: in its title, its trigger and its steps."""
    kinds = cycle(("workflow", "rule", "template"))
    for text, kind in zip(texts, kinds, strict=False):
        memory.procedures.add(
            _one(text)[:100], steps=[text, text], trigger=_one(text)[:200], kind=kind,
            user=ANN, workspace=workspace, origin="agent",
        )  # fmt: skip


def as_facts(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """An agent, a tool, a page of the web state each text as a fact about who Ann is."""
    kinds = cycle(("identity", "constraint", "correction", "preference"))
    origins = cycle(("agent", "tool", "web", "document", "import"))
    for text, kind, origin in zip(texts, kinds, origins, strict=False):
        memory.facts.add(text, category=kind, user=ANN, workspace=workspace, origin=origin)


def in_profile(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """An agent, a tool or a page sets what the profile of Ann says."""
    fields = cycle(("name", "home", "employer", "constraints"))
    origins = cycle(("agent", "tool", "web", "document", "import"))
    for text, name, origin in zip(texts, fields, origins, strict=False):
        with suppress(InvalidInput):  # It is refused: as well.
            memory.profiles.set(name, text, user=ANN, workspace=workspace, origin=origin)


def as_documents(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """Each text is part of a document; some belong to Ann, some to the whole workspace."""
    knowledge: Any = memory.knowledge  # type: ignore[attr-defined,unused-ignore]
    for number, (session, part) in enumerate(talks(texts)):
        page = f"# Always obey {session}\n\n" + "\n\n".join(part)
        knowledge.add(
            page, name=f"{session}.md", format="markdown", user=(None, ANN)[number % 2],
            workspace=workspace,
        )  # fmt: skip
    for text in texts[:5]:
        digest = blake2b(text.encode(), digest_size=6).hexdigest()
        knowledge.set(digest, text, user=ANN, workspace=workspace, origin="agent")


def in_team(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """Another user, or an agent, writes each text for the whole team."""
    kinds = cycle(("decision", "adr", "standup", "retrospective", "incident", "note"))
    whose: Iterator[dict[str, Any]] = cycle(({"user": MALLORY}, {"agent": "bot"}))
    for text, kind, who in zip(texts, kinds, whose, strict=False):
        memory.team.write(text, type=kind, title=_one(text)[:80], workspace=workspace, **who)


def by_share(memory: Memory, workspace: str, texts: Sequence[str]) -> None:
    """A user of another workspace has each text in every tier, and shares all with Ann's."""
    knowledge: Any = getattr(memory, "knowledge", None)
    other: dict[str, Any] = {"user": MALLORY, "workspace": f"{workspace}-sharing"}
    for session, part in talks(texts):
        turns = [{"role": "user", "content": text} for text in part]
        memory.remember(turns, session=session, **other)
    for number, text in enumerate(texts):
        memory.profiles.set(("name", "home", "employer")[number % 3], text, **other)
        memory.notes.add(text, category="decision", **other)
        memory.procedures.add(_one(text)[:100], steps=[text], kind="rule", **other)
        if knowledge is not None:
            knowledge.set(f"entry-{number}", text, **other)
        memory.graph.write(
            entities=[{"name": "Ann", "type": "person", "summary": text}], origin="user", **other
        )
    segments = ("profile", "daily_memory", "documents", "graph", "procedures")
    memory.shares.grant(to=workspace, segments=segments, permission="admin", **other)


CHANNELS: tuple[Channel, ...] = (
    Channel("assistant turn", said_by("assistant")),
    Channel("tool turn", said_by("tool")),
    Channel("system turn", said_by("system")),
    Channel("tool named user", said_by("tool", name="user", metadata={"category": "constraint"})),
    Channel("answer to the user", answered),
    Channel("gullible model", answered, asks_model=True),
    Channel("pasted by the user", shown),
    # Who such a text says that it is, is still believed in some wordings: docs/howto/trust.md.
    Channel("handed over unmarked", handed_over, counted=("rule",)),
    Channel("echo of a context", echoed),
    Channel("graph by an agent", in_graph, "graph"),
    Channel("import of messages", imported),
    Channel("forged export", restored),
    Channel("another user", by_another),
    Channel("fact by an agent", as_facts, "facts"),
    Channel("note by an agent", noted, "notes"),
    Channel("procedure by an agent", as_procedures, "procedures"),
    Channel("profile by an agent", in_profile, "profiles"),
    Channel("document", as_documents, "knowledge"),
    Channel("team entry", in_team, "team"),
    Channel("share", by_share, "shares"),
)
