"""Pictures, films, volumes and tokens whose dims are parted, changed in order and joined: patches, windows, blocks to channels and back, heads, octants."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0


def programs(jax):
    jnp = jax.numpy
    P, R = Programs(), Random(21)
    add, f32 = P.add, R.f32

    def moved(name, parted, order, joined, *kinds, after=lambda x: x):
        whole = np.zeros(parted, bool)
        for kind in kinds or ('f32',):
            value = {'f32': f32, 'bf16': R.bf16, 'u8': R.u8, 'f16': R.f16}[kind](whole.size)
            add(name + ('' if kind == 'f32' else '_' + kind), lambda x: after(x.reshape(parted).transpose(order).reshape(joined)), value.reshape(-1))

    moved('patches_of_pictures', (3, 14, 16, 14, 16, 3), (0, 1, 3, 2, 4, 5), (3, 196, 768), 'f32', 'u8', 'bf16')
    moved('patches_of_channels_first', (3, 3, 14, 16, 14, 16), (0, 2, 4, 3, 5, 1), (3, 196, 768), 'f32', 'u8')
    moved('patches_channel_by_channel', (3, 14, 16, 14, 16, 3), (0, 1, 3, 5, 2, 4), (3, 196, 768))
    moved('patches_back', (2, 12, 12, 8, 8, 3), (0, 1, 3, 2, 4, 5), (2, 96, 96, 3), 'f32', 'bf16')
    moved('patches_back_channels_first', (2, 12, 12, 8, 8, 3), (0, 5, 1, 3, 2, 4), (2, 3, 96, 96))
    moved('tubes_of_films', (1, 4, 2, 7, 16, 7, 16, 3), (0, 1, 3, 5, 2, 4, 6, 7), (196, 1536), 'f32', 'u8')
    moved('windows_of_films', (1, 2, 4, 3, 7, 4, 7, 24), (0, 1, 3, 5, 2, 4, 6, 7), (24, 196, 24))
    moved('windows_of_films_back', (1, 2, 3, 4, 4, 7, 7, 24), (0, 1, 4, 2, 5, 3, 6, 7), (1, 8, 21, 28, 24))
    moved('blocks_to_channels', (2, 30, 2, 31, 2, 12), (0, 1, 3, 2, 4, 5), (2, 30, 31, 48), 'f32', 'bf16')
    moved('channels_to_blocks', (2, 30, 31, 2, 2, 12), (0, 1, 3, 2, 4, 5), (2, 60, 62, 12), 'f32', 'f16')
    moved('channels_to_blocks_of_three', (1, 30, 31, 3, 3, 3), (0, 1, 3, 2, 4, 5), (1, 90, 93, 3), 'f32', 'u8')
    moved('channels_first_to_blocks', (1, 12, 2, 2, 30, 31), (0, 1, 4, 2, 5, 3), (1, 12, 60, 62))
    moved('blocks_to_channels_first', (1, 12, 30, 2, 31, 2), (0, 1, 3, 5, 2, 4), (1, 48, 30, 31))
    moved('octants_to_channels', (1, 10, 2, 11, 2, 12, 2, 3), (0, 1, 3, 5, 2, 4, 6, 7), (1, 10, 11, 12, 24))
    moved('channels_to_octants', (1, 10, 11, 12, 2, 2, 2, 3), (0, 1, 4, 2, 5, 3, 6, 7), (1, 20, 22, 24, 3))
    moved('octants_one_channel', (12, 2, 12, 2, 12, 2), (0, 2, 4, 1, 3, 5), (1728, 8))
    moved('heads_first', (3, 101, 3, 5, 24), (2, 0, 3, 1, 4), (3, 3, 5, 101, 24), 'f32', 'bf16')
    moved('heads_last', (3, 5, 101, 24), (0, 2, 1, 3), (3, 101, 120), 'f32', 'bf16')
    moved('width_before_length', (3, 101, 5, 24), (0, 2, 3, 1), (3, 5, 24, 101))
    moved('cubes_turned', (41, 42, 43), (2, 1, 0), (43, 42, 41), 'f32', 'u8', 'bf16')
    moved('cubes_rolled', (41, 42, 43), (1, 2, 0), (42, 43, 41))
    moved('short_dims_turned', (2, 3, 4, 5, 6, 7), (5, 4, 3, 2, 1, 0), (7, 6, 5, 4, 3, 2))
    moved('short_dims_shuffled', (2, 3, 4, 5, 6, 7), (2, 0, 4, 1, 5, 3), (4, 2, 6, 3, 7, 5), 'f32', 'u8')
    moved('twos_turned', (2,) * 12, tuple(range(12))[::-1], (4096,))
    moved('twos_apart', (2,) * 13, tuple(range(0, 13, 2)) + tuple(range(1, 13, 2)), (8192,))
    moved('threes_turned', (3,) * 8, tuple(range(8))[::-1], (6561,))
    moved('pairs_of_sites_parted', (4, 4, 4, 4, 4, 4), (0, 3, 1, 4, 2, 5), (16, 16, 16))
    moved('rows_and_columns_crossed', (9, 10, 11, 12), (0, 2, 1, 3), (99, 120))
    moved('first_and_last_crossed', (9, 30, 31, 5), (3, 1, 2, 0), (5, 30, 31, 9), 'f32', 'u8')
    moved('normalised_patches', (3, 14, 16, 14, 16, 3), (0, 1, 3, 2, 4, 5), (3, 196, 768), 'u8', after=lambda x: (x.astype(np.float32) - 120) / 60)
    moved('patches_with_moments', (3, 14, 16, 14, 16, 3), (0, 1, 3, 2, 4, 5), (3, 196, 768), after=lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-6))
    moved('octants_at_most', (1, 10, 2, 11, 2, 12, 2, 3), (0, 1, 3, 5, 7, 2, 4, 6), (1, 10, 11, 12, 3, 8), after=lambda x: x.max(-1))
    moved('large_patches', (8, 14, 16, 14, 16, 3), (0, 1, 3, 2, 4, 5), (8, 196, 768))
    moved('large_blocks_to_channels', (4, 112, 2, 112, 2, 16), (0, 1, 3, 2, 4, 5), (4, 112, 112, 64))
    moved('large_channels_to_blocks_of_three', (4, 112, 112, 2, 2, 3), (0, 1, 3, 2, 4, 5), (4, 224, 224, 3), 'f32', 'u8')
    moved('large_octants_to_channels', (2, 24, 2, 24, 2, 24, 2, 4), (0, 1, 3, 5, 2, 4, 6, 7), (2, 24, 24, 24, 32))
    moved('large_cubes_turned', (121, 122, 123), (2, 1, 0), (123, 122, 121))
    moved('large_fives_turned', (5,) * 8, tuple(range(8))[::-1], (390625,))
    for c in (1, 2, 4):
        moved(f'octants_of_{c}', (20, 2, 20, 2, 20, 2, c), (0, 2, 4, 1, 3, 5, 6), (8000, 8 * c))
        moved(f'squares_of_{c}', (90, 2, 90, 2, c), (0, 2, 1, 3, 4), (8100, 4 * c))
    add('coloured', lambda x, m: x @ m, f32(120, 121, 3), f32(3, 3))
    add('coloured_with_offsets', lambda x, m, b: jnp.clip(x.astype(np.float32) @ m + b, 0, 255).astype(np.uint8), R.u8(120, 121, 3), f32(3, 3), f32(3))
    add('coloured_by_a_layer', lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), f32(2, 120, 121, 3), f32(1, 1, 3, 4))
    add('coloured_by_a_layer_f16', lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), R.f16(2, 120, 121, 3), R.f16(1, 1, 3, 4))
    add('coloured_by_a_layer_channels_first', lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), 'VALID'), f32(2, 3, 120, 121), f32(4, 3, 1, 1))
    add('grey_by_a_layer', lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), f32(2, 120, 121, 3), f32(1, 1, 3, 1))
    add('one_into_three_by_a_layer', lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), f32(2, 120, 121, 1), f32(1, 1, 1, 3))
    add('five_into_two_by_a_layer', lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), f32(2, 90, 91, 5), f32(1, 1, 5, 2))
    add('three_taps_of_two_channels', lambda x, w: jax.lax.conv_general_dilated(x, w, (1,), 'SAME', dimension_numbers=('NHC', 'HIO', 'NHC')), f32(3, 4001, 2), f32(3, 2, 2))
    add('one_by_one_of_three_gradient', lambda x, w, y: jax.grad(lambda w: ((jax.lax.conv_general_dilated(x, w, (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC')) - y) ** 2).mean())(w), f32(1, 120, 121, 3), f32(1, 1, 3, 3), f32(1, 120, 121, 3))
    patches = lambda x: x.reshape(3, 3, 14, 16, 14, 16).transpose(0, 2, 4, 3, 5, 1).reshape(3, 196, 768)
    add('masked_patches_loss', lambda x, y: jnp.mean(jnp.abs(patches(x) * 2 - 1)), f32(3, 3, 224, 224), f32(3, 196, 768))
    add('energies_of_patches', lambda x: jnp.sum(patches(x) ** 2, -1), f32(3, 3, 224, 224))
    add('largest_of_turned_blocks', lambda x: jnp.max(jnp.abs(x.reshape(40, 8, 50, 8).transpose(0, 2, 3, 1) - .5), (2, 3)), f32(320, 400))
    add('norm_of_what_was_turned', lambda x: jnp.sqrt(jnp.sum((3 * x.transpose(2, 1, 0) + 1) ** 2)), f32(60, 70, 80))
    return P
