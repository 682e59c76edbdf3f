"""Machines and automata of scalars, columns of short rows, products of odd shapes and types."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(709)
f32, i32, u8 = R.f32, R.i32, R.u8
uni, bf, f16 = R.share, R.bf16, R.f16


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    key = np.array([2, 80], np.uint32)

    # scalar automata and machines, single and batched
    def cpu(prog, reg):
        def body(s):
            pc, r, n = s
            op, a, b, c = prog[pc]
            va, vb = r[a], r[b]
            res = lax.switch(op, [lambda: va + vb, lambda: va - vb, lambda: va * vb, lambda: va ^ vb, lambda: va & vb, lambda: va >> (vb & 31)])
            r = r.at[c].set(res)
            return jnp.where(res & 3 == 0, (pc + b) % len(prog), (pc + 1) % len(prog)), r, n + 1
        return lax.while_loop(lambda s: s[2] < 800, body, (0, reg, 0))[1]
    add('register_machine', cpu, np.concatenate([i32(6, 40, 1), i32(16, 40, 3)], 1), i32(1000, 16))
    add('register_machines', jax.vmap(cpu, (None, 0)), np.concatenate([i32(6, 40, 1), i32(16, 40, 3)], 1), i32(1000, 20, 16))
    def nfa(tab, s):
        def st(q, c):
            q = lax.reduce(jnp.where((q >> jnp.arange(24, dtype=jnp.uint32)) & 1 == 1, tab[:, c], 0), np.uint32(0), lax.bitwise_or, (0,)) | 1
            return q, q >> 23 & 1
        return lax.scan(st, jnp.uint32(1), s)[1].sum()
    add('patterns_by_masks', nfa, R.randint(0, 1 << 24, (24, 26)).astype(np.uint32), i32(26, 600))
    def tokenizer(s):
        def st(c, ch):
            state, start, i = c
            kind = jnp.where((ch >= 97) & (ch < 123), 1, jnp.where((ch >= 48) & (ch < 58), 2, jnp.where(ch == 32, 0, 3)))
            new = kind != state
            return (kind, jnp.where(new, i, start), i + 1), jnp.where(new, state * 1000 + i - start, -1)
        return lax.scan(st, (0, 0, 0), s)[1]
    add('tokens_of_bytes', tokenizer, R.randint(30, 123, 2000).astype(np.uint8))
    def rpn(code, val):
        def st(s, cv):
            stk, sp = s
            c, v = cv
            a, b = stk[(sp - 2) % 16], stk[(sp - 1) % 16]
            r = lax.select_n(c, v, a + b, a * b, a - b)
            push = c == 0
            at = jnp.where(push, sp, sp - 2) % 16
            return (stk.at[at].set(r), jnp.where(push, sp + 1, sp - 1)), r
        return lax.scan(st, (jnp.zeros(16), 8), (code, val))[1]
    add('stack_evaluated', rpn, i32(4, 700), f32(700) * .1)
    def tokenbucket(t, sz):
        def st(s, x):
            lv, last = s
            lv = jnp.minimum(10., lv + (x[0] - last) * 2)
            ok = lv >= x[1]
            return (jnp.where(ok, lv - x[1], lv), x[0]), ok
        return lax.scan(st, (10., 0.), (t, sz))[1]
    add('limits_of_rate', tokenbucket, np.cumsum(uni(2000)).astype(np.float32), uni(2000) * 3)
    def elevator(calls):
        def st(s, c):
            pos, d, req = s
            req = req.at[c].set(True)
            up = (req & (jnp.arange(20) > pos)).any(); dn = (req & (jnp.arange(20) < pos)).any()
            d = jnp.where((d > 0) & ~up, -1, jnp.where((d < 0) & ~dn, 1, d))
            pos = jnp.clip(pos + jnp.where(req.any(), d, 0), 0, 19)
            return (pos, d, req.at[pos].set(False)), pos
        return lax.scan(st, (0, 1, jnp.zeros(20, bool)), calls)[1]
    add('lift_of_20_floors', elevator, i32(20, 600))
    def viterbi_k7(sym):
        s = jnp.arange(64)
        o = jnp.stack([(lax.population_count((s << 1 | b) & 0o171) & 1) * 2 + (lax.population_count((s << 1 | b) & 0o133) & 1) for b in (0, 1)])
        prev = jnp.stack([s >> 1, (s >> 1) | 32])
        def st(m, y):
            br = lax.population_count(o ^ y)
            c = jnp.stack([m[prev[0]] + br[s & 1, prev[0]], m[prev[1]] + br[s & 1, prev[1]]])
            return c.min(0), c[1] < c[0]
        m, d = lax.scan(st, jnp.zeros(64, jnp.int32), sym)
        def tb(q, dd):
            p = jnp.where(dd[q], (q >> 1) | 32, q >> 1)
            return p, q & 1
        return lax.scan(tb, jnp.argmin(m), d, reverse=True)[1]
    add('convolutional_k7', viterbi_k7, i32(4, 300))
    # event-driven: next reaction heap-less Gillespie for SIR on a network
    def sir(key, adj):
        n = adj.shape[0]
        def body(s):
            key, st, t, k = s
            key, a, b = jax.random.split(key, 3)
            inf = st == 1
            rate = jnp.where(st == 0, adj @ inf.astype(jnp.float32) * .4, jnp.where(inf, .2, 0))
            tot = rate.sum()
            i = jnp.searchsorted(jnp.cumsum(rate), jax.random.uniform(a) * tot)
            return key, st.at[i].add(1), t - jnp.log(jax.random.uniform(b, minval=1e-7)) / tot, k + 1
        return lax.while_loop(lambda s: (s[3] < 100) & (s[1] == 1).any(), body, (key, jnp.zeros(n, jnp.int32).at[0].set(1), 0., 0))[1:]
    A = (R.rand(70, 70) < .1); A = (A | A.T).astype(np.float32)
    add('epidemic_on_a_network', sir, key, A)
    # tiny gemv loops
    def jacobi(A, b):
        d = jnp.diag(A)
        def body(s):
            x, _, k = s
            y = x + (b - A @ x) / d
            return y, jnp.abs(y - x).max(), k + 1
        return lax.while_loop(lambda s: (s[1] > 1e-6) & (s[2] < 80), body, (jnp.zeros_like(b), jnp.float32(1), 0))[0::2]
    Aj = (f32(40, 40) * .3 + 8 * np.eye(40)).astype(np.float32)
    add('jacobi_until_f32', jacobi, Aj, f32(40))
    add('jacobi_until_f32_of_9', jacobi, (f32(9, 9) * .3 + 4 * np.eye(9)).astype(np.float32), f32(9))
    add('jacobi_until_f32_of_130', jacobi, (f32(130, 130) * .3 + 14 * np.eye(130)).astype(np.float32), f32(130))
    def fista(A, b):
        def st(c, k):
            x, y, t = c
            z = y - .01 * A.T @ (A @ y - b)
            x2 = jnp.sign(z) * jnp.maximum(jnp.abs(z) - .01, 0)
            t2 = (1 + jnp.sqrt(1 + 4 * t * t)) / 2
            return (x2, x2 + (t - 1) / t2 * (x2 - x), t2), None
        z = jnp.zeros(A.shape[1])
        return lax.scan(st, (z, z, 1.), None, 60)[0][0]
    add('fista_30x60', fista, f32(30, 60), f32(30))
    add('fista_100x40', fista, f32(100, 40) * .5, f32(100))
    def admm(P_, q, A):
        n, m = len(q), A.shape[0]
        L = jnp.linalg.inv(P_ + A.T @ A + 1e-3 * jnp.eye(n))
        def st(c, _):
            x, z, u = c
            x = L @ (A.T @ (z - u) - q)
            Ax = A @ x
            z = jnp.clip(Ax + u, -1, 1)
            return (x, z, u + Ax - z), None
        return lax.scan(st, (jnp.zeros(n), jnp.zeros(m), jnp.zeros(m)), None, 80)[0][0]
    Pm = (lambda a: (a @ a.T / 20 + np.eye(24)).astype(np.float32))(f32(24, 24))
    add('splitting_program', admm, Pm, f32(24), f32(36, 24))
    add('splitting_programs', jax.vmap(admm, (None, 0, None)), Pm, f32(17, 24), f32(36, 24))
    def esn(Win, W, u):
        def st(h, x):
            h = .7 * h + .3 * jnp.tanh(W @ h + Win * x)
            return h, h
        return lax.scan(st, jnp.zeros(W.shape[0]), u)[1]
    add('reservoir_of_50', esn, f32(50), f32(50, 50) * .1, f32(200))
    add('reservoir_of_100', esn, f32(100), f32(100, 100) * .07, f32(200))
    def mpcroll(A, B, K, x):
        def st(x, _):
            u = jnp.clip(-K @ x, -1, 1)
            x = A @ x + B @ u
            return x, u
        return lax.scan(st, x, None, 200)[1]
    add('closed_loop_rollout', mpcroll, (np.eye(12) * .95 + .02 * R.randn(12, 12)).astype(np.float32), f32(12, 4) * .1, f32(4, 12) * .2, f32(12))
    def hmmf(T, E, obs):
        def st(a, o):
            a = (a @ T) * E[:, o]
            s = a.sum()
            return a / s, jnp.log(s)
        return lax.scan(st, jnp.ones(T.shape[0]) / T.shape[0], obs)[1].sum()
    add('hidden_states_30', hmmf, (lambda a: (a / a.sum(1, keepdims=True)).astype(np.float32))(R.rand(30, 30)), uni(30, 12), i32(12, 300))
    add('hidden_states_30_gradient', jax.grad(hmmf), (lambda a: (a / a.sum(1, keepdims=True)).astype(np.float32))(R.rand(30, 30)), uni(30, 12), i32(12, 100))
    def mlp_policy(p, s):
        def st(s, _):
            h = jnp.tanh(p[0] @ s + p[1]); h = jnp.tanh(p[2] @ h + p[3])
            a = p[4] @ h
            th, w, x, v = s
            acc = (9.8 * jnp.sin(th) - jnp.cos(th) * a[0]) / 1.2
            return jnp.stack([th + .02 * w, w + .02 * acc, x + .02 * v, v + .02 * a[0]]), a[0]
        return lax.scan(st, s, None, 150)[1]
    pol = (f32(32, 4) * .3, f32(32), f32(32, 32) * .2, f32(32), f32(1, 32) * .3)
    add('policy_in_the_loop', mlp_policy, pol, f32(4) * .1)
    add('policy_in_the_loop_gradient', jax.grad(lambda p, s: jnp.sum(mlp_policy(p, s) ** 2)), pol, f32(4) * .1)
    # layers scanned with stacked weights: tokens, rows, bf16
    add('stacked_layers_token', lambda x, w, v: lax.scan(lambda x, w: (x + jax.nn.gelu(x @ w[0]) @ w[1], None), x, (w, v))[0], f32(1, 200), f32(5, 200, 800) * .05, f32(5, 800, 200) * .05)
    add('stacked_layers_token_bf16', lambda x, w, v: lax.scan(lambda x, w: (x + jax.nn.gelu(x @ w[0]) @ w[1], None), x, (w, v))[0], bf(1, 200), bf(5, 200, 800) * ml_dtypes.bfloat16(.05), bf(5, 800, 200) * ml_dtypes.bfloat16(.05))
    add('stacked_layers_rows', lambda x, w, v: lax.scan(lambda x, w: (x + jax.nn.gelu(x @ w[0]) @ w[1], None), x, (w, v))[0], f32(33, 200), f32(5, 200, 800) * .05, f32(5, 800, 200) * .05)
    add('experts_chosen_by_token', lambda x, w, e: jnp.einsum('td,tdf->tf', x, w[e]), f32(4, 128), f32(8, 128, 256), i32(8, 4))
    add('expert_by_dynamic_slice', lambda x, w, e: lax.map(lambda a: a[0] @ w[a[1]], (x, e)), f32(9, 128), f32(8, 128, 256), i32(8, 9))
    # u8/i8 permutations & codes
    add('bits_interleaved', lambda x, p: jnp.packbits(jnp.unpackbits(x, axis=1)[:, p], axis=1), u8(100, 16), R.permutation(128).astype(np.int32))
    add('bits_interleaved_constant', lambda x, p=R.permutation(128): jnp.packbits(jnp.unpackbits(x, axis=1)[:, p], axis=1), u8(100, 16))
    add('shift_rows_of_states', lambda x: x[:, np.array([0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11])] ^ np.uint8(99), u8(1001, 16))
    add('channels_by_list_f16', lambda x, p: x[..., p], f16(31, 33, 40), R.permutation(40).astype(np.int32))
    add('channels_by_list_i8', lambda x, p: x[..., p] + np.int8(1), R.randint(-128, 128, (31, 33, 40)).astype(np.int8), R.permutation(40).astype(np.int32))
    add('columns_chosen_10_of_300', lambda x, p: x[:, p], f32(501, 300), i32(300, 10))
    add('columns_chosen_200_of_300', lambda x, p: x[:, p], f32(301, 300), np.sort(i32(300, 200)))
    add('forest_features', lambda x, f, t: (x[:, f] > t).astype(jnp.int32) @ (1 << jnp.arange(6)), f32(801, 30), i32(30, 6), f32(6))
    add('oblivious_trees', lambda x, f, t, v: v[jnp.arange(20), ((x[:, f] > t) * (1 << np.arange(6))).sum(2)].sum(1), f32(401, 30), i32(30, 20, 6), f32(20, 6), f32(20, 64))
    add('bootstrap_columns', lambda x, i: x[:, i].mean(0), f32(77, 200), i32(200, 1000))
    add('genotypes_looked_up', lambda g, t: t[g.astype(jnp.int32)].sum(1), R.randint(0, 4, (300, 501)).astype(np.int8), f32(4))
    # argmax instead of top-1, top-k with values used in softmax
    add('top_1_experts', lambda x, w: (lambda v, i: (jax.nn.sigmoid(v), jax.nn.one_hot(i[:, 0], 6).sum(0)))(*lax.top_k(x @ w, 1)), f32(1003, 20), f32(20, 6))
    add('second_best', lambda x: lax.top_k(x, 2)[0][:, 1], f32(2001, 7))
    add('votes_of_neighbours', lambda d, y: jax.vmap(lambda i: jnp.bincount(y[i], length=5))(lax.top_k(-d, 7)[1]), uni(201, 150), i32(5, 150))
    add('largest_3_of_rows_16', lambda x: lax.top_k(x, 3)[0].sum(1), f32(4001, 16))
    return P
