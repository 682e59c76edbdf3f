#!/usr/bin/env bash
# Builds the Python wheel around an existing plugin: build_wheel.sh [PLUGIN.so] [OUTPUT_DIR]. PYTHON chooses the interpreter, which needs
# setuptools. With AUDITWHEEL=/path/of/auditwheel (and patchelf in PATH) the wheel is for other machines: it gets the manylinux tag that the
# symbols of its library allow, and libzstd inside; without, the tag says only that it is for machines like this one.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
plugin=${1:-$root/build/release/lib/pjrt_plugin_tenon.so}
out=${2:-$root/build/wheel}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp -r "$root/python/." "$stage/"
cp -r "$root/VERSION" "$root/LICENSE" "$root/NOTICE" "$root/licenses" "$stage/"
rm -rf "$stage/tenon_jax/lib"
mkdir -p "$stage/tenon_jax/lib" "$out" "$stage/made"
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
rm -f "$out"/tenon_jax-*.whl
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$stage/made" "$stage"
if [ -n "${AUDITWHEEL:-}" ]; then
  "$AUDITWHEEL" repair --wheel-dir "$out" "$stage"/made/tenon_jax-*.whl
else
  cp "$stage"/made/tenon_jax-*.whl "$out"
fi
ls "$out"/tenon_jax-*.whl
