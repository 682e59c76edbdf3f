"""Rates and markets again: curves that are bootstrapped, smiles, characteristic functions, lattices, credit, books of orders, ledgers."""
import numpy as np

from by_value import Programs, Random

R = Random(251)
f32, i32 = R.f32, R.i32
X64 = True


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    from jax.scipy.special import ndtr, ndtri

    P = Programs()
    add = P.add
    f64 = R.randn
    key = np.array([9, 4], np.uint32)

    def bootstrap(par):
        """Discounts of 60 half-years from par rates, one after another, for 40 days; forwards and instantaneous rates."""
        def one(r):
            def step(annuity, r):
                d = (1 - r / 2 * annuity) / (1 + r / 2)
                return annuity + d, d
            d = lax.scan(step, 0.0, r)[1]
            return d, jnp.log(jnp.concatenate([jnp.ones(1), d[:-1]]) / d) * 2
        return jax.vmap(one)(par)
    par = np.linspace(0.02, 0.04, 60) + 0.002 * f64(40, 1) + 1e-4 * f64(40, 60)
    add('curves_bootstrapped', bootstrap, par)
    add('curves_bootstrapped_jacobian', jax.jacrev(lambda r: bootstrap(r[None])[0][0]), par[0])

    def monotone(x, y, q):
        """Monotone convex interpolation of 15 nodes for 800 times by Hermite slopes that are limited."""
        h, d = jnp.diff(x), jnp.diff(y) / jnp.diff(x)
        w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
        m = jnp.where(d[1:] * d[:-1] > 0, (w1 + w2) / (w1 / d[:-1] + w2 / d[1:]), 0)
        m = jnp.concatenate([d[:1], m, d[-1:]])
        i = jnp.clip(jnp.searchsorted(x, q) - 1, 0, len(x) - 2)
        t = (q - x[i]) / h[i]
        return y[i] * (1 + 2 * t) * (1 - t) ** 2 + h[i] * m[i] * t * (1 - t) ** 2 + y[i + 1] * t * t * (3 - 2 * t) + h[i] * m[i + 1] * t * t * (t - 1)
    nodes = np.cumsum(R.uniform(0.2, 2, 15))
    add('monotone_curve_gradient', jax.grad(lambda x, y, q: (monotone(x, y, q) ** 2).sum(), (0, 1)),
        nodes, 0.03 + 0.002 * f64(15), R.uniform(nodes[0], nodes[-1], 800))

    def heston_phi(u, p):
        kappa, theta, sigma, rho, v0 = p
        d = jnp.sqrt((rho * sigma * 1j * u - kappa) ** 2 + sigma ** 2 * (1j * u + u ** 2))
        g = (kappa - rho * sigma * 1j * u - d) / (kappa - rho * sigma * 1j * u + d)
        e = jnp.exp(-d)
        c = kappa * theta / sigma ** 2 * ((kappa - rho * sigma * 1j * u - d) - 2 * jnp.log((1 - g * e) / (1 - g)))
        return jnp.exp(c + v0 / sigma ** 2 * (kappa - rho * sigma * 1j * u - d) * (1 - e) / (1 - g * e))
    heston = np.array([1.5, 0.04, 0.5, -0.6, 0.05])

    def cosines(p, k):
        """Calls of Heston's model at 41 strikes by 160 cosines."""
        n = jnp.arange(160)
        a, b = -2.5, 2.5
        u = n * jnp.pi / (b - a)
        def chi(c, d):
            at = lambda t: (jnp.cos(u * (t - a)) + u * jnp.sin(u * (t - a))) * jnp.exp(t)
            return (at(d) - at(c)) / (1 + u * u)
        psi = jnp.where(n == 0, b, (jnp.sin(u * (b - a)) - jnp.sin(-u * a)) / jnp.where(n == 0, 1, u))
        v = 2 / (b - a) * (chi(0.0, b) - psi)
        w = jnp.where(n == 0, 0.5, 1)
        x = -jnp.log(k)
        return k * (w * v * (heston_phi(u, p) * jnp.exp(1j * u * (x[:, None] - a))).real).sum(1)
    add('smile_by_cosines', cosines, heston, np.linspace(0.7, 1.4, 41))
    add('smile_by_cosines_jacobian', jax.jacfwd(cosines), heston, np.linspace(0.7, 1.4, 41))

    def carr_madan(p):
        """Calls at 1024 strikes by one transform with Simpson's weights and damping."""
        n, eta, alpha = 1024, 0.25, 1.5
        u = jnp.arange(n) * eta
        lam = 2 * jnp.pi / (n * eta)
        psi = heston_phi(u - (alpha + 1) * 1j, p) / (alpha ** 2 + alpha - u ** 2 + 1j * (2 * alpha + 1) * u)
        w = (3 + (-1.0) ** (jnp.arange(n) + 1) - (jnp.arange(n) == 0)) / 3
        k = -n * lam / 2 + lam * jnp.arange(n)
        return (jnp.exp(-alpha * k) / jnp.pi * jnp.fft.fft(jnp.exp(1j * u * n * lam / 2) * psi * eta * w).real)[400:620]
    add('smile_by_one_transform', carr_madan, heston)

    def trinomial(a, sigma, r):
        """A trinomial tree of short rates, 60 steps by 41 states: shifts found forwards by Newton, then a callable bond backwards."""
        dt = 0.25
        dx = sigma * jnp.sqrt(3 * dt)
        j = jnp.arange(-20, 21)
        eta = -a * j * dt
        pu, pm, pd = 1 / 6 + (eta * eta + eta) / 2, 2 / 3 - eta * eta, 1 / 6 + (eta * eta - eta) / 2
        up = lambda q: jnp.concatenate([jnp.zeros(1), q[:-1]])
        dn = lambda q: jnp.concatenate([q[1:], jnp.zeros(1)])
        def fwd(q, d):
            s = jnp.log((q * jnp.exp(-j * dx * dt)).sum() / d) / dt
            w = q * jnp.exp(-(s + j * dx) * dt)
            return up(w * pu) + w * pm + dn(w * pd), s
        shifts = lax.scan(fwd, (j == 0) * 1.0, jnp.exp(-r * dt * jnp.arange(1, 61)))[1]
        def back(v, s):
            v = jnp.exp(-(s + j * dx) * dt) * (pu * dn(v) + pm * v + pd * up(v))
            return jnp.minimum(v, 1.02) + 0.01, None
        return lax.scan(back, jnp.ones(41), shifts, reverse=True)[0], shifts
    add('callable_on_three_branches', trinomial, np.float64(0.1), np.float64(0.01), np.float64(0.03))
    add('callables_on_three_branches', jax.vmap(trinomial), R.uniform(0.05, 0.2, 50), R.uniform(0.005, 0.02, 50), R.uniform(0.01, 0.05, 50))

    def american(s, vol):
        """American puts on a binomial tree of 256 steps, 25 of them, with their deltas by differentiation."""
        def price(s, vol):
            dt = 1 / 256
            u = jnp.exp(vol * jnp.sqrt(dt))
            p = (jnp.exp(0.03 * dt) - 1 / u) / (u - 1 / u)
            k = jnp.arange(257)
            def step(v, n):
                cont = jnp.exp(-0.03 * dt) * (p * jnp.roll(v, -1) + (1 - p) * v)
                return jnp.maximum(cont, 1 - s * u ** (2.0 * k - n)), None
            return lax.scan(step, jnp.maximum(1 - s * u ** (2.0 * k - 256), 0), jnp.arange(255, -1, -1))[0][0]
        return jax.vmap(price)(s, vol)
    add('american_puts', american, R.uniform(0.8, 1.2, 25), R.uniform(0.1, 0.4, 25))

    def sabr(f, k, t, alpha, beta, rho, nu):
        """SABR smiles over 60 expiries by 25 strikes, and the slopes of their prices."""
        def vol(k):
            fk = (f * k) ** ((1 - beta) / 2)
            l = jnp.log(f / k)
            z = nu / alpha * fk * l
            x = jnp.log((jnp.sqrt(1 - 2 * rho * z + z * z) + z - rho) / (1 - rho))
            r = jnp.where(jnp.abs(z) < 0.02, 1 - rho * z / 2 + (2 - 3 * rho ** 2) / 12 * z * z, z / jnp.where(jnp.abs(z) < 0.02, 1.0, x))
            c = 1 + ((1 - beta) ** 2 / 24 * alpha ** 2 / fk ** 2 + rho * beta * nu * alpha / 4 / fk + (2 - 3 * rho ** 2) / 24 * nu ** 2) * t
            return alpha / fk / (1 + (1 - beta) ** 2 / 24 * l ** 2 + (1 - beta) ** 4 / 1920 * l ** 4) * r * c
        def call(k):
            s = vol(k) * jnp.sqrt(t)
            d = jnp.log(f / k) / s + s / 2
            return f * ndtr(d) - k * ndtr(d - s)
        g = jax.grad(lambda k: call(k).sum())
        return vol(k), g(k)
    add('smiles_of_sabr', sabr, 0.03 + 0.005 * R.rand(60, 1), np.tile(np.linspace(0.012, 0.081, 25), (60, 1)), np.linspace(0.25, 15, 60)[:, None],
        np.float64(0.04), np.float64(0.5), np.float64(-0.3), np.float64(0.4))

    def credit(spreads, d):
        """Hazards bootstrapped from spreads of 6 maturities for 70 names: bisection inside of a scan over maturities."""
        def one(s):
            def step(c, x):
                surv, prem, prot = c
                s, d = x
                def value(h):
                    q = surv * jnp.exp(-h * 0.25 * jnp.arange(1, 5))
                    before = jnp.concatenate([surv[None], q[:-1]])
                    return q[-1], prem + (0.25 * d * q).sum(), prot + (0.6 * d * (before - q)).sum()
                def body(_, lh):
                    l, h = lh
                    m = (l + h) / 2
                    _, a, b = value(m)
                    return jnp.where(b < s * a, m, l), jnp.where(b < s * a, h, m)
                l, h = lax.fori_loop(0, 40, body, (0.0, 1.0))
                return value((l + h) / 2), (l + h) / 2
            return lax.scan(step, (1.0, 0.0, 0.0), (s, d))[1]
        return jax.vmap(one)(spreads)
    add('hazards_bootstrapped', credit, 0.01 + 0.002 * np.arange(6) + 0.002 * R.rand(70, 6), np.exp(-0.03 * np.arange(1, 25) / 4).reshape(6, 4))

    def tranche(p, rho):
        """Losses of 125 names by a recursion given a factor at 24 nodes, and expected losses of five tranches."""
        x, w = (jnp.asarray(a) for a in np.polynomial.hermite_e.hermegauss(24))
        q = ndtr((ndtri(p) - jnp.sqrt(rho) * x[:, None]) / jnp.sqrt(1 - rho))
        def step(d, q):
            return d * (1 - q)[:, None] + jnp.pad(d[:, :-1], ((0, 0), (1, 0))) * q[:, None], None
        d = lax.scan(step, jnp.zeros((24, 126)).at[:, 0].set(1), q.T)[0]
        dist = (w / w.sum()) @ d
        loss = jnp.arange(126) * 0.6 / 125
        a = jnp.array([0, 0.03, 0.06, 0.09, 0.12])
        return (jnp.clip(loss - a[:, None], 0, 0.03) @ dist) / 0.03
    add('losses_of_tranches', tranche, R.uniform(0.005, 0.05, 125), np.float64(0.25))
    add('losses_of_tranches_gradient', jax.jacrev(tranche, (0, 1)), R.uniform(0.005, 0.05, 125), np.float64(0.25))

    def libor(key, f0):
        """Forward rates of a market model: 20 rates, 300 paths, drifts by running sums, a swap option and its risks."""
        z = jax.random.normal(jax.random.wrap_key_data(key), (19, 300))
        def price(f0):
            def step(f, x):
                z, i = x
                alive = jnp.arange(20) > i
                mu = jnp.cumsum(jnp.where(alive, 0.5 * f / (1 + 0.5 * f), 0), -1) * 0.04
                return jnp.where(alive, f * jnp.exp((mu - 0.02) * 0.5 + 0.2 * jnp.sqrt(0.5) * z[:, None]), f), None
            f = lax.scan(step, jnp.tile(f0, (300, 1)), (z, jnp.arange(19)))[0]
            d = jnp.cumprod(1 / (1 + 0.5 * f), -1)
            return (jnp.maximum((0.5 * d * (f - 0.04)).sum(-1), 0)).mean()
        return jax.value_and_grad(price)(f0)
    add('forward_rates_gradient', libor, key, 0.03 + 0.001 * np.arange(20))

    def jumps(s, k):
        """Merton's prices: 200 options by 25 numbers of jumps, implied volatilities by Newton from them."""
        n = jnp.arange(25)
        lam, m, d = 1.2, -0.1, 0.15
        w = jnp.exp(-lam + n * jnp.log(lam) - lax.lgamma(n + 1.0))
        sig = jnp.sqrt(0.04 + n * d * d)
        r = 0.02 - lam * (jnp.exp(m + d * d / 2) - 1) + n * (m + d * d / 2)
        def bs(s, k, r, v):
            a = (jnp.log(s / k) + r + v * v / 2) / v
            return s * ndtr(a) - k * jnp.exp(-r) * ndtr(a - v)
        p = (w * jnp.exp(r - 0.02) * bs(s[:, None], k[:, None], r, sig)).sum(1)
        def newton(_, v):
            a = (jnp.log(s / k) + 0.02 + v * v / 2) / v
            vega = s * jnp.exp(-a * a / 2) * 0.3989422804014327
            return jnp.clip(v - (bs(s, k, 0.02, v) - p) / vega, 0.01, 3)
        return p, lax.fori_loop(0, 8, newton, jnp.full(s.shape, 0.4))
    add('prices_with_jumps', jumps, R.uniform(90, 110, 200), R.uniform(80, 120, 200))

    def irr(flows, days):
        """Yields of 300 irregular series of 12 payments by Newton kept in brackets."""
        t = days / 365.0
        def npv(r):
            return (flows * (1 + r[:, None]) ** -t).sum(1)
        def body(_, s):
            lo, hi, r = s
            v = npv(r)
            g = -(flows * t * (1 + r[:, None]) ** (-t - 1)).sum(1)
            lo, hi = jnp.where(v > 0, r, lo), jnp.where(v > 0, hi, r)
            n = r - v / g
            return lo, hi, jnp.where((n >= lo) & (n <= hi), n, (lo + hi) / 2)
        return lax.fori_loop(0, 25, body, (jnp.full(300, -0.9), jnp.full(300, 5.0), jnp.full(300, 0.1)))[2]
    flows = np.concatenate([-1000 * np.ones((300, 1)), R.uniform(60, 140, (300, 11))], 1)
    add('yields_of_payments', irr, flows, np.cumsum(R.randint(20, 90, (300, 12)), 1).astype(np.int32))

    def ledger(cents, rate, days):
        """Loans of 500 clients in whole cents: interest by days, halves to even, payments, what is left, over 48 months."""
        def month(s, d):
            left, paid = s
            num = left * rate * d
            q, r = num // 3650000, num % 3650000
            i = q + ((r * 2 > 3650000) | ((r * 2 == 3650000) & (q % 2 == 1)))
            pay = jnp.minimum(cents // 40, left + i)
            return (left + i - pay, paid + pay), i
        return lax.scan(month, (cents, jnp.zeros_like(cents)), days)
    add('ledger_in_cents', ledger, R.randint(10 ** 5, 10 ** 8, 500, dtype=np.int64), R.randint(100, 900, 500, dtype=np.int64),
        np.tile([31, 28, 31, 30], 12).astype(np.int64))

    def lots(side, qty, price):
        """Gains by first in, first out for 60 accounts with trades of 40 lots: cumulative quantities matched by search."""
        def one(side, qty, price):
            b = jnp.cumsum(jnp.where(side, qty, 0))
            s = jnp.minimum(jnp.cumsum(jnp.where(side, 0, qty)), b[-1])
            cost = jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.where(side, qty * price, 0.0))])
            bb = jnp.concatenate([jnp.zeros(1, b.dtype), b])
            def upto(n):
                i = jnp.searchsorted(b, n)
                i = jnp.minimum(i, 39)
                return cost[i] + (n - bb[i]) * price[i]
            before = jnp.concatenate([jnp.zeros(1, s.dtype), s[:-1]])
            return (s - before) * price - (upto(s) - upto(before))
        return jax.vmap(one)(side, qty, price)
    add('gains_of_lots', lots, R.rand(60, 40) < 0.6, R.randint(1, 100, (60, 40)).astype(np.int64), 100 + 5 * f64(60, 40))

    def matching(side, price, qty):
        """An auction's price: where the volumes that can trade are largest, among 64 ticks, for 30 books of 80 orders."""
        def one(side, price, qty):
            b = jnp.zeros(64, jnp.int64).at[price].add(jnp.where(side, qty, 0))
            a = jnp.zeros(64, jnp.int64).at[price].add(jnp.where(side, 0, qty))
            demand, supply = jnp.cumsum(b[::-1])[::-1], jnp.cumsum(a)
            v = jnp.minimum(demand, supply)
            best = v == v.max()
            gap = jnp.where(best, jnp.abs(demand - supply), 1 << 40)
            k = gap.argmin()
            order = jnp.argsort(jnp.where(side, -price, 99) * 80 + jnp.arange(80))
            q = jnp.where(side & (price >= k), qty, 0)[order]
            fill = jnp.clip(v[k] - (jnp.cumsum(q) - q), 0, q)
            return k, v[k], jnp.zeros_like(fill).at[order].set(fill)
        return jax.vmap(one)(side, price, qty)
    add('prices_of_auctions', matching, R.rand(30, 80) < 0.5, R.randint(0, 64, (30, 80)).astype(np.int32),
        R.randint(1, 50, (30, 80)).astype(np.int64))

    def realised(t, p):
        """Realised kernels of prices at odd times: refresh to a grid by search, 12 autocovariances with Parzen's weights, two scales."""
        grid = jnp.arange(0, 23400, 30.0)
        x = jnp.log(p)[jnp.clip(jnp.searchsorted(t, grid, side='right') - 1, 0)]
        r = jnp.diff(x)
        h = jnp.arange(1, 13) / 13
        w = jnp.where(h < 0.5, 1 - 6 * h ** 2 + 6 * h ** 3, 2 * (1 - h) ** 3)
        g = jnp.stack([(r[k:] * r[:-k]).sum() for k in range(1, 13)])
        rk = (r * r).sum() + 2 * (w * g).sum()
        sub = jnp.stack([(jnp.diff(x[k::10][:77]) ** 2).sum() for k in range(10)]).mean()
        return rk, sub - 0.1 * (r * r).sum()
    add('realised_variances', realised, np.sort(R.uniform(0, 23400, 5000)), 100 * np.exp(np.cumsum(1e-4 * f64(5000))))

    def hierarchical(r):
        """Weights by hierarchical risk parity for 24 assets: single links, order of leaves, bisection by variances."""
        c = jnp.cov(r.T)
        s = jnp.sqrt(jnp.diag(c))
        d = jnp.sqrt(jnp.clip((1 - c / s[:, None] / s) / 2, 0))
        def prim(st, _):
            used, dist = st
            k = jnp.where(used, jnp.inf, dist).argmin()
            return (used.at[k].set(True), jnp.minimum(dist, d[k])), k
        order = lax.scan(prim, (jnp.zeros(24, bool), d[0].at[0].set(-1)), None, length=24)[1]
        v = c[order][:, order]
        w = jnp.ones(24)
        for size in (24, 12, 6, 3):
            left, right = (size + 1) // 2, size // 2
            if right == 0:
                continue
            for a in range(0, 24, size):
                i, j = slice(a, a + left), slice(a + left, a + size)
                def var(q):
                    u = 1 / jnp.diag(v[q, q])
                    u = u / u.sum()
                    return u @ v[q, q] @ u
                x, y = var(i), var(j)
                w = w.at[i].multiply(y / (x + y)).at[j].multiply(x / (x + y))
        return jnp.zeros(24).at[order].set(w)
    add('weights_by_hierarchies', hierarchical, f64(300, 24) @ (np.eye(24) + 0.2 * f64(24, 24)))
    return P
