"""jaxlie, tinygp, interpax, kernex, jraph: geometry, Gaussian processes, interpolation, stencils, graphs."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('jaxlie', 'tinygp', 'interpax', 'kernex', 'jraph')
FACTOR = 1024.0


def programs(jax):
    import interpax
    import jax.numpy as jnp
    import jaxlie
    import jraph
    import kernex as kex
    import tinygp

    R = Random(0)
    P = Programs()
    add = P.add
    f32 = R.f32

    add('se3_exp_log', jax.vmap(lambda t: (lambda p: (p.as_matrix(), (p @ p).log(), p.adjoint(), p.log()))(jaxlie.SE3.exp(t))), f32(50, 6))
    add('so3_gradient', jax.grad(lambda t, x: jnp.sum(jax.vmap(lambda a, b: jaxlie.SO3.exp(a).apply(b))(t, x) ** 3)), f32(50, 3), f32(50, 3))

    t, y = np.sort(R.rand(60)).astype(np.float32) * 5, f32(60)

    def gp(p, t, y):
        k = jnp.exp(p[0]) * tinygp.kernels.Matern32(jnp.exp(p[1])) + tinygp.kernels.ExpSineSquared(scale=jnp.exp(p[2]), gamma=1.0)
        return tinygp.GaussianProcess(k, t, diag=jnp.exp(p[3])).log_probability(y)

    add('gp_gradient', jax.value_and_grad(gp), f32(4) * 0.1, t, y)
    add('quasiseparable_gradient', jax.value_and_grad(lambda p, t, y: tinygp.GaussianProcess(
        tinygp.kernels.quasisep.SHO(omega=jnp.exp(p[0]), quality=jnp.exp(p[1])) + tinygp.kernels.quasisep.Matern32(jnp.exp(p[2])), t, diag=0.1).log_probability(y)),
        f32(3) * 0.1, t, y)
    add('gp_condition', lambda t, y, x: tinygp.GaussianProcess(tinygp.kernels.ExpSquared(1.0), t, diag=0.1).condition(y, x).gp.loc, t, y, np.linspace(0, 5, 30).astype(np.float32))

    grid = np.linspace(0, 5, 20).astype(np.float32)
    for method in ('linear', 'cubic', 'cubic2', 'catmull-rom', 'monotonic', 'akima'):
        add('interp_' + method, lambda q, x, f, method=method: interpax.interp1d(q, x, f, method=method), (R.rand(80) * 5).astype(np.float32), grid, f32(20))
    add('interp2d', lambda a, b, x, f: interpax.interp2d(a, b, x, x, f, method='cubic'), (R.rand(80) * 5).astype(np.float32), (R.rand(80) * 5).astype(np.float32), grid, f32(20, 20))

    @kex.kmap(kernel_size=(3, 3), padding='same')
    def laplace(x):
        return x[0, 1] + x[2, 1] + x[1, 0] + x[1, 2] - 4 * x[1, 1]

    @kex.kscan(kernel_size=(3,), padding='same')
    def smooth(x):
        return jnp.sum(x) / 3

    add('kernex_map', laplace, f32(32, 32))
    add('kernex_scan', smooth, f32(40))

    def graph(nodes, edges, senders, receivers, w):
        g = jraph.GraphsTuple(nodes, edges, receivers, senders, jnp.ones((1, 4)), jnp.array([30]), jnp.array([90]))
        net = jraph.GraphNetwork(update_edge_fn=lambda e, s, r, u: jnp.tanh(jnp.concatenate([e, s, r, u], -1) @ w[0]),
                                 update_node_fn=lambda n, s, r, u: jax.nn.relu(jnp.concatenate([n, s, r, u], -1) @ w[1]),
                                 update_global_fn=lambda n, e, u: jnp.concatenate([n, e, u], -1) @ w[2])
        attention = jraph.GAT(lambda n: n @ w[3], lambda s, r, e: jnp.concatenate([s, r], -1).sum(-1, keepdims=True), None)
        out = net(net(g))
        return jnp.sum(out.globals ** 2) + jnp.sum(attention(out).nodes)

    ids = R.randint(0, 30, (2, 90)).astype(np.int32)
    add('graph_network_gradient', jax.grad(graph, 4), f32(30, 8), f32(90, 6), ids[0], ids[1], [f32(26, 6) * 0.3, f32(24, 8) * 0.3, f32(18, 4) * 0.3, f32(8, 8)])
    return P
