"""Tables of replicates, as other software writes them."""

import numpy as np
import pandas as pd

COLUMNS = {"estimate": "b", "se": "se", "method": "method", "rep": "dataset", "by": ["dgm"]}
TRUTH = 0.5


def long_table() -> pd.DataFrame:
    """Two methods in two cells of unequal size, in which one fails once and lacks some rows."""
    rng = np.random.default_rng(1)
    rows = [
        {"dgm": dgm, "dataset": i + 1, "method": method, "b": TRUTH + shared + own, "se": 0.3}
        for dgm, n_rep in (("normal", 60), ("skewed", 40))
        for i in range(n_rep)
        for shared in [0.25 * rng.normal()]
        for method, own in zip(("old", "new"), 0.1 * rng.normal(size=2), strict=True)
    ]
    table = pd.DataFrame(rows)
    table["se"] += 0.05 * rng.random(len(table))
    table.loc[(table["dgm"] == "normal") & (table["method"] == "new") & (table["dataset"] == 3),
              ["b", "se"]] = np.nan  # fmt: skip
    lacking = (table["method"] == "new") & (table["dgm"] == "skewed") & (table["dataset"] > 35)
    return table[~lacking].reset_index(drop=True)
