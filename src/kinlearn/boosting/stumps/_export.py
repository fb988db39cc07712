"""Two-task stumps in words."""

from collections.abc import Iterable

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting.stumps._classifier import AbstainingAdaBoostClassifier
from kinlearn.boosting.stumps._indicators import IndicatorScores

__all__ = ["export_text"]


def export_text(
    model: AbstainingAdaBoostClassifier,
    *,
    rounds: int | Iterable[int] | None = None,
    decimals: int = 2,
) -> str:
    """Write two-task stumps as text.

    Parameters
    ----------
    model : AbstainingAdaBoostClassifier
        A fitted model.
    rounds : int or sequence of int, default=None
        Which rounds; None is the first three.
    decimals : int, default=2
        Digits of thresholds, votes and scores.

    Returns
    -------
    str
        For each round its vote, and two lines for each branch of the root: what it
        predicts for the root's task, and what the child below predicts for another.
        For MH, this is the label with the largest score, and that score.

    Examples
    --------
    >>> from kinlearn.boosting import AbstainingAdaBoostClassifier, export_text
    >>> X = [[1, 5, 0], [2, 6, 0], [3, 5, 0], [1, 5, 1], [2, 7, 1], [4, 7, 1]]
    >>> y = ["low", "low", "high", "cold", "warm", "warm"]
    >>> model = AbstainingAdaBoostClassifier(1, task=-1).fit(X, y)
    >>> print(export_text(model))
    round 0, vote 0.97
    x0 <= 2.50 -> task 0: low, then
        x0 <= 1.50 -> task 1: cold
        x0 > 1.50 -> task 1: warm
    x0 > 2.50 -> task 0: high, then
        always -> task 1: warm
    """
    if not isinstance(model, AbstainingAdaBoostClassifier):
        raise TypeError(
            "export_text writes the stumps of an AbstainingAdaBoostClassifier, and "
            f"got {type(model).__name__}. For a multi-task tree, see kinlearn.trees."
        )
    check_is_fitted(model)
    if rounds is None:
        rounds = range(min(3, model.n_estimators_))
    chosen = [rounds] if isinstance(rounds, int | np.integer) else list(rounds)
    return "\n\n".join(_round(model, number, decimals) for number in chosen)


def _round(model: AbstainingAdaBoostClassifier, number: int, decimals: int) -> str:
    if not -model.n_estimators_ <= number < model.n_estimators_:
        raise ValueError(
            f"There is no round {number}: the model has {model.n_estimators_}, from 0 "
            f"to {model.n_estimators_ - 1}."
        )
    number = number % model.n_estimators_
    root, *children = model.stumps_.nodes[number]
    lines = [f"round {number}"]
    if model.algorithm_ == "mtaa":
        lines[0] += f", vote {model.estimator_weights_[number]:.{decimals}f}"
    for branch, child in enumerate(children):
        test, below = _test(model, root, branch, decimals), []
        if child["task"] >= 0:
            below = [
                f"    {_test(model, child, side, decimals)} -> "
                f"{_prediction(model, child, side, decimals)}"
                for side in range(1 if _is_no_test(child) else 2)
            ]
        texts = [test]
        if root["task"] >= 0:
            texts.append(_prediction(model, root, branch, decimals))
        text = " -> ".join(texts) + (", then" if below and len(texts) > 1 else "")
        lines += [text, *below]
    return "\n".join(lines)


def _is_no_test(node: np.void) -> bool:
    """Whether all rows go to the left."""
    return np.isinf(node["threshold"]) and node["missing_left"]


def _test(
    model: AbstainingAdaBoostClassifier, node: np.void, branch: int, decimals: int
) -> str:
    """The test in words; branch 0 is where it holds."""
    if _is_no_test(node):
        return "always"
    name = model.feature_names_[node["feature"]]
    if np.isinf(node["threshold"]):
        return f"{name} is {'missing' if branch else 'there'}"
    missing = model._saw_missing and node["missing_left"] == (branch == 0)
    also = " or missing" if missing else ""
    categorical = model.is_categorical_
    if categorical is not None and categorical[node["feature"]]:
        ranks = model._category_ranks[categorical[: node["feature"]].sum()]
        names = model._category_names(int(node["feature"])).items()
        left = [name for code, name in names if ranks[code] <= node["threshold"]]
        sign = "in" if branch == 0 else "not in"
        return f"{name} {sign} {{{', '.join(left)}}}{also}"
    sign = "<=" if branch == 0 else ">"
    return f"{name} {sign} {node['threshold']:.{decimals}f}{also}"


def _prediction(
    model: AbstainingAdaBoostClassifier, node: np.void, branch: int, decimals: int
) -> str:
    task = int(node["task"])
    labels = model.classes_[model._class_scores.label_sets.codes][
        slice(*model._class_scores.label_sets.indptr[task : task + 2])
    ]
    size = model.stumps_.sizes[task]
    first = node["first_value"] + branch * size
    value = model.stumps_.values[first : first + size]
    name = f"task {model.tasks_.tolist()[task]}"
    if not value.any():
        return f"{name}: abstains"
    if model.algorithm_ == "mtaa":
        return f"{name}: {labels[int(value[0] > 0)]}"
    if isinstance(model._class_scores, IndicatorScores):
        each = zip(labels, value, strict=True)
        return f"{name}: " + ", ".join(f"{k} {v:+.{decimals}f}" for k, v in each)
    best = int(np.argmax(value))
    return f"{name}: {labels[best]} ({value[best]:+.{decimals}f})"
