"""Differential equations and root finding as the solver libraries write them: adaptive steps, events, stiff and stochastic forms, fixed points."""
import numpy as np

from arrays import f32, key, positive, well_conditioned

FACTOR = 256.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    n, t = pick((4, 30), (64, 200), (1024, 500))
    fori = lax.fori_loop
    field = lambda y, a: jnp.tanh(a @ y) - 0.2 * y
    a = f32(n, n, scale=n ** -0.5)

    def rk4(f, y, h):
        p = f(y)
        q = f(y + h / 2 * p)
        r = f(y + h / 2 * q)
        return y + h / 6 * (p + 2 * q + 2 * r + f(y + h * r))
    add('euler', lambda y, a: fori(0, t, lambda i, y: y + 0.01 * field(y, a), y), f32(n), a)
    add('runge_kutta_4', lambda y, a: fori(0, t, lambda i, y: rk4(lambda y: field(y, a), y, 0.01), y), f32(n), a)
    add('runge_kutta_saved', lambda y, a: lax.scan(lambda y, _: (rk4(lambda y: field(y, a), y, 0.01),) * 2, y, None, length=t)[1], f32(n), a)

    def heun_adaptive(f, y0, end):
        def step(s):
            y, time, h = s
            k = f(y)
            l = f(y + h * k)
            error = jnp.sqrt(jnp.mean((h / 2 * (l - k)) ** 2)) / 1e-3
            ok = error <= 1
            factor = jnp.clip(0.9 / jnp.sqrt(error + 1e-8), 0.3, 3.0)
            return jnp.where(ok, y + h / 2 * (k + l), y), jnp.where(ok, time + h, time), jnp.minimum(h * factor, end - jnp.where(ok, time + h, time) + 1e-6)
        return lax.while_loop(lambda s: s[1] < end - 1e-5, step, (y0, 0.0, 0.05))[0]
    add('adaptive', lambda y, a: heun_adaptive(lambda y: field(y, a), y, 2.0), f32(n), a, factor=1e3)
    add('adaptive_batch', lambda y: jax.vmap(lambda y: heun_adaptive(lambda y: jnp.stack([y[1], -y[0] - 0.3 * y[1]]), y, 1.0))(y), f32(4 * n, 2), factor=1e3)

    tableau = [[1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9], [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729], [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]]
    weights = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]

    def fifth_order(f, y, h):
        ks = [f(y)]
        for row in tableau:
            ks.append(f(y + h * sum(c * k for c, k in zip(row, ks))))
        return y + h * sum(c * k for c, k in zip(weights, ks))
    add('fifth_order', lambda y, a: fori(0, t // 4, lambda i, y: fifth_order(lambda y: field(y, a), y, 0.02), y), f32(n), a)
    add('fifth_order_three_body', lambda y: fori(0, t // 4, lambda i, y: fifth_order(lambda y: jnp.concatenate([y[9:], sum((lambda d: d / ((d * d).sum(-1, keepdims=True) + 0.1) ** 1.5)(jnp.roll(y[:9].reshape(3, 3), s, 0) - y[:9].reshape(3, 3)) for s in (1, 2)).reshape(-1)]), y, 0.01), y), f32(18), factor=16)
    add('implicit_euler', lambda y, a: fori(0, t // 10, lambda i, y: fori(0, 3, lambda j, z: z - jnp.linalg.solve(jnp.eye(z.size) - 0.1 * jax.jacfwd(lambda z: field(z, a))(z), z - y - 0.1 * field(z, a)), y), y), f32(min(n, 40)), f32(min(n, 40), min(n, 40), scale=0.2), factor=4)
    add('semi_implicit_heat', lambda u: fori(0, t // 10, lambda i, u: lax.linalg.tridiagonal_solve(-0.3 * jnp.ones(u.size).at[0].set(0), 1.6 * jnp.ones(u.size), -0.3 * jnp.ones(u.size).at[-1].set(0), u[:, None])[:, 0], u), f32(4 * n))
    add('leapfrog', lambda q, p: fori(0, t, lambda i, s: (lambda q, p: (lambda p: (lambda q: (q, p - 0.005 * q ** 3))(q + 0.01 * p))(p - 0.005 * q ** 3))(*s), (q, p)), f32(n), f32(n))
    add('stochastic', lambda y, k: lax.scan(lambda y, k: (y + 0.01 * (1 - y) + 0.05 * jax.random.normal(k, y.shape), y.mean()), y, jax.random.split(k, t)), f32(n), key())
    add('event', lambda y: lax.while_loop(lambda s: (s[0][0] > -3) & (s[1] < t), lambda s: (s[0] + 0.01 * jnp.stack([s[0][1], -9.8 - 0.1 * s[0][1]]), s[1] + 1), (y, 0)), f32(2))
    add('delay', lambda h: lax.scan(lambda h, _: (jnp.roll(h, -1).at[-1].set(h[-1] + 0.1 * (h[0] / (1 + h[0] ** 4) - 0.5 * h[-1])), h[-1]), h, None, length=t)[1], positive(20))
    add('adjoint', jax.grad(lambda a, y: (fori(0, 10, lambda i, y: rk4(lambda y: field(y, a), y, 0.05), y) ** 2).sum()), a, f32(n))
    add('neural_field', lambda p, y: fori(0, t // 5, lambda i, y: rk4(lambda y: jnp.tanh(y @ p[0]) @ p[1], y, 0.05), y), lambda rng: [f32(4, 32, scale=0.3)(rng), f32(32, 4, scale=0.3)(rng)], f32(n, 4))
    add('newton_system', lambda x: fori(0, 8, lambda i, x: x - jnp.linalg.solve(jax.jacfwd(lambda x: x ** 3 + x - jnp.roll(x, 1) - 1)(x), x ** 3 + x - jnp.roll(x, 1) - 1), x), positive(min(2 * n, 60)))
    add('fixed_point', lambda a, b: lax.while_loop(lambda s: (jnp.abs(s[0] - s[1]).max() > 1e-5) & (s[2] < 200), lambda s: (jnp.tanh(a @ s[0] * 0.3 + b), s[0], s[2] + 1), (b, b + 1, 0))[0], a, f32(n))
    add('anderson', lambda a, b: fori(0, 10, lambda i, s: (lambda x, h, g: (lambda f: (lambda r: (lambda w: (w @ g, jnp.roll(h, 1, 0).at[0].set(x), jnp.roll(g, 1, 0).at[0].set(f)))(jnp.linalg.solve(r @ r.T + 1e-2 * jnp.eye(3), jnp.ones(3)) / jnp.linalg.solve(r @ r.T + 1e-2 * jnp.eye(3), jnp.ones(3)).sum()))(g - h))(jnp.tanh(a @ x * 0.5 + b)))(*s), (b, jnp.zeros((3, b.size)), jnp.tanh(jnp.stack([b, b * 0.5, b * 0.2]))))[0], a, f32(n), factor=16)
    add('levenberg_marquardt', lambda p, x, y: fori(0, 6, lambda i, p: (lambda r, j: p - jnp.linalg.solve(j.T @ j + 0.1 * jnp.eye(3), j.T @ r))((lambda f: f(p))(lambda p: p[0] * jnp.exp(-p[1] * x) + p[2] - y), jax.jacfwd(lambda p: p[0] * jnp.exp(-p[1] * x) + p[2] - y)(p)), p), positive(3), positive(16 * n), positive(16 * n), factor=16)
    add('gmres_like', lambda a, b: jax.scipy.sparse.linalg.bicgstab(lambda x: a @ x, b, maxiter=6, tol=0.0)[0], well_conditioned(n, n), f32(n), factor=16)
    add('quadrature', lambda c: jax.vmap(lambda c: jnp.trapezoid(jnp.exp(-c * jnp.linspace(0, 3, 101) ** 2), dx=0.03))(c), positive(4 * n))
    add('golden_section', lambda c: fori(0, 30, lambda i, s: (lambda lo, hi: (lambda p, q: jax.tree.map(lambda a, b: jnp.where((p - c) ** 2 + jnp.sin(3 * p) < (q - c) ** 2 + jnp.sin(3 * q), a, b), (lo, q), (p, hi)))(hi - 0.618 * (hi - lo), lo + 0.618 * (hi - lo)))(*s), (jnp.zeros_like(c), jnp.ones_like(c) * 2)), positive(8 * n), share=0.02)
