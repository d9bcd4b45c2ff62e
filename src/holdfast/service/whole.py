"""Forgetting a fact in all its versions.

`forget` hides one version, and then the one before it holds again: right for who takes a change
back, wrong for who wants the fact gone.
"""

from __future__ import annotations

from typing import Any


def forget_fact(
    memory: Any, id: str, *, user: str | None, workspace: str, agent: str | None
) -> None:
    """Forget the fact that an id names, whichever of its versions that is; restorable. NotFound
    when there is none."""
    lines = memory.facts.history(id, user=user, workspace=workspace, agent=agent)
    # Those learned first first: so no version comes back for want of the one after it.
    for each in dict.fromkeys(line.record or id for line in lines):
        memory.forget(each, user=user, workspace=workspace)
