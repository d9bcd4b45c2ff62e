"""Who the user is and who is theirs, read from how people introduce them in passing.

    I'm Ann Lee, a nurse in Leeds        name, job, home
    Tom, my partner, ...                 family
    Rex (our dog, 4)                     pets

"I'm Ann" is a name only by its capital, so words that are written with one and are none (Dutch,
Catholic, Sorry, Senior) are known from closed lists; "my name is Christian" says enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.language.lexicon import (
    GRANDPARENTS,
    KIN,
    PETS,
    SURE_MONTHS,
    WEEKDAYS,
    any_of,
    word_set,
)
from holdfast.language.regex import regex
from holdfast.language.sentences import STOPS

_NEVER = word_set(f"""
american argentinian australian austrian bangladeshi belgian brazilian british bulgarian canadian
catalan chilean chinese colombian croatian cuban czech danish dutch egyptian english estonian
ethiopian european filipino finnish french german ghanaian greek hungarian icelandic indian
indonesian iranian iraqi irish israeli italian jamaican japanese jordanian kenyan korean latvian
lebanese lithuanian malaysian mexican moroccan nepali nigerian norwegian pakistani peruvian polish
portuguese romanian russian scottish serbian singaporean slovak slovenian spanish sudanese swedish
swiss syrian taiwanese thai turkish ukrainian venezuelan vietnamese welsh african asian latino
latina
atheist agnostic buddhist catholic christian hindu jewish mormon muslim orthodox protestant sikh
afraid alone available awake aware back bored busy cold confused cool curious dead disabled
divorced done down dying engaged excited exhausted fine free full gay glad going good grateful
great happy here home hungry ill in interested just late lost married mad new not off ok okay on
out over pregnant proud ready retired sad safe sick single so sorry stuck sure thankful thinking
tired trans up vegan vegetarian very well wondering working worried
accountant analyst architect artist attorney baker barista builder carpenter ceo cfo chef clerk
coach consultant cook cto dad dentist designer developer director doctor driver editor electrician
engineer farmer father firefighter founder freelancer gardener grandma grandpa guide hr intern it
journalist judge lawyer lecturer librarian manager mechanic mom mother mum musician nurse officer
owner painter paramedic parent pharmacist phd photographer pilot plumber president professor
programmer researcher sales scientist secretary singer student surgeon teacher technician
therapist translator tutor vet waiter waitress writer
senior junior lead head chief vice assistant associate deputy principal
{WEEKDAYS} {SURE_MONTHS}
""")
_NAME = (
    r"[A-Z][\w'\u2019-]{1,60}(?: (?:van |de |von |der |da |el ){0,3}[A-Z][\w'\u2019-]{1,60}){0,2}"
)
_MORE_KIN = """
spouse baby twin granddaughter grandson stepson stepdaughter stepmother stepfather
"""
_KIN = rf"(?:{any_of(KIN, GRANDPARENTS, _MORE_KIN)})"
_PET = (
    rf"(?:{any_of(PETS)}|turtle|bird|pony|guinea pig|budgie|ferret|beagle|labrador|greyhound"
    r"|terrier|poodle|collie|spaniel)"
)
_INTRODUCED = regex(
    r"(?:^|[.:!,;] |\b(?:and|hi|hey|hello) )(?P<how>(?i:i'm|i am|this is|my name is|my name's"
    rf"|name's)) (?P<name>{_NAME})(?P<after>,? .*|[.!,]|$)"
)
_TELLS = regex(r"name", re.I)
_AGE = regex(r"^, (?P<age>\d{1,2})(?=,|\.|$| )(?: years old)?")
_WORK = regex(
    r"^,? (?:and )?(?:(?:i'm |i am )?(?:an? |the |your ))?(?P<job>(?:[A-Za-z/-]+ ){0,4}?"
    r"(?:[A-Za-z]{3,}(?:er|or|ist|ian|eer|ant|yst|ect|man|woman)|nurse|chef|cook|coach|pilot|clerk|guide"
    r"|student|midwife|vet|judge|paramedic|mechanic|priest|poet|barista|ceo|cto|founder))"
    r"(?=[.,;!]|$| (?:at|for|in|from|based|with|and|who|by|of|living)\b)"
)
_AT = regex(rf"^ (?:at|for) (?:the )?(?P<employer>{_NAME}(?: & {_NAME})?)")
_PLACE = regex(
    r"^(?:,? (?:and )?(?:i'm |i |am |is |live |lives |living |based |currently |originally ))*"
    rf",? ?(?P<how>in|from|based in|out of) (?P<place>(?:the )?{_NAME}(?:, {_NAME})?)"
)
_OF_MINE = tuple(
    (field, regex(pattern))
    for field, noun in (("family", _KIN), ("pets", _PET))
    for pattern in (
        rf"\b(?:[Mm]y|[Oo]ur) (?:[a-z-]+ ){{0,2}}?(?P<noun>{noun}),? (?P<name>{_NAME})",
        rf"(?P<name>{_NAME}),? (?:is |\()?(?:my|our) (?:[a-z-]+ ){{0,2}}?(?P<noun>{noun})\b",
        rf"\b(?:[Tt]he|[Mm]y|[Oo]ur) (?P<noun>{noun}) \((?P<name>{_NAME})",
    )
)
_WANTED = regex(
    rf"\b(?:i|we) want (?P<what>[^{STOPS},;]{{2,60}}), not (?P<not>[^{STOPS},;]{{2,40}})", re.I
)


def read_introduction(text: str) -> Iterator[tuple[str, str]]:
    """What somebody says who tells a name: it, and the age, job, employer and place behind it."""
    found = _INTRODUCED.search(text)
    if found is None:
        return
    first = found["name"].partition(" ")[0].lower()
    if first not in _NEVER or _TELLS.search(found["how"]):
        yield "name", _bare(found["name"])
        yield from _behind(found["after"])


def find_family_and_pets(text: str) -> Iterator[tuple[str, str]]:
    """Family and pets by name: "my son Theo", "Mara, my wife", "Rex (our dog)"."""
    for field, pattern in _OF_MINE:
        for found in pattern.finditer(text):
            if found["name"].lower() not in _NEVER:
                yield field, f"{_bare(found['name'])} ({found['noun']})"


def wanted_of_two(text: str) -> str | None:
    """What somebody wants of two: "matte, not gloss"."""
    found = _WANTED.search(text)
    return f"{found['what']}, not {found['not']}" if found else None


def _behind(text: str) -> Iterator[tuple[str, str]]:
    """What stands behind a name, each part where the one before it ends."""
    if found := _AGE.match(text):
        yield "age", found["age"]
        text = text[found.end() :]
    if found := _WORK.match(text):
        yield "job", found["job"]
        text = text[found.end() :]
    if found := _AT.match(text):
        yield "employer", found["employer"]
        text = text[found.end() :]
    if found := _PLACE.match(text):
        yield "hometown" if found["how"] == "from" else "home", found["place"]


def _bare(name: str) -> str:
    return re.sub(r"['\u2019]s$", "", name)
