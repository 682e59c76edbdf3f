"""Values that several points of a kernel want, and sums that want threads: programs(jax) -> {name: (function, [makers of arguments])}.

What should hold: storing the expensive value by hand (a barrier behind it) makes no program faster, and the sums take all threads.
"""
from by_value import Programs, Random

R = Random(7)
f32 = R.f32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    found = Programs()
    add = found.add

    # Recompute or store: a table of columns; a smoothed non-linearity; differences of neighbours on a torus, twice.
    add("decay_table", lambda x, t: x * jnp.exp(-t * t) * lax.rsqrt(1 + t * t), f32(400, 300), f32(300))

    # Several such tables at once, none of which pays alone: rotations by position, a spectrum's filters, a bump of rows and columns.
    add("rotary", lambda x, y, t: (x * jnp.cos(t) - y * jnp.sin(t), x * jnp.sin(t) + y * jnp.cos(t)), f32(8, 6, 50, 64), f32(8, 6, 50, 64), f32(50, 64))
    add("filters", lambda x, w: x * jnp.exp(-w) / jnp.sqrt(1 + w * w) * jnp.cos(w), f32(600, 257), f32(257))
    add("bump", lambda x, r, c: x * jnp.exp(-r * r)[:, None] * jnp.exp(-c * c) * jnp.cosh(c), f32(300, 310), f32(300), f32(310))

    def smooth(x):
        y = jnp.log1p(jnp.exp(x)) * jnp.cos(x)
        p = jnp.pad(y, ((2, 2), (0, 0)), mode="edge")
        return sum(w * p[i : i + x.shape[0]] for i, w in enumerate((0.1, 0.2, 0.4, 0.2, 0.1)))

    add("smooth_activation", smooth, f32(512, 200))

    def curvature(u):
        for _ in range(2):
            s = jnp.tanh(u)
            u = u + 0.1 * (sum(jnp.roll(s, d, a) for d in (1, -1) for a in (0, 1)) - 4 * s)
        return u

    add("torus_twice", curvature, f32(160, 160))

    # Across threads: few columns of a costly product, with what belongs to the columns; moments of an image batch; a
    # gradient of scale and shift.
    add(
        "column_energy",
        lambda x, a: (jnp.sum(jnp.sin(x) * jnp.exp(a), (0, 1)), jnp.exp(a) * 2),
        f32(300, 400, 24),
        f32(24),
    )
    add("channel_moments", lambda x: (x.mean((0, 1, 2)), (x * x).mean((0, 1, 2))), f32(16, 40, 40, 72))
    add(
        "scale_shift_gradient",
        jax.grad(lambda p, x: jnp.sum(jnp.tanh(x * p[0] + p[1]) ** 2)),
        f32(2, 80),
        f32(4096, 80),
    )
    return found
