"""Results that stand in a folder."""

import pytest

from simstudy.output.folder import publish
from tests.output.standing import CONFIG, FILE, SOUND, study


@pytest.fixture
def published(tmp_path):
    result = study().run(60, out=tmp_path)
    return result, publish(result, about="Aims", config=CONFIG, module_file=FILE)


@pytest.fixture
def standing(tmp_path):
    """Published, and every figure drawn that the data allow."""
    return publish(study(figures=SOUND).run(60, out=tmp_path), config=CONFIG, module_file=FILE)
