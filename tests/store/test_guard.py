"""Whose results a folder holds: nothing foreign or stale is mixed in, and the refusal says why."""

from dataclasses import replace

import pytest

from simstudy.atomic_files import write_json
from simstudy.engine.workers import Workers
from simstudy.errors import StoreError
from simstudy.store.guard import refuse_foreign
from tests import toy

STUDY = toy.study((3, 10))
INLINE = Workers("inline", 1)


def a_run(folder, seed=1):
    """A folder of results with blocks of the toy study."""
    STUDY.run(60, seed, out=folder, workers=INLINE)
    return folder / "toy"


def refused(out, study=STUDY, seed=1):
    with pytest.raises(StoreError) as refusal:
        study.run(60, seed, out=out, workers=INLINE)
    return str(refusal.value)


def test_only_a_few_changes_are_listed(tmp_path):
    a_run(tmp_path)
    other = replace(
        STUDY, block_size=3, common=("truth",), axes={"way": ("t", "z")}, may_be_missing=("lower",),
        scenarios=[toy.Mean(3.0)],
    )  # fmt: skip
    assert "; and 1 more. Its replicates" in refused(tmp_path, other, 2)


def test_blocks_of_other_owners_are_told_by_the_nearest(tmp_path):
    """Of several runs in a folder, the refusal speaks of the one that differs least."""
    folder = a_run(tmp_path)
    for path in a_run(tmp_path / "other", seed=7).glob("replicates/*.parquet"):
        path.rename(folder / "replicates" / path.name)
    text = refused(tmp_path, replace(STUDY, block_size=49), 7)
    assert "block_size was 50 and is 49. Its" in text


def test_the_folder_of_another_study_is_refused(tmp_path):
    write_json(tmp_path / "manifest.json", {"study": "other"})
    with pytest.raises(StoreError, match=r"holds the results of study 'other', which 'toy' would"):
        refuse_foreign("toy", tmp_path)
    refuse_foreign("other", tmp_path)


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "toy"
    file.write_text("")
    with pytest.raises(StoreError, match=r"is a file, not a folder for results\. Choose another"):
        refuse_foreign("toy", file)
