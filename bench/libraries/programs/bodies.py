"""Sparse matrices, graphs by Jraph, bodies by MJX, simulations."""
import numpy as np
from by_value import Programs, Random
NEEDS = ('jraph', 'brax', 'mujoco.mjx')
R = Random(1207)
f32, i32 = R.f32, R.i32
FACTOR = 2048.0

def programs(jax):
    import jax.numpy as jnp
    import jraph
    from jax import lax
    from jax.experimental import sparse
    P = Programs(); add = P.add
    ij = lambda n, m, k: np.stack([R.randint(0, n, k), R.randint(0, m, k)], 1).astype(np.int32)
    ix = ij(301, 203, 2003); ix = ix[np.lexsort((ix[:, 1], ix[:, 0]))]
    mk = lambda d, i, s=(301, 203): sparse.BCOO((d, i), shape=s)
    add('bcoo_times_vector', lambda d, i, v: mk(d, i) @ v, f32(2003), ix, f32(203))
    add('bcoo_transposed_times_matrix', lambda d, i, v: mk(d, i).T @ v, f32(2003), ix, f32(301, 13))
    add('bcoo_least_squares_cg', lambda d, i, b: jax.scipy.sparse.linalg.cg(lambda v: mk(d, i).T @ (mk(d, i) @ v) + v, b, maxiter=10, tol=1e-7)[0], f32(2003) * .2, ix, f32(203))
    add('bcoo_sum_duplicates_todense', lambda d, i: (mk(d, i).sum_duplicates(nse=2003).data, mk(d, i).todense(), mk(d, i).sum(0).todense()), f32(2003), ix)
    add('bcoo_sampled_dense_gradient', lambda d, i, v: jax.grad(lambda d, v: jnp.sum(jnp.tanh(mk(d, i) @ v) ** 2), (0, 1))(d, v), f32(2003), ix, f32(203, 5))
    add('bcsr_times_dense', lambda d, c, p, v: sparse.BCSR((d, c, p), shape=(301, 203)) @ v, f32(2003), ix[:, 1].copy(), np.searchsorted(ix[:, 0], np.arange(302)).astype(np.int32), f32(203, 7))
    add('sparsified_polynomial', lambda d, i, v: sparse.sparsify(lambda A, v: 2 * (A * A) @ v + jnp.sin(A).sum(1).todense() if False else 2 * (A @ v) - 3. * ((-A) @ v))(mk(d, i), v), f32(2003), ix, f32(203))
    # jraph
    gn = dict(senders=i32(97, 503), receivers=i32(97, 503))
    def gt(n, e, s, r): return jraph.GraphsTuple(nodes=n, edges=e, senders=s, receivers=r, n_node=jnp.array([40, 57]), n_edge=jnp.array([203, 300]), globals=jnp.ones((2, 5)))
    def inet(ws, n, e, s, r):
        w1, w2, w3 = ws
        net = jraph.GraphNetwork(lambda e, s, r, g: jax.nn.relu(jnp.concatenate([e, s, r, g], 1) @ w1), lambda n, s, r, g: jax.nn.relu(jnp.concatenate([n, s, r, g], 1) @ w2), lambda n, e, g: jnp.concatenate([n, e, g], 1) @ w3,
            aggregate_edges_for_nodes_fn=jraph.segment_mean, aggregate_nodes_for_globals_fn=jraph.segment_max if False else jraph.segment_sum)
        g = net(gt(n, e, s, r)); return g.nodes, g.globals
    gws = (f32(6 + 22 + 5, 19) * .2, f32(11 + 38 + 5, 11) * .2, f32(11 + 19 + 5, 5) * .2)
    gargs = (f32(97, 11), f32(503, 6), gn['senders'], gn['receivers'])
    add('graph_network_segment_mean', inet, gws, *gargs)
    add('graph_network_gradient', lambda w, *a: jax.grad(lambda w: sum(jnp.sum(o ** 2) for o in inet(w, *a)))(w), gws, *gargs)
    def gcn(w, n, e, s, r):
        l = jraph.GraphConvolution(lambda x: x @ w[0], add_self_edges=True, symmetric_normalization=True); l2 = jraph.GraphConvolution(lambda x: x @ w[1], add_self_edges=True)
        g = l(gt(n, e, s, r)._replace(edges=None)); g = l2(g._replace(nodes=jax.nn.relu(g.nodes))); return jraph.segment_variance(g.nodes, jnp.repeat(jnp.arange(2), jnp.array([40, 57]), total_repeat_length=97), 2), jraph.segment_softmax(g.nodes[:, 0], r[:97] % 2, 2)
    add('graph_convolution_variance', gcn, (f32(11, 23) * .3, f32(23, 7) * .3), *gargs)
    def gat(w, n, e, s, r):
        l = jraph.GAT(lambda x: x @ w[0], lambda s, r, e: jax.nn.leaky_relu((jnp.concatenate([s, r], 1)) @ w[1]), lambda x: jax.nn.elu(x))
        return l(gt(n, None, s, r)).nodes
    add('graph_attention_gradient', lambda w, *a: jax.grad(lambda w: jnp.sum(gat(w, *a) ** 2))(w), (f32(11, 16) * .3, f32(32, 1) * .3), *gargs)
    # brax: humanoid-like arm by brax.generalized, many environments
    from brax import envs
    for name, back in (('hopper', 'spring'), ('inverted_double_pendulum', 'positional')):
        env = envs.get_environment(name, backend=back)
        st = jax.jit(env.reset)(jax.random.PRNGKey(0))
        def roll(acts, dq, env=env, st=st):
            s0 = st.replace(pipeline_state=env.pipeline_init(st.pipeline_state.q + dq, st.pipeline_state.qd))
            return lax.scan(lambda s, a: (lambda n: (n, n.reward))(env.step(s, a)), s0, acts)[1]
        add(f'brax_{name}_{back}_rollout', lambda a, q, roll=roll: jax.vmap(roll)(a, q), np.tanh(f32(7, 3, env.action_size)), f32(7, *st.pipeline_state.q.shape) * .01)
    import mujoco
    from mujoco import mjx
    xml = '<mujoco><option timestep="0.005"><flag contact="disable"/></option><worldbody>' + ''.join('<body pos="%g 0 0"><joint type="hinge" axis="0 %d %d" damping=".1" limited="true" range="-90 90"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>' % (.2 if i else 0, i % 2 == 0, i % 2) for i in range(6)) + '</body>' * 6 + '</worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(xml); m = mjx.put_model(model); d = mjx.make_data(m)
    add('mjx_limited_arm', lambda q, v: jax.vmap(lambda q, v: (lambda e: (e.qpos, e.qvel))(mjx.step(m, d.replace(qpos=q, qvel=v))))(q, v), f32(16, 6) * .5, f32(16, 6))
    # simulations
    def sph(x, v):
        d = x[:, None] - x[None]; r = jnp.sqrt((d ** 2).sum(-1) + 1e-6); q = jnp.clip(1 - r / .3, 0)
        rho = (q ** 2).sum(1) + .1; p = rho - 1
        f = -jnp.sum(((p[:, None] + p[None]) / (rho[:, None] * rho[None]) * q / r)[..., None] * -d, 1) + .1 * jnp.einsum('ij,ijk->ik', q, v[None] - v[:, None])
        return x + .01 * v, v + .01 * f
    add('fluid_pairs_in_3d_steps', lambda x, v: lax.fori_loop(0, 3, lambda i, c: sph(*c), (x, v)), R.rand(149, 3).astype(np.float32), f32(149, 3) * .1)
    def md(x, v, s):
        def e(x): d = x[:, None] - x[None]; d = d - jnp.round(d / 5) * 5; r2 = (d ** 2).sum(-1) + jnp.eye(x.shape[0]) * 1e3; i6 = (1 / jnp.maximum(r2, .7)) ** 3; return 2 * (i6 ** 2 - i6).sum() 
        def st(c, _): x, v = c; f = -jax.grad(e)(x); v = v + .002 * f; x = x + .002 * v; return (x, v), e(x) + .5 * (v ** 2).sum()
        return lax.scan(st, (x, v), None, length=5)
    add('argon_periodic_energy_scan', lambda x, v: md(x, v, 0), (R.rand(107, 3) * 5).astype(np.float32), f32(107, 3))
    def schro(p, V):
        k = jnp.fft.fftfreq(p.shape[0]) * 2 * jnp.pi; kin = jnp.exp(-.5j * .05 * (k[:, None] ** 2 + k[None] ** 2)); pot = jnp.exp(-1j * .05 * V)
        return lax.fori_loop(0, 4, lambda i, p: jnp.fft.ifft2(kin * jnp.fft.fft2(pot * p)), p)
    add('split_operator_2d_100', lambda a, V: (lambda p: jnp.abs(p) ** 2)(schro(a + 0j, V)), f32(100, 100), f32(100, 100))
    def fdtd(ez, hx, hy, eps):
        def st(i, c):
            ez, hx, hy = c
            hx = hx.at[:, :-1].add(-.5 * (ez[:, 1:] - ez[:, :-1])); hy = hy.at[:-1].add(.5 * (ez[1:] - ez[:-1]))
            ez = ez.at[1:, 1:].add(.5 / eps[1:, 1:] * ((hy[1:, 1:] - hy[:-1, 1:]) - (hx[1:, 1:] - hx[1:, :-1]))); ez = ez.at[37, 41].add(jnp.sin(.3 * i)); return ez, hx, hy
        return lax.fori_loop(0, 20, st, (ez, hx, hy))
    add('light_in_a_dielectric', lambda e, eps: fdtd(e, jnp.zeros_like(e), jnp.zeros_like(e), 1 + eps ** 2), f32(101, 103), f32(101, 103))
    add('fdtd_inverse_gradient', lambda e, eps: jax.grad(lambda z: (fdtd(e, jnp.zeros_like(e), jnp.zeros_like(e), 1 + z ** 2)[0][50] ** 2).sum())(eps) if False else jax.jvp(lambda z: (fdtd(e, jnp.zeros_like(e), jnp.zeros_like(e), 1 + z ** 2)[0][50] ** 2).sum(), (eps,), (eps * .1,)), f32(101, 103), f32(101, 103))
    return P
