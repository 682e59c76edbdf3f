"""Random numbers: distributions, keys split and folded, draws in loops, shuffles, Monte Carlo."""
import numpy as np

from arrays import f32, key, positive

FACTOR = 8.0


def programs(jax, pick, add):
    jnp, lax, r = jax.numpy, jax.lax, jax.random
    n, t = pick((500, 20), (100000, 200), (4000000, 1000))
    add('bits', lambda k: r.bits(k, (n,)), key())
    add('bits_8', lambda k: r.bits(k, (n,), jnp.uint8), key())
    add('uniform', lambda k: r.uniform(k, (n,)), key())
    add('normal', lambda k: r.normal(k, (n,)), key())
    add('normal_bf16', lambda k: r.normal(k, (n,), jnp.bfloat16), key(), factor=4)
    add('integers', lambda k: r.randint(k, (n,), 0, 1000), key())
    add('exponential', lambda k: r.exponential(k, (n,)), key())
    add('gumbel', lambda k: r.gumbel(k, (n,)), key())
    add('truncated_normal', lambda k: r.truncated_normal(k, -1.0, 2.0, (n,)), key())
    add('laplace_cauchy', lambda k: (r.laplace(k, (n,)), jnp.clip(r.cauchy(k, (n,)), -100, 100)), key(), factor=64)
    add('bernoulli_mask', lambda k, x: jnp.where(r.bernoulli(k, 0.8, x.shape), x / 0.8, 0), key(), f32(n))
    add('categorical', lambda k, l: r.categorical(k, l), key(), f32(n // 20, 20), share=1e-3)
    add('choice', lambda k: r.choice(k, 100, (n,)), key())
    add('permutation', lambda k: r.permutation(k, n // 4), key())
    add('shuffle_rows', lambda k, x: r.permutation(k, x), key(), f32(n // 20, 16))
    add('gamma', lambda k, a: r.gamma(k, a), key(), positive(n // 50, low=1.5, high=5.0), share=1e-2, factor=8)
    add('poisson', lambda k: r.poisson(k, 3.0, (n // 50,)), key(), share=1e-2)
    add('dirichlet', lambda k: r.dirichlet(k, jnp.ones(4) * 2, (n // 200,)), key(), share=2e-2, factor=8)
    add('multivariate_normal', lambda k: r.multivariate_normal(k, jnp.zeros(4), jnp.eye(4) + 0.5, (n // 10,)), key(), factor=4)
    add('split_many', lambda k: r.split(k, n // 4), key())
    add('fold_in_many', lambda k: jax.vmap(lambda i: r.uniform(r.fold_in(k, i), (4,)))(jnp.arange(n // 10)), key())
    add('random_walk', lambda k: lax.scan(lambda s, k: (s + 0.1 * r.normal(k, (8,)),) * 2, jnp.zeros(8), r.split(k, t))[1], key())
    add('split_in_loop', lambda k: lax.fori_loop(0, t, lambda i, s: (lambda a, b: (a, s[1] + r.uniform(b, (4,))))(*r.split(s[0])), (k, jnp.zeros(4)))[1], key())
    add('pi_by_darts', lambda k: (lambda p: ((p * p).sum(-1) < 1).mean() * 4)(r.uniform(k, (n, 2))), key())
    add('option_paths', lambda k: jnp.maximum(jnp.exp(jnp.cumsum(0.02 * r.normal(k, (n // 50, 50)), 1))[:, -1] - 1, 0).mean(), key(), factor=4)
    add('rademacher_projection', lambda k, x: x @ r.rademacher(k, (64, 16), jnp.float32), key(), f32(n // 64, 64))
    add('orthogonal', lambda k: jnp.abs(r.orthogonal(k, 12)), key(), factor=64)
