"""Print what pyproject.toml asks for to build the package, for pip's command line."""

import pathlib
import tomllib

root = pathlib.Path(__file__).resolve().parent.parent
project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
print(*project["build-system"]["requires"])
