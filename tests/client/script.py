"""One conversation with a memory, step by step: every verb is called. The same for every kind."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN: dict[str, Any] = {"user": "ann"}
TURNS = [
    {"role": "user", "content": "I moved to Lisbon.", "at": "2026-02-27T10:00:00Z"},
    {"role": "assistant", "content": "Noted: Lisbon.", "at": datetime(2026, 2, 27, 10, tzinfo=UTC)},
    {"role": "user", "content": "Always answer in Portuguese.", "metadata": {"n": [1, 2.5, None]}},
]

Known = dict[str, Any]
Step = tuple[str, Callable[[Any, Known], Any]]
STEPS: list[Step] = []


def step(name: str) -> Callable[[Callable[[Any, Known], Any]], Callable[[Any, Known], Any]]:
    def added(function: Callable[[Any, Known], Any]) -> Callable[[Any, Known], Any]:
        STEPS.append((name, function))
        return function

    return added


def plain(name: str, call: Callable[[Any, Known], Any]) -> None:
    STEPS.append((name, call))


# What was said

plain("remember", lambda m, k: k.setdefault("said", m.remember(TURNS, session="s1", **ANN)))
plain("remember", lambda m, _: m.remember("Bob loves chess.", key="k1", **ANN))
plain("remember", lambda m, _: m.remember("Bob loves chess.", key="k1", **ANN))
plain("remember", lambda m, _: m.remember({"content": "x\0y\ud800z ☃"}, at=NOW, **ANN))
plain("rebuild", lambda m, _: m.rebuild())
plain("drain", lambda m, _: m.drain(60).pending)
plain("recall", lambda m, _: m.recall("Where does Ann live?", **ANN))
plain("recall", lambda m, _: m.recall("chess", limit=1, explain=True, tiers=["session"], **ANN))
plain("recall", lambda m, _: m.recall("Lisbon", as_of=NOW - timedelta(days=9), **ANN))
plain("recall", lambda m, _: m.recall("Lisbon", overrides={"rrf.k": 10, "fusion": "rrf"}, **ANN))
plain("recall", lambda m, _: m.recall("Lisbon", user="nobody"))


@step("context")
def _context(m: Any, k: Known) -> Any:
    k["context"] = m.context("Where do I live?", budget_tokens=300, **ANN)
    return k["context"]


plain("context", lambda m, _: m.context(TURNS[:1], guaranteed=(), format="astra", **ANN))
plain("explain", lambda m, k: m.explain(k["context"].id, **ANN))
plain("expand", lambda m, k: m.expand([k["said"].events[0]], **ANN))
plain("status", lambda m, k: m.status(k["said"].events[1], **ANN))
plain("stats", lambda m, _: m.stats(session="s1", **ANN))
plain("feedback", lambda m, k: m.feedback(k["said"].events[0], 1, **ANN))
plain("forget", lambda m, k: m.forget(k["said"].events[1], **ANN))
plain("forget", lambda m, k: m.forget(k["said"].events[1], **ANN))
plain("history", lambda m, k: m.history(k["said"].events[1], **ANN))
plain("forgotten", lambda m, _: m.forgotten(**ANN))
plain("restore", lambda m, k: m.restore(k["said"].events[1], **ANN))
plain("get", lambda m, k: m.get(k["said"].events[0], **ANN))
plain("list", lambda m, _: list(m.list(**ANN).memories))
plain("list", lambda m, _: list(m.list(origin="agent", speaker="assistant", **ANN).memories))
plain("trace", lambda m, k: m.trace(k["said"].events[1], **ANN))


@step("list")
def _pages(m: Any, k: Known) -> Any:
    first = m.list(limit=2, tiers={"session"}, **ANN)
    rest = m.list(limit=2, tiers={"session"}, cursor=first.next, **ANN)
    return [*first.memories, *rest.memories]


plain(
    "batch",
    lambda m, _: m.batch(
        [{"op": "remember", "messages": "Cy has a cat."}, {"op": "forget", "id": "none"}], **ANN
    ),
)
plain("growth", lambda m, _: m.growth(days=3, **ANN))
plain("fading", lambda m, _: m.fading(days=90, limit=3, **ANN))
plain("remember", lambda m, _: m.remember("Mail.", metadata={"source_site": "mail"}, **ANN))
plain("reset_source", lambda m, _: m.reset_source("mail", **ANN))
plain("users", lambda m, _: m.users(limit=3))
plain("jobs", lambda m, _: m.jobs(states=["ready"], limit=3))
plain("replay", lambda m, _: m.replay())
plain("drain", lambda m, _: m.drain().pending)
plain("capabilities", lambda m, _: m.capabilities())
plain("settings", lambda m, _: m.settings())
plain("compact", lambda m, _: m.compact(session="s1", keep_turns=1, **ANN))
plain("summaries.compact", lambda m, _: m.summaries.compact(session="s1", keep_turns=1, **ANN))
plain("summaries.get", lambda m, _: m.summaries.get(session="s1", **ANN))
plain("summaries.session_stats", lambda m, _: m.summaries.session_stats(session="s1", **ANN))

# What is known

plain("facts.add", lambda m, k: k.setdefault("fact", m.facts.add("I live in Lisbon.", **ANN)))
plain(
    "facts.add",
    lambda m, k: k.setdefault(
        "old", m.facts.add("I work at Acme.", confidence=1, metadata={"a": 1}, at=NOW, **ANN)
    ),
)
plain("facts.get", lambda m, k: m.facts.get(k["fact"].id, **ANN))
plain("facts.list", lambda m, _: m.facts.list(**ANN))
plain("facts.list", lambda m, _: m.facts.list(limit=1, as_of=NOW, **ANN))
plain("facts.update", lambda m, k: m.facts.update(k["old"].id, "I work at Initech.", **ANN))
plain("facts.history", lambda m, k: m.facts.history(k["old"].id, **ANN))
plain("facts.invalidate", lambda m, k: m.facts.invalidate(k["fact"].id, reason="a slip — ü", **ANN))


@step("facts.clarifications")
def _unclear(m: Any, k: Known) -> Any:
    m.facts.add("I live in Paris.", user="cy", at=NOW - timedelta(days=9))
    m.facts.add("I live in Oslo.", confidence=0.6, user="cy", at=NOW - timedelta(days=1))
    k["unclear"] = m.facts.clarifications(user="cy")
    return k["unclear"]


plain("facts.answer", lambda m, k: m.facts.answer(k["unclear"][0].id, keep="new", user="cy"))
plain("facts.contradictions", lambda m, _: m.facts.contradictions(**ANN))


@step("facts.conflicts")
def _conflict(m: Any, k: Known) -> Any:
    m.facts.add("I live in Paris.", agent="cook", origin="agent", user="dee", at=NOW)
    later = NOW + timedelta(minutes=1)
    m.facts.add("I live in Rome.", agent="guide", origin="agent", user="dee", at=later)
    k["conflicts"] = m.facts.conflicts(user="dee")
    return k["conflicts"]


plain("facts.resolve", lambda m, k: m.facts.resolve(k["conflicts"][0].id, keep="both", user="dee"))
plain("settle", lambda m, _: m.settle(**ANN))
plain("profiles.set", lambda m, _: m.profiles.set("languages", ["pt", "en"], **ANN))
plain("profiles.set", lambda m, _: m.profiles.set("city", "Lisbon", **ANN))
plain("profiles.clear", lambda m, _: m.profiles.clear("city", **ANN))
plain("profiles.profile", lambda m, _: m.profiles.profile(**ANN))
plain("profile", lambda m, _: m.profile(as_of=NOW + timedelta(hours=1), **ANN))
plain(
    "notes.add",
    lambda m, k: k.setdefault("note", m.notes.add("Chose Pg.", category="decision", **ANN)),
)
plain("notes.update", lambda m, k: k.setdefault("new", m.notes.update(k["note"].id, "Pg.", **ANN)))
plain("update", lambda m, k: m.update(k["new"].id, "Chose Postgres.", metadata={"a": 1}, **ANN))
plain("notes.list", lambda m, _: m.notes.list(**ANN))
plain("notes.day", lambda m, _: m.notes.day("2026-03-01", **ANN))
plain("notes.day", lambda m, _: m.notes.day(date(2026, 3, 1), tz="Europe/Lisbon", **ANN))
plain(
    "procedures.add",
    lambda m, k: k.setdefault(
        "how", m.procedures.add("Release", steps=("tag", "build"), tags=["ci"], **ANN)
    ),
)
plain("procedures.list", lambda m, _: m.procedures.list(tag="ci", **ANN))
plain("procedures.get", lambda m, k: m.procedures.get(k["how"].id, **ANN))
plain("procedures.used", lambda m, k: m.procedures.used(k["how"].id, worked=False, **ANN))
plain("procedures.update", lambda m, k: m.procedures.update(k["how"].id, tags=[], **ANN))

# The graph

plain(
    "graph.write",
    lambda m, _: m.graph.write(
        [{"name": "Ann Smith", "type": "person"}, {"name": "Bo", "aliases": ["Bobby"]}],
        [{"source": "Ann Smith", "type": "works_on", "target": "Holdfast"}],
        **ANN,
    ),
)
plain("graph.traverse", lambda m, _: m.graph.traverse("Ann Smith", depth=2, **ANN))
plain("graph.entities", lambda m, _: m.graph.entities(**ANN))
plain("graph.edges", lambda m, _: m.graph.edges(**ANN))
plain("graph.overview", lambda m, _: m.graph.overview(limit=5, **ANN))
plain("graph.merge", lambda m, k: k.setdefault("merge", m.graph.merge("Ann Smith", "Bo", **ANN)))
plain("graph.merges", lambda m, _: m.graph.merges(**ANN))
plain("graph.unmerge", lambda m, k: m.graph.unmerge(k["merge"].id, **ANN))
plain("graph.merges", lambda m, _: m.graph.merges(undone=True, **ANN))

OBSERVED = [{"name": "Cat", "type": "animal", "observations": ["Purrs"]}]
plain("observations.create", lambda m, _: m.observations.create(OBSERVED, **ANN))
plain(
    "observations.add",
    lambda m, _: m.observations.add([{"entity": "Cat", "contents": ["Is grey"]}], **ANN),
)
plain("observations.read", lambda m, _: m.observations.read(query="grey", **ANN))
plain("observations.delete", lambda m, _: m.observations.delete(["Cat"], **ANN))

# Knowledge and team

PAGE = "# Deploying\n\nWe deploy on Fridays, never on Mondays. Ü\n"


@step("knowledge.add")
def _file(m: Any, k: Known) -> Any:
    path: Path = k["folder"] / "how to.md"
    path.write_text(PAGE, encoding="utf-8")
    k["page"] = m.knowledge.add(path, metadata={"by": "Ann ü"}, **ANN)
    return k["page"]


plain("knowledge.add", lambda m, _: m.knowledge.add("Our tea is green.", name="tea", **ANN))
plain("knowledge.add", lambda m, _: m.knowledge.add(PAGE.encode(), format="markdown"))
plain("knowledge.add", lambda m, _: m.knowledge.add(PAGE.encode(), format="markdown"))
plain("knowledge.documents", lambda m, _: m.knowledge.documents(limit=2, **ANN))
plain("knowledge.documents", lambda m, _: m.knowledge.documents())
plain("knowledge.document", lambda m, k: m.knowledge.document(k["page"].id, **ANN))
plain("knowledge.history", lambda m, k: m.knowledge.history(k["page"].id, **ANN))
plain("knowledge.remove", lambda m, k: m.knowledge.remove(k["page"].id, **ANN))
plain("knowledge.set", lambda m, _: m.knowledge.set("db host", "pg-1", metadata={"n": 1}, **ANN))
plain("knowledge.set", lambda m, _: m.knowledge.set("db ünit?&=#%", "v", **ANN))
plain("knowledge.get", lambda m, _: m.knowledge.get("db ünit?&=#%", **ANN))
plain("knowledge.get", lambda m, _: m.knowledge.get("db host", **ANN))
plain("knowledge.entries", lambda m, _: m.knowledge.entries(prefix="db ", **ANN))
plain(
    "team.write",
    lambda m, k: k.setdefault(
        "entry", m.team.write("We deploy on Fridays.", type="decision", tags=("ops",), agent="a1")
    ),
)
plain("team.list", lambda m, _: m.team.list())
plain("team.get", lambda m, k: m.team.get(k["entry"].id))
plain("team.update", lambda m, k: m.team.update(k["entry"].id, title="Deploys"))
plain("team.history", lambda m, k: m.team.history(k["entry"].id))
plain("team.search", lambda m, _: list(m.team.search("When do we deploy?")))
plain("team.remove", lambda m, k: m.team.remove(k["entry"].id))
plain(
    "shares.grant",
    lambda m, k: k.setdefault(
        "share",
        m.shares.grant(to="lab", segments=["profile"], expires_in=timedelta(days=1), **ANN),
    ),
)
plain("shares.list", lambda m, _: m.shares.list(**ANN))
plain("shares.given_to", lambda m, _: m.shares.given_to())
plain("shares.revoke", lambda m, k: m.shares.revoke(k["share"].id, **ANN))
plain("agents.set_trust", lambda m, _: m.agents.set_trust("a1", 0.75))
plain("agents.trust", lambda m, _: m.agents.trust())

# In the end

plain("check", lambda m, _: [(each.check, each.ok) for each in m.check()])
plain("doctor", lambda m, _: [(each.check, each.ok) for each in m.doctor()])
plain("warm", lambda m, _: m.warm())


@step("erase")
def _erased(m: Any, _: Known) -> Any:
    # A service has more keys to forget: the client gave one to every write.
    made = m.erase(**ANN)
    return [type(made), made.at, sorted(made.removed), made.removed["records"]]


plain("stats", lambda m, _: m.stats(**ANN))
