"""Completing what somebody types into a prompt or the address of a resource.

What is proposed is the asker's own: names of entities, ids of sessions and memories of one user, as
far as the tools that would tell them are allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp import types

from holdfast.errors import InvalidInput, NotFound
from holdfast.service.mcp import prompts, resources
from holdfast.service.mcp.asker import Asker

#: What the protocol allows of in one answer.
_MOST = 100

Reference = types.ResourceTemplateReference | types.PromptReference


def complete(
    memory: Any, who: Asker, reference: Reference, name: str, value: str
) -> types.CompleteResult:
    """What an argument may be that begins with a value, whatever its case."""
    if isinstance(reference, types.PromptReference):
        known = _sentences(memory, who, reference.name, name, value)
    else:
        template = resources.template(who, reference.uri)
        _check(name, template.argument)
        known = _begun(template.known(memory, who), value)
    values = list(dict.fromkeys(known))
    return types.CompleteResult(
        completion=types.Completion(
            values=values[:_MOST], total=len(values), has_more=len(values) > _MOST
        )
    )


def _sentences(memory: Any, who: Asker, prompt: str, name: str, value: str) -> list[str]:
    """A sentence whose last word becomes the name of an entity: prompts take free text."""
    found = [each for each in prompts.offered(who) if each.name == prompt]
    if not found:
        raise NotFound(f"there is no prompt {prompt[:64]}")
    _check(name, *(each.name for each in found[0].arguments or ()))
    start, space, last = value.rpartition(" ")
    if not last or not who.may("read", resources.ENTITY.tool):
        return []
    return [start + space + each for each in _begun(resources.ENTITY.known(memory, who), last)]


def _begun(known: Iterable[str], value: str) -> list[str]:
    return [each for each in known if each.casefold().startswith(value.casefold())]


def _check(name: str, *known: str) -> None:
    if name not in known:
        raise InvalidInput(f"{name[:64]} is not an argument here; known: {', '.join(known)}")
