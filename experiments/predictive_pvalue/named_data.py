"""Data sets for prediction, by name or from a file: features, and the response as last column.

A data set is identified by its numbers, in the order of the rows, not by its file or the names of
its columns. The same table from another source, or in another layout, is therefore the same
scenario with the same random streams.

The Boston housing data (Harrison & Rubinfeld 1978, as in Belsley, Kuh & Welsch 1980, with the
errors of that copy) are included only to reproduce published analyses. Their column `b` is a
function of the share of Black residents, based on the assumption that segregation raises the value
of houses; scikit-learn removed the data for this reason. Values of houses are censored at 50, and
some tracts are misplaced. Gilley & Pace (1996, J. Environ. Econ. Manage. 31, 403-405) list
corrections, which neither published analyses nor this copy use.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from simstudy.array_types import Float
from simstudy.data.parts import Data
from simstudy.errors import ConfigError, NotHereError, nearest
from simstudy.lazy import pd
from simstudy.read_table import read_table

BOSTON = Path(__file__).with_name("boston_house_prices.csv")
Table = Float[np.ndarray, "row column"]

OTHERS = "data=boston, data=friedman and data=path/to.csv target=COLUMN"


def regression_data(named: str, target: str | None = None) -> Data:
    """Load a data set as an array: a row for each observation, the response in the last column.

    Parameters
    ----------
    named
        `boston`, `diabetes`, or the path of a table (`.csv` or `.parquet`, compressed or not).
    target
        Column of a file that is to be predicted; all others are features.

    Returns
    -------
    Data
        The data, an array (obs, feature + 1).

    Raises
    ------
    NotHereError
        If the data are not available on this machine.
    ConfigError
        If the file is not a table of numbers, or the target is not in it.
    """
    if named in NAMED:
        if target is not None:
            raise ConfigError(
                f"target={target}: {named} has its own response, so another one would be other "
                "data under its name. Leave target out, or give a file as data=path/to.csv."
            )
        return Data.from_array(NAMED[named](), name=named)
    path = Path(named)
    if not path.suffix:
        raise ConfigError(
            f"data={named} is neither a data set known by name ({', '.join([*NAMED, 'friedman'])}) "
            "nor a file with an ending, so there is nothing to read. Give a name, or "
            "data=path/to.csv with target=COLUMN."
        )
    return Data.from_array(_from_file(path, target), name=path.name.split(".")[0])


# ---------------------------------------------------------------- files
def _from_file(path: Path, target: str | None) -> Table:
    if not path.is_file():
        raise NotHereError(
            f"data={path} is not there, so there is nothing to predict. Give the path of a table "
            f"from the folder that the run starts in; {OTHERS} are the other choices."
        )
    frame = read_table(path)
    return _numbers(frame, path, _checked_target(frame, path, target))


def _checked_target(frame: "pd.DataFrame", path: Path, target: str | None) -> str:
    columns = list(map(str, frame.columns))
    if target not in columns or len(columns) < 2:
        said = "target is not given" if target is None else f"target={target}"
        raise ConfigError(
            f"{said}, and of {path.name} one column has to be the response and the others "
            f"features; {nearest(target or '', columns)}"
        )
    return target


def _numbers(frame: "pd.DataFrame", path: Path, target: str) -> Table:
    """All columns as floats, the target last."""
    ordered = frame[[*(name for name in frame.columns if name != target), target]]
    texts = [str(name) for name in ordered if not pd.api.types.is_numeric_dtype(ordered[name])]
    if texts:
        raise ConfigError(
            f"columns {', '.join(texts)} of {path.name} hold no numbers, and a network takes "
            "nothing else. Code them as numbers, or leave them out of the file."
        )
    table = ordered.to_numpy(dtype=float, na_value=np.nan)
    n_missing = int((~np.isfinite(table)).any(axis=1).sum())
    if n_missing:
        raise ConfigError(
            f"{n_missing} of {len(table)} rows of {path.name} have missing or infinite values, "
            "from which nothing can be predicted. Drop or fill them before."
        )
    return table


# ---------------------------------------------------------------- by name
def diabetes() -> Table:
    """Load disease progression of 442 patients and ten measurements, from scikit-learn.

    Returns
    -------
    Table
        The data, an array (442, 11), the response in the last column.

    Raises
    ------
    NotHereError
        If scikit-learn is not installed.

    References
    ----------
    Efron, Hastie, Johnstone & Tibshirani (2004), Ann. Statist. 32, 407-499.
    """
    try:
        from sklearn.datasets import load_diabetes
    except ImportError:
        raise NotHereError(
            "data=diabetes comes with scikit-learn, which is not installed. Install it with "
            "pip install 'simstudy[models]', or choose data=friedman, which needs nothing."
        ) from None
    found = load_diabetes(scaled=False)
    return np.column_stack([found.data, found.target]).astype(float)


def boston() -> Table:
    """Load median values of houses in 506 tracts and 13 features, from the file beside this module.

    Returns
    -------
    Table
        Array of shape (506, 14): the columns of the file in order, with the median value (`medv`,
        in thousands of dollars, censored at 50) last.

    References
    ----------
    Harrison & Rubinfeld (1978), J. Environ. Econ. Manage. 5, 81-102.
    """
    return np.loadtxt(BOSTON, delimiter=",", skiprows=1, quotechar='"')


NAMED: dict[str, Callable[[], Table]] = {"boston": boston, "diabetes": diabetes}
"""Data sets that are known by a name."""
