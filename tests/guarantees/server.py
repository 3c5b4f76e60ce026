"""Processes that carry out orders; runs of the slow study among them, which are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class Orders:
    """A module that carries out orders in a process of its own: a line of JSON each, and back."""

    def __init__(self, module: str) -> None:
        found = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        env = os.environ | {"PYTHONPATH": found, "PYTHONDONTWRITEBYTECODE": "1"}
        env |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip

    def ask(self, **order: object) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate("")


class Server(Orders):
    """Runs in processes of their own, without paying for imports each time."""

    def __init__(self) -> None:
        super().__init__("tests.guarantees.slow")

    def start(
        self, out: Path, n_rep: int, backend: str = "inline", n_jobs: int = 1, **how: object
    ) -> int:
        return self.ask(do="run", out=str(out), n_rep=n_rep, backend=backend, n_jobs=n_jobs, **how)

    def wait(self, process: int) -> int:
        return self.ask(do="wait", process=process)


def kill_group(process: int) -> None:
    os.killpg(process, signal.SIGKILL)


def children(process: int) -> list[int]:
    """Processes of a run's group that compute: loky's workers, not their bookkeepers."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != process:
            try:
                command = (folder / "cmdline").read_bytes()
                group = os.getpgid(int(folder.name))
            except OSError:
                continue
            if group == process and b"popen_loky" in command:
                found.append(int(folder.name))
    return found


def wait_until(condition, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return False
