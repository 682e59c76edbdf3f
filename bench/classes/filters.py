"""Convolutions of few channels with long windows: filters of signals and pictures, banks of them, their gradients."""


def programs(jax):
    import numpy as np
    jnp, lax = jax.numpy, jax.lax

    def signal(*shape, dtype=np.float32):
        return lambda: np.random.RandomState(sum(shape)).standard_normal(shape).astype(dtype) / shape[-1] ** 0.5

    def conv(x, w, stride=1, padding='VALID', dilation=1):
        spatial = x.ndim - 2
        return lax.conv_general_dilated(x, w, (stride,) * spatial, padding, rhs_dilation=(dilation,) * spatial)

    def picture(x, w, padding='SAME'):
        return conv(x[None, None], w[None, None], padding=padding)[0, 0]

    def matched(x, w):
        return jnp.argmax(jnp.correlate(x, w, mode='valid'))

    def loss(x, w, y):
        return jnp.mean((jnp.convolve(x, w, mode='same') - y) ** 2)

    def unsharp(x, w):
        return x + 0.5 * (x - picture(x, jnp.outer(w, w)))

    def echoes(x, w):
        return jnp.tanh(jnp.convolve(x, w)[:x.shape[0]])

    def bank(x, w):
        return jnp.log1p(conv(x[:, None], w[:, None], stride=64) ** 2)

    def layer(x, w, b):
        return jax.nn.relu(conv(x, w, padding='SAME') + b[:, None])

    def channels_last(x, w):
        return lax.conv_general_dilated(x, w, (1,), 'SAME', dimension_numbers=('NWC', 'WIO', 'NWC'))

    def several(x, w):
        return jax.vmap(lambda a, b: jnp.convolve(a, b, mode='same'))(x, w)

    def shared(x, w):
        return jax.vmap(lambda a: jnp.convolve(a, w, mode='same'))(x)

    def autocorrelation(x):
        x = x - x.mean()
        return jnp.correlate(x, x, mode='full')[x.shape[0] - 1:] / x.shape[0]

    def transposed(x, w):
        return lax.conv_transpose(x, w, (4,), 'SAME', dimension_numbers=('NCH', 'OIH', 'NCH'))

    return {
        'matched_filter': (matched, [signal(20000), signal(333)]),
        'fit_of_a_filter': (jax.grad(loss, 1), [signal(6000), signal(257), signal(6000)]),
        'loss_of_a_signal': (jax.grad(loss), [signal(3000), signal(501), signal(3000)]),
        'unsharp_mask': (unsharp, [signal(200, 180), signal(15)]),
        'blurred_picture': (picture, [signal(150, 220), signal(21, 17)]),
        'template_in_picture': (lambda x, w: picture(x, w, 'VALID'), [signal(120, 130), signal(40, 33)]),
        'gradient_of_a_blur': (jax.grad(lambda w, x, y: ((picture(x, w) - y) ** 2).mean()), [signal(13, 13), signal(128, 120), signal(128, 120)]),
        'echoes': (echoes, [signal(8000), signal(2000)]),
        'doubles': (lambda x, w: jnp.convolve(x, w), [signal(5000), signal(600)]),
        'filter_bank': (bank, [signal(2, 16000), signal(40, 400)]),
        'two_to_three_channels': (layer, [signal(4, 2, 900), signal(3, 2, 65), signal(3)]),
        'stereo_to_mono': (layer, [signal(1, 2, 10000), signal(1, 2, 300), signal(1)]),
        'one_channel_last': (channels_last, [signal(2, 4000, 1), signal(201, 1, 1)]),
        'four_channels_last': (channels_last, [signal(2, 3000, 4), signal(101, 4, 2)]),
        'a_filter_each': (several, [signal(24, 700), signal(24, 180)]),
        'one_filter_for_all': (shared, [signal(64, 500), signal(150)]),
        'autocorrelation': (autocorrelation, [signal(3001)]),
        'dilated': (lambda x, w: conv(x, w, dilation=7), [signal(1, 1, 9000), signal(2, 1, 160)]),
        'strided': (lambda x, w: conv(x, w, stride=3), [signal(3, 1, 9000), signal(1, 1, 200)]),
        'transposed': (transposed, [signal(1, 3, 800), signal(1, 3, 160)]),
        'volume': (lambda x, w: conv(x, w, padding='SAME'), [signal(1, 1, 24, 26, 28), signal(1, 1, 7, 5, 9)]),
    }
