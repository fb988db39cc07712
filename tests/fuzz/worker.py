"""A process that carries out cases: ``python -m tests.fuzz.worker``, line by line.

Each case may use some processor time, which a loaded machine does not stretch, and
some memory. A process that uses more dies of the first, and is told of the second.
"""

import faulthandler
import json
import os
import resource
import signal
import sys
from typing import Any

SECONDS = float(os.environ.get("KINLEARN_FUZZ_SECONDS", 20))
GIGABYTES = float(os.environ.get("KINLEARN_FUZZ_GIGABYTES", 3))


def _limit_memory() -> None:
    """This much more than now; sanitizers reserve so much that no limit fits."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    if now < 2**40:
        limit = now + int(GIGABYTES * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _limit_time() -> None:
    """From now on; whole seconds, as the system has them."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    end = int(used.ru_utime + used.ru_stime + SECONDS) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (end, hard))


def main() -> None:
    """Answer each line of JSON, a case, with another, what was found or null."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    faulthandler.enable()
    faulthandler.register(signal.SIGXCPU, all_threads=False, chain=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from tests.fuzz.trial import estimators, run_case  # takes seconds

    known = _planted() or estimators()
    _limit_memory()
    out.write("ready\n")
    for line in sys.stdin:
        _limit_time()
        out.write(json.dumps(run_case(json.loads(line), known)) + "\n")


def _planted() -> dict[str, Any] | None:
    """Faulty estimators instead, by which the fuzzer itself is tested."""
    if not os.environ.get("KINLEARN_FUZZ_PLANTED"):
        return None
    from tests.fuzz.planted import PLANTED

    return PLANTED


if __name__ == "__main__":
    main()
