"""Composes a command's configuration with Hydra, from package, project and overrides.

Overrides are parsed by Hydra's grammar, with quotation marks around text that it would take for
something else. What is wrong with them is found here or by `resolved_config`, and whatever Hydra
still has to complain of becomes one line in `_in_one_line`. Hydra takes the first file of a name
that it finds: a project's `conf/` comes before the package's.
"""

import errno
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import yaml
from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf

from simstudy.cli.experiment_groups import ALL, default_group, members
from simstudy.cli.project import (
    PACKAGE_CONF,
    Project,
    in_own_code,
    load_experiment,
    read_settings,
)
from simstudy.cli.resolved_config import ResolvedConfig, resolve
from simstudy.cli.settings import Settings
from simstudy.errors import (
    BrokenExperimentError,
    ConfigError,
    NotHereError,
    SimstudyError,
    describe,
    nearest,
)

CONFIG = "command"  # as Hydra knows simstudy.yaml, which a project's folder need not have
PACKAGE_LAST = f"hydra.searchpath=['file://{PACKAGE_CONF}']"  # after a project's own folder
GROUPS = ("experiment", "scale", "backend", "hydra/launcher")  # whose values are names of files
OF_HYDRA = ("hydra/launcher", "hydra.launcher.", "hydra.sweep.dir")  # what may be set of its own
WITH_A_SYNTAX = ("[", "{", "'", '"')  # what a value begins with that says itself how it is read
MOST_RUNS = 10_000  # of a sweep: each is composed, and held in memory, before the first begins


class SkippedRun(NamedTuple):
    """A run of a sweep that cannot run, and why."""

    name: str
    overrides: tuple[str, ...]
    error: SimstudyError

    @property
    def refusal(self) -> SimstudyError:
        """The error, with the experiment's name."""
        if self.name in str(self.error):
            return self.error
        kind = NotHereError if isinstance(self.error, NotHereError) else ConfigError
        return kind(f"experiment={self.name}: {self.error}")


Run = ResolvedConfig | SkippedRun


def compose_runs(
    arguments: Sequence[str], project: Project, verb: str = "run", *, is_sweep: bool = False
) -> list[Run]:
    """Compose all runs of a command, so that mistakes show before the first one starts.

    Experiments of a sweep that are refused whatever is asked of them are skipped, as long as any
    is left: one needs data or a library that this machine has not, another is broken.

    Raises
    ------
    ConfigError
        For any other mistake, and where nothing would be left.
    """
    points = _points(arguments, project, is_sweep=is_sweep)
    with hydra_of(project):
        runs = [_run(point, project, verb, is_sweep=is_sweep) for point in points]
    skipped = [run.refusal for run in runs if isinstance(run, SkippedRun)]
    if len(skipped) == len(runs):
        raise skipped[-1]
    return runs


def compose_one(arguments: Sequence[str], project: Project, verb: str = "run") -> ResolvedConfig:
    """Compose the single run of a command."""
    (run,) = compose_runs(arguments, project, verb)
    assert isinstance(run, ResolvedConfig)  # what is skipped has been raised
    return run


def compose_text(arguments: Sequence[str], project: Project) -> str:
    """The composed configuration of a run as YAML."""
    (point,) = _points(arguments, project, is_sweep=False)
    with hydra_of(project):
        return OmegaConf.to_yaml(_without_hydra(_compose_checked(point, project)))


def hydra_of(project: Project) -> Any:
    """Context in which Hydra composes a project's configuration."""
    defaults = {name: value for name, value in asdict(Settings()).items() if name != "backend"}
    ConfigStore.instance().store(name="settings", node=defaults)
    ConfigStore.instance().store(name=CONFIG, node=read_settings(PACKAGE_CONF / "simstudy.yaml"))
    GlobalHydra.instance().clear()
    first = project.conf if project.conf.is_dir() else PACKAGE_CONF
    return initialize_config_dir(str(first), version_base=None)


def compose(point: Sequence[str], project: Project, run_mode: RunMode = RunMode.RUN) -> Any:
    """The Hydra configuration of one run.

    Raises
    ------
    ConfigError
        For whatever Hydra, OmegaConf, YAML or ANTLR raise.
    """
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    try:
        return hydra.compose_config(CONFIG, [PACKAGE_LAST, *point], run_mode, from_shell=False)
    except Exception as error:
        raise _in_one_line(error, point, project) from None


def _run(point: Sequence[str], project: Project, verb: str, *, is_sweep: bool) -> Run:
    name = next((text for text in reversed(point) if text.startswith("experiment=")), "")
    name = name.partition("=")[2].strip("\"'")
    try:
        return _resolved(point, project, verb)
    except (NotHereError, BrokenExperimentError) as error:
        return SkippedRun(name, tuple(point), error)
    except SimstudyError:
        broken = _refusal_of(name, project, verb) if is_sweep else None
        if broken is None:
            raise  # what was typed is at fault
        return SkippedRun(name, tuple(point), broken)


def _refusal_of(name: str, project: Project, verb: str) -> SimstudyError | None:
    """Why an experiment cannot run; None if it can."""
    try:
        _resolved([f"experiment={name}"], project, verb)
    except SimstudyError as error:
        return error
    return None


def _resolved(point: Sequence[str], project: Project, verb: str) -> ResolvedConfig:
    cfg = _compose_checked(point, project)
    try:
        plain: Any = OmegaConf.to_container(_without_hydra(cfg), resolve=True)
    except Exception as error:
        first, key = str(error).splitlines()[0], getattr(error, "full_key", None)
        raise ConfigError(
            f"{key or 'a setting'} cannot be read: {first}. ${{...}} stands for another setting's "
            "value; write the value itself."
        ) from None
    typed = tuple(text.removeprefix("++") for text in point)
    return resolve(dict(plain), cfg.hydra.runtime.choices, typed, project, verb)


def _compose_checked(point: Sequence[str], project: Project) -> Any:
    for override in OverridesParser.create().parse_overrides(list(point)):
        _register(override, project)
    return compose(point, project)


def _without_hydra(cfg: Any) -> Any:
    return OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])


def _register(override: Override, project: Project) -> None:
    """Tell Hydra what is in no file: a backend by its place, an experiment without a file.

    Raises
    ------
    ConfigError
        Where no file of a group can be meant.
    """
    group, name = override.key_or_group, override.value()
    if group not in GROUPS:
        return
    if not isinstance(name, str) or not name or "${" in name:
        known = ", ".join(project.options(group))
        raise ConfigError(f"{override.input_line}: name one; available: {known}")
    if group == "backend" and ":" in name:
        ConfigStore.instance().store(group=group, name=name, node={"name": name})
    elif group == "experiment" and not (project.conf / group / f"{name}.yaml").exists():
        module = load_experiment(name, project.root)
        with in_own_code(module, "Config", project.root):
            ConfigStore.instance().store(group=group, name=name, node=asdict(module.Config()))


def _in_one_line(error: Exception, point: Sequence[str], project: Project) -> ConfigError:
    """A Hydra error in one line."""
    text = str(error)
    first = next(iter(text.splitlines()), type(error).__name__)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        keys = [text.lstrip("+").partition("=")[0] for text in point]
        return ConfigError(f"{max(keys, key=len)} is not a setting")
    if "'hydra/launcher/submitit_" in text:  # of which ours are made
        return ConfigError(
            "hydra/launcher=slurm needs submitit's launcher, which is not installed: pip install "
            "'simstudy[slurm]'"
        )
    missing = re.search(f"Could not find '({'|'.join(GROUPS)})/(.*?)'", text)
    if missing:
        group, name = missing.groups()
        near = nearest(name, project.options(group))
        return ConfigError(f"{group}={name}: no such {group.rpartition('/')[2]}; {near}")
    if isinstance(error, yaml.YAMLError | OSError | UnicodeDecodeError) or "Could not find" in text:
        chosen = {text.partition("=")[2].strip("'\"") for text in point}
        files = sorted(
            project.conf.rglob("*.yaml"), key=lambda path: (path.stem not in chosen, path)
        )
        for file in files:
            try:
                read_settings(file)
            except ConfigError as unreadable:
                return unreadable
        return ConfigError(describe(error))
    key = re.search("Could not override '(.*?)'", text)
    if key:  # others are found out when they are read
        return ConfigError(f"{key[1]} is not a setting of this launcher")
    merged = re.fullmatch(r"Error merging override \+*(.*)", first)
    if merged:
        why = next(iter(str(error.__cause__).splitlines()), "it is of another kind")
        if why.startswith("Cannot merge"):
            why = "{...} has names for its values, [...] has none, and one cannot be the other"
        return ConfigError(f"{merged.group(1)} cannot be set: {why}")
    return ConfigError(f"cannot read {' '.join(point)}: {first}")


# ---------------------------------------------------------------- what was typed
def _points(arguments: Sequence[str], project: Project, *, is_sweep: bool) -> list[list[str]]:
    """The overrides of each run of a sweep, or of a single run.

    Raises
    ------
    ConfigError
        For what cannot be read, for several values without `-m`, and for settings of Hydra's.
    """
    overrides = _parse(arguments, is_sweep=is_sweep)
    if not any(each.key_or_group == "experiment" for each in overrides):
        raise ConfigError(
            f"no experiment given: {project.command('run')} experiment=NAME; available: "
            f"{', '.join(project.options('experiment')) or 'nothing'}"
        )
    group, kept = _take_group(overrides, project)
    _check_hydra(kept, is_sweep=is_sweep)
    ours = [each for each in kept if not _key(each).startswith("hydra")]
    values = [_choices(override, group, project) for override in ours]
    if math.prod(map(len, values)) > MOST_RUNS:
        raise ConfigError(
            f"{' '.join(arguments)} asks for more than {MOST_RUNS:,} runs, the most of one sweep: "
            "give fewer values, or write them in brackets for one run with all of them"
        )
    return [list(point) for point in itertools.product(*values)]


def _parse(arguments: Sequence[str], *, is_sweep: bool) -> list[Override]:
    overrides = []
    for text in arguments:
        override = _parsed(_open_key(text)) or _parsed(_quoted(_open_key(text), is_sweep=is_sweep))
        if override is None or not override.key_or_group:
            raise ConfigError(
                f"cannot read {text}: write NAME=VALUE, close brackets and quotation marks, quote "
                'them for the shell, and put each of several texts in marks: \'out="a b","c d"\''
            )
        if override.is_sweep_override() and not is_sweep:
            raise ConfigError(_several_values(text))
        overrides.append(override)
    return overrides


def _open_key(argument: str) -> str:
    """An override that may add a key; unknown keys are refused later."""
    key = argument.lstrip("+").partition("=")[0]
    return (
        f"++{argument.lstrip('+')}"
        if key not in GROUPS and not key.startswith("hydra")
        else argument
    )


def _parsed(text: str) -> Override | None:
    """Parse an override with Hydra's grammar; None if that fails."""
    try:
        return OverridesParser.create().parse_override(text)
    except (HydraException, RecursionError, ValueError):  # Python reads 4,300 digits at most
        return None


def _quoted(text: str, *, is_sweep: bool) -> str:
    """Quote the value of an override, unless it has quotes or brackets.

    In these marks a backslash protects a mark, and itself where it stands before one.
    """
    key, sign, value = text.partition("=")
    is_list = "," in value and is_sweep
    if not sign or value.startswith(WITH_A_SYNTAX) or "${" in value or is_list:
        return text
    protected = re.sub(
        r'(\\*)("|$)', lambda found: 2 * found[1] + ("\\" + found[2] if found[2] else ""), value
    )
    return f'{key}="{protected}"'


def _several_values(text: str) -> str:
    """The error for several values without brackets or `-m`."""
    key = text.lstrip("+").partition("=")[0]
    or_list = f", or write {key}=[...] for one run with all of them" * key.startswith("experiment.")
    return f"{text} asks for several runs: add -m for these{or_list}"


def _key(override: Override | None) -> str:
    return "" if override is None else str(override.key_or_group)


def _take_group(overrides: Sequence[Override], project: Project) -> tuple[str, list[Override]]:
    """Split off the group that a glob of experiments refers to.

    Hydra would take the folder of a project's groups for files to compose.
    """
    named = [each for each in overrides if each.key_or_group == "group"]
    group = named[-1].value() if named else default_group(project)
    if not isinstance(group, str) or not group:
        raise ConfigError(f"{named[-1].input_line.lstrip('+')}: name one group")
    return group, [each for each in overrides if each not in named]


def _check_hydra(overrides: Sequence[Override], *, is_sweep: bool) -> None:
    """Refuse settings of Hydra itself, except for launchers."""
    has_launcher = any(_key(override) == "hydra/launcher" for override in overrides)
    for override in overrides:
        text, key = override.input_line, override.input_line.lstrip("+")
        if key.startswith("hydra") and not key.startswith(OF_HYDRA):
            raise ConfigError(
                f"{text}: of Hydra's own settings only hydra/launcher, hydra.launcher.NAME and "
                "hydra.sweep.dir can be set, for a sweep on a cluster; out=FOLDER says where "
                "results go"
            )
        if key.startswith("hydra") and not (is_sweep and has_launcher):
            raise ConfigError(
                f"{text}: a launcher runs the jobs of a sweep: give -m and hydra/launcher=slurm as "
                "well, or leave it out. Shares of one study are jobs of simstudy batch"
            )


def _choices(override: Override, group: str, project: Project) -> list[str]:
    """The values of one override in a sweep, each as an override."""
    text, key = override.input_line or "", override.get_key_element()
    if not override.is_sweep_override():
        return [text]
    value = override.value()
    if isinstance(value, Glob):
        is_experiment = override.key_or_group == "experiment"
        known = members(group, project) if is_experiment else project.options(override.key_or_group)
        names = value.filter(known)
        if not names:
            of = f"group={group}" if is_experiment and group != ALL else "this project"
            raise ConfigError(f"{text} matches nothing in {of}: {', '.join(known) or 'nothing'}")
    elif override.is_interval_sweep():
        raise ConfigError(f"{text} has no values to run one by one: list them, as in {key}=1,2")
    else:
        names = list(itertools.islice(override.sweep_string_iterator(), MOST_RUNS + 1))
    return [f"{key}={name}" for name in names]
