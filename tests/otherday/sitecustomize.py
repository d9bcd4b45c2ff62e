"""Loaded by every Python process of the suite that runs on another day: its clock stands ahead."""

import os
import time

import time_machine

# A number, not a date: one with a zone would change the zone, too.
time_machine.travel(time.time() + int(os.environ["OTHER_DAY_AHEAD"]), tick=True).start()
