"""Numbers that become others: of other types, cut off at limits, counted by their bits, divided by data, read backwards at edges."""
import numpy as np


def programs(jax):
    jnp, lax = jax.numpy, jax.lax

    def f32(*shape):
        return lambda: jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), jnp.float32)

    def below(n, *shape, dtype='int32'):
        return lambda: jnp.asarray(np.random.default_rng(n).integers(0, n, shape), dtype)

    def fixed_point(x):
        """Samples of 32 bits without sign, around the middle, and back."""
        q = jnp.clip(x * 0.25 + 0.5, 0, 1 - 2.0 ** -24)
        u = (q * jnp.float32(2 ** 32)).astype(jnp.uint32)
        return (u >> 8).astype(jnp.float32) * jnp.float32(2.0 ** -24), u

    def hashed_places(points):
        """Spatial hashing: coordinates as numbers without sign."""
        cell = jnp.floor(jnp.abs(points) * 16).astype(jnp.uint32)
        h = (cell[:, 0] * jnp.uint32(73856093)) ^ (cell[:, 1] * jnp.uint32(19349663)) ^ (cell[:, 2] * jnp.uint32(83492791))
        return h % jnp.uint32(1009)

    def hard_activations(x):
        return jnp.clip(x, -1, 1) + jax.nn.relu6(x) * 0.5 + jax.nn.hard_sigmoid(x) + jnp.maximum(x, -0.1) + jnp.minimum(x, 0.1)

    def huber_like(x):
        a = jnp.clip(x, -1.5, 1.5)
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - 0.5, 0) + a * (x - 0.5 * a)

    def hamming_to_all(codes, query):
        return lax.population_count(codes ^ query[None]).astype(jnp.int32).sum(1)

    def leading_and_trailing(x):
        return lax.clz(x), lax.population_count((x & -x) - 1), lax.population_count(x)

    def quotients(a, b):
        b = b + 1
        return a // b, a % b, jnp.remainder(-a, b)

    def digits_in_bases(x, base):
        def step(v, _):
            return v // (base + 2), v % (base + 2)
        return lax.scan(step, x, None, length=6)[1]

    def reflected(x):
        return jnp.pad(x, ((2, 2), (3, 3)), mode='reflect') * 2

    def symmetric_in_3d(x):
        return jnp.pad(x, 2, mode='symmetric')

    def backwards_beside_forwards(x):
        return jnp.concatenate([x[:, ::-1], x], 1)[:, 5:-5] - jnp.pad(x, ((0, 0), (0, x.shape[1] - 10)), mode='wrap')

    def bytes_backwards(x):
        return (x[:, ::-1] // 2 + x // 2).astype(jnp.uint8)

    def board_masks(a, b, c):
        return (a & b & ~c) | (a ^ c), (a | b).sum(-1), jnp.where(a, b, ~c)

    def triples_to_planes(x):
        y = x.reshape(-1, 3)
        return jnp.stack([y[:, 0] * 0.299 + y[:, 1] * 0.587 + y[:, 2] * 0.114, y[:, 2] - y[:, 0], y[:, 0] - y[:, 1]], 1)

    def fives(x):
        y = x.reshape(-1, 5)
        return y.at[:, 1].add(y[:, 4]).at[:, 3].multiply(y[:, 0])

    return {
        'fixed_point': (fixed_point, [f32(4096)]),
        'hashed_places': (hashed_places, [f32(2000, 3)]),
        'hard_activations': (hard_activations, [f32(64, 128)]),
        'huber_like': (huber_like, [f32(5000)]),
        'hamming_to_all': (hamming_to_all, [below(2 ** 31, 500, 8, dtype='uint32'), below(2 ** 30, 8, dtype='uint32')]),
        'leading_and_trailing': (leading_and_trailing, [below(2 ** 31, 3000)]),
        'quotients': (quotients, [below(10 ** 6, 2000), below(1000, 2000)]),
        'digits_in_bases': (digits_in_bases, [below(10 ** 8, 256), below(14, 256)]),
        'reflected': (reflected, [f32(48, 50)]),
        'symmetric_in_3d': (symmetric_in_3d, [f32(10, 12, 14)]),
        'backwards_beside_forwards': (backwards_beside_forwards, [f32(40, 60)]),
        'bytes_backwards': (bytes_backwards, [below(256, 64, 100, dtype='uint8')]),
        'board_masks': (board_masks, [below(2, 500, 8, dtype='bool'), below(2, 500, 8, dtype='bool'), below(2, 500, 8, dtype='bool')]),
        'triples_to_planes': (triples_to_planes, [f32(6000)]),
        'fives': (fives, [f32(5000)]),
    }
