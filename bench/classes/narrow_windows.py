"""Windows, small products, divisions and moves of narrow and complex elements."""
import numpy as np
from by_value import Programs, Random
R = Random(4108)
FACTOR = 64.0  # Sums of thousands of complex numbers.


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    names = ('NHWC', 'HWIO', 'NHWC')
    for type_name, dtype in (('s8', np.int8), ('u8', np.uint8), ('s16', np.int16)):
        a = lambda *shape: R.randint(0, 20, shape).astype(dtype)
        conv = lambda stride, groups=1: lambda x, w: lax.conv_general_dilated(
            x, w, (stride, stride), 'SAME', dimension_numbers=names, feature_group_count=groups)
        P.add(f'{type_name}_window_3x3', conv(1), a(2, 45, 31, 5), a(3, 3, 5, 7))
        P.add(f'{type_name}_window_5x5_of_every_other', conv(2), a(2, 45, 31, 5), a(5, 5, 5, 9))
        P.add(f'{type_name}_channels', conv(1), a(2, 28, 28, 32), a(1, 1, 32, 32))
        P.add(f'{type_name}_channels_40_to_56', conv(1), a(1, 33, 29, 40), a(1, 1, 40, 56))
        P.add(f'{type_name}_window_3x3_of_16', conv(1), a(2, 21, 23, 16), a(3, 3, 16, 24))
        P.add(f'{type_name}_layer_in_s32', lambda x, w: jnp.dot(x, w, preferred_element_type=jnp.int32), a(201, 93), a(93, 71))
        P.add(f'{type_name}_depthwise', conv(1, 16), a(2, 45, 31, 16), a(3, 3, 1, 16))
        P.add(f'{type_name}_small_products', lambda x, y: x @ y, a(101, 7, 13), a(101, 13, 5))
        P.add(f'{type_name}_small_products_in_s32',
              lambda x, y: jnp.einsum('bij,bjk->bik', x, y, preferred_element_type=jnp.int32), a(60, 16, 16), a(60, 16, 16))
        P.add(f'{type_name}_products_of_a_batch', lambda x, w: jnp.einsum('bij,jk->bik', x, w), a(4, 97, 48), a(48, 40))
        P.add(f'{type_name}_thirds', lambda x: (x // 3, x % 7), a(300, 301))
        P.add(f'{type_name}_roots', lambda x: jnp.sqrt(x.astype(jnp.float32)).astype(dtype), a(300, 301))
        P.add(f'{type_name}_rolled', lambda x, s: jnp.roll(x, s, 1), a(64, 1001), np.int32(17))
        P.add(f'{type_name}_rows_rolled', jax.vmap(lambda x, s: jnp.roll(x, s)), a(64, 1001), R.i32(1001, 64))
        P.add(f'{type_name}_before_a_length', lambda x, n: jnp.where(jnp.arange(1001) < n[:, None], x, 1), a(64, 1001), R.i32(1001, 64))
        P.add(f'{type_name}_turned', lambda x: x.transpose(5, 3, 1, 0, 2, 4), a(2, 3, 5, 7, 11, 13))
    P.add('heads_of_twenty', lambda x: x.transpose(0, 2, 1, 3), R.f16(16, 12, 64, 20))
    P.add('rows_of_five_turned', lambda x: x.transpose(1, 0, 2), R.f32(170, 310, 5))
    for width in (2, 37):
        table, rows, at = R.c64(2000, width), R.c64(5000, width), R.i32(2000, 5000)
        P.add(f'complex_rows_of_{width}_added', lambda t, r, i: t.at[i].add(r), table, rows, at)
        P.add(f'complex_rows_of_{width}_gathered', lambda t, i: t[i], table, at)
    for columns in (2, 3, 16):
        P.add(f'complex_sums_of_{columns}_columns', lambda x: x.sum(0), R.c64(10000, columns))
        P.add(f'means_of_{columns}_columns', lambda x: x.mean(0), R.f32(10000, columns))
    return P
