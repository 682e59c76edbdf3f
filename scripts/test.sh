#!/usr/bin/env bash
# Sets everything up and passes all tests: structure, native, text (lit), StableHLO programs, JAX.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

echo "== structure"
python3 "$root/scripts/check_layers.py"

echo "== native tests"
ctest --test-dir "$root/build/release" --output-on-failure -j"$(nproc)"

echo "== JAX"
"$venv/bin/python" -m pytest -q "$root/python/tests"
