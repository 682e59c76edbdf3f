"""Vectors that loops multiply with matrices which stay: integrators of small networks, recurrent cells, power iterations, chains."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

FACTOR = 256.0
X64 = True
R = Random(3107)
f32 = R.f32


def square(n, dtype=np.float32, scale=1.0):
    return (R.randn(n, n) * scale * n ** -.5).astype(dtype)


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    f64 = lambda *s: R.randn(*s)

    def times(n, f):
        return lambda y, *rest: lax.fori_loop(0, n, lambda i, y: f(y, *rest), y)

    for n in (20, 48, 64, 100, 128, 256, 400):
        add(f'euler_matrix_times_vector_{n}', times(100, lambda y, w: y + .01 * jnp.tanh(w @ y)), f32(n), square(n))
        add(f'euler_vector_times_matrix_{n}', times(100, lambda y, w: y + .01 * jnp.tanh(y @ w)), f32(n), square(n))
    for n in (64, 130):
        add(f'euler_f64_matrix_times_vector_{n}', times(100, lambda y, w: y + .01 * jnp.tanh(w @ y)), f64(n), square(n, np.float64))
        add(f'euler_f64_vector_times_matrix_{n}', times(100, lambda y, w: y + .01 * jnp.tanh(y @ w)), f64(n), square(n, np.float64))
    add('two_layers_of_a_field', times(80, lambda y, a, b, c, d: y + .02 * (jnp.tanh(y @ a + b) @ c + d)), f32(24), f32(24, 96) * .2, f32(96), f32(96, 24) * .1, f32(24))
    add('two_layers_by_rows', times(80, lambda y, a, c: y + .02 * (c @ jnp.tanh(a @ y))), f32(40), f32(160, 40) * .2, f32(40, 160) * .1)
    add('power_iteration', times(60, lambda y, w: (lambda z: z / jnp.linalg.norm(z))(w @ y)), f32(150), square(150))
    add('power_iteration_left_and_right', lambda x, y, w: lax.fori_loop(0, 50, lambda i, c: (lambda u, v: (u / jnp.linalg.norm(u), v / jnp.linalg.norm(v)))(c[1] @ w, w @ c[0]), (x, y)), f32(90), f32(90), square(90))
    add('elman_over_steps', lambda x, w, u: lax.scan(lambda h, x: ((lambda h: (h, h))(jnp.tanh(x @ u + h @ w))), jnp.zeros(96, jnp.float32), x)[1], f32(120, 30), square(96), f32(30, 96) * .1)
    add('gru_of_one_sequence', lambda x, w, u: lax.scan(lambda h, x: (lambda g, c: ((1 - g) * h + g * c, None))(jax.nn.sigmoid(x + h @ w), jnp.tanh(x + h @ u)), jnp.zeros(80, jnp.float32), x)[0], f32(150, 80), square(80), square(80))
    add('elman_gradient', lambda w, x: jax.grad(lambda w: jnp.sum(lax.scan(lambda h, x: (jnp.tanh(x + w @ h), None), jnp.zeros(72, jnp.float32), x)[0] ** 2))(w), square(72), f32(60, 72))
    add('markov_chain', times(200, lambda p, t: p @ t), np.full(75, 1 / 75, np.float32), (lambda t: (t / t.sum(1, keepdims=True)).astype(np.float32))(R.rand(75, 75)))
    add('markov_chain_f64', times(200, lambda p, t: t.T @ p), np.full(75, 1 / 75), (lambda t: t / t.sum(1, keepdims=True))(R.rand(75, 75)))
    add('until_it_stays', lambda y, w: lax.while_loop(lambda c: (c[1] > 1e-3) & (c[2] < 100), lambda c: (lambda z: (z, jnp.max(jnp.abs(z - c[0])), c[2] + 1))(.5 * jnp.tanh(c[0] @ w) + .1), (y, jnp.float32(1), 0)), f32(110), square(110))
    add('counts_of_paths', times(40, lambda p, a: p @ a), np.ones(66, np.int32), (R.rand(66, 66) < .02).astype(np.int32))
    for name, dtype in (('f16', np.float16), ('bf16', ml_dtypes.bfloat16)):
        for n in (40, 128, 300):
            for rows in (1, 3, 8):
                add(f'{name}_{rows}_rows_of_{n}', times(60, lambda y, w: jnp.tanh(y @ w)), f32(rows, n).astype(dtype), square(n).astype(dtype))
            add(f'{name}_matrix_of_{n}_times_vector', times(60, lambda y, w: jnp.tanh(w @ y)), f32(n).astype(dtype), square(n).astype(dtype))
    return P
