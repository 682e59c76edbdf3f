"""Bytes, bits, boards, graphics, audio, geometry, finance, tracking and control, as somebody wrote them who had not seen the others."""
import numpy as np


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = {}
    n = [0]
    def rs(): n[0] += 1; return np.random.RandomState(1000 + n[0])
    def F(*s, scale=1.0, dt=np.float32): r = rs(); return lambda: (r2(r, s) * scale).astype(dt)
    def r2(r, s): return np.random.RandomState(r.get_state()[1][0]).randn(*s)
    def U(*s, lo=0., hi=1.): r = rs(); return lambda: np.random.RandomState(r.get_state()[1][0]).uniform(lo, hi, s).astype(np.float32)
    def I(hi, *s, lo=0, dt=np.int32): r = rs(); return lambda: np.random.RandomState(r.get_state()[1][0]).randint(lo, hi, s).astype(dt)
    def add(name, fn, *make): P[name] = (fn, list(make))

    # --- bytes, text
    def rot13(t):
        low = t | 32
        alpha = (low >= 97) & (low <= 122)
        r = (low - 97 + 13) % 26 + 97
        return jnp.where(alpha, (r & ~jnp.uint8(32)) | (t & 32), t)
    add('text_rot13', rot13, I(128, 200003, dt=np.uint8))
    def word_stats(t):
        sp = (t == 32) | (t == 10)
        start = ~sp & jnp.concatenate([jnp.array([True]), sp[:-1]])
        wid = jnp.cumsum(start.astype(jnp.int32)) - 1
        ln = jax.ops.segment_sum((~sp).astype(jnp.int32), jnp.where(sp, 20000, wid), 20001)[:-1]
        return start.sum(), ln.max(), jnp.bincount(jnp.minimum(ln, 31), length=32)
    def mk():
        r = np.random.RandomState(5); t = r.randint(97, 123, 65537).astype(np.uint8); t[r.rand(65537) < .18] = 32; return t
    add('text_word_lengths', word_stats, mk)
    def palin(t):  # longest palindrome per centre by expansion
        n = t.shape[0]; c = jnp.arange(n)
        def body(s):
            r, alive, k = s
            ok = alive & (c - k >= 0) & (c + k < n) & (t[jnp.clip(c - k, 0, n - 1)] == t[jnp.clip(c + k, 0, n - 1)])
            return r + ok, ok, k + 1
        return lax.while_loop(lambda s: s[1].any(), body, (jnp.zeros(n, jnp.int32), jnp.ones(n, bool), 1))[0]
    add('text_palindromes', palin, I(3, 4099, lo=0, dt=np.uint8))
    add('text_vigenere', lambda t, k: (t + jnp.tile(k, (t.shape[0] + 12) // 13)[:t.shape[0]]) % 26, I(26, 99991, dt=np.uint8), I(26, 13, dt=np.uint8))
    def ngram_tf(t):
        h = jnp.zeros(t.shape[:1] + (t.shape[1] - 2,), jnp.uint32)
        for k in range(3): h = h * 31 + t[:, k:t.shape[1] - 2 + k].astype(jnp.uint32)
        h = (h * jnp.uint32(2654435761)) >> 23
        c = jax.vmap(lambda v: jnp.zeros(512).at[v].add(1.))(h)
        c = jnp.log1p(c); return c / jnp.linalg.norm(c, axis=1, keepdims=True)
    add('text_hashed_trigrams', ngram_tf, I(26, 61, 211, dt=np.uint8))
    def bm25(q, tf, dl):
        df = (tf > 0).sum(0); idf = jnp.log((tf.shape[0] - df + .5) / (df + .5) + 1)
        s = idf[q] * (tf[:, q] * 2.2 / (tf[:, q] + 1.2 * (.25 + .75 * dl[:, None] / dl.mean())))
        return lax.top_k(s.sum(1), 10)
    add('search_bm25', bm25, I(1000, 7), lambda: np.random.RandomState(3).poisson(.3, (2003, 1000)).astype(np.float32), U(2003, lo=10, hi=300))
    # --- crypto and bits
    def md5(w):
        s = [7, 12, 17, 22] * 4 + [5, 9, 14, 20] * 4 + [4, 11, 16, 23] * 4 + [6, 10, 15, 21] * 4
        K = [int(abs(np.sin(i + 1)) * 2**32) & 0xffffffff for i in range(64)]
        a0, b0, c0, d0 = [jnp.full(w.shape[:1], v, jnp.uint32) for v in (0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476)]
        a, b, c, d = a0, b0, c0, d0
        for i in range(64):
            if i < 16: f = (b & c) | (~b & d); g = i
            elif i < 32: f = (d & b) | (~d & c); g = (5 * i + 1) % 16
            elif i < 48: f = b ^ c ^ d; g = (3 * i + 5) % 16
            else: f = c ^ (b | ~d); g = (7 * i) % 16
            f = f + a + jnp.uint32(K[i]) + w[:, g]
            a, d, c, b = d, c, b, b + ((f << s[i]) | (f >> (32 - s[i])))
        return jnp.stack([a0 + a, b0 + b, c0 + c, d0 + d], 1)
    add('md5_of_many', md5, I(2**31 - 1, 5003, 16, dt=np.uint32))
    def sha1(w):
        def ext(i, W): v = W[:, i - 3] ^ W[:, i - 8] ^ W[:, i - 14] ^ W[:, i - 16]; return W.at[:, i].set((v << 1) | (v >> 31))
        W = lax.fori_loop(16, 80, ext, jnp.concatenate([w, jnp.zeros((w.shape[0], 64), jnp.uint32)], 1))
        rot = lambda x, k: (x << k) | (x >> (32 - k))
        def rnd(i, s):
            a, b, c, d, e = s; q = i // 20
            f = jnp.where(q == 0, (b & c) | (~b & d), jnp.where(q == 2, (b & c) | (b & d) | (c & d), b ^ c ^ d))
            k = jnp.array([0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6], jnp.uint32)[q]
            return rot(a, 5) + f + e + k + W[:, i], a, rot(b, 30), c, d
        iv = tuple(jnp.full(w.shape[:1], v, jnp.uint32) for v in (0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0))
        return jnp.stack(lax.fori_loop(0, 80, rnd, iv), 1)
    add('sha1_of_many_looped', sha1, I(2**31 - 1, 509, 16, dt=np.uint32))
    def speck(xy, k):
        x, y = xy[:, 0], xy[:, 1]
        def r(c, k): x, y = c; x = (((x >> 8) | (x << 24)) + y) ^ k; y = ((y << 3) | (y >> 29)) ^ x; return (x, y), None
        (x, y), _ = lax.scan(r, (x, y), k); return jnp.stack([x, y], 1)
    add('speck_blocks', speck, I(2**31 - 1, 10007, 2, dt=np.uint32), I(2**31 - 1, 27, dt=np.uint32))
    LOG = np.zeros(256, np.int32); EXP = np.zeros(512, np.uint8); x = 1
    for i in range(255):
        EXP[i] = x; LOG[x] = i; x <<= 1; x ^= (0x11d if x & 256 else 0)
    EXP[255:510] = EXP[:255]
    def shamir(shares, xs):  # lagrange at 0 in GF(256)
        log, ex = jnp.asarray(LOG), jnp.asarray(EXP)
        mul = lambda a, b: jnp.where((a == 0) | (b == 0), 0, ex[log[a] + log[b]])
        k = xs.shape[0]; out = jnp.zeros(shares.shape[1:], jnp.uint8)
        for i in range(k):
            l = jnp.uint8(1)
            for j in range(k):
                if i != j: l = mul(l, ex[(log[xs[j]] - log[xs[i] ^ xs[j]]) % 255])
            out = out ^ mul(shares[i], l)
        return out
    add('secret_shares_joined', shamir, I(256, 5, 30011, dt=np.uint8), lambda: np.array([1, 2, 5, 9, 77], np.uint8))
    def kyber(a, b):
        N = 256; p = jnp.zeros((a.shape[0], 2 * N), jnp.int32)
        def s(p, i): return lax.dynamic_update_slice(p, (lax.dynamic_slice(p, (0, i), (a.shape[0], N)) + a[:, i, None] * b) % 3329, (0, i)), None
        p, _ = lax.scan(s, p, jnp.arange(N)); return (p[:, :N] - p[:, N:]) % 3329
    add('polynomials_modulo_3329', kyber, I(3329, 17, 256), I(3329, 17, 256))
    def tanimoto(q, d):
        i = lax.population_count(q[:, None] & d[None]).astype(jnp.int32).sum(-1); u = lax.population_count(q[:, None] | d[None]).astype(jnp.int32).sum(-1)
        return lax.top_k(i / u, 5)
    add('fingerprints_tanimoto', tanimoto, I(2**31 - 1, 11, 64, dt=np.uint32), I(2**31 - 1, 3001, 64, dt=np.uint32))
    def hilbert(x, y):
        d = jnp.zeros_like(x)
        for k in range(15, -1, -1):
            rx = (x >> k) & 1; ry = (y >> k) & 1; d = d + ((3 * rx) ^ ry) * (1 << (2 * k) if k < 15 else 0)
            x, y = jnp.where(ry == 0, jnp.where(rx == 1, (65535 - y), y), x), jnp.where(ry == 0, jnp.where(rx == 1, (65535 - x), x), y)
        return d
    add('hilbert_order', hilbert, I(32768, 50021), I(32768, 50021))
    def mtf(t):
        def s(tab, c):
            i = jnp.argmax(tab == c); ar = jnp.arange(256)
            tab2 = jnp.where(ar == 0, c, jnp.where(ar <= i, jnp.roll(tab, 1), tab)); return tab2, i.astype(jnp.uint8)
        return lax.scan(s, jnp.arange(256, dtype=jnp.uint8), t)[1]
    add('moved_to_front', mtf, I(256, 1009, dt=np.uint8))
    def gorilla(x):
        u = lax.bitcast_convert_type(x, jnp.uint32); d = u[1:] ^ u[:-1]; lz = lax.clz(d); tz = 31 - lax.clz(d & (~d + 1))
        return jnp.where(d == 0, 1, 2 + 5 + 5 + 32 - lz - tz).sum(), lz, tz
    add('floats_by_xor', gorilla, lambda: np.round(np.cumsum(np.random.RandomState(8).randn(131071)), 1).astype(np.float32))
    def rle(t):
        n = t.shape[0]; b = jnp.concatenate([jnp.array([True]), t[1:] != t[:-1]]); pos = jnp.nonzero(b, size=n, fill_value=n)[0]
        return t[jnp.minimum(pos, n - 1)], jnp.diff(pos, append=n)
    add('lengths_of_runs_compacted', rle, I(2, 40009, dt=np.uint8))
    # --- boards
    def slide2048(b):
        def row(r):
            o = jnp.argsort(r == 0, stable=True); r = r[o]
            m0 = (r[0] == r[1]) & (r[0] > 0); r = jnp.where(m0, jnp.stack([r[0] + 1, r[2], r[3], 0]), r)
            m1 = (r[1] == r[2]) & (r[1] > 0); r = jnp.where(m1, jnp.stack([r[0], r[1] + 1, r[3], 0]), r)
            m2 = (r[2] == r[3]) & (r[2] > 0); return jnp.where(m2, jnp.stack([r[0], r[1], r[2] + 1, 0]), r)
        f = jax.vmap(jax.vmap(row))
        return jnp.stack([f(b), f(b[..., ::-1])[..., ::-1], f(b.swapaxes(1, 2)).swapaxes(1, 2), f(b.swapaxes(1, 2)[..., ::-1])[..., ::-1].swapaxes(1, 2)], 1)
    add('boards_of_2048_all_moves', slide2048, I(5, 1009, 4, 4, dt=np.int32))
    def othello(me, op):  # u8 boards 8x8 legal moves
        e = (me == 0) & (op == 0); legal = jnp.zeros_like(e)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy or dx:
                    sh = lambda b: jnp.pad(b, ((0, 0), (1, 1), (1, 1)))[:, 1 + dy:9 + dy, 1 + dx:9 + dx]
                    r = sh(me) & op
                    for _ in range(5): r = r | (sh(r) & op)
                    legal = legal | (sh(r).astype(bool) & e)
        return legal
    add('othello_moves', othello, I(2, 257, 8, 8, dt=np.uint8), lambda: 1 - np.ones((257, 8, 8), np.uint8) + (np.random.RandomState(4).rand(257, 8, 8) < .3).astype(np.uint8))
    def liberties(b):
        n = b.shape[-1]; lab = jnp.where(b != 0, jnp.arange(n * n, dtype=jnp.int32).reshape(n, n) + 1, 0)
        def nb(x, f=0): p = jnp.pad(x, 1, constant_values=f); return [p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]]
        def body(s):
            l, _ = s; m = l
            for y, c in zip(nb(l), nb(b)): m = jnp.maximum(m, jnp.where(c == b, y, 0))
            m = jnp.where(b != 0, m, 0); return m, (m != l).any()
        lab, _ = lax.while_loop(lambda s: s[1], body, (lab, True))
        lib = jnp.zeros((n * n + 1,), jnp.int32)
        for y in nb(lab): lib = lib.at[y].add((b == 0).astype(jnp.int32))
        return lab, lib[lab]
    add('go_groups_liberties', jax.vmap(liberties), I(3, 13, 19, 19, dt=np.int8))
    def mancala(b, seed):
        def play(b, s):
            def turn(c, k):
                b, = c; legal = b[:6] > 0; a = jnp.argmax(jnp.where(legal, (b[:6] * 7 + k) % 11, -1)); m = b[a]
                b = b.at[a].set(0); j = jnp.arange(13); add_ = m // 13 + (((j - a - 1) % 13) < (m % 13)); b = b.at[:13].add(jnp.where(legal.any(), add_, 0))
                return (jnp.concatenate([b[7:13], b[13:14] * 0 + b[13:14], b[:6], b[6:7]]),), b[6]
            return lax.scan(turn, (b,), jnp.arange(30) + s)
        return jax.vmap(play)(b, seed)
    add('mancala_games', mancala, lambda: np.tile(np.array([4] * 6 + [0] + [4] * 6 + [0], np.int32), (331, 1)), I(100, 331))
    # --- graphics
    def rgb_hsv(x):
        r, g, b = x[..., 0], x[..., 1], x[..., 2]; mx = x.max(-1); mn = x.min(-1); d = mx - mn + 1e-9
        h = jnp.where(mx == r, ((g - b) / d) % 6, jnp.where(mx == g, (b - r) / d + 2, (r - g) / d + 4)) / 6
        h = (h + .07) % 1; s = jnp.clip(d / (mx + 1e-9) * 1.2, 0, 1); v = mx
        i = jnp.floor(h * 6); f = h * 6 - i; p, q, t = v * (1 - s), v * (1 - f * s), v * (1 - (1 - f) * s); i = i.astype(jnp.int32) % 6
        c = lambda *o: jnp.choose(i, o, mode='clip'); return jnp.stack([c(v, q, p, p, t, v), c(t, v, v, q, p, p), c(p, p, t, v, v, q)], -1)
    add('hue_shifted', rgb_hsv, U(241, 317, 3))
    def lab(x):
        l = jnp.where(x > .04045, ((x + .055) / 1.055) ** 2.4, x / 12.92); M = jnp.array([[.4124, .3576, .1805], [.2126, .7152, .0722], [.0193, .1192, .9505]])
        z = l @ M.T / jnp.array([.9505, 1., 1.089]); f = jnp.where(z > .008856, jnp.cbrt(z), 7.787 * z + 16 / 116)
        return jnp.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], -1)
    add('srgb_to_lab', lab, U(240, 320, 3))
    def lut3d(x, t):
        n = t.shape[0]; c = x * (n - 1); i = jnp.clip(jnp.floor(c).astype(jnp.int32), 0, n - 2); f = c - i; out = 0.
        for k in range(8):
            o = jnp.array([k >> 2, (k >> 1) & 1, k & 1]); w = jnp.prod(jnp.where(o == 1, f, 1 - f), -1); j = i + o
            out = out + w[..., None] * t[j[..., 0], j[..., 1], j[..., 2]]
        return out
    add('colour_table_trilinear', lut3d, U(181, 257, 3), U(17, 17, 17, 3))
    def hog(im):
        gx = jnp.gradient(im, axis=1); gy = jnp.gradient(im, axis=0); m = jnp.hypot(gx, gy); a = (jnp.arctan2(gy, gx) % jnp.pi) / jnp.pi * 9
        i = jnp.floor(a).astype(jnp.int32) % 9; H = (jax.nn.one_hot(i, 9) * m[..., None]).reshape(im.shape[0] // 8, 8, im.shape[1] // 8, 8, 9).sum((1, 3))
        b = jnp.concatenate([H[:-1, :-1], H[1:, :-1], H[:-1, 1:], H[1:, 1:]], -1); return b / jnp.sqrt((b ** 2).sum(-1, keepdims=True) + 1e-5)
    add('histograms_of_gradients', hog, U(256, 192))
    def lbp(im):
        p = jnp.pad(im, 1, mode='edge'); c = 0
        for k, (dy, dx) in enumerate([(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]): c = c | ((p[dy:dy + im.shape[0], dx:dx + im.shape[1]] >= im).astype(jnp.uint8) << k)
        return jnp.bincount(c.reshape(-1).astype(jnp.int32), length=256), c
    add('local_binary_patterns', lbp, I(256, 301, 401, dt=np.uint8))
    def guided(I_, p):
        r = 4; k = 2 * r + 1; box = lambda x: lax.reduce_window(x, 0., lax.add, (k, k), (1, 1), 'SAME') / (k * k)
        mI, mp = box(I_), box(p); a = (box(I_ * p) - mI * mp) / (box(I_ * I_) - mI ** 2 + 1e-2); b = mp - a * mI; return box(a) * I_ + box(b)
    add('guided_filter', guided, U(211, 293), U(211, 293))
    def demosaic(r):
        H, W = r.shape; yy, xx = jnp.mgrid[:H, :W]; R_ = (yy % 2 == 0) & (xx % 2 == 0); B_ = (yy % 2 == 1) & (xx % 2 == 1); G_ = ~(R_ | B_)
        def fill(m):
            k = jnp.array([[.25, .5, .25], [.5, 1., .5], [.25, .5, .25]]); c = lambda v: lax.conv_general_dilated(v[None, None], k[None, None], (1, 1), 'SAME')[0, 0]
            return c(jnp.where(m, r, 0.)) / c(m.astype(jnp.float32))
        return jnp.stack([fill(R_), fill(G_), fill(B_)], -1)
    add('bayer_to_rgb', demosaic, U(240, 320))
    def nlm(im):
        p = jnp.pad(im, 5, mode='reflect'); H, W = im.shape; acc = 0.; ws = 0.
        for dy in range(-3, 4):
            for dx in range(-3, 4):
                q = p[5 + dy:5 + dy + H, 5 + dx:5 + dx + W]; d = lax.reduce_window((q - im) ** 2, 0., lax.add, (5, 5), (1, 1), 'SAME'); w = jnp.exp(-d / .5); acc = acc + w * q; ws = ws + w
        return acc / ws
    add('non_local_means', nlm, U(97, 131))
    def jfa(seeds):
        H, W = seeds.shape; yy, xx = jnp.mgrid[:H, :W]; s = jnp.where(seeds[..., None], jnp.stack([yy, xx], -1), -10000)
        d = lambda s: (s[..., 0] - yy) ** 2 + (s[..., 1] - xx) ** 2
        for k in (64, 32, 16, 8, 4, 2, 1):
            for dy in (-k, 0, k):
                for dx in (-k, 0, k):
                    q = jnp.pad(s, ((64, 64), (64, 64), (0, 0)), constant_values=-10000)[64 + dy:64 + dy + H, 64 + dx:64 + dx + W]; s = jnp.where((d(q) < d(s))[..., None], q, s)
        return s
    add('voronoi_by_jump_flooding', jfa, lambda: np.random.RandomState(2).rand(128, 160) < .002)
    def worley(xy, jit_):
        c = jnp.floor(xy).astype(jnp.int32); best = jnp.full(xy.shape[:-1], 9.)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                q = c + jnp.array([dx, dy]); p = q + jit_[q[..., 0] % 37, q[..., 1] % 37]; best = jnp.minimum(best, ((p - xy) ** 2).sum(-1))
        return jnp.sqrt(best)
    add('worley_noise', worley, U(40009, 2, lo=0, hi=50), U(37, 37, 2))
    def equirect(d, env):
        u = (jnp.arctan2(d[:, 1], d[:, 0]) / (2 * jnp.pi) + .5) * env.shape[1]; v = jnp.arccos(jnp.clip(d[:, 2] / jnp.linalg.norm(d, axis=1), -1, 1)) / jnp.pi * env.shape[0]
        i = jnp.floor(v - .5).astype(int); j = jnp.floor(u - .5).astype(int); fv = (v - .5 - i)[:, None]; fu = (u - .5 - j)[:, None]; g = lambda a, b: env[jnp.clip(a, 0, env.shape[0] - 1), b % env.shape[1]]
        return (1 - fv) * ((1 - fu) * g(i, j) + fu * g(i, j + 1)) + fv * ((1 - fu) * g(i + 1, j) + fu * g(i + 1, j + 1))
    add('environment_map', equirect, F(30011, 3), U(64, 128, 3))
    def mcubes(v):
        s = (v > 0).astype(jnp.int32); o = 0
        for k in range(8): o = o | (s[(k & 1):v.shape[0] - 1 + (k & 1), (k >> 1 & 1):v.shape[1] - 1 + (k >> 1 & 1), (k >> 2):v.shape[2] - 1 + (k >> 2)] << k)
        return o, jnp.bincount(o.reshape(-1), length=256), ((o > 0) & (o < 255)).sum()
    add('marching_cubes_cases', mcubes, F(61, 67, 71))
    # --- audio
    def lpc(fr):
        n = fr.shape[1]; w = fr * jnp.hanning(n); S = jnp.fft.rfft(w, 1024); r = jnp.fft.irfft(jnp.abs(S) ** 2)[:, :13]
        def lev(r):
            def s(c, i):
                a, e = c; k = -(jnp.where(jnp.arange(13) < i, a * r[(i - jnp.arange(13)) % 13], 0).sum()) / e
                ar = jnp.where(jnp.arange(13) <= i, a[(i - jnp.arange(13)) % 13], 0); return (a + k * ar, e * (1 - k * k)), k
            return lax.scan(s, (jnp.zeros(13).at[0].set(1), r[0] + 1e-3), jnp.arange(1, 13))
        return jax.vmap(lev)(r)
    add('linear_prediction_levinson', lpc, F(199, 400))
    def specfeat(x):
        n = (x.shape[0] - 1024) // 256 + 1; fr = x[jnp.arange(n)[:, None] * 256 + jnp.arange(1024)]; m = jnp.abs(jnp.fft.rfft(fr * jnp.hanning(1024))); f = jnp.linspace(0, 1, 513)
        c = (m * f).sum(1) / m.sum(1); bw = jnp.sqrt((m * (f - c[:, None]) ** 2).sum(1) / m.sum(1)); ro = jnp.argmax(jnp.cumsum(m, 1) > .85 * m.sum(1, keepdims=True), 1)
        fl = jnp.exp(jnp.log(m + 1e-6).mean(1)) / m.mean(1); flux = jnp.maximum(jnp.diff(m, axis=0), 0).sum(1); z = (jnp.sign(fr[:, 1:]) != jnp.sign(fr[:, :-1])).mean(1); return c, bw, ro, fl, flux, z
    add('spectral_features', specfeat, F(48000))
    def gate(x):
        def s(c, v):
            e, g = c; a = jnp.abs(v); e = jnp.where(a > e, .9 * e + .1 * a, .999 * e + .001 * a); g = jnp.where(e > .5, jnp.minimum(g + .01, 1), jnp.maximum(g - .0005, 0)); return (e, g), v * g
        return lax.scan(s, (jnp.zeros(x.shape[1]), jnp.zeros(x.shape[1])), x)[1]
    add('noise_gate_stereo', gate, F(12007, 2))
    def delay_sum(x, pos, dirs):
        d = dirs @ pos.T * 40 + 50; t = jnp.arange(1024) + 0.
        def one(dl): 
            q = t[None] + dl[:, None]; i = jnp.floor(q).astype(int); f = q - i; r = jnp.arange(8)[:, None]; return ((1 - f) * x[r, i] + f * x[r, i + 1]).mean(0)
        y = lax.map(one, d); return (y ** 2).mean(1)
    add('delay_and_sum', delay_sum, F(8, 1200), U(8, 2, lo=-.5, hi=.5), U(37, 2, lo=-1, hi=1))
    # --- geometry
    def winding(p, tri):
        a, b, c = [tri[None, :, k] - p[:, None] for k in range(3)]; la, lb, lc = [jnp.linalg.norm(v, axis=-1) for v in (a, b, c)]
        num = (a * jnp.cross(b, c)).sum(-1); den = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb; return jnp.arctan2(num, den).sum(1) / (2 * jnp.pi)
    add('winding_numbers', winding, F(211, 3), F(503, 3, 3))
    def haver(a, b):
        la, lo, lb, lp = a[:, 0, None], a[:, 1, None], b[None, :, 0], b[None, :, 1]; h = jnp.sin((lb - la) / 2) ** 2 + jnp.cos(la) * jnp.cos(lb) * jnp.sin((lp - lo) / 2) ** 2; d = 6371 * 2 * jnp.arcsin(jnp.sqrt(h)); return d.min(1), d.argmin(1)
    add('nearest_towns_haversine', haver, U(503, 2, lo=-1.5, hi=1.5), U(307, 2, lo=-1.5, hi=1.5))
    def vincenty(p, q):
        f = 1 / 298.257; U1 = jnp.arctan((1 - f) * jnp.tan(p[:, 0])); U2 = jnp.arctan((1 - f) * jnp.tan(q[:, 0])); L = q[:, 1] - p[:, 1]
        def b(i, l):
            ss = jnp.sqrt((jnp.cos(U2) * jnp.sin(l)) ** 2 + (jnp.cos(U1) * jnp.sin(U2) - jnp.sin(U1) * jnp.cos(U2) * jnp.cos(l)) ** 2); cs = jnp.sin(U1) * jnp.sin(U2) + jnp.cos(U1) * jnp.cos(U2) * jnp.cos(l); sg = jnp.arctan2(ss, cs)
            sa = jnp.cos(U1) * jnp.cos(U2) * jnp.sin(l) / ss; c2 = 1 - sa ** 2; cm = cs - 2 * jnp.sin(U1) * jnp.sin(U2) / c2; C = f / 16 * c2 * (4 + f * (4 - 3 * c2)); return L + (1 - C) * f * sa * (sg + C * ss * (cm + C * cs * (2 * cm * cm - 1)))
        return lax.fori_loop(0, 6, b, L)
    add('geodesics_vincenty', vincenty, U(2003, 2, lo=-1, hi=1), U(2003, 2, lo=-1, hi=1))
    def segx(a, b):
        p, r = a[:, None, 0], (a[:, 1] - a[:, 0])[:, None]; q, s = b[None, :, 0], (b[:, 1] - b[:, 0])[None]; cr = lambda u, v: u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]; d = cr(r, s); t = cr(q - p, s) / d; u = cr(q - p, r) / d; hit = (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1); return hit.sum(1), jnp.where(hit, t, 2.).min(1)
    add('segments_that_cross', segx, U(401, 2, 2), U(307, 2, 2))
    def meshprops(v, f):
        a, b, c = v[f[:, 0]], v[f[:, 1]], v[f[:, 2]]; vol = (a * jnp.cross(b, c)).sum(-1) / 6; V = vol.sum(); C = (vol[:, None] * (a + b + c) / 4).sum(0) / V; S = a + b + c; cov = jnp.einsum('t,ti,tj->ij', vol, S, S) + sum(jnp.einsum('t,ti,tj->ij', vol, p, p) for p in (a, b, c)); return V, C, cov / 20
    add('inertia_of_a_mesh', meshprops, F(2003, 3), I(2003, 4001, 3))
    # --- finance
    def heston(z, th):
        def s(c, z):
            x, v = c; vp = jnp.maximum(v, 0); x = x + (-.5 * vp) / 64 + jnp.sqrt(vp / 64) * z[0]; v = v + th[0] * (th[1] - vp) / 64 + th[2] * jnp.sqrt(vp / 64) * (-.7 * z[0] + .714 * z[1]); return (x, v), x
        (x, v), xs = lax.scan(s, (jnp.zeros(z.shape[2]), jnp.full(z.shape[2], .04)), z); a = jnp.exp(xs).mean(0); return jnp.maximum(a - 1, 0).mean()
    add('heston_asian_greeks', jax.value_and_grad(heston, 1), F(64, 2, 1009), lambda: np.array([2., .04, .3], np.float32))
    def backtest(p):
        ema = lambda x, a: lax.scan(lambda e, v: ((1 - a) * e + a * v,) * 2, x[0], x)[1]; f, s = ema(p, .2), ema(p, .05); pos = jnp.sign(f - s); r = jnp.diff(jnp.log(p)) * pos[:-1] - .0005 * jnp.abs(jnp.diff(pos)); eq = jnp.cumsum(r); dd = lax.cummax(eq) - eq; return r.mean() / r.std() * 16, dd.max(), eq[-1]
    add('crossed_averages_backtest', jax.vmap(backtest), lambda: np.exp(np.cumsum(.01 * np.random.RandomState(6).randn(53, 757), 1)).astype(np.float32))
    def xirr(cf, t):
        def b(i, r): g = lambda r: (cf * (1 + r[:, None]) ** -t).sum(1); d = jax.jvp(g, (r,), (jnp.ones_like(r),)); return jnp.clip(r - d[0] / d[1], -.9, 5.)
        return lax.fori_loop(0, 15, b, jnp.full(cf.shape[0], .1))
    add('internal_rates_newton', xirr, lambda: np.concatenate([-np.full((307, 1), 100), np.random.RandomState(7).uniform(5, 25, (307, 22))], 1).astype(np.float32), lambda: np.sort(np.concatenate([np.zeros((307, 1)), np.random.RandomState(9).uniform(0, 10, (307, 22))], 1), 1).astype(np.float32))
    def amort(pr, r, pay):
        def s(b, _): i = jnp.floor(b * r * 100 + .5) / 100; q = jnp.minimum(pay, b + i); return b + i - q, (i, q)
        return lax.scan(s, pr, None, length=360)
    add('loans_paid_off', amort, U(211, lo=1e4, hi=5e5), U(211, lo=.001, hi=.005), U(211, lo=1e3, hi=4e3))
    # --- tracking and control
    def imm(zs):
        A = jnp.stack([jnp.eye(4) + jnp.eye(4, k=2) * d for d in (.1, .1)]); Q = jnp.stack([jnp.eye(4) * .01, jnp.eye(4) * .5]); T = jnp.array([[.95, .05], [.1, .9]])
        def s(c, z):
            x, P_, mu = c; cb = mu @ T; w = (T * mu[:, None]) / cb; xm = w.T @ x; dx = x[:, None] - xm[None]; Pm = jnp.einsum('ij,iab->jab', w, P_) + jnp.einsum('ij,ija,ijb->jab', w, dx, dx)
            xp = jnp.einsum('jab,jb->ja', A, xm); Pp = A @ Pm @ A.swapaxes(1, 2) + Q; S = Pp[:, :2, :2] + .3 * jnp.eye(2); e = z - xp[:, :2]; K = Pp[:, :, :2] @ jnp.linalg.inv(S); x = xp + jnp.einsum('jab,jb->ja', K, e); P2 = Pp - K @ Pp[:, :2]
            l = jnp.exp(-.5 * jnp.einsum('ja,jab,jb->j', e, jnp.linalg.inv(S), e)) / jnp.sqrt(jnp.linalg.det(S)) + 1e-12; mu = l * cb; return (x, P2, mu / mu.sum()), mu @ x
        return lax.scan(s, (jnp.zeros((2, 4)), jnp.tile(jnp.eye(4), (2, 1, 1)), jnp.array([.5, .5])), zs)[1]
    add('interacting_models_filter', imm, lambda: np.cumsum(.3 * np.random.RandomState(3).randn(301, 2), 0).astype(np.float32))
    add('interacting_models_filters', jax.vmap(imm), lambda: np.cumsum(.3 * np.random.RandomState(3).randn(29, 101, 2), 1).astype(np.float32))
    def sort_tracker(det):
        iou = lambda a, b: (lambda lt, rb: (lambda w: w[..., 0] * w[..., 1])(jnp.maximum(rb - lt, 0)))(jnp.maximum(a[:, None, :2], b[None, :, :2]), jnp.minimum(a[:, None, 2:], b[None, :, 2:]))
        def ar(a): return (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
        def frame(c, d):
            t, v, age = c; p = t + v; i = iou(p, d); u = ar(p)[:, None] + ar(d)[None] - i; m = i / u
            def g(k, s):
                m, asg = s; f = jnp.argmax(m); a, b = f // m.shape[1], f % m.shape[1]; ok = m.reshape(-1)[f] > .3; asg = asg.at[a].set(jnp.where(ok, b, asg[a])); return m.at[a].set(-1).at[:, b].set(-1), asg
            m, asg = lax.fori_loop(0, 12, g, (m, jnp.full(p.shape[0], -1))); hit = asg >= 0; z = d[jnp.maximum(asg, 0)]; nt = jnp.where(hit[:, None], .3 * p + .7 * z, p); v = jnp.where(hit[:, None], .8 * v + .2 * (z - t), v); return (nt, v, jnp.where(hit, 0, age + 1)), asg
        return lax.scan(frame, (det[0], jnp.zeros_like(det[0]), jnp.zeros(det.shape[1], jnp.int32)), det)
    def mkdet():
        r = np.random.RandomState(1); c = r.uniform(0, 200, (1, 12, 2)) + np.cumsum(r.randn(71, 12, 2), 0); return np.concatenate([c, c + 25], -1).astype(np.float32)
    add('boxes_tracked_greedily', sort_tracker, mkdet)
    def mpc(x0, A, B):
        N, nx, nu = 20, 4, 2; Ap = [jnp.eye(nx)]
        for _ in range(N): Ap.append(A @ Ap[-1])
        G = jnp.concatenate([jnp.concatenate([Ap[i - j] @ B if j <= i else jnp.zeros((nx, nu)) for j in range(N)], 1) for i in range(N)], 0); Phi = jnp.concatenate(Ap[1:], 0)
        Hm = G.T @ G + .1 * jnp.eye(N * nu); L = jnp.linalg.cholesky(Hm + jnp.eye(N * nu)); f = (Phi @ x0.T).T @ G
        def it(i, s): u, z, y = s; u = jax.scipy.linalg.cho_solve((L, True), (z - y - f).T).T; z = jnp.clip(u + y, -.5, .5); return u, z, y + u - z
        z0 = jnp.zeros_like(f); return lax.fori_loop(0, 40, it, (z0, z0, z0))[1][:, :nu]
    add('predictive_control_admm', mpc, F(19, 4), lambda: (np.eye(4) + .1 * np.eye(4, k=2)).astype(np.float32), lambda: np.vstack([np.zeros((2, 2)), .1 * np.eye(2)]).astype(np.float32))
    def pid(gains):
        def s(c, _):
            x, v, ig, pe, u = c; e = 1 - x; ig = jnp.clip(ig + e * .01, -2, 2); u2 = jnp.clip(gains[:, 0] * e + gains[:, 1] * ig + gains[:, 2] * (e - pe) / .01, -10, 10); v = v + .01 * (u - .5 * v - 2 * x); return (x + .01 * v, v, ig, e, u2), jnp.abs(e)
        z = jnp.zeros(gains.shape[0]); return lax.scan(s, (z, z, z, z, z), None, length=800)[1].sum(0)
    add('controllers_tuned', pid, U(53, 3, hi=8))
    def mountain(key, w):
        def ep(k, w):
            def s(c, k): x, v = c; a = jnp.argmax(w @ jnp.array([x, v * 10, 1.]) + .1 * jax.random.normal(k, (3,))) - 1; v = jnp.clip(v + .001 * a - .0025 * jnp.cos(3 * x), -.07, .07); x = jnp.clip(x + v, -1.2, .6); v = jnp.where(x <= -1.2, 0., v); return (x, v), x >= .5
            return lax.scan(s, (-.5, 0.), jax.random.split(k, 120))[1].any()
        return jax.vmap(ep)(jax.random.split(jax.random.wrap_key_data(key), w.shape[0]), w)
    add('mountain_cars', mountain, lambda: np.array([0, 7], np.uint32), F(67, 3, 3))
    return P
