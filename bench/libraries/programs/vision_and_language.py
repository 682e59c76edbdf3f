"""Networks of flax (linen and nnx) that see, read, hear and generate, and their steps."""
import numpy as np, functools
from by_value import Programs
from weights import Weights, section
NEEDS = ('flax', 'optax')
FACTOR = 2048.0
def programs(jax):
    import jax.numpy as jnp, flax.linen as nn, optax
    from jax import lax
    P = Programs(); R = Weights(jax, 7); add, f, u, i, fill, zeros = P.add, R.f32, R.uniform_f32, R.i32, R.fill, R.zeros
    KEY = np.array([3, 5], np.uint32)
    ce = lambda l, y: optax.softmax_cross_entropy_with_integer_labels(l, y).mean()
    def trainer(tx, loss):
        def step(p, s, *b):
            (l, g) = jax.value_and_grad(loss)(p, *b); up, s = tx.update(g, s, p); return optax.apply_updates(p, up), s, l
        return step
    @section
    def vit():
        class Block(nn.Module):
            h: int
            @nn.compact
            def __call__(self, x, train):
                y = nn.LayerNorm()(x); y = nn.MultiHeadDotProductAttention(self.h, dropout_rate=.1, deterministic=not train)(y, y); x = x + nn.Dropout(.1, deterministic=not train)(y)
                y = nn.LayerNorm()(x); y = nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(3 * x.shape[-1])(y))); return x + nn.Dropout(.1, deterministic=not train)(y)
        class ViT(nn.Module):
            @nn.compact
            def __call__(self, x, train=True):
                x = nn.Conv(72, (6, 6), (6, 6))(x); B = x.shape[0]; x = x.reshape(B, -1, 72)
                x = jnp.concatenate([jnp.tile(self.param('cls', nn.initializers.zeros, (1, 1, 72)), (B, 1, 1)), x], 1); x = x + self.param('pos', nn.initializers.normal(.02), (1, x.shape[1], 72))
                for _ in range(3): x = Block(6)(x, train)
                return nn.Dense(10)(nn.LayerNorm()(x)[:, 0])
        m = ViT(); x = f(5, 42, 42, 3); p = R.flax(m, x); tx = optax.chain(optax.clip_by_global_norm(1.), optax.adamw(optax.warmup_cosine_decay_schedule(0., 1e-3, 100, 1000)))
        add('vit_eval', lambda p, x: m.apply(p, x, False), p, f(3, 42, 42, 3))
    @section
    def unet():
        class Res(nn.Module):
            c: int
            @nn.compact
            def __call__(self, x, t):
                h = nn.Conv(self.c, (3, 3))(nn.swish(nn.GroupNorm(4)(x))); s, b = jnp.split(nn.Dense(2 * self.c)(nn.swish(t))[:, None, None], 2, -1)
                h = nn.GroupNorm(4)(h) * (1 + s) + b; h = nn.Conv(self.c, (3, 3), kernel_init=nn.initializers.zeros)(nn.swish(h))
                return h + (x if x.shape[-1] == self.c else nn.Conv(self.c, (1, 1))(x))
        class UNet(nn.Module):
            @nn.compact
            def __call__(self, x, t):
                fr = jnp.exp(-jnp.log(1e4) * jnp.arange(16) / 16); e = t[:, None] * fr[None]; t = nn.Dense(48)(nn.swish(nn.Dense(48)(jnp.concatenate([jnp.sin(e), jnp.cos(e)], -1))))
                h = nn.Conv(20, (3, 3))(x); sk = [h]
                for c in (20, 36): h = Res(c)(h, t); sk.append(h); h = nn.Conv(c, (3, 3), (2, 2))(h)
                h = Res(36)(h, t); B, H, W, C = h.shape; q = nn.GroupNorm(4)(h).reshape(B, H * W, C); h = h + nn.SelfAttention(3)(q).reshape(h.shape); h = Res(36)(h, t)
                for c in (36, 20): h = jax.image.resize(h, (B, h.shape[1] * 2, h.shape[2] * 2, h.shape[3]), 'nearest'); h = Res(c)(jnp.concatenate([h, sk.pop()], -1), t)
                return nn.Conv(3, (3, 3))(nn.swish(nn.GroupNorm(4)(h)))
        m = UNet(); x = f(2, 20, 20, 3); t = u(2); p = R.flax(m, x, t); tx = optax.adam(1e-4)
        ab = np.cumprod(1 - np.linspace(1e-4, .02, 100)).astype(np.float32)
        def step(p, ema, s, x, k):
            k1, k2 = jax.random.split(jax.random.wrap_key_data(k)); t = jax.random.randint(k1, (x.shape[0],), 0, 100); n = jax.random.normal(k2, x.shape); a = jnp.asarray(ab)[t][:, None, None, None]
            l, g = jax.value_and_grad(lambda p: jnp.mean((m.apply(p, jnp.sqrt(a) * x + jnp.sqrt(1 - a) * n, t.astype(jnp.float32)) - n) ** 2))(p)
            up, s = tx.update(g, s); p = optax.apply_updates(p, up); return p, optax.incremental_update(p, ema, .001), s, l
        def ddim(p, x):
            def st(x, t):
                e = m.apply(p, x, jnp.full((x.shape[0],), t, jnp.float32)); a = jnp.asarray(ab)[t]; b = jnp.asarray(ab)[jnp.maximum(t - 20, 0)]; x0 = jnp.clip((x - jnp.sqrt(1 - a) * e) / jnp.sqrt(a), -1, 1)
                return jnp.sqrt(b) * x0 + jnp.sqrt(1 - b) * e, None
            return lax.scan(st, x, jnp.arange(99, 0, -20))[0]
        add('ddim_sampling', ddim, p, f(1, 20, 20, 3))
    @section
    def mobile():
        class IR(nn.Module):
            o: int; e: int; s: int
            @nn.compact
            def __call__(self, x, train):
                n = functools.partial(nn.BatchNorm, use_running_average=not train, momentum=.9); h = nn.hard_swish(n()(nn.Conv(self.e, (1, 1), use_bias=False)(x)))
                h = nn.hard_swish(n()(nn.Conv(self.e, (5, 5), (self.s, self.s), feature_group_count=self.e, use_bias=False)(h))); w = h.mean((1, 2), keepdims=True)
                h = h * nn.hard_sigmoid(nn.Conv(self.e, (1, 1))(nn.relu(nn.Conv(self.e // 4, (1, 1))(w)))); h = n()(nn.Conv(self.o, (1, 1), use_bias=False)(h)); return h + x if h.shape == x.shape else h
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x, train=True):
                x = nn.hard_swish(nn.BatchNorm(not train)(nn.Conv(12, (3, 3), (2, 2))(x)))
                for o, e, s in ((12, 36, 1), (20, 60, 2), (20, 60, 1), (28, 84, 2)): x = IR(o, e, s)(x, train)
                return nn.Dense(17)(x.mean((1, 2)))
        m = Net(); x = f(3, 54, 54, 3); v = R.flax(m, x); tx = optax.lamb(1e-3)
        def step(v, s, x, y):
            def loss(p):
                o, st = m.apply({'params': p, 'batch_stats': v['batch_stats']}, x, mutable=['batch_stats']); return ce(o, y), st
            (l, st), g = jax.value_and_grad(loss, has_aux=True)(v['params']); up, s = tx.update(g, s, v['params']); return optax.apply_updates(v['params'], up), st, s, l
        add('mobilenetv3_eval', lambda v, x: jax.nn.softmax(m.apply(v, x, False)), v, x)
        class Dense(nn.Module):
            @nn.compact
            def __call__(self, x):
                for _ in range(3):
                    for _ in range(3): h = nn.Conv(10, (3, 3))(nn.relu(nn.InstanceNorm()(x) if False else nn.GroupNorm(2)(x))); x = jnp.concatenate([x, h], -1)
                    x = nn.avg_pool(nn.Conv(x.shape[-1] // 4 * 2, (1, 1))(x), (2, 2), (2, 2))
                return nn.Dense(10)(x.mean((1, 2)))
        d = Dense(); xd = f(4, 25, 25, 6); pd = R.flax(d, xd)
        add('densenet_gradient', jax.grad(lambda p, x, y: ce(d.apply(p, x), y)), pd, xd, i(10, 4))
    @section
    def mixers():
        class Mixer(nn.Module):
            @nn.compact
            def __call__(self, x):
                x = nn.Conv(60, (7, 7), (7, 7))(x); x = x.reshape(x.shape[0], -1, 60)
                for _ in range(3):
                    y = nn.LayerNorm()(x).swapaxes(1, 2); y = nn.Dense(x.shape[1])(nn.gelu(nn.Dense(90)(y))); x = x + y.swapaxes(1, 2); x = x + nn.Dense(60)(nn.gelu(nn.Dense(150)(nn.LayerNorm()(x))))
                return nn.Dense(11)(nn.LayerNorm()(x).mean(1))
        m = Mixer(); x = f(7, 49, 49, 3); p = R.flax(m, x); tx = optax.adafactor(1e-3, min_dim_size_to_factor=32)
        class GMLP(nn.Module):
            @nn.compact
            def __call__(self, t):
                x = nn.Embed(91, 50)(t)
                for _ in range(3):
                    h = nn.gelu(nn.Dense(140)(nn.LayerNorm()(x))); a, b = jnp.split(h, 2, -1); b = nn.LayerNorm()(b); w = self.param(f'w{_}', nn.initializers.normal(.01), (t.shape[1],) * 2); b = jnp.einsum('bnc,mn->bmc', b, jnp.tril(w)) + 1; x = x + nn.Dense(50)(a * b)
                return nn.Dense(91)(x)
        g = GMLP(); t = i(91, 3, 77); pg = R.flax(g, t)
        add('gmlp_causal_gradient', jax.grad(lambda p, t: ce(g.apply(p, t)[:, :-1], t[:, 1:])), pg, t)
    @section
    def gpt():
        def rope(x, pos):
            d = x.shape[-1]; fr = 1e4 ** (-jnp.arange(0, d, 2) / d); a = pos[:, None] * fr; c, s = jnp.cos(a)[:, None], jnp.sin(a)[:, None]; x1, x2 = x[..., ::2], x[..., 1::2]
            return jnp.stack([x1 * c - x2 * s, x1 * s + x2 * c], -1).reshape(x.shape).astype(x.dtype)
        class Layer(nn.Module):
            @nn.compact
            def __call__(self, x):
                B, T, D = x.shape; h = nn.RMSNorm()(x); q = rope(nn.DenseGeneral((6, 12), use_bias=False)(h), jnp.arange(T)); k = rope(nn.DenseGeneral((2, 12), use_bias=False)(h), jnp.arange(T)); v = nn.DenseGeneral((2, 12), use_bias=False)(h)
                o = jax.nn.dot_product_attention(q, k, v, is_causal=True); x = x + nn.DenseGeneral(D, (-2, -1), use_bias=False)(o); h = nn.RMSNorm()(x)
                return x + nn.Dense(D, use_bias=False)(nn.silu(nn.Dense(190, use_bias=False)(h)) * nn.Dense(190, use_bias=False)(h))
        class GPT(nn.Module):
            @nn.compact
            def __call__(self, t):
                e = nn.Embed(211, 72); x = e(t)
                for _ in range(3): x = Layer()(x)
                return e.attend(nn.RMSNorm()(x))
        m = GPT(); t = i(211, 3, 67); p = R.flax(m, t); tx = optax.chain(optax.clip(1.), optax.lion(optax.cosine_decay_schedule(1e-3, 500), weight_decay=.1))
        add('llama_gqa_rope_lion_step', trainer(tx, lambda p, t: ce(m.apply(p, t[:, :-1]), t[:, 1:])), p, zeros(tx, p), t)
        pb = jax.tree.map(lambda v: v.astype(jnp.bfloat16), p)
        add('llama_bf16_logits', m.apply, pb, i(211, 1, 93))
        class MoE(nn.Module):
            @nn.compact
            def __call__(self, x):
                N, D = x.shape; E, C = 6, 30; lg = nn.Dense(E)(x); pr = jax.nn.softmax(lg); e = pr.argmax(-1); oh = jax.nn.one_hot(e, E); pos = (jnp.cumsum(oh, 0) - 1) * oh; keep = (pos < C) * oh
                disp = keep[..., None] * jax.nn.one_hot(pos.astype(jnp.int32), C); xin = jnp.einsum('nec,nd->ecd', disp, x); w1 = self.param('w1', nn.initializers.lecun_normal(), (E, D, 100)); w2 = self.param('w2', nn.initializers.lecun_normal(), (E, 100, D))
                y = jnp.einsum('ech,ehd->ecd', nn.relu(jnp.einsum('ecd,edh->ech', xin, w1)), w2); return jnp.einsum('nec,ecd->nd', disp * pr.max(-1)[:, None, None], y), E * (oh.mean(0) * pr.mean(0)).sum()
        class Switch(nn.Module):
            @nn.compact
            def __call__(self, t):
                x = nn.Embed(131, 44)(t); aux = 0.
                for _ in range(2):
                    h = nn.LayerNorm()(x); x = x + nn.SelfAttention(4)(h, nn.make_causal_mask(t)); y, a = MoE()(nn.LayerNorm()(x).reshape(-1, 44)); x = x + y.reshape(x.shape); aux += a
                return nn.Dense(131)(x), aux
        s = Switch(); ts = i(131, 3, 41); ps = R.flax(s, ts)
        def sl(p, t): o, a = s.apply(p, t); return ce(o[:, :-1], t[:, 1:]) + .01 * a
    @section
    def s2s():
        class Dec(nn.Module):
            @nn.compact
            def __call__(self, c, x, enc, keys):
                q = nn.Dense(40)(c); s = nn.Dense(1)(jnp.tanh(q[:, None] + keys))[..., 0]; ctx = jnp.einsum('bt,btd->bd', jax.nn.softmax(s), enc); c, o = nn.GRUCell(48)(c, jnp.concatenate([x, ctx], -1)); return c, nn.Dense(61)(jnp.concatenate([o, ctx], -1))
        class S2S(nn.Module):
            @nn.compact
            def __call__(self, s, t):
                em = nn.Embed(61, 24); x = em(s); enc = nn.Bidirectional(nn.RNN(nn.GRUCell(24)), nn.RNN(nn.GRUCell(24)))(x); keys = nn.Dense(40)(enc)
                D = nn.scan(Dec, variable_broadcast='params', split_rngs={'params': False}, in_axes=(1, nn.broadcast, nn.broadcast), out_axes=1); return D()(enc[:, -1], em(t), enc, keys)[1]
        m = S2S(); s = i(61, 5, 21); t = i(61, 5, 18); p = R.flax(m, s, t); tx = optax.chain(optax.adaptive_grad_clip(.05), optax.rmsprop(1e-3, momentum=.9))
        class LM(nn.Module):
            @nn.compact
            def __call__(self, c, t): c, o = nn.OptimizedLSTMCell(52)(c, nn.Embed(73, 20)(t)); return c, nn.Dense(73)(o)
        lm = LM(); c0 = (f(1, 52), f(1, 52)); pl = R.flax(lm, c0, i(73, 1))
        def beam(p, c):
            K, L = 5, 20; c = jax.tree.map(lambda v: jnp.tile(v, (K, 1)), c)
            def st(s, j):
                c, sc, tok, seq = s; c, lo = lm.apply(p, c, tok); lp = sc[:, None] + jax.nn.log_softmax(lo); sc, ix = lax.top_k(lp.ravel(), K); par, tok = ix // 73, ix % 73
                return (jax.tree.map(lambda v: v[par], c), sc, tok, seq[par].at[:, j].set(tok)), None
            return lax.scan(st, (c, jnp.where(jnp.arange(K) == 0, 0., -1e9), jnp.zeros(K, jnp.int32), jnp.zeros((K, L), jnp.int32)), jnp.arange(L))[0][1:]
        add('lstm_beam_search', beam, pl, c0)
        def nucleus(p, c, k):
            def st(s, k):
                c, tok = s; c, lo = lm.apply(p, c, tok); so = jnp.sort(lo / .8, -1)[:, ::-1]; cp = jnp.cumsum(jax.nn.softmax(so), -1); cut = jnp.take_along_axis(so, (cp < .9).sum(-1, keepdims=True), -1); tok = jax.random.categorical(k, jnp.where(lo / .8 < cut, -jnp.inf, lo / .8)); return (c, tok), tok
            c = jax.tree.map(lambda v: jnp.tile(v, (7, 1)), c); return lax.scan(st, (c, jnp.zeros(7, jnp.int32)), jax.random.split(jax.random.wrap_key_data(k), 25))[1]
        add('lstm_nucleus_sampling', nucleus, pl, c0, KEY)
    @section
    def audio():
        class Conformer(nn.Module):
            @nn.compact
            def __call__(self, x):
                D = x.shape[-1]; ff = lambda x: nn.Dense(D)(nn.swish(nn.Dense(2 * D)(nn.LayerNorm()(x))))
                for _ in range(2):
                    x = x + .5 * ff(x); x = x + nn.SelfAttention(3)(nn.LayerNorm()(x)); h = nn.glu(nn.Dense(2 * D)(nn.LayerNorm()(x))); h = nn.Dense(D)(nn.swish(nn.LayerNorm()(nn.Conv(D, (15,), feature_group_count=D)(h)))); x = nn.LayerNorm()((x + h) + .5 * ff(x + h))
                return nn.log_softmax(nn.Dense(31)(x))
        m = Conformer(); x = f(2, 83, 60); p = R.flax(m, x); lab = i(30, 2, 19) + 1
        class Wave(nn.Module):
            @nn.compact
            def __call__(self, q):
                x = nn.Dense(22)(jax.nn.one_hot(q, 64)); sk = 0
                for d in (1, 2, 4, 8, 16):
                    h = nn.Conv(44, (2,), kernel_dilation=(d,), padding='CAUSAL')(x); a, b = jnp.split(h, 2, -1); z = jnp.tanh(a) * nn.sigmoid(b); sk = sk + nn.Dense(30)(z); x = x + nn.Dense(22)(z)
                return nn.Dense(64)(nn.relu(nn.Dense(30)(nn.relu(sk))))
        w = Wave(); q = i(64, 2, 331); pw = R.flax(w, q)
        add('wavenet_gradient', jax.grad(lambda p, q: ce(w.apply(p, q)[:, :-1], q[:, 1:])), pw, q)
    @section
    def nnxs():
        from flax import nnx
        class Enc(nnx.Module):
            def __init__(s, r): s.a = nnx.Conv(1, 14, (3, 3), strides=2, rngs=r); s.b = nnx.Conv(14, 26, (3, 3), strides=2, rngs=r); s.m = nnx.Linear(26 * 49, 18, rngs=r); s.l = nnx.Linear(26 * 49, 18, rngs=r)
            def __call__(s, x): x = nnx.relu(s.b(nnx.relu(s.a(x)))); x = x.reshape(x.shape[0], -1); return s.m(x), s.l(x)
        class Dec(nnx.Module):
            def __init__(s, r): s.i = nnx.Linear(18, 26 * 49, rngs=r); s.a = nnx.ConvTranspose(26, 14, (4, 4), strides=(2, 2), rngs=r); s.b = nnx.ConvTranspose(14, 1, (4, 4), strides=(2, 2), rngs=r)
            def __call__(s, z): return s.b(nnx.relu(s.a(nnx.relu(s.i(z)).reshape(-1, 7, 7, 26))))
        class VAE(nnx.Module):
            def __init__(s, r): s.e = Enc(r); s.d = Dec(r)
            def __call__(s, x, k): m, l = s.e(x); return s.d(m + jnp.exp(.5 * l) * jax.random.normal(k, m.shape)), m, l
        ab = nnx.eval_shape(lambda: VAE(nnx.Rngs(0))); gd, st = nnx.split(ab); st = nnx.to_pure_dict(st); st = fill(st); tx = optax.nadam(1e-3)
        def step(p, s, x, k):
            def loss(p):
                o, m, l = nnx.merge(gd, nnx.State(jax.tree.map(lambda v: nnx.Param(v), p)) if False else _state(p))(x, jax.random.wrap_key_data(k)); return optax.sigmoid_binary_cross_entropy(o, x).sum((1, 2, 3)).mean() + 2 * -.5 * (1 + l - m ** 2 - jnp.exp(l)).sum(-1).mean()
            l, g = jax.value_and_grad(loss)(p); up, s = tx.update(g, s, p); return optax.apply_updates(p, up), s, l
        def _state(p):
            s = nnx.split(ab)[1]; nnx.replace_by_pure_dict(s, p); return s
        add('nnx_conv_vae_nadam_step', step, st, zeros(tx, st), u(9, 28, 28, 1), KEY)
        class G(nn.Module):
            @nn.compact
            def __call__(self, z): h = nn.relu(nn.GroupNorm(4)(nn.Dense(5 * 5 * 32)(z).reshape(-1, 5, 5, 32))); h = nn.leaky_relu(nn.ConvTranspose(20, (5, 5), (2, 2))(h)); return jnp.tanh(nn.ConvTranspose(3, (5, 5), (2, 2))(h))
        class D(nn.Module):
            @nn.compact
            def __call__(self, x):
                for c in (20, 32): x = nn.leaky_relu(nn.Conv(c, (5, 5), (2, 2))(x), .2)
                return nn.Dense(1)(x.reshape(x.shape[0], -1))[:, 0]
        g, d = G(), D(); z = f(6, 24); x = f(6, 20, 20, 3); pg, pd = R.flax(g, z), R.flax(d, x)
        def gan(pg, pd, z, x, e):
            fake = g.apply(pg, z)
            def dl(pd):
                xi = e * x + (1 - e) * fake; gn = jnp.sqrt((jax.grad(lambda v: d.apply(pd, v).sum())(xi) ** 2).sum((1, 2, 3)) + 1e-8); return nn.relu(1 - d.apply(pd, x)).mean() + nn.relu(1 + d.apply(pd, fake)).mean() + 10 * ((gn - 1) ** 2).mean()
            return jax.value_and_grad(dl)(pd), jax.value_and_grad(lambda pg: -d.apply(pd, g.apply(pg, z)).mean())(pg)
        add('dcgan_penalty_gradients', gan, pg, pd, z, x, u(6, 1, 1, 1))
    @section
    def contrast():
        class Tower(nn.Module):
            @nn.compact
            def __call__(self, x):
                for c in (16, 28, 40): x = nn.relu(nn.GroupNorm(4)(nn.Conv(c, (3, 3), (2, 2))(x)))
                h = nn.Dense(33)(x.mean((1, 2))); return h / jnp.linalg.norm(h, axis=-1, keepdims=True)
        class Text(nn.Module):
            @nn.compact
            def __call__(self, t): x = nn.Embed(151, 40)(t); x = x + nn.SelfAttention(2)(nn.LayerNorm()(x), nn.make_causal_mask(t)); h = nn.Dense(33)(jnp.take_along_axis(x, t.argmax(-1)[:, None, None], 1)[:, 0]); return h / jnp.linalg.norm(h, axis=-1, keepdims=True)
        a, b = Tower(), Text(); x = f(13, 31, 31, 3); t = i(151, 13, 17); p = (R.flax(a, x), R.flax(b, t), np.float32(2.6)); tx = optax.adamw(1e-3, mask=lambda p: jax.tree.map(lambda v: jnp.ndim(v) > 1, p))
        def clip(p, x, t): l = jnp.exp(p[2]) * a.apply(p[0], x) @ b.apply(p[1], t).T; y = jnp.arange(13); return (ce(l, y) + ce(l.T, y)) / 2
        def moco(q, k, queue, ptr, x1, x2):
            kk = a.apply(k, x2)
            def loss(q): h = a.apply(q, x1); return ce(jnp.concatenate([(h * kk).sum(-1, keepdims=True), h @ queue.T], -1) / .1, jnp.zeros(13, jnp.int32))
            l, g = jax.value_and_grad(loss)(q); q = jax.tree.map(lambda p, g: p - .03 * g, q, g); k = optax.incremental_update(q, k, .01); return q, k, lax.dynamic_update_slice(queue, kk, (ptr, 0)), (ptr + 13) % 520, l
        add('moco_queue_step', moco, p[0], p[0], f(520, 33), np.int32(26), x, f(13, 31, 31, 3))
    @section
    def others():
        class PN(nn.Module):
            @nn.compact
            def __call__(self, x):
                h = x
                for c in (24, 48): h = nn.relu(nn.LayerNorm()(nn.Dense(c)(h)))
                T = nn.Dense(9)(h.max(1)).reshape(-1, 3, 3) + jnp.eye(3); h = x @ T
                for c in (24, 48, 120): h = nn.relu(nn.LayerNorm()(nn.Dense(c)(h)))
                return nn.Dense(13)(h.max(1)), T
        m = PN(); x = f(4, 257, 3); p = R.flax(m, x)
        def pl(p, x, y): o, T = m.apply(p, x); return ce(o, y) + 1e-3 * ((jnp.einsum('bij,bkj->bik', T, T) - jnp.eye(3)) ** 2).sum()
        add('pointnet_gradient', jax.grad(pl), p, x, i(13, 4))
        def hashenc(tabs, w1, w2, x, c):
            out = []
            for l, T in enumerate(tabs):
                s = x * (8 * 1.6 ** l); lo = jnp.floor(s).astype(jnp.uint32); fr = s - jnp.floor(s); acc = 0
                for o in range(8):
                    off = jnp.array([(o >> b) & 1 for b in range(3)], jnp.uint32); v = lo + off; hx = (v[:, 0] ^ (v[:, 1] * jnp.uint32(2654435761)) ^ (v[:, 2] * jnp.uint32(805459861))) % jnp.uint32(T.shape[0]); acc = acc + jnp.prod(jnp.where(off == 1, fr, 1 - fr), -1)[:, None] * T[hx]
                out.append(acc)
            return ((jax.nn.sigmoid(jax.nn.relu(jnp.concatenate(out, -1) @ w1) @ w2) - c) ** 2).mean()
        add('instant_ngp_hash_gradient', jax.grad(hashenc, (0, 1, 2)), [f(4096, 2) for _ in range(5)], f(10, 32), f(32, 3), u(701, 3), u(701, 3))
        def caps(w, x, y):
            uh = jnp.einsum('bni,nkio->bnko', x, w); sq = lambda s: (lambda n: s * jnp.sqrt(n) / (1 + n))((s ** 2).sum(-1, keepdims=True) + 1e-7)
            b = jnp.zeros(uh.shape[:3])
            for r in range(3): v = sq((jax.nn.softmax(b, -1)[..., None] * (uh if r == 2 else lax.stop_gradient(uh))).sum(1)); b = b + (uh * v[:, None]).sum(-1)
            n = jnp.linalg.norm(v, axis=-1); return (y * jax.nn.relu(.9 - n) ** 2 + .5 * (1 - y) * jax.nn.relu(n - .1) ** 2).sum(-1).mean()
        add('capsule_routing_gradient', jax.grad(caps), f(150, 7, 6, 12, k=.3), f(6, 150, 6), np.eye(7, dtype=np.float32)[i(7, 6)])
        class MAE(nn.Module):
            @nn.compact
            def __call__(self, x, noise):
                B, H, W, C = x.shape; pt = x.reshape(B, H // 6, 6, W // 6, 6, C).transpose(0, 1, 3, 2, 4, 5).reshape(B, -1, 36 * C); N = pt.shape[1]; K = N // 4; ids = jnp.argsort(noise, 1); inv = jnp.argsort(ids, 1); pos = self.param('pos', nn.initializers.normal(.02), (1, N, 48))
                h = nn.Dense(48)(pt) + pos; h = jnp.take_along_axis(h, ids[:, :K, None], 1)
                for _ in range(2): h = h + nn.SelfAttention(4)(nn.LayerNorm()(h)); h = h + nn.Dense(48)(nn.gelu(nn.Dense(144)(nn.LayerNorm()(h))))
                h = jnp.concatenate([nn.Dense(32)(h), jnp.broadcast_to(self.param('mask', nn.initializers.zeros, (1, 1, 32)), (B, N - K, 32))], 1); h = jnp.take_along_axis(h, inv[..., None], 1) + pos[..., :32]; h = h + nn.SelfAttention(4)(nn.LayerNorm()(h))
                t = (pt - pt.mean(-1, keepdims=True)) / jnp.sqrt(pt.var(-1, keepdims=True) + 1e-6); m = (inv >= K); return (((nn.Dense(36 * C)(h) - t) ** 2).mean(-1) * m).sum() / m.sum()
        ma = MAE(); xm = f(4, 48, 48, 3); no = u(4, 64); pm = R.flax(ma, xm, no)
    @section
    def ssm():
        class Mamba(nn.Module):
            @nn.compact
            def __call__(self, x):
                B, T, D = x.shape; E, N = 2 * D, 6; z, g = jnp.split(nn.Dense(2 * E)(x), 2, -1); z = nn.silu(nn.Conv(E, (4,), feature_group_count=E, padding='CAUSAL')(z)); dt = nn.softplus(nn.Dense(E)(nn.Dense(4)(z))); Bm, Cm = jnp.split(nn.Dense(2 * N)(z), 2, -1); A = -jnp.exp(self.param('A', nn.initializers.normal(), (E, N)))
                a = jnp.exp(dt[..., None] * A); b = (dt * z)[..., None] * Bm[:, :, None]; h = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b), axis=1)[1]; y = jnp.einsum('bten,btn->bte', h, Cm) + z * self.param('D', nn.initializers.ones, (E,)); return nn.Dense(D)(y * nn.silu(g))
        m = Mamba(); x = f(2, 75, 18); p = R.flax(m, x)
        add('mamba_gradient', jax.grad(lambda p, x: (m.apply(p, x) ** 2).mean()), p, x)
        def s4d(p, x):
            L = x.shape[0]; A = -jnp.exp(p['ar']) + 1j * p['ai']; dt = jnp.exp(p['dt'])[:, None]; dA = A * dt; C = p['cr'] + 1j * p['ci']; K = 2 * jnp.einsum('hn,hnl->hl', C * (jnp.exp(dA) - 1) / A, jnp.exp(dA[..., None] * jnp.arange(L))).real
            y = jnp.fft.irfft(jnp.fft.rfft(x.T, 2 * L) * jnp.fft.rfft(K, 2 * L), 2 * L)[:, :L].T + x * p['D']; return jax.nn.glu(y @ p['w'])
        ps = dict(ar=f(22, 8), ai=f(22, 8, k=3), dt=f(22) - 4, cr=f(22, 8), ci=f(22, 8), D=f(22), w=f(22, 44))
        add('s4d_gradient', jax.grad(lambda p, x: (jax.vmap(s4d, (None, 0))(p, x) ** 2).mean()), ps, f(3, 201, 22))
        def lru(p, x):
            lam = jnp.exp(-jnp.exp(p['nu']) + 1j * jnp.exp(p['th'])); gm = jnp.exp(p['g']); Bu = x @ ((p['br'] + 1j * p['bi']) * gm[:, None]).T; h = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (jnp.broadcast_to(lam, Bu.shape), Bu))[1]; return (h @ (p['cr'] + 1j * p['ci']).T).real + x * p['d']
        pl = dict(nu=f(26) - 1, th=f(26), g=f(26), br=f(26, 14), bi=f(26, 14), cr=f(14, 26), ci=f(14, 26), d=f(14))
        add('lru_complex_scan_gradient', jax.grad(lambda p, x: (jax.vmap(lru, (None, 0))(p, x) ** 2).mean()), pl, f(4, 121, 14))
        def rwkv(p, x):
            xx = jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]]); mk = lambda m: x * m + xx * (1 - m); k, v, r = mk(p['mk']) @ p['k'], mk(p['mv']) @ p['v'], jax.nn.sigmoid(mk(p['mr']) @ p['r']); w = -jnp.exp(p['w'])
            def st(s, kv):
                a, b, o = s; k, v = kv; no = jnp.maximum(o, p['u'] + k); A, B = jnp.exp(o - no), jnp.exp(p['u'] + k - no); y = (A * a + B * v) / (A * b + B); no = jnp.maximum(w + o, k); A, B = jnp.exp(w + o - no), jnp.exp(k - no); return (A * a + B * v, A * b + B, no), y
            z = jnp.zeros(x.shape[1]); return (r * lax.scan(st, (z, z, z - 1e30), (k, v))[1]) @ p['o']
        pr = dict(mk=u(44), mv=u(44), mr=u(44), k=f(44, 44, k=.2), v=f(44, 44, k=.2), r=f(44, 44, k=.2), o=f(44, 44, k=.2), w=f(44), u=f(44))
        add('rwkv_time_mix_gradient', jax.grad(lambda p, x: (jax.vmap(rwkv, (None, 0))(p, x) ** 2).mean()), pr, f(3, 85, 44))
    @section
    def rest():
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                for c in (90, 90): x = nn.LayerNorm(dtype=jnp.bfloat16)(nn.gelu(nn.Dense(c, dtype=jnp.bfloat16)(x)))
                return nn.Dense(10, dtype=jnp.float32)(x)
        m = Net(); x = f(37, 70); p = R.flax(m, x); tx = optax.sgd(.1, momentum=.9, nesterov=True)
        def step(p, s, scale, good, x, y):
            l, g = jax.value_and_grad(lambda p: ce(m.apply(p, x), y) * scale)(p); g = jax.tree.map(lambda v: v / scale, g); ok = jnp.all(jnp.array([jnp.isfinite(v).all() for v in jax.tree.leaves(g)])); up, s2 = tx.update(g, s, p); pn = optax.apply_updates(p, up)
            sel = lambda a, b: jax.tree.map(lambda x, y: jnp.where(ok, x, y), a, b); grow = good >= 2000; return sel(pn, p), sel(s2, s), jnp.where(ok, jnp.where(grow, scale * 2, scale), scale / 2), jnp.where(ok & ~grow, good + 1, 0), l / scale
        def act(p, x):
            def cond(s): return (s[4] < 8) & (s[1] < .99).any()
            def body(s):
                h, halt, out, rem, n = s; h = jnp.tanh(h @ p['w'] + x @ p['u']); pr = jax.nn.sigmoid(h @ p['h'])[:, 0]; run = halt < .99; new = jnp.where(halt + pr > .99, 1 - halt, pr) * run; return h, halt + new, out + new[:, None] * h, rem + run, n + 1
            return lax.while_loop(cond, body, (jnp.zeros((x.shape[0], 52)), jnp.zeros(x.shape[0]), jnp.zeros((x.shape[0], 52)), jnp.zeros(x.shape[0]), 0))
        add('adaptive_computation_time', act, dict(w=f(52, 52, k=.1), u=f(30, 52, k=.2), h=f(52, 1, k=.3)), f(33, 30))
        def lora(ab, ws, x, y):
            for (a, b), w in zip(ab, ws): x = jax.nn.gelu(x @ w + 2. * (x @ a) @ b)
            return ((x - y) ** 2).mean()
        add('lora_gradient', jax.grad(lora), [(f(130, 5, k=.1), f(5, 130)) for _ in range(4)], [f(130, 130, k=.1) for _ in range(4)], f(41, 130), f(41, 130))
        def style(p, z, n):
            w = z
            for a in p['map']: w = jax.nn.leaky_relu(w @ a, .2)
            x = jnp.broadcast_to(p['const'], (z.shape[0],) + p['const'].shape); k1 = jnp.array([1., 3., 3., 1.]); k1 = jnp.outer(k1, k1) / 16
            for j, (A, W) in enumerate(p['l']):
                s = w @ A + 1; ww = W[None] * s[:, None, None, :, None]; ww = ww * lax.rsqrt((ww ** 2).sum((1, 2, 3), keepdims=True) + 1e-8)
                x = jax.vmap(lambda x, w: lax.conv_transpose(x[None], w, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))[0])(x, ww); C = x.shape[-1]; x = lax.conv_general_dilated(x, jnp.tile(k1[:, :, None, None], (1, 1, 1, C)), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=C); x = jax.nn.leaky_relu(x + .1 * n[j], .2)
            return x
        ps = dict(map=[f(30, 30, k=.2) for _ in range(3)], const=f(5, 5, 24), l=[(f(30, 24, k=.1), f(3, 3, 24, 18)), (f(30, 18, k=.1), f(3, 3, 18, 10))])
        add('stylegan_modulated_synthesis', style, ps, f(3, 30), [f(3, 10, 10, 1), f(3, 20, 20, 1)])
        add('stylegan_modulated_gradient', jax.grad(lambda p, z, n: (style(p, z, n) ** 2).mean()), ps, f(3, 30), [f(3, 10, 10, 1), f(3, 20, 20, 1)])
        def distill(s, t, x, y):
            net = lambda p, x: functools.reduce(lambda h, w: jax.nn.relu(h @ w), p[:-1], x) @ p[-1]
            def loss(s): a, b = net(s, x), lax.stop_gradient(net(t, x)); T = 4.; return T * T * (jax.nn.softmax(b / T) * (jax.nn.log_softmax(b / T) - jax.nn.log_softmax(a / T))).sum(-1).mean() * .7 + .3 * ce(a, y)
            return jax.value_and_grad(loss)(s)
        add('distillation_gradient', distill, [f(45, 30, k=.2), f(30, 19, k=.2)], [f(45, 110, k=.2), f(110, 110, k=.1), f(110, 19, k=.1)], f(61, 45), i(19, 61))
        def fsq(p, x):
            lev = jnp.array([8, 6, 5, 5.]); z = jax.nn.gelu(x @ p['e1']) @ p['e2']; h = (lev - 1) / 2 * 1.001; o = jnp.where(lev % 2 == 0, .5, 0.); b = jnp.tanh(z + jnp.arctanh(o / h)) * h - o; q = b + lax.stop_gradient(jnp.round(b) - b); ix = ((q + jnp.floor(lev / 2)) * jnp.array([1, 8, 48, 240.])).sum(-1).astype(jnp.int32)
            y = jax.nn.gelu((q / (lev / 2)) @ p['d1']) @ p['d2']; return ((y - x) ** 2).mean(), jnp.bincount(ix.ravel(), length=1200)
        add('finite_scalar_quantiser_gradient', jax.value_and_grad(fsq, has_aux=True), dict(e1=f(27, 60, k=.2), e2=f(60, 4, k=.2), d1=f(4, 60), d2=f(60, 27, k=.1)), f(5, 90, 27))
    return P
