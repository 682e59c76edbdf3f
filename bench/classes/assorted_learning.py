"""Attention, experts, convolutions, normalisation, losses, augmentation, sampling, sorting and low precision, as somebody wrote them who had not seen the others."""
import functools
import numpy as np, ml_dtypes


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = {}
    n = [0]
    def seeded(f):
        n[0] += 1; s = 3000 + n[0]
        return lambda: f(np.random.RandomState(s))
    def F(*s, scale=1.0, dt=np.float32): return seeded(lambda r: (r.randn(*s) * scale).astype(dt))
    def U(*s, lo=0., hi=1.): return seeded(lambda r: r.uniform(lo, hi, s).astype(np.float32))
    def I(hi, *s, lo=0, dt=np.int32): return seeded(lambda r: r.randint(lo, hi, s).astype(dt))
    bf = lambda *s, scale=1.: F(*s, scale=scale, dt=ml_dtypes.bfloat16)
    h = lambda *s, scale=1.: F(*s, scale=scale, dt=np.float16)
    C = lambda *s: seeded(lambda r: (r.randn(*s) + 1j * r.randn(*s)).astype(np.complex64))
    KEY = lambda: np.array([0, 11], np.uint32)
    K = jax.random.wrap_key_data
    def add(name, fn, *make): P[name] = (fn, list(make))
    gr = lambda f, *k: jax.grad(lambda *a: f(*a).astype(jnp.float32).sum(), k if k else 0)

    # --- attention
    def swin(x, wqkv, wo, bias, shift=3, w=7):
        B, H, W, c = x.shape; x0 = x; x = jnp.roll(x, (-shift, -shift), (1, 2)); x = x.reshape(B, H // w, w, W // w, w, c).transpose(0, 1, 3, 2, 4, 5).reshape(-1, w * w, c)
        q, k, v = jnp.split((x @ wqkv).reshape(-1, w * w, 3 * 4, c // 4), 3, 2); s = jnp.einsum('bqhd,bkhd->bhqk', q, k) / np.sqrt(c // 4) + bias
        o = jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(s), v).reshape(-1, w * w, c) @ wo; o = o.reshape(B, H // w, W // w, w, w, c).transpose(0, 1, 3, 2, 4, 5).reshape(B, H, W, c); return x0 + jnp.roll(o, (shift, shift), (1, 2))
    sw = (F(2, 28, 28, 96), F(96, 288, scale=.1), F(96, 96, scale=.1), F(4, 49, 49))
    add('swin_shifted_windows', swin, *sw); add('swin_shifted_windows_gradient', gr(swin, 0, 1, 2, 3), *sw)
    def performer(q, k, v, w):
        f = lambda x: jnp.exp(x @ w - (x ** 2).sum(-1, keepdims=True) / 2) / np.sqrt(w.shape[1]); q, k = f(q * .3), f(k * .3); kv = jnp.einsum('bhnm,bhnd->bhmd', k, v); return jnp.einsum('bhnm,bhmd->bhnd', q, kv) / jnp.einsum('bhnm,bhm->bhn', q, k.sum(2))[..., None]
    add('performer_features', performer, F(2, 4, 509, 32), F(2, 4, 509, 32), F(2, 4, 509, 32), F(32, 61))
    def talking(q, k, v, w1, w2): return jnp.einsum('bhqk,bkhd->bqhd', jnp.einsum('bhqk,hg->bgqk', jax.nn.softmax(jnp.einsum('bhqk,hg->bgqk', jnp.einsum('bqhd,bkhd->bhqk', q, k), w1) / 6), w2), v)
    tk = (F(2, 127, 6, 32), F(2, 127, 6, 32), F(2, 127, 6, 32), F(6, 6), F(6, 6))
    add('talking_heads', talking, *tk); add('talking_heads_gradient', gr(talking, 0, 1, 2, 3, 4), *tk)
    def t5(q, k, v, tab):
        n = q.shape[2]; rel = jnp.arange(n)[None] - jnp.arange(n)[:, None]; b = jnp.where(jnp.abs(rel) < 8, jnp.abs(rel), 8 + jnp.minimum((jnp.log(jnp.maximum(jnp.abs(rel), 1) / 8) / np.log(16) * 8).astype(int), 7)) + 16 * (rel > 0)
        return jax.nn.softmax(q @ k.swapaxes(2, 3) / 6 + tab[b].transpose(2, 0, 1)) @ v
    t5a = (F(2, 4, 131, 36), F(2, 4, 131, 36), F(2, 4, 131, 36), F(32, 4)); add('t5_relative_bias_gradient', gr(t5, 0, 1, 2, 3), *t5a)
    def gqa(q, k, v): return jax.nn.dot_product_attention(q, k, v, is_causal=True)
    add('grouped_query_causal', gqa, F(1, 257, 12, 48), F(1, 257, 3, 48), F(1, 257, 3, 48)); add('grouped_query_causal_bf16_gradient', gr(gqa, 0, 1, 2), bf(1, 193, 8, 64), bf(1, 193, 2, 64), bf(1, 193, 2, 64))
    def softcap(q, k, v, l):
        s = jnp.tanh(jnp.einsum('bqhd,bkhd->bhqk', q, k) / 8 / 50) * 50; i = jnp.arange(q.shape[1]); m = (i[:, None] >= i[None]) & (i[:, None] - i[None] < 64) & (i[None] < l[:, None, None, None]); return jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(jnp.where(m, s, -1e9)), v)
    add('softcapped_sliding_window', softcap, F(3, 211, 4, 64), F(3, 211, 4, 64), F(3, 211, 4, 64), I(211, 3, lo=64))
    def lsh(x, R_, w):
        B, n, d = x.shape; hsh = jnp.argmax(jnp.concatenate([x @ R_, -(x @ R_)], -1), -1); o = jnp.argsort(hsh * n + jnp.arange(n), axis=1); xs = jnp.take_along_axis(x, o[..., None], 1).reshape(B, n // 32, 32, d); kv = jnp.concatenate([jnp.roll(xs, 1, 1), xs], 2)
        y = jax.nn.softmax(jnp.einsum('bcqd,bckd->bcqk', xs, kv) / 8) @ (kv @ w); return jnp.take_along_axis(y.reshape(B, n, d), jnp.argsort(o, 1)[..., None], 1)
    add('reformer_buckets', lsh, F(2, 512, 64), F(64, 8), F(64, 64, scale=.1))
    def nystrom(q, k, v):
        m = 16; ql = q.reshape(*q.shape[:2], m, -1, q.shape[-1]).mean(3); kl = k.reshape(*k.shape[:2], m, -1, k.shape[-1]).mean(3); A = jax.nn.softmax(ql @ kl.swapaxes(2, 3)); Z = A.swapaxes(2, 3) / A.sum(-2).max() / A.sum(-1).max(); E = jnp.eye(m)
        for _ in range(6): AZ = A @ Z; Z = .25 * Z @ (13 * E - AZ @ (15 * E - AZ @ (7 * E - AZ)))
        return jax.nn.softmax(q @ kl.swapaxes(2, 3)) @ Z @ (jax.nn.softmax(ql @ k.swapaxes(2, 3)) @ v)
    add('nystrom_attention', nystrom, F(2, 4, 512, 32), F(2, 4, 512, 32), F(2, 4, 512, 32))
    def diffattn(x, wq, wk, wv, lam):
        q = (x @ wq).reshape(2, -1, 4, 2, 16); k = (x @ wk).reshape(2, -1, 4, 2, 16); v = (x @ wv).reshape(2, -1, 4, 32); a = jax.nn.softmax(jnp.einsum('bqhsd,bkhsd->bhsqk', q, k) / 4); a = a[:, :, 0] - lam * a[:, :, 1]; o = jnp.einsum('bhqk,bkhd->bqhd', a, v); return o * lax.rsqrt((o ** 2).mean(-1, keepdims=True) + 1e-5)
    add('differential_attention_gradient', gr(diffattn, 1, 2, 3, 4), F(2, 149, 128), F(128, 128, scale=.1), F(128, 128, scale=.1), F(128, 128, scale=.1), lambda: np.float32(.5))
    def axial(x, w): 
        def a(x): q, k, v = jnp.split(x @ w, 3, -1); return jax.nn.softmax(q @ k.swapaxes(-1, -2) / 5) @ v
        return a(x) + a(x.swapaxes(1, 2)).swapaxes(1, 2)
    add('axial_attention', axial, F(3, 29, 37, 24), F(24, 72, scale=.2))
    # --- experts
    def gshard(x, wg, w1, w2):
        T, E, Cp = x.shape[0], wg.shape[1], 48; g = jax.nn.softmax(x @ wg); v, i = lax.top_k(g, 2); oh = jax.nn.one_hot(i, E); pos = (jnp.cumsum(oh.reshape(T * 2, E), 0).reshape(T, 2, E) - 1) * oh; keep = (pos < Cp) * oh; d = jnp.einsum('tke,tkec->tec', keep, jax.nn.one_hot(pos.astype(int), Cp)); cmb = jnp.einsum('tk,tke,tkec->tec', v, keep, jax.nn.one_hot(pos.astype(int), Cp))
        xe = jnp.einsum('tec,td->ecd', d, x); ye = jnp.einsum('ecf,efd->ecd', jax.nn.gelu(jnp.einsum('ecd,edf->ecf', xe, w1)), w2); return jnp.einsum('tec,ecd->td', cmb, ye)
    ga = (F(131, 64), F(64, 8), F(8, 64, 128, scale=.1), F(8, 128, 64, scale=.1)); add('gshard_top2', gshard, *ga); add('gshard_top2_gradient', gr(gshard, 0, 1, 2, 3), *ga)
    def softmoe(x, phi, w1, w2): l = x @ phi; d, c = jax.nn.softmax(l, 0), jax.nn.softmax(l, 1); s = (d.T @ x).reshape(w1.shape[0], -1, x.shape[1]); return c @ (jax.nn.relu(s @ w1) @ w2).reshape(-1, x.shape[1])
    add('soft_experts_gradient', gr(softmoe, 0, 1, 2, 3), F(307, 64), F(64, 64, scale=.1), F(16, 64, 96, scale=.1), F(16, 96, 64, scale=.1))
    add('experts_gathered_per_token', lambda x, i, w: jnp.einsum('td,tdf->tf', x, w[i]), F(37, 96), I(13, 37), F(13, 96, 112))
    # --- convolutions
    cv = lambda x, w, s=(1, 1), p='SAME', **k: lax.conv_general_dilated(x, w, s, p, dimension_numbers=('NHWC', 'HWIO', 'NHWC'), **k)
    add('resnext_32_groups', lambda x, w: cv(x, w, feature_group_count=32), F(2, 28, 28, 128), F(3, 3, 4, 128))
    add('resnext_32_groups_gradient', gr(lambda x, w: jnp.tanh(cv(x, w, feature_group_count=32)), 0, 1), F(2, 28, 28, 128), F(3, 3, 4, 128, scale=.1))
    c3 = lambda x, w, **k: lax.conv_general_dilated(x, w, k.get('s', (1, 1, 1)), 'SAME', dimension_numbers=('NDHWC', 'DHWIO', 'NDHWC'), rhs_dilation=k.get('d'))
    add('conv3d_5x5x5', c3, F(1, 17, 23, 19, 8), F(5, 5, 5, 8, 16)); add('conv3d_stride_2_gradient', gr(lambda x, w: c3(x, w, s=(2, 2, 2)) ** 2, 0, 1), F(2, 16, 20, 24, 6), F(3, 3, 3, 6, 12))
    add('conv3d_one_channel', c3, F(1, 40, 41, 43, 1), F(3, 3, 3, 1, 1))
    add('conv3d_transposed', lambda x, w: lax.conv_transpose(x, w, (2, 2, 2), 'SAME', dimension_numbers=('NDHWC', 'DHWIO', 'NDHWC')), F(1, 9, 11, 10, 16), F(4, 4, 4, 16, 8))
    add('atrous_pyramid', lambda x, w: jnp.concatenate([cv(x, w[k], rhs_dilation=(d, d)) for k, d in enumerate((1, 6, 12, 18))], -1), F(1, 33, 33, 48), F(4, 3, 3, 48, 24))
    def mambaconv(x, w): return jax.nn.silu(lax.conv_general_dilated(x, w, (1,), [(3, 0)], dimension_numbers=('NLC', 'LIO', 'NLC'), feature_group_count=x.shape[-1]))
    add('causal_depthwise_1d', mambaconv, F(3, 401, 192), F(4, 1, 192)); add('causal_depthwise_1d_gradient', gr(mambaconv, 0, 1), F(3, 401, 192), F(4, 1, 192))
    add('involution', lambda x, wr: jnp.einsum('bhwcgk,bhwgk->bhwcg', lax.conv_general_dilated_patches(x, (3, 3), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')).reshape(*x.shape[:3], 8, 4, 9), (x @ wr).reshape(*x.shape[:3], 4, 9)), F(2, 31, 29, 32), F(32, 36, scale=.2))
    add('kernels_of_each_sample', lambda x, w: jax.vmap(lambda x, w: cv(x[None], w)[0])(x, w), F(7, 24, 24, 16), F(7, 3, 3, 16, 16))
    add('inception_1x7_7x1', lambda x, a, b: jax.nn.relu(cv(jax.nn.relu(cv(x, a)), b)), F(1, 17, 17, 96), F(1, 7, 96, 64), F(7, 1, 64, 96))
    add('locally_connected', lambda x, w: lax.conv_general_dilated_local(x, w, (1, 1), 'VALID', (3, 3), dimension_numbers=('NHWC', 'HWIO', 'NHWC')), F(4, 18, 18, 5), F(16, 16, 45, 7))
    def gatedconv(x, wf, wg): return cv(x, wf) * jax.nn.sigmoid(cv(x, wg))
    add('gated_conv_gradient', gr(gatedconv, 0, 1, 2), F(2, 37, 41, 12), F(3, 3, 12, 20), F(3, 3, 12, 20))
    add('complex_conv_layer', lambda x, w: lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), C(2, 23, 23, 6), C(3, 3, 6, 8))
    def winograd(x, w):
        B = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], np.float32); G = np.array([[1, 0, 0], [.5, .5, .5], [.5, -.5, .5], [0, 0, 1]], np.float32); A = np.array([[1, 1, 1, 0], [0, 1, -1, -1]], np.float32)
        n, H, W, c = x.shape; t = jnp.stack([jnp.stack([x[:, i:H - 3 + i:2, j:W - 3 + j:2] for j in range(4)], 3) for i in range(4)], 3); V = jnp.einsum('ai,nhwijc,bj->abnhwc', B, t, B); Uw = jnp.einsum('ai,ijco,bj->abco', G, w, G); M = jnp.einsum('abnhwc,abco->abnhwo', V, Uw)
        return jnp.einsum('ia,abnhwo,jb->nhiwjo', A, M, A).reshape(n, H - 2, W - 2, -1)
    add('winograd_by_hand', winograd, F(2, 26, 26, 24), F(3, 3, 24, 32))
    add('conv_nchw_f16', lambda x, w: lax.conv_general_dilated(x, w, (2, 2), 'SAME'), h(2, 12, 45, 47), h(24, 12, 5, 5))
    # --- normalisations
    def bn(x, g, b): m = x.mean((0, 2, 3), keepdims=True); v = x.var((0, 2, 3), keepdims=True); return jax.nn.relu((x - m) / jnp.sqrt(v + 1e-5) * g[:, None, None] + b[:, None, None])
    add('batch_norm_nchw_gradient', gr(lambda *a: bn(*a) ** 2, 0, 1, 2), F(11, 24, 17, 19), F(24), F(24))
    def inorm(x): return (x - x.mean((1, 2), keepdims=True)) * lax.rsqrt(x.var((1, 2), keepdims=True) + 1e-5)
    add('instance_norm_gradient', gr(lambda x: jnp.sin(inorm(x))), F(5, 31, 33, 13))
    def rms(x, g): y = x.astype(jnp.float32); return (y * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype) * g
    add('rms_norm_f16_gradient', gr(lambda x, g: rms(x, g) ** 2, 0, 1), h(131, 509), h(509))
    def lrn(x): return x / (2 + 1e-2 * lax.reduce_window(x * x, 0., lax.add, (1, 1, 1, 5), (1, 1, 1, 1), 'SAME')) ** .75
    add('local_response_norm_gradient', gr(lrn), F(2, 27, 27, 48))
    def grn(x, g, b): n = jnp.sqrt((x * x).sum((1, 2), keepdims=True)); return g * x * n / (n.mean(-1, keepdims=True) + 1e-6) + b + x
    add('global_response_norm_gradient', gr(grn, 0, 1, 2), F(4, 19, 21, 40), F(40), F(40))
    def spectral(w, u):
        for _ in range(3): v = w.T @ u; v = v / jnp.linalg.norm(v); u = w @ v; u = u / jnp.linalg.norm(u)
        return w / (lax.stop_gradient(u) @ w @ lax.stop_gradient(v)), u
    add('spectral_norm_gradient', jax.grad(lambda w, u, x: jnp.tanh(x @ spectral(w, u)[0]).sum()), F(307, 211), F(307), F(16, 307))
    # --- losses
    def focal(l, y): p = jax.nn.log_sigmoid(l); q = jax.nn.log_sigmoid(-l); s = jax.nn.sigmoid(l); return -(y * .25 * (1 - s) ** 2 * p + (1 - y) * .75 * s ** 2 * q).sum() / y.sum()
    add('focal_loss_gradient', jax.value_and_grad(focal), F(13, 1009, 7), seeded(lambda r: (r.rand(13, 1009, 7) < .05).astype(np.float32)))
    def dice(l, y): p = jax.nn.softmax(l); o = jax.nn.one_hot(y, l.shape[-1]); a = (1, 2, 3); return 1 - (2 * (p * o).sum(a) / (p.sum(a) + o.sum(a) + 1e-5)).mean()
    add('dice_of_volumes_gradient', jax.value_and_grad(dice), F(2, 23, 25, 27, 4), I(4, 2, 23, 25, 27))
    def triplet(e, y): d = jnp.maximum(((e[:, None] - e[None]) ** 2).sum(-1), 1e-12) ** .5; s = y[:, None] == y[None]; ap = jnp.where(s, d, -1).max(1); sn = jnp.where(~s & (d > ap[:, None]), d, 1e9).min(1); return jnp.maximum(ap - sn + .2, 0).mean()
    add('triplet_semihard_gradient', jax.value_and_grad(triplet), F(127, 48), I(10, 127))
    def ntx(a, b): z = jnp.concatenate([a, b]); z = z / jnp.linalg.norm(z, axis=1, keepdims=True); s = z @ z.T / .1 - 1e9 * jnp.eye(len(z)); n = len(a); return -(jax.nn.log_softmax(s)[jnp.arange(2 * n), jnp.roll(jnp.arange(2 * n), n)]).mean()
    add('simclr_gradient', jax.grad(ntx, (0, 1)), F(149, 96), F(149, 96))
    def arcface(x, w, y): c = (x / jnp.linalg.norm(x, axis=1, keepdims=True)) @ (w / jnp.linalg.norm(w, axis=0)); o = jax.nn.one_hot(y, w.shape[1], dtype=bool); t = jnp.arccos(jnp.clip(c, -.999, .999)); l = 30 * jnp.where(o, jnp.cos(t + .5), c); return -jnp.take_along_axis(jax.nn.log_softmax(l), y[:, None], 1).mean()
    add('arcface_gradient', jax.grad(arcface, (0, 1)), F(61, 64), F(64, 1009), I(1009, 61))
    def lovasz(l, y):
        p = jax.nn.softmax(l); L = 0.
        for c in range(l.shape[-1]): fg = (y == c).astype(jnp.float32); e = jnp.abs(fg - p[:, c]); o = jnp.argsort(-e); fs = fg[o]; inter = fs.sum() - jnp.cumsum(fs); un = fs.sum() + jnp.cumsum(1 - fs); j = 1 - inter / un; L += (e[o] * jnp.diff(j, prepend=0.)).sum()
        return L
    add('lovasz_softmax_gradient', jax.grad(lovasz), F(3001, 5), I(5, 3001))
    def vicreg(a, b): cen = lambda z: z - z.mean(0); co = lambda z: (cen(z).T @ cen(z)) / len(z); off = lambda m: (m ** 2).sum() - (jnp.diag(m) ** 2).sum(); return 25 * ((a - b) ** 2).mean() + 25 * sum(jax.nn.relu(1 - jnp.sqrt(z.var(0) + 1e-4)).mean() for z in (a, b)) + (off(co(a)) + off(co(b))) / a.shape[1]
    add('vicreg_gradient', jax.grad(vicreg, (0, 1)), F(127, 256), F(127, 256))
    def lambdarank(s, y): d = s[:, :, None] - s[:, None]; r = jnp.argsort(jnp.argsort(-s, 1), 1); dis = 1 / jnp.log2(r + 2.); g = 2. ** y - 1; w = jnp.abs((g[:, :, None] - g[:, None]) * (dis[:, :, None] - dis[:, None])); return (jnp.where(y[:, :, None] > y[:, None], lax.stop_gradient(w) * jax.nn.softplus(-d), 0)).sum()
    add('lambdarank_gradient', jax.grad(lambdarank), F(31, 53), I(5, 31, 53))
    def w2v(Uw, V, c, o, ng): a = V[c]; return -(jax.nn.log_sigmoid((a * Uw[o]).sum(-1)).sum() + jax.nn.log_sigmoid(-jnp.einsum('bd,bkd->bk', a, Uw[ng])).sum())
    add('word_vectors_step', lambda Uw, V, c, o, ng: jax.tree.map(lambda p, g: p - .05 * g, (Uw, V), jax.grad(w2v, (0, 1))(Uw, V, c, o, ng)), F(3001, 50), F(3001, 50), I(3001, 256), I(3001, 256), I(3001, 256, 5))
    def giou(a, b): lt = jnp.maximum(a[:, :2], b[:, :2]); rb = jnp.minimum(a[:, 2:], b[:, 2:]); ar = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]); w = jnp.maximum(rb - lt, 0); i = w[:, 0] * w[:, 1]; u = ar(a) + ar(b) - i; cw = jnp.maximum(a[:, 2:], b[:, 2:]) - jnp.minimum(a[:, :2], b[:, :2]); c = cw[:, 0] * cw[:, 1]; return (1 - i / u + (c - u) / c).sum()
    bx = lambda: seeded(lambda r: (lambda c: np.concatenate([c, c + r.uniform(.1, 1, (4001, 2))], 1).astype(np.float32))(r.rand(4001, 2)))
    add('giou_gradient', jax.grad(giou), bx(), bx())
    def crps(x, y): xs = jnp.sort(x, 0); m = x.shape[0]; return (jnp.abs(x - y).mean(0) - (xs * (2 * jnp.arange(1, m + 1)[:, None] - m - 1)).sum(0) / m ** 2).mean()
    add('crps_of_ensembles_gradient', jax.grad(crps), F(31, 2003), F(2003))
    # --- augmentation
    def cropflip(k, x):
        k1, k2, k3 = jax.random.split(K(k), 3); B = x.shape[0]; p = jnp.pad(x, ((0, 0), (4, 4), (4, 4), (0, 0))); o = jax.random.randint(k1, (B, 2), 0, 9); x = jax.vmap(lambda p, o: lax.dynamic_slice(p, (o[0], o[1], 0), (32, 32, 3)))(p, o); return jnp.where(jax.random.bernoulli(k2, .5, (B, 1, 1, 1)), x[:, :, ::-1], x)
    add('cropped_and_flipped', cropflip, KEY, U(61, 32, 32, 3)); add('cropped_and_flipped_bytes', cropflip, KEY, I(256, 61, 32, 32, 3, dt=np.uint8))
    def cutmix(k, x, y): k1, k2, k3, k4 = jax.random.split(K(k), 4); lam = jax.random.beta(k1, 1., 1.); pm = jax.random.permutation(k2, x.shape[0]); c = jax.random.uniform(k3, (2,)) * 48; r = 24 * jnp.sqrt(1 - lam); i = jnp.arange(48); m = ((jnp.abs(i - c[0]) < r)[:, None] & (jnp.abs(i - c[1]) < r))[None, :, :, None]; l = 1 - m.mean(); return jnp.where(m, x[pm], x), l * y + (1 - l) * y[pm]
    add('cutmix', cutmix, KEY, U(29, 48, 48, 3), U(29, 10))
    def specaug(k, x): 
        def one(k, x): a, b, c, d = jax.random.split(k, 4); t0 = jax.random.randint(a, (2, 1), 0, 180); tl = jax.random.randint(b, (2, 1), 0, 20); f0 = jax.random.randint(c, (2, 1), 0, 60); fl = jax.random.randint(d, (2, 1), 0, 15); t = jnp.arange(201); f = jnp.arange(80); return jnp.where((((t >= t0) & (t < t0 + tl)).any(0))[:, None] | (((f >= f0) & (f < f0 + fl)).any(0)), x.mean(), x)
        return jax.vmap(one)(jax.random.split(K(k), x.shape[0]), x)
    add('specaugment', specaug, KEY, F(17, 201, 80))
    add('time_shifted_each', lambda x, s: jax.vmap(jnp.roll)(x, s), F(41, 2003), I(2003, 41))
    def blur_each(x, sg): r = jnp.arange(-4, 5); k = jnp.exp(-r ** 2 / (2 * sg[:, None] ** 2)); k = k / k.sum(1, keepdims=True); f = lambda x, k: lax.conv_general_dilated(x[..., None], k[:, None, None, None], (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))[..., 0]; return jax.vmap(lambda x, k: f(f(x.transpose(2, 0, 1), k).swapaxes(1, 2), k).swapaxes(1, 2))(x, k)
    add('blurred_each', blur_each, U(8, 40, 44, 3), U(8, lo=.5, hi=2))
    def jitter(x, f): x = x * f[:, 0, None, None, None]; m = x.mean((1, 2, 3), keepdims=True); x = (x - m) * f[:, 1, None, None, None] + m; g = (x * jnp.array([.299, .587, .114])).sum(-1, keepdims=True); return jnp.clip((x - g) * f[:, 2, None, None, None] + g, 0, 1)
    add('colours_jittered', jitter, U(19, 47, 53, 3), U(19, 3, lo=.6, hi=1.4))
    add('equalised_each_channel', lambda x: jax.vmap(lambda c: (lambda hs: (jnp.cumsum(hs) * 255 // c.size).astype(jnp.uint8)[c])(jnp.zeros(256, jnp.int32).at[c.reshape(-1)].add(1)), 0)(x), I(256, 15, 61, 67, dt=np.uint8))
    # --- sampling
    add('choices_without_replacement', lambda k, p: jax.vmap(lambda k: jax.random.choice(k, p.shape[0], (20,), replace=False, p=p))(jax.random.split(K(k), 64)), KEY, U(401))
    def alias(k, prob, al): a, b = jax.random.split(K(k)); i = jax.random.randint(a, (50021,), 0, prob.shape[0]); return jnp.where(jax.random.uniform(b, (50021,)) < prob[i], i, al[i])
    add('alias_draws', alias, KEY, U(509), I(509, 509))
    add('poisson_draws', lambda k, l: jax.random.poisson(K(k), l), KEY, U(503, lo=.1, hi=8)); add('gamma_gradient', lambda k, a: jax.grad(lambda a: jax.random.gamma(K(k), a).sum())(a), KEY, U(509, lo=.5, hi=5)); add('dirichlet_draws', lambda k, a: jax.random.dirichlet(K(k), a, (101,)), KEY, U(7, lo=.5, hi=3))
    add('permuted_rows', lambda k, x: jax.random.permutation(K(k), x, axis=1, independent=True), KEY, F(53, 211)); add('truncated_normals', lambda k: jax.random.truncated_normal(K(k), -1., 2., (40009,)), KEY)
    add('orthogonal_draws', lambda k: jax.random.orthogonal(K(k), 48, (3,)), KEY)
    # --- sorting and cumulative
    add('medians_absolute_deviation', lambda x: jnp.median(jnp.abs(x - jnp.median(x, 1, keepdims=True)), 1), F(53, 401)); add('gini', lambda x: (lambda s: (2 * (jnp.arange(1, s.shape[1] + 1) * s).sum(1) / (s.shape[1] * s.sum(1)) - (s.shape[1] + 1) / s.shape[1]))(jnp.sort(x, 1)), U(101, 503))
    def ties(x): o = jnp.argsort(x); s = x[o]; b = jnp.searchsorted(s, s, side='left'); e = jnp.searchsorted(s, s, side='right'); return jnp.zeros_like(x).at[o].set((b + e + 1) / 2.)
    add('ranks_with_ties', ties, seeded(lambda r: np.round(r.randn(10007), 2).astype(np.float32)))
    add('theil_sen', lambda x, y: jnp.nanmedian(jnp.where(x[:, None] != x[None], (y[:, None] - y[None]) / (x[:, None] - x[None]), jnp.nan)), F(151), F(151))
    add('top_of_segments', lambda v, s: (lambda o: (v[o], s[o], jnp.arange(len(v)) - jnp.searchsorted(s[o], s[o])))(jnp.lexsort((-v, s))), F(20011), I(97, 20011))
    add('filled_forward', lambda x: (lambda i: jnp.take_along_axis(x, lax.cummax(i, 0), 0))(jnp.where(jnp.isnan(x), 0, jnp.arange(x.shape[0])[:, None])), seeded(lambda r: np.where(r.rand(2003, 17) < .3, np.nan, r.randn(2003, 17)).astype(np.float32)))
    def segcum(x, r): f = lambda a, b: (jnp.where(b[1], b[0], a[0] + b[0]), a[1] | b[1]); return lax.associative_scan(f, (x, r))[0]
    add('segmented_cumsum', segcum, F(30011), seeded(lambda r: r.rand(30011) < .01)); add('running_maximum_2d', lambda x: lax.cummax(lax.cummax(x, 0), 1), F(211, 307)); add('cumulative_logsumexp_cols', lambda x: lax.cumlogsumexp(x, 0), F(307, 211)); add('cumprod_gradient', gr(lambda x: jnp.cumprod(x, 1) ** 2), U(61, 47, lo=.5, hi=1.5))
    # --- scatter
    def segsoft(s, i): m = jax.ops.segment_max(s, i, 503); e = jnp.exp(s - m[i]); return e / jax.ops.segment_sum(e, i, 503)[i]
    add('segment_softmax_heads_gradient', gr(lambda s, i: segsoft(s, i) ** 2), F(5003, 4), I(503, 5003)); add('segment_products', lambda x, i: jax.ops.segment_prod(x, i, 101), U(20011, lo=.9, hi=1.1), I(101, 20011)); add('scatter_patches', lambda c, x, o: lax.fori_loop(0, x.shape[0], lambda i, c: lax.dynamic_update_slice(c, lax.dynamic_slice(c, (o[i, 0], o[i, 1]), (9, 9)) + x[i], (o[i, 0], o[i, 1])), c), F(101, 103), F(307, 9, 9), I(90, 307, 2)); add('scatter_windows_add', lambda c, x, o: lax.scatter_add(c, o, x, lax.ScatterDimensionNumbers((1, 2), (), (0, 1))), F(101, 103), F(307, 9, 9), I(90, 307, 2)); add('histogram_of_pairs', lambda x, y: jnp.histogram2d(x, y, bins=(23, 31), range=((-3, 3), (-3, 3)))[0], F(30011), F(30011)); add('rows_set_vmapped', lambda t, i, v: jax.vmap(lambda t, i, v: t.at[i].set(v))(t, i, v), F(13, 503, 24), I(503, 13, 97), F(13, 97, 24)); add('scatter_max_grid', lambda g, ij, v: g.at[ij[:, 0], ij[:, 1]].max(v), F(64, 64), I(64, 20011, 2), F(20011))
    # --- linear algebra
    sp = lambda b, n_: seeded(lambda r: (lambda a: a @ a.swapaxes(-1, -2) + n_ * np.eye(n_))(r.randn(b, n_, n_)).astype(np.float32))
    add('slogdet_batch_gradient', jax.grad(lambda a: jnp.linalg.slogdet(a)[1].sum()), sp(37, 13)); add('svd_tall', lambda a: jnp.linalg.svd(a, full_matrices=False), F(211, 24)); add('svd_batch_3x3', lambda a: jnp.linalg.svd(a), F(503, 3, 3)); add('lstsq', lambda a, b: jnp.linalg.lstsq(a, b)[0], F(203, 17), F(203, 3)); add('pinv_gradient', gr(lambda a: jnp.linalg.pinv(a)), F(31, 13)); add('qr_batch_gradient', gr(lambda a: jnp.linalg.qr(a)[1] ** 2), F(29, 12, 8)); add('cholesky_batch_gradient', gr(lambda a: jnp.linalg.cholesky(a) ** 2), sp(53, 9)); add('eigh_batch_3x3_gradient', gr(lambda a: jnp.linalg.eigh((a + a.swapaxes(1, 2)) / 2)[0] ** 2), F(503, 3, 3)); add('inverse_4x4_batch', jnp.linalg.inv, sp(1009, 4)); add('determinant_5x5_batch', jnp.linalg.det, F(1009, 5, 5)); add('triangular_many_rhs', lambda a, b: lax.linalg.triangular_solve(a, b, left_side=False, lower=True, transpose_a=True), sp(1, 96), F(1, 307, 96)); add('eigvals_general', jnp.linalg.eigvals, F(37, 37)); add('matrix_power_13', lambda a: jnp.linalg.matrix_power(a, 13), F(11, 31, 31, scale=.2)); add('polar_newton', lambda a: lax.fori_loop(0, 8, lambda i, x: .5 * (x + jnp.linalg.inv(x).swapaxes(1, 2)), a), sp(31, 6)); add('cholesky_updated', lambda L, v: lax.linalg.cholesky_update(L, v), seeded(lambda r: np.linalg.cholesky((lambda a: a @ a.T + 61 * np.eye(61))(r.randn(61, 61))).T.astype(np.float32)), F(61)); add('tridiagonal_solves', lambda d, du, dl, b: lax.linalg.tridiagonal_solve(dl, d, du, b), U(1, 1009, lo=3, hi=4), seeded(lambda r: np.concatenate([r.rand(1, 1008), np.zeros((1, 1))], 1).astype(np.float32)), seeded(lambda r: np.concatenate([np.zeros((1, 1)), r.rand(1, 1008)], 1).astype(np.float32)), F(1, 1009, 3)); add('schur_free_expm', lambda a: jax.scipy.linalg.expm(a), F(23, 23, scale=.3)); add('int_matmul_i32', lambda a: (lambda b: (b @ b * b).sum(1))(a), I(2, 257, 257)); add('uint8_matmul_u32', lambda a, b: lax.dot(a, b, preferred_element_type=jnp.uint32), I(256, 131, 307, dt=np.uint8), I(256, 307, 129, dt=np.uint8)); add('closure_of_relations', lambda a: lax.fori_loop(0, 7, lambda i, r: r | ((r.astype(jnp.float32) @ r.astype(jnp.float32)) > 0), a), seeded(lambda r: r.rand(127, 127) < .02)); add('min_plus_powers', lambda d: lax.fori_loop(0, 6, lambda i, d: jnp.minimum(d, (d[:, :, None] + d[None]).min(1)), d), U(97, 97))
    # --- transforms
    add('fft3_odd', lambda x: jnp.fft.fftn(x), C(15, 21, 35)); add('rfft_prime_rows', lambda x: jnp.abs(jnp.fft.rfft(x)) ** 2, F(31, 1009)); add('fftconvolve_valid', lambda a, b: jax.scipy.signal.fftconvolve(a, b, 'valid'), F(10007), F(503)); add('dct_blocks_gradient', gr(lambda x: jax.scipy.fft.dct(x, norm='ortho') ** 4), F(101, 64)); add('chirp_z', lambda x: (lambda w: jnp.fft.ifft(jnp.fft.fft(jnp.pad(x * w, (0, 2048 - 701))) * jnp.fft.fft(jnp.concatenate([1 / w, jnp.zeros(2048 - 2 * 701 + 1), 1 / w[1:][::-1]])))[:701] * w)(jnp.exp(-1j * jnp.pi * .3 * jnp.arange(701.) ** 2 / 701)), C(701)); add('autocorrelations', lambda x: jnp.fft.irfft(jnp.abs(jnp.fft.rfft(x - x.mean(1, keepdims=True), 2048)) ** 2)[:, :100], F(23, 1009)); add('haar_fwht', lambda x: functools.reduce(lambda y, k: (lambda z: jnp.stack([z[:, :, 0] + z[:, :, 1], z[:, :, 0] - z[:, :, 1]], 2).reshape(y.shape))(y.reshape(y.shape[0], -1, 2, 1 << k)), range(10), x), F(37, 1024))
    # --- low precision
    def w8a8(x, w, sw_): s = jnp.abs(x).max(1, keepdims=True) / 127; q = jnp.round(x / s).astype(jnp.int8); return lax.dot_general(q, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32) * s * sw_
    add('w8a8_layer', w8a8, F(67, 512), I(127, 512, 384, lo=-127, dt=np.int8), U(384)); add('bf16_gradient_clip_step', lambda p, g: (lambda n_: jax.tree.map(lambda p, g: (p.astype(jnp.float32) - .1 * g.astype(jnp.float32) * jnp.minimum(1, 1 / n_)).astype(jnp.bfloat16), p, g))(jnp.sqrt(sum((x.astype(jnp.float32) ** 2).sum() for x in g))), lambda: [np.ones((211, 307), ml_dtypes.bfloat16), np.ones((61, 509), ml_dtypes.bfloat16)], lambda: [np.ones((211, 307), ml_dtypes.bfloat16), np.ones((61, 509), ml_dtypes.bfloat16)]); add('f16_mlp_gradient', gr(lambda w1, w2, x: jax.nn.silu(x @ w1) @ w2, 0, 1), h(128, 384, scale=.1), h(384, 64, scale=.1), h(97, 128)); add('bf16_gemv_chain', lambda x, w: functools.reduce(lambda x, i: jax.nn.relu(w[i] @ x), range(6), x), bf(307), bf(6, 307, 307, scale=.1)); add('fp8_cast_round', lambda x: x.astype(jnp.float8_e5m2).astype(jnp.float32), F(100003)); add('int4_packed_dequant_gemv', lambda p, s, x: (lambda q: (q.reshape(-1, 16, 32) * s[..., None]).reshape(q.shape[0], -1) @ x)(jnp.stack([(p & 15).astype(jnp.int8) - 8, (p >> 4).astype(jnp.int8) - 8], -1).reshape(p.shape[0], -1).astype(jnp.float32)), I(256, 401, 256, dt=np.uint8), U(401, 16), F(512))
    return P
