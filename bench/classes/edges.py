"""Edges, and how results lie: stencils that ask where they are, rolls, small rearrangements, results that are looked at in another order.

programs(jax) gives {name: (function, [argument makers])}, as bench/README.md says.
"""
from by_value import Programs, Random

R = Random(11)
f32 = R.f32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add

    # Padded values that are computed, in a loop and alone; edges that repeat or mirror what is next to them.
    def gradient_norm(u):
        p = jnp.pad(u * u, 1)
        return jnp.sqrt((p[2:, 1:-1] - p[:-2, 1:-1]) ** 2 + (p[1:-1, 2:] - p[1:-1, :-2]) ** 2 + 1e-3)

    add('padded_gradient_norm', gradient_norm, f32(200, 300))
    add('padded_diffusion', lambda u: lax.fori_loop(0, 50, lambda i, u: u + 0.1 * (sum(jnp.pad(u, 1)[a : a + 48, b : b + 96] for a, b in ((0, 1), (2, 1), (1, 0), (1, 2))) - 4 * u), u), f32(48, 96))
    add('edge_padded_blur', lambda u: (lambda p: sum(p[i : i + 180, j : j + 240] for i in range(3) for j in range(3)) / 9)(jnp.pad(u, 1, mode='edge')), f32(180, 240))
    # Rolls: one dim, all three, of a value that is computed.
    add('advection', lambda u: lax.fori_loop(0, 40, lambda i, u: u - 0.2 * (jnp.roll(u * u, 1) - u * u), u), f32(5000))
    add('wave_3d', lambda u, v: lax.fori_loop(0, 4, lambda i, s: (s[0] + 0.1 * s[1], s[1] + 0.1 * (sum(jnp.roll(s[0], d, a) for a in range(3) for d in (1, -1)) - 6 * s[0])), (u, v)), f32(64, 64, 64), f32(64, 64, 64))
    add('periodic_laplacian_large', lambda u: sum(jnp.roll(u, d, a) for a in (0, 1) for d in (1, -1)) - 4 * u, f32(1500, 1100))
    # Results in another order than they are computed in, and copies of few bytes.
    add('transposed_softmax', lambda x: jax.nn.softmax(x, -1).T, f32(120, 90))
    add('heads_apart', lambda x: jnp.tanh(x).reshape(4, 32, 6, 16).transpose(0, 2, 1, 3), f32(4, 32, 96))
    add('argmax_last', lambda x: jnp.argmax(x, -1).T, f32(60, 50, 12))
    add('patches', lambda x: x.reshape(8, 7, 8, 7, 3).transpose(0, 2, 1, 3, 4).reshape(64, 147), f32(56, 56, 3))
    add('upsampled', lambda x: jnp.repeat(jnp.repeat(x, 3, 0), 3, 1), f32(40, 40))
    # Short sums that both sides of an outer combination ask for.
    add('cosine_distances', lambda x, y: 1 - x @ y.T / jnp.sqrt((x * x).sum(1)[:, None] * (y * y).sum(1)[None] + 1e-6), f32(150, 12), f32(220, 12))
    add('gaussian_kernel', lambda x, y: jnp.exp(-0.5 * ((x * x).sum(-1)[:, None] - 2 * x @ y.T + (y * y).sum(-1)[None])), f32(200, 8), f32(160, 8))
    return P
