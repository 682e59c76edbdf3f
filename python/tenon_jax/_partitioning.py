"""Functions with partitioners of their own (jax.experimental.custom_partitioning) on the CPU.

Tenon's devices share one memory, and a program of several of them computes on whole arrays: there the function itself says what is
computed, and there is nothing to cut. A call that only a partitioner can replace would have no meaning.
"""

from jax._src import core
from jax._src.custom_partitioning import custom_partitioning_p
from jax.interpreters import mlir


def _lower(ctx, *operands, call, **_):
    return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *operands)


def install() -> None:
    """Registers the CPU's lowering, which is the function's own."""
    mlir.register_lowering(custom_partitioning_p, _lower, platform='cpu')
