"""Tasks and rows that come after boosting."""

from kinlearn.boosting.gradient.later._rows import take_later

__all__ = ["take_later"]
