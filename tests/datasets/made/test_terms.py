"""Documents to cluster: vocabularies shared as asked for."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.datasets import make_term_tasks


def test_the_published_size_and_form():
    X, y = make_term_tasks(random_state=0)
    assert isinstance(X, sp.csr_array)
    assert X.shape[0] == 1600
    assert_array_equal(np.bincount(y), [800, 800])
    counts = X.toarray()[:, :-1]
    assert_array_equal(counts, np.round(counts))
    assert (counts >= 0).all()
    assert (counts.sum(axis=1) >= 1).all()


def test_without_shared_terms_tasks_have_no_term_in_common():
    X, _ = make_term_tasks(3, n_samples_per_class=50, shared=0, random_state=0)
    X = X.toarray()
    used = np.array([X[X[:, -1] == t, :-1].sum(axis=0) > 0 for t in range(3)])
    assert used.sum(axis=0).max() == 1


def test_with_all_terms_shared_tasks_do_not_differ():
    X, _, truth = make_term_tasks(shared=1.0, return_truth=True, random_state=0)
    assert X.shape[1] == 3 * 20 + 1
    assert_array_equal(truth.term_probabilities[0], truth.term_probabilities[1])


def test_a_part_of_the_terms_is_shared():
    *_, truth = make_term_tasks(
        n_terms_per_class=10,
        n_common_terms=20,
        shared=0.3,
        return_truth=True,
        random_state=0,
    )
    used = (truth.term_probabilities > 0).any(axis=1)
    assert used.sum() == 2 * (10 + 10 + 20)
    assert used.all(axis=0).sum() == 3 + 3 + 6


@pytest.mark.parametrize("focus", [0.0, 0.7, 1.0])
def test_focus_is_the_share_of_class_terms(focus):
    *_, truth = make_term_tasks(focus=focus, return_truth=True, random_state=0)
    p = truth.term_probabilities
    assert_allclose(p.sum(axis=2), 1.0)
    common = np.minimum(p[:, 0], p[:, 1]).sum(axis=1)
    assert_allclose(common, 1 - focus)


def test_documents_have_the_mean_length():
    X, _ = make_term_tasks(length=30, random_state=0)
    lengths = X.toarray()[:, :-1].sum(axis=1)
    assert_allclose(lengths.mean(), 30, atol=5 * np.sqrt(30 / 1600))
