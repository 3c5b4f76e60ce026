"""Runs studies of a user's own files, each in a process that imports them anew.

A server has imported simstudy already and forks for each order, so a case costs a blink. What a
case answers is what a user would have: that the run was refused, or the numbers.
"""

import ast
import contextlib
import functools
import hashlib
import importlib
import io
import json
import linecache
import os
import signal
import sys
import threading
import types
from pathlib import Path
from typing import Any

from tests.guarantees.server import Orders

N_REP, BLOCK = 40, 20


class Projects(Orders):
    def __init__(self) -> None:
        super().__init__("tests.guarantees.projects")

    def run(self, folder: Path, out: Path, **order: Any) -> dict[str, Any]:
        """Run the study of `folder/trial.py`; what came of it."""
        answer: dict[str, Any] = self.ask(folder=str(folder), out=str(out), **order)
        return answer

    def cells(self, folder: Path, *cells: str, backend: str = "inline") -> list[dict[str, Any]]:
        """Run cells of a notebook in one process; what came of each `answer(study)` in them."""
        answered: Any = self.run(folder, folder / "out", cells=cells, backend=backend)
        return answered if isinstance(answered, list) else [answered]


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    """Import the project and run its study, as a new process of the user's would."""
    from simstudy.errors import SimstudyError

    os.chdir(order["folder"])
    sys.path[:0] = [order["folder"], *order.get("path", [])]
    for name, value in order.get("environ", {}).items():
        os.environ[name] = value
    try:
        trial = _script() if order.get("script") else importlib.import_module("trial")
        study = trial.study()
        if "only" in order:
            return {"code": fingerprint_of(study)}
        workers = {"backend": order.get("backend", "inline"), "n_jobs": order.get("n_jobs", 1)}
        result = study.run(
            order.get("n_rep", N_REP), order.get("seed", 1), out=order["out"], **workers,
        )  # fmt: skip
        numbers = result.summary.drop(columns="reason").to_csv()
        digest = hashlib.sha256(numbers.encode()).hexdigest()
        found = {"numbers": digest, "n_blocks": result.outcome.n_blocks}
        said = {"noticed": result.outcome.warnings, "notes": result.outcome.notes}
        return found | {name: lines for name, lines in said.items() if lines}
    except SimstudyError as error:
        return {"refused": str(error)}


def fingerprint_of(study: Any) -> dict[str, str]:
    from simstudy.engine.provenance import compute_provenance

    (code,) = compute_provenance(study.plan(1)).of_blocks.codes.values()
    return dict(code)


def _script() -> types.ModuleType:
    """The file as a script: the module `__main__`."""
    script = types.ModuleType("__main__")
    script.__file__ = os.path.abspath("trial.py")
    sys.modules["__main__"] = script
    text = Path("trial.py").read_text(encoding="utf-8")
    exec(compile(text, script.__file__, "exec"), vars(script))
    return script


def carry_out_cells(order: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute cells as a notebook's kernel does: in a `__main__` that has no file."""
    notebook = types.ModuleType("__main__")
    sys.modules["__main__"] = notebook
    os.chdir(order["folder"])
    sys.path.insert(0, order["folder"])
    answers: list[dict[str, Any]] = []
    space = vars(notebook)
    space["answer"] = functools.partial(_answer, order, answers)
    space["In"] = [""]
    for number, cell in enumerate(order["cells"]):
        name = f"<cell {number}>"
        space["In"].append(cell)
        linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
        for statement in ast.parse(cell, name).body:  # IPython compiles them one by one
            exec(compile(ast.Module([statement], []), name, "exec"), space)
    return answers


def _answer(order: dict[str, Any], answers: list[dict[str, Any]], study: Any, **how: Any) -> None:
    from simstudy.engine.progress import Silent
    from simstudy.errors import SimstudyError

    class Listener(Silent):
        def note(self, text: str) -> None:
            said.append(text)

    said: list[str] = []
    workers = {"backend": how.pop("backend", order["backend"]), "n_jobs": 2}
    out = how.pop("out", order["out"])
    try:
        result = study.run(N_REP, out=out, **workers, progress=Listener(), **how)
        fresh = study.run(N_REP, backend="inline", n_jobs=1)
        answers.append(
            {
                "n_blocks": result.outcome.n_blocks,
                "right": result.summary.equals(fresh.summary),
                "estimate": float(result.summary["estimate"].iloc[0]),
                "said": said,
                "notes": result.outcome.notes,
            }
        )
    except SimstudyError as error:
        answers.append({"refused": str(error), "said": said})


def answer_in_a_child(order: dict[str, Any]) -> str:
    work = carry_out_cells if "cells" in order else carry_out
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        os.setpgid(0, 0)
        sys.stdout = io.StringIO()  # what the study prints is no answer
        with contextlib.suppress(BaseException):
            try:
                text = json.dumps(work(order))
            except BaseException as error:
                text = json.dumps({"broken": f"{type(error).__name__}: {error}"})
            os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # idle workers would stay for minutes
    return text


def serve() -> None:
    from simstudy.engine import loop, second_draw
    from tests.factories import mean_study

    loop.check_repeatable = lambda *_, **__: second_draw.Findings()  # no other process
    loop.draw_pilot = lambda *_, **__: None
    with contextlib.suppress(ImportError):
        import numba  # noqa: F401
    mean_study().run(50, backend="inline", n_jobs=1)  # imports what a run does, once for all
    assert threading.active_count() == 1, "a child would have none of these threads"
    for line in sys.stdin:
        print(answer_in_a_child(json.loads(line)), flush=True)


if __name__ == "__main__":
    serve()
