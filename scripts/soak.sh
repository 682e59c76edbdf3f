#!/usr/bin/env bash
# Random mixes of everything that a client can be asked for (tenon/cpu/soak_test.cc), for long.
#   scripts/soak.sh [--build DIR] [--minutes N] [--seed N] [--threads N]
# --build: a build of any kind (build/release), made beforehand: the target is cpu_soak_test. Under sanitizers, whose allocators keep what was freed,
# memory may grow further.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/release minutes=30 seed=$(date +%s) threads=4
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2 ;;
    --minutes) minutes=$2 ;;
    --seed) seed=$2 ;;
    --threads) threads=$2 ;;
    -h | --help) sed -n '2,5{s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "soak.sh: no option '$1'" >&2; exit 2 ;;
  esac
  shift 2
done
test=$(find "$build" -name cpu_soak_test -type f -perm -u+x | head -1)
[ -n "$test" ] || { echo "soak.sh: there is no cpu_soak_test in $build" >&2; exit 2; }
slack=64
if grep -q '^CMAKE_CXX_FLAGS:.*-fsanitize' "$build/CMakeCache.txt"; then slack=1024; fi
echo "seed $seed, $minutes minutes"
TENON_SOAK_SECONDS=$((minutes * 60)) TENON_SOAK_SEED=$seed TENON_SOAK_THREADS=$threads TENON_SOAK_SLACK_MIB=$slack "$test"
