"""What the heat maps of tasks share: names on both axes, numbers in the cells."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinlearn.report._style import short_names, text_colour

__all__ = ["draw_heat_map"]

_WRITTEN_TASKS = 12


def draw_heat_map(
    ax: Any,
    values: np.ndarray,
    tasks: Sequence[Any],
    *,
    include_values: bool | None,
    values_format: str,
    max_labels: int,
    im_kw: dict[str, Any],
) -> tuple[Any, list[Any]]:
    """Draw a square matrix between tasks.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    values : ndarray of shape (n_tasks, n_tasks)
        The numbers; NaN leaves a cell empty.
    tasks : sequence of length n_tasks
        Their names, in the order of `values`.
    include_values : bool or None
        Whether to write the numbers into the cells; None does so for at most 12
        tasks.
    values_format : str
        Format of the numbers.
    max_labels : int
        Names on each axis; of more tasks only every second, third, ... one is
        named.
    im_kw : dict
        Arguments of ``Axes.imshow``.

    Returns
    -------
    im : matplotlib AxesImage
        The heat map.
    text : list of matplotlib Text
        The numbers in the cells.
    """
    im = ax.imshow(values, **{"interpolation": "nearest", **im_kw})
    _name_tasks(ax, tasks, max_labels)
    if include_values or (include_values is None and len(tasks) <= _WRITTEN_TASKS):
        return im, _write_values(ax, im, values_format)
    return im, []


def _name_tasks(ax: Any, tasks: Any, max_labels: int) -> None:
    step = -(-len(tasks) // max(max_labels, 1))
    places = np.arange(0, len(tasks), step)
    names = short_names(tasks[place] for place in places)
    crowded = len(names) > 8 or max(map(len, names)) > 6
    size = 10 if len(names) <= 20 else 8
    ax.set_xticks(places, names, rotation=90 if crowded else 0, fontsize=size)
    ax.set_yticks(places, names, fontsize=size)
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
