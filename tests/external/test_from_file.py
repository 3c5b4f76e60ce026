"""What a file's labels and gaps mean.

`test_read_table.py` tests how files are read.
"""

import numpy as np

from simstudy.external.from_frame import from_file


def test_words_for_nothing_are_levels_where_one_is_to_stand(tmp_path):
    """Data may be missing in no way at all, and the methods' names may be numbers of a register."""
    rows = [
        f"{missing},{n},{method},{number}"
        for missing in ("None", "MCAR")
        for n in range(3)
        for method, number in (("01", 0.5 + n), ("001", "None" if n == 2 else n))
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["missing,set,method,b", *rows]))
    asked = {"estimate": "b", "method": "method", "rep": "set", "by": ["missing"], "truth": 0.0}
    found = from_file(tmp_path / "rows.csv", **asked)
    assert found.row("bias", missing="None", method="01")["estimate"] == 1.5
    assert found.row("bias", missing="MCAR", method="001")["n_failed"] == 1


def test_semicolons_come_with_commas_in_numbers_and_gaps(tmp_path):
    (tmp_path / "rows.csv").write_text("b;n\n0,5;1\nNA;2\n1,25;3\n.;4\n")
    rows = from_file(tmp_path / "rows.csv", estimate="b", truth=0).replicates
    np.testing.assert_array_equal(rows["b"], [0.5, np.nan, 1.25, np.nan])
