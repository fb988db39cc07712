"""Multi-task boosting: two-task stumps, multi-task trees, shared learners."""

__all__: list[str] = []
