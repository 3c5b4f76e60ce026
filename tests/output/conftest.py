"""Results that stand in a folder, and a browser that shows them."""

import shutil

import pytest

from simstudy.output.folder import publish
from tests.output.report.browser import Browser
from tests.output.standing import CONFIG, FILE, SOUND, study


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """With figures that fail: for tests that only read."""
    result = study().run(60, out=tmp_path_factory.mktemp("published"))
    return result, publish(result, about="Why?\nSo.", config=CONFIG, module_file=FILE)


@pytest.fixture(scope="module")
def _published_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("standing")
    publish(study(figures=SOUND).run(60, out=folder), config=CONFIG, module_file=FILE)
    return folder


@pytest.fixture
def standing(_published_once, tmp_path):
    """Published, and every figure drawn that the data allow."""
    shutil.copytree(_published_once, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    try:
        browser = Browser(tmp_path_factory.mktemp("browser"))
    except AssertionError as silent:
        pytest.skip(f"no browser that works here: {silent}")
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium):
    """A browser that has nothing to say of what a test shows, and asks for nothing else."""
    chromium.complaints.clear()
    chromium.requests.clear()
    yield chromium
    assert (chromium.complaints, chromium.strangers) == ([], [])
