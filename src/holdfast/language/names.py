"""Names: which of them a text speaks of, when two are the same, and how alike two are.

`likeness` is a score in 0..1 with its evidence. Each rule answers with the score that names matched
by it have earned; the best answer counts. First come the vetoes: types, numbers and versions that
differ, sides that differ ("north" and "south", "Jr." and "Sr."). No likeness outweighs one of them.
Where one has several names, another must not contradict any of them: "Rachel Smith" is
like "R. Smith", but not if that is Robert's. A part of a person's name, such as "Bob" for "Bob
Smith", scores as `PART` or less: whether it is enough depends on who else is known, which is for
`records/graph/resolve.py` to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from holdfast.language.lexicon import (
    CARDINALS,
    KIN_BY_GENDER,
    ORDINALS,
    SURE_MONTHS,
    WEEKDAYS,
    word_set,
)
from holdfast.language.regex import regex
from holdfast.language.terms import STOP_WORDS, fold
from holdfast.language.vocabulary import ANY_ENTITY

#: Words of a text that are looked at, words of a name that are compared, names found in a text.
_WORDS_READ = 512
MOST_NAME_WORDS = 12
_MOST_FOUND = 8

# Scripts without spaces between words: each character is a word by itself here. "+" and "#" are
# parts of a name such as "C++".
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
)
_TEXT_WORD = regex(rf"[{_DENSE}]|(?:[^\W_{_DENSE}]|[+#])+")
#: Who has no other name is called so; a text that says it speaks of users in general.
_ANYBODY = ("user",)
_ONE_DENSE = regex(f"[{_DENSE}]")


class Spoken(NamedTuple):
    """A name as a text speaks of it."""

    words: tuple[str, ...]
    #: As it is written, where only that tells it from an ordinary word: "May", "US".
    exactly: str | None = None


class Borne(NamedTuple):
    """Who bears a name, and its `exactly`."""

    number: int
    exactly: str | None = None


#: The words of a name -> who bears it.
Bearers = Mapping[tuple[str, ...], Sequence[Borne]]


@lru_cache(maxsize=65536)
def same(name: str) -> str:
    """A name as it is compared with others."""
    return " ".join(fold(name).split())


@lru_cache(maxsize=65536)
def spoken_form(name: str, *, heard: bool = False) -> Spoken | None:
    """How a text speaks of a name; None when no text can be said to name it.

    Of what was only heard a common word ("issues") is no name, and one in capitals ("KEY") is only
    as it is written: nobody chose it as a name.
    """
    words = tuple(_TEXT_WORD.findall(fold(name)))[:MOST_NAME_WORDS]
    if not words or (len(words) == 1 and _ONE_DENSE.fullmatch(words[0])):
        return None
    if words == _ANYBODY:
        return None
    if len(words) == 1 and words[0] in STOP_WORDS:
        return None if name.islower() else Spoken(words, name)
    if heard and len(words) == 1 and name.isascii() and (name.islower() or name.isupper()):
        return None if name.islower() else Spoken(words, name)
    return Spoken(words)


def spoken_of(text: str, known: Bearers) -> list[int]:
    """Whom a text names: the names it holds as whole words, the longest at each place."""
    words = _TEXT_WORD.findall(fold(text))[:_WORDS_READ]
    found: dict[int, None] = {}
    place = 0
    while place < len(words) and len(found) < _MOST_FOUND:
        size, bearers = _longest(text, words[place : place + MOST_NAME_WORDS], known)
        found.update(dict.fromkeys(bearers))
        place += size
    return list(found)[:_MOST_FOUND]


def _longest(text: str, words: Sequence[str], known: Bearers) -> tuple[int, list[int]]:
    for size in range(len(words), 0, -1):
        bearers = [
            each.number
            for each in known.get(tuple(words[:size]), ())
            if each.exactly is None or _stands_in(text, each.exactly)
        ]
        if bearers:
            return size, bearers
    return 1, []


def _stands_in(text: str, exactly: str) -> bool:
    """Whether a text holds these very letters as whole words."""
    return re.search(rf"(?<!\w){re.escape(exactly)}(?!\w)", text) is not None


# ----------------------------------------------------------------------
# A name taken apart for comparison: its words, and what must agree before any likeness counts.
#
# `variants` gives the forms of a name, `blocks_of` and `blocks_to_search` its blocks: two names
# that could be one meet in at least one, so that nobody compares a new name with all others. The
# word lists are small and general on purpose.
# ----------------------------------------------------------------------

#: Words of a name that are looked at, and the shortest word in which a slip of the pen is believed.
_MOST_WORDS = 16
SLIP_CHARS = 7
ACRONYM_CHARS = range(2, 9)

_MALE, _FEMALE = "m", "f"


SMALL_WORDS = word_set(
    "the a an of and for in on at to by de des du del della di da do dos la le les el los y e et"
    " und der die das den van von"
)
#: What stands before a family name and belongs to it.
PARTICLES = word_set(
    "de del della di da do dos du la le van von der den ter ten el bin ibn abu mc st san santa"
)
_LEGAL = word_set(
    "inc incorporated ltd limited llc llp lp plc corp corporation co company gmbh mbh ag kg sa sas"
    " sarl nv bv ab oy oyj asa spa srl kk pty pvt ulc"
)
_SAME_LEGAL = {
    "ltd": "limited", "inc": "incorporated", "corp": "corporation", "co": "company",
}  # fmt: skip
_TITLES_OF_ALL = word_set(
    "dr doctor prof professor mx rev reverend hon president chancellor senator governor minister"
    " judge justice capt captain col colonel gen general lt lieutenant sgt sergeant maj major"
    " cmdr commander cardinal bishop archbishop rabbi imam saint coach chef"
)
_TITLES_OF_MEN = word_set("mr mister sir lord king prince emperor duke count baron pope")
_TITLES_OF_WOMEN = word_set(
    "mrs ms miss madam lady dame queen princess empress duchess countess baroness"
)
#: Title -> the gender it tells, if any.
TITLES = (
    dict.fromkeys(_TITLES_OF_ALL, "")
    | dict.fromkeys(_TITLES_OF_MEN, _MALE)
    | dict.fromkeys(_TITLES_OF_WOMEN, _FEMALE)
)
#: Titles that many bear at once: they say nothing against another of them.
PLAIN_TITLES = word_set("dr doctor prof professor mr mister mrs ms mx miss")
_NICKNAMES = {
    _MALE: "robert bob bobby rob robbie/william bill billy will willy liam/richard rick dick richie"
    "/james jim jimmy jamie/john johnny jack/michael mike mikey mick/thomas tom tommy"
    "/charles charlie chuck/edward ed eddie ted teddy ned/joseph joe joey/david dave davy"
    "/daniel dan danny/anthony tony/andrew andy drew/matthew matt/christopher chris/stephen steve"
    " steven/nicholas nick nico/benjamin ben benny/samuel sam sammy/gregory greg/timothy tim"
    "/kenneth ken kenny/ronald ron ronnie/donald don donny/lawrence larry/gerald gerry jerry"
    "/frederick fred freddie/peter pete/patrick pat paddy/raymond ray/henry harry hank"
    "/alexander alex sasha/alfred alf/albert al bert/leonard leo len lenny/philip phil"
    "/jeffrey jeff/zachary zach/joshua josh/jonathan jon/nathaniel nathan nate/vincent vince"
    "/francis frank frankie/george/paul/mark/kevin/brian/eric/adam/carlos/ahmed/ivan",
    _FEMALE: "elizabeth liz lizzie beth betty eliza libby/margaret maggie meg peggy greta"
    "/katherine catherine kathryn kate katie kathy cathy kat/jennifer jen jenny/jessica jess jessie"
    "/susan sue susie suzy/deborah deb debbie/barbara barb babs/rebecca becky becca/victoria vicky"
    " tori/christina christine tina chrissy/alexandra lexi/samantha/patricia patty trish"
    "/dorothy dot dottie/abigail abby/amanda mandy/cynthia cindy/eleanor ellie nell/pamela pam"
    "/theresa tess terry/virginia ginny/melissa mel/veronica ronnie/josephine josie/mary/anna"
    "/sarah/linda/maria/laura/julia/emma/lisa/helen/alice",
}


def _read_nicknames() -> dict[str, frozenset[tuple[str, str]]]:
    """Given name -> (who is called so, their gender), for each that may be."""
    found: dict[str, set[tuple[str, str]]] = {}
    for gender, groups in _NICKNAMES.items():
        for group in groups.split("/"):
            for word in group.split():
                found.setdefault(word, set()).add((group.split()[0], gender))
    return {word: frozenset(group) for word, group in found.items()}


CALLED = _read_nicknames()
_OPPOSED = (
    "north northern/south southern/east eastern/west western/central",
    "northeast northeastern/northwest northwestern/southeast southeastern/southwest southwestern",
    "senior sr elder/junior jr younger", "upper/lower", "inner/outer", "new neo/old", "left/right",
    "greater/lesser", "big large/little small", "major/minor", "internal/external", "micro/macro",
    "male men mens man boys boy/female women womens woman girls girl", "primary/secondary",
    *KIN_BY_GENDER,
    "spring/summer/autumn fall/winter", "pre/post", "pro/anti", "hyper/hypo", "beta/alpha/gamma",
    "early/late", "public/private", "import/export", "front/back", "indoor/outdoor", "input/output",
    "/".join(SURE_MONTHS.split()), "/".join(WEEKDAYS.split()), "former/current", "mini max/plus",
)  # fmt: skip
_MARK = {
    word: side.split()[0] for row in _OPPOSED for side in row.split("/") for word in side.split()
}
_NUMBER = {
    word: str(number) for row in (ORDINALS, CARDINALS) for number, word in enumerate(row.split(), 1)
}
_ROMAN = {
    tens + ones: str(10 * ten + one)
    for ten, tens in enumerate(("", "X", "XX", "XXX"))
    for one, ones in enumerate(("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"))
    if tens + ones
}

#: Places under several names: short, long, by letters, by their people. One row, one place.
_PLACES = (
    "us/usa/united states/united states of america/america/american", "uk/united kingdom/britain"
    "/great britain/british", "uae/united arab emirates/emirati", "eu/european union",
    "ussr/soviet union/soviet", "prc/peoples republic of china/china/chinese", "south korea"
    "/republic of korea/rok/south korean", "north korea/dprk/north korean", "russia/russian"
    "/russian federation", "netherlands/holland/dutch", "myanmar/burma/burmese", "czech republic"
    "/czechia/czech", "ivory coast/cote divoire/ivorian", "france/french", "germany/german",
    "greece/greek", "spain/spanish", "sweden/swedish", "norway/norwegian", "denmark/danish",
    "finland/finnish", "poland/polish", "iceland/icelandic", "ireland/irish", "scotland/scottish",
    "wales/welsh", "england/english", "switzerland/swiss", "thailand/thai", "portugal/portuguese",
    "peru/peruvian", "turkey/turkiye/turkish", "philippines/philippine/filipino", "cyprus/cypriot",
    "niger/nigerien", "nigeria/nigerian", "dominica", "dominican republic/dominican", "slovakia"
    "/slovak/slovakian", "slovenia/slovene/slovenian", "croatia/croatian", "serbia/serbian",
    "afghanistan/afghan", "kazakhstan/kazakh", "uzbekistan/uzbek", "somalia/somali", "argentina"
    "/argentine/argentinian", "madagascar/malagasy", "congo/congolese", "mali/malian", "malawi",
    "malaysia/malaysian", "austria/austrian", "australia/australian", "india/indian", "indiana",
    "oman/omani", "romania/romanian", "rome/roman", "guinea/guinean", "washington dc/dc",
    "new york city/nyc", "belgium/belgian", "israel/israeli", "lebanon/lebanese", "brazil"
    "/brazilian", "egypt/egyptian", "bahamas/bahamian", "barbados/barbadian", "honduras/honduran",
    "maldives/maldivian", "tajikistan/tajik", "turkmenistan/turkmen", "kyrgyzstan/kyrgyz",
    "el salvador/salvadoran", "catalonia/catalan", "flanders/flemish", "kosovo/kosovar",
    "monaco/monegasque", "ghana/ghanaian", "panama/panamanian",
)  # fmt: skip
_PLACE = {name: row.split("/")[0] for row in _PLACES for name in row.split("/")}
#: How people are called after their place, where that is regular: "Kenyan", "Qatari".
_PEOPLE = ("ian", "ean", "an", "n", "ese", "i", "ish")

_SILENT = regex("[\u02b0-\u02ff`\u00b4]")  # Marks of transliteration: no keyboard has them.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_APOSTROPHE = regex("[\u2018\u2019\u201b\u2032\u02bc]")
_POSSESSIVE = regex(r"(?<!\s)\s*+'\s?[sS]\b|'(?=\s|$)")
_DOTTED = regex(r"(?<!\w)(?:[^\W\d_]\.){2,}(?:[^\W\d_](?!\w))?|(?<!\w)[^\W\d_]\.[^\W\d_](?!\w)")
_GROUPED = regex(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = regex(r"\d+(?:st|nd|rd|th)(?![^\W_])|\d+|[^\W\d_]+(?:'[^\W\d_]+)*[+#]*", re.IGNORECASE)
_ASIDE = regex(r"(?<!\s)\s*+\(([^()]*+)\)")
_QUOTED = regex(r"(?<!\s)\s*+[\"“”«»]\s*+([^\s\"“”«»]++(?:\s++[^\s\"“”«»]++)*+)\s*+[\"“”«»]")
_TURNED = regex(r"([^,]+),\s*([^,]+)")


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a name, taken apart."""

    #: The name but for case, accents and spaces.
    same: str
    #: Its words without articles, titles and legal forms; numbers as digits.
    words: tuple[str, ...]
    #: What must agree: numbers, years, versions; and sides such as "north" or "junior".
    numbers: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    legal: frozenset[str] = frozenset()
    #: Its letters, if it is written as an acronym.
    acronym: str = ""
    #: Written family name first: "Smith, Bob".
    turned: bool = False

    @property
    def spelled(self) -> tuple[str, ...]:
        """The words that are no numbers."""
        return tuple(word for word in self.words if not word.isdigit())


@lru_cache(maxsize=65536)
def variants(text: str, type: str) -> tuple[Form, ...]:
    """The forms of a name: as it stands, and without or by what it says in quotes or brackets."""
    texts = [text]
    if aside := _ASIDE.search(text):
        texts.append(_ASIDE.sub(" ", text))
        # In brackets stands a name only where it is an acronym; else it tells names apart.
        texts = [texts[1], aside[1]] if aside[1].isupper() else [text]
    if type == "person" and (quoted := _QUOTED.search(text)) and quoted.start() > 0:
        texts = [text, _QUOTED.sub(" ", text), f"{quoted[1]} {text[quoted.end() :]}"]
    forms = (_form(each, type) for each in texts)
    return tuple(dict.fromkeys(form for form in forms if form.words))


def blocks_of(form: Form, type: str) -> set[str]:
    """The blocks that a known name is filed under."""
    return {
        *_shared_blocks(form, type),
        *(own + word for own, _, word in _paired_blocks(form, type)),
    }


def blocks_to_search(form: Form, type: str) -> list[str]:
    """The blocks in which a new name finds those it could be, the most telling first."""
    facing = (other + word for _, other, word in _paired_blocks(form, type))
    return list(dict.fromkeys((*_shared_blocks(form, type), *facing)))


def order_free_key(words: tuple[str, ...]) -> str:
    """Words in any order, in the singular."""
    return "~" + " ".join(sorted(map(singular, words)))


def _shared_blocks(form: Form, type: str) -> Iterator[str]:
    """Blocks for what is alike on both sides."""
    yield "=" + form.same
    yield order_free_key(form.words)
    yield "+" + "".join(form.words)
    if type == "place":
        yield from ("@" + root for root in roots(form))
    if type == "person" and len(form.words) > 1:
        yield from (f"{name}, {form.words[-1]}" for name in nicknames(form.words[0]))
        if len(form.words) > 2:
            yield from (order_free_key(form.words[:2]), order_free_key(form.words[-2:]))


def _paired_blocks(form: Form, type: str) -> Iterator[tuple[str, str, str]]:
    """Blocks for what has a counterpart: its own side, the other side, the word."""
    if form.acronym:
        yield "short:", "long:", form.acronym
    yield from (("long:", "short:", letters) for letters in initials(form))
    if type == "person" and len(form.words) > 1:
        first, last = form.words[0], form.words[-1]
        sides = ("initial:", "given:") if len(first) == 1 else ("given:", "initial:")
        yield (*sides, first[0] + last)
    # A lone word of unknown type may be a person's.
    if type == "person" or (type == ANY_ENTITY and is_single(form)):
        sides = ("part:", "whole:") if is_single(form) else ("whole:", "part:")
        yield from ((*sides, word) for word in {form.words[-1], *nicknames(form.words[0])})


def is_single(form: Form) -> bool:
    """Whether a name is one word, but for what belongs before a family name."""
    return all(word in PARTICLES for word in form.words[:-1])


def nicknames(word: str) -> set[str]:
    """A given name and those it may be short for."""
    return {word, *(name for name, _ in CALLED.get(word, ()))}


def initials(form: Form) -> set[str]:
    """What an acronym of a name of several words would be."""
    words = form.spelled
    large = [word for word in words if word not in SMALL_WORDS]
    every = {"".join(word[0] for word in each) for each in (words, large) if len(each) > 1}
    return {letters for letters in every if len(letters) in ACRONYM_CHARS}


def roots(form: Form) -> set[str]:
    """What a place and its people have in common; what the table knows is left to the table."""
    name = " ".join(form.words)
    name = name if name in _PLACE else " ".join((*form.words[:-1], singular(form.words[-1])))
    if name in _PLACE:
        return {_PLACE[name]}
    if len(form.words) > 1 or form.numbers or len(name) < 4:
        return set()
    bare = name.rstrip("aeiouy")
    return {
        bare,
        *(name.removesuffix(end).rstrip("aeiouy") for end in _PEOPLE if name.endswith(end)),
    }


def singular(word: str) -> str:
    """A word without the s of its plural."""
    if len(word) < 4 or word.endswith(("ss", "us", "is")) or not word.endswith("s"):
        return word
    return word[:-1]


def halves(word: str, length: int) -> Iterator[str]:
    """Two ends of a word, cut as one of this length: a slip of the pen leaves one of them whole."""
    size = (length - 1) // 2
    yield f"{length}<{word[:size]}"
    yield f"{length}>{word[-size:]}"


def _form(text: str, type: str) -> Form:
    written = same(text)
    turned = _TURNED.fullmatch(text.strip()) if type == "person" else None
    if turned and not all(fold(word) in _MARK for word in _WORD.findall(turned[2])):
        text = f"{turned[2]} {turned[1]}"
    else:
        turned = None
    plain = _POSSESSIVE.sub("", _APOSTROPHE.sub("'", _GROUPED.sub("", text)))
    if type != "person":  # Initials of a person stay apart.
        plain = _DOTTED.sub(lambda found: found[0].replace(".", ""), plain.replace("&", " and "))
    tokens = _WORD.findall(_SILENT.sub("", plain))[:_MOST_WORDS]
    words = [_plain(token, place, tokens, type) for place, token in enumerate(tokens)]
    words = [word for word in words if word and word != "the"] or words
    titles, words = _cut_titles(words) if type == "person" else (frozenset[str](), words)
    legal, words = _cut_legal_forms(words) if type != "person" else (frozenset[str](), words)
    shouted = [token for token in tokens if not token[0].isdigit()]
    return Form(
        same=written,
        words=tuple(words),
        numbers=tuple(sorted(word for word in words if word.isdigit())),
        marks=frozenset(_MARK[word] for word in words if word in _MARK),
        titles=titles,
        legal=legal,
        acronym=_letters_of(shouted[0]) if len(shouted) == 1 else "",
        turned=turned is not None,
    )


def _plain(token: str, place: int, tokens: list[str], type: str) -> str:
    """A word as it is compared; a number in digits, however it was written."""
    is_last = place == len(tokens) - 1
    # "I" may be a word or an initial; a numeral stands at the end, and never alone.
    if token in _ROMAN and place > 0 and (len(token) > 1 or is_last or type == "event"):
        return _ROMAN[token]
    word = fold(token).translate(_PLAIN).replace("'", "")
    if word[:1].isdigit():
        return word.rstrip("stndrh")
    return _NUMBER.get(word, word) if len(tokens) > 1 and type != "person" else word


def _cut_titles(words: list[str]) -> tuple[frozenset[str], list[str]]:
    count = 0
    while count < len(words) - 1 and words[count] in TITLES:
        count += 1
    return frozenset(words[:count]), words[count:]


def _cut_legal_forms(words: list[str]) -> tuple[frozenset[str], list[str]]:
    count = len(words)
    while count > 1 and words[count - 1] in _LEGAL:
        count -= 1
    found = frozenset(_SAME_LEGAL.get(word, word) for word in words[count:])
    if found and count > 1 and words[count - 1] == "and":
        count -= 1  # "Smith & Co."
    return found, words[:count]


def _letters_of(token: str) -> str:
    letters = token.removesuffix("s") if len(token) > 2 else token
    return fold(letters) if letters.isupper() and len(letters) in ACRONYM_CHARS else ""


#: What a part of a person's name scores at most.
#: Made on one half of the labelled pairs (docs/howto/entity-resolution.md).
PART = 0.86
#: The first letters of a word are seldom a slip: they are another prefix.
_SURE_CHARS = 3
#: What a type that nobody knows takes away. By hand, not measured.
_UNTYPED = 0.01


_Rule = Callable[[Form, Form], "Likeness"]
_Forms = tuple[Form, ...]
#: Each name as it was written -> its forms.
_Names = dict[str, _Forms]


class Name(NamedTuple):
    """What an entity is called."""

    text: str
    type: str = ANY_ENTITY
    aliases: tuple[str, ...] = ()


class Likeness(NamedTuple):
    """How likely two names are one entity's, and what speaks for it or against it."""

    score: float
    evidence: tuple[str, ...] = ()


NOT_ALIKE = Likeness(0.0)


def likeness(a: Name, b: Name) -> Likeness:
    """The best that any two of their names and aliases have in common."""
    if ANY_ENTITY not in (a.type, b.type) and a.type != b.type:
        return Likeness(0.0, ("another type",))
    type = b.type if a.type == ANY_ENTITY else a.type
    known = _names_of(a, type), _names_of(b, type)
    mine, others = _fullest(*known) if type == "person" else known
    rules = _rules(a, b)
    found = (
        (_alike(one, other, rules), ours, theirs)
        for ours, forms in mine.items()
        for theirs, more in others.items()
        for one in forms
        for other in more
    )
    best, ours, theirs = max(found, key=lambda each: each[0].score, default=(NOT_ALIKE, "", ""))
    if not best.score:
        return best
    is_very_name = best.score == 1 and ours == a.text
    if len(known[0]) + len(known[1]) > 2 and not is_very_name:
        against = _contradiction(known[0], ours, known[1], theirs, type)
        if against:
            return Likeness(0.0, (against,))
    if a.type == b.type:
        return best
    return Likeness(best.score - _UNTYPED, (*best.evidence, "one type unknown"))


def _names_of(name: Name, type: str) -> _Names:
    texts = dict.fromkeys((name.text, *name.aliases))
    return {text: forms for text in texts if (forms := variants(text, type))}


def _fullest(a: _Names, b: _Names) -> tuple[_Names, _Names]:
    """Full names alone, where both have one: "Bob" Smith is not "Bob" Jones."""
    full = [
        {
            text: some
            for text, forms in each.items()
            if (some := tuple(form for form in forms if not is_single(form)))
        }
        for each in (a, b)
    ]
    return (full[0], full[1]) if all(full) else (a, b)


def _contradiction(a: _Names, ours: str, b: _Names, theirs: str, type: str) -> str | None:
    """What keeps two apart although one name of the first is like one of the second: any other
    names of theirs that contradict each other. Those that contradict the like ones too say nothing:
    somebody said before that they are one's all the same."""
    mine = [t for t in a if t == ours or not _contradict(a[t], a[ours], type)]
    others = [t for t in b if t == theirs or not _contradict(b[t], b[theirs], type)]
    for one in mine:
        for other in others:
            if (one, other) == (ours, theirs):
                continue
            if against := _contradict(a[one], b[other], type):
                return against
    return None


def _contradict(a: _Forms, b: _Forms, type: str) -> str | None:
    """What keeps two names apart, however they are read."""
    found = [_find_opposition(one, other, type) for one in a for other in b]
    return found[0] if all(found) else None


def _find_opposition(a: Form, b: Form, type: str) -> str | None:
    """Why two names cannot be one entity's. That one of them says less is no reason."""
    if a.same == b.same:
        return None
    if a.numbers and b.numbers and a.numbers != b.numbers:
        return "numbers differ"
    if a.marks and b.marks and not a.marks & b.marks:
        return "sides differ"
    if against := _titles_differ(a, b):
        return against
    if type == "person" and not is_single(a) and not is_single(b) and _others(a, b):
        return "another of the names differs"
    return None


def _others(a: Form, b: Form) -> bool:
    """Whether two full names that have something in common are of two people."""
    ends = a.words[-1], b.words[-1]
    shared = ends[0] == ends[1] or bool(_match_words(a.words[0], b.words[0]))
    if not shared or sorted(a.words) == sorted(b.words) or _alike(a, b, _PERSON_RULES).score:
        return False
    short, long = sorted((a.words[:-1], b.words[:-1]), key=len)
    return not is_slip(*ends) or "differ" in _match_given_names(short, long)


def _rules(a: Name, b: Name) -> tuple[_Rule, ...]:
    if "person" in (a.type, b.type):
        return _RULES if _is_loose(a, b) else _PERSON_RULES
    return _PLACE_RULES if a.type == b.type == "place" else _RULES


def _is_loose(a: Name, b: Name) -> bool:
    """Whether an untyped name is longer than the person's: "Pippa's Picnic" is not Pippa."""
    if a.type == b.type:
        return False
    untyped, typed = (a, b) if a.type == ANY_ENTITY else (b, a)
    return _size(untyped) > _size(typed)


def _size(name: Name) -> int:
    return max((len(form.words) for form in variants(name.text, "person")), default=0)


def _alike(a: Form, b: Form, rules: tuple[_Rule, ...]) -> Likeness:
    if a.same == b.same:
        return Likeness(1.0, ("same name",))
    if veto := _veto(a, b):
        return Likeness(0.0, (veto,))
    return max((rule(a, b) for rule in rules), key=lambda each: each.score)


def _veto(a: Form, b: Form) -> str | None:
    if a.numbers != b.numbers:
        return "numbers differ"
    # An acronym does not tell its sides: "NATO" begins with "North".
    if a.marks != b.marks and not (a.acronym or b.acronym):
        return "sides differ"
    return _titles_differ(a, b)


def _titles_differ(a: Form, b: Form) -> str | None:
    """Whether what a firm or a person bears before or after the name contradicts the other's."""
    if a.legal and b.legal and a.legal != b.legal:
        return "legal forms differ"
    ranks = a.titles - PLAIN_TITLES, b.titles - PLAIN_TITLES
    if all(ranks) and not ranks[0] & ranks[1]:
        return "titles differ"
    genders = _gender(a), _gender(b)
    return "titles differ" if all(genders) and genders[0] != genders[1] else None


def _gender(form: Form) -> str:
    """What titles, else a given name, tell of a person's gender."""
    told = {TITLES[title] for title in form.titles} - {""}
    if not told and len(form.words) > 1:
        told = {gender for _, gender in CALLED.get(form.words[0], ())}
    return told.pop() if len(told) == 1 else ""


def _equal(a: Form, b: Form) -> Likeness:
    """The same words, but for punctuation, articles, titles, legal forms, spaces."""
    if a.words == b.words:
        if a.turned != b.turned:
            return Likeness(0.97, ("family name first",))
        if a.titles != b.titles:
            return Likeness(0.95, ("same but for a title",))
        if a.legal != b.legal:
            return Likeness(0.96, ("same but for the legal form",))
        return Likeness(0.99, ("same words",))
    joined = "".join(a.words)
    if len(joined) > 4 and joined == "".join(b.words):
        return Likeness(0.97, ("same letters",))
    return NOT_ALIKE


def _reordered(a: Form, b: Form) -> Likeness:
    # Not with other small words: "York University" is not the "University of York".
    if len(a.words) > 1 and a.words != b.words and sorted(a.words) == sorted(b.words):
        return Likeness(0.92, ("same words in another order",))
    return NOT_ALIKE


def _plural(a: Form, b: Form) -> Likeness:
    if a.words != b.words and list(map(singular, a.words)) == list(map(singular, b.words)):
        return Likeness(0.93, ("plural",))
    return NOT_ALIKE


def _acronym(a: Form, b: Form) -> Likeness:
    for short, long in ((a, b), (b, a)):
        if short.acronym and short.acronym in initials(long):
            return Likeness(0.95 if len(short.acronym) > 2 else 0.93, ("acronym",))
    return NOT_ALIKE


def _slip(a: Form, b: Form) -> Likeness:
    """All words equal but one, which differs by one slip of the pen."""
    if len(a.words) != len(b.words):
        return NOT_ALIKE
    differ = [pair for pair in zip(a.words, b.words, strict=True) if pair[0] != pair[1]]
    if len(differ) != 1 or not is_slip(*differ[0]):
        return NOT_ALIKE
    return Likeness(0.9, (f"spelling: {differ[0][0]}, {differ[0][1]}",))


def is_slip(a: str, b: str) -> bool:
    """Whether two long words differ by one letter more, less, other, or by two that changed places.

    Not at either end: there a letter makes another word ("adsorption", "Daniela").
    """
    if min(len(a), len(b)) < SLIP_CHARS or abs(len(a) - len(b)) > 1:
        return False
    if a[:_SURE_CHARS] != b[:_SURE_CHARS] or a[-1] != b[-1]:
        return False
    shared = zip(a, b, strict=False)
    start = next((place for place, (one, other) in enumerate(shared) if one != other), len(a))
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    rest = a[start : len(a) - end], b[start : len(b) - end]
    return max(map(len, rest)) < 2 or (len(rest[0]) == 2 and rest[0] == rest[1][::-1])


def _people(a: Form, b: Form) -> Likeness:
    """A place and its other names, or its people."""
    if roots(a) & roots(b):
        return Likeness(0.94, ("names of one place",))
    return NOT_ALIKE


def _full(a: Form, b: Form) -> Likeness:
    """Two names of a person with the same family name and given names that agree."""
    short, long = sorted((a.words, b.words), key=len)
    if len(short) < 2 or is_single(a) or is_single(b) or short[-1] != long[-1]:
        return NOT_ALIKE
    how = list(_match_given_names(short[:-1], long[:-1]))
    if "differ" in how:
        return NOT_ALIKE
    if how.count("initial") == len(how) == 1:
        return Likeness(PART - 0.02, ("one initial",))
    if "nickname" in how:
        return Likeness(0.92, ("nickname",))
    if "initial" in how:
        return Likeness(0.94, ("initials",))
    return Likeness(0.95, ("a given name left out",))


def _match_given_names(short: tuple[str, ...], long: tuple[str, ...]) -> Iterator[str]:
    """How each given name of the shorter finds its like in the longer, in order."""
    left = list(long)
    for place, word in enumerate(short):
        found = next((i for i, other in enumerate(left) if _match_words(word, other)), None)
        if found is None or (place == 0 and found):
            yield "differ"
            return
        yield _match_words(word, left[found])
        left = left[found + 1 :]


def _match_words(a: str, b: str) -> str:
    if a == b:
        return "equal"
    if (len(a) == 1 or len(b) == 1) and a[0] == b[0]:
        return "initial"
    return "nickname" if _is_short_for(a, b) or _is_short_for(b, a) else ""


def _is_short_for(a: str, b: str) -> bool:
    """Whether the first is another form of the second; Bob and Rob are two, Bob and Bobby one."""
    return b in nicknames(a) or (b.startswith(a) and bool(nicknames(a) & nicknames(b)))


def _part(a: Form, b: Form) -> Likeness:
    """One word of a person's name for the whole: a given name, a family name."""
    short, long = sorted((a.words, b.words), key=len)
    word = short[0]
    if len(short) > 1 or len(long) == 1 or len(word) == 1:
        return NOT_ALIKE
    if word == long[-1]:
        return Likeness(PART, ("family name",))
    if word == long[0]:
        return Likeness(PART - 0.01, ("given name",))
    if _match_words(word, long[0]) == "nickname":
        return Likeness(PART - 0.03, ("given name", "nickname"))
    return NOT_ALIKE


def _parts(a: Form, b: Form) -> Likeness:
    """Several words of a person's name for the whole."""
    short, long = sorted((a.words, b.words), key=len)
    if 1 < len(short) < len(long):
        if long[-len(short) :] == short:
            return Likeness(0.91, ("family names",))
        if long[: len(short)] == short:
            return Likeness(PART - 0.01, ("given names",))
    return NOT_ALIKE


_RULES: tuple[_Rule, ...] = (_equal, _reordered, _plural, _acronym, _slip)
_PLACE_RULES = (*_RULES, _people)
_PERSON_RULES: tuple[_Rule, ...] = (_equal, _full, _part, _parts, _acronym, _slip)
