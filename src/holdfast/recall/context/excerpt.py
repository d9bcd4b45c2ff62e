"""Excerpts: of a long text the sentences that the question is about, with a mark at every gap.

    [...] We moved the launch to 3 May. [...] Ann signs it off. [...]      (the mark is `MARK`)

A text is cut into pieces at sentence ends and line breaks, so a line of code or of a list is one as
well. A piece counts for the words of the question in it, the rarer in this text the more; the
one after such a piece for some of that, since answers follow. Where nothing matches, the beginning
is taken.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from holdfast.language.regex import regex
from holdfast.language.sentences import DENSE_STOPS, STOPS
from holdfast.language.terms import fold, terms
from holdfast.language.tokens import count_tokens

#: Where something is left out.
MARK = "[…]"

# A full stop ends a sentence after a word of three letters, or before what is no small letter;
# "e.g. this", "Dr. Ann" and "J. Smith" go on.
_CLOSING = r"[\"'”’»)\]*_]*+"
# One set of characters in front: the search leaps from one to the next. Of a run of them only the
# first are tried, the second for the dots after "Dr.": the others would read it again and again.
_BORDER = regex(
    rf"[{STOPS}\n…{DENSE_STOPS}｡؟۔।॥](?:(?<=\n)\s*"
    rf"|(?<=[!?…])(?<![!?…][!?…])[!?…]*+{_CLOSING}\s+|(?<=\w\w\w\.)\.*+{_CLOSING}\s+"
    r"|(?<=\.)(?<!\.\.\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\b[A-Z]\.)"
    rf"\.*+{_CLOSING}\s++(?=[^\sa-z])"
    rf"|(?<=[{DENSE_STOPS}｡؟۔।॥])[{DENSE_STOPS}]*[」』”’）\"']*\s*)"
)
_WORD_REST = regex(r"\w{0,64}")
_WORD = regex(r"\w+")
_OTHER = regex(r"[^\x00-\x7f]+")
#: A piece of fewer characters ("1.", "OK") belongs to the next one.
_LEAST_PIECE = 4
#: Without a match, pieces of fewer words ("Sure!", "Hi Ann!") come last.
_LEAST_WORDS = 4
#: What the next and the previous piece are worth, as shares of a piece that matches; by hand, not
#: measured.
_NEXT, _BEFORE = 0.4, 0.2
#: A token is seldom longer, so a longer text cannot fit and need not be counted.
CHARACTERS_PER_TOKEN = 8
_MOST_TERMS = 64
#: After so many pieces that do not fit no more are tried; how far around the best one is looked.
_MISSES, _AROUND = 3, 4
#: Of a longer text only the part around the rarest word of the question is looked at.
_MOST_CHARACTERS = 65_536
#: Places of one word looked at: enough to rank by, and a text of one letter ends some time.
_MOST_PLACES = 256
#: Tokens of a mark and the spaces around it.
_GAP = 2

Span = tuple[int, int]


def excerpt(
    text: str,
    query_terms: Collection[str],
    *,
    most_tokens: int,
    most_pieces: int | None = None,
) -> str:
    """The text if it fits, else its best pieces in their order; never more than `most_tokens`.

    `query_terms` are those of `language.terms.terms`. A piece that is too long by itself is cut
    between words, where there are none between characters.
    """
    if most_tokens <= 0 or not text:
        return ""
    if _fits(text, most_tokens):
        return text
    wanted = tuple(dict.fromkeys(query_terms))[:_MOST_TERMS]
    pieces, order, focus = _ranking(text, wanted)
    chosen = _choose_pieces(
        text,
        pieces,
        order,
        most_tokens=most_tokens,
        most_pieces=most_pieces,
        # A beginning has no gaps.
        misses=1 if focus is None else _MISSES,
    )
    if not chosen:
        return _cut(text, pieces[order[0]], focus, most_tokens)
    while chosen:
        told = _join_spans(text, [pieces[each] for each in sorted(chosen)])
        if count_tokens(told) <= most_tokens:
            return told
        chosen.pop()
    return ""


# A memory told as a headline is often told as an overview next.
@lru_cache(maxsize=128)
def _ranking(text: str, wanted: tuple[str, ...]) -> tuple[list[Span], list[int], int | None]:
    """The pieces, their order by merit, and the place of a term in the best, if there is one."""
    places = _places(text, wanted)
    pieces = _pieces(text, places)
    order = _order(text, pieces, places)
    return pieces, order, _first(places, pieces[order[0]])


def _choose_pieces(
    text: str,
    pieces: Sequence[Span],
    order: Sequence[int],
    *,
    most_tokens: int,
    most_pieces: int | None,
    misses: int,
) -> list[int]:
    """The pieces that fit, best first; none if the very best does not."""
    chosen: list[int] = []
    left = most_tokens - _GAP
    for piece in order:
        cost = _cost(text, pieces[piece], left)
        if piece - 1 not in chosen and piece + 1 not in chosen:
            cost += _GAP
        if cost <= left:
            chosen.append(piece)
            left -= cost
        else:
            misses -= 1
        if not chosen or not misses or len(chosen) == most_pieces:
            break
    return chosen


def _fits(text: str, most_tokens: int) -> bool:
    return len(text) <= most_tokens * CHARACTERS_PER_TOKEN and count_tokens(text) <= most_tokens


def _cost(text: str, span: Span, left: int) -> int:
    start, end = span
    if end - start > left * CHARACTERS_PER_TOKEN:
        return left + 1
    return count_tokens(text[start:end])


def _pieces(text: str, places: Mapping[str, Sequence[int]]) -> list[Span]:
    first, last = 0, len(text)
    if last > _MOST_CHARACTERS:
        focus = min(places.values(), key=len)[0] if places else 0
        first = max(0, focus - _MOST_CHARACTERS // 2)
        last = min(last, first + _MOST_CHARACTERS)
    pieces: list[Span] = []
    start = first
    for match in _BORDER.finditer(text, first, last):
        end = match.end()
        if len(text[start:end].strip()) >= _LEAST_PIECE:
            pieces.append((start, end))
            start = end
    if start < last:
        pieces.append((start, last))
    return pieces


def _places(text: str, wanted: Sequence[str]) -> dict[str, list[int]]:
    """Where each term stands. Searching for the stem and looking at the word found is ten times as
    fast as making terms of everything."""
    lower = text.lower()
    if len(lower) != len(text):  # One letter that became two would move all that follow.
        lower = text
    if not lower.isascii():
        lower = _OTHER.sub(_fold_run, lower)
    return {term: found for term in wanted if (found := list(_occurrences(lower, term)))}


def _fold_run(match: re.Match[str]) -> str:
    run = match.group()
    folded = fold(run)
    return folded if len(folded) == len(run) else run


def _occurrences(text: str, term: str) -> Iterator[int]:
    # The last letter of a stem may differ in the word: happi, happy.
    stem = term[:-1] if len(term) > 3 and term.isalpha() and term.isascii() else term
    at = text.find(stem)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return
        if _is_term(text, at, stem, term):
            yield at
        at = text.find(stem, at + len(stem))


def _is_term(text: str, at: int, stem: str, term: str) -> bool:
    if not term[0].isascii():
        return True  # Pairs of characters and emoji stand anywhere.
    if at and text[at - 1].isalnum():
        return False
    rest = _WORD_REST.match(text, at + len(stem))
    word = text[at : rest.end()] if rest else stem
    return word == term or term in _terms_of(word)


@lru_cache(maxsize=8192)
def _terms_of(word: str) -> frozenset[str]:
    return frozenset(terms(word))


def _order(text: str, pieces: Sequence[Span], places: Mapping[str, Sequence[int]]) -> list[int]:
    """The pieces by merit, best first; equals in the order of the text."""
    starts = [start for start, _ in pieces]
    own = [0.0] * len(pieces)
    for found in places.values():
        holding = {bisect_right(starts, at) - 1 for at in found}
        for piece in holding:
            own[piece] += 1 / len(holding)
    if not any(own):
        return sorted(range(len(pieces)), key=lambda each: _is_brief(text, pieces[each]))
    merit = [
        max(
            score,
            _NEXT * own[piece - 1] if piece else 0.0,
            _BEFORE * own[piece + 1] if piece + 1 < len(own) else 0.0,
        )
        for piece, score in enumerate(own)
    ]
    best = merit.index(max(merit))
    # What is left of the room goes to the surroundings of the best piece.
    near = range(best - _AROUND, best + _AROUND + 1)
    useful = [each for each in range(len(pieces)) if merit[each] or each in near]
    return sorted(useful, key=lambda each: (-merit[each], abs(each - best)))


def _is_brief(text: str, span: Span) -> bool:
    if span[1] - span[0] > 80:
        return False
    words = len(_WORD.findall(text, *span))
    return words < _LEAST_WORDS and text[span[0] : span[1]].isascii()


def _first(places: Mapping[str, Sequence[int]], span: Span) -> int | None:
    """The first place of a term in a piece."""
    inside = (at for found in places.values() for at in found if span[0] <= at < span[1])
    return min(inside, default=None)


def _join_spans(text: str, spans: Sequence[Span]) -> str:
    """The spans of the text, with marks for what lies between, before and after them."""
    told: list[str] = []
    reached = 0
    for start, end in spans:
        if told and start == reached:
            told[-1] += text[start:end]
        else:
            told.append(text[start:end])
        reached = end
    parts = [part.strip() for part in told]
    if text[: spans[0][0]].strip():
        parts.insert(0, MARK)
        parts[:2] = [" ".join(parts[:2])]
    joined = f" {MARK} ".join(parts)
    return f"{joined} {MARK}" if text[reached:].strip() else joined


def _cut(text: str, span: Span, focus: int | None, most_tokens: int) -> str:
    """The part of one piece that fits, from word to word: around `focus`, else the beginning."""
    size = most_tokens * CHARACTERS_PER_TOKEN // 2
    start, end = span
    if focus is not None and focus - start > size // 2:
        start = _word_start(text, max(start, min(focus - size // 4, end - size)), focus)
    while size > 0:
        stop = min(end, start + size)
        told = _join_spans(text, [(start, stop if stop == end else _word_end(text, start, stop))])
        tokens = count_tokens(told)
        if tokens <= most_tokens:
            return told if told.strip(f" {MARK}") else ""
        size = min(size - 1, int(size * most_tokens / tokens))
    return ""


def _word_start(text: str, at: int, latest: int) -> int:
    space = text.find(" ", at, latest)
    return at if space < 0 else space + 1


def _word_end(text: str, start: int, stop: int) -> int:
    """The last end of a word up to `stop`; `stop` itself in a text without spaces."""
    if text[stop : stop + 1].isspace():
        return stop
    space = text.rfind(" ", start, stop)
    return space if space > start + (stop - start) // 2 else stop
