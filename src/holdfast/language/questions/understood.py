"""Which parts of recall do not understand a question's language: the answer says so.

Keywords work in every script (terms.py). Word forms, times, query classes, whose words are asked
for, tastes and task profiles are English (times and rules also know some Chinese), and so is the
shipped embedding model. A question counts as English unless it shows that it is not: by letters
beyond ASCII without any common English word, or by common words of its own language.
"""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.language.questions.classes import classify
from holdfast.language.terms import fold

NOTE = (
    "language: the question does not look English; keywords are matched as they are written, and"
    " times, query classes and task profiles may not be understood"
)

_LETTERS = re.compile(r"[^\W\d_]+")
#: Words that tell German, Spanish, French, Italian, Portuguese and Dutch from English.
_COMMON = frozenset(
    """
    wo wer wie wann und der ist nicht ich habe mein meine wohnt hat
    donde cuando quien como que mi mis vive tiene es el los las una
    ou qui quand est elle mon ma mes habite les des une je
    dove quando chi che mio mia abita sono il gli della
    onde quem meu minha mora tem nao uma os
    waar wanneer het een mijn woont heeft ik niet
    """.split()  # noqa: SIM905 (rows by language)
)
_ENOUGH = 2


@lru_cache(maxsize=512)
def english_only(text: str) -> str | None:
    """What to say of a question in another language; None for an English one."""
    if not text.isascii() and not classify(text).understood and _foreign_letters(text):
        return NOTE
    words = _LETTERS.findall(fold(text))
    return NOTE if sum(word in _COMMON for word in words) >= _ENOUGH else None


def _foreign_letters(text: str) -> bool:
    return any(each.isalpha() and not each.isascii() for each in text)
