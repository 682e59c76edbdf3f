"""Grids that every trip of a loop makes anew from their neighbourhoods, so that no trip can write where it reads."""
from by_value import Programs, Random


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    R = Random(0)
    P = Programs()
    add = P.add
    f32 = R.f32

    def looped(step, trips):
        return lambda *state: lax.fori_loop(0, trips, lambda i, s: step(*s), state)

    def jacobi(x):
        return (x.at[1:-1, 1:-1].set(0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])),)

    def around(x):
        return (0.25 * (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1)),)

    def wave(before, now):
        space = sum(jnp.roll(now, s, d) for s in (1, -1) for d in (0, 1)) - 4 * now
        return now, 2 * now - before + 0.1 * space

    def life(x):
        near = sum(jnp.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return ((near == 3) | ((near == 2) & (x == 1))).astype(x.dtype),

    def reaction(u, v):
        spread = lambda x: sum(jnp.roll(x, s, d) for s in (1, -1) for d in (0, 1)) - 4 * x
        react = u * v * v
        return u + 0.16 * spread(u) - react + 0.035 * (1 - u), v + 0.08 * spread(v) + react - 0.1 * v

    for name, n, trips in (('small', 100, 60), ('middle', 300, 40), ('large', 1100, 10)):
        add('jacobi_' + name, looped(jacobi, trips), f32(n, n))
        add('around_' + name, looped(around, trips), f32(n, n))
        add('wave_' + name, looped(wave, trips), f32(n, n), f32(n, n))
        add('life_' + name, looped(life, trips), R.randint(0, 2, (n, n)).astype('int8'))
        add('reaction_' + name, looped(reaction, trips), R.rand(n, n).astype('float32') * 0.5, R.rand(n, n).astype('float32') * 0.2)
    return P
