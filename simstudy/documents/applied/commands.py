"""The commands of `simstudy apply`: a method, a file or two, and settings as KEY=VALUE."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from simstudy.cli.settings import parse_words
from simstudy.documents.applied import settings as options
from simstudy.documents.applied.answers import Answer
from simstudy.documents.applied.tables import read_file
from simstudy.errors import ConfigError
from simstudy.options import build, option_help

Words = Annotated[list[str] | None, typer.Argument(help="files, and SETTING=VALUE")]
AsJson = Annotated[bool, typer.Option("--json", help="print the answer as JSON")]
Function = Callable[[Sequence[str], Any], Answer]


class Method(NamedTuple):
    """A command.

    Attributes
    ----------
    settings
        The dataclass of its settings.
    n_files
        The numbers of files that it can take.
    answer
        From the paths and the settings, the answer.
    help, example
        For `--help`.
    """

    settings: type[Any]
    n_files: tuple[int, ...]
    answer: Function
    help: str
    example: str


METHODS: dict[str, Method] = {}
app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
GROUPS: dict[str, typer.Typer] = {}


@app.callback()
def apply() -> None:
    """Apply a published method to a file of your own."""


def method(name: str, settings: type[Any], *n_files: int, example: str) -> Callable[..., Function]:
    """Register a function as a command; `A B` is command B of group A."""

    def register(function: Function) -> Function:
        help_line = (function.__doc__ or "").strip().rstrip(".")
        METHODS[name] = Method(settings, n_files, function, help_line, f"simstudy apply {example}")
        group, _, second = name.partition(" ")
        if second and group not in GROUPS:
            GROUPS[group] = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
            app.add_typer(GROUPS[group], name=group, help=f"{help_line}; and test it")
        rows = (f"{key}  {text}" for key, text in option_help(settings))
        text = "\n\n".join([help_line, METHODS[name].example, *rows])

        def command(words: Words = None, as_json: AsJson = False) -> None:
            run(name, words or (), as_json=as_json)

        target = GROUPS[group] if second else app
        target.command(second or group, help=text, short_help=help_line)(command)
        return function

    return register


# ---------------------------------------------------------------- words to settings
def run(name: str, words: Sequence[str], *, as_json: bool = False) -> None:
    """Print a method's answer for the files and settings in `words`, and write it to `out=`.

    Raises
    ------
    SimstudyError
        In one line, for anything that makes no sense.
    """
    chosen = METHODS[name]
    given = [word for word in words if "=" in word and not Path(word).is_file()]
    files = [word for word in words if word not in given]
    if len(files) not in chosen.n_files:
        wanted = " or ".join({1: "one", 2: "two"}[n] for n in chosen.n_files)
        raise ConfigError(
            f"apply {name} takes {wanted} file{'' if wanted == 'one' else 's'}, and was given "
            f"{' '.join(files) or 'none'}: {chosen.example}"
        )
    values: dict[str, Any] = dict(parse_words(given))
    is_table = chosen.settings is options.ThresholdSettings  # its numbers may be "?"
    settings = options.threshold_settings(values) if is_table else build(chosen.settings, values)
    answer = chosen.answer(files, settings)
    place = answer.write(settings.out) if settings.out else None
    print(json.dumps(answer.content(), indent=2, default=str) if as_json else answer.text)
    if place is not None and not as_json:
        print(f"written to {place}")


# ---------------------------------------------------------------- the commands
@method(
    "regression-trial plan", options.RegressionPlanSettings, 1,
    example="regression-trial plan errors.csv metric=mae k=1.5 power=0.8 out=plan.json",
)  # fmt: skip
def plan_regression(paths: Sequence[str], settings: options.RegressionPlanSettings) -> Answer:
    """Bound a regression model's error, and plan the trial that confirms it."""
    from simstudy.documents.applied.regression_trial import plan_of_file

    return plan_of_file(read_file(paths[0], [settings.cluster]), settings)


@method(
    "regression-trial test", options.RegressionTestSettings, 2,
    example="regression-trial test plan.json prospective.csv",
)  # fmt: skip
def test_regression(paths: Sequence[str], settings: options.RegressionTestSettings) -> Answer:
    """Test the bound of a plan on new cases."""
    from simstudy.documents.applied.regression_trial import RegressionPlan, judge_file

    plan = RegressionPlan.read(paths[0])
    return judge_file(plan, read_file(paths[1], [settings.cluster]), settings)


@method(
    "classifier-trial plan", options.ClassifierPlanSettings, 1,
    example="classifier-trial plan scores.csv sensitivity=0.9 out=plan.json",
)  # fmt: skip
def plan_classifier(paths: Sequence[str], settings: options.ClassifierPlanSettings) -> Answer:
    """Set a classifier's threshold, and plan the trial that proves its sensitivity."""
    from simstudy.documents.applied.classifier_trial import plan_of_file

    return plan_of_file(read_file(paths[0], [settings.cluster]), settings)


@method(
    "classifier-trial test", options.ClassifierTestSettings, 2,
    example="classifier-trial test plan.json prospective.csv",
)  # fmt: skip
def test_classifier(paths: Sequence[str], settings: options.ClassifierTestSettings) -> Answer:
    """Test the sensitivity on new cases."""
    from simstudy.documents.applied.classifier_trial import ClassifierPlan, judge_file

    plan = ClassifierPlan.read(paths[0])
    return judge_file(plan, read_file(paths[1], [settings.cluster]), settings)


@method("loo", options.LooSettings, 1, example="loo data.csv y=y features=[x1,x2]")
def loo(paths: Sequence[str], settings: options.LooSettings) -> Answer:
    """Leave-one-out R², RMSE and elpd with standard errors."""
    from simstudy.documents.applied.loo import estimate_of_file, estimate_of_inference

    if Path(paths[0]).suffix == ".nc":
        return estimate_of_inference(paths[0], settings)
    return estimate_of_file(read_file(paths[0], [settings.cluster]), settings)


@method(
    "predictive-pvalues", options.PredictiveSettings, 1, 2,
    example="predictive-pvalues responses.csv draws.parquet",
)  # fmt: skip
def predictive_pvalues(paths: Sequence[str], settings: options.PredictiveSettings) -> Answer:
    """Do predictive distributions fit the responses?"""
    from simstudy.documents.applied.predictive import check_files

    return check_files([read_file(path, [settings.cluster]) for path in paths], settings)


@method(
    "accuracy", options.AccuracySettings, 1,
    example="accuracy scores.csv reference=COLUMN candidate=COLUMN [SETTING=VALUE ...]",
)  # fmt: skip
def accuracy(paths: Sequence[str], settings: options.AccuracySettings) -> Answer:
    """Is a candidate less accurate than the reference? A file with the scores of both."""
    from simstudy.documents.applied.score_files import check_file

    return check_file(read_file(paths[0], [settings.model, settings.prompt]), settings)


@method("thresholds", options.ThresholdSettings, 1, example="thresholds tasks.csv [DEFAULT=VALUE]")
def thresholds(paths: Sequence[str], settings: options.ThresholdSettings) -> Answer:
    """Thresholds and sample sizes of many tasks: a file with a row for each."""
    from simstudy.documents.applied.thresholds import answer_tasks

    return answer_tasks(read_file(paths[0], ["task", "metric"]), settings)
