"""Settings of all tests."""

import os
import signal

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")

# In CI the same examples every time: a failure there is the change's own.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# A shell starts what runs in its background deaf to Ctrl-C; tests that press it would
# wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
