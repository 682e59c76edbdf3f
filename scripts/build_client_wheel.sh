#!/usr/bin/env bash
# Builds the wheel of the Python package `tenon` around an existing library: build_client_wheel.sh [LIBTENON.so] [OUTPUT_DIR]. PYTHON and AUDITWHEEL: see
# wheel.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/wheel.sh"
library=${1:-$root/build/release/lib/libtenon.so.0}
stage_package tenon
mkdir -p "$stage/tenon/lib"
cp -L "$library" "$stage/tenon/lib/libtenon.so.0"
strip --strip-unneeded "$stage/tenon/lib/libtenon.so.0"
make_wheel 'tenon-[0-9]*.whl' "${2:-$root/build/wheel}"
