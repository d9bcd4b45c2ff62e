"""Six things that a user's words can show: a hint what is worth learning from a turn.

    correction     something said before was wrong, by the assistant or by the user
    reinforcement  the assistant did well: more of this
    preference     what the user likes, dislikes or always chooses
    identity       who the user is: name, work, home, family, origin, health
    goal           what the user wants to reach in the weeks or years to come
    decision       what was chosen, and so is settled

A turn is read sentence by sentence. Questions, suppositions, code, and what stands in quotation
marks or behind a ">" show nothing. Pass the user's own turns only. A signal is a hint: it raises
what may be learned, and its absence forbids nothing. The words are in `signal_cues`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from holdfast.language.statements import signal_cues as cues

SIGNALS: tuple[str, ...] = (
    "correction", "reinforcement", "preference", "identity", "goal", "decision",
)  # fmt: skip

_PATTERNS = dict(
    zip(
        SIGNALS,
        (
            *(cues.CORRECTION, cues.REINFORCEMENT, cues.PREFERENCE),
            *(cues.IDENTITY, cues.GOAL, cues.DECISION),
        ),
        strict=True,
    )
)
_MOST_CHARS = 20_000  # A longer turn is pasted text; what it shows of its user stands at its start.
_LONGEST_SENTENCE = 600
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_QUOTED = re.compile(r"\"[^\"]{1,300}\"|“[^”]{1,300}”|「[^」]{1,300}」|`[^`\n]{1,300}`")
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])")
_ASKED = re.compile(r"[?？]['\")\]]*$|[吗呢]$|^(?:what|which|who|whom|why|how|where|when)\b")
_SUPPOSED = re.compile(
    r"^(?:and |but |so )?(?:if|suppose|imagine|pretend|say) (?:i|we|you)\b|如果我|假如"
)


def signals(text: str) -> frozenset[str]:
    """The signals in one turn of the user."""
    found: set[str] = set()
    for sentence in _sentences(text[:_MOST_CHARS]):
        low = sentence.lower()
        if _ASKED.search(low) or _SUPPOSED.search(low):
            continue
        found.update(name for name, pattern in _PATTERNS.items() if pattern.search(low))
        if cues.NAMED.search(sentence):
            found.add("identity")
    return frozenset(found)


def heard(texts: Iterable[str]) -> frozenset[str]:
    """The signals in several turns of the user."""
    return frozenset().union(*(signals(text) for text in texts))


def _sentences(text: str) -> Iterator[str]:
    """What was said and not pasted, with the inside of quotations blanked."""
    fenced = False
    for line in text.replace("\u2019", "'").splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">"):
            for sentence in _END.split(_QUOTED.sub('""', line)):
                if 1 < len(sentence.strip()) <= _LONGEST_SENTENCE:
                    yield sentence.strip()
