"""Names and what they stand for, with one kind of error for a wrong name."""

from fnmatch import fnmatchcase

__all__ = ["BenchmarkError", "Registry"]


class BenchmarkError(Exception):
    """Something the caller can mend: the command line prints it as one line."""


class Registry(dict):
    """Declared benchmarks by name, in the order of their declaration.

    Parameters
    ----------
    what : str
        What is kept here, in the singular: it is the subject of the errors.
    """

    def __init__(self, what):
        super().__init__()
        self.what = what

    def add(self, name, item):
        """Declare `item`; a name is declared once."""
        if name in self:
            raise ValueError(f"The {self.what} {name!r} is declared twice.")
        self[name] = item

    def __missing__(self, name):
        raise BenchmarkError(
            f"Unknown {self.what} {name!r}. Known: {', '.join(self) or 'none'}."
        )

    def select(self, patterns):
        """Items by name or by pattern (``"import-*"``), each once; none means all."""
        if not patterns:
            return list(self.values())
        chosen = {}
        for pattern in patterns:
            names = [name for name in self if fnmatchcase(name, pattern)]
            for name in names or [pattern]:
                chosen[name] = self[name]
        return list(chosen.values())
