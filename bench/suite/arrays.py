"""Arguments of programs: each function here returns a maker, which draws an array (NumPy, or ml_dtypes') from a generator.

Makers run in the child processes, with a generator seeded by the program's name, so that both backends get the same values.
"""
import ml_dtypes
import numpy as np


def f32(*shape, scale=1.0):
    return lambda rng: (rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)).reshape(shape)


def typed(dtype, *shape, scale=1.0):
    """Normal numbers rounded to any float dtype, by name ('bfloat16', 'float16', 'float8_e4m3fn')."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    return lambda rng: (rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)).reshape(shape).astype(kind)


def bf16(*shape, scale=1.0):
    return typed('bfloat16', *shape, scale=scale)


def f16(*shape, scale=1.0):
    return typed('float16', *shape, scale=scale)


def positive(*shape, low=0.1, high=1.0):
    return lambda rng: rng.uniform(low, high, shape).astype(np.float32)


def c64(*shape):
    return lambda rng: (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


def integers(dtype, low, high, *shape):
    return lambda rng: np.asarray(rng.integers(low, high, shape, dtype=np.int64)).astype(dtype)


def i32(high, *shape):
    """Integers in [0, high)."""
    return integers(np.int32, 0, high, *shape)


def u32(*shape):
    return integers(np.uint32, 0, 1 << 32, *shape)


def i8(*shape):
    return integers(np.int8, -127, 128, *shape)


def u8(*shape):
    return integers(np.uint8, 0, 256, *shape)


def flags(*shape, share=0.5):
    return lambda rng: rng.random(shape) < share


def increasing(high, n):
    """n sorted integers in [0, high)."""
    return lambda rng: np.sort(rng.integers(0, high, n)).astype(np.int32)


def permutation(n):
    return lambda rng: rng.permutation(n).astype(np.int32)


def positive_definite(*shape):
    """Matrices [..., n, n] with eigenvalues in about [1, 5]."""
    def make(rng):
        a = rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[-1]))
        return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1], dtype=np.float32)
    return make


def well_conditioned(*shape):
    """Matrices [..., n, n] near 2 I."""
    return lambda rng: (rng.standard_normal(shape, dtype=np.float32) * np.float32(0.5 / np.sqrt(shape[-1]))
                        + 2 * np.eye(shape[-1], dtype=np.float32))


def key():
    """The data of a threefry key."""
    return lambda rng: np.array([0, 42], np.uint32)


def value(v):
    """A value as it is, or a tree of values."""
    return lambda rng: v


def tree(**makers):
    return lambda rng: {name: make(rng) for name, make in makers.items()}


def many(*makers):
    return lambda rng: [make(rng) for make in makers]
