"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.tables._categories import (
    CategoryColumn,
    drop_new_codes,
    known_codes,
)
from kinlearn.tables._containers import (
    AnyTable,
    FrameTable,
    append_column,
    append_rows,
    find_column,
    open_table,
)
from kinlearn.tables._encoder import CODES, NUMBERS, comes_from, encoding_for
from kinlearn.tables._meanings import warn_of_unused

__all__ = [
    "CODES",
    "NUMBERS",
    "AnyTable",
    "CategoryColumn",
    "FrameTable",
    "append_column",
    "append_rows",
    "comes_from",
    "drop_new_codes",
    "encoding_for",
    "find_column",
    "known_codes",
    "open_table",
    "warn_of_unused",
]
