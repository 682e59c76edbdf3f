"""jax.numpy functions that programs seldom use, at odd sizes."""
import numpy as np
from by_value import Programs, Random
R = Random(1206)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 512.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    u = lambda *s: R.rand(*s).astype(np.float32)
    add('histogram_2d_weights', lambda x, y, w: jnp.histogram2d(x, y, bins=(17, 23), range=((-3, 3), (-3, 3)), weights=w)[0], f32(3001), f32(3001), u(3001))
    add('histogram_edges', lambda x, e: (jnp.histogram(x, jnp.sort(e))[0], jnp.digitize(x, jnp.sort(e))), f32(2003), f32(29))
    add('histograms_of_rows', lambda x: jax.vmap(lambda r: jnp.histogram(r, 16, (-3., 3.))[0])(x), f32(53, 211))
    add('unwrapped_phases', lambda x: (jnp.unwrap(x, axis=0), jnp.gradient(jnp.unwrap(x, axis=1), axis=1)), f32(101, 97) * 3)
    add('percentiles_of_columns', lambda x: (jnp.percentile(x, jnp.array([2.5, 25., 50., 97.5]), axis=0), jnp.nanmedian(x, axis=1)), f32(101, 47))
    add('winsorised_zscores', lambda x: (lambda lo, hi: (lambda c: (c - c.mean(0)) / c.std(0, ddof=1))(jnp.clip(x, lo, hi)))(*jnp.quantile(x, jnp.array([.05, .95]), axis=0)), f32(211, 31))
    add('einsum_five_indices', lambda a, b, c: (jnp.einsum('abcd,bde,ace->bc', a, b, c), jnp.einsum('aabc->bc', a[:7]), jnp.einsum('abcd,bde->ace', a, b)), f32(7, 7, 11, 5), f32(7, 5, 13), f32(7, 11, 13))
    add('einsum_trace_ellipsis', lambda a, b: (jnp.einsum('...ij,...jk,...ki->...', a, b, a), jnp.einsum('nij,nkj->nik', a, b), jnp.einsum('nij,mij->nm', a, b), jnp.einsum('nii->n', a)), f32(61, 9, 9), f32(61, 9, 9))
    add('lexsorted_groups', lambda a, b, x: (lambda o: (o, jnp.cumsum(x[o]) , jnp.concatenate([jnp.ones(1, bool), (a[o][1:] != a[o][:-1]) | (b[o][1:] != b[o][:-1])])))(jnp.lexsort((x, b, a))), i32(13, 1009), i32(17, 1009), f32(1009))
    add('unique_counts_sized', lambda k, x: (lambda v, i, c: (v, c, jax.ops.segment_sum(x, i, 64)))(*(lambda r: (r[0], r[1], r[2]))(jnp.unique(k, return_inverse=True, return_counts=True, size=64, fill_value=-1))), i32(50, 1503), f32(1503))
    add('set_operations_sized', lambda a, b: (jnp.intersect1d(a, b, size=50, fill_value=-1), jnp.setdiff1d(a, b, size=200, fill_value=-1), jnp.isin(a, b), jnp.union1d(a, b, size=400, fill_value=-1)), i32(500, 301), i32(500, 203))
    add('covariances_weighted', lambda x, w: (jnp.cov(x, aweights=w), jnp.corrcoef(x), jnp.average(x, axis=1, weights=w)), f32(23, 997), u(997))
    add('apply_along_axis_fft_interp', lambda x, t: jnp.apply_along_axis(lambda r: jnp.interp(t, jnp.linspace(0, 1, 53), r) - jnp.polyval(jnp.polyfit(jnp.linspace(-1, 1, 53), r, 2), t), 0, x), f32(53, 19), u(101))
    add('piecewise_physics', lambda x: jnp.piecewise(x, [x < -1, (x >= -1) & (x < .5), x >= 2], [lambda x: jnp.exp(x), lambda x: x ** 3 - x, lambda x: jnp.log(x), lambda x: jnp.sqrt(jnp.abs(x))]), f32(5000))
    add('interp_of_rows_periodic', lambda x, xp, fp: jax.vmap(lambda fp: jnp.interp(x, xp, fp, period=6.28))(fp), f32(307) * 5, np.sort(u(41)) * 6, f32(11, 41))
    add('polyfit_with_weights_batch', lambda x, y, w: jax.vmap(lambda y: jnp.polyfit(x, y, 5, w=w))(y), np.linspace(-1, 1, 101).astype(np.float32), f32(7, 101), u(101) + .1)
    add('vander_lstsq', lambda x, y: (lambda V: jnp.linalg.lstsq(V, y)[0])(jnp.vander(x, 7)), np.linspace(-1, 1, 131).astype(np.float32), f32(131, 3))
    add('roots_by_companion_newton', lambda p, z: lax.fori_loop(0, 12, lambda i, z: z - jnp.polyval(p, z) / jnp.polyval(jnp.polyder(p), z), z), f32(8).astype(np.complex64), (f32(1000) + 1j * f32(1000)).astype(np.complex64))
    add('convolve_modes', lambda a, b: (jnp.convolve(a, b, 'full'), jnp.correlate(a, b, 'valid'), jnp.convolve(b, b)), f32(5000), f32(37))
    add('nan_statistics', lambda x: (lambda y: (jnp.nanmean(y, 0), jnp.nanstd(y, 1), jnp.nanargmax(y, 1), jnp.nancumsum(y, 0), jnp.nan_to_num(y)))(jnp.where(x > 1, jnp.nan, x)), f32(67, 103))
    add('searchsorted_rows_sorted', lambda a, v: jax.vmap(lambda a, v: jnp.searchsorted(jnp.sort(a), v, side='right'))(a, v), f32(29, 101), f32(29, 53))
    add('choose_select_take', lambda i, a, x: (lax.select_n(i, a, a * 2, -a), jnp.select([x > 1, x < -1], [a, -a], x), a[:, np.arange(101) % 3 == 0], jnp.take_along_axis(a, i[:, :1], 1)), i32(3, 53, 101), f32(53, 101), f32(53, 101))
    add('block_kron_trilled', lambda a, b: (jnp.kron(a, b), jnp.block([[a, b], [b.T, a]]), jnp.tril(a @ b, -2), jnp.fill_diagonal(a, 3., inplace=False), jnp.rot90(a, 3), jnp.trace(a, 1)), f32(19, 19), f32(19, 19))
    add('packed_bits_counts', lambda b: (jnp.packbits(b > 127, axis=1), jnp.unpackbits(b[:, :16], axis=1), jnp.bitwise_count(b), jnp.bincount(b.ravel().astype(jnp.int32), length=256)), u8(37, 101))
    add('nonzero_sized_flatnonzero', lambda x: (jnp.argwhere(x > 1.5, size=200, fill_value=-1), jnp.flatnonzero(x < -2, size=50, fill_value=0), jnp.where(x > 2, size=40, fill_value=0)), f32(61, 67))
    add('image_resizes', lambda x: (jax.image.resize(x, (3, 47, 31, 3), 'cubic'), jax.image.resize(x, (3, 17, 19, 3), 'lanczos3'), jax.image.scale_and_translate(x, (3, 40, 40, 3), (1, 2), jnp.array([1.3, .9]), jnp.array([2., -1.5]), 'linear')), f32(3, 33, 29, 3))
    add('image_resize_bytes', lambda x: jnp.clip(jnp.round(jax.image.resize(x.astype(jnp.float32), (2, 50, 50, 3), 'bilinear')), 0, 255).astype(jnp.uint8), u8(2, 73, 71, 3))
    add('nn_odds', lambda x, k: (jax.nn.sparsemax(x) if hasattr(jax.nn, 'sparsemax') else jax.nn.celu(x), jax.nn.log_sigmoid(x), jax.nn.standardize(x, 0), jax.nn.glu(x[:, :100]), jax.nn.squareplus(x), jax.nn.hard_swish(x), jax.nn.one_hot(k, 11) @ x[:11], jax.nn.logmeanexp(x, 0) if hasattr(jax.nn, 'logmeanexp') else x), f32(103, 101), i32(11, 103))
    return P
