"""Loops whose bodies are many kernels: layers, time steps of fields, recurrent cells, inner solves."""
import numpy as np

from arrays import f32, positive, positive_definite, tree

FACTOR = 16.0


def programs(jax, pick, add):
    jnp, lax, nn = jax.numpy, jax.lax, jax.nn
    t, b, d = pick((10, 4, 16), (40, 16, 96), (60, 64, 256))
    fori = lax.fori_loop

    def lstm(w, u, x):
        def cell(s, x):
            i, f, g, o = jnp.split(x @ w + s[0] @ u, 4, -1)
            c = nn.sigmoid(f + 1) * s[1] + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        return lax.scan(cell, (jnp.zeros((b, d)),) * 2, x)[1]
    add('lstm', lstm, f32(d, 4 * d, scale=0.1), f32(d, 4 * d, scale=0.1), f32(t, b, d))

    def gru(w, u, x):
        def cell(h, x):
            a, c = x @ w, h @ u
            r, z = nn.sigmoid(a[:, :d] + c[:, :d]), nn.sigmoid(a[:, d:2 * d] + c[:, d:2 * d])
            h = (1 - z) * jnp.tanh(a[:, 2 * d:] + r * c[:, 2 * d:]) + z * h
            return h, h
        return lax.scan(cell, jnp.zeros((b, d)), x)[1]
    add('gru', gru, f32(d, 3 * d, scale=0.1), f32(d, 3 * d, scale=0.1), f32(t, b, d))

    def residual_layers(ws, x):
        norm = lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return lax.scan(lambda x, w: (x + nn.gelu(norm(x) @ w['a']) @ w['b'], None), x, ws)[0]
    add('scanned_layers', residual_layers, tree(a=f32(t // 4, d, 2 * d, scale=0.1), b=f32(t // 4, 2 * d, d, scale=0.1)), f32(4 * b, d))
    n = pick(24, 128, 512)

    def wave(u, v):
        def step(i, s):
            u, v = s
            lap = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u
            v = v + 0.1 * lap
            return u + 0.1 * v, v
        return fori(0, t, step, (u, v))
    add('wave_equation', wave, f32(n, n), f32(n, n))

    def gray_scott(u, v):
        lap = lambda a: jnp.pad(a, 1, mode='wrap')
        def step(i, s):
            u, v = s
            p, q = lap(u), lap(v)
            lu = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u
            lv = q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] - 4 * v
            r = u * v * v
            return u + 0.16 * lu - r + 0.04 * (1 - u), v + 0.08 * lv + r - 0.1 * v
        return fori(0, t, step, (u, v))
    add('reaction_diffusion', gray_scott, positive(n, n), positive(n, n, low=0.0, high=0.3))
    add('conjugate_gradients', lambda a, b: jax.scipy.sparse.linalg.cg(lambda x: a @ x, b, maxiter=12, tol=0.0)[0], positive_definite(pick(30, 300, 1500), pick(30, 300, 1500)), f32(pick(30, 300, 1500)), factor=64)

    def jacobi(p, f):
        def step(i, p):
            q = jnp.pad(p, 1)
            return 0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] - f)
        return fori(0, t, step, p)
    add('pressure_solve', jacobi, f32(n, n), f32(n, n))

    def sinkhorn(c):
        def step(i, s):
            f = -nn.logsumexp(s[1][None] - c, 1)
            return f, -nn.logsumexp(f[:, None] - c, 0)
        return fori(0, t, step, (jnp.zeros(c.shape[0]), jnp.zeros(c.shape[1])))
    add('sinkhorn', sinkhorn, positive(n, n))

    def lloyd(x, c):
        def step(i, c):
            a = ((x[:, None] - c[None]) ** 2).sum(-1).argmin(1)
            hot = nn.one_hot(a, c.shape[0])
            return hot.T @ x / (hot.sum(0)[:, None] + 1e-3)
        return fori(0, 5, step, c)
    add('clusters_by_one_hot', lloyd, lambda rng: (rng.integers(0, 8, (8 * n, 1)) * 4 + rng.standard_normal((8 * n, 4)) * 0.3).astype(np.float32), lambda rng: np.arange(8, dtype=np.float32)[:, None] * 4 + np.ones((1, 4), np.float32) * 0.3)

    def advect(q, u):
        def step(i, q):
            flux = jnp.where(u > 0, u * q, u * jnp.roll(q, -1))
            return q - 0.2 * (flux - jnp.roll(flux, 1))
        return fori(0, t, step, q)
    add('upwind', advect, f32(n * n // 4), positive(n * n // 4, low=-0.5, high=0.5))

    def momentum_steps(x, y, w):
        loss = lambda w: ((jnp.tanh(x @ w['a']) @ w['b'] - y) ** 2).mean()
        def step(i, s):
            w, m = s
            g = jax.grad(loss)(w)
            m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
            return jax.tree.map(lambda w, m: w - 0.01 * m, w, m), m
        return fori(0, t // 2, step, (w, jax.tree.map(jnp.zeros_like, w)))[0]
    add('training_loop', momentum_steps, f32(4 * b, d), f32(4 * b, 3), tree(a=f32(d, d, scale=0.1), b=f32(d, 3, scale=0.1)), factor=8)
    add('beam_search', lambda s, w: lax.scan(lambda c, x: (lambda v: (v[0], v[1]))(lax.top_k((c[:, None] + nn.log_softmax(x @ w)).reshape(-1), c.size)), jnp.zeros(4), s)[1], f32(t, 4, d), f32(d, 50), share=0.05)
