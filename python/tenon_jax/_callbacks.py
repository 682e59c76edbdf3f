"""What jaxlib's handlers of Python callbacks expect of their host, and what callbacks expect of the thread they run on.

Results reach jaxlib in row-major order on the CPU: its handler transposes those of any other layout with a cache that the first stage of the handler
makes. That stage is not among those that jaxlib hands to plugins, and without the cache such a result ends the process.

A program that calls back runs on its caller's thread, where the caller may be tracing: what the callback computes is none of the trace's.

JAX puts the operands of its callbacks, which are numpy arrays, on a CPU device by `device_put`, whose way for numpy arrays is most of what a call costs.
They are arrays of that device when they come to it here.

Buffer callbacks that ask for the stream, which a CPU lacks, are told so: jaxlib reads the code of a plugin's error there, and no words.
"""

import functools

import numpy as np
from jax._src import buffer_callback, core, debugging, util, xla_bridge
from jax._src import callback as jax_callback
from jax._src.lib import guard_lib, xla_client
from jax.errors import JaxRuntimeError
from jax.interpreters import mlir
from jax.sharding import SingleDeviceSharding

_trace_ctx, _eval_trace = core.trace_ctx, core.eval_trace
_put = xla_client.batched_device_put
# Of JAX's kind, which lets go of the devices when JAX does.
_sharding = util.cache(max_size=8, trace_context_in_key=False)(lambda device: SingleDeviceSharding(device))
_PUTS = {jax_callback.__name__, debugging.__name__}


@functools.lru_cache(maxsize=1024)
def _row_major_strides(shape: tuple, itemsize: int) -> tuple:
    strides = [itemsize] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * shape[i]
    return tuple(strides)


def _row_major(result):
    """`result` with the strides that jaxlib expects; numpy calls other ones C-contiguous too where an extent is 0 or 1. Tokens stay what they are."""
    if not isinstance(result, np.ndarray):
        return result
    strides = _row_major_strides(result.shape, result.itemsize)
    if result.strides == strides:
        return result
    # With memory of its own numpy would choose the strides.
    copy = np.ndarray(result.shape, result.dtype, buffer=np.empty(max(result.size, 1), result.dtype), strides=strides)
    copy[...] = result
    return copy


def _served(callback):
    """`callback` as the handler is to find it. What this does in the usual case is a part of what every call costs."""

    def call(*operands):
        if _trace_ctx.trace is _eval_trace:
            results = callback(*operands)
        else:
            with core.eval_context():
                results = callback(*operands)
        for x in results:
            if isinstance(x, np.ndarray) and x.ndim and x.strides != _row_major_strides(x.shape, x.itemsize):
                return tuple(map(_row_major, results))
        return results

    return call


def _with_operands_on_device(callback, avals):
    """`callback` on arrays of the first CPU device, as `device_put` would make them, where it is called with numpy arrays of `avals`."""
    # What is wider may become another type.
    puts = [aval if isinstance(aval, core.ShapedArray) and aval.dtype.itemsize < 8 else None for aval in avals]
    puts = [aval and core.ShapedArray(aval.shape, aval.dtype) for aval in puts]
    guards = guard_lib.thread_local_state

    def call(*operands):
        try:
            device = xla_bridge.local_devices(backend='cpu')[0]
        except RuntimeError:
            return callback(*operands)  # JAX says what is missing.
        sharding, state = _sharding(device), guards()
        outside, state.explicit_device_put = state.explicit_device_put, True
        try:
            operands = [
                _put(aval, sharding, [x], [device], True) if aval is not None and x.dtype == aval.dtype else x for aval, x in zip(puts, operands)]
        finally:
            state.explicit_device_put = outside
        return callback(*operands)

    return call


def _put_operands(module) -> None:
    """Makes JAX's own callbacks, which put their operands on a device, find them there."""
    emit = module.emit_python_callback

    def emit_python_callback(ctx, callback, token, operands, operand_avals, *args, **params):
        if operands and getattr(callback, '__module__', None) in _PUTS and list(ctx.module_context.platforms) == ['cpu']:
            callback = _with_operands_on_device(callback, operand_avals)
        return emit(ctx, callback, token, operands, operand_avals, *args, **params)

    module.emit_python_callback = emit_python_callback


def _serve_callbacks(context: type) -> None:
    """Makes what is lowered for the CPU in a `context` call back by way of `_served`."""
    add = context.add_host_callback

    def add_host_callback(self, callback):
        add(self, _served(callback) if list(self.platforms) == ['cpu'] else callback)

    context.add_host_callback = add_host_callback


def _give_words(context: type) -> None:
    """Makes `context.stream` say what is missing where its error is a mere code."""
    stream = context.stream

    def with_words(self):
        try:
            return stream.fget(self)
        except JaxRuntimeError as error:
            code, _, words = str(error).partition(':')
            if words.strip():
                raise
            raise JaxRuntimeError(f'{code}: XLA FFI GPU context is not available: a CPU has no stream') from None

    context.stream = property(with_words, doc=stream.__doc__)


def install() -> None:
    """Once per process."""
    _give_words(buffer_callback.ExecutionContext)
    _serve_callbacks(mlir.ModuleContext)
    _put_operands(jax_callback)
