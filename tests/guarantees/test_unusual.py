"""Unusual code and values count, or their whole module does; what moves nothing costs little."""

import pytest

from tests.guarantees.content import slow_but
from tests.guarantees.test_identity import drawn_again, write
from tests.guarantees.unusual import HARMLESS, HIDDEN, HOLES, STUDY, STUDY_HELPERS


@pytest.mark.parametrize(
    "hole", slow_but("arguments of a script", "a class that registers itself", of=HOLES)
)
def test_an_edit_is_drawn_again(hole, projects, tmp_path):
    after = drawn_again(projects, tmp_path, *HOLES[hole])
    assert "changed since 2 stored blocks were drawn" in after["notes"][0]


def code_of(projects, folder, files):
    write(folder, files)
    return projects.run(folder, folder, only="fingerprint")["code"]


def differing(first, second):
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


@pytest.mark.parametrize("edit", slow_but("an item getter", "a mixin", of=HIDDEN))
def test_a_hidden_edit_is_noticed(edit, projects, tmp_path):
    files, edits = HIDDEN[edit]
    first = code_of(projects, tmp_path, files)
    assert code_of(projects, tmp_path, {}) == first
    assert code_of(projects, tmp_path, edits) != first


@pytest.mark.parametrize("edit", slow_but("an annotation", "a moved helper", of=HARMLESS))
def test_what_a_harmless_edit_costs(edit, projects, tmp_path):
    name, old, new, costs = HARMLESS[edit]
    files = {"trial.py": STUDY, "helpers.py": STUDY_HELPERS}
    assert old in files[name]
    first = code_of(projects, tmp_path, files)
    edited = code_of(projects, tmp_path, {name: files[name].replace(old, new)})
    assert differing(first, edited) == costs
