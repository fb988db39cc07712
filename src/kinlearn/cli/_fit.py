"""``kin fit``: one model of all tasks, saved."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from kinlearn.audit import default_contenders
from kinlearn.cli._console import Output, Steps, progress_on
from kinlearn.cli._errors import UserError, data_errors, suggest
from kinlearn.cli._files import written
from kinlearn.cli._models import is_contender, make_model
from kinlearn.cli._training import Training
from kinlearn.persistence import save
from kinlearn.report import write_card

__all__ = ["describe_findings", "findings", "fit_model"]


@contextmanager
def _progress_of(estimator: Any, output: Output) -> Iterator[None]:
    """A progress bar for models that take callbacks, and no trace of it in them."""
    if not hasattr(estimator, "set_callbacks"):
        yield
        return
    with progress_on(output, "fitting") as advance:
        estimator.set_callbacks(Steps(advance))
        try:
            yield
        finally:
            estimator.set_callbacks()


def fit_model(
    training: Training,
    path: Path,
    output: Output,
    *,
    model: str,
    form: str | None = None,
    settings: Sequence[str] = (),
    n_jobs: int | None = None,
    seed: int = 0,
    card: Path | None = None,
    estimators: Mapping[str, Any] | None = None,
    key: bytes | None = None,
) -> None:
    """Fit a model to a table and save it, and write its card."""
    if is_contender(model):
        estimator, preparation = _contender(model, training, settings, seed)
    else:
        estimator, scale = make_model(
            model,
            training.kind,
            task=training.task,
            form=form,
            settings=settings,
            n_jobs=n_jobs,
            seed=seed,
            estimators=estimators,
        )
        inner = getattr(estimator, "estimator", None)
        # None is an estimator's own default
        inner = estimator if inner is None else inner
        # the model makes of categories what suits it
        preparation = training.encoder(
            categories="category",
            fill=not get_tags(inner).input_tags.allow_nan,
            scale=scale,
        )
    pipeline = Pipeline([("prepare", preparation), ("model", estimator)])
    output.print_notes()
    start = time.perf_counter()
    # Pools that spin slow a busy machine down; --jobs is for those who have cores.
    threads = threadpool_limits(n_jobs if n_jobs and n_jobs > 0 else 1)
    with data_errors(), threads, _progress_of(estimator, output):
        pipeline.fit(training.X, training.y)
    seconds = time.perf_counter() - start
    manifest = {
        "model": model if form is None else f"{model} ({form})",
        "settings": list(settings),
        "kind": training.kind,
        "target": training.target,
        "classes": training.classes,
        "task": training.task,
        "tasks": training.tasks.tolist(),
        "rows": len(training.X),
        "columns": training.kinds,
    }
    with written(path):
        save(pipeline, path, about=manifest, key=key)
    if card is not None:
        with written(card):
            write_card(estimator, card, about={**manifest, "file": path.name})
    found = findings(estimator)
    output.show(
        f"Fitted {manifest['model']} ({training.kind}) to {training.describe()} in "
        f"{seconds:.1f} s.",
        *describe_findings(found, kind=training.kind, task=training.task),
        f"Saved as {path}. Predict with: kin predict {quote(str(path))} NEW.csv --out "
        "predictions.csv",
        *([f"The model card: {card}"] if card is not None else []),
    )
    summary = {key: value for key, value in manifest.items() if key != "columns"}
    found["suspects"] = training.suspect_records
    output.print_json(
        {
            **summary,
            **found,
            "saved": str(path),
            "card": None if card is None else str(card),
            "seconds": round(seconds, 3),
        }
    )


def _contender(
    name: str, training: Training, settings: Sequence[str], seed: int
) -> tuple[Any, Any]:
    """A contender of ``kin compare``, and what stands before it there."""
    if settings:
        raise UserError(f"--set is not for {name!r}, a contender of kin compare.")
    preparation = training.encoder(categories="category")
    y: Any = training.y
    known = default_contenders(
        preparation.fit_transform(training.X),
        y,
        task=training.task,
        kind=training.kind,
        random_state=seed,
        unknown_task="share",
    )
    words = name.removesuffix(", multi-task")
    if name not in known and words != name:  # as Kin calls it
        name = f"multi-task {words}"
    if name not in known:
        raise UserError(f"There is no contender {name!r}. {suggest(name, known)}")
    return known[name], preparation


_MOST_GROUPS, _MOST_NAMES = 5, 4  # that a line names


def findings(model: Any) -> dict[str, Any]:
    """What it found."""
    if not hasattr(model, "sharing_"):
        return {}
    names = ("seen_score", "unseen_score", "seen_log_loss", "unseen_log_loss")
    scores = {name: getattr(model, f"{name}_", None) for name in names}
    known = {
        name: None if score is None or math.isnan(score) else score
        for name, score in scores.items()
    }
    scoring = model.scoring
    if callable(scoring):
        scoring = getattr(scoring, "__name__", type(scoring).__name__)
    sharing = {str(task): parts for task, parts in model.sharing_.items()}
    groups = model.task_groups_
    if groups is not None:
        groups = {str(task): group for task, group in groups.items()}
    return {
        "scoring": scoring,
        **known,
        "sharing": sharing,
        "groups": groups,
        "dropped": dict(model.dropped_),
    }


def _scores(found: dict[str, Any], kind: str) -> str:
    """The score, and the log loss beside it, of classes."""
    loss = found[f"{kind}_log_loss"]
    return f"{found[f'{kind}_score']:.2f}" + (
        "" if loss is None else f", log loss {loss:.2f}"
    )


def describe_findings(
    found: dict[str, Any], *, kind: str | None, task: str
) -> list[str]:
    """The same for people."""
    if not found:
        return []
    lines = []
    if found["seen_score"] is not None:
        name = "Accuracy" if kind == "classification" else "R2"
        line = f"{found['scoring'] or name} on rows that it had not seen: "
        line += _scores(found, "seen")
        if found["unseen_score"] is not None:
            line += f"; where the {task} is new: {_scores(found, 'unseen')}"
        lines.append(f"{line}.")
    tasks = found["sharing"].values()
    own, pooled, shared = (
        f"{sum(parts[role] for parts in tasks) / len(tasks):.0%}"
        for role in ("own", "pooled", "shared")
    )
    lines.append(
        f"Where predictions come from, in the mean of the tasks: {own} own models, "
        f"{pooled} pooled ones, {shared} models that share."
    )
    lines += _line_of_groups(found["groups"])
    reasons: dict[str, list] = {}
    for name, reason in found["dropped"].items():
        reasons.setdefault(reason, []).append(name)
    lines += [f"Left out: {'; '.join(n)} ({why})." for why, n in reasons.items()]
    return lines


def _line_of_groups(groups: dict[str, int] | None) -> list[str]:
    """The groups of like tasks, the largest first; nothing if there are no such."""
    if not groups or len(set(groups.values())) in (1, len(groups)):
        return []
    members: dict[int, list] = {}
    for task, group in groups.items():
        members.setdefault(group, []).append(task)
    several = sorted(members.values(), key=len, reverse=True)
    alone = [names[0] for names in several if len(names) == 1]
    groups_of_many = [_some(names, _MOST_NAMES) for names in several if len(names) > 1]
    line = f"Like each other: {_some(groups_of_many, _MOST_GROUPS, '; ', ' groups')}"
    return [f"{line}; like none: {_some(alone, _MOST_NAMES)}." if alone else f"{line}."]


def _some(names: list[str], most: int, between: str = ", ", what: str = "") -> str:
    """The first names, and how many more there are."""
    more = len(names) - most
    text = between.join(names[:most])
    return f"{text} and {more} more{what}" if more > 0 else text
