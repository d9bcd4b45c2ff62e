"""The closed lists of words that several readers need, each written once.

A list is plain text, its words in a row: `word_set` makes a set of it, `any_of` the alternatives of
a pattern. Readers differ in whom they mean by "family": their lists are put together from the
common ones where they are used, or stand here side by side.
"""

from __future__ import annotations


def word_set(*lists: str) -> frozenset[str]:
    """The words of some lists as a set."""
    return frozenset(" ".join(lists).split())


def any_of(*lists: str) -> str:
    """The words of some lists as alternatives of a pattern: `a|b|c`."""
    return "|".join(" ".join(lists).split())


def plural(words: str, ending: str = "s") -> str:
    """A list with an ending behind each word; "s?" for one or several in a pattern."""
    return " ".join(word + ending for word in words.split())


# Times.
MONTHS = """
january february march april may june july august september october november december
"""
#: Without "may", which is a verb far more often.
SURE_MONTHS = MONTHS.replace(" may ", " ")
SHORT_MONTHS = "jan feb mar apr jun jul aug sept sep oct nov dec"
#: A month in a pattern, written out or short: the longer forms first.
MONTH = any_of(MONTHS, SHORT_MONTHS)
#: How each begins, in their order.
MONTH_STARTS = tuple(month[:3] for month in MONTHS.split())
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAY_STARTS = tuple(day[:3] for day in WEEKDAYS.split())
#: A weekday in a pattern.
WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
SEASONS = "spring summer autumn fall winter"

# Numbers in words, from one and the first upwards.
CARDINALS = "one two three four five six seven eight nine ten eleven twelve"
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"

# People.
#: What is written with a full stop before a name.
TITLES = "Dr Mr Mrs Ms Prof"
#: Kin who are told apart by their gender: forms for one are side by side.
KIN_BY_GENDER = (
    "father dad/mother mum mom", "son/daughter", "brother/sister", "uncle/aunt", "husband/wife",
)  # fmt: skip
BLOOD_KIN = "mother father brother sister son daughter"
NEAREST_KIN = f"{BLOOD_KIN} husband wife"
COUPLE = "wife husband partner girlfriend boyfriend fiance fiancee fiancé fiancée"
_ONE_OR_TWO = f"{COUPLE} mother father mum mom dad uncle aunt niece nephew"
_SEVERAL = "daughter son brother sister cousin"
KIN = f"{_ONE_OR_TWO} {_SEVERAL}"
GRANDPARENTS = "grandmother grandfather grandma grandpa"
#: Kin in a pattern, one or several of them, and those who are told in no other way.
RELATIVES = any_of(
    _ONE_OR_TWO, plural(_SEVERAL, "s?"), "kids? child children parents twins grand[a-z]+"
)

PETS = "dog cat rabbit puppy kitten horse parrot hamster tortoise"
#: The same in a pattern, one or several.
PET = any_of(plural("dog cat rabbit", "s?"), "puppy kitten horse parrot hamster tortoise fish")

#: Languages that people ask to be answered in.
LANGUAGES = """
arabic bengali cantonese catalan chinese czech danish dutch english finnish french german greek
hebrew hindi hungarian indonesian irish italian japanese korean latin malay mandarin norwegian
persian polish portuguese punjabi romanian russian spanish swahili swedish tagalog tamil thai
turkish ukrainian urdu vietnamese welsh yoruba
"""
