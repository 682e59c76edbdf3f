"""Reductions over windows, pooling and its gradients, stencils, morphology, image filters."""
import numpy as np

from arrays import bf16, f32, flags, i32, u8

FACTOR = 8.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    b, h, c = pick((1, 16, 8), (4, 48, 32), (16, 96, 64))
    image = f32(b, h, h, c)
    big = f32(pick(40, 512, 3000), pick(40, 512, 3000))
    window = lax.reduce_window
    inf = np.float32(-np.inf)
    maximum = lambda x, k=2, s=2, p='VALID': window(x, inf, lax.max, (1, k, k, 1), (1, s, s, 1), p)
    mean = lambda x, k=2, s=2, p='VALID': window(x, np.float32(0), lax.add, (1, k, k, 1), (1, s, s, 1), p) / (k * k)
    add('max_2x2', maximum, image)
    add('max_3x3_stride_2', lambda x: maximum(x, 3, 2, 'SAME'), image)
    add('mean_2x2', mean, image)
    add('mean_3x3_same', lambda x: mean(x, 3, 1, 'SAME'), image)
    add('max_nchw', lambda x: window(x, inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID'), f32(b, c, h, h))
    add('max_gradient', jax.grad(lambda x: (maximum(x) ** 2).sum()), image)
    add('max_gradient_overlap', jax.grad(lambda x: (maximum(x, 3, 2, 'SAME') ** 2).sum()), image)
    add('mean_gradient', jax.grad(lambda x: (mean(x) ** 2).sum()), image)
    add('mean_gradient_overlap', jax.grad(lambda x: (mean(x, 3, 1, 'SAME') ** 2).sum()), image)
    add('global_mean', lambda x: x.mean((1, 2)), image)
    add('running_max_1d', lambda x: window(x, inf, lax.max, (16,), (1,), 'SAME'), f32(h * h * c))
    add('running_sum_1d', lambda x: window(x, np.float32(0), lax.add, (25,), (1,), 'VALID'), f32(h * h * c))
    add('running_sum_rows', lambda x: window(x, np.float32(0), lax.add, (1, 9), (1, 1), 'VALID'), big)
    add('box_blur', lambda x: window(x, np.float32(0), lax.add, (5, 5), (1, 1), 'SAME') / 25, big)
    add('integer_max', lambda x: window(x, np.int32(0), lax.max, (3, 3), (1, 1), 'SAME'), i32(100, h * 2, h * 2))
    add('bytes_min', lambda x: window(x, np.uint8(255), lax.min, (3, 3), (1, 1), 'SAME'), u8(h * 2, h * 2))
    add('dilate_mask', lambda m: window(m, False, lax.bitwise_or, (3, 3), (1, 1), 'SAME'), flags(h * 2, h * 2, share=0.1))
    add('dilated_window', lambda x: window(x, inf, lax.max, (3, 3), (1, 1), 'SAME', window_dilation=(2, 2)), big)
    add('bf16_max', lambda x: window(x, jnp.bfloat16(-np.inf), lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID'), bf16(b, h, h, c))
    add('product_window', lambda x: window(1 + 0.1 * x, np.float32(1), lax.mul, (1, 4), (1, 2), 'VALID'), big)
    add('argmax_window', lambda x: window((x, jnp.broadcast_to(jnp.arange(x.shape[1]), x.shape)), (inf, 0), lambda a, b: (lambda t: (jnp.where(t, a[0], b[0]), jnp.where(t, a[1], b[1])))(a[0] >= b[0]), (1, 4), (1, 4), 'VALID'), big)
    add('box_40x30', lambda x: window(x, np.float32(0), lax.add, (40, 30), (1, 1), 'SAME'), big)
    add('max_40x1', lambda x: window(x, inf, lax.max, (40, 1), (3, 1), 'VALID'), big)
    add('mean_bf16', lambda x: window(x, jnp.bfloat16(0), lax.add, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID') / 4, bf16(b, h, h, c))
    add('root_of_squares', lambda x: window(x, np.float32(0), lambda p, q: jnp.sqrt(p * p + q * q), (3, 3), (1, 1), 'VALID'), big)
    add('laplace_stencil', lambda x: x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1], big)
    add('sobel', lambda x: (lambda p: jnp.sqrt((p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]) ** 2 + (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]) ** 2 + 1e-6))(jnp.pad(x, 1, mode='edge')), big)
    add('total_variation', lambda x: jnp.abs(x[1:] - x[:-1]).sum() + jnp.abs(x[:, 1:] - x[:, :-1]).sum(), big)
    add('total_variation_gradient', jax.grad(lambda x: jnp.sqrt((x[1:, 1:] - x[:-1, 1:]) ** 2 + (x[1:, 1:] - x[1:, :-1]) ** 2 + 1e-4).sum()), big)
    add('median_3x1', lambda x: (lambda a, b, c: jnp.maximum(jnp.minimum(a, b), jnp.minimum(jnp.maximum(a, b), c)))(x[:-2], x[1:-1], x[2:]), big)
    add('local_contrast', lambda x: (lambda m: (x - m) / jnp.sqrt(window((x - m) ** 2, np.float32(0), lax.add, (1, 5, 5, 1), (1, 1, 1, 1), 'SAME') / 25 + 0.1))(mean(x, 5, 1, 'SAME')), image)
    add('resize_bilinear', lambda x: jax.image.resize(x, (b, h * 3 // 2, h * 3 // 2, c), 'bilinear'), image)
    add('resize_nearest', lambda x: jax.image.resize(x, (b, h * 2, h * 2, c), 'nearest'), image)
    add('upsample_and_add', lambda x, y: jnp.repeat(jnp.repeat(x, 2, 1), 2, 2) + y, f32(b, h // 2, h // 2, c), image)
    add('pyramid', lambda x: [x := mean(x) for _ in range(3)], image)
    add('stencil_3d', lambda u: u + 0.1 * sum(jnp.roll(u, s, a) - u for a in range(3) for s in (1, -1)), f32(*[pick(10, 64, 200)] * 3))
