"""The lists that decide what counts in a fingerprint.

A library that is new to the field, a setting of a library that numbers depend on, a package of ours
that moves: whoever changes something here changes what a fingerprint says, and reads
`docs/guarantees_detail.md` first.
"""

import re
from collections.abc import Callable
from typing import Any

# ---------------------------------------------------------------- modules of ours
_PACKAGES = """
analysis atomic_files claims cli design engine external figures options output provenance remote
store study tables testing
"""
RUNS = frozenset(_PACKAGES.split())
"""Packages that run studies. They are not followed: a change in them that moves a number is
announced by `LAYOUT` in `simstudy/engine/provenance.py`."""

SILENT = frozenset(
    f"simstudy.{name}"
    for name in (
        "lazy", "array_types", "data.sources", "documents.stats.compiled.kernel",
        "documents.stats.compiled.machine_code",
    )
)  # fmt: skip
"""Modules that the code of a scenario uses, and no number depends on."""

FOLLOWED = frozenset({"simstudy.provenance.streams"})
"""Of the packages that run studies, the module that numbers do depend on."""


def is_ours(module: str) -> bool:
    """Whether a module is simstudy's own."""
    return module.split(".")[0] == "simstudy"


def is_passed_over(module: str) -> bool:
    """Whether a module of simstudy is not followed."""
    if not is_ours(module) or module in FOLLOWED:
        return False
    return module in SILENT or module.split(".")[1:2] in [[name] for name in RUNS]


COMPILES = re.compile(
    rb"^\s*(?:from|import)\s.*\b(?:numba|llvmlite|compiled\.kernel)\b", re.MULTILINE
)
"""Imports of a module with code to be compiled."""

TEACHES_NUMBA = re.compile(
    rb"^\s*(?:from|import)\s+(?:numba\.(?:core|extending|np)|llvmlite)\b", re.MULTILINE
)
"""Imports of a module that adds types or functions to numba: it counts completely."""

# ---------------------------------------------------------------- libraries
_NAMES = """
arch arviz beartype blackjax bokeh cloudpickle cupy cvxpy cython dask distributed einops equinox
flax formulaic h5py hydra hypothesis interpret ipykernel IPython jax jaxlib jaxtyping joblib keras
lifelines lightgbm linearmodels llvmlite matplotlib mizani mpmath networkx numba numexpr numpy
numpyro omegaconf optax optuna pandas patsy PIL plotnine polars psutil py pyarrow pydantic pymc
pytensor pytest rich scipy seaborn shap skimage sklearn statsmodels submitit sympy tensorflow
tensorflow_probability threadpoolctl torch torchvision tqdm transformers typeguard typing_extensions
umap xarray xgboost yaml zarr
"""
WELL_KNOWN = frozenset(_NAMES.split())
"""Libraries that count by version alone."""

DISTRIBUTIONS = {
    "PIL": "pillow",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "umap": "umap-learn",
    "yaml": "PyYAML",
}
"""Distributions that are not named as what they install."""


def _settings_of_torch(torch: Any) -> object:
    """Torch's settings; None for the defaults, since torch may not be loaded yet."""
    state = str(torch.get_default_dtype()), torch.is_grad_enabled()
    return None if state == ("torch.float32", True) else state


STATES: dict[str, Callable[[Any], object]] = {
    "decimal": lambda decimal: repr(decimal.getcontext()).partition(", flags=")[0],
    "mpmath": lambda mpmath: (mpmath.mp.prec, mpmath.mp.pretty),
    "numpy": lambda numpy: (
        [n for n, how in sorted(numpy.geterr().items()) if how == "raise"] or None
    ),
    "torch": _settings_of_torch,
}
"""Settings of libraries that numbers depend on, where a program may change them; None does not
count."""

CHECKERS = frozenset({"jaxtyping", "beartype", "typeguard"})
"""Libraries that wrap functions to check types."""

CALLED_BY_CHECKERS = ("fn", "__beartype_func")
"""Names by which such wrappers hold the function that they call."""

GENERATED = ("namedtuple_", "__mp_main__")
"""How names of modules begin that no file defines."""

# ---------------------------------------------------------------- names that are looked up by text
UNFOLLOWED_BUILTINS = frozenset({"globals", "eval", "exec", "__import__", "compile"})
_LOOK_UPS = """
import_module __subclasses__ __globals__ __builtins__ spec_from_file_location exec_module
load_module run_path run_module iter_modules find_loader _getframe currentframe f_globals f_locals
dmatrix dmatrices model_matrix from_formula get_type_hints get_annotations __annotations__
__orig_bases__
"""
UNFOLLOWED_ATTRIBUTES = frozenset(_LOOK_UPS.split())
BY_TEXT = frozenset({"eval", "query"})  # of a frame: its text may name variables, with an @

# ---------------------------------------------------------------- the environment
NO_GENERATORS = frozenset({"Generator", "BitGenerator", "SeedSequence"})
"""Of `numpy.random`, what code names for types and seeds, and draws nothing."""

ENVIRONMENT = frozenset({"environ", "getenv", "expandvars"})
"""Names by which code reads environment variables."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Variables that do not count, since the engine sets them: numbers of threads.

Not NUMBA_NUM_THREADS: numba keeps the number it is loaded with, and raises where the variable
changes later, so the caller's process could never have its threads back. Its pool is masked.
"""

# ---------------------------------------------------------------- files and classes
READERS = (
    "read_csv", "read_parquet", "read_feather", "read_excel", "read_table", "read_json", "loadtxt",
    "genfromtxt", "fromfile", "memmap", "read_text", "read_bytes",
)  # fmt: skip
"""Functions that read files, by name."""

_PYTHONS = """
__module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ __match_args__ __orig_bases__
__abstractmethods__ _abc_impl __parameters__ __firstlineno__ __replace__ __static_attributes__
__annotate__ __annotate_func__ __annotations_cache__ __classdictcell__ __dataclass_fields__
__dataclass_params__ _is_protocol __non_callable_proto_members__ __protocol_attrs__
__subclasshook__ __slotnames__ _member_map_ _member_names_ _value2member_map_ _hashable_values_
_unhashable_values_ _unhashable_values_map_ _use_args_ _value_repr_ _member_type_ _new_member_
"""
MADE_BY_PYTHON = frozenset(_PYTHONS.split())
"""Members of a class that follow from the others."""
