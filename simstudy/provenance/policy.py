"""The lists that decide which code, libraries and settings count in a fingerprint.

Edit them for a new library in the field, for a setting of a library that numbers depend on, or if a
package of simstudy moves. Every change here changes fingerprints: read `docs/guarantees.md`
first.
"""

import re

# ---------------------------------------------------------------- modules of simstudy
_PACKAGES = """
analysis claims cli design engine external figures options output places provenance store study
tables testing
"""
RUNS = frozenset(_PACKAGES.split())
"""Packages that run studies. They do not count: a change in them that moves a number must increase
`LAYOUT` in `simstudy/engine/provenance.py`."""

SILENT = frozenset(f"simstudy.{name}" for name in ("lazy", "array_types", "data.sources"))
"""Modules that scenarios use, but no number depends on."""

FOLLOWED = frozenset({"simstudy.provenance.streams"})
"""Modules in `RUNS` that numbers do depend on."""


def is_ours(module: str) -> bool:
    """Whether a module belongs to simstudy."""
    return module.split(".")[0] == "simstudy"


def is_passed_over(module: str) -> bool:
    """Whether a module is one of simstudy that does not count."""
    runs = module in SILENT or not RUNS.isdisjoint(module.split(".")[1:2])
    return is_ours(module) and module not in FOLLOWED and runs


TEACHES_NUMBA = re.compile(
    r"^\s*(?:from|import)\s+(?:numba\.(?:core|extending|np)|llvmlite)\b", re.MULTILINE
)
"""Import statements of a module that adds types or functions to numba: it counts as a whole."""

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
"""Distributions by package, if their names differ."""


SETTERS = re.compile(
    r"^(?!set_(?:printoptions|option)$)(?:set|simplefilter|filterwarnings|seed|config|register|"
    r"enable|disable|update|reset|use)"
)
"""Names of functions that set or register something, if a module calls them at its top."""

SETS_NO_NUMBER = frozenset({"matplotlib", "seaborn", "plotnine", "bokeh", "logging", "builtins"})
"""Libraries that a module may call or set at its top without an effect on numbers."""

GENERATED = ("namedtuple_", "__mp_main__")
"""Beginnings of the names of modules without a file."""

# ---------------------------------------------------------------- names that are looked up by text
UNFOLLOWED_BUILTINS = frozenset({"globals", "eval", "exec", "__import__", "compile"})
_DYNAMIC_NAMES = """
import_module __subclasses__ __globals__ __builtins__ spec_from_file_location exec_module
load_module run_path run_module iter_modules find_loader _getframe currentframe f_globals f_locals
dmatrix dmatrices model_matrix from_formula get_type_hints get_annotations __annotations__
__orig_bases__ __doc__ getdoc getsource annotation entry_points
"""
UNFOLLOWED_ATTRIBUTES = frozenset(_DYNAMIC_NAMES.split())
"""Names in code that looks up names, modules, docstrings or annotations by text."""

QUERY_METHODS = frozenset({"eval", "query"})
"""Methods of a pandas frame whose text may name variables, with an @."""

# ---------------------------------------------------------------- the environment
ENVIRONMENT = frozenset({"environ", "getenv", "expandvars"})
"""Names in code that reads environment variables."""

_THREADS = """
OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS BLIS_NUM_THREADS VECLIB_MAXIMUM_THREADS
NUMEXPR_NUM_THREADS
"""
THREAD_VARIABLES = tuple(_THREADS.split())
"""Variables for numbers of threads. They do not count, since the engine sets them.

NUMBA_NUM_THREADS is left out: numba keeps the number it was loaded with and raises if the variable
changes later, so the caller's process could not get its threads back. The engine limits numba's
pool instead.
"""

# ---------------------------------------------------------------- classes
_PYTHONS = """
__module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ __match_args__ __orig_bases__
__abstractmethods__ _abc_impl __parameters__ __firstlineno__ __replace__ __static_attributes__
__annotate__ __annotate_func__ __annotations_cache__ __classdictcell__ __dataclass_fields__
__dataclass_params__ _is_protocol __non_callable_proto_members__ __protocol_attrs__
__subclasshook__ __slotnames__ _member_map_ _member_names_ _value2member_map_ _hashable_values_
_unhashable_values_ _unhashable_values_map_ _use_args_ _value_repr_ _member_type_ _new_member_
"""
MADE_BY_PYTHON = frozenset(_PYTHONS.split())
"""Members of a class that Python derives from the others."""

BY_TEXT = frozenset({"getattr", "attrgetter", "getmembers", "vars", "dir", "__getattribute__"})
"""Names in code that may read any attribute of an object, by a text."""
