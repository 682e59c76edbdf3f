"""Loops of which much need not be done trip by trip: outputs that no trip reads, inputs that no trip changes, gradients summed over trips."""
import numpy as np

from by_value import Programs, Random

R = Random(31)
f32, i32 = R.f32, R.i32
FACTOR = 64.0  # Gradients go back through a hundred trips and more.


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add

    def keys(n):
        return np.random.default_rng(n).integers(0, 2**32, (n, 2), dtype=np.uint32)

    # Recurrent networks, forward and in training.
    def elman(p, xs):
        def step(h, x):
            h = jnp.tanh(x @ p['w'] + h @ p['u'] + p['b'])
            return h, h @ p['o']
        return lax.scan(step, jnp.zeros(xs.shape[1:-1] + p['b'].shape), xs)[1]

    def gru(p, xs):
        def step(h, x):
            r, z = jnp.split(jax.nn.sigmoid(x @ p['wg'] + h @ p['ug']), 2, -1)
            n = jnp.tanh(x @ p['wn'] + r * (h @ p['un']))
            h = (1 - z) * n + z * h
            return h, jax.nn.log_softmax(h @ p['o'])
        return lax.scan(step, jnp.zeros(xs.shape[1:-1] + (p['un'].shape[0],)), xs)[1]

    def lstm(p, xs):
        def step(s, x):
            h, c = s
            i, f, g, o = jnp.split(x @ p['w'] + h @ p['u'] + p['b'], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        h = jnp.zeros(xs.shape[1:-1] + (p['u'].shape[0],))
        return lax.scan(step, (h, h), xs)[1]

    def loss(net):
        return lambda p, xs: jax.grad(lambda p: jnp.mean(net(p, xs) ** 2))(p)

    def tree(**dims):
        return {k: f32(*d) / np.float32(np.sqrt(d[0])) for k, d in dims.items()}

    small, wide = dict(w=(8, 24), u=(24, 24), b=(24,), o=(24, 5)), dict(w=(64, 128), u=(128, 128), b=(128,), o=(128, 64))
    add('elman_projected', elman, tree(**wide), f32(100, 64))
    add('elman_small_train', loss(elman), tree(**small), f32(120, 8))
    add('elman_train', loss(elman), tree(**wide), f32(60, 16, 64))
    gates = dict(wg=(32, 128), ug=(64, 128), wn=(32, 64), un=(64, 64), o=(64, 90))
    add('gru_language', gru, tree(**gates), f32(80, 32))
    add('gru_train', loss(gru), tree(**gates), f32(50, 8, 32))
    cell = dict(w=(20, 128), u=(32, 128), b=(128,))
    add('lstm_train', loss(lstm), tree(**cell), f32(70, 20))
    add('lstm_batch_train', loss(lstm), tree(**cell), f32(70, 12, 20))

    # Outputs that need what the recurrence does not.
    def stochastic_volatility(x, theta):
        def step(h, v):
            h = theta[0] + theta[1] * (h - theta[0]) + 0.1 * v
            return h, -0.5 * (jnp.log(2 * jnp.pi) + h + v * v * jnp.exp(-h))
        return lax.scan(step, theta[0], x)[1].sum()
    add('stochastic_volatility_grad', jax.grad(stochastic_volatility, 1), f32(2000), 0.3 * f32(2))

    def pendulum(s0, n):
        def step(s, _):
            q, w = s
            w = w - 0.02 * q
            q = q + 0.02 * w
            return (q, w), (jnp.sin(q), jnp.cos(q), jnp.arctan2(w, q), jnp.hypot(q, w))
        return lax.scan(step, (s0[0], s0[1]), None, length=n)[1]
    add('oscillator_angles', lambda s: pendulum(s, 1500), f32(2))

    def kuramoto(theta):
        def step(t, _):
            d = t[None] - t[:, None]
            t = t + 0.05 * jnp.sin(d).mean(1)
            return t, (jnp.exp(1j * t).mean(), jnp.cos(2 * t))
        return lax.scan(step, theta, None, length=200)[1]
    add('kuramoto_order', kuramoto, f32(11))

    # Inputs that no trip changes.
    def langevin(x, ks):
        def step(x, k):
            noise = jax.random.normal(jax.random.wrap_key_data(k), x.shape)
            return x - 0.1 * x * (x * x - 1) + 0.3 * noise, x
        return lax.scan(step, x, ks)[1]
    add('langevin_keys', langevin, f32(5), keys(300))

    def annealed(x, n):
        def step(i, x):
            t = 0.5 * (1 + jnp.cos(jnp.pi * i / n)) * jnp.exp(-0.01 * i)
            return x + t * 0.1 * (1 - x * x)
        return lax.fori_loop(0, n, step, x)
    add('cosine_schedule', lambda x: annealed(x, 1000), f32(6))

    def embedded(table, w, u, words):
        def step(h, word):
            x = jnp.tanh(table[word]) @ w
            h = jnp.tanh(x + h @ u)
            return h, h.max()
        return lax.scan(step, jnp.zeros(u.shape[0]), words)[1]
    add('words_through_cell', embedded, f32(500, 20), f32(20, 40), 0.1 * f32(40, 40), i32(500, 150))

    # Maps that are spelled as loops.
    add('map_softmax_rows', lambda x: lax.map(lambda r: jax.nn.softmax(r) @ jnp.sin(r), x), f32(400, 10))
    add('map_gaussians', lambda m, s, x: lax.map(lambda a: jnp.exp(-0.5 * ((x - a[0]) / a[1]) ** 2).sum() / a[1], (m, jnp.abs(s) + 0.5)), f32(300), f32(300), f32(9))

    def rotations(angles, v):
        def one(a):
            c, s = jnp.cos(a), jnp.sin(a)
            return jnp.stack([jnp.stack([c[0], -s[0], a[1]]), jnp.stack([s[0], c[0], a[2]]), jnp.array([0., 0., 1.])]) @ v
        return lax.map(one, angles)
    add('map_rotations', rotations, f32(500, 3), f32(3))

    def covariance(xs):
        def step(s, x):
            m, c, n = s
            d = x - m
            m = m + d / (n + 1)
            return (m, c + jnp.outer(d, x - m), n + 1), None
        return lax.scan(step, (jnp.zeros(20), jnp.zeros((20, 20)), 0.0), xs)[0][1]
    add('running_covariance', covariance, f32(400, 20))

    def backprop_through_time(a, x0, target):
        def roll(a):
            def step(x, t):
                x = jnp.sin(a @ x)
                return x, ((x - t) ** 2).sum()
            return lax.scan(step, x0, target)[1].sum()
        return jax.grad(roll)(a)
    add('rolled_dynamics_grad', backprop_through_time, 0.25 * f32(16, 16), f32(16), f32(100, 16))
    return P
