"""A file of tasks is answered as its table is."""

import hashlib

import pandas as pd
import pytest

from simstudy.applied import threshold_table
from simstudy.applied.settings import ThresholdSettings
from simstudy.applied.task_files import answer_tasks
from simstudy.errors import DesignError

TEXT = "task,metric,sigma,n,theta\nmmlu,accuracy,50,512,\nwiki,perplexity,0.3,,0.05\n"


def test_a_file_is_answered_as_its_table_is(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text(TEXT)
    answered = answer_tasks(path, ThresholdSettings(beta=0.1))
    pd.testing.assert_frame_equal(answered.table, threshold_table(pd.read_csv(path), beta=0.1))
    assert answered.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()


def test_a_row_is_named_by_its_line(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text(TEXT.replace("0.3", "-0.3"))
    with pytest.raises(DesignError, match=r"tasks.csv, line 3 \(wiki\): sigma=-0.3 is not"):
        answer_tasks(path, ThresholdSettings())
