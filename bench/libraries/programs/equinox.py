"""Equinox, Diffrax, Optimistix, Lineax: models as trees, differential equations, roots, linear solves."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('equinox', 'diffrax', 'optimistix', 'lineax', 'optax')
FACTOR = 1024.0  # Adaptive steps and iterations add up roundings.


def programs(jax):
    import diffrax as dfx
    import equinox as eqx
    import jax.numpy as jnp
    import lineax as lx
    import optax
    import optimistix as optx

    R = Random(0)
    KEY = np.array([0, 3], np.uint32)
    P = Programs()
    add = P.add
    f32 = R.f32

    # A neural differential equation, trained.
    class Field(eqx.Module):
        mlp: eqx.nn.MLP

        def __call__(self, t, y, args):
            return self.mlp(y)

    def lazily(make):
        """(maker of a module's arrays, the rest of it)."""
        module = eqx.filter_eval_shape(make, KEY)
        is_array = lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)  # noqa: E731
        return (lambda: jax.jit(lambda key: eqx.filter(make(key), eqx.is_array))(KEY)), eqx.partition(module, is_array)[1]

    weights, static = lazily(lambda key: Field(eqx.nn.MLP(2, 2, 32, 2, jax.nn.softplus, key=key)))
    times = np.linspace(0, 2, 20).astype(np.float32)

    def solve(weights, y0):
        return dfx.diffeqsolve(dfx.ODETerm(eqx.combine(weights, static)), dfx.Tsit5(), t0=0.0, t1=2.0, dt0=0.1, y0=y0,
                               stepsize_controller=dfx.PIDController(rtol=1e-3, atol=1e-6), saveat=dfx.SaveAt(ts=times)).ys

    add('neural_ode_gradient', lambda w, y: jax.value_and_grad(lambda w: jnp.mean(jax.vmap(solve, (None, 0))(w, y) ** 2))(w), weights, f32(8, 2))

    def lorenz(t, y, args):
        a, b, c = args
        return jnp.stack([a * (y[1] - y[0]), y[0] * (b - y[2]) - y[1], y[0] * y[1] - c * y[2]])

    add('lorenz_dopri8', lambda y, a: dfx.diffeqsolve(dfx.ODETerm(lorenz), dfx.Dopri8(), 0, 2, 0.01, y, args=a, saveat=dfx.SaveAt(dense=True),
                                                      stepsize_controller=dfx.PIDController(rtol=1e-5, atol=1e-5)).evaluate(1.3),
        np.array([1, 1, 1.5], np.float32), np.array([10, 28, 8 / 3], np.float32))

    def robertson(t, y, args):
        k1, k2, k3 = args
        f0 = -k1 * y[0] + k3 * y[1] * y[2]
        f1 = k1 * y[0] - k2 * y[1] ** 2 - k3 * y[1] * y[2]
        return jnp.stack([f0, f1, k2 * y[1] ** 2])

    add('stiff_kvaerno5', lambda y, a: dfx.diffeqsolve(dfx.ODETerm(robertson), dfx.Kvaerno5(), 0.0, 100.0, 2e-4, y, args=a,
                                                       stepsize_controller=dfx.PIDController(rtol=1e-4, atol=1e-6)).ys,
        np.array([1, 0, 0], np.float32), np.array([0.04, 300, 100], np.float32))

    def noisy(key):
        drift, diffusion = (lambda t, y, a: -y), (lambda t, y, a: 0.1 * jnp.cos(y) * t)
        path = dfx.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(), key=key)
        terms = dfx.MultiTerm(dfx.ODETerm(drift), dfx.ControlTerm(diffusion, path))
        return dfx.diffeqsolve(terms, dfx.EulerHeun(), 0.0, 1.0, 0.01, jnp.ones(()), saveat=dfx.SaveAt(ts=jnp.linspace(0, 1, 10))).ys

    add('sde_paths', jax.vmap(noisy), R.randint(0, 1 << 30, (16, 2)).astype(np.uint32))

    def event(y0):
        def bounce(t, y, args, **kw):
            return y[0]
        solution = dfx.diffeqsolve(dfx.ODETerm(lambda t, y, a: jnp.stack([y[1], -9.8 + 0 * y[0]])), dfx.Tsit5(), 0.0, jnp.inf, 0.1, y0,
                                   event=dfx.Event(bounce, optx.Newton(1e-5, 1e-5, optx.rms_norm)))
        return solution.ts, solution.ys

    add('event_root', event, np.array([10, 0], np.float32))

    class Cell(eqx.Module):
        cell: eqx.nn.GRUCell
        linear: eqx.nn.Linear

        def __call__(self, xs):
            state, _ = jax.lax.scan(lambda s, x: (self.cell(x, s), None), jnp.zeros(16), xs)
            return jax.nn.sigmoid(self.linear(state))

    cell, cell_static = lazily(lambda key: Cell(eqx.nn.GRUCell(2, 16, key=key), eqx.nn.Linear(16, 1, key=key)))
    tx = optax.adam(3e-3)

    def spiral_step(cell, state, x, y):
        def loss(c):
            p = jax.vmap(eqx.combine(c, cell_static))(x)[:, 0]
            return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))
        value, grads = eqx.filter_value_and_grad(loss)(cell)
        updates, state = tx.update(grads, state)
        return value, eqx.apply_updates(cell, updates), state

    add('gru_step', spiral_step, cell, lambda: jax.jit(tx.init)(cell()), f32(32, 16, 2), R.randint(0, 2, 32).astype(np.float32))

    unet_weights, unet_static = lazily(lambda key: eqx.nn.Sequential([
        eqx.nn.Conv2d(3, 16, 3, padding=1, key=key), eqx.nn.GroupNorm(4, 16), eqx.nn.Lambda(jax.nn.silu),
        eqx.nn.Conv2d(16, 32, 3, stride=2, padding=1, key=key), eqx.nn.Lambda(jax.nn.silu),
        eqx.nn.ConvTranspose2d(32, 3, 4, stride=2, padding=1, key=key)]))
    add('unet_gradient', jax.grad(lambda w, x: jnp.mean((jax.vmap(eqx.combine(w, unet_static))(x) - x) ** 2)), unet_weights, f32(4, 3, 16, 16))

    # Roots, least squares, minimisation.
    def residual(y, args):
        return jnp.stack([y[0] ** 2 + y[1] ** 2 - args, jnp.exp(y[0]) + y[1] - 1.0])

    add('newton_implicit', jax.value_and_grad(lambda a: optx.root_find(residual, optx.Newton(1e-5, 1e-5), jnp.array([-1.8, 0.8]), args=a).value.sum()),
        np.float32(4))

    def fit(y, args):
        x, target = args
        return y[0] * jnp.exp(-y[1] * x) + y[2] - target

    xs = np.linspace(0, 4, 50).astype(np.float32)
    add('levenberg_marquardt', lambda x, t: optx.least_squares(fit, optx.LevenbergMarquardt(1e-5, 1e-5), jnp.ones(3), args=(x, t)).value,
        xs, (2.5 * np.exp(-1.3 * xs) + 0.5 + 0.01 * R.randn(50)).astype(np.float32))
    add('bfgs', lambda x: optx.minimise(lambda y, a: (1 - y[0]) ** 2 + 100 * (y[1] - y[0] ** 2) ** 2, optx.BFGS(1e-4, 1e-4), x, max_steps=400, throw=False).value,
        np.array([-1.2, 1], np.float32))
    add('dogleg', lambda x, t: optx.least_squares(fit, optx.Dogleg(1e-5, 1e-5), jnp.ones(3), args=(x, t)).value,
        xs, (2.5 * np.exp(-1.3 * xs) + 0.5 + 0.01 * R.randn(50)).astype(np.float32))

    a = f32(24, 24)
    spd = (a @ a.T + 24 * np.eye(24)).astype(np.float32)
    add('lineax_solvers', lambda m, b: [lx.linear_solve(lx.MatrixLinearOperator(m, tags), b, solver).value for tags, solver in
                                        [((), lx.LU()), (lx.positive_semidefinite_tag, lx.Cholesky()), ((), lx.QR()), ((), lx.SVD()),
                                         (lx.positive_semidefinite_tag, lx.CG(1e-5, 1e-5)), ((), lx.GMRES(1e-5, 1e-5)), ((), lx.BiCGStab(1e-5, 1e-5))]], spd, f32(24))
    add('lineax_gradient', jax.grad(lambda m, b: lx.linear_solve(lx.MatrixLinearOperator(m), b, lx.AutoLinearSolver(well_posed=False)).value.sum()), spd, f32(24))
    add('tridiagonal', lambda d, l, u, b: lx.linear_solve(lx.TridiagonalLinearOperator(d, l, u), b, lx.Tridiagonal()).value,
        (np.abs(f32(200)) + 4).astype(np.float32), f32(199), f32(199), f32(200))
    return P
