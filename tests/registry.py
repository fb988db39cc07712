"""Every public estimator, once: a new one adds its line here.

The common tests run scikit-learn's suite and our task checks over this list.
"""

from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from kinlearn.sharing import PerTask, Pooled, TaskAsFeature
from kinlearn.tasks import KeepTask

ESTIMATORS = [
    KeepTask(StandardScaler()),
    PerTask(LogisticRegression()),
    PerTask(Ridge()),
    Pooled(LogisticRegression()),
    Pooled(HistGradientBoostingRegressor(max_iter=5)),
    TaskAsFeature(LogisticRegression()),
    TaskAsFeature(HistGradientBoostingRegressor(max_iter=5)),
]

# check of scikit-learn's that fails -> why a reader should accept it
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


def expected_failures(estimator):
    """Expected failures of one estimator, as scikit-learn wants them."""
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})
