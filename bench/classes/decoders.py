"""Formats and codes: filters of images, entropy coders, checksums, error correction, parsers."""
import numpy as np
from by_value import Programs, Random
R = Random(904)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 64.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add

    # PNG unfilter with all five predictors
    def unpng(kinds, raw):
        def row(up, x):
            k, r = x
            def px(c, y):
                left, ul = c; b, u = y
                p = left + u - ul
                pa, pb, pc = jnp.abs(p - left), jnp.abs(p - u), jnp.abs(p - ul)
                pae = jnp.where((pa <= pb) & (pa <= pc), left, jnp.where(pb <= pc, u, ul))
                v = (b + jnp.where(k == 0, 0, jnp.where(k == 1, left, jnp.where(k == 2, u, jnp.where(k == 3, (left + u) // 2, pae))))) & 255
                return (v, u), v
            z = jnp.zeros(3, jnp.int32)
            v = lax.scan(px, (z, z), (r, up))[1]
            return v, v
        return lax.scan(row, jnp.zeros(raw.shape[1:], jnp.int32), (kinds, raw.astype(jnp.int32)))[1].astype(jnp.uint8)
    add('png_unfilter', unpng, i32(5, 75), u8(75, 90, 3))

    # Floyd-Steinberg dithering
    def dither(img):
        def row(err, x):
            def px(c, y):
                right, dl = c  # error from left; down-left pending
                v, e = y
                t = v + e + right
                q = jnp.where(t > .5, 1., 0.)
                d = t - q
                return (d * 7 / 16, d), (q, d)
            q, d = lax.scan(px, (0., 0.), (x, err))[1]
            dn = d * 5 / 16 + jnp.append(d[1:], 0) * 3 / 16 + jnp.append(0, d[:-1]) / 16
            return dn, q
        return lax.scan(row, jnp.zeros(img.shape[1]), img)[1]
    add('floyd_steinberg', dither, R.rand(83, 91).astype(np.float32))

    # ADPCM decode of many channels
    steps = np.array([int(7 * 1.1 ** i) for i in range(89)], np.int32); idxt = np.array([-1, -1, -1, -1, 2, 4, 6, 8], np.int32)
    def adpcm(codes):
        st, it = jnp.asarray(steps), jnp.asarray(idxt)
        def f(c, n):
            v, i = c
            s = st[i]
            d = (s >> 3) + jnp.where(n & 4, s, 0) + jnp.where(n & 2, s >> 1, 0) + jnp.where(n & 1, s >> 2, 0)
            v = jnp.clip(v + jnp.where(n & 8, -d, d), -32768, 32767)
            i = jnp.clip(i + it[n & 7], 0, 88)
            return (v, i), v.astype(jnp.int16)
        z = jnp.zeros(codes.shape[1:], jnp.int32)
        return lax.scan(f, (z, z), codes)[1]
    add('adpcm_decode_one', adpcm, i32(16, 3000))
    add('adpcm_decode_channels', adpcm, i32(16, 800, 50))

    # canonical Huffman decode by lookup of 9 bits
    def huff(words, sym, ln):
        def f(pos, _):
            w = pos >> 5; o = pos & 31
            hi = words[w] << o.astype(jnp.uint32)
            lo = jnp.where(o == 0, jnp.uint32(0), words[w + 1] >> (32 - o).astype(jnp.uint32))
            k = ((hi | lo) >> 23).astype(jnp.int32)
            return pos + ln[k], sym[k]
        return lax.scan(f, jnp.int32(0), None, 2000)
    add('huffman_decode', huff, R.randint(0, 2**32, 700, dtype=np.uint64).astype(np.uint32), u8(512), (i32(8, 512) + 2))

    # rANS decode, 4 interleaved lanes
    def rans(words, freq, cum, slot):
        def f(c, _):
            x, p = c
            s = slot[x & 1023]
            x = freq[s] * (x >> 10) + (x & 1023) - cum[s]
            need = x < (1 << 16)
            k = jnp.cumsum(need) - need
            x = jnp.where(need, (x << 16) | words[jnp.minimum(p + k, words.size - 1)], x)
            return (x, p + need.sum()), s.astype(jnp.uint8)
        return lax.scan(f, (jnp.full(4, 1 << 20, jnp.uint32), 0), None, 700)[1]
    fr = R.multinomial(1024 - 40, np.ones(40) / 40) + 1
    add('rans_decode', rans, R.randint(0, 65536, 4000).astype(np.uint32), fr.astype(np.uint32), (np.cumsum(fr) - fr).astype(np.uint32), np.repeat(np.arange(40), fr).astype(np.int32))

    # LZ77 decode with byte copies
    def lz(offs, lens, lits):
        def tok(c, t):
            out, n = c; o, l, b = t
            out = lax.fori_loop(0, l, lambda i, out: out.at[n + i].set(out[n + i - o]), out)
            out = out.at[n + l].set(b)
            return (out, n + l + 1), None
        return lax.scan(tok, (jnp.zeros(6000, jnp.uint8).at[:64].set(jnp.arange(64, dtype=jnp.uint8)), 64), (offs, lens, lits))[0]
    add('lz_decode', lz, i32(60, 400) + 1, i32(14, 400), u8(400))
    # longest match by hash chains: all windows compared
    def lzmatch(x):
        W = 48
        def at(i):
            w = lax.dynamic_slice(x, (i,), (16,))
            c = jax.vmap(lambda d: lax.dynamic_slice(x, (i - d,), (16,)))(jnp.arange(1, W + 1))
            n = jnp.cumprod((c == w).astype(jnp.int32), 1).sum(1)
            return n.max(), n.argmax() + 1
        return jax.vmap(at)(jnp.arange(W, x.size - 16))
    add('lz_matches', lzmatch, R.randint(0, 4, 1500).astype(np.uint8))

    # CRC32 byte table; slicing over records
    tab = []
    for i in range(256):
        c = i
        for _ in range(8): c = (c >> 1) ^ (0xEDB88320 if c & 1 else 0)
        tab.append(c)
    tab = np.array(tab, np.uint32)
    def crc(x):
        t = jnp.asarray(tab)
        return ~lax.scan(lambda c, b: (t[(c ^ b) & 255] ^ (c >> 8), None), jnp.full(x.shape[1:], 0xFFFFFFFF, jnp.uint32), x.astype(jnp.uint32))[0]
    add('crc_of_stream', crc, u8(5000)); add('crc_of_records', crc, u8(300, 333))

    # AES-128 rounds by S-box bytes on many blocks
    sb = R.permutation(256).astype(np.uint8)
    def aes(blocks, keys):
        s = jnp.asarray(sb)
        sh = np.array([0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11])
        xt = lambda a: (a << 1) ^ jnp.where(a >> 7, jnp.uint8(0x1b), jnp.uint8(0))
        def rnd(b, k):
            b = s[b][:, sh].reshape(-1, 4, 4)
            t = b[..., 0] ^ b[..., 1] ^ b[..., 2] ^ b[..., 3]
            b = b ^ t[..., None] ^ xt(b ^ jnp.roll(b, -1, -1))
            return b.reshape(-1, 16) ^ k, None
        b = lax.scan(rnd, blocks ^ keys[0], keys[1:10])[0]
        return s[b][:, sh] ^ keys[10]
    add('aes_blocks', aes, u8(1100, 16), u8(11, 16))

    # Keccak-f[1600] as pairs of u32 words
    RC = R.randint(0, 2**32, (24, 2), dtype=np.uint64).astype(np.uint32)
    rot = np.array([[0, 36, 3, 41, 18], [1, 44, 10, 45, 2], [62, 6, 43, 15, 61], [28, 55, 25, 21, 56], [27, 20, 39, 8, 14]])
    def keccak(st):
        def rol(a, r):
            lo, hi = a[..., 0], a[..., 1]; r = r % 64
            if r >= 32: lo, hi, r = hi, lo, r - 32
            if r: lo, hi = (lo << r) | (hi >> (32 - r)), (hi << r) | (lo >> (32 - r))
            return jnp.stack([lo, hi], -1)
        def rnd(a, rc):
            c = a[0] ^ a[0] if False else lax.reduce(a, np.uint32(0), lax.bitwise_xor, (1,))
            d = jnp.roll(c, 1, 0) ^ jnp.stack([rol(c[(x + 1) % 5], 1) for x in range(5)])
            a = a ^ d[:, None]
            b = [[None] * 5 for _ in range(5)]
            for x in range(5):
                for y in range(5): b[y][(2 * x + 3 * y) % 5] = rol(a[x, y], int(rot[x, y]))
            b = jnp.stack([jnp.stack(r) for r in b])
            a = b ^ (~jnp.roll(b, -1, 0) & jnp.roll(b, -2, 0))
            return a.at[0, 0].set(a[0, 0] ^ rc), None
        return lax.scan(rnd, st, jnp.asarray(RC))[0]
    add('keccak_many', keccak, R.randint(0, 2**32, (5, 5, 90, 2), dtype=np.uint64).astype(np.uint32))

    # LDPC min-sum decode
    def ldpc(llr, H):
        m = H > 0
        def it(_, L):
            a = jnp.where(m, jnp.abs(L), jnp.inf)
            i1 = a.argmin(1); m1 = a.min(1)
            m2 = jnp.where(jnp.arange(H.shape[1]) == i1[:, None], jnp.inf, a).min(1)
            s = jnp.where(m, jnp.sign(L), 1.)
            tot = s.prod(1)
            E = jnp.where(m, tot[:, None] * s * jnp.where(jnp.arange(H.shape[1]) == i1[:, None], m2[:, None], m1[:, None]) * .8, 0.)
            return jnp.where(m, llr + E.sum(0) - E, 0.)
        L = lax.fori_loop(0, 10, it, jnp.where(m, llr, 0.))
        return (llr + L.sum(0) / 3) < 0
    Hm = np.zeros((90, 180), np.int8)
    for j in range(180): Hm[R.choice(90, 3, False), j] = 1
    add('ldpc_min_sum', ldpc, f32(180) + 1, Hm)

    # convolutional code: Viterbi K=7 with traceback
    def viterbi(soft):
        S = 64; st = np.arange(S)
        par = lambda v: np.array([bin(x).count('1') & 1 for x in v])
        prev = np.stack([(st << 1) & 63, ((st << 1) & 63) | 1], 1)
        inb = st >> 5
        reg = (inb[:, None] << 6) | prev
        o = np.stack([1. - 2 * par((reg & g).ravel()).reshape(S, 2) for g in (0o171, 0o133)], -1).astype(np.float32)
        def fwd(pm, r):
            c = pm[prev] + o @ r
            b = c.argmax(1)
            pm = c.max(1)
            return pm - pm.max(), b.astype(jnp.int8)
        pm, bs = lax.scan(fwd, jnp.where(jnp.arange(S) == 0, 0., -1e3), soft)
        def bwd(s, b):
            return jnp.asarray(prev)[s, b[s]], (s >> 5).astype(jnp.uint8)
        return lax.scan(bwd, pm.argmax(), bs, reverse=True)[1]
    add('convolutional_code', viterbi, f32(500, 2))

    # Reed-Solomon syndromes in GF(256) with log tables
    def rs(cw, log, exp):
        def syn(i):
            p = (i * jnp.arange(cw.shape[1])[::-1]) % 255
            t = jnp.where(cw == 0, 0, exp[(log[cw] + p) % 255])
            return lax.reduce(t, np.uint8(0), lax.bitwise_xor, (1,))
        return jax.vmap(syn)(jnp.arange(16)).T
    add('reed_solomon_syndromes', rs, u8(40, 255), i32(255, 256), u8(255))

    # suffix array by prefix doubling
    def suffixes(s):
        n = s.size
        def it(k, c):
            rank, _ = c
            h = 1 << k
            second = jnp.where(jnp.arange(n) + h < n, jnp.roll(rank, -h) + 1, 0)
            key = rank * (n + 1) + second
            sa = jnp.argsort(key, stable=True)
            ks = key[sa]
            r = jnp.cumsum(jnp.concatenate([jnp.zeros(1, int), (ks[1:] != ks[:-1]).astype(int)]))
            return jnp.zeros(n, int).at[sa].set(r), sa
        return lax.fori_loop(0, 11, it, (s.astype(int), jnp.zeros(n, int)))[1]
    add('suffix_array', suffixes, R.randint(0, 4, 1300).astype(np.uint8))
    # inverse Burrows-Wheeler
    def ibwt(L):
        n = L.size
        order = jnp.argsort(L, stable=True)
        return lax.scan(lambda i, _: (order[i], L[order[i]]), order[7], None, n)[1]
    add('inverse_burrows_wheeler', ibwt, u8(3000))

    # bit-unpacking of 11-bit ints, zigzag, delta, and varint parse
    def unpack11(w):
        i = jnp.arange(2 * w.size // 11 * 16 - 16)
        b = i * 11; q, r = b >> 5, (b & 31).astype(jnp.uint32)
        lo = w[q] >> r
        hi = jnp.where(r > 21, w[q + 1] << ((32 - r) & 31), 0)
        v = ((lo | hi) & 0x7ff).astype(jnp.int32)
        return jnp.cumsum((v >> 1) ^ -(v & 1))
    add('delta_of_11_bits', unpack11, R.randint(0, 2**32, 2200, dtype=np.uint64).astype(np.uint32))
    def varints(b):
        last = b < 128
        end = jnp.cumsum(last) - last
        start = jnp.concatenate([jnp.ones(1, bool), last[:-1]])
        pos = jnp.arange(b.size) - lax.cummax(jnp.where(start, jnp.arange(b.size), 0))
        v = (b & 127).astype(jnp.uint32) << (7 * jnp.minimum(pos, 4)).astype(jnp.uint32)
        return jax.ops.segment_sum(v, end, b.size)
    add('varints', varints, np.where(R.rand(4000) < .4, R.randint(128, 256, 4000), R.randint(0, 128, 4000)).astype(np.uint8))

    # CSV of integers parsed by an associative scan of affine maps
    def csv(t):
        d = (t >= 48) & (t <= 57)
        a = jnp.where(d, 10, 0).astype(jnp.int32); b = jnp.where(d, t.astype(jnp.int32) - 48, 0)
        _, v = lax.associative_scan(lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), (a, b))
        sep = ~d
        k = jnp.cumsum(sep) - 1
        return jnp.zeros(1000, jnp.int32).at[jnp.where(sep, k, 1000)].set(jnp.roll(v, 1), mode='drop'), sep.sum()
    txt = ','.join(str(x) for x in R.randint(0, 10000, 900)) + '\n'
    add('integers_of_text', csv, np.frombuffer(txt.encode(), np.uint8))
    # JSON nesting depth outside strings
    def depth(t):
        q = (t == 34)
        ins = (jnp.cumsum(q) & 1) == 1
        d = jnp.cumsum(jnp.where(ins, 0, ((t == 123) | (t == 91)).astype(jnp.int32) - ((t == 125) | (t == 93))))
        return d, d.max(), jnp.bincount(jnp.clip(d, 0, 15), length=16)
    add('depth_of_json', depth, R.choice(np.frombuffer(b'{}[]",:abc0123', np.uint8), 9000))
    # Aho-Corasick with counts per pattern; KMP
    def kmp(text, pat, fail):
        def f(j, c):
            j = lax.while_loop(lambda j: (j > 0) & (pat[j] != c), lambda j: fail[j - 1], j)
            j = j + (pat[j] == c)
            hit = j == pat.size - 1
            return jnp.where(hit, fail[j - 1], j), hit
        return lax.scan(f, 0, text)[1].sum()
    add('knuth_morris_pratt', kmp, R.randint(0, 2, 4000).astype(np.uint8), np.array([0, 1, 0, 0, 1, 0, 1, 9], np.uint8), np.array([0, 0, 1, 1, 2, 3, 2, 0], np.int32))
    def rabin(text, k=9):
        h = lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (jnp.full(text.size, 257, jnp.uint32), text.astype(jnp.uint32)))[1]
        w = h[k:] - h[:-k] * jnp.uint32(pow(257, k, 2**32))
        s = jnp.sort(w)
        return (s[1:] == s[:-1]).sum(), (w % 64 == 0).sum()
    add('rolling_hashes', rabin, R.randint(0, 3, 7000).astype(np.uint8))
    # chess: sliding attacks by Kogge-Stone on 32-bit halves of many boards; use u64 as two planes of 8x8 bools
    def rook(own, occ):
        def ray(ax, d):
            g = own; free = ~occ; att = jnp.zeros_like(own)
            def sh(b):
                r = jnp.roll(b, d, ax)
                i = jnp.arange(8) == (0 if d == 1 else 7)
                return r & ~(i[:, None] if ax == -2 else i)
            for _ in range(7):
                s = sh(g); att = att | s; g = s & free
            return att
        return (ray(-1, 1) | ray(-1, -1) | ray(-2, 1) | ray(-2, -1)).sum((-1, -2))
    occ = R.rand(300, 8, 8) < .3
    add('rook_attacks', rook, occ & (R.rand(300, 8, 8) < .2), occ)
    # Morton order of points and box queries
    def morton(x):
        def spread(v):
            v = (v | (v << 8)) & 0x00FF00FF; v = (v | (v << 4)) & 0x0F0F0F0F; v = (v | (v << 2)) & 0x33333333
            return (v | (v << 1)) & 0x55555555
        q = (x * 65535).astype(jnp.uint32)
        c = spread(q[:, 0]) | (spread(q[:, 1]) << 1)
        o = jnp.argsort(c)
        d = jnp.linalg.norm(jnp.diff(x[o], axis=0), axis=1)
        return o, d.sum(), lax.clz(c[o][1:] ^ c[o][:-1])
    add('points_in_morton_order', morton, R.rand(2300, 2).astype(np.float32))
    return P
