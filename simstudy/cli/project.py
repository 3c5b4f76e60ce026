"""A project: the folder with `experiments/` and `conf/`."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Project:
    """Where a command line finds its experiments, and how a user calls it.

    Parameters
    ----------
    root
        The folder that holds `experiments/` and `conf/`.
    program
        What a user types before the verb.
    """

    root: Path
    program: str

    @classmethod
    def of(cls, script: str | None) -> "Project":
        """The folder of a project's `run.py`, wherever one stands; without it, the current one."""
        if script is None:
            return cls(Path.cwd(), "simstudy")
        return cls(Path(script).resolve().parent, "python run.py")

    @property
    def runs(self) -> str:
        """What a user types to run a study; a project's own script needs no verb for it."""
        return "simstudy run" if self.program == "simstudy" else self.program

    @property
    def conf(self) -> Path:
        """Published values of experiments, and what replaces the package's own config."""
        return self.root / "conf"
