"""What a scenario's numbers depend on: code as it is loaded, what it uses, and libraries.

Comments, formatting, docstrings, annotations, and what a scenario does not use (figures and claims
in the same file) do not count. `docs/guarantees.md` says what is followed, what counts whole, and
what cannot be seen.
"""

from simstudy.identity.fingerprint.differences import changes
from simstudy.identity.fingerprint.drift import learn_drift
from simstudy.identity.fingerprint.modules.libraries import library_version
from simstudy.identity.fingerprint.tracing import Fingerprint, Trace, fingerprint, trace

__all__ = [
    "Fingerprint",
    "Trace",
    "changes",
    "fingerprint",
    "learn_drift",
    "library_version",
    "trace",
]
