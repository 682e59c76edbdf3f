"""Serving language models: one token at a time with caches in pages and rings, samplers, drafts, experts, quantised weights."""
import numpy as np

from by_value import Programs, Random

R = Random(113)
f32, i32 = R.f32, R.i32
FACTOR = 16.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    key = np.array([11, 4], np.uint32)

    def rms(x, g):
        return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g
    def rope(x, at):
        half = x.shape[-1] // 2
        angle = at[..., None, None] * 10000.0 ** (-jnp.arange(half) / half)
        c, s = jnp.cos(angle), jnp.sin(angle)
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * c - b * s, a * s + b * c], -1)

    # Attention over caches.
    def decode(p, x, cache, at):
        k_cache, v_cache = cache
        h = rms(x, p['n1'])
        q = rope((h @ p['q']).reshape(-1, 8, 16), at)
        k = rope((h @ p['k']).reshape(-1, 2, 16), at)
        v = (h @ p['v']).reshape(-1, 2, 16)
        rows = jnp.arange(x.shape[0])
        k_cache, v_cache = k_cache.at[rows, at].set(k), v_cache.at[rows, at].set(v)
        q = q.reshape(-1, 2, 4, 16)
        s = jnp.einsum('bgrd,btgd->bgrt', q, k_cache) / 4
        s = jnp.where(jnp.arange(k_cache.shape[1]) <= at[:, None, None, None], s, -1e30)
        o = jnp.einsum('bgrt,btgd->bgrd', jax.nn.softmax(s, -1), v_cache).reshape(x.shape[0], -1)
        x = x + o @ p['o']
        h = rms(x, p['n2'])
        return x + (jax.nn.silu(h @ p['gate']) * (h @ p['up'])) @ p['down'], (k_cache, v_cache)
    layer = dict(n1=f32(128), n2=f32(128), q=f32(128, 128) * 0.08, k=f32(128, 32) * 0.08, v=f32(128, 32) * 0.08, o=f32(128, 128) * 0.08,
                 gate=f32(128, 320) * 0.08, up=f32(128, 320) * 0.08, down=f32(320, 128) * 0.05)
    add('token_of_grouped_heads', decode, layer, f32(4, 128), (f32(4, 96, 2, 16), f32(4, 96, 2, 16)), np.array([5, 40, 77, 95], np.int32))
    stacked = {k: np.stack([v] * 4) for k, v in layer.items()}
    def all_layers(p, x, caches, at):
        def step(x, s):
            p, c = s
            return decode(p, x, c, at)
        return lax.scan(step, x, (p, caches))
    add('token_through_layers', all_layers, stacked, f32(1, 128), (f32(4, 1, 128, 2, 16), f32(4, 1, 128, 2, 16)), np.array([77], np.int32))
    def paged(q, pages_k, pages_v, table, lengths):
        k = pages_k[table].reshape(len(table), -1, *pages_k.shape[2:])
        v = pages_v[table].reshape(len(table), -1, *pages_v.shape[2:])
        s = jnp.einsum('bhd,bthd->bht', q, k) * 0.2
        s = jnp.where(jnp.arange(k.shape[1]) < lengths[:, None, None], s, -1e30)
        return jnp.einsum('bht,bthd->bhd', jax.nn.softmax(s, -1), v)
    add('attention_over_pages', paged, f32(6, 4, 24), f32(64, 16, 4, 24), f32(64, 16, 4, 24), i32(64, 6, 8), i32(128, 6) + 1)
    def paged_online(q, pages_k, pages_v, table, lengths):
        def one(q, table, n):
            def step(s, x):
                m, l, o = s
                i, page = x
                sc = jnp.einsum('hd,thd->ht', q, pages_k[page]) * 0.2
                sc = jnp.where(i * 16 + jnp.arange(16) < n, sc, -1e30)
                new = jnp.maximum(m, sc.max(-1))
                p, old = jnp.exp(sc - new[:, None]), jnp.exp(m - new)
                return (new, l * old + p.sum(-1), o * old[:, None] + jnp.einsum('ht,thd->hd', p, pages_v[page])), None
            m, l, o = lax.scan(step, (jnp.full(4, -1e30), jnp.zeros(4), jnp.zeros((4, 24))), (jnp.arange(len(table)), table))[0]
            return o / l[:, None]
        return jax.vmap(one)(q, table, lengths)
    add('attention_over_pages_online', paged_online, f32(6, 4, 24), f32(64, 16, 4, 24), f32(64, 16, 4, 24), i32(64, 6, 8), i32(128, 6) + 1)
    def ring(cache, kv, at, q):
        cache = lax.dynamic_update_slice(cache, kv[None], (at % 64, 0, 0, 0))
        age = (at - jnp.arange(64)) % 64
        s = jnp.einsum('hd,thd->ht', q, cache[:, 0]) * 0.2 - 0.1 * age * 2.0 ** -jnp.arange(1, 5)[:, None]
        return cache, jnp.einsum('ht,thd->hd', jax.nn.softmax(jnp.where(age <= at, s, -jnp.inf), -1), cache[:, 1])
    add('window_in_a_ring', ring, f32(64, 2, 4, 24), f32(2, 4, 24), np.int32(200), f32(4, 24))
    def latent(c, q, w_k, w_v, kr, qr):
        s = jnp.einsum('bhc,btc->bht', jnp.einsum('bhd,chd->bhc', q, w_k), c) + jnp.einsum('bhr,btr->bht', qr, kr)
        o = jnp.einsum('bht,btc->bhc', jax.nn.softmax(s * 0.1, -1), c)
        return jnp.einsum('bhc,chd->bhd', o, w_v)
    add('latent_attention', latent, f32(3, 80, 32), f32(3, 6, 16), f32(32, 6, 16), f32(32, 6, 16), f32(3, 80, 8), f32(3, 6, 8))
    def quantised_cache(q, k8, ks, v8, vs):
        k = k8.astype(jnp.float32) * ks[..., None]
        s = jax.nn.softmax(jnp.einsum('bhd,bthd->bht', q, k) * 0.2, -1)
        return jnp.einsum('bht,bthd->bhd', s, v8.astype(jnp.float32) * vs[..., None])
    i8 = lambda *d: R.randint(-127, 128, d).astype(np.int8)
    add('attention_over_bytes', quantised_cache, f32(3, 6, 32), i8(3, 100, 6, 32), np.abs(f32(3, 100, 6)) * 0.01, i8(3, 100, 6, 32), np.abs(f32(3, 100, 6)) * 0.01)
    def packed_prefill(q, k, v, segment):
        mask = (segment[:, None] == segment) & jnp.tri(len(segment), dtype=bool)
        s = jnp.where(mask, jnp.einsum('qhd,khd->hqk', q, k) * 0.2, -1e30)
        return jnp.einsum('hqk,khd->qhd', jax.nn.softmax(s, -1), v)
    add('packed_prompts', packed_prefill, f32(120, 4, 24), f32(120, 4, 24), f32(120, 4, 24), np.sort(i32(5, 120)))

    # Samplers.
    def processed(logits, seen, bias, t):
        count = jnp.zeros_like(logits).at[jnp.arange(len(seen))[:, None], seen].add(1.0)
        l = jnp.where(count > 0, jnp.where(logits > 0, logits / 1.2, logits * 1.2), logits) - 0.3 * count + bias
        return jax.nn.log_softmax(l / t[:, None])
    add('penalised_logits', processed, f32(4, 3000), i32(3000, 4, 60), f32(3000), np.abs(f32(4)) + 0.5)
    def nucleus(key, logits, p, low):
        l, at = lax.top_k(logits, 64)
        prob = jax.nn.softmax(l, -1)
        keep = (jnp.cumsum(prob, -1) - prob < p[:, None]) & (prob > low * prob[:, :1])
        return jnp.take_along_axis(at, jax.random.categorical(jax.random.wrap_key_data(key), jnp.where(keep, l, -jnp.inf))[:, None], 1)[:, 0]
    add('tokens_of_a_nucleus', nucleus, key, f32(6, 2000) * 3, R.rand(6).astype(np.float32), np.float32(0.05))
    def full_nucleus(key, logits, p):
        order = jnp.argsort(-logits, -1)
        prob = jax.nn.softmax(jnp.take_along_axis(logits, order, -1), -1)
        keep = jnp.cumsum(prob, -1) - prob < p
        keep = jnp.zeros_like(keep).at[jnp.arange(len(logits))[:, None], order].set(keep)
        g = jax.random.gumbel(jax.random.wrap_key_data(key), logits.shape)
        return jnp.where(keep, logits + g, -jnp.inf).argmax(-1)
    add('tokens_of_a_sorted_nucleus', full_nucleus, key, f32(4, 1000) * 3, np.float32(0.9))
    def verify(key, draft, target, tokens):
        k1, k2 = jax.random.split(jax.random.wrap_key_data(key))
        n = tokens.shape[1]
        b = jnp.arange(len(tokens))[:, None]
        q, p = jax.nn.softmax(draft, -1), jax.nn.softmax(target, -1)
        ok = jax.random.uniform(k1, tokens.shape) < p[b, jnp.arange(n), tokens] / q[b, jnp.arange(n), tokens]
        length = jnp.cumprod(ok, 1).sum(1)
        rest = jnp.maximum(p[:, :n] - q, 0)
        rest = jnp.concatenate([rest, p[:, n:]], 1)[b[:, 0], length]
        last = jax.random.categorical(k2, jnp.log(rest + 1e-9))
        return length, jnp.where(jnp.arange(n + 1) == length[:, None], last[:, None], jnp.pad(tokens, ((0, 0), (0, 1))))
    add('accepted_drafts', verify, key, f32(4, 5, 400), f32(4, 6, 400), i32(400, 4, 5))
    def ngrams(history, length):
        last = lax.dynamic_slice(history, (length - 3,), (3,))
        windows = jnp.stack([history[:-5], history[1:-4], history[2:-3]], -1)
        hit = (windows == last).all(-1) & (jnp.arange(len(windows)) < length - 3)
        at = jnp.max(jnp.where(hit, jnp.arange(len(hit)), -1))
        return jnp.where(at >= 0, lax.dynamic_slice(history, (at + 3,), (4,)), -1)
    add('drafts_from_history', ngrams, i32(6, 1200), np.int32(1100))
    def masked_by_grammar(table, state, logits):
        allowed = table[state] >= 0
        t = jnp.where(allowed, logits, -jnp.inf).argmax(-1)
        return t, table[state, t]
    add('tokens_of_a_grammar', masked_by_grammar, np.where(R.rand(30, 800) < 0.3, i32(30, 30, 800), -1).astype(np.int32), i32(30, 5), f32(5, 800))
    def watermark(key, last, logits):
        def one(t, l):
            green = jax.random.permutation(jax.random.fold_in(jax.random.wrap_key_data(key), t), len(l))[: len(l) // 4]
            return (l.at[green].add(2.0)).argmax()
        return jax.vmap(one)(last, logits)
    add('marked_tokens', watermark, key, i32(500, 6), f32(6, 500))

    # Weights.
    def int4(x, packed, scale):
        low = (packed << 4).astype(jnp.int8) >> 4
        w = jnp.stack([low, packed.astype(jnp.int8) >> 4], 1).reshape(-1, packed.shape[1])
        w = (w.reshape(scale.shape[0], -1, w.shape[1]).astype(jnp.float32) * scale[:, None]).reshape(w.shape)
        return x @ w
    add('nibbles_times_vector', int4, f32(1, 256), R.randint(0, 256, (128, 384)).astype(np.uint8), np.abs(f32(8, 384)) * 0.05)
    add('nibbles_times_rows', int4, f32(32, 256), R.randint(0, 256, (128, 384)).astype(np.uint8), np.abs(f32(8, 384)) * 0.05)
    def smooth_int8(x, w8, ws):
        s = jnp.abs(x).max(-1, keepdims=True) / 127
        q = jnp.round(x / s).astype(jnp.int8)
        return lax.dot_general(q, w8, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32).astype(jnp.float32) * s * ws
    add('bytes_times_bytes', smooth_int8, f32(8, 256), i8(256, 512), np.abs(f32(512)) * 0.01)
    codebook = jnp.asarray(np.sort(f32(16)))
    def by_codebook(x, codes, absmax):
        w = codebook[codes]
        return x @ (w.reshape(-1, 64) * absmax[:, None]).reshape(codes.shape).T
    add('codebook_times_rows', by_codebook, f32(4, 256), R.randint(0, 16, (192, 256)).astype(np.uint8), np.abs(f32(768)))
    def many_adapters(x, w, a, b, which):
        return x @ w + jnp.einsum('br,bro->bo', jnp.einsum('bi,bir->br', x, a[which]), b[which])
    add('adapters_of_requests', many_adapters, f32(12, 96), f32(96, 96), f32(10, 96, 8), f32(10, 8, 96), i32(10, 12))

    # Experts.
    def with_capacity(p, x):
        n, e, c = len(x), 8, 12
        gates = jax.nn.softmax(x @ p['r'])
        w, at = lax.top_k(gates, 2)
        w = w / w.sum(-1, keepdims=True)
        one = jax.nn.one_hot(at.T.reshape(-1), e)
        place = (jnp.cumsum(one, 0) - one)
        place = (place * one).sum(-1).astype(int)
        keep = place < c
        slot = jnp.where(keep, at.T.reshape(-1) * c + place, e * c)
        rows = jnp.tile(jnp.arange(n), 2)
        inputs = jnp.zeros((e * c + 1, x.shape[1])).at[slot].set(x[rows])[:-1].reshape(e, c, -1)
        h = jax.nn.silu(jnp.einsum('ecd,edf->ecf', inputs, p['g'])) * jnp.einsum('ecd,edf->ecf', inputs, p['u'])
        y = jnp.einsum('ecf,efd->ecd', h, p['d']).reshape(e * c, -1)
        y = jnp.concatenate([y, jnp.zeros((1, y.shape[1]))])[slot] * (w.T.reshape(-1) * keep)[:, None]
        return y.reshape(2, n, -1).sum(0)
    experts = dict(r=f32(32, 8), g=f32(8, 32, 64) * 0.2, u=f32(8, 32, 64) * 0.2, d=f32(8, 64, 32) * 0.1)
    add('experts_with_capacity', with_capacity, experts, f32(40, 32))
    def ragged(p, x):
        w, at = lax.top_k(jax.nn.softmax(x @ p['r']), 2)
        flat = at.reshape(-1)
        order = jnp.argsort(flat)
        sizes = jnp.bincount(flat, length=8)
        rows = x[order // 2]
        h = jax.nn.silu(lax.ragged_dot(rows, p['g'], sizes)) * lax.ragged_dot(rows, p['u'], sizes)
        y = lax.ragged_dot(h, p['d'], sizes) * w.reshape(-1)[order][:, None]
        return jnp.zeros_like(x).at[order // 2].add(y)
    add('experts_by_ragged_products', ragged, experts, f32(40, 32))
    def picked(p, x):
        w, at = lax.top_k(jax.nn.softmax(x @ p['r']), 2)
        h = jax.nn.silu(jnp.einsum('bd,bkdf->bkf', x, p['g'][at])) * jnp.einsum('bd,bkdf->bkf', x, p['u'][at])
        return jnp.einsum('bk,bkf,bkfd->bd', w, h, p['d'][at])
    add('experts_picked_for_tokens', picked, experts, f32(3, 32))
    def matched_prefix(blocks, prompt):
        def step(h, b):
            h = lax.fori_loop(0, 16, lambda i, h: (h ^ b[i].astype(jnp.uint32)) * jnp.uint32(16777619), h)
            return h, h
        h = lax.scan(step, jnp.uint32(2166136261), prompt.reshape(-1, 16))[1]
        found = jnp.isin(h, blocks)
        return jnp.cumprod(found).sum(), h
    add('matched_prefixes', matched_prefix, R.randint(0, 1 << 32, 300).astype(np.uint32), i32(30000, 640))
    return P
