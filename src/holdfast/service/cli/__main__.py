"""`python -m holdfast.service.cli`: the command line without an installed script."""

import sys

from holdfast.service.cli import main

sys.exit(main())
