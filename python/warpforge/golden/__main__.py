"""`python -m warpforge.golden`."""

import sys

from warpforge.golden.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
