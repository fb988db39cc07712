"""A few fits with an installed kinlearn: does every kernel load and work?

``python tools/smoke_test.py``, with nothing but the package and what it depends on.
"""

import importlib
import pkgutil
import sys
import sysconfig

import numpy as np

import kinlearn
import kinlearn._kernels
from kinlearn.boosting import AbstainingAdaBoostClassifier, MTBoostClassifier
from kinlearn.cluster import MultiTaskSymmetricNMF
from kinlearn.relatedness import task_distances
from kinlearn.svm import MultiTaskSVC, SVMPlusClassifier
from kinlearn.transfer import TrAdaBoostClassifier
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesClassifier,
)

found = pkgutil.walk_packages(kinlearn._kernels.__path__, "kinlearn._kernels.")
names = [module.name for module in found if not module.ispkg]
if not names:
    raise SystemExit("The package has no kernels.")
for name in names:
    importlib.import_module(name)

rng = np.random.default_rng(0)
task = np.repeat([0, 1, 2], 80)
X = kinlearn.with_task(np.abs(rng.standard_normal((240, 4))), task)
y = (X[:, 0] + 0.5 * (task == 2) * X[:, 1] > 0.8).astype(int)
for model in (
    MultiTaskExtraTreesClassifier(20, task=-1, random_state=0),
    MultiTaskDecisionTreeClassifier(task=-1),
    AbstainingAdaBoostClassifier(20, task=-1, random_state=0),
    MTBoostClassifier(n_estimators=20, task=-1, random_state=0),
    TrAdaBoostClassifier(n_estimators=5, task=-1, target=0, random_state=0),
    MultiTaskSVC(task=-1),
    SVMPlusClassifier(privileged=[3]),
):
    accuracy = model.fit(X, y).score(X, y)
    if not accuracy > 0.8:
        raise SystemExit(f"{model} has an accuracy of {accuracy:.2f} on its own rows.")
MultiTaskSymmetricNMF(n_clusters=2, task=-1, random_state=0).fit(X)
task_distances(X, task=-1)
if sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled():
    raise SystemExit("A module of kinlearn switched the GIL on.")
print(f"kinlearn {kinlearn.__version__}: {len(names)} kernel modules load, models fit.")
