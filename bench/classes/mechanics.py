"""Fluids, grains, molecules, quanta and orbits, with their gradients."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(703)
f32, i32 = R.f32, R.i32
uni, c64 = R.share, R.c64


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    key = np.array([9, 2], np.uint32)

    # MLS-MPM 2D
    n, dx, dt = 32, 1 / 32, 2e-4
    off = np.stack(np.meshgrid(range(3), range(3), indexing='ij'), -1).reshape(9, 2)
    def mpm_step(s, _):
        x, v, C, J = s
        base = (x / dx - .5).astype(jnp.int32)
        fx = x / dx - base
        w = jnp.stack([.5 * (1.5 - fx) ** 2, .75 - (fx - 1) ** 2, .5 * (fx - .5) ** 2])
        stress = -dt * 4 * 400 * (J - 1) / dx ** 2 * (dx * .5) ** 2
        aff = stress[:, None, None] * jnp.eye(2) + C * (dx * .5) ** 2
        grid = jnp.zeros((n, n, 3))
        for o in off:
            dp = (o - fx) * dx
            ww = w[o[0], :, 0] * w[o[1], :, 1]
            mv = ((dx * .5) ** 2 * v + jnp.einsum('pij,pj->pi', aff, dp)) * ww[:, None]
            at = base + o
            grid = grid.at[at[:, 0], at[:, 1]].add(jnp.concatenate([mv, ww[:, None] * (dx * .5) ** 2], 1))
        vel = grid[..., :2] / jnp.maximum(grid[..., 2:], 1e-10)
        vel = vel.at[..., 1].add(-dt * 9.8)
        i = jnp.arange(n)
        lo, hi = i < 3, i > n - 3
        vx = jnp.where(lo[:, None], jnp.maximum(vel[..., 0], 0), jnp.where(hi[:, None], jnp.minimum(vel[..., 0], 0), vel[..., 0]))
        vy = jnp.where(lo[None], jnp.maximum(vel[..., 1], 0), jnp.where(hi[None], jnp.minimum(vel[..., 1], 0), vel[..., 1]))
        vel = jnp.stack([vx, vy], -1)
        nv, nC = jnp.zeros_like(v), jnp.zeros_like(C)
        for o in off:
            dp = o - fx
            ww = w[o[0], :, 0] * w[o[1], :, 1]
            g = vel[base[:, 0] + o[0], base[:, 1] + o[1]]
            nv += ww[:, None] * g
            nC += 4 / dx * ww[:, None, None] * g[:, :, None] * dp[:, None]
        return (x + dt * nv, nv, nC, J * (1 + dt * jnp.trace(nC, axis1=1, axis2=2))), None
    def mpm(x, v, C, J):
        return lax.scan(mpm_step, (x, v, C, J), None, 10)[0]
    x0 = uni(513, 2) * .4 + .3
    add('material_points', mpm, x0, f32(513, 2) * .1, np.zeros((513, 2, 2), np.float32), np.ones(513, np.float32))
    add('material_points_gradient', jax.grad(lambda v, x, C, J: jnp.sum(mpm(x, v, C, J)[0][:, 0] ** 2)), f32(513, 2) * .1, x0, np.zeros((513, 2, 2), np.float32), np.ones(513, np.float32))

    # FEM neo-Hookean on a triangle mesh: energy gradient, hvp in Newton-CG
    nx, ny = 17, 9
    gx, gy = np.meshgrid(np.arange(nx), np.arange(ny), indexing='ij')
    nid = (gx * ny + gy)
    q = np.stack([nid[:-1, :-1], nid[1:, :-1], nid[1:, 1:], nid[:-1, 1:]], -1).reshape(-1, 4)
    tri = np.concatenate([q[:, [0, 1, 2]], q[:, [0, 2, 3]]]).astype(np.int32)
    X = np.stack([gx, gy], -1).reshape(-1, 2).astype(np.float32)
    Dm = np.linalg.inv(np.stack([X[tri[:, 1]] - X[tri[:, 0]], X[tri[:, 2]] - X[tri[:, 0]]], -1)).astype(np.float32)
    fixed = (X[:, 0] == 0)
    def energy(u, tri, Dm):
        x = X + jnp.where(fixed[:, None], 0, u)
        Ds = jnp.stack([x[tri[:, 1]] - x[tri[:, 0]], x[tri[:, 2]] - x[tri[:, 0]]], -1)
        F = Ds @ Dm
        J = F[:, 0, 0] * F[:, 1, 1] - F[:, 0, 1] * F[:, 1, 0]
        lJ = jnp.log(jnp.maximum(J, .05))
        return .5 * jnp.sum(10 * (jnp.sum(F * F, (1, 2)) - 2 - 2 * lJ) + 20 * lJ ** 2) * .5 + .02 * jnp.sum(u[:, 1])
    def fem(u, tri, Dm):
        g = jax.grad(energy)
        def newton(u, _):
            r = g(u, tri, Dm)
            d, _ = jax.scipy.sparse.linalg.cg(lambda p: jax.jvp(lambda v: g(v, tri, Dm), (u,), (p,))[1] + 1e-3 * p, r, maxiter=15)
            return u - d, jnp.sum(r * r)
        return lax.scan(newton, u, None, 3)
    add('elastic_newton_cg', fem, np.zeros((nx * ny, 2), np.float32), tri, Dm)
    add('elastic_forces', jax.grad(energy), f32(nx * ny, 2) * .02, tri, Dm)
    def assemble(k, tri, Dm):
        B = jnp.concatenate([-Dm.sum(1)[:, None], Dm], 1)      # T 3 2
        Ke = k[:, None, None] * jnp.einsum('tid,tjd->tij', B, B) * .5
        i = jnp.repeat(tri, 3, 1).reshape(-1)
        j = jnp.tile(tri, (1, 3)).reshape(-1)
        return jnp.zeros((nx * ny, nx * ny)).at[i, j].add(Ke.reshape(-1))
    add('stiffness_assembled_solved', lambda k, t, D, f: jnp.linalg.solve(assemble(k, t, D) + 1e-2 * jnp.eye(nx * ny), f), uni(len(tri)) + .5, tri, Dm, f32(nx * ny))

    # DG advection RK3 with Legendre nodes
    Np, K = 5, 61
    Dr, LIFT = f32(Np, Np), f32(Np, 2)
    def dg(u, Dr, LIFT):
        def rhs(u):
            l, r = u[0], u[-1]
            fl = .5 * (l - jnp.roll(r, 1)) - .5 * jnp.abs(l - jnp.roll(r, 1))
            fr = .5 * (r - jnp.roll(l, -1)) + .5 * jnp.abs(r - jnp.roll(l, -1))
            return -.1 * (Dr @ u) + .1 * (LIFT @ jnp.stack([fl, fr]))
        def st(u, _):
            u1 = u + .01 * rhs(u)
            u2 = .75 * u + .25 * (u1 + .01 * rhs(u1))
            return u / 3 + 2 / 3 * (u2 + .01 * rhs(u2)), None
        return lax.scan(st, u, None, 50)[0]
    add('discontinuous_galerkin', dg, f32(Np, K), Dr, LIFT)
    # Gray-Scott f32 odd grid, 9-point via conv on (2,1)
    kern = np.array([[.05, .2, .05], [.2, -1, .2], [.05, .2, .05]], np.float32)
    def gs(uv):
        def st(uv, _):
            p = jnp.pad(uv, ((0, 0), (1, 1), (1, 1)), mode='wrap')
            L = lax.conv_general_dilated(p[:, None], jnp.asarray(kern)[None, None], (1, 1), 'VALID')[:, 0]
            u, v = uv
            r = u * v * v
            return jnp.stack([u + .16 * L[0] - r + .035 * (1 - u), v + .08 * L[1] + r - .1 * v]), None
        return lax.scan(st, uv, None, 30)[0]
    add('gray_scott_by_conv', gs, uni(2, 93, 71))
    # D3Q19 lattice Boltzmann
    cs = np.array([[0, 0, 0]] + [[s if i == k else 0 for i in range(3)] for k in range(3) for s in (1, -1)] +
                  [[(a if i == p else b if i == q_ else 0) for i in range(3)] for p, q_ in ((0, 1), (0, 2), (1, 2)) for a in (1, -1) for b in (1, -1)])
    wt = np.array([1 / 3] + [1 / 18] * 6 + [1 / 36] * 12, np.float32)
    opp = np.array([int(np.where((cs == -c).all(1))[0][0]) for c in cs])
    def d3q19(f, solid):
        def st(f, _):
            rho = f.sum(0)
            u = jnp.einsum('qxyz,qd->dxyz', f, cs.astype(np.float32)) / rho
            u = u.at[0].add(1e-4)
            cu = jnp.einsum('qd,dxyz->qxyz', cs.astype(np.float32), u)
            feq = rho * wt[:, None, None, None] * (1 + 3 * cu + 4.5 * cu ** 2 - 1.5 * (u * u).sum(0))
            f2 = f - (f - feq) / .8
            f2 = jnp.where(solid, f[opp], f2)
            return jnp.stack([jnp.roll(f2[i], tuple(c), (0, 1, 2)) for i, c in enumerate(cs)]), None
        return lax.scan(st, f, None, 5)[0]
    add('lattice_boltzmann_3d', d3q19, uni(19, 14, 12, 17) * .1 + .05, uni(14, 12, 17) < .1)
    # smoke: semi-Lagrangian via map_coordinates, Jacobi projection
    def smoke(v, d):
        N = v.shape[1]
        g = jnp.stack(jnp.meshgrid(jnp.arange(N), jnp.arange(N), indexing='ij')).astype(jnp.float32)
        def adv(q, v):
            return jax.scipy.ndimage.map_coordinates(q, g - v, 1, mode='nearest')
        def st(s, _):
            v, d = s
            v = jnp.stack([adv(v[0], v), adv(v[1], v)]).at[0].add(-.1 * d)
            div = .5 * (jnp.roll(v[0], -1, 0) - jnp.roll(v[0], 1, 0) + jnp.roll(v[1], -1, 1) - jnp.roll(v[1], 1, 1))
            p = lax.fori_loop(0, 20, lambda _, p: .25 * (jnp.roll(p, 1, 0) + jnp.roll(p, -1, 0) + jnp.roll(p, 1, 1) + jnp.roll(p, -1, 1) - div), jnp.zeros_like(d))
            v = v - .5 * jnp.stack([jnp.roll(p, -1, 0) - jnp.roll(p, 1, 0), jnp.roll(p, -1, 1) - jnp.roll(p, 1, 1)])
            return (v, adv(d, v)), None
        return lax.scan(st, (v, d), None, 4)[0]
    add('smoke_semi_lagrangian', smoke, f32(2, 50, 50), uni(50, 50))
    add('smoke_gradient', jax.grad(lambda v, d: jnp.sum(smoke(v, d)[1] ** 2)), f32(2, 50, 50), uni(50, 50))
    # Contacts by projected Gauss-Seidel
    def pgs(A, b, lam):
        def sweep(lam, _):
            def row(i, lam):
                return lam.at[i].set(jnp.maximum(0., lam[i] - (A[i] @ lam + b[i]) / A[i, i]))
            return lax.fori_loop(0, len(b), row, lam), None
        return lax.scan(sweep, lam, None, 10)[0]
    Apd = (lambda a: (a @ a.T + 40 * np.eye(40)).astype(np.float32))(f32(40, 40))
    add('contacts_projected', pgs, Apd, f32(40), np.zeros(40, np.float32))
    add('contacts_projected_of_many', jax.vmap(pgs, (None, 0, 0)), Apd, f32(31, 40), np.zeros((31, 40), np.float32))
    # DEM spheres: pair forces with history-less Hertz + friction, N=150 dense
    def dem(x, v, w):
        def st(s, _):
            x, v, w = s
            d = x[:, None] - x[None]
            r = jnp.sqrt((d * d).sum(-1) + 1e-9)
            nrm = d / r[..., None]
            ov = jnp.maximum(.12 - r, 0) * (1 - jnp.eye(len(x)))
            vr = v[:, None] - v[None] + jnp.cross(w[:, None] + w[None], nrm) * .06
            vn = (vr * nrm).sum(-1, keepdims=True) * nrm
            vt = vr - vn
            fn = (1e3 * ov ** 1.5)[..., None] * nrm - 5 * vn * (ov > 0)[..., None]
            ft = -jnp.minimum(2. * jnp.linalg.norm(vt + 1e-9, axis=-1), .3 * jnp.linalg.norm(fn + 1e-9, axis=-1))[..., None] * vt / (jnp.linalg.norm(vt + 1e-9, axis=-1, keepdims=True) + 1e-6) * (ov > 0)[..., None]
            F = (fn + ft).sum(1) + jnp.array([0, 0, -9.8]) + 100 * jnp.maximum(-x, 0)
            T = jnp.cross(-.06 * nrm, ft).sum(1)
            v, w = v + 1e-3 * F, w + 1e-3 * T * 10
            return (x + 1e-3 * v, v, w), None
        return lax.scan(st, (x, v, w), None, 5)[0]
    add('grains_with_friction', dem, uni(150, 3), f32(150, 3), f32(150, 3))
    # neutron transport Monte Carlo: vmap while
    def neutron(key):
        def body(s):
            key, x, mu, w, n = s
            key, a, b, c = jax.random.split(key, 4)
            d = -jnp.log(jax.random.uniform(a, minval=1e-6)) / (1.2 + .4 * jnp.sin(3 * x))
            x = x + mu * d
            absorbed = jax.random.uniform(b) < .3
            alive = (x > 0) & (x < 5) & ~absorbed
            return key, x, jax.random.uniform(c, minval=-1., maxval=1.), jnp.where(alive, w, 0.), n + 1
        r = lax.while_loop(lambda s: (s[3] > 0) & (s[4] < 60), body, (key, 2.5, 1., 1., 0))
        return r[1], r[4]
    def neutrons(key):
        x, n = jax.vmap(neutron)(jax.random.split(key, 300))
        return jnp.histogram(x, 20, (-3., 8.))[0], n.mean()
    add('neutrons_by_chance', neutrons, key)
    # discrete ordinates sweep, scattering iteration
    def sn(sig, src, mu, w):
        def outer(phi, _):
            q = src + .5 * .6 * phi
            def sweep(psi_in, sq):
                s, q = sq
                out = (2 * mu * psi_in + q) / (2 * mu + s)
                return 2 * out - psi_in, out
            _, a = lax.scan(sweep, jnp.zeros_like(mu), (sig, q))
            _, b = lax.scan(sweep, jnp.zeros_like(mu), (sig, q), reverse=True)
            return (a + b) @ w, None
        return lax.scan(outer, jnp.zeros_like(src), None, 12)[0]
    add('ordinates_swept', sn, uni(203) + 1, uni(203), uni(6) * .9 + .1, uni(6) / 3)

    # Boys function and s-type Gaussian ERIs of a basis, Fock build
    def boys0(t):
        return jnp.where(t < 1e-6, 1 - t / 3, .5 * jnp.sqrt(jnp.pi / jnp.maximum(t, 1e-6)) * jax.scipy.special.erf(jnp.sqrt(jnp.maximum(t, 1e-6))))
    def eri(al, R_, D):
        p = al[:, None] + al[None]
        K = jnp.exp(-al[:, None] * al[None] / p * ((R_[:, None] - R_[None]) ** 2).sum(-1))
        Pc = (al[:, None, None] * R_[:, None] + al[None, :, None] * R_[None]) / p[..., None]
        n = len(al)
        p_, K_, Pc_ = p.reshape(-1), K.reshape(-1), Pc.reshape(-1, 3)
        a = p_[:, None] * p_[None] / (p_[:, None] + p_[None])
        t = a * ((Pc_[:, None] - Pc_[None]) ** 2).sum(-1)
        I = 2 * jnp.pi ** 2.5 / (p_[:, None] * p_[None] * jnp.sqrt(p_[:, None] + p_[None])) * K_[:, None] * K_[None] * boys0(t)
        I = I.reshape(n, n, n, n)
        Jm = jnp.einsum('ijkl,kl->ij', I, D)
        Km = jnp.einsum('ikjl,kl->ij', I, D)
        return .5 * jnp.sum(D * (Jm - .5 * Km))
    Dd = (lambda a: (a + a.T).astype(np.float32))(f32(13, 13))
    add('two_electron_energy', eri, uni(13) + .3, f32(13, 3), Dd)
    add('two_electron_forces', jax.grad(eri, 1), uni(13) + .3, f32(13, 3), Dd)
    # LDA potential by vjp on a grid from density matrix
    def lda(D, phi, w):
        rho = jnp.einsum('gi,ij,gj->g', phi, D, phi)
        rho = jnp.abs(rho) + 1e-8
        rs = (3 / (4 * jnp.pi * rho)) ** (1 / 3)
        ex = -.4582 / rs
        ec = jnp.where(rs < 1, .0311 * jnp.log(rs) - .048 + .002 * rs * jnp.log(rs) - .0116 * rs, -.1423 / (1 + 1.0529 * jnp.sqrt(rs) + .3334 * rs))
        return jnp.sum(w * rho * (ex + ec))
    add('density_functional_potential', jax.value_and_grad(lda), Dd[:13, :13], f32(2501, 13) * .3, uni(2501))

    # Lindblad density matrix, RK4
    def lindblad(rho, H, Ls):
        Ld = jnp.conj(jnp.swapaxes(Ls, 1, 2))
        LL = (Ld @ Ls).sum(0)
        def rhs(r):
            return -1j * (H @ r - r @ H) + (Ls @ r @ Ld).sum(0) - .5 * (LL @ r + r @ LL)
        def st(r, _):
            k1 = rhs(r); k2 = rhs(r + .005 * k1); k3 = rhs(r + .005 * k2); k4 = rhs(r + .01 * k3)
            r = r + .01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return r, jnp.real(jnp.trace(r @ r))
        return lax.scan(st, rho, None, 25)
    Hm = (lambda a: (a + a.conj().T) / 4)(c64(12, 12))
    add('lindblad_master', lindblad, np.eye(12, dtype=np.complex64) / 12, Hm, c64(3, 12, 12) * .2)
    # TEBD w/ SVD truncation on an MPS (f32 real)
    def tebd(A, G):
        def bond(A, i):
            l, r = A[i], A[i + 1]
            th = jnp.einsum('apb,bqc->apqc', l, r)
            th = jnp.einsum('pqrs,arsc->apqc', G, th)
            a, p, q, c = th.shape
            u, s, v = jnp.linalg.svd(th.reshape(a * p, q * c), full_matrices=False)
            k = 6
            s = s[:k] / jnp.linalg.norm(s[:k])
            return A.at[i].set(u[:, :k].reshape(a, p, k)).at[i + 1].set((s[:, None] * v[:k]).reshape(k, q, c)), jnp.sum(s ** 4)
        return lax.scan(bond, A, jnp.arange(A.shape[0] - 1))[1]
    add('matrix_product_state_swept', tebd, f32(8, 6, 2, 6), f32(2, 2, 2, 2))
    # KPM density of states of sparse hopping matrix
    def kpm(diag, hop, cols, v):
        def H(x):
            return diag[:, None] * x + (hop[..., None] * x[cols]).sum(1)
        def st(c, _):
            a, b = c
            n = 2 * H(b) - a
            return (b, n), jnp.sum(v * n)
        return lax.scan(st, (v, H(v)), None, 40)[1]
    add('kernel_polynomials', kpm, uni(400) * .2, uni(400, 4) * .2 - .1, i32(400, 400, 4), np.sign(f32(400, 5)))
    # Path-integral MC primitive staging with metropolis over beads
    def pimc(key, x):
        M = len(x)
        def sweep(c, k):
            x = c
            def one(i, s):
                x, k = s
                k, a, b = jax.random.split(k, 3)
                new = x[i] + .5 * jax.random.normal(a, x[i].shape)
                l, r = x[(i - 1) % M], x[(i + 1) % M]
                act = lambda y: jnp.sum(((y - l) ** 2 + (y - r) ** 2) * M / 2 + .5 * y ** 2 / M, -1)
                acc = jax.random.uniform(b, (x.shape[1],)) < jnp.exp(act(x[i]) - act(new))
                return x.at[i].set(jnp.where(acc[:, None], new, x[i])), k
            x, _ = lax.fori_loop(0, M, one, (x, k))
            return x, .5 * jnp.mean(x ** 2)
        return lax.scan(sweep, x, jax.random.split(key, 8))[1]
    add('path_integral_beads', pimc, key, f32(16, 20, 3))

    # Kepler by Newton + transit light curve gradient
    def kepler(M, e):
        E = M + e * jnp.sin(M)
        return lax.fori_loop(0, 6, lambda _, E: E - (E - e * jnp.sin(E) - M) / (1 - e * jnp.cos(E)), E)
    def transit(p, t):
        per, t0, e, w, b, k, u1, u2 = p
        f = 2 * jnp.arctan(jnp.sqrt((1 + e) / (1 - e)) * jnp.tan(kepler(2 * jnp.pi * (t - t0) / per, e) / 2))
        r = 8 * (1 - e * e) / (1 + e * jnp.cos(f))
        z = r * jnp.sqrt(jnp.maximum(1 - jnp.sin(w + f) ** 2 * (1 - b * b / 64), 1e-8))
        mu = jnp.sqrt(jnp.maximum(1 - z * z, 1e-6))
        lim = 1 - u1 * (1 - mu) - u2 * (1 - mu) ** 2
        return 1 - k * k * lim * jax.nn.sigmoid((1 - z) / .05)
    pv = np.array([3.1, .2, .1, 1.5, .3, .1, .4, .2], np.float32)
    add('transit_hessian', jax.hessian(lambda p, t, y: jnp.mean((transit(p, t) - y) ** 2)), pv, np.linspace(0, 6, 701).astype(np.float32), uni(701))
    # PM cosmology: CIC + FFT + leapfrog, gradient
    def pm(x, v):
        N = 16
        k = jnp.fft.fftfreq(N) * 2 * jnp.pi
        kr = jnp.fft.rfftfreq(N) * 2 * jnp.pi
        k2 = k[:, None, None] ** 2 + k[None, :, None] ** 2 + kr ** 2
        ik2 = jnp.where(k2 > 0, 1 / jnp.where(k2 > 0, k2, 1), 0)
        def cic(x):
            i = jnp.floor(x).astype(jnp.int32)
            d = x - i
            for o in np.ndindex(2, 2, 2):
                w = jnp.prod(jnp.where(np.array(o) == 1, d, 1 - d), -1)
                yield (i + np.array(o)) % N, w
        def st(s, _):
            x, v = s
            rho = jnp.zeros((N,) * 3)
            for a, w in cic(x):
                rho = rho.at[a[:, 0], a[:, 1], a[:, 2]].add(w)
            ph = -jnp.fft.rfftn(rho) * ik2
            F = jnp.stack([jnp.fft.irfftn(-1j * kk * ph, (N,) * 3) for kk in (k[:, None, None], k[None, :, None], kr)], -1)
            a = sum(w[:, None] * F[t[:, 0], t[:, 1], t[:, 2]] for t, w in cic(x))
            v = v + .1 * a
            return ((x + .1 * v) % N, v), None
        return lax.scan(st, (x, v), None, 3)[0]
    add('particle_mesh_3d', pm, uni(1331, 3) * 16, f32(1331, 3) * .1)
    add('particle_mesh_3d_gradient', jax.grad(lambda v, x: jnp.sum(pm(x, v)[1] ** 2)), f32(1331, 3) * .1, uni(1331, 3) * 16)
    # interferometer visibilities (complex phases) + chi2 gradient
    def vis(flux, lm, uvw, data):
        n = jnp.sqrt(1 - (lm ** 2).sum(1))
        ph = 2 * jnp.pi * (uvw[:, :2] @ lm.T + uvw[:, 2:] * (n - 1))
        m = jnp.sum(flux / n * jnp.exp(-1j * ph), 1)
        return jnp.sum(jnp.abs(m - data) ** 2)
    add('visibilities_gradient', jax.grad(vis, (0, 1)), uni(37), f32(37, 2) * .05, f32(703, 3) * 30, c64(703))
    # gravitational lensing inverse ray shooting into pixels
    def lens(th, xl, m):
        d = th[:, None] - xl[None]
        al = (m[:, None] * d / ((d * d).sum(-1, keepdims=True) + 1e-4)).sum(1)
        b = th - al
        ij = jnp.floor((b + 1) * 20).astype(jnp.int32)
        ok = ((ij >= 0) & (ij < 40)).all(1)
        return jnp.zeros(1601, jnp.int32).at[jnp.where(ok, ij[:, 0] * 40 + ij[:, 1], 1600)].add(1)
    add('rays_shot_through_lenses', lens, uni(10007, 2) * 2 - 1, f32(7, 2) * .4, uni(7) * .1)
    # spherical harmonic synthesis by Legendre recurrence
    def sht(alm, x, phi):
        L = alm.shape[0]
        def m_term(m, a):
            pmm = jnp.exp(jax.scipy.special.gammaln(2 * m + 1.) - jax.scipy.special.gammaln(m + 1.) - m * jnp.log(2.) - .5 * jax.scipy.special.gammaln(2 * m + 1.)) * (1 - x * x) ** (m / 2)
            def st(c, l):
                p1, p0 = c
                pn = ((2 * l - 1) * x * p1 - (l - 1 + m) * p0) / jnp.maximum(l - m, 1.)
                pn = jnp.where(l < m, 0, jnp.where(l == m, pmm, pn))
                return (pn, jnp.where(l <= m, 0, p1) if False else p1), pn
            _, P_ = lax.scan(st, (jnp.zeros_like(x), jnp.zeros_like(x)), jnp.arange(L, dtype=jnp.float32))
            g = a @ P_
            return g[:, None] * jnp.exp(1j * m * phi)
        return jnp.real(jax.vmap(m_term)(jnp.arange(L, dtype=jnp.float32), alm).sum(0))
    add('spherical_synthesis', sht, c64(20, 20), np.cos(np.linspace(.1, 3, 41)).astype(np.float32), np.linspace(0, 6.2, 83).astype(np.float32))
    # XPBD: constraints by colours with strain limits, scan over colours
    def xpbd(x, w, pairs, rest):
        def st(x, _):
            def col(x, c):
                pr, r0 = c
                a, b = pr[:, 0], pr[:, 1]
                d = x[a] - x[b]
                l = jnp.sqrt((d * d).sum(-1) + 1e-9)
                s = ((l - r0) / (w[a] + w[b] + 1e-3) / l)[:, None]
                return x.at[a].add(-w[a][:, None] * s * d).at[b].add(w[b][:, None] * s * d), None
            return lax.scan(col, x, (pairs, rest))[0], None
        return lax.scan(st, x, None, 8)[0]
    prs = np.stack([R.permutation(300)[:200].reshape(100, 2) for _ in range(6)]).astype(np.int32)
    add('coloured_constraints', xpbd, f32(300, 3), uni(300), prs, uni(6, 100))
    # Heston PDE by Douglas ADI with tridiagonal solves of jax.lax.linalg
    def heston(U):
        S, V = U.shape
        s, v = jnp.linspace(0, 2, S), jnp.linspace(0.01, 1, V)
        ds, dv = s[1] - s[0], v[1] - v[0]
        def st(U, _):
            ps = .5 * v[None] * s[:, None] ** 2 / ds ** 2 * 1e-3
            pv = jnp.broadcast_to(.5 * .09 * v / dv ** 2 * 1e-3, (S, V))
            mixed = jnp.zeros_like(U).at[1:-1, 1:-1].set((U[2:, 2:] - U[2:, :-2] - U[:-2, 2:] + U[:-2, :-2]) / (4 * ds * dv)) * (-.3 * .3 * s[:, None] * v) * 1e-3
            Y = U + mixed
            Y = lax.linalg.tridiagonal_solve((-ps).T.at[:, 0].set(0), (1 + 2 * ps).T, (-ps).T.at[:, -1].set(0), Y.T[..., None])[..., 0].T
            Y = lax.linalg.tridiagonal_solve((-pv).at[:, 0].set(0), 1 + 2 * pv, (-pv).at[:, -1].set(0), Y[..., None])[..., 0]
            return Y, None
        return lax.scan(st, U, None, 10)[0]
    add('heston_by_turns', heston, uni(51, 33))
    return P
