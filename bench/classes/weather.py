"""Weather, seas and rivers: columns of air and water, spheres of gaussian grids, transports that keep signs, assimilation, extremes and droughts."""
import numpy as np

from by_value import Programs, Random

R = Random(241)
f32, i32 = R.f32, R.i32
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    lats = np.linspace(-87, 87, 59).astype(np.float32)
    smooth = lambda *s: np.cumsum(np.cumsum(R.randn(*s), -1), -2).astype(np.float32) * 0.02

    def thomas(a, b, c, d):
        def down(s, x):
            cp, dp = s
            a, b, c, d = x
            m = 1 / (b - a * cp)
            return (c * m, (d - a * dp) * m), (c * m, (d - a * dp) * m)
        z = jnp.zeros_like(b[0])
        cp, dp = lax.scan(down, (z, z), (a, b, c, d))[1]
        return lax.scan(lambda x, s: ((s[1] - s[0] * x,) * 2), z, (cp, dp), reverse=True)[1]

    def mixing(t, k, dt):
        """Vertical diffusion of 3 tracers in 41 levels of 23 by 37 columns: tridiagonal systems along the first axis."""
        f = k * dt
        a = jnp.concatenate([jnp.zeros((1, *f.shape[1:])), -f])[:, None]
        c = jnp.concatenate([-f, jnp.zeros((1, *f.shape[1:]))])[:, None]
        b = 1 - a - c
        return thomas(*(jnp.broadcast_to(x, t.shape) for x in (a, b, c)), t)
    add('columns_mixed', mixing, f32(41, 3, 23, 37), np.abs(f32(40, 23, 37)), np.float32(0.7))
    add('columns_mixed_gradient', jax.grad(lambda t, k: (mixing(t, k, 0.7) ** 2).sum(), 1), f32(41, 3, 11, 17), np.abs(f32(40, 11, 17)))

    def adjusted(t, q):
        """Convection: unstable layers of 900 columns are mixed pair by pair, 6 sweeps from below."""
        w = jnp.linspace(1, 0.2, 30)
        def pair(s, x):
            t0, q0, w0 = s
            t1, q1, w1 = x
            un = t0 > t1
            m = lambda a, b: (a * w0 + b * w1) / (w0 + w1)
            lo = jnp.where(un, m(t0, t1), t0), jnp.where(un, m(q0, q1), q0)
            hi = jnp.where(un, m(t0, t1), t1), jnp.where(un, m(q0, q1), q1)
            return (*hi, w1), lo
        def sweep(s, _):
            t, q = s
            (tl, ql, _), (t, q) = lax.scan(pair, (t[0], q[0], w[0]), (t[1:], q[1:], w[1:]))
            return (jnp.concatenate([t, tl[None]]), jnp.concatenate([q, ql[None]])), None
        return lax.scan(sweep, (t, q), None, length=6)[0]
    add('columns_adjusted', adjusted, np.cumsum(f32(30, 900) + 0.3, 0).astype(np.float32), np.abs(f32(30, 900)))

    def two_stream(tau, omega, g, mu):
        """Sunlight through 30 layers of 500 columns in 4 bands by adding layers up and down."""
        k = jnp.sqrt(jnp.maximum((1 - omega) * (1 - omega * g) * 3, 1e-4))
        e = jnp.exp(-k * tau)
        r0 = (1 - jnp.sqrt(1 - omega)) / (1 + jnp.sqrt(1 - omega))
        den = 1 - r0 ** 2 * e ** 2
        r, t = r0 * (1 - e ** 2) / den, e * (1 - r0 ** 2) / den
        def up(s, x):
            r, t = x
            new = r + t * t * s / (1 - r * s)
            return new, s
        top, below = lax.scan(up, jnp.full(tau.shape[1:], 0.2), (r, t), reverse=True)
        def down(s, x):
            above, flux = s
            r, t, b = x
            d = flux * t / (1 - above * r)
            above = r + t * t * above / (1 - r * above)
            f = d / (1 - above * b)
            return (above, d), (f, f * b)
        return top, lax.scan(down, (jnp.zeros(tau.shape[1:]), mu * jnp.ones(tau.shape[1:])), (r, t, below))[1]
    add('sunlight_through_layers', two_stream, np.abs(f32(30, 4, 500)) * 0.2, R.uniform(0.3, 0.9, (30, 4, 500)).astype(np.float32),
        R.uniform(0.5, 0.9, (30, 4, 500)).astype(np.float32), np.float32(0.6))

    def longwave(t, q):
        """Heat radiated between 40 levels of 60 columns: transmissions between all pairs of levels in 6 bands."""
        k = 10.0 ** jnp.linspace(-2, 1, 6)
        path = jnp.concatenate([jnp.zeros((1, q.shape[1])), jnp.cumsum(q, 0)])
        tr = jnp.exp(-k[:, None, None, None] * jnp.abs(path[:, None] - path))
        b = (t / 288) ** 4
        d = tr[:, :, 1:] - tr[:, :, :-1]
        i, j = jnp.arange(41)[:, None], jnp.arange(40)
        upward = jnp.where((j < i)[..., None], d, 0)
        down = jnp.where((j >= i)[..., None], -d, 0)
        return jnp.einsum('kijc,jc->ic', upward, b) - jnp.einsum('kijc,jc->ic', down, b)
    add('heat_between_levels', longwave, 250 + 10 * f32(40, 60), np.abs(f32(40, 60)) * 0.1)

    def semi_lagrangian(h, u, v):
        """Transport on a sphere of 59 by 120: departures in two rounds, cubic interpolation of 16 points, limits kept."""
        n, m = h.shape
        y, x = jnp.meshgrid(jnp.arange(n), jnp.arange(m), indexing='ij')
        def bil(f, y, x):
            y = jnp.clip(y, 0, n - 1.001)
            i, j = jnp.floor(y).astype(int), jnp.floor(x).astype(int)
            a, b = y - i, x - j
            g = lambda i, j: f[i, j % m]
            return (1 - a) * ((1 - b) * g(i, j) + b * g(i, j + 1)) + a * ((1 - b) * g(i + 1, j) + b * g(i + 1, j + 1))
        dy, dx = v, u
        for _ in range(2):
            dy, dx = bil(v, y - dy / 2, x - dx / 2), bil(u, y - dy / 2, x - dx / 2)
        py, px = jnp.clip(y - dy, 1, n - 2.001), x - dx
        i, j = jnp.floor(py).astype(int), jnp.floor(px).astype(int)
        a, b = py - i, px - j
        w = lambda t: (-t * (t - 1) * (t - 2) / 6, (t + 1) * (t - 1) * (t - 2) / 2, -(t + 1) * t * (t - 2) / 2, (t + 1) * t * (t - 1) / 6)
        wa, wb = w(a), w(b)
        pts = [[h[i + k - 1, (j + l - 1) % m] for l in range(4)] for k in range(4)]
        s = sum(wa[k] * wb[l] * pts[k][l] for k in range(4) for l in range(4))
        box = [pts[k][l] for k in (1, 2) for l in (1, 2)]
        low, high = jnp.stack(box).min(0), jnp.stack(box).max(0)
        return jnp.clip(s, low, high)
    add('transport_by_departures', semi_lagrangian, f32(59, 120), 1.3 * smooth(59, 120), 0.4 * smooth(59, 120))

    def jacobian(psi, zeta):
        """Arakawa's Jacobian of 9 points on a torus, and ten steps of vorticity with a spectral inverse."""
        r = lambda a, i, j: jnp.roll(a, (-i, -j), (0, 1))
        def arakawa(p, z):
            a = (r(p, 0, 1) - r(p, 0, -1)) * (r(z, 1, 0) - r(z, -1, 0)) - (r(p, 1, 0) - r(p, -1, 0)) * (r(z, 0, 1) - r(z, 0, -1))
            b = (r(p, 0, 1) * (r(z, 1, 1) - r(z, -1, 1)) - r(p, 0, -1) * (r(z, 1, -1) - r(z, -1, -1))
                 - r(p, 1, 0) * (r(z, 1, 1) - r(z, 1, -1)) + r(p, -1, 0) * (r(z, -1, 1) - r(z, -1, -1)))
            c = (r(p, 1, 1) * (r(z, 1, 0) - r(z, 0, 1)) - r(p, -1, -1) * (r(z, 0, -1) - r(z, -1, 0))
                 - r(p, -1, 1) * (r(z, 0, 1) - r(z, -1, 0)) + r(p, 1, -1) * (r(z, 1, 0) - r(z, 0, -1)))
            return (a + b + c) / 12
        n, m = zeta.shape
        k2 = (2 - 2 * jnp.cos(2 * jnp.pi * jnp.arange(n) / n))[:, None] + (2 - 2 * jnp.cos(2 * jnp.pi * jnp.arange(m // 2 + 1) / m))
        inv = jnp.where(k2 > 0, -1 / jnp.maximum(k2, 1e-6), 0)
        def step(z, _):
            p = jnp.fft.irfft2(jnp.fft.rfft2(z) * inv, s=(n, m))
            return z - 0.02 * arakawa(p, z), None
        return lax.scan(step, zeta, None, length=10)[0] + 0 * psi
    add('jacobians_of_arakawa', jacobian, f32(60, 72), 0.1 * f32(60, 72))

    def seawater(t, s, p):
        """Density of seawater by 48 terms of temperature, salinity and pressure, its expansion and the square of stability."""
        def rho(t, s, p):
            r = jnp.sqrt(jnp.abs(s) + 0.1)
            v = 0.0
            for i in range(5):
                w = 0.0
                for j in range(4):
                    w = w * t * 0.02 + ((-1) ** j / (i + j + 1.0) + p * 1e-4 / (1 + i) - p * p * 1e-9 * j)
                v = v * r * 0.1 + w
            return 1000 + 20 * v
        g = jax.vmap(jax.vmap(jax.vmap(jax.grad(rho, (0, 1)))))(t, s, p)
        d = rho(t, s, p)
        return d, *g, 9.8 / 1025 * (rho(t[1:], s[1:], p[1:]) - rho(t[:-1], s[:-1], p[1:]))
    add('density_of_seawater', seawater, 10 + 5 * f32(20, 25, 33), 35 + f32(20, 25, 33), np.abs(f32(20, 25, 33)) * 1000)

    def ensemble(x, h, y, rho):
        """An ensemble filter of 40 members, 600 variables and 50 observations, localised, square root by eigenvectors."""
        m = x.mean(1, keepdims=True)
        a = x - m
        hx = x[h]
        ha = hx - hx.mean(1, keepdims=True)
        c = ha @ ha.T / 39 * rho[h] + 0.5 * jnp.eye(50)
        gain = jnp.linalg.solve(c, (ha @ a.T / 39) * rho.T[:, :].T.T[:, :].reshape(600, 50).T).T
        w = jnp.eye(40) + ha.T @ ha / (39 * 0.5)
        e, v = jnp.linalg.eigh(w)
        t = (v * lax.rsqrt(e)) @ v.T
        return m + gain @ (y - hx.mean(1, keepdims=True)) + a @ t
    at = np.sort(R.choice(600, 50, False))
    rho = np.exp(-((np.arange(600)[:, None] - at) / 30.0) ** 2).astype(np.float32)
    add('ensemble_filter', ensemble, f32(600, 40), at.astype(np.int32), f32(50, 1), rho)

    def local_ensemble(x, obs, near, w):
        """A local ensemble transform at 100 points: each takes its 9 nearest observations, 12 members, eigenvectors of 12x12."""
        hx = x[:, near]
        def one(i):
            ids = near[i]
            hx = x[:, ids]
            a = hx - hx.mean(0)
            c = (a * w[i]).T
            s = jnp.linalg.inv(11 * jnp.eye(12) + a @ c)
            e, v = jnp.linalg.eigh(11 * jnp.eye(12) + a @ c)
            wa = (v * jnp.sqrt(11 / e)) @ v.T
            wm = s @ (a @ ((obs[ids] - hx.mean(0)) * w[i]))
            d = x[:, i] - x[:, i].mean()
            return x[:, i].mean() + d @ (wa + wm[:, None])
        return jax.vmap(one)(jnp.arange(100)) + 0 * hx.sum()
    add('local_ensembles', local_ensemble, f32(12, 100), f32(100),
        np.argsort(np.abs(np.arange(100)[:, None] - np.arange(100)), 1)[:, :9].astype(np.int32),
        np.exp(-np.linspace(0, 2, 9)).astype(np.float32) * np.ones((100, 1), np.float32))

    def tides(t, h):
        """Heights of tides at 30 gauges fitted by 17 waves over 700 hours, then foretold."""
        w = jnp.linspace(0.02, 0.53, 17)
        a = jnp.concatenate([jnp.ones((len(t), 1)), jnp.cos(w * t[:, None]), jnp.sin(w * t[:, None])], 1)
        x = jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a.T @ a), True), a.T @ h)
        return jnp.hypot(x[1:18], x[18:]), jnp.arctan2(x[18:], x[1:18] + 3), a @ x - h
    add('tides_fitted', lambda t, h: tides(t, h)[2], np.arange(700, dtype=np.float32), f32(700, 30))

    def drought(p):
        """A drought index of 300 places: sums of 3 months, gamma fits by month, quantiles of normals."""
        c = jnp.cumsum(jnp.pad(p, ((1, 0), (0, 0))), 0)
        s = (c[3:] - c[:-3])[:348].reshape(29, 12, -1)
        m, l = s.mean(0), jnp.log(s).mean(0)
        a = jnp.log(m) - l
        k = (1 + jnp.sqrt(1 + 4 * a / 3)) / (4 * a)
        u = jax.scipy.special.gammainc(k, s / (m / k))
        return jax.scipy.special.ndtri(jnp.clip(u, 1e-4, 1 - 1e-4))
    add('index_of_droughts', drought, R.gamma(2, 30, (350, 300)).astype(np.float32))

    def extremes(x):
        """Yearly extremes of 400 places: moments by ranks, shapes by Newton, levels of 6 return periods."""
        s = jnp.sort(x, 0)
        n = len(x)
        j = jnp.arange(n)
        b0, b1, b2 = s.mean(0), (s * (j / (n - 1))[:, None]).mean(0), (s * (j * (j - 1) / ((n - 1) * (n - 2)))[:, None]).mean(0)
        l1, l2, l3 = b0, 2 * b1 - b0, 6 * b2 - 6 * b1 + b0
        c = 2 / (3 + l3 / l2) - np.log(2) / np.log(3)
        k = 7.859 * c + 2.9554 * c * c
        k = jnp.where(jnp.abs(k) < 1e-2, 1e-2, k)
        g = jnp.exp(jax.lax.lgamma(1 + k))
        a = l2 * k / ((1 - 2 ** -k) * g)
        t = jnp.array([2, 5, 10, 20, 50, 100.0])[:, None]
        return l1 - a * (1 - g) / k + a / k * (1 - (-jnp.log(1 - 1 / t)) ** k)
    add('levels_of_return', extremes, R.gumbel(30, 8, (45, 400)).astype(np.float32))

    def patterns(x, lat):
        """Patterns of a field: 6 vectors of a weighted covariance by 30 rounds of products and orthogonalising."""
        w = jnp.sqrt(jnp.cos(jnp.deg2rad(lat)))[:, None]
        a = ((x - x.mean(0)) * w).reshape(len(x), -1)
        def step(q, _):
            return jnp.linalg.qr(a.T @ (a @ q))[0], None
        q = lax.scan(step, jnp.cos(jnp.arange(a.shape[1] * 6.0) ** 2 % 7).reshape(-1, 6), None, length=30)[0]
        return jnp.abs(jnp.linalg.norm(a @ q, axis=0)).sum()
    add('patterns_of_a_field', patterns, f32(90, 19, 36), lats[::3][:19].copy())

    def conservative(f, a, b):
        """A field regridded so that its integral stays: overlaps of cells along both axes as products."""
        def overlap(n, m):
            e, g = jnp.linspace(0, 1, n + 1), jnp.linspace(0, 1, m + 1)
            o = jnp.clip(jnp.minimum(e[1:, None], g[1:]) - jnp.maximum(e[:-1, None], g[:-1]), 0)
            return o * n
        return jnp.einsum('oi,tij,pj->top', overlap(40, 97) * a, f, overlap(70, 181) * b)
    add('field_regridded', conservative, f32(7, 97, 181), np.float32(1), np.float32(1))

    def rivers(q, to, order, k):
        """Rivers of 400 reaches routed by Muskingum over 60 hours, reach after reach in the order of a tree."""
        def hour(s, q):
            i_old, o_old = s
            def reach(n, v):
                i, o = v
                r = order[n]
                inflow = i[r] + q[r]
                c = 1 / (1 + k[r])
                out = c * inflow * 0.3 + c * i_old[r] * 0.4 + (1 - 0.7 * c) * o_old[r]
                return i.at[to[r]].add(out), o.at[r].set(out)
            i, o = lax.fori_loop(0, 400, reach, (jnp.zeros(401), o_old))
            return (i, o), i[400]
        return lax.scan(hour, (jnp.zeros(401), jnp.zeros(400)), q)[1]
    to = np.array([R.randint(i + 1, min(i + 9, 401)) for i in range(400)], np.int32)
    add('rivers_routed', rivers, np.abs(f32(60, 400)), to, np.arange(400, dtype=np.int32), np.abs(f32(400)))

    def basin(p, rain, pet):
        """A basin's runoff by two stores and two unit hydrographs for 50 sets of parameters, with the gradient of its fit."""
        def run(p):
            x1, x2, x3 = jnp.exp(p[0]) * 100, p[1], jnp.exp(p[2]) * 50
            def day(s, v):
                a, r, uh = s
                n = jnp.maximum(v[0] - v[1], 0)
                e = jnp.maximum(v[1] - v[0], 0)
                t = jnp.tanh(n / x1)
                ps = x1 * (1 - (a / x1) ** 2) * t / (1 + a / x1 * t)
                t = jnp.tanh(e / x1)
                es = a * (2 - a / x1) * t / (1 + (1 - a / x1) * t)
                a = a - es + ps
                perc = a * (1 - (1 + (a / x1 * 4 / 9) ** 4) ** -0.25)
                a = a - perc
                uh = jnp.concatenate([uh[1:], jnp.zeros(1)]) + jnp.array([0.2, 0.4, 0.3, 0.1]) * (perc + n - ps)
                ex = x2 * (r / x3) ** 3.5
                r = jnp.maximum(r + 0.9 * uh[0] + ex, 0.01)
                q = r * (1 - (1 + (r / x3) ** 4) ** -0.25)
                return (a, r - q, uh), q + jnp.maximum(0.1 * uh[0] + ex, 0)
            return lax.scan(day, (x1 * 0.6, x3 * 0.7, jnp.zeros(4)), jnp.stack([rain, pet], 1))[1]
        return jax.vmap(jax.grad(lambda p: (jnp.sqrt(run(p)) ** 2).mean()))(p)
    add('runoff_of_a_basin_gradient', basin, 0.3 * f32(50, 3), np.maximum(f32(200) * 8, 0), np.abs(f32(200)) * 2)

    def microphysics(q, t):
        """Clouds to rain in 25 levels of 20 by 31 columns: saturation, autoconversion, accretion, fall in sub-steps, evaporation."""
        qv, qc, qr = q
        def step(s, _):
            qv, qc, qr, t = s
            qs = 3.8e-3 * jnp.exp(17.27 * (t - 273.15) / (t - 35.86))
            c = jnp.clip((qv - qs) / (1 + 2.5e6 ** 2 * qs / (1004 * 461.5 * t * t)), -qc, None)
            qv, qc, t = qv - c, qc + c, t + 2490 * c
            a = 1e-3 * jnp.maximum(qc - 5e-4, 0) + 2.2 * qc * jnp.maximum(qr, 0) ** 0.875
            a = jnp.minimum(a * 10, qc)
            qc, qr = qc - a, qr + a
            v = 14.16 * (jnp.maximum(qr, 1e-9)) ** 0.1364
            f = qr * v * 0.02
            qr = qr + jnp.concatenate([f[1:], jnp.zeros_like(f[:1])]) - f
            e = jnp.minimum(jnp.clip(1 - qv / qs, 0) * jnp.sqrt(jnp.maximum(qr, 0)) * 1e-3, qr)
            return (qv + e, qc, qr - e, t - 2490 * e), f[0]
        return lax.scan(step, (qv, qc, qr, t), None, length=8)
    add('clouds_to_rain', microphysics, np.abs(f32(3, 25, 20, 31)) * 0.003, 280 + 5 * f32(25, 20, 31))

    def waves(s, u):
        """Spectra of sea waves: 24 directions by 25 frequencies at 150 points, growth, dissipation, four-wave sums, moments."""
        f = 0.04 * 1.1 ** jnp.arange(25)
        th = jnp.arange(24) * (2 * jnp.pi / 24)
        w = jnp.maximum(0, 28 * u[:, None, None] * jnp.cos(th[:, None] - 0.3) * f / 50 - 1) * 1.2e-4 * 2 * jnp.pi * f
        e = (s * f).sum((1, 2)) * 0.1 * 2 * jnp.pi / 24
        k = (2 * jnp.pi * f) ** 2 / 9.8
        mean = (s * f * k ** -0.5).sum((1, 2)) * 0.02
        d = -1e-4 * f * (e / (mean + 1e-3))[:, None, None] ** 2
        up, lo = jnp.pad(s[..., 2:], ((0, 0), (0, 0), (0, 2))), jnp.pad(s[..., :-2], ((0, 0), (0, 0), (2, 0)))
        nl = 1e-4 * s * (s * (jnp.roll(up, 1, 1) + jnp.roll(lo, -2, 1)) - 2 * s * up * lo)
        new = jnp.maximum(s + 60 * ((w + d) * s + nl), 0)
        m0 = new.sum((1, 2))
        return new, 4 * jnp.sqrt(m0), jnp.arctan2((new * jnp.sin(th)[:, None]).sum((1, 2)), (new * jnp.cos(th)[:, None]).sum((1, 2)) + 1)
    add('spectra_of_waves', waves, np.abs(f32(150, 24, 25)), np.abs(f32(150)) * 10)

    def cover(z, mask, k):
        """Means of 31 days over 400 cells with gaps, filled by harmonics of the year, ranks of days."""
        n = mask.sum(0)
        t = jnp.arange(len(z)) * (2 * jnp.pi / 365)
        a = jnp.stack([jnp.ones_like(t), jnp.cos(t), jnp.sin(t), jnp.cos(2 * t), jnp.sin(2 * t)], 1)
        ata = jnp.einsum('ti,tc,tj->cij', a, mask, a) + 1e-2 * jnp.eye(5)
        x = jnp.linalg.solve(ata, jnp.einsum('ti,tc->ci', a, mask * z)[..., None])[..., 0]
        f = jnp.where(mask > 0, z, a @ x.T)
        c = jnp.cumsum(jnp.pad(f, ((31, 0), (0, 0)), mode='wrap'), 0)
        return (c[31:] - c[:-31]) / 31, n
    add('gaps_filled_by_harmonics', cover, f32(365, 400), (R.rand(365, 400) < 0.7).astype(np.float32), np.float32(1))
    return P
