"""Contenders of the Kin protocols, and the ranks over protocols."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import rankdata

from benchmarks.problems import load
from benchmarks.quality.kin_ours import FORMS, OURS_ALONE
from benchmarks.quality.kin_suite import make_tasks, table
from benchmarks.quality.metrics import AUC
from benchmarks.quality.protocol import PROTOCOLS, Contender, Metric
from benchmarks.quality.ranks import Results, better_than, main, rank_table, results_of

ERROR = Metric("error", "error", None, greater_is_better=False, digits=2)
BY_KIND = {
    "classification": (*OURS_ALONE["both"], *OURS_ALONE["classification"], *FORMS),
    "regression": (*OURS_ALONE["both"], *FORMS),
}


@pytest.mark.parametrize(
    ("kind", "contender"),
    [(kind, each) for kind, found in BY_KIND.items() for each in found],
    ids=lambda part: getattr(part, "name", part),
)
def test_every_contender_answers(kind, contender):
    """With the first setting of its grid alone."""
    problem = load(f"dense-{kind}", n_rows=90, n_tasks=3)
    params = {
        name: value[:1] if isinstance(value, list) else value
        for name, value in contender.params.items()
    }
    few = {"rounds": [5], "iterations": 5, "n_trees": 5, "n_estimators": 5}
    params |= {name: value for name, value in few.items() if name in params}
    model = contender.make(problem, 0, **params).fit(problem.X, problem.y)
    if kind == "classification":
        proba = model.predict_proba(problem.X)
        assert_allclose(proba.sum(axis=1), 1)
    else:
        assert np.isfinite(model.predict(problem.X)).all()


def test_grids_have_at_most_nine_settings():
    for contender in BY_KIND["classification"]:
        grid = [v for v in contender.params.values() if isinstance(v, list)]
        assert np.prod([len(values) for values in grid]) <= 9


def test_every_kin_protocol_has_alone_and_pooled_of_each_family():
    for protocol in PROTOCOLS.select(["kin-*"]):
        names = {each.name for each in protocol.contenders}
        for family in ("linear", "extra-trees", "boosting"):
            assert {f"{family}-alone", f"{family}-pooled"} <= names


@pytest.mark.parametrize("name", ["tiny", "huge and unrelated"])
def test_splits_of_made_tasks_are_draws_of_their_own(name):
    protocol = PROTOCOLS[f"kin-{name.replace(' ', '-')}-regression"]
    problem = load(protocol.problem)
    seen = np.zeros(len(problem.y), dtype=int)
    for number in (0, 3):
        train, test = protocol.split(problem, number)
        made = make_tasks(name, "regression", number, curved=True)
        assert_allclose(problem.X[train], made.X)
        assert_allclose(problem.y[test], made.y_test)
        seen[train] += 1
        seen[test] += 1
    assert seen.max() == 1
    assert protocol.independent


def results(name, metric, **scores):
    by_split = {key: dict(enumerate(values)) for key, values in scores.items()}
    return Results(name, metric, by_split, 0.0)


def cells(table):
    rows = [line[2:-2].split(" | ") for line in table.splitlines() if line[:2] == "| "]
    return {row[0]: row[1:] for row in rows}


def test_ranks_by_hand():
    one = results("one", AUC, a=[0.5, 0.7], b=[0.8, 0.8], c=[0.6, 0.6])
    # less is better; b has one split only, so others count on that one alone
    two = results("two", ERROR, a=[0.1, 9.0], b=[0.3], c=[0.2, 0.2], d=[0.0, 0.0])
    rows = cells(rank_table([one, two]))
    assert rows["protocol"] == ["splits", "a", "b", "c"]
    assert rows["one"] == ["2", "0.6000 (2.5)", "0.8000 (1)", "0.6000 (2.5)"]
    assert rows["two"] == ["1", "0.10 (1)", "0.30 (3)", "0.20 (2)"]
    assert rows["mean rank"] == ["", "1.75", "2.00", "2.25"]
    assert rows["best on"] == ["", "1", "1", "0"]


def test_critical_difference_is_that_of_the_tables():
    """Demsar 2006, table 5: 2.728 for five contenders, times the root."""
    rng = np.random.default_rng(0)
    names = list("abcde")
    some = [
        results(f"p{k}", AUC, **{name: [rng.random()] for name in names})
        for k in range(12)
    ]
    critical = 2.728 * np.sqrt(5 * 6 / (6 * 12))
    text = rank_table(some)
    assert f"from {critical:.2f} on" in text
    ranks = [rankdata([-each.scores[name][0] for name in names]) for each in some]
    best = min(np.mean(ranks, axis=0))
    assert cells(text)["mean rank"][1] == f"{best:.2f}"


def test_better_are_those_whose_interval_lies_on_their_side():
    ours = [0.5, 0.6, 0.7, 0.5]
    better = np.add(ours, [0.1, 0.11, 0.1, 0.09]).tolist()
    noise = np.add(ours, [0.1, -0.1, 0.1, -0.05]).tolist()
    scores = {"ours": ours, "better": better, "noise": noise, "short": [0.9]}
    found = better_than(results("p", AUC, **scores), "ours")
    assert set(found) == {"better"}
    assert_allclose(found["better"].mean, -0.1)
    # as an error, the higher one is worse
    assert better_than(results("p", ERROR, **scores), "ours") == {}
    assert set(better_than(results("p", ERROR, **scores), "better")) == {"ours"}


def test_records_count_if_they_succeeded_with_the_settings_of_now():
    protocol = PROTOCOLS["kin-heart"]
    name = protocol.baseline
    params = dict(protocol.contender(name).params)

    def record(key, split, auc, **changes):
        return {
            "key": key,
            "contender": name,
            "params": params,
            "split": split,
            "error": None,
            "scores": {"auc": auc},
            "n_train": 100,
            "n_test": 50,
        } | changes

    found = results_of(
        protocol,
        [
            record("a", 0, 0.7),
            record("b", 1, 0.8),
            record("c", 2, 0.9, error="ValueError"),
            record("d", 0, 0.1, params={"old": True}),
            record("e", 3, 0.5),
            {"forget": "e"},
        ],
    )
    assert found.scores == {name: {0: 0.7, 1: 0.8}}
    assert found.test_ratio == 0.5
    assert isinstance(protocol.contender(name), Contender)


def test_wrong_calls_are_one_line(tmp_path, capsys):
    assert main([]) == 2
    assert main(["kin-heart", "--results", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert "not run yet: kin-heart" in captured.out
    assert "No finished runs" in captured.err


def test_the_table_of_hurt_tasks_counts_the_clearly_worse():
    def record(seed, kin, families="linear"):
        losses = {"kin": kin, "linear, alone": [1.0, 2.0], "linear, pooled": [2.0, 1.0]}
        return {
            "tasks": "related",
            "target": "regression",
            "shape": "curved",
            "families": families,
            "seed": seed,
            "losses": losses,
        }

    records = [record(s, [1.1 + s / 1000, 0.8 + s / 1000]) for s in range(3)]
    records.append(record(0, [9.0, 9.0], families="linear,trees"))
    rows, n_hurt, n_tasks = table(records, "linear")
    assert (n_hurt, n_tasks) == (1, 2)
    assert rows[1] == ["related", "regression", "curved", "3", "+10.1%", "-4.9%", "0"]
    assert table(records, "linear,trees")[1:] == (0, 0)  # of one seed
