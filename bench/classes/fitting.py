"""Fits and searches: evolution, swarms, factorisations, samplers, solvers of large systems."""
import numpy as np
from by_value import Programs, Random
R = Random(905)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 256.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    key = np.array([5, 6], np.uint32)

    # CMA-ES generation loop with eigh
    def cma(key, m):
        n, lam = m.size, 24; mu = 12
        w = jnp.log(mu + .5) - jnp.log(jnp.arange(1, mu + 1)); w = w / w.sum()
        me = 1 / (w ** 2).sum()
        cs, c1, cc = (me + 2) / (n + me + 5), 2 / ((n + 1.3) ** 2 + me), 4 / (n + 4)
        cmu = jnp.minimum(1 - c1, 2 * (me - 2 + 1 / me) / ((n + 2) ** 2 + me))
        def gen(s, k):
            m, sig, C, ps, pc = s
            e, B = jnp.linalg.eigh(C)
            d = jnp.sqrt(jnp.clip(e, 1e-10))
            y = jax.random.normal(k, (lam, n)) @ (B * d).T
            x = m + sig * y
            f = (100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(1)
            i = jnp.argsort(f)[:mu]
            yw = w @ y[i]
            m = m + sig * yw
            ps = (1 - cs) * ps + jnp.sqrt(cs * (2 - cs) * me) * (B / d) @ (B.T @ yw)
            pc = (1 - cc) * pc + jnp.sqrt(cc * (2 - cc) * me) * yw
            C = (1 - c1 - cmu) * C + c1 * jnp.outer(pc, pc) + cmu * (y[i].T * w) @ y[i]
            sig = sig * jnp.exp(cs * (jnp.linalg.norm(ps) / jnp.sqrt(n) - 1))
            return (m, sig, C, ps, pc), jnp.abs(d).sum()
        return lax.scan(gen, (m, .3, jnp.eye(n), m * 0, m * 0), jax.random.split(key, 2))[1]
    add('covariance_adaptation', cma, key, f32(17))
    # particle swarm
    def pso(key, x, v):
        f = lambda x: (x ** 2 - 10 * jnp.cos(2 * jnp.pi * x)).sum(-1)
        def it(s, k):
            x, v, pb, pf = s
            g = pb[pf.argmin()]
            r = jax.random.uniform(k, (2,) + x.shape)
            v = .7 * v + 1.5 * r[0] * (pb - x) + 1.5 * r[1] * (g - x)
            x = x + v; fx = f(x)
            b = fx < pf
            return (x, v, jnp.where(b[:, None], x, pb), jnp.where(b, fx, pf)), pf.min()
        return lax.scan(it, (x, v, x, f(x)), jax.random.split(key, 30))[1]
    add('particle_swarm', pso, key, f32(60, 13), f32(60, 13))
    # differential evolution
    def de(key, x):
        f = lambda x: -20 * jnp.exp(-.2 * jnp.sqrt((x * x).mean(-1))) - jnp.exp(jnp.cos(2 * jnp.pi * x).mean(-1))
        def it(s, k):
            x, fx = s
            k1, k2, k3 = jax.random.split(k, 3)
            idx = jax.vmap(lambda k: jax.random.choice(k, x.shape[0], (3,), replace=False))(jax.random.split(k1, x.shape[0]))
            m = x[idx[:, 0]] + .7 * (x[idx[:, 1]] - x[idx[:, 2]])
            t = jnp.where(jax.random.uniform(k2, x.shape) < .9, m, x)
            ft = f(t); b = ft < fx
            return (jnp.where(b[:, None], t, x), jnp.where(b, ft, fx)), fx.min()
        return lax.scan(it, (x, f(x)), jax.random.split(key, 8))[1]
    add('differential_evolution', de, key, f32(50, 11) * 2)
    # Nelder-Mead
    def nm(x0):
        f = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        n = x0.size
        S = jnp.concatenate([x0[None], x0 + .3 * jnp.eye(n)])
        def it(_, s):
            S, F = s
            o = jnp.argsort(F); S, F = S[o], F[o]
            c = S[:-1].mean(0); r = c + (c - S[-1]); fr = f(r)
            e = c + 2 * (r - c); fe = f(e)
            k = jnp.where(fr < F[-1], c + .5 * (r - c), c + .5 * (S[-1] - c)); fk = f(k)
            case = jnp.where(fr < F[0], jnp.where(fe < fr, 1, 0), jnp.where(fr < F[-2], 0, jnp.where(fk < jnp.minimum(fr, F[-1]), 2, 3)))
            p = jnp.stack([r, e, k])[jnp.minimum(case, 2)]; fp = jnp.stack([fr, fe, fk])[jnp.minimum(case, 2)]
            def shrink(_):
                T = S[0] + .5 * (S - S[0]); return T, jax.vmap(f)(T)
            return lax.cond(case == 3, shrink, lambda _: (S.at[-1].set(p), F.at[-1].set(fp)), None)
        return lax.fori_loop(0, 40, it, (S, jax.vmap(f)(S)))[1].min()
    add('nelder_mead', nm, f32(7) * .3)
    # non-negative matrix factorisation, Kullback-Leibler
    def nmf(V, W, H):
        def it(s, _):
            W, H = s
            H = H * (W.T @ (V / (W @ H + 1e-6))) / W.sum(0)[:, None]
            W = W * ((V / (W @ H + 1e-6)) @ H.T) / H.sum(1)
            return (W, H), None
        return lax.scan(it, (W, H), None, 15)[0]
    add('nonnegative_factors_kl', nmf, R.rand(130, 170).astype(np.float32), R.rand(130, 9).astype(np.float32) + .1, R.rand(9, 170).astype(np.float32) + .1)
    # alternating least squares with observed mask, batched solves
    def als(M, mask, U, V):
        def half(F, M, mask):
            A = jnp.einsum('ui,ik,il->ukl', mask, F, F) + .1 * jnp.eye(F.shape[1])
            return jnp.linalg.solve(A, ((M * mask) @ F)[..., None])[..., 0]
        def it(s, _):
            U, V = s
            U = half(V, M, mask); V = half(U, M.T, mask.T)
            return (U, V), None
        (U, V), _ = lax.scan(it, (U, V), None, 3)
        return (((U @ V.T - M) * mask) ** 2).sum()
    add('alternating_least_squares', als, f32(120, 90), (R.rand(120, 90) < .3).astype(np.float32), f32(120, 8), f32(90, 8))
    # robust PCA by singular value thresholding
    def rpca(M):
        soft = lambda x, t: jnp.sign(x) * jnp.maximum(jnp.abs(x) - t, 0)
        def it(s, _):
            S, Y = s
            U, sv, V = jnp.linalg.svd(M - S + Y, full_matrices=False)
            L = (U * soft(sv, 2.)) @ V
            S = soft(M - L + Y, .2)
            return (S, Y + M - L - S), sv
        return lax.scan(it, (M * 0, M * 0), None, 3)[1]
    add('robust_components', rpca, f32(60, 33))
    # SVGD
    def svgd(x):
        lp = lambda x: jax.scipy.special.logsumexp(jnp.stack([-.5 * ((x - 2) ** 2).sum(), -.5 * ((x + 2) ** 2).sum()]))
        def it(x, _):
            d2 = ((x[:, None] - x) ** 2).sum(-1)
            h = jnp.median(d2) / jnp.log(len(x)) + 1e-6
            K = jnp.exp(-d2 / h)
            phi = (K @ jax.vmap(jax.grad(lp))(x) + 2 / h * (x * K.sum(1)[:, None] - K @ x)) / len(x)
            return x + .1 * phi, None
        return lax.scan(it, x, None, 10)[0]
    add('stein_variational', svgd, f32(120, 3))
    # parallel tempering with swaps
    def pt(key, x):
        U = lambda x: ((x ** 2 - 1) ** 2).sum(-1) * 2
        T = 1.5 ** jnp.arange(12)
        def it(x, k):
            a, b, c = jax.random.split(k, 3)
            y = x + .3 * jnp.sqrt(T)[:, None] * jax.random.normal(a, x.shape)
            x = jnp.where((jnp.log(jax.random.uniform(b, (12,))) < (U(x) - U(y)) / T)[:, None], y, x)
            u = U(x); d = (1 / T[:-1] - 1 / T[1:]) * (u[:-1] - u[1:])
            sw = (jnp.log(jax.random.uniform(c, (11,))) < d) & (jnp.arange(11) % 2 == 0)
            i = jnp.arange(12); i = i + jnp.append(sw, False) - jnp.append(False, sw)
            return x[i], x[0]
        return lax.scan(it, x, jax.random.split(key, 100))[1]
    add('parallel_tempering', pt, key, f32(12, 5))
    # collapsed Gibbs for topics, token by token
    def lda(key, w, d, z):
        K, V, D = 7, 60, 25
        nw = jnp.zeros((V, K)).at[w, z].add(1); ndk = jnp.zeros((D, K)).at[d, z].add(1)
        def tok(c, x):
            nw, nd, nk = c; w, d, z, u = x
            o = jax.nn.one_hot(z, K)
            nw, nd, nk = nw.at[w].add(-o), nd.at[d].add(-o), nk - o
            p = jnp.cumsum((nw[w] + .1) / (nk + .1 * V) * (nd[d] + .5))
            zn = jnp.searchsorted(p, u * p[-1])
            o = jax.nn.one_hot(zn, K)
            return (nw.at[w].add(o), nd.at[d].add(o), nk + o), zn
        return lax.scan(tok, (nw, ndk, nw.sum(0)), (w, d, z, jax.random.uniform(key, w.shape)))[1]
    add('topics_by_gibbs', lda, key, i32(60, 900), i32(25, 900), i32(7, 900))
    # Hawkes process likelihood gradient over events of many types
    def hawkes(p, t, k):
        mu, A, b = jax.tree.map(jnp.exp, p)
        def ev(c, x):
            s, t0, ll = c; t, k = x
            s = s * jnp.exp(-b * (t - t0))
            ll = ll + jnp.log(mu[k] + A[k] @ s)
            return (s.at[k].add(b), t, ll), None
        (s, tn, ll), _ = lax.scan(ev, (jnp.zeros(9), 0., 0.), (t, k))
        comp = mu.sum() * t[-1] + (A.sum(0)[k] * (1 - jnp.exp(-b * (t[-1] - t)))).sum()
        return comp - ll
    add('hawkes_gradient', lambda p, t, k: jax.value_and_grad(hawkes)(p, t, k), (f32(9), f32(9, 9) - 2, np.float32(.3)), np.cumsum(R.exponential(.3, 700)).astype(np.float32), i32(9, 700))
    # change-point detection online
    def bocpd(x):
        def st(c, xt):
            lr, mu, ka, al, be = c
            nu = 2 * al; s2 = be * (ka + 1) / (al * ka)
            lp = jax.scipy.special.gammaln((nu + 1) / 2) - jax.scipy.special.gammaln(nu / 2) - .5 * jnp.log(nu * jnp.pi * s2) - (nu + 1) / 2 * jnp.log1p((xt - mu) ** 2 / (nu * s2))
            g = lr + lp + jnp.log(.99); cp = jax.scipy.special.logsumexp(lr + lp + jnp.log(.01))
            lr = jnp.concatenate([cp[None], g[:-1]]); lr = lr - jax.scipy.special.logsumexp(lr)
            sh = lambda a, v: jnp.concatenate([jnp.full(1, v), a[:-1]])
            be2 = be + ka * (xt - mu) ** 2 / (2 * (ka + 1))
            return (lr, sh((ka * mu + xt) / (ka + 1), 0.), sh(ka + 1, 1.), sh(al + .5, 1.), sh(be2, 1.)), lr.argmax()
        o = jnp.ones(150)
        return lax.scan(st, (jnp.where(jnp.arange(150) == 0, 0., -1e6), o * 0, o, o, o), x)[1]
    add('change_points_online', bocpd, f32(200))
    # quantile regression by IRLS; GLM gamma
    def quant(X, y, taus):
        def one(tau):
            def it(_, b):
                r = y - X @ b
                w = jnp.where(r > 0, tau, 1 - tau) / jnp.maximum(jnp.abs(r), 1e-2)
                return jnp.linalg.solve((X.T * w) @ X + 1e-4 * jnp.eye(X.shape[1]), X.T @ (w * y))
            return lax.fori_loop(0, 12, it, jnp.zeros(X.shape[1]))
        return jax.vmap(one)(taus)
    add('quantile_regressions', quant, f32(350, 6), f32(350), np.linspace(.1, .9, 9).astype(np.float32))
    # Bayesian optimisation: GP posterior EI maximised by gradient from many starts
    def bo(X, y, x0):
        k = lambda a, b: jnp.exp(-.5 * ((a[:, None] - b) ** 2).sum(-1))
        L = jnp.linalg.cholesky(k(X, X) + 1e-2 * jnp.eye(len(X)))
        al = jax.scipy.linalg.cho_solve((L, True), y)
        def ei(x):
            ks = k(x[None], X)[0]
            v = jax.scipy.linalg.solve_triangular(L, ks, lower=True)
            s = jnp.sqrt(jnp.maximum(1 - v @ v, 1e-6)); z = (ks @ al - y.max()) / s
            return s * (z * jax.scipy.stats.norm.cdf(z) + jax.scipy.stats.norm.pdf(z))
        def it(x, _): return x + .1 * jax.vmap(jax.grad(ei))(x), None
        x = lax.scan(it, x0, None, 10)[0]
        return x, jax.vmap(ei)(x)
    add('expected_improvement', bo, f32(45, 3), f32(45), f32(25, 3))
    # GP Laplace classification with implicit mode
    def laplace(t, X, y):
        K = jnp.exp(-.5 * ((X[:, None] - X) ** 2).sum(-1) / jnp.exp(t[0]) ** 2) * jnp.exp(t[1]) + 1e-3 * jnp.eye(len(X))
        def it(_, f):
            p = jax.nn.sigmoid(f); W = p * (1 - p); s = jnp.sqrt(W)
            B = jnp.eye(len(X)) + s[:, None] * K * s
            b = W * f + y - p
            return K @ (b - s * jnp.linalg.solve(B, s * (K @ b)))
        f = lax.fori_loop(0, 5, it, jnp.zeros(len(X)))
        p = jax.nn.sigmoid(f); s = jnp.sqrt(p * (1 - p))
        return (jax.nn.softplus(f) - y * f).sum() + .5 * f @ jnp.linalg.solve(K, f) + .5 * jnp.linalg.slogdet(jnp.eye(len(X)) + s[:, None] * K * s)[1]
    add('laplace_classifier_gradient', jax.value_and_grad(laplace), np.zeros(2, np.float32), f32(55, 2), (R.rand(55) < .5).astype(np.float32))
    # matrix profile
    def mprof(x):
        m = 24; n = x.size - m + 1
        W = x[jnp.arange(n)[:, None] + jnp.arange(m)]
        mu, sd = W.mean(1), W.std(1)
        def diag(c, k):
            q = jnp.cumsum(x * jnp.roll(x, -k)); q = jnp.concatenate([jnp.zeros(1), q])
            qt = q[m:] - q[:-m]
            j = (jnp.arange(n) + k) % n
            r = (qt - m * mu * mu[j]) / (m * sd * sd[j])
            r = jnp.where(jnp.arange(n) + k < n, r, -2.)
            return jnp.maximum(c, jnp.maximum(r, jnp.roll(r, k))), None
        best = lax.scan(diag, jnp.full(n, -2.), jnp.arange(12, 112))[0]
        return jnp.sqrt(2 * m * (1 - best.clip(-1, 1)))
    add('matrix_profile', mprof, f32(700))
    # singular spectrum analysis; Lee-Carter
    def ssa(x):
        L = 40; n = x.size - L + 1
        H = x[jnp.arange(L)[:, None] + jnp.arange(n)]
        e, U = jnp.linalg.eigh(H @ H.T)
        A = U[:, -6:] @ (U[:, -6:].T @ H)
        idx = (jnp.arange(L)[:, None] + jnp.arange(n))
        return jnp.zeros(x.size).at[idx].add(A) / jnp.zeros(x.size).at[idx].add(1.)
    add('singular_spectrum', ssa, (np.sin(np.arange(365) / 5.) + .2 * R.randn(365)).astype(np.float32))
    # CP tensor decomposition by ALS
    def cp(T, A, B, C):
        def it(s, _):
            A, B, C = s
            A = jnp.linalg.solve((B.T @ B) * (C.T @ C) + 1e-3 * jnp.eye(A.shape[1]), jnp.einsum('ijk,jr,kr->ri', T, B, C)).T
            B = jnp.linalg.solve((A.T @ A) * (C.T @ C) + 1e-3 * jnp.eye(A.shape[1]), jnp.einsum('ijk,ir,kr->rj', T, A, C)).T
            C = jnp.linalg.solve((A.T @ A) * (B.T @ B) + 1e-3 * jnp.eye(A.shape[1]), jnp.einsum('ijk,ir,jr->rk', T, A, B)).T
            return (A, B, C), ((jnp.einsum('ir,jr,kr->ijk', A, B, C) - T) ** 2).sum()
        return lax.scan(it, (A, B, C), None, 6)[1]
    add('canonical_decomposition', cp, f32(31, 35, 29), f32(31, 6), f32(35, 6), f32(29, 6))
    # Muon / Shampoo steps
    def muon(ps, gs, ms):
        def ns(G):
            X = G / (jnp.linalg.norm(G) + 1e-7)
            def it(X, _):
                A = X @ X.T
                return 3.4445 * X + (-4.775 * A + 2.0315 * A @ A) @ X, None
            return lax.scan(it, X, None, 5)[0]
        ms = [.95 * m + g for m, g in zip(ms, gs)]
        return [p - .02 * ns(.95 * m + g) * max(1, p.shape[0] / p.shape[1]) ** .5 for p, g, m in zip(ps, gs, ms)], ms
    sh = [(60, 150), (90, 90), (33, 210), (75, 110)]
    add('muon_step', muon, [f32(*s) for s in sh], [f32(*s) for s in sh], [f32(*s) for s in sh])
    def shampoo(p, g, L, Rr):
        L = L + g @ g.T; Rr = Rr + g.T @ g
        def ir(A):
            e, U = jnp.linalg.eigh(A); return (U * jnp.clip(e, 1e-3) ** -.25) @ U.T
        return p - .1 * ir(L) @ g @ ir(Rr), L, Rr
    add('shampoo_step', shampoo, f32(60, 45), f32(60, 45), np.eye(60, dtype=np.float32), np.eye(45, dtype=np.float32))
    # K-medoids (PAM swap), spectral clustering, Frank-Wolfe, group lasso by FISTA
    def fista(A, b):
        n = A.shape[1]; L = 300.
        def it(c, _):
            x, z, t = c
            y = z - A.T @ (A @ z - b) / L
            g = y.reshape(-1, 5); nn = jnp.linalg.norm(g, axis=1, keepdims=True)
            xn = (g * jnp.maximum(1 - .02 / jnp.maximum(nn, 1e-9), 0)).reshape(-1)
            tn = (1 + jnp.sqrt(1 + 4 * t * t)) / 2
            return (xn, xn + (t - 1) / tn * (xn - x), tn), jnp.abs(xn).sum()
        return lax.scan(it, (jnp.zeros(n), jnp.zeros(n), 1.), None, 50)
    add('group_lasso_accelerated', fista, f32(90, 155) * .8, f32(90))
    # sparse GP? LU-free: GMRES(20) Arnoldi of a convection-diffusion operator
    def gm(b):
        def A(u):
            u = u.reshape(41, 37); p = jnp.pad(u, 1)
            return (4.2 * u - 1.2 * p[:-2, 1:-1] - .8 * p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]).reshape(-1)
        return jax.scipy.sparse.linalg.gmres(A, b, tol=0., atol=0., restart=15, maxiter=2, solve_method='incremental')[0]
    add('arnoldi_restarted', gm, f32(41 * 37))
    add('stabilised_biconjugate', lambda b: jax.scipy.sparse.linalg.bicgstab(lambda u: 4.3 * u - 1.1 * jnp.roll(u, 1) - .9 * jnp.roll(u, -1) - jnp.roll(u, 41) - jnp.roll(u, -41), b, tol=0., atol=0., maxiter=15)[0], f32(2500))
    add('exponentials_of_generators', lambda Q: jax.vmap(jax.scipy.linalg.expm)(Q), f32(30, 9, 9))
    return P
