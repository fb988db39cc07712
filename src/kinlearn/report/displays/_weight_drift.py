"""Weight drift: where a boosted transfer puts its weight, round by round."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from kinlearn.report._style import line_style, new_axes, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WeightDriftDisplay"]


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
        self.ax_.legend()
        return self


def _some(names: Collection[Any]) -> str:
    shown = ", ".join(map(repr, list(names)[:5]))
    return shown + (", ..." if len(names) > 5 else "")
