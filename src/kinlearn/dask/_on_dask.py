"""What makes a local model one on Dask: constructor, docstring, fit, predictions.

A model on Dask is a class that inherits from its local class, with mixins before it,
and defines how it is fitted to parts. Constructor and docstring come from the local
class.
"""

import inspect
import re
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client
from sklearn.utils.validation import check_is_fitted

from kinlearn.dask._cluster import ClusterPartitions, find_client
from kinlearn.dask._disk import DiskPartitions, OnDisk
from kinlearn.dask._tables import is_dask, predict_partitions, read_partitions
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._sklearn import Interval

__all__ = ["ClassifierOnDask", "ForestOnDask", "ModelOnDask"]

_Model: Any = object  # to mypy: what the mixins are mixed into

_OWN = {
    "trees_at_once": """\
trees_at_once : int or None, default=None
    Trees that grow together. More of them need fewer rounds, and more memory: some
    bytes a row and tree. None: as many as need a part of the memory of X.""",
    "client": """\
client : dask.distributed.Client, OnDisk or None, default=None
    The cluster; None is the client that was made last. :class:`OnDisk` is this
    process alone, with the rows in files. Not pickled.""",
    "n_jobs": """\
n_jobs : int, default=None
    Threads that the local model of `to_local` works with.""",
}


_OWN_TYPES = {"trees_at_once": int | None, "client": Client | OnDisk | None}


class ModelOnDask(_Model, metaclass=ABCMeta):
    """Comes before the local class; see the module."""

    _local: Any  # the local class
    _labels = "classes"
    _narrow = True  # whether features are read as float32
    _categories = False  # whether features may be categories
    _step = "tree"  # what callbacks see finished
    # Parameters that the local class does not have, and their constraints.
    _own: dict[str, Any] = {"client": "no_validation"}
    # Parameters of the local class that have one value here, False, and why.
    _fixed: dict[str, str] = {}
    _parameter_constraints: dict
    client: Any

    if TYPE_CHECKING:  # that of the local class, and `_own`

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not hasattr(cls, "_local"):
            return
        cls._parameter_constraints = {**cls._parameter_constraints, **cls._own}
        made = _constructor(cls._local, cls._fixed, cls._own)
        cls.__init__ = made  # type: ignore[method-assign]  # that of each local class
        cls.__doc__ = _docstring(cls.__doc__, cls._local.__doc__, cls._fixed, cls._own)

    @abstractmethod
    def _grow(
        self, engine: Any, parts: list[Any], finished: Callable[[int], bool]
    ) -> None:
        """Fit to parts that were read, and report the steps that are finished."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit; no worker gets all rows.

        Parameters
        ----------
        X : Dask DataFrame or array of shape (n_samples, n_columns)
            Rows with the task column; NaN in features is a missing value.
        y : Dask Series or array of shape (n_samples,)
            Targets, divided as X is.
        sample_weight : Dask Series or array of shape (n_samples,), default=None
            Weights; see the local class.

        Returns
        -------
        self
            The fitted model.
        """
        self._validate_params()
        self._check_fixed()
        self._check_target(y)
        on_disk = isinstance(self.client, OnDisk)
        client: Any = self.client if on_disk else find_client(self.client)
        options = {"task": self.task, "labels": self._labels, "allow_nan": True}
        options["estimator"] = type(self).__name__
        if hasattr(self, "categorical_features"):
            options["categorical_features"] = self.categorical_features
        parts = read_partitions(
            X,
            y,
            sample_weight,
            options,
            narrow=self._narrow,
            categories=self._categories,
            local=self._local_name(),
        )
        known = self.n_estimators if self.n_estimators != "auto" else None
        progress = self._init_callback_context(max_subtasks=known)
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)
        n_done = 0

        def finished(n_steps: int) -> bool:
            nonlocal n_done
            stop = False
            for number in range(n_done, n_done + n_steps):
                step = progress.subcontext(task_name=f"{self._step} {number}")
                step.call_on_fit_task_begin(estimator=self)
                stop = step.call_on_fit_task_end(estimator=self)
            n_done += n_steps
            return stop

        with DiskPartitions(client) if on_disk else ClusterPartitions(client) as engine:
            self._grow(engine, engine.read(parts), finished)
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _check_fixed(self) -> None:
        for name, why in self._fixed.items():
            if getattr(self, name) is not False:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not available on Dask: {why}. "
                    f"Set {name}=False, or fit {self._local_name()} to a sample."
                )

    def _check_target(self, y: Any) -> None:
        """Refuse y that only the local class takes."""

    def _local_name(self) -> str:
        package = ".".join(self._local.__module__.split(".")[:2])
        return f"{package}.{self._local.__name__}"

    def to_local(self) -> Any:
        """The same model as an ordinary estimator, which needs no cluster.

        Returns
        -------
        estimator
            Of the local class, fitted if this one is.
        """
        params = self.get_params(deep=False)
        own = {name: params.pop(name) for name in self._own}
        local = self._local(**params)
        state = {k: v for k, v in vars(self).items() if k not in {*params, *own}}
        vars(local).update(state)
        return local

    def _ask(self, method: str, X: Any, like: Any) -> Any:
        check_is_fitted(self)
        return predict_partitions(X, self.to_local(), method, like)

    def predict(self, X: Any) -> Any:
        """The model's predictions, partition by partition.

        Parameters
        ----------
        X : Dask DataFrame or array, or ordinary data, of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        Dask Series or array of shape (n_samples,)
            Lazy; an ndarray at once for ordinary data.
        """
        if not is_dask(X):
            return super().predict(X)
        check_is_fitted(self)
        like = self.classes_[:0] if self._labels == "classes" else np.empty(0)
        like = pd.Series(like) if isinstance(X, dd.DataFrame) else like
        return self._ask("predict", X, like)

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied, and need not be.
        params = self.get_params(deep=False)
        own = {name: params.pop(name) for name in self._own}
        copied = self._local(**params).__sklearn_clone__().get_params(deep=False)
        return type(self)(**copied, **own)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}


class ForestOnDask(ModelOnDask):
    """The same for forests."""

    _own = {
        "trees_at_once": [Interval(Integral, 1, None, closed="left"), None],
        **ModelOnDask._own,
    }
    _fixed = {"warm_start": "every fit begins anew"}
    trees_at_once: int | None


class ClassifierOnDask(ModelOnDask):
    """The same for models with class probabilities."""

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, partition by partition.

        Parameters
        ----------
        X : Dask DataFrame or array, or ordinary data, of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        Dask DataFrame or array of shape (n_samples, n_classes)
            Lazy; an ndarray at once for ordinary data.
        """
        if not is_dask(X):
            return super().predict_proba(X)
        check_is_fitted(self)
        like = np.empty((0, len(self.classes_)))
        if isinstance(X, dd.DataFrame):
            like = pd.DataFrame(like, columns=self.classes_)
        return self._ask("predict_proba", X, like)


def _constructor(
    local: Any, fixed: dict[str, str], own: dict[str, Any]
) -> Callable[..., None]:
    """That of the local class, with further parameters, which are None by default."""
    given = inspect.signature(local.__init__).parameters
    signature = inspect.Signature(
        [p.replace(default=False) if p.name in fixed else p for p in given.values()]
        + [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=_OWN_TYPES[name],
            )
            for name in own
        ],
        return_annotation=None,
    )

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        values = signature.bind(self, *args, **kwargs)
        values.apply_defaults()
        for name in list(signature.parameters)[1:]:
            setattr(self, name, values.arguments[name])

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # inspect reads it
    return __init__


def _docstring(
    text: str | None, local: str | None, fixed: dict[str, str], own: dict[str, Any]
) -> str | None:
    """The own docstring with the parameters and attributes of the local one."""
    if text is None or local is None:  # python -OO
        return text
    replaced = _OWN | {
        name: f"{name} : bool, default=False\n    Must be False here: {why}."
        for name, why in fixed.items()
    }
    sections = _sections(local)
    parameters = re.split(r"\n(?=\S)", sections["Parameters"])
    parameters = [replaced.pop(p.split(" : ")[0], p) for p in parameters]
    parameters += [replaced[name] for name in own]
    before, _, after = inspect.cleandoc(text).partition("\n\nSee Also\n")
    return "\n\n".join(
        [
            before,
            "Parameters\n----------\n" + "\n".join(parameters),
            "Attributes\n----------\n" + sections["Attributes"],
            "See Also\n" + after + "\n",
        ]
    )


def _sections(doc: str) -> dict[str, str]:
    """The sections of a numpydoc docstring, by their titles."""
    parts = re.split(r"\n\n(?=\S.*\n---+\n)", inspect.cleandoc(doc))
    return dict(re.split(r"\n---+\n", part, maxsplit=1) for part in parts[1:])
