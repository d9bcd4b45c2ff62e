"""What can be asked of the service, read from its router, and a question for each route that works.

A verb of the catalogue says by itself who may ask for it. A route that was written by hand stands
in tests/service/by_hand.py with the same words; one that stands nowhere is an error with its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from holdfast.catalogue.verb import BODILESS, Verb
from holdfast.catalogue.verbs import ALL
from tests.service.by_hand import ROUTES, Asked
from tests.service.world import World

#: A value that will do, by the name of a field.
_VALUES: Mapping[str, Any] = {
    "messages": "I moved to Lisbon.",
    "query": "What is fine?",
    "value": "Lisbon",
    "content": "We deploy on Fridays.",
    "text": "I play the flute.",
    "title": "Release",
    "steps": ["tag", "build"],
    "type": "decision",
    "keep": "both",
    "start": "Ann",
    "a": "Ann",
    "b": "quokka",
    "to": "partner",
    "segments": ["documents"],
}
#: ... where the same name means something else.
_OF_VERB: Mapping[str, Mapping[str, Any]] = {
    "expand": {"ids": ["$/v1/memories"]},
    "feedback": {"value": 1},
    "agents.set_trust": {"value": 0.5},
    "graph.write": {"entities": [{"name": "Ann"}]},
    "procedures.update": {"title": "Release 2"},
    "team.update": {"title": "Fridays"},
}
#: They make what they name: a name that another has is free to everybody else.
_CREATES = ("knowledge.set", "profiles.set", "agents.set_trust")
#: What they can be asked about, where it is not what the path says.
_SUBJECTS = {"update": "$/v1/facts"}
_PLACE = re.compile(r"\{(\w+)(?::\w+)?\}")


@dataclass(frozen=True)
class Question:
    """A request, without the key."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def with_field(self, name: str, value: Any, *, in_query: bool = False) -> Question:
        """The same with a field more, where this kind of request has them."""
        if in_query or not isinstance(self.body, dict):
            return replace(self, query={**self.query, name: value})
        return replace(self, body={**self.body, name: value})


@dataclass(frozen=True)
class Route:
    """One method of one path, and who may ask for it."""

    method: str
    path: str
    asked: Asked

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def takes_an_id(self) -> bool:
        """Whether the path names something that is somebody's."""
        return bool(_PLACE.search(self.path))

    def question(self, world: World, *, subject: str | None = None) -> Question:
        """A request that works for who may ask; `subject` stands for the path's own."""
        subject = self.subject(world) if subject is None else subject
        places = self.asked.places
        path = _PLACE.sub(lambda at: quote(places.get(at[1], subject), safe=""), self.path)
        body = _filled(self.asked.body, world)
        question = Question(self.method, path, self.asked.query, body, self.asked.headers)
        return self.by("ann", question)

    def by(self, user: str, question: Question) -> Question:
        """The same question about another user, where it is about one."""
        if self.asked.user_header:
            return replace(question, headers={**question.headers, self.asked.user_header: user})
        return self.scoped("user_id", user, question) if self.asked.user else question

    def scoped(self, name: str, value: str, question: Question) -> Question:
        """The same question with user_id or workspace_id, where this route has them."""
        return question.with_field(name, value, in_query=self.asked.scope_in_query)

    def subject(self, world: World) -> str:
        """What of Ann's the path names."""
        chosen = self.asked.subject or "$" + self.path.partition("/{")[0]
        return world.hers.get(chosen[1:], "") if chosen.startswith("$") else chosen


def _filled(body: Any, world: World) -> Any:
    """A fresh body; a name of world.hers in it, after a $, becomes what it stands for."""
    if isinstance(body, Mapping):
        return {name: _filled(each, world) for name, each in body.items()}
    if isinstance(body, list):
        return [_filled(each, world) for each in body]
    if isinstance(body, str) and body.startswith("$"):
        return world.hers[body[1:]]
    return body


def routes_of(app: Any) -> list[Route]:
    """Every route of the service. KeyError names those about which nothing is known."""
    verbs = {(verb.method, verb.path): verb for verb in ALL}
    found, unknown = [], []
    for method, path in sorted(set(paths_of(app)), key=lambda each: (each[1], each[0])):
        verb = verbs.get((method, path))
        asked = ROUTES.get((method, path))
        if asked is None and verb is not None:
            asked = of_verb(verb)
        if asked is None:
            unknown.append(f"{method} {path}")
        else:
            found.append(Route(method, path, asked))
    if unknown:
        raise KeyError(f"say in tests/service/by_hand.py who may ask for {', '.join(unknown)}")
    return found


def paths_of(app: Any) -> list[tuple[str, str]]:
    """Every (method, path) of the service, in the order in which they are tried."""
    return list(_paths(app.routes))


def of_verb(verb: Verb[..., object]) -> Asked:
    """What the catalogue says of a verb."""
    sent = dict(_OF_VERB.get(verb.name, {}))
    for each in verb.parameters:
        if each.required and each.place in ("body", "query") and each.wire not in sent:
            if each.wire not in {**verb.example, **_VALUES}:
                raise KeyError(f"give {verb.name} an example, or say here what {each.wire} may be")
            sent[each.wire] = verb.example.get(each.wire, _VALUES.get(each.wire))
    names = {each.wire for each in verb.parameters}
    bodiless = verb.method in BODILESS
    sent_as: dict[str, Any]
    if verb.raw:
        sent_as = {"query": {**sent, "name": "a.md"}, "body": b"# Notes\n", "scope_in_query": True}
    else:
        sent_as = {"query": sent if bodiless else {}, "body": None if bodiless else sent}
    return Asked(
        role=verb.role,
        whole=verb.whole,
        user="user_id" in names and not verb.whole,
        workspace="workspace_id" in names,
        subject=_SUBJECTS.get(verb.name, ""),
        creates=verb.name in _CREATES,
        **sent_as,
    )


def _paths(routes: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """(method, path) of everything that a router answers, through routers inside of it."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from _paths(route.effective_candidates(), prefix)
        elif getattr(route, "methods", None):
            for method in set(route.methods) - {"HEAD", "OPTIONS"}:
                yield method, prefix + route.path
        else:  # Another application under a path.
            yield "*", prefix + route.path
