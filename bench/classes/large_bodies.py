"""Loops whose bodies are long and read many arrays: what comes of Python loops inside of jax.lax loops."""


def programs(jax):
    import numpy as np
    jnp, lax = jax.numpy, jax.lax

    def array(*shape, seed=0):
        return lambda: np.random.RandomState(sum(shape) + seed).standard_normal(shape).astype(np.float32)

    def fields(n, *shape):
        return lambda: np.random.RandomState(n).standard_normal((n, *shape)).astype(np.float32) / n

    def weighted_fields(x, many):
        """A state driven by a sum of fields, each an array of its own."""
        parts = [many[i] for i in range(many.shape[0])]
        driven = [jnp.sin(p) for p in parts]

        def step(_, v):
            total = v
            for i, d in enumerate(driven):
                total = total + d * (0.5 if i % 3 else -0.25)
            return total * 0.9
        return lax.fori_loop(0, 100, step, x)

    def reactions(c, rates):
        """Species that are arrays of cells, each reaction a product of two of them."""
        n = c.shape[0]

        def step(c, _):
            cells = [c[i] for i in range(n)]
            change = [jnp.zeros_like(cells[0]) for _ in range(n)]
            for r in range(2 * n):
                a, b, p = r % n, (3 * r + 1) % n, (5 * r + 2) % n
                speed = cells[a] * cells[b] * rates[r]
                change[a], change[b], change[p] = change[a] - speed, change[b] - speed, change[p] + 2 * speed
            return jnp.stack([x + 1e-3 * d for x, d in zip(cells, change)]), None
        return lax.scan(step, c, None, length=50)[0]

    def stages(y, a):
        """An explicit method of 13 stages: each sums up those before it."""
        n = a.shape[0]

        def step(y, _):
            ks = []
            for i in range(n):
                at = y
                for j, k in enumerate(ks):
                    at = at + 0.01 * a[i, j] * k
                ks.append(jnp.cos(at) - at)
            return y + 0.01 * sum(ks), None
        return lax.scan(step, y, None, length=40)[0]

    def unrolled_layers(x, w, b):
        def step(x, _):
            for i in range(w.shape[0]):
                x = 0.9 * x + 0.1 * jnp.tanh(x * jnp.tanh(w[i]) + b[i])
            return x, x.mean()
        return lax.scan(step, x, None, length=40)

    def interpreted(x, constants):
        """A straight-line program of some hundred instructions over eight registers."""
        draw = np.random.RandomState(7)
        code = [(draw.randint(4), *draw.randint(8, size=3)) for _ in range(300)]

        def step(_, registers):
            r = [registers[i] for i in range(8)]
            for i, (op, to, one, other) in enumerate(code):
                r[to] = (r[one] + constants[i] * r[other], jnp.maximum(r[one], r[other]), 0.5 * (r[one] - r[other]),
                         r[one] * jnp.tanh(r[other]))[op]
            return jnp.stack(r)
        return lax.fori_loop(0, 20, step, x)

    return {
        'weighted_fields_40': (weighted_fields, [array(512), fields(40, 512)]),
        'weighted_fields_200': (weighted_fields, [array(512), fields(200, 512)]),
        'weighted_fields_100_of_64x64': (weighted_fields, [array(64, 64), fields(100, 64, 64)]),
        'reactions_12': (reactions, [lambda: np.abs(array(12, 1000)()), lambda: np.abs(array(24)())]),
        'reactions_40': (reactions, [lambda: np.abs(array(40, 300)()), lambda: np.abs(array(80)())]),
        'stages_13': (stages, [array(256), array(13, 13)]),
        'stages_13_of_64x256': (stages, [array(64, 256), array(13, 13)]),
        'unrolled_layers_24': (unrolled_layers, [array(32, 64), array(24, 64), array(24, 64, seed=1)]),
        'unrolled_layers_24_gradient': (jax.grad(lambda x, w, b: unrolled_layers(x, w, b)[1].sum(), argnums=1),
                                        [array(32, 64), array(24, 64), array(24, 64, seed=1)]),
        'interpreted': (interpreted, [array(8, 128), array(300)]),
        'interpreted_of_4096': (interpreted, [array(8, 4096), array(300)]),
    }
