#!/usr/bin/env bash
# Builds the wheel of the Python package `tenon-torch` around existing plugins: build_torch_wheel.sh [PLUGIN.so] [OUTPUT_DIR]; the GPU plugin comes along
# where it lies beside. PYTHON and AUDITWHEEL: see wheel.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/wheel.sh"
plugin=${1:-$root/build/release/lib/pjrt_plugin_tenon.so}
stage_package tenon_torch
mkdir -p "$stage/tenon_torch/lib"
cp "$plugin" "$stage/tenon_torch/lib/pjrt_plugin_tenon.so"
gpu=$(dirname "$plugin")/pjrt_plugin_tenon_vulkan.so
if [ -f "$gpu" ]; then cp "$gpu" "$stage/tenon_torch/lib/"; fi
make_wheel 'tenon_torch-*.whl' "${2:-$root/build/wheel}"
