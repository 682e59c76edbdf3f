"""The handlers of handlers.cc as JAX functions: register(path of the built library), then call."""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np

_library = None


def register(path: str) -> None:
    global _library
    _library = ctypes.CDLL(path)
    for function in (_library.PlanTypeId, _library.PlanTypeInfo):
        function.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    jax.ffi.register_ffi_type('example_plan', {'type_id': capsule(_library.PlanTypeId(), b'type_id', None),
                                               'type_info': capsule(_library.PlanTypeInfo(), b'type_info', None)}, platform='cpu')
    jax.ffi.register_ffi_target('example_axpy', jax.ffi.pycapsule(_library.Axpy), platform='cpu')
    stages = {stage: jax.ffi.pycapsule(getattr(_library, 'Scale' + stage.capitalize())) for stage in ('instantiate', 'prepare', 'initialize', 'execute')}
    jax.ffi.register_ffi_target('example_scale', stages, platform='cpu')
    for name in ('Later', 'Parallel', 'Throws'):
        jax.ffi.register_ffi_target('example_' + name.lower(), jax.ffi.pycapsule(getattr(_library, name)), platform='cpu')


def axpy(a, x, y):
    return jax.ffi.ffi_call('example_axpy', jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y, a=np.float32(a))


def scale(by, x):
    return jax.ffi.ffi_call('example_scale', jax.ShapeDtypeStruct(x.shape, x.dtype))(x, scale=np.int64(by))


def later(x):
    return jax.ffi.ffi_call('example_later', jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def parallel(x):
    return jax.ffi.ffi_call('example_parallel', jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def throws(x):
    return jax.ffi.ffi_call('example_throws', jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def counts():
    """Plans alive, and calls of the stages instantiate, prepare and initialize so far."""
    numbers = (ctypes.c_int64 * 4)()
    _library.Counts(numbers)
    return list(numbers)
