"""Reductions, windows and scans whose rule is a function of the program: moments, extremes with places, quaternions, permutations, filters in parallel."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4209)
f32 = R.f32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    inf, zero = np.float32(np.inf), np.float32(0)
    none = np.int32(0)

    def moments(x):
        def join(a, b):
            n, d = a[0] + b[0], b[1] - a[1]
            share = jnp.where(n > 0, b[0] / jnp.maximum(n, 1), 0)
            return n, a[1] + d * share, a[2] + b[2] + d * d * a[0] * share
        return lax.reduce((jnp.ones_like(x), x, jnp.zeros_like(x)), (zero, zero, zero), join, (1,))
    add('moments_joined', moments, f32(203, 307))

    def extremes(x):
        def join(a, b):
            return jnp.minimum(a[0], b[0]), jnp.maximum(a[1], b[1]), jnp.where(b[0] < a[0], b[2], a[2])
        return lax.reduce((x, x, lax.broadcasted_iota(jnp.int32, x.shape, 1)), (inf, -inf, none), join, (1,))
    add('extremes_and_a_place', extremes, f32(203, 307))

    def logsumexp(x):
        def join(a, b):
            m = jnp.maximum(a[0], b[0])
            return m, a[1] * jnp.exp(a[0] - m) + b[1] * jnp.exp(b[0] - m)
        return lax.reduce((x, jnp.ones_like(x)), (np.float32(-1e30), zero), join, (0,))
    add('exponentials_with_their_maximum', logsumexp, f32(307, 203))

    def bits(x, y):
        return (lax.reduce(x, np.uint8(0), lax.bitwise_xor, (1,)), lax.reduce(y, np.uint8(255), lax.bitwise_and, (0,)),
                lax.reduce(y, np.uint8(0), lax.bitwise_or, (0,)))
    add('bits_of_rows_and_columns', bits, R.u8(301, 503), R.u8(3, 20011))

    add('products_of_windows', lambda x: lax.reduce_window(x, 1., lax.mul, (1, 7), (1, 1), 'SAME'), f32(203, 307))

    def places(x):
        def join(a, b):
            return jnp.maximum(a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1])
        return lax.reduce_window((x, lax.iota(jnp.int32, 30011)), (-inf, none), join, (9,), (4,), 'VALID')[1]
    add('places_of_maxima_of_windows', places, f32(30011))

    def affine(a, b):
        def then(x, y):
            return y[0] @ x[0], (y[0] @ x[1][..., None])[..., 0] + y[1]
        return lax.associative_scan(then, (a, b))[1]
    add('affine_maps_gradient', jax.grad(lambda *a: (affine(*a) ** 2).sum(), (0, 1)), .5 * f32(201, 2, 2), f32(201, 2))

    def most(a):
        return lax.associative_scan(lambda x, y: (x[..., :, :, None] + y[..., None, :, :]).max(-2), a)
    add('products_of_maxima_and_sums', most, f32(129, 7, 7))

    def turns(q):
        def then(a, b):
            w, x, y, z = (a[..., k] for k in range(4))
            s, t, u, v = (b[..., k] for k in range(4))
            return jnp.stack([w * s - x * t - y * u - z * v, w * t + x * s + y * v - z * u, w * u - x * v + y * s + z * t, w * v + x * u - y * t + z * s], -1)
        return lax.associative_scan(then, q / jnp.linalg.norm(q, axis=-1, keepdims=True))
    add('turns_one_after_another', turns, f32(1003, 4))

    def sums(x, first):
        def then(a, b):
            return jnp.where(b[1], b[0], a[0] + b[0]), a[1] | b[1]
        return lax.associative_scan(then, (x, first), axis=1)[0]
    add('sums_that_start_anew_in_rows', sums, f32(67, 301), R.rand(67, 301) > .9)

    add('permutations_one_after_another', lambda p: lax.associative_scan(lambda a, b: jnp.take_along_axis(b, a, -1), p),
        np.stack([R.permutation(9) for _ in range(257)]).astype(np.int32))

    def filters(a, b, c, e, j):
        """Elements of a filter in parallel: means, covariances and information of stretches, joined."""
        def turned(m):
            return m.swapaxes(-1, -2)

        def then(x, y):
            (a1, b1, c1, e1, j1), (a2, b2, c2, e2, j2) = x, y
            inverse = jnp.linalg.inv(jnp.eye(3) + c1 @ j2)
            ahead, back = a2 @ inverse, turned(inverse @ a1)
            return (ahead @ a1, ahead @ (b1 + c1 @ e2) + b2, ahead @ c1 @ turned(a2) + c2, back @ (e2 - j2 @ b1) + e1, back @ j2 @ a1 + j1)
        return lax.associative_scan(then, (a, b, c, e, j))
    spread = f32(2, 33, 3, 3)
    spread = spread @ spread.swapaxes(-1, -2) / 3
    add('filters_joined', filters, .3 * f32(33, 3, 3), f32(33, 3, 1), spread[0], f32(33, 3, 1), spread[1])
    return P
