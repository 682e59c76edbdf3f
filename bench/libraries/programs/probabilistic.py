"""Models and samplers of numpyro, blackjax, distrax, tfp and tinygp."""
import numpy as np
from by_value import Programs
from weights import Weights, section
NEEDS = ('numpyro', 'blackjax', 'distrax', 'tensorflow_probability', 'tinygp', 'optax')
FACTOR = 2048.0
def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); R = Weights(jax, 7); add, f, u, i = P.add, R.f32, R.uniform_f32, R.i32
    KEY = np.array([14, 92], np.uint32); wrap = jax.random.wrap_key_data
    import numpyro, numpyro.distributions as dist
    from numpyro.infer.util import potential_energy
    from numpyro.infer import SVI, Trace_ELBO, TraceMeanField_ELBO, autoguide
    @section
    def npy():
        def glmm(g, x, y):
            with numpyro.plate('g', 23): a = numpyro.sample('a', dist.Normal(0, 1)); 
            m = numpyro.sample('m', dist.Normal(0, 2)); s = numpyro.sample('s', dist.HalfCauchy(1.)); b = numpyro.sample('b', dist.StudentT(3, 0, 1).expand([6]).to_event(1)); numpyro.sample('y', dist.Bernoulli(logits=m + s * a[g] + x @ b), obs=y)
        d = (i(23, 511), f(511, 6), i(2, 511)); un = dict(a=f(5, 23), m=f(5), s=f(5), b=f(5, 6))
        add('glmm_potential_chains', lambda un, g, x, y: jax.vmap(jax.value_and_grad(lambda q: potential_energy(glmm, (g, x, y), {}, q)))(un), un, *d)
        def lv(t, y):
            th = numpyro.sample('th', dist.TruncatedNormal(low=0., loc=jnp.array([1., .05, 1., .05]), scale=jnp.array([.5, .05, .5, .05]))); z0 = numpyro.sample('z0', dist.LogNormal(jnp.log(10.), 1).expand([2])); s = numpyro.sample('s', dist.LogNormal(-1, 1).expand([2]))
            from jax.experimental.ode import odeint
            z = odeint(lambda z, t, th: jnp.stack([(th[0] - th[1] * z[1]) * z[0], (-th[2] + th[3] * z[0]) * z[1]]), z0, t, th, rtol=1e-4, atol=1e-3, mxstep=200); numpyro.sample('y', dist.LogNormal(jnp.log(jnp.maximum(z, 1e-3)), s), obs=y)
        add('lotka_volterra_potential', lambda un, t, y: jax.value_and_grad(lambda q: potential_energy(lv, (t, y), {}, q))(un), dict(th=f(4, k=.2), z0=f(2, k=.2) + 2, s=f(2, k=.2)), np.linspace(0, 5, 14).astype(np.float32), np.exp(f(14, 2)))
        def garch(r):
            mu = numpyro.sample('mu', dist.Normal(0, 10)); a0 = numpyro.sample('a0', dist.Uniform(0, 10)); a1 = numpyro.sample('a1', dist.Uniform(0, 1)); b1 = numpyro.sample('b1', dist.Uniform(0, 1)); 
            s = lax.scan(lambda s, r: ((s := jnp.sqrt(a0 + a1 * (r - mu) ** 2 + (1 - a1) * b1 * s ** 2)), s), jnp.float32(1.), r[:-1])[1]; numpyro.sample('y', dist.StudentT(5., mu, s), obs=r[1:])
        add('garch_potential_chains', lambda un, r: jax.vmap(jax.value_and_grad(lambda q: potential_energy(garch, (r,), {}, q)))(un), dict(mu=f(4), a0=f(4), a1=f(4), b1=f(4)), f(307))
        W = (R.rand(37, 37) < .12); W = np.triu(W, 1); W = (W | W.T | (np.abs(np.subtract.outer(np.arange(37), np.arange(37))) == 1)).astype(np.float32)
        def car(x, y, W):
            b = numpyro.sample('b', dist.Normal(0, 1).expand([3]).to_event(1)); tau = numpyro.sample('tau', dist.Gamma(2, 2)); al = numpyro.sample('al', dist.Uniform(0, .99)); ph = numpyro.sample('ph', dist.CAR(jnp.zeros(37), al, tau, W)); numpyro.sample('y', dist.Poisson(jnp.exp(x @ b + ph)), obs=y)
        add('car_disease_map_potential', lambda un, x, y, W: jax.value_and_grad(lambda q: potential_energy(car, (x, y, W), {}, q))(un), dict(b=f(3, k=.1), tau=f(), al=f(), ph=f(37, k=.1)) if False else dict(b=f(3, k=.1), tau=np.float32(.1), al=np.float32(.2), ph=f(37, k=.1)), f(37, 3, k=.3), i(9, 37), W)
        from numpyro.contrib.hsgp.approximation import hsgp_squared_exponential
        def hs(x, y):
            l = numpyro.sample('l', dist.InverseGamma(3, 1)); a = numpyro.sample('a', dist.HalfNormal(1.)); g = hsgp_squared_exponential(x=x, alpha=a, length=l, ell=1.5, m=31); s = numpyro.sample('s', dist.HalfNormal(1.)); numpyro.sample('y', dist.Normal(g, s), obs=y)
        add('hilbert_space_gp_potential', lambda un, x, y: jax.value_and_grad(lambda q: potential_energy(hs, (x, y), {}, q))(un), dict(l=np.float32(.1), a=np.float32(.2), s=np.float32(.3), beta=f(31)), u(203, lo=-1), f(203))
        def cjs(h):
            ph = numpyro.sample('ph', dist.Uniform(0, 1).expand([8])); p = numpyro.sample('p', dist.Beta(2, 2).expand([8])); chi = lax.scan(lambda c, q: ((c := 1 - q[0] + q[0] * (1 - q[1]) * c), c), 1., (ph, p), reverse=True)[1]; last = 8 - jnp.argmax(h[:, ::-1] > 0, 1); first = jnp.argmax(h > 0, 1); t = jnp.arange(8)[None]; live = (t >= first[:, None]) & (t < last[:, None])
            ll = jnp.where(live, jnp.log(ph) + jnp.where(h[:, 1:] > 0, jnp.log(p), jnp.log1p(-p)), 0).sum(1) + jnp.log(jnp.append(chi, 1.)[jnp.minimum(last, 8)]); numpyro.factor('ll', ll.sum())
        add('capture_recapture_potential', lambda un, h: jax.value_and_grad(lambda q: potential_energy(cjs, (h,), {}, q))(un), dict(ph=f(8), p=f(8)), i(2, 301, 9))
    @section
    def svis():
        import optax
        def bnn(x, y):
            w = numpyro.sample('w', dist.Normal(0, 1).expand([5, 12]).to_event(2)); v = numpyro.sample('v', dist.Normal(0, 1).expand([12, 1]).to_event(2)); s = numpyro.sample('s', dist.Gamma(3, 1)); numpyro.sample('y', dist.Normal((jnp.tanh(x @ w) @ v)[:, 0], 1 / jnp.sqrt(s)), obs=y)
        def steps(guide, loss, model, n, k, *a):
            svi = SVI(model, guide, optax.adam(1e-2), loss); st = svi.init(wrap(k), *a); st, l = lax.scan(lambda s, _: svi.update(s, *a), st, None, length=n); return svi.get_params(st), l
        a = (KEY, f(61, 5), f(61))
        add('svi_iaf_guide_6', lambda k, x, y: steps(autoguide.AutoIAFNormal(bnn, num_flows=2, hidden_dims=[80]), Trace_ELBO(), bnn, 6, k, x, y), *a)
        add('svi_bnaf_guide_4', lambda k, x, y: steps(autoguide.AutoBNAFNormal(bnn, num_flows=1, hidden_factors=[2]), Trace_ELBO(), bnn, 4, k, x, y), *a)
        add('svi_lowrank_iwae_8', lambda k, x, y: steps(autoguide.AutoLowRankMultivariateNormal(bnn, rank=4), __import__('numpyro.infer', fromlist=['RenyiELBO']).RenyiELBO(alpha=.5, num_particles=7), bnn, 8, k, x, y), *a)
        add('svi_dais_3', lambda k, x, y: steps(autoguide.AutoDAIS(bnn, K=4), Trace_ELBO(), bnn, 3, k, x, y), *a)
        def dpm(x):
            b = numpyro.sample('b', dist.Beta(1, 2.).expand([7]).to_event(1)); lw = jnp.log(jnp.append(b, 1.)) + jnp.append(0., jnp.cumsum(jnp.log1p(-b))); m = numpyro.sample('m', dist.Normal(0, 3).expand([8, 2]).to_event(2)); s = numpyro.sample('s', dist.InverseGamma(3, 1).expand([8, 2]).to_event(2)); numpyro.factor('x', jax.nn.logsumexp(lw + dist.Normal(m, s).to_event(1).log_prob(x[:, None]), -1).sum())
        add('svi_dirichlet_process_9', lambda k, x: steps(autoguide.AutoNormal(dpm), TraceMeanField_ELBO(num_particles=3), dpm, 9, k, x), KEY, f(303, 2))
        def lda(w, d):
            th = numpyro.sample('th', dist.Dirichlet(jnp.ones(6) * .3).expand([27]).to_event(1)); ph = numpyro.sample('ph', dist.Dirichlet(jnp.ones(91) * .1).expand([6]).to_event(1)); numpyro.factor('w', jnp.log((th[d] * ph.T[w]).sum(-1)).sum())
        un = dict(th=f(27, 5), ph=f(6, 90)); add('topic_model_potential', lambda q, w, d: jax.value_and_grad(lambda q: potential_energy(lda, (w, d), {}, q))(q), un, i(91, 1207), i(27, 1207))
        def hier(x):
            s = numpyro.sample('s', dist.LKJCholesky(4, 2.)); t = numpyro.sample('t', dist.HalfNormal(1).expand([4]).to_event(1)); 
            with numpyro.plate('n', 19): b = numpyro.sample('b', dist.MultivariateNormal(0., scale_tril=t[:, None] * s))
            numpyro.sample('y', dist.NegativeBinomial2(jnp.exp(jnp.clip((x * b).sum(-1), -3, 3)), 2.))
    @section
    def kernels():
        from numpyro.infer import SA, BarkerMH
        pot = lambda z: .5 * (z['x'] ** 2 / jnp.arange(1, 10)).sum() + .1 * (z['x'][1:] - z['x'][:-1] ** 2).sum() ** 2
        def chain(K, n, nch=0):
            def go(k, x):
                st = K.init(wrap(k) if not nch else jax.random.split(wrap(k), nch)[0] if False else wrap(k), 20, {'x': x}, (), {}); return lax.scan(lambda s, _: ((s := K.sample(s, (), {})), s.z), st, None, length=n)[1]
            return go
        add('numpyro_sample_adaptive', chain(SA(potential_fn=pot), 50), KEY, f(9))
        add('numpyro_barker', chain(BarkerMH(potential_fn=pot), 50), KEY, f(9))
        import blackjax
        ld = lambda x: -.5 * (x ** 2 / (1 + jnp.arange(11.))).sum() - .05 * ((x[1:] - x[:-1] ** 2) ** 2).sum()
        def run(alg, n): return lambda k, x: lax.scan(lambda s, q: (alg.step(q, s)[0], None), alg.init(x), jax.random.split(wrap(k), n))[0]
        add('blackjax_periodic_orbital', run(blackjax.orbital_hmc(ld, .1, jnp.ones(11), 6, bijection=blackjax.mcmc.integrators.velocity_verlet) , 30), KEY, f(11, k=.3))
        def dyn(k, x):
            alg = blackjax.dynamic_hmc(ld, .1, jnp.ones(11)); s = alg.init(x, wrap(k)); return lax.scan(lambda s, q: (alg.step(q, s)[0], None), s, jax.random.split(wrap(k), 25))[0].position
        add('blackjax_dynamic_hmc', dyn, KEY, f(11, k=.3))
        add('blackjax_hmc_dense_metric_chains', lambda k, x, C: jax.vmap(lambda k, x: (lambda alg: lax.scan(lambda s, q: (alg.step(q, s)[0], None), alg.init(x), jax.random.split(k, 15))[0].position)(blackjax.hmc(ld, .1, C, 7)))(jax.random.split(wrap(k), 6), x), KEY, f(6, 11, k=.3), (lambda a: a @ a.T / 11 + np.eye(11, dtype=np.float32))(f(11, 11)))
        add('blackjax_rmh_irmh', lambda k, x: [run(blackjax.additive_step_random_walk(ld, blackjax.mcmc.random_walk.normal(jnp.eye(11) * .3)), 60)(k, x).position, run(blackjax.irmh(ld, lambda k: jax.random.normal(k, (11,))), 60)(k, x).position], KEY, f(11, k=.3))
        def tsmc(k, x):
            from blackjax.smc import resampling, extend_params
            t = blackjax.adaptive_tempered_smc(lambda x: -.5 * (x ** 2).sum(), lambda x: -5 * ((x[1:] - x[:-1] ** 2) ** 2).sum(), blackjax.hmc.build_kernel(), blackjax.hmc.init, extend_params(dict(step_size=.1, inverse_mass_matrix=jnp.eye(3), num_integration_steps=5)), resampling.systematic, .6, num_mcmc_steps=3); s = t.init(x); return lax.scan(lambda s, q: (t.step(q, s)[0], s.tempering_param if hasattr(s, 'tempering_param') else 0), s, jax.random.split(wrap(k), 5))[0].particles
        add('blackjax_tempered_smc', tsmc, KEY, f(90, 3))
        def sghmc(k, x, d):
            g = blackjax.sgld.build_kernel() if False else None; ge = blackjax.sgmcmc.gradients.grad_estimator(lambda p: -.5 * (p ** 2).sum(), lambda p, b: -.5 * (b @ p) ** 2, 1003); alg = blackjax.sghmc(ge, 8, .05); 
            def st(p, q): a, b = jax.random.split(q); mb = d[jax.random.randint(a, (37,), 0, 1003)]; return alg.step(b, p, mb, 1e-4), None
            return lax.scan(st, x, jax.random.split(wrap(k), 12))[0]
        add('blackjax_sghmc', sghmc, KEY, f(11), f(1003, 11))
        def mfvi(k, x):
            import optax; alg = blackjax.meanfield_vi(ld, optax.adam(1e-2), 25); return lax.scan(lambda s, q: alg.step(q, s), alg.init(x), jax.random.split(wrap(k), 20))
        add('blackjax_meanfield_vi', mfvi, KEY, f(11))
    @section
    def distr():
        import distrax
        def nvp(p, x):
            lay = []
            for k, (w1, w2) in enumerate(p['c']): m = (jnp.arange(10) % 2 == k % 2); lay.append(distrax.MaskedCoupling(m, lambda h, w1=w1, w2=w2: (jax.nn.relu(h @ w1) @ w2).reshape(h.shape + (2,)), lambda q: distrax.ScalarAffine(q[..., 0], log_scale=jnp.tanh(q[..., 1])))); lay.append(distrax.Block(distrax.Inverse(distrax.LowerUpperTriangularAffine(p['a'][k] * .1 + jnp.eye(10), jnp.zeros(10))), 0))
            d = distrax.Transformed(distrax.MultivariateNormalDiag(jnp.zeros(10), jnp.ones(10)), distrax.Chain(lay)); return -d.log_prob(x).mean()
        add('distrax_glow_like_gradient', jax.value_and_grad(nvp), dict(c=[(f(10, 40, k=.3), f(40, 20, k=.1)) for _ in range(4)], a=[f(10, 10) for _ in range(4)]), f(143, 10))
        def pol(p, k, o):
            h = jax.nn.relu(o @ p[0]); d = distrax.MixtureSameFamily(distrax.Categorical(logits=h @ p[1]), distrax.Independent(distrax.Logistic((h @ p[2]).reshape(-1, 5, 3), jax.nn.softplus((h @ p[3]).reshape(-1, 5, 3)) + .1), 1)); a, lp = d.sample_and_log_prob(seed=wrap(k)); return (d.log_prob(lax.stop_gradient(a)) * jnp.cos(a).sum(-1)).mean() + distrax.Categorical(logits=h @ p[1]).entropy().mean()
        add('distrax_mixture_policy_gradient', jax.grad(pol), [f(14, 50, k=.2), f(50, 5, k=.2), f(50, 15, k=.2), f(50, 15, k=.2)], KEY, f(87, 14))
        add('distrax_kls_entropies', lambda a, b, c: [distrax.Normal(a, jnp.exp(b)).kl_divergence(distrax.Normal(b, jnp.exp(a))), distrax.Beta(jnp.exp(a), jnp.exp(b)).kl_divergence(distrax.Beta(2., 3.)) if hasattr(distrax.Beta, 'kl_divergence') else 0, distrax.Gamma(jnp.exp(a), jnp.exp(b)).log_prob(jnp.exp(c)), distrax.VonMises(a, jnp.exp(b)).log_prob(c), distrax.Laplace(a, jnp.exp(b)).cdf(c), distrax.Gumbel(a, jnp.exp(b)).entropy()], f(1501, k=.5), f(1501, k=.5), f(1501, k=.5))
    @section
    def tf():
        from tensorflow_probability.substrates import jax as tfp
        tfd, tfb, tfm = tfp.distributions, tfp.bijectors, tfp.math
        def sts(y, q):
            tr = tfp.sts.LocalLinearTrend(observed_time_series=y); se = tfp.sts.Seasonal(num_seasons=7, observed_time_series=y); m = tfp.sts.Sum([tr, se], observed_time_series=y); pv = [p.bijector.forward(v) for p, v in zip(m.parameters, q)]; return m.joint_distribution(observed_time_series=y).log_prob(*pv) if False else m.make_state_space_model(len(y), pv).log_prob(y[..., None])
        add('tfp_sts_trend_seasonal_gradient', lambda y, q: jax.value_and_grad(lambda q: sts(y, q))(q), np.cumsum(f(57)).astype(np.float32), [f(), f(), f(), f()] if False else [np.float32(v) for v in (.1, .2, -.3, .1)])
        tgt = tfd.JointDistributionSequentialAutoBatched([tfd.HalfNormal(1.), lambda s: tfd.Sample(tfd.Normal(0., s), 7)])
        def pt(k, x):
            K = tfp.mcmc.ReplicaExchangeMC(lambda x: tfd.MixtureSameFamily(tfd.Categorical(logits=jnp.zeros(3)), tfd.MultivariateNormalDiag(jnp.array([[-3., 0], [3, 0], [0, 4]]), jnp.ones(2) * .5)).log_prob(x), jnp.array([1., .5, .2, .1]), lambda target_log_prob_fn: tfp.mcmc.HamiltonianMonteCarlo(target_log_prob_fn, .3, 3)); return tfp.mcmc.sample_chain(15, x, kernel=K, num_burnin_steps=5, trace_fn=None, seed=wrap(k))
        add('tfp_replica_exchange', pt, KEY, f(2))
        def sl(k, x): return tfp.mcmc.sample_chain(20, x, kernel=tfp.mcmc.SliceSampler(lambda x: -.5 * (x ** 2).sum(-1) - .1 * (x ** 4).sum(-1), 1., 4), trace_fn=None, seed=wrap(k))
        add('tfp_slice_sampler', sl, KEY, f(5, 3))
        def pf(k, y):
            pr = tfd.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2)); tr = lambda _, s: tfd.MultivariateNormalDiag(jnp.stack([s[..., 0] + .1 * s[..., 1], .9 * s[..., 1] - .1 * jnp.sin(s[..., 0])], -1), jnp.array([.1, .2])); ob = lambda _, s: tfd.Normal(jnp.sin(s[..., 0]), .3); return tfp.experimental.mcmc.particle_filter(y, pr, tr, ob, num_particles=211, seed=wrap(k), trace_fn=lambda s, r: r.incremental_log_marginal_likelihood if hasattr(r, 'incremental_log_marginal_likelihood') else s.log_weights)
        add('tfp_particle_filter', pf, KEY, f(31))
        def jd(s, x): 
            return jax.value_and_grad(lambda s: tgt.log_prob(jnp.exp(s), x))(s)
        add('tfp_joint_autobatched_gradient', lambda s, x: jax.vmap(jd)(s, x), f(19), f(19, 7))
        def vgp(p, x, y):
            d = tfd.VariationalGaussianProcess(tfp.math.psd_kernels.MaternFiveHalves(jnp.exp(p['a']), jnp.exp(p['l'])), x, p['z'], p['m'], jnp.tril(p['s']) + jnp.eye(13), observation_noise_variance=.1, jitter=1e-4); return d.variational_loss(observations=y, observation_index_points=x, kl_weight=.1)
        add('tfp_variational_gp_gradient', jax.grad(vgp), dict(a=np.float32(.1), l=np.float32(.2), z=f(13, 2), m=f(13), s=f(13, 13, k=.1)), f(117, 2), f(117))
        def maf(p, x):
            made = lambda h: (lambda o: o)(jnp.tanh(h @ (p[0] * jnp.kron(jnp.triu(jnp.ones((6, 6)), 1), jnp.ones((1, 5)))[:, :30])) @ (p[1] * jnp.kron(jnp.triu(jnp.ones((6, 6))), jnp.ones((5, 1)))[:30])); b = tfb.MaskedAutoregressiveFlow(shift_and_log_scale_fn=lambda h: (made(h), .1 * made(h)), is_constant_jacobian=False); d = tfd.TransformedDistribution(tfd.Sample(tfd.Normal(0., 1.), 6), tfb.Chain([b, tfb.Permute(jnp.arange(5, -1, -1)), b])); return d.log_prob(x).mean() + 0 * d.sample(3, seed=jax.random.key(1)).sum()
        add('tfp_maf_gradient', jax.grad(maf), [f(6, 30, k=.3), f(30, 6, k=.2)], f(133, 6))
        def rqs(x, w, h, s): b = tfb.RationalQuadraticSpline(jax.nn.softmax(w) * 6, jax.nn.softmax(h) * 6, jax.nn.softplus(s) + .01, range_min=-3.); y = b.forward(x); return y, b.inverse(y), b.forward_log_det_jacobian(x)
        add('tfp_assorted_bijectors', lambda x, m: [tfb.SinhArcsinh(.3, 1.2).forward(x), tfb.CorrelationCholesky().forward(x[:130].reshape(13, 10)), tfb.FillScaleTriL().forward(x[:150].reshape(10, 15)), tfb.Softsign().inverse_log_det_jacobian(jnp.tanh(x)), tfb.GompertzCDF(1., 2.).forward(jnp.abs(x)), tfb.IteratedSigmoidCentered().forward(x[:150].reshape(15, 10)), tfb.MoyalCDF(0., 1.).forward(x), tfb.KumaraswamyCDF(2., 3.).forward(jax.nn.sigmoid(x)), tfb.Ascending().forward(x[:150].reshape(15, 10)), tfb.GeneralizedPareto(0., 1., .3).forward(x)], f(401), f(3))
        add('tfp_rare_densities', lambda x, k: [tfd.PlackettLuce(jnp.arange(1., 8)).log_prob(k), tfd.VonMisesFisher(jnp.array([0., 0, 1]), 4.).log_prob(x / jnp.linalg.norm(x, axis=-1, keepdims=True)), tfd.PowerSpherical(jnp.array([0., 0, 1]), 4.).log_prob(x / jnp.linalg.norm(x, axis=-1, keepdims=True)), tfd.GeneralizedExtremeValue(0., 1., .2).log_prob(x), tfd.JohnsonSU(.3, 1.2, 0., 1.).log_prob(x), tfd.ExponentiallyModifiedGaussian(0., 1., 2.).log_prob(x), tfd.NormalInverseGaussian(0., 1., 2., .5).log_prob(x), tfd.Moyal(0., 1.).log_prob(x), tfd.SinhArcsinh(0., 1., .2, 1.1).log_prob(x), tfd.StudentT(3., 0., 1.).cdf(x), tfd.BetaBinomial(9., 2., 3.).log_prob(jnp.abs(jnp.round(x))), tfd.Skellam(2., 3.).log_prob(jnp.round(x)), tfd.TwoPieceNormal(0., 1., 1.5).log_prob(x)], f(301, 3), np.stack([np.random.RandomState(j).permutation(7) for j in range(31)]).astype(np.int32))
        add('tfp_rare_draws', lambda k: [d.sample(53, seed=q) for d, q in zip((tfd.VonMisesFisher(jnp.array([0., 0, 1]), 4.), tfd.LKJ(4, 2.), tfd.PlackettLuce(jnp.arange(1., 8)), tfd.Multinomial(20, logits=jnp.arange(5.)), tfd.Zipf(2.5), tfd.HalfStudentT(3., 0., 1.), tfd.BetaQuotient(2., 3., 2., 3.), tfd.InverseGaussian(1., 2.), tfd.DirichletMultinomial(15., jnp.ones(4))), jax.random.split(wrap(k), 9))], KEY)
        add('tfp_stats_diagnostics', lambda c, p, y: [tfp.mcmc.effective_sample_size(c), tfp.mcmc.potential_scale_reduction(c.reshape(101, 4, 5), 1), tfp.stats.auto_correlation(c, 0, 20), tfp.stats.expected_calibration_error(10, logits=p, labels_true=y), tfp.stats.brier_score(y, p), tfp.stats.percentile(c, jnp.array([5., 50, 95]), 0, 'linear'), tfp.stats.cholesky_covariance(c, 0)], f(101, 20), f(403, 7), i(7, 403))
        add('tfp_interpolation_grid', lambda x, g, q: [tfm.interp_regular_1d_grid(x, 0., 1., g[0]), tfm.batch_interp_regular_nd_grid(q, jnp.zeros(2), jnp.ones(2), g, axis=-2)], u(903), f(27, 31), u(701, 2))
        add('tfp_ode_bdf', lambda y, t: tfm.ode.BDF(rtol=1e-3, atol=1e-5).solve(lambda t, y: jnp.stack([-.04 * y[0] + 10. * y[1] * y[2], .04 * y[0] - 10. * y[1] * y[2] - 30. * y[1] ** 2, 30. * y[1] ** 2]), 0., y, t).states, np.array([1, 0, 0], np.float32), np.array([.5, 2., 5.], np.float32))
        add('tfp_nelder_mead', lambda x: tfp.optimizer.nelder_mead_minimize(lambda x: ((x - jnp.arange(4.)) ** 2).sum() + jnp.prod(jnp.cos(x)), initial_vertex=x, func_tolerance=1e-5, max_iterations=80).position, f(4))
        add('tfp_pivoted_cholesky', lambda x: tfm.low_rank_cholesky(tfp.math.psd_kernels.ExponentiatedQuadratic().matrix(x, x) if False else jnp.exp(-.5 * ((x[:, None] - x[None]) ** 2).sum(-1)), 11) if hasattr(tfm, 'low_rank_cholesky') else tfm.pivoted_cholesky(jnp.exp(-.5 * ((x[:, None] - x[None]) ** 2).sum(-1)), 11), f(93, 3))
    @section
    def gps():
        from tinygp import kernels, GaussianProcess, transforms
        class Multi(kernels.Kernel):
            k: kernels.Kernel
            B: jax.Array
            def evaluate(s, a, b): return s.B[a[1], b[1]] * s.k.evaluate(a[0], b[0])
        def cor(p, x, t, y): return -GaussianProcess(Multi(kernels.Matern32(jnp.exp(p['l'])), (lambda L: L @ L.T + .1 * jnp.eye(3))(jnp.tril(p['B']))), (x, t), diag=.1).log_probability(y)
        add('tinygp_coregional_gradient', jax.grad(cor), dict(l=np.float32(.1), B=f(3, 3)), f(103), i(3, 103), f(103))
        class Deriv(kernels.Kernel):
            k: kernels.Kernel
            def evaluate(s, a, b):
                (t, d), (q, e) = a, b; K = s.k.evaluate(t, q); Kp = jax.grad(s.k.evaluate, 0)(t, q); Kq = jax.grad(s.k.evaluate, 1)(t, q); Kpq = jax.grad(jax.grad(s.k.evaluate, 0), 1)(t, q); return jnp.where(d, jnp.where(e, Kpq, Kp), jnp.where(e, Kq, K))
        add('tinygp_derivative_observations', jax.value_and_grad(lambda p, x, d, y: GaussianProcess(Deriv(jnp.exp(p[0]) * kernels.ExpSquared(jnp.exp(p[1]))), (x, d), diag=.2).log_probability(y)), f(2, k=.1), np.sort(f(91)), i(2, 91).astype(bool), f(91))
        def spm(p, x, y): k = sum(jnp.exp(p[j, 0]) * kernels.ExpSquared(jnp.exp(p[j, 1])) * kernels.Cosine(jnp.exp(p[j, 2])) for j in range(4)); return GaussianProcess(k, x, diag=.1, mean=lambda x: p[0, 3] * x).log_probability(y)
        add('tinygp_spectral_mixture_gradient', jax.value_and_grad(spm), f(4, 4, k=.2), np.sort(f(137)), f(137))
        def deep(w, x, y): k = transforms.Transform(lambda v: jnp.tanh(v @ w[0]) @ w[1], kernels.Matern52(1., distance=kernels.distance.L2Distance())); return GaussianProcess(k, x, diag=.1).log_probability(y)
        add('tinygp_deep_kernel_gradient', jax.grad(deep), [f(7, 20, k=.3), f(20, 3, k=.3)], f(111, 7), f(111))
        def sgpr(p, x, y):
            K = lambda a, b: jnp.exp(-.5 * ((a[:, None] - b[None]) ** 2 * jnp.exp(p['l'])).sum(-1)); z = p['z']; L = jnp.linalg.cholesky(K(z, z) + 1e-4 * jnp.eye(29)); s2 = jnp.exp(p['s']); A = jax.scipy.linalg.solve_triangular(L, K(z, x), lower=True) / jnp.sqrt(s2); B = A @ A.T + jnp.eye(29); LB = jnp.linalg.cholesky(B); c = jax.scipy.linalg.solve_triangular(LB, A @ y, lower=True) / jnp.sqrt(s2); n = len(y); return .5 * n * jnp.log(2 * jnp.pi * s2) + jnp.log(jnp.diag(LB)).sum() + .5 * (y @ y) / s2 - .5 * c @ c + .5 * n / s2 - .5 * (A * A).sum()
        add('sgpr_collapsed_gradient', jax.value_and_grad(sgpr), dict(l=f(3, k=.1), z=f(29, 3), s=np.float32(-1)), f(503, 3), f(503))
    return P
