"""Every public estimator, once: a new one adds its line here.

The common tests run scikit-learn's suite and our task checks over this list.
"""

from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from kinlearn.boosting import (
    AbstainingAdaBoostClassifier,
    MTBoostClassifier,
    MTBoostRegressor,
    MultiTaskAdaBoostClassifier,
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.cluster import MultiTaskSymmetricNMF
from kinlearn.linear import (
    MixedLinearRegressor,
    MixedLogisticClassifier,
    MixedPoissonRegressor,
    MultiTaskLinearClassifier,
    MultiTaskLinearRegressor,
)
from kinlearn.sharing import (
    ConformalClassifier,
    ConformalRegressor,
    KinClassifier,
    KinRegressor,
    PerTask,
    Pooled,
    SharedPlusOwn,
    TaskAsFeature,
)
from kinlearn.svm import (
    MultiTaskSVC,
    MultiTaskSVR,
    PrivilegedFeatureSelectionClassifier,
    SVMPlusClassifier,
    SVMPlusRegressor,
)
from kinlearn.tables import TableEncoder
from kinlearn.tasks import KeepTask
from kinlearn.transfer import (
    AuxiliaryOverSampler,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
)
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
)

# few trees and rounds: there are some seventy checks of each
ESTIMATORS = [
    AbstainingAdaBoostClassifier(10),
    MultiTaskAdaBoostClassifier(n_estimators=5),
    # small leaves: some checks have few rows
    MultiTaskGradientBoostingClassifier(n_estimators=20, min_samples_leaf=3),
    MultiTaskGradientBoostingRegressor(n_estimators=20, min_samples_leaf=3),
    KeepTask(StandardScaler()),
    TableEncoder(),
    TableEncoder(categories="target", fill=True, scale=True),
    # one family and few folds: every check fits it several times
    KinClassifier(n_folds=2, families=["linear"]),
    KinRegressor(n_folds=2, families=["linear"]),
    ConformalClassifier(SharedPlusOwn(LogisticRegression()), n_folds=2),
    ConformalRegressor(Pooled(HistGradientBoostingRegressor(max_iter=5)), n_folds=2),
    PerTask(LogisticRegression()),
    PerTask(Ridge()),
    Pooled(LogisticRegression()),
    Pooled(HistGradientBoostingRegressor(max_iter=5)),
    SharedPlusOwn(LogisticRegression()),
    SharedPlusOwn(Ridge()),
    TaskAsFeature(LogisticRegression()),
    TaskAsFeature(HistGradientBoostingRegressor(max_iter=5)),
    MultiTaskDecisionTreeClassifier(),
    MultiTaskExtraTreesClassifier(n_estimators=5),
    MultiTaskExtraTreesRegressor(n_estimators=5),
    MultiTaskRandomForestClassifier(n_estimators=5),
    MixedLinearRegressor(),
    # a penalty: in many checks a column separates the classes, which warns
    MixedLogisticClassifier(alpha=0.1),
    MixedPoissonRegressor(),
    # a short path; the tolerance as below
    MultiTaskLinearClassifier("l21", n_alphas=4, n_folds=2, tol=1e-8),
    MultiTaskLinearRegressor("l21", n_alphas=4, n_folds=2, tol=1e-8),
    # checks compare two solutions more closely than the default tolerance
    MultiTaskSVC(tol=1e-9),
    MultiTaskSVR(tol=1e-9),
    SVMPlusClassifier(tol=1e-9),
    SVMPlusRegressor(tol=1e-9),
    # most features: checks ask for accuracy with two of them, and for all NaN
    PrivilegedFeatureSelectionClassifier(SVMPlusClassifier(tol=1e-9), n_features=0.9),
    # the affinity for data of any sign, which is what scikit-learn's checks have
    MultiTaskSymmetricNMF(affinity="rbf"),
    MTBoostClassifier(n_estimators=5),
    MTBoostRegressor(n_estimators=5),
    TrAdaBoostClassifier(n_estimators=5),
    TrAdaBoostRegressor(n_estimators=5),
    AuxiliaryOverSampler(n_estimators=5, n_repeats=2, selection="weights"),
    AuxiliaryOverSampler(selection="density"),
]

# check of scikit-learn's that fails -> why a reader should accept it
_BOOTSTRAP = (
    "a weight scales a row that was drawn, a repeated row is drawn more often: equal "
    "in the mean over draws, not in one (as in scikit-learn's random forest)"
)
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "MultiTaskRandomForestClassifier": {
        "check_sample_weight_equivalence_on_dense_data": _BOOTSTRAP,
        "check_sample_weight_equivalence_on_sparse_data": _BOOTSTRAP,
    },
}


def expected_failures(estimator):
    """Expected failures of one estimator, as scikit-learn wants them."""
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})
