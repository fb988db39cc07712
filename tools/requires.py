"""Print requirements of pyproject.toml, for pip's command line.

``python tools/requires.py`` prints what the build needs, ``python tools/requires.py
EXTRA ...`` what the package and these extras depend on, without the package itself.
"""

import pathlib
import re
import sys
import tomllib

root = pathlib.Path(__file__).resolve().parent.parent
file = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def of_extras(names):
    """Requirements of the extras; one that names another extra stands for it."""
    for name in names:
        for line in file["project"]["optional-dependencies"][name]:
            own = re.fullmatch(rf"{file['project']['name']}\[(.+)\]", line)
            yield from of_extras(own[1].split(",")) if own else [line]


extras = sys.argv[1:]
lines = file["build-system"]["requires"]
if extras:
    lines = [*file["project"]["dependencies"], *of_extras(extras)]
print(*dict.fromkeys(lines), sep="\n")
