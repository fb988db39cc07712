"""A heat map of the distances between tasks."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.relatedness import TaskDistances, task_distances
from kinlearn.report._heat_map import draw_heat_map
from kinlearn.report._style import HEAT_MAP, new_axes
from kinlearn.utils._typing import ArrayLike, RandomState, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["TITLES", "TaskDistanceDisplay"]

TITLES = {
    "hellinger": "Hellinger distance",
    "kl": "Symmetric KL divergence",
    "ks": "Kolmogorov-Smirnov statistic",
    "label_shift": "Label shift",
    "mmd": "Maximum mean discrepancy",
    "proxy_a": "Proxy A-distance",
}


class TaskDistanceDisplay:
    """Heat map of the distances between tasks.

    Make it with :meth:`from_data` or :meth:`from_distances`, which draw at once.

    Parameters
    ----------
    distances : TaskDistances
        What to draw.

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
    kinlearn.relatedness.task_distances : The numbers.

    Examples
    --------
    >>> from kinlearn.relatedness import TaskDistances
    >>> from kinlearn.report import TaskDistanceDisplay
    >>> distances = TaskDistances([[0, 0.2], [0.2, 0]], ["a", "b"], method="ks")
    >>> display = TaskDistanceDisplay.from_distances(distances)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['a', 'b']
    """

    def __init__(self, distances: TaskDistances) -> None:
        self.distances = distances

    @classmethod
    def from_distances(
        cls, distances: TaskDistances, *, ax: "Axes | None" = None, **plot_options: Any
    ) -> Self:
        """Draw distances that are there already.

        Parameters
        ----------
        distances : TaskDistances
            What to draw.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        TaskDistanceDisplay
            The display, drawn.
        """
        return cls(distances).plot(ax, **plot_options)

    @classmethod
    def from_data(
        cls,
        X: Table,
        y: ArrayLike | None = None,
        *,
        task: str | int,
        method: str = "mmd",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        options: dict[str, Any] | None = None,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Measure the distances between the tasks of a data set and draw them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Features, with the task column among them.
        y : array-like of shape (n_samples,), default=None
            Needed by the method "label_shift" only.
        task : str or int
            Name or position of the task column.
        method : str, default="mmd"
            See :func:`kinlearn.relatedness.task_distances`.
        n_jobs : int, default=None
            Workers or threads, where the method has use for them.
        random_state : int, RandomState or None, default=None
            For the methods that draw samples.
        options : dict, default=None
            Options of the method.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        TaskDistanceDisplay
            The display, drawn; its `distances` are the numbers.
        """
        distances = task_distances(
            X,
            y,
            task=task,
            method=method,
            n_jobs=n_jobs,
            random_state=random_state,
            **(options or {}),
        )
        return cls(distances).plot(ax, **plot_options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        cluster: bool = True,
        include_values: bool | None = None,
        values_format: str = ".2f",
        max_labels: int = 40,
        cmap: "str | Colormap" = HEAT_MAP,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        cluster : bool, default=True
            Whether to put similar tasks side by side; else they stand in the
            order of ``distances.tasks``.
        include_values : bool, default=None
            Whether to write the numbers into the cells; None does so for at most
            12 tasks.
        values_format : str, default=".2f"
            Format of the numbers.
        max_labels : int, default=40
            Names on each axis; of more tasks only every second, third, ... one
            is named.
        cmap : str or matplotlib Colormap, default="cividis"
            Colours.
        colorbar : bool, default=True
            Whether to add a colour bar, which names the method.
        im_kw : dict, default=None
            Further arguments of ``Axes.imshow``, such as ``vmax``.

        Returns
        -------
        TaskDistanceDisplay
            The display itself.
        """
        n_tasks = self.distances.n_tasks
        order = self.distances.order() if cluster else np.arange(n_tasks)
        side = float(np.clip(2.5 + 0.24 * n_tasks, 4.0, 11.0))
        self.figure_, self.ax_ = new_axes(ax, (side + 1.0, side))
        self.im_, self.text_ = draw_heat_map(
            self.ax_,
            self.distances.values[np.ix_(order, order)],
            self.distances.tasks[order].tolist(),
            include_values=include_values,
            values_format=values_format,
            max_labels=max_labels,
            im_kw={"cmap": cmap, "vmin": 0.0, **(im_kw or {})},
        )
        if colorbar:
            title = TITLES.get(self.distances.method, self.distances.method)
            self.figure_.colorbar(self.im_, ax=self.ax_, label=title)
        return self
