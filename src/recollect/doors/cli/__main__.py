"""`python -m recollect.doors.cli`: the command line without an installed script."""

import sys

from recollect.doors.cli import main

sys.exit(main())
