"""Models of sequences: recurrences in chunks, linear and local attention, trees, sampled and searched outputs, and their gradients."""
import numpy as np
from by_value import Programs, Random
R = Random(902)
f32, i32 = R.f32, R.i32
FACTOR = 64.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    bf = jnp.bfloat16

    # DeltaNet chunk form: triangular solve per chunk
    def deltanet(q, k, v, beta):
        def head(q, k, v, beta):
            C = 24
            q, k, v, beta = (x.reshape((-1, C) + x.shape[1:]) for x in (q, k, v, beta))
            low = jnp.tril(jnp.ones((C, C)), -1)
            def step(S, x):
                q, k, v, b = x
                A = jnp.eye(C) + low * ((b[:, None] * k) @ k.T)
                W = jax.scipy.linalg.solve_triangular(A, b[:, None] * k, lower=True, unit_diagonal=True)
                U = jax.scipy.linalg.solve_triangular(A, b[:, None] * v, lower=True, unit_diagonal=True)
                n = U - W @ S
                o = q @ S + (jnp.tril(jnp.ones((C, C))) * (q @ k.T)) @ n
                return S + k.T @ n, o
            return lax.scan(step, jnp.zeros((k.shape[-1], v.shape[-1])), (q, k, v, beta))[1].reshape(-1, v.shape[-1])
        k = k / jnp.linalg.norm(k, axis=-1, keepdims=True)
        return jax.vmap(jax.vmap(head, (1, 1, 1, 1), 1))(q, k, v, jax.nn.sigmoid(beta))
    add('delta_rule_chunks', deltanet, f32(2, 168, 3, 20), f32(2, 168, 3, 20), f32(2, 168, 3, 28), f32(2, 168, 3))

    # xLSTM: matrix memory with exponential gates, recurrent form, stabilised
    def mlstm(q, k, v, i, f):
        def step(c, x):
            C, n, m = c; q, k, v, i, f = x
            lf = jax.nn.log_sigmoid(f)
            mn = jnp.maximum(lf + m, i)
            fi, ii = jnp.exp(lf + m - mn), jnp.exp(i - mn)
            C = fi[:, None, None] * C + ii[:, None, None] * v[:, :, None] * k[:, None, :]
            n = fi[:, None] * n + ii[:, None] * k
            h = jnp.einsum('hvk,hk->hv', C, q) / jnp.maximum(jnp.abs((n * q).sum(-1)), 1.)[:, None]
            return (C, n, mn), h
        z = jnp.zeros((q.shape[1], v.shape[-1], k.shape[-1]))
        return lax.scan(step, (z, z[:, 0], z[:, 0, 0]), (q, k, v, i, f))[1]
    add('matrix_lstm', mlstm, f32(90, 4, 22), f32(90, 4, 22) * .2, f32(90, 4, 26), f32(90, 4), f32(90, 4) + 2)
    add('matrix_lstm_gradient', lambda *a: jax.grad(lambda *a: (mlstm(*a) ** 2).mean(), (0, 1, 2, 3, 4))(*a), f32(50, 3, 14), f32(50, 3, 14) * .2, f32(50, 3, 14), f32(50, 3), f32(50, 3) + 2)
    def slstm(p, xs):
        def step(s, x):
            c, n, h, m = s
            z, i, f, o = jnp.split(x @ p['w'] + jnp.einsum('bhd,hde->bhe', h.reshape(-1, 4, 9), p['r']).reshape(h.shape[0], 4, 36)[..., :].transpose(0, 1, 2).reshape(-1, 144) + p['b'], 4, -1)
            mn = jnp.maximum(f + m, i)
            ii, ff = jnp.exp(i - mn), jnp.exp(f + m - mn)
            c, n = ff * c + ii * jnp.tanh(z), ff * n + ii
            h = jax.nn.sigmoid(o) * c / n
            return (c, n, h, mn), h
        z = jnp.zeros((xs.shape[1], 36))
        return lax.scan(step, (z, z + 1e-6, z, z), xs)[1]
    add('scalar_lstm', slstm, dict(w=f32(25, 144) * .2, r=f32(4, 9, 36) * .2, b=f32(144) * .1), f32(85, 6, 25))

    # linear attention with elu features, chunked causal, gradient
    def linatt(q, k, v):
        q, k = jax.nn.elu(q) + 1, jax.nn.elu(k) + 1
        C = 18
        ch = lambda x: x.reshape(x.shape[0], -1, C, *x.shape[2:]).swapaxes(0, 1)
        mask = jnp.tril(jnp.ones((C, C)))
        def step(c, x):
            S, z = c; q, k, v = x
            a = jnp.einsum('bihd,bjhd->bhij', q, k) * mask
            num = jnp.einsum('bhij,bjhe->bihe', a, v) + jnp.einsum('bihd,bhde->bihe', q, S)
            den = a.sum(-1).swapaxes(1, 2) + jnp.einsum('bihd,bhd->bih', q, z)
            return (S + jnp.einsum('bjhd,bjhe->bhde', k, v), z + k.sum(1)), num / den[..., None]
        B, _, H, D = q.shape
        o = lax.scan(step, (jnp.zeros((B, H, D, v.shape[-1])), jnp.zeros((B, H, D))), (ch(q), ch(k), ch(v)))[1]
        return o.swapaxes(0, 1).reshape(v.shape)
    add('linear_attention_chunks', linatt, f32(2, 126, 4, 20), f32(2, 126, 4, 20), f32(2, 126, 4, 20))
    add('linear_attention_gradient', lambda *a: jax.grad(lambda *a: (linatt(*a) ** 2).mean(), (0, 1, 2))(*a), f32(2, 126, 4, 20), f32(2, 126, 4, 20), f32(2, 126, 4, 20))

    # sliding-window attention by blocks with ALiBi, bf16
    def local(q, k, v):
        B, T, H, D = q.shape; W = 30
        nb = T // W
        q = q.reshape(B, nb, W, H, D)
        pad = lambda x: jnp.pad(x, ((0, 0), (W, 0), (0, 0), (0, 0))).reshape(B, nb + 1, W, H, D)
        two = lambda x: jnp.concatenate([pad(x)[:, :-1], pad(x)[:, 1:]], 2)
        s = jnp.einsum('bnihd,bnjhd->bnhij', q, two(k), preferred_element_type=jnp.float32) * D ** -.5
        d = jnp.arange(W)[:, None] + W - jnp.arange(2 * W)
        slope = 2. ** -(8 * jnp.arange(1, H + 1) / H)
        ok = (d >= 0) & (d < W) & ((jnp.arange(2 * W) >= W) | (jnp.arange(nb)[:, None, None] > 0))
        s = jnp.where(ok[None, :, None], s - slope[:, None, None] * d, -jnp.inf)
        return jnp.einsum('bnhij,bnjhd->bnihd', jax.nn.softmax(s, -1).astype(v.dtype), two(v)).reshape(B, T, H, D)
    Q = [np.asarray(f32(2, 210, 5, 24)) for _ in range(3)]
    add('window_attention_alibi_bf16', local, *[(lambda x=x: jnp.asarray(x, bf)) for x in Q])
    add('window_attention_alibi_gradient', lambda *a: jax.grad(lambda *a: local(*a).sum(), (0, 1, 2))(*a), f32(1, 210, 5, 24), f32(1, 210, 5, 24), f32(1, 210, 5, 24))

    # WaveNet stack, gradient
    def wavenet(p, x):
        x = x[..., None] * p['in']; skip = 0.
        for i, (wf, wg, wr, ws) in enumerate(p['layers']):
            d = 2 ** (i % 5)
            c = lambda w: lax.conv_general_dilated(x, w, (1,), [(d, 0)], rhs_dilation=(d,), dimension_numbers=('NWC', 'WIO', 'NWC'))
            z = jnp.tanh(c(wf)) * jax.nn.sigmoid(c(wg))
            skip = skip + z @ ws
            x = x + z @ wr
        return jax.nn.relu(skip) @ p['out']
    wp = dict(layers=[tuple((f32(2, 18, 18) * .2, f32(2, 18, 18) * .2, f32(18, 18) * .2, f32(18, 26) * .2)) for _ in range(6)], out=f32(26, 50) * .2)
    wp['in'] = f32(18)
    add('wavenet', wavenet, wp, f32(2, 333))
    add('wavenet_gradient', lambda p, x, y: jax.grad(lambda p: -jnp.take_along_axis(jax.nn.log_softmax(wavenet(p, x)), y[..., None], -1).mean())(p), wp, f32(2, 205), i32(50, 2, 205))
    # WaveNet generation one sample at a time with queues
    def wavenet_gen(p, key):
        qs = tuple(jnp.zeros((2 ** (i % 5), 18)) for i in range(6))
        def step(c, t):
            x, qs = c
            h = x * p['in']; skip = 0.; nq = []
            for i, (wf, wg, wr, ws) in enumerate(p['layers']):
                d = 2 ** (i % 5)
                old = lax.dynamic_index_in_dim(qs[i], t % d, 0, False)
                nq.append(lax.dynamic_update_index_in_dim(qs[i], h, t % d, 0))
                z = jnp.tanh(old @ wf[0] + h @ wf[1]) * jax.nn.sigmoid(old @ wg[0] + h @ wg[1])
                skip = skip + z @ ws; h = h + z @ wr
            lo = jax.nn.relu(skip) @ p['out']
            i = jax.random.categorical(jax.random.fold_in(key, t), lo * 3)
            return ((i - 25) / 25., tuple(nq)), i
        return lax.scan(step, (0., qs), jnp.arange(160))[1]
    add('wavenet_sampling', wavenet_gen, wp, np.array([3, 9], np.uint32))

    # FNet block and MLP mixer step with LayerNorm
    def ln(x, g, b):
        m = x.mean(-1, keepdims=True); v = ((x - m) ** 2).mean(-1, keepdims=True)
        return (x - m) * lax.rsqrt(v + 1e-6) * g + b
    def fnet(p, x):
        for l in p:
            x = ln(x + jnp.fft.fft2(x).real, l['g1'], l['b1'])
            x = ln(x + jax.nn.gelu(x @ l['w1']) @ l['w2'], l['g2'], l['b2'])
        return x
    add('fnet', fnet, [dict(g1=f32(60), b1=f32(60), g2=f32(60), b2=f32(60), w1=f32(60, 150) * .1, w2=f32(150, 60) * .1) for _ in range(3)], f32(3, 75, 60))
    def mixer(p, x):
        for l in p:
            y = ln(x, l['g1'], l['b1']).swapaxes(1, 2)
            x = x + (jax.nn.gelu(y @ l['t1']) @ l['t2']).swapaxes(1, 2)
            x = x + jax.nn.gelu(ln(x, l['g2'], l['b2']) @ l['c1']) @ l['c2']
        return x.mean(1)
    def adam(p, g, m, v, t):
        m = jax.tree.map(lambda m, g: .9 * m + .1 * g, m, g); v = jax.tree.map(lambda v, g: .999 * v + .001 * g * g, v, g)
        return jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (1 - .9 ** t)) / (jnp.sqrt(v / (1 - .999 ** t)) + 1e-3), p, m, v), m, v
    mp = [dict(g1=f32(52), b1=f32(52), g2=f32(52), b2=f32(52), t1=f32(49, 30) * .1, t2=f32(30, 49) * .1, c1=f32(52, 120) * .1, c2=f32(120, 52) * .1) for _ in range(2)]
    zero = jax.tree.map(lambda a: a * 0, mp)
    def mixer_step(p, m, v, t, x, y):
        l, g = jax.value_and_grad(lambda p: ((mixer(p, x) - y) ** 2).mean())(p)
        return l, adam(p, g, m, v, t)
    add('mixer_adam_step', mixer_step, mp, zero, zero, np.float32(3), f32(7, 49, 52), f32(7, 52))

    # BitNet ternary layer with straight-through estimate, gradient
    def bitlinear(w, x):
        s = 1 / jnp.clip(jnp.abs(w).mean(), 1e-5)
        wq = w + lax.stop_gradient(jnp.clip(jnp.round(w * s), -1, 1) / s - w)
        a = 127 / jnp.clip(jnp.abs(x).max(-1, keepdims=True), 1e-5)
        xq = x + lax.stop_gradient(jnp.clip(jnp.round(x * a), -128, 127) / a - x)
        return xq @ wq
    add('ternary_layers_gradient', lambda ws, x, y: jax.grad(lambda ws: ((bitlinear(ws[1], jax.nn.relu(bitlinear(ws[0], x)) ** 2) - y) ** 2).mean())(ws), [f32(90, 210) * .1, f32(210, 90) * .1], f32(66, 90), f32(66, 90))

    # tree LSTM bottom-up over a heap-shaped tree
    def treelstm(p, leaves):
        h, c = jnp.tanh(leaves @ p['e']), jnp.zeros((leaves.shape[0], leaves.shape[1], 30))
        while h.shape[1] > 1:
            hl, hr, cl, cr = h[:, 0::2], h[:, 1::2], c[:, 0::2], c[:, 1::2]
            i, fl, fr, o, u = jnp.split(jnp.concatenate([hl, hr], -1) @ p['w'] + p['b'], 5, -1)
            c = jax.nn.sigmoid(fl) * cl + jax.nn.sigmoid(fr) * cr + jax.nn.sigmoid(i) * jnp.tanh(u)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return h[:, 0]
    add('tree_lstm_gradient', lambda p, x: jax.grad(lambda p: (treelstm(p, x) ** 2).sum())(p), dict(e=f32(20, 30) * .2, w=f32(60, 150) * .2, b=f32(150) * .1), f32(5, 64, 20))

    # beam search of a GRU decoder with length penalty
    def beams(p, h0):
        K, V = 4, 61
        def cell(h, e):
            z = jax.nn.sigmoid(e @ p['wz'] + h @ p['uz']); r = jax.nn.sigmoid(e @ p['wr'] + h @ p['ur'])
            return (1 - z) * h + z * jnp.tanh(e @ p['wh'] + (r * h) @ p['uh'])
        def step(c, _):
            h, tok, score, done, seq, t = c
            h = cell(h, p['emb'][tok])
            lp = jax.nn.log_softmax(h @ p['out'])
            lp = jnp.where(done[:, None], jnp.where(jnp.arange(V) == 0, 0., -1e9), lp)
            tot = (score[:, None] + lp).reshape(-1)
            s, i = lax.top_k(tot, K)
            b, w = i // V, i % V
            return (h[b], w, s, done[b] | (w == 0), seq[b].at[:, t].set(w), t + 1), None
        c = (jnp.tile(h0, (K, 1)), jnp.ones(K, int), jnp.where(jnp.arange(K) == 0, 0., -1e9), jnp.zeros(K, bool), jnp.zeros((K, 26), int), 0)
        c, _ = lax.scan(step, c, None, 26)
        return c[4], c[2] / ((5 + (c[4] > 0).sum(1)) / 6) ** .6
    gp = {n: f32(40, 40) * .2 for n in ('wz', 'uz', 'wr', 'ur', 'wh', 'uh')}
    gp.update(emb=f32(61, 40), out=f32(40, 61) * .5)
    add('beam_search_gru', lambda p, h: jax.vmap(beams, (None, 0))(p, h), gp, f32(5, 40))
    return P
