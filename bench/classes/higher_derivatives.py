"""Derivatives of derivatives: Taylor series, mixed partials, Hessians of layers, products with them, forward modes through loops and solves, checkpoints, sensitivities of optima."""
import numpy as np
from by_value import Programs, Random

FACTOR = 4096.0


def programs(jax):
    from jax.experimental import jet
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(19)
    add, f32, weights = P.add, R.f32, R.weights
    p = [weights(3, 20), weights(20, 20), weights(20, 1)]

    def net(x, a, b, c):
        return (jnp.tanh(jnp.tanh(x @ a) @ b) @ c)[..., 0]
    point, points = f32(3), f32(61, 3)
    hvp = lambda f, x, v: jax.jvp(jax.grad(f), (x,), (v,))[1]

    add('taylor_of_a_net', lambda x, v, *p: jet.jet(lambda x: net(x, *p), (x,), ([v, jnp.zeros_like(v), jnp.zeros_like(v)],)), point, f32(3), *p)
    add('taylor_of_a_net_at_points', lambda x, v, *p: jax.vmap(lambda x, v: jet.jet(lambda x: net(x, *p), (x,), ([v, jnp.zeros_like(v), jnp.zeros_like(v)],)))(x, v), points, f32(61, 3), *p)
    add('hessians_at_points', lambda x, *p: jax.vmap(jax.hessian(lambda x: net(x, *p)))(x), points, *p)
    add('laplacians_at_points', lambda x, *p: jax.vmap(lambda x: sum(hvp(lambda x: net(x, *p), x, e) @ e for e in jnp.eye(3)))(x), points, *p)
    add('biharmonic_at_points', lambda x, *p: jax.vmap(lambda x: (lambda lap: jnp.trace(jax.hessian(lap)(x)))(lambda x: jnp.trace(jax.hessian(lambda x: net(x, *p))(x))))(x), points[:20], *p)
    add('hessian_of_weights', lambda x, w, b, c: jax.hessian(lambda w: (net(x, w, b, c) ** 2).mean())(w), points, weights(3, 5), weights(5, 5), weights(5, 1))
    add('hessian_product', lambda x, v, *p: hvp(lambda q: (net(x, *q) ** 2).mean(), list(p), [jnp.full_like(a, v) for a in p]), points, np.float32(.1), *p)
    add('hessian_products_of_many', lambda x, vs, w, b, c: jax.vmap(lambda v: hvp(lambda w: (net(x, w, b, c) ** 2).mean(), w, v))(vs), points, f32(11, 3, 20), *p)
    add('diagonal_of_a_hessian', lambda x, w, b, c: (lambda f, u: jax.vmap(lambda e: (hvp(f, u, e) * e).sum())(jnp.eye(u.size)))(lambda u: (net(x, u.reshape(3, 20), b, c) ** 2).mean(), w.ravel()), points, *p)
    add('gradients_of_each_sample', lambda x, y, *p: jax.vmap(lambda x, y: jax.grad(lambda p: (net(x, *p) - y) ** 2)(list(p)))(x, y), points, f32(61), *p)
    add('norms_of_gradients_of_each', lambda x, y, *p: jax.vmap(lambda x, y: sum((g * g).sum() for g in jax.grad(lambda p: (net(x, *p) - y) ** 2)(list(p))))(x, y), points, f32(61), *p)
    add('gauss_newton_step', lambda x, y, w, b, c: (lambda r, j: jnp.linalg.solve(j.T @ j + .1 * jnp.eye(60), j.T @ r))(net(x, w, b, c) - y, jax.jacfwd(lambda u: net(x, u.reshape(3, 20), b, c))(w.ravel())), points, f32(61), *p)
    add('penalty_of_a_gradient', lambda x, *p: jax.grad(lambda p: ((jnp.linalg.norm(jax.vmap(jax.grad(lambda x: net(x, *p)))(x), axis=1) - 1) ** 2).mean())(list(p)), points, *p)
    add('equation_in_the_loss', lambda x, *p: jax.grad(lambda p: (jax.vmap(lambda x: jnp.trace(jax.hessian(lambda x: net(x, *p))(x)) + jnp.sin(x).sum())(x) ** 2).mean())(list(p)), points, *p)
    add('jacobian_of_softmax', lambda x: jax.vmap(jax.jacrev(jax.nn.softmax))(x), f32(50, 13))
    add('jacobian_of_a_norm', lambda x: jax.vmap(jax.jacfwd(lambda x: (x - x.mean()) / jnp.sqrt(x.var() + 1e-5)))(x), f32(50, 13))
    add('mixed_partials', lambda x, y: jax.vmap(lambda x, y: jax.jacfwd(jax.jacrev(lambda x, y: jnp.sin(x @ y) * jnp.exp(-x @ x), 0), 1)(x, y))(x, y), f32(40, 5), f32(40, 5))

    def attention(x, w):
        q, k, v = jnp.split(x @ w, 3, -1)
        return jax.nn.softmax(q @ k.T * 12 ** -.5) @ v
    add('hessian_product_of_attention', lambda x, w, v: hvp(lambda w: (attention(x, w) ** 2).sum(), w, v), f32(40, 12), weights(12, 36), weights(12, 36))
    add('forward_of_attention', lambda x, w, v: jax.jvp(lambda w: attention(x, w), (w,), (v,)), f32(40, 12), weights(12, 36), weights(12, 36))
    add('hessian_product_of_a_convolution', lambda x, w, v: hvp(lambda w: (jnp.tanh(lax.conv(x, w, (1, 1), 'SAME')) ** 2).sum(), w, v), f32(2, 3, 15, 16), f32(5, 3, 3, 3), f32(5, 3, 3, 3))

    def roll(x0, a):
        return lax.scan(lambda x, _: (jnp.tanh(a @ x), x[0]), x0, None, length=20)[1].sum()
    add('hessian_of_a_loop', lambda x, a: jax.hessian(roll)(x, a), f32(6), weights(6, 6))
    add('hessian_product_of_a_loop', lambda x, a, v: hvp(lambda a: roll(x, a), a, v), f32(6), weights(6, 6), weights(6, 6))
    add('forward_of_a_loop', lambda x, a: jax.jacfwd(lambda x: roll(x, a))(x), f32(6), weights(6, 6))
    add('forward_until', lambda a: jax.jvp(lambda a: lax.while_loop(lambda s: jnp.abs(s[0] * s[0] - a).max() > 1e-3, lambda s: ((s[0] + a / s[0]) / 2,), (jnp.ones_like(a),))[0], (a,), (jnp.ones_like(a),)), 1 + R.share(101))
    add('loop_in_checkpoints', lambda x, a: jax.grad(lambda a: lax.scan(jax.checkpoint(lambda x, _: lax.scan(lambda x, _: (jnp.tanh(a @ x), None), x, None, length=8)), x, None, length=8)[0].sum())(a), f32(6), weights(6, 6))
    add('layers_in_checkpoints', lambda x, w: jax.grad(lambda w: lax.scan(jax.checkpoint(lambda x, w: (x + jnp.tanh(x @ w[0]) @ w[1], None), policy=jax.checkpoint_policies.dots_saveable), x, w)[0].sum())(w), f32(33, 20), weights(7, 2, 20, 20))
    add('hessian_of_a_solve', lambda a, b: jax.hessian(lambda b: (jnp.linalg.solve(a + 5 * jnp.eye(7), jnp.tanh(b)) ** 2).sum())(b), f32(7, 7), f32(7))
    add('hessian_product_of_a_factor', lambda a, v: hvp(lambda a: jnp.log(jnp.diagonal(jnp.linalg.cholesky(a @ a.T + jnp.eye(9)))).sum(), a, v), f32(9, 9), f32(9, 9))
    add('hessian_product_of_eigenvalues', lambda a, v: hvp(lambda a: (jnp.linalg.eigvalsh(a + a.T) ** 3).sum(), a, v), f32(6, 6) + np.diag(np.arange(6) * 3).astype(np.float32), f32(6, 6))
    add('hessian_of_pair_energies', lambda x: jax.hessian(lambda x: (lambda d: (d ** -6 - d ** -3).sum() / 2)(((x[:, None] - x) ** 2).sum(-1) + 5 * jnp.eye(9)))(x), f32(9, 3) * 3)
    add('forces_and_their_derivative', lambda x, v: jax.jvp(jax.grad(lambda x: (lambda d: jnp.exp(-d).sum())(((x[:, None] - x) ** 2).sum(-1))), (x,), (v,)), f32(70, 3), f32(70, 3))
    add('third_derivative_of_a_sum', lambda x, v: jax.jvp(lambda x: hvp(lambda x: jax.nn.logsumexp(x), x, v), (x,), (v,))[1], f32(301), f32(301))
    add('metric_of_a_net', lambda x, *p: jax.vmap(lambda x: (lambda j: j.T @ j)(jax.jacfwd(lambda x: jnp.tanh(x @ p[0]) @ p[1])(x)))(x), points, *p)
    add('symbols_of_a_metric', lambda x: jax.vmap(lambda x: (lambda g, d: .5 * jnp.einsum('ka,abc->kbc', jnp.linalg.inv(g), d + d.transpose(0, 2, 1) - d.transpose(2, 1, 0)))((lambda x: jnp.eye(3) * (1 + x @ x) + jnp.outer(x, x))(x), jax.jacfwd(lambda x: jnp.eye(3) * (1 + x @ x) + jnp.outer(x, x))(x)))(x), f32(41, 3))
    normed = lambda x, g: (jax.nn.relu((x - x.mean(0)) * lax.rsqrt(x.var(0) + 1e-5) * g) ** 2).mean()
    add('slopes_of_a_batch_norm_squared', lambda x, g: jax.grad(lambda x, g: sum((d ** 2).mean() for d in jax.grad(normed, (0, 1))(x, g)), (0, 1))(x, g), f32(4000, 384), f32(384))
    return P
