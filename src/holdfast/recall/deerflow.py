"""DeerFlow's memory document as the text that goes into a prompt, with ranking by context.

    User Context:
    - Work: …            also Personal, Current Focus

    History:
    - Recent: …          also Earlier, Background

    Facts:
    - [correction | 0.90] … (avoid: …)
    - [preference | 0.80] …

Facts of the guaranteed categories come first and have a token budget of their own. The others share
what `max_tokens` leaves, by confidence or, given a context, by

    final = similarity_weight * tfidf_cosine(fact, context) + confidence_weight * confidence

Each list ends at the first line that does not fit. `<`, `>` and `&` are escaped, nothing else is:
the caller wraps the text in a tag. The underscored names at the top are looked up at call time and
may be replaced from outside, which programs written for the original do.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from holdfast.language.regex import regex
from holdfast.language.statements.values import BY_USER, USERS_OWN
from holdfast.language.terms import terms
from holdfast.language.tokens import count_tokens
from holdfast.recall.context.safe import code, from_line, to_line, until, who
from holdfast.recall.hits import as_told
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


# ----------------------------------------------------------------------
# How alike a text and a context are: the cosine of their TF-IDF vectors, 0..1.
#
#     weight(t, d) = count of t in d * idf(t)
#     idf(t)       = ln((1 + n) / (1 + df(t))) + 1
#
# n counts the texts and the context, df those of them that hold the term. Smoothed like this, a
# term that all share still counts and a single text has a meaningful cosine. Terms are those of
# the index, so accents, inflections and scripts without spaces are treated as in search.
# ----------------------------------------------------------------------


def similarities(texts: Sequence[str], context: str) -> list[float]:
    """The cosine of each text with the context; 0 where one of the two has no terms."""
    counts = [Counter(terms(text)) for text in (*texts, context)]
    idf = inverse_frequencies(counts)
    *vectors, wanted = [_unit({t: c * idf[t] for t, c in one.items()}) for one in counts]
    return [_dot(vector, wanted) for vector in vectors]


def inverse_frequencies(counts: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """The idf of every term in the documents, each given as its term counts."""
    frequency = Counter(term for one in counts for term in one)
    return {term: math.log((1 + len(counts)) / (1 + df)) + 1 for term, df in frequency.items()}


def _unit(vector: dict[str, float]) -> dict[str, float]:
    length = math.hypot(*vector.values())
    return {term: weight / length for term, weight in vector.items()}


def _dot(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    # fsum does not depend on the order of terms. Rounding must not lift a perfect match above 1.
    return min(1.0, math.fsum(weight * other.get(term, 0.0) for term, weight in one.items()))


Fact = Mapping[str, Any]
#: A text, or messages of which the user's and the assistant's last words are taken.
Talk = str | Sequence[object]

_log = logging.getLogger(__name__)

#: The summaries of the document: section, name and label.
SUMMARIES: Mapping[str, Mapping[str, str]] = {
    "user": {"workContext": "Work", "personalContext": "Personal", "topOfMind": "Current Focus"},
    "history": {
        "recentMonths": "Recent",
        "earlierContext": "Earlier",
        "longTermBackground": "Background",
    },
}
_TITLES = {"user": "User Context:", "history": "History:"}
_ELLIPSIS = "\n..."
_NO_CATEGORY = "context"
# Characters per token vary along a text: a proportional cut aims a little low. By hand.
_CUT = 0.95
# Turns of conversation that say what is being talked about now.
_RECENT_TURNS = 6
# Kana, Han with extensions and compatibility forms, Hangul: about two characters to a token.
_CJK = regex(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class _DocumentLimits:
    max_tokens: int
    guaranteed_tokens: int
    use_tiktoken: bool

    def count(self, text: str) -> int:
        # The default is left unsaid, so that a replacement that takes nothing but a text will do.
        return _count_tokens(text) if self.use_tiktoken else _count_tokens(text, use_tiktoken=False)


def format_memory_for_injection(
    memory_data: Mapping[str, Any] | None,
    max_tokens: int = 2000,
    *,
    use_tiktoken: bool = True,
    guaranteed_categories: Iterable[str] | None = None,
    guaranteed_token_budget: int = 500,
    current_context: Talk | None = None,
    similarity_weight: float = 0.6,
    confidence_weight: float = 0.4,
) -> str:
    """The memory as text of at most `max_tokens`, plus what the guaranteed facts took.

    Guaranteed facts stay even where `max_tokens` is too small for their heading. Should ranking or
    selection fail, all facts are taken by confidence alone.
    """
    categories = _categories(guaranteed_categories)
    weights = _weight(similarity_weight), _weight(confidence_weight)
    if not memory_data or not isinstance(memory_data, Mapping):
        return ""
    base = _base(memory_data)
    facts = _facts(memory_data)
    limits = _DocumentLimits(max_tokens, guaranteed_token_budget, use_tiktoken)
    try:
        first = [fact for fact in facts if _category(fact) in categories]
        rest = [fact for fact in facts if _category(fact) not in categories]
        context = talk_text(current_context)
        return _compose(
            base,
            # Corrections hold whatever is talked about; the same order keeps prompt caches valid.
            _by_confidence(first),
            _by_context(rest, facts, context, weights) if context else _by_confidence(rest),
            limits,
            _select_fact_lines,
        )
    except Exception:  # noqa: BLE001 - a turn with plainer memory beats a turn without any
        _log.warning("facts are taken by confidence alone", exc_info=True)
        return _compose(base, [], _by_confidence(facts), limits, _take_lines)


def talk_text(talk: Talk | None, *, turns: int = _RECENT_TURNS) -> str:
    """What is being talked about: a text as it is, or the last turns of a list of messages.

    Of messages (mappings or objects, role user/human or assistant/ai) only what the user said and
    what the assistant answered counts: tool calls, tool results and system text say little about
    the subject. An empty text for blank input.
    """
    if talk is None or isinstance(talk, str):
        return (talk or "").strip()
    said = [text for message in talk if (text := _message_text(message))]
    return "\n".join(said[-turns:])


def _coerce_confidence(value: object, default: float = 0.0) -> float:
    """A confidence within 0..1; `default` for what is no finite number."""
    try:
        number = float(value)  # type: ignore[arg-type]  # anything may stand in a caller's document
    except (TypeError, ValueError, OverflowError):
        number = default
    if not math.isfinite(number):
        number = default
    return max(0.0, min(1.0, number))


def _count_tokens(
    text: str, encoding_name: str = "cl100k_base", *, use_tiktoken: bool = True
) -> int:
    """Tokens of a text: exact, or estimated by characters (two of CJK, four of others to one)."""
    if use_tiktoken and encoding_name == "cl100k_base":
        return count_tokens(text)
    dense = len(_CJK.findall(text))
    return (len(text) - dense) // 4 + dense // 2


def _select_fact_lines(
    ranked_facts: Iterable[Fact],
    token_budget: int = 2000,
    *,
    fact_lines: Sequence[str] = (),
    running_tokens: int = 0,
    use_tiktoken: bool = True,
) -> tuple[list[str], int]:
    """(lines, tokens) of the facts in order, up to the first that does not fit the budget.

    `fact_lines` and `running_tokens` are what stands before them; they count, but do not come back.
    """
    return _take_lines(
        ranked_facts,
        token_budget,
        fact_lines=fact_lines,
        running_tokens=running_tokens,
        use_tiktoken=use_tiktoken,
    )


def _take_lines(
    ranked_facts: Iterable[Fact],
    token_budget: int,
    *,
    fact_lines: Sequence[str] = (),
    running_tokens: int = 0,
    use_tiktoken: bool = True,
) -> tuple[list[str], int]:
    limits = _DocumentLimits(token_budget, 0, use_tiktoken)
    lines: list[str] = []
    used = 0
    for fact in ranked_facts:
        line = _line(fact)
        if line is None:
            continue
        cost = limits.count("\n" + line if lines or fact_lines else line)
        if running_tokens + used + cost > token_budget:
            break
        lines.append(line)
        used += cost
    return lines, used


def _compose(
    base: str,
    guaranteed: Sequence[Fact],
    regular: Sequence[Fact],
    limits: _DocumentLimits,
    select: Callable[..., tuple[list[str], int]],
) -> str:
    header = "\n\n" + _HEADING if base else _HEADING
    first: list[str] = []
    reserved = 0
    if guaranteed:
        budget = limits.guaranteed_tokens
        first, reserved = select(guaranteed, budget, use_tiktoken=limits.use_tiktoken)
    spent = (limits.count(base) if base else 0) + limits.count(header) + reserved
    if first:
        spent += limits.count("\n")
    left = limits.max_tokens - spent
    rest = select(regular, left, use_tiktoken=limits.use_tiktoken)[0] if regular else []
    ceiling = max(0, limits.max_tokens) + reserved
    block = _block(header, [*first, *rest])
    while rest and limits.count(block.lstrip("\n")) > ceiling:  # Should the sum underestimate.
        rest = rest[:-1]
        block = _block(header, [*first, *rest])
    return _fit(base, block, ceiling, limits)


def _block(header: str, lines: Sequence[str]) -> str:
    return header + "\n".join(lines) if lines else ""


def _fit(base: str, block: str, ceiling: int, limits: _DocumentLimits) -> str:
    """The whole if it fits; else as much of the summaries as the facts leave room for."""
    if limits.count(base + block) <= ceiling:
        return base + block
    room = ceiling - (limits.count(block) if block else 0)
    size = int(len(base) * room / max(1, limits.count(base)) * _CUT)
    while size > 0:
        text = base[:size] + _ELLIPSIS + block
        if limits.count(text) <= ceiling:
            return text
        size = int(size * _CUT)  # The kept part is denser than the average.
    return block.lstrip("\n")


def _base(memory: Mapping[str, Any]) -> str:
    sections = []
    for key, labels in SUMMARIES.items():
        section = memory.get(key)
        if not isinstance(section, Mapping):
            continue
        lines = [
            f"- {label}: {escape(summary, quote=False)}"
            for name, label in labels.items()
            if (summary := _summary(section.get(name)))
        ]
        if lines:
            sections.append("\n".join([_TITLES[key], *lines]))
    return "\n\n".join(sections)


def _summary(part: object) -> str | None:
    """A summary as a text; what is none, such as a number, as it is printed."""
    told = part.get("summary") if isinstance(part, Mapping) else None
    return _text(str(told)) if told else None


def _facts(memory: Mapping[str, Any]) -> list[Fact]:
    facts = memory.get("facts")
    if not isinstance(facts, list | tuple):
        return []
    return [fact for fact in facts if isinstance(fact, Mapping) and _text(fact.get("content"))]


def _line(fact: Fact) -> str | None:
    content = _text(fact.get("content"))
    if content is None:
        return None
    category = _category(fact) or _NO_CATEGORY
    confidence = _coerce_confidence(fact.get("confidence"), default=0.0)
    line = f"- [{escape(category, quote=False)} | {confidence:.2f}] {escape(content, quote=False)}"
    if category == "correction" and (error := _text(fact.get("sourceError"))):
        line += f" (avoid: {escape(error, quote=False)})"
    return line


def _category(fact: Fact) -> str | None:
    return _text(fact.get("category"))


def _text(value: object) -> str | None:
    return (value.strip() or None) if isinstance(value, str) else None


def _by_confidence(facts: Iterable[Fact]) -> list[Fact]:
    return sorted(facts, key=_confidence, reverse=True)


def _confidence(fact: Fact) -> float:
    return _coerce_confidence(fact.get("confidence"), default=0.0)


def _by_context(
    facts: Sequence[Fact], known: Sequence[Fact], context: str, weights: tuple[float, float]
) -> list[Fact]:
    """Best first; equals by confidence. How rare a word is, all known facts decide together."""
    cosines = similarities([fact["content"] for fact in known], context)
    alike = {id(fact): cosine for fact, cosine in zip(known, cosines, strict=True)}

    def merit(fact: Fact) -> tuple[float, float]:
        confidence = _confidence(fact)
        return weights[0] * alike[id(fact)] + weights[1] * confidence, confidence

    return sorted(facts, key=merit, reverse=True)


def _categories(given: Iterable[str] | None) -> frozenset[str]:
    if isinstance(given, str | bytes):
        # In DeerFlow's words: programs written for it look for them.
        raise TypeError("guaranteed_categories must be an iterable of strings, not a bare str")
    return frozenset(name for each in given or () if (name := _text(each)))


def _weight(value: float) -> float:
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"a weight must be a finite number from 0 up, not {value!r}")
    return float(value)


def _message_text(message: object) -> str:
    role = _field(message, "role") or _field(message, "type")
    if role in ("assistant", "ai") and not _field(message, "tool_calls"):
        return _words(_field(message, "content"))
    return _words(_field(message, "content")) if role in ("user", "human") else ""


def _words(content: object) -> str:
    """The text of a message; of content in parts, the text parts."""
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list | tuple) else ()
    return "\n".join(text for part in parts if (text := _text(_field(part, "text"))))


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


# ----------------------------------------------------------------------
# Our memories as facts of such a document, and its text read back.
#
# | memory                                              | category of the fact              |
# |-----------------------------------------------------|-----------------------------------|
# | a standing instruction                              | constraint                        |
# | metadata `category`, or a kind, that DeerFlow knows | that one; identity and constraint |
# |                                                     | only if the user said so          |
# | a turn                                              | context                           |
# | anything else                                       | other                             |
#
# `source` is the session, else "unknown"; the summaries are those of the user's profile that fit
# into a quarter of the budget. Who said it, and until when it was so, goes in front of the text,
# unless it was the user without a name and is so: a fact reads as one about the user.
#
# A fact is one line (safe.py) and what DeerFlow would strip is escaped, so that parse gives back
# what was rendered; `<`, `>` and `&` are DeerFlow's to escape. Corrections and constraints are the
# guaranteed categories.
# ----------------------------------------------------------------------


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
    content = as_told(hit, hit.content if text is None else text)
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
