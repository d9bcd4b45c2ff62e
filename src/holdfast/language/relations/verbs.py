"""The verbs that join two names in plain speech, in all their forms.

Not a dictionary: the everyday verbs of moving, meeting, working, making, owning and liking, so
that a relation is found without a parse.
"""

from __future__ import annotations

_REGULAR = """
accept acquire adopt appear arrive attend belong bike bake book borrow call cancel cause celebrate
chat climb coach collaborate confirm contact contradict cook create depend design direct discover
email enjoy enter explore finish fix follow found graduate guide hate hike hire host help identify
intern introduce invite invent join launch learn like live love manage marry mentor miss move
organise organize open own paint perform phone plant play precede prefer prepare prescribe
produce promote publish raise receive recommend record refute relate release relocate rent repair
replace report represent rescue result return review score share ski sponsor start stay study
support teach text thank trace train transfer travel trigger try use visit volunteer walk want
watch welcome work
"""
_IRREGULAR = """
became began bought bring brings brought build builds building built buy buys buying came caught
come comes coming drive drives driving drove drew fell flew fly flies flying found gave give gives
giving go goes going gone got grew hear heard held hold holds keep keeps kept knew know knows leave
leaves leaving led lead leads leading left lost made make makes making married meet meets meeting
met paid pay pays ran read reading reads ride rides riding rode run runs running sang saw see sees
seen sell sells selling sent sing sings sold speak speaks spoke spent take takes taking taught
teaches teaching told took went win wins winning won wore write writes writing written wrote
named called engaged correlated associated mentioned cited described hired had has have
"""
_VOWELS = "aeiou"


def _forms(verb: str) -> tuple[str, ...]:
    """The forms of a regular verb: move, moves, moved, moving."""
    if verb.endswith("e"):
        return verb, f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb, f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"
    ending = "es" if verb.endswith(("s", "x", "ch", "sh")) else "s"
    return verb, f"{verb}{ending}", f"{verb}ed", f"{verb}ing"


#: The longest first: a pattern must not stop at "live" in "lives".
VERB_FORMS: tuple[str, ...] = tuple(
    sorted(
        {form for verb in _REGULAR.split() for form in _forms(verb)} | set(_IRREGULAR.split()),
        key=lambda form: (-len(form), form),
    )
)
