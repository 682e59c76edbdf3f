"""What files of bench/classes and bench/libraries are written with: programs by name, whose arguments are given as values."""
import types

import ml_dtypes
import numpy as np


class Programs(dict):
    """{name: (function, [zero-argument makers])}."""

    def add(self, name, function, *values):
        """Values are what the function gets; a function among them makes its one when it is asked."""
        if name in self:
            raise ValueError(f'two programs are called {name}')
        self[name] = (function, [v if isinstance(v, types.FunctionType) else (lambda v=v: v) for v in values])


class Random(np.random.RandomState):
    """Arrays of one type: normal numbers, or what the name says."""

    def f32(self, *shape):
        return self.randn(*shape).astype(np.float32)

    def weights(self, *shape):
        """f32 of a layer over the last but one dim, whose sums are about 1."""
        return self.f32(*shape) * np.float32(shape[-2] ** -.5)

    def f16(self, *shape):
        return self.randn(*shape).astype(np.float16)

    def bf16(self, *shape, scale=1):
        return (self.f32(*shape) * np.float32(scale)).astype(ml_dtypes.bfloat16)

    def c64(self, *shape):
        return (self.randn(*shape) + 1j * self.randn(*shape)).astype(np.complex64)

    def share(self, *shape):
        """f32 in [0, 1)."""
        return self.rand(*shape).astype(np.float32)

    def i32(self, high, *shape):
        """Integers in [0, high)."""
        return self.randint(0, high, shape).astype(np.int32)

    def u8(self, *shape):
        return self.randint(0, 256, shape).astype(np.uint8)


class ByShape:
    """Zero-argument makers of JAX's arrays, whose numbers follow from the seed and the shape."""

    def __init__(self, jax, seed):
        self.jax, self.key = jax, jax.random.key(seed)

    def _key(self, number):
        return self.jax.random.fold_in(self.key, number)

    def f32(self, *shape):
        return lambda: self.jax.random.normal(self._key(len(shape) + sum(shape)), shape, np.float32)

    def of(self, dtype, *shape):
        return lambda: self.f32(*shape)().astype(dtype)

    def c64(self, *shape):
        return lambda: self.jax.lax.complex(self.f32(*shape)(), self.jax.random.normal(self._key(sum(shape) + 1), shape, np.float32))

    def between(self, low, high, *shape):
        return lambda: self.jax.random.uniform(self._key(sum(shape)), shape, np.float32, low, high)

    def below(self, high, *shape, dtype=np.int32):
        """Integers in [0, high)."""
        return lambda: self.jax.random.randint(self._key(high), shape, 0, high, np.int32).astype(dtype)

    def flags(self, share, *shape):
        return lambda: self.jax.random.uniform(self._key(7 * sum(shape)), shape) < share
