"""Models that come out of files and pickles are checked when they are loaded.

A pickle is checked estimator by estimator, whenever one is put together; a model file,
whose arrays are packed, when all of it is there (`checked_together`). Ours check
themselves (`CheckedWhenLoaded`). Scikit-learn's compiled code believes what a model
holds as ours does, and its estimators check nothing; so what is inside of ours, or of a
file, is checked here: trees, support vector machines, neighbours and boosters may not
lead outside of their arrays, and the numbers that predictions are made of, by their
names, are finite and as many as the features and classes that they stand for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from kinlearn.utils._loaded import (
    UnsoundModelError,
    check_finite,
    check_sparse,
    demand,
)

__all__ = ["CheckedWhenLoaded", "check_inside", "checked_together", "objects"]

_PLAIN = {str, bytes, bool, int, float, type(None), np.float64, np.int64, np.str_}
_REMEDY = "The model is damaged, or somebody changed it: save it again."

# What predictions are made of: its last axes, by the estimator's features (F) and
# classes (C). None is any length, and an empty tuple any shape.
_AXES: dict[str, tuple[str | None, ...]] = {
    **dict.fromkeys(
        ("center_", "data_max_", "data_min_", "data_range_", "idf_", "lambdas_",
         "location_", "max_abs_", "mean_", "min_", "scale_", "statistics_", "var_",
         "variances_", "xbar_", "X_offset_", "X_scale_", "_X_mean", "_x_mean",
         "_x_std"),
        ("F",),
    ),
    **dict.fromkeys(
        ("centroids_", "cluster_centers_", "components_", "means_", "quantiles_",
         "subcluster_centers_", "theta_", "X_", "X_fit_", "X_train_", "_fit_X"),
        (None, "F"),
    ),
    "coef_": ("F",),
    **dict.fromkeys(("feature_log_prob_", "feature_count_"), ("C", "F")),
    **dict.fromkeys(("covariance_", "precision_"), ("F", "F")),
    **dict.fromkeys(
        ("random_weights_", "x_rotations_", "x_weights_", "_unmixing"), ("F", None)
    ),
    **dict.fromkeys(
        ("class_count_", "class_log_prior_", "class_prior_", "priors_"), ("C",)
    ),
    "label_distributions_": (None, "C"),
    **dict.fromkeys(
        ("a_", "alpha_", "b_", "constant_", "coefs_", "dual_coef_", "eigenvalues_",
         "eigenvectors_", "estimator_weights_", "init_", "intercept_", "intercepts_",
         "intercept_hidden_", "intercept_visible_", "L_", "normalization_", "offset_",
         "random_offset_", "references_", "rotations_", "scalings_", "sigma_",
         "threshold_", "_baseline_prediction", "_dual_coef_", "_gamma", "_intercept_",
         "_probA", "_probB", "_y", "_y_mean", "_y_std", "_y_train_mean",
         "_y_train_std"),
        (),
    ),
}  # fmt: skip
# Of ours: what predictions are made of, beside what each method checks by itself.
_OURS = {
    "FF", "ZF", "ZZ", "alone", "averages", "center", "centre", "class_weight", "coef",
    "coef_", "crowd_weights_", "dual_coef_", "effects", "embedding_",
    "fixed_covariance", "high", "inflation", "intercept", "intercept_", "low",
    "observed", "offsets", "offsets_", "predicted", "rows", "scale", "scale_", "scales",
    "shift", "sign", "spread", "square", "task_weight", "term_scale", "term_shift",
    "theta", "unseen_weights_", "variance", "votes", "weight", "weights", "weights_",
    "_class_share", "_deviations", "_effects", "_grams", "_lambdas", "_level",
    "_log_fractions", "_mean", "_means", "_medians", "_offsets", "_scale", "_solution",
    "_theta",
}  # fmt: skip
_LOGARITHMS = ("feature_log_prob_", "class_log_prior_")  # of 0, too
_TRUNKS = ("_forest", "_gb", "_iforest", "_bagging")  # whose trees get X unchecked

# there are thousands of them in a booster, which is checked as a whole
_TREES_OF_ARRAYS = "sklearn.ensemble._hist_gradient_boosting.predictor"

_waiting: ContextVar[list[Any] | None] = ContextVar("waiting", default=None)


@contextmanager
def checked_together() -> Iterator[None]:
    """Check what is loaded in the block when it ends, and not before."""
    mark = _waiting.set([])
    try:
        yield
        for model in _waiting.get() or ():
            _check(model)
    finally:
        _waiting.reset(mark)


def _check(model: Any) -> None:
    try:
        model._check_loaded()
    except UnsoundModelError as error:
        raise UnsoundModelError(
            f"{error} (of {type(model).__name__}), which no fit leaves behind. "
            f"{_REMEDY}"
        ) from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise UnsoundModelError(
            f"{type(model).__name__} does not hang together ({error}). {_REMEDY}"
        ) from error


class CheckedWhenLoaded:
    """Base of estimators whose fitted state is checked when it is loaded."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        above = getattr(super(), "__setstate__", None)
        if above is None:
            vars(self).update(state)
        else:
            above(state)
        waiting = _waiting.get()
        if waiting is None:
            _check(self)
            check_inside(self, stop=(CheckedWhenLoaded,))
        else:
            waiting.append(self)

    def _check_loaded(self) -> None:
        """Raise `UnsoundModelError` unless compiled code can follow every number."""


def objects(model: Any, stop: tuple[type, ...] = ()) -> Iterator[Any]:
    """Every object in the model; those of the types in `stop` are not looked into."""
    waiting, seen = [model], set()
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind in _PLAIN or (kind is np.ndarray and one.dtype != object):
            continue
        if kind.__module__ == _TREES_OF_ARRAYS:
            continue
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, np.ndarray):
            if one.dtype == object:
                waiting += one.ravel().tolist()
        elif isinstance(one, type) or (isinstance(one, stop) and one is not model):
            continue
        elif hasattr(one, "__dict__"):
            yield one
            waiting += vars(one).values()


def check_inside(model: Any, stop: tuple[type, ...] = ()) -> None:
    """Raise `UnsoundModelError` for what no fit of scikit-learn's leaves behind."""
    for one in objects(model, stop):
        kind = type(one)
        if sp.issparse(one):
            check_sparse(one)
        theirs = kind.__module__.startswith("sklearn.")
        try:
            if kind.__module__.startswith("kinlearn."):
                _check_ours(one)
            if not theirs or not isinstance(one, BaseEstimator):
                continue
            _check_numbers(one)
            for name in vars(one).keys() & _CHECKS.keys():
                package, check = _CHECKS[name]
                if kind.__module__.startswith(package):
                    check(one, vars(one)[name])
        except UnsoundModelError as error:
            raise UnsoundModelError(
                f"{error} (of {kind.__name__}). {_REMEDY}"
            ) from None
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise UnsoundModelError(
                f"{kind.__name__} in it does not hang together ({error}). {_REMEDY}"
            ) from error


def _check_numbers(one: Any) -> None:
    """Numbers by their names: finite, and as many as features and classes."""
    held = vars(one)
    lengths = {"F": held.get("n_features_in_")}
    classes = held.get("classes_")
    if isinstance(classes, np.ndarray) and classes.ndim == 1:
        lengths["C"] = len(classes)
    for name in held.keys() & _AXES.keys():
        value = held[name]
        for array in value if isinstance(value, list) else (value,):
            values = array.data if sp.issparse(array) else array
            if not isinstance(values, np.ndarray | float):
                continue
            if np.asarray(values).dtype.kind != "f":
                continue
            _check_finite(one, name, values)
            shape = np.shape(array) if values is array else array.shape
            axes = _AXES[name] if shape and array is value else ()
            wanted = [lengths.get(axis) if axis else None for axis in axes]
            demand(
                len(shape) >= len(axes)
                and all(
                    n is None or n == m
                    for n, m in zip(
                        wanted, shape[len(shape) - len(axes) :], strict=True
                    )
                ),
                f"{name} of shape {shape}",
            )


def _check_ours(one: Any) -> None:
    for name in vars(one).keys() & _OURS:
        value = vars(one)[name]
        for array in value if isinstance(value, list | tuple) else (value,):
            if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                check_finite(name, array)


def _check_finite(one: Any, name: str, array: Any) -> None:
    good = np.isfinite(array)
    if good.all():
        return
    if name in _LOGARITHMS:
        good = good | np.isneginf(array)
    elif np.isnan(array).any() and get_tags(one).input_tags.allow_nan:
        good = good | np.isnan(array)
    if not good.all():
        raise UnsoundModelError(f"{name} has numbers that are not finite")


def _within(positions: Any, length: Any) -> bool:
    positions = np.asarray(positions)
    return bool(((positions >= 0) & (positions < length)).all())


def _check_lines(model: Any, coef: Any) -> None:
    """As many intercepts as rows of coefficients, and as rows wanted by the classes."""
    n_rows = int(np.prod(coef.shape[:-1]))
    intercept = np.asarray(vars(model).get("intercept_", 0.0))
    demand(intercept.dtype.kind in "fiu", "intercept_")
    demand(intercept.size in (1, n_rows) and intercept.ndim < 2, "intercept_")
    classes = vars(model).get("classes_")
    if isinstance(classes, np.ndarray) and classes.ndim == 1 and coef.ndim == 2:
        demand(n_rows == len(classes) or (n_rows == 1 and len(classes) == 2), "coef_")


def _check_layers(model: Any, coefs: Any) -> None:
    widths = [model.n_features_in_, *(layer.shape[1] for layer in coefs)]
    demand(len(coefs) == len(model.intercepts_) == model.n_layers_ - 1, "coefs_")
    demand(widths[-1] == model.n_outputs_, "coefs_")
    for layer, intercept, above, below in zip(
        coefs, model.intercepts_, widths[:-1], widths[1:], strict=True
    ):
        demand(layer.shape == (above, below), "coefs_")
        demand(intercept.shape == (below,), "intercepts_")


def _check_tree(model: Any, tree: Any) -> None:
    """Children lie within the tree and after their parents, features within X."""
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    own = np.flatnonzero(left != -1)
    left, right = left[own], right[own]
    n_classes = int(np.max(vars(model).get("n_classes_", 1)))
    demand(
        tree.node_count > 0
        and (left > own).all()
        and (right > own).all()
        and (not len(own) or max(left.max(), right.max()) < tree.node_count)
        and _within(feature[own], tree.n_features)
        and tree.n_features == model.n_features_in_
        and tree.value.shape == (tree.node_count, model.n_outputs_, n_classes)
        and np.isfinite(tree.value).all()
        and not np.isnan(tree.threshold[own]).any(),
        "a tree in it",
    )


def _check_trunk(model: Any, trees: Any) -> None:
    """Trees of a forest have its features; those of a booster stand in its table."""
    module = type(model).__module__
    if not module.endswith(_TRUNKS):
        return
    features = vars(model).get("estimators_features_")
    if isinstance(trees, np.ndarray):
        trees = trees.ravel().tolist()
    for i, tree in enumerate(trees):
        width = model.n_features_in_ if features is None else len(features[i])
        demand(tree.n_features_in_ == width, "n_features_in_ of a tree")
        if "n_outputs_" in vars(model):
            demand(tree.n_outputs_ == model.n_outputs_, "n_outputs_ of a tree")
            # one number, or a list of one for each output
            found = vars(tree).get("n_classes_", 1)
            demand(
                np.array_equal(found, vars(model).get("n_classes_", 1)), "n_classes_"
            )
    if features is not None:
        demand(len(features) == len(trees), "estimators_features_")
        for columns in features:
            demand(_within(columns, model.n_features_in_), "estimators_features_")
    if module.endswith("_gb"):
        table = (model.n_estimators_, model.n_trees_per_iteration_)
        demand(model.estimators_.shape == table, "estimators_")
        demand(all(tree.tree_.value.shape[1:] == (1, 1) for tree in trees), "a tree")


def _check_machine(machine: Any, numbers: Any) -> None:
    """A support vector machine, whose numbers libsvm believes."""
    n = len(machine.support_)
    precomputed = machine.kernel == "precomputed"
    is_classifier = hasattr(machine, "classes_")
    n_classes = len(machine.classes_) if is_classifier else 2
    n_pairs = n_classes * (n_classes - 1) // 2
    vectors = machine.support_vectors_
    sparse = sp.issparse(vectors)
    demand(
        numbers.dtype == machine.support_.dtype == np.int32
        and (numbers >= 0).all()
        and len(numbers) == n_classes
        and (numbers.sum() == n or not is_classifier)
        and numbers[0] <= n
        and (precomputed or vectors.shape == (n, machine.n_features_in_))
        and machine._dual_coef_.shape == (n_classes - 1, n)
        and sparse == sp.issparse(machine._dual_coef_) == bool(machine._sparse)
        and np.isfinite(vectors.data if sparse else vectors).all()
        and len(machine._intercept_) == n_pairs
        and all(len(p) in (0, n_pairs) for p in (machine._probA, machine._probB))
        and len(machine._probA) >= len(machine._probB)
        and _within(machine.support_, machine.shape_fit_[0]),
        "a support vector machine in it",
    )


def _check_neighbours(model: Any, tree: Any) -> None:
    """The rows that a tree of neighbours points to, and the labels of these rows."""
    rows, n = vars(model).get("_fit_X"), model.n_samples_fit_
    demand(rows.shape[0] == n, "_fit_X")
    labels = vars(model).get("_y")
    if labels is not None:
        demand(len(labels) == n, "_y")
        several = isinstance(model.__dict__.get("classes_"), list)
        if hasattr(model, "classes_") and not several:
            demand(labels.dtype.kind in "iu", "_y")
            demand(_within(labels, len(model.classes_)), "_y")
    if tree is None:
        return
    data, order, nodes, bounds = map(np.asarray, tree.get_arrays())
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    demand(
        data.shape == (n, model.n_features_in_)
        and np.isfinite(data).all()
        and len(order) == n
        and _within(order, n)
        and bounds.shape[-2:] in ((len(nodes), data.shape[1]), (1, len(nodes)))
        and (nodes["idx_start"] >= 0).all()
        and (nodes["idx_end"] >= nodes["idx_start"]).all()
        and (nodes["idx_end"] <= n).all()
        and (2 * inner + 2 < len(nodes)).all(),
        "a tree of neighbours in it",
    )


def _check_booster(model: Any, rounds: Any) -> None:
    """All trees of a histogram booster at once: there are thousands of small ones."""
    trees = [tree for one in rounds for tree in one]
    bins = model._bin_mapper
    n_features = len(bins.bin_thresholds_)
    categorical = np.asarray(bins.is_categorical_) != 0
    demand(n_features == len(categorical) == model.n_features_in_, "_bin_mapper")
    for values in (bins.bin_thresholds_[i] for i in np.flatnonzero(categorical)):
        demand(_within(values, 256), "categories")
    demand(
        {len(one) for one in rounds} <= {model.n_trees_per_iteration_}, "_predictors"
    )
    demand(
        model._baseline_prediction.shape == (1, model.n_trees_per_iteration_),
        "_baseline_prediction",
    )
    if not trees:
        return
    dtype = trees[0].nodes.dtype
    demand(all(tree.nodes.dtype == dtype for tree in trees), "nodes")
    # as bytes: fields are compared, one by one, whenever arrays of them are joined
    nodes = np.concatenate([tree.nodes.view(np.uint8) for tree in trees]).view(dtype)
    sizes = np.array([len(tree.nodes) for tree in trees])
    n_sets = np.array([len(tree.raw_left_cat_bitsets) for tree in trees])
    sets, inner = np.flatnonzero(nodes["is_categorical"]), nodes["is_leaf"] == 0
    end = np.cumsum(sizes)
    own = np.arange(len(nodes)) - np.repeat(end - sizes, sizes)
    left, right = nodes["left"], nodes["right"]
    length = np.repeat(sizes, sizes)
    tree_of_set = np.searchsorted(end, sets, side="right")
    demand(
        sizes.min() > 0
        and ((left > own) & (right > own))[inner].all()
        and (np.maximum(left, right) < length).all()
        and np.isfinite(nodes["value"]).all()
        and not np.isnan(nodes["num_threshold"][inner]).any()
        and nodes["feature_idx"].min() >= 0
        and nodes["feature_idx"].max() < n_features
        and categorical[nodes["feature_idx"][sets]].all()
        and (nodes["bitset_idx"][sets] < n_sets[tree_of_set]).all()
        and all(
            tree.raw_left_cat_bitsets.shape[1:] == (8,)
            for tree in trees
            if tree.raw_left_cat_bitsets.size
        ),
        "a booster in it",
    )


_CHECKS = {
    "coef_": ("sklearn.", _check_lines),
    "coefs_": ("sklearn.neural_network.", _check_layers),
    "estimators_": ("sklearn.ensemble.", _check_trunk),
    "tree_": ("sklearn.tree.", _check_tree),
    "_n_support": ("sklearn.svm.", _check_machine),
    "_predictors": ("sklearn.ensemble.", _check_booster),
    "_tree": ("sklearn.neighbors.", _check_neighbours),
}
