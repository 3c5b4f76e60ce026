"""What a run's blocks take, added up as they are finished, and left beside them now and then."""

import contextlib
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

from simstudy.engine.tasks import Receipt
from simstudy.errors import SimstudyError
from simstudy.remote.paths import Place
from simstudy.store.owner import Owner
from simstudy.store.seconds import Spent, Times, write_seconds

WRITTEN_EVERY = 30.0  # seconds: what a run that is killed does not say of itself


def _now() -> str:
    """UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Meter:
    """What blocks took, by the key of what was drawn.

    Parameters
    ----------
    blocks
        Their folder; None where nothing of them stays.
    owner
        Whose they are.
    """

    blocks: Place | None
    owner: Owner
    spent: dict[str, Spent] = field(default_factory=dict)
    _begun: str = field(default_factory=lambda: _now())
    _ended: str = ""
    _name: str = field(default_factory=lambda: uuid.uuid4().hex)
    _written: float = field(default_factory=time.monotonic)
    _is_new: bool = False

    def note(self, receipt: Receipt) -> None:
        """Add a finished task."""
        on_data = receipt.data_each or (0.0,) * len(receipt.done)
        each = zip(receipt.done, receipt.seconds_each, on_data, strict=True)
        for (key, _), own, data in each:
            self.spent[key] = self.spent.get(key, Spent()).plus(Spent(1, own, data))
            self._is_new, self._ended = True, _now()
        if time.monotonic() - self._written > WRITTEN_EVERY:
            self.write()

    def write(self) -> None:
        """Leave it beside the blocks, in the place of what was left before; it is worth no run."""
        if self._is_new and self.blocks is not None:
            with contextlib.suppress(OSError, SimstudyError):
                times = Times(self._begun, self._ended)
                write_seconds(self.blocks, self._name, self.owner, self.spent, times)
        self._is_new, self._written = False, time.monotonic()
