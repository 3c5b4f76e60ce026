"""Tables that keep names and numbers whole, on a terminal of any width and in a pipe."""

import io
import re
import sys
from dataclasses import replace
from unittest.mock import Mock

import pytest

from simstudy.claims import Claim, Finding, check_claims
from simstudy.output.folder import Published
from simstudy.output.terminal import (
    NARROWEST,
    _claims_table,
    new_console,
    new_table,
    print_closing,
    undecided_claims,
)
from tests import toy

NAMES = ["measure", "rows", "least", "greatest", "largest MCSE", "worst z from theory"]
LONG = "a_measure_whose_name_is_longer_than_any_terminal_would_like_it_to_be"
ROW = (LONG, "120", "-0.001234", "1.235e-05", "0.01003", "2.536")


class Terminal(io.StringIO):
    """Takes text as a terminal does."""

    def isatty(self):
        return True


def printed(monkeypatch, stream, width: int) -> list[str]:
    """Lines of a table and of a sentence."""
    for name, value in (("COLUMNS", str(width)), ("TERM", "xterm"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", stream)
    console = new_console()
    console.print(new_table(NAMES, [ROW, ("b", "1", "0", "0", "", "[red]differs[/]")]))
    console.print("a sentence " * 30)
    return re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue()).splitlines()


@pytest.mark.parametrize("width", [80, 100, 20])
def test_a_terminal_folds_names_and_cuts_nothing(width, monkeypatch):
    lines = printed(monkeypatch, Terminal(), width)
    assert max(map(len, lines)) <= max(width, NARROWEST)
    assert "…" not in "".join(lines)
    assert LONG in "".join(line.split()[0] for line in lines if line.strip())
    for number in (*ROW[1:], "differs"):
        assert any(number in line.split() for line in lines), "in one piece"


def test_a_pipe_gets_a_line_for_each_row_and_sentence(monkeypatch):
    lines = printed(monkeypatch, io.StringIO(), 80)
    assert [list(ROW)] == [line.split() for line in lines if LONG in line]
    assert sum("a sentence" in line for line in lines) == 1


def test_a_pipe_that_nobody_reads_is_the_callers_business(monkeypatch):
    gone = io.StringIO()
    monkeypatch.setattr(gone, "write", Mock(side_effect=BrokenPipeError))
    monkeypatch.setattr(sys, "stdout", gone)
    with pytest.raises(BrokenPipeError):
        new_console().print("to nobody")


def test_a_statement_has_no_error_and_a_number_has_its_own(monkeypatch):
    claims = check_claims(
        [Claim("of two", "It grows", "text", lambda result: Finding(1.0), published=True),
         Claim("[of] one", "It shrinks", "text", lambda result: 1 / 0, published=True),
         Claim("size", "About 5%", "text", lambda result: Finding(0.049, 0.002), 0.05,
                   difference=0.01)],
        result=None,
    )  # fmt: skip
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    new_console().print(_claims_table(claims))
    rows = [
        line.split()
        for line in sys.stdout.getvalue().splitlines()
        if {"of", "[of]", "size"} & {*line.split()}
    ]
    assert rows == [["of", "two", "holds", "holds", "reproduced"],
                    ["[of]", "one", "holds", "–", "no", "data"],
                    ["size", "0.05", "0.049", "±", "0.004", "reproduced"]]  # fmt: skip


# ---------------------------------------------------------------- the end of a run
@pytest.mark.parametrize(("n_obs", "is_printed"), [((3, 10), True), (tuple(range(3, 20)), False)])
def test_a_short_summary_is_printed_itself(n_obs, is_printed, tmp_path, monkeypatch):
    result = toy.study(n_obs).run(40, n_jobs=1)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    print_closing(result, Published(tmp_path))
    assert (str(result.table()) in stream.getvalue()) == is_printed
    assert ("worst z from theory" in stream.getvalue()) != is_printed


def test_an_undecided_claim_has_the_number_of_replicates_that_it_needs():
    def share(result):
        row = result.row("coverage", n_obs=10, method="t")
        return Finding(row["estimate"], row["mcse"], n_rep=row["n_rep"])

    claim = Claim("coverage", "Covers 95%.", "here", share, 0.95, tolerance=0.02)
    with_claim = replace(toy.study((10,)), claims=[claim])
    result = with_claim.run(40, n_jobs=1)
    assert result.claims["verdict"].tolist() == ["too few replicates"]
    (text,) = undecided_claims(result)
    n_rep = int(text.split("n_rep=")[1].split()[0].replace(",", ""))
    assert n_rep > 400
    assert undecided_claims(with_claim.run(8 * n_rep, n_jobs=1)) == []
