"""The settings of a run: composed by Hydra, checked and typed, with the study they declare."""

import copy
import difflib
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from pydantic_core import to_jsonable_python
from yaml import YAMLError

from simstudy.cli import project as projects
from simstudy.cli.project import PACKAGE_CONF, Project
from simstudy.errors import ConfigError, SimstudyError, describe, in_one_line, nearest
from simstudy.options import build, format_setting, option, option_help, read_settings
from simstudy.places import Place, place_of
from simstudy.study.run_options import RunOptions

VERSION_BASE = "1.3"
AMBIGUOUS = re.compile(r"Ambiguous value for argument '([^']*)'")
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
FULL_ERROR = "HYDRA_FULL_ERROR"
COMPOSING_ERRORS = (
    HydraException, OmegaConfBaseException, YAMLError,
    ValueError, TypeError, LookupError, RuntimeError,
)  # fmt: skip
"""Errors of Hydra, its plugins, OmegaConf and YAML, which raise Python's own, too."""
MISSPELT = 0.8  # similarity (difflib) from which an unknown key in conf/ is a misspelt setting
MAX_NAME_LENGTH = 100  # characters of a folder's name
PUBLISHED = "paper"  # the scale of the published results
SILENT = frozenset({
    "n_jobs", "backend", "block_seconds", "out", "retry", "redraw", "adopt", "budget",
    "join", "shard", "figures", "pdf", "report", "progress", "objective", "scale",
    "experiment",
})  # fmt: skip
"""Settings that change no number, so that runs with other values of them share a folder."""
HELP_TEMPLATE = """Usage: {program} experiment=NAME [SETTING=VALUE ...]
Draw what is missing; summarise, draw figures, check claims, write a report.

Settings:
{settings}

Groups (choose with GROUP=NAME):
$APP_CONFIG_GROUPS
Hydra's own flags: --hydra-help; settings as composed: --cfg job.
"""


@dataclass
class Settings(RunOptions):
    """The settings of a run, without those of the experiment."""

    progress: bool = option("show progress", default=True)
    precision: dict[str, Any] = option("errors to reach: precision.MEASURE=0.005 or 2%", default={})
    join: int | None = option("N: join N shares; draw what is missing if it is little", at_least=1)
    figures: bool = option("draw the figures", default=True)
    pdf: bool = option("also draw the figures as PDF", default=False)
    report: bool = option("write the HTML report", default=True)
    objective: str | None = option("measure whose mean is the objective of a sweeper")


NAMES = [each.name for each in fields(Settings) if each.init and each.name != "backend_options"]


@dataclass
class Scale:
    """A scale, from `conf/scale/NAME.yaml`: replicates and folder."""

    times: float | None = option("factor of the published replicates", above=0, at_most=1e9)
    n_rep: int | None = option("replicates per scenario", at_least=1)
    out: str | None = option("folder of the results")

    def replicates(self, published: int) -> int:
        """Replicates per scenario: `n_rep`, or `times` the published if fewer."""
        by_factor = max(1, round(self.times * published)) if self.times else None
        return min(filter(None, (by_factor, self.n_rep)), default=published)


@dataclass(frozen=True)
class Run:
    """A study with the settings of one run.

    Parameters
    ----------
    name
        Name of the experiment.
    module
        The experiment's module.
    config
        Its `Config`.
    study
        The `Study` that it declares.
    settings
        Settings of the run, with the replicates and the folder that scale and study give.
    sources
        Digest of all sources behind the outputs, as they were when they were loaded.
    overrides
        The overrides of this run, as typed.
    differences
        Settings that differ from the published ones and change numbers, by name.
    interpolated
        Options that were composed from others or from the environment, with their text. Files and
        folders show that text or a hash, never the value, which may be a secret.
    """

    name: str
    module: Any
    config: Any
    study: Any
    settings: Settings
    sources: str
    project: Project
    overrides: tuple[str, ...]
    differences: Mapping[str, Any]
    interpolated: Mapping[str, Any]

    @property
    def folder(self) -> Place:
        """The folder of the study, with the store of blocks."""
        return place_of(str(self.settings.out)) / str(self.study.name)

    @property
    def run_folder(self) -> Place:
        """The folder of this run's outputs: the study's own, or one named after what differs."""
        if self.is_published:
            return self.folder
        from simstudy.provenance.scenario_id import short_hash
        from simstudy.store.runs import RUNS

        shown = []
        for name, value in sorted(self.differences.items()):
            is_secret = name.removeprefix("experiment.") in self.interpolated
            text = short_hash(str(value), 8) if is_secret else format_setting(value)
            shown.append(f"{name}={text}")
        text = ",".join(shown)
        name = re.sub(r"[^\w.,=+\-\[\]]+", "_", text)
        if name != text or len(name) > MAX_NAME_LENGTH:  # a long or unusual one ends with a hash
            name = f"{name[: MAX_NAME_LENGTH - 9]}-{short_hash(text, 8)}"
        return self.folder / RUNS / name

    @property
    def is_published(self) -> bool:
        """Whether these are the settings of `conf/experiment/NAME.yaml`, or the study's own."""
        return not self.differences

    @property
    def record(self) -> dict[str, Any]:
        """The settings that numbers depend on, for the manifest."""
        options = to_jsonable_python(asdict(self.config))
        made_by = {"experiment": self.name, **options, **self.interpolated}
        until = {"precision": self.settings.precision, "at_least": self.settings.n_rep}
        return made_by | (until if self.settings.precision else {})


def typed_overrides(hydra: Any) -> list[str]:
    """The overrides of a run as typed, with their interpolations: values may be secrets."""
    return list(OmegaConf.to_container(hydra.overrides.task, resolve=False))  # type: ignore[arg-type]


# ---------------------------------------------------------------- Hydra's side
@contextmanager
def hydra_process(argv: Sequence[str] | None = None) -> Iterator[None]:
    """Context for Hydra: its globals, `sys.argv` and handlers of logs are restored at its end.

    Parameters
    ----------
    argv
        The command line that Hydra's main function reads. Default: that of the process.
    """
    Plugins.instance().register(PackageSettings)  # plugins add to the store what has to stay
    in_use, store = GlobalHydra.instance().hydra, ConfigStore.instance().repo
    before, full_error = sys.argv, os.environ.get(FULL_ERROR)
    handlers = [*logging.root.handlers]
    ConfigStore.instance().repo = copy.deepcopy(store) | {"experiment": {}}
    GlobalHydra.instance().clear()
    sys.argv = list(argv or sys.argv)
    os.environ[FULL_ERROR] = "1"  # Hydra raises errors instead of printing them and exiting
    try:
        yield
    finally:
        GlobalHydra.instance().hydra, ConfigStore.instance().repo = in_use, store
        sys.argv, logging.root.handlers[:] = before, handlers
        os.environ.pop(FULL_ERROR)
        os.environ.update({} if full_error is None else {FULL_ERROR: full_error})


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Context that turns any error of composing into a ConfigError of one line."""
    try:
        yield
    except SimstudyError:
        raise
    except COMPOSING_ERRORS as error:
        raise ConfigError(first_line(error)) from None


def first_line(error: BaseException) -> str:
    """An error of composing in one line, with its cause or the nearest name."""
    cause = error.__cause__
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and "not in struct" in str(cause):
        known = cause.parent_node if isinstance(cause.parent_node, DictConfig) else {}
        options = known.get("experiment") if cause.full_key == cause.key else None
        if isinstance(options, DictConfig) and cause.key in options:
            return f"{cause.key} is not a setting; did you mean 'experiment.{cause.key}'?"
        return f"{cause.full_key} is not a setting; {nearest(cause.key, map(str, known))}"
    if isinstance(error, MissingConfigException) and (name := str(error.missing_cfg_file)):
        if "submitit" in name:  # which the launcher `slurm` is made of
            return "hydra-submitit-launcher is not installed: pip install 'simstudy[slurm]'"
        if error.options:
            group, _, name = name.rpartition("/")
            return f"{group}={name}: no such {group}; {nearest(name, list(error.options))}"
    if not isinstance(error, HydraException | OmegaConfBaseException):
        return describe(error)
    if slip := AMBIGUOUS.search(str(error)):
        name, _, value = slip[1].partition("=")
        if THOUSANDS.fullmatch(value):
            return f"{slip[1]}: numbers have no commas: {name}={value.replace(',', '')}"
        as_list = f", or write a list in brackets, {name}=[{value}]"
        as_list *= name.startswith("experiment.")
        return f"{slip[1]} gives several values: add -m to run each of them{as_list}"
    given = error.override if isinstance(error, OverrideParseException) else None
    return in_one_line(": ".join(str(each) for each in (given, error, cause) if each))


def read_words(arguments: Sequence[str], project: Project) -> list[str]:
    """Turn the words of a command into overrides and flags of Hydra.

    Raises
    ------
    ConfigError
        For blanks around =, a setting that begins with dashes, and a word that names nothing.
    """
    for before, text, after in zip(("", *arguments), arguments, (*arguments[1:], ""), strict=False):
        ends = len(text) > 1 and text.endswith("=") and after and "=" not in after
        if text.startswith("=") or ends:
            parts = [before * text.startswith("="), text, after * text.endswith("=")]
            raise ConfigError(f"no blanks stand around =: write {''.join(parts)}")
        name = text.removeprefix("--").partition("=")[0].replace("-", "_")
        if text.startswith("--") and (name in (*NAMES, "experiment", "scale") or "." in name):
            value = text.partition("=")[2] or after or "VALUE"
            raise ConfigError(f"{text}: settings have no dashes: write {name}={value}")
    with errors_in_one_line():
        return projects.with_experiments(arguments, project)


class PackageSettings(SearchPathPlugin):  # type: ignore[misc]
    """Puts the package's settings behind the project's.

    Registered by our own command only: a module in `hydra_plugins` would act in every Hydra
    application of the environment.
    """

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the package's folder of settings."""
        search_path.append(provider="simstudy", path=f"file://{PACKAGE_CONF}")


def register(project: Project, arguments: Sequence[str] = (), *, program: str = "") -> None:
    """Register with Hydra the package's settings, help and experiments.

    The node `experiment` is open, since a file may leave options to the defaults of `Config`, which
    checks the names.

    Parameters
    ----------
    arguments
        The arguments of the command, whose experiments are imported.
    program
        The command, for the help text.
    """
    store, defaults = ConfigStore.instance(), Settings()
    out = next((text[4:] for text in arguments if re.fullmatch(r"out=[\w./-]+", text)), "results")
    content = {n: getattr(defaults, n) for n in NAMES if n != "backend"}
    settings = OmegaConf.create(content | {"experiment": {}})
    OmegaConf.set_struct(settings.experiment, False)
    OmegaConf.set_struct(settings.precision, False)  # keys are names of measures
    settings.hydra = {"sweep": {"dir": f"{out}/sweeps/${{now:%Y-%m-%d_%H-%M-%S}}"}}
    store.store(name="settings", node=settings)
    files = projects.experiment_files(project.root)
    words = re.findall(r"[\w-]+", " ".join(t for t in arguments if t.startswith("experiment=")))
    named = [name for name in files if name in words or "glob" in words]
    modules = {name: projects.load_experiment(name, project.root) for name in named}
    node = {"app_name": "simstudy", "template": _help(modules, program)}
    store.store(group="hydra/help", name="simstudy", node=node)
    for name in files:
        if not (project.conf / "experiment" / f"{name}.yaml").exists():
            module = modules.get(name)
            own = asdict(_read_config(module, None, project)) if module else {}
            store.store(group="experiment", name=name, node=own)


def _help(modules: Mapping[str, Any], program: str) -> str:
    """The text of --help: settings, and the options of the experiments that are named."""
    rows = [f"  {name:14} {text}" for name, text in option_help(Settings)]
    for name, module in modules.items():
        rows += ["", f"Options of {name}:"]
        rows += [f"  experiment.{key:18} {text}" for key, text in option_help(module.Config)]
    text = HELP_TEMPLATE.format(program=program, settings="\n".join(rows))
    return text.replace("${", "\\${")


def config_location(project: Project) -> tuple[str, str]:
    """Folder and name of the primary config: the project's, or the package's."""
    if (project.conf / "config.yaml").is_file():
        return str(project.conf), "config"
    return str(project.conf if project.conf.is_dir() else PACKAGE_CONF), "simstudy"


def compose_run(project: Project, arguments: Sequence[str]) -> Run:
    """Compose one run through Hydra's compose API.

    Parameters
    ----------
    arguments
        Overrides as typed; a leading word names an experiment.

    Raises
    ------
    ConfigError
        In one line, for anything that cannot be composed or is not allowed.
    """
    overrides = read_words(arguments, project)
    if overrides[:1] == ["-m"]:
        raise ConfigError("this command takes one experiment: write experiment=NAME")
    with hydra_process(), errors_in_one_line():
        register(project, overrides)
        folder, name = config_location(project)
        with initialize_config_dir(folder, version_base=VERSION_BASE):
            config = compose(name, overrides, return_hydra_config=True)
        return resolve(config, config.hydra, project)


# ---------------------------------------------------------------- our side
def resolve(config: DictConfig, hydra: DictConfig, project: Project) -> Run:
    """Check types and ranges of all settings, and declare the study.

    Parameters
    ----------
    config
        The composed settings.
    hydra
        Hydra's own settings: the overrides, the chosen file of each group, and the folder that a
        relative `out` starts from (`hydra.job.chdir` changes the current one).
    """
    from simstudy.provenance.modules import sources_digest

    own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    values: dict[str, Any] = OmegaConf.to_container(own, resolve=True)  # type: ignore[assignment]
    texts: dict[str, Any] = OmegaConf.to_container(own)  # type: ignore[assignment]
    choices = hydra.runtime.choices
    if not choices.get("experiment"):
        known = ", ".join(project.options("experiment")) or "none"
        raise ConfigError(f"no experiment is named: write experiment=NAME; available: {known}")
    name = str(choices["experiment"])
    module = projects.load_experiment(name, project.root)
    own_config = _read_config(module, values.pop("experiment", None), project)
    folder = "results" if choices["scale"] == PUBLISHED else f"results/{choices['scale']}"
    stated = {key: value for key, value in (values.pop("scale") or {}).items() if value is not None}
    scale = build(Scale, {"out": folder} | stated, prefix="scale.")
    settings = _read_settings(values, choices["backend"])
    study = make_study(module, own_config, project.root)
    options = texts.get("experiment") or {}
    interpolated = {key: text for key, text in options.items() if "${" in str(text)}
    differences = _differences(own_config, settings, hydra, project)
    if "${oc.env" in str(texts):  # another environment does not replace these results
        differences |= {key: getattr(own_config, key) for key in interpolated}
        moving = [key for key in NAMES if key not in SILENT and "${" in str(texts.get(key))]
        differences |= {key: getattr(settings, key) for key in moving}
    settings.n_rep = settings.n_rep or scale.replicates(study.n_rep)
    out = os.path.expanduser((settings.out or "").strip() or str(scale.out))  # out=~/results
    is_elsewhere = Path(hydra.runtime.cwd) != Path.cwd() and "://" not in out
    settings.out = str(Path(hydra.runtime.cwd) / out) if is_elsewhere else out
    settings.check_options(study)
    sources = sources_digest(module.__file__)  # they may be edited during the run
    return Run(
        name, module, own_config, study, settings, sources, project,
        tuple(typed_overrides(hydra)), differences, interpolated,
    )  # fmt: skip


def _read_config(module: Any, values: Any, project: Project) -> Any:
    """Make and check the options of an experiment."""
    with projects.in_own_code(Path(module.__file__), project.root, "Config cannot be made"):
        return build(module.Config, values or {}, prefix="experiment.")


def _read_settings(values: Mapping[str, Any], backend: str) -> Settings:
    """Check the settings of a run; a wrong backend is refused before anything is drawn."""
    from simstudy.engine.workers import check_backend

    for key in values.keys() - {*NAMES, "backend"}:  # other keys are variables for interpolation
        if near := difflib.get_close_matches(key, NAMES, n=1, cutoff=MISSPELT):
            raise ConfigError(f"{key} is not a setting; did you mean {near[0]!r}?")
    options = read_settings(PACKAGE_CONF / "backend" / f"{backend}.yaml")
    stated = values.get("backend") or {}
    options |= {key: value for key, value in stated.items() if value is not None}
    kind = str(options.pop("name", None))
    check_backend(kind)
    given = {key: value for key, value in values.items() if key in NAMES}
    return build(Settings, given | {"backend": kind, "backend_options": options})


def _differences(
    config: Any, settings: Settings, hydra: DictConfig, project: Project
) -> dict[str, Any]:
    """The overrides of a run that may move numbers: they name its folder.

    An option of the experiment with the name of a setting is named `experiment.NAME`. Another
    primary config (`--config-name`) counts as an override.
    """
    options, known = asdict(config), {name: getattr(settings, name) for name in NAMES}
    found = dict[str, Any]()
    for each in OverridesParser.create().parse_overrides(typed_overrides(hydra)):
        name = each.key_or_group
        option = name.removeprefix("experiment.")
        if name in SILENT:
            continue
        if option != name and option in options:
            found[name if option in NAMES else option] = options[option]
        else:
            found[name] = "" if each.is_delete() else known.get(name, each.value())
    used = hydra.job.config_name
    return found if used == config_location(project)[1] else found | {"config": used}


def make_study(module: Any, config: Any, root: Path) -> Any:
    """Call `study(config)`; its errors name their line."""
    from simstudy.study import Study

    with projects.in_own_code(Path(module.__file__), root, "study(config) cannot be made"):
        study = module.study(config)
        if isinstance(study, Study):
            _ = study.plan().keys  # fails for a scenario that is no dataclass
            return study
    where = Path(module.__file__).relative_to(root)
    raise ConfigError(f"{where}: study(config) returned {study!r}: end it with return Study(...)")
