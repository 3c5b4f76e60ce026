"""What stands around the code that is followed: effects of imports, files read, the environment."""

import hashlib
import os
import re
import sys
from pathlib import Path

from simstudy.data.read_audit import reads_at_import, reads_by
from simstudy.identity.fingerprint.instructions import read_code
from simstudy.identity.fingerprint.modules.imports import imported_modules, libraries_of
from simstudy.identity.fingerprint.modules.loaded import loaded_otherwise
from simstudy.identity.fingerprint.modules.places import source_file, sources_loaded
from simstudy.identity.fingerprint.modules.statements import effects
from simstudy.identity.fingerprint.walk.notes import Walk, hash_of
from simstudy.identity.fingerprint.walk.references import references
from simstudy.identity.fingerprint.what_counts import ENVIRONMENT, THREAD_VARIABLES, is_ours

WORD = re.compile(r"[A-Za-z_]\w*")


def enter_surroundings(walk: Walk) -> None:
    """Enter what the modules that take part do beside defining, and what they look at."""
    done: set[str] = set()
    while walk.taking_part - done:
        module = min(walk.taking_part - done)
        done.add(module)
        if not is_ours(module):  # whose modules only define; a test says so
            _enter_effects(walk, module)
    _enter_files(walk, done)
    _enter_environment(walk)


def _enter_effects(walk: Walk, module: str) -> None:
    """Statements that a module runs when it is imported, and the modules that it imports."""
    loaded = sys.modules.get(module)
    if loaded is None or source_file(module) is None:
        return
    for number, statement in enumerate(effects(module), start=1):
        code = read_code(statement)
        refers = references(walk, code, vars(loaded), module)
        walk.enter(f"{module} (statement {number})", hash_of(code.digest + refers))
    differs = loaded_otherwise(module)
    if differs:
        walk.enter(f"{module} (edited after it was loaded)", differs)
    for name in libraries_of(module, unused_only=True):
        walk.library(name)
    for name in imported_modules(module, at_import_only=True):
        if name in sys.modules:
            walk.takes_part(name)


def _enter_files(walk: Walk, taking_part: set[str]) -> None:
    """Files that were read before any block: as modules were imported, by what is followed."""
    read = reads_at_import(sorted(taking_part)) | reads_by(set(walk.entries))
    sources = sources_loaded() if read else frozenset()
    for path, reader in read.items():
        if path not in sources:
            content = Path(path).read_bytes() if Path(path).is_file() else b""
            name = f"{Path(path).name} (read by {reader})"
            walk.enter(name, hashlib.sha256(content).hexdigest())


def _enter_environment(walk: Walk) -> None:
    """Variables that are named anywhere in code that looks at the environment."""
    if walk.attributes & ENVIRONMENT:
        words = {word for text in walk.strings for word in WORD.findall(text)}
        for name in (words & set(os.environ)) - set(THREAD_VARIABLES):
            walk.enter(f"environment variable {name}", hash_of(os.environ[name]))
