"""Programs written for many devices on one: collectives, shards and rings of a mesh of one device, sharded training, and keys of another generator."""
import numpy as np
from by_value import Programs, Random

FACTOR = 256.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(20)
    add, f32, weights = P.add, R.f32, R.weights
    S = jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ('x', 'y'))
    over = lambda f, i, o: jax.shard_map(f, mesh=mesh, in_specs=i, out_specs=o)

    add('summed_over_shards', over(lambda x: lax.psum((x * x).sum(0), 'x'), S('x'), S()), f32(301, 17))
    add('passed_round', over(lambda x: lax.ppermute(x, 'x', [(0, 0)]) * 2, S('x'), S('x')), f32(301, 17))
    add('exchanged', over(lambda x: lax.all_to_all(x, 'x', 1, 0, tiled=True) + 1, S('x'), S('x')), f32(40, 50))
    add('scattered_sums', over(lambda x: lax.psum_scatter(x, 'x', tiled=True) * 2, S(None, 'x'), S('x')), f32(40, 50))

    def ring(q, k, v):
        def step(s, _):
            k, v, top, below, acc = s
            z = q @ k.T
            new = jnp.maximum(top, z.max(1))
            e = jnp.exp(z - new[:, None])
            keep = jnp.exp(top - new)
            turned = [lax.ppermute(u, 'x', [(0, 0)]) for u in (k, v)]
            return (*turned, new, below * keep + e.sum(1), acc * keep[:, None] + e @ v), None
        start = (k, v, q[:, 0] * 0 - 1e30, q[:, 0] * 0, q * 0)
        (_, _, _, below, acc), _ = lax.scan(step, start, None, length=1)
        return acc / below[:, None]
    add('ring_of_attention', over(ring, (S('x'),) * 3, S('x')), *(f32(70, 20) for _ in range(3)))

    def step(w, v, x, y):
        g = jax.grad(lambda w, v: (lax.psum(jnp.tanh(x @ w) @ v, 'y') - y).__pow__(2).mean(), (0, 1))(w, v)
        return tuple(p - .1 * lax.pmean(g, 'x') for p, g in zip((w, v), g))
    add('step_over_shards', over(step, (S(None, 'y'), S('y'), S('x'), S('x')), (S(None, 'y'), S('y'))), weights(12, 40), weights(40, 5), f32(90, 12), f32(90, 5))
    put = lambda x, *s: lax.with_sharding_constraint(x, jax.sharding.NamedSharding(mesh, S(*s)))
    add('step_by_constraints', lambda w, v, x, y: jax.grad(lambda w, v: ((put(jnp.tanh(put(x, 'x') @ put(w, None, 'y')), 'x', 'y') @ v - y) ** 2).mean(), (0, 1))(w, v), weights(12, 40), weights(40, 5), f32(90, 12), f32(90, 5))
    add('sums_by_name', jax.vmap(lambda x: x / lax.psum(x, 'b') + lax.pmax(x, 'b') - lax.axis_index('b'), axis_name='b'), f32(37, 23))
    add('norm_by_name', jax.vmap(lambda x: (lambda m: (x - m) * lax.rsqrt(lax.pmean((x - m) ** 2, 'b') + 1e-5))(lax.pmean(x, 'b')), axis_name='b'), f32(37, 23))
    add('gathered_by_name', jax.vmap(lambda x: (lax.all_gather(x, 'b') * x).sum(1), axis_name='b'), f32(37, 23))
    add('turned_by_name', jax.vmap(lambda x: lax.ppermute(x, 'b', [(i, (i + 3) % 37) for i in range(37)]) - x, axis_name='b'), f32(37, 23))
    add('exchanged_by_name', jax.vmap(lambda x: lax.all_to_all(x, 'b', 0, 0), axis_name='b'), f32(23, 23, 5))
    add('scattered_by_name', jax.vmap(lambda x: lax.psum_scatter(x, 'b'), axis_name='b'), f32(23, 23, 5))

    key = np.array([1, 2, 3, 4], np.uint32)
    rbg = lambda k: jax.random.wrap_key_data(k, impl='rbg')
    add('rbg_bits', lambda k: jax.random.bits(rbg(k), (3001,)), key)
    add('rbg_uniform', lambda k: jax.random.uniform(rbg(k), (301, 33)), key)
    add('rbg_normal', lambda k: jax.random.normal(rbg(k), (301, 33)), key)
    add('rbg_split', lambda k: jax.random.key_data(jax.random.split(rbg(k), 50)), key)
    add('rbg_dropout', lambda k, x: jnp.where(jax.random.bernoulli(rbg(k), .9, x.shape), x / .9, 0), key, f32(301, 33))
    add('rbg_walk', lambda k: lax.scan(lambda k, _: (lambda a, b: (a, jax.random.normal(b, (33,)).sum()))(*jax.random.split(k)), rbg(k), None, length=20)[1], key)
    add('rbg_large_normal', lambda k: jax.random.normal(rbg(k), (1000, 1003)), key)
    add('rbg_bytes', lambda k: jax.random.bits(rbg(k), (20001,), np.uint8), key)
    return P
