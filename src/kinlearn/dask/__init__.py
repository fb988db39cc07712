"""Forests and boosting on a Dask cluster: no worker needs to hold all rows.

Same names and parameters as in :mod:`kinlearn.trees` and :mod:`kinlearn.boosting`, for
Dask DataFrames and arrays.
Needs the extra ``dask``: ``pip install 'kinlearn[dask]'``.
"""

from kinlearn.utils import import_optional as _import_optional

_import_optional("distributed", extra="dask", purpose="kinlearn.dask")

from kinlearn.dask._abstaining import AbstainingAdaBoostClassifier  # noqa: E402
from kinlearn.dask._disk import OnDisk  # noqa: E402
from kinlearn.dask._extra_trees import (  # noqa: E402
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
)
from kinlearn.dask._gradient_boosting import (  # noqa: E402
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.dask._random_forest import (  # noqa: E402
    MultiTaskRandomForestClassifier,
)

__all__ = [
    "AbstainingAdaBoostClassifier",
    "MultiTaskExtraTreesClassifier",
    "MultiTaskExtraTreesRegressor",
    "MultiTaskGradientBoostingClassifier",
    "MultiTaskGradientBoostingRegressor",
    "MultiTaskRandomForestClassifier",
    "OnDisk",
]
