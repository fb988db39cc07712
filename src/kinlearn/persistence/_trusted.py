"""The types that a model file may build, beside those that skops trusts itself."""

from importlib import import_module

__all__ = ["TRUSTED", "is_trusted"]


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


TRUSTED = frozenset(
    {
        "kinlearn.boosting.stumps._classifier.AbstainingAdaBoostClassifier",
        "kinlearn.boosting.adaboost._classifier.MultiTaskAdaBoostClassifier",
        "kinlearn.boosting.gradient._bins.FeatureBins",
        "kinlearn.boosting.gradient._classifier.MultiTaskGradientBoostingClassifier",
        "kinlearn.boosting.gradient._constraints.FeatureColumns",
        "kinlearn.boosting.gradient._model.Trees",
        "kinlearn.boosting.gradient._regressor.MultiTaskGradientBoostingRegressor",
        "kinlearn.boosting.gradient._rounds.Start",
        "kinlearn.boosting.mtboost._learners.LinearHypotheses",
        "kinlearn.boosting.mtboost._label_codes.ClassScores",
        "kinlearn.boosting.mtboost._label_codes.LabelCodes",
        "kinlearn.boosting.mtboost._classifier.MTBoostClassifier",
        "kinlearn.boosting.mtboost._regressor.MTBoostRegressor",
        "kinlearn.boosting.stumps._predictions.StumpAnswers",
        "kinlearn.boosting.stumps._model.TwoTaskStumps",
        "kinlearn.boosting.mtboost._covariance.TaskCovariance",
        "kinlearn.boosting.adaboost._votes.TreeVotes",
        "kinlearn.cluster._symmetric_nmf.MultiTaskSymmetricNMF",
        "kinlearn.model_selection._kfold.TargetKFold",
        "kinlearn.model_selection._kfold.TaskStratifiedKFold",
        "kinlearn.persistence._blob.Blob",
        "kinlearn.persistence._packing.PackedForest",
        "kinlearn.persistence._packing.PackedTrees",
        "kinlearn.sharing.kin._calibration.Calibration",
        "kinlearn.sharing.kin._features.Categories",
        "kinlearn.sharing.kin._features.MeanTargets",
        "kinlearn.sharing.kin._features.WithMeanTargets",
        "kinlearn.sharing.kin._classifier.KinClassifier",
        "kinlearn.sharing.kin._groups.LikeTasks",
        "kinlearn.sharing.kin._models.BoostedOverLinear",
        "kinlearn.sharing.kin._models.MeanOf",
        "kinlearn.sharing.kin._models.StandardisedSVR",
        "kinlearn.sharing.kin._models.TaskByCoefficients",
        "kinlearn.sharing.kin._regressor.KinRegressor",
        "kinlearn.sharing.kin._features.Standardisation",
        "kinlearn.sharing._one_model.Pooled",
        "kinlearn.sharing._per_task.PerTask",
        "kinlearn.sharing._shared_plus_own.SharedPlusOwn",
        "kinlearn.sharing._task_as_feature.TaskAsFeature",
        "kinlearn.svm.estimators._feature_selection.PrivilegedFeatureSelectionClassifier",
        "kinlearn.svm.estimators._machines.Blocks",
        "kinlearn.svm.estimators._machines.Correction",
        "kinlearn.svm.estimators._machines.Machines",
        "kinlearn.svm.estimators._multi_task_classifier.MultiTaskSVC",
        "kinlearn.svm.estimators._multi_task_regressor.MultiTaskSVR",
        "kinlearn.svm.kernels._space.Space",
        "kinlearn.svm.estimators._svm_plus_classifier.SVMPlusClassifier",
        "kinlearn.svm.estimators._svm_plus_regressor.SVMPlusRegressor",
        "kinlearn.tables._categories.CategoryColumn",
        "kinlearn.tables._encoder.TableEncoder",
        "kinlearn.tasks._columns.TaskColumns",
        "kinlearn.tasks._keep_task.KeepTask",
        "kinlearn.tasks._labels.LabelSets",
        "kinlearn.transfer._boost.Boosted",
        "kinlearn.transfer._boost.WeightHistory",
        "kinlearn.transfer._oversampling.AuxiliaryOverSampler",
        "kinlearn.transfer._regressor.TrAdaBoostRegressor",
        "kinlearn.transfer._tradaboost.TrAdaBoostClassifier",
        "kinlearn.transfer._weighted_trees.TreeVotes",
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
