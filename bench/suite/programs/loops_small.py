"""Loops whose bodies are a few operations on scalars and short vectors."""
import numpy as np

from arrays import c64, f32, i32, integers, positive, value

FACTOR = 16.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    t = pick(50, 2000, 20000)
    fori = lax.fori_loop
    add('newton_root', lambda x: fori(0, t, lambda i, s: s - (s * s - 2) / (2 * s + 0.1), x), positive(low=1.0, high=2.0))
    add('counting', lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, (s[1] * 1103515245 + 12345) & 0x7fffffff), (0, 1))[1], value(np.int32(t)))
    add('collatz', lambda n: lax.while_loop(lambda s: s[0] > 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1], value(np.int32(837799)))
    add('gcd_vector', lambda a, b: lax.while_loop(lambda s: (s[1] != 0).any(), lambda s: (jnp.where(s[1] != 0, s[1], s[0]), jnp.where(s[1] != 0, s[0] % jnp.where(s[1] == 0, 1, s[1]), 0)), (a, b))[0],
        integers(np.int32, 1, 1 << 20, 16), integers(np.int32, 1, 1 << 20, 16))
    add('vector_16', lambda x: fori(0, t, lambda i, s: jnp.sin(s) * 0.9 + 0.1, x), f32(16))
    add('vector_100', lambda x: fori(0, t, lambda i, s: s * 0.99 + 0.01 * s * s, x), f32(100, scale=0.3))
    add('points_in_pairs', lambda x: fori(0, t, lambda i, s: s * 0.9 + 0.1 * jnp.tanh(s), x), f32(45, 2))
    add('grid_until', lambda x: lax.while_loop(lambda s: s[0] < t, lambda s: (s[0] + 1, s[1] * 0.98 + 0.02 / (1 + s[1] * s[1])), (0, x)), f32(7, 5, 3))
    add('wave_48', lambda x, v: fori(0, t, lambda i, s: (s[0] + 0.01 * s[1], s[1] - 0.01 * s[0] * s[0]), (x, v)), f32(48, scale=0.3), f32(48, scale=0.3), factor=4)
    add('index_in_body', lambda x: fori(0, t, lambda i, s: s + jnp.cos(i * 0.1) * 0.01, x), f32(24))
    add('logistic_map_batch', lambda x: fori(0, t, lambda i, s: 2.8 * s * (1 - s), x), positive(64))
    add('oscillator', lambda x, v: fori(0, t, lambda i, s: (lambda p, q: (p + 0.01 * q, q - 0.01 * p))(*s), (x, v)), f32(), f32())
    add('lotka_volterra', lambda y: lax.scan(lambda s, _: ((s[0] + 0.01 * (s[0] - s[0] * s[1]), s[1] + 0.01 * (s[0] * s[1] - s[1])),) * 2, (y[0], y[1]), None, length=t)[1], positive(2, low=0.5, high=1.5), factor=8)
    add('pendulum_stack', lambda s: fori(0, t, lambda i, s: s + 0.005 * jnp.stack([s[1], -jnp.sin(s[0])]), s), f32(2), factor=8)
    add('matrix_2x2', lambda a, b: fori(0, t, lambda i, s: jnp.tanh(a @ s + b), b), f32(2, 2), f32(2, 2))
    add('matrix_vector_12', lambda a, x: fori(0, t, lambda i, s: jnp.tanh(a @ s), x), f32(12, 12, scale=0.3), f32(12), factor=4)
    add('branch', lambda x: fori(0, t, lambda i, s: lax.cond(s > 1, lambda s: s * 0.5, lambda s: s * 1.3 + 0.01, s), x), positive(), factor=8)
    add('switch_vector', lambda x: fori(0, t, lambda i, s: lax.switch(i % 3, [lambda s: s + 0.1, lambda s: s * 0.9, lambda s: jnp.sin(s)], s), x), f32(8))
    add('nested', lambda x: fori(0, t // 10, lambda i, s: fori(0, 10, lambda j, u: u * 0.9 + 0.01 * j, s), x), f32(16))
    add('nested_while', lambda x: fori(0, t // 10, lambda i, s: lax.while_loop(lambda u: jnp.abs(u).max() > 1, lambda u: u * 0.7, s * 3 + 1), x), f32(12))
    add('bisection', lambda c: fori(0, 40, lambda i, s: (lambda lo, hi: (lambda m: (jnp.where(m ** 3 < c, m, lo), jnp.where(m ** 3 < c, hi, m)))((lo + hi) / 2))(*s), (jnp.zeros_like(c), jnp.ones_like(c) * 2))[0], positive(pick(32, 4000, 100000)))
    add('escape_time', lambda c: fori(0, min(t, 200), lambda i, s: (lambda z, n: (lambda z: (jnp.where(jnp.abs(z) < 4, z, 4), n + (jnp.abs(z) < 2)))(z * z + c))(*s), (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1], c64(pick(50, 3000, 50000)), share=0.01)
    add('running_statistics', lambda x: lax.scan(lambda s, v: ((lambda n, m, q: (n, m + (v - m) / n, q + (v - m) ** 2 * 0.9))(s[0] + 1, s[1], s[2]), None), (0.0, 0.0, 0.0), x)[0], f32(t))
    add('power_iteration', lambda a, x: fori(0, t, lambda i, s: (lambda y: y / jnp.linalg.norm(y))(a @ s), x), lambda rng: (lambda a: (a + a.T + 10 * np.eye(10)).astype(np.float32))(rng.standard_normal((10, 10))), positive(10), factor=64)
    add('carries_swap', lambda a, b: fori(0, t, lambda i, s: (s[1], 0.5 * s[0] + 0.3 * s[1]), (a, b)), f32(32), f32(32))
    add('until_converged', lambda x: lax.while_loop(lambda s: jnp.abs(s[0] - s[1]).max() > 1e-6, lambda s: (jnp.cos(s[0]), s[0]), (x, x + 1))[0], f32(20), factor=8)
    add('crc_table', lambda d, t: lax.scan(lambda c, b: (t[(c ^ b) & 255] ^ (c >> 8), None), jnp.uint32(0xffffffff), d)[0], integers(np.uint32, 0, 256, t), integers(np.uint32, 0, 1 << 32, 256))
    add('horner', lambda c, x: lax.scan(lambda s, k: (s * x + k, None), jnp.zeros_like(x), c)[0], f32(24), positive(pick(16, 500, 20000), low=-1.0))
    add('xorshift', lambda s: fori(0, t, lambda i, s: (lambda s: s ^ (s << 5))((lambda s: s ^ (s >> 17))(s ^ (s << 13))), s), integers(np.uint32, 1, 1 << 32, 8))
