"""Convolutions of forms that layers seldom have: batches last, kernels turned, holes on both sides, groups of the batch, cut borders, other types, none or four dims of space."""
import numpy as np
from by_value import Programs, Random

FACTOR = 1024.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(9)
    add, f32 = P.add, R.f32

    def conv(x, w, strides, padding, dims, **k):
        return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=dims, **k)
    two = ('NHWC', 'HWIO', 'NHWC')
    add('batches_last', lambda x, w: conv(x, w, (1, 1), 'SAME', ('CHWN', 'IHWO', 'CHWN')), f32(7, 19, 23, 20), f32(7, 3, 3, 11))
    add('batches_last_stride_2', lambda x, w: conv(x, w, (2, 2), 'SAME', ('HWCN', 'HWIO', 'HWCN')), f32(41, 37, 3, 16), f32(5, 5, 3, 13))
    add('width_before_height', lambda x, w: conv(x, w, (1, 2), 'VALID', ('NWHC', 'OWHI', 'NCWH')), f32(3, 30, 28, 10), f32(17, 3, 5, 10))
    add('groups_of_the_batch', lambda x, w: conv(x, w, (1, 1), 'SAME', two, batch_group_count=3), f32(9, 15, 17, 8), f32(3, 3, 8, 12))
    add('holes_on_both_sides', lambda x, w: conv(x, w, (1, 1), ((2, 3), (1, 4)), two, lhs_dilation=(2, 3), rhs_dilation=(3, 2)), f32(2, 12, 13, 6), f32(3, 3, 6, 9))
    add('holes_and_strides', lambda x, w: conv(x, w, (3, 2), 'SAME', two, rhs_dilation=(2, 5)), f32(4, 50, 50, 5), f32(3, 3, 5, 7))
    add('borders_cut', lambda x, w: conv(x, w, (1, 1), ((-3, -2), (-1, 0)), two), f32(3, 40, 40, 8), f32(3, 3, 8, 8))
    add('seven_groups_of_three', lambda x, w: conv(x, w, (1, 1), 'SAME', two, feature_group_count=7), f32(2, 29, 31, 21), f32(3, 3, 3, 35))
    add('depthwise_of_three_each', lambda x, w: conv(x, w, (1, 1), 'SAME', two, feature_group_count=13), f32(2, 29, 31, 13), f32(3, 3, 1, 39))
    add('depthwise_channels_first_7x7', lambda x, w: conv(x, w, (1, 1), 'SAME', ('NCHW', 'OIHW', 'NCHW'), feature_group_count=24), f32(2, 24, 28, 28), f32(24, 1, 7, 7))
    add('depthwise_holes_1d', lambda x, w: conv(x, w, (1,), ((18, 0),), ('NHC', 'HIO', 'NHC'), rhs_dilation=(9,), feature_group_count=33), f32(3, 200, 33), f32(3, 1, 33))
    add('one_by_one_stride_2', lambda x, w: conv(x, w, (2, 2), 'VALID', two), f32(3, 41, 43, 30), f32(1, 1, 30, 50))
    add('one_by_one_of_three_channels', lambda x, w: conv(x, w, (1, 1), 'VALID', two), f32(1, 200, 200, 3), f32(1, 1, 3, 3))
    add('window_as_large_as_the_picture', lambda x, w: conv(x, w, (1, 1), 'VALID', two), f32(10, 14, 14, 12), f32(14, 14, 12, 40))
    add('one_row_windows', lambda x, w: conv(x, w, (1, 1), 'SAME', two), f32(2, 33, 65, 9), f32(1, 11, 9, 9))
    add('one_column_windows', lambda x, w: conv(x, w, (1, 1), 'SAME', two), f32(2, 65, 33, 9), f32(11, 1, 9, 9))
    add('transposed_stride_3', lambda x, w: lax.conv_transpose(x, w, (3, 3), 'SAME', dimension_numbers=two), f32(2, 13, 15, 10), f32(5, 5, 10, 6))
    add('transposed_1d_stride_5', lambda x, w: lax.conv_transpose(x, w, (5,), 'VALID', dimension_numbers=('NHC', 'HIO', 'NHC')), f32(3, 101, 12), f32(10, 12, 7))
    add('transposed_3d', lambda x, w: lax.conv_transpose(x, w, (2, 2, 2), 'SAME', dimension_numbers=('NDHWC', 'DHWIO', 'NDHWC')), f32(1, 7, 8, 9, 6), f32(3, 3, 3, 6, 5))
    add('volumes_channels_first', lambda x, w: conv(x, w, (1, 1, 1), 'SAME', ('NCDHW', 'OIDHW', 'NCDHW')), f32(1, 5, 11, 17, 19), f32(7, 5, 3, 3, 3))
    add('volumes_holes_depthwise', lambda x, w: conv(x, w, (1, 1, 1), 'SAME', ('NDHWC', 'DHWIO', 'NDHWC'), rhs_dilation=(2, 2, 2), feature_group_count=11), f32(1, 13, 14, 15, 11), f32(3, 3, 3, 1, 11))
    add('four_dims_of_space', lambda x, w: conv(x, w, (1, 1, 1, 1), 'VALID', None), f32(1, 2, 7, 8, 9, 10), f32(3, 2, 3, 3, 3, 3))
    add('four_dims_channels_last', lambda x, w: conv(x, w, (1, 2, 1, 1), 'SAME', ('NTDHWC', 'TDHWIO', 'NTDHWC'), rhs_dilation=(1, 1, 2, 1)), f32(2, 6, 9, 8, 7, 8), f32(2, 3, 3, 2, 8, 12))
    add('four_dims_in_groups', lambda x, w: conv(x, w, (2, 1, 1, 1), ((1, 2), (0, 0), (1, 1), (-1, 0)), None, lhs_dilation=(1, 1, 2, 1), feature_group_count=2), f32(2, 6, 5, 6, 4, 7), f32(8, 3, 3, 2, 3, 3))
    add('five_dims_of_space', lambda x, w: conv(x, w, (1,) * 5, 'VALID', None), f32(2, 3, 5, 4, 6, 5, 7), f32(4, 3, 2, 2, 3, 2, 3))
    add('four_dims_of_space_gradient', jax.grad(lambda x, w: (conv(x, w, (1, 1, 1, 1), 'SAME', None) ** 2).sum(), (0, 1)), f32(1, 3, 4, 6, 7, 8), f32(5, 3, 3, 3, 3, 3))
    add('no_dims_of_space', lambda x, w: conv(x, w, (), (), None), f32(100, 90), f32(30, 90))
    add('of_f16', lambda x, w: conv(x, w, (1, 1), 'SAME', two), R.f16(2, 21, 21, 15), R.f16(3, 3, 15, 18))
    add('of_bf16_stride_2', lambda x, w: conv(x, w, (2, 2), 'SAME', two), R.bf16(2, 45, 45, 3), R.bf16(7, 7, 3, 32))
    add('of_complex', lambda x, w: conv(x, w, (1, 1), 'SAME', two), R.c64(1, 15, 16, 5), R.c64(3, 3, 5, 6))
    add('of_bytes', lambda x, w: conv(x, w, (1, 1), 'SAME', two, preferred_element_type=jnp.int32), R.randint(-128, 128, (1, 30, 31, 16)).astype(np.int8), R.randint(-128, 128, (3, 3, 16, 20)).astype(np.int8))
    add('of_words', lambda x, w: conv(x, w, (1, 1), 'SAME', two), R.i32(100, 1, 20, 21, 3), R.i32(100, 3, 3, 3, 5))
    add('of_one_channel_5x5', lambda x, w: conv(x, w, (1, 1), 'SAME', two), f32(3, 50, 51, 1), f32(5, 5, 1, 1))
    add('of_one_channel_into_16', lambda x, w: conv(x, w, (1, 1), 'SAME', two), f32(3, 28, 28, 1), f32(5, 5, 1, 16))
    add('of_64_into_one', lambda x, w: conv(x, w, (1, 1), 'SAME', two), f32(1, 30, 31, 64), f32(3, 3, 64, 1))
    add('of_large_batch_of_small', lambda x, w: conv(x, w, (1, 1), 'SAME', two), f32(128, 4, 4, 24), f32(3, 3, 24, 24))
    add('of_100_channels', lambda x, w: conv(x, w, (1, 1), 'SAME', two), f32(1, 14, 14, 100), f32(3, 3, 100, 100))
    add('of_256_channels_at_7x7', lambda x, w: conv(x, w, (1, 1), 'SAME', two), f32(1, 7, 7, 256), f32(3, 3, 256, 256))
    g = lambda f: jax.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1))
    add('batches_last_gradient', g(lambda x, w: conv(x, w, (1, 1), 'SAME', ('CHWN', 'IHWO', 'CHWN'))), f32(5, 13, 14, 16), f32(5, 3, 3, 7))
    add('seven_groups_gradient', g(lambda x, w: conv(x, w, (2, 2), 'SAME', two, feature_group_count=7)), f32(2, 25, 27, 21), f32(3, 3, 3, 35))
    add('holes_gradient', g(lambda x, w: conv(x, w, (1, 1), 'SAME', two, rhs_dilation=(3, 3))), f32(2, 22, 23, 9), f32(3, 3, 9, 10))
    add('volumes_channels_first_gradient', g(lambda x, w: conv(x, w, (1, 1, 1), 'SAME', ('NCDHW', 'OIDHW', 'NCDHW'))), f32(1, 4, 9, 10, 11), f32(6, 4, 3, 3, 3))
    add('depthwise_of_three_each_gradient', g(lambda x, w: conv(x, w, (1, 1), 'SAME', two, feature_group_count=13)), f32(2, 17, 19, 13), f32(3, 3, 1, 39))
    add('one_by_one_stride_2_gradient', g(lambda x, w: conv(x, w, (2, 2), 'VALID', two)), f32(3, 31, 33, 20), f32(1, 1, 20, 30))
    return P
