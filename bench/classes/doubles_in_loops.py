"""Computations in doubles and 64-bit words: shooting, continuation, hashes, recurrences, small systems."""
import numpy as np
from by_value import Programs, Random
R = Random(909)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 4096.0
X64 = True

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    f64 = lambda *s: R.randn(*s)
    u64 = lambda *s: R.randint(0, 2**63, s, dtype=np.uint64)

    # SipHash-2-4 of many keys in u64
    def sip(k0, k1, m):
        rot = lambda x, b: (x << np.uint64(b)) | (x >> np.uint64(64 - b))
        def rnd(v):
            a, b, c, d = v
            a = a + b; c = c + d; b = rot(b, 13) ^ a; d = rot(d, 16) ^ c; a = rot(a, 32)
            c = c + b; a = a + d; b = rot(b, 17) ^ c; d = rot(d, 21) ^ a; c = rot(c, 32)
            return a, b, c, d
        v = (k0 ^ np.uint64(0x736f6d6570736575), k1 ^ np.uint64(0x646f72616e646f6d), k0 ^ np.uint64(0x6c7967656e657261), k1 ^ np.uint64(0x7465646279746573))
        def blk(v, m):
            a, b, c, d = v; a, b, c, d = rnd(rnd((a, b, c, d ^ m)))
            return (a ^ m, b, c, d), None
        (a, b, c, d), _ = lax.scan(blk, tuple(jnp.broadcast_to(x, m.shape[1:]) for x in v), m)
        for _ in range(4): a, b, c, d = rnd((a, b, c ^ np.uint64(0xff) if _ == 0 else c, d))
        return a ^ b ^ c ^ d
    add('siphash_of_keys', sip, np.uint64(7), np.uint64(9), u64(5, 700))
    # Miller-Rabin with Montgomery products by halves
    def mr(n):
        def mulmod(a, b, n):
            return (a * b) % n
        d = n - 1; s = lax.population_count((d & (~d + 1)) - 1); d = d >> s
        def powm(a):
            def it(c):
                r, a, e = c
                return jnp.where(e & 1 == 1, mulmod(r, a, n), r), mulmod(a, a, n), e >> 1
            return lax.while_loop(lambda c: (c[2] > 0).any(), it, (jnp.ones_like(n), jnp.full_like(n, a), d))[0]
        ok = jnp.ones(n.shape, bool)
        for a in (2, 7, 61):
            x = powm(a); good = (x == 1) | (x == n - 1)
            def sq(i, c):
                x, g = c; x = mulmod(x, x, n); return x, g | ((x == n - 1) & (i + 1 < s))
            x, good = lax.fori_loop(0, 8, sq, (x, good))
            ok = ok & (good | (n <= 61))
        return ok
    add('prime_tests', mr, (R.randint(10**6, 2**31, 333).astype(np.uint64) | np.uint64(1)))
    # f64: Lambert orbits by Newton on universal variables, vmapped
    def lambert(r1, r2, dt):
        n1, n2 = jnp.linalg.norm(r1), jnp.linalg.norm(r2)
        A = jnp.sign(r1[0] * r2[1] - r1[1] * r2[0]) * jnp.sqrt(n1 * n2 + r1 @ r2)
        C = lambda z: jnp.where(z > 1e-6, (1 - jnp.cos(jnp.sqrt(jnp.abs(z)))) / jnp.where(z > 1e-6, z, 1), .5 - z / 24)
        S = lambda z: jnp.where(z > 1e-6, (jnp.sqrt(jnp.abs(z)) - jnp.sin(jnp.sqrt(jnp.abs(z)))) / jnp.where(z > 1e-6, jnp.abs(z) ** 1.5, 1), 1 / 6 - z / 120)
        y = lambda z: n1 + n2 + A * (z * S(z) - 1) / jnp.sqrt(C(z))
        F = lambda z: (jnp.maximum(y(z), 1e-9) / C(z)) ** 1.5 * S(z) + A * jnp.sqrt(jnp.maximum(y(z), 1e-9)) - dt
        def bis(_, c):
            lo, hi = c; m = .5 * (lo + hi); b = F(m) < 0
            return jnp.where(b, m, lo), jnp.where(b, hi, m)
        lo, hi = lax.fori_loop(0, 45, bis, (0.5, 30.)); z = .5 * (lo + hi)
        return (r2 - (1 - y(z) / n1) * r1) / (A * jnp.sqrt(y(z)))
    add('transfer_orbits', jax.vmap(lambert), f64(150, 3) + np.array([3, 0, 0]), f64(150, 3) * .3 + np.array([0, 4, 0]), 3 + R.rand(150))
    # f64: stiff reactions by Rosenbrock-W with LU, ensemble
    def ros(y, k):
        f = lambda y: jnp.array([-k[0] * y[0] + k[1] * y[1] * y[2], k[0] * y[0] - k[1] * y[1] * y[2] - k[2] * y[1] ** 2, k[2] * y[1] ** 2])
        g = 1 + 1 / jnp.sqrt(2.)
        def st(y, h):
            J = jax.jacfwd(f)(y); W = jnp.eye(3) - g * h * J
            k1 = jnp.linalg.solve(W, f(y)); k2 = jnp.linalg.solve(W, f(y + h * k1) - 2 * k1)
            return y + 1.5 * h * k1 + .5 * h * k2, None
        return lax.scan(st, y, jnp.geomspace(1e-5, 10., 25))[0]
    add('rosenbrock_ensemble', jax.vmap(ros), np.tile(np.array([1., 0, 0]), (60, 1)), np.array([.04, 1e4, 3e7]) * (1 + .2 * R.rand(60, 3)))
    # f64: discontinuous Galerkin advection-diffusion 1D, order 4
    def dg(u, D, M):
        def rhs(u):
            l = jnp.roll(u[:, -1], 1);
            fl = u[:, 0] - l
            return -(u @ D.T) * 40 - (fl[:, None] * M) * 40
        def st(u, _):
            k1 = rhs(u); k2 = rhs(u + 5e-4 * k1); k3 = rhs(u + 5e-4 * k2); k4 = rhs(u + 1e-3 * k3)
            return u + 1e-3 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None
        return lax.scan(st, u, None, 40)[0]
    add('galerkin_advection', dg, f64(120, 5), f64(5, 5) * .3, f64(5) * .2)
    # f64: Gauss-Jordan inverse & determinant of many 7x7 with pivot by scan
    def gj(A):
        n = A.shape[0]; M = jnp.concatenate([A, jnp.eye(n)], 1)
        def st(i, M):
            p = jnp.argmax(jnp.where(jnp.arange(n) >= i, jnp.abs(M[:, i]), -1.))
            M = M.at[i].set(M[p]).at[p].set(M[i])
            r = M[i] / M[i, i]
            return (M - jnp.outer(M[:, i], r)).at[i].set(r)
        return lax.fori_loop(0, n, st, M)[:, n:]
    add('inverses_by_elimination', jax.vmap(gj), f64(90, 7, 7))
    # f64: economics: Tauchen + value iteration with grid search
    def vi(k, z, P):
        c = z[:, None, None] * k[:, None] ** .33 + .9 * k[:, None] - k
        u = jnp.where(c > 0, jnp.log(jnp.maximum(c, 1e-10)), -1e10)
        def it(V, _):
            Q = u + .95 * (P @ V)[:, None]
            return Q.max(-1), Q.argmax(-1)[0, 0]
        return lax.scan(it, jnp.zeros((z.size, k.size)), None, 12)
    Pz = R.rand(5, 5); Pz /= Pz.sum(1, keepdims=True)
    add('growth_by_value_iteration', vi, np.linspace(.1, 5, 125), np.linspace(.9, 1.1, 5), Pz)
    # f64: gradient of a Kalman filter likelihood through square-root form (qr)
    def srkf(th, ys):
        A = jnp.array([[1., 1, 0], [0, 1, 1], [0, 0, jnp.tanh(th[0])]]); H = jnp.array([[1., 0, 0]])
        def st(c, y):
            m, S = c
            m = A @ m
            S = jnp.linalg.qr(jnp.concatenate([(A @ S).T, jnp.eye(3) * jnp.exp(th[1])]), mode='r').T
            v = H @ S; s = v @ v.T + jnp.exp(2 * th[2])
            K = S @ v.T / s; e = y - H @ m
            S = S - K @ v * (1 / (1 + jnp.sqrt(jnp.exp(2 * th[2]) / s)))
            return (m + (K @ e), S), (jnp.log(s) + e ** 2 / s).sum()
        return lax.scan(st, (jnp.zeros(3), jnp.eye(3)), ys)[1].sum()
    add('root_filter_gradient', jax.value_and_grad(srkf), np.array([.3, -1., 0.]), np.cumsum(f64(80, 1), 0))
    # int64 timestamps to calendar features and session windows
    def sess(t, user):
        o = jnp.lexsort((t, user)); ts, us = t[o], user[o]
        new = jnp.concatenate([jnp.ones(1, bool), (us[1:] != us[:-1]) | (ts[1:] - ts[:-1] > 1800)])
        sid = jnp.cumsum(new) - 1
        n = jax.ops.segment_sum(jnp.ones_like(sid), sid, t.size)
        dur = jax.ops.segment_max(ts, sid, t.size) - jax.ops.segment_min(ts, sid, t.size)
        hod = (ts // 3600) % 24; dow = (ts // 86400 + 4) % 7
        return n, jnp.where(n > 0, dur, 0), jnp.bincount(dow * 24 + hod, length=168)
    add('sessions_of_events', sess, np.int64(1.7e9) + R.randint(0, 400000, 4000).astype(np.int64), R.randint(0, 60, 4000).astype(np.int64))
    # f64: Numerov eigenstates by shooting, bisection vmapped
    def numerov(l):
        x = jnp.linspace(-5., 5, 301); h = x[1] - x[0]
        V = .5 * x ** 2 + .1 * x ** 4
        def end(E):
            f = 2 * (E - V); w = 1 + h * h / 12 * f
            def st(c, i): a, b = c; n = ((12 - 10 * w[i]) * b - w[i - 1] * a) / w[i + 1]; n2 = jnp.clip(n, -1e100, 1e100); return (b, n2), jnp.sign(n2) != jnp.sign(b)
            return lax.scan(st, (0., 1e-10), jnp.arange(1, 300))[1].sum()
        def bis(_, c): lo, hi = c; m = .5 * (lo + hi); b = end(m) > l; return jnp.where(b, lo, m), jnp.where(b, m, hi)
        return lax.fori_loop(0, 25, bis, (0., 30.))
    add('states_by_shooting', jax.vmap(numerov), np.arange(9))
    # complex128: Padua? transfer-matrix of layered media gradient
    def tmm(d, k):
        n = jnp.array([1., 2.3 + .01j, 1.45, 2.3 + .01j, 1.45, 2.3, 1.5])
        def one(k):
            def st(M, x):
                a, b, d = x
                r = (a - b) / (a + b); t = 2 * a / (a + b)
                ph = jnp.exp(1j * k * b * d)
                return M @ (jnp.array([[1 / ph, r / ph], [r * ph, ph]]) / t), None
            M, _ = lax.scan(st, jnp.eye(2, dtype=complex), (n[:-1], n[1:], d))
            return jnp.abs(M[1, 0] / M[0, 0]) ** 2
        return jax.vmap(one)(k).sum()
    add('layered_mirror_gradient', jax.value_and_grad(tmm), np.array([.3, .5, .3, .5, .3, .2]), np.linspace(1, 9, 111))
    # f32/f64 mixed iterative refinement
    def refine(A, b):
        lu = jax.scipy.linalg.lu_factor(A.astype(jnp.float32))
        def it(x, _):
            r = b - A @ x
            return x + jax.scipy.linalg.lu_solve(lu, r.astype(jnp.float32)).astype(jnp.float64), jnp.abs(r).max()
        return lax.scan(it, jnp.zeros_like(b), None, 4)
    return P
