"""S2FFT, jaxoplanet, pyhf and JAXNS in types of 64 bits: harmonic analysis on spheres, light curves, likelihoods of counts, nested sampling."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('s2fft', 'jaxoplanet', 'pyhf', 'jaxns', 'tensorflow_probability')
X64 = True  # pyhf has it by itself, the others ask for it.
FACTOR = 16384.0


def programs(jax):
    import jax.numpy as jnp
    import pyhf
    import s2fft
    import tensorflow_probability.substrates.jax as tfp
    from jax.flatten_util import ravel_pytree
    from jaxns.model import Model
    from jaxns.priors import Prior
    from jaxoplanet.core.kepler import kepler
    from jaxoplanet.light_curves import limb_dark_light_curve
    from jaxoplanet.orbits import TransitOrbit
    from jaxoplanet.orbits.keplerian import Central, System
    from jaxoplanet.starry.surface import Surface
    from jaxoplanet.starry.light_curves import surface_light_curve
    from jaxoplanet.starry.ylm import Ylm

    R = Random(0)
    KEY = np.array([0, 29], np.uint32)
    P = Programs()
    add = P.add

    # Spheres.
    width = 12
    coefficients = (R.randn(width, 2 * width - 1) + 1j * R.randn(width, 2 * width - 1)) * (np.abs(np.arange(2 * width - 1) - width + 1)[None] <= np.arange(width)[:, None])
    for sampling in ('mw', 'dh', 'gl'):
        add('sphere_inverse_' + sampling, lambda c, sampling=sampling: s2fft.inverse_jax(c, width, sampling=sampling), coefficients)
    add('sphere_round', lambda c: s2fft.forward_jax(jnp.abs(s2fft.inverse_jax(c, width)), width), coefficients)
    add('sphere_spin', lambda c: s2fft.inverse_jax(c, width, spin=2), coefficients)
    add('sphere_gradient', jax.grad(lambda x: jnp.sum(jnp.abs(s2fft.forward_jax(x + 0j, width)) ** 4)), R.randn(width, 2 * width - 1))
    add('rotations_inverse', lambda c: s2fft.wigner.inverse_jax(c, 6, 3), R.randn(5, 6, 11) + 1j * R.randn(5, 6, 11))

    # Planets.
    times = np.linspace(-0.2, 0.2, 80)
    add('kepler', kepler, R.rand(200) * 6, R.rand(200) * 0.9)

    def transit(p, t):
        orbit = TransitOrbit(period=p[0], duration=p[1], time_transit=0.0, impact_param=p[2], radius_ratio=p[3])
        return limb_dark_light_curve(orbit, p[4:6])(t)
    planet = np.array([3.4, 0.12, 0.3, 0.1, 0.4, 0.2])
    add('transit', transit, planet, times)
    add('transit_jacobian', jax.jacfwd(transit), planet, times)
    add('transit_gradient', jax.value_and_grad(lambda p, t, y: jnp.sum((transit(p, t) - y) ** 2)), planet, times, R.randn(80) * 1e-3)

    def eccentric(p, t):
        system = System(Central(mass=1.1, radius=0.9)).add_body(period=p[0], radius=0.1, inclination=p[1], eccentricity=p[2], omega_peri=p[3], time_transit=0.0)
        return system.radial_velocity(t), limb_dark_light_curve(system, jnp.array([0.3, 0.2]))(t)
    add('eccentric_orbit', eccentric, np.array([3.4, 1.55, 0.3, 0.7]), times * 10)
    add('star_map', lambda y, t: jax.vmap(lambda t: surface_light_curve(Surface(y=Ylm.from_dense(y), u=(0.2, 0.1), inc=1.2, period=1.0), r=0.1, x=t * 4, y=0.2, z=1.0, theta=t))(t),
        np.concatenate([[1], R.randn(8) * 0.1]), times[:20])

    # Counts in bins.
    pyhf.set_backend('jax')
    simple = pyhf.simplemodels.uncorrelated_background([5.0, 8, 12, 6], [50.0, 55, 60, 40], [5.0, 6, 7, 4])
    correlated = pyhf.simplemodels.correlated_background([5.0, 8, 12], [50.0, 55, 60], [54.0, 60, 66], [46.0, 51, 55])
    observed = np.array([53.0, 65, 70, 41])
    start = np.array([1.0, 1.02, 0.97, 1.1, 0.95])
    data = np.concatenate([observed, simple.config.auxdata])
    add('counts', lambda p, d: simple.logpdf(p, d)[0], start, data)
    add('counts_gradient', jax.value_and_grad(lambda p, d: -2 * simple.logpdf(p, d)[0]), start, data)
    add('counts_hessian', jax.hessian(lambda p, d: correlated.logpdf(p, d)[0]), np.array([0.3, 1.1]), np.concatenate([observed[:3], correlated.config.auxdata]))
    add('counts_scan', lambda m, p, d: jax.vmap(lambda m: simple.logpdf(p.at[0].set(m), d)[0])(m), np.linspace(0, 3, 20), start, data)

    def fit(p, d):
        def one(i, p):
            value, slope = jax.value_and_grad(lambda p: -simple.logpdf(p, d)[0])(p)
            return p - jnp.linalg.solve(jax.hessian(lambda p: -simple.logpdf(p, d)[0])(p) + 0.1 * jnp.eye(5), slope)
        return jax.lax.fori_loop(0, 8, one, p)
    add('counts_fit', fit, start, data)

    # Nested sampling: what the loop of the sampler asks of a model.
    def line(x, y):
        intercept = Prior(tfp.distributions.Normal(jnp.zeros(()), 1.0), name='intercept').realise()
        slope = Prior(tfp.distributions.Normal(jnp.zeros(()), 2.0), name='slope').realise()
        scale = Prior(tfp.distributions.HalfNormal(0.5 * jnp.ones(())), name='scale').realise()
        return jnp.sum(tfp.distributions.Normal(intercept + slope * x, scale).log_prob(y))

    model = Model(prior_model=line)
    x = np.linspace(0, 1, 20)
    y = 0.2 + 1.4 * x + 0.1 * R.randn(20)

    def live(key, x, y):
        points = jax.vmap(lambda k: model.sample_U(k, args=(x, y)))(jax.random.split(key, 64))
        return points, jax.vmap(lambda u: (model.log_likelihood(u, args=(x, y)), model.log_prior(u, args=(x, y))))(points)
    add('live_points', live, KEY, x, y)

    def nested(key, x, y):
        """Points of least likelihood are moved by slices inside of the level of the others."""
        unravel = ravel_pytree(model.sample_U(key, args=(x, y)))[1]
        points = jax.vmap(lambda k: ravel_pytree(model.sample_U(k, args=(x, y)))[0])(jax.random.split(key, 32))

        def likelihood(u):
            return model.log_likelihood(unravel(u), args=(x, y))
        log = jax.vmap(likelihood)(points)

        def move(i, carry):
            points, log, evidence, key = carry
            worst = jnp.argmin(log)
            level = log[worst]
            evidence = jnp.logaddexp(evidence, level - i / 32 - jnp.log(32.0))
            key, pick, way, at = jax.random.split(key, 4)
            start = points[jax.random.randint(pick, (), 0, 32)]
            direction = jax.random.normal(way, start.shape, start.dtype)

            def shrink(state):
                low, high, k, _, _ = state
                k, now = jax.random.split(k)
                t = jax.random.uniform(now, (), start.dtype, low, high)
                u = start + t * direction
                value = jnp.where(jnp.all((u > 0) & (u < 1)), likelihood(jnp.clip(u, 1e-6, 1 - 1e-6)), -jnp.inf)
                return jnp.where(t < 0, t, low), jnp.where(t < 0, high, t), k, u, value
            end = jax.lax.while_loop(lambda s: s[4] <= level, shrink, (*jnp.array([-1, 1], start.dtype), at, start, jnp.full((), -jnp.inf, log.dtype)))
            return points.at[worst].set(end[3]), log.at[worst].set(end[4]), evidence, key
        points, log, evidence, _ = jax.lax.fori_loop(0, 60, move, (points, log, jnp.full((), -jnp.inf, log.dtype), key))
        return jnp.sort(log).astype(jnp.float32), evidence.astype(jnp.float32)  # Points have types of 32 bits.
    add('nested_sampling', nested, KEY, x, y)
    return P
