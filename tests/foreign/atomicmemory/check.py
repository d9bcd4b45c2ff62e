"""AtomicMemory's own client, unmodified, against a running service: every verb that it has.

`live_*` are the scenarios of the suite that its authors run against a live core.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from atomicmemory import AsyncMemoryClient, AtomicMemoryClient, MemoryClient
from atomicmemory.memory.types import (
    MemoryRef,
    MessageIngest,
    PackageRequest,
    Provenance,
    Scope,
    SearchRequest,
    TextIngest,
    VerbatimIngest,
)
from atomicmemory.providers.atomicmemory.config import AtomicMemoryProviderConfig
from atomicmemory.providers.atomicmemory.handle import (
    AtomicMemoryIngestInput,
    AtomicMemorySearchRequest,
    UserScope,
    WorkspaceScope,
)
from atomicmemory.providers.atomicmemory.provider import AtomicMemoryProvider
from atomicmemory.tools import async_memory_tools, memory_tools

CLIENT = "atomicmemory"
URL, KEY = os.environ["HOLDFAST_URL"], os.environ["HOLDFAST_KEY"]
PROVIDERS = {"atomicmemory": {"api_url": URL, "api_key": KEY}}
NURSE = "I work as a nurse at Mercy Hospital."
PROBE = "Integration probe: Northstar Atlas deploys on-prem and prioritizes low query latency."
QUERY = "on-prem low latency Atlas"

Scenario = Callable[[], None]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__] = function
    return function


def fresh() -> str:
    """A user whom nobody knows."""
    return f"user-{uuid.uuid4().hex[:12]}"


def client() -> MemoryClient:
    made = MemoryClient(providers=PROVIDERS)
    made.initialize()
    return made


def handle() -> Any:
    found = client().atomicmemory
    assert found is not None
    return found


def native(method: str, path: str, body: Any) -> Any:
    """What the client has no verb for: here, two agents who disagree."""
    answer = httpx.request(
        method, URL + path, json=body, headers={"authorization": f"Bearer {KEY}"}, timeout=30
    )
    answer.raise_for_status()
    return answer.json()


# The suite that its authors run against a live core


def _probed() -> tuple[AtomicMemoryProvider, Scope, VerbatimIngest]:
    provider = AtomicMemoryProvider(AtomicMemoryProviderConfig(api_url=URL, api_key=KEY))
    provider.initialize()
    scope = Scope(user=fresh())
    told = VerbatimIngest(
        scope=scope,
        content=PROBE,
        content_class="summary",
        metadata={"externalId": "sdk-itest-receipt-py"},
    )
    provider.ingest(told)
    return provider, scope, told


@scenario
def live_search_surfaces_retrieval_receipt() -> None:
    provider, scope, _ = _probed()
    page = provider.search(SearchRequest(query=QUERY, scope=scope, limit=5))
    assert page.results
    assert page.retrieval is not None
    assert page.retrieval.embedding_model
    assert page.retrieval.embedding_model_version
    assert isinstance(page.retrieval.candidate_ids, list)
    assert page.retrieval.trace_id


@scenario
def live_search_hits_carry_per_result_receipt_fields() -> None:
    provider, scope, _ = _probed()
    hit = provider.search(SearchRequest(query=QUERY, scope=scope, limit=5)).results[0]
    assert hit.observed_at
    assert hasattr(hit, "version_id")


@scenario
def live_verbatim_ingest_keyed_by_external_id_is_idempotent() -> None:
    provider, scope, told = _probed()

    def count() -> int:
        page = provider.search(SearchRequest(query=QUERY, scope=scope, limit=20))
        return sum(each.memory.content == PROBE for each in page.results)

    before = count()
    provider.ingest(told)
    assert count() == before == 1


# The verbs that every provider has


@scenario
def ingest_text() -> None:
    made = client().ingest(TextIngest(content=NURSE, scope=Scope(user=fresh())))
    assert len(made.created) == 1


@scenario
def ingest_messages() -> None:
    told = [
        {"role": "user", "content": "I moved to Lisbon."},
        {"role": "assistant", "content": "Ok."},
    ]
    scope = Scope(user=fresh())
    made = client().ingest(MessageIngest(messages=told, scope=scope, content_class="redacted"))
    assert len(made.created) == 2


@scenario
def ingest_verbatim_with_metadata() -> None:
    user = fresh()
    told = VerbatimIngest(content=NURSE, scope=Scope(user=user), metadata={"page": 3, "tag": "a"})
    (id,) = client().ingest(told).created
    scope = UserScope(user_id=user)
    whole = handle().get(id, scope)
    assert whole.metadata == {"page": 3, "tag": "a"}, whole.metadata
    (found,) = handle().search(AtomicMemorySearchRequest(query="nurse"), scope).results
    assert found.memory.metadata == {"page": 3, "tag": "a"}, found.memory.metadata
    (listed,) = handle().list(scope).memories
    assert listed.metadata == {"page": 3, "tag": "a"}, listed.metadata


@scenario
def provenance_comes_back() -> None:
    scope = Scope(user=fresh())
    came = Provenance(source="mail.example", source_url="https://mail.example/7")
    told = VerbatimIngest(content=NURSE, scope=scope, provenance=came)
    (id,) = client().ingest(told).created
    (listed,) = client().list({"scope": scope}).memories
    whole = client().get(MemoryRef(id=id, scope=scope))
    for each in (listed.provenance, whole.provenance):
        assert (each.source, each.source_url) == (came.source, came.source_url)


@scenario
def search() -> None:
    scope = Scope(user=fresh())
    client().ingest(TextIngest(content=NURSE, scope=scope))
    page = client().search(SearchRequest(query="nurse", scope=scope, limit=3, threshold=0.0))
    assert page.results[0].memory.content == NURSE
    assert 0 <= page.results[0].score <= 1


@scenario
def package_in_every_format() -> None:
    scope = Scope(user=fresh())
    client().ingest(TextIngest(content=NURSE, scope=scope))
    for form in ("flat", "tiered", "structured"):
        asked = PackageRequest(query="nurse", scope=scope, format=form, token_budget=500)
        package = client().package(asked)
        assert "nurse" in package.text
        assert 0 < package.tokens <= 500
        assert package.budget_constrained is False


@scenario
def get_and_delete() -> None:
    scope = Scope(user=fresh())
    (id,) = client().ingest(TextIngest(content=NURSE, scope=scope)).created
    ref = MemoryRef(id=id, scope=scope)
    assert client().get(ref).content == NURSE
    client().delete(ref)
    assert client().get(ref) is None
    client().delete(ref)


@scenario
def list_page_by_page() -> None:
    scope = Scope(user=fresh())
    for number in range(5):
        told = VerbatimIngest(content=f"Ship {number} is red.", scope=scope)
        client().ingest(told)
    seen, cursor = [], None
    while True:
        page = client().list({"scope": scope, "limit": 2, "cursor": cursor})
        seen += [each.content for each in page.memories]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(set(seen)) == len(seen) == 5


@scenario
def a_thread_is_a_border() -> None:
    user = fresh()
    for thread in ("one", "two"):
        scope = Scope(user=user, thread=thread)
        client().ingest(VerbatimIngest(content=f"tea in thread {thread}", scope=scope))
    scope = Scope(user=user, thread="one")
    page = client().search(SearchRequest(query="tea", scope=scope))
    assert [each.memory.content for each in page.results] == ["tea in thread one"]
    (listed,) = client().list({"scope": scope}).memories
    assert listed.scope.thread == "one"
    assert client().get(MemoryRef(id=listed.id, scope=scope)).scope.thread == "one"


@scenario
def a_namespace_is_a_border() -> None:
    user = fresh()
    for name in ("home", "work"):
        told = VerbatimIngest(
            content=f"tea at {name}", scope=Scope(user=user), metadata={"namespace": name}
        )
        client().ingest(told)
    scope = Scope(user=user, namespace="home")
    page = client().search(SearchRequest(query="tea", scope=scope))
    assert [each.memory.content for each in page.results] == ["tea at home"]


@scenario
def search_as_of() -> None:
    scope = Scope(user=fresh())
    client().ingest(TextIngest(content=NURSE, scope=scope))
    provider = client().get_extension("temporal")
    asked = SearchRequest(query="nurse", scope=scope)
    now = datetime.now(UTC)
    assert provider.search_as_of(asked, now + timedelta(minutes=1)).results
    assert not provider.search_as_of(asked, now - timedelta(days=1)).results


@scenario
def history() -> None:
    scope = Scope(user=fresh())
    (id,) = client().ingest(TextIngest(content=NURSE, scope=scope)).created
    (version,) = client().get_extension("versioning").history(MemoryRef(id=id, scope=scope))
    assert (version.event, version.content) == ("created", NURSE)


@scenario
def health() -> None:
    assert client().get_extension("health").health().ok


@scenario
def capabilities_and_status() -> None:
    assert "verbatim" in client().capabilities().ingest_modes
    (status,) = client().get_provider_status()
    assert status.initialized


@scenario
def tools_for_a_model() -> None:
    tools = memory_tools(client=client(), user=fresh())
    tools["memory_ingest"].execute({"content": NURSE})
    found = tools["memory_search"].execute({"query": "nurse", "limit": 3})
    assert "nurse" in found.model_dump_json()


@scenario
def the_same_verbs_without_blocking() -> None:
    async def run() -> None:
        async with AsyncMemoryClient(providers=PROVIDERS) as memory:
            await memory.initialize()
            scope = Scope(user=fresh())
            (id,) = (await memory.ingest(TextIngest(content=NURSE, scope=scope))).created
            ref = MemoryRef(id=id, scope=scope)
            assert (await memory.search(SearchRequest(query="nurse", scope=scope))).results
            assert (
                "nurse" in (await memory.package(PackageRequest(query="nurse", scope=scope))).text
            )
            assert (await memory.list({"scope": scope})).memories
            assert (await memory.get(ref)).content == NURSE
            own = memory.atomicmemory
            assert (await own.config.health()).status == "ok"
            assert (await own.lifecycle.cap(scope.user)).status == "ok"
            assert (await own.audit.trail(id, scope.user)).version_count == 1
            tools = async_memory_tools(client=memory, user=scope.user)
            assert (await tools["memory_search"].execute({"query": "nurse", "limit": 3})).results
            await memory.delete(ref)
            assert await memory.get(ref) is None

    asyncio.run(run())


# Its own routes, for a user and in a workspace


def _routes(scope: UserScope | WorkspaceScope) -> None:
    own = handle()
    text = AtomicMemoryIngestInput(conversation=f"user: {NURSE}", source_site="chat.example")
    full = own.ingest_full(text, scope)
    assert (full.memories_stored, len(full.stored_memory_ids)) == (1, 1)
    quick = own.ingest_quick(text.model_copy(update={"conversation": "I live in Porto."}), scope)
    assert quick.memories_stored == 1
    kept = text.model_copy(update={"conversation": "The train leaves at nine."})
    (verbatim,) = own.ingest_quick(kept, scope, skip_extraction=True).stored_memory_ids
    asked = AtomicMemorySearchRequest(
        query="When does the train leave?",
        limit=5,
        threshold=0.0,
        retrieval_mode="tiered",
        token_budget=500,
        skip_repair=True,
        config_override={"maxSearchResults": 3},
    )
    for search in (own.search, own.search_fast):
        page = search(asked, scope)
        assert "train" in page.results[0].memory.content
        assert page.citations
        assert page.tier_assignments
        assert page.observability is not None
    (whole,) = own.expand([verbatim], scope)
    assert whole.content == "The train leaves at nine."
    assert own.get(verbatim, scope).source_site == "chat.example"
    assert own.list(scope, {"limit": 2}).cursor == "2"
    own.delete(verbatim, scope)
    assert own.get(verbatim, scope) is None
    own.delete(verbatim, scope)


@scenario
def routes_of_a_user() -> None:
    _routes(UserScope(user_id=fresh()))


@scenario
def routes_in_a_workspace() -> None:
    _routes(WorkspaceScope(user_id=fresh(), workspace_id="default", agent_id="cook"))


@scenario
def an_empty_workspace_is_none() -> None:
    _routes(WorkspaceScope(user_id=fresh(), workspace_id="", agent_id=""))


@scenario
def agent_scope_and_visibility() -> None:
    user = fresh()
    for agent in ("cook", "guide"):
        scope = WorkspaceScope(user_id=user, workspace_id="default", agent_id=agent)
        told = AtomicMemoryIngestInput(
            conversation=f"tea of the {agent}", source_site="x", visibility="workspace"
        )
        handle().ingest_full(told, scope)
    asked = AtomicMemorySearchRequest(query="tea")

    def seen(agent_scope: str | list[str]) -> set[str]:
        scope = WorkspaceScope(
            user_id=user, workspace_id="default", agent_id="cook", agent_scope=agent_scope
        )
        return {each.memory.content for each in handle().search(asked, scope).results}

    assert seen("self") == {"tea of the cook"}
    assert seen("others") == {"tea of the guide"}
    assert seen("all") == seen(["cook", "guide"]) == {"tea of the cook", "tea of the guide"}


@scenario
def lists_by_source_and_episode() -> None:
    scope = UserScope(user_id=fresh())
    told = AtomicMemoryIngestInput(conversation="tea", source_site="a.example")
    made = handle().ingest_full(told, scope)
    handle().ingest_full(told.model_copy(update={"source_site": "b.example"}), scope)
    assert handle().list(scope, {"source_site": "a.example"}).count == 1
    assert handle().list(scope, {"episode_id": made.episode_id}).count == 1


@scenario
def lifecycle() -> None:
    user = fresh()
    scope = UserScope(user_id=user)
    told = AtomicMemoryIngestInput(conversation=NURSE, source_site="mail.example")
    handle().ingest_quick(told, scope)
    own = handle().lifecycle
    assert own.consolidate(user).clusters_found == 0
    assert own.consolidate(user, execute=True).memories_created == 0
    assert own.decay(user).archived == 0
    assert own.decay(user, dry_run=False).archived == 0
    assert own.cap(user).status == "ok"
    assert own.stats(user).count >= 1
    assert own.reconcile(user).errors == 0
    assert own.reconcile_all().errors == 0
    assert own.reconcile_status(user).pending == 0
    assert own.reset_source(user, "mail.example").deleted_memories == 1


@scenario
def audit() -> None:
    user = fresh()
    native("POST", "/v1/facts", {"user_id": user, "text": "I live in Paris."})
    native("POST", "/v1/facts", {"user_id": user, "text": "I live in Rome."})
    own = handle().audit
    recent = own.recent(user, limit=10)
    assert recent.count >= 1
    assert own.summary(user).total_versions >= 1
    trail = own.trail(recent.mutations[0].memory_id, user)
    assert trail.version_count >= 1


@scenario
def config_health() -> None:
    assert handle().config.health().config.embedding_model


@scenario
def config_update() -> None:
    assert handle().config.update_config({"max_search_results": 5}).applied


@scenario
def agents_trust() -> None:
    user, agent = fresh(), fresh()
    own = handle().agents
    assert own.get_trust(user, agent).trust_level == 0.5
    assert own.set_trust(user, agent, 0.9, display_name="Cook").trust_level == 0.9
    assert own.get_trust(user, agent).trust_level == 0.9


def _disputed(user: str) -> str:
    for agent, place in (("cook", "Paris"), ("guide", "Rome")):
        fact = {
            "user_id": user,
            "agent_id": agent,
            "text": f"I live in {place}.",
            "origin": "agent",
        }
        native("POST", "/v1/facts", fact)
    (conflict,) = handle().agents.conflicts(user).conflicts
    assert conflict.status == "open"
    return str(conflict.id)


@scenario
def agents_resolve_conflict() -> None:
    user = fresh()
    id = _disputed(user)
    assert handle().agents.resolve_conflict(id, "resolved_new").status == "resolved_new"
    assert handle().agents.conflicts(user).count == 0


@scenario
def agents_auto_resolve_conflicts() -> None:
    user = fresh()
    _disputed(user)
    assert handle().agents.auto_resolve_conflicts(user).resolved == 0


@scenario
def lessons_list() -> None:
    assert handle().lessons.list(fresh()).count == 0


@scenario
def lessons_stats() -> None:
    assert handle().lessons.stats(fresh()).total_active == 0


@scenario
def lessons_report_and_delete() -> None:
    user = fresh()
    made = handle().lessons.report(user, "never again", severity="low")
    handle().lessons.delete(made.lesson_id, user)


# Entities and files


def whole() -> AtomicMemoryClient:
    return AtomicMemoryClient({"api_url": URL, "api_key": KEY, "user_id": fresh()})


@scenario
def entities() -> None:
    user = fresh()
    (id,) = client().ingest(TextIngest(content=NURSE, scope=Scope(user=user))).created
    native("PUT", "/v1/profile/home", {"user_id": user, "value": "Lisbon"})
    own = whole().entities
    profile = own.profile(user)
    assert (profile.entity_id, profile.attributes[0].value) == (user, "Lisbon")
    assert own.get(user).memory_count >= 1
    assert own.list(entity_type="user", page=1, page_size=1).total >= 1
    (home,) = own.attributes(user, attribute="home", limit=5)
    assert home.value == "Lisbon"
    (line,) = own.memory_history(user, id).history
    assert (line.event, line.content) == ("created", NURSE)
    assert own.delete(user).deleted.memories >= 1


@scenario
def entities_merge() -> None:
    one, other = fresh(), fresh()
    for user in (one, other):
        client().ingest(TextIngest(content=NURSE, scope=Scope(user=user)))
    assert whole().entities.merge(one, other).target_entity_id == other


@scenario
def entities_settings() -> None:
    user = fresh()
    client().ingest(TextIngest(content=NURSE, scope=Scope(user=user)))
    assert whole().entities.patch_settings(user, decay_enabled=False).entity_id == user


@scenario
def storage() -> None:
    own = whole().storage
    assert own.capabilities()
    own.put({"mode": "pointer", "uri": "https://a.example/x", "content_type": "text/plain"})


def main() -> None:
    for name, run in SCENARIOS.items():
        try:
            run()
        except Exception as error:  # noqa: BLE001 (whatever it is, it is what is told)
            words = " ".join(f"{type(error).__name__} {error}".split())
            print(f"FAIL {CLIENT}/{name}: {words[:300]}", flush=True)
        else:
            print(f"PASS {CLIENT}/{name}", flush=True)


if __name__ == "__main__":
    main()
