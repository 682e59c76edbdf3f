"""Common operations on every type, at sizes between the usual ones."""


def programs(jax):
    import ml_dtypes
    import numpy as np

    jax.config.update('jax_enable_x64', True)
    jnp, lax = jax.numpy, jax.lax
    rng = np.random.default_rng(29)
    whole = {'s8': np.int8, 'u8': np.uint8, 's16': np.int16, 'u16': np.uint16, 's32': np.int32, 'u32': np.uint32, 's64': np.int64}
    floats = {'f64': np.float64, 'bf16': ml_dtypes.bfloat16, 'f16': np.float16}
    types = {**whole, **floats, 'pred': np.bool_, 'c64': np.complex64, 'c128': np.complex128}

    def of(name, *shape):
        if name in whole:
            info = np.iinfo(whole[name])
            return lambda: rng.integers(max(info.min, -1000), min(info.max, 1000), shape).astype(whole[name])
        if name == 'pred':
            return lambda: rng.integers(0, 2, shape).astype(np.bool_)
        if name in floats:
            return lambda: rng.standard_normal(shape).astype(floats[name])
        return lambda: (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(types[name])

    def below(n, *shape):
        return lambda: rng.integers(0, n, shape).astype(np.int32)

    made = {}

    def add(name, function, *arguments):
        made[name] = (function, list(arguments))

    for r, c in ((300, 31), (999, 403), (40, 30001), (9000, 133)):
        for t, kind in types.items():
            x = of(t, r, c)
            shape = f'{t}_{r}x{c}'
            number, ordered, real = t != 'pred', t[0] != 'c', t in floats
            add(f'turn_{shape}', lambda x: x.T, x)
            add(f'back_to_front_{shape}', lambda x: x[::-1, ::-1], x)
            add(f'roll_{shape}', lambda x: jnp.roll(x, 5, 1), x)
            add(f'every_third_{shape}', lambda x: x[:, 1::3], x)
            add(f'padded_{shape}', lambda x: jnp.pad(x, ((1, 2), (3, 1))), x)
            add(f'beside_{shape}', lambda x: jnp.concatenate([x, x[:, :9]], 1), x)
            add(f'rows_taken_{shape}', lambda x, i: x[i], x, below(r, r))
            add(f'along_rows_{shape}', lambda x, i: jnp.take_along_axis(x, i, 1), x, below(c, r, 30))
            add(f'chosen_{shape}', lambda x, p: jnp.where(p, x, x[0]), x, of('pred', r, c))
            add(f'in_three_{shape}', lambda x, c=c: x[:, :c // 3 * 3].reshape(-1, 3).T, x)
            if not number:
                add(f'any_rows_{shape}', lambda x: x.any(1), x)
                add(f'all_columns_{shape}', lambda x: x.all(0), x)
                add(f'count_{shape}', lambda x: x.sum(), x)
                add(f'counts_of_columns_{shape}', lambda x: x.sum(0), x)
                continue
            add(f'sum_rows_{shape}', lambda x: x.sum(1), x)
            add(f'sum_columns_{shape}', lambda x: x.sum(0), x)
            add(f'running_sum_{shape}', lambda x: jnp.cumsum(x, 1), x)
            add(f'running_sum_columns_{shape}', lambda x: jnp.cumsum(x, 0), x)
            add(f'polynomial_{shape}', lambda x: (x * x + x) * x - x, x)
            add(f'added_at_{shape}', lambda x, i, v: x.at[i].add(v), x, below(r, r // 3), of(t, r // 3, c))
            add(f'outer_{shape}', lambda x: x * x[0] + x[:, :1], x)
            if t in whole:
                add(f'divided_{shape}', lambda x: x // 7 + x % 5, x)
                add(f'divided_by_each_{shape}', lambda x, y: x // (y | 1), x, x)
                add(f'bits_{shape}', lambda x: lax.population_count(x) ^ (x << 2) & (x >> 1), x)
                add(f'as_float_{shape}', lambda x: x.astype(jnp.float32) * .5, x)
                add(f'powers_{shape}', lambda x: x ** 3, x)
            if real:
                add(f'exponentials_{shape}', lambda x: jnp.exp(-x * x), x)
                add(f'logarithms_{shape}', lambda x: jnp.log1p(jnp.abs(x)), x)
                add(f'waves_{shape}', lambda x: jnp.sin(x) + jnp.cos(2 * x), x)
                add(f'tanh_{shape}', lambda x: jnp.tanh(x), x)
                add(f'power_{shape}', lambda x: jnp.abs(x) ** 1.7, x)
                add(f'roots_{shape}', lambda x: jnp.sqrt(jnp.abs(x)) / (1 + x * x), x)
                add(f'arcs_{shape}', lambda x: jnp.arctan2(x, x[0]), x)
                add(f'softmax_{shape}', lambda x: jax.nn.softmax(x), x)
                add(f'norm_{shape}', lambda x: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True) + 1e-3), x)
                add(f'as_bytes_{shape}', lambda x: (x * 20 + 100).astype(jnp.uint8), x)
                add(f'rounded_{shape}', lambda x: jnp.round(x * 4) - jnp.floor(x), x)
            if ordered:
                add(f'most_of_rows_{shape}', lambda x: x.max(1), x)
                add(f'least_of_columns_{shape}', lambda x: x.min(0), x)
                add(f'place_of_most_{shape}', lambda x: x.argmax(1), x)
                add(f'place_of_most_in_columns_{shape}', lambda x: x.argmax(0), x)
                add(f'clipped_{shape}', lambda x: jnp.clip(x, 3, 90), x)
                add(f'sorted_{shape}', lambda x: jnp.sort(x, 1), x)
                add(f'order_of_columns_{shape}', lambda x: jnp.argsort(x[:100], 0), x)
                add(f'five_largest_{shape}', lambda x: lax.top_k(x, 5), x)
                add(f'running_most_{shape}', lambda x: lax.cummax(x, 1), x)
                add(f'pooled_{shape}', lambda x: lax.reduce_window(x, jnp.array(x.dtype.type(0)), lax.max, (2, 3), (2, 3), 'VALID'), x)
            else:
                add(f'absolute_{shape}', lambda x: jnp.abs(x), x)
                add(f'exponentials_{shape}', lambda x: jnp.exp(x), x)
                add(f'quotients_{shape}', lambda x: x / (1 + x[0]), x)
                add(f'roots_{shape}', lambda x: jnp.sqrt(x), x)
                add(f'parts_{shape}', lambda x: (x.real * 2, x.imag + 1), x)
                add(f'conjugates_{shape}', lambda x: x.conj() * x, x)
                add(f'spectrum_{shape}', lambda x: jnp.fft.fft(x[:, :30], axis=1), x)
    for t in types:
        if t == 'pred':
            continue
        for m, k, n in ((33, 70, 45), (200, 150, 300), (1, 700, 900), (900, 700, 1), (500, 5, 500), (3, 1000, 40)):
            add(f'product_{t}_{m}x{k}x{n}', lambda a, b: a @ b, of(t, m, k), of(t, k, n))
        add(f'products_{t}', lambda a, b: a @ b, of(t, 300, 9, 20), of(t, 300, 20, 11))
        if t[0] != 'c':
            add(f'conv_{t}', lambda x, k: lax.conv_general_dilated(x, k, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), of(t, 2, 33, 29, 7), of(t, 3, 3, 7, 9))
    return made
