"""A library of a few lines that adds with OpenMP, and a study that loads it in its first block."""

import ctypes
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from simstudy.design import Columns
from simstudy.engine import tasks
from simstudy.measures import mean
from simstudy.provenance.streams import Streams
from simstudy.study import Study

N_TERMS = 1000


# The limit as this module was imported: in a worker, before anything is loaded. It lies where a
# fingerprint does not look, since workers have another one.
setattr(sys, "limit_when_imported", os.environ.get("OMP_NUM_THREADS", ""))  # noqa: B010
SOURCE = r"""
#include <omp.h>
double total(const double *x, long n) {
    double sum = 0;
    #pragma omp parallel for reduction(+:sum) schedule(static)
    for (long i = 0; i < n; i++) sum += x[i];
    return sum;
}
int threads(void) { return omp_get_max_threads(); }
"""
STUBBORN = "__attribute__((constructor)) static void wake(void) { omp_set_num_threads(4); }\n"


def compiled(folder: Path, *, stubborn: bool = False) -> str:
    """The path of the library; a stubborn one has four threads whatever the environment says."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no gcc to compile a library with OpenMP")
    source, library = folder / "adds.c", folder / "adds.so"
    source.write_text(SOURCE + STUBBORN * stubborn)
    made = subprocess.run(
        [compiler, "-O1", "-fPIC", "-shared", "-fopenmp", str(source), "-o", str(library)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"gcc cannot compile for OpenMP here: {made.stderr[-200:]}")
    return str(library)


@dataclass(frozen=True)
class Sums:
    """Sums of random numbers by that library, whose last bits tell the number of threads."""

    library: str
    k: int = 0

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = streams("data").standard_normal((n_rep, N_TERMS))
        library = ctypes.CDLL(self.library)
        library.total.restype = ctypes.c_double
        n_terms = ctypes.c_long(N_TERMS)
        return {
            "total": np.array(
                [library.total(row.ctypes.data_as(ctypes.c_void_p), n_terms) for row in x]
            ),
            "threads": np.full(n_rep, library.threads()),
            "when_imported": np.full(n_rep, getattr(sys, "limit_when_imported", ""), dtype=object),
        }


def drawn(library: str, backend: str) -> dict[str, np.ndarray]:
    scenarios = [Sums(library), Sums(library, 1)]
    study = Study("sums", scenarios, measures=[mean("total", name="mean")], block_size=20)
    result = study.run(80, seed=5, backend=backend, n_jobs=2)
    columns = [result.columns(one, "total", "threads", "when_imported") for one in scenarios]
    return {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}


def main(library: str, backend: str, how: str = "") -> None:
    """Run in a process that has loaded nothing yet; say what was drawn, and what is left of it."""
    if "loaded" in how:  # before the run, by its user
        ctypes.CDLL(library).threads()
    if "unchecked" in how:
        tasks.limit_pools = list
    found = drawn(library, backend)
    print(found["total"].tobytes().hex())
    print(sorted(set(found["threads"].tolist())), set(found["when_imported"].tolist()))
    print(os.environ.get("OMP_NUM_THREADS"), ctypes.CDLL(library).threads())


if __name__ == "__main__":
    from tests import openmp  # under the name that workers know

    openmp.main(*sys.argv[1:])
