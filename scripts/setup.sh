#!/usr/bin/env bash
# Brings a Debian machine to the point where Tenon is built and a Python environment with JAX has it installed. Every step is skipped when its result is
# there.
#
# demo.sh and test.sh source it; it leaves $root (the checkout) and $venv (the Python environment) to them. It builds what users get, unless
# $build_target names another target of CMake, as test.sh does.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${TENON_VENV:-$root/.venv}

# What to install from Debian, and why: docs/dependencies.md.
packages=(clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools libclang-rt-22-dev cmake ninja-build ccache git ca-certificates
          libfmt-dev libprotozero-dev libcli11-dev nlohmann-json3-dev libxxhash-dev libeigen3-dev libgtest-dev libgmock-dev libbenchmark-dev libmpfr-dev
          libzstd-dev zlib1g-dev python3 python3-venv python3-pip
          libvulkan-dev mesa-vulkan-drivers vulkan-validationlayers spirv-tools libgloo-dev libssl-dev)

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "== Debian packages: ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# JAX 0.12 needs Python 3.12; Debian 12 has 3.11, which gets the last JAX that supports it.
python=${PYTHON:-python3}
jax=$("$python" -c 'import sys; print("jax==0.12.0.1" if sys.version_info >= (3, 12) else "jax==0.10.2")')
wanted="$jax numpy scipy ml_dtypes pytest setuptools>=77 wheel"
if [ ! -x "$venv/bin/python" ] || [ "$(cat "$venv/tenon-packages" 2>/dev/null)" != "$wanted" ]; then
  echo "== Python environment $venv with $jax"
  "$python" -m venv "$venv"
  # shellcheck disable=SC2086
  "$venv/bin/pip" install --quiet --disable-pip-version-check $wanted
  echo "$wanted" >"$venv/tenon-packages"
fi

echo "== build"
cd "$root"
mkdir -p build
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_BASEDIR=$root
# Of what CMake says, what is left out matters: tests whose data or tools are not there.
cmake --preset release -DTENON_JAX_PYTHON="$venv/bin/python" >"$root/build/configure.log" 2>&1 || { cat "$root/build/configure.log" >&2; exit 1; }
grep -h 'not run' "$root/build/configure.log" || true
cmake --build --preset release --target "${build_target:-tenon_product}"

echo "== Python package"
plugin=$root/build/release/lib/pjrt_plugin_tenon.so
if [ ! -f "$venv/tenon-installed" ] || [ "$plugin" -nt "$venv/tenon-installed" ] || [ -n "$(find python -newer "$venv/tenon-installed" -name '*.py' -print -quit)" ]; then
  # With the engine for processes on several machines and with encryption where they were built; they find Gloo and OpenSSL in the system.
  WITH_GLOO=$([ ! -f "$root/build/release/lib/libtenon_gloo.so" ] || echo 1) WITH_TLS=$([ ! -f "$root/build/release/lib/libtenon_tls.so" ] || echo 1) PYTHON=$venv/bin/python "$root/scripts/build_wheel.sh" "$plugin" "$root/build/wheel" >/dev/null
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$root"/build/wheel/tenon_jax-*.whl
  touch "$venv/tenon-installed"
fi
