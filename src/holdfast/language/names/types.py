"""What kind of thing a name stands for, told by the words around it and by its own last word.

Every place where a name stands in a group of turns may give evidence; the strongest wins, so that
"Max" is a person everywhere once "my son Max" was said. A label that a model gave is weak evidence:
it decides only where the text says nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

#: What nothing better is known of.
ANY_TYPE = "concept"

_LAST_WORDS = {
    "place": "city town village lake river sea ocean bay beach island islands mountain mountains"
    " hill hills valley park street road avenue square bridge county province state region desert"
    " forest airport station castle museum cathedral church hotel restaurant pub cafe north south",
    "organization": "inc ltd llc corp gmbh ag company university college school institute academy"
    " labs laboratories bank foundation association society agency ministry department council"
    " committee commission government parliament party union hospital clinic studio studios records"
    " books press times group holdings airlines motors entertainment church army",
    "team": "fc afc united rockets team squad club band orchestra choir tigers lions eagles bears",
    "event": "olympics festival summit conference cup championship championships war battle games"
    " marathon party tournament election ceremony award awards tour expo fair day week wedding"
    " finals competition camp concert",
    "document": "report act treaty constitution magazine journal newspaper bible novel song album"
    " paper book manual policy agreement contract",
    "market": "index exchange stock stocks futures etf bond bonds",
}
_BY_LAST_WORD = {word: kind for kind, words in _LAST_WORDS.items() for word in words.split()}
_PLACES = ("Lake", "Mount", "Mt", "Cape", "Fort", "Port", "Gulf", "Isle")
_PEOPLE = ("Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "Coach", "Aunt", "Uncle", "Professor")
_BY_FIRST_WORD = dict.fromkeys(_PLACES, "place") | dict.fromkeys(_PEOPLE, "person")

_KIN = (
    r"mother|father|mom|mum|dad|sister|brother|son|daughter|wife|husband|partner|girlfriend"
    r"|boyfriend|fianc[eé]e?|cousin|aunt|uncle|grandmother|grandfather|grandma|grandpa|niece|nephew"
    r"|friend|buddy|neighbou?r|colleague|boss|manager|coach|teacher|doctor|roommate|classmate"
    r"|teammate|mentor|dog|cat|puppy|kitten|pet"
)
_BEFORE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("person", re.compile(rf"\b(?:{_KIN})(?:,| named| called|'s name is)? \Z", re.I)),
    ("person", re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|Professor|President|Coach|Aunt|Uncle)\.? \Z")),
    (
        "person",
        re.compile(r"\b(?:hey|hi|hello|thanks|bye|dear|congrats|sorry|yeah|wow),? \Z", re.I),
    ),
    (
        "person",
        re.compile(r"\b(?:met|told|asked|married|marry|hugged|dating|married to|thank) \Z", re.I),
    ),
    (
        "document",
        re.compile(
            r"\b(?:book|novel|film|movie|song|album|article|paper|magazine|series|show)"
            r"(?: called| named| titled)? [\"“]?\Z",
            re.I,
        ),
    ),
    ("document", re.compile(r"\b(?:reading|read|watched|watching|wrote) [\"“]?\Z", re.I)),
    ("team", re.compile(r"\b(?:plays?|played|playing|scored|signed) for (?:the )?\Z", re.I)),
    (
        "organization",
        re.compile(
            r"\b(?:works?|worked|working|employed|job|intern(?:ed|ing)?|studies|studied|studying)"
            r" (?:at|for|by|with) (?:the )?\Z",
            re.I,
        ),
    ),
    (
        "place",
        re.compile(
            r"\b(?:(?:moved|moving|move|went|going|go|fl(?:y|ew|ying)|travell?(?:ed|ing)?|drove"
            r"|trip|trips|flight|back|been|tickets) (?:back )?to|(?:lives?|lived|living|born|stay"
            r"(?:ed|ing)?|grew up|based|located) (?:in|near)|visit(?:ed|ing)?|capital of) (?:the )?"
            r"\Z",
            re.I,
        ),
    ),
)
_AFTER_PERSON = re.compile(
    r"(?:,? you\b| (?:said|says|told|asked|loves|likes|thinks|wants|feels|wrote|and I\b)"
    r"|['’]s (?:mother|father|mom|dad|wife|husband|birthday|house|family|brother|sister))"
)
_IN = re.compile(r"\b(?:in|near|across|around|outside) (?:the )?\Z")

#: How much each kind of evidence counts; a model's label least.
_STRONG, _SHAPE, _SOFT, _LABEL = 8, 3, 2, 1


class Kinds:
    """Evidence about names, gathered over a group of turns."""

    def __init__(self, people: Iterable[str] = ()) -> None:
        self._people = frozenset(people)
        self._votes: dict[str, Counter[str]] = defaultdict(Counter)

    def see(self, text: str, start: int, end: int, label: str | None = None) -> None:
        """Take note of a name where it stands; `label` is what a model takes it for."""
        votes = self._votes[text[start:end]]
        before = text[max(0, start - 40) : start]
        for kind, pattern in _BEFORE:
            if pattern.search(before):
                votes[kind] += _STRONG
                break
        else:
            if _IN.search(before):
                votes["place"] += _SOFT
            elif _AFTER_PERSON.match(text, end):
                votes["person"] += _SOFT
        if label:
            votes[label] += _LABEL

    def of(self, name: str) -> str:
        """The kind with the most evidence."""
        if name in self._people:
            return "person"
        votes = Counter(self._votes.get(name, ()))
        parts = name.split()
        if len(parts) > 1:
            shape = _BY_FIRST_WORD.get(parts[0]) or _BY_LAST_WORD.get(parts[-1].lower())
            votes[shape or ANY_TYPE] += _SHAPE if shape else 0
        best = votes.most_common(1)
        return best[0][0] if best and best[0][1] > 0 else ANY_TYPE
