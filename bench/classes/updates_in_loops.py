"""Loops that change a part of an array into something made of that part: painting, overlap-add, blending tiles, rows scaled one by one, tables built up."""
from by_value import ByShape


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    make = ByShape(jax, 53)
    f32, below = make.f32, make.below

    def rows_scaled(x):
        return lax.fori_loop(0, x.shape[0], lambda i, s: s.at[i].set(s[i] * 2 + 1), x)

    def overlap_add(frames, hop=96):
        def add(i, out):
            piece = lax.dynamic_slice(out, (i * hop,), (frames.shape[1],))
            return lax.dynamic_update_slice(out, piece + frames[i], (i * hop,))
        return lax.fori_loop(0, frames.shape[0], add, jnp.zeros((frames.shape[0] - 1) * hop + frames.shape[1]))

    def squares_painted(picture, at, colours):
        def paint(i, picture):
            patch = lax.dynamic_slice(picture, (at[i, 0], at[i, 1]), (16, 16))
            y, x = jnp.mgrid[:16, :16]
            disc = (y - 8) ** 2 + (x - 8) ** 2 < 50
            return lax.dynamic_update_slice(picture, jnp.where(disc, .5 * patch + .5 * colours[i], patch), (at[i, 0], at[i, 1]))
        return lax.fori_loop(0, at.shape[0], paint, picture)

    def tiles_blended(sums, weights, tiles, at):
        def step(carry, tile):
            sums, weights = carry
            values, (y, x) = tile
            ramp = jnp.minimum(jnp.arange(1., 25.), jnp.arange(24., 0., -1.))
            window = ramp[:, None] * ramp
            old = lax.dynamic_slice(sums, (y, x), (24, 24))
            seen = lax.dynamic_slice(weights, (y, x), (24, 24))
            return (lax.dynamic_update_slice(sums, old + window * values, (y, x)), lax.dynamic_update_slice(weights, seen + window, (y, x))), None
        (sums, weights), _ = lax.scan(step, (sums, weights), (tiles, (at[:, 0], at[:, 1])))
        return sums / jnp.maximum(weights, 1e-6)

    def polynomial_product(a, b):
        n = a.shape[1]
        def step(i, out):
            part = lax.dynamic_slice(out, (0, i), (a.shape[0], n))
            return lax.dynamic_update_slice(out, (part + a[:, i, None] * b) % 3329, (0, i))
        return lax.fori_loop(0, n, step, jnp.zeros((a.shape[0], 2 * n), jnp.int32))

    def columns_normalised(x):
        """Gram-Schmidt, column by column of a matrix that lies in rows."""
        def step(i, q):
            v = q[i]
            before = jnp.where(jnp.arange(q.shape[0])[:, None] < i, q, 0)
            v = v - before.T @ (before @ v)
            return q.at[i].set(v / jnp.sqrt((v * v).sum() + 1e-9))
        return lax.fori_loop(0, x.shape[0], step, x)

    def counters(table, places):
        return lax.fori_loop(0, places.shape[0], lambda i, t: t.at[places[i]].set((t[places[i]] * 5 + 1) % 251), table)

    def two_halves(x):
        n = x.shape[0] // 2
        def step(i, s):
            a, b = lax.dynamic_slice(s, (i * 8,), (8,)), lax.dynamic_slice(s, (n + i * 8,), (8,))
            s = lax.dynamic_update_slice(s, a + b, (i * 8,))
            return lax.dynamic_update_slice(s, a - b, (n + i * 8,))
        return lax.fori_loop(0, n // 8, step, x)

    def last_of_each(x):
        """A state that is kept as well as changed: the old one must stay as it was."""
        def step(s, i):
            new = s.at[i].set(s[i] * .5 + 1)
            return new, (s[i], new[(i + 1) % s.shape[0]])
        return lax.scan(step, x, jnp.arange(x.shape[0]) * 7 % x.shape[0])

    def votes_weighed_again(of, weight):
        def again(i, bins):
            return jnp.tanh(bins * .1).at[of].add(weight)
        return lax.fori_loop(0, 12, again, jnp.zeros(24))

    def springs_pull_nodes(x, a, b):
        def step(i, x):
            force = jnp.zeros_like(x).at[a].add(x[b] - x[a])
            return x + .01 * force
        return lax.fori_loop(0, 20, step, x)

    return {
        'rows_scaled': (rows_scaled, [f32(503, 233)]),
        'overlap_add': (overlap_add, [f32(150, 256)]),
        'squares_painted': (squares_painted, [f32(300, 400), below(280, 120, 2), f32(120)]),
        'tiles_blended': (tiles_blended, [f32(256, 256), f32(256, 256), f32(80, 24, 24), below(230, 80, 2)]),
        'polynomial_product': (polynomial_product, [below(3329, 17, 256), below(3329, 17, 256)]),
        'columns_normalised': (columns_normalised, [f32(60, 100)]),
        'counters': (counters, [below(251, 4096), below(4096, 5000)]),
        'two_halves': (two_halves, [f32(8192)]),
        'votes_weighed_again': (votes_weighed_again, [below(24, 20000), f32(20000)]),
        'springs_pull_nodes': (springs_pull_nodes, [f32(500), below(500, 3000), below(500, 3000)]),
        'last_of_each': (last_of_each, [f32(300, 41)]),
    }
