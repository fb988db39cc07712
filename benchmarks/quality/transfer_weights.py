"""Weights of source rows, simulated: figures 3.2, 3.3 and 4.3 of Al-Stouhi 2013.

Nothing is drawn at random: the factors are those of the library, the errors those that
the thesis sets.

- Figure 3.2, section 3.5.1: "The source error rate was set to 0.2, while the number of
  source instances (n) varied from 1000 to 10,000 and N in {20, 40, 60}"; then n = 1000
  and errors from 0.05 to 0.5. What remains of all source weight after a round.
- Figure 3.3, section 3.5.2: "n = 10000, m = 200, the source error rate was set to zero
  [...] N = 20", target errors 0.1, 0.2 and 0.3; then n = 1000, one round, and m / n of
  1%, 2% and 5%. The weight of source rows that are always right, relative to the
  Weighted Majority Algorithm, which would not change it.
- Figure 4.3, section 4.4: "900 majority instances, 100 minority instances and the weak
  classifier's arithmetic error rate was set to 0.2", each label's error proportional to
  its weight. *Silent:* the rounds (30, as elsewhere), and whether the error is
  proportional to the label's part of the weight, as the formula says, or to the others'
  part, as a classifier has that follows the weights.
"""

import numpy as np

from kinlearn.transfer._weight_updates import (
    RoundErrors,
    drained_correction,
    dynamic_correction,
    fixed_correction,
    source_factor,
    target_factor,
)

__all__ = ["TABLES", "after_a_round", "kept", "two_labels"]

ERRORS = (0.1, 0.2, 0.3)
ROUNDS = 20


def after_a_round(error, n_source, n_rounds):
    """Part of the source's weight that one round leaves.

    Parameters
    ----------
    error : float
        Of the source.
    n_source, n_rounds : int
        Rows of the source, and rounds in all.

    Returns
    -------
    float
        At most 1.
    """
    return 1.0 - error * (1.0 - source_factor(n_source, n_rounds))


def kept(error, n_source, n_target, n_rounds, *, corrected):
    """Weight of source rows that are always right, relative to the beginning.

    Parameters
    ----------
    error : float
        Of the target, in every round.
    n_source, n_target, n_rounds : int
        Rows and rounds.
    corrected : bool
        By the dynamic factor.

    Returns
    -------
    array of shape (n_rounds + 1,)
        From 1 on.
    """
    errors = RoundErrors(error, np.zeros(1), np.zeros(1), 1.0)
    factor = (dynamic_correction if corrected else fixed_correction)(errors)[0]
    source = begin = n_source / (n_source + n_target)
    out = [1.0]
    for _ in range(n_rounds):
        target = 1.0 - source
        target *= (1.0 - error) + error * target_factor(error)
        source *= factor
        source /= source + target
        out.append(source / begin)
    return np.array(out)


def two_labels(*, corrected, of_others, n_rounds=30):
    """Accuracy of each of two labels, 900 and 100 source rows, round by round.

    Parameters
    ----------
    corrected : bool
        By the factor of Rare-Transfer.
    of_others : bool
        Whether a label's error grows with the weight of the other label; else with its
        own, as printed.
    n_rounds : int, default=30
        How many.

    Returns
    -------
    array of shape (n_rounds + 1, 2)
        Of the common and of the rare label.
    """
    weight, beta = np.array([0.9, 0.1]), source_factor(1000, n_rounds)
    out = []
    for _ in range(n_rounds + 1):
        error = 0.2 * (1.0 - weight if of_others else weight)
        out.append(1.0 - error)
        errors = RoundErrors(0.2, error, error, beta)
        rule = drained_correction if corrected else fixed_correction
        weight = weight * (1.0 - error * (1.0 - beta)) * rule(errors)
        weight /= weight.sum()
    return np.array(out)


def _table(rows):
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _figure_3_2(names, folder):
    rows = [["rounds in all", "1,000 rows", "10,000 rows",
             *(f"1,000 rows, error {e:g}" for e in (0.05, 0.3, 0.5))]]  # fmt: skip
    for n_rounds in (20, 40, 60):
        values = [after_a_round(0.2, n, n_rounds) for n in (1000, 10_000)]
        values += [after_a_round(e, 1000, n_rounds) for e in (0.05, 0.3, 0.5)]
        rows.append([str(n_rounds), *(f"{v:.3f}" for v in values)])
    return _table(rows)


def _figure_3_3(names, folder):
    rows = [["target error", "after 10 rounds", "after 20 rounds",
             "dynamic, after 20 rounds",
             *(f"one round, {m} target rows for 100" for m in (1, 2, 5))]]  # fmt: skip
    for error in ERRORS:
        bare = kept(error, 10_000, 200, ROUNDS, corrected=False)
        right = kept(error, 10_000, 200, ROUNDS, corrected=True)
        ones = [kept(error, 1000, 10 * m, 1, corrected=False)[1] for m in (1, 2, 5)]
        cells = [f"{v:.3f}" for v in (bare[10], bare[20], right[20], *ones)]
        rows.append([f"{error:g}", *cells])
    return _table(rows)


def _figure_4_3(names, folder):
    rows = [["error of a label", "correction", "common, rare: round 1", "round 10",
             "round 30", "G-mean, round 30"]]  # fmt: skip
    for of_others, title in ((False, "by its own weight"), (True, "by the other's")):
        for corrected in (False, True):
            found = two_labels(corrected=corrected, of_others=of_others)
            cells = [f"{found[r, 0]:.3f}, {found[r, 1]:.3f}" for r in (0, 9, 29)]
            g_mean = f"{np.sqrt(found[29].prod()):.3f}"
            rows.append([title, "rare" if corrected else "none", *cells, g_mean])
    return _table(rows)


TABLES = {
    "figure-3-2": _figure_3_2,
    "figure-3-3": _figure_3_3,
    "figure-4-3": _figure_4_3,
}
