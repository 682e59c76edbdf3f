"""Programs that JAX lowers for CPUs, run where nobody registered jaxlib's LAPACK: what each factorisation leaves of its matrix."""

import pathlib

import pytest

from helpers import run

_CODE = f'import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n' + '''
import jax, numpy as np, pjrt_driver, tenon_jax
from jax import lax
jax.config.update('jax_enable_x64', True)
plugin = pjrt_driver.Plugin(tenon_jax.library_path())
linalg = lax.linalg

def random(seed, *shape):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if DTYPE.startswith('complex') else x).astype(DTYPE)

def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))

def call(f, *arrays):
    text = jax.jit(f).trace(*arrays).lower(lowering_platforms=('cpu',)).as_text()
    wide = lambda x: x.astype(np.complex128) if x.dtype.kind in 'fc' else x
    return [wide(x) for x in plugin.compile(text.encode(), 'mlir')(*arrays)]

def off(got, wanted):
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))

a, tall, b = random(1, 2, 7, 7), random(2, 2, 7, 4), random(3, 2, 7, 3)
positive = a @ adjoint(a) + np.eye(7, dtype=a.dtype)
found = {}
for name, algorithm in (('gesdd', None), ('gesvd', linalg.SvdAlgorithm.QR)):
    u, s, vt = call(lambda x: list(linalg.svd(x, full_matrices=False, algorithm=algorithm)), tall)
    found[name] = off(u * s[..., None, :] @ vt, tall)
(values,) = call(lambda x: [linalg.svd(x, compute_uv=False, full_matrices=False)], np.swapaxes(tall, -1, -2))
found['values alone'] = off(values, s)
q, r = call(lambda x: list(linalg.qr(x, full_matrices=False)), tall)
found['qr'] = off(q @ r, tall)
q, r = call(lambda x: list(linalg.qr(x, full_matrices=True)), tall)
found['whole qr'] = off(q @ r, tall)
found['whole q'] = off(adjoint(q) @ q, np.broadcast_to(np.eye(7), q.shape))
w, v = call(lambda x: list(reversed(linalg.eigh(x, symmetrize_input=False))), positive)
found['eigh'] = off(positive @ v, v * w[..., None, :])
(factor,) = call(lambda x: [linalg.cholesky(x, symmetrize_input=False)], positive)
found['cholesky'] = off(np.tril(factor) @ adjoint(np.tril(factor)), positive)
lu, _, rows = call(lambda x: list(linalg.lu(x)), a)
found['lu'] = off((np.tril(lu, -1) + np.eye(7)) @ np.triu(lu), np.take_along_axis(a, rows[..., None], -2))
(x,) = call(lambda l, y: [linalg.triangular_solve(l, y, left_side=True, lower=True, transpose_a=True, conjugate_a=True)],
            factor.astype(DTYPE), b)
found['trsm'] = off(adjoint(np.tril(factor)) @ x, b)
below, above, diagonal = random(4, 2, 7), random(5, 2, 7), random(6, 2, 7) + 4
for perturbed in (False, True):
    (x,) = call(lambda *p: [linalg.tridiagonal_solve(*p, perturb_singular=perturbed)], below, diagonal, above, b)
    product = diagonal[..., None] * x
    product[:, 1:] += below[:, 1:, None] * x[:, :-1]
    product[:, :-1] += above[:, :-1, None] * x[:, 1:]
    found['tridiagonal' + ' perturbed' * perturbed] = off(product, b)
w, left, right = call(lambda x: list(linalg.eig(x)), a)
found['right vectors'] = off(a @ right, right * w[..., None, :])
found['left vectors'] = off(adjoint(left) @ a, w[..., None] * adjoint(left))
t, q = call(lambda x: list(linalg.schur(x)), a)
found['schur'] = off(q @ t @ adjoint(q), a)
h, _ = call(lambda x: list(linalg.hessenberg(x)), a)
found['hessenberg'] = off(np.linalg.norm(np.triu(h, -1), axis=(-2, -1)), np.linalg.norm(a, axis=(-2, -1)))
give(found)
'''


@pytest.mark.parametrize('dtype', ['float32', 'float64', 'complex64', 'complex128'])
def test_factors_give_the_matrix(dtype):
    pytest.importorskip('scipy', reason='jaxlib asks scipy for LAPACK even to name its routines')
    found = run(f'DTYPE = {dtype!r}\n{_CODE}', TENON_JAX='off').result
    # Backward errors: a small multiple of the order, 7, times the unit of rounding.
    bound = 100 * (2.0**-52 if dtype in ('float64', 'complex128') else 2.0**-23)
    assert {name: error for name, error in found.items() if not error <= bound} == {}


_VECTORS = '''
import jax, numpy as np
rng = np.random.default_rng(0)
vectors = {}
for n in (2, 3, 5, 9, 17, 33):
    a = rng.standard_normal((8, n, n)).astype(np.float32)
    vectors[f'eigh {n}'] = jax.numpy.linalg.eigh(a, symmetrize_input=True)[1]
    vectors[f'svd {n}'] = jax.numpy.linalg.svd(a)[0]
    vectors[f'qr {n}'] = jax.numpy.linalg.qr(a)[0]
# What of a column is larger than its neighbours' errors says its sign.
give({name: np.sign(np.take_along_axis(q, np.abs(q).argmax(1, keepdims=True), 1)).astype(int).tolist() for name, q in vectors.items()})
'''


def test_vectors_have_the_signs_of_the_built_in_backend():
    assert run(_VECTORS).result == run(_VECTORS, TENON_JAX='off', JAX_PLATFORMS='cpu').result
