"""Every published study answers its question, with numbers of its published summary."""

import pytest

from simstudy import load
from simstudy.cli.project import experiment_names, load_experiment
from simstudy.errors import ConfigError
from tests.support import ROOT, needs_results


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
