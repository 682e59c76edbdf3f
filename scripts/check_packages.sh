#!/usr/bin/env bash
# Installs what the project gives out into a clean Debian root and an empty virtual environment, and uses it there:
# check_packages.sh [BUILD]. BUILD is a built release tree, build/release otherwise. Needs root, dpkg-dev, mmdebstrap, zstd; AUDITWHEEL for the
# wheel's tag as in build_wheel.sh. ROOT_TAR keeps the empty root between runs; WITHOUT_WHEEL=1 leaves Python out; WITH_TORCH=1 installs PyTorch/XLA, some
# gigabytes, and trains on the wheel for it, which is else looked at alone.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd)
# The environment of scripts/setup.sh has the setuptools that wheels need; Debian's is too old.
if [ -z "${PYTHON:-}" ] && [ -x "$root/.venv/bin/python" ]; then export PYTHON=$root/.venv/bin/python; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in mmdebstrap dpkg-shlibdeps zstd; do
  command -v $tool >/dev/null || { echo "check_packages.sh needs $tool: apt-get install mmdebstrap dpkg-dev zstd" >&2; exit 2; }
done

echo "== packages of $build"
mkdir -p "$work/files"
(cd "$build" && cpack -G DEB -B "$work/packed" && cpack -G TZST -B "$work/packed") >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; exit 1; }
mv "$work"/packed/*.deb "$work"/packed/*.tar.zst "$work/files"
if [ -z "${WITHOUT_WHEEL:-}" ]; then
  "$root/scripts/build_wheel.sh" "$build/lib/pjrt_plugin_tenon.so" "$work/files" >"$work/wheel.log" 2>&1 || { cat "$work/wheel.log"; exit 1; }
  "$root/scripts/build_client_wheel.sh" "$build/lib/libtenon.so.0" "$work/files" >"$work/wheel.log" 2>&1 || { cat "$work/wheel.log"; exit 1; }
  "$root/scripts/build_torch_wheel.sh" "$build/lib/pjrt_plugin_tenon.so" "$work/files" >"$work/wheel.log" 2>&1 || { cat "$work/wheel.log"; exit 1; }
fi
mkdir -p "$work/files/test"
cp -r "$root/test/install" "$work/files/test"
cp -r "$root/examples" "$root/VERSION" "$work/files"
ls -l "$work/files" | awk 'NF > 8 {print "  " $9, $5}'

# The machine's own package sources; its options, since a mirror may be a snapshot.
tar=${ROOT_TAR:-$work/root.tar}
if [ ! -f "$tar" ]; then
  echo "== a clean root"
  options=()
  for file in /etc/apt/apt.conf.d/*; do
    if grep -q '^Acquire::' "$file"; then options+=(--aptopt="$file"); fi
  done
  mmdebstrap --quiet --mode=root --variant=apt "${options[@]}" --include=ca-certificates,python3-venv,cmake,make,g++,pkg-config,golang-go,cargo,man-db,bash-completion,zstd \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$tar" /etc/apt/sources.list.d/debian.sources
fi
mkdir "$work/root"
tar -C "$work/root" -xf "$tar"
cp -r "$work/files" "$work/root/files"
cp /etc/resolv.conf "$work/root/etc/"
for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  if [ -f "$file" ]; then cp "$file" "$work/root$file"; fi
done

echo "== in the root"
# The mounts end with the namespace. Of the environment, only what reaches package registries goes in, and what is asked for.
export PASS
PASS=$(env | grep -E '^(WITH_TORCH|PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|DEFAULT_TIMEOUT|TRUSTED_HOST|FIND_LINKS)|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY|SSL_CERT_FILE|REQUESTS_CA_BUNDLE)=' || true)
if [ -d "${PIP_FIND_LINKS:-}" ]; then mkdir -p "$work/root$PIP_FIND_LINKS"; fi
unshare --mount bash -c '
  set -e
  mount -t proc proc "$1/proc"
  mount --rbind /dev "$1/dev"
  mapfile -t pass <<<"$PASS"
  exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${pass[@]}" chroot "$1" /files/test/install/in_root.sh /files
' bash "$work/root"
