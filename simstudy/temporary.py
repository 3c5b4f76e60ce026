"""Folders that go when whoever asked for them does."""

import tempfile

from simstudy.errors import StoreError


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """A new folder for what is not to last, below `TMPDIR`.

    Raises
    ------
    StoreError
        Where there is no place for one.
    """
    try:
        return tempfile.TemporaryDirectory(prefix="simstudy-")
    except OSError as error:
        raise no_temporary_folder(error) from None


def no_temporary_folder(error: OSError) -> StoreError:
    """The refusal of a machine that has no room for what is not to last."""
    return StoreError(
        f"no temporary folder can be made ({error.strerror or error}), and a run needs one whose "
        "results lie in no folder of this machine. Set TMPDIR to a folder that can be written."
    )


def lacks_temporary_folder(error: OSError) -> bool:
    """Whether an error says so: `tempfile` tells it in words, and by no number of its own."""
    return "No usable temporary directory" in str(error)
