"""What a quality protocol declares: data, splits, contenders, metrics, limits."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from benchmarks.registry import Registry

__all__ = [
    "PROTOCOLS",
    "Contender",
    "Metric",
    "Protocol",
    "Published",
    "protocol",
    "run_key",
    "split_fingerprint",
]

PROTOCOLS = Registry("protocol")


@dataclass(frozen=True)
class Metric:
    """A figure of merit: ``score(y, prediction, task)`` on the test rows."""

    name: str
    label: str
    score: Callable[[np.ndarray, np.ndarray, np.ndarray], float]
    greater_is_better: bool = True
    digits: int = 4


@dataclass(frozen=True)
class Published:
    """Figures that others gave, by metric, and where they stand."""

    name: str
    values: Mapping[str, float]
    source: str


@dataclass(frozen=True)
class Contender:
    """A way to predict.

    Parameters
    ----------
    name : str
        What it is called in tables and on the command line.
    make : callable
        ``make(problem, seed, **params)`` gives an unfitted estimator for X
        with the task as its last column. What its `fit` returns predicts.
    params : dict
        What is worth telling apart; JSON types only, since it is part of the
        key under which a finished run is found again.
    kind : {"peer", "ours"}
        Limits are for ours.
    packages : tuple of str
        Distributions whose versions are kept with each run.
    needs : tuple of str
        Modules it cannot run without.
    limits : dict of str to float
        What this one must reach, by metric; else the protocol's limits hold.
    """

    name: str
    make: Callable[..., object]
    params: Mapping[str, object] = field(default_factory=dict)
    kind: str = "peer"
    packages: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Protocol:
    """One table. See `protocol` for the fields."""

    name: str
    title: str
    problem: str
    n_splits: int
    split: Callable[..., tuple[np.ndarray, np.ndarray]]
    metrics: tuple[Metric, ...]
    contenders: tuple[Contender, ...]
    baseline: str
    methods: tuple[str, ...]
    published: tuple[Published, ...]
    limits: Mapping[str, float]
    independent: bool = False

    def contender(self, name):
        """The contender of that name."""
        return next(each for each in self.contenders if each.name == name)


def protocol(
    name,
    *,
    problem,
    n_splits,
    metrics,
    contenders,
    baseline,
    methods=("predict",),
    published=(),
    limits=None,
    independent=False,
):
    """Declare the decorated function, which splits, as a protocol.

    Parameters
    ----------
    name : str
        How the command line calls it.
    problem : str
        A name in `benchmarks.problems`.
    n_splits : int
        How many splits there are.
    metrics : tuple of Metric
        The first one orders the table.
    contenders : tuple of Contender
        All are run on the same splits.
    baseline : str
        The contender that all others are paired with.
    methods : tuple of str
        What gives the predictions: the first of these that an estimator has.
        With ``"fit_predict"`` it is called on the test rows alone.
    published : tuple of Published
        Figures of others, shown beside ours.
    limits : dict of str to float
        What ours must reach, by metric.
    independent : bool, default=False
        Whether no row trains in two splits, as in made data of which each split takes
        new rows. Then the splits are a plain sample, and intervals are Student's.

    Returns
    -------
    callable
        The decorator. ``split(problem, number)`` gives the rows for training
        and for testing; the first line of its docstring becomes the title.
    """
    names = [each.name for each in contenders]
    if len(set(names)) < len(names) or baseline not in names:
        raise ValueError(
            f"Protocol {name!r} needs contenders of different names with the "
            f"baseline {baseline!r} among them; got {names}."
        )

    def declare(split):
        PROTOCOLS.add(
            name,
            Protocol(
                name=name,
                title=split.__doc__.strip().splitlines()[0].removesuffix("."),
                problem=problem,
                n_splits=n_splits,
                split=split,
                metrics=tuple(metrics),
                contenders=tuple(contenders),
                baseline=baseline,
                methods=tuple(methods),
                published=tuple(published),
                limits=dict(limits or {}),
                independent=independent,
            ),
        )
        return split

    return declare


def split_fingerprint(train, test):
    """Short hash of the rows on both sides."""
    digest = hashlib.sha256()
    for rows in (train, test):
        digest.update(np.asarray(rows, dtype=np.int64).tobytes())
        digest.update(b"|")
    return digest.hexdigest()[:12]


def run_key(protocol, contender, *, data, split, number):
    """What makes two runs the same: their names, parameters, data and rows.

    The version of the code is not in it: the runner does a run again when the code of
    its contender changed. One of another version of a package is kept and marked in the
    table, and ``--again`` redoes it.
    """
    parts = [
        protocol.name,
        [metric.name for metric in protocol.metrics],
        list(protocol.methods),
        contender.name,
        dict(contender.params),
        data,
        split,
        number,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
