#!/usr/bin/env bash
# Builds the Python wheel around an existing plugin: build_wheel.sh [PLUGIN.so] [OUTPUT_DIR]. PYTHON chooses the interpreter.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
plugin=${1:-$root/build/release/lib/pjrt_plugin_tenon.so}
out=${2:-$root/build/wheel}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp -r "$root/python/." "$stage/"
mkdir -p "$stage/tenon_jax/lib" "$out"
cp "$plugin" "$stage/tenon_jax/lib/"
rm -f "$out"/tenon_jax-*.whl
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$out" "$stage"
ls "$out"/tenon_jax-*.whl
