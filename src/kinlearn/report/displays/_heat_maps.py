"""Heat maps of tasks: names on both axes, numbers in the cells."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.relatedness import TaskDistances, task_distances
from kinlearn.report._result import as_matrix, cluster_order, short_names
from kinlearn.report.displays._base import (
    AS_WRITTEN,
    HEAT_MAP,
    AuditDisplay,
    new_axes,
    text_colour,
)
from kinlearn.utils._typing import ArrayLike, RandomState, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["DISTANCE_TITLES", "TaskAffinityDisplay", "TaskDistanceDisplay"]

# of both signs: pale at zero, and distinct to colour-blind eyes
_SIGNED_MAP = "PuOr"
_WRITTEN_TASKS = 12


class _HeatMap:
    """Draws a square matrix between tasks."""

    def _draw(
        self,
        ax: Any,
        values: np.ndarray,
        tasks: Sequence[Any],
        *,
        include_values: bool | None,
        values_format: str,
        max_labels: int,
        colorbar: str | None,
        im_kw: dict[str, Any],
    ) -> Self:
        side = float(np.clip(2.5 + 0.24 * len(tasks), 4.0, 11.0))
        self.figure_, self.ax_ = new_axes(ax, (side + 1.0, side))
        self.im_ = self.ax_.imshow(values, **{"interpolation": "nearest", **im_kw})
        _name_tasks(self.ax_, tasks, max_labels)
        if include_values is None:
            include_values = len(tasks) <= _WRITTEN_TASKS
        self.text_ = []
        if include_values:
            self.text_ = _write_values(self.ax_, self.im_, values_format)
        if colorbar is not None:
            self.figure_.colorbar(self.im_, ax=self.ax_, label=colorbar)
        return self


def _name_tasks(ax: Any, tasks: Any, max_labels: int) -> None:
    step = -(-len(tasks) // max(max_labels, 1))
    places = np.arange(0, len(tasks), step)
    names = short_names(tasks[place] for place in places)
    crowded = len(names) > 8 or max(map(len, names)) > 6
    size = 10 if len(names) <= 20 else 8
    ax.set_xticks(
        places, names, rotation=90 if crowded else 0, fontsize=size, **AS_WRITTEN
    )
    ax.set_yticks(places, names, fontsize=size, **AS_WRITTEN)
    if step > 1:
        ax.set_xlabel(f"{len(tasks)} tasks; one in {step} is named")


def _write_values(ax: Any, im: Any, values_format: str) -> list[Any]:
    return [
        ax.text(
            j,
            i,
            format(value, values_format),
            ha="center",
            va="center",
            fontsize=8,
            color=text_colour(im.cmap(im.norm(value))),
        )
        for (i, j), value in np.ndenumerate(im.get_array())
        if np.isfinite(value)
    ]


class TaskAffinityDisplay(AuditDisplay, _HeatMap):
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
    def _of(cls, data: Mapping[str, Any]) -> Self:
        found = (data["relatedness"] or {}).get("affinity")
        if not found:
            raise ValueError(
                "This result holds no affinity: none of its contenders learns one. Its "
                "distances can be drawn with TaskDistanceDisplay."
            )
        return cls(found["matrix"], found["tasks"], contender=found["contender"])

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
        of = f" ({self.contender})" if self.contender else ""
        return self._draw(
            ax,
            values,
            [self.tasks[k] for k in order.tolist()],
            include_values=include_values,
            values_format=values_format,
            max_labels=max_labels,
            colorbar=f"Affinity{of}" if colorbar else None,
            im_kw={
                "cmap": cmap or (_SIGNED_MAP if limits else HEAT_MAP),
                **limits,
                **(im_kw or {}),
            },
        )


DISTANCE_TITLES = {
    "hellinger": "Hellinger distance",
    "kl": "Symmetric KL divergence",
    "kl_directed": "KL divergence, from row to column",
    "ks": "Kolmogorov-Smirnov statistic",
    "label_shift": "Label shift",
    "logdet": "LogDet divergence",
    "mmd": "Maximum mean discrepancy",
    "mutual_information": "Mutual information",
    "proxy_a": "Proxy A-distance",
}


class TaskDistanceDisplay(_HeatMap):
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
        n_tasks, method = self.distances.n_tasks, self.distances.method
        order = self.distances.order() if cluster else np.arange(n_tasks)
        return self._draw(
            ax,
            self.distances.values[np.ix_(order, order)],
            self.distances.tasks[order].tolist(),
            include_values=include_values,
            values_format=values_format,
            max_labels=max_labels,
            colorbar=DISTANCE_TITLES.get(method, method) if colorbar else None,
            im_kw={"cmap": cmap, "vmin": 0.0, **(im_kw or {})},
        )
