#!/usr/bin/env bash
# Builds the wheel of the Python package `tenon` around an existing library: build_client_wheel.sh [LIBTENON.so] [OUTPUT_DIR]. PYTHON chooses the
# interpreter, which needs setuptools; with AUDITWHEEL=/path/of/auditwheel the wheel gets the manylinux tag that the library allows.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
library=${1:-$root/build/release/lib/libtenon.so.0}
out=${2:-$root/build/wheel}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp -r "$root/python/tenon/." "$stage/"
cp -r "$root/VERSION" "$root/LICENSE" "$root/NOTICE" "$root/licenses" "$stage/"
mkdir -p "$stage/tenon/lib" "$out" "$stage/made"
cp -L "$library" "$stage/tenon/lib/libtenon.so.0"
strip --strip-unneeded "$stage/tenon/lib/libtenon.so.0"
rm -f "$out"/tenon-[0-9]*.whl
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$stage/made" "$stage"
if [ -n "${AUDITWHEEL:-}" ]; then
  "$AUDITWHEEL" repair --wheel-dir "$out" "$stage"/made/tenon-*.whl
else
  cp "$stage"/made/tenon-*.whl "$out"
fi
ls "$out"/tenon-[0-9]*.whl
