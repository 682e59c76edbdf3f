"""Gradients through indexing: slices and elements that loops and unrolled steps take at computed places, whose derivatives are added up in arrays of zeros."""
import numpy as np
from by_value import Programs, Random

FACTOR = 256.0
R = Random(91)
f32 = R.f32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    i32 = R.i32

    def picked(t, i):
        return lax.scan(lambda c, k: (jnp.tanh(c + t[k]), None), jnp.zeros(t.shape[1]), i)[0]

    add('rows_picked_in_a_scan', jax.grad(lambda t, i: jnp.sum(picked(t, i) ** 2)), f32(200, 32), i32(200, 60))
    add('rows_picked_in_scans_of_many', jax.grad(lambda t, i: jnp.sum(jax.vmap(picked, (None, 0))(t, i) ** 2)), f32(100, 16), i32(100, 8, 40))
    add('elements_of_a_matrix', jax.grad(lambda t, i: lax.fori_loop(0, 50, lambda k, c: c * .9 + t[i[k], i[k + 1]], 0.)), f32(90, 90), i32(90, 51))
    add('experts_in_turn', jax.grad(lambda w, x, e: jnp.sum(lax.scan(lambda c, k: (jnp.tanh(c @ w[k]), None), x, e)[0])), f32(6, 40, 40) * .1, f32(5, 40), i32(6, 12))
    add('experts_written_out', jax.grad(lambda w, x, e: jnp.sum(sum(jnp.tanh(x @ w[e[k]]) for k in range(6)))), f32(16, 60, 60) * .1, f32(60), i32(16, 6))
    add('windows_of_a_signal', jax.grad(lambda x, s: jnp.sum(lax.map(lambda b: jnp.sum(lax.dynamic_slice(x, (b,), (48,)) ** 2), s))), f32(5000), i32(4900, 64))
    add('state_in_a_ring', jax.grad(lambda b, x: jnp.sum(lax.scan(lambda c, k: (lax.dynamic_update_slice(c, (jnp.tanh(c[(k * 7) % 64]) + x)[None], (k % 64, 0)), None), b, jnp.arange(80))[0] ** 2), (0, 1)), f32(64, 24), f32(24))
    add('table_by_steps', jax.grad(lambda t, x: lax.fori_loop(0, 64, lambda k, c: c + jnp.sin(c) * t[k % 16, k // 16], x)), f32(16, 4), np.float32(.3))
    add('costs_on_a_path', jax.grad(lambda c, i: sum(c[i[k], i[k + 1]] * (1 + .1 * k) for k in range(20))), f32(150, 150), i32(150, 21))
    add('bilinear_samples_in_turn', jax.grad(lambda m, p: lax.scan(lambda q, _: ((lambda a, b, u, v: q + .1 * jnp.stack([m[a, b] * (1 - u) + m[a + 1, b] * u, m[a, b] * (1 - v) + m[a, b + 1] * v]))(*(jnp.clip(q.astype(jnp.int32), 0, 62)), *(q - jnp.floor(q))), None), p, None, 30)[0].sum()), f32(64, 64), np.float32([31.2, 30.7]))
    add('layers_of_a_stack', jax.grad(lambda w, x: jnp.sum(lax.fori_loop(0, 8, lambda k, c: jnp.tanh(c @ w[k]), x))), f32(8, 32, 32) * .2, f32(10, 32))
    add('updates_of_slices_added', lambda a, u, s: lax.fori_loop(0, 30, lambda k, c: c + lax.dynamic_update_slice(jnp.zeros_like(c), u[k], (s[k], 0)), a), f32(300, 20), f32(30, 3, 20), i32(297, 30))
    return P
