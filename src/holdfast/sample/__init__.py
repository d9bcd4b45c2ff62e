"""A small invented conversation to try Holdfast on, with questions about it.

The conversation has three sessions between one user, Mara, and an assistant, from
March to June 2026: a kitchen renovation, a side project, and the rest of her life.
Everyone and everything in it is made up. Each turn carries an id such as ``"s1-07"``
in ``metadata["turn"]``, and each question names the turns that answer it.
"""

import json
from importlib.resources import files
from typing import Any

__all__ = ["questions", "turns"]


def turns() -> list[dict[str, Any]]:
    """Return the turns of the conversation, oldest first.

    Each has ``session``, ``role``, ``name``, ``content``, ``at`` (ISO 8601, UTC) and
    ``metadata``. The list is read anew on each call, so it is the caller's to change.
    """
    return _read("conversation.jsonl")


def questions() -> list[dict[str, Any]]:
    """Return the questions about the conversation.

    Each has ``question``, ``evidence`` (the ids of the turns that answer it) and
    ``kind``: fact, time, change, instruction, literal or multi.
    """
    return _read("questions.jsonl")


def _read(name: str) -> list[dict[str, Any]]:
    with files(__name__).joinpath(name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
