"""The command line of this folder's experiments: `python run.py experiment=NAME`."""

import sys

from simstudy.cli import main

if __name__ == "__main__":
    sys.exit(main(script=__file__))
