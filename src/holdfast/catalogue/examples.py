"""An example for every verb: for the documentation, and for tests that must ask something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.catalogue.verb import Verb

_ID = "01a1dd45f56900004b16562ffd72059c"
#: A value that will do, by its name on the wire.
VALUES: Mapping[str, Any] = {
    "user_id": "ann",
    "id": _ID,
    "merge_id": _ID,
    "event_id": _ID,
    "context_id": _ID,
    "ids": [_ID],
    "session_id": "monday",
    "agent_id": "planner",
    "key": "deploy-day",
    "field": "location",
    "day": "2026-03-01",
    "keep": "both",
    "value": "Friday",
    "text": "Ann lives in Lisbon.",
    "a": "Ann",
    "b": "Anna",
    "start": "Ann",
    "query": "When do we deploy?",
    "to": "partners",
    "segments": ["documents"],
}
#: ... where the same name means something else.
_OF_VERB: Mapping[str, Mapping[str, Any]] = {
    "agents.set_trust": {"value": 0.8},
    "facts.resolve": {"keep": _ID},
}


def example(verb: Verb[..., object]) -> dict[str, Any]:
    """What can be sent, by the names of the wire: what is required, whose memory, and more."""
    own = {**VALUES, **_OF_VERB.get(verb.name, {}), **verb.example}
    needed = [
        each.wire
        for each in verb.parameters
        if each.place != "raw" and (each.required or (each.name == "user" and _is_personal(verb)))
    ]
    return {name: own[name] for name in [*needed, *verb.example]}


def _is_personal(verb: Verb[..., object]) -> bool:
    """Whether it is somebody's: what a team or an operator asks for names no user."""
    return not verb.whole and verb.part != "team"
