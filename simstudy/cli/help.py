"""What `--help` says: of the command, of a verb, and of an experiment's options."""

from collections.abc import Iterable, Sequence
from dataclasses import fields

from simstudy.cli.project import Project
from simstudy.cli.settings import Settings
from simstudy.cli.verbs import VERBS
from simstudy.options import in_words

SEVERAL = (
    "Several values of a setting in one run: [1,2]. Several runs: -m and values without brackets,\n"
    "as in  -m experiment=a,b  or  -m 'experiment=glob(*)'."
)


def help_for(project: Project, verb: str, arguments: Sequence[str]) -> str:
    """The text for a command line that asks for help."""
    chosen = [text.partition("=")[2] for text in arguments if text.startswith("experiment=")]
    if chosen:
        return "\n".join([*_head(verb or "run"), *_experiment(project, chosen[-1])])
    if verb == "apply":
        return "\n".join([*_head(verb), *_methods(arguments)])
    if verb in ("list", "new"):
        return "\n".join(_head(verb))
    if verb:
        return "\n".join([*_head(verb), *_settings(project), "", SEVERAL])
    return "\n".join([*_command(), *_settings(project), "", SEVERAL])


def _command() -> list[str]:
    told = ((verb.usage.split()[1], verb.help) for verb in VERBS.values())
    return [
        "simstudy [VERB] [experiment=NAME] [SETTING=VALUE ...]",
        "Monte Carlo simulation studies of the folder that one stands in: its experiments/ and",
        "conf/. In a project, python run.py does the same from anywhere. Without a verb: run.",
        "",
        "verbs (simstudy VERB --help)",
        *_columns(told),
        "",
    ]


def _head(verb: str) -> list[str]:
    return [VERBS[verb].usage, f"{VERBS[verb].help}.", ""]


def _methods(arguments: Sequence[str]) -> list[str]:
    """What may be applied to a file, each with its settings; only the one that is named."""
    from simstudy.cli.apply import METHODS

    named = {name: METHODS[name] for name in arguments if name in METHODS} or METHODS
    told: list[str] = []
    for name, method in named.items():
        told += [
            f"{name}: {method.help}",
            f"  {method.example}",
            *_columns(in_words(method.settings)),
            "",
        ]
    return told[:-1]


def _settings(project: Project) -> list[str]:
    """Every key that is not an experiment's own, with its range and its default."""
    described = [("experiment", "which study; simstudy experiment=NAME --help shows its options")]
    described += [("scale", _scales(project))]
    described += [
        ("precision.MEASURE", "run on until its Monte Carlo error is this small: 0.005, or 2%")
    ]
    described += [(name, text) for name, text in in_words(Settings) if name != "precision"]
    return ["settings", *_columns(described)]


def _scales(project: Project) -> str:
    names = ", ".join(project.options("scale"))
    return f"how much is drawn, and where it goes; one of {names} (paper)"


def _experiment(project: Project, name: str) -> list[str]:
    """An experiment's question, and its options with their published values."""
    from simstudy.cli.experiments import in_own_code, load_experiment

    module = load_experiment(name, project.root)
    question = (module.__doc__ or "").strip().partition("\n")[0]
    with in_own_code(module, "Config", project.root):
        published = module.Config()
    values = {field.name: getattr(published, field.name) for field in fields(published)}
    described = ((f"experiment.{key}", text) for key, text in in_words(module.Config, values))
    return [f"{name}: {question}", *_columns(described)]


def _columns(described: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(described)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"  {name:{width}}  {text}" for name, text in rows]
