"""The command `simstudy`, as `python -m simstudy`."""

import sys

from simstudy.cli import main

if __name__ == "__main__":
    sys.exit(main())
