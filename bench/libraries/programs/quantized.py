"""AQT and Qwix: training and inference with numbers of 4 and 8 bits."""
import functools

import numpy as np

from by_value import Programs
from weights import Weights

NEEDS = ('aqt', 'qwix', 'flax', 'optax')
FACTOR = 512.0


def programs(jax):
    import aqt.jax.v2.config as aqt_config
    import aqt.jax.v2.flax.aqt_flax as aqt_flax
    import flax.linen as nn
    import jax.numpy as jnp
    import optax
    import qwix

    KEY = np.array([0, 5], np.uint32)
    R = Weights(jax, 19)
    P = Programs()
    add = P.add

    class Mlp(nn.Module):
        config: object = None

        @nn.compact
        def __call__(self, x):
            make = functools.partial(aqt_flax.AqtDotGeneral, self.config) if self.config is not None else (lambda: None)
            for width in (96, 96):
                x = nn.relu(nn.Dense(width, dot_general=make())(x))
            return nn.Dense(10, dot_general=make())(x)

    x, y = R.f32(32, 64), R.i32(10, 32)

    def train(model):
        def step(weights, key, x, y):
            def loss(w):
                return optax.softmax_cross_entropy_with_integer_labels(model.apply(w, x, rngs={'params': key}), y).mean()
            value, grads = jax.value_and_grad(loss)(weights)
            return value, jax.tree.map(lambda w, g: w - 0.01 * g, weights, grads)
        return step

    for name, config in (('aqt_8_bits', aqt_config.fully_quantized(fwd_bits=8, bwd_bits=8, use_stochastic_rounding=False)),
                         ('aqt_4_bits', aqt_config.fully_quantized(fwd_bits=4, bwd_bits=4, use_stochastic_rounding=True)),
                         ('aqt_v4', aqt_config.config_v4()), ('aqt_fp8', aqt_config.config_fwd_fp8())):
        model = Mlp(config)
        add(name, train(model), R.flax(Mlp(), x), KEY, x, y)

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.LayerNorm()(x)
            q, k, v = (nn.DenseGeneral((4, 16), name=n)(h) for n in 'qkv')
            s = jnp.einsum('bqhd,bkhd->bhqk', q, k) / 4
            x = x + nn.DenseGeneral(64, axis=(-2, -1), name='o')(jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(s), v))
            return x + nn.Dense(64, name='down')(nn.gelu(nn.Dense(192, name='up')(nn.LayerNorm()(x))))

    block, tokens = Block(), R.f32(2, 32, 64)
    weights = R.flax(block, tokens)

    calibration = 'absmax,1.1'  # The largest number of a channel is no tie between two integers.
    for name, rule in (('int8', dict(weight_qtype=jnp.int8, act_qtype=jnp.int8)), ('int4', dict(weight_qtype=jnp.int4)),
                       ('int4_tiles', dict(weight_qtype=jnp.int4, act_qtype=jnp.int8, tile_size=16)),
                       ('fp8', dict(weight_qtype=jnp.float8_e4m3fn, act_qtype=jnp.float8_e4m3fn)), ('nf4', dict(weight_qtype='nf4'))):
        rule = qwix.QuantizationRule(module_path='.*', weight_calibration_method=calibration, act_calibration_method=calibration, **rule)
        quantizing = qwix.quantize_model(block, qwix.PtqProvider([rule]))

        def infer(weights, tokens, quantizing=quantizing):
            abstract = jax.eval_shape(lambda: quantizing.init(jax.random.key(0), tokens))['params']
            return quantizing.apply({'params': qwix.quantize_params(weights['params'], abstract)}, tokens)
        add('qwix_inference_' + name, infer, weights, tokens)

    for name, rule in (('int8', dict(weight_qtype=jnp.int8, act_qtype=jnp.int8, bwd_qtype=jnp.int8, bwd_weight_grad_tile_size=16)),
                       ('fp8', dict(weight_qtype=jnp.float8_e4m3fn, act_qtype=jnp.float8_e4m3fn, bwd_qtype=jnp.float8_e5m2))):
        trained = qwix.quantize_model(block, qwix.QtProvider([qwix.QtRule(module_path='.*', **rule)]))

        def step(weights, tokens, aim, trained=trained):
            value, grads = jax.value_and_grad(lambda w: jnp.square(trained.apply(w, tokens) - aim).mean())(weights)
            return value, jax.tree.map(lambda w, g: w - 0.01 * g, weights, grads)
        add('qwix_training_' + name, step, weights, tokens, R.f32(2, 32, 64))

    quantize = functools.partial(qwix.quantize, calibration_method=calibration)

    def experts(x, w, sizes):
        xq, wq = quantize(x, jnp.int8, channelwise_axes=(0,)), quantize(w, jnp.int8, channelwise_axes=(0, 2))
        return qwix.ragged_dot(xq, wq, sizes)

    add('qwix_experts', experts, R.f32(64, 48), R.f32(6, 48, 40), np.array([10, 0, 20, 14, 3, 17], np.int32))
    add('qwix_dot', lambda a, b: qwix.dot(quantize(a, jnp.int8, channelwise_axes=(0,)), quantize(b, jnp.int4, channelwise_axes=(1,), tiled_axes={0: 32})),
        R.f32(48, 128), R.f32(128, 80))
    return P
