"""Tables as people have them: one interface to arrays, sparse matrices and frames.

Nothing here knows what a task is, but for its column, which is left alone.
"""

from kinlearn.tables._encoder import TableEncoder

__all__ = ["TableEncoder"]
