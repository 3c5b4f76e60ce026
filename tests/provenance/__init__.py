from simstudy.provenance.fingerprint import Fingerprint, trace


def fingerprint(parts) -> Fingerprint:
    """Of the code of some classes, functions or scenarios."""
    return trace([parts])[0].fingerprint
