"""Results of Python callbacks reach jaxlib in row-major order on the CPU.

jaxlib's callback handler transposes results of any other layout with a cache that the first stage of the handler makes. That stage is not among those
that jaxlib hands to plugins, and without the cache such a result ends the process.
"""

import numpy as np
from jax._src import callback as jax_callback
from jax.interpreters import mlir


def _row_major(callback):
    return lambda *args: tuple(np.asarray(result, order='C') for result in callback(*args))


def _lowering_of(jax_lowering):
    return lambda ctx, *args, callback, **params: jax_lowering(ctx, *args, callback=_row_major(callback), **params)


def install() -> None:
    """Registers the CPU's lowerings of the callbacks that have results."""
    for primitive, lowering in (
        (jax_callback.pure_callback_p, jax_callback.pure_callback_lowering),
        (jax_callback.io_callback_p, jax_callback.io_callback_lowering),
    ):
        mlir.register_lowering(primitive, _lowering_of(lowering), cacheable=False, platform='cpu')
