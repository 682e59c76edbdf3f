"""Haiku: transformed functions, state, recurrent cores."""
import numpy as np

from by_value import Programs

NEEDS = ('haiku', 'optax')
FACTOR = 256.0


def programs(jax):
    import haiku as hk
    import jax.numpy as jnp
    import optax

    R = np.random.RandomState(0)
    KEY = np.array([0, 3], np.uint32)
    P = Programs()
    add = P.add

    images, labels = R.randn(32, 28, 28, 1).astype(np.float32), R.randint(0, 10, 32).astype(np.int32)
    net = hk.without_apply_rng(hk.transform(lambda x: hk.Sequential([
        hk.Flatten(), hk.Linear(300), jax.nn.relu, hk.Linear(100), jax.nn.relu, hk.Linear(10)])(x)))
    net_init = jax.jit(lambda: net.init(KEY, images))
    tx = optax.adam(1e-3)

    def mnist(params, average, state, x, y):
        def loss(p):
            logits = net.apply(p, x)
            l2 = 0.5 * sum(jnp.sum(jnp.square(w)) for w in jax.tree.leaves(p))
            return -jnp.sum(jax.nn.one_hot(y, 10) * jax.nn.log_softmax(logits)) / 32 + 1e-4 * l2
        grads = jax.grad(loss)(params)
        updates, state = tx.update(grads, state)
        params = optax.apply_updates(params, updates)
        return params, optax.incremental_update(params, average, step_size=0.001), state

    add('mnist_step', mnist, lambda: net_init(), lambda: net_init(), lambda: jax.jit(tx.init)(net_init()), images, labels)

    resnet = hk.transform_with_state(lambda x, train: hk.nets.ResNet(
        [1, 1, 1, 1], 10, channels_per_group=(16, 32, 64, 64), bottleneck=False)(x, is_training=train))
    small = R.randn(4, 32, 32, 3).astype(np.float32)
    resnet_init = jax.jit(lambda: resnet.init(KEY, small, True))

    def resnet_gradient(params, state, x):
        def loss(p):
            out, new = resnet.apply(p, state, None, x, True)
            return jax.nn.logsumexp(out, -1).mean(), new
        return jax.grad(loss, has_aux=True)(params)

    add('resnet_gradient', resnet_gradient, lambda: resnet_init()[0], lambda: resnet_init()[1], small)

    def unroll(x):
        core = hk.DeepRNN([hk.LSTM(32), jax.nn.tanh, hk.GRU(16)])
        out, state = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return out, state

    rnn, series = hk.without_apply_rng(hk.transform(unroll)), R.randn(40, 6, 8).astype(np.float32)
    add('recurrent_gradient', jax.value_and_grad(lambda p, x: rnn.apply(p, x)[0].sum()), lambda: jax.jit(rnn.init)(KEY, series), series)

    quantizer = hk.transform_with_state(lambda x: hk.nets.VectorQuantizerEMA(16, 32, 0.25, 0.99)(x, is_training=True))
    codes = R.randn(8, 12, 16).astype(np.float32)
    quantizer_init = jax.jit(lambda: quantizer.init(KEY, codes))
    add('vector_quantizer', lambda p, s, x: quantizer.apply(p, s, None, x), lambda: quantizer_init()[0], lambda: quantizer_init()[1], codes)

    attention = hk.transform(lambda x: hk.MultiHeadAttention(4, 16, w_init_scale=1.0)(x, x, x, mask=jnp.tril(jnp.ones((1, 1, 20, 20)))))
    words = R.randn(3, 20, 64).astype(np.float32)
    add('attention_dropout', lambda p, k, x: hk.dropout(k, 0.2, attention.apply(p, k, x)), lambda: jax.jit(attention.init)(KEY, words),
        KEY, words)
    return P
