"""Pages of the documentation whose numbers are read from committed results."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # this repository's theory
