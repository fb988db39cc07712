import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from kinlearn import with_task
from kinlearn._binning import bin_features
from kinlearn.trees import MultiTaskDecisionTreeClassifier
from tests.reference import mt_tree as reference

CRITERIA = ["joint", "sum", "max"]


def make_tasks(seed=0, *, n=160, n_features=4, n_tasks=5, missing=0.0):
    """Tasks that share two features; labels are numbered on from task to task."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, n_features)), 1)
    task = rng.integers(0, n_tasks, n)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > task / n_tasks)
    y = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), y)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y + 3 * (task % 2), task


def expected_proba(X, y, task, new, new_task, **options):
    """Answers of the slow twin for new rows."""
    settings = {
        "purity": 1.0, "max_depth": 100, "min_samples_split": 2,
        "min_samples_leaf": 1, "min_weight_leaf": 0, "max_features": 100,
    }  # fmt: skip
    bins, codes = bin_features(X)
    classes, label = np.unique(y, return_inverse=True)
    weight = np.ones(len(y), dtype=np.int64)
    root = reference.grow(
        codes, bins.n_bins, task, label, weight, **(settings | options)
    )
    out = np.zeros((len(new), len(classes)))
    for i, row in enumerate(bins.assign(new)):
        for label, weight in reference.decide(root, row, new_task[i]).items():
            out[i, label] = weight
    return out / out.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    ("n_tasks", "missing"), [(1, 0.0), (1, 0.1), (5, 0.0), (5, 0.1), (90, 0.1)]
)
def test_answers_equal_the_reference(criterion, n_tasks, missing):
    X, y, task = make_tasks(1, n_tasks=n_tasks, missing=missing)
    new, _, new_task = make_tasks(2, n=203, n_tasks=n_tasks, missing=0.2)
    known = np.isin(new_task, task)
    new, new_task = new[known], new_task[known]
    model = MultiTaskDecisionTreeClassifier(
        task=-1, criterion=criterion, label_sets="observed"
    )
    model.fit(with_task(X, task), y)
    assert_allclose(
        model.predict_proba(with_task(new, new_task)),
        expected_proba(
            X, y, np.unique(task, return_inverse=True)[1], new,
            np.searchsorted(model.tasks_, new_task), criterion=criterion,
        ),
    )  # fmt: skip


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_task_is_a_plain_entropy_tree(criterion, n_classes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 5))
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=240), range(n_classes - 1))
    options = {"max_depth": 4, "min_samples_leaf": 15}  # few rows tie
    model = MultiTaskDecisionTreeClassifier(criterion=criterion, **options).fit(X, y)
    plain = DecisionTreeClassifier(criterion="entropy", random_state=0, **options).fit(
        X, y
    )
    assert_allclose(model.predict_proba(X), plain.predict_proba(X))
    assert_allclose(model.feature_importances_, plain.feature_importances_)
    assert model.get_n_leaves() == plain.get_n_leaves()
    assert model.get_depth() == plain.get_depth()


def test_joint_gain_rewards_telling_tasks_apart():
    """Feature 0 tells the tasks apart, feature 1 says a little of the label."""
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1], 100)
    y = rng.integers(0, 2, 200)
    X = np.column_stack([task, np.where(rng.random(200) < 0.7, y, 1 - y)])
    roots = {}
    for criterion in CRITERIA:
        model = MultiTaskDecisionTreeClassifier(
            task=-1, criterion=criterion, max_depth=1
        ).fit(with_task(X.astype(float), task), y)
        roots[criterion] = model.tree_.steps["feature"][0]
    assert roots == {"joint": 0, "sum": 1, "max": 1}


def test_pure_task_is_decided_at_the_root_and_its_rows_leave():
    X = with_task(
        np.array([[1.0], [2.0], [3.0], [4.0], [1.0], [4.0]]), [0] * 4 + [1] * 2
    )
    y = ["a", "a", "b", "b", "c", "c"]
    model = MultiTaskDecisionTreeClassifier(task=-1).fit(X, y)
    assert_array_equal(model.apply(X), [1, 1, 2, 2, 0, 0])
    assert_array_equal(model.tree_.stats["n_rows"], [6, 2, 2])
    assert_array_equal(model.predict(X), y)


def test_task_without_rows_on_one_side_is_answered_by_the_parent():
    # task 1 has rows on the left only, where it is not pure
    X = with_task(np.array([[1.0], [2.0], [8.0], [9.0], [1.0], [1.0], [2.0]]),
                  [0] * 4 + [1] * 3)  # fmt: skip
    y = [0, 0, 1, 1, 0, 0, 1]
    model = MultiTaskDecisionTreeClassifier(task=-1, max_depth=1).fit(X, y)
    assert_allclose(model.predict_proba([[9.0, 1.0]]), [[2 / 3, 1 / 3]])
    d = np.flatnonzero(model.tree_.decision_rows == 0)
    assert_array_equal(model.tree_.decision_task[d], [1])


def test_purity_decides_earlier():
    X, y, task = make_tasks(4)
    packed = with_task(X, task)
    sizes = [
        MultiTaskDecisionTreeClassifier(task=-1, purity=p).fit(packed, y).get_n_leaves()
        for p in (1.0, 0.8, 0.4)
    ]
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_unknown_task_gets_the_average_of_the_known_ones(missing):
    X, y, task = make_tasks(5, missing=missing)
    model = MultiTaskDecisionTreeClassifier(task=-1, unknown_task="share", max_depth=5)
    model.fit(with_task(X, task), y)
    each = [model.predict_proba(with_task(X, np.full(len(X), t))) for t in range(5)]
    shared = model.predict_proba(with_task(X, np.full(len(X), 99)))
    assert_allclose(shared, np.mean(each, axis=0))
    leaves = model.apply(with_task(X, np.full(len(X), 99)))
    assert model.tree_.is_leaf[leaves].all()


def test_decision_path_leads_from_the_root_to_the_decision():
    X, y, task = make_tasks(6)
    packed = with_task(X, task)
    model = MultiTaskDecisionTreeClassifier(task=-1).fit(packed, y)
    path = model.decision_path(packed)
    end = model.apply(packed)
    parent = model.tree_.parent
    for i in range(len(X)):
        nodes = path.indices[path.indptr[i] : path.indptr[i + 1]]
        assert nodes[0] == 0
        assert nodes[-1] == end[i]
        assert_array_equal(parent[nodes[1:]], nodes[:-1])


def test_weights_that_are_not_whole_act_like_those_that_are():
    X, y, task = make_tasks(7)
    packed = with_task(X, task)
    weight = np.random.default_rng(0).integers(0, 5, len(y))
    whole = MultiTaskDecisionTreeClassifier(task=-1).fit(packed, y, weight)
    for factor in (0.1, 1e-9, 1e9):
        model = MultiTaskDecisionTreeClassifier(task=-1).fit(packed, y, weight * factor)
        assert_array_equal(model.tree_.steps, whole.tree_.steps)
        assert_allclose(model.predict_proba(packed), whole.predict_proba(packed))
        assert_allclose(model.tree_.stats["weight"][0], weight.sum() * factor)


def test_balanced_classes_weigh_the_same_within_each_task():
    X, y, task = make_tasks(8, n_tasks=2)
    packed = with_task(X, task)
    weight = np.ones(len(y))
    for t in (0, 1):
        labels, counts = np.unique(y[task == t], return_counts=True)
        for label, count in zip(labels, counts, strict=True):
            weight[(task == t) & (y == label)] = (task == t).sum() / count / len(labels)
    options = {"task": -1, "max_depth": 3}
    balanced = MultiTaskDecisionTreeClassifier(class_weight="balanced", **options)
    by_hand = MultiTaskDecisionTreeClassifier(**options).fit(packed, y, weight)
    assert_allclose(
        balanced.fit(packed, y).predict_proba(packed), by_hand.predict_proba(packed)
    )


def test_class_weight_by_name():
    X, y, task = make_tasks(9)
    packed = with_task(X, task)
    options = {"task": -1, "max_depth": 3}
    named = MultiTaskDecisionTreeClassifier(class_weight={0: 5.0, 4: 0.5}, **options)
    by_hand = MultiTaskDecisionTreeClassifier(**options)
    by_hand.fit(packed, y, np.select([y == 0, y == 4], [5.0, 0.5], 1.0))
    assert_allclose(
        named.fit(packed, y).predict_proba(packed), by_hand.predict_proba(packed)
    )
    with pytest.raises(ValueError, match=r"not in y, \['no'\]"):
        MultiTaskDecisionTreeClassifier(task=-1, class_weight={"no": 2}).fit(packed, y)


def test_missingness_itself_can_be_the_test():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 2))
    y = rng.integers(0, 2, 100)
    X[y == 1, 1] = np.nan
    model = MultiTaskDecisionTreeClassifier().fit(X, y)
    assert model.tree_.node_count == 3
    assert np.isinf(model.tree_.steps["threshold"][0])
    assert_array_equal(model.predict(X), y)


def test_task_without_weight_is_named():
    X, y, task = make_tasks(10)
    with pytest.raises(ValueError, match="Task 3 has no row of positive weight"):
        MultiTaskDecisionTreeClassifier(task=-1).fit(
            with_task(X, task), y, np.where(task == 3, 0.0, 1.0)
        )


def test_float32_and_float64_agree_and_any_layout_is_taken():
    X, y, task = make_tasks(11)
    packed = with_task(X.astype(np.float32), task)
    model = MultiTaskDecisionTreeClassifier(task=-1).fit(packed, y)
    for other in (
        packed.astype(np.float64),
        np.asfortranarray(packed),
        packed[::-1][::-1],
    ):
        assert_array_equal(model.predict_proba(other), model.predict_proba(packed))


def test_number_of_tasks_does_not_slow_a_node_down():
    """100,000 tasks of two rows each: one pass over the rows for each level."""
    n_tasks = 100_000
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(n_tasks), 2)
    X = rng.normal(size=(2 * n_tasks, 3))
    y = (X[:, 0] > 0).astype(int)
    packed = with_task(X, task)
    model = MultiTaskDecisionTreeClassifier(task=-1, max_depth=6).fit(packed, y)
    assert (model.predict(packed) == y).mean() > 0.99
