"""flowMC and coreax: chains whose proposals are flows, small sets in place of large ones."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('flowMC', 'coreax', 'equinox', 'optax')
FACTOR = 4096.0


def programs(jax):
    import coreax
    import coreax.solvers
    import equinox as eqx
    import jax.numpy as jnp
    import optax
    from flowMC.resource.kernel.Gaussian_random_walk import GaussianRandomWalk
    from flowMC.resource.kernel.HMC import HMC
    from flowMC.resource.kernel.MALA import MALA
    from flowMC.resource.model.nf_model.realNVP import RealNVP
    from flowMC.resource.model.nf_model.rqSpline import MaskedCouplingRQSpline

    R = Random(0)
    KEY = np.array([0, 43], np.uint32)
    P = Programs()
    add = P.add
    f32 = R.f32

    # Proposals by flows.
    def ring(x, data):
        return -0.5 * ((jnp.sqrt(jnp.sum(x ** 2)) - data[0]) / 0.3) ** 2 - 0.05 * x[0]

    center = np.array([2.0], np.float32)
    for name, kernel in (('walk', GaussianRandomWalk(np.full(4, 0.2, np.float32))), ('langevin_adjusted', MALA(np.full(4, 0.1, np.float32))),
                         ('hamiltonian_adjusted', HMC(np.ones(4, np.float32), 0.1, 5))):
        def local(key, x, data, kernel=kernel):
            log = jax.vmap(ring, (0, None))(x, data)

            def one(carry, key):
                x, log = carry
                x, log, accept = jax.vmap(lambda k, x, l: kernel.kernel(k, x, l, ring, data))(jax.random.split(key, len(x)), x, log)
                return (x, log), accept.mean()
            return jax.lax.scan(one, (x, log), jax.random.split(key, 12))
        add('local_' + name, local, KEY, f32(16, 4) + 1, center)
    tx = optax.adam(1e-3)
    for name, model in (('real_nvp', lambda key: RealNVP(4, 4, 32, key)), ('spline', lambda key: MaskedCouplingRQSpline(4, 3, [32, 32], 8, key))):
        arrays, static = eqx.partition(model(jax.random.key(3)), eqx.is_array)
        arrays = jax.tree.map(np.asarray, arrays)

        def train(w, x, static=static):
            moving, still = eqx.partition(w, eqx.is_inexact_array)

            def one(carry, _):
                moving, state = carry
                value, grads = jax.value_and_grad(lambda m: -jnp.mean(eqx.combine(m, still, static).log_prob(x)))(moving)
                updates, state = tx.update(grads, state)
                return (optax.apply_updates(moving, updates), state), value
            return jax.lax.scan(one, (moving, tx.init(moving)), None, length=3)[1]
        add('flow_' + name, train, arrays, f32(64, 4))
        add('flow_' + name + '_sample', lambda w, key, static=static: eqx.combine(w, static).sample(jax.random.wrap_key_data(key), 100), arrays, KEY)

        def propose(w, key, x, data, static=static):
            """Independent proposals of the flow, accepted one after the other."""
            flow = eqx.combine(w, static)
            draw, accept = jax.random.split(jax.random.wrap_key_data(key))
            new = flow.sample(draw, 50)
            weight = jax.vmap(ring, (0, None))(new, data) - flow.log_prob(new)

            def one(carry, step):
                x, now = carry
                key, y, then = step
                yes = jnp.log(jax.random.uniform(key)) < then - now
                return (jnp.where(yes, y, x), jnp.where(yes, then, now)), yes
            return jax.lax.scan(one, (x, ring(x, data) - flow.log_prob(x[None])[0]), (jax.random.split(accept, 50), new, weight))
        add('flow_' + name + '_proposals', propose, arrays, KEY, f32(4), center)

    # Small sets in place of large ones.
    points = np.concatenate([f32(150, 2), f32(100, 2) * np.float32(0.5) + 3])
    kernel = coreax.kernels.SquaredExponentialKernel(length_scale=0.8)
    add('herding', lambda x: coreax.solvers.KernelHerding(20, kernel).reduce(coreax.Data(x))[0].unweighted_indices, points)
    stein = coreax.kernels.SteinKernel(coreax.kernels.PCIMQKernel(length_scale=0.8), lambda x: -x)
    add('stein_thinning', lambda x: coreax.solvers.SteinThinning(20, stein, regularise=False).reduce(coreax.Data(x))[0].unweighted_indices, points)
    add('pivoted_cholesky', lambda key, x: coreax.solvers.RPCholesky(20, jax.random.wrap_key_data(key), kernel).reduce(coreax.Data(x))[0].unweighted_indices, KEY, points)
    add('discrepancy', lambda x, y: coreax.metrics.MMD(kernel).compute(coreax.Data(x), coreax.Data(y)), points, points[::10])
    add('stein_discrepancy', lambda x, y: coreax.metrics.KSD(coreax.kernels.PCIMQKernel(length_scale=0.8)).compute(coreax.Data(x), coreax.Data(y)), points, points[::10])
    add('weights', lambda x, y: coreax.weights.SBQWeightsOptimiser(kernel).solve(coreax.Data(x), coreax.Data(y), epsilon=1e-3), points, points[::10])
    return P
