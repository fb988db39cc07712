"""The verdict is a true sentence in every situation."""

from dataclasses import replace

import numpy as np
import pytest

from kinlearn.audit.statistics._scores import PoolingGain, TaskGain
from kinlearn.audit.statistics._selection import Headline, nested_selection
from kinlearn.audit.statistics._verdict import standing, verdict
from tests.reference.audit_cubes import make_cube

AUC = {"label": "AUC", "greater_is_better": True}
RMSE = {"label": "RMSE", "greater_is_better": False}
NAN = float("nan")


def gains(helped=0, hurt=0, unclear=0, unscored=0):
    """Tasks 1, 2, ... in this order; the first of each kind by the most."""
    words = ["helped"] * helped + ["hurt"] * hurt
    words += ["unclear"] * unclear + ["not scored"] * unscored
    size = {"helped": 0.1, "hurt": -0.1, "unclear": 0.01, "not scored": NAN}
    return [
        TaskGain(i, 50, NAN, NAN, size[word] / i, NAN, NAN, NAN, NAN, word)
        for i, word in enumerate(words, start=1)
    ]


def headline(alone=0.74, sharing=0.78, low=0.02, high=0.06, **changes):
    parts = {
        "sharing": "trees mt",
        "alone": "trees alone",
        "how_often": {"trees mt": 11, "trees alone": 15, "other": 4},
        "n_folds": 15,
        "macro_alone": alone,
        "macro_sharing": sharing,
        "gain": sharing - alone,
        "low": low,
        "high": high,
        "naive_gain": 0.05,
    }
    return Headline(**{**parts, **changes})


UP, DOWN = headline(), headline(0.78, 0.74, -0.06, -0.02)
OPEN = headline(0.74, 0.75, -0.01, 0.03)
ERROR_DOWN = headline(-10.2, -9.8, 0.1, 0.7)
ERROR_UP = headline(-9.8, -10.2, -0.7, -0.1)


@pytest.mark.parametrize(
    ("found", "tasks", "metric", "sentence"),
    [
        # it helps
        (
            UP,
            {"helped": 21, "hurt": 2, "unclear": 6},
            AUC,
            "Sharing helps 21 of 29 minefields, hurts 2 (22, 23), and raises mean AUC "
            "from 0.74 to 0.78.",
        ),
        (
            UP,
            {"helped": 3, "unclear": 2},
            AUC,
            "Sharing helps 3 of 5 minefields, hurts none for sure, and raises mean AUC "
            "from 0.74 to 0.78.",
        ),
        (
            ERROR_DOWN,
            {"helped": 1, "unclear": 2},
            RMSE,
            "Sharing helps 1 of 3 minefields (1), hurts none for sure, and lowers mean "
            "RMSE from 10.2 to 9.8 (lower is better).",
        ),
        # it hurts
        (
            DOWN,
            {"helped": 1, "hurt": 9, "unclear": 2},
            AUC,
            "Sharing hurts 9 of 12 minefields (2, 3, 4, 5, 6, 7 and 3 more), helps 1 "
            "(1), and lowers mean AUC from 0.78 to 0.74.",
        ),
        (
            ERROR_UP,
            {"hurt": 1, "unclear": 1},
            RMSE,
            "Sharing hurts 1 of 2 minefields (1), helps none for sure, and raises mean "
            "RMSE from 9.8 to 10.2 (lower is better).",
        ),
        # mixed: the mean is open, or goes the other way
        (
            OPEN,
            {"helped": 2, "hurt": 2, "unclear": 1},
            AUC,
            "Sharing helps 2 of 5 minefields (1, 2) and hurts 2 (3, 4); what it does "
            "to mean AUC we cannot tell (0.740 alone, 0.750 sharing).",
        ),
        (
            DOWN,
            {"helped": 2, "hurt": 1},
            AUC,
            "Sharing helps 2 of 3 minefields (1, 2), hurts 1 (3), and lowers mean AUC "
            "from 0.78 to 0.74.",
        ),
        # the mean is sure, no task is
        (
            UP,
            {"unclear": 29},
            AUC,
            "Sharing raises mean AUC from 0.74 to 0.78 over 29 minefields, but we "
            "cannot tell for any single minefield whether it is helped or hurt.",
        ),
        (
            headline(0.7, 0.7 + 1e-9, 1e-10, 2e-9),
            {"unclear": 2},
            AUC,
            "Sharing raises mean AUC of 0.70000 by a trace over 2 minefields, but we "
            "cannot tell for any single minefield whether it is helped or hurt.",
        ),
        # we cannot tell
        (
            OPEN,
            {"unclear": 29, "unscored": 1},
            AUC,
            "We cannot tell whether sharing helps: mean AUC over 29 minefields is "
            "0.740 alone and 0.750 sharing, which may be chance, and no single "
            "minefield is clearly helped or hurt.",
        ),
        (
            headline(-9.8, -9.8, NAN, NAN),
            {"unclear": 2},
            RMSE,
            "We cannot tell whether sharing helps: mean RMSE over 2 minefields is 9.8 "
            "either way, and no single minefield is clearly helped or hurt.",
        ),
        # one task
        (
            OPEN,
            {"unclear": 1},
            AUC,
            "There is only one minefield, so there is nothing to share and nothing to "
            "compare.",
        ),
        (
            UP,
            {"helped": 1, "unscored": 4},
            AUC,
            "Only 1 of 5 minefields has scores (1): sharing helps it (AUC 0.74 alone, "
            "0.78 sharing).",
        ),
        (
            ERROR_UP,
            {"hurt": 1, "unscored": 1},
            RMSE,
            "Only 1 of 2 minefields has scores (1): sharing hurts it (RMSE 9.8 alone, "
            "10.2 sharing).",
        ),
        (
            OPEN,
            {"unclear": 1, "unscored": 4},
            AUC,
            "Only 1 of 5 minefields has scores (1): we cannot tell whether sharing "
            "helps it (0.740 alone, 0.750 sharing).",
        ),
        # nothing to say
        (
            Headline(None, "a", reason="no model that shares has a score"),
            {"unscored": 3},
            AUC,
            "We cannot say whether sharing helps: no model that shares has a score.",
        ),
        (
            Headline("a", "b"),
            {"unscored": 3},
            AUC,
            "We cannot say whether sharing helps: no minefield could be scored.",
        ),
    ],
)
def test_sentence(found, tasks, metric, sentence):
    assert verdict(found, gains(**tasks), metric, "minefield").sentence == sentence


def test_hurt_tasks_are_named_by_name_the_worst_first():
    tasks = [
        TaskGain("Elm", 9, 0.7, 0.6, -0.1, -1, 1, 0, 0, "hurt"),
        TaskGain("Oak", 9, 0.8, 0.5, -0.3, -1, 1, 0, 0, "hurt"),
        TaskGain("Yew", 9, 0.5, 0.8, 0.3, -1, 1, 0, 0, "helped"),
    ]
    answer = verdict(DOWN, tasks, AUC, "clinic")
    assert "hurts 2 of 3 clinics (Oak, Elm), helps 1 (Yew)" in answer.sentence
    assert "Hurt most: Oak, whose AUC falls by 0.30." in answer.details


def details(found, tasks, metric=AUC, pooling=()):
    return verdict(found, gains(**tasks), metric, "school", pooling).details


def test_details_name_the_models_and_the_interval():
    first, second, *_ = details(UP, {"helped": 3})
    assert first == (
        "Sharing is 'trees mt' (chosen in 11 of 15 folds); alone is 'trees alone' "
        "(chosen in 15 of 15 folds). No fold scores its own choice."
    )
    assert second == "Sharing changes mean AUC by 0.020 to 0.060 (95% interval)."


def test_details_say_why_the_leaderboard_is_better():
    _, second, *_ = details(headline(naive_sharing=0.81), {"helped": 3})
    assert second == (
        "On all folds 'trees mt' has 0.81, not 0.78: there it is scored by the folds "
        "that chose it."
    )
    same = details(headline(naive_sharing=0.7801), {"helped": 3})
    assert not any("On all folds" in text for text in same)


def test_what_combines_models_is_told_apart_from_sharing():
    before = headline(0.74, 0.76, -0.01, 0.05)
    other = verdict(UP, gains(helped=3), AUC, "school", without=(["Kin"], before))
    assert "Without 'Kin', mean AUC is 0.740 alone and 0.760 sharing." in other.details
    found = verdict(
        replace(UP, sharing="Kin"),
        gains(helped=3),
        AUC,
        "school",
        without=(["Kin"], before),
        remarks=["9 of 90 rows are equal."],
    )
    assert (
        "'Kin' combines models, those of each school alone among them, so that not all "
        "of its gain need come from sharing. Without it, mean AUC is 0.740 alone and "
        "0.760 sharing."
    ) in found.details
    assert found.details[-1] == "9 of 90 rows are equal."
    assert standing(before, AUC, "school").endswith("not known yet.")
    before = replace(before, gains=gains(unclear=4))
    assert standing(before, AUC, "school") == (
        "Mean AUC over 4 schools is 0.740 alone and 0.760 sharing."
    )


def test_tasks_with_too_few_rows_are_named():
    reason = "too few rows to tell: 2 rows"
    tasks = gains(unclear=4)
    tasks[1:3] = [replace(task, reason=reason) for task in tasks[1:3]]
    found = verdict(OPEN, tasks, AUC, "school").details
    assert (
        "2 of 4 schools have too few rows to tell (2, 3); their scores count in mean "
        "AUC."
    ) in found


def test_details_of_an_error_keep_its_natural_sign():
    found = details(ERROR_DOWN, {"helped": 1, "hurt": 1}, RMSE)
    assert "Sharing changes mean RMSE by -0.70 to -0.10 (95% interval)." in found
    assert "Hurt most: 2, whose RMSE rises by 0.050." in found


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ({"helped": 3, "unclear": 1}, "For 1 school we cannot tell, which does not"),
        ({"helped": 3, "unclear": 4}, "For 4 schools we cannot tell, which does not"),
        (
            {"helped": 3, "unscored": 1},
            "1 school could not be scored (4); its rows still",
        ),
        (
            {"helped": 3, "unscored": 2},
            "2 schools could not be scored (4, 5); their rows",
        ),
        ({"helped": 1, "hurt": 2}, "More schools are hurt than helped: fit them alone"),
        ({"helped": 9}, "Helped: 1, 2, 3, 4, 5, 6 and 3 more."),
    ],
)
def test_details_by_situation(tasks, expected):
    assert any(text.startswith(expected) for text in details(UP, tasks))


def test_details_say_why_there_is_no_interval():
    found = headline(low=NAN, high=NAN, n_folds=1, how_often={"trees mt": 1})
    text = details(found, {"unclear": 3})
    assert (
        "(chosen in 1 of 1 fold); alone is 'trees alone' (chosen in 0 of 1" in text[0]
    )
    assert "There is no interval for the change in mean AUC" in text[1]


def test_a_pooled_model_that_hurts_many_is_told():
    six = (1, 4, 7, 8, 9, 12)
    pooling = [
        PoolingGain("SVM", "SVM pooled", "SVM alone", -0.03, -0.04, -0.02, 1, six, 29),
        PoolingGain("trees", "trees pooled", "trees alone", 0.1, 0, 0.2, 9, (), 29),
        PoolingGain("ridge", "ridge pooled", "ridge alone", 0, 0, 0, 0, ("B",), 29),
    ]
    *_, svm, ridge = details(UP, {"helped": 29}, pooling=pooling)
    assert svm == (
        "One SVM model for all ('SVM pooled' against 'SVM alone') hurts 6 of 29 "
        "schools (1, 4, 7, 8, 9, 12) and helps 1."
    )
    assert ridge.endswith("hurts 1 of 29 schools (B).")


@pytest.mark.parametrize("forms", [["alone", "alone"], ["pooled", "multi-task"]])
def test_one_kind_of_contender_gives_no_details_of_a_comparison(forms):
    found = nested_selection(make_cube(np.zeros((2, 1, 3, 4)), forms))
    answer = verdict(found, found.gains, AUC, "school")
    assert answer.sentence.startswith("We cannot say whether sharing helps: no model")
    assert answer.details == []


@pytest.mark.parametrize("seed", range(20))
def test_no_situation_breaks_the_sentence(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers([0, 1, 1, 1], [5, 3, 4, 5])
    values = rng.normal(size=shape).round(rng.integers(3))
    values[rng.random(shape) < rng.choice([0, 0.5, 1])] = np.nan
    forms = rng.choice(["alone", "pooled", "multi-task"], shape[0]).tolist()
    found = nested_selection(make_cube(values, forms))
    answer = verdict(found, found.gains, [AUC, RMSE][seed % 2], "school")
    for text in (answer.sentence, *answer.details):
        assert text.endswith(".")
        assert "nan" not in text.lower()
        assert "  " not in text
