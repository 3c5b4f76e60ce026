"""Composing a command's config with Hydra: the package's own, a project's, and overrides.

Hydra takes the first file of a name that it finds: a project's `conf/` comes before the package's.
"""

import functools
import itertools
import re
import shlex
import sys
import tempfile
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin

from simstudy.cli.endings import refuse
from simstudy.cli.experiments import experiment_files, in_own_code, load_experiment
from simstudy.cli.flags import SEVERAL, flags_first
from simstudy.cli.project import PACKAGE_CONF, Project
from simstudy.cli.request import Request, read_request
from simstudy.errors import ConfigError, NotHereError, SimstudyError, describe, nearest

CONFIG = "simstudy"
FLAGS_OF_A_SWEEP = (*SEVERAL, "hydra.mode=MULTIRUN")


class ProjectFirst(SearchPathPlugin):  # type: ignore[misc]
    """Has Hydra look into a project's `conf/` before the package's."""

    conf: ClassVar[Path | None] = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Hydra asks this of every plugin before it composes anything."""
        if self.conf is not None and self.conf.is_dir():
            search_path.prepend("project", f"file://{self.conf}", anchor="main")


def look_into(project: Project) -> None:
    """From now on compose this project's configs."""
    ProjectFirst.conf = project.conf
    Plugins.instance().register(ProjectFirst)


def read_requests(overrides: Sequence[str], project: Project) -> list[Request]:
    """Compose every point of the sweep once, so that a mistake is one line and not a traceback.

    What this machine has no data or library for is left out of a sweep, as long as any is left.
    """
    known = experiment_files(project.root)
    look_into(project)
    if (project.conf / "config.yaml").is_dir():  # which Hydra would pass by
        raise ConfigError(trouble_in(project.conf / "config.yaml"))
    requests, absent = [], None
    with initialize_config_dir(str(PACKAGE_CONF), version_base=None):
        for point in sweep_points(overrides, project):
            offer_defaults(point, project, known)
            try:
                cfg = compose(CONFIG, overrides=point, return_hydra_config=True)
            except Exception as error:  # Hydra, OmegaConf and ANTLR each raise their own
                raise in_one_line(error, point, project) from None
            try:
                requests.append(read_request(cfg, cfg.hydra, project))
            except NotHereError as error:
                absent = error
    if absent and not (requests and is_multirun(overrides)):
        raise absent
    return requests


def call_hydra(
    overrides: Sequence[str], project: Project, carry_out: Callable[[Request], int], last: set[int]
) -> int:
    """Let Hydra compose, sweep and launch; the highest status of all jobs.

    Parameters
    ----------
    last
        Statuses after which no other job is begun.
    """
    import hydra

    statuses: list[int] = []

    @hydra.main(version_base=None, config_path=str(PACKAGE_CONF), config_name=CONFIG)  # type: ignore[untyped-decorator]
    def job(cfg: Any) -> int:
        from hydra.core.hydra_config import HydraConfig

        if statuses and statuses[-1] in last:
            return statuses[-1]
        try:
            status = carry_out(read_request(cfg, HydraConfig.get(), project))
        except NotHereError as error:  # the others go on
            status = refuse(error)
        statuses.append(status)
        return status

    with tempfile.TemporaryDirectory() as sweep:  # for Hydra's multirun.yaml, which nobody reads
        ours = [f"hydra.sweep.dir={sweep}"] if is_sweep(overrides) else []
        sys.argv = [str(project.root / "run.py"), *flags_first(overrides), *ours]
        job()
    return max(statuses, default=0)


def is_sweep(overrides: Sequence[str]) -> bool:
    """Whether this is a multirun that leaves the sweep's folder to us."""
    given = any(text.startswith("hydra.sweep.dir=") for text in overrides)
    return is_multirun(overrides) and not given


def is_multirun(overrides: Sequence[str]) -> bool:
    """Whether several runs were asked for."""
    return any(text in FLAGS_OF_A_SWEEP for text in overrides)


def is_plain(overrides: Sequence[str]) -> bool:
    """Whether this is one run that sets nothing of Hydra's, which then has only to compose it."""
    return not any(
        text.startswith("-") or text.lstrip("+~").startswith("hydra") for text in overrides
    )


def sweep_points(overrides: Sequence[str], project: Project) -> Iterator[list[str]]:
    """The overrides of each job of a sweep; of the only job, where nothing is swept."""
    texts = [text for text in overrides if not text.startswith("-")]
    try:
        parsed = OverridesParser.create().parse_overrides(texts)
    except HydraException:
        raise unreadable(texts) from None
    if not is_multirun(overrides):
        refuse_sweep(parsed, project)
    values = (choices(override, project) for override in parsed)
    yield from map(list, itertools.product(*values))


def refuse_sweep(parsed: Sequence[Any], project: Project) -> None:
    """Several values without `-m` are a list with its brackets forgotten, or a flag forgotten."""
    for override in parsed:
        if override.is_sweep_override():
            key = override.get_key_element()
            brackets = (
                f", or write the values in brackets, {key}=[...], for one run with all of them"
            )
            raise ConfigError(
                f"{override.input_line} asks for several runs: add -m for these"
                + brackets * takes_a_list(key, parsed, project)
            )


def takes_a_list(key: str, parsed: Sequence[Any], project: Project) -> bool:
    """Whether an experiment's option has several values in one run; no other setting does."""
    group, _, name = key.lstrip("+").partition(".")
    chosen = [other.value() for other in parsed if other.key_or_group == "experiment"]
    if group != "experiment" or not name or not chosen:
        return False
    config = load_experiment(str(chosen[-1]), project.root).Config
    return typing.get_origin(typing.get_type_hints(config).get(name)) is list


def unreadable(texts: Sequence[str]) -> ConfigError:
    """The first override that Hydra's grammar has no reading for, and how to write it."""
    parser = OverridesParser.create()
    for text in texts:
        try:
            parser.parse_override(text)
        except HydraException as error:
            return ConfigError(f"cannot read {text}: {_way_to_write(text, error)}")
    return ConfigError(f"cannot read {' '.join(texts)}: quote the values")


def _way_to_write(text: str, error: Exception) -> str:
    key, sign, value = text.partition("=")
    if not sign:
        return "a setting is written NAME=VALUE"
    if value.startswith("~"):
        return f"write the folder in full, {key}={Path(value).expanduser()}"
    if value and value[0] not in "[{" and not set("'\"\\") & set(value):
        quoted = f"""{key}="{value}\""""
        return f"quote the value, and the whole for the shell: {shlex.quote(quoted)}"
    first = next(iter(str(error).splitlines()), type(error).__name__)
    return f"{first}; brackets and quotes have to be closed"


def choices(override: Any, project: Project) -> list[str]:
    """The values that one override takes in a sweep, each as an override."""
    if not override.is_sweep_override():
        return [override.input_line]
    value = override.value()
    if isinstance(value, Glob):
        known = options(override.key_or_group, project)
        names = value.filter(known)
        if not names:
            raise ConfigError(
                f"{override.input_line} matches nothing; there is: {', '.join(known) or 'nothing'}"
            )
    else:
        names = list(override.sweep_string_iterator())
    return [f"{override.get_key_element()}={name}" for name in names]


def options(group: str, project: Project) -> list[str]:
    """The names in a config group: the project's and the package's."""
    own = experiment_files(project.root) if group == "experiment" else ()
    return sorted({*project.options(group), *own})


def offer_defaults(point: Sequence[str], project: Project, known: dict[str, Path]) -> None:
    """Give Hydra the defaults of an experiment that has no published values under `conf/`."""
    for text in point:
        group, _, value = text.partition("=")
        name = _bare(value)
        if group.lstrip("+") == "experiment" and name and name not in known:
            raise ConfigError(f"{text}: no such experiment; {nearest(name, known)}")
        published = project.conf / "experiment" / f"{name}.yaml"
        if group == "experiment" and name in known and not published.exists():
            module = load_experiment(name, project.root)
            with in_own_code(module, "Config", project.root):
                defaults = asdict(module.Config())
            ConfigStore.instance().store(group="experiment", name=name, node=defaults)


def _bare(value: str) -> str:
    """A value without the quotes that Hydra's grammar may need."""
    return value.strip("'\"")


# ---------------------------------------------------------------- refusals
def in_one_line(error: Exception, overrides: Sequence[str], project: Project) -> Exception:
    """Hydra's refusal as ours: the key, the value, and the nearest thing that works."""
    if isinstance(error, SimstudyError):
        return error
    if isinstance(error, RecursionError):
        return ConfigError(f"the defaults in {project.conf}/config.yaml lead back to themselves")
    text = str(error)
    group = re.search(r"Could not find '([\w/]+)/([^/']+)'", text)
    if group:
        kind, name = group.groups()
        own = project.conf / kind / f"{name}.yaml"
        if own.is_dir():
            return ConfigError(trouble_in(own))
        known = options(kind, project)
        return ConfigError(f"{kind}={name}: no such {kind}; {nearest(name, known)}")
    if isinstance(error, yaml.YAMLError | OSError | UnicodeDecodeError):
        return ConfigError(trouble_with_files(overrides, project) or describe(error))
    if "must specify" in text.lower():
        return ConfigError(
            f"no experiment given: {project.runs} experiment=NAME; "
            f"there is: {', '.join(options('experiment', project)) or 'nothing'}"
        )
    key = re.search(r"Could not (?:override|append|delete)[^']*'([^']+)'", text)
    if key:
        return ConfigError(unknown_key(key.group(1), overrides))
    first = next(iter(text.splitlines()), type(error).__name__)
    return ConfigError(f"cannot read {' '.join(overrides)}: {first}")


def unknown_key(key: str, overrides: Sequence[str]) -> str:
    """A key that is not in the config, and the nearest that is."""
    *parents, last = key.split(".")
    experiment = [text for text in overrides if text.startswith("experiment=")]
    composed = compose(CONFIG, overrides=experiment)
    node = functools.reduce(_child, parents, composed)
    if not parents and last in _child(composed, "experiment"):
        return f"{key} is not a setting; did you mean 'experiment.{key}'?"
    where = f" of {'.'.join(parents)}" if parents else ""
    return f"{key} is not a setting{where}; {nearest(last, map(str, node))}"


def trouble_with_files(overrides: Sequence[str], project: Project) -> str:
    """What is wrong with a project's config files, those first that the overrides choose."""
    chosen = {_bare(text.partition("=")[2]) for text in overrides}
    files = sorted(project.conf.rglob("*.yaml"), key=lambda path: (path.stem not in chosen, path))
    return next(filter(None, map(trouble_in, files)), "")


def trouble_in(path: Path) -> str:
    """What keeps a file from being a config, with its line; empty, where nothing does."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return f"{path}{line}, is no YAML: {error.problem}"
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return f"{path} cannot be read: {describe(error)}"
    if values is None or isinstance(values, dict):
        return ""
    return f"{path} holds {values!r}: write settings, each as NAME: VALUE"


def _child(node: Any, name: str) -> Any:
    return node.get(name, {}) if name in node else {}
