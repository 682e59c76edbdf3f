"""Hessians, forward over reverse, custom rules, remat, scans of maps, maps of scans, dynamic trip counts."""
import numpy as np
from by_value import Programs, Random
R = Random(1210)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 512.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    K = np.array([4, 8], np.uint32)
    # per-example hessian traces by vmapped hvp with rademacher probes (Hutchinson)
    mlp = lambda w, x: jnp.tanh(jnp.tanh(x @ w[0] + w[1]) @ w[2] + w[3]) @ w[4]
    w = [f32(13, 41) * .3, f32(41) * .1, f32(41, 29) * .2, f32(29) * .1, f32(29) * .3]
    add('hutchinson_traces', lambda w, x, v: jax.vmap(lambda x: jax.vmap(lambda v: v @ jax.jvp(jax.grad(lambda x: mlp(w, x)), (x,), (v,))[1])(v).mean())(x), w, f32(53, 13), np.sign(f32(10, 13)))
    add('gauss_newton_vector_product', lambda w, x, v: (lambda f: jax.vjp(f, w)[1](jax.jvp(f, (w,), (v,))[1])[0])(lambda w: mlp(w, x)), w, f32(301, 13), w)
    add('hessian_vector_cg_steps', lambda w, x, y: (lambda f: (lambda g: jax.scipy.sparse.linalg.cg(lambda v: jax.tree.map(lambda a, b: a + b, jax.jvp(jax.grad(f), (w,), (v,))[1], v), g, maxiter=5, tol=1e-9)[0])(jax.grad(f)(w)))(lambda w: ((mlp(w, x) - y) ** 2).mean()), w, f32(101, 13), f32(101))
    add('neural_tangent_kernel', lambda w, x: (lambda J: sum(jnp.einsum('n...,m...->nm', j, j) for j in jax.tree.leaves(J)))(jax.vmap(lambda x: jax.grad(lambda w: mlp(w, x))(w))(x)), w, f32(37, 13))
    add('third_derivatives', lambda x: jax.vmap(jax.jacfwd(jax.jacfwd(jax.grad(lambda x: jnp.sum(jnp.sin(x[0] * x[1]) * jnp.exp(-x[2] ** 2) + x[0] ** 3 * x[2])))))(x), f32(701, 3))
    # metric, christoffel symbols and geodesics
    def metric(x): r = x[1]; f = 1 - 2 / r; return jnp.diag(jnp.stack([-f, 1 / f, r ** 2, (r * jnp.sin(x[2])) ** 2]))
    def chris(x): g, dg = metric(x), jax.jacfwd(metric)(x); return .5 * jnp.einsum('ad,bcd->abc', jnp.linalg.inv(g), jnp.einsum('dbc->bcd', dg) * 0 + jnp.transpose(dg, (0, 2, 1)) + dg - jnp.transpose(dg, (2, 0, 1)))
    add('geodesics_of_a_hole', jax.vmap(lambda x, v: lax.fori_loop(0, 25, lambda i, c: (c[0] + .05 * c[1], c[1] - .05 * jnp.einsum('abc,b,c->a', chris(c[0]), c[1], c[1])), (x, v))), (np.array([0, 9, 1.5, 0]) + .1 * R.randn(23, 4)).astype(np.float32), f32(23, 4) * .1)
    # custom_vjp: clipped gradient and softmax-cross-entropy with own backward in scan
    @jax.custom_vjp
    def xent(l, y): return jax.nn.logsumexp(l, -1) - jnp.take_along_axis(l, y[:, None], 1)[:, 0]
    xent.defvjp(lambda l, y: (xent(l, y), (l, y)), lambda r, g: ((jax.nn.softmax(r[0], -1) - jax.nn.one_hot(r[1], r[0].shape[-1])) * g[:, None], None))
    add('custom_cross_entropy_chunks', lambda h, W, y: jax.grad(lambda h, W: lax.scan(lambda c, a: (c + xent(a[0] @ W, a[1]).sum(), None), 0., (h.reshape(7, 29, 31), y.reshape(7, 29)))[0], (0, 1))(h, W), f32(203, 31), f32(31, 211) * .2, i32(211, 203))
    # implicit layer via custom_vjp on root of cubic, per element
    @jax.custom_jvp
    def cub(a): return lax.fori_loop(0, 15, lambda i, x: x - (x ** 3 + x - a) / (3 * x * x + 1), a / 2)
    cub.defjvp(lambda p, t: (lambda x: (x, t[0] / (3 * x * x + 1)))(cub(p[0])))
    add('implicit_cubic_gradient', lambda a, w: jax.grad(lambda w: jnp.sum(cub(a @ w) ** 2))(w), f32(203, 17), f32(17, 23))
    # remat scan with dots saveable policy
    def net(ws, x):
        f = jax.checkpoint(lambda x, w: (x + jnp.sin(x @ w[:, :37]) @ w[:, 37:] if False else x + jnp.sin(x @ w) * .3, None), policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
        return lax.scan(f, x, ws)[0]
    add('remat_scan_policy_gradient', lambda ws, x: jax.grad(lambda ws: (net(ws, x) ** 2).mean())(ws), f32(9, 37, 37) * .2, f32(101, 37))
    # nested scans: outer episodes, inner rollouts with vmapped envs
    def cart(s, a):
        x, xd, th, td = s; t = (a + .05 * td ** 2 * jnp.sin(th)) / 1.1; ta = (9.8 * jnp.sin(th) - jnp.cos(th) * t) / (.5 * (4 / 3 - .1 * jnp.cos(th) ** 2 / 1.1)); xa = t - .05 * ta * jnp.cos(th) / 1.1
        return jnp.stack([x + .02 * xd, xd + .02 * xa, th + .02 * td, td + .02 * ta])
    def ret(w, s): return lax.scan(lambda s, _: (lambda a: (lambda n: (n, -(n[2] ** 2 + .01 * a ** 2)))(cart(s, a)))(jnp.tanh(jnp.tanh(w[:28].reshape(7, 4) @ s) @ w[28:])), s, None, length=40)[1].sum()
    add('policy_gradient_through_cartpoles', lambda w, s: lax.scan(lambda w, s: (w + .1 * jax.grad(lambda w: jax.vmap(lambda s: ret(w, s))(s).mean())(w), None), w, s)[0], f32(35) * .3, f32(4, 19, 4) * .1)
    # evolution: vmap over population of scans
    add('evolved_policies', lambda w, s, k: lax.scan(lambda w, k: (lambda e: (lambda r: (w + .05 * (jnp.argsort(jnp.argsort(r)) / 32. - .5) @ e, r.max()))(jax.vmap(lambda e: jax.vmap(lambda s: ret(w + .1 * e, s))(s).mean())(e)))(jax.random.normal(k, (33, 35))), w, jax.random.split(k, 3)), f32(35) * .3, f32(5, 4) * .1, K)
    # dynamic trip counts: Collatz-like per row with while; bisection until width
    add('quantiles_by_bisection_while', lambda x, q: jax.vmap(lambda x: jax.vmap(lambda q: lax.while_loop(lambda c: c[1] - c[0] > 1e-4, lambda c: (lambda m: (lambda b: (jnp.where(b, m, c[0]), jnp.where(b, c[1], m)))((x < m).mean() < q))((c[0] + c[1]) / 2), (x.min(), x.max()))[0])(q))(x), f32(11, 203), np.array([.1, .5, .9], np.float32))
    add('jump_process_until_time', lambda k, r: jax.vmap(lambda k: lax.while_loop(lambda c: c[0] < 3., lambda c: (lambda k, a, b: (c[0] - jnp.log(jax.random.uniform(a) + 1e-9) / (r.sum()), c[1].at[jnp.searchsorted(jnp.cumsum(r) / r.sum(), jax.random.uniform(b))].add(1), k))(*jax.random.split(c[2], 3)), (0., jnp.zeros(11, jnp.int32), k))[1])(k), np.stack([K + i for i in range(29)]), np.abs(f32(11)) + .5)
    add('sliding_window_regressions', lambda x, y: lax.map(lambda i: (lambda a, b: jnp.linalg.solve(a.T @ a + .1 * jnp.eye(5), a.T @ b))(lax.dynamic_slice(x, (i, 0), (40, 5)), lax.dynamic_slice(y, (i,), (40,))), jnp.arange(160)), f32(200, 5), f32(200))
    add('fori_block_gram_updates', lambda x: lax.fori_loop(0, 10, lambda i, G: lax.dynamic_update_slice(G, lax.dynamic_slice(x, (i * 10, 0), (10, 37)) @ x.T, (i * 10, 0)), jnp.zeros((100, 100))), f32(100, 37))
    add('jvp_of_sorted_cumulative', lambda x, v: jax.jvp(lambda x: (lambda s: (jnp.cumsum(s) / jnp.arange(1, 1010), jnp.cumsum(s[::-1])))(jnp.sort(x)), (x,), (v,)), f32(1009), f32(1009))
    add('vjp_of_cumulative_logsumexp', lambda x, g: jax.vjp(lambda x: (lax.cumlogsumexp(x, 1), lax.cummax(x, 1), lax.cumprod(1 + .01 * x, 1)), x)[1](g), f32(67, 101), (f32(67, 101), f32(67, 101), f32(67, 101)))
    add('jacobian_of_a_convolution_layer', lambda w, x: jax.jacrev(lambda w: jax.nn.relu(jnp.convolve(x, w, 'same')))(w), f32(11), f32(503))
    add('linearised_once_used_often', lambda w, x, vs: (lambda f: lax.map(lambda v: jax.tree.leaves(f(v))[0], vs))(jax.linearize(lambda x: jnp.tanh(x @ w[0] + w[1]) @ w[2], x)[1]), w, f32(41, 13), f32(11, 41, 13))
    return P
