"""The end of a run: names and numbers stay whole, on a terminal of any width and in a pipe."""

import io
import sys
from dataclasses import replace

import pytest

from simstudy.claims import Claim, Finding
from simstudy.claims.claim import check_claims
from simstudy.output.folder import Published
from simstudy.output.terminal import _format_claims, print_closing, undecided_claims
from tests.factories import Terminal, mean_study

LONG = "a_claim_whose_name_is_longer_than_any_terminal_would_like_it_to_be, of two"
CLAIMS = [
    Claim(LONG, "It grows", "text", lambda result: Finding(1.0), published=True),
    Claim("[of] one", "It shrinks", "text", lambda result: 1 / 0, published=True),
    Claim("size", "About 5%", "text", lambda result: Finding(0.049, 0.002), 0.05, difference=0.01),
]


def test_a_pipe_gets_a_line_for_each_claim_with_its_number_and_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    *_, first, second, third = _format_claims(check_claims(CLAIMS, result=None)).splitlines()
    assert first.startswith(LONG)
    assert [first.split()[-3:], second.split(), third.split()] == [
        ["holds", "holds", "reproduced"],
        ["[of]", "one", "holds", "–", "no", "data"],
        ["size", "0.05", "0.049", "±", "0.004", "reproduced"],
    ]


@pytest.mark.parametrize("width", [80, 100, 20])
def test_a_terminal_folds_names_and_cuts_nothing(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys, "stdout", Terminal())
    lines = _format_claims(check_claims(CLAIMS, result=None)).splitlines()
    n_name = len(lines[3].split()[0])  # of the rule
    assert max(map(len, lines)) <= max(width, n_name + 50)
    names = "".join(line[:n_name] for line in lines[4:]).replace(" ", "")
    assert names.startswith(LONG.replace(" ", ""))
    assert lines[-1].split() == ["size", "0.05", "0.049", "±", "0.004", "reproduced"]


@pytest.mark.parametrize(("n_obs", "is_printed"), [((3, 10), True), (tuple(range(3, 20)), False)])
def test_a_short_summary_is_printed_itself(n_obs, is_printed, tmp_path, capsys):
    result = mean_study(n_obs).run(40, n_jobs=1)
    print_closing(result, Published(tmp_path))
    printed = capsys.readouterr().out
    assert (str(result.table()) in printed) == is_printed
    assert ("worst z" in printed) != is_printed


def test_an_undecided_claim_has_the_number_of_replicates_that_it_needs():
    def share(result):
        row = result.row("coverage", n_obs=10, method="t")
        return Finding(row["estimate"], row["mcse"], n_rep=row["n_rep"])

    claim = Claim("coverage", "Covers 95%.", "here", share, 0.95, tolerance=0.02)
    with_claim = replace(mean_study((10,)), claims=[claim])
    result = with_claim.run(40, n_jobs=1)
    assert result.claims["verdict"].tolist() == ["too few replicates"]
    (text,) = undecided_claims(result)
    n_rep = int(text.split("about ")[1].split()[0].replace(",", ""))
    assert n_rep > 400
    assert undecided_claims(with_claim.run(8 * n_rep, n_jobs=1)) == []
