"""Loaded by every Python process of the suite that runs on another day: `time.sleep` that works.

libfaketime 0.9.10 makes an invalid time of what `time.sleep` asks the kernel for, where the
monotonic clock is left alone. A wait for no file at all takes as long, and is not touched.
"""

import select
import time
from typing import SupportsIndex


def _sleep(seconds: float | SupportsIndex) -> None:
    select.select((), (), (), float(seconds))


time.sleep = _sleep
