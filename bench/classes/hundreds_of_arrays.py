"""Hundreds of small arrays as arguments or results, and hundreds of steps written out: what a program costs by the number of its parts."""
import functools
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4214)
f32, i32 = R.f32, R.i32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add

    # Parameters of a network.
    shapes = [[(3, 3, 16, 16), (16,), (16,), (32, 10), (10,), (7, 5, 3)][k % 6] for k in range(300)]
    sizes = [int(np.prod(s)) for s in shapes]

    def arrays():
        return [f32(*s) for s in shapes]

    def adam(ps, ms, vs, gs):
        ms = [.9 * m + .1 * g for m, g in zip(ms, gs)]
        vs = [.999 * v + .001 * g * g for v, g in zip(vs, gs)]
        return [p - 1e-3 * m / (jnp.sqrt(v) + 1e-3) for p, m, v in zip(ps, ms, vs)], ms, vs
    add('adam_of_300', adam, arrays, arrays, lambda: [abs(a) for a in arrays()], arrays)

    def clipped(gs):
        norm = jnp.sqrt(sum((g * g).sum() for g in gs))
        return [g * jnp.minimum(1., 1 / norm) for g in gs]
    add('clipped_norm_of_300', clipped, arrays)
    add('one_row_of_300', lambda gs: jnp.concatenate([g.ravel() for g in gs]), arrays)

    def split(v):
        return [p.reshape(s) for p, s in zip(jnp.split(v, np.cumsum(sizes)[:-1]), shapes)]
    add('300_of_one_row', split, f32(sum(sizes)))
    add('all_of_300_finite', lambda gs: jnp.stack([jnp.isfinite(g).all() for g in gs]).all(), arrays)
    add('norms_of_300', lambda gs: jnp.stack([jnp.linalg.norm(g) for g in gs]), arrays)
    add('casts_of_300_bf16', lambda gs: [g.astype(jnp.bfloat16) for g in gs], arrays)
    add('averages_of_300', lambda a, b: [.99 * x + .01 * y for x, y in zip(a, b)], arrays, arrays)

    # Parts beside each other.
    add('200_beside_each_other', lambda xs: jnp.concatenate(xs, 1), [f32(31, 1 + k % 5) for k in range(200)])
    add('100_sines_beside_each_other', lambda x: jnp.stack([jnp.sin(x * k) for k in range(100)], -1), f32(503))
    add('sum_of_100_gathers', lambda t, i: sum(t[k][i[:, k]] for k in range(100)), f32(100, 53, 8), i32(53, 301, 100))
    add('branch_of_120', lambda k, x: lax.switch(k, [lambda x, i=i: jnp.sin(x * i) + i for i in range(120)], x), np.int32(77), f32(301))
    add('100_rows_added_to', lambda x, v: functools.reduce(lambda a, k: a.at[(k * 7) % 53].add(v[k]), range(100), x), f32(53, 29), f32(100, 29))
    add('50_rows_written', lambda x, v, i: functools.reduce(lambda a, k: lax.dynamic_update_slice(a, v[k][None] * 2, (i[k], 0)), range(50), x),
        f32(53, 29), f32(50, 29), i32(53, 50))

    # Steps written out.
    def residual(x, ws):
        for w in ws:
            x = x + nn.gelu(nn.standardize(x) @ w) * .1
        return x
    add('100_residual_layers', residual, f32(13, 33), [.2 * f32(33, 33) for _ in range(100)])
    add('60_residual_layers_gradient', jax.grad(lambda ws, x: (residual(x, ws) ** 2).sum()), [.2 * f32(33, 33) for _ in range(60)], f32(13, 33))

    def recurrent(w, u, x):
        h = jnp.zeros((x.shape[1], 19))
        for t in range(x.shape[0]):
            h = jnp.tanh(x[t] @ w + h @ u)
        return h
    add('100_recurrent_steps', recurrent, f32(5, 19), .2 * f32(19, 19), f32(100, 7, 5))
    add('50_recurrent_steps_gradient', jax.grad(lambda *a: (recurrent(*a) ** 2).sum(), (0, 1)), f32(5, 19), .2 * f32(19, 19), f32(50, 7, 5))

    def edit_distance(c):
        """Of two words by all of its cells, as scalars."""
        n, m = c.shape
        r = [jnp.float32(i) for i in range(m + 1)]
        for i in range(n):
            below = [jnp.float32(i + 1)]
            for j in range(m):
                below.append(jnp.minimum(jnp.minimum(below[j], r[j + 1]) + 1, r[j] + c[i, j]))
            r = below
        return r[-1]
    add('edit_distances_by_cells', jax.vmap(edit_distance), (R.rand(503, 12, 12) > .3).astype(np.float32))
    add('edit_distances_by_cells_gradient', jax.grad(lambda c: jax.vmap(edit_distance)(c).sum()), R.share(53, 5, 6))

    def network_of_16(x):
        xs, k = [x[:, i] for i in range(16)], 2
        while k <= 16:
            j = k // 2
            while j:
                for i in range(16):
                    o = i ^ j
                    if o > i:
                        a, b = jnp.minimum(xs[i], xs[o]), jnp.maximum(xs[i], xs[o])
                        xs[i], xs[o] = (a, b) if i & k == 0 else (b, a)
                j //= 2
            k *= 2
        return jnp.stack(xs, 1)
    add('columns_through_a_sorting_network', network_of_16, f32(4003, 16))
    add('polynomial_of_degree_200', lambda x, c: functools.reduce(lambda a, k: a * x + c[k], range(200), jnp.zeros_like(x)), .1 * f32(5003), f32(200))

    def derivatives(x):
        f = lambda x: jnp.sin(x) * jnp.exp(-x * x) / (1 + x * x)
        return [jax.vmap(functools.reduce(lambda g, _: jax.grad(g), range(k), f))(x) for k in range(6)]
    add('five_derivatives', derivatives, f32(301))
    return P
