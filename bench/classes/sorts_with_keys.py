"""Sorts by several keys with what goes along, by columns, of strings; sorts written as loops; modes, unique rows, the first few."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

R = Random(4210)
f32, i32 = R.f32, R.i32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add

    add('sorted_by_three_keys', lambda a, b, c, v: lax.sort((a, b, c, v), num_keys=3), i32(7, 5003), R.u8(5003), f32(5003), f32(5003))
    add('rows_sorted_with_two_more', lambda k, a, b: lax.sort((k, a, b), dimension=1, num_keys=1), f32(53, 301), i32(99, 53, 301), f32(53, 301))
    add('columns_argsorted_stably', lambda k: jnp.argsort(k, axis=0, stable=True), i32(5, 301, 53))
    add('strings_of_eight_bytes', lambda s: jnp.lexsort([s[:, k] for k in range(7, -1, -1)]), R.u8(2003, 8))
    add('high_and_low_words', lambda h, l: lax.sort((h, l), num_keys=2), i32(999, 10007).astype(np.uint32), i32(1 << 30, 10007).astype(np.uint32))
    add('modes_of_rows', jax.vmap(lambda r: jnp.bincount(r, length=21).argmax()), i32(21, 101, 301))
    add('unique_rows', lambda x: jnp.unique(x, axis=0, size=64, return_inverse=True, return_counts=True), i32(3, 301, 4))
    add('masked_top_13_bf16', lambda x, m: lax.top_k(jnp.where(m, x, -jnp.inf), 13), f32(61, 503).astype(ml_dtypes.bfloat16), R.rand(61, 503) > .3)
    add('top_7_of_columns', lambda x: lax.top_k(x.T, 7), f32(301, 203))
    add('least_20_of_rows', lambda x: jnp.sort(jnp.partition(x, 20, axis=1)[:, :20], 1), f32(101, 501))

    def sift(h, n):
        """The first of n elements, moved down until no child is greater."""
        def body(s):
            h, i, _ = s
            left, right = jnp.minimum(2 * i + 1, 62), jnp.minimum(2 * i + 2, 62)
            c = jnp.where((2 * i + 2 < n) & (h[right] > h[left]), right, left)
            down = (2 * i + 1 < n) & (h[c] > h[i])
            return jnp.where(down, h.at[i].set(h[c]).at[c].set(h[i]), h), jnp.where(down, c, i), down
        return lax.while_loop(lambda s: s[2], body, (h, 0, True))[0]

    def heap_sort(h):
        def take(k, h):
            n = 62 - k
            return sift(h.at[0].set(h[n]).at[n].set(h[0]), n)
        return lax.fori_loop(0, 62, take, h)
    add('sorts_by_heaps', jax.vmap(heap_sort), -np.sort(-f32(31, 63), 1))

    def insertion(x):
        def put(i, x):
            def swap(s):
                x, j = s
                return x.at[j].set(x[j - 1]).at[j - 1].set(x[j]), j - 1
            return lax.while_loop(lambda s: (s[1] > 0) & (s[0][s[1] - 1] > s[0][s[1]]), swap, (x, i))[0]
        return lax.fori_loop(1, 41, put, x)
    add('sorts_by_insertion', jax.vmap(insertion), f32(53, 41))
    return P
