"""Closed classes that decide whether a clause states something, and of what."""

from __future__ import annotations

#: Labels of a model for what is counted or measured, never a name.
NUMBER_LABELS = frozenset(("DATE", "TIME", "CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY"))
IF = frozenset(("if", "unless", "whether", "whenever"))

_MODALS = "would could should might may can must ca wo 'd ’d"
_DOUBTS = "never hardly maybe perhaps possibly barely"
_WISHES = (
    "hope want wish plan like need try expect intend consider dream wonder ask refuse fail let"
)
_LOOSE = """
after as before beyond by despite during for like off over per since than under unlike until within
without
"""
_VAGUE = """
amount anyone anything assistance back best bit blast boost break bunch bye call care case chance
congrats control couple day deal decision difference direction doubt effort end error evening
everyone everything eye fan favorite favourite feeling few fun go good great haha hand head heart
hello help hour hunt idea joy kind lease life look lookout lot luck magic middle mind minute
moment month morning night nothing number one other part people piece place point progress reality
reason rest sense side someone something sort start step stuff support thank thanks thing thought
time today tomorrow ton top touch trouble try use way week while word work world year yesterday
"""
#: Short forms as they are kept in a phrase.
FULL = {
    mark + short: full
    for mark in "'’"
    for short, full in {"m": "am", "re": "are", "ve": "have", "ll": "will", "s": "is"}.items()
}
MODALS = frozenset(_MODALS.split())
DOUBTS = frozenset(_DOUBTS.split())
#: Verbs after which nothing has happened yet, or ever will.
WISHES = frozenset(_WISHES.split())
#: Prepositions that say when, how or why, not what; after them only a name counts.
LOOSE = frozenset(_LOOSE.split())
#: Nouns that name nothing one would look up.
VAGUE = frozenset(_VAGUE.split())
