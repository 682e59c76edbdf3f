"""Weights and states of libraries from numpy: the shapes are those that a library's initializers give, the numbers the same everywhere."""
import numpy as np
from by_value import Random


class Weights(Random):
    def __init__(self, jax, seed):
        super().__init__(seed)
        self.jax = jax

    def f32(self, *shape, k=1.0):
        return (self.randn(*shape) * k).astype(np.float32)

    def uniform_f32(self, *shape, lo=0., hi=1.):
        return self.uniform(lo, hi, shape).astype(np.float32)

    def fill(self, tree):
        """Numbers for arrays of these shapes: scales and variances near 1, biases near 0, products of about their operand's size."""
        return self.jax.tree_util.tree_map_with_path(self._filled, tree)

    def flax(self, module, *a, **k):
        key = self.jax.random.key
        return self.fill(self.jax.eval_shape(lambda: module.init({'params': key(0), 'dropout': key(1), 'sample': key(2)}, *a, **k)))

    def haiku(self, transform, *a):
        return self.fill(self.jax.eval_shape(lambda: transform.init(self.jax.random.key(0), *a)))

    def zeros(self, optimizer, weights):
        return self.jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), self.jax.eval_shape(optimizer.init, weights))

    def _filled(self, path, leaf):
        name, shape = self.jax.tree_util.keystr(path).lower(), leaf.shape
        if self.jax.dtypes.issubdtype(leaf.dtype, self.jax.dtypes.prng_key):
            return leaf
        if leaf.dtype.kind in 'iub':
            return np.zeros(shape, leaf.dtype)
        if 'var' in name.split("'")[-2:][0] or 'scale' in name:
            numbers = 1 + .1 * np.abs(self.randn(*shape))
        elif len(shape) < 2:
            numbers = .05 * self.randn(*shape)
        else:
            numbers = self.randn(*shape) / np.sqrt(max(1, np.prod(shape[:-1])))
        return np.asarray(numbers).astype(leaf.dtype)


def section(function):
    """Runs it at once: a scope for what a few programs share."""
    function()
