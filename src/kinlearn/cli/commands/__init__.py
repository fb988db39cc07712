"""One module for each command; the work that it does."""

__all__: list[str] = []
