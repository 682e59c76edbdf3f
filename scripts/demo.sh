#!/usr/bin/env bash
# Trains a small network with JAX on Tenon, beside JAX's own CPU backend. Arguments go to examples/jax/train_mlp.py. Everything is set up first, which
# takes a build (setup.sh); TENON_WHEEL=tenon_jax-*.whl takes a package that is there already, into an environment of its own.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -n "${TENON_WHEEL:-}" ]; then
  venv=${TENON_VENV:-$root/build/demo}
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$TENON_WHEEL"
  # One of the same version may be there from before; what both depend on stays.
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$TENON_WHEEL"
else
  source "$root/scripts/setup.sh"
fi
exec "$venv/bin/python" "$root/examples/jax/train_mlp.py" "$@"
