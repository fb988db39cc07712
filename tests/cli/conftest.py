"""Tables to try the commands on, and a way to call them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from kinlearn.cli import run


@dataclass(frozen=True)
class Call:
    """What a call gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def kin(capsys, monkeypatch):
    """Call ``kin`` as from a pipe, with words as on the command line."""
    monkeypatch.setenv("COLUMNS", "110")

    def call(*words):
        capsys.readouterr()
        code = run([str(word) for word in words])
        printed = capsys.readouterr()
        return Call(code, printed.out, printed.err)

    return call


def pupils(n_rows=240, seed=0):
    """A table of every kind of column."""
    rng = np.random.default_rng(seed)
    schools = ["east", "north", "south", "west"]
    frame = pd.DataFrame(
        {
            "pupil": [f"p{i:04d}" for i in range(n_rows)],
            "school": rng.choice(schools, n_rows),
            "age": rng.integers(10, 18, n_rows),
            "height": rng.normal(150, 10, n_rows).round(1),
            "sex": rng.choice(["f", "m"], n_rows),
            "town": rng.choice([f"town {i}" for i in range(60)], n_rows),
            "entered": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n_rows), "D"),
            "meals": rng.choice([True, False], n_rows),
            "postcode": [f"{v:05d}" for v in rng.integers(1000, 1010, n_rows)],
            "nothing": np.nan,
            "country": "UK",
        }
    )
    noise = rng.normal(0, 2, n_rows)
    north = 5 * (frame["school"] == "north")
    frame["score"] = (2 * frame["age"] + frame["height"] / 10 + north + noise).round(2)
    middle = frame["score"].median()
    frame["passed"] = np.where(frame["score"] > middle, "yes", "no")
    for name in ("height", "sex", "entered"):
        frame.loc[rng.random(n_rows) < 0.05, name] = None
    return frame


@pytest.fixture
def table(tmp_path, monkeypatch):
    """``pupils.csv`` in an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    frame = pupils()
    frame.to_csv("pupils.csv", index=False)
    return frame
