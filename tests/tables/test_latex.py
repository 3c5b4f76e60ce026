"""A table in LaTeX: ruled, captioned, to its error, and understood by LaTeX."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from simstudy.tables import Column, Table
from simstudy.tables.cells import PAGE_ROWS, latex_escaped

DOCUMENT = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,longtable}"


def rows_of(values, **columns):
    """The rows of a table of one column `x`, between its rules."""
    lines = Table(pd.DataFrame({"x": values, **columns}), "Some", {"x": how(columns)}).latex()
    return lines.split("\\midrule\n")[-1].split("\\bottomrule")[0].splitlines()


def how(columns):
    return Column(mcse="se") if "se" in columns else "x"


def test_a_table_is_ruled_captioned_and_labelled():
    frame = pd.DataFrame({"null": ["true", "false"], "n": [150, 399], "power": [0.0635123, np.nan],
                          "se": [0.0034123, np.nan]})  # fmt: skip
    shown = {"null": "null hypothesis", "power": Column("power", mcse="se")}
    assert Table(frame, "Power", shown, ["A note."]).latex("two stage:ü") == (
        "% \\usepackage{booktabs}\n"
        "\\begin{table}\n"
        "\\centering\n"
        "\\caption{Power}\n"
        "\\label{tab:two-stage:-}\n"
        "\\par\\smallskip\n"
        "\\begin{tabular}{@{}lrr@{}}\n"
        "\\toprule\n"
        "null hypothesis & n & power \\\\\n"
        "\\midrule\n"
        "true & 150 & 0.0635 (0.0034) \\\\\n"
        "false & 399 & – \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\par\\smallskip\n"
        "{\\footnotesize\\raggedright\\noindent A note.\\par}\n"
        "\\end{table}\n"
    )


def test_a_long_table_breaks_over_pages_and_says_what_it_needs():
    text = Table(pd.DataFrame({"x": range(PAGE_ROWS + 1)}), "Long").latex()
    assert text.startswith(r"% \usepackage{booktabs} \usepackage{longtable}")
    assert text.count(r"\toprule") == 2
    assert "longtable" not in Table(pd.DataFrame({"x": range(PAGE_ROWS)}), "Short").latex()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("50% & more_of {a} #1 $5", r"50\% \& more\_of \{a\} \#1 \$5"),
        (
            "\\ ~^ <b|",
            r"\textbackslash{} \textasciitilde{}\textasciicircum{} \textless{}b\textbar{}",
        ),
        ("Φ(k) − n₂ ≥ α²", r"$\Phi$(k) $-$ n\textsubscript{2} $\ge$ $\alpha$\textsuperscript{2}"),
        ("λ\x1b[0m é –", r"$\lambda$[0m é –"),
    ],
)
def test_no_letter_means_more_than_itself(text, said):
    assert latex_escaped(text) == said


def test_a_row_that_begins_with_a_bracket_is_no_argument_of_the_row_above():
    assert rows_of(["[0, 1]", "*"]) == [r"{}[0, 1] \\", r"{}* \\"]


def test_numbers_have_a_minus_and_powers_of_ten():
    assert rows_of([-0.5, np.inf, -np.inf, 1e-12]) == [
        r"$-$0.5 \\", r"$\infty$ \\", r"$-$$\infty$ \\",
        r"1 $\times$ 10\textsuperscript{-12} \\",
    ]  # fmt: skip
    assert rows_of([-12345.678], se=[1.2]) == [r"$-$12,345.7 (1.2) \\"]


ANYTHING = [
    "a--b ?` !` '' #%&_{}~^\\$<>|\"", "\\input{x}", "[1ex]", "*", "", "esc\x1b[31m nul\x00",
    "≤k ±f β₁² n₁₂ σ² √x k − l 10⁻³ Φ ΔΛ ∞", "½ Łódź ą é – — “a”",
]  # fmt: skip


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_latex_takes_any_table(tmp_path):
    said = " ".join(ANYTHING)
    frame = pd.DataFrame({"σ " + said: ANYTHING, "x": np.arange(len(ANYTHING)) / 7})
    tables = [
        Table(frame, said, notes=[said]).latex(said),
        Table(frame[:0], "None").latex(),
        Table(pd.DataFrame({"x": np.arange(200)}), said, notes=[said]).latex("long"),
    ]
    whole = [DOCUMENT, r"\begin{document}", *tables, r"\end{document}"]
    (tmp_path / "all.tex").write_text("\n".join(whole))
    command = ["pdflatex", "-interaction=nonstopmode", "all.tex"]
    told = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True)
    assert re.findall(r"^!.*", told.stdout.decode(errors="replace"), re.MULTILINE) == []
    assert (tmp_path / "all.pdf").exists()
