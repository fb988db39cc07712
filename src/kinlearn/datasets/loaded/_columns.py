"""Tables of columns, some of them text, as what a loader returns."""

from typing import Any

import numpy as np

from kinlearn.datasets._assemble import Loaded
from kinlearn.datasets.loaded._store import Request
from kinlearn.utils import import_optional

__all__ = ["bunch_of_columns", "levels"]


def levels(values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Codes of a column's values, -1 where missing, and the values' names."""
    if values.dtype == object:
        present = np.array([v is not None for v in values], dtype=bool)
        found, inverse = np.unique(values[present].astype(str), return_inverse=True)
        names = [str(name) for name in found]
    else:
        present = ~np.isnan(values)
        found, inverse = np.unique(values[present], return_inverse=True)
        names = [f"{name:g}" for name in found]
    codes = np.full(len(values), -1)
    codes[present] = inverse
    return codes, names


def bunch_of_columns(
    request: Request, features: dict[str, np.ndarray], y: Any, **entries: Any
) -> Loaded:
    """The bunch: text columns stay text in a frame, and are numbers in an array."""
    coded = {c: levels(v) for c, v in features.items() if v.dtype == object}
    if request.as_frame:
        pandas = import_optional("pandas", extra="report", purpose="as_frame=True")
        X = pandas.DataFrame(features)
    else:
        X = np.column_stack(
            [
                np.where(coded[c][0] < 0, np.nan, coded[c][0]) if c in coded else v
                for c, v in features.items()
            ]
        )
    return request.bunch(
        X,
        y,
        feature_names=list(features),
        task_name="task",
        categories={c: names for c, (_, names) in coded.items()},
        **entries,
    )
