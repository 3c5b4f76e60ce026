"""Machine code is that of the sources on disk, in a copy of the package that the tests may edit."""

import ast
import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simstudy.documents.stats.compiled import kernel as kernel_module
from simstudy.documents.stats.compiled import machine_code

ROOT = Path(__file__).parents[4]
HELPER = """
from simstudy.documents.stats.compiled.kernel import kernel

FACTOR = 2.0

@kernel
def helped(x):
    return FACTOR * x
"""
CALLER = """
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats._probe_helper import helped

@kernel
def called(x):
    return helped(x) + 1.0
"""
CALL = """
import json
from simstudy.documents.stats._probe_kernels import called
value = called(10.0)
stats = called.stats
print(json.dumps([value, sum(stats.cache_hits.values()), stats.cache_path]))
"""
OLD, NEW = 21.0, 31.0  # FACTOR · 10 + 1


@pytest.fixture
def tree(tmp_path):
    """A copy of the package with two kernels of our own, the second calling the first."""
    return copied_package(tmp_path)


def copied_package(folder: Path) -> Path:
    shutil.copytree(
        ROOT / "simstudy", folder / "simstudy", ignore=shutil.ignore_patterns("__pycache__")
    )
    (stats(folder) / "_probe_helper.py").write_text(HELPER)
    (stats(folder) / "_probe_kernels.py").write_text(CALLER)
    return folder


def stats(tree: Path) -> Path:
    return tree / "simstudy" / "documents" / "stats"


def environment(tree: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTHON"))}
    places = {"PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(tree / "home")}
    return {**kept, **places, "TMPDIR": str(tree), **more}


def start(tree: Path, code: str, **more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=tree, env=environment(tree, **more),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def answer(process: "subprocess.Popen[str]"):
    out, error = process.communicate()
    assert process.returncode == 0, error
    return json.loads(out)


def run(tree: Path, code: str = CALL, **more: str):
    return answer(start(tree, code, **more))


def edit(path: Path, old: str, new: str, *, unseen: bool = False) -> None:
    """Change a file; unseen: of the same size, with the time that it had."""
    before, text = path.stat(), path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    if unseen:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = path.stat()
        assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def edit_helper(tree: Path, *, unseen: bool = False) -> None:
    edit(stats(tree) / "_probe_helper.py", "FACTOR = 2.0", "FACTOR = 3.0", unseen=unseen)


# ---------------------------------------------------------------- kernels of this package
def test_a_change_in_a_helper_reaches_its_callers(tree):
    assert run(tree)[0] == OLD
    edit_helper(tree, unseen=True)
    assert run(tree)[:2] == [NEW, 0]


@pytest.mark.slow
def test_a_kernel_is_compiled_anew_where_its_file_or_a_helper_s_changes_and_else_never(tree):
    kernels = stats(tree) / "_probe_kernels.py"
    assert run(tree)[:2] == [OLD, 0]
    assert run(tree)[:2] == [OLD, 1]
    edit(kernels, "+ 1.0", "+ 2.0", unseen=True)
    assert run(tree)[:2] == [OLD + 1, 0], "a change in its own file"
    edit_helper(tree)
    assert run(tree)[:2] == [NEW + 1, 0]
    edit(kernels, "+ 2.0", "+ 1.0")
    edit(stats(tree) / "_probe_helper.py", "FACTOR = 3.0", "FACTOR = 2.0")
    assert run(tree)[:2] == [OLD, 1], "the code of the old source is still there"


@pytest.mark.slow
def test_options_of_the_compiler_count(tree):
    run(tree)
    assert run(tree, NUMBA_OPT="1")[:2] == [OLD, 0]
    assert run(tree)[1] == 1


@pytest.mark.slow
def test_bytecode_that_python_wrongly_believes_is_refused(tree):
    """Written by an installer, say, and so with a time and a size only."""
    helper = stats(tree) / "_probe_helper.py"
    mode = py_compile.PycInvalidationMode.TIMESTAMP
    py_compile.compile(str(helper), doraise=True, invalidation_mode=mode)
    edit_helper(tree, unseen=True)
    process = start(tree, CALL)
    assert re.search("Python runs other code than .*start again", process.communicate()[1])
    assert run(tree)[:2] == [NEW, 0]


@pytest.mark.slow
def test_a_module_run_in_two_versions_keeps_nothing(tree):
    """Callers may hold old functions, which may now see new constants: no hash tells which."""
    code = """
import importlib, json, pathlib
from simstudy.documents.stats import _probe_helper, _probe_kernels
path = pathlib.Path(_probe_helper.__file__)
path.write_text(path.read_text().replace("2.0", "3.0"))
importlib.reload(_probe_helper)
_probe_kernels.called(10.0)
print(json.dumps(_probe_kernels.called.stats.cache_path))
"""
    assert run(tree, code) is None
    assert run(tree)[:2] == [NEW, 0]


@pytest.mark.slow
def test_a_module_changed_before_it_is_imported_late(tree):
    """The key is of what runs, not of what lay there when the process began."""
    code = """
import json, pathlib
from simstudy.documents.stats.compiled import kernel, lanes
path = pathlib.Path(kernel.__file__).parents[1] / "_probe_helper.py"
kernel.on_disk()
path.write_text(path.read_text().replace("2.0", "3.0"))
from simstudy.documents.stats._probe_kernels import called
print(json.dumps(called(10.0)))
"""
    assert run(tree, code) == NEW
    edit(stats(tree) / "_probe_helper.py", "FACTOR = 3.0", "FACTOR = 2.0")
    assert run(tree)[0] == OLD


@pytest.mark.slow
def test_processes_that_compile_at_once(tree):
    started = [start(tree, CALL) for _ in range(4)]
    assert [answer(one)[0] for one in started] == [OLD] * 4
    assert run(tree)[:2] == [OLD, 1]
    (folder,) = (tree / "simstudy" / "documents" / "__pycache__").glob("machine-code-*")
    assert all(path.suffix == ".bin" for path in folder.iterdir()), "pieces are left"


@pytest.mark.slow
@pytest.mark.parametrize("damage", [lambda x: b"", lambda x: x[:-1] + b"?"])
def test_damaged_machine_code_is_compiled_again(tree, damage):
    for path in Path(run(tree)[2]).iterdir():
        path.write_bytes(damage(path.read_bytes()))
    assert run(tree)[:2] == [OLD, 0]
    assert run(tree)[:2] == [OLD, 1]


def block(path: Path) -> None:
    """Nothing can be written below a path that is a file; permissions do not stop everybody."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


@pytest.mark.slow
def test_where_nothing_can_be_written(tree):
    user = getattr(os, "geteuid", lambda: 0)()
    places = [
        tree / "simstudy" / "documents" / "__pycache__",
        tree / "home",
        tree / f"simstudy-{user}",
    ]
    for place in places:
        value, hits, used = run(tree)
        assert (value, hits) == (OLD, 0)
        assert Path(used).is_relative_to(place)
        assert run(tree)[:2] == [OLD, 1]
        shutil.rmtree(place)
        block(place)
    assert run(tree) == [OLD, 0, None]


@pytest.mark.slow
def test_a_folder_that_numba_was_given_comes_first(tree):
    used = run(tree, NUMBA_CACHE_DIR=str(tree / "given"))[2]
    assert Path(used).is_relative_to(tree / "given")


def test_a_temporary_folder_open_to_others_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_code.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = machine_code._temporary()
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="open to others"):
        machine_code._temporary()


@pytest.mark.slow
def test_unused_folders_are_deleted(tree):
    parent = tree / "simstudy" / "documents" / "__pycache__"
    old, recent, other = (parent / name for name in ("machine-code-0", "machine-code-1", "other"))
    for folder in (old, recent, other):
        folder.mkdir(parents=True)
        (folder / "piece.bin").touch()
    month, now = 30 * 24 * 3600, time.time()
    os.utime(old, times=(now, now - month - 60))
    os.utime(other, times=(now, now - month - 60))
    os.utime(recent, times=(now, now - month + 3600))
    run(tree)
    assert [path.exists() for path in (old, recent, other)] == [False, True, True]


# ---------------------------------------------------------------- contracts
SOURCES = sorted((ROOT / "simstudy").rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Modules, and names from modules, that a file imports; relative imports stay as they are."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


COMPILERS = [f"simstudy.documents.stats.compiled.{name}" for name in ("kernel", "machine_code")]


def compiling() -> dict[str, Path]:
    """Modules whose sources are hashed, but for those that hash and keep them."""
    paths = [ROOT / "simstudy" / "documents" / name for name in kernel_module.on_disk()]
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    for name in COMPILERS:
        del modules[name]
    return modules


def test_only_one_folder_knows_how_to_compile():
    found = [
        path.name
        for path in SOURCES
        if re.search(r"(?<!np\.)\b(n?jit|guvectorize|vectorize|cfunc)\b", path.read_text())
    ]
    assert found == ["kernel.py"]


def test_every_file_with_a_kernel_is_hashed():
    begins = re.compile(r"^\s*@(kernel|intrinsic)\b", re.M)
    written = {path for path in SOURCES if begins.search(path.read_text())}
    assert written == set(compiling().values())


@pytest.mark.parametrize("name", compiling())
def test_kernels_import_only_kernels(name):
    """A constant from elsewhere would be frozen into machine code without being in its key."""
    ours = {one for one in imported(compiling()[name]) if one.startswith(("simstudy", "."))}
    annotations = "simstudy.array_types"
    allowed = (*compiling(), "simstudy.documents.stats.compiled.kernel.kernel", annotations)
    strange = {one for one in ours if not any(f"{one}.".startswith(f"{ok}.") for ok in allowed)}
    assert strange == set()
