"""The page on the command line says what the code says."""

import re

import pytest

from simstudy.cli import ending
from simstudy.cli.project import COMMANDS
from tests.pages import assert_accepted, commands
from tests.support import ROOT

PAGE = ROOT / "docs" / "command_line.md"


def test_every_status_is_told():
    told = re.findall(r"^\| ([\d, ]+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    statuses = {int(number) for row in told for number in row.split(",")}
    assert {0, ending.DEFECT, ending.REFUSED, ending.FAILED, ending.BROKEN_PIPE} <= statuses


def test_every_command_is_shown():
    text = PAGE.read_text(encoding="utf-8")
    shown = {arguments[0] for arguments in commands(PAGE)} | set(re.findall(r"`(\w+)`", text))
    assert set(COMMANDS) <= shown


@pytest.mark.parametrize("arguments", commands(PAGE), ids=" ".join)
def test_every_command_of_the_page_can_be_given(arguments):
    assert_accepted(arguments)
