"""Composes the settings of each run of a command.

The package's defaults come first, then the files of the experiment, the scale and the backend, the
project's `conf/config.yaml`, and what was typed. A project's file goes before the package's file
of the same name. A typed word or number is read here; lists, sweeps and text in quotation marks are
read by Hydra's grammar, whose import takes a third of a short run.
"""

import itertools
import math
import re
import typing
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from simstudy.cli.experiment_groups import ALL, default_group, members
from simstudy.cli.project import (
    PACKAGE_CONF,
    Project,
    in_own_code,
    load_experiment,
    read_settings,
)
from simstudy.cli.resolved_config import ResolvedConfig, resolve
from simstudy.cli.settings import Settings, merged
from simstudy.errors import (
    BrokenExperimentError,
    ConfigError,
    NotHereError,
    SimstudyError,
    nearest,
)
from simstudy.option_types import NUMBER, read_annotation

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

CHOSEN = {"scale": "paper", "backend": "auto"}
"""Groups of files, with the one that is taken where nobody chooses."""
GROUPS = ("experiment", *CHOSEN)

OF_HYDRA = ("hydra/launcher", "hydra.launcher.", "hydra.sweep.dir")  # what may be set of its own
NAME = re.compile(r"[\w./-]+", re.ASCII)
KEY = re.compile(r"\w+(\.[\w-]+)*", re.ASCII)
WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
WORD = re.compile(r"[A-Za-z_./][\w./-]*", re.ASCII)
MEANT = {"true": True, "false": False, "null": None}
ODD_WORDS = frozenset({*MEANT, "nan", "inf"})  # in capitals, Hydra reads these as values, too
WITH_A_SYNTAX = ("[", "{", "'", '"')  # what a value begins with that says itself how it is read
MOST_RUNS = 10_000  # of a sweep: each is composed, and held in memory, before the first begins


class Setting(NamedTuple):
    """A setting as typed, with its value as read."""

    key: str
    value: Any
    text: str


Point = Sequence[Setting]
"""What was typed for one run."""


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
    points = read_points(arguments, project, is_sweep=is_sweep)
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
    """The composed settings of a run as YAML."""
    import yaml

    (point,) = read_points(arguments, project, is_sweep=False)
    values, _ = _compose(point, project)
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


def _run(point: Point, project: Project, verb: str, *, is_sweep: bool) -> Run:
    name = next(str(each.value) for each in reversed(point) if each.key == "experiment")
    try:
        return _resolved(point, project, verb)
    except (NotHereError, BrokenExperimentError) as error:
        broken: SimstudyError | None = error
    except SimstudyError:
        broken = _refusal_of(name, project, verb) if is_sweep else None
        if broken is None:
            raise  # what was typed is at fault
    return SkippedRun(name, tuple(each.text for each in point), broken)


def _refusal_of(name: str, project: Project, verb: str) -> SimstudyError | None:
    """Why an experiment cannot run; None if it can."""
    try:
        _resolved([Setting("experiment", name, f"experiment={name}")], project, verb)
    except SimstudyError as error:
        return error
    return None


def _resolved(point: Point, project: Project, verb: str) -> ResolvedConfig:
    values, choices = _compose(point, project)
    return resolve(values, choices, tuple(each.text for each in point), project, verb)


# ---------------------------------------------------------------- values
def _compose(point: Point, project: Project) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a run, and the file that was chosen in each group."""
    general = read_settings(project.conf / "config.yaml")
    own = {group: general.pop(group) for group in CHOSEN if isinstance(general.get(group), str)}
    typed = [(each.key, _as_text(each)) for each in point if each.key in GROUPS]
    chosen = [*CHOSEN.items(), *own.items(), *typed]
    choices = dict(chosen)
    values: Any = asdict(Settings())
    values |= {group: _read_choice(group, name, project) for group, name in chosen}
    values = merged(values, general)
    texts = {*_text_settings(choices["experiment"], point, project)}
    for each in point:
        if each.key not in GROUPS:
            is_lost = each.key in texts and isinstance(each.value, int | float)
            _put(values, each.key, _as_text(each) if is_lost else each.value)
    return (_without_references(values) if "${" in str(values) else values), choices


def _as_text(setting: Setting) -> str:
    """The value as text: of a folder 1.0, what was typed."""
    value = setting.value
    return value if isinstance(value, str) else setting.text.partition("=")[2]


def _read_choice(group: str, name: str, project: Project) -> dict[str, Any]:
    """The values in a file of a group."""
    known = project.options(group)
    if group == "backend" and ":" in name:
        return {"name": name}
    if name not in known:
        raise ConfigError(f"{group}={name}: no such {group}; {nearest(name, known)}")
    own, packaged = (folder / group / f"{name}.yaml" for folder in (project.conf, PACKAGE_CONF))
    if own.exists() or group != "experiment":
        return read_settings(own if own.exists() else packaged)
    module = load_experiment(name, project.root)
    with in_own_code(module, "Config", project.root):
        return asdict(module.Config())


def _text_settings(experiment: str, point: Point, project: Project) -> Iterator[str]:
    """The names of the settings that are text, with the experiment's if any was typed."""
    configs: dict[str, Any] = {"": Settings}
    if any(each.key.startswith("experiment.") for each in point):
        configs["experiment."] = load_experiment(experiment, project.root).Config
    for prefix, config in configs.items():
        hints = typing.get_type_hints(config)
        for each in fields(config):
            if "option" in each.metadata:
                allowed = read_annotation(each.name, hints[each.name])
                if allowed.kind is str and not allowed.is_list:
                    yield f"{prefix}{each.name}"


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    """Set a value, whose key may lead through several levels."""
    *above, name = key.split(".")
    for level in above:
        if not isinstance(values.get(level), dict):
            values[level] = {}
        values = values[level]
    values[name] = merged(values.get(name), value)


def _without_references(values: dict[str, Any]) -> dict[str, Any]:
    """The values with `${...}` replaced by what it stands for."""
    from omegaconf import OmegaConf

    try:
        plain: Any = OmegaConf.to_container(OmegaConf.create(values), resolve=True)
    except Exception as error:
        first, key = str(error).splitlines()[0], getattr(error, "full_key", None)
        raise ConfigError(
            f"{key or 'a setting'} cannot be read: {first}. ${{...}} stands for another setting's "
            "value; write the value itself."
        ) from None
    return dict(plain)


# ---------------------------------------------------------------- what was typed
def read_points(arguments: Sequence[str], project: Project, *, is_sweep: bool) -> list[Point]:
    """The settings of each run of a sweep, or of a single run.

    Raises
    ------
    ConfigError
        For what cannot be read, for several values without `-m`, and for settings of Hydra's.
    """
    texts = [text.lstrip("+") for text in arguments]
    _check_hydra([text for text in texts if text.startswith("hydra")], is_sweep=is_sweep)
    group = _typed_group(texts, project)
    ours = [text for text in texts if not text.startswith(("hydra", "group="))]
    values = [_read(text, group, project, is_sweep=is_sweep) for text in ours]
    if not any(choices[0].key == "experiment" for choices in values):
        raise ConfigError(
            f"no experiment given: {project.command('run')} experiment=NAME; available: "
            f"{', '.join(project.options('experiment')) or 'nothing'}"
        )
    if math.prod(map(len, values)) > MOST_RUNS:
        raise ConfigError(
            f"{' '.join(arguments)} asks for more than {MOST_RUNS:,} runs, the most of one sweep: "
            "give fewer values, or write them in brackets for one run with all of them"
        )
    return [list(point) for point in itertools.product(*values)]


def _typed_group(texts: Sequence[str], project: Project) -> str:
    """The group that a glob of experiments refers to."""
    typed = [text for text in texts if text.startswith("group=")]
    if not typed:
        return default_group(project)
    name = typed[-1].partition("=")[2]
    if name != ALL and name not in project.options("group"):
        raise ConfigError(f"{typed[-1]}: no such group; {nearest(name, project.options('group'))}")
    return name


def _read(text: str, group: str, project: Project, *, is_sweep: bool) -> list[Setting]:
    """A typed setting: one for each value of a sweep."""
    plain = _read_plain(text)
    if plain is not None:
        return [plain]
    override = _parsed(text) or _parsed(_quoted(text, is_sweep=is_sweep))
    if override is None or not override.key_or_group:
        raise ConfigError(
            f"cannot read {text}: write NAME=VALUE, close brackets and quotation marks, quote them "
            """for the shell, and put each of several texts in marks: 'out="a b","c d"'"""
        )
    key = override.get_key_element()
    if not override.is_sweep_override():
        return [Setting(key, override.value(), text)]
    if not is_sweep:
        raise ConfigError(_several_values(text))
    names = _choices(override, text, group, project)
    return [
        each for name in names for each in _read(f"{key}={name}", group, project, is_sweep=False)
    ]


def _read_plain(text: str) -> Setting | None:
    """A setting whose value is a word or a number; None for any other."""
    key, sign, said = text.partition("=")
    if not sign or not KEY.fullmatch(key):
        return None
    if said in MEANT:
        return Setting(key, MEANT[said], text)
    if WHOLE.fullmatch(said):
        return Setting(key, int(said), text)
    is_word = WORD.fullmatch(said) and said.lower() not in ODD_WORDS and not NUMBER.fullmatch(said)
    return Setting(key, said, text) if is_word else None


def _parsed(text: str) -> "Override | None":
    """Parse a setting with Hydra's grammar; None if that fails."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

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
    key = text.partition("=")[0]
    or_list = f", or write {key}=[...] for one run with all of them" * key.startswith("experiment.")
    return f"{text} asks for several runs: add -m for these{or_list}"


def _check_hydra(texts: Sequence[str], *, is_sweep: bool) -> None:
    """Refuse settings of Hydra itself, except for launchers."""
    has_launcher = any(text.startswith("hydra/launcher=") for text in texts)
    for text in texts:
        if not text.startswith(OF_HYDRA):
            raise ConfigError(
                f"{text}: of Hydra's own settings only hydra/launcher, hydra.launcher.NAME and "
                "hydra.sweep.dir can be set, for a sweep on a cluster; out=FOLDER says where "
                "results go"
            )
        if not (is_sweep and has_launcher):
            raise ConfigError(
                f"{text}: a launcher runs the jobs of a sweep: give -m and hydra/launcher=slurm as "
                "well, or leave it out. Shares of one study are jobs of simstudy batch"
            )


def _choices(override: "Override", text: str, group: str, project: Project) -> list[str]:
    """The values of a setting in a sweep."""
    from hydra.core.override_parser.types import Glob

    key, value = override.key_or_group, override.value()
    if isinstance(value, Glob):
        is_experiment = key == "experiment"
        known = members(group, project) if is_experiment else project.options(key)
        names = value.filter(known)
        if not names:
            of = f"group={group}" if is_experiment and group != ALL else "this project"
            raise ConfigError(f"{text} matches nothing in {of}: {', '.join(known) or 'nothing'}")
        return list(names)
    if override.is_interval_sweep():
        raise ConfigError(f"{text} has no values to run one by one: list them, as in {key}=1,2")
    return list(itertools.islice(override.sweep_string_iterator(), MOST_RUNS + 1))
