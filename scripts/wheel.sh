# What the scripts that build wheels share; they source it. PYTHON chooses the interpreter, which needs setuptools; with AUDITWHEEL=/path/of/auditwheel (and
# patchelf in PATH) wheels are for other machines: they get the manylinux tag that the symbols of their libraries allow, and libraries that the tag
# does not promise inside; without, the tag says only that they are for machines like this one.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# stage_package FOLDER: $stage becomes a copy of the package in python/FOLDER, with version and licences.
stage_package() {
  cp -rL "$root/python/$1/." "$stage/"
  cp -r "$root/VERSION" "$root/LICENSE" "$root/NOTICE" "$root/licenses" "$stage/"
}

# make_wheel PATTERN OUT: builds the wheel of what is staged into OUT, in place of those that match PATTERN there.
make_wheel() {
  local made=$stage/made
  mkdir -p "$made" "$2"
  # shellcheck disable=SC2086
  rm -f "$2"/$1
  "${PYTHON:-python3}" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$made" "$stage"
  if [ -n "${AUDITWHEEL:-}" ]; then
    "$AUDITWHEEL" repair --wheel-dir "$2" "$made"/*.whl
  else
    cp "$made"/*.whl "$2"
  fi
  # shellcheck disable=SC2086
  ls "$2"/$1
}
