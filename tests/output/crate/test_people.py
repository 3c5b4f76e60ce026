"""Whatever a CITATION.cff may hold is credited, or refused in one line that says what to write."""

import json

import pytest

from simstudy.errors import ConfigError
from simstudy.output.crate.people import credits_of

STRANGE = """
license: [MIT, Apache-2.0]
authors:
  - {given-names: Ada, orcid: 'https://orcid.org/0'}
  - {given-names: Ada, orcid: 'https://orcid.org/0'}
  - {family-names: 12, affiliation: {name: x}}
references:
  - {title: 2020-01-01, year: 2020-01-01, doi: 'https://doi.org/10.1/x', scope: [toy, other]}
  - {title: the same, doi: 10.1/X}
  - {title: Über 統計, url: 'https://a.b/c d', identifiers: }
  - {title: the same, url: 'https://a.b/c d', scope: another}
"""


def test_values_of_strange_types_are_texts_and_nothing_is_named_twice(tmp_path):
    (tmp_path / "CITATION.cff").write_text(STRANGE, encoding="utf-8")
    said = credits_of(tmp_path, "toy")
    json.dumps(said)
    assert [author["name"] for author in said.authors] == ["Ada", "12"]
    assert said.licence is not None
    assert said.licence["name"] == "MIT OR Apache-2.0"
    shown = [(each["@id"], each["name"]) for each in said.documents]
    assert ("https://doi.org/10.1/x", "2020-01-01") in shown
    assert shown[-1] == ("https://a.b/c%20d", "Über 統計")


def test_what_is_left_empty_is_none(tmp_path):
    (tmp_path / "CITATION.cff").write_text("authors:\nreferences:\nlicense:\n")
    assert credits_of(tmp_path, "toy") == ([], None, [])


@pytest.mark.parametrize("name", ["authors", "references"])
@pytest.mark.parametrize("given", ["Jane Doe", "[Jane Doe]", "{name: Jane}"])
def test_what_is_no_list_of_entries_is_refused(tmp_path, name, given):
    (tmp_path / "CITATION.cff").write_text(f"{name}: {given}\n")
    with pytest.raises(ConfigError, match=f"{name} are a list whose entries have names, such as"):
        credits_of(tmp_path, "toy")
