"""Shapes and lattices in doubles: closest points, balls about points, moments, bands, phases around loops, hops of fields with links."""
import numpy as np
from by_value import Programs, Random

FACTOR = 4096.0
X64 = True
R = Random(4208)
f64 = R.randn


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add

    def c128(*shape):
        return f64(*shape) + 1j * f64(*shape)

    def closest(a, b):
        """The difference of two bodies that is nearest to 0, by steps towards supporting corners."""
        def step(i, v):
            w = a[(a @ -v).argmax()] - b[(b @ v).argmax()]
            return v + jnp.clip((v @ (v - w)) / (((w - v) ** 2).sum() + 1e-12), 0, 1) * (w - v)
        return lax.fori_loop(0, 20, step, a[0] - b[0])
    add('closest_points_of_bodies', jax.vmap(closest), f64(57, 12, 3), f64(57, 12, 3) + 4)

    def ball(x):
        def step(i, c):
            return c + (x[((x - c) ** 2).sum(1).argmax()] - c) / (i + 1)
        return lax.fori_loop(1, 100, step, x[0])
    add('balls_about_points', jax.vmap(ball), f64(23, 51, 3))

    def moments(p):
        x, y = p[..., 0], p[..., 1]
        xn, yn = jnp.roll(x, -1, 1), jnp.roll(y, -1, 1)
        a = x * yn - xn * y
        return jnp.stack([a.sum(1) / 2, ((x + xn) * a).sum(1) / 6, ((y + yn) * a).sum(1) / 6, ((x * x + x * xn + xn * xn) * a).sum(1) / 12])
    add('moments_of_polygons', moments, f64(211, 13, 2))

    def apart(a, b):
        d = jnp.sqrt(((a[:, None] - b) ** 2).sum(-1))
        return jnp.maximum(d.min(1).max(), d.min(0).max())
    add('farthest_from_the_other_set', apart, f64(301, 2), f64(307, 2))

    def bands(k, t):
        def one(k):
            x, y = jnp.exp(1j * k[0]), jnp.exp(1j * k[1])
            return jnp.linalg.eigvalsh(jnp.array([[0, t[0] + t[1] / x, t[2]], [t[0] + t[1] * x, 0, 1 / y], [t[2], y, 1.]]))
        return jax.vmap(one)(k)
    add('bands_of_three_sites', bands, f64(401, 2), R.rand(3))

    add('phases_around_loops', lambda u: jnp.angle(jnp.prod(jnp.sum(jnp.conj(u) * jnp.roll(u, -1, 1), -1), 1)), c128(31, 40, 5))

    def hops(u, links):
        def along(m):
            back = jnp.einsum('xyba,xyb->xya', jnp.conj(jnp.roll(links[m], 1, m)), jnp.roll(u, 1, m))
            return jnp.einsum('xyab,xyb->xya', links[m], jnp.roll(u, -1, m)) - back
        return along(0) + along(1)
    add('hops_without_spin', hops, c128(20, 20, 3), c128(2, 20, 20, 3, 3))
    return P
