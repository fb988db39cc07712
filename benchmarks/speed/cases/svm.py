"""Support vector machines against general QP solvers and scikit-learn's.

One thread each, timed by the processor time of the process, so that other programs
on the machine disturb the figures less.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.problems import load
from benchmarks.speed.case import Limit, Work, case, cpu_timed

NEEDS = ("kinlearn.svm",)
SOLVERS = ("clarabel", "osqp", "piqp")


# ------------------------------------------------------------- general solvers


def _thesis_rows(n_rows):
    """Three linear tasks of the thesis, d = 20."""
    from kinlearn.datasets import make_linear_classification

    return make_linear_classification(n_rows // 3, design="d20", random_state=0)


def _multi_task_svc():
    from kinlearn.svm import MultiTaskSVC

    return MultiTaskSVC(
        kernel="linear", correction_kernel="rbf", correction_gamma=0.05, task=-1
    )


def _dual(X, y):
    """The dual of SVM+MTL as matrices, kernels included: part of the peers' work."""
    from sklearn.metrics.pairwise import rbf_kernel

    X, task = X[:, :-1], X[:, -1]
    sign = np.where(y == y.max(), 1.0, -1.0)
    same = task[:, None] == task[None, :]
    Q = X @ X.T + same * rbf_kernel(X, gamma=0.05)
    E = np.array([np.where(task == t, sign, 0.0) for t in np.unique(task)])
    return sign[:, None] * Q * sign[None, :], E


def _by_clarabel(X, y):
    import clarabel

    P, E = _dual(X, y)
    n, m = len(P), len(E)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    eye = sp.eye_array(n)
    A = sp.vstack([sp.csc_array(E), eye, -eye]).tocsc()
    b = np.concatenate([np.zeros(m), np.ones(n), np.zeros(n)])
    cones = [clarabel.ZeroConeT(m), clarabel.NonnegativeConeT(2 * n)]
    P = sp.triu(sp.csc_array(P)).tocsc()
    clarabel.DefaultSolver(P, -np.ones(n), A, b, cones, settings).solve()


def _by_osqp(X, y):
    import osqp

    P, E = _dual(X, y)
    n, m = len(P), len(E)
    A = sp.vstack([sp.csc_array(E), sp.eye_array(n)]).tocsc()
    low, high = np.zeros(m + n), np.concatenate([np.zeros(m), np.ones(n)])
    solver = osqp.OSQP()
    P = sp.csc_matrix(sp.triu(P))
    solver.setup(P, -np.ones(n), sp.csc_matrix(A), low, high, verbose=False)
    solver.solve()


def _by_piqp(X, y):
    import piqp

    P, E = _dual(X, y)
    n = len(P)
    solver = piqp.DenseSolver()
    solver.setup(
        P,
        -np.ones(n),
        E,
        np.zeros(len(E)),
        x_l=np.zeros(n),
        x_u=np.ones(n),
    )
    solver.solve()


@case("svm-tasks-qp", limit=Limit(times_faster=15), needs=(*NEEDS, *SOLVERS), repeats=2)
def tasks_against_solvers():
    """SVM+MTL, linear + rbf, 2,400 x 20 in 3 tasks, against general QP solvers."""
    X, y = _thesis_rows(2_400)
    return Work(
        ours=cpu_timed(partial(_multi_task_svc().fit, X, y)),
        peers={
            "clarabel": cpu_timed(partial(_by_clarabel, X, y)),
            "osqp": cpu_timed(partial(_by_osqp, X, y)),
            "piqp": cpu_timed(partial(_by_piqp, X, y)),
        },
    )


@case(
    "svm-tasks-growth",
    limit=Limit(growth=2.0),
    needs=NEEDS,
    sizes=(300, 900, 1_500, 2_400),
)
def tasks_growing(n_rows):
    """SVM+MTL, linear + rbf, 20 features and 3 tasks, by number of rows."""
    X, y = _thesis_rows(n_rows)
    return Work(ours=cpu_timed(partial(_multi_task_svc().fit, X, y)))


# ---------------------------------------------------------------- scikit-learn


def _against_svc(n_rows, kind="classification"):
    """One task of 30 features, rbf, C = 1; no correcting function."""
    from sklearn.svm import SVC, SVR

    from kinlearn.svm import MultiTaskSVC, MultiTaskSVR

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 30))
    y = X @ rng.normal(size=30) + 2.0 * rng.normal(size=n_rows)
    if kind == "classification":
        y = (y > 0).astype(int)
        ours, peer = MultiTaskSVC(correction_penalty=1e12), SVC()
    else:
        ours, peer = MultiTaskSVR(correction_penalty=1e12), SVR()
    return Work(
        ours=cpu_timed(partial(ours.fit, X, y)),
        peers={"scikit-learn": cpu_timed(partial(peer.fit, X, y))},
    )


@case("svm-svc-1000", limit=Limit(times_faster=1), needs=NEEDS)
def svc_1000():
    """Multi-task SVC of one task against SVC, rbf, 1,000 x 30."""
    return _against_svc(1_000)


@case("svm-svc-5000", limit=Limit(times_faster=2), needs=NEEDS, repeats=3)
def svc_5000():
    """Multi-task SVC of one task against SVC, rbf, 5,000 x 30."""
    return _against_svc(5_000)


@case("svm-svc-10000", limit=Limit(times_faster=2), needs=NEEDS, repeats=2)
def svc_10000():
    """Multi-task SVC of one task against SVC, rbf, 10,000 x 30."""
    return _against_svc(10_000)


@case("svm-svc-20000", limit=Limit(times_faster=2), needs=NEEDS, repeats=1)
def svc_20000():
    """Multi-task SVC of one task against SVC, rbf, 20,000 x 30."""
    return _against_svc(20_000)


@case("svm-svr-5000", limit=Limit(times_faster=2), needs=NEEDS, repeats=3)
def svr_5000():
    """Multi-task SVR of one task against SVR, rbf, 5,000 x 30."""
    return _against_svc(5_000, "regression")


@case("svm-rmtl-1200", needs=NEEDS, repeats=3)
def without_biases():
    """SVM+MTL without biases (rMTL) in 3 tasks, rbf, 1,200 x 30, against SVR."""
    from sklearn.svm import SVR

    from kinlearn.svm import MultiTaskSVR

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_200, 30))
    y = X @ rng.normal(size=30) + 2.0 * rng.normal(size=1_200)
    task = np.arange(1_200) % 3
    ours = MultiTaskSVR(C=10.0, fit_intercept=False, task=-1)
    return Work(
        ours=cpu_timed(partial(ours.fit, np.column_stack([X, task]), y)),
        peers={"SVR": cpu_timed(partial(SVR(C=10.0).fit, X, y))},
    )


def _against_linear_svc(n_features):
    from sklearn.svm import LinearSVC

    from kinlearn.svm import MultiTaskSVC

    problem = load(
        "dense-classification", n_rows=100_000, n_features=n_features, n_tasks=10
    )
    ours = MultiTaskSVC(kernel="linear", task=-1)
    X = np.ascontiguousarray(problem.X[:, :-1])
    return Work(
        ours=cpu_timed(partial(ours.fit, problem.X, problem.y)),
        peers={"LinearSVC": cpu_timed(partial(LinearSVC().fit, X, problem.y))},
    )


@case("svm-linear-50", limit=Limit(times_as_long=5), needs=NEEDS, repeats=2)
def linear_50():
    """Linear SVM+MTL of 10 tasks (hinge loss) against LinearSVC, 100,000 x 50."""
    return _against_linear_svc(50)


@case("svm-linear-500", limit=Limit(times_as_long=5), needs=NEEDS, repeats=1)
def linear_500():
    """Linear SVM+MTL of 10 tasks (hinge loss) against LinearSVC, 100,000 x 500."""
    return _against_linear_svc(500)


@case(
    "svm-50-tasks",
    limit=Limit(memory_of_data=1.0),
    needs=NEEDS,
    memory=True,
    repeats=1,
)
def fifty_tasks():
    """SVM+MTL, rbf + rbf, 50,000 x 20 in 50 tasks; data = 1 GiB of room."""
    from kinlearn.svm import MultiTaskSVC

    problem = load("dense-classification", n_rows=50_000, n_features=20, n_tasks=50)
    model = MultiTaskSVC(
        gamma="scale", correction_gamma="auto", task=-1, cache_size=700
    )
    return Work(
        ours=cpu_timed(partial(model.fit, problem.X, problem.y)), data_bytes=2**30
    )
