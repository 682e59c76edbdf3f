"""Recurrences by associative scans, longer than those of the suite, forwards, backwards and differentiated; running products."""


def programs(jax):
    import numpy as np
    jnp, lax = jax.numpy, jax.lax

    def decays(*shape):
        return lambda: (0.5 + np.random.RandomState(sum(shape)).random_sample(shape) * 0.5).astype(np.float32)

    def inputs(*shape):
        return lambda: np.random.RandomState(sum(shape) + 1).standard_normal(shape).astype(np.float32)

    def then(first, second):
        return first[0] * second[0], second[0] * first[1] + second[1]

    def recurrence(a, b, axis=0, reverse=False):
        return lax.associative_scan(then, (a, b), axis=axis, reverse=reverse)[1]

    def layer(x, a, b, c):
        """A diagonal state space: states of each channel, driven and read."""
        states = recurrence(jnp.broadcast_to(a, (x.shape[0], *a.shape)), x[:, :, None] * b)
        return jax.nn.gelu((states * c).sum(-1))

    def gated(x, w, v):
        a, u = jax.nn.sigmoid(x @ w), x @ v
        return recurrence(a, (1 - a) * u)

    def loss(f):
        return lambda x, *rest: (f(x, *rest) ** 2).mean()

    def affine(first, second):
        return (jnp.einsum('nij,njk->nik', second[0], first[0]),
                jnp.einsum('nij,nj->ni', second[0], first[1]) + second[1])

    def filtered(m, v):
        return lax.associative_scan(affine, (m, v))[1]

    def logsumexps(x):
        return lax.associative_scan(jnp.logaddexp, x)

    def survival(x):
        return jnp.cumprod(1 - jax.nn.sigmoid(x), 1)

    def transmittance(density, colour):
        alpha = 1 - jnp.exp(-density)
        clear = jnp.cumprod(1 - alpha + 1e-6, 1) / (1 - alpha + 1e-6)
        return (alpha * clear * colour).sum(1)

    return {
        'long': (recurrence, [decays(50000), inputs(50000)]),
        'rows': (recurrence, [decays(1500, 96), inputs(1500, 96)]),
        'backwards': (lambda a, b: recurrence(a, b, reverse=True), [decays(1111, 60), inputs(1111, 60)]),
        'along_rows': (lambda a, b: recurrence(a, b, axis=1), [decays(70, 900), inputs(70, 900)]),
        'gradient': (jax.grad(loss(lambda b, a: recurrence(a, b))), [inputs(2000, 40), decays(2000, 40)]),
        'gradient_of_decays': (jax.grad(loss(recurrence)), [decays(3000, 17), inputs(3000, 17)]),
        'state_space': (layer, [inputs(600, 12), decays(12, 8), inputs(12, 8), inputs(12, 8)]),
        'state_space_gradient': (jax.grad(loss(layer), (0, 1, 2)), [inputs(400, 10), decays(10, 8), inputs(10, 8), inputs(10, 8)]),
        'gated': (gated, [inputs(800, 48), inputs(48, 48), inputs(48, 48)]),
        'gated_gradient': (jax.grad(loss(gated), 1), [inputs(700, 32), inputs(32, 32), inputs(32, 32)]),
        'filter': (filtered, [lambda: inputs(500, 2, 2)() * np.float32(0.4), inputs(500, 2)]),
        'complex': (lambda a, b: recurrence(a + 0.1j, b + 0j).real, [decays(700, 24), inputs(700, 24)]),
        'logsumexps': (logsumexps, [inputs(5000, 8)]),
        'survival_gradient': (jax.grad(loss(survival)), [inputs(300, 200)]),
        'transmittance_gradient': (jax.grad(loss(transmittance)), [decays(500, 64), inputs(500, 64)]),
        'running_products': (jax.grad(loss(jnp.cumprod)), [lambda: (1 + inputs(9000)() * np.float32(1e-3))]),
    }
