#!/usr/bin/env bash
# Builds the Python wheel around an existing plugin: build_wheel.sh [PLUGIN.so] [OUTPUT_DIR]. PYTHON and AUDITWHEEL: see wheel.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/wheel.sh"
plugin=${1:-$root/build/release/lib/pjrt_plugin_tenon.so}
stage_package .
rm -rf "$stage/tenon_jax/lib"
mkdir -p "$stage/tenon_jax/lib"
cp "$plugin" "$stage/tenon_jax/lib/pjrt_plugin_tenon.so"
# WITH_GLOO=1 brings the engine for processes on several machines along, and auditwheel the libraries that it needs.
if [ -n "${WITH_GLOO:-}" ]; then
  cp "$(dirname "$plugin")/libtenon_gloo.so" "$stage/tenon_jax/lib/"
fi
# WITH_TLS=1 brings what TENON_JAX_REMOTE needs besides, and auditwheel OpenSSL with it.
if [ -n "${WITH_TLS:-}" ]; then
  cp "$(dirname "$plugin")/libtenon_tls.so" "$stage/tenon_jax/lib/"
fi
# The GPU plugin, where it was built; it finds Vulkan's loader when it runs.
gpu=$(dirname "$plugin")/pjrt_plugin_tenon_vulkan.so
if [ -f "$gpu" ]; then cp "$gpu" "$stage/tenon_jax/lib/"; fi
# TENON_JAX_ISOLATE and TENON_JAX_REMOTE: the plugin that runs another one in a process of its own, and that process's program.
beside=$(dirname "$plugin")
for file in "$beside/pjrt_plugin_tenon_isolated.so" "$beside/../bin/tenon-device-server"; do
  if [ -e "$file" ]; then cp "$file" "$stage/tenon_jax/lib/"; fi
done
make_wheel 'tenon_jax-*.whl' "${2:-$root/build/wheel}"
