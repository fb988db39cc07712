r"""The SVM+ models as one quadratic programme.

With a sign :math:`z_i`, a cost :math:`c_i` and a group for each row, and
:math:`u = a + b - c`, every dual is

.. math::

    \min_{a, b \ge 0} \; p'a + \tfrac12 a'(zz' \circ K)a
        + \tfrac{1}{2 \gamma} u'(S \circ K^*)u,
    \qquad z'a = 0, \quad \sum_{i \in g} u_i = 0 \text{ for each group } g,

where S is 1 within groups, else 0. Classification has p = -1 and z = y. Regression
has each sample twice: with z = -1 and :math:`p = \epsilon + y` for predictions that
are too high, with z = 1 and :math:`p = \epsilon - y` for those too low, and groups
of their own for either side.

At the optimum, :math:`\xi = S \circ K^* u / \gamma + d_g` are the correcting
functions on the rows. If every row is a group of its own, u is 0, a is at most c,
and the model is the plain SVM.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["PlusProblem", "plus_classification", "plus_regression"]


@dataclass(frozen=True)
class PlusProblem:
    """A dual, without its kernels.

    Attributes
    ----------
    rows : intp array of shape (n,)
        Rows of the data that count, group by group.
    sample : intp array of shape (m,)
        For each row of the dual, its place in `rows`.
    z : float64 array of shape (m,)
        Signs, 1 or -1.
    linear : float64 array of shape (m,)
        The p of the objective.
    cost : float64 array of shape (m,)
        C times the weight of the row.
    group : int32 array of shape (m,)
        Groups, ascending, counted from 0. Samples of a group follow each other.
    """

    rows: np.ndarray
    sample: np.ndarray
    z: np.ndarray
    linear: np.ndarray
    cost: np.ndarray
    group: np.ndarray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group[-1]) + 1

    def start(
        self, former: "PlusProblem", a: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """A feasible point, by the solution of a problem like this one.

        All constraints stay met when variables and costs grow by one factor, so
        that the solution of another C can be taken, too.

        Parameters
        ----------
        former : PlusProblem
            The problem that was solved.
        a, b : float64 arrays of shape (m,)
            Its solution.

        Returns
        -------
        pair of float64 arrays of shape (m,), or None
            The point; None if rows, signs, groups or relative costs differ.
        """
        alike = (
            np.array_equal(self.rows, former.rows)
            and np.array_equal(self.z, former.z)
            and np.array_equal(self.group, former.group)
        )
        if not alike:
            return None
        factor = self.cost[0] / former.cost[0]
        if not np.allclose(self.cost, factor * former.cost, rtol=1e-12, atol=0):
            return None
        return factor * a, factor * b


def _by_group(group: np.ndarray, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that have a cost, group by group, and their groups counted anew."""
    rows = np.flatnonzero(cost > 0)
    rows = rows[np.argsort(group[rows], kind="stable")]
    _, codes = np.unique(group[rows], return_inverse=True)
    return rows, codes.astype(np.int32)


def plus_classification(
    sign: np.ndarray, cost: np.ndarray, group: np.ndarray
) -> PlusProblem:
    """The dual of two classes.

    Parameters
    ----------
    sign : array of shape (n_samples,)
        1 or -1; 0 leaves a row out.
    cost : float64 array of shape (n_samples,)
        C times the weight of each row; 0 leaves it out.
    group : int array of shape (n_samples,)
        Group codes.

    Returns
    -------
    PlusProblem
        The dual.
    """
    rows, codes = _by_group(group, np.where(sign != 0, cost, 0.0))
    n = len(rows)
    return PlusProblem(
        rows=rows,
        sample=np.arange(n),
        z=np.ascontiguousarray(sign[rows], dtype=np.float64),
        linear=np.full(n, -1.0),
        cost=cost[rows],
        group=codes,
    )


def plus_regression(
    y: np.ndarray, cost: np.ndarray, group: np.ndarray, epsilon: float
) -> PlusProblem:
    """The dual of numbers.

    Parameters
    ----------
    y : float64 array of shape (n_samples,)
        Targets.
    cost : float64 array of shape (n_samples,)
        C times the weight of each row; 0 leaves it out.
    group : int array of shape (n_samples,)
        Group codes.
    epsilon : float
        Half the width of the tube.

    Returns
    -------
    PlusProblem
        The dual; first the rows for predictions too high, then those too low.
    """
    rows, codes = _by_group(group, cost)
    n, n_groups = len(rows), codes[-1] + 1
    return PlusProblem(
        rows=rows,
        sample=np.tile(np.arange(n), 2),
        z=np.repeat([-1.0, 1.0], n),
        linear=np.concatenate([epsilon + y[rows], epsilon - y[rows]]),
        cost=np.tile(cost[rows], 2),
        group=np.concatenate([codes, codes + n_groups]).astype(np.int32),
    )
