#!/bin/bash
# The tests of other people's PJRT clients against a plugin: go-xla's (Go) and pypjrt's conformance probes (Python).
#   scripts/client_tests.sh [pjrt_plugin_tenon.so]
# Fetches both through their package managers; what is not to be had is skipped and said. Fails when a test does.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
plugin=$(realpath "${1:-$root/build/release/lib/pjrt_plugin_tenon.so}")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
failed=0
python="$root/.venv/bin/python"
[ -x "$python" ] || python=python3

go_xla=github.com/gomlx/go-xla@v0.1.4
if command -v go >/dev/null && folder=$(cd "$work" && go mod init x >/dev/null 2>&1 && go mod download -json $go_xla 2>/dev/null | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') && [ -n "$folder" ]; then
  cp -r "$folder" "$work/go-xla" && chmod -R u+w "$work/go-xla"
  export TENON_NUM_DEVICES=4 GOFLAGS=-mod=mod
  (cd "$work/go-xla" && go test ./pkg/pjrt -plugin="$plugin" -force_shared_buffer) || failed=1
  (cd "$work/go-xla" && go test ./internal/tests -plugins="$plugin") || failed=1
else
  echo "go-xla: skipped, there is no Go or no module"
fi

if "$python" -m pip install -q --target "$work/site" --no-deps pypjrt==0.1.1 2>/dev/null; then
  PYTHONPATH="$work/site" "$python" -m pypjrt.conform "$plugin" || failed=1
else
  echo "pypjrt: skipped, the package is not to be had"
fi
exit $failed
