"""Which rows fill up a rare class? ``python -m benchmarks.quality.transfer_rows``.

All source rows of the rare class are at hand, and as many are wanted as make the
target's classes equal. AdaBoost is fitted to the target's rows and those taken, and the
G-mean of other target rows is compared with that of a random choice, the baseline: the
mean of two.

- weights: those of the highest weight, the thesis's rule; "better half" draws from the
  half with the higher weights.
- density: those with the highest ratio of the densities of target and source; "density,
  drawn" draws with probabilities that are the ratio; "density, cells" takes the highest
  of each of 30 k-means cells, in proportion to its size.
- cells: as many rows of each cell; "cells, in proportion" draws from each as many as
  its fraction.
- clear half: drawn from the half that a model of the source is surest of.

Rules were first tried on problems that no protocol has (``apart:``), then played on the
five of the thesis. A record is one line of JSON: G-means of one draw. Records that the
file has are not made again.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MaxAbsScaler

import benchmarks.quality.protocols  # noqa: F401 - declares the problems
from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.quality.statistics import corrected_interval
from benchmarks.quality.transfer import ROUNDS, draw, gmean
from benchmarks.quality.transfer_apart import load_once
from kinlearn.transfer import AuxiliaryOverSampler

RECORDS = Path(__file__).parents[1] / "records" / "transfer_rows.jsonl"
# problem: common and rare rows of the target
APART = {
    "apart:comp-rec": (500, 10),
    "apart:comp-talk": (500, 10),
    "apart:abalone-old": (99, 15),
    "apart:wine-best": (99, 15),
}
PLAYED = {
    "news:rec-sci": (486, 10),
    "news:sci-talk": (513, 10),
    "news:rec-talk": (472, 10),
    "transfer:abalone": (99, 22),
    "transfer:flare": (71, 9),
}
N_DRAWS = {**dict.fromkeys(APART, 3), **dict.fromkeys(PLAYED, 10)}
_CELLS = 30


class _Rows:
    """The rows of one draw, and how likely they are of the target or of their class."""

    def __init__(self, data, n_common, n_rare, number):
        self.rng = np.random.default_rng(number)
        train, self.test = draw(data, number, (None, None), (n_common, n_rare))
        self.X, self.y, self.task = data.X, data.y, data.task
        features = data.X[:, :-1]
        self.features = sp.csr_array(features) if sp.issparse(features) else features
        self.scaled = MaxAbsScaler().fit_transform(self.features)
        self.train = train
        self.own = train[self.task[train] == 1]
        self.source = train[self.task[train] == 0]
        self.rare = self.source[self.y[self.source] == 1]
        self.n_wanted = min(n_common - n_rare, len(self.rare))

    def left_out(self, rows, label, cell):
        """Probability of label 1 for the source's rare rows, by models of others."""
        folds = StratifiedKFold(2, shuffle=True, random_state=0).split(rows, cell)
        found = np.zeros(len(self.y))
        for train, test in folds:
            size = np.bincount(cell[train])
            model = LogisticRegression(max_iter=200)
            weight = len(train) / size[cell[train]] / len(size)
            model.fit(self.scaled[rows[train]], label[train], sample_weight=weight)
            found[rows[test]] = model.predict_proba(self.scaled[rows[test]])[:, 1]
        return np.clip(found[self.rare], 1e-4, 1 - 1e-4)

    def drawn(self, rows):
        """As many as are wanted, at random."""
        return self.rng.permutation(rows)[: self.n_wanted]

    def by_density(self):
        """By a draw."""
        task, y = self.task[self.train], self.y[self.train]
        near = self.left_out(self.train, task, 2 * y + task)
        ratio = near / (1 - near)
        return self.rng.choice(
            self.rare, self.n_wanted, replace=False, p=ratio / ratio.sum()
        )

    def by_cells(self):
        """As many of each cell, and in proportion to their sizes."""
        cell = self.cells()
        order = self.rng.permutation(len(self.rare))
        rank, size = _ranked(order, cell)
        order = order[np.argsort(cell[order], kind="stable")]
        even = order[np.argsort(rank, kind="stable")]
        shift = self.rng.random(len(size))[cell[order]]
        level = order[np.argsort((rank + shift) / size[cell[order]], kind="stable")]
        return self.rare[even[: self.n_wanted]], self.rare[level[: self.n_wanted]]

    def cells(self):
        """Cell of each rare row of the source."""
        n_cells = min(_CELLS, len(self.rare) // 3)
        means = KMeans(n_cells, n_init=1, random_state=0)
        return means.fit_predict(self.scaled[self.rare])

    def by_density_in_cells(self, score):
        """The best of each cell, in proportion to its size."""
        cell = self.cells()
        order = np.argsort(-score, kind="stable")
        rank, size = _ranked(order, cell)
        order = order[np.argsort(cell[order], kind="stable")]
        level = order[np.argsort((rank + 0.5) / size[cell[order]], kind="stable")]
        return self.rare[level[: self.n_wanted]]

    def by_class(self):
        """From the half that is surest to be of the rare class."""
        y = self.y[self.source]
        sure = self.left_out(self.source, y, y)
        half = max(self.n_wanted, len(self.rare) // 2)
        return self.drawn(self.rare[np.argsort(-sure)[:half]])

    def sampled(self, selection, seed):
        """Rows that the sampler takes, and its score of all."""
        sampler = AuxiliaryOverSampler(
            task=-1, target=1, selection=selection, random_state=seed
        )
        sampler.fit_resample(self.X[self.train], self.y[self.train])
        score = np.zeros(len(self.y))
        score[self.train] = sampler.source_scores_
        return self.train[sampler.source_indices_], score[self.rare]

    def better_half(self, score):
        """From the half with the higher scores."""
        half = max(self.n_wanted, len(self.rare) // 2)
        return self.drawn(self.rare[np.argsort(-score, kind="stable")[:half]])

    def score(self, taken, seed):
        """G-mean of AdaBoost on the target's rows and those taken."""
        rows = np.concatenate([self.own, taken])
        model = AdaBoostClassifier(n_estimators=ROUNDS, random_state=seed)
        model.fit(self.features[rows], self.y[rows])
        return gmean(self.y[self.test], model.predict(self.features[self.test]))


def _ranked(order, cell):
    """Place of each row in its cell, cell by cell, and sizes of the cells."""
    order = order[np.argsort(cell[order], kind="stable")]
    size = np.bincount(cell)
    return np.arange(len(order)) - (np.cumsum(size) - size)[cell[order]], size


def scores(name, number):
    """G-mean of each rule on one draw.

    Parameters
    ----------
    name : str
        A problem, of `APART` or `PLAYED`.
    number : int
        Of the draw.

    Returns
    -------
    dict
        Rule: G-mean.
    """
    rows = _Rows(load_once(name), *{**APART, **PLAYED}[name], number)
    taken = {"random": rows.drawn(rows.rare), "random, again": rows.drawn(rows.rare)}
    taken["density, drawn"] = rows.by_density()
    taken["cells"], taken["cells, in proportion"] = rows.by_cells()
    if name in APART:
        taken["clear half"] = rows.by_class()
    else:
        taken["weights"], weight = rows.sampled("weights", number)
        taken["better half"] = rows.better_half(weight)
    taken["density"], ratio = rows.sampled("density", number)
    taken["density, cells"] = rows.by_density_in_cells(ratio)
    return {rule: rows.score(chosen, number) for rule, chosen in taken.items()}


def table(records, problems):
    """A row for each problem: G-mean at random, and the differences to it.

    Parameters
    ----------
    records : list of dict
        Of the file.
    problems : iterable of str
        The rows.

    Returns
    -------
    list of list of str
        The heading first.
    """
    of = {name: [r for r in records if r["problem"] == name] for name in problems}
    of = {name: some for name, some in of.items() if some}
    rules = [rule for rule in next(iter(of.values()))[0]["scores"]
             if not rule.startswith("random")]  # fmt: skip
    rows = [["problem", "draws", "random", *rules]]
    for name, some in of.items():
        base = np.array(
            [(r["scores"]["random"] + r["scores"]["random, again"]) / 2 for r in some]
        )
        row = [name.partition(":")[2], str(len(some)), f"{base.mean():.3f}"]
        for rule in rules:
            less = np.array([r["scores"][rule] for r in some]) - base
            found = corrected_interval(less, 0.0)
            text = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
            row.append(f"**{text}**" if found.low * found.high > 0 else text)
        rows.append(row)
    return rows


def main():
    """Fit what is missing, and print the two tables, in Markdown."""
    chosen = [p for p in N_DRAWS if not sys.argv[1:] or p in sys.argv[1:]]
    with JsonLines(RECORDS) as store:
        done = {(r["problem"], r["draw"]) for r in store.records}
        for name in chosen:
            for number in range(N_DRAWS[name]):
                if (name, number) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = scores(name, number)
                store.append({"problem": name, "draw": number, "scores": found})
        for problems in (APART, PLAYED):
            if any(record["problem"] in problems for record in store.records):
                heading, *rows = table(store.records, problems)
                for row in (heading, ["---"] * len(heading), *rows):
                    print_line(f"| {' | '.join(row)} |")
                print_line("")
    return 0


if __name__ == "__main__":
    sys.exit(main())
