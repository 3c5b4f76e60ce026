"""What claims of any study are held to: verdicts as foreseen, rivals that fall, no chance."""

from collections.abc import Collection

from simstudy.analysis.result import Result
from simstudy.claims.verdict import DIFFERS, REPRODUCED, TOO_FEW, UNCHECKABLE


def verdicts(result: Result) -> dict[str, str]:
    return dict(zip(result.claims["claim"], result.claims["verdict"], strict=True))


def rivals(result: Result) -> dict[str, str]:
    """The verdict of each claim on its rival, by the claim's name; claims without one left out."""
    table = result.claims[result.claims["rival"] != ""]
    return {
        name: tried.rsplit(": ", 1)[1]
        for name, tried in zip(table["claim"], table["rival"], strict=True)
    }


def assert_holds(result: Result) -> None:
    assert_as_foreseen(result)
    assert_rivals_fall(result)


def assert_as_foreseen(result: Result, *, undecided: Collection[str] = ()) -> None:
    """Every verdict as expected, but for claims that need more replicates, by name."""
    expected = dict(zip(result.claims["claim"], result.claims["expected"], strict=True))
    expected |= dict.fromkeys(undecided, TOO_FEW)
    assert verdicts(result) == expected


def assert_rivals_fall(result: Result, *, undecided: Collection[str] = ()) -> None:
    """Every rival differs, but for those of claims that need more replicates, by name."""
    fallen = {name: verdict for name, verdict in rivals(result).items() if name not in undecided}
    assert fallen
    assert set(fallen.values()) == {DIFFERS}, fallen


def assert_undecided(result: Result, *, exact: Collection[str] = ()) -> None:
    """No claim but those that draw nothing has a verdict, nor is any rival reproduced."""
    open_ = (TOO_FEW, UNCHECKABLE)
    decided = {name for name, verdict in verdicts(result).items() if verdict not in open_}
    assert decided == set(exact), result.claims[["claim", "verdict", "detail"]].to_string()
    assert REPRODUCED not in rivals(result).values()
