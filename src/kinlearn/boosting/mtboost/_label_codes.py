"""Classes as signs: the codes that a shared booster weighs its learners for.

A task of two classes has one code, +1 for its second class. A task of more has a code
for each class against its others. A task of one class has none, and needs none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kinlearn.boosting.mtboost._rounds import LogisticLoss
from kinlearn.tasks import LabelSets

__all__ = ["ClassScores", "LabelCodes"]


@dataclass(frozen=True, eq=False)
class LabelCodes:
    """The codes, and the rows' signs in them: one pair of (row, code) after another.

    Attributes
    ----------
    row, code : intp arrays of shape (n_pairs,)
        Which row, which code.
    sign : float64 array of shape (n_pairs,)
        +1 or -1.
    task : intp array of shape (n_codes,)
        Task of each code.
    cell_code : intp array of shape (n_tasks, n_classes)
        The code that scores a class of a task; -1 for none.
    cell_sign : float64 array of shape (n_tasks, n_classes)
        Whether the code is for the class (1) or against it (-1); 0 for none.
    """

    row: np.ndarray
    code: np.ndarray
    sign: np.ndarray
    task: np.ndarray
    cell_code: np.ndarray
    cell_sign: np.ndarray

    @classmethod
    def of(cls, data: Any, label_sets: LabelSets) -> Self:
        """The codes of rows (a TaskData or LaterData with classes).

        `label_sets` are the classes of each task among its rows of positive weight; a
        row of any other class is -1 in every code.
        """
        n_labels = np.diff(label_sets.indptr)
        n_codes = np.where(n_labels > 2, n_labels, n_labels - 1)
        first = np.cumsum(n_codes) - n_codes
        # the table of cells: every class of every task
        owner = np.repeat(np.arange(data.n_tasks), n_labels)
        local = np.arange(len(owner)) - label_sets.indptr[owner]
        two, many = n_labels[owner] == 2, n_labels[owner] > 2
        shape = data.n_tasks, label_sets.n_classes
        cell_code = np.full(shape, -1, dtype=np.intp)
        cell_sign = np.zeros(shape)
        place = owner, label_sets.codes
        number_of = np.full(shape, -1, dtype=np.intp)
        number_of[place] = local
        cell_code[place] = np.where(
            two, first[owner], np.where(many, first[owner] + local, -1)
        )
        cell_sign[place] = np.where(two, 2.0 * local - 1, many)
        # the pairs
        times = n_codes[data.task]
        row = np.repeat(np.arange(data.n_samples), times)
        number = np.arange(len(row)) - (np.cumsum(times) - times)[row]
        label = number_of[data.task[row], data.y[row]]
        binary = n_labels[data.task[row]] == 2
        return cls(
            row=row,
            code=first[data.task[row]] + number,
            sign=np.where(np.where(binary, label == 1, label == number), 1.0, -1.0),
            task=np.repeat(np.arange(data.n_tasks), n_codes),
            cell_code=cell_code,
            cell_sign=cell_sign,
        )

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return len(self.task)

    def without_pairs(self) -> Self:
        """The codes alone, without the training rows: what a fitted model keeps."""
        none = self.row[:0]
        return replace(self, row=none, code=none, sign=self.sign[:0])

    def losses(self, kept: np.ndarray) -> Callable[[np.ndarray], LogisticLoss]:
        """What makes, of weights of the rows, the loss of some of the codes."""
        number, n_kept = np.cumsum(kept) - 1, int(kept.sum())
        code = number[self.code]
        return lambda weight: LogisticLoss(self.row, code, self.sign, weight, n_kept)

    def offsets(self, weight: np.ndarray) -> np.ndarray:
        """Log-odds of the codes, half a row added on each side, by weights of pairs."""
        total = np.bincount(self.code, weight, minlength=self.n_codes)
        signed = np.bincount(self.code, weight * self.sign, minlength=self.n_codes)
        return np.log((total + signed + 1) / (total - signed + 1))

    def between_tasks(self, matrix: np.ndarray) -> np.ndarray:
        """A covariance of codes as one of tasks.

        Where each task has at most one code, the entries; otherwise the sum over the
        classes that both tasks have. Zero for a task without code.
        """
        n_tasks = len(self.cell_code)
        out = np.zeros((n_tasks, n_tasks))
        if len(np.unique(self.task)) == self.n_codes:
            out[np.ix_(self.task, self.task)] = matrix
            return out
        for code, sign in zip(self.cell_code.T, self.cell_sign.T, strict=True):
            has = np.flatnonzero(code >= 0)
            block = matrix[np.ix_(code[has], code[has])]
            out[np.ix_(has, has)] += block * np.outer(sign[has], sign[has])
        return out


@dataclass(frozen=True, eq=False)
class ClassScores:
    """From learners' outputs to scores of classes; the last row is the average task.

    Attributes
    ----------
    weights : float64 array of shape (n_rounds, n_columns)
        Weights of the learners for each code, then for each class of the average
        task.
    offsets : float64 array of shape (n_columns,)
        Scores before the first round.
    column : intp array of shape (n_tasks + 1, n_classes)
        The column that scores a class of a task; -1 for none.
    sign : float64 array of shape (n_tasks + 1, n_classes)
        Its sign; 0 for none.
    alone : float64 array of shape (n_tasks + 1, n_classes)
        The score of a task's only class; otherwise 0.
    """

    weights: np.ndarray
    offsets: np.ndarray
    column: np.ndarray
    sign: np.ndarray
    alone: np.ndarray

    @classmethod
    def of(
        cls,
        codes: LabelCodes,
        weights: np.ndarray,
        offsets: np.ndarray,
        only: np.ndarray,
    ) -> Self:
        """The scores of a boosted model, by the codes' weights and offsets.

        `only` is the score of a task's only class. The average task is added: its score
        of a class is the mean over the tasks that have the class.
        """
        n_classes = codes.cell_code.shape[1]
        mean_weights = np.zeros((len(weights), n_classes))
        mean_offsets = np.zeros(n_classes)
        # of two classes, what is for one is against the other
        known = only - only[:, ::-1] if n_classes == 2 else only
        for k in range(n_classes):
            has = np.flatnonzero(codes.cell_code[:, k] >= 0)
            n_tasks = max(len(has) + np.count_nonzero(known[:, k]), 1)
            code, sign = codes.cell_code[has, k], codes.cell_sign[has, k]
            mean_weights[:, k] = weights[:, code] @ sign / n_tasks
            mean_offsets[k] = (offsets[code] @ sign + known[:, k].sum()) / n_tasks
        last = codes.n_codes + np.arange(n_classes)
        return cls(
            weights=np.hstack([weights, mean_weights]),
            offsets=np.append(offsets, mean_offsets),
            column=np.vstack([codes.cell_code, last]),
            sign=np.vstack([codes.cell_sign, np.ones(n_classes)]),
            alone=np.vstack([only, np.zeros(n_classes)]),
        )

    def start(self, task: np.ndarray) -> np.ndarray:
        """Scores before the first round; 0 for classes that a task lacks."""
        return self.sign[task] * self.offsets[self.column[task]] + self.alone[task]

    def add(
        self,
        outputs: np.ndarray,
        task: np.ndarray,
        scores: np.ndarray,
        rounds: slice = slice(None),
    ) -> None:
        """Add the outputs of the learners of some rounds, weighted."""
        weights = self.weights[rounds].T
        for k in range(scores.shape[1]):
            of_row = weights[self.column[task, k]]
            scores[:, k] += self.sign[task, k] * np.einsum("ij,ij->i", outputs, of_row)
