"""Corrected intervals, Holm's adjustment, means over tasks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from kinlearn.audit.statistics._intervals import fold_means, holm, macro_mean


def counts(shape, n_train=8, n_test=2, n_units=10):
    units = np.broadcast_to(n_units, shape[-1])
    return np.full(shape, n_train), np.full(shape, n_test), units


def test_one_repeat_is_the_corrected_resampled_t():
    values = np.random.default_rng(0).normal(0.3, 1, (1, 5, 1))
    means = fold_means(values, *counts(values.shape))
    se = values.std(ddof=1) * np.sqrt(1 / 5 + 2 / 8)
    assert_allclose(means.mean, values.mean())
    assert_allclose(means.se, se)
    assert_allclose(means.df, 4)
    expected = stats.t.interval(0.9, 4, loc=values.mean(), scale=se)
    assert_allclose(np.ravel(means.interval(0.9)), expected)
    assert_allclose(means.p_values(), 2 * stats.t.sf(abs(values.mean() / se), 4))


def test_repeats_steady_the_mean_and_count_no_rows_twice():
    values = np.random.default_rng(0).normal(size=(4, 5, 1))
    means = fold_means(values, *counts(values.shape))
    assert_allclose(means.se, values.std(ddof=1) * np.sqrt(1 / 5 + 2 / 8))
    assert means.n_folds == 20


def test_degrees_of_freedom_are_what_the_variance_is_worth():
    # For normal rows the spread of S^2 itself tells: 2 E[S^2]^2 / Var[S^2].
    rng = np.random.default_rng(0)
    n, n_splits, n_repeats, n_runs = 20, 5, 3, 20000
    rows = rng.normal(size=(n_runs, 1, n)).repeat(n_repeats, axis=1)
    folds = rng.permuted(rows, axis=-1).reshape(n_runs, n_repeats, n_splits, -1)
    variance = folds.mean(axis=-1).var(axis=-1, ddof=1).mean(axis=-1)
    measured = 2 * variance.mean() ** 2 / variance.var()
    values = np.zeros((n_repeats, n_splits, 1))
    df = fold_means(values, *counts(values.shape, n_units=n)).df
    assert_allclose(df, measured, rtol=0.05)


@pytest.mark.parametrize(
    ("shape", "n_units", "df"),
    [
        ((1, 5, 1), 100, 4),  # one repeat: as published
        ((1000, 5, 1), 12, 11),  # any number of repeats: what the rows are worth
        ((10, 5, 1), 5, 4),  # five positive rows
        ((1, 50, 1), 6, 5),  # fifty random splits of six rows
        ((7, 1, 1), 100, 6),  # one split a repeat
        ((3, 5, 1), 1, 1),
    ],
)
def test_degrees_of_freedom_at_the_ends(shape, n_units, df):
    means = fold_means(np.zeros(shape), *counts(shape, n_units=n_units))
    assert_allclose(means.df, df, rtol=0.02)


def test_folds_without_a_score_are_left_out():
    values = np.random.default_rng(0).normal(size=(2, 5, 2))
    with_gaps = values.copy()
    with_gaps[:, 3:, 0] = np.nan
    n_train, n_test, units = counts(values.shape)
    n_test[:, 3:, 0] = 99  # of a fold that does not count
    gaps = fold_means(with_gaps, n_train, n_test, units)
    short = fold_means(values[:, :3], n_train[:, :3], n_test[:, :3], units)
    for name in ("mean", "se", "df", "n_folds"):
        assert_allclose(getattr(gaps, name)[0], getattr(short, name)[0])
    whole = fold_means(values, *counts(values.shape))
    assert_allclose(gaps.se[1], whole.se[1])


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([[0.0, 0, 0]], 0),  # the same model twice
        ([[0.2, 0.8 - 0.6, 0.7 - 0.5]], 0.2),  # constant but for rounding
        ([[0.3, np.nan, np.nan]], 0.3),  # one fold
        ([[np.nan, np.nan, np.nan]], np.nan),
    ],
)
def test_no_interval_without_a_variance(values, mean):
    values = np.array(values)[..., np.newaxis]
    means = fold_means(values, *counts(values.shape))
    assert_allclose(means.mean, mean)
    assert_allclose([means.se, means.p_values(), *means.interval(0.95)], np.nan)


def test_no_interval_for_a_task_that_is_never_trained_on():
    values = np.array([[0.1], [0.4]])[..., np.newaxis]
    means = fold_means(values, *counts(values.shape, n_train=0, n_test=1, n_units=1))
    assert_allclose(means.mean, 0.25)
    assert_allclose(means.se, np.nan)


def test_macro_mean_is_the_mean_by_fold_if_nothing_is_missing():
    values = np.random.default_rng(0).normal(size=(3, 5, 4))
    macro = macro_mean(values, *counts(values.shape))
    by_fold = values.mean(axis=-1, keepdims=True)
    expected = fold_means(by_fold, *counts((3, 5, 1), n_units=40))
    for name in ("mean", "se", "df", "n_folds"):
        assert_allclose(getattr(macro, name), getattr(expected, name))


def test_macro_mean_counts_every_task_alike_and_skips_the_unscored():
    values = np.random.default_rng(0).normal(size=(1, 4, 3))
    values[0, 1:3, 0] = np.nan
    values[..., 2] = np.nan
    macro = macro_mean(values, *counts(values.shape))
    assert_allclose(
        macro.mean, (np.nanmean(values[..., 0]) + values[..., 1].mean()) / 2
    )


def test_gaps_widen_the_macro_mean_as_theory_says():
    # Independent folds: the variance of a mean of k scores is 1 / k, and that
    # of the mean over two tasks a quarter of the sum.
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1, 40000, 2))
    values[0, : 3 * 10000, 0] = np.nan
    n_train, n_test, units = counts(values.shape, n_test=0)
    macro = macro_mean(values, n_train, n_test, units * 10**6)
    assert_allclose(macro.se, np.sqrt(1 / 10000 + 1 / 40000) / 2, rtol=0.02)


def test_a_task_with_one_fold_is_not_known_for_sure():
    # 300 runs of four tasks without a true difference; one of them has one score
    rng = np.random.default_rng(0)
    outside = 0
    for _ in range(300):
        values = rng.normal(size=(1, 5, 4))
        values[0, 1:, 0] = np.nan
        macro = macro_mean(values, *counts(values.shape))
        low, high = macro.interval(0.95)
        outside += not low[0] <= 0 <= high[0]
    assert outside <= stats.binom.isf(1e-3, 300, 0.05)


def test_macro_mean_of_nothing_is_nan():
    macro = macro_mean(np.full((2, 3, 4), np.nan), *counts((2, 3, 4)))
    assert_allclose([macro.mean, macro.se], np.nan)


def test_holm_by_hand():
    # 0.01 * 4; then 0.02 * 3, 0.03 * 2 and 0.5 * 1, never less than before
    assert_allclose(holm([0.5, 0.01, 0.03, 0.02]), [0.5, 0.04, 0.06, 0.06])
    assert_allclose(holm([0.9, 0.8]), [1, 1])
    assert len(holm([])) == 0


def test_a_test_that_could_not_be_done_counts_among_the_tests():
    assert_allclose(holm([0.01, np.nan, 0.02]), [0.03, np.nan, 0.04])


@pytest.mark.parametrize("seed", range(5))
def test_holm_rejects_what_the_step_down_procedure_rejects(seed):
    p = np.random.default_rng(seed).beta(0.3, 2, size=12)
    rejected = np.zeros(12, dtype=bool)
    for step, i in enumerate(np.argsort(p)):
        if p[i] > 0.05 / (12 - step):
            break
        rejected[i] = True
    assert_allclose(holm(p) <= 0.05, rejected)
