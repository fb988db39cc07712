"""Compile every kernel's C for other platforms: ``make cross-check``.

Nothing is linked or run. It finds what only GCC on x86 takes: an intrinsic without a
portable branch, a type that is narrower on Windows, a function that POSIX alone has.
The C files and their flags are those of the ordinary build; the compiler is clang with
the C libraries of other systems, in the package ``ziglang``.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TARGETS = ("aarch64-linux-gnu", "x86_64-windows-gnu", "aarch64-macos")

# Python's headers are those of this machine: what its `pyconfig.h` would say about
# sizes and the compiler on the other system.
_SIZES = {
    "INT": 4, "LONG": 8, "LONG_LONG": 8, "SHORT": 2, "FLOAT": 4, "DOUBLE": 8,
    "VOID_P": 8, "SIZE_T": 8, "TIME_T": 8, "WCHAR_T": 4, "PID_T": 4, "FPOS_T": 16,
    "PTHREAD_T": 8, "PTHREAD_KEY_T": 4, "OFF_T": 8, "UINTPTR_T": 8, "_BOOL": 1,
}  # fmt: skip
_POSIX = """
#define _GNU_SOURCE 1
#define _DARWIN_C_SOURCE 1
#define HAVE_PTHREAD_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SSIZE_T 1
#define HAVE_BUILTIN_ATOMIC 1
#define PY_FORMAT_SIZE_T "z"
"""
_WINDOWS = """
#include <stdint.h>
#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define NT_THREADS
#define HAVE_PY_SSIZE_T 1
typedef int64_t Py_ssize_t;
#define PY_SSIZE_T_MAX INT64_MAX
"""
# A type that does not fit, or a function that is not declared, is no mere warning.
_STRICT = [
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=shift-count-overflow",
]


def pyconfig(target):
    """What ``pyconfig.h`` says on the target, as far as extensions need it."""
    windows = "windows" in target
    sizes = _SIZES | ({"LONG": 4, "WCHAR_T": 2, "PID_T": 4} if windows else {})
    lines = [f"#define SIZEOF_{name} {size}" for name, size in sizes.items()]
    lines += ["#define STDC_HEADERS 1", "#define HAVE_STD_ATOMIC 1"]
    lines += [f"#define HAVE_{name}_H 1" for name in ("STDINT", "INTTYPES", "STDDEF")]
    body = _WINDOWS if windows else _POSIX
    # the guard keeps this machine's own file out
    return "#define Py_PYCONFIG_H\n" + "\n".join(lines) + body


def kernels(build):
    """C file, folder and flags of each kernel, as the build compiled it.

    Parameters
    ----------
    build : Path
        Folder of a finished build.

    Yields
    ------
    tuple of str, str, list of str
    """
    for entry in json.loads((build / "compile_commands.json").read_text("utf-8")):
        words = shlex.split(entry["command"])
        if "-c" not in words:
            continue
        flags = [w for w in words if re.match(r"-(I|D|O|std=|f(?!diagnostics))", w)]
        yield entry["file"], entry["directory"], flags


# A 32-bit `long`, as Windows has it: if this compiles there, the check is blind.
_FAULT = "long f(long x) { return x << 40; }\n"


def compile_one(job):
    """Compile one file; what the compiler complained about, or nothing."""
    target, config, out, source, folder, flags = job
    command = [
        *(sys.executable, "-m", "ziglang", "cc", "-target", target),
        *(
            "-include",
            config,
            *flags,
            "-Wno-everything",
            *_STRICT,
            "-c",
            source,
            "-o",
            out,
        ),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr


def main():
    """Compile all kernels for all targets, and list what fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="folder of a finished build")
    parser.add_argument("--objects", type=pathlib.Path, help="keep the results there")
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        objects = options.objects or pathlib.Path(folder)
        for target in options.targets:
            place = (objects / target).resolve()
            place.mkdir(parents=True, exist_ok=True)
            config = place / "pyconfig.h"
            config.write_text(pyconfig(target), "utf-8")
            fault = place / "fault.c"
            fault.write_text(_FAULT, "utf-8")
            planted = (target, config, place / "fault.o", fault, place, [])
            if "windows" in target and not compile_one(planted):
                raise SystemExit(f"{target}: a planted fault was not found")
            jobs = [
                (target, config, place / f"{pathlib.Path(source).name}.o", source, *how)
                for source, *how in kernels(options.build)
            ]
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                complaints = list(pool.map(compile_one, jobs))
            bad = [(j[3], c) for j, c in zip(jobs, complaints, strict=True) if c]
            failed += len(bad)
            print(f"{target}: {len(jobs) - len(bad)} of {len(jobs)} kernels compile")
            for source, complaint in bad:
                print(f"--- {source}\n{complaint}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
