"""A result's frames as Parquet files: what was found, and what its scenarios and cells are."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.analysis.result import Result
from simstudy.lazy import pd
from simstudy.output.origin import CELLS, SCENARIOS
from simstudy.output.tables import cell_table, of_one_type_each, scenario_table
from simstudy.remote.paths import Place
from simstudy.whole_files import write_bytes

SOMETIMES = ("failures", "summary_all_methods", "warnings")  # frames that a result may not have


def frames_of(result: Result) -> dict[str, pd.DataFrame]:
    """By name, the summary, and what there is of failures and warnings."""
    frames = {"summary": result.summary}
    if len(result.failures):
        frames["failures"] = result.failures
        if result.plan.axes and not result.moments_only:
            frames["summary_all_methods"] = result.summary_all_methods
    if len(result.warnings):
        frames["warnings"] = result.warnings
    return frames


def write_frames(result: Result, folder: Place, frames: Mapping[str, pd.DataFrame]) -> list[Place]:
    """Write frames, scenarios and cells; what an earlier run had and this one has not is deleted.

    Returns
    -------
    list
        The files.
    """
    for name in set(SOMETIMES) - set(frames):
        (folder / f"{name}.parquet").unlink(missing_ok=True)
    files = {f"{name}.parquet": _bytes_of_frame(frame) for name, frame in frames.items()}
    drawn = result.plan.drawn
    files[SCENARIOS] = _bytes_of_table(scenario_table(drawn))
    if drawn.axes:
        files[CELLS] = _bytes_of_table(cell_table(drawn))
    for name, content in files.items():
        write_bytes(folder / name, content)
    return [folder / name for name in files]


def _bytes_of_frame(frame: pd.DataFrame) -> bytes:
    buffer = BytesIO()
    of_one_type_each(frame).to_parquet(buffer, index=False)
    return buffer.getvalue()


def _bytes_of_table(table: pa.Table) -> bytes:
    buffer = BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
