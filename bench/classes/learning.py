"""Training steps of models as papers and tutorials write them, in plain JAX."""
import numpy as np

from by_value import Programs, Random

R = Random(0)
f32, i32 = R.f32, R.i32
FACTOR = 512.0  # Updates divide by roots of small means of squares; losses go through many layers.


def dense(i, o):
    return {'w': f32(i, o) * np.float32(i ** -0.5), 'b': f32(o) * np.float32(0.1)}


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn, random

    P = Programs()
    add = P.add
    NHWC = ('NHWC', 'HWIO', 'NHWC')

    def apply(p, x):
        return x @ p['w'] + p['b']

    def conv(x, w, stride=1, groups=1):
        return lax.conv_general_dilated(x, w, (stride, stride), 'SAME', dimension_numbers=NHWC, feature_group_count=groups)

    def layer_norm(x, eps=1e-5):
        m = x.mean(-1, keepdims=True)
        return (x - m) * lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + eps)

    def cross_entropy(logits, y):
        return -jnp.take_along_axis(nn.log_softmax(logits), y[:, None], -1).mean()

    def sgd(loss, rate=0.01):
        def step(params, *batch):
            value, g = jax.value_and_grad(loss)(params, *batch)
            return value, jax.tree.map(lambda p, g: p - rate * g, params, g)
        return step

    # A bottleneck network with batch norms whose running moments go along.
    def batch_norm(x, p, s):
        m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
        moved = {'m': 0.9 * s['m'] + 0.1 * m, 'v': 0.9 * s['v'] + 0.1 * v}
        return (x - m) * lax.rsqrt(v + 1e-5) * p['g'] + p['b'], moved

    def bottleneck(x, p, s, stride):
        new = {}
        y, new['1'] = batch_norm(conv(x, p['w1']), p['n1'], s['1'])
        y, new['2'] = batch_norm(conv(nn.relu(y), p['w2'], stride), p['n2'], s['2'])
        y, new['3'] = batch_norm(conv(nn.relu(y), p['w3']), p['n3'], s['3'])
        if 'skip' in p:
            x = conv(x, p['skip'], stride)
        return nn.relu(x + y), new

    def bottleneck_params(i, m, o, skip):
        norm = lambda c: {'g': np.ones(c, np.float32), 'b': np.zeros(c, np.float32)}
        p = {'w1': f32(1, 1, i, m) * 0.2, 'w2': f32(3, 3, m, m) * 0.1, 'w3': f32(1, 1, m, o) * 0.2, 'n1': norm(m), 'n2': norm(m), 'n3': norm(o)}
        return p | ({'skip': f32(1, 1, i, o) * 0.2} if skip else {})

    def moments(m, o):
        one = lambda c: {'m': np.zeros(c, np.float32), 'v': np.ones(c, np.float32)}
        return {'1': one(m), '2': one(m), '3': one(o)}

    def resnet_step(p, s, m, x, y):
        def loss(p):
            h = nn.relu(conv(x, p['stem'], 2))
            new = []
            for k, q in enumerate(p['blocks']):
                h, n = bottleneck(h, q, s[k], 2 if k == 1 else 1)
                new.append(n)
            return cross_entropy(apply(p['head'], h.mean((1, 2))), y), new
        (value, new), g = jax.value_and_grad(loss, has_aux=True)(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
        return jax.tree.map(lambda p, m: p - 0.05 * m, p, m), new, m, value

    net = {'stem': f32(7, 7, 3, 16) * 0.1, 'blocks': [bottleneck_params(16, 16, 64, True), bottleneck_params(64, 32, 128, True), bottleneck_params(128, 32, 128, False)],
           'head': dense(128, 10)}
    add('bottleneck_net_step', resnet_step, net, [moments(16, 64), moments(32, 128), moments(32, 128)], jax.tree.map(np.zeros_like, net), f32(8, 40, 40, 3), i32(10, 8))

    # Denoising diffusion: a U-Net that is told the time.
    def group_norm(x, groups):
        b, h, w, c = x.shape
        y = x.reshape(b, h, w, groups, c // groups)
        m = y.mean((1, 2, 4), keepdims=True)
        v = y.var((1, 2, 4), keepdims=True)
        return ((y - m) * lax.rsqrt(v + 1e-5)).reshape(x.shape)

    def time_features(t, d):
        f = jnp.exp(-np.log(1e4) * jnp.arange(d // 2) / (d // 2))
        a = t[:, None] * f
        return jnp.concatenate([jnp.sin(a), jnp.cos(a)], -1)

    def unet(p, x, t):
        e = nn.silu(apply(p['time'], time_features(t, 32)))

        def block(x, q):
            h = conv(nn.silu(group_norm(x, 4)), q['a']) + apply(q['t'], e)[:, None, None]
            return conv(nn.silu(group_norm(h, 4)), q['b']) + (conv(x, q['s']) if 's' in q else x)
        a = block(conv(x, p['in']), p['d0'])
        b = block(conv(a, p['down'], 2), p['d1'])
        n = b.shape[1] * b.shape[2]
        q, k, v = jnp.split(group_norm(b, 4).reshape(-1, n, 32) @ p['qkv'], 3, -1)
        b = b + (nn.softmax(q @ k.swapaxes(1, 2) / np.sqrt(32)) @ v).reshape(b.shape)
        up = conv(jnp.repeat(jnp.repeat(b, 2, 1), 2, 2), p['up'])
        return conv(nn.silu(group_norm(block(jnp.concatenate([up, a], -1), p['u0']), 4)), p['out'])

    def unet_block(i, o):
        q = {'a': f32(3, 3, i, o) * 0.1, 'b': f32(3, 3, o, o) * 0.1, 't': dense(32, o)}
        return q | ({'s': f32(1, 1, i, o) * 0.2} if i != o else {})

    unet_params = {'time': dense(32, 32), 'in': f32(3, 3, 3, 16) * 0.2, 'd0': unet_block(16, 16), 'down': f32(3, 3, 16, 32) * 0.1, 'd1': unet_block(32, 32),
                   'qkv': f32(32, 96) * 0.2, 'up': f32(3, 3, 32, 16) * 0.1, 'u0': unet_block(32, 16), 'out': f32(3, 3, 16, 3) * 0.1}

    def ddpm_loss(p, key, x):
        a, b = random.split(key)
        t = random.randint(a, x.shape[:1], 0, 1000)
        noise = random.normal(b, x.shape)
        keep = jnp.cumprod(1 - jnp.linspace(1e-4, 0.02, 1000))[t][:, None, None, None]
        return ((unet(p, jnp.sqrt(keep) * x + jnp.sqrt(1 - keep) * noise, t.astype(jnp.float32)) - noise) ** 2).mean()
    key = np.array([0, 9], np.uint32)
    add('diffusion_unet_step', sgd(ddpm_loss), unet_params, key, f32(4, 16, 16, 3))

    def ddim(p, x):
        keep = jnp.cumprod(1 - jnp.linspace(1e-4, 0.02, 1000))

        def step(x, t):
            now, then = keep[t], jnp.where(t >= 100, keep[t - 100], 1.0)
            e = unet(p, x, jnp.full(x.shape[0], t, jnp.float32))
            clean = jnp.clip((x - jnp.sqrt(1 - now) * e) / jnp.sqrt(now), -2, 2)
            return jnp.sqrt(then) * clean + jnp.sqrt(1 - then) * e, None
        return lax.scan(step, x, jnp.arange(999, 0, -100))[0]
    add('diffusion_sampling', ddim, unet_params, f32(1, 16, 16, 3))

    # A vision transformer under AdamW with clipped gradients.
    def vit(p, x):
        b, h, w, c = x.shape
        t = x.reshape(b, h // 4, 4, w // 4, 4, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, h * w // 16, 16 * c) @ p['patch']
        t = jnp.concatenate([jnp.broadcast_to(p['cls'], (b, 1, t.shape[-1])), t], 1) + p['pos']
        for q in p['layers']:
            n, d = t.shape[1:]
            a = (layer_norm(t) @ q['qkv']).reshape(b, n, 3, 3, d // 3)
            s = nn.softmax(jnp.einsum('bqhd,bkhd->bhqk', a[:, :, 0], a[:, :, 1]) / np.sqrt(d // 3))
            t = t + jnp.einsum('bhqk,bkhd->bqhd', s, a[:, :, 2]).reshape(t.shape) @ q['o']
            t = t + nn.gelu(layer_norm(t) @ q['up']) @ q['down']
        return layer_norm(t)[:, 0] @ p['head']

    def adamw_clipped(loss):
        def step(p, m, v, n, *batch):
            value, g = jax.value_and_grad(loss)(p, *batch)
            norm = jnp.sqrt(sum((x * x).sum() for x in jax.tree.leaves(g)))
            g = jax.tree.map(lambda x: x * jnp.minimum(1.0, 1.0 / norm), g)
            m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
            v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
            a, b = 1 - 0.9 ** n, 1 - 0.99 ** n
            p = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / a / (jnp.sqrt(v / b) + 1e-3) + 0.01 * p), p, m, v)
            return p, m, v, value
        return step
    d = 48
    vit_params = {'patch': f32(48, d) * 0.2, 'cls': f32(1, d), 'pos': f32(37, d) * 0.1, 'head': f32(d, 10) * 0.2,
                  'layers': [{'qkv': f32(d, 3 * d) * 0.15, 'o': f32(d, d) * 0.15, 'up': f32(d, 4 * d) * 0.15, 'down': f32(4 * d, d) * 0.1} for _ in range(2)]}
    zeros = jax.tree.map(np.zeros_like, vit_params)
    add('vision_transformer_adamw', adamw_clipped(lambda p, x, y: cross_entropy(vit(p, x), y)), vit_params, zeros, zeros, np.float32(3), f32(7, 24, 24, 3), i32(10, 7))

    def window_attention(p, x):
        b, h, w, c = x.shape
        y = jnp.roll(x, (-2, -2), (1, 2)).reshape(b, h // 4, 4, w // 4, 4, c).transpose(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
        q, k, v = jnp.split((y @ p['qkv']).reshape(-1, 16, 3 * 4, c // 4).transpose(0, 2, 1, 3), 3, 1)
        s = nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(c // 4) + p['bias'])
        y = (s @ v).transpose(0, 2, 1, 3).reshape(b, h // 4, w // 4, 4, 4, c).transpose(0, 1, 3, 2, 4, 5).reshape(x.shape)
        return x + jnp.roll(y, (2, 2), (1, 2)) @ p['o']
    swin = {'qkv': f32(32, 96) * 0.2, 'o': f32(32, 32) * 0.2, 'bias': f32(4, 16, 16)}
    add('shifted_windows_gradient', jax.grad(lambda p, x: (window_attention(p, x) ** 2).mean()), swin, f32(2, 16, 16, 32))

    def convnext(p, x):
        for q in p:
            y = layer_norm(conv(x, q['deep'], 1, x.shape[-1]))
            x = x + q['scale'] * (nn.gelu(y @ q['up']) @ q['down'])
        return x
    blocks = [{'deep': f32(7, 7, 1, 40) * 0.1, 'up': f32(40, 160) * 0.1, 'down': f32(160, 40) * 0.1, 'scale': np.full(40, 0.1, np.float32)} for _ in range(2)]
    add('convnext_gradient', jax.value_and_grad(lambda p, x: (convnext(p, x) ** 2).mean()), blocks, f32(2, 14, 14, 40))

    # Losses over pairs.
    def clip_loss(p, image, text):
        a, b = apply(p['image'], image), apply(p['text'], text)
        a, b = (x / jnp.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b))
        logits = jnp.exp(p['scale']) * a @ b.T
        at = jnp.arange(len(a))
        return 0.5 * (cross_entropy(logits, at) + cross_entropy(logits.T, at))
    add('image_text_step', sgd(clip_loss), {'image': dense(96, 32), 'text': dense(80, 32), 'scale': np.float32(1.5)}, f32(61, 96), f32(61, 80))

    def nt_xent(z):
        z = z / jnp.linalg.norm(z, axis=-1, keepdims=True)
        s = z @ z.T / 0.5 - 1e9 * jnp.eye(len(z))
        return cross_entropy(s, jnp.roll(jnp.arange(len(z)), len(z) // 2))
    add('contrastive_gradient', jax.grad(nt_xent), f32(128, 48))

    def hard_triplets(e, y):
        d = jnp.sqrt(jnp.maximum(((e[:, None] - e[None]) ** 2).sum(-1), 1e-6))
        same = y[:, None] == y[None]
        far = jnp.where(same, d, 0).max(1)
        near = jnp.where(same, jnp.inf, d).min(1)
        return nn.relu(far - near + 0.3).mean()
    add('hard_triplets_gradient', jax.value_and_grad(hard_triplets), f32(96, 24), i32(8, 96))

    def list_ranking(s, r):
        order = jnp.argsort(-r, axis=-1)
        s = jnp.take_along_axis(s, order, -1)
        return (lax.cumlogsumexp(s, axis=1, reverse=True) - s).mean()
    add('list_ranking_gradient', jax.grad(list_ranking), f32(50, 21), f32(50, 21))

    def lambda_rank(s, y):
        gain = 2.0 ** y - 1
        place = (s[:, None, :] > s[:, :, None]).sum(-1)
        discount = 1 / jnp.log2(place + 2.0)
        delta = jnp.abs((gain[:, :, None] - gain[:, None]) * (discount[:, :, None] - discount[:, None]))
        return (jnp.where(y[:, :, None] > y[:, None], nn.softplus(-(s[:, :, None] - s[:, None])), 0) * lax.stop_gradient(delta)).mean()
    add('lambda_rank_gradient', jax.grad(lambda_rank), f32(20, 35), R.randint(0, 4, (20, 35)).astype(np.float32))

    # Sequences.
    def selective_scan(p, x):
        b, t, c = x.shape
        delta = nn.softplus(x @ p['delta'])
        B, C = jnp.split(x @ p['bc'], 2, -1)
        decay = jnp.exp(delta[..., None] * -jnp.exp(p['a']))
        step_in = delta[..., None] * B[:, :, None] * x[..., None]

        def step(h, s):
            h = h * s[0] + s[1]
            return h, (h * s[2][:, None]).sum(-1)
        return lax.scan(step, jnp.zeros((b, c, B.shape[-1])), (decay.swapaxes(0, 1), step_in.swapaxes(0, 1), C.swapaxes(0, 1)))[1].swapaxes(0, 1) + x * p['d']
    mamba = {'delta': f32(24, 24) * 0.1, 'bc': f32(24, 16) * 0.2, 'a': f32(24, 8) * 0.3, 'd': f32(24)}
    add('selective_scan', selective_scan, mamba, f32(2, 64, 24))
    add('selective_scan_gradient', jax.grad(lambda p, x: (selective_scan(p, x) ** 2).mean()), mamba, f32(2, 64, 24))

    def s4d(p, x):
        a = -jnp.exp(p['re']) + 1j * p['im']
        t = jnp.arange(x.shape[1])
        k = 2 * (p['c'] * (jnp.exp(a) - 1) / a * jnp.exp(a[..., None] * t).transpose(2, 0, 1)).sum(-1).real
        n = 2 * x.shape[1]
        return nn.gelu(jnp.fft.irfft(jnp.fft.rfft(x, n, 1) * jnp.fft.rfft(k, n, 0), n, 1)[:, :x.shape[1]])
    s4_params = {'re': f32(16, 8) * 0.2 - 1, 'im': f32(16, 8) * 2, 'c': (f32(16, 8) + 1j * f32(16, 8)).astype(np.complex64)}
    add('diagonal_state_space', s4d, s4_params, f32(3, 100, 16))
    add('diagonal_state_space_gradient', jax.grad(lambda q, x: (s4d(s4_params | q, x) ** 2).mean()), {'re': s4_params['re'], 'im': s4_params['im']}, f32(3, 100, 16))

    def time_mixing(p, x):
        k, v, r = x @ p['k'], x @ p['v'], nn.sigmoid(x @ p['r'])

        def step(s, kv):
            a, b, m = s
            k, v = kv
            top = jnp.maximum(m, p['first'] + k)
            e, f = jnp.exp(m - top), jnp.exp(p['first'] + k - top)
            out = (e * a + f * v) / (e * b + f)
            w = m - jnp.exp(p['decay'])
            top = jnp.maximum(w, k)
            e, f = jnp.exp(w - top), jnp.exp(k - top)
            return (e * a + f * v, e * b + f, top), out
        z = jnp.zeros(k.shape[1:])
        return (r * lax.scan(step, (z, z, z - 1e30), (k, v))[1]) @ p['o']
    rwkv = {n: f32(32, 32) * 0.2 for n in 'kvro'} | {'first': f32(32), 'decay': f32(32) * 0.3}
    add('time_mixing', time_mixing, rwkv, f32(90, 2, 32))
    add('time_mixing_gradient', jax.grad(lambda p, x: (time_mixing(p, x) ** 2).mean()), rwkv, f32(90, 2, 32))

    def retention(q, k, v, gamma):
        def step(s, x):
            q, k, v = x
            s = gamma[:, None, None] * s + k[..., :, None] * v[..., None, :]
            return s, (q[..., None] * s).sum(-2)
        return lax.scan(step, jnp.zeros((q.shape[1], q.shape[2], v.shape[2])), (q, k, v))[1]
    add('retention', retention, f32(80, 4, 16), f32(80, 4, 16) * 0.2, f32(80, 4, 16), np.array([0.9, 0.95, 0.97, 0.99], np.float32))

    def seq2seq(p, x, y):
        def cell(q, s, x):
            i, f, g, o = jnp.split(jnp.concatenate([x, s[0]], -1) @ q['w'] + q['b'], 4, -1)
            c = nn.sigmoid(f) * s[1] + nn.sigmoid(i) * jnp.tanh(g)
            return nn.sigmoid(o) * jnp.tanh(c), c
        z = jnp.zeros((x.shape[0], 24))
        s, memory = lax.scan(lambda s, x: (lambda s: (s, s[0]))(cell(p['encode'], s, x)), (z, z), p['from'][x].swapaxes(0, 1))

        def decode(s, w):
            a = nn.softmax((memory * s[0]).sum(-1), 0)
            s = cell(p['decode'], s, jnp.concatenate([w, (a[..., None] * memory).sum(0)], -1))
            return s, s[0]
        out = lax.scan(decode, s, p['to'][y[:, :-1]].swapaxes(0, 1))[1]
        return cross_entropy(apply(p['out'], out.swapaxes(0, 1)).reshape(-1, 60), y[:, 1:].reshape(-1))
    s2s = {'from': f32(50, 20), 'to': f32(60, 20), 'encode': dense(44, 96), 'decode': dense(68, 96), 'out': dense(24, 60)}
    add('sequence_to_sequence_step', sgd(seq2seq), s2s, i32(50, 6, 13), i32(60, 6, 11))

    def route(p, x):
        n, experts, capacity = x.shape[0], 6, 24
        gates = nn.softmax(x @ p['gate'])
        weight, expert = lax.top_k(gates, 2)
        hot = nn.one_hot(expert.T.reshape(-1), experts, dtype=jnp.int32)
        place = (jnp.cumsum(hot, 0) * hot).sum(-1) - 1
        keep = place < capacity
        at = jnp.where(keep, expert.T.reshape(-1) * capacity + place, experts * capacity)
        rows = jnp.tile(jnp.arange(n), 2)
        inside = jnp.zeros((experts * capacity + 1, x.shape[1])).at[at].set(x[rows])[:-1].reshape(experts, capacity, -1)
        y = jnp.einsum('ech,ehd->ecd', nn.gelu(jnp.einsum('ecd,edh->ech', inside, p['up'])), p['down']).reshape(experts * capacity, -1)
        y = jnp.concatenate([y, jnp.zeros_like(y[:1])])[at] * weight.T.reshape(-1)[:, None]
        balance = experts * (gates.mean(0) * nn.one_hot(expert[:, 0], experts).mean(0)).sum()
        return y.reshape(2, n, -1).sum(0), balance
    moe = {'gate': f32(32, 6), 'up': f32(6, 32, 64) * 0.2, 'down': f32(6, 64, 32) * 0.1}
    add('routed_experts', route, moe, f32(64, 32))
    add('routed_experts_gradient', jax.grad(lambda p, x: (lambda y, b: (y * y).mean() + 0.01 * b)(*route(p, x))), moe, f32(64, 32))

    def lora(adapters, base, x, y):
        h = x
        for a, w in zip(adapters, base):
            h = nn.gelu(h @ w.astype(jnp.float32) + 2.0 * (h @ a['a']) @ a['b'])
        return cross_entropy(h, y)
    add('low_rank_adapters_step', sgd(lora), [{'a': f32(128, 4) * 0.1, 'b': f32(4, 128) * 0.1} for _ in range(3)],
        lambda: [jnp.asarray(f32(128, 128) * 0.1, jnp.bfloat16) for _ in range(3)], f32(40, 128), i32(128, 40))

    def recomputed(p, x):
        @jax.checkpoint
        def layer(x, q):
            return x + jnp.tanh(layer_norm(x) @ q['a']) @ q['b'], None
        return (lax.scan(layer, x, p)[0] ** 2).mean()
    add('recomputed_layers_step', sgd(recomputed), {'a': f32(5, 40, 120) * 0.1, 'b': f32(5, 120, 40) * 0.1}, f32(33, 40))

    # Generative models.
    def coupling(p, x):
        logdet = 0.0
        for k, q in enumerate(p):
            a, b = jnp.split(x, 2, -1)
            if k % 2:
                a, b = b, a
            s, t = jnp.split(apply(q[1], nn.relu(apply(q[0], a))), 2, -1)
            s = jnp.tanh(s)
            b = b * jnp.exp(s) + t
            logdet = logdet + s.sum(-1)
            x = jnp.concatenate([b, a] if k % 2 else [a, b], -1)
        return (0.5 * (x * x).sum(-1) - logdet).mean()
    add('coupling_flow_step', sgd(coupling), [[dense(5, 32), dense(32, 10)] for _ in range(4)], f32(100, 10))

    def spline_flow(p, x):
        w = nn.softmax(p['w'], -1) * 0.96 + 0.005
        h = nn.softmax(p['h'], -1) * 0.96 + 0.005
        s = nn.softplus(p['s']) + 0.1
        xs, ys = (jnp.pad(jnp.cumsum(v, -1), ((0, 0), (1, 0))) for v in (w, h))
        x = nn.sigmoid(x)
        k = jnp.clip((x[..., None] >= xs).sum(-1) - 1, 0, 7)
        at = lambda v, k: jnp.take_along_axis(v, k.T, 1).T
        x0, y0, wk, hk, s0, s1 = at(xs, k), at(ys, k), at(w, k), at(h, k), at(s, k), at(s, k + 1)
        t = (x - x0) / wk
        slope = hk / wk
        y = y0 + hk * (slope * t * t + s0 * t * (1 - t)) / (slope + (s0 + s1 - 2 * slope) * t * (1 - t))
        return (y ** 2).mean()
    add('spline_flow_gradient', jax.grad(spline_flow), {'w': f32(6, 8), 'h': f32(6, 8), 's': f32(6, 9)}, f32(200, 6))

    def wasserstein(p, key, real, fake):
        critic = lambda x: apply(p[1], nn.leaky_relu(apply(p[0], x), 0.2))[..., 0]
        mix = random.uniform(key, (real.shape[0], 1))
        g = jax.vmap(jax.grad(critic))(mix * real + (1 - mix) * fake)
        return critic(fake).mean() - critic(real).mean() + 10 * ((jnp.sqrt((g * g).sum(-1) + 1e-6) - 1) ** 2).mean()
    add('gradient_penalty_step', sgd(wasserstein), [dense(30, 64), dense(64, 1)], key, f32(50, 30), f32(50, 30))

    def vae(p, key, x):
        h = nn.relu(conv(nn.relu(conv(x, p['c1'], 2)), p['c2'], 2)).reshape(x.shape[0], -1)
        m, v = jnp.split(apply(p['z'], h), 2, -1)
        z = m + jnp.exp(0.5 * v) * random.normal(key, m.shape)
        y = nn.relu(apply(p['h'], z)).reshape(-1, 7, 7, 16)
        y = nn.relu(lax.conv_transpose(y, p['t1'], (2, 2), 'SAME'))
        y = lax.conv_transpose(y, p['t2'], (2, 2), 'SAME')
        return (nn.softplus(y) - x * y).sum((1, 2, 3)).mean() + 0.5 * (jnp.exp(v) + m * m - 1 - v).sum(-1).mean()
    add('convolutional_vae_step', sgd(vae, 1e-4), {'c1': f32(3, 3, 1, 8) * 0.3, 'c2': f32(3, 3, 8, 16) * 0.1, 'z': dense(784, 20), 'h': dense(10, 784),
                                                  't1': f32(3, 3, 16, 8) * 0.1, 't2': f32(3, 3, 8, 1) * 0.1}, key, np.abs(f32(5, 28, 28, 1)) % 1)

    # Graphs.
    def gat(p, x, src, dst):
        n = x.shape[0]
        for q in p:
            h = (x @ q['w']).reshape(n, 4, -1)
            e = nn.leaky_relu((h * q['l']).sum(-1)[src] + (h * q['r']).sum(-1)[dst], 0.2)
            top = jax.ops.segment_max(e, dst, n)
            a = jnp.exp(e - top[dst])
            a = a / (jax.ops.segment_sum(a, dst, n)[dst] + 1e-9)
            x = nn.elu(jax.ops.segment_sum(a[..., None] * h[src], dst, n).reshape(n, -1))
        return x
    gat_params = [{'w': f32(20, 32) * 0.2, 'l': f32(4, 8), 'r': f32(4, 8)}, {'w': f32(32, 32) * 0.2, 'l': f32(4, 8), 'r': f32(4, 8)}]
    self_loops = np.arange(150, dtype=np.int32)
    src, dst = np.concatenate([i32(150, 700), self_loops]), np.concatenate([i32(150, 700), self_loops])
    add('graph_attention_step', sgd(lambda p, x, s, t, y: cross_entropy(gat(p, x, s, t), y)), gat_params, f32(150, 20), src, dst, i32(7, 150))

    def gcn(p, x, src, dst):
        n = x.shape[0]
        degree = jax.ops.segment_sum(jnp.ones(src.shape), dst, n)
        scale = lax.rsqrt(degree)
        for k, w in enumerate(p):
            h = (x * scale[:, None]) @ w
            x = jax.ops.segment_sum(h[src], dst, n) * scale[:, None]
            x = nn.relu(x) if k + 1 < len(p) else x
        return x
    add('graph_convolution_step', sgd(lambda p, x, s, t, y: cross_entropy(gcn(p, x, s, t), y)), [f32(50, 16) * 0.2, f32(16, 7) * 0.3], f32(150, 50), src, dst, i32(7, 150))

    def egnn(p, h, x, src, dst):
        n = h.shape[0]
        for q in p:
            d = x[dst] - x[src]
            r = (d * d).sum(-1, keepdims=True)
            m = nn.silu(apply(q['e2'], nn.silu(apply(q['e1'], jnp.concatenate([h[dst], h[src], r], -1)))))
            x = x + jax.ops.segment_sum(d * jnp.tanh(apply(q['x'], m)), dst, n) / 5
            h = h + apply(q['h2'], nn.silu(apply(q['h1'], jnp.concatenate([h, jax.ops.segment_sum(m, dst, n)], -1))))
        return h, x
    egnn_params = [{'e1': dense(33, 24), 'e2': dense(24, 24), 'x': dense(24, 1), 'h1': dense(40, 24), 'h2': dense(24, 16)} for _ in range(2)]
    add('equivariant_network_step', sgd(lambda p, h, x, s, t: (lambda h, x: (h * h).mean() + (x * x).mean())(*egnn(p, h, x, s, t))), egnn_params, f32(70, 16), f32(70, 3), i32(70, 400), i32(70, 400))

    # A field of hashed features, trained by rays.
    def hashed(p, x):
        out = []
        for level, table in enumerate(p['tables']):
            scaled = x * (8 * 1.5 ** level)
            cell = jnp.floor(scaled)
            w = scaled - cell
            corner = cell.astype(jnp.uint32)
            feature = 0.0
            for c in range(8):
                bit = jnp.array([c & 1, c >> 1 & 1, c >> 2], jnp.uint32)
                q = (corner + bit) * jnp.array([1, 2654435761, 805459861], jnp.uint32)
                at = (q[..., 0] ^ q[..., 1] ^ q[..., 2]) % 512
                feature = feature + table[at] * jnp.where(bit == 1, w, 1 - w).prod(-1)[..., None]
            out.append(feature)
        return apply(p['b'], nn.relu(apply(p['a'], jnp.concatenate(out, -1))))

    def render(p, origin, direction):
        t = jnp.linspace(0.1, 1.0, 24)
        y = hashed(p, jnp.abs(origin[:, None] + direction[:, None] * t[:, None]))
        alpha = 1 - jnp.exp(-nn.softplus(y[..., 3]) * 0.05)
        through = jnp.exp(jnp.cumsum(jnp.log1p(-alpha + 1e-6), 1) - jnp.log1p(-alpha + 1e-6))
        return ((alpha * through)[..., None] * nn.sigmoid(y[..., :3])).sum(1)
    add('hashed_field_step', sgd(lambda p, o, d, c: ((render(p, o, d) - c) ** 2).mean()), {'tables': [f32(512, 2) * 0.1 for _ in range(4)], 'a': dense(8, 32), 'b': dense(32, 4)},
        f32(64, 3) * 0.3, f32(64, 3), np.abs(f32(64, 3)) % 1)

    # Gradients through gradients.
    def maml(p, x, y, xq, yq):
        net = lambda p, x: apply(p[1], jnp.tanh(apply(p[0], x)))

        def task(x, y, xq, yq):
            q = p
            for _ in range(3):
                q = jax.tree.map(lambda a, g: a - 0.1 * g, q, jax.grad(lambda q: ((net(q, x) - y) ** 2).mean())(q))
            return ((net(q, xq) - yq) ** 2).mean()
        return jax.vmap(task)(x, y, xq, yq).mean()
    add('learning_to_adapt_step', sgd(maml), [dense(1, 40), dense(40, 1)], f32(8, 10, 1), f32(8, 10, 1), f32(8, 10, 1), f32(8, 10, 1))

    def equilibrium(p, x):
        f = lambda z, x: jnp.tanh(z @ p['w'] * 0.3 + x @ p['u'])

        @jax.custom_vjp
        def solve(x):
            return lax.fori_loop(0, 25, lambda i, z: f(z, x), jnp.zeros((x.shape[0], 20)))
        solve.defvjp(lambda x: (lambda z: (z, (z, x)))(solve(x)), lambda s, g: (jax.vjp(lambda x: f(s[0], x), s[1])[1](
            lax.fori_loop(0, 25, lambda i, u: g + jax.vjp(lambda z: f(z, s[1]), s[0])[1](u)[0], g))[0],))
        return (solve(x) ** 2).mean()
    add('equilibrium_gradient', jax.grad(equilibrium, 1), {'w': f32(20, 20) * 0.3, 'u': f32(12, 20) * 0.3}, f32(30, 12))

    def hvp_power(p, v, x, y):
        loss = lambda p: cross_entropy(apply(p[1], jnp.tanh(apply(p[0], x))), y)

        def step(v, _):
            h = jax.jvp(jax.grad(loss), (p,), (v,))[1]
            n = jnp.sqrt(sum((l * l).sum() for l in jax.tree.leaves(h)))
            return jax.tree.map(lambda l: l / (n + 1e-6), h), n
        return lax.scan(step, v, None, length=6)[1]
    two = [dense(20, 30), dense(30, 5)]
    add('curvature_by_power', hvp_power, two, [dense(20, 30), dense(30, 5)], f32(80, 20), i32(5, 80))

    def per_example_private(p, key, x, y):
        g = jax.vmap(jax.grad(lambda p, x, y: cross_entropy(apply(p[1], nn.relu(apply(p[0], x[None]))), y[None])), (None, 0, 0))(p, x, y)
        norm = jnp.sqrt(sum((l * l).sum(range(1, l.ndim)) for l in jax.tree.leaves(g)))
        scale = jnp.minimum(1, 1 / (norm + 1e-6))
        leaves, tree = jax.tree.flatten(g)
        keys = random.split(key, len(leaves))
        return jax.tree.unflatten(tree, [jnp.tensordot(scale, l, 1) / len(x) + 0.01 * random.normal(k, l.shape[1:]) for k, l in zip(keys, leaves)])
    add('private_gradients', per_example_private, two, key, f32(48, 20), i32(5, 48))
    return P
