#!/usr/bin/env bash
# Sets everything up and passes all tests: structure, native, text (lit), StableHLO programs, JAX.
build_target=all
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

echo "== structure"
python3 "$root/scripts/check_layers.py"
python3 "$root/scripts/check_thresholds.py"

echo "== native tests"
shared=${TENON_SHARED:-$root/../shared}
[ -d "$shared" ] || echo "$shared is not there: tests that use it are skipped (recorded programs, facts of the ABI)"
ctest --test-dir "$root/build/release" --output-on-failure -j"$(nproc)"
# Tests that skipped themselves inside programs that passed.
skipped=$(grep -aoh '\[  SKIPPED \] [A-Za-z0-9_./]*' "$root/build/release/Testing/Temporary/LastTest.log" | sort -u || true)
[ -z "$skipped" ] || printf 'skipped inside:\n%s\n' "$skipped"

echo "== JAX"
"$venv/bin/python" -m pytest -q "$root/python/tests"
