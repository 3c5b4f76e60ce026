"""Figures of the applied trial: its power over hospitals, and in a single one."""

from __future__ import annotations

import numpy as np

from experiments._method_names import colors_of
from experiments.classifier_threshold.figures import LABELS, TIES, by_resamples
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import binomial_error
from simstudy.documents.scenarios.thresholds import TRIAL_METHODS
from simstudy.documents.stats.classifier_trial import upper_tail
from simstudy.figures import caption, captions, dots_plot, in_order, theme
from simstudy.lazy import ggplot, p9, pd

TRIAL_LABELS = {"true": "true threshold"} | LABELS
PUBLISHED = {"power": 0.835, "mean_trial_sensitivity": 0.964}
N_SIM = 1000  # replicates of the document
SD_SENSITIVITY = 0.028  # over test sets and trials, from our simulation
PUBLISHED_MCSE = {
    "power": float(binomial_error(PUBLISHED["power"], N_SIM)),
    "mean_trial_sensitivity": SD_SENSITIVITY / float(np.sqrt(N_SIM)),
}


def figure_power(result: Result) -> ggplot:
    """Power and mean sensitivity of the trial by the threshold's method."""
    scenario = result.plan.scenarios[0]
    aims = {"power": scenario.power, "mean_trial_sensitivity": scenario.sensitivity}
    said = pd.DataFrame({"measure": list(PUBLISHED), "estimate": list(PUBLISHED.values())})
    said = said.assign(mcse=list(PUBLISHED_MCSE.values()), method=LABELS["bca strict"])
    figure = dots_plot(
        by_resamples(result.summary, TRIAL_LABELS), measure=list(PUBLISHED), y="method",
        color="resamples", nominal=aims, published=said,
    )  # fmt: skip
    says = f"{scenario.n_trial} positive cases in the trial, {scenario.n_obs} in the test set."
    only = "Rows without a cross are not in the document."
    return figure + p9.labs(caption=caption(says, figure.labels.caption, only, TIES))


SHOWN = ("empirical", "percentile", "bca strict", "tolerance", "umbrella")
LINETYPES = ("solid", "dashed", "dashdot", "dotted", (0, (6, 1, 1, 1, 1, 1)))
KEY = "threshold (share with\nless than the power asked)"
COLORS = colors_of(LABELS[name] for name in SHOWN)


def figure_given_threshold(result: Result) -> ggplot:
    """The power of the trial in one hospital, given its threshold."""
    scenario = min(result.plan.scenarios, key=lambda trial: trial.n_boot)
    power = result.columns(scenario, "power_given_threshold")["power_given_threshold"]
    of = {method: power[:, TRIAL_METHODS.index(method)] for method in SHOWN}
    words = {m: f"{LABELS[m]} ({(of[m] < scenario.power).mean():.0%})" for m in SHOWN}
    curves = pd.concat(_share_below(values).assign(method=m) for m, values in of.items())
    curves["method"] = in_order(curves["method"], words)
    colors = {words[m]: color for m, color in zip(SHOWN, COLORS.values(), strict=True)}
    fixed = float(upper_tail(scenario.critical, scenario.n_trial, scenario.sensitivity))
    return (
        p9.ggplot(curves, p9.aes(x="power", y="share", color="method", fill="method"))
        + p9.geom_vline(xintercept=scenario.power, linetype="dashed", color=theme.MUTED)
        + p9.geom_vline(xintercept=fixed, color=theme.INK, linetype="dotted")
        + p9.geom_ribbon(p9.aes(ymin="lower", ymax="upper"), alpha=0.15, color="none",
                         show_legend=False)
        + p9.geom_line(p9.aes(linetype="method"), size=0.8)
        + p9.scale_linetype_manual(LINETYPES, name=KEY)
        + p9.scale_color_manual(colors, name=KEY)
        + p9.scale_fill_manual(colors, name=KEY)
        + p9.coord_cartesian(xlim=(0, 1), ylim=(0, 1))
        + p9.labs(
            x="power of the trial, given its threshold",
            y="share of test sets with less",
            caption=caption(
                f"{len(power):,} test sets of {scenario.n_obs}. {captions.BANDS} Upright, "
                "dashed: the power asked for; dotted: the exact power with the true threshold, "
                f"{fixed:.3f}.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(theme.FULL_WIDTH, 3.8), legend_position="right")
    )  # fmt: skip


def _share_below(power: Float[np.ndarray, " rep"]) -> pd.DataFrame:
    """The empirical distribution of one method's power, on a grid."""
    at = np.linspace(0, 1, 201)
    share = (power < at[:, None]).mean(axis=1)
    half = 2 * binomial_error(share, len(power))
    lower, upper = np.maximum(share - half, 0), np.minimum(share + half, 1)
    return pd.DataFrame({"power": at, "share": share, "lower": lower, "upper": upper})
