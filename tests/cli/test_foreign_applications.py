"""Somebody else's Hydra application prints the same text with and without simstudy beside it."""

import os
import subprocess
import sys
import sysconfig
from functools import cache

import pytest

from tests.cli.projects import write
from tests.guarantees.content import slow_but
from tests.support import ROOT

APPLICATION = """
from dataclasses import dataclass
import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, OmegaConf

@dataclass
class C:
    x: int = 1

ConfigStore.instance().store(name="structured", node=C)

@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def application(config):
    print(OmegaConf.to_yaml(config))

application()
"""
FILES = {
    "app.py": APPLICATION,
    "conf/config.yaml": "x: 1\n",
    "conf/db/mysql.yaml": "port: 3306\n",
    "conf/optional.yaml": "defaults: [optional scale: smoke, optional backend: dask, _self_]\n",
}
LINES = [
    "",
    "--cfg all",
    "--help",
    "--info searchpath",
    "+scale=smoke",
    "--config-name structured +scale=precise",
    "--config-name optional",
]
PLUGIN = """
from hydra.core.plugins import Plugins
from simstudy.cli.settings import PackageSettings as Base
class PackageSettings(Base):
    pass
"""


@cache
def output(folder, line: str, *path: object) -> str:
    """What the application prints, without modules of editable installs but with those of `path`.

    `-S` reads no `.pth` file; `PYTHONPATH` brings the installed libraries back.
    """
    paths = os.pathsep.join([*map(str, path), sysconfig.get_path("purelib")])
    done = subprocess.run(
        [sys.executable, "-S", "app.py", *line.split(), "hydra.run.dir=."], cwd=folder,
        env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    """A folder with the application, and an environment that has simstudy only where it is told."""
    folder = tmp_path_factory.mktemp("foreign")
    write(folder, FILES)
    paths = {"PYTHONPATH": sysconfig.get_path("purelib")}
    found = subprocess.run([sys.executable, "-S", "-c", "import simstudy"], cwd=folder,
                           env=os.environ | paths, capture_output=True, check=False)  # fmt: skip
    if found.returncode == 0:
        pytest.skip("simstudy is installed into site-packages, and so in every process")
    return folder


@pytest.mark.parametrize("line", slow_but("--info searchpath", "+scale=smoke", of=LINES))
def test_it_prints_the_same(line, application):
    assert output(application, line, ROOT) == output(application, line)


def test_a_plugin_of_the_environment_would_be_seen(application, tmp_path):
    write(tmp_path, {"hydra_plugins/simstudy.py": PLUGIN})
    without = output(application, "+scale=smoke")
    assert output(application, "+scale=smoke", ROOT, tmp_path) != without
    assert "scale: smoke" in without
