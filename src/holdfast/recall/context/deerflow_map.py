r"""Our memories as facts of a DeerFlow memory document, and its text read back.

| memory                                             | category of the fact               |
|----------------------------------------------------|------------------------------------|
| a standing instruction                             | constraint                         |
| metadata `category`, or a kind, that DeerFlow knows | that one; identity and constraint |
|                                                    | only if the user said so           |
| a turn                                             | context                            |
| anything else                                      | other                              |

`source` is the session, else "unknown"; the summaries are those of the user's profile that fit into
a quarter of the budget. Who said it, and until when it was so, goes in front of the text, unless it
was the user without a name and is so: a fact reads as one about the user.

A fact is one line (safe.py) and what DeerFlow would strip is escaped, so that parse gives back
what was rendered; `<`, `>` and `&` are DeerFlow's to escape. Corrections and constraints are the
guaranteed categories.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from holdfast.language.regex import regex
from holdfast.language.statements.values import BY_USER, USERS_OWN
from holdfast.language.tokens import count_tokens
from holdfast.recall.context.safe import code, from_line, to_line, until, who
from holdfast.recall.deerflow import SUMMARIES, Talk, format_memory_for_injection
from holdfast.types import Hit

CATEGORIES = (
    "preference", "correction", "context", "goal", "behavior", "identity", "constraint", "decision",
    "other",
)  # fmt: skip
GUARANTEED = ("correction", "constraint")

_HEADING = "Facts:\n"
_LINE = regex(r"- \[(?P<category>[a-z]+) \| (?P<confidence>[01]\.\d\d)\] (?P<content>.+)")
#: How an empty text is written: every other backslash is followed by something.
_EMPTY = "\\"
_NO_LIMIT = 10**9
_SUMMARY = regex(
    r"- (?P<label>Work|Personal|Current Focus|Recent|Earlier|Background): (?P<content>.+)"
)
#: Of the budget; by hand, not measured.
_SUMMARY_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class DeerItem:
    """One fact. The confidence is kept as the format carries it, to two decimals."""

    category: str
    confidence: float
    content: str

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise ValueError(f"a category is one of {', '.join(CATEGORIES)}: {self.category!r}")
        if not 0 <= self.confidence <= 1:
            raise ValueError(f"a confidence lies within 0..1, not {self.confidence!r}")
        # abs: a negative zero would be written with its sign.
        object.__setattr__(self, "confidence", float(f"{abs(self.confidence):.2f}"))


def item(hit: Hit, text: str | None = None) -> DeerItem:
    """A hit as a fact: its content, or the part of it given as `text`."""
    content = hit.content if text is None else text
    if hit.name or hit.role != "user" or until(hit):
        content = f"{who(hit)}{until(hit)}: {content}"
    return DeerItem(category(hit), hit.confidence, content)


def category(hit: Hit) -> str:
    """The category of a hit as DeerFlow names it."""
    if hit.is_rule:
        return "constraint"
    for named in (hit.metadata.get("category"), hit.kind):
        # Whoever else claims to say who the user is, or what must be done, tells a story.
        is_own = hit.origin in BY_USER and "share" not in hit.why
        if named in CATEGORIES and (named not in USERS_OWN or is_own):
            return str(named)
    return "context" if hit.kind == "turn" else "other"


def document(
    chosen: Sequence[tuple[Hit, str]], summaries: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The memory document of hits and their texts, and of summaries by their names there."""
    last = max((hit.created_at for hit, _ in chosen), default=None)
    return {
        "version": "1.0",
        "lastUpdated": _time(last) if last else "",
        **_sections(summaries or {}),
        "facts": [
            {
                **fact(item(hit, text)),
                "id": hit.id,
                "createdAt": _time(hit.created_at),
                "source": hit.session or "unknown",
            }
            for hit, text in chosen
        ],
    }


def fact(one: DeerItem) -> dict[str, Any]:
    """The part of a document's fact that its text shows."""
    return {
        "category": one.category,
        "confidence": one.confidence,
        "content": _line_of(one.content),
    }


def render(items: Sequence[DeerItem]) -> str:
    """The facts as DeerFlow writes them: by confidence, the guaranteed categories first."""
    return _format({"facts": [fact(one) for one in items]}, _NO_LIMIT, "")


def parse(text: str) -> list[DeerItem]:
    """The facts of a rendered text; ValueError for what `render` does not write."""
    before = _summaries_of(text)
    if _summaries_text(parse_summaries(text)) != before.removesuffix("\n\n"):
        raise ValueError("not a list of facts")
    text = text[len(before) :]
    if not text:
        return []
    lines = text.removeprefix(_HEADING).split("\n")
    matches = [_LINE.fullmatch(each) for each in lines]
    items = [
        DeerItem(match["category"], float(match["confidence"]), _content(match["content"]))
        for match in matches
        if match
    ]
    if not items or _HEADING + "\n".join(_write_fact(one) for one in items) != text:
        raise ValueError("not a list of facts")
    return items


def parse_summaries(text: str) -> dict[str, str]:
    """The summaries of a rendered text, by their names in the document."""
    names = {label: name for labels in SUMMARIES.values() for name, label in labels.items()}
    found = {}
    for line in _summaries_of(text).split("\n"):
        if match := _SUMMARY.fullmatch(line):
            found[names[match["label"]]] = _content(match["content"])
    return found


class DeerLayout:
    """What a memory costs in this format, and the text of those that were chosen."""

    def __init__(
        self,
        budget_tokens: int,
        talk: Talk | None = None,
        summaries: Mapping[str, str] | None = None,
    ) -> None:
        self._budget = budget_tokens
        #: What is being talked about; it decides the order of the facts.
        self._talk = talk
        self._summaries = _fit_summaries(summaries or {}, int(_SUMMARY_SHARE * budget_tokens))

    @property
    def frame_tokens(self) -> int:
        """Tokens of the summaries, of the heading, and of the break between guaranteed and other
        facts."""
        return count_tokens(_summaries_text(self._summaries)) + count_tokens(_HEADING) + 2

    def tokens(self, hit: Hit, text: str) -> int:
        """Tokens of a fact as DeerFlow counts them: its line and the break before it."""
        return count_tokens("\n" + _write_fact(item(hit, text)))

    def shared_parts(self, hit: Hit) -> list[tuple[Hashable, int]]:
        """Facts share nothing."""
        return []

    def render(self, chosen: Sequence[tuple[Hit, str]]) -> str:
        """The text for hits and their texts. They fit by DeerFlow's own count: all are in it."""
        return _format(document(chosen, self._summaries), self._budget, self._talk)


def _format(memory: Mapping[str, Any], most_tokens: int, talk: Talk | None) -> str:
    return format_memory_for_injection(
        memory,
        most_tokens,
        guaranteed_categories=GUARANTEED,
        guaranteed_token_budget=most_tokens,
        current_context=talk,
    )


def _write_fact(one: DeerItem) -> str:
    content = escape(_line_of(one.content), quote=False)
    return f"- [{one.category} | {one.confidence:.2f}] {content}"


def _line_of(content: str) -> str:
    """One line that DeerFlow does not strip: its ends are no spaces, and it is not empty."""
    line = to_line(content, angles=False)
    if line[:1].isspace():
        line = code(line[0]) + line[1:]
    if line[-1:].isspace():
        line = line[:-1] + code(line[-1])
    return line or _EMPTY


def _content(line: str) -> str:
    text = line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return "" if text == _EMPTY else from_line(text)


def _sections(summaries: Mapping[str, str]) -> dict[str, dict[str, dict[str, str]]]:
    return {
        section: {
            name: {
                "summary": _line_of(text) if (text := summaries.get(name)) else "",
                "updatedAt": "",
            }
            for name in labels
        }
        for section, labels in SUMMARIES.items()
    }


def _summaries_text(summaries: Mapping[str, str]) -> str:
    """The summaries as they stand in front of the facts."""
    return _format(_sections(summaries), _NO_LIMIT, None) if summaries else ""


def _fit_summaries(summaries: Mapping[str, str], most_tokens: int) -> dict[str, str]:
    """Those that fit, in the order of the document; one that does not is left out whole."""
    kept: dict[str, str] = {}
    for name in (each for labels in SUMMARIES.values() for each in labels):
        more = {**kept, name: summaries[name]} if summaries.get(name) else kept
        if count_tokens(_summaries_text(more)) <= most_tokens:
            kept = more
    return kept


def _summaries_of(text: str) -> str:
    """What stands before the facts, with the blank line between; the whole where there are none."""
    if text.startswith(_HEADING):
        return ""
    end = text.find("\n\n" + _HEADING)
    return text if end < 0 else text[: end + 2]


def _time(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
