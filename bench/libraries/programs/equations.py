"""Diffrax, Optimistix, Lineax, jax.experimental.ode."""
import numpy as np
from by_value import Programs, Random
NEEDS = ('diffrax', 'lineax', 'optimistix')
R = Random(1203)
f32, i32 = R.f32, R.i32
FACTOR = 4096.0

def programs(jax):
    import diffrax as dfx
    import jax.numpy as jnp
    import lineax as lx
    import optimistix as optx
    from jax.experimental.ode import odeint
    P = Programs(); add = P.add
    K = np.array([4, 8], np.uint32)
    # orbits of three bodies with Tsit5, dense saves
    def three(t, y, m):
        r, v = y[:3], y[3:]
        d = r[None] - r[:, None]; n = jnp.sum(d ** 2, -1) + .01
        return jnp.concatenate([v, jnp.sum(m[None, :, None] * d * n[..., None] ** -1.5, 1)])
    def orb(y, m):
        return dfx.diffeqsolve(dfx.ODETerm(three), dfx.Tsit5(), 0., 3., .01, y, m, saveat=dfx.SaveAt(ts=jnp.linspace(0, 3, 53)), stepsize_controller=dfx.PIDController(1e-4, 1e-6)).ys
    y0 = np.array([[1, 0, 0], [-1, .1, 0], [0, 1, .2], [0, .5, 0], [0, -.5, .1], [.3, 0, 0]], np.float32)
    add('three_bodies_tsit5', orb, y0, np.array([1, 1, .5], np.float32))
    # backsolve adjoint of lotka volterra
    def lv(t, y, p): return jnp.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])
    def lvl(p, adj, solver):
        s = dfx.diffeqsolve(dfx.ODETerm(lv), solver, 0., 8., .05, jnp.array([1., .5]), p, saveat=dfx.SaveAt(ts=jnp.linspace(0, 8, 17)), adjoint=adj, stepsize_controller=dfx.ConstantStepSize() )
        return jnp.sum((s.ys - 1.) ** 2)
    add('lotka_backsolve_gradient', jax.grad(lambda p: lvl(p, dfx.BacksolveAdjoint(), dfx.Heun())), np.array([1., .8, .7, .6], np.float32))
    add('lotka_recursive_checkpoint_gradient', jax.grad(lambda p: lvl(p, dfx.RecursiveCheckpointAdjoint(checkpoints=12), dfx.Bosh3())), np.array([1., .8, .7, .6], np.float32))
    add('lotka_forward_mode_jacobian', jax.jacfwd(lambda p: dfx.diffeqsolve(dfx.ODETerm(lv), dfx.Dopri5(), 0., 8., .05, jnp.array([1., .5]), p, adjoint=dfx.ForwardMode()).ys), np.array([1., .8, .7, .6], np.float32))
    # robertson with Kvaerno3 over a batch of rates
    def rob(t, y, k):
        a, b, c = y; r1, r2, r3 = k[0] * a, k[1] * b * b, k[2] * b * c
        return jnp.stack([-r1 + r3, r1 - r2 - r3, r2])
    def stiff(k): return dfx.diffeqsolve(dfx.ODETerm(rob), dfx.Kvaerno3(), 0., 5., 1e-3, jnp.array([1., 0., 0.]), k, stepsize_controller=dfx.PIDController(1e-3, 1e-5), max_steps=2000).ys
    add('robertson_kvaerno_batch', jax.vmap(stiff), (np.array([.04, 3e3, 1e2]) * (1 + .2 * R.rand(7, 3))).astype(np.float32))
    # SDE with Milstein, virtual brownian tree, batch of paths
    def sde(k):
        bm = dfx.VirtualBrownianTree(0., 1., 1e-2, (), k)
        return dfx.diffeqsolve(dfx.MultiTerm(dfx.ODETerm(lambda t, y, a: -y + jnp.sin(t)), dfx.ControlTerm(lambda t, y, a: .3 * y + .1, bm)), dfx.ItoMilstein(), 0., 1., .02, 1.).ys
    add('milstein_paths', jax.vmap(sde), np.stack([K + i for i in range(50)]).astype(np.uint32))
    # bouncing ball with events
    def ball(h):
        ev = dfx.Event(lambda t, y, args, **k: y[0], optx.Newton(1e-4, 1e-4))
        s = dfx.diffeqsolve(dfx.ODETerm(lambda t, y, a: jnp.stack([y[1], -9.8 - .1 * y[1] * jnp.abs(y[1])])), dfx.Tsit5(), 0., 10., .05, jnp.stack([h, 0.]), event=ev, stepsize_controller=dfx.PIDController(1e-4, 1e-5))
        return s.ts, s.ys
    add('falling_balls_events', jax.vmap(ball), (R.rand(23) * 5 + 1).astype(np.float32))
    # neural CDE on splines
    def cde(w, w2, ts, xs):
        co = dfx.backward_hermite_coefficients(ts, xs); ctl = dfx.CubicInterpolation(ts, co)
        f = lambda t, y, a: jnp.tanh((w2 @ jnp.tanh(w @ y)).reshape(8, 3))
        return dfx.diffeqsolve(dfx.ControlTerm(f, ctl).to_ode(), dfx.Tsit5(), ts[0], ts[-1], .1, jnp.ones(8) * .1).ys[-1]
    add('neural_cde', lambda w, w2, ts, xs: jax.vmap(lambda xs: cde(w, w2, ts, xs))(xs), f32(21, 8) * .3, f32(24, 21) * .2, np.linspace(0, 2, 31).astype(np.float32), f32(11, 31, 3) * .3)
    # experimental.ode odeint with gradient
    def damp(y, t, p): return jnp.stack([y[1], -p[0] * y[0] - p[1] * y[1] + jnp.sin(p[2] * t)])
    add('odeint_adjoint_gradient', jax.grad(lambda p, y, t: jnp.sum(odeint(damp, y, t, p, rtol=1e-4, atol=1e-5) ** 2)), np.array([2., .3, 1.1], np.float32), f32(2), np.linspace(0, 3, 9).astype(np.float32))
    # optimistix
    xd, yd = np.linspace(0, 4, 71).astype(np.float32), None
    yd = (2 * np.exp(-1.3 * xd) * np.cos(2 * xd) + .05 * R.randn(71)).astype(np.float32)
    res = lambda p, a: p[0] * jnp.exp(-p[1] * a[0]) * jnp.cos(p[2] * a[0] + p[3]) - a[1]
    def lm(p, x, y): return optx.least_squares(res, optx.LevenbergMarquardt(1e-4, 1e-4), p, (x, y), max_steps=30, throw=False).value
    add('fitted_decays_lm_batch', jax.vmap(lm, (0, None, None)), (np.array([1.5, 1., 1.8, .1]) + .2 * R.randn(17, 4)).astype(np.float32), xd, yd)
    add('fixed_point_of_tanh', lambda W, b: optx.fixed_point(lambda y, a: jnp.tanh(W @ y + b), optx.FixedPointIteration(1e-5, 1e-5), jnp.zeros(173), throw=False).value, f32(173, 173) * .05, f32(173))
    add('root_chord_implicit_gradient', jax.grad(lambda t, b: jnp.sum(optx.root_find(lambda y, a: y + a * jnp.sin(y) + .1 * jnp.roll(y, 1) ** 3 - b, optx.Newton(1e-5, 1e-5), jnp.zeros(29), t, throw=False).value)), np.float32(.4), f32(29))
    add('nonlinear_cg_rosenbrock', lambda y: optx.minimise(lambda y, a: jnp.sum(100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2), optx.NonlinearCG(1e-3, 1e-3), y, max_steps=40, throw=False).value, f32(9) * .5 - .8)
    # lineax
    pos = (lambda a: (a @ a.T / 50 + np.eye(50)).astype(np.float32))(R.randn(50, 50))
    add('lineax_cg_function', lambda a, b: lx.linear_solve(lx.FunctionLinearOperator(lambda v: a @ v, jax.ShapeDtypeStruct((50,), np.float32), lx.positive_semidefinite_tag), b, lx.CG(1e-5, 1e-5), throw=False).value, pos, f32(50))
    add('lineax_gmres_jacobian', lambda x, b: lx.linear_solve(lx.JacobianLinearOperator(lambda y, a: y * 2 + jnp.tanh(jnp.roll(y, 1)) * .5 + .1 * y ** 3, x), b, lx.GMRES(1e-4, 1e-4, restart=15), throw=False).value, f32(83), f32(83))
    add('lineax_tridiagonals_batch', jax.vmap(lambda d, l, u, b: lx.linear_solve(lx.TridiagonalLinearOperator(d + 4, l, u), b, lx.Tridiagonal()).value), f32(13, 97), f32(13, 96), f32(13, 96), f32(13, 97))
    return P
