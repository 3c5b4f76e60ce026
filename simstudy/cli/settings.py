"""The settings of a command: types, ranges, and which exclude each other."""

import math
import os
import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simstudy.cli.project import PACKAGE_CONF, Project, read_settings
from simstudy.cli.shares import share_of_array
from simstudy.errors import ConfigError
from simstudy.option_types import format_setting, number_meant, read_annotation
from simstudy.options import build, option

PILOT = "pilot"  # of the shares: the first blocks of every scenario
OF_ONE_VERB = {"join": "run", "debug": "replay"}
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass
class Settings:
    """The settings of a command, without those of the experiment."""

    n_rep: int | None = option("replicates in each scenario; default: the scale's", at_least=1)
    seed: int = option("seed of the random numbers", default=1, at_least=0)
    n_jobs: int | None = option("number of workers; default: one per core", at_least=1)
    backend: str = option("where blocks are computed", default="auto")
    block_seconds: float | None = option("seconds that drawing a block may take", above=0)
    out: str | None = option("folder of the results; default: the scale's")
    shard: str | None = option(
        "i/N: draw the i-th of N shares of the blocks; auto, or auto/N: the share of this array "
        "job; pilot: draw two blocks of each scenario and cut shares by their time"
    )
    join: int | None = option(
        "join N shares: draw what is missing, unless it is more than one share draws", at_least=1
    )
    restart: bool = option("delete this study's stored blocks first", default=False)
    replace: bool = option("publish over the results of other settings", default=False)
    retry: str | None = option("draw blocks with recorded failures again", one_of=("failed",))
    redraw: list[str] | None = option(
        "methods to draw again because their code has changed: [a,b], or changed for all of them"
    )
    adopt: bool = option(
        "keep what earlier code drew if one block of each comes out the same", default=False
    )
    precision: dict[str, Any] = field(default_factory=dict)
    max_rep: int = option(
        "most replicates in a scenario with precision", default=1_000_000, at_least=1
    )
    budget: str | None = option("time after which no new block begins: 90s, 30m, 2h, 1.5d")
    stop_by: str = option(
        "how precision ends a scenario: by looks at its error, or by a pilot, which adds no bias",
        default="sequential",
        one_of=("sequential", PILOT),
    )
    debug: bool = option("open the debugger where a replay raises an error", default=False)
    group: str = option(
        "the studies that `all` and experiment=glob(*) run: all, or those in conf/group/NAME.yaml",
        default="all",
    )
    figures: bool = option("draw the figures", default=True)
    pdf: bool = option("also write figures as PDFs", default=False)
    report: bool = option("write the HTML report", default=True)
    progress: bool = option("show how far the run is", default=True)


def check_settings(settings: Settings, verb: str) -> None:
    """Check settings that depend on each other.

    Raises
    ------
    ConfigError
        Where they do not go together.
    """
    from simstudy.study.run_options import check_stop_by

    if not isinstance(settings.precision, Mapping):
        raise ConfigError(
            f"precision={format_setting(settings.precision)}: name the measure, as in "
            "precision.MEASURE=0.005"
        )
    for name in ("shard", "restart", "precision"):
        if settings.join and getattr(settings, name):
            raise ConfigError(
                f"join={settings.join} with {name}: the run that joins shares draws no share, "
                f"deletes none of them, and has a fixed n_rep. Leave {name} out."
            )
    for name, owner in OF_ONE_VERB.items():
        if getattr(settings, name) and verb != owner:
            raise ConfigError(
                f"{name}={format_setting(getattr(settings, name))} belongs to simstudy {owner}; "
                f"to {verb}, leave it out"
            )
    _check_folder(settings.out)
    check_stop_by(settings.stop_by, settings.precision)
    read_seconds(settings.budget)
    if settings.pdf and not settings.figures:
        raise ConfigError(
            "pdf=true with figures=false: the PDFs are of the figures. Leave figures=false out."
        )
    if settings.shard == PILOT and settings.precision:
        raise ConfigError(
            "shard=pilot with precision: a pilot draws two blocks of each scenario, however "
            "precise they are. Run it without precision, then the shares with a fixed n_rep."
        )
    if read_shard(settings.shard) and settings.restart:
        raise ConfigError(
            f"restart=true with shard={settings.shard}: every share would delete the blocks of the "
            "others. Begin once with restart=true and without shard; then run the shares."
        )


def _check_folder(out: str | None) -> None:
    """Refuse a folder name that looks like a mistake."""
    if out is not None and not out.strip():
        raise ConfigError("out= is empty, and names the folder of the results; write out=results")
    if out is not None and out.startswith("~"):
        full = os.path.expanduser(out)  # as it was, where nobody knows of a home
        raise ConfigError(
            f"out={out}: no shell has put the folder of the user in the place of ~; write the "
            f"folder in full, out={format_setting(full if full != out else '/home/me/results')}"
        )


def read_seconds(text: str | None) -> float | None:
    """Parse `90s`, `30m`, `2h` or `1.5d` to seconds; None stays None.

    Raises
    ------
    ConfigError
        Where it is no time above 0.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d+\.?\d*)([smhd]?)", text, re.ASCII)
    seconds = float(found[1]) * UNITS[found[2] or "s"] if found else 0.0
    if not 0 < seconds < math.inf:
        raise ConfigError(
            f"budget={text}: must be a time above 0 in seconds, or with s, m, h or d for a "
            "unit; for example budget=2h"
        )
    return seconds


def read_shard(text: str | None) -> tuple[int, int] | None:
    """Parse `3/100` to (3, 100); `auto` and `auto/100` ask the scheduler of an array job.

    None where all blocks are meant, or, by `pilot`, the first of all.

    Raises
    ------
    ConfigError
        Where it is not two whole numbers with 1 <= i <= N.
    """
    if text in (None, PILOT):
        return None
    found = re.fullmatch(r"(auto|\d+)(?:/([1-9]\d*))?", text, re.ASCII)
    index, total = found.groups() if found else ("", None)
    if index == "auto":
        return share_of_array(os.environ, int(total) if total else None)
    if total and 1 <= int(index) <= int(total):
        return int(index), int(total)
    raise ConfigError(
        f"shard={text}: must be i/N with whole numbers 1 <= i <= N, or auto/N in a job of an "
        f"array; for example shard={total or 1}/{total or 100}"
    )


# ---------------------------------------------------------------- files of a group
@dataclass
class Scale:
    """A scale, from `conf/scale/NAME.yaml`: replicates and folder."""

    name: str | None = option("name of the scale")
    times: float | None = option("times the published replicates", above=0, at_most=1e9)
    n_rep: int | None = option("replicates in each scenario", at_least=1)
    out: str | None = option("folder of the results")

    def replicates(self, published: int, group_size: int = 1) -> int:
        """The replicates per scenario: a number, or a fraction of the published ones if fewer.

        Where they come in groups, whole groups, at least so many.
        """
        relative = max(1, round((self.times or 1) * published))
        sizes = [relative] if self.times or self.n_rep is None else []
        n_rep = min([*sizes, *([] if self.n_rep is None else [self.n_rep])])
        return n_rep + -n_rep % group_size


def read_scale(values: Any, name: str, project: Project) -> Scale:
    """Read a scale; missing keys have the package's defaults.

    Raises
    ------
    ConfigError
        Naming the key and the project's file.
    """
    given = _stated(values, "scale")
    base = read_settings(PACKAGE_CONF / "scale" / f"{name}.yaml") or {
        "out": f"results/{name}",
        "times": 1,
    }
    if "times" in given or "n_rep" in given:  # two ways to say one thing
        base = {key: value for key, value in base.items() if key not in ("times", "n_rep")}
    try:
        return build(Scale, base | given, prefix="scale.")
    except ConfigError as error:
        is_theirs = (project.conf / "scale" / f"{name}.yaml").exists()
        where = f" (see conf/scale/{name}.yaml)" if is_theirs else ""
        raise ConfigError(f"{error}{where}") from None


def read_backend(values: Any, name: str) -> tuple[str, dict[str, Any]]:
    """Read a backend's name and options.

    Raises
    ------
    ConfigError
        Where there is no such backend.
    """
    from simstudy.engine.workers import check_backend

    options = _merged(
        read_settings(PACKAGE_CONF / "backend" / f"{name}.yaml"), _stated(values, "backend")
    )
    backend = options.pop("name", None)
    if not isinstance(backend, str):
        raise ConfigError(
            f"conf/backend/{name}.yaml has no name: write name: and the kind of backend, or "
            "module:Class"
        )
    check_backend(backend)
    return backend, options


def _merged(base: Any, over: Any) -> Any:
    """Merge nested settings of one file over another's."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return base | {key: _merged(base.get(key), value) for key, value in over.items()}


def _stated(values: Any, group: str) -> dict[str, Any]:
    """The keys that a file sets to a value."""
    if values is None or isinstance(values, Mapping):
        return {key: value for key, value in (values or {}).items() if value is not None}
    raise ConfigError(
        f"{group} is {format_setting(values)}: a file conf/{group}/NAME.yaml holds settings, each "
        f"as NAME: VALUE, and conf/config.yaml chooses one with defaults: [override /{group}: NAME]"
    )


# ---------------------------------------------------------------- without Hydra
def parse_values(cls: Any, arguments: Sequence[str]) -> dict[str, Any]:
    """Convert values to the types of a dataclass's settings, where they fit.

    Raises
    ------
    ConfigError
        For a setting without a value, or given twice.
    """
    hints, values = typing.get_type_hints(cls), dict[str, Any]()
    for text in arguments:
        name, _, value = text.lstrip("+").partition("=")
        if name in values:
            raise ConfigError(f"{text}: {name} was given already; say each setting once")
        if not value:
            raise ConfigError(f"{text} is empty: leave {name} out, or say {name}=VALUE")
        values[name] = _parse_value(name, value, hints[name]) if name in hints else value
    return values


def _parse_value(name: str, text: str, hint: Any) -> Any:
    allowed = read_annotation(name, hint)
    if allowed.is_list:
        inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        return [item.strip() for item in inner.split(",") if item.strip()]
    if allowed.kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    return text if allowed.kind is str else number_meant(text)
