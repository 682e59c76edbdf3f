"""vbjax, cuthbert and PhiFlow: masses of neurons with delays between them, filters of hidden states, and flows on grids."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('vbjax', 'cuthbert', 'phi', 'phiml')
FACTOR = 4096.0


def programs(jax):
    import jax.numpy as jnp
    import vbjax
    from cuthbert import filter as run_filter
    from cuthbert import smoother as run_smoother
    from cuthbert.gaussian import kalman

    R = Random(0)
    P = Programs()
    add = P.add

    # Masses of neurons.
    regions, steps = 40, 100
    weights = R.share(regions, regions) * (R.share(regions, regions) < 0.3) * np.float32(0.2)
    noise = R.f32(steps, 2, regions)

    def network(x, weights, p):
        return vbjax.mpr_dfun(x, (weights @ x[0], jnp.zeros(())), p)

    def masses(start, noise, weights, eta):
        _, loop = vbjax.make_sde(0.01, lambda x, p: network(x, p[0], p[1]), 0.1, adhoc=vbjax.mpr_r_positive)
        return loop(start, noise, (weights, vbjax.mpr_default_theta._replace(eta=eta)))
    start = np.stack([R.share(regions) * np.float32(0.1), -2 + R.f32(regions) * np.float32(0.1)])
    add('masses', masses, start, noise, weights, np.float32(-4.6))
    add('masses_swept', jax.vmap(masses, (None, None, None, 0)), start, noise, weights, np.linspace(-5, -4, 16).astype(np.float32))
    add('masses_gradient', jax.grad(lambda eta, s, n, w: jnp.mean(masses(s, n, w, eta)[:, 0]), 0), np.float32(-4.6), start, noise, weights)

    def rhythms(start, noise, weights):
        _, loop = vbjax.make_sde(0.1, lambda x, p: vbjax.jr_dfun(x, weights @ (x[1] - x[2]), p), 0.01)
        return loop(start, noise, vbjax.jr_default_theta)
    add('rhythms', rhythms, R.f32(6, regions) * np.float32(0.1), R.f32(60, 6, regions), weights * np.float32(1e-3))

    def delayed(lags, weights, noise):
        nh, who = 30, jnp.arange(regions)

        def change(xt, x, t, p):
            past = xt[t - lags, 0, who[None]]
            return vbjax.mpr_dfun(x, (jnp.sum(weights * past, 1), jnp.zeros(())), p)
        _, loop = vbjax.make_sdde(0.01, nh, change, 0.05, adhoc=vbjax.mpr_r_positive)
        history = jnp.zeros((nh + 1, 2, regions)) + jnp.array([0.1, -2.0])[None, :, None]
        return loop(jnp.concatenate([history, noise]), vbjax.mpr_default_theta)[0]
    add('masses_with_delays', delayed, R.i32(30, regions, regions) % 29 + 1, weights, R.f32(60, 2, regions))

    def seen_in_blood(rates):
        buffer, step, sample = vbjax.make_bold((regions,), 0.05, vbjax.bold_default_theta)

        def one(buffer, x):
            buffer = step(buffer, x)
            return buffer, sample(buffer)[1]
        return jax.lax.scan(one, buffer, rates)[1]
    add('seen_in_blood', seen_in_blood, R.share(200, regions) * np.float32(0.5))

    # Hidden states.
    turn = np.array([[1, 0.1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]], np.float32)
    look = np.array([[1, 0, 0, 0], [0, 0, 1, 0]], np.float32)
    observed = np.cumsum(R.f32(64, 2), 0) * np.float32(0.3)

    def linear(parallel, smooth):
        def run(turn, look, y):
            inputs = jnp.arange(1, len(y) + 1)
            f = kalman.build_filter(jnp.zeros(4), jnp.eye(4), lambda i: (turn, jnp.zeros(4), 0.1 * jnp.eye(4)), lambda i: (look, jnp.zeros(2), 0.3 * jnp.eye(2), y[i - 1]))
            states = run_filter(f, inputs, f.init_prepare(), parallel=parallel)
            if smooth:
                states = run_smoother(kalman.build_smoother(lambda i: (turn, jnp.zeros(4), 0.1 * jnp.eye(4))), states, inputs, parallel=parallel)
            return states.mean
        return run
    for name, parallel, smooth in (('kalman', False, False), ('kalman_parallel', True, False), ('kalman_smoothed', False, True), ('kalman_smoothed_parallel', True, True)):
        add(name, linear(parallel, smooth), turn, look, observed)
    add('kalman_likelihood_gradient', jax.grad(lambda turn, look, y: jnp.sum(linear(False, False)(turn, look, y) ** 2)), turn, look, observed)

    # Flows.
    from phi.jax import flow

    def smoke(buoyancy):
        def run(density, velocity_x, velocity_y):
            box = flow.Box(x=32, y=32)
            d = flow.CenteredGrid(flow.tensor(density, flow.spatial('x,y')), flow.extrapolation.BOUNDARY, box)
            v = flow.StaggeredGrid(0, 0, box, x=32, y=32)
            for _ in range(2):
                d = flow.advect.mac_cormack(d, v, 1.0)
                v = flow.advect.semi_lagrangian(v, v, 1.0) + (d * (0, buoyancy)).at(v)
                v, _ = flow.fluid.make_incompressible(v, (), flow.Solve('CG', 1e-3, max_iterations=60))
            return d.values.native('x,y'), v.at_centers().values.native('x,y,vector')
        return run
    add('smoke', smoke(0.1), R.share(32, 32), np.float32(0), np.float32(0))

    def advected(kind):
        def run(density, vx, vy):
            box = flow.Box(x=48, y=48)
            d = flow.CenteredGrid(flow.tensor(density, flow.spatial('x,y')), flow.extrapolation.PERIODIC, box)
            v = flow.CenteredGrid(flow.stack([flow.tensor(vx, flow.spatial('x,y')), flow.tensor(vy, flow.spatial('x,y'))], flow.channel(vector='x,y')), flow.extrapolation.PERIODIC, box)
            for _ in range(4):
                d = flow.diffuse.explicit(kind(d, v, 0.5), 0.1, 0.5)
            return d.values.native('x,y')
        return run
    add('advected', advected(flow.advect.semi_lagrangian), R.share(48, 48), R.f32(48, 48), R.f32(48, 48))
    add('advected_corrected', advected(flow.advect.mac_cormack), R.share(48, 48), R.f32(48, 48), R.f32(48, 48))
    return P
