"""Names of what lies in a store: files by their content, and the folders beside them."""

import hashlib
from io import BufferedIOBase
from typing import Any

DAMAGED = "_damaged"  # folder of what was set aside
DERIVED = "derived"  # folder of what was made of the blocks
ENDING = ".parquet"
OTHER_BYTES = "its bytes are not the ones that were written"
READ_AT_ONCE = 1 << 20  # bytes


def name_by_content(file: BufferedIOBase | Any) -> str:
    """The hash of a file's bytes, without an ending: 32 hexadecimal digits."""
    file.seek(0)
    whole = hashlib.sha256()
    while piece := file.read(READ_AT_ONCE):
        whole.update(piece)
    return whole.hexdigest()[:32]


def is_named_by_content(file: BufferedIOBase | Any, name: str) -> bool:
    """Whether a file's bytes are those that its name says."""
    return f"{name_by_content(file)}{ENDING}" == name
