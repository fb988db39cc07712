"""F-lambda plots: an F score under every weighting of its two rates."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from kinlearn.metrics import FLambdaCurve, f_lambda_curve
from kinlearn.report._style import line_style, new_axes
from kinlearn.utils._typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FLambdaDisplay"]


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

        curves: FLambdaCurve | Mapping[str, FLambdaCurve]
        if isinstance(y_pred, Mapping):
            curves = {name: curve(labels) for name, labels in y_pred.items()}
        else:
            curves = curve(y_pred)
        return cls(curves).plot(ax, **line_kw)

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
