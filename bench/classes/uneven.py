"""Lengths that no block of elements divides: sums and extremes of all elements, paddings at either end, frames of what is not a whole number of them."""
from by_value import ByShape


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    make = ByShape(jax, 41)
    f32, below = make.f32, make.below

    def cross_entropy(logits, labels):
        return (jnp.maximum(logits, 0) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits)))).mean()

    def self_entropy(x):
        e = jnp.exp(-jnp.abs(x))
        return (e * jnp.log(e + 1e-6)).sum()

    def cosine(a, b):
        return (a * b).sum() / jnp.sqrt((a * a).sum() * (b * b).sum())

    def moments(x):
        mean = x.mean()
        d = x - mean
        return mean, (d ** 2).mean(), (d ** 3).mean(), (d ** 4).mean()

    def clipped_step(p, g):
        norm = jnp.sqrt((g * g).sum())
        return p - .01 * g * jnp.minimum(1., 1. / norm)

    def finite_or_not(x):
        return jnp.isfinite(x).all(), (x > 3).any(), (x > 0).sum()

    def huber(x, y):
        d = jnp.abs(x - y)
        return jnp.where(d < 1, .5 * d * d, d - .5).mean()

    def frames(x):
        n = -(-x.shape[0] // 512)
        return (jnp.pad(x, (0, n * 512 - x.shape[0])).reshape(n, 512) ** 2).mean(1)

    def power_of_two(x):
        n = 1 << (x.shape[0] - 1).bit_length()
        return jnp.pad(x * .5, (n - x.shape[0], 0))

    def checksum(x):
        return lax.reduce(x, jnp.int32(0), lax.bitwise_xor, (0,)), (x * 31).sum()

    def autocorrelation(x, lag=777):
        return (x * jnp.pad(x, (lag, 0))[:x.shape[0]]).mean()

    def log_sum(x):
        return jax.nn.logsumexp(x)

    def running(x):
        return jnp.cumsum(x), lax.cummax(x)

    def largest(x):
        return x.argmax(), jnp.abs(x).max(), x.min()

    def gradient_of_loss(p, x, y):
        return jax.grad(lambda p: cross_entropy(p * x, y))(p)

    def monte_carlo(seed):
        x = jax.random.normal(jax.random.key(seed), (100003,))
        return jnp.maximum(jnp.exp(.2 * x - .02) - 1, 0).mean()

    def zero_ended(x):
        return jnp.concatenate([jnp.zeros(5001), jnp.tanh(x), jnp.zeros(30001)])

    return {
        'cross_entropy': (cross_entropy, [f32(100003), f32(100003)]),
        'cross_entropy_gradient': (gradient_of_loss, [f32(), f32(70001), f32(70001)]),
        'self_entropy': (self_entropy, [f32(123457)]),
        'cosine': (cosine, [f32(200001), f32(200001)]),
        'moments': (moments, [f32(99991)]),
        'clipped_step': (clipped_step, [f32(111111), f32(111111)]),
        'finite_or_not': (finite_or_not, [f32(150001)]),
        'huber': (huber, [f32(88889), f32(88889)]),
        'frames': (frames, [f32(100000)]),
        'power_of_two': (power_of_two, [f32(70000)]),
        'checksum': (checksum, [below(1 << 30, 131071)]),
        'autocorrelation': (autocorrelation, [f32(90001)]),
        'log_sum': (log_sum, [f32(100003)]),
        'running': (running, [f32(100003)]),
        'largest': (largest, [f32(131073)]),
        'monte_carlo': (monte_carlo, [lambda: jnp.uint32(3)]),
        'zero_ended': (zero_ended, [f32(80000)]),
    }
