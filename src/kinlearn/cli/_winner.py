"""How to get the winner of a comparison: from the same file, in two ways."""

import shlex
from collections.abc import Mapping
from typing import Any

from kinlearn.cli._training import Training

__all__ = ["fit_command", "fit_in_python"]

_READERS = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".feather": "read_feather",
    ".arrow": "read_feather",
    ".ipc": "read_feather",
}


def fit_command(winner: str, training: Training, options: Mapping[str, Any]) -> str:
    """The call of ``kin fit`` that saves the winner.

    Parameters
    ----------
    winner : str
        Its name.
    training : Training
        The table, with its source.
    options : mapping
        Further options: a value, or a list of them for one that is repeated; None is
        not written.

    Returns
    -------
    str
        One line for a shell.
    """
    source: Any = training.source
    words = ["kin", "fit", str(source.path), "--target", str(training.target)]
    words += ["--task", training.task, f"--{training.kind}"]
    words += ["--model", "kin" if winner == "Kin" else winner]
    for name, value in options.items():
        values = value if isinstance(value, list | tuple) else [value]
        words += [w for v in values if v is not None for w in (f"--{name}", str(v))]
    return shlex.join([*words, "--save", "model.skops"])


def fit_in_python(winner: str, training: Training, seed: int) -> str:
    """Python that reads the file and fits the winner.

    Parameters
    ----------
    winner : str
        Its name.
    training : Training
        The table, with its source.
    seed : int
        Decides the model.

    Returns
    -------
    str
        Lines of code.
    """
    source: Any = training.source
    target, task = training.target, training.task
    reader = _READERS.get(source.path.suffix.lower(), "read_csv")
    words = [repr(str(source.path))]
    if reader == "read_csv":
        usual = {"sep": ",", "encoding": "utf-8"}
        words += [f"{k}={v!r}" for k, v in source.reading.items() if v != usual[k]]
        text = [kind["name"] for kind in training.kinds if kind["kind"] == "category"]
        text += [task] if training.tasks.dtype == object else []
        words += [f"dtype={dict.fromkeys(text, 'str')!r}"] if text else []
        words += ["skipinitialspace=True"]
    columns = [kind["name"] for kind in training.kinds if kind["kind"] != "dropped"]
    y = f"table[{target!r}]"
    if training.kind == "regression" and not _is_number(source.frame[target]):
        y += '.str.replace(",", ".").astype(float)'
    options = f"task={task!r}, kind={training.kind!r}"
    options += f", random_state={seed}" if seed else ""
    options += ", on_request=True" if winner == "Kin" else ""
    return "\n".join(
        [
            "import pandas as pd",
            "from kinlearn.audit import default_contenders",
            "",
            f"table = pd.{reader}({', '.join(words)})",
            f"table = table.dropna(subset={[target, task]!r})",
            f"X, y = table[{[*columns, task]!r}], {y}",
            f"model = default_contenders(X, y, {options})[{winner!r}].fit(X, y)",
        ]
    )


def _is_number(column: Any) -> bool:
    """Whether ``pandas.read_csv`` would take it for numbers."""
    try:
        column.dropna().astype(float)
    except ValueError:
        return False
    return True
