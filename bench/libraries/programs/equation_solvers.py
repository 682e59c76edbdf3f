"""Differential equations, fits and linear systems; bodies of MJX and brax; sparse matrices, jax.scipy and jax.image."""
import os
import numpy as np
from by_value import Programs
from weights import Weights, section
NEEDS = ('diffrax', 'optimistix', 'lineax', 'jaxopt', 'mujoco.mjx', 'brax')
FACTOR = 2048.0
def programs(jax):
    os.environ['EQX_ON_ERROR'] = 'nan'  # Without callbacks, which no plugin has by itself.
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); R = Weights(jax, 7); add, f, u, i = P.add, R.f32, R.uniform_f32, R.i32
    KEY = np.array([14, 92], np.uint32); wrap = jax.random.wrap_key_data
    spd = lambda n: (lambda a: (a @ a.T / n + np.eye(n)).astype(np.float32))(R.randn(n, n))
    @section
    def dfx_():
        import diffrax as dfx
        def rd(y0):  # IMEX Gray-Scott in 1d
            L = lambda v: jnp.roll(v, 1, -1) - 2 * v + jnp.roll(v, -1, -1)
            ex = dfx.ODETerm(lambda t, y, a: jnp.stack([-y[0] * y[1] ** 2 + .04 * (1 - y[0]), y[0] * y[1] ** 2 - .1 * y[1]])); im = dfx.ODETerm(lambda t, y, a: jnp.stack([.2, .1] if False else [.2 * L(y[0]), .1 * L(y[1])]))
            return dfx.diffeqsolve(dfx.MultiTerm(ex, im), dfx.KenCarp3(), 0., 2., .25, y0, stepsize_controller=dfx.ConstantStepSize() if False else dfx.PIDController(1e-3, 1e-4), max_steps=64).ys
        add('diffrax_imex_reaction_diffusion', rd, u(2, 21))
        def nb(q, p, m):
            def force(t, q, a): d = q[None] - q[:, None]; r = (d ** 2).sum(-1) + .05; return (m[None, :, None] * d / r[..., None] ** 1.5).sum(1)
            return dfx.diffeqsolve((dfx.ODETerm(lambda t, p, a: p), dfx.ODETerm(force)), dfx.SemiImplicitEuler(), 0., 1., .02, (q, p), saveat=dfx.SaveAt(steps=True), max_steps=64).ys[0]
        add('diffrax_symplectic_bodies', nb, f(23, 3), f(23, 3, k=.1), u(23))
        def sde(k, th, y0):
            def one(k):
                bm = dfx.VirtualBrownianTree(0., 1., .02, (3,), k, levy_area=dfx.SpaceTimeLevyArea); return dfx.diffeqsolve(dfx.MultiTerm(dfx.ODETerm(lambda t, y, a: a * (1 - y)), dfx.ControlTerm(lambda t, y, a: .3 * jnp.eye(3), bm)), dfx.SRA1(), 0., 1., .05, y0, args=th, max_steps=32).ys[-1]
            return (jax.vmap(one)(jax.random.split(wrap(k), 13)) ** 2).mean()
        add('diffrax_sra1_sde_gradient', jax.grad(sde, 1), KEY, np.float32(1.3), f(3))
        def ncde(w, ts, xs):
            def one(xs):
                c = dfx.CubicInterpolation(ts, dfx.backward_hermite_coefficients(ts, xs)); term = dfx.ControlTerm(lambda t, y, a: jnp.tanh(jnp.tanh(y @ w[0]) @ w[1]).reshape(9, 3), c).to_ode(); return dfx.diffeqsolve(term, dfx.Heun() if False else dfx.Tsit5(), ts[0], ts[-1], .1, xs[0] @ w[2], stepsize_controller=dfx.ConstantStepSize(), max_steps=64).ys[-1] @ w[3]
            return (jax.vmap(one)(xs) ** 2).mean()
        add('diffrax_neural_cde_gradient', jax.grad(ncde), [f(9, 20, k=.3), f(20, 27, k=.2), f(3, 9), f(9, 2)], np.linspace(0, 2, 15).astype(np.float32), f(8, 15, 3))
        def back(w, y): return (jax.vmap(lambda y: dfx.diffeqsolve(dfx.ODETerm(lambda t, y, w: jnp.tanh(y @ w[0]) @ w[1]), dfx.Bosh3(), 0., 1., .1, y, args=w, adjoint=dfx.BacksolveAdjoint(), stepsize_controller=dfx.PIDController(1e-3, 1e-4), max_steps=64).ys[-1])(y) ** 2).mean()
        add('diffrax_backsolve_gradient', jax.grad(back), [f(6, 20, k=.3), f(20, 6, k=.3)], f(11, 6))
        def dense(y, q): s = dfx.diffeqsolve(dfx.ODETerm(lambda t, y, a: jnp.stack([y[1], 4. * (1 - y[0] ** 2) * y[1] - y[0]])), dfx.Dopri5(), 0., 8., .05, y, saveat=dfx.SaveAt(dense=True), stepsize_controller=dfx.PIDController(1e-4, 1e-5), max_steps=256); return jax.vmap(s.evaluate)(q), jax.vmap(s.derivative)(q)
        add('diffrax_dense_van_der_pol', dense, np.array([2., 0], np.float32), np.linspace(0, 8, 201).astype(np.float32))
        def stiffb(y0, k): return jax.vmap(lambda y, k: dfx.diffeqsolve(dfx.ODETerm(lambda t, y, a: jnp.stack([1 - y[0] * (k[0] + 1) + y[0] ** 2 * y[1], k[0] * y[0] - y[0] ** 2 * y[1]])), dfx.Kvaerno3(), 0., 4., .05, y, stepsize_controller=dfx.PIDController(1e-3, 1e-4), max_steps=256).ys[-1])(y0, k)
        add('diffrax_brusselators_kvaerno3', stiffb, u(9, 2, lo=.5, hi=2), u(9, 1, lo=1, hi=3))
    @section
    def optx_():
        import optimistix as optx, lineax as lx
        def deq(w, x, y):
            z = jax.vmap(lambda x: optx.fixed_point(lambda z, a: jnp.tanh(a[0] @ z + a[1] @ x), optx.FixedPointIteration(1e-4, 1e-4), jnp.zeros(33), args=w[:2], max_steps=60, throw=False).value)(x); return ((z @ w[2] - y) ** 2).mean()
        add('optimistix_deep_equilibrium_gradient', jax.grad(deq), [f(33, 33, k=.08), f(33, 12, k=.3), f(33, 4, k=.2)], f(17, 12), f(17, 4))
        add('optimistix_nelder_mead', lambda x: optx.minimise(lambda y, a: ((y[1:] - y[:-1] ** 2) ** 2).sum() + ((1 - y[:-1]) ** 2).sum(), optx.NelderMead(1e-4, 1e-4), x, max_steps=120, throw=False).value, f(5))
        add('optimistix_nonlinear_cg', lambda A, x: optx.minimise(lambda y, A: jnp.logaddexp(0, A @ y).sum() + .5 * (y ** 2).sum(), optx.NonlinearCG(1e-4, 1e-4), x, args=A, max_steps=40, throw=False).value, f(151, 27), f(27))
        add('optimistix_chord_batch', lambda a, x: jax.vmap(lambda a, x: optx.root_find(lambda y, a: y + .3 * jnp.sin(a @ y) - 1, optx.Chord(1e-4, 1e-4), x, args=a, max_steps=30, throw=False).value)(a, x), f(31, 7, 7, k=.3), f(31, 7))
        add('optimistix_indirect_lm', lambda p, t, y: optx.least_squares(lambda p, a: p[0] * jnp.exp(-a[0] * p[1]) * jnp.cos(p[2] * a[0] + p[3]) - a[1], optx.IndirectLevenbergMarquardt(1e-4, 1e-4), p, args=(t, y), max_steps=25, throw=False).value, np.array([1., .5, 2., .1], np.float32), u(211, hi=4), f(211))
        add('lineax_gmres_convection', lambda c, b: lx.linear_solve(lx.FunctionLinearOperator(lambda v: 2.2 * v - jnp.roll(v, 1) * (1 + c) - .9 * jnp.roll(v, -1), jax.ShapeDtypeStruct((203,), jnp.float32)), b, lx.GMRES(1e-4, 1e-4, restart=12, max_steps=40), throw=False).value, u(203, hi=.1), f(203))
        add('lineax_cg_preconditioned', lambda A, b: lx.linear_solve(lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag), b, lx.CG(1e-5, 1e-5, max_steps=60), options=dict(preconditioner=lx.DiagonalLinearOperator(1 / jnp.diag(A)) if False else lx.TaggedLinearOperator(lx.DiagonalLinearOperator(1 / jnp.diag(A)), lx.positive_semidefinite_tag)), throw=False).value, spd(131), f(131))
        add('lineax_normal_cg_jacobian', lambda x, b: lx.linear_solve(lx.JacobianLinearOperator(lambda x, a: jnp.tanh(x) + .1 * jnp.convolve(x, jnp.ones(5), 'same') + x, x), b, lx.NormalCG(1e-4, 1e-4, max_steps=40) if hasattr(lx, 'NormalCG') else lx.Normal(lx.CG(1e-4, 1e-4, max_steps=40)), throw=False).value, f(173), f(173))
        add('lineax_lsmr_damped', lambda A, b: lx.linear_solve(lx.MatrixLinearOperator(A), b, lx.LSMR(1e-4, 1e-4, max_steps=40), throw=False).value, f(211, 57), f(211))
        add('lineax_svd_batch', lambda A, b: jax.vmap(lambda A, b: lx.linear_solve(lx.MatrixLinearOperator(A), b, lx.SVD()).value)(A, b), f(19, 11, 6), f(19, 11))
    @section
    def jopt():
        import jaxopt
        add('jaxopt_box_qp', lambda Q, c: jaxopt.BoxCDQP(maxiter=25).run(jnp.zeros(37), params_obj=(Q, c), params_ineq=(-jnp.ones(37), jnp.ones(37))).params, spd(37), f(37))
        add('jaxopt_mirror_descent_simplex', lambda A, B: jaxopt.MirrorDescent(lambda x, A: ((A @ x - B) ** 2).mean() if False else jnp.logaddexp(0, A @ x).mean(), jaxopt.MirrorDescent.make_kl_projection() if hasattr(jaxopt.MirrorDescent, 'make_kl_projection') and False else jaxopt.projection.kl_projection_simplex if False else (lambda x, eta, hp: jax.nn.softmax(jnp.log(x) - eta) if False else jax.nn.softmax(jnp.log(x + 1e-9))), stepsize=.1, maxiter=20).run(jnp.ones(41) / 41, hyperparams_proj=None, A=A).params if False else lax.fori_loop(0, 40, lambda j, x: jax.nn.softmax(jnp.log(x + 1e-9) - .3 * jax.grad(lambda x: jnp.logaddexp(0, A @ x).mean() + B @ x)(x)), jnp.ones(41) / 41), f(101, 41), f(41))
        add('jaxopt_lbfgsb', lambda A, b: jaxopt.LBFGSB(lambda x, A, b: jnp.logaddexp(0, -b * (A @ x)).mean(), maxiter=12).run(jnp.zeros(21), bounds=(-.3 * jnp.ones(21), .3 * jnp.ones(21)), A=A, b=b).params, f(151, 21), np.sign(f(151)))
        add('jaxopt_projections', lambda x, M, a: [jax.vmap(jaxopt.projection.projection_l1_ball)(x), jaxopt.projection.projection_transport(M, (jnp.ones(13) / 13, jnp.ones(17) / 17), make_solver=lambda fun: jaxopt.LBFGS(fun=fun, maxiter=15)), jax.vmap(jaxopt.loss.multiclass_sparsemax_loss, (0, 0))(a, x[:, :9]), jaxopt.projection.projection_box_section(x[0], (-jnp.ones(31), jnp.ones(31), jnp.ones(31), .5))], f(23, 31), f(13, 17), i(9, 23))
        add('jaxopt_polyak_armijo', lambda X, y: [jaxopt.PolyakSGD(lambda w, X, y: ((X @ w - y) ** 2).mean(), max_stepsize=.3, maxiter=20).run(jnp.zeros(17), X=X, y=y).params, jaxopt.ArmijoSGD(lambda w, X, y: ((X @ w - y) ** 2).mean(), maxiter=15).run(jnp.zeros(17), X=X, y=y).params], f(121, 17), f(121))
        add('jaxopt_broyden_equilibrium', lambda a, x: jaxopt.Broyden(lambda x, a: x - jnp.tanh(a @ x) - .5, maxiter=15).run(x, a=a).params, f(29, 29, k=.05), f(29))
        add('jaxopt_eq_qp_gradient', jax.grad(lambda c, Q, A, b: (jaxopt.EqualityConstrainedQP().run(None, (Q, c), (A, b)).params.primal ** 2).sum()), f(31), spd(31), f(7, 31), f(7))
        add('optax_isotonic_sparsemax', lambda x, y: [jaxopt.isotonic.isotonic_l2_pav(x) if False else jax.nn.sparse_plus(x), jax.vmap(jaxopt.projection.projection_simplex)(y), jax.grad(lambda y: (jax.vmap(jaxopt.projection.projection_simplex)(y) ** 3).sum())(y)], f(301), f(61, 23))
    @section
    def mj():
        import mujoco; from mujoco import mjx
        x1 = '<mujoco><option timestep="0.01" iterations="4" ls_iterations="6"/><worldbody><geom type="plane" size="5 5 .1"/>' + ''.join(f'<body pos="{.3 * k} 0 {.5 + .2 * k}"><freejoint/><geom type="{t}" size="{s}"/></body>' for k, (t, s) in enumerate((('sphere', '.1'), ('capsule', '.08 .15'), ('sphere', '.12')))) + '</worldbody></mujoco>'
        def load(xml): m = mujoco.MjModel.from_xml_string(xml); d = mujoco.MjData(m); mujoco.mj_forward(m, d); return m, d
        def mk(name, xml, n, steps=1):
            m, d = load(xml); mx = mjx.put_model(m); dx = mjx.make_data(mx); 
            def go(q, v, c):
                def one(q, v, c):
                    d = dx.replace(qpos=q, qvel=v, ctrl=c) if m.nu else dx.replace(qpos=q, qvel=v)
                    d = lax.scan(lambda d, _: (mjx.step(mx, d), None), d, None, length=steps)[0]; return d.qpos, d.qvel, d.sensordata
                return jax.vmap(one)(q, v, c)
            add(name, go, np.tile(np.float32(d.qpos), (n, 1)) + .01 * f(n, m.nq), f(n, m.nv, k=.1), f(n, m.nu))
        mk('mjx_falling_bodies_contacts', x1, 5)
        x2 = '<mujoco><option timestep="0.005" integrator="RK4"><flag contact="disable"/></option><worldbody>' + ''.join(f'<body pos="0 0 {1 if k == 0 else -.3}"><joint name="j{k}" type="hinge" axis="0 1 0" damping=".05" limited="true" range="-150 150"/><geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03"/>' for k in range(5)) + '<site name="tip" pos="0 0 -.3"/>' + '</body>' * 5 + '</worldbody><tendon><fixed name="t"><joint joint="j0" coef="1"/><joint joint="j1" coef="-.5"/></fixed></tendon><actuator>' + ''.join(f'<motor joint="j{k}" gear="2"/>' for k in range(4)) + '<position tendon="t" kp="3"/></actuator><sensor><framepos objtype="site" objname="tip"/><jointvel joint="j2"/><tendonpos tendon="t"/></sensor></mujoco>'
        mk('mjx_chain_tendon_rk4', x2, 7)
    @section
    def brx():
        from brax import envs
        for name, be, n in (('hopper', 'generalized', 3), ('halfcheetah', 'spring', 7), ('reacher', 'generalized', 9), ('walker2d', 'positional', 5)):
            env = envs.get_environment(name, backend=be); st = jax.eval_shape(jax.vmap(env.reset), jax.ShapeDtypeStruct((n, 2), jnp.uint32)) if False else None
            def go(k, a, env=env, n=n):
                s = jax.vmap(env.reset)(jax.random.split(wrap(k), n)); s = lax.scan(lambda s, a: (lambda t: (t, t.reward))(jax.vmap(env.step)(s, a)), s, a); return s[0].obs, s[1]
            add(f'brax_{name}_{be}_rollout', go, KEY, f(2, n, env.action_size, k=.5))
    @section
    def sparse_():
        from jax.experimental import sparse as js
        def bc(n, m, k, b=()): ix = np.stack([np.sort(R.randint(0, n, k)), R.randint(0, m, k)], 1).astype(np.int32); return f(k), ix
        d, ix = bc(207, 153, 1301); d2, ix2 = bc(153, 91, 701)
        add('sparse_spgemm_dense', lambda d, ix, e, iy: (js.BCOO((d, ix), shape=(207, 153)) @ js.BCOO((e, iy), shape=(153, 91))).todense(), d[:301], ix[:301], d2[:201], ix2[:201])
        add('sparse_sparsify_gradient', jax.grad(lambda d, ix, x: (js.sparsify(lambda A, x: jnp.tanh(A @ x) * 2.)(js.BCOO((d, ix), shape=(207, 153)), x) ** 2).sum()), d, ix, f(153, 6))
        def bcsr(d, ix, v): ip = jnp.cumsum(jnp.bincount(ix[:, 0] + 1, length=208)); return js.BCSR((d, ix[:, 1], ip.astype(jnp.int32)), shape=(207, 153)) @ v
        add('sparse_bcsr_product', bcsr, d, ix, f(153, 11))
        add('sparse_reduce_transposed_batched', lambda d, ix: [js.bcoo_reduce_sum(js.BCOO((d, ix), shape=(7, 51, 43)), axes=(1,)).todense(), js.bcoo_transpose(js.BCOO((d, ix), shape=(7, 51, 43)), permutation=(0, 2, 1)).todense(), js.BCOO((d, ix), shape=(7, 51, 43)).sum_duplicates(nse=160).data], f(7, 171), np.stack([R.randint(0, 51, (7, 171)), R.randint(0, 43, (7, 171))], -1).astype(np.int32))
        add('sparse_page_rank', lambda d, ix, v: lax.fori_loop(0, 30, lambda j, v: .85 * (js.BCOO((jnp.abs(d) / jnp.maximum(jnp.zeros(153).at[ix[:, 1]].add(jnp.abs(d)), 1e-6)[ix[:, 1]], ix), shape=(207, 153)) @ v)[:153] + .15 / 153, v), d, ix, u(153))
    @section
    def scipy_():
        import jax.scipy as js, jax.scipy.optimize
        from jax.scipy.spatial.transform import Rotation, Slerp
        add('scipy_rotations_slerp', lambda q, t, v: [Rotation.from_quat(q).as_euler('xyz'), Rotation.from_rotvec(v).as_matrix(), (Rotation.from_quat(q) * Rotation.from_rotvec(v)).apply(v), Slerp.init(jnp.arange(207.), Rotation.from_quat(q))(t).as_quat(), Rotation.from_quat(q).mean().as_quat()], f(207, 4), u(301, hi=206), f(207, 3))
        add('scipy_kde_weights', lambda x, q, w: (lambda k: [k.evaluate(q), k.logpdf(q), k.integrate_box_1d(-1, 1) if False else k.integrate_gaussian(jnp.zeros(2), jnp.eye(2))])(js.stats.gaussian_kde(x, weights=w)), f(2, 301), f(2, 157), u(301))
        add('scipy_regular_grid', lambda g, q: [js.interpolate.RegularGridInterpolator((jnp.linspace(0, 1, 19), jnp.linspace(0, 1, 23), jnp.linspace(0, 1, 17)), g, m, bounds_error=False, fill_value=0.)(q) for m in ('linear', 'nearest')], f(19, 23, 17), u(907, 3, hi=1.05))
        add('scipy_map_coordinates_wrap', lambda g, c: [js.ndimage.map_coordinates(g, c, order=1, mode=m) for m in ('wrap', 'mirror', 'nearest', 'constant')], f(47, 61), u(2, 1801, lo=-9, hi=70))
        add('scipy_minimize_bfgs', lambda x, A: js.optimize.minimize(lambda w: jnp.logaddexp(0, A @ w).sum() + (w ** 2).sum(), x, method='BFGS', options=dict(maxiter=15)).x, f(13), f(91, 13))
        add('scipy_special_series', lambda x, a, b: [js.special.hyp1f1(a, b, x), js.special.expi(x), js.special.expn(jnp.full(x.shape, 3), x), js.special.betainc(a, b, jnp.clip(x / 6, .01, .99)), js.special.gammainc(a, x), js.special.zeta(a + 1.1, b), js.special.polygamma(2, b), js.special.spence(x), js.special.bernoulli(8), js.special.i0e(x), js.special.rel_entr(a, b), js.special.log_softmax(x)], u(301, lo=.1, hi=5), u(301, lo=.2, hi=3), u(301, lo=.3, hi=4))
        add('scipy_special_gradients', jax.grad(lambda x, a, b: (js.special.betainc(2.5, 3.5, x / 6) + js.special.gammaincc(a, x) + js.special.betaln(a, b) + js.special.ndtri(x / 6) + js.special.erfinv(x / 6) + js.special.i1(x)).sum(), (0, 1, 2)), u(203, lo=.1, hi=5), u(203, lo=.2, hi=3), u(203, lo=.3, hi=4))
        add('scipy_bessel_sph', lambda z, th, ph: [js.special.bessel_jn(z, v=6, n_iter=30), js.special.sph_harm_y(jnp.full(th.shape, 3), jnp.full(th.shape, 2), th, ph, n_max=4).real], u(151, lo=.5, hi=9), u(151, hi=3), u(151, hi=6))
        add('scipy_linalg_assorted', lambda A, S, c: [js.linalg.expm(A * .3), js.linalg.toeplitz(c), js.linalg.block_diag(A, S), js.linalg.cho_solve(js.linalg.cho_factor(S), A), js.linalg.hilbert(17), js.linalg.polar(A)[0], jnp.linalg.multi_dot([A, S, A, S])], f(31, 31, k=.3), spd(31), f(31))
        add('scipy_welch_detrended', lambda x: [js.signal.welch(x, nperseg=128, noverlap=64)[1], js.signal.detrend(x), js.signal.csd(x, x[::-1], nperseg=100)[1], js.signal.stft(x[0], nperseg=90)[2]], f(5, 1003))
        add('cluster_vq_assign', lambda x, c: lax.fori_loop(0, 5, lambda j, c: (lambda k: jax.ops.segment_sum(x, k, 19) / (jnp.bincount(k, length=19) + 1e-3)[:, None])(js.cluster.vq.vq(x, c)[0]), c), f(1003, 7), f(19, 7))
        add('scipy_stats_tests', lambda x, a: [js.stats.norm.logcdf(x), js.stats.t.logpdf(x, 3.), js.stats.nbinom.logpmf(jnp.abs(jnp.round(x)), 4, .3), js.stats.vonmises.logpdf(x, 2.), js.stats.gennorm.cdf(x, 1.4), js.stats.truncnorm.logpdf(x, -2., 2.), js.stats.wrapcauchy.pdf(jnp.abs(x), .4), js.stats.mode(a, axis=1).mode, js.stats.rankdata(x), js.stats.sem(a), js.stats.beta.cdf(jax.nn.sigmoid(x), 2., 3.), js.stats.gamma.sf(jnp.abs(x), 2.), js.stats.chi2.logsf(jnp.abs(x), 3.)], f(403), i(9, 31, 27))
        from jax.experimental.ode import odeint; from jax.experimental import jet
        add('experimental_odeint_gradient', jax.grad(lambda w, y, t: (odeint(lambda y, t, w: jnp.tanh(y @ w), y, t, w, rtol=1e-3, atol=1e-3) ** 2).sum()), f(13, 13, k=.3), f(4, 13), np.linspace(0, 1, 5).astype(np.float32))
        add('experimental_jet_taylor', lambda w, x: jax.vmap(lambda x: jet.jet(lambda x: (jnp.tanh(jnp.sin(x @ w[0]) @ w[1])).sum(), (x,), ([jnp.ones(6), jnp.zeros(6), jnp.zeros(6), jnp.zeros(6)],)))(x), [f(6, 40, k=.4), f(40, 7, k=.3)], f(51, 6))
        from jax.experimental import checkify
        add('checkify_guarded', lambda x, ix: checkify.checkify(lambda x, ix: jnp.log(x[ix]) / x.sum(), errors=checkify.float_checks | checkify.index_checks)(x, ix)[1], u(501) + .1, i(501, 1301))
    @section
    def im():
        add('image_cubic_antialias_gradient', jax.grad(lambda x: (jax.image.resize(x, (3, 37, 29, 3), 'cubic') ** 2).sum()), f(3, 61, 53, 3))
        add('image_scale_translate_lanczos5', lambda x, s, t: jax.image.scale_and_translate(x, (71, 83, 3), (0, 1), s, t, 'lanczos5'), f(53, 47, 3), np.array([1.3, 1.6], np.float32), np.array([.7, -2.], np.float32))
    return P
