"""Methods of numerical analysis in doubles: stiff and symplectic steps, special functions, interpolation, acceleration, functions and forms of matrices."""
import numpy as np
from by_value import Programs, Random

FACTOR = 4096.0
X64 = True
R = Random(4205)
f64 = R.randn


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    fori, inv, solve = lax.fori_loop, jnp.linalg.inv, jnp.linalg.solve

    # Special functions, interpolation, series.
    def legendre(x, top=12):
        p = {(0, 0): jnp.ones_like(x)}
        s = jnp.sqrt(1 - x * x)
        for m in range(top + 1):
            if m:
                p[m, m] = -np.sqrt(1 + .5 / m) * s * p[m - 1, m - 1]
            if m < top:
                p[m + 1, m] = np.sqrt(2 * m + 3) * x * p[m, m]
            for l in range(m + 2, top + 1):
                last = np.sqrt(((l - 1) ** 2 - m * m) / (4 * (l - 1) ** 2 - 1))
                p[l, m] = np.sqrt((4 * l * l - 1) / (l * l - m * m)) * (x * p[l - 1, m] - last * p[l - 2, m])
        return jnp.stack(list(p.values()))
    add('associated_legendre', legendre, np.tanh(f64(1009)))
    add('associated_legendre_gradient', jax.grad(lambda x: legendre(x, 7).sum()), np.tanh(f64(1009)))

    def barycentric(x, nodes, values):
        w = (-1.) ** jnp.arange(nodes.shape[0])
        w = w.at[0].mul(.5).at[-1].mul(.5)
        d = x[:, None] - nodes
        hit = d == 0
        t = w / jnp.where(hit, 1, d)
        return jnp.where(hit.any(1), jnp.where(hit, values, 0).sum(1), (t * values).sum(1) / t.sum(1))
    nodes = np.cos(np.pi * np.arange(41) / 40)
    add('barycentric_interpolation', barycentric, np.append(np.tanh(f64(390)), nodes[::4]), nodes, f64(41))

    def gauss_rule(b):
        x, v = jnp.linalg.eigh(jnp.diag(b, 1) + jnp.diag(b, -1))
        return x, 2 * v[0] ** 2
    k = np.arange(1, 30)
    add('nodes_by_eigenvalues', gauss_rule, k / np.sqrt(4. * k ** 2 - 1))

    def epsilon(s):
        before, e = jnp.zeros(s.shape[0] + 1), s
        for _ in range(s.shape[0] - 1):
            before, e = e, before[1:-1] + 1 / (e[1:] - e[:-1])
        return e
    terms = (-1.) ** np.arange(11) / np.arange(1, 12) * (1 + .1 * R.rand(301, 11))
    add('sums_by_the_epsilon_algorithm', jax.vmap(epsilon), np.cumsum(terms, 1))
    add('continued_fractions', lambda x: fori(0, 40, lambda i, f: x + (40 - i) * (39.7 - i) / f, x + 41.), np.abs(f64(5003)) + 2)

    def splines(x, t, c):
        b = ((x[:, None] >= t[:-1]) & (x[:, None] < t[1:])).astype(float)
        for k in range(1, 4):
            up = (x[:, None] - t[:-k - 1]) / (t[k:-1] - t[:-k - 1])
            down = (t[k + 1:] - x[:, None]) / (t[k + 1:] - t[1:-k])
            b = up * b[:, :-1] + down * b[:, 1:]
        return b @ c
    knots = np.linspace(-.2, 1.2, 37)
    add('splines_by_columns', splines, R.rand(501), knots, f64(33))
    add('splines_by_columns_gradient', jax.grad(lambda *a: (splines(*a) ** 2).sum(), (0, 2)), R.rand(501), knots, f64(33))

    def halved(c, t):
        p = jnp.broadcast_to(c, (t.shape[0], *c.shape))
        while p.shape[1] > 1:
            p = p[:, :-1] * (1 - t)[:, None, None] + p[:, 1:] * t[:, None, None]
        return p[:, 0]
    add('curves_by_shrinking_slices', halved, f64(8, 3), R.rand(101))

    # Equations in time and space.
    def bodies(x, v, m):
        """Fourth order by three kicks and four drifts."""
        c = 2 ** (1 / 3)
        w1, w0 = 1 / (2 - c), -c / (2 - c)

        def pull(x):
            d = x[None] - x[:, None]
            return (m[None, :, None] * d * (((d * d).sum(-1) + 1e-2) ** -1.5)[..., None]).sum(1)

        def step(s, _):
            x, v = s
            for drift, kick in ((w1 / 2, w1), ((w0 + w1) / 2, w0), ((w0 + w1) / 2, w1), (w1 / 2, 0)):
                x = x + drift * 1e-3 * v
                if kick:
                    v = v + kick * 1e-3 * pull(x)
            return (x, v), .5 * (m[:, None] * v * v).sum()
        return lax.scan(step, (x, v), None, length=200)
    add('bodies_by_kicks_and_drifts', bodies, f64(9, 3), f64(9, 3), R.rand(9))

    def brusselator(u):
        x, y = u[:13], u[13:]
        spread = lambda z: jnp.roll(z, 1) + jnp.roll(z, -1) - 2 * z
        return jnp.concatenate([1 + x * x * y - 4 * x + .5 * spread(x), 3 * x - x * x * y + .5 * spread(y)])

    def rosenbrock(u):
        h = .01

        def step(u, _):
            lu = jax.scipy.linalg.lu_factor(jnp.eye(26) - (1 + .5 ** .5) * h * jax.jacfwd(brusselator)(u))
            k1 = jax.scipy.linalg.lu_solve(lu, brusselator(u))
            k2 = jax.scipy.linalg.lu_solve(lu, brusselator(u + h * k1) - 2 * k1)
            return u + h * (1.5 * k1 + .5 * k2), u[0]
        return lax.scan(step, u, None, length=50)
    add('brusselator_by_factors', rosenbrock, np.abs(f64(26)))
    add('brusselators_by_factors', jax.vmap(rosenbrock), np.abs(f64(11, 26)))

    def midpoint(q, p):
        """Stars in a galaxy by the implicit midpoint rule, Newton steps with the Jacobian of a gradient."""
        turn = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
        energy = lambda z: .5 * (z ** 2).sum() + z[0] ** 2 * z[1] - z[1] ** 3 / 3
        field = lambda z: turn @ jax.grad(energy)(z)

        def step(z, _):
            def newton(i, y):
                m = (y + z) / 2
                return y - solve(jnp.eye(4) - .025 * jax.jacfwd(field)(m), y - z - .05 * field(m))
            y = fori(0, 3, newton, z)
            return y, y
        return lax.scan(step, jnp.concatenate([q, p]), None, length=100)[1]
    add('orbit_by_implicit_midpoints', midpoint, .1 * f64(2), .1 * f64(2))
    add('orbits_by_implicit_midpoints', jax.vmap(midpoint), .1 * f64(37, 2), .1 * f64(37, 2))

    def numerov(energy, potential):
        k = 2 * (energy[:, None] - potential)
        h = 1e-4 / 12

        def step(c, k2):
            u0, u1, k0, k1 = c
            u2 = (2 * (1 - 5 * h * k1) * u1 - (1 + h * k0) * u0) / (1 + h * k2)
            return (u1, u2, k1, k2), u2
        zero = jnp.zeros_like(energy)
        return lax.scan(step, (zero, zero + 1e-4, k[:, 0], k[:, 1]), k.T[2:])[1][-1]
    add('waves_shot_at_energies', numerov, np.linspace(.1, 5, 61), np.linspace(-5, 5, 501) ** 2 / 2)

    # Matrices.
    def square_root(a):
        a = a @ a.T + jnp.eye(23)
        return fori(0, 15, lambda i, s: (.5 * (s[0] + inv(s[1])), .5 * (s[1] + inv(s[0]))), (a, jnp.eye(23)))[0]
    add('square_root_by_inverses', square_root, f64(23, 23))
    add('sign_by_products', lambda a: fori(0, 12, lambda i, x: 1.5 * x - .5 * x @ x @ x, (a + a.T) / 20), f64(31, 31))

    def doubling(a, b, c):
        def step(i, s):
            a, g, h = s
            w = jnp.eye(7) + g @ h
            return a @ solve(w, a), g + a @ solve(w, g) @ a.T, h + a.T @ h @ solve(w, a)
        return fori(0, 8, step, (a, b @ b.T, c @ c.T))[1:]
    add('control_by_doubling', doubling, .3 * f64(7, 7), .1 * f64(7, 7), f64(7, 7))

    def tridiagonal(a):
        def step(k, a):
            x = jnp.where(jnp.arange(23) > k, a[:, k], 0)
            v = x.at[k + 1].add(jnp.where(x[k + 1] >= 0, 1, -1) * jnp.linalg.norm(x))
            v = v / jnp.linalg.norm(v)
            return a - 2 * jnp.outer(v, v @ a) - 2 * jnp.outer(a @ v, v) + 4 * jnp.outer(v, v) * (v @ a @ v)
        return fori(0, 20, step, a + a.T)
    add('tridiagonal_by_reflections', tridiagonal, f64(23, 23))

    def orthogonal(a):
        def step(j, q):
            v = q[:, j] / jnp.linalg.norm(q[:, j])
            return (q - jnp.outer(v, (v @ q) * (jnp.arange(29) > j))).at[:, j].set(v)
        return fori(0, 29, step, a)
    add('orthogonal_column_by_column', orthogonal, f64(41, 29))

    def characteristic(a):
        def step(m, k):
            c = -jnp.trace(a @ m) / k
            return a @ m + c * jnp.eye(9), c
        return lax.scan(step, jnp.eye(9), jnp.arange(1., 10.))[1]
    add('characteristic_polynomials', jax.vmap(characteristic), .3 * f64(53, 9, 9))
    return P
