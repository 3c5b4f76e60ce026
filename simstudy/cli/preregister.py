"""A study written as a preregistration: `simstudy protocol`."""

from simstudy.cli.request import Request


def protocol(request: Request) -> int:
    """Write the study as a preregistration beside its results; nothing of it is drawn."""
    from simstudy.output.formatting import seen_from_here
    from simstudy.output.protocol import TEXT, read_protocol

    settings = request.settings
    before = read_protocol(request.folder)
    planned = request.study.protocol(
        settings.n_rep or (None if settings.precision else request.n_rep),
        settings.seed,
        precision=settings.precision,
        pilot=settings.pilot,
        out=request.out,
        about=request.module.__doc__ or "",
        command=_command_of_protocol(request),
        source=request.module.__file__,
        workers=request.workers,
        replace=settings.replace,
    )
    stands = "it stands already: " if before and before.hash == planned.hash else ""
    print(f"{stands}{planned!r}: {seen_from_here(request.folder / TEXT)}")
    if planned.n_drawn:
        print(f"{planned.n_drawn:,} blocks had been drawn before it was written, and it says so")
    return 0


def _command_of_protocol(request: Request) -> str:
    """What draws the study that is planned, with places for how much of it."""
    from simstudy.output.protocol import SIZE
    from simstudy.output.report.command import command_of, project_of
    from simstudy.output.up_to_date import SIZES

    config = {name: said for name, said in request.record.items() if name not in SIZES}
    manifest = {"config": config, "replicates_per_scenario": 0, "seed": request.settings.seed}
    root = project_of(request.module.__file__)
    return command_of(manifest, root, request.folder).replace("n_rep=0", f"n_rep={SIZE}")
