"""Programs of a few numbers, whose time is that of a call."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4216)
f32 = R.f32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add
    la, random, key = jnp.linalg, jax.random, np.array([0, 3], np.uint32)
    square = f32(4, 4)
    symmetric = square + square.T + np.diag([0, 10, 20, 30]).astype(np.float32)

    add('nothing', lambda x: x, f32(5))
    add('two_scalars', lambda a, b: a + b, np.float32(1), np.float32(2))
    add('zeros_and_a_scalar', lambda x: jnp.zeros((10, 10)) + x, np.float32(1))
    add('argmax', jnp.argmax, f32(17))
    add('sort', jnp.sort, f32(9))
    add('quantile', lambda x: jnp.quantile(x, .3), f32(21))
    add('histogram', lambda x: jnp.histogram(x, 5)[0], f32(50))
    add('interpolation', jnp.interp, f32(5), np.arange(9.).astype(np.float32), f32(9))
    add('polynomial', jnp.polyval, f32(5), f32(3))
    add('roots', lambda p: jnp.sort(jnp.abs(jnp.roots(p, strip_zeros=False))), f32(5))
    add('convolution', lambda x, w: jnp.convolve(x, w), f32(21), f32(5))
    add('transform_of_8', jnp.fft.fft, f32(8))
    add('two_layers', lambda x, a, b: nn.relu(x @ a) @ b, f32(4), f32(4, 16), f32(16, 2))
    add('while', lambda x: lax.while_loop(lambda x: x < 100, lambda x: x * 1.5, x), np.float32(1))

    add('cross_product', jnp.cross, f32(3), f32(3))
    add('vector_matrix_vector', lambda a, b, c: jnp.einsum('i,ij,j', a, b, c), f32(3), f32(3, 3), f32(3))
    add('product_of_4', lambda a, b: a @ b, f32(4, 4), f32(4, 4))
    add('inverse_of_3', la.inv, f32(3, 3) + 2 * np.eye(3, dtype=np.float32))
    add('solve_2', la.solve, f32(2, 2) + 2 * np.eye(2, dtype=np.float32), f32(2))
    add('log_determinant_of_5', la.slogdet, f32(5, 5))
    add('cholesky_of_4', la.cholesky, symmetric + 30 * np.eye(4, dtype=np.float32))
    add('eigenvectors_of_4', lambda a: jax.tree.map(jnp.abs, tuple(la.eigh(a))), symmetric)
    add('singular_vectors_of_3', lambda a: jax.tree.map(jnp.abs, tuple(la.svd(a))), f32(3, 3) + np.diag([9, 6, 3]).astype(np.float32))
    add('exponential_of_3', jax.scipy.linalg.expm, f32(3, 3))
    add('least_squares_of_3', lambda a, b: la.lstsq(a, b)[0], f32(9, 3), f32(9))

    add('key_split', lambda k: random.split(k), key)
    add('three_uniforms', lambda k: random.uniform(k, (3,)), key)
    add('five_normals', lambda k: random.normal(k, (5,)), key)
    add('one_of_seven', lambda k, logits: random.categorical(k, logits), key, f32(7))
    add('three_of_ten', lambda k: random.choice(k, 10, (3,), replace=False), key)
    return P
