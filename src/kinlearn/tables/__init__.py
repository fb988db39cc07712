"""Tables as people have them: one interface to arrays, sparse matrices and frames.

Nothing here knows what a task is, but for its column, which is left alone.
"""

from kinlearn.tables._encoder import TableEncoder
from kinlearn.tables._meanings import find_meanings, unreadable_cells
from kinlearn.tables._suspects import Suspect, find_suspects

__all__ = [
    "Suspect",
    "TableEncoder",
    "find_meanings",
    "find_suspects",
    "unreadable_cells",
]
