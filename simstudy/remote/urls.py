"""URLs that a place for results may have, and none that shows a secret."""

import re
from collections.abc import Callable

from simstudy.errors import ConfigError

SCHEME = r"[A-Za-z][\w+.-]+"  # of two letters at least: one is a drive's
ON_THIS_MACHINE = ("file", "local")
HALF_A_URL = re.compile(rf"({SCHEME}):/(?!/)(.*)", re.DOTALL)
NOT_IN_SMALL_LETTERS = re.compile(r"(?=.*[A-Z])" + SCHEME)
PASSWORD = re.compile(rf"({SCHEME}):[^\s@]*(?::|%3A)\S*@", re.IGNORECASE)
"""What may hold one: between the first of two colons and the last @, wherever slashes are."""
IN_THIS_PROCESS = "memory"  # a store that other processes have each one of their own of


def without_passwords(text: str) -> str:
    """A text in which no URL, nor what was to be one, shows a password."""
    return PASSWORD.sub(r"\1://***@", text)


def is_in_this_process(url: str) -> bool:
    """Whether what is written there is gone with this process, and unseen by any other."""
    return url.partition("://")[0] == IN_THIS_PROCESS


def refuse_odd_url(out: str) -> None:
    """Refuse what would show a secret to whoever reads a message, or would not be one place.

    Raises
    ------
    ConfigError
        Without the secret.
    """
    _refuse_password(out)
    _refuse_half(out)
    scheme, is_url, rest = out.partition("://")
    if is_url:
        _refuse_questions(out)
        for applies, text in ODD:
            if applies(scheme, rest):
                raise ConfigError(text.format(out=out, scheme=scheme.lower(), rest=rest))


def _refuse_password(out: str) -> None:
    if PASSWORD.match("".join(out.split())):  # one may have a blank in it
        scheme, place = out.partition(":")[0], out.rpartition("@")[2]
        raise ConfigError(
            f"out={scheme}://***@{place.partition('/')[0]}/... holds a password, which commands, "
            "messages and logs would show. Leave it out: that store's own settings, or fsspec's, "
            "have the place."
        )


def _refuse_half(out: str) -> None:
    half = HALF_A_URL.match(out)
    if half:
        scheme, rest = half.groups()
        before = "/" * (scheme.lower() in ON_THIS_MACHINE)
        raise ConfigError(
            f"out={_shown(out)} has one slash where a URL has two, as a Path made of a URL has, "
            "and would be a folder here. Give the URL as text: "
            f"out='{scheme.lower()}://{before}{_shown(rest)}'."
        )


def _refuse_questions(out: str) -> None:
    """What follows one of these signs is no part of a place, and often a key to it."""
    asks = re.search("[?#;]", out)
    if asks:
        raise ConfigError(
            f"out={_shown(out)} asks for more than a place; what follows the {asks[0]} belongs "
            "into that store's own settings, or fsspec's. Leave it out."
        )


def _shown(text: str) -> str:
    """Without what follows a sign after which keys stand."""
    return re.sub("([?#;]).*", r"\1***", text, flags=re.DOTALL)


ODD: tuple[tuple[Callable[[str, str], bool], str], ...] = (
    (
        lambda scheme, rest: "::" in scheme + rest or not rest.strip("/"),
        "out={out}: a place for results is one URL with a bucket or a folder, such as "
        "s3://bucket/folder; one behind another (::) might show what is no longer there.",
    ),
    (
        lambda scheme, _: not scheme,
        "out={out} does not say what kind of store that is: write it before ://, as in "
        "s3://bucket/folder, or write a folder.",
    ),
    (
        lambda scheme, _: bool(NOT_IN_SMALL_LETTERS.fullmatch(scheme)),
        "out={out}: kinds of stores are written in small letters; did you mean "
        "'{scheme}://{rest}'?",
    ),
    (
        lambda _, rest: ".." in rest.split("/"),
        "out={out}: stores know no folder above (..), and would keep results under that name, or "
        "elsewhere. Write where they belong in full.",
    ),
    (
        lambda scheme, rest: scheme in ON_THIS_MACHINE and not rest.startswith("/"),
        "out={out} names another machine, where a folder of this one is meant: write "
        "{scheme}:///{rest}, with three slashes and the folder in full, or the folder by itself.",
    ),
)
"""What is wrong with a URL's kind of store and what follows it, and what is said of it."""
