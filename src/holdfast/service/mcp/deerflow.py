"""The four tools of DeerFlow's tool mode, on our facts: memory_search, _add, _update, _delete.

Answers and errors are JSON in DeerFlow's words. What a model adds is the word of an agent.
"""

from __future__ import annotations

from typing import Any

from holdfast.errors import InvalidInput, NotFound
from holdfast.language.statements.values import CATEGORIES
from holdfast.service.dialects.deerflow import forget_fact
from holdfast.service.mcp import tool
from holdfast.service.mcp.asker import Asker
from holdfast.service.mcp.tool import (
    ID,
    PROFILE,
    TEXT,
    TIME,
    Given,
    Tool,
    counted_list,
    whole_record,
)

#: What stands for a category that is not one of ours; the given one is kept beside it.
_OTHER = "other"
_MOST = 100
_ALL_FACTS = 10_000


def search(memory: Any, who: Asker, given: Given) -> Any:
    """Facts that answer a question; else those that hold its words, the surest first."""
    scope, limit = who.scope(given.get("user_id")), given.get("limit", 10)
    if not given["query"].strip() or not limit:  # As DeerFlow: of nothing there is nothing.
        return {"results": [], "count": 0}
    category = given.get("category")
    kind = category if category in CATEGORIES else None
    found = [
        fact(hit, hit.created_at)
        for hit in memory.recall(
            given["query"], **scope, tiers=["fact"], limit=_MOST if category else limit,
            filters={"kind": kind} if kind else None,
        )
    ]  # fmt: skip
    if not found:
        part = given["query"].casefold()
        facts = memory.facts.list(**scope, category=kind, limit=_ALL_FACTS)
        held = [each for each in facts if part in each.content.casefold()]
        held.sort(key=lambda each: -each.confidence)
        found = [fact(each, each.valid_from) for each in held]
    if category:
        found = [each for each in found if each["category"] == category]
    return {"results": found[:limit], "count": len(found[:limit])}


def add(memory: Any, who: Asker, given: Given) -> Any:
    """Store a fact; one that says the same is a duplicate, one that is unclear waits."""
    scope = who.scope(given.get("user_id"))
    content = given["content"].strip()
    if not content:
        raise InvalidInput("empty content", field="content")
    category = given.get("category", "context")
    known = category in CATEGORIES
    stored = memory.facts.add(
        content,
        **scope,
        category=category if known else _OTHER,
        confidence=given.get("confidence", 0.7),
        metadata=None if known else {"category": category},
        origin="agent",
    )
    if stored.outcome == "noop":
        raise InvalidInput("Duplicate fact")
    if stored.outcome == "clarify":
        waiting = memory.facts.clarifications(**scope)
        asked = [each.question for each in waiting if each.id == stored.id]
        return {
            "fact_id": stored.id,
            "status": "clarify",
            "question": asked[0] if asked else stored.reason,
        }
    return {"fact_id": stored.id, "status": "added"}


def update(memory: Any, who: Asker, given: Given) -> Any:
    """Change a fact; what is not given stays."""
    scope = who.scope(given.get("user_id"))
    old = _fact(memory, scope, given["fact_id"])
    category = given.get("category")
    content = given.get("content", old.content).strip()
    if not content:
        raise InvalidInput("empty content", field="content")
    new = memory.facts.update(
        old.id,
        content,
        **scope,
        category=category if category in (None, *CATEGORIES) else _OTHER,
        confidence=given.get("confidence"),
        origin="agent",
    )
    return {"fact_id": new.id, "status": "updated"}


def delete(memory: Any, who: Asker, given: Given) -> Any:
    """Forget a fact, by the id of any of its versions."""
    scope = who.scope(given.get("user_id"))
    old = _fact(memory, scope, given["fact_id"])
    forget_fact(memory, old.id, **scope)
    return {"fact_id": given["fact_id"], "status": "deleted"}


def fact(found: Any, at: Any) -> dict[str, Any]:
    """A fact, or a hit that is one, as DeerFlow shows it."""
    kind = found.category if hasattr(found, "category") else found.kind
    given = found.metadata.get("category")
    return {
        "id": found.id,
        "content": found.content,
        "category": given if kind == _OTHER and isinstance(given, str) else kind,
        "confidence": found.confidence,
        "createdAt": at,
        "source": found.session or ("unknown" if found.sources else "manual"),
    }


def _fact(memory: Any, scope: dict[str, Any], id: str) -> Any:
    try:
        return memory.facts.get(id, **scope)
    except NotFound:
        raise NotFound(f"Fact not found: {id[:64]}") from None


_FACT = whole_record(
    {
        "id": ID,
        "content": TEXT,
        "category": TEXT,
        "confidence": tool.share("How sure it is."),
        "createdAt": TIME,
        "source": tool.text("The session it was heard in, manual or unknown."),
    }
)
_ADDED = whole_record(
    {
        "fact_id": ID,
        "status": tool.choice("clarify: it is not in force.", ("added", "clarify")),
        "question": tool.text("With clarify: what to ask the user."),
    },
    may_lack=("question",),
)
_UPDATED = whole_record(
    {
        "fact_id": tool.text("The id of the new version."),
        "status": tool.choice("What was done.", ("updated",)),
    }
)
_DELETED = whole_record({"fact_id": ID, "status": tool.choice("What was done.", ("deleted",))})
_FACT_ID = tool.text("The id of a fact, from memory_search.")
_CATEGORY = f"What it is about: {', '.join(CATEGORIES)}, or a word of your own."

TOOLS: tuple[Tool, ...] = (
    Tool(
        "memory_search",
        "Search facts",
        "Search the facts that are stored about the user: preferences, corrections, context, goals."
        " Use it to check what you know before you ask, and to find the id of a fact.",
        search,
        tool.record(
            {
                "query": tool.text("What to look for, in plain language."),
                "category": tool.text("Only facts of this category."),
                "limit": tool.whole("At most so many.", 0, _MOST, default=10),
            },
            ["query"],
        ),
        json_errors=True,
        gives=counted_list("results", "Facts, best first.", _FACT),
    ),
    Tool(
        "memory_add",
        "Add a fact",
        "Store one fact about the user or the work, in a sentence that stands by itself. Use it"
        " when the user shares something worth knowing in later conversations. A fact that is known"
        " already is refused as a duplicate. With the status clarify it is not in force: it may"
        " contradict what is known, so ask the user the question that comes with it.",
        add,
        tool.record(
            {
                "content": tool.text("The fact: specific, one statement."),
                "category": tool.text(_CATEGORY, default="context"),
                "confidence": tool.share(
                    "How sure you are: high for what the user said, low for a guess.", default=0.7
                ),
            },
            ["content"],
        ),
        role="write",
        idempotent=False,
        touches=(PROFILE,),
        json_errors=True,
        gives=_ADDED,
    ),
    Tool(
        "memory_update",
        "Change a fact",
        "Put a better version in the place of a fact that is outdated or wrong; the old one stays"
        " as history. Find its id with memory_search. What the user said themselves cannot be"
        " changed by you: remember what they say now instead.",
        update,
        tool.record(
            {
                "fact_id": _FACT_ID,
                "content": tool.text("The new text; left out, it stays."),
                "category": tool.text("The new category; left out, it stays."),
                "confidence": tool.share("The new confidence; left out, it stays."),
            },
            ["fact_id"],
        ),
        role="write",
        destructive=True,
        idempotent=False,
        touches=(PROFILE,),
        json_errors=True,
        gives=_UPDATED,
    ),
    Tool(
        "memory_delete",
        "Delete a fact",
        "Forget one fact in all its versions: neither it nor what it said before it was changed is"
        " in any answer any more. Use it when a fact is wrong or the user wants it gone. Find its"
        " id with memory_search.",
        delete,
        tool.record({"fact_id": _FACT_ID}, ["fact_id"]),
        role="write",
        destructive=True,
        touches=(PROFILE,),
        json_errors=True,
        gives=_DELETED,
    ),
)
