"""What may begin with a dash: a few flags, and nothing that Hydra would swallow a setting with."""

from collections.abc import Iterator, Sequence

from simstudy.errors import ConfigError

HELP = ("--help", "-h")
VERSION = "--version"
SEVERAL = ("-m", "--multirun")
SHOWN = ("--cfg", "-c")  # Hydra prints the composed config instead of a run
PARTS = ("job", "hydra", "all")
COMPLETION = ("--shell-completion", "-sc")
WHOSE_VALUE_FOLLOWS = {**dict.fromkeys(SHOWN, "--cfg"), **dict.fromkeys(COMPLETION, COMPLETION[0])}
TOLD = {
    "-h, --help": "this; beside a verb or an experiment, what belongs to it",
    "-m, --multirun": "several runs, one for each value of the settings that have several",
    "-c, --cfg job": "shows the settings of a run, composed, and runs nothing",
    "-sc install=bash": 'completion: eval "$(simstudy -sc install=bash)"',
    "--version": "which simstudy this is",
}


def read_flags(arguments: Sequence[str]) -> list[str]:
    """The arguments with every flag in one word, and the flags behind the others.

    Raises
    ------
    ConfigError
        For a flag that there is not.
    """
    words = [_known(text) for text in _joined(arguments)]
    shown = [text for text in words if text.startswith(SHOWN)]
    if shown and any(text in SEVERAL for text in words):
        raise ConfigError(f"{shown[0]} shows the settings of one run: leave out -m")
    return sorted(words, key=_is_flag)  # stable: the others keep their order


def flags_first(arguments: Sequence[str]) -> list[str]:
    """As Hydra's own parser needs them, which reads no flag behind a setting."""
    return sorted(arguments, key=lambda text: not _is_flag(text))


def _is_flag(text: str) -> bool:
    return text.startswith("-")


def _joined(arguments: Sequence[str]) -> Iterator[str]:
    """`--cfg job` as `--cfg=job`, `-sc install=bash` as `--shell-completion=install=bash`."""
    rest = iter(arguments)
    for text in rest:
        name, sign, value = text.partition("=")
        if name not in WHOSE_VALUE_FOLLOWS:
            yield text
        else:
            yield f"{WHOSE_VALUE_FOLLOWS[name]}={value if sign else next(rest, '')}"


def _known(text: str) -> str:
    if not _is_flag(text) or text in (*HELP, VERSION, *SEVERAL):
        return text
    name, _, value = text.partition("=")
    if name == COMPLETION[0] or (name in SHOWN and value in PARTS):
        return text
    if name in SHOWN:
        raise ConfigError(f"{text}: what it shows is one of {', '.join(PARTS)}; say --cfg=job")
    raise ConfigError(f"{text} is no flag; {_meant(text)}")


def _meant(text: str) -> str:
    bare = text.lstrip("-")
    if "=" in bare:
        return f"a setting has no dashes: did you mean '{bare}'?"
    return f"there is: {', '.join(TOLD)}"
