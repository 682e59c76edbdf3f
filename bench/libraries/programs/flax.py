"""Flax: modules of both of its interfaces, trained with Optax."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('flax', 'optax')
FACTOR = 256.0  # Updates divide by roots of small sums of squares.


def programs(jax):
    import flax.linen as nn
    import jax.numpy as jnp
    import optax
    from flax import nnx

    R = Random(0)
    KEY = np.array([0, 7], np.uint32)
    P = Programs()
    add = P.add
    f32 = R.f32

    class Cnn(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.avg_pool(nn.relu(nn.Conv(32, (3, 3))(x)), (2, 2), (2, 2))
            x = nn.avg_pool(nn.relu(nn.Conv(64, (3, 3))(x)), (2, 2), (2, 2))
            x = nn.relu(nn.Dense(256)(x.reshape(x.shape[0], -1)))
            return nn.Dense(10)(x)

    cnn, images, labels = Cnn(), f32(16, 28, 28, 1), R.randint(0, 10, 16).astype(np.int32)
    tx = optax.sgd(0.1, 0.9)
    cnn_init = jax.jit(lambda: cnn.init(KEY, images)['params'])

    def cnn_step(params, state, x, y):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(cnn.apply({'params': p}, x), y).mean()
        value, grads = jax.value_and_grad(loss)(params)
        updates, state = tx.update(grads, state)
        return optax.apply_updates(params, updates), state, value

    add('linen_mnist_step', cnn_step, lambda: cnn_init(), lambda: jax.jit(tx.init)(cnn_init()), images, labels)

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            y = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Conv(16, (3, 3), use_bias=False)(x)))
            return nn.relu(x + nn.GroupNorm(4)(nn.Conv(16, (3, 3), use_bias=False)(y)))

    class ResNet(nn.Module):
        @nn.compact
        def __call__(self, x, train=True):
            x = nn.Conv(16, (3, 3))(x)
            for _ in range(2):
                x = Block()(x, train)
            x = nn.Dropout(0.3, deterministic=not train)(x.mean((1, 2)))
            return nn.Dense(10)(x)

    res, small = ResNet(), f32(8, 16, 16, 3)
    res_init = jax.jit(lambda: res.init({'params': KEY, 'dropout': KEY}, small))

    def res_loss(variables, key, x, y):
        def loss(p):
            out, new = res.apply({**variables, 'params': p}, x, mutable=['batch_stats'], rngs={'dropout': key})
            return optax.softmax_cross_entropy_with_integer_labels(out, y).mean(), new
        return jax.value_and_grad(loss, has_aux=True)(variables['params'])

    add('linen_resnet_gradient', res_loss, lambda: res_init(), KEY, small, labels[:8])

    class Lstm(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(50, 32)(tokens)
            x = nn.RNN(nn.OptimizedLSTMCell(64))(x)
            x = nn.Bidirectional(nn.RNN(nn.GRUCell(16)), nn.RNN(nn.GRUCell(16)))(x)
            return nn.Dense(50)(x)

    lstm, tokens = Lstm(), R.randint(0, 50, (4, 24)).astype(np.int32)
    lstm_init = jax.jit(lambda: lstm.init(KEY, tokens))

    def lstm_gradient(params, tokens):
        return jax.grad(lambda p: optax.softmax_cross_entropy_with_integer_labels(lstm.apply(p, tokens[:, :-1]), tokens[:, 1:]).mean())(params)

    add('linen_recurrent_gradient', lstm_gradient, lambda: lstm_init(), tokens)

    class Decoder(nn.Module):
        decode: bool = False

        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(64, 48)(tokens) + self.param('pos', nn.initializers.normal(0.02), (32, 48))[:tokens.shape[1]]
            mask = None if self.decode else nn.make_causal_mask(tokens)
            for _ in range(2):
                y = nn.LayerNorm()(x)
                x = x + nn.MultiHeadDotProductAttention(num_heads=4, use_bias=False, decode=self.decode)(y, y, mask=mask)
                x = x + nn.Dense(48)(nn.gelu(nn.Dense(96)(nn.LayerNorm()(x))))
            return nn.Dense(64)(x)

    prompt = R.randint(0, 64, (2, 32)).astype(np.int32)
    decoder = Decoder()
    decoder_init = jax.jit(lambda: decoder.init(KEY, prompt))
    adam = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)))

    def decoder_step(params, state, tokens):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(decoder.apply(p, tokens[:, :-1]), tokens[:, 1:]).mean()
        value, grads = jax.value_and_grad(loss)(params)
        updates, state = adam.update(grads, state, params)
        return value, optax.apply_updates(params, updates), state

    add('linen_transformer_step', decoder_step, lambda: decoder_init(), lambda: jax.jit(adam.init)(decoder_init()), prompt)

    stepper = Decoder(decode=True)
    cache_init = jax.jit(lambda: stepper.init(KEY, prompt)['cache'])

    def generate(params, cache, token):
        def step(carry, _):
            cache, token = carry
            logits, new = stepper.apply({'params': params['params'], 'cache': cache}, token, mutable=['cache'])
            token = logits[:, -1:].argmax(-1).astype(jnp.int32)
            return (new['cache'], token), token[:, 0]
        return jax.lax.scan(step, (cache, token), length=31)[1]

    add('linen_greedy_decoding', generate, lambda: decoder_init(), lambda: cache_init(), prompt[:, :1])

    class Mlp(nnx.Module):
        def __init__(self, rngs):
            self.a = nnx.Linear(32, 64, use_bias=False, rngs=rngs)
            self.norm = nnx.BatchNorm(64, rngs=rngs)
            self.drop = nnx.Dropout(0.1, rngs=rngs)
            self.b = nnx.Linear(64, 8, rngs=rngs)

        def __call__(self, x):
            return self.b(nnx.gelu(self.drop(self.norm(self.a(x)))))

    def nnx_step(x, y):
        model = Mlp(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
        value, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        optimizer.update(model, grads)
        return value, [l for l in jax.tree.leaves(nnx.state((model, optimizer))) if not jax.dtypes.issubdtype(l.dtype, jax.dtypes.prng_key)]

    add('nnx_step', nnx_step, f32(128, 32), f32(128, 8))
    return P
