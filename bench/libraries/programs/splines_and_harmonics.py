"""jaxKAN and E3x: networks whose edges are functions, and features that turn with their atoms."""
import numpy as np

from by_value import Programs
from weights import Weights

NEEDS = ('jaxkan', 'e3x', 'flax', 'optax')
FACTOR = 256.0


def programs(jax):
    import e3x
    import flax.linen as nn
    import jax.numpy as jnp
    import optax
    from flax import nnx
    from jaxkan.models.KAN import KAN

    R = Weights(jax, 17)
    P = Programs()
    add = P.add

    for kind, options in (('base', {'k': 3, 'G': 5}), ('spline', {'k': 3, 'G': 5}), ('chebyshev', {'D': 5, 'flavor': 'exact'}), ('legendre', {'D': 4}), ('fourier', {'D': 4}),
                          ('rbf', {'D': 6}), ('sine', {'D': 4})):
        definition, params, rest = nnx.split(KAN([4, 12, 12, 1], kind, options, seed=0), nnx.Param, ...)
        params, tree = jax.tree.flatten(jax.tree.map(np.asarray, params))
        optimizer = optax.adam(1e-2)

        def train(params, state, x, y, definition=definition, rest=rest, tree=tree, optimizer=optimizer):
            def loss(p):
                return jnp.square(nnx.merge(definition, tree.unflatten(p), rest)(x) - y).mean()
            value, grads = jax.value_and_grad(loss)(params)
            updates, state = optimizer.update(grads, state, params)
            return value, optax.apply_updates(params, updates), state
        add('kan_' + kind, train, params, R.zeros(optimizer, params), R.uniform_f32(256, 4, lo=-0.9, hi=0.9), R.f32(256, 1))

        if kind == 'chebyshev':
            def residual(params, x, definition=definition, rest=rest, tree=tree):
                """Second derivatives at points, as physics-informed training takes them."""
                def loss(params):
                    u = lambda z: nnx.merge(definition, tree.unflatten(params), rest)(z[None])[0, 0]
                    laplace = lambda z: jnp.trace(jax.hessian(u)(z))
                    return jnp.square(jax.vmap(laplace)(x) - jnp.sin(x).sum(-1)).mean()
                return jax.value_and_grad(loss)(params)
            add('kan_poisson', residual, params, R.uniform_f32(64, 4, lo=-0.9, hi=0.9))

    class Potential(nn.Module):
        degree: int = 2
        features: int = 16
        attention: bool = False

        @nn.compact
        def __call__(self, positions, numbers, dst, src):
            displacements = positions[src] - positions[dst]
            basis = e3x.nn.basis(displacements, max_degree=self.degree, num=8, radial_fn=e3x.nn.reciprocal_bernstein, cutoff_fn=lambda r: e3x.nn.smooth_cutoff(r, cutoff=5.0))
            x = e3x.nn.Embed(10, self.features)(numbers)
            for degree in (self.degree, 0):
                layer = e3x.nn.SelfAttention(max_degree=degree, num_heads=2) if self.attention else e3x.nn.MessagePass(max_degree=degree)
                y = layer(x, basis, dst_idx=dst, src_idx=src, num_segments=len(numbers))
                if degree == 0:
                    x = e3x.nn.change_max_degree_or_type(x, max_degree=0, include_pseudotensors=False)
                    y = e3x.nn.change_max_degree_or_type(y, max_degree=0, include_pseudotensors=False)
                y = e3x.nn.add(x, y)
                y = e3x.nn.Dense(self.features)(e3x.nn.silu(e3x.nn.Dense(self.features)(y)))
                x = e3x.nn.add(x, y)
            return jnp.sum(nn.Dense(1, use_bias=False)(x[..., 0, 0, :]))

    atoms = 9
    dst, src = (np.asarray(i, np.int32) for i in e3x.ops.sparse_pairwise_indices(atoms))
    numbers, positions = R.i32(9, atoms), R.f32(atoms, 3, k=1.5)
    for name, model in (('degree_1', Potential(1)), ('degree_2', Potential(2)), ('attention', Potential(1, attention=True))):
        weights = R.flax(model, positions, numbers, dst, src)

        def fit(weights, positions, forces, numbers, dst, src, model=model):
            def loss(w):
                energy, gradient = jax.vmap(jax.value_and_grad(lambda x: model.apply(w, x, numbers, dst, src)))(positions)
                return jnp.square(energy).mean() + jnp.square(gradient + forces).mean()
            value, grads = jax.value_and_grad(loss)(weights)
            return value, jax.tree.map(lambda w, g: w - 0.01 * g, weights, grads)
        add('forces_' + name, fit, weights, R.f32(2, atoms, 3, k=1.5), R.f32(2, atoms, 3), numbers, dst, src)

    add('solid_harmonics', lambda r: e3x.so3.solid_harmonics(r, max_degree=5), R.f32(500, 3))
    add('wigner_turned', lambda x, a, b, c: e3x.so3.wigner_d(e3x.so3.rotation_euler(a, b, c), max_degree=3) @ x, R.f32(16, 8), R.f32(64), R.f32(64), R.f32(64))
    return P
