"""Layers, caches, samplers and experts of language models, as they are served and trained."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

R = Random(701)
f32, i32 = R.f32, R.i32
bf = R.bf16
bfs = lambda *s: R.bf16(*s, scale=.1)


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    from jax.ad_checkpoint import checkpoint_name
    P = Programs()
    add = P.add
    key = np.array([5, 17], np.uint32)

    def rms(x, g):
        h = x.astype(jnp.float32)
        return ((h * lax.rsqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6)) * (1 + g)).astype(x.dtype)

    def yarn(dim, base=10000., scale=8., orig=512, lo=1., hi=32.):
        inv = 1 / base ** (jnp.arange(0, dim, 2) / dim)
        low = jnp.floor(dim * jnp.log(orig / (hi * 2 * jnp.pi)) / (2 * jnp.log(base)))
        high = jnp.ceil(dim * jnp.log(orig / (lo * 2 * jnp.pi)) / (2 * jnp.log(base)))
        ramp = jnp.clip((jnp.arange(dim // 2) - low) / jnp.maximum(high - low, .001), 0, 1)
        return inv / scale * ramp + inv * (1 - ramp), .1 * jnp.log(scale) + 1.

    def rope(x, pos, inv, m=1.):
        a = pos[..., None].astype(jnp.float32) * inv
        c, s = jnp.cos(a)[..., None, :] * m, jnp.sin(a)[..., None, :] * m
        x1, x2 = jnp.split(x.astype(jnp.float32), 2, -1)
        return jnp.concatenate([x1 * c - x2 * s, x2 * c + x1 * s], -1).astype(x.dtype)

    # 1 Gemma-2 like: alternating local/global layers in a scan, softcaps, pre and post norms
    D, H, KV, HD, F, L = 96, 6, 2, 24, 200, 4
    def gemma_layer(x, p, local, pos, inv):
        T = x.shape[1]
        h = rms(x, p['n1'])
        q = rope(jnp.einsum('btd,dhk->bthk', h, p['q']), pos, inv)
        k, v = jnp.einsum('btd,cdhk->cbthk', h, p['kv'])
        k = rope(k, pos, inv)
        q = q.reshape(*q.shape[:2], KV, H // KV, HD) * HD ** -.5
        s = jnp.einsum('btgrk,bsgk->bgrts', q, k)
        s = jnp.tanh(s / 50) * 50
        m = jnp.tril(jnp.ones((T, T), bool))
        near = jnp.triu(jnp.ones((T, T), bool), -15)
        m = jnp.where(local, m & near, m)
        s = jnp.where(m, s, -2e38)
        o = jnp.einsum('bgrts,bsgk->btgrk', jax.nn.softmax(s, -1), v).reshape(*x.shape[:2], H, HD)
        x = x + rms(jnp.einsum('bthk,hkd->btd', o, p['o']), p['n2'])
        h = rms(x, p['n3'])
        g = jnp.einsum('btd,cdf->cbtf', h, p['gate'])
        return x + rms((jax.nn.gelu(g[0], approximate=True) * g[1]) @ p['down'], p['n4'])
    gl = dict(n1=f32(L, D) * .1, n2=f32(L, D) * .1, n3=f32(L, D) * .1, n4=f32(L, D) * .1, q=f32(L, D, H, HD) * .1, kv=f32(L, 2, D, KV, HD) * .1,
              o=f32(L, H, HD, D) * .1, gate=f32(L, 2, D, F) * .1, down=f32(L, F, D) * .1)
    def gemma(p, emb, tok):
        x = emb[tok] * jnp.sqrt(jnp.float32(D))
        pos = jnp.broadcast_to(jnp.arange(tok.shape[1]), tok.shape)
        inv = 1 / 10000 ** (jnp.arange(0, HD, 2) / HD)
        def step(x, pl):
            p, i = pl
            return gemma_layer(x, p, i % 2 == 0, pos, inv), None
        x, _ = lax.scan(step, x, (p, jnp.arange(L)))
        return jnp.tanh(x @ emb.T / 30) * 30
    emb = f32(601, D) * .1
    add('gemma_prefill', gemma, gl, emb, i32(601, 2, 45))
    def gemma_loss(p, emb, tok):
        lg = jax.nn.log_softmax(gemma(p, emb, tok[:, :-1]))
        return -jnp.mean(jnp.take_along_axis(lg, tok[:, 1:, None], -1))
    add('gemma_gradient', jax.grad(gemma_loss, (0, 1)), gl, emb, i32(601, 2, 46))

    # 2 qwen decode step with qk-norm and bf16 cache
    def qwen(p, x, kc, vc, pos):
        h = rms(x, p['n'])
        qkv = h @ p['qkv']
        q, k, v = jnp.split(qkv, [8 * 32, 8 * 32 + 2 * 32], -1)
        q, k, v = q.reshape(-1, 8, 32), k.reshape(-1, 2, 32), v.reshape(-1, 2, 32)
        q, k = rms(q, p['qn']), rms(k, p['kn'])
        inv, m = yarn(32)
        q, k = rope(q, pos, inv, m), rope(k, pos, inv, m)
        upd = jax.vmap(lambda c, n, i: lax.dynamic_update_slice(c, n[None], (i, 0, 0)))
        kc, vc = upd(kc, k, pos), upd(vc, v, pos)
        s = jnp.einsum('bgrk,btgk->bgrt', q.reshape(-1, 2, 4, 32), kc, preferred_element_type=jnp.float32) * 32 ** -.5
        s = jnp.where(jnp.arange(kc.shape[1]) <= pos[:, None, None, None], s, -jnp.inf)
        o = jnp.einsum('bgrt,btgk->bgrk', jax.nn.softmax(s, -1).astype(jnp.bfloat16), vc)
        return x + o.reshape(x.shape[0], -1) @ p['o'], kc, vc
    qp = dict(n=bfs(192), qn=bfs(32), kn=bfs(32), qkv=bfs(192, 12 * 32), o=bfs(256, 192))
    add('qwen_decode_bf16', qwen, qp, bf(3, 192), bf(3, 211, 2, 32), bf(3, 211, 2, 32), np.array([7, 100, 210], np.int32))
    add('yarn_rotary_bf16', lambda x, pos: rope(x, pos, *yarn(40)), bf(2, 533, 6, 40), i32(4000, 2, 533))

    # 3 MoE by sort + ragged_dot, gradient
    def moe(p, x):
        E = p['w1'].shape[0]
        lg = x @ p['r']
        w, e = lax.top_k(jax.nn.softmax(lg, -1), 2)
        w = w / w.sum(-1, keepdims=True)
        flat = e.reshape(-1)
        order = jnp.argsort(flat)
        xs = x[order // 2]
        sizes = jnp.bincount(flat, length=E).astype(jnp.int32)
        h = jax.nn.silu(lax.ragged_dot(xs, p['w1'], sizes)) * lax.ragged_dot(xs, p['w3'], sizes)
        y = lax.ragged_dot(h, p['w2'], sizes)
        y = y[jnp.argsort(order)].reshape(*e.shape, -1)
        z = jnp.mean(jax.nn.logsumexp(lg, -1) ** 2)
        return jnp.einsum('tkd,tk->td', y, w), z
    mp = dict(r=f32(48, 7) * .3, w1=f32(7, 48, 80) * .1, w3=f32(7, 48, 80) * .1, w2=f32(7, 80, 48) * .1)
    add('moe_ragged', moe, mp, f32(259, 48))
    add('moe_ragged_gradient', jax.grad(lambda p, x: (lambda y, z: jnp.mean(y ** 2) + .01 * z)(*moe(p, x))), mp, f32(259, 48))
    add('moe_ragged_bf16', lambda p, x: moe(p, x)[0], jax.tree.map(lambda a: a.astype(ml_dtypes.bfloat16), mp), bf(131, 48))

    # 4 DeepSeek router: sigmoid, bias, group-limited top-k
    def ds_router(x, w, bias):
        s = jax.nn.sigmoid(x @ w)
        c = s + bias
        T, E = s.shape
        g = c.reshape(T, 8, E // 8)
        gs = lax.top_k(g, 2)[0].sum(-1)
        keep = jax.nn.one_hot(lax.top_k(gs, 3)[1], 8).sum(1) > 0
        c = jnp.where(jnp.repeat(keep, E // 8, 1), c, -jnp.inf)
        idx = lax.top_k(c, 6)[1]
        wt = jnp.take_along_axis(s, idx, 1)
        load = jnp.zeros(E).at[idx].add(1.)
        return idx, wt / wt.sum(1, keepdims=True) * 2.5, bias + .001 * jnp.sign(load.mean() - load)
    add('deepseek_router', ds_router, f32(197, 64), f32(64, 72) * .2, f32(72) * .05)

    # 5 jnp.int4 weights, groups of 32
    def int4_mm(x, q, s, z):
        w = (q.astype(jnp.float32).reshape(-1, 32, q.shape[1]) - z[:, None]) * s[:, None]
        return x @ w.reshape(q.shape)
    q4 = (R.randint(-8, 8, (512, 384))).astype(ml_dtypes.int4)
    add('int4_dtype_vector', int4_mm, f32(1, 512), q4, np.abs(f32(16, 384)) * .02, f32(16, 384))
    add('int4_dtype_rows', int4_mm, f32(23, 512), q4, np.abs(f32(16, 384)) * .02, f32(16, 384))

    # 6 DoRA gradient
    def dora(t, x, w, y):
        a, b, m = t
        v = w + a @ b
        v = v / jnp.linalg.norm(v, axis=0, keepdims=True) * m
        return jnp.mean((jax.nn.relu(x @ v) - y) ** 2)
    add('dora_gradient', jax.value_and_grad(dora), (f32(160, 4) * .1, f32(4, 144) * .1, f32(144)), f32(61, 160), f32(160, 144) * .1, f32(61, 144))

    # 7 8 bit Adam by blocks
    def q8(x):
        b = x.reshape(-1, 64)
        s = jnp.max(jnp.abs(b), 1, keepdims=True) / 127 + 1e-12
        return jnp.round(b / s).astype(jnp.int8), s
    def adam8(p, g, m, ms, v, vs, t):
        mm = (m.astype(jnp.float32) * ms).reshape(p.shape) * .9 + .1 * g
        vv = (v.astype(jnp.float32) * vs).reshape(p.shape) ** 2 * .99 + .01 * g * g
        p = p - 1e-3 * (mm / (1 - .9 ** t) / (jnp.sqrt(vv / (1 - .99 ** t)) + 1e-6) + .1 * p)
        return p, *q8(mm), *q8(jnp.sqrt(vv))
    P['adam_8bit'] = (adam8, [(lambda v=v: v) for v in (f32(300, 192), f32(300, 192), R.randint(-127, 128, (900, 64)).astype(np.int8), np.abs(f32(900, 1)) * .001,
                               R.randint(0, 128, (900, 64)).astype(np.int8), np.abs(f32(900, 1)) * .001 + .01, np.float32(7))])

    # 8 chunked logits with checkpoint in lax.map
    def chunked_ce(h, w, y):
        @jax.checkpoint
        def one(a):
            hh, yy = a
            lg = hh @ w
            return jax.nn.logsumexp(lg) - lg[yy]
        return jnp.mean(lax.map(one, (h, y), batch_size=37))
    add('chunked_logits_gradient', jax.grad(chunked_ce, (0, 1)), f32(150, 64), f32(64, 1009) * .2, i32(1009, 150))

    # 9 jax.nn.dot_product_attention
    add('dpa_gqa_window', lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True, local_window_size=(19, 0)), f32(2, 77, 8, 20), f32(2, 77, 2, 20), f32(2, 77, 2, 20))
    def dpa_loss(q, k, v, seg):
        mask = (seg[:, None, :, None] == seg[:, None, None, :])
        return jnp.sum(jax.nn.dot_product_attention(q, k, v, mask=mask, is_causal=True) ** 2)
    add('dpa_packed_gradient', jax.grad(dpa_loss, (0, 1, 2)), f32(2, 67, 4, 24), f32(2, 67, 4, 24), f32(2, 67, 4, 24), np.sort(i32(4, 2, 67)))
    add('dpa_seqlens_bf16', lambda q, k, v, n: jax.nn.dot_product_attention(q, k, v, query_seq_lengths=n, key_value_seq_lengths=n), bf(3, 90, 4, 32), bf(3, 90, 4, 32), bf(3, 90, 4, 32), np.array([90, 33, 5], np.int32))

    # 10 native sparse attention: blocks chosen by compressed scores, gathered
    def nsa(q, k, v, wk):
        T, h, d = q.shape
        B, n = 16, T // 16
        kb = jnp.einsum('nbhd,bh->nhd', k.reshape(n, B, h, d), jax.nn.softmax(wk, 0))
        s = jnp.einsum('thd,nhd->htn', q, kb)
        ok = (jnp.arange(n)[None] * B) <= jnp.arange(T)[:, None]
        s = jnp.where(ok, s, -1e9)
        top = lax.top_k(s, 3)[1]                                 # h t 3
        kk = jnp.moveaxis(k.reshape(n, B, h, d), 2, 0)
        vv = jnp.moveaxis(v.reshape(n, B, h, d), 2, 0)
        kg = jax.vmap(lambda a, i: a[i])(kk, top).reshape(h, T, 3 * B, d)
        vg = jax.vmap(lambda a, i: a[i])(vv, top).reshape(h, T, 3 * B, d)
        at = (top[..., None] * B + jnp.arange(B)).reshape(h, T, 3 * B)
        s = jnp.einsum('thd,htsd->hts', q, kg) * d ** -.5
        s = jnp.where(at <= jnp.arange(T)[None, :, None], s, -1e9)
        return jnp.einsum('hts,htsd->thd', jax.nn.softmax(s, -1), vg)
    add('native_sparse_attention', nsa, f32(128, 3, 24), f32(128, 3, 24), f32(128, 3, 24), f32(16, 3))

    # 11 BPE merges in while_loop, vmapped
    def bpe(toks, pairs, new):
        def rank(a, b):
            m = (pairs[:, 0] == a[..., None]) & (pairs[:, 1] == b[..., None])
            return jnp.where(m.any(-1), jnp.argmax(m, -1), 1 << 20)
        def one(t):
            def cond(s):
                return s[1]
            def body(s):
                t, _ = s
                r = rank(t, jnp.append(t[1:], -1))
                i = jnp.argmin(r)
                ok = r[i] < (1 << 20)
                shifted = jnp.where(jnp.arange(len(t)) > i, jnp.append(t[1:], -1), t).at[i].set(new[jnp.minimum(r[i], len(new) - 1)])
                return jnp.where(ok, shifted, t), ok
            return lax.while_loop(cond, body, (t, jnp.bool_(True)))[0]
        return jax.vmap(one)(toks)
    prs = R.randint(0, 40, (60, 2)).astype(np.int32)
    add('bpe_merges', bpe, i32(20, 9, 33), prs, np.arange(20, 80, dtype=np.int32))

    # 12 MLM masking, span corruption
    def mlm(key, t):
        k1, k2, k3 = jax.random.split(key, 3)
        pick = jax.random.uniform(k1, t.shape) < .15
        u = jax.random.uniform(k2, t.shape)
        r = jax.random.randint(k3, t.shape, 0, 30000)
        out = jnp.where(pick & (u < .8), 103, jnp.where(pick & (u >= .9), r, t))
        return out, jnp.where(pick, t, -100), pick.sum()
    add('mlm_masking', mlm, key, i32(30000, 32, 129))

    # 13 categorical sampling bf16 with approx_max_k
    def apx(key, lg):
        v, i = lax.approx_max_k(lg.astype(jnp.float32), 40)
        c = jax.random.categorical(key, v / .7)
        return jnp.take_along_axis(i, c[:, None], 1)[:, 0]
    add('approx_top_k_sampling', apx, key, bf(7, 32003))
    def minp(key, lg):
        p = jax.nn.softmax(lg / .9)
        lg = jnp.where(p < .05 * p.max(-1, keepdims=True), -jnp.inf, lg)
        std = jnp.std(jnp.where(jnp.isfinite(lg), lg, 0), -1, keepdims=True)
        lg = jnp.where(lg < lg.max(-1, keepdims=True) - 1.5 * std, -jnp.inf, lg)
        return jax.random.categorical(key, lg, -1), jax.nn.log_softmax(lg)
    add('min_p_sampling', minp, key, f32(5, 10007) * 2)

    # 14 tied embedding gradient, label smoothing
    def tied(e, tok, y):
        h = jnp.tanh(e[tok].mean(1))
        lg = h @ e.T
        lp = jax.nn.log_softmax(lg)
        return -.9 * jnp.mean(lp[jnp.arange(len(y)), y]) - .1 * jnp.mean(lp)
    add('tied_embedding_gradient', jax.grad(tied), f32(5003, 48) * .1, i32(5003, 33, 12), i32(5003, 33))

    # 15 remat policy with names, bf16
    def named(p, x):
        def layer(x, p):
            h = checkpoint_name(x @ p[0], 'pre')
            h = jax.nn.gelu(h)
            return x + checkpoint_name(h @ p[1], 'out'), None
        pol = jax.checkpoint_policies.save_only_these_names('out')
        return jnp.mean(lax.scan(jax.checkpoint(layer, policy=pol), x, p)[0].astype(jnp.float32) ** 2)
    add('named_remat_gradient_bf16', jax.grad(named), (bfs(5, 64, 200), bfs(5, 200, 64)), bf(70, 64))

    # 16 mamba decode step w/ conv state
    def mamba_step(p, x, conv, ssm):
        xz = x @ p['in']
        u, z = jnp.split(xz, 2, -1)
        conv = jnp.concatenate([conv[:, 1:], u[:, None]], 1)
        u = jax.nn.silu(jnp.sum(conv * p['cw'], 1) + p['cb'])
        dt, B, C = jnp.split(u @ p['x'], [6, 22], -1)
        dt = jax.nn.softplus(dt @ p['dt'] + p['dtb'])
        A = -jnp.exp(p['A'])
        ssm = ssm * jnp.exp(dt[..., None] * A) + (dt * u)[..., None] * B[:, None]
        y = jnp.einsum('bdn,bn->bd', ssm, C) + p['D'] * u
        return (y * jax.nn.silu(z)) @ p['out'], conv, ssm
    mb = dict(cw=f32(4, 192), cb=f32(192), x=f32(192, 38) * .1, dt=f32(6, 192), dtb=f32(192) - 3, A=f32(192, 16) * .1, D=f32(192), out=f32(192, 96) * .1)
    mb['in'] = f32(96, 384) * .05
    add('mamba_decode', mamba_step, mb, f32(5, 96), f32(5, 4, 192), f32(5, 192, 16))
    def mamba_generate(p, x, conv, ssm):
        def st(c, _):
            y, a, b = mamba_step(p, c[0], *c[1:])
            return (jnp.tanh(.5 * c[0] + .1 * y), a, b), y
        return lax.scan(st, (x, conv, ssm), None, 40)[1]
    add('mamba_generate', mamba_generate, mb, f32(1, 96), f32(1, 4, 192), f32(1, 192, 16))

    # 17 sliding attention by blocks in scan
    def blocks(q, k, v):
        T, h, d = q.shape
        W = 24
        kp, vp = (jnp.pad(a, ((W, 0), (0, 0), (0, 0))) for a in (k, v))
        def st(_, i):
            qb = lax.dynamic_slice_in_dim(q, i * W, W)
            kb, vb = lax.dynamic_slice_in_dim(kp, i * W, 2 * W), lax.dynamic_slice_in_dim(vp, i * W, 2 * W)
            s = jnp.einsum('qhd,khd->hqk', qb, kb) * d ** -.5
            dlt = jnp.arange(W)[:, None] + W - jnp.arange(2 * W)
            s = jnp.where((dlt >= 0) & (dlt < W) & (jnp.arange(2 * W) + i * W >= W), s, -1e30)
            return None, jnp.einsum('hqk,khd->qhd', jax.nn.softmax(s, -1), vb)
        return lax.scan(st, None, jnp.arange(T // W))[1].reshape(T, h, d)
    add('window_attention_in_scan', blocks, f32(240, 4, 28), f32(240, 4, 28), f32(240, 4, 28))
    add('window_attention_in_scan_gradient', jax.grad(lambda *a: jnp.sum(blocks(*a) ** 2), (0, 1, 2)), f32(240, 4, 28), f32(240, 4, 28), f32(240, 4, 28))

    # 18 patches of bytes by entropy, segment pooled
    def patch(h, ent, w):
        start = (ent > .5).at[:, 0].set(True)
        seg = jnp.cumsum(start, 1) - 1
        def one(h, s):
            m = jax.ops.segment_max(h, s, 40, indices_are_sorted=True)
            n = jax.ops.segment_sum(jnp.ones(len(s)), s, 40, indices_are_sorted=True)
            return jnp.where(n[:, None] > 0, m, 0) @ w
        return jax.vmap(one)(h, seg)
    add('byte_patches', patch, f32(3, 113, 40), f32(3, 113), f32(40, 72))

    # 19 perceiver resampler with 2 layers (f16)
    def resampler(lat, x, p):
        for w in p:
            q = (lat @ w['q']).reshape(-1, 4, 24)
            kv = (jnp.concatenate([x, lat]) @ w['kv']).reshape(-1, 2, 4, 24)
            s = jnp.einsum('lhd,shd->hls', q, kv[:, 0]) / 24 ** .5
            lat = lat + jnp.einsum('hls,shd->lhd', jax.nn.softmax(s.astype(jnp.float32), -1).astype(s.dtype), kv[:, 1]).reshape(-1, 96) @ w['o']
            lat = lat + jnp.square(jax.nn.relu(lat @ w['u'])) @ w['d']
        return lat
    h16 = lambda *s: (f32(*s) * .08).astype(np.float16)
    add('perceiver_resampler_f16', resampler, h16(13, 96), h16(197, 96), [dict(q=h16(96, 96), kv=h16(96, 192), o=h16(96, 96), u=h16(96, 160), d=h16(160, 96)) for _ in range(2)])

    # 20 fp8 training matmul with delayed scaling, e4m3 fwd e5m2 bwd
    @jax.custom_vjp
    def fp8dot(x, w, sx, sw, sg):
        return fwd(x, w, sx, sw, sg)[0]
    def cast(x, s, t, m):
        return jnp.clip(x / s, -m, m).astype(t).astype(jnp.bfloat16)
    def fwd(x, w, sx, sw, sg):
        a, b = cast(x, sx, jnp.float8_e4m3fn, 448), cast(w, sw, jnp.float8_e4m3fn, 448)
        return jnp.dot(a, b, preferred_element_type=jnp.float32) * sx * sw, (a, b, sx, sw, sg)
    def bwd(r, g):
        a, b, sx, sw, sg = r
        gg = cast(g, sg, jnp.float8_e5m2, 57344)
        return (jnp.dot(gg, b.T, preferred_element_type=jnp.float32) * sg * sw, jnp.dot(a.T, gg, preferred_element_type=jnp.float32) * sg * sx,
                jnp.float32(0), jnp.float32(0), jnp.max(jnp.abs(g)))
    fp8dot.defvjp(fwd, bwd)
    add('fp8_training_matmul', jax.grad(lambda x, w, a, b, c: jnp.sum(jax.nn.silu(fp8dot(x, w, a, b, c))), (0, 1, 4)), f32(70, 96), f32(96, 136), np.float32(.01), np.float32(.01), np.float32(.001))

    # 21 logits distillation on teacher's top k with reverse KL
    def distil(w, h, ti, tl):
        lg = h @ w
        lp = jax.nn.log_softmax(lg / 2)
        lt = jax.nn.log_softmax(tl / 2)
        s = jnp.take_along_axis(lp, ti, 1)
        tail = jnp.log1p(-jnp.clip(jnp.exp(s).sum(1), 0, 1 - 1e-6))
        return jnp.mean(jnp.sum(jnp.exp(lt) * (lt - s), 1) - .1 * tail)
    add('distillation_gradient', jax.grad(distil, (0, 1)), f32(72, 2003) * .1, f32(41, 72), np.stack([R.permutation(2003)[:16] for _ in range(41)]).astype(np.int32), f32(41, 16))
    return P
