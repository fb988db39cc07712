"""Laplace's approximation against dense matrices and differences."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from kinlearn.linear.mixed._terms import Term, split_theta
from kinlearn.linear.mixed.laplace import (
    Effects,
    FixedColumns,
    LaplaceProblem,
    find_modes,
    fit_laplace,
    invert,
    laplace,
)
from kinlearn.linear.mixed.laplace._rows import RowPattern
from tests.reference.laplace import dense_columns, dense_root, laplace_log_likelihood
from tests.reference.laplace import fit_laplace as fit_slowly

FAMILIES = ["binomial", "poisson"]
COVARIANCES = ["full", "diagonal", "scaled_identity", "low_rank"]


def random_problem(seed, n_terms=None, n=None, sparse=False):
    """Rows with one to three groupings, slopes, weights and an offset."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(30, 60))
    family = int(rng.integers(2))
    X = rng.normal(size=(n, 2))
    terms, codes, Z = [], [], []
    for k in range(n_terms or rng.integers(1, 4)):
        levels = int(rng.integers(2, 8))
        columns = [(), (0,), (0, 1)][int(rng.integers(3))]
        covariance = COVARIANCES[int(rng.integers(4))]
        terms.append(Term(f"g{k}", levels, columns, covariance, 1))
        codes.append(rng.integers(levels, size=n).astype(np.int32))
        Z.append(np.column_stack([np.ones(n), *(X[:, c] for c in columns)]))
    eta = 0.3 + X @ [0.5, -0.4] + 0.5 * rng.normal(size=8)[codes[0]]
    if family == 0:
        y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    else:
        y = rng.poisson(np.exp(eta)).astype(float)
    shift, scale = X.mean(axis=0), X.std(axis=0)
    matrix = sp.csr_array(X) if sparse else X
    fixed = FixedColumns.of_rows(matrix, True, shift, scale)
    weight = rng.integers(0, 3, size=n).astype(float)
    offset = rng.normal(scale=0.3, size=n)
    ridge = np.array([0.0, 0.5, 0.5])
    return LaplaceProblem(family, y, weight, offset, fixed, ridge, terms, Z, codes)


def random_parameters(problem, seed):
    rng = np.random.default_rng(seed)
    theta = rng.normal(scale=0.7, size=sum(t.n_theta for t in problem.terms))
    return theta, rng.normal(scale=0.5, size=problem.fixed.n_columns)


def value_and_gradient(problem, theta, beta):
    zeros = Effects.zeros(problem)
    T = split_theta(problem.terms, theta)
    value, by_T, by_beta, modes = laplace(problem, T, Effects(zeros.u, zeros.d, beta))
    by_theta = [t.theta_of(G) for t, G in zip(problem.terms, by_T, strict=True)]
    return value, np.concatenate([*by_theta, by_beta]), modes


def dense_columns_of(problem):
    levels = [t.n_levels for t in problem.terms]
    return dense_columns(problem.Z, problem.codes, levels), levels


@pytest.mark.parametrize("seed", range(50))
def test_equals_the_dense_twin(seed):
    problem = random_problem(seed, sparse=seed % 3 == 0)
    theta, beta = random_parameters(problem, seed)
    value, _, modes = value_and_gradient(problem, theta, beta)
    Z, levels = dense_columns_of(problem)
    root = dense_root(split_theta(problem.terms, theta), levels)
    family = FAMILIES[problem.family]
    eta = problem.offset + problem.fixed.dot(beta)
    expected, mode = laplace_log_likelihood(
        family, problem.y, eta, Z, root, problem.weight
    )
    if family == "poisson":
        from scipy.special import gammaln

        expected += problem.weight @ gammaln(problem.y + 1)
    penalty = problem.ridge @ beta**2
    assert_allclose(-2 * expected + penalty, value, rtol=1e-10)
    b = [
        u @ T.T
        for u, T in zip(
            modes.effects.by_term(problem),
            split_theta(problem.terms, theta),
            strict=True,
        )
    ]
    assert_allclose(np.concatenate([x.ravel() for x in b]), mode, atol=1e-6)


@pytest.mark.parametrize("seed", range(50))
def test_gradient_equals_differences(seed):
    problem = random_problem(seed, sparse=seed % 3 == 0)
    theta, beta = random_parameters(problem, seed)
    _, gradient, _ = value_and_gradient(problem, theta, beta)
    x, m = np.concatenate([theta, beta]), len(theta)
    h = 1e-5
    for j in range(len(x)):
        ends = []
        for side in (h, -h):
            moved = x.copy()
            moved[j] += side
            ends.append(value_and_gradient(problem, moved[:m], moved[m:])[0])
        slope = (ends[0] - ends[1]) / (2 * h)
        assert_allclose(gradient[j], slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_inverse_of_the_equations(seed):
    problem = random_problem(seed)
    theta, _ = random_parameters(problem, seed)
    T = split_theta(problem.terms, theta)
    modes = find_modes(problem, T, Effects.zeros(problem), free_fixed=True)
    assert modes.converged
    inverse = invert(problem, modes)
    # the dense equations, in the order of the blocks
    order = [problem.pattern.first, *problem.pattern.rest]
    Z = dense_columns(
        [problem.Z[k] @ T[k] for k in order],
        [problem.codes[k] for k in order],
        [problem.terms[k].n_levels for k in order],
    )
    F = np.hstack([Z, problem.fixed.X if isinstance(problem.fixed.X, np.ndarray) else
                   problem.fixed.X.toarray()])  # fmt: skip
    prior = np.concatenate([np.ones(Z.shape[1]), problem.ridge])
    dense = np.linalg.inv(F.T @ (modes.curve[:, None] * F) + np.diag(prior))
    L, r = modes.effects.u.shape
    assert_allclose(inverse.dense, dense[L * r :, L * r :], atol=1e-8)
    for i in range(L):
        mine = slice(i * r, (i + 1) * r)
        assert_allclose(inverse.own[i], dense[mine, mine], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_optimum_is_that_of_the_dense_twin(seed):
    problem = random_problem(seed, n_terms=1 + seed % 2, n=40)
    found = fit_laplace(problem, tol=1e-10)
    Z, levels = dense_columns_of(problem)
    start = np.concatenate([found.theta, found.effects.beta])
    rng = np.random.default_rng(seed)
    X = problem.fixed.X
    start = start + rng.normal(scale=0.05, size=len(start))

    def matrix(theta):
        return split_theta(problem.terms, theta)

    _, beta, value = fit_slowly(
        FAMILIES[problem.family],
        problem.y,
        X,
        Z,
        levels,
        problem.weight,
        problem.offset,
        matrix,
        start,
        ridge=0.5 * np.array([0, 1, 1]),
    )
    del beta
    from scipy.special import gammaln

    constant = 0.0
    if problem.family == 1:
        constant = problem.weight @ gammaln(problem.y + 1)
    # no worse than the twin, which has no derivatives
    assert -0.5 * found.value - constant >= value - 1e-4


@pytest.mark.parametrize("sparse", [False, True])
def test_products_of_columns(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    shift, scale = X.mean(axis=0), X.std(axis=0)
    fixed = FixedColumns.of_rows(sp.csr_array(X) if sparse else X, True, shift, scale)
    F = np.column_stack([np.ones(30), (X - shift) / scale])
    w, coef = rng.random(30), rng.normal(size=5)
    codes = rng.integers(3, size=30).astype(np.int32)
    A = rng.normal(size=(30, 2))
    assert_allclose(fixed.dot(coef), F @ coef)
    assert_allclose(fixed.sums(w), w @ F)
    assert_allclose(fixed.gram(w), F.T @ (w[:, None] * F), atol=1e-12)
    by_level = np.zeros((3, 2, 5))
    np.add.at(by_level, codes, w[:, None, None] * A[:, :, None] * F[:, None, :])
    assert_allclose(fixed.by_level(codes, 3, A, w), by_level, atol=1e-12)
    S = sp.csr_array(A)
    assert_allclose(fixed.by_place(S, w), A.T @ (w[:, None] * F), atol=1e-12)


def test_more_effects_than_a_dense_matrix_may_have_are_refused(monkeypatch):
    rows = "kinlearn.linear.mixed.laplace._rows._MOST_DENSE"
    monkeypatch.setattr(rows, 10)
    terms = [Term("pupil", 40, ()), Term("class", 20, ())]
    codes = [np.arange(80) % 40, np.arange(80) % 20]
    with pytest.raises(ValueError, match=r"'class' have 20 effects.*At most 10"):
        RowPattern.of_rows(terms, codes)
