"""Tables that are part of the program, and arrays of millions of elements in one pass or two."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4215)
f32, i32, u8 = R.f32, R.i32, R.u8


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add

    # Tables.
    matrix, places = f32(300, 1000), i32(10000, 40000)
    rows, columns, entries = i32(3000, 20000), i32(3000, 20000), f32(20000)
    add('product_with_a_table', lambda x: x @ matrix, f32(7, 300))
    add('gathered_by_a_table', lambda x: x[places].reshape(-1, 4).sum(1), f32(10000))
    add('added_by_a_table', lambda u: jnp.zeros(10000).at[places].add(u), f32(40000))
    add('product_with_a_sparse_table', lambda x: jax.ops.segment_sum(entries[:, None] * x[columns], rows, 3000), f32(3000, 5))

    # Bytes and narrow floats.
    add('5m_bytes_to_floats', lambda x: x.astype(jnp.float32) * (1 / 255), lambda: u8(5000011))
    add('5m_floats_to_bytes', lambda x: jnp.clip(jnp.round(x), 0, 255).astype(jnp.uint8), lambda: 40 * f32(5000011) + 128)
    add('1m_pixels_to_planes', lambda x: x.transpose(2, 0, 1), lambda: u8(1201, 1301, 3))
    add('1m_pixels_of_planes', lambda x: x.transpose(1, 2, 0), lambda: u8(3, 1201, 1301))
    add('500k_pixels_to_planes_f32', lambda x: x.transpose(2, 0, 1), lambda: f32(701, 801, 3))
    add('3m_bf16_scaled_and_added', lambda x, y: x * jnp.bfloat16(1.5) + y, lambda: f32(3000017).astype(ml_dtypes.bfloat16),
        lambda: f32(3000017).astype(ml_dtypes.bfloat16))

    # Neighbours, moves, sums.
    def stencil(x):
        inner = x[1:-1, 1:-1] + x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]
        return x.at[1:-1, 1:-1].set(.2 * inner)
    add('2m_stencil_inside', stencil, lambda: f32(1501, 1603))
    add('1m_summed_both_ways', lambda x: jnp.cumsum(jnp.cumsum(x, 0), 1), lambda: f32(1001, 1103))
    add('1m_added_into_4m', lambda x, i, u: x.at[i].add(u), lambda: f32(4000037), lambda: i32(4000037, 1000003), lambda: f32(1000003))
    add('2m_kept_where_great', lambda x: x[jnp.nonzero(x > 1, size=400000)[0]], lambda: f32(2000003))
    add('3m_rolled_and_added', lambda x: x + jnp.roll(x, 1234567), lambda: f32(3000017))
    add('4m_differences_meaned', lambda x: jnp.abs(jnp.diff(x)).mean(), lambda: f32(4000037))
    add('4m_place_of_the_maximum', lambda x: jnp.argmax(x), lambda: f32(4000037))
    add('4m_counted', lambda x: jnp.count_nonzero(x > .3), lambda: f32(4000037))
    add('3_rows_tiled', lambda x: jnp.tile(x, (997, 1)), f32(3, 1001))
    add('31_rows_repeated', lambda x: jnp.repeat(x, 97, 0), f32(31, 1001))
    add('2m_padded_planes', lambda x: jnp.pad(x, ((1, 1), (1, 1), (1, 1))), lambda: f32(101, 151, 163))
    add('2m_every_other', lambda x: x[::2, ::2] + x[1::2, 1::2], lambda: f32(1502, 1604))
    add('1m_hashed', lambda x: (x * 1103515245 + 12345) % 1000003, lambda: i32(1 << 30, 1000003))

    # Complex numbers.
    add('1m_complex_of_pairs', lambda x: lax.complex(x[..., 0], x[..., 1]) * (1 + 2j), lambda: f32(1500007, 2))
    add('500k_complex_products', lambda a, b: a * b / (1 + abs(a)), lambda: R.c64(500009), lambda: R.c64(500009))
    return P
