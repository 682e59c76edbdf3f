"""Codecs of pictures and films: blocks of cosines and integers, motion, prediction, entropy codes, colours with few bits, measures of quality."""
import numpy as np

from by_value import Programs, Random

R = Random(223)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    k = np.arange(8)
    dct = (np.cos((2 * k + 1) * k[:, None] * np.pi / 16) * np.where(k[:, None] == 0, np.sqrt(0.125), 0.5)).astype(np.float32)
    zigzag = np.array(sorted(range(64), key=lambda i: (i // 8 + i % 8, i // 8 if (i // 8 + i % 8) % 2 else i % 8)), np.int32)
    table = np.clip(8 + 3 * (k[:, None] + k) + R.randint(0, 5, (8, 8)), 1, 255).astype(np.int32)
    yy, xx = np.mgrid[0:120, 0:168]
    grey = np.clip(128 + 90 * np.sin(xx / 11) * np.cos(yy / 7) + 9 * R.randn(120, 168), 0, 255).astype(np.uint8)
    colour = np.stack([grey, np.roll(grey, 5, 1), np.roll(grey, 7, 0)], -1)

    def ycc(rgb):
        m = jnp.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
        return rgb.astype(jnp.float32) @ m.T + jnp.array([0, 128, 128.0])

    def coefficients(p):
        h, w = p.shape
        b = p.reshape(h // 8, 8, w // 8, 8).transpose(0, 2, 1, 3) - 128
        return jnp.einsum('ui,abij,vj->abuv', dct, b, dct)

    def encoded(rgb):
        """JPEG up to its entropy code: 4:2:0 chroma, cosines, quantisation, zigzag, differences of means, and how many zeros run ahead."""
        y = ycc(rgb)
        half = y[..., 1:].reshape(60, 2, 84, 2, 2).mean((1, 3))
        half = jnp.pad(half, ((0, 4), (0, 4), (0, 0)), mode='edge')
        out = []
        for p in (y[..., 0], half[..., 0], half[..., 1]):
            q = jnp.round(coefficients(p) / table * 0.999).astype(jnp.int16)
            z = q.reshape(-1, 64)[:, zigzag]
            dc = jnp.diff(z[:, 0], prepend=jnp.int16(0))
            i = jnp.arange(63)
            last = lax.cummax(jnp.where(z[:, 1:] != 0, i, -1), axis=1)
            run = i - jnp.concatenate([jnp.full((len(z), 1), -1), last[:, :-1]], 1) - 1
            out.append((dc, jnp.where(z[:, 1:] != 0, run, 255).astype(jnp.uint8)))
        return out
    add('jpeg_encoded', encoded, colour)

    def decoded(q, cb, cr):
        """JPEG from its quantised coefficients: inverse zigzag, cosines back, chroma upsampled, colours as bytes."""
        back = np.argsort(zigzag)
        def plane(z, h, w):
            c = (z[:, back].reshape(h // 8, w // 8, 8, 8) * table.astype(np.int16)).astype(jnp.float32)
            b = jnp.einsum('ui,abuv,vj->abij', dct, c, dct) + 128
            return b.transpose(0, 2, 1, 3).reshape(h, w)
        y = plane(q, 112, 160)
        cb, cr = (jnp.repeat(jnp.repeat(plane(c, 56, 80), 2, 0), 2, 1) - 128 for c in (cb, cr))
        rgb = jnp.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], -1)
        return jnp.floor(jnp.clip(rgb, 0, 255) / 8).astype(jnp.uint8), rgb
    add('jpeg_decoded', lambda a, b, c: decoded(a, b, c)[1], *(R.randint(-3, 4, (n, 64)).astype(np.int16) for n in (280, 70, 70)))

    def integer_transform(p, qp):
        """The 4x4 integer transform of H.264 with quantisation and its inverse, all in integers."""
        c = jnp.array([[1, 1, 1, 1], [2, 1, -1, -2], [1, -1, -1, 1], [1, -2, 2, -1]], jnp.int32)
        h, w = p.shape
        b = p.astype(jnp.int32).reshape(h // 4, 4, w // 4, 4).swapaxes(1, 2)
        t = jnp.einsum('ui,abij,vj->abuv', c, b, c)
        f = jnp.array([[13107, 8066, 13107, 8066], [8066, 5243, 8066, 5243]] * 2)
        g = jnp.array([[10, 13, 10, 13], [13, 16, 13, 16]] * 2)
        s = 15 + qp // 6
        q = jnp.sign(t) * ((jnp.abs(t) * f + (1 << s) // 3) >> s)
        d = (q * g) << (qp // 6)
        def back(x):
            a, b, c, e = x[..., 0] + x[..., 2], x[..., 0] - x[..., 2], (x[..., 1] >> 1) - x[..., 3], x[..., 1] + (x[..., 3] >> 1)
            return jnp.stack([a + e, b + c, b - c, a - e], -1)
        r = (back(back(d).swapaxes(2, 3)).swapaxes(2, 3) + 32) >> 6
        return q.astype(jnp.int16), jnp.clip(r, 0, 255).astype(jnp.uint8).swapaxes(1, 2).reshape(h, w)
    add('integer_transform_4x4', integer_transform, grey, np.int32(23))

    def motion(a, b):
        """Full search of blocks of 8x8 within 4 pixels: sums of absolute differences of bytes."""
        p = jnp.pad(a, 4, mode='edge').astype(jnp.int32)
        def sad(s):
            m = lax.dynamic_slice(p, (s // 9, s % 9), b.shape)
            return jnp.abs(m - b).reshape(15, 8, 21, 8).sum((1, 3))
        costs = lax.map(sad, jnp.arange(81))
        best = costs.argmin(0)
        return jnp.stack([best // 9 - 4, best % 9 - 4], -1).astype(jnp.int8), costs.min(0)
    add('motion_of_blocks', motion, grey, np.roll(grey, (2, -3), (0, 1)))

    def diamond(a, b):
        """Motion by a diamond of steps for each block on its own, until it stays."""
        p = jnp.pad(a, 24, mode='edge').astype(jnp.int32)
        moves = jnp.array([[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0]])
        def one(i, block):
            base = jnp.stack([i // 21 * 8, i % 21 * 8]) + 24
            cost = lambda m: jnp.abs(lax.dynamic_slice(p, base + m, (8, 8)) - block).sum()
            def body(s):
                m, _, n = s
                j = jax.vmap(cost)(m + moves).argmin()
                return m + moves[j], j != 0, n + 1
            return lax.while_loop(lambda s: s[1] & (s[2] < 12), body, (jnp.zeros(2, int), True, 0))[0]
        blocks = b.astype(jnp.int32).reshape(15, 8, 21, 8).swapaxes(1, 2).reshape(-1, 8, 8)
        return jax.vmap(one)(jnp.arange(315), blocks)
    add('motion_by_diamonds', diamond, grey, np.roll(grey, (1, -2), (0, 1)))

    def compensated(ref, mv, residual):
        """Half-pel motion compensation: blocks gathered at vectors, filtered by 6 taps, residuals added."""
        p = jnp.pad(ref.astype(jnp.int32), 16, mode='edge')
        f = jnp.array([1, -5, 20, 20, -5, 1])
        def block(i, v):
            y, x = i // 21 * 8 + 16 + (v[0] >> 1), i % 21 * 8 + 16 + (v[1] >> 1)
            s = lax.dynamic_slice(p, (y - 2, x - 2), (13, 13))
            rows = sum(f[t] * s[:, t:t + 8] for t in range(6))
            both = (sum(f[t] * rows[t:t + 8] for t in range(6)) + 512) >> 10
            only = (rows[2:10] + 16) >> 5
            down = (sum(f[t] * s[t:t + 8, 2:10] for t in range(6)) + 16) >> 5
            hy, hx = v[0] & 1, v[1] & 1
            return jnp.where(hy & hx, both, jnp.where(hx, only, jnp.where(hy, down, s[2:10, 2:10])))
        b = jax.vmap(block)(jnp.arange(315), mv).reshape(15, 21, 8, 8).swapaxes(1, 2).reshape(120, 168)
        return jnp.clip(b + residual, 0, 255).astype(jnp.uint8)
    add('motion_compensated', compensated, grey, R.randint(-20, 20, (315, 2)).astype(np.int32), R.randint(-9, 9, (120, 168)).astype(np.int16))

    def intra(p):
        """Nine-way choice of predictions of 4x4 blocks by Hadamard sums of differences."""
        q = p.astype(jnp.int32)
        h = jnp.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, -1, 1], [1, -1, 1, -1]])
        b = q.reshape(30, 4, 42, 4).swapaxes(1, 2)[1:, 1:]
        top = q[3:-4:4].reshape(29, 42, 4)
        above, upper = top[:, 1:], jnp.concatenate([top[:, 2:], top[:, -1:]], 1)
        left = q.reshape(30, 4, 168)[1:, :, 3:-4:4].swapaxes(1, 2)
        corner = top[:, :-1, 3]
        edge = jnp.concatenate([left[..., ::-1], corner[..., None], above, upper], -1)
        smooth = (edge[..., :-2] + 2 * edge[..., 1:-1] + edge[..., 2:] + 2) >> 2
        i, j = np.mgrid[0:4, 0:4]
        dc = (above.sum(-1) + left.sum(-1) + 4) >> 3
        down_left, down_right = smooth[..., np.minimum(i + j + 5, 10)], smooth[..., 3 - i + j]
        plane = above[..., None, :] + left[..., :, None] - corner[..., None, None]
        ways = jnp.broadcast_arrays(above[..., None, :], left[..., :, None], dc[..., None, None], down_left, down_right, plane, b * 0 + 128)
        d = jnp.einsum('ui,mabij,vj->mabuv', h, jnp.stack(ways) - b, h)
        cost = jnp.abs(d).sum((-2, -1))
        return cost.argmin(0).astype(jnp.uint8), cost.min(0)
    add('intra_modes', intra, grey)

    def deblock(p, alpha, beta):
        """Edges between blocks of 8 smoothed where steps are small, along rows then columns, in integers."""
        def along(q):
            b = q.reshape(q.shape[0], -1, 8)
            p1, p0, q0, q1 = b[:, :-1, 6], b[:, :-1, 7], b[:, 1:, 0], b[:, 1:, 1]
            on = (jnp.abs(p0 - q0) < alpha) & (jnp.abs(p1 - p0) < beta) & (jnp.abs(q1 - q0) < beta)
            d = jnp.where(on, jnp.clip(((q0 - p0) * 4 + p1 - q1 + 4) >> 3, -6, 6), 0)
            return b.at[:, :-1, 7].add(d).at[:, 1:, 0].add(-d).reshape(q.shape)
        return jnp.clip(along(along(p.astype(jnp.int32)).T).T, 0, 255).astype(jnp.uint8)
    add('edges_of_blocks_smoothed', deblock, grey, np.int32(40), np.int32(25))

    def lifting(p):
        """Three levels of the reversible 5/3 wavelet by lifting, and back."""
        def fwd(x):
            e, o = x[..., ::2], x[..., 1::2]
            o = o - ((e + jnp.concatenate([e[..., 1:], e[..., -1:]], -1)) >> 1)
            e = e + ((o + jnp.concatenate([o[..., :1], o[..., :-1]], -1) + 2) >> 2)
            return jnp.concatenate([e, o], -1)
        def inv(x):
            n = x.shape[-1] // 2
            e, o = x[..., :n], x[..., n:]
            e = e - ((o + jnp.concatenate([o[..., :1], o[..., :-1]], -1) + 2) >> 2)
            o = o + ((e + jnp.concatenate([e[..., 1:], e[..., -1:]], -1)) >> 1)
            return jnp.stack([e, o], -1).reshape(x.shape)
        x = p.astype(jnp.int32)
        for l in range(3):
            h, w = 120 >> l, 168 >> l
            x = x.at[:h, :w].set(fwd(fwd(x[:h, :w]).T).T)
        coded = x
        q = jnp.sign(x) * (jnp.abs(x) >> 2) * 4
        for l in (2, 1, 0):
            h, w = 120 >> l, 168 >> l
            q = q.at[:h, :w].set(inv(inv(q[:h, :w].T).T))
        return coded.astype(jnp.int16), jnp.clip(q, 0, 255).astype(jnp.uint8)
    add('wavelets_5_3_by_lifting', lifting, grey)

    def ycocg(rgb):
        """YCoCg-R forward, gradients predicted by the median of neighbours, folded to unsigned."""
        r, g, b = (rgb[..., i].astype(jnp.int16) for i in range(3))
        co = r - b
        t = b + (co >> 1)
        cg = g - t
        x = jnp.stack([t + (cg >> 1), co, cg])
        p = jnp.pad(x, ((0, 0), (1, 0), (1, 0)))
        w, n, nw = p[:, 1:, :-1], p[:, :-1, 1:], p[:, :-1, :-1]
        guess = jnp.where(nw >= jnp.maximum(w, n), jnp.minimum(w, n), jnp.where(nw <= jnp.minimum(w, n), jnp.maximum(w, n), w + n - nw))
        e = x - guess
        u = (e << 1) ^ (e >> 15)
        return u.astype(jnp.uint16), (u >> 3).sum(dtype=jnp.int32)
    add('lossless_residuals', ycocg, colour)

    def golomb(u):
        """Places and bits of Rice codes of 1031 numbers, written into words by sums of shifted pieces."""
        k = 3
        q = jnp.minimum(u >> k, 8)
        code = ((jnp.uint32(1) << (q + 1)) - 2) << k | (u & 7)
        n = q + 1 + k
        at = jnp.cumsum(n) - n
        word, off = at >> 5, at & 31
        room = 32 - off
        high = jnp.where(n <= room, code << jnp.where(n <= room, room - n, 0), code >> jnp.where(n > room, n - room, 0))
        low = jnp.where(n > room, code << jnp.where(n > room, 32 - (n - room), 0), 0)
        out = jnp.zeros(512, jnp.uint32)
        return out.at[word].add(high).at[word + 1].add(low), at[-1] + n[-1]
    add('rice_codes_written', golomb, R.geometric(0.1, 1031).astype(np.uint32))

    def golomb_read(words):
        """Exp-Golomb codes read one after another out of words, 200 of them, for 13 streams."""
        def one(w):
            def step(at, _):
                i, o = at >> 5, at & 31
                v = (w[i] << o) | jnp.where(o > 0, w[i + 1] >> ((32 - o) & 31), 0)
                z = lax.clz(v | 1 << 16).astype(jnp.uint32)
                return at + 2 * z + 1, ((v << z) >> (31 - z)) - 1
            return lax.scan(step, jnp.uint32(0), None, length=200)[1]
        return jax.vmap(one)(words)
    add('exponential_golomb_read', golomb_read, R.randint(1 << 30, 1 << 32, (13, 300), dtype=np.int64).astype(np.uint32))

    def arithmetic(bits):
        """A binary arithmetic coder whose chances adapt, renormalised by 8 bits, over 700 symbols in 11 contexts."""
        def step(s, x):
            low, rng, chances = s
            bit, ctx = x
            p = chances[ctx]
            bound = (rng >> 12) * p
            low, rng = jnp.where(bit == 1, low, low + bound), jnp.where(bit == 1, bound, rng - bound)
            chances = chances.at[ctx].add(jnp.where(bit == 1, (4096 - p) >> 5, jnp.uint32(0) - (p >> 5)))
            small = rng < (1 << 24)
            out = jnp.where(small, low >> 24, 256)
            return (jnp.where(small, low << 8, low), jnp.where(small, rng << 8, rng), chances), out.astype(jnp.uint16)
        start = (jnp.uint32(0), jnp.uint32(0xFFFFFFFF), jnp.full(11, 2048, jnp.uint32))
        return lax.scan(step, start, (bits, jnp.arange(700) % 11))
    add('arithmetic_coder_adaptive', arithmetic, (R.rand(700) < 0.2).astype(np.uint32))

    def ssim(a, b):
        """Structural similarity at three scales by windows of 11 Gaussian weights."""
        g = jnp.exp(-((jnp.arange(11) - 5.0) ** 2) / 4.5)
        g = g / g.sum()
        def blur(x):
            x = jnp.apply_along_axis(lambda r: jnp.convolve(r, g, 'valid'), 1, x)
            return jnp.apply_along_axis(lambda r: jnp.convolve(r, g, 'valid'), 0, x)
        out = []
        for _ in range(3):
            ma, mb = blur(a), blur(b)
            va, vb, vab = blur(a * a) - ma * ma, blur(b * b) - mb * mb, blur(a * b) - ma * mb
            out.append((((2 * ma * mb + 6.5) * (2 * vab + 58.5)) / ((ma * ma + mb * mb + 6.5) * (va + vb + 58.5))).mean())
            a, b = (x.reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2).mean((1, 3)) for x in (a, b))
        return jnp.stack(out)
    add('structural_similarity', lambda a, b: ssim(a.astype(jnp.float32), b.astype(jnp.float32)), grey, np.roll(grey, 1, 1))
    add('structural_similarity_gradient', jax.grad(lambda a, b: ssim(a, b.astype(jnp.float32)).sum()),
        grey.astype(np.float32) + 3 * f32(120, 168), grey)

    def bc1(p):
        """BC1: each 4x4 block as two colours of 16 bits and 2-bit indices."""
        b = p.reshape(30, 4, 42, 4, 3).swapaxes(1, 2).reshape(-1, 16, 3).astype(jnp.int32)
        top, low = b.max(1), b.min(1)
        pack = lambda c: (c[:, 0] >> 3) << 11 | (c[:, 1] >> 2) << 5 | c[:, 2] >> 3
        ends = jnp.stack([top, low, (2 * top + low) // 3, (top + 2 * low) // 3], 1)
        d = ((b[:, :, None] - ends[:, None]) ** 2).sum(-1)
        i = d.argmin(-1).astype(jnp.uint32)
        return pack(top).astype(jnp.uint16), pack(low).astype(jnp.uint16), (i << (2 * jnp.arange(16, dtype=jnp.uint32))).sum(1, dtype=jnp.uint32)
    add('blocks_of_two_colours', bc1, colour)

    def ordered(p):
        """Ordered dithering of colours to 3, 3 and 2 bits, packed in bytes."""
        m = jnp.array([[0, 2], [3, 1]])
        for _ in range(2):
            m = jnp.block([[4 * m, 4 * m + 2], [4 * m + 3, 4 * m + 1]])
        t = jnp.tile(m, (15, 21))[..., None]
        levels = jnp.array([7, 7, 3])
        q = (p.astype(jnp.int32) * levels * 64 + t * 255) // (255 * 64)
        return (q[..., 0] << 5 | q[..., 1] << 2 | q[..., 2]).astype(jnp.uint8)
    add('ordered_dither', ordered, colour)

    def palette(p):
        """A palette of 16 colours by five rounds of means, and each pixel's nearest."""
        x = p.reshape(-1, 3).astype(jnp.float32)
        def step(c, _):
            k = ((x * x).sum(1, keepdims=True) - 2 * x @ c.T + (c * c).sum(1)).argmin(1)
            n = jax.ops.segment_sum(jnp.ones(len(x)), k, 16)
            s = jax.ops.segment_sum(x, k, 16)
            return jnp.where(n[:, None] > 0, s / jnp.maximum(n, 1)[:, None], c), None
        c = lax.scan(step, x[:: len(x) // 16][:16], None, length=2)[0]
        return c
    add('palette_by_means', palette, colour[::3, ::3].copy())

    def nv12(y, uv):
        """NV12 to RGB in 16-bit integers, half size."""
        c = (y.astype(jnp.int32) - 16) * 298
        u, v = uv[..., 0].astype(jnp.int32) - 128, uv[..., 1].astype(jnp.int32) - 128
        up = lambda a: jnp.repeat(jnp.repeat(a, 2, 0), 2, 1)
        rgb = jnp.stack([c + up(409 * v), c - up(100 * u + 208 * v), c + up(516 * u)], -1) + 128
        rgb = jnp.clip(rgb >> 8, 0, 255)
        return ((rgb[::2, ::2] + rgb[1::2, ::2] + rgb[::2, 1::2] + rgb[1::2, 1::2] + 2) >> 2).astype(jnp.uint8)
    add('nv12_to_rgb_halved', nv12, grey, u8(60, 84, 2))

    def planes(z):
        """Bit planes of coefficients, most significant first: what becomes significant in each, and which signs are sent."""
        m = jnp.abs(z.astype(jnp.int32))
        def step(s, b):
            bit = (m >> b) & 1
            new = (s == 0) & (bit == 1)
            near = lax.reduce_window(s, 0, lax.max, (3, 3), (1, 1), 'SAME')
            return s | bit, (new.sum(), (new & (near > 0)).sum(), (bit & s).sum())
        return lax.scan(step, jnp.zeros_like(m), jnp.arange(9, -1, -1))
    add('planes_of_bits', planes, (40 * f32(96, 104)).astype(np.int16))

    def loss(p, target):
        """Rate and distortion of a learned step size per frequency with rounding passed straight through: gradients."""
        c = coefficients(target)
        s = jnp.exp(p)
        z = c / s
        q = z + lax.stop_gradient(jnp.round(z) - z)
        return ((q * s - c) ** 2).mean() + 20 * jnp.log2(1 + jnp.abs(q)).mean()
    add('learned_quantisation_gradient', jax.value_and_grad(loss), np.log(table).astype(np.float32), grey.astype(np.float32))
    return P
