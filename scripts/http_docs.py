"""Write the tables of docs/reference/http.md from the catalogue of verbs.

    python scripts/http_docs.py

What stands between `<!-- routes: name -->` and `<!-- end -->` is written by this script; the rest
of the page by people. A test fails when the page and the catalogue differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.catalogue.verb import Parameter, Verb
from holdfast.catalogue.verbs import ALL

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "http.md"

#: The sections of the page, and the first words of the paths that belong there.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "memories": ("memories", "recall", "context", "expand", "contexts", "events", "sources"),
    "people": ("profile", "notes", "procedures", "sessions"),
    "facts": ("facts", "clarifications", "contradictions", "conflicts"),
    "graph": ("graph",),
    "knowledge": ("documents", "entries"),
    "workspace": ("workspace", "shares", "agents"),
    "life": ("stats", "fading"),
    "operator": ("erase", "users", "jobs", "doctor", "config", "capabilities"),
}
#: Explained once, on top.
SHARED = frozenset({"user_id", "workspace_id", "agent_id", "session_id", "Idempotency-Key"})
#: What every list takes.
PAGED = ("`limit`", "`cursor`")
_TABLE = re.compile(r"(<!-- routes: (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")


def page() -> str:
    """The page as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    return _TABLE.sub(lambda found: found[1] + table(found[2]) + found[3], text)


def table(group: str) -> str:
    """The routes of one section."""
    verbs = [verb for verb in ALL if verb.tag in GROUPS[group]]
    rows = [row(verb) for verb in verbs]
    return "\n".join(["| route | | fields |", "|---|---|---|", *rows]) + "\n"


def row(verb: Verb[..., Any]) -> str:
    """One route."""
    words = verb.headline.replace("|", "\\|")
    needs = "" if verb.role == "read" else f" *{verb.role}*"
    fields = [field(each) for each in verb.parameters if is_told(each)]
    # Every list comes page by page, whether the verb itself counts or not.
    fields += [name for name in PAGED if verb.is_list and name not in fields]
    return f"| `{verb.method} {verb.path}`{needs} | {words} | {', '.join(fields)} |"


def is_told(parameter: Parameter) -> bool:
    """Whether a parameter stands in the table: what all have, and what the path names, does not."""
    return parameter.wire not in SHARED and parameter.place in ("body", "query", "raw")


def field(parameter: Parameter) -> str:
    """The name of a parameter; what must be given is bold."""
    if parameter.place == "raw":
        return "the body"
    name = f"`{parameter.wire}`"
    return f"**{name}**" if parameter.required else name


if __name__ == "__main__":
    main()
