"""One small model for each of many: trainings mapped over seeds and settings, weights of each sample, filters and samplers in fleets."""
import numpy as np
from by_value import Programs, Random

FACTOR = 1024.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(7)
    add, f32, weights = P.add, R.f32, R.weights

    def net(p, x):
        for w, b in p[:-1]:
            x = jnp.tanh(x @ w + b)
        return x @ p[-1][0] + p[-1][1]

    def nets(count, *widths):
        return [(weights(count, a, b), f32(count, b) * np.float32(.1)) for a, b in zip(widths, widths[1:])]

    def flat(p):
        return [v for pair in p for v in pair]

    def trained(steps, rate):
        def run(x, y, *p):
            p = list(zip(p[::2], p[1::2]))
            loss = lambda p: ((net(p, x) - y) ** 2).mean()

            def step(s, t):
                p, m, v = s
                l, g = jax.value_and_grad(loss)(p)
                m = jax.tree.map(lambda m, g: .9 * m + .1 * g, m, g)
                v = jax.tree.map(lambda v, g: .99 * v + .01 * g * g, v, g)
                return (jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-3), p, m, v), m, v), l
            zeros = jax.tree.map(jnp.zeros_like, p)
            return lax.scan(step, (p, zeros, zeros), jnp.arange(steps))
        return run
    x, y = f32(40, 3), f32(40, 1)
    add('trained_by_seeds', lambda x, y, *p: jax.vmap(trained(10, .01), (None, None) + (0,) * len(p))(x, y, *p), x, y, *flat(nets(17, 3, 16, 16, 1)))
    add('trained_one', trained(10, .01), x, y, *(v[0] for v in flat(nets(1, 3, 16, 16, 1))))
    add('trained_on_data_of_their_own', lambda x, y, *p: jax.vmap(trained(10, .01))(x, y, *p), f32(23, 31, 5), f32(23, 31, 2), *flat(nets(23, 5, 12, 2)))
    add('predicted_by_each', lambda x, *p: jax.vmap(lambda x, *p: net(list(zip(p[::2], p[1::2])), x), (None,) + (0,) * len(p))(x, *p).mean(0), f32(100, 7), *flat(nets(30, 7, 20, 20, 3)))
    add('predicted_for_one_row_by_each', lambda x, *p: jax.vmap(lambda *p: net(list(zip(p[::2], p[1::2])), x))(*p), f32(7), *flat(nets(50, 7, 24, 24, 3)))
    add('weights_of_each_sample', lambda x, *p: jax.vmap(lambda x, *p: net(list(zip(p[::2], p[1::2])), x))(x, *p), f32(200, 5), *flat(nets(200, 5, 8, 2)))

    def conv_net(x, w, v):
        h = jax.nn.relu(lax.conv_general_dilated(x[None], w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')))
        h = jax.nn.relu(lax.conv_general_dilated(h, v, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')))
        return h.mean((0, 1, 2))
    add('filters_of_each_sample', jax.vmap(conv_net), f32(11, 20, 20, 3), f32(11, 3, 3, 3, 8) * np.float32(.2), f32(11, 3, 3, 8, 10) * np.float32(.1))
    add('filters_of_each_gradient', jax.vmap(jax.grad(lambda w, v, x: (conv_net(x, w, v) ** 2).sum(), (0, 1))), f32(5, 3, 3, 3, 8) * np.float32(.2), f32(5, 3, 3, 8, 10) * np.float32(.1), f32(5, 20, 20, 3))
    add('filters_of_each_on_one_picture', jax.vmap(conv_net, (None, 0, 0)), f32(24, 24, 3), f32(9, 3, 3, 3, 6) * np.float32(.2), f32(9, 3, 3, 6, 6) * np.float32(.1))

    def gru(h, x, w, u):
        r, z, n = jnp.split(x @ w, 3)
        a, b, c = jnp.split(h @ u, 3)
        z = jax.nn.sigmoid(z + b)
        return z * h + (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + a) * c)
    add('cells_of_each', jax.vmap(lambda x, w, u: lax.scan(lambda h, x: (gru(h, x, w, u),) * 2, jnp.zeros(10), x)[1]), f32(29, 40, 4), weights(29, 4, 30), weights(29, 10, 30))
    add('cells_of_each_gradient', jax.vmap(jax.grad(lambda w, u, x: (lax.scan(lambda h, x: (gru(h, x, w, u),) * 2, jnp.zeros(10), x)[1] ** 2).sum(), (0, 1))), weights(13, 4, 30), weights(13, 10, 30), f32(13, 30, 4))

    def kalman(ys, a, c, q):
        def step(s, y):
            m, p = s
            m, p = a @ m, a @ p @ a.T + q * jnp.eye(4)
            k = p @ c.T @ jnp.linalg.inv(c @ p @ c.T + .1 * jnp.eye(2))
            return (m + k @ (y - c @ m), p - k @ c @ p), m
        return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), ys)[1]
    add('filters_in_a_fleet', jax.vmap(kalman), f32(50, 30, 2), np.eye(4, dtype=np.float32) + f32(50, 4, 4) * np.float32(.05), f32(50, 2, 4), R.share(50))

    def linear(x, y, l2):
        def step(_, w):
            p = jax.nn.sigmoid(x @ w)
            h = (x * (p * (1 - p))[:, None]).T @ x + l2 * jnp.eye(x.shape[1])
            return w - jnp.linalg.solve(h, x.T @ (p - y) + l2 * w)
        return lax.fori_loop(0, 5, step, jnp.zeros(x.shape[1]))
    add('regressions_over_penalties', jax.vmap(linear, (None, None, 0)), f32(150, 7), R.i32(2, 150).astype(np.float32), .1 + R.share(19))
    add('regressions_by_group', jax.vmap(linear, (0, 0, None)), f32(19, 60, 6), R.i32(2, 19, 60).astype(np.float32), np.float32(.5))
    add('regressions_left_one_out', lambda x, y: jax.vmap(lambda i: linear(x * (jnp.arange(60) != i)[:, None], y, .5))(jnp.arange(60)), f32(60, 5), R.i32(2, 60).astype(np.float32))

    def langevin(key, w, x):
        def step(s, key):
            return s - .01 * jax.grad(lambda s: jnp.logaddexp(0, -(x @ s)).sum() + w * (s * s).sum())(s) + .1 * jax.random.normal(key, s.shape), s
        return lax.scan(step, jnp.zeros(x.shape[1]), jax.random.split(jax.random.wrap_key_data(key), 20))[1].mean(0)
    add('samplers_over_temperatures', jax.vmap(langevin, (0, 0, None)), R.randint(0, 2 ** 32, (21, 2), dtype=np.uint32), R.share(21), f32(45, 6))

    def q_tables(key, rate):
        def step(s, key):
            q, at = s
            a = jnp.where(jax.random.uniform(key) < .1, jax.random.randint(key, (), 0, 4), jnp.argmax(q[at]))
            new = (at * 5 + a * 7 + 1) % 25
            reward = (new == 24).astype(jnp.float32)
            return (q.at[at, a].add(rate * (reward + .9 * q[new].max() - q[at, a])), new), reward
        return lax.scan(step, (jnp.zeros((25, 4)), 0), jax.random.split(jax.random.wrap_key_data(key), 40))
    add('tables_learned_over_rates', jax.vmap(q_tables), R.randint(0, 2 ** 32, (31, 2), dtype=np.uint32), R.share(31))
    return P
