"""Flax, Haiku, equinox models of other kinds."""
import numpy as np
from by_value import Programs, Random
NEEDS = ('flax', 'haiku', 'equinox')
R = Random(1201)
f32, i32 = R.f32, R.i32
FACTOR = 512.0

def programs(jax):
    import flax.linen as nn
    import haiku as hk
    import equinox as eqx
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    K = np.array([3, 9], np.uint32)
    def fill(tree):
        r = np.random.RandomState(7)
        return jax.tree.map(lambda s: (r.randn(*s.shape) * (1 / np.sqrt(max(1, np.prod(s.shape[:-1])))) + (0.1 if len(s.shape) < 2 else 0)).astype(np.float32), tree)
    def init(m, *a): return fill(jax.eval_shape(lambda: m.init(K, *a)))
    # 1 squeeze-excite with channel attention, odd channels
    class SE(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(29, (3, 3), strides=2)(x)
            for _ in range(2):
                y = nn.Conv(29, (3, 3), feature_group_count=29)(nn.LayerNorm()(x))
                y = nn.Dense(58)(y); y = nn.gelu(y); y = nn.Dense(29)(y)
                s = nn.sigmoid(nn.Dense(29)(nn.relu(nn.Dense(7)(y.mean((1, 2))))))
                x = x + y * s[:, None, None]
            return nn.Dense(11)(x.mean((1, 2)))
    m = SE(); x = f32(3, 37, 41, 3)
    p = init(m, x)
    add('se_convnext_forward', lambda p, x, m=m: m.apply(p, x), p, x)
    add('se_convnext_gradient', lambda p, x, m=m: jax.grad(lambda p: (m.apply(p, x) ** 2).mean())(p), p, x)
    # 3 WaveGlow-like 1d transposed conv vocoder
    class Voc(nn.Module):
        @nn.compact
        def __call__(self, x):
            for c, s in ((24, 4), (12, 4), (6, 2)):
                x = nn.ConvTranspose(c, (2 * s,), (s,))(nn.leaky_relu(x, .1))
                for d in (1, 3):
                    x = x + nn.Conv(c, (3,), kernel_dilation=d)(nn.leaky_relu(x, .1))
            return jnp.tanh(nn.Conv(1, (7,))(x))[..., 0]
    mv = Voc(); mel = f32(2, 25, 40); pv = init(mv, mel)
    add('vocoder_upsampling', lambda p, x: mv.apply(p, x), pv, mel)
    add('vocoder_stft_loss_gradient', lambda p, x, y: jax.grad(lambda p: sum(jnp.abs(jnp.log(jnp.abs(jax.scipy.signal.stft(mv.apply(p, x), nperseg=n)[2]) + 1e-3) - jnp.log(jnp.abs(jax.scipy.signal.stft(y, nperseg=n)[2]) + 1e-3)).mean() for n in (64, 128)))(p), pv, mel, f32(2, 800))
    # 5 perceiver: latents cross-attend to a long input
    class Perc(nn.Module):
        @nn.compact
        def __call__(self, x):
            z = self.param('z', nn.initializers.normal(), (13, 36))
            z = jnp.broadcast_to(z, (x.shape[0], 13, 36))
            for _ in range(2):
                z = z + nn.MultiHeadDotProductAttention(num_heads=3, qkv_features=36, out_features=36, use_bias=False)(nn.LayerNorm()(z), nn.LayerNorm()(x))
                z = z + nn.MultiHeadDotProductAttention(num_heads=6, qkv_features=36, use_bias=False)(nn.LayerNorm()(z))
                z = z + nn.Dense(36)(nn.gelu(nn.Dense(72)(nn.LayerNorm()(z))))
            return nn.Dense(5)(z.mean(1))
    mp = Perc(); xp = f32(2, 601, 19); pp = init(mp, xp)
    add('perceiver_forward', lambda p, x: mp.apply(p, x), pp, xp)
    add('perceiver_gradient', lambda p, x: jax.grad(lambda p: (mp.apply(p, x) ** 2).sum())(p), pp, xp)
    # 7 haiku: deep set / VQ-VAE with EMA codebook
    def vq(x):
        h = hk.nets.MLP([48, 16])(x)
        q = hk.nets.VectorQuantizerEMA(16, 37, .25, .99) if hasattr(hk.nets, 'VectorQuantizerEMA') else None
        o = q(h, is_training=True)
        return ((hk.nets.MLP([48, x.shape[-1]])(o['quantize']) - x) ** 2).mean() + o['loss'], o['encoding_indices']
    tv = hk.transform_with_state(vq); xv = f32(150, 20)
    pv2, sv2 = jax.eval_shape(lambda: tv.init(K, xv)); pv2 = fill(pv2)
    sv2 = jax.tree.map(lambda s: (np.abs(R.randn(*s.shape)) + 1).astype(s.dtype) if s.dtype != np.int32 else np.ones(s.shape, np.int32), sv2)
    add('haiku_vector_quantiser_step', lambda p, s, x: jax.value_and_grad(lambda p: (lambda r: (r[0][0], (r[0][1], r[1])))(tv.apply(p, s, None, x)), has_aux=True)(p), pv2, sv2, xv)
    # 8 haiku core: LSTM with layer norm over dynamic_unroll, deep
    def dr(x):
        core = hk.DeepRNN([hk.LSTM(23), hk.LayerNorm(-1, True, True), jax.nn.relu, hk.GRU(17), hk.Linear(5)])
        return hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))[0]
    td = hk.without_apply_rng(hk.transform(dr)); xd = f32(40, 7, 11); pd = fill(jax.eval_shape(lambda: td.init(K, xd)))
    add('haiku_deep_rnn', lambda p, x: td.apply(p, x), pd, xd)
    add('haiku_deep_rnn_gradient', lambda p, x: jax.grad(lambda p: (td.apply(p, x) ** 2).mean())(p), pd, xd)
    # 10 haiku ResNet-v2 block with batchnorm state
    def rb(x, t):
        for c, s in ((21, 1), (33, 2)):
            sc = hk.Conv2D(c, 1, s)(x)
            y = jax.nn.relu(hk.BatchNorm(True, True, .9)(x, t)); y = hk.Conv2D(c, 3, s)(y)
            y = jax.nn.relu(hk.BatchNorm(True, True, .9)(y, t)); x = sc + hk.Conv2D(c, 3)(y)
        return hk.Linear(7)(hk.avg_pool(x, (3, 3), (2, 2), 'VALID').mean((1, 2)))
    tb = hk.without_apply_rng(hk.transform_with_state(rb)); xb = f32(5, 23, 23, 6)
    pb, sb = jax.eval_shape(lambda: tb.init(K, xb, True)); pb = fill(pb)
    sb = jax.tree.map(lambda s: (np.ones(s.shape) if s.dtype != np.int32 else np.ones(s.shape)).astype(s.dtype), sb)
    add('haiku_batchnorm_resnet_step', lambda p, s, x, y: (lambda g, a: (jax.tree.map(lambda p, g: p - .1 * g, p, g), a))(*jax.grad(lambda p: (lambda o, s: (-(jax.nn.log_softmax(o) * jax.nn.one_hot(y, 7)).sum(-1).mean(), s))(*tb.apply(p, s, x, True)), has_aux=True)(p)), pb, sb, xb, i32(7, 5))
    # 11 equinox: siren with laplacian (2nd derivatives wrt input) and its weight gradient
    ks = jax.random.split(jax.random.PRNGKey(0), 4)
    def siren(ws, x):
        for w, b in ws[:-1]: x = jnp.sin(5 * (w @ x + b))
        w, b = ws[-1]; return (w @ x + b)[0]
    ws = [(f32(40, 3) * .3, f32(40) * .1), (f32(40, 40) * .1, f32(40) * .1), (f32(1, 40) * .1, f32(1) * .1)]
    lap = lambda ws, x: jnp.trace(jax.hessian(siren, 1)(ws, x))
    add('siren_laplacian_loss_gradient', lambda ws, x, f: jax.grad(lambda ws: ((jax.vmap(lambda x: lap(ws, x))(x) - f) ** 2).mean())(ws), ws, f32(120, 3), f32(120))
    # 12 equinox: monotone input-convex net and its Legendre transform gradient
    mlp = eqx.filter_eval_shape(lambda: eqx.nn.MLP(6, 'scalar', 41, 3, activation=jax.nn.softplus, key=ks[0]))
    arr, static = eqx.partition(mlp, eqx.is_array_like if False else (lambda z: hasattr(z, 'shape')))
    arr = fill(arr)
    add('equinox_mlp_hessians', lambda a, x: jax.vmap(jax.hessian(lambda x: eqx.combine(a, static)(x)))(x), arr, f32(61, 6))
    # 13 equinox conv + spectral norm-like power iteration in 3-d
    c3 = f32(17, 4, 3, 3, 3) * .2
    def c3d(w, w2, x):
        y = jax.nn.silu(lax.conv_general_dilated(x, w, (1, 1, 1), 'SAME'))
        y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 2, 2, 2), (1, 1, 2, 2, 2), 'VALID')
        return lax.conv_general_dilated(y, w2, (1, 1, 1), 'SAME').mean((2, 3, 4))
    add('volumes_net_gradient', lambda w, w2, x: jax.grad(lambda w, w2: (c3d(w, w2, x) ** 2).sum(), (0, 1))(w, w2), c3, f32(9, 17, 3, 3, 3) * .1, f32(2, 4, 14, 15, 13))
    # 14 flax remat transformer with scan over layers and rope
    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x, _):
            b, t, d = x.shape; h = 4
            y = nn.RMSNorm()(x)
            q, k, v = jnp.split(nn.Dense(3 * d, use_bias=False)(y).reshape(b, t, h, -1), 3, -1)
            dd = q.shape[-1] // 2
            th = jnp.arange(t)[:, None] / (100. ** (jnp.arange(dd) / dd)); c, s = jnp.cos(th)[:, None], jnp.sin(th)[:, None]
            rot = lambda a: jnp.concatenate([a[..., :dd] * c - a[..., dd:] * s, a[..., dd:] * c + a[..., :dd] * s], -1)
            a = nn.dot_product_attention(rot(q), rot(k), v, mask=jnp.tril(jnp.ones((t, t), bool)))
            x = x + nn.Dense(d, use_bias=False)(a.reshape(b, t, d))
            y = nn.RMSNorm()(x); g = nn.Dense(3 * d, use_bias=False)(y)
            return x + nn.Dense(d, use_bias=False)(nn.silu(g) * nn.Dense(3 * d, use_bias=False)(y)), None
    class LM(nn.Module):
        @nn.compact
        def __call__(self, ids):
            e = nn.Embed(101, 40); x = e(ids)
            S = nn.scan(nn.remat(Layer), variable_axes={'params': 0}, split_rngs={'params': True}, length=3)
            x, _ = S()(x, None); return e.attend(nn.RMSNorm()(x))
    lm = LM(); ids = i32(101, 3, 50); pl = init(lm, ids)
    add('rematted_scanned_decoder_gradient', lambda p, ids: jax.grad(lambda p: -(jnp.take_along_axis(jax.nn.log_softmax(lm.apply(p, ids)[:, :-1]), ids[:, 1:, None], -1)).mean())(p), pl, ids)
    # 15 variational dropout + weight norm
    class WN(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.elu(nn.WeightNorm(nn.Dense(67))(x)); x = nn.Dropout(.2, deterministic=False)(x)
            x = nn.elu(nn.WeightNorm(nn.Dense(67))(x)); return nn.WeightNorm(nn.Dense(3))(x)
    mw = WN(); xw = f32(97, 31); pw = fill(jax.eval_shape(lambda: mw.init({'params': K, 'dropout': K}, xw)))
    add('weight_norm_dropout_step', lambda p, k, x: jax.tree.map(lambda a, b: a - .01 * b, p, jax.grad(lambda p: (mw.apply(p, x, rngs={'dropout': k}) ** 2).mean())(p)), pw, K, xw)
    return P
