"""Vision and sound: filters, descriptors, stereo, warps, distance fields, features of speech."""
import numpy as np
from by_value import Programs, Random
R = Random(906)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 64.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add

    # Bayer demosaic, white balance, gamma, to bytes
    def demosaic(raw, wb):
        x = raw.astype(jnp.float32) / 1023
        h, w = x.shape
        yy, xx = jnp.arange(h)[:, None] % 2, jnp.arange(w) % 2
        r, b = (yy == 0) & (xx == 0), (yy == 1) & (xx == 1); g = ~(r | b)
        k = jnp.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], jnp.float32)
        def interp(m):
            c = lambda a: jax.scipy.signal.convolve2d(a, k, 'same')
            return c(jnp.where(m, x, 0)) / jnp.maximum(c(m.astype(jnp.float32)), 1e-6)
        rgb = jnp.stack([interp(r), interp(g), interp(b)], -1) * wb
        M = jnp.array([[1.6, -.4, -.2], [-.3, 1.5, -.2], [0, -.5, 1.5]], jnp.float32)
        rgb = jnp.clip(rgb @ M.T, 0, 1)
        return (jnp.where(rgb < .0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - .055) * 255 + .5).astype(jnp.uint8)
    add('raw_development', demosaic, R.randint(0, 1024, (150, 202)).astype(np.uint16), np.array([1.9, 1, 1.5], np.float32))
    # guided filter by integral images
    def boxf(x, r):
        c = jnp.cumsum(jnp.cumsum(jnp.pad(x, ((r + 1, r), (r + 1, r)), mode='edge'), 0), 1)
        d = 2 * r + 1
        return (c[d:, d:] - c[:-d, d:] - c[d:, :-d] + c[:-d, :-d]) / d ** 2
    def guided(I, p):
        mi, mp = boxf(I, 4), boxf(p, 4)
        a = (boxf(I * p, 4) - mi * mp) / (boxf(I * I, 4) - mi * mi + 1e-2)
        return boxf(a, 4) * I + boxf(mp - a * mi, 4)
    add('guided_filter', guided, R.rand(133, 147).astype(np.float32), R.rand(133, 147).astype(np.float32))
    # non-local means with shifts
    def nlm(x):
        def sh(c, d):
            num, den = c
            y = jnp.roll(x, d, (0, 1))
            w = jnp.exp(-boxf((x - y) ** 2, 2) * 10)
            return (num + w * y, den + w), None
        ds = jnp.stack(jnp.meshgrid(jnp.arange(-3, 4), jnp.arange(-3, 4), indexing='ij'), -1).reshape(-1, 2)
        (n, d), _ = lax.scan(sh, (x * 0, x * 0), ds)
        return n / d
    add('nonlocal_means', nlm, R.rand(75, 83).astype(np.float32))
    # Perona-Malik
    def pm(x):
        def it(x, _):
            p = jnp.pad(x, ((1, 1), (1, 1), (0, 0)), mode='edge')
            ds = [p[:-2, 1:-1] - x, p[2:, 1:-1] - x, p[1:-1, :-2] - x, p[1:-1, 2:] - x]
            return x + .2 * sum(d * jnp.exp(-(d / .1) ** 2) for d in ds), None
        return lax.scan(it, x, None, 12)[0]
    add('anisotropic_diffusion', pm, R.rand(91, 77, 3).astype(np.float32))
    # census transform + semi-global matching
    def sgm(L, Rr):
        D = 24
        def census(x):
            p = jnp.pad(x, 2, mode='edge'); c = jnp.zeros(x.shape, jnp.uint32)
            for i in range(5):
                for j in range(5):
                    if (i, j) != (2, 2): c = (c << 1) | (p[i:i + x.shape[0], j:j + x.shape[1]] > x).astype(jnp.uint32)
            return c
        a, b = census(L), census(Rr)
        cost = jax.vmap(lambda d: lax.population_count(a ^ jnp.roll(b, d, 1)), out_axes=-1)(jnp.arange(D)).astype(jnp.int32)
        def agg(c):
            def st(p, c):
                m = p.min(-1, keepdims=True)
                up = jnp.pad(p, ((0, 0), (1, 1)), constant_values=10**6)
                n = c + jnp.minimum(jnp.minimum(p, jnp.minimum(up[:, :-2], up[:, 2:]) + 3), m + 20) - m
                return n, n
            return lax.scan(st, jnp.zeros(c.shape[1:], jnp.int32), c)[1]
        t = lambda c: c.swapaxes(0, 1)
        S = agg(cost) + agg(cost[::-1])[::-1] + t(agg(t(cost))) + t(agg(t(cost)[::-1])[::-1])
        return S.argmin(-1).astype(jnp.uint8)
    add('semiglobal_stereo', sgm, u8(60, 90), u8(60, 90))
    # HOG
    def hog(x):
        gx = jnp.pad(x[:, 2:] - x[:, :-2], ((0, 0), (1, 1))); gy = jnp.pad(x[2:] - x[:-2], ((1, 1), (0, 0)))
        mag = jnp.hypot(gx, gy); ang = jnp.arctan2(gy, gx) % jnp.pi * 9 / jnp.pi
        b0 = jnp.floor(ang); w = ang - b0; b0 = b0.astype(int) % 9
        H, W = x.shape[0] // 8, x.shape[1] // 8
        cell = (jnp.arange(H * 8) // 8)[:, None] * W + jnp.arange(W * 8) // 8
        z = jnp.zeros((H * W, 9)).at[cell, b0].add(mag * (1 - w)).at[cell, (b0 + 1) % 9].add(mag * w).reshape(H, W, 9)
        blk = jnp.concatenate([z[:-1, :-1], z[1:, :-1], z[:-1, 1:], z[1:, 1:]], -1)
        v = blk / jnp.sqrt((blk ** 2).sum(-1, keepdims=True) + 1e-3)
        v = jnp.minimum(v, .2)
        return v / jnp.sqrt((v ** 2).sum(-1, keepdims=True) + 1e-3)
    add('oriented_gradients', hog, R.rand(104, 136).astype(np.float32))
    # local binary patterns histogram
    def lbp(x):
        p = jnp.pad(x, 1, mode='edge'); c = jnp.zeros(x.shape, jnp.uint8)
        for k, (i, j) in enumerate([(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]):
            c = c | ((p[i:i + x.shape[0], j:j + x.shape[1]] >= x).astype(jnp.uint8) << k)
        g = c[:120, :160].reshape(6, 20, 8, 20).swapaxes(1, 2).reshape(48, 400).astype(int)
        return jax.vmap(lambda v: jnp.bincount(v, length=256))(g)
    add('binary_patterns', lbp, u8(120, 161))
    # binary descriptors: BRIEF + Hamming matching with ratio and mutual check
    def brief(a, b, pa, pb, pat):
        def desc(im, pts):
            q = (pts[:, None, None] + pat).clip(0, 119)
            v = im[q[..., 0], q[..., 1]]
            bits = (v[..., 0] < v[..., 1]).reshape(len(pts), 8, 32)
            return (bits.astype(jnp.uint32) << jnp.arange(32, dtype=jnp.uint32)).sum(-1, dtype=jnp.uint32)
        da, db = desc(a, pa), desc(b, pb)
        h = lax.population_count(da[:, None] ^ db).sum(-1).astype(jnp.int32)
        i = h.argmin(1); s, _ = lax.top_k(-h, 2)
        return i, (h.argmin(0)[i] == jnp.arange(len(pa))) & (-s[:, 0] * 10 < -s[:, 1] * 8)
    add('binary_descriptors', brief, u8(120, 120), u8(120, 120), i32(120, 150, 2), i32(120, 170, 2), R.randint(-12, 13, (256, 2, 2)).astype(np.int32))
    # Zhang-Suen thinning
    def thin(x):
        def sub(x, s):
            p = jnp.pad(x, 1)
            n = [p[:-2, 1:-1], p[:-2, 2:], p[1:-1, 2:], p[2:, 2:], p[2:, 1:-1], p[2:, :-2], p[1:-1, :-2], p[:-2, :-2]]
            B = sum(a.astype(jnp.int8) for a in n)
            A = sum((~n[i] & n[(i + 1) % 8]).astype(jnp.int8) for i in range(8))
            c = jnp.where(s == 0, ~(n[0] & n[2] & n[4]) & ~(n[2] & n[4] & n[6]), ~(n[0] & n[2] & n[6]) & ~(n[0] & n[4] & n[6]))
            return x & ~((B >= 2) & (B <= 6) & (A == 1) & c)
        def body(c):
            x, _, k = c; y = sub(sub(x, 0), 1)
            return y, (x != y).any(), k + 1
        return lax.while_loop(lambda c: c[1] & (c[2] < 30), body, (x, True, 0))[0]
    im = np.zeros((110, 130), bool)
    for _ in range(14):
        y, x = R.randint(0, 90), R.randint(0, 110); im[y:y + 17, x:x + 6] = 1; im[y:y + 6, x:x + 20] = 1
    add('thinning', thin, im)
    # voxel traversal DDA with while under vmap
    def dda(vox, o, d):
        def one(o, d):
            st = jnp.sign(d).astype(int); inv = 1 / d
            p = jnp.floor(o).astype(int)
            t = (p + (st > 0) - o) * inv; dt = jnp.abs(inv)
            def cond(c): p, t, k = c; return (k < 60) & (p >= 0).all() & (p < 24).all() & ~vox[p[0].clip(0, 23), p[1].clip(0, 23), p[2].clip(0, 23)]
            def body(c):
                p, t, k = c; a = t.argmin(); h = jnp.arange(3) == a
                return p + jnp.where(h, st, 0), t + jnp.where(h, dt, 0), k + 1
            p, t, k = lax.while_loop(cond, body, (p, t, 0))
            return k, p
        return jax.vmap(one)(o, d)
    add('voxel_traversal', dda, R.rand(24, 24, 24) < .03, (R.rand(700, 3) * 24).astype(np.float32), f32(700, 3))
    # jump flooding Voronoi
    def jfa(seed):
        N = 90
        yy, xx = jnp.meshgrid(jnp.arange(N), jnp.arange(N), indexing='ij')
        def it(_, c):
            own, k = c
            def best(own, dy, dx):
                cand = jnp.roll(own, (dy * k, dx * k), (0, 1))
                d = lambda o: jnp.where(o[..., 0] < 0, 10**6, (o[..., 0] - yy) ** 2 + (o[..., 1] - xx) ** 2)
                return jnp.where((d(cand) < d(own))[..., None], cand, own)
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1): own = best(own, dy, dx)
            return own, jnp.maximum(k // 2, 1)
        own = jnp.full((N, N, 2), -1).at[seed[:, 0], seed[:, 1]].set(seed)
        return lax.fori_loop(0, 7, it, (own, 45))[0]
    add('jump_flooding', jfa, i32(90, 33, 2))
    # mel spectrogram -> MFCC -> deltas; phase vocoder; Griffin-Lim
    def stft(x, n=400, h=160):
        w = .5 - .5 * jnp.cos(2 * jnp.pi * jnp.arange(n) / n)
        i = jnp.arange(0, x.size - n + 1, h)[:, None] + jnp.arange(n)
        return jnp.fft.rfft(x[i] * w)
    def mfcc(x, mel, dct):
        x = jnp.append(x[0], x[1:] - .97 * x[:-1])
        m = jnp.log((jnp.abs(stft(x)) ** 2) @ mel + 1e-6) @ dct
        p = jnp.pad(m, ((2, 2), (0, 0)), mode='edge')
        d = (p[3:-1] - p[1:-3] + 2 * (p[4:] - p[:-4])) / 10
        f = jnp.concatenate([m, d], 1)
        return (f - f.mean(0)) / (f.std(0) + 1e-5)
    add('mfcc_deltas', mfcc, f32(16000), np.abs(f32(201, 40)) * (R.rand(201, 40) < .1) + 1e-3, f32(40, 13) * .1)
    def vocoder(S, rate):
        t = jnp.arange(0, 60) * rate
        adv = 2 * jnp.pi * 128 * jnp.arange(S.shape[1]) / 512
        def f(ph, t):
            i = jnp.floor(t).astype(int); a = t - i
            s0, s1 = S[i], S[i + 1]
            m = (1 - a) * jnp.abs(s0) + a * jnp.abs(s1)
            d = jnp.angle(s1) - jnp.angle(s0) - adv
            d = d - 2 * jnp.pi * jnp.round(d / (2 * jnp.pi))
            return ph + adv + d, m * jnp.exp(1j * ph)
        Y = lax.scan(f, jnp.angle(S[0]), t)[1]
        fr = jnp.fft.irfft(Y) * jnp.hanning(512)
        i = jnp.arange(60)[:, None] * 128 + jnp.arange(512)
        return jnp.zeros(59 * 128 + 512).at[i].add(fr)
    add('phase_vocoder', vocoder, (f32(80, 257) + 1j * f32(80, 257)).astype(np.complex64), np.float32(1.23))
    # Levinson-Durbin LPC of frames
    def lpc(fr):
        n = 16
        F = jnp.fft.rfft(fr, 1024)
        r = jnp.fft.irfft(jnp.abs(F) ** 2)[:, :n + 1] + 1e-3
        def one(r):
            def it(i, c):
                a, e = c
                k = -(a * jnp.where(jnp.arange(n + 1) <= i, r[(i + 1 - jnp.arange(n + 1)) % (n + 1)], 0)).sum() / e
                rev = jnp.where(jnp.arange(n + 1) <= i + 1, a[(i + 1 - jnp.arange(n + 1)) % (n + 1)], 0)
                return a + k * rev, e * (1 - k * k)
            return lax.fori_loop(0, n, it, (jnp.zeros(n + 1).at[0].set(1), r[0]))
        return jax.vmap(one)(r)
    add('linear_prediction', lpc, f32(90, 480))
    return P
