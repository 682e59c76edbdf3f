"""Pictures, pooling and what lies on a circle: bytes that change places or become floats, gradients of pooling, stencils in loops, remainders, the
first few of short rows.

programs(jax) gives {name: (function, [argument makers])}, as bench/README.md says.
"""
import numpy as np

from by_value import Programs, Random

R = Random(13)
f32, u8 = R.f32, R.u8


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add

    # Components and pixels in another order.
    add('rgba_to_bgra', lambda x: x[..., jnp.array([2, 1, 0, 3])], u8(200, 300, 4))
    add('turn_around', lambda x: x[::-1, ::-1], u8(240, 320, 3))
    add('stereo_swapped', lambda x: x[:, ::-1], R.randint(-30000, 30000, (50000, 2)).astype(np.int16))
    add('mirrored', lambda x: x[:, ::-1], f32(300, 400))
    add('vectors_zyx', lambda x: x[:, ::-1] * 2, f32(30000, 3))
    # Bytes as floats.
    add('scaled_bytes', lambda x: x.astype(jnp.float32) / 255, u8(240, 320, 3))
    add('centred_bytes', lambda x: x.astype(jnp.float32) / 127.5 - 1, u8(64, 64, 32))
    add('gamma', lambda x: ((x / np.float32(255)) ** 2.2 * 255).astype(jnp.uint8), u8(100, 150, 3))
    # Gradients of pooling.

    def pooled(window, strides, padding='VALID'):
        return lambda x: lax.reduce_window(x, 0.0, lax.add, window, strides, padding)

    def gradient(pool):
        return jax.grad(lambda x: (pool(x) ** 2).sum())

    add('pool_2x2_gradient', gradient(pooled((1, 2, 2, 1), (1, 2, 2, 1))), f32(8, 32, 32, 16))
    add('pool_3x3_gradient', gradient(pooled((1, 3, 3, 1), (1, 3, 3, 1), 'SAME')), f32(8, 31, 31, 16))
    add('pool_1d_gradient', gradient(pooled((1, 4, 1), (1, 4, 1))), f32(16, 400, 12))
    add('pool_overlapping_gradient', gradient(pooled((1, 3, 3, 1), (1, 2, 2, 1), 'SAME')), f32(8, 32, 32, 16))
    # Edges of short rows, in loops.
    shifts = ((0, 1), (2, 1), (1, 0), (1, 2))
    add('heat_80', lambda u: lax.fori_loop(0, 60, lambda i, u: u + 0.1 * (sum(jnp.pad(u, 1)[a : a + 50, b : b + 80] for a, b in shifts) - 4 * u), u), f32(50, 80))
    add('waves_on_a_ring', lambda u: lax.fori_loop(0, 60, lambda i, u: 0.5 * u + 0.25 * (jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)), u), f32(40, 48))
    add('smoothed_rows', lambda u: lax.fori_loop(0, 40, lambda i, u: (lambda p: (p[:, 2:] + p[:, 1:-1] + p[:, :-2]) / 3)(jnp.pad(u, ((0, 0), (1, 1)))), u), f32(64, 60))
    # Remainders.
    add('wrapped_angles', lambda x: jnp.mod(x + np.float32(np.pi), np.float32(2 * np.pi)) - np.float32(np.pi), f32(40000) * 20)
    add('remainders', lambda x, y: jnp.fmod(x, y), f32(200, 150) * 50, np.abs(f32(150)) + 0.1)
    add('periodic_box', lambda x, b: jnp.mod(x, b), f32(8000, 3) * 30, np.abs(f32(3)) + 5)
    # Channels by groups, last, each group with a mean of its own.

    def group_norm(x, scale, bias):
        g = x.reshape(*x.shape[:-1], 4, x.shape[-1] // 4)
        mean = g.mean((1, 2, 4), keepdims=True)
        var = ((g - mean) ** 2).mean((1, 2, 4), keepdims=True)
        return jax.nn.relu(((g - mean) * lax.rsqrt(var + 1e-5)).reshape(x.shape) * scale + bias)

    add('group_norm', group_norm, f32(8, 16, 16, 16), f32(16), f32(16))
    add('group_norm_gradient', jax.grad(lambda x, s, b: (group_norm(x, s, b) ** 2).sum(), (0, 1, 2)), f32(8, 16, 16, 16), f32(16), f32(16))
    # The first few.
    add('top_3_of_rows', lambda x: lax.top_k(x, 3), f32(500, 60))
    add('top_8_of_scores', lambda x: lax.top_k(x, 8)[1], f32(32, 4, 300))
    return P
