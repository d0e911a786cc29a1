"""`python -m warpforge.export`."""

import sys

from warpforge.export.command import main

sys.exit(main(sys.argv[1:]))
