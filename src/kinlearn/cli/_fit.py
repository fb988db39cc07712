"""``kin fit``: one model of all tasks, saved."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from kinlearn.audit import default_contenders
from kinlearn.cli._console import Voice
from kinlearn.cli._errors import UserError, data_errors, suggest
from kinlearn.cli._findings import findings, in_words
from kinlearn.cli._models import is_contender, make_model
from kinlearn.cli._progress import Steps, progress_on
from kinlearn.cli._training import Training
from kinlearn.cli._write import written
from kinlearn.persistence import save

__all__ = ["fit_model"]


@contextmanager
def _told(estimator: Any, voice: Voice) -> Iterator[None]:
    """A progress bar for models that take callbacks, and no trace of it in them."""
    if not hasattr(estimator, "set_callbacks"):
        yield
        return
    with progress_on(voice, "fitting") as advance:
        estimator.set_callbacks(Steps(advance))
        try:
            yield
        finally:
            estimator.set_callbacks()


def fit_model(
    training: Training,
    path: Path,
    voice: Voice,
    *,
    model: str,
    form: str | None = None,
    settings: Sequence[str] = (),
    n_jobs: int | None = None,
    seed: int = 0,
) -> None:
    """Fit a model to a table and save it.

    Parameters
    ----------
    training : Training
        The table.
    path : Path
        Where the model goes.
    voice : Voice
        Prints the result.
    model, form, settings, n_jobs, seed : object
        As :func:`make_model` takes them.
    """
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
    voice.speak()
    start = time.perf_counter()
    # Pools that spin slow a busy machine down; --jobs is for those who have cores.
    threads = threadpool_limits(n_jobs if n_jobs and n_jobs > 0 else 1)
    with data_errors(), threads, _told(estimator, voice):
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
        save(pipeline, path, about=manifest)
    found = findings(estimator)
    voice.show(
        f"Fitted {manifest['model']} ({training.kind}) to {training.describe()} in "
        f"{seconds:.1f} s.",
        *in_words(found, kind=training.kind, task=training.task),
        f"Saved as {path}. Predict with: kin predict {path} NEW.csv --out "
        "predictions.csv",
    )
    summary = {key: value for key, value in manifest.items() if key != "columns"}
    found["suspects"] = training.suspect_records
    voice.give({**summary, **found, "saved": str(path), "seconds": round(seconds, 3)})


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
    if name not in known:
        raise UserError(f"There is no contender {name!r}. {suggest(name, known)}")
    return known[name], preparation
