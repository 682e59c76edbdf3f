"""Sounds made and treated: synthesis, reverberation, rates, loudness, pitch and time, lapped transforms, echoes, rooms."""
import numpy as np

from by_value import Programs, Random

R = Random(227)
f32, i32 = R.f32, R.i32
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    t = np.arange(8820) / 22050
    voice = (0.4 * np.sin(2 * np.pi * 220 * t) + 0.2 * np.sin(2 * np.pi * 660 * t + 1) + 0.05 * R.randn(8820)).astype(np.float32)

    def frames(x, size, hop):
        n = (len(x) - size) // hop + 1
        return x[jnp.arange(n)[:, None] * hop + jnp.arange(size)]

    def overlap(f, hop):
        n, size = f.shape
        at = jnp.arange(n)[:, None] * hop + jnp.arange(size)
        return jnp.zeros((n - 1) * hop + size, f.dtype).at[at].add(f)

    def polyphase(x, up, down, taps):
        """Rates changed by 147/160: each output has its phase of 160 taps."""
        n = len(x) * up // down
        k = jnp.arange(n) * down
        phase, base = k % up, k // up
        width = len(taps) // up
        h = taps.reshape(width, up).T
        p = jnp.pad(x, (width - 1, 0))
        return (h[phase] * p[base[:, None] + width - 1 - jnp.arange(width)]).sum(1)
    add('rates_147_to_160', lambda x, h: polyphase(x, 147, 160, h), voice[:4000], (0.1 * f32(147 * 12)))

    def upsampled(x, h):
        """Three times as many samples by a convolution with holes, in stereo, then limited by the true peak."""
        y = lax.conv_general_dilated(x[:, None], h[None, None], (1,), [(35, 35)], lhs_dilation=(3,))[:, 0]
        peak = lax.reduce_window(jnp.abs(y), 0.0, lax.max, (1, 241), (1, 1), 'SAME')
        return y / jnp.maximum(1, peak)
    add('true_peaks_limited', upsampled, f32(2, 3001), 0.2 * f32(71))

    def loudness(x, b, a):
        """Gated loudness of stereo: two biquads, blocks of 400 ms that overlap, two gates."""
        def biquad(x, b, a):
            def step(s, v):
                y = b[0] * v + s[0]
                return (b[1] * v - a[0] * y + s[1], b[2] * v - a[1] * y), y
            return lax.scan(step, (jnp.zeros(2), jnp.zeros(2)), x)[1]
        y = biquad(biquad(x, b[0], a[0]), b[1], a[1])
        z = (frames((y * y).sum(1), 1764, 441)).mean(1)
        l = -0.691 + 10 * jnp.log10(z + 1e-9)
        gate = l > -70
        rel = -10.691 + 10 * jnp.log10((z * gate).sum() / jnp.maximum(gate.sum(), 1) + 1e-9)
        g = gate & (l > rel)
        return -0.691 + 10 * jnp.log10((z * g).sum() / jnp.maximum(g.sum(), 1) + 1e-9), y
    add('loudness_gated', loudness, f32(6000, 2) * 0.1, np.array([[1.53, -2.69, 1.2], [1, -2, 1]], np.float32),
        np.array([[-1.69, 0.73], [-1.98, 0.985]], np.float32))

    def equaliser_blocks(x, p, b, a):
        """Ten biquads in series for 5 channels in blocks of 64 samples, states carried between blocks."""
        def block(s, xb):
            def section(y, q):
                s, b, a = q
                def step(s, v):
                    y = b[0] * v + s[0]
                    return jnp.stack([b[1] * v - a[0] * y + s[1], b[2] * v - a[1] * y]), y
                s, y = lax.scan(step, s, y)
                return y, s
            y, s = lax.scan(section, xb, (s, b, a))
            return s, y
        return lax.scan(block, p, x.reshape(-1, 64, 5))
    add('sections_in_blocks', equaliser_blocks, f32(1024, 5), np.zeros((10, 2, 5), np.float32), 0.3 * f32(10, 3), 0.1 * f32(10, 2))

    def feedback_delays(x, gains):
        """A reverberator of 8 delays of prime lengths, fed back through a Hadamard matrix, one sample at a time."""
        n = np.array([149, 211, 263, 293, 331, 373, 419, 457])
        h = np.array([[(-1) ** bin(i & j).count('1') for j in range(8)] for i in range(8)], np.float32) / np.sqrt(8).astype(np.float32)
        def step(s, v):
            lines, low, k = s
            out = lines[jnp.arange(8), k % n]
            low = 0.6 * out + 0.4 * low
            lines = lines.at[jnp.arange(8), k % n].set(v + gains * (h @ low))
            return (lines, low, k + 1), out.sum()
        return lax.scan(step, (jnp.zeros((8, 457)), jnp.zeros(8), 0), x)[1]
    add('reverberator_of_8_delays', feedback_delays, voice[:2000], np.full(8, 0.83, np.float32))

    def partitioned(x, h):
        """A room's response of 4096 taps in parts of 256: spectra in a ring, one block after another."""
        parts = jnp.fft.rfft(h.reshape(16, 256), 512)
        def step(s, xb):
            last, ring = s
            ring = jnp.concatenate([jnp.fft.rfft(jnp.concatenate([last, xb]))[None], ring[:-1]])
            y = jnp.fft.irfft((ring * parts).sum(0))[256:]
            return (xb, ring), y
        return lax.scan(step, (jnp.zeros(256), jnp.zeros((16, 257), jnp.complex64)), x.reshape(-1, 256))[1].ravel()
    add('convolution_in_parts', partitioned, f32(8192), 0.05 * f32(4096))

    def operators(ratios, index, envelope):
        """Frequency modulation by 4 operators in a ring of feedback, 6 voices, one sample at a time."""
        def step(s, e):
            phase, out = s
            mod = jnp.roll(out, 1, 1) * index
            phase = (phase + ratios) % 1
            out = jnp.sin(2 * jnp.pi * phase + mod) * e
            return (phase, out), out[:, 3].sum()
        return lax.scan(step, (jnp.zeros(ratios.shape), jnp.zeros(ratios.shape)), envelope)[1]
    add('frequency_modulation', operators, R.uniform(0.005, 0.04, (6, 4)).astype(np.float32), R.uniform(0.01, 0.1, (6, 4)).astype(np.float32),
        np.exp(-np.arange(1500) / 700).astype(np.float32))

    def wavetable(table, pitch, scan):
        """16 voices read a bank of waves: phases summed along time, cubic between samples, linear between waves."""
        phase = (jnp.cumsum(pitch, 1) % 1) * 256
        i = jnp.floor(phase).astype(int)
        f = phase - i
        w = jnp.floor(scan).astype(int)
        g = scan - w
        def read(w):
            p = [table[w, (i + k) % 256] for k in (-1, 0, 1, 2)]
            a = 0.5 * (3 * (p[1] - p[2]) - p[0] + p[3])
            b = p[2] + p[2] + p[0] - 0.5 * (5 * p[1] + p[3])
            return ((a * f + b) * f + 0.5 * (p[2] - p[0])) * f + p[1]
        return (read(w) * (1 - g) + read(jnp.minimum(w + 1, 7)) * g).sum(0)
    add('bank_of_waves', wavetable, f32(8, 256), np.full((16, 1500), 1 / 128, np.float32) * R.randint(1, 9, (16, 1)).astype(np.float32),
        R.uniform(0, 7.9, (16, 1500)).astype(np.float32))

    def grains(x, starts, places, pitches):
        """120 grains of 512 samples, each at its own pitch, windowed and added where they belong."""
        w = jnp.hanning(512)
        k = jnp.arange(512)
        def one(s, p):
            u = s + k * p
            i = u.astype(int)
            return w * (x[i] + (u - i) * (x[i + 1] - x[i]))
        g = jax.vmap(one)(starts, pitches)
        return jnp.zeros(9000).at[places[:, None] + k].add(g)
    add('grains_of_sound', grains, voice, R.uniform(0, 7500, 120).astype(np.float32), i32(8400, 120), R.uniform(0.5, 2, 120).astype(np.float32))

    def goertzel(x):
        """Eight tones of a telephone by Goertzel's recurrence over frames of 205, and the key of each."""
        f = jnp.array([697.0, 770, 852, 941, 1209, 1336, 1477, 1633])
        c = 2 * jnp.cos(2 * jnp.pi * f / 8000)
        fr = x[:205 * 40].reshape(40, 205)
        def step(s, v):
            return (v[:, None] + c * s[0] - s[1], s[0]), None
        a, b = lax.scan(step, (jnp.zeros((40, 8)), jnp.zeros((40, 8))), fr.T)[0]
        p = a * a + b * b - c * a * b
        return p, p[:, :4].argmax(1) * 4 + p[:, 4:].argmax(1)
    add('tones_of_telephones', goertzel, f32(8820))

    def yin(x):
        """Pitch by the cumulative mean of differences of frames, the first dip, its parabola."""
        f = frames(x, 1024, 256)
        s = jnp.fft.rfft(f[:, :512], 2048)
        r = jnp.fft.irfft(jnp.conj(s) * jnp.fft.rfft(f, 2048))[:, :512]
        e = jnp.cumsum(jnp.pad(f * f, ((0, 0), (1, 0))), 1)
        d = e[:, 512:513] + e[:, 512:1024] - e[:, :512] - 2 * r
        k = jnp.arange(1, 512)
        n = jnp.concatenate([jnp.ones((len(f), 1)), d[:, 1:] * k / jnp.maximum(jnp.cumsum(d[:, 1:], 1), 1e-6)], 1)
        at = jnp.clip(jnp.where((n < 0.35) & (n < jnp.roll(n, -1, 1)), jnp.arange(512), 511).min(1), 1, 510)
        a, b, c = (jnp.take_along_axis(n, at[:, None] + o, 1)[:, 0] for o in (-1, 0, 1))
        return n, at, b
    add('pitch_by_differences', lambda x: yin(x)[0], voice)

    def mdct(x):
        """A lapped transform of 256 with a sine window, quantised by bands, and back by overlap."""
        n = 256
        k = np.arange(n)
        c = np.sqrt(2 / n) * np.cos(np.pi / n * (np.arange(2 * n)[:, None] + 0.5 + n / 2) * (k + 0.5))
        c = (np.sin(np.pi * (np.arange(2 * n)[:, None] + 0.5) / (2 * n)) * c).astype(np.float32)
        y = frames(x, 2 * n, n) @ c
        s = jnp.sqrt((y.reshape(-1, 16, 16) ** 2).mean(-1))[..., None] * 0.05 + 1e-4
        q = y.reshape(-1, 16, 16) / s
        q = (q + lax.stop_gradient(jnp.clip(q, -30, 30) - q)) * s
        return overlap(q.reshape(-1, n) @ c.T, n), y
    add('lapped_transform', mdct, voice)

    def griffin_lim(m):
        """Phases found for magnitudes by ten rounds of transforms there and back."""
        w = jnp.hanning(512)
        spec = lambda x: jnp.fft.rfft(frames(x, 512, 128) * w)
        def wave(s):
            return overlap(jnp.fft.irfft(s) * w, 128)
        def step(s, _):
            y = spec(wave(s))
            return m * y / jnp.maximum(jnp.abs(y), 1e-5), None
        return wave(lax.scan(step, m.astype(jnp.complex64), None, length=10)[0])
    add('phases_found', griffin_lim, np.abs(f32(40, 257)) + 0.5)

    def constant_q(x, kernel):
        """Four octaves of 12 semitones, each by a product with complex kernels after halving the rate."""
        h = jnp.array([0.05, 0.25, 0.4, 0.25, 0.05])
        out = []
        for _ in range(4):
            f = frames(x, 256, 128)
            out.append(jnp.abs(f @ kernel)[: 12])
            x = jnp.convolve(x, h, 'same')[::2]
        c = jnp.stack([o[:12] if len(o) >= 12 else jnp.pad(o, ((0, 12 - len(o)), (0, 0))) for o in out], -1)
        chroma = c.sum(-1)
        return chroma / (jnp.abs(chroma).max(1, keepdims=True) + 1e-6), c
    add('semitones', constant_q, voice, (f32(256, 12) + 1j * f32(256, 12)).astype(np.complex64))

    def onsets(x):
        """Flux of mel bands, tempo from its autocorrelation, beats by dynamic programming."""
        m = jnp.abs(jnp.fft.rfft(frames(x, 512, 64) * jnp.hamming(512))) ** 2
        edges = jnp.linspace(0, 200, 26)
        k = jnp.arange(257)
        bank = jnp.clip(jnp.minimum((k - edges[:-2, None]) / 8, (edges[2:, None] - k) / 8), 0)
        f = jnp.log1p(10 * m @ bank.T)
        flux = jnp.maximum(f[1:] - f[:-1], 0).sum(1)
        flux = (flux - flux.mean()) / flux.std()
        lag = jnp.arange(5, 60)
        cost = -5 * jnp.log(lag / 20.0) ** 2
        def step(s, v):
            window = s[60 - lag] + cost
            best = window.max()
            now = v + jnp.maximum(best, 0)
            return jnp.concatenate([s[1:], now[None]]), now
        return lax.scan(step, jnp.zeros(60), flux)[1], flux
    add('beats', onsets, voice)

    def kalman_echo(far, near):
        """Echoes taken away by normalised least mean squares of 96 taps, held still while both talk."""
        def step(s, v):
            w, x, env = s
            x = jnp.concatenate([v[:1], x[:-1]])
            e = v[1] - w @ x
            env = jnp.maximum(jnp.abs(v[0]), 0.995 * env)
            mu = jnp.where(jnp.abs(v[1]) > 2 * env, 0.0, 0.4)
            return (w + mu * e * x / (x @ x + 1e-2), x, env), e
        return lax.scan(step, (jnp.zeros(96), jnp.zeros(96), jnp.float32(0)), jnp.stack([far, near], 1))[1]
    add('echoes_cancelled', kalman_echo, f32(1500), f32(1500))

    def subbands(x, p):
        """Echo cancelling in 65 complex bands by affine projections of order 2, over frames."""
        s = jnp.fft.rfft(frames(x, 128, 64))
        d = jnp.fft.rfft(frames(p, 128, 64))
        def step(w, v):
            a, b, d = v
            u = jnp.stack([a, b])
            e = d - (w * u).sum(0)
            return w + 0.5 * jnp.conj(u) * e / ((jnp.abs(u) ** 2).sum(0) + 0.1), e
        e = lax.scan(step, jnp.zeros((2, 65), jnp.complex64), (s[1:], s[:-1], d[1:]))[1]
        return overlap(jnp.fft.irfft(e), 64)
    add('echoes_in_bands', subbands, f32(8000), f32(8000))

    def images(room, src, mic):
        """A room's response by image sources: 11^3 of them at fractional delays through windowed sinc."""
        k = jnp.arange(-5, 6)
        g = jnp.stack(jnp.meshgrid(k, k, k, indexing='ij'), -1).reshape(-1, 3)
        place = jnp.where(g % 2 == 0, g * room + src, (g + 1) * room - src)
        d = jnp.sqrt(((place - mic) ** 2).sum(-1))
        amp = 0.8 ** jnp.abs(g).sum(-1) / (4 * jnp.pi * d)
        tau = d / 343 * 16000
        n = jnp.arange(-10, 11)
        base = jnp.floor(tau).astype(int)
        x = n - (tau - base)[:, None]
        h = jnp.sinc(x) * (0.5 + 0.5 * jnp.cos(jnp.pi * x / 11.5))
        return jnp.zeros(4000).at[jnp.clip(base[:, None] + n, 0, 3999)].add(amp[:, None] * h)
    add('response_of_a_room', images, np.array([5.3, 4.1, 2.7], np.float32), np.array([1.2, 3, 1.4], np.float32), np.array([4, 1, 1.2], np.float32))

    def ducked(x, key):
        """A compressor with attack and release on the level of another track, look-ahead by a sliding maximum."""
        lev = 20 * jnp.log10(lax.reduce_window(jnp.abs(key), 0.0, lax.max, (64,), (1,), 'SAME') + 1e-5)
        over = jnp.maximum(lev + 20, 0) * 0.75
        def step(g, o):
            g = o + jnp.where(o > g, 0.9, 0.999) * (g - o)
            return g, g
        return x * 10 ** (-lax.scan(step, jnp.float32(0), over)[1] / 20)
    add('ducking', ducked, voice, f32(8820))

    def ladder(x, cutoff):
        """A ladder filter with tanh in each of four stages and one step of Newton for its feedback, 7 voices."""
        def step(s, v):
            u, g = v
            f = lambda y: u - 3.2 * y
            y = s[3]
            i = jnp.tanh(f(y))
            out = []
            for k in range(4):
                n = s[k] + g * (i - jnp.tanh(s[k]))
                i = jnp.tanh(n)
                out.append(n)
            return jnp.stack(out), out[3]
        return lax.scan(step, jnp.zeros((4, 7)), (x, cutoff))[1]
    add('ladder_filters', ladder, f32(1000, 7), R.uniform(0.1, 0.4, (1000, 7)).astype(np.float32))

    def delta_sigma(x):
        """A converter of one bit by a loop of second order, four times oversampled, and its decimation."""
        def step(s, v):
            a, b = s
            y = jnp.where(b >= 0, 1.0, -1.0)
            a = a + v - y
            return (a, b + a - y), y
        y = lax.scan(step, (jnp.float32(0), jnp.float32(0.1)), jnp.repeat(x, 4))[1]
        return (y > 0).astype(jnp.uint8).reshape(-1, 8) @ (1 << jnp.arange(8, dtype=jnp.uint8)), y.reshape(-1, 4).mean(1)
    add('converter_of_one_bit', delta_sigma, np.round(voice[:1024] * 128) / np.float32(256))

    def spectral_loss(p, target):
        """Gradient of a loss over spectrograms at three sizes for a bank of 40 damped sines."""
        n = jnp.arange(2048)
        y = (jnp.exp(p[0])[:, None] * jnp.exp(-jnp.exp(p[1])[:, None] * n) * jnp.sin(jnp.exp(p[2])[:, None] * n)).sum(0)
        total = 0.0
        for size in (512, 256, 128):
            a, b = (jnp.abs(jnp.fft.rfft(frames(z, size, size // 4) * jnp.hanning(size))) for z in (y, target))
            total += jnp.abs(a - b).mean() + jnp.abs(jnp.log(a + 1e-2) - jnp.log(b + 1e-2)).mean()
        return total
    add('sines_fitted_gradient', jax.value_and_grad(spectral_loss),
        np.stack([R.randn(40) * 0.3 - 3, R.randn(40) * 0.2 - 6, R.uniform(-3.5, -0.5, 40)]).astype(np.float32), voice[:2048])
    return P
