"""TensorFlow Probability on JAX, and Distrax: distributions, bijectors, samplers, state-space models."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('tensorflow_probability', 'distrax')
FACTOR = 4096.0


def programs(jax):
    import distrax
    import jax.numpy as jnp
    from tensorflow_probability.substrates import jax as tfp

    tfd, tfb = tfp.distributions, tfp.bijectors
    R = Random(0)
    KEY = np.array([0, 5], np.uint32)
    P = Programs()
    add = P.add
    f32 = R.f32

    def model(x):
        return tfd.JointDistributionSequential([
            tfd.Normal(0.0, 1.0), tfd.Gamma(2.0, 2.0), lambda s, m: tfd.Independent(tfd.Normal(m + 0 * x, s), 1)])

    def hmc(key, x, y):
        joint = model(x)
        kernel = tfp.mcmc.TransformedTransitionKernel(
            tfp.mcmc.HamiltonianMonteCarlo(lambda m, s: joint.log_prob(m, s, y), step_size=0.05, num_leapfrog_steps=5), [tfb.Identity(), tfb.Exp()])
        return tfp.mcmc.sample_chain(15, [jnp.float32(0.1), jnp.float32(1.0)], kernel=kernel, trace_fn=None, seed=key)

    add('joint_hmc', hmc, KEY, f32(30), f32(30))

    def nuts(key):
        kernel = tfp.mcmc.DualAveragingStepSizeAdaptation(tfp.mcmc.NoUTurnSampler(
            lambda x: tfd.MultivariateNormalTriL(jnp.zeros(3), jnp.eye(3)).log_prob(x), step_size=0.3, max_tree_depth=4), 4)
        return tfp.mcmc.sample_chain(6, jnp.ones((2, 3)), kernel=kernel, trace_fn=None, seed=key)

    add('nuts_dual_averaging', nuts, KEY)
    cdf = [tfd.Beta(2.0, 3.0), tfd.Gamma(2.0, 1.5), tfd.StudentT(3.0, 0.0, 1.0), tfd.Normal(0.0, 1.0), tfd.Laplace(0.0, 1.0), tfd.Gumbel(0.0, 1.0),
           tfd.Weibull(1.5, 1.0), tfd.Kumaraswamy(2.0, 3.0), tfd.Logistic(0.0, 1.0)]
    add('cdfs', lambda x: [d.cdf(x) for d in cdf], R.rand(100).astype(np.float32) * 0.98 + 0.01)
    add('log_densities', lambda x: [d.log_prob(x) for d in cdf], R.rand(100).astype(np.float32) * 0.98 + 0.01)
    add('quantiles', lambda x: [d.quantile(x) for d in (tfd.Normal(0.0, 1.0), tfd.Laplace(0.0, 1.0), tfd.Logistic(0.0, 1.0), tfd.Weibull(1.5, 1.0))],
        R.rand(100).astype(np.float32) * 0.98 + 0.01)
    math = tfp.math
    add('special_functions', lambda x: [math.bessel_iv_ratio(1.5, x), math.log_bessel_kve(0.5, x), math.lambertw(x), math.erfcx(x), math.igammainv(2.0, x / 4),
                                        math.owens_t(x, 0.5), math.lbeta(x, 2.0), math.log_gamma_correction(x + 9), math.betaincinv(2.0, 3.0, x / 4)],
        R.rand(64).astype(np.float32) * 3 + 0.1)

    def kalman(y):
        d = tfd.LinearGaussianStateSpaceModel(
            num_timesteps=50, transition_matrix=jnp.array([[1.0, 1.0], [0.0, 1.0]]), transition_noise=tfd.MultivariateNormalDiag(scale_diag=jnp.full(2, 0.1)),
            observation_matrix=jnp.array([[1.0, 0.0]]), observation_noise=tfd.MultivariateNormalDiag(scale_diag=jnp.ones(1)),
            initial_state_prior=tfd.MultivariateNormalDiag(scale_diag=jnp.ones(2)))
        return d.log_prob(y), d.posterior_marginals(y)

    add('kalman_smoother', kalman, f32(50, 1))

    def hidden(y):
        d = tfd.HiddenMarkovModel(tfd.Categorical(probs=[0.8, 0.2]), tfd.Categorical(probs=[[0.7, 0.3], [0.2, 0.8]]), tfd.Normal([0.0, 3.0], [1.0, 2.0]), 40)
        return d.log_prob(y), d.posterior_mode(y), d.posterior_marginals(y).logits

    add('hidden_markov', hidden, f32(40))
    kernel = tfp.math.psd_kernels.MaternFiveHalves
    add('gp_regression', lambda x, y, t: tfd.GaussianProcessRegressionModel(kernel(1.0, 0.5), t, x, y, 0.1).mean(), f32(30, 1), f32(30), f32(10, 1))
    add('gp_gradient', jax.grad(lambda p, x, y: tfd.GaussianProcess(kernel(p[0], p[1]), x, observation_noise_variance=p[2]).log_prob(y)),
        np.array([1.0, 0.5, 0.1], np.float32), f32(30, 1), f32(30))
    add('lbfgs', lambda x: tfp.optimizer.lbfgs_minimize(lambda x: tfp.math.value_and_gradient(lambda x: jnp.sum((x - 1) ** 2 * (1 + jnp.arange(8.0))), x), x,
                                                        max_iterations=20).position, f32(8))
    add('bfgs', lambda x: tfp.optimizer.bfgs_minimize(lambda x: tfp.math.value_and_gradient(lambda x: jnp.sum((x - 1) ** 2 * (1 + jnp.arange(8.0))), x), x,
                                                      max_iterations=20).position, f32(8))
    add('mixture', lambda k, x: (lambda d: (d.sample(20, seed=k), d.log_prob(x)))(tfd.MixtureSameFamily(
        tfd.Categorical(logits=jnp.arange(4.0)), tfd.MultivariateNormalDiag(jnp.arange(8.0).reshape(4, 2), jnp.ones((4, 2))))), KEY, f32(20, 2))
    add('wishart_vonmises', lambda k: [d.sample(20, seed=k) for d in (tfd.WishartTriL(5, jnp.eye(3)), tfd.VonMises(0.0, 2.0), tfd.HalfCauchy(0.0, 1.0),
                                                                     tfd.SinhArcsinh(0.0, 1.0, 0.5))], KEY)

    add('distrax_hmm', lambda y: distrax.HMM(distrax.Categorical(probs=jnp.ones(3) / 3), distrax.Categorical(probs=jnp.eye(3) * 0.7 + 0.1),
                                             distrax.Normal(jnp.arange(3.0), jnp.ones(3))).forward_backward(y), f32(40))
    return P
