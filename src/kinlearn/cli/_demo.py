"""``kin demo``: the question of this library, asked of a small example."""

import json
import time
from dataclasses import dataclass

from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kinlearn import keep_task
from kinlearn.datasets import load_demo
from kinlearn.metrics import TaskFrame
from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.sharing import PerTask, Pooled, TaskAsFeature
from kinlearn.tasks import task_codes
from kinlearn.trees import MultiTaskExtraTreesClassifier

__all__ = ["DemoScores", "run_demo", "show_demo"]


@dataclass(frozen=True)
class DemoScores:
    """Scores of the demo, by contender and clinic.

    Attributes
    ----------
    question : str
        What is predicted.
    rows : dict
        Number of rows of each clinic.
    by_task : dict of dict
        AUC by contender and clinic.
    macro : dict
        Mean AUC over clinics, by contender.
    seconds : float
        Time that all of it took.
    """

    question: str
    rows: dict
    by_task: dict
    macro: dict
    seconds: float

    def to_json(self):
        """All of it, for machines."""
        return json.dumps(
            {
                "question": self.question,
                "metric": "roc_auc",
                "rows": self.rows,
                "by_task": self.by_task,
                "mean_over_tasks": self.macro,
                "seconds": round(self.seconds, 3),
            },
            indent=2,
        )


def _contenders(task):
    linear, boosting = LogisticRegression(), HistGradientBoostingClassifier(max_iter=50)
    return {
        "alone": PerTask(linear, task=task),
        "pooled": Pooled(linear, task=task),
        "task as feature": TaskAsFeature(linear, task=task),
        "boosting, task as category": TaskAsFeature(boosting, task=task),
        "multi-task extra trees": MultiTaskExtraTreesClassifier(
            task=task, random_state=0
        ),
    }


def run_demo():
    """Score the contenders on the same folds of the demo data."""
    start = time.perf_counter()
    with threadpool_limits(1):  # spinning threads only slow a busy machine down
        return _score(load_demo(), start)


def _score(data, start):
    clinics, codes = task_codes(data.data, data.task)
    folds = TaskStratifiedKFold(5, task=data.task, shuffle=True, random_state=0)
    by_task, macro = {}, {}
    for name, form in _contenders(data.task).items():
        model = make_pipeline(keep_task(StandardScaler(), task=data.task), form)
        proba = cross_val_predict(
            model, data.data, data.target, cv=folds, method="predict_proba"
        )
        frame = TaskFrame(
            "roc_auc", data.target, y_score=proba[:, 1], tasks=clinics[codes]
        )
        by_task[name] = frame.by_task["roc_auc"]
        macro[name] = frame.macro["roc_auc"]
    return DemoScores(
        question="Will a patient be readmitted within a year?",
        rows={t: int(n) for t, n in zip(frame.tasks, frame.n_rows, strict=True)},
        by_task=by_task,
        macro=macro,
        seconds=time.perf_counter() - start,
    )


def _cell(score, scores):
    best, worst = max(scores), min(scores)
    style = "bold green" if score == best else "red" if score == worst else ""
    return Text(f"{score:.3f}{'*' if score == best else ' '}", style=style)


def show_demo(scores, console):
    """Print the table by clinic, and what it says.

    Parameters
    ----------
    scores : DemoScores
        As :func:`run_demo` gives.
    console : rich.console.Console
        Where to print.
    """
    total = sum(scores.rows.values())
    console.print(
        Panel(
            f"{total} patients of {len(scores.rows)} clinics (made-up data). "
            f"{scores.question}\nShould the clinics share a model? Area under the ROC "
            "curve, cross-validated,\nevery clinic in every fold; 0.5 is guessing, "
            "below 0.5 is worse than that.",
            title="kin demo",
            expand=False,
        )
    )
    table = Table(caption="* best of the row; the worst in red")
    table.add_column("clinic")
    table.add_column("rows", justify="right")
    for name in scores.by_task:
        table.add_column(name, justify="right")
    for clinic, n in sorted(scores.rows.items(), key=lambda item: -item[1]):
        row = [scores.by_task[name][clinic] for name in scores.by_task]
        table.add_row(clinic, str(n), *(_cell(score, row) for score in row))
    table.add_section()
    means = list(scores.macro.values())
    table.add_row("mean of clinics", "", *(_cell(score, means) for score in means))
    console.print(table)
    console.print(_summary(scores))
    console.print(
        f"[dim]{scores.seconds:.1f} s. The same as JSON: kin demo --json[/dim]"
    )


def _summary(scores):
    """What the table says, in words that are true whatever it holds."""
    alone, pooled = scores.by_task["alone"], scores.by_task["pooled"]
    better = [c for c in scores.rows if pooled[c] > alone[c]]
    worse = [c for c in scores.rows if pooled[c] < alone[c]]
    text = (
        f"One model for all clinics scores higher than a model of their own in "
        f"{len(better)} of {len(scores.rows)} clinics, lower in {len(worse)}"
    )
    worst = sorted(worse, key=lambda c: pooled[c] - alone[c])[:2]
    if worst:
        losses = " and ".join(f"{c} ({alone[c]:.2f} to {pooled[c]:.2f})" for c in worst)
        text += f", and most of all in {losses}"
    best = max(scores.macro, key=scores.macro.get)
    return f"{text}. On average over clinics '{best}' leads."
