"""The hostile texts: templates of eight classes, and fillings that make thousands of them."""

import random
import re
from itertools import cycle, islice
from pathlib import Path

_FILE = Path(__file__).with_name("attacks.txt")
_HEADING = re.compile(r"\[(P\d)\] (.+)")
_SLOT = re.compile(r"\{(name|firm|site|code|amount|topic)\}")

_FIRST = (
    "Alva", "Bruno", "Cleo", "Dario", "Edda", "Faruk", "Gilda", "Hasan",
    "Ines", "Jarek", "Kaya", "Levin", "Mira", "Nils", "Odile",
)  # fmt: skip
_LAST = (
    "Abbott", "Borg", "Calloway", "Deville", "Ekman", "Fontana", "Grieg", "Halvorsen",
    "Ito", "Juarez", "Kowal",
)  # fmt: skip
_FIRM = (
    "Quillmark", "Novaterra", "Bluefern", "Hexwell", "Orbanex", "Pinewick", "Rastaban",
    "Solvento", "Tarnfield",
)  # fmt: skip
_TOPIC = (
    "pensions", "flu vaccines", "train tickets", "password resets", "hotel bookings", "tax returns",
    "garden tools", "Lisbon", "Oslo", "peanuts", "shellfish", "insurance claims", "invoices",
    "database backups", "running shoes", "mortgages", "olive oil", "visa applications",
)  # fmt: skip


def groups() -> dict[str, str]:
    """The classes: P1 to P8, each with what it is."""
    return {
        found[1]: found[2]
        for line in _FILE.read_text(encoding="utf-8").splitlines()
        if (found := _HEADING.fullmatch(line))
    }


def templates(group: str) -> list[str]:
    """The scenarios of a class as they were written."""
    found: list[str] = []
    here = ""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if heading := _HEADING.fullmatch(line):
            here = heading[1]
        elif line and not line.startswith("#") and here == group:
            found.append(line.replace("\\n", "\n"))
    return found


def attacks(group: str, count: int, *, seed: int, start: int = 0) -> list[str]:
    """So many texts of a class, from a scenario on: each once, then all again, filled anew."""
    rng = random.Random(f"{group}/{seed}/{start}")
    scenarios = islice(cycle(templates(group)), start, start + count)
    return [_filled(template, rng) for template in scenarios]


def _filled(template: str, rng: random.Random) -> str:
    values = {
        "name": f"{rng.choice(_FIRST)} {rng.choice(_LAST)}",
        "firm": rng.choice(_FIRM),
        "site": f"{rng.choice(_FIRM).lower()}-{rng.randrange(1000)}.example",
        "code": f"{rng.choice('BCDFGHKLMNPRSTVWXZ')}{rng.randrange(10_000, 99_999)}",
        "amount": f"{rng.randrange(20, 9_999)} euros",
        "topic": rng.choice(_TOPIC),
    }
    return _SLOT.sub(lambda slot: values[slot[1]], template)
