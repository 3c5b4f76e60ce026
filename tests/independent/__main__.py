"""`python -m tests.independent` recomputes every number; `--write` fills README.md here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.independent.checks import CHECKS
from tests.independent.table import PAGE, Row, computed, filled, line, summary


def main(argv: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(argv)
    if asked.write and asked.only:
        parser().error("--write fills the page with all numbers: leave the part of a name out")
    checks = [check for check in CHECKS if asked.only.lower() in str(check[:2]).lower()]
    if not checks:
        print(f"no number's name or document has {asked.only!r} in it", file=sys.stderr)
        return 2
    print("         committed (MCSE)       found here (SE)     apart, allowed")
    rows = []
    try:
        for row in computed(checks):
            print(line(row), flush=True)
            rows.append(row)
    except (LookupError, OSError) as error:  # results that are not there, or have another form
        print(f"no committed number to compare with: {error}", file=sys.stderr)
        return 2
    print(told(rows))
    if asked.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return 0 if all(row.verdict.agrees for row in rows) else 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.independent", description=__doc__)
    made.add_argument("only", nargs="?", default="", help="a part of a number's name or document")
    made.add_argument("--write", action="store_true", help=f"fill the tables of {PAGE.name}")
    return made


def told(rows: Sequence[Row]) -> str:
    imported = [name for name in ("simstudy", "experiments") if name in sys.modules]
    took = f"It took {sum(row.seconds for row in rows):.0f} s"
    return f"{summary(rows)} {took}; imported of the project: {', '.join(imported) or 'nothing'}."


if __name__ == "__main__":
    sys.exit(main())
