"""Programs of a millisecond and more."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

FACTOR = 256.0
R = Random(708)
f32, i32, u8 = R.f32, R.i32, R.u8
uni, bf, c64 = R.share, R.bf16, R.c64
bfs = lambda *s: R.bf16(*s, scale=.03)


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    key = np.array([2, 80], np.uint32)

    def rms(x):
        return x * lax.rsqrt(jnp.mean(jnp.square(x.astype(jnp.float32)), -1, keepdims=True) + 1e-6).astype(x.dtype)
    def llama(p, x, kc, vc, t):
        D = x.shape[-1]
        H = 16; hd = D // H
        def layer(x, w):
            qkv, o, gu, dn, kc, vc = w
            q, k, v = jnp.split(rms(x) @ qkv, 3, -1)
            kc = lax.dynamic_update_slice(kc, k.reshape(1, H, hd), (t, 0, 0)); vc = lax.dynamic_update_slice(vc, v.reshape(1, H, hd), (t, 0, 0))
            s = jnp.einsum('hd,thd->ht', q.reshape(H, hd), kc).astype(jnp.float32) * hd ** -.5
            s = jnp.where(jnp.arange(kc.shape[0]) <= t, s, -1e30)
            x = x + jnp.einsum('ht,thd->hd', jax.nn.softmax(s).astype(x.dtype), vc).reshape(1, D) @ o
            g, u = jnp.split(rms(x) @ gu, 2, -1)
            return x + (jax.nn.silu(g) * u) @ dn, (kc, vc)
        return lax.scan(layer, x, (*p, kc, vc))
    D, F, L = 512, 1376, 3
    shapes = ((L, D, 3 * D), (L, D, D), (L, D, 2 * F), (L, F, D))
    w = tuple(f32(*s) * .03 for s in shapes)
    P['llama_token_f32'] = (llama, [lambda: w, lambda: f32(1, D), lambda: f32(L, 300, 16, 32), lambda: f32(L, 300, 16, 32), lambda: np.int32(250)])
    wb = tuple(a.astype(ml_dtypes.bfloat16) for a in w)
    P['llama_token_bf16'] = (llama, [lambda: wb, lambda: bf(1, D), lambda: bf(L, 300, 16, 32), lambda: bf(L, 300, 16, 32), lambda: np.int32(250)])
    def w8(x, ws):
        for q, s in ws:
            x = jnp.tanh((x @ q.astype(x.dtype)) * s)
        return x
    add('int8_weights_token', w8, f32(1, 1024), [(R.randint(-127, 128, (1024, 1024)).astype(np.int8), uni(1024) * .001) for _ in range(3)])
    add('int8_weights_token_bf16', w8, bf(1, 1024), [(R.randint(-127, 128, (1024, 1024)).astype(np.int8), (uni(1024) * .001).astype(ml_dtypes.bfloat16)) for _ in range(3)])
    def attn(q, k, v):
        s = jnp.einsum('hqd,hkd->hqk', q, k, preferred_element_type=jnp.float32) * 64 ** -.5
        s = jnp.where(jnp.tril(jnp.ones(s.shape[1:], bool)), s, -1e30)
        return jnp.einsum('hqk,hkd->hqd', jax.nn.softmax(s, -1).astype(q.dtype), v)
    add('causal_attention_bf16_gradient', jax.grad(lambda *a: jnp.sum(attn(*a).astype(jnp.float32) ** 2), (0, 1, 2)), bf(4, 333, 64), bf(4, 333, 64), bf(4, 333, 64))
    add('causal_attention_f32', attn, f32(6, 401, 64), f32(6, 401, 64), f32(6, 401, 64))
    add('vocabulary_loss_gradient', jax.grad(lambda h, w, y: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h @ w), y[:, None], 1)), (0, 1)), f32(64, 128), f32(128, 16001) * .1, i32(16001, 64))
    def ln(x, g, b):
        m = x.mean(-1, keepdims=True)
        return (x - m) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b
    add('layer_norm_gradient_large', jax.grad(lambda x, g, b, y: jnp.sum(ln(x, g, b) * y), (0, 1, 2)), f32(2001, 520), f32(520), f32(520), f32(2001, 520))
    add('rms_norm_bf16_large', lambda x, g: rms(x) * g, bf(3001, 768), bf(768))
    def adamw(p, g, m, v):
        m = .9 * m + .1 * g; v = .999 * v + .001 * g * g
        return p - 1e-3 * (m / (jnp.sqrt(v) + 1e-8) + .01 * p), m, v
    P['adamw_2m'] = (adamw, [lambda: f32(1000, 2003)] * 3 + [lambda: uni(1000, 2003)])
    conv = lambda x, w, s=1, g=1, dn=('NHWC', 'HWIO', 'NHWC'): lax.conv_general_dilated(x, w, (s, s), 'SAME', dimension_numbers=dn, feature_group_count=g)
    add('residual_block_56', lambda x, a, b: jax.nn.relu(x + conv(jax.nn.relu(conv(x, a)), b)), f32(2, 56, 56, 64), f32(3, 3, 64, 64) * .05, f32(3, 3, 64, 64) * .05)
    add('mobile_block_nchw', lambda x, a, b, c: conv(jax.nn.hard_swish(conv(jax.nn.hard_swish(conv(x, a, dn=('NCHW', 'OIHW', 'NCHW'))), b, 1, 144, ('NCHW', 'OIHW', 'NCHW'))), c, dn=('NCHW', 'OIHW', 'NCHW')), f32(2, 24, 57, 57), f32(144, 24, 1, 1), f32(144, 1, 5, 5), f32(24, 144, 1, 1))
    add('conv3d_gradient_medium', jax.grad(lambda w, x: jnp.sum(jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1, 1), 'SAME', dimension_numbers=('NDHWC', 'DHWIO', 'NDHWC'))) ** 2)), f32(3, 3, 3, 8, 16) * .1, f32(1, 24, 28, 30, 8))
    add('conv1d_long_bf16', lambda x, w: lax.conv_general_dilated(x, w, (1,), 'SAME', dimension_numbers=('NWC', 'WIO', 'NWC')), bf(4, 2001, 48), bfs(7, 48, 64))
    add('upsampling_conv_transpose', lambda x, w: lax.conv_transpose(x, w, (2, 2), 'SAME'), f32(2, 33, 35, 64), f32(4, 4, 64, 32) * .05)
    add('embedding_bags_large', jax.grad(lambda e, i: jnp.sum(jnp.tanh(e[i].mean(1)))), f32(20011, 64), i32(20011, 512, 20))
    add('sorted_300k', lambda x: jnp.sort(x), f32(300007))
    add('argsorted_100k', lambda x: jnp.argsort(x), f32(100003))
    add('argsorted_100k_i32', lambda x: jnp.argsort(x), i32(1000, 100003))
    add('unique_counts_100k', lambda x: jnp.unique(x, size=5000, return_counts=True), i32(5000, 100003))
    add('top_100_of_300k', lambda x: lax.top_k(x, 100), f32(300007))
    add('searched_sorted_100k', lambda a, v: jnp.searchsorted(a, v), np.sort(f32(10007)), f32(100003))
    add('segments_100k_16', lambda x, s: jax.ops.segment_sum(x, s, 3000), f32(100003, 16), i32(3000, 100003))
    add('segments_max_300k', lambda x, s: jax.ops.segment_max(x, s, 1000), f32(300007), i32(1000, 300007))
    add('histogram_1m', lambda x: jnp.histogram(x, 100, (-4., 4.))[0], f32(1000003))
    add('cumsum_columns', lambda x: jnp.cumsum(x, 0), f32(1001, 999))
    add('cumsum_rows', lambda x: jnp.cumsum(x, 1), f32(1001, 999))
    add('cummax_1m', lambda x: lax.cummax(x), f32(1000003))
    add('recurrence_200k', lambda a, b: lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b))[1], uni(200003), f32(200003))
    add('fft_2d_500', lambda x: jnp.abs(jnp.fft.fft2(x)), f32(500, 500))
    add('rfft_rows_1000', lambda x: jnp.fft.rfft(x), f32(400, 1000))
    add('fft_prime', lambda x: jnp.fft.fft(x), c64(10007))
    add('fft_3d_60', lambda x: jnp.fft.irfftn(jnp.fft.rfftn(x) * .5, x.shape), f32(60, 64, 70))
    def heat(u):
        def st(_, u):
            p = jnp.pad(u, 1, mode='edge')
            return u + .1 * (p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1] + p[1:-1, 1:-1, 2:] + p[1:-1, 1:-1, :-2] - 6 * u)
        return lax.fori_loop(0, 5, st, u)
    add('heat_3d', heat, f32(90, 91, 93))
    def life(g):
        def st(_, g):
            n = sum(jnp.roll(g, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
            return ((n == 3) | ((g == 1) & (n == 2))).astype(jnp.uint8)
        return lax.fori_loop(0, 10, st, g)
    add('life_700', life, R.randint(0, 2, (701, 699)).astype(np.uint8))
    add('neighbours_1500', lambda x: lax.top_k(-jnp.sum((x[:, None] - x[None]) ** 2, -1), 9), f32(1501, 3))
    def lj(x):
        d = x[:, None] - x[None]
        r2 = (d * d).sum(-1) + jnp.eye(len(x)) * 10
        s = (1 / (r2 + .1)) ** 3
        return jnp.sum(s * s - s)
    add('pair_forces_800', jax.grad(lj), f32(801, 3) * 5)
    def asian(key):
        def st(s, k):
            x, a = s
            x = x * jnp.exp(.0002 + .02 * jax.random.normal(k, x.shape))
            return (x, a + x), None
        (x, a), _ = lax.scan(st, (jnp.ones(20003), jnp.zeros(20003)), jax.random.split(key, 30))
        return jnp.mean(jnp.maximum(a / 30 - 1, 0))
    add('asian_paths_20k', asian, key)
    add('density_3000', lambda x, q: jnp.mean(jnp.exp(-.5 * ((q[:, None] - x) / .2) ** 2), 1), f32(3001), f32(1001))
    def mandel(c):
        return lax.fori_loop(0, 40, lambda i, s: (jnp.where(jnp.abs(s[0]) < 2, s[0] ** 2 + c, s[0]), s[1] + (jnp.abs(s[0]) < 2)), (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]
    add('escape_times_complex', mandel, (np.linspace(-2, 1, 301)[None] + 1j * np.linspace(-1, 1, 203)[:, None]).astype(np.complex64))
    spd = (lambda a: (a @ a.T / 300 + np.eye(300)).astype(np.float32))(f32(300, 300))
    add('solve_300', lambda a, b: jnp.linalg.solve(a, b), spd + f32(300, 300) * .01, f32(300, 7))
    add('cholesky_gradient_300', jax.grad(lambda a: jnp.sum(jnp.log(jnp.diag(jnp.linalg.cholesky(a))))), spd)
    add('eigvalsh_120', lambda a: jnp.linalg.eigvalsh(a), spd[:120, :120])
    add('singular_values_100', lambda a: jnp.linalg.svd(a, compute_uv=False), f32(130, 100))
    add('inverses_6x6', lambda a: jnp.linalg.inv(a + 6 * jnp.eye(6)), f32(3001, 6, 6))
    add('determinants_4x4', lambda a: jnp.linalg.slogdet(a)[1], f32(10007, 4, 4))
    add('solves_5x5_f32', lambda a, b: jnp.linalg.solve(a + 5 * jnp.eye(5), b[..., None]), f32(4001, 5, 5), f32(4001, 5))
    add('exponentials_3x3', lambda a: jax.scipy.linalg.expm(a * .3), f32(501, 3, 3))
    def lstm(p, x):
        def st(s, x):
            h, c = s
            i, f, g, o = jnp.split(x @ p[0] + h @ p[1], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        return lax.scan(st, (jnp.zeros((x.shape[1], 100)),) * 2, x)[1]
    add('lstm_100_gradient', jax.grad(lambda p, x: jnp.mean(lstm(p, x) ** 2)), (f32(40, 400) * .1, f32(100, 400) * .1), f32(60, 20, 40))
    def lev(a, b):
        def row(prev, c):
            ins = jnp.minimum(prev[1:] + 1, prev[:-1] + (b != c[0]))
            cur = jnp.concatenate([c[1][None], ins])
            j = jnp.arange(len(cur))
            return lax.cummin(cur - j) + j, None
        return lax.scan(row, jnp.arange(len(b) + 1), (a, jnp.arange(1, len(a) + 1)))[0][-1]
    add('edit_distance_1000', lev, i32(4, 1000), i32(4, 900))
    def warp(img, t):
        h, w, _ = img.shape
        yy, xx = jnp.meshgrid(jnp.arange(h), jnp.arange(w), indexing='ij')
        sx = jnp.cos(t) * xx - jnp.sin(t) * yy + 30; sy = jnp.sin(t) * xx + jnp.cos(t) * yy - 20
        return jnp.stack([jax.scipy.ndimage.map_coordinates(img[..., c].astype(jnp.float32), [sy, sx], 1, mode='constant') for c in range(3)], -1)
    add('warped_picture', warp, u8(240, 320, 3), np.float32(.2))
    def med3(x):
        p = jnp.pad(x, 1, mode='edge')
        return jnp.sort(jnp.stack([p[i:i + x.shape[0], j:j + x.shape[1]] for i in range(3) for j in range(3)]), 0)[4]
    add('median_3x3_bytes', med3, u8(301, 403))
    def sink(C):
        def b(_, uv):
            u = -jax.nn.logsumexp(-C * 10 + uv[1], 1)
            return u, -jax.nn.logsumexp(-C * 10 + u[:, None], 0)
        return lax.fori_loop(0, 10, b, (jnp.zeros(C.shape[0]), jnp.zeros(C.shape[1])))[0]
    add('sinkhorn_log_400', sink, uni(401, 397))
    add('ell_matrix_100k', lambda c, v, x: jnp.sum(v * x[c], 1), i32(100003, 100003, 8), f32(100003, 8), f32(100003))
    add('normals_500k', lambda k: jax.random.normal(k, (500009,)), key)
    add('gammas_20k', lambda k, a: jax.random.gamma(k, a), key, uni(20011) + .5)
    add('permutation_100k', lambda k: jax.random.permutation(k, 100003), key)
    add('categorical_500x2000', lambda k, l: jax.random.categorical(k, l), key, f32(500, 2003))
    add('bernoulli_uint8_masks', lambda k, x: x * jax.random.bernoulli(k, .3, x.shape), key, u8(1000, 777))
    add('int8_product', lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32), R.randint(-127, 128, (255, 513)).astype(np.int8), R.randint(-127, 128, (513, 510)).astype(np.int8))
    add('bf16_product', lambda a, b: a @ b, bf(257, 511), bf(511, 513))
    add('f16_product', lambda a, b: a @ b, f32(257, 511).astype(np.float16), f32(511, 513).astype(np.float16))
    add('medians_of_columns', lambda x: jnp.median(x, 0), f32(3001, 50))
    add('quantiles_of_1m', lambda x: jnp.quantile(x, jnp.array([.1, .5, .99])), f32(300007))
    add('transposes_4d', lambda x: jnp.transpose(x, (0, 2, 3, 1)) + 1, f32(8, 60, 57, 61))
    add('grid_scatter_max', lambda i, v: jnp.zeros((500, 500)).at[i[:, 0], i[:, 1]].max(v), i32(500, 100003, 2), f32(100003))
    add('rolling_windows', lambda x: (lambda w: jnp.stack([w.mean(1), w.std(1), w.max(1)]))(x[jnp.arange(len(x) - 50)[:, None] + jnp.arange(50)]), f32(10007))
    add('f64_free_covariance', lambda x: jnp.cov(x.T), f32(5003, 120))
    add('correlation_of_rows', lambda x: jnp.corrcoef(x), f32(300, 1001))
    add('dropout_layer_gradient', jax.grad(lambda w, x, k: jnp.mean(jnp.where(jax.random.bernoulli(k, .8, (500, 512)), jax.nn.relu(x @ w), 0) ** 2)), f32(256, 512) * .1, f32(500, 256), key)
    add('rotated_positions', lambda x: (lambda a: jnp.stack([x[..., ::2] * jnp.cos(a) - x[..., 1::2] * jnp.sin(a), x[..., ::2] * jnp.sin(a) + x[..., 1::2] * jnp.cos(a)], -1).reshape(x.shape))(jnp.arange(x.shape[1])[:, None, None] / 10000 ** (jnp.arange(32) / 32)), f32(2, 400, 8, 64))
    # Long rows that data send to places, and sums over rows that lie far apart.
    add('token_table_gradient', jax.grad(lambda t, i, y: ((t[i] - y) ** 2).mean()), f32(4000, 384), i32(4000, 2000), f32(2000, 384))
    add('means_of_sorted_groups', lambda x, i: jax.ops.segment_sum(x, i, 500) / jnp.maximum(jnp.bincount(i, length=500), 1)[:, None], f32(6000, 288), np.sort(i32(500, 6000)))
    add('best_of_groups', lambda x, i: jax.ops.segment_max(x, i, 900), f32(9000, 144), i32(900, 9000))
    add('means_and_deviations_of_frames', lambda x: jnp.concatenate([x.mean(1), x.std(1)], -1), f32(24, 40, 1024))
    add('masked_means_of_tokens', lambda x, m: (x * m[..., None]).sum(1) / jnp.maximum(m.sum(1), 1)[:, None], f32(32, 48, 768), (uni(32, 48) > .3).astype(np.float32))
    add('tokens_pooled_by_attention', lambda x, w: (jax.nn.softmax(x @ w, 1)[..., None] * x).sum(1), f32(32, 64, 512), f32(512))
    return P
