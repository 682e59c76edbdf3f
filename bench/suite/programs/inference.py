"""Probabilistic programs: log densities and gradients, samplers, particle filters, variational steps, state-space models, Gaussian processes."""
import numpy as np

from arrays import f32, i32, key, positive, positive_definite

FACTOR = 256.0


def programs(jax, pick, add):
    jnp, lax, r, nn = jax.numpy, jax.lax, jax.random, jax.nn
    n, d, t = pick((30, 4, 20), (500, 10, 200), (8000, 30, 500))
    X, y = f32(n, d), lambda rng: (rng.random(n) < 0.5).astype(np.float32)

    def log_posterior(w, X, y):
        z = X @ w
        return (y * z - nn.softplus(z)).sum() - 0.5 * (w * w).sum()
    add('log_posterior', log_posterior, f32(d), X, y)
    add('log_posterior_gradient', jax.value_and_grad(log_posterior), f32(d), X, y)
    add('chains_gradient', lambda w, X, y: jax.vmap(jax.grad(log_posterior), (0, None, None))(w, X, y), f32(8, d), X, y)

    def metropolis(k, x):
        def step(s, k):
            x, lp = s
            a, b = r.split(k)
            z = x + 0.3 * r.normal(a, x.shape)
            lz = -0.5 * (z * z).sum(-1)
            take = jnp.log(r.uniform(b, lz.shape)) < lz - lp
            return (jnp.where(take[..., None], z, x), jnp.where(take, lz, lp)), take.mean()
        return lax.scan(step, (x, -0.5 * (x * x).sum(-1)), r.split(k, t))[0]
    add('metropolis', metropolis, key(), f32(3), share=0.4)
    add('metropolis_chains', metropolis, key(), f32(32, 3), share=0.2)

    def leapfrog(g, q, p, e, steps):
        def step(i, s):
            q, p = s
            p = p + e / 2 * g(q)
            q = q + e * p
            return q, p + e / 2 * g(q)
        return lax.fori_loop(0, steps, step, (q, p))
    add('hamiltonian_step', lambda k, q, X, y: leapfrog(jax.grad(lambda w: log_posterior(w, X, y) / n), q, r.normal(k, q.shape), 0.05, 10), key(), f32(d), X, y)
    add('hamiltonian_chain', lambda k, q: lax.scan(lambda q, k: (leapfrog(lambda q: -q * jnp.arange(1, d + 1) / d, q, r.normal(k, q.shape), 0.1, 5)[0],) * 2, q, r.split(k, t // 2))[1], key(), f32(d))
    add('langevin', lambda k, q: lax.scan(lambda q, k: (q - 0.05 * (q ** 3 - q) + 0.1 * r.normal(k, q.shape), q.mean()), q, r.split(k, t))[1], key(), f32(16, d, scale=0.5))
    add('slice_like_doubling', lambda q: jax.vmap(lambda q: lax.while_loop(lambda s: (jnp.exp(-s[0] ** 2) > 0.1) & (s[2] < 12), lambda s: (s[0] - s[1], s[1] * 2, s[2] + 1), (q, jnp.float32(0.1), 0)))(q), f32(n))

    def particle_filter(k, obs):
        def step(x, inp):
            k, o = inp
            a, b = r.split(k)
            x = 0.9 * x + 0.3 * r.normal(a, x.shape)
            lw = -0.5 * (o - x) ** 2 / 0.2
            w = nn.softmax(lw)
            at = (jnp.arange(x.size) + r.uniform(b)) / x.size
            i = jnp.clip(jnp.searchsorted(jnp.cumsum(w), at), 0, x.size - 1)
            return x[i], nn.logsumexp(lw)
        return lax.scan(step, jnp.zeros(64), (r.split(k, t // 2), obs))[1]
    add('particle_filter', particle_filter, key(), f32(t // 2, scale=0.4), share=0.2)
    add('importance_weights', lambda x: (lambda w: (jnp.exp(nn.logsumexp(2 * w) - 2 * nn.logsumexp(w)), nn.softmax(w) @ x))(-(x * x).sum(1)), f32(n, d), factor=4)
    add('variational_step', lambda p, k, X, y: jax.value_and_grad(lambda p: -(jax.vmap(lambda e: log_posterior(p['m'] + jnp.exp(p['s']) * e, X, y))(r.normal(k, (8, d)))).mean() / n - p['s'].sum())(p), lambda rng: {'m': f32(d)(rng), 's': f32(d, scale=0.1)(rng)}, key(), X, y)

    def kalman(obs):
        F = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
        H = jnp.eye(2, 4)

        def step(s, z):
            m, P = s
            m, P = F @ m, F @ P @ F.T + 0.01 * jnp.eye(4)
            S = H @ P @ H.T + 0.1 * jnp.eye(2)
            K = jnp.linalg.solve(S, H @ P).T
            return (m + K @ (z - H @ m), P - K @ H @ P), m
        return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), obs)[1]
    add('kalman_filter', kalman, f32(t, 2))
    add('forward_algorithm', lambda o, A: lax.scan(lambda a, e: (lambda v: (v - 0.1, v.max()))(nn.logsumexp(a[:, None] + A, 0) + e), o[0], o[1:]), f32(t, 8), f32(8, 8))
    add('forward_backward_gradient', jax.grad(lambda o, A: nn.logsumexp(lax.scan(lambda a, e: (nn.logsumexp(a[:, None] + A, 0) + e, None), o[0], o[1:])[0])), f32(t // 2, 8), f32(8, 8))
    g = pick(16, 100, 400)
    matern = lambda x, s: (lambda q: (1 + q + q * q / 3) * jnp.exp(-q))(jnp.sqrt(5 * (x[:, None] - x[None]) ** 2 + 1e-6) / s)
    add('gaussian_process_gradient', jax.grad(lambda s, x, y: (lambda c: 0.5 * y @ jax.scipy.linalg.cho_solve((c, True), y) + jnp.log(jnp.diagonal(c)).sum())(jnp.linalg.cholesky(matern(x, jnp.exp(s)) + 0.3 * jnp.eye(g)))), f32(), f32(g), f32(g), factor=16)
    add('gaussian_process_predict', lambda x, y, z: (lambda k: k @ jnp.linalg.solve(matern(x, 1.0) + 0.3 * jnp.eye(g), y))((lambda q: (1 + q) * jnp.exp(-q))(jnp.abs(z[:, None] - x[None]))), f32(g), f32(g), f32(2 * g), factor=16)
    add('expectation_maximisation', lambda x, m: lax.fori_loop(0, 8, lambda i, m: (lambda p: (p.T @ x) / (p.sum(0)[:, None] + 1e-3))(nn.softmax(-((x[:, None] - m[None]) ** 2).sum(-1), -1)), m), f32(n, 3), f32(6, 3))
    def heat_bath(s, k):
        return jnp.where(r.uniform(k, s.shape) < nn.sigmoid(0.8 * (jnp.roll(s, 1, 0) + jnp.roll(s, -1, 1))), 1.0, -1.0), s.mean()
    add('spin_lattice', lambda k, s: lax.scan(heat_bath, s, r.split(k, 10)), key(), lambda rng: np.sign(rng.standard_normal((pick(12, 64, 300),) * 2)).astype(np.float32), share=1e-2)
    add('log_densities', lambda x, m, s: (-0.5 * ((x - m) / s) ** 2 - jnp.log(s), -jnp.abs(x - m) / s - jnp.log(2 * s), -2.5 * jnp.log1p(((x - m) / s) ** 2 / 4)), f32(16 * n), f32(16 * n), positive(16 * n))
    add('beta_binomial', lambda a, b, k: lax.lgamma(a + b) - lax.lgamma(a) - lax.lgamma(b) + lax.lgamma(k + a) + lax.lgamma(20 - k + b) - lax.lgamma(20 + a + b), positive(4 * n, low=0.5, high=5), positive(4 * n, low=0.5, high=5), lambda rng: rng.integers(0, 20, 4 * n).astype(np.float32))
    add('normalising_flow', lambda x, p: lax.scan(lambda s, w: (lambda a, b, l: (lambda v: ((b * jnp.exp(jnp.tanh(v[:, :1])) + v[:, 1:], a, l + jnp.tanh(v[:, 0])), None))(jnp.tanh(a @ w['a']) @ w['b']))(*s), (x[:, :1], x[:, 1:], jnp.zeros(x.shape[0])), p)[0], f32(n, 2), lambda rng: {'a': f32(4, 1, 16)(rng), 'b': f32(4, 16, 2, scale=0.2)(rng)})
    add('nested_sampling_step', lambda x: (lambda l: (lambda i: (x.at[i].set(x[l.argmax()] * 0.9), l[i]))(l.argmin()))(-(x * x).sum(1)), f32(n, d))
    add('stick_breaking', lambda v: (lambda b: b * jnp.concatenate([jnp.ones_like(b[:, :1]), jnp.cumprod(1 - b, 1)[:, :-1]], 1))(nn.sigmoid(v)), f32(n, d))
    add('lkj_like_cholesky', lambda z: (lambda v: v / jnp.sqrt((v * v).sum(-1, keepdims=True)))(jnp.tril(z, -1) + jnp.eye(d)), f32(n // 4, d, d))
