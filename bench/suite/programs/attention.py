"""Attention: one head and many, masks, cached keys, windows, linear forms, gradients."""
import numpy as np

from arrays import bf16, f32

FACTOR = 4.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    b, h, t, d = pick((1, 2, 24, 16), (2, 4, 128, 32), (2, 8, 512, 64))
    qkv = [f32(b, h, t, d)] * 3

    def attend(q, k, v, mask=None):
        s = jnp.einsum('bhqd,bhkd->bhqk', q, k) / np.sqrt(d).astype(np.float32)
        if mask is not None:
            s = jnp.where(mask, s, -1e9)
        return jnp.einsum('bhqk,bhkd->bhqd', jax.nn.softmax(s), v)

    causal = np.tril(np.ones((t, t), bool))
    add('full', attend, *qkv)
    add('causal', lambda q, k, v: attend(q, k, v, causal), *qkv)
    add('time_second', lambda q, k, v: jax.nn.dot_product_attention(q, k, v), *[f32(b, t, h, d)] * 3)
    add('time_second_causal', lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True), *[f32(b, t, h, d)] * 3)
    add('grouped_queries', lambda q, k, v: jax.nn.dot_product_attention(q, k, v), f32(b, t, h, d), f32(b, t, h // 2, d), f32(b, t, h // 2, d))
    add('bfloat16', lambda q, k, v: attend(q, k, v).astype(jnp.bfloat16), *[bf16(b, h, t, d)] * 3, factor=4)
    add('bias', lambda q, k, v, p: jnp.einsum('bhqk,bhkd->bhqd', jax.nn.softmax(jnp.einsum('bhqd,bhkd->bhqk', q, k) + p), v), *[f32(b, h, t, d, scale=0.4)] * 3, f32(h, t, t))
    add('one_query', lambda q, k, v, n: attend(q, k, v, jnp.arange(t) <= n), f32(b, h, 1, d), f32(b, h, t, d), f32(b, h, t, d), lambda rng: np.int32(t // 2))
    add('cache_update', lambda q, k, v, ck, cv, n: (lambda k, v: (attend(q, k, v, jnp.arange(t) <= n), k, v))(
        lax.dynamic_update_slice(ck, k, (0, 0, n, 0)), lax.dynamic_update_slice(cv, v, (0, 0, n, 0))),
        *[f32(b, h, 1, d)] * 3, f32(b, h, t, d), f32(b, h, t, d), lambda rng: np.int32(t // 3))
    add('local_window', lambda q, k, v: attend(q, k, v, causal & ~np.tril(np.ones((t, t), bool), -8)), *qkv)

    def rotary(q, k, v):
        angle = jnp.arange(t)[:, None] * 10000.0 ** (-jnp.arange(0, d, 2) / d)
        def turn(x):
            a, c = x[..., ::2], x[..., 1::2]
            return jnp.stack([a * jnp.cos(angle) - c * jnp.sin(angle), a * jnp.sin(angle) + c * jnp.cos(angle)], -1).reshape(x.shape)
        return attend(turn(q), turn(k), v, causal)
    add('rotary', rotary, *qkv, factor=8)
    add('linear', lambda q, k, v: (lambda q, k: (q @ (k.swapaxes(-1, -2) @ v)) / (q @ k.sum(-2)[..., None]))(jax.nn.elu(q) + 1, jax.nn.elu(k) + 1), *qkv, factor=4)
    add('block', lambda x, w, o: x + attend(*[(x @ w).reshape(b, t, 3, h, d).transpose(2, 0, 3, 1, 4)[i] for i in range(3)]).transpose(0, 2, 1, 3).reshape(b, t, h * d) @ o,
        f32(b, t, h * d), f32(h * d, 3 * h * d, scale=0.05), f32(h * d, h * d, scale=0.05))
    add('gradients', jax.grad(lambda q, k, v: (attend(q, k, v, causal) ** 2).mean() * 100, (0, 1, 2)), *qkv, factor=4)
    add('online_softmax_scan', lambda q, k, v: online(jax, q, k, v, t // 8), *qkv, factor=4)


def online(jax, q, k, v, step):
    jnp, lax = jax.numpy, jax.lax
    split = lambda x: jnp.moveaxis(x.reshape(*x.shape[:2], -1, step, x.shape[-1]), 2, 0)

    def body(carry, kv):
        top, norm, out = carry
        s = q @ kv[0].swapaxes(-1, -2)
        new = jnp.maximum(top, s.max(-1))
        p, shrink = jnp.exp(s - new[..., None]), jnp.exp(top - new)
        return (new, norm * shrink + p.sum(-1), out * shrink[..., None] + p @ kv[1]), None
    start = (jnp.full(q.shape[:-1], -jnp.inf), jnp.zeros(q.shape[:-1]), jnp.zeros_like(q))
    (_, norm, out), _ = lax.scan(body, start, (split(k), split(v)))
    return out / norm[..., None]
