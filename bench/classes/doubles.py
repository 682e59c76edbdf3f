"""Double precision and 64-bit integers, as sciences and finance ask for them."""
import numpy as np

from by_value import Programs, Random

R = Random(0)
X64 = True
FACTOR = 4096.0  # Conditions of systems and many steps, over an eps of 2e-16.


def f64(*shape):
    return R.randn(*shape)


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn

    P = Programs()
    add = P.add
    fori = lax.fori_loop

    def planets(x, v, m):
        def pull(x):
            d = x[None] - x[:, None]
            return (m[None, :, None] * d / ((d * d).sum(-1) + 1e-2)[..., None] ** 1.5).sum(1)

        def step(s, _):
            x, v = s
            v = v + 5e-4 * pull(x)
            x = x + 1e-3 * v
            return (x, v + 5e-4 * pull(x)), (v * v).sum()
        return lax.scan(step, (x, v), None, length=100)[1]
    add('planets', planets, f64(9, 3), 0.1 * f64(9, 3), np.abs(f64(9)))

    A = np.array([[0] * 6, [1 / 4, 0, 0, 0, 0, 0], [3 / 32, 9 / 32, 0, 0, 0, 0], [1932 / 2197, -7200 / 2197, 7296 / 2197, 0, 0, 0],
                  [439 / 216, -8, 3680 / 513, -845 / 4104, 0, 0], [-8 / 27, 2, -3544 / 2565, 1859 / 4104, -11 / 40, 0]])
    B5 = np.array([16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55])
    B4 = np.array([25 / 216, 0, 1408 / 2565, 2197 / 4104, -1 / 5, 0])

    def fehlberg(y, mu):
        f = lambda y: jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

        def step(s):
            t, h, y, n = s
            ks = []
            for i in range(6):
                ks.append(f(y + h * sum(a * k for a, k in zip(A[i], ks)) if i else y))
            k = jnp.stack(ks)
            e = jnp.abs(h * (B5 - B4) @ k).max() / 1e-8
            ok = e < 1
            # Steps double and halve: how long they are hangs on no rounding.
            return jnp.where(ok, t + h, t), h * jnp.where(e < 0.01, 2.0, jnp.where(ok, 1.0, 0.5)), jnp.where(ok, y + h * B5 @ k, y), n + 1
        t, h, y, n = lax.while_loop(lambda s: (s[0] < 2.0) & (s[3] < 2000), step, (0.0, 2.0 ** -10, y, 0))
        return y
    add('oscillator_of_van_der_pol', fehlberg, np.array([2.0, 0.0]), np.float64(3))
    add('oscillators_of_van_der_pol', jax.vmap(fehlberg), f64(30, 2), 1 + np.abs(f64(30)))

    def rosenbrock(y):
        f = lambda y: jnp.stack([-0.04 * y[0] + 1e2 * y[1] * y[2], 0.04 * y[0] - 1e2 * y[1] * y[2] - 30 * y[1] ** 2, 30 * y[1] ** 2])
        jac = jax.jacfwd(f)

        def step(y, _):
            m = jnp.eye(3) - 0.02 * 0.5 * jac(y)
            k1 = jnp.linalg.solve(m, f(y))
            k2 = jnp.linalg.solve(m, f(y + 0.02 * k1) - 2 * k1)
            y = y + 0.02 * (1.5 * k1 + 0.5 * k2)
            return y, y
        return lax.scan(step, y, None, length=50)[1]
    add('stiff_chemistry', rosenbrock, np.array([1.0, 0.0, 0.0]))

    def process(t, x, y):
        k = jnp.exp(t[0] - 0.5 * ((x[:, None] - x[None]) ** 2).sum(-1) * jnp.exp(t[1])) + 0.1 * jnp.eye(len(x))
        l = jnp.linalg.cholesky(k)
        a = jax.scipy.linalg.cho_solve((l, True), y)
        return 0.5 * y @ a + jnp.log(jnp.diagonal(l)).sum()
    add('process_gradient', jax.value_and_grad(process), f64(2) * 0.1, f64(80, 3), f64(80))

    normal = lambda x: 0.5 * (1 + lax.erf(x / np.sqrt(2)))

    def black_scholes(s, k, t, r, v):
        d = (jnp.log(s / k) + (r + v * v / 2) * t) / (v * jnp.sqrt(t))
        return s * normal(d) - k * jnp.exp(-r * t) * normal(d - v * jnp.sqrt(t))
    add('option_greeks', jax.vmap(lambda *a: jax.value_and_grad(black_scholes, (0, 2, 4))(*a)), 100 + f64(3000), 100 + 5 * f64(3000), 0.5 + np.abs(f64(3000)), 0.03 + 0 * f64(3000), 0.2 + 0.05 * np.abs(f64(3000)))

    def implied(price, s, k):
        return fori(0, 8, lambda i, v: v - (black_scholes(s, k, 1.0, 0.02, v) - price) / jnp.maximum(jax.vmap(jax.grad(lambda v, s, k: black_scholes(s, k, 1.0, 0.02, v)))(v, s, k), 1.0), jnp.full(price.shape, 0.3))
    add('implied_volatility', implied, 8 + np.abs(f64(500)), 100 + f64(500), 100 + f64(500))

    def crank(v, s):
        n = len(v)

        def step(v, _):
            a = 0.25 * 0.01 * (0.04 * s * s - 0.05 * s)
            b = -0.5 * 0.01 * (0.04 * s * s + 0.05)
            c = 0.25 * 0.01 * (0.04 * s * s + 0.05 * s)
            rhs = a * jnp.roll(v, 1) + (1 + b) * v + c * jnp.roll(v, -1)
            def forward(p, x):
                a, b, c, d = x
                m = (1 - b) + a * p[0]
                p = c / m, (d + a * p[1]) / m
                return p, p
            _, (g, h) = lax.scan(forward, (0.0, 0.0), (a, b, c, rhs))
            return lax.scan(lambda x, p: (p[1] + p[0] * x,) * 2, 0.0, (g, h), reverse=True)[1], None
        return lax.scan(step, v, None, length=20)[0]
    add('option_on_a_grid', crank, np.maximum(np.arange(80.0) - 40, 0) / 40, np.arange(80.0) / 10)

    def poisson(f):
        n, m = f.shape
        lam = lambda n: 2 - 2 * jnp.cos(np.pi * jnp.arange(1, n + 1) / (n + 1))

        def dst(x):
            y = jnp.concatenate([jnp.zeros_like(x[..., :1]), x, jnp.zeros_like(x[..., :1]), -x[..., ::-1]], -1)
            return -jnp.fft.rfft(y).imag[..., 1:x.shape[-1] + 1]
        g = dst(dst(f).T).T / (lam(n)[:, None] + lam(m)[None])
        return dst(dst(g).T).T / (4 * (n + 1) * (m + 1))
    add('poisson_by_sines', poisson, f64(47, 63))

    def hartree(h, e):
        def step(d, _):
            f = h + jnp.einsum('pqrs,rs->pq', e, d) - 0.5 * jnp.einsum('prqs,rs->pq', e, d)
            w, c = jnp.linalg.eigh(f)
            new = 2 * c[:, :3] @ c[:, :3].T
            return 0.5 * (d + new), 0.5 * (d * (h + f)).sum()
        return lax.scan(step, jnp.zeros_like(h), None, length=6)[1]
    half, two = f64(8, 8), 0.05 * f64(8, 8, 8, 8)
    add('self_consistent_field', hartree, half + half.T + 4 * np.diag(np.arange(8.0)), sum(two.transpose(p) for p in ((0, 1, 2, 3), (1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 0, 1), (2, 3, 1, 0), (3, 2, 1, 0))))

    def ewald(x, q):
        d = x[:, None] - x[None]
        d = d - jnp.round(d)
        r = jnp.sqrt((d * d).sum(-1) + jnp.eye(len(x)))
        near = (q[:, None] * q[None] * lax.erfc(5 * r) / r * (1 - jnp.eye(len(x)))).sum() / 2
        k = 2 * np.pi * jnp.array([(a, b, c) for a in range(-3, 4) for b in range(-3, 4) for c in range(-3, 4) if a or b or c], jnp.float64)
        k2 = (k * k).sum(1)
        s = (q * jnp.exp(1j * (k @ x.T))).sum(1)
        return near + (jnp.exp(-k2 / 100) / k2 * jnp.abs(s) ** 2).sum() * 2 * np.pi
    add('charges_in_a_box_forces', jax.value_and_grad(ewald), np.random.RandomState(6).rand(60, 3), np.where(np.arange(60) % 2, 1.0, -1.0))

    def lcg(seed, n):
        def step(s, _):
            s = s * jnp.uint64(6364136223846793005) + jnp.uint64(1442695040888963407)
            x = ((s >> jnp.uint64(18)) ^ s) >> jnp.uint64(27)
            r = (s >> jnp.uint64(59)).astype(jnp.uint32)
            x = x.astype(jnp.uint32)
            return s, (x >> r) | (x << ((32 - r) & 31))
        return lax.scan(step, seed, None, length=n)[1]
    add('congruential_numbers', lambda s: lcg(s, 3000), np.uint64(42))
    add('congruential_numbers_of_lanes', jax.vmap(lambda s: lcg(s, 200)), np.arange(50, dtype=np.uint64) * np.uint64(12345678901))

    def splitmix(x):
        x = (x ^ (x >> 30)) * jnp.uint64(0xbf58476d1ce4e5b9)
        x = (x ^ (x >> 27)) * jnp.uint64(0x94d049bb133111eb)
        return x ^ (x >> 31)
    add('mixed_words', splitmix, np.arange(20000, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15))

    def modular(a, b, m):
        def step(s):
            r, b, e = s
            return jnp.where(e & 1, r * b % m, r), b * b % m, e >> 1
        return lax.while_loop(lambda s: (s[2] > 0).any(), step, (jnp.ones_like(a), a % m, b))[0]
    add('powers_modulo', modular, R.randint(1, 1 << 30, 700), R.randint(1, 1 << 20, 700), R.randint(1 << 28, 1 << 31, 700))
    add('days_of_dates', lambda y, m, d: (lambda y, m: 365 * y + y // 4 - y // 100 + y // 400 + (153 * m + 2) // 5 + d)(jnp.where(m <= 2, y - 1, y), (m + 9) % 12), R.randint(1600, 2400, 4000), R.randint(1, 13, 4000), R.randint(1, 29, 4000))
    add('exact_sums', lambda x: lax.scan(lambda s, v: (lambda t: ((t, s[1] + jnp.where(jnp.abs(s[0]) >= jnp.abs(v), (s[0] - t) + v, (v - t) + s[0])), None))(s[0] + v), (0.0, 0.0), x)[0], f64(5000))
    add('regression_with_errors', lambda x, y: (lambda b, c: (b, jnp.sqrt(jnp.diagonal(c) * ((y - x @ b) ** 2).sum() / (len(y) - x.shape[1]))))(jnp.linalg.lstsq(x, y)[0], jnp.linalg.inv(x.T @ x)), f64(500, 7), f64(500))
    add('logistic_by_newton', lambda x, y: fori(0, 6, lambda i, w: (lambda p: w - jnp.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + 0.1 * jnp.eye(6), x.T @ (p - y) + 0.1 * w))(nn.sigmoid(x @ w)), jnp.zeros(6)), f64(400, 6), (R.rand(400) < 0.5).astype(np.float64))
    add('legendre_series', lambda c, x: lax.scan(lambda s, k: ((s[1], ((2 * k + 1) * x * s[1] - k * s[0]) / (k + 1)), s[1]), (jnp.ones_like(x), x), jnp.arange(1.0, 20.0))[1].T @ c, f64(19), np.linspace(-1, 1, 1001))
    add('chebyshev_series', lambda c, x: (lambda b: b[0] - x * b[1])(lax.scan(lambda b, c: ((2 * x * b[0] - b[1] + c, b[0]), None), (jnp.zeros_like(x), jnp.zeros_like(x)), c)[0]), f64(40), np.linspace(-1, 1, 501))
    add('integral_by_nodes', lambda p: jax.vmap(lambda a: (np.polynomial.legendre.leggauss(20)[1] * jnp.exp(-a * np.polynomial.legendre.leggauss(20)[0] ** 2) * jnp.cos(a)).sum())(p), f64(400))
    add('wave_packet', lambda psi, v: lax.scan(lambda p, _: (lambda p: (p, (jnp.abs(p) ** 2).sum()))(jnp.fft.ifft(jnp.exp(-0.01j * (jnp.fft.fftfreq(256) * 40) ** 2) * jnp.fft.fft(p * jnp.exp(-0.02j * v))) * jnp.exp(-0.0j * v)), psi, None, length=20), np.exp(-np.linspace(-4, 4, 256) ** 2 + 3j * np.linspace(-4, 4, 256)), np.linspace(-4, 4, 256) ** 2)
    return P
