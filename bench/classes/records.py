"""Records, dates, texts and keys: joins and groups of databases, calendars, parsing of bytes, hashes, sketches, packed columns."""
import numpy as np

from by_value import Programs, Random

R = Random(233)
f32, i32, u8 = R.f32, R.i32, R.u8
X64 = True


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    days = R.randint(-200000, 200000, 1500).astype(np.int32)
    letters = R.randint(97, 123, (211, 24)).astype(np.uint8)
    u64 = lambda *s: R.randint(0, 1 << 62, s, dtype=np.int64).astype(np.uint64) * np.uint64(3)

    def civil(z):
        """Year, month, day, weekday and ISO week of days since 1970."""
        w = (z + 3) % 7
        def date(z):
            z = z + 719468
            era = z // 146097
            doe = z - era * 146097
            yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
            doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
            mp = (5 * doy + 2) // 153
            m = jnp.where(mp < 10, mp + 3, mp - 9)
            return yoe + era * 400 + (m <= 2), m, doy - (153 * mp + 2) // 5 + 1
        y, m, d = date(z)
        thursday = z + 3 - w
        ty = date(thursday)[0]
        a = ty - 1
        first = a * 365 + a // 4 - a // 100 + a // 400 - 719162
        return y, m.astype(jnp.int8), d.astype(jnp.int8), w.astype(jnp.int8), ((thursday - first) // 7 + 1).astype(jnp.int8)
    add('dates_and_weeks', civil, days)

    def stamps(t):
        """Microseconds since 1970 as 26 letters of ISO 8601 each."""
        z, us = t // 86400000000, t % 86400000000
        z = z + 719468
        era = z // 146097
        doe = z - era * 146097
        yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
        doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
        mp = (5 * doy + 2) // 153
        m = jnp.where(mp < 10, mp + 3, mp - 9)
        y = yoe + era * 400 + (m <= 2)
        d = doy - (153 * mp + 2) // 5 + 1
        s = us // 1000000
        digits = lambda v, n: [(v // 10 ** k % 10 + 48) for k in range(n - 1, -1, -1)]
        c = lambda ch: [jnp.full_like(t, ord(ch))]
        return jnp.stack(digits(y, 4) + c('-') + digits(m, 2) + c('-') + digits(d, 2) + c('T') + digits(s // 3600, 2) + c(':')
                         + digits(s // 60 % 60, 2) + c(':') + digits(s % 60, 2) + c('.') + digits(us % 1000000, 6), -1).astype(jnp.uint8)
    add('letters_of_time_stamps', stamps, R.randint(0, 1 << 51, 500, dtype=np.int64))

    def easter(y):
        """Easter Sundays, and working days between two dates beside a sorted list of holidays."""
        a, b, c = y % 19, y // 100, y % 100
        d, e, g = b // 4, b % 4, (8 * b + 13) // 25
        h = (19 * a + b - d - g + 15) % 30
        i, k = c // 4, c % 4
        l = (32 + 2 * e + 2 * i - h - k) % 7
        m = (a + 11 * h + 19 * l) // 433
        n = (h + l - 7 * m + 90) // 25
        return n, (h + l - 7 * m + 33 * n + 19) % 32
    add('easter_sundays', easter, np.arange(1600, 2600, dtype=np.int32))

    def business(a, b, holidays):
        """Working days between pairs of dates without weekends and holidays."""
        def upto(z):
            q, r = (z + 3) // 7, (z + 3) % 7
            return q * 5 + jnp.minimum(r, 5) - jnp.searchsorted(holidays, z)
        return upto(jnp.maximum(a, b)) - upto(jnp.minimum(a, b))
    add('working_days', business, days, days[::-1].copy(), np.sort(R.choice(400000, 900, False) - 200000).astype(np.int32))

    def joined(a, b, va, vb):
        """An inner join by sorting: each left row's first and last match, sums of what matched, 900 rows against 700."""
        order = jnp.argsort(b)
        s = b[order]
        c = jnp.concatenate([jnp.zeros(1), jnp.cumsum(vb[order])])
        lo, hi = jnp.searchsorted(s, a, side='left'), jnp.searchsorted(s, a, side='right')
        n = hi - lo
        start = jnp.cumsum(n) - n
        row = jnp.searchsorted(jnp.cumsum(n), jnp.arange(2048), side='right')
        ok = row < len(a)
        right = order[jnp.clip(lo[jnp.clip(row, 0, 899)] + jnp.arange(2048) - start[jnp.clip(row, 0, 899)], 0, 699)]
        return va * (c[hi] - c[lo]), jnp.where(ok, row, -1), jnp.where(ok, right, -1)
    add('join_by_sorting', joined, i32(400, 900), i32(400, 700), f32(900).astype(np.float64), R.randint(-9, 9, 700).astype(np.float64))

    def as_of(t, q, price, sym, qsym):
        """The last quote before each trade by its symbol: keys of two parts, searched in order."""
        key = lambda s, t: s.astype(jnp.int64) << 32 | t
        k = key(qsym, q)
        order = jnp.argsort(k)
        at = jnp.searchsorted(k[order], key(sym, t), side='right') - 1
        got = order[jnp.clip(at, 0)]
        return jnp.where((at >= 0) & (qsym[got] == sym), price[got], jnp.nan)
    add('join_as_of', as_of, i32(1 << 20, 800), i32(1 << 20, 1700), f32(1700), i32(13, 800), i32(13, 1700))

    def grouped(k1, k2, v):
        """Groups by two keys through one sort of four operands: sums, counts, firsts and running ranks."""
        a, b, i = lax.sort((k1, k2, jnp.arange(len(v))), num_keys=2)
        new = jnp.concatenate([jnp.ones(1, bool), (a[1:] != a[:-1]) | (b[1:] != b[:-1])])
        g = jnp.cumsum(new) - 1
        s = jax.ops.segment_sum(v[i], g, 512, indices_are_sorted=True)
        n = jax.ops.segment_sum(jnp.ones_like(g), g, 512, indices_are_sorted=True)
        start = lax.cummax(jnp.where(new, jnp.arange(len(v)), 0))
        return s, n, jnp.zeros_like(g).at[i].set(jnp.arange(len(v)) - start)
    add('groups_by_two_keys', grouped, R.randint(0, 20, 3000).astype(np.int16), R.randint(0, 25, 3000).astype(np.int8), f32(3000).astype(np.float64))

    def windows(v, part):
        """Windows over partitions that are sorted: running sums, lags, shares of totals, ranks with ties."""
        new = jnp.concatenate([jnp.ones(1, bool), part[1:] != part[:-1]])
        start = lax.cummax(jnp.where(new, jnp.arange(len(v)), 0))
        c = jnp.cumsum(v)
        total = jax.ops.segment_sum(v, part, 64, indices_are_sorted=True)
        lag = jnp.where(new, 0, jnp.roll(v, 1))
        order = jnp.lexsort((-v, part))
        s, p = v[order], part[order]
        fresh = jnp.concatenate([jnp.ones(1, bool), (s[1:] != s[:-1]) | (p[1:] != p[:-1])])
        rank = lax.cummax(jnp.where(fresh, jnp.arange(len(v)), 0)) - start
        return c - c[start] + v[start], lag, v / total[part], jnp.zeros_like(rank).at[order].set(rank + 1)
    add('windows_of_partitions', windows, R.randint(1, 50, 2500).astype(np.int64), np.sort(i32(64, 2500)))

    def dictionary(x):
        """Rows of 24 letters to codes: rolling 64-bit hashes, sorted, distinct ones numbered."""
        def step(h, c):
            return (h ^ c.astype(jnp.uint64)) * jnp.uint64(1099511628211), None
        h = lax.scan(step, jnp.full(len(x), 14695981039346656037, jnp.uint64), x.T)[0]
        u, inverse, counts = jnp.unique(h, return_inverse=True, return_counts=True, size=256, fill_value=0)
        return u, inverse, counts
    add('letters_to_codes', dictionary, letters[R.randint(0, 150, 900)])

    def xxhash(x):
        """64-bit xxHash of 300 records of 64 bytes."""
        p1, p2, p3 = (jnp.uint64(p) for p in (11400714785074694791, 14029467366897019727, 1609587929392839161))
        p4, p5 = (jnp.uint64(p) for p in (9650029242287828579, 2870177450012600261))
        rot = lambda v, r: v << jnp.uint64(r) | v >> jnp.uint64(64 - r)
        rnd = lambda a, v: rot(a + v * p2, 31) * p1
        acc = [p1 + p2, p2, jnp.uint64(0), jnp.uint64(0) - p1]
        for i in range(2):
            acc = [rnd(a, x[:, 4 * i + j]) for j, a in enumerate(acc)]
        h = sum(rot(a, r) for a, r in zip(acc, (1, 7, 12, 18)))
        for a in acc:
            h = (h ^ rnd(jnp.uint64(0), a)) * p1 + p4
        h = h + jnp.uint64(64)
        h = (h ^ h >> jnp.uint64(33)) * p2
        h = (h ^ h >> jnp.uint64(29)) * p3
        return h ^ h >> jnp.uint64(32), p5
    add('xxhash_of_records', xxhash, u64(300, 8))

    def hyperloglog(x):
        """Distinct counts of 5 columns by 256 registers each from mixed 64-bit words."""
        h = (x ^ x >> jnp.uint64(30)) * jnp.uint64(13787848793156543929)
        h = (h ^ h >> jnp.uint64(27)) * jnp.uint64(10723151780598845931)
        h = h ^ h >> jnp.uint64(31)
        k = (h >> jnp.uint64(56)).astype(jnp.int32)
        z = lax.clz(h << jnp.uint64(8) | jnp.uint64(255)).astype(jnp.int32) + 1
        regs = jax.vmap(lambda k, z: jnp.zeros(256, jnp.int32).at[k].max(z), 1)(k, z)
        return regs, 0.7182725 * 65536 / (2.0 ** -regs).sum(1)
    add('distinct_counts_of_columns', hyperloglog, u64(700, 5))

    def simhash(tokens, lengths):
        """64-bit fingerprints of 90 texts by votes of token hashes, and distances of all pairs."""
        h = (tokens.astype(jnp.uint64) + jnp.uint64(1)) * jnp.uint64(11400714819323198485)
        h = h ^ h >> jnp.uint64(29)
        b = (h[..., None] >> jnp.arange(64, dtype=jnp.uint64)) & jnp.uint64(1)
        ok = jnp.arange(tokens.shape[1]) < lengths[:, None]
        votes = ((b.astype(jnp.int32) * 2 - 1) * ok[..., None]).sum(1)
        f = ((votes > 0).astype(jnp.uint64) << jnp.arange(64, dtype=jnp.uint64)).sum(1)
        return f, lax.population_count(f[:, None] ^ f).astype(jnp.uint8)
    add('fingerprints_of_texts', simhash, i32(5000, 90, 40), i32(40, 90) + 1)

    def minhash(sets):
        """64 least hashes per set by 64 pairs of multipliers modulo a prime of 61 bits, bands of 4 folded."""
        a = jnp.arange(1, 65, dtype=jnp.uint64) * jnp.uint64(6364136223846793005) >> jnp.uint64(33)
        h = (sets[..., None].astype(jnp.uint64) * a + (a >> jnp.uint64(5))) % jnp.uint64((1 << 31) - 1)
        m = h.min(1)
        band = m.reshape(len(sets), 16, 4)
        return m.astype(jnp.uint32), (band * jnp.uint64(31) ** jnp.arange(4, dtype=jnp.uint64)).sum(-1)
    add('least_hashes_of_sets', minhash, i32(1 << 20, 70, 33))

    def parsed(text):
        """Numbers with signs and decimals out of rows of 16 bytes, padded with blanks."""
        def step(s, c):
            v, scale, neg, seen = s
            digit = (c >= 48) & (c <= 57)
            v = jnp.where(digit, v * 10 + (c - 48), v)
            scale = jnp.where(digit & seen, scale * 10, scale)
            return (v, scale, neg | (c == 45), seen | (c == 46)), None
        n = text.shape[0]
        v, scale, neg, _ = lax.scan(step, (jnp.zeros(n, jnp.int64), jnp.ones(n, jnp.int64), jnp.zeros(n, bool), jnp.zeros(n, bool)), text.T)[0]
        return jnp.where(neg, -v, v) / scale
    numbers = np.array([list(f'{v:>16.{k}f}'.encode()) for v, k in zip(R.uniform(-99999, 99999, 400), R.randint(0, 6, 400))], np.uint8)
    add('numbers_in_texts', parsed, numbers)

    def split_csv(text):
        """Fields of a text of 3000 bytes: quotes by parity, ends of fields and rows, columns by segments."""
        quote = jnp.cumsum(text == 34) % 2 == 1
        end = ~quote & ((text == 44) | (text == 10))
        row = jnp.cumsum(~quote & (text == 10))
        field = jnp.cumsum(end) - end
        ends = jnp.nonzero(end, size=600, fill_value=-1)[0]
        length = jax.ops.segment_sum((~end & (text != 34)).astype(jnp.int32), field, 600)
        value = jax.ops.segment_max(text, field, 600)
        return ends, length, value, row[-1]
    add('fields_of_a_text', split_csv, R.choice(np.frombuffer(b'abc,,\n"', np.uint8), 3000))

    def utf8(b):
        """Validity of UTF-8 by tables of nibbles, code points of leads, and lower case of letters."""
        lead = jnp.where(b < 128, 1, jnp.where(b < 0xC2, 0, jnp.where(b < 0xE0, 2, jnp.where(b < 0xF0, 3, jnp.where(b < 0xF5, 4, 0)))))
        cont = (b & 0xC0) == 0x80
        want = jnp.zeros(len(b), bool)
        for k in (1, 2, 3):
            want = want | jnp.pad(lead > k, (k, 0))[:-k]
        p = jnp.pad(b, (0, 3)).astype(jnp.int32)
        n = len(b)
        two = (p[:n] & 31) << 6 | p[1:n + 1] & 63
        three = (p[:n] & 15) << 12 | (p[1:n + 1] & 63) << 6 | p[2:n + 2] & 63
        four = (p[:n] & 7) << 18 | (p[1:n + 1] & 63) << 12 | (p[2:n + 2] & 63) << 6 | p[3:n + 3] & 63
        code = jnp.select([lead == 1, lead == 2, lead == 3, lead == 4], [p[:n], two, three, four], -1)
        return (want == cont).all(), code, jnp.where((b >= 65) & (b <= 90), b + 32, b).astype(jnp.uint8)
    add('validity_of_utf8', utf8, np.frombuffer(('Grüße, мир! 漢字 🎉 Plain TEXT. ' * 60).encode(), np.uint8).copy())

    def hexed(b):
        """Bytes to hexadecimal letters and back, and Adler's and Fletcher's sums."""
        t = jnp.asarray(np.frombuffer(b'0123456789abcdef', np.uint8))
        h = jnp.stack([t[b >> 4], t[b & 15]], -1).ravel()
        d = jnp.where(h > 96, h - 87, h - 48).reshape(-1, 2)
        x = b.astype(jnp.int64)
        a = 1 + jnp.cumsum(x)
        return h, (d[:, 0] << 4 | d[:, 1]).astype(jnp.uint8), (a.sum() % 65521) << 16 | a[-1] % 65521
    add('hexadecimal_and_sums', hexed, u8(2311))

    def wildcards(texts, pattern):
        """Which of 211 texts match a pattern with ? and *, by rows of a table of states."""
        m = len(pattern)
        star = pattern == 42
        start = jnp.concatenate([jnp.ones(1, bool), jnp.cumprod(star).astype(bool)])
        def step(s, c):
            hit = (pattern == 63) | (pattern == c[:, None])
            base = jnp.concatenate([jnp.zeros((len(texts), 1), bool), jnp.where(star, s[:, 1:], s[:, :-1] & hit)], 1)
            def close(i, b):
                return b.at[:, i + 1].set(b[:, i + 1] | (star[i] & b[:, i]))
            return lax.fori_loop(0, m, close, base), None
        return lax.scan(step, jnp.tile(start, (len(texts), 1)), texts.T)[0][:, -1]
    add('texts_by_wildcards', wildcards, letters, np.frombuffer(b'*a?*e*', np.uint8).copy())

    def winkler(a, b):
        """Jaro-Winkler likeness of 150 pairs of names: greedy matches in a window, then transpositions."""
        n = a.shape[1]
        i = jnp.arange(n)
        def one(a, b):
            def step(used, s):
                k, c = s
                ok = (b == c) & ~used & (jnp.abs(i - k) <= n // 2 - 1)
                at = ok.argmax()
                return used | ((i == at) & ok.any()), ok.any()
            used, hit = lax.scan(step, jnp.zeros(n, bool), (i, a))
            m = hit.sum()
            pa = a[jnp.argsort(~hit, stable=True)]
            pb = b[jnp.argsort(~used, stable=True)]
            t = ((pa != pb) & (i < m)).sum() / 2
            j = jnp.where(m > 0, (2 * m / n + (m - t) / jnp.maximum(m, 1)) / 3, 0)
            return j + 0.1 * jnp.cumprod(a[:4] == b[:4]).sum() * (1 - j)
        return jax.vmap(one)(a, b)
    add('likeness_of_names', winkler, R.randint(97, 105, (150, 12)).astype(np.uint8), R.randint(97, 105, (150, 12)).astype(np.uint8))

    def unpacked(words, mins, deltas):
        """Blocks of 32 numbers of 11 bits each, unpacked, unfolded from zigzag and summed along."""
        k = jnp.arange(32)
        bit = k * 11
        w, o = bit // 32, (bit % 32).astype(jnp.uint32)
        low = words[:, w] >> o
        high = jnp.where(o > 21, words[:, jnp.minimum(w + 1, 10)] << ((32 - o) & 31), 0)
        v = ((low | high) & 0x7FF).astype(jnp.int64)
        v = (v >> 1) ^ -(v & 1)
        return mins[:, None] + jnp.cumsum(v + deltas[:, None], 1)
    add('columns_unpacked', unpacked, R.randint(0, 1 << 32, (120, 11), dtype=np.int64).astype(np.uint32), R.randint(0, 1 << 40, 120, dtype=np.int64),
        R.randint(-99, 99, 120, dtype=np.int64))

    def bitmaps(a, b, c):
        """Sets as bitmaps: intersections, counts, the place of the k-th member by ranks of words."""
        s = (a & b) | ~c & a
        n = lax.population_count(s).astype(jnp.int32)
        rank = jnp.cumsum(n)
        k = jnp.arange(0, 3000, 7)
        w = jnp.searchsorted(rank, k, side='right')
        left = k - (rank[jnp.minimum(w, len(s) - 1)] - n[jnp.minimum(w, len(s) - 1)])
        word = s[jnp.minimum(w, len(s) - 1)]
        def step(v):
            word, left = v
            def body(_, x):
                return jnp.where(_ < left, x & (x - jnp.uint64(1)), x)
            return lax.fori_loop(0, 64, body, word)
        x = jax.vmap(step)((word, left))
        return n.sum(), w * 64 + 63 - lax.clz(x & (jnp.uint64(0) - x)).astype(jnp.int32)
    add('members_of_bitmaps', bitmaps, u64(150), u64(150), u64(150))

    def routes(addresses, prefixes, lengths, hops):
        """Longest of 97 prefixes for each of 600 addresses, by masks."""
        mask = jnp.where(lengths == 0, 0, jnp.uint32(0xFFFFFFFF) << ((32 - lengths) & 31).astype(jnp.uint32))
        hit = (addresses[:, None] & mask) == (prefixes & mask)
        best = jnp.where(hit, lengths.astype(jnp.int32), -1)
        at = best.argmax(1)
        return jnp.where(best.max(1) >= 0, hops[at], -1), best.max(1)
    add('longest_prefixes', routes, R.randint(0, 1 << 32, 600, dtype=np.int64).astype(np.uint32), R.randint(0, 1 << 32, 97, dtype=np.int64)
        .astype(np.uint32), R.randint(0, 9, 97).astype(np.uint32), i32(40, 97))

    def checks(cards, books):
        """Luhn's check of numbers of 16 digits, ISBN-13's and IBAN's remainder by 97 digit after digit."""
        d = (cards[:, None] // 10 ** jnp.arange(15, -1, -1)) % 10
        t = d.at[:, ::2].multiply(2)
        luhn = (t - 9 * (t > 9)).sum(1) % 10
        e = (books[:, None] // 10 ** jnp.arange(12, -1, -1)) % 10
        isbn = (e * jnp.array([1, 3] * 6 + [1])).sum(1) % 10
        rem = lax.scan(lambda r, c: ((r * 10 + c) % 97, None), jnp.zeros(len(cards), jnp.int64), d.T)[0]
        return luhn.astype(jnp.int8), isbn.astype(jnp.int8), rem
    add('digits_that_check', checks, R.randint(0, 10 ** 16, 500, dtype=np.int64), R.randint(0, 10 ** 13, 500, dtype=np.int64))

    def tfidf(docs, query):
        """Ranks of 60 texts for a query by BM25: counts of words by rows, sums, the best ten."""
        tf = jax.vmap(lambda d: jnp.zeros(500, jnp.float32).at[d].add(1, mode='drop'))(docs)
        n = (docs < 500).sum(1)
        df = (tf > 0).sum(0)
        idf = jnp.log1p((60 - df + 0.5) / (df + 0.5)).astype(jnp.float32)
        q = tf[:, query]
        s = (idf[query] * q * 2.2 / (q + 1.2 * (0.25 + 0.75 * (n / n.mean())[:, None].astype(jnp.float32)))).sum(1)
        return lax.top_k(s, 10)[0]
    add('texts_ranked', tfidf, i32(550, 60, 120), i32(500, 7))

    def spread(k, v):
        """A pivot table of 40 by 30 with sums, margins and shares, in doubles."""
        t = jnp.zeros((40, 30)).at[k[:, 0], k[:, 1]].add(v)
        return t, t.sum(0), t.sum(1), t / jnp.where(t.sum(1, keepdims=True) == 0, 1, t.sum(1, keepdims=True))
    add('pivot_table', spread, np.stack([i32(40, 2700), i32(30, 2700)], 1), np.abs(R.randn(2700)))
    return P
