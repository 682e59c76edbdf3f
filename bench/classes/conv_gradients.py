"""Gradients of convolutions and transposed ones: programs(jax) -> {name: (function, [makers of arguments])}.

What should hold: holes of a dilated input cost nothing, and a sum over an image for each weight keeps pace with the convolution itself.
"""
from by_value import Programs, Random

R = Random(11)
f32 = R.f32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    found = Programs()
    add = found.add

    def conv(x, w, stride=1, layout=('NHWC', 'HWIO', 'NHWC'), groups=1):
        return lax.conv_general_dilated(x, w, (stride,) * (x.ndim - 2), 'SAME', dimension_numbers=layout, feature_group_count=groups)

    def weights(shape, **more):
        return lambda x, d: jax.vjp(lambda w: conv(x, w, **more), jnp.zeros(shape))[1](d)[0]

    def inputs(shape, **more):
        return lambda d, w: jax.vjp(lambda x: conv(x, w, **more), jnp.zeros(shape))[1](d)[0]

    add('weights_5x5', weights((5, 5, 12, 20)), f32(2, 16, 16, 12), f32(2, 16, 16, 20))
    add('weights_nchw', weights((20, 12, 3, 3), layout=('NCHW', 'OIHW', 'NCHW')), f32(2, 12, 16, 16), f32(2, 20, 16, 16))
    add('weights_1d', weights((7, 16, 24), layout=('NWC', 'WIO', 'NWC')), f32(2, 400, 16), f32(2, 400, 24))
    add('depthwise_weights_5x5', weights((5, 5, 1, 32), groups=32), f32(2, 16, 16, 32), f32(2, 16, 16, 32))
    add('depthwise_weights_1d', weights((4, 1, 48), layout=('NWC', 'WIO', 'NWC'), groups=48), f32(2, 300, 48), f32(2, 300, 48))
    add('depthwise_weights_stride_2', weights((3, 3, 1, 24), stride=2, groups=24), f32(2, 20, 20, 24), f32(2, 10, 10, 24))
    add('inputs_stride_3', inputs((2, 21, 21, 12), stride=3), f32(2, 7, 7, 16), f32(3, 3, 12, 16))
    add('inputs_stride_2_nchw', inputs((2, 12, 20, 20), stride=2, layout=('NCHW', 'OIHW', 'NCHW')), f32(2, 16, 10, 10), f32(16, 12, 3, 3))
    add('upsample_4x4', lambda x, w: lax.conv_transpose(x, w, (2, 2), 'SAME'), f32(2, 12, 12, 16), f32(4, 4, 16, 8))
    add('upsample_1d', lambda x, w: lax.conv_transpose(x, w, (4,), 'SAME', dimension_numbers=('NWC', 'WIO', 'NWC')), f32(2, 100, 12), f32(8, 12, 12))
    return found
