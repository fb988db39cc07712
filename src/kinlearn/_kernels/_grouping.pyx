"""Grouping rows by a code, and dealing groups out to folds."""

from kinlearn._kernels._typedefs cimport i32_t, intp_t


def group_by_code(const i32_t[::1] codes, intp_t[::1] indptr, intp_t[::1] order):
    """Stable counting sort of the rows by their code.

    Parameters
    ----------
    codes : int32 array of shape (n,)
        Codes in 0 .. k - 1; the caller has checked them.
    indptr : intp array of shape (k + 1,), filled
        Rows of code c are ``order[indptr[c]:indptr[c + 1]]``.
    order : intp array of shape (n,), filled
        Row numbers, ascending within each code.
    """
    cdef intp_t n = codes.shape[0]
    cdef intp_t k = indptr.shape[0] - 1
    cdef intp_t i, c
    with nogil:
        for c in range(k + 1):
            indptr[c] = 0
        for i in range(n):
            indptr[codes[i] + 1] += 1
        for c in range(k):
            indptr[c + 1] += indptr[c]
        # indptr[c] walks from the start of group c to its end, which is the
        # start of group c + 1: shifting by one place restores the starts.
        for i in range(n):
            c = codes[i]
            order[indptr[c]] = i
            indptr[c] += 1
        for c in range(k, 0, -1):
            indptr[c] = indptr[c - 1]
        indptr[0] = 0


def deal_cells(
    const i32_t[::1] rows,
    const i32_t[::1] columns,
    const intp_t[::1] counts,
    i32_t[:, ::1] row_load,
    i32_t[:, ::1] column_load,
    intp_t[::1] load,
    intp_t[:, ::1] out,
):
    """Deal cells out one after the other, each as evenly as can be.

    A cell of `count` things gives every fold ``count // n_folds``. The rest goes
    to the folds that have least so far of the rests of its row of the table,
    then of its column, then of the whole table. So every cell, and the rows of
    the table that are dealt, end up within one thing of even; columns and
    the whole nearly so.

    Parameters
    ----------
    rows, columns : int32 arrays of shape (n_cells,)
        Place of each cell in the table.
    counts : intp array of shape (n_cells,)
        Things in each cell.
    row_load : int32 array of shape (n_rows, n_folds), zero, changed
        Rests of each row dealt so far.
    column_load : int32 array of shape (n_columns, n_folds), zero, changed
        Rests of each column dealt so far.
    load : intp array of shape (n_folds,), zero, changed
        Rests dealt so far.
    out : intp array of shape (n_cells, n_folds), filled
        Things of each cell in each fold.
    """
    cdef intp_t n_folds = load.shape[0]
    cdef intp_t cell, even, rest, fold, best
    cdef i32_t row, column
    with nogil:
        for cell in range(rows.shape[0]):
            row, column = rows[cell], columns[cell]
            even = counts[cell] // n_folds
            rest = counts[cell] % n_folds
            for fold in range(n_folds):
                out[cell, fold] = even
            while rest > 0:
                best = -1
                for fold in range(n_folds):
                    if out[cell, fold] > even:
                        continue
                    if best < 0 or row_load[row, fold] < row_load[row, best]:
                        best = fold
                    elif row_load[row, fold] > row_load[row, best]:
                        continue
                    elif column_load[column, fold] < column_load[column, best]:
                        best = fold
                    elif column_load[column, fold] > column_load[column, best]:
                        continue
                    elif load[fold] < load[best]:
                        best = fold
                out[cell, best] += 1
                row_load[row, best] += 1
                column_load[column, best] += 1
                load[best] += 1
                rest -= 1
