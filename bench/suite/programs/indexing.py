"""Reading at computed places: gathers of elements, rows and blocks, look-ups, sparse products, interpolation."""
import numpy as np

from arrays import f32, i32, integers, permutation, u8

FACTOR = 2.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    n, rows, k = pick((2000, 100, 16), (200000, 5000, 64), (3000000, 60000, 128))
    add('elements', lambda x, i: x[i], f32(n), i32(n, n))
    add('elements_small_table', lambda x, i: x[i] * 2, f32(256), i32(256, n))
    add('byte_table', lambda t, i: t[i.astype(jnp.int32)], u8(256), u8(n))
    add('rows', lambda x, i: x[i], f32(rows, k), i32(rows, rows))
    add('columns', lambda x, i: x[:, i] + 1, f32(rows, k), i32(k, k))
    add('pairs', lambda x, i, j: x[i, j], f32(rows, k), i32(rows, n // 4), i32(k, n // 4))
    add('per_row', lambda x, i: jnp.take_along_axis(x, i, 1), f32(rows, k), i32(k, rows, 8))
    add('one_per_row', lambda x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0], f32(rows, k), i32(k, rows))
    add('permute_rows', lambda x, p: x[p] - x, f32(rows, k), permutation(rows))
    add('negative_and_clipped', lambda x, i: x.at[i].get(mode='clip') + x.at[i].get(mode='fill', fill_value=1.0), f32(n // 2), integers(np.int32, -n, n, n // 2))
    add('embedding_sum', lambda t, i: t[i].sum(1), f32(rows, k), i32(rows, rows // 8, 10), factor=2)
    add('embedding_norm', lambda t, i, g: (lambda e: e * lax.rsqrt((e * e).mean(-1, keepdims=True) + 1e-6) * g)(t[i]), f32(rows, k), i32(rows, rows // 2), f32(k))
    add('neighbour_sum', lambda x, i: (x[i] - x[:, None]).sum(1), f32(n // 16), i32(n // 16, n // 16, 12), factor=2)
    add('neighbour_vectors', lambda x, i: jnp.sqrt(((x[i] - x[:, None]) ** 2).sum(-1) + 1e-3).sum(1), f32(n // 64, 3), i32(n // 64, n // 64, 16), factor=2)
    add('sparse_rows', lambda v, c, x: (v * x[c]).sum(1), f32(n // 10, 10), i32(n // 10, n // 10, 10), f32(n // 10), factor=4)
    add('one_hot_loss', lambda x, y: -(jax.nn.one_hot(y, k) * jax.nn.log_softmax(x)).sum(1), f32(rows, k), i32(k, rows), factor=2)
    add('gathered_loss', lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1)[:, 0], f32(rows, k), i32(k, rows), factor=2)
    add('interpolate', lambda x, t: jnp.interp(t, jnp.linspace(-3, 3, 64), x), f32(64), f32(n // 4), factor=8)
    add('bin_search', lambda e, x: jnp.searchsorted(e, x), lambda rng: np.sort(rng.standard_normal(200).astype(np.float32)), f32(n // 4))
    h = pick(24, 200, 1200)

    def bilinear(image, at):
        y, x = at[..., 0] * (h - 2), at[..., 1] * (h - 2)
        i, j = jnp.floor(y).astype(jnp.int32), jnp.floor(x).astype(jnp.int32)
        a, b = (y - i)[..., None], (x - j)[..., None]
        return (image[i, j] * (1 - a) * (1 - b) + image[i + 1, j] * a * (1 - b) + image[i, j + 1] * (1 - a) * b + image[i + 1, j + 1] * a * b)
    add('bilinear_samples', bilinear, f32(h, h, 3), lambda rng: rng.random((h, h, 2)).astype(np.float32), factor=32)
    add('blocks', lambda x, i: jax.vmap(lambda s: lax.dynamic_slice(x, (s, 0), (8, k)))(i), f32(rows, k), i32(rows - 8, rows // 16))
    add('diagonal_gather', lambda x: x[jnp.arange(k), jnp.arange(k)] + x[jnp.arange(k)[::-1], 0], f32(rows, k))
    add('two_hops', lambda x, i: x[i[i]], f32(n), i32(n, n))
    add('select_by_rank', lambda x, i: jnp.choose(i, [x, x * 2, x - 1], mode='clip'), f32(n), i32(3, n))
