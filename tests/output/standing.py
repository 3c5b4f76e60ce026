"""A small study whose results stand in a folder, with figures that draw and others that fail."""

import json

from matplotlib.figure import Figure

from simstudy.claims import Claim, Finding
from simstudy.errors import FigureError
from simstudy.measures import bias, coverage
from simstudy.output import manifest
from simstudy.output.folder import publish
from simstudy.provenance.modules import sources_digest
from simstudy.study import Study
from tests.factories import INTERVALS, mean_study

FILE = __file__  # of the experiment, as it is published
CONFIG = {"experiment": "toy", "n_obs": [3, 10]}


def plain_figure(result):
    figure = Figure(figsize=(2, 2))
    figure.add_subplot().plot(result.summary["estimate"].dropna())
    return figure


def needs_more(result):
    raise LookupError("n_obs = 99")


def would_hide(result):
    raise FigureError("3 points would be\n  drawn over others")


def breaks(result):
    raise ZeroDivisionError("a defect")


def study(n_obs=(3, 10), figures=None):
    return Study(
        name="toy",
        scenarios=mean_study(n_obs).scenarios,
        measures=[bias("estimate", truth="truth"), coverage("lower", "upper", truth="truth")],
        axes={"method": INTERVALS},
        block_size=50,
        figures=figures or {"1": plain_figure, "2": needs_more, "3": would_hide, "4": breaks},
        claims=[Claim("c", "Coverage is 95%", "table 1", lambda r: Finding(0.95), published=0.95)],
    )


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


SOUND = {"1": plain_figure, "2": needs_more, "3": would_hide}


def is_current(result, config, file, *, figures, report):
    sources = sources_digest(file)
    inputs = manifest.inputs_of(result, result.folder, config, file, sources)
    asked = {"figures": figures, "report": report, "pdf": False}
    return manifest.is_current(result, result.folder, inputs, asked)


def current(tmp_path, *, config=CONFIG, n_rep=60, seed=1, file=FILE, figures=True, report=True):
    result = study(figures=SOUND).run(n_rep, seed, out=tmp_path)
    return is_current(result, config, file, figures=figures, report=report)


def longer(tmp_path, **how):
    result = study(figures=SOUND).run(110, out=tmp_path)
    return result, publish(result, config=CONFIG, module_file=FILE, **how)
