"""Layers over sequences: shifted distances, attention with memory of itself, pointers, machines with memory, light recurrences, words of letters, clicks."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4204)
f32, i32, weights = R.f32, R.i32, R.weights


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add

    def conv(x, w, padding):
        return lax.conv_general_dilated(x, w, (1,), padding, dimension_numbers=('NWC', 'WIO', 'NWC'))

    def shifted(q, k, r, u, v):
        """Attention by content and by distance, whose scores are shifted row by row through a pad and two reshapes."""
        content = jnp.einsum('bihd,bjhd->bhij', q + u, k)
        distance = jnp.einsum('bihd,jhd->bhij', q + v, r)
        b, h, i, j = distance.shape
        distance = jnp.pad(distance, ((0, 0), (0, 0), (0, 0), (1, 0))).reshape(b, h, j + 1, i)[:, :, 1:].reshape(b, h, i, j)
        return nn.softmax((content + distance) / np.sqrt(q.shape[-1]))
    heads = (f32(3, 37, 5, 19), f32(3, 61, 5, 19), f32(61, 5, 19), f32(5, 19), f32(5, 19))
    add('distances_by_shifts', shifted, *heads)
    add('distances_by_shifts_gradient', jax.grad(lambda *a: (shifted(*a) ** 2).sum(), (0, 1, 2)), *heads)

    def attention_of_places(memory, xs, wq, wl, v, w):
        keys = memory @ wq[:24]

        def step(c, x):
            last, total = c
            seen = conv(jnp.stack([last, total], -1), w, 'SAME') @ wl
            a = nn.softmax(jnp.tanh((x @ wq[24:])[:, None] + keys + seen) @ v, -1)
            return (a, total + a), jnp.einsum('bt,btd->bd', a, memory)
        zero = jnp.zeros(memory.shape[:2])
        return lax.scan(step, (zero, zero), xs)[1]
    add('attention_that_sees_itself', attention_of_places, f32(3, 61, 24), f32(40, 3, 24), weights(48, 17), weights(8, 17), f32(17), weights(7, 2, 8))

    def pointers(e, w1, w2, v, wx, wh):
        def step(c, _):
            h, taken, x = c
            h = jnp.tanh(x @ wx + h @ wh)
            i = jnp.where(taken, -1e9, jnp.tanh(e @ w1 + (h @ w2)[:, None]) @ v).argmax(1)
            return (h, taken | (jnp.arange(e.shape[1]) == i[:, None]), jnp.take_along_axis(e, i[:, None, None], 1)[:, 0]), i
        start = (jnp.zeros((e.shape[0], 29)), jnp.zeros(e.shape[:2], bool), e[:, 0])
        return lax.scan(step, start, None, length=e.shape[1])[1]
    add('pointers_to_the_next', pointers, f32(11, 27, 29), weights(29, 29), weights(29, 29), f32(29), weights(29, 29), weights(29, 29))

    def computer(x, wi, wk):
        """A network that writes where memory is least used, by a sort of usages, and reads by content."""
        def step(c, x):
            memory, used, read, h = c
            h = jnp.tanh(x @ wi + read @ memory)
            k = h @ wk
            order = jnp.argsort(used)
            s = used[order]
            free = jnp.zeros_like(used).at[order].set((1 - s) * jnp.concatenate([jnp.ones(1), jnp.cumprod(s)[:-1]]))
            alike = nn.softmax(5 * (memory @ k) / (jnp.linalg.norm(memory, axis=1) * jnp.linalg.norm(k) + 1e-3))
            w = .5 * free + .5 * alike
            memory = memory * (1 - w[:, None] * nn.sigmoid(k)) + w[:, None] * k
            return (memory, used + w - used * w, alike, h), h
        return lax.scan(step, (jnp.full((33, 14), .1), jnp.linspace(0, .1, 33), jnp.ones(33) / 33, jnp.zeros(14)), x)[1]
    add('memory_by_usage', computer, f32(30, 10), weights(10, 14), weights(14, 14))
    add('memory_by_usage_gradient', jax.grad(lambda wi, wk, x: (computer(x, wi, wk) ** 2).sum(), (0, 1)), weights(10, 14), weights(14, 14), f32(30, 10))

    def simple_units(x, w, b):
        def step(c, u):
            forget, reset = nn.sigmoid(u[:, 1] + b[0]), nn.sigmoid(u[:, 2] + b[1])
            c = forget * c + (1 - forget) * u[:, 0]
            return c, reset * jnp.tanh(c)
        return lax.scan(step, jnp.zeros((x.shape[1], w.shape[1] // 3)), (x @ w).reshape(*x.shape[:2], 3, -1))[1]
    add('units_without_products', simple_units, f32(83, 5, 31), weights(31, 111), f32(2, 37))
    add('units_without_products_gradient', jax.grad(lambda w, b, x: (simple_units(x, w, b) ** 2).sum(), (0, 1)), weights(31, 111), f32(2, 37), f32(83, 5, 31))

    def independent(u, w, x):
        return lax.scan(lambda h, z: (nn.relu(z + u * h),) * 2, jnp.zeros((x.shape[1], u.shape[0])), x @ w)[1]
    add('independent_units_gradient', jax.grad(lambda *a: (independent(*a) ** 2).mean(), (0, 1)), .3 * f32(53), weights(17, 53), f32(101, 7, 17))

    def autocorrelation(q, k, v):
        """Values at the 5 lags where queries and keys correlate most, found by transforms."""
        n = q.shape[1]
        c = jnp.fft.irfft(jnp.fft.rfft(q, axis=1) * jnp.conj(jnp.fft.rfft(k, axis=1)), n, axis=1)
        w, lag = lax.top_k(c.mean((2, 3)), 5)
        at = (jnp.arange(n) + lag[:, :, None]) % n
        return (jax.vmap(lambda v, i: v[i])(v, at) * nn.softmax(w)[:, :, None, None, None]).sum(1)
    add('attention_by_lags', autocorrelation, f32(3, 96, 4, 17), f32(3, 96, 4, 17), f32(3, 96, 4, 17))

    def few_queries(q, k, v, sample):
        s = jnp.einsum('bhqd,bhqsd->bhqs', q, k[:, :, sample])
        top = lax.top_k(s.max(-1) - s.mean(-1), 20)[1]
        o = nn.softmax(jnp.take_along_axis(q, top[..., None], 2) @ k.swapaxes(-1, -2)) @ v
        b, h = jnp.arange(q.shape[0])[:, None, None], jnp.arange(q.shape[1])[None, :, None]
        return jnp.broadcast_to(v.mean(2, keepdims=True), v.shape).at[b, h, top].set(o)
    add('attention_of_20_queries', few_queries, f32(2, 4, 96, 17), f32(2, 4, 96, 17), f32(2, 4, 96, 17), i32(96, 96, 20))

    def compressed(x, w1, w2):
        h = nn.relu(jnp.einsum('bhd,bmd,hmk->bkd', x, x, w1))
        return nn.relu(jnp.einsum('bhd,bmd,hmk->bkd', h, x, w2)).sum(-1)
    add('compressed_interactions', compressed, f32(67, 13, 10), .2 * weights(13, 13, 17), .2 * weights(17, 13, 17))

    def interest(c, h, length, w1, w2):
        near = jnp.broadcast_to(c[:, None], h.shape)
        a = (nn.sigmoid(jnp.concatenate([near, h, near - h, near * h], -1) @ w1) @ w2)[..., 0]
        return jnp.einsum('bt,btd->bd', jnp.where(jnp.arange(h.shape[1]) < length[:, None], a, 0), h)
    add('interest_in_a_candidate', interest, f32(67, 18), f32(67, 50, 18), i32(50, 67), weights(72, 36), weights(36, 1))

    def paths_to_words(h, nodes, y, path, code, mask):
        return -(nn.log_sigmoid(code[y] * jnp.einsum('bd,bkd->bk', h, nodes[path[y]])) * mask[y]).sum()
    add('paths_to_words_gradient', jax.grad(paths_to_words, (0, 1)), f32(129, 33), f32(999, 33), i32(1000, 129), i32(999, 1000, 11), np.sign(f32(1000, 11)),
        (R.rand(1000, 11) > .3).astype(np.float32))

    def words_of_letters(table, letters, ws, wt, wh):
        x = table[letters].reshape(-1, *letters.shape[2:], table.shape[1])
        h = jnp.concatenate([nn.relu(conv(x, w, 'VALID')).max(1) for w in ws], -1)
        t = nn.sigmoid(h @ wt)
        return (t * nn.relu(h @ wh) + (1 - t) * h).reshape(*letters.shape[:2], -1)
    letters = (f32(71, 16), i32(71, 5, 21, 13), [.5 * weights(k, 16, 9 * k) for k in (1, 2, 3, 4)], weights(90, 90), weights(90, 90))
    add('words_of_letters', words_of_letters, *letters)
    add('words_of_letters_gradient', jax.grad(lambda table, ws, letters, *a: (words_of_letters(table, letters, ws, *a) ** 2).mean(), (0, 1)),
        letters[0], letters[2], letters[1], *letters[3:])

    def two_ways(c, q, w):
        s = c @ w[:20] + (q @ w[20:40])[:, None, :, 0] + jnp.einsum('btd,bjd->btj', c * w[40:, 0], q)
        a = jnp.einsum('btj,bjd->btd', nn.softmax(s), q)
        b = jnp.einsum('bt,btd->bd', nn.softmax(s.max(2)), c)
        return jnp.concatenate([c, a, c * a, c * b[:, None]], -1)
    add('attention_both_ways', two_ways, f32(5, 103, 20), f32(5, 17, 20), f32(60, 1))
    return P
