#!/usr/bin/env bash
# Writes docs/conformance/matrix.md and tests.html from runs of the suite: conformance_matrix.sh [BUILD] [SUITE ARGUMENTS...]. BUILD is a release build of a
# committed state, build/release otherwise. Plugins from elsewhere take part where TENON_CONFORMANCE_XLA_CPU, TENON_CONFORMANCE_LIBTPU and
# TENON_CONFORMANCE_CUDA13 name their files.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd)
shift || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
suite=$build/bin/tenon-conformance
reports=()
# judge NAME SUITE ARGUMENTS...: status 1 says that something did not pass, which is for the matrix to show.
judge() {
  local name=$1 status=0
  shift
  echo "== $name"
  "$suite" --quiet --json "$work/$name.json" "$@" || status=$?
  [ "$status" -le 1 ] || exit "$status"
  reports+=("$work/$name.json")
}
judge tenon_cpu "$@" "$build/lib/pjrt_plugin_tenon.so"
TENON_ISOLATE_PLUGIN=$build/lib/pjrt_plugin_tenon.so judge isolated "$@" "$build/lib/pjrt_plugin_tenon_isolated.so"
if [ -f "$build/lib/pjrt_plugin_tenon_vulkan.so" ]; then
  LP_NUM_THREADS=0 judge vulkan "$@" "$build/lib/pjrt_plugin_tenon_vulkan.so"
fi
# An example, which is not built where only what is installed is.
if [ -f "$build/lib/pjrt_plugin_minimal.so" ]; then
  judge minimal "$@" "$build/lib/pjrt_plugin_minimal.so"
fi
for name in xla_cpu libtpu cuda13; do
  variable=TENON_CONFORMANCE_${name^^}
  [ -z "${!variable:-}" ] || judge $name --profile $name "$@" "${!variable}"
done
"$suite" --matrix "${reports[@]}" --markdown "$root/docs/conformance/matrix.md" --html "$root/docs/conformance/tests.html"
