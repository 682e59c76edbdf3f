"""Prices and risks: curves, volatilities, portfolios, rolling windows over prices, trees and paths, econometrics."""
import numpy as np

from by_value import Programs, Random

R = Random(107)
f32, i32 = R.f32, R.i32
FACTOR = 32.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    from jax.scipy.stats import norm

    P = Programs()
    add = P.add
    prices = 100 * np.exp(np.cumsum(0.01 * f32(1000, 1), 0)).astype(np.float32)[:, 0]
    many = 100 * np.exp(np.cumsum(0.01 * f32(500, 12), 0)).astype(np.float32)
    key = np.array([5, 77], np.uint32)

    # Windows over prices.
    def rolling(x, w):
        s = jnp.concatenate([jnp.zeros((1, *x.shape[1:])), jnp.cumsum(x, 0)])
        return (s[w:] - s[:-w]) / w
    def bands(p):
        m = rolling(p, 20)
        s = jnp.sqrt(jnp.maximum(rolling(p * p, 20) - m * m, 0))
        return m - 2 * s, m, m + 2 * s
    add('bands_of_prices', lambda r: bands(r), 0.01 * f32(1000))
    def ema(x, n):
        a = 2 / (n + 1)
        return lax.scan(lambda s, v: ((1 - a) * s + a * v,) * 2, x[0], x)[1]
    def oscillators(p):
        macd = ema(p, 12) - ema(p, 26)
        d = jnp.diff(p)
        up, down = ema(jnp.maximum(d, 0), 14), ema(jnp.maximum(-d, 0), 14)
        return macd - ema(macd, 9), 100 - 100 / (1 + up / (down + 1e-6))
    add('oscillators_of_prices', oscillators, prices)
    add('averages_of_many_prices', jax.vmap(lambda p: ema(p, 12) - ema(p, 26), 1, 1), many)
    add('averages_in_parallel', lambda x: lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (jnp.full_like(x, 0.9), 0.1 * x))[1], prices)
    def drawdowns(p):
        top = lax.cummax(p, axis=0)
        d = p / top - 1
        return d.min(0), d.argmin(0), jnp.quantile(jnp.diff(jnp.log(p), axis=0), 0.05, axis=0)
    add('drawdowns_and_tails', drawdowns, many)
    def betas(r, w):
        def one(i):
            x = lax.dynamic_slice(r, (i, 0), (w, r.shape[1]))
            x = x - x.mean(0)
            c = x.T @ x / (w - 1)
            return c[0] / c[0, 0]
        return jax.vmap(one)(jnp.arange(len(r) - w + 1))
    add('rolling_betas', lambda r: betas(r, 30), 0.01 * f32(300, 8))
    def rolling_regression(y, x, w):
        at = jnp.arange(len(y) - w + 1)[:, None] + jnp.arange(w)
        X = jnp.stack([jnp.ones_like(x[at]), x[at], x[at] ** 2], -1)
        return jnp.linalg.solve(jnp.swapaxes(X, 1, 2) @ X + 1e-3 * jnp.eye(3), jnp.einsum('nwk,nw->nk', X, y[at])[..., None])[..., 0]
    add('rolling_regression', lambda y, x: rolling_regression(y, x, 25), f32(300), f32(300))
    def bars(ticks, volume):
        p, v = ticks.reshape(-1, 15), volume.reshape(-1, 15)
        return jnp.stack([p[:, 0], p.max(1), p.min(1), p[:, -1], (p * v).sum(1) / v.sum(1), v.sum(1)], -1)
    add('bars_of_ticks', bars, 100 + f32(3000), np.abs(f32(3000)) + 0.1)
    def backtest(p, fast, slow):
        signal = jnp.sign(ema(p, fast) - ema(p, slow))[:-1]
        r = signal * jnp.diff(jnp.log(p)) - 1e-4 * jnp.abs(jnp.diff(signal, prepend=0.0))
        wealth = jnp.cumsum(r)
        return wealth[-1], r.mean() / (r.std() + 1e-9), (wealth - lax.cummax(wealth)).min()
    add('tested_rules', jax.vmap(backtest, (None, 0, 0)), prices, np.arange(3, 23, dtype=np.float32), np.arange(20, 60, 2, dtype=np.float32))

    # Portfolios.
    cov = f32(60, 15)
    cov = (cov.T @ cov / 60).astype(np.float32)
    def portfolio(cov, mu):
        n = len(mu)
        k = jnp.linalg.inv(cov + jnp.eye(n))
        def step(_, s):
            x, z, u = s
            x = k @ (z - u + mu)
            v = x + u
            # Onto the simplex.
            o = jnp.sort(v)[::-1]
            c = (jnp.cumsum(o) - 1) / jnp.arange(1, n + 1)
            z = jnp.maximum(v - c[jnp.sum(o > c) - 1], 0)
            return x, z, u + x - z
        return lax.fori_loop(0, 60, step, (jnp.ones(n) / n,) * 2 + (jnp.zeros(n),))[1]
    add('portfolio_by_multipliers', portfolio, cov, 0.1 * f32(15))
    add('frontier_of_portfolios', jax.vmap(portfolio, (None, 0)), cov, (np.linspace(0, 2, 20)[:, None] * 0.1 * f32(15)).astype(np.float32))
    def parity(cov):
        def step(_, x):
            g = cov @ x - 1 / (len(x) * x)
            h = cov + jnp.diag(1 / (len(x) * x * x))
            return jnp.maximum(x - 0.5 * jnp.linalg.solve(h, g), 1e-3)
        x = lax.fori_loop(0, 15, step, 1 / jnp.sqrt(jnp.diag(cov)))
        return x / x.sum()
    add('equal_shares_of_risk', parity, cov)
    def shrunk(r):
        x = r - r.mean(0)
        s = x.T @ x / len(x)
        target = jnp.trace(s) / len(s) * jnp.eye(len(s))
        d = ((s - target) ** 2).sum()
        b = jax.vmap(lambda v: ((jnp.outer(v, v) - s) ** 2).sum())(x).sum() / len(x) ** 2
        a = jnp.minimum(b / d, 1)
        return jnp.linalg.inv(a * target + (1 - a) * s)
    add('shrunk_covariance', shrunk, f32(100, 24))
    def universal(x):
        def step(w, r):
            gain = w @ r
            w = w * jnp.exp(0.05 * r / gain)
            return w / w.sum(), jnp.log(gain)
        return jnp.cumsum(lax.scan(step, jnp.ones(x.shape[1]) / x.shape[1], x)[1])
    add('weights_learned_online', universal, np.exp(0.01 * f32(400, 12)))

    # Curves, surfaces, trees and paths.
    def nelson_siegel(p, t):
        x = t / jnp.exp(p[3])
        a = -jnp.expm1(-x) / x
        return p[0] + p[1] * a + p[2] * (a - jnp.exp(-x))
    def fitted_curve(t, y):
        def step(_, p):
            r = nelson_siegel(p, t) - y
            j = jax.jacfwd(nelson_siegel)(p, t)
            return p - jnp.linalg.solve(j.T @ j + 1e-3 * jnp.eye(4), j.T @ r)
        return lax.fori_loop(0, 12, step, jnp.array([0.04, -0.01, 0.0, 0.5]))
    maturities = np.array([0.25, 0.5, 1, 2, 3, 5, 7, 10, 20, 30], np.float32)
    add('fitted_curve', fitted_curve, maturities, (0.04 - 0.02 * np.exp(-maturities / 3) + 0.001 * f32(10)).astype(np.float32))
    add('fitted_curves_of_days', jax.vmap(fitted_curve, (None, 0)), maturities, (0.04 - 0.02 * np.exp(-maturities / 3) + 0.001 * f32(60, 10)).astype(np.float32))
    def bootstrap(swaps):
        def step(s, r):
            annuity = s
            d = (1 - r * annuity) / (1 + r)
            return annuity + d, d
        d = lax.scan(step, 0.0, swaps)[1]
        return d, -jnp.log(d) / jnp.arange(1, len(d) + 1)
    add('discounts_and_their_risks', lambda s: (bootstrap(s), jax.jacrev(lambda s: bootstrap(s)[1])(s)), (0.03 + 0.001 * np.abs(f32(30))).astype(np.float32))
    def sabr(p, f, k, t):
        a, b, r, v = jnp.exp(p[0]), jax.nn.sigmoid(p[1]), jnp.tanh(p[2]), jnp.exp(p[3])
        m, l = (f * k) ** ((1 - b) / 2), jnp.log(f / k)
        z = v / a * m * l
        x = jnp.log((jnp.sqrt(1 - 2 * r * z + z * z) + z - r) / (1 - r))
        ratio = jnp.where(jnp.abs(z) < 1e-4, 1.0, z / jnp.where(jnp.abs(z) < 1e-4, 1.0, x))
        c = 1 + t * ((1 - b) ** 2 / 24 * (a / m) ** 2 + r * b * v * a / (4 * m) + (2 - 3 * r * r) / 24 * v * v)
        return a / (m * (1 + (1 - b) ** 2 / 24 * l * l)) * ratio * c
    add('smile_gradient', jax.value_and_grad(lambda p, f, k, t, y: ((sabr(p, f, k, t) - y) ** 2).mean()), np.array([-1.2, 0.5, -0.3, -0.7], np.float32), np.float32(1.0),
        np.linspace(0.6, 1.5, 40).astype(np.float32), np.float32(2.0), (0.3 + 0.01 * f32(40)).astype(np.float32))
    def short_rates(sigma, curve):
        n = 60
        j = jnp.arange(-n, n + 1)
        def back(v, r):
            d = jnp.exp(-(r + sigma * j) / 12)
            up, down = jnp.roll(v, -1).at[-1].set(v[-1]), jnp.roll(v, 1).at[0].set(v[0])
            v = d * (up / 6 + 2 * v / 3 + down / 6)
            return jnp.minimum(v, 1.0) + 0.04 / 12, None
        return lax.scan(back, jnp.ones(2 * n + 1), curve)[0][n]
    add('callable_bond_risks', jax.value_and_grad(short_rates, (0, 1)), np.float32(0.002), np.full(60, 0.03, np.float32))
    def barrier(key, s, k, b, sigma):
        z = jax.random.normal(jax.random.wrap_key_data(key), (50, 1000))
        path = s * jnp.exp(jnp.cumsum((0.02 - sigma ** 2 / 2) / 50 + sigma / 50 ** 0.5 * z, 0))
        alive = jax.nn.sigmoid((b - path.max(0)) * 2)
        return (jnp.maximum(path[-1] - k, 0) * alive).mean()
    add('barrier_by_paths_risks', jax.value_and_grad(barrier, (1, 4)), key, np.float32(100), np.float32(95), np.float32(130), np.float32(0.2))
    def basket(key, corr, s):
        z = jax.random.normal(jax.random.wrap_key_data(key), (2000, len(s))) @ jnp.linalg.cholesky(corr).T
        pay = jnp.maximum((s * jnp.exp(-0.02 + 0.2 * z)).mean(1) - 100, 0)
        return pay.mean(), pay.std() / 2000 ** 0.5, jnp.quantile(pay, 0.99)
    add('basket_by_paths', basket, key, (0.4 * np.ones((6, 6)) + 0.6 * np.eye(6)).astype(np.float32), 100 + f32(6))
    def exposures(key, r0):
        def step(r, z):
            r = r + 0.1 * (0.03 - r) / 12 + 0.01 / 12 ** 0.5 * z
            t = jnp.arange(1, 21) / 2
            b = -jnp.expm1(-0.1 * t) / 0.1
            bond = jnp.exp(-b * r[:, None] - 0.03 * (t - b))
            value = 1 - bond[:, -1] - 0.015 * bond.sum(1)
            return r, (jnp.maximum(value, 0).mean(), jnp.quantile(value, 0.95))
        return lax.scan(step, jnp.full(256, r0), jax.random.normal(jax.random.wrap_key_data(key), (60, 256)))[1]
    add('exposures_over_time', exposures, key, np.float32(0.03))
    def sobol(n, dims, directions):
        i = jnp.arange(n, dtype=jnp.uint32)
        gray = i ^ (i >> 1)
        bits = (gray[:, None] >> jnp.arange(16, dtype=jnp.uint32)) & 1
        x = lax.reduce(jnp.where(bits[:, :, None] == 1, directions, jnp.uint32(0)), jnp.uint32(0), lax.bitwise_xor, (1,))
        return norm.ppf((x.astype(jnp.float32) + 0.5) / 65536)
    add('normals_of_low_discrepancy', lambda v: sobol(1000, 6, v), R.randint(1, 65536, (16, 6)).astype(np.uint32))
    def book(orders):
        def step(levels, o):
            price, size, buys = o
            depth = jnp.arange(64)
            reach = jnp.where(buys, (depth <= price), (depth >= price)) & (levels * jnp.where(buys, -1, 1) > 0)
            have = jnp.where(reach, jnp.abs(levels), 0)
            before = jnp.where(buys, jnp.cumsum(have) - have, jnp.cumsum(have[::-1])[::-1] - have)
            take = jnp.clip(size - before, 0, have)
            left = size - take.sum()
            sign = jnp.where(buys, 1, -1)
            return (levels + sign * take).at[price].add(sign * left), (take * depth).sum()
        return lax.scan(step, jnp.zeros(64, jnp.int32), orders)
    add('book_of_orders', book, (i32(64, 400), i32(20, 400) + 1, R.rand(400) < 0.5))

    # Econometrics.
    def vector_autoregression(y):
        x = jnp.concatenate([jnp.ones((len(y) - 2, 1)), y[1:-1], y[:-2]], 1)
        b = jnp.linalg.lstsq(x, y[2:])[0]
        e = y[2:] - x @ b
        s = jnp.linalg.cholesky(e.T @ e / len(e))
        k = y.shape[1]
        companion = jnp.zeros((2 * k, 2 * k)).at[:k].set(b[1:].T).at[k:, :k].set(jnp.eye(k))
        return lax.scan(lambda m, _: (companion @ m, m[:k, :k] @ s), jnp.eye(2 * k), None, length=20)[1]
    add('responses_to_impulses', vector_autoregression, f32(150, 4))
    def newey_west(x, y):
        q = jnp.linalg.inv(x.T @ x)
        u = x * (y - x @ (q @ (x.T @ y)))[:, None]
        s = u.T @ u
        for l in range(1, 6):
            g = u[l:].T @ u[:-l]
            s = s + (1 - l / 6) * (g + g.T)
        return jnp.sqrt(jnp.diag(q @ s @ q))
    add('errors_with_lags', newey_west, f32(250, 5), f32(250))
    def regimes(p, y):
        mu, sd, stay = p[:2], jnp.exp(p[2:4]), jax.nn.sigmoid(p[4:])
        a = jnp.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
        def step(f, v):
            f = (f @ a) * norm.pdf(v, mu, sd)
            return f / f.sum(), jnp.log(f.sum())
        return lax.scan(step, jnp.array([0.5, 0.5]), y)[1].sum()
    add('regimes_gradient', jax.value_and_grad(regimes), np.array([0, 0.5, 0, 0.3, 1, 1], np.float32), f32(400))
    def variance_ratios(r, k):
        def one(key):
            x = jnp.cumsum(jax.random.permutation(key, r))
            return (x[5:] - x[:-5]).var() / (5 * r.var())
        return jax.vmap(one)(jax.random.split(jax.random.wrap_key_data(k), 40))
    add('variance_ratios_shuffled', variance_ratios, f32(200), key)
    return P
