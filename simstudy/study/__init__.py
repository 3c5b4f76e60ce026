"""Studies: declaration and runs."""

from simstudy.design.plan import Rules as Rules
from simstudy.study.run_options import PILOT_REP as PILOT_REP
from simstudy.study.run_options import RunOptions as RunOptions
from simstudy.study.study import Study as Study
