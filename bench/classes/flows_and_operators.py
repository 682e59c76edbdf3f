"""Networks that stand for functions: flows with their densities, equations in the loss, operators on fields, soft trees, networks that make weights."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4203)
f32, weights = R.f32, R.weights


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add

    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))

    def step_of_a_flow(x, w, s, b, w1, w2):
        h, wd = x.shape[1:3]
        y = ((x + b) * jnp.exp(s)) @ w
        same, z = jnp.split(y, 2, -1)
        t = conv(nn.relu(conv(same, w1)), w2)
        scale = nn.sigmoid(t[..., ::2] + 2)
        volume = h * wd * (s.sum() + jnp.linalg.slogdet(w)[1]) + jnp.log(scale).sum((1, 2, 3))
        return jnp.concatenate([same, (z + t[..., 1::2]) * scale], -1), volume
    mixing = weights(12, 12) + 2 * np.eye(12, dtype=np.float32)
    flow = (mixing, .1 * f32(12), .1 * f32(12), weights(3, 3, 6, 32), .1 * weights(3, 3, 32, 12))
    add('step_of_an_invertible_flow', step_of_a_flow, f32(5, 15, 15, 12), *flow)

    def flow_loss(p, x):
        y, volume = step_of_a_flow(x, *p)
        return (.5 * (y * y).sum((1, 2, 3)) - volume).mean()
    add('step_of_an_invertible_flow_gradient', jax.grad(flow_loss), flow, f32(5, 15, 15, 12))

    def drawn_in_turn(z, w1, w2):
        def one(i, x):
            o = nn.tanh(x @ w1) @ w2
            mu, scale = o[:, :21], jnp.exp(jnp.tanh(o[:, 21:]))
            return x.at[:, i].set(z[:, i] * scale[:, i] + mu[:, i])
        return lax.fori_loop(0, 21, one, jnp.zeros_like(z))
    degrees = R.randint(0, 20, 50)
    add('dims_drawn_in_turn', drawn_in_turn, f32(101, 21), weights(21, 50) * (np.arange(21)[:, None] <= degrees),
        weights(50, 42) * np.tile(degrees[:, None] < np.arange(21), (1, 2)))

    def continuous(x, w1, w2):
        """A flow in time by Runge-Kutta with the exact trace of its Jacobian."""
        def field(x, t):
            return nn.tanh(jnp.concatenate([x, t[None]]) @ w1) @ w2

        def both(s, t):
            return jax.vmap(lambda x: field(x, t))(s[0]), -jax.vmap(lambda x: jnp.trace(jax.jacfwd(field)(x, t)))(s[0])

        def ahead(s, k, h):
            return jax.tree.map(lambda a, b: a + h * b, s, k)

        def step(s, t):
            k1 = both(s, t)
            k2 = both(ahead(s, k1, .05), t + .05)
            k3 = both(ahead(s, k2, .05), t + .05)
            k4 = both(ahead(s, k3, .1), t + .1)
            return jax.tree.map(lambda a, p, q, r, u: a + .1 / 6 * (p + 2 * q + 2 * r + u), s, k1, k2, k3, k4), None
        z, volume = lax.scan(step, (x, jnp.zeros(x.shape[0])), jnp.arange(10) * .1)[0]
        return (volume - .5 * (z ** 2).sum(1)).mean()
    add('flow_in_time', continuous, f32(67, 2), weights(3, 31), weights(31, 2))
    add('flow_in_time_gradient', jax.grad(continuous, (1, 2)), f32(67, 2), weights(3, 31), weights(31, 2))

    def operator(x, spectra, maps):
        """Products with the lowest 7 by 7 frequencies, those of both signs, beside products at each place."""
        for r, w in zip(spectra, maps):
            k = jnp.fft.rfft2(x, axes=(1, 2))
            o = jnp.zeros_like(k)
            o = o.at[:, :7, :7].set(jnp.einsum('bxyi,xyio->bxyo', k[:, :7, :7], r[0]))
            o = o.at[:, -7:, :7].set(jnp.einsum('bxyi,xyio->bxyo', k[:, -7:, :7], r[1]))
            x = nn.gelu(jnp.fft.irfft2(o, s=x.shape[1:3], axes=(1, 2)) + x @ w)
        return x
    spectra = (.02 * R.c64(3, 2, 7, 7, 13, 13)).astype(np.complex64)
    add('operator_of_frequencies', operator, f32(3, 40, 40, 13), spectra, weights(3, 13, 13))
    add('operator_of_frequencies_gradient', jax.grad(lambda p, x: (operator(x, *p) ** 2).mean()), (spectra, weights(3, 13, 13)), f32(3, 40, 40, 13))

    def equation_loss(p, places):
        def u(x, t):
            h = jnp.stack([x, t])
            for w, b in p[:-1]:
                h = jnp.tanh(h @ w + b)
            return (h @ p[-1][0] + p[-1][1])[0]

        def residual(x, t):
            return jax.grad(u, 1)(x, t) + u(x, t) * jax.grad(u, 0)(x, t) - .003 * jax.grad(jax.grad(u, 0), 0)(x, t)
        return (jax.vmap(residual)(places[:, 0], places[:, 1]) ** 2).mean()
    layers = [(weights(a, b), f32(b)) for a, b in ((2, 23), (23, 23), (23, 23), (23, 1))]
    add('equation_in_the_loss_step', jax.value_and_grad(equation_loss), layers, f32(509, 2))

    def accelerations(p, q, v):
        """Of a learned Lagrangian: its Hessian in the velocities is solved with."""
        def lagrangian(q, v):
            h = jnp.logaddexp(jnp.concatenate([q, v]) @ p[0], 0)
            return (jnp.logaddexp(h @ p[1], 0) @ p[2])[0]
        mass = jax.hessian(lagrangian, 1)(q, v) + 2 * jnp.eye(3)
        return jnp.linalg.solve(mass, jax.grad(lagrangian, 0)(q, v) - jax.jacfwd(jax.grad(lagrangian, 1), 0)(q, v) @ v)
    lagrangian = (weights(6, 31), weights(31, 31), weights(31, 1))
    many = jax.vmap(accelerations, (None, 0, 0))
    add('learned_lagrangian', many, lagrangian, f32(53, 3), f32(53, 3))
    add('learned_lagrangian_gradient', jax.grad(lambda p, q, v: (many(p, q, v) ** 2).mean()), lagrangian, f32(53, 3), f32(53, 3))

    def mixture_loss(p, x, y):
        h = jnp.tanh(x @ p[0])
        log_share, mean, log_scale = nn.log_softmax(h @ p[1]), h @ p[2], h @ p[3]
        return -nn.logsumexp(log_share - log_scale - .5 * ((y - mean) * jnp.exp(-log_scale)) ** 2, axis=-1).mean()
    add('mixture_of_densities_step', jax.value_and_grad(mixture_loss), (weights(3, 37), weights(37, 9), weights(37, 9), .1 * weights(37, 9)), f32(401, 3), f32(401, 1))

    def made_weights(z, x, h1, h2):
        return jax.vmap(lambda z, x: jnp.tanh(x @ (z @ h1).reshape(9, 14)) @ (z @ h2).reshape(14, 3))(z, x)
    add('weights_made_for_each_sample', made_weights, f32(31, 11), f32(31, 57, 9), weights(11, 126), weights(11, 42))

    def soft_trees(x, select, cut, leaves):
        feature = jnp.einsum('bi,itd->btd', x, nn.softmax(select, 0))
        b = jnp.clip(.5 * (feature - cut) + .5, 0, 1)
        w = jnp.ones((*b.shape[:2], 1))
        for k in range(b.shape[2]):
            w = (w[..., None] * jnp.stack([b[..., k], 1 - b[..., k]], -1)[:, :, None]).reshape(*b.shape[:2], -1)
        return jnp.einsum('btl,tl->b', w, leaves)
    trees = (f32(19, 24, 5), f32(24, 5), f32(24, 32))
    add('soft_trees', soft_trees, f32(103, 19), *trees)
    add('soft_trees_gradient', jax.grad(lambda *a: (soft_trees(a[3], *a[:3]) ** 2).sum(), (0, 1, 2)), *trees, f32(103, 19))

    def assigned(scores):
        q = jnp.exp(scores / .05 - (scores / .05).max()).T

        def balance(i, q):
            q = q / q.sum(1, keepdims=True) / q.shape[0]
            return q / q.sum(0, keepdims=True) / q.shape[1]
        return lax.fori_loop(0, 3, balance, q / q.sum()).T * scores.shape[0]
    add('assigned_to_prototypes', assigned, .1 * f32(203, 301))
    return P
