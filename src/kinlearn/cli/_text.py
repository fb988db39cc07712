"""Cells of tasks and targets, which are no features, as text and as numbers."""

import numpy as np
import pandas as pd

__all__ = ["as_numbers", "as_text"]


def as_text(column: pd.Series) -> pd.Series:
    """A column as trimmed text, missing cells left missing.

    Parameters
    ----------
    column : pandas.Series
        Of any type. Whole numbers lose their ``.0``, which they get and lose on
        the way through files.

    Returns
    -------
    pandas.Series
        Of strings (object) and None.
    """
    codes, values = pd.factorize(column)  # columns of text have few different cells
    texts = [_without_fraction(str(value).strip()) for value in values]
    cells = np.array([*texts, None], dtype=object)[codes]  # -1, the missing, is last
    return pd.Series(cells, index=column.index, dtype=object)


def _without_fraction(text: str) -> str:
    whole = text.endswith(".0") and text[:-2].lstrip("-").isdigit()
    return text[:-2] if whole else text


def as_numbers(column: pd.Series, *, comma: bool = False) -> np.ndarray:
    """A column as float64; what is no finite number becomes missing.

    Parameters
    ----------
    column : pandas.Series
        Numbers or text.
    comma : bool, default=False
        Whether text has decimal commas.

    Returns
    -------
    float64 array
        One number for each row.
    """
    if not pd.api.types.is_numeric_dtype(column.dtype):
        column = column.astype("str")
        column = column.str.replace(",", ".") if comma else column
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(
        np.float64, na_value=np.nan
    )
    return np.where(np.isfinite(numbers), numbers, np.nan)
