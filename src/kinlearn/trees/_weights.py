"""Weights of rows that come after fit."""

from typing import Any

import numpy as np

__all__ = ["later_weights"]


def later_weights(later: Any, class_weight: Any) -> np.ndarray:
    """Their weights, times those of their classes."""
    weight = later.sample_weight
    if isinstance(class_weight, str):
        raise ValueError(
            'class_weight="balanced" depends on all rows together. Give the '
            "weights of the classes as a dict, or fit anew with all rows."
        )
    if class_weight is not None:
        labels = later.classes[later.y]
        of_class = [class_weight.get(v, 1.0) for v in labels.tolist()]
        weight = weight * np.array(of_class)
    return weight
