"""Gemma: a language model with local and global attention, tuned, and run token by token through its caches."""
from by_value import Programs
from weights import Weights

NEEDS = ('gemma', 'optax')
FACTOR = 512.0


def programs(jax):
    import jax.numpy as jnp
    import optax
    from gemma import gm
    from gemma.gm.nn._config import TransformerConfig
    from gemma.gm.nn._modules import AttentionType as attention

    R = Weights(jax, 31)
    P = Programs()
    add = P.add

    def descend(weights, grads):
        return jax.tree.map(lambda w, g: (w - 0.01 * g).astype(w.dtype), weights, grads)

    small = TransformerConfig(
        num_embed=131, embed_dim=48, hidden_dim=96, num_heads=4, head_dim=16, num_kv_heads=2, final_logit_softcap=30.0, use_post_attn_norm=True, use_post_ffw_norm=True,
        attention_types=[attention.LOCAL_SLIDING, attention.LOCAL_SLIDING, attention.GLOBAL], attn_logits_soft_cap=50.0, sliding_window_size=8,
        transpose_gating_einsum=True, use_qk_norm=True, local_base_frequency=10_000, global_base_frequency=1_000_000)

    for kind, dtype in (('f32', jnp.float32), ('bf16', jnp.bfloat16)):
        model = gm.nn.Transformer(config=small, dtype=dtype)
        tokens = R.i32(131, 2, 24)
        params = jax.tree.map(lambda leaf: leaf.astype(dtype), R.flax(model, tokens))

        def tune(params, tokens, model=model):
            def loss(p):
                logits = model.apply(p, tokens[:, :-1]).logits
                return optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), tokens[:, 1:]).mean()
            value, grads = jax.value_and_grad(loss)(params)
            return value, descend(params, grads)

        def score(params, tokens, more, model=model, dtype=dtype):
            """A prompt at once, then tokens one by one through the caches."""
            length, prompt = 40, tokens.shape[1]
            seen = jnp.arange(length)
            mask = jnp.broadcast_to(seen[None, None] <= jnp.arange(prompt)[None, :, None], (2, prompt, length))
            places = jnp.broadcast_to(jnp.arange(prompt), (2, prompt))
            out = model.apply(params, tokens, cache=small.init_cache(2, dtype, cache_length=length), positions=places, attention_mask=mask)

            def step(cache, x):
                i, token = x
                out = model.apply(params, token[:, None], cache=cache, positions=jnp.full((2, 1), i), attention_mask=jnp.broadcast_to(seen <= i, (2, 1, length)))
                return out.cache, out.logits[:, -1]
            return out.logits[:, -1], jax.lax.scan(step, out.cache, (jnp.arange(prompt, prompt + 12), more))[1]

        add('gemma_step_' + kind, tune, params, tokens)
        add('gemma_cached_' + kind, score, params, tokens, R.i32(131, 12, 2))
    return P
