"""Loops that end on their own for many at once, branches of unlike work in loops and over batches, paths in graphs."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4211)
f32, i32 = R.f32, R.i32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add

    def newton(z):
        def step(s):
            z, n = s
            return z - (z ** 3 - 1) / (3 * z ** 2 + 1e-9), n + 1
        return lax.while_loop(lambda s: (jnp.abs(s[0] ** 3 - 1) > 1e-3) & (s[1] < 50), step, (z, 0))[0]
    add('cube_roots_of_one_until_close', jax.vmap(newton), (1 + .5 * R.c64(2003)).astype(np.complex64))

    def trace(origin, direction):
        def distance(p):
            box = jnp.linalg.norm(jnp.maximum(jnp.abs(p - jnp.array([1.5, 0, 0])) - .5, 0))
            return jnp.minimum(jnp.linalg.norm(p) - 1, jnp.minimum(p[1] + 1, box))

        def step(s):
            return s[0] + distance(origin + s[0] * direction), s[1] + 1
        t = lax.while_loop(lambda s: (distance(origin + s[0] * direction) > 1e-3) & (s[0] < 30) & (s[1] < 64), step, (0., 0))[0]
        return t, distance(origin + t * direction)
    directions = f32(1501, 3) + np.array([0, 0, 3], np.float32)
    add('rays_until_they_hit', jax.vmap(trace, (None, 0)), np.array([0, 0, -4], np.float32), directions / np.linalg.norm(directions, axis=1, keepdims=True))

    def secant(a):
        def f(x):
            return jnp.cos(x) - a * x

        def step(s):
            x, y, n = s
            return y, y - f(y) * (y - x) / (f(y) - f(x) + 1e-12), n + 1
        return lax.while_loop(lambda s: (jnp.abs(s[0] - s[1]) > 1e-4) & (s[2] < 30), step, (0., 1., 0))[1]
    add('roots_by_secants_until_close', jax.vmap(secant), np.abs(f32(3001)) + np.float32(.2))

    def breadth(near):
        def step(s):
            level, edge, n = s
            new = (near & edge[:, None]).any(0) & (level < 0)
            return jnp.where(new, n + 1, level), new, n + 1
        first = jnp.arange(101) == 0
        return lax.while_loop(lambda s: s[1].any(), step, (jnp.where(first, 0, -1), first, 0))[0]
    add('breadth_first_of_many', jax.vmap(breadth), R.rand(17, 101, 101) < .03)

    def nearest_first(w):
        def step(s, _):
            d, done = s
            i = jnp.where(done, jnp.inf, d).argmin()
            return (jnp.minimum(d, d[i] + w[i]), done.at[i].set(True)), i
        return lax.scan(step, (jnp.full(67, jnp.inf).at[0].set(0), jnp.zeros(67, bool)), None, length=67)[0][0]
    add('nearest_first_of_many', jax.vmap(nearest_first), np.where(R.rand(13, 67, 67) < .2, R.rand(13, 67, 67), np.inf).astype(np.float32))

    def paths(w):
        def by(k, s):
            d, before = s
            c = d[:, k][:, None] + d[k]
            return jnp.minimum(d, c), jnp.where(c < d, before[:, k][:, None], before)
        return lax.fori_loop(0, 83, by, (w, jnp.tile(jnp.arange(83), (83, 1)).T))
    add('ways_with_what_lies_on_them', paths, 9 * R.share(83, 83))

    unlike = [jnp.tanh, jnp.sort, jnp.cumsum, lambda x: x[::-1] * 2, lambda x: jnp.fft.rfft(x).real.repeat(2)[:37], lambda x: x - x.mean()]

    def one_after_another(start, which, xs):
        def step(c, x):
            c = lax.switch(x[0], unlike, c)
            return c / (1 + jnp.abs(c).max()) + x[1], c.sum()
        return lax.scan(step, start, (which, xs))
    add('switch_of_unlike_branches', one_after_another, f32(37), i32(6, 100), .3 * f32(100, 37))
    add('switch_of_unlike_branches_of_each', jax.vmap(lambda x, k: lax.switch(k, unlike, x)), f32(203, 37), i32(6, 203))

    layers = [lambda x, w: jnp.tanh(x @ w), lambda x, w: nn.relu(x @ w.T), lambda x, w: x]

    def layers_by_choice(w, x, k):
        return (lax.scan(lambda x, k: (lax.switch(k, layers, x, w), None), x, k)[0] ** 2).sum()
    add('switch_of_layers_gradient', jax.grad(layers_by_choice), .2 * f32(29, 29), f32(7, 29), i32(3, 40))

    def now_and_then(x, a, m):
        return lax.scan(lambda x, m: (lax.cond(m, lambda x: jnp.linalg.solve(a, x), jnp.cos, x), None), x, m)[0]
    add('solves_now_and_then', now_and_then, f32(31), f32(31, 31) + 9 * np.eye(31, dtype=np.float32), R.rand(200) < .1)
    add('solves_or_products', jax.vmap(lambda p, a, b: lax.cond(p, lambda: jnp.linalg.solve(a, b), lambda: a @ b)),
        R.rand(67) > .5, f32(67, 5, 5) + 3 * np.eye(5, dtype=np.float32), f32(67, 5))
    return P
