import subprocess
import sys

import numpy as np
import pytest

from kinlearn import with_task
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskRandomForestClassifier,
    export_text,
    plot_tree,
)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def small_tree():
    """Task b is decided at the root, task c has no row on the right."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "age": [1.0, 2.0, 8.0, 9.0, 3.0, 7.0, 1.0, 1.0, 2.0],
            "who": list("aaaabbccc"),
        }
    )
    y = ["lo", "lo", "hi", "hi", "ok", "ok", "lo", "lo", "hi"]
    return MultiTaskDecisionTreeClassifier(task="who", max_depth=1).fit(frame, y)


def test_text_says_where_each_task_is_decided():
    assert export_text(small_tree()).splitlines() == [
        "|--- task b: ok (2 rows)",
        "|--- age <= 5.00",
        "|   |--- task a: lo (2 rows)",
        "|   |--- task c: lo 0.67 (3 rows)",
        "|--- age > 5.00",
        "|   |--- task a: hi (2 rows)",
        "|   |--- task c: lo 0.67 (from above)",
    ]


def test_text_of_one_task_and_of_missingness():
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    text = export_text(MultiTaskDecisionTreeClassifier().fit(X, [0, 0, 1, 1]))
    assert text.splitlines() == [
        "|--- x0 is present",
        "|   |--- 0 (2 rows)",
        "|--- x0 is missing",
        "|   |--- 1 (2 rows)",
    ]


def many_tasks():
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(400, 3)), rng.integers(0, 30, 400))
    return X, (X[:, 0] > 0).astype(int)


def test_text_is_cut_off_where_asked():
    forest = MultiTaskRandomForestClassifier(3, task=-1, random_state=0)
    forest.fit(*many_tasks())
    text = export_text(forest, number=2, max_depth=1, max_tasks=2)
    assert "more tasks" in text
    assert "cut off at max_depth=1" in text
    assert max(line.count("|   ") for line in text.splitlines()) == 1


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_plot_shows_tests_and_decisions():
    shown = texts(plot_tree(small_tree()))
    assert sorted(shown) == sorted(
        [
            "age <= 5.00", "yes", "no", "b: ok (2)", "a: lo (2)", "c: lo 0.67 (3)",
            "a: hi (2)", "c: lo 0.67 (from above)",
        ]
    )  # fmt: skip


def test_plot_of_a_large_tree_is_cut_off_and_takes_an_axes():
    from matplotlib import pyplot as plt

    _, ax = plt.subplots()
    tree = MultiTaskDecisionTreeClassifier(task=-1).fit(*many_tasks())
    assert plot_tree(tree, ax=ax, max_depth=1, max_tasks=2) is ax
    assert len([t for t in texts(ax) if t in ("yes", "no")]) == 2
    assert any("more tasks" in t for t in texts(ax))


def test_trees_do_not_import_matplotlib():
    code = "import sys, kinlearn.trees; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
