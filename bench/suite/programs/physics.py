"""Physics: particles, rigid bodies and joints, contacts, cloth, fluids, fields, in batches."""
import numpy as np

from arrays import f32, i32, positive

FACTOR = 256.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    n, t, b = pick((12, 5, 4), (128, 20, 64), (800, 20, 1024))
    fori = lax.fori_loop

    def gravity(x, m):
        d = x[None] - x[:, None]
        return (d * (m * ((d * d).sum(-1) + 0.05) ** -1.5)[..., None]).sum(1)
    add('gravity', gravity, f32(n, 3), positive(n))
    add('gravity_steps', lambda x, v, m: fori(0, t, lambda i, s: (lambda x, v: (x + 0.001 * v, v + 0.001 * gravity(x, m)))(*s), (x, v)), f32(n, 3), f32(n, 3), positive(n))

    def lennard_jones(x):
        d = x[:, None] - x[None]
        q = (d * d).sum(-1) + 1.0
        s = 1 / q ** 3
        return (s * s - s).sum()
    add('pair_energy', lennard_jones, f32(n, 3))
    add('pair_forces', jax.grad(lennard_jones), f32(n, 3))
    add('periodic_forces', lambda x: (lambda d: (d * jnp.exp(-(d * d).sum(-1, keepdims=True))).sum(1))((lambda d: d - jnp.round(d))(x[:, None] - x[None])), positive(n, 3), share=0.02)
    add('neighbour_forces', lambda x, i: (lambda d: (d * (1 / ((d * d).sum(-1) + 0.5) ** 2)[..., None]).sum(1))(x[i] - x[:, None]), f32(8 * n, 3), i32(8 * n, 8 * n, 20))

    def quaternion_step(q, w):
        z = jnp.concatenate([jnp.zeros_like(w[..., :1]), w], -1)
        p = jnp.stack([-z[..., 1] * q[..., 1] - z[..., 2] * q[..., 2] - z[..., 3] * q[..., 3],
                       z[..., 1] * q[..., 0] + z[..., 2] * q[..., 3] - z[..., 3] * q[..., 2],
                       z[..., 2] * q[..., 0] + z[..., 3] * q[..., 1] - z[..., 1] * q[..., 3],
                       z[..., 3] * q[..., 0] + z[..., 1] * q[..., 2] - z[..., 2] * q[..., 1]], -1)
        q = q + 0.005 * p
        return q / jnp.sqrt((q * q).sum(-1, keepdims=True))
    add('rigid_rotation', lambda q, w: fori(0, t, lambda i, q: quaternion_step(q, w), q / jnp.linalg.norm(q, axis=-1, keepdims=True)), f32(8 * b, 4), f32(8 * b, 3))

    def chain_forward(angles, lengths):
        def link(s, x):
            p, a = s
            a = a + x[0]
            p = p + x[1] * jnp.stack([jnp.cos(a), jnp.sin(a)])
            return (p, a), p
        return lax.scan(link, (jnp.zeros(2), 0.0), (angles, lengths))[1]
    add('kinematic_chain', lambda a, l: jax.vmap(chain_forward, (0, None))(a, l), f32(b, 8), positive(8))
    # Some of the starts diverge by the last bit: the built-in backend's f32 differs from its f64 in up to 2.3 % of the angles.
    add('inverse_kinematics', lambda a, l, g: fori(0, t, lambda i, a: a - 0.1 * jax.vmap(jax.grad(lambda a, g: ((chain_forward(a, l)[-1] - g) ** 2).sum()))(a, g), a), f32(b, 5), positive(5), f32(b, 2), factor=4, share=0.05)

    def body_step(s):
        x, v = s
        depth = jnp.maximum(0.1 - x[..., 2], 0)
        normal = 200 * depth - 5 * v[..., 2] * (depth > 0)
        slide = v[..., :2]
        friction = -slide * jnp.minimum(0.5 * normal[..., None], 10) / (1 + jnp.sqrt((slide * slide).sum(-1, keepdims=True) + 1e-6))
        force = jnp.concatenate([friction, (normal - 9.8)[..., None]], -1)
        v = v + 0.002 * force
        return x + 0.002 * v, v
    add('contacts', lambda x, v: fori(0, t, lambda i, s: body_step(s), (x, v)), f32(b, 9, 3, scale=0.2), f32(b, 9, 3))

    def springs(x, i, j, rest):
        d = x[:, j] - x[:, i]
        l = jnp.sqrt((d * d).sum(-1, keepdims=True) + 1e-4)
        f = 10 * (l - rest[:, None]) * d / l
        return jnp.zeros_like(x).at[:, i].add(f).at[:, j].add(-f)
    add('springs', lambda x, v, i, j, r: fori(0, t, lambda k, s: (lambda x, v: (x + 0.01 * v, 0.99 * v + 0.01 * springs(x, i, j, r)))(*s), (x, v)), f32(b, 10, 3), f32(b, 10, 3), i32(10, 16), i32(10, 16), positive(16))

    def cloth(x):
        g = jnp.zeros_like(x)
        for axis in (0, 1):
            a, c = (x[1:], x[:-1]) if axis == 0 else (x[:, 1:], x[:, :-1])
            d = a - c
            l = jnp.sqrt((d * d).sum(-1, keepdims=True) + 1e-4)
            f = (l - 0.1) * d / l * 20
            pad = [(0, 0)] * 3
            pad[axis] = (0, 1)
            g = g + jnp.pad(f, pad)
            pad[axis] = (1, 0)
            g = g - jnp.pad(f, pad)
        return g
    s = pick(8, 40, 160)
    add('cloth', lambda x, v: fori(0, t, lambda i, c: (lambda x, v: (x + 0.01 * v, 0.98 * v + 0.01 * cloth(x)))(*c), (x, v)), f32(s, s, 3), f32(s, s, 3))
    add('mass_matrix', lambda j, m: jnp.einsum('bki,bk,bkj->bij', j, m, j), f32(b, 12, 8), positive(b, 12))
    add('joint_solve', lambda j, m, f: jax.vmap(lambda j, m, f: jnp.linalg.solve((j.T * m) @ j + 0.5 * jnp.eye(8), f))(j, m, f), f32(b // 4, 12, 8), positive(b // 4, 12), f32(b // 4, 8), factor=16)
    add('projected_contact_solver', lambda a, q: fori(0, 10, lambda i, z: jnp.maximum(z - 0.2 * (jnp.einsum('bij,bj->bi', a, z) + q), 0), jnp.zeros_like(q)), f32(b, 6, 6, scale=0.3), f32(b, 6))

    def lattice(f):
        e = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
        w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)
        rho = f.sum(0)
        u = jnp.stack([(f * e[:, a, None, None]).sum(0) / rho for a in (0, 1)])
        eu = jnp.einsum('ka,axy->kxy', e.astype(np.float32), u)
        eq = rho * w[:, None, None] * (1 + 3 * eu + 4.5 * eu ** 2 - 1.5 * (u * u).sum(0))
        f = f - 0.6 * (f - eq)
        return jnp.stack([jnp.roll(f[k], (int(e[k, 0]), int(e[k, 1])), (0, 1)) for k in range(9)])
    add('lattice_fluid', lambda f: fori(0, t // 2, lambda i, f: lattice(f), f), positive(9, 2 * s, 2 * s, low=0.9, high=1.1))
    add('advection_gather', lambda q, u: (lambda y, x: (lambda i, j, a, c: (1 - a) * ((1 - c) * q[i, j] + c * q[i, (j + 1) % q.shape[1]]) + a * ((1 - c) * q[(i + 1) % q.shape[0], j] + c * q[(i + 1) % q.shape[0], (j + 1) % q.shape[1]]))(jnp.floor(y).astype(jnp.int32) % q.shape[0], jnp.floor(x).astype(jnp.int32) % q.shape[1], y - jnp.floor(y), x - jnp.floor(x)))(jnp.arange(q.shape[0])[:, None] - u[0], jnp.arange(q.shape[1])[None] - u[1]), f32(2 * s, 2 * s), f32(2, 2 * s, 2 * s))
    add('electromagnetic', lambda e, h: fori(0, t, lambda i, s: (lambda e, h: (lambda h: (e + 0.5 * (h - jnp.roll(h, 1))[..., :], h))(h + 0.5 * (jnp.roll(e, -1) - e)))(*s), (e, h)), f32(s * s), f32(s * s))
    add('smoothed_particles', lambda x, m: (lambda q: (m * jnp.where(q < 1, (1 - q) ** 3, 0)).sum(1))(jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1e-6)), f32(n, 2), positive(n))
    add('particle_grid', lambda x, m: jnp.zeros((s, s)).at[tuple((jnp.clip(x, 0, 0.999) * s).astype(jnp.int32).T)].add(m), positive(20 * n, 2, low=0.0), positive(20 * n))
    add('ray_spheres', lambda o, c, r: (lambda bq: jnp.where(bq > 0, jnp.sqrt(jnp.maximum(bq, 0)), jnp.inf).min(1))((lambda oc: (oc[..., 2]) ** 2 - (oc * oc).sum(-1) + r * r)(o[:, None] - c[None])), f32(40 * n, 3), f32(12, 3), positive(12))
    add('cart_pole_batch', lambda s, a: fori(0, t, lambda i, s: s + 0.02 * jnp.stack([s[:, 1], a - 0.5 * jnp.sin(s[:, 2]) * s[:, 3] ** 2, s[:, 3], jnp.sin(s[:, 2]) - jnp.cos(s[:, 2]) * a], 1), s), f32(16 * b, 4, scale=0.3), f32(16 * b))
    add('policy_rollout', lambda s, w: lax.scan(lambda s, _: (lambda a: (s + 0.02 * jnp.concatenate([s[:, 2:], jnp.stack([a - s[:, 0], -s[:, 1]], 1)], 1), (s * s).sum(1)))(jnp.tanh(s @ w[0]) @ w[1]), s, None, length=t)[1], f32(4 * b, 4), lambda rng: (f32(4, 16)(rng), f32(16)(rng)))
    add('signed_distances', lambda p: (lambda l, q: jnp.minimum(l(p) - 0.5, jnp.maximum(l(jnp.maximum(q, 0)) + jnp.minimum(q.max(-1), 0), 0.2 - l(p))))(lambda v: jnp.sqrt((v * v).sum(-1) + 1e-6), jnp.abs(p) - 0.3), f32(40 * n, 3))
