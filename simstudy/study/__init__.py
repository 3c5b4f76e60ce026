"""A study: what an experiment declares, and how it is run."""

from simstudy.study.pilot import PILOT_REP as PILOT_REP
from simstudy.study.study import Study as Study
