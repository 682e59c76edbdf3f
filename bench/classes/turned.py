"""Arrays of every width whose dims change places: matrices, images between channels last and first, heads of attention, blocks of pixels, with and without something computed on the way."""
from by_value import ByShape


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    make = ByShape(jax, 43)
    f32, of, below = make.f32, make.of, make.below

    def heads(x, w):
        q = (x @ w).reshape(x.shape[0], x.shape[1], 6, -1)
        return q.transpose(0, 2, 1, 3), q.transpose(0, 2, 3, 1)

    def loaded(images):
        x = images.astype(jnp.float32) / 255
        return ((x - jnp.array([.485, .456, .406])) / jnp.array([.229, .224, .225])).transpose(0, 3, 1, 2)

    def to_bytes(x):
        return jnp.clip(jnp.round(x.transpose(0, 2, 3, 1) * 64 + 128), 0, 255).astype(jnp.uint8)

    def blocks(x, side):
        n, h, w, c = x.shape
        return x.reshape(n, h // side, side, w // side, side, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // side, w // side, -1)

    def pixels(x, side):
        n, h, w, c = x.shape
        return x.reshape(n, h, w, side, side, c // side // side).transpose(0, 1, 3, 2, 4, 5).reshape(n, h * side, w * side, -1)

    def shuffled(x):
        n, h, w, c = x.shape
        return x.reshape(n, h, w, 4, c // 4).swapaxes(3, 4).reshape(x.shape)

    def symmetric(x):
        return (x + x.T) / 2

    def scaled_codes(q, s):
        return q.T.astype(jnp.float32) * s

    def packed(w):
        return w.reshape(w.shape[0] // 8, 8, -1).transpose(0, 2, 1)

    return {
        'bytes': (lambda x: x.T, [below(256, 317, 641, dtype=jnp.uint8)]),
        'bits': (lambda x: x.T, [below(2, 203, 509, dtype=bool)]),
        'halves': (lambda x: x.T, [of(jnp.float16, 131, 389)]),
        'bf16': (lambda x: x.T, [of(jnp.bfloat16, 401, 96)]),
        'int16': (lambda x: x.T + 1, [below(30000, 77, 1001, dtype=jnp.int16)]),
        'bytes_few_columns': (lambda x: x.T, [below(256, 20011, 12, dtype=jnp.uint8)]),
        'bytes_few_rows': (lambda x: x.T, [below(256, 9, 20011, dtype=jnp.uint8)]),
        'odd_edges': (lambda x: x.transpose(0, 2, 1), [f32(61, 30, 45)]),
        'odd_edges_bytes': (lambda x: x.transpose(0, 2, 1), [below(256, 61, 30, 45, dtype=jnp.uint8)]),
        'images_to_channels_first': (lambda x: x.transpose(0, 3, 1, 2), [below(256, 5, 61, 67, 3, dtype=jnp.uint8)]),
        'images_to_channels_last': (lambda x: x.transpose(0, 2, 3, 1), [below(256, 5, 3, 61, 67, dtype=jnp.uint8)]),
        'maps_to_channels_first_bf16': (lambda x: x.transpose(0, 3, 1, 2), [of(jnp.bfloat16, 3, 29, 31, 48)]),
        'maps_to_channels_last_f16': (lambda x: x.transpose(0, 2, 3, 1), [of(jnp.float16, 3, 48, 29, 31)]),
        'images_loaded': (loaded, [below(256, 4, 61, 67, 3, dtype=jnp.uint8)]),
        'images_written': (to_bytes, [f32(4, 3, 61, 67)]),
        'heads_apart_bf16': (heads, [of(jnp.bfloat16, 2, 97, 96), of(jnp.bfloat16, 96, 144)]),
        'volume_axes_turned': (lambda x: x.transpose(2, 0, 1), [below(1000, 41, 53, 67, dtype=jnp.int16)]),
        'volume_axes_exchanged': (lambda x: x.transpose(2, 1, 0), [of(jnp.bfloat16, 41, 53, 67)]),
        'blocks_of_pixels': (lambda x: blocks(x, 4), [below(256, 3, 64, 96, 3, dtype=jnp.uint8)]),
        'pixels_of_blocks_bf16': (lambda x: pixels(x, 2), [of(jnp.bfloat16, 3, 29, 31, 48)]),
        'channels_shuffled_f16': (shuffled, [of(jnp.float16, 3, 29, 31, 48)]),
        'turned_by_quarters_bytes': (lambda x: (jnp.rot90(x), jnp.rot90(x, 3)), [below(256, 203, 311, dtype=jnp.uint8)]),
        'with_its_transpose_f16': (symmetric, [of(jnp.float16, 257, 257)]),
        'codes_scaled': (scaled_codes, [below(127, 203, 311, dtype=jnp.int8), f32(203)]),
        'weights_packed': (packed, [below(127, 256, 317, dtype=jnp.int8)]),
        'lengths_of_complex': (lambda x: jnp.abs(x.T), [make.c64(503, 97)]),
        'conjugates_scaled': (lambda x: x.conj().T * .5, [make.c64(203, 311)]),
        'lengths_of_pairs': (lambda x: jnp.sqrt(x[..., 0] ** 2 + x[..., 1] ** 2).T, [f32(411, 153, 2)]),
        'one_of_each_pair': (lambda x: (x[..., 0].T, x[..., 1].T * 2), [f32(411, 153, 2)]),
        'spectrum_in_decibels': (lambda x: 20 * jnp.log10(jnp.abs(jnp.fft.fftshift(x.T, 0)) + 1e-6), [make.c64(600, 64)]),
        'turned_and_rolled': (lambda x: jnp.exp(-jnp.roll(x.T, 20, 0) ** 2), [f32(700, 64)]),
        'parts_apart': (lambda x: (x.T.real, x.T.imag), [make.c64(300, 256)]),
        'columns_gathered_bytes': (lambda x, i: x.T[i], [below(256, 503, 211, dtype=jnp.uint8), below(211, 97)]),
    }
