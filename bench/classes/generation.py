"""Generation of text and pictures: samplers of many kinds, caches that forget, routed and quantised layers, chunks, diffusion."""
import numpy as np
import ml_dtypes

from by_value import Programs, Random

R = Random(229)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 64.0


def bf16(*shape):
    return f32(*shape).astype(ml_dtypes.bfloat16)


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    key = np.array([3, 17], np.uint32)

    def yarn(x, at):
        """Rotary angles stretched by YaRN, pairs side by side rather than halves, in bf16."""
        d = x.shape[-1]
        f = 10000.0 ** (-jnp.arange(0, d, 2) / d)
        turns = 2048 * f / (2 * jnp.pi)
        ramp = jnp.clip((turns - 1) / 31, 0, 1)
        f = f / 8 * (1 - ramp) + f * ramp
        a = at[:, None] * f
        c, s = 1.2 * jnp.cos(a)[:, None], 1.2 * jnp.sin(a)[:, None]
        p = x.reshape(*x.shape[:-1], d // 2, 2).astype(jnp.float32)
        return jnp.stack([p[..., 0] * c - p[..., 1] * s, p[..., 0] * s + p[..., 1] * c], -1).reshape(x.shape).astype(x.dtype)
    add('rotary_stretched_in_pairs', yarn, bf16(150, 7, 64), np.arange(3000, 3150, dtype=np.int32))

    def rope_3d(x, t, h, w):
        """Rotary angles of time, height and width in three parts of a head, as for video."""
        parts, at = [], 0
        for pos, n in ((t, 16), (h, 24), (w, 24)):
            a = pos[:, None] * 100.0 ** (-jnp.arange(n // 2) / (n // 2))
            u, v = jnp.split(x[..., at:at + n], 2, -1)
            c, s = jnp.cos(a)[:, None], jnp.sin(a)[:, None]
            parts += [u * c - v * s, u * s + v * c]
            at += n
        return jnp.concatenate(parts, -1)
    add('rotary_of_three_axes', rope_3d, f32(210, 5, 64), i32(5, 210), i32(6, 210), i32(7, 210))

    def sinks(q, k, v):
        """Attention with 4 sinks and a window of 48, groups of 3 queries per key, a learned extra logit."""
        n = q.shape[0]
        i, j = jnp.arange(n)[:, None], jnp.arange(n)
        ok = (j <= i) & ((j < 4) | (i - j < 48))
        s = jnp.einsum('qgrd,kgd->grqk', q.reshape(n, 2, 3, 32), k) * 0.18
        s = jnp.where(ok, s, -1e30)
        m = jnp.maximum(s.max(-1, keepdims=True), 0.5)
        e = jnp.exp(s - m)
        p = e / (e.sum(-1, keepdims=True) + jnp.exp(0.5 - m))
        return jnp.einsum('grqk,kgd->qgrd', p, v).reshape(n, -1)
    add('attention_with_sinks', sinks, f32(163, 6, 32), f32(163, 2, 32), f32(163, 2, 32))
    add('attention_with_sinks_gradient', jax.grad(lambda q, k, v: (sinks(q, k, v) ** 2).sum(), (0, 1, 2)),
        f32(97, 6, 32), f32(97, 2, 32), f32(97, 2, 32))

    def heavy_hitters(scores, k, v, kept):
        """A cache that keeps the 32 heaviest keys of 8 heads beside the last 32 and drops the others."""
        n = scores.shape[1]
        recent = jnp.arange(n) >= n - 32
        s = jnp.where(recent, jnp.inf, scores)
        at = jnp.sort(lax.top_k(s, 64)[1], -1)
        take = lambda x: jnp.take_along_axis(x, at[..., None], 1)
        return take(k), take(v), jnp.take_along_axis(scores, at, 1) * 0.9, jnp.take_along_axis(kept, at, 1)
    add('cache_of_heavy_hitters', heavy_hitters, f32(8, 200), f32(8, 200, 40), f32(8, 200, 40), np.tile(np.arange(200, dtype=np.int32), (8, 1)))

    def cache_4_bits(packed, scale, zero, q):
        """Scores against keys of 4 bits with scales and zeros by channel, unpacked on the way."""
        low, high = packed & 15, packed >> 4
        k = jnp.stack([low, high], -1).reshape(*packed.shape[:-1], -1).astype(jnp.float32)
        k = (k - zero[:, None]) * scale[:, None]
        return jax.nn.softmax(jnp.einsum('hd,htd->ht', q, k), -1)
    add('scores_of_4_bit_keys', cache_4_bits, u8(8, 333, 32), np.abs(f32(8, 64)) * 0.1, np.abs(f32(8, 64)) * 4, f32(8, 64))

    def min_p(logits, u):
        """Samplers side by side: least share of the best, typical entropy, tail-free by second differences; cumulative draws for 12 rows."""
        p = jax.nn.softmax(logits / 0.8, -1)
        a = jnp.where(p >= 0.05 * p.max(-1, keepdims=True), p, 0)
        h = -(p * jnp.log(p + 1e-10)).sum(-1, keepdims=True)
        shift = jnp.abs(-jnp.log(p + 1e-10) - h)
        order = jnp.argsort(shift, -1)
        c = jnp.cumsum(jnp.take_along_axis(p, order, -1), -1)
        keep = jnp.roll(c, 1, -1).at[:, 0].set(0) < 0.9
        b = jnp.where(jnp.take_along_axis(keep, jnp.argsort(order, -1), -1), p, 0)
        return a / a.sum(-1, keepdims=True), b / b.sum(-1, keepdims=True), (jnp.cumsum(a, -1) > u * a.sum(-1, keepdims=True)).argmax(-1)
    add('least_share_and_typical', min_p, 3 * f32(12, 1009), R.rand(12, 1).astype(np.float32))

    def mirostat(logits, key):
        """Mirostat: surprise held at a target by feedback over 24 draws from changing logits."""
        def step(s, l):
            mu, key = s
            key, sub = jax.random.split(key)
            p = jax.nn.softmax(l)
            keep = -jnp.log2(p) < mu
            keep = keep | (p == p.max())
            k = jax.random.categorical(sub, jnp.where(keep, l, -jnp.inf))
            return (mu - 0.1 * (-jnp.log2(p[k]) - 5), key), k
        return lax.scan(step, (jnp.float32(10), jax.random.wrap_key_data(key)), logits)[1]
    add('surprise_held', mirostat, 2 * f32(24, 503), key)

    def tree_draft(p, q, tree, u):
        """A tree of 21 drafted tokens verified at once: the longest path that is accepted, for 9 requests."""
        parents = jnp.array([-1] + [0] * 4 + [1, 1, 2, 2, 3, 3, 4, 4] + [5, 6, 7, 8, 9, 10, 11, 12])
        def one(p, q, tree, u):
            ratio = p[jnp.arange(21), tree] / jnp.maximum(q[jnp.arange(21), tree], 1e-9)
            ok = u < ratio
            def step(i, s):
                good, depth = s
                g = ok[i] & good[parents[i]]
                return good.at[i].set(g), depth.at[i].set(jnp.where(g, depth[parents[i]] + 1, 0))
            good, depth = lax.fori_loop(1, 21, step, (jnp.zeros(21, bool).at[0].set(True), jnp.zeros(21, int)))
            k = depth.argmax()
            def up(k, _):
                return jnp.where(k > 0, parents[k], 0), jnp.where(k > 0, tree[k], -1)
            return lax.scan(up, k, None, length=4)[1][::-1], depth[k]
        return jax.vmap(one)(p, q, tree, u)
    soft = lambda *s: (lambda e: (e / e.sum(-1, keepdims=True)).astype(np.float32))(np.exp(R.randn(*s)))
    add('tree_of_drafts', tree_draft, soft(9, 21, 61), soft(9, 21, 61), i32(61, 9, 21), R.rand(9, 21).astype(np.float32))

    def contrastive(p, h, past):
        """Contrastive search: the 5 likeliest tokens, each punished for likeness to 77 states before."""
        v, k = lax.top_k(jax.nn.softmax(p), 5)
        n = lambda x: x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)
        s = jnp.einsum('bkd,btd->bkt', n(h[k]), n(past)).max(-1)
        at = (0.4 * v - 0.6 * s).argmax(-1)
        return jnp.take_along_axis(k, at[:, None], 1)[:, 0], s
    add('contrastive_search', contrastive, 2 * f32(6, 811), f32(811, 48), f32(6, 77, 48))

    def diverse(logits, scores, groups):
        """One step of diverse beams: 3 groups of 2, each punished for what groups before it chose."""
        def group(counts, x):
            l, s = x
            c = (s[:, None] + jax.nn.log_softmax(l) - 0.5 * counts).ravel()
            v, i = lax.top_k(c, 2)
            return counts.at[i % 307].add(1), (v, i // 307, i % 307)
        return jax.vmap(lambda l, s: lax.scan(group, jnp.zeros(307), (l, s)))(logits, scores)
    add('diverse_beams', diverse, f32(5, 3, 2, 307), f32(5, 3, 2), np.int32(3))

    def repeats(tokens, logits):
        """No three tokens twice: what would finish a repeated triple is forbidden, for 7 rows of 90 tokens."""
        def one(t, l):
            same = (t[:-2] == t[-2]) & (t[1:-1] == t[-1])
            return l.at[t[2:]].min(jnp.where(same, -jnp.inf, jnp.inf))
        return jax.vmap(one)(tokens, logits)
    add('triples_forbidden', repeats, i32(11, 7, 90), f32(7, 200))

    def expert_choice(x, router, up, down):
        """Experts that choose their 24 tokens, products by expert, results added back."""
        s = jax.nn.softmax(x @ router, -1)
        w, at = lax.top_k(s.T, 24)
        h = jnp.einsum('ekd,edf->ekf', x[at], up)
        y = jnp.einsum('ekf,efd->ekd', jax.nn.gelu(h), down) * w[..., None]
        return jnp.zeros_like(x).at[at].add(y)
    moe = (f32(120, 48), f32(48, 8), 0.15 * f32(8, 48, 96), 0.1 * f32(8, 96, 48))
    add('experts_choose_tokens', expert_choice, *moe)
    add('experts_choose_tokens_gradient', jax.grad(lambda *a: (expert_choice(*a) ** 2).sum(), (0, 1, 2, 3)), *moe)

    def sorted_experts(x, router, w1, w2):
        """Two experts per token by sorting: tokens in order of expert, slots by capacity, what overflows is dropped."""
        l = x @ router
        v, e = lax.top_k(l, 2)
        g = jax.nn.softmax(v, -1).ravel()
        e = e.ravel()
        order = jnp.argsort(e, stable=True)
        es = e[order]
        first = jnp.searchsorted(es, jnp.arange(8))
        slot = jnp.arange(len(e)) - first[es]
        ok = slot < 32
        buf = jnp.zeros((8, 32, x.shape[1])).at[es, jnp.where(ok, slot, 32)].set(x[order // 2], mode='drop')
        h = jax.nn.silu(jnp.einsum('ecd,edf->ecf', buf, w1))
        y = jnp.einsum('ecf,efd->ecd', h, w2)
        out = y.at[es, slot].get(mode='fill', fill_value=0) * (g[order] * ok)[:, None]
        return jnp.zeros_like(x).at[order // 2].add(out)
    add('experts_by_sorting', sorted_experts, *moe)

    def nf4(codes, absmax, x):
        """Rows times weights of 4-bit normal floats: a table of 16, scales by blocks of 64, themselves of 8 bits."""
        table = jnp.array([-1, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0, 0.0796, 0.1609, 0.2461, 0.3379, 0.4407, 0.5626, 0.723, 1])
        w = table[jnp.stack([codes >> 4, codes & 15], -1).reshape(-1).astype(jnp.int32)]
        s = absmax.astype(jnp.float32) / 127 * 0.07
        return x @ (w.reshape(-1, 64) * s[:, None]).reshape(x.shape[1], -1)
    add('normal_floats_of_4_bits', nf4, u8(192 * 160 // 2), u8(192 * 160 // 64), f32(3, 192))

    def gptq(w, hinv):
        """Weights rounded column by column, each column's error spread over those that follow."""
        scale = jnp.abs(w).max(1) / 7
        def step(i, s):
            w, q = s
            c = w[:, i]
            r = jnp.clip(jnp.round(c / scale), -8, 7)
            e = (c - r * scale) / hinv[i, i]
            w = w - e[:, None] * jnp.where(jnp.arange(w.shape[1]) > i, hinv[i], 0)
            return w, q.at[:, i].set(r.astype(jnp.int8))
        return lax.fori_loop(0, w.shape[1], step, (w, jnp.zeros(w.shape, jnp.int8)))[0]
    a = f32(200, 64)
    add('weights_rounded_by_columns', gptq, f32(48, 64), np.linalg.cholesky(np.linalg.inv(a.T @ a / 200 + 0.1 * np.eye(64))).T.astype(np.float32))

    def hadamard_8(x, w):
        """Rows turned by fast Hadamard steps, made 8 bits each with its scale, times 8-bit weights."""
        h = x.reshape(-1, *[2] * 7)
        for i in range(1, 8):
            a, b = jnp.split(h, 2, i)
            h = jnp.concatenate([a + b, a - b], i)
        h = h.reshape(-1, 128) * 128 ** -0.5
        s = jnp.abs(h).max(-1, keepdims=True) / 127
        q = jnp.floor(h / s + 0.5).astype(jnp.int8)
        return lax.dot(q, w, preferred_element_type=jnp.int32).astype(jnp.float32) * s * 0.01
    add('turned_and_quantised', hadamard_8, f32(37, 128), R.randint(-127, 128, (128, 200)).astype(np.int8))

    def ssd(x, dt, a, b, c):
        """Mamba 2 in chunks of 32: products within chunks, states between them."""
        n, h, p = x.shape
        m = n // 32
        x, dt = x.reshape(m, 32, h, p), dt.reshape(m, 32, h)
        b, c = b.reshape(m, 32, -1), c.reshape(m, 32, -1)
        s = jnp.cumsum(dt * a, 1)
        l = jnp.exp(jnp.where(jnp.tri(32, dtype=bool)[None, :, :, None], s[:, :, None] - s[:, None], -jnp.inf))
        y = jnp.einsum('mln,msn,mlsh,msh,mshp->mlhp', c, b, l, dt, x)
        states = jnp.einsum('msn,msh,mshp->mhpn', b, jnp.exp(s[:, -1:] - s) * dt, x)
        def step(z, v):
            st, g = v
            return z * g[:, None, None] + st, z
        prev = lax.scan(step, jnp.zeros(states.shape[1:]), (states, jnp.exp(s[:, -1])))[1]
        return (y + jnp.einsum('mln,mhpn,mlh->mlhp', c, prev, jnp.exp(s))).reshape(n, h, p)
    ssm = (f32(192, 4, 16), np.abs(f32(192, 4)) * 0.3, -np.abs(f32(4)), f32(192, 12), f32(192, 12))
    add('structured_states_in_chunks', ssd, *ssm)
    add('structured_states_in_chunks_gradient', jax.grad(lambda *a: (ssd(*a) ** 2).mean(), (0, 1, 2, 3, 4)), *ssm)

    def rwkv7(r, w, k, v, a, b):
        """A matrix state with decays by channel and a rule of rank one, 5 heads of 16, over 90 tokens."""
        def step(s, x):
            r, w, k, v, a, b = x
            s = s * w[:, None] + jnp.einsum('hij,hj,hk->hik', s, a, b) + v[..., None] * k[:, None]
            return s, jnp.einsum('hij,hj->hi', s, r)
        return lax.scan(step, jnp.zeros((5, 16, 16)), (r, w, k, v, a, b))[1]
    add('states_with_rank_one_rules', rwkv7, f32(90, 5, 16), R.uniform(0.8, 1, (90, 5, 16)).astype(np.float32), 0.3 * f32(90, 5, 16), f32(90, 5, 16),
        0.2 * f32(90, 5, 16), 0.2 * f32(90, 5, 16))

    def griffin(x, wa, wx, lam):
        """A gated linear recurrence of 96 channels by an associative scan, behind a causal convolution of 4."""
        c = sum(jnp.pad(x, ((0, 0), (3 - i, 0), (0, 0)))[:, :x.shape[1]] * 0.3 for i in range(4))
        r, i = jax.nn.sigmoid(c @ wa), jax.nn.sigmoid(c @ wx)
        log_a = -8 * r * jax.nn.softplus(lam)
        a = jnp.exp(log_a)
        u = i * c * jnp.sqrt(jnp.maximum(-jnp.expm1(2 * log_a), 1e-6))
        return lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, u), axis=1)[1]
    add('gated_recurrence_in_parallel', griffin, f32(3, 130, 96), 0.1 * f32(96, 96), 0.1 * f32(96, 96), f32(96) - 4)

    def hyena(x, filters, gates):
        """Long convolutions of order 2 by transforms of twice the length, between gates."""
        n = x.shape[0]
        y = x
        for i in range(2):
            s = jnp.fft.rfft(y, 2 * n, axis=0) * jnp.fft.rfft(filters[i], 2 * n, axis=0)
            y = gates[i] * jnp.fft.irfft(s, 2 * n, axis=0)[:n]
        return y
    add('long_convolutions_gated', hyena, f32(300, 24), 0.1 * f32(2, 300, 24), f32(2, 300, 24))

    def dpm(x, w1, w2, scale):
        """Ten steps of a multistep solver with guidance: two calls of a small net, thresholds by a quantile."""
        t = jnp.linspace(0.99, 0.01, 11)
        alpha, sigma = jnp.cos(t * jnp.pi / 2), jnp.sin(t * jnp.pi / 2)
        lam = jnp.log(alpha / sigma)
        def net(x, a, s):
            h = jnp.tanh(x @ w1 + s)
            e = h @ w2
            e0 = jnp.tanh(x @ w1) @ w2
            x0 = (x - s * (e0 + scale * (e - e0))) / a
            q = jnp.maximum(jnp.quantile(jnp.abs(x0), 0.95, axis=1, keepdims=True), 1)
            return jnp.clip(x0, -q, q) / q
        def step(s, i):
            x, last, h0 = s
            d = net(x, alpha[i], sigma[i])
            h = lam[i + 1] - lam[i]
            r = h0 / h
            dd = jnp.where(i == 0, d, (1 + 1 / (2 * r)) * d - last / (2 * r))
            return (sigma[i + 1] / sigma[i] * x - alpha[i + 1] * jnp.expm1(-h) * dd, d, h), None
        return lax.scan(step, (x, jnp.zeros_like(x), jnp.float32(1)), jnp.arange(10))[0][0]
    add('multistep_diffusion_guided', dpm, f32(5, 192), 0.1 * f32(192, 128), 0.1 * f32(128, 192), np.float32(3))

    def karras(x, w, c):
        """Heun's steps with Karras' noises and a little churn on images of 3 channels with a convolution."""
        s = (80 ** (1 / 7) + jnp.arange(9) / 8 * (0.002 ** (1 / 7) - 80 ** (1 / 7))) ** 7
        def denoise(x, s):
            i = x / jnp.sqrt(s * s + 0.25)
            h = jax.nn.silu(lax.conv_general_dilated(i, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')) + c)
            o = lax.conv_general_dilated(h, w.swapaxes(2, 3), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
            return 0.25 / (s * s + 0.25) * x + s * 0.5 / jnp.sqrt(s * s + 0.25) * o
        def step(x, i):
            d = (x - denoise(x, s[i])) / s[i]
            y = x + (s[i + 1] - s[i]) * d
            d2 = (y - denoise(y, s[i + 1])) / s[i + 1]
            return x + (s[i + 1] - s[i]) * (d + d2) / 2, None
        return lax.scan(step, x * 80, jnp.arange(8))[0]
    add('diffusion_by_heun', karras, f32(1, 20, 20, 3), 0.2 * f32(3, 3, 3, 20), f32(20))

    def merged(x, w):
        """Tokens of a picture merged: each of one half joins its likest of the other half, the 40 likest pairs of 144."""
        a, b = x[::2], x[1::2]
        n = lambda v: v / jnp.linalg.norm(v, axis=-1, keepdims=True)
        s = n(a @ w) @ n(b @ w).T
        best, to = s.max(1), s.argmax(1)
        order = jnp.argsort(-best)
        gone, kept = order[:40], jnp.sort(order[40:])
        total = b.at[to[gone]].add(a[gone])
        count = jnp.ones(len(b)).at[to[gone]].add(1)
        return jnp.concatenate([a[kept], total / count[:, None]])
    add('tokens_merged', merged, f32(144, 56), 0.2 * f32(56, 24))

    def preferences(logits, ref, tokens, mask):
        """Preferences: log-likelihoods of 4 pairs of answers under two models, their loss and its gradient."""
        def ll(l):
            return (jnp.take_along_axis(jax.nn.log_softmax(l), tokens[..., None], -1)[..., 0] * mask).sum(-1)
        def loss(l):
            d = ll(l) - ll(ref)
            return -jax.nn.log_sigmoid(0.1 * (d[:, 0] - d[:, 1])).mean()
        return jax.value_and_grad(loss)(logits)
    add('preferences_gradient', preferences, f32(4, 2, 23, 307), f32(4, 2, 23, 307), i32(307, 4, 2, 23), (R.rand(4, 2, 23) < 0.8).astype(np.float32))

    def group_policy(logp, old, rewards, mask):
        """Group-relative advantages of 6 by 8 answers, clipped ratios, a penalty of divergence: value and gradient."""
        a = (rewards - rewards.mean(1, keepdims=True)) / (rewards.std(1, keepdims=True) + 1e-4)
        def loss(l):
            r = jnp.exp(l - old)
            s = jnp.minimum(r * a[..., None], jnp.clip(r, 0.8, 1.2) * a[..., None])
            k = jnp.exp(old - l) - (old - l) - 1
            return -((s - 0.04 * k) * mask).sum() / mask.sum()
        return jax.value_and_grad(loss)(logp)
    add('group_policy_gradient', group_policy, 0.1 * f32(6, 8, 120), 0.1 * f32(6, 8, 120), f32(6, 8), (R.rand(6, 8, 120) < 0.7).astype(np.float32))
    return P
