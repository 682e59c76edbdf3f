"""Vectors and matrices of complex numbers, in floats and doubles: products with one row or column, batches, forms, solves and inverses of small ones, sums by keys."""
import numpy as np
from by_value import Programs, Random

X64 = True
FACTOR = 4096.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(22)
    for kind, make in (('c64', R.c64), ('c128', lambda *s: R.randn(*s) + 1j * R.randn(*s))):
        add = lambda name, f, *a: P.add(f'{kind}_{name}', f, *a)
        add('matrix_times_vector', lambda a, x: a @ x, make(301, 307), make(307))
        add('vector_times_matrix', lambda x, a: x @ a, make(307), make(307, 301))
        add('conjugate_times_vector', lambda a, x: a.conj().T @ x, make(307, 301), make(307))
        add('small_matrix_times_vector', lambda a, x: a @ x, make(31, 37), make(37))
        add('thin_matrix_times_vector', lambda a, x: a @ x, make(4001, 7), make(7))
        add('wide_matrix_times_vector', lambda a, x: a @ x, make(7, 4001), make(4001))
        add('vectors_of_batches', lambda a, x: jnp.einsum('bij,bj->bi', a, x), make(61, 20, 21), make(61, 21))
        add('rows_of_batches', lambda x, a: jnp.einsum('bi,bij->bj', x, a), make(61, 20), make(61, 20, 21))
        add('forms', lambda x, a: jnp.einsum('bi,ij,bj->b', x.conj(), a, x).real, make(301, 12), make(12, 12))
        add('forms_of_each', lambda x, a: jnp.einsum('bi,bij,bj->b', x.conj(), a, x).real, make(301, 8), make(301, 8, 8))
        add('covariances_of_bands', lambda x: jnp.einsum('ftm,ftn->fmn', x, x.conj()) / 50, make(65, 50, 6))
        add('weights_of_beams', lambda a, d: (lambda v: v / jnp.einsum('fm,fm->f', d.conj(), v)[:, None])(jnp.linalg.solve(a @ jnp.swapaxes(a.conj(), 1, 2) + jnp.eye(6, dtype=a.dtype), d[..., None])[..., 0]), make(65, 6, 6), make(65, 6))
        add('solves_of_batches', lambda a, b: jnp.linalg.solve(a + 5 * jnp.eye(4, dtype=a.dtype), b), make(200, 4, 4), make(200, 4, 2))
        add('inverses_of_batches', lambda a: jnp.linalg.inv(a + 5 * jnp.eye(5, dtype=a.dtype)), make(150, 5, 5))
        add('determinants_of_batches', lambda a: jnp.linalg.det(a), make(150, 5, 5))
        add('factors_of_batches', lambda a: jnp.linalg.cholesky(a @ jnp.swapaxes(a.conj(), 1, 2) + jnp.eye(5, dtype=a.dtype)), make(150, 5, 5))
        add('orthogonal_of_batches', lambda a: jnp.linalg.qr(a), make(50, 6, 4))
        add('eigenvalues_of_batches', lambda a: jnp.linalg.eigvalsh(a @ jnp.swapaxes(a.conj(), 1, 2)), make(50, 5, 5))
        add('singular_values_of_batches', lambda a: jnp.linalg.svd(a, compute_uv=False), make(50, 5, 4))
        add('solved_once', lambda a, b: jnp.linalg.solve(a + 9 * jnp.eye(60, dtype=a.dtype), b), make(60, 60), make(60))
        add('products_of_batches', lambda a, b: a @ b, make(200, 4, 4), make(200, 4, 4))
        add('products_of_two_by_two', lambda a, b: a @ b, make(1001, 2, 2), make(1001, 2, 2))
        add('chain_of_two_by_two', lambda a: lax.scan(lambda s, a: (lambda c: (c / jnp.linalg.norm(c), None))(a @ s), jnp.eye(2, dtype=a.dtype), a)[0], make(301, 2, 2))
        add('sums_by_keys', lambda x, k: jax.ops.segment_sum(x, k, 90), make(3001), R.i32(90, 3001))
        add('rows_by_keys', lambda x, k: jax.ops.segment_sum(x, k, 90), make(901, 7), R.i32(90, 901))
        add('powers_of_a_matrix', lambda a, x: lax.scan(lambda x, _: (lambda y: (y / jnp.linalg.norm(y), jnp.vdot(x, y)))(a @ x), x, None, length=30)[1], make(40, 40), make(40))
        add('evolved', lambda h, x: lax.fori_loop(0, 20, lambda _, x: x - .01j * (h @ x) - .00005 * (h @ (h @ x)), x), make(50, 50), make(50))
        add('gates_of_one_bit', lambda s, g: jnp.einsum('ab,xby->xay', g, s.reshape(32, 2, 64)).ravel(), make(4096), make(2, 2))
        add('gates_of_two_bits', lambda s, g: jnp.einsum('abcd,xcydz->xaybz', g.reshape(2, 2, 2, 2), s.reshape(8, 2, 16, 2, 8)).ravel(), make(4096), make(4, 4))
        add('transformed_by_a_matrix', lambda m, x: m @ x, make(64, 64), make(64, 33))
    return P
