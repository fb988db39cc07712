"""Pictures of models: F-lambda curves, what Kin's tasks share, drift of weights."""

from collections.abc import Collection, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from kinlearn.metrics import FLambdaCurve, f_lambda_curve
from kinlearn.report._result import short_names
from kinlearn.report.displays._base import (
    AS_WRITTEN,
    both_ends,
    line_style,
    new_axes,
)
from kinlearn.utils._typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FLambdaDisplay", "SharingDisplay", "WeightDriftDisplay"]

# of Okabe & Ito's palette, and hatches for print
_LOOKS = {
    "own": {"color": "#D55E00", "hatch": "//"},
    "shared": {"color": "#009E73", "hatch": ""},
    "pooled": {"color": "#56B4E9", "hatch": ".."},
}

_OF_LEVELS = ("#E69F00", "#CC79A7", "#F0E442")  # of levels above the task

# Inches: of axes wide enough for a legend in one line, of its lines and the space
# around them, and of a letter of the tasks' names.
_WIDE, _LINE, _MARGIN, _LETTER = 2.7, 0.18, 0.12, 0.085


def _looks_of(sharing: Mapping[Any, Mapping[str, float]]) -> dict[str, Any]:
    """How to draw the parts, those of levels after the others."""
    parts = next(iter(sharing.values()), {})
    levels = [part for part in parts if part not in _LOOKS]
    looks = [{"color": colour, "hatch": "\\\\"} for colour in _OF_LEVELS]
    return _LOOKS | dict(zip(levels, cycle(looks), strict=False))


class FLambdaDisplay:
    """F-lambda plot of one or several classifiers.

    The height of a line at the left end is the F score where precision (or
    specificity) counts most, in the middle the usual F1, and at the right end
    where recall counts most. A flat line is a balanced classifier.

    Make it with :meth:`from_predictions` or :meth:`from_curves`, which draw at
    once.

    Parameters
    ----------
    curves : FLambdaCurve, or mapping of name to FLambdaCurve
        What to draw; all with the same lambda, and recall against the same rate.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    lines_ : list of matplotlib Line2D
        One line per classifier.

    See Also
    --------
    kinlearn.metrics.f_lambda_curve : The numbers.

    Examples
    --------
    >>> from kinlearn.report import FLambdaDisplay
    >>> y = [0, 0, 0, 0, 1, 1]
    >>> predictions = {"timid": [0, 0, 0, 0, 0, 1], "bold": [0, 0, 1, 1, 1, 1]}
    >>> display = FLambdaDisplay.from_predictions(y, predictions)
    >>> [line.get_label() for line in display.lines_]
    ['timid', 'bold']
    """

    def __init__(self, curves: FLambdaCurve | Mapping[str, FLambdaCurve]) -> None:
        self.curves = curves

    @classmethod
    def from_curves(
        cls,
        curves: FLambdaCurve | Mapping[str, FLambdaCurve],
        *,
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Draw curves that are there already.

        Parameters
        ----------
        curves : FLambdaCurve, or mapping of name to FLambdaCurve
            What to draw.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **line_kw
            Further arguments of ``Axes.plot``, for all lines.

        Returns
        -------
        FLambdaDisplay
            The display, drawn.
        """
        return cls(curves).plot(ax, **line_kw)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike | Mapping[str, ArrayLike],
        *,
        lambda_: float = 10.0,
        against: Literal["precision", "specificity"] = "precision",
        pos_label: Any = None,
        sample_weight: ArrayLike | None = None,
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the curves of predicted labels.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels of two classes.
        y_pred : array-like of shape (n_samples,), or mapping of name to array-like
            Predicted labels, of one classifier or of several.
        lambda_ : float, default=10.0
            Greatest weight of recall, above 1.
        against : {"precision", "specificity"}, default="precision"
            What recall is weighed against.
        pos_label : label, default=None
            The positive class; None is the greater of the two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **line_kw
            Further arguments of ``Axes.plot``, for all lines.

        Returns
        -------
        FLambdaDisplay
            The display, drawn; its `curves` are the numbers.
        """

        def curve(labels: ArrayLike) -> FLambdaCurve:
            return f_lambda_curve(
                y_true,
                labels,
                lambda_=lambda_,
                against=against,
                pos_label=pos_label,
                sample_weight=sample_weight,
            )

        if isinstance(y_pred, Mapping):
            curves = {name: curve(labels) for name, labels in y_pred.items()}
            return cls(curves).plot(ax, **line_kw)
        return cls(curve(y_pred)).plot(ax, **line_kw)

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **line_kw
            Further arguments of ``Axes.plot``, for all lines.

        Returns
        -------
        FLambdaDisplay
            The display itself.
        """
        given: Any = self.curves
        named = isinstance(given, Mapping)
        curves = list(given.values()) if named else [given]
        first = _check_comparable(curves)
        self.figure_, self.ax_ = new_axes(ax, (6.4, 4.4))
        self.lines_ = []
        for number, curve in enumerate(curves):
            style = {**line_style(number), **line_kw}
            self.lines_ += self.ax_.plot(curve.x, curve.f, **style)
        self.ax_.axvline(0.0, color="0.7", linewidth=0.8, zorder=0)
        self.ax_.set(
            xlim=(-1.0, 1.0),
            ylim=(0.0, 1.02),
            ylabel=r"$F_\beta$",
            xlabel=(
                rf"$\log \beta \,/\, \log {first.lambda_:g}$"
                "\n"
                f"← {first.against} counts more    |    recall counts more →"
            ),
        )
        if named:
            for line, name in zip(self.lines_, given, strict=True):
                line.set_label(str(name))
            self.ax_.legend()
        return self


def _check_comparable(curves: list[FLambdaCurve]) -> FLambdaCurve:
    """The first of the curves, which must have their axes in common."""
    if not curves:
        raise ValueError("There is no curve to draw: the mapping is empty.")
    kinds = sorted({(curve.lambda_, curve.against) for curve in curves})
    if len(kinds) > 1:
        raise ValueError(
            "The curves have different axes (lambda and rate: "
            f"{', '.join(f'{a:g} and {b}' for a, b in kinds)}). Compute all with the "
            "same lambda_ and against."
        )
    return curves[0]


class SharingDisplay:
    """Bars of the parts that own, shared and pooled models have in each task.

    Make it with :meth:`from_estimator`, which draws at once.

    Parameters
    ----------
    sharing : dict
        For each task a dict with the parts "own", "pooled" and "shared", and those of
        levels above the task, if there are any, which sum to 1: the ``sharing_`` of a
        Kin estimator.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    bars_ : dict of str to matplotlib BarContainer
        The bars of each part.
    tasks_ : list
        The tasks that are drawn, from the top.

    See Also
    --------
    kinlearn.KinClassifier : Learns the parts.
    TaskAffinityDisplay : Which tasks are alike.

    Examples
    --------
    >>> from kinlearn.report import SharingDisplay
    >>> sharing = {
    ...     "north": {"own": 0.1, "pooled": 0.2, "shared": 0.7},
    ...     "south": {"own": 0.6, "pooled": 0.0, "shared": 0.4},
    ... }
    >>> SharingDisplay(sharing).plot().tasks_  # most of its own first
    ['south', 'north']
    """

    def __init__(self, sharing: Mapping[Any, Mapping[str, float]]) -> None:
        self.sharing = sharing

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: "Axes | None" = None, **plot_options: Any
    ) -> Self:
        """Draw the sharing of a fitted Kin estimator.

        Parameters
        ----------
        estimator : KinClassifier or KinRegressor
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        SharingDisplay
            The display, drawn.
        """
        if not hasattr(type(estimator), "sharing_"):
            raise TypeError(
                f"{type(estimator).__name__} has no sharing_, which KinClassifier and "
                "KinRegressor learn."
            )
        return cls(estimator.sharing_).plot(ax, **plot_options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        max_tasks: int = 40,
        legend: bool = True,
        **bar_kw: Any,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_tasks : int, default=40
            Of more tasks, only those with the greatest and the smallest own part are
            drawn, half of each.
        legend : bool, default=True
            Whether to draw a legend of the parts.
        **bar_kw
            Further arguments of ``Axes.barh``, for all parts.

        Returns
        -------
        SharingDisplay
            The display itself.
        """
        tasks = sorted(self.sharing, key=lambda task: -self.sharing[task]["own"])
        shown, left_out = both_ends(tasks, max_tasks)
        self.tasks_ = shown
        height = float(np.clip(1.3 + 0.26 * len(shown), 2.2, 14.0))
        self.figure_, self.ax_ = new_axes(ax, (6.4, height))
        left = np.zeros(len(shown))
        self.bars_ = {}
        looks_of = _looks_of(self.sharing)
        for part, looks in looks_of.items():
            width = np.array([self.sharing[task][part] for task in shown])
            options = {"edgecolor": "white", "label": part, **looks, **bar_kw}
            self.bars_[part] = self.ax_.barh(
                range(len(shown)), width, left=left, **options
            )
            left += width
        self.ax_.set_yticks(range(len(shown)), short_names(shown), **AS_WRITTEN)
        above = self._add_legend(len(shown)) if legend else 0.0
        self.ax_.set_ylim(len(shown) - 0.5, -0.5 - above)
        self.ax_.set_xlim(0, 1)
        self.ax_.set_xlabel(f"part of the prediction{left_out}")
        return self

    def _add_legend(self, n_bars: int) -> float:
        """Draw the legend above the bars, and return the space that it takes, in bars.

        Within the axes: beside or above them it would lie on neighbours and titles.
        """
        box = self.ax_.get_window_extent()
        width, height = box.width / self.figure_.dpi, box.height / self.figure_.dpi
        if self.figure_.get_layout_engine() is not None:  # it leaves space for names
            names = [label.get_text() for label in self.ax_.get_yticklabels()]
            width -= _LETTER * max(map(len, names))
        wide = width >= _WIDE
        self.ax_.legend(
            list(self.bars_.values()),
            ["own models", *list(self.bars_)[1:]],
            loc="upper center",
            ncols=len(self.bars_) if wide else 1,
            frameon=False,
            fontsize="small",
            handlelength=1.5,
            columnspacing=1.2,
            borderaxespad=0.2,
        )
        needed = _LINE * (1 if wide else len(self.bars_)) + _MARGIN
        return n_bars * needed / max(height - needed, needed)


class WeightDriftDisplay:
    """Shares of the weight by round, of a fitted TrAdaBoost model.

    A source that fits the target holds its share; one that does not fades. Under
    plain TrAdaBoost every source fades, and so the more the rarer its label:
    that is the weight drift which the corrections are for.

    Make it with :meth:`from_estimator`, which draws at once.

    Parameters
    ----------
    shares : dict of str to float array of shape (n_rounds,)
        Lines to draw, by name.
    by : {"label", "source"}, default="source"
        What the lines stand for.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    lines_ : list of matplotlib Line2D
        One line for each share.

    See Also
    --------
    kinlearn.transfer.TrAdaBoostClassifier : Keeps the history.

    Examples
    --------
    >>> from kinlearn.datasets import make_transfer_pair
    >>> from kinlearn.report import WeightDriftDisplay
    >>> from kinlearn.transfer import TrAdaBoostClassifier
    >>> X, y = make_transfer_pair(500, 40, as_frame=True, random_state=0)
    >>> model = TrAdaBoostClassifier(task="task", target="target").fit(X, y)
    >>> display = WeightDriftDisplay.from_estimator(model, by="label")
    >>> [line.get_label() for line in display.lines_]
    ['source, 0', 'source, 1', 'target']
    """

    def __init__(
        self,
        shares: dict[str, np.ndarray],
        *,
        by: Literal["source", "label"] = "source",
    ) -> None:
        self.shares = shares
        self.by = by

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        target: Any = None,
        by: Literal["source", "label"] = "source",
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the history of a fitted model.

        Parameters
        ----------
        estimator : TrAdaBoostClassifier or TrAdaBoostRegressor
            A fitted model.
        target : task value, default=None
            Which target's history, where the model has several.
        by : {"source", "label"}, default="source"
            A line for each source, or for each label of all sources together
            (classifiers).
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **line_kw
            Further arguments of ``Axes.plot``, for all lines.

        Returns
        -------
        WeightDriftDisplay
            The display, drawn.
        """
        if by not in ("source", "label"):
            raise ValueError(f'by must be "source" or "label"; got {by!r}.')
        histories = estimator.weight_history_
        if target is None:
            if len(histories) > 1:
                raise ValueError(
                    f"The model has {len(histories)} targets ({_some(histories)}). "
                    "Pass one of them as target."
                )
            target = next(iter(histories))
        elif target not in histories:
            raise ValueError(
                f"The model has no target {target!r}; it has {_some(histories)}."
            )
        history = histories[target]
        names = estimator.tasks_.tolist()
        if by == "source":
            shares = {
                str(name): history.task_share[:, code]
                for code, name in enumerate(names)
                if name != target
            }
        else:
            labels = getattr(estimator, "target_classes_", {}).get(target)
            if labels is None:
                raise ValueError(
                    f"{type(estimator).__name__} has no labels; use by='source'."
                )
            shares = {
                f"source, {label}": history.source_share[:, code]
                for code, label in enumerate(labels.tolist())
            }
        own = "target" if "target" not in shares else f"target ({target})"
        shares[own] = history.target_share.sum(axis=1)
        return cls(shares, by=by).plot(ax, **line_kw)

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **line_kw
            Further arguments of ``Axes.plot``, for all lines.

        Returns
        -------
        WeightDriftDisplay
            The display itself.
        """
        self.figure_, self.ax_ = new_axes(ax, (6.4, 4.0))
        self.lines_ = []
        labels = short_names(self.shares)
        for number, share in enumerate(self.shares.values()):
            style = {**line_style(number), "label": labels[number], **line_kw}
            self.lines_ += self.ax_.plot(np.arange(1, len(share) + 1), share, **style)
        self.ax_.set(
            xlabel="round",
            ylabel="share of all weight",
            ylim=(-0.02, 1.02),
            title=f"Weight by {self.by} and round",
        )
        for text in self.ax_.legend().get_texts():
            text.set(**AS_WRITTEN)
        return self


def _some(names: Collection[Any]) -> str:
    shown = ", ".join(map(repr, list(names)[:5]))
    return shown + (", ..." if len(names) > 5 else "")
