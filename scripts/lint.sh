#!/usr/bin/env bash
# Runs clang-tidy (package clang-tidy-22) with the checks of .clang-tidy over sources: lint.sh BUILD_DIR [FOLDER...]. BUILD_DIR has compile_commands.json;
# folders default to those without MLIR. Exit status 1 if it warns.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?usage: lint.sh BUILD_DIR [FOLDER...]}
shift
[ $# -gt 0 ] || set -- tenon/{base,isa,threads,kir,plan,plugin,client,trace,conformance,runtime,kernels} tools/tenon tools/tenon-conformance
cd "$root"
# Only what the build compiles has a command line.
git ls-files -- "${@/%//*.cc}" | while read -r f; do
  if grep -qF "\"$root/$f\"" "$build/compile_commands.json"; then printf '%s\n' "$f"; fi
done | xargs -r -P "$(nproc)" -n 4 clang-tidy-22 --quiet -p "$build" 2>/dev/null | tee /tmp/tenon_lint.$$ || true
count=$(grep -c ' warning: ' /tmp/tenon_lint.$$ || true)
rm -f /tmp/tenon_lint.$$
echo "$count warnings"
[ "$count" = 0 ]
