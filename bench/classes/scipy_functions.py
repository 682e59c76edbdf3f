"""jax.scipy: stats, special, signal, ndimage, optimize, sparse.linalg, interpolate, spatial."""
import numpy as np
from by_value import Programs, Random
R = Random(1205)
f32, i32 = R.f32, R.i32
FACTOR = 1024.0

def programs(jax):
    import jax.numpy as jnp
    import jax.scipy as jsp
    import jax.scipy.optimize, jax.scipy.signal, jax.scipy.ndimage, jax.scipy.cluster.vq, jax.scipy.sparse.linalg, jax.scipy.integrate
    from jax.scipy.spatial.transform import Rotation, Slerp
    from jax.scipy.interpolate import RegularGridInterpolator
    P = Programs(); add = P.add
    u = lambda *s: (R.rand(*s) * .98 + .01).astype(np.float32)
    add('rotations_composed_logs', lambda q, v: (lambda r: ((r * r.inv() * Rotation.from_rotvec(v)).as_rotvec(), r.as_euler('xyz'), r.magnitude(), r.mean().as_quat()))(Rotation.from_quat(q)), f32(1009, 4), f32(1009, 3) * .3)
    add('rotations_apply_gradient', lambda w, x, y: jax.grad(lambda w: jnp.sum((Rotation.from_rotvec(w).apply(x) - y) ** 2))(w), f32(701, 3) * .5, f32(701, 3), f32(701, 3))
    add('slerp_between_keys', lambda t, q: Slerp.init(jnp.linspace(0, 1, 13), Rotation.from_quat(q))(t).as_matrix(), np.sort(u(500)), f32(13, 4))
    add('grid_interpolated_3d', lambda x, a: RegularGridInterpolator((jnp.linspace(0, 1, 11), jnp.linspace(0, 1, 13), jnp.linspace(0, 1, 17)), a)(x), u(2003, 3), f32(11, 13, 17))
    add('grid_interpolated_3d_gradient', lambda x, a: jax.grad(lambda x, a: jnp.sum(RegularGridInterpolator((jnp.linspace(0, 1, 11), jnp.linspace(0, 1, 13), jnp.linspace(0, 1, 17)), a)(x) ** 2), (0, 1))(x, a), u(503, 3), f32(11, 13, 17))
    add('map_coordinates_rotated', lambda im, t: (lambda yx: jsp.ndimage.map_coordinates(im, [yx[0], yx[1]], order=1, mode='mirror'))(jnp.stack([jnp.cos(t) * jnp.arange(67)[:, None] - jnp.sin(t) * jnp.arange(71), jnp.sin(t) * jnp.arange(67)[:, None] + jnp.cos(t) * jnp.arange(71)])), f32(67, 71), np.float32(.3))
    add('map_coordinates_volume_gradient', lambda v, c: jax.grad(lambda c: jnp.sum(jsp.ndimage.map_coordinates(v, c, order=1, mode='nearest') ** 2))(c), f32(15, 16, 17), u(3, 1501) * 14)
    add('bfgs_minimise_rosen', lambda x: jsp.optimize.minimize(lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), x, method='BFGS', options=dict(maxiter=25)).x, f32(11) * .2 + .6)
    add('bicgstab_nonsymmetric', lambda d, b: jsp.sparse.linalg.bicgstab(lambda v: (4 + d) * v - jnp.roll(v, 1) - .7 * jnp.roll(v, -1) - .5 * jnp.roll(v, 31), b, maxiter=20, tol=1e-4)[0], u(1000), f32(1000))
    add('gmres_batched_convection', lambda d, b: jsp.sparse.linalg.gmres(lambda v: (3 + d) * v - jnp.roll(v, 1) - .3 * jnp.roll(v, -1), b, restart=12, maxiter=2, solve_method='incremental', tol=1e-6)[0], u(600), f32(600))
    add('kde_2d_logpdf', lambda x, y, w: jsp.stats.gaussian_kde(x, weights=w).logpdf(y), f32(2, 211), f32(2, 300), u(211))
    add('special_betainc_gammainc', lambda a, b, x: (jsp.special.betainc(a, b, x), jsp.special.gammainc(a * 3, b * 4), jsp.special.gammaincc(b, a)), u(700) * 5, u(700) * 3, u(700))
    add('special_bessel_zeta', lambda x: (jsp.special.i0e(x), jsp.special.i1(x), jsp.special.zeta(1.5 + jnp.abs(x), 1.), jsp.special.polygamma(1, jnp.abs(x) + .5), jsp.special.expi(x), jsp.special.ndtri(jax.nn.sigmoid(x)), jsp.special.erfcx(x) if hasattr(jsp.special, 'erfcx') else jsp.special.log_ndtr(x)), f32(777) * 2)
    add('hypergeometric_and_spherical', lambda x: (jsp.special.hyp1f1(1.5, 2.5, x), jsp.special.sici(x * 3)[0] if hasattr(jsp.special, 'sici') else jsp.special.spence(jnp.abs(x)), jsp.special.expn(3, jnp.abs(x))), f32(300))
    add('stats_many_densities', lambda x, a, b: sum([jsp.stats.beta.logpdf(a, 2 + b, 3.), jsp.stats.gamma.logcdf(a * 4, 2 + b), jsp.stats.t.logpdf(x, 3 + b), jsp.stats.vonmises.logpdf(x, 1 + b), jsp.stats.truncnorm.logpdf(a, -1., 2., b, 1.), jsp.stats.gennorm.logpdf(x, 1 + b), jsp.stats.wrapcauchy.logpdf(a, .3), jsp.stats.nbinom.logpmf(jnp.floor(a * 9), 4, .3), jsp.stats.betabinom.logpmf(jnp.floor(a * 9), 10, 1 + b, 2.)]), f32(1500), u(1500), u(1500))
    add('rankdata_mode_sem', lambda x, k: (jsp.stats.rankdata(x, axis=1), jsp.stats.mode(k, axis=0).mode, jsp.stats.sem(x, axis=1)), f32(31, 97), i32(9, 97, 13))
    add('welch_csd_coherence', lambda x, y: (lambda a, b, c: jnp.abs(c[1]) ** 2 / (a[1] * b[1]))(jsp.signal.welch(x, nperseg=100), jsp.signal.welch(y, nperseg=100), jsp.signal.csd(x, y, nperseg=100)), f32(3, 5000), f32(3, 5000))
    add('stft_mask_istft', lambda x: (lambda z: jsp.signal.istft(jnp.where(jnp.abs(z) > jnp.median(jnp.abs(z)), z, 0), nperseg=128)[1])(jsp.signal.stft(x, nperseg=128)[2]), f32(4096))
    add('savgol_detrend_correlate', lambda x, k: (jsp.signal.detrend(x, axis=1), jsp.signal.correlate(x[0], k, 'same'), jsp.signal.convolve2d(x, x[:5, :7], 'valid'), jsp.signal.fftconvolve(x, x[:, ::-1], axes=1)), f32(23, 307), f32(31))
    add('expm_frechet_batch', lambda a, e: jax.vmap(lambda a, e: jax.jvp(jsp.linalg.expm, (a,), (e,)))(a, e), f32(6, 9, 9) * .4, f32(6, 9, 9) * .4)
    add('sylvester_polar_sqrtm', lambda a, b: (jsp.linalg.polar(a)[0], jsp.linalg.block_diag(a, b), jsp.linalg.toeplitz(a[0], b[0]), jsp.linalg.hilbert(19) @ a), f32(19, 19), f32(19, 19))
    add('trapezoid_simpson', lambda y, x: (jsp.integrate.trapezoid(y, jnp.sort(x), axis=0), jnp.cumsum(.5 * (y[1:] + y[:-1]) * jnp.diff(jnp.sort(x))[:, None], 0)), f32(101, 53), f32(101))
    add('cluster_vq_kmeans', lambda x, c: jax.lax.fori_loop(0, 6, lambda i, c: (lambda k: jax.ops.segment_sum(x, k, 9) / (1e-3 + jax.ops.segment_sum(jnp.ones(x.shape[0]), k, 9))[:, None])(jsp.cluster.vq.vq(x, c)[0]), c), f32(403, 7), f32(9, 7))
    add('poisson_regression_newton', lambda X, y: jax.lax.fori_loop(0, 6, lambda i, b: b + jsp.linalg.solve(X.T @ (X * jnp.exp(X @ b)[:, None]) + .1 * jnp.eye(8), X.T @ (y - jnp.exp(X @ b)), assume_a='pos'), jnp.zeros(8)), f32(301, 8) * .3, i32(5, 301).astype(np.float32))
    return P
