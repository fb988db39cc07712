"""The types that a model file may build, beside those that skops trusts itself."""

from importlib import import_module

__all__ = ["FORMER_ATTRIBUTES", "TRUSTED", "is_trusted", "name_today"]


def is_trusted(name: str) -> bool:
    """Whether every model file may build it: ours, and estimators of scikit-learn.

    Skops trusts scikit-learn's estimators as well, if it has listed them.
    """
    if name in TRUSTED:
        return True
    module, _, last = name.rpartition(".")
    if not module.startswith("sklearn.") or last.startswith("_"):
        return False
    from sklearn.base import BaseEstimator

    try:
        found = getattr(import_module(module), last, None)
    except ImportError:
        return False
    return isinstance(found, type) and issubclass(found, BaseEstimator)


def name_today(name: str) -> str:
    """What a type of an older kinlearn is called now.

    It may have moved to another file: class names are unique within a package.
    """
    top, package, *_, last = name.split(".") if name.count(".") > 1 else ("", "", "")
    if top != "kinlearn" or name in TRUSTED:
        return name
    if f"{package}.{last}" in FORMER_NAMES:
        return FORMER_NAMES[f"{package}.{last}"]
    ours = (each for each in TRUSTED if each.startswith(f"kinlearn.{package}."))
    return next((each for each in ours if each.endswith(f".{last}")), name)


# Types that had another name: package and class, and what it is today.
FORMER_NAMES = {
    "boosting.LabelCodes": "kinlearn.boosting.mtboost._problems.BinaryProblems",
    "boosting.StumpAnswers": "kinlearn.boosting.stumps._predictions.StumpScores",
}

# Attributes that had other names when a file was saved: by type, then old and new.
FORMER_ATTRIBUTES = {
    "kinlearn.boosting.adaboost._votes.TreeVotes": {"codes": "task_codes"},
    "kinlearn.boosting.mtboost._classifier.MTBoostClassifier": {"_codes": "_problems"},
    "kinlearn.boosting.mtboost._problems.BinaryProblems": {
        "code": "problem",
        "cell_code": "cell_problem",
    },
    "kinlearn.boosting.stumps._classifier.AbstainingAdaBoostClassifier": {
        "_answers": "_class_scores"
    },
    "kinlearn.svm.estimators._machines.Machines": {
        "share": "inverse_penalty",
        "apart": "later",
    },
    "kinlearn.transfer._classifier.TrAdaBoostClassifier": {
        "_shares": "_class_fractions"
    },
}

TRUSTED = frozenset(
    {
        "kinlearn.boosting.stumps._classifier.AbstainingAdaBoostClassifier",
        "kinlearn.boosting._calibration.Calibration",
        "kinlearn.boosting.adaboost._classifier.MultiTaskAdaBoostClassifier",
        "kinlearn.boosting.gradient._bins.FeatureBins",
        "kinlearn.boosting.gradient._classifier.MultiTaskGradientBoostingClassifier",
        "kinlearn.boosting.gradient._constraints.FeatureColumns",
        "kinlearn.boosting.gradient._model.Trees",
        "kinlearn.boosting.gradient._regressor.MultiTaskGradientBoostingRegressor",
        "kinlearn.boosting.gradient._start.Start",
        "kinlearn.boosting.gradient.linear_part._line.Line",
        "kinlearn.boosting.mtboost._learners.LinearHypotheses",
        "kinlearn.boosting.mtboost._problems.ClassScores",
        "kinlearn.boosting.mtboost._problems.BinaryProblems",
        "kinlearn.boosting.mtboost._classifier.MTBoostClassifier",
        "kinlearn.boosting.mtboost._regressor.MTBoostRegressor",
        "kinlearn.boosting.stumps._predictions.StumpScores",
        "kinlearn.boosting.stumps._indicators.IndicatorScores",
        "kinlearn.boosting.stumps._model.TwoTaskStumps",
        "kinlearn.boosting.mtboost._covariance.TaskCovariance",
        "kinlearn.boosting.adaboost._votes.TreeVotes",
        "kinlearn.cluster._symmetric_nmf.MultiTaskSymmetricNMF",
        "kinlearn.linear._tables.Categories",
        "kinlearn.linear.mixed._cross_products.Basis",
        "kinlearn.linear.mixed._cross_products.CrossProducts",
        "kinlearn.linear.mixed._cross_products.Pairs",
        "kinlearn.linear.mixed._generalised.GeneralisedFit",
        "kinlearn.linear.mixed._groupings.Grouping",
        "kinlearn.linear.mixed._logistic.MixedLogisticClassifier",
        "kinlearn.linear.mixed._poisson.MixedPoissonRegressor",
        "kinlearn.linear.mixed._regressor.MixedLinearRegressor",
        "kinlearn.linear.mixed._terms.Term",
        "kinlearn.linear.penalties._classifier.MultiTaskLinearClassifier",
        "kinlearn.linear.penalties._design.Layout",
        "kinlearn.linear.penalties._regressor.MultiTaskLinearRegressor",
        "kinlearn.model_selection._kfold.TargetKFold",
        "kinlearn.model_selection._kfold.TaskStratifiedKFold",
        "kinlearn.persistence._packing.Blob",
        "kinlearn.persistence._packing.PackedForest",
        "kinlearn.persistence._packing.PackedPairs",
        "kinlearn.persistence._packing.PackedSparse",
        "kinlearn.persistence._packing.PackedTrees",
        "kinlearn.sharing.conformal._calibration.CalibrationSums",
        "kinlearn.sharing.conformal._estimators.ConformalClassifier",
        "kinlearn.sharing.conformal._estimators.ConformalRegressor",
        "kinlearn.sharing.conformal._scores.ConformalScores",
        "kinlearn.sharing.kin._combine.Calibration",
        "kinlearn.sharing.kin._features.Categories",
        "kinlearn.sharing.kin._features.MeanTargets",
        "kinlearn.sharing.kin._features.WithMeanTargets",
        "kinlearn.sharing.kin._classifier.KinClassifier",
        "kinlearn.sharing.kin._groups.LikeTasks",
        "kinlearn.sharing.kin._levels.Levels",
        "kinlearn.sharing.kin._models.BoostedOverLinear",
        "kinlearn.sharing.kin._models.MeanOf",
        "kinlearn.sharing.kin._models.StandardisedSVR",
        "kinlearn.sharing.kin._models.TaskByCoefficients",
        "kinlearn.sharing.kin._regressor.KinRegressor",
        "kinlearn.sharing.kin._features.Standardisation",
        "kinlearn.sharing._finest.FinestLevel",
        "kinlearn.sharing._pooled.Pooled",
        "kinlearn.sharing._per_task.PerTask",
        "kinlearn.sharing._shared_plus_own.SharedPlusOwn",
        "kinlearn.sharing._task_as_feature.TaskAsFeature",
        "kinlearn.svm.estimators._feature_selection.PrivilegedFeatureSelectionClassifier",
        "kinlearn.svm.estimators._machines.Blocks",
        "kinlearn.svm.estimators._machines.Correction",
        "kinlearn.svm.estimators._machines.Machines",
        "kinlearn.svm.estimators._multi_task_classifier.MultiTaskSVC",
        "kinlearn.svm.estimators._multi_task_regressor.MultiTaskSVR",
        "kinlearn.svm._group_kernels.GroupSpaces",
        "kinlearn.svm._kernel.Space",
        "kinlearn.svm._problem.Problem",
        "kinlearn.svm._problem.Solution",
        "kinlearn.svm.estimators._svm_plus_classifier.SVMPlusClassifier",
        "kinlearn.svm.estimators._svm_plus_regressor.SVMPlusRegressor",
        "kinlearn.tables._categories.CategoryColumn",
        "kinlearn.tables._encoder.TableEncoder",
        "kinlearn.tasks._columns.TaskColumns",
        "kinlearn.tasks._keep_task.KeepTask",
        "kinlearn.tasks._label_sets.LabelSets",
        "kinlearn.tasks._paths.TaskPaths",
        "kinlearn.transfer._boost.Boosted",
        "kinlearn.transfer._boost.WeightHistory",
        "kinlearn.transfer._oversampling.AuxiliaryOverSampler",
        "kinlearn.transfer._regressor.TrAdaBoostRegressor",
        "kinlearn.transfer._classifier.TrAdaBoostClassifier",
        "kinlearn.transfer._learners.TreeVotes",
        "kinlearn.trees.decision._tree.MultiTaskDecisionTreeClassifier",
        "kinlearn.trees.extra._classifier.MultiTaskExtraTreesClassifier",
        "kinlearn.trees.extra._regressor.MultiTaskExtraTreesRegressor",
        "kinlearn.trees.extra._model.Forest",
        "kinlearn.trees.extra._baseline.LinearPart",
        "kinlearn.trees.decision._model.MultiTaskTree",
        "kinlearn.trees.decision._forest.MultiTaskRandomForestClassifier",
        "numpy.dtype",
        # skops leaves it to the reader, because numbers in it can lead outside of its
        # arrays; they are checked
        "sklearn.tree._tree.Tree",
        # of searches
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.GroupKFold",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        # boosting keeps its check of categorical columns as partial(check_array, ...)
        "functools.partial",
        "sklearn.utils.validation.check_array",
        # of searches, with scikit-learn before 1.8
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    }
)
