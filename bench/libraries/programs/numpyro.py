"""NumPyro and BlackJAX: samplers and variational inference."""
import numpy as np

from by_value import Programs

NEEDS = ('numpyro', 'blackjax', 'optax')
FACTOR = 4096.0  # Trajectories are chaotic: few steps, wide bounds.


def programs(jax):
    import blackjax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    import optax
    from numpyro.infer import HMC, MCMC, NUTS, SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoMultivariateNormal, AutoNormal
    from numpyro.infer.util import log_density

    R = np.random.RandomState(0)
    KEY = np.array([0, 5], np.uint32)
    P = Programs()
    add = P.add

    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0], np.float32)
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0], np.float32)

    def schools(sigma, y=None):
        mu = numpyro.sample('mu', dist.Normal(0, 5))
        tau = numpyro.sample('tau', dist.HalfCauchy(5))
        with numpyro.plate('J', 8):
            theta = numpyro.sample('theta', dist.TransformedDistribution(dist.Normal(0.0, 1.0), dist.transforms.AffineTransform(mu, tau)))
            numpyro.sample('obs', dist.Normal(theta, sigma), obs=y)

    def nuts(key, sigma, y):
        mcmc = MCMC(NUTS(schools), num_warmup=8, num_samples=8, progress_bar=False)
        mcmc.run(key, sigma, y)
        return mcmc.get_samples()

    add('eight_schools_nuts', nuts, KEY, sigma, y)

    x, labels = R.randn(100, 4).astype(np.float32), R.randint(0, 2, 100).astype(np.int32)

    def logistic(x, labels):
        w = numpyro.sample('w', dist.Normal(jnp.zeros(4), jnp.ones(4)).to_event(1))
        b = numpyro.sample('b', dist.StudentT(3.0, 0.0, 2.0))
        numpyro.sample('y', dist.Bernoulli(logits=x @ w + b), obs=labels)

    def hmc(key, x, labels):
        mcmc = MCMC(HMC(logistic, step_size=0.05, num_steps=10, adapt_step_size=False, adapt_mass_matrix=False), num_warmup=0, num_samples=15, num_chains=2,
                    chain_method='vectorized', progress_bar=False)
        mcmc.run(key, x, labels)
        return mcmc.get_samples()

    add('logistic_hmc', hmc, KEY, x, labels)

    def svi(key, x, labels):
        run = SVI(logistic, AutoNormal(logistic), numpyro.optim.Adam(0.01), Trace_ELBO()).run(key, 30, x, labels, progress_bar=False)
        return run.params, run.losses

    add('logistic_svi', svi, KEY, x, labels)

    def svi_full(key, x, labels):
        svi = SVI(logistic, AutoMultivariateNormal(logistic), optax.adam(0.01), Trace_ELBO(num_particles=4))
        state = svi.init(key, x, labels)
        return svi.get_params(svi.update(state, x, labels)[0])

    add('full_rank_svi_step', svi_full, KEY, x, labels)

    def forward(log_probs, log_emit, words):
        def step(a, w):
            return jax.nn.logsumexp(a[:, None] + log_probs + log_emit[:, w], 0), None
        return jax.nn.logsumexp(jax.lax.scan(step, jnp.zeros(3), words)[0])

    add('hmm_gradient', jax.grad(forward, (0, 1)), np.log(R.dirichlet(np.ones(3), 3)).astype(np.float32),
        np.log(R.dirichlet(np.ones(10), 3)).astype(np.float32), R.randint(0, 10, 60).astype(np.int32))

    def gp(x, y):
        def model():
            var = numpyro.sample('var', dist.LogNormal(0.0, 1.0))
            noise = numpyro.sample('noise', dist.LogNormal(0.0, 1.0))
            length = numpyro.sample('length', dist.LogNormal(0.0, 1.0))
            k = var * jnp.exp(-0.5 * ((x[:, None] - x[None]) / length) ** 2) + (noise + 1e-5) * jnp.eye(x.shape[0])
            numpyro.sample('y', dist.MultivariateNormal(jnp.zeros(x.shape[0]), k), obs=y)
        return jax.value_and_grad(lambda p: log_density(model, (), {}, p)[0])({'var': 1.0, 'noise': 0.5, 'length': 0.7})

    add('gp_density_gradient', gp, np.linspace(-1, 1, 40).astype(np.float32), R.randn(40).astype(np.float32))

    def draws(key):
        ks = jax.random.split(key, 16)
        return [d.sample(k, (50,)) for k, d in zip(ks, [
            dist.Beta(2.0, 3.0), dist.Gamma(2.0, 1.0), dist.Dirichlet(jnp.ones(4)), dist.MultivariateNormal(jnp.zeros(3), jnp.eye(3)),
            dist.LKJCholesky(3, 1.0), dist.Laplace(0.0, 1.0), dist.Gumbel(0.0, 1.0), dist.Weibull(1.0, 2.0), dist.TruncatedNormal(0.0, 1.0, low=-1.0),
            dist.Cauchy(0.0, 1.0), dist.VonMises(0.0, 2.0), dist.InverseGamma(3.0, 1.0)])]

    add('draws', draws, KEY)

    def discrete(key):
        ks = jax.random.split(key, 8)
        return [d.sample(k, (50,)) for k, d in zip(ks, [
            dist.Poisson(4.0), dist.Binomial(10, 0.3), dist.Categorical(jnp.ones(5) / 5), dist.Multinomial(10, jnp.ones(3) / 3), dist.Geometric(0.3),
            dist.ZeroInflatedPoisson(0.2, 3.0)])]

    add('discrete_draws', discrete, KEY)

    def target(x):
        return -((x['a'] - 1.0) ** 2) - 5.0 * jnp.sum((x['b'] - x['a'] ** 2) ** 2)

    start = {'a': np.float32(0.5), 'b': np.zeros(3, np.float32)}

    def chain(algorithm, steps):
        def run(key, position):
            def one(state, k):
                state, info = algorithm.step(k, state)
                return state, state.position
            return jax.lax.scan(one, algorithm.init(position), jax.random.split(key, steps))[1]
        return run

    add('blackjax_nuts', chain(blackjax.nuts(target, 0.1, jnp.ones(4)), 10), KEY, start)
    add('blackjax_mala', chain(blackjax.mala(target, 0.01), 50), KEY, start)
    add('blackjax_hmc', chain(blackjax.hmc(target, 0.05, jnp.ones(4), 8), 20), KEY, start)

    def warmup(key, position):
        (state, parameters), _ = blackjax.window_adaptation(blackjax.nuts, target).run(key, position, 20)
        return state.position, parameters['step_size']

    add('blackjax_warmup', warmup, KEY, start)

    def smc(key, particles):
        kernel = blackjax.adaptive_tempered_smc(lambda x: -0.5 * jnp.sum(x ** 2), lambda x: -jnp.sum((x - 2.0) ** 2), blackjax.hmc.build_kernel(),
                                                blackjax.hmc.init, {'step_size': jnp.full(1, 0.1), 'inverse_mass_matrix': jnp.ones((1, 2)),
                                                                    'num_integration_steps': jnp.full(1, 3)},
                                                blackjax.smc.resampling.systematic, 0.9, num_mcmc_steps=2)
        return kernel.step(key, kernel.init(particles))[0].particles.mean(0)

    add('blackjax_smc', smc, KEY, R.randn(64, 2).astype(np.float32))
    return P
