"""AtomicMemory's routes on our data: what a program that was written for it relies on."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

import holdfast
from holdfast.border.validate import RESERVED_METADATA
from holdfast.memory.memory import Memory
from holdfast.recall.context.safe import parse
from holdfast.testing import HashEmbedder
from holdfast.types import Scope
from tests.service.calling import NOON, Clock, client_of, given, refused

BASE = "/v1/memories"
ANN = Scope("default", "ann")


def tell(client: TestClient, text: str, path: str = "/ingest", **fields: Any) -> dict[str, Any]:
    body = {"user_id": "ann", "conversation": text, "source_site": "test", **fields}
    return given(client.post(BASE + path, json=body))


def ask(client: TestClient, query: str, path: str = "/search", **fields: Any) -> dict[str, Any]:
    return given(client.post(BASE + path, json={"user_id": "ann", "query": query, **fields}))


def contents(answer: dict[str, Any]) -> list[str]:
    return [each["content"] for each in answer["memories"]]


# Ingest

COUNTS = {
    "facts_extracted", "memories_stored", "memories_updated", "memories_deleted",
    "memories_skipped", "links_created", "composites_created",
}  # fmt: skip


@pytest.mark.parametrize("path", ["/ingest", "/ingest/quick"])
def test_both_ways_in_store_durably_and_count(client: TestClient, path: str) -> None:
    made = tell(client, "I moved to Lisbon.", path)
    assert all(isinstance(made[name], int) for name in COUNTS)
    assert made["stored_memory_ids"] == [made["episode_id"]]
    assert made["updated_memory_ids"] == []
    assert contents(ask(client, "Lisbon")) == ["I moved to Lisbon."]


@pytest.mark.parametrize("skip", [True, False])
def test_skip_extraction_draws_nothing_from_it(
    memory: Memory, client: TestClient, *, skip: bool
) -> None:
    tell(client, "I work as a nurse at Mercy Hospital.", "/ingest/quick", skip_extraction=skip)
    memory.drain()
    facts = memory.facts.list(user="ann")
    assert bool(facts) is not skip
    assert contents(ask(client, "nurse"))[:1] == ["I work as a nurse at Mercy Hospital."]


NURSE = "I work as a nurse at Mercy Hospital."


def test_quick_answers_with_what_was_found(client: TestClient) -> None:
    """There is no worker: who asks reads."""
    assert tell(client, NURSE)["facts_extracted"] == 0
    made = tell(client, "I live in Lisbon.", "/ingest/quick")
    assert (made["facts_extracted"], made["updated_memory_ids"]) == (1, [])
    moved = tell(client, "I moved to Porto.", "/ingest/quick")
    assert (moved["facts_extracted"], len(moved["updated_memory_ids"])) == (1, 1)


@pytest.mark.parametrize("word", ["agent_only", "restricted"])
@pytest.mark.parametrize("path", ["/ingest", "/ingest/quick"])
def test_what_an_agent_keeps_to_itself_is_found_by_it_alone(
    memory: Memory, client: TestClient, path: str, word: str
) -> None:
    (id,) = tell(client, NURSE, path, agent_id="a", visibility=word, external_id="n")["event_ids"]
    memory.drain()
    named, which = BASE + "/by-external-id", {"user_id": "ann", "external_id": "n"}
    for who in ({}, {"agent_id": "b"}):
        assert ask(client, "nurse", **who)["memories"] == []
        assert ask(client, "nurse", "/search/fast", **who)["injection_text"] == ""
        assert given(client.get(BASE + "/list", params={"user_id": "ann", **who}))["count"] == 0
        body = {"user_id": "ann", "memory_ids": [id], **who}
        assert given(client.post(BASE + "/expand", json=body))["count"] == 0
        refused(client.get(named, params={**which, **who}), 404)
        for last in ("", "/audit", "/history"):
            refused(client.get(f"{BASE}/{id}{last}", params={"user_id": "ann", **who}), 404)
    own = ask(client, "nurse", agent_id="a")["memories"]
    assert [each["content"] for each in own] == [NURSE]
    (row,) = given(client.get(named, params={**which, "agent_id": "a"}))["memories"]
    assert (row["id"], row["visibility"]) == (id, "agent_only")
    assert given(client.get(f"{BASE}/{id}/audit?user_id=ann&agent_id=a"))["version_count"] == 1


def test_the_seeds_workspace_is_everybody_who_reads_the_user(client: TestClient) -> None:
    tell(client, NURSE, agent_id="a", visibility="workspace")
    assert contents(ask(client, "nurse")) == [NURSE]


def test_settings_of_an_ingest_are_applied(memory: Memory, client: TestClient) -> None:
    tell(client, NURSE, config_override={"extraction.enabled": False})
    memory.drain()
    assert memory.facts.list(user="ann") == []
    (turn,) = memory.store.events(ANN)
    tell(client, "tea", config_override={"extraction.provider": "rules", "rrf.k": 3})
    (tea,) = memory.store.events(ANN, after=turn.arrival)
    assert [each.data["provider"] for each in (turn, tea)] == ["none", "rules"]
    assert tea.metadata == turn.metadata
    wanted = {"extraction.provider": "llm"}
    body = {"user_id": "ann", "conversation": "x", "config_override": wanted}
    assert "asks no language model" in refused(client.post(BASE + "/ingest", json=body), 400)


SENT: list[dict[str, Any]] = [{"page": 3}, {}, {"externalId": "e1"}, {"source_site": "mine"}]


@pytest.mark.parametrize("sent", SENT, ids=str)
@pytest.mark.parametrize("path", ["/ingest", "/ingest/quick"])
def test_metadata_comes_back_as_it_was_sent(
    memory: Memory, client: TestClient, path: str, sent: dict[str, Any]
) -> None:
    made = tell(client, "I live in Rome.", path, metadata=sent, source_url="https://a.example/x")
    (id,) = made["stored_memory_ids"]
    body = {"user_id": "ann", "memory_ids": [id]}
    rows = [
        *ask(client, "Rome")["memories"],
        *ask(client, "Rome", "/search/fast")["memories"],
        *given(client.get(BASE + "/list", params={"user_id": "ann"}))["memories"],
        *given(client.post(BASE + "/expand", json=body))["memories"],
        given(client.get(f"{BASE}/{id}", params={"user_id": "ann"})),
    ]
    turns = [row for row in rows if row["id"] == id]
    assert len(turns) == 5
    site = sent.get("source_site", "test")
    for row in turns:
        assert row["metadata"] == sent
        assert (row["source_site"], row["source_url"]) == (site, "https://a.example/x")
    # Natively, and for what the whole store does with it, they are labels like any other.
    labels = {"source_site": site, "source_url": "https://a.example/x"}
    assert memory.get(id, user="ann").metadata == {**labels, **sent}
    assert memory.reset_source(site, user="ann") == 1


def test_the_field_of_an_external_id_is_no_metadata(client: TestClient) -> None:
    tell(client, "tea", external_id="e7", metadata={"page": 3})
    (row,) = ask(client, "tea")["memories"]
    assert row["metadata"] == {"page": 3}
    asked = {"user_id": "ann", "external_id": "e7"}
    found = given(client.get(BASE + "/by-external-id", params=asked))["memories"]
    assert [each["metadata"] for each in found] == [{"page": 3}]


@pytest.mark.parametrize("name", sorted(RESERVED_METADATA))
def test_a_reserved_key_is_refused_by_its_name(
    memory: Memory, client: TestClient, name: str
) -> None:
    spoofed: dict[str, Any] = {name: "instruction"}
    whole = {"user_id": "ann", "conversation": "x", "metadata": spoofed}
    single = {"user_id": "ann", "messages": [{"content": "x", "metadata": spoofed}]}
    for path, body in (
        (BASE + "/ingest", whole),
        (BASE + "/ingest", single),
        (BASE + "/ingest/quick", {**whole, "skip_extraction": True}),
        ("/v1/facts", {"user_id": "ann", "text": "Ann likes tea.", "metadata": spoofed}),
        ("/v1/memories", {"user_id": "ann", "messages": "x", "metadata": spoofed}),
    ):
        words = refused(client.post(path, json=body), 400)
        assert f'"{name}"' in words, (path, words)
    assert memory.store.stats()["events"] == 0


def test_who_waits_is_told_what_was_drawn_from_it(tmp_path: Path) -> None:
    config = {"extraction.quietSeconds": 0}
    with (
        holdfast.open(tmp_path / "m.db", embedder=HashEmbedder(), config=config) as memory,
        client_of(memory) as client,
    ):
        assert tell(client, "I live in Lisbon.")["facts_extracted"] == 0
        made = tell(client, "I work as a nurse.", wait=True)
        assert (made["state"], made["facts_extracted"], made["memories_updated"]) == ("done", 1, 0)
        moved = tell(client, "I moved to Rome.", wait=True)
        (home,) = (each for each in memory.facts.list(user="ann") if "Rome" in each.content)
        assert (moved["memories_updated"], moved["updated_memory_ids"]) == (1, [home.id])
        skipped = tell(client, "I like tea.", wait=True, skip_extraction=True)
        assert skipped["facts_extracted"] == 0


# The caller's own names


@pytest.mark.parametrize("inside", [True, False])
def test_what_has_an_external_id_is_stored_once(client: TestClient, *, inside: bool) -> None:
    named: dict[str, Any] = (
        {"metadata": {"externalId": "mail-7"}} if inside else {"external_id": "mail-7"}
    )
    first = tell(client, "The train leaves at nine.", "/ingest/quick", **named)
    again = tell(client, "The train leaves at nine.", "/ingest/quick", **named)
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert again["stored_memory_ids"] == first["stored_memory_ids"]
    body = {"user_id": "ann", "conversation": "At ten.", "source_site": "test", **named}
    words = refused(client.post(BASE + "/ingest/quick", json=body), 409)
    assert "mail-7" in words
    found = given(
        client.get(BASE + "/by-external-id", params={"user_id": "ann", "external_id": "mail-7"})
    )
    assert contents(found) == ["The train leaves at nine."]
    assert found["memories"][0]["external_id"] == "mail-7"


def test_an_external_id_is_of_one_user_and_free_again_after_forgetting(
    client: TestClient,
) -> None:
    first = tell(client, "tea", external_id="x")
    other = tell(client, "coffee", external_id="x", user_id="bob")
    assert other["duplicate"] is False
    asked = {"user_id": "ann", "external_id": "x"}
    given(client.delete(f"{BASE}/{first['episode_id']}", params={"user_id": "ann"}))
    assert "external_id" in refused(client.get(BASE + "/by-external-id", params=asked), 404)
    assert tell(client, "green tea", external_id="x")["duplicate"] is False
    assert contents(given(client.get(BASE + "/by-external-id", params=asked))) == ["green tea"]


def test_an_idempotency_key_is_no_external_id(client: TestClient) -> None:
    body = {"user_id": "ann", "conversation": "tea", "source_site": "test"}
    headers = {"Idempotency-Key": "external:x"}
    given(client.post(BASE + "/ingest", json=body, headers=headers))
    asked = {"user_id": "ann", "external_id": "x"}
    refused(client.get(BASE + "/by-external-id", params=asked), 404)
    assert tell(client, "coffee", external_id="x")["duplicate"] is False
    # In JSON a control character can be sent.
    item = {"op": "remember", "messages": "milk", "key": "\x01external:y"}
    done = given(client.post(BASE + "/batch", json={"user_id": "ann", "items": [item]}))
    assert (done["failed"], done["results"][0]["field"]) == (1, "key")


def test_a_bad_external_id_is_told(client: TestClient) -> None:
    body = {"user_id": "ann", "conversation": "x"}
    for more, words in (
        ({"external_id": "a", "metadata": {"externalId": "b"}}, "differ"),
        ({"external_id": "x" * 257}, "the limit is 256"),
        ({"external_id": " "}, "external_id is blank"),
        ({"external_id": "a\0"}, "external_id holds a NUL"),
        ({"external_id": 7}, "external_id must be a string"),
    ):
        assert words in refused(client.post(BASE + "/ingest", json={**body, **more}), 400)


# Search

HIT_FIELDS = {
    "id", "content", "similarity", "score", "semantic_similarity", "ranking_score", "relevance",
    "importance", "source_site", "created_at", "metadata", "version_id", "observed_at",
    "session_id",
}  # fmt: skip
RECEIPT = {
    "embedding_provider", "embedding_model", "embedding_model_version", "embedding_dimensions",
    "query_text", "candidate_ids", "trace_id",
}  # fmt: skip


@pytest.mark.parametrize("path", ["/search", "/search/fast"])
def test_a_search_tells_everything_that_clients_read(
    memory: Memory, client: TestClient, path: str
) -> None:
    tell(client, "I moved to Lisbon.", session_id="s1")
    memory.drain()
    found = ask(client, "Where is Lisbon?", path)
    assert found["count"] == 1
    hit = found["memories"][0]
    assert set(hit) >= HIT_FIELDS
    assert hit["version_id"] == hit["id"]
    assert hit["session_id"] == "s1"
    assert 0 <= hit["relevance"] == hit["score"] == hit["ranking_score"] <= 1
    assert -1 <= hit["similarity"] == hit["semantic_similarity"] <= 1
    assert datetime.fromisoformat(hit["observed_at"]) == NOON
    assert found["budget_constrained"] is False
    assert found["deterministic"] is True
    assert found["citations"] == [hit["id"]]
    assert [item.text for item in parse(found["injection_text"])] == ["I moved to Lisbon."]
    receipt = found["retrieval"]
    assert set(receipt) == RECEIPT
    assert receipt["embedding_dimensions"] == 64
    assert receipt["query_text"] == "Where is Lisbon?"
    assert receipt["candidate_ids"] == [hit["id"]]
    assert ask(client, "Where is Lisbon?", path) == found, "the same search, the same trace"
    assert set(found["observability"]) == {"retrieval", "packaging", "assembly"}


def test_tiers_tell_what_is_shortened_and_expand_tells_it_whole(
    memory: Memory, client: TestClient
) -> None:
    long = "The harbour has a crane. " * 60
    for number in range(12):
        tell(client, f"{long} Ship number {number} is red.")
    memory.drain()
    flat = ask(client, "red ship", limit=12, token_budget=600)
    assert "tier_assignments" not in flat
    for mode in ("tiered", "abstract-aware"):
        found = ask(client, "red ship", limit=12, token_budget=600, retrieval_mode=mode)
        assert found["retrieval_mode"] == mode
        tiers = {each["memory_id"]: each["tier"] for each in found["tier_assignments"]}
        assert set(tiers) == set(found["citations"])
        assert set(tiers.values()) <= {"L0", "L1", "L2"}
        assert set(tiers.values()) != {"L2"}
        assert set(found["expand_ids"]) >= {id for id, tier in tiers.items() if tier != "L2"}
        assert found["estimated_context_tokens"] <= 600
        ids = found["expand_ids"]
        whole = given(
            client.post(BASE + "/expand", json={"user_id": "ann", "memory_ids": [*ids, "f" * 32]})
        )
        assert [each["id"] for each in whole["memories"]] == ids
        assert all(each["content"].startswith(long) for each in whole["memories"])


def test_a_threshold_leaves_out_what_scores_less(memory: Memory, client: TestClient) -> None:
    tell(client, "My sister keeps bees.")
    memory.drain()
    score = ask(client, "bees", threshold=0)["memories"][0]["score"]
    assert ask(client, "bees", threshold=score)["count"] == 1
    assert ask(client, "bees", threshold=min(1.0, score + 1e-6))["count"] == (score == 1.0)


def test_an_explicit_zero_is_not_an_absent_threshold(tmp_path: Path, clock: Clock) -> None:
    config = {"relevanceFloor": 0.99}
    with holdfast.open(
        tmp_path / "m.db", embedder=HashEmbedder(), worker=False, config=config, clock=clock
    ) as memory:
        client = client_of(memory)
        tell(client, "My sister keeps bees in a box.")
        tell(client, "Bees frighten my little brother.")
        memory.drain()
        question = "Where does my sister keep her bees?"
        assert ask(client, question)["count"] == 1
        assert ask(client, question, threshold=0)["count"] == 2


def test_agent_scope_says_whose_memories(memory: Memory, client: TestClient) -> None:
    for agent in ("cook", "guide", "clerk"):
        tell(client, f"tea of the {agent}", agent_id=agent)
    tell(client, "tea of nobody")

    def said(**fields: Any) -> set[str]:
        return {text.removeprefix("tea of ") for text in contents(ask(client, "tea", **fields))}

    everybody = {"the cook", "the guide", "the clerk", "nobody"}
    assert said() == everybody
    assert said(agent_id="cook") == {"the cook", "nobody"}
    assert said(agent_id="cook", agent_scope="all") == everybody
    assert said(agent_id="cook", agent_scope="self") == {"the cook"}
    assert said(agent_id="cook", agent_scope="others") == {"the guide", "the clerk"}
    assert said(agent_id="cook", agent_scope="guide") == {"the guide"}
    assert said(agent_id="cook", agent_scope=["guide", "cook"]) == {"the guide", "the cook"}
    body = {"user_id": "ann", "query": "tea", "agent_scope": "others"}
    assert "needs agent_id" in refused(client.post(BASE + "/search", json=body), 400)
    body["agent_scope"] = [7]  # type: ignore[assignment]
    assert "agent_scope" in refused(client.post(BASE + "/search", json=body), 400)


def test_a_session_and_a_namespace_are_borders(client: TestClient) -> None:
    tell(client, "tea in the kitchen", session_id="s1", metadata={"namespace": "home/kitchen"})
    tell(client, "tea at work", session_id="s2", metadata={"namespace": "work"})
    assert contents(ask(client, "tea", session_id="s1")) == ["tea in the kitchen"]
    assert contents(ask(client, "tea", namespace_scope="home")) == ["tea in the kitchen"]
    assert contents(ask(client, "tea", namespace_scope="work")) == ["tea at work"]
    assert ask(client, "tea", namespace_scope="wor")["count"] == 0


def test_as_of_sees_the_past_and_touches_nothing(
    memory: Memory, client: TestClient, clock: Clock
) -> None:
    fact = memory.facts.add("I live in Paris.", user="ann")
    clock.now = NOON + timedelta(days=10)
    memory.facts.update(fact.id, "I live in Rome.", user="ann")
    memory.drain()
    before = memory.store.get(holdfast.types.Scope("default", "ann"), [fact.id])
    then = ask(client, "Where do I live?", as_of=(NOON + timedelta(days=1)).isoformat())
    assert contents(then) == ["I live in Paris."]
    assert contents(ask(client, "Where do I live?")) == ["I live in Rome."]
    assert memory.store.get(holdfast.types.Scope("default", "ann"), [fact.id]) == before


# config_override


def test_an_override_does_not_leak_and_off_is_bit_identical(
    memory: Memory, client: TestClient
) -> None:
    tell(client, "Always answer in French about tea.")
    tell(client, "I bought tea.")
    memory.drain()
    body = {"user_id": "ann", "query": "tea"}

    def raw(override: Any = None) -> bytes:
        asked = body if override is None else {**body, "config_override": override}
        return client.post(BASE + "/search", json=asked).content

    plain = raw()
    assert raw({}) == plain
    assert raw({"instructionBoostEnabled": False}) == plain
    assert raw({"aSettingOfTomorrow": 1}) == plain
    assert raw({"instructionBoostEnabled": True, "instructionBoostWeight": 0.9}) != plain
    assert raw() == plain


def test_a_session_header_dates_the_turns_and_is_none(client: TestClient) -> None:
    text = "[Session date: 2024-03-15]\nuser: I moved to Leeds.\nassistant: How is it?"
    assert tell(client, text)["memories_stored"] == 2
    rows = given(client.get(BASE + "/list", params={"user_id": "ann"}))["memories"]
    assert {row["created_at"] for row in rows} == {"2024-03-15T00:00:00Z"}
    assert not any("Session date" in row["content"] for row in rows)


# Standing rules, as the seed tags and boosts them

SPELLING = "Going forward, use British spelling."
BOOSTED = {"instructionBoostEnabled": True, "instructionBoostWeight": 0.15}


@pytest.mark.parametrize(
    "query",
    [
        "what should I always do?",
        "What must you never do?",
        "what should I keep in mind from now on?",
        "Which rules apply?",
        "what are you supposed to always remember?",
    ],
)
@pytest.mark.parametrize("override", [{}, BOOSTED])
def test_who_asks_what_to_do_always_gets_the_rule(
    memory: Memory, client: TestClient, query: str, override: dict[str, Any]
) -> None:
    tell(client, SPELLING)
    tell(client, "The ferry to Ardrossan leaves at noon.")
    memory.drain()
    first = ask(client, query, config_override=override)["memories"][0]
    assert first["content"] == SPELLING
    assert (first["metadata"]["fact_role"], first["importance"]) == ("instruction", 0.95)


def test_what_the_ingest_names_has_the_tag_and_the_importance(client: TestClient) -> None:
    (rule,) = tell(client, SPELLING, metadata={"topic": "style"})["stored_memory_ids"]
    (other,) = tell(client, "The ferry leaves at noon.")["stored_memory_ids"]
    wanted = {"user_id": "ann", "memory_ids": [rule, other]}
    rows = given(client.post(BASE + "/expand", json=wanted))["memories"]
    listed = given(client.get(BASE + "/list", params={"user_id": "ann"}))["memories"]
    rows += [given(client.get(f"{BASE}/{id}?user_id=ann")) for id in (rule, other)] + listed
    found = [(row["metadata"], row["importance"]) for row in rows if row["id"] == rule]
    assert found == [({"topic": "style", "fact_role": "instruction"}, 0.95)] * 3
    plain = [(row["metadata"], row["importance"]) for row in rows if row["id"] == other]
    assert plain == [({}, 0.5)] * 3


def test_every_boosted_hit_is_tagged_and_rules_do_not_tie(
    memory: Memory, client: TestClient
) -> None:
    rules = [
        "Always cite a source for every claim about tea.",
        "From now on, keep answers about tea short.",
        "Whenever you mention tea, name the plant.",
    ]
    for text in (*rules, "I drink tea with milk.", "My tea shop is in Leith."):
        tell(client, text)
    memory.drain()
    for weight in (0.15, 3.0):
        override = {"instructionBoostEnabled": True, "instructionBoostWeight": weight}
        found = ask(client, "What about tea?", config_override=override)
        tagged = [row for row in found["memories"] if "fact_role" in row["metadata"]]
        assert {row["content"] for row in tagged} == set(rules)
        scores = [row["score"] for row in tagged]
        assert len(set(scores)) == len(scores)
        assert all(0 <= score <= 1 for score in scores)
    # A weight above every score puts all of them first.
    assert [row["content"] in rules for row in found["memories"][:3]] == [True] * 3


def test_a_rule_that_was_withdrawn_is_not_raised(memory: Memory, client: TestClient) -> None:
    tell(client, "From now on, answer in French.")
    tell(client, "From now on, answer in English.")
    memory.drain()
    found = ask(client, "answer", config_override={**BOOSTED, "instructionBoostWeight": 5})
    assert "English" in found["memories"][0]["content"]
    found_here = memory.recall("answer", user="ann", overrides=BOOSTED)
    assert [("boost" in hit.why, "French" in hit.content) for hit in found_here] == [
        (True, False), (False, True),
    ]  # fmt: skip


def test_the_hash_does_not_depend_on_the_order_of_names(client: TestClient) -> None:
    hashes = set()
    for text in ('{"rrf.k": 30, "searchTopK": 7}', '{"searchTopK": 7, "rrf.k": 30}'):
        answer = client.post(
            BASE + "/search",
            content=f'{{"user_id": "ann", "query": "tea", "config_override": {text}}}',
            headers={"content-type": "application/json"},
        )
        for prefix in ("X-Holdfast-", "X-Atomicmem-"):
            hashes.add(answer.headers[prefix + "Effective-Config-Hash"])
    assert len(hashes) == 1
    assert hashes.pop().startswith("sha256:")


@pytest.mark.parametrize("path", ["/ingest", "/ingest/quick", "/search", "/search/fast"])
def test_an_unknown_name_is_let_through_and_told(client: TestClient, path: str) -> None:
    body = {"user_id": "ann", "config_override": {"audnCandidateThreshold": 0.7}}
    body |= {"query": "tea"} if "search" in path else {"conversation": "tea"}
    answer = client.post(BASE + path, json=body)
    assert answer.status_code == 200
    for prefix in ("X-Holdfast-", "X-Atomicmem-"):
        assert answer.headers[prefix + "Unknown-Override-Keys"] == "audnCandidateThreshold"
        assert answer.headers[prefix + "Config-Override-Applied"] == "false"


# Listing

ROW_FIELDS = {
    "id", "user_id", "content", "memory_type", "importance", "source_site", "source_url",
    "episode_id", "status", "metadata", "keywords", "namespace", "summary", "trust_score",
    "observed_at", "created_at", "last_accessed_at", "access_count", "expired_at", "deleted_at",
    "network", "workspace_id", "agent_id", "visibility", "session_id",
}  # fmt: skip


def test_a_list_is_read_page_by_page(client: TestClient, clock: Clock) -> None:
    for number in range(7):
        clock.now = NOON + timedelta(minutes=number)
        tell(client, f"tea number {number}", source_site="a" if number % 2 else "b")
    asked: dict[str, Any] = {"user_id": "ann", "limit": 3}
    pages = [
        contents(given(client.get(BASE + "/list", params={**asked, "offset": offset})))
        for offset in (0, 3, 6, 9)
    ]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert [text for page in pages for text in page] == [
        f"tea number {number}" for number in reversed(range(7))
    ]
    only = given(client.get(BASE + "/list", params={"user_id": "ann", "source_site": "a"}))
    assert contents(only) == ["tea number 5", "tea number 3", "tea number 1"]
    row = only["memories"][0]
    assert set(row) >= ROW_FIELDS
    assert (row["memory_type"], row["status"], row["user_id"]) == ("episodic", "active", "ann")
    one = given(
        client.get(BASE + "/list", params={"user_id": "ann", "episode_id": row["episode_id"]})
    )
    assert [each["id"] for each in one["memories"]] == [row["id"]]


def test_one_memory_is_got_and_deleted_by_the_native_routes(client: TestClient) -> None:
    id = tell(client, "tea", session_id="s1")["episode_id"]
    who = {"user_id": "ann"}
    one = given(client.get(f"{BASE}/{id}", params=who))
    assert {"id", "content", "created_at", "metadata"} <= set(one)
    assert (one["id"], one["content"]) == (id, "tea")
    given(client.delete(f"{BASE}/{id}", params=who))
    refused(client.get(f"{BASE}/{id}", params=who), 404)


def test_stats_count_and_say_where_it_came_from(client: TestClient) -> None:
    tell(client, "tea", source_site="a")
    tell(client, "coffee", source_site="a")
    tell(client, "milk", source_site="b")
    found = given(client.get(BASE + "/stats", params={"user_id": "ann"}))
    assert found["count"] == 3
    assert found["source_distribution"] == {"a": 2, "b": 1}
    assert 0 <= found["avg_importance"] <= 1
    nobody = given(client.get(BASE + "/stats", params={"user_id": "bob"}))
    assert (nobody["count"], nobody["avg_importance"]) == (0, 0)


def test_a_source_is_reset_for_its_user_alone(client: TestClient) -> None:
    tell(client, "tea", source_site="a")
    tell(client, "more tea", source_site="b")
    tell(client, "tea of bob", source_site="a", user_id="bob")
    done = given(client.post(BASE + "/reset-source", json={"user_id": "ann", "source_site": "a"}))
    assert (done["success"], done["deleted_memories"]) == (True, 1)
    assert {"deleted_episodes", "deleted_documents"} <= set(done)
    assert contents(ask(client, "tea")) == ["more tea"]
    assert contents(ask(client, "tea", user_id="bob")) == ["tea of bob"]
    body = {"user_id": "ann"}
    words = refused(client.post(BASE + "/reset-source", json=body), 400)
    assert words == "source_site (string) is required"


# Upkeep


def test_decay_looks_before_it_acts_and_puts_aside_what_is_least_worth(
    memory: Memory, client: TestClient, clock: Clock
) -> None:
    fact = memory.facts.add("The printer is on floor two.", user="ann", origin="agent")
    clock.now = NOON + timedelta(days=200)
    kept = memory.facts.add("I am called Ann.", user="ann", category="identity")
    shown = given(client.post(BASE + "/decay", json={"user_id": "ann"}))
    assert [each["id"] for each in shown["candidates_for_archival"]] == [fact.id]
    candidate = shown["candidates_for_archival"][0]
    assert candidate["retention_score"] < shown["retention_threshold"] == 0.2
    assert candidate["days_since_access"] == 200
    assert (shown["memories_evaluated"], shown["archived"]) == (2, 0)
    done = given(client.post(BASE + "/decay", json={"user_id": "ann", "dry_run": False}))
    assert done["archived"] == 1
    assert [each.id for each in memory.facts.list(user="ann")] == [kept.id]
    assert memory.facts.get(fact.id, user="ann").status == "archived", "nothing is deleted"


def test_consolidation_scans_first(memory: Memory, client: TestClient, clock: Clock) -> None:
    said = [
        "The deploy of the billing service failed on Monday night.",
        "The billing service deploy failed on Monday.",
        "The deploy of the billing service failed on Monday.",
    ]
    for text in said:
        memory.notes.add(text, user="ann")
        clock.now += timedelta(minutes=1)
    memory.drain()
    scan = given(client.post(BASE + "/consolidate", json={"user_id": "ann"}))
    assert (scan["memories_scanned"], scan["clusters_found"]) == (3, 1)
    (cluster,) = scan["clusters"]
    assert (cluster["member_count"], scan["memories_in_clusters"]) == (3, 3)
    assert set(cluster["member_contents"]) == set(said)
    assert 0.85 <= cluster["avg_affinity"] <= 1
    assert len(memory.notes.list(user="ann")) == 3, "a scan changes nothing"
    done = given(client.post(BASE + "/consolidate", json={"user_id": "ann", "execute": True}))
    assert (done["clusters_consolidated"], done["memories_archived"]) == (1, 3)
    (made,) = done["consolidated_memory_ids"]
    assert [note.id for note in memory.notes.list(user="ann")] == [made]
    assert done["memories_created"] == 1


def test_upkeep_tells_of_what_the_asker_sees(
    memory: Memory, client: TestClient, clock: Clock
) -> None:
    said = "We decided to fire Bob in June because of the theft."
    for place in ("", " and soon", " and soon, they say"):
        tell(client, said[:-1] + place + ".", agent_id="a", visibility="agent_only")
        memory.drain()
        clock.now += timedelta(minutes=1)
    memory.remember(said, user="ann", agent="a", visibility="agent_only", origin="web")
    memory.drain()
    clock.now += timedelta(days=400)
    asked = [
        given(client.post(f"{BASE}/{job}", json={"user_id": "ann", **who}))
        for who in ({"agent_id": "a"}, {"agent_id": "b"}, {})
        for job in ("decay", "consolidate")
    ]
    decay, scan, *others = asked
    assert said in [each["content"] for each in decay["candidates_for_archival"]]
    assert decay["memories_evaluated"] == scan["memories_scanned"] > 3
    for decay, scan in zip(others[::2], others[1::2], strict=True):
        assert (decay["memories_evaluated"], decay["candidates_for_archival"]) == (0, [])
        assert (scan["memories_scanned"], scan["clusters"]) == (0, [])
        assert scan["memories_in_clusters"] == 0
    done = given(client.post(BASE + "/decay", json={"user_id": "ann", "dry_run": False}))
    assert (done["candidates_for_archival"], done["archived"]) == ([], 0)
    stats = given(client.get(BASE + "/stats", params={"user_id": "ann", "agent_id": "b"}))
    assert (stats["count"], set(stats["tiers"].values())) == (0, {0})


def test_the_cap_is_told(memory: Memory, client: TestClient) -> None:
    memory.facts.add("I am called Ann.", user="ann", category="identity")
    cap = given(client.get(BASE + "/cap", params={"user_id": "ann"}))
    assert (cap["active_memories"], cap["max_memories"]) == (1, 5000)
    assert (cap["status"], cap["recommendation"]) == ("ok", "none")
    assert cap["usage_ratio"] == 1 / 5000


def test_nothing_is_left_to_reconcile(client: TestClient) -> None:
    for body in ({"user_id": "ann"}, {}):
        done = given(client.post(BASE + "/reconcile", json=body))
        assert set(done.values()) == {0}
        assert "duration_ms" in done
    status = given(client.get(BASE + "/reconcile/status", params={"user_id": "ann"}))
    assert (status["enabled"], status["pending"]) == (False, 0)


def test_health_tells_the_settings_and_nobody_sets_them(client: TestClient) -> None:
    health = given(client.get(BASE + "/health"))
    assert health["status"] == "ok"
    assert health["config"]["embedding_model"] == "hash-64"
    assert health["config"]["embedding_provider"] == "transformers"
    words = refused(client.put(BASE + "/config", json={"max_search_results": 5}), 410)
    assert "config_override" in words


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/lessons/report"), ("GET", "/lessons"), ("GET", "/lessons/stats"),
        ("DELETE", "/lessons/x"), ("POST", "/first-mentions/extract"), ("GET", "/event-chains"),
        ("POST", "/verify"), ("POST", "/reflect"),
    ],
)  # fmt: skip
def test_what_is_not_built_says_so(client: TestClient, method: str, path: str) -> None:
    words = refused(client.request(method, BASE + path, params={"user_id": "ann"}), 404)
    assert "here" in words


# What happened


def test_the_trail_of_a_fact_in_all_its_versions(
    memory: Memory, client: TestClient, clock: Clock
) -> None:
    first = memory.facts.add("I live in Paris.", user="ann")
    clock.now = NOON + timedelta(days=1)
    second = memory.facts.update(first.id, "I live in Rome.", user="ann")
    who = {"user_id": "ann"}
    found = given(client.get(f"{BASE}/{second.id}/audit", params=who))
    assert found["memory_id"] == second.id
    assert found["version_count"] == len(found["trail"])
    assert [entry["event"] for entry in found["trail"]] == ["created", "superseded", "created"]
    assert [entry["mutation_type"] for entry in found["trail"]] == ["add", "supersede", "add"]
    for entry in found["trail"]:
        assert {"id", "content", "created_at", "parent_id", "version_id", "claim_id"} <= set(entry)
        assert datetime.fromisoformat(entry["created_at"]).tzinfo is not None
    assert found["trail"][-1]["content"] == "I live in Rome."
    assert found["trail"][-1]["previous_version_id"] == first.id
    assert {entry["claim_id"] for entry in found["trail"]} == {first.id}
    summary = given(client.get(BASE + "/audit/summary", params=who))
    assert (summary["total_versions"], summary["active_versions"]) == (2, 1)
    assert (summary["superseded_versions"], summary["total_claims"]) == (1, 1)
    assert sum(summary["by_mutation_type"].values()) == 2
    recent = given(client.get(BASE + "/audit/recent", params={**who, "limit": 10}))
    assert [each["content"] for each in recent["mutations"]] == [
        "I live in Rome.", "I live in Paris.",
    ]  # fmt: skip
    newer, older = recent["mutations"]
    assert older["superseded_by_version_id"] == newer["id"]
    assert newer["previous_version_id"] == older["id"]


def test_the_trail_of_a_turn(client: TestClient) -> None:
    id = tell(client, "tea")["episode_id"]
    found = given(client.get(f"{BASE}/{id}/audit", params={"user_id": "ann"}))
    assert [entry["event"] for entry in found["trail"]] == ["created"]
    assert found["trail"][0]["content"] == "tea"


# Agents


def test_trust_is_set_and_told(memory: Memory, client: TestClient) -> None:
    agents = "/v1/agents"
    who = {"user_id": "ann", "agent_id": "cook"}
    assert given(client.get(agents + "/trust", params=who))["trust_level"] == 0.5
    made = given(
        client.put(agents + "/trust", json={**who, "trust_level": 0.9, "display_name": "Cook"})
    )
    assert made == {"agent_id": "cook", "trust_level": 0.9}
    assert given(client.get(agents + "/trust", params=who))["trust_level"] == 0.9
    assert given(client.get(agents + "/trust"))["trust"] == {"cook": 0.9}
    refused(client.put(agents + "/trust", json={**who, "trust_level": 1.5}), 400)
    refused(client.put(agents + "/trust", json={**who, "trust_level": "high"}), 400)
    writer = client_of(memory)
    assert "admin" in refused(writer.put(agents + "/trust", json={**who, "trust_level": 1}), 403)


@pytest.mark.parametrize(
    ("resolution", "holds"),
    [
        ("resolved_new", {"I live in Rome."}),
        ("resolved_existing", {"I live in Paris."}),
        ("resolved_both", {"I live in Paris.", "I live in Rome."}),
    ],
)
def test_a_conflict_is_listed_and_settled(
    memory: Memory, client: TestClient, clock: Clock, resolution: str, holds: set[str]
) -> None:
    conflict = _disputed(memory, client, clock)
    assert (conflict["existing_agent_id"], conflict["new_agent_id"]) == ("cook", "guide")
    assert (conflict["status"], conflict["new_trust_level"]) == ("open", 0.5)
    assert datetime.fromisoformat(conflict["auto_resolve_after"]) > clock.now
    path = f"/v1/agents/conflicts/{conflict['id']}/resolve"
    body = {"user_id": "ann", "resolution": resolution}
    assert given(client.put(path, json=body)) == {"id": conflict["id"], "status": resolution}
    # The same again changes nothing; another resolution comes too late.
    assert given(client.put(path, json=body)) == {"id": conflict["id"], "status": resolution}
    other = "resolved_new" if resolution == "resolved_both" else "resolved_both"
    refused(client.put(path, json={**body, "resolution": other}), 400)
    assert {fact.content for fact in memory.facts.list(user="ann")} == holds
    body["user_id"] = "bob"
    refused(client.put(path, json=body), 404)


def test_a_conflict_is_settled_by_its_id_alone(
    memory: Memory, client: TestClient, clock: Clock
) -> None:
    tell(client, "tea", user_id="aaron")
    conflict = _disputed(memory, client, clock)
    path, body = f"/v1/agents/conflicts/{conflict['id']}/resolve", {"resolution": "resolved_new"}
    own = client_of(memory, user="aaron")
    refused(own.put(path, json=body), 404)
    refused(client.put(path.replace(conflict["id"], "f" * 32), json=body), 404)
    assert given(client.put(path, json=body))["status"] == "resolved_new"
    assert [fact.content for fact in memory.facts.list(user="ann")] == ["I live in Rome."]


def test_conflicts_are_decided_by_trust_after_a_day(
    memory: Memory, client: TestClient, clock: Clock
) -> None:
    _disputed(memory, client, clock)
    memory.agents.set_trust("cook", 0.9)
    path = "/v1/agents/conflicts/auto-resolve"
    assert given(client.post(path, json={"user_id": "ann"})) == {"resolved": 0}
    clock.now += timedelta(hours=25)
    assert given(client.post(path, json={"user_id": "ann"})) == {"resolved": 1}
    assert [fact.content for fact in memory.facts.list(user="ann")] == ["I live in Paris."]


def _disputed(memory: Memory, client: TestClient, clock: Clock) -> dict[str, Any]:
    memory.facts.add("I live in Paris.", user="ann", agent="cook", origin="agent")
    clock.now += timedelta(hours=1)
    memory.facts.add("I live in Rome.", user="ann", agent="guide", origin="agent")
    found = given(client.get("/v1/agents/conflicts", params={"user_id": "ann"}))
    assert found["count"] == 1
    return dict(found["conflicts"][0])


# Whose

READS = [
    ("POST", "/v1/memories/search", {"query": "tea"}),
    ("POST", "/v1/memories/search/fast", {"query": "tea"}),
    ("POST", "/v1/memories/expand", {"memory_ids": []}),
    ("GET", "/v1/memories/list", {}),
    ("GET", "/v1/memories/stats", {}),
    ("GET", "/v1/memories/cap", {}),
    ("GET", "/v1/memories/reconcile/status", {}),
    ("GET", "/v1/memories/audit/recent", {}),
    ("GET", "/v1/memories/audit/summary", {}),
    ("GET", "/v1/agents/conflicts", {}),
]
WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/memories/ingest", {"conversation": "tea"}),
    ("POST", "/v1/memories/ingest/quick", {"conversation": "tea"}),
    ("POST", "/v1/memories/consolidate", {}),
    ("POST", "/v1/memories/decay", {}),
    ("POST", "/v1/memories/reset-source", {"source_site": "a"}),
    ("POST", "/v1/agents/conflicts/auto-resolve", {}),
]


def send(client: TestClient, case: tuple[str, str, dict[str, Any]], **who: str) -> Response:
    method, path, fields = case
    if method == "GET":
        return client.get(path, params={**fields, **who})
    return client.request(method, path, json={**fields, **who})


@pytest.mark.parametrize("case", [*READS, *WRITES], ids=lambda case: case[1])
def test_the_user_is_the_keys_own_or_has_to_be_named(
    memory: Memory, client: TestClient, case: tuple[str, str, dict[str, Any]]
) -> None:
    assert refused(send(client, case), 400) == "user_id (string) is required"
    assert send(client, case, user_id="ann").status_code == 200
    own = client_of(memory, user="ann")
    assert send(own, case).status_code == 200
    assert send(own, case, user_id="ann").status_code == 200
    assert "user of this key" in refused(send(own, case, user_id="bob"), 403)
    words = refused(send(own, case, user_id="ann", workspace_id="elsewhere"), 403)
    assert words == "workspace_id is not the workspace of this key"


@pytest.mark.parametrize("case", [*READS, *WRITES], ids=lambda case: case[1])
def test_what_says_nothing_is_as_if_it_were_not_there(
    client: TestClient, case: tuple[str, str, dict[str, Any]]
) -> None:
    said = {"user_id": "ann", "content_class": "summary", "workspace_id": "", "agent_id": ""}
    given(send(client, case, **said))
    if case[0] != "GET":
        method, path, fields = case
        nothing = {"limit": None, "session_id": "", "source_url": None, "workspace_id": None}
        given(client.request(method, path, json={**fields, **said, **nothing}))


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_one_memory_is_asked_for_with_an_agent_and_with_nothing_said(
    client: TestClient, method: str
) -> None:
    """As AtomicMemory's client does in a workspace."""
    for who in ({"agent_id": "cook"}, {"workspace_id": "", "agent_id": ""}):
        id = tell(client, "tea", session_id="s1")["episode_id"]
        path, asked = f"{BASE}/{id}", {"user_id": "ann", "workspace_id": "default", **who}
        answer = given(client.request(method, path, params=asked))
        if method == "GET":
            assert (answer["session_id"], answer["episode_id"]) == ("s1", id)


def test_an_agent_removes_only_what_it_sees(memory: Memory, client: TestClient) -> None:
    told = tell(client, "tea", agent_id="cook", visibility="agent_only")
    path, who = f"{BASE}/{told['episode_id']}", {"user_id": "ann"}
    refused(client.delete(path, params={**who, "agent_id": "guide"}), 404)
    assert given(client.get(path, params={**who, "agent_id": "cook"}))["content"] == "tea"
    assert given(client.delete(path, params={**who, "agent_id": "cook"})) == {"changed": True}
    refused(client.get(path, params={**who, "agent_id": "cook"}), 404)


@pytest.mark.parametrize("case", WRITES, ids=lambda case: case[1])
def test_a_key_that_may_only_read_writes_nothing(
    memory: Memory, case: tuple[str, str, dict[str, Any]]
) -> None:
    reader = client_of(memory, role="read")
    assert refused(send(reader, case, user_id="ann"), 403) == "this key may only read"
    assert memory.store.stats()["events"] == 0


def test_ids_of_others_are_as_ids_that_do_not_exist(memory: Memory, client: TestClient) -> None:
    theirs = tell(client, "tea", user_id="bob", external_id="x")["episode_id"]
    own = client_of(memory, user="ann")
    for id in (theirs, "f" * 32, "no id"):
        assert given(own.post(BASE + "/expand", json={"memory_ids": [id]}))["memories"] == []
        words = refused(own.get(f"{BASE}/{id}/audit"), 404)
        assert words.replace(id, "ID") == "there is no memory 'ID' in this scope"
    refused(own.get(BASE + "/by-external-id", params={"external_id": "x"}), 404)


def test_lone_surrogates_travel_as_marks(client: TestClient) -> None:
    tell(client, "tea")
    for path in ("/search", "/search/fast"):
        answer = client.post(
            BASE + path,
            content=json.dumps({"user_id": "ann", "query": "tea \ud800"}),
            headers={"content-type": "application/json"},
        )
        assert given(answer)["retrieval"]["query_text"].startswith("tea ")


# Entities: the users of a workspace


def test_users_are_listed_counted_and_told(memory: Memory, client: TestClient) -> None:
    id = tell(client, "tea", user_id="bob")["episode_id"]
    memory.facts.add("I work as a nurse.", user="ann")
    memory.facts.add("I like trains.", user="ann", category="preference")
    memory.profiles.set("home", "Lisbon", user="ann")
    tell(client, "Always answer in French.", user_id="ann")
    memory.remember("tea", user="eve", workspace="elsewhere")
    found = given(client.get("/v1/entities"))
    assert [each["entity_id"] for each in found["entities"]] == ["ann", "bob"]
    assert (found["total"], found["page"], found["page_size"]) == (2, 1, 50)
    assert found["entities"][1]["memory_count"] == 1
    second = given(client.get("/v1/entities", params={"page": 2, "page_size": 1}))
    assert [each["entity_id"] for each in second["entities"]] == ["bob"]
    assert given(client.get("/v1/entities", params={"entity_type": "agent"}))["entities"] == []
    profile = given(client.get("/v1/entities/user/ann/profile"))
    assert profile["profile"]["preferences"] == ["I like trains."]
    assert profile["profile"]["instructions"] == ["Always answer in French."]
    assert {"attribute": "home", "value": "Lisbon"}.items() <= profile["attributes"][0].items()
    detail = given(client.get("/v1/entities/user/ann"))
    assert detail["memory_count"] == found["entities"][0]["memory_count"]
    assert any("nurse" in card["card_text"] for card in detail["recent_cards"])
    assert all(card["updated_at"] for card in detail["recent_cards"])
    named = given(client.get("/v1/entities/user/ann/attributes", params={"attribute": "home"}))
    assert [each["value"] for each in named["attributes"]] == ["Lisbon"]
    path = f"/v1/entities/user/bob/memories/{id}/history"
    (line,) = given(client.get(path))["history"]
    assert (line["event"], line["content"], line["superseded_by"]) == ("created", "tea", None)
    refused(client.get(path.replace("bob", "ann")), 404)
    for path in ("user/nobody", "user/eve", "agent/cook", "session/s1"):
        refused(client.get(f"/v1/entities/{path}"), 404)
    refused(client.get("/v1/entities/thing/x"), 400)
    assert "not merged" in refused(client.post("/v1/entities/merge", json={}), 404)


def test_a_user_is_erased_by_the_operator_alone(memory: Memory, client: TestClient) -> None:
    tell(client, "tea", user_id="bob")
    assert "admin" in refused(client_of(memory).delete("/v1/entities/user/bob"), 403)
    assert "admin" in refused(client_of(memory).get("/v1/entities"), 403)
    done = given(client.delete("/v1/entities/user/bob"))
    assert done["deleted"]["memories"] == 1
    assert {"entity_attributes", "profile", "entities", "entity_edges"} <= set(done["deleted"])
    assert memory.store.stats()["events"] == 0
    refused(client.delete("/v1/entities/user/bob"), 404)


def test_a_key_of_one_user_sees_that_user_alone(memory: Memory, client: TestClient) -> None:
    tell(client, "tea", user_id="bob")
    tell(client, "tea", user_id="ann")
    own = client_of(memory, user="ann", role="admin")
    given(own.get("/v1/entities/user/ann/profile"))
    for who in ("bob", "nobody"):
        words = refused(own.get(f"/v1/entities/user/{who}/profile"), 403)
        assert words == "user_id is not the user of this key"
    refused(own.get("/v1/entities"), 403)
