"""The command line's own settings."""

from dataclasses import fields

import pytest
import yaml

from simstudy.cli.compose import CONFIG as CONFIG_NAME
from simstudy.cli.groups import Scale, read_backend
from simstudy.cli.project import PACKAGE_CONF, Project
from simstudy.cli.request import replicates_at
from simstudy.cli.settings import (
    Settings,
    read_shard,
    refuse_contradictions,
    refuse_low_ceiling,
)
from simstudy.engine.workers import BACKENDS
from simstudy.errors import ConfigError

CONFIG = PACKAGE_CONF / f"{CONFIG_NAME}.yaml"


def test_every_key_of_the_command_line_is_typed_here_and_the_other_way_round():
    keys = set(yaml.safe_load(CONFIG.read_text())) - {"defaults", "hydra"}
    groups = {"backend"}  # a folder beside it
    assert keys | groups == {one.name for one in fields(Settings)}


def test_both_have_the_same_defaults():
    written = yaml.safe_load(CONFIG.read_text())
    for name, value in vars(Settings()).items():
        if name in written:
            assert written[name] == value, name


def test_every_backend_can_be_chosen():
    (about,) = [one.metadata["option"] for one in fields(Settings) if one.name == "backend"]
    assert all(name in about.help for name in BACKENDS)
    files = {path.stem for path in (CONFIG.parent / "backend").glob("*.yaml")}
    assert files == {*BACKENDS, "slurm_dask"}, "which is dask, told how to start its workers"


@pytest.mark.parametrize(
    ("out", "home", "near"), [("~/x", "/home/a", "/home/a/x"), ("~no_such_user/x", "/", "/home/me")]
)
def test_a_folder_of_the_user_is_written_in_full(out, home, near, monkeypatch):
    monkeypatch.setenv("HOME", home)
    with pytest.raises(ConfigError, match=f"write the folder in full, out={near}"):
        refuse_contradictions(Settings(out=out))


def test_a_most_below_what_a_run_begins_with_counts_where_a_precision_decides():
    refuse_low_ceiling(Settings(max_rep=5), 6)
    refuse_low_ceiling(Settings(max_rep=6, precision={"x": 1}), 6)
    with pytest.raises(ConfigError, match=r"^max_rep=5 is less than the 6 replicates .*, n_rep=5$"):
        refuse_low_ceiling(Settings(max_rep=5, precision={"x": 1}), 6)


@pytest.mark.parametrize(
    ("text", "shard"), [(None, None), ("1/1", (1, 1)), ("3/100", (3, 100)), ("100/100", (100, 100))]
)
def test_shards(text, shard):
    assert read_shard(text) == shard


@pytest.mark.parametrize(
    ("times", "n_rep", "published", "expected"),
    [
        (None, None, 700, 700),
        (0.2, None, 700, 140),
        (None, 50, 700, 50),
        (0.2, 50, 700, 50),
        (0.2, 50, 100, 20),
        (0.2, 50, 2, 1),
    ],
)
def test_a_scale_is_so_many_replicates_or_so_many_times_the_published(
    times, n_rep, published, expected
):
    assert replicates_at(Scale("some", times, n_rep, "out"), published) == expected


def test_a_backend_is_told_what_its_file_says(tmp_path):
    """`conf/backend/cluster.yaml` names a class, and says what it is told beside the workers."""
    project = Project(tmp_path, "simstudy")
    said = {"name": "mine.cluster:Backend", "address": "there"}
    assert read_backend(said, "cluster", project) == ("mine.cluster:Backend", {"address": "there"})
    assert read_backend(None, "loky", project) == ("loky", {})
    with pytest.raises(ConfigError, match=r"no such backend.*did you mean 'threads'"):
        read_backend({"name": "thread"}, "cluster", project)
