"""Writing at computed places: updates of elements and rows, segment sums, histograms, several updates of one place."""
import numpy as np

from arrays import f32, i32, increasing, permutation, positive

FACTOR = 8.0


def programs(jax, pick, add):
    jnp, lax, ops = jax.numpy, jax.lax, jax.ops
    n, rows, k = pick((2000, 100, 16), (200000, 5000, 64), (2000000, 50000, 128))
    add('set_distinct', lambda x, i, u: x.at[i].set(u, unique_indices=True), f32(n), permutation(n), f32(n))
    add('add_elements', lambda x, i, u: x.at[i].add(u), f32(n), i32(n, n), f32(n))
    add('add_few_places', lambda x, i, u: x.at[i].add(u), f32(20), i32(20, n), f32(n), factor=8)
    add('max_elements', lambda x, i, u: x.at[i].max(u), f32(n), i32(n, n // 2), f32(n // 2))
    add('multiply_elements', lambda x, i, u: x.at[i].multiply(u), f32(n), i32(n, n // 2), positive(n // 2, low=0.9, high=1.1))
    add('add_rows', lambda x, i, u: x.at[i].add(u), f32(rows, k), i32(rows, rows), f32(rows, k))
    add('set_rows', lambda x, i, u: x.at[i].set(u, unique_indices=True), f32(rows, k), permutation(rows), f32(rows, k))
    add('add_pairs', lambda x, i, j, u: x.at[i, j].add(u), f32(rows, k), i32(rows, n // 2), i32(k, n // 2), f32(n // 2))
    add('add_columns', lambda x, i, u: x.at[:, i].add(u), f32(rows, k), i32(k, 6), f32(rows, 6))
    add('segment_sum_sorted', lambda x, s: ops.segment_sum(x, s, n // 20, indices_are_sorted=True), f32(n), increasing(n // 20, n))
    add('segment_sum', lambda x, s: ops.segment_sum(x, s, rows // 10), f32(rows, k), i32(rows // 10, rows))
    add('segment_max', lambda x, s: ops.segment_max(x, s, n // 20), f32(n), i32(n // 20, n))
    add('segment_mean', lambda x, s: ops.segment_sum(x, s, 50) / jnp.maximum(ops.segment_sum(jnp.ones(x.shape[0]), s, 50), 1)[:, None], f32(rows, k), i32(50, rows), factor=4)
    add('segment_softmax', lambda x, s: (lambda e: e / ops.segment_sum(e, s, n // 20)[s])(jnp.exp(x - ops.segment_max(x, s, n // 20)[s])), f32(n), i32(n // 20, n))
    add('histogram', lambda i: jnp.bincount(i, length=256), i32(256, n))
    add('weighted_histogram', lambda i, w: jnp.zeros(100).at[i].add(w), i32(100, n), positive(n), factor=8)
    add('one_hot_rows', lambda i: jnp.zeros((rows, k)).at[jnp.arange(rows), i].set(1), i32(k, rows))
    add('splat_grid', lambda p, w: jnp.zeros((32, 32)).at[(p[:, 0] * 32).astype(jnp.int32), (p[:, 1] * 32).astype(jnp.int32)].add(w), positive(n // 2, 2, low=0.0), f32(n // 2), factor=8)
    add('embedding_gradient', lambda t, i: jax.grad(lambda t: (t[i] ** 2).sum())(t), f32(rows, k), i32(rows, rows))
    add('gather_gradient_1d', lambda x, i: jax.grad(lambda x: (jnp.sin(x[i])).sum())(x), f32(n // 4), i32(n // 4, n))
    add('take_along_gradient', lambda x, i: jax.grad(lambda x: (jnp.take_along_axis(x, i, 1) ** 2).sum())(x), f32(rows, k), i32(k, rows, 4))
    add('set_slices', lambda x, u: x.at[:, 2:6].set(u).at[::2].add(1), f32(rows, k), f32(rows, 4))
    add('compact', lambda x: jnp.zeros_like(x).at[jnp.cumsum(x > 0) - 1].add(jnp.where(x > 0, x, 0)), f32(n // 4))
    add('inverse_permutation', lambda p: jnp.zeros_like(p).at[p].set(jnp.arange(p.size, dtype=p.dtype), unique_indices=True), permutation(n))
