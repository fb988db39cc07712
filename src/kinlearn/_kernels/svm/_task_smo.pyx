"""Sequential minimal optimisation with one equality per task (SVM+MTL).

Classification and regression are one problem in beta (y_i a_i, or lambda_i):

    min  beta'Q beta / 2 - beta'y + eps sum |beta|,
    low <= beta <= high,  sum of beta over each task = 0,

with Q = K + [same task] K* / correction_penalty. F = Q beta - y is kept up to date.
Row i may rise if beta_i < high_i, and then F_i + up_i is its slope; it may fall if
beta_i > low_i, with slope F_i + down_i; up and down are eps or -eps, by the side of 0
that beta_i is on, or infinite where it may not move. A pair (i rises, j falls) of one
task violates optimality by F_j + down_j - F_i - up_i.

Without biases there are no equalities, and one or two rows move as they like.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs

from kinlearn._kernels._typedefs cimport f32_t, f64_t, intp_t
from kinlearn._kernels.svm._loops cimport (
    kinlearn_companion,
    kinlearn_extremes,
    kinlearn_partner,
    kinlearn_step,
)
from kinlearn._kernels.svm._rows cimport PRODUCT_ROWS, RowCache, n_chunks
from kinlearn._kernels.svm._task_rows cimport TaskRows

cdef f64_t ROUNDING = 1e-13
cdef f64_t TAU = 1e-12  # curvature that stands for one that is not positive

cdef enum:
    SIGNAL_WORK = 50_000_000  # cells between two looks for Ctrl-C


cdef class TaskSMO:
    """One problem and the state of its solution; `solve` is the entry."""

    cdef TaskRows rows
    cdef RowCache cache
    cdef intp_t n_rows, length, n_tasks
    cdef f64_t eps, tol
    cdef bint has_bias, unshrunk
    # by position
    cdef f64_t[::1] y, low, high, beta, F, up, down
    cdef f32_t[::1] diagonal
    # by task
    cdef kinlearn_extremes[::1] best
    cdef f64_t[::1] work
    cdef intp_t[::1] keep
    cdef intp_t work_done
    cdef readonly intp_t n_iter
    cdef readonly f64_t violation
    cdef readonly bint converged

    def __init__(self, TaskRows rows, intp_t cache_bytes, y, low, high, beta,
                 f64_t eps, f64_t tol, bint has_bias):
        cdef intp_t i, n = rows.n_rows
        self.rows = rows
        self.cache = RowCache(rows, cache_bytes)
        self.n_rows = self.length = n
        self.n_tasks = rows.n_tasks
        self.eps = eps
        self.tol = tol
        self.has_bias = has_bias
        self.y = np.array(y, dtype=np.float64)
        self.low = np.array(low, dtype=np.float64)
        self.high = np.array(high, dtype=np.float64)
        self.beta = np.array(beta, dtype=np.float64)
        self.F = rows.product(self.beta) - np.asarray(self.y)
        self.up = np.empty(n)
        self.down = np.empty(n)
        self.diagonal = rows.diagonals().astype(np.float32)
        self.best = np.empty(self.n_tasks, dtype=[
            ("least", "f8"), ("greatest", "f8"),
            ("at_least", "i8"), ("at_greatest", "i8")])
        self.work = np.empty(n)
        self.keep = np.empty(n, dtype=np.intp)
        for i in range(n):
            self._offsets(i)

    cdef void _offsets(self, intp_t i) noexcept nogil:
        cdef f64_t b = self.beta[i]
        if b >= self.high[i]:
            self.up[i] = INFINITY
        else:
            self.up[i] = self.eps if b >= 0.0 else -self.eps
        if b <= self.low[i]:
            self.down[i] = -INFINITY
        else:
            self.down[i] = self.eps if b > 0.0 else -self.eps

    cdef void _set_beta(self, intp_t i, f64_t value) noexcept nogil:
        """Bounds and zero are met exactly: rounding would leave rows a little free.

        Rounding is relative to what is added; by the bounds it would be, for a large C,
        all that rows have.
        """
        cdef f64_t slack = ROUNDING * fabs(self.beta[i])
        if value > self.high[i] - slack - ROUNDING * fabs(self.high[i]):
            value = self.high[i]
        elif value < self.low[i] + slack + ROUNDING * fabs(self.low[i]):
            value = self.low[i]
        elif fabs(value) < slack:
            value = 0.0
        self.beta[i] = value
        self._offsets(i)

    # ------------------------------------------------------------ the choice

    cdef void _update(self, const f32_t* p, const f32_t* q, f64_t a,
                      f64_t b) noexcept nogil:
        """F += a p + b q over the active rows, and the extremes of every task."""
        cdef intp_t t
        for t in range(self.n_tasks):
            kinlearn_step(&self.F[0], p, q, a, b, &self.up[0], &self.down[0],
                          self.rows.first[t], self.rows.last[t], &self.best[t])

    cdef void _rescan(self) noexcept nogil:
        """The extremes of every task, for F as it is."""
        # zero times the diagonal: any finite row will do
        self._update(&self.diagonal[0], &self.diagonal[0], 0.0, 0.0)

    cdef intp_t _worst_task(self) noexcept nogil:
        """The task that violates most, which sets `violation`."""
        cdef intp_t t, worst = 0
        cdef f64_t v
        self.violation = 0.0
        for t in range(self.n_tasks):
            if self.has_bias:
                v = self.best[t].greatest - self.best[t].least
            else:
                v = max(self.best[t].greatest, -self.best[t].least)
            if v > self.violation:
                self.violation = v
                worst = t
        return worst

    # -------------------------------------------------------------- the step

    cdef f64_t _length_of_step(self, f64_t slope, f64_t curvature, f64_t limit,
                               f64_t kink, f64_t other) noexcept nogil:
        """How far to go down a slope that is bent by 2 eps at two places."""
        cdef f64_t at = 0.0, nearest
        while True:
            nearest = min(limit, min(kink, other))
            if at + slope / curvature <= nearest:
                return at + slope / curvature
            if nearest == limit:
                return limit
            slope -= curvature * (nearest - at) + 2.0 * self.eps
            at = nearest
            if slope <= 0.0:
                return at
            if kink == nearest:
                kink = INFINITY
            else:
                other = INFINITY

    cdef void _move_pair(self, intp_t t) noexcept nogil:
        """One row of task t rises, one falls, by the same amount."""
        cdef intp_t i = self.best[t].at_least, j
        cdef const f32_t* p = self.cache.row(i)
        cdef const f32_t* q
        cdef f64_t a, step, slope, rise, fall
        j = kinlearn_partner(&self.F[0], &self.down[0], p, &self.diagonal[0],
                             self.best[t].least, self.diagonal[i],
                             self.rows.first[t], self.rows.last[t])
        if j < 0:
            j = self.best[t].at_greatest
        q = self.cache.row(j)
        # the rows' own cells: any other curvature could overshoot by rounding
        a = <f64_t>p[i] + q[j] - p[j] - q[i]
        slope = self.F[j] + self.down[j] - self.F[i] - self.up[i]
        rise = self.high[i] - self.beta[i]
        fall = self.beta[j] - self.low[j]
        step = self._length_of_step(
            slope, a if a > 0.0 else TAU, min(rise, fall),
            -self.beta[i] if self.beta[i] < 0.0 else INFINITY,
            self.beta[j] if self.beta[j] > 0.0 else INFINITY)
        self._set_beta(i, self.beta[i] + step)
        self._set_beta(j, self.beta[j] - step)
        self._update(p, q, step, -step)

    cdef intp_t _steepest(self) noexcept nogil:
        """The row that gains most if it moves alone."""
        cdef intp_t i, chosen = 0
        cdef f64_t gain, most = -1.0
        for i in range(self.length):
            gain = max(-self.F[i] - self.up[i], self.F[i] + self.down[i])
            if gain > 0.0:
                gain = gain * gain / max(self.diagonal[i], TAU)
                if gain > most:
                    most = gain
                    chosen = i
        return chosen

    cdef f64_t _slope(self, intp_t i, f64_t F) noexcept nogil:
        """The slope along which row i may go down, for its F; 0 if there is none."""
        if F + self.up[i] < 0.0:
            return F + self.up[i]
        if F + self.down[i] > 0.0:
            return F + self.down[i]
        return 0.0

    cdef f64_t _fraction_within(self, intp_t i, f64_t change) noexcept nogil:
        """The fraction of a change that keeps row i in its bounds, on its side of 0."""
        cdef f64_t b = self.beta[i], end
        if change > 0.0:
            end = self.high[i] if b >= 0.0 else 0.0
            return (end - b) / change
        if change < 0.0:
            end = self.low[i] if b <= 0.0 else 0.0
            return (end - b) / change
        return INFINITY

    cdef f64_t _change(self, intp_t i, f64_t by) noexcept nogil:
        """Change row i; gives what it changed by."""
        cdef f64_t before = self.beta[i]
        self._set_beta(i, before + by)
        return self.beta[i] - before

    cdef f64_t _descend_alone(self, intp_t i, f64_t F, f64_t curvature) noexcept nogil:
        """Move row i to its best place, for its F; gives what it changed by."""
        cdef f64_t slope = self._slope(i, F), b = self.beta[i], sign, limit
        if slope == 0.0:
            return 0.0
        sign = -1.0 if slope > 0.0 else 1.0
        limit = self.high[i] - b if sign > 0.0 else b - self.low[i]
        return self._change(i, sign * self._length_of_step(
            fabs(slope), curvature if curvature > 0.0 else TAU, limit,
            -sign * b if sign * b < 0.0 else INFINITY, INFINITY))

    cdef void _move_freely(self) noexcept nogil:
        """Without equalities: the row that gains most, and its best companion.

        Rows of a wide kernel are much alike, so that one row alone undoes what others
        did; two at once take many times fewer steps.
        """
        cdef intp_t i = self._steepest(), j
        cdef const f32_t* p = self.cache.row(i)
        cdef const f32_t* q
        cdef f64_t slope = self._slope(i, self.F[i]), other, det, by_i, by_j, fraction
        cdef f64_t F_i, F_j, total_i, total_j
        j = kinlearn_companion(
            &self.F[0], &self.up[0], &self.down[0], p, &self.diagonal[0], slope,
            self.diagonal[i], self.up[i] == self.down[i], 0, self.length)
        if j < 0 or j == i:
            total_i = self._descend_alone(i, self.F[i], p[i])
            self._update(p, p, total_i, 0.0)
            return
        q = self.cache.row(j)
        # to the minimum over both, or as far as both keep their sides
        other = self.F[j] + self.up[j]
        if self.up[j] != self.down[j]:
            other = self._slope(j, self.F[j])
        det = max(<f64_t>p[i] * q[j] - <f64_t>p[j] * q[i], 1e-6 * p[i] * q[j])
        by_i = (p[j] * other - q[j] * slope) / det
        by_j = (p[j] * slope - p[i] * other) / det
        fraction = min(1.0, self._fraction_within(i, by_i))
        fraction = min(fraction, self._fraction_within(j, by_j))
        total_i = self._change(i, fraction * by_i)
        total_j = self._change(j, fraction * by_j)
        # then each by itself, past a kink or along a bound
        F_i = self.F[i] + total_i * p[i] + total_j * q[i]
        by_i = self._descend_alone(i, F_i, p[i])
        total_i += by_i
        F_j = self.F[j] + total_i * p[j] + total_j * q[j]
        total_j += self._descend_alone(j, F_j, q[j])
        self._update(p, q, total_i, total_j)

    # ------------------------------------------------------------- shrinking

    cdef void _permute(self, f64_t[::1] values, const intp_t* order,
                       intp_t m) noexcept nogil:
        cdef intp_t p
        for p in range(m):
            self.work[p] = values[order[p]]
        for p in range(m):
            values[p] = self.work[p]

    cdef void _permute_all(self, const intp_t* order, intp_t m) noexcept nogil:
        cdef intp_t p
        self._permute(self.y, order, m)
        self._permute(self.low, order, m)
        self._permute(self.high, order, m)
        self._permute(self.beta, order, m)
        self._permute(self.F, order, m)
        self._permute(self.up, order, m)
        self._permute(self.down, order, m)
        for p in range(m):
            self.work[p] = self.diagonal[order[p]]
        for p in range(m):
            self.diagonal[p] = <f32_t>self.work[p]

    cdef void _shrink(self) noexcept nogil:
        """Set aside rows at a bound (or at zero) that no pair would move."""
        cdef intp_t i, t, m = 0
        cdef f64_t least, greatest
        for t in range(self.n_tasks):
            least = self.best[t].least if self.has_bias else 0.0
            greatest = self.best[t].greatest if self.has_bias else 0.0
            for i in range(self.rows.first[t], self.rows.last[t]):
                if (self.F[i] + self.up[i] > greatest
                        and self.F[i] + self.down[i] < least):
                    continue
                self.keep[m] = i
                m += 1
        # a few rows fewer are not worth moving all
        if m == 0 or m > 0.9 * self.length:
            return
        i = self.length
        self.cache.shrink(&self.keep[0], m)
        self._permute_all(&self.cache.order[0], i)
        self.length = m
        self.rows.find_segments(m)
        self._rescan()

    cdef int _unshrink(self) except -1 nogil:
        """Bring back all rows, with F computed anew for those that were away."""
        cdef intp_t n = self.n_rows, m = self.length, i, k = 0, at, size, chunk
        if m == n:
            return 0
        # the absent ones in the order of the data, so that tasks are neighbours
        for i in range(n):
            self.keep[i] = 0
        for i in range(m, n):
            self.keep[self.rows.place[i]] = i
        at = m
        for i in range(m):
            self.cache.order[i] = i
        for i in range(n):
            if self.keep[i]:
                self.cache.order[at] = self.keep[i]
                at += 1
        self.rows.reorder(&self.cache.order[0], n)
        self._permute_all(&self.cache.order[0], n)
        self.rows.find_segments(m)
        for i in range(m, n):
            self.F[i] = -self.y[i]
        for i in range(n):
            if self.beta[i] != 0.0:
                self.keep[k] = i
                self.work[k] = self.beta[i]
                k += 1
        for chunk in range(n_chunks(k, PRODUCT_ROWS)):
            i = chunk * PRODUCT_ROWS
            size = min(PRODUCT_ROWS, k - i)
            self.rows.add_product(&self.keep[i], &self.work[i], size, m, n, &self.F[m])
            self._look_for_signals(size * (n - m))
        self.cache.restore()
        self._permute_all(&self.cache.order[0], n)
        self.length = n
        self.rows.find_segments(n)
        self._rescan()
        return 0

    # -------------------------------------------------------------- the loop

    cdef int _look_for_signals(self, intp_t cells) except -1 nogil:
        self.work_done = self.work_done + cells
        if self.work_done > SIGNAL_WORK:
            self.work_done = 0
            with gil:
                PyErr_CheckSignals()
        return 0

    cdef int _run(self, intp_t max_iter, bint shrinking) except -1 nogil:
        cdef intp_t t, wait = min(self.n_rows, 1000), countdown = wait + 1
        cdef intp_t computed = 0
        self._rescan()
        while True:
            t = self._worst_task()
            if self.violation <= self.tol:
                if self.length == self.n_rows:
                    self.converged = True
                    return 0
                self._unshrink()
                countdown = 1
                continue
            if self.n_iter >= max_iter:
                self._unshrink()
                self._worst_task()
                return 0
            countdown -= 1
            if countdown == 0:
                countdown = wait
                if shrinking:
                    if not self.unshrunk and self.violation <= 10.0 * self.tol:
                        self.unshrunk = True
                        self._unshrink()
                    self._shrink()
                    t = self._worst_task()
                    if self.violation <= self.tol:
                        continue
            if self.has_bias:
                self._move_pair(t)
            else:
                self._move_freely()
            self.n_iter = self.n_iter + 1
            self._look_for_signals(
                self.length * (4 + 16 * (self.cache.n_computed - computed)))
            computed = self.cache.n_computed

    def go_on_from(self, const f64_t[::1] values):
        """Replace the kept values of the rows, which err by the cells' precision.

        Parameters
        ----------
        values : float64 array of shape (n_rows,)
            Q times the coefficients that `solve` found last.
        """
        cdef intp_t i
        for i in range(self.n_rows):  # `solve` leaves them in the order of the data
            self.F[i] = values[i] - self.y[i]
        self.converged = self.unshrunk = False

    def solve(self, intp_t max_iter, bint shrinking=True):
        """Go on until the violation is at most tol, or for max_iter steps.

        Parameters
        ----------
        max_iter : int
            Number of steps at the most.
        shrinking : bool, default=True
            Whether to set aside rows that look settled.

        Returns
        -------
        beta : float64 array of shape (n_rows,)
            The solution, in the order of the data.
        intercept : float64 array of shape (n_tasks,)
            Bias of each task; zeros without biases.
        """
        with nogil:
            self._run(max_iter, shrinking)
        intercept = np.zeros(self.n_tasks)
        cdef f64_t[::1] bias = intercept
        cdef intp_t t
        if self.has_bias:
            for t in range(self.n_tasks):
                bias[t] = self._bias(t)
        return np.array(self.beta), intercept

    cdef f64_t _bias(self, intp_t t) noexcept nogil:
        """Mean over the free rows; else the middle of what the bounds allow."""
        cdef intp_t i, n_free = 0
        cdef f64_t total = 0.0, low = -INFINITY, high = INFINITY
        for i in range(self.rows.first[t], self.rows.last[t]):
            if self.up[i] == self.down[i]:
                n_free += 1
                total -= self.F[i] + self.up[i]
            low = max(low, -self.F[i] - self.up[i])
            high = min(high, -self.F[i] - self.down[i])
        if n_free:
            return total / n_free
        if low == -INFINITY and high == INFINITY:
            return 0.0
        if low == -INFINITY:
            return high
        if high == INFINITY:
            return low
        return 0.5 * (low + high)

    @property
    def values(self):
        """Q times the coefficients, by cells in single precision."""
        return np.asarray(self.F) + np.asarray(self.y)

    @property
    def objective(self):
        """The dual objective, which is minimised."""
        cdef intp_t i
        cdef f64_t total = 0.0
        for i in range(self.n_rows):
            total += 0.5 * self.beta[i] * (self.F[i] - self.y[i])
            total += self.eps * fabs(self.beta[i])
        return total

    @property
    def n_computed(self):
        """Number of rows that were computed."""
        return self.cache.n_computed
