"""The commands of `simstudy apply`: a method, a file or two, and settings as KEY=VALUE."""

import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from simstudy.cli.project import parse_words
from simstudy.documents.applied import settings as options
from simstudy.documents.applied.answers import Answer
from simstudy.documents.applied.tables import Table
from simstudy.errors import ConfigError
from simstudy.options import build, option_help

Words = Annotated[list[str] | None, typer.Argument(help="files, and SETTING=VALUE")]
AsJson = Annotated[bool, typer.Option("--json", help="print the answer as JSON")]
Function = Callable[..., Answer]


class Method(NamedTuple):
    """A command.

    Attributes
    ----------
    settings
        The dataclass of its settings.
    n_files
        The numbers of files that it can take.
    answer
        From the settings and the paths, the answer.
    example
        For `--help`.
    """

    settings: type[Any]
    n_files: Sequence[int]
    answer: Function
    example: str


METHODS: dict[str, Method] = {}
app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
GROUPS: dict[str, typer.Typer] = {}


@app.callback()
def apply() -> None:
    """Apply a published method to a file of your own."""


def method(name: str, example: str) -> Callable[[Function], Function]:
    """Register a function of settings and files as a command; `A B` is command B of group A."""

    def register(function: Function) -> Function:
        first, *files = inspect.signature(function).parameters.values()
        least = sum(file.default is file.empty for file in files)
        counts, settings = range(least, len(files) + 1), first.annotation
        METHODS[name] = Method(settings, counts, function, f"simstudy apply {name} {example}")
        help_line = (function.__doc__ or "").strip().rstrip(".")
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
    answer = chosen.answer(settings, *files)
    place = answer.write(settings.out) if settings.out else None
    print(json.dumps(answer.content(), indent=2, default=str) if as_json else answer.text)
    if place is not None and not as_json:
        print(f"written to {place}")


# ---------------------------------------------------------------- the commands
@method("regression-trial plan", "errors.csv metric=mae k=1.5 power=0.8 out=plan.json")
def plan_regression(settings: options.RegressionPlanSettings, path: str) -> Answer:
    """Bound a regression model's error, and plan the trial that confirms it."""
    from simstudy.documents.applied.regression_trial import plan_table

    return plan_table(Table.read(path, settings))


@method("regression-trial test", "plan.json prospective.csv")
def test_regression(settings: options.RegressionTestSettings, plan: str, path: str) -> Answer:
    """Test the bound of a plan on new cases."""
    from simstudy.documents.applied.regression_trial import RegressionPlan, judge_table

    return judge_table(RegressionPlan.read(plan), Table.read(path, settings))


@method("classifier-trial plan", "scores.csv sensitivity=0.9 out=plan.json")
def plan_classifier(settings: options.ClassifierPlanSettings, path: str) -> Answer:
    """Set a classifier's threshold, and plan the trial that proves its sensitivity."""
    from simstudy.documents.applied.classifier_trial import plan_table

    return plan_table(Table.read(path, settings))


@method("classifier-trial test", "plan.json prospective.csv")
def test_classifier(settings: options.ClassifierTestSettings, plan: str, path: str) -> Answer:
    """Test the sensitivity on new cases."""
    from simstudy.documents.applied.classifier_trial import ClassifierPlan, judge_table

    return judge_table(ClassifierPlan.read(plan), Table.read(path, settings))


@method("loo", "data.csv y=y features=[x1,x2]")
def loo(settings: options.LooSettings, path: str) -> Answer:
    """Leave-one-out R², RMSE and elpd with standard errors."""
    from simstudy.documents.applied.loo import estimate_inference, estimate_table

    if Path(path).suffix == ".nc":
        return estimate_inference(path, settings)
    return estimate_table(Table.read(path, settings))


@method("predictive-pvalues", "responses.csv draws.parquet")
def predictive_pvalues(settings: options.PredictiveSettings, path: str, draws: str = "") -> Answer:
    """Do predictive distributions fit the responses?"""
    from simstudy.documents.applied.predictive import check_tables

    return check_tables(*(Table.read(each, settings) for each in (path, draws) if each))


@method("accuracy", "scores.csv reference=COLUMN candidate=COLUMN [SETTING=VALUE ...]")
def accuracy(settings: options.AccuracySettings, path: str) -> Answer:
    """Is a candidate less accurate than the reference? A file with the scores of both."""
    from simstudy.documents.applied.accuracy import check_table

    return check_table(Table.read(path, settings))


@method("thresholds", "tasks.csv [DEFAULT=VALUE]")
def thresholds(settings: options.ThresholdSettings, path: str) -> Answer:
    """Thresholds and sample sizes of many tasks: a file with a row for each."""
    from simstudy.documents.applied.thresholds import answer_table

    return answer_table(Table.read(path, settings, ("task", "metric")))
