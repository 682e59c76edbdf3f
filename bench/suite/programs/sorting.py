"""Sorting: whole arrays, rows, columns, keys with values, top k, ranks, medians, uniques."""
import numpy as np

from arrays import c64, f16, f32, i32, integers, permutation, u8, u32

FACTOR = 2.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    n, rows, k = pick((1500, 40, 30), (200000, 2000, 100), (2000000, 10000, 300))
    add('floats', lambda x: jnp.sort(x), f32(n))
    add('integers', lambda x: jnp.sort(x), i32(1 << 30, n))
    add('few_distinct', lambda x: jnp.sort(x), i32(7, n))
    add('bytes', lambda x: jnp.sort(x), u8(n))
    add('unsigned', lambda x: jnp.sort(x), u32(n))
    add('sorted_already', lambda x: jnp.sort(x), lambda rng: np.sort(rng.standard_normal(n)).astype(np.float32))
    add('argsort', lambda x: jnp.argsort(x), f32(n))
    add('key_and_value', lambda x, y: lax.sort_key_val(x, y), f32(n), i32(1000, n))
    add('two_keys', lambda x, y, z: lax.sort((x, y, z), num_keys=2), i32(50, n), f32(n), f32(n))
    add('rows', lambda x: jnp.sort(x, 1), f32(rows, k))
    add('columns', lambda x: jnp.sort(x, 0), f32(rows, k))
    add('argsort_rows', lambda x: jnp.argsort(x, 1), f32(rows, k))
    add('rows_of_9', lambda x: jnp.sort(x, -1)[:, 4], f32(n // 9, 9))
    add('descending', lambda x: jnp.sort(x, -1, descending=True), f32(rows, k))
    add('half', lambda x: jnp.sort(x, -1), f16(rows, k))
    add('top_5', lambda x: lax.top_k(x, 5), f32(rows, k))
    add('top_20_of_one', lambda x: lax.top_k(x, 20), f32(n))
    add('median', lambda x: jnp.median(x, axis=1), f32(rows, k))
    add('quantiles', lambda x: jnp.quantile(x, jnp.array([0.1, 0.5, 0.9]), axis=1), f32(rows, k), factor=4)
    add('ranks', lambda x: jnp.argsort(jnp.argsort(x)), f32(n))
    add('unique', lambda x: jnp.unique(x, size=64, fill_value=-1), i32(100, n))
    add('lexicographic', lambda a, b: jnp.lexsort((a, b)), i32(30, n), i32(30, n))
    add('shuffle_back', lambda x, p: x[jnp.argsort(p)], f32(n), permutation(n))
    add('by_comparison_of_magnitude', lambda x: x[jnp.argsort(jnp.abs(x), stable=True)], integers(np.int32, -10000, 10000, n))
    add('complex', lambda x: jnp.sort(x), c64(n // 10))
    add('masked_top', lambda x, m: lax.top_k(jnp.where(m > 0, x, -jnp.inf), 3), f32(rows, k), f32(rows, k))
