"""Files of blocks: whole or absent, named by their bytes."""

import subprocess
import sys
from pathlib import Path

from tests.store.samples import (
    files,
    open_store,
    write,
)


def test_a_file_is_named_by_its_bytes(tmp_path):
    import hashlib

    path = write(tmp_path, ("a", 0, 1))
    assert path.stem == hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    assert files(tmp_path) == [path.name]
    assert not list(tmp_path.glob(".writing-*"))


def test_a_write_that_is_killed_leaves_no_file_of_blocks(tmp_path):
    """Killed after the bytes and before their name: only a temporary file stays."""
    code = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from simstudy import atomic_files
from tests.store.samples import write
atomic_files.os.replace = lambda *_: os._exit(9)
write(Path({str(tmp_path)!r}), ("a", 0, 1))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == 9
    assert [path.name[:9] for path in tmp_path.iterdir()] == [".writing-"]
    store = open_store(tmp_path)
    assert store.n_blocks("a") == 0
    assert store.damaged == []
