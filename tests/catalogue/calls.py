"""A call for every verb of the catalogue that means something in tests/catalogue/world.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ANN = {"user": "ann"}
_BOB = {"user": "bob"}


def calls(ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Arguments by the name of the verb."""
    return {
        **_memories(ids),
        **_tiers(ids),
        **_facts(ids),
        **_graph(ids),
        **_knowledge(ids),
        **_operator(),
    }


def _memories(ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    return {
        "remember": {
            **_ANN, "messages": [{"content": "I moved to Faro.", "metadata": {"page": 3}}],
            "session": "tuesday", "agent": "cook", "key": "mine", "at": "2026-03-02T08:00:00Z",
            "metadata": {"tag": "x"},
        },
        "recall": {
            **_ANN, "text": "Where do I live?", "limit": 5, "tiers": ["session", "fact"],
            "explain": True, "overrides": {"rrf.k": 30},
        },
        "context": {
            **_ANN, "messages": [{"role": "user", "content": "Where do I live?"}],
            "budget_tokens": 300, "format": "astra", "guaranteed": ["correction"],
        },
        "expand": {**_ANN, "ids": [ids["turn"], ids["entry"]]},
        "batch": {
            **_ANN,
            "items": [
                {"op": "remember", "messages": "I have a dog.", "session": "s"},
                {"op": "forget", "id": ids["turn"]},
                {"op": "update", "id": ids["note"], "text": "Chose SQLite."},
                {"op": "feedback", "id": "nothing", "value": 1},
            ],
        },
        "list": {**_ANN, "tiers": ["session", "note"], "limit": 2, "ended": True},
        "get": {**_ANN, "id": ids["entry"]},
        "update": {**_ANN, "id": ids["fact"], "text": "I play the cello."},
        "forget": {**_ANN, "id": ids["turn"]},
        "restore": {**_ANN, "id": ids["gone"]},
        "history": {**_ANN, "id": ids["gone"]},
        "forgotten": dict(_ANN),
        "feedback": {**_ANN, "id": ids["note"], "value": 1},
        "explain": {**_ANN, "context_id": ids["context"]},
        "status": {**_ANN, "event_id": ids["turn"]},
        "stats": {**_ANN, "session": "monday", "max_context_tokens": 1000},
        "trace": {**_ANN, "id": ids["turn"]},
        "growth": {**_ANN, "days": 4},
        "fading": {**_ANN, "days": 3000, "limit": 3},
        "reset_source": {**_ANN, "source_site": "mail.example"},
        "erase": {**_ANN},
    }  # fmt: skip


def _tiers(ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    return {
        "profile": {**_ANN, "as_of": "2026-03-02T00:00:00Z"},
        "profiles.set": {**_ANN, "field": "location", "value": "Faro"},
        "profiles.clear": {**_ANN, "field": "location"},
        "notes.add": {**_ANN, "content": "Chose SQLite.", "metadata": {"n": 1}},
        "notes.list": {**_ANN, "category": "decision", "faded": True},
        "notes.update": {**_ANN, "id": ids["note"], "content": "Chose SQLite."},
        "notes.day": {**_ANN, "day": "2026-03-01", "tz": "+01:00"},
        "procedures.add": {**_ANN, "title": "Deploy", "steps": ["push"], "tags": ["a", "b"]},
        "procedures.list": {**_ANN, "tag": "ci"},
        "procedures.get": {**_ANN, "id": ids["procedure"]},
        "procedures.update": {**_ANN, "id": ids["procedure"], "steps": ["tag", "ship"]},
        "procedures.used": {**_ANN, "id": ids["procedure"], "worked": False},
        "compact": {**_ANN, "session": "monday", "keep_turns": 1},
        "summaries.get": {**_ANN, "session": "monday"},
        "summaries.session_stats": {**_ANN, "session": "monday"},
    }


def _facts(ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    return {
        "facts.add": {**_ANN, "text": "I have two cats.", "confidence": 0.5},
        "facts.list": {**_ANN, "status": "all", "limit": 2},
        "facts.get": {**_ANN, "id": ids["fact"]},
        "facts.update": {**_ANN, "id": ids["fact"], "text": "I play the cello."},
        "facts.invalidate": {**_ANN, "id": ids["fact"], "reason": "no more"},
        "facts.history": {**_ANN, "id": ids["fact"]},
        "facts.clarifications": {**_ANN},
        "facts.answer": {**_ANN, "id": ids["unclear"], "keep": "both"},
        "facts.contradictions": {**_ANN},
        "facts.conflicts": {**_BOB, "status": "all"},
        "facts.resolve": {**_BOB, "id": ids["dispute"], "keep": "both"},
        "settle": {**_BOB},
    }


def _graph(ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    return {
        "graph.write": {**_ANN, "entities": [{"name": "Bob", "type": "person"}]},
        "graph.traverse": {**_ANN, "start": "Ann", "relation_types": ["works_on"]},
        "graph.entities": {**_ANN, "type": "person"},
        "graph.edges": {**_ANN},
        "graph.overview": {**_ANN, "limit": 3},
        "graph.merges": {**_ANN, "undone": True},
        "graph.merge": {**_ANN, "a": "Ann", "b": "Holdfast"},
        "graph.unmerge": {**_ANN, "merge_id": ids["merge"]},
        "observations.create": {**_ANN, "entities": [{"name": "Dog", "type": "animal"}]},
        "observations.read": {**_ANN, "query": "fish"},
        "observations.add": {
            **_ANN, "observations": [{"entity": "Cat", "contents": ["Sleeps"]}],
        },
        "observations.delete": {**_ANN, "entities": ["Cat"]},
    }  # fmt: skip


def _knowledge(ids: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    return {
        "knowledge.add": {
            **_ANN, "source": b"# Rules\n\nBe kind.", "name": "rules.md", "metadata": {"n": 1},
        },
        "knowledge.documents": {**_ANN, "limit": 5},
        "knowledge.document": {**_ANN, "id": ids["document"]},
        "knowledge.remove": {**_ANN, "id": ids["document"]},
        "knowledge.history": {**_ANN, "id": ids["document"]},
        "knowledge.set": {**_ANN, "key": "deploy/day", "value": "Monday", "origin": "agent"},
        "knowledge.get": {**_ANN, "key": "deploy/day"},
        "knowledge.entries": {**_ANN, "prefix": "deploy"},
        "team.write": {"content": "We ship.", "type": "note", "tags": ["a"], **_ANN},
        "team.list": {"types": ["decision", "note"]},
        "team.search": {"query": "When do we deploy?", "types": ["decision"]},
        "team.get": {"id": ids["entry"]},
        "team.update": {"id": ids["entry"], "title": "Fridays"},
        "team.remove": {"id": ids["entry"]},
        "team.history": {"id": ids["entry"]},
        "shares.grant": {**_ANN, "to": "others", "segments": ["profile"], "expires_in": 60.0},
        "shares.list": {**_ANN},
        "shares.given_to": {},
        "shares.revoke": {**_ANN, "id": ids["share"]},
        "agents.trust": {},
        "agents.set_trust": {"agent": "a/b", "value": 0.25},
    }  # fmt: skip


def _operator() -> dict[str, dict[str, Any]]:
    return {
        "users": {"limit": 3},
        "jobs": {"states": ["ready", "dead"], "limit": 3},
        "replay": {"ids": [1, 2]},
        "rebuild": {},
        "drain": {"timeout": 20.0},
        "doctor": {},
        "settings": {},
        "capabilities": {},
    }
