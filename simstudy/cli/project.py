"""A project: the folder with `experiments/` and `conf/`."""

from dataclasses import dataclass
from pathlib import Path

from simstudy.cli.stops import OF_A_SCRIPT, PROGRAM
from simstudy.errors import ConfigError

PACKAGE_CONF = Path(__file__).parent / "conf"  # what a project's own goes ahead of


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
        try:
            here = Path.cwd()  # which Hydra asks for, too, wherever the project is
            if script is None:
                return cls(here, PROGRAM)
            return cls(Path(script).resolve().parent, OF_A_SCRIPT)
        except FileNotFoundError:
            raise ConfigError(
                "the folder that one stands in is no longer there: cd to one that is"
            ) from None

    @property
    def runs(self) -> str:
        """What a user types to run a study; a project's own script needs no verb for it."""
        return "simstudy run" if self.program == PROGRAM else self.program

    @property
    def conf(self) -> Path:
        """Published values of experiments, and what replaces the package's own config."""
        return self.root / "conf"

    def options(self, group: str) -> list[str]:
        """The names in a config group: the project's files and the package's."""
        folders = (self.conf / group, PACKAGE_CONF / group)
        found = (path for folder in folders for path in folder.glob("*.yaml") if path.is_file())
        return sorted({path.stem for path in found})
