"""NumPyro models, BlackJAX kernels, tinygp, Distrax."""
import numpy as np
from by_value import Programs, Random
NEEDS = ('blackjax', 'distrax', 'numpyro', 'tinygp')
R = Random(1204)
f32, i32 = R.f32, R.i32
FACTOR = 4096.0

def programs(jax):
    import blackjax
    import distrax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    import tinygp
    from numpyro.contrib.control_flow import scan as nscan
    from numpyro.infer.util import potential_energy
    P = Programs(); add = P.add
    K = np.array([4, 8], np.uint32)
    def pot(model, args, kw, un):
        return lambda un, *args: jax.value_and_grad(lambda u: potential_energy(model, args, kw, u))(un)
    # radon: varying slopes with LKJ
    def radon(g, x, y):
        J = 19
        L = numpyro.sample('L', dist.LKJCholesky(2, 2.)); sg = numpyro.sample('sg', dist.HalfNormal(1).expand([2]).to_event(1))
        mu = numpyro.sample('mu', dist.Normal(0, 5).expand([2]).to_event(1)); s = numpyro.sample('s', dist.Exponential(1.))
        with numpyro.plate('J', J): ab = numpyro.sample('ab', dist.MultivariateNormal(mu, scale_tril=sg[:, None] * L))
        numpyro.sample('y', dist.StudentT(4., ab[g, 0] + ab[g, 1] * x, s), obs=y)
    un = {'L': f32(1) * .3, 'sg': f32(2) * .3, 'mu': f32(2), 's': np.float32(.1), 'ab': f32(19, 2)}
    add('radon_varying_slopes', lambda un, g, x, y: jax.value_and_grad(lambda u: potential_energy(radon, (g, x, y), {}, u))(un), un, i32(19, 503), f32(503), f32(503))
    # gaussian mixture, marginalised, in 3 dims
    def mix(x):
        w = numpyro.sample('w', dist.Dirichlet(jnp.ones(5)))
        with numpyro.plate('k', 5): m = numpyro.sample('m', dist.Normal(0, 3).expand([3]).to_event(1)); s = numpyro.sample('s', dist.LogNormal(0, 1).expand([3]).to_event(1))
        numpyro.sample('x', dist.MixtureSameFamily(dist.Categorical(w), dist.Normal(m, s).to_event(1)).expand([x.shape[0]]), obs=x)
    um = {'w': f32(4) * .3, 'm': f32(5, 3), 's': f32(5, 3) * .3}
    add('mixture_marginalised', lambda u, x: jax.value_and_grad(lambda u: potential_energy(mix, (x,), {}, u))(u), um, f32(401, 3))
    add('mixture_hessian', lambda u, x: jax.hessian(lambda v: potential_energy(mix, (x,), {}, {'w': v[:4], 'm': v[4:19].reshape(5, 3), 's': v[19:].reshape(5, 3)}))(u), f32(34) * .3, f32(101, 3))
    # state space: local linear trend with numpyro scan
    def trend(y):
        q = numpyro.sample('q', dist.HalfNormal(1).expand([2]).to_event(1)); r = numpyro.sample('r', dist.HalfNormal(1.))
        def st(c, y):
            l, b = c; l2 = numpyro.sample('l', dist.Normal(l + b, q[0])); b2 = numpyro.sample('b', dist.Normal(b, q[1])); numpyro.sample('y', dist.Normal(l2, r), obs=y)
            return (l2, b2), None
        nscan(st, (0., 0.), y)
    ut = {'q': f32(2) * .1, 'r': np.float32(.1), 'l': f32(211), 'b': f32(211) * .1}
    add('trend_by_scan', lambda u, y: jax.value_and_grad(lambda u: potential_energy(trend, (y,), {}, u))(u), ut, f32(211))
    # ordinal regression with horseshoe, zero-inflated negative binomial
    def horse(x, y, z):
        t = numpyro.sample('t', dist.HalfCauchy(1.)); n = x.shape[1]
        with numpyro.plate('n', n): l = numpyro.sample('l', dist.HalfCauchy(1.)); b = numpyro.sample('b', dist.Normal(0, 1.))
        c = numpyro.sample('c', dist.TransformedDistribution(dist.Normal(0, 2).expand([4]).to_event(1), dist.transforms.OrderedTransform()))
        e = x @ (b * l * t); numpyro.sample('y', dist.OrderedLogistic(e, c), obs=y)
        numpyro.sample('z', dist.ZeroInflatedNegativeBinomial2(jnp.exp(.1 * e), 2., gate=.3), obs=z)
    uh = {'t': np.float32(0), 'l': f32(27), 'b': f32(27), 'c': f32(4) * .3}
    add('horseshoe_ordinal', lambda u, x, y, z: jax.value_and_grad(lambda u: potential_energy(horse, (x, y, z), {}, u))(u), uh, f32(307, 27), i32(5, 307), i32(6, 307))
    # item response, two-parameter
    def irt(i, j, y):
        with numpyro.plate('p', 53): th = numpyro.sample('th', dist.Normal(0, 1))
        with numpyro.plate('q', 31): a = numpyro.sample('a', dist.LogNormal(0, .5)); b = numpyro.sample('b', dist.Normal(0, 2))
        numpyro.sample('y', dist.Bernoulli(logits=a[j] * (th[i] - b[j])), obs=y)
    ui = {'th': f32(53), 'a': f32(31) * .3, 'b': f32(31)}
    add('item_response_chains', lambda u, i, j, y: jax.vmap(lambda u: jax.value_and_grad(lambda u: potential_energy(irt, (i, j, y), {}, u))(u))(u), jax.tree.map(lambda a: np.stack([a, a * .5, a * .3]), ui), i32(53, 1009), i32(31, 1009), i32(2, 1009))
    # blackjax
    ld = lambda x: -.5 * jnp.sum((x - jnp.roll(x, 1)) ** 2) - .1 * jnp.sum(x ** 4)
    def drive(alg, x, k, n):
        s = alg.init(x)
        return jax.lax.scan(lambda s, k: (lambda r: (r[0], None))(alg.step(k, s)), s, jax.random.split(k, n))[0].position
    add('barker_chain', lambda x, k: drive(blackjax.barker(ld, .2), x, k, 60), f32(23), K)
    add('ghmc_chains', lambda x, k: jax.vmap(lambda x, k: (lambda alg: jax.lax.scan(lambda s, k: (alg.step(k, s)[0], None), alg.init(x, k), jax.random.split(k, 40))[0].position)(blackjax.ghmc(ld, .1, jnp.ones(23), .9, .3)))(x, k), f32(8, 23), np.stack([K + i for i in range(8)]))
    add('mclmc_chain', lambda x, k: (lambda alg: jax.lax.scan(lambda s, k: (alg.step(k, s)[0], None), alg.init(x, k), jax.random.split(k, 80))[0].position)(blackjax.mclmc(ld, 1., .1)), f32(101), K)
    A = np.linalg.cholesky(np.exp(-.5 * (np.arange(40)[:, None] - np.arange(40)) ** 2 / 9.) + 1e-3 * np.eye(40)).astype(np.float32)
    add('elliptical_slices', lambda x, k, L, y: drive(blackjax.elliptical_slice(lambda f: -jnp.sum(jax.nn.softplus(-y * f)), mean=jnp.zeros(40), cov=L @ L.T), x, k, 30), f32(40), K, A, np.sign(f32(40)))
    add('svgd_step', lambda x: (lambda alg: alg.step(alg.init(x)))(blackjax.svgd(jax.grad(ld), __import__('optax').sgd(.1))).particles, f32(67, 5))
    add('pathfinder_draws', lambda x, k: blackjax.vi.pathfinder.approximate(k, ld, x, 50, maxiter=10)[0].position, f32(17), K) if hasattr(blackjax.vi, 'pathfinder') else None
    # tinygp: quasisep sum, custom 2-d kernel, kronecker-ish
    t = np.sort(R.rand(203)).astype(np.float32) * 9
    def qs(p, t, y):
        k = tinygp.kernels.quasisep.Celerite(jnp.exp(p[0]), .05 * jnp.exp(p[1]), jnp.exp(p[2]), jnp.exp(p[2])) + tinygp.kernels.quasisep.Matern52(jnp.exp(p[3]))
        return tinygp.GaussianProcess(k, t, diag=2 + jnp.exp(p[4])).log_probability(y)
    add('celerite_matern_gradient', jax.value_and_grad(qs), f32(5) * .1, t, f32(203))
    def g2(p, x, y):
        k = jnp.exp(p[0]) * tinygp.transforms.Linear(jnp.exp(p[1:4]), tinygp.kernels.RationalQuadratic(alpha=1.3, distance=tinygp.kernels.distance.L2Distance())) * tinygp.kernels.Polynomial(order=2, sigma=2.) if False else jnp.exp(p[0]) * tinygp.transforms.Linear(jnp.exp(p[1:4]), tinygp.kernels.RationalQuadratic(alpha=1.3))
        return tinygp.GaussianProcess(k, x, diag=.1).log_probability(y)
    add('gp_ard_hessian', jax.hessian(g2), f32(4) * .1, f32(47, 3), f32(47))
    # distrax: masked spline coupling flow log_prob gradient
    def flow(ws, x):
        fl = []
        for i, (w1, w2) in enumerate(ws):
            mask = (np.arange(5) % 2 == i % 2)
            cond = lambda z, w1=w1, w2=w2: (jnp.tanh(z @ w1) @ w2).reshape(z.shape[:-1] + (5, 19))
            fl.append(distrax.MaskedCoupling(mask, cond, lambda p: distrax.RationalQuadraticSpline(p, -3., 3.)))
        return distrax.Transformed(distrax.MultivariateNormalDiag(jnp.zeros(5), jnp.ones(5)), distrax.Inverse(distrax.Chain(fl))).log_prob(x)
    add('spline_coupling_log_prob', lambda ws, x: flow(ws, x), [(f32(5, 33) * .3, f32(33, 95) * .2) for _ in range(3)], f32(71, 5))
    add('hmm_distrax_posterior', lambda i, t, m, o: distrax.HMM(distrax.Categorical(i), distrax.Categorical(t), distrax.MultivariateNormalDiag(m, jnp.ones_like(m))).forward_backward(o), f32(7), f32(7, 7), f32(7, 3), f32(151, 3))
    return P
