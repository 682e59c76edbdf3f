"""Scatters and gathers of other kinds: products, extremes and powers put together, windows, rows in the middle, places out of range, bytes, flags, halves and complex numbers."""
import numpy as np
from by_value import Programs, Random

FACTOR = 256.0


def programs(jax):
    jnp = jax.numpy
    P, R = Programs(), Random(10)
    add, f32, i32 = P.add, R.f32, R.i32

    add('multiplied', lambda x, i, y: x.at[i].multiply(y), f32(301), i32(301, 5000), 1 + f32(5000) * np.float32(.01))
    add('divided_rows', lambda x, i, y: x.at[i].divide(y), f32(100, 33), R.permutation(100)[:60].astype(np.int32), 1 + R.share(60, 33))
    add('powers', lambda x, i, y: x.at[i].power(y), R.share(1000), R.permutation(1000)[:300].astype(np.int32), R.share(300))
    add('least_of_bytes', lambda x, i, y: x.at[i].min(y), R.u8(777), i32(777, 9001), R.u8(9001))
    add('greatest_of_halves', lambda x, i, y: x.at[i].max(y), R.bf16(333), i32(333, 5003), R.bf16(5003))
    add('added_halves', lambda x, i, y: x.at[i].add(y), R.f16(333), i32(333, 2003), R.f16(2003))
    add('added_complex', lambda x, i, y: x.at[i].add(y), R.c64(501), i32(501, 7001), R.c64(7001))
    add('added_complex_rows', lambda x, i, y: x.at[i].add(y), R.c64(101, 9), i32(101, 900), R.c64(900, 9))
    add('added_bytes', lambda x, i: x.at[i].add(jnp.uint8(1)), np.zeros(256, np.uint8), i32(256, 20001))
    add('flags_raised', lambda i: jnp.zeros(5003, bool).at[i].set(True), i32(5003, 3001))
    add('flags_raised_in_two_dims', lambda i, j: jnp.zeros((71, 73), bool).at[i, j].set(True, mode='drop'), i32(80, 2001), i32(80, 2001))
    add('counted_out_of_range', lambda i: jnp.zeros(99, jnp.int32).at[i].add(1, mode='drop'), i32(150, 9999) - 20)
    add('clipped_places', lambda x, i: x.at[i].get(mode='clip'), f32(99, 13), i32(150, 777) - 20)
    add('filled_places', lambda x, i: x.at[i].get(mode='fill', fill_value=-1), f32(99, 13), i32(150, 777))
    add('rows_in_the_middle_added', lambda x, i, y: x.at[:, i].add(y), f32(17, 60, 21), i32(60, 100), f32(17, 100, 21))
    add('columns_added', lambda x, i, y: x.at[..., i].add(y), f32(40, 50, 31), i32(31, 44), f32(40, 50, 44))
    add('columns_set', lambda x, i, y: x.at[:, i].set(y), f32(300, 64), R.permutation(64)[:20].astype(np.int32), f32(300, 20))
    add('blocks_added', lambda x, i, y: jax.lax.scatter_add(x, i, y, jax.lax.ScatterDimensionNumbers((1, 2), (), (0, 1))), f32(80, 80), i32(72, 100, 2), f32(100, 8, 8))
    add('blocks_cut', lambda x, i: jax.vmap(lambda i: jax.lax.dynamic_slice(x, (i[0], i[1], 0), (7, 9, 3)))(i), f32(80, 90, 3), i32(70, 130, 2))
    add('blocks_cut_gradient', lambda x, i, y: jax.grad(lambda x: (jax.vmap(lambda i: jax.lax.dynamic_slice(x, (i[0], i[1], 0), (7, 9, 3)))(i) * y).sum())(x), f32(80, 90, 3), i32(70, 130, 2), f32(130, 7, 9, 3))
    add('pairs_of_places', lambda x, i, j: x[i][:, j], f32(90, 101), i32(90, 55), i32(101, 47))
    add('pairs_of_places_added', lambda x, i, j, y: x.at[i[:, None], j].add(y), f32(90, 101), i32(90, 55), i32(101, 47), f32(55, 47))
    add('three_indices', lambda x, i, j, k: x[i, j, k], f32(21, 22, 23), i32(21, 3001), i32(22, 3001), i32(23, 3001))
    add('three_indices_added', lambda i, j, k, y: jnp.zeros((21, 22, 23)).at[i, j, k].add(y), i32(21, 3001), i32(22, 3001), i32(23, 3001), f32(3001))
    add('outer_indices_apart', lambda x, i, j: x[i, :, j], f32(30, 20, 40), i32(30, 500), i32(40, 500))
    add('applied', lambda x, i: x.at[i].apply(jnp.exp), f32(500), R.permutation(500)[:200].astype(np.int32))
    add('segments_multiplied', lambda x, i: jax.ops.segment_prod(x, i, 50), 1 + f32(3001, 3) * np.float32(.01), np.sort(i32(50, 3001)))
    add('segments_greatest_rows_gradient', lambda x, i, y: jax.grad(lambda x: (jax.ops.segment_max(x, i, 50) * y).sum())(x), f32(1001, 7), np.sort(i32(50, 1001)), f32(50, 7))
    add('segments_softmax_rows', lambda x, i: (lambda e: e / jax.ops.segment_sum(e, i, 40)[i])(jnp.exp(x - jax.ops.segment_max(x, i, 40)[i])), f32(1501, 5), i32(40, 1501))
    add('segments_of_segments', lambda x, i, j: jax.ops.segment_sum(jax.ops.segment_max(x, i, 200), j, 11), f32(5003), np.sort(i32(200, 5003)), i32(11, 200))
    add('batches_of_histograms', jax.vmap(lambda i, w: jnp.zeros(37).at[i].add(w)), i32(37, 60, 211), f32(60, 211))
    add('batches_of_rows_added', jax.vmap(lambda x, i, y: x.at[i].add(y)), f32(13, 50, 12), i32(50, 13, 90), f32(13, 90, 12))
    add('batches_of_sets', jax.vmap(lambda x, i, y: x.at[i].set(y)), f32(200, 45), i32(45, 200), f32(200))
    add('least_of_words_in_order', lambda x, i, y: x.at[i].min(y), i32(900, 900).astype(np.int16), np.sort(i32(900, 8001)), i32(900, 8001).astype(np.int16))
    add('sums_by_two_keys', lambda i, j, y: jnp.zeros((31, 40)).at[i, j].add(y), i32(31, 6001), i32(40, 6001), f32(6001))
    add('complex_added_in_order', lambda x, i, y: x.at[i].add(y), R.c64(701), np.sort(i32(701, 6001)), R.c64(6001))
    add('short_rows_added_out_of_range', lambda x, i, y: x.at[i].add(y, mode='drop'), f32(300, 3), i32(400, 4001), f32(4001, 3))
    add('last_one_of_each_key', lambda k: jnp.full(200, -1).at[k].max(jnp.arange(4001)), i32(200, 4001))
    add('permutation_inverted', lambda p: jnp.zeros_like(p).at[p].set(jnp.arange(p.size)), R.permutation(9973).astype(np.int32))
    add('large_permutation_inverted', lambda p: jnp.zeros_like(p).at[p].set(jnp.arange(p.size)), R.permutation(300007).astype(np.int32))
    add('large_taken', lambda x, p: x[p], f32(300007), R.permutation(300007).astype(np.int32))
    add('large_taken_bytes', lambda x, p: x[p], R.u8(1000003), R.permutation(1000003).astype(np.int32))
    add('large_added', lambda i, y: jnp.zeros(100003).at[i].add(y), i32(100003, 400009), f32(400009))
    add('large_rows_taken', lambda x, i: x[i], f32(20011, 17), i32(20011, 50021))
    add('large_rows_added', lambda i, y: jnp.zeros((20011, 7)).at[i].add(y), i32(20011, 50021), f32(50021, 7))
    return P
