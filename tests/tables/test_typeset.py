"""Published tables go through LaTeX without a complaint, and fit the width of a page."""

import re
import shutil
import subprocess

import pytest

from tests.support import ROOT

TABLES = sorted(ROOT.glob("results/*/tables/*.tex"))
PAGE = r"\documentclass[11pt]{article}\usepackage[margin=1in]{geometry}"
COMPLAINT = re.compile(r"^(?:!|Overfull|LaTeX Warning: (?!Label|There were)).*", re.MULTILINE)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_tables_fit_a_page(tmp_path):
    asked = {line for path in TABLES for line in path.read_text().splitlines()[:1]}
    packages = sorted({name for line in asked for name in re.findall(r"\\usepackage\{\w+\}", line)})
    body = [rf"\input{{{path}}}\clearpage" for path in TABLES]
    lines = [PAGE, *packages, r"\begin{document}", *body, r"\end{document}"]
    (tmp_path / "all.tex").write_text("\n".join(lines))
    command = ["pdflatex", "-interaction=nonstopmode", "all.tex"]
    for _ in range(2):  # long tables learn their columns' widths in the first
        told = subprocess.run(
            command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
        )
    assert COMPLAINT.findall(told.stdout.decode(errors="replace")) == []
