"""Simulations of physics and chemistry: fields by spectra and stencils, molecules, circuits of qubits, grids of power."""
import numpy as np
from by_value import Programs, Random
R = Random(903)
f32, i32 = R.f32, R.i32
FACTOR = 256.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add

    # Hartree-Fock SCF with two-electron integrals given (n=13), DIIS-free
    def scf(S, H, eri):
        s, U = jnp.linalg.eigh(S)
        X = U * s ** -.5 @ U.T
        def it(D, _):
            J = jnp.einsum('pqrs,rs->pq', eri, D); K = jnp.einsum('prqs,rs->pq', eri, D)
            F = H + J - .5 * K
            e, C = jnp.linalg.eigh(X.T @ F @ X)
            C = (X @ C)[:, :4]
            Dn = .5 * D + .5 * 2 * C @ C.T
            return Dn, .5 * ((H + F) * D).sum()
        D, E = lax.scan(it, jnp.zeros_like(H), None, 8)
        return E, D
    n = 13
    a = R.randn(n, n) * .1; S = (np.eye(n) + (a + a.T) * .2).astype(np.float32)
    H = R.randn(n, n); H = ((H + H.T) * .3 - np.diag(np.arange(n)[::-1] * 2.)).astype(np.float32)
    B = R.randn(20, n, n) * .08; B = B + B.transpose(0, 2, 1)
    eri = np.einsum('xpq,xrs->pqrs', B, B).astype(np.float32)
    add('hartree_fock', scf, S, H, eri)

    # coupled-cluster doubles amplitude updates
    def ccd(oovv, oooo, vvvv, ovov, eo, ev):
        D = eo[:, None, None, None] + eo[None, :, None, None] - ev[:, None] - ev
        t = oovv / D
        def it(t, _):
            r = oovv + .5 * jnp.einsum('abcd,ijcd->ijab', vvvv, t) + .5 * jnp.einsum('klij,klab->ijab', oooo, t)
            x = jnp.einsum('kbcj,ikac->ijab', ovov, t)
            r = r + x - x.swapaxes(0, 1) - x.swapaxes(2, 3) + x.swapaxes(0, 1).swapaxes(2, 3)
            y = jnp.einsum('klcd,ijcd->klij', oovv, t)
            r = r + .25 * jnp.einsum('klij,klab->ijab', y, t)
            t = r / D
            return t, .25 * (oovv * t).sum()
        return lax.scan(it, t, None, 5)
    o, v = 5, 11
    add('coupled_cluster_doubles', ccd, f32(o, o, v, v) * .05, f32(o, o, o, o) * .05, f32(v, v, v, v) * .05, f32(o, v, v, o) * .05, -1 - R.rand(o).astype(np.float32), 1 + R.rand(v).astype(np.float32))

    # embedded-atom potential forces, all pairs in periodic box
    def eam(x, box):
        d = x[:, None] - x; d = d - box * jnp.round(d / box)
        r2 = (d * d).sum(-1) + jnp.eye(len(x)) * 100
        r = jnp.sqrt(r2); c = jnp.where(r < 2.5, (1 - r / 2.5) ** 2, 0.)
        rho = (c * jnp.exp(-r)).sum(1)
        return (c * jnp.exp(-2 * r) * 5).sum() / 2 - jnp.sqrt(rho + 1e-3).sum()
    def eam_md(x, v, box):
        def step(c, _):
            x, v, f = c
            v = v + .005 * f; x = x + .01 * v; f = -jax.grad(eam)(x, box)
            return (x, v + .005 * f, f), .5 * (v * v).sum()
        return lax.scan(step, (x, v, -jax.grad(eam)(x, box)), None, 6)
    g = np.stack(np.meshgrid(*[np.arange(5)] * 3, indexing='ij'), -1).reshape(-1, 3) * 1.1
    add('embedded_atom_dynamics', eam_md, (g + R.randn(*g.shape) * .05).astype(np.float32), f32(*g.shape) * .1, np.float32(5.5))

    # Ewald sum with forces
    def ewald(x, q):
        L, al = 7.3, .8
        d = x[:, None] - x; d = d - L * jnp.round(d / L)
        r = jnp.sqrt((d * d).sum(-1) + jnp.eye(len(x)))
        real = jnp.where(jnp.eye(len(x), dtype=bool), 0, q[:, None] * q * jax.scipy.special.erfc(al * r) / r).sum() / 2
        m = jnp.stack(jnp.meshgrid(*[jnp.arange(-4, 5)] * 3, indexing='ij'), -1).reshape(-1, 3) * 2 * jnp.pi / L
        k2 = (m * m).sum(-1)
        ph = x @ m.T
        s2 = (q @ jnp.cos(ph)) ** 2 + (q @ jnp.sin(ph)) ** 2
        rec = jnp.where(k2 > 0, jnp.exp(-k2 / 4 / al ** 2) / jnp.where(k2 > 0, k2, 1) * s2, 0).sum() * 2 * jnp.pi / L ** 3
        return real + rec - al / jnp.sqrt(jnp.pi) * (q * q).sum()
    add('ewald_forces', lambda x, q: jax.value_and_grad(ewald)(x, q), (R.rand(70, 3) * 7.3).astype(np.float32), np.where(np.arange(70) % 2, 1, -1).astype(np.float32))

    # topology optimisation: SIMP on a 2D grid, matrix-free FEM + CG, sensitivity
    KE = R.randn(8, 8); KE = (KE @ KE.T * .05 + np.eye(8)).astype(np.float32)
    nx, ny = 31, 17
    nod = lambda i, j: i * (ny + 1) + j
    ed = np.array([[2 * nod(i, j), 2 * nod(i, j) + 1, 2 * nod(i + 1, j), 2 * nod(i + 1, j) + 1, 2 * nod(i + 1, j + 1), 2 * nod(i + 1, j + 1) + 1, 2 * nod(i, j + 1), 2 * nod(i, j + 1) + 1] for i in range(nx) for j in range(ny)], np.int32)
    nd = 2 * (nx + 1) * (ny + 1)
    def simp(rho, f):
        E = 1e-3 + rho ** 3
        free = jnp.arange(nd) >= 2 * (ny + 1)
        def A(u):
            u = u * free
            y = jnp.zeros(nd).at[ed].add((u[ed] @ KE) * E[:, None])
            return jnp.where(free, y, u)
        u, _ = jax.scipy.sparse.linalg.cg(A, f * free, tol=0., atol=0., maxiter=30)
        ue = u[ed]
        ce = jnp.einsum('ei,ij,ej->e', ue, KE, ue)
        dc = -3 * rho ** 2 * ce
        def bis(_, b):
            lo, hi = b; mid = .5 * (lo + hi)
            new = jnp.clip(rho * jnp.sqrt(-dc / mid), jnp.maximum(rho - .2, .01), jnp.minimum(rho + .2, 1))
            big = new.mean() > .4
            return jnp.where(big, mid, lo), jnp.where(big, hi, mid)
        lo, hi = lax.fori_loop(0, 30, bis, (1e-5, 1e5))
        return (E * ce).sum(), jnp.clip(rho * jnp.sqrt(-dc / (.5 * (lo + hi))), jnp.maximum(rho - .2, .01), jnp.minimum(rho + .2, 1))
    add('topology_optimisation_step', simp, (R.rand(nx * ny) * .5 + .2).astype(np.float32), f32(nd))

    # phase retrieval: hybrid input output
    def hio(mag, support, x0):
        def it(_, x):
            F = jnp.fft.fft2(x)
            y = jnp.fft.ifft2(mag * jnp.exp(1j * jnp.angle(F))).real
            return jnp.where(support & (y > 0), y, x - .9 * y)
        return lax.fori_loop(0, 12, it, x0)
    add('phase_retrieval', hio, np.abs(np.fft.fft2(R.rand(54, 60))).astype(np.float32), R.rand(54, 60) < .4, f32(54, 60))

    # MRI: sensitivity-encoded CG reconstruction with complex maps
    def sense(y, mask, maps):
        A = lambda x: mask * jnp.fft.fft2(maps * x, norm='ortho')
        At = lambda k: (jnp.conj(maps) * jnp.fft.ifft2(mask * k, norm='ortho')).sum(0)
        op = lambda x: At(A(x)) + .01 * x
        b = At(y)
        def it(c, _):
            x, r, p, rs = c
            q = op(p); a = rs / (jnp.conj(p) * q).sum().real
            x, r = x + a * p, r - a * q
            n = (jnp.abs(r) ** 2).sum()
            return (x, r, r + n / rs * p, n), n
        return lax.scan(it, (jnp.zeros_like(b), b, b, (jnp.abs(b) ** 2).sum()), None, 6)[0][0]
    c64 = lambda *s: (R.randn(*s) + 1j * R.randn(*s)).astype(np.complex64)
    add('parallel_imaging', sense, c64(6, 48, 45), R.rand(48, 45) < .5, c64(6, 48, 45) * .4)

    # Kuramoto-Sivashinsky with ETDRK4 precomputed
    def ks(u):
        N = u.shape[-1]
        k = jnp.fft.rfftfreq(N, 1 / N) / 16
        L = k ** 2 - k ** 4; h = .1
        E, E2 = jnp.exp(h * L), jnp.exp(h * L / 2)
        r = jnp.exp(1j * jnp.pi * (jnp.arange(1, 17) - .5) / 16)
        LR = h * L[:, None] + r
        Q = h * ((jnp.exp(LR / 2) - 1) / LR).mean(1).real
        f1 = h * ((-4 - LR + jnp.exp(LR) * (4 - 3 * LR + LR ** 2)) / LR ** 3).mean(1).real
        f2 = h * ((2 + LR + jnp.exp(LR) * (-2 + LR)) / LR ** 3).mean(1).real
        f3 = h * ((-4 - 3 * LR - LR ** 2 + jnp.exp(LR) * (4 - LR)) / LR ** 3).mean(1).real
        g = -.5j * k
        N_ = lambda v: g * jnp.fft.rfft(jnp.fft.irfft(v, N) ** 2)
        def step(v, _):
            Nv = N_(v); a = E2 * v + Q * Nv; Na = N_(a); b = E2 * v + Q * Na; Nb = N_(b)
            c = E2 * a + Q * (2 * Nb - Nv); Nc = N_(c)
            return E * v + Nv * f1 + 2 * (Na + Nb) * f2 + Nc * f3, None
        return jnp.fft.irfft(lax.scan(step, jnp.fft.rfft(u), None, 40)[0], N)
    add('kuramoto_sivashinsky', ks, (np.cos(np.arange(144) / 144 * 2 * np.pi) * (1 + np.sin(np.arange(144) / 144 * 2 * np.pi))).astype(np.float32))

    # 2D vorticity pseudo-spectral with RK4 and dealiasing
    def ns2d(w):
        N = w.shape[0]
        kx = jnp.fft.fftfreq(N, 1 / N)[:, None]; ky = jnp.fft.rfftfreq(N, 1 / N)
        k2 = kx ** 2 + ky ** 2; inv = jnp.where(k2 > 0, 1 / jnp.where(k2 > 0, k2, 1), 0)
        mask = (jnp.abs(kx) < N / 3) & (ky < N / 3)
        def rhs(wh):
            psi = wh * inv
            u, v = jnp.fft.irfft2(1j * ky * psi, (N, N)), jnp.fft.irfft2(-1j * kx * psi, (N, N))
            wx, wy = jnp.fft.irfft2(1j * kx * wh, (N, N)), jnp.fft.irfft2(1j * ky * wh, (N, N))
            return -1.0 * mask * jnp.fft.rfft2(u * wx + v * wy) - 1e-3 * k2 * wh
        def step(wh, _):
            h = .01
            a = rhs(wh); b = rhs(wh + h / 2 * a); c = rhs(wh + h / 2 * b); d = rhs(wh + h * c)
            return wh + h / 6 * (a + 2 * b + 2 * c + d), None
        return jnp.fft.irfft2(lax.scan(step, jnp.fft.rfft2(w), None, 5)[0], (N, N))
    add('vorticity_spectral', ns2d, f32(60, 60))

    # Euler 2D MUSCL + HLLC
    def euler(U):
        ga = 1.4
        def prim(U):
            r = U[0]; u, v = U[1] / r, U[2] / r
            return jnp.stack([r, u, v, (ga - 1) * (U[3] - .5 * r * (u * u + v * v))])
        def flux(wl, wr):
            def cons(w): return jnp.stack([w[0], w[0] * w[1], w[0] * w[2], w[3] / (ga - 1) + .5 * w[0] * (w[1] ** 2 + w[2] ** 2)])
            def F(w, U): return jnp.stack([U[1], U[1] * w[1] + w[3], U[2] * w[1], (U[3] + w[3]) * w[1]])
            cl, cr = jnp.sqrt(ga * wl[3] / wl[0]), jnp.sqrt(ga * wr[3] / wr[0])
            sl, sr = jnp.minimum(wl[1] - cl, wr[1] - cr), jnp.maximum(wl[1] + cl, wr[1] + cr)
            ss = (wr[3] - wl[3] + wl[0] * wl[1] * (sl - wl[1]) - wr[0] * wr[1] * (sr - wr[1])) / (wl[0] * (sl - wl[1]) - wr[0] * (sr - wr[1]))
            def star(w, U, s):
                k = w[0] * (s - w[1]) / (s - ss)
                return k * jnp.stack([jnp.ones_like(ss), ss, w[2], U[3] / w[0] + (ss - w[1]) * (ss + w[3] / (w[0] * (s - w[1])))])
            Ul, Ur = cons(wl), cons(wr); Fl, Fr = F(wl, Ul), F(wr, Ur)
            return jnp.where(sl >= 0, Fl, jnp.where(ss >= 0, Fl + sl * (star(wl, Ul, sl) - Ul), jnp.where(sr >= 0, Fr + sr * (star(wr, Ur, sr) - Ur), Fr)))
        def sweep(w, ax):
            dl = w - jnp.roll(w, 1, ax); dr = jnp.roll(w, -1, ax) - w
            s = jnp.where(dl * dr > 0, jnp.where(jnp.abs(dl) < jnp.abs(dr), dl, dr), 0)
            L, Rr = w + .5 * s, jnp.roll(w - .5 * s, -1, ax)
            if ax == 2: L, Rr = L[jnp.array([0, 2, 1, 3])], Rr[jnp.array([0, 2, 1, 3])]
            f = flux(L, Rr)
            if ax == 2: f = f[jnp.array([0, 2, 1, 3])]
            return f - jnp.roll(f, 1, ax)
        def step(U, _):
            w = prim(U)
            dt = .3 / (jnp.abs(w[1:3]).max() + jnp.sqrt(ga * w[3] / w[0]).max())
            return U - dt * (sweep(w, 1) + sweep(w, 2)), dt
        return lax.scan(step, U, None, 6)
    U0 = np.stack([1 + .3 * R.rand(70, 75), .2 * R.randn(70, 75), .2 * R.randn(70, 75), 2.5 + R.rand(70, 75)]).astype(np.float32)
    add('euler_hllc', euler, U0)

    # seismic inversion: acoustic wave with checkpointed scan, gradient wrt velocity
    def fwi(c, src, rec):
        def inner(s, f):
            p, q = s
            lap = jnp.roll(p, 1, 0) + jnp.roll(p, -1, 0) + jnp.roll(p, 1, 1) + jnp.roll(p, -1, 1) - 4 * p
            n = 2 * p - q + c * c * lap
            n = n.at[3, 20].add(f)
            return (n, p), n[3, ::4]
        @jax.checkpoint
        def outer(s, f): return lax.scan(inner, s, f)
        z = jnp.zeros_like(c)
        _, d = lax.scan(outer, (z, z), src.reshape(6, 9))
        return ((d.reshape(54, -1) - rec) ** 2).sum()
    add('seismic_gradient', jax.value_and_grad(fwi), (.3 + .1 * R.rand(47, 51)).astype(np.float32), f32(54), f32(54, 13))

    # particle-mesh gravity: CIC deposit, FFT Poisson, gather, kick-drift
    def pm(x, v):
        N = 20
        k = jnp.fft.fftfreq(N) * 2 * jnp.pi; kz = jnp.fft.rfftfreq(N) * 2 * jnp.pi
        k2 = k[:, None, None] ** 2 + k[None, :, None] ** 2 + kz ** 2
        off = jnp.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
        def w(x):
            i = jnp.floor(x).astype(int); f = x - i
            idx = (i[:, None] + off) % N
            wt = jnp.prod(jnp.where(off == 1, f[:, None], 1 - f[:, None]), -1)
            return idx, wt
        def acc(x):
            idx, wt = w(x)
            rho = jnp.zeros((N, N, N)).at[idx[..., 0], idx[..., 1], idx[..., 2]].add(wt)
            ph = -jnp.fft.rfftn(rho) / jnp.where(k2 > 0, k2, 1) * (k2 > 0)
            g = jnp.stack([jnp.fft.irfftn(-1j * kk * ph, (N, N, N)) for kk in (k[:, None, None], k[None, :, None], kz)], -1)
            return (g[idx[..., 0], idx[..., 1], idx[..., 2]] * wt[..., None]).sum(1)
        def step(c, _):
            x, v = c
            v = v + .02 * acc(x)
            return ((x + .05 * v) % N, v), (v * v).sum()
        return lax.scan(step, (x, v), None, 4)
    add('particle_mesh', pm, (R.rand(2500, 3) * 20).astype(np.float32), f32(2500, 3))

    # eikonal by fast sweeping
    def sweep(f):
        big = 1e3
        def line(prev, cur_f):
            row, ff, src = cur_f
            def cell(left, x):
                up, own, s = x
                a = jnp.minimum(up[0], up[1]); b = jnp.minimum(left, up[2])
                m, M = jnp.minimum(a, b), jnp.maximum(a, b)
                t = jnp.where(M - m >= s, m + s, .5 * (m + M + jnp.sqrt(jnp.maximum(2 * s * s - (M - m) ** 2, 0))))
                t = jnp.minimum(own, t)
                return t, t
            right = jnp.append(row[1:], big)
            new = lax.scan(cell, jnp.float32(big), (jnp.stack([prev, src, right], -1), row, ff))[1]
            return new, new
        def pass_(T, f):
            down = jnp.concatenate([T[1:], jnp.full((1, T.shape[1]), big)])
            return lax.scan(line, jnp.full(T.shape[1], big), (T, f, down))[1]
        T = jnp.full(f.shape, big).at[11, 17].set(0)
        def it(_, T):
            T = pass_(T, f); T = pass_(T[:, ::-1], f[:, ::-1])[:, ::-1]
            T = pass_(T[::-1], f[::-1])[::-1]; T = pass_(T[::-1, ::-1], f[::-1, ::-1])[::-1, ::-1]
            return T
        return lax.fori_loop(0, 2, it, T)
    add('eikonal_sweeping', sweep, (.5 + R.rand(39, 43)).astype(np.float32))

    # level-set reinitialisation with WENO5
    def weno(phi):
        def d(v):  # v: five one-sided differences
            a, b, c, e, f = v
            p1, p2, p3 = a / 3 - 7 * b / 6 + 11 * c / 6, -b / 6 + 5 * c / 6 + e / 3, c / 3 + 5 * e / 6 - f / 6
            s1 = 13 / 12 * (a - 2 * b + c) ** 2 + .25 * (a - 4 * b + 3 * c) ** 2
            s2 = 13 / 12 * (b - 2 * c + e) ** 2 + .25 * (b - e) ** 2
            s3 = 13 / 12 * (c - 2 * e + f) ** 2 + .25 * (3 * c - 4 * e + f) ** 2
            w1, w2, w3 = .1 / (s1 + 1e-6) ** 2, .6 / (s2 + 1e-6) ** 2, .3 / (s3 + 1e-6) ** 2
            return (w1 * p1 + w2 * p2 + w3 * p3) / (w1 + w2 + w3)
        s0 = phi / jnp.sqrt(phi ** 2 + 1)
        def rhs(p):
            t = 0
            for ax in (0, 1):
                D = jnp.roll(p, -1, ax) - p
                m = d([jnp.roll(D, k, ax) for k in (3, 2, 1, 0, -1)])
                q = d([jnp.roll(D, k, ax) for k in (-2, -1, 0, 1, 2)])
                pos = jnp.maximum(jnp.maximum(m, 0) ** 2, jnp.minimum(q, 0) ** 2)
                neg = jnp.maximum(jnp.minimum(m, 0) ** 2, jnp.maximum(q, 0) ** 2)
                t = t + jnp.where(s0 > 0, pos, neg)
            return -s0 * (jnp.sqrt(t) - 1)
        def step(p, _):
            a = p + .4 * rhs(p); b = .75 * p + .25 * (a + .4 * rhs(a))
            return p / 3 + 2 / 3 * (b + .4 * rhs(b)), None
        return lax.scan(step, phi, None, 5)[0]
    yy, xx = np.mgrid[:61, :57]
    add('level_set_weno', weno, (np.hypot(yy - 30, xx - 28) - 15 + np.sin(xx / 4.) * 2).astype(np.float32))

    # QAOA on 10 qubits, gradient of angles
    def qaoa(par, J):
        n = 10; z = 1 - 2 * ((jnp.arange(2 ** n)[:, None] >> jnp.arange(n)) & 1).astype(jnp.float32)
        E = jnp.einsum('xi,ij,xj->x', z, J, z)
        psi = jnp.full((2,) * n, 2 ** (-n / 2), jnp.complex64)
        def layer(psi, gb):
            psi = (psi.reshape(-1) * jnp.exp(-1j * gb[0] * E)).reshape((2,) * n)
            c, s = jnp.cos(gb[1]), -1j * jnp.sin(gb[1])
            for q in range(n):
                psi = c * psi + s * jnp.flip(psi, q)
            return psi, None
        psi, _ = lax.scan(layer, psi, par)
        return (jnp.abs(psi.reshape(-1)) ** 2 * E).sum()

    # stabiliser tableau simulation of a random Clifford circuit
    def tableau(gates):
        n = 40
        def step(s, g):
            x, z, r = s
            k, a, b = g
            xa, za, xb, zb = x[:, a], z[:, a], x[:, b], z[:, b]
            def had(_): return x.at[:, a].set(za), z.at[:, a].set(xa), r ^ (xa & za)
            def ph(_): return x, z.at[:, a].set(za ^ xa), r ^ (xa & za)
            def cx(_): return x.at[:, b].set(xb ^ xa), z.at[:, a].set(za ^ zb), r ^ (xa & zb & (xb ^ za ^ 1))
            return lax.switch(k, [had, ph, cx], None), None
        e = jnp.eye(n, dtype=jnp.uint8); o = jnp.zeros((n, n), jnp.uint8)
        s = (jnp.concatenate([e, o]), jnp.concatenate([o, e]), jnp.zeros(2 * n, jnp.uint8))
        return lax.scan(step, s, gates)[0]
    a = R.randint(0, 40, 300); b = (a + 1 + R.randint(0, 38, 300)) % 40
    add('stabiliser_tableau', tableau, np.stack([R.randint(0, 3, 300), a, b], 1).astype(np.int32))

    # power flow by Newton-Raphson (complex admittance)
    def powerflow(Y, S):
        n = S.shape[0]
        def mismatch(x):
            th, vm = x[:n], x[n:]
            V = vm * jnp.exp(1j * th)
            s = V * jnp.conj(Y @ V) - S
            return jnp.concatenate([s.real.at[0].set(th[0]), s.imag.at[0].set(vm[0] - 1)])
        def it(x, _):
            f = mismatch(x)
            return x - jnp.linalg.solve(jax.jacfwd(mismatch)(x), f), jnp.abs(f).max()
        return lax.scan(it, jnp.concatenate([jnp.zeros(n), jnp.ones(n)]), None, 4)
    n = 33; Y = np.zeros((n, n), np.complex128)
    for i in range(n - 1):
        for j in {i + 1, (i * 7 + 3) % n}:
            if j != i:
                y = 1 / (.02 + .06j) ; Y[i, j] -= y; Y[j, i] -= y; Y[i, i] += y; Y[j, j] += y
    add('power_flow', powerflow, Y.astype(np.complex64), (-(R.rand(n) * .3) - 1j * R.rand(n) * .1).astype(np.complex64))

    # radiative transfer: two-stream tridiagonal per column (Thomas) with scan
    def thomas(a, b, c, d):
        def fwd(s, x):
            cp, dp = s; a, b, c, d = x
            m = 1 / (b - a * cp)
            cp, dp = c * m, (d - a * dp) * m
            return (cp, dp), (cp, dp)
        z = jnp.zeros(d.shape[1:])
        _, (cp, dp) = lax.scan(fwd, (z, z), (a, b, c, d))
        def bwd(x, s): x = s[1] - s[0] * x; return x, x
        return lax.scan(bwd, z, (cp, dp), reverse=True)[1]
    def columns(T, K):
        def step(T, _):
            k = K * (1 + .1 * jnp.tanh(T))
            up = jnp.concatenate([jnp.zeros_like(k[:1]), k[1:]]); dn = jnp.concatenate([k[1:], jnp.zeros_like(k[:1])])
            return thomas(-up, 1 + up + dn, -dn, T + .01 * jnp.sin(T)), None
        return lax.scan(step, T, None, 5)[0]
    add('implicit_columns', columns, f32(40, 350), (R.rand(40, 350) + .1).astype(np.float32))
    return P
