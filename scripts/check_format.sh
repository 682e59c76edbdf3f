#!/usr/bin/env bash
# Lists the C++ files below the given folders (default: all) that clang-format (package clang-format-22) would change; --fix changes them.
# Exit status 1 if there are any left.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
fix=0
if [ "${1:-}" = --fix ]; then fix=1; shift; fi
[ $# -gt 0 ] || set -- tenon tools test fuzz examples
command -v clang-format-22 >/dev/null || { echo "clang-format-22 is not here: apt-get install clang-format-22" >&2; exit 2; }
bad=0
while read -r f; do
  if ! clang-format-22 --dry-run -Werror "$f" >/dev/null 2>&1; then
    if [ "$fix" = 1 ]; then clang-format-22 -i "$f"; echo "formatted $f"; else echo "$f"; bad=$((bad + 1)); fi
  fi
done < <(git ls-files -- "${@/%//*.cc}" "${@/%//*.h}" | sort -u)
[ "$fix" = 1 ] || echo "$bad files to format"
[ "$bad" = 0 ]
