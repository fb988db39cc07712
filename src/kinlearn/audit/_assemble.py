"""From records to plain data: the cube of scores, and the dict of a result."""

from typing import Any

import numpy as np

from kinlearn.audit._contenders import Entry
from kinlearn.audit._relatedness import describe_relatedness
from kinlearn.audit._result import FORMAT, plain
from kinlearn.audit.run import (
    Cell,
    Comparison,
    LevelRecords,
    MemoryStore,
    versions,
)
from kinlearn.audit.statistics import ContenderSummary, Scores, Summary

__all__ = ["Outcome", "assemble"]


class Outcome:
    """What the contenders did on all folds.

    - `scores`: Of the contenders that finished all folds.
    - `errors`: Of those that did not.
    - `cost`: Seconds, memory and warnings of each.
    - `reasons`: Why a task has no score, or none on some folds, by task code.
    """

    def __init__(
        self,
        comparison: Comparison,
        entries: list[Entry],
        cells: list[Cell],
        store: MemoryStore | LevelRecords,
    ) -> None:
        folds, problem = comparison.folds, comparison.problem
        names = [entry.name for entry in entries]
        shape = len(names), folds.n_repeats, folds.n_splits
        values = np.full((*shape, problem.n_tasks), np.nan)
        micro = np.full(shape, np.nan)
        failed: dict[str, list] = {}
        undefined: dict[int, dict] = {}
        self.cost = {name: _Cost() for name in names}
        for cell in cells:
            record = store[cell.key]
            self.cost[cell.contender].add(record)
            if record["error"] is not None:
                failed.setdefault(cell.contender, []).append((cell, record["error"]))
                continue
            place = names.index(cell.contender), cell.repeat, cell.split
            values[place] = np.array(record["values"], dtype=np.float64)
            micro[place] = np.nan if record["micro"] is None else record["micro"]
            for code, why in record["reasons"].items():
                undefined.setdefault(int(code), {})[cell.repeat, cell.split] = why
        n_folds = folds.n_repeats * folds.n_splits
        self.errors = {
            name: f"{found[0][1]} (split {found[0][0].split} of repeat "
            f"{found[0][0].repeat}; failed on {len(found)} of {n_folds} folds)"
            for name, found in failed.items()
        }
        done = [i for i, name in enumerate(names) if name not in self.errors]
        self.scores = Scores(
            contenders=tuple(entries[i].contender for i in done),
            tasks=problem.tasks,
            n_rows=problem.sizes,
            values=values[done],
            micro=micro[done],
            n_train=folds.n_train,
            n_test=folds.n_test,
            n_units=None if comparison.scoring.by_row else problem.n_minor,
            width=comparison.scoring.width,
        )
        self.reasons = dict(folds.kept)
        for code, places in undefined.items():
            tested = int((folds.n_test[..., code] > 0).sum())
            why = next(iter(places.values()))
            where = (
                "" if len(places) == tested else f" in {len(places)} of {tested} folds"
            )
            self.reasons[code] = f"no score{where}: {why}"


class _Cost:
    """Seconds, memory and warnings of one contender."""

    def __init__(self) -> None:
        self.fit: list[float] = []
        self.score: list[float] = []
        self.peak: list[float] = []
        self.warnings: dict[str, None] = {}

    def add(self, record: dict[str, Any]) -> None:
        if record["error"] is None:
            self.fit.append(record["fit_seconds"])
            self.score.append(record["score_seconds"])
        if record["peak_mib"] is not None:
            self.peak.append(record["peak_mib"])
        self.warnings.update(dict.fromkeys(record["warnings"]))

    def to_dict(self) -> dict[str, Any]:
        """Means over folds of the times, the highest memory, and all warnings."""
        return {
            "fit_seconds": float(np.mean(self.fit)) if self.fit else None,
            "score_seconds": float(np.mean(self.score)) if self.score else None,
            "peak_mib": max(self.peak, default=None),
            "warnings": list(self.warnings),
        }


def _contenders(
    outcome: Outcome, entries: list[Entry], summaries: list[ContenderSummary]
) -> list[dict[str, Any]]:
    """The leaderboard: best first, those that failed last."""
    by_name = {summary.name: summary for summary in summaries}
    numbers = ("macro", "macro_se", "micro", "micro_se", "mean_rank")
    rows = []
    for entry in entries:
        summary = by_name.get(entry.name)
        rows.append(
            {
                "name": entry.name,
                "family": entry.contender.family,
                "form": entry.contender.form,
                "shares": entry.contender.shares,
                **{key: getattr(summary, key, None) for key in numbers},
                **outcome.cost[entry.name].to_dict(),
                "error": outcome.errors.get(entry.name),
            }
        )
    rows = plain(rows)
    return sorted(rows, key=lambda row: (row["macro"] is None, -(row["macro"] or 0)))


def assemble(
    *,
    comparison: Comparison,
    entries: list[Entry],
    outcome: Outcome,
    summary: Summary,
    relatedness: dict[str, Any],
    curve: dict[str, Any] | None,
    run: dict[str, Any],
) -> dict[str, Any]:
    """The dict of a result; see :meth:`SharingResult.to_dict`."""
    problem, folds = comparison.problem, comparison.folds
    scored = ~np.isnan(outcome.scores.values).all(axis=(0, 1, 2))
    found = summary.to_dict()
    gains = np.array([gain.gain for gain in summary.headline.gains])
    return plain(
        {
            "format": FORMAT,
            "kind": problem.kind,
            "metric": comparison.scoring.describe(),
            "data": {
                "n_rows": problem.n_rows,
                "n_features": problem.n_features,
                "n_tasks": problem.n_tasks,
                "task_name": problem.task_name,
                "target_name": problem.target_name,
                "classes": problem.classes,
            },
            "cv": {
                "n_splits": folds.n_splits,
                "n_repeats": folds.n_repeats,
                "splitter": folds.splitter,
            },
            "tasks": [
                {
                    "task": task,
                    "n_rows": problem.sizes[code],
                    "scored": scored[code],
                    "reason": outcome.reasons.get(code),
                }
                for code, task in enumerate(problem.tasks.tolist())
            ],
            "contenders": _contenders(outcome, entries, summary.contenders),
            "scores": found["scores"],
            "headline": found["headline"],
            "gains": found["gains"],
            "overall": found["overall"],
            "relatedness": describe_relatedness(relatedness, problem, gains),
            "curve": curve,
            "run": {"versions": versions(), **run},
            "verdict": found["verdict"],
        }
    )
