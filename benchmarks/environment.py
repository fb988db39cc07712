"""What a figure depends on: versions, the build of kinlearn, the machine."""

import functools
import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata, util
from pathlib import Path

__all__ = [
    "RECORDS",
    "RESULTS",
    "build_of_kinlearn",
    "commit_of_source",
    "machine",
    "missing",
    "now",
    "versions",
]

RESULTS = Path(__file__).parent / "results"
RECORDS = Path(__file__).parent / "records"  # those that the repository keeps


def missing(modules):
    """The names of `modules` that cannot be imported here."""
    return [name for name in modules if not _importable(name)]


def _importable(name):
    try:
        return util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package around the module is absent
        return False


def versions(packages=()):
    """Installed versions of Python, the common ground and `packages`."""
    found = {"python": platform.python_version()}
    for name in ("kinlearn", "numpy", "scipy", "scikit-learn", *packages):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


@functools.cache
def build_of_kinlearn():
    """Fingerprint of the installed code: a version says little between releases."""
    (root,) = util.find_spec("kinlearn").submodule_search_locations
    digest = hashlib.sha256()
    for path in sorted(Path(root).rglob("*")):
        if path.suffix in {".py", ".so", ".pyd"}:
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def commit_of_source():
    """The last commit that changed ``src``, with a + if files differ from it."""
    root = Path(__file__).parent.parent

    def git(*arguments):
        command = ["git", "-C", str(root), *arguments, "--", "src"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:  # no git here
            return ""
        return done.stdout.strip()

    commit = git("log", "-1", "--format=%h") or "unknown"
    return commit + "+" * bool(git("status", "--porcelain"))


def machine():
    """The processor and its cores, as far as the system tells."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            name = line.partition(":")[2].strip()
            break
    return f"{name}, {os.cpu_count()} cores"


def now():
    """The time, for the records."""
    return datetime.now(UTC).isoformat(timespec="seconds")
