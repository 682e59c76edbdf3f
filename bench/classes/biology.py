"""Sequences, trees, cells and populations: likelihoods along trees, folding, counting of words, chains of reactions."""
import numpy as np

from by_value import Programs, Random

R = Random(103)
f32, i32 = R.f32, R.i32
FACTOR = 32.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    from jax.scipy.special import gammaln, logsumexp

    P = Programs()
    add = P.add

    # Trees.
    rng = np.random.RandomState(5)
    leaves = 24
    free, children = list(range(leaves)), []
    for k in range(leaves - 1):
        rng.shuffle(free)
        children.append((free.pop(), free.pop()))
        free.append(leaves + k)
    children = np.array(children, np.int32)

    def pruning(lengths, rates, sites):
        pi = jax.nn.softmax(rates[:4])
        q = jnp.exp(rates[4]) * pi[None] * jnp.array([[0, 1, 3, 1], [1, 0, 1, 3], [3, 1, 0, 1], [1, 3, 1, 0]])
        q = q - jnp.diag(q.sum(1))
        p = jax.vmap(jax.scipy.linalg.expm)(q * jnp.exp(lengths)[:, None, None])
        partial = jnp.concatenate([jax.nn.one_hot(sites, 4), jnp.zeros((leaves - 1, sites.shape[1], 4))])
        def join(s, x):
            partial, scale = s
            k, (a, b) = x
            both = (partial[a] @ p[a].T) * (partial[b] @ p[b].T)
            top = both.max(-1, keepdims=True)
            return (partial.at[k].set(both / top), scale + jnp.log(top[:, 0])), None
        partial, scale = lax.scan(join, (partial, jnp.zeros(sites.shape[1])), (jnp.arange(leaves, 2 * leaves - 1), children))[0]
        return (jnp.log(partial[-1] @ pi) + scale).sum()
    tree = 0.3 * f32(2 * leaves - 1) - 2, 0.3 * f32(5), i32(4, leaves, 200)
    add('likelihood_of_a_tree', pruning, *tree)
    add('likelihood_of_a_tree_gradient', jax.grad(pruning, (0, 1)), *tree)

    def joined(d):
        n = len(d)
        def step(s, _):
            d, alive = s
            m = alive.sum()
            r = jnp.where(alive, jnp.where(alive[None], d, 0).sum(1), 0) / jnp.maximum(m - 2, 1)
            q = jnp.where(alive[:, None] & alive & jnp.tri(n, k=-1, dtype=bool), d - r[:, None] - r, jnp.inf)
            i, j = jnp.divmod(q.argmin(), n)
            row = 0.5 * (d[i] + d[j] - d[i, j])
            d = d.at[i].set(row).at[:, i].set(row).at[i, i].set(0)
            return (d, alive.at[j].set(False)), (i, j, 0.5 * (d[i, j] + r[i] - r[j]))
        return lax.scan(step, (d, jnp.ones(n, bool)), None, length=n - 2)[1]
    points = f32(40, 6)
    add('neighbours_joined', joined, np.sqrt(((points[:, None] - points) ** 2).sum(-1)))

    # Sequences.
    def words_of(seq, k):
        code = sum(seq[i : len(seq) - k + 1 + i] << (2 * (k - 1 - i)) for i in range(k))
        back = sum((3 - seq[i : len(seq) - k + 1 + i]) << (2 * i) for i in range(k))
        return jnp.minimum(code, back)
    add('counted_words', lambda s: jnp.bincount(words_of(s, 5), length=1024), i32(4, 4000))
    add('distances_by_words', lambda s: (lambda c: 1 - (c / jnp.linalg.norm(c, axis=1, keepdims=True)) @ (c / jnp.linalg.norm(c, axis=1, keepdims=True)).T)(
        jax.vmap(lambda s: jnp.zeros(256).at[words_of(s, 4)].add(1))(s)), i32(4, 30, 300))
    def minimisers(s):
        h = words_of(s, 8).astype(jnp.uint32)
        h = (h ^ (h >> 7)) * jnp.uint32(0x9E3779B1)
        h = h ^ (h >> 15)
        windows = h[jnp.arange(len(h) - 9)[:, None] + jnp.arange(10)]
        return windows.min(1), jnp.arange(len(h) - 9) + windows.argmin(1)
    add('least_words_of_windows', minimisers, i32(4, 3000))
    def sketch(s):
        h = words_of(s, 6).astype(jnp.uint32)
        a = jnp.arange(1, 65, dtype=jnp.uint32) * jnp.uint32(2654435761)
        return ((h[:, None] ^ a) * jnp.uint32(0x85EBCA6B) >> 3).min(0)
    add('sketches_of_sequences', jax.vmap(sketch), i32(4, 12, 500))
    def motifs(weights, s):
        x = jax.nn.one_hot(s, 4)
        both = jnp.concatenate([x[None], x[None, ::-1, ::-1]])
        score = lax.conv_general_dilated(both, weights, (1,), 'VALID', dimension_numbers=('NWC', 'WIO', 'NWC'))
        return logsumexp(score, axis=1).max(0), score.max((0, 1))
    add('motifs_on_both_strands', motifs, f32(9, 4, 20), i32(4, 700))

    def pair_model(emit, gap, x, y):
        m = emit[x[:, None], y]
        def row(s, r):
            M, X = s
            stay = jnp.logaddexp(M[1:] + gap[0], X[1:] + gap[1])
            into = jnp.logaddexp(M[:-1], X[:-1])
            def cell(c, v):
                Ml, Yl = c
                Y = jnp.logaddexp(Ml + gap[0], Yl + gap[1])
                M = v[1] + jnp.logaddexp(v[0], Yl)
                return (M, Y), (M, Y)
            Mr = lax.scan(cell, (-1e4, -1e4), (into, r))[1][0]
            return (jnp.concatenate([jnp.array([-1e4]), Mr]), jnp.concatenate([jnp.array([-1e4]), stay])), Mr[-1]
        z = jnp.full(len(y) + 1, -1e4)
        return logsumexp(lax.scan(row, (z.at[0].set(0), z), m)[1])
    add('pairs_of_sequences_gradient', jax.grad(pair_model), f32(4, 4), np.array([-2, -1], np.float32), i32(4, 40), i32(4, 50))

    def folded(s):
        n = len(s)
        pairs = (jnp.abs(s[:, None] + s[None] - 3) < 0.5) & (jnp.arange(n)[None] - jnp.arange(n)[:, None] > 3)
        def diagonal(d, N):
            i = jnp.arange(n)
            j = jnp.minimum(i + d, n - 1)
            k = jnp.arange(n)
            split = jnp.where((k >= i[:, None]) & (k < j[:, None]), N[i] + N[jnp.minimum(k + 1, n - 1)][:, j].T, 0).max(1)
            inner = jnp.where(j - i > 1, N[jnp.minimum(i + 1, n - 1), jnp.maximum(j - 1, 0)], 0) + pairs[i, j]
            best = jnp.maximum(split, inner)
            return N.at[i, j].set(jnp.where(i + d < n, best, N[i, j]))
        return lax.fori_loop(1, n, diagonal, jnp.zeros((n, n), jnp.int32))[0, n - 1]
    add('folded_strand', folded, i32(4, 48))

    def edit_in_words(pattern, text):
        eq = jnp.zeros(4, jnp.uint32).at[pattern].add(jnp.uint32(1) << jnp.arange(len(pattern), dtype=jnp.uint32))
        top = jnp.uint32(1) << (len(pattern) - 1)
        def step(s, c):
            pv, mv, score = s
            e = eq[c]
            xv = e | mv
            xh = (((e & pv) + pv) ^ pv) | e
            ph, mh = mv | ~(xh | pv), pv & xh
            score = score + ((ph & top) != 0) - ((mh & top) != 0)
            ph = (ph << 1) | 1
            return ((mh << 1) | ~(xv | ph), ph & xv, score), score
        return lax.scan(step, (~jnp.uint32(0), jnp.uint32(0), len(pattern)), text)[1]
    add('edit_distance_in_words', edit_in_words, i32(4, 30), i32(4, 1500))
    add('edit_distances_in_words', jax.vmap(edit_in_words), i32(4, 40, 28), i32(4, 40, 200))

    # Molecules of life.
    def chain(torsions):
        def place(s, t):
            a, b, c = s
            bc = (c - b) / jnp.linalg.norm(c - b)
            n = jnp.cross(b - a, bc)
            n = n / jnp.linalg.norm(n)
            m = jnp.stack([bc, jnp.cross(n, bc), n], -1)
            d = c + m @ (1.5 * jnp.stack([-jnp.cos(1.9) * 1.0, jnp.sin(1.9) * jnp.cos(t), jnp.sin(1.9) * jnp.sin(t)]))
            return (b, c, d), d
        return lax.scan(place, (jnp.array([0., 1, 0]), jnp.array([0., 0, 0]), jnp.array([1.5, 0, 0])), torsions)[1]
    add('chain_from_torsions', chain, f32(300) * 0.5 + 1)
    add('contacts_of_a_chain_gradient', jax.grad(lambda t: (lambda x: jax.nn.sigmoid(4 - jnp.sqrt(((x[:, None] - x) ** 2).sum(-1) + 1e-3)).sum())(chain(t))), f32(80) * 0.5 + 1)
    def dihedrals(x):
        b = x[:, 1:] - x[:, :-1]
        n = jnp.cross(b[:, :-1], b[:, 1:])
        n1, n2, mid = n[:, :-1], n[:, 1:], b[:, 1:-1]
        m = jnp.cross(n1, mid / jnp.linalg.norm(mid, axis=-1, keepdims=True))
        return jnp.arctan2((m * n2).sum(-1), (n1 * n2).sum(-1))
    add('torsions_of_models', dihedrals, f32(20, 90, 3))
    def superposed(x, y):
        x, y = x - x.mean(0), y - y.mean(0)
        u, _, vt = jnp.linalg.svd(x.T @ y)
        d = jnp.sign(jnp.linalg.det(u @ vt))
        return jnp.sqrt(((x @ (u * jnp.array([1., 1, 1]).at[2].set(d)) @ vt - y) ** 2).sum(-1).mean())
    add('superposed_models', jax.vmap(superposed, (0, None)), f32(40, 70, 3), f32(70, 3))
    def triangle_attention(p, z):
        z = (z - z.mean(-1, keepdims=True)) * lax.rsqrt(z.var(-1, keepdims=True) + 1e-5)
        q, k, v = (jnp.einsum('ijc,chd->ijhd', z, w) for w in p['qkv'])
        b = jnp.einsum('ijc,ch->hij', z, p['b'])
        a = jax.nn.softmax(jnp.einsum('ijhd,ikhd->hijk', q, k) / 2.8 + b[:, None], -1)
        o = jnp.einsum('hijk,ikhd->ijhd', a, v) * jax.nn.sigmoid(jnp.einsum('ijc,chd->ijhd', z, p['g']))
        return z + jnp.einsum('ijhd,hdc->ijc', o, p['o'])
    tri = dict(qkv=[f32(16, 4, 8) * 0.3 for _ in range(3)], b=f32(16, 4), g=f32(16, 4, 8), o=f32(4, 8, 16) * 0.2)
    add('attention_over_triangles', triangle_attention, tri, f32(24, 24, 16))

    # Cells and populations.
    def quantile_normalised(x):
        order = jnp.argsort(x, 0)
        rank = jnp.argsort(order, 0)
        return jnp.sort(x, 0).mean(1)[rank]
    add('quantiles_made_equal', quantile_normalised, np.abs(f32(500, 8)))
    def cells(counts):
        x = jnp.log1p(counts / counts.sum(1, keepdims=True) * 1e4)
        mean, var = x.mean(0), x.var(0)
        top = lax.top_k(var / (mean + 1e-3), 40)[1]
        z = jnp.clip((x[:, top] - mean[top]) / jnp.sqrt(var[top] + 1e-6), -10, 10)
        g = z @ z.T
        d = jnp.diag(g)[:, None] + jnp.diag(g) - 2 * g
        near = lax.top_k(-d, 8)[1]
        return jnp.zeros((len(x), len(x))).at[jnp.arange(len(x))[:, None], near].set(1.0) @ z
    add('expression_of_cells', cells, R.poisson(1.0, (120, 300)).astype(np.float32))
    def negative_binomial(p, counts, size):
        mu = jnp.exp(p['a'] + p['b'] * counts.shape[0] ** -0.5) * size[:, None]
        r = jnp.exp(p['r'])
        return -(gammaln(counts + r) - gammaln(r) - gammaln(counts + 1) + r * jnp.log(r / (r + mu)) + counts * jnp.log(mu / (r + mu) + 1e-8)).mean()
    add('counts_with_overdispersion_gradient', jax.value_and_grad(negative_binomial), dict(a=f32(60), b=f32(60), r=f32(60)), R.poisson(3.0, (50, 60)).astype(np.float32),
        R.rand(50).astype(np.float32) + 0.5)
    def reactions(key, x):
        change = jnp.array([[1, 0], [-1, 1], [0, -1], [-1, 0]])
        def step(s, k):
            x, t = s
            rate = jnp.array([10., 0, 0, 0]) + jnp.array([0, 0.02, 0, 0]) * x[0] * x[1] + jnp.stack([0 * x[0], 0 * x[0], 0.5 * x[1], 0.1 * x[0]])
            k1, k2 = jax.random.split(k)
            total = rate.sum()
            t = t + jax.random.exponential(k1) / total
            at = jnp.searchsorted(jnp.cumsum(rate) / total, jax.random.uniform(k2))
            return (jnp.maximum(x + change[jnp.minimum(at, 3)], 0), t), (x, t)
        return lax.scan(step, (x, 0.0), jax.random.split(jax.random.wrap_key_data(key), 500))[1]
    add('reactions_one_by_one', reactions, np.array([1, 9], np.uint32), np.array([20, 20], np.int32))
    def drift(key, p):
        def generation(p, k):
            p = p * 1.02 / (1 + 0.02 * p)
            draw = jax.random.uniform(k, (100, *p.shape)) < p
            return draw.mean(0), p
        return lax.scan(generation, p, jax.random.split(jax.random.wrap_key_data(key), 50))[1]
    add('drifting_genes', drift, np.array([2, 9], np.uint32), R.rand(40).astype(np.float32))
    def linkage(g):
        z = (g - g.mean(0)) / (g.std(0) + 1e-6)
        r = z.T @ z / len(g)
        near = jnp.abs(jnp.arange(r.shape[0])[:, None] - jnp.arange(r.shape[0])) < 20
        return jnp.where(near, r * r, 0).sum(1), jnp.linalg.eigvalsh(z @ z.T / g.shape[1])[-5:]
    add('linked_genes', linkage, i32(3, 40, 150).astype(np.float32))
    return P
