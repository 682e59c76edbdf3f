"""What those share that stand in the way of JAX's compilations."""

from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jax._src.lib.mlir import ir


def is_tenon(backend) -> bool:
    """Other clients than Tenon's do by themselves what this package adds."""
    return 'tenon' in backend.platform_version


def computation(module: ir.Module):
    """The module as HLO (an XlaComputation). Not every program can be said in it."""
    return _jax.mlir.mlir_module_to_xla_computation(mlir.module_to_bytecode(module))
