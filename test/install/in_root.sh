#!/usr/bin/env bash
# in_root.sh FOLDER: runs in a clean Debian root with the packages in FOLDER; see scripts/check_packages.sh. Nothing of the checkout is there but
# what was copied into FOLDER: *.deb, *.tar.zst, *.whl, test/install, examples, VERSION.
set -euo pipefail
cd "$1"
export HOME=/root LC_ALL=C.UTF-8 TENON_NUM_THREADS=2
step() { printf '== %s\n' "$*"; }
want() { # want TEXT COMMAND...: the command succeeds and prints the text
  local text=$1; shift
  local out
  out=$("$@" 2>&1) || { printf 'failed: %s\n%s\n' "$*" "$out"; exit 1; }
  grep -qF -- "$text" <<<"$out" || { printf 'no "%s" from: %s\n%s\n' "$text" "$*" "$out"; exit 1; }
}

step "Debian packages"
# A clean root has no lists of what there is, and libgloo0 and libvulkan1 come from there.
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ./*.deb >/tmp/apt.log || { cat /tmp/apt.log; exit 1; }
want "$(cat VERSION)" tenon --version

step "tenon, with default names"
want tenon tenon plugins
want 'platform    cpu' tenon info
want '[2, 4, 6, 8]' tenon run test/install/add.mlir -i 1,2,3,4 -i 1,2,3,4
want median tenon bench test/install/add.mlir --random --seconds 0.05
want step tenon profile test/install/add.mlir --random --runs 3
want 'no misuse' tenon trace run test/install/add.mlir --random
want 'claimed pass' tenon conform --test 'load.*'
want passed tenon check test/install/check.mlir
want stablehlo.add tenon convert test/install/add.mlir
# Where Debian's images leave manual pages out, it is not installed.
if [ -f /usr/share/man/man1/tenon.1 ] || [ -f /usr/share/man/man1/tenon.1.gz ]; then want 'tenon bench' man -P cat tenon; fi
want complete bash -c 'source /usr/share/bash-completion/completions/tenon; complete -p tenon'

want vulkan tenon plugins
want tenon_isolated tenon devices
want kernel tenon explain test/install/add.mlir --random
want median tenon bench test/install/add.mlir --random --seconds 0.05 --against tenon_isolated
want '[2, 4, 6, 8]' tenon run --isolated test/install/add.mlir -i 1,2,3,4 -i 1,2,3,4
want 'StableHLO program small' tenon-reduce --help
test -f /usr/lib/pjrt/libtenon_gloo.so
ldd /usr/lib/pjrt/libtenon_gloo.so | { ! grep 'not found'; }

step "a server and its client, over TLS"
(umask 077; head -c 32 /dev/urandom | base64 >/tmp/token)
: >/tmp/server.log
tenon-device-server --listen 127.0.0.1:0 --plugin tenon --token-file /tmp/token >/tmp/server.log 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
for _ in $(seq 50); do
  port=$(sed -n 's/^listening at port //p' /tmp/server.log)
  [ -z "$port" ] || break
  sleep 0.1
done
[ -n "$port" ] || { printf 'the server does not listen:\n'; cat /tmp/server.log; exit 1; }
TENON_REMOTE_TOKEN_FILE=/tmp/token want '[2, 4, 6, 8]' tenon run --remote "127.0.0.1:$port" test/install/add.mlir -i 1,2,3,4 -i 1,2,3,4
kill "$server"
trap - EXIT

step "the archive, anywhere"
mkdir -p /opt/tenon && tar -C /opt/tenon --strip-components=1 --zstd -xf ./*.tar.zst
want '[2, 4, 6, 8]' /opt/tenon/bin/tenon run test/install/add.mlir -i 1,2,3,4 -i 1,2,3,4
want '/opt/tenon' /opt/tenon/bin/tenon plugins

step "find_package: client, builder, C interface, SDK, conformance suite"
cmake -S test/install/consumer -B /tmp/consumer >/dev/null
cmake --build /tmp/consumer -j2 >/dev/null
want '2 4 6 8' /tmp/consumer/consumer tenon test/install/add.mlir
(cd /tmp/consumer && ctest --output-on-failure) >/tmp/ctest.log || { cat /tmp/ctest.log; exit 1; }
exported=$(nm -D --defined-only /tmp/consumer/pjrt_plugin_consumer.so | awk '{print $3}' | tr '\n' ' ')
[ "$exported" = "GetPjrtApi " ] || { echo "the plugin exports $exported"; exit 1; }

step "builder"
want '2.000000 3.000000 1.414214' /tmp/consumer/loop tenon

step "one program in C, Go and Rust: the same line"
line='0.244919 0.571670 0.761594 0.739783 sum 2.317966'
want "$line" /tmp/consumer/c_run tenon examples/program.mlir
export GOCACHE=/tmp/go
(cd examples/go && CGO_CFLAGS=$(pkg-config --cflags tenon) CGO_LDFLAGS=$(pkg-config --libs tenon) go build -o /tmp/go_run .)
want "$line" /tmp/go_run tenon examples/program.mlir
(cd examples/rust && cargo build --offline --quiet --target-dir /tmp/rust)
want "$line" /tmp/rust/debug/run tenon examples/program.mlir

step "pkg-config"
# shellcheck disable=SC2046
g++ -std=c++20 test/install/consumer/main.cc $(pkg-config --cflags --libs tenon-client) -o /tmp/by_pkg_config
want '2 4 6 8' /tmp/by_pkg_config tenon test/install/add.mlir
# shellcheck disable=SC2046
g++ -std=c++20 examples/builder/train.cc $(pkg-config --cflags --libs tenon-builder tenon-client) -o /tmp/train
want '2.00 -1.00 1.00' /tmp/train tenon
# shellcheck disable=SC2046
gcc examples/c/run.c $(pkg-config --cflags --libs tenon) -o /tmp/run_c
want 'sum 2.317966' /tmp/run_c tenon examples/program.mlir

if [ -d examples/device_plugin ]; then
  step "the example plugin for a device, out of tree"
  cmake -S examples/device_plugin -B /tmp/device >/dev/null
  cmake --build /tmp/device -j2 >/dev/null
  (cd /tmp/device && ctest --output-on-failure) >/tmp/ctest.log || { tail -50 /tmp/ctest.log; exit 1; }
fi

if ls ./*.whl >/dev/null 2>&1; then
  step "an empty virtual environment"
  python3 -m venv /tmp/env
  /tmp/env/bin/pip install --quiet ./*.whl 'jax<0.11'
  (cd /tmp && want '[2. 4.]' /tmp/env/bin/python -c "
import numpy, tenon
x = numpy.array([1, 2], numpy.float32)
add = 'func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n %0 = stablehlo.add %x, %x : tensor<2xf32>\n return %0 : tensor<2xf32>\n}'
print(numpy.asarray(tenon.Client('tenon').compile(add)(x)[0]))")
  want "$line" /tmp/env/bin/python test/install/program.py examples/program.mlir
  want licenses/LICENSE /tmp/env/bin/pip show -f tenon-jax
  (cd /tmp && want '[0, 1, 4]' /tmp/env/bin/python "$1/test/install/square.py")
  (cd /tmp && want tenon /tmp/env/bin/python -c 'import jax; print(jax.devices()[0].client.platform_version)')
  (cd /tmp && want loss /tmp/env/bin/python "$1/examples/jax/train_mlp.py" --steps 20)
  # The plugin of the wheel serves the program when its environment is active.
  (cd /tmp && PATH=/tmp/env/bin:$PATH want /tmp/env tenon plugins)

  step "the wheel for PyTorch/XLA"
  want 'TENON TENON_VULKAN' /tmp/env/bin/python -c 'import importlib.metadata as m; print(*sorted(e.name for e in m.entry_points(group="torch_xla.plugins")))'
  want licenses/LICENSE /tmp/env/bin/pip show -f tenon-torch
  for plugin in /tmp/env/lib/python3*/site-packages/tenon_torch/lib/pjrt_plugin_tenon.so; do
    want '[2, 4, 6, 8]' tenon run -p "$plugin" test/install/add.mlir -i 1,2,3,4 -i 1,2,3,4
  done
  if [ -n "${WITH_TORCH:-}" ]; then
    python3 -m venv /tmp/torch
    /tmp/torch/bin/pip install --quiet ./tenon_torch-*.whl 'torch==2.9.*' 'torch_xla==2.9.*' numpy
    (cd /tmp && PJRT_DEVICE=TENON want loss /tmp/torch/bin/python "$1/examples/pytorch/train.py")
  fi
fi
echo "all of it works"
