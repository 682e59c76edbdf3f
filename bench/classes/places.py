"""Elements in other places, where these are known when the program is compiled or counted: components in another order, symmetric tensors as
vectors, frames of a signal, labels of rows, boundaries that are set; and sums of one array in several ways.

programs(jax) gives {name: (function, [argument makers])}, as bench/README.md says.
"""
import numpy as np

from by_value import Programs, Random

R = Random(17)
f32, u8 = R.f32, R.u8


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add

    # Components in another order, by lists.
    add('bgra_of_rgba', lambda x: x[..., jnp.array([2, 1, 0, 3])], u8(200, 300, 4))
    add('opponent_colours', lambda x: x[..., jnp.array([0, 1, 2])] - x[..., jnp.array([1, 2, 0])], f32(100, 120, 3))
    add('argb16', lambda x: x[:, np.array([3, 0, 1, 2])], R.randint(-3000, 3000, (20000, 4)).astype(np.int16))
    add('quaternion_conjugates', lambda q: q[:, np.array([0, 3, 2, 1])] * np.array([1, -1, 1, -1], np.float32), f32(20000, 4))
    add('voigt', lambda s: s[:, np.array([0, 1, 2, 1, 0, 0]), np.array([0, 1, 2, 2, 2, 1])], f32(6000, 3, 3))
    add('tensors_of_voigt', lambda v: v[:, np.array([0, 5, 4, 5, 1, 3, 4, 3, 2])].reshape(-1, 3, 3), f32(6000, 6))
    add('upper_triangles', lambda x: x[:, np.triu_indices(6)[0], np.triu_indices(6)[1]], f32(2000, 6, 6))
    add('joints', lambda x: x[:, np.array([0, 4, 5, 6, 1, 2, 3, 7, 8, 12, 13, 14, 9, 10, 11])], f32(800, 15, 3))
    add('shuffled_channels', lambda x: x[..., np.arange(64).reshape(4, 16).T.reshape(-1)] + 1, f32(16, 16, 64))
    add('swapped_pairs', lambda x: x[:, np.arange(64).reshape(-1, 2)[:, ::-1].reshape(-1)] * 2, f32(1000, 64))
    add('rows_by_list', lambda x: x[np.array([5, 2, 9, 1])] + 1, f32(16, 4000))
    # Places that are counted.
    add('frames', lambda x: x[jnp.arange(0, 16000 - 400, 160)[:, None] + jnp.arange(400)[None]] * np.hanning(400).astype(np.float32), f32(16000))
    add('cross_entropy_rows', lambda x, i: -jax.nn.log_softmax(x)[jnp.arange(512), i].mean(), f32(512, 100), R.randint(0, 100, 512))
    add('trace_and_diagonal', lambda x: (x[jnp.arange(300), jnp.arange(300)] * 2, jnp.trace(x)), f32(300, 300))
    add('anti_diagonal', lambda x: x[jnp.arange(300), 299 - jnp.arange(300)] + 1, f32(300, 300))
    add('hankel', lambda x: x[jnp.arange(300)[:, None] + jnp.arange(200)[None]] ** 2, f32(600))
    add('every_third_row', lambda x: x[jnp.arange(0, 300, 3)] * 2, f32(300, 200))
    # What is set at known places.
    add('walls', lambda u: (u * 0.9 + 0.1).at[0].set(0).at[-1].set(0).at[:, 0].set(1).at[:, -1].set(1), f32(200, 200))
    add('centre', lambda x, y: jnp.zeros((256, 256)).at[64:192, 32:224].set(x * y), f32(128, 192), f32(128, 192))
    add('one_column', lambda x: jnp.tanh(x).at[:, 2].add(1.0), f32(5000, 4))
    add('walls_in_steps', lambda u: lax.fori_loop(0, 50, lambda i, u: (u + 0.1 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) - 2 * u)).at[0].set(0).at[-1].set(0), u), f32(100, 20))
    add('interior', lambda u: u.at[1:-1, 1:-1].add(0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])), f32(200, 200))
    # One array, several sums.
    add('mean_and_square', lambda x: (x.mean(0), (x * x).mean(0)), f32(8000, 40))
    add('extremes_of_columns', lambda x: (x.min(0), x.max(0), x.sum(0)), f32(4000, 100))
    add('channel_sums', lambda x, g: (g.sum((0, 1, 2)), (g * x).sum((0, 1, 2))), f32(16, 28, 28, 32), f32(16, 28, 28, 32))
    add('row_moments', lambda x: (x.sum(-1), (x * x).sum(-1), jnp.abs(x).max(-1)), f32(2000, 400))
    add('weighted_columns', lambda x, w: ((x * w[:, None]).sum(0), (x * x * w[:, None]).sum(0), x.max(0)), f32(3000, 130), f32(3000))
    add('moments_of_exponentials', lambda x: (jnp.exp(x).sum(0), (jnp.exp(x) * x).sum(0)), f32(3000, 48))
    # Holes: gradients of strided slices, zeros in between.
    add('gradient_of_every_second', jax.grad(lambda x: jnp.sum(jnp.sin(x[:, ::2]) * x[:, 1::2])), f32(1000, 128))
    add('gradient_of_every_third_row', jax.grad(lambda x: jnp.sum(x[1::3] ** 2)), f32(900, 130))
    add('zeros_between_pixels', lambda x: lax.pad(x * 2, np.float32(0), [(1, 1, 1), (1, 1, 1), (0, 0, 0)]), f32(200, 200, 4))
    add('odd_samples_up', lambda x: lax.pad(x, np.float32(0), [(0, 0, 0), (0, 0, 2)]), f32(100, 667))
    # Borders that repeat what they border on.
    add('reflected_border', lambda x: jnp.pad(x, 3, mode='reflect'), f32(512, 512))
    add('wrapped_border', lambda x: jnp.pad(x, ((0, 0), (40, 40)), mode='wrap'), f32(300, 1000))
    add('edge_border', lambda x: jnp.pad(x, 2, mode='edge'), f32(500, 300))
    return P
