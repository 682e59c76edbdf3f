"""Convolutions in both layouts: strides, dilation, groups, one to three spatial dims, with neighbours, as models use them."""
import functools

from arrays import bf16, f32

FACTOR = 4.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    nhwc = ('NHWC', 'HWIO', 'NHWC')
    n, h, c = pick((1, 14, 8), (4, 28, 32), (8, 56, 64))

    def conv(x, w, stride=1, padding='SAME', numbers=nhwc, **more):
        return lax.conv_general_dilated(x, w, (stride,) * (x.ndim - 2), padding, dimension_numbers=numbers, **more)

    x, w = f32(n, h, h, c), f32(3, 3, c, c, scale=0.2)
    add('3x3', conv, x, w)
    add('3x3_stride_2', functools.partial(conv, stride=2), x, w)
    add('5x5_valid', functools.partial(conv, padding='VALID'), x, f32(5, 5, c, c // 2))
    add('1x1', conv, x, f32(1, 1, c, 2 * c))
    add('1x1_stride_2', functools.partial(conv, stride=2), x, f32(1, 1, c, 2 * c))
    add('dilated', functools.partial(conv, rhs_dilation=(2, 2)), x, w)
    add('transposed', lambda x, w: lax.conv_transpose(x, w, (2, 2), 'SAME'), x, f32(3, 3, c, c // 2))
    add('depthwise', functools.partial(conv, feature_group_count=c), x, f32(3, 3, 1, c))
    add('depthwise_doubled', functools.partial(conv, feature_group_count=c), x, f32(3, 3, 1, 2 * c))
    add('grouped_4', functools.partial(conv, feature_group_count=4), x, f32(3, 3, c // 4, c))
    add('nchw', lambda x, w: conv(x, w, numbers=('NCHW', 'OIHW', 'NCHW')), f32(n, c, h, h), f32(c, c, 3, 3))
    nchw = ('NCHW', 'OIHW', 'NCHW')
    add('nchw_stride_2', lambda x, w: conv(x, w, 2, numbers=nchw), f32(n, c, h, h), f32(2 * c, c, 3, 3))
    add('nchw_stem', lambda x, w: conv(x, w, 2, numbers=nchw), f32(n, 3, 4 * h, 4 * h), f32(c, 3, 7, 7))
    add('nchw_7x7_image', lambda x, w: conv(x, w, numbers=nchw), f32(n, 2 * c, 7, 7), f32(2 * c, 2 * c, 3, 3))
    add('nchw_weight_gradient', lambda x, d: jax.vjp(lambda w: conv(x, w, numbers=nchw), jnp.zeros((c, c, 3, 3)))[1](d)[0], f32(n, c, h, h), f32(n, c, h, h), factor=4)
    add('prime_extents', lambda x, w: conv(x, w, padding='VALID'), f32(n, h + 3, h - 1, 5), f32(3, 5, 5, 7))
    add('stem_7x7', functools.partial(conv, stride=2), f32(n, 4 * h, 4 * h, 3), f32(7, 7, 3, c))
    add('one_channel', conv, f32(n, 2 * h, 2 * h, 1), f32(5, 5, 1, 6))
    add('to_one_channel', conv, x, f32(3, 3, c, 1))
    length = pick(300, 8000, 60000)
    add('1d', lambda x, w: conv(x, w, numbers=('NWC', 'WIO', 'NWC')), f32(2, length, 12), f32(7, 12, 16))
    add('1d_causal_dilated', lambda x, w: lax.conv_general_dilated(x, w, (1,), [(8, 0)], rhs_dilation=(4,), dimension_numbers=('NWC', 'WIO', 'NWC')),
        f32(2, length, 12), f32(3, 12, 12))
    add('signal_valid', lambda x, k: jnp.convolve(x, k, 'valid'), f32(length), f32(31))
    add('3d', lambda x, w: conv(x, w, numbers=('NDHWC', 'DHWIO', 'NDHWC')), f32(1, h // 2, h // 2, h // 2, c // 2), f32(3, 3, 3, c // 2, c // 2))
    add('bias_relu_residual', lambda x, w, b: jax.nn.relu(conv(x, w) + b + x), x, w, f32(c))
    add('norm_silu', lambda x, w, g: jax.nn.silu((lambda y: (y - y.mean((0, 1, 2))) * lax.rsqrt(y.var((0, 1, 2)) + 1e-5) * g)(conv(x, w))), x, w, f32(c), factor=4)
    add('separable', lambda x, d, p: conv(jax.nn.relu(conv(x, d, feature_group_count=c)), p), x, f32(3, 3, 1, c), f32(1, 1, c, 2 * c))
    add('bf16', conv, bf16(n, h, h, c), bf16(3, 3, c, c, scale=0.2), factor=4)
    add('weight_gradient', lambda x, d: jax.vjp(lambda w: conv(x, w), jnp.zeros((3, 3, c, c)))[1](d)[0], x, x, factor=4)
    add('weight_gradient_stride_2', lambda x, d: jax.vjp(lambda w: conv(x, w, 2), jnp.zeros((3, 3, c, c)))[1](d)[0], x, f32(n, h // 2, h // 2, c), factor=4)
    add('input_gradient', lambda d, w: jax.vjp(lambda x: conv(x, w), jnp.zeros((n, h, h, c)))[1](d)[0], x, w)
    add('input_gradient_stride_2', lambda d, w: jax.vjp(lambda x: conv(x, w, 2), jnp.zeros((n, h, h, c)))[1](d)[0], f32(n, h // 2, h // 2, c), w)
    add('depthwise_weight_gradient', lambda x, d: jax.vjp(lambda w: conv(x, w, feature_group_count=c), jnp.zeros((3, 3, 1, c)))[1](d)[0], x, x, factor=4)
    add('depthwise_input_gradient', lambda d, w: jax.vjp(lambda x: conv(x, w, feature_group_count=c), jnp.zeros((n, h, h, c)))[1](d)[0], x, f32(3, 3, 1, c))
    add('grouped_gradients', lambda x, w: jax.grad(lambda x, w: (conv(x, w, feature_group_count=4) ** 2).mean(), (0, 1))(x, w), x, f32(3, 3, c // 4, c), factor=4)
