"""Functions with partitioners of their own (jax.experimental.custom_partitioning) on devices of another process.

The plugin of this process runs the partitioner. One that only sends programs to a process elsewhere cannot: there the function itself says
what is computed, over whole arrays. A call that only a partitioner can replace has no meaning there.
"""

from jax._src import core
from jax._src.custom_partitioning import custom_partitioning_p
from jax.interpreters import mlir


def _lower(ctx, *operands, call, **_):
    return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *operands)


def install() -> None:
    """Registers the CPU's lowering, which is the function's own."""
    mlir.register_lowering(custom_partitioning_p, _lower, platform='cpu')
