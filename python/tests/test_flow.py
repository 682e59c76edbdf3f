"""A normalising flow of rational-quadratic splines (searchsorted, gathers, selects, log-determinants) under vmap and grad, against NumPy in f64."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

BINS, LIMIT, LEAST = 8, 3.0, 1e-3


def edges(m, raw):
    e = m.exp(raw - raw.max())
    part = LEAST + (1 - LEAST * BINS) * e / e.sum()
    return m.concatenate([m.full(1, -LIMIT), -LIMIT + 2 * LIMIT * m.cumsum(part)])


def spline(m, x, raw, inverse):
    """One value through the spline that `raw` describes; the logarithm of the slope there."""
    xs, ys = edges(m, raw[:BINS]), edges(m, raw[BINS:2 * BINS])
    d = m.concatenate([m.ones(1), LEAST + m.log(1 + m.exp(raw[2 * BINS:])), m.ones(1)])
    inside = (x > -LIMIT) & (x < LIMIT)
    z = m.where(inside, x, 0.0)
    k = m.clip(m.searchsorted(ys if inverse else xs, z) - 1, 0, BINS - 1)
    w, h, d0, d1 = xs[k + 1] - xs[k], ys[k + 1] - ys[k], d[k], d[k + 1]
    s = h / w
    if inverse:
        t = z - ys[k]
        e = d1 + d0 - 2 * s
        b = h * d0 - t * e
        u = 2 * s * t / (b + m.sqrt(b * b + 4 * (h * (s - d0) + t * e) * s * t))
        out = u * w + xs[k]
    else:
        u = (z - xs[k]) / w
        out = ys[k] + h * (s * u * u + d0 * u * (1 - u)) / (s + (d1 + d0 - 2 * s) * u * (1 - u))
    slope = s * s * (d1 * u * u + 2 * s * u * (1 - u) + d0 * (1 - u)**2) / (s + (d1 + d0 - 2 * s) * u * (1 - u))**2
    log = m.log(slope)
    return m.where(inside, out, x), m.where(inside, -log if inverse else log, 0.0)


def parameters_of(m, params, a):
    w1, b1, w2, b2 = params
    return (m.tanh(a @ w1 + b1) @ w2 + b2).reshape(2, 3 * BINS - 1)


def layer(params, x, inverse):
    """The first half of x says which splines the second half goes through."""
    a, b = jnp.split(x, 2)
    out, log = jax.vmap(lambda v, raw: spline(jnp, v, raw, inverse))(b, parameters_of(jnp, params, a))
    return jnp.concatenate([out, a]), log.sum()


def log_density(layers, x):
    def step(carry, params):
        v, total = carry
        v, log = layer(params, v, True)
        return (v, total + log), None

    (v, total), _ = lax.scan(step, (x, 0.0), layers)
    return total - 0.5 * (v * v).sum()


def loss(layers, x):
    return -jax.vmap(lambda v: log_density(layers, v))(x).mean()


def loss_in_numpy(layers, x):
    total = 0.0
    for v in x:
        for params in zip(*layers):
            a, b = v[:2], v[2:]
            raw = parameters_of(np, params, a)
            moved = [spline(np, b[i], raw[i], True) for i in range(2)]
            v = np.concatenate([[out for out, _ in moved], a])
            total += sum(log for _, log in moved)
        total -= 0.5 * (v * v).sum()
    return -total / len(x)


def make(seed):
    rng = np.random.default_rng(seed)
    size = 2 * (3 * BINS - 1)
    layers = [0.5 * rng.standard_normal(s) for s in ((3, 2, 16), (3, 16), (3, 16, size), (3, size))]
    return [a.astype(np.float32) for a in layers], rng.standard_normal((32, 4)).astype(np.float32)


def test_density_and_its_gradient():
    layers, x = make(0)
    value, gradient = jax.jit(jax.value_and_grad(loss))(layers, x)
    wide = [a.astype(np.float64) for a in layers], x.astype(np.float64)
    np.testing.assert_allclose(value, loss_in_numpy(*wide), rtol=1e-5)
    # Slopes along a few directions.
    rng = np.random.default_rng(1)
    for _ in range(4):
        way = [rng.standard_normal(a.shape) for a in layers]
        there, here = (loss_in_numpy([a + s * w for a, w in zip(wide[0], way)], wide[1]) for s in (1e-6, -1e-6))
        got = sum((np.asarray(g, np.float64) * w).sum() for g, w in zip(gradient, way))
        np.testing.assert_allclose(got, (there - here) / 2e-6, rtol=2e-3, atol=2e-3)


def test_there_and_back():
    layers, x = make(2)
    first = [a[0] for a in layers]

    @jax.jit
    @jax.vmap
    def both(v):
        out, log = layer(first, v, False)
        a, b = jnp.split(out, 2)
        back, again = layer(first, jnp.concatenate([b, a]), True)
        return back[:2], log + again

    back, log = both(x)
    np.testing.assert_allclose(back, x[:, 2:], atol=1e-4)
    np.testing.assert_allclose(log, np.zeros(32), atol=1e-3)


def test_training_steps_in_one_program():
    layers, x = make(3)

    def step(layers, _):
        value, gradient = jax.value_and_grad(loss)(layers, x)
        return [a - 1e-2 * g for a, g in zip(layers, gradient)], value

    (_, values) = jax.jit(lambda l: lax.scan(step, l, None, length=3))(layers)
    np.testing.assert_allclose(values[0], loss_in_numpy([a.astype(np.float64) for a in layers], x.astype(np.float64)), rtol=1e-5)
    assert values[0] > values[1] > values[2]


def test_scan_that_reads_one_carry_twice():
    # a feeds a product and what that product is added to.
    rng = np.random.default_rng(4)
    w, u = (0.3 * rng.standard_normal((16, 16)).astype(np.float32) for _ in range(2))
    xs, h = rng.standard_normal((5, 8, 16)).astype(np.float32), rng.standard_normal((8, 16)).astype(np.float32)

    def body(h, x):
        a = h * 2
        h = jnp.tanh(x @ w + a @ u + a)
        return h, h

    _, got = jax.jit(lambda h, xs: lax.scan(body, h, xs))(h, xs)
    want = []
    for x in xs.astype(np.float64):
        a = h * 2
        h = np.tanh(x @ w + a @ u + a)
        want.append(h)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
