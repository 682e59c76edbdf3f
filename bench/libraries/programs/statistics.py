"""Dynamax, FlowJAX and GPJax: state-space models, normalizing flows, Gaussian processes."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('dynamax', 'flowjax', 'gpjax', 'equinox', 'optax', 'paramax')
FACTOR = 1024.0


def programs(jax):
    import equinox as eqx
    import gpjax as gpx
    import jax.numpy as jnp
    import optax
    import paramax
    from dynamax import hidden_markov_model as hmm
    from dynamax import linear_gaussian_ssm as linear
    from dynamax import nonlinear_gaussian_ssm as nonlinear
    from flowjax import bijections, flows
    from flowjax import distributions as fd

    R = Random(0)
    KEY = np.array([0, 19], np.uint32)
    P = Programs()
    add = P.add
    f32 = R.f32

    # Hidden Markov models.
    initial = R.dirichlet(np.ones(4)).astype(np.float32)
    moves = R.dirichlet(np.ones(4) * 2, 4).astype(np.float32)
    evidence = f32(60, 4)
    add('hmm_smoother', lambda a, b, l: (lambda p: (p.marginal_loglik, p.smoothed_probs, p.trans_probs))(hmm.hmm_smoother(a, b, l)), initial, moves, evidence)
    add('hmm_mode', hmm.hmm_posterior_mode, initial, moves, evidence)
    add('hmm_parallel_smoother', lambda a, b, l: hmm.parallel_hmm_smoother(a, b, l).smoothed_probs, initial, moves, evidence)
    add('hmm_fixed_lag', lambda a, b, l: hmm.hmm_fixed_lag_smoother(a, b, l, 4).smoothed_probs, initial, moves, evidence)
    add('hmm_posterior_sample', lambda k, a, b, l: jax.vmap(lambda k: hmm.hmm_posterior_sample(k, a, b, l)[1])(jax.random.split(k, 8)), KEY, initial, moves, evidence)

    gaussian = hmm.GaussianHMM(3, 2)
    observed = (f32(4, 40, 2) + R.randint(0, 3, (4, 40, 1)) * 3).astype(np.float32)

    def maximize(key, y):
        params, props = gaussian.initialize(key)

        def one(carry, _):
            params, m = carry
            stats, log = jax.vmap(lambda y: gaussian.e_step(params, y))(y)
            params, m = gaussian.m_step(params, props, stats, m)
            return (params, m), log.sum()
        (params, _), logs = jax.lax.scan(one, (params, gaussian.initialize_m_step_state(params, props)), None, length=4)
        return params.emissions.means, params.transitions.transition_matrix, logs
    add('hmm_maximization', maximize, KEY, observed)

    autoregressive = hmm.LinearAutoregressiveHMM(3, 2, num_lags=2)

    def of_history(key, y):
        params, _ = autoregressive.initialize(key)
        inputs = autoregressive.compute_inputs(y)
        return jax.value_and_grad(lambda p: autoregressive.marginal_log_prob(p, y, inputs))(params)[0]
    add('hmm_autoregressive', of_history, KEY, observed[0])

    # Kalman filters, in order, in parallel, and of nonlinear systems.
    rotation = np.array([[0.9, -0.2, 0.1], [0.2, 0.9, 0.0], [0.0, -0.1, 0.8]], np.float32)
    reading = f32(2, 3)

    def params_of(a, h):
        return linear.inference.make_lgssm_params(jnp.zeros(3), jnp.eye(3), a, 0.1 * jnp.eye(3), h, 0.2 * jnp.eye(2))

    series = f32(50, 2)
    add('kalman_smoother', lambda a, h, y: (lambda p: (p.marginal_loglik, p.smoothed_means, p.smoothed_covariances))(linear.lgssm_smoother(params_of(a, h), y)),
        rotation, reading, series)
    add('kalman_gradient', jax.value_and_grad(lambda a, h, y: linear.lgssm_filter(params_of(a, h), y).marginal_loglik, (0, 1)), rotation, reading, series)
    add('kalman_parallel', lambda a, h, y: linear.parallel_inference.lgssm_smoother(params_of(a, h), y).smoothed_means, rotation, reading, series)
    add('kalman_sample', lambda k, a, h, y: linear.lgssm_posterior_sample(k, params_of(a, h), y), KEY, rotation, reading, series)

    def pendulum(y):
        return nonlinear.ParamsNLGSSM(jnp.array([1.5, 0.0]), jnp.eye(2) * 0.1, lambda x: jnp.array([x[0] + x[1] * 0.05, x[1] - 9.8 * 0.05 * jnp.sin(x[0])]),
                                      jnp.eye(2) * 0.01, lambda x: jnp.array([jnp.sin(x[0])]), jnp.eye(1) * 0.1)
    swing = np.sin(np.linspace(0, 6, 40)).astype(np.float32)[:, None]
    add('kalman_extended', lambda y: nonlinear.extended_kalman_smoother(pendulum(y), y).smoothed_means, swing)
    add('kalman_unscented', lambda y: nonlinear.unscented_kalman_smoother(pendulum(y), y, nonlinear.UKFHyperParams()).smoothed_means, swing)

    # Flows.
    base = lambda d: fd.Normal(jnp.zeros(d))
    tx = optax.adam(1e-3)
    for name, make in (('coupling_spline', lambda key: flows.coupling_flow(key, base_dist=base(3), transformer=bijections.RationalQuadraticSpline(knots=6, interval=4),
                                                                           flow_layers=3, nn_width=16)),
                       ('autoregressive', lambda key: flows.masked_autoregressive_flow(key, base_dist=base(3), flow_layers=3, nn_width=16)),
                       ('neural', lambda key: flows.block_neural_autoregressive_flow(key, base_dist=base(3), nn_block_dim=6)),
                       ('planar', lambda key: flows.planar_flow(key, base_dist=base(3), flow_layers=4, width_size=8, depth=1))):
        arrays, static = eqx.partition(make(jax.random.key(5)), eqx.is_array)  # Not compiled: what is no array holds arrays too.
        arrays = jax.tree.map(np.asarray, arrays)

        def train(w, x, static=static):
            moving, still = eqx.partition(w, eqx.is_inexact_array)

            def loss(moving):
                return -paramax.unwrap(eqx.combine(moving, still, static)).log_prob(x).mean()
            value, grads = jax.value_and_grad(loss)(moving)
            return value, tx.update(grads, tx.init(moving))[1][0].mu
        add('flow_' + name, train, arrays, f32(32, 3))
        if name in ('coupling_spline', 'autoregressive'):
            add('flow_' + name + '_sample', lambda w, k, static=static: paramax.unwrap(eqx.combine(w, static)).sample_and_log_prob(jax.random.wrap_key_data(k), (20,)), arrays, KEY)

    # Gaussian processes.
    x = np.sort(R.rand(40, 1) * 6, 0).astype(np.float32)
    y = (np.sin(2 * x) + 0.1 * R.randn(40, 1)).astype(np.float32)
    queries = np.linspace(0, 6, 25).astype(np.float32)[:, None]

    def model_of(length, noise):
        kernel = gpx.kernels.Matern52(lengthscale=length) + gpx.kernels.Periodic(period=jnp.exp(length))
        prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Constant(), kernel=kernel)
        return prior * gpx.likelihoods.Gaussian(obs_stddev=noise)

    add('process_gradient', jax.value_and_grad(lambda p, x, y: gpx.objectives.conjugate_mll(paramax.unwrap(model_of(jnp.exp(p[0]), jnp.exp(p[1]))), gpx.Dataset(x, y))),
        np.array([0.1, -1.0], np.float32), x, y)
    add('process_left_out', lambda p, x, y: gpx.objectives.conjugate_loocv(paramax.unwrap(model_of(jnp.exp(p[0]), jnp.exp(p[1]))), gpx.Dataset(x, y)),
        np.array([0.1, -1.0], np.float32), x, y)

    def posterior(p, x, y, q):
        out = paramax.unwrap(model_of(jnp.exp(p[0]), jnp.exp(p[1]))).condition(gpx.Dataset(x, y))(q)
        return out.mean, jnp.diag(out.covariance())
    add('process_posterior', posterior, np.array([0.1, -1.0], np.float32), x, y, queries)

    def sparse(likelihood):
        def run(p, z, m, x, y):
            def bound(p, z, m):
                prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=gpx.kernels.RBF(lengthscale=jnp.exp(p[0]), variance=jnp.exp(p[1])))
                q = gpx.variational_families.VariationalGaussian(model=prior * likelihood, inducing_inputs=z, variational_mean=m)
                return gpx.objectives.elbo(paramax.unwrap(q), gpx.Dataset(x, y))
            return jax.value_and_grad(bound, (0, 1, 2))(p, z, m)
        return run
    z = np.linspace(0.2, 5.8, 8).astype(np.float32)[:, None]
    add('process_sparse', sparse(gpx.likelihoods.Gaussian()), np.array([-0.5, 0.1], np.float32), z, f32(8, 1) * 0.1, x, y)
    add('process_sparse_classifier', sparse(gpx.likelihoods.Bernoulli()), np.array([-0.5, 0.1], np.float32), z, f32(8, 1) * 0.1, x, (y > 0).astype(np.float32))
    return P
