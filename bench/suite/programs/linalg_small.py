"""Linear algebra on batches of small matrices: products, solves, factors, rotations, geometry."""
from arrays import f32, positive, positive_definite, well_conditioned

FACTOR = 64.0


def programs(jax, pick, add):
    jnp, lax, la = jax.numpy, jax.lax, jax.numpy.linalg
    b = pick(20, 2000, 40000)
    f = pick(8, 200, 2000)
    add('inverse_2x2', lambda a: (lambda d: jnp.stack([jnp.stack([a[:, 1, 1], -a[:, 0, 1]], -1), jnp.stack([-a[:, 1, 0], a[:, 0, 0]], -1)], -2) / d[:, None, None])(a[:, 0, 0] * a[:, 1, 1] - a[:, 0, 1] * a[:, 1, 0]), well_conditioned(b, 2, 2))
    add('determinant_3x3', lambda a: la.det(a), well_conditioned(b, 3, 3))
    add('solve_4x4', lambda a, y: la.solve(a, y[..., None])[..., 0], well_conditioned(f, 4, 4), f32(f, 4))
    add('solve_10x10', lambda a, y: la.solve(a, y), well_conditioned(f, 10, 10), f32(f, 10, 2))
    add('inverse_6x6', lambda a: la.inv(a), well_conditioned(f, 6, 6))
    add('cholesky_8x8', lambda a: la.cholesky(a), positive_definite(f, 8, 8))
    add('cholesky_solve', lambda a, y: jax.scipy.linalg.cho_solve((la.cholesky(a), True), y), positive_definite(f, 12, 12), f32(f, 12, 1))
    add('lu_12x12', lambda a: jax.scipy.linalg.lu_factor(a)[0], well_conditioned(f, 12, 12))
    add('inverse_of_covariance', lambda a: (lambda l: jax.scipy.linalg.cho_solve((l, True), jnp.broadcast_to(jnp.eye(5), a.shape)))(la.cholesky(a)), positive_definite(f, 5, 5))
    add('whiten', lambda a, y: lax.linalg.triangular_solve(la.cholesky(a), y, left_side=False, lower=True, transpose_a=True), positive_definite(f, 16, 16), f32(f, 4, 16))
    add('triangular_7x7', lambda a, y: lax.linalg.triangular_solve(a, y, left_side=True, lower=True), well_conditioned(f, 7, 7), f32(f, 7, 3))
    add('qr_8x4', lambda a: jnp.abs(la.qr(a)[1]), f32(f, 8, 4))
    add('eigenvalues_3x3', lambda a: la.eigvalsh(a), positive_definite(f, 3, 3))
    add('singular_values_4x4', lambda a: la.svd(a, compute_uv=False), f32(f, 4, 4))
    add('log_determinant', lambda a: la.slogdet(a)[1], positive_definite(f, 9, 9))
    add('cross', lambda x, y: jnp.cross(x, y), f32(b, 3), f32(b, 3))
    add('rotate_points', lambda r, p: jnp.einsum('bij,bnj->bni', r, p), f32(b // 4, 3, 3), f32(b // 4, 16, 3))
    add('transform_points', lambda m, p: (lambda h: h[:, :3] / (jnp.abs(h[:, 3:]) + 1))(jnp.concatenate([p, jnp.ones((p.shape[0], 1))], 1) @ m.T), f32(4, 4), f32(4 * b, 3))

    def quaternion_product(p, q):
        a, b, c, d = (p[..., i] for i in range(4))
        e, f, g, h = (q[..., i] for i in range(4))
        return jnp.stack([a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e], -1)
    add('quaternion_product', quaternion_product, f32(b, 4), f32(b, 4))
    add('quaternion_rotate', lambda q, v: (lambda u: v + 2 * jnp.cross(u, jnp.cross(u, v) + q[:, :1] * v))(q[:, 1:]), f32(b, 4, scale=0.5), f32(b, 3))

    def rodrigues(w):
        t = jnp.sqrt((w * w).sum(-1) + 1e-6)[:, None, None]
        k = jnp.stack([jnp.zeros_like(w[:, 0]), -w[:, 2], w[:, 1], w[:, 2], jnp.zeros_like(w[:, 0]), -w[:, 0], -w[:, 1], w[:, 0], jnp.zeros_like(w[:, 0])], -1).reshape(-1, 3, 3) / t
        return jnp.eye(3) + jnp.sin(t) * k + (1 - jnp.cos(t)) * (k @ k)
    add('axis_angle', rodrigues, f32(b, 3))
    add('chain_of_transforms', lambda m: lax.associative_scan(jnp.matmul, m, axis=1), lambda rng: (rng.standard_normal((b // 20, 12, 3, 3)) * 0.4).astype('float32'))
    add('mahalanobis', lambda x, m, c: jax.vmap(lambda v: (lambda d: d @ la.solve(c, d))(v - m))(x), f32(f, 5), f32(5), positive_definite(5, 5))
    add('gaussian_log_density', lambda x, m, c: jax.vmap(lambda v: jax.scipy.stats.multivariate_normal.logpdf(v, m, c))(x), f32(f, 4), f32(4), positive_definite(4, 4))
    add('least_squares_line', lambda x, y: jax.vmap(lambda u, v: la.solve(jnp.stack([u, jnp.ones_like(u)]) @ jnp.stack([u, jnp.ones_like(u)], 1), jnp.stack([u @ v, v.sum()])))(x, y), f32(f, 12), f32(f, 12))
    add('gram_schmidt', lambda a: (lambda x, y: jnp.stack([x, y, jnp.cross(x, y)], 1))(*(lambda x: (x, (lambda y: y / jnp.sqrt((y * y).sum(-1, keepdims=True) + 1e-6))(a[:, 1] - (a[:, 1] * x).sum(-1, keepdims=True) * x)))(a[:, 0] / jnp.sqrt((a[:, 0] ** 2).sum(-1, keepdims=True) + 1e-6))), f32(b, 2, 3), factor=16)
    add('matrix_exponential_series', lambda a: jnp.eye(3) + a + a @ a / 2 + a @ a @ a / 6, f32(b, 3, 3, scale=0.3))
    add('kalman_update', lambda p, h, r: jax.vmap(lambda p, h: p - p @ h.T @ la.inv(h @ p @ h.T + r) @ h @ p)(p, h), positive_definite(f, 6, 6), f32(f, 2, 6), positive_definite(2, 2))
    add('triangle_areas', lambda v: jnp.sqrt((jnp.cross(v[:, 1] - v[:, 0], v[:, 2] - v[:, 0]) ** 2).sum(-1)) / 2, f32(b, 3, 3))
