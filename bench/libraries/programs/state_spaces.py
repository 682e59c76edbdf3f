"""Mamba2-JAX and Megalodon-JAX: language models with states, trained and sampled."""
import numpy as np

from by_value import Programs
from weights import Weights

NEEDS = ('mamba2_jax', 'megalodon_jax', 'flax', 'equinox')
FACTOR = 512.0


def programs(jax):
    import equinox as eqx
    import jax.numpy as jnp
    import mamba2_jax as mamba
    import megalodon_jax as megalodon
    from flax import nnx
    from megalodon_jax.inference import generate

    KEY = np.array([0, 5], np.uint32)
    R = Weights(jax, 11)
    P = Programs()
    add = P.add

    def descend(weights, grads):
        return jax.tree.map(lambda w, g: (w - 0.01 * g).astype(w.dtype), weights, grads)

    # Structured states in chunks.
    config = mamba.Mamba2Config(vocab_size=97, hidden_size=32, state_size=16, head_dim=8, chunk_size=16, num_hidden_layers=2)
    definition, state = nnx.split(nnx.eval_shape(lambda: mamba.Mamba2ForCausalLM(config, rngs=nnx.Rngs(0))))
    weights, tree = jax.tree.flatten(R.fill(state))
    mamba_of = lambda weights: nnx.merge(definition, tree.unflatten(weights))

    def mamba_step(weights, tokens):
        value, grads = jax.value_and_grad(lambda w: mamba_of(w)(tokens, labels=tokens)['loss'])(weights)
        return value, descend(weights, grads)

    add('mamba2_step', mamba_step, weights, R.i32(97, 2, 64))

    def mamba_sample(weights, tokens):
        model = mamba_of(weights)
        cache = mamba.create_empty_cache(config, 2)
        out = model(tokens, cache=cache)

        def step(carry, _):
            token, cache = carry
            out = model(token[:, None], cache=cache)
            token = jnp.argmax(out['logits'][:, -1], -1)
            return (token, out['cache']), token
        return jax.lax.scan(step, (jnp.argmax(out['logits'][:, -1], -1), out['cache']), None, length=20)[1]

    add('mamba2_sample', mamba_sample, weights, R.i32(97, 2, 16))

    forecast_definition, forecast_state = nnx.split(nnx.eval_shape(lambda: mamba.Mamba2Forecaster(
        3, d_model=32, n_layers=2, output_dim=3, forecast_horizon=8, d_state=16, headdim=8, chunk_size=16, rngs=nnx.Rngs(0))))
    forecast_weights, forecast_tree = jax.tree.flatten(R.fill(forecast_state))

    def forecast(weights, x, y):
        value, grads = jax.value_and_grad(lambda w: jnp.square(nnx.merge(forecast_definition, forecast_tree.unflatten(w))(x) - y).mean())(weights)
        return value, descend(weights, grads)

    add('mamba2_forecast', forecast, forecast_weights, R.f32(4, 48, 3), R.f32(4, 8, 3))

    # Complex moving averages, normalisation over time and attention by chunks.
    config_m = megalodon.MegalodonConfig(
        vocab_size=97, model_dim=32, num_layers=2, num_heads=2, z_dim=16, value_dim=64, ffn_hidden_dim=64, cema_ndim=4, chunk_size=16, norm_num_groups=4)
    shapes = eqx.filter_eval_shape(lambda key: megalodon.MegalodonForCausalLM(config_m, key=key), jax.random.key(0))
    shaped, static = eqx.partition(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    arrays, shape_of_arrays = jax.tree.flatten(R.fill(shaped))
    megalodon_of = lambda arrays: eqx.combine(shape_of_arrays.unflatten(arrays), static)

    def megalodon_step(arrays, tokens):
        def loss(w):
            return megalodon_of(w).compute_loss(tokens, tokens)
        value, grads = jax.value_and_grad(loss)(arrays)
        return value, descend(arrays, grads)

    add('megalodon_step', megalodon_step, arrays, R.i32(97, 2, 48))
    add('megalodon_packed', lambda arrays, tokens, segments: megalodon_of(arrays)(tokens, segment_ids=segments)[0], arrays, R.i32(97, 2, 48),
        np.sort(R.i32(4, 2, 48), -1) + 1)
    add('megalodon_generate', lambda arrays, key, tokens: generate(megalodon_of(arrays), tokens, 12, key, temperature=0.8, top_k=20)[0], arrays, KEY, R.i32(97, 2, 20))
    return P
