"""Ratios, limits, peaks and the command of the speed benchmarks."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.jsonlines import read_records
from benchmarks.registry import BenchmarkError, Registry
from benchmarks.speed import measure, runner
from benchmarks.speed.__main__ import main
from benchmarks.speed.case import CASES, Limit, Seconds, Work, case
from benchmarks.speed.summary import fastest_peer, growth, ratio, verdicts


@pytest.fixture
def declared():
    """Cases declared in a test are gone after it."""
    before = dict(CASES)
    yield
    CASES.clear()
    CASES.update(before)


def test_ratio_by_hand():
    found = ratio([2.0, 1.0, 4.0], [6.0, 5.0, 4.0])
    assert found.best == 4.0  # 4 / 1, of different rounds
    assert (found.median, found.low, found.high) == (3.0, 1.0, 5.0)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        ratio([1.0, 2.0], [1.0])


def test_growth_of_a_power_law():
    seconds = {n: [3e-9 * n**1.5, 1.0] for n in (100, 1_000, 50_000)}
    assert_allclose(growth(seconds), 1.5)


def test_the_fastest_peer_has_the_best_time():
    seconds = {"ours": [1.0], "a": [3.0, 9.0], "b": [4.0, 2.0]}
    assert fastest_peer(seconds) == "b"
    assert fastest_peer({"ours": [1.0]}) is None


@pytest.mark.parametrize(
    ("limit", "side", "text"),
    [
        (Limit(times_faster=2.0), "within", "at least 2 x its speed: 2 x its speed"),
        (Limit(times_faster=2.1), "below", "at least 2.1 x its speed: 2 x its speed"),
        (Limit(times_as_long=0.5), "within", "at most 0.5 x its time: 0.5 x its time"),
        (Limit(times_as_long=0.4), "above", "at most 0.4 x its time: 0.5 x its time"),
        (Limit(seconds=1.0), "within", "at most 1 s: 1 s"),
        (Limit(seconds=0.9), "above", "at most 0.9 s: 1 s"),
        (Limit(memory_of_data=1.5), "within", "at most 1.5 x the data: 1.5 x the data"),
        (Limit(memory_of_data=1.0), "above", "at most 1 x the data: 1.5 x the data"),
        (Limit(gibibytes=1.0), "within", "at most 1 GiB: 0.75 GiB"),
        (Limit(gibibytes=0.5), "above", "at most 0.5 GiB: 0.75 GiB"),
        (Limit(growth=1.15), "above", "at most n^1.15: n^1.2"),
    ],
)
def test_limits(limit, side, text):
    seconds = {"ours": [1.0, 5.0], "slow": [9.0, 9.0], "fast": [2.0, 8.0]}
    (found,) = verdicts(
        limit,
        seconds=seconds,
        peak_bytes=3 * 2**28,
        data_bytes=2 * 2**28,
        exponent=1.2,
    )
    assert (f"{found.limit}: {found.found}", found.side) == (text, side)


def test_no_verdict_without_a_figure():
    limit = Limit(
        times_faster=1, times_as_long=1, memory_of_data=1, gibibytes=1, growth=1
    )
    assert verdicts(limit, seconds={"ours": [1.0]}) == []
    assert verdicts(Limit(), seconds={"ours": [1.0], "peer": [1.0]}) == []


def test_rounds_alternate_and_the_first_changes(declared, monkeypatch):
    calls = []

    def tell(who, seconds):
        def call():
            calls.append(who)
            return Seconds(seconds)

        return call

    @case("told")
    def told():
        """Told times."""
        return Work(tell("ours", 1.0), {"a": tell("a", 2.0), "b": tell("b", 3.0)})

    seconds = measure.time_in_rounds("told", None, 3)
    assert seconds == {"ours": [1.0] * 3, "a": [2.0] * 3, "b": [3.0] * 3}
    warm_up = ["ours", "a", "b"]
    rounds = ["ours", "a", "b", "a", "b", "ours", "b", "ours", "a"]
    assert calls == warm_up + rounds


def test_short_calls_are_repeated_within_a_timing(declared):
    calls = []

    @case("short", sizes=(10,))
    def short(size):
        """A call that takes next to no time."""
        return Work(lambda: calls.append(size))

    (seconds,) = measure.time_in_rounds("short", 10, 1)["ours"]
    assert len(calls) > 100
    assert set(calls) == {10}
    assert seconds < measure.SHORTEST / 50


def test_different_work_is_not_timed(declared):
    def check(ours, peer):
        assert ours == peer, "different answers"

    @case("different")
    def different():
        """Two things."""
        return Work(lambda: 1, {"peer": lambda: 2}, check=check)

    with pytest.raises(AssertionError, match="different answers"):
        measure.time_in_rounds("different", None, 1)


def test_peak_memory_counts_the_call_and_not_the_data(declared):
    @case("allocates")
    def allocates():
        """40 MB at once, of which nothing remains, on data of 80 MB."""
        data = np.ones(10_000_000)

        def ours():
            return np.ones(5_000_000).sum() + data[0]

        return Work(ours, data_bytes=data.nbytes)

    found = measure.peak_memory("allocates", None, "ours")
    assert found["data_bytes"] == 80_000_000
    if found["peak_bytes"] is None:
        pytest.skip("this system cannot set the high-water mark back")
    assert 39e6 < found["peak_bytes"] < 48e6


@pytest.mark.slow
def test_the_command_measures_and_writes_records(tmp_path, capsys):
    arguments = ["group-rows", "--runs", "1", "--repeats", "2"]
    assert main([*arguments, "--results", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "x the speed of numpy, 16 bits" in printed
    assert "limit at most 1 x its time" in printed
    (line,) = (tmp_path / "speed.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["case"] == "group-rows"
    assert set(record["seconds"]) == {"ours", "numpy", "numpy, 16 bits"}
    assert all(len(seconds) == 2 for seconds in record["seconds"].values())
    ours, numpy = record["seconds"]["ours"], record["seconds"]["numpy"]
    assert math.isclose(record["ratios"]["numpy"]["best"], min(numpy) / min(ours))


def test_the_list_and_wrong_names(capsys):
    assert main(["--list", "import*"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[0] == "import"
    assert main(["group-rows", "nonsense"]) == 2
    error = capsys.readouterr().err.splitlines()
    assert error == [f"Unknown speed case 'nonsense'. Known: {', '.join(CASES)}."]


def test_a_missing_module_skips_a_case(declared, tmp_path, capsys):
    @case("lacking", needs=("kinlearn", "no_such_package.part"))
    def lacking():
        """A case for a package that nobody has."""

    assert main(["lacking", "--results", str(tmp_path)]) == 0
    assert "skipped: needs no_such_package.part" in capsys.readouterr().out


def test_growth_over_sizes_is_judged(declared, tmp_path, capsys, monkeypatch):
    @case("grows", sizes=(10, 1_000), limit=Limit(growth=1.9))
    def grows(size):
        """Quadratic."""

    def measured(case, function, size, repeats):
        return {"ours": [1e-6 * size**2] * repeats}

    monkeypatch.setattr(runner, "_in_worker", measured)
    assert main(["grows", "--results", str(tmp_path), "--runs", "2"]) == 0
    printed = capsys.readouterr().out
    assert "  n = 10\n  ours: best 100 us, worst 100 us\n" in printed
    assert "growth: n^2.00 from 10 to 1,000" in printed
    assert "limit at most n^1.9: n^2, ABOVE" in printed
    records = read_records(tmp_path / "speed.jsonl")
    assert [record.get("size") for record in records] == [10, 1_000, None]
    assert_allclose(records[0]["seconds"]["ours"], [1e-4] * 10)
    assert_allclose(records[2]["growth"], 2.0)


def test_a_case_that_fails_is_told_and_the_rest_goes_on(declared, tmp_path, capsys):
    @case("local")
    def local():
        """Not known to the fresh process."""

    @case("lacking", needs=("no_such_package",))
    def lacking():
        """Skipped."""

    assert main(["local", "lacking", "--results", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "failed: BenchmarkError: Unknown speed case 'local'" in printed
    assert "skipped: needs no_such_package" in printed


def test_a_name_is_declared_once():
    registry = Registry("thing")
    registry.add("a", 1)
    with pytest.raises(ValueError, match="thing 'a' is declared twice"):
        registry.add("a", 2)
    registry.add("ab", 2)
    assert registry.select(["a*", "a"]) == [1, 2]
    assert registry.select([]) == [1, 2]
    with pytest.raises(BenchmarkError, match=r"Unknown thing 'b\*'. Known: a, ab."):
        registry.select(["b*"])
