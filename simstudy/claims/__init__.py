"""Published numbers and statements, compared with the simulation."""

from simstudy.claims.claim import Claim as Claim
from simstudy.claims.claim import IntendedValue as IntendedValue
from simstudy.claims.claim import Uncheckable as Uncheckable
from simstudy.claims.claim import WrongValue as WrongValue
from simstudy.claims.statements import is_above as is_above
from simstudy.claims.statements import is_below as is_below
from simstudy.claims.statements import is_far as is_far
from simstudy.claims.statements import is_more as is_more
from simstudy.claims.statements import is_near as is_near
from simstudy.claims.statements import statement as statement
from simstudy.claims.verdict import FALSE_ALARM as FALSE_ALARM
from simstudy.claims.verdict import Finding as Finding
from simstudy.claims.verdict import average as average
from simstudy.claims.verdict import binomial_error as binomial_error
from simstudy.claims.verdict import cautious_binomial_error as cautious_binomial_error
from simstudy.claims.verdict import decide as decide
from simstudy.claims.verdict import matches as matches
from simstudy.claims.verdict import mc_limit as mc_limit
from simstudy.claims.verdict import mc_margin as mc_margin
from simstudy.claims.verdict import of_row as of_row
from simstudy.claims.verdict import share as share
from simstudy.claims.verdict import shares_match as shares_match
