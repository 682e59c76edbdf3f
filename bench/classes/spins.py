"""Lattices of spins and gauge fields, plasmas, waves and bands, molecules with bonds: physics as students of it write it."""
import numpy as np

from by_value import Programs, Random

R = Random(131)
f32, i32 = R.f32, R.i32
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    key = np.array([6, 28], np.uint32)

    # Gauge fields.
    links = np.linalg.qr(R.randn(2, 6, 6, 6, 3, 3) + 1j * R.randn(2, 6, 6, 6, 3, 3))[0].astype(np.complex64)
    def dagger(u):
        return jnp.conj(jnp.swapaxes(u, -1, -2))
    def plaquette(u):
        return u[0] @ jnp.roll(u[1], -1, 0) @ dagger(jnp.roll(u[0], -1, 1)) @ dagger(u[1])
    add('plaquettes', lambda u: jnp.trace(plaquette(u), axis1=-2, axis2=-1).real.mean() / 3, links)
    def staple_force(u):
        s = jnp.roll(u[1], -1, 0) @ dagger(jnp.roll(u[0], -1, 1)) @ dagger(u[1])
        s = s + jnp.roll(dagger(jnp.roll(u[1], -1, 0)) @ dagger(u[0]) @ u[1], 1, 1)
        w = u[0] @ s
        a = w - dagger(w)
        return a - jnp.trace(a, axis1=-2, axis2=-1)[..., None, None] / 3 * jnp.eye(3)
    add('forces_of_staples', staple_force, links)
    def exponential(a):
        def term(k, s):
            t, e = s
            t = t @ a / k
            return t, e + t
        one = jnp.broadcast_to(jnp.eye(3, dtype=a.dtype), a.shape)
        return lax.fori_loop(1, 9, term, (one, one))[1]
    add('links_moved', lambda u: exponential(0.1 * staple_force(u)) @ u[0], links)
    def dirac(u, psi):
        out = 4.2 * psi
        g = jnp.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]]], jnp.complex64)
        for mu in range(2):
            for sign in (1, -1):
                p = jnp.eye(2) - sign * g[mu]
                hop = u[mu] if sign > 0 else dagger(jnp.roll(u[mu], 1, mu))
                out = out - 0.5 * jnp.einsum('st,xyzab,xyztb->xyzsa', p, hop, jnp.roll(psi, -sign, mu))
        return out
    psi = (f32(6, 6, 6, 2, 3) + 1j * f32(6, 6, 6, 2, 3)).astype(np.complex64)
    add('quarks_hop', dirac, links, psi)
    def scalar_hmc(key, phi):
        def action(p):
            return (0.5 * sum((p - jnp.roll(p, 1, a)) ** 2 for a in (0, 1)) + 0.1 * p ** 2 + 0.05 * p ** 4).sum()
        g = jax.grad(action)
        def trajectory(phi, k):
            k1, k2 = jax.random.split(k)
            mom = jax.random.normal(k1, phi.shape)
            def leap(_, s):
                p, m = s
                m = m - 0.05 * g(p)
                p = p + 0.1 * m
                return p, m - 0.05 * g(p)
            new, m = lax.fori_loop(0, 10, leap, (phi, mom))
            d = action(new) + 0.5 * (m * m).sum() - action(phi) - 0.5 * (mom * mom).sum()
            phi = jnp.where(jax.random.uniform(k2) < jnp.exp(-d), new, phi)
            return phi, (phi ** 2).mean()
        return lax.scan(trajectory, phi, jax.random.split(jax.random.wrap_key_data(key), 10))[1]
    add('field_by_trajectories', scalar_hmc, key, f32(24, 24))

    # Spins.
    def xy_energy(t):
        return -(jnp.cos(t - jnp.roll(t, 1, 0)) + jnp.cos(t - jnp.roll(t, 1, 1))).sum()
    def vortices(t):
        def wrap(d):
            return (d + jnp.pi) % (2 * jnp.pi) - jnp.pi
        a, b = wrap(jnp.roll(t, -1, 0) - t), wrap(jnp.roll(t, -1, 1) - t)
        return jnp.round((a + jnp.roll(b, -1, 0) - jnp.roll(a, -1, 1) - b) / (2 * jnp.pi)).astype(int)
    add('vortices_of_rotors', vortices, f32(60, 50) * 2)
    add('rotors_relaxed', lambda t: lax.fori_loop(0, 60, lambda _, t: t - 0.1 * jax.grad(xy_energy)(t), t), f32(40, 40))
    def landau_lifshitz(m, n):
        def field(m):
            return sum(jnp.roll(m, s, a) for a in (0, 1) for s in (1, -1)) + jnp.array([0, 0, 0.3]) + 0.5 * m * jnp.array([0, 0, 1.])
        def rate(m):
            t = jnp.cross(m, field(m))
            return -t - 0.1 * jnp.cross(m, t)
        def step(_, m):
            k = rate(m)
            m = m + 0.02 * rate(m + 0.01 * k)
            return m / jnp.linalg.norm(m, axis=-1, keepdims=True)
        return lax.fori_loop(0, n, step, m)
    spins = f32(24, 24, 3)
    add('precessing_spins', lambda m: landau_lifshitz(m, 30), (spins / np.linalg.norm(spins, axis=-1, keepdims=True)).astype(np.float32))
    def potts(key, s):
        mask = (jnp.arange(32)[:, None] + jnp.arange(32)) % 2
        def step(s, k):
            near = jnp.stack([jnp.roll(s, d, a) for a in (0, 1) for d in (1, -1)])
            for colour in (0, 1):
                e = (near[..., None] == jnp.arange(4)).sum(0).astype(jnp.float32)
                new = jax.random.categorical(jax.random.fold_in(k, colour), 1.1 * e)
                s = jnp.where(mask == colour, new, s)
                near = jnp.stack([jnp.roll(s, d, a) for a in (0, 1) for d in (1, -1)])
            return s, (s == 0).mean()
        return lax.scan(step, s, jax.random.split(jax.random.wrap_key_data(key), 12))[1]
    add('spins_of_four_states', potts, key, i32(4, 32, 32))
    def clusters(bonds_x, bonds_y):
        n = bonds_x.shape[0]
        def step(s):
            l, _ = s
            m = jnp.minimum(l, jnp.where(bonds_x, jnp.roll(l, -1, 0), l))
            m = jnp.minimum(m, jnp.where(jnp.roll(bonds_x, 1, 0), jnp.roll(m, 1, 0), m))
            m = jnp.minimum(m, jnp.where(bonds_y, jnp.roll(m, -1, 1), m))
            m = jnp.minimum(m, jnp.where(jnp.roll(bonds_y, 1, 1), jnp.roll(m, 1, 1), m))
            return m, (m != l).any()
        l = lax.while_loop(lambda s: s[1], step, (jnp.arange(n * n).reshape(n, n), True))[0]
        return jnp.bincount(l.ravel(), length=n * n).max()
    add('percolating_clusters', clusters, R.rand(40, 40) < 0.5, R.rand(40, 40) < 0.5)
    def heisenberg(n):
        s = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
        bond = sum(np.kron(p, p) for p in s).real.astype(np.float32).reshape(2, 2, 2, 2)
        def apply(v):
            out = 0
            for i in range(n - 1):
                x = v.reshape(2 ** i, 4, -1)
                out = out + jnp.einsum('ab,ibj->iaj', bond.reshape(4, 4), x).reshape(-1)
            return out
        def lanczos(v):
            def step(s, _):
                v, old, beta = s
                w = apply(v) - beta * old
                a = w @ v
                w = w - a * v
                b = jnp.linalg.norm(w)
                return (w / b, v, b), (a, b)
            a, b = lax.scan(step, (v / jnp.linalg.norm(v), jnp.zeros_like(v), 0.0), None, length=20)[1]
            return jnp.linalg.eigvalsh(jnp.diag(a) + jnp.diag(b[:-1], 1) + jnp.diag(b[:-1], -1))[0]
        return lanczos
    add('chain_of_spins_by_lanczos', heisenberg(10), f32(1024))
    def trotter(psi, n):
        def gate(psi, u, i):
            return jnp.einsum('ab,ibj->iaj', u, psi.reshape(2 ** i, 4, -1)).reshape(-1)
        h = np.array([[1, 0, 0, 0], [0, -1, 2, 0], [0, 2, -1, 0], [0, 0, 0, 1]], np.float32)
        w, v = np.linalg.eigh(h)
        u = ((v * np.exp(-0.05j * w)) @ v.T).astype(np.complex64)
        def step(psi, _):
            for i in [*range(0, n - 1, 2), *range(1, n - 1, 2)]:
                psi = gate(psi, u, i)
            p = jnp.abs(psi.reshape(2, -1)) ** 2
            return psi, p[0].sum() - p[1].sum()
        return lax.scan(step, psi / jnp.linalg.norm(psi), None, length=10)[1]
    add('chain_of_spins_in_time', lambda r, i: trotter(r + 1j * i, 8), f32(256), f32(256))
    add('environments_of_a_network', lambda a, L: lax.scan(lambda L, a: ((lambda L: (L / jnp.linalg.norm(L), jnp.linalg.norm(L)))(jnp.einsum('ab,asc,bsd->cd', L, a, a))), L, a)[1],
        f32(20, 12, 2, 12), f32(12, 12))
    add('entropies_of_cuts', lambda t: jax.vmap(lambda t: (lambda s: -(s ** 2 * jnp.log(s ** 2 + 1e-12)).sum())((lambda s: s / jnp.linalg.norm(s))(jnp.linalg.svd(t,
        compute_uv=False))))(t), f32(10, 16, 16))

    # Plasmas, waves, bands.
    def plasma(x, v, n):
        cells = 64
        def step(s, _):
            x, v = s
            i = jnp.floor(x).astype(int)
            f = x - i
            rho = jnp.zeros(cells).at[i % cells].add(1 - f).at[(i + 1) % cells].add(f) * cells / len(x) - 1
            k = jnp.fft.rfftfreq(cells) * 2 * jnp.pi
            phi = jnp.fft.rfft(rho) / jnp.where(k == 0, jnp.inf, k * k)
            e = jnp.fft.irfft(-1j * k * phi, cells)
            v = v - 0.1 * (e[i % cells] * (1 - f) + e[(i + 1) % cells] * f)
            return ((x + 0.1 * v) % cells, v), (e * e).sum()
        return lax.scan(step, (x, v), None, length=n)[1]
    add('plasma_of_particles', lambda x, v: plasma(x, v, 20), (R.rand(1500) * 64).astype(np.float32), f32(1500))
    def boris(x, v):
        def step(s, _):
            x, v = s
            E = 0.1 * jnp.stack([jnp.sin(x[..., 0]), jnp.cos(x[..., 1]), 0 * x[..., 2]], -1)
            B = jnp.stack([0.1 * x[..., 1], 0 * x[..., 0], 1 + 0.1 * x[..., 0]], -1)
            v = v + 0.025 * E
            t = 0.025 * B
            s_ = 2 * t / (1 + (t * t).sum(-1, keepdims=True))
            v = v + jnp.cross(v + jnp.cross(v, t), s_) + 0.025 * E
            return (x + 0.05 * v, v), (v * v).sum(-1).mean()
        return lax.scan(step, (x, v), None, length=100)
    add('charges_in_fields', boris, f32(100, 3), f32(100, 3))
    def walk(n):
        h = jnp.array([[1, 1], [1, -1]], jnp.complex64) / 2 ** 0.5
        def step(psi, _):
            psi = psi @ h
            return jnp.stack([jnp.roll(psi[:, 0], 1), jnp.roll(psi[:, 1], -1)], 1), None
        return lambda psi: (jnp.abs(lax.scan(step, psi, None, length=n)[0]) ** 2).sum(1)
    add('walk_of_a_quantum', walk(80), (f32(200, 2) + 1j * f32(200, 2)).astype(np.complex64))
    def bands(t, kx, ky):
        def h(x, y):
            f = 1 + jnp.exp(1j * x) + jnp.exp(1j * y)
            m = jnp.zeros((4, 4), jnp.complex64).at[0, 1].set(t[0] * f).at[2, 3].set(t[0] * f).at[1, 2].set(t[1])
            return m + dagger(m) + jnp.diag(jnp.array([t[2], 0, 0, -t[2]]))
        return jax.vmap(jax.vmap(lambda x, y: jnp.linalg.eigvalsh(h(x, y)), (0, None)), (None, 0))(kx, ky)
    add('bands_of_two_layers', bands, np.array([1, 0.3, 0.1], np.float32), np.linspace(-3, 3, 12).astype(np.float32), np.linspace(-3, 3, 12).astype(np.float32))
    def chern(m):
        k = jnp.linspace(0, 2 * jnp.pi, 20, endpoint=False)
        x, y = k[:, None], k[None]
        d = jnp.stack([jnp.sin(x) + 0 * y, jnp.sin(y) + 0 * x, m + jnp.cos(x) + jnp.cos(y)], -1)
        n = jnp.linalg.norm(d, axis=-1)
        v = jnp.stack([d[..., 2] - n, d[..., 0] + 1j * d[..., 1]], -1)
        v = v / (jnp.linalg.norm(v, axis=-1, keepdims=True) + 1e-6)
        def u(a):
            return (jnp.conj(v) * jnp.roll(v, -1, a)).sum(-1)
        return jnp.angle(u(0) * jnp.roll(u(1), -1, 0) * jnp.conj(jnp.roll(u(0), -1, 1)) * jnp.conj(u(1))).sum() / (2 * jnp.pi)
    add('chern_number', chern, np.float32(1.1))
    def transfer(layers, wavelengths):
        def one(w):
            def step(m, l):
                n, d = l
                p = 2 * jnp.pi * n * d / w
                a = jnp.array([[jnp.cos(p) + 0j, 1j * jnp.sin(p) / n], [1j * n * jnp.sin(p), jnp.cos(p) + 0j]])
                return m @ a, None
            m = lax.scan(step, jnp.eye(2, dtype=jnp.complex64), layers)[0]
            b, c = m @ jnp.array([1, 1.5 + 0j])
            return jnp.abs((b - c) / (b + c)) ** 2
        return jax.vmap(one)(wavelengths)
    add('light_through_layers', transfer, ((1.4 + 0.9 * (np.arange(20) % 2)).astype(np.float32), np.full(20, 0.08, np.float32) + 0.01 * f32(20)), np.linspace(0.4, 0.8, 150).astype(np.float32))
    add('light_through_layers_gradient', jax.grad(lambda l, w: (transfer(l, w) ** 2).sum()), ((1.4 + 0.9 * (np.arange(20) % 2)).astype(np.float32), np.full(20, 0.08, np.float32)),
        np.linspace(0.4, 0.8, 60).astype(np.float32))

    # Molecules with bonds.
    n = 60
    bonds = np.stack([np.arange(n - 1), np.arange(1, n)], 1).astype(np.int32)
    angles = np.stack([np.arange(n - 2), np.arange(1, n - 1), np.arange(2, n)], 1).astype(np.int32)
    turns = np.stack([np.arange(n - 3), np.arange(1, n - 2), np.arange(2, n - 1), np.arange(3, n)], 1).astype(np.int32)
    def bonded(x):
        d = jnp.linalg.norm(x[bonds[:, 0]] - x[bonds[:, 1]], axis=-1)
        a, b = x[angles[:, 0]] - x[angles[:, 1]], x[angles[:, 2]] - x[angles[:, 1]]
        th = jnp.arccos(jnp.clip((a * b).sum(-1) / (jnp.linalg.norm(a, axis=-1) * jnp.linalg.norm(b, axis=-1)), -0.99, 0.99))
        p = x[turns]
        b1, b2, b3 = p[:, 1] - p[:, 0], p[:, 2] - p[:, 1], p[:, 3] - p[:, 2]
        u, v = jnp.cross(b1, b2), jnp.cross(b2, b3)
        phi = jnp.arctan2((jnp.cross(u, v) * b2).sum(-1) / jnp.linalg.norm(b2, axis=-1), (u * v).sum(-1))
        r2 = ((x[:, None] - x) ** 2).sum(-1) + 1e3 * (jnp.abs(jnp.arange(n)[:, None] - jnp.arange(n)) < 4)
        s = (1 / (r2 + 0.1)) ** 3
        return 50 * ((d - 1) ** 2).sum() + 10 * ((th - 1.9) ** 2).sum() + (1 + jnp.cos(3 * phi)).sum() + 0.5 * (s * s - s).sum()
    walk_of_atoms = np.cumsum(f32(n, 3) * 0.5, 0).astype(np.float32)
    add('energy_of_a_chain', bonded, walk_of_atoms)
    add('forces_on_a_chain', jax.grad(bonded), walk_of_atoms)
    def dynamics(x, v):
        g = jax.grad(bonded)
        def step(s, _):
            x, v, f = s
            v = v - 0.0005 * f
            x = x + 0.001 * v
            f = jnp.clip(g(x), -100, 100)
            return (x, v - 0.0005 * f, f), None
        return lax.scan(step, (x, v, g(x)), None, length=20)[0][0]
    add('moving_chain', dynamics, walk_of_atoms, f32(n, 3) * 0.1)
    def mean_square(x):
        lags = jnp.arange(1, 20)
        return jax.vmap(lambda l: (lambda d: (jnp.where(jnp.arange(len(x))[:, None] + l < len(x), (d ** 2).sum(-1), 0).sum() / ((len(x) - l) * x.shape[1])))(jnp.roll(x, -l, 0) - x))(lags)
    add('displacements_in_time', mean_square, np.cumsum(f32(100, 20, 3), 0).astype(np.float32))
    def structure(x, q):
        return (jnp.abs(jnp.exp(1j * x @ q.T).sum(0)) ** 2) / len(x)
    add('structure_of_a_fluid', structure, f32(200, 3) * 3, f32(60, 3))
    return P
