"""What jaxlib's handlers of Python callbacks expect of their host.

Results reach jaxlib in row-major order on the CPU: its handler transposes those of any other layout with a cache that the first stage of the handler
makes. That stage is not among those that jaxlib hands to plugins, and without the cache such a result ends the process.

Buffer callbacks that ask for the stream, which a CPU lacks, are told so: jaxlib reads the code of a plugin's error there, and no words.
"""

import numpy as np
from jax._src import buffer_callback
from jax._src import callback as jax_callback
from jax._src import dtypes
from jax.errors import JaxRuntimeError
from jax.interpreters import mlir


def _row_major(result) -> np.ndarray:
    """`result` with the strides that jaxlib expects; numpy calls other ones C-contiguous too where an extent is 0 or 1."""
    array = dtypes.canonicalize_value(np.asarray(result))
    strides = tuple(array.itemsize * int(np.prod(array.shape[i + 1:])) for i in range(array.ndim))
    if array.strides == strides:
        return array
    # With memory of its own numpy would choose the strides.
    copy = np.ndarray(array.shape, array.dtype, buffer=np.empty(max(array.size, 1), array.dtype), strides=strides)
    copy[...] = array
    return copy


def _lowering_of(jax_lowering):
    def lower(ctx, *args, callback, **params):
        return jax_lowering(ctx, *args, callback=lambda *operands: [_row_major(r) for r in callback(*operands)], **params)

    return lower


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
    """Registers the CPU's lowerings of the callbacks that have results."""
    _give_words(buffer_callback.ExecutionContext)
    for primitive, lowering in (
        (jax_callback.pure_callback_p, jax_callback.pure_callback_lowering),
        (jax_callback.io_callback_p, jax_callback.io_callback_lowering),
    ):
        mlir.register_lowering(primitive, _lowering_of(lowering), cacheable=False, platform='cpu')
