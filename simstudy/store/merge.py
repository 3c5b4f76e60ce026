"""Copies blocks from another folder into a store."""

from functools import partial
from io import BufferedRandom

from simstudy.atomic_files import write_bytes
from simstudy.remote.paths import Place
from simstudy.store.blocks import Store
from simstudy.store.files import name_by_content
from simstudy.store.run_records import FOLDER, record_files


def copy_blocks(source: Store, target: Store) -> int:
    """Copy files with blocks that a store lacks; returns the number of such blocks.

    Parameters
    ----------
    source, target
        Stores of one provenance.
    """
    names = {number: key for key, number in source.index.keys.items()}
    lacking: dict[int, int] = {}  # blocks by number of the source's file
    for piece in source.index.slices:
        end = int(piece["first"] + piece["n"])
        is_stored = target.has_blocks(names[piece["key"]], end)[int(piece["first"]) :]
        if not is_stored.all():
            number = int(piece["file"])
            lacking[number] = lacking.get(number, 0) + int((~is_stored).sum())
    for file in source.referenced_files:
        if file.number in lacking:
            with source.files.open(file.name) as stored:
                content = stored.read()
            target.files.write(partial(_fill, content))
    target.scan()
    return sum(lacking.values())


def _fill(content: bytes, file: BufferedRandom) -> str:
    file.write(content)
    return name_by_content(file)


def copy_records(source: Place, target: Place) -> None:
    """Copy the records of runs, such as timings."""
    for path in record_files(source):
        write_bytes(target / FOLDER / path.name, path.read_bytes())
