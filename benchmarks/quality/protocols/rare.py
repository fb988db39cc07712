"""Rare classes: chapters 4 and 5 of Al-Stouhi 2013, in its words.

*Newsgroups*, section 4.5.2: "We used the Threshold of Document Frequency to maintain
around 500 features and imbalanced the set"; table 4.1 gives the groups and the numbers
of rows. Terms are those of bodies, as in `benchmarks.quality.protocols.transfer`.
Section 4.5.1: "AdaBoost was used as the reference algorithm. We applied SMOTE, with 5
k-nearest neighbors (k = 5), before boosting [...] Reference algorithms were trained
with the target-only set and with the combined target/source set. Thirty boosting
iterations were experimentally proven sufficient"; "random non-intersecting folds [...]
the macro average of 30 runs". *Not followed:* "we restarted all algorithms with a new
cross validation fold when any algorithm terminated before reaching 30 iterations",
which would choose the splits by a method's luck.

*Curves*, figures 4.4 to 4.7: "plots to demonstrate two imbalance rates across a
variable size of minority training sets"; figures 5.9 and 5.10: "5% imbalance ratio",
"10% minority, 5-46 samples". *Silent:* the other sizes, and the source's rows; here the
rare class has 5, 10, 20 and 46 rows in turn, and the source is that of table 4.1 at the
rate.

*Demographics*, table 5.1: Employment has 955 and 298 source rows, 15 and 7 of the
target; section 5.2.2: "We followed the setup in Chapter 4". Heart failure and its
curves (figures 5.1 to 5.4) are of a hospital; the same curve over employment stands in
for them.

*ADOS*, section 5.5.1: "We follow the setup in Chapter 4 with two additional datasets",
abalone "(source set, 1448 majority, 80 minority) [...] (target set, 99 majority, 22
minority)" and solar flares "(source set, 884 majority, 182 minority) [...] (target set,
71 majority, 9 minority)". *Silent:* which source rows of the newsgroups. Chapter 4 has
as few rare ones as 17 to 24 at 2%, with which the classes cannot be made equal: both
these (``ados-few-*``) and all source rows (``ados-*``) are played.

*Two dimensions*, figures 5.5 to 5.7: drawings without numbers; made data as described
("the minority instances come from an auxiliary domain where the distribution is shifted
to the left-upper corner"), ten rare rows beside 100.
"""

from functools import partial

from benchmarks.quality.protocol import Published, protocol
from benchmarks.quality.protocols.transfer import NEWS
from benchmarks.quality.transfer import (
    ADOS_CONTENDERS,
    CURVE_CONTENDERS,
    PLANE_CONTENDERS,
    RARE_CONTENDERS,
    RARE_METRICS,
    draw,
    draw_by_size,
)

CURVE_SIZES = (5, 10, 20, 46)
EMPLOYMENT_SIZES = (5, 7, 14, 28)
_RUNS = 10  # of each size

# ------------------------------------------ tables 4.2 to 4.5: rare in both sides

# (source common, source rare, target common, target rare) at 2, 5, 10%
_SIZES = {
    "rec-talk": ((1009, 20, 472, 10), (1009, 50, 453, 23), (1009, 101, 393, 39)),
    "rec-sci": ((1187, 24, 486, 10), (1187, 59, 518, 26), (1187, 119, 543, 55)),
    "sci-talk": ((840, 17, 513, 10), (840, 42, 529, 26), (840, 84, 507, 51)),
}
_RATES = ("2", "5", "10")
_RARE_METHODS = (
    "AdaBoost, target",
    "AdaBoost, all rows",
    "SMOTE, target",
    "SMOTE, all rows",
    "Rare-Transfer",
)
_BAC = {
    ("rec-sci", "2"): (0.564, 0.571, 0.566, 0.569, 0.594),
    ("sci-talk", "2"): (0.544, 0.541, 0.544, 0.540, 0.571),
    ("rec-talk", "2"): (0.569, 0.534, 0.577, 0.547, 0.610),
    ("rec-sci", "5"): (0.635, 0.622, 0.635, 0.645, 0.664),
    ("sci-talk", "5"): (0.602, 0.591, 0.607, 0.596, 0.632),
    ("rec-talk", "5"): (0.635, 0.569, 0.642, 0.602, 0.672),
    ("rec-sci", "10"): (0.696, 0.680, 0.699, 0.706, 0.706),
    ("sci-talk", "10"): (0.662, 0.639, 0.672, 0.647, 0.679),
    ("rec-talk", "10"): (0.714, 0.628, 0.722, 0.673, 0.736),
}
_G_MEAN = {
    ("rec-sci", "2"): (0.324, 0.362, 0.338, 0.379, 0.430),
    ("sci-talk", "2"): (0.270, 0.271, 0.277, 0.292, 0.380),
    ("rec-talk", "2"): (0.343, 0.221, 0.378, 0.293, 0.460),
    ("rec-sci", "5"): (0.500, 0.492, 0.501, 0.561, 0.592),
    ("sci-talk", "5"): (0.433, 0.423, 0.446, 0.464, 0.541),
    ("rec-talk", "5"): (0.502, 0.340, 0.516, 0.450, 0.591),
    ("rec-sci", "10"): (0.615, 0.605, 0.623, 0.641, 0.674),
    ("sci-talk", "10"): (0.563, 0.531, 0.584, 0.575, 0.637),
    ("rec-talk", "10"): (0.647, 0.483, 0.661, 0.597, 0.702),
}
_F = {
    ("rec-sci", "2"): (0.208, 0.240, 0.218, 0.258, 0.331),
    ("sci-talk", "2"): (0.149, 0.144, 0.152, 0.164, 0.275),
    ("rec-talk", "2"): (0.225, 0.115, 0.256, 0.174, 0.363),
    ("rec-sci", "5"): (0.405, 0.393, 0.408, 0.490, 0.534),
    ("sci-talk", "5"): (0.324, 0.309, 0.343, 0.365, 0.473),
    ("rec-talk", "5"): (0.407, 0.228, 0.424, 0.349, 0.527),
    ("rec-sci", "10"): (0.550, 0.541, 0.560, 0.638, 0.645),
    ("sci-talk", "10"): (0.484, 0.445, 0.514, 0.513, 0.600),
    ("rec-talk", "10"): (0.590, 0.389, 0.609, 0.536, 0.671),
}
_RARE = {
    ("rec-sci", "2"): (0.129, 0.146, 0.135, 0.155, 0.223),
    ("sci-talk", "2"): (0.089, 0.084, 0.090, 0.093, 0.179),
    ("rec-talk", "2"): (0.139, 0.069, 0.157, 0.102, 0.247),
    ("rec-sci", "5"): (0.273, 0.256, 0.277, 0.339, 0.401),
    ("sci-talk", "5"): (0.208, 0.190, 0.224, 0.233, 0.347),
    ("rec-talk", "5"): (0.273, 0.142, 0.289, 0.228, 0.392),
    ("rec-sci", "10"): (0.400, 0.386, 0.415, 0.498, 0.533),
    ("sci-talk", "10"): (0.334, 0.295, 0.368, 0.364, 0.481),
    ("rec-talk", "10"): (0.436, 0.264, 0.459, 0.396, 0.555),
}
_RARE_NAMES = tuple(metric.name for metric in RARE_METRICS)  # g_mean, bac, f, rare


def _declare(name, title, problem, rows_of, contenders, published=(), n_splits=30):
    def split(problem, number):
        return rows_of(problem, number)

    split.__doc__ = title
    protocol(
        name,
        problem=problem,
        n_splits=n_splits,
        metrics=RARE_METRICS,
        contenders=contenders,
        baseline="AdaBoost, target",
        published=published,
    )(split)


def _figures(table, metrics, rows):
    return tuple(
        Published(
            name, dict(zip(metrics, values, strict=True)), f"Al-Stouhi 2013, {table}"
        )
        for name, values in rows.items()
    )


for _news in NEWS:
    for _rate, (_a, _b, _c, _d) in zip(_RATES, _SIZES[_news], strict=True):
        _values = zip(
            *(table[_news, _rate] for table in (_G_MEAN, _BAC, _F, _RARE)), strict=True
        )
        _declare(
            f"rare-{_news}-{_rate}",
            f"{_news}, {_rate}% rare: {_a} and {_b} source rows, {_c} and {_d} target",
            f"news-bodies:{_news}",
            partial(draw, source=(_a, _b), target=(_c, _d)),
            RARE_CONTENDERS,
            _figures(
                "tables 4.2 to 4.5 (in table 4.4, the rows of Sci-Talk and Rec-Talk "
                "are exchanged back: they fit their rare-label accuracy only so), "
                "mean of 30 runs",
                _RARE_NAMES,
                dict(zip(_RARE_METHODS, _values, strict=True)),
            ),
        )
    for _rate, (_a, _b, _, _) in zip(_RATES[1:], _SIZES[_news][1:], strict=True):
        _declare(
            f"rare-curve-{_news}-{_rate}",
            f"{_news}, {_rate}% rare: 5, 10, 20 and 46 rare rows of the target in turn",
            f"news-bodies:{_news}",
            partial(
                draw_by_size,
                source=(_a, _b),
                rate=float(_rate) / 100,
                sizes=CURVE_SIZES,
            ),
            CURVE_CONTENDERS,
            n_splits=_RUNS * len(CURVE_SIZES),
        )

# ------------------------------------------------ tables 5.2 to 5.5: employment

_DEMOGRAPHICS = {
    "AdaBoost, target": (0.422, 0.506, 0.276, 0.249),
    "SMOTE": (0.467, 0.510, 0.325, 0.321),
    "Dynamic-TrAdaBoost": (0.331, 0.524, 0.188, 0.120),
    "Rare-Transfer": (0.488, 0.513, 0.378, 0.471),
}
_declare(
    "rare-employment",
    "Employment by religion: 1,253 source rows, 15 and 7 target",
    "transfer:employment",
    partial(draw, source=(None, None), target=(15, 7)),
    RARE_CONTENDERS,
    _figures("tables 5.2 to 5.5", _RARE_NAMES, _DEMOGRAPHICS),
)
_declare(
    "rare-curve-employment",
    "Employment by religion: 5, 7, 14 and 28 rare rows of the target in turn",
    "transfer:employment",
    partial(draw_by_size, source=(None, None), rate=7 / 22, sizes=EMPLOYMENT_SIZES),
    CURVE_CONTENDERS,
    n_splits=_RUNS * len(EMPLOYMENT_SIZES),
)

# ------------------------------------------------------------ table 5.6: ADOS

_TABLE_5_6 = {  # G-mean, BAC, rare-label accuracy of AdaBoost, SMOTE, ADOS
    "rec-sci": ((0.34, 0.57, 0.14), (0.34, 0.57, 0.14), (0.64, 0.66, 0.51)),
    "rec-talk": ((0.36, 0.58, 0.16), (0.38, 0.58, 0.16), (0.60, 0.64, 0.44)),
    "sci-talk": ((0.29, 0.55, 0.11), (0.28, 0.55, 0.10), (0.63, 0.66, 0.50)),
    "abalone": ((0.60, 0.67, 0.40), (0.69, 0.71, 0.55), (0.75, 0.76, 0.70)),
    "flare": ((0.33, 0.53, 0.13), (0.38, 0.53, 0.18), (0.42, 0.53, 0.22)),
}


def _ados(name, title, problem, source, target, prefix="ados"):
    methods = ("AdaBoost, target", "SMOTE + AdaBoost", "ADOS + AdaBoost")
    rows = dict(zip(methods, _TABLE_5_6[name], strict=True))
    _declare(
        f"{prefix}-{name}",
        title,
        problem,
        partial(draw, source=source, target=target),
        ADOS_CONTENDERS,
        _figures("table 5.6", ("g_mean", "bac", "rare"), rows),
    )


for _news in NEWS:
    _a, _b, _c, _d = _SIZES[_news][0]
    _ados(
        _news,
        f"{_news}, all source rows, {_c} and {_d} target",
        f"news-bodies:{_news}",
        (None, None),
        (_c, _d),
    )
    _ados(
        _news,
        f"{_news}, {_a} and {_b} source rows, {_c} and {_d} target",
        f"news-bodies:{_news}",
        (_a, _b),
        (_c, _d),
        prefix="ados-few",
    )
_ados(
    "abalone",
    "Abalone of seven rings, all males the source, 99 and 22 females the target",
    "transfer:abalone",
    (None, None),
    (99, 22),
)
_ados(
    "flare",
    "Solar flares, 884 and 182 source rows, 71 and 9 target",
    "transfer:flare",
    (None, None),
    (71, 9),
)
_declare(
    "ados-plane",
    "Two dimensions: 100 and 10 rows of the target, 400 and 400 of the source",
    "transfer:plane",
    partial(draw, source=(None, None), target=(100, 10)),
    PLANE_CONTENDERS,
)
