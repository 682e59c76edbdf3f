#!/usr/bin/env bash
# Sets everything up and trains a small network with JAX on Tenon, beside JAX's own CPU backend. Arguments go to examples/jax/train_mlp.py.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
exec "$venv/bin/python" "$root/examples/jax/train_mlp.py" "$@"
