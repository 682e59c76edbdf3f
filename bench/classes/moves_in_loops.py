"""States that a loop turns, rolls, mirrors and deals out in every trip, and rows of which each goes through its elements in order."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

R = Random(52)
f32 = R.f32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    u8 = R.u8

    def times(n, f):
        return lambda x, *rest: lax.fori_loop(0, n, lambda i, x: f(x, *rest), x)

    add('bytes_turned', times(20, lambda x: x.T ^ jnp.uint8(3)), u8(150, 150))
    add('squares_of_bytes_turned', times(20, lambda x: x.swapaxes(1, 2) + jnp.uint8(1)), u8(300, 12, 12))
    add('matrix_turned', times(20, lambda x: x.T * 1.01), f32(130, 130))
    add('only_turned', lambda x: lax.fori_loop(0, 21, lambda i, x: x.T, x), f32(200, 200))
    add('halves_of_floats_turned', times(20, lambda x: x.T + jnp.bfloat16(1)), f32(120, 120).astype(ml_dtypes.bfloat16))
    add('complex_turned', times(20, lambda x: x.conj().T * .99), R.c64(70, 70))
    add('axes_in_turn', times(18, lambda x: jnp.transpose(x, (1, 2, 0)) + 1), f32(28, 28, 28))
    add('quarter_turns', times(24, lambda x: jnp.rot90(x) + .5), f32(140, 140))
    add('riffle_shuffle', times(20, lambda x: x.reshape(2, -1).T.reshape(-1)), R.i32(1000, 5000))
    add('every_third_first', times(20, lambda x: x.reshape(-1, 3).T.reshape(-1) * 2), R.i32(1000, 6000))
    add('mirrored_and_mixed', times(20, lambda x: .5 * x + .5 * x[::-1, ::-1]), f32(101, 97))
    add('rolled_fields', times(20, lambda x: jnp.roll(x, (1, 2), (0, 1)) * .5 + x * .5), f32(90, 110))
    add('two_states_change_places', lambda a, b: lax.fori_loop(0, 20, lambda i, c: (c[1].T + 1, c[0].T), (a, b)), f32(80, 120), f32(120, 80))
    add('alternating_directions', times(10, lambda x: jnp.cumsum(jnp.cumsum(x, 0).T * .01, 0).T * .01 + x), f32(64, 96))
    add('last_result_kept_turned', lambda x: lax.fori_loop(0, 16, lambda i, c: (c[0] * 1.01, c[0].swapaxes(0, 1)), (x, jnp.zeros((40, 60, 5), jnp.float32))), f32(60, 40, 5))
    add('pixels_dealt_out', times(12, lambda x: x.reshape(16, 2, 16, 2, 8).transpose(1, 3, 0, 2, 4).reshape(32, 32, 8) + 1), f32(32, 32, 8))

    def least_and_place(join_ties):
        def join(a, b):
            first = (a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1])) if join_ties else a[0] < b[0]
            return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])
        return lambda x: lax.reduce((x, lax.broadcasted_iota(jnp.int32, x.shape, 1)), (jnp.float32(np.inf), jnp.int32(0)), join, (1,))

    add('least_and_place_of_few_rows', least_and_place(True), f32(5, 2003))
    add('least_and_place_of_rows', least_and_place(False), f32(300, 257))
    add('rows_of_a_recurrence', lambda x, w: lax.reduce((x, w), (jnp.float32(0), jnp.float32(1)), lambda a, b: (a[0] * b[1] + b[0], a[1] * b[1]), (1,)), f32(90, 300) * .1, R.share(90, 300))
    add('e5m2_weights_in_every_step', times(30, lambda x, w: jnp.tanh(x @ w.astype(jnp.float32))), f32(4, 200), (f32(200, 200) * .07).astype(ml_dtypes.float8_e5m2))
    add('e4m3_table_added_in_every_step', times(30, lambda x, t: jnp.sin(x + t.astype(jnp.float32))), f32(60, 90), f32(60, 90).astype(ml_dtypes.float8_e4m3fn))
    return P
