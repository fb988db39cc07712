"""Tasks from random Bayesian networks: sizes, noise and local relatedness."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.neighbors import KNeighborsClassifier

from kinlearn.datasets import make_bayesnet_tasks
from kinlearn.datasets.made._bayesnet import DENSITIES, EDGES, _quantile


def split(X):
    return X[:, :-1], X[:, -1].astype(int)


@pytest.mark.parametrize(
    ("design", "n_classes", "per_class"),
    [("DS1", [3, 2], 100), ("DS2", [4, 3], 100), ("DS3", [6] * 5, 25)],
)
def test_sizes_of_the_published_sets(design, n_classes, per_class):
    X, y, truth = make_bayesnet_tasks(design, return_truth=True, random_state=0)
    assert X.shape == (sum(n_classes) * per_class, 3)
    assert_array_equal(np.bincount(truth.clean_y), np.full(sum(n_classes), per_class))
    _, task = split(X)
    first = 0
    for t, k in enumerate(n_classes):
        assert_array_equal(np.unique(y[task == t]), np.arange(first, first + k))
        first += k


def test_labels_start_anew_if_they_need_not_be_disjoint():
    X, y = make_bayesnet_tasks("DS1", disjoint_labels=False, random_state=0)
    _, task = split(X)
    assert_array_equal(np.unique(y[task == 0]), [0, 1, 2])
    assert_array_equal(np.unique(y[task == 1]), [0, 1])


def test_a_tenth_of_the_labels_is_noise_spread_evenly():
    X, y, truth = make_bayesnet_tasks(
        "DS3", n_samples_per_class=1000, return_truth=True, random_state=0
    )
    wrong = y != truth.clean_y
    sigma = np.sqrt(0.1 * 0.9 / len(y))
    assert_allclose(wrong.mean(), 0.1, atol=5 * sigma)
    _, task = split(X)
    assert_array_equal(y // 6, task)  # noise stays within the task's labels
    steps = np.bincount((y[wrong] - truth.clean_y[wrong]) % 6, minlength=6)
    assert steps[0] == 0
    assert stats.chisquare(steps[1:]).pvalue > 1e-4


def test_no_label_noise():
    _, y, truth = make_bayesnet_tasks(label_noise=0, return_truth=True, random_state=0)
    assert_array_equal(y, truth.clean_y)


@pytest.mark.parametrize("design", ["DS1", "DS2", "DS3"])
def test_the_label_follows_from_task_pattern_and_half(design):
    X, _, truth = make_bayesnet_tasks(design, return_truth=True, random_state=3)
    _, task = split(X)
    expected = [
        truth.labels[t][p, int(u)]
        for t, p, u in zip(task, truth.pattern, truth.upper, strict=True)
    ]
    assert_array_equal(truth.clean_y, expected)


def test_in_the_first_set_one_class_is_shared_by_both_of_the_other_task():
    # "the dark blue class of T1 is correlated with the violet in the upper part
    # of its density and with the light blue in the lower part"
    for seed in range(20):
        *_, truth = make_bayesnet_tasks("DS1", return_truth=True, random_state=seed)
        first, second = truth.labels
        assert_array_equal(first[:, 0], first[:, 1])
        assert_array_equal(np.sort(first[:, 0]), [0, 1, 2])
        cut = second[:, 0] != second[:, 1]
        assert cut.sum() == 1
        assert_array_equal(np.sort(second[cut][0]), [3, 4])
        assert_array_equal(np.sort(second[~cut, 0]), [3, 4])


def test_patterns_are_cut_with_the_given_probability():
    counts = []
    for seed in range(100):
        *_, truth = make_bayesnet_tasks(
            "DS3",
            n_samples_per_class=1,
            cut_prob=0.25,
            return_truth=True,
            random_state=seed,
        )
        counts += [(table[:, 0] != table[:, 1]).sum() for table in truth.labels]
    n = 6 * len(counts)
    assert_allclose(sum(counts) / n, 0.25, atol=5 * np.sqrt(0.25 * 0.75 / n))


def test_every_class_has_rows_of_its_own_pattern():
    for seed in range(30):
        *_, truth = make_bayesnet_tasks(
            n_classes=[5, 1, 2],
            n_samples_per_class=1,
            n_patterns=7,
            cut_prob=1.0,
            return_truth=True,
            random_state=seed,
        )
        expected = ([0, 1, 2, 3, 4], [5], [6, 7])
        for table, labels in zip(truth.labels, expected, strict=True):
            assert_array_equal(np.unique(table), labels)


def test_upper_rows_lie_above_lower_ones_at_the_root():
    X, _, truth = make_bayesnet_tasks(
        "DS3", n_features=4, return_truth=True, random_state=1
    )
    features, task = split(X)
    for p, network in enumerate(truth.networks):
        root = network.order[0]
        for t in range(5):
            own = (truth.pattern == p) & (task == t)
            upper = features[own & truth.upper, root]
            lower = features[own & ~truth.upper, root]
            if len(upper) and len(lower):
                assert upper.min() > lower.max()


def test_parents_come_before_their_children():
    *_, truth = make_bayesnet_tasks(n_features=8, return_truth=True, random_state=0)
    for network in truth.networks:
        assert sorted(network.order) == list(range(8))
        place = {name: i for i, name in enumerate(network.order)}
        for name, node in network.nodes.items():
            assert all(place[parent] < place[name] for parent in node.parents)
            assert bool(node.parents) == (place[name] > 0)


def test_tasks_are_related_place_by_place():
    # far apart, a neighbour of the other task tells which half of which pattern
    # a row comes from, and that tells the label
    X, _, truth = make_bayesnet_tasks(
        "DS3",
        n_samples_per_class=200,
        class_sep=30.0,
        label_noise=0,
        return_truth=True,
        random_state=0,
    )
    features, task = split(X)
    place = 2 * truth.pattern + truth.upper
    model = KNeighborsClassifier(5).fit(features[task == 0], place[task == 0])
    found = model.predict(features[task == 1])
    labels = truth.labels[1][found // 2, found % 2]
    assert np.mean(labels == truth.clean_y[task == 1]) > 0.9


def test_a_task_shift_of_zero_leaves_all_tasks_alike():
    X, _, truth = make_bayesnet_tasks(
        n_classes=[2, 2],
        n_samples_per_class=2000,
        cut_prob=0,
        task_shift=0.0,
        return_truth=True,
        random_state=0,
    )
    features, task = split(X)
    for p in range(2):
        for j in range(2):
            rows = truth.pattern == p
            pair = [features[rows & (task == t), j] for t in (0, 1)]
            assert stats.ks_2samp(*pair).pvalue > 1e-4


@pytest.mark.parametrize("density", DENSITIES)
def test_densities_are_standardised(density):
    a, b = 2.0, 3.5
    twin = {
        "gaussian": stats.norm(),
        "laplace": stats.laplace(scale=np.sqrt(0.5)),
        "beta": stats.beta(a, b),
    }[density]
    u = np.linspace(0.001, 0.999, 999)
    expected = (twin.ppf(u) - twin.mean()) / twin.std()
    assert_allclose(_quantile(u, density, (a, b)), expected, atol=1e-9)


@pytest.mark.parametrize("edge", EDGES)
def test_edge_functions_have_mean_and_variance_of_a_standard_normal(edge):
    z, weight = np.polynomial.hermite_e.hermegauss(60)
    weight = weight / weight.sum()
    value = EDGES[edge](z)
    assert_allclose(weight @ value, 0.0, atol=1e-9)
    assert_allclose(weight @ value**2, 1.0, rtol=1e-9)
