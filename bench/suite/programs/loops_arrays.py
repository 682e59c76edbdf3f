"""Loops that read and write arrays at computed places: rings, tables, stacks, dynamic programming, queues."""
import numpy as np

from arrays import f32, i32, integers, permutation, positive

FACTOR = 16.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    t, n, wide = pick((60, 20, 16), (2000, 300, 400), (20000, 1000, 4000))
    fori = lax.fori_loop
    add('fibonacci_table', lambda a: fori(2, n, lambda i, s: s.at[i].set(0.6 * s[i - 1] + 0.3 * s[i - 2]), a), f32(n))
    add('ring_buffer', lambda r, x: lax.scan(lambda s, v: ((s[0].at[s[1] % 16].set(v), s[1] + 1), s[0].sum()), (r, 0), x)[1], f32(16), f32(t), factor=4)
    add('delay_line', lambda x: lax.scan(lambda s, v: (jnp.concatenate([v[None] + 0.5 * s[-1:], s[:-1]]), s[-1]), jnp.zeros(12), x)[1], f32(t))
    add('swap_elements', lambda x, p: fori(0, n - 1, lambda i, s: s.at[i].set(s[p[i]]).at[p[i]].set(s[i]), x), f32(n), permutation(n))
    add('pointer_chase', lambda p: fori(0, t, lambda i, s: p[s], 0), permutation(n))
    add('union_labels', lambda a, b: fori(0, 5, lambda i, l: l.at[a].min(l[b]).at[b].min(l[a]), jnp.arange(n)), i32(n, n), i32(n, n))

    def edit_distance(a, b):
        def row(prev, c):
            def cell(left, x):
                up, diagonal, other = x
                v = jnp.minimum(jnp.minimum(left, up) + 1, diagonal + (other != c))
                return v, v
            _, cells = lax.scan(cell, prev[0] + 1, (prev[1:], prev[:-1], b))
            return jnp.concatenate([prev[:1] + 1, cells]), None
        return lax.scan(row, jnp.arange(b.size + 1), a)[0][-1]
    add('edit_distance', edit_distance, i32(4, pick(12, 80, 300)), i32(4, pick(15, 90, 300)))
    add('longest_subsequence', lambda a, b: lax.scan(lambda p, c: (lax.cummax(jnp.concatenate([p[:1], jnp.maximum(p[1:], p[:-1] + (b == c))])), None), jnp.zeros(b.size + 1, jnp.int32), a)[0], i32(4, n), i32(4, n))
    add('knapsack', lambda w, v: lax.scan(lambda s, x: (jnp.maximum(s, jnp.where(jnp.arange(wide) >= x[0], jnp.roll(s, x[0]) + x[1], 0)), None), jnp.zeros(wide), (w, v))[0], integers(np.int32, 1, 15, n // 4), positive(n // 4))
    add('viterbi', lambda e, a: lax.scan(lambda s, x: (lambda m: (m.max(0) + x, m.argmax(0)))(s[:, None] + a), e[0], e[1:]), f32(n, 12), f32(12, 12))
    add('hidden_markov_forward', lambda e, a: lax.scan(lambda s, x: ((lambda v: v / v.sum())((s @ a) * x), s.max()), jnp.ones(10) / 10, e), positive(n, 10), positive(10, 10))
    add('floyd_warshall', lambda d: fori(0, d.shape[0], lambda k, d: jnp.minimum(d, d[:, k, None] + d[None, k]), d), positive(pick(12, 64, 200), pick(12, 64, 200)))
    add('cholesky_by_columns', lambda a: fori(0, a.shape[0], lambda k, m: m - jnp.where(jnp.arange(m.shape[0]) > k, m[:, k], 0)[:, None] * jnp.where(jnp.arange(m.shape[0]) > k, m[k], 0)[None] / m[k, k], a), lambda rng: (lambda a: (a @ a.T / a.shape[0] + np.eye(a.shape[0])).astype(np.float32))(rng.standard_normal((pick(10, 60, 200),) * 2)), factor=16)
    add('row_updates', lambda x, u: fori(0, n, lambda i, s: s.at[i % 8].add(u[i] * s[(i + 1) % 8] * 0.1), x), f32(8, wide // 4), f32(n))
    add('dynamic_update', lambda x: fori(0, n, lambda i, s: lax.dynamic_update_slice(s, jnp.tanh(lax.dynamic_slice(s, (i,), (8,))), (i,)), x), f32(n + 8))
    add('stack_machine', lambda p: fori(0, t, lambda i, s: lax.switch(p[i % p.size], [lambda s: (s[0].at[s[1] % 8].set(i * 0.1), s[1] + 1), lambda s: (s[0].at[(s[1] - 1) % 8].multiply(0.5), s[1]), lambda s: (s[0], jnp.maximum(s[1] - 1, 0))], s), (jnp.zeros(8), 1))[0], i32(3, 20))
    add('histogram_loop', lambda x: lax.scan(lambda h, v: (h.at[v].add(1), h[v]), jnp.zeros(32, jnp.int32), x), i32(32, t))
    add('cellular_automaton', lambda s: lax.scan(lambda s, _: ((lambda l, r: l ^ (s | r))(jnp.roll(s, 1), jnp.roll(s, -1)),) * 2, s, None, length=n // 4)[1], integers(np.int8, 0, 2, wide))
    add('life', lambda g: fori(0, pick(5, 20, 40), lambda i, g: (lambda c: ((c == 3) | ((c == 2) & (g > 0))).astype(jnp.int32))(sum(jnp.roll(g, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)), g), i32(2, pick(20, 128, 512), pick(20, 128, 512)))
    add('insertion', lambda x: lax.scan(lambda s, v: (lambda i: (jnp.where(jnp.arange(16) < i, s, jnp.where(jnp.arange(16) == i, v, jnp.roll(s, 1))), i))((s < v).sum()), jnp.full(16, jnp.inf), x), f32(t))
    add('history_rows', lambda x: lax.scan(lambda s, i: (s.at[i % 4].set(jnp.tanh(s[(i + 1) % 4] + 0.1)), s[i % 4]), x, jnp.arange(n))[1], f32(4, 24))
    add('bucket_queue', lambda d: lax.while_loop(lambda s: s[1] < n, lambda s: ((lambda k: (s[0].at[k].set(1e9), s[1] + 1, s[2].at[s[1]].set(k)))(s[0].argmin())), (d, 0, jnp.zeros(n, jnp.int32)))[2], positive(n))
    add('sieve', lambda m: fori(2, pick(6, 20, 60), lambda i, s: jnp.where((jnp.arange(wide) % i == 0) & (jnp.arange(wide) > i), False, s), m), lambda rng: np.ones(wide, bool))
