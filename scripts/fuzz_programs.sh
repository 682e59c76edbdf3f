#!/usr/bin/env bash
# Generated programs before all judges, for hours: scripts/fuzz_programs.sh [--hours N] [--seed S] [--folder F] [--build B]
# Goes on at the seed where the last run in the folder stopped. Findings stay in the folder, one file each, with what differs
# in the first line; totals of all runs are printed at the end and kept in F/totals.txt.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
hours=1 seed="" folder="$root/build/fuzz_programs" build="$root/build/dev"
while [ $# -gt 0 ]; do
  case $1 in
    --hours) hours=$2 ;;
    --seed) seed=$2 ;;
    --folder) folder=$2 ;;
    --build) build=$2 ;;
    *) sed -n '2,4p' "$0"; exit 2 ;;
  esac
  shift 2
done
mkdir -p "$folder"
if [ -z "$seed" ]; then
  seed=$(cat "$folder/next_seed" 2>/dev/null || echo 0)
fi
status=0
nice -n 15 "$build/bin/fuzz_programs" --hours "$hours" --seed "$seed" --vary --findings "$folder" \
  --known "$root/test/fuzz_programs/known_findings.txt" | tee -a "$folder/log.txt" || status=$?
grep -E '^[0-9]+ programs' "$folder/log.txt" | tail -1 >> "$folder/totals.txt" || true
awk '{ programs += $1; for (i = 1; i < NF; ++i) if ($i == "findings") { sub(",", "", $(i + 1)); findings += $(i + 1) } }
     END { printf "in all: %d programs, %d findings\n", programs, findings }' "$folder/totals.txt"
exit "$status"
