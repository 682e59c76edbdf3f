#!/usr/bin/env bash
# Tries the GPU plugin on a machine's Vulkan devices: which there are, tests, conformance, programs that check themselves, and programs timed beside the CPU
# plugin, whose results must agree. It needs nothing of that machine but a driver and a C library of 2022 or later (no packages, compiler or Python).
#   scripts/gpu_trial.sh [--build DIR] [--report DIR]   here
#   scripts/gpu_trial.sh --pack FILE.txz [--build DIR]  everything for another machine: there, tar xf FILE.txz && gpu_trial/gpu_trial.sh [--report DIR]
# --build: build/release, made beforehand. --report: where the outputs go, ./gpu_report otherwise. --seconds N: per timed program.
# TENON_VULKAN_DEVICES chooses devices (docs/gpu.md). TENON_GPU_AGAINST names another plugin of the machine's to time beside ours, such as JAX's for CUDA.
# Exit status: 0 all passed, 1 something did not, 2 there is nothing to try it on.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/.." && pwd)
build=$root/build/release report=$PWD/gpu_report pack='' seconds=1
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2 ;;
    --report) report=$2 ;;
    --pack) pack=$2 ;;
    --seconds) seconds=$2 ;;
    -h | --help) sed -n '2,10{s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "gpu_trial.sh: no option '$1'" >&2; exit 2 ;;
  esac
  shift 2
done

tests='vulkan_device_test vulkan_executable_test emit_spirv_random_test emit_spirv_matrix_test'
if [ -d "$here/bin" ]; then  # Unpacked.
  bin=$here/bin lib=$here/lib ops=$here/ops programs=$here/programs
  export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
else
  bin=$build/bin lib=$build/lib ops=$root/test/ops programs=$root/bench/gpu/programs
fi
find_test() { if [ -x "$bin/$1" ]; then echo "$bin/$1"; else find "$build" -name "$1" -type f -perm -u+x | head -1; fi; }

if [ -n "$pack" ]; then
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT
  mkdir -p "$stage"/gpu_trial/{bin,lib,ops,programs}
  cp "$bin"/{tenon,tenon-check,tenon-conformance} "$stage/gpu_trial/bin/" || exit 2
  for test in $tests; do
    # LLVM's shared library is larger than all the rest: a build that links to it packs without the tests that need it.
    if ldd "$(find_test "$test")" | grep -q libLLVM; then
      echo "$test is left out: it links to LLVM's shared library"
    else
      cp "$(find_test "$test")" "$stage/gpu_trial/bin/" || exit 2
    fi
  done
  cp "$lib"/pjrt_plugin_tenon{,_vulkan}.so "$stage/gpu_trial/lib/" || exit 2
  # The loader, and what of the compiler's library an older system may lack.
  for library in libvulkan.so.1 libstdc++.so.6 libgcc_s.so.1 libz.so.1 libzstd.so.1; do
    found=$(ldconfig -p | awk -v l="$library" '$1 == l && /x86-64/ { print $NF; exit }')
    [ -z "$found" ] || cp -L "$found" "$stage/gpu_trial/lib/$library"
  done
  strip --strip-unneeded "$stage"/gpu_trial/bin/* "$stage"/gpu_trial/lib/pjrt_* 2> /dev/null
  cp "$root"/test/ops/*.mlir "$stage/gpu_trial/ops/"
  cp "$root"/bench/gpu/programs/*.mlir "$stage/gpu_trial/programs/"
  cp "${BASH_SOURCE[0]}" "$stage/gpu_trial/"
  tar caf "$pack" -C "$stage" gpu_trial
  du -h "$pack"
  exit
fi

mkdir -p "$report"
plugin=$lib/pjrt_plugin_tenon_vulkan.so
# A machine of containers has its driver's manifest where no loader looks; what names none is the loader's own choice.
found=''
for manifest in "${VK_DRIVER_FILES:-}" /usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json; do
  [ -z "$manifest" ] || export VK_DRIVER_FILES=$manifest VK_ICD_FILENAMES=$manifest
  if "$bin/tenon" info -p "$plugin" > "$report/info.txt" 2>&1; then found=1; break; fi
done
if [ -z "$found" ]; then
  cat "$report/info.txt"
  exit 2
fi
head -20 "$report/info.txt"

failed=0
step() {  # NAME COMMAND...: its output goes to the report, its last line and outcome here.
  local name=$1 start=$SECONDS outcome=passed
  shift
  "$@" > "$report/$name.txt" 2>&1 || { outcome="FAILED ($?)" failed=1; }
  printf '%-28s %s, %d s: %s\n' "$name" "$outcome" $((SECONDS - start)) "$(grep -v '^$' "$report/$name.txt" | tail -1 | cut -c1-100)"
}
export TENON_TEST_PLUGIN=$plugin
grep -q 'type = "cpu"' "$report/info.txt" || export TENON_TEST_GPU=1
for test in $tests; do
  program=$(find_test "$test")
  [ -z "$program" ] || step "$test" "$program"
done
step conformance "$bin/tenon-conformance" "$plugin"
# Devices may keep subnormal numbers, which programs for CPUs flush.
step ops "$bin/tenon-check" --keep-denormals --plugin "$plugin" "$ops"
# Sums of a thousand products or more in two orders, of numbers of any sign: they agree to a hundredth.
for program in "$programs"/*.mlir; do
  name=$(basename "$program" .mlir)
  step "bench_$name" "$bin/tenon" bench "$program" --random --seconds "$seconds" --tolerance 0.01 -p "$plugin" \
    --against "${TENON_GPU_AGAINST:-$lib/pjrt_plugin_tenon.so}" --csv "$report/$name.csv"
done
echo "reports: $report"
exit $failed
