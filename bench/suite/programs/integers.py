"""Integers: bit tricks, hashes, packing, division, narrow types, comparisons, fixed point."""
import numpy as np

from arrays import flags, i8, i32, integers, u8, u32

FACTOR = 1.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    n = pick(3000, 300000, 6000000)
    add('popcount_clz', lambda x: lax.population_count(x) + lax.clz(x), u32(n))
    add('shifts', lambda x: ((x << 7) | (x >> 25)) ^ (x >> 3), u32(n))
    add('murmur', lambda x: (lambda x: (lambda x: x ^ (x >> 16))((x ^ (x >> 13)) * jnp.uint32(0xc2b2ae35)))((x ^ (x >> 16)) * jnp.uint32(0x85ebca6b)), u32(n))
    add('bit_reverse', lambda x: (lambda x: (x << 16) | (x >> 16))((lambda x: ((x & 0x00ff00ff) << 8) | ((x >> 8) & 0x00ff00ff))((lambda x: ((x & 0x0f0f0f0f) << 4) | ((x >> 4) & 0x0f0f0f0f))((lambda x: ((x & 0x33333333) << 2) | ((x >> 2) & 0x33333333))(((x & 0x55555555) << 1) | ((x >> 1) & 0x55555555))))), u32(n))
    add('divide_by_constants', lambda x: x // 7 + x % 13 - x // 16, i32(1 << 30, n))
    add('divide_by_vector', lambda x, y: x // y + x % y, integers(np.int32, -(1 << 30), 1 << 30, n), integers(np.int32, 1, 1000, n))
    add('unsigned_division', lambda x, y: lax.div(x, y) + lax.rem(x, y), u32(n), integers(np.uint32, 1, 1000, n))
    add('int8_saturating', lambda x, y: jnp.clip(x.astype(jnp.int16) + y.astype(jnp.int16), -128, 127).astype(jnp.int8), i8(n), i8(n))
    add('uint8_blend', lambda x, y: ((x.astype(jnp.uint16) * 3 + y.astype(jnp.uint16) * 5 + 4) >> 3).astype(jnp.uint8), u8(n), u8(n))
    add('grey', lambda x: ((x[:, 0].astype(jnp.int32) * 77 + x[:, 1].astype(jnp.int32) * 150 + x[:, 2].astype(jnp.int32) * 29) >> 8).astype(jnp.uint8), u8(n // 3, 3))
    add('pack_bits', lambda m: (m.reshape(-1, 32).astype(jnp.uint32) << jnp.arange(32, dtype=jnp.uint32)).sum(1, dtype=jnp.uint32), flags(n // 32 * 32))
    add('unpack_bits', lambda x: ((x[:, None] >> jnp.arange(32, dtype=jnp.uint32)) & 1).astype(jnp.int8), u32(n // 32))
    add('unpack_nibbles', lambda x: jnp.stack([(x & 15).astype(jnp.int8) - 8, (x >> 4).astype(jnp.int8) - 8], -1).reshape(-1), u8(n))
    add('pack_rgba', lambda x: lax.bitcast_convert_type(x, jnp.uint32), u8(n, 4))
    add('float_bits', lambda x: ((x >> 23) & 255).astype(jnp.int32) - 127 + (x >> 31).astype(jnp.int32), u32(n))
    add('fast_inverse_root', lambda x: lax.bitcast_convert_type(jnp.uint32(0x5f3759df) - (lax.bitcast_convert_type(x, jnp.uint32) >> 1), jnp.float32), lambda rng: rng.uniform(0.5, 9, n).astype(np.float32))
    add('morton_code', lambda x, y: spread(x) | (spread(y) << 1), integers(np.uint32, 0, 1 << 16, n), integers(np.uint32, 0, 1 << 16, n))
    add('hamming_distances', lambda a, b: lax.population_count(a[:, None] ^ b[None]).sum(-1), u32(pick(20, 200, 1000), 4), u32(pick(30, 300, 2000), 4))
    add('checksum', lambda x: ((x.astype(jnp.uint32) * (jnp.arange(n, dtype=jnp.uint32) + 1)).sum(), x.astype(jnp.uint32).sum()), u8(n))
    add('fixed_point_filter', lambda x: (x[:-2] * 3 + x[1:-1] * 10 + x[2:] * 3 + 8) >> 4, i32(4096, n))
    add('gray_code', lambda x: (lambda g: g ^ (g >> 1))(x) + lax.fori_loop(0, 5, lambda i, v: v ^ (v >> (1 << i)), x), u32(n))
    add('modular_power', lambda x: lax.fori_loop(0, 12, lambda i, s: (jnp.where((4093 >> i) & 1, s[0] * s[1] % 30011, s[0]), s[1] * s[1] % 30011), (jnp.ones_like(x), x))[0], integers(np.uint32, 1, 30011, n // 8))
    add('int16_products', lambda x, y: x * y - (x >> 2), integers(np.int16, -3000, 3000, n), integers(np.int16, -8, 8, n))
    add('compare_and_count', lambda x: (x[:, None] > jnp.arange(0, 256, 32, dtype=jnp.uint8)).sum(0), u8(n // 8))
    add('isqrt', lambda x: lax.fori_loop(0, 16, lambda i, s: (lambda c: jnp.where(c * c <= x, c, s))(s | (jnp.uint32(32768) >> i)), jnp.zeros_like(x)), u32(n // 8))
    add('byte_swap', lambda x: (x << 24) | ((x & 0xff00) << 8) | ((x >> 8) & 0xff00) | (x >> 24), u32(n))
    add('int16_matrices', lambda a, b: a @ b, integers(np.int16, -99, 99, pick(24, 150, 500), 40), integers(np.int16, -99, 99, 40, 30))
    add('bool_matrices', lambda a, b: a @ b, flags(pick(24, 150, 500), 40, share=0.1), flags(40, 30, share=0.1))
    add('int4_clip', lambda x: jnp.clip(x, -7, 7).astype(jnp.int4).astype(jnp.int8) * 3, i8(n))
    add('parity_matrix', lambda a, b: (a @ b) & 1, i32(2, pick(24, 150, 500), pick(24, 150, 500)), i32(2, pick(24, 150, 500), pick(24, 150, 500)))


def spread(x):
    for shift, mask in ((8, 0x00ff00ff), (4, 0x0f0f0f0f), (2, 0x33333333), (1, 0x55555555)):
        x = (x | (x << shift)) & mask
    return x
