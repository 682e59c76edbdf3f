"""Running sums and other associative scans, recurrences over a long axis, filters."""
from arrays import bf16, f32, flags, i32, positive

FACTOR = 16.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    n, rows, k = pick((2000, 40, 50), (300000, 1000, 300), (5000000, 8000, 1000))
    add('cumsum', lambda x: jnp.cumsum(x), f32(n), factor=4)
    add('cumsum_int', lambda x: jnp.cumsum(x), i32(10, n))
    add('cumsum_rows', lambda x: jnp.cumsum(x, 1), f32(rows, k))
    add('cumsum_columns', lambda x: jnp.cumsum(x, 0), f32(rows, k))
    add('cumsum_reverse', lambda x: lax.cumsum(x, 1, reverse=True), f32(rows, k))
    add('cummax', lambda x: lax.cummax(x), f32(n))
    add('cumprod', lambda x: jnp.cumprod(x, 1), positive(rows, k, low=0.98, high=1.02))
    add('cumlogsumexp', lambda x: lax.cumlogsumexp(x, 1), f32(rows, k))
    add('mask_positions', lambda m: jnp.cumsum(m) - 1, flags(n))
    add('running_mean', lambda x: jnp.cumsum(x) / (jnp.arange(x.size) + 1), f32(n))
    add('moving_average', lambda x: (lambda c: (c[16:] - c[:-16]) / 16)(jnp.cumsum(x)), f32(n), factor=64)
    add('linear_recurrence', lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b))[1], positive(n // 4, low=0.5, high=0.95), f32(n // 4))
    add('linear_recurrence_rows', lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b), axis=1)[1], positive(rows, k, low=0.5, high=0.95), f32(rows, k))
    add('associative_max', lambda x: lax.associative_scan(jnp.maximum, x, axis=0), f32(rows, k))
    add('matrix_scan', lambda m: lax.associative_scan(jnp.matmul, m), lambda rng: (rng.standard_normal((n // 40, 3, 3)) * 0.4).astype('float32'))
    add('filter_scalar', lambda x: lax.scan(lambda s, v: (0.9 * s + 0.1 * v,) * 2, 0.0, x)[1], f32(n // 20))
    add('filter_vector', lambda x: lax.scan(lambda s, v: (0.9 * s + 0.1 * v,) * 2, jnp.zeros(x.shape[1]), x)[1], f32(n // 100, 48))
    add('biquad', lambda x: lax.scan(lambda s, v: ((v - 0.5 * s[0] - 0.2 * s[1], s[0]), 0.3 * (v + 2 * s[0] + s[1])), (0.0, 0.0), x)[1], f32(n // 20))
    add('running_top_two', lambda x: lax.scan(lambda s, v: ((lambda a: (a, jnp.maximum(s[1], jnp.minimum(v, s[0]))))(jnp.maximum(s[0], v)), s[0]), (-9.0, -9.0), x), f32(n // 20))
    add('segments_by_reset', lambda x, m: lax.scan(lambda s, v: (jnp.where(v[1], 0.0, s) + v[0],) * 2, 0.0, (x, m))[1], f32(n // 20), flags(n // 20, share=0.1))
    add('advantages', lambda r, v: lax.scan(lambda s, x: (lambda g: (g, g))(x[0] + 0.98 * 0.95 * s), jnp.zeros(r.shape[1]), (r[:-1] + 0.98 * v[1:] - v[:-1],), reverse=True)[1], f32(n // 100, 16), f32(n // 100, 16))
    add('bf16_cumsum_f32', lambda x: jnp.cumsum(x, 1, dtype=jnp.float32), bf16(rows, k))
