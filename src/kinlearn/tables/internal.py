"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.tables._categories import CategoryColumn
from kinlearn.tables._columns import append_column, find_column
from kinlearn.tables._containers import AnyTable, FrameTable, open_table
from kinlearn.tables._meanings import warn_of_unused
from kinlearn.tables._suited import CODES, NUMBERS, comes_from, encoding_for

__all__ = [
    "CODES",
    "NUMBERS",
    "AnyTable",
    "CategoryColumn",
    "FrameTable",
    "append_column",
    "comes_from",
    "encoding_for",
    "find_column",
    "open_table",
    "warn_of_unused",
]
