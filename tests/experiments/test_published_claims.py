"""Published claims are decided as foreseen and fall for their rivals; every study answers."""

import pandas as pd
import pytest

from simstudy import load
from simstudy.claims.verdict import DECIDED
from simstudy.cli.project import experiment_names, load_experiment
from simstudy.errors import ConfigError
from tests.support import ROOT, needs_results

UNDECIDED = {
    ("proportion_compatible", "exact means"): "the largest deviation, 0.002 of 0.01 allowed",
}
"""Claims that the numbers of replicates, fixed before drawing, do not decide."""

RIVAL_STANDS = {("regression_trial_prices", "skewness limits")}
"""Claims whose wrong value these numbers of replicates do not refute."""

TABLES = sorted(ROOT.glob("results/*/claims.parquet"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_published_claims_are_decided_and_fall_for_their_rivals(path):
    claims = pd.read_parquet(path)
    if claims.empty:
        pytest.skip("of this study nothing is claimed")
    open_claims = [name for study, name in UNDECIDED if study == path.parent.name]
    is_open = claims["claim"].isin(open_claims)
    assert (claims.loc[is_open, "verdict"] == "too few replicates").all()
    claims = claims[~is_open]
    decided = claims["verdict"].isin([*DECIDED, "cannot be checked"])
    assert decided.all(), claims.loc[~decided, ["claim", "verdict", "detail"]].to_dict("records")
    foreseen = claims["verdict"] == claims["expected"]
    assert foreseen.all(), claims.loc[~foreseen, ["claim", "detail"]].to_dict("records")
    held = claims[claims["expected"].isin(["reproduced", "true as written, not as meant"])]
    held = held[
        ~held["claim"].isin([name for study, name in RIVAL_STANDS if study == path.parent.name])
    ]
    falls = held["rival"].str.endswith(": differs")
    assert falls.all(), held.loc[~falls, ["claim", "rival"]].to_dict("records")


@needs_results
@pytest.mark.parametrize("name", experiment_names(ROOT))
def test_a_study_answers_from_its_published_summary(name):
    module = load_experiment(name, ROOT)
    try:
        study = module.study(module.Config())
    except ConfigError as error:  # data or a library that may not be here
        pytest.skip(str(error))
    said = study.answer(load(ROOT / "results" / name))
    text = said if isinstance(said, str) else " ".join(said)
    assert any(sign.isdigit() for sign in text)
    assert "nan" not in text
    assert len(text) < 500
