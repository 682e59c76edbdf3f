"""Numbers of few bits: blocks that share a scale, floats of 4, 6 and 8 bits, integers of 2 and 4, tables of codes, rounding by chance, and what is computed with them."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

FACTOR = 1024.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(18)
    add, f32 = P.add, R.f32

    def shared(x, largest, kind):
        """Blocks of 32 with a power of two as scale."""
        b = x.reshape(*x.shape[:-1], -1, 32)
        top = jnp.abs(b).max(-1, keepdims=True)
        scale = jnp.exp2(jnp.floor(jnp.log2(top + 1e-30)) - largest)
        return (b / scale).astype(kind), scale
    add('blocks_to_e4m3', lambda x: shared(x, 8, jnp.float8_e4m3fn), f32(70, 320))
    add('blocks_to_e5m2', lambda x: tuple(v.astype(jnp.float32) for v in shared(x, 15, jnp.float8_e5m2)), f32(70, 320))
    add('blocks_of_e4m3_back', lambda q, s: (q.astype(jnp.float32) * s).reshape(70, 320), f32(70, 10, 32).astype(ml_dtypes.float8_e4m3fn), R.share(70, 10, 1))
    add('blocks_of_e4m3_times', lambda q, s, x: (q.astype(jnp.float32) * s).reshape(70, 320) @ x, f32(70, 10, 32).astype(ml_dtypes.float8_e4m3fn), R.share(70, 10, 1), f32(320, 9))
    for kind in ('float8_e4m3fn', 'float8_e5m2', 'float8_e4m3b11fnuz', 'float8_e3m4', 'float8_e5m2fnuz'):
        add(f'{kind}_and_back', lambda x, kind=kind: x.astype(kind).astype(jnp.float32), f32(5003))
    add('e4m3_times_e4m3', lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32), f32(60, 70).astype(ml_dtypes.float8_e4m3fn), f32(70, 50).astype(ml_dtypes.float8_e4m3fn))
    add('e4m3_times_vector', lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32), f32(1, 500).astype(ml_dtypes.float8_e4m3fn), f32(500, 300).astype(ml_dtypes.float8_e4m3fn))
    add('e5m2_sum_of_two', lambda a, b: (a + b).astype(jnp.float32), f32(4001).astype(ml_dtypes.float8_e5m2), f32(4001).astype(ml_dtypes.float8_e5m2))
    add('cut_to_10_bits', lambda x: lax.reduce_precision(x, 8, 10), f32(7001))
    add('cut_to_e5m2_by_rule', lambda x: lax.reduce_precision(x, 5, 2), f32(7001))
    add('cut_product', lambda a, b: lax.reduce_precision(a, 8, 7) @ lax.reduce_precision(b, 8, 7), f32(67, 71), f32(71, 73))
    add('int4_and_back', lambda x: jnp.clip(jnp.round(x * 3), -8, 7).astype(jnp.int4).astype(jnp.float32) / 3, f32(4003))
    add('int4_times_int4', lambda a, b: lax.dot(a.astype(jnp.int8), b.astype(jnp.int8), preferred_element_type=jnp.int32), R.randint(-8, 8, (40, 64)).astype(ml_dtypes.int4), R.randint(-8, 8, (64, 50)).astype(ml_dtypes.int4))
    add('uint4_sums', lambda a: a.astype(jnp.int32).sum(1), R.randint(0, 16, (100, 101)).astype(ml_dtypes.uint4))
    add('int2_times_rows', lambda q, x: x @ q.astype(jnp.float32), R.randint(-2, 2, (128, 90)).astype(ml_dtypes.int2), f32(5, 128))
    add('int4_looked_up', lambda t, i: t[i].astype(jnp.int32), R.randint(-8, 8, 1000).astype(ml_dtypes.int4), R.i32(1000, 3001))
    add('int4_turned', lambda a: a.T.astype(jnp.int8), R.randint(-8, 8, (90, 91)).astype(ml_dtypes.int4))
    add('threes_in_a_byte', lambda p, x, s: (x @ (jnp.stack([(p // 3 ** k) % 3 for k in range(5)], -1).reshape(64, -1)[:, :300].astype(jnp.float32) - 1)) * s, R.u8(64, 60) % np.uint8(243), f32(7, 64), np.float32(.1))
    add('twos_in_a_byte', lambda p, x: ((p[..., None] >> np.arange(0, 8, 2, dtype=np.uint8)) & 3).reshape(75, -1).astype(jnp.float32) @ x, R.u8(75, 40), f32(160, 6))
    add('ones_in_words_times', lambda a, b: 256 - 2 * lax.population_count(a[:, None] ^ b).astype(jnp.int32).sum(-1), R.randint(0, 2 ** 32, (90, 8), dtype=np.uint32), R.randint(0, 2 ** 32, (70, 8), dtype=np.uint32))
    add('signs_packed', lambda x: ((x.reshape(50, -1, 32) > 0).astype(jnp.uint32) << jnp.arange(32, dtype=jnp.uint32)).sum(-1).astype(jnp.uint32), f32(50, 320))
    add('nibbles_by_groups', lambda p, s, z, x: x @ (((jnp.stack([p & 15, p >> 4], 1).reshape(10, 24, 70).astype(jnp.float32)) - z) * s).reshape(240, 70), R.u8(120, 70), R.share(10, 1, 70), 8 + f32(10, 1, 70), f32(3, 240))
    add('nibbles_by_groups_bf16', lambda p, s, x: x @ ((jnp.stack([p & 15, p >> 4], 1).reshape(10, 24, 70).astype(jnp.bfloat16) - 8) * s).reshape(240, 70), R.u8(120, 70), R.bf16(10, 1, 70), R.bf16(1, 240))
    add('codes_of_16_times', lambda c, t, x: x @ t[jnp.stack([c & 15, c >> 4], -1).reshape(130, 80)], R.u8(130, 40), np.sort(f32(16)), f32(4, 130))
    add('codes_found', lambda x, t: jnp.abs(x[..., None] - t).argmin(-1).astype(jnp.uint8), f32(60, 61), np.sort(f32(16)))
    add('codes_of_pairs', lambda c, t, x: x @ t[c].reshape(100, 96), R.u8(100, 48), f32(256, 2), f32(4, 100))
    add('rounded_by_chance', lambda x, k: (lambda u: jnp.floor(x * 16 + u).astype(jnp.int8))(jax.random.uniform(jax.random.wrap_key_data(k), x.shape)), f32(41, 43), np.array([1, 2], np.uint32))
    add('rounded_by_chance_to_bf16', lambda x, k: lax.bitcast_convert_type(((lax.bitcast_convert_type(x, jnp.uint32) + (jax.random.bits(jax.random.wrap_key_data(k), x.shape) & np.uint32(0xffff))) >> 16).astype(jnp.uint16), jnp.bfloat16), f32(41, 43), np.array([1, 2], np.uint32))

    @jax.custom_vjp
    def rounded(x):
        return jnp.round(x)
    rounded.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))

    def learned(w, x, s, y):
        q = rounded(jnp.clip(w / s, -8, 7)) * s
        return ((rounded(jnp.clip(x * 20, -128, 127)) / 20 @ q - y) ** 2).mean()
    add('steps_learned_gradient', jax.grad(learned, (0, 2)), f32(40, 30), f32(50, 40), .1 + R.share(30), f32(50, 30))
    add('bytes_by_rows_and_columns', lambda x, w: (lambda a, b: lax.dot(jnp.round(x / a).astype(jnp.int8), jnp.round(w / b).astype(jnp.int8), preferred_element_type=jnp.int32).astype(jnp.float32) * a * b)(jnp.abs(x).max(1, keepdims=True) / 127, jnp.abs(w).max(0, keepdims=True) / 127), f32(37, 200), f32(200, 90))
    add('cache_of_bytes_read', lambda q, k, ks, v, vs: (lambda p: jnp.einsum('bht,bthd->bhd', p * vs.transpose(0, 2, 1), v.astype(jnp.float32)))(jax.nn.softmax(jnp.einsum('bhd,bthd->bht', q, k.astype(jnp.float32)) * ks.transpose(0, 2, 1), -1)), f32(3, 4, 24), R.randint(-128, 128, (3, 70, 4, 24)).astype(np.int8), R.share(3, 70, 4) * np.float32(.01), R.randint(-128, 128, (3, 70, 4, 24)).astype(np.int8), R.share(3, 70, 4) * np.float32(.01))
    add('moments_of_bytes', lambda p, m, sm, g: (lambda f: (p - .01 * f, (lambda s: (jnp.round(f / s).astype(jnp.int8), s))(jnp.abs(f).max(-1, keepdims=True) / 127 + 1e-9)))(.9 * m.astype(jnp.float32) * sm + .1 * g), f32(20, 256), R.randint(-128, 128, (20, 256)).astype(np.int8), R.share(20, 1) * np.float32(.01), f32(20, 256))
    return P
