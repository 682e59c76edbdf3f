"""Look-ups in tables of a few to some hundred entries: code books, substitutions, rules, alphabets, prices, knots, and rows whose columns change places."""
import numpy as np
from by_value import Programs, Random

X64 = True


def programs(jax):
    jnp, lax, nn = jax.numpy, jax.lax, jax.nn
    p, r = Programs(), Random(77)
    add = p.add
    order = lambda n: r.permutation(n).astype(np.int32)

    def blocks_of_codes(book, packed, scales):
        """Weights of 4 bits, two to a byte, whose 16 values are a book's, scaled by blocks of 64."""
        codes = jnp.stack([packed & 15, packed >> 4], -1).reshape(packed.shape[0], -1)
        return (book[codes].reshape(-1, 64) * scales[:, None]).reshape(codes.shape)
    add('blocks_of_codes', blocks_of_codes, np.linspace(-1, 1, 16, dtype=np.float32) ** 3, r.u8(256, 128), r.share(1024))
    add('codes_times_vector', lambda book, codes, x: book[codes].astype(jnp.float32) @ x, r.f16(16), r.u8(300, 256) & 15, r.f32(256))

    def substituted(box, text, keys):
        return lax.fori_loop(0, 10, lambda i, t: box[t ^ keys[i]] ^ (t >> 4), text)
    add('substituted', substituted, order(256).astype(np.uint8), r.u8(4096), r.u8(10))

    def automaton(rule, cells):
        def step(c, _):
            return rule[4 * jnp.roll(c, 1) + 2 * c + jnp.roll(c, -1)], None
        return lax.scan(step, cells, None, length=30)[0]
    add('automaton', automaton, np.array([0, 1, 1, 1, 0, 1, 1, 0], np.int32), r.i32(2, 5000))
    add('automaton_of_totals', lambda rule, g: rule[sum(jnp.roll(g, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) + 9 * g], r.u8(18) & 1, r.u8(200, 211) & 1)

    add('amino_acids', lambda code, bases: code[bases[:, 0] * 16 + bases[:, 1] * 4 + bases[:, 2]], order(64).astype(np.int8), r.i32(4, 20000, 3))
    add('scores_of_pairs', lambda s, a, b: s[a[:, None], b[None]].astype(jnp.float32) * .5, r.i32(12, 24, 24) - 4, r.i32(24, 150), r.i32(24, 170))
    add('palette_to_colours', lambda palette, picture: palette[picture].transpose(2, 0, 1), r.share(32, 3), r.u8(120, 131) & 31)
    add('gamma_by_table', lambda t, x: t[x], (255 * (np.arange(256) / 255) ** .45).astype(np.uint8), r.u8(240, 321))

    def weighted_loss(weights, logits, labels):
        rows = -jnp.take_along_axis(nn.log_softmax(logits), labels[:, None], 1)[:, 0] * weights[labels]
        return rows.sum() / weights[labels].sum()
    add('weighted_loss', weighted_loss, r.share(21) + .1, r.f32(3000, 21), r.i32(21, 3000))
    add('weighted_loss_gradient', jax.grad(weighted_loss, 1), r.share(21) + .1, r.f32(3000, 21), r.i32(21, 3000))

    def between_knots(knots, values, x):
        i = jnp.clip(jnp.searchsorted(knots, x) - 1, 0, knots.size - 2)
        w = (x - knots[i]) / (knots[i + 1] - knots[i])
        return values[i] * (1 - w) + values[i + 1] * w
    add('between_knots', between_knots, np.sort(r.f32(17)), r.f32(17), r.f32(20000))

    def even_knots(values, x):
        at = jnp.clip(x * 30, 0, 29.999)
        i = at.astype(jnp.int32)
        return values[i] + (at - i) * (values[i + 1] - values[i])
    add('even_knots', even_knots, r.f32(31), r.share(30000))
    add('even_knots_f64', even_knots, r.randn(31), r.rand(30000))

    def interest(rates, years, amounts):
        return amounts * jnp.exp(-rates[years] * (years + 1))
    add('interest', interest, r.share(40), r.i32(40, 25000), r.share(25000) * 100)
    add('tenths', lambda powers, x, e: x * powers[jnp.minimum(e, 22)], 10.0 ** -np.arange(23), r.randn(9000), r.i32(30, 9000))

    def energies(couplings, spins):
        right, down = jnp.roll(spins, -1, 1), jnp.roll(spins, -1, 0)
        return (couplings[spins * 5 + right] + couplings[spins * 5 + down]).sum()
    add('energies', energies, r.f32(25), r.i32(5, 130, 141))

    add('joints_in_another_order', lambda x, j: x[:, j] - x.mean(1, keepdims=True), r.f32(700, 25), order(25))
    add('channels_in_another_order', lambda x, c: x[..., c], r.u8(60, 61, 12), order(12))
    add('sorted_columns', lambda x: x[:, jnp.argsort(-jnp.abs(x).sum(0))], r.f32(900, 40))
    add('best_of_each_row', lambda x, i: jnp.take_along_axis(x, i, 1).sum(1), r.f32(800, 30), r.i32(30, 800, 12))
    add('bits_reversed', lambda t, x: (t[x & 255].astype(jnp.uint32) << 8) | t[x >> 8 & 255], np.array([int(f'{i:08b}'[::-1], 2) for i in range(256)], np.uint8), r.randint(0, 65536, 20000).astype(np.uint32))
    add('ones_counted', lambda t, x: (t[x & 15] + t[x >> 4]).astype(jnp.int32).sum(1), np.array([bin(i).count('1') for i in range(16)], np.uint8), r.u8(500, 64))
    return p
