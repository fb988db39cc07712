#!/usr/bin/env bash
# The kernels' and threads' tests without the GIL: make test-free-threaded
#
# Takes a python3.14t or python3.13t that is there, or the one in FREE_THREADED_PYTHON;
# else it builds one from the source package of Debian's python3.13, for which it needs
# apt-get, a C compiler and the headers of libffi, libssl and zlib.
set -euo pipefail
mkdir -p "$2"
python=$1 work=$(cd "$2" && pwd)
root=$work/root venv=$work/venv

usual=${FREE_THREADED_PYTHON:-$(command -v python3.14t || command -v python3.13t || true)}
if [ -z "$usual" ] && [ ! -x "$root/bin/python3.13t" ]; then
  command -v apt-get >/dev/null ||
    { echo "there is no python3.14t, and no apt-get to take the source of one with"; exit 1; }
  echo "Building a Python without the GIL in $work (about ten minutes of one core) ..."
  mkdir -p "$work"/{lists/partial,source}
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
    "http://deb.debian.org/debian trixie main" >"$work/sources.list"
  apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o APT::Sandbox::User=)
  "${apt[@]}" update
  (cd "$work/source" && "${apt[@]}" source --download-only python3.13)
  tar -C "$work/source" --strip-components 1 -xf "$work"/source/python3.13_*.orig.tar.xz
  # -O1 compiles in half the time, and is enough to run tests.
  (cd "$work/source" &&
    ./configure -q --prefix="$root" --disable-gil --disable-test-modules CFLAGS=-O1 &&
    make -s -j "${JOBS:-1}" && make -s install) >"$work/build.log" 2>&1 ||
    { tail -n 20 "$work/build.log"; exit 1; }
fi
usual=${usual:-$root/bin/python3.13t}
"$usual" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' ||
  { echo "$usual has a GIL"; exit 1; }

bin=$venv/bin
if [ ! -e "$work/ready" ]; then
  "$usual" -m venv --clear "$venv"
  "$python" tools/requires.py >"$work/requirements.txt"
  "$python" tools/requires.py report imbalanced >>"$work/requirements.txt"
  "$bin/python" -m pip install -q --only-binary :all: -r "$work/requirements.txt" pytest hypothesis
  touch "$work/ready"
fi
PATH=$bin:$PATH "$bin/python" -m pip install -q --no-build-isolation --no-deps --force-reinstall \
  -Cbuild-dir="$work/kinlearn" .
# Those compare with clarabel, which has no wheel for such a Python.
mapfile -t without < <(grep -rlE "clarabel|svm_dual" tests/_kernels --include="*.py")
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHON_GIL=0 \
  "$bin/pytest" -q -p no:cacheprovider "${without[@]/#/--ignore=}" "${@:3}"
