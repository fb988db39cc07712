"""Multi-task gradient boosting over histograms."""
