"""The fuzzer finds what is planted, and nothing new in the estimators."""

import json
import os
import random
import sys

import pytest

from tests.fuzz.inputs import CHOICES, draw_recipe, make_inputs
from tests.fuzz.planted import FAULTS, PLANTED
from tests.fuzz.pool import Child
from tests.fuzz.rounds import FIXED, KNOWN, fuzz, read_cases, write_case
from tests.fuzz.shrink import shrink
from tests.fuzz.trial import draw_case, estimators, run_case, signature

needs_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="limits of processes as Linux has them"
)
SECONDS = float(os.environ.get("FUZZ_SECONDS", 60))
SEED = int(os.environ.get("FUZZ_SEED", 0))  # a failure is the change's own
MOST_CASES = int(4 * SECONDS)  # no more on a fast machine: the same cases everywhere


def test_a_case_is_drawn_again_from_its_seed_and_is_json():
    known = estimators()
    for seed in range(50):
        case = draw_case(random.Random(seed), known)
        assert draw_case(random.Random(seed), known) == case
        assert json.loads(json.dumps(case)) == case


def test_every_input_can_be_made():
    for name, choices in CHOICES.items():
        for value in choices:
            for container in ("array", "frame", "polars", "csr", "list"):
                recipe = {"container": container, name: value}
                for is_classifier in (True, False):
                    inputs = make_inputs(recipe, is_classifier, True)
                    assert len(inputs.y) == recipe.get("n_rows", 30)


def test_every_estimator_and_every_entry_is_drawn():
    known = estimators()
    rng = random.Random(0)
    drawn = [draw_case(rng, known) for _ in range(2000)]
    assert {case["estimator"] for case in drawn} == set(known)
    recipes = [draw_recipe(rng) for _ in range(2000)]
    for name, choices in CHOICES.items():
        assert {r[name] for r in recipes if name in r} == set(list(choices)[1:])


@pytest.mark.parametrize("name", sorted(set(FAULTS) - {"Crash", "Hang", "Greedy"}))
def test_a_planted_fault_is_found(name):
    case = {"estimator": name, "params": {}, "inputs": {}, "then": "refit"}
    finding = run_case(case, PLANTED)
    assert ({finding["kind"]} if finding else set()) == FAULTS[name][1]


def test_small_cases_keep_what_the_fault_needs():
    case = {
        "estimator": "any",
        "params": {"random_state": 0, "a": 1, "b": 2, "c": 3, "d": 4},
        "inputs": {"seed": 5, "values": "ties", "n_rows": 60, "gaps": 0.1},
        "then": "pickle",
    }
    small = shrink(case, lambda c: "b" in c["params"] and "gaps" in c["inputs"])
    assert small == {
        "estimator": "any",
        "params": {"random_state": 0, "b": 2},
        "inputs": {"seed": 5, "gaps": 0.1, "n_rows": 3, "n_columns": 1, "n_tasks": 2},
    }


@pytest.mark.parametrize("folder", [FIXED, KNOWN], ids=lambda folder: folder.name)
def test_files_say_what_was_found(folder, tmp_path):
    for name, case in read_cases(folder).items():
        assert set(case) - {"then"} == {"estimator", "params", "inputs", "found"}
        assert case["estimator"] in estimators()
        assert write_case(case, tmp_path).stem == name
        assert "/home/" not in str(case)
        assert "/work/" not in str(case)


@needs_linux
def test_what_failed_once_does_not_fail_again():
    with Child() as child:
        for name, case in read_cases(FIXED).items():
            assert child.run(case) is None, name


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize("name", ["Crash", "Hang", "Greedy"])
def test_what_would_end_the_round_ends_a_case_alone(name):
    with Child(1, {"KINLEARN_FUZZ_PLANTED": "1"}) as child:
        case = {"estimator": name, "params": {}, "inputs": {}}
        assert {child.run(case)["kind"]} == FAULTS[name][1]
        assert child.run(case | {"estimator": "Pooled"}) is None


@pytest.mark.slow
@needs_linux
def test_a_round_finds_nothing_new(tmp_path):
    """For FUZZ_SECONDS; what it finds is written, to be looked at."""
    result = fuzz(
        n_cases=MOST_CASES, seconds=SECONDS, seed=SEED, known=read_cases(KNOWN)
    )
    written = [write_case(case, tmp_path) for case in result.found.values()]
    assert not written, (
        f"{result.in_words()}\nThe cases lie in {tmp_path}: move them to "
        f"{KNOWN}, and carry them out with `python -m tests.fuzz --show FILE`."
    )
    assert result.n_cases > 0


def test_known_faults_are_told_from_new_ones():
    case = {"estimator": "PerTask(Ridge)", "params": {}, "inputs": {}}
    finding = {"kind": "crash", "place": "file: function", "words": "one"}
    assert signature(case, finding) == ("PerTask", "crash", "file: function")
