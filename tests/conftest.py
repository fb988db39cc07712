"""Settings of all tests."""

import os

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")

# In CI the same examples every time: a failure there is the change's own.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
