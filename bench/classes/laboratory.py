"""Laboratories: molecules, spectra, crystals, reads of genomes, drugs in bodies, scans of patients, signals of hearts and brains."""
import numpy as np

from by_value import Programs, Random

R = Random(239)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    lattice = np.stack(np.meshgrid(*[np.arange(5.0)] * 3, indexing='ij'), -1).reshape(-1, 3)
    atoms = (1.1 * lattice + 0.1 * R.randn(125, 3)).astype(np.float32)
    key = np.array([8, 21], np.uint32)

    def shake(x, v):
        """Chains of 24 beads in 30 molecules whose bonds are held by 12 sweeps over odd and even bonds."""
        y = x + 0.01 * v
        def fix(y, o):
            n = (24 - o) // 2 * 2
            p = y[:, o:o + n].reshape(30, -1, 2, 3)
            r = x[:, o:o + n].reshape(30, -1, 2, 3)
            d, d0 = p[:, :, 1] - p[:, :, 0], r[:, :, 1] - r[:, :, 0]
            g = ((d * d).sum(-1) - 1) / (4 * (d * d0).sum(-1))
            c = g[..., None] * d0
            return y.at[:, o:o + n].set(jnp.stack([p[:, :, 0] + c, p[:, :, 1] - c], 2).reshape(30, n, 3))
        return lax.fori_loop(0, 12, lambda _, y: fix(fix(y, 0), 1), y)
    s = f32(30, 24, 3)
    s[..., 0] = 1.0
    add('bonds_held', shake, np.cumsum(s / np.linalg.norm(s, axis=-1, keepdims=True), 1).astype(np.float32), f32(30, 24, 3))

    def settle(q, m):
        """Rigid water: 200 molecules superposed by quaternions from their 4x4 matrices, powers of a shifted matrix."""
        ref = jnp.array([[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]])
        c = q - q.mean(1, keepdims=True)
        h = jnp.einsum('nai,aj->nij', c, ref - ref.mean(0))
        xx, xy, xz, yx, yy, yz, zx, zy, zz = jnp.moveaxis(h.reshape(-1, 9), 1, 0)
        k = jnp.stack([jnp.stack(r, -1) for r in ([xx + yy + zz, yz - zy, zx - xz, xy - yx], [yz - zy, xx - yy - zz, xy + yx, zx + xz],
                                                  [zx - xz, xy + yx, yy - xx - zz, yz + zy], [xy - yx, zx + xz, yz + zy, zz - xx - yy])], -2)
        k = k + 8 * jnp.eye(4)
        for _ in range(6):
            k = k @ k
            k = k / jnp.abs(k).max((1, 2), keepdims=True)
        v = k[:, 0] + 1e-6
        return v / jnp.linalg.norm(v, axis=-1, keepdims=True) * m
    add('water_superposed', settle, (f32(200, 3, 3)), np.float32(1))

    def superpose(x, y):
        """Least deviations of all of 21 conformers from one another by singular values of 3x3 matrices."""
        c = x - x.mean(1, keepdims=True)
        h = jnp.einsum('ani,bnj->abij', c, c)
        s = jnp.linalg.svd(h, compute_uv=False)
        sign = jnp.sign(jnp.linalg.det(h))
        e = (c * c).sum((1, 2))
        return jnp.sqrt(jnp.maximum(e[:, None] + e - 2 * (s[..., 0] + s[..., 1] + sign * s[..., 2]), 1e-2) / x.shape[1]) + y
    add('conformers_compared', superpose, f32(21, 37, 3), np.float32(0.5))

    def bonds_q6(x):
        """Orders of bonds around 125 atoms by Legendre polynomials of all pairs of neighbours."""
        d = x[:, None] - x
        r = jnp.sqrt((d * d).sum(-1) + jnp.eye(len(x)))
        w = jnp.where((r < 1.6) & ~jnp.eye(len(x), dtype=bool), 1.0, 0.0)
        u = d / r[..., None]
        near = lax.top_k(-r - 100 * jnp.eye(len(x)), 12)[1]
        v = jnp.take_along_axis(u, near[..., None], 1)
        wn = jnp.take_along_axis(w, near, 1)
        c = jnp.einsum('nax,nbx->nab', v, v)
        p6 = (231 * c ** 6 - 315 * c ** 4 + 105 * c ** 2 - 5) / 16
        n = jnp.maximum(wn.sum(1), 1)
        return jnp.sqrt(jnp.maximum((p6 * wn[:, :, None] * wn[:, None]).sum((1, 2)), 0)) / n, n
    add('orders_of_bonds', bonds_q6, atoms)

    def descriptors(x):
        """Symmetry functions of atoms: 8 radial and 6 angular over triples of 10 neighbours."""
        d = x[:, None] - x
        r2 = (d * d).sum(-1) + 100 * jnp.eye(len(x))
        near = lax.top_k(-r2, 10)[1]
        v = x[near] - x[:, None]
        r = jnp.sqrt((v * v).sum(-1))
        fc = 0.5 * jnp.cos(jnp.pi * jnp.minimum(r / 2.5, 1)) + 0.5
        radial = (jnp.exp(-4 * (r[..., None] - jnp.linspace(0.5, 2.2, 8)) ** 2) * fc[..., None]).sum(1)
        c = jnp.einsum('nax,nbx->nab', v, v) / (r[:, :, None] * r[:, None])
        up = jnp.triu(jnp.ones((10, 10)), 1)
        z = jnp.array([1, 2, 4.0])
        a = jnp.stack([2 ** (1 - z) * (1 + l * c[..., None] * 0.999) ** z for l in (-1, 1)], -1)
        g = (jnp.exp(-0.3 * (r[:, :, None] ** 2 + r[:, None] ** 2)) * fc[:, :, None] * fc[:, None] * up)
        return jnp.concatenate([radial, (a * g[..., None, None]).sum((1, 2)).reshape(len(x), -1)], -1)
    add('descriptors_of_atoms', descriptors, atoms)
    def net_energy(x, w1, w2):
        return (jnp.tanh(descriptors(x) @ w1) @ w2).sum()
    add('forces_of_a_network_of_descriptors', jax.grad(net_energy), atoms[:64], 0.3 * f32(14, 20), f32(20))

    def generalised_born(x, q, rho):
        """Solvation by generalised Born: radii from pairwise descreening, energy, and its gradient in positions and charges."""
        def energy(x, q):
            d = x[:, None] - x
            r = jnp.sqrt((d * d).sum(-1) + jnp.eye(len(x)))
            off = 1 - jnp.eye(len(x))
            l = jnp.maximum(jnp.abs(r - rho), 0.5 * rho[:, None])
            u = r + rho
            i = 0.5 * (1 / l - 1 / u + 0.25 * (r - rho ** 2 / r) * (1 / u ** 2 - 1 / l ** 2) + 0.5 * jnp.log(l / u) / r) * off
            psi = jnp.clip(i.sum(1) * rho, 0, 3)
            b = 1 / (1 / rho - jnp.tanh(psi - 0.8 * psi ** 2 + 4.85 * psi ** 3) / (rho + 0.09))
            bb = b[:, None] * b
            f = jnp.sqrt(r * r * off + bb * jnp.exp(-r * r * off / (4 * bb)))
            return -0.5 * (1 - 1 / 78.5) * (q[:, None] * q / f).sum()
        return jax.value_and_grad(energy, (0, 1))(x, q)
    add('solvation_gradient', generalised_born, atoms[:90] * 2, 0.3 * f32(90), R.uniform(0.3, 0.5, 90).astype(np.float32))

    def equilibrated(x, hard, chi):
        """Charges that equalise electronegativities: a system with a constraint, and forces through its solution."""
        def energy(x):
            d = x[:, None] - x
            r = jnp.sqrt((d * d).sum(-1) + jnp.eye(len(x)))
            j = jnp.where(jnp.eye(len(x), dtype=bool), hard, jax.scipy.special.erf(r) / r)
            n = len(x)
            a = jnp.zeros((n + 1, n + 1)).at[:n, :n].set(j).at[n, :n].set(1).at[:n, n].set(1)
            q = jnp.linalg.solve(a, jnp.append(-chi, 0.0))[:n]
            return 0.5 * q @ j @ q + chi @ q
        return jax.value_and_grad(energy)(x)
    add('charges_equalised_gradient', equilibrated, atoms[:60], np.full(60, 3, np.float32), f32(60))

    def spectrum(mu):
        """An infrared spectrum: dipoles of 4 runs, their autocorrelation by transforms of 4000, a window, cosines."""
        n = mu.shape[1]
        d = mu - mu.mean(1, keepdims=True)
        s = jnp.fft.fft(d, 2 * n, axis=1)
        c = jnp.fft.ifft((s * jnp.conj(s)).sum(-1), axis=1).real[:, :500].mean(0)
        c = c / c[0] * jnp.exp(-(jnp.arange(500) / 250.0) ** 2)
        return jnp.fft.rfft(c, 1500).real
    add('infrared_spectrum', spectrum, np.cumsum(f32(4, 2000, 3), 1).astype(np.float32) * 0.1)

    def powder(x, f, q):
        """A powder's diffraction by Debye's sum over pairs: sinc of 60 momenta, with factors by element."""
        d = jnp.sqrt(((x[:, None] - x) ** 2).sum(-1))
        i, j = np.triu_indices(len(x), 1)
        r = d[i, j]
        s = jnp.sinc(q[:, None] * r / jnp.pi)
        return (f ** 2).sum() + 2 * (s * (f[i] * f[j])).sum(1)
    add('powder_diffraction', powder, atoms, np.abs(f32(125)) + 1, np.linspace(0.5, 12, 60, dtype=np.float32))

    def tanimoto(a, b):
        """Likeness of 150 fingerprints of 1024 bits to 260 others, and the best five of each."""
        inter = lax.population_count(a[:, None] & b).astype(jnp.int32).sum(-1)
        na, nb = (lax.population_count(x).astype(jnp.int32).sum(-1) for x in (a, b))
        s = inter / (na[:, None] + nb - inter)
        return lax.top_k(s, 5)[0], s.mean(1)
    bits = lambda *s: (R.randint(0, 1 << 32, s, dtype=np.int64) & R.randint(0, 1 << 32, s, dtype=np.int64)).astype(np.uint32)
    add('likeness_of_fingerprints', tanimoto, bits(150, 32), bits(260, 32))

    def gillespie(key, k):
        """Reactions one at a time for 60 cells: three species, five channels, 150 events."""
        change = jnp.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 1], [0, 0, -1]])
        def cell(key):
            def step(s, key):
                x, t = s
                f = x.astype(jnp.float32)
                a = jnp.stack([k[0] * 20, k[1] * f[0], k[2] * f[0], k[3] * f[1] * (1 + f[2] / 8), k[4] * f[2]])
                c = jnp.cumsum(a)
                u = jax.random.uniform(key, (2,), minval=1e-6)
                j = jnp.minimum((u[1] * c[4] > c).sum(), 4)
                return (jnp.maximum(x + change[j], 0), t - jnp.log(u[0]) / c[4]), None
            return lax.scan(step, (jnp.array([10, 5, 2]), jnp.float32(0)), jax.random.split(key, 150))[0][1]
        return jax.vmap(cell)(jax.random.split(jax.random.wrap_key_data(key), 60))
    add('reactions_of_cells', lambda key, k: gillespie(key, k).mean(), key, np.array([1, 0.5, 0.7, 0.3, 0.4], np.float32))

    def pair_hmm(read, quality, hap):
        """Likelihoods of 12 reads given 5 haplotypes: match, insert, delete along anti-diagonals kept in rows."""
        def one(read, q, hap):
            e = 10.0 ** (-q / 10)
            mm, gap, ext = 0.98, 0.01, 0.1
            n = len(hap)
            def row(s, x):
                m, i, d = s
                base, err = x
                p = jnp.where(hap == base, 1 - err, err / 3)
                sh = lambda a: jnp.concatenate([jnp.zeros(1), a[:-1]])
                new_m = p * (mm * sh(m) + (1 - ext) * (sh(i) + sh(d)))
                new_i = gap * m + ext * i
                def cell(d, mv):
                    d = gap * mv + ext * d
                    return d, d
                new_d = lax.scan(cell, 0.0, sh(new_m))[1]
                return (new_m, new_i, new_d), None
            m, i, d = lax.scan(row, (jnp.zeros(n), jnp.zeros(n), jnp.full(n, 1.0 / n)), (read, e))[0]
            return jnp.log10((m + i).sum() + 1e-30)
        return jax.vmap(lambda h: jax.vmap(lambda r, q: one(r, q, h))(read, quality))(hap)
    hap = R.randint(0, 4, (5, 70))
    add('reads_given_haplotypes', pair_hmm, hap[R.randint(0, 5, 12), 10:50].astype(np.uint8), R.randint(15, 40, (12, 40)).astype(np.float32),
        hap.astype(np.uint8))

    def minimizers(s):
        """Canonical words of 15 bases, mixed, and the least in each window of 10, as a map of changes."""
        n = len(s) - 14
        w = sum(s[i:n + i].astype(jnp.uint32) << (2 * (14 - i)) for i in range(15))
        r = sum((3 - s[i:n + i].astype(jnp.uint32)) << (2 * i) for i in range(15))
        c = jnp.minimum(w, r)
        h = (c ^ c >> 15) * jnp.uint32(0x2C1B3C6D)
        h = (h ^ h >> 12) * jnp.uint32(0x297A2D39)
        h = h ^ h >> 15
        m = lax.reduce_window(h, jnp.uint32(0xFFFFFFFF), lax.min, (10,), (1,), 'VALID')
        return m, (m[1:] != m[:-1]).sum(), jnp.bincount((c & 255).astype(jnp.int32), length=256)
    add('least_words_of_a_genome', minimizers, R.randint(0, 4, 6000).astype(np.uint8))

    def codons(s):
        """Six frames of translation through a table of 64, the longest open frame of each."""
        t = jnp.asarray(np.frombuffer(b'KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLF', np.uint8))
        out = []
        for x in (s, 3 - s[::-1]):
            for f in range(3):
                y = x[f:f + 2997].reshape(-1, 3).astype(jnp.int32)
                a = t[y[:, 0] * 16 + y[:, 1] * 4 + y[:, 2]]
                i = jnp.arange(len(a))
                stop = lax.cummax(jnp.where(a == 42, i, -1))
                out.append((a, (i - stop).max()))
        return jnp.stack([a for a, _ in out]), jnp.stack([n for _, n in out])
    add('frames_of_translation', codons, R.randint(0, 4, 3001).astype(np.uint8))

    def linkage(g):
        """Linkage of 130 variants over 210 people from dosages with gaps: r squared, equilibrium tests, pruning one after another."""
        ok = (g < 3).astype(jnp.float32)
        x = jnp.where(g < 3, g, 0).astype(jnp.float32)
        n = ok @ ok.T
        sx, sxx = x @ ok.T, (x * x) @ ok.T
        c = x @ x.T - sx * sx.T / n
        v = sxx - sx * sx / n
        r2 = c * c / jnp.maximum(v * v.T, 1e-6)
        def step(keep, i):
            k = keep & ~((r2[i] > 0.02) & keep[i] & (jnp.arange(len(g)) > i))
            return k, None
        h = jnp.stack([((g == k)).sum(1) for k in range(3)], 1).astype(jnp.float32)
        p = (2 * h[:, 2] + h[:, 1]) / (2 * h.sum(1))
        e = h.sum(1)[:, None] * jnp.stack([(1 - p) ** 2, 2 * p * (1 - p), p * p], 1)
        return r2, ((h - e) ** 2 / e).sum(1), lax.scan(step, jnp.ones(len(g), bool), jnp.arange(len(g)))[0]
    add('linkage_of_variants', linkage, R.choice(4, (130, 210), p=[0.4, 0.4, 0.18, 0.02]).astype(np.uint8))

    def joining(d):
        """Neighbours joined into a tree: 30 leaves, the least of a corrected matrix each time."""
        n = len(d)
        def step(s, k):
            d, alive = s
            m = alive[:, None] & alive & ~jnp.eye(n, dtype=bool)
            r = (d * m).sum(1)
            q = jnp.where(m, (n - k - 2) * d - r[:, None] - r, jnp.inf)
            at = q.argmin()
            i, j = jnp.minimum(at // n, at % n), jnp.maximum(at // n, at % n)
            new = 0.5 * (d[i] + d[j] - d[i, j])
            d = d.at[i].set(new).at[:, i].set(new).at[i, i].set(0)
            return (d, alive.at[j].set(False)), (i, j, d[i].sum())
        return lax.scan(step, (d, jnp.ones(n, bool)), jnp.arange(n - 3))[1]
    a = R.rand(30, 30)
    add('tree_by_joining', joining, (a + a.T).astype(np.float32) * (1 - np.eye(30, dtype=np.float32)))

    def heart(x):
        """Beats of three leads: band-pass by integer filters, squared slopes, windows, thresholds that adapt."""
        y = jnp.convolve
        high = jnp.concatenate([jnp.full(16, -1 / 32), jnp.ones(1), jnp.full(15, -1 / 32)])
        f = jax.vmap(lambda v: y(y(v, jnp.ones(6) / 6, 'same'), high, 'same'))(x)
        d = jax.vmap(lambda v: y(v, jnp.array([1, 2, 0, -2, -1.0]) / 8, 'same'))(f) ** 2
        e = lax.reduce_window(d, 0.0, lax.add, (1, 30), (1, 1), 'SAME') / 30
        def step(s, v):
            sig, noise, wait, prev, rising = s
            peak = (v < prev) & rising & (wait <= 0)
            t = noise + 0.25 * (sig - noise)
            hit = peak & (prev > t)
            sig = jnp.where(hit, 0.125 * prev + 0.875 * sig, sig)
            noise = jnp.where(peak & ~hit, 0.125 * prev + 0.875 * noise, noise)
            return (sig, noise, jnp.where(hit, 40, wait - 1), v, v > prev), hit
        s0 = (e[:, :200].max(1), e[:, :200].mean(1), jnp.zeros(3, int), e[:, 0], jnp.zeros(3, bool))
        return lax.scan(step, s0, e.T)[1].sum(0), e
    t = np.arange(2500)
    beat = np.exp(-((t % 180 - 90) / 4.0) ** 2)
    add('beats_of_hearts', lambda x: heart(x)[1], (np.stack([beat, 0.7 * beat, -0.5 * beat]) + 0.02 * R.randn(3, 2500)).astype(np.float32))

    def back_projection(sino):
        """A slice from 90 projections of 95: ramp filter by transforms, then back through linear interpolation."""
        f = jnp.abs(jnp.fft.fftfreq(256)) * 2
        p = jnp.fft.ifft(jnp.fft.fft(sino, 256) * f).real[:, :95]
        c = jnp.arange(64) - 31.5
        a = jnp.arange(90) * jnp.pi / 90
        def one(acc, s):
            p, a = s
            u = c[:, None] * jnp.sin(a) + c * jnp.cos(a) + 47
            i = jnp.floor(u).astype(int)
            w = u - i
            return acc + p[i] * (1 - w) + p[i + 1] * w, None
        return lax.scan(one, jnp.zeros((64, 64)), (p, a))[0] * jnp.pi / 180
    add('slice_by_back_projection', back_projection, f32(90, 95))

    def art(img, b):
        """Four sweeps of Kaczmarz over 120 rays of a system of 400 unknowns, kept positive."""
        n = (img * img).sum(1)
        def ray(x, s):
            a, b, n = s
            return jnp.maximum(x + 0.8 * (b - a @ x) / n * a, 0), None
        return lax.fori_loop(0, 4, lambda _, x: lax.scan(ray, x, (img, b, n))[0], jnp.zeros(img.shape[1]))
    add('rows_one_after_another', art, np.abs(f32(120, 400)), np.abs(f32(120)) * 50)

    def gridding(k, d):
        """Samples of a spiral gridded with Kaiser's kernel of 5 by 5 for 3 coils, transformed, combined, deapodised."""
        g = k * 64 + 32
        b = jnp.floor(g).astype(int)
        o = jnp.arange(-2, 3)
        w1 = jnp.i0(6 * jnp.sqrt(jnp.clip(1 - ((b[..., None] + o - g[..., None]) / 2.5) ** 2, 0)))
        w = w1[:, 0, :, None] * w1[:, 1, None]
        iy, ix = (b[:, 0, None, None] + o[:, None]) % 64, (b[:, 1, None, None] + o) % 64
        acc = jnp.zeros((3, 64, 64), jnp.complex64).at[:, iy, ix].add(d[:, :, None, None] * w)
        img = jnp.fft.fftshift(jnp.fft.ifft2(jnp.fft.ifftshift(acc, (1, 2))), (1, 2))
        return jnp.sqrt((jnp.abs(img) ** 2).sum(0))
    th = np.linspace(0, 40, 1500)
    add('samples_of_a_spiral', gridding, (0.45 * th[:, None] / 40 * np.stack([np.cos(th), np.sin(th)], 1)).astype(np.float32),
        (f32(3, 1500) + 1j * f32(3, 1500)).astype(np.complex64))

    def tensors(s, b):
        """Diffusion tensors of 900 voxels by weighted least squares of 20 directions; fractional anisotropy in closed form."""
        y = jnp.log(jnp.maximum(s, 1e-3))
        w = jnp.maximum(s, 1e-3) ** 2
        a = jnp.einsum('vd,di,dj->vij', w, b, b) + 0.1 * jnp.eye(7)
        x = jnp.linalg.solve(a, jnp.einsum('vd,di,vd->vi', w, b, y)[..., None])[..., 0]
        xx, yy, zz, xy, xz, yz = (x[:, i] for i in range(1, 7))
        m = (xx + yy + zz) / 3
        p2 = ((xx - m) ** 2 + (yy - m) ** 2 + (zz - m) ** 2 + 2 * (xy ** 2 + xz ** 2 + yz ** 2))
        n2 = xx ** 2 + yy ** 2 + zz ** 2 + 2 * (xy ** 2 + xz ** 2 + yz ** 2)
        return jnp.sqrt(1.5 * p2 / (n2 + 1e-6)), m
    g = R.randn(20, 3)
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    b = np.concatenate([np.ones((20, 1)), -g ** 2, -2 * g[:, [0, 0, 1]] * g[:, [1, 2, 2]]], 1).astype(np.float32)
    add('tensors_of_diffusion', tensors, R.uniform(0.2, 1, (900, 20)).astype(np.float32), b)

    def drugs(p, doses, t):
        """Two compartments with absorption for 80 patients: matrices' exponentials between doses, likelihood and its gradient."""
        def loss(p):
            ka, ke, k12, k21 = jnp.exp(p)
            def one(dose):
                m = jnp.array([[-1, 0, 0], [1, 0, 0], [0, 0, 0.0]]) * ka + jnp.array([[0, 0, 0], [0, -1, 0], [0, 0, 0.0]]) * ke
                m = m + jnp.array([[0, 0, 0], [0, -1, 0], [0, 1, 0.0]]) * k12 + jnp.array([[0, 0, 0], [0, 0, 1], [0, 0, -1.0]]) * k21
                e = jax.scipy.linalg.expm(m * 0.5, max_squarings=4)
                def step(x, d):
                    x = e @ (x.at[0].add(d))
                    return x, x[1]
                return lax.scan(step, jnp.zeros(3), dose)[1]
            c = jax.vmap(one)(doses)
            return ((jnp.log(c + 0.1) - t) ** 2).mean()
        return jax.value_and_grad(loss)(p)
    add('drugs_in_bodies_gradient', drugs, np.log(np.array([1.2, 0.3, 0.5, 0.4], np.float32)), (R.rand(80, 24) < 0.3).astype(np.float32), f32(80, 24))

    def bands(x, w):
        """Powers of five bands of 19 electrodes, their coherences, and a filter by common spatial patterns."""
        f = x.reshape(19, 12, 256)
        s = jnp.fft.rfft(f * jnp.hanning(256))[:, :, 1:65]
        c = jnp.einsum('atf,btf->fab', s, jnp.conj(s)) / 12
        p = jnp.abs(jnp.diagonal(c, axis1=1, axis2=2))
        coh = jnp.abs(c) ** 2 / (p[:, :, None] * p[:, None])
        edges = [0, 4, 8, 14, 30, 64]
        power = jnp.stack([p[a:b].mean(0) for a, b in zip(edges[:-1], edges[1:])])
        return jnp.log(power), coh[8:13].mean(0), jnp.log(jnp.var(w @ x, axis=1))
    add('bands_of_electrodes', bands, f32(19, 3072), f32(6, 19))
    return P
