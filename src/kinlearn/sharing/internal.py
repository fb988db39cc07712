"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.sharing._families import CANDIDATES, Candidate

__all__ = [
    "CANDIDATES",
    "Candidate",
]
