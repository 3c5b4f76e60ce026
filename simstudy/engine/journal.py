"""What is being drawn in a process that cannot be lost: noted, so that the next run knows.

Where blocks are drawn in the process that was started by a user (`inline`, `threads`), one that
kills it takes the run with it. Beside the blocks it leaves a note, which is taken away after each
task otherwise; the next run draws what such a note names in a process apart.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from simstudy.atomic_files import began, is_there, machine, read_json
from simstudy.engine.tasks import Task
from simstudy.store.files import Files

NOTE = ".drawing-"  # begins the name of a note
FORGOTTEN_AFTER = 86_400.0  # seconds, of a note by another machine, whose processes are not seen

Blocks = set[tuple[str, int]]
"""Blocks by the key of their scenario and their number."""


@contextlib.contextmanager
def noted(task: Task) -> Iterator[None]:
    """Within it a note says that this process is at the task; an exception takes it away as well.

    Files that lie in no folder of this machine's have no notes.
    """
    folder = _folder(task.files)
    if folder is None:
        yield
        return
    who = machine(), os.getpid(), threading.get_ident()
    note = folder / (NOTE + "-".join(map(str, who)))
    blocks = [[job.key, job.block] for job in task.jobs]
    note.write_text(json.dumps({**_who(), "code": task.expected, "blocks": blocks}))
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def cut_short(files: Files, code: str) -> Blocks:
    """Blocks that were being drawn by processes which have gone, with this code.

    A process of another machine, of which nobody here can say whether it is alive, counts as gone:
    that costs some seconds.
    """
    notes = filter(None, map(read_json, _notes(files)))
    return {
        (key, block)
        for note in notes
        if note.get("code") == code and not _is_alive(note)
        for key, block in note.get("blocks", ())
    }


def forget(files: Files) -> None:
    """Take away notes of processes that have gone, when what they name is drawn."""
    for path in _notes(files):
        note = read_json(path) or {}
        is_ours = note.get("machine") == _who()["machine"]
        with contextlib.suppress(FileNotFoundError):
            is_old = time.time() - path.stat().st_mtime > FORGOTTEN_AFTER
            if is_old or (is_ours and not _is_alive(note)):
                path.unlink()


def _folder(files: Files) -> Path | None:
    found = getattr(files, "path", None)
    return found if isinstance(found, Path) else None


def _notes(files: Files) -> list[Path]:
    folder = _folder(files)
    return sorted(folder.glob(f"{NOTE}*")) if folder else []


# ---------------------------------------------------------------- processes
def _who() -> dict[str, Any]:
    """What tells the process from all others: numbers of processes are used again."""
    return _process(os.getpid())


@cache
def _process(number: int) -> dict[str, Any]:
    return {"machine": machine(), "process": number, "began": began(number)}


def _is_alive(note: dict[str, Any]) -> bool:
    process = note.get("process")
    if note.get("machine") != machine() or not isinstance(process, int):
        return False
    return is_there(process) and note.get("began") == began(process)
