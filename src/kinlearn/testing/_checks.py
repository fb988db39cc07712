"""The promises of a task-aware estimator, one function each.

Each takes an estimator and raises AssertionError if it breaks the promise.
"""

import pickle
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import SkipTest

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from kinlearn.exceptions import TaskFallbackWarning, UnknownTaskWarning
from kinlearn.tasks import with_task
from kinlearn.testing._interruption import check_interrupted_fit
from kinlearn.testing._problems import fit_on, make_problem, set_up
from kinlearn.utils import import_optional
from kinlearn.utils._typing import Table

__all__ = ["FOR_ALL", "FOR_CLASSIFIERS", "FOR_N_JOBS", "FOR_UNKNOWN_TASKS"]

_PACKAGE = Path(__file__).parents[1]


def _predictions(model: Any, X: Table) -> dict[str, np.ndarray]:
    """All predictions of a model for rows."""
    out = {"predict": model.predict(X)}
    if hasattr(model, "predict_proba"):
        out["predict_proba"] = model.predict_proba(X)
    if hasattr(model, "decision_function"):
        with suppress(ValueError):  # may be undefined where tasks lack classes
            out["decision_function"] = model.decision_function(X)
    return out


def _assert_same(
    one: dict[str, np.ndarray], two: dict[str, np.ndarray], rtol: float = 1e-7
) -> None:
    assert one.keys() == two.keys()
    for method in one:
        if one[method].dtype.kind == "f":
            assert_allclose(one[method], two[method], rtol=rtol, atol=1e-8)
        else:
            assert_array_equal(one[method], two[method])


def _is_random(estimator: Any) -> bool:
    return any(name.endswith("random_state") for name in estimator.get_params())


def _frame(
    library: str,
    X: np.ndarray,
    task: np.ndarray,
    names: Sequence[str] = ("a", "b", "c", "d"),
) -> Any:
    frame = import_optional(library, extra="all", purpose="This check").DataFrame
    data = {name: X[:, j] for j, name in enumerate(names)}
    return frame({**data, "group": np.asarray(task)})


def _must_raise(call: Callable[[], Any], *words: str) -> None:
    try:
        call()
    except (ValueError, TypeError) as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in the message: {error}"
        return
    raise AssertionError(f"Bad input passed; expected an error with {words}.")


def check_same_predictions_from_every_container(estimator: Any) -> None:
    """Array, pandas, polars and sparse input of the same data agree."""
    X, y, task = make_problem(estimator)
    reference = _predictions(fit_on(estimator, X, y, task), with_task(X, task))
    for library in ("pandas", "polars"):
        try:
            frame = _frame(library, X, task)
        except ImportError:
            continue
        model = set_up(estimator, task="group").fit(frame, y)
        assert_array_equal(model.tasks_, [0, 1, 2])
        _assert_same(_predictions(model, frame), reference)
    if get_tags(estimator).input_tags.sparse:
        for kind in (sp.csr_array, sp.csc_matrix):
            packed = with_task(kind(X), task)
            model = set_up(estimator, task=-1).fit(packed, y)
            # iterative solvers may take another path on sparse rows
            _assert_same(_predictions(model, packed), reference, rtol=1e-2)


def check_renamed_tasks(estimator: Any) -> None:
    """Tasks under other names, in the same order, give the same model."""
    X, y, task = make_problem(estimator)
    reference = _predictions(fit_on(estimator, X, y, task), with_task(X, task))
    other = np.array([-7, 40, 1000])[task]
    model = fit_on(estimator, X, y, other)
    assert_array_equal(model.tasks_, [-7, 40, 1000])
    _assert_same(_predictions(model, with_task(X, other)), reference)
    if _is_random(estimator):
        return
    shuffled = np.array([2, 0, 1])[task]
    model = fit_on(estimator, X, y, shuffled)
    _assert_same(_predictions(model, with_task(X, shuffled)), reference, rtol=1e-4)


def check_position_of_the_task_column(estimator: Any) -> None:
    """The task may stand in any column."""
    X, y, task = make_problem(estimator)
    reference = _predictions(fit_on(estimator, X, y, task), with_task(X, task))
    moved = np.column_stack([X[:, :2], task, X[:, 2:]])
    model = set_up(estimator, task=2).fit(moved, y)
    _assert_same(_predictions(model, moved), reference)
    assert model.n_features_in_ == 5


def check_permuted_rows(estimator: Any) -> None:
    """The order of rows decides nothing, in prediction and (if exact) in fit."""
    X, y, task = make_problem(estimator)
    packed = with_task(X, task)
    model = set_up(estimator, task=-1).fit(packed, y)
    order = np.random.default_rng(1).permutation(len(y))
    reference = {k: v[order] for k, v in _predictions(model, packed).items()}
    _assert_same(_predictions(model, packed[order]), reference)
    if _is_random(estimator):
        return
    again = set_up(estimator, task=-1).fit(packed[order], y[order])
    _assert_same(_predictions(again, packed[order]), reference, rtol=1e-4)


def check_doubled_row_is_weight_two(estimator: Any) -> None:
    """Integer weights equal repeated rows, zero weight equals absence."""
    if not has_fit_parameter(estimator, "sample_weight"):
        raise SkipTest("fit takes no sample_weight")
    if _is_random(estimator):
        raise SkipTest("the random draws depend on the number of rows")
    X, y, task = make_problem(estimator)
    weight = np.random.default_rng(2).integers(0, 3, size=len(y))
    packed = with_task(X, task)
    weighted = set_up(estimator, task=-1)
    try:
        weighted.fit(packed, y, sample_weight=weight)
    except TypeError as error:
        if "takes no sample_weight" not in str(error):
            raise
        raise SkipTest(str(error)) from error
    times = np.repeat(np.arange(len(y)), weight)
    repeated = set_up(estimator, task=-1).fit(packed[times], y[times])
    _assert_same(
        _predictions(weighted, packed), _predictions(repeated, packed), rtol=1e-3
    )


def check_one_task_is_the_plain_estimator(estimator: Any) -> None:
    """A task column with one value equals ``task=None`` without it."""
    X, y, _ = make_problem(estimator)
    one = np.full(len(y), 5)
    plain = set_up(estimator, task=None).fit(X, y)
    model = fit_on(estimator, X, y, one)
    _assert_same(_predictions(model, with_task(X, one)), _predictions(plain, X))


def check_noise_task(estimator: Any) -> None:
    """A task of pure noise is survived, and its predictions are finite."""
    X, y, task = make_problem(estimator)
    rng = np.random.default_rng(3)
    y = y.copy()
    y[task == 2] = rng.permutation(y)[: (task == 2).sum()]
    model = fit_on(estimator, X, y, task)
    for values in _predictions(model, with_task(X, task)).values():
        assert values.dtype.kind != "f" or np.isfinite(values).all()


def check_task_of_one_row(estimator: Any) -> None:
    """A task of one row gets a prediction, or an error that names it."""
    X, y, task = make_problem(estimator)
    task = task.copy()
    task[0] = 77
    try:
        model = fit_on(estimator, X, y, task)
    except ValueError as error:
        assert "77" in str(error), f"the message does not name task 77: {error}"
        return
    assert model.predict(with_task(X[:1], task[:1])).shape == (1,)


def check_missing_task_values(estimator: Any) -> None:
    """NaN in the task column is refused, with the number of rows."""
    X, y, task = make_problem(estimator)
    packed = with_task(X, task)
    packed[[3, 8], -1] = np.nan
    _must_raise(
        lambda: set_up(estimator, task=-1).fit(packed, y), "missing in 2 of", "row 3"
    )
    model = fit_on(estimator, X, y, task)
    _must_raise(lambda: model.predict(packed), "missing in 2 of", "row 3")


def check_columns_at_predict(estimator: Any) -> None:
    """A lost task column, lost or reordered features are noticed."""
    X, y, task = make_problem(estimator)
    model = fit_on(estimator, X, y, task)
    _must_raise(lambda: model.predict(X), "4 features", "task")
    try:
        frame = _frame("pandas", X, task)
    except ImportError as error:
        raise SkipTest("pandas is not installed") from error
    model = set_up(estimator, task="group").fit(frame, y)
    _must_raise(
        lambda: model.predict(frame.drop(columns="group")), "Task column 'group'"
    )
    _must_raise(lambda: model.predict(frame.drop(columns="b")), "now missing", "b")
    _must_raise(
        lambda: model.predict(frame[["b", "a", "c", "d", "group"]]), "same order"
    )


def check_task_column_not_found(estimator: Any) -> None:
    """A task column that is not there is an error that lists what is."""
    X, y, task = make_problem(estimator)
    packed = with_task(X, task)
    _must_raise(lambda: set_up(estimator, task=5).fit(packed, y), "out of range")
    _must_raise(lambda: set_up(estimator, task="no").fit(packed, y), "'no'", "by name")


def check_input_is_left_alone(estimator: Any) -> None:
    """Read-only input works, and nothing of it is changed."""
    X, y, task = make_problem(estimator)
    packed = with_task(X, task)
    before = packed.copy(), y.copy()
    packed.flags.writeable = y.flags.writeable = False
    set_up(estimator, task=-1).fit(packed, y).predict(packed)
    assert_array_equal(packed, before[0])
    assert_array_equal(y, before[1])


def check_pickled_model(estimator: Any) -> None:
    """A model that was saved and loaded predicts the same."""
    X, y, task = make_problem(estimator)
    packed = with_task(X, task)
    model = set_up(estimator, task=-1).fit(packed, y)
    again = pickle.loads(pickle.dumps(model))
    _assert_same(_predictions(again, packed), _predictions(model, packed), rtol=0)


def check_skops_model(estimator: Any) -> None:
    """A model goes through skops, which runs no code on loading."""
    try:
        skops = import_optional("skops.io", extra="report", purpose="This check")
    except ImportError as error:
        raise SkipTest("skops is not installed") from error
    X, y, task = make_problem(estimator)
    packed = with_task(X, task)
    model = set_up(estimator, task=-1).fit(packed, y)
    data = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=data)
    # scikit-learn's gradient boosting keeps a partial of its own in fitted state
    foreign = [
        name
        for name in unknown
        if name.split(".")[0] not in ("kinlearn", "sklearn")
        and name != "functools.partial"
    ]
    assert not foreign, f"the saved model holds types of other packages: {foreign}"
    again = skops.loads(data, trusted=unknown)
    _assert_same(_predictions(again, packed), _predictions(model, packed), rtol=0)


def check_cross_validation_and_search(estimator: Any) -> None:
    """The task reaches the estimator in cross-validation and in a search."""
    X, y, task = make_problem(estimator)
    key: str | int = "group"
    try:
        packed = _frame("pandas", X, np.array(["u", "v", "w"])[task])
    except ImportError:
        packed, key = with_task(X, task), -1
    model = set_up(estimator, task=key)
    assert np.isfinite(cross_val_score(model, packed, y, cv=2)).all()
    search = GridSearchCV(model, {"task": [key]}, cv=2).fit(packed, y)
    assert len(search.best_estimator_.tasks_) == 3


def _check_labels(model: Any, packed: Any, task: np.ndarray, sets: Any) -> None:
    """Predictions keep to the label sets; probabilities are zero outside alone."""
    assert_array_equal(model.classes_, ["cold", "no", "warm", "yes"])
    assert {t: list(v) for t, v in model.task_classes_.items()} == sets
    predicted = model.predict(packed)
    for t, allowed in sets.items():
        assert set(predicted[task == t]) <= set(allowed)
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(packed)
        assert_allclose(proba.sum(axis=1), 1)
        for t, allowed in sets.items():
            lacking = ~np.isin(model.classes_, allowed)
            assert (proba[task == t][:, lacking] == 0).all()


def check_label_sets(estimator: Any) -> None:
    """Tasks have the classes of all that they have one in common with, or as given."""
    X, y, task = make_problem(estimator, n_samples=150)
    labels = np.array([["no", "yes"], ["cold", "warm"], ["no", "no"]])[task, y]
    packed = with_task(X, task)
    yes_no, weather = ["no", "yes"], ["cold", "warm"]
    given = {0: yes_no, 1: weather, 2: ["no", "warm", "in no row"]}
    rules: list[tuple[Any, list[str]]] = [
        ("connected", yes_no),
        ("observed", ["no"]),
        (given, ["no", "warm"]),
    ]
    for rule, of_last in rules:
        model = set_up(estimator, task=-1, label_sets=rule)
        with warnings.catch_warnings():  # nobody to learn from is worth a warning
            warnings.simplefilter("ignore", TaskFallbackWarning)
            model.fit(packed, labels)
        _check_labels(model, packed, task, {0: yes_no, 1: weather, 2: of_last})
    chain = np.array([["no", "yes"], ["cold", "warm"], ["no", "warm"]])[task, y]
    model = set_up(estimator, task=-1).fit(packed, chain)
    every = ["cold", "no", "warm", "yes"]
    _check_labels(model, packed, task, {0: every, 1: every, 2: every})
    wrong = set_up(estimator, task=-1, label_sets={2: ["cold"]})
    _must_raise(lambda: wrong.fit(packed, labels), "'no'", "task 2", "mapping")


def check_task_with_one_class(estimator: Any) -> None:
    """Where a task shows one class, the others are possible, or none if so given."""
    X, y, task = make_problem(estimator)
    # the longer label must survive beside a task that has only the shorter one
    y = np.array(["no", "yes, always"])[np.where(task == 1, 0, y)]
    packed = with_task(X, task)
    single = task == 1
    model = set_up(estimator, task=-1).fit(packed, y)
    assert set(model.predict(packed)) <= {"no", "yes, always"}
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(packed[single])
        assert (proba > 0).all()
        assert_allclose(proba.sum(axis=1), 1)
    model = set_up(estimator, task=-1, label_sets="observed").fit(packed, y)
    assert (model.predict(packed[single]) == "no").all()


def check_unknown_tasks(estimator: Any) -> None:
    """A new task is predicted by what is common, with a warning, without, or refused.

    Known tasks keep their predictions. There is one warning, of the caller's line.
    """
    X, y, task = make_problem(estimator)
    known = with_task(X, task)
    new = np.arange(len(y)) < 10
    strange = with_task(X, np.where(new, 99, task))
    model = set_up(estimator, task=-1).fit(known, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = model.predict(strange)
        model.predict(strange[:5])  # named already
    warned = [each for each in caught if each.category is UnknownTaskWarning]
    assert len(warned) == 1, f"{len(warned)} warnings of unknown tasks, not one."
    for words in ("99", f"10 of {len(y)} rows"):
        assert words in str(warned[0].message)
    assert not Path(warned[0].filename).is_relative_to(_PACKAGE)
    silent = fit_on(estimator, X, y, task, unknown_task="share")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnknownTaskWarning)
        shared, before = _predictions(silent, strange), _predictions(silent, known)
    assert_array_equal(found, shared["predict"])
    for method, values in shared.items():
        assert values.dtype.kind != "f" or np.isfinite(values).all()
        assert_array_equal(values[~new], before[method][~new])
    strict = fit_on(estimator, X, y, task, unknown_task="error")
    _assert_same(_predictions(strict, known), before, rtol=0)
    _must_raise(lambda: strict.predict(strange), "99", "10 of", "0, 1, 2")


def check_n_jobs_changes_nothing(estimator: Any) -> None:
    """The model is the same for any number of jobs."""
    X, y, task = make_problem(estimator)
    packed = with_task(X, task)
    one = fit_on(estimator, X, y, task, n_jobs=1)
    two = fit_on(estimator, X, y, task, n_jobs=2)
    _assert_same(_predictions(one, packed), _predictions(two, packed), rtol=0)


def check_tables_of_mixed_columns(estimator: Any) -> None:
    """Text, dates and truth go in; new categories and holes give finite predictions."""
    X, y, task = make_problem(estimator)
    colours = np.array(["red", "green", "blue", "white"], dtype=object)
    first_day = np.datetime64("2024-01-01")
    data: dict[str, Any] = {
        "size": X[:, 0],
        "price": [f"{value:.2f}".replace(".", ",") for value in X[:, 1]],
        "colour": colours[(X[:, 2]).astype(int) % 4].tolist(),
        "day": [str(first_day + int(9 * value)) for value in X[:, 3]],
        "new": np.where(X[:, 1] > 2, "yes", "no").tolist(),
        "group": task,
    }
    by_library = []
    for library in ("pandas", "polars"):
        try:
            module = import_optional(library, extra="all", purpose="This check")
        except ImportError:
            continue
        frame = module.DataFrame(data)
        model = set_up(estimator, task="group").fit(frame, y)
        assert model.n_features_in_ == len(data)
        assert model.feature_names_in_.tolist() == list(data)
        odd = {name: list(cells[:6]) for name, cells in data.items()}
        odd["colour"] = ["never seen", None, *odd["colour"][2:]]
        odd["day"] = ["2031-05-05", None, *odd["day"][2:]]
        odd["new"] = ["perhaps", None, *odd["new"][2:]]
        found = _predictions(model, module.DataFrame(odd))
        for values in found.values():
            assert len(values) == 6
            assert values.dtype.kind != "f" or np.isfinite(values).all()
        by_library.append(
            {**_predictions(model, frame), "of new rows": found["predict"]}
        )
    for other in by_library[1:]:
        _assert_same(other, by_library[0])


def check_same_bits_in_any_order_of_memory(estimator: Any) -> None:
    """Rows one after the other, or columns, give the same model to the last bit."""
    X, y, task = make_problem(estimator)
    X = X + np.linspace(0.0, 0.1, X.size).reshape(X.shape)  # digits to be rounded
    packed = with_task(X, task)
    assert packed.flags.c_contiguous
    by_column = np.asfortranarray(packed)
    model = set_up(estimator, task=-1).fit(packed, y)
    again = set_up(estimator, task=-1).fit(by_column, y)
    found, wanted = _predictions(again, by_column), _predictions(model, packed)
    for method, values in wanted.items():
        assert_array_equal(found[method], values, err_msg=method)


def check_extreme_values(estimator: Any) -> None:
    """Very large and very small numbers end in finite predictions, or a clear error.

    In one column of X, dense and sparse, in the weights of some rows, and of all.
    """
    X, y, task = make_problem(estimator, n_samples=60)
    cases: list[tuple[str, Any, Any]] = []
    weighted = has_fit_parameter(estimator, "sample_weight")
    for size in (1e99, 1e300, 1e-300, 5e-324):
        with np.errstate(under="ignore"):
            wide = X * [1.0, size, 1.0, 1.0]
        cases.append((f"{size:g}", wide, None))
        if size == 1e300 and get_tags(estimator).input_tags.sparse:
            cases.append((f"{size:g} in sparse X", sp.csr_array(wide), None))
        if weighted and size != 1e99:
            some = np.where(np.arange(len(y)) % 9 == 0, size, 1.0)
            cases.append((f"{size:g} as a weight", X, some))
    if weighted:
        cases.append(("1e-300 as every weight", X, np.full(len(y), 1e-300)))
    for name, features, weight in cases:
        _check_finite_or_refused(estimator, name, features, y, task, weight)


def _check_finite_or_refused(
    estimator: Any, name: str, X: Any, y: Any, task: Any, weight: Any
) -> None:
    packed = with_task(X, task)
    given = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = set_up(estimator, task=-1).fit(packed, y, **given)
            found = _predictions(model, packed)
        except (ValueError, TypeError) as error:
            text = str(error)
            assert "array must not contain" not in text, f"{name}: {text}"
            assert "internal" not in text, f"{name}: {text}"
            return
    for method, values in found.items():
        finite = values.dtype.kind != "f" or np.isfinite(values).all()
        assert finite, f"{method} is not finite with {name}."


FOR_ALL = [
    check_same_predictions_from_every_container,
    check_renamed_tasks,
    check_position_of_the_task_column,
    check_permuted_rows,
    check_doubled_row_is_weight_two,
    check_one_task_is_the_plain_estimator,
    check_noise_task,
    check_task_of_one_row,
    check_missing_task_values,
    check_columns_at_predict,
    check_task_column_not_found,
    check_input_is_left_alone,
    check_pickled_model,
    check_skops_model,
    check_cross_validation_and_search,
    check_tables_of_mixed_columns,
    check_interrupted_fit,
    check_extreme_values,
    check_same_bits_in_any_order_of_memory,
]


def check_methods_that_are_there_work(estimator: Any) -> None:
    """What `hasattr` promises of a fitted classifier can be called."""
    X, y, task = make_problem(estimator, n_samples=60)
    packed = with_task(X, task)
    three = (X[:, 0] * 3).astype(int) % 3
    cases: list[Any] = [
        (np.zeros_like(y), "connected"),
        (np.where(task == 1, np.minimum(three, 1), three), "observed"),
    ]
    for labels, rule in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = set_up(estimator, task=-1, label_sets=rule)
                model.fit(packed, labels)
            except ValueError:
                continue  # it may want two classes
            for method in ("predict", "predict_proba", "decision_function"):
                if hasattr(model, method):
                    assert len(getattr(model, method)(packed)) == len(labels)


FOR_CLASSIFIERS = [
    check_label_sets,
    check_task_with_one_class,
    check_methods_that_are_there_work,
]
FOR_UNKNOWN_TASKS = [check_unknown_tasks]
FOR_N_JOBS = [check_n_jobs_changes_nothing]
