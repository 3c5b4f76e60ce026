"""What a document states, against what our simulation says."""

from simstudy.claims.chance import CLOSE_Z as CLOSE_Z
from simstudy.claims.chance import FALSE_ALARM as FALSE_ALARM
from simstudy.claims.chance import chance_limit as chance_limit
from simstudy.claims.chance import chance_reach as chance_reach
from simstudy.claims.chance import decided as decided
from simstudy.claims.chance import matches as matches
from simstudy.claims.chance import shares_match as shares_match
from simstudy.claims.chance import shares_reach as shares_reach
from simstudy.claims.claim import Claim as Claim
from simstudy.claims.claim import Rival as Rival
from simstudy.claims.reproduced import Reproduced as Reproduced
from simstudy.claims.reproduced import average as average
from simstudy.claims.reproduced import binomial_error as binomial_error
from simstudy.claims.reproduced import cautious_binomial_error as cautious_binomial_error
from simstudy.claims.reproduced import of_row as of_row
from simstudy.claims.reproduced import share as share
from simstudy.claims.table import BROKEN as BROKEN
from simstudy.claims.table import check_claims as check_claims
from simstudy.claims.table import shown_beside as shown_beside
from simstudy.claims.verdicts import AS_EXPECTED as AS_EXPECTED
from simstudy.claims.verdicts import DIFFERS as DIFFERS
from simstudy.claims.verdicts import NO_DATA as NO_DATA
from simstudy.claims.verdicts import REPRODUCED as REPRODUCED
from simstudy.claims.verdicts import TOO_FEW as TOO_FEW
from simstudy.claims.verdicts import VERDICTS as VERDICTS
from simstudy.claims.verdicts import against_expectation as against_expectation
