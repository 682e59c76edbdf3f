"""States of many dims of extent 2 through chains of small steps: permutations, and products with matrices of 2 or 4 rows along some of the dims."""
import numpy as np

from by_value import Programs, Random


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    R = Random(0)
    P = Programs()
    add = P.add
    f32 = R.f32

    def c64(*shape):
        return (R.randn(*shape) + 1j * R.randn(*shape)).astype(np.complex64)

    def flip_if(x, c, d):
        """Turns dim d around where dim c is at 1."""
        low, high = lax.index_in_dim(x, 0, c, keepdims=False), lax.index_in_dim(x, 1, c, keepdims=False)
        return jnp.stack([low, jnp.roll(high, 1, d - (d > c))], axis=c)

    def flips(count):
        def f(x):
            for i in range(count):
                x = flip_if(x, i % 6, (i + 1) % 6)
            return x
        return f

    def of_one(x, g, d):
        return jnp.moveaxis(jnp.tensordot(g, x, ((1,), (d,))), 0, d)

    def of_two(x, g, a, b):
        return jnp.moveaxis(jnp.tensordot(g, x, ((2, 3), (a, b))), (0, 1), (a, b))

    def ones(count):
        def f(g, x):
            for i in range(count):
                x = of_one(x, g, i % 6)
            return x
        return f

    def twos(count):
        def f(g, x):
            for i in range(count):
                x = of_two(x, g, i % 4, (i + 1) % 4)
            return x
        return f

    for name, values in (('c64', c64), ('f32', f32)):
        add('flips_3_' + name, flips(3), values(2, 2, 2, 2, 2, 2, 16))
        add('flips_6_' + name, flips(6), values(2, 2, 2, 2, 2, 2, 16))
        add('twos_4_' + name, jax.vmap(twos(4), (None, 0)), values(2, 2, 2, 2) * 0.4, values(16, 2, 2, 2, 2))
        add('twos_8_' + name, jax.vmap(twos(8), (None, 0)), values(2, 2, 2, 2) * 0.4, values(16, 2, 2, 2, 2))
        add('ones_16_' + name, ones(16), values(2, 2) * 0.6, values(2, 2, 2, 2, 2, 2))
        loss = lambda g, x: jnp.sum(jnp.abs(jax.vmap(ones(12), (None, 0))(g, x)) ** 2)
        add('ones_gradient_' + name, jax.grad(loss), values(2, 2) * 0.6, values(8, 2, 2, 2, 2, 2, 2))
    return P
