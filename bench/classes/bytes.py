"""Bytes and words: rows that end anywhere, components beside one another, bits moved within elements, stencils and edges of pictures.

programs(jax) gives {name: (function, [argument makers])}, as bench/README.md says.
"""
import numpy as np

from by_value import Programs, Random

R = Random(19)
f32, u8 = R.f32, R.u8


def s16(*shape):
    return R.randint(-30000, 30000, shape).astype(np.int16)


def u16(*shape):
    return R.randint(0, 65536, shape).astype(np.uint16)


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add

    # Rows that are no whole number of vectors, with and without edges.
    add('thresholded_rows', lambda x: jnp.where(x > 100, x, 0), u8(300, 50))
    add('rows_of_21', lambda x, y: (x ^ y) & 15, u8(2000, 21), u8(2000, 21))
    add('words_of_37', lambda x: jnp.maximum(x, -x) >> 1, s16(1000, 37))
    add('biased_rows', lambda x, b: x + b[:, None], u8(500, 99), u8(500))
    add('life', lambda b: lax.fori_loop(0, 20, lambda i, b: (lambda n: ((n == 3) | ((n == 2) & (b == 1))).astype(jnp.uint8))(
        sum(jnp.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - b), b), (u8(100, 70) > 128).astype(np.uint8))
    shifts = [(i, j) for i in range(3) for j in range(3)]
    add('dilated', lambda x: (lambda p: jnp.stack([p[i : i + 120, j : j + 90] for i, j in shifts]).max(0))(jnp.pad(x, 1)), u8(120, 90))
    add('box_blur', lambda x: (lambda p: (sum(p[i : i + 120, j : j + 90] for i, j in shifts) // 9).astype(jnp.uint8))(jnp.pad(x.astype(jnp.uint16), 1, mode='edge')),
        u8(120, 90))
    # Components beside one another.
    add('stereo_to_mono', lambda x: ((x[:, 0].astype(jnp.int32) + x[:, 1]) >> 1).astype(jnp.int16), s16(30000, 2))
    add('mono_to_stereo', lambda x: jnp.stack([x, x >> 2], -1), s16(30000))
    add('planes_of_rgb', lambda x: jnp.moveaxis(x, -1, 0), u8(150, 201, 3))
    add('rgb_of_planes', lambda x: jnp.moveaxis(x, 0, -1), u8(3, 150, 201))
    add('rgb565', lambda x: ((x[..., 0].astype(jnp.uint16) >> 3) << 11) | ((x[..., 1].astype(jnp.uint16) >> 2) << 5) | (x[..., 2] >> 3), u8(150, 200, 3))
    add('chroma_swapped', lambda x: x[..., ::-1], u8(120, 160, 2))
    add('luma_of_yuyv', lambda x: (x[..., 0].astype(jnp.float32) - 16) * np.float32(1.164), u8(240, 320, 2))
    add('floats_to_rgb', lambda x: jnp.clip(x[..., ::-1] * 127 + 128, 0, 255).astype(jnp.uint8), f32(150, 200, 3))
    # Bits within elements.
    add('nibbles_swapped', lambda x: (x << 4) | (x >> 4), u8(60000))
    add('rotated_by_each', lambda x, n: (x << (n & 7)) | (x >> ((8 - n) & 7)), u8(60000), u8(60000))
    add('sign_extended_12', lambda x: (x << 4) >> 4, s16(40000))
    add('leading_zeros', lambda x: lax.clz(x), u8(60000))
    add('gray_codes', lambda x: x ^ (x >> 1), u16(40000))
    add('packed_pairs', lambda x: (x[:, 0] & 15) | (x[:, 1] << 4), u8(30000, 2))
    add('arithmetic_shifts', lambda x, n: x >> (n & 7), u8(60000).view(np.int8), u8(60000).view(np.int8) & 7)
    add('bits_set_in_bytes', lambda x: lax.population_count(x), u8(60000))
    add('nearest_codes', lambda a, b: lax.population_count(a[:, None] ^ b).sum(-1).argmin(1), u16(60, 16), u16(500, 16))
    add('shared_bits_of_masks', lambda a, b: lax.population_count(a.astype(jnp.uint32) & b).astype(jnp.float32) / lax.population_count(a.astype(jnp.uint32) | b | 1), u16(30000), u16(30000))
    add('thirds_of_bytes_apart', lambda x: (x[:, 0] ^ x[:, 1], x[:, 2]), u8(20000, 3))
    # Arithmetic on bytes in long numbers, which 16 bits hold.
    long = lambda x: x.astype(jnp.int32)
    add('weighted_grey', lambda x: ((long(x[:, 0]) * 77 + long(x[:, 1]) * 150 + long(x[:, 2]) * 29) >> 8).astype(jnp.uint8), u8(400000, 3))
    add('two_pictures_mixed', lambda x, y: ((long(x) * 77 + long(y) * 179 + 128) >> 8).astype(jnp.uint8), u8(1000, 801), u8(1000, 801))
    add('three_taps_in_s32', lambda x: ((long(x[:, :-2]) + 2 * long(x[:, 1:-1]) + long(x[:, 2:]) + 2) >> 2).astype(jnp.uint8), u8(700, 1003))
    add('sharpened_and_clamped', lambda x: jnp.clip(5 * long(x[1:-1]) - 2 * long(x[:-2]) - 2 * long(x[2:]), 0, 255).astype(jnp.uint8), u8(702, 900))
    return P
