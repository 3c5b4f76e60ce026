"""Write the pages whose numbers come from committed results: `python docs/write.py [--check]`."""

import argparse
import sys
from pathlib import Path

from writing.pages import ROOT, Page, pages
from writing.refusals import PageError


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write the pages that differ; 1 where one cannot be written, or differs under --check.

    Every page is tried, so that one mistake does not hide the next.
    """
    check = _parser().parse_args(arguments).check
    found = list(pages(root))
    refused = [page for page in found if isinstance(page, PageError)]
    stale = [page for page in found if isinstance(page, Page) and not page.is_current()]
    for error in refused:
        print(error, file=sys.stderr)
    for page in stale:
        _tell(page, root, check=check)
    return 1 if refused or (check and stale) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing: list pages that differ, and exit 1"
    )
    return parser


def _tell(page: Page, root: Path, *, check: bool) -> None:
    """Say that a page differs, or write it."""
    if not check:
        page.path.write_text(page.text, encoding="utf-8", newline="\n")
    said = "differs: run `python docs/write.py`" if check else "written"
    print(f"{page.path.relative_to(root).as_posix()} {said}")


if __name__ == "__main__":
    sys.exit(main())
