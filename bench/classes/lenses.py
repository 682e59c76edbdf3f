"""Signals, images and geometry: filters, transforms, cameras, splats."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(705)
f32, i32, u8 = R.f32, R.i32, R.u8
uni, c64 = R.share, R.c64


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    key = np.array([13, 8], np.uint32)

    # constant-Q by frequency-domain kernels
    def cqt(x, K):
        fr = jax.vmap(lambda i: lax.dynamic_slice(x, (i,), (512,)))(jnp.arange(0, 8000 - 512, 128))
        return jnp.abs(jnp.fft.fft(fr * jnp.hanning(512)) @ K.T)
    add('constant_q', cqt, f32(8000), c64(60, 512))
    # MUSIC spectrum with eigh of hermitian
    def music(X, ang):
        Rx = X @ X.conj().T / X.shape[1]
        w, V = jnp.linalg.eigh(Rx)
        En = V[:, :-3]
        A = jnp.exp(1j * jnp.pi * jnp.arange(X.shape[0])[:, None] * jnp.sin(ang))
        return 1 / jnp.sum(jnp.abs(En.conj().T @ A) ** 2, 0)
    add('music_spectrum', music, c64(9, 200), np.linspace(-1.5, 1.5, 361).astype(np.float32))
    def capon(X, ang):
        Rx = jnp.einsum('fmt,fnt->fmn', X, X.conj()) / X.shape[-1] + .1 * jnp.eye(X.shape[1])
        A = jnp.exp(1j * jnp.pi * jnp.arange(X.shape[1])[:, None] * jnp.sin(ang))
        S = jnp.linalg.solve(Rx, jnp.broadcast_to(A, (X.shape[0], *A.shape)))
        return 1 / jnp.real(jnp.sum(A.conj() * S, 1))
    add('capon_beams', capon, c64(21, 6, 50), np.linspace(-1.5, 1.5, 91).astype(np.float32))
    # RLS adaptive filter (8 taps, and 32 taps)
    def rls(x, d, n):
        def st(s, t):
            w, Pm, buf = s
            buf = jnp.roll(buf, 1).at[0].set(t[0])
            k = Pm @ buf / (.99 + buf @ Pm @ buf)
            e = t[1] - w @ buf
            return (w + k * e, (Pm - jnp.outer(k, buf @ Pm)) / .99, buf), e
        return lax.scan(st, (jnp.zeros(n), jnp.eye(n) * 10, jnp.zeros(n)), (x, d))[1]
    add('rls_8_taps', lambda x, d: rls(x, d, 8), f32(700), f32(700))
    add('rls_31_taps', lambda x, d: rls(x, d, 31), f32(300), f32(300))
    add('rls_of_many', jax.vmap(lambda x, d: rls(x, d, 8)), f32(33, 200), f32(33, 200))
    # PLL Costas loop complex
    def costas(x):
        def st(s, z):
            ph, fr = s
            y = z * jnp.exp(-1j * ph)
            e = jnp.sign(y.real) * y.imag
            fr = fr + .001 * e
            return (jnp.mod(ph + fr + .05 * e + jnp.pi, 2 * jnp.pi) - jnp.pi, fr), y
        return lax.scan(st, (0., 0.), x)[1]
    add('costas_loop', costas, c64(900))
    # polyphase filterbank + FFT
    add('polyphase_channels', lambda x, h: jnp.abs(jnp.fft.fft((jnp.stack([x[i * 64:(i + 90) * 64].reshape(90, 64) for i in range(8)]) * h.reshape(8, 1, 64)).sum(0))) ** 2, f32(64 * 97), f32(512))
    # Goertzel bank
    def goertzel(x, f):
        c = 2 * jnp.cos(f)
        s1, s2 = lax.fori_loop(0, len(x), lambda i, s: (x[i] + c * s[0] - s[1], s[0]), (jnp.zeros_like(f), jnp.zeros_like(f)))
        return s1 ** 2 + s2 ** 2 - c * s1 * s2
    add('goertzel_bank', goertzel, f32(800), uni(13) * 3)
    # GCC-PHAT pairwise
    def gcc(X):
        F = jnp.fft.rfft(X, 1024)
        i, j = jnp.triu_indices(X.shape[0], 1)
        G = F[i] * F[j].conj()
        c = jnp.fft.irfft(G / (jnp.abs(G) + 1e-6))
        return jnp.argmax(jnp.concatenate([c[:, -40:], c[:, :41]], 1), 1) - 40
    add('delays_by_phase', gcc, f32(7, 700))
    # Orthogonal matching pursuit batch (fixed 6 atoms) with masked lstsq via cholesky
    def omp(D, Y):
        def one(y):
            def st(s, k):
                r, idx = s
                idx = idx.at[k].set(jnp.argmax(jnp.abs(D.T @ r)))
                A = D[:, idx] * (jnp.arange(6) <= k)
                G = A.T @ A + jnp.diag(jnp.where(jnp.arange(6) <= k, 1e-4, 1.))
                c = jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(G), True), A.T @ y)
                return (y - A @ c, idx), c
            (r, idx), c = lax.scan(st, (y, jnp.zeros(6, jnp.int32)), jnp.arange(6))
            return r, c[-1]
        return jax.vmap(one)(Y)
    add('matching_pursuit', omp, (lambda d: d / np.linalg.norm(d, axis=0))(f32(40, 100)), f32(25, 40))
    # AMP / ISTA with FFT operator
    def amp(A, y):
        n = A.shape[1]
        def st(s, _):
            x, z = s
            r = x + A.T @ z
            t = 1.2 * jnp.linalg.norm(z) / jnp.sqrt(len(y))
            x2 = jnp.sign(r) * jnp.maximum(jnp.abs(r) - t, 0)
            return (x2, y - A @ x2 + z * jnp.mean(jnp.abs(x2) > 0) * n / len(y)), None
        return lax.scan(st, (jnp.zeros(n), y), None, 20)[0][0]
    add('message_passing', amp, f32(90, 201) / 9.5, f32(90))
    # FastICA
    def ica(X, W):
        C = X @ X.T / X.shape[1]
        w, V = jnp.linalg.eigh(C)
        Z = (V / jnp.sqrt(w)) @ V.T @ X
        def st(W, _):
            G = jnp.tanh(W @ Z)
            W = G @ Z.T / Z.shape[1] - jnp.diag(jnp.mean(1 - G ** 2, 1)) @ W
            s, U = jnp.linalg.eigh(W @ W.T)
            return (U / jnp.sqrt(s)) @ U.T @ W, None
        return jnp.abs(lax.scan(st, W, None, 8)[0])
    add('independent_components', ica, f32(5, 2001) ** 3, (lambda q: q[0].astype(np.float32))(np.linalg.qr(R.randn(5, 5))))
    # SAR back-projection
    def sar(data, plat, grid):
        def one(acc, pd):
            p, d = pd
            r = jnp.sqrt(((grid - p) ** 2).sum(-1))
            b = (r - 1.) * 60
            i = jnp.clip(b.astype(jnp.int32), 0, 254)
            f = b - i
            return acc + (d[i] * (1 - f) + d[i + 1] * f) * jnp.exp(1j * 40 * r), None
        return lax.scan(one, jnp.zeros(grid.shape[:-1], jnp.complex64), (plat, data))[0]
    gr = np.stack(list(np.meshgrid(np.linspace(0, 1, 31), np.linspace(0, 1, 37), indexing='ij')) + [np.zeros((31, 37))], -1).astype(np.float32)
    add('sar_backprojection', sar, c64(30, 256), np.stack([np.linspace(-1, 1, 30), np.full(30, -1.), np.full(30, 1.)], 1).astype(np.float32), gr)
    # 2-D phase unwrap by DCT Poisson
    def unwrap2(p):
        w = lambda a: jnp.mod(a + jnp.pi, 2 * jnp.pi) - jnp.pi
        dx = jnp.pad(w(jnp.diff(p, axis=0)), ((1, 1), (0, 0)))
        dy = jnp.pad(w(jnp.diff(p, axis=1)), ((0, 0), (1, 1)))
        rho = jnp.diff(dx, axis=0) + jnp.diff(dy, axis=1)
        D = jax.scipy.fft.dctn(rho, norm='ortho')
        i, j = jnp.arange(p.shape[0]), jnp.arange(p.shape[1])
        den = 2 * (jnp.cos(jnp.pi * i / len(i))[:, None] + jnp.cos(jnp.pi * j / len(j)) - 2)
        return jax.scipy.fft.idctn(D / den.at[0, 0].set(1.), norm='ortho')
    add('phase_unwrapped_2d', unwrap2, f32(60, 44))
    # snakes active contour
    def snake(img, pts):
        gy, gx = jnp.gradient(img)
        n = len(pts)
        A = 2.2 * jnp.eye(n) - .1 * (jnp.eye(n, k=1) + jnp.eye(n, k=-1) + jnp.eye(n, k=n - 1) + jnp.eye(n, k=1 - n))
        inv = jnp.linalg.inv(A)
        def st(p, _):
            s = lambda g: jax.scipy.ndimage.map_coordinates(g, [p[:, 0], p[:, 1]], 1, mode='nearest')
            return inv @ (2 * p + jnp.stack([s(gy), s(gx)], 1)), None
        return lax.scan(st, pts, None, 25)[0]
    add('active_contour', snake, uni(60, 70), uni(53, 2) * 50 + 5)
    # watershed by priority-less iterations while: each pixel takes min neighbor label until converged
    def watershed(img):
        h, w = img.shape
        lab = jnp.arange(h * w).reshape(h, w)
        p = jnp.pad(img, 1, constant_values=jnp.inf)
        nb = jnp.stack([p[1 + a:h + 1 + a, 1 + b:w + 1 + b] for a in (-1, 0, 1) for b in (-1, 0, 1)])
        k = jnp.argmin(nb, 0)
        tgt = jnp.clip(lab + (k // 3 - 1) * w + (k % 3 - 1), 0, h * w - 1).reshape(-1)
        return lax.while_loop(lambda t: jnp.any(t != t[t]), lambda t: t[t], tgt).reshape(h, w)
    add('basins_descended', watershed, uni(61, 83))
    # SLIC superpixels
    def slic(img, cen):
        h, w, _ = img.shape
        yy, xx = jnp.meshgrid(jnp.arange(h), jnp.arange(w), indexing='ij')
        f = jnp.concatenate([img * 10, jnp.stack([yy, xx], -1) * .3], -1).reshape(-1, 5)
        def st(c, _):
            d = (f * f).sum(1)[:, None] - 2 * f @ c.T + (c * c).sum(1)
            a = jnp.argmin(d, 1)
            s = jax.ops.segment_sum(f, a, 30)
            n = jax.ops.segment_sum(jnp.ones(len(f)), a, 30)
            return s / jnp.maximum(n, 1)[:, None], a
        return lax.scan(st, cen, None, 5)[1][-1]
    add('superpixels', slic, uni(48, 56, 3), f32(30, 5) * 5)
    # PatchMatch propagate with random search
    def patchmatch(a, b, key):
        h, w = a.shape
        yy, xx = jnp.meshgrid(jnp.arange(h), jnp.arange(w), indexing='ij')
        pa, pb = (jnp.stack([jnp.roll(q, (-i, -j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)], -1) for q in (a, b))
        def cost(ny, nx):
            return ((pa - pb[ny, nx]) ** 2).sum(-1)
        def st(s, k):
            ny, nx, c = s
            for dy, dx_ in ((1, 0), (0, 1), (-1, 0), (0, -1)):
                ty = jnp.clip(jnp.roll(ny, dy, 0) + dy, 0, h - 1)
                tx = jnp.clip(jnp.roll(nx, dx_, 1) + dx_, 0, w - 1)
                tc = cost(ty, tx)
                ny, nx, c = jnp.where(tc < c, ty, ny), jnp.where(tc < c, tx, nx), jnp.minimum(c, tc)
            r = jax.random.randint(k, (2, h, w), -8, 9)
            ty, tx = jnp.clip(ny + r[0], 0, h - 1), jnp.clip(nx + r[1], 0, w - 1)
            tc = cost(ty, tx)
            return (jnp.where(tc < c, ty, ny), jnp.where(tc < c, tx, nx), jnp.minimum(c, tc)), None
        return lax.scan(st, (yy, xx, cost(yy, xx)), jax.random.split(key, 4))[0][2]
    add('patches_matched', patchmatch, uni(45, 51), uni(45, 51), key)
    # Poisson blending CG
    def blend(src, dst, m):
        lap = lambda x: 4 * x - jnp.roll(x, 1, 0) - jnp.roll(x, -1, 0) - jnp.roll(x, 1, 1) - jnp.roll(x, -1, 1)
        A = lambda x: jnp.where(m[..., None], lap(jnp.where(m[..., None], x, 0)), x)
        b = jnp.where(m[..., None], lap(src) - lap(jnp.where(m[..., None], 0, dst)), dst)
        return jax.scipy.sparse.linalg.cg(A, b, maxiter=30)[0]
    mk = np.zeros((57, 63), bool); mk[10:40, 12:50] = True
    add('poisson_blended', blend, uni(57, 63, 3), uni(57, 63, 3), mk)
    # Felzenszwalb distance transform 1D with while inside fori, vmapped rows both ways
    def dt1(f):
        n = len(f)
        def st(s, q):
            v, z, k = s
            def inter(k):
                return ((f[q] + q * q) - (f[v[k]] + v[k] ** 2)) / (2 * q - 2 * v[k])
            k = lax.while_loop(lambda k: (k > 0) & (inter(k) <= z[k]), lambda k: k - 1, k)
            t = inter(k)
            return (v.at[k + 1].set(q), z.at[k + 1].set(t).at[k + 2].set(jnp.inf), k + 1), None
        (v, z, k), _ = lax.scan(st, (jnp.zeros(n, jnp.int32), jnp.full(n + 2, jnp.inf).at[0].set(-jnp.inf), jnp.int32(0)), jnp.arange(1, n))
        i = jnp.searchsorted(z[1:n + 1], jnp.arange(n).astype(jnp.float32))
        vi = v[jnp.clip(i, 0, n - 1)]
        return (jnp.arange(n) - vi) ** 2 + f[vi]
    add('distances_by_envelopes', lambda m: jax.vmap(dt1, 1, 1)(jax.vmap(dt1)(jnp.where(m, 0., 1e4))), R.rand(37, 45) < .05)
    # NCC template by integral images
    def ncc(img, t):
        th, tw = t.shape
        t0 = t - t.mean()
        num = lax.conv(img[None, None], t0[None, None], (1, 1), 'VALID')[0, 0]
        I = lambda x: jnp.pad(jnp.cumsum(jnp.cumsum(x, 0), 1), ((1, 0), (1, 0)))
        bx = lambda S: S[th:, tw:] - S[:-th, tw:] - S[th:, :-tw] + S[:-th, :-tw]
        s1, s2 = bx(I(img)), bx(I(img * img))
        c = num / jnp.sqrt(jnp.maximum((s2 - s1 ** 2 / (th * tw)), 1e-4) * (t0 ** 2).sum())
        return c, jnp.unravel_index(jnp.argmax(c), c.shape)
    add('template_by_integrals', ncc, uni(90, 110), uni(9, 13))
    # RANSAC homography, vmapped SVD / eigh of 9x9
    def ransac(key, a, b):
        def one(k):
            i = jax.random.choice(k, len(a), (4,), replace=False)
            x, y = a[i, 0], a[i, 1]; u, v = b[i, 0], b[i, 1]
            z, o = jnp.zeros(4), jnp.ones(4)
            A = jnp.concatenate([jnp.stack([x, y, o, z, z, z, -u * x, -u * y], 1), jnp.stack([z, z, z, x, y, o, -v * x, -v * y], 1)])
            h = jnp.append(jnp.linalg.solve(A + 1e-3 * jnp.eye(8), jnp.concatenate([u, v])), 1.).reshape(3, 3)
            p = jnp.concatenate([a, jnp.ones((len(a), 1))], 1) @ h.T
            e = ((p[:, :2] / p[:, 2:] - b) ** 2).sum(1)
            return (e < .05).sum()
        return jax.vmap(one)(jax.random.split(key, 100))
    add('homography_by_consensus', ransac, key, f32(80, 2), f32(80, 2))
    # mean-shift points
    def mshift(x):
        def st(y, _):
            w = jnp.exp(-((y[:, None] - x[None]) ** 2).sum(-1) / .18)
            return w @ x / w.sum(1, keepdims=True), None
        return lax.scan(st, x, None, 6)[0]
    add('mean_shift', mshift, f32(211, 3))
    # bilateral grid splat/blur/slice
    def bgrid(img):
        h, w = img.shape
        yy, xx = jnp.meshgrid(jnp.arange(h) // 8, jnp.arange(w) // 8, indexing='ij')
        z = jnp.clip(img * 10, 0, 10).astype(jnp.int32)
        g = jnp.zeros((h // 8 + 1, w // 8 + 1, 11, 2)).at[yy, xx, z].add(jnp.stack([img, jnp.ones_like(img)], -1))
        for ax in range(3):
            pw = [(0, 0)] * 4
            pw[ax] = (1, 1)
            p = jnp.pad(g, pw)
            g = .25 * lax.slice_in_dim(p, 0, -2, axis=ax) + .5 * lax.slice_in_dim(p, 1, -1, axis=ax) + .25 * lax.slice_in_dim(p, 2, None, axis=ax)
        o = g[yy, xx, z]
        return o[..., 0] / jnp.maximum(o[..., 1], 1e-6)
    add('bilateral_grid', bgrid, uni(121, 133))
    # panorama / lens undistort with Newton inverse and bilinear u8
    def undist(img, k):
        h, w, _ = img.shape
        yy, xx = jnp.meshgrid((jnp.arange(h) - h / 2) / w, (jnp.arange(w) - w / 2) / w, indexing='ij')
        r2 = xx ** 2 + yy ** 2
        s = 1 + k[0] * r2 + k[1] * r2 ** 2
        sx, sy = xx * s * w + w / 2, yy * s * w + h / 2
        x0, y0 = jnp.floor(sx), jnp.floor(sy)
        fx, fy = (sx - x0)[..., None], (sy - y0)[..., None]
        g = lambda y, x: img[jnp.clip(y, 0, h - 1).astype(jnp.int32), jnp.clip(x, 0, w - 1).astype(jnp.int32)].astype(jnp.float32)
        o = g(y0, x0) * (1 - fx) * (1 - fy) + g(y0, x0 + 1) * fx * (1 - fy) + g(y0 + 1, x0) * (1 - fx) * fy + g(y0 + 1, x0 + 1) * fx * fy
        return o
    add('lens_undistorted', undist, u8(121, 163, 3), np.array([.1, -.05], np.float32))
    # TSDF fusion
    def tsdf(vol, wgt, depth, pose, K):
        n = vol.shape[0]
        g = jnp.stack(jnp.meshgrid(*[jnp.arange(n)] * 3, indexing='ij'), -1) / n - .5
        c = g @ pose[:, :3].T + pose[:, 3]
        uv = c[..., :2] / c[..., 2:] * K + 32
        i = jnp.round(uv).astype(jnp.int32)
        ok = ((i >= 0) & (i < 64)).all(-1) & (c[..., 2] > 0)
        d = depth[jnp.clip(i[..., 1], 0, 63), jnp.clip(i[..., 0], 0, 63)]
        s = jnp.clip((d - c[..., 2]) / .1, -1, 1)
        upd = ok & (d - c[..., 2] > -.1)
        return jnp.where(upd, (vol * wgt + s) / (wgt + 1), vol), wgt + upd
    add('signed_distances_fused', tsdf, f32(33, 33, 33), uni(33, 33, 33), uni(64, 64) + 1, np.concatenate([np.eye(3), [[0], [0], [1.5]]], 1).astype(np.float32), np.float32(60))
    # BVH traversal with stack, vmap while
    lo = uni(31, 3); hi = lo + .3 * uni(31, 3)
    for i in range(14, -1, -1):
        lo[i] = np.minimum(lo[2 * i + 1], lo[2 * i + 2]); hi[i] = np.maximum(hi[2 * i + 1], hi[2 * i + 2])
    def bvh(o, d, lo, hi, tri):
        inv = 1 / d
        def one(o, d, inv):
            def body(s):
                st, sp, best = s
                n = st[sp - 1]
                t1, t2 = (lo[n] - o) * inv, (hi[n] - o) * inv
                tn, tf = jnp.max(jnp.minimum(t1, t2)), jnp.min(jnp.maximum(t1, t2))
                hit = (tn <= tf) & (tf > 0) & (tn < best)
                leaf = n >= 15
                a, b, c = tri[jnp.maximum(n - 15, 0)]
                e1, e2 = b - a, c - a
                pv = jnp.cross(d, e2); det = e1 @ pv
                tv = o - a; qv = jnp.cross(tv, e1)
                u, v, t = tv @ pv / det, d @ qv / det, e2 @ qv / det
                ok = hit & leaf & (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)
                best = jnp.where(ok, jnp.minimum(best, t), best)
                push = hit & ~leaf
                st = st.at[sp - 1].set(jnp.where(push, 2 * n + 1, st[sp - 1]))
                st = jnp.where(push, st.at[sp].set(2 * n + 2), st)
                return st, jnp.where(push, sp + 1, sp - 1), best
            return lax.while_loop(lambda s: s[1] > 0, body, (jnp.zeros(16, jnp.int32), jnp.int32(1), jnp.float32(1e9)))[2]
        return jax.vmap(one)(o, d, inv)
    add('boxes_traversed', bvh, f32(257, 3), f32(257, 3), lo, hi, uni(16, 3, 3))
    # Gaussian splat: SH degree 3, covariance projection, tile top-k sort compositing
    def splat(mu, sc, qt, sh, op):
        qt = qt / jnp.linalg.norm(qt, axis=1, keepdims=True)
        w, x, y, z = qt.T
        Rm = jnp.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).reshape(-1, 3, 3)
        M = Rm * jnp.exp(sc)[:, None]
        S = M @ M.transpose(0, 2, 1)
        zc = mu[:, 2] + 4
        J = jnp.zeros((len(mu), 2, 3)).at[:, 0, 0].set(32 / zc).at[:, 1, 1].set(32 / zc).at[:, 0, 2].set(-32 * mu[:, 0] / zc ** 2).at[:, 1, 2].set(-32 * mu[:, 1] / zc ** 2)
        C = J @ S @ J.transpose(0, 2, 1) + .3 * jnp.eye(2)
        det = C[:, 0, 0] * C[:, 1, 1] - C[:, 0, 1] ** 2
        con = jnp.stack([C[:, 1, 1], -C[:, 0, 1], C[:, 0, 0]], 1) / det[:, None]
        p = 32 * mu[:, :2] / zc[:, None] + 16
        d = mu / jnp.linalg.norm(mu, axis=1, keepdims=True)
        x, y, z = d.T
        B = jnp.stack([jnp.full_like(x, .282), -.488 * y, .488 * z, -.488 * x, 1.09 * x * y, -1.09 * y * z, .315 * (2 * z * z - x * x - y * y), -1.09 * x * z, .546 * (x * x - y * y)], 1)
        col = jax.nn.relu(jnp.einsum('nb,nbc->nc', B, sh) + .5)
        o = jnp.argsort(zc)
        p, con, col, op = p[o], con[o], col[o], op[o]
        def tile(t):
            c0 = jnp.stack([t // 4, t % 4]) * 8. + 4
            near = jnp.where(jnp.abs(p - c0).max(1) < 14, jnp.arange(len(p)), len(p))
            idx = jnp.sort(near)[:48]
            ok = idx < len(p)
            idx = jnp.minimum(idx, len(p) - 1)
            px = jnp.stack(jnp.meshgrid(jnp.arange(8), jnp.arange(8), indexing='ij'), -1).reshape(-1, 2) + c0 - 3.5
            dl = px[:, None] - p[idx][None]
            q = con[idx]
            a = jnp.minimum(.99, jax.nn.sigmoid(op[idx]) * jnp.exp(-.5 * (q[:, 0] * dl[..., 0] ** 2 + 2 * q[:, 1] * dl[..., 0] * dl[..., 1] + q[:, 2] * dl[..., 1] ** 2))) * ok
            T = jnp.cumprod(jnp.concatenate([jnp.ones((64, 1)), 1 - a[:, :-1]], 1), 1)
            return (a * T) @ col[idx]
        return lax.map(tile, jnp.arange(16))
    sa = (f32(203, 3), f32(203, 3) * .3 - 2, f32(203, 4), f32(203, 9, 3) * .3, f32(203))
    add('splats_by_tiles', splat, *sa)
    add('splats_by_tiles_gradient', jax.grad(lambda *a: jnp.mean(splat(*a) ** 2), (0, 1, 2, 3, 4)), *sa)
    # GJK-free SAT for OBB pairs; minimum enclosing circle Welzl-iterative; gift wrapping hull; in-circle predicates
    def sat(c, r, h):
        def pair(i, j):
            ax = jnp.concatenate([r[i], r[j], jnp.cross(r[i][:, None], r[j][None]).reshape(-1, 3)])
            t = jnp.abs(ax @ (c[j] - c[i]))
            s = jnp.abs(ax @ r[i].T) @ h[i] + jnp.abs(ax @ r[j].T) @ h[j]
            return jnp.all(t <= s + 1e-6)
        k = jnp.arange(len(c))
        return jax.vmap(jax.vmap(pair, (None, 0)), (0, None))(k, k)
    add('boxes_that_touch', sat, f32(37, 3) * 2, np.linalg.qr(R.randn(37, 3, 3))[0].astype(np.float32), uni(37, 3))
    def giftwrap(p):
        n = len(p)
        s0 = jnp.argmin(p[:, 0])
        def body(s):
            cur, k, out = s
            d = p - p[cur]
            def red(a, b):
                cr = d[a, 0] * d[b, 1] - d[a, 1] * d[b, 0]
                return jnp.where((cr < 0) | (a == cur), b, a)
            nx = lax.fori_loop(0, n, lambda i, a: red(a, i), (cur + 1) % n)
            return nx, k + 1, out.at[k].set(nx)
        return lax.while_loop(lambda s: (s[1] == 0) | ((s[0] != s0) & (s[1] < n)), body, (s0, 0, jnp.full(n, -1, s0.dtype)))[2]
    add('hull_wrapped', giftwrap, f32(150, 2))
    def incircle(tri, p):
        a = tri[:, None] - p[None, :, None]
        q = (a * a).sum(-1)
        M = jnp.concatenate([a, q[..., None]], -1)
        return (jnp.linalg.det(M) > 0).sum(1)
    add('points_in_circles', incircle, f32(101, 3, 2), f32(67, 2))
    # kNN chunks with lax.map batch_size + top_k; hausdorff; median filter 5x5 by sort; dilation by reduce_window with custom init
    add('neighbours_in_batches', lambda x, y: lax.map(lambda q: lax.top_k(-((y - q) ** 2).sum(1), 5), x, batch_size=64), f32(301, 8), f32(411, 8))
    def med5(x):
        p = jnp.pad(x, 2, mode='reflect')
        return jnp.median(jnp.stack([p[i:i + x.shape[0], j:j + x.shape[1]] for i in range(5) for j in range(5)]), 0)
    add('median_5x5', med5, uni(61, 71))
    def topht(x):
        er = lax.reduce_window(x, np.uint8(255), lax.min, (7, 7), (1, 1), 'SAME')
        return x - lax.reduce_window(er, np.uint8(0), lax.max, (7, 7), (1, 1), 'SAME')
    add('top_hat_bytes', topht, u8(131, 117))
    # SIFT-ish pyramid: DoG and 3x3x3 extrema, orientation histograms for top 32
    def dog(img):
        g = [img]
        for s in (1., 1.4, 2., 2.8):
            k = jnp.exp(-jnp.arange(-4, 5) ** 2 / (2 * s * s)); k = k / k.sum()
            y = jax.scipy.signal.convolve(g[-1], k[:, None], mode='same')
            g.append(jax.scipy.signal.convolve(y, k[None], mode='same'))
        g = jnp.stack(g)
        d = g[1:] - g[:-1]
        mx = lax.reduce_window(d, -jnp.inf, lax.max, (3, 3, 3), (1, 1, 1), 'SAME')
        sc = jnp.where(d == mx, jnp.abs(d), 0).at[0].set(0).at[-1].set(0)
        v, i = lax.top_k(sc.reshape(-1), 32)
        s, y, x = jnp.unravel_index(i, d.shape)
        gy, gx = jnp.gradient(g[2])
        def ori(y, x):
            a = lax.dynamic_slice(gy, (y - 4, x - 4), (9, 9)); b = lax.dynamic_slice(gx, (y - 4, x - 4), (9, 9))
            return jnp.zeros(36).at[jnp.floor((jnp.arctan2(a, b) + jnp.pi) / (2 * jnp.pi) * 35.99).astype(jnp.int32)].add(jnp.hypot(a, b))
        return jax.vmap(ori)(y, x)
    add('keypoints_oriented', dog, uni(64, 72))
    # image pyramid blending; bicubic resize weights gradient
    add('lanczos_resize_gradient', jax.grad(lambda x: jnp.sum(jax.image.resize(x, (3, 45, 51), 'lanczos3') ** 2)), uni(3, 64, 60))
    # NeRF volume with hierarchical sampling inverse CDF
    def fine(w, t, u):
        w = w + 1e-5
        cdf = jnp.concatenate([jnp.zeros((len(w), 1)), jnp.cumsum(w / w.sum(1, keepdims=True), 1)], 1)
        i = jax.vmap(lambda c, u: jnp.searchsorted(c, u, side='right'))(cdf, u)
        lo, hi = jnp.maximum(i - 1, 0), jnp.minimum(i, cdf.shape[1] - 1)
        g = lambda a, i: jnp.take_along_axis(a, i, 1)
        c0, c1 = g(cdf, lo), g(cdf, hi)
        t0, t1 = g(t, jnp.minimum(lo, t.shape[1] - 1)), g(t, jnp.minimum(hi, t.shape[1] - 1))
        s = t0 + (u - c0) / jnp.where(c1 - c0 < 1e-5, 1, c1 - c0) * (t1 - t0)
        return jnp.sort(jnp.concatenate([t, s], 1), 1)
    add('samples_by_inverse', fine, uni(129, 63), np.sort(uni(129, 64)), uni(129, 70))
    return P
