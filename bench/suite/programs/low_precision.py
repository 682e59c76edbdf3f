"""Narrow types: bf16 and f16 arithmetic, f8 and int8 storage, quantisation and back, mixed products."""
import numpy as np

from arrays import bf16, f16, f32, i8, increasing, integers, positive, typed, u8

FACTOR = 4.0


def programs(jax, pick, add):
    jnp, lax, nn = jax.numpy, jax.lax, jax.nn
    n, m = pick((4000, 48), (400000, 320), (8000000, 1024))
    add('bf16_chain', lambda x, y: (x * y + 1) * x - y, bf16(n), bf16(n))
    add('f16_chain', lambda x, y: (x * y + 1) * x - y, f16(n), f16(n))
    add('bf16_gelu', lambda x: nn.gelu(x), bf16(n))
    add('f16_softmax', lambda x: nn.softmax(x), f16(m, m), factor=4)
    add('bf16_layer_norm', lambda x, g: (lambda y: ((y - y.mean(-1, keepdims=True)) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)).astype(jnp.bfloat16) * g)(x.astype(jnp.float32)), bf16(m, m), bf16(m))
    add('bf16_sum', lambda x: x.astype(jnp.float32).sum(0), bf16(m, m), factor=16)
    add('bf16_max', lambda x: x.max(1), bf16(m, m))
    add('bf16_product', lambda a, b: a @ b, bf16(m, m), bf16(m, m))
    add('f16_product', lambda a, b: a @ b, f16(m, m, scale=0.3), f16(m, m, scale=0.3))
    add('bf16_batched', lambda a, b: jnp.einsum('bij,bkj->bik', a, b), bf16(m, 20, 16), bf16(m, 24, 16))
    add('bf16_matrix_vector', lambda a, x: a @ x, bf16(m, m), bf16(m))
    add('to_bf16_and_back', lambda x: x.astype(jnp.bfloat16).astype(jnp.float32) - x, f32(n), factor=1e6)
    add('to_f16', lambda x: x.astype(jnp.float16), f32(n))
    add('f8_storage', lambda x: x.astype(jnp.float32) * 0.5 + 1, typed('float8_e4m3fn', n))
    add('to_f8_e5m2', lambda x: x.astype(jnp.float8_e5m2).astype(jnp.float32), f32(n))
    add('f8_product', lambda a, b: jnp.dot(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32), typed('float8_e4m3fn', m, m), typed('float8_e4m3fn', m, m), factor=16)
    add('f8_product_sums', lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32), typed('float8_e4m3fn', m, m), typed('float8_e4m3fn', m, m), factor=16)
    add('int8_product_int8', lambda a, b: a @ b, i8(m, m), i8(m, m))
    add('quantise', lambda x: (lambda s: (jnp.clip(jnp.round(x / s), -127, 127).astype(jnp.int8), s))(jnp.abs(x).max(-1, keepdims=True) / 127), f32(m, m), share=1e-3)
    add('dequantise', lambda q, s: q.astype(jnp.float32) * s, i8(m, m), positive(m, 1))
    add('int8_weights', lambda x, q, s: (x @ q.astype(jnp.float32)) * s, f32(m, m), i8(m, m), positive(m))
    add('int8_product', lambda a, b, s: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32).astype(jnp.float32) * s, i8(m, m), i8(m, m), positive(m))
    add('int4_weights', lambda x, q, s: x @ (jnp.stack([(q & 15).astype(jnp.int8) - 8, (q >> 4).astype(jnp.int8) - 8], 1).reshape(m, m).astype(jnp.float32) * s), f32(m, m), u8(m // 2, m), positive(m))
    add('uint8_image', lambda x: (x.astype(jnp.float32) / 255 - 0.45) / 0.22, u8(m, m, 3))
    add('float_to_uint8', lambda x: jnp.clip(x * 64 + 128, 0, 255).astype(jnp.uint8), f32(m, m, 3), share=1e-3)
    add('stochastic_round', lambda x, r: lax.bitcast_convert_type((lax.bitcast_convert_type(x, jnp.uint32) + (r & 0xffff)) & jnp.uint32(0xffff0000), jnp.float32), f32(n), integers(np.uint32, 0, 1 << 16, n))
    add('bf16_embedding', lambda t, i: t[i].sum(0), bf16(m, m), increasing(m, 8))
    add('loss_scaling', jax.grad(lambda w, x: (jnp.tanh(x @ w).astype(jnp.float32) ** 2).mean() * 64), bf16(m, m, scale=0.1), bf16(m, m), factor=8)
    add('mixed_update', lambda w, g, m: (w - 0.01 * (0.9 * m + g.astype(jnp.float32)), (0.9 * m + g.astype(jnp.float32)), (w - 0.01 * m).astype(jnp.bfloat16)), f32(n), bf16(n), f32(n))
    add('bf16_cumulative', lambda x: jnp.cumsum(x.astype(jnp.float32), 1).astype(jnp.bfloat16), bf16(m, m), factor=4)
