"""Spyx: networks of spiking neurons, trained through time."""
import numpy as np

from by_value import Programs
from weights import Weights

NEEDS = ('spyx', 'flax', 'optax')
FACTOR = 256.0


def programs(jax):
    import jax.numpy as jnp
    import optax
    import spyx
    import spyx.nn as snx
    import spyx.ssm
    from flax import nnx

    R = Weights(jax, 9)
    P = Programs()
    add = P.add

    def shaped(make):
        """What makes an nnx module of a list of weights, and these from numpy."""
        definition, state = nnx.split(nnx.eval_shape(lambda: make(nnx.Rngs(0))))
        shapes, tree = jax.tree.flatten(state)
        weights = [R.fill(leaf) + np.float32(0.4 if len(leaf.shape) < 2 else 0) for leaf in shapes]  # Vectors are decays and biases.
        return (lambda weights: nnx.merge(definition, tree.unflatten(weights))), weights

    def trained(make, x, y):
        module, weights = shaped(make)
        optimizer = optax.lion(1e-3)
        loss_of = spyx.fn.integral_crossentropy()

        def step(weights, state, x, y):
            def loss(w):
                traces, _ = snx.run(module(w), x)
                return loss_of(jnp.swapaxes(traces, 0, 1), y)
            value, grads = jax.value_and_grad(loss)(weights)
            updates, state = optimizer.update(grads, state, weights)
            return value, optax.apply_updates(weights, updates), state
        return step, weights, R.zeros(optimizer, weights), x, y

    spikes, labels = (R.uniform_f32(24, 8, 40) < 0.2).astype(np.float32), R.i32(10, 8)
    add('leaky', *trained(lambda rngs: snx.Sequential(
        nnx.Linear(40, 48, rngs=rngs), snx.LIF((48,), rngs=rngs), nnx.Linear(48, 10, rngs=rngs), snx.LI((10,), rngs=rngs)), spikes, labels))
    add('adaptive', *trained(lambda rngs: snx.Sequential(
        nnx.Linear(40, 48, rngs=rngs), snx.ALIF((48,), rngs=rngs), nnx.Linear(48, 10, rngs=rngs), snx.LI((10,), rngs=rngs)), spikes, labels))
    add('recurrent_currents', *trained(lambda rngs: snx.Sequential(
        nnx.Linear(40, 32, rngs=rngs), snx.RCuBaLIF((32,), rngs=rngs), nnx.Linear(32, 32, rngs=rngs), snx.RLIF((32,), rngs=rngs),
        nnx.Linear(32, 10, rngs=rngs), snx.LI((10,), rngs=rngs)), spikes, labels))
    add('convolutional', *trained(lambda rngs: snx.Sequential(
        nnx.Conv(2, 8, (3, 3), rngs=rngs), snx.IF((12, 12, 8)), snx.SumPool((2, 2), (2, 2), 'VALID'), nnx.Conv(8, 8, (3, 3), rngs=rngs),
        snx.LIF((6, 6, 8), rngs=rngs), snx.Flatten(), nnx.Linear(288, 10, rngs=rngs), snx.LI((10,), rngs=rngs)),
        (R.uniform_f32(10, 4, 12, 12, 2) < 0.2).astype(np.float32), R.i32(10, 4)))

    def layer(make, x):
        module, weights = shaped(make)

        def step(weights, x):
            def loss(w):
                out = module(w)(x)
                out = out[0] if isinstance(out, tuple) else out
                return jnp.square(out - 0.1).mean()
            value, grads = jax.value_and_grad(loss)(weights)
            return value, jax.tree.map(lambda w, g: w - 0.01 * g, weights, grads)
        return step, weights, x

    for name, make in (('lru', lambda rngs: spyx.ssm.LRU(24, 32, rngs=rngs)), ('s5_diagonal', lambda rngs: spyx.ssm.S5Diag(24, 32, rngs=rngs)),
                       ('selective', lambda rngs: spyx.ssm.Mamba(24, 8, rngs=rngs))):
        add(name, *layer(make, R.f32(4, 64, 24)))
    return P
