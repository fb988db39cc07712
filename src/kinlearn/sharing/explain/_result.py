"""What an explanation comes back as."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn.utils import import_optional

__all__ = ["Explanation"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of features and of the task that add up to predictions.

    It comes from ``explain`` of :class:`kinlearn.KinClassifier` and
    :class:`kinlearn.KinRegressor`: ``base + contributions.sum(axis=1)`` is
    ``prediction``.

    Attributes
    ----------
    contributions : ndarray of shape (n_samples, n_columns)
        What each feature, and last the task, add to the prediction.
    standard_error : ndarray of shape (n_samples, n_columns)
        How much these would vary with another background and other orders.
    base : ndarray of shape (n_samples,)
        Mean prediction of the background.
    prediction : ndarray of shape (n_samples,)
        The predictions.
    names : ndarray of shape (n_columns,)
        Names of the features and of the task.
    what : str
        What is explained: "prediction", or the probability of a class.
    exact : bool ndarray of shape (n_samples,)
        Whether all coalitions of columns were tried.
    """

    contributions: np.ndarray
    standard_error: np.ndarray
    base: np.ndarray
    prediction: np.ndarray
    names: np.ndarray
    what: str
    exact: np.ndarray

    @property
    def mean_absolute(self) -> np.ndarray:
        """Mean absolute contribution of each column over the rows."""
        return np.abs(self.contributions).mean(axis=0)

    def to_frame(self) -> Any:
        """A table with a row for each row that was explained.

        Returns
        -------
        pandas.DataFrame
            A column for each of `names`, and ``base`` and ``prediction``, which have
            an underscore more where a feature has that name.
        """
        pandas = import_optional("pandas", extra="report", purpose="to_frame()")
        names = [str(name) for name in self.names]
        frame = pandas.DataFrame(self.contributions, columns=names)
        for name in ("base", "prediction"):
            title = name
            while title in names:
                title += "_"
            frame[title] = getattr(self, name)
        return frame
