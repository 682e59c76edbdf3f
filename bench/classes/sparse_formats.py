"""Sparse matrices by hand in the formats of textbooks, on rows of unequal lengths, and finite elements that are gathered, multiplied and added where they share nodes."""
import numpy as np
from by_value import Programs, Random

FACTOR = 1024.0


def programs(jax):
    from jax.experimental import sparse
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(17)
    add, f32, i32 = P.add, R.f32, R.i32
    n, m = 1009, 7001
    rows, cols, vals = np.sort(i32(n, m)), i32(n, m), f32(m)
    starts = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
    x, xs = f32(n), f32(n, 17)
    segment = jax.ops.segment_sum

    add('coordinates', lambda r, c, v, x: segment(v * x[c], r, n), rows, cols, vals, x)
    add('coordinates_in_order', lambda r, c, v, x: segment(v * x[c], r, n, indices_are_sorted=True), rows, cols, vals, x)
    add('coordinates_turned', lambda r, c, v, x: segment(v * x[r], c, n), rows, cols, vals, x)
    add('coordinates_by_rows', lambda r, c, v, x: segment(v[:, None] * x[c], r, n), rows, cols, vals, xs)
    add('coordinates_gradient', lambda r, c, v, x, y: jax.grad(lambda v, x: (segment(v * x[c], r, n) * y).sum(), (0, 1))(v, x), rows, cols, vals, x, f32(n))
    add('rows_by_their_starts', lambda s, c, v, x: (lambda t: t[s[1:]] - t[s[:-1]])(jnp.concatenate([jnp.zeros(1), jnp.cumsum(v * x[c])])), starts, cols, vals, x)
    add('rows_found_by_halves', lambda s, c, v, x: segment(v * x[c], jnp.searchsorted(s, jnp.arange(m), side='right') - 1, n), starts, cols, vals, x)
    add('rows_by_repeats', lambda s, c, v, x: segment(v * x[c], jnp.repeat(jnp.arange(n), jnp.diff(s), total_repeat_length=m), n), starts, cols, vals, x)
    add('equal_rows', lambda c, v, x: (v * x[c]).sum(1), i32(n, n, 9), f32(n, 9), x)
    add('equal_rows_turned', lambda c, v, x: (v * x[c]).sum(0), i32(n, 9, n), f32(9, n), x)
    add('equal_rows_of_many', lambda c, v, x: jnp.einsum('ik,ikj->ij', v, x[c]), i32(n, n, 9), f32(n, 9), xs)
    add('equal_rows_bf16', lambda c, v, x: (v * x[c]).sum(1), i32(n, n, 9), R.bf16(n, 9), R.bf16(n))
    add('diagonals', lambda v, x: sum(v[k] * jnp.roll(x, -o) for k, o in enumerate((-31, -1, 0, 1, 31))), f32(5, n), x)
    add('diagonals_padded', lambda v, x: (lambda p: sum(v[k] * lax.dynamic_slice(p, (40 + o,), (n,)) for k, o in enumerate((-31, -1, 0, 1, 31))))(jnp.pad(x, 40)), f32(5, n), x)
    add('blocks_of_3', lambda r, c, v, x: segment(jnp.einsum('bij,bj->bi', v, x.reshape(-1, 3)[c]), r, 300).ravel(), i32(300, 2001), i32(300, 2001), f32(2001, 3, 3), f32(900))
    add('blocks_of_8', lambda r, c, v, x: segment(jnp.einsum('bij,bjk->bik', v, x.reshape(-1, 8, 5)[c]), r, 60), i32(60, 301), i32(60, 301), f32(301, 8, 8), f32(480, 5))
    add('products_at_places', lambda r, c, a, b: (a[r] * b[c]).sum(1), rows, cols, f32(n, 16), f32(n, 16))
    add('products_at_places_softmaxed', lambda r, c, a, b, v: (lambda e: segment(e[:, None] * v[c], r, n) / (segment(e, r, n)[:, None] + 1e-9))(jnp.exp(jnp.tanh((a[r] * b[c]).sum(1)))), rows, cols, f32(n, 16), f32(n, 16), f32(n, 16))
    add('heads_over_edges', lambda r, c, q, k, v: (lambda s: (lambda e: segment(e[..., None] * v[c], r, n))(jnp.exp(s - jax.ops.segment_max(s, r, n)[r])))((q[r] * k[c]).sum(-1)), rows, cols, f32(n, 3, 8), f32(n, 3, 8), f32(n, 3, 8))
    add('opened_out', lambda r, c, v: jnp.zeros((n, 301)).at[r, c % 301].add(v), rows, cols, vals)
    add('both_sparse', lambda r, c, v, d: segment(v[:, None] * d[c], r, n), rows, cols, vals, f32(n, 64) * (R.rand(n, 64) < .1))
    add('jacobi_of_coordinates', lambda r, c, v, b: lax.fori_loop(0, 10, lambda _, x: (b - segment(v * x[c], r, n)) / 30, jnp.zeros(n)), rows, cols, vals, x)
    add('ranks_of_pages', lambda r, c, b: lax.fori_loop(0, 10, lambda _, x: .15 / n + .85 * segment((x / (segment(jnp.ones(m), c, n) + 1))[c], r, n), b), rows, cols, np.full(n, 1 / n, np.float32))
    add('bcoo', lambda r, c, v, x: sparse.BCOO((v, jnp.stack([r, c], 1)), shape=(n, n)) @ x, rows, cols, vals, xs)
    add('bcoo_turned', lambda r, c, v, x: sparse.BCOO((v, jnp.stack([r, c], 1)), shape=(n, n)).T @ x, rows, cols, vals, x)
    add('bcoo_times_bcoo', lambda r, c, v, w: (sparse.BCOO((v[:300], jnp.stack([r[:300] % 50, c[:300] % 50], 1)), shape=(50, 50)) @ sparse.BCOO((w[:200], jnp.stack([c[:200] % 50, r[:200] % 50], 1)), shape=(50, 50))).todense(), rows, cols, vals, vals)
    add('bcsr', lambda s, c, v, x: sparse.BCSR((v, c, s), shape=(n, n)) @ x, starts, cols, vals, xs)
    add('dense_to_coordinates', lambda a: (lambda s: (s.data, s.indices))(sparse.BCOO.fromdense(a, nse=700)), (f32(80, 81) * (R.rand(80, 81) < .1)))

    # Finite elements: squares of 4 nodes, cubes of 8, tetrahedra.
    side = 24
    corner = (np.arange(side)[:, None] * (side + 1) + np.arange(side)).ravel()
    quads = np.stack([corner, corner + 1, corner + side + 2, corner + side + 1], 1).astype(np.int32)
    nodes = (side + 1) ** 2
    add('elements_applied', lambda q, k, u: jnp.zeros(nodes).at[q].add(u[q] @ k.T), quads, f32(4, 4), f32(nodes))
    add('elements_applied_by_their_own', lambda q, k, e, u: jnp.zeros(nodes).at[q].add(e[:, None] * jnp.einsum('ij,ej->ei', k, u[q])), quads, f32(4, 4), R.share(side * side), f32(nodes))
    add('plane_stress_applied', lambda q, k, e, u: jnp.zeros((nodes, 2)).at[q].add((e[:, None] * (u[q].reshape(-1, 8) @ k)).reshape(-1, 4, 2)), quads, f32(8, 8), R.share(side * side), f32(nodes, 2))
    add('elements_assembled', lambda q, k: jnp.zeros((nodes, nodes)).at[q[:, :, None], q[:, None]].add(k), quads, f32(side * side, 4, 4))
    cubes = i32(500, 600, 8)
    add('cubes_applied', lambda q, k, u: jnp.zeros((500, 3)).at[q].add((u[q].reshape(-1, 24) @ k).reshape(-1, 8, 3)), cubes, f32(24, 24), f32(500, 3))
    tets, places = i32(300, 901, 4), f32(300, 3)

    def energy(x, rest, t):
        d = jnp.swapaxes(x[t[:, 1:]] - x[t[:, :1]], 1, 2)
        f = d @ rest
        j = jnp.linalg.det(f)
        return ((f * f).sum((1, 2)) - 3 - 2 * jnp.log(jnp.abs(j) + 1e-3) + 2 * (j - 1) ** 2).sum()
    add('energy_of_tetrahedra', energy, places, f32(901, 3, 3) * np.float32(.5), tets)
    add('forces_of_tetrahedra', lambda x, r, t: jax.grad(energy)(x, r, t), places, f32(901, 3, 3) * np.float32(.5), tets)
    add('stiffness_of_tetrahedra_times', lambda x, r, t, v: jax.jvp(lambda x: jax.grad(energy)(x, r, t), (x,), (v,))[1], places, f32(901, 3, 3) * np.float32(.5), tets, f32(300, 3))
    add('gradients_of_shapes', lambda x, t: (lambda j: jnp.einsum('eij,kj->eki', jnp.linalg.inv(j + 3 * jnp.eye(3)), jnp.array([[-1., -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])))(jnp.swapaxes(x[t[:, 1:]] - x[t[:, :1]], 1, 2)), places, tets)
    add('applied_by_conjugate_gradients', lambda q, k, b: jax.scipy.sparse.linalg.cg(lambda u: jnp.zeros(nodes).at[q].add(u[q] @ k) + u, b, maxiter=15)[0], quads, np.float32(4 * np.eye(4) - 1), f32(nodes))
    big = 50021
    add('large_coordinates', lambda r, c, v, x: segment(v * x[c], r, big), np.sort(i32(big, 400009)), i32(big, 400009), f32(400009), f32(big))
    add('large_equal_rows', lambda c, v, x: (v * x[c]).sum(1), i32(big, big, 7), f32(big, 7), f32(big))
    add('large_rows_by_their_starts', lambda s, c, v, x: (lambda t: t[s[1:]] - t[s[:-1]])(jnp.concatenate([jnp.zeros(1), jnp.cumsum(v * x[c])])), np.sort(i32(300007, big + 1)), i32(big, 300007), f32(300007), f32(big))
    return P
