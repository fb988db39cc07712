"""Problems, splits and contenders of the transfer protocols.

All problems have two tasks, 0 the source and 1 the target. Peers are plain
scikit-learn and imbalanced-learn, without any of kinlearn's wrappers. Controls tell
why a contender is ahead: the second half of the rounds votes in TrAdaBoost, so
AdaBoost without a source gets that too; a source with shuffled labels has nothing to
transfer; random rows of the source are as many more rows of the same kind; a logistic
regression of all rows is the plain way to use a source.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality.metrics import Metric
from benchmarks.quality.protocol import Contender

__all__ = [
    "ACCURACY",
    "ADOS_CONTENDERS",
    "CURVE_CONTENDERS",
    "PLANE_CONTENDERS",
    "RARE_CONTENDERS",
    "RARE_METRICS",
    "TABLE_CONTENDERS",
    "draw",
    "draw_abalone",
    "draw_by_size",
    "gmean",
    "plane",
]

ROUNDS = 30

# ------------------------------------------------------------------ the problems


def _news(name):
    """Two top categories of 20 Newsgroups; the 500 terms of most messages."""
    data = kinlearn.datasets.fetch_20newsgroups_tasks(
        name, features="counts", min_df=188
    )
    X = data.data.tocsc()
    frequency = np.diff(X.indptr)[:-1]
    chosen = np.sort(np.argsort(-frequency, kind="stable")[:500])
    X = X[:, [*chosen, X.shape[1] - 1]]
    return "classification", sp.csr_array(X), data.target


for _name in ("rec-talk", "rec-sci", "sci-talk"):
    problem(f"news:{_name}")(lambda _name=_name: _news(_name))


def _bodies(name):
    """Bodies of messages: words of three letters and more, no stop words, df >= 188."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    data = kinlearn.datasets.fetch_20newsgroups_tasks(name)
    bodies = [text.partition("\n\n")[2] for text in data.data[:, 0]]
    counts = CountVectorizer(
        min_df=188,
        token_pattern=r"(?u)\b[a-zA-Z]{3,}\b",
        stop_words=list(ENGLISH_STOP_WORDS),
    ).fit_transform(bodies)
    X = kinlearn.with_task(sp.csr_array(counts), data.data[:, -1].astype(int))
    return "classification", sp.csr_array(X), data.target


for _name in ("rec-talk", "rec-sci", "sci-talk"):
    problem(f"news-bodies:{_name}")(partial(_bodies, _name))


def _uci(name, rows, label, is_target, **options):
    data = kinlearn.datasets.fetch_uci(name, **options)
    X, y = data.data, data.target
    keep = rows(X, y)
    task = is_target(X[keep, -1]).astype(np.int64)
    features = np.nan_to_num(np.asarray(X[keep, :-1], dtype=float))
    return "classification", kinlearn.with_task(features, task), label(y[keep])


@problem("transfer:wine")
def wine():
    """Grades 5 and 6; white (3,655 rows) is the source, red the target.

    The thesis's text says it the other way round, but its numbers of rows fit
    only this one.
    """
    return _uci(
        "wine_quality",
        lambda X, y: (y == 5) | (y == 6),
        lambda y: (y == 6).astype(np.int64),
        lambda task: task == 0,
    )


@problem("transfer:abalone")
def abalone():
    """Seven rings or not; males are the source, females the target.

    The thesis does not give the label; this one has its numbers of rows.
    """
    return _uci(
        "abalone",
        lambda X, y: X[:, -1] != 1,
        lambda y: (y == 7).astype(np.int64),
        lambda task: task == 0,
    )


@problem("transfer:employment")
def employment():
    """Whether a woman works; Muslim women are the source, others the target."""
    return _uci(
        "cmc",
        lambda X, y: np.ones(len(y), dtype=bool),
        lambda y: 1 - y,  # the set codes working as 0
        lambda task: task == 0,
        target="wife_working",
    )


@problem("transfer:flare")
def flare():
    """A C flare within a day; the larger part is the source."""
    return _uci(
        "solar_flare",
        lambda X, y: np.ones(len(y), dtype=bool),
        lambda y: y,
        lambda task: task == 0,
    )


@problem("transfer:plane")
def plane():
    """Two dimensions: few rows of a class in one part of its place (figure 5.5).

    Rare rows of the target are a long band beside the common ones; those of the source
    are moved to the upper left, as in figure 5.7.
    """
    rng = np.random.default_rng(0)
    rows, task, y = [], [], []
    for t, label, n, mean, move in (
        (0, 0, 400, (0.0, 0.0), -0.5),
        (0, 1, 400, (2.0, 2.0), -0.5),
        (1, 0, 4000, (0.0, 0.0), 0.0),
        (1, 1, 4000, (2.0, 2.0), 0.0),
    ):
        spread = [[1.0, -0.7], [-0.7, 1.0]] if label else [[1.0, 0.0], [0.0, 1.0]]
        drawn = rng.multivariate_normal(mean, spread, n)
        rows.append(drawn + np.array([move, -move]))
        task += [t] * n
        y += [label] * n
    return "classification", kinlearn.with_task(np.vstack(rows), task), np.array(y)


# -------------------------------------------------------------------- the splits


def draw(problem, number, source, target, *, balance_test=False):
    """Rows at random: so many of each class of the source and of the target.

    Parameters
    ----------
    problem : Problem
        With source 0 and target 1.
    number : int
        Number of the split, which seeds it.
    source, target : (int or None, int or None)
        Rows of class 0 and of class 1; None is all of them.
    balance_test : bool, default=False
        Whether the test rows have as many of each class.

    Returns
    -------
    train, test : int arrays
        All other target rows are for the test.
    """
    rng = np.random.default_rng(number)
    train, test = [], []
    for task, sizes in enumerate((source, target)):
        for label, size in enumerate(sizes):
            rows = np.flatnonzero((problem.task == task) & (problem.y == label))
            rows = rng.permutation(rows)
            train.append(rows[:size])
            if task == 1:
                test.append(rows[size:])
    if balance_test:
        least = min(map(len, test))
        test = [rows[:least] for rows in test]
    return np.concatenate(train), np.concatenate(test)


def draw_abalone(problem, number):
    """Class sizes made equal (44 females each), 11 of them to train and 77 to test."""
    train, test = draw(problem, number, (80, 80), (6, 5))
    rare = problem.y[test] == 1
    return train, np.concatenate([test[~rare][:38], test[rare]])


def draw_by_size(problem, number, source, rate, sizes):
    """Sizes of the rare class take turns; common rows by its rate in the target."""
    few = sizes[number % len(sizes)]
    common = round(few * (1 - rate) / rate)
    return draw(problem, number, source, (common, few))


# ------------------------------------------------------------------- the metrics


def _recalls(y, prediction):
    return [np.mean(prediction[y == label] == label) for label in (0, 1)]


def _f(y, prediction, task):
    a, b = _recalls(y, prediction)
    return 2 * a * b / (a + b) if a + b else 0.0


def gmean(y, prediction):
    """Geometric mean of the recalls of classes 0 and 1."""
    return float(np.sqrt(np.prod(_recalls(y, prediction))))


ACCURACY = Metric("accuracy", "accuracy", lambda y, p, t: np.mean(y == p), digits=3)
RARE_METRICS = (
    Metric("g_mean", "G-mean", lambda y, p, t: gmean(y, p), digits=3),
    Metric("bac", "BAC", lambda y, p, t: np.mean(_recalls(y, p)), digits=3),
    Metric("f", "F", _f, digits=3),
    Metric("rare", "rare-label accuracy", lambda y, p, t: _recalls(y, p)[1], digits=3),
)

# ---------------------------------------------------------------- the contenders


def ours(problem, seed, **params):
    """TrAdaBoostClassifier on source and target, as the papers begin and vote."""
    return default(problem, seed, target_share=None, voters="second_half", **params)


def default(problem, seed, **params):
    """The same by default."""
    from kinlearn.transfer import TrAdaBoostClassifier

    return TrAdaBoostClassifier(
        task=-1, target=1, n_estimators=ROUNDS, random_state=seed, **params
    )


def ados(problem, seed, *, selection="weights"):
    """ADOS, or random source rows in its place, then scikit-learn's AdaBoost."""
    import warnings

    from imblearn.pipeline import make_pipeline
    from sklearn.ensemble import AdaBoostClassifier

    from kinlearn.transfer import AuxiliaryOverSampler

    warnings.simplefilter("ignore", kinlearn.exceptions.KinlearnWarning)
    sampler = AuxiliaryOverSampler(
        task=-1, target=1, selection=selection, random_state=seed
    )
    return make_pipeline(sampler, AdaBoostClassifier(n_estimators=ROUNDS))


class _Peer:
    """A scikit-learn model on target rows, or on all, without the task."""

    def __init__(self, model, *, source):
        self.model = model
        self.source = source

    def fit(self, X, y):
        X, task = X[:, :-1], _task_of(X)
        rows = np.arange(len(y)) if self.source else np.flatnonzero(task == 1)
        self.model.fit(X[rows], y[rows])
        return self

    def predict(self, X):
        return self.model.predict(X[:, :-1])


def _task_of(X):
    column = X[:, [-1]]
    return np.asarray(column.toarray() if sp.issparse(X) else column).ravel()


def adaboost(problem, seed, *, source, smote=False):
    """AdaBoost over stumps, on rows as they are or after SMOTE."""
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline
    from sklearn.ensemble import AdaBoostClassifier

    model = AdaBoostClassifier(n_estimators=ROUNDS, random_state=seed)
    if smote:
        model = make_pipeline(SMOTE(k_neighbors=5, random_state=seed), model)
    return _Peer(model, source=source)


class _SecondHalf:
    """AdaBoost of the target rows whose second half of rounds votes alone."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        from sklearn.ensemble import AdaBoostClassifier

        rows = np.flatnonzero(_task_of(X) == 1)
        model = AdaBoostClassifier(n_estimators=ROUNDS, random_state=self.seed)
        model.fit(X[rows][:, :-1], y[rows])
        if len(model.estimators_) > 1:
            half = len(model.estimators_) // 2
            model.estimators_ = model.estimators_[half:]
            model.estimator_weights_ = model.estimator_weights_[half:]
        self.model = model
        return self

    def predict(self, X):
        return self.model.predict(X[:, :-1])


def _second_half(problem, seed):
    return _SecondHalf(seed)


def _logistic(problem, seed, *, source, class_weight=None):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    model = LogisticRegression(max_iter=1000, class_weight=class_weight)
    return _Peer(make_pipeline(MaxAbsScaler(), model), source=source)


class _RandomSource:
    """TrAdaBoost with source rows whose labels were shuffled: nothing to transfer."""

    def __init__(self, model, seed):
        self.model, self.seed = model, seed

    def fit(self, X, y):
        source = np.flatnonzero(_task_of(X) == 0)
        y = y.copy()
        y[source] = np.random.default_rng(self.seed).permutation(y[source])
        return self.model.fit(X, y)


def _random_source(problem, seed, *, correction):
    return _RandomSource(ours(problem, seed, correction=correction), seed)


def _ours(name, **params):
    return Contender(f"kinlearn {name}", ours, params, kind="ours")


_IMBALANCED = {"packages": ("imbalanced-learn",), "needs": ("imblearn",)}
_ADABOOST = Contender("AdaBoost, target", adaboost, {"source": False}, **_IMBALANCED)
_SMOTE = Contender(
    "SMOTE + AdaBoost, target", adaboost, {"source": False, "smote": True},
    **_IMBALANCED,
)  # fmt: skip
_POOLED = Contender("AdaBoost, all rows", adaboost, {"source": True}, **_IMBALANCED)
_SMOTE_POOLED = Contender(
    "SMOTE + AdaBoost, all rows", adaboost, {"source": True, "smote": True},
    **_IMBALANCED,
)  # fmt: skip
_DEFAULT = Contender("kinlearn default", default, {}, kind="ours")
_HALF = Contender("AdaBoost, target, second half votes", _second_half)
_BALANCED = (
    Contender(
        "balanced logistic regression, target",
        _logistic,
        {"source": False, "class_weight": "balanced"},
    ),
    Contender(
        "balanced logistic regression, all rows",
        _logistic,
        {"source": True, "class_weight": "balanced"},
    ),
)


def _shuffled(name, **params):
    name = f"kinlearn {name}, source labels shuffled"
    return Contender(name, _random_source, params, kind="ours")


TABLE_CONTENDERS = (
    _ADABOOST,
    _ours("none", correction=None),
    _ours("1.1", correction=1.1),
    _ours("1.2", correction=1.2),
    _ours("1.3", correction=1.3),
    _ours("dynamic", correction="dynamic"),
    _ours("printed box", correction="dynamic_printed"),
    _ours("balanced", correction="balanced"),
    _ours("dynamic, guard", correction="dynamic", guard=5),
    _DEFAULT,
    _HALF,
    Contender("logistic regression, target", _logistic, {"source": False}),
    Contender("logistic regression, all rows", _logistic, {"source": True}),
    _shuffled("dynamic", correction="dynamic"),
)
_RARE = _ours("rare", correction="rare_printed")
_ADOS = Contender("kinlearn ADOS + AdaBoost", ados, kind="ours", **_IMBALANCED)
_RANDOM_ROWS = Contender(
    "random source rows + AdaBoost",
    ados,
    {"selection": "random"},
    kind="ours",
    **_IMBALANCED,
)
RARE_CONTENDERS = (
    _ADABOOST,
    _POOLED,
    _SMOTE,
    _SMOTE_POOLED,
    _ours("none", correction=None),
    _ours("dynamic", correction="dynamic"),
    _RARE,
    Contender("kinlearn rare, kept", default, {"correction": "rare"}, kind="ours"),
    _DEFAULT,
    _HALF,
    *_BALANCED,
    _shuffled("rare", correction="rare_printed"),
)
CURVE_CONTENDERS = (
    _ADABOOST,
    _POOLED,
    _SMOTE,
    _ours("none", correction=None),
    _RARE,
    _ADOS,
    _RANDOM_ROWS,
    _HALF,
    *_BALANCED,
)
PLANE_CONTENDERS = (
    _ADABOOST,
    _SMOTE,
    _ADOS,
    Contender(
        "likely in the target + AdaBoost",
        ados,
        {"selection": "density"},
        kind="ours",
        **_IMBALANCED,
    ),
    _RANDOM_ROWS,
)
ADOS_CONTENDERS = (*PLANE_CONTENDERS, _POOLED, _RARE, _HALF, *_BALANCED)
