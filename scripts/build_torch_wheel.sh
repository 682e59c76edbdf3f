#!/usr/bin/env bash
# Builds the wheel of the Python package `tenon-torch` around existing plugins: build_torch_wheel.sh [PLUGIN.so] [OUTPUT_DIR]; the GPU plugin comes along
# where it lies beside. PYTHON chooses the interpreter, which needs setuptools; with AUDITWHEEL=/path/of/auditwheel the wheel gets the manylinux tag
# that the library allows.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
plugin=${1:-$root/build/release/lib/pjrt_plugin_tenon.so}
out=${2:-$root/build/wheel}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp -r "$root/python/tenon_torch/." "$stage/"
cp -r "$root/VERSION" "$root/LICENSE" "$root/NOTICE" "$root/licenses" "$stage/"
mkdir -p "$stage/tenon_torch/lib" "$out" "$stage/made"
cp "$plugin" "$stage/tenon_torch/lib/pjrt_plugin_tenon.so"
gpu=$(dirname "$plugin")/pjrt_plugin_tenon_vulkan.so
if [ -f "$gpu" ]; then cp "$gpu" "$stage/tenon_torch/lib/"; fi
rm -f "$out"/tenon_torch-*.whl
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$stage/made" "$stage"
if [ -n "${AUDITWHEEL:-}" ]; then
  "$AUDITWHEEL" repair --wheel-dir "$out" "$stage"/made/tenon_torch-*.whl
else
  cp "$stage"/made/tenon_torch-*.whl "$out"
fi
ls "$out"/tenon_torch-*.whl
