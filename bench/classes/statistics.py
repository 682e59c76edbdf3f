"""Statistics as they are taught: tests, intervals, fits and densities over a few thousand numbers, special functions in their gradients."""


def programs(jax):
    import numpy as np
    jnp, lax, random = jax.numpy, jax.lax, jax.random
    special, stats = jax.scipy.special, jax.scipy.stats

    def normal(*shape, dtype=np.float32):
        return lambda: np.random.RandomState(sum(shape)).standard_normal(shape).astype(dtype)

    def positive(*shape, dtype=np.float32):
        return lambda: np.random.RandomState(sum(shape) + 1).gamma(2.0, 1.0, shape).astype(dtype)

    def unit(*shape, dtype=np.float32):
        return lambda: np.random.RandomState(sum(shape) + 2).uniform(0.02, 0.98, shape).astype(dtype)

    def counts(most, *shape):
        return lambda: np.random.RandomState(sum(shape) + 3).randint(0, most, shape).astype(np.int32)

    def key():
        return jax.random.PRNGKey(7)

    def gamma_fit(x):
        def loss(p):
            a, b = jnp.exp(p)
            return -jnp.mean(a * jnp.log(b) - special.gammaln(a) + (a - 1) * jnp.log(x) - b * x)

        def newton(p, _):
            return p - jnp.linalg.solve(jax.hessian(loss)(p), jax.grad(loss)(p)), None
        return lax.scan(newton, jnp.zeros(2), None, 8)[0]

    def student_mixture(p, x):
        def density(p):
            parts = stats.t.logpdf(x[:, None], jnp.exp(p['nu']) + 1, p['at'], jnp.exp(p['scale']))
            return jnp.mean(special.logsumexp(parts + jax.nn.log_softmax(p['weight']), axis=1))
        return jax.value_and_grad(density)(p)

    def rank_correlation(x, y):
        def ranks(v):
            return jnp.argsort(jnp.argsort(v)).astype(jnp.float32)
        return jnp.corrcoef(ranks(x), ranks(y))[0, 1]

    def concordant_pairs(x, y):
        signs = jnp.sign(x[:, None] - x) * jnp.sign(y[:, None] - y)
        return jnp.sum(signs) / (x.size * (x.size - 1))

    def two_samples(x, y):
        everything = jnp.sort(jnp.concatenate([x, y]))

        def below(v):
            return jnp.searchsorted(jnp.sort(v), everything, side='right') / v.size
        return jnp.max(jnp.abs(below(x) - below(y)))

    def permutation_test(key, x, y):
        both = jnp.concatenate([x, y])

        def difference(k):
            moved = random.permutation(k, both)
            return moved[:x.size].mean() - moved[x.size:].mean()
        return jnp.mean(jnp.abs(jax.vmap(difference)(random.split(key, 150))) >= jnp.abs(x.mean() - y.mean()))

    def resampled_medians(key, x):
        draws = random.choice(key, x, (300, x.size))
        return jnp.percentile(jnp.median(draws, axis=1), jnp.array([2.5, 97.5]))

    def density_on_a_grid(x, at):
        width = 1.06 * x.std() * x.size ** -0.2
        return stats.gaussian_kde(x, bw_method=0.2)(at) + jnp.exp(-0.5 * ((at[:, None] - x) / width) ** 2).mean(1)

    def moments(x):
        d = x - x.mean(0)
        s = x.std(0)
        return (d ** 3).mean(0) / s ** 3, (d ** 4).mean(0) / s ** 4

    def contingency(a, b):
        table = jnp.zeros((13, 11)).at[a, b].add(1)
        wanted = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
        x = jnp.sum((table - wanted) ** 2 / wanted)
        return x, special.gammaincc(60.0, x / 2)

    def intervals(k, n):
        k = k.astype(jnp.float32)

        def bisect(tail):
            lo, hi = jnp.zeros_like(k), jnp.ones_like(k)

            def step(_, c):
                lo, hi = c
                mid = (lo + hi) / 2
                inside = special.betainc(k + 1, n - k + 1, mid) < tail
                return jnp.where(inside, mid, lo), jnp.where(inside, hi, mid)
            return lax.fori_loop(0, 20, step, (lo, hi))[0]
        return bisect(0.025), bisect(0.975)

    def ridge_path(x, y):
        u, s, vt = jnp.linalg.svd(x, full_matrices=False)
        strengths = jnp.geomspace(1e-3, 1e3, 41)
        return ((s / (s ** 2 + strengths[:, None])) * (u.T @ y)) @ vt

    def logistic_by_weights(x, y):
        def step(w, _):
            p = jax.nn.sigmoid(x @ w)
            v = p * (1 - p) + 1e-6
            return w + jnp.linalg.solve(x.T @ (v[:, None] * x) + 1e-3 * jnp.eye(x.shape[1]), x.T @ (y - p)), None
        return lax.scan(step, jnp.zeros(x.shape[1]), None, 7)[0]

    def local_regression(x, y, at):
        def one(t):
            d = jnp.abs(x - t)
            w = jnp.maximum(1 - (d / jnp.sort(d)[90]) ** 3, 0) ** 3
            a = jnp.stack([jnp.ones_like(x), x - t], 1)
            return jnp.linalg.solve((a.T * w) @ a, (a.T * w) @ y)[0]
        return jax.vmap(one)(at)

    def isotonic(y):
        n = y.size
        sums = jnp.concatenate([jnp.zeros(1), jnp.cumsum(y)])
        length = jnp.arange(n)[None, :] - jnp.arange(n)[:, None] + 1
        means = jnp.where(length > 0, (sums[1:][None, :] - sums[:-1][:, None]) / jnp.maximum(length, 1), jnp.inf)
        return lax.cummax(jnp.min(jnp.where(length > 0, means, jnp.inf), axis=1))

    def moving_statistics(x):
        s = jnp.concatenate([jnp.zeros(1), jnp.cumsum(x)])
        q = jnp.concatenate([jnp.zeros(1), jnp.cumsum(x * x)])
        n = 37
        mean = (s[n:] - s[:-n]) / n
        return mean, jnp.sqrt(jnp.maximum((q[n:] - q[:-n]) / n - mean ** 2, 0)), jax.vmap(
            lambda i: jnp.median(lax.dynamic_slice(x, (i,), (n,))))(jnp.arange(0, x.size - n, 3))

    def dirichlet_likelihood(a, x):
        return jax.grad(lambda a: jnp.sum(stats.dirichlet.logpdf(x.T, jnp.exp(a))))(a)

    def negative_binomial(p, x, k):
        def loss(p):
            mean, r = jnp.exp(x @ p['w']), jnp.exp(p['r'])
            return -jnp.mean(special.gammaln(k + r) - special.gammaln(r) - special.gammaln(k + 1.0) +
                             r * jnp.log(r / (r + mean)) + k * jnp.log(mean / (r + mean)))
        return jax.value_and_grad(loss)(p)

    def scores_of_quantiles(p, x, y):
        def loss(w):
            d = y[:, None] - x @ w
            q = jnp.arange(1, 10) / 10
            return jnp.mean(jnp.maximum(q * d, (q - 1) * d))
        return lax.fori_loop(0, 15, lambda _, w: w - 0.3 * jax.grad(loss)(w), p)

    def distance_correlation(x, y):
        def centred(v):
            d = jnp.sqrt(jnp.sum((v[:, None] - v) ** 2, -1) + 1e-12)
            return d - d.mean(0) - d.mean(1, keepdims=True) + d.mean()
        a, b = centred(x), centred(y)
        return (a * b).mean() / jnp.sqrt((a * a).mean() * (b * b).mean())

    def truncated(u, a, b):
        lo, hi = special.ndtr(a), special.ndtr(b)
        return special.ndtri(lo + u * (hi - lo))

    def periodogram(t, y, f):
        p = 2 * jnp.pi * f[:, None] * t
        c, s = jnp.cos(p), jnp.sin(p)
        return (c @ y) ** 2 / (c * c).sum(1) + (s @ y) ** 2 / (s * s).sum(1)

    mixture = dict(nu=np.ones(5, np.float32), at=np.linspace(-2, 2, 5).astype(np.float32), scale=np.zeros(5, np.float32), weight=np.zeros(5, np.float32))
    counted = dict(w=np.zeros(9, np.float32), r=np.float32(0.3))
    return {
        'gamma_by_newton': (gamma_fit, [positive(3001)]),
        'student_mixture': (student_mixture, [lambda: mixture, normal(1777)]),
        'rank_correlation': (rank_correlation, [normal(2311), unit(2311)]),
        'concordant_pairs': (concordant_pairs, [normal(701), unit(701)]),
        'two_samples': (two_samples, [normal(1501), normal(1303)]),
        'permutation_test': (permutation_test, [key, normal(61), normal(47)]),
        'resampled_medians': (resampled_medians, [key, normal(101)]),
        'density_on_a_grid': (density_on_a_grid, [normal(1009), normal(203)]),
        'moments': (moments, [normal(5003, 7)]),
        'contingency': (contingency, [counts(13, 20011), counts(11, 20011)]),
        'exact_intervals': (lambda k: intervals(k, 60.0), [counts(50, 77)]),
        'ridge_path': (ridge_path, [normal(211, 24), normal(211)]),
        'logistic_by_weights': (logistic_by_weights, [normal(1999, 11), lambda: np.random.RandomState(5).randint(0, 2, 1999).astype(np.float32)]),
        'local_regression': (local_regression, [unit(301), normal(301), unit(45)]),
        'isotonic': (isotonic, [normal(301)]),
        'moving_statistics': (moving_statistics, [normal(2003)]),
        'dirichlet_gradient': (dirichlet_likelihood, [normal(7), lambda: np.random.RandomState(4).dirichlet(np.ones(7), 911).astype(np.float32)]),
        'negative_binomial': (negative_binomial, [lambda: counted, normal(2503, 9), counts(9, 2503)]),
        'quantile_regression': (scores_of_quantiles, [lambda: np.zeros((6, 9), np.float32), normal(1501, 6), normal(1501)]),
        'distance_correlation': (distance_correlation, [normal(303, 3), normal(303, 2)]),
        'truncated_normals': (truncated, [unit(4099), lambda: np.float32(-1.5), lambda: np.float32(0.7)]),
        'uneven_periodogram': (periodogram, [unit(403), normal(403), unit(257)]),
    }
