"""Loops whose trips do little: programs(jax) -> {name: (function, [maker of an argument, ...])}."""
import numpy as np

from by_value import Programs, Random

R = Random(1)
f32, i32 = R.f32, R.i32
FACTOR = 64.0  # Roundings of hundreds of trips add up.


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add

    # Arrays that are read and written at computed places.
    def sieve(n):
        def mark(i, s):
            return lax.while_loop(lambda t: t[0] < 400, lambda t: (t[0] + i, t[1].at[t[0]].set(0)), (i * i, s))[1]

        return lax.fori_loop(2, n, mark, jnp.ones(400, jnp.int32))

    add('sieve', sieve, np.int32(20))

    def bubble(x):
        def step(k, x):
            i = k % 23
            a, b = x[i], x[i + 1]
            return x.at[i].set(jnp.minimum(a, b)).at[i + 1].set(jnp.maximum(a, b))

        return lax.fori_loop(0, 600, step, x)

    add('bubble', bubble, f32(24))

    def histogram(x):
        return lax.fori_loop(0, 2000, lambda i, h: h.at[x[i]].add(h[(x[i] + 1) % 16] * 0.01 + 1.0), jnp.zeros(16))

    add('histogram', histogram, i32(16, 2000))

    def delay_line(x):
        def step(c, v):
            line, i = c
            y = line[(i + 17) % 64] * 0.6 + v
            return (line.at[i % 64].set(y), i + 1), y

        return lax.scan(step, (jnp.zeros(64), jnp.int32(0)), x)[1]

    add('delay_line', delay_line, f32(4000))

    # Places that are counted and wrapped around.
    def wheel(n, x):
        def turn(s):
            i, x = s
            return i + 3, x.at[(i * 5) % 64].multiply(0.5).at[(i - 7) % 64].add(x[i // 2 % 64])

        return lax.while_loop(lambda s: s[0] < 9000, turn, (n, x))[1]

    add('wheel', wheel, np.int32(0), f32(64))

    def grid_walk(g):
        def step(i, s):
            g, r, c = s
            r, c = (r + i) % 12, (c * 3 + 1) % 20
            return g.at[r, c].add(g[c % 12, r] * 0.1 + 1.0), r, c

        return lax.fori_loop(0, 2000, step, (g, 0, 5))[0]

    add('grid_walk', grid_walk, f32(12, 20))

    def digits(x):
        def step(s, v):
            return s.at[v % 10].add(1).at[v // 16 % 16].add(2), s[(v // 10) % 10]

        return lax.scan(step, jnp.zeros(16, jnp.int32), x)[1]

    add('digits', digits, i32(1 << 20, 1500))

    # Short loops over stencils: not written out.
    def waves(u, v):
        def step(i, s):
            u, v = s
            l = sum(jnp.roll(u, d, a) for d in (1, -1) for a in (0, 1)) - 4 * u
            return u + 0.1 * v, v + 0.1 * l

        return lax.fori_loop(0, 6, step, (u, v))

    add('waves', waves, f32(24, 24), f32(24, 24))
    add(
        'blur_5',
        lambda x: lax.fori_loop(0, 5, lambda i, x: sum(jnp.pad(x, 2)[k : k + 100] * (k + 1) for k in range(5)) / 15, x),
        f32(100),
    )
    add(
        'rule_30',
        lambda s: lax.fori_loop(0, 8, lambda i, s: jnp.roll(s, 1) ^ (s | jnp.roll(s, -1)), s),
        i32(2, 200),
    )

    # Branches in loops, and loops in loops.
    def machine(code):
        def step(i, s):
            pc, acc, mem = s
            op = code[pc % 32] % 4
            return lax.switch(
                op,
                [
                    lambda s: (s[0] + 1, s[1] + 1.0, s[2]),
                    lambda s: (s[0] + 3, s[1] * 0.5, s[2].at[s[0] % 8].set(s[1])),
                    lambda s: (s[0] + 1, s[1] + s[2][(s[0] + 3) % 8], s[2]),
                    lambda s: (s[0] - 7, s[1], s[2] * 0.9),
                ],
                (pc, acc, mem),
            )

        return lax.fori_loop(0, 1500, step, (jnp.int32(0), 0.0, jnp.zeros(8)))

    add('machine', machine, i32(4, 32))

    def adaptive(y):
        def step(s):
            t, h, y, n = s
            k = jnp.sin(y) * 0.7
            err = jnp.max(jnp.abs(jnp.sin(y + h * k) * 0.7 - k)) * h
            ok = err < 1e-3
            return (
                jnp.where(ok, t + h, t),
                jnp.clip(h * jnp.where(ok, 1.3, 0.5), 1e-4, 0.3),
                jnp.where(ok, y + h * k, y),
                n + 1,
            )

        return lax.while_loop(lambda s: (s[0] < 5.0) & (s[3] < 1000), step, (0.0, 0.1, y, 0))

    add('adaptive', adaptive, f32(12))

    def newton_rows(x):
        def row(i, out):
            def again(s):
                return (jnp.abs(s[0] * s[0] - x[i]) > 1e-4) & (s[1] < 30)

            r = lax.while_loop(again, lambda s: ((s[0] + x[i] / s[0]) * 0.5, s[1] + 1), (x[i] + 1.0, 0))[0]
            return out.at[i].set(r)

        return lax.fori_loop(0, 200, row, jnp.zeros(200))

    add('newton_rows', newton_rows, np.abs(f32(200)) + 0.1)

    # Small recurrences and reductions.
    def softmax_walk(a, s):
        return lax.fori_loop(0, 400, lambda i, s: jax.nn.softmax(a * s + jnp.roll(s, 1)), s)

    add('softmax_walk', softmax_walk, f32(24), np.full(24, 1 / 24, np.float32))

    def power_iteration(a, v):
        def step(i, v):
            w = (a * v).sum(1)
            return w / jnp.sqrt((w * w).sum())

        return lax.fori_loop(0, 300, step, v)

    add('power_iteration', power_iteration, f32(12, 12), f32(12))

    def momentum(x, t):
        def step(s, _):
            x, m, v = s
            g = jnp.tanh(x) - t
            m, v = m * 0.9 + g * 0.1, v * 0.99 + g * g * 0.01
            return (x - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v), (g * g).sum()

        # What the momenta converge to is rounding alone.
        (x, _, _), losses = lax.scan(step, (x, jnp.zeros_like(x), jnp.zeros_like(x)), None, length=500)
        return x, losses

    add('momentum', momentum, f32(48), f32(48) * 0.3)

    def triple(x, y, z):
        return lax.fori_loop(0, 2000, lambda i, s: (s[1], s[2], s[0] * 0.5 - s[1] * 0.1), (x, y, z))

    add('carries_go_round', triple, f32(64), f32(64), f32(64))

    # Small products.
    def rnn(w, u, x):
        def step(h, x):
            h = jnp.tanh(h @ w + x @ u)
            return h, h.sum()

        return lax.scan(step, jnp.zeros(12), x)[1]

    add('rnn', rnn, f32(12, 12) * 0.3, f32(5, 12), f32(400, 5))

    def kalman(F, H, z):
        def step(s, z):
            x, p = s
            x, p = F @ x, F @ p @ F.T + 0.01 * jnp.eye(4)
            k = p @ H / (H @ p @ H + 0.1)
            return (x + k * (z - H @ x), p - jnp.outer(k, H @ p)), x[0]

        return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), z)[1]

    add('kalman', kalman, np.eye(4, dtype=np.float32) + 0.05 * f32(4, 4), f32(4), f32(300))

    def layers(a, b, x):
        return lax.fori_loop(0, 400, lambda i, x: x * 0.5 + b @ jnp.tanh(a @ x), x)

    add('layers', layers, f32(16, 10) * 0.2, f32(10, 16) * 0.2, f32(10))

    def echo_state(w, u, x):
        return lax.scan(lambda h, v: (jnp.tanh(w @ h + u * v) * 0.7 + h * 0.3, h[0]), jnp.zeros(14), x)

    add('echo_state', echo_state, f32(14, 14) * 0.3, f32(14), f32(500))
    add(
        'markov',
        lambda p, s: lax.fori_loop(0, 600, lambda i, s: (lambda s: s / s.sum())(s @ p + 0.01), s),
        np.abs(f32(15, 15)),
        np.abs(f32(15)),
    )

    # Few elements that take functions: lanes, where scalars would go one by one.
    add(
        'oscillators',
        lambda w, p: lax.fori_loop(0, 300, lambda i, p: p + 0.01 * (w + jnp.sin(p.mean() - p) + jnp.cos(p * 2.0)), p),
        f32(12),
        f32(12),
    )

    def best_path(a, s):
        def step(s, _):
            t = s[:, None] + a
            return t.max(0) * 0.9, t.argmax(0)

        return lax.scan(step, s, None, length=300)

    add('best_path', best_path, f32(14, 14), f32(14))

    # States whose sizes are no powers of two, summed and asked for in each trip.
    def shrink_until(x, y):
        def outer(i, s):
            inner = lambda u: (u[0] * 0.6 + 0.01, u[1] * 0.7)
            return jax.lax.while_loop(lambda u: jnp.abs(u[0]).sum() + (u[1] ** 2).sum() > 1.0, inner, (s[0] + 2, s[1] - 1))

        return jax.lax.fori_loop(0, 200, outer, (x, y))

    add('shrink_until', shrink_until, f32(28), f32(13))

    # Few features, many rows: products whose results are a few numbers.
    def logistic(x, y, w):
        def step(i, w):
            p = jax.nn.sigmoid(x @ w)
            return w - 0.01 * ((p - y) @ x) / 150

        return jax.lax.fori_loop(0, 200, step, w)

    add('logistic', logistic, f32(150, 3), f32(150), f32(3))

    # Short rows of several stages, and a state that is read before it is updated.
    def forward_counts(a, s):
        def step(c, i):
            s, n = c
            s = jax.nn.logsumexp(a[None] + s[:, None], -1) - 0.5
            k = jnp.argmax(s[0]).astype(jnp.int32)
            return (s, n.at[k].add(1)), n[(k + i) % 20]

        return jax.lax.scan(step, (s, jnp.zeros(20, jnp.int32)), jnp.arange(120))

    add('forward_counts', forward_counts, f32(20, 20), f32(3, 20))

    def annealing(x):
        def step(s):
            x, t = s
            return jax.nn.softmax(x / t) + jnp.exp(-x * x), t * 0.97

        return lax.while_loop(lambda s: s[1] > 1e-3, step, (x, jnp.float32(2.0)))[0]

    add('annealing', annealing, f32(10))

    # Bodies that are large: nothing to gain, nothing to lose.
    def train(w1, w2, x, y):
        def loss(p, x, y):
            return ((jnp.tanh(x @ p[0]) @ p[1] - y) ** 2).mean()

        def step(p, _):
            g = jax.grad(loss)(p, x, y)
            return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), None

        return lax.scan(step, (w1, w2), None, length=20)[0]

    add('train_scan', train, f32(64, 128) * 0.1, f32(128, 16) * 0.1, f32(256, 64), f32(256, 16))
    add('dots_in_fori', lambda a, x: lax.fori_loop(0, 20, lambda i, x: jnp.sin(a @ x) + x, x), f32(200, 200) * 0.05, f32(200, 200))
    return P
