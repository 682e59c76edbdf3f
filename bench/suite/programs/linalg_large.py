"""Linear algebra on one matrix: factorisations, solves, eigenvalues, iterative methods, their gradients."""
from arrays import f32, positive_definite, well_conditioned

FACTOR = 256.0


def programs(jax, pick, add):
    jnp, lax, la, sla = jax.numpy, jax.lax, jax.numpy.linalg, jax.scipy.linalg
    n, m = pick((24, 16), (200, 80), (700, 200))
    spd, square = positive_definite(n, n), well_conditioned(n, n)
    add('cholesky', lambda a: la.cholesky(a), spd)
    add('lu', lambda a: sla.lu_factor(a)[0], square)
    add('solve', lambda a, b: la.solve(a, b), square, f32(n, 8))
    add('solve_positive', lambda a, b: sla.cho_solve(sla.cho_factor(a, lower=True), b), spd, f32(n, 8))
    add('triangular_many', lambda a, b: sla.solve_triangular(a, b, lower=True), square, f32(n, n))
    add('triangular_one', lambda a, b: sla.solve_triangular(a, b), square, f32(n))
    add('inverse', lambda a: la.inv(a), square)
    add('log_determinant', lambda a: la.slogdet(a), square)
    add('qr', lambda a: jnp.abs(la.qr(a)[1]), f32(n, n // 2))
    add('least_squares', lambda a, b: la.lstsq(a, b)[0], lambda rng: f32(m * 2, m // 2)(rng), f32(2 * m), factor=4)
    add('eigenvalues', lambda a: la.eigvalsh(a), positive_definite(m, m))
    add('eigenvectors', lambda a: (lambda w, v: (v * w) @ v.T)(*la.eigh(a)), positive_definite(m, m))
    add('singular_values', lambda a: la.svd(a, compute_uv=False), f32(m, m // 2))
    add('low_rank', lambda a: (lambda u, s, v: (u[:, :4] * s[:4]) @ v[:4])(*la.svd(a, full_matrices=False)), lambda rng: (f32(m, 4)(rng) @ f32(4, m)(rng) + 0.001 * f32(m, m)(rng)), factor=4)
    add('matrix_power', lambda a: la.matrix_power(a / 3, 7), square)
    add('matrix_exponential', lambda a: sla.expm(a), f32(m // 2, m // 2, scale=0.1))
    add('pseudo_inverse', lambda a: la.pinv(a), f32(m // 2, m // 4))
    add('cholesky_gradient', jax.grad(lambda a: la.slogdet(a)[1] + jnp.sum(la.cholesky(a) ** 2)), positive_definite(m, m), factor=4)
    add('solve_gradient', jax.grad(lambda a, b: (la.solve(a, b) ** 2).sum(), (0, 1)), well_conditioned(m, m), f32(m, 2), factor=4)
    add('gaussian_process', lambda x, y: (lambda k: (lambda c: -0.5 * y @ sla.cho_solve((c, True), y) - jnp.log(jnp.diagonal(c)).sum())(la.cholesky(k)))(jnp.exp(-0.5 * (x[:, None] - x[None]) ** 2) + 0.2 * jnp.eye(n)), f32(n), f32(n))
    add('ridge', lambda x, y: la.solve(x.T @ x + 0.1 * jnp.eye(x.shape[1]), x.T @ y), f32(4 * m, m // 2), f32(4 * m))
    add('newton_schulz', lambda a: lax.fori_loop(0, 6, lambda i, y: 1.5 * y - 0.5 * y @ y.T @ y, a / la.norm(a)), f32(m, m))
    add('norms', lambda a: (la.norm(a), la.norm(a, 1), la.norm(a, axis=0), jnp.trace(a)), square)
