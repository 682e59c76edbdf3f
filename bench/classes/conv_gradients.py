"""Gradients of convolutions and transposed ones: programs(jax) -> {name: (function, [makers of arguments])}.

What should hold: holes of a dilated input cost nothing, and a sum over an image for each weight keeps pace with the convolution itself.
"""
import numpy as np
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

    # Derivatives of derivatives, whose windows are gradients and larger than their inputs.
    def features(x, w, stride=1):
        return jnp.tanh(lax.conv_general_dilated(x, w, (stride, stride), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')))

    def critic(w, v, x):
        return jnp.mean(features(features(x, w, 2), v, 2) ** 2)

    two = f32(3, 3, 3, 16) * np.float32(.2), f32(3, 3, 16, 24) * np.float32(.1)
    loss = lambda w, v, x: critic(w, v, x)
    add('gradient_penalty', lambda w, v, x: jax.grad(lambda w, v: jnp.mean((jnp.sqrt(jnp.sum(jax.grad(critic, 2)(w, v, x) ** 2, (1, 2, 3))) - 1) ** 2), (0, 1))(w, v), *two, f32(4, 20, 20, 3))
    add('hessian_times_vector', lambda w, v, x: jax.jvp(lambda w, v: jax.grad(loss, (0, 1))(w, v, x), (w, v), (w, v)), *two, f32(4, 20, 20, 3))
    add('vector_times_hessian', lambda w, v, x: jax.grad(lambda w, v: sum((g * d).sum() for g, d in zip(jax.grad(loss, (0, 1))(w, v, x), (w, v))), (0, 1))(w, v), *two, f32(4, 20, 20, 3))
    add('inner_step_of_meta_learning', lambda w, v, x, y: jax.grad(lambda w: loss(w - .1 * jax.grad(loss)(w, v, x), v, y))(w), *two, f32(3, 16, 16, 3), f32(3, 16, 16, 3))
    add('gradient_of_a_gradient_stride_2', lambda x, w: jax.grad(lambda x: jnp.sum(jax.grad(lambda x, w: jnp.sum(conv(x, w, 2) ** 2), 1)(x, w) ** 2))(x), f32(3, 24, 24, 8), f32(3, 3, 8, 16) * np.float32(.1))
    add('jacobian_of_a_filter', lambda x, w: jax.jacrev(lambda w: jnp.convolve(x, w, 'same'))(w), f32(301), f32(9))
    add('long_filter_by_short_signal', lambda x, w: lax.conv_general_dilated(x, w, (1,), [(199, 199)], dimension_numbers=('NWC', 'WIO', 'NWC')), f32(8, 12, 4), f32(200, 4, 16))
    return found
