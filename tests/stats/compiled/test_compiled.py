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

import numpy as np
import pytest
from numba import cfunc, njit

from simstudy.errors import SimstudyError
from simstudy.stats.compiled import kernel as kernel_module
from simstudy.stats.compiled import machine_code
from simstudy.stats.compiled.renew import rekey

ROOT = Path(__file__).parents[3]
IMPORT_KERNEL = "simstudy.stats.compiled.kernel import kernel"
HELPER = """
from simstudy.stats.compiled.kernel import kernel

FACTOR = 2.0

@kernel
def helped(x):
    return FACTOR * x
"""
CALLER = """
from simstudy.stats.compiled.kernel import kernel
from simstudy.stats._probe_helper import helped

@kernel
def called(x):
    return helped(x) + 1.0
"""
CALL = """
import json
from simstudy.stats._probe_kernels import called
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
    return tree / "simstudy" / "stats"


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
def test_with_numbas_own_cache_it_does_not(tree):
    for name in ("_probe_helper.py", "_probe_kernels.py"):
        edit(stats(tree) / name, IMPORT_KERNEL, "numba import njit")
        edit(stats(tree) / name, "@kernel", "@njit(nogil=True, cache=True)")
    assert run(tree)[0] == OLD
    edit_helper(tree, unseen=True)
    assert run(tree)[:2] == [OLD, 1], "numba has learnt to look at helpers"


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
from simstudy.stats import _probe_helper, _probe_kernels
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
from simstudy.stats.compiled import kernel, lanes
path = pathlib.Path(kernel.__file__).parents[1] / "_probe_helper.py"
kernel.on_disk()
path.write_text(path.read_text().replace("2.0", "3.0"))
from simstudy.stats._probe_kernels import called
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
    (folder,) = (tree / "simstudy" / "__pycache__").glob("machine-code-*")
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
    places = [tree / "simstudy" / "__pycache__", tree / "home", tree / f"simstudy-{user}"]
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
    parent = tree / "simstudy" / "__pycache__"
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


COMPILERS = [f"simstudy.stats.compiled.{name}" for name in ("kernel", "machine_code", "renew")]


def compiling() -> dict[str, Path]:
    """Modules whose sources are hashed, but for those that hash and keep them."""
    paths = [ROOT / "simstudy" / name for name in kernel_module.on_disk()]
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
    assert found == ["kernel.py", "renew.py"]


def test_every_file_with_a_kernel_is_hashed():
    begins = re.compile(r"^\s*@(kernel|intrinsic)\b", re.M)
    written = {path for path in SOURCES if begins.search(path.read_text())}
    assert written == set(compiling().values())


@pytest.mark.parametrize("name", compiling())
def test_kernels_import_only_kernels(name):
    """A constant from elsewhere would be frozen into machine code without being in its key."""
    ours = {one for one in imported(compiling()[name]) if one.startswith(("simstudy", "."))}
    annotations = "simstudy.array_types"
    allowed = (*compiling(), "simstudy.stats.compiled.kernel.kernel", annotations)
    strange = {one for one in ours if not any(f"{one}.".startswith(f"{ok}.") for ok in allowed)}
    assert strange == set()


# ---------------------------------------------------------------- functions of users
USERS_HELPER = """
from numba import njit
FACTOR = 2.0

@njit({sig}cache=True)
def helped(x):
    return FACTOR * x
"""
USERS_CALLERS = """
import numpy as np
from numba import guvectorize, njit, vectorize
import helper

@njit({sig}cache=True)
def called(x):
    return helper.helped(x) + 1.0

@njit({plain})
def uncached(x):
    return called(x)

@njit({short}cache=True)
def short(x):
    return np.float32(called(x)) + np.float32(1 / 3)

@vectorize({sigs}cache=True)
def each(x):
    return called(x)

@guvectorize({arrays}"(n)->(n)", cache=True)
def row(x, out):
    for i in range(x.size):
        out[i] = each(x[i])

@njit
def generated(n):
    for i in range(n):
        yield called(i * 1.0)

@njit(cache=True)
def total(n):
    found = 0.0
    for one in generated(n):
        found += one
    return found
"""
EAGER = {
    "sig": '"float64(float64)", ', "plain": '"float64(float64)"', "short": '"float32(float64)", ',
    "sigs": '["float64(float64)"], ', "arrays": '["(float64[:], float64[:])"], ',
}  # fmt: skip
LAZY = dict.fromkeys(EAGER, "")
USE = """
import json, sys
import numpy as np
from simstudy.stats.compiled.renew import rekey
import helper, user
NAMES = ["helped", "called", "uncached", "short", "each", "row", "generated", "total"]
EVERY = [getattr(user, name, None) or helper.helped for name in NAMES]

def values():
    x = np.array([10.0])
    return [
        user.called(10.0), user.uncached(10.0), float(user.short(10.0)), float(user.each(x)[0]),
        float(user.row(x, np.empty(1))[0]), user.total(2),
    ]

def overloads():
    inner = [getattr(one, "_dispatcher", one) for one in EVERY]
    return [(key, id(value)) for one in inner for key, value in one.overloads.items()]
"""
SHOW = USE + "print(json.dumps(values()))"


def expected(factor: float) -> list[float]:
    value = factor * 10 + 1
    short = float(np.float32(value) + np.float32(1 / 3))
    return [value, value, short, value, value, 2 + factor]


def rekeyed(first: str, digest: str = "new") -> str:
    return USE + f"{first}\nrekey(EVERY, {digest!r})\nprint(json.dumps(values()))"


@pytest.fixture(params=["eager", pytest.param("lazy", marks=pytest.mark.slow)], scope="module")
def kept(request, tmp_path_factory):
    """Compiled functions of a user, kept on disk."""
    signatures = EAGER if request.param == "eager" else LAZY
    folder = copied_package(tmp_path_factory.mktemp("kept"))
    (folder / "helper.py").write_text(USERS_HELPER.format(**signatures))
    (folder / "user.py").write_text(USERS_CALLERS.format(**signatures))
    assert run(folder, SHOW) == expected(2.0)
    return folder


@pytest.fixture
def users(kept, tmp_path):
    """The same, in a folder of the test's own, with a helper that was edited afterwards."""
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    edit(tmp_path / "helper.py", "FACTOR = 2.0", "FACTOR = 3.0")
    return tmp_path


@pytest.mark.parametrize("order", ["EVERY", pytest.param("EVERY[::-1]", marks=pytest.mark.slow)])
def test_a_users_functions_are_renewed(users, order):
    """Also where the stale ones were called, and so compiled into others, before."""
    first = "values()" if order == "EVERY[::-1]" else ""
    assert run(users, rekeyed(f"EVERY[:] = {order}\n{first}")) == expected(3.0)


@pytest.mark.slow
def test_renewed_functions_are_kept_by_digest_for_the_next_process(users):
    run(users, rekeyed(""))
    loaded = """
user.called._cache_hits.clear()
rekey(EVERY, "new")
print(json.dumps([values(), sum(user.called.stats.cache_hits.values())]))
"""
    assert run(users, USE + loaded) == [expected(3.0), 1]
    edit(users / "helper.py", "FACTOR = 3.0", "FACTOR = 4.0")
    assert run(users, rekeyed(""))[0] == NEW, "the digest is said to be of the contents"
    assert run(users, rekeyed("", "newer")) == expected(4.0)


@pytest.mark.slow
def test_a_second_call_does_nothing(users):
    code = (
        USE
        + """
rekey(EVERY, "new"); values()
before, path = overloads(), user.called.stats.cache_path
rekey(EVERY[::-1], "new")
same = [before == overloads(), path == user.called.stats.cache_path]
rekey(EVERY, "other")
print(json.dumps([*same, path == user.called.stats.cache_path]))
"""
    )
    assert run(users, code) == [True, True, False]


@pytest.mark.slow
def test_an_eager_function_takes_no_other_types_afterwards(users):
    """As before: integers are converted, not compiled for."""
    code = (
        USE
        + """
def signatures():
    return [str(one) for one in (*user.called.signatures, *user.each.types, *user.row.ufunc.types)]
values(); before = signatures()
rekey(EVERY, "new"); values()
user.called(10); user.short(10)
print(json.dumps([before, signatures(), user.each._frozen, user.called._can_compile]))
"""
    )
    before, after, frozen, can_compile = run(users, code)
    assert frozen is not can_compile
    assert set(after) >= set(before)
    if frozen:
        assert after == before


@pytest.mark.slow
def test_renewed_functions_have_symbols_of_their_own(users):
    """Those of one name would be linked to whichever was loaded first: at times, the stale one."""
    code = (
        USE
        + """
def symbols():
    inner = [getattr(one, "_dispatcher", one) for one in EVERY]
    return [made.fndesc.mangled_name for one in inner for made in one.overloads.values()]
values(); before = symbols()
rekey(EVERY, "new"); values(); between = symbols()
rekey(EVERY, "newer"); values(); after = symbols()
print(json.dumps([before, between, after]))
"""
    )
    before, between, after = map(set, run(users, code))
    assert min(map(len, (before, between, after))) > 0
    assert before.isdisjoint(between | after)
    assert between.isdisjoint(after)
    numbers = [int(number) for name in between for number in re.findall(r"B\d+v(\d+)", name)]
    assert min(numbers) >= 2**62, "numba numbers functions in another way"


@pytest.mark.slow
def test_functions_of_one_line_have_files_of_their_own(tree):
    (tree / "user.py").write_text(
        "from numba import njit\n"
        "def made(c):\n    return njit(cache=True)(lambda x: x + c)\n"
        "one, two = njit(cache=True)(lambda x: x + 1), njit(cache=True)(lambda x: x + 2)\n"
        "three, four = made(3), made(4)\n"
        "def whole(x): return 1 / x\n"
        "strict, loose = (njit(cache=True, error_model=e)(whole) for e in ('python', 'numpy'))\n"
    )
    code = """
import json, user
from simstudy.stats.compiled.renew import rekey
rekey([user.one, user.two, user.three, user.four, user.loose, user.strict], "a")
found = [one(0) for one in (user.one, user.two, user.three, user.four)] + [user.loose(0.0)]
try:
    user.strict(0.0)
except ZeroDivisionError:
    found.append("raised")
print(json.dumps([str(one) for one in found]))
"""
    for _ in range(2):
        assert run(tree, code) == ["1", "2", "3", "4", "inf", "raised"]


def test_functions_that_are_kept_nowhere_are_left_alone():
    @njit
    def one(x):
        return x + 1

    one(1)
    before = list(one.overloads.values())
    rekey([one], "new")
    assert list(one.overloads.values()) == before


def test_what_cannot_be_renewed_is_refused():
    @cfunc("float64(float64)")
    def one(x):
        return x

    with pytest.raises(SimstudyError, match=r"one is a CFunc.*cannot be made again.*cache=True"):
        rekey([one], "new")
