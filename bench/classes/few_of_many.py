"""Few rows of much work each, or many rows of little: reductions to a handful of numbers with something costly on the way, searches by combiners that keep an order, tall products of few columns,
large arrays that are made of almost nothing."""
from by_value import ByShape


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    make = ByShape(jax, 47)
    f32, of, between = make.f32, make.of, make.between

    # The combiner of XLA's own builder of argmin and argmax, which PyTorch's programs bring.
    def place_of_least(x):
        def pick(a, b):
            less, same = a[0] < b[0], a[0] == b[0]
            place = jnp.where(same, jnp.minimum(a[1], b[1]), jnp.where(less, a[1], b[1]))
            return jnp.where(less, a[0], b[0]), place
        places = lax.broadcasted_iota(jnp.int32, x.shape, 1)
        return lax.reduce((x, places), (jnp.float32(jnp.inf), jnp.int32(0)), pick, (1,))[1]

    def codes(x, book):
        return place_of_least(jnp.sum(x * x, 1)[:, None] - 2 * x @ book.T + jnp.sum(book * book, 1))

    def resized(x, places):
        low = jnp.clip(jnp.floor(places), 0, x.shape[2] - 2).astype(jnp.int32)
        w = places - low
        rows = x[:, :, low] * (1 - w)[:, None] + x[:, :, low + 1] * w[:, None]
        return rows[..., low] * (1 - w) + rows[..., low + 1] * w

    def intensity(angles, at):
        phase = 2 * jnp.pi * jnp.sin(angles)[:, None] * at
        return jnp.sum(jnp.cos(phase) * jnp.exp(-at * at), 1) ** 2

    def prices(strikes, u):
        return jnp.mean(jnp.exp(-.05 * u) * jnp.maximum(jnp.exp(.2 * jnp.sin(7 * u)) - strikes[:, None], 0) ** 1.5, 1)

    def logistic(w, x, y):
        return jnp.mean(jnp.logaddexp(0., -y * (x @ w)))

    def channels_first(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'OIHW', 'NCHW'))

    def first_above(x, least):
        return jnp.argmax(x > least[:, None], axis=1)

    def small_columns(x):
        return jnp.linalg.qr(x * jnp.where(jnp.arange(x.shape[1]) % 2, 1e-12, 1.))[1]

    return {
        'least_by_order': (place_of_least, [f32(1024, 128)]),
        'least_by_order_of_few': (place_of_least, [f32(6, 1013)]),
        'codes_of_vectors': (codes, [f32(509, 16), f32(128, 16)]),
        'resized_and_squared': (lambda x, p: jnp.mean(resized(x, p) ** 2), [f32(2, 8, 48, 48), between(0, 47, 96)]),
        'resized_gradient': (jax.grad(lambda x, p: jnp.mean(resized(x, p) ** 2)), [f32(2, 8, 48, 48), between(0, 47, 96)]),
        'intensities_of_few_angles': (intensity, [between(-1, 1, 37), f32(1999)]),
        'prices_of_few_strikes': (prices, [between(.5, 1.5, 11), between(0, 1, 4001)]),
        'logistic_gradient': (jax.grad(logistic), [f32(100), f32(1009, 100), f32(1009)]),
        'columns_of_few': (lambda x, y: jnp.sum(jnp.tanh(x) * y[:, None], 0), [f32(5003, 24), f32(5003)]),
        'first_above': (first_above, [f32(301, 401), between(1, 3, 301)]),
        'tall_32_16': (lambda a, b: a @ b, [f32(50021, 32), f32(32, 16)]),
        'tall_100_7': (lambda a, b: a @ b, [f32(30011, 100), f32(100, 7)]),
        'tall_8_8': (lambda a, b: jnp.maximum(a @ b, 0), [f32(60013, 8), f32(8, 8)]),
        'tall_layer': (lambda a, b, c: jax.nn.gelu(a @ b + c), [f32(20011, 48), f32(48, 64), f32(64)]),
        'outer_large': (lambda a, b: a[:, None] * b, [f32(100003), f32(48)]),
        'outer_of_three': (lambda a, b: a @ b, [f32(100003, 3), f32(3, 48)]),
        'one_value': (lambda x: jnp.full((100003, 48), x), [f32()]),
        'to_channels_first': (channels_first, [f32(1, 64, 64, 16), f32(32, 16, 3, 3)]),
        'to_channels_first_narrow': (channels_first, [of(jnp.bfloat16, 1, 61, 67, 16), of(jnp.bfloat16, 24, 16, 3, 3)]),
        'small_columns': (small_columns, [f32(61, 40)]),
    }
