"""Loops that carry what depends on nothing but itself: a key that each trip splits, a time, a rate that decays."""
import numpy as np

from by_value import Programs, Random

R = Random(47)
f32 = R.f32
FACTOR = 64.0  # Roundings grow over a thousand trips.


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, random

    P = Programs()
    add = P.add

    def key(n):
        return np.array([n, 17 * n + 3], np.uint32)

    def typed(k):
        return random.wrap_key_data(k)

    # Markov chains.
    def metropolis(k, x):
        def step(_, s):
            k, x = s
            k, k1, k2 = random.split(k, 3)
            y = x + 0.5 * random.normal(k1, x.shape)
            return k, jnp.where(jnp.log(random.uniform(k2)) < 0.5 * (x @ x - y @ y), y, x)
        return lax.fori_loop(0, 1000, step, (typed(k), x))[1]
    add('metropolis_carried', metropolis, key(1), f32(3))

    def gibbs(k, s):
        def step(s, _):
            k, x, y = s
            k, k1, k2 = random.split(k, 3)
            x = 0.9 * y + 0.4358899 * random.normal(k1)
            y = 0.9 * x + 0.4358899 * random.normal(k2)
            return (k, x, y), (x, y)
        return lax.scan(step, (typed(k), s[0], s[1]), None, length=1000)[1]
    add('gibbs_pair', gibbs, key(2), f32(2))

    def hmc(k, q, prec):
        def energy(q):
            return 0.5 * q @ (prec @ q)
        grad = jax.grad(energy)
        def step(s, _):
            k, q = s
            k, kp, ku = random.split(k, 3)
            p = random.normal(kp, q.shape)
            def leap(_, qp):
                q, p = qp
                p = p - 0.05 * grad(q)
                q = q + 0.1 * p
                return q, p - 0.05 * grad(q)
            q1, p1 = lax.fori_loop(0, 10, leap, (q, p))
            a = energy(q) + 0.5 * p @ p - energy(q1) - 0.5 * p1 @ p1
            q = jnp.where(jnp.log(random.uniform(ku)) < a, q1, q)
            return (k, q), q
        return lax.scan(step, (typed(k), q), None, length=200)[1].mean(0)
    spd = f32(6, 6)
    add('hmc_carried', hmc, key(3), f32(6), spd @ spd.T / 6 + np.eye(6, dtype=np.float32))

    def ising(k, spins):
        def step(_, s):
            k, spins = s
            k, ks, ku = random.split(k, 3)
            i, j = random.randint(ks, (2,), 0, 16)
            near = spins[(i + 1) % 16, j] + spins[i - 1, j] + spins[i, (j + 1) % 16] + spins[i, j - 1]
            flip = random.uniform(ku) < jnp.exp(-0.8 * near * spins[i, j])
            return k, spins.at[i, j].multiply(jnp.where(flip, -1.0, 1.0))
        return lax.fori_loop(0, 2000, step, (typed(k), spins))[1]
    add('ising_by_site', ising, key(4), np.sign(f32(16, 16)))

    def annealing(k, x):
        def cost(x):
            return (x * x).sum() + 3 * jnp.sin(5 * x).sum()
        def step(_, s):
            k, x, t = s
            k, k1, k2 = random.split(k, 3)
            y = x + t * random.normal(k1, x.shape)
            x = jnp.where(random.uniform(k2) < jnp.exp((cost(x) - cost(y)) / t), y, x)
            return k, x, 0.998 * t
        return lax.fori_loop(0, 1500, step, (typed(k), x, 1.0))[1]
    add('annealing_cooled', annealing, key(5), f32(5))

    # Stochastic differential equations, particles, diffusion.
    def euler_maruyama(k, x):
        def step(_, s):
            k, x, t = s
            k, sub = random.split(k)
            drift = jnp.stack([x[1], -jnp.sin(x[0]) - 0.1 * x[1] + 0.3 * jnp.cos(t)])
            return k, x + 0.01 * drift + 0.05 * random.normal(sub, x.shape), t + 0.01
        return lax.fori_loop(0, 2000, step, (typed(k), x, 0.0))[1]
    add('euler_maruyama', euler_maruyama, key(6), f32(2))

    def particle_filter(k, x, ys):
        def step(s, y):
            k, x = s
            k, k1, k2 = random.split(k, 3)
            x = 0.9 * x + 0.3 * random.normal(k1, x.shape)
            w = jax.nn.softmax(-2 * (x - y) ** 2)
            u = (random.uniform(k2) + jnp.arange(x.shape[0])) / x.shape[0]
            x = x[jnp.minimum(jnp.searchsorted(jnp.cumsum(w), u), x.shape[0] - 1)]
            return (k, x), x.mean()
        return lax.scan(step, (typed(k), x), ys)[1]
    add('particle_filter_carried', particle_filter, key(7), f32(64), f32(100))

    def ddpm(k, x, w1, w2):
        def step(i, s):
            k, x = s
            t = 1 - i / 100
            k, sub = random.split(k)
            h = jnp.tanh(jnp.concatenate([x, jnp.array([t, jnp.sin(9 * t), jnp.cos(9 * t)])]) @ w1)
            beta = 1e-3 + 0.02 * t
            return k, (x - beta * (h @ w2)) / jnp.sqrt(1 - beta) + jnp.sqrt(beta) * random.normal(sub, x.shape)
        return lax.fori_loop(0, 100, step, (typed(k), x))[1]
    add('ddpm_small', ddpm, key(8), f32(13), 0.2 * f32(16, 48), 0.2 * f32(48, 13))

    # Learning.
    def q_learning(k, reward):
        def step(s, _):
            k, q, at, eps = s
            k, k1, k2 = random.split(k, 3)
            a = jnp.where(random.uniform(k1) < eps, random.randint(k2, (), 0, 4), jnp.argmax(q[at]))
            to = (at + jnp.array([1, -1, 8, -8])[a]) % 64
            q = q.at[at, a].add(0.1 * (reward[to] + 0.95 * q[to].max() - q[at, a]))
            return (k, q, to, 0.9995 * eps), None
        return lax.scan(step, (typed(k), jnp.zeros((64, 4)), 0, 1.0), None, length=1000)[0][1]
    add('q_learning', q_learning, key(9), f32(64))

    def bandit(k, means):
        def step(s, _):
            k, wins, pulls = s
            k, k1, k2 = random.split(k, 3)
            a = jnp.argmax(wins / pulls + random.normal(k1, wins.shape) / jnp.sqrt(pulls))
            r = means[a] + random.normal(k2)
            return (k, wins.at[a].add(r), pulls.at[a].add(1.0)), r
        n = means.shape[0]
        return lax.scan(step, (typed(k), jnp.zeros(n), jnp.ones(n)), None, length=800)[1]
    add('bandit_thompson', bandit, key(10), f32(10))

    def adam(p, xs, ys):
        def loss(p, x, y):
            return ((jnp.tanh(x @ p[:8]) - y) ** 2).mean() + 1e-3 * p @ p
        def step(s, _):
            p, m, v, b1, b2 = s
            g = jax.grad(loss)(p, xs, ys)
            m, v, b1, b2 = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g, 0.9 * b1, 0.999 * b2
            return (p - 0.05 * (m / (1 - b1)) / (jnp.sqrt(v / (1 - b2)) + 1e-8), m, v, b1, b2), None
        z = jnp.zeros_like(p)
        return lax.scan(step, (p, z, z, 1.0, 1.0), None, length=300)[0][0]
    add('adam_powers', adam, f32(8), f32(40, 8), f32(40))

    def minibatches(k, w, xs, ys):
        def step(s, _):
            k, w = s
            k, sub = random.split(k)
            i = random.randint(sub, (8,), 0, xs.shape[0])
            x, y = xs[i], ys[i]
            return (k, w - 0.05 * x.T @ (x @ w - y) / 8), None
        return lax.scan(step, (typed(k), w), None, length=500)[0][1]
    add('minibatches_drawn', minibatches, key(11), f32(12), f32(300, 12), f32(300))

    def dropout_rnn(k, w, u, xs):
        def step(s, x):
            k, h = s
            k, sub = random.split(k)
            h = jnp.tanh(x @ w + jnp.where(random.bernoulli(sub, 0.8, h.shape), h / 0.8, 0.0) @ u)
            return (k, h), h
        return lax.scan(step, (typed(k), jnp.zeros(u.shape[0])), xs)[1]
    add('dropout_cell', dropout_rnn, key(12), 0.3 * f32(6, 24), 0.2 * f32(24, 24), f32(200, 6))

    # Times and recurrences without chance.
    def rk4(s, n):
        def f(s, t):
            return jnp.stack([s[1], -s[0] ** 3 - 0.2 * s[1] + jnp.cos(1.3 * t) * jnp.exp(-0.01 * t)])
        def step(_, c):
            s, t = c
            k1 = f(s, t)
            k2 = f(s + 0.01 * k1, t + 0.01)
            k3 = f(s + 0.01 * k2, t + 0.01)
            k4 = f(s + 0.02 * k3, t + 0.02)
            return s + 0.02 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), t + 0.02
        return lax.fori_loop(0, n, step, (s, 0.0))[0]
    add('rk4_driven', lambda s: rk4(s, 1000), f32(2))

    def bessel_sum(x):
        def step(_, s):
            term, k, total = s
            return -term * x * x / (4 * k * k), k + 1, total + term * jnp.exp(-0.1 * k)
        return lax.fori_loop(0, 40, step, (jnp.ones_like(x), 1.0, jnp.zeros_like(x)))[2]
    add('series_of_terms', bessel_sum, f32(50))

    def lagged_noise(seed, x):
        def step(_, s):
            seed, x, total = s
            seed = seed * np.uint32(1664525) + np.uint32(1013904223)
            u = (seed >> 8).astype(jnp.float32) / (1 << 24)
            z = jnp.sqrt(-2 * jnp.log(u + 1e-7)) * jnp.cos(6.2831853 * u)
            x = 0.95 * x + z
            return seed, x, total + jnp.maximum(x, 0)
        return lax.fori_loop(0, 2000, step, (seed, x, 0.0))[2]
    add('congruential_noise', lagged_noise, np.uint32(99), np.float32(0.5))

    def monte_carlo(k):
        def step(_, s):
            k, total = s
            k, sub = random.split(k)
            x = random.uniform(sub, (4,), minval=-1.0, maxval=1.0)
            return k, total + jnp.exp(-(x * x).sum()) * (x.sum() > 0)
        return lax.fori_loop(0, 3000, step, (typed(k), 0.0))[1]
    add('monte_carlo_sum', monte_carlo, key(13))

    def kalman(y, f, h):
        def step(s, y):
            m, p = s
            m, p = f @ m, f @ p @ f.T + 0.01 * jnp.eye(2)
            g = p @ h / (h @ p @ h + 0.1)
            return (m + g * (y - h @ m), p - jnp.outer(g, h @ p)), h @ m
        return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), y)[1]
    add('kalman_gains', kalman, f32(500), np.array([[1, .1], [0, 1]], np.float32), np.array([1, 0], np.float32))
    return P
