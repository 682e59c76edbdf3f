"""Gradients of everything: losses, norms, scans, loops, indexing, windows, sorts, linear algebra, higher orders, recomputation."""
import numpy as np

from arrays import c64, f32, i32, increasing, positive, positive_definite, tree, well_conditioned

FACTOR = 32.0


def programs(jax, pick, add):
    jnp, lax, nn, grad = jax.numpy, jax.lax, jax.nn, jax.grad
    n, d, t = pick((40, 16, 12), (1000, 128, 60), (8000, 512, 200))
    x, w = f32(n, d), f32(d, d, scale=0.1)
    damped = f32(d, d, scale=0.5 / d ** 0.5)  # Of a recurrence whose states and gradients stay within bounds.
    add('mean_square', grad(lambda x, y: ((x - y) ** 2).mean()), x, x)
    add('logistic', grad(lambda w, x, y: -jnp.mean(y * nn.log_sigmoid(x @ w) + (1 - y) * nn.log_sigmoid(-x @ w))), f32(d), x, positive(n, low=0.0))
    add('cross_entropy', grad(lambda w, x, y: -jnp.take_along_axis(nn.log_softmax(x @ w), y[:, None], 1).mean()), f32(d, 10), x, i32(10, n))
    add('large_vocabulary', grad(lambda w, x, y: -(nn.one_hot(y, w.shape[1]) * nn.log_softmax(x @ w)).sum(1).mean()), f32(d, 20 * d, scale=0.1), f32(n // 8, d), i32(20 * d, n // 8))
    add('layer_norm', grad(lambda x, g, b: (((x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b) ** 3).mean(), (0, 1, 2)), x, f32(d), f32(d))
    add('batch_norm', grad(lambda x, g: (nn.relu((x - x.mean(0)) * lax.rsqrt(x.var(0) + 1e-5) * g) ** 2).mean(), (0, 1)), x, f32(d))
    add('group_norm', grad(lambda x, g: ((lambda y: (y - y.mean(-1, keepdims=True)) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5))(x.reshape(n, -1, 8)) ** 3 * g[:, None]).mean(), (0, 1)), x, f32(d // 8))
    add('softmax', grad(lambda x: (nn.softmax(x) ** 2).sum()), x)
    add('gelu_chain', grad(lambda x: nn.gelu(nn.gelu(x) * 2).mean()), x)
    add('mlp', grad(lambda p, x: (nn.relu(nn.relu(x @ p['a']) @ p['b']) @ p['c']).mean()), tree(a=w, b=w, c=f32(d, 4)), x)
    add('value_and_gradient', jax.value_and_grad(lambda p, x: jnp.tanh(x @ p['a'] + p['b']).mean()), tree(a=w, b=f32(d)), x)
    add('broadcasts', grad(lambda a, b, c: (jnp.sin(a[:, None] * b[None]) * c).mean(), (0, 1, 2)), f32(n), f32(d), x)
    add('scan', grad(lambda w, x: lax.scan(lambda h, v: (jnp.tanh(h @ w + v), h.sum()), jnp.zeros(d), x)[1].mean(), (0, 1)), damped, f32(t, d))
    add('scan_small', grad(lambda p, x: lax.scan(lambda h, v: (jnp.tanh(p[0] * h + p[1] * v),) * 2, 0.0, x)[1].mean()), f32(2), f32(10 * t))
    add('scan_rematerialised', grad(lambda w, x: lax.scan(jax.checkpoint(lambda h, v: (jnp.sin(h @ w) + v, h.mean())), jnp.zeros(d), x)[1].sum()), damped, f32(t, d), factor=4)
    add('loop', grad(lambda x: lax.fori_loop(0, 8, lambda i, s: jnp.sin(s) + 0.1 * s, x).sum()), x)
    add('gather', grad(lambda x, i: (x[i] ** 2).sum()), x, i32(n, 2 * n))
    add('segments', grad(lambda x, s: (jax.ops.segment_sum(x, s, n // 4) ** 2).sum()), x, increasing(n // 4, n))
    add('scatter', grad(lambda x, u, i: (x.at[i].add(jnp.tanh(u)) ** 2).sum(), (0, 1)), x, f32(n // 2, d), i32(n, n // 2))
    add('sort', grad(lambda x: (jnp.sort(x, 1) * jnp.arange(d)).mean()), x)
    add('cumulative', grad(lambda x: (jnp.cumsum(x, 1) ** 2).mean()), x)
    add('max', grad(lambda x: (x.max(1) ** 2).sum()), x)
    add('log_sum_exp', grad(lambda x: nn.logsumexp(x, 1).sum()), x)
    add('slices_and_pads', grad(lambda x: (jnp.pad(x[1:-1], ((2, 0), (1, 3)))[:, ::2] ** 2).sum()), x)
    add('concatenate', grad(lambda x, y: (jnp.concatenate([x * 2, jnp.sin(y)], 1) ** 2).mean(), (0, 1)), x, x)
    add('cholesky', grad(lambda a: jnp.linalg.cholesky(a).sum()), positive_definite(d // 2, d // 2), factor=16)
    add('determinant', grad(lambda a: jnp.linalg.slogdet(a)[1]), well_conditioned(d // 2, d // 2), factor=16)
    add('fourier', grad(lambda x: (jnp.abs(jnp.fft.rfft(x)) ** 2).mean()), x)
    add('complex', lambda z: grad(lambda z: (jnp.abs(z * z + z) ** 2).sum())(z), c64(n, d), factor=4)
    add('second_derivative', jax.vmap(grad(grad(lambda v: jnp.sin(v) * jnp.exp(-v * v)))), f32(n * d))
    add('hessian', jax.hessian(lambda v: (jnp.tanh(v[:, None] * v[None]) ** 2).sum()), f32(d), factor=4)
    add('hessian_vector', lambda x, v: jax.jvp(grad(lambda x: (jnp.sin(x @ x.T) ** 2).mean()), (x,), (v,))[1], f32(d, d, scale=0.1), f32(d, d))
    add('jacobian_forward', lambda v: jax.jacfwd(lambda v: jnp.cumsum(jnp.sin(v)) * v)(v), f32(d))
    add('jacobian_reverse', lambda a, v: jax.jacrev(lambda v: jnp.tanh(a @ v))(v), w, f32(d))
    add('custom_rule', grad(lambda x: clipped(jax)(x * 2).sum()), x)
    add('implicit', grad(lambda a: (lax.custom_root(lambda y: y ** 3 + a * y - 1, jnp.ones_like(a) * 0.5, lambda f, y0: lax.fori_loop(0, 20, lambda i, y: y - f(y) / (3 * y * y + a), y0), lambda g, y: y / g(jnp.ones_like(y)))).sum()), positive(n, low=0.5, high=2.0))
    add('physics_informed', grad(lambda p, xs: (jax.vmap(grad(grad(lambda v: jnp.tanh(v * p['a'] + p['b']) @ p['c'])))(xs) ** 2).mean()), tree(a=f32(d), b=f32(d), c=f32(d, scale=0.1)), f32(n), factor=4)
    add('straight_through', grad(lambda x: ((x + lax.stop_gradient(jnp.round(x) - x)) ** 2).sum()), x)
    add('attention', grad(lambda q, k, v: ((nn.softmax(q @ k.T / 4) @ v) ** 2).mean(), (0, 1, 2)), *[f32(min(n, 1500), 16)] * 3)
    add('pairwise_energy', grad(lambda r: (lambda q: (1 / q ** 3 - 1 / q).sum())(((r[:, None] - r[None]) ** 2).sum(-1) + 1)), f32(min(n, 1500), 3), factor=4)


def clipped(jax):
    jnp = jax.numpy

    @jax.custom_vjp
    def f(x):
        return jnp.where(x > 0, x, 0.1 * x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (jnp.clip(g, -0.5, 0.5) * jnp.where(x > 0, 1, 0.1),))
    return f
