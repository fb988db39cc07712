"""The Kin estimators: candidates, folds, weights by task, calibration."""
