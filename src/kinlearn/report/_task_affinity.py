"""A heat map of the affinity between tasks that a model learned."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.report._heat_map import draw_heat_map
from kinlearn.report._order import as_matrix, cluster_order
from kinlearn.report._result import result_dict
from kinlearn.report._style import HEAT_MAP, new_axes
from kinlearn.utils._typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from kinlearn.audit import SharingResult

__all__ = ["TaskAffinityDisplay"]

# of both signs: pale at zero, and distinct to colour-blind eyes
_SIGNED_MAP = "PuOr"


class TaskAffinityDisplay:
    """Heat map of the affinity between tasks that a model learned.

    Make it with :meth:`from_result`, which draws at once.

    Parameters
    ----------
    matrix : array-like of shape (n_tasks, n_tasks)
        Affinities, greater means more alike. None or NaN is not known. The
        diagonal is not drawn.
    tasks : sequence of length n_tasks
        The tasks' names.
    contender : str, default=None
        The model that learned it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    im_ : matplotlib AxesImage
        The heat map.
    text_ : list of matplotlib Text
        The numbers in the cells; empty if there are none.

    See Also
    --------
    TaskDistanceDisplay : How far apart the tasks' data are.

    Examples
    --------
    >>> from kinlearn.report import TaskAffinityDisplay
    >>> affinity = [[1.0, 0.1, 0.8], [0.1, 1.0, 0.2], [0.8, 0.2, 1.0]]
    >>> display = TaskAffinityDisplay(affinity, ["a", "b", "c"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['b', 'c', 'a']
    """

    def __init__(
        self, matrix: ArrayLike, tasks: Sequence[Any], *, contender: str | None = None
    ) -> None:
        self.matrix = matrix
        self.tasks = tasks
        self.contender = contender

    @classmethod
    def from_result(
        cls,
        result: "SharingResult | Mapping[str, Any]",
        *,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the affinity of an audit.

        Parameters
        ----------
        result : SharingResult or dict
            What ``compare_sharing`` gave, or its ``to_dict()``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        TaskAffinityDisplay
            The display, drawn.
        """
        found = (result_dict(result)["relatedness"] or {}).get("affinity")
        if not found:
            raise ValueError(
                "This result holds no affinity: none of its contenders learns one. Its "
                "distances can be drawn with TaskDistanceDisplay."
            )
        display = cls(found["matrix"], found["tasks"], contender=found["contender"])
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        cluster: bool = True,
        include_values: bool | None = None,
        values_format: str = ".2f",
        max_labels: int = 40,
        cmap: "str | Colormap | None" = None,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        cluster : bool, default=True
            Whether to put similar tasks side by side.
        include_values : bool, default=None
            Whether to write the numbers into the cells; None does so for at most
            12 tasks.
        values_format : str, default=".2f"
            Format of the numbers.
        max_labels : int, default=40
            Names on each axis; of more tasks only every second, third, ... one
            is named.
        cmap : str or matplotlib Colormap, default=None
            Colours; None is "cividis", or "PuOr" around zero where affinities of
            both signs are there.
        colorbar : bool, default=True
            Whether to add a colour bar, which names the model.
        im_kw : dict, default=None
            Further arguments of ``Axes.imshow``, such as ``vmax``.

        Returns
        -------
        TaskAffinityDisplay
            The display itself.
        """
        values = as_matrix(self.matrix)
        if values.shape != (len(self.tasks),) * 2:
            raise ValueError(
                f"The matrix needs a row and a column for each of {len(self.tasks)} "
                f"tasks; its shape is {values.shape}."
            )
        order = np.arange(len(values))
        if cluster:
            order = cluster_order(values, affinity=True)
        values = values[np.ix_(order, order)]
        np.fill_diagonal(values, np.nan)
        known = values[np.isfinite(values)]
        limits = {}
        if known.size and known.min() < 0 < known.max():
            furthest = float(np.abs(known).max())
            limits = {"vmin": -furthest, "vmax": furthest}
        side = float(np.clip(2.5 + 0.24 * len(order), 4.0, 11.0))
        self.figure_, self.ax_ = new_axes(ax, (side + 1.0, side))
        self.im_, self.text_ = draw_heat_map(
            self.ax_,
            values,
            [self.tasks[k] for k in order.tolist()],
            include_values=include_values,
            values_format=values_format,
            max_labels=max_labels,
            im_kw={
                "cmap": cmap or (_SIGNED_MAP if limits else HEAT_MAP),
                **limits,
                **(im_kw or {}),
            },
        )
        if colorbar:
            of = f" ({self.contender})" if self.contender else ""
            self.figure_.colorbar(self.im_, ax=self.ax_, label=f"Affinity{of}")
        return self
