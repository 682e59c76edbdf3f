"""Transformations of HLO modules (jax.extend.xla) for what Tenon compiles.

jaxlib keeps them for its own compiler. A plugin gets StableHLO, so while there are any a program goes through HLO and back. Both of their stages come
before Tenon's compiler, in their order.
"""

import functools
import inspect

from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jax._src.lib.mlir import ir

from tenon_jax._compiling import computation, is_tenon

try:
    from jax._src.lib import _xla, hlo
except ImportError:  # A jaxlib without transformations.
    _xla = hlo = None

_registered = {}  # (stage, name) -> callback, in the order in which they came.


def _transformed(module: ir.Module) -> ir.Module:
    """ValueError for a program of several devices: its HLO would not say how arrays are cut."""
    partitions = module.operation.attributes.get('mhlo.num_partitions')
    if partitions is not None and partitions.value > 1:
        raise ValueError(f'an HLO module of {partitions.value} devices cannot be transformed; registered are {[name for _, name in _registered]}')
    given = computation(module).as_serialized_hlo_module_proto()
    proto = given
    for _, callback in sorted(_registered.items(), key=lambda item: item[0][0]):
        proto = callback(proto) or proto
    if proto is given:
        return module
    text = _jax.mlir.xla_computation_to_mlir_module(hlo.XlaComputation(proto))
    return ir.Module.parse(text, context=mlir.make_ir_context())


def _compiling(compile_and_load):
    signature = inspect.signature(compile_and_load)

    @functools.wraps(compile_and_load)
    def transform_and_compile(*args, **kwargs):
        if not _registered:
            return compile_and_load(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        if is_tenon(given.arguments['backend']):
            given.arguments['module'] = _transformed(given.arguments['module'])
        return compile_and_load(*given.args, **given.kwargs)

    return transform_and_compile


def _registering(register):
    @functools.wraps(register)
    def register_here_too(name, stage, callback):
        register(name, stage, callback)
        _registered[stage, name] = callback

    return register_here_too


def _clearing(clear):
    @functools.wraps(clear)
    def clear_here_too(name, stage):
        _registered.pop((stage, name), None)
        return clear(name, stage)

    return clear_here_too


@functools.cache  # Once.
def install() -> None:
    """From now on. What was registered for `cpu` before JAX looked for backends is jaxlib's alone."""
    if not hasattr(_xla, 'register_xla_transform'):
        return
    _xla.register_xla_transform = _registering(_xla.register_xla_transform)
    _xla.clear_xla_transform = _clearing(_xla.clear_xla_transform)
    compiler.backend_compile_and_load = _compiling(compiler.backend_compile_and_load)
