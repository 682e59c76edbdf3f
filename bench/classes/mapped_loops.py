"""While loops written for one point and mapped over many, which end at different times: roots, orbits, integrators, samplers, chains, walks."""
import numpy as np
from by_value import Programs, Random

FACTOR = 4096.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    p, r = Programs(), Random(91)
    add = lambda name, one, *values: p.add(name, jax.vmap(one), *values)
    few = lambda n, high: np.minimum(high, 1 + 6 * r.pareto(1.2, n)).astype(np.int32)
    between = lambda low, high, *shape: (low + (high - low) * r.rand(*shape)).astype(np.float32)

    def root_in_trips(a, n):
        return lax.fori_loop(0, n, lambda _, x: x - (x ** 3 - a) / (3 * x * x), jnp.float32(1))
    add('roots_in_given_trips', root_in_trips, between(1, 9, 4096), few(4096, 300))

    def root(a):
        def step(s):
            x, _, n = s
            new = .5 * (x + a / x)
            return new, jnp.abs(new - x), n + 1
        return lax.while_loop(lambda s: (s[1] > 1e-6 * s[0]) & (s[2] < 50), step, (a, jnp.float32(1), 0))[0]
    add('square_roots', root, between(.01, 1e4, 3000))

    def halved(a):
        def step(s):
            low, high = s
            middle = (low + high) / 2
            up = jnp.cos(middle) > a * middle
            return jnp.where(up, middle, low), jnp.where(up, high, middle)
        return lax.while_loop(lambda s: s[1] - s[0] > 1e-5, step, (jnp.float32(0), jnp.float32(2)))[0]
    p.add('halved_intervals', jax.vmap(jax.vmap(halved)), between(.5, 3, 40, 60))

    def kepler(mean, e):
        def step(s):
            x, _, n = s
            d = (x - e * jnp.sin(x) - mean) / (1 - e * jnp.cos(x))
            return x - d, jnp.abs(d), n + 1
        return lax.while_loop(lambda s: (s[1] > 1e-5) & (s[2] < 30), step, (mean, jnp.float32(1), 0))[0]
    add('eccentric_anomalies', kepler, between(0, 6.28, 5000), between(0, .9, 5000))

    def orbit(c):
        inside = lambda s: (s[0] * s[0] + s[1] * s[1] < 4) & (s[2] < 24)
        turn = lambda s: (s[0] * s[0] - s[1] * s[1] + c[0], 2 * s[0] * s[1] + c[1], s[2] + 1)
        return lax.while_loop(inside, turn, (jnp.float32(0), jnp.float32(0), 0))[2]
    p.add('orbits_that_escape', jax.vmap(jax.vmap(orbit)), np.stack(np.meshgrid(np.linspace(-2, .5, 97, dtype=np.float32), np.linspace(-1.2, 1.2, 83, dtype=np.float32)), -1))

    def collatz(n):
        return lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]
    add('collatz', collatz, 1 + r.i32(3000, 4000))

    def divisor(a, b):
        return lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))[0]
    add('common_divisors', divisor, 1 + r.i32(100000, 3000), 1 + r.i32(100000, 3000))

    def integrated(y):
        f = lambda y: jnp.stack([y[1], 2 * (1 - y[0] ** 2) * y[1] - y[0]])

        def step(s):
            y, t, h = s
            a = f(y)
            b = f(y + h * a)
            new = y + h / 2 * (a + b)
            error = jnp.sqrt(((new - y - h * a) ** 2).sum())
            good = error < 1e-2
            return jnp.where(good, new, y), jnp.where(good, t + h, t), h * jnp.clip(.9 * jnp.sqrt(1e-2 / (error + 1e-9)), .3, 2.)
        return lax.while_loop(lambda s: s[1] < .3, step, (y, jnp.float32(0), jnp.float32(.01)))[1]
    add('oscillators_with_steps_of_their_own', integrated, r.f32(1500, 2))

    def thrown(v):
        return lax.while_loop(lambda s: s[0][1] >= 0, lambda s: (s[0] + .02 * s[1], s[1] * .999 - .02 * jnp.array([0, 9.81], jnp.float32)), (jnp.zeros(2), v))[0][0]
    add('throws', thrown, between(1, 30, 2000, 2))

    def marched(d):
        height = lambda q: jnp.sqrt((q * q).sum()) - 1 + .1 * jnp.sin(5 * q[0]) * jnp.sin(5 * q[1])

        def step(s):
            t, _, n = s
            gap = height(jnp.array([0, 0, -3], jnp.float32) + t * d)
            return t + .7 * gap, gap, n + 1
        t, gap, n = lax.while_loop(lambda s: (s[1] > 1e-3) & (s[0] < 6) & (s[2] < 60), step, (jnp.float32(0), jnp.float32(1), 0))
        return jnp.where(gap <= 1e-3, 1 / (1 + t), 0)
    directions = np.stack(np.meshgrid(np.linspace(-.45, .45, 64), np.linspace(-.45, .45, 48), [1.]), -1).reshape(-1, 3).astype(np.float32)
    add('rays_that_march', marched, directions / np.linalg.norm(directions, axis=1, keepdims=True))

    def accepted(key):
        def step(s):
            key, x, _ = s
            key, a, b = jax.random.split(key, 3)
            x = jax.random.uniform(a) * 4 - 2
            return key, x, jax.random.uniform(b) < jnp.exp(-x * x / 2)
        return lax.while_loop(lambda s: ~s[2], step, (jax.random.wrap_key_data(key), jnp.float32(0), False))[1]
    add('draws_until_accepted', accepted, r.randint(0, 2 ** 32, (1500, 2), dtype=np.uint32))

    hops = r.i32(1000, 1000)

    def hopped(table, i):
        return lax.while_loop(lambda s: (s[1] < 60) & (s[0] % 17 != 0), lambda s: (table[s[0]], s[1] + 1), (i, 0))
    p.add('chains_of_places', jax.vmap(hopped, (None, 0)), hops, r.i32(1000, 3000))

    def searched(sorted_keys, key):
        def step(s):
            low, high = s
            middle = (low + high) // 2
            right = sorted_keys[middle] < key
            return jnp.where(right, middle + 1, low), jnp.where(right, high, middle)
        return lax.while_loop(lambda s: s[0] < s[1], step, (0, sorted_keys.size))[0]
    p.add('searched_by_halves', jax.vmap(searched, (None, 0)), np.sort(r.f32(5000)), r.f32(2000))

    def gamma_series(a, x):
        def step(s):
            term, total, n = s
            term = term * x / (a + n)
            return term, total + term, n + 1
        first = 1 / a
        return lax.while_loop(lambda s: (jnp.abs(s[0]) > 1e-6 * jnp.abs(s[1])) & (s[2] < 200), step, (first, first, jnp.float32(1)))[1]
    add('series_until_small', gamma_series, between(.5, 5, 3000), between(.1, 20, 3000))

    def sifted(n):
        return lax.while_loop(lambda d: (d * d <= n) & (n % d != 0), lambda d: d + 2, jnp.int32(3))
    add('smallest_divisors', sifted, 2 * r.i32(100000, 2000) + 9)
    return p
