"""Transfer by boosting, slowly and plainly, from the formulas.

The twin of ``kinlearn.transfer``: weights are plain numbers (so keep the rounds
few), rows are walked one by one, and a tree tries every cut of every feature.
"""

import itertools
import math

import numpy as np

MISSING = 255
CHANCE = 0.5 - 1e-6  # what counts as 1/2: rounding must not make it pass


# ------------------------------------------------------------------ the weights


def correction(kind, target_error, source, beta_source, n_classes, of_target=None):
    """C of each label. `source` holds (weight, label, wrong) of the source rows."""
    grows = 2 * (1 - target_error) if target_error > 0 else 1.0
    everything = sum(w for w, _, _ in source)
    if kind == "rare":
        return rare(grows, source, beta_source, n_classes, of_target)
    out = []
    for label in range(n_classes):
        of_label = sum(w for w, y, _ in source if y == label)
        wrong = sum(w for w, y, bad in source if y == label and bad)
        if kind is None:
            out.append(1.0)
        elif kind == "dynamic":
            out.append(grows)
        elif kind == "rare_printed":
            out.append(1 - wrong / everything)
        elif kind == "dynamic_printed":
            out.append(2 * (1 - sum(w for w, _, bad in source if bad) / everything))
        elif kind == "balanced":
            within = wrong / of_label if of_label else 0.0
            out.append(grows / (1 - within * (1 - beta_source)))
        else:
            out.append(kind)
    return out


def rare(grows, source, beta_source, n_classes, of_target):
    """As printed, times what lets the rarest label keep its fraction; none gains."""
    printed = correction("rare_printed", 0.1, source, beta_source, n_classes)
    holding = {}
    for label in range(n_classes):
        rows = [(w, bad) for w, y, bad in source if y == label]
        if rows:
            after = sum(w * (beta_source if bad else 1) for w, bad in rows)
            holding[label] = grows * sum(w for w, _ in rows) / after
    rarest = min(holding, key=lambda label: of_target[label])
    times = holding[rarest] / printed[rarest]
    return [min(holding.get(c, grows), printed[c] * times) for c in range(n_classes)]


def boost(y, is_target, learn, *, n_rounds, kind, n_classes, start=None):
    """All rounds.

    `learn(weights)` gives the labels that the round's learner answers. Returns
    the weights before each round, the answers, the votes (0 where the target
    error reached 1/2), and the target errors.
    """
    n = len(y)
    start = [1.0] * n if start is None else list(start)
    w = list(start)
    n_source = sum(s for s, t in zip(start, is_target, strict=True) if not t)
    n_target = max(sum(start) - n_source, 1.0)
    beta_source = 1 / (1 + math.sqrt(2 * math.log(max(n_source, 2)) / n_rounds))
    of_target = [
        sum(
            s
            for s, t, label in zip(start, is_target, y, strict=True)
            if t and label == c
        )
        for c in range(n_classes)
    ]
    history, answers, votes, errors = [], [], [], []
    for _ in range(n_rounds):
        total = sum(w)
        w = [x / total for x in w]
        history.append(w)
        answer = learn(np.array(w))
        wrong = [a != b for a, b in zip(answer, y, strict=True)]
        mass = sum(x for x, t in zip(w, is_target, strict=True) if t)
        bad = sum(x for x, t, no in zip(w, is_target, wrong, strict=True) if t and no)
        error = bad / mass
        answers.append(answer)
        errors.append(error)
        back = mass / sum(s for s, t in zip(start, is_target, strict=True) if t)
        if error >= CHANCE:  # no vote; the target starts again, the source fades
            votes.append(0.0)
            w = [
                s * back if t else x * beta_source * (beta_source if no else 1)
                for x, s, t, no in zip(w, start, is_target, wrong, strict=True)
            ]
            continue
        beta_target = (1 - error) / max(error, 1e-10)
        least = min(0.25, 0.5 / n_target)  # half a row
        votes.append(math.log((1 - max(error, least)) / max(error, least)))
        source = [
            (x, label, no)
            for x, label, t, no in zip(w, y, is_target, wrong, strict=True)
            if not t
        ]
        c = (
            correction(kind, error, source, beta_source, n_classes, of_target)
            if source
            else []
        )
        restart = error == 0  # the target starts again
        w = [
            (s * back if restart else x * (beta_target if no else 1))
            if t
            else x * c[label] * (beta_source if no else 1)
            for x, s, label, t, no in zip(w, start, y, is_target, wrong, strict=True)
        ]
    return np.array(history), np.array(answers), np.array(votes), np.array(errors)


# --------------------------------------------------------------------- the tree


def _gini_score(weights):
    total = sum(weights)
    return sum(w * w for w in weights) / total if total else 0.0


def _class_weights(rows, y, w, n_classes):
    out = [0] * n_classes
    for i in rows:
        out[y[i]] += w[i]
    return out


def _splits(codes, rows):
    """(feature, cut, missing goes left, left rows, right rows), in order."""
    for f in range(codes.shape[1]):
        seen = sorted({int(codes[i, f]) for i in rows} - {MISSING})
        lost = [i for i in rows if codes[i, f] == MISSING]
        cuts = [(a + b) // 2 for a, b in itertools.pairwise(seen)]
        for missing_left in (False, True) if lost else (False,):
            for cut in cuts + (
                [seen[-1]] if lost and seen and not missing_left else []
            ):
                left = [
                    i
                    for i in rows
                    if (missing_left if codes[i, f] == MISSING else codes[i, f] <= cut)
                ]
                yield f, cut, missing_left, left, [i for i in rows if i not in left]


def grow_labels(codes, y, w, is_target, n_classes, *, trim, max_depth=99):
    """Label of each row by a weighted Gini tree, and the depth it was cut at.

    All nodes of a depth are split before the next; with `trim` growth ends at
    the first depth, from 1 on, with a target error below 1/2. `w` are whole
    numbers, so that sums are exact.
    """
    leaves = [list(range(len(y)))]
    depth = 0
    while True:
        labels = np.empty(len(y), dtype=int)
        for rows in leaves:
            labels[rows] = int(np.argmax(_class_weights(rows, y, w, n_classes)))
        bad = sum(w[i] for i in range(len(y)) if is_target[i] and labels[i] != y[i])
        mass = sum(w[i] for i in range(len(y)) if is_target[i])
        if depth and trim and bad < CHANCE * mass:
            return labels, depth
        grown, split_any = [], False
        for rows in leaves:
            best, best_score = None, -1.0
            if depth < max_depth and len({int(y[i]) for i in rows}) > 1:
                for *_, left, right in _splits(codes, rows):
                    score = _gini_score(
                        _class_weights(left, y, w, n_classes)
                    ) + _gini_score(_class_weights(right, y, w, n_classes))
                    if score > best_score * (1 + 1e-14):
                        best, best_score = (left, right), score
            grown += [rows] if best is None else list(best)
            split_any = split_any or best is not None
        if not split_any:
            return labels, depth
        leaves, depth = grown, depth + 1


# ----------------------------------------------------------- numbers, and ADOS


def boost_numbers(y, is_target, learn, *, n_rounds):
    """TrAdaBoost.R2: weights before each round, answers, votes, target errors."""
    n = len(y)
    w = [1.0] * n
    n_source = n - sum(is_target)
    beta_source = 1 / (1 + math.sqrt(2 * math.log(max(n_source, 2)) / n_rounds))
    history, answers, votes, errors = [], [], [], []
    for _ in range(n_rounds):
        total = sum(w)
        w = [x / total for x in w]
        answer = learn(np.array(w))
        residual = [abs(a - b) for a, b in zip(answer, y, strict=True)]
        e = [r / max(residual) for r in residual]
        mass = sum(x for x, t in zip(w, is_target, strict=True) if t)
        error = sum(x * r for x, r, t in zip(w, e, is_target, strict=True) if t) / mass
        if error >= CHANCE:
            break
        beta = error / (1 - error)
        history.append(w)
        answers.append(answer)
        errors.append(error)
        least = min(0.25, 0.5 / (n - n_source))  # half a row
        votes.append(math.log((1 - max(error, least)) / max(error, least)))
        w = [
            x * beta**-r if t else x * beta_source**r
            for x, r, t in zip(w, e, is_target, strict=True)
        ]
    return np.array(history), np.array(answers), np.array(votes), np.array(errors)


def weighted_median(values, weights):
    """The first value, ascending, at which half of the weight is reached."""
    pairs = sorted(zip(values, weights, strict=True))
    total, below = sum(weights), 0.0
    for value, weight in pairs:
        below += weight
        if below >= total / 2:
            return value
    raise AssertionError("no weights")


def auxiliary_weights(y, y_source, learn, *, n_rounds):
    """One repeat of ADOS on a balanced draw `y` of the target.

    `learn(weights)` gives the learner's answers for the draw and for the source
    rows. Returns the normalised weights of the source rows.
    """
    w = [1.0] * len(y)
    source = [1.0] * len(y_source)
    beta_source = 1 / (1 + math.sqrt(2 * math.log(max(len(y_source), 2)) / n_rounds))
    for _ in range(n_rounds):
        total = sum(w)
        w = [x / total for x in w]
        answer, of_source = learn(np.array(w))
        error = sum(x for x, a, b in zip(w, answer, y, strict=True) if a != b)
        if error >= CHANCE:
            break
        source = [
            x * (beta_source if a != b else 1)
            for x, a, b in zip(source, of_source, y_source, strict=True)
        ]
        if error == 0:
            break
        w = [
            x * ((1 - error) / error if a != b else 1)
            for x, a, b in zip(w, answer, y, strict=True)
        ]
    return np.array(source) / sum(source)
