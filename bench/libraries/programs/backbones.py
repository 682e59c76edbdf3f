"""Equimo: recent networks that see, in Equinox."""
import numpy as np

from by_value import Programs
from weights import Weights

NEEDS = ('equimo', 'equinox', 'optax')
FACTOR = 512.0


def programs(jax):
    import equinox as eqx
    import optax
    from equimo.models import convnext, lowformer, mlla, reduceformer, vit, vssd

    KEY = np.array([0, 5], np.uint32)
    R = Weights(jax, 13)
    P = Programs()
    add = P.add
    is_shape = lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)

    def network(name, make, size, batch=2, both=True):
        shaped, static = eqx.partition(eqx.filter_eval_shape(make, jax.random.key(0)), lambda leaf: is_shape(leaf) and leaf.dtype == np.float32)
        concrete = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype) if is_shape(leaf) else leaf, static)
        arrays, tree = jax.tree.flatten(R.fill(shaped))

        def forward(arrays, x, key):
            model = eqx.combine(tree.unflatten(arrays), concrete)
            return jax.vmap(lambda x, k: model(x, key=k, inference=True))(x, jax.random.split(key, batch))

        def train(arrays, x, key, y):
            def loss(w):
                model = eqx.combine(tree.unflatten(w), concrete)
                logits = jax.vmap(lambda x, k: model(x, key=k, inference=False))(x, jax.random.split(key, batch))
                return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
            value, grads = jax.value_and_grad(loss)(arrays)
            return value, jax.tree.map(lambda w, g: w - 0.01 * g, arrays, grads)
        x = R.f32(batch, 3, size, size)
        add(name, forward, arrays, x, KEY)
        if both:
            add(name + '_step', train, arrays, x, KEY, R.i32(10, batch))

    network('mlla', lambda k: mlla.Mlla(32, 3, key=k, dim=16, depths=[1, 1], num_heads=[2, 4], num_classes=10), 32)
    network('vssd', lambda k: vssd.Vssd(32, 3, key=k, dim=16, d_state=16, depths=[1, 1], num_heads=[2, 4], attentions_layers=('mamba2mixer', 'attention'),
                                          num_classes=10), 32)
    network('convnext', lambda k: convnext.ConvNeXt(3, depths=[1, 1, 2, 1], dims=[16, 24, 32, 48], drop_path_rate=0.1, num_classes=10, key=k), 48)
    network('reduceformer', lambda k: reduceformer.ReduceFormer(3, widths=[8, 16, 24, 32], depths=[1, 1, 1, 1], block_types=['conv', 'conv', 'attention', 'attention'], head_dim=8,
                                                                num_classes=10, key=k), 48)
    network('lowformer', lambda k: lowformer.LowFormer(3, widths=[8, 16, 24, 32], depths=[1, 1, 1, 1], att_strides=[1, 1, 2, 1],
                                                       block_types=['conv', 'conv', 'attention', 'attention'], attention_type='softmax', num_classes=10, key=k), 64, both=False)
    network('vit_registers', lambda k: vit.VisionTransformer(32, 3, 32, 4, 4, [2], reg_tokens=4, num_classes=10, drop_path_rate=0.1, key=k), 32)
    return P
