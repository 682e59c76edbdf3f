"""Boards, masks and codes in rows of few bytes or bools: connect four, sudoku, chess, tetris, clauses, nets, parities, letters, pixels."""
import numpy as np

from by_value import Programs, Random

R = Random(257)
f32, i32, u8 = R.f32, R.i32, R.u8
flags = lambda share, *s: R.rand(*s) < share


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add

    def four(b):
        """Four in a row on 1500 boards of 6 by 7, in all four directions."""
        h = b[:, :, :-3] & b[:, :, 1:-2] & b[:, :, 2:-1] & b[:, :, 3:]
        v = b[:, :-3] & b[:, 1:-2] & b[:, 2:-1] & b[:, 3:]
        d = b[:, :-3, :-3] & b[:, 1:-2, 1:-2] & b[:, 2:-1, 2:-1] & b[:, 3:, 3:]
        e = b[:, 3:, :-3] & b[:, 2:-1, 1:-2] & b[:, 1:-2, 2:-1] & b[:, :-3, 3:]
        return h.any((1, 2)) | v.any((1, 2)) | d.any((1, 2)) | e.any((1, 2))
    add('four_in_a_row', four, flags(0.4, 1500, 6, 7))

    def drops(own, other, column):
        """Stones dropped into 1500 boards of 6 by 7: the lowest free cell of a column, and who may go where next."""
        full = own | other
        height = full.sum(1)
        row = 5 - jnp.take_along_axis(height, column[:, None], 1)[:, 0]
        at = (jnp.arange(6)[:, None] == row[:, None, None]) & (jnp.arange(7) == column[:, None, None])
        return own | at, ~(full | at)[:, 0]
    add('stones_dropped', drops, flags(0.2, 1500, 6, 7), flags(0.2, 1500, 6, 7), i32(7, 1500))

    def playouts(b, cols):
        """300 games of connect four played out over 42 moves, boards as bytes in the carry, stopped when won."""
        def step(s, c):
            b, who, done = s
            free = (b == 0)
            row = free.sum(1)[jnp.arange(300), c] - 1
            ok = (row >= 0) & ~done
            at = (jnp.arange(6)[:, None] == row[:, None, None]) & (jnp.arange(7) == c[:, None, None]) & ok[:, None, None]
            b = jnp.where(at, who, b)
            m = b == who
            along = (m[:, :, :-3] & m[:, :, 1:-2] & m[:, :, 2:-1] & m[:, :, 3:]).any((1, 2))
            won = along | (m[:, :-3] & m[:, 1:-2] & m[:, 2:-1] & m[:, 3:]).any((1, 2))
            return (b, 3 - who, done | won), won
        return lax.scan(step, (b, jnp.uint8(1), jnp.zeros(300, bool)), cols)
    add('games_played_out', playouts, np.zeros((300, 6, 7), np.uint8), i32(7, 42, 300))

    def candidates(c):
        """Candidates of 60 sudokus struck out: singles in cells spread over rows, columns and boxes, four rounds."""
        def step(_, c):
            one = c & (c.sum(-1, keepdims=True) == 1)
            row, col = one.any(2, keepdims=True), one.any(1, keepdims=True)
            box = one.reshape(60, 3, 3, 3, 3, 9).any((2, 4))
            box = jnp.repeat(jnp.repeat(box, 3, 1), 3, 2)
            return c & (one | ~(row | col | box))
        return lax.fori_loop(0, 4, step, c)
    add('candidates_struck_out', candidates, flags(0.6, 60, 9, 9, 9))

    def knights(b):
        """Attacks of knights, kings and pawns on 1000 boards of 8 by 8 bytes, by shifted masks."""
        p = jnp.pad(b, ((0, 0), (2, 2), (2, 2)))
        s = lambda m, i, j: (p[:, 2 + i:10 + i, 2 + j:10 + j] & m) != 0
        knight = sum(s(1, i, j).astype(jnp.uint8) for i, j in ((1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)))
        king = sum(s(2, i, j).astype(jnp.uint8) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return knight, king, s(4, 1, 1) | s(4, 1, -1)
    add('attacks_on_boards', knights, u8(1000, 8, 8))

    def sliders(b):
        """How far rooks see on 700 boards of 8 by 8: blockers by running maxima along rows and columns, both ways."""
        full = b > 0
        def ray(x, axis, rev):
            y = jnp.flip(x, axis) if rev else x
            i = lax.broadcasted_iota(jnp.int8, y.shape, axis)
            last = lax.cummax(jnp.where(y, i, jnp.int8(-1)), axis=axis)
            before = jnp.roll(last, 1, axis)
            d = i - jnp.where(i == 0, jnp.int8(-1), before)
            return jnp.flip(d, axis) if rev else d
        return sum(jnp.where(b == 1, ray(full, a, r), 0) for a in (1, 2) for r in (False, True))
    add('how_far_rooks_see', sliders, (u8(700, 8, 8) % 7 == 0).astype(np.uint8) * (1 + u8(700, 8, 8) % 2))

    def tetris(b, piece):
        """500 wells of 20 by 10: where a piece comes to rest in each column, full lines cleared by a stable sort."""
        clash = sum((b[:, y:17 + y, x:7 + x] & piece[y, x]).astype(jnp.uint8) for y in range(4) for x in range(4)) > 0
        rest = jnp.where(clash.any(1), clash.argmax(1), 17) - 1
        full = b.all(2)
        order = jnp.argsort(~full, axis=1, stable=True)
        cleared = jnp.take_along_axis(b & ~full[..., None], order[..., None], 1)
        return rest, cleared, full.sum(1)
    piece = np.zeros((4, 4), bool)
    piece[0, :3] = piece[1, 1] = True
    add('pieces_that_rest', tetris, flags(0.8, 500, 20, 10), piece)

    def mines(m, open_):
        """Numbers of mines around the cells of 90 fields of 9 by 9, opened by flooding until nothing changes."""
        n = lax.reduce_window(m.astype(jnp.uint8), np.uint8(0), lax.add, (1, 3, 3), (1, 1, 1), 'SAME')
        def body(s):
            o, _ = s
            zero = o & (n == 0)
            new = o | (lax.reduce_window(zero.astype(jnp.uint8), np.uint8(0), lax.max, (1, 3, 3), (1, 1, 1), 'SAME') > 0) & ~m
            return new, (new != o).any()
        return n, lax.while_loop(lambda s: s[1], body, (open_ & ~m, True))[0]
    add('fields_of_mines', mines, flags(0.12, 90, 9, 9), flags(0.02, 90, 9, 9))

    def clauses(x, var, sign):
        """400 assignments of 50 variables tried on 210 clauses of three literals: what holds, breaks, and the best flip."""
        lit = x[:, var] ^ sign
        n = lit.sum(-1).astype(jnp.int8)
        broken = n == 0
        critical = (lit & (n == 1)[..., None])
        make = jnp.zeros((400, 50), jnp.int32).at[:, var].add(broken[..., None].astype(jnp.int32))
        brk = jnp.zeros((400, 50), jnp.int32).at[:, var].add(critical.astype(jnp.int32))
        return broken.sum(1), (make - brk).argmax(1)
    add('clauses_of_three', clauses, flags(0.5, 400, 50), i32(50, 210, 3), flags(0.5, 210, 3))

    def propagated(x, body, head):
        """Horn clauses: 300 sets of 40 facts closed under 60 rules of two premises."""
        def step(s):
            x, _ = s
            fire = x[:, body[:, 0]] & x[:, body[:, 1]]
            new = x.at[:, head].max(fire)
            return new, (new != x).any()
        return lax.while_loop(lambda s: s[1], step, (x, True))[0]
    add('facts_closed_under_rules', propagated, flags(0.15, 300, 40), i32(40, 60, 2), i32(40, 60))

    def petri(m, need, give):
        """A net of 9 places and 7 transitions: 600 markings of int8, the first that can fires, 25 times."""
        def step(m, _):
            can = (m[:, None] >= need).all(-1)
            k = can.argmax(1)
            d = jnp.where(can.any(1)[:, None], (give - need)[k], 0).astype(jnp.int8)
            return m + d, can.any(1)
        return lax.scan(step, m, None, length=25)
    add('markings_of_a_net', petri, R.randint(0, 4, (600, 9)).astype(np.int8), flags(0.2, 7, 9).astype(np.int8), flags(0.2, 7, 9).astype(np.int8))

    def nfa(texts, pattern):
        """Patterns of 7 letters with gaps over 2048 texts of 24: states in rows of 8 bools, shifted along letter by letter."""
        def step(s, c):
            hit = (pattern == c[:, None]) | (pattern == 63)
            return jnp.concatenate([jnp.ones((len(texts), 1), bool), s[:, :-1] & hit], 1), s[:, -1]
        s, ends = lax.scan(step, jnp.zeros((len(texts), 8), bool).at[:, 0].set(True), texts.T)
        return s, ends.any(0)
    add('states_of_patterns', nfa, R.randint(97, 101, (2048, 24)).astype(np.uint8), np.frombuffer(b'ab?d?ba', np.uint8).copy())
    def wild(texts, pattern):
        """Patterns with stars over 2048 texts: states in rows of 7 bools that stay at stars."""
        star = pattern == 42
        def step(s, c):
            hit = pattern == c[:, None]
            return jnp.concatenate([jnp.zeros((len(texts), 1), bool), jnp.where(star, s[:, 1:] | s[:, :-1], s[:, :-1] & hit)], 1), None
        return lax.scan(step, jnp.zeros((len(texts), 7), bool).at[:, 0].set(True), texts.T)[0]
    add('states_that_stay_at_stars', wild, R.randint(97, 101, (2048, 24)).astype(np.uint8), np.frombuffer(b'*a*bc*', np.uint8).copy())

    def hamming(x):
        """Hamming's code of 4 in 7 bits: 4000 words coded, one bit flipped, mended by the syndrome."""
        g = jnp.array([[1, 0, 0, 0, 1, 1, 0], [0, 1, 0, 0, 1, 0, 1], [0, 0, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]], jnp.uint8)
        h = jnp.array([[1, 1, 0, 1, 1, 0, 0], [1, 0, 1, 1, 0, 1, 0], [0, 1, 1, 1, 0, 0, 1]], jnp.uint8)
        c = (x @ g) & 1
        r = c ^ (jnp.arange(7, dtype=jnp.uint8) == (jnp.arange(len(x)) % 7)[:, None].astype(jnp.uint8)).astype(jnp.uint8)
        s = (r @ h.T) & 1
        at = (s[:, None, :] == h.T).all(-1)
        return (r ^ at.astype(jnp.uint8))[:, :4], s
    add('words_mended', hamming, R.randint(0, 2, (4000, 4)).astype(np.uint8))

    def one_hot(s):
        """6000 bases as rows of 4 bytes, complements by turning them round, counts in windows of 11, GC content."""
        o = (s[:, None] == jnp.arange(4, dtype=jnp.uint8)).astype(jnp.uint8)
        w = lax.reduce_window(o, np.uint8(0), lax.add, (11, 1), (1, 1), 'VALID')
        return o[::-1, ::-1], w, w[:, 1] + w[:, 2], (w == 11).any(1)
    add('letters_as_rows_of_4', one_hot, R.randint(0, 4, 6000).astype(np.uint8))

    def keyed(p, key, back):
        """A green screen: pixels of 3 bytes near a colour replaced by another picture, edges mixed in bytes."""
        d = jnp.abs(p.astype(jnp.int16) - key.astype(jnp.int16)).sum(-1)
        a = jnp.clip(d * 2, 0, 255)[..., None].astype(jnp.uint16)
        mixed = (p * a + back * (255 - a) + 128) >> 8
        return jnp.where((d < 40)[..., None], back, mixed.astype(jnp.uint8)), p.at[..., 1].min(jnp.maximum(p[..., 0], p[..., 2]))
    add('green_screen', keyed, u8(97, 131, 3), np.array([20, 200, 40], np.uint8), u8(97, 131, 3))

    def masked_channels(p, m, on):
        """Channels of pixels swapped and masked: rows of 3 bytes against one row of bools and a column of bools."""
        q = jnp.where(on, p, 255 - p)
        q = jnp.where(m[:, None], q, jnp.roll(q, 1, -1))
        return q ^ (p >> 4), jnp.where(on[::-1], q, 0)
    add('channels_masked', masked_channels, u8(20000, 3), flags(0.5, 20000), np.array([True, False, True]))

    def layers(under, over):
        """Five layers of 4 bytes each laid over one another with straight and premultiplied opacities, rounded by 255."""
        div = lambda v: (v + 128 + ((v + 128) >> 8)) >> 8
        def step(d, s):
            d, s = d.astype(jnp.uint16), s.astype(jnp.uint16)
            a = s[..., 3:]
            rgb = div(s[..., :3] * a) + div(d[..., :3] * (255 - a))
            al = a + div(d[..., 3:] * (255 - a))
            return jnp.concatenate([rgb, al], -1).astype(jnp.uint8), None
        return lax.scan(step, under, over)[0]
    add('layers_of_pictures', layers, u8(64, 80, 4), u8(5, 64, 80, 4))

    def segments(d):
        """Digits on seven segments: rows of 7 bools by a table, 5 digits side by side, what changes between readings."""
        t = jnp.array([[1, 1, 1, 1, 1, 1, 0], [0, 1, 1, 0, 0, 0, 0], [1, 1, 0, 1, 1, 0, 1], [1, 1, 1, 1, 0, 0, 1], [0, 1, 1, 0, 0, 1, 1],
                       [1, 0, 1, 1, 0, 1, 1], [1, 0, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1]], bool)
        s = t[d // 10 ** jnp.arange(4, -1, -1)[None] % 10 if d.ndim == 2 else d]
        return s, (s[1:] ^ s[:-1]).sum((1, 2)), s & ~jnp.roll(s, 1, 0)
    add('digits_of_seven_segments', segments, np.cumsum(i32(9, 2500), dtype=np.int32)[:, None])

    def mastermind(a, b):
        """Answers of 200 guesses to 300 codes of 5 pegs in 8 colours: right places, right colours, partitions' sizes."""
        black = (a[:, None] == b).sum(-1).astype(jnp.int8)
        count = lambda x: (x[..., None] == jnp.arange(8, dtype=jnp.uint8)).sum(-2).astype(jnp.int8)
        white = jnp.minimum(count(a)[:, None], count(b)).sum(-1).astype(jnp.int8) - black
        k = (black * 6 + white).astype(jnp.int32)
        return black, white, jax.vmap(lambda r: jnp.bincount(r, length=36).max())(k)
    add('answers_to_guesses', mastermind, R.randint(0, 8, (200, 5)).astype(np.uint8), R.randint(0, 8, (300, 5)).astype(np.uint8))

    def hands(cards):
        """Poker hands: 3000 of 7 cards, counts by rank and suit, straights by shifted masks of 13, a value of each."""
        rank, suit = cards >> 2, cards & 3
        r = (rank[..., None] == jnp.arange(13, dtype=jnp.uint8)).sum(1).astype(jnp.uint8)
        s = (suit[..., None] == jnp.arange(4, dtype=jnp.uint8)).sum(1).astype(jnp.uint8)
        have = r > 0
        h = jnp.concatenate([have[:, -1:], have], 1)
        run = h[:, :-4] & h[:, 1:-3] & h[:, 2:-2] & h[:, 3:-1] & h[:, 4:]
        top = lambda m: jnp.where(m.any(1), 12 - m[:, ::-1].argmax(1), -1)
        kind = jnp.select([(r == 4).any(1), (r == 3).any(1) & ((r >= 2).sum(1) > 1), (s >= 5).any(1), run.any(1), (r == 3).any(1),
                           (r == 2).sum(1) > 1, (r == 2).any(1)],
                          [7, 6, 5, 4, 3, 2, 1], 0)
        return kind.astype(jnp.int8), top(r == 2).astype(jnp.int8), top(have).astype(jnp.int8)
    add('hands_of_poker', hands, np.stack([R.choice(52, 7, False) for _ in range(3000)]).astype(np.uint8))

    def closure(a):
        """Reachability in 90 graphs of 13 nodes: bools squared four times, strongly connected parts by both ways."""
        a = a | jnp.eye(13, dtype=bool)
        for _ in range(4):
            a = (a[:, :, :, None] & a[:, None]).any(2)
        both = a & a.swapaxes(1, 2)
        return both.argmax(-1).astype(jnp.int8), both.sum(-1).astype(jnp.int8)
    add('parts_of_small_graphs', closure, flags(0.08, 90, 13, 13))

    def rules(c, table):
        """300 rings of 31 cells of 3 states under rules by tables of 27, 40 steps, entropy of their states."""
        def step(c, _):
            k = jnp.roll(c, 1, 1) * 9 + c * 3 + jnp.roll(c, -1, 1)
            return jnp.take_along_axis(table, k.astype(jnp.int32), 1), None
        c = lax.scan(step, c, None, length=40)[0]
        return c, (c[..., None] == jnp.arange(3, dtype=jnp.uint8)).sum(1)
    add('rings_under_rules', rules, R.randint(0, 3, (300, 31)).astype(np.uint8), R.randint(0, 3, (300, 27)).astype(np.uint8))
    return P
