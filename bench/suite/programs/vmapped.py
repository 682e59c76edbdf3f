"""vmap of what was written for one: slices, loops, branches, solvers, convolutions, nested, over odd axes."""
import numpy as np

from arrays import f32, flags, i32, positive, positive_definite, well_conditioned

FACTOR = 16.0


def programs(jax, pick, add):
    jnp, lax, vmap = jax.numpy, jax.lax, jax.vmap
    b, k = pick((12, 10), (300, 40), (4000, 100))
    add('dot', lambda x, y: vmap(jnp.dot)(x, y), f32(b, k), f32(b, k))
    add('matrix_vector_shared', lambda a, x: vmap(lambda v: a @ v)(x), f32(k, k), f32(b, k))
    add('all_pairs', lambda x, y: vmap(lambda u: vmap(lambda v: jnp.exp(-((u - v) ** 2).sum()))(y))(x), f32(b, 3), f32(k, 3))
    add('last_axis', lambda x: vmap(lambda v: (v - v.mean()) / (v.std() + 1), in_axes=-1, out_axes=-1)(x), f32(k, b))
    add('middle_axis', lambda x: vmap(jnp.cumsum, 1, 1)(x), f32(k, b, 3))
    add('polynomial_fit', lambda x, y: vmap(lambda u, v: (lambda a: jnp.linalg.solve(a.T @ a + 0.1 * jnp.eye(3), a.T @ v))(jnp.stack([jnp.ones_like(u), u, u * u], 1)))(x, y), f32(b, k), f32(b, k), factor=16)
    add('branch', lambda x, p: vmap(lambda v, q: lax.cond(q, lambda v: jnp.sin(v), lambda v: v * v, v))(x, p), f32(b, k), flags(b))
    add('switch', lambda x, i: vmap(lambda v, j: lax.switch(j, [jnp.tanh, jnp.exp, lambda v: v * 2], v))(x, i), f32(b, k, scale=0.5), i32(3, b))
    add('while', lambda x: vmap(lambda v: lax.while_loop(lambda s: s > 1, lambda s: s * 0.8, v))(x), positive(b * k, low=0.5, high=20.0))
    add('loop', lambda x: vmap(lambda v: lax.fori_loop(0, 30, lambda i, s: 0.9 * s + 0.1 * jnp.sin(s), v))(x), f32(b, k))
    add('scan', lambda x: vmap(lambda v: lax.scan(lambda s, u: (0.8 * s + u,) * 2, 0.0, v)[1])(x), f32(b, k))
    add('sort', lambda x: vmap(lambda v: jnp.sort(v)[:3])(x), f32(b, k))
    add('gather', lambda x, i: vmap(lambda v, j: v[j])(x, i), f32(b, k), i32(k, b, 7))
    add('scatter', lambda x, i, u: vmap(lambda v, j, w: v.at[j].add(w))(x, i, u), f32(b, k), i32(k, b, 7), f32(b, 7))
    add('segments', lambda x, s: vmap(lambda v, j: jax.ops.segment_sum(v, j, 5))(x, s), f32(b, k), i32(5, b, k))
    add('slice', lambda x, i: vmap(lambda v, j: lax.dynamic_slice(v, (j,), (k // 2,)))(x, i), f32(b, k), i32(k // 2, b))
    add('update', lambda x, i: vmap(lambda v, j: lax.dynamic_update_slice(v, jnp.ones(3), (j,)))(x, i), f32(b, k), i32(k - 3, b))
    add('search', lambda e, x: vmap(lambda a, v: jnp.searchsorted(a, v), (None, 0))(jnp.sort(e), x), f32(k), f32(b, 4))
    add('convolve', lambda x, w: vmap(lambda v, u: jnp.convolve(v, u, 'same'))(x, w), f32(b, k), f32(b, 5))
    add('per_example_gradients', lambda w, x, y: vmap(jax.grad(lambda w, u, v: (jnp.tanh(u @ w) - v) ** 2), (None, 0, 0))(w, x, y), f32(k), f32(b, k), f32(b))
    add('clipped_gradients', lambda w, x, y: (lambda g: (g * jnp.minimum(1, 1 / jnp.sqrt((g * g).sum((1, 2)) + 1e-6))[:, None, None]).mean(0))(vmap(jax.grad(lambda w, u, v: ((u @ w - v) ** 2).sum()), (None, 0, 0))(w, x, y)), f32(k, 3), f32(b, k), f32(b, 3))
    add('jacobians', lambda x: vmap(jax.jacfwd(lambda v: jnp.stack([v[0] * v[1], jnp.sin(v[1]) * v[2], v.sum() ** 2])))(x), f32(b, 3))
    add('hessians', lambda x: vmap(jax.hessian(lambda v: (1 - v[0]) ** 2 + 10 * (v[1] - v[0] ** 2) ** 2))(x), f32(b, 2))
    add('cholesky', lambda a: vmap(jnp.linalg.cholesky)(a), positive_definite(b // 4, 6, 6), factor=4)
    add('newton', lambda a, y: vmap(lambda a, y: lax.fori_loop(0, 4, lambda i, x: x - jnp.linalg.solve(a + jnp.diag(3 * x * x), a @ x + x ** 3 - y), jnp.zeros_like(y)))(a, y), well_conditioned(b // 8, 4, 4), f32(b // 8, 4), factor=16)
    add('small_network', lambda p, x: vmap(lambda q, v: jnp.tanh(v @ q[0]) @ q[1])(p, x), lambda rng: (f32(b // 4, 6, 16)(rng), f32(b // 4, 16, 2)(rng)), f32(b // 4, 6))
    add('ensembles', lambda w, x: vmap(lambda w: jax.nn.softmax(x @ w))(w).mean(0), f32(8, k, 5, scale=0.3), f32(b, k))
    add('runge_kutta', lambda y: vmap(lambda y: lax.fori_loop(0, 10, lambda i, y: rk4(jnp, y, 0.05), y))(y), f32(b, 3, scale=0.5))
    add('random_keys', lambda k: vmap(lambda k: jax.random.normal(k, (5,)))(jax.random.split(k, b)), lambda rng: np.array([1, 2], np.uint32))
    add('image_warp', lambda x, a: vmap(lambda im, t: (lambda j: im[:, j % im.shape[1]] * (1 - t) + im * t)(jnp.arange(im.shape[1]) + jnp.floor(t * 5).astype(jnp.int32)))(x, a), f32(b // 4, 16, 24), positive(b // 4))


def rk4(jnp, y, h):
    f = lambda y: jnp.stack([y[1] - y[0], y[0] * (1 - y[2]) - y[1], y[0] * y[1] - y[2]])
    a = f(y)
    b = f(y + h / 2 * a)
    c = f(y + h / 2 * b)
    return y + h / 6 * (a + 2 * b + 2 * c + f(y + h * c))
