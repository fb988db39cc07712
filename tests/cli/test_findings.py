"""What kin fit says of a Kin estimator."""

from types import SimpleNamespace

import pytest

from kinlearn.cli._fit import describe_findings, findings


def say(groups, dropped=None, kind="regression", **scores):
    model = SimpleNamespace(
        **{
            "scoring": None,
            "seen_score_": 0.5,
            "unseen_score_": float("nan"),
            **scores,
        },
        sharing_={"a": {"own": 0.25, "pooled": 0.0, "shared": 0.75}},
        task_groups_=groups,
        dropped_=dropped or {},
    )
    return describe_findings(findings(model), kind=kind, task="shop")


def test_scores_and_sharing_are_said():
    lines = say(None, {"trees": "no time", "machines": "no time", "ridge": "too odd"})
    assert lines == [
        "R2 on rows that it had not seen: 0.50.",
        "Where predictions come from, in the mean of the tasks: 25% own models, 0% "
        "pooled ones, 75% models that share.",
        "Left out: trees; machines (no time).",
        "Left out: ridge (too odd).",
    ]


def test_log_loss_stands_beside_the_score_of_classes():
    scores = {"seen_log_loss_": 0.613, "unseen_score_": 0.4, "unseen_log_loss_": 0.7}
    assert say(None, kind="classification", **scores)[0] == (
        "Accuracy on rows that it had not seen: 0.50, log loss 0.61; where the shop is "
        "new: 0.40, log loss 0.70."
    )
    scores = {"seen_log_loss_": 0.613, "scoring": "roc_auc"}
    assert say(None, kind="classification", **scores)[0] == (
        "roc_auc on rows that it had not seen: 0.50, log loss 0.61."
    )


@pytest.mark.parametrize(
    ("groups", "line"),
    [
        ({1: 0, 2: 1, 3: 0}, "Like each other: 1, 3; like none: 2."),
        ({"a": 0, "b": 1, "c": 1, "d": 0, "e": 1}, "Like each other: b, c, e; a, d."),
        (
            dict(zip("abcdefgh", [0, 0, 0, 0, 0, 0, 1, 2], strict=True)),
            "Like each other: a, b, c, d and 2 more; like none: g, h.",
        ),
        (
            {number: number // 2 for number in range(14)},
            "Like each other: 0, 1; 2, 3; 4, 5; 6, 7; 8, 9 and 2 more groups.",
        ),
    ],
)
def test_groups_of_like_tasks_are_named(groups, line):
    assert say(groups)[-1] == line


@pytest.mark.parametrize("groups", [None, {"a": 0, "b": 0}, {"a": 0, "b": 1}])
def test_nothing_is_said_of_groups_where_there_are_none(groups):
    assert len(say(groups)) == 2


def test_other_models_have_no_findings():
    assert findings(SimpleNamespace()) == {}
    assert describe_findings({}, kind="regression", task="shop") == []
