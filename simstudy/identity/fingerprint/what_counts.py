"""What counts, and how: the lists that a maintainer keeps.

A library that is new to the field, a setting of a library that numbers depend on, a module of ours
that moves: whoever changes something here changes what a fingerprint says, and reads
`docs/guarantees.md` first.
"""

import re
from collections.abc import Callable
from typing import Any

# ---------------------------------------------------------------- modules of ours
SILENT = frozenset(
    f"simstudy.{name}"
    for name in (
        "lazy",
        "array_types",
        "data.read_audit",
        "data.sources",
        "engine.thread_warnings",
        "stats.compiled.kernel",
        "stats.compiled.machine_code",
        "stats.compiled.renew",
    )
)
"""On the way of a number, and no number depends on them."""

_RUNS = """
analysis atomic_files claims cli engine.allocation engine.assignment engine.backends
engine.declarations engine.drawing engine.exits engine.gathering engine.jobs engine.journal
engine.kinds engine.lasting engine.marks engine.meter engine.outcome engine.ownership
engine.portions engine.progress engine.quarantine engine.refusals engine.runner engine.shares
engine.tasks engine.threads engine.time_limits engine.warning engine.watch engine.workers figures
identity.fingerprint identity.source_files options output remote store.batches store.blocks
store.compaction store.disk store.failures store.fetched store.files store.guard store.header
store.home store.manifest store.moments store.naming store.objects store.owner store.places
store.remarks store.restart store.seconds store.texts store.turns store.volumes store.write study
testing
"""
RUNS = tuple(f"simstudy.{name}" for name in _RUNS.split())
"""What studies are run with: named by code that runs one, and followed by nobody."""


def is_ours(module: str) -> bool:
    """Whether a module is simstudy's own."""
    return module == "simstudy" or module.startswith("simstudy.")


def is_passed_over(module: str) -> bool:
    """Whether a module of ours is named and not followed."""
    return module in SILENT or module.startswith(RUNS)


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
"""Libraries that many hands check: their version says enough."""

DISTRIBUTIONS = {
    "PIL": "pillow",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "umap": "umap-learn",
    "yaml": "PyYAML",
}
"""Where a distribution is not named as what it installs."""

TORCH_AS_IT_COMES = ("torch.float32", True)


def _of_torch(torch: Any) -> object:
    """None as it comes, since it is loaded late: a process that has yet to has the same."""
    state = str(torch.get_default_dtype()), torch.is_grad_enabled()
    return None if state == TORCH_AS_IT_COMES else state


STATES: dict[str, Callable[[Any], object]] = {
    "decimal": lambda decimal: repr(decimal.getcontext()).partition(", flags=")[0],
    "mpmath": lambda mpmath: (mpmath.mp.prec, mpmath.mp.pretty),
    "numpy": lambda numpy: sorted(numpy.geterr().items()),
    "torch": _of_torch,
}
"""Settings of libraries that numbers depend on, where a program may change them; None does not
count."""

CHECKERS = frozenset({"jaxtyping", "beartype", "typeguard"})
"""Makers of wrappers around functions that compute nothing."""

CALLED_BY_CHECKERS = ("fn", "__beartype_func")
"""Names by which their wrappers hold the function that they call."""

GENERATED_TUPLES = "namedtuple_"
GENERATED = (GENERATED_TUPLES, "__mp_main__")
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
ENVIRONMENT = frozenset({"environ", "getenv", "expandvars"})
"""By what names code looks at it."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Variables that count for nobody, since the engine sets them: numbers of threads.

Not NUMBA_NUM_THREADS: numba keeps the number it is loaded with, and raises where the variable
changes later, so the caller's process could never have its threads back. Its pool is masked.
"""

# ---------------------------------------------------------------- sources and classes
_EFFECTS = "register implements overload intrinsic lower hook plugin accessor extension unbox"
HAS_EFFECTS = re.compile("|".join(_EFFECTS.split()))
"""Decorators that reach into a library, by their names."""

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
