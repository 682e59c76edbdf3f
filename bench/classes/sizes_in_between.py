"""Common operations at sizes between the usual ones: odd, long and thin, in every cache and in none."""


def programs(jax):
    import numpy as np

    jnp, lax = jax.numpy, jax.lax
    rng = np.random.default_rng(28)

    def f32(*shape):
        return lambda: rng.standard_normal(shape).astype(np.float32)

    def positive(*shape):
        return lambda: rng.uniform(.1, 2, shape).astype(np.float32)

    def below(n, *shape):
        return lambda: rng.integers(0, n, shape).astype(np.int32)

    def bytes_(*shape):
        return lambda: rng.integers(0, 255, shape).astype(np.uint8)

    made = {}

    def add(name, function, *arguments):
        made[name] = (function, list(arguments))

    for m, k, n in ((1, 3000, 1100), (1, 1100, 9000), (1, 500, 33000), (3, 1100, 1300), (3, 4100, 2900), (6, 700, 700), (12, 2000, 300), (24, 90, 4000), (50, 1500, 50),
                    (97, 97, 97), (150, 600, 20), (130, 7, 3000), (333, 100, 333), (700, 300, 11), (1000, 1000, 3), (5000, 40, 40), (20000, 11, 65), (300, 20000, 30), (90000, 33, 1),
                    (2500, 1, 2500), (4100, 3900, 1)):
        add(f'product_{m}x{k}x{n}', lambda a, b: a @ b, f32(m, k), f32(k, n))
    for b, m, k, n in ((2000, 5, 5, 5), (700, 9, 17, 9), (300, 33, 20, 1), (300, 1, 40, 50), (60, 70, 70, 70), (9, 1, 900, 900), (4, 300, 64, 300), (5000, 12, 3, 12), (33, 100, 10, 100)):
        add(f'products_{b}x{m}x{k}x{n}', lambda a, b: a @ b, f32(b, m, k), f32(b, k, n))
        add(f'products_turned_{b}x{m}x{k}x{n}', lambda a, b: jnp.einsum('bkm,bnk->bmn', a, b), f32(b, k, m), f32(b, n, k))
    for r, c in ((7, 300000), (70, 30001), (999, 2003), (5000, 333), (30000, 65), (100003, 17), (700000, 3), (50, 50), (300, 31), (9, 5000), (3000, 3000)):
        shape = f'{r}x{c}'
        x = f32(r, c)
        add(f'sum_rows_{shape}', lambda x: x.sum(1), x)
        add(f'sum_columns_{shape}', lambda x: x.sum(0), x)
        add(f'most_of_rows_{shape}', lambda x: x.max(1), x)
        add(f'place_of_most_in_rows_{shape}', lambda x: x.argmax(1), x)
        add(f'place_of_least_in_columns_{shape}', lambda x: x.argmin(0), x)
        add(f'softmax_{shape}', lambda x: jax.nn.softmax(x), x)
        add(f'softmax_columns_{shape}', lambda x: jax.nn.softmax(x, 0), x)
        add(f'norm_{shape}', lambda x: (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5), x)
        add(f'standard_columns_{shape}', lambda x: (x - x.mean(0)) / (x.std(0) + 1e-5), x)
        add(f'turn_{shape}', lambda x: x.T + 1, x)
        add(f'running_sum_rows_{shape}', lambda x: jnp.cumsum(x, 1), x)
        add(f'running_sum_columns_{shape}', lambda x: jnp.cumsum(x, 0), x)
        add(f'differences_{shape}', lambda x: jnp.diff(x, axis=1) * jnp.diff(x, axis=0)[:1, :-1], x)
        add(f'roll_{shape}', lambda x: jnp.roll(x, 5, 1) - jnp.roll(x, -3, 0), x)
        add(f'back_to_front_{shape}', lambda x: x[::-1, ::-1] * 2, x)
        add(f'every_second_{shape}', lambda x: x[:, ::2] + 1, x)
        add(f'beside_{shape}', lambda x: jnp.concatenate([x, x * 2], 1), x)
        add(f'padded_{shape}', lambda x: jnp.pad(x, ((1, 2), (3, 1))), x)
        add(f'lower_{shape}', lambda x: jnp.tril(x), x)
        add(f'outer_sum_{shape}', lambda x: x + x.sum(0) * x.sum(1, keepdims=True), x)
        if r * c < 3000000:
            add(f'sorted_rows_{shape}', lambda x: jnp.sort(x, 1), x)
        if c >= 17:
            add(f'largest_seven_{shape}', lambda x: lax.top_k(x, 7), x)
    for n in (33, 1000, 30011, 1000003, 9000001):
        x = f32(n)
        add(f'sum_{n}', lambda x: x.sum(), x)
        add(f'dot_{n}', lambda x, y: x @ y, x, x)
        add(f'norm_{n}', lambda x: x / jnp.linalg.norm(x), x)
        add(f'any_{n}', lambda x: (x > 9).any(), x)
        add(f'place_of_most_{n}', lambda x: x.argmax(), x)
        add(f'count_{n}', lambda x: (x > .5).sum(), x)
        add(f'exponentials_{n}', lambda x: jnp.exp(-x * x) * jnp.sin(x), x)
        add(f'powers_{n}', lambda x: x ** 2.5 + jnp.log1p(x), positive(n))
        add(f'error_function_{n}', lambda x: .5 * x * (1 + lax.erf(x * .7071)), x)
        add(f'chosen_{n}', lambda x: jnp.where(x > 0, jnp.sqrt(x), -x), x)
        add(f'running_sum_{n}', lambda x: jnp.cumsum(x), x)
        add(f'running_most_{n}', lambda x: lax.cummax(x), x)
        add(f'polynomial_{n}', lambda x: jnp.polyval(jnp.array([.1, -.2, .3, .4, -.5, 1.]), x), x)
        add(f'taken_{n}', lambda x, i: x[i], x, below(n, max(n // 3, 10)))
        add(f'added_at_{n}', lambda x, i, v: x.at[i].add(v), x, below(n, n // 3), f32(n // 3))
        add(f'put_at_{n}', lambda x, i: x.at[i].set(0), x, below(n, n // 5))
        add(f'counted_{n}', lambda i: jnp.bincount(i, length=50), below(50, n))
        add(f'segments_{n}', lambda x, i: jax.ops.segment_sum(x, i, 100), x, below(100, n))
        add(f'uniform_{n}', lambda k, n=n: jax.random.uniform(k, (n,)), lambda: np.array([1, 2], np.uint32))
        add(f'normal_{n}', lambda k, n=n: jax.random.normal(k, (n,)), lambda: np.array([1, 2], np.uint32))
        add(f'spectrum_{n}', lambda x, n=n: jnp.abs(jnp.fft.rfft(x[:n // 8 * 8])), x)
        add(f'complex_{n}', lambda x, y: (lambda z: z * z / (1 + z))(lax.complex(x, y)), x, x)
        add(f'as_bytes_{n}', lambda x: (x * 20 + 128).astype(jnp.uint8), x)
        add(f'from_bytes_{n}', lambda x: x.astype(jnp.float32) / 255, bytes_(n))
        add(f'halves_{n}', lambda x: jnp.tanh(x.astype(jnp.bfloat16) * 2), x)
        add(f'hashed_{n}', lambda i: (i * 1664525 + 1013904223) ^ (i >> 3), below(1 << 30, n))
        add(f'remainders_{n}', lambda i: i % 37 + i // 11, below(1 << 30, n))
        if n < 2000000:
            add(f'sorted_{n}', lambda x: jnp.sort(x), x)
            add(f'order_{n}', lambda x: jnp.argsort(x), x)
            add(f'places_in_sorted_{n}', lambda x: jnp.searchsorted(jnp.arange(-250., 250.) / 64, x), x)
            add(f'median_{n}', lambda x: jnp.median(x), x)
            add(f'running_product_{n}', lambda x: jnp.cumprod(1 + x[:30000] * 1e-4), x)
            add(f'permuted_{n}', lambda k, x: jax.random.permutation(k, x), lambda: np.array([1, 2], np.uint32), x)
    for b, h, w, c, o in ((1, 37, 41, 3, 5), (3, 65, 65, 8, 12), (2, 130, 110, 16, 16), (1, 300, 300, 3, 24), (9, 20, 20, 40, 40), (5, 9, 9, 100, 90)):
        shape = f'{b}x{h}x{w}x{c}x{o}'
        conv = lambda x, k, s=1: lax.conv_general_dilated(x, k, (s, s), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
        add(f'conv_{shape}', conv, f32(b, h, w, c), f32(3, 3, c, o))
        add(f'conv_5_stride_2_{shape}', lambda x, k, conv=conv: conv(x, k, 2), f32(b, h, w, c), f32(5, 5, c, o))
        add(f'conv_1_{shape}', conv, f32(b, h, w, c), f32(1, 1, c, o))
        add(f'conv_gradients_{shape}', jax.grad(lambda x, k, conv=conv: jnp.sum(conv(x, k) ** 2), (0, 1)), f32(b, h, w, c), f32(3, 3, c, o))
        add(f'conv_depthwise_{shape}', lambda x, k, c=c: lax.conv_general_dilated(x, k, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=c),
            f32(b, h, w, c), f32(3, 3, 1, c))
        add(f'pooled_{shape}', lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME'), f32(b, h, w, c))
        add(f'means_{shape}', lambda x: lax.reduce_window(x, 0., lax.add, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID') / 4, f32(b, h, w, c))
        add(f'channels_first_{shape}', lambda x: x.transpose(0, 3, 1, 2) * 2, f32(b, h, w, c))
        add(f'resized_{shape}', lambda x, s=(b, h * 2 - 5, w + 7, c): jax.image.resize(x, s, 'linear'), f32(b, h, w, c))
    for b, s, h, d in ((1, 33, 2, 20), (2, 130, 4, 40), (4, 257, 3, 64), (1, 1000, 2, 48), (16, 50, 8, 16)):
        shape = f'{b}x{s}x{h}x{d}'
        add(f'attention_{shape}', lambda q, k, v, d=d: jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(jnp.einsum('bqhd,bkhd->bhqk', q, k) / d ** .5), v), *[f32(b, s, h, d)] * 3)
        add(f'attention_gradient_{shape}', jax.grad(lambda q, k, v, d=d: jnp.sum(jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(jnp.einsum('bqhd,bkhd->bhqk', q, k) / d ** .5), v) ** 2), (0, 1, 2)),
            *[f32(b, s, h, d)] * 3)
        add(f'attention_one_query_{shape}', lambda q, k, v: jnp.einsum('bhk,bkhd->bhd', jax.nn.softmax(jnp.einsum('bhd,bkhd->bhk', q, k)), v), f32(b, h, d), f32(b, s, h, d), f32(b, s, h, d))
    for b, n in ((500, 3), (200, 7), (50, 20), (9, 65), (1, 150), (1, 400)):
        spd = lambda b=b, n=n: (lambda a: (a @ a.transpose(0, 2, 1) + n * np.eye(n)).astype(np.float32))(rng.standard_normal((b, n, n)))
        add(f'cholesky_{b}x{n}', lambda a: jnp.linalg.cholesky(a), spd)
        add(f'solved_{b}x{n}', lambda a, y: jnp.linalg.solve(a, y[..., None]), spd, f32(b, n))
        add(f'inverses_{b}x{n}', lambda a: jnp.linalg.inv(a), spd)
        add(f'determinants_{b}x{n}', lambda a: jnp.linalg.det(a), spd)
        add(f'orthogonal_{b}x{n}', lambda a: jnp.abs(jnp.linalg.qr(a)[1]), spd)
        if n < 100:
            add(f'eigenvalues_{b}x{n}', lambda a: jnp.linalg.eigvalsh(a), spd)
    for t, b, n in ((50, 1, 20), (100, 7, 33), (30, 32, 100), (20, 3, 300)):
        add(f'recurrence_{t}x{b}x{n}', lambda x, w: lax.scan(lambda h, x: ((h := jnp.tanh(h @ w + x)), h), x[0], x), f32(t, b, n), lambda n=n: (rng.standard_normal((n, n)) / n ** .5).astype(np.float32))
        add(f'recurrence_gradient_{t}x{b}x{n}', jax.grad(lambda w, x: lax.scan(lambda h, x: ((h := jnp.tanh(h @ w + x)), h), x[0], x)[1].sum()),
            lambda n=n: (rng.standard_normal((n, n)) / n ** .5).astype(np.float32), f32(t, b, n))
    return made
