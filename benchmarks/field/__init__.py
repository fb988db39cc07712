"""How an estimator ranks on data in small groups: ``python -m benchmarks.field``."""
