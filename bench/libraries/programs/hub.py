"""Flax models of Transformers, with small configurations: encoders trained, decoders that generate by beams and by chance."""
import numpy as np

from by_value import Programs
from weights import Weights

NEEDS = ('transformers', 'flax', 'optax')
FACTOR = 512.0


def programs(jax):
    import jax.numpy as jnp
    import optax
    import transformers as tf

    KEY = np.array([0, 5], np.uint32)
    R = Weights(jax, 29)
    P = Programs()
    add = P.add

    def made(kind, config, **options):
        model = kind(config, _do_init=False, **options)
        return model, R.fill(jax.eval_shape(lambda: model.init_weights(jax.random.key(0), model.input_shape)))

    def tuned(model, loss_of):
        def step(weights, key, *batch):
            value, grads = jax.value_and_grad(lambda w: loss_of(model, w, key, *batch))(weights)
            return value, jax.tree.map(lambda w, g: w - 0.01 * g, weights, grads)
        return step

    entropy = lambda logits, y: optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    common = dict(vocab_size=101, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64)
    mask = np.ones((2, 24), np.int32)
    mask[1, 17:] = 0
    longer = {**common, 'max_position_embeddings': 128}
    for name, kind, config, m, keys in (('bert', tf.FlaxBertForMaskedLM, tf.BertConfig(**common), mask, ['dropout_rng']),
                                        ('big_bird', tf.FlaxBigBirdForMaskedLM, tf.BigBirdConfig(**longer, block_size=8, num_random_blocks=1), np.ones((2, 112), np.int32),
                                         ['dropout_rng', 'indices_rng'])):
        model, weights = made(kind, config)

        def masked(model, w, key, x, m, y, keys=keys):
            return entropy(model(x, m, params=w, train=True, **{name: key for name in keys}).logits, y)
        add(name + '_step', tuned(model, masked), weights, KEY, R.i32(101, *m.shape), m, R.i32(101, *m.shape))

    gpt2, weights = made(tf.FlaxGPT2LMHeadModel, tf.GPT2Config(vocab_size=101, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2, pad_token_id=0))
    prompt = R.i32(98, 2, 8) + 3
    add('gpt2_greedy', lambda w, x: gpt2.generate(x, max_length=24, do_sample=False, params=w).sequences, weights, prompt)
    add('gpt2_beams', lambda w, x: gpt2.generate(x, max_length=20, num_beams=3, do_sample=False, params=w).sequences, weights, prompt)
    add('gpt2_by_chance', lambda w, x, k: gpt2.generate(x, max_length=24, do_sample=True, top_k=20, top_p=0.9, temperature=0.8, prng_key=k, params=w).sequences,
        weights, prompt, KEY)

    bart, weights_b = made(tf.FlaxBartForConditionalGeneration, tf.BartConfig(
        vocab_size=101, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
        max_position_embeddings=40, forced_eos_token_id=2))
    add('bart_step', tuned(bart, lambda model, w, key, x, m, y: entropy(model(x, m, decoder_input_ids=y, params=w, dropout_rng=key, train=True).logits, y)),
        weights_b, KEY, R.i32(101, 2, 24), mask, R.i32(101, 2, 12))
    add('bart_beams', lambda w, x: bart.generate(x, max_length=12, num_beams=3, params=w).sequences, weights_b, R.i32(98, 2, 16) + 3)

    whisper, weights_w = made(tf.FlaxWhisperForConditionalGeneration, tf.WhisperConfig(
        vocab_size=101, num_mel_bins=20, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, d_model=32, encoder_ffn_dim=64, decoder_ffn_dim=64,
        max_source_positions=30, max_target_positions=24, decoder_start_token_id=1, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        suppress_tokens=None, begin_suppress_tokens=None), input_shape=(1, 20, 60))
    add('whisper_step', tuned(whisper, lambda model, w, key, x, y: entropy(model(x, decoder_input_ids=y, params=w, dropout_rng=key, train=True).logits, y)),
        weights_w, KEY, R.f32(2, 20, 60), R.i32(101, 2, 12))

    clip, weights_c = made(tf.FlaxCLIPModel, tf.CLIPConfig(
        text_config=dict(vocab_size=101, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, max_position_embeddings=24),
        vision_config=dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8), projection_dim=16))

    def contrast(model, w, key, x, m, pictures):
        logits = model(x, pictures, m, params=w).logits_per_image
        return entropy(logits, jnp.arange(2)) + entropy(logits.T, jnp.arange(2))
    add('clip_step', tuned(clip, contrast), weights_c, KEY, R.i32(101, 2, 24), mask, R.f32(2, 3, 32, 32))
    return P
