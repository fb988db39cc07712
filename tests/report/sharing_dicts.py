"""Made-up results of an audit, as ``SharingResult.to_dict()`` gives them.

The numbers of one dict agree with each other (means are means of the scores, the
verdict counts the gains), so that a page of it reads as a real one does.
"""

import json

import numpy as np

CONTENDERS = (
    # name, family, form, mean level, spread of its gain over tasks
    ("logistic, alone", "logistic", "alone", 0.00, 0.000),
    ("logistic, pooled", "logistic", "pooled", -0.03, 0.050),
    ("logistic, task as feature", "logistic", "task as feature", 0.01, 0.030),
    ("boosting, alone", "boosting", "alone", -0.02, 0.010),
    ("boosting, task as feature", "boosting", "task as feature", 0.02, 0.030),
    ("extra trees, alone", "extra trees", "alone", 0.01, 0.010),
    ("multi-task extra trees", "extra trees", "multi-task", 0.05, 0.03),
)
SHARING, ALONE = "multi-task extra trees", "extra trees, alone"


CLINICS = (
    *("Alder", "Birch", "Cedar", "Elm", "Hazel", "Juniper"),
    *("Larch", "Maple", "Oak", "Pine", "Rowan", "Willow"),
)


def make_result(
    tasks=None,
    *,
    seed=0,
    error_metric=False,
    unscored=(),
    few=(),
    failed=(),
    curve=True,
    affinity=True,
    distances=True,
    ties=False,
    task_name="clinic",
):
    """A believable dict for these tasks; see the module."""
    tasks = list(CLINICS if tasks is None else tasks)
    rng = np.random.default_rng(seed)
    n = len(tasks)
    n_rows = np.sort(rng.integers(30, 330, size=n))[::-1]
    scored = np.array([task not in set(unscored) for task in tasks], dtype=bool)
    scores = _scores(rng, n_rows, ties, error_metric)
    scores[:, ~scored] = np.nan
    contenders = [
        _contender(
            i, scores, rng, error="ValueError: no luck" if c[0] in failed else None
        )
        for i, c in enumerate(CONTENDERS)
    ]
    compared = scores.copy()
    compared[[_row(name) for name in failed]] = np.nan
    gains = _gains(tasks, n_rows, compared, rng, ties, set(few))
    result = {
        "format": "kinlearn-sharing/2",
        "kind": "regression" if error_metric else "classification",
        "metric": {
            "name": "neg_root_mean_squared_error" if error_metric else "roc_auc",
            "label": "RMSE" if error_metric else "AUC",
            "greater_is_better": not error_metric,
            "chance": None if error_metric else 0.5,
        },
        "data": {
            "n_rows": int(n_rows.sum()),
            "n_features": 8,
            "n_tasks": n,
            "task_name": task_name,
            "target_name": "recovery_score" if error_metric else "readmitted",
            "classes": None if error_metric else [0, 1],
        },
        "cv": {"n_splits": 5, "n_repeats": 3, "splitter": "TaskStratifiedKFold"},
        "tasks": [
            {
                "task": task,
                "n_rows": int(rows),
                "scored": bool(ok),
                "reason": None if ok else "3 rows of class 1: too few for 5 folds",
            }
            for task, rows, ok in zip(tasks, n_rows, scored, strict=True)
        ],
        "contenders": contenders,
        "scores": [
            {
                "contender": CONTENDERS[i][0],
                "task": task,
                "mean": float(scores[i, t]),
                "se": float(0.02 * abs(scores[i, t])),
                "n_folds": 15,
            }
            for i in range(len(CONTENDERS))
            if CONTENDERS[i][0] not in failed
            for t, task in enumerate(tasks)
            if scored[t]
        ],
        "headline": _headline(contenders, failed, scored),
        "gains": gains,
        "overall": {
            "friedman_p": 0.0021,
            "wilcoxon_p": 0.013,
            "mean_ranks": {c["name"]: c["mean_rank"] for c in contenders},
            "n_tasks": int(scored.sum()),
        },
        "relatedness": _relatedness(rng, tasks, gains, affinity, distances),
        "curve": _curve(contenders, error_metric) if curve else None,
        "run": {
            "versions": {"kinlearn": "0.1.0", "python": "3.11.2", "numpy": "2.4.0"},
            "parameters": {"n_splits": 5, "n_repeats": 3, "scoring": "auto"},
            "random_state": 0,
            "seconds": 73.4,
            "started": "2025-03-14T09:26:53+00:00",
            "code": "model = result.best_estimator_\nmodel.predict(X_new)",
        },
        "verdict": _verdict(gains, task_name, error_metric),
    }
    json.dumps(result, allow_nan=False)  # as to_dict() promises
    return result


def _scores(rng, n_rows, ties, error_metric):
    """Mean score of each contender on each task."""
    base = rng.normal(0.75, 0.05, size=len(n_rows))
    scores = np.empty((len(CONTENDERS), len(n_rows)))
    for i, (_, _, form, level, spread) in enumerate(CONTENDERS):
        shared = form != "alone"
        small = np.sqrt(60 / n_rows) * 0.04 if shared else 0.0
        scores[i] = base + level + small + rng.normal(0, spread, size=len(n_rows))
        if shared:
            scores[i, 5::7] -= 0.16  # every seventh is unlike the others
    if ties:
        scores[:] = base
    scores = np.minimum(scores, 0.99)
    return -40 * (1 - scores) if error_metric else scores


def _contender(i, scores, rng, error):
    name, family, form, _, _ = CONTENDERS[i]
    seen = scores[i][~np.isnan(scores[i])]
    ok = error is None and seen.size > 0
    se = float(seen.std() / np.sqrt(seen.size)) if ok else None
    ranks = (scores > scores[i]).sum(axis=0) + 1.0
    return {
        "name": name,
        "family": family,
        "form": form,
        "shares": form != "alone",
        "macro": float(seen.mean()) if ok else None,
        "macro_se": se,
        "micro": float(seen.mean() * 1.01) if ok else None,
        "micro_se": se,
        "mean_rank": float(ranks.mean()) if ok else None,
        "fit_seconds": float(rng.uniform(0.2, 9)) if error is None else None,
        "score_seconds": float(rng.uniform(0.01, 0.4)) if error is None else None,
        "peak_mib": None,
        "error": error,
    }


def _row(name):
    return next(i for i, c in enumerate(CONTENDERS) if c[0] == name)


def _gains(tasks, n_rows, scores, rng, ties, few):
    differences = scores[_row(SHARING)] - scores[_row(ALONE)]
    sides = zip(scores[_row(ALONE)], scores[_row(SHARING)], strict=True)
    spread = float(np.nanstd(differences)) if np.isfinite(differences).any() else 1.0
    found = []
    for task, rows, gain, pair in zip(tasks, n_rows, differences, sides, strict=True):
        half = 0.0 if ties else spread * np.sqrt(100 / rows) * rng.uniform(0.8, 1.6)
        numbers = ("alone", "sharing", "gain", "low", "high", "p", "p_holm", "reason")
        known = {**dict.fromkeys(numbers), "n_folds": 0}
        verdict = "not scored"
        if np.isfinite(gain):
            low, high = gain - half, gain + half
            verdict = "helped" if low > 0 else "hurt" if high < 0 else "unclear"
            p = 1.0 if verdict == "unclear" else 0.004
            known = {
                "alone": float(pair[0]),
                "sharing": float(pair[1]),
                "gain": float(gain),
                "low": float(low),
                "high": float(high),
                "p": p / 4,
                "p_holm": p,
                "reason": None,
                "n_folds": 15,
            }
            if task in few:
                nothing = dict.fromkeys(("low", "high", "p", "p_holm"))
                known |= {**nothing, "reason": "too few rows to tell: 3 rows"}
                verdict = "unclear"
        found.append({"task": task, "n_rows": int(rows), **known, "verdict": verdict})
    return found


def _headline(contenders, failed, scored):
    by_name = {c["name"]: c for c in contenders}
    if not scored.any() or {SHARING, ALONE} & set(failed):
        return None
    sharing, alone = by_name[SHARING]["macro"], by_name[ALONE]["macro"]
    gain = sharing - alone
    return {
        "sharing": SHARING,
        "alone": ALONE,
        "macro_sharing": sharing,
        "macro_alone": alone,
        "gain": gain,
        "low": gain - abs(gain) / 2,
        "high": gain + abs(gain) / 2,
        "naive_sharing": sharing,
        "naive_alone": alone,
        "naive_gain": gain * 1.2,
        "level": 0.95,
        "reason": None,
        "how_often": {SHARING: 14, "boosting, task as feature": 1},
    }


def _relatedness(rng, tasks, gains, affinity, distances):
    kept = tasks[:200]
    place = rng.permutation(len(kept)) % 3 + rng.normal(0, 0.2, size=len(kept))
    apart = np.abs(place[:, None] - place)
    alike = np.exp(-apart)
    matrices = {"mmd": apart / 4, "label_shift": apart**2 / 9} if distances else {}
    found = {
        "distances": {
            name: {"tasks": kept, "matrix": matrix.tolist()}
            for name, matrix in matrices.items()
        },
        "affinity": None,
        "predicts_gain": [
            {"distance": name, "spearman": r, "p": p, "n_tasks": len(kept)}
            for name, r, p in (("mmd", -0.41, 0.012), ("label_shift", 0.05, 0.8))
            if name in matrices
        ],
    }
    if affinity:
        found["affinity"] = {
            "contender": SHARING,
            "tasks": kept,
            "matrix": alike.tolist(),
        }
    if len(kept) < len(tasks):
        found["note"] = f"matrices hold the first 200 of {len(tasks)} tasks"
    return found


def _curve(contenders, error_metric):
    rows = [5, 10, 20, 40, 80, 160]
    lines = []
    for contender in contenders:
        if contender["name"] not in (SHARING, ALONE) or contender["macro"] is None:
            continue
        start = 0.06 if contender["shares"] else 0.22
        lost = start * np.exp(-np.log(np.array(rows) / 5) * 0.8)
        lost = lost * (40 if error_metric else 1)
        mean = contender["macro"] - lost
        if not contender["shares"]:
            mean = mean + 0.055 * (40 if error_metric else 1)  # ahead in the end
        half = lost / 3 + 0.005
        lines.append(
            {
                "contender": contender["name"],
                "form": contender["form"],
                "mean": mean.tolist(),
                "low": (mean - half).tolist(),
                "high": (mean + half).tolist(),
            }
        )
    return {
        "rows": rows,
        "lines": lines,
        "tasks": [],
        "crossing": _crossing(rows, lines),
    }


def _crossing(rows, lines):
    """Where the first two lines meet, between two numbers of rows."""
    if len(lines) < 2:
        return None
    apart = np.subtract(lines[1]["mean"], lines[0]["mean"])
    turns = np.flatnonzero(np.diff(np.sign(apart)))
    if not turns.size:
        return None
    k = turns[0]
    part = apart[k] / (apart[k] - apart[k + 1])
    return float(np.exp((1 - part) * np.log(rows[k]) + part * np.log(rows[k + 1])))


def _verdict(gains, task_name, error_metric):
    metric = "RMSE" if error_metric else "AUC"
    names = {
        kind: [str(g["task"]) for g in gains if g["verdict"] == kind]
        for kind in ("helped", "hurt", "unclear")
    }
    count = sum(map(len, names.values()))
    if not count:
        return {
            "sentence": f"We cannot tell: no {task_name} was scored.",
            "details": ["Every task has too few rows to be in every fold."],
        }
    hurt = f" ({', '.join(names['hurt'][:3])})" if names["hurt"] else ""
    return {
        "sentence": (
            f"Sharing helps {len(names['helped'])} of {count} {task_name}s, hurts "
            f"{len(names['hurt'])}{hurt}, and changes mean {metric} for the better."
        ),
        "details": [
            "The gain is larger than chance would explain, and it was measured on "
            "folds that had no part in choosing the models.",
            f"We cannot tell for {len(names['unclear'])} of them: their rows are too "
            "few to see a gain of this size.",
        ],
    }


SITUATIONS = {
    "12 clinics": lambda: make_result(unscored=["Pine"]),
    "tiny clinics": lambda: make_result(few=["Oak", "Elm", "Rowan", "Willow"]),
    "29 minefields": lambda: make_result(range(1, 30), seed=3, task_name="minefield"),
    "139 schools": lambda: make_result(
        range(139), seed=4, error_metric=True, task_name="school"
    ),
    "one task": lambda: make_result(["only"], affinity=False, distances=False),
    "two tasks": lambda: make_result(["a", "b"]),
    "3000 tasks": lambda: make_result(
        [f"shop {i:04d}" for i in range(3000)], task_name="shop"
    ),
    "nothing scored": lambda: make_result(
        unscored=CLINICS, curve=False, affinity=False
    ),
    "all failed but one": lambda: make_result(
        failed=[c[0] for c in CONTENDERS if c[0] != ALONE], curve=False, affinity=False
    ),
    "no curve, no affinity": lambda: make_result(
        curve=False, affinity=False, distances=False
    ),
    "very long names": lambda: make_result(
        [f"Department-{i}-of-" + "Wool" * 60 for i in range(6)]
        + [f"the {i}th of many words " * 12 for i in range(6)]
    ),
    "hostile names": lambda: make_result(
        [
            "<script>window.hacked = 1</script>",
            "<img src=x onerror='window.hacked = 2'>",
            '"><svg onload=window.hacked=3>',
            "</title></style><script>window.hacked = 4</script>",
            "]]>-->{{7*7}}${7*7}%s",
            "javascript:window.hacked=5",
            "a,b\n=1+1",
            "",
        ],
        task_name="<script>window.hacked = 6</script>",
    ),
    "unicode names": lambda: make_result(
        [
            "مستشفى القدس",
            "בית חולים",
            "北京医院",
            "Łódź 🏥",
            "\u202eevil order",
            "Ünïcödé",
            "e\u0301",
            "\ud800 lone",
        ],
        task_name="المستشفى",
    ),
    "errors": lambda: make_result(
        error_metric=True, seed=5, failed=["boosting, alone"]
    ),
    "ties": lambda: make_result(ties=True),
}
