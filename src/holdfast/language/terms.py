"""Words: how text becomes terms, for the index and for the query alike.

A term is a folded, stemmed word; a compound such as "INV-2026-0417" or "ann@example.org" gives
itself and its parts; scripts without spaces give pairs of characters: nothing needs a dictionary.
This module knows nothing about documents, scopes or scores.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from threading import Lock

import Stemmer

from holdfast.language.lexicon import word_set
from holdfast.language.regex import regex

#: Literals are looked for in the beginning of a question: what follows is pasted. Characters.
_LOOKED_AT = 4000
#: Changes whenever the same text would give other terms; stored with the index.
TERMS_VERSION = 2

# Scripts written without spaces: Thai, Lao, Myanmar, Khmer, kana, Han (with extensions), Hangul.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
# The vowel signs of Indic scripts (Devanagari to Sinhala) are parts of a word; the danda is not.
_PART = rf"(?:[^\W_{_DENSE}]|[\u0900-\u0963\u0966-\u0dff])+"
_TOKEN = regex(
    rf"(?P<word>{_PART}(?:['\u2019._@/:+#-]{_PART})*)|(?P<dense>[{_DENSE}]+)|(?P<emoji>[{_EMOJI}])"
)
#: The same in ASCII that is folded: words alone.
_PLAIN_WORD = regex(r"[a-z0-9]+(?:['._@/:+#-][a-z0-9]+)*")
#: ASCII folded, and all that no word holds as a blank.
_TO_PIECES = str.maketrans(
    {
        char: char.lower() if re.match("[A-Za-z0-9'._@/:+#-]", char) else " "
        for char in map(chr, range(128))
    }
)
_INNER = regex(r"[._@/:+#-]+")
# Of limited length: a text full of opening marks must not be searched to its end for each.
_QUOTED = regex(
    r"\"([^\"]{1,300})\"|“([^”]{1,300})”|«([^»]{1,300})»|`([^`]{1,300})`"
    r"|(?<!\w)'([^']{1,300})'(?!\w)"
)
#: A text without any of these quotes nothing; and one of ASCII without a digit has no number.
_MARKS, _DIGIT = regex("[\"“«`']"), regex("[0-9]")
#: It begins with what is looked for, which is found faster than what stands before it.
_THOUSANDS = regex(r",(?<=\d,)(?=\d{3}(?!\d))")
# Latin accents, Hebrew points, Arabic vowel marks.
_COMBINING = regex(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]"
)
_MAX_TERM = 64  # A longer "word" is noise (base64, a hash of a hash): its start is enough.

_ENDINGS = ("'s", "'ll", "'ve", "'re", "'d", "'m")
STOP_WORDS = word_set("""
a about after again all also am an and any are as at be because been before being but by can could
did do does doing don down during each few for from further had has have having he her here hers
him his how i if in into is it its just let may me might more most must my no nor not now of off
on once only or other our ours out over own same shall she should so some such than that the their
theirs them then there these they this those through to too under until up us very was we were
what when where which while who whom why will with would you your yours ll ve re s t d m im ive
dont didnt doesnt isnt wasnt arent cant couldnt wont wouldnt youre thats whats
""")

_stemmer = Stemmer.Stemmer("english")
_stemming = Lock()  # The stemmer keeps its word in itself: two threads would mix theirs.


def fold(text: str) -> str:
    """Lower case, compatibility forms unified, accents and optional vowel marks removed."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", _COMBINING.sub("", decomposed))


def terms(text: str) -> list[str]:
    """The terms of a text in order, with repeats, without stop words."""
    low = text if text.isascii() else fold(text)
    if low.isascii():
        pieces = _one_number(low).translate(_TO_PIECES).split()
        return list(chain.from_iterable(map(_known_pieces.__getitem__, pieces)))
    found: list[str] = []
    for match in _tokens(low):
        kind = match.lastgroup
        token = match.group()
        if kind == "word":
            found.extend(_word_terms(token[:_MAX_TERM]))
        elif kind == "dense":
            found.extend(_pairs(token))
        else:
            found.append(token)
    return found


def quoted_strings(query: str) -> list[str]:
    """The strings that the query puts in quotation marks."""
    if not _MARKS.search(query):
        return []
    found = [next(filter(None, groups)).strip() for groups in _QUOTED.findall(query[:_LOOKED_AT])]
    return list(dict.fromkeys(text for text in found if text))


def words_with_digits(query: str) -> list[str]:
    """The words outside quotation marks that carry a digit: ids, codes, numbers."""
    if query.isascii() and not _DIGIT.search(query):
        return []
    found = [
        match.group()
        for match in _tokens(_QUOTED.sub(" ", query[:_LOOKED_AT]))
        if match.lastgroup == "word" and any(c.isdigit() for c in match.group())
    ]
    return list(dict.fromkeys(found))


def term_id(term: str) -> int:
    """A stable 64-bit number for a term: the same in every process, store and version."""
    return int.from_bytes(term_bytes(term), "little")


#: A dictionary answers sooner than `lru_cache`, which puts what it is asked for in front each time.
_MOST_KNOWN = 65_536


class _Numbers(dict[str, bytes]):
    """Those of terms that were met before, as they are stored: the lowest byte first."""

    def __missing__(self, term: str) -> bytes:
        number = blake2b(term.encode(), digest_size=8).digest()
        if len(self) >= _MOST_KNOWN:
            self.clear()  # The common ones are back after a few texts.
        self[term] = number
        return number


#: The stored number of a term.
term_bytes = _Numbers().__getitem__


class _Pieces(dict[str, tuple[str, ...]]):
    """The terms of what stands between two blanks, of pieces that were met before: most were."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        words = [piece] if piece.isalnum() else _PLAIN_WORD.findall(piece)
        found = tuple(chain.from_iterable(_word_terms(word[:_MAX_TERM]) for word in words))
        if len(piece) <= _MAX_TERM:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[piece] = found
        return found


_known_pieces = _Pieces()


@lru_cache(maxsize=65536)
def _word_terms(word: str) -> tuple[str, ...]:
    if word.isalnum():
        return () if word in STOP_WORDS else (_stem(word),)
    word = word.replace("\u2019", "'")
    if word.endswith("n't"):
        return ()  # Auxiliaries all.
    for ending in _ENDINGS:
        word = word.removesuffix(ending)
    word = word.replace("'", "")
    parts = [part for part in _INNER.split(word) if part]
    whole = (word,) if len(parts) > 1 else ()
    return whole + tuple(_stem(part) for part in parts if part not in STOP_WORDS)


def _stem(word: str) -> str:
    if len(word) > 3 and word.isascii() and word.isalpha():
        with _stemming:
            return str(_stemmer.stemWord(word))
    return word


def _tokens(text: str) -> Iterator[re.Match[str]]:
    return _TOKEN.finditer(_one_number(text))


def _one_number(text: str) -> str:
    """4,860 and 4860 are one number."""
    return _THOUSANDS.sub("", text) if "," in text else text


def _pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)]
