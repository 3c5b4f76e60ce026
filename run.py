"""The command line: `python run.py experiment=two_stage`. The one file that knows Hydra."""

import contextlib
import gc
import itertools
import re
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
REFUSED, FAILED, INTERRUPTED, TERMINATED = 2, 3, 130, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM, which schedulers send before they kill."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the arguments say; the exit status tells how it went.

    0 all is well; 1 a defect, with its traceback; 2 refused before any work; 3 some replicates
    failed or a figure could not be drawn; 130 interrupted; 143 terminated.
    """
    arguments = [open_key(one) for one in (sys.argv[1:] if argv is None else argv)]
    from simstudy.errors import SimstudyError

    try:
        with termination_interrupts():
            with no_garbage():
                jobs = read_jobs(arguments)
            if is_plain(arguments):
                return run_job(jobs[0], arguments)
            return call_hydra(arguments)
    except SimstudyError as error:
        return refuse(error)
    except KeyboardInterrupt as stop:
        return interrupted(stop, arguments)


def interrupted(stop: KeyboardInterrupt, arguments: Sequence[str]) -> int:
    """Say how to go on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut this short
    print(
        f"interrupted; every finished block is kept. To go on: {again(arguments)}",
        file=sys.stderr,
    )
    return TERMINATED if isinstance(stop, Terminated) else INTERRUPTED


@contextlib.contextmanager
def no_garbage() -> Iterator[None]:
    """Imports leave no garbage: looking for it among what they make is a seventh of a short run."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if __name__ == "__main__":  # what is there now stays to the end; another program decides
            gc.freeze()


@contextlib.contextmanager
def termination_interrupts() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: workers are stopped, and what is finished is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only there may a program say what a signal does
        return

    def terminate(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not cut this short
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def open_key(argument: str) -> str:
    """`precision.MEASURE=...` as Hydra writes a key that the config does not list."""
    return f"++{argument}" if argument.startswith("precision.") else argument


def refuse(error: BaseException) -> int:
    """Say in one line what is wrong."""
    print(" ".join(str(error).split()), file=sys.stderr)
    return REFUSED


# ---------------------------------------------------------------- Hydra
def call_hydra(arguments: Sequence[str]) -> int:
    """Let Hydra compose, sweep and launch; each job's status counts."""
    import hydra

    statuses: list[int] = []

    @hydra.main(version_base=None, config_path=str(ROOT / "conf"), config_name="config")  # type: ignore[untyped-decorator]
    def job(cfg: Any) -> int:
        from hydra.core.hydra_config import HydraConfig

        if statuses and statuses[-1] in (INTERRUPTED, TERMINATED):  # the rest of a sweep
            return statuses[-1]
        choice = HydraConfig.get().runtime.choices["experiment"]
        statuses.append(run_job(read_job(cfg, choice), arguments))
        return statuses[-1]

    with tempfile.TemporaryDirectory() as sweep:  # for Hydra's multirun.yaml, which nobody reads
        ours = [f"hydra.sweep.dir={sweep}"] if is_sweep(arguments) else []
        sys.argv = [str(ROOT / "run.py"), *arguments, *ours]
        job()
    return max(statuses, default=0)


def is_sweep(arguments: Sequence[str]) -> bool:
    """Whether this is a multirun that leaves the sweep's folder to us."""
    given = any(one.startswith("hydra.sweep.dir=") for one in arguments)
    return is_multirun(arguments) and not given


def is_multirun(arguments: Sequence[str]) -> bool:
    """Whether several runs were asked for."""
    return any(one in ("-m", "--multirun", "hydra.mode=MULTIRUN") for one in arguments)


def is_plain(arguments: Sequence[str]) -> bool:
    """Whether this is one run that sets nothing of Hydra's, which then has only to compose it."""
    return not any(one.startswith("-") or one.lstrip("+~").startswith("hydra") for one in arguments)


def read_jobs(arguments: Sequence[str]) -> "list[Job]":
    """Compose every point of the sweep once, so that a mistake is one line and not a traceback."""
    if any(one in ("--help", "-h", "--hydra-help", "--version") for one in arguments):
        return []
    from hydra import compose, initialize_config_dir

    register_single_files()
    jobs = []
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        for overrides in sweep_points(arguments):
            try:
                cfg = compose("config", overrides=overrides, return_hydra_config=True)
            except Exception as error:
                raise in_one_line(error, overrides) from None
            jobs.append(read_job(cfg, cfg.hydra.runtime.choices["experiment"]))
    return jobs


def sweep_points(arguments: Sequence[str]) -> Iterator[list[str]]:
    """The overrides of each job of a sweep; of the only job, where nothing is swept."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    overrides = [one for one in arguments if not one.startswith("-")]
    try:
        parsed = OverridesParser.create().parse_overrides(overrides)
    except HydraException as error:
        raise in_one_line(error, overrides) from None
    if not is_multirun(arguments):
        refuse_sweep(parsed)
    yield from map(list, itertools.product(*(choices(one) for one in parsed)))


def refuse_sweep(parsed: Sequence[Any]) -> None:
    """Several values without `-m` are a list with its brackets forgotten, or a flag forgotten."""
    from simstudy.errors import ConfigError

    for one in parsed:
        if one.is_sweep_override():
            raise ConfigError(
                f"{one.input_line} asks for several runs: add -m for these, or write the values "
                f"in brackets, {one.get_key_element()}=[...], for one run with all of them"
            )


def choices(override: Any) -> list[str]:
    """The values that one override takes in a sweep, each as an override."""
    from hydra.core.override_parser.types import Glob

    if not override.is_sweep_override():
        return [override.input_line]
    value = override.value()
    if isinstance(value, Glob):
        names = value.filter(options(override.key_or_group))
    else:
        names = list(override.sweep_string_iterator())
    return [f"{override.get_key_element()}={name}" for name in names]


def options(group: str) -> list[str]:
    """The names in a config group."""
    files = [path.stem for path in (ROOT / "conf" / group).glob("*.yaml")]
    return sorted(files + (single_files() if group == "experiment" else []))


def single_files() -> list[str]:
    """Experiments that say everything in one file, without published values under `conf/`."""
    from simstudy.cli.experiments import experiment_names

    return sorted(
        set(experiment_names(ROOT))
        - {path.stem for path in (ROOT / "conf" / "experiment").glob("*.yaml")}
    )


def register_single_files() -> None:
    """Give Hydra the defaults of such experiments as if they stood in a file."""
    from hydra.core.config_store import ConfigStore

    for name in single_files():
        defaults = asdict(load_experiment(name).Config())
        ConfigStore.instance().store(group="experiment", name=name, node=defaults)


def in_one_line(error: Exception, overrides: Sequence[str]) -> Exception:
    """Hydra's refusal as ours: the key, the value, and the nearest thing that works."""
    from simstudy.errors import ConfigError, nearest

    text = str(error)
    group = re.search(r"Could not find '([\w/]+)/([^/']+)'", text)
    if group:
        kind, name = group.groups()
        return ConfigError(f"{kind}={name}: no such {kind}; {nearest(name, options(kind))}")
    if "must specify" in text.lower():
        return ConfigError(
            f"no experiment given: python run.py experiment=NAME; "
            f"there is: {', '.join(options('experiment'))}"
        )
    key = re.search(r"Could not (?:override|append|delete)[^']*'([^']+)'", text)
    if key:
        return ConfigError(unknown_key(key.group(1), overrides))
    first = next(iter(text.splitlines()), type(error).__name__)
    return ConfigError(f"cannot read {' '.join(overrides)}: {first}")


def unknown_key(key: str, overrides: Sequence[str]) -> str:
    """A key that is not in the config, and the nearest that is."""
    from hydra import compose

    from simstudy.errors import nearest

    *parents, last = key.split(".")
    experiment = [one for one in overrides if one.startswith("experiment=")]
    node = compose("config", overrides=experiment)
    for parent in parents:
        node = node.get(parent, {}) if parent in node else {}
    prefix = "".join(f"{parent}." for parent in parents)
    hint = nearest(last, map(str, node))
    return f"{key} is not a setting{' of ' + prefix[:-1] if prefix else ''}; {hint}"


# ---------------------------------------------------------------- one job
@dataclass
class Job:
    """A composed config, checked and typed."""

    name: str
    module: Any
    config: Any
    study: Any
    settings: Any
    n_rep: int
    out: str
    sources: str

    @property
    def record(self) -> dict[str, Any]:
        """What made the numbers, for the manifest: not how they were computed."""
        made_by = {"experiment": self.name, **asdict(self.config), "keep": self.settings.keep}
        targets = self.settings.precision
        return made_by | ({"precision": targets} if targets else {})


def read_job(cfg: Any, name: str) -> Job:
    """Types and ranges of everything, before any work."""
    from omegaconf import OmegaConf

    from simstudy.cli.settings import Settings, read_shard
    from simstudy.identity.source_files import sources_digest
    from simstudy.options import build

    ours = OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])
    plain: Any = OmegaConf.to_container(ours, resolve=True)
    scale, backend = plain.pop("scale"), plain.pop("backend")
    module = load_experiment(name)
    config = build(module.Config, plain.pop("experiment"), prefix="experiment.")
    settings = build(Settings, plain | {"backend": backend["name"]})
    read_shard(settings.shard)
    study = module.study(config)
    n_rep = settings.n_rep or scale["n_rep"] or scale["times"] * study.n_rep
    out = settings.out or scale["out"]
    sources = sources_digest(module.__file__)  # now that they are loaded: they may be edited later
    return Job(name, module, config, study, settings, n_rep, out, sources)


def load_experiment(name: str) -> Any:
    """The module of an experiment: the file of that name under `experiments/`."""
    from simstudy.cli import experiments

    return experiments.load_experiment(name, ROOT)


def run_job(job: Job, arguments: Sequence[str]) -> int:
    """One study, from blocks to report."""
    from simstudy.errors import DiskFullError, SimstudyError

    try:
        if job.settings.replay:
            return replay(job)
        if job.settings.plan:
            return print_forecast(job)
        if job.settings.summarize:
            look = job.study.look(job.n_rep, job.settings.seed, out=job.out)
            return publish_result(job, look)
        return carry_out(job)
    except KeyboardInterrupt as stop:
        return interrupted(stop, arguments)
    except DiskFullError as error:
        return refuse(SimstudyError(f"{error} That is: {again(arguments)}"))
    except SimstudyError as error:
        return refuse(error)


def again(arguments: Sequence[str]) -> str:
    """The command that goes on where this one stopped: it must not delete what is finished."""
    kept = [one for one in arguments if one.lstrip("+").partition("=")[0] != "restart"]
    return f"python run.py {shlex.join(kept)}"


def carry_out(job: Job) -> int:
    """Compute what is missing; publish it, unless it stands there already."""
    from simstudy.cli.settings import read_shard
    from simstudy.engine.progress import Bar
    from simstudy.engine.workers import Workers
    from simstudy.output.replacing import refuse_replacing

    settings = job.settings
    workers = Workers(settings.backend, settings.n_jobs)
    if not (settings.restart or settings.replace):
        size = None if settings.precision else job.n_rep
        folder = Path(job.out) / job.study.name
        refuse_replacing(folder, job.record, job.study.plan(settings.seed), size)
    with Bar(job.name, shown=settings.progress) as bar:
        result = job.study.run(
            job.n_rep,
            settings.seed,
            out=job.out,
            workers=workers,
            keep=settings.keep,
            shard=read_shard(settings.shard),
            restart=settings.restart,
            retry=settings.retry,
            precision=settings.precision,
            max_rep=settings.max_rep,
            progress=bar,
        )
    if settings.shard:
        print(f"shard {settings.shard}: {result.outcome.n_blocks} blocks computed; run without "
              "shard=... to summarise")  # fmt: skip
        return FAILED if result.outcome.n_failed else 0
    return publish_result(job, result)


def publish_result(job: Job, result: Any) -> int:
    """Write summary, figures, claims and report, and say what was found."""
    from simstudy.output.folder import publish
    from simstudy.output.origin import is_current
    from simstudy.output.terminal import print_closing
    from simstudy.output.wording import size_in_words

    file, figures, report = job.module.__file__, job.settings.figures, job.settings.report
    for name in result.store.damaged:
        print(f"damaged, set aside and computed again: {name}", file=sys.stderr)
    if is_current(result, job.record, file, figures=figures, report=report, sources=job.sources):
        print(f"nothing to do: {result.folder} holds {size_in_words(result)}, and its figures")
        return FAILED if (result.folder / "failures.parquet").exists() else 0
    made = publish(
        result,
        about=job.module.__doc__ or "",
        config=job.record,
        module_file=file,
        sources=job.sources,
        figures=figures,
        report=report,
        replace=job.settings.restart or job.settings.replace,
    )
    print_closing(result, made)
    return FAILED if result.n_failed or made.not_drawn else 0


def print_forecast(job: Job) -> int:
    """What the precision asked for will cost, without running it."""
    from simstudy.errors import ConfigError
    from simstudy.output.terminal import print_cost

    if not job.settings.precision:
        raise ConfigError("plan=true needs a target, such as precision.power=0.005")
    print_cost(job.study.forecast(job.settings.precision, job.settings.n_rep, job.settings.seed))
    return 0


def replay(job: Job) -> int:
    """Draw one recorded replicate again, letting its error through."""
    from simstudy.engine.block import Address

    try:
        row = job.study.replay(Address.parse(job.settings.replay), job.settings.seed)
    except Exception:
        if job.settings.debug:
            import pdb

            pdb.post_mortem()
        raise
    for name, value in row.items():
        print(f"{name:24} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
