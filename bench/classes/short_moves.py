"""Short rows that are turned, shifted, scattered and gathered, in elements of every width."""
import numpy as np
from by_value import Programs, Random
R = Random(4109)
FACTOR = 64.0  # Sums of thousands of complex numbers.


def programs(jax):
    import jax.numpy as jnp
    P = Programs()
    i16 = lambda *shape: R.randint(-99, 99, shape).astype(np.int16)
    for name, a in (('f32', R.f32), ('f16', R.f16), ('u8', R.u8), ('c64', R.c64)):
        for side in (8, 12, 13, 20, 37):
            P.add(f'{name}_squares_of_{side}_turned', lambda x: x.transpose(0, 2, 1), a(30000 // side**2, side, side))
        for width in (3, 5, 11):
            P.add(f'{name}_rows_of_{width}_turned', lambda x: x.transpose(1, 0, 2), a(70, 110, width))
        for width in (6, 7, 9):
            P.add(f'{name}_rows_of_{width}_turned', lambda x: x.transpose(0, 2, 1, 3), a(3, 50, 61, width))
        P.add(f'{name}_of_four_dims_turned', lambda x: x.transpose(0, 3, 2, 1), a(3, 40, 5, 60))
    for name, a in (('u8', R.u8), ('s16', i16), ('f16', R.f16)):
        for width in (3, 7, 8, 15):
            P.add(f'{name}_rows_of_{width}_added', lambda x, b: x + b, a(9000, width), a(width))
            P.add(f'{name}_parts_of_{width}', lambda x, width=width: x[:, 1:width + 1] * 2, a(9000, width + 3))
    P.add('u8_of_six_short_dims_turned', lambda x: x.transpose(5, 0, 3, 1, 4, 2), R.u8(3, 4, 9, 2, 10, 14))
    P.add('bools_of_boards_turned', lambda x: x.transpose(0, 3, 2, 1), R.u8(60, 9, 8, 10) > 100)
    P.add('u8_every_second_of_short_rows_turned', lambda x: x[:, :, ::2].transpose(0, 2, 1), R.u8(200, 9, 19))
    P.add('s16_squares_of_5_turned', lambda x: x.transpose(0, 2, 1) + 1, i16(1200, 5, 6))
    at = R.i32(900, 2100)
    for name, a in (('f32', R.f32), ('c64', R.c64)):
        P.add(f'{name}_matrices_added', lambda t, i, u: t.at[i].add(u), a(900, 3, 3), at, a(2100, 3, 3))
        P.add(f'{name}_matrices_set', lambda t, i, u: t.at[i].set(u), a(900, 3, 5), at % 899, a(2100, 3, 5))
        P.add(f'{name}_matrices_gathered', lambda t, i: t[i] * 2, a(900, 3, 5), at)
        P.add(f'{name}_rows_by_segment', lambda u, i: jax.ops.segment_sum(u, i, 900), a(2100, 7), at)
    return P
