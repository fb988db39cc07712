"""A Python without the GIL stays without it."""

import os
import subprocess
import sys
import sysconfig

import pytest

IMPORT_ALL = """
import importlib, pkgutil, sys
import kinlearn._kernels
found = pkgutil.walk_packages(kinlearn._kernels.__path__, "kinlearn._kernels.")
for name in [info.name for info in found]:
    importlib.import_module(name)
    assert not sys._is_gil_enabled(), name
print(len([name for name in sys.modules if name.startswith("kinlearn._kernels.")]))
"""


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"),
    reason="this Python has a GIL: make test-free-threaded",
)
def test_no_kernel_switches_the_gil_on():
    environment = {k: v for k, v in os.environ.items() if k != "PYTHON_GIL"}
    n_modules = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_ALL],
        env=environment,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout
    assert int(n_modules) > 20
