"""Pictures of a clustering of several tasks: its affinity, and who is where."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from kinlearn.report._result import short_names
from kinlearn.report.displays._base import (
    AS_WRITTEN,
    HEAT_MAP,
    new_axes,
    text_colour,
)
from kinlearn.tasks import encode_tasks
from kinlearn.utils._typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["ClusterAffinityDisplay", "ClusterTableDisplay"]

_CELLS = 1_200  # of a side of the picture; more rows are averaged
_NAMED_TASKS = 25  # on an axis, and lines of a table that hold numbers
_NAMED_CLUSTERS = 12


def _checked(
    labels: ArrayLike, tasks: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sorted clusters, the position among them of each row's, task codes and names."""
    labels = np.asarray(labels)
    names, codes = encode_tasks(tasks)
    if labels.ndim != 1 or len(labels) != len(codes):
        raise ValueError(
            f"labels has shape {labels.shape} but tasks has {len(codes)} rows; "
            "pass one cluster and one task for each row."
        )
    clusters, column = np.unique(labels, return_inverse=True)
    return clusters, column, codes, names


def _every(n: int, limit: int) -> int:
    """Each how many of n have a name, so that at most `limit` do."""
    return -(-n // limit)


def _named_in(text: str, n_tasks: int, step: int) -> str:
    return f"{text}; one in {step} of {n_tasks} tasks is named" if step > 1 else text


class _ClusterDisplay:
    """A picture of a fitted clusterer, which `_of` reads."""

    plot: Callable[..., Self]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: "Axes | None" = None, **plot_options: Any
    ) -> Self:
        """Draw what a fitted clusterer found.

        Parameters
        ----------
        estimator : MultiTaskSymmetricNMF
            Fitted; for a picture of the affinity with ``store_affinity=True``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        Self
            The display, drawn.
        """
        check_is_fitted(estimator)
        tasks = estimator.tasks_[estimator.row_tasks_]
        return cls._of(estimator, tasks).plot(ax, **plot_options)

    @classmethod
    def _of(cls, estimator: Any, tasks: ArrayLike) -> Self:
        raise NotImplementedError


class ClusterAffinityDisplay(_ClusterDisplay):
    """The affinity between rows, sorted by task and then by cluster.

    Good clusters are bright squares on the diagonal of each task's block, and
    clusters that tasks have in common are bright squares beside it. White lines part
    the tasks, thin grey ones the clusters. Make it with :meth:`from_estimator` or
    :meth:`from_affinity`, which draw at once.

    Parameters
    ----------
    affinity : array-like, data frame or sparse matrix of shape (n_samples, n_samples)
        How alike rows are.
    labels : array-like of shape (n_samples,)
        Cluster of each row: numbers or strings.
    tasks : array-like of shape (n_samples,)
        Task of each row.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    im_ : matplotlib AxesImage
        The picture.
    order_ : intp array of shape (n_samples,)
        The rows in the order of the picture.

    See Also
    --------
    ClusterTableDisplay : How many rows of each task are in each cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.report import ClusterAffinityDisplay
    >>> affinity = np.eye(4)[[0, 1, 0, 1]] @ np.eye(4)[[0, 1, 0, 1]].T
    >>> display = ClusterAffinityDisplay.from_affinity(
    ...     affinity, [0, 1, 0, 1], tasks=["mail", "mail", "news", "news"]
    ... )
    >>> display.order_.tolist()
    [0, 1, 2, 3]
    """

    def __init__(self, affinity: Any, labels: ArrayLike, tasks: ArrayLike) -> None:
        self.affinity = affinity
        self.labels = labels
        self.tasks = tasks

    @classmethod
    def from_affinity(
        cls,
        affinity: Any,
        labels: ArrayLike,
        *,
        tasks: ArrayLike,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw an affinity that is there already.

        Parameters
        ----------
        affinity : array-like, data frame or sparse matrix, square
            How alike rows are.
        labels : array-like of shape (n_samples,)
            Cluster of each row: numbers or strings.
        tasks : array-like of shape (n_samples,)
            Task of each row.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        ClusterAffinityDisplay
            The display, drawn.
        """
        return cls(affinity, labels, tasks).plot(ax, **plot_options)

    @classmethod
    def _of(cls, estimator: Any, tasks: ArrayLike) -> Self:
        if not hasattr(estimator, "affinity_"):
            raise ValueError(
                f"This {type(estimator).__name__} has no affinity_. Fit it with "
                "store_affinity=True."
            )
        return cls(estimator.affinity_, estimator.labels_, tasks)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        cmap: "str | Colormap" = HEAT_MAP,
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        cmap : str or matplotlib Colormap, default="cividis"
            Colours.
        colorbar : bool, default=True
            Whether to add a colour bar.
        im_kw : dict, default=None
            Further arguments of ``Axes.imshow``, such as ``vmax``. The brightest
            colour stands for the 99th percentile if it is not given.

        Returns
        -------
        ClusterAffinityDisplay
            The display itself.
        """
        _, labels, codes, names = _checked(self.labels, self.tasks)
        n = len(labels)
        affinity = check_array(
            self.affinity, accept_sparse="csr", input_name="affinity"
        )
        if affinity.shape != (n, n):
            raise ValueError(
                f"The affinity has shape {affinity.shape}; {n} labels need {(n, n)}."
            )
        self.order_ = np.lexsort((labels, codes))
        cells = _averaged(affinity, self.order_)
        self.figure_, self.ax_ = new_axes(ax, (6.2, 5.2))
        options = {
            "cmap": cmap,
            "vmin": 0.0,
            "vmax": np.quantile(cells, 0.99) or None,
            "interpolation": "nearest",
            "extent": (0, n, n, 0),
            **(im_kw or {}),
        }
        self.im_ = self.ax_.imshow(cells, **options)
        task, cluster = codes[self.order_], labels[self.order_]
        new_task = np.flatnonzero(np.diff(task)) + 1
        new_cluster = np.flatnonzero(np.diff(cluster)) + 1
        for cut in np.setdiff1d(new_cluster, new_task):
            self._line(cut, color="0.75", linewidth=0.5, linestyle=":")
        for cut in new_task:
            self._line(cut, color="white", linewidth=1.5)
        ends = np.concatenate([[0], new_task, [n]])
        step = _every(len(ends) - 1, _NAMED_TASKS)
        shown = short_names(names[task[ends[:-1:step]]].tolist())
        middles = (ends[:-1] + ends[1:])[::step] / 2
        crowded = max(map(len, shown)) * len(shown) > 40
        self.ax_.set_xticks(middles, shown, rotation=90 if crowded else 0, **AS_WRITTEN)
        self.ax_.set_yticks(middles, shown, **AS_WRITTEN)
        self.ax_.tick_params(length=0)
        text = f"{n} rows by task, then cluster"
        self.ax_.set_xlabel(_named_in(text, len(ends) - 1, step))
        if colorbar:
            self.figure_.colorbar(self.im_, ax=self.ax_, label="affinity")
        return self

    def _line(self, at: Any, **style: Any) -> None:
        self.ax_.axhline(at, **style)
        self.ax_.axvline(at, **style)


def _averaged(affinity: Any, order: np.ndarray) -> np.ndarray:
    """The affinity in order, as means over squares where there are many rows."""
    n = len(order)
    side = -(-n // _CELLS)
    if side <= 1:
        return _as_dense(affinity[order][:, order])
    group = np.empty(n, dtype=np.intp)
    group[order] = np.arange(n) // side
    member = sp.csr_array((np.ones(n), (group, np.arange(n))))
    sizes = np.bincount(group)
    return _as_dense(member @ affinity @ member.T) / np.outer(sizes, sizes)


def _as_dense(cells: Any) -> np.ndarray:
    cells = cells.toarray() if sp.issparse(cells) else cells
    return np.asarray(cells, dtype=np.float64)


class ClusterTableDisplay(_ClusterDisplay):
    """How many rows of each task are in each cluster.

    Colours are fractions of the task's rows, so that small tasks are read as well as
    large ones; the numbers are counts, left out where there are more than 25 tasks or
    12 clusters. Make it with :meth:`from_labels` or
    :meth:`from_estimator`, which draw at once.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each row.
    tasks : array-like of shape (n_samples,)
        Task of each row.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    im_ : matplotlib AxesImage
        The picture.
    counts_ : int array of shape (n_tasks, n_clusters)
        The table.

    See Also
    --------
    ClusterAffinityDisplay : The affinity that led to the clusters.

    Examples
    --------
    >>> from kinlearn.report import ClusterTableDisplay
    >>> display = ClusterTableDisplay.from_labels(
    ...     [0, 0, 1, 1, 1], tasks=["mail", "mail", "mail", "news", "news"]
    ... )
    >>> display.counts_.tolist()
    [[2, 1], [0, 2]]
    """

    def __init__(self, labels: ArrayLike, tasks: ArrayLike) -> None:
        self.labels = labels
        self.tasks = tasks

    @classmethod
    def from_labels(
        cls,
        labels: ArrayLike,
        *,
        tasks: ArrayLike,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the table of labels that are there already.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Cluster of each row.
        tasks : array-like of shape (n_samples,)
            Task of each row.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        ClusterTableDisplay
            The display, drawn.
        """
        return cls(labels, tasks).plot(ax, **plot_options)

    @classmethod
    def _of(cls, estimator: Any, tasks: ArrayLike) -> Self:
        return cls(estimator.labels_, tasks)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        cluster_names: list[str] | None = None,
        cmap: "str | Colormap" = HEAT_MAP,
        colorbar: bool = True,
    ) -> Self:
        """Draw the table.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        cluster_names : list of str, default=None
            What to call the clusters, in ascending order of labels.
        cmap : str or matplotlib Colormap, default="cividis"
            Colours.
        colorbar : bool, default=True
            Whether to add a colour bar.

        Returns
        -------
        ClusterTableDisplay
            The display itself.
        """
        clusters, column, codes, names = _checked(self.labels, self.tasks)
        self.counts_ = np.zeros((len(names), len(clusters)), dtype=np.int64)
        np.add.at(self.counts_, (codes, column), 1)
        if cluster_names is None:
            cluster_names = [
                "none" if c == -1 else f"cluster {c}" for c in clusters.tolist()
            ]
        if len(cluster_names) != len(clusters):
            raise ValueError(
                f"There are {len(cluster_names)} cluster_names for {len(clusters)} "
                f"clusters ({clusters.tolist()})."
            )
        shown = min(len(clusters), _NAMED_CLUSTERS), min(len(names), _NAMED_TASKS)
        size = (2.6 + 0.9 * shown[0], 1.4 + 0.42 * shown[1])
        self.figure_, self.ax_ = new_axes(ax, size)
        fractions = self.counts_ / np.maximum(
            self.counts_.sum(axis=1, keepdims=True), 1
        )
        self.im_ = self.ax_.imshow(
            fractions, cmap=cmap, vmin=0.0, vmax=1.0, aspect="auto"
        )
        few = shown == self.counts_.shape[::-1]
        self.ax_.set_xticks(
            range(len(clusters)),
            short_names(cluster_names),
            rotation=90 if shown[0] < len(clusters) else 0,
            **AS_WRITTEN,
        )
        step = _every(len(names), _NAMED_TASKS)
        self.ax_.set_yticks(
            range(0, len(names), step),
            short_names(names[::step].tolist()),
            **AS_WRITTEN,
        )
        if step > 1:
            self.ax_.set_xlabel(_named_in("clusters", len(names), step))
        for (i, j), count in np.ndenumerate(self.counts_) if few else ():
            colour = text_colour(self.im_.cmap(self.im_.norm(fractions[i, j])))
            self.ax_.text(j, i, str(count), ha="center", va="center", color=colour)
        if colorbar:
            self.figure_.colorbar(self.im_, ax=self.ax_, label="share of the task")
        return self
