"""Words, limbs, codes and dynamic programs: ciphers, hashes, large integers, alignments."""
import numpy as np
from by_value import Programs, Random

X64 = True
R = Random(702)
f32, i32 = R.f32, R.i32
u32 = lambda *s: R.randint(0, 1 << 32, s, dtype=np.uint64).astype(np.uint32)
u64 = lambda *s: (R.randint(0, 1 << 32, s, dtype=np.uint64) << np.uint64(32)) | R.randint(0, 1 << 32, s, dtype=np.uint64)


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    U = lambda v: jnp.uint64(v)

    def rotr(x, n, bits):
        return (x >> n) | (x << (bits - n))

    # BLAKE2s of many blocks
    IV = np.array([0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19], np.uint32)
    SIG = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
                    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4], [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
                    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13], [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
                    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11], [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
                    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5], [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0]])
    def blake(m):
        def comp(h, mt):
            m, t = mt
            v = jnp.concatenate([h, jnp.asarray(IV)]).at[12].set(IV[4] ^ t)
            def rnd(v, s):
                mm = m[s]
                a, b, c, d = v.reshape(4, 4)
                def G(a, b, c, d, x, y):
                    a = a + b + x; d = rotr(d ^ a, 16, 32); c = c + d; b = rotr(b ^ c, 12, 32)
                    a = a + b + y; d = rotr(d ^ a, 8, 32); c = c + d; b = rotr(b ^ c, 7, 32)
                    return a, b, c, d
                a, b, c, d = G(a, b, c, d, mm[0:8:2], mm[1:8:2])
                b, c, d = jnp.roll(b, -1), jnp.roll(c, -2), jnp.roll(d, -3)
                a, b, c, d = G(a, b, c, d, mm[8::2], mm[9::2])
                b, c, d = jnp.roll(b, 1), jnp.roll(c, 2), jnp.roll(d, 3)
                return jnp.concatenate([a, b, c, d]), None
            v, _ = lax.scan(rnd, v, jnp.asarray(SIG))
            return h ^ v[:8] ^ v[8:], None
        n = m.shape[0]
        return lax.scan(comp, jnp.asarray(IV).at[0].set(IV[0] ^ 0x01010020), (m, (jnp.arange(n) * 64 + 64).astype(jnp.uint32)))[0]
    add('blake2s', blake, u32(37, 16))
    add('blake2s_of_many', jax.vmap(blake), u32(150, 2, 16))

    # SHA-512 compress with uint64
    K512 = u64(80)
    H512 = u64(8)
    def sha512(block):
        def sched(w, _):
            s0 = rotr(w[1], 1, 64) ^ rotr(w[1], 8, 64) ^ (w[1] >> 7)
            s1 = rotr(w[14], 19, 64) ^ rotr(w[14], 61, 64) ^ (w[14] >> 6)
            return jnp.append(w[1:], w[0] + s0 + w[9] + s1), w[0]
        _, ws = lax.scan(sched, block, None, 80)
        def rnd(s, kw):
            a, b, c, d, e, f, g, h = s
            S1 = rotr(e, 14, 64) ^ rotr(e, 18, 64) ^ rotr(e, 41, 64)
            t1 = h + S1 + ((e & f) ^ (~e & g)) + kw
            S0 = rotr(a, 28, 64) ^ rotr(a, 34, 64) ^ rotr(a, 39, 64)
            t2 = S0 + ((a & b) ^ (a & c) ^ (b & c))
            return (t1 + t2, a, b, c, d + t1, e, f, g), None
        s, _ = lax.scan(rnd, tuple(jnp.asarray(H512)), ws + K512)
        return jnp.stack(s) + H512
    add('sha512_one', sha512, u64(16))
    add('sha512_of_many', jax.vmap(sha512), u64(100, 16))

    # Goldilocks field
    GP = np.uint64(0xFFFFFFFF00000001)
    EPS = np.uint64(0xFFFFFFFF)
    def mul128(a, b):
        al, ah, bl, bh = a & EPS, a >> 32, b & EPS, b >> 32
        ll, lh, hl, hh = al * bl, al * bh, ah * bl, ah * bh
        mid = (ll >> 32) + (lh & EPS) + (hl & EPS)
        return (ll & EPS) | (mid << 32), hh + (lh >> 32) + (hl >> 32) + (mid >> 32)
    def gmul(a, b):
        lo, hi = mul128(a, b)
        hh, hl = hi >> 32, hi & EPS
        t = lo - hh
        t = jnp.where(lo < hh, t - EPS, t)
        u = hl * EPS
        r = t + u
        r = jnp.where(r < u, r + EPS, r)
        return jnp.where(r >= GP, r - GP, r)
    def gadd(a, b):
        r = a + b
        r = jnp.where(r < a, r + EPS, r)
        return jnp.where(r >= GP, r - GP, r)
    def gsub(a, b):
        return jnp.where(a >= b, a - b, a + (GP - b))
    def gpow(a, e):
        def body(i, s):
            r, b = s
            r = jnp.where((e >> i.astype(jnp.uint64)) & 1 == 1, gmul(r, b), r)
            return r, gmul(b, b)
        return lax.fori_loop(0, 64, body, (jnp.ones_like(a), a))[0]
    add('goldilocks_inverses', lambda a: gpow(a % GP, GP - np.uint64(2)), u64(301))
    def ntt(x, tw):
        n = x.shape[-1]
        h, s = n // 2, 0
        while h >= 1:
            y = x.reshape(-1, 2, h)
            a, b = y[:, 0], y[:, 1]
            x = jnp.stack([gadd(a, b), gmul(gsub(a, b), tw[s:s + h])], 1).reshape(-1)
            s += h
            h //= 2
        return x
    add('goldilocks_ntt', lambda x, tw: ntt(x % GP, tw % GP), u64(1024), u64(1023))
    def poseidon(s, mds, rc):
        def rnd(s, c):
            s = gadd(s, c)
            s2 = gmul(s, s); s3 = gmul(s2, s); s4 = gmul(s2, s2); s = gmul(s4, s3)
            p = gmul(mds, s[:, None, :] if s.ndim == 2 else s)
            acc = p[..., 0]
            for i in range(1, 12):
                acc = gadd(acc, p[..., i])
            return acc, None
        return lax.scan(rnd, s % GP, rc % GP)[0]
    add('poseidon_permutations', poseidon, u64(33, 12), (u64(12, 12) & np.uint64(63)), u64(30, 12))

    # X25519-like ladder with 16 limbs of 16 bits (TweetNaCl), batch
    def car(o):
        for _ in range(2):
            o = o + 65536
            c = o >> 16
            o = o - (c << 16)
            o = o + jnp.concatenate([38 * (c[..., 15:] - 1), c[..., :15] - 1], -1)
        return o
    def fmul(a, b):
        t = jnp.zeros(a.shape[:-1] + (31,), jnp.int64)
        for i in range(16):
            t = t.at[..., i:i + 16].add(a[..., i:i + 1] * b)
        return car(t[..., :16] + 38 * jnp.pad(t[..., 16:], [(0, 0)] * (a.ndim - 1) + [(0, 1)]))
    def ladder(bits, x):
        one = jnp.zeros_like(x).at[..., 0].set(1)
        a24 = jnp.zeros_like(x).at[..., 0].set(0xDB41).at[..., 1].set(1)
        def step(s, r):
            a, b, c, d = s
            sw = lambda p, q: (jnp.where(r[..., None] == 1, q, p), jnp.where(r[..., None] == 1, p, q))
            (a, b), (c, d) = sw(a, b), sw(c, d)
            e, a = a + c, a - c
            c, b = b + d, b - d
            d, f = fmul(e, e), fmul(a, a)
            a, c = fmul(c, a), fmul(b, e)
            e, a = a + c, a - c
            b, c = fmul(a, a), d - f
            a = fmul(c, a24) + d
            c, a = fmul(c, a), fmul(d, f)
            d, b = fmul(b, x), fmul(e, e)
            (a, b), (c, d) = sw(a, b), sw(c, d)
            return (a, b, c, d), None
        (a, _, c, _), _ = lax.scan(step, (one, x, jnp.zeros_like(x), one), bits)
        return car(a), car(c)
    add('curve_ladder_one', ladder, R.randint(0, 2, (64,)), R.randint(0, 65536, (16,)))
    add('curve_ladder_of_many', ladder, R.randint(0, 2, (32, 29)), R.randint(0, 65536, (29, 16)))

    # Montgomery multiplication of 256-bit numbers in 16 limbs of 16 bits, exponentiation
    def mont(a, b, n, ninv):
        def step(t, ai):
            t = t + ai * b
            m = ((t[0] & 0xFFFF) * ninv) & 0xFFFF
            t = t + m * n
            c = t >> 16
            t = (t & 0xFFFF)
            t = jnp.append(t[1:], 0) + c
            return t, None
        return lax.scan(step, jnp.zeros(16, jnp.uint64), a)[0]
    def modexp(base, bits, n, ninv):
        def st(r, bit):
            r = mont(r, r, n, ninv)
            return jnp.where(bit == 1, mont(r, base, n, ninv), r), None
        return lax.scan(st, base, bits)[0]
    add('montgomery_power', lambda b, e, n: modexp(b & 0xFFFF, e, n & 0xFFFF, U(0xABCD)), u64(16), R.randint(0, 2, 50), u64(16))
    add('montgomery_powers', jax.vmap(lambda b, e, n: modexp(b & 0xFFFF, e, n & 0xFFFF, U(0xABCD)), (0, None, None)), u64(65, 16), R.randint(0, 2, 20), u64(16))

    # DES Feistel by permutation tables
    ip, ep, pp = R.permutation(64), R.randint(0, 32, 48), R.permutation(32)
    sb = R.randint(0, 16, (8, 64)).astype(np.uint8)
    def des(bits, keys):
        x = bits[:, ip]
        l, r = x[:, :32], x[:, 32:]
        def rnd(s, k):
            l, r = s
            e = (r[:, ep] ^ k).reshape(-1, 8, 6)
            i = (e.astype(jnp.int32) << np.arange(6)).sum(-1)
            o = jnp.asarray(sb)[np.arange(8), i]
            f = ((o[..., None] >> np.arange(4, dtype=np.uint8)) & 1).reshape(-1, 32)[:, pp]
            return (r, l ^ f), None
        (l, r), _ = lax.scan(rnd, (l, r), keys)
        return jnp.packbits(jnp.concatenate([r, l], 1)[:, np.argsort(ip)], axis=1)
    add('des_blocks', des, R.randint(0, 2, (77, 64)).astype(np.uint8), R.randint(0, 2, (16, 48)).astype(np.uint8))

    # GHASH: carryless mult GF(2^128) as 2 uint64
    def ghash(h, blocks):
        def gf(x, y):
            def body(i, s):
                zh, zl, vh, vl = s
                word = jnp.where(i < 64, x[0], x[1])
                bit = (word >> (63 - (i % 64)).astype(jnp.uint64)) & 1
                m = jnp.where(bit == 1, U(0xFFFFFFFFFFFFFFFF), U(0))
                zh, zl = zh ^ (vh & m), zl ^ (vl & m)
                lsb = vl & 1
                vl = (vl >> 1) | (vh << 63)
                vh = (vh >> 1) ^ jnp.where(lsb == 1, U(0xE100000000000000), U(0))
                return zh, zl, vh, vl
            zh, zl, _, _ = lax.fori_loop(0, 128, body, (U(0), U(0), y[0], y[1]))
            return jnp.stack([zh, zl])
        return lax.scan(lambda c, b: (gf(c ^ b, h), None), jnp.zeros(2, jnp.uint64), blocks)[0]
    add('ghash_of_blocks', ghash, u64(2), u64(40, 2))
    add('ghash_of_messages', jax.vmap(ghash, (None, 0)), u64(2), u64(50, 4, 2))

    # Poly1305 with 26 bit limbs
    def poly1305(r, msg):
        r = r & 0x3FFFFFF
        s = r * 5
        def step(h, m):
            h = h + (m & 0x3FFFFFF)
            d = []
            for i in range(5):
                acc = U(0)
                for j in range(5):
                    acc = acc + h[j] * (r[i - j] if i >= j else s[5 + i - j])
                d.append(acc)
            c = U(0)
            o = []
            for i in range(5):
                v = d[i] + c
                o.append(v & 0x3FFFFFF); c = v >> 26
            o[0] = o[0] + c * 5
            return jnp.stack(o), None
        return lax.scan(step, jnp.zeros(5, jnp.uint64), msg)[0]
    add('poly1305', poly1305, u64(5), u64(300, 5))

    # PCG64 streams with 128-bit state by uint64 pairs; xoshiro256**
    def xoshiro(s):
        def st(s, _):
            r = rotr(s[1] * 5, 57, 64) * 9
            t = s[1] << 17
            s2 = s[2] ^ s[0]; s3 = s[3] ^ s[1]; s1 = s[1] ^ s2; s0 = s[0] ^ s3
            return jnp.stack([s0, s1, s2 ^ t, rotr(s3, 19, 64)]), (r >> 11).astype(jnp.float64) * 2. ** -53
        return lax.scan(st, s, None, 200)
    add('xoshiro_streams', xoshiro, u64(4, 33))
    add('xoshiro_one', xoshiro, u64(4))
    def pcg(hi, lo):
        mh, ml = U(2549297995355413924), U(4865540595714422341)
        def st(s, _):
            hi, lo = s
            l, h = mul128(lo, ml)
            h = h + hi * ml + lo * mh
            l2 = l + U(6364136223846793005)
            h = h + (l2 < l)
            x, rot = h ^ l2, h >> 58
            return (h, l2), (x >> rot) | (x << ((64 - rot) & 63))
        return lax.scan(st, (hi, lo), None, 150)[1]
    add('pcg64_streams', pcg, u64(41), u64(41))

    # bitset DPs: subset sums in uint64 words, longest common subsequence by bits
    def subsets(w):
        def st(b, w):
            q, r = w // 64, (w % 64).astype(jnp.uint64)
            s = jnp.roll(b, q) * (jnp.arange(len(b)) >= q)
            lo = jnp.where(r > 0, jnp.append(U(0), s[:-1]) >> ((64 - r) & 63), U(0))
            return b | (s << r) | lo, None
        return lax.scan(st, jnp.zeros(50, jnp.uint64).at[0].set(1), w)[0]
    add('subset_sums_in_bits', subsets, R.randint(1, 90, 60))
    def lcs(a, bm):
        def st(v, c):
            m = bm[c]
            u = v & m
            s = v + u
            return s | (v - u), None
        v = lax.scan(st, U(0xFFFFFFFFFFFFFFFF), a)[0]
        return lax.population_count(~v)
    add('lcs_in_bits_of_many', jax.vmap(lcs, (0, None)), i32(26, 140, 70), u64(26))

    # Berlekamp-Massey over GF(2), vmapped; over GF(p) with inverse by pow
    def bm2(s):
        n = len(s)
        def st(c, i):
            C, B, L, m = c
            w = jnp.where(jnp.arange(n) <= L, s[(i - jnp.arange(n)) % n], 0)
            d = (C * w).sum() & 1
            T = C
            sh = jnp.where(jnp.arange(n) >= m, jnp.roll(B, m), 0)
            C2 = C ^ sh
            up = (d == 1) & (2 * L <= i)
            return (jnp.where(d == 1, C2, C), jnp.where(up, T, B), jnp.where(up, i + 1 - L, L), jnp.where(up, 1, m + 1)), None
        e = jnp.zeros(n, jnp.int32).at[0].set(1)
        return lax.scan(st, (e, e, 0, 1), jnp.arange(n))[0][2]
    add('berlekamp_massey_of_many', jax.vmap(bm2), R.randint(0, 2, (20, 48)).astype(np.int32))

    # polar code successive-cancellation decode recursion
    def polar(llr, frozen):
        def rec(l, fr):
            if l.shape[-1] == 1:
                u = jnp.where(fr[0], 0, (l[..., 0] < 0).astype(jnp.int32))
                return u[..., None], u[..., None]
            n = l.shape[-1] // 2
            a, b = l[..., :n], l[..., n:]
            f = jnp.sign(a) * jnp.sign(b) * jnp.minimum(jnp.abs(a), jnp.abs(b))
            u1, x1 = rec(f, fr[:n])
            u2, x2 = rec(b + (1 - 2 * x1) * a, fr[n:])
            return jnp.concatenate([u1, u2], -1), jnp.concatenate([x1 ^ x2, x2], -1)
        return rec(llr, frozen)[0]
    add('polar_decoder', polar, f32(50, 32), R.rand(32) < .5)
    # BCJR max-log-MAP over 8 states
    nxt = np.array([[s >> 1 | (b ^ (s & 1)) << 2 for b in (0, 1)] for s in range(8)])
    out = R.randint(0, 2, (8, 2)) * 2 - 1.
    def bcjr(ls, lp):
        g = .5 * (ls[:, :, None, None] * (np.arange(2) * 2 - 1) + lp[:, :, None, None] * out)          # B T 8 2
        g = jnp.moveaxis(g, 1, 0)
        def fw(a, g):
            m = a[:, :, None] + g
            n = jnp.full((a.shape[0], 8), -1e9).at[:, nxt].max(m)
            return n - n.max(1, keepdims=True), a
        def bw(b, g):
            m = (b[:, nxt] + g).max(2)
            return m - m.max(1, keepdims=True), b
        z = jnp.full((ls.shape[0], 8), -1e9).at[:, 0].set(0.)
        _, al = lax.scan(fw, z, g)
        _, be = lax.scan(bw, jnp.zeros_like(z), g, reverse=True)
        m = al[..., None] + g + be[:, :, nxt]
        return (m[..., 1].max(2) - m[..., 0].max(2)).T
    add('bcjr_of_frames', bcjr, f32(7, 61).astype(np.float64), f32(7, 61).astype(np.float64))

    # murmur3 of rows, crc32 slicing by 8 with table scan
    def murmur(k):
        k = k * jnp.uint32(0xcc9e2d51); k = rotr(k, 17, 32); k = k * jnp.uint32(0x1b873593)
        def st(h, k):
            h = rotr(h ^ k, 19, 32) * jnp.uint32(5) + jnp.uint32(0xe6546b64)
            return h, None
        h = lax.scan(st, jnp.zeros(k.shape[0], jnp.uint32), k.T)[0]
        h ^= h >> 16; h *= jnp.uint32(0x85ebca6b); h ^= h >> 13; h *= jnp.uint32(0xc2b2ae35)
        return h ^ (h >> 16)
    add('murmur_of_rows', murmur, u32(401, 9))
    tb = u32(8, 256)
    def crc8(w):
        def st(c, ab):
            a, b = ab[0] ^ c, ab[1]
            i = jnp.stack([a & 255, a >> 8 & 255, a >> 16 & 255, a >> 24, b & 255, b >> 8 & 255, b >> 16 & 255, b >> 24])
            return jax.lax.reduce(jnp.asarray(tb)[jnp.arange(8)[::-1], i], np.uint32(0), lax.bitwise_xor, (0,)), None
        return lax.scan(st, jnp.uint32(0xFFFFFFFF), w)[0]
    add('crc_slicing_by_8', crc8, u32(500, 2))

    # collatz while per lane nested vmap; gcd; modular inverse; perfect powers
    def collatz(n):
        def b(s):
            n, c = s
            return jnp.where(n & 1 == 0, n >> 1, 3 * n + 1), c + 1
        return lax.while_loop(lambda s: s[0] != 1, b, (n, 0))[1]
    add('collatz_lengths', jax.vmap(jax.vmap(collatz)), R.randint(1, 5000, (13, 17)))
    def egcd(a, m):
        def b(s):
            r0, r1, s0, s1 = s
            q = r0 // r1
            return r1, r0 - q * r1, s1, s0 - q * s1
        r = lax.while_loop(lambda s: s[1] != 0, b, (a, m, jnp.int64(1), jnp.int64(0)))
        return jnp.where(r[0] == 1, r[2] % m, -1)
    add('modular_inverses', jax.vmap(egcd, (0, None)), R.randint(1, 1 << 40, 203), np.int64(1099511627689))
    # elliptic-curve addition in affine with modular inverse over small p, double-and-add
    p_ = np.int64(1000003)
    def inv_p(a):
        def st(i, s):
            r, b = s
            return jnp.where((p_ - 2) >> i & 1 == 1, r * b % p_, r), b * b % p_
        return lax.fori_loop(0, 20, st, (jnp.ones_like(a), a % p_))[0]
    def ecadd(P, Q):
        x1, y1, x2, y2 = *P, *Q
        same = (x1 == x2)
        lam = jnp.where(same, (3 * x1 * x1 + 2) * inv_p(2 * y1) % p_, (y2 - y1) * inv_p(x2 - x1) % p_)
        x = (lam * lam - x1 - x2) % p_
        return x, (lam * (x1 - x) - y1) % p_
    def ecmul(k, x, y):
        def st(s, i):
            acc, P = s
            n = ecadd(acc, P)
            bit = (k >> i) & 1 == 1
            return (tuple(jnp.where(bit, u, v) for u, v in zip(n, acc)), ecadd(P, P)), None
        return lax.scan(st, ((x, y), ecadd((x, y), (x, y))), jnp.arange(20))[0][0]
    add('curve_points_times', ecmul, R.randint(0, 1 << 20, 57), R.randint(1, 1000003, 57), R.randint(1, 1000003, 57))
    # Learning with errors: encrypt int matrix in uint32 mod q, with NTT-free negacyclic poly mult by rolls
    def negacyclic(a, b):
        n = a.shape[-1]
        i = np.arange(n)
        idx = (i[:, None] - i[None]) % n
        sgn = np.where(i[:, None] >= i[None], 1, -1)
        return ((a[..., idx] * sgn * b[..., None, :]).sum(-1)) % 12289
    add('negacyclic_products', negacyclic, R.randint(0, 12289, (9, 128)), R.randint(0, 12289, (9, 128)))
    # bigint schoolbook product + carry via associative_scan (carry lookahead)
    def badd(a, b):
        s = a + b
        g, pr = s > 0xFFFFFFFF, (s & 0xFFFFFFFF) == 0xFFFFFFFF
        def op(l, r):
            return r[0] | (r[1] & l[0]), r[1] & l[1]
        G, _ = lax.associative_scan(op, (g, pr), axis=-1)
        c = jnp.pad(G[..., :-1], [(0, 0)] * (a.ndim - 1) + [(1, 0)])
        return (s + c) & 0xFFFFFFFF
    add('long_sums_by_lookahead', badd, u64(60, 133) & np.uint64(0xFFFFFFFF), u64(60, 133) & np.uint64(0xFFFFFFFF))
    return P
