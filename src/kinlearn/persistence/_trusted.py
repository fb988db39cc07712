"""The types that a model file may build, beside those that skops trusts itself."""

from importlib import import_module

__all__ = ["TRUSTED", "is_trusted"]


def is_trusted(name: str) -> bool:
    """Whether every model file may build it: ours, and estimators of scikit-learn.

    Parameters
    ----------
    name : str
        Full name of a type.

    Returns
    -------
    bool
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
        "kinlearn.boosting._abstaining.AbstainingAdaBoostClassifier",
        "kinlearn.boosting._adaboost_m1.MultiTaskAdaBoostClassifier",
        "kinlearn.boosting._hypotheses.LinearHypotheses",
        "kinlearn.boosting._label_codes.ClassScores",
        "kinlearn.boosting._label_codes.LabelCodes",
        "kinlearn.boosting._mtboost.MTBoostClassifier",
        "kinlearn.boosting._mtboost_regressor.MTBoostRegressor",
        "kinlearn.boosting._stump_answers.StumpAnswers",
        "kinlearn.boosting._stumps.TwoTaskStumps",
        "kinlearn.boosting._task_covariance.TaskCovariance",
        "kinlearn.boosting._tree_votes.TreeVotes",
        "kinlearn.cluster._symmetric_nmf.MultiTaskSymmetricNMF",
        "kinlearn.model_selection._kfold.TargetKFold",
        "kinlearn.model_selection._kfold.TaskStratifiedKFold",
        "kinlearn.persistence._blob.Blob",
        "kinlearn.persistence._packing.PackedForest",
        "kinlearn.persistence._packing.PackedTrees",
        "kinlearn.sharing._kin._calibration.Calibration",
        "kinlearn.sharing._kin._categories.Categories",
        "kinlearn.sharing._kin._categories.MeanTargets",
        "kinlearn.sharing._kin._categories.WithMeanTargets",
        "kinlearn.sharing._kin._classifier.KinClassifier",
        "kinlearn.sharing._kin._like_tasks.LikeTasks",
        "kinlearn.sharing._kin._models.BoostedOverLinear",
        "kinlearn.sharing._kin._models.MeanOf",
        "kinlearn.sharing._kin._models.StandardisedSVR",
        "kinlearn.sharing._kin._models.TaskByCoefficients",
        "kinlearn.sharing._kin._regressor.KinRegressor",
        "kinlearn.sharing._kin._scale.Standardisation",
        "kinlearn.sharing._one_model.Pooled",
        "kinlearn.sharing._per_task.PerTask",
        "kinlearn.sharing._shared_plus_own.SharedPlusOwn",
        "kinlearn.sharing._task_as_feature.TaskAsFeature",
        "kinlearn.svm._feature_selection.PrivilegedFeatureSelectionClassifier",
        "kinlearn.svm._machines.Blocks",
        "kinlearn.svm._machines.Correction",
        "kinlearn.svm._machines.Machines",
        "kinlearn.svm._multi_task_svc.MultiTaskSVC",
        "kinlearn.svm._multi_task_svr.MultiTaskSVR",
        "kinlearn.svm._space.Space",
        "kinlearn.svm._svm_plus_classifier.SVMPlusClassifier",
        "kinlearn.svm._svm_plus_regressor.SVMPlusRegressor",
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
        "kinlearn.trees._decision_tree.MultiTaskDecisionTreeClassifier",
        "kinlearn.trees._extra_trees_classifier.MultiTaskExtraTreesClassifier",
        "kinlearn.trees._extra_trees_regressor.MultiTaskExtraTreesRegressor",
        "kinlearn.trees._forest.Forest",
        "kinlearn.trees._linear_part.LinearPart",
        "kinlearn.trees._mt_tree.MultiTaskTree",
        "kinlearn.trees._random_forest.MultiTaskRandomForestClassifier",
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
