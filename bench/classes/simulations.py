"""Fields, particles and markets that move in time: schemes of textbooks on grids and sets of medium size."""
import numpy as np

from by_value import Programs, Random

R = Random(0)
f32, i32 = R.f32, R.i32
FACTOR = 256.0  # Roundings of all time steps add up.


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn, random

    P = Programs()
    add = P.add
    key = np.array([0, 9], np.uint32)
    fori = lax.fori_loop

    def burgers(u, v):
        def step(i, s):
            u, v = s

            def change(f):
                fx = jnp.where(u > 0, f - jnp.roll(f, 1, 0), jnp.roll(f, -1, 0) - f)
                fy = jnp.where(v > 0, f - jnp.roll(f, 1, 1), jnp.roll(f, -1, 1) - f)
                lap = jnp.roll(f, 1, 0) + jnp.roll(f, -1, 0) + jnp.roll(f, 1, 1) + jnp.roll(f, -1, 1) - 4 * f
                return f + 0.05 * (-u * fx - v * fy + 0.5 * lap)
            return change(u), change(v)
        return fori(0, 30, step, (u, v))
    add('burgers', burgers, f32(61, 67), f32(61, 67))

    def shallow_water(h, u, v):
        def step(s, _):
            h, u, v = s
            u = u.at[1:].add(-0.1 * (h[1:] - h[:-1])).at[0].set(0)
            v = v.at[:, 1:].add(-0.1 * (h[:, 1:] - h[:, :-1])).at[:, 0].set(0)
            hx = h[:-1] * u[1:]
            hy = h[:, :-1] * v[:, 1:]
            h = h.at[:-1].add(-0.1 * hx).at[1:].add(0.1 * hx).at[:, :-1].add(-0.1 * hy).at[:, 1:].add(0.1 * hy)
            return (h, u, v), h.sum()
        return lax.scan(step, (h, u, v), None, length=25)
    add('shallow_water', shallow_water, 1 + 0.05 * f32(48, 80), 0.05 * f32(48, 80), 0.05 * f32(48, 80))

    def thomas(a, b, c, d):
        def forward(s, x):
            c1, d1 = s
            a, b, c, d = x
            m = b - a * c1
            return (c / m, (d - a * d1) / m), (c / m, (d - a * d1) / m)
        z = jnp.zeros_like(d[0])
        _, (cs, ds) = lax.scan(forward, (z, z), (a, b, c, d))
        return lax.scan(lambda x, s: (s[1] - s[0] * x,) * 2, z, (cs, ds), reverse=True)[1]

    def alternating(u):
        n, m = u.shape
        full = lambda v, s: jnp.full(s, v, jnp.float32)

        def half(u):
            rhs = u + 0.3 * (jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 2 * u)
            return thomas(full(-0.3, u.shape), full(1.6, u.shape), full(-0.3, u.shape), rhs)
        return fori(0, 10, lambda i, u: half(half(u).T).T, u)
    add('alternating_directions', alternating, f32(50, 63))

    def v_cycle(u, f):
        def smooth(u, f, n):
            def step(i, u):
                q = jnp.pad(u, 1)
                return u + 0.8 * (0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] + f) - u)
            return fori(0, n, step, u)

        def cycle(u, f):
            u = smooth(u, f, 3)
            if u.shape[0] <= 7:
                return smooth(u, f, 20)
            q = jnp.pad(u, 1)
            r = f - (4 * u - q[2:, 1:-1] - q[:-2, 1:-1] - q[1:-1, 2:] - q[1:-1, :-2])
            r = jnp.pad(r, 1)
            coarse = sum(w * r[i:i + r.shape[0] - 2, j:j + r.shape[1] - 2][1::2, 1::2] for i, j, w in
                         [(i, j, (2 - abs(i - 1)) * (2 - abs(j - 1)) / 4) for i in range(3) for j in range(3)])
            e = cycle(jnp.zeros_like(coarse), coarse)
            fine = jnp.zeros(u.shape).at[1::2, 1::2].set(e)
            fine = fine.at[1::2, 2:-1:2].set(0.5 * (e[:, 1:] + e[:, :-1])).at[1::2, 0].set(0.5 * e[:, 0]).at[1::2, -1].set(0.5 * e[:, -1])
            rows = jnp.pad(fine[1::2], ((1, 1), (0, 0)))
            return smooth(u + fine.at[0::2].set(0.5 * (rows[1:] + rows[:-1])), f, 3)
        return lax.scan(lambda u, _: (cycle(u, f),) * 2, u, None, length=4)[0]
    add('multigrid_cycles', v_cycle, np.zeros((63, 63), np.float32), f32(63, 63) * 0.1)

    def red_black(u, f):
        at = jnp.indices(u.shape).sum(0) % 2

        def step(i, u):
            for colour in (0, 1):
                q = jnp.pad(u, 1)
                u = jnp.where(at == colour, 0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] + f) * 1.7 - 0.7 * u, u)
            return u
        return fori(0, 40, step, u)
    add('successive_over_relaxation', red_black, f32(45, 45) * 0.1, f32(45, 45) * 0.1)

    C = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, -1], [-1, 1]])
    W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)

    def lattice(f, wall):
        opposite = np.array([0, 2, 1, 4, 3, 6, 5, 8, 7])

        def step(f, _):
            rho = f.sum(-1)
            u = f @ jnp.asarray(C, jnp.float32) / rho[..., None]
            cu = u @ jnp.asarray(C.T, jnp.float32)
            eq = rho[..., None] * W * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * (u * u).sum(-1, keepdims=True))
            out = jnp.where(wall[..., None], f[..., opposite], f - (f - eq) / 0.8)
            f = jnp.stack([jnp.roll(out[..., k], tuple(C[k]), (0, 1)) for k in range(9)], -1)
            return f, (u * u).sum()
        return lax.scan(step, f, None, length=20)
    add('lattice_boltzmann', lattice, (1 + 0.05 * f32(40, 60, 9)) * W, f32(40, 60) > 1.5)

    def fdtd(e, source):
        h, w = e.shape
        loss = 1 / (1 + 0.5 * jnp.maximum(jnp.abs(jnp.arange(h) - h / 2) / (h / 2) - 0.8, 0)[:, None])

        def step(s, x):
            e, bx, by = s
            bx = loss * (bx - 0.5 * (jnp.roll(e, -1, 1) - e))
            by = loss * (by + 0.5 * (jnp.roll(e, -1, 0) - e))
            e = loss * (e + 0.5 * (by - jnp.roll(by, 1, 0) - bx + jnp.roll(bx, 1, 1)))
            e = e.at[h // 2, w // 3].add(x)
            return (e, bx, by), e[h // 4, w // 2]
        return lax.scan(step, (e, jnp.zeros_like(e), jnp.zeros_like(e)), source)
    add('fields_of_an_antenna', fdtd, np.zeros((70, 90), np.float32), np.sin(np.arange(60) * 0.3).astype(np.float32))
    add('fields_of_an_antenna_gradient', jax.grad(lambda s, e: (fdtd(e, s)[1] ** 2).sum()), np.sin(np.arange(20) * 0.3).astype(np.float32), np.zeros((40, 50), np.float32))

    def phases(c):
        k = jnp.fft.fftfreq(c.shape[0]) * 2 * np.pi
        k2 = k[:, None] ** 2 + jnp.abs(jnp.fft.rfftfreq(c.shape[1]) * 2 * np.pi)[None] ** 2

        def step(c, _):
            mu = jnp.fft.rfft2(c ** 3 - c)
            c = jnp.fft.irfft2((jnp.fft.rfft2(c) - 0.1 * k2 * mu) / (1 + 0.1 * k2 * k2), s=c.shape)
            return c, (c * c).mean()
        return lax.scan(step, c, None, length=15)
    add('phase_separation', phases, 0.1 * f32(64, 64))

    def vorticity(w):
        n = w.shape[0]
        k = jnp.fft.fftfreq(n) * n
        kx, ky = k[:, None], k[None]
        k2 = kx ** 2 + ky ** 2
        mask = (jnp.abs(kx) < n / 3) & (jnp.abs(ky) < n / 3)

        def change(w):
            psi = w / jnp.where(k2 > 0, k2, 1)
            real = lambda a: jnp.fft.ifft2(a).real
            u, v = real(1j * ky * psi), -real(1j * kx * psi)
            return mask * -jnp.fft.fft2(u * real(1j * kx * w) + v * real(1j * ky * w)) - 1e-3 * k2 * w

        def step(w, _):
            a = change(w)
            b = change(w + 0.01 * a)
            return w + 0.005 * (a + b), None
        return jnp.fft.ifft2(lax.scan(step, jnp.fft.fft2(w), None, length=6)[0]).real
    add('vortices', vorticity, f32(48, 48))

    def heat_3d(u, k):
        def step(i, u):
            flux = []
            for a in range(3):
                d = jnp.diff(u, axis=a) * 0.5 * (lax.slice_in_dim(k, 1, None, axis=a) + lax.slice_in_dim(k, 0, -1, axis=a))
                pad = [(0, 0)] * 3
                pad[a] = (1, 1)
                flux.append(jnp.diff(jnp.pad(d, pad), axis=a))
            return u + 0.1 * sum(flux)
        return fori(0, 12, step, u)
    add('heat_in_a_body', heat_3d, f32(24, 28, 31), np.abs(f32(24, 28, 31)) % 1)

    def weno(u):
        def flux(v):
            a, b, c, d, e = (jnp.roll(v, k) for k in (2, 1, 0, -1, -2))
            p = (2 * a - 7 * b + 11 * c) / 6, (-b + 5 * c + 2 * d) / 6, (2 * c + 5 * d - e) / 6
            s = (13 / 12 * (a - 2 * b + c) ** 2 + 0.25 * (a - 4 * b + 3 * c) ** 2, 13 / 12 * (b - 2 * c + d) ** 2 + 0.25 * (b - d) ** 2, 13 / 12 * (c - 2 * d + e) ** 2 + 0.25 * (3 * c - 4 * d + e) ** 2)
            w = [g / (1e-4 + q) ** 2 for g, q in zip((0.1, 0.6, 0.3), s)]
            return sum(x * y for x, y in zip(w, p)) / sum(w)
        f = lambda u: -(lambda q: q - jnp.roll(q, 1))(flux(0.5 * u * u + u))

        def step(i, u):
            a = u + 0.1 * f(u)
            b = 0.75 * u + 0.25 * (a + 0.1 * f(a))
            return u / 3 + 2 / 3 * (b + 0.1 * f(b))
        return fori(0, 25, step, u)
    add('weighted_fluxes', weno, np.abs(f32(501)))

    def riemann(q):
        def step(i, q):
            rho, m, e = q
            u = m / rho
            p = 0.4 * (e - 0.5 * m * u)
            c = jnp.sqrt(1.4 * p / rho)
            f = jnp.stack([m, m * u + p, (e + p) * u])
            s = jnp.maximum(jnp.abs(u) + c, jnp.roll(jnp.abs(u) + c, -1))
            g = 0.5 * (f + jnp.roll(f, -1, 1)) - 0.5 * s * (jnp.roll(q, -1, 1) - q)
            return q - 0.1 * (g - jnp.roll(g, 1, 1))
        return fori(0, 50, step, q)
    add('shock_tube', riemann, np.stack([1 + 0.1 * np.sin(np.arange(400) / 30), 0.1 * np.ones(400), 2.5 * np.ones(400)]).astype(np.float32))

    # Particles.
    def molecules(x, v, near):
        def force(x):
            d = x[:, None] - x[near]
            d = d - 6 * jnp.round(d / 6)
            r2 = (d * d).sum(-1) + 0.3
            on = (r2 < 6.25) & (near != jnp.arange(len(x))[:, None])
            s = 1 / r2 ** 3
            return jnp.where(on[..., None], (48 * s * s - 24 * s)[..., None] / r2[..., None] * d, 0).sum(1)

        def step(s, _):
            x, v, f = s
            v = v + 0.001 * f
            x = (x + 0.002 * v) % 6
            f = force(x)
            v = v + 0.001 * f
            return (x, v, f), (v * v).sum()
        return lax.scan(step, (x, v, force(x)), None, length=10)[1]
    add('molecules_with_neighbours', molecules, np.random.RandomState(1).rand(216, 3).astype(np.float32) * 6, 0.1 * f32(216, 3), i32(216, 216, 24))

    def cells(x):
        at = jnp.floor(x * 8).astype(jnp.int32) % 8
        cell = at[:, 0] * 8 + at[:, 1]
        order = jnp.argsort(cell)
        first = jnp.searchsorted(cell[order], jnp.arange(64))
        place = jnp.arange(len(x)) - first[cell[order]]
        table = jnp.full((64, 12), -1).at[cell[order], place].set(order, mode='drop').reshape(8, 8, 12)
        near = jnp.concatenate([jnp.roll(table, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)], -1)
        mine = near[at[:, 0], at[:, 1]]
        d = x[:, None] - x[mine]
        d = d - jnp.round(d)
        r2 = (d * d).sum(-1)
        on = (mine >= 0) & (r2 < 1 / 64) & (r2 > 0)
        return jnp.where(on[..., None], d * (1 / 64 - r2)[..., None], 0).sum(1)
    add('forces_by_cells', cells, np.random.RandomState(2).rand(300, 2).astype(np.float32))

    def fluid(x, v):
        def step(s, _):
            x, v = s
            d = x[:, None] - x[None]
            r = jnp.sqrt((d * d).sum(-1) + 1e-6)
            w = nn.relu(1 - r / 0.5)
            rho = (w ** 3).sum(1)
            p = 0.5 * (rho - 3)
            f = ((p[:, None] + p[None]) * 0.5 / rho[None] * w * w / r)[..., None] * d
            g = ((v[None] - v[:, None]) * (w / rho[None])[..., None]).sum(1)
            v = v + 0.01 * (f.sum(1) + 0.1 * g - jnp.array([0.0, 1.0]))
            x = x + 0.01 * v
            return (jnp.clip(x, 0, 2), jnp.where((x < 0) | (x > 2), -0.5 * v, v)), rho.mean()
        return lax.scan(step, (x, v), None, length=8)
    add('fluid_of_particles', fluid, np.random.RandomState(3).rand(150, 2).astype(np.float32) * 2, 0.1 * f32(150, 2))

    def rope(x):
        def step(s, _):
            x, old = s
            new = (2 * x - old) + jnp.array([0, 0, -0.001])
            for _ in range(4):
                d = new[1:] - new[:-1]
                l = jnp.sqrt((d * d).sum(-1, keepdims=True) + 1e-8)
                c = 0.25 * d * (l - 0.1) / l
                new = new.at[:-1].add(c).at[1:].add(-c).at[0].set(x[0])
            return (new, x), new[-1]
        return lax.scan(step, (x, x), None, length=40)[1]
    add('rope_of_constraints', rope, np.stack([np.arange(31) * 0.1, 0 * np.arange(31), 0 * np.arange(31)], 1).astype(np.float32))

    def pendulums(a, b):
        def f(s):
            t1, t2, w1, w2 = s
            c, n = jnp.cos(t1 - t2), jnp.sin(t1 - t2)
            m = 2 - c * c
            return (w1, w2, (-9.8 * 2 * jnp.sin(t1) + 9.8 * jnp.sin(t2) * c - n * (w2 * w2 + w1 * w1 * c)) / m,
                    (2 * 9.8 * (jnp.sin(t1) * c - jnp.sin(t2)) + n * (2 * w1 * w1 + w2 * w2 * c)) / m)

        def step(s, _):
            plus = lambda s, k, h: tuple(x + h * y for x, y in zip(s, k))
            k1 = f(s)
            k2 = f(plus(s, k1, 0.005))
            k3 = f(plus(s, k2, 0.005))
            k4 = f(plus(s, k3, 0.01))
            s = tuple(x + 0.01 / 6 * (p + 2 * q + 2 * r + t) for x, p, q, r, t in zip(s, k1, k2, k3, k4))
            return s, s[1]
        z = jnp.zeros_like(a)
        return lax.scan(step, (a, b, z, z), None, length=100)[1]
    add('double_pendulums', pendulums, f32(40) * 0.3, f32(40) * 0.3)
    add('double_pendulum_sensitivity', jax.jacfwd(lambda s: pendulums(s[0], s[1])[::10]), f32(2) * 0.3)

    def oscillators(phase, w, a):
        return lax.scan(lambda p, _: (p + 0.01 * (w + (a * jnp.sin(p[None] - p[:, None])).mean(1)), jnp.abs(jnp.exp(1j * p).mean())), phase, None, length=40)
    add('coupled_oscillators', oscillators, f32(80), f32(80), np.abs(f32(80, 80)))

    def ising(key, s):
        at = jnp.indices(s.shape).sum(0) % 2

        def sweep(s, k):
            for colour, k in enumerate(random.split(k)):
                h = sum(jnp.roll(s, d, a) for d in (1, -1) for a in (0, 1))
                flip = random.uniform(k, s.shape) < jnp.exp(-0.8 * s * h)
                s = jnp.where(flip & (at == colour), -s, s)
            return s, s.mean()
        return lax.scan(sweep, s, random.split(key, 15))
    add('magnet_in_two_colours', ising, key, np.sign(f32(40, 36)))

    def sandpile(s):
        def topple(s):
            over = s >= 4
            n = over.astype(jnp.int32)
            p = jnp.pad(n, 1)
            return s - 4 * n + p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        return lax.scan(lambda s, at: (lax.while_loop(lambda s: (s >= 4).any(), topple, s.at[at[0], at[1]].add(3)),) * 2, s, i32(21, 30, 2))[0]
    add('sandpile', sandpile, i32(4, 21, 21))

    def epidemic(key, state, near):
        def day(s, k):
            sick = s == 1
            a, b = random.split(k)
            risk = 1 - 0.9 ** sick[near].sum(1)
            s = jnp.where((s == 0) & (random.uniform(a, s.shape) < risk), 1, jnp.where(sick & (random.uniform(b, s.shape) < 0.1), 2, s))
            return s, jnp.array([(s == k).sum() for k in range(3)])
        return lax.scan(day, state, random.split(key, 30))
    add('epidemic', epidemic, key, (R.rand(600) < 0.05).astype(np.int32), i32(600, 600, 8))

    def boids(x, v):
        def step(s, _):
            x, v = s
            d = x[None] - x[:, None]
            r = jnp.sqrt((d * d).sum(-1) + 1e-6)
            near = (r < 1.0).astype(jnp.float32)
            n = near.sum(1, keepdims=True)
            v = v + 0.02 * (near @ x / n - x) + 0.05 * (near @ v / n - v) - 0.05 * (jnp.where(r < 0.3, 1 / r, 0)[..., None] * d).sum(1)
            v = v / jnp.maximum(jnp.linalg.norm(v, axis=1, keepdims=True), 1)
            return ((x + 0.1 * v) % 5, v), v.mean(0)
        return lax.scan(step, (x, v), None, length=8)[1]
    add('flock', boids, np.random.RandomState(4).rand(120, 2).astype(np.float32) * 5, f32(120, 2))

    def march(origin, direction):
        scene = lambda p: jnp.minimum(jnp.linalg.norm(p - jnp.array([0, 0, 3.0])) - 1, jnp.minimum(p[1] + 1, jnp.linalg.norm(jnp.stack([jnp.linalg.norm(p[:2] + 0.01) - 1.5, p[2] - 4])) - 0.3))

        def ray(o, d):
            t = fori(0, 40, lambda i, t: t + jnp.clip(scene(o + t * d), 0, 1), 0.0)
            p = o + t * d
            n = jax.grad(scene)(p)
            shade = fori(0, 15, lambda i, s: jnp.minimum(s, 8 * scene(p + (0.05 + 0.1 * i) * jnp.array([0.5, 0.7, -0.5])) / (0.05 + 0.1 * i)), 1.0)
            return jnp.where(t < 20, jnp.clip(n @ jnp.array([0.5, 0.7, -0.5]), 0, 1) * jnp.clip(shade, 0, 1), 0)
        return jax.vmap(ray)(origin, direction)
    rays = np.stack([*np.meshgrid(np.linspace(-1, 1, 37), np.linspace(-1, 1, 29)), np.full((29, 37), 1.5)], -1).reshape(-1, 3)
    add('marched_rays', march, np.zeros((29 * 37, 3), np.float32), (rays / np.linalg.norm(rays, axis=1, keepdims=True)).astype(np.float32))

    # Markets.
    def heston(key, s0):
        def step(s, k):
            s, v = s
            z = random.normal(k, (2, 500))
            w = -0.7 * z[0] + 0.714 * z[1]
            v = jnp.maximum(v, 0)
            return (s * jnp.exp((0.02 - 0.5 * v) / 50 + jnp.sqrt(v / 50) * z[0]), v + 1.5 * (0.04 - v) / 50 + 0.3 * jnp.sqrt(v / 50) * w), None
        s = lax.scan(step, (jnp.full(500, s0), jnp.full(500, 0.04)), random.split(key, 50))[0][0]
        return nn.relu(s - 100).mean()
    add('option_by_paths_delta', jax.value_and_grad(heston, 1), key, np.float32(101))

    def binomial(s, k, vol):
        n = 100
        u = jnp.exp(vol / np.sqrt(n))
        p = (jnp.exp(0.02 / n) - 1 / u) / (u - 1 / u)
        price = s * u ** (2 * jnp.arange(n + 1.0) - n)

        def back(i, v):
            at = s * u ** (2 * jnp.arange(n + 1.0) - (n - 1 - i))
            v = jnp.exp(-0.02 / n) * (p * jnp.roll(v, -1) + (1 - p) * v)
            return jnp.maximum(v, jnp.where(jnp.arange(n + 1) < n - i, k - at, 0))
        return fori(0, n, back, nn.relu(k - price))[0]
    add('american_options', jax.vmap(binomial), 100 + f32(23), 100 + 5 * f32(23), 0.2 + 0.05 * np.abs(f32(23)))

    def longstaff(key):
        z = random.normal(key, (30, 400))
        path = 100 * jnp.exp(jnp.cumsum(-0.02 / 30 + 0.2 * z / np.sqrt(30), 0))

        def back(value, s):
            x = s / 100
            basis = jnp.stack([jnp.ones_like(x), x, x * x], 1)
            w = (s < 100).astype(jnp.float32)[:, None]
            c = jnp.linalg.solve((basis * w).T @ basis + 1e-2 * jnp.eye(3), (basis * w).T @ value)
            take = (100 - s > basis @ c) & (s < 100)
            return jnp.where(take, 100 - s, value * 0.999), take.mean()
        return lax.scan(back, nn.relu(100 - path[-1]), path[:-1], reverse=True)[0].mean()
    add('option_by_regression', longstaff, key)
    return P
