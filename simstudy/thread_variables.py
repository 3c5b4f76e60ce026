"""Environment variables by which libraries are told their number of threads; the engine sets them.

Not NUMBA_NUM_THREADS: numba keeps the number it is loaded with, and raises where the variable
changes later, so the caller's process could never have its threads back. Its pool is masked.
"""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
