"""Scans unrolled, nested, with bytes, flags and dictionaries carried, with windows of the past; their derivatives, and rules of derivatives by hand."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4212)
f32, i32 = R.f32, R.i32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add
    scan, zeros = lax.scan, jnp.zeros

    add('unrolled_by_8', lambda x: scan(lambda c, x: (jnp.tanh(c * .9 + x), c), zeros(17), x, unroll=8), f32(1003, 17))

    def hashed(x):
        return scan(lambda c, x: ((c * 5 + x.astype(jnp.uint32)) & 0xffff, (c >> 3).astype(jnp.uint8)), zeros(5, jnp.uint32), x)
    add('bytes_given_out', hashed, R.u8(2003, 5))

    def held(x):
        return scan(lambda c, x: (jnp.where(x > 1, True, jnp.where(x < -1, False, c)), c), zeros(13, bool), x)[1]
    add('flags_carried', held, f32(2003, 13))

    def dictionary(xs):
        def step(c, x):
            return {k: v * .9 + x[i] for i, (k, v) in enumerate(c.items())}, sum(c.values())
        return scan(step, {f'k{i:02}': zeros(3) for i in range(12)}, xs)
    add('dictionary_of_twelve_carried', dictionary, f32(501, 12, 3))

    def last_eleven(x):
        def step(c, x):
            c = jnp.concatenate([c[1:], x[None]])
            return c, (jnp.median(c), c.max() - c.min(), jnp.polyfit(jnp.arange(11.), c, 1)[0])
        return scan(step, zeros(11), x)[1]
    add('last_eleven_fitted', last_eleven, f32(501))

    def preferences(table, chosen):
        def step(t, a):
            p = nn.softmax(t[a])
            return t.at[a].add(.1 * (jnp.eye(9)[(a * 7) % 9] - p)), p.max()
        return scan(step, table, chosen)
    add('table_of_preferences_learned', preferences, f32(23, 9), i32(23, 500))

    add('mapped_by_sixteen', lambda x, w: lax.map(lambda x: jnp.tanh(x @ w).sum(), x, batch_size=16), f32(203, 31), f32(31, 67))

    def smeared(f):
        def row(up, row):
            out = scan(lambda left, x: (f(.4 * left + .4 * x[0] + .2 * x[1]),) * 2, 0., (up, row))[1]
            return out, out
        return lambda image: scan(row, zeros(image.shape[1]), image)[1]
    add('rows_of_pixels_in_order', smeared(lambda v: v), f32(61, 83))
    add('rows_of_pixels_in_order_gradient', jax.grad(lambda image: (smeared(jnp.tanh)(image) ** 2).sum()), f32(61, 83))

    def chunks(w, x):
        def chunk(c, x):
            return scan(lambda c, x: (jnp.tanh(c @ w + x), None), c, x)[0], None
        return (scan(jax.checkpoint(chunk), zeros(23), x)[0] ** 2).sum()
    add('recomputed_chunks_gradient', jax.grad(chunks), .2 * f32(23, 23), f32(17, 19, 23))

    def cells(p, x):
        return (scan(lambda c, x: (jnp.tanh(c * p[:5] + x * p[5:]), None), zeros(5), x)[0] ** 2).sum()
    add('cells_hessian', jax.hessian(cells), .5 * f32(10), f32(31, 5))

    def sines(x):
        return lax.while_loop(lambda s: s[1] < 40, lambda s: (jnp.sin(s[0]) * 1.1 + .1 * s[0][::-1], s[1] + 1), (x, 0))[0]
    add('while_forward_derivative', lambda x, t: jax.jvp(sines, (x,), (t,)), f32(61), f32(61))

    # Derivatives by hand.
    def square_root(a):
        def iterate(f, x):
            return lax.fori_loop(0, 12, lambda i, x: .5 * (x + jnp.linalg.solve(x, a)), x)

        def tangent(g, y):
            return jnp.linalg.solve(jax.jacobian(g)(y).reshape(49, 49), y.reshape(-1)).reshape(7, 7)
        return lax.custom_root(lambda x: x @ x - a, jnp.eye(7), iterate, tangent)
    add('square_root_implicit_gradient', jax.grad(lambda a: square_root(a @ a.T + jnp.eye(7)).sum()), .3 * f32(7, 7))

    def ring(b, d):
        def matrix(x):
            return d * x + .2 * (jnp.roll(x, 1) + jnp.roll(x, -1))

        def solve(mv, b):
            return jax.scipy.sparse.linalg.cg(mv, b, maxiter=20)[0]
        return (lax.custom_linear_solve(matrix, b, solve, symmetric=True) ** 2).sum()
    add('ring_solved_implicit_gradient', jax.grad(ring, (0, 1)), f32(203), np.abs(f32(203)) + 1)

    @jax.custom_vjp
    def eighths(x):
        return jnp.round(x * 8) / 8
    eighths.defvjp(lambda x: (eighths(x), jnp.abs(x) < 1), lambda inside, g: (g * inside,))

    def rounded(w, x):
        return ((nn.relu(eighths(x) @ eighths(w)) @ eighths(w.T)) ** 2).mean()
    add('rounded_straight_through_gradient', jax.grad(rounded), .3 * f32(37, 53), f32(101, 37))
    return P
