"""Composed settings: Hydra's configuration, checked and typed, with the study it declares."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from simstudy.cli.project import (
    PACKAGE_CONF,
    Project,
    experiment_files,
    in_own_code,
    load_experiment,
    read_settings,
)
from simstudy.cli.settings import (
    Settings,
    check_settings,
    read_backend,
    read_scale,
)
from simstudy.errors import ConfigError, nearest
from simstudy.options import build, format_setting, option_help
from simstudy.remote.paths import Place, place_of

if TYPE_CHECKING:
    from simstudy.engine.workers import Workers

VERSION_BASE = "1.3"
GLOBAL_PACKAGE = "@package _global_"  # in a file of `conf/experiment/` that sets more than options
HOW_TO_QUOTE = """put text with special letters in two pairs of marks: 'out="a (b"'"""
MISSPELT = 0.8  # similarity (difflib) from which an unknown key in conf/ is a misspelt setting
MAX_BLOCKS = 200_000_000  # a run keeps some bytes for each block
HELP_TEMPLATE = """Usage: {program} experiment=NAME [SETTING=VALUE ...]
Draw what is missing; summarise, draw figures, check claims, write a report.

{settings}

{options}Groups (choose with GROUP=NAME):
$APP_CONFIG_GROUPS
Hydra's own flags: --hydra-help; settings as composed: --cfg job.
"""


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
        Settings of the run.
    n_rep
        Replicates per scenario.
    out
        Folder that contains the folder of the study.
    sources
        Digest of all sources behind the outputs, as they were when they were loaded.
    overrides
        The overrides of this run, as typed.
    differences
        Settings that differ from the published ones and change numbers, by name.
    """

    name: str
    module: Any
    config: Any
    study: Any
    settings: Settings
    n_rep: int
    out: str
    sources: str
    project: Project
    overrides: tuple[str, ...]
    backend_options: Mapping[str, Any] = field(default_factory=dict)
    differences: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Place:
        """The folder of the study, with the store of blocks."""
        return place_of(self.out) / str(self.study.name)

    @property
    def run_folder(self) -> Place:
        """The folder of this run's outputs."""
        from simstudy.cli.run_folders import run_folder

        return run_folder(self.folder, self.differences)

    @property
    def is_published(self) -> bool:
        """Whether these are the settings of `conf/experiment/NAME.yaml`, or the study's own."""
        return not self.differences

    @property
    def workers(self) -> "Workers":
        """The workers."""
        from simstudy.engine.workers import Workers

        settings = self.settings
        return Workers(
            settings.backend, settings.n_jobs, self.backend_options, settings.block_seconds
        )

    @property
    def record(self) -> dict[str, Any]:
        """The settings that numbers depend on, for the manifest."""
        made_by = {"experiment": self.name, **asdict(self.config)}
        if not self.settings.precision:
            return made_by
        decided = {"precision": self.settings.precision, "stop_by": self.settings.stop_by}
        return made_by | decided | {"at_least": self.n_rep}


# ---------------------------------------------------------------- Hydra's side
def parse_overrides(overrides: Sequence[str]) -> list[Override]:
    """Parse overrides with Hydra's grammar.

    Raises
    ------
    ConfigError
        With Hydra's words, if one cannot be parsed.
    """
    try:
        parsed: list[Override] = OverridesParser.create().parse_overrides(list(overrides))
        return parsed
    except HydraException as error:
        raise ConfigError(f"{first_line(error)}; {HOW_TO_QUOTE}") from None


def first_line(error: BaseException) -> str:
    """The first line of an error of Hydra's or OmegaConf's, with its cause or the nearest name."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = [line.strip() for line in str(error.__cause__ or "").splitlines() if line.strip()]
    texts = [*(lines or [type(error).__name__])[:1], *cause[:1]]
    text = ": ".join(text.rstrip(".") for text in dict.fromkeys(texts))
    if not (isinstance(error, MissingConfigException) and error.options):
        return text
    group, _, name = str(error.missing_cfg_file).rpartition("/")
    return f"{group}={name}: no such {group}; {nearest(name, list(error.options))}"


def register(
    project: Project,
    overrides: Sequence[Override] = (),
    *,
    program: str = "",
    sweep_folder: str = "results/sweeps",
) -> None:
    """Register with Hydra what is in no file: settings, help, experiments, backends by place.

    Parameters
    ----------
    overrides
        The command's overrides, whose experiments are imported if they have no file in `conf/`.
    program
        The command, for the help text.
    sweep_folder
        Default of `hydra.sweep.dir`.
    """
    store = ConfigStore.instance()
    settings = {name: value for name, value in asdict(Settings()).items() if name != "backend"}
    node = OmegaConf.create({"precision": settings.pop("precision"), **settings})
    OmegaConf.set_struct(node.precision, False)  # keys are names of measures
    node["hydra"] = {"sweep": {"dir": sweep_folder}}
    store.store(name="settings", node=node)
    help_node = {"app_name": "simstudy", "template": _help(project, overrides, program)}
    store.store(group="hydra/help", name="simstudy", node=help_node)
    for override in overrides:
        _register_named(override, project, store)


def _register_named(override: Override, project: Project, store: ConfigStore) -> None:
    group, names = override.key_or_group, _names(override, project)
    for name in names:
        if group == "backend" and ":" in name:
            store.store(group=group, name=name, node={"name": name})
        has_file = (project.conf / "experiment" / f"{name}.yaml").exists()
        if group == "experiment" and name in experiment_files(project.root) and not has_file:
            module = load_experiment(name, project.root)
            with in_own_code(module, "Config", project.root):
                store.store(group=group, name=name, node=asdict(module.Config()))


def _names(override: Override, project: Project) -> list[str]:
    """The names of a group that an override chooses, also in a sweep."""
    if override.key_or_group not in ("experiment", "backend"):
        return []
    value = override.value()
    if override.is_sweep_override():
        if hasattr(value, "filter"):  # a glob
            return list(value.filter(project.options(override.key_or_group)))
        return [text.strip("'\"") for text in override.sweep_string_iterator()]
    return [value] if isinstance(value, str) else []


def _help(project: Project, overrides: Sequence[Override], program: str) -> str:
    """The text of --help: settings, and the options of the experiment that is named."""
    lines = [f"  {name:14} {text}" for name, text in option_help(Settings)]
    lines.insert(
        2, f"  {'precision.NAME':14} standard error to reach for a measure, as 0.005 or 2%"
    )
    options = ""
    for name in (name for each in overrides for name in _names(each, project)):
        if name in experiment_files(project.root):
            module = load_experiment(name, project.root)
            own = [f"  experiment.{key:18} {text}" for key, text in option_help(module.Config)]
            options += f"Options of {name}:\n" + "\n".join(own) + "\n\n"
    text = HELP_TEMPLATE.format(
        program=program, settings="\n".join(["Settings:", *lines]), options=options
    )
    return text.replace("${", "\\${")


def config_location(project: Project) -> tuple[str, str]:
    """Folder and name of the primary config: the project's, or the package's.

    Raises
    ------
    ConfigError
        If the project's `conf/config.yaml` does not include the package's settings.
    """
    path = project.conf / "config.yaml"
    if path.is_file():
        if "simstudy" not in (read_settings(path).get("defaults") or ()):
            raise ConfigError(
                f"{path} does not include the settings of simstudy: begin it with "
                "defaults: [simstudy, _self_]"
            )
        return str(project.conf), "config"
    folder = project.conf if project.conf.is_dir() else PACKAGE_CONF
    return str(folder), "simstudy"


def compose_run(project: Project, overrides: Sequence[str]) -> Run:
    """Compose one run through Hydra's compose API.

    Raises
    ------
    ConfigError
        In one line, for anything that cannot be composed or is not allowed.
    """
    parsed = parse_overrides(overrides)
    check_names(project, parsed)
    register(project, parsed)
    folder, name = config_location(project)
    with hydra_errors_in_one_line(), _own_hydra():
        with initialize_config_dir(folder, version_base=VERSION_BASE):
            config = compose(name, list(overrides), return_hydra_config=True)
        choices = dict(config.hydra.runtime.choices)
        values = without_hydra(config)
    return resolve(values, choices, overrides, project)


@contextmanager
def _own_hydra() -> Iterator[None]:
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        GlobalHydra.instance().clear()


@contextmanager
def hydra_errors_in_one_line() -> Iterator[None]:
    """Context that turns errors of Hydra and OmegaConf into a ConfigError of one line."""
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(first_line(error)) from None


def without_hydra(config: DictConfig) -> dict[str, Any]:
    """The composed settings as plain values, without Hydra's own."""
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    plain = OmegaConf.to_container(own, resolve=True)
    assert isinstance(plain, dict)
    return {str(name): value for name, value in plain.items()}


def check_names(project: Project, overrides: Sequence[Override]) -> None:
    """Refuse a misspelled setting or experiment, with the nearest name.

    Raises
    ------
    ConfigError
        For names that neither the settings, the project's `conf/` nor Hydra know.
    """
    known = _known_names(project)
    options = [each.name for each in fields(Settings)]
    for override in overrides:
        key = override.key_or_group.partition(".")[0].partition("/")[0].partition("@")[0]
        if override.is_add() or override.is_force_add() or key in known:
            continue
        near = nearest(key, [*options, "experiment", "scale"])
        raise ConfigError(f"{override.input_line}: {key} is not a setting; {near}")
    plain = {override.key_or_group: override.value() for override in overrides
             if override.key_or_group in options and not override.is_sweep_override()}  # fmt: skip
    build(Settings, {name: value for name, value in plain.items() if _is_plain(value)})
    for override in overrides:
        if override.key_or_group == "experiment":
            files = project.options("experiment")
            for name in _names(override, project):
                if name not in files:
                    raise ConfigError(
                        f"experiment={name}: no such experiment; {nearest(name, files)}"
                    )
            _check_options(override, overrides, project)


def _is_plain(value: Any) -> bool:
    """Whether a value of an override needs no composition to be checked."""
    return isinstance(value, bool | int | float) or (isinstance(value, str) and "${" not in value)


def _check_options(named: Override, overrides: Sequence[Override], project: Project) -> None:
    """Refuse an unknown option of an experiment, with the nearest name."""
    for name in _names(named, project):
        known = [each.name for each in fields(load_experiment(name, project.root).Config)]
        for override in overrides:
            group, _, option = override.key_or_group.partition(".")
            is_new = override.is_add() or override.is_force_add()
            if group != "experiment" or not option or is_new:
                continue
            if option.partition(".")[0] not in known:
                raise ConfigError(
                    f"{override.input_line}: {name} has no option {option!r}; "
                    f"{nearest(option, known)}"
                )


def _known_names(project: Project) -> set[str]:
    """First words of settings: those of a run, groups, and what the project's config has."""
    names = {each.name for each in fields(Settings)} | {"experiment", "scale", "backend", "hydra"}
    if project.conf.is_dir():
        names |= {path.name for path in project.conf.iterdir() if path.is_dir()}
        for path in project.conf.rglob("*.yaml"):
            with suppress(ConfigError, OSError, UnicodeDecodeError):  # another command's file
                if path.parent.name != "experiment" or GLOBAL_PACKAGE in path.read_text("utf-8"):
                    names |= set(map(str, read_settings(path)))
    return names


# ---------------------------------------------------------------- our side
def resolve(
    values: dict[str, Any],
    choices: Mapping[str, str],
    overrides: Sequence[str],
    project: Project,
    *,
    cwd: str | None = None,
) -> Run:
    """Check types and ranges of all settings, and declare the study.

    Parameters
    ----------
    values
        The composed settings.
    choices
        The chosen file of each group.
    cwd
        Folder that a relative `out` starts from, if Hydra has left it (`hydra.job.chdir`).
    """
    from simstudy.provenance.modules import sources_digest
    from simstudy.study.validation import check_whole_groups

    name = choices.get("experiment")
    if not name:
        known = ", ".join(project.options("experiment")) or "none"
        raise ConfigError(f"no experiment is named: write experiment=NAME; available: {known}")
    scale = read_scale(values.pop("scale", None), choices["scale"])
    backend, options = read_backend(values.pop("backend", None), choices["backend"])
    module = load_experiment(name, project.root)
    config = _read_config(module, values.pop("experiment", None), project)
    own = {each.name for each in fields(Settings)}
    given = {key: value for key, value in values.items() if key in own}
    for key in values.keys() - own:  # variables for interpolation have names of their own
        if near := difflib.get_close_matches(key, own, n=1, cutoff=MISSPELT):
            raise ConfigError(f"{key} is not a setting; did you mean {near[0]!r}?")
    settings = build(Settings, given | {"backend": backend})
    check_settings(settings)
    if options or ":" in backend:  # a wrong option is refused before anything is drawn
        from simstudy.engine.executors import maker_of
        from simstudy.engine.workers import Workers

        maker_of(Workers(backend, settings.n_jobs, options))
    study = _make_study(module, config, project.root)
    published = _published(module, name, project)
    published_rep = published.settings.get("n_rep") or scale.replicates(
        study.n_rep, study.rules.group_size
    )
    n_rep = settings.n_rep or published_rep
    check_whole_groups(study.rules.group_size, n_rep)
    _check_size(study, settings, n_rep)
    out = settings.out or str(scale.out)
    if cwd and Path(cwd) != Path.cwd() and "://" not in out:
        out = str(Path(cwd) / out)
    if settings.shard:
        refuse_own_memory(out, f"shard={settings.shard}")
    differences = {} if n_rep == published_rep or settings.precision else {"n_rep": n_rep}
    differences |= _differences(settings, config, published)
    sources = sources_digest(module.__file__)  # they may be edited during the run
    return Run(
        name, module, config, study, settings, n_rep, out, sources, project, tuple(overrides),
        options, differences,
    )  # fmt: skip


def _differences(settings: Settings, config: Any, published: "_Published") -> dict[str, Any]:
    """Settings of a run that change numbers and differ from the published ones."""
    seed = published.settings.get("seed", Settings().seed)
    found = {"seed": settings.seed} if settings.seed != seed else {}
    if settings.precision:
        decided = {f"precision.{name}": value for name, value in settings.precision.items()}
        found |= decided | {"n_rep": settings.n_rep} if settings.n_rep else decided
        defaults = Settings()
        for name in ("max_rep", "stop_by"):
            if getattr(settings, name) != getattr(defaults, name):
                found[name] = getattr(settings, name)
    now, then = asdict(config), asdict(published.config)
    return found | {name: now[name] for name in now if now[name] != then[name]}


class _Published(NamedTuple):
    """What the files of `conf/` state: the settings of the published run and its `Config`."""

    settings: Mapping[str, Any]
    config: Any


def _published(module: Any, name: str, project: Project) -> _Published:
    """Read the published settings of an experiment."""
    path = project.conf / "experiment" / f"{name}.yaml"
    settings, values = read_settings(project.conf / "config.yaml"), read_settings(path)
    if path.exists() and GLOBAL_PACKAGE in path.read_text(encoding="utf-8"):
        settings, values = {**values, **settings}, values.get("experiment") or {}
    known = {each.name for each in fields(module.Config)}
    own = {key: value for key, value in values.items() if key in known}
    return _Published(settings, _read_config(module, own, project))


def _check_size(study: Any, settings: Settings, n_rep: int) -> None:
    """Refuse more blocks than fit into memory, and `max_rep` below the first round."""
    n_blocks = -(-n_rep // study.block_size) * len(study.scenarios)
    if n_blocks > MAX_BLOCKS:
        raise ConfigError(
            f"n_rep={n_rep} needs {n_blocks:,} blocks of {study.block_size} replicates; a run can "
            f"keep account of {MAX_BLOCKS:,}. Ask for fewer replicates, or give the Study a larger "
            "block_size."
        )
    if settings.precision and settings.max_rep < n_rep:
        raise ConfigError(
            f"max_rep={settings.max_rep} is less than the {n_rep:,} replicates with which every "
            f"scenario begins: raise it, or begin with fewer, n_rep={settings.max_rep}"
        )


def refuse_own_memory(out: str, setting: str) -> None:
    """Refuse an in-memory place for results that several processes share.

    Parameters
    ----------
    setting
        The setting that makes them share it.
    """
    if out.startswith("memory:"):
        raise ConfigError(
            f"out={out} with {setting}: other processes cannot see the memory of this one. Give a "
            "folder that all see."
        )


def _read_config(module: Any, values: Any, project: Project) -> Any:
    """Make and check the options of an experiment."""
    if values is not None and not isinstance(values, dict):
        raise ConfigError(
            f"experiment={format_setting(values)} is no experiment: its options are keys below it, "
            "as in experiment.NAME=VALUE."
        )
    with in_own_code(module, "Config", project.root):
        return build(module.Config, values or {}, prefix="experiment.")


def _make_study(module: Any, config: Any, root: Path) -> Any:
    """Call `study(config)`; its errors name their line."""
    from simstudy.study import Study

    with in_own_code(module, "study(config)", root):
        study = module.study(config)
        if isinstance(study, Study):
            _ = study.plan().keys  # fails for a scenario that is no dataclass
            return study
    raise ConfigError(
        f"{Path(module.__file__).relative_to(root)}: study(config) returned {study!r}, and must "
        "return a Study: end it with return Study(...)."
    )
