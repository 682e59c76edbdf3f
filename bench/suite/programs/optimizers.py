"""Update rules over trees of parameters, gradient processing, second-order and sharpness-aware steps."""
from arrays import f32, positive, tree

FACTOR = 32.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    m = jax.tree.map
    d = pick(20, 300, 1500)
    params = tree(a=f32(d, d), b=f32(d), c=f32(d, 3), s=f32())
    squares = tree(a=positive(d, d), b=positive(d), c=positive(d, 3), s=positive())
    total = lambda t: sum(jnp.vdot(v, v) for v in jax.tree.leaves(t))
    add('sgd', lambda p, g: m(lambda p, g: p - 0.1 * g, p, g), params, params)
    add('momentum', lambda p, g, v: (lambda v: (m(lambda p, g, v: p - 0.1 * (g + 0.9 * v), p, g, v), v))(m(lambda v, g: 0.9 * v + g, v, g)), params, params, params)

    def adam(p, g, u, v, t):
        u, v = m(lambda u, g: 0.9 * u + 0.1 * g, u, g), m(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        a, b = 1 - 0.9 ** t, 1 - 0.999 ** t
        return m(lambda p, u, v: p - 1e-3 * ((u / a) / (jnp.sqrt(v / b) + 1e-8) + 0.01 * p), p, u, v), u, v
    add('adam', adam, params, params, params, squares, positive(low=3.0, high=4.0), factor=8)
    add('clipped_adam', lambda p, g, u, v, t: adam(p, (lambda k: m(lambda g: g * k, g))(jnp.minimum(1, 1 / (jnp.sqrt(total(g)) + 1e-6))), u, v, t), params, params, params, squares, positive(low=3.0, high=4.0), factor=8)
    add('sign_momentum', lambda p, g, v: (m(lambda p, g, v: p - 1e-3 * (jnp.sign(0.9 * v + 0.1 * g) + 0.1 * p), p, g, v), m(lambda v, g: 0.99 * v + 0.01 * g, v, g)), params, params, params)
    add('rms', lambda p, g, v: (lambda v: (m(lambda p, g, v: p - 0.01 * g * lax.rsqrt(v + 1e-6), p, g, v), v))(m(lambda v, g: 0.9 * v + 0.1 * g * g, v, g)), params, params, squares)
    add('factored_moments', lambda p, g: (lambda r, c: p - 0.01 * g * lax.rsqrt(r[:, None] * c[None] / r.mean() + 1e-6))((g * g).mean(1), (g * g).mean(0)), f32(d, d), f32(d, d))
    add('layerwise_trust', lambda p, g: m(lambda p, g: p - 0.01 * g * jnp.sqrt(jnp.vdot(p, p) / (jnp.vdot(g, g) + 1e-6)), p, g), params, params)
    add('orthogonalised', lambda p, g: p - 0.02 * lax.fori_loop(0, 5, lambda i, y: (lambda a: 3.4 * y + (-4.8 * a + 2.0 * a @ a) @ y)(y @ y.T), g / (jnp.linalg.norm(g) + 1e-6)), f32(min(d, 500), min(d, 500)), f32(min(d, 500), min(d, 500)), factor=16)
    add('average', lambda p, e: m(lambda p, e: 0.99 * e + 0.01 * p, p, e), params, params)
    add('accumulate', lambda g, a, n: (m(lambda g, a: jnp.where(n > 3, 0, a + g), g, a), n + 1), params, params, positive())
    add('finite_guard', lambda p, g: (lambda ok: m(lambda p, g: jnp.where(ok, p - 0.1 * g, p), p, g))(jnp.array([jnp.isfinite(v).all() for v in jax.tree.leaves(g)]).all()), params, params)
    add('agc', lambda p, g: m(lambda p, g: g * jnp.minimum(1, 0.01 * jnp.maximum(jnp.sqrt((p * p).sum(-1, keepdims=True)), 1e-3) / jnp.sqrt((g * g).sum(-1, keepdims=True) + 1e-6)), p, g), tree(a=f32(d, d), c=f32(d, 3)), tree(a=f32(d, d), c=f32(d, 3)))
    add('schedule', lambda p, g, t: m(lambda p, g: p - jnp.where(t < 100, t / 100, 0.5 * (1 + jnp.cos(3.14159 * (t - 100) / 900))) * g, p, g), params, params, positive(low=150, high=151))
    n = pick(6, 30, 100)
    rosen = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    add('gradient_descent_loop', lambda x: lax.fori_loop(0, pick(20, 200, 2000), lambda i, x: x - 1e-4 * jax.grad(rosen)(x), x), positive(n))
    add('newton_step', lambda x: x - jnp.linalg.solve(jax.hessian(rosen)(x) + 10 * jnp.eye(n), jax.grad(rosen)(x)), positive(n), factor=16)

    def lbfgs(g, s, y):
        q, al = g, []
        rho = 1 / ((s * y).sum(1) + 1e-3)
        for i in range(5):
            a = rho[i] * s[i] @ q
            q = q - a * y[i]
            al.append(a)
        for i in reversed(range(5)):
            q = q + s[i] * (al[i] - rho[i] * y[i] @ q)
        return q
    add('two_loop_recursion', lbfgs, f32(d * d), f32(5, d * d, scale=0.1), lambda rng: f32(5, d * d, scale=0.1)(rng) + 0.01, factor=1e3)
    add('line_search', lambda x: lax.while_loop(lambda a: rosen(x - a * jax.grad(rosen)(x)) > rosen(x), lambda a: a * 0.5, jnp.float32(1.0)), positive(n))
    add('sharpness_aware', lambda w, x: (lambda l: (lambda g: w - 0.1 * jax.grad(l)(w + 0.05 * g / jnp.linalg.norm(g)))(jax.grad(l)(w)))(lambda w: (jnp.tanh(x @ w) ** 2).mean()), f32(d, scale=0.2), f32(2 * d, d))
    add('evolution', lambda w, e: w + 0.01 * ((lambda r: (r - r.mean()) / (r.std() + 1e-3))(jax.vmap(lambda v: -rosen(w + 0.1 * v))(e)) @ e), positive(n), f32(64, n), factor=8)
