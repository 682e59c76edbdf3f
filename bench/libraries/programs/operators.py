"""Matfree, folx, CoLA and quadax: matrices by their products, Laplacians by forward mode, operators of structure, adaptive integrals."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('matfree', 'folx', 'cola', 'quadax')
FACTOR = 1024.0


def programs(jax):
    import cola
    import folx
    import jax.numpy as jnp
    import quadax
    from matfree import decomp, eig, funm, low_rank, lstsq, stochtrace

    R = Random(0)
    KEY = np.array([0, 31], np.uint32)
    P = Programs()
    add = P.add
    f32 = R.f32

    def symmetric(n, low=0.5, high=8.0):
        q = np.linalg.qr(R.randn(n, n))[0]
        return (q * np.linspace(low, high, n) @ q.T).astype(np.float32)

    # Matrices by their products.
    A, B, v = symmetric(96), f32(120, 64) * 0.1, f32(96)
    product = lambda x, p: p @ x
    add('lanczos', lambda v, a: decomp.tridiag_sym(12)(product, v, a)[1], v, A)
    add('lanczos_without_reorthogonalization', lambda v, a: decomp.tridiag_sym(8, reortho='none')(product, v, a)[1], v, A)
    add('lanczos_gradient', jax.grad(lambda a, v: jnp.sum(decomp.tridiag_sym(10)(product, v, a)[1] ** 2)), A, v)
    add('arnoldi_gradient', jax.grad(lambda a, v: jnp.sum(decomp.hessenberg(10, reortho='full')(product, v, a)[1] ** 2)), A + 0.1 * f32(96, 96), v)
    add('bidiagonalization', lambda v, b: decomp.bidiag(10)(product, v, b)[1], f32(64), B)
    add('partial_singular_values', lambda v, b: eig.svd_partial(decomp.bidiag(10))(product, v, b)[1], f32(64), B)
    add('partial_eigenvalues', lambda v, a: eig.eigh_partial(decomp.tridiag_sym(12))(product, v, a)[0], v, A)
    add('exponential_of_matrix', lambda v, a: funm.funm_lanczos_sym(funm.dense_funm_sym_eigh(lambda x: jnp.exp(-x)), decomp.tridiag_sym(12))(product, v, a), v, A)
    add('exponential_arnoldi', lambda v, a: funm.funm_arnoldi(funm.dense_funm_pade_exp(), decomp.hessenberg(12, reortho='full'))(product, v, -a), v, A)
    add('chebyshev', lambda v, a: funm.funm_chebyshev(lambda x: jnp.sin(3 * x), 20, product)(v, a), v, (A - 4.25 * np.eye(96, dtype=np.float32)) / 4)

    def logdet(a, key):
        estimate = stochtrace.estimator_monte_carlo(funm.monte_carlo_funm_sym_logdet(decomp.tridiag_sym(8)), stochtrace.sampler_normal(jnp.zeros(96), num=12))
        return estimate(product, key, a)
    add('logdet', logdet, A, KEY)
    add('logdet_gradient', jax.value_and_grad(logdet), A, KEY)
    signs, normal = stochtrace.sampler_signs(jnp.zeros(96), num=64), stochtrace.sampler_normal(jnp.zeros(96), num=16)
    add('trace_and_diagonal', lambda a, key: stochtrace.estimator_monte_carlo(stochtrace.monte_carlo_trace_and_diagonal(), signs)(product, key, a), A, KEY)
    add('trace_left_out', lambda a, key: stochtrace.estimator_leave_one_out(stochtrace.leave_one_out_xtrace(), normal)(product, key, a), A, KEY)
    add('least_squares', lambda b, y: lstsq.lsmr(maxiter=30, atol=0.0, btol=0.0, ctol=0.0)(lambda u, b: b.T @ u, y, b)[0], B + np.eye(120, 64, dtype=np.float32), f32(120))
    x = f32(80, 3)

    def kernel(i, j, x):
        return jnp.exp(-0.5 * jnp.sum((x[i] - x[j]) ** 2))
    add('partial_cholesky', lambda x: low_rank.cholesky_partial(kernel, nrows=80, rank=12)(x)[0], x)
    add('partial_cholesky_pivot', lambda x: low_rank.cholesky_partial_pivot(kernel, nrows=80, rank=12)(x)[0], x)

    def process(p, x, y, key):
        """A Gaussian process' likelihood without its factor."""
        def apply(v, p):
            d = jnp.sum((x[:, None] - x[None]) ** 2, -1)
            return jnp.exp(p[0]) * jnp.exp(-d * jnp.exp(p[1])) @ v + jnp.exp(p[2]) * v
        estimate = stochtrace.estimator_monte_carlo(funm.monte_carlo_funm_sym_logdet(decomp.tridiag_sym(8)), stochtrace.sampler_normal(jnp.zeros(80), num=6))
        solved = jax.scipy.sparse.linalg.cg(lambda v: apply(v, p), y, maxiter=20, tol=0.0)[0]
        return 0.5 * y @ solved + 0.5 * estimate(apply, key, p)
    add('process_gradient', jax.value_and_grad(process), np.array([0.1, -0.5, 0.0], np.float32), x, f32(80), KEY)

    # Laplacians of wave functions.
    weights = [(R.weights(4, 24), f32(24) * 0.1), (R.weights(48, 24), f32(24) * 0.1), (R.weights(48, 24), f32(24) * 0.1)]
    orbitals = R.weights(24, 6)

    def wave_function(w, orbitals, r):
        r = r.reshape(-1, 3)
        h = jnp.concatenate([r, jnp.linalg.norm(r, axis=-1, keepdims=True)], -1)
        for i, (k, b) in enumerate(w):
            h = h if i == 0 else jnp.concatenate([h, jnp.broadcast_to(h.mean(0), h.shape)], -1)
            h = jnp.tanh(h @ k + b)
        envelope = jnp.exp(-jnp.linalg.norm(r, axis=-1, keepdims=True))
        return jnp.linalg.slogdet(h @ orbitals * envelope)[1]

    def kinetic(operator):
        def run(w, o, r):
            laplacian, gradient = operator(lambda r: wave_function(w, o, r))(r)
            return -0.5 * (laplacian + jnp.sum(gradient ** 2))
        return run
    walkers = f32(8, 18)
    add('laplacian_forward', jax.vmap(kinetic(folx.ForwardLaplacianOperator(0)), (None, None, 0)), weights, orbitals, walkers)
    add('laplacian_forward_sparse', jax.vmap(kinetic(folx.ForwardLaplacianOperator(6)), (None, None, 0)), weights, orbitals, walkers)
    add('laplacian_loop', jax.vmap(kinetic(folx.LoopLaplacianOperator()), (None, None, 0)), weights, orbitals, walkers)
    add('laplacian_parallel', jax.vmap(kinetic(folx.ParallelLaplacianOperator()), (None, None, 0)), weights, orbitals, walkers)
    add('laplacian_batched', folx.batched_vmap(kinetic(folx.ForwardLaplacianOperator(0)), max_batch_size=4, in_axes=(None, None, 0)), weights, orbitals, walkers)

    def energy_gradient(w, o, r):
        energy = jax.vmap(kinetic(folx.ForwardLaplacianOperator(0)), (None, None, 0))(w, o, r) - 0.5 * jnp.sum(1 / jnp.linalg.norm(r.reshape(-1, 6, 3), axis=-1), -1)
        energy = energy - energy.mean()
        return jax.grad(lambda w: jnp.mean(jax.lax.stop_gradient(energy) * jax.vmap(wave_function, (None, None, 0))(w, o, r)))(w)
    add('wave_function_gradient', energy_gradient, weights, orbitals, walkers)

    def metropolis(w, o, r, key):
        batch = jax.vmap(wave_function, (None, None, 0))

        def one(carry, key):
            r, log = carry
            move, accept = jax.random.split(key)
            new = r + 0.2 * jax.random.normal(move, r.shape)
            fresh = batch(w, o, new)
            yes = jnp.log(jax.random.uniform(accept, log.shape)) < 2 * (fresh - log)
            return (jnp.where(yes[:, None], new, r), jnp.where(yes, fresh, log)), yes.mean()
        return jax.lax.scan(one, (r, batch(w, o, r)), jax.random.split(key, 10))
    add('wave_function_walk', metropolis, weights, orbitals, walkers, KEY)

    # Operators of structure.
    K1, K2 = symmetric(10), symmetric(12)
    y = f32(120)
    dense = cola.ops.Dense
    add('kronecker_solve', lambda a, b, y: cola.linalg.solve(cola.PSD(cola.ops.Kronecker(dense(a), dense(b))), y), K1, K2, y)
    add('kronecker_conjugate_gradients', lambda a, b, y: cola.linalg.inv(cola.PSD(cola.ops.KronSum(dense(a), dense(b))), cola.linalg.CG(max_iters=25, tol=1e-6)) @ y, K1, K2, y)
    add('conjugate_gradients', lambda a, y: cola.linalg.inv(cola.PSD(dense(a)), cola.linalg.CG(max_iters=20, tol=1e-7)) @ y, A, f32(96, 4))
    add('logdet_cholesky', jax.value_and_grad(lambda a: cola.linalg.logdet(cola.PSD(dense(a)), cola.linalg.Cholesky(), cola.linalg.Exact())), A)
    add('tridiagonal_product', lambda a, b, c, y: cola.ops.Tridiagonal(a, b, c) @ y, f32(95, 1), f32(96, 1), f32(95, 1), f32(96, 4))
    add('block_solve', lambda a, b, y: cola.linalg.solve(cola.ops.BlockDiag(cola.PSD(dense(a)), cola.PSD(dense(b))), y), K1, K2, f32(22))
    add('hessian_product', lambda p, v: cola.ops.Hessian(lambda p: jnp.sum(jnp.tanh(A @ p) ** 2), p) @ v, v, f32(96, 5))
    add('power_iteration', lambda a: cola.linalg.eigmax(cola.PSD(dense(a)), cola.linalg.PowerIteration(max_iter=40, tol=0.0, key=jax.random.wrap_key_data(KEY))), A)

    # Adaptive integrals.
    p = np.array([1.3, 0.4, 2.0], np.float32)
    peak = lambda x, p: jnp.exp(-p[0] * x ** 2) * jnp.cos(p[2] * x) + 1 / (p[1] + x ** 2)
    tight = {'epsabs': 1e-5, 'epsrel': 1e-5}
    for name, rule in (('gauss_kronrod', quadax.quadgk), ('clenshaw_curtis', quadax.quadcc), ('tanh_sinh', quadax.quadts)):
        add('integral_' + name, lambda p, rule=rule: rule(peak, [-3.0, 4.0], args=(p,), **tight)[0], p)
    add('integral_infinite', lambda p: quadax.quadgk(peak, [0.0, jnp.inf], args=(p,), **tight)[0], p)
    add('integral_romberg', lambda p: quadax.romberg(peak, [-1.0, 2.0], args=(p,), divmax=12, **tight)[0], p)
    add('integral_batch', lambda p: jax.vmap(lambda p: quadax.quadgk(peak, [-3.0, 4.0], args=(p,), **tight)[0])(p), np.abs(f32(16, 3)) + np.float32(0.3))
    add('integral_gradient', jax.value_and_grad(lambda p: quadax.quadgk(peak, [-3.0, 4.0], args=(p,), adjoint=quadax.LeibnizAdjoint(), **tight)[0]), p)
    add('integral_jacobian', jax.jacfwd(lambda p: quadax.quadgk(peak, [-3.0, 4.0], args=(p,), **tight)[0]), p)
    hill = lambda x, p: jnp.exp(-p[0] * jnp.sum(x ** 2)) * jnp.cos(p[2] * x[0])
    add('cubature', lambda p: quadax.cubegm(hill, [[-1.0, 1.0], [0.0, 2.0]], args=(p,), epsabs=1e-4, epsrel=1e-4, max_nregion=200)[0], p)
    samples = np.linspace(0, 3, 257).astype(np.float32)
    add('integral_cumulative', lambda x, y: (quadax.cumulative_simpson(y, x=x), quadax.simpson(y, x=x)), samples, np.sin(samples))
    return P
