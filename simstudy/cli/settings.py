"""The settings of a run on the command line, and their checks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from pydantic_core import to_jsonable_python

from simstudy.cli.project import PACKAGE_CONF, Project, read_settings
from simstudy.errors import ConfigError, StoreError
from simstudy.options import build, format_setting, option
from simstudy.remote import Place, place_of
from simstudy.study.run_options import RunOptions, read_seconds

SILENT = frozenset({
    "n_jobs", "backend", "block_seconds", "out", "retry", "redraw", "adopt", "budget",
    "join", "draw", "shard", "figures", "pdf", "pdb", "report", "progress", "claims", "objective",
    "scale", "experiment",
})  # fmt: skip
"""Settings that change no number, so that runs with other values of them share a folder."""


@dataclass
class Settings(RunOptions):
    """The settings of a run, without those of the experiment."""

    progress: bool = option("show progress", default=True)
    precision: dict[str, Any] = field(default_factory=dict)
    join: int | None = option("N: join N shares; draw what is missing if it is little", at_least=1)
    draw: bool = option("with join: draw what is missing, however much it is", default=False)
    figures: bool = option("draw the figures", default=True)
    pdf: bool = option("also draw the figures as PDF", default=False)
    report: bool = option("write the HTML report", default=True)
    pdb: bool = option("open the debugger at the first failed replicate", default=False)
    claims: bool = option("print claims also if the settings are not published", default=False)
    objective: str | None = option(
        "measure whose mean over the summary is the objective of a sweeper"
    )


MAX_NAME_LENGTH = 100  # characters of a folder's name
NAMES = [each.name for each in fields(Settings) if each.init and each.name != "backend_options"]


def check_settings(settings: Settings) -> None:
    """Check settings that depend on each other.

    Raises
    ------
    ConfigError
        If they do not go together.
    """
    if not isinstance(settings.precision, Mapping):
        raise ConfigError(
            f"precision={format_setting(settings.precision)} names no measure: write "
            "precision.MEASURE=0.005"
        )
    for name in ("shard", "precision"):
        if settings.join and getattr(settings, name):
            raise ConfigError(
                f"join={settings.join} with {name}: the run that joins shares draws no share, "
                f"and has a fixed n_rep. Leave {name} out."
            )
    read_seconds(settings.budget)


# ---------------------------------------------------------------- scales and backends
PUBLISHED = "paper"  # the scale of the published results


@dataclass
class Scale:
    """A scale, from `conf/scale/NAME.yaml`: replicates and folder."""

    name: str | None = option("name of the scale")
    times: float | None = option("factor of the published replicates", above=0, at_most=1e9)
    n_rep: int | None = option("replicates per scenario", at_least=1)
    out: str | None = option("folder of the results")

    def replicates(self, published: int) -> int:
        """Replicates per scenario: `n_rep`, or `times` the published if fewer."""
        by_factor = max(1, round(self.times * published)) if self.times else None
        return min(filter(None, (by_factor, self.n_rep)), default=published)


def read_scale(values: Any, name: str) -> Scale:
    """Read a scale; its default folder has its name.

    Raises
    ------
    ConfigError
        With the key and the value.
    """
    out = "results" if name == PUBLISHED else f"results/{name}"
    return build(Scale, {"out": out} | _stated(values, "scale"), prefix="scale.")


def read_backend(values: Any, name: str) -> tuple[str, dict[str, Any]]:
    """Read a backend's name and options.

    Raises
    ------
    ConfigError
        If there is no such backend.
    """
    from simstudy.engine.workers import check_backend

    package = read_settings(PACKAGE_CONF / "backend" / f"{name}.yaml")
    options = package | _stated(values, "backend")
    backend = options.pop("name", None)
    if not isinstance(backend, str):
        raise ConfigError(
            f"conf/backend/{name}.yaml has no name: write name: and the kind of backend, or "
            "module:Class"
        )
    check_backend(backend)
    return backend, options


def _stated(values: Any, group: str) -> dict[str, Any]:
    """The keys that a file sets to a value."""
    if values is None or isinstance(values, Mapping):
        return {key: value for key, value in (values or {}).items() if value is not None}
    raise ConfigError(
        f"{group}={format_setting(values)} is no group of settings: choose a file of "
        f"conf/{group}/ with {group}=NAME"
    )


# ---------------------------------------------------------------- a run
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
    interpolated
        Options that were composed from others or from the environment, with their text. Files and
        folders show that text or a hash, never the value, which may be a secret.
    environment
        Digests of all settings, as text and as values, if some were composed so.
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
    differences: Mapping[str, Any] = field(default_factory=dict)
    interpolated: Mapping[str, Any] = field(default_factory=dict)
    environment: str = ""

    @property
    def folder(self) -> Place:
        """The folder of the study, with the store of blocks."""
        return place_of(self.out) / str(self.study.name)

    @property
    def run_folder(self) -> Place:
        """The folder of this run's outputs: the study's own, or one named after what differs."""
        if not self.differences:
            return self.folder
        from simstudy.provenance.scenario_id import short_hash
        from simstudy.store.runs import RUNS

        shown = []
        for name, value in sorted(self.differences.items()):
            is_secret = name.removeprefix("experiment.") in self.interpolated
            text = short_hash(str(value), 8) if is_secret else format_setting(value)
            shown.append(f"{name}={text}")
        return self.folder / RUNS / short_name(",".join(shown))

    def beside_other_environments(self) -> "Run":
        """The same run; in a folder of its own if its folder has results of another environment."""
        from simstudy.store.runs import read_manifest

        if not self.environment:
            return self
        try:
            config = (read_manifest(self.run_folder) or {}).get("config")
        except StoreError:
            return self
        stored = str(config.get("environment", "")) if isinstance(config, Mapping) else ""
        text, _, values = self.environment.partition("-")
        if stored.partition("-")[0] != text or stored == self.environment:
            return self
        return replace(self, differences={**self.differences, "environment": values})

    @property
    def label(self) -> str:
        """The overrides that say which run of a sweep this is."""
        silent = SILENT - {"experiment"}
        return " ".join(text for text in self.overrides if setting_of(text) not in silent)

    @property
    def is_published(self) -> bool:
        """Whether these are the settings of `conf/experiment/NAME.yaml`, or the study's own."""
        return not self.differences

    @property
    def record(self) -> dict[str, Any]:
        """The settings that numbers depend on, for the manifest."""
        made_by = {
            "experiment": self.name,
            **to_jsonable_python(asdict(self.config)),
            **self.interpolated,
        }
        made_by |= {"environment": self.environment} if self.environment else {}
        until = {"precision": self.settings.precision, "at_least": self.n_rep}
        return made_by | (until if self.settings.precision else {})


def setting_of(override: str) -> str:
    """The name of the setting that an override sets."""
    return override.lstrip("+").partition("=")[0]


def short_name(text: str) -> str:
    """A text as a folder's name; a long or unusual one ends with a hash."""
    name = re.sub(r"[^\w.,=+\-\[\]]+", "_", text)
    if name == text and len(name) <= MAX_NAME_LENGTH:
        return name
    from simstudy.provenance.scenario_id import short_hash

    return f"{name[: MAX_NAME_LENGTH - 9]}-{short_hash(text, 8)}"


# ---------------------------------------------------------------- commands on files
def parse_words(arguments: Sequence[str]) -> dict[str, str]:
    """Values by name from NAME=VALUE words.

    Raises
    ------
    ConfigError
        For a setting without a value, or given twice.
    """
    values = dict[str, str]()
    for text in arguments:
        name, _, value = text.lstrip("+").partition("=")
        if name in values:
            raise ConfigError(f"{name} is given twice: {name}={values[name]} and {text}")
        if not value:
            raise ConfigError(f"{text} has no value: leave {name} out, or write {name}=VALUE")
        values[name] = value
    return values
