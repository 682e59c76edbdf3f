"""Algorithms of textbooks on integers, bytes, sequences, graphs and trees."""
import numpy as np

from by_value import Programs, Random

R = Random(0)
f32, i32 = R.f32, R.i32
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn

    P = Programs()
    add = P.add
    fori = lax.fori_loop

    # Sequences against sequences.
    def warp(x, y):
        d = jnp.abs(x[:, None] - y[None])

        def row(above, d):
            def cell(left, s):
                up, corner, d = s
                v = d + jnp.minimum(jnp.minimum(left, up), corner)
                return v, v
            corner = jnp.concatenate([jnp.full(1, jnp.inf), above[:-1]])
            return lax.scan(cell, jnp.inf, (above, corner, d))[1], None
        return lax.scan(row, jnp.cumsum(d[0]), d[1:])[0][-1]
    add('time_warping', warp, f32(70), f32(83))
    add('time_warping_of_many', jax.vmap(warp, (None, 0)), f32(50), f32(40, 50))

    def soft_warp(x, y):
        d = (x[:, None] - y[None]) ** 2
        n, m = d.shape
        i = jnp.arange(n)

        def diagonal(s, k):
            a, b = s
            j = k - i
            cost = jnp.where((j >= 0) & (j < m), d[i, jnp.clip(j, 0, m - 1)], 1e6)
            up = jnp.concatenate([jnp.full(1, 1e6), b[:-1]])
            corner = jnp.concatenate([jnp.where(k == 0, 0.0, 1e6)[None], a[:-1]])
            new = cost - nn.logsumexp(-jnp.stack([b, up, corner]), 0)
            return (b, jnp.where((j >= 0) & (j < m), new, 1e6)), None
        start = jnp.full(n, 1e6)
        return lax.scan(diagonal, (start, start), jnp.arange(n + m - 1))[0][1][-1]
    add('soft_time_warping_gradient', jax.grad(soft_warp), f32(48), f32(59))

    def align(a, b, score):
        def row(s, x):
            h, e, best = s
            diagonal = jnp.concatenate([jnp.zeros(1), h[:-1]]) + score[x, b]
            e = jnp.maximum(h - 3, e - 1)
            v = jnp.maximum(jnp.maximum(diagonal, e), 0)
            gap = lax.cummax(v + jnp.arange(len(b))) - jnp.arange(len(b)) - 2
            h = jnp.maximum(v, jnp.concatenate([jnp.zeros(1), gap[:-1]]))
            return (h, e, jnp.maximum(best, h.max())), h.argmax()
        z = jnp.zeros(len(b))
        (_, _, best), at = lax.scan(row, (z, z - 9, 0.0), a)
        return best, at
    scores = R.randint(-4, 6, (20, 20)).astype(np.float32)
    add('local_alignment', align, i32(20, 150), i32(20, 130), scores)
    add('local_alignments', jax.vmap(align, (None, 0, None)), i32(20, 60), i32(20, 30, 64), scores)

    def ctc(logits, labels):
        log = nn.log_softmax(logits)
        n = 2 * len(labels) + 1
        path = jnp.zeros(n, jnp.int32).at[1::2].set(labels)
        skip = (path != jnp.roll(path, 2)) & (jnp.arange(n) % 2 == 1) & (jnp.arange(n) > 2)

        def step(a, x):
            one = jnp.concatenate([jnp.full(1, -1e9), a[:-1]])
            two = jnp.where(skip, jnp.concatenate([jnp.full(2, -1e9), a[:-2]]), -1e9)
            return nn.logsumexp(jnp.stack([a, one, two]), 0) + x[path], None
        first = jnp.full(n, -1e9).at[0].set(log[0, 0]).at[1].set(log[0, labels[0]])
        a = lax.scan(step, first, log[1:])[0]
        return -jnp.logaddexp(a[-1], a[-2])
    add('temporal_classification_gradient', jax.grad(lambda l, y: jax.vmap(ctc)(l, y).mean()), f32(6, 60, 29), 1 + i32(28, 6, 11))

    def transducer(blank, emit):
        def row(a, s):
            b, e = s
            def cell(left, s):
                up, e = s
                v = jnp.logaddexp(up, left + e)
                return v, v
            up = a + b
            return jnp.concatenate([up[:1], lax.scan(cell, up[0], (up[1:], e[:-1]))[1]]), None
        first = jnp.concatenate([jnp.zeros(1), jnp.cumsum(emit[0])[:-1]])
        return -lax.scan(row, first, (blank[:-1], emit[1:]))[0][-1] - blank[-1, -1]
    add('transducer_loss_gradient', jax.grad(transducer, (0, 1)), -np.abs(f32(40, 13)), -np.abs(f32(40, 13)))

    def chain(unary, pair):
        def step(s, u):
            t = s[:, None] + pair
            return t.max(0) + u, t.argmax(0)
        s, back = lax.scan(step, unary[0], unary[1:])
        last = s.argmax()
        path = lax.scan(lambda k, b: (b[k], b[k]), last, back, reverse=True)[1]
        return jnp.append(path, last), s.max()
    add('best_labels', chain, f32(200, 9), f32(9, 9))
    add('best_labels_of_sentences', jax.vmap(chain, (0, None)), f32(17, 33, 9), f32(9, 9))

    # Bytes and bits.
    def sha256(blocks):
        primes = [p for p in range(2, 312) if all(p % q for q in range(2, p))]
        K = jnp.array([int((p ** (1 / 3) % 1) * 2 ** 32) & 0xffffffff for p in primes[:64]], jnp.uint32)
        H = jnp.array([int((p ** 0.5 % 1) * 2 ** 32) & 0xffffffff for p in primes[:8]], jnp.uint32)
        turn = lambda x, n: (x >> n) | (x << (32 - n))

        def extend(i, w):
            a, b = w[i - 15], w[i - 2]
            return w.at[i].set(w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ (a >> 3)) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ (b >> 10)))

        def block(h, m):
            w = fori(16, 64, extend, jnp.zeros(64, jnp.uint32).at[:16].set(m))

            def round(s, x):
                a, b, c, d, e, f, g, h = s
                t = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + x[0] + x[1]
                u = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
                return (t + u, a, b, c, d + t, e, f, g), None
            return h + jnp.stack(lax.scan(round, tuple(h), (K, w))[0]), None
        return lax.scan(block, H, blocks)[0]
    add('sha256', sha256, R.randint(0, 1 << 32, (12, 16)).astype(np.uint32))
    add('sha256_of_many', jax.vmap(sha256), R.randint(0, 1 << 32, (64, 2, 16)).astype(np.uint32))

    def chacha(k, counter):
        turn = lambda x, n: (x << n) | (x >> (32 - n))
        s = jnp.concatenate([jnp.array([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574], jnp.uint32)[:, None] + jnp.zeros_like(counter), k[:, None] + jnp.zeros_like(counter), counter[None], jnp.zeros((3, len(counter)), jnp.uint32)])

        def double(i, x):
            x = list(x)
            for a, b, c, d in [(i, i + 4, i + 8, i + 12) for i in range(4)] + [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]:
                x[a] += x[b]; x[d] = turn(x[d] ^ x[a], 16)
                x[c] += x[d]; x[b] = turn(x[b] ^ x[c], 12)
                x[a] += x[b]; x[d] = turn(x[d] ^ x[a], 8)
                x[c] += x[d]; x[b] = turn(x[b] ^ x[c], 7)
            return tuple(x)
        return jnp.stack(fori(0, 10, double, tuple(s))) + s
    add('stream_cipher', chacha, R.randint(0, 1 << 32, 8).astype(np.uint32), np.arange(500, dtype=np.uint32))

    def base64(x):
        x = x.reshape(-1, 3).astype(jnp.uint32)
        v = x[:, 0] << 16 | x[:, 1] << 8 | x[:, 2]
        letters = jnp.array(list(b'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'), jnp.uint8)
        return letters[jnp.stack([v >> 18, v >> 12 & 63, v >> 6 & 63, v & 63], 1)].reshape(-1)
    add('base64', base64, R.u8(6000))

    def utf8(x):
        lead = (x & 0xc0) != 0x80
        size = jnp.where(x < 0x80, 1, jnp.where(x < 0xe0, 2, jnp.where(x < 0xf0, 3, 4)))
        bits = jnp.where(lead, jnp.where(size == 1, x, x & (0xff >> (size + 1))), x & 0x3f).astype(jnp.int32)
        return lax.scan(lambda s, v: (jnp.where(v[1], v[0], s << 6 | v[0]),) * 2, 0, (bits, lead))[1], lead.sum()
    add('code_points', utf8, R.u8(3000))

    def tokens(x):
        def step(s, c):
            state, n = s
            letter = ((c >= 97) & (c <= 122)) | ((c >= 65) & (c <= 90))
            digit = (c >= 48) & (c <= 57)
            kind = jnp.where(letter, 1, jnp.where(digit, 2, jnp.where(c <= 32, 0, 3)))
            new = (kind != state) & (kind != 0) & ~((state == 1) & (kind == 2))
            n = n + new
            return (jnp.where((state == 1) & (kind == 2), 1, kind), n), (n, kind)
        return lax.scan(step, (0, 0), x.astype(jnp.int32))[1]
    add('tokens_of_text', tokens, R.randint(32, 127, 2000).astype(np.uint8))

    def automaton(table, x):
        return lax.scan(lambda s, c: (table[s, c], table[s, c] == 4), 0, x)[1].sum()
    add('finite_automaton', automaton, i32(12, 12, 64), i32(64, 4000))
    add('finite_automata', jax.vmap(automaton, (None, 0)), i32(12, 12, 64), i32(64, 30, 300))
    add('automaton_in_parallel', lambda t, x: lax.associative_scan(lambda a, b: jnp.take_along_axis(b, a, -1), t[x])[-1], i32(8, 64, 8), i32(64, 512))

    def runs(x):
        new = jnp.concatenate([jnp.ones(1, bool), x[1:] != x[:-1]])
        at = jnp.cumsum(new) - 1
        return jnp.zeros_like(x).at[at].set(x), jax.ops.segment_sum(jnp.ones_like(x), at, len(x)), at[-1] + 1
    add('lengths_of_runs', runs, i32(3, 5000))
    add('rotations_in_order', lambda x: (lambda o: x[(o - 1) % len(x)])(jnp.lexsort([jnp.roll(x, -k) for k in (3, 2, 1, 0)])), i32(5, 700))

    def life_in_words(g):
        def both(a, b, c):
            return a ^ b ^ c, (a & b) | (c & (a ^ b))

        def step(g, _):
            side = lambda r: ((r << 1) | (jnp.roll(r, 1, 1) >> 31), (r >> 1) | (jnp.roll(r, -1, 1) << 31))
            up, down = jnp.roll(g, 1, 0), jnp.roll(g, -1, 0)
            ones, twos = zip(both(*side(up), up), both(*side(down), down))
            l, r = side(g)
            o3, t3 = l ^ r, l & r
            a, c1 = both(ones[0], ones[1], o3)
            b, c2 = both(twos[0], twos[1], t3)
            b, c3 = b ^ c1, b & c1
            return (a | g) & b & ~(c2 | c3), None
        return lax.scan(step, g, None, length=50)[0]
    add('life_in_words', life_in_words, R.randint(0, 1 << 32, (128, 4)).astype(np.uint32))

    def queens(n):
        full = (1 << n) - 1

        def step(s):
            depth, cols, left, right, free, count = s
            at = free[depth]
            bit = at & -at
            free = free.at[depth].set(at ^ bit)
            c, l, r = cols[depth] | bit, (left[depth] | bit) << 1, (right[depth] | bit) >> 1
            leaf = (at != 0) & (c == full)
            deeper = (at != 0) & (c != full)
            to = jnp.where(deeper, depth + 1, jnp.where(at == 0, depth - 1, depth))
            put = lambda a, v: a.at[depth + 1].set(jnp.where(deeper, v, a[depth + 1]))
            return to, put(cols, c), put(left, l), put(right, r), put(free, full & ~(c | l | r)), count + leaf
        z = jnp.zeros(n + 1, jnp.int32)
        return lax.while_loop(lambda s: s[0] >= 0, step, (0, z, z, z, z.at[0].set(full), 0))[5]
    add('queens', lambda x: queens(7) + x, np.int32(0))

    def sudoku(board):
        def sweep(s):
            board, _, n = s
            hot = nn.one_hot(board - 1, 9, dtype=jnp.int32)
            rows, cols = hot.sum(1, keepdims=True), hot.sum(0, keepdims=True)
            boxes = jnp.repeat(jnp.repeat(hot.reshape(3, 3, 3, 3, 9).sum((1, 3)), 3, 0), 3, 1)
            free = ((rows + cols + boxes) == 0) & (board == 0)[..., None]
            lone = free & (free.sum(-1, keepdims=True) == 1)
            only = free & ((free.sum(1, keepdims=True) == 1) | (free.sum(0, keepdims=True) == 1))
            new = jnp.where(board > 0, board, ((lone | only) * jnp.arange(1, 10)).max(-1))
            return new, (new != board).any(), n + 1
        return lax.while_loop(lambda s: s[1] & (s[2] < 40), sweep, (board, True, 0))[0]
    boards = np.array([int(c) for c in '530070000600195000098000060800060003400803001700020006060000280000419005000080079'], np.int32).reshape(9, 9)
    add('sudoku', sudoku, boards)
    add('sudokus', jax.vmap(sudoku), np.stack([np.where((boards > 0) & (boards % 9 == k), 0, boards) for k in range(8)]))

    def transform(x):
        p, n = 998244353, len(x)
        root = pow(3, (p - 1) // n, p)
        bits = n.bit_length() - 1
        x = x[np.array([int(f'{i:0{bits}b}'[::-1], 2) for i in range(n)])]
        # Products of 30 bits by halves: nothing wider than 32 bits is needed.
        def times(a, b):
            a, b = a.astype(jnp.uint32), b
            def part(i, s):
                r, a = s
                r = jnp.where((b >> i) & 1, (r + a) % p, r)
                return r, (a + a) % p
            return fori(0, 30, part, (jnp.zeros_like(a), a))[0]
        half = 1
        while half < n:
            w = np.array([pow(root, n // (2 * half) * k, p) for k in range(half)], np.uint32)
            y = x.reshape(-1, 2, half)
            t = times(y[:, 1], jnp.broadcast_to(w, y[:, 1].shape))
            x = jnp.stack([(y[:, 0] + t) % p, (y[:, 0] + p - t) % p], 1).reshape(-1)
            half *= 2
        return x
    add('number_transform', transform, R.randint(0, 998244353, 64).astype(np.uint32))

    def big_product(a, b):
        c = jnp.convolve(a.astype(jnp.float32), b.astype(jnp.float32)).astype(jnp.int32)  # Sums below 2^24 are exact.
        return lax.scan(lambda carry, v: ((v + carry) >> 8, ((v + carry) & 255).astype(jnp.uint8)), 0, jnp.append(c, 0))[1]
    add('product_of_long_numbers', big_product, R.u8(200), R.u8(150))

    def witnesses(n):
        def power(n):
            def step(s):
                r, b, e = s
                return jnp.where(e & 1, r * b % n, r), b * b % n, e >> 1
            return lax.while_loop(lambda s: s[2] > 0, step, (jnp.uint32(1), jnp.uint32(2), n - 1))[0] == 1
        return jax.vmap(power)(n)
    add('fermat_tests', witnesses, (np.arange(3, 4003, 2)).astype(np.uint32))
    add('permutations_by_number', lambda n: jax.vmap(lambda n: lax.scan(lambda s, k: (lambda at: (jnp.where(jnp.arange(9) >= at, jnp.roll(s, -1), s), s[at]))((n // k[0]) % k[1]), jnp.arange(9), (jnp.array([40320, 5040, 720, 120, 24, 6, 2, 1, 1]), jnp.arange(9, 0, -1)))[1])(n), i32(362880, 300))

    def mersenne(s):
        def word(i, s):
            y = (s[i] & jnp.uint32(0x80000000)) | (s[(i + 1) % 624] & 0x7fffffff)
            return s.at[i].set(s[(i + 397) % 624] ^ (y >> 1) ^ jnp.where(y & 1, jnp.uint32(0x9908b0df), jnp.uint32(0)))
        s = fori(0, 624, word, s)
        y = s ^ (s >> 11)
        y = y ^ ((y << 7) & jnp.uint32(0x9d2c5680))
        y = y ^ ((y << 15) & jnp.uint32(0xefc60000))
        return y ^ (y >> 18)
    add('twister', mersenne, R.randint(0, 1 << 32, 624).astype(np.uint32))

    # Sets, orders, trees, graphs.
    def forest(x, feature, threshold, leaf):
        def tree(x, f, t, v):
            def down(i, at):
                return 2 * at + 1 + (x[f[at]] > t[at])
            return v[fori(0, 6, down, 0) - 63]
        return jax.vmap(lambda x: jax.vmap(lambda f, t, v: tree(x, f, t, v))(feature, threshold, leaf).sum())(x)
    add('forest', forest, f32(200, 16), i32(16, 30, 63), f32(30, 63), f32(30, 64))

    def boost(x, y):
        bins = jnp.clip(((x + 2) * 8).astype(jnp.int32), 0, 31)

        def tree(pred, _):
            g, node = pred - y, jnp.zeros(len(y), jnp.int32)
            for depth in range(3):
                at = (node[:, None] * x.shape[1] + jnp.arange(x.shape[1])) * 32 + bins
                n = (1 << depth) * x.shape[1] * 32
                G = jnp.zeros(n).at[at].add(g[:, None]).reshape(1 << depth, -1, 32)
                C = jnp.zeros(n).at[at].add(1.0).reshape(1 << depth, -1, 32)
                gl, cl = jnp.cumsum(G, -1), jnp.cumsum(C, -1)
                gr, cr = gl[..., -1:] - gl, cl[..., -1:] - cl
                gain = (gl ** 2 / (cl + 1) + gr ** 2 / (cr + 1)).reshape(1 << depth, -1)
                best = gain.argmax(1)
                node = 2 * node + (jnp.take_along_axis(bins, (best // 32)[node][:, None], 1)[:, 0] > (best % 32)[node])
            w = -jax.ops.segment_sum(g, node, 8) / (jax.ops.segment_sum(jnp.ones_like(g), node, 8) + 1)
            pred = pred + 0.3 * w[node]
            return pred, ((pred - y) ** 2).mean()
        return lax.scan(tree, jnp.zeros_like(y), None, length=5)[1]
    table = f32(400, 8)
    add('boosted_trees', boost, table, (np.sin(2 * table[:, 0]) + table[:, 1] * table[:, 2]).astype(np.float32))

    def breadth(adjacency, start):
        def step(s):
            seen, edge, level, n = s
            new = (adjacency & edge[:, None]).any(0) & ~seen
            return seen | new, new, jnp.where(new, n + 1, level), n + 1
        first = jnp.arange(len(adjacency)) == start
        return lax.while_loop(lambda s: s[1].any(), step, (first, first, jnp.where(first, 0, -1), 0))[2]
    add('breadth_first', breadth, R.rand(150, 150) < 0.02, np.int32(5))

    def bellman(w, src, dst):
        def relax(s):
            d, _ = s
            new = d.at[dst].min(d[src] + w)
            return new, (new < d).any()
        return lax.while_loop(lambda s: s[1], relax, (jnp.full(200, 1e9).at[0].set(0), True))[0]
    add('shortest_from_one', bellman, np.abs(f32(1200)) + 0.1, i32(200, 1200), i32(200, 1200))

    def spanning(w):
        n = len(w)

        def step(s, _):
            near, parent, inside = s
            k = jnp.where(inside, jnp.inf, near).argmin()
            inside = inside.at[k].set(True)
            closer = (w[k] < near) & ~inside
            return (jnp.where(closer, w[k], near), jnp.where(closer, k, parent), inside), near[k]
        s = (jnp.full(n, 1e9).at[0].set(0), jnp.zeros(n, jnp.int32), jnp.zeros(n, bool))
        (_, parent, _), costs = lax.scan(step, s, None, length=n)
        return parent, costs.sum()
    add('spanning_tree', spanning, np.abs(f32(120, 120)))

    def ranks(src, dst):
        n = 300
        out = jax.ops.segment_sum(jnp.ones(len(src)), src, n)

        def step(s):
            r, _, i = s
            new = 0.15 / n + 0.85 * (jax.ops.segment_sum(r[src] / out[src], dst, n) + jnp.where(out == 0, r, 0).sum() / n)
            return new, jnp.abs(new - r).sum(), i + 1
        return lax.while_loop(lambda s: (s[1] > 1e-5) & (s[2] < 60), step, (jnp.full(n, 1 / n), jnp.float32(1), 0))[0]
    add('page_ranks', ranks, i32(300, 2500), i32(300, 2500))

    def assign(cost):
        n = len(cost)

        def bid(s):
            owner, price, mine, i = s
            value = -cost - price
            best, at = lax.top_k(value, 2)
            amount = best[:, 0] - best[:, 1] + 0.01
            free = mine < 0
            bids = jnp.where(free[:, None] & (at[:, :1] == jnp.arange(n)), amount[:, None], -1)
            who = bids.argmax(0)
            sold = bids.max(0) > 0
            owner = jnp.where(sold, who, owner)
            price = price + jnp.where(sold, bids.max(0), 0)
            has = owner[None] == jnp.arange(n)[:, None]
            return owner, price, jnp.where(has.any(1), has.argmax(1), -1), i + 1
        s = (jnp.full(n, -1), jnp.zeros(n), jnp.full(n, -1), 0)
        return lax.while_loop(lambda s: (s[2] < 0).any() & (s[3] < 200), bid, s)[2]
    add('assignment_by_auction', assign, np.abs(f32(30, 30)))
    add('sets_of_two_lists', lambda a, b: (jnp.intersect1d(a, b, size=300, fill_value=-1), jnp.union1d(a, b, size=900, fill_value=-1), jnp.setdiff1d(a, b, size=500, fill_value=-1), jnp.isin(a, b)), i32(1000, 500), i32(1000, 500))
    add('merged_lists', lambda a, b: jnp.zeros(len(a) + len(b)).at[jnp.arange(len(a)) + jnp.searchsorted(b, a, side='left')].set(a).at[jnp.arange(len(b)) + jnp.searchsorted(a, b, side='right')].set(b), np.sort(f32(900)), np.sort(f32(1100)))

    def radix(x):
        def digit(k, x):
            d = (x >> (4 * k).astype(jnp.uint32)) & 15
            hot = (d[:, None] == jnp.arange(16)).astype(jnp.int32)
            counts = hot.sum(0)
            at = (jnp.cumsum(counts) - counts)[d] + jnp.take_along_axis(jnp.cumsum(hot, 0), d[:, None].astype(jnp.int32), 1)[:, 0] - 1
            return jnp.zeros_like(x).at[at].set(x)
        return fori(0, 8, digit, x)
    add('radix_sort', radix, R.randint(0, 1 << 32, 600).astype(np.uint32))

    def bitonic(x):
        n = len(x)
        at = jnp.arange(n)
        k = 2
        while k <= n:
            j = k // 2
            while j:
                other = x[at ^ j]
                up = (at & k) == 0
                low = (at & j) == 0
                x = jnp.where(up == low, jnp.minimum(x, other), jnp.maximum(x, other))
                j //= 2
            k *= 2
        return x
    add('bitonic_sort', bitonic, f32(256))

    def heap(x):
        def sift(h, v):
            h = h.at[0].set(jnp.maximum(h[0], v))

            def down(s):
                h, i = s
                l, r = 2 * i + 1, 2 * i + 2
                c = jnp.where((r < 15) & (h[jnp.minimum(r, 14)] < h[jnp.minimum(l, 14)]), r, l)
                c = jnp.minimum(c, 14)
                swap = h[c] < h[i]
                a, b = h[i], h[c]
                return jnp.where(swap, h.at[i].set(b).at[c].set(a), h), jnp.where(swap, c, 99)
            return lax.while_loop(lambda s: s[1] < 7, down, (h, 0))[0], None
        return jnp.sort(lax.scan(sift, jnp.full(15, -jnp.inf), x)[0])
    add('heap_of_15', heap, f32(800))

    def trie(children, words):
        def word(w):
            return lax.scan(lambda s, c: (jnp.where(s >= 0, children[jnp.maximum(s, 0), c], -1),) * 2, 0, w)[1]
        return jax.vmap(word)(words)
    add('words_in_a_trie', trie, np.where(R.rand(400, 26) < 0.8, R.randint(1, 400, (400, 26)), -1).astype(np.int32), i32(26, 500, 9))

    def bloom(x, y):
        mix = lambda v, s: (lambda h: (h ^ (h >> 15)) * jnp.uint32(0x85ebca6b) >> jnp.uint32(19))((v + jnp.uint32(s)) * jnp.uint32(0x9e3779b1))
        table = jnp.zeros(8192, bool)
        for s in range(4):
            table = table.at[mix(x, s)].set(True)
        return jnp.stack([table[mix(y, s)] for s in range(4)]).all(0)
    add('bloom_filter', bloom, R.randint(0, 1 << 32, 800).astype(np.uint32), R.randint(0, 1 << 32, 3000).astype(np.uint32))

    def dense_clusters(x):
        near = ((x[:, None] - x[None]) ** 2).sum(-1) < 0.04
        core = near.sum(1) >= 5

        def spread(s):
            label, _ = s
            new = jnp.minimum(label, jnp.where(near & core[None], label[None], len(x)).min(1))
            return new, (new != label).any()
        label = lax.while_loop(lambda s: s[1], spread, (jnp.where(core, jnp.arange(len(x)), len(x)), True))[0]
        return label
    add('dense_clusters', dense_clusters, f32(250, 2))

    def skyline(x):
        worse = ((x[None] <= x[:, None]).all(-1) & (x[None] < x[:, None]).any(-1))
        return lax.while_loop(lambda s: s[1].any(), lambda s: (lambda f: (jnp.where(f, s[2], s[0]), s[1] & ~f, s[2] + 1))(s[1] & ~(worse & s[1][None]).any(1)), (jnp.zeros(len(x), jnp.int32), jnp.ones(len(x), bool), 0))[0]
    add('pareto_fronts', skyline, f32(120, 3))
    return P
