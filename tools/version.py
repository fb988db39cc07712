#!/usr/bin/env python3
"""Print the version, which is written once, in src/kinlearn/__init__.py."""

import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent
source = (root / "src/kinlearn/__init__.py").read_text(encoding="utf-8")
print(re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE).group(1))
