"""Strings, joins, graphs and dynamic programs over tables."""
import numpy as np
from by_value import Programs, Random

R = Random(704)
f32, i32, u8 = R.f32, R.i32, R.u8
uni = R.share


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    NEG = -1e9

    # profile HMM Viterbi with M/I/D states, delete chain by associative max
    def phmm(seq, em, tmm, tmi, tim, tii, tmd, tdm, tdd):
        K = em.shape[0]
        def st(s, c):
            M, I, D = s
            Mp, Ip, Dp = (jnp.concatenate([jnp.full(1, NEG), a[:-1]]) for a in (M, I, D))
            nM = em[:, c] + jnp.maximum(jnp.maximum(Mp + tmm, Ip + tim), Dp + tdm)
            nI = jnp.maximum(M + tmi, I + tii)
            src = jnp.concatenate([jnp.full(1, NEG), (nM + tmd)[:-1]])
            cum = jnp.cumsum(tdd)
            nD = lax.cummax(src - cum) + cum
            return (nM, nI, nD), jnp.max(nM)
        z = jnp.full(K, NEG)
        return lax.scan(st, (z.at[0].set(0.), z, z), seq)[1]
    tr = [-np.abs(f32(61)) for _ in range(7)]
    add('profile_model', phmm, i32(20, 150), f32(61, 20), *tr)
    add('profile_model_of_many', jax.vmap(phmm, (0,) + (None,) * 8), i32(20, 40, 70), f32(61, 20), *tr)
    # affine gap NW by anti-diagonals batch, with traceback while loop
    def gotoh(a, b):
        n, m = len(a), len(b)
        H = jnp.zeros((n + 1, m + 1)).at[0].set(-jnp.arange(m + 1.) - 2).at[:, 0].set(-jnp.arange(n + 1.) - 2).at[0, 0].set(0)
        def row(c, x):
            h, f = c
            ai, i = x
            s = jnp.where(ai == b, 2., -1.)
            f = jnp.maximum(f - 1, h - 3)
            t = jnp.maximum(h[:-1] + s, f[1:])
            # E by max-scan
            j = jnp.arange(m)
            e = lax.cummax(jnp.concatenate([jnp.array([-i - 3.]), t[:-1]]) + jnp.arange(m)) - j - 3
            nh = jnp.concatenate([jnp.array([-i - 3.]), jnp.maximum(t, e)])
            d = jnp.where(h[:-1] + s >= jnp.maximum(f[1:], e), 0, jnp.where(f[1:] >= e, 1, 2))
            return (nh, f), d
        (h, _), D = lax.scan(row, (-jnp.arange(m + 1.), jnp.full(m + 1, NEG)), (a, jnp.arange(n, dtype=jnp.float32)))
        def tb(s):
            i, j, k, out = s
            d = D[i - 1, j - 1]
            out = out.at[k].set(d)
            return i - (d != 2), j - (d != 1), k + 1, out
        i, j, k, out = lax.while_loop(lambda s: (s[0] > 0) & (s[1] > 0), tb, (jnp.int32(n), jnp.int32(m), jnp.int32(0), jnp.full(n + m, -1, D.dtype)))
        return h[-1], k, out
    add('affine_gaps_traced', gotoh, i32(4, 97), i32(4, 113))
    add('affine_gaps_traced_of_many', jax.vmap(gotoh), i32(4, 23, 47), i32(4, 23, 53))
    # FM index backward search
    def fm(pats, C, occ):
        def one(p):
            def body(s):
                lo, hi, i = s
                c = p[i]
                return C[c] + occ[c, lo], C[c] + occ[c, hi], i - 1
            lo, hi, i = lax.while_loop(lambda s: (s[2] >= 0) & (s[0] < s[1]), body, (jnp.int32(0), jnp.int32(occ.shape[1] - 1), jnp.int32(len(p) - 1)))
            return hi - lo, i
        return jax.vmap(one)(pats)
    txt = i32(4, 2000)
    occ = np.concatenate([np.zeros((4, 1), np.int32), np.cumsum(txt[None] == np.arange(4)[:, None], 1)], 1).astype(np.int32)
    C = np.concatenate([[0], np.cumsum(occ[:, -1])[:-1]]).astype(np.int32)
    add('backward_search', fm, i32(4, 211, 9), C, occ)
    # Z function, Manacher, KMP-like by while in scan
    def zfun(s):
        n = len(s)
        def step(c, i):
            l, r, z = c
            k = jnp.where(i < r, jnp.minimum(r - i, z[i - l]), 0)
            k = lax.while_loop(lambda k: (i + k < n) & (s[jnp.minimum(k, n - 1)] == s[jnp.minimum(i + k, n - 1)]), lambda k: k + 1, k)
            l, r = jnp.where(i + k > r, i, l), jnp.maximum(r, i + k)
            return (l, r, z.at[i].set(k)), None
        return lax.scan(step, (0, 0, jnp.zeros(n, jnp.int32)), jnp.arange(1, n))[0][2]
    add('z_function', zfun, i32(2, 500))
    add('z_function_of_many', jax.vmap(zfun), i32(2, 19, 120))
    def manacher(s):
        n = len(s)
        def step(c, i):
            C, r, p = c
            k = jnp.where(i < r, jnp.minimum(r - i, p[jnp.clip(2 * C - i, 0, n - 1)]), 0)
            k = lax.while_loop(lambda k: (i - k - 1 >= 0) & (i + k + 1 < n) & (s[jnp.clip(i - k - 1, 0, n - 1)] == s[jnp.clip(i + k + 1, 0, n - 1)]), lambda k: k + 1, k)
            C, r = jnp.where(i + k > r, i, C), jnp.maximum(r, i + k)
            return (C, r, p.at[i].set(k)), None
        return lax.scan(step, (0, 0, jnp.zeros(n, jnp.int32)), jnp.arange(n))[0][2]
    add('palindromes_manacher', manacher, i32(2, 600))
    # LIS via searchsorted in scan, vmapped
    def lis(x):
        def st(t, v):
            i = jnp.searchsorted(t, v)
            return t.at[i].set(v), i
        t, _ = lax.scan(st, jnp.full(len(x), jnp.inf), x)
        return jnp.sum(jnp.isfinite(t))
    add('longest_increasing', lis, f32(300))
    add('longest_increasing_of_many', jax.vmap(lis), f32(37, 130))
    # Aho-Corasick run over bytes (table goto), counts
    add('many_words_at_once', lambda t, out, s: lax.scan(lambda q, c: (t[q, c], out[t[q, c]]), 0, s)[1].sum(0), i32(60, 60, 26), R.randint(0, 2, (60, 12)).astype(np.int32), i32(26, 1500))
    # matrix chain / optimal BST dp on intervals with fori + masks
    def chain(d):
        n = len(d) - 1
        def ln(L, m):
            def one(i):
                j = i + L
                k = jnp.arange(n)
                c = m[i] + m[jnp.minimum(k + 1, n - 1), jnp.minimum(j, n - 1)] + d[i] * d[k + 1] * d[jnp.minimum(j + 1, n)]
                return jnp.min(jnp.where((k >= i) & (k < j), c, jnp.inf))
            i = jnp.arange(n)
            v = jax.vmap(one)(i)
            jj = jnp.where(i + L < n, i + L, n)
            return m.at[i, jj].set(v, mode='drop')
        return lax.fori_loop(1, n, ln, jnp.zeros((n, n)))[0, -1]
    add('chain_of_products', chain, uni(41) * 9 + 1)
    # Held-Karp with bitmasks
    def held(D):
        n = D.shape[0]
        M = 1 << n
        def st(dp, mask):
            row = dp[mask]
            nxt = jnp.min(row[:, None] + D, 0)
            tgt = mask | (1 << jnp.arange(n))
            ok = (mask >> jnp.arange(n)) & 1 == 0
            return dp.at[jnp.where(ok, tgt, M), jnp.arange(n)].min(nxt, mode='drop'), None
        dp = jnp.full((M, n), jnp.inf).at[1, 0].set(0)
        dp, _ = lax.scan(st, dp, jnp.arange(1, M))
        return jnp.min(dp[-1] + D[:, 0])
    add('tour_by_subsets', held, uni(10, 10))
    # Gale-Shapley while
    def gale(pm, rw):
        n = pm.shape[0]
        def body(s):
            nxt, eng, free = s
            m = jnp.argmax(free)
            w = pm[m, nxt[m]]
            cur = eng[w]
            better = (cur < 0) | (rw[w, m] < rw[w, cur])
            free = free.at[m].set(~better)
            free = jnp.where(better & (cur >= 0), free.at[cur].set(True), free)
            return nxt.at[m].add(1), jnp.where(better, eng.at[w].set(m), eng), free
        return lax.while_loop(lambda s: s[2].any(), body, (jnp.zeros(n, jnp.int32), jnp.full(n, -1, jnp.int32), jnp.ones(n, bool)))[1]
    perm = np.stack([R.permutation(45) for _ in range(45)]).astype(np.int32)
    add('stable_pairs', gale, perm, np.argsort(np.stack([R.permutation(45) for _ in range(45)])).astype(np.int32))
    # Hungarian (e-maxx) with while loops
    def hungarian(a):
        n = a.shape[0]
        def row(i, s):
            u, v, p = s
            p = p.at[0].set(i)
            def body(t):
                j0, minv, used, way, u, v = t
                used = used.at[j0].set(True)
                i0 = p[j0]
                cur = jnp.concatenate([jnp.array([jnp.inf]), a[i0 - 1] - u[i0] - v[1:]])
                better = ~used & (cur < minv)
                minv, way = jnp.where(better, cur, minv), jnp.where(better, j0, way)
                mm = jnp.where(used, jnp.inf, minv)
                j1 = jnp.argmin(mm)
                dl = mm[j1]
                u = u.at[jnp.where(used, p, n + 1)].add(dl, mode='drop')
                return j1, jnp.where(used, minv, minv - dl), used, way, u, jnp.where(used, v - dl, v)
            st = body((jnp.int32(0), jnp.full(n + 1, jnp.inf), jnp.zeros(n + 1, bool), jnp.zeros(n + 1, jnp.int32), u, v))
            j0, _, _, way, u, v = lax.while_loop(lambda t: p[t[0]] != 0, body, st)
            p = lax.while_loop(lambda t: t[0] != 0, lambda t: (way[t[0]], t[1].at[t[0]].set(t[1][way[t[0]]])), (j0, p))[1]
            return u, v, p
        return lax.fori_loop(1, n + 1, row, (jnp.zeros(n + 1), jnp.zeros(n + 1), jnp.zeros(n + 1, jnp.int32)))[2]
    add('assignment_hungarian', hungarian, uni(24, 24))
    add('assignment_hungarian_of_many', jax.vmap(hungarian), uni(11, 9, 9))
    # Dinic-like max flow: push-relabel on dense capacity matrix
    def maxflow(c):
        n = c.shape[0]
        f0 = jnp.zeros_like(c).at[0].set(c[0]).at[:, 0].set(-c[0])
        ex = c[0].at[0].set(0.)
        def body(s):
            f, ex, h, k = s
            act = (ex > 1e-4).at[0].set(False).at[n - 1].set(False)
            u = jnp.argmax(jnp.where(act, h, -1))
            res = c[u] - f[u]
            adm = (res > 1e-5) & (h == h[u] - 1)
            v = jnp.argmax(adm)
            d = jnp.minimum(ex[u], res[v])
            push = adm.any()
            f2 = f.at[u, v].add(d).at[v, u].add(-d)
            ex2 = ex.at[u].add(-d).at[v].add(d)
            h2 = h.at[u].set(1 + jnp.min(jnp.where(res > 1e-5, h, 2 * n)))
            return jnp.where(push, f2, f), jnp.where(push, ex2, ex), jnp.where(push, h, h2), k + 1
        def cond(s):
            act = (s[1] > 1e-4).at[0].set(False).at[n - 1].set(False)
            return act.any() & (s[3] < 600)
        r = lax.while_loop(cond, body, (f0, ex, jnp.zeros(n, jnp.int32).at[0].set(n), 0))
        return r[0][:, -1].sum(), r[3]
    add('flow_pushed', maxflow, np.floor(uni(17, 17) * 10) * (R.rand(17, 17) < .4))
    # union-find with while path, edges scan
    def uf(edges, n=200):
        def find(p, x):
            return lax.while_loop(lambda x: p[x] != x, lambda x: p[x], x)
        def st(p, e):
            a, b = find(p, e[0]), find(p, e[1])
            return p.at[jnp.maximum(a, b)].set(jnp.minimum(a, b)), a != b
        return lax.scan(st, jnp.arange(n), edges)
    add('sets_united', uf, i32(200, 260, 2))
    # Fenwick tree inversions, segment tree range min updates
    def fenwick(x):
        n = 256
        def st(t, v):
            q = lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - (s[0] & -s[0]), s[1] + t[s[0]]), (v, jnp.int32(0)))[1]
            t = lax.while_loop(lambda s: s[0] <= n, lambda s: (s[0] + (s[0] & -s[0]), s[1].at[s[0]].add(1)), (v + 1, t))[1]
            return t, q
        return lax.scan(st, jnp.zeros(n + 1, jnp.int32), x)[1].sum()
    add('inversions_by_fenwick', fenwick, i32(255, 400))
    # binary lifting LCA
    def lca(par, depth, qs):
        up = [par]
        for _ in range(8):
            up.append(up[-1][up[-1]])
        up = jnp.stack(up)
        a, b = qs[:, 0], qs[:, 1]
        a, b = jnp.where(depth[a] < depth[b], b, a), jnp.where(depth[a] < depth[b], a, b)
        d = depth[a] - depth[b]
        for k in range(9):
            a = jnp.where(d >> k & 1 == 1, up[k, a], a)
        for k in range(8, -1, -1):
            ne = (up[k, a] != up[k, b]) & (a != b)
            a, b = jnp.where(ne, up[k, a], a), jnp.where(ne, up[k, b], b)
        return jnp.where(a == b, a, up[0, a])
    par = np.array([0] + [R.randint(0, i) for i in range(1, 401)], np.int32)
    dep = np.zeros(401, np.int32)
    for i in range(1, 401):
        dep[i] = dep[par[i]] + 1
    add('common_ancestors', lca, par, dep, i32(401, 999, 2))
    # interval overlap join through searchsorted, counts + expand w/ repeat
    def overlaps(s, e, qs, qe):
        lo = jnp.searchsorted(jnp.sort(e), qs, side='right')
        hi = jnp.searchsorted(jnp.sort(s), qe, side='left')
        n = hi - lo
        rows = jnp.repeat(jnp.arange(len(qs)), n, total_repeat_length=1024)
        return n, rows, jnp.cumsum(n)
    st_ = uni(701) * 100
    q0 = uni(203) * 100
    add('intervals_joined', overlaps, st_, st_ + uni(701), q0, q0 + .3)
    # hash join build & probe with open addressing
    def hjoin(bk, bv, pk):
        N = 512
        hsh = lambda k: ((k.astype(jnp.uint32) * jnp.uint32(2654435761)) >> 23).astype(jnp.int32)
        def ins(t, kv):
            k, v = kv
            i = lax.while_loop(lambda i: (t[0][i] != -1) & (t[0][i] != k), lambda i: (i + 1) % N, hsh(k))
            return (t[0].at[i].set(k), t[1].at[i].add(v)), None
        t, _ = lax.scan(ins, (jnp.full(N, -1), jnp.zeros(N)), (bk, bv))
        def probe(k):
            i = lax.while_loop(lambda i: (t[0][i] != -1) & (t[0][i] != k), lambda i: (i + 1) % N, hsh(k))
            return jnp.where(t[0][i] == k, t[1][i], 0.)
        return jax.vmap(probe)(pk)
    add('hash_join', hjoin, i32(5000, 300), f32(300), i32(5000, 1001))
    # group percentile: sort by (g, v), then pick by counts; top-3 per group
    def gq(g, v):
        gs, vs = lax.sort((g, v), num_keys=2)
        c = jnp.bincount(g, length=40)
        s = jnp.cumsum(c) - c
        p = s + (c - 1) * .9
        lo = jnp.floor(p).astype(jnp.int32)
        rk = jnp.arange(len(g)) - s[gs]
        top = jnp.where(rk >= c[gs] - 3, vs, 0)
        return vs[lo] + (p - lo) * (vs[jnp.minimum(lo + 1, len(g) - 1)] - vs[lo]), jax.ops.segment_sum(top, gs, 40, indices_are_sorted=True)
    add('percentiles_of_groups', gq, i32(40, 2503), f32(2503))
    # RLE + dictionary + delta page decode (parquet-like)
    def parquet(runs, vals, dic, deltas):
        idx = jnp.repeat(vals, runs, total_repeat_length=3000)
        d = jnp.cumsum(deltas.astype(jnp.int32).reshape(30, 100), 1).reshape(-1)
        return dic[idx] * 1.5 + d
    add('columns_decoded', parquet, i32(20, 400), i32(64, 400), f32(64), R.randint(-9, 9, 3000).astype(np.int8))
    # SQL window: lag, lead, dense_rank, ntile per partition
    def window(g, t, v):
        o = jnp.lexsort((t, g))
        g, t, v = g[o], t[o], v[o]
        new = jnp.concatenate([jnp.ones(1, bool), g[1:] != g[:-1]])
        lag = jnp.where(new, jnp.nan, jnp.roll(v, 1))
        chg = new | jnp.concatenate([jnp.ones(1, bool), t[1:] != t[:-1]])
        dr = jnp.cumsum(chg) 
        start = lax.cummax(jnp.where(new, jnp.arange(len(g)), 0))
        cs = jnp.cumsum(v)
        run = cs - (cs - v)[start]
        return lag, dr - dr[start], run, jnp.zeros_like(v).at[o].set(run)
    add('window_functions', window, i32(50, 1801), i32(30, 1801), f32(1801))
    # ELL/CSR SpMV, ILU(0)-like sweeps on level schedule, Jacobi-preconditioned GMRES, BCOO
    from jax.experimental import sparse
    dense = (f32(150, 150) * (R.rand(150, 150) < .05) + 4 * np.eye(150)).astype(np.float32)
    co = sparse.BCOO.fromdense(dense)
    def bc(data, idx, b):
        A = sparse.BCOO((data, idx), shape=(150, 150))
        return jax.scipy.sparse.linalg.gmres(lambda v: A @ v, b, restart=12, maxiter=2)[0]
    add('gmres_with_bcoo', bc, np.asarray(co.data), np.asarray(co.indices), f32(150))
    add('bcoo_gradient', jax.grad(lambda d, i, b: jnp.sum(jnp.tanh(sparse.BCOO((d, i), shape=(150, 150)) @ b) ** 2), (0, 2)), np.asarray(co.data), np.asarray(co.indices), f32(150, 17))
    def sptrsv(cols, vals, diag, b):
        def row(x, r):
            c, v, d, bi, i = r
            xi = (bi - jnp.sum(v * x[c])) / d
            return x.at[i].set(xi), None
        n = len(b)
        x, _ = lax.scan(row, jnp.zeros(n + 1), (cols, vals, diag, b, jnp.arange(n)))
        return x[:n]
    add('sparse_triangle_solved', sptrsv, np.stack([np.where(R.rand(5) < .6, R.randint(0, max(i, 1), 5), 400) if i else np.full(5, 400) for i in range(400)]).astype(np.int32), f32(400, 5) * .2, uni(400) + 1, f32(400))
    # symmetric Gauss-Seidel preconditioned CG on graph Laplacian by segment_sum
    def lapcg(i, j, w, b):
        n = len(b)
        deg = jax.ops.segment_sum(w, i, n) + jax.ops.segment_sum(w, j, n) + .1
        def mv(x):
            f = w * (x[i] - x[j])
            return jax.ops.segment_sum(f, i, n) - jax.ops.segment_sum(f, j, n) + .1 * x
        return jax.scipy.sparse.linalg.cg(mv, b, M=lambda r: r / deg, maxiter=20)[0]
    add('laplacian_cg', lapcg, i32(300, 900), i32(300, 900), uni(900), f32(300))
    # LZ77 decode with while, huffman canonical table bit reader is there; LZW decode
    def lz77(tok):
        def st(s, t):
            out, n = s
            dist, ln, lit = t
            def cp(k, o):
                return o.at[n + k].set(o[n + k - dist])
            out = lax.fori_loop(0, ln, cp, out)
            return (out.at[n + ln].set(lit), n + ln + 1), None
        return lax.scan(st, (jnp.zeros(4096, jnp.uint8), 0), tok)[0]
    nt = 200
    dist = np.minimum(R.randint(1, 30, nt), np.maximum(1, np.arange(nt))).astype(np.int32)
    ln = np.where(np.arange(nt) == 0, 0, R.randint(0, 12, nt)).astype(np.int32)
    add('lz77_decoded', lz77, (dist, ln, u8(nt)))
    # arithmetic decoder adaptive order-0 w/ counts
    def arith(code):
        def st(s, _):
            lo, rng, pos, val, cnt = s
            cum = jnp.cumsum(cnt)
            tot = cum[-1]
            r = rng // tot
            v = (val - lo) // r
            sym = jnp.searchsorted(cum, v, side='right').astype(jnp.int32)
            sym = jnp.minimum(sym, 15)
            lo = lo + r * (cum[sym] - cnt[sym])
            rng = r * cnt[sym]
            def ren(t):
                lo, rng, pos, val = t
                return (lo << 8) & 0xFFFFFF, rng << 8, pos + 1, ((val << 8) | code[pos % len(code)].astype(jnp.uint32)) & 0xFFFFFF
            lo, rng, pos, val = lax.while_loop(lambda t: t[1] < (1 << 15), ren, (lo, rng, pos, val))
            return (lo, rng, pos, val, cnt.at[sym].add(jnp.uint32(2))), sym
        return lax.scan(st, (jnp.uint32(0), jnp.uint32(0xFFFFFF), 3, jnp.uint32(0x1234), jnp.ones(16, jnp.uint32)), None, 200)[1]
    add('arithmetic_decoded', arith, u8(400))
    # PageRank-like HITS with csr, triangle counting, label propagation mode, k-core while, betweenness BFS per source vmapped
    adj = (R.rand(60, 60) < .08)
    adj = (adj | adj.T).astype(np.float32) * (1 - np.eye(60, dtype=np.float32))
    def brandes(A):
        n = A.shape[0]
        def one(s):
            d0 = jnp.full(n, -1).at[s].set(0)
            def body(t):
                d, sig, l, _ = t
                fr = jnp.where(d == l, sig, 0.)
                add_ = A.T @ fr
                new = (d < 0) & (add_ > 0)
                return jnp.where(new, l + 1, d), jnp.where(new, add_, sig), l + 1, new.any()
            d, sig, l, _ = lax.while_loop(lambda t: t[3], body, (d0, jnp.zeros(n).at[s].set(1.), 0, jnp.bool_(True)))
            def back(k, dl):
                lv = l - 1 - k
                w = jnp.where(d == lv + 1, (1 + dl) / jnp.maximum(sig, 1), 0.)
                return jnp.where(d == lv, sig * (A @ w), dl)
            dl = lax.fori_loop(0, l, back, jnp.zeros(n))
            return dl.at[s].set(0)
        return jax.vmap(one)(jnp.arange(n)).sum(0)
    add('betweenness', brandes, adj)
    def kcore(A):
        def outer(s):
            alive, k, core, _ = s
            def peel(a):
                return a & ((A @ a.astype(jnp.float32)) >= k)
            al = lax.while_loop(lambda a: jnp.any(a != peel(a)), peel, alive)
            return al, k + 1, jnp.where(al, k, core), al.any()
        return lax.while_loop(lambda s: s[3], outer, (jnp.ones(A.shape[0], bool), jnp.float32(1), jnp.zeros(A.shape[0]), jnp.bool_(True)))[2]
    add('cores_of_a_graph', kcore, adj)
    return P
