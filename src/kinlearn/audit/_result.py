"""What a comparison comes back as: plain data, and the winner."""

import json
import math
from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from kinlearn.utils import import_optional

if TYPE_CHECKING:
    import pandas

__all__ = ["FORMAT", "SharingResult", "plain"]

FORMAT = "kinlearn-sharing/2"
_SHOWN = 12  # contenders in the text
_LONGEST_ERROR = 60


def plain(value: Any) -> Any:
    """Plain data: no NumPy types, and None instead of NaN and infinity."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class SharingResult:
    """Result of a comparison: whether sharing helps, which tasks, and by how much.

    Made by :func:`compare_sharing`, or read back by :meth:`from_json`.

    Parameters
    ----------
    data : dict
        What :meth:`to_dict` gives.
    refit : callable, default=None
        Gives the best contender, fitted to all rows.

    Attributes
    ----------
    verdict : str
        The result in a sentence.
    headline : dict
        Mean scores of the best sharing and the best lone model, neither of which
        was chosen on the folds that score it, and the gain with its interval.
    gains : list of dict
        Scores of each task alone and with sharing, of the models that the other
        folds chose, and their difference with its interval and verdict.
    contenders : list of dict
        The leaderboard, best first; those that failed are last, with the error.
    suspects : list of dict
        Columns that may tell the models more than they should know: ``column``,
        ``what``, ``why``, ``certain``, ``figures``, ``sentence`` and whether it was
        ``left_out``.
    best_name_ : str
        Contender with the best mean score over tasks.
    best_estimator_ : estimator
        The same, fitted to all rows on first access.

    See Also
    --------
    compare_sharing : Makes it.

    Examples
    --------
    >>> from kinlearn.audit import compare_sharing
    >>> from kinlearn.datasets import load_demo
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_demo(as_frame=True, return_X_y=True)
    >>> result = compare_sharing(
    ...     X,
    ...     y,
    ...     task="clinic",
    ...     estimators={"logistic": LogisticRegression(max_iter=5000)},
    ...     n_repeats=1,
    ...     curve=False,
    ... )
    >>> result.best_name_
    'logistic, alone'
    >>> result.to_frame().shape
    (30, 8)
    """

    def __init__(
        self, data: dict[str, Any], *, refit: Callable[[], Any] | None = None
    ) -> None:
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            found = data.get("format") if isinstance(data, dict) else type(data)
            raise ValueError(
                f"This is not a result of compare_sharing: its format is {found!r}, "
                f"not {FORMAT!r}."
            )
        self._data = data
        self._refit = refit
        self._best = None
        self._refit_at: dict[str, Callable[[], Any]] = {}  # the best by level

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        return self._data["verdict"]["sentence"]

    @property
    def headline(self) -> dict[str, Any]:
        """Gain of sharing, free of selection."""
        return self._data["headline"]

    @property
    def gains(self) -> list[dict[str, Any]]:
        """Gain of each task."""
        return self._data["gains"]

    @property
    def contenders(self) -> list[dict[str, Any]]:
        """The leaderboard."""
        return self._data["contenders"]

    @property
    def suspects(self) -> list[dict[str, Any]]:
        """Columns that may tell the models too much."""
        return self._data.get("suspects", [])

    @property
    def best_name_(self) -> str:
        """Contender with the best mean score over tasks."""
        return self.contenders[0]["name"]

    @property
    def best_estimator_(self) -> Any:
        """The best contender, fitted to all rows on first access."""
        if self._best is None:
            if self._refit is None:
                raise AttributeError(
                    "best_estimator_ is not here: this result was read from a file, "
                    f"which holds no data. Fit it again: {self._data['run']['code']}"
                )
            self._best = self._refit()
            self._refit = None  # lets go of the data
        return self._best

    @property
    def levels(self) -> list[str]:
        """Columns by which the result can be read, coarse to fine; the task's is last.

        More than one if the tasks have a path of columns.
        """
        return [*self._data.get("levels", {}), self._data["data"]["task_name"]]

    def at_level(self, level: str) -> "SharingResult":
        """The same predictions, read with the groups of a level for tasks.

        Parameters
        ----------
        level : str
            A column of the path, such as ``"region"``; or that of the tasks.

        Returns
        -------
        SharingResult
            Scores, gains and verdict by region. Models and folds are the same, so
            "alone" still is a model for each task.
        """
        *above, own = self.levels
        if level == own:
            return self
        if level not in above:
            raise ValueError(
                f"level must be one of {', '.join(map(repr, self.levels))}; got "
                f"{level!r}."
            )
        refit = self._refit_at.get(level)
        return SharingResult(self._data["levels"][level], refit=refit)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data: dicts, lists, strings, finite numbers and None.

        Returns
        -------
        dict
            A copy.
        """
        return json.loads(self.to_json())

    def to_json(self, *, indent: int | None = None) -> str:
        """All of it as JSON.

        Parameters
        ----------
        indent : int, default=None
            As in :func:`json.dumps`.

        Returns
        -------
        str
            The text; it is the same for the same result.
        """
        return json.dumps(
            self._data, indent=indent, ensure_ascii=False, allow_nan=False
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read a result back.

        Parameters
        ----------
        data : dict
            What :meth:`to_dict` gave.

        Returns
        -------
        SharingResult
            The same result, without the fitted winner.
        """
        return cls(data)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a result back.

        Parameters
        ----------
        text : str
            What :meth:`to_json` gave.

        Returns
        -------
        SharingResult
            The same result, without the fitted winner.
        """
        return cls(json.loads(text))

    def to_frame(
        self, table: Literal["scores", "gains"] = "scores"
    ) -> "pandas.DataFrame":
        """Scores by contender and task, or gains by task, as a pandas data frame.

        Parameters
        ----------
        table : {"scores", "gains"}, default="scores"
            Which of the two.

        Returns
        -------
        pandas.DataFrame
            Of scores, a row for each contender and task: ``contender``, ``family``,
            ``form``, ``task``, ``n_rows``, ``mean``, ``se`` and ``n_folds``.

            Of gains, a row for each task: ``task``, ``n_rows``, ``alone``,
            ``sharing``, ``gain`` (the difference of the two before it), ``low``,
            ``high``, ``p``, ``p_holm``, ``verdict``, ``n_folds`` and ``reason`` (why
            there is no interval). These scores are of the models that the other
            folds chose, and so they differ from those of any single contender.

        Notes
        -----
        Greater is better in both: errors are negative.
        """
        pandas = import_optional("pandas", extra="report", purpose="to_frame()")
        if table == "gains":
            numbers = ("alone", "sharing", "gain", "low", "high", "p", "p_holm")
            return pandas.DataFrame(self.gains).astype(dict.fromkeys(numbers, float))
        if table != "scores":
            raise ValueError(f"table must be 'scores' or 'gains'; got {table!r}.")
        models = {c["name"]: c for c in self.contenders}
        rows = {json.dumps(t["task"]): t["n_rows"] for t in self._data["tasks"]}
        return pandas.DataFrame(
            {
                "contender": score["contender"],
                "family": models[score["contender"]]["family"],
                "form": models[score["contender"]]["form"],
                "task": score["task"],
                "n_rows": rows[json.dumps(score["task"])],
                "mean": score["mean"],
                "se": score["se"],
                "n_folds": score["n_folds"],
            }
            for score in self._data["scores"]
        ).astype({"mean": float, "se": float})

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write the page: one file that opens without a network.

        Parameters
        ----------
        path : path-like
            The file.
        """
        # The one call that goes up a layer, made on request: numbers do not need
        # the pictures, but who has the numbers wants the page.
        root = __name__.partition(".")[0]
        import_module(f"{root}.report").write_page(self, path)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        root = __name__.partition(".")[0]
        return import_module(f"{root}.report.internal").result_fragment(self)

    def __getstate__(self) -> dict[str, Any]:
        # the data that the comparison was made on stays where it is
        return {**vars(self), "_refit": None, "_refit_at": {}}

    def __repr__(self) -> str:
        label = self._data["metric"]["label"]
        # errors are kept negative, so that greater is better
        sign = 1 if self._data["metric"]["greater_is_better"] else -1
        lines = [self.verdict, ""]
        width = max(len(c["name"]) for c in self.contenders[:_SHOWN])
        lines.append(f"{'':{width}}  {label}, mean of tasks")
        for contender in self.contenders[:_SHOWN]:
            if contender["error"] is not None:
                text = f"failed: {contender['error'][:_LONGEST_ERROR]}"
            else:
                text = f"{sign * contender['macro']:.4g}"
                if contender["macro_se"] is not None:
                    text += f" ± {contender['macro_se']:.2g}"
            lines.append(f"{contender['name']:{width}}  {text}")
        more = len(self.contenders) - _SHOWN
        return "\n".join(lines + ([f"and {more} more"] if more > 0 else []))
