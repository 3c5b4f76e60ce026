"""Outputs are made again where they would differ; those of other settings or longer runs stay."""

import os
from pathlib import Path

import pytest

from simstudy.output import manifest
from simstudy.store.runs import file_hash
from tests.output.standing import CONFIG, FILE, SOUND, current, is_current, manifest_of, study


def test_a_figure_that_failed_is_tried_again(published):
    """Unlike one that the data do not allow, which says so again whenever it is asked."""
    folder = published[0].folder
    result = study().run(60, out=folder.parent)
    assert manifest_of(folder)["figures_failed"] == ["4"]
    assert not is_current(result, CONFIG, FILE, figures=True, report=True)
    assert is_current(result, CONFIG, FILE, figures=False, report=True)


FILES = ("summary.parquet", "claims.parquet", "scenarios.parquet", "figures/1.png", "figures/1.svg",
         "report.html", "tables/summary.md", "manifest.json")  # fmt: skip


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-2]),
        Path.unlink,
    ],
    ids=["emptied", "cut", "removed"],
)
def test_a_file_that_was_emptied_cut_or_removed_is_made_again(harm, standing, tmp_path):
    for name in FILES:
        path = tmp_path / "toy" / name
        whole = path.read_bytes()
        harm(path)
        assert not current(tmp_path), name
        path.write_bytes(whole)
    assert current(tmp_path), "whole again"
    (tmp_path / "toy" / "figures" / "1.png").unlink()
    (tmp_path / "toy" / "report.html").unlink()
    assert current(tmp_path, figures=False, report=False), "what was not asked for"


@pytest.mark.parametrize(
    "change",
    [{"config": {**CONFIG, "n_obs": [3]}}, {"n_rep": 61}, {"n_rep": 59}, {"file": None}],
    ids=str,
)
def test_what_would_be_published_otherwise_is_not(change, standing, tmp_path):
    assert not current(tmp_path, **change)


def test_another_version_of_a_library_makes_it_stale(standing, tmp_path, monkeypatch):
    others = manifest.library_versions() | {"another": "0.1"}
    monkeypatch.setattr(manifest, "library_versions", lambda: others)
    assert not current(tmp_path)


def test_blocks_that_were_just_drawn_are_never_current(standing, tmp_path):
    result = study(figures=SOUND).run(60, out=tmp_path, redraw=True)
    assert not is_current(result, CONFIG, FILE, figures=True, report=True)


def test_a_pipe_in_the_place_of_an_output_is_not_read(tmp_path):
    """Reading it would wait for ever."""
    os.mkfifo(tmp_path / "summary.csv")
    assert file_hash(tmp_path / "summary.csv") == ""
