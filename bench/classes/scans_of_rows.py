"""Running sums, products and extremes along the last dim of many rows, of widths that caches like and widths that they do not."""
import numpy as np
from by_value import Programs, Random
R = Random(1129)
f32, i32, u8 = R.f32, R.i32, R.u8


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    for rows, columns in ((1024, 1024), (1000, 1000), (64, 4096), (4099, 61), (333, 2048), (17, 3000)):
        add(f'cumsum_{rows}x{columns}', lambda x: jnp.cumsum(x, -1), f32(rows, columns))
    add('cumsum_back_501x1024', lambda x: lax.cumsum(x, 1, reverse=True), f32(501, 1024))
    add('cumprod_201x333', lambda x: jnp.cumprod(1 + .01 * x, -1), f32(201, 333))
    add('cummax_bytes_300x1024', lambda x: lax.cummax(x, 1), u8(300, 1024))
    add('cumsum_flags_501x2048', lambda x: jnp.cumsum(x > 0, -1), f32(501, 2048))
    add('cumlogsumexp_257x512', lambda x: lax.cumlogsumexp(x, 1), f32(257, 512))
    add('cumsum_bf16_512x512', lambda x: jnp.cumsum(x, -1), R.bf16(512, 512))
    add('cumsum_images_3x224x224', lambda x: jnp.cumsum(jnp.cumsum(x, -1), -2), f32(3, 224, 224))
    add('boxes_by_integral_image', lambda x, yx: (lambda s: s[yx[:, 0] + 9, yx[:, 1] + 9] - s[yx[:, 0] + 9, yx[:, 1]] - s[yx[:, 0], yx[:, 1] + 9] + s[yx[:, 0], yx[:, 1]])(jnp.cumsum(jnp.cumsum(x, 0), 1)), f32(300, 256), i32(247, 2000, 2))
    add('top_p_mask_64x2048', lambda x: (lambda p: jnp.where(jnp.cumsum(p, -1) - p < .9, p, 0))(-jnp.sort(-jax.nn.softmax(x, -1), -1)), f32(64, 2048))
    add('inverse_cdf_samples', lambda w, u: (lambda c: jax.vmap(lambda u, c: jnp.interp(u, c, jnp.linspace(0, 1, 512)))(u, c))((lambda c: c / c[:, -1:])(jnp.cumsum(.1 + jnp.abs(w), -1))), f32(100, 512), R.share(100, 37))
    add('returns_to_go_gradient', lambda r, d: jax.grad(lambda r: jnp.sum(jnp.tanh(lax.cumsum(r * d, 1, reverse=True)) ** 2))(r), f32(256, 256), np.abs(f32(256, 1)))
    add('soft_rank_by_gaps', lambda x: jnp.cumsum(jax.nn.sigmoid(jnp.diff(jnp.sort(x, -1), axis=-1)), -1), f32(200, 129))
    return P
