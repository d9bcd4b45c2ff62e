"""Who asks over MCP: whose memory is meant, what they may do, which tools they are offered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.errors import ConfigError, ScopeError
from holdfast.service.keys import ROLES
from holdfast.types import Role

_INSTEAD = "send the header X-Holdfast-User, or use a key of one user (holdfast mcp: --user NAME)"

_OTHERS = "*"


@dataclass(frozen=True, slots=True)
class Asker:
    """Somebody at the other end of a connection."""

    workspace: str
    #: None: the memory itself knows (a service, by its key), or every call names one.
    user: str | None
    agent: str | None = None
    role: Role = "write"
    #: Names of the tools that are allowed; None: all of them.
    tools: frozenset[str] | None = None
    #: Whether a call may, and so must, say whose memory it means.
    names_user: bool = False
    #: Whether turns that they call the user's count as the user's own words.
    relays: bool = False

    @property
    def owner(self) -> tuple[str, str]:
        """Whose changes they hear of."""
        return self.workspace, self.user or ""

    @property
    def place(self) -> dict[str, Any]:
        """The scope words of what is nobody's own."""
        return {"workspace": self.workspace, "agent": self.agent}

    def may(self, role: Role, name: str) -> bool:
        """Whether a tool is theirs to call."""
        is_enough = ROLES.index(self.role) >= ROLES.index(role)
        return is_enough and (self.tools is None or name in self.tools)

    def certain(self, named: object = None) -> None:
        """Refuse where nothing says whose memory is meant, and no argument can: `named` is one
        that was given all the same."""
        if named not in (None, self.user):
            raise ScopeError(f"user_id is not an argument here: {_INSTEAD}", field="user_id")
        if self.user is None and self.names_user:
            raise ScopeError(f"user_id is missing: {_INSTEAD}", field="user_id")

    def scope(self, user: object = None) -> dict[str, Any]:
        """The scope words of a verb; `user` is what a call says of it."""
        chosen = self.user if user is None else str(user)
        if chosen is None and self.names_user:
            raise ScopeError(
                "user_id is missing: say whose memory is meant (the argument user_id, the header"
                " X-Holdfast-User, a key of one user, or holdfast mcp --user NAME)",
                field="user_id",
            )
        return {"user": chosen, **self.place}


def allow_list(named: Iterable[str], known: Collection[str], where: str) -> frozenset[str] | None:
    """The tools of an allow list; None for an empty one, which allows all."""
    wanted = [each.strip() for each in named if each.strip()]
    for each in wanted:
        if each not in known:
            raise ConfigError(f"{where}: there is no tool {each!r:.64}; known: {', '.join(known)}")
    return frozenset(wanted) or None


def allow_lists(text: str, known: Collection[str], where: str) -> dict[str, frozenset[str]]:
    """The tools of agents, out of "coder: recall, context; *: recall": * is every other agent, and
    who names none. An agent without tools is offered none."""
    found: dict[str, frozenset[str]] = {}
    for part in text.split(";"):
        if not part.strip():
            continue
        # The last one: the name of an agent may hold a colon, that of a tool may not.
        agent, colon, names = (each.strip() for each in part.rpartition(":"))
        if not (agent and colon):
            raise ConfigError(f'{where} must be like "coder: recall, context", not {part!r:.64}')
        if agent in found:
            raise ConfigError(f"{where} names the agent {agent!r:.64} twice")
        found[agent] = allow_list(names.split(","), known, where) or frozenset()
    return found


def of_agent(lists: Mapping[str, frozenset[str]], agent: str | None) -> frozenset[str] | None:
    """What these lists allow an agent; None: everything."""
    return lists.get(agent or _OTHERS, lists.get(_OTHERS))


def intersection(a: frozenset[str] | None, b: Collection[str] | None) -> frozenset[str] | None:
    """What two allow lists both allow."""
    if a is None or b is None:
        return a if b is None else frozenset(b)
    return a & frozenset(b)
