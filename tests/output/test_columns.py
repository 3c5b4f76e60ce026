"""Figures and tables for the columns of a journal are outputs of their run."""

from simstudy.output.folder import publish
from simstudy.output.origin import is_current
from tests.output.standing import CONFIG, FILE, SOUND, study

COLUMNS = {"single": 3.5}


def test_pdfs_and_tables_for_columns_are_outputs_of_their_run(tmp_path):
    publish(study(figures=SOUND).run(60, out=tmp_path), config=CONFIG, module_file=FILE,
            columns=COLUMNS)  # fmt: skip
    result = study(figures=SOUND).run(60, out=tmp_path)
    folder, asked = result.folder, {"figures": True, "report": True}
    assert is_current(result, CONFIG, FILE, **asked, columns=COLUMNS)
    assert is_current(result, CONFIG, FILE, **asked)
    assert not is_current(result, CONFIG, FILE, **asked, columns={"single": 3.4})
    assert "figures/single/1.pdf" in (folder / "report.html").read_text()
    table = folder / "tables" / "single" / "summary.tex"
    assert table.read_text() == result.table("summary").latex("toy:summary", width=3.5)
    publish(result, config=CONFIG, module_file=FILE, figures=False)
    assert table.exists(), "figures for columns stay, and so do tables"
    table.unlink()
    assert not is_current(result, CONFIG, FILE, **asked, columns=COLUMNS)
    publish(result, config=CONFIG, module_file=FILE)
    assert not [*folder.rglob("*.pdf"), *folder.rglob("single/*")]
