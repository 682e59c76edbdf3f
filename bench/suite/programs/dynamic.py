"""Slices at computed places: reads, updates, windows, batches, in loops, with donated-like chains."""
import numpy as np

from arrays import f32, i32, value

FACTOR = 4.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    n, k = pick((60, 40), (2000, 256), (40000, 512))
    at = value(np.int32(17))
    add('read_rows', lambda x, i: lax.dynamic_slice(x, (i, 0), (n // 2, k)) * 2, f32(n, k), at)
    add('read_block', lambda x, i: lax.dynamic_slice(x, (i, i // 2), (n // 3, k // 3)) + 1, f32(n, k), at)
    add('read_one', lambda x, i: x[i] + x[i, 0], f32(n, k), at)
    add('clamped', lambda x, i: lax.dynamic_slice(x, (i * 1000, -i), (n // 2, k // 2)), f32(n, k), at)
    add('write_row', lambda x, u, i: x.at[i].set(u), f32(n, k), f32(k), at)
    add('write_block', lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 3)), f32(n, k), f32(n // 3, k // 3), at)
    add('add_block', lambda x, u, i: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i, 0), u.shape) + u, (i, 0)), f32(n, k), f32(n // 3, k), at)
    add('two_writes', lambda x, u, i: x.at[i].set(u).at[i + 1].add(u), f32(n, k), f32(k), at)
    add('window_means', lambda x, s: jax.vmap(lambda i: lax.dynamic_slice(x, (i,), (32,)).mean())(s), f32(n * 8), i32(n * 8 - 32, n))
    add('frames', lambda x: jax.vmap(lambda i: lax.dynamic_slice(x, (i * 16,), (64,)))(jnp.arange((x.size - 64) // 16)), f32(n * 16))
    add('crops', lambda x, p: jax.vmap(lambda im, p: lax.dynamic_slice(im, (p[0], p[1], 0), (24, 24, 3)))(x, p), f32(pick(2, 32, 512), 32, 32, 3), i32(8, pick(2, 32, 512), 2))
    add('random_flips', lambda x, f: jnp.where(f[:, None, None, None] > 0, x[:, :, ::-1], x), f32(pick(2, 32, 512), 32, 32, 3), i32(2, pick(2, 32, 512)))
    add('dynamic_roll', lambda x, i: jnp.roll(x, i, 0) + jnp.roll(x, -i, 1), f32(n, k), at)
    add('roll_per_row', lambda x, s: jax.vmap(jnp.roll)(x, s), f32(n, k), i32(k, n))
    add('blocks_in_loop', lambda x: lax.fori_loop(0, n // 8, lambda i, s: s + (lambda b: b.T @ b)(lax.dynamic_slice(x, (i * 8, 0), (8, k))), jnp.zeros((k, k))), f32(n, k), factor=4)
    add('fill_rows', lambda x: lax.fori_loop(0, min(n, 500), lambda i, s: lax.dynamic_update_slice(s, jnp.cos(x[:1] + i * 0.1), (i, 0)), jnp.zeros_like(x)), f32(n, k), factor=32)
    add('minibatches', lambda x, y, w: lax.fori_loop(0, 6, lambda i, w: (lambda a, b: w - 0.01 * a.T @ (a @ w - b) / a.shape[0])(lax.dynamic_slice(x, (i * (n // 8), 0), (n // 8, k)), lax.dynamic_slice(y, (i * (n // 8),), (n // 8,))), w), f32(n, k), f32(n), f32(k), factor=8)
    add('teacher_window', lambda x, i: (lambda w: w - w.mean())(lax.dynamic_slice_in_dim(x, i, 16, 1)), f32(n, k), at)
    add('index_of_max', lambda x: lax.dynamic_slice(x, (x[:, 0].argmax(), 0), (1, k)), f32(n, k))
    add('shifted_by_data', lambda x, i: x[(jnp.arange(n) + i) % n] - x, f32(n, k), at)
    add('select_expert', lambda w, x, e: jax.nn.relu(x @ w[e]), f32(6, k, k), f32(16, k), value(np.int32(3)))
    add('gradient_of_slice', jax.grad(lambda x, i: (lax.dynamic_slice(x, (i, 0), (n // 2, k)) ** 2).sum()), f32(n, k), at)
