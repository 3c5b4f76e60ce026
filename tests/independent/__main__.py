"""`python -m tests.independent` recomputes every number; `--write` fills README.md here."""

import argparse
import sys

from tests.independent.table import PAGE, computed, filled, markdown, summary


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.independent", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"fill the tables of {PAGE.name}")
    asked, rows = parser.parse_args(), []
    for row in computed():
        print(markdown(row), flush=True)
        rows.append(row)
    print(summary(rows))
    if asked.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return 0 if all(row.verdict.agrees for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
