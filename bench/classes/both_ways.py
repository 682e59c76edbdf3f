"""Loops that walk arrays from either end, over turned and flipped views of them; attention in tiles, trees, panels of matrices."""
import numpy as np
from by_value import Programs, Random
R = Random(910)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 256.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    key = np.array([5, 6], np.uint32)
    # anti-diagonal wavefront alignment with the second sequence reversed
    def wave(a, b, S):
        n, m = a.size, b.size
        br = jnp.pad(b[::-1], (n, n))
        def st(c, d):
            p1, p2, best = c
            i = jnp.arange(n)
            bb = lax.dynamic_slice(br, (n + m - 1 - d,), (n,))
            ok = (d - i >= 0) & (d - i < m)
            s = S[a, bb]
            up = jnp.concatenate([jnp.zeros(1), p1[:-1]]); dg = jnp.concatenate([jnp.zeros(1), p2[:-1]])
            h = jnp.where(ok, jnp.maximum(jnp.maximum(dg + s, 0), jnp.maximum(up, p1) - 2), 0)
            return (h, p1, jnp.maximum(best, h.max())), None
        return lax.scan(st, (jnp.zeros(n), jnp.zeros(n), 0.), jnp.arange(n + m - 1))[0][2]
    add('alignment_by_diagonals', wave, i32(20, 130), i32(20, 170), f32(20, 20) * 3)
    # attention: queries in tiles, online over key tiles, from a (batch, time, heads*dim) layout
    def flash(x, wq, wk, wv):
        B, T, D = x.shape; H, C = 4, 27
        sp = lambda w: (x @ w).reshape(B, T // C, C, H, D // H).transpose(1, 0, 3, 2, 4)
        q, k, v = sp(wq), sp(wk), sp(wv)
        def qt(_, qi):
            def kt(c, kv):
                m, l, o = c; k, v = kv
                s = jnp.einsum('bhid,bhjd->bhij', qi, k) * .2
                n = jnp.maximum(m, s.max(-1)); e = jnp.exp(s - n[..., None]); r = jnp.exp(m - n)
                return (n, l * r + e.sum(-1), o * r[..., None] + jnp.einsum('bhij,bhjd->bhid', e, v)), None
            z = jnp.zeros(qi.shape[:-1])
            (m, l, o), _ = lax.scan(kt, (z - 1e30, z, jnp.zeros_like(qi)), (k, v))
            return None, o / l[..., None]
        o = lax.scan(qt, None, q)[1]
        return o.transpose(1, 0, 3, 2, 4).reshape(B, T, D)
    add('tiled_attention', flash, f32(2, 135, 72), f32(72, 72) * .1, f32(72, 72) * .1, f32(72, 72) * .1)
    add('tiled_attention_gradient', lambda *a: jax.grad(lambda *a: (flash(*a) ** 2).mean(), (0, 1, 2, 3))(*a), f32(2, 135, 72), f32(72, 72) * .1, f32(72, 72) * .1, f32(72, 72) * .1)
    # ring attention on one device: keys rotated each step
    def ring(q, k, v):
        def st(i, c):
            k, v, m, l, o = c
            s = jnp.einsum('ntd,nsd->nts', q, k) * .2
            n = jnp.maximum(m, s.max(-1)); e = jnp.exp(s - n[..., None]); r = jnp.exp(m - n)
            return jnp.roll(k, 1, 0), jnp.roll(v, 1, 0), n, l * r + e.sum(-1), o * r[..., None] + jnp.einsum('nts,nsd->ntd', e, v)
        z = jnp.zeros(q.shape[:2])
        _, _, m, l, o = lax.fori_loop(0, q.shape[0], st, (k, v, z - 1e30, z, jnp.zeros_like(q)))
        return o / l[..., None]
    add('ring_attention', ring, f32(6, 33, 28), f32(6, 33, 28), f32(6, 33, 28))
    # forward-backward of an HMM: backward over reversed observations, expected counts
    def fb(A, B, pi, o):
        def f(a, x): a = (a @ A) * B[:, x]; s = a.sum(); return a / s, (a / s, jnp.log(s))
        _, (al, ls) = lax.scan(f, pi, o)
        def b(be, x): n = A @ (B[:, x] * be); n = n / n.sum(); return n, n
        _, be = lax.scan(b, jnp.ones(A.shape[0]), o[::-1])
        be = be[::-1]
        g = al * be; g = g / g.sum(1, keepdims=True)
        xi = jnp.einsum('ti,ij,tj->ij', al[:-1], A, (B[:, o[1:]].T * be[1:]))
        return ls.sum(), xi / xi.sum(1, keepdims=True), jax.ops.segment_sum(g, o, B.shape[1])
    st = lambda *s: (lambda x: (x / x.sum(-1, keepdims=True)).astype(np.float32))(R.rand(*s))
    add('forward_backward_reversed', fb, st(19, 19), st(19, 31), st(19), i32(31, 220))
    add('forward_backward_reversed_of_many', lambda A, B, pi, o: jax.vmap(fb, (None, None, None, 0))(A, B, pi, o), st(19, 19), st(19, 31), st(19), i32(31, 14, 90))
    # bidirectional LSTM with reversed sequences
    def lstm(w, b, xs, H):
        def f(c, x):
            h, c = c; i, g, f_, o = jnp.split(jnp.concatenate([x, h], -1) @ w + b, 4, -1)
            c = jax.nn.sigmoid(f_) * c + jax.nn.sigmoid(i) * jnp.tanh(g); h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        z = jnp.zeros((xs.shape[1], H)); return lax.scan(f, (z, z), xs)[1]
    def bil(p, x):
        for wf, bf, wb, bb in p: x = jnp.concatenate([lstm(wf, bf, x, 33), lstm(wb, bb, x[::-1], 33)[::-1]], -1)
        return x
    bp = [(f32(20 + 33, 132) * .2, f32(132) * .1, f32(53, 132) * .2, f32(132) * .1), (f32(99, 132) * .1, f32(132) * .1, f32(99, 132) * .1, f32(132) * .1)]
    add('bidirectional_lstms', bil, bp, f32(45, 13, 20))
    add('bidirectional_lstms_gradient', lambda p, x: jax.grad(lambda p: (bil(p, x) ** 2).mean())(p), bp, f32(30, 9, 20))
    # TD(lambda) and GAE with arrays flipped
    def gae(r, v, d):
        def f(a, x): r, v, nv, d = x; a = r + .99 * nv * (1 - d) - v + .95 * .99 * (1 - d) * a; return a, a
        a = lax.scan(f, jnp.zeros(r.shape[1]), (r[::-1], v[:-1][::-1], v[1:][::-1], d[::-1]))[1][::-1]
        return (a - a.mean()) / a.std(), a + v[:-1]
    add('advantages_flipped', gae, f32(128, 70), f32(129, 70), (R.rand(128, 70) < .05).astype(np.float32))
    # k-d tree (heap layout) nearest neighbour with a stack, vmapped
    pts = R.rand(1023, 3).astype(np.float32)
    def build(p):
        t = np.zeros_like(p)
        def rec(idx, node, d):
            if not len(idx): return
            o = idx[np.argsort(p[idx, d % 3])]; m = len(o) // 2; t[node] = p[o[m]]
            rec(o[:m], 2 * node + 1, d + 1); rec(o[m + 1:], 2 * node + 2, d + 1)
        rec(np.arange(len(p)), 0, 0); return t
    tree = build(pts)
    def nn(tree, q):
        def one(q):
            def body(c):
                stk, sp, best, bi = c
                n, dep, gap = stk[sp - 1, 0].astype(int), stk[sp - 1, 1].astype(int), stk[sp - 1, 2]
                sp = sp - 1
                p = tree[jnp.minimum(n, 1022)]; d = ((p - q) ** 2).sum(); go = (n < 1023) & (gap < best)
                bi = jnp.where(go & (d < best), n, bi); best = jnp.where(go, jnp.minimum(best, d), best)
                df = q[dep % 3] - p[dep % 3]; near = 2 * n + 1 + (df > 0); far = 2 * n + 2 - (df > 0)
                e = jnp.stack([jnp.stack([far * 1., dep + 1., df * df]), jnp.stack([near * 1., dep + 1., 0 * df])])
                stk = jnp.where(go, lax.dynamic_update_slice(stk, e, (sp, 0)), stk)
                return stk, sp + 2 * go, best, bi
            s0 = jnp.zeros((24, 3))
            return lax.while_loop(lambda c: c[1] > 0, body, (s0, 1, 1e9, 0))[2:]
        return jax.vmap(one)(q)
    add('nearest_by_kd_tree', nn, tree, R.rand(60, 3).astype(np.float32))
    # rejection sampling of von Mises angles until all accepted
    def vm(key, kap):
        r = 1 + jnp.sqrt(1 + 4 * kap ** 2); rho = (r - jnp.sqrt(2 * r)) / (2 * kap); s = (1 + rho ** 2) / (2 * rho)
        def one(k, kap, s):
            def body(c):
                k, _, th = c; k, a = jax.random.split(k); u = jax.random.uniform(a, (3,))
                z = jnp.cos(jnp.pi * u[0]); f = (1 + s * z) / (s + z); c_ = kap * (s - f)
                ok = (c_ * (2 - c_) - u[1] > 0) | (jnp.log(c_ / u[1]) + 1 - c_ >= 0)
                return k, ok, jnp.sign(u[2] - .5) * jnp.arccos(f)
            return lax.while_loop(lambda c: ~c[1], body, (k, False, 0.))[2]
        return jax.vmap(one)(jax.random.split(key, kap.size), kap, s)
    add('angles_by_rejection', vm, key, (.5 + 4 * R.rand(900)).astype(np.float32))
    # histogram gradient boosting: grow one tree level by level, several rounds
    def gbdt(X, y):
        N, F = X.shape; NB = 16
        def rnd(pred, _):
            g = pred - y; node = jnp.zeros(N, int)
            for d in range(3):
                k = 2 ** d
                idx = (node[:, None] * F + jnp.arange(F)) * NB + X
                h = jnp.zeros((k * F * NB, 2)).at[idx].add(jnp.stack([g, jnp.ones(N)], -1)[:, None]).reshape(k, F, NB, 2)
                c = jnp.cumsum(h, 2); t = c[:, :, -1:]
                gain = c[..., 0] ** 2 / (c[..., 1] + 1) + (t[..., 0] - c[..., 0]) ** 2 / (t[..., 1] - c[..., 1] + 1)
                b = gain.reshape(k, -1).argmax(-1); f, cut = b // NB, b % NB
                node = node * 2 + (jnp.take_along_axis(X, f[node][:, None], 1)[:, 0] > cut[node])
            s = jax.ops.segment_sum(g, node, 8); n = jax.ops.segment_sum(jnp.ones(N), node, 8)
            return pred - .3 * (s / (n + 1))[node], (g * g).mean()
        return lax.scan(rnd, jnp.zeros(N), None, 6)
    add('boosted_trees_grown', gbdt, i32(16, 900, 7), f32(900))
    # blocked matrix product over tiles of a transposed operand; LU by blocks
    def blocked(A, B):
        n, b = 120, 30
        Ab = A.reshape(n // b, b, n // b, b).transpose(2, 0, 1, 3).reshape(n // b, n, b); Bb = B.reshape(n // b, b, n)
        return lax.scan(lambda C, x: (C + x[0] @ x[1], None), jnp.zeros((n, n)), (Ab, Bb))[0]
    add('product_by_panels', blocked, f32(120, 120), f32(120, 120))
    # Horner / Clenshaw over reversed coefficient rows; cascade of biquads over reversed signal (filtfilt)
    add('clenshaw_reversed', lambda c, x: (lambda r: r[0][0] - x * r[0][1])(lax.scan(lambda s, a: ((2 * x * s[0] - s[1] + a, s[0]), None), (x * 0, x * 0), c[::-1])), f32(40), f32(3000) * .3)
    def filtfilt(b, a, x):
        def filt(x):
            def st(z, xt):
                y = b[0] * xt + z[0]
                return jnp.stack([b[1] * xt - a[1] * y + z[1], b[2] * xt - a[2] * y]), y
            return lax.scan(st, jnp.zeros((2, x.shape[1])), x)[1]
        return filt(filt(x)[::-1])[::-1]
    add('filtered_both_ways', filtfilt, np.array([.2, .4, .2], np.float32), np.array([1, -.4, .2], np.float32), f32(600, 21))
    # ADI heat with transposes between sweeps
    def adi(u, a, b, c):
        def solve(d):
            def fw(s, x): cp, dp = s; a, b, c, d = x; m = 1 / (b - a * cp); return (c * m, (d - a * dp) * m), (c * m, (d - a * dp) * m)
            _, (cp, dp) = lax.scan(fw, (0., jnp.zeros(d.shape[1])), (a, b, c, d))
            return lax.scan(lambda x, s: ((s[1] - s[0] * x,) * 2), jnp.zeros(d.shape[1]), (cp[::-1], dp[::-1]))[1][::-1]
        return lax.fori_loop(0, 4, lambda i, u: solve(solve(u).T).T, u)
    n = 64
    add('alternating_sweeps_flipped', adi, f32(n, n), np.full(n, -.4, np.float32), np.full(n, 1.8, np.float32), np.full(n, -.4, np.float32))
    # Gated attention over patches with reversed rope and memory of last layers (scan with stacked transposed weights)
    def deep(ws, x):
        def l(x, w):
            h = jax.nn.gelu(x @ w[0].T) @ w[1].T
            return x + h, (h * h).mean()
        return lax.scan(l, x, (ws[0].transpose(0, 2, 1), ws[1].transpose(0, 2, 1)))
    add('layers_of_turned_weights', deep, (f32(6, 75, 150) * .1, f32(6, 150, 75) * .1), f32(40, 75))
    add('layers_of_turned_weights_gradient', lambda ws, x: jax.grad(lambda ws: (deep(ws, x)[0] ** 2).mean())(ws), (f32(6, 75, 150) * .1, f32(6, 150, 75) * .1), f32(40, 75))
    return P
