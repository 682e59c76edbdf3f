"""What files of bench/classes and bench/libraries are written with: programs by name, whose arguments are given as values."""
import types

import numpy as np


class Programs(dict):
    """{name: (function, [zero-argument makers])}."""

    def add(self, name, function, *values):
        """Values are what the function gets; a function among them makes its one when it is asked."""
        if name in self:
            raise ValueError(f'two programs are called {name}')
        self[name] = (function, [v if isinstance(v, types.FunctionType) else (lambda v=v: v) for v in values])


class Random(np.random.RandomState):
    def f32(self, *shape):
        return self.randn(*shape).astype(np.float32)

    def i32(self, high, *shape):
        """Integers in [0, high)."""
        return self.randint(0, high, shape).astype(np.int32)

    def u8(self, *shape):
        return self.randint(0, 256, shape).astype(np.uint8)
