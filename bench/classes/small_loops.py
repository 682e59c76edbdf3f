"""Loops of scalars, tiny products in loops, gathers along the last dim, short rows sorted."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
X64 = True
R = Random(707)
f32, i32, u8 = R.f32, R.i32, R.u8
uni, bf, f16 = R.share, R.bf16, R.f16
f64 = lambda *s: R.randn(*s)


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    key = np.array([21, 8], np.uint32)
    I = jnp.int32

    # --- scalar loops
    def brainfuck(code, jump):
        def body(s):
            pc, p, t, n = s
            c = code[pc]
            p = p + jnp.where(c == 0, 1, jnp.where(c == 1, -1, 0)).astype(I)
            p = p % 64
            t = t.at[p].add(jnp.where(c == 2, 1, jnp.where(c == 3, -1, 0)).astype(jnp.uint8))
            go = ((c == 4) & (t[p] == 0)) | ((c == 5) & (t[p] != 0))
            return jnp.where(go, jump[pc], pc) + 1, p, t, n + 1
        return lax.while_loop(lambda s: (s[0] < len(code)) & (s[3] < 1000), body, (I(0), I(0), jnp.zeros(64, jnp.uint8), I(0)))[2:]
    prog = '++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]'
    code = np.array(['><+-[]'.index(c) for c in prog], np.int32)
    st, jump = [], np.zeros(len(prog), np.int32)
    for i, c in enumerate(prog):
        if c == '[': st.append(i)
        if c == ']': j = st.pop(); jump[i] = j; jump[j] = i
    add('interpreter_of_tape', brainfuck, code, jump)
    def lru(reqs):
        def st(c, k):
            keys, age, t = c
            hit = keys == k
            i = jnp.where(hit.any(), jnp.argmax(hit), jnp.argmin(age))
            return (keys.at[i].set(k), age.at[i].set(t), t + 1), hit.any()
        return lax.scan(st, (jnp.full(16, -1, I), jnp.zeros(16, I), I(1)), reqs)[1].sum()
    add('cache_of_16', lru, i32(40, 1000))
    def matching(side, px, qty):
        def st(b, o):
            s, p, q = o
            opp = b[1 - s]
            def lv(i, c):
                opp, q = c
                lvl = jnp.where(s == 0, i, 63 - i)
                ok = jnp.where(s == 0, lvl <= p, lvl >= p)
                f = jnp.where(ok, jnp.minimum(q, opp[lvl]), 0)
                return opp.at[lvl].add(-f), q - f
            opp, q = lax.fori_loop(0, 64, lv, (opp, q))
            return b.at[1 - s].set(opp).at[s, p].add(q), q
        return lax.scan(st, jnp.zeros((2, 64), I), (side, px, qty))[1]
    add('orders_matched', matching, i32(2, 60), i32(64, 60), i32(20, 60))
    def ant(n):
        def b(_, s):
            g, y, x, d = s
            c = g[y, x]
            d = (d + jnp.where(c == 0, 1, 3)) % 4
            g = g.at[y, x].set(1 - c)
            return g, (y + jnp.array([-1, 0, 1, 0])[d]) % 50, (x + jnp.array([0, 1, 0, -1])[d]) % 50, d
        return lax.fori_loop(0, n, b, (jnp.zeros((50, 50), jnp.uint8), 25, 25, 0))[0]
    add('ant_on_a_grid', ant, np.int64(1500))
    def josephus(k):
        def b(s):
            alive, i, n = s
            def adv(t):
                i, c = t
                i = (i + 1) % 64
                return i, c + alive[i]
            i, _ = lax.while_loop(lambda t: t[1] < k, adv, (i, I(0)))
            return alive.at[i].set(0), i, n - 1
        return lax.while_loop(lambda s: s[2] > 1, b, (jnp.ones(64, I), I(0), I(64)))[0]
    add('circle_counted_out', josephus, np.int32(7))
    add('circles_counted_out', jax.vmap(josephus), np.arange(2, 15, dtype=np.int32))
    def simpson(a, b, w):
        f = lambda x: jnp.exp(-x * x * w) * jnp.cos(5 * x)
        def body(s):
            st, sp, acc, n = s
            lo, hi, tol = st[sp - 1]
            m = (lo + hi) / 2
            q = lambda l, h: (h - l) / 6 * (f(l) + 4 * f((l + h) / 2) + f(h))
            s1, s2 = q(lo, hi), q(lo, m) + q(m, hi)
            ok = (jnp.abs(s2 - s1) < 15 * tol) | (sp > 30)
            st2 = st.at[sp - 1].set(jnp.stack([lo, m, tol / 2])).at[sp].set(jnp.stack([m, hi, tol / 2]))
            return jnp.where(ok, st, st2), jnp.where(ok, sp - 1, sp + 1), acc + jnp.where(ok, s2 + (s2 - s1) / 15, 0), n + 1
        r = lax.while_loop(lambda s: s[1] > 0, body, (jnp.zeros((34, 3)).at[0].set(jnp.stack([a, b, 1e-9])), I(1), 0., I(0)))
        return r[2], r[3]
    add('adaptive_quadrature', simpson, np.float64(-2), np.float64(3), np.float64(1))
    add('adaptive_quadratures', jax.vmap(simpson, (None, None, 0)), np.float64(-2), np.float64(3), R.rand(53) * 4)
    def dopri(y0, mu):
        f = lambda y: jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])
        def body(s):
            t, y, h, n = s
            h = jnp.minimum(h, 5 - t)
            k1 = f(y); k2 = f(y + h * k1 / 5); k3 = f(y + h * (3 / 40 * k1 + 9 / 40 * k2))
            k4 = f(y + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3))
            k5 = f(y + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4))
            k6 = f(y + h * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5))
            y5 = y + h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
            k7 = f(y5)
            e = h * (71 / 57600 * k1 - 71 / 16695 * k3 + 71 / 1920 * k4 - 17253 / 339200 * k5 + 22 / 525 * k6 - k7 / 40)
            er = jnp.sqrt(jnp.mean((e / (1e-6 + 1e-6 * jnp.abs(y))) ** 2))
            ok = er < 1
            return jnp.where(ok, t + h, t), jnp.where(ok, y5, y), h * jnp.clip(.9 * er ** -.2, .2, 5), n + 1
        r = lax.while_loop(lambda s: (s[0] < 5) & (s[3] < 500), body, (0., y0, .01, I(0)))
        return r[1], r[3]
    add('adaptive_steps_f64', dopri, f64(2), np.float64(3))
    add('adaptive_steps_of_many_f64', jax.vmap(dopri), f64(31, 2), R.rand(31) * 3)
    def lzss(x):
        n = len(x)
        def body(s):
            i, out, k = s
            j = jnp.arange(1, 33)
            m = jnp.arange(8)
            src = x[jnp.clip(i - j[:, None] + m, 0, n - 1)]
            eq = (src == x[jnp.clip(i + m, 0, n - 1)]) & (i - j[:, None] >= 0)
            ln = jnp.cumprod(eq, 1).sum(1)
            b = jnp.argmax(ln)
            L = jnp.where(ln[b] > 2, ln[b], 0).astype(I)
            out = out.at[k].set(jnp.where(L > 0, b.astype(I) * 16 + L, x[i].astype(I) + 1024))
            return i + jnp.maximum(L, 1), out, k + 1
        return lax.while_loop(lambda s: s[0] < n, body, (I(0), jnp.zeros(n, I), I(0)))[1:]
    add('lzss_packed', lzss, R.randint(0, 3, 400).astype(np.uint8))
    def heapq(x):
        n = len(x)
        def push(h, iv):
            i, v = iv
            h = h.at[i].set(v)
            def up(s):
                h, i = s
                p = (i - 1) // 2
                a, b = h[p], h[i]
                return h.at[p].set(b).at[i].set(a), p
            return lax.while_loop(lambda s: (s[1] > 0) & (s[0][(s[1] - 1) // 2] > s[0][s[1]]), up, (h, i))[0], None
        h, _ = lax.scan(push, jnp.full(n, jnp.inf, jnp.float32), (jnp.arange(n), x))
        return h
    add('heap_filled', heapq, f32(500))
    def quickselect(x, k):
        def body(s):
            lo, hi, x = s
            p = x[hi]
            def part(j, c):
                x, i = c
                sw = x[j] <= p
                a, b = x[i], x[j]
                x = jnp.where(sw, x.at[i].set(b).at[j].set(a), x)
                return x, i + sw
            x, i = lax.fori_loop(lo, hi, part, (x, lo))
            a = x[i]
            x = x.at[i].set(x[hi]).at[hi].set(a)
            return jnp.where(k < i, lo, jnp.where(k == i, i, i + 1)), jnp.where(k < i, i - 1, jnp.where(k == i, i, hi)), x
        return lax.while_loop(lambda s: s[0] < s[1], body, (0, len(x) - 1, x))[2][k]
    add('kth_selected', quickselect, f32(64), np.int64(20))
    def pid(ref):
        def st(s, r):
            x, v, i, e0 = s
            e = r - x
            i = jnp.clip(i + e * .01, -1, 1)
            u = jnp.clip(20 * e + 5 * i + 2 * (e - e0) / .01, -50, 50)
            v = v + .01 * (u - .5 * v - 3 * jnp.sin(x))
            return (x + .01 * v, v, i, e), x
        z = jnp.float32(0)
        return lax.scan(st, (z, z, z, z), ref)[1]
    add('controller_pid', pid, f32(1500))
    add('controllers_pid', jax.vmap(pid), f32(40, 300))
    def biquads(x, c):
        def st(z, v):
            def one(v, zc):
                z, c = zc
                y = c[0] * v + z[0]
                return y, jnp.stack([c[1] * v - c[3] * y + z[1], c[2] * v - c[4] * y])
            y, z = lax.scan(one, v, (z, c))
            return z, y
        return lax.scan(st, jnp.zeros((len(c), 2), x.dtype), x)[1]
    add('cascade_of_sections', biquads, f32(400), f32(6, 5) * .2)
    def skyline(x, w, h):
        # bottom-left packing of rectangles
        def st(sk, r):
            w, h = r
            j = jnp.arange(64)
            win = sk[jnp.minimum(j[:, None] + jnp.arange(12), 63)]
            top = jnp.max(jnp.where(jnp.arange(12) < w, win, 0), 1)
            ok = j + w <= 64
            b = jnp.argmin(jnp.where(ok, top, 10 ** 6))
            return jnp.where((j >= b) & (j < b + w), top[b] + h, sk), (b, top[b])
        return lax.scan(st, x, (w, h))[1]
    add('rectangles_packed', skyline, np.zeros(64, np.int32), i32(11, 80) + 1, i32(9, 80) + 1)
    def mm1(key, n=8):
        def st(s, k):
            q, busy, t = s
            a, b = jax.random.split(k)
            dt = jax.random.exponential(a, (n,), jnp.float32)
            arr = jax.random.uniform(b, (n,), jnp.float32) < .45
            q = jnp.where(arr, q + 1, jnp.maximum(q - 1, 0))
            return (q, busy + dt * (q > 0), t + dt), q
        z = jnp.zeros(n, jnp.float32)
        return lax.scan(st, (jnp.zeros(n, I), z, z), jax.random.split(key, 150))[0]
    add('queues_in_time', mm1, key)

    # --- tiny products in loops
    def pagerank(A, x):
        def b(s):
            x, _, n = s
            y = .85 * A @ x + .15 / len(x)
            return y, jnp.abs(y - x).sum(), n + 1
        return lax.while_loop(lambda s: (s[1] > 1e-6) & (s[2] < 60), b, (x, jnp.float32(1), I(0)))[0]
    Am = (lambda a: (a / a.sum(0)).astype(np.float32))(R.rand(73, 73))
    add('page_rank_until', pagerank, Am, np.full(73, 1 / 73, np.float32))
    def polit(Pm, r):
        def b(s):
            V, n, d = s
            Q = r + .9 * jnp.einsum('ast,t->as', Pm, V)
            V2 = Q.max(0)
            return V2, n + 1, jnp.abs(V2 - V).max()
        return lax.while_loop(lambda s: (s[1] < 60) & (s[2] > 1e-5), b, (jnp.zeros(r.shape[1], jnp.float32), I(0), jnp.float32(1)))[0]
    add('values_until', polit, (lambda a: (a / a.sum(2, keepdims=True)).astype(np.float32))(R.rand(4, 37, 37)), f32(4, 37))
    def pdhg(A, b, c):
        def st(_, s):
            x, y, xs, ys = s
            x2 = jnp.maximum(x - .1 * (c - A.T @ y), 0)
            y2 = y + .1 * (b - A @ (2 * x2 - x))
            return x2, y2, xs + x2, ys + y2
        z = jnp.zeros(A.shape[1], A.dtype)
        return lax.fori_loop(0, 100, st, (z, jnp.zeros(A.shape[0], A.dtype), z, jnp.zeros(A.shape[0], A.dtype)))[2] / 100
    add('primal_dual_program', pdhg, f32(25, 50) * .3, f32(25), uni(50))
    add('primal_dual_program_f64', pdhg, f64(25, 50) * .3, f64(25), R.rand(50))
    # Products with both forms of a matrix, written out, in every trip.
    def least_squares(A, b):
        def st(_, c):
            x, v = c
            v = .9 * v - .02 * (A.T @ (A @ x - b))
            return x + v, v
        z = jnp.zeros(A.shape[1], A.dtype)
        return lax.fori_loop(0, 60, st, (z, z))[0]
    add('momentum_least_squares', least_squares, f32(21, 33) * .2, f32(21))
    add('momentum_least_squares_f64', least_squares, f64(21, 33) * .2, f64(21))
    def power(A, x):
        def st(_, x):
            y = A.T @ (A @ x)
            return y / (1 + jnp.abs(y).max())
        return lax.fori_loop(0, 50, st, x)
    add('powers_of_a_wide_matrix', power, f32(18, 61) * .2, uni(61))
    def hopfield(W, x):
        def b(s):
            x, _, n = s
            y = jnp.sign(W @ x)
            return y, jnp.any(y != x), n + 1
        return lax.while_loop(lambda s: s[1] & (s[2] < 30), b, (x, jnp.bool_(True), I(0)))
    add('memory_recalled', hopfield, (lambda p: ((p.T @ p) / 100 - np.eye(100) * .1).astype(np.float32))(np.sign(R.randn(12, 100))), np.sign(f32(100)))
    def gru1(p, x):
        def st(h, x):
            g = jax.nn.sigmoid(x @ p[0] + h @ p[1])
            r, z = jnp.split(g, 2)
            n = jnp.tanh(x @ p[2] + r * (h @ p[3]))
            return (1 - z) * n + z * h, n
        return lax.scan(st, jnp.zeros(p[3].shape[0], x.dtype), x)[0]
    mk = lambda t, h: tuple((R.randn(*s) * .2).astype(t) for s in ((9, 2 * h), (h, 2 * h), (9, h), (h, h)))
    add('gru_of_one_f64', gru1, mk(np.float64, 21), f64(150, 9))
    add('gru_of_one_bf16', gru1, mk(ml_dtypes.bfloat16, 40), bf(100, 9))
    add('gru_of_one_f16', gru1, mk(np.float16, 40), f16(100, 9))
    def krylov(A, v):
        m = 15
        def st(c, j):
            V, H = c
            w = A @ V[j]
            h = V @ w
            w = w - h @ V
            nb = jnp.linalg.norm(w)
            return (V.at[j + 1].set(w / nb), H.at[:, j].set(h).at[j + 1, j].set(nb)), None
        V0 = jnp.zeros((m + 1, len(v)), A.dtype).at[0].set(v / jnp.linalg.norm(v))
        (V, H), _ = lax.scan(st, (V0, jnp.zeros((m + 1, m), A.dtype)), jnp.arange(m))
        return V[:m].T @ jax.scipy.linalg.expm(H[:m] * .1)[:, 0]
    add('exponential_by_krylov', krylov, f32(80, 80) * .2, f32(80))
    add('exponential_by_krylov_f64', krylov, f64(80, 80) * .2, f64(80))
    def srkf(z, F, H):
        def st(c, z):
            x, S = c
            x = F @ x
            S = jnp.linalg.qr(jnp.concatenate([(F @ S).T, .1 * jnp.eye(6, dtype=S.dtype)]), mode='r').T
            HS = H @ S
            K = jnp.linalg.solve(HS @ HS.T + .1 * jnp.eye(2, dtype=S.dtype), HS @ S.T).T
            x = x + K @ (z - H @ x)
            A = jnp.concatenate([jnp.concatenate([.3 * jnp.eye(2, dtype=S.dtype), HS], 1), jnp.concatenate([jnp.zeros((6, 2), S.dtype), S], 1)])
            return (x, jnp.linalg.qr(A.T, mode='r').T[2:, 2:]), x
        return lax.scan(st, (jnp.zeros(6, z.dtype), jnp.eye(6, dtype=z.dtype)), z)[1]
    add('root_filter_f32', srkf, f32(50, 2), np.eye(6, dtype=np.float32) + .1 * np.eye(6, k=2, dtype=np.float32), np.eye(2, 6, dtype=np.float32))
    def broyden(x):
        f = lambda x: jnp.tanh(x) + .3 * jnp.roll(x, 1) ** 2 - .2
        def b(s):
            x, J, fx, n = s
            d = -J @ fx
            x2 = x + d
            f2 = f(x2)
            Jy = J @ (f2 - fx)
            J = J + jnp.outer(d - Jy, d @ J) / (d @ Jy + 1e-12)
            return x2, J, f2, n + 1
        return lax.while_loop(lambda s: (jnp.abs(s[2]).max() > 1e-10) & (s[3] < 25), b, (x, jnp.eye(len(x)), f(x), I(0)))[0]
    add('roots_by_secants_f64', broyden, f64(25) * .1)

    # --- gathers along the last dim
    pm = R.permutation(64).astype(np.int32)
    add('columns_permuted_u8', lambda x, p: x[:, p], u8(501, 64), pm)
    add('columns_permuted_i16', lambda x, p: x[:, p], R.randint(-99, 99, (501, 64)).astype(np.int16), pm)
    add('columns_permuted_bf16', lambda x, p: x[:, p] * 2, bf(501, 64), pm)
    add('columns_permuted_f64', lambda x, p: x[:, p] + 1, f64(501, 64), pm)
    add('columns_permuted_fill', lambda x, p: x.at[:, p].get(mode='fill', fill_value=-1), f32(301, 64), pm + 3)
    add('interleaver', lambda x, p: jnp.sign(x[:, p]) * jnp.minimum(jnp.abs(x[:, p]), jnp.abs(jnp.roll(x, 1, 1))), f32(57, 1000), R.permutation(1000).astype(np.int32))
    iu, ju = np.triu_indices(20, 1)
    add('pairs_of_features', lambda x: x[:, iu] * x[:, ju], f32(301, 20))
    add('pairs_of_features_gradient', jax.grad(lambda x, w: jnp.sum((x[:, iu] * x[:, ju]) @ w)), f32(301, 20), f32(190))
    add('retargeted_joints', lambda x, j: x[:, j], f32(301, 55, 3), i32(55, 24))
    add('retargeted_joints_last', lambda x, j: x[..., j], f32(101, 3, 55), i32(55, 24))
    def feistel(x, ks, pm):
        def rd(s, k):
            l, r = s
            return (r, l ^ jnp.take((r + k).astype(jnp.uint8), pm, axis=1)), None
        (l, r), _ = lax.scan(rd, (x[:, :32], x[:, 32:]), ks)
        return jnp.concatenate([l, r], 1)
    add('feistel_bytes', feistel, u8(61, 64), u8(12, 32), R.permutation(32).astype(np.int32))
    def qperm(x, p):
        return lax.fori_loop(0, 8, lambda i, x: (x[:, p[i]] + x) * np.float32(.5), x)
    add('shuffled_mixing', qperm, f32(61, 100), np.stack([R.permutation(100) for _ in range(8)]).astype(np.int32))
    add('taken_along_f16', lambda x, i: jnp.take_along_axis(x, i, 1), f16(201, 77), i32(77, 201, 30))
    add('taken_along_u8', lambda x, i: jnp.take_along_axis(x, i, 1), u8(201, 77), i32(77, 201, 77))
    add('put_along_f32', lambda x, i, v: jnp.put_along_axis(x, i, v, 1, inplace=False), f32(201, 77), np.stack([R.permutation(77)[:20] for _ in range(201)]).astype(np.int32), f32(201, 20))
    add('looked_up_bytes', lambda t, x: t[x], u8(256), u8(60001))
    add('looked_up_pairs', lambda t, x: t[x[:-1], x[1:]], f32(256, 256), u8(20001))
    add('looked_up_per_column', lambda t, x: jnp.take_along_axis(t, x.astype(np.int32), 0), f32(40, 33), i32(40, 801, 33))

    # --- short rows sorted
    for n, k, t in ((9, 2, f32), (16, 4, f32), (64, 8, f32), (128, 8, bf), (5, 1, f32), (256, 6, f32)):
        add(f'top_{k}_of_{n}_{t.__name__ if t is not bf else "bf16"}', lambda x, k=k: lax.top_k(x, k), t(1013, n))
    add('sorted_5_columns', lambda x: jnp.sort(x, 1), f32(2003, 5))
    add('sorted_11_rows', lambda x: jnp.sort(x, 0), f32(11, 2003))
    add('sorted_11_f64', lambda x: jnp.sort(x, 1), f64(503, 11))
    add('argsorted_7_i32', lambda x: jnp.argsort(x, 1), i32(100, 1003, 7))
    add('argsorted_13_u8', lambda x: jnp.argsort(x, 1), u8(503, 13))
    add('medians_of_9', lambda x: jnp.median(x, 1), f32(1003, 9))
    add('percentiles_of_31', lambda x: jnp.percentile(x, jnp.array([10., 50., 90.], jnp.float32), 1), f32(203, 31))
    add('ranks_of_17', lambda x: jnp.argsort(jnp.argsort(x, 1), 1), f32(403, 17))
    add('trimmed_means_of_10', lambda x: jnp.sort(x, 1)[:, 2:-2].mean(1), f32(1003, 10))
    add('beam_top_4', lambda s, lg: lax.top_k((s[:, :, None] + jax.nn.log_softmax(lg, -1)).reshape(len(s), -1), 4), f32(3, 4), f32(3, 4, 1003))
    add('mode_of_15', lambda x: jax.vmap(lambda r: r[jnp.argmax((r[:, None] == r).sum(1))])(x), i32(6, 507, 15))
    add('sorted_by_key_6', lambda k, a, b: lax.sort((k, a, b), dimension=1, num_keys=1), f32(501, 6), f32(501, 6), i32(9, 501, 6))
    return P
