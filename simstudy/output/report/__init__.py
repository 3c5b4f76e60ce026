"""One self-contained HTML page per study, and an index of all studies."""

from simstudy.output.report.index_page import write_index as write_index
from simstudy.output.report.pages import write_report as write_report
