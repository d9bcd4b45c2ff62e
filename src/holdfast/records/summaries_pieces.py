"""A conversation told in a few of its own sentences, without a model.

Whole sentences of the user and the assistant are chosen, those that matter most for their length,
and told in the order in which they were said, each with who said it. What matters: what was known
for a fact, what was decided, planned or forbidden, names and numbers, and what the conversation
keeps coming back to. Code, tables, quotations and pasted text are left out. Pure and deterministic;
linear in the length of the conversation but for a sort.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from holdfast.language.instructions.own_words import spoken
from holdfast.language.terms import terms
from holdfast.language.tokens import count_tokens
from holdfast.types import Event

_SPEAKERS = {"user": "User", "assistant": "Assistant"}
#: A longer turn is pasted or generated: what it says stands at its start.
_LOOKED_AT = {"user": 20_000, "assistant": 4_000}
_LONGEST = 500
_LEAST_TERMS, _LEAST_WORDS = 2, 4
#: What the words of the assistant count beside those of the user.
_ASSISTANT = 0.5
_QUESTION = 0.45
_CENTRAL, _FACT, _SETTLED, _PARTICULAR, _NAMED = 0.6, 1.2, 0.5, 0.15, 0.15
_MOST_PARTICULARS = 3
#: What a further sentence of one turn counts: others should have their say.
_SAME_TURN = {"user": 0.75, "assistant": 0.5}
#: A sentence of which others have told so much already says nothing new.
_TOLD = 0.7
#: After so many sentences that do not fit no more are tried.
_MISSES = 40
_CUT_WORDS = 40

_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_LEFT_OUT = re.compile(r"\s*(?:>|\||#{1,6} |[-=*_]{3,}\s*$)")
_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_STRESS = re.compile(r"\*\*|__")
_END = re.compile(
    r"(?<=\w{3}[.])\s+|(?<=\d[.])\s+(?=[A-Z])|(?<=[)\]\"'”’%][.])\s+|(?<=[.!?…][)\"”’])\s+"
    r"|(?<=[!?…])\s+|(?<=[。！？])"
)
_ASKED = re.compile(r"[?？]['\")\]”]*$")
_NUMBER = re.compile(r"\d[\d.,:/%-]*")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
_SETTLES = re.compile(
    r"\b(?:decid\w+|agreed|chose|chosen|settled on|switch(?:ed|ing)|instead of|no longer|actually"
    r"|must|have to|has to|needs? to|never|always|deadline|allerg\w+|cannot|can't|plan(?:s|ned)?"
    r"|goal|going to|will|want(?:s)? to|prefer\w*|favou?rite|my name|i'm|i am|i live|i work|we live"
    r"|booked|scheduled|moved|finished|shipped|launched|passed|failed|worked|because)\b"
    r"|决定|必须|计划|目标|喜欢|过敏|不能|因为|打算"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of a conversation."""

    #: The place of its turn, and its place in the turn.
    turn: int
    place: int
    text: str
    role: str
    terms: frozenset[str]


def told(turns: Sequence[Event], *, most_tokens: int, facts: Mapping[str, Collection[str]]) -> str:
    """A conversation in at most so many tokens; empty where nothing in it can be told.

    `facts` are texts that are known for facts, by the id of the turn that says them.
    """
    pieces = list(_pieces(turns))
    if not pieces:
        return _cut(turns, most_tokens)
    known = {place: facts[turn.id] for place, turn in enumerate(turns) if turn.id in facts}
    ranked = _ranked(pieces, known)
    chosen = _chosen(ranked, turns, most_tokens)
    text = _text(chosen, turns)
    while chosen and count_tokens(text) > most_tokens:
        chosen.pop()
        text = _text(chosen, turns)
    return text or _cut(turns, most_tokens)


def speaker(turn: Event) -> str:
    """Who says a turn, on one line and without a colon, so that nobody can seem another."""
    name = " ".join((turn.name or "").replace(":", " ").split())[:64]
    if turn.role == "user":
        return name or "User"
    return _SPEAKERS.get(turn.role, "Tool")


def sentences(text: str) -> list[str]:
    """The sentences of one line or more."""
    return [each.strip() for line in text.splitlines() for each in _END.split(line) if each.strip()]


def _pieces(turns: Sequence[Event]) -> Iterator[Piece]:
    for number, turn in enumerate(turns):
        if turn.role not in _SPEAKERS:
            continue
        lines = _lines(turn)
        for place, sentence in enumerate(each for line in lines for each in sentences(line)):
            # What ends in a colon announces something that is left out.
            if len(sentence) > _LONGEST or sentence.endswith((":", "：")):
                continue
            found = frozenset(terms(sentence))
            if len(found) >= _LEAST_TERMS and (
                len(sentence.split()) >= _LEAST_WORDS or not sentence.isascii()
            ):
                yield Piece(number, place, sentence, turn.role, found)


def _lines(turn: Event) -> Iterator[str]:
    """What is said in a turn, line by line, without code, tables, quotations and headings."""
    text = turn.content[: _LOOKED_AT[turn.role]]
    said = (line for _, line, _ in spoken(text)) if turn.role == "user" else _unfenced(text)
    for line in said:
        if not _LEFT_OUT.match(line):
            yield _STRESS.sub("", _MARK.sub("", line)).strip()


def _unfenced(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            yield line


def _ranked(pieces: Sequence[Piece], facts: Mapping[int, Collection[str]]) -> list[Piece]:
    """The sentences, those that matter most first."""
    spread = Counter(term for piece in pieces for term in piece.terms)
    central = [
        sum(math.log(spread[term]) for term in piece.terms) / math.sqrt(len(piece.terms))
        for piece in pieces
    ]
    top = max(central, default=0.0) or 1.0
    scores = [
        _voice(piece) * (_CENTRAL * share / top + _matter(piece, facts.get(piece.turn, ())))
        for piece, share in zip(pieces, central, strict=True)
    ]
    return _spread_out(sorted(zip(scores, pieces, strict=True), key=_rank))


def _spread_out(order: Sequence[tuple[float, Piece]]) -> list[Piece]:
    """The same, with each further sentence of one turn set back."""
    before: Counter[int] = Counter()
    ranks: list[tuple[float, Piece]] = []
    for score, piece in order:
        ranks.append((score * _SAME_TURN[piece.role] ** before[piece.turn], piece))
        before[piece.turn] += 1
    return [piece for _, piece in sorted(ranks, key=_rank)]


def _rank(scored: tuple[float, Piece]) -> tuple[float, int, int]:
    score, piece = scored
    return -score, piece.turn, piece.place


def _matter(piece: Piece, facts: Iterable[str]) -> float:
    low = piece.text.lower().replace("\u2019", "'")
    plain = " ".join(low.split())
    is_fact = any(fact in plain or plain in fact for fact in facts)
    particulars = min(_MOST_PARTICULARS, len(_NUMBER.findall(plain)))
    names = min(_MOST_PARTICULARS, len(_NAME.findall(piece.text)))
    settled = _SETTLES.search(low) is not None
    return _FACT * is_fact + _SETTLED * settled + _PARTICULAR * particulars + _NAMED * names


def _voice(piece: Piece) -> float:
    asks = _QUESTION if _ASKED.search(piece.text) else 1.0
    return asks * (1.0 if piece.role == "user" else _ASSISTANT)


def _chosen(ranked: Sequence[Piece], turns: Sequence[Event], most_tokens: int) -> list[Piece]:
    """The best that fit and do not say again what is told, best first."""
    chosen: list[Piece] = []
    heard: set[str] = set()
    left, misses = most_tokens, 0
    for piece in ranked:
        if len(piece.terms & heard) >= _TOLD * len(piece.terms) and _is_told(piece, chosen):
            continue
        cost = count_tokens(f"\n{speaker(turns[piece.turn])}: {piece.text}")
        if cost > left:
            misses += 1
            if misses >= _MISSES:
                break
            continue
        chosen.append(piece)
        heard |= piece.terms
        left -= cost
    return chosen


def _is_told(piece: Piece, chosen: Iterable[Piece]) -> bool:
    least = _TOLD * len(piece.terms)
    return any(len(piece.terms & other.terms) >= least for other in chosen)


def _text(chosen: Sequence[Piece], turns: Sequence[Event]) -> str:
    """The sentences in the order in which they were said, a line for each turn."""
    lines: dict[int, list[str]] = {}
    for piece in sorted(chosen, key=lambda each: (each.turn, each.place)):
        lines.setdefault(piece.turn, []).append(piece.text)
    return "\n".join(f"{speaker(turns[turn])}: {' '.join(said)}" for turn, said in lines.items())


def _cut(turns: Sequence[Event], most_tokens: int) -> str:
    """Where there is no whole sentence: how the longest thing that somebody said begins."""
    said = [turn for turn in turns if turn.role in _SPEAKERS and turn.content.strip()]
    if not said:
        return ""
    longest = max(said, key=lambda turn: len(turn.content[:_LONGEST]))
    words = longest.content[:_LONGEST].split()[:_CUT_WORDS]
    while words:
        text = f"{speaker(longest)}: {' '.join(words)}"
        if count_tokens(text) <= most_tokens:
            return text
        words = words[: len(words) // 2]
    return ""
