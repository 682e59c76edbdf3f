"""Pictures and sounds: filters, transforms, features and flows of image and audio libraries."""
import numpy as np

from by_value import Programs, Random

R = Random(0)
f32 = R.f32
FACTOR = 128.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn

    P = Programs()
    add = P.add
    fori = lax.fori_loop
    picture = np.abs(f32(61, 83)) % 1

    def bilateral(x):
        p = jnp.pad(x, 3, mode='reflect')
        num = den = 0.0
        for i in range(7):
            for j in range(7):
                y = p[i:i + x.shape[0], j:j + x.shape[1]]
                w = np.float32(np.exp(-((i - 3) ** 2 + (j - 3) ** 2) / 8)) * jnp.exp(-(y - x) ** 2 * 20)
                num, den = num + w * y, den + w
        return num / den
    add('bilateral', bilateral, picture)

    blur_kernel = np.exp(-np.arange(-3, 4) ** 2 / 4).astype(np.float32)
    blur_kernel /= blur_kernel.sum()

    def blur(x, k=blur_kernel):
        r = len(k) // 2
        p = jnp.pad(x, ((r, r), (0, 0)), mode='edge')
        x = sum(w * p[i:i + x.shape[0]] for i, w in enumerate(k))
        p = jnp.pad(x, ((0, 0), (r, r)), mode='edge')
        return sum(w * p[:, i:i + x.shape[1]] for i, w in enumerate(k))

    def gradients(x):
        p = jnp.pad(x, 1, mode='edge')
        gx = p[1:-1, 2:] - p[1:-1, :-2] + 0.5 * (p[:-2, 2:] - p[:-2, :-2] + p[2:, 2:] - p[2:, :-2])
        gy = p[2:, 1:-1] - p[:-2, 1:-1] + 0.5 * (p[2:, :-2] - p[:-2, :-2] + p[2:, 2:] - p[:-2, 2:])
        return gx, gy

    def edges(x):
        gx, gy = gradients(blur(x))
        m = jnp.sqrt(gx * gx + gy * gy)
        sector = jnp.round(jnp.arctan2(gy, gx) / (np.pi / 4)).astype(jnp.int32) % 4
        around = {0: (0, 1), 1: (1, 1), 2: (1, 0), 3: (1, -1)}
        keep = jnp.zeros(x.shape, bool)
        for s, d in around.items():
            keep |= (sector == s) & (m >= jnp.roll(m, d, (0, 1))) & (m >= jnp.roll(m, (-d[0], -d[1]), (0, 1)))
        strong, weak = keep & (m > 0.5), keep & (m > 0.2)

        def grow(s):
            on, _ = s
            p = jnp.pad(on, 1)
            new = weak & sum(p[i:i + x.shape[0], j:j + x.shape[1]].astype(jnp.int32) for i in range(3) for j in range(3)).astype(bool)
            return new | on, ((new | on) != on).any()
        return lax.while_loop(lambda s: s[1], grow, (strong, True))[0].sum() * 0.1
    add('edges_by_hysteresis', edges, picture)

    def corners(x):
        gx, gy = gradients(x)
        a, b, c = blur(gx * gx), blur(gx * gy), blur(gy * gy)
        r = a * c - b * b - 0.05 * (a + c) ** 2
        top = lax.reduce_window(r, -jnp.inf, lax.max, (5, 5), (1, 1), 'SAME')
        return lax.top_k(jnp.where(r == top, r, -1).reshape(-1), 50)
    add('corners', corners, picture)

    def scale_space(x):
        levels = [x]
        for s in (1.0, 1.4, 2.0, 2.8):
            k = np.exp(-np.arange(-6, 7) ** 2 / (2 * s * s)).astype(np.float32)
            levels.append(blur(levels[-1], k / k.sum()))
        d = jnp.stack([b - a for a, b in zip(levels, levels[1:])])
        top = lax.reduce_window(d, -jnp.inf, lax.max, (3, 3, 3), (1, 1, 1), 'SAME')
        low = lax.reduce_window(d, jnp.inf, lax.min, (3, 3, 3), (1, 1, 1), 'SAME')
        return jnp.where((d == top) | (d == low), jnp.abs(d), 0)[1:3]
    add('extremes_of_scales', scale_space, picture)

    def flow(a, b):
        gx, gy = gradients(0.5 * (a + b))
        gx, gy, gt = gx / 4, gy / 4, b - a

        def step(i, s):
            u, v = s
            mean = lambda f: (jnp.roll(f, 1, 0) + jnp.roll(f, -1, 0) + jnp.roll(f, 1, 1) + jnp.roll(f, -1, 1)) / 4
            p, q = mean(u), mean(v)
            r = (gx * p + gy * q + gt) / (0.1 + gx * gx + gy * gy)
            return p - gx * r, q - gy * r
        return fori(0, 30, step, (jnp.zeros_like(a), jnp.zeros_like(a)))
    add('optical_flow', flow, picture, np.roll(picture, 1, 1))

    def local_flow(a, b):
        gx, gy = gradients(a)
        box = lambda v: lax.reduce_window(v, 0.0, lax.add, (7, 7), (1, 1), 'SAME')
        xx, xy, yy, xt, yt = (box(v) for v in (gx * gx, gx * gy, gy * gy, gx * (b - a), gy * (b - a)))
        det = xx * yy - xy * xy + 1e-2
        return jnp.stack([(xy * yt - yy * xt) / det, (xy * xt - xx * yt) / det], -1)
    add('flow_of_windows', local_flow, picture, np.roll(picture, 1, 0))

    def sample(x, r, c):
        r, c = jnp.clip(r, 0, x.shape[0] - 1.001), jnp.clip(c, 0, x.shape[1] - 1.001)
        i, j = r.astype(jnp.int32), c.astype(jnp.int32)
        a, b = r - i, c - j
        return (1 - a) * ((1 - b) * x[i, j] + b * x[i, j + 1]) + a * ((1 - b) * x[i + 1, j] + b * x[i + 1, j + 1])

    def radon(x, angles):
        t = jnp.arange(x.shape[0]) - x.shape[0] / 2
        return jax.vmap(lambda a: sample(x, t[:, None] * jnp.cos(a) - t[None] * jnp.sin(a) + x.shape[0] / 2, t[:, None] * jnp.sin(a) + t[None] * jnp.cos(a) + x.shape[1] / 2).sum(1))(angles)
    add('projections', radon, np.abs(f32(48, 48)), np.linspace(0, 3.1, 31).astype(np.float32))
    add('reconstruction_step', lambda x, y, a: x - 0.001 * jax.grad(lambda x: ((radon(x, a) - y) ** 2).sum())(x), np.abs(f32(32, 32)), f32(20, 32), np.linspace(0, 3.1, 20).astype(np.float32))

    def lines(edge):
        a = jnp.linspace(0, np.pi, 60, endpoint=False)
        i, j = jnp.indices(edge.shape)
        r = jnp.round(i[..., None] * jnp.sin(a) * 0.5 + j[..., None] * jnp.cos(a) * 0.5).astype(jnp.int32) + 64
        return jnp.zeros((160, 60), jnp.int32).at[r, jnp.arange(60)].add(edge[..., None].astype(jnp.int32)).max(1)
    add('lines_by_votes', lines, (picture > 0.9)[:40, :40])

    def equalise(x):
        h = jnp.zeros(256, jnp.int32).at[x.reshape(-1)].add(1)
        c = jnp.cumsum(h)
        table = jnp.clip(jnp.round((c - c[0]) * 255.0 / (c[-1] - c[0])), 0, 255).astype(jnp.uint8)
        return table[x]
    add('equalised_bytes', equalise, R.u8(97, 101))
    add('equalised_tiles', lambda x: jax.vmap(equalise)(x.reshape(4, 16, 6, 16).transpose(0, 2, 1, 3).reshape(24, 16, 16)), R.u8(64, 96))
    add('median_3x3', lambda x: jnp.sort(jnp.stack([jnp.pad(x, 1, mode='edge')[i:i + 61, j:j + 83] for i in range(3) for j in range(3)]), 0)[4], picture)
    add('opened_mask', lambda m: (lambda shrink, grow: grow(grow(shrink(shrink(m)))))(*[lambda v, f=f, i=i: lax.reduce_window(v, i, f, (3, 3), (1, 1), 'SAME') for f, i in ((lax.bitwise_and, True), (lax.bitwise_or, False))]), picture > 0.1)

    def parts(mask):
        n = mask.size
        label = jnp.where(mask, jnp.arange(n).reshape(mask.shape), n)

        def spread(s):
            l, _ = s
            p = jnp.pad(l, 1, constant_values=n)
            new = jnp.where(mask, jnp.minimum(jnp.minimum(jnp.minimum(p[2:, 1:-1], p[:-2, 1:-1]), jnp.minimum(p[1:-1, 2:], p[1:-1, :-2])), l), n)
            return new, (new != l).any()
        return lax.while_loop(lambda s: s[1], spread, (label, True))[0]
    add('connected_parts', parts, picture > 0.4)

    def distances(mask):
        big = jnp.float32(1e6)
        d = jnp.where(mask, 0, big)

        def sweep(d):
            f = lax.scan(lambda a, b: ((jnp.minimum(a + 1, b),) * 2), jnp.full(d.shape[1], big), d)[1]
            return lax.scan(lambda a, b: ((jnp.minimum(a + 1, b),) * 2), jnp.full(d.shape[1], big), f, reverse=True)[1]
        rows = sweep(d)
        i = jnp.arange(d.shape[1])
        return jnp.sqrt((rows[:, None] ** 2 + (i[:, None] - i[None]) ** 2).min(-1))
    add('distance_to_mask', distances, picture > 0.97)

    def seam(x):
        def row(above, e):
            left = jnp.concatenate([jnp.full(1, jnp.inf), above[:-1]])
            right = jnp.concatenate([above[1:], jnp.full(1, jnp.inf)])
            three = jnp.stack([left, above, right])
            return three.min(0) + e, three.argmin(0) - 1
        last, back = lax.scan(row, x[0], x[1:])
        end = last.argmin()
        return jnp.append(lax.scan(lambda k, b: (k + b[k], k + b[k]), end, back, reverse=True)[1], end)
    add('seam', seam, picture)

    def perlin(table, y, x):
        fade = lambda t: t * t * t * (t * (t * 6 - 15) + 10)
        total = 0.0
        for octave in range(4):
            s = 2 ** octave
            i, j = jnp.floor(y * s).astype(jnp.int32), jnp.floor(x * s).astype(jnp.int32)
            a, b = y * s - i, x * s - j

            def corner(di, dj):
                h = table[(table[(i + di) & 255] + j + dj) & 255] & 7
                u = jnp.where(h < 4, a - di, b - dj)
                v = jnp.where(h < 4, b - dj, a - di)
                return jnp.where(h & 1, -u, u) + jnp.where(h & 2, -2 * v, 2 * v)
            f, g = fade(a), fade(b)
            top = corner(0, 0) + g * (corner(0, 1) - corner(0, 0))
            total += (top + f * (corner(1, 0) + g * (corner(1, 1) - corner(1, 0)) - top)) / s
        return total
    grid = np.meshgrid(np.linspace(0, 5, 97), np.linspace(0, 4, 71), indexing='ij')
    add('perlin_noise', perlin, R.permutation(256).astype(np.int32), *[g.astype(np.float32) for g in grid])

    dct = np.array([[np.cos(np.pi * (2 * j + 1) * i / 16) * (0.5 if i else 0.5 ** 1.5) for j in range(8)] for i in range(8)], np.float32)
    table = (1 + np.arange(8)[:, None] + np.arange(8)).astype(np.float32)

    def jpeg(x):
        b = x.astype(jnp.float32) - 128
        y = b @ jnp.array([[0.299, -0.1687, 0.5], [0.587, -0.3313, -0.4187], [0.114, 0.5, -0.0813]])
        y = y.reshape(x.shape[0] // 8, 8, x.shape[1] // 8, 8, 3).transpose(4, 0, 2, 1, 3)
        q = jnp.round(dct @ y @ dct.T / (10 * table))
        y = (dct.T @ (q * 10 * table) @ dct).transpose(1, 3, 2, 4, 0).reshape(x.shape)
        rgb = y @ jnp.array([[1, 1, 1], [0, -0.34414, 1.772], [1.402, -0.71414, 0]]) + 128
        return ((rgb - x) ** 2).mean(), (q != 0).sum((1, 2)).astype(jnp.float32).mean((1, 2)) / 64
    add('blocks_of_cosines', jpeg, R.u8(48, 64, 3))

    def wavelets(x):
        low = np.array([0.4829629131, 0.8365163037, 0.2241438680, -0.1294095226], np.float32)
        high = low[::-1] * np.array([1, -1, 1, -1], np.float32)
        parts = []
        for _ in range(5):
            p = jnp.stack([jnp.roll(x, -k, -1)[..., ::2] for k in range(4)])
            parts.append(jnp.tensordot(high, p, 1))
            x = jnp.tensordot(low, p, 1)
        return x, [jnp.sign(v) * nn.relu(jnp.abs(v) - 0.1) for v in parts]
    add('wavelets', wavelets, f32(5, 1024))

    def haar(x):
        parts = []
        for _ in range(3):
            a, b, c, d = (x[i::2, j::2] for i in (0, 1) for j in (0, 1))
            parts.append(jnp.stack([a - b + c - d, a + b - c - d, a - b - c + d]) / 2)
            x = (a + b + c + d) / 2
        return x, parts
    add('haar_pyramid', haar, f32(96, 112))

    def sharpen(y, psf):
        n, m = y.shape
        k = jnp.fft.rfft2(psf, (n, m))

        def step(i, x):
            r = y / (jnp.fft.irfft2(jnp.fft.rfft2(x) * k, (n, m)) + 1e-3)
            return x * jnp.fft.irfft2(jnp.fft.rfft2(r) * jnp.conj(k), (n, m))
        return fori(0, 8, step, jnp.full_like(y, 0.5))
    add('deconvolution', sharpen, np.abs(f32(60, 72)) + 0.5, np.outer(blur_kernel, blur_kernel))

    def denoise(x):
        def step(s, _):
            u, p, q = s
            p2, q2 = p + 0.2 * jnp.diff(u, axis=0, append=u[-1:]), q + 0.2 * jnp.diff(u, axis=1, append=u[:, -1:])
            m = jnp.maximum(1, jnp.sqrt(p2 * p2 + q2 * q2))
            p, q = p2 / m, q2 / m
            div = p - jnp.pad(p, ((1, 0), (0, 0)))[:-1] + q - jnp.pad(q, ((0, 0), (1, 0)))[:, :-1]
            return (x + 0.1 * div, p, q), None
        return lax.scan(step, (x, jnp.zeros_like(x), jnp.zeros_like(x)), None, length=25)[0][0]
    add('total_variation_by_duals', denoise, picture)

    # Sounds.
    def frames(x, n, hop):
        return x[jnp.arange(0, len(x) - n + 1, hop)[:, None] + jnp.arange(n)]

    def cepstra(x, bank):
        s = jnp.abs(jnp.fft.rfft(frames(x, 400, 160) * jnp.hanning(400), 512)) ** 2
        m = jnp.log(s @ bank + 1e-3)
        k = jnp.arange(26)
        return m @ jnp.cos(np.pi / 26 * (k[:, None] + 0.5) * jnp.arange(13))
    add('cepstra', cepstra, f32(8000), np.abs(f32(257, 26)))

    def phases(mag):
        n, hop = 128, 32
        w = jnp.hanning(n)

        def inverse(s):
            f = jnp.fft.irfft(s, n) * w
            at = jnp.arange(len(s))[:, None] * hop + jnp.arange(n)
            size = (len(s) - 1) * hop + n
            return jnp.zeros(size).at[at].add(f) / (jnp.zeros(size).at[at].add(jnp.broadcast_to(w * w, f.shape)) + 0.1)

        def step(i, x):
            s = jnp.fft.rfft(frames(x, n, hop) * w)
            return inverse(mag * s / (jnp.abs(s) + 0.1))
        return fori(0, 4, step, inverse(mag + 0j))
    add('sound_of_magnitudes', phases, np.abs(f32(30, 65)))

    def equaliser(x, sos):
        def section(x, c):
            def step(s, v):
                y = c[0] * v + s[0]
                return (c[1] * v - c[3] * y + s[1], c[2] * v - c[4] * y), y
            return lax.scan(step, (0.0, 0.0), x)[1], None
        return lax.scan(section, x, sos)[0]
    add('filter_of_sections', equaliser, f32(2000), 0.2 * f32(5, 5) + np.array([1, 0, 0, 0, 0], np.float32))
    add('filters_of_channels', jax.vmap(equaliser, (0, None)), f32(19, 400), 0.2 * f32(3, 5) + np.array([1, 0, 0, 0, 0], np.float32))

    def compressor(x):
        def step(e, v):
            a = jnp.abs(v)
            e = jnp.where(a > e, 0.1 * a + 0.9 * e, 0.001 * a + 0.999 * e)
            return e, v * jnp.minimum(1, (0.5 / (e + 1e-4)) ** 0.75)
        return lax.scan(step, 0.0, x)[1]
    add('compressor', compressor, f32(6000))

    def string(noise, n):
        def step(s, _):
            line, i = s
            a, b = line[i], line[(i + 1) % 109]
            v = 0.498 * (a + b)
            return (line.at[i].set(v), (i + 1) % 109), v
        return lax.scan(step, (noise, 0), None, length=n)[1]
    add('plucked_string', lambda x: string(x, 5000), f32(109))

    def pitch(x):
        f = frames(x, 256, 64)
        p = jnp.abs(jnp.fft.rfft(f, 512)) ** 2
        r = jnp.fft.irfft(p)[:, :128]
        d = r[:, :1] * 2 - 2 * r
        d = d * jnp.arange(128) / (jnp.cumsum(d, 1) + 1e-3)
        return d[:, 20:].min(1), r[:, 0]
    add('pitch', pitch, f32(4000))
    add('resampled', lambda x, h: (lambda up: jnp.convolve(up, h, 'same')[::2])(jnp.zeros(len(x) * 3).at[::3].set(x)), f32(3001), f32(61) * 0.1)
    add('adaptive_filter', lambda x, d: lax.scan(lambda w, s: (lambda e: (w + 0.1 * e * s[0] / (1e-2 + s[0] @ s[0]), e))(s[1] - w @ s[0]), jnp.zeros(24), (x[jnp.arange(800)[:, None] + jnp.arange(24)], d))[1], f32(823), f32(800))
    return P
