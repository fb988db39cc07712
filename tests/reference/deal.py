"""Dealing cells out to folds, as the kernel says it does."""

import numpy as np


def deal(rows, columns, counts, n_folds):
    """Even shares; the rest to the folds with least of its row, column, all."""
    by_row, by_column, total = {}, {}, np.zeros(n_folds, dtype=int)
    out = []
    for row, column, count in zip(rows, columns, counts, strict=True):
        in_row = by_row.setdefault(row, np.zeros(n_folds, dtype=int))
        in_column = by_column.setdefault(column, np.zeros(n_folds, dtype=int))
        # The loads before this cell decide: no fold gets two of its rest.
        first = sorted(
            range(n_folds), key=lambda f: (in_row[f], in_column[f], total[f], f)
        )
        share, rest = divmod(int(count), n_folds)
        dealt = np.full(n_folds, share)
        for fold in first[:rest]:
            for load in (dealt, in_row, in_column, total):
                load[fold] += 1
        out.append(dealt)
    return np.array(out).reshape(-1, n_folds)
