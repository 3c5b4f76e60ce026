"""The outputs of a run: published, unless they stand there as they would be made now."""

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from simstudy.cli import stops
from simstudy.cli.endings import FAILED, again
from simstudy.cli.parts import part_of
from simstudy.cli.request import Request
from simstudy.output.parallel_figures import FigureWorkers


def publish_result(request: Request, result: Any) -> int:
    """Write summary, figures, claims and report, unless they stand there; say what was found."""
    with publishing(), FigureWorkers(request.workers.count) as workers:
        status = status_if_current(request, result)
        return publish_anew(request, result, workers) if status is None else status


@contextlib.contextmanager
def publishing() -> Iterator[None]:
    """Within it a stop ends the command at once, since what is written is whole or not there."""
    stops.swallowed()
    with stops.at_once():
        yield


def status_if_current(request: Request, result: Any) -> int | None:
    """The status of a result that is published as it would be now; None, where it is not."""
    from simstudy.output.formatting import seen_from_here, size_in_words
    from simstudy.output.up_to_date import is_current
    from simstudy.store.disk import trouble_in_words
    from simstudy.store.manifest import say_part

    for name in result.store.damaged:
        print(f"damaged, set aside and computed again: {name}", file=sys.stderr)
    file = request.module.__file__
    if not is_current(result, request.record, file, **_wanted(request), sources=request.sources):
        return None
    if say_part(result.folder, part_of(request.name, request.project)) and request.settings.report:
        from simstudy.output.report import write_index

        with trouble_in_words(result.folder.parent):
            write_index(result.folder.parent)
    where = seen_from_here(result.folder)
    print(f"nothing to do: {where} holds {size_in_words(result)}, and its figures")
    return FAILED if (result.folder / "failures.parquet").exists() else 0


def publish_anew(request: Request, result: Any, workers: FigureWorkers) -> int:
    """Write all outputs, and say what was found.

    Parameters
    ----------
    workers
        Processes that may draw the figures.
    """
    from simstudy.output.folder import publish
    from simstudy.output.terminal import print_closing  # where there is something to print

    settings = request.settings
    made = publish(
        result,
        about=request.module.__doc__ or "",
        config=request.record,
        module_file=request.module.__file__,
        sources=request.sources,
        **_wanted(request),
        replace=settings.restart or settings.replace,
        workers=workers if request.workers.count > 1 else None,
        part=part_of(request.name, request.project),
    )
    print_closing(result, made, partial(_replay_command, request))
    return FAILED if result.n_failed or made.failed else 0


def _wanted(request: Request) -> dict[str, Any]:
    """Which outputs: figures, those of a journal's columns, the report."""
    settings = request.settings
    columns = settings.column_widths if settings.pdf else {}
    return {"figures": settings.figures, "report": settings.report, "columns": columns}


def _replay_command(request: Request, address: str) -> str:
    """What brings a replicate of this run back: the settings of this run, and its address."""
    return again(request.project, [*request.overrides, f"replay={address}"])
