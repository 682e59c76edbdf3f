"""Pieces that lie where data says: crops, patches and rows that roll by amounts of their own, rings, delays, joins at moving places."""
import numpy as np
from by_value import Programs, Random

FACTOR = 256.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(11)
    add, f32, i32 = P.add, R.f32, R.i32

    add('rolled_by_a_number', lambda x, n: jnp.roll(x, n), f32(10007), np.int32(1234))
    add('rolled_rows_by_a_number', lambda x, n: jnp.roll(x, n, 0), f32(301, 77), np.int32(100))
    add('rolled_both_by_numbers', lambda x, n: jnp.roll(x, (n[0], n[1]), (0, 1)), f32(120, 133), i32(100, 2))
    add('rows_rolled_each', jax.vmap(lambda x, n: jnp.roll(x, n)), f32(150, 101), i32(101, 150))
    add('pictures_rolled_each', jax.vmap(lambda x, n: jnp.roll(x, (n[0], n[1]), (0, 1))), f32(10, 40, 41, 3), i32(40, 10, 2))
    add('rows_rolled_each_gradient', lambda x, n, y: jax.grad(lambda x: (jax.vmap(lambda x, n: jnp.roll(x, n))(x, n) * y).sum())(x), f32(150, 101), i32(101, 150), f32(150, 101))
    add('crops_of_bytes', jax.vmap(lambda x, i: lax.dynamic_slice(x, (i[0], i[1], 0), (28, 28, 3))), R.u8(20, 36, 37, 3), i32(8, 20, 2))
    add('crops_mirrored', jax.vmap(lambda x, i, f: (lambda c: jnp.where(f, c[:, ::-1], c).astype(jnp.float32) / 255)(lax.dynamic_slice(x, (i[0], i[1], 0), (28, 28, 3)))), R.u8(20, 36, 37, 3), i32(8, 20, 2), R.rand(20) < .5)
    add('windows_of_a_signal', lambda x, i: jax.vmap(lambda i: lax.dynamic_slice(x, (i,), (51,)))(i), f32(5000), i32(4949, 200))
    add('windows_of_a_signal_weighted', lambda x, i, w: (jax.vmap(lambda i: lax.dynamic_slice(x, (i,), (51,)))(i) * w).sum(1), f32(5000), i32(4949, 200), f32(51))
    add('windows_added', lambda x, i: lax.fori_loop(0, 100, lambda k, s: lax.dynamic_update_slice(s, lax.dynamic_slice(s, (i[k],), (33,)) + x[k], (i[k],)), jnp.zeros(3000)), f32(100, 33), i32(2960, 100))
    add('bands_of_rows', jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (9,))), f32(500, 60), i32(51, 500))
    add('bands_set', jax.vmap(lambda x, i, y: lax.dynamic_update_slice(x, y, (i,))), f32(500, 60), i32(51, 500), f32(500, 9))
    add('rows_of_each_set', jax.vmap(lambda x, i, y: lax.dynamic_update_slice(x, y[None], (i, 0))), f32(9, 64, 40), i32(64, 9), f32(9, 40))
    add('heads_of_each_set', lambda x, i, y: jax.vmap(lambda x, i, y: lax.dynamic_update_slice(x, y[:, None], (0, i, 0)))(x, i, y), f32(5, 4, 50, 24), i32(50, 5), f32(5, 4, 24))

    def ring(s, x):
        buffer, at = s
        buffer = lax.dynamic_update_index_in_dim(buffer, x, at, 0)
        return (buffer, (at + 1) % 17), buffer.mean(0)
    add('ring_of_17', lambda x: lax.scan(ring, (jnp.zeros((17, 12)), 0), x)[1], f32(100, 12))
    add('ring_by_rolling', lambda x: lax.scan(lambda s, x: (lambda b: (b, (b * jnp.arange(17.)[:, None]).sum(0)))(jnp.roll(s, -1, 0).at[-1].set(x)), jnp.zeros((17, 12)), x)[1], f32(100, 12))

    def echoes(x, delay):
        def step(line, s):
            t, x = s
            y = x + .5 * line[(t - delay) % 301]
            return line.at[t % 301].set(y), y
        return lax.scan(step, jnp.zeros(301), (jnp.arange(x.size), x))[1]
    add('echoes', echoes, f32(1200), np.int32(97))
    add('echoes_of_many', jax.vmap(echoes), f32(11, 500), i32(300, 11) + 1)

    def delayed(x, d):
        """Delays that swing, between samples."""
        at = jnp.arange(x.size) - d
        i = jnp.floor(at).astype(jnp.int32)
        f = at - i
        return (1 - f) * x[jnp.clip(i, 0, x.size - 1)] + f * x[jnp.clip(i + 1, 0, x.size - 1)]
    add('delays_that_swing', delayed, f32(9001), (20 + 10 * np.sin(np.arange(9001) / 300)).astype(np.float32))

    def joined(a, b, n):
        """The first n of a, then b."""
        i = jnp.arange(a.size + b.size)
        return jnp.where(i < n, a[jnp.clip(i, 0, a.size - 1)], jnp.where(i < n + b.size, b[jnp.clip(i - n, 0, b.size - 1)], 0))
    add('joined_after_n', joined, f32(2001), f32(1777), np.int32(1500))
    add('joined_after_n_of_many', jax.vmap(joined), f32(70, 61), f32(70, 33), i32(61, 70))
    add('masked_by_lengths', lambda x, n: jnp.where(jnp.arange(97) < n[:, None], x, 0).sum(1) / n, f32(301, 97), 1 + i32(97, 301))
    add('turned_by_lengths', lambda x, n: jnp.take_along_axis(x, ((n[:, None] - 1 - jnp.arange(50)) % 50)[..., None], 1), f32(40, 50, 15), 1 + i32(50, 40))
    add('last_of_lengths', lambda x, n: jax.vmap(lambda x, n: x[n - 1])(x, n), f32(40, 50, 31), 1 + i32(50, 40))
    add('relative_shift', lambda x: jnp.pad(x, ((0, 0), (0, 0), (1, 0))).reshape(4, 82, 80)[:, 1:].reshape(4, 80, 81)[:, :, :41], f32(4, 80, 81))
    add('diagonals_as_rows', lambda x: jax.vmap(lambda x, i: jnp.roll(x, -i), (0, 0))(x, jnp.arange(90)).sum(0), f32(90, 90))
    add('patches_compared', lambda x, y, i: jax.vmap(lambda i: (jnp.abs(lax.dynamic_slice(x, (i[0], i[1]), (8, 8)) - lax.dynamic_slice(y, (i[2], i[3]), (8, 8)))).sum())(i), f32(64, 66), f32(64, 66), i32(56, 400, 4))
    add('switched_pieces', lambda x, k: lax.fori_loop(0, 60, lambda t, s: s + lax.dynamic_index_in_dim(x, k[t], 1, keepdims=False) * .1, jnp.zeros((20, 30))), f32(20, 8, 30), i32(8, 60))
    add('large_rolled_by_a_number', lambda x, n: jnp.roll(x, n) - x, f32(1000003), np.int32(333333))
    add('large_rolled_both_by_numbers', lambda x, n: jnp.roll(x, (n, 2 * n), (0, 1)) - x, f32(1000, 1003), np.int32(333))
    add('large_piece_of_a_padded', lambda x, n: lax.dynamic_slice(jnp.pad(x, (900000, 900000)), (n,), (1000003,)), f32(1000003), np.int32(3333))
    add('large_piece_of_three_joined', lambda x, n: lax.dynamic_slice(jnp.concatenate([x * 2, x, x + 1]), (n,), (700001,)), f32(500009), np.int32(333333))
    add('large_rows_rolled_each', jax.vmap(lambda x, n: jnp.roll(x, n)), f32(1001, 703), i32(703, 1001))
    add('large_crops', jax.vmap(lambda x, i: lax.dynamic_slice(x, (i[0], i[1], 0), (90, 90, 3)).astype(jnp.float32) / 255 - .5), R.u8(32, 128, 128, 3), i32(38, 32, 2))
    return P
