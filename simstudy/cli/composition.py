"""Composed settings: Hydra's configuration, checked and typed, with the study it declares."""

import copy
import difflib
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import (
    ConfigCompositionException,
    HydraException,
    MissingConfigException,
    OverrideParseException,
)
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError

from simstudy.cli.project import (
    PACKAGE_CONF,
    Project,
    experiment_files,
    in_own_code,
    load_experiment,
    read_settings,
)
from simstudy.cli.settings import (
    NAMES,
    SILENT,
    Run,
    Settings,
    check_settings,
    read_backend,
    read_scale,
    setting_of,
)
from simstudy.errors import ConfigError, SimstudyError, describe, nearest
from simstudy.options import build, format_setting, option_help

VERSION_BASE = "1.3"
FULL_ERROR = "HYDRA_FULL_ERROR"
AMBIGUOUS = re.compile(r"Ambiguous value for argument '([^']*)'")
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
HOW_TO_QUOTE = """; put text with special letters in two pairs of marks: 'out="a (b"'"""
GROUPS = ("experiment", "scale", "backend")
COMPOSING_ERRORS = (
    HydraException, OmegaConfBaseException, YAMLError,
    ValueError, TypeError, LookupError, RecursionError,
)  # fmt: skip
"""Errors of Hydra, OmegaConf and YAML, which raise Python's own, too."""
MISSPELT = 0.8  # similarity (difflib) from which an unknown key in conf/ is a misspelt setting
HELP_TEMPLATE = """Usage: {program} experiment=NAME [SETTING=VALUE ...]
Draw what is missing; summarise, draw figures, check claims, write a report.

Settings:
{settings}
  precision.NAME standard error to reach for a measure, as 0.005 or 2%

{options}Groups (choose with GROUP=NAME):
$APP_CONFIG_GROUPS
Hydra's own flags: --hydra-help; settings as composed: --cfg job.
"""


# ---------------------------------------------------------------- Hydra's side
@contextmanager
def hydra_process(argv: Sequence[str] | None = None) -> Iterator[None]:
    """Context for Hydra: its globals, `sys.argv` and logging are as they were at its end.

    Parameters
    ----------
    argv
        The command line that Hydra's main function reads. Default: that of the process.
    """
    Plugins.instance().register(PackageSettings)  # plugins add to the store what has to stay
    in_use, config = GlobalHydra.instance().hydra, HydraConfig.instance().cfg
    store, full_error = ConfigStore.instance().repo, os.environ.get(FULL_ERROR)
    before, handlers, level = sys.argv, [*logging.root.handlers], logging.root.level
    ConfigStore.instance().repo = copy.deepcopy(store) | {"experiment": {}}
    GlobalHydra.instance().clear()
    sys.argv = list(argv or sys.argv)
    os.environ[FULL_ERROR] = "1"  # Hydra raises errors instead of printing them and exiting
    try:
        yield
    finally:
        GlobalHydra.instance().hydra, HydraConfig.instance().cfg = in_use, config
        ConfigStore.instance().repo, sys.argv = store, before
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
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
    except OSError as error:
        if error.filename is None:
            raise
        raise ConfigError(f"cannot use {error.filename}: {error.strerror}") from None


def first_line(error: BaseException) -> str:
    """An error of composing in one line, with its cause or the nearest name."""
    cause = error.__cause__
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and "not in struct" in str(cause):
        known = cause.parent_node if isinstance(cause.parent_node, DictConfig) else {}
        names = [str(name) for name in known if name != "hydra"]
        options = known.get("experiment") if cause.full_key == cause.key else None
        if isinstance(options, DictConfig) and cause.key in options:
            return f"{cause.key} is not a setting; did you mean 'experiment.{cause.key}'?"
        return f"{cause.full_key} is not a setting; {nearest(cause.key, names)}"
    if isinstance(error, ConfigCompositionException) and (slip := AMBIGUOUS.search(str(error))):
        return several_values(slip[1])
    if isinstance(error, MissingConfigException) and "submitit" in str(error.missing_cfg_file):
        return (
            "this launcher needs hydra-submitit-launcher, which is not installed. Install it: "
            "pip install 'simstudy[slurm]'"
        )
    if isinstance(error, MissingConfigException) and error.options:
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        return f"{group}={name}: no such {group}; {nearest(name, list(error.options))}"
    if isinstance(error, RecursionError):
        return "a value has too many brackets within each other"
    if isinstance(error, YAMLError):
        return f"a file of settings cannot be read: {describe(error)}"
    lines = [str(each).strip().partition("\n")[0] for each in (error, cause) if each]
    texts = [line.rstrip(".") for line in lines if line] or [type(error).__name__]
    hint = HOW_TO_QUOTE if isinstance(error, OverrideParseException) else ""
    return ": ".join(dict.fromkeys(texts)) + hint


def several_values(override: str) -> str:
    """Explain an override such as `n_rep=10,000` or `seed=1,2`, which Hydra takes for a sweep."""
    name, _, value = override.partition("=")
    if THOUSANDS.fullmatch(value):
        return f"{override}: numbers have no commas: {name}={value.replace(',', '')}"
    in_one_run = f", or write a list in brackets, {name}=[{value}]"
    is_option = name.startswith("experiment.")
    return f"{override} gives several values: add -m to run each of them{in_one_run * is_option}"


def refuse_slips(arguments: Sequence[str]) -> None:
    """Refuse arguments as they are written for other programs.

    Raises
    ------
    ConfigError
        With how they are written here.
    """
    for before, text, after in zip(("", *arguments), arguments, (*arguments[1:], ""), strict=False):
        ends = text.endswith("=") and text != "=" and is_word(after or "=")
        if text.startswith("=") or ends:
            parts = [before * text.startswith("="), text, after * text.endswith("=")]
            raise ConfigError(f"no blanks stand around =: write {''.join(parts)}")
        name = text.removeprefix("--").partition("=")[0].replace("-", "_")
        if text.startswith("--") and (name in NAMES or name in GROUPS or "." in name):
            value = text.partition("=")[2] or after or "VALUE"
            raise ConfigError(f"{text}: settings have no dashes: write {name}={value}")


def is_word(text: str) -> bool:
    """Whether an argument is no override, but the name of an experiment."""
    return "=" not in text and not text.startswith("~")


def parse_overrides(overrides: Sequence[str]) -> list[Override]:
    """Parse overrides with Hydra's grammar."""
    for text in filter(is_word, overrides):
        raise ConfigError(
            f"{text!r} has no value: write NAME=VALUE, after names of experiments; commas, and no "
            "blanks, stand between values"
        )
    parsed = list[Override]()
    for text in overrides:
        try:
            parsed += OverridesParser.create().parse_overrides([text])
        except COMPOSING_ERRORS as error:
            line = first_line(error)
            raise ConfigError(line if setting_of(text) in line else f"{text}: {line}") from None
    for each in parsed:
        name, is_single = each.key_or_group, not (each.is_sweep_override() or each.is_delete())
        if name in GROUPS and is_single and not isinstance(each.value(), str):
            raise ConfigError(f"{each.input_line}: choose one by its name, {name}=NAME")
    return parsed


def typed_overrides(hydra: Any) -> list[str]:
    """The overrides of a run as typed, with their interpolations: values may be secrets."""
    typed: Any = OmegaConf.to_container(hydra.overrides.task, resolve=False)
    return list(typed)


class PackageSettings(SearchPathPlugin):  # type: ignore[misc]
    """Puts the package's settings behind the project's.

    Registered by our own command only: a module in `hydra_plugins` would act in every Hydra
    application of the environment.
    """

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the package's folder of settings."""
        search_path.append(provider="simstudy", path="pkg://simstudy.cli.conf")


def register(
    project: Project,
    overrides: Sequence[Override] = (),
    *,
    program: str = "",
    sweep_folder: str = "results/sweeps",
) -> None:
    """Register with Hydra the package's settings, help, experiments and backends by place.

    The node `experiment` is open, since a file may leave options to the defaults of `Config`, which
    checks the names.

    Parameters
    ----------
    overrides
        The command's overrides, whose experiments are imported if they have no file in `conf/`.
    program
        The command, for the help text.
    sweep_folder
        Default of `hydra.sweep.dir`.
    """
    store, defaults = ConfigStore.instance(), Settings()
    content = {n: getattr(defaults, n) for n in NAMES if n != "backend"}
    content |= {"experiment": {}, "hydra": {"sweep": {"dir": sweep_folder}}}
    node = OmegaConf.create(content)
    OmegaConf.set_struct(node.experiment, False)
    OmegaConf.set_struct(node.precision, False)  # keys are names of measures
    store.store(name="settings", node=node)
    named = [name for override in overrides for name in _experiments_in(override, project)]
    for name in named if not any("glob(" in str(each.input_line) for each in overrides) else ():
        read_settings(project.conf / "experiment" / f"{name}.yaml")  # refuses a damaged file
    modules = {name: load_experiment(name, project.root) for name in named}
    template = _help(modules, program)
    store.store(
        group="hydra/help", name="simstudy", node={"app_name": "simstudy", "template": template}
    )
    for override in (each for each in overrides if each.key_or_group == "backend"):
        for place in re.findall(r"[\w.]+:\w+", str(override.input_line)):
            store.store(group="backend", name=place, node={"name": place})
    for name in experiment_files(project.root):
        if not (project.conf / "experiment" / f"{name}.yaml").exists():
            module = modules.get(name)
            own = asdict(_read_config(module, None, project)) if module else {}
            store.store(group="experiment", name=name, node=own)


def _experiments_in(override: Override, project: Project) -> list[str]:
    """The experiments that an override names, also in a sweep."""
    if override.key_or_group != "experiment":
        return []
    known, words = experiment_files(project.root), re.findall(r"[\w-]+", str(override.input_line))
    return [name for name in known if name in words or "glob" in words]


def _help(modules: Mapping[str, Any], program: str) -> str:
    """The text of --help: settings, and the options of the experiments that are named."""
    settings = "\n".join(f"  {name:14} {text}" for name, text in option_help(Settings))
    options = ""
    for name, module in modules.items():
        own = [f"  experiment.{key:18} {text}" for key, text in option_help(module.Config)]
        options += f"Options of {name}:\n" + "\n".join(own) + "\n\n"
    text = HELP_TEMPLATE.format(program=program, settings=settings, options=options)
    return text.replace("${", "\\${")


def config_location(project: Project) -> tuple[str, str]:
    """Folder and name of the primary config: the project's, or the package's.

    Raises
    ------
    ConfigError
        If the project's `conf/config.yaml` does not include the package's settings.
    """
    path = project.conf / "config.yaml"
    if not path.is_file():
        return str(project.conf if project.conf.is_dir() else PACKAGE_CONF), "simstudy"
    if "simstudy" not in (read_settings(path).get("defaults") or ()):
        raise ConfigError(
            f"{path} does not include the settings of simstudy: begin it with "
            "defaults: [simstudy, _self_]"
        )
    return str(project.conf), "config"


def compose_run(project: Project, overrides: Sequence[str]) -> Run:
    """Compose one run through Hydra's compose API.

    Parameters
    ----------
    overrides
        Overrides as typed; a word among them names an experiment.

    Raises
    ------
    ConfigError
        In one line, for anything that cannot be composed or is not allowed.
    """
    known = project.options("experiment")
    if unknown := [text for text in overrides if is_word(text) and text not in known]:
        raise ConfigError(f"{unknown[0]!r} is no experiment; {nearest(unknown[0], known)}")
    overrides = [f"experiment={text}" if is_word(text) else text for text in overrides]
    with hydra_process(), errors_in_one_line():
        register(project, parse_overrides(overrides))
        folder, name = config_location(project)
        with initialize_config_dir(folder, version_base=VERSION_BASE):
            config = compose(name, list(overrides), return_hydra_config=True)
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
    from simstudy.study.run_options import check_n_blocks

    own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    values: dict[str, Any] = OmegaConf.to_container(own, resolve=True)  # type: ignore[assignment]
    texts: dict[str, Any] = OmegaConf.to_container(own)  # type: ignore[assignment]
    choices = dict(hydra.runtime.choices)
    for group in GROUPS:
        if not choices.get(group):
            known = ", ".join(project.options(group)) or "none"
            raise ConfigError(f"no {group} is named: write {group}=NAME; available: {known}")
    name = str(choices["experiment"])
    module = load_experiment(name, project.root)
    environment = _environment(texts, values)
    own_config = _read_config(module, values.pop("experiment", None), project)
    scale = read_scale(values.pop("scale", None), choices["scale"])
    settings = _read_run_settings(values, choices["backend"])
    study = make_study(module, own_config, project.root)
    n_rep = settings.n_rep or scale.replicates(study.n_rep)
    check_n_blocks(n_rep, study.block_size)
    out = os.path.expanduser((settings.out or "").strip() or str(scale.out))  # out=~/results
    if Path(hydra.runtime.cwd) != Path.cwd() and "://" not in out:
        out = str(Path(hydra.runtime.cwd) / out)
    overrides = typed_overrides(hydra)
    differences = _differences(overrides, own_config, settings, hydra, project)
    options = texts.get("experiment") or {}
    interpolated = {key: text for key, text in options.items() if "${" in str(text)}
    sources = sources_digest(module.__file__)  # they may be edited during the run
    run = Run(
        name, module, own_config, study, settings, n_rep, out, sources, project,
        tuple(overrides), differences, interpolated, environment,
    )  # fmt: skip
    return run.beside_other_environments()


def _read_run_settings(values: Mapping[str, Any], backend: str) -> Settings:
    """Check the settings of a run; a wrong backend is refused before anything is drawn."""
    for key in values.keys() - {*NAMES, "backend"}:  # other keys are variables for interpolation
        if near := difflib.get_close_matches(key, NAMES, n=1, cutoff=MISSPELT):
            raise ConfigError(f"{key} is not a setting; did you mean {near[0]!r}?")
    kind, options = read_backend(values.get("backend"), backend)
    given = {key: value for key, value in values.items() if key in NAMES}
    settings = build(Settings, given | {"backend": kind, "backend_options": options})
    check_settings(settings)
    if options or ":" in kind:
        from simstudy.engine.executors import maker_of

        maker_of(settings)
    return settings


def _differences(
    overrides: Sequence[str], config: Any, settings: Settings, hydra: DictConfig, project: Project
) -> dict[str, Any]:
    """The overrides of a run that may move numbers: they name its folder.

    An option of the experiment with the name of a setting is named `experiment.NAME`. Another
    primary config (`--config-name`) counts as an override.
    """
    options, known = asdict(config), {name: getattr(settings, name) for name in NAMES}
    found = dict[str, Any]()
    for each in parse_overrides(overrides):
        name = each.key_or_group
        option = name.removeprefix("experiment.")
        if name in SILENT or name.partition(".")[0] == "hydra":
            continue
        if option != name and option in options:
            found[name if option in NAMES else option] = options[option]
        else:
            found[name] = "" if each.is_delete() else known.get(name, each.value())
    sources = [source.path for source in hydra.runtime.config_sources if source.provider == "main"]
    used = sources[0], hydra.job.config_name
    return found if used == config_location(project) else found | {"config": hydra.job.config_name}


def _environment(texts: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Digests of composed settings as text and as values, if some are interpolated; else empty.

    The same text with other values means that the environment has changed.
    """
    from simstudy.provenance.scenario_id import short_hash

    both = [{k: v for k, v in each.items() if k not in SILENT} for each in (texts, values)]
    both[0] |= {"experiment": texts.get("experiment")}
    both[1] |= {"experiment": values.get("experiment")}
    return "-".join(short_hash(repr(each), 8) for each in both) if "${" in repr(both[0]) else ""


def _read_config(module: Any, values: Any, project: Project) -> Any:
    """Make and check the options of an experiment."""
    if values is not None and not isinstance(values, dict):
        raise ConfigError(
            f"experiment={format_setting(values)} is no experiment: its options are keys below it, "
            "as in experiment.NAME=VALUE."
        )
    with in_own_code(Path(module.__file__), project.root, "Config cannot be made"):
        return build(module.Config, values or {}, prefix="experiment.")


def make_study(module: Any, config: Any, root: Path) -> Any:
    """Call `study(config)`; its errors name their line."""
    from simstudy.study import Study

    with in_own_code(Path(module.__file__), root, "study(config) cannot be made"):
        study = module.study(config)
        if isinstance(study, Study):
            _ = study.plan().keys  # fails for a scenario that is no dataclass
            return study
    raise ConfigError(
        f"{Path(module.__file__).relative_to(root)}: study(config) returned {study!r}, and must "
        "return a Study: end it with return Study(...)."
    )
