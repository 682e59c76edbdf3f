"""Reductions: axes, short and long rows, several at once, after and before other work, norms, argmax."""
from arrays import bf16, f32, flags, i32

FACTOR = 4.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    total = pick(1 << 14, 1 << 20, 1 << 24)
    n = pick(128, 1024, 4096)
    add('all', lambda x: x.sum(), f32(total))
    add('rows', lambda x: x.sum(1), f32(n, n))
    add('columns', lambda x: x.sum(0), f32(n, n))
    add('middle', lambda x: x.sum(1), f32(n // 16, 64, n // 4))
    add('outer_and_inner', lambda x: x.mean((0, 2)), f32(n // 16, 64, n // 4))
    for k in (3, 7, 16, 30, 50):
        add(f'rows_of_{k}', lambda x: (x * x).sum(-1), f32(total // k, k))
    for k in (5, 20):
        add(f'max_of_{k}', lambda x: x.max(-1), f32(total // k, k))
    add('columns_of_12', lambda x: (x * x).sum(0), f32(total // 12, 12))
    add('norm_rows_of_6', lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True), f32(total // 6, 6))
    add('softmax', lambda x: jax.nn.softmax(x, -1), f32(n, n))
    add('softmax_columns', lambda x: jax.nn.softmax(x, 0), f32(n, n))
    add('softmax_of_9', lambda x: jax.nn.softmax(x, -1), f32(total // 9, 9))
    add('logsumexp', lambda x: jax.nn.logsumexp(x, 1), f32(n, n))
    add('layer_norm', lambda x, g, b: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b, f32(n, n), f32(n), f32(n))
    add('rms_norm', lambda x, g: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g, f32(n, n), f32(n))
    add('batch_norm', lambda x: (x - x.mean((0, 1))) * lax.rsqrt(x.var((0, 1)) + 1e-5), f32(n // 16, n // 4, 64))
    add('group_norm', lambda x: (lambda y: ((y - y.mean((1, 3), keepdims=True)) * lax.rsqrt(y.var((1, 3), keepdims=True) + 1e-5)).reshape(x.shape))(
        x.reshape(x.shape[0], x.shape[1], 8, -1)), f32(n // 32, n, 32))
    add('argmax_rows', lambda x: x.argmax(1), f32(n, n))
    add('argmin_columns', lambda x: x.argmin(0), f32(n, n))
    add('argmax_of_one_column', lambda x: (x[:, 1].argmax(), x[:, 2].argmin()), f32(n * 4, n // 4))
    add('moments_of_one_column', lambda x: (x[:, 1].mean(), x[:, 1].var()), f32(n * 4, n // 4))
    add('softmax_of_one_column', lambda x: jax.nn.softmax(x[:, n // 8]), f32(n * 4, n // 4))
    add('min_and_max', lambda x: (x.min(), x.max(), jnp.ptp(x, 0)), f32(n, n))
    add('moments', lambda x: (x.mean(0), x.var(0), (x ** 3).mean(0), (x ** 4).mean(0)), f32(n, n))
    add('any_all', lambda m: (m.any(0), m.all(1), m.sum()), flags(n, n, share=0.999))
    add('count_nonzero', lambda x: (x > 1).sum(-1), f32(n, n))
    add('int_sum', lambda x: (x.sum(), x.sum(0), x.max(1)), i32(1000, n, n))
    add('masked_mean', lambda x, m: jnp.where(m, x, 0).sum(1) / jnp.maximum(m.sum(1), 1), f32(n, n), flags(n, n))
    add('bf16_rows', lambda x: x.sum(1, dtype=jnp.float32), bf16(n, n), factor=64)
    add('product_of_rows', lambda x: (1 + 0.01 * x).prod(1), f32(n, n))
    add('weighted_by_exp', lambda x, y: (jnp.exp(-jnp.abs(x)) * y).sum(1) / jnp.exp(-jnp.abs(x)).sum(1), f32(n, n), f32(n, n))
    add('entropy', lambda x: (lambda p: -(p * jnp.log(p + 1e-9)).sum(-1))(jax.nn.softmax(x, -1)), f32(n, n))
    add('cosine_similarity', lambda x, y: (x * y).sum(1) * lax.rsqrt((x * x).sum(1) * (y * y).sum(1)), f32(total // 48, 48), f32(total // 48, 48))
