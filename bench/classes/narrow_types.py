"""f16, bf16, int8, uint8, complex64 in ordinary work at odd sizes."""
import numpy as np, ml_dtypes
from by_value import Programs, Random
R = Random(1208)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 256.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    bf = lambda *s: f32(*s).astype(ml_dtypes.bfloat16)
    h = lambda *s: f32(*s).astype(np.float16)
    c = lambda *s: (f32(*s) + 1j * f32(*s)).astype(np.complex64)
    i8 = lambda *s: R.randint(-127, 128, s).astype(np.int8)
    add('bf16_attention_causal_odd', lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True), bf(2, 101, 3, 20), bf(2, 101, 3, 20), bf(2, 101, 3, 20))
    add('bf16_layer_norm_mlp_gradient', lambda w1, w2, g, x: jax.grad(lambda w1, w2, g: (lambda y: jnp.mean((y.astype(jnp.float32)) ** 2))(jax.nn.gelu(jax.nn.standardize(x.astype(jnp.float32), -1).astype(jnp.bfloat16) * g @ w1) @ w2), (0, 1, 2))(w1, w2, g), bf(100, 203), bf(203, 100), bf(100), bf(67, 100))
    add('f16_conv_net_forward', lambda w, w2, x: lax.reduce_window(jax.nn.relu(lax.conv_general_dilated(jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))), w2, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))), np.float16(-np.inf), lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID'), h(3, 3, 5, 13) * np.float16(.2), h(3, 3, 13, 19) * np.float16(.1), h(2, 45, 43, 5))
    add('bf16_adam_stochastic_rounding', lambda p, m, v, g, k: (lambda m, v: ((lambda t, r: lax.bitcast_convert_type((lax.bitcast_convert_type(t, jnp.uint32) + r) & jnp.uint32(0xFFFF0000), jnp.float32).astype(jnp.bfloat16))(p.astype(jnp.float32) - 1e-3 * m / (jnp.sqrt(v) + 1e-8), jax.random.bits(k, p.shape, jnp.uint32) >> 16), m.astype(jnp.bfloat16), v))(.9 * m.astype(jnp.float32) + .1 * g.astype(jnp.float32), .99 * v + .01 * g.astype(jnp.float32) ** 2), bf(20011), bf(20011), np.abs(f32(20011)), bf(20011), np.array([1, 2], np.uint32))
    add('int8_conv_requantised', lambda x, w, s: jnp.clip(jnp.round(lax.conv_general_dilated(x.astype(jnp.int32), w.astype(jnp.int32), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')).astype(jnp.float32) * s), -127, 127).astype(jnp.int8), i8(1, 33, 31, 8), i8(3, 3, 8, 17), np.abs(f32(17)) * 1e-3)
    add('int8_rows_dynamic_quantised_matmul', lambda x, w, sw: (lambda s: (lax.dot_general(jnp.round(x / s).astype(jnp.int8), w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32).astype(jnp.float32) * s * sw))(jnp.abs(x).max(1, keepdims=True) / 127), f32(61, 203), i8(203, 101), np.abs(f32(101)) * .01)
    add('kv_cache_int8_token', lambda q, k, v, sk, sv, n: (lambda l: jnp.einsum('hs,shd->hd', jax.nn.softmax(jnp.where(jnp.arange(k.shape[0]) < n, l, -1e9), -1), v.astype(jnp.float32) * sv[:, :, None]))(jnp.einsum('hd,shd->hs', q, k.astype(jnp.float32) * sk[:, :, None])), f32(7, 40), i8(401, 7, 40), i8(401, 7, 40), np.abs(f32(401, 7)) * .01, np.abs(f32(401, 7)) * .01, np.int32(333))
    add('beamformed_covariances', lambda x, s: (lambda C: 1 / jnp.real(jnp.einsum('fma,fmn,fna->fa', s.conj(), jnp.linalg.inv(C + .1 * jnp.eye(5)), s)))(jnp.einsum('mft,nft->fmn', x, x.conj()) / 61), c(5, 65, 61), c(65, 5, 31))
    add('qam_demap_llrs', lambda y, hh, n: (lambda con, b: (lambda d: jax.nn.logsumexp(jnp.where(b[:, None, None] == 0, -d, -1e9), -1) - jax.nn.logsumexp(jnp.where(b[:, None, None] == 1, -d, -1e9), -1))((jnp.abs(y / hh - 0)[..., None] * 0 + jnp.abs((y / hh)[..., None] - con) ** 2) / n))((2. * (jnp.arange(16) % 4) - 3) + 1j * (2. * (jnp.arange(16) // 4) - 3), jnp.stack([(jnp.arange(16) >> k) & 1 for k in range(4)])), c(14, 101), c(14, 101), np.float32(.5))
    add('ofdm_channel_estimate', lambda x, p: (lambda H: jnp.fft.fft(jnp.where(jnp.arange(100) < 13, jnp.fft.ifft(H, axis=1), 0), axis=1))(jnp.fft.fft(x[:, 7:], axis=1) / p), c(29, 107), c(29, 100))
    add('radar_range_doppler_cfar', lambda x: (lambda z: z > 3 * (lax.reduce_window(z, 0., lax.add, (9, 9), (1, 1), 'SAME') - lax.reduce_window(z, 0., lax.add, (3, 3), (1, 1), 'SAME')) / 72)(jnp.abs(jnp.fft.fftshift(jnp.fft.fft2(x * jnp.hanning(63)[:, None] * jnp.hanning(101)), 0)) ** 2), c(63, 101))
    add('bytes_to_normalised_crops', lambda im, yx, flip: jax.vmap(lambda im, yx, f: (lambda x: jnp.where(f, x[:, ::-1], x))((lax.dynamic_slice(im, (yx[0], yx[1], 0), (51, 53, 3)).astype(jnp.float32) / 255 - jnp.array([.48, .45, .4])) / jnp.array([.22, .22, .23])))(im, yx, flip), u8(5, 67, 71, 3), i32(13, 5, 2), R.rand(5) < .5)
    add('f16_lstm_cells_scan', lambda w, b, x: lax.scan(lambda hc, x: (lambda g: (lambda i, f, o, u: (lambda cc: ((jax.nn.sigmoid(o) * jnp.tanh(cc), cc), jax.nn.sigmoid(o) * jnp.tanh(cc)))(jax.nn.sigmoid(f) * hc[1] + jax.nn.sigmoid(i) * jnp.tanh(u)))(*jnp.split(g, 4, -1)))(jnp.concatenate([x, hc[0]], -1) @ w + b), (jnp.zeros((5, 31), jnp.float16), jnp.zeros((5, 31), jnp.float16)), x)[1], h(48, 124) * np.float16(.1), h(124), h(37, 5, 17))
    add('bf16_embedding_bag_gradient', lambda t, i, w: jax.grad(lambda t: jnp.sum(jnp.tanh((t[i] * w[..., None].astype(jnp.bfloat16)).sum(1).astype(jnp.float32))))(t), bf(503, 29), i32(503, 101, 11), f32(101, 11))
    add('f16_kmeans_distances', lambda x, cc: (lambda d: (d.argmin(1), d.min(1)))((x ** 2).sum(1, keepdims=True) - 2 * x @ cc.T + (cc ** 2).sum(1)), h(1009, 13), h(37, 13))
    add('e4m3_scaled_matmul', lambda x, w: (lambda sx, sw: lax.dot_general((x / sx).astype(jnp.float8_e4m3fn).astype(jnp.bfloat16), (w / sw).astype(jnp.float8_e4m3fn).astype(jnp.bfloat16), (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32) * sx * sw)(jnp.abs(x).max(1, keepdims=True) / 448, jnp.abs(w).max(0, keepdims=True) / 448), f32(53, 131), f32(131, 97))
    # Loops of points, whose trips wait for each other: several vectors of them go on together.
    add('f16_logistic_orbits', lambda x, r: lax.fori_loop(0, 50, lambda i, x: r * x * (1 - x), x), np.abs(h(20011)) % np.float16(1), np.float16(3) + np.abs(h(20011)) % np.float16(.9))
    add('bf16_cube_roots_by_newton', lambda a: lax.fori_loop(0, 12, lambda i, x: x - (x * x * x - a) / (3 * x * x), jnp.ones_like(a)), 1 + np.abs(bf(30011)))
    add('f16_momentum_steps', lambda x, v: lax.fori_loop(0, 16, lambda i, s: (lambda v: (s[0] + v, v))(np.float16(.9) * s[1] - np.float16(.01) * jnp.tanh(s[0])), (x, v)), h(101, 203), h(101, 203))
    return P
