"""Few results of many elements in several dims, computed where they are summed: losses over images, norms, sums over pairs."""
from by_value import Programs, Random


def programs(jax):
    import jax.numpy as jnp

    R = Random(0)
    P = Programs()
    add = P.add
    f32 = R.f32
    images = f32(20, 120, 120, 3), f32(20, 120, 120, 3)
    add('square_error_of_images', lambda a, b: jnp.mean((a - b) ** 2), *images)
    add('square_error_by_image', lambda a, b: jnp.mean((a - b) ** 2, (1, 2, 3)), *images)
    add('error_of_channels', lambda a, b: jnp.abs(a - b).mean((0, 1, 2)), *images)
    add('square_error_gradient', jax.grad(lambda a, b: jnp.mean((a * b - b) ** 2)), *images)
    add('norm_of_a_difference', lambda a, b: jnp.linalg.norm(jnp.tanh(a) - b), f32(901, 701), f32(901, 701))
    add('product_of_flat_arrays', lambda a, b: jnp.vdot(a + 1, jnp.sin(b)), f32(33, 77, 211), f32(33, 77, 211))
    add('norm_of_a_residual', lambda a, x, b: jnp.linalg.norm(a @ x - b), f32(700, 40), f32(40, 503), f32(700, 503))
    add('kernel_sum_over_pairs', lambda x, y: jnp.exp(-jnp.abs(x[:, None] - y[None])).sum(), f32(1501), f32(2003))
    add('energy_of_pairs', lambda x: (1 / (1 + ((x[:, None] - x[None]) ** 2).sum(-1))).sum(), f32(700, 3))
    add('largest_over_pairs', lambda x, y: jnp.max(jnp.abs(x[:, None] - y[None])), f32(1501), f32(2003))
    add('mean_of_a_prime', lambda x: jnp.mean(x * x), f32(1000003))
    add('total_variation', lambda x: jnp.abs(x[:, 1:] - x[:, :-1]).sum() + jnp.abs(x[1:] - x[:-1]).sum(), f32(801, 999))
    # Rows that meet many vectors, some of them sums over parts of long columns.
    add('rows_scaled_often', lambda x, p, v: (lambda y: jnp.maximum(y * v[8] + v[9], v[10] * v[11]))((jnp.maximum((x + p.sum(0)) * v[0] + v[1], v[2]) * v[3] + v[4]) * v[5] + jnp.minimum(v[6], v[7])), f32(2003, 512), f32(16, 512), f32(12, 512))
    add('columns_whitened_by_parts', lambda x, p, q, g: jnp.tanh((x - p.sum(0) / 16) * g[0] + g[1]) * (q.sum(0) / 16) * g[2] + g[3] * jnp.maximum(x * g[4] + g[5], g[6] * x), f32(4001, 256), f32(16, 256), f32(16, 256), f32(7, 256))
    return P
