"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.model_selection._kfold import deal_rows

__all__ = [
    "deal_rows",
]
