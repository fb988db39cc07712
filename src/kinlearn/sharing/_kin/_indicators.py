"""Classes as columns of zeros and ones."""

import numpy as np

__all__ = ["indicators"]


def indicators(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """A column of 0 and 1 for each class; of two classes, for the second.

    Parameters
    ----------
    codes : int array of shape (n_samples,)
        Class codes.
    n_classes : int
        Number of classes.

    Returns
    -------
    float64 array of shape (n_samples, n_classes), or (n_samples, 1) for two
        The columns.
    """
    first = 0 if n_classes > 2 else 1
    return (codes[:, None] == np.arange(first, n_classes)).astype(np.float64)
