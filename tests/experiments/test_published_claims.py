"""Published claims are decided as foreseen and fall for their rivals; every figure is drawn."""

from collections import Counter, defaultdict

import pandas as pd
import pytest

from experiments.predictive_pvalue import claims as predictive
from simstudy.claims.verdict import DECIDED
from simstudy.cli.project import Project, experiment_names, load_experiment, part_of
from tests.support import ROOT

TABLES = sorted(ROOT.glob("results/*/claims.parquet"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_published_claims_are_decided_and_fall_for_their_rivals(path):
    claims = pd.read_parquet(path)
    if claims.empty:
        pytest.skip("of this study nothing is claimed")
    if "rival" not in claims:
        pytest.skip("published before claims were tried with rivals: to be published again")
    decided = claims["verdict"].isin([*DECIDED, "cannot be checked"])
    assert decided.all(), claims.loc[~decided, ["claim", "verdict", "detail"]].to_dict("records")
    foreseen = claims["verdict"] == claims["expected"]
    assert foreseen.all(), claims.loc[~foreseen, ["claim", "detail"]].to_dict("records")
    held = claims[claims["expected"].isin(["reproduced", "true as written, not as meant"])]
    falls = held["rival"].str.endswith(": differs")
    assert falls.all(), held.loc[~falls, ["claim", "rival"]].to_dict("records")


@pytest.mark.slow
def test_no_statement_of_a_source_is_counted_twice_or_has_two_verdicts():
    """Two studies may check one sentence: one of them counts it, and their verdicts are equal."""
    published, verdicts = Counter(), defaultdict(set)
    for name in experiment_names(ROOT):
        if name == "predictive_pvalue":  # whose data may not be here
            claims = (*predictive.CLAIMS, *predictive.CONTROLS)
        else:
            module = load_experiment(name, ROOT)
            claims = module.study(module.Config()).claims
        published.update(claim.statement for claim in claims if claim.scored)
        title = (part_of(name, Project(ROOT)) or {}).get("title", name)
        for claim in claims:
            verdicts[title, claim.statement].add(claim.expected)
    assert published.total() > 100
    assert [statement for statement, n in published.items() if n > 1] == []
    assert {key: found for key, found in verdicts.items() if len(found) > 1} == {}
