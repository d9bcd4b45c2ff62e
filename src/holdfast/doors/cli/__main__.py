"""`python -m holdfast.doors.cli`: the command line without an installed script."""

import sys

from holdfast.doors.cli import main

sys.exit(main())
