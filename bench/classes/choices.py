"""Elements of few values that were put one behind the other, by places that are computed: choices between branches, pieces, options."""
from by_value import ByShape


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    make = ByShape(jax, 23)
    f32, below = make.f32, make.below

    def payoffs(kind, spot, strike):
        legs = jnp.array([jnp.maximum(spot - strike, 0), jnp.maximum(strike - spot, 0), (spot > strike).astype(spot.dtype), spot])
        return legs[kind]

    def by_rank(x, which):
        return jnp.choose(which, [x, x * 2, x - 1], mode='clip')

    def along_last(x, which):
        options = jnp.stack([jnp.sin(x), jnp.cos(x), x, -x, x * x], axis=-1)
        return jnp.take_along_axis(options, which[..., None], axis=-1)[..., 0]

    def spline(x, knots, coefficients):
        piece = jnp.clip(jnp.searchsorted(knots, x) - 1, 0, knots.shape[0] - 2)
        values = jnp.stack([((c[0] * x + c[1]) * x + c[2]) * x + c[3] for c in coefficients])
        return values[piece, jnp.arange(x.shape[0])]

    def turned(pictures, quarter):
        def one(p, q):
            return jnp.stack([p, jnp.rot90(p), jnp.rot90(p, 2), jnp.rot90(p, 3)])[q]
        return jax.vmap(one)(pictures, quarter)

    def by_turns(x):
        def trip(i, s):
            return s + jnp.stack([jnp.roll(s, 1), jnp.tanh(s), s[::-1]])[i % 3] * 0.1
        return lax.fori_loop(0, 60, trip, x)

    def states(x, which):
        def step(s, k):
            s = jnp.stack([s * 0.5 + 1, s * 0.5 - 1])[k]
            return s, s
        return lax.scan(step, x, which)[1]

    def game(x, which):
        """Fern of four affine maps, many points at once."""
        def step(p, k):
            a, b = p[:, 0], p[:, 1]
            first = jnp.stack([0 * a, .85 * a + .04 * b, .2 * a - .26 * b, -.15 * a + .28 * b])
            second = jnp.stack([.16 * b, -.04 * a + .85 * b + 1.6, .23 * a + .22 * b + 1.6, .26 * a + .24 * b + .44])
            rows = jnp.arange(a.shape[0])
            return jnp.stack([first[k, rows], second[k, rows]], 1), None
        return lax.scan(step, x, which)[0]

    def complex_roots(z, which):
        return jnp.take_along_axis(jnp.stack([z, z.conj(), -z, 1j * z], 1), which[:, None], 1)

    def mixed_gradient(x, which):
        return jax.grad(lambda x: (along_last(x, which) ** 2).sum())(x)

    return {
        'payoffs_by_kind': (jax.vmap(payoffs), [below(4, 4000), f32(4000), f32(4000)]),
        'chosen_by_rank': (by_rank, [f32(3000), below(3, 3000)]),
        'functions_by_place': (along_last, [f32(64, 80), below(5, 64, 80)]),
        'functions_by_place_gradient': (mixed_gradient, [f32(64, 80), below(5, 64, 80)]),
        'pieces_of_cubics': (spline, [f32(3000), lambda: jnp.linspace(-2, 2, 6), lambda: jax.random.normal(make.key, (5, 4))]),
        'pictures_turned': (turned, [f32(30, 24, 24), below(4, 30)]),
        'steps_by_turns': (by_turns, [f32(500)]),
        'one_of_two_states': (states, [f32(), below(2, 500)]),
        'fern_of_four_maps': (game, [f32(800, 2), below(4, 30, 800)]),
        'roots_by_quarter': (complex_roots, [lambda: jax.random.normal(make.key, (2000,), jnp.complex64), below(4, 2000)]),
    }
