"""A call as a request: what travels, where, and what does not."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from holdfast.catalogue import verbs
from holdfast.catalogue.verb import Verb
from holdfast.catalogue.verbs import ALL
from holdfast.client.caller import arguments, to_request
from holdfast.client.transport import HttpRequest
from holdfast.errors import ConfigError, HoldfastError, InvalidInput, TooLarge


def made(verb: Verb[..., Any], *args: Any, **kwargs: Any) -> HttpRequest:
    return to_request(verb, arguments(verb, args, kwargs))


def body(request: HttpRequest) -> Any:
    return json.loads(request.body)


def query(request: HttpRequest) -> dict[str, list[str]]:
    return parse_qs(urlsplit(request.target).query, keep_blank_values=True)


def test_what_is_left_at_its_default_is_not_sent() -> None:
    request = made(
        verbs.RECALL, "Where?", user="ann", workspace="default", limit=None, explain=False
    )
    assert (request.method, request.target) == ("POST", "/v1/recall")
    assert body(request) == {"query": "Where?", "user_id": "ann"}
    assert query(made(verbs.LIST_FACTS, user="ann", workspace="default", limit=100)) == {
        "user_id": ["ann"]
    }


def test_what_differs_from_its_default_is_sent() -> None:
    request = made(
        verbs.RECALL, "Where?", user="ann", workspace="lab", agent="a", session="s",
        tiers=("fact", "note"), explain=True, overrides={"rrf.k": 5},
    )  # fmt: skip
    assert body(request) == {
        "query": "Where?", "user_id": "ann", "workspace_id": "lab", "agent_id": "a",
        "session_id": "s", "tiers": ["fact", "note"], "explain": True,
        "config_override": {"rrf.k": 5},
    }  # fmt: skip


def test_settings_of_one_call_are_checked_here_and_sent_flat() -> None:
    request = made(verbs.RECALL, "x", overrides={"rrf": {"k": 5}, "fusion": "rrf"})
    assert body(request)["config_override"] == {"rrf.k": 5, "fusion": "rrf"}
    with pytest.raises(ConfigError, match="fusoin"):
        made(verbs.RECALL, "x", overrides={"fusoin": "rrf"})
    with pytest.raises(InvalidInput, match="cannot be sent to a service"):
        made(verbs.RECALL, "x", overrides={"rrf.vectorWeight": 0.5})


def test_a_default_of_another_type_is_no_default() -> None:
    assert body(made(verbs.RECALL, "x", explain=0)) == {"query": "x", "explain": 0}


def test_times_travel_with_their_zone() -> None:
    at = datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=1)))
    assert body(made(verbs.RECALL, "x", as_of=at))["as_of"] == "2026-03-01T10:00:00+01:00"
    assert query(made(verbs.LIST_FACTS, as_of=at))["as_of"] == ["2026-03-01T10:00:00+01:00"]
    assert made(verbs.DAY, date(2026, 3, 1)).target == "/v1/notes/days/2026-03-01"
    message = {"content": "x", "at": datetime(2026, 3, 1, tzinfo=UTC)}
    assert body(made(verbs.REMEMBER, [message]))["messages"][0]["at"].startswith("2026-03-01T")
    share = made(verbs.GRANT, to="lab", segments={"notes", "facts"}, expires_in=timedelta(1))
    assert body(share) == {"to": "lab", "segments": ["facts", "notes"], "expires_in": 86400.0}


def test_mappings_and_lone_surrogates_arrive_as_they_are() -> None:
    request = made(verbs.REMEMBER, "a\ud800b", metadata=MappingProxyType({"k": (1, 2)}))
    assert body(request) == {"messages": "a\ud800b", "metadata": {"k": [1, 2]}}
    assert "ü".encode() in made(verbs.REMEMBER, "ü").body


def test_names_in_a_path_are_quoted() -> None:
    request = made(verbs.GET_ENTRY, "a/b?c=d&e#f ü%", user="me&you=?")
    assert request.target == "/v1/entries/a%2Fb%3Fc%3Dd%26e%23f%20%C3%BC%25?user_id=me%26you%3D%3F"


@pytest.mark.parametrize(
    ("verb", "given", "field"),
    [
        (verbs.GET_FACT, {"id": ""}, "id"),
        (verbs.GET_FACT, {"id": None}, "id"),
        (verbs.GET_FACT, {"id": 7}, "id"),
        (verbs.GET_FACT, {"id": "a\0b"}, "id"),
        (verbs.GET_FACT, {"id": "x", "user": "a\ud800"}, "user"),
        (verbs.LIST_FACTS, {"limit": "many"}, "limit"),
        (verbs.LIST_FACTS, {"limit": None}, "limit"),
        (verbs.LIST_FACTS, {"as_of": object()}, "as_of"),
        (verbs.REMEMBER, {"messages": "x", "metadata": {"n": float("nan")}}, "metadata"),
        (verbs.REMEMBER, {"messages": [{"content": b"x"}]}, "messages"),
        (verbs.REMEMBER, {"messages": "x", "key": ""}, "key"),
        (verbs.REMEMBER, {"messages": "x", "key": "a\r\nb: c"}, "key"),
    ],
)
def test_what_cannot_travel_is_named(
    verb: Verb[..., Any], given: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as told:
        made(verb, **given)
    assert told.value.field == field
    assert field in str(told.value)


def test_what_is_nested_without_end_cannot_travel() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="metadata"):
        made(verbs.REMEMBER, "x", metadata={"deep": deep})
    with pytest.raises(TooLarge):
        made(verbs.REMEMBER, "x", key="k" * 10_000)


def test_every_write_carries_a_key_of_its_own_and_no_read_does() -> None:
    for verb in ALL:
        given = {each.name: _some(each.kind.names) for each in verb.parameters if each.required}
        first, second = to_request(verb, given), to_request(verb, given)
        keys = [dict(each.headers).get("Idempotency-Key") for each in (first, second)]
        if verb.role == "read" or verb.method == "GET":
            assert keys == [None, None], verb.name
        else:
            assert None not in keys, verb.name
            assert keys[0] != keys[1], verb.name


def _some(names: frozenset[str]) -> Any:
    if "string" in names or not names:
        return "x"
    return {"integer": 1, "number": 1.0, "array": [], "object": {}, "boolean": True}[min(names)]


def test_an_entry_has_a_key_that_is_not_the_calls() -> None:
    request = made(verbs.SET_ENTRY, "host", "pg-1", user="ann")
    assert dict(request.headers)["Idempotency-Key"] != b"host"


def test_progress_is_told_before_anything_is_sent() -> None:
    told: list[tuple[int, int]] = []
    made(verbs.REMEMBER, ["a", "b"], progress=lambda done, total: told.append((done, total)))

    def fail(done: int, total: int) -> None:
        raise HoldfastError("stop")

    with pytest.raises(HoldfastError, match="stop"):
        made(verbs.REMEMBER, "a", progress=fail)
    assert told == [(2, 2)]
