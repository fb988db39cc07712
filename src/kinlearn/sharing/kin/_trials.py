"""Candidates on rows that they were not fitted to, within a time budget."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter
from typing import Any, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from kinlearn.sharing._fitting import NotFiniteError
from kinlearn.sharing.kin._candidates import (
    Candidate,
    chosen_settings,
    plain_settings,
)
from kinlearn.sharing.kin._combine import calibration, loss_of, losses_of
from kinlearn.sharing.kin._models import MeanOf
from kinlearn.sharing.kin._training import (
    TrainingTable,
    held_out,
)
from kinlearn.utils import SentOnce, give_memory_back, stop_searches_if

__all__ = ["Clock", "Trial", "Trials"]

_FEW_ROWS = 5_000  # below, the choice of a forest's pilots is tried against others
_MANY_ROWS = 20_000  # from here, one fold may be long: it is judged by few rows first
_MANY_SETTINGS = 3  # from here, settings that are clearly worse stop early
_FOLDS_OF_RACE = 2  # by which they are judged
_ERRORS_OF_RACE = 2.0  # standard errors that are clear
# Candidates that get no weight stop as early, where a fold takes a while.
_FEWEST_TO_DROP = 3  # candidates that must be done before
_ROWS_TO_DROP = 500
_ROWS_OF_LOOK = 4_000  # at most so many tell
_STEP_TO_DROP, _ERRORS_TO_DROP = 0.1, 1.0  # so much of it must do so clear a harm
_LEAST_WEIGHT, _LEAST_OF_A_TASK = 0.01, 0.05
_NOT_FINITE = "its predictions were not finite"
_ROWS_TO_WEIGH = 8  # one in so many shows how long the weights of all will take


# predictions of each stage and seconds, by numbers of setting and fold
_Results: TypeAlias = dict[tuple[int, int], tuple[list[np.ndarray], float]]


class Clock:
    """A time budget: seconds from now; None is no limit."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._start = perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._start

    @property
    def left(self) -> float:
        """Seconds that are left; infinite without a limit, negative after it."""
        return np.inf if self.limit is None else self.limit - self.elapsed

    def allows(self, seconds: float) -> bool:
        """Whether so many seconds are left."""
        return seconds <= self.left


@dataclass(frozen=True, eq=False)
class Trial:
    """What a candidate did out of fold.

    Attributes
    ----------
    candidate : Candidate
        Who.
    params : dict
        The settings that did best.
    predictions : float64 array of shape (n_samples[, n_classes]), or None
        Its predictions for all rows, by models that did not see them; NaN for rows
        that are never held out. None when the weights are learned.
    unseen : float64 array of shape (n_samples[, n_classes]), or None
        The same by models that did not see the row's task.
    model : estimator or None
        Fitted to all rows, as in the folds, if that was needed to find the settings.
    seconds : dict of str to float
        Of the ``"folds"``, and of one fit to all ``"rows"`` (an estimate from the
        folds, where it was not done).
    """

    candidate: Any
    params: dict
    predictions: Any
    unseen: Any
    model: Any
    seconds: dict

    @property
    def is_final(self) -> bool:
        """Whether the model is the one that predicts in the end."""
        return self.model is not None and self.candidate.variants == ({},)


def _timed(function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    start = perf_counter()
    return function(*args), perf_counter() - start


def _job(
    function: Callable[..., Any], several: bool, train: SentOnce, *args: Any
) -> tuple[Any, float]:
    """One of perhaps several at a time, which are not divided further.

    Otherwise a backend such as Dask's would divide them, whatever their `n_jobs`.
    """
    with parallel_config("sequential") if several else nullcontext():
        return _timed(function, train.value, *args)


class _LeftOut(Exception):
    """Why a candidate is left out."""


class Trials:
    """Tries candidates one after another.

    Use it in a ``with`` statement, so that workers are started once and not for every
    candidate: a backend such as Ray's takes seconds for it.

    Parameters
    ----------
    train : TrainingTable
        The rows.
    fold : intp array of shape (n_samples,)
        Fold of each row; -1 is never held out.
    task_fold : intp array of shape (n_samples,) or None
        Fold of each row's task; None if no predictions for unseen tasks are needed.
    clock : Clock
        The time budget.
    n_jobs : int or None
        Fits at the same time.
    racing : bool
        Whether settings that are clearly worse after some folds stop there.

    Attributes
    ----------
    done : dict of str to Trial
        Trials by name of the candidate.
    dropped : dict of str to str
        Why a candidate was left out, by its name.
    """

    def __init__(
        self,
        train: TrainingTable,
        fold: np.ndarray,
        task_fold: np.ndarray | None,
        clock: Clock,
        n_jobs: int | None,
        racing: bool = True,
    ) -> None:
        self.train, self.fold, self.racing = train, fold, racing
        self.task_fold: Any = task_fold
        self.clock, self.n_jobs = clock, n_jobs
        self.done: dict[str, Trial] = {}
        self.dropped: dict[str, str] = {}
        self._chosen: dict[str, dict] = {}  # settings, of forests that were dropped too
        self._seconds_to_weigh = 0.0
        # Threads, unless the caller has chosen a backend by `parallel_config`.
        self._parallel = Parallel(n_jobs, prefer="threads")

    def __enter__(self) -> Self:
        self._parallel.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._parallel.__exit__(*exception)

    def seconds_to_refit(self, names: list[str]) -> float:
        """Estimated seconds of the fits to all rows that are still to do."""
        return float(sum(n * t.seconds["rows"] for t, n in self._fits_to_do(names)))

    def _fits_to_do(self, names: list[str]) -> list[tuple[Trial, int]]:
        """Trials without a model, and how many variants of each there is time for."""
        todo = [self.done[name] for name in names if not self.done[name].is_final]
        n_fits = [len(trial.candidate.variants) for trial in todo]
        seconds = np.dot(n_fits, [trial.seconds["rows"] for trial in todo])
        if not self.clock.allows(seconds / self._n_jobs):
            n_fits = [1] * len(todo)
        return list(zip(todo, n_fits, strict=True))

    def run(self, candidate: Candidate) -> None:
        """Try a candidate, unless the time is short; the first is always tried."""
        try:
            self._run(candidate)
        except _LeftOut as reason:
            self.dropped[candidate.name] = str(reason)
        except NotFiniteError:
            self.dropped[candidate.name] = _NOT_FINITE
        except (TypeError, ValueError) as error:
            if candidate.may_fail:
                self.dropped[candidate.name] = f"it failed: {error}"
                return
            if not candidate.given:
                raise
            raise ValueError(
                f"The estimator of the candidate {candidate.name!r} failed: {error} It "
                "got numbers alone: categories as codes, dates as days"
                + (", scaled, none missing." if candidate.scaled else ".")
            ) from error
        except Exception as error:
            if candidate.given:
                error.add_note(f"It was raised by the candidate {candidate.name!r}.")
            raise
        self._tidy()

    def _tidy(self) -> None:
        """Of a large table, hold no memory that was freed."""
        if self.train.table.is_large:
            give_memory_back()

    def _run(self, candidate: Candidate) -> None:
        if self.done and not self.clock.allows(self._seconds_to_end):
            raise _LeftOut("the time was over")
        self._judge_by_few_rows(candidate)
        model, chosen = None, None
        if candidate.like in self._chosen:
            candidate = candidate.taking_over(self._chosen[candidate.like])
        elif getattr(candidate.estimator, "min_samples_leaf", None) == "auto":
            model, seconds = self._fit_forest(candidate)
            chosen = chosen_settings(model) if hasattr(model, "forest_") else {}
            self._chosen[candidate.name] = chosen
            candidate = replace(candidate, settings=self._around(chosen, candidate))
        trial = self._out_of_fold(candidate)
        if trial is None:
            raise _LeftOut(_NOT_FINITE)
        self._chosen[candidate.name] = trial.params
        if model is not None:
            if trial.params != chosen:
                model, seconds = _timed(self.train.fit, candidate, trial.params)
            trial.seconds["rows"] = candidate.final_cost * seconds
        if self._tries_unseen(candidate) and self._time_for_unseen(trial):
            trial = replace(trial, unseen=self.without_tasks(trial, self.task_fold))
        self.done[candidate.name] = replace(trial, model=model)
        self._look_at_weighing()

    @property
    def _seconds_to_end(self) -> float:
        """Estimated seconds of all that is to do without further candidates."""
        fits = [t.seconds["rows"] for t in self.done.values() if not t.is_final]
        return float(sum(fits)) + self._seconds_to_weigh

    def _look_at_weighing(self) -> None:
        """Of many rows, weights take long too: learn them from a few of the rows."""
        train = self.train
        if self.clock.limit is None or train.n_samples < _MANY_ROWS:
            return
        rows = np.flatnonzero(self.fold >= 0)[::_ROWS_TO_WEIGH]
        done = [trial.predictions for trial in self.done.values()]
        some = train.evidence(done, rows)
        crowd, first = _timed(some.crowd)
        _, second = _timed(some.by_task, crowd)
        # from all rows, and without each fold; of unseen tasks there is the crowd only
        n_times = self._n_folds + 1
        n_crowds = 0 if self.task_fold is None else self._n_task_folds + 1
        seconds = n_times * (first + second) + n_crowds * first
        self._seconds_to_weigh = _ROWS_TO_WEIGH * seconds

    def _tries_unseen(self, candidate: Candidate) -> bool:
        return self.task_fold is not None and candidate.for_unseen

    def _time_for_unseen(self, trial: Trial) -> bool:
        """Whether the first candidate may do this too; others were judged before."""
        seconds = self._n_task_folds / self._n_jobs * trial.seconds["rows"]
        return bool(self.done) or self.clock.allows(seconds + trial.seconds["rows"])

    @property
    def _n_jobs(self) -> int:
        return effective_n_jobs(self.n_jobs)

    @property
    def _n_folds(self) -> int:
        return int(self.fold.max()) + 1

    @property
    def _n_task_folds(self) -> int:
        return int(self.task_fold.max()) + 1

    def _seconds_for(self, candidate: Candidate, one: float, n_settings: int) -> float:
        """Of all that is to do after a fold that took `one`."""
        n_more = n_settings * self._n_folds - 1
        if self._tries_unseen(candidate):
            n_more += self._n_task_folds
        # the last is a fit to all rows, longer by the rows of a fold
        seconds = one * (n_more / self._n_jobs + 1.3 * candidate.final_cost)
        weights = self._seconds_to_weigh / max(len(self.done), 1)  # of one more
        return seconds + weights + self._seconds_to_end

    def _affordable(self, candidate: Candidate, one: float, n_settings: int) -> int:
        """How many settings there is time for, if a fold took `one`."""
        while n_settings > 1:
            if self.clock.allows(self._seconds_for(candidate, one, n_settings)):
                return n_settings
            n_settings -= 1
        self._judge(self._seconds_for(candidate, one, 1))
        return 1

    def _judge(self, seconds: float) -> None:
        """Whether there is so much time; the first candidate always runs."""
        if self.done and not self.clock.allows(seconds):
            raise _LeftOut(f"it would have taken {seconds:.2g} s more")

    def _judge_by_few_rows(self, candidate: Candidate) -> None:
        """Of many rows, even a fold may take too long: look at a few first."""
        n = self.train.n_samples
        if self.clock.limit is None or not self.done or n < _MANY_ROWS:
            return
        seconds = []
        for one_in in (32, 8):
            rows = np.arange(0, n, one_in)
            _, took = _timed(self.train.fit, candidate, plain_settings(candidate), rows)
            seconds.append(took)
            if not self.clock.allows(took):
                raise _LeftOut(f"one in {one_in} rows took {took:.2g} s")
        growth = max(seconds[1] - seconds[0], 0.0) / (1 / 8 - 1 / 32)
        fold = seconds[1] + growth * (0.8 - 1 / 8)
        if fold > 2 * self.clock.left:  # an estimate, so be sure
            raise _LeftOut(f"a single fold would have taken {fold:.2g} s")

    def _fit_forest(self, candidate: Candidate) -> tuple[Any, float]:
        """Fit to all rows; its pilots get the time that the rest will leave."""
        until = np.inf
        if self.clock.limit is not None:
            first = np.flatnonzero(self.fold == 0)
            job = (candidate, plain_settings(candidate), first, ())
            [(_, one)] = self._in_parallel(held_out, [job])
            rest = self._seconds_for(candidate, one, 1)
            self._judge(rest)
            until = self.clock.elapsed + max(self.clock.left - rest, 0.0)
        with stop_searches_if(lambda: self.clock.elapsed >= until):
            return _timed(self.train.fit, candidate, {})

    def _around(
        self, params: dict[str, Any], candidate: Candidate
    ) -> tuple[dict[str, Any], ...]:
        """What a forest's pilots chose, and what they cannot decide for sure."""
        n_features = self.train.table.X.shape[1]
        others = []
        if self.train.n_samples < _FEW_ROWS:
            if params.get("max_features", n_features) < n_features:
                others.append({**params, "max_features": n_features})
            if "task_offset" in params and candidate.role == "shared":
                others.append({**params, "task_offset": not params["task_offset"]})
        return (*others[:1], params, *others[1:])

    def _out_of_fold(self, candidate: Candidate) -> Trial | None:
        """The setting of the least loss, with its predictions; None if none is finite.

        With little time fewer settings are tried, the middle one first.
        """
        n_folds = self._n_folds
        stages: Any = candidate.stages or [()] * len(candidate.settings)
        settings = list(zip(candidate.settings, stages, strict=True))
        if self.clock.limit is not None:
            middle = settings.pop((len(settings) - 1) // 2)
            settings.insert(0, middle)
        results: _Results = {}
        if self.clock.limit is not None:
            self._hold_out(candidate, settings, [(0, 0)], results)
            n_settings = self._affordable(candidate, results[0, 0][1], len(settings))
            settings = settings[:n_settings]
        last = self._race(candidate, settings, results)
        if self._may_be_dropped(candidate):
            self._drop_if_without_weight(candidate, settings, last, results)
        rest = [(s, f) for s in last for f in range(n_folds)]
        self._hold_out(candidate, settings, rest, results)
        seconds = {"folds": sum(took for _, took in results.values())}
        options = []
        for s in last:
            params, stages = settings[s]
            by_fold = [results[s, f] for f in range(n_folds)]
            # a fit to all rows is longer by the rows of a fold
            full = np.mean([took for _, took in by_fold]) * n_folds / (n_folds - 1)
            full *= candidate.final_cost
            for number, stage in enumerate(stages or (None,)):
                more = {} if stage is None else {candidate.iterations: stage}
                predictions = [staged[number] for staged, _ in by_fold]
                losses = self._losses(predictions)
                if np.isfinite(losses).all():
                    options.append(
                        (losses, {**params, **more}, predictions, float(full))
                    )
        if not options:
            return None
        losses = np.array([losses for losses, *_ in options])
        total = losses.sum(axis=1)
        # rows of a fold do not count for the setting that predicts them
        without = (total[:, None] - losses).argmin(axis=0)
        predictions = [options[best][2][f] for f, best in enumerate(without)]
        _, params, _, seconds["rows"] = options[total.argmin()]
        joined = self._joined(predictions, self.fold)
        return Trial(candidate, params, joined, None, None, seconds)

    def _hold_out(
        self,
        candidate: Candidate,
        settings: list[tuple[dict[str, Any], tuple[int, ...]]],
        cells: Sequence[tuple[int, int]],
        results: _Results,
    ) -> None:
        """Fill in results of cells, settings by folds, that are not there yet."""
        todo = [cell for cell in cells if cell not in results]
        jobs = [
            (candidate, settings[s][0], np.flatnonzero(self.fold == f), settings[s][1])
            for s, f in todo
        ]
        found = self._in_parallel(held_out, jobs)
        results.update(zip(todo, found, strict=True))

    def _race(
        self,
        candidate: Candidate,
        settings: list[tuple[dict[str, Any], tuple[int, ...]]],
        results: _Results,
    ) -> list[int]:
        """Settings that are still open after some folds.

        Those whose rows have a clearly higher loss than those of the best one are out,
        by a paired comparison. Of few settings, or few folds, all stay.
        """
        every = list(range(len(settings)))
        if not self.racing or len(settings) < _MANY_SETTINGS:
            return every
        if self._n_folds <= _FOLDS_OF_RACE:
            return every
        folds = range(_FOLDS_OF_RACE)
        cells = [(s, f) for s in every for f in folds]
        self._hold_out(candidate, settings, cells, results)
        test = np.concatenate([np.flatnonzero(self.fold == f) for f in folds])
        y, weight = self.train.y[test], self.train.weight[test]
        losses = np.full((len(settings), len(test)), np.inf)
        for s in every:
            by_stage = zip(*(results[s, f][0] for f in folds), strict=True)
            for predictions in by_stage:
                loss = losses_of(np.concatenate(predictions), y)
                if weight @ loss < weight @ losses[s]:
                    losses[s] = loss
        mean = losses @ weight / weight.sum()
        if not np.isfinite(mean.min()):
            return every
        excess = losses - losses[mean.argmin()]
        excess[~np.isfinite(mean)] = np.inf
        off = excess @ weight / weight.sum()
        with np.errstate(invalid="ignore"):
            variance = (excess - off[:, None]) ** 2 @ weight**2 / weight.sum() ** 2
        return [s for s in every if not off[s] > _ERRORS_OF_RACE * np.sqrt(variance[s])]

    def _may_be_dropped(self, candidate: Candidate) -> bool:
        """Whether it is worth a look if a candidate will have weight.

        One that is good for tasks not seen in fit may have none for others.
        """
        needed = self.task_fold is not None and (
            candidate.role == "pooled" or candidate.level >= 0
        )
        return (
            self.racing
            and not needed
            and not candidate.given
            and len(self.done) >= _FEWEST_TO_DROP
            and self.train.n_samples >= _ROWS_TO_DROP
            and self._n_folds > _FOLDS_OF_RACE
        )

    def _drop_if_without_weight(
        self,
        candidate: Candidate,
        settings: list[tuple[dict[str, Any], tuple[int, ...]]],
        last: list[int],
        results: _Results,
    ) -> None:
        """Leave a candidate out that gets no weight beside those that are done.

        More candidates could only take weight from it.
        """
        folds = range(_FOLDS_OF_RACE)
        cells = [(s, f) for s in last for f in folds]
        self._hold_out(candidate, settings, cells, results)
        test = np.concatenate([np.flatnonzero(self.fold == f) for f in folds])
        some = slice(None, None, -(-len(test) // _ROWS_OF_LOOK))
        best, least = None, np.inf
        for s in last:
            for predictions in zip(*(results[s, f][0] for f in folds), strict=True):
                joined = np.concatenate(predictions)
                loss = loss_of(joined, self.train.y[test], self.train.weight[test])
                if loss < least:
                    best, least = joined, loss
        if best is None:
            return
        rows = test[some]
        before = self.train.evidence([t.predictions for t in self.done.values()], rows)
        both = replace(
            before, predictions=np.concatenate([before.predictions, best[None, some]])
        )
        if both.classes:
            both = both.corrected(
                [calibration(each, both.y, both.weight) for each in both.predictions]
            )
        weights = both.by_task(both.crowd()).by_task[:, -1]
        if weights.mean() < _LEAST_WEIGHT and weights.max() < _LEAST_OF_A_TASK:
            if both.harm_of_last(_STEP_TO_DROP) < _ERRORS_TO_DROP:
                return  # of few rows, this may be chance
            raise _LeftOut(
                f"after {_FOLDS_OF_RACE} of {self._n_folds} folds its weight was "
                f"{weights.mean():.2g} in the mean of the tasks, and nowhere more than "
                f"{weights.max():.2g}"
            )

    def _losses(self, predictions: list[np.ndarray]) -> np.ndarray:
        """Loss of the rows of each fold."""
        y, weight, out = self.train.y, self.train.weight, np.empty(len(predictions))
        for f, values in enumerate(predictions):
            test = np.flatnonzero(self.fold == f)
            out[f] = weight[test].sum() * loss_of(values, y[test], weight[test])
        return out

    def without_tasks(self, trial: Trial, fold: np.ndarray) -> np.ndarray:
        """Predictions by models that did not see the tasks of a row's fold."""
        jobs = [
            (trial.candidate, trial.params, np.flatnonzero(fold == f), (), -1)
            for f in range(int(fold.max()) + 1)
        ]
        results = self._in_parallel(held_out, jobs)
        trial.seconds["folds"] += sum(took for _, took in results)
        return self._joined([staged[0] for staged, _ in results], fold)

    def _in_parallel(
        self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, float]]:
        """What a function of the rows gives, and the seconds, for each job."""
        rows = SentOnce.in_turn(self.train, self.n_jobs)
        if self._shares_memory and any(self.train.copies_much(job[0]) for job in jobs):
            return [_job(function, False, next(rows), *job) for job in jobs]
        several = self._n_jobs > 1
        return self._parallel(
            delayed(_job)(function, several, next(rows), *job) for job in jobs
        )

    @property
    def _shares_memory(self) -> bool:
        """Whether fits at the same time need their memory in the same place."""
        backend, _ = get_active_backend(prefer="threads")
        return bool(getattr(backend, "supports_sharedmem", False))

    def _joined(self, by_fold: list[np.ndarray], fold: np.ndarray) -> np.ndarray:
        """Predictions of all folds, in the order of the rows."""
        out = np.full((self.train.n_samples, *by_fold[0].shape[1:]), np.nan)
        for f, values in enumerate(by_fold):
            out[fold == f] = values
        return out

    def forget_predictions(self) -> None:
        """Free what was only wanted to learn the weights."""
        for name, trial in self.done.items():
            self.done[name] = replace(trial, predictions=None, unseen=None)
        self._tidy()

    def refit(self, names: list[str]) -> list[Any]:
        """Fit candidates with the chosen settings to all rows.

        Where time is short, one of the variants of each.
        """
        todo = self._fits_to_do(names)
        new: dict[str, Any] = {}
        binned = [(t, n) for t, n in todo if self.train.takes_bins(t.candidate)]
        if binned:
            new |= self._refitted(binned)
        self.train.forget_bins()
        self._tidy()
        todo = [(t, n) for t, n in todo if t.candidate.name not in new]
        kinds = dict.fromkeys((t.candidate.scaled, t.candidate.level) for t, _ in todo)
        for kind in kinds:  # of a large table, one copy at a time
            some = [
                (trial, n)
                for trial, n in todo
                if (trial.candidate.scaled, trial.candidate.level) == kind
            ]
            with self.train.table.whole(*kind):
                new |= self._refitted(some)
        return [new.get(name, self.done[name].model) for name in names]

    def _refitted(self, todo: list[tuple[Trial, int]]) -> dict[str, Any]:
        """Models of all rows, by candidate; of several variants, their mean."""
        jobs = [
            (trial.candidate, {**self._final_params(trial), **variant})
            for trial, n in todo
            for variant in trial.candidate.variants[:n]
        ]
        fitted = (model for model, _ in self._in_parallel(TrainingTable.fit, jobs))
        new: dict[str, Any] = {}
        for trial, n in todo:
            models = list(islice(fitted, n))
            new[trial.candidate.name] = models[0] if n == 1 else MeanOf(models)
        return new

    def _final_params(self, trial: Trial) -> dict[str, Any]:
        """Settings for all rows: a task without own models in the folds gets none."""
        fewest = getattr(trial.candidate.estimator, "min_samples", 1)
        if fewest == 1:
            return trial.params
        n_folds = self._n_folds
        return {**trial.params, "min_samples": -(-fewest * n_folds // (n_folds - 1))}
