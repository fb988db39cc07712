"""Support vector machines for related tasks and privileged columns."""

__all__: list[str] = []
