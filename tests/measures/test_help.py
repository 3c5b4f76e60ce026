"""What `help(simstudy.measures)` says first: every name, once, with what it is."""

import pydoc
import re

import simstudy.measures as m

PARTS = "What measures are made of"


def named(docstring):
    """Names of the table, with their words; and those of the parts, which have none."""
    table, parts = docstring.split(PARTS)
    rows = re.findall(r"^    (\w+)  +(\S.*)$", table, flags=re.MULTILINE)
    others = re.findall(r"\w+", " ".join(re.findall(r"^    (.+)$", parts, flags=re.MULTILINE)))
    return [name for name, _ in rows] + others


def test_the_table_has_every_name_once():
    assert sorted(named(m.__doc__)) == sorted(m.__all__)


def test_that_test_would_miss_a_name_that_is_not_there():
    assert sorted(named(m.__doc__.replace("    bias  ", "    bais  "))) != sorted(m.__all__)


def test_help_begins_with_it():
    said = pydoc.plain(pydoc.render_doc(m)).splitlines()
    assert any(line.split()[:1] == ["bias"] for line in said[:12])
    assert max(map(len, m.__doc__.splitlines())) <= 100
