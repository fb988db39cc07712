#!/usr/bin/env bash
# The kernels' tests on an emulated ARM processor: make test-aarch64
#
# Compiles the C files of the ordinary build for aarch64 (ziglang), takes Debian's Python
# for that processor and wheels from the package index, and runs tests/_kernels under
# qemu-user. Needs Debian with qemu-user-static, and root to read arm64 package lists.
set -euo pipefail
python=$1 build=$2 work=$3
target=aarch64-linux-gnu
root=$work/root site=$work/site package=$work/package
command -v qemu-aarch64-static >/dev/null ||
  { echo "qemu is missing; on Debian: apt install qemu-user-static"; exit 1; }

if [ ! -x "$root/usr/bin/python3.11" ]; then
  mkdir -p "$work/debs" "$root"
  dpkg --print-foreign-architectures | grep -qx arm64 || {
    dpkg --add-architecture arm64
    trap 'dpkg --remove-architecture arm64; apt-get update -qq' EXIT
  }
  apt-get update -qq
  (cd "$work/debs" && apt-get download -qq {libc6,libgcc-s1,libstdc++6,zlib1g,libexpat1}:arm64 \
    {libffi8,libbz2-1.0,liblzma5,libssl3,libsqlite3-0,libuuid1,libcrypt1}:arm64 \
    {python3.11-minimal,libpython3.11-minimal,libpython3.11-stdlib}:arm64)
  for deb in "$work"/debs/*.deb; do dpkg -x "$deb" "$root"; done
fi
if [ ! -d "$site/sklearn" ]; then
  "$python" -m pip install -q --target "$site" --only-binary :all: --python-version 3.11 \
    --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 \
    --platform manylinux_2_27_aarch64 \
    numpy scipy scikit-learn clarabel matplotlib pytest hypothesis
fi

rm -rf "$package" && mkdir -p "$package"
cp -r src/kinlearn "$package"
"$python" tools/cross_check.py "$build" --targets $target --objects "$work/objects"
for object in "$work/objects/$target"/*.o; do
  name=$(basename "$object" | cut -d. -f1)
  source=$(find src/kinlearn/_kernels -name "$name.pyx")
  folder=$package/$(dirname "${source#src/}")
  [ -n "$source" ] || folder=$package/kinlearn/_kernels  # Cython's shared module
  "$python" -m ziglang cc -target $target.2.28 -shared "$object" -lm \
    -o "$folder/$name.cpython-311-$target.so"
done
PYTHONPATH=$package:$site OPENBLAS_NUM_THREADS=1 \
  qemu-aarch64-static -L "$root" "$root/usr/bin/python3.11" \
  -m pytest -q -p no:cacheprovider tests/_kernels
