import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from simstudy.errors import TableError
from simstudy.tables import Column, Table, save_table
from simstudy.tables.table import PAGE_ROWS, latex_escaped

FRAME = pd.DataFrame(
    {
        "null": ["true", "false"],
        "n": [150, 399],
        "power": [0.06351234567890123, np.nan],
        "power_mcse": [0.0034123, np.nan],
        "published": [0.06, np.nan],
    }
)
HOW = {
    "null": "null hypothesis",
    "power": Column("power", mcse="power_mcse"),
    "published": Column("published", decimals=2),
}


def table(frame=FRAME, columns=HOW, **other):
    return Table(frame, "Power, by truth", columns, **other)


def test_the_csv_has_every_digit_and_the_errors_in_columns_of_their_own_after_their_numbers():
    moved = FRAME[["power_mcse", "null", "n", "power", "published"]]
    head, first, second = table(moved).csv().splitlines()
    assert head == "null,n,power,power_mcse,published"
    assert [float(cell) for cell in first.split(",")[1:]] == FRAME.iloc[0, 1:].tolist()
    assert second == "false,399,,,"
    shared = Column(mcse="power_mcse")  # of two columns, which is one in the file
    frame = FRAME[["power", "published", "power_mcse"]]
    text = table(frame, {"power": shared, "published": shared}).csv()
    assert text.splitlines()[0] == "power,power_mcse,published"


def test_markdown_is_rounded_to_the_error():
    assert table(notes=["In parentheses: MCSE."]).markdown() == (
        "Power, by truth\n\n"
        "| null hypothesis |   n |           power | published |\n"
        "| --------------- | --: | --------------: | --------: |\n"
        "| true            | 150 | 0.0635 (0.0034) |      0.06 |\n"
        "| false           | 399 |               – |         – |\n\n"
        "In parentheses: MCSE.\n"
    )


def test_percentages_are_headed_so_and_are_proportions_in_the_csv():
    frame = pd.DataFrame({"share": [0.0635, 0.29], "share_mcse": [0.0034, 0.0]})
    shown = table(frame, {"share": Column("share", mcse="share_mcse", percent=True)})
    assert "share, %" in shown.markdown()
    assert "6.35 (0.34)" in shown.markdown()
    assert "29 (0)" in shown.markdown()  # as a double 100 times 0.29 is less
    assert "0.0635,0.0034" in shown.csv()


def test_no_letter_means_more_than_itself_in_markdown_and_a_line_break_ends_no_row():
    odd = "50% & more_of {a|b} <c> #1 \\ ~^ $5 *x*\n[y]"
    made = table(pd.DataFrame({"x": [odd]}), {})
    text = made.markdown().splitlines()[-1]
    assert text == (r"| 50% \& more\_of {a\|b} \<c\> \#1 \\ \~^ \$5 \*x\* \[y\] |")
    assert r"*x* [y] \\" in made.latex()


def test_words_truth_values_and_what_is_missing():
    frame = pd.DataFrame({"x": [True, None], "y": ["a", None], "z": pd.array([1, None], "Int64")})
    assert table(frame, {}).markdown().splitlines()[4:6] == [
        "| yes | a   |   1 |",
        "| –   | –   |   – |",
    ]


def test_a_lone_surrogate_is_written_as_its_escape():
    text = table(pd.DataFrame({"x": ["a\ud800"]}, dtype=object), {})
    for form in (text.csv(), text.markdown(), text.latex()):
        form.encode()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: table(columns={"powr": "x"}), r"has no column 'powr'; did you mean 'power'\?"),
        (lambda: table(columns={"power": Column(mcse="se")}), "has no column 'se'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make, said):
    with pytest.raises(TableError, match=said):
        make()


def test_a_value_with_words_is_shown_as_these_and_its_column_is_one_of_numbers_still():
    frame = pd.DataFrame({"n_boot": [0, 1000]})
    made = table(frame, {"n_boot": Column(words={0: "∞"})})
    assert made.markdown().splitlines()[2:6] == [
        "| n boot |",
        "| -----: |",
        "|      ∞ |",
        "|  1,000 |",
    ]
    assert r"$\infty$ \\" in made.latex()
    assert made.csv() == "n_boot\n0\n1000\n"


def test_a_terminal_shows_every_letter_as_it_is():
    frame = pd.DataFrame({"n_obs": ["a_b *c*"], "x": [0.0635], "se": [0.0034]})
    shown = str(Table(frame, "Of n_obs", {"n_obs": "n_obs", "x": Column(mcse="se")}, ["In (): x."]))
    assert shown.splitlines() == [
        "Of n_obs", "", f"{'n_obs':9}{'x':>15}", "-------  ---------------",
        "a_b *c*  0.0635 (0.0034)", "", "In (): x.",
    ]  # fmt: skip


DOCUMENT = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,longtable}"


def rows_of(values, **columns):
    """The rows of a table of one column `x`, between its rules."""
    how = Column(mcse="se") if "se" in columns else "x"
    lines = Table(pd.DataFrame({"x": values, **columns}), "Some", {"x": how}).latex()
    return lines.split("\\midrule\n")[-1].split("\\bottomrule")[0].splitlines()


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


TABLE = Table(pd.DataFrame({"x": [0.5], "se": [0.1]}), "One row", {"x": Column(mcse="se")})


def test_three_forms_and_nothing_else(tmp_path):
    saved = save_table(TABLE, tmp_path / "tables", "one")
    assert {*saved} == {*(tmp_path / "tables").iterdir()}
    forms = [TABLE.csv(), TABLE.markdown(), TABLE.latex("one")]
    assert [path.read_text() for path in saved] == forms


def test_warnings_that_differ_in_their_numbers_are_one_note():
    """A reader wants the range, not a paragraph for each number."""
    texts = ["one carries 71% of 1,000.", "", "one carries 8.5% of 1,000.", "few are skew"]
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "w": [text.rstrip(".") for text in texts]})
    table = Table(frame, "Doubts", {"x": Column("x", warning="w")})
    assert table.grid.notes == (
        "† x (2): one carries 8.5 to 71% of 1,000.",
        "† x (1): few are skew.",
    )
