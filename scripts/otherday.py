"""A day, a time and a place that are not those of this machine, drawn from a seed.

What a test takes from the clock unsaid shows on another day: a leap day, the turn of a year, the
night in which summer time begins or ends. The clock is set in every Python process of the suite
(tests/otherday). It starts some minutes before the moment in question, so that a part of the tests
runs on either side of it.

Not by libfaketime: with it, a thread of Python that waits for its turn spins instead, and the tests
take up to 25 times as long. What asks the system itself (TLS, the times of files) stays on today.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

_HERE = Path(__file__).parents[1] / "tests" / "otherday"
#: Where days begin hours before or after those of UTC; the second half knows summer time.
STEADY = ("Asia/Kathmandu", "Pacific/Kiritimati", "Pacific/Pago_Pago")
SHIFTING = ("Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe")
_BEFORE = timedelta(minutes=2)


@dataclass(frozen=True)
class OtherDay:
    """When and where the suite runs."""

    kind: str
    #: In UTC.
    starts: datetime
    zone: str

    def __str__(self) -> str:
        there = self.starts.astimezone(ZoneInfo(self.zone))
        return f"{self.kind}, {there:%Y-%m-%d %H:%M} in {self.zone}"

    def settings(self, now: datetime) -> Mapping[str, str]:
        """What to lay over the environment so that processes live on that day."""
        # Seconds from now, not a date: a process that starts later must not begin anew.
        ahead = round((self.starts - now).total_seconds())
        return {
            "TZ": self.zone,
            "OTHER_DAY_AHEAD": str(ahead),
            "PYTHONPATH": str(_HERE),
        }


def drawn(seed: int, now: datetime) -> OtherDay:
    """The same for the same seed and year."""
    rng = random.Random(seed)
    kind, moment = rng.choice(list(_KINDS.items()))
    zone = rng.choice(SHIFTING if "summer" in kind else STEADY + SHIFTING)
    return OtherDay(kind, moment(rng, ZoneInfo(zone), now.year + 1) - _BEFORE, zone)


def _leap_day(rng: random.Random, zone: ZoneInfo, year: int) -> datetime:
    leap = next(each for each in range(year, year + 9) if _is_leap(each))
    first = datetime(leap, 2, 29, tzinfo=zone)
    return rng.choice((first, first + timedelta(days=1))).astimezone(UTC)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _new_year(rng: random.Random, zone: ZoneInfo, year: int) -> datetime:
    return datetime(year, 1, 1, tzinfo=rng.choice((zone, ZoneInfo("UTC")))).astimezone(UTC)


def _shift(rng: random.Random, zone: ZoneInfo, year: int) -> datetime:
    """One of the moments at which the clocks are changed."""
    first = datetime(year, 1, 1, tzinfo=UTC)
    quarters = [first + timedelta(minutes=15 * n) for n in range(366 * 24 * 4)]
    offsets = [each.astimezone(zone).utcoffset() for each in quarters]
    changes = [quarters[n] for n in range(1, len(quarters)) if offsets[n] != offsets[n - 1]]
    return rng.choice(changes)


def _any_day(rng: random.Random, zone: ZoneInfo, year: int) -> datetime:
    first = datetime(year, 1, 1, tzinfo=zone)
    return (first + timedelta(minutes=rng.randrange(2 * 365 * 24 * 60))).astimezone(UTC)


_KINDS: Mapping[str, Callable[[random.Random, ZoneInfo, int], datetime]] = {
    "a leap day": _leap_day,
    "the turn of a year": _new_year,
    "a change of summer time": _shift,
    "some day": _any_day,
}
