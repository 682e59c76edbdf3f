"""Graph networks and equivariant tensor products: messages along edges, attention, pooling, spherical harmonics, couplings."""
import numpy as np

from arrays import f32, flags, i32, increasing, positive, tree

FACTOR = 64.0


def programs(jax, pick, add):
    jnp, lax, nn, ops = jax.numpy, jax.lax, jax.nn, jax.ops
    n, e, d = pick((20, 80, 8), (800, 6000, 32), (12000, 120000, 64))
    x, s, r = f32(n, d), i32(n, e), increasing(n, e)
    w = f32(d, d, scale=d ** -0.5)
    add('aggregate', lambda x, s, r: ops.segment_sum(x[s], r, n), x, s, r)
    add('mean', lambda x, s, r: ops.segment_sum(x[s], r, n) / (ops.segment_sum(jnp.ones(e), r, n) + 1)[:, None], x, s, r)
    add('max', lambda x, s, r: jnp.where(jnp.isfinite(m := ops.segment_max(x[s], r, n)), m, 0), x, s, r)
    add('convolution', lambda x, s, r, w: (lambda q: nn.relu(ops.segment_sum((x @ w * q)[s], r, n) * q))(lax.rsqrt(ops.segment_sum(jnp.ones(e), r, n) + 1)[:, None]), x, s, r, w)
    add('two_layers', lambda x, s, r, w: nn.relu(ops.segment_sum(nn.relu(ops.segment_sum((x @ w)[s], r, n) / 8)[s] @ w, r, n) / 8), x, s, r, w)
    add('edge_network', lambda x, f, s, r, a, b: ops.segment_sum(nn.silu(jnp.concatenate([x[s], x[r], f], 1) @ a) @ b, r, n), x, f32(e, 4), s, r, f32(2 * d + 4, d, scale=0.2), w)
    add('attention', lambda x, s, r, a: (lambda l: (lambda q: ops.segment_sum((q / (ops.segment_sum(q, r, n)[r] + 1e-6))[:, None] * x[s], r, n))(jnp.exp(l - jnp.where(jnp.isfinite(m := ops.segment_max(l, r, n)), m, 0)[r])))(nn.leaky_relu((x @ a[0])[s] + (x @ a[1])[r])), x, s, r, f32(2, d))
    add('attention_heads', lambda x, s, r, w: (lambda h: (lambda q: ops.segment_sum(q[..., None] * h[s], r, n) / (ops.segment_sum(q, r, n) + 1e-3)[..., None])(jnp.exp(jnp.tanh((h[s] * h[r]).sum(-1)))))((x @ w).reshape(n, 4, -1)), x, s, r, w)
    add('gated_update', lambda x, s, r, w: (lambda m: (lambda z: (1 - z) * x + z * jnp.tanh(m + x @ w))(nn.sigmoid(m - x)))(ops.segment_sum(x[s], r, n) @ w), x, s, r, w)
    add('propagate_ranks', lambda p, s, r: lax.fori_loop(0, 10, lambda i, p: 0.15 + 0.85 * ops.segment_sum(p[s] * 0.1, r, n), p), positive(n), s, r)
    add('label_components', lambda s, r: lax.fori_loop(0, 4, lambda i, l: jnp.minimum(l, ops.segment_min(l[s], r, n)), jnp.arange(n)), s, r)
    add('shortest_paths', lambda s, r, c: lax.fori_loop(0, 6, lambda i, d: jnp.minimum(d, ops.segment_min(d[s] + c, r, n)), jnp.full(n, 100.0).at[0].set(0)), s, r, positive(e))
    add('pool_graphs', lambda x, g: jnp.concatenate([ops.segment_sum(x, g, 10), jnp.where(jnp.isfinite(m := ops.segment_max(x, g, 10)), m, 0)], 1), x, increasing(10, n))
    add('dense_adjacency', lambda a, x, w: nn.relu((a / (a.sum(1, keepdims=True) + 1)) @ (x @ w)), flags(min(n, 2000), min(n, 2000), share=0.05), f32(min(n, 2000), d), w)
    add('gradient', jax.grad(lambda w, x, s, r: (nn.relu(ops.segment_sum((x @ w)[s], r, n)) ** 2).mean()), w, x, s, r)
    add('message_gradient', jax.grad(lambda a, x, s, r: (ops.segment_sum(nn.silu((x[s] - x[r]) @ a), r, n) ** 2).mean()), w, x, s, r)
    distance = lambda p, s, r: jnp.sqrt(((p[s] - p[r]) ** 2).sum(-1) + 1e-3)
    add('radial_basis', lambda p, s, r: (lambda q: jnp.exp(-4 * (q[:, None] - jnp.linspace(0, 4, 16)) ** 2) * (0.5 * (jnp.cos(jnp.clip(q, 0, 4) * np.float32(np.pi / 4)) + 1))[:, None])(distance(p, s, r)), f32(n, 3), s, r)
    add('continuous_filter', lambda p, x, s, r, a: ops.segment_sum(x[s] * (jnp.exp(-(distance(p, s, r)[:, None] - jnp.linspace(0, 4, 16)) ** 2) @ a), r, n), f32(n, 3), x, s, r, f32(16, d, scale=0.3))
    add('energy_forces', jax.value_and_grad(lambda p, x, s, r, a: (nn.softplus(ops.segment_sum(x[s] * jnp.tanh(jnp.exp(-(distance(p, s, r)[:, None] - jnp.linspace(0, 4, 8)) ** 2) @ a), r, n))).sum()), f32(n, 3), x, s, r, f32(8, d, scale=0.3), factor=4)
    add('coordinate_update', lambda p, h, s, r, a: p + 0.1 * ops.segment_sum((p[s] - p[r]) * jnp.tanh((h[s] * h[r]) @ a)[:, None], r, n), f32(n, 3), x, s, r, f32(d, scale=0.2))

    def harmonics(v):
        v = v / jnp.sqrt((v * v).sum(-1, keepdims=True) + 1e-4)
        a, b, c = v[..., 0], v[..., 1], v[..., 2]
        return jnp.stack([jnp.ones_like(a), a, b, c, a * b, b * c, 3 * c * c - 1, a * c, a * a - b * b], -1)
    add('spherical_harmonics', harmonics, f32(e, 3))
    couple = np.random.default_rng(5).standard_normal((9, 9, 9)).astype(np.float32) * (np.random.default_rng(6).random((9, 9, 9)) < 0.15)
    add('tensor_product', lambda x, y: jnp.einsum('nci,nj,ijk->nck', x, y, couple), f32(e // 8, 4, 9), f32(e // 8, 9))
    add('tensor_product_weights', lambda x, y, w: jnp.einsum('nci,nj,ijk,nc->nck', x, y, couple, w), f32(e // 8, 4, 9), f32(e // 8, 9), f32(e // 8, 4))
    add('tensor_product_gradient', jax.grad(lambda x, y: (jnp.einsum('nci,nj,ijk->nck', x, y, couple) ** 2).mean(), (0, 1)), f32(e // 16, 4, 9), f32(e // 16, 9))
    add('irreps_linear', lambda x, a, b, c: jnp.concatenate([jnp.einsum('nci,cd->ndi', x[..., :1], a), jnp.einsum('nci,cd->ndi', x[..., 1:4], b), jnp.einsum('nci,cd->ndi', x[..., 4:], c)], -1), f32(n, 16, 9), *[f32(16, 16, scale=0.25)] * 3)
    add('irreps_gate', lambda x: (lambda g: jnp.concatenate([nn.silu(x[..., :1]), x[..., 1:4] * g, x[..., 4:] * g], -1))(nn.sigmoid(x[..., :1])), f32(n, 16, 9))
    add('equivariant_messages', lambda p, x, s, r: ops.segment_sum(jnp.einsum('nc,ni->nci', x[s], harmonics(p[s] - p[r])).reshape(e, -1), r, n), f32(n, 3), f32(n, 4), s, r)
    add('symmetric_contraction', lambda x: jnp.einsum('nci,ncj,ijk->nck', x, x, couple), f32(n // 2, 8, 9))
    add('angles', lambda p, s, r: (lambda v: (v[:-1] * v[1:]).sum(-1) * lax.rsqrt((v[:-1] ** 2).sum(-1) * (v[1:] ** 2).sum(-1) + 1e-3))(p[s] - p[r]), f32(n, 3), s, r)
    add('triangle_counts', lambda a: (lambda a: jnp.einsum('ij,jk,ki->i', a, a, a))((a & a.T).astype(jnp.float32)), flags(min(n, 300), min(n, 300), share=0.2))
