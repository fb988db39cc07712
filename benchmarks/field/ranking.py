"""Means, ranks, tests and tables of what `benchmarks.field` recorded."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from benchmarks.field.sets import REGIMES, SETS
from benchmarks.quality.statistics import nemenyi_difference

__all__ = [
    "Ranking",
    "complete",
    "key_of",
    "latest",
    "means_table",
    "median_seconds",
    "pair_rows",
    "pairs",
    "rank_rows",
    "ranking",
    "ranks",
]


_FEWEST = 1  # splits of a set that a contender is ranked by


def key_of(record):
    """What makes two records the same run."""
    return record["set"], record["regime"], record["split"], record["contender"]


def latest(records):
    """The last record of each run, failed ones left out."""
    found = {key_of(record): record for record in records}
    return [record for record in found.values() if record.get("error") is None]


def complete(records):
    """Records of the contenders that have some splits of all sets in both regimes.

    Parameters
    ----------
    records : list of dict
        See `ranks`.

    Returns
    -------
    list of dict
        Without contenders that have fewer than two splits where another one has two.
    """
    records = latest(records)
    splits = Counter((r["contender"], r["regime"], r["set"]) for r in records)
    needed = {}
    for (_, *place), number in splits.items():
        before = needed.get(tuple(place), 0)
        needed[tuple(place)] = max(before, min(number, _FEWEST))
    names = {
        name
        for name, *_ in splits
        if all(splits[name, *place] >= number for place, number in needed.items())
    }
    return [record for record in records if record["contender"] in names]


def _scores(records):
    """By regime, set, contender and split."""
    table = {}
    for record in latest(records):
        sets = table.setdefault(record["regime"], {})
        scores = sets.setdefault(record["set"], {}).setdefault(record["contender"], {})
        scores[record["split"]] = record["score"]
    return table


def ranks(records):
    """Mean score and rank of each contender of each regime and set.

    Parameters
    ----------
    records : list of dict
        With set, regime, split, contender and score; of two alike the later counts.

    Returns
    -------
    dict
        By regime: a dict of sets, each with a dict from contender to (mean, rank) on
        the splits that all its contenders have.
    """
    found = {}
    for regime, sets in _scores(records).items():
        for name, scores in sets.items():
            common = set.intersection(*(set(each) for each in scores.values()))
            if not common:
                continue
            means = {
                contender: float(np.mean([each[s] for s in common]))
                for contender, each in scores.items()
            }
            order = rankdata([-mean for mean in means.values()])
            found.setdefault(regime, {})[name] = {
                contender: (mean, float(rank))
                for (contender, mean), rank in zip(means.items(), order, strict=True)
            }
    return found


@dataclass(frozen=True)
class Ranking:
    """Mean ranks over the sets of a regime.

    Attributes
    ----------
    contenders : list of str
        Those that all sets have, the best mean rank first.
    mean : list of float
        Their mean ranks.
    difference : float
        From which on two mean ranks differ significantly (Nemenyi, 5 %).
    p : float
        Of the test of Friedman that all rank alike.
    n_sets, n_runs : int
        How many sets, and splits of them in all, the ranks are of.
    """

    contenders: list
    mean: list
    difference: float
    p: float
    n_sets: int
    n_runs: int

    def alike(self, name):
        """Who does not differ significantly from a contender."""
        of = dict(zip(self.contenders, self.mean, strict=True))
        return [
            each
            for each in self.contenders
            if each != name and abs(of[each] - of[name]) < self.difference
        ]


def ranking(records, regime, contenders=None):
    """Ranks of a regime on the sets and splits that all contenders have.

    Parameters
    ----------
    records : list of dict
        See `ranks`.
    regime : str
        A key of ``REGIMES``.
    contenders : list of str, default=None
        Who is ranked; None is everybody.

    Returns
    -------
    Ranking
        None if no set has two of them.
    """
    own = [
        record
        for record in records
        if record["regime"] == regime
        and (contenders is None or record["contender"] in contenders)
    ]
    wanted = {record["contender"] for record in latest(own)}
    sets = _scores(own).get(regime, {})
    complete = {name for name, scores in sets.items() if set(scores) == wanted}
    own = [record for record in own if record["set"] in complete]
    found = ranks(own).get(regime, {})
    if not found or len(wanted) < 2:
        return None
    names = sorted(wanted)
    table = np.array([[scores[n][1] for n in names] for scores in found.values()])
    p = float("nan")
    if len(names) > 2 and len(table) > 1:
        p = float(friedmanchisquare(*table.T).pvalue)
    mean = table.mean(axis=0)
    order = np.argsort(mean, kind="stable")
    n_runs = sum(
        len(set.intersection(*(set(each) for each in sets[name].values())))
        for name in found
    )
    return Ranking(
        [names[i] for i in order],
        [float(mean[i]) for i in order],
        nemenyi_difference(len(table), len(names)),
        p,
        len(table),
        n_runs,
    )


def pairs(records, regime, ours):
    """One contender against each other one, over the sets of a regime.

    Parameters
    ----------
    records : list of dict
        See `ranks`.
    regime : str
        A key of ``REGIMES``.
    ours : str
        A contender.

    Returns
    -------
    dict
        By other contender: on how many sets ours has the higher mean, how many sets
        there are, the mean difference, and the p-value of Wilcoxon's signed ranks with
        Holm's correction for all of them.
    """
    own = [record for record in records if record["regime"] == regime]
    gains = {}
    for scores in ranks(own).get(regime, {}).values():
        for name, (mean, _) in scores.items():
            if name != ours and ours in scores:
                gains.setdefault(name, []).append(scores[ours][0] - mean)
    p = {name: float(wilcoxon(values).pvalue) for name, values in gains.items()}
    corrected, most = {}, 0.0
    for place, name in enumerate(sorted(p, key=p.get)):
        most = max(most, min(1.0, p[name] * (len(p) - place)))
        corrected[name] = most
    return {
        name: (
            int(np.sum(np.array(values) > 0)),
            len(values),
            float(np.mean(values)),
            corrected[name],
        )
        for name, values in gains.items()
    }


def pair_rows(records, ours):
    """One contender against each other one, in both regimes.

    Parameters
    ----------
    records : list of dict
        See `ranks`.
    ours : str
        A contender.

    Returns
    -------
    list of list of str
        The heading first.
    """
    found = {regime: pairs(records, regime, ours) for regime in REGIMES}
    names = set.intersection(*(set(each) for each in found.values()))
    rows = [["against"]]
    for regime in REGIMES:
        rows[0] += [f"{regime}: better on", "mean gain", "p"]
    order = {name: sum(each[name][0] for each in found.values()) for name in names}
    for name in sorted(names, key=lambda each: (-order[each], each)):
        row = [name]
        for each in found.values():
            wins, n_sets, gain, p = each[name]
            mark = "**" if p < 0.05 else ""
            row += [f"{wins} of {n_sets}", f"{gain:+.3f}", f"{mark}{p:.2g}{mark}"]
        rows.append(row)
    return rows


def median_seconds(records):
    """Median processor time of the runs of each contender."""
    found = {}
    for record in latest(records):
        found.setdefault(record["contender"], []).append(record["processor_seconds"])
    return {name: float(np.median(values)) for name, values in found.items()}


def rank_rows(records, contenders=None):
    """Mean rank of each contender in each regime, and its time.

    Parameters
    ----------
    records : list of dict
        See `ranks`.
    contenders : list of str, default=None
        Who is ranked; None is everybody.

    Returns
    -------
    rows : list of list of str
        The heading first.
    notes : list of str
        For each regime: what the tests say.
    """
    found = {each: ranking(records, each, contenders) for each in REGIMES}
    found = {regime: each for regime, each in found.items() if each is not None}
    mean = {
        regime: dict(zip(each.contenders, each.mean, strict=True))
        for regime, each in found.items()
    }
    names = set.intersection(*(set(each) for each in mean.values()))
    seconds = median_seconds(records)
    rows = [
        ["contender", *(f"mean rank, {regime}" for regime in found), "processor, s"]
    ]
    for name in sorted(names, key=lambda n: (sum(m[n] for m in mean.values()), n)):
        cells = [f"{each[name]:.1f}" for each in mean.values()]
        rows.append([name, *cells, f"{seconds[name]:.2g}"])
    notes = []
    for regime, each in found.items():
        best = each.contenders[0]
        notes.append(
            f"{regime}: {each.n_sets} sets, {each.n_runs} splits, "
            f"{len(each.contenders)} contenders; Friedman p = {each.p:.2g}; mean ranks "
            f"differ significantly from {each.difference:.1f} on (Nemenyi, 5 %). Not "
            f"significantly different from the first, {best}: "
            f"{'; '.join(each.alike(best)) or 'nobody'}."
        )
    return rows, notes


def means_table(records, regime, contenders=None):
    """A line for each set and contender: mean score, rank, seconds.

    Parameters
    ----------
    records : list of dict
        See `ranks`.
    regime : str
        A key of ``REGIMES``.
    contenders : list of str, default=None
        The columns; None is everybody, by mean rank.

    Returns
    -------
    list of list of str
        The heading first: sets as columns would be too wide, so contenders are lines.
    """
    own = [record for record in latest(records) if record["regime"] == regime]
    if contenders is not None:
        own = [record for record in own if record["contender"] in contenders]
    found = ranks(own).get(regime, {})
    sets = [name for name in SETS if name in found]
    order = {}
    for scores in found.values():
        for name, (_, rank) in scores.items():
            order.setdefault(name, []).append(rank)
    seconds = {}
    for record in own:
        seconds.setdefault((record["set"], record["contender"]), []).append(
            record["processor_seconds"]
        )
    rows = [["contender", *sets]]
    for name in sorted(order, key=lambda each: (np.mean(order[each]), each)):
        cells = []
        for each in sets:
            if name not in found[each]:
                cells.append("-")
                continue
            score, rank = found[each][name]
            time = np.median(seconds[each, name])
            shown = f"**{score:.3f}**" if rank <= 1.5 else f"{score:.3f}"
            cells.append(f"{shown} / {_short(time)}")
        rows.append([name, *cells])
    return rows


def _short(seconds):
    return f"{seconds:.2f}" if seconds < 1 else f"{seconds:.0f}"
