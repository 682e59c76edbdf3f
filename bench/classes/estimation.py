"""Estimates: filters, samplers, fits, solvers and decompositions written by hand."""
import numpy as np

from by_value import Programs, Random

R = Random(0)
f32, i32 = R.f32, R.i32
FACTOR = 1024.0  # Iterations add up roundings, and solutions lose digits to the condition of what they solve.


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn, random
    from jax.experimental import sparse

    P = Programs()
    add = P.add
    key = np.array([0, 9], np.uint32)
    fori = lax.fori_loop
    eye = np.eye(3, dtype=np.float32)

    # Filters and smoothers.
    F = (np.eye(4) + 0.1 * np.eye(4, k=2)).astype(np.float32)
    H = np.eye(2, 4, dtype=np.float32)

    def smooth(z):
        def forward(s, z):
            m, c = s
            mp, cp = F @ m, F @ c @ F.T + 0.05 * jnp.eye(4)
            s = H @ cp @ H.T + 0.5 * jnp.eye(2)
            k = jax.scipy.linalg.solve(s, H @ cp, assume_a='pos').T
            m, c = mp + k @ (z - H @ mp), cp - k @ s @ k.T
            return (m, c), (m, c, mp, cp)
        _, (m, c, mp, cp) = lax.scan(forward, (jnp.zeros(4), jnp.eye(4)), z)

        def back(s, x):
            ms, cs = s
            m, c, mp, cp = x
            g = jnp.linalg.solve(cp, F @ c).T
            s = m + g @ (ms - mp), c + g @ (cs - cp) @ g.T
            return s, s
        return lax.scan(back, (m[-1], c[-1]), (m[:-1], c[:-1], mp[1:], cp[1:]), reverse=True)[1]
    add('smoothed_track', smooth, f32(100, 2))

    def unscented(z):
        def points(m, c):
            l = jnp.linalg.cholesky(3 * c)
            return jnp.concatenate([m[None], m + l.T, m - l.T])
        w = np.full(7, 1 / 6, np.float32)
        w[0] = 0

        def step(s, z):
            m, c = s
            x = points(m, c)
            x = x + 0.1 * jnp.stack([x[:, 1], -jnp.sin(x[:, 0]), -0.1 * x[:, 2]], 1)
            m = w @ x
            d = x - m
            c = (d * w[:, None]).T @ d + 0.01 * eye
            y = jnp.sin(x[:, :2])
            my = w @ y
            e = y - my
            s, xy = (e * w[:, None]).T @ e + 0.1 * jnp.eye(2), (d * w[:, None]).T @ e
            k = xy @ jnp.linalg.inv(s)
            return (m + k @ (z - my), c - k @ s @ k.T), m
        return lax.scan(step, (jnp.zeros(3), jnp.eye(3)), z)[1]
    add('unscented_filter', unscented, f32(80, 2) * 0.3)

    def regulator(a, b, x0):
        def back(p, _):
            k = jnp.linalg.solve(jnp.eye(2) + b.T @ p @ b, b.T @ p @ a)
            p = jnp.eye(5) + a.T @ p @ (a - b @ k)
            return p, k
        _, ks = lax.scan(back, jnp.eye(5), None, length=60)
        return lax.scan(lambda x, k: (a @ x - b @ (k @ x),) * 2, x0, ks[::-1])[1]
    add('linear_regulator', regulator, (np.eye(5) + 0.05 * f32(5, 5)).astype(np.float32), f32(5, 2) * 0.3, f32(5))

    def trajectory(u, x0):
        dyn = lambda x, u: x + 0.1 * jnp.stack([x[2] * jnp.cos(x[3]), x[2] * jnp.sin(x[3]), u[0], u[1]])
        cost = lambda u: (lambda xs: ((xs[:, :2] - 1) ** 2).sum() * 0.1 + 0.1 * (u * u).sum())(lax.scan(lambda x, u: (dyn(x, u),) * 2, x0, u)[1])
        return lax.scan(lambda u, _: (lambda c, g: (u - 0.02 * g, c))(*jax.value_and_grad(cost)(u)), u, None, length=20)
    add('trajectory_by_shooting', trajectory, 0.1 * f32(30, 2), f32(4) * 0.1)

    def ilqr(us, x0):
        dyn = lambda x, u: x + 0.1 * jnp.stack([x[1], jnp.sin(x[0]) * 2 + u[0]])
        fx, fu = jax.vmap(jax.jacfwd(dyn, 0)), jax.vmap(jax.jacfwd(dyn, 1))

        def iterate(us, _):
            xs = jnp.concatenate([x0[None], lax.scan(lambda x, u: (dyn(x, u),) * 2, x0, us)[1]])
            A, B = fx(xs[:-1], us), fu(xs[:-1], us)

            def back(v, s):
                vx, vxx = v
                a, b, x, u = s
                qx, qu = 0.1 * x + a.T @ vx, 0.1 * u + b.T @ vx
                qxx, quu, qux = 0.1 * jnp.eye(2) + a.T @ vxx @ a, 0.1 * jnp.eye(1) + b.T @ vxx @ b, b.T @ vxx @ a
                k, K = -qu / quu[0], -qux / quu
                return (qx + K.T @ quu @ k + K.T @ qu + qux.T @ k, qxx + K.T @ quu @ K + K.T @ qux + qux.T @ K), (k, K)
            _, (k, K) = lax.scan(back, (xs[-1], jnp.eye(2)), (A, B, xs[:-1], us), reverse=True)
            _, us = lax.scan(lambda x, s: (lambda u: (dyn(x, u), u))(s[1] + 0.5 * s[2] + s[3] @ (x - s[0])), x0, (xs[:-1], us, k, K))
            return us, (us * us).sum()
        return lax.scan(iterate, us, None, length=6)
    add('iterated_regulator', ilqr, np.zeros((40, 1), np.float32), np.array([1, 0], np.float32))

    # Samplers.
    def hmc(key, q, x, y):
        logp = lambda q: (y * (x @ q) - nn.softplus(x @ q)).sum() - 0.5 * (q * q).sum()
        g = jax.grad(logp)

        def draw(q, k):
            a, b = random.split(k)
            p = random.normal(a, q.shape)

            def leap(i, s):
                q, p = s
                p = p + 0.02 * g(q)
                q = q + 0.04 * p
                return q, p + 0.02 * g(q)
            r, t = fori(0, 8, leap, (q, p))
            ratio = logp(r) - 0.5 * t @ t - logp(q) + 0.5 * p @ p
            q = jnp.where(jnp.log(random.uniform(b)) < ratio, r, q)
            return q, ratio > -0.1
        return lax.scan(draw, q, random.split(key, 20))[0]
    add('hamiltonian_draws', hmc, key, f32(6) * 0.1, f32(150, 6), (R.rand(150) < 0.5).astype(np.float32))
    add('hamiltonian_draws_of_chains', jax.vmap(hmc, (0, 0, None, None)), R.randint(0, 1 << 30, (8, 2)).astype(np.uint32), f32(8, 6) * 0.1, f32(150, 6), (R.rand(150) < 0.5).astype(np.float32))

    def affine_ensemble(key, x):
        logp = lambda x: -0.5 * (x * x / jnp.arange(1.0, 6.0)).sum(-1)

        def half(a, b, k):
            k1, k2, k3 = random.split(k, 3)
            z = (random.uniform(k1, (len(a),)) * (np.sqrt(2) - np.sqrt(0.5)) + np.sqrt(0.5)) ** 2
            other = b[random.randint(k2, (len(a),), 0, len(b))]
            new = other + z[:, None] * (a - other)
            ok = jnp.log(random.uniform(k3, (len(a),))) < 4 * jnp.log(z) + logp(new) - logp(a)
            return jnp.where(ok[:, None], new, a)

        def step(s, k):
            k1, k2 = random.split(k)
            a = half(s[0], s[1], k1)
            b = half(s[1], a, k2)
            return (a, b), a.mean(0)
        return lax.scan(step, (x[:16], x[16:]), random.split(key, 25))[0]
    add('stretched_walkers', affine_ensemble, key, f32(32, 5))

    def gibbs(key, x):
        def step(s, k):
            mu, tau = s
            a, b, c = random.split(k, 3)
            log = -0.5 * tau * (x[:, None] - mu) ** 2 + 0.5 * jnp.log(tau)
            z = nn.one_hot(random.categorical(a, log), 4)
            n = z.sum(0)
            mu = (z * x[:, None]).sum(0) / (n + 0.1) + random.normal(b, (4,)) * lax.rsqrt(n * tau + 0.1)
            tau = (n / 2 + 1) / ((z * (x[:, None] - mu) ** 2).sum(0) / 2 + 1) * (1 + 0.1 * random.normal(c, (4,)))
            return (mu, jnp.abs(tau)), mu
        return lax.scan(step, (jnp.arange(4.0), jnp.ones(4)), random.split(key, 20))[0]
    add('mixture_by_gibbs', gibbs, key, (R.randint(0, 4, 300) * 8 + 0.1 * R.randn(300)).astype(np.float32))

    # Gaussian processes and likelihoods.
    def process(t, x, y):
        d = jnp.sqrt(((x[:, None] - x[None]) ** 2 / jnp.exp(t[1:])).sum(-1) + 1e-6)
        k = jnp.exp(t[0]) * (1 + np.sqrt(3) * d) * jnp.exp(-np.sqrt(3) * d) + 0.3 * jnp.eye(len(x))
        l = jnp.linalg.cholesky(k)
        a = jax.scipy.linalg.solve_triangular(l, y, lower=True)
        return 0.5 * a @ a + jnp.log(jnp.diagonal(l)).sum()
    add('process_of_4_inputs_gradient', jax.value_and_grad(process), f32(5) * 0.1, f32(90, 4), f32(90))

    def sparse_process(t, z, x, y):
        k = lambda a, b: jnp.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1) * jnp.exp(-t[0]))
        l = jnp.linalg.cholesky(k(z, z) + 0.05 * jnp.eye(len(z)))
        a = jax.scipy.linalg.solve_triangular(l, k(z, x), lower=True) / jnp.exp(t[1])
        b = jnp.linalg.cholesky(jnp.eye(len(z)) + a @ a.T)
        c = jax.scipy.linalg.solve_triangular(b, a @ y, lower=True) / jnp.exp(t[1])
        return jnp.log(jnp.diagonal(b)).sum() + 0.5 * (y @ y) / jnp.exp(2 * t[1]) - 0.5 * c @ c + len(x) * t[1]
    add('process_with_inducing_points_gradient', jax.grad(sparse_process, (0, 1)), f32(2) * 0.1, f32(20, 2), f32(400, 2), f32(400))

    def garch(p, r):
        w, a, b = nn.softplus(p[0]) * 0.1, 0.3 * nn.sigmoid(p[1]), 0.6 * nn.sigmoid(p[2])
        v = lax.scan(lambda v, x: (w + a * x * x + b * v, v), jnp.float32(1), r)[1]
        return 0.5 * (jnp.log(v) + r * r / v).mean()
    add('garch_gradient', jax.value_and_grad(garch), f32(3), f32(1000))
    add('garch_of_many_gradient', jax.vmap(jax.grad(garch)), f32(50, 3), f32(50, 250))

    def arma(p, x):
        def step(s, x):
            xs, es = s
            e = x - xs @ p[:3] - es @ p[3:]
            return (jnp.roll(xs, 1).at[0].set(x), jnp.roll(es, 1).at[0].set(e)), e
        return (lax.scan(step, (jnp.zeros(3), jnp.zeros(2)), x)[1] ** 2).mean()
    add('arma_hessian', jax.hessian(arma), f32(5) * 0.1, f32(200))

    def holt_winters(p, x):
        a, b, c = nn.sigmoid(p)

        def step(s, x):
            level, slope, season = s
            new = a * (x - season[0]) + (1 - a) * (level + slope)
            return (new, b * (new - level) + (1 - b) * slope, jnp.append(season[1:], c * (x - new) + (1 - c) * season[0])), level + slope + season[0]
        return ((lax.scan(step, (x[0], 0.0, jnp.zeros(12)), x)[1] - x) ** 2).mean()
    add('seasonal_smoothing_gradient', jax.value_and_grad(holt_winters), f32(3), f32(240))

    def hidden(pi, a, b, x):
        def up(s, o):
            s = nn.logsumexp(s[:, None] + a, 0) + b[:, o]
            return s, s
        first = pi + b[:, x[0]]
        alpha = jnp.concatenate([first[None], lax.scan(up, first, x[1:])[1]])
        back = lambda s, o: (lambda s: (s, s))(nn.logsumexp(a + b[:, o] + s, 1))
        beta = jnp.concatenate([lax.scan(back, jnp.zeros_like(pi), x[1:], reverse=True)[1], jnp.zeros((1, len(pi)))])
        return nn.softmax(alpha + beta, -1)
    add('hidden_states_of_sequences', jax.vmap(hidden, (None, None, None, 0)), f32(6), f32(6, 6), f32(6, 20), i32(20, 12, 50))

    # Fits.
    def bundle(cameras, points, seen):
        def project(c, p):
            a = jnp.linalg.norm(c[:3]) + 1e-3
            k = c[:3] / a
            q = p * jnp.cos(a) + jnp.cross(k, p) * jnp.sin(a) + k * (k @ p) * (1 - jnp.cos(a)) + c[3:6]
            xy = q[:2] / (q[2] + 5)
            return c[6] * xy * (1 + 0.1 * (xy @ xy))
        residual = lambda c: (jax.vmap(lambda c: jax.vmap(lambda p: project(c, p))(points))(c) - seen).reshape(len(c), -1)

        def step(i, c):
            j = jax.vmap(jax.jacfwd(lambda c, s: (jax.vmap(lambda p: project(c, p))(points) - s).reshape(-1)))(c, seen)
            r = residual(c)
            return c - jnp.linalg.solve(j.swapaxes(1, 2) @ j + 1.0 * jnp.eye(7), (j.swapaxes(1, 2) @ r[..., None]))[..., 0]
        return fori(0, 4, step, cameras)
    cameras = (0.1 * f32(6, 7) + np.eye(7)[6]).astype(np.float32)
    add('cameras_by_least_squares', bundle, cameras, f32(40, 3), 0.2 * f32(6, 40, 2))

    def icp(x, y):
        def step(i, s):
            x, err = s
            near = y[((x[:, None] - y[None]) ** 2).sum(-1).argmin(1)]
            mx, my = x.mean(0), near.mean(0)
            h = (x - mx).T @ (near - my)
            a = jnp.arctan2(h[0, 1] - h[1, 0], h[0, 0] + h[1, 1])
            r = jnp.stack([jnp.stack([jnp.cos(a), -jnp.sin(a)]), jnp.stack([jnp.sin(a), jnp.cos(a)])])
            x = (x - mx) @ r.T + my
            return x, ((x - near) ** 2).mean()
        return fori(0, 10, step, (x, 0.0))[1]
    cloud = f32(200, 2)
    add('closest_points', icp, cloud, (cloud @ np.array([[0.98, -0.2], [0.2, 0.98]]) + 0.05).astype(np.float32))

    def consensus(key, x, y):
        def one(k):
            i = random.choice(k, len(x), (2,), replace=False)
            slope = (y[i[1]] - y[i[0]]) / (x[i[1]] - x[i[0]] + 1e-6)
            off = y[i[0]] - slope * x[i[0]]
            return (jnp.abs(y - slope * x - off) < 0.1).sum(), slope, off
        n, slope, off = jax.vmap(one)(random.split(key, 60))
        best = n.argmax()
        return n[best], slope[best], off[best]
    add('line_by_consensus', consensus, key, f32(250), f32(250))

    def mixture(x, mu):
        def step(s, _):
            mu, c, w = s
            l = jnp.linalg.cholesky(c)
            d = jax.vmap(lambda l, m: jax.scipy.linalg.solve_triangular(l, (x - m).T, lower=True))(l, mu)
            log = jnp.log(w)[:, None] - 0.5 * (d * d).sum(1) - jnp.log(jnp.diagonal(l, axis1=1, axis2=2)).sum(1)[:, None]
            r = nn.softmax(log, 0)
            n = r.sum(1) + 1e-2
            mu = r @ x / n[:, None]
            e = x[None] - mu[:, None]
            c = jnp.einsum('kn,kni,knj->kij', r, e, e) / n[:, None, None] + 0.1 * jnp.eye(3)
            return (mu, c, n / n.sum()), nn.logsumexp(log, 0).mean()
        return lax.scan(step, (mu, jnp.broadcast_to(jnp.eye(3), (5, 3, 3)), jnp.full(5, 0.2)), None, length=8)
    add('mixture_of_gaussians', mixture, f32(400, 3) + 6 * i32(5, 400, 1), (np.arange(5)[:, None] * 6 + np.zeros((5, 3))).astype(np.float32))

    def seeds(key, x):
        def step(s, k):
            d, c, i = s
            at = random.categorical(k, jnp.log(d + 1e-9))
            return (jnp.minimum(d, ((x - x[at]) ** 2).sum(1)), c.at[i].set(x[at]), i + 1), at
        (_, c, _), _ = lax.scan(step, (jnp.full(len(x), 1.0), jnp.zeros((9, x.shape[1])), 0), random.split(key, 9))

        def lloyd(s):
            c, moved, n = s
            at = ((x[:, None] - c[None]) ** 2).sum(-1).argmin(1)
            new = jax.ops.segment_sum(x, at, 9) / jnp.maximum(jax.ops.segment_sum(jnp.ones(len(x)), at, 9), 1)[:, None]
            return new, jnp.abs(new - c).max(), n + 1
        return lax.while_loop(lambda s: (s[1] > 1e-3) & (s[2] < 8), lloyd, (c, jnp.float32(1), 0))[0]
    add('clusters_from_far_seeds', seeds, key, f32(500, 5) + 10 * i32(9, 500, 1))

    def neighbours_embedding(p, y):
        def loss(y):
            d = 1 / (1 + ((y[:, None] - y[None]) ** 2).sum(-1)) * (1 - jnp.eye(len(y)))
            q = d / d.sum()
            return (p * jnp.log((p + 1e-9) / (q + 1e-9))).sum()

        def step(s, _):
            y, m = s
            m = 0.8 * m - 0.5 * jax.grad(loss)(y)
            return (y + m, m), None
        return lax.scan(step, (y, jnp.zeros_like(y)), None, length=8)[0][0]
    affinity = np.abs(f32(110, 110))
    add('embedding_of_neighbours', neighbours_embedding, (affinity + affinity.T) / (2 * affinity.sum()), f32(110, 2))

    def lasso(x, y):
        n, d = x.shape
        norm = (x * x).sum(0)

        def sweep(i, s):
            def coordinate(j, s):
                w, r = s
                old = w[j]
                rho = x[:, j] @ r + old * norm[j]
                new = jnp.sign(rho) * nn.relu(jnp.abs(rho) - 5) / norm[j]
                return w.at[j].set(new), r - x[:, j] * (new - old)
            return fori(0, d, coordinate, s)
        return fori(0, 10, sweep, (jnp.zeros(d), y))[0]
    add('lasso_by_coordinates', lasso, f32(100, 30), f32(100))

    def admm(d, a, b):
        factor = jnp.linalg.cholesky(a.T @ a + jnp.eye(a.shape[1]))

        def step(s, _):
            x, z, u = s
            x = jax.scipy.linalg.cho_solve((factor, True), a.T @ b + z - u)
            z = jnp.sign(x + u) * nn.relu(jnp.abs(x + u) - d)
            return (x, z, u + x - z), jnp.abs(x - z).max()
        zero = jnp.zeros(a.shape[1])
        return lax.scan(step, (zero, zero, zero), None, length=30)
    add('alternating_multipliers', admm, np.float32(0.5), f32(60, 40), f32(60))

    def interior(q, g, a, b):
        def step(i, s):
            x, l, t = s
            r1, r2, r3 = q @ x + g + a.T @ l, a @ x + t - b, l * t - 0.1 * (l @ t) / len(b)
            m = q + (a.T * (l / t)) @ a
            dx = jnp.linalg.solve(m, -r1 - a.T @ ((l * r2 - r3) / t))
            dt = -r2 - a @ dx
            dl = (-r3 - l * dt) / t
            most = lambda v, dv: jnp.min(jnp.where(dv < 0, -0.9 * v / dv, 1.0))
            h = jnp.minimum(most(l, dl), most(t, dt))
            return x + h * dx, l + h * dl, t + h * dt
        return fori(0, 8, step, (jnp.zeros(len(g)), jnp.ones(len(b)), jnp.ones(len(b))))[0]
    half = f32(12, 12)
    add('quadratic_program', interior, half @ half.T + 6 * np.eye(12, dtype=np.float32), f32(12), f32(20, 12), 2 + np.abs(f32(20)))

    # Linear algebra by hand.
    def gmres(a, b):
        n, m = len(b), 15
        beta = jnp.linalg.norm(b)
        v = jnp.zeros((m + 1, n)).at[0].set(b / beta)

        def step(k, s):
            v, h = s
            w = a @ v[k]
            c = v @ w * (jnp.arange(m + 1) <= k)
            w = w - c @ v
            c2 = v @ w * (jnp.arange(m + 1) <= k)
            w = w - c2 @ v
            norm = jnp.linalg.norm(w)
            return v.at[k + 1].set(w / norm), h.at[:, k].set(c + c2).at[k + 1, k].set(norm)
        v, h = fori(0, m, step, (v, jnp.zeros((m + 1, m))))
        y = jnp.linalg.lstsq(h, jnp.zeros(m + 1).at[0].set(beta))[0]
        return v[:m].T @ y
    add('minimal_residuals', gmres, (f32(90, 90) * 0.03 + np.eye(90)).astype(np.float32), f32(90))

    def lanczos(d, i, v):
        a = sparse.BCOO((d, i), shape=(300, 300))
        mul = lambda v: a @ v + v @ a + 3 * v

        def step(s, _):
            v, old, beta = s
            w = mul(v) - beta * old
            alpha = w @ v
            w = w - alpha * v
            b = jnp.linalg.norm(w)
            return (w / b, v, b), (alpha, b)
        alpha, beta = lax.scan(step, (v / jnp.linalg.norm(v), jnp.zeros_like(v), 0.0), None, length=8)[1]
        return alpha, beta
    add('lanczos_of_a_sparse_matrix', lanczos, f32(1500) * 0.2, i32(300, 1500, 2), f32(300))
    add('sparse_times_dense', lambda d, i, x: sparse.BCOO((d, i), shape=(200, 300)) @ x, f32(2000), np.stack([i32(200, 2000), i32(300, 2000)], 1), f32(300, 17))

    def householder(a):
        n = a.shape[0]

        def step(k, s):
            q, r = s
            x = jnp.where(jnp.arange(n) >= k, r[:, k], 0)
            v = x.at[k].add(jnp.where(x[k] < 0, -1, 1) * jnp.linalg.norm(x))
            v = v / jnp.linalg.norm(v)
            return q - 2 * jnp.outer(q @ v, v), r - 2 * jnp.outer(v, v @ r)
        return fori(0, a.shape[1], step, (jnp.eye(n), a))
    add('reflections', householder, f32(33, 20))

    def jacobi(a):
        n = a.shape[0]

        def rotate(t, a):
            p, q = t // n, t % n
            theta = 0.5 * jnp.arctan2(2 * a[p, q], a[q, q] - a[p, p])
            c, s = jnp.cos(theta), jnp.sin(theta)
            rp, rq = a[p], a[q]
            b = a.at[p].set(c * rp - s * rq).at[q].set(s * rp + c * rq)
            cp, cq = b[:, p], b[:, q]
            return jnp.where(p < q, b.at[:, p].set(c * cp - s * cq).at[:, q].set(s * cp + c * cq), a)
        return jnp.sort(jnp.diagonal(fori(0, 5 * n * n, lambda t, a: rotate(t % (n * n), a), a)))
    sym = f32(10, 10)
    add('rotations_to_a_diagonal', jacobi, sym + sym.T)

    def pivots(a, b):
        n = a.shape[0]

        def step(k, s):
            m = s
            p = jnp.argmax(jnp.where(jnp.arange(n) >= k, jnp.abs(m[:, k]), -1))
            m = m.at[jnp.stack([k, p])].set(m[jnp.stack([p, k])])
            f = jnp.where(jnp.arange(n) > k, m[:, k] / m[k, k], 0)
            return m - f[:, None] * m[k]
        m = fori(0, n, step, jnp.concatenate([a, b[:, None]], 1))

        def back(t, x):
            k = n - 1 - t
            return x.at[k].set((m[k, -1] - m[k, :-1] @ x) / m[k, k])
        return fori(0, n, back, jnp.zeros(n))
    add('elimination_with_pivots', pivots, f32(40, 40) + 8 * np.eye(40, dtype=np.float32), f32(40))
    add('elimination_of_many', jax.vmap(pivots), f32(20, 9, 9) + 4 * np.eye(9, dtype=np.float32), f32(20, 9))

    def splines(x, at):
        def basis(t):
            b = [jnp.where((t >= k) & (t < k + 1), 1.0, 0.0) for k in range(12)]
            for p in range(1, 4):
                b = [(t - k) / p * b[k] + (k + p + 1 - t) / p * b[k + 1] for k in range(len(b) - 1)]
            return jnp.stack(b)
        return jax.vmap(lambda t: basis(t) @ x)(at)
    add('splines', splines, f32(9), np.random.RandomState(5).rand(700).astype(np.float32) * 12)
    add('splines_gradient', jax.grad(lambda x, at: (splines(x, at) ** 2).sum()), f32(9), np.random.RandomState(5).rand(700).astype(np.float32) * 12)

    def density(x, at):
        d = (at[:, None] - x[None]) / 0.2
        return jnp.exp(nn.logsumexp(-0.5 * d * d, 1)) / (0.2 * 2.5066 * len(x))
    add('kernel_density', density, f32(900), f32(203))
    add('bootstrap', lambda k, x: (lambda i: jnp.quantile(x[i].mean(1), jnp.array([0.05, 0.5, 0.95])))(random.randint(k, (400, len(x)), 0, len(x))), key, f32(101))
    add('distance_correlation', lambda x, y: (lambda a, b: (a * b).mean() / jnp.sqrt((a * a).mean() * (b * b).mean()))(*[(lambda d: d - d.mean(0) - d.mean(1, keepdims=True) + d.mean())(jnp.abs(v[:, None] - v[None])) for v in (x, y)]), f32(211), f32(211))
    return P
