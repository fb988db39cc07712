"""Classes as signs: the binary problems that a shared booster weighs its learners for.

A task of two classes has one problem, +1 for its second class. A task of more has one
for each class against its others. A task of one class has none, and needs none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kinlearn.boosting.mtboost._rounds import LogisticLoss
from kinlearn.tasks import LabelSets

__all__ = ["BinaryProblems", "ClassScores"]


@dataclass(frozen=True, eq=False)
class BinaryProblems:
    """The problems, and the rows' signs in them: pair after pair of row and problem.

    Attributes
    ----------
    row, problem : intp arrays of shape (n_pairs,)
        Which row, which problem.
    sign : float64 array of shape (n_pairs,)
        +1 or -1.
    task : intp array of shape (n_problems,)
        Task of each problem.
    cell_problem : intp array of shape (n_tasks, n_classes)
        The problem that scores a class of a task; -1 for none.
    cell_sign : float64 array of shape (n_tasks, n_classes)
        Whether the problem is for the class (1) or against it (-1); 0 for none.
    """

    row: np.ndarray
    problem: np.ndarray
    sign: np.ndarray
    task: np.ndarray
    cell_problem: np.ndarray
    cell_sign: np.ndarray

    @classmethod
    def of(cls, data: Any, label_sets: LabelSets) -> Self:
        """The problems of rows (a TaskData or LaterData with classes).

        `label_sets` are the classes of each task among its rows of positive weight; a
        row of any other class is -1 in every problem.
        """
        n_labels = np.diff(label_sets.indptr)
        n_problems = np.where(n_labels > 2, n_labels, n_labels - 1)
        first = np.cumsum(n_problems) - n_problems
        # the table of cells: every class of every task
        owner = np.repeat(np.arange(data.n_tasks), n_labels)
        local = np.arange(len(owner)) - label_sets.indptr[owner]
        two, many = n_labels[owner] == 2, n_labels[owner] > 2
        shape = data.n_tasks, label_sets.n_classes
        cell_problem = np.full(shape, -1, dtype=np.intp)
        cell_sign = np.zeros(shape)
        place = owner, label_sets.codes
        number_of = np.full(shape, -1, dtype=np.intp)
        number_of[place] = local
        cell_problem[place] = np.where(
            two, first[owner], np.where(many, first[owner] + local, -1)
        )
        cell_sign[place] = np.where(two, 2.0 * local - 1, many)
        # the pairs
        times = n_problems[data.task]
        row = np.repeat(np.arange(data.n_samples), times)
        number = np.arange(len(row)) - (np.cumsum(times) - times)[row]
        label = number_of[data.task[row], data.y[row]]
        binary = n_labels[data.task[row]] == 2
        return cls(
            row=row,
            problem=first[data.task[row]] + number,
            sign=np.where(np.where(binary, label == 1, label == number), 1.0, -1.0),
            task=np.repeat(np.arange(data.n_tasks), n_problems),
            cell_problem=cell_problem,
            cell_sign=cell_sign,
        )

    @property
    def n_problems(self) -> int:
        """Number of problems."""
        return len(self.task)

    def without_pairs(self) -> Self:
        """The problems alone, without the training rows: what a fitted model keeps."""
        none = self.row[:0]
        return replace(self, row=none, problem=none, sign=self.sign[:0])

    def losses(self, kept: np.ndarray) -> Callable[[np.ndarray], LogisticLoss]:
        """What makes, of weights of the rows, the loss of some of the problems."""
        number, n_kept = np.cumsum(kept) - 1, int(kept.sum())
        problem = number[self.problem]
        return lambda weight: LogisticLoss(self.row, problem, self.sign, weight, n_kept)

    def offsets(self, weight: np.ndarray) -> np.ndarray:
        """Log-odds of the problems by weights of pairs, half a row on each side."""
        total = np.bincount(self.problem, weight, minlength=self.n_problems)
        signed = np.bincount(
            self.problem, weight * self.sign, minlength=self.n_problems
        )
        return np.log((total + signed + 1) / (total - signed + 1))

    def between_tasks(self, matrix: np.ndarray) -> np.ndarray:
        """A covariance of problems as one of tasks.

        Where each task has at most one problem, the entries; otherwise the sum over the
        classes that both tasks have. Zero for a task without problem.
        """
        n_tasks = len(self.cell_problem)
        out = np.zeros((n_tasks, n_tasks))
        if len(np.unique(self.task)) == self.n_problems:
            out[np.ix_(self.task, self.task)] = matrix
            return out
        for problem, sign in zip(self.cell_problem.T, self.cell_sign.T, strict=True):
            has = np.flatnonzero(problem >= 0)
            block = matrix[np.ix_(problem[has], problem[has])]
            out[np.ix_(has, has)] += block * np.outer(sign[has], sign[has])
        return out


@dataclass(frozen=True, eq=False)
class ClassScores:
    """From learners' outputs to scores of classes; the last row is the average task.

    Attributes
    ----------
    weights : float64 array of shape (n_rounds, n_columns)
        Weights of the learners for each problem, then for each class of the average
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
        problems: BinaryProblems,
        weights: np.ndarray,
        offsets: np.ndarray,
        only: np.ndarray,
    ) -> Self:
        """The scores of a boosted model, by the problems' weights and offsets.

        `only` is the score of a task's only class. The average task is added: its score
        of a class is the mean over the tasks that have the class.
        """
        n_classes = problems.cell_problem.shape[1]
        mean_weights = np.zeros((len(weights), n_classes))
        mean_offsets = np.zeros(n_classes)
        # of two classes, what is for one is against the other
        known = only - only[:, ::-1] if n_classes == 2 else only
        for k in range(n_classes):
            has = np.flatnonzero(problems.cell_problem[:, k] >= 0)
            n_tasks = max(len(has) + np.count_nonzero(known[:, k]), 1)
            problem, sign = problems.cell_problem[has, k], problems.cell_sign[has, k]
            mean_weights[:, k] = weights[:, problem] @ sign / n_tasks
            mean_offsets[k] = (offsets[problem] @ sign + known[:, k].sum()) / n_tasks
        last = problems.n_problems + np.arange(n_classes)
        return cls(
            weights=np.hstack([weights, mean_weights]),
            offsets=np.append(offsets, mean_offsets),
            column=np.vstack([problems.cell_problem, last]),
            sign=np.vstack([problems.cell_sign, np.ones(n_classes)]),
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
