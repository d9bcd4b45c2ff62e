"""A name taken apart for comparison: its words, and what must agree before any likeness counts.

`variants` gives the forms of a name, `filed` and `sought` its blocks: two names that could be one
meet in at least one, so that nobody compares a new name with all others. The word lists
are small and general on purpose; this module knows nothing about scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from holdfast.language.names.matching import same
from holdfast.language.terms import fold
from holdfast.language.vocabulary import ANY_ENTITY

#: Words of a name that are looked at, and the shortest word in which a slip of the pen is believed.
_MOST_WORDS = 16
SLIP_CHARS = 7
ACRONYM_CHARS = range(2, 9)

_MALE, _FEMALE = "m", "f"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


SMALL_WORDS = _set(
    "the a an of and for in on at to by de des du del della di da do dos la le les el los y e et"
    " und der die das den van von"
)
#: What stands before a family name and belongs to it.
PARTICLES = _set(
    "de del della di da do dos du la le van von der den ter ten el bin ibn abu mc st san santa"
)
_LEGAL = _set(
    "inc incorporated ltd limited llc llp lp plc corp corporation co company gmbh mbh ag kg sa sas"
    " sarl nv bv ab oy oyj asa spa srl kk pty pvt ulc"
)
_SAME_LEGAL = {
    "ltd": "limited", "inc": "incorporated", "corp": "corporation", "co": "company",
}  # fmt: skip
_TITLES_OF_ALL = _set(
    "dr doctor prof professor mx rev reverend hon president chancellor senator governor minister"
    " judge justice capt captain col colonel gen general lt lieutenant sgt sergeant maj major"
    " cmdr commander cardinal bishop archbishop rabbi imam saint coach chef"
)
_TITLES_OF_MEN = _set("mr mister sir lord king prince emperor duke count baron pope")
_TITLES_OF_WOMEN = _set(
    "mrs ms miss madam lady dame queen princess empress duchess countess baroness"
)
#: Title -> the gender it tells, if any.
TITLES = (
    dict.fromkeys(_TITLES_OF_ALL, "")
    | dict.fromkeys(_TITLES_OF_MEN, _MALE)
    | dict.fromkeys(_TITLES_OF_WOMEN, _FEMALE)
)
#: Titles that many bear at once: they say nothing against another of them.
PLAIN_TITLES = _set("dr doctor prof professor mr mister mrs ms mx miss")
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


def _called() -> dict[str, frozenset[tuple[str, str]]]:
    """Given name -> (who is called so, their gender), for each that may be."""
    found: dict[str, set[tuple[str, str]]] = {}
    for gender, groups in _NICKNAMES.items():
        for group in groups.split("/"):
            for word in group.split():
                found.setdefault(word, set()).add((group.split()[0], gender))
    return {word: frozenset(group) for word, group in found.items()}


CALLED = _called()
_OPPOSED = (
    "north northern/south southern/east eastern/west western/central",
    "northeast northeastern/northwest northwestern/southeast southeastern/southwest southwestern",
    "senior sr elder/junior jr younger", "upper/lower", "inner/outer", "new neo/old", "left/right",
    "greater/lesser", "big large/little small", "major/minor", "internal/external", "micro/macro",
    "male men mens man boys boy/female women womens woman girls girl", "primary/secondary",
    "father dad/mother mom mum", "son/daughter", "brother/sister", "uncle/aunt", "husband/wife",
    "spring/summer/autumn fall/winter", "pre/post", "pro/anti", "hyper/hypo", "beta/alpha/gamma",
    "early/late", "public/private", "import/export", "front/back", "indoor/outdoor", "input/output",
    "january/february/march/april/june/july/august/september/october/november/december",
    "monday/tuesday/wednesday/thursday/friday/saturday/sunday", "former/current", "mini max/plus",
)  # fmt: skip
_MARK = {
    word: side.split()[0] for row in _OPPOSED for side in row.split("/") for word in side.split()
}
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_CARDINALS = "one two three four five six seven eight nine ten eleven twelve"
_NUMBER = {
    word: str(number)
    for row in (_ORDINALS, _CARDINALS)
    for number, word in enumerate(row.split(), 1)
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

_SILENT = re.compile("[\u02b0-\u02ff`\u00b4]")  # Marks of transliteration: no keyboard has them.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_APOSTROPHE = re.compile("[\u2018\u2019\u201b\u2032\u02bc]")
_POSSESSIVE = re.compile(r"(?<!\s)\s*+'\s?[sS]\b|'(?=\s|$)")
_DOTTED = re.compile(
    r"(?<!\w)(?:[^\W\d_]\.){2,}(?:[^\W\d_](?!\w))?|(?<!\w)[^\W\d_]\.[^\W\d_](?!\w)"
)
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = re.compile(r"\d+(?:st|nd|rd|th)(?![^\W_])|\d+|[^\W\d_]+(?:'[^\W\d_]+)*[+#]*", re.IGNORECASE)
_ASIDE = re.compile(r"(?<!\s)\s*+\(([^()]*+)\)")
_QUOTED = re.compile(r"(?<!\s)\s*+[\"“”«»]\s*+([^\s\"“”«»]++(?:\s++[^\s\"“”«»]++)*+)\s*+[\"“”«»]")
_TURNED = re.compile(r"([^,]+),\s*([^,]+)")


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


def filed(form: Form, type: str) -> set[str]:
    """The blocks that a known name is filed under."""
    return {*_shared(form, type), *(own + word for own, _, word in _facing(form, type))}


def sought(form: Form, type: str) -> list[str]:
    """The blocks in which a new name finds those it could be, the most telling first."""
    facing = (other + word for _, other, word in _facing(form, type))
    return list(dict.fromkeys((*_shared(form, type), *facing)))


def ordered(words: tuple[str, ...]) -> str:
    """Words in any order, in the singular."""
    return "~" + " ".join(sorted(map(singular, words)))


def _shared(form: Form, type: str) -> Iterator[str]:
    """Blocks for what is alike on both sides."""
    yield "=" + form.same
    yield ordered(form.words)
    yield "+" + "".join(form.words)
    if type == "place":
        yield from ("@" + root for root in roots(form))
    if type == "person" and len(form.words) > 1:
        yield from (f"{name}, {form.words[-1]}" for name in given(form.words[0]))
        if len(form.words) > 2:
            yield from (ordered(form.words[:2]), ordered(form.words[-2:]))


def _facing(form: Form, type: str) -> Iterator[tuple[str, str, str]]:
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
        yield from ((*sides, word) for word in {form.words[-1], *given(form.words[0])})


def is_single(form: Form) -> bool:
    """Whether a name is one word, but for what belongs before a family name."""
    return all(word in PARTICLES for word in form.words[:-1])


def given(word: str) -> set[str]:
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
    titles, words = _titled(words) if type == "person" else (frozenset[str](), words)
    legal, words = _legal(words) if type != "person" else (frozenset[str](), words)
    shouted = [token for token in tokens if not token[0].isdigit()]
    return Form(
        same=written,
        words=tuple(words),
        numbers=tuple(sorted(word for word in words if word.isdigit())),
        marks=frozenset(_MARK[word] for word in words if word in _MARK),
        titles=titles,
        legal=legal,
        acronym=_acronym(shouted[0]) if len(shouted) == 1 else "",
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


def _titled(words: list[str]) -> tuple[frozenset[str], list[str]]:
    count = 0
    while count < len(words) - 1 and words[count] in TITLES:
        count += 1
    return frozenset(words[:count]), words[count:]


def _legal(words: list[str]) -> tuple[frozenset[str], list[str]]:
    count = len(words)
    while count > 1 and words[count - 1] in _LEGAL:
        count -= 1
    found = frozenset(_SAME_LEGAL.get(word, word) for word in words[count:])
    if found and count > 1 and words[count - 1] == "and":
        count -= 1  # "Smith & Co."
    return found, words[:count]


def _acronym(token: str) -> str:
    letters = token.removesuffix("s") if len(token) > 2 else token
    return fold(letters) if letters.isupper() and len(letters) in ACRONYM_CHARS else ""
