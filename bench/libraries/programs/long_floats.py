"""Work in doubles, as scientists do it with jax_enable_x64."""
import numpy as np
from by_value import Programs, Random
NEEDS = ('diffrax', 'optimistix', 'tinygp')
R = Random(1209)
X64 = True
FACTOR = 1e5
d = R.randn

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    import diffrax as dfx
    import optimistix as optx
    import tinygp
    P = Programs(); add = P.add
    u = R.rand
    # orbital mechanics: Kepler equation + J2 propagation
    def j2(t, y, a):
        r, v = y[:3], y[3:]; n = jnp.linalg.norm(r); z2 = 5 * r[2] ** 2 / n ** 2
        return jnp.concatenate([v, -r / n ** 3 * (1 + 1.5 * 1e-3 / n ** 2 * (jnp.array([1., 1., 3.]) - z2))])
    add('j2_orbits_dopri8', jax.vmap(lambda y: dfx.diffeqsolve(dfx.ODETerm(j2), dfx.Dopri8(), 0., 6., .1, y, stepsize_controller=dfx.PIDController(1e-9, 1e-9)).ys), np.array([1, 0, 0, 0, .9, .4]) + .05 * d(31, 6))
    add('state_transition_matrix', jax.jacfwd(lambda y: lax.fori_loop(0, 60, lambda i, y: (lambda h: (lambda k1: (lambda k2: (lambda k3: (lambda k4: y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))(j2(0, y + h * k3, 0)))(j2(0, y + h / 2 * k2, 0)))(j2(0, y + h / 2 * k1, 0)))(j2(0, y, 0)))(.05), y)), np.array([1, 0, 0, 0, .9, .4]))
    add('kepler_batch_newton', lambda M, e: lax.fori_loop(0, 8, lambda i, E: E - (E - e * jnp.sin(E) - M) / (1 - e * jnp.cos(E)), M), u(5000) * 6, u(5000) * .9)
    # equation of state (peng-robinson) flash: gradients
    def ar(x, T, rho):
        tc, pc, w = jnp.array([190., 305., 370.]), jnp.array([46., 48., 42.]), jnp.array([.01, .1, .15])
        a = .457 * 69. * tc ** 2 / pc * (1 + (.37 + 1.54 * w) * (1 - jnp.sqrt(T / tc))) ** 2; b = .0778 * 8.3 * tc / pc
        am = jnp.einsum('i,j,ij->', x, x, jnp.sqrt(a[:, None] * a)); bm = x @ b
        return -jnp.log(1 - bm * rho) - am / (bm * 8.3 * T * 2.828) * jnp.log((1 + 2.414 * bm * rho) / (1 - .414 * bm * rho))
    add('fugacities_of_states', jax.vmap(lambda x, T, r: (jax.grad(ar)(x, T, r), jax.hessian(ar)(x, T, r), jax.grad(ar, 2)(x, T, r))), np.abs(d(501, 3)) / 6, 250 + 50 * u(501), .002 * u(501) + .001)
    # gaussian quadrature of pair of integrals, chebyshev differentiation
    def cheb(n):
        x = jnp.cos(jnp.pi * jnp.arange(n + 1) / n); c = jnp.where((jnp.arange(n + 1) == 0) | (jnp.arange(n + 1) == n), 2., 1.) * (-1.) ** jnp.arange(n + 1)
        D = (c[:, None] / c) / (x[:, None] - x + jnp.eye(n + 1)); return D - jnp.diag(D.sum(1)), x
    def bvp(f, k):
        D, x = cheb(40); D2 = (D @ D)[1:-1, 1:-1]
        return lax.fori_loop(0, 6, lambda i, y: y - jnp.linalg.solve(D2 - jnp.diag(k * jnp.exp(y)), D2 @ y - k * jnp.exp(y) - f), jnp.zeros(39))
    add('spectral_bratu_newton', bvp, d(39) * .1, np.float64(.5))
    add('poisson_chebyshev_2d', lambda f: (lambda D: (lambda l, V: V @ ((V.T @ f @ V) / (l[:, None] + l)) @ V.T)(*jnp.linalg.eigh((D + D.T) / 2)))(2 * jnp.eye(49) - jnp.eye(49, k=1) - jnp.eye(49, k=-1)), d(49, 49))
    add('crank_nicolson_options', lambda s, k: lax.fori_loop(0, 50, lambda i, v: lax.linalg.tridiagonal_solve(-.25 * jnp.concatenate([jnp.zeros(1), jnp.ones(100)]), 1.5 * jnp.ones(101), -.25 * jnp.concatenate([jnp.ones(100), jnp.zeros(1)]), (v * .5 + .25 * (jnp.roll(v, 1) + jnp.roll(v, -1)))[:, None])[:, 0], jnp.maximum(k - s, 0)), np.linspace(0, 3, 101), np.float64(1.))
    add('kalman_smoother_doubles', lambda y, A, C: (lambda st: lax.scan(st, (jnp.zeros(4), jnp.eye(4)), y))(lambda c, y: (lambda m, Pm: (lambda S: (lambda G: ((m + G @ (y - C @ m), Pm - G @ S @ G.T), (m, jnp.linalg.slogdet(S)[1])))(jnp.linalg.solve(S, C @ Pm).T))(C @ Pm @ C.T + .1 * jnp.eye(2)))(A @ c[0], A @ c[1] @ A.T + .01 * jnp.eye(4))), d(101, 2), np.eye(4) + .05 * d(4, 4), d(2, 4))
    add('gp_marginal_gradient_doubles', jax.value_and_grad(lambda p, x, y: tinygp.GaussianProcess(jnp.exp(p[0]) * tinygp.kernels.Matern52(jnp.exp(p[1])), x, diag=jnp.exp(p[2])).log_probability(y)), d(3) * .1, np.sort(u(103)) * 9, d(103))
    add('fringe_fit_lm', lambda p, x, y: optx.least_squares(lambda p, a: p[0] + p[1] * jnp.cos(p[2] * x + p[3]) * jnp.exp(-p[4] * x) - y, optx.LevenbergMarquardt(1e-8, 1e-8), p, None, max_steps=40, throw=False).value, np.array([.1, 1., 2., .1, .2]), np.linspace(0, 5, 211), np.cos(2.1 * np.linspace(0, 5, 211)) + .02 * d(211))
    add('ewald_reciprocal_energy_gradient', jax.grad(lambda x, q, k: jnp.sum(jnp.exp(-.1 * (k ** 2).sum(1)) / (k ** 2).sum(1) * jnp.abs((q * jnp.exp(1j * k @ x.T)).sum(1)) ** 2)), u(41, 3), d(41), (lambda k: k[(k ** 2).sum(1) > 0])(np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3), -1).reshape(-1, 3) * 6.28))
    add('cosmology_distances', lambda z, o: (lambda zz: jnp.cumsum(.5 * (lambda e: e[1:] + e[:-1])(1 / jnp.sqrt(o[:, None] * (1 + zz) ** 3 + 1 - o[:, None])).sum(0) if False else jax.vmap(lambda o: jnp.interp(z, zz, jnp.concatenate([jnp.zeros(1), jnp.cumsum(.5 * (lambda e: e[1:] + e[:-1])(1 / jnp.sqrt(o * (1 + zz) ** 3 + 1 - o)) * jnp.diff(zz))])))(o)))(jnp.linspace(0, 3, 301)), u(211) * 2.5, u(17) * .4 + .1)
    add('multinest_ellipsoids', lambda x: (lambda m, C: (lambda L: (lambda q: (q, jnp.max(jnp.sum(q ** 2, 0)), jnp.linalg.slogdet(C)[1]))(jax.scipy.linalg.solve_triangular(L, (x - m).T, lower=True)))(jnp.linalg.cholesky(C)))(x.mean(0), jnp.cov(x.T) + 1e-9 * jnp.eye(7)), d(503, 7))
    add('fisher_information_doubles', lambda p, x: (lambda J: jnp.linalg.inv(J.T @ (J / .01)))(jax.jacfwd(lambda p: p[0] * jnp.exp(-((x - p[1]) / p[2]) ** 2) + p[3] + p[4] * x + p[5] * jax.nn.sigmoid((x - p[1]) * 3))(p)), np.array([1., .3, .8, .1, .2, .4]), np.linspace(-3, 3, 307))
    add('spherical_transform_legendre', lambda f: jnp.einsum('lt,tm->lm', lax.scan(lambda c, l: (lambda n: ((c[1], n), n))(((2 * l + 1) * jnp.cos(jnp.linspace(.01, 3.13, 101)) * c[1] - l * c[0]) / (l + 1)), (jnp.ones(101), jnp.cos(jnp.linspace(.01, 3.13, 101))), jnp.arange(1., 40.))[1], jnp.real(jnp.fft.rfft(f, axis=1))), d(101, 64))
    return P
