"""Factorisations and what is made of them, real and complex, alone and in batches, at orders between vectors and blocks."""
import numpy as np
from by_value import Programs, Random
R = Random(4107)
f32 = R.f32
FACTOR = 256.0  # Each is some n eps away from the other one, with n up to 150.


def programs(jax):
    import jax.numpy as jnp
    P = Programs()
    near_one = lambda x: (x / (4 * np.sqrt(x.shape[-1])) + np.eye(x.shape[-1])).astype(x.dtype)
    self_adjoint = lambda x: (x + np.swapaxes(x.conj(), -1, -2)) / 2
    definite = lambda x: (x @ np.swapaxes(x.conj(), -1, -2) / x.shape[-1] + np.eye(x.shape[-1])).astype(x.dtype)
    lower = lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True)
    # Columns of factors are known up to a sign or phase.
    projected = lambda q: q @ q.mT.conj()
    for kind, shaped in (('real', f32), ('complex', R.c64)):
        for n in (3, 20, 61, 150):
            batch = (200,) if n == 3 else (9,) if n == 20 else ()
            square, thin = near_one(shaped(*batch, n, n)), shaped(*batch, n + n // 2, n)
            name = lambda what: f'{what}_{kind}_{n}'
            P.add(name('inverse'), jnp.linalg.inv, square)
            P.add(name('solve'), jnp.linalg.solve, square, shaped(*batch, n, 5))
            P.add(name('determinant'), lambda a: jnp.linalg.slogdet(a)[1], square)
            P.add(name('cholesky'), jnp.linalg.cholesky, definite(shaped(*batch, n, n)))
            P.add(name('triangular'), lower, np.tril(square), shaped(*batch, n, 7))
            P.add(name('qr'), lambda a: projected(jnp.linalg.qr(a)[0]), thin)
            P.add(name('singular_values'), lambda a: jnp.linalg.svd(a, compute_uv=False), thin)
            P.add(name('low_rank'), lambda a: (lambda u, s, v: (u * s[..., None, :]) @ v)(*jnp.linalg.svd(a, full_matrices=False)), thin)
            P.add(name('eigenvalues'), jnp.linalg.eigvalsh, self_adjoint(shaped(*batch, n, n)))
            P.add(name('exponential'), jax.scipy.linalg.expm, square)
    trips = lambda n, body: lambda *a: jax.lax.fori_loop(0, n, lambda i, x: body(x, *a[1:]), a[0])
    for n in (6, 12, 25):
        a = near_one(f32(n, n))
        P.add(f'iterated_solve_{n}', trips(50, lambda x, a: jnp.linalg.solve(a + x[0] * .001, x * .3 + 1)), f32(n), a)
        P.add(f'iterated_inverse_{n}', trips(30, lambda x, a: jnp.linalg.inv(a + .1 * x)), a, a)
        P.add(f'iterated_triangular_{n}', trips(100, lambda x, a: lower(a, x) * .5 + 1), f32(n), a)
        P.add(f'iterated_log_determinant_{n}', trips(50, lambda s, a: jnp.linalg.slogdet(a + s * .01)[1]), np.float32(0), a)
        P.add(f'iterated_qr_{n}', trips(20, lambda x, a: a @ jnp.abs(jnp.linalg.qr(x)[1]) / jnp.linalg.norm(x)), a, a)
    return P
