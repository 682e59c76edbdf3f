#!/usr/bin/env bash
# What is checked before a change is taken, in stages: ci.sh quick | full | STAGE... Each stage ends the run where it fails; its time is printed.
#
#   quick     format structure docs nollvm-clang: some minutes, no LLVM
#   full      quick, nollvm-gcc, test, fuzz, packages
#
#   format        clang-format of what git knows
#   structure     who imports whom, thresholds
#   docs          links of all pages and the figures in them; the site where MkDocs is there
#   nollvm-clang  SDK, client, builder, tools and suite without LLVM by clang++-22; their unit tests and the labels of all
#   nollvm-gcc    the same by g++, which SDK users have
#   test          scripts/test.sh: set-up, the whole build, all tests, JAX
#   lint          clang-tidy, warnings as errors, every header alone (an hour)
#   fuzz          3000 generated programs before all judges, with a new seed
#   asan, tsan    unit tests of what has no LLVM under the sanitizers
#   packages      packages and wheels in a clean root (check_packages.sh)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
jobs=$(nproc)

# The slowest tests of a build, from the times that ctest keeps.
slowest() {
  echo "slowest tests (seconds):"
  awk '/^---/ {exit} {print $3, $1}' "$1/Testing/Temporary/CTestCostData.txt" 2>/dev/null | sort -rn | head -10 || true
}

# light NAME COMPILER [CMAKE ARGUMENTS...]: a build without LLVM, and its unit tests.
light() {
  local build=build/ci-$1 cxx=$2 cc
  case $cxx in clang*) cc=${cxx/clang++/clang} ;; *) cc=${cxx/g++/gcc} ;; esac
  shift 2
  cmake -S . -B "$build" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DTENON_BUILD_CPU=OFF -DTENON_WERROR=ON "$@" >/dev/null
  cmake --build "$build" -j"$jobs"
  python3 scripts/check_labels.py "$build"
  ctest --test-dir "$build" -L unit -j"$jobs" --output-on-failure
  slowest "$build"
}

stage() {
  case $1 in
    format) scripts/check_format.sh ;;
    structure) python3 scripts/check_layers.py && python3 scripts/check_thresholds.py ;;
    docs)
      python3 scripts/build_docs.py --check-only
      python3 bench/plots.py --check
      if command -v mkdocs >/dev/null; then python3 scripts/build_docs.py; else echo "the site is not built: mkdocs is not there"; fi
      ;;
    nollvm-clang) light nollvm-clang clang++-22 ;;
    nollvm-gcc) light nollvm-gcc "$(command -v g++-12 || command -v g++)" -DCMAKE_BUILD_TYPE=Release ;;
    test) scripts/test.sh ;;
    lint)
      cmake --preset lint >/dev/null
      cmake --build --preset lint
      scripts/lint.sh build/lint
      ;;
    fuzz)
      local seed
      seed=$(date +%s)
      echo "seed $seed"
      build/release/bin/fuzz_programs --seed "$seed" --count 3000
      ;;
    asan) light asan clang++-22 -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS=-fsanitize=address,undefined -fno-sanitize=vptr,function" "-DCMAKE_C_FLAGS=-fsanitize=address,undefined" ;;
    tsan) light tsan clang++-22 -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS=-fsanitize=thread -DCMAKE_C_FLAGS=-fsanitize=thread ;;
    packages) scripts/check_packages.sh ;;
    *) return 2 ;;
  esac
}

known='format structure docs nollvm-clang nollvm-gcc test lint fuzz asan tsan packages'
stages=()
[ $# -gt 0 ] || set -- quick
for word in "$@"; do
  case $word in
    quick) stages+=(format structure docs nollvm-clang) ;;
    full) stages+=(format structure docs nollvm-clang nollvm-gcc test fuzz packages) ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) case " $known " in *" $word "*) stages+=("$word") ;; *) echo "ci.sh: no stage '$word'; there are: quick full $known" >&2; exit 2 ;; esac ;;
  esac
done
for name in "${stages[@]}"; do
  echo "==== $name"
  begin=$SECONDS
  # In a shell of its own, where -e holds.
  (set -e; stage "$name")
  echo "==== $name: $((SECONDS - begin)) s"
done
