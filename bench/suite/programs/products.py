"""Matrix products: square, thin, batched, transposed, tiny, of many small dims, with neighbours."""
from arrays import bf16, c64, f32, i8

FACTOR = 4.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    n = pick(64, 384, 1280)
    add('square', lambda a, b: a @ b, f32(n, n), f32(n, n))
    add('left_transposed', lambda a, b: a.T @ b, f32(n, n), f32(n, n))
    add('right_transposed', lambda a, b: a @ b.T, f32(n, n), f32(n, n))
    add('result_transposed', lambda a, b: (a @ b).T, f32(n, n), f32(n, n))
    m = pick(500, 20000, 400000)
    add('tall_thin', lambda a, b: a @ b, f32(m, 24), f32(24, 12))
    add('wide_short', lambda a, b: a @ b, f32(12, 24), f32(24, m))
    add('long_sum', lambda a, b: a.T @ b, f32(m, 12), f32(m, 20), factor=4)
    v = pick(96, 1200, 5000)
    add('matrix_vector', lambda a, x: a @ x, f32(v, v), f32(v))
    add('vector_matrix', lambda a, x: x @ a, f32(v, v), f32(v))
    add('outer', lambda x, y: jnp.outer(x, y), f32(v), f32(v))
    b = pick(32, 512, 8192)
    add('batched_16', lambda a, b: a @ b, f32(b, 16, 16), f32(b, 16, 16))
    add('batched_5', lambda a, b: a @ b, f32(8 * b, 5, 5), f32(8 * b, 5, 5))
    add('batched_vectors', lambda a, x: jnp.einsum('bij,bj->bi', a, x), f32(4 * b, 12, 12), f32(4 * b, 12))
    add('batched_dots', lambda x, y: jnp.einsum('bi,bi->b', x, y), f32(16 * b, 20), f32(16 * b, 20))
    add('batch_last', lambda a, b: jnp.einsum('ijb,jkb->ikb', a, b), f32(6, 6, b), f32(6, 6, b))
    add('weighted_rows', lambda w, a: jnp.einsum('b,bij->ij', w, a), f32(b), f32(b, 24, 24), factor=4)
    q = pick(6, 10, 14)
    add('qubit_gate', lambda s, g: jnp.einsum('ab,xby->xay', g, s.reshape(2 ** (q // 2), 2, -1)), c64(2 ** q), c64(2, 2))
    add('many_small_dims', lambda a, b: jnp.einsum('abcde,cefg->abdfg', a, b), f32(3, n // 8, 4, n // 8, 2), f32(4, 2, 5, 3))
    add('chain_of_three', lambda a, b, c: a @ b @ c / n, f32(n, n // 2), f32(n // 2, n // 4), f32(n // 4, n), factor=4)
    add('bias_relu', lambda x, w, b: jax.nn.relu(x @ w + b), f32(n, n), f32(n, n), f32(n))
    add('bias_gelu_residual', lambda x, w, b: x + jax.nn.gelu(x @ w + b), f32(n, n), f32(n, n, scale=0.1), f32(n))
    add('gathered_rows', lambda x, i, w: x[i] @ w, f32(n, n), lambda rng: rng.integers(0, n, n).astype('int32'), f32(n, n))
    add('scaled_gram', lambda x: (x.T @ x) / x.shape[0] - jnp.outer(x.mean(0), x.mean(0)), f32(4 * n, n // 2), factor=2)
    add('bf16_mixed', lambda a, b: jnp.dot(a, b, preferred_element_type=jnp.float32), bf16(n, n), bf16(n, n), factor=64)
    add('int8', lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32), i8(n, n), i8(n, n))
    add('complex', lambda a, b: a @ b, c64(n // 2, n // 2), c64(n // 2, n // 2))
    add('tril_solve_like', lambda a, b: jnp.tril(a) @ b + jnp.triu(a, 1) @ b, f32(n, n), f32(n, n))
    add('pairwise_distances', lambda x, y: (x * x).sum(1)[:, None] + (y * y).sum(1)[None] - 2 * x @ y.T, f32(n, 16), f32(2 * n, 16))
