"""Keras, Penzai and KFAC-JAX: layers trained with their state, named axes, and a second-order optimizer."""
import functools

import numpy as np

from by_value import Programs, Random

NEEDS = ('keras', 'penzai', 'kfac_jax')
FACTOR = 256.0


def programs(jax):
    import jax.numpy as jnp
    import keras
    import kfac_jax
    from keras import layers
    from penzai import pz
    from penzai.models.transformer.variants import llamalike_common

    keras.utils.set_random_seed(0)
    R = Random(0)
    P = Programs()
    add = P.add
    f32 = R.f32

    def step(model, optimizer, loss_of):
        """A training step as Keras documents it for loops of one's own, and makers of its variables."""
        optimizer.build(model.trainable_variables)

        def drawn(variables):
            return lambda: [np.random.default_rng(i).standard_normal(v.shape).astype(v.dtype) * 0.1 + ('gamma' in v.path or 'variance' in v.path)
                            if 'float' in str(v.dtype) and 'seed' not in v.path else np.array(v.value) for i, v in enumerate(variables)]

        def fixed(variables):
            values = [np.array(v.value) for v in variables]
            return lambda: values

        def run(trainable, frozen, state, x, y):
            def loss(trainable, frozen):
                out, frozen = model.stateless_call(trainable, frozen, x, training=True)
                return jnp.mean(loss_of(y, out)), frozen
            (value, frozen), grads = jax.value_and_grad(loss, has_aux=True)(trainable, frozen)
            trainable, state = optimizer.stateless_apply(state, grads, trainable)
            return value, trainable, frozen
        return run, drawn(model.trainable_variables), drawn(model.non_trainable_variables), fixed(optimizer.variables)

    entropy = functools.partial(keras.losses.sparse_categorical_crossentropy, from_logits=True)

    residual = keras.Input((16, 16, 3))
    h = layers.Conv2D(8, 3, padding='same')(residual)
    for width in (8, 16):
        short = layers.Conv2D(width, 1, strides=2, padding='same')(h)
        h = layers.ReLU()(layers.BatchNormalization()(layers.SeparableConv2D(width, 3, padding='same')(h)))
        h = layers.add([layers.MaxPooling2D(3, strides=2, padding='same')(h), short])
    convolutional = keras.Model(residual, layers.Dense(10)(layers.GlobalAveragePooling2D()(h)))
    add('keras_convolutions', *step(convolutional, keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True), entropy), f32(8, 16, 16, 3), R.i32(10, 8))

    words = keras.Input((24,), dtype='int32')
    h = layers.Embedding(100, 16)(words)
    h = layers.Bidirectional(layers.LSTM(12, return_sequences=True))(h)
    h = layers.GRU(12)(layers.LayerNormalization()(h))
    recurrent = keras.Model(words, layers.Dense(5)(h))
    add('keras_recurrent', *step(recurrent, keras.optimizers.RMSprop(1e-2), entropy), R.i32(100, 8, 24), R.i32(5, 8))

    tokens = keras.Input((16,), dtype='int32')
    h = layers.Embedding(50, 32)(tokens)
    for _ in range(2):
        h = layers.LayerNormalization()(layers.add([h, layers.MultiHeadAttention(4, 8)(h, h, use_causal_mask=True)]))
        h = layers.LayerNormalization()(layers.add([h, layers.Dense(32)(layers.Dense(64, activation='gelu')(h))]))
    attentive = keras.Model(tokens, layers.Dense(50)(h))
    add('keras_attention', *step(attentive, keras.optimizers.AdamW(1e-2), entropy), R.i32(50, 4, 16), R.i32(50, 4, 16))

    image = keras.Input((16, 16, 1))
    h = layers.Conv2D(8, 3, strides=2, padding='same', activation='silu')(image)
    h = layers.SpatialDropout2D(0.2, seed=3)(layers.GroupNormalization(4)(h))
    h = layers.Resizing(16, 16)(layers.Conv2DTranspose(8, 3, strides=2, padding='same', activation='elu')(h))
    decoder = keras.Model(image, layers.Conv2D(1, 5, padding='same', dilation_rate=2)(layers.Cropping2D(1)(layers.ZeroPadding2D(1)(h))))
    add('keras_denoiser', *step(decoder, keras.optimizers.Lion(1e-3), keras.losses.log_cosh), f32(4, 16, 16, 1), f32(4, 16, 16, 1))

    augment = keras.Sequential([layers.Rescaling(1 / 255), layers.RandomFlip(seed=1), layers.RandomRotation(0.1, seed=2), layers.RandomContrast(0.2, seed=3),
                                layers.RandomTranslation(0.1, 0.1, seed=4)])
    augment.build((None, 12, 12, 3))
    add('keras_augmentation', lambda states, x: augment.stateless_call([], states, x, training=True)[0],
        lambda: [np.array(v.value) for v in augment.non_trainable_variables], (R.rand(4, 12, 12, 3) * 255).astype(np.float32))

    truth, scores = (R.rand(200) < 0.4).astype(np.float32), R.rand(200).astype(np.float32)

    def metrics(y, p):
        auc, f1 = keras.metrics.AUC(num_thresholds=50), keras.metrics.F1Score(threshold=0.5)
        out = auc.stateless_result(auc.stateless_update_state([v.value for v in auc.variables], y, p))
        f1._build((200, 1), (200, 1))
        return out, f1.stateless_result(f1.stateless_update_state([v.value for v in f1.variables], y[:, None], p[:, None]))
    add('keras_metrics', metrics, truth, scores)

    # Named axes: a decoder of today's form, its gradient, and its decoding with a cache.
    config = llamalike_common.LlamalikeTransformerConfig(num_kv_heads=2, query_head_multiplier=2, embedding_dim=32, projection_dim=8, mlp_hidden_dim=64,
                                                         num_decoder_blocks=2, vocab_size=60, mlp_variant='swiglu', tie_embedder_and_logits=False)
    built = llamalike_common.build_llamalike_transformer(config, init_base_rng=jax.random.key(1))
    frozen, parameters = pz.unbind_params(built, freeze=True)
    flat, tree = jax.tree.flatten([p.value for p in parameters])
    drawn = [(R.randn(*x.shape) * 0.15).astype(np.float32) for x in flat]

    def bound(values):
        return pz.bind_variables(frozen, [pz.ParameterValue(label=p.label, value=v, metadata=p.metadata) for p, v in zip(parameters, jax.tree.unflatten(tree, values))])

    def language(values, ids):
        def loss(values):
            named = pz.nx.wrap(ids).tag('batch', 'seq')
            logits = bound(values)(named, token_positions=pz.nx.arange('seq', 12))
            log = jax.nn.log_softmax(logits.unwrap('batch', 'seq', 'vocabulary')[:, :-1])
            return -jnp.mean(jnp.take_along_axis(log, ids[:, 1:, None], -1))
        return jax.value_and_grad(loss)(values)
    add('penzai_decoder', language, drawn, R.i32(60, 4, 12))

    def named(x, w):
        x = pz.nx.wrap(x).tag('batch', 'row', 'column')
        w = pz.nx.wrap(w).tag('column', 'feature')
        y = pz.nx.nmap(jnp.dot)(x.untag('column'), w.untag('column'))
        y = pz.nx.nmap(jax.nn.softmax)(y.untag('feature')).tag('feature')
        sorted_rows = pz.nx.nmap(lambda m: jnp.sort(m) - m.mean())(y.untag('row')).tag('row')
        return sorted_rows.unwrap('feature', 'batch', 'row')
    add('penzai_named_axes', named, f32(4, 6, 8), f32(8, 10))

    # Kronecker factors. The released package evaluates equations as an older JAX has them.
    def evaluate(eqn, values):
        out = eqn.primitive.bind(*values, **eqn.primitive.get_bind_params(eqn.params))
        return out if isinstance(out, (list, tuple)) else [out]
    kfac_jax.tag_graph_matcher.eval_jaxpr_eqn = evaluate

    def network(w, x):
        for i, (a, b) in enumerate(w):
            x = x @ a + b
            if i + 1 < len(w):
                x = jnp.tanh(x)
        return x

    def classified(w, batch):
        logits = network(w, batch[0])
        kfac_jax.register_softmax_cross_entropy_loss(logits, batch[1])
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), batch[1][:, None], -1))

    def autoencoded(w, batch):
        logits = network(w, batch[0])
        kfac_jax.register_sigmoid_cross_entropy_loss(logits, batch[0])
        return jnp.mean(jnp.sum(jax.nn.softplus(logits) - logits * batch[0], -1))

    def convolved(w, batch):
        h = jax.lax.conv_general_dilated(batch[0], w[0], (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')) + w[1]
        h = jax.nn.relu(h).mean((1, 2))
        logits = h @ w[2] + w[3]
        kfac_jax.register_softmax_cross_entropy_loss(logits, batch[1])
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), batch[1][:, None], -1))

    def second_order(loss, weights, batch, steps=1, **options):
        optimizer = kfac_jax.Optimizer(value_and_grad_func=jax.value_and_grad(loss), l2_reg=1e-3, value_func_has_aux=False, value_func_has_state=False, value_func_has_rng=False,
                                       use_adaptive_damping=True, initial_damping=1.0, multi_device=False, num_burnin_steps=0, **options)

        def run(w, *batch):
            key = jax.random.PRNGKey(3)
            state = optimizer.init(w, key, batch)
            for _ in range(steps):
                w, state, stats = optimizer.step(w, state, key, batch=batch, global_step_int=0)[:3]
            return w, stats['loss'], stats['quad_model_change'], stats['damping']
        return run, weights, *batch

    adaptive = dict(use_adaptive_learning_rate=True, use_adaptive_momentum=True)
    mlp = [(f32(10, 16) * 0.3, f32(16) * 0.1), (f32(16, 16) * 0.3, f32(16) * 0.1), (f32(16, 5) * 0.3, f32(5) * 0.1)]
    code = [(f32(16, 8) * 0.3, f32(8) * 0.1), (f32(8, 16) * 0.3, f32(16) * 0.1)]
    add('kfac_classifier', *second_order(classified, mlp, (f32(32, 10), R.i32(5, 32)), **adaptive))
    add('kfac_autoencoder', *second_order(autoencoded, code, (R.rand(32, 16).astype(np.float32),), 2, estimation_mode='fisher_exact', **adaptive))
    add('kfac_convolution', *second_order(convolved, [f32(3, 3, 3, 8) * 0.3, f32(8) * 0.1, f32(8, 5) * 0.3, f32(5) * 0.1], (f32(8, 8, 8, 3), R.i32(5, 8)), **adaptive))
    add('kfac_fixed_rate', *second_order(classified, mlp, (f32(32, 10), R.i32(5, 32)), use_adaptive_learning_rate=False, use_adaptive_momentum=False,
                                         learning_rate_schedule=lambda *a: 0.01, momentum_schedule=lambda *a: 0.9, norm_constraint=1e-2))
    return P
