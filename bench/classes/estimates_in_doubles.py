"""Estimates from data in doubles: medians of pairs, tests by shuffling, robust covariances, filters, periods, modes in time and frequency."""
import numpy as np
from by_value import Programs, Random

FACTOR = 4096.0
X64 = True
R = Random(4207)
f64 = R.randn


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add

    def i64(high, *shape):
        return R.randint(0, high, shape)

    add('median_of_pairs', lambda x: jnp.median(((x[:, None] + x[None]) / 2).ravel()), f64(211))
    add('distances_from_uniform', lambda x: jnp.abs(jnp.sort(x, 1) - (jnp.arange(301) + .5) / 301).max(1), R.rand(41, 301))
    add('dependence_by_shuffling', lambda a, b, p: jax.vmap(lambda i: (a * b[i][:, i]).sum())(p), f64(61, 61), f64(61, 61),
        np.stack([R.permutation(61) for _ in range(53)]))

    def ranks(x):
        return jnp.argsort(jnp.argsort(x))
    add('rank_correlations_resampled', lambda x, y, i: jax.vmap(lambda i: jnp.corrcoef(ranks(x[i]), ranks(y[i]))[0, 1])(i), f64(101), f64(101), i64(101, 67, 101))

    def half_of_least_spread(x):
        def step(i, w):
            m = (w[:, None] * x).sum(0) / w.sum()
            c = ((x - m) * w[:, None]).T @ (x - m) / w.sum() + 1e-6 * jnp.eye(5)
            d = (jnp.linalg.solve(c, (x - m).T) * (x - m).T).sum(0)
            return (d <= jnp.sort(d)[150]).astype(float)
        return lax.fori_loop(0, 5, step, jnp.ones(301))
    add('half_of_least_spread', half_of_least_spread, f64(301, 5))

    def local_lines(x, y):
        def at(c):
            w = (1 - jnp.clip(jnp.abs(x - c) / .3, 0, 1) ** 3) ** 3
            s, sx, sxx, sy, sxy = w.sum(), (w * x).sum(), (w * x * x).sum(), (w * y).sum(), (w * x * y).sum()
            return (sy * sxx - sx * sxy + c * (s * sxy - sx * sy)) / (s * sxx - sx ** 2)
        return jax.vmap(at)(jnp.linspace(0, 1, 77))
    add('local_lines_by_sums', local_lines, R.rand(401), f64(401))

    def filtered(ys, a, h):
        def step(c, y):
            m, p = a @ c[0], a @ c[1] @ a.T + .1 * jnp.eye(12)
            s = h @ p @ h.T + jnp.eye(3)
            k = jnp.linalg.solve(s, h @ p).T
            return (m + k @ (y - h @ m), p - k @ s @ k.T), m
        return lax.scan(step, (jnp.zeros(12), jnp.eye(12)), ys)[1]
    add('filter_of_12_states', filtered, f64(100, 3), .2 * f64(12, 12), f64(3, 12))

    def forward(la, lb, y):
        return lax.scan(lambda a, y: (nn.logsumexp(a[:, None] + la, axis=0) + lb[:, y], None), lb[:, 0], y)[0]
    chain = (f64(17, 17), f64(17, 29), i64(29, 200))
    add('forward_in_logarithms', forward, *chain)
    add('forward_in_logarithms_gradient', jax.grad(lambda *a: nn.logsumexp(forward(*a)), (0, 1)), *chain)

    def periods(t, y, w):
        delay = jnp.arctan2(jnp.sin(2 * w[:, None] * t).sum(1), jnp.cos(2 * w[:, None] * t).sum(1)) / (2 * w)
        phase = w[:, None] * (t - delay[:, None])
        c, s = jnp.cos(phase), jnp.sin(phase)
        return ((y * c).sum(1) ** 2 / (c ** 2).sum(1) + (y * s).sum(1) ** 2 / (s ** 2).sum(1)) / 2
    add('periods_of_uneven_samples', periods, np.sort(R.rand(203)) * 100, f64(203), np.linspace(.1, 5, 301))

    def times_and_frequencies(x):
        lag = jnp.arange(-40, 40)

        def at(n):
            inside = (n + lag >= 0) & (n + lag < 200) & (n - lag >= 0) & (n - lag < 200)
            return jnp.where(inside, x[(n + lag) % 200] * jnp.conj(x[(n - lag) % 200]), 0)
        return jnp.fft.fft(jax.vmap(at)(jnp.arange(200))).real
    add('times_and_frequencies', times_and_frequencies, f64(200) + 1j * f64(200))

    def wavelets(x, scale):
        w = np.abs(2 * np.pi * np.fft.fftfreq(1000))
        return jnp.abs(jnp.fft.ifft(jnp.fft.fft(x) * jnp.exp(-.5 * (scale[:, None] * w - 6) ** 2)))
    add('wavelets_by_transforms', wavelets, f64(1000), np.geomspace(2, 100, 31))

    def modes(x):
        u, s, v = jnp.linalg.svd(x[:, :-1], full_matrices=False)
        return jnp.sort(jnp.abs(jnp.linalg.eigvals(u.T @ x[:, 1:] @ v.T / s)))
    add('modes_in_time', modes, f64(203, 17))
    return P
