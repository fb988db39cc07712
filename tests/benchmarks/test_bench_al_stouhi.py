"""Tables and pictures of transfer and clustering: by hand, and as the records."""

import json

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.quality import transfer
from benchmarks.quality.al_stouhi_scores import BEST, best_of, f_lambda, scores_by_size
from benchmarks.quality.al_stouhi_tables import TABLES
from benchmarks.quality.clustering import contenders
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.protocols.rare import CURVE_SIZES
from benchmarks.quality.ranks import Results
from benchmarks.quality.transfer_weights import after_a_round, kept, two_labels

CURVE = PROTOCOLS["rare-curve-rec-talk-5"]


def write(folder, protocol, contender, scores):
    params = dict(protocol.contender(contender).params)
    with (folder / f"{protocol.name}.jsonl").open("a") as file:
        for split, score in enumerate(scores):
            record = {
                "key": f"{contender} {split}",
                "contender": contender,
                "params": params,
                "split": split,
                "error": None,
                "scores": score,
                "n_train": 100,
                "n_test": 50,
            }
            file.write(json.dumps(record) + "\n")


def score(rare, bac):
    common = 2 * bac - rare
    return {"g_mean": np.sqrt(rare * common), "bac": bac, "f": 0.0, "rare": rare}


def test_sizes_take_turns(tmp_path):
    values = [score(0.1 * (i + 1), 0.6) for i in range(5)]
    write(tmp_path, CURVE, "kinlearn rare", values)
    found = scores_by_size(CURVE, tmp_path, CURVE_SIZES, "rare")["kinlearn rare"]
    assert list(found) == [5, 10, 20, 46]
    assert_allclose(found[5], [0.1, 0.5])
    rows = TABLES["rare-curve-recall"](["rare-curve-*"], tmp_path).splitlines()
    assert rows[2].startswith("| rare-curve-rec-talk-5 | 5 | 2 | - | - | - | - | 0.300")
    assert len(rows) == 2 + 4


def test_f_lambda_by_hand(tmp_path):
    assert_allclose(f_lambda(0.4, 0.8, 1.0), 2 * 0.4 * 0.8 / 1.2)
    assert_allclose(f_lambda(0.4, 0.8, 1e6), 0.8)
    assert_allclose(f_lambda(0.4, 0.8, 1e-6), 0.4)
    assert f_lambda(0.0, 0.0, 2.0) == 0.0
    write(tmp_path, CURVE, "AdaBoost, target", [score(0.9, 0.9), score(0.4, 0.6)])
    drawn = TABLES["f-lambda"](["10", CURVE.name], tmp_path)
    assert " | 0.533 | " in drawn


def test_the_best_stands_for_a_published_method():
    scores = {
        "kinlearn 1.1": {0: 0.5, 1: 0.6, 2: 0.9},
        "kinlearn 1.2": {0: 0.7, 1: 0.6},
    }
    found = Results("p", transfer.ACCURACY, scores, 0.0)
    name, mean, n_splits = best_of(found, "best fixed cost")
    assert (name, n_splits) == ("kinlearn 1.2", 2)
    assert_allclose(mean, 0.65)
    assert best_of(found, "TrAdaBoost") is None


def test_who_stands_for_published_methods_is_declared():
    names = {c.name for p in PROTOCOLS.values() for c in p.contenders}
    for protocol in PROTOCOLS.select(
        ["transfer-*", "rare-*", "ados-*", "clustering-*"]
    ):
        for each in protocol.published:
            assert set(BEST[each.name]) <= names


def test_beside_has_the_published_figure_in_brackets(tmp_path):
    protocol = PROTOCOLS["transfer-wine"]
    write(tmp_path, protocol, "kinlearn none", [{"accuracy": 0.61}, {"accuracy": 0.63}])
    drawn = TABLES["beside"](["transfer-wine"], tmp_path)
    assert "| 2 of 30 | accuracy: TrAdaBoost 0.620 (0.604) | - |" in drawn


def test_weights_are_those_of_the_theorems():
    # section 3.5.2: after 10 rounds at an error of 0.1 over 85% of the weight is lost
    bare = kept(0.1, 10_000, 200, 20, corrected=False)
    assert 1 - bare[10] > 0.85
    assert_allclose(kept(0.1, 10_000, 200, 20, corrected=True), 1.0)
    # formula 3.29 for one round
    assert_allclose(
        kept(0.2, 1000, 50, 1, corrected=False)[1], 1 / (1 + 0.6 * 50 / 1050)
    )
    assert_allclose(
        after_a_round(0.2, 1000, 20), 1 - 0.2 / (1 + np.sqrt(20 / (2 * np.log(1000))))
    )


def test_the_rare_correction_brings_labels_together_sooner():
    bare, corrected = (two_labels(corrected=c, of_others=False) for c in (False, True))
    assert_allclose(bare[0], [0.82, 0.98])
    gap = np.abs(np.diff(np.stack([bare, corrected]), axis=2)).squeeze()
    assert (gap[1, 1:] < gap[0, 1:]).all()


def test_rows_of_abalone_are_those_of_the_thesis():
    class Abalone:
        task = np.repeat([0, 1], [1528, 1307])
        y = np.r_[np.repeat([0, 1], [1448, 80]), np.repeat([0, 1], [1263, 44])]

    train, test = transfer.draw_abalone(Abalone, 0)
    assert_array_equal(np.bincount(Abalone.task[train]), [160, 11])
    assert len(test) == 77
    assert not np.intersect1d(train, test).size


def test_rates_hold_at_each_size():
    class Rows:
        task = np.ones(3000, dtype=int)
        y = np.repeat([0, 1], [2500, 500])

    for number, size in enumerate(CURVE_SIZES):
        train, _ = transfer.draw_by_size(Rows, number, (0, 0), 0.05, CURVE_SIZES)
        assert_array_equal(np.bincount(Rows.y[train]), [19 * size, size])


def test_contenders_differ_in_the_terms_alone():
    some, others = contenders(4), contenders(10)
    assert [each.name for each in some] == [each.name for each in others]
    assert {each.params["min_documents"] for each in others} == {10}
