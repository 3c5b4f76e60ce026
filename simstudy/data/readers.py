"""Whose code wanted a file: the nearest frame that belongs to the project."""

import functools
import linecache
import os
from types import FrameType

from simstudy.data.unowned import inside, is_library

_ENGINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LINES = linecache.__file__
_LIBRARY, _SIMSTUDY, _IMPORT, _PROJECT = "library", "simstudy", "import", "project"


def reader_of(frame: FrameType | None) -> FrameType | None:
    """The project's nearest frame.

    None where there is none, or where simstudy itself (a cache, a part of data) or the import
    system opened the file on its behalf. A loader's `get_data` outside an import reads data for
    somebody.
    """
    while frame is not None:
        kind = _kind(frame)
        if kind is _PROJECT:
            return frame
        if frame.f_code.co_filename == _LINES:  # for a program, or for one that shows its source
            return _asking(frame)
        if kind is _SIMSTUDY or (kind is _IMPORT and frame.f_code.co_name != "get_data"):
            return None
        frame = frame.f_back
    return None


def _asking(frame: FrameType | None) -> FrameType | None:
    """Who asked for lines of a file, if that is the project and not a library."""
    while frame is not None and frame.f_code.co_filename == _LINES:
        frame = frame.f_back
    return frame if frame is not None and _kind(frame) is _PROJECT else None


def importing_module(frame: FrameType | None) -> str | None:
    """Name of the project's module whose statements are being executed."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and _kind(frame) is _PROJECT:
            return str(frame.f_globals.get("__name__"))
        frame = frame.f_back
    return None


def _kind(frame: FrameType) -> str:
    filename = frame.f_code.co_filename
    if filename.startswith("<") and not filename.startswith("<frozen"):  # typed in, or generated
        return _PROJECT if frame.f_globals.get("__name__") == "__main__" else _LIBRARY
    return _kind_of_file(filename)


@functools.cache
def _kind_of_file(filename: str) -> str:
    if filename.startswith("<frozen importlib"):
        return _IMPORT
    if filename.startswith("<frozen"):
        return _LIBRARY
    full = os.path.abspath(filename)
    if inside(full, _ENGINE):
        return _SIMSTUDY
    return _LIBRARY if is_library(full) else _PROJECT
