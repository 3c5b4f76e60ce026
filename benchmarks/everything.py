"""What the whole command takes, drawn from nothing: every study of a group, study by study.

`python -m benchmarks.everything` prints a table of `benchmarks/README.md`; with that file's
name behind it, it puts it there. `--group NAME` takes another group than the project's own, and
settings (`scale=smoke`) are handed on. Results go into a folder of their own, and with it, unless
`out=FOLDER` says where they are to stay.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.pages import print_or_put, table
from simstudy.engine.workers import available_cores

ROOT = Path(__file__).resolve().parents[1]
ROW = re.compile(r"(?P<name>\S+)  +(?P<state>\S.*?)  +(?P<drawn>[\d,.]+ s|–)  +(?P<published>.*)")
NOTHING = "–"
WHAT = ("drawn", "published")


class Took(NamedTuple):
    """Seconds of a study, and what became of it."""

    name: str
    state: str
    drawn: float
    published: float

    @property
    def in_all(self) -> float:
        return self.drawn + self.published


def everything(settings: list[str]) -> tuple[list[Took], float]:
    """What each study took, and the whole by the clock, with all that Python loads.

    Raises
    ------
    SystemExit
        Where nothing could be read of it, with what the command said.
    """
    command = [sys.executable, "run.py", "all", *settings, "progress=false"]
    start = perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    seconds = perf_counter() - start
    found = rows_of(done.stdout)
    if not found:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return found, seconds


def rows_of(text: str) -> list[Took]:
    """The rows of the table that a sweep ends with."""
    last = text.rstrip("\n").split("\n\n")[-1].splitlines()
    rows = [row for line in last if (row := ROW.fullmatch(line.rstrip()))]
    return [
        Took(row["name"], row["state"], _seconds(row["drawn"]), _seconds(row["published"]))
        for row in rows
    ]


def _seconds(text: str) -> float:
    return 0.0 if text == NOTHING else float(text.removesuffix(" s").replace(",", ""))


def study_table(found: list[Took]) -> str:
    """A row for each, with its share of what all took."""
    whole = sum(each.in_all for each in found) or 1.0
    shown = [_row(each, whole) for each in found]
    drawn, published = (sum(getattr(each, what) for each in found) for what in WHAT)
    sums = [f"{drawn:.1f}", f"{published:.1f}"]
    head = ["study", "drawn (s)", "published (s)", "share"]
    return table(head, [*shown, ["in all", *sums, "100%"]])


def _row(each: Took, whole: float) -> list[str]:
    if not each.in_all:
        return [f"`{each.name}`", each.state, NOTHING, NOTHING]
    share = f"{each.in_all / whole:.0%}"
    return [f"`{each.name}`", f"{each.drawn:.1f}", f"{each.published:.1f}", share]


def is_place(setting: str) -> bool:
    """Whether a setting says where results go, which changes nothing of what is measured."""
    return setting.startswith("out=")


def main(arguments: list[str]) -> None:
    """Run it twice, and print the tables or put them into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", default="documents", help="which experiments (documents)")
    parser.add_argument("words", nargs="*", help="settings to hand on, and the page")
    asked = parser.parse_args(arguments)
    given = [text for text in asked.words if "=" in text]
    settings = [f"group={asked.group}", *(text for text in given if not is_place(text))]
    with tempfile.TemporaryDirectory() as folder:
        out = list(filter(is_place, given)) or [f"out={folder}"]
        found, seconds = everything([*settings, *out])
        _, again = everything([*settings, *out])
    busy = sum(each.in_all for each in found)
    said = (
        f"`python run.py all {' '.join(settings)}` from nothing, on {available_cores()} cores: "
        f"**{seconds:,.0f} s** by the clock, for {busy:,.0f} s of drawing and publishing, each by "
        f"the clock. A second time, with nothing to do: {again:.1f} s."
    )
    pages = [text for text in asked.words if "=" not in text]
    print_or_put(f"{said}\n\n{study_table(found)}", pages, asked.group)


if __name__ == "__main__":
    main(sys.argv[1:])
