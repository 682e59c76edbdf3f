"""Arguments and weights from numpy, for programs of libraries: the shapes are those that a library's initializers give, the numbers the same everywhere."""
import numpy as np


def kit(jax, programs):
    """(random state, normal f32, uniform f32, int32, fill a tree, weights of a flax module, of a haiku transform, an optimizer's state, add a program, run a section)"""
    random = np.random.RandomState(7)

    def normal(*shape, k=1.0):
        return (random.randn(*shape) * k).astype(np.float32)

    def uniform(*shape, lo=0., hi=1.):
        return random.uniform(lo, hi, shape).astype(np.float32)

    def integers(high, *shape):
        return random.randint(0, high, shape).astype(np.int32)

    def filled(path, leaf):
        name, shape = jax.tree_util.keystr(path).lower(), leaf.shape
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return leaf
        if leaf.dtype.kind in 'iub':
            return np.zeros(shape, leaf.dtype)
        if 'var' in name.split("'")[-2:][0] or 'scale' in name:
            numbers = 1 + .1 * np.abs(random.randn(*shape))
        elif len(shape) < 2:
            numbers = .05 * random.randn(*shape)
        else:
            numbers = random.randn(*shape) / np.sqrt(max(1, np.prod(shape[:-1])))
        return np.asarray(numbers).astype(leaf.dtype)

    def fill(tree):
        return jax.tree_util.tree_map_with_path(filled, tree)

    def flax_weights(module, *a, **k):
        keys = lambda: {'params': jax.random.key(0), 'dropout': jax.random.key(1), 'sample': jax.random.key(2)}
        return fill(jax.eval_shape(lambda: module.init(keys(), *a, **k)))

    def haiku_weights(module, *a):
        return fill(jax.eval_shape(lambda: module.init(jax.random.key(0), *a)))

    def zeros(optimizer, weights):
        return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.eval_shape(optimizer.init, weights))

    def add(name, function, *arguments):
        programs[name] = (function, [(lambda a=a: a) for a in arguments])

    def section(function):
        function()

    return random, normal, uniform, integers, fill, flax_weights, haiku_weights, zeros, add, section
