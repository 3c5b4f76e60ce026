"""Does a vectorised Cox model give what R's coxph gives?

Aims         Check code of one's own against the software that everybody uses, replicate by
             replicate, and see what each costs.
Data         The patients of survival.py, whose baseline hazard rises.
Estimands    The log hazard ratio, -0.5.
Methods      Cox regression of survival.py, for a whole block at once; `survival::coxph` of R,
             which gets the same block as CSV and fits its replicates one by one.
Performance  Bias, empirical SE, mean of the model SE; the largest difference of the two.
"""

import io
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from survival import Patients, cox

from simstudy import Study, grid, measures

COXPH = """
suppressMessages(library(survival))
folder <- commandArgs(trailingOnly = TRUE)[1]
block <- function(name) as.matrix(read.csv(file.path(folder, name), header = FALSE))
time <- block("time"); died <- block("died"); treated <- block("treated")
failed <- function(e) data.frame(estimate = NA, se = NA, error = conditionMessage(e))
one <- function(i) tryCatch({
  fit <- coxph(Surv(time[i, ], died[i, ]) ~ treated[i, ], eps = 1e-11)
  data.frame(estimate = unname(coef(fit)), se = sqrt(vcov(fit)[1]), error = "")
}, error = failed, warning = failed)
write.csv(do.call(rbind, lapply(seq_len(nrow(time)), one)), row.names = FALSE)
"""


def coxph(time, died, treated):
    """A block is one call of R, since starting R takes longer than some hundred fits."""
    with tempfile.TemporaryDirectory() as folder:
        for name, values in {"time": time, "died": died, "treated": treated}.items():
            np.savetxt(Path(folder, name), values, delimiter=",", fmt="%.17g")
        Path(folder, "coxph.R").write_text(COXPH, encoding="utf-8")
        command = ["Rscript", "--vanilla", str(Path(folder, "coxph.R")), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Rscript: {done.stderr.strip()}")
    fits = pd.read_csv(io.StringIO(done.stdout), dtype={"error": object}).replace({np.nan: None})
    error = fits.pop("error").to_numpy(object)
    return {name: fits[name].to_numpy(float) for name in fits} | {"error": error}


study = Study(
    name="survival_in_r",
    scenarios=grid(Patients, shape=1.5),
    methods={"Cox": cox, "coxph": coxph},
    measures=[
        measures.bias("estimate", truth="log_hazard_ratio"),
        measures.empirical_se("estimate"),
        measures.mean("se", name="model_se"),
    ],
    block_size=100,
    n_rep=500,
)

if __name__ == "__main__":
    result = study.run(out="results")
    ours, theirs = (result.values("estimate", method=name) for name in study.methods)
    print(result.table("summary"), f"\nLargest difference: {np.nanmax(abs(ours - theirs)):.1g}")
    print(result.seconds.to_string(index=False))
