"""Layers of networks for pictures: weights of each sample, blurs between sizes, correlations looked up, masks, attention over scales, pools, styles."""
import numpy as np
from by_value import Programs, Random

FACTOR = 32.0
R = Random(4201)
f32, weights = R.f32, R.weights


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add

    def conv(x, w, strides=(1, 1), padding='SAME', groups=1):
        return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=groups)

    def modulated(x, w, s):
        """Weights scaled and normed for each sample, samples as groups of one convolution."""
        b, h, wd, c = x.shape
        k = w[None] * s[:, None, None, :, None]
        k = k * lax.rsqrt((k * k).sum((1, 2, 3), keepdims=True) + 1e-8)
        k = k.transpose(1, 2, 3, 0, 4).reshape(3, 3, c, -1)
        y = conv(x.transpose(1, 2, 0, 3).reshape(1, h, wd, b * c), k, groups=b)
        return y.reshape(h, wd, b, -1).transpose(2, 0, 1, 3)
    add('modulated_convolution', modulated, f32(5, 23, 23, 24), weights(3, 3, 24, 19), f32(5, 24))
    add('modulated_convolution_gradient', jax.grad(lambda w, x, s: (modulated(x, w, s) ** 2).mean(), (0, 2)),
        weights(3, 3, 24, 19), f32(5, 23, 23, 24), f32(5, 24))

    taps = np.outer([1, 3, 3, 1], [1, 3, 3, 1]).astype(np.float32) / 64

    def zeros_inserted(x):
        planes = x.transpose(0, 3, 1, 2).reshape(-1, 1, *x.shape[1:3])
        return lax.conv_general_dilated(planes, 4 * jnp.asarray(taps)[None, None], (1, 1), ((2, 1), (2, 1)), lhs_dilation=(2, 2))
    add('doubled_by_a_filter', zeros_inserted, f32(3, 29, 31, 17))

    def blurred(x):
        padded = jnp.pad(x, ((0, 0), (1, 2), (1, 2), (0, 0)), mode='reflect')
        return conv(padded, jnp.tile(jnp.asarray(taps)[:, :, None, None], (1, 1, 1, x.shape[-1])), (2, 2), 'VALID', x.shape[-1])
    add('halved_by_a_filter', blurred, f32(3, 29, 31, 17))

    def correlations(first, second, flow):
        """Correlations of all pairs of places, looked up bilinearly in a window about where each place flows to."""
        h, w, c = first.shape
        table = (first.reshape(-1, c) @ second.reshape(-1, c).T).reshape(h * w, h, w) / np.sqrt(c)
        y, x = jnp.meshgrid(jnp.arange(h), jnp.arange(w), indexing='ij')
        d = jnp.arange(-3, 4)

        def one(m, y, x):
            return jax.scipy.ndimage.map_coordinates(m, [y + d[:, None] + 0. * d[None], x + d[None] + 0. * d[:, None]], 1)
        return jax.vmap(one)(table, (y + flow[..., 0]).reshape(-1), (x + flow[..., 1]).reshape(-1))
    add('correlations_looked_up', correlations, f32(19, 23, 31), f32(19, 23, 31), 3 * f32(19, 23, 2))

    def masked_convolutions(x, ws):
        mask = np.ones((5, 5, 1, 1), np.float32)
        mask[3:] = 0
        mask[2, 3:] = 0
        for w in ws:
            a, b = jnp.split(conv(x, w * mask), 2, -1)
            x = x + jnp.tanh(a) * nn.sigmoid(b)
        return x
    add('masked_pixel_convolutions', masked_convolutions, f32(3, 28, 28, 20), .2 * weights(3, 5, 5, 20, 40))

    def deformable(values, places, attention):
        """Values of three scales, read bilinearly at four places per head and scale, places out of the picture at 0."""
        out = 0.
        for v, at, a in zip(values, places, attention):
            h, w = v.shape[:2]
            x, y = at[..., 0] * w - .5, at[..., 1] * h - .5
            left, top = jnp.floor(x), jnp.floor(y)
            head = jnp.arange(v.shape[2])[None, :, None]
            for dy in (0, 1):
                for dx in (0, 1):
                    i, j = top + dy, left + dx
                    weight = (1 - abs(x - j)) * (1 - abs(y - i)) * ((j >= 0) & (j < w) & (i >= 0) & (i < h))
                    read = v[jnp.clip(i, 0, h - 1).astype(int), jnp.clip(j, 0, w - 1).astype(int), head]
                    out = out + ((weight * a)[..., None] * read).sum(2)
        return out
    scales = ([f32(h, h, 4, 15) for h in (31, 16, 8)], R.share(3, 211, 4, 4, 2), R.share(3, 211, 4, 4))
    add('deformable_attention_of_scales', deformable, *scales)
    add('deformable_attention_of_scales_gradient', jax.grad(lambda *a: (deformable(*a) ** 2).sum(), (0, 1, 2)), *scales)

    def channels_and_places(x, w1, w2, wc):
        means, extremes = x.mean((1, 2)), x.max((1, 2))
        x = x * nn.sigmoid(nn.relu(means @ w1) @ w2 + nn.relu(extremes @ w1) @ w2)[:, None, None]
        return x * nn.sigmoid(conv(jnp.stack([x.mean(-1), x.max(-1)], -1), wc))
    add('channel_and_place_attention', channels_and_places, f32(5, 29, 31, 44), weights(44, 5), weights(5, 44), weights(7, 7, 2, 1))

    def pools(x):
        sizes = [(1, 60 // k, 60 // k, 1) for k in (1, 2, 3, 4, 6)]
        return jnp.concatenate([lax.reduce_window(x, -jnp.inf, lax.max, s, s, 'VALID').reshape(x.shape[0], -1) for s in sizes], 1)
    add('pools_of_five_sizes', pools, f32(3, 60, 60, 21))

    def styled(x, scale, shift, w):
        x = (x - x.mean((1, 2), keepdims=True)) * lax.rsqrt(x.var((1, 2), keepdims=True) + 1e-5)
        x = x * scale[:, None, None] + shift[:, None, None]
        return conv(jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode='reflect'), w, padding='VALID')
    add('norms_of_a_style_reflected', styled, f32(3, 41, 43, 26), f32(3, 26), f32(3, 26), weights(3, 3, 26, 26))

    def style_loss(x, target):
        return ((jnp.einsum('bhwc,bhwd->bcd', x, x) / x[0].size - target) ** 2).sum()
    add('style_loss_gradient', jax.grad(style_loss), f32(3, 33, 35, 51), f32(3, 51, 51))
    return P
