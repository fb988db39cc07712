"""Loader of the UCI sets, with the groups that the founding documents made."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kinlearn.datasets._assemble import Loaded
from kinlearn.datasets._checks import as_option
from kinlearn.datasets.loaded._catalogue import CATALOGUE, DataHome
from kinlearn.datasets.loaded._columns import bunch_of_columns, levels
from kinlearn.datasets.loaded._store import Request, read_csv

__all__ = ["fetch_uci"]


class Recipe(NamedTuple):
    """How a set becomes a multi-task problem.

    `group` is the column that makes the tasks; `cuts` the limits between them,
    by column, where they are not the column's values; `kept` names the group
    columns that stay features. `file_names` names the tasks of a set that comes in two
    files.
    """

    target: str
    classes: tuple[str, ...] = ()
    group: str | None = None
    cuts: dict[str, tuple[float, ...]] = {}
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()


RECIPES = {
    "heart": Recipe("class", ("class",), "sex"),
    "breast_cancer_ljubljana": Recipe("class", ("class",), "age", {"age": (50, 60)}),
    "breast_cancer_wisconsin": Recipe(
        "class",
        ("class",),
        "clump_thickness",
        {"clump_thickness": (4, 6)},
        dropped=("id",),
    ),
    "hepatitis": Recipe("class", ("class",), "histology"),
    "boston": Recipe(
        "MEDV",
        group="RAD",
        cuts={"RAD": (5, 7.5), "DIS": (2.5, 4.5)},
        kept=("RAD", "DIS"),
    ),
    "auto_mpg": Recipe(
        "mpg",
        group="cylinders",
        cuts={"cylinders": (6, 7)},
        kept=("cylinders",),
        dropped=("car_name",),
    ),
    "abalone": Recipe("rings", group="sex"),
    "wine_quality": Recipe("quality", group="colour", file_names=("red", "white")),
    "cmc": Recipe(
        "contraceptive_method_use",
        ("contraceptive_method_use", "wife_working"),
        "wife_religion",
    ),
    "solar_flare": Recipe(
        "C_class_flares",
        group="part",
        dropped=("M_class_flares", "X_class_flares"),
        file_names=("flare1", "flare2"),
    ),
}


def _read(request: Request, recipe: Recipe) -> dict[str, np.ndarray]:
    """All columns of a set; which of two files a row is from becomes a column."""
    tables = [read_csv(request.path(file)) for file in CATALOGUE[request.name].files]
    columns: dict[Any, np.ndarray] = {
        c: np.concatenate([table[c] for table in tables]) for c in tables[0]
    }
    if recipe.file_names:
        sizes = [len(next(iter(table.values()))) for table in tables]
        names = np.array(recipe.file_names, dtype=object)
        columns[recipe.group] = np.repeat(names, sizes)
    return columns


def _make_tasks(
    column: str, values: np.ndarray, cuts: tuple[float, ...] | None
) -> tuple[np.ndarray, list[str]]:
    """Task of each row, and what the tasks are called."""
    if cuts:
        if values.dtype == object:  # decades, such as "40-49"
            values = np.array([float(v.partition("-")[0]) for v in values])
        codes = np.digitize(values, cuts)
        between = [f"{low:g} <= {column} < {high:g}" for low, high in pairwise(cuts)]
        names = [f"{column} < {cuts[0]:g}", *between, f"{column} >= {cuts[-1]:g}"]
        return codes, names
    codes, names = levels(values)
    if (codes == -1).any():
        raise ValueError(
            f"The column {column!r} is missing in {(codes == -1).sum()} rows, so it "
            "does not give the task of all rows. Choose another group."
        )
    return codes, names


def _make_target(
    name: str, column: str, values: np.ndarray, classes: Sequence[str]
) -> tuple[np.ndarray, list[str] | None]:
    """The target and, for a classification, its names."""
    if name == "solar_flare" and column == "C_class_flares":
        return (values > 0).astype(np.int64), ["no C flare", "C flare"]
    if column not in classes and values.dtype != object:
        return values, None
    codes, names = levels(values)
    if (codes == -1).any():
        raise ValueError(f"The target {column!r} is missing in some rows.")
    return codes, names


def fetch_uci(
    name: str,
    *,
    group: str | None = "published",
    target: str | None = None,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
    download_if_missing: bool = True,
) -> Loaded:
    """Load a set of the UCI repository, with tasks as the papers made them.

    The file, such as ``uci/heart_statlog.csv``, must lie in the data folder; those of
    heart, Wisconsin, hepatitis, abalone, wine and contraceptive choice are fetched
    otherwise. Original source: https://archive.ics.uci.edu/ (Boston:
    http://lib.stat.cmu.edu/datasets/boston).

    Parameters
    ----------
    name : str
        One of ``"heart"``, ``"breast_cancer_ljubljana"``,
        ``"breast_cancer_wisconsin"``, ``"hepatitis"``, ``"boston"``,
        ``"auto_mpg"``, ``"abalone"``, ``"wine_quality"``, ``"cmc"``,
        ``"solar_flare"``.
    group : str or None, default="published"
        Column that makes the tasks, by its values (``"DIS"`` of Boston and the
        published ones by ranges of them). ``"published"`` is the founding
        documents' choice; None makes no tasks.
    target : str, default=None
        Column to predict; None is the usual one.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects; text columns stay text, and the task is the column
        ``"task"``. In an array text columns are numbers: see ``categories``.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the files' checksums with the known ones.
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

    Returns
    -------
    Bunch
        ``data`` with the task as the last column, missing values as NaN;
        ``target`` (numbers, or positions in ``target_names``), ``frame``,
        ``feature_names``, ``target_names``, ``task`` (what to pass as
        ``task=``), ``task_names``, ``categories`` (for each text column its
        values, in the order of their numbers) and ``DESCR``.
    (data, target) : tuple
        If ``return_X_y=True``.

    Notes
    -----
    As in Cai's thesis, the group's column is no feature in the classification
    sets and stays one in Boston and Auto MPG. The thesis drops rows with missing
    values; they are kept here.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_uci
    >>> heart = fetch_uci("heart", as_frame=True)  # doctest: +SKIP
    >>> heart.data["task"].value_counts().to_dict()  # doctest: +SKIP
    {'1': 183, '0': 87}
    """
    recipe = RECIPES[as_option(name, "name", tuple(RECIPES))]
    request = Request(
        f"uci:{name}", data_home, verify, as_frame, return_X_y, download_if_missing
    )
    columns = _read(request, recipe)
    target = recipe.target if target is None else target
    as_option(target, "target", tuple(columns))
    group = recipe.group if group == "published" else group
    as_option(group, "group", (*columns, None))
    if group == target:
        raise ValueError(f"The column {group!r} cannot be both group and target.")

    y, target_names = _make_target(name, target, columns[target], recipe.classes)
    task: np.ndarray | None = None
    task_names: list[str] = []
    if group is not None:
        task, task_names = _make_tasks(group, columns[group], recipe.cuts.get(group))
    left_out: set[str | None] = {target, *recipe.dropped}
    if recipe.file_names:
        left_out.add(recipe.group)  # the file's name is never a feature
    if group not in recipe.kept:
        left_out.add(group)
    features = {c: values for c, values in columns.items() if c not in left_out}
    return bunch_of_columns(
        request,
        features,
        y,
        target_name=target,
        target_names=target_names,
        task=task,
        task_names=task_names,
    )
