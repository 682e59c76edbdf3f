"""Python functions that write into results."""

from helpers import run


def test_buffer_callbacks_work_in_place():
    # The callback writes one element of a result that starts as its operand.
    result = run('''
import jax, numpy as np, jax.numpy as jnp
from jax.experimental import buffer_callback
same = []

def put(ctx, out, arg):
    same.append(np.asarray(arg).ctypes.data == np.asarray(out).ctypes.data)
    np.asarray(out)[1] = 7

f = jax.jit(lambda v: buffer_callback.buffer_callback(put, jax.ShapeDtypeStruct.like(v), input_output_aliases={0: 0})(v + 1) + v)
give([np.asarray(f(jnp.arange(4.0))).tolist(), same])
''').result
    assert result == [[1.0, 8.0, 5.0, 7.0], [True]]


def test_what_a_cpu_lacks_is_an_error_in_buffer_callbacks():
    result = run('''
import jax, numpy as np, jax.numpy as jnp
from jax.experimental import buffer_callback
errors = []

def ask(ctx, out, arg):
    try:
        ctx.stream
    except Exception as e:
        errors.append(type(e).__name__ + " " + str(e))
    np.asarray(out)[...] = np.asarray(arg)

f = buffer_callback.buffer_callback(ask, jax.ShapeDtypeStruct((4,), np.float32))
give([np.asarray(f(jnp.ones(4))).tolist(), errors])
''').result
    assert result == [[1.0] * 4, ["JaxRuntimeError UNIMPLEMENTED: XLA FFI GPU context is not available: a CPU has no stream"]]
