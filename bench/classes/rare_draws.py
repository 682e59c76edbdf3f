"""Random numbers of distributions that are drawn now and then."""
import numpy as np

FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    random = jax.random
    draws = {
        'beta': lambda k: random.beta(k, .7, 2., (2003,)),
        'binomial': lambda k: random.binomial(k, 20., .3, (503,)),
        'ten_of_a_thousand': lambda k: jax.lax.top_k(random.gumbel(k, (31, 1001)), 10)[1],
        'in_a_ball': lambda k: random.ball(k, 3, shape=(1001,)),
        'student': lambda k: random.t(k, 3., (2003,)),
        'signs': lambda k: random.rademacher(k, (10007,)),
        'bytes_below_17': lambda k: random.randint(k, (10007,), 0, 17, jnp.uint8),
        'maxwell': lambda k: random.maxwell(k, (2003,)),
        'wald': lambda k: random.wald(k, 2., (2003,)),
        'geometric': lambda k: random.geometric(k, .2, (2003,)),
    }
    return {name: (draw, [lambda: np.array([3, 4], np.uint32)]) for name, draw in draws.items()}
