"""Whole models as the layer libraries write them: forward passes and training steps."""
import numpy as np

from arrays import f32, flags, i32, many, positive, tree

FACTOR = 64.0


def programs(jax, pick, add):
    jnp, lax, nn = jax.numpy, jax.lax, jax.nn
    b, d, depth, h = pick((4, 16, 2, 12), (32, 128, 4, 28), (64, 384, 4, 56))
    nhwc = ('NHWC', 'HWIO', 'NHWC')
    conv = lambda x, w, s=1, g=1: lax.conv_general_dilated(x, w, (s, s), 'SAME', dimension_numbers=nhwc, feature_group_count=g)
    pool = lambda x: lax.reduce_window(x, np.float32(-np.inf), lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')
    norm = lambda x, axes=(-1,): (x - x.mean(axes, keepdims=True)) * lax.rsqrt(x.var(axes, keepdims=True) + 1e-5)
    dense = lambda i, o: tree(w=f32(i, o, scale=i ** -0.5), b=f32(o, scale=0.1))
    apply = lambda p, x: x @ p['w'] + p['b']
    loss = lambda logits, y: -jnp.take_along_axis(nn.log_softmax(logits), y[:, None], 1).mean()

    def step(f):
        def train(p, *batch):
            value, g = jax.value_and_grad(f)(p, *batch)
            return value, jax.tree.map(lambda p, g: p - 0.01 * g, p, g)
        return train

    mlp = lambda ps, x: apply(ps[-1], __import__('functools').reduce(lambda x, p: nn.relu(apply(p, x)), ps[:-1], x))
    layers = many(dense(d, 2 * d), dense(2 * d, 2 * d), dense(2 * d, 10))
    add('mlp', mlp, layers, f32(b, d))
    add('mlp_train', step(lambda p, x, y: loss(mlp(p, x), y)), layers, f32(b, d), i32(10, b))
    add('dropout_train', lambda p, x, y, m: step(lambda p: loss(apply(p[2], nn.gelu(apply(p[1], nn.gelu(apply(p[0], x)) * m))), y))(p), layers, f32(b, d), i32(10, b), flags(b, 2 * d, share=0.9))

    def cnn(p, x):
        x = pool(nn.relu(conv(x, p['a'])))
        x = pool(nn.relu(conv(x, p['b'])))
        return apply(p['c'], x.mean((1, 2)))
    kernels = tree(a=f32(3, 3, 1, 8, scale=0.3), b=f32(3, 3, 8, 16, scale=0.1), c=dense(16, 10))
    add('cnn', cnn, kernels, f32(b, h, h, 1))
    add('cnn_train', step(lambda p, x, y: loss(cnn(p, x), y)), kernels, f32(b, h, h, 1), i32(10, b))

    def residual_net(p, x):
        for q in p['blocks']:
            x = nn.relu(x + norm(conv(nn.relu(norm(conv(x, q['a']), (0, 1, 2))), q['b']), (0, 1, 2)))
        return apply(p['head'], x.mean((1, 2)))
    c = pick(4, 16, 32)
    blocks = tree(blocks=many(*[tree(a=f32(3, 3, c, c, scale=0.1), b=f32(3, 3, c, c, scale=0.1))] * 2), head=dense(c, 10))
    images = f32(max(b // 4, 1), h, h, c)
    add('residual_net', residual_net, blocks, images)
    add('residual_net_train', step(lambda p, x, y: loss(residual_net(p, x), y)), blocks, images, i32(10, max(b // 4, 1)))

    def inverted(p, x):
        y = nn.relu6(norm(conv(x, p['up']), (0, 1, 2)))
        y = nn.relu6(norm(conv(y, p['deep'], 1, y.shape[-1]), (0, 1, 2)))
        gate = nn.sigmoid(nn.relu(y.mean((1, 2)) @ p['s']) @ p['e'])
        return x + conv(y * gate[:, None, None], p['down'])
    bottleneck = tree(up=f32(1, 1, c, 4 * c, scale=0.3), deep=f32(3, 3, 1, 4 * c, scale=0.3), s=f32(4 * c, c, scale=0.3), e=f32(c, 4 * c, scale=0.3), down=f32(1, 1, 4 * c, c, scale=0.1))
    add('inverted_bottleneck', inverted, bottleneck, images)
    add('inverted_bottleneck_train', step(lambda p, x: (inverted(p, x) ** 2).mean()), bottleneck, images)

    def mixer(p, x):
        for q in p:
            y = norm(x).swapaxes(1, 2)
            x = x + apply(q[1], nn.gelu(apply(q[0], y))).swapaxes(1, 2)
            x = x + apply(q[3], nn.gelu(apply(q[2], norm(x))))
        return x.mean(1)
    tokens = pick(8, 32, 64)
    mixers = many(*[many(dense(tokens, tokens), dense(tokens, tokens), dense(d, 2 * d), dense(2 * d, d))] * depth)
    add('mixer', mixer, mixers, f32(b // 4, tokens, d))
    add('mixer_train', step(lambda p, x: (mixer(p, x) ** 2).mean()), mixers, f32(b // 4, tokens, d))

    heads = 4

    def transformer(p, x):
        t = x.shape[1]
        mask = np.tril(np.ones((t, t), bool))
        for q in p:
            y = apply(q['qkv'], norm(x)).reshape(*x.shape[:2], 3, heads, -1)
            s = jnp.einsum('bqhd,bkhd->bhqk', y[:, :, 0], y[:, :, 1]) * (d // heads) ** -0.5
            a = jnp.einsum('bhqk,bkhd->bqhd', nn.softmax(jnp.where(mask, s, -1e9)), y[:, :, 2])
            x = x + apply(q['out'], a.reshape(x.shape))
            x = x + apply(q['down'], nn.silu(apply(q['gate'], norm(x))) * apply(q['up'], norm(x)))
        return norm(x)
    stack = many(*[tree(qkv=dense(d, 3 * d), out=dense(d, d), gate=dense(d, 2 * d), up=dense(d, 2 * d), down=dense(2 * d, d))] * depth)
    add('transformer', transformer, stack, f32(b // 4, tokens, d))
    add('transformer_train', step(lambda p, x: (transformer(p, x) ** 2).mean()), stack, f32(b // 4, tokens, d))
    add('language_model_loss', lambda e, p, i: loss((transformer(p, e[i[:, :-1]]) @ e.T).reshape(-1, e.shape[0]), i[:, 1:].reshape(-1)), f32(10 * d, d, scale=0.1), stack, i32(10 * d, b // 4, tokens))

    def autoencoder(p, x, noise):
        z = apply(p['mean'], (y := nn.silu(apply(p['in'], x)))) 
        v = jnp.clip(apply(p['var'], y), -4, 4)
        out = apply(p['out'], nn.silu(apply(p['mid'], z + jnp.exp(0.5 * v) * noise)))
        return ((out - x) ** 2).sum(-1).mean() + 0.5 * (jnp.exp(v) + z * z - 1 - v).sum(-1).mean()
    vae = {'in': dense(4 * d, d), 'mean': dense(d, 8), 'var': dense(d, 8), 'mid': dense(8, d), 'out': dense(d, 4 * d)}
    add('autoencoder_train', step(autoencoder), lambda rng: {k: m(rng) for k, m in vae.items()}, f32(b, 4 * d), f32(b, 8))
    add('mixture_of_experts', lambda g, w, x: (lambda p: jnp.einsum('be,ebd->bd', jnp.where(p >= jnp.sort(p, -1)[:, -2:-1], p, 0), jax.vmap(lambda w: nn.relu(x @ w))(w)))(nn.softmax(x @ g)), f32(d, 6), f32(6, d, d, scale=0.1), f32(b, d))
    add('u_net', lambda p, x: (lambda a: conv(jnp.concatenate([a, jnp.repeat(jnp.repeat(nn.silu(conv(pool(a), p[1])), 2, 1), 2, 2)], -1), p[2]))(nn.silu(conv(x, p[0]))), many(f32(3, 3, 3, c, scale=0.3), f32(3, 3, c, 2 * c, scale=0.1), f32(3, 3, 3 * c, 3, scale=0.1)), f32(max(b // 4, 1), h, h, 3))

    def field(p, points):
        encoded = jnp.concatenate([f(points * 2.0 ** k) for k in range(4) for f in (jnp.sin, jnp.cos)], -1)
        y = nn.relu(apply(p[0], encoded))
        y = apply(p[1], y)
        alpha = 1 - jnp.exp(-nn.softplus(y[..., 3]) * 0.1)
        through = jnp.cumprod(jnp.concatenate([jnp.ones_like(alpha[:, :1]), 1 - alpha[:, :-1]], 1), 1)
        return ((alpha * through)[..., None] * nn.sigmoid(y[..., :3])).sum(1)
    rays = f32(pick(16, 256, 2048), 32, 3)
    add('radiance_field', field, many(dense(24, 64), dense(64, 4)), rays)
    add('radiance_field_train', step(lambda p, x: (field(p, x) ** 2).mean()), many(dense(24, 64), dense(64, 4)), rays)
    add('recommender', lambda u, v, i, j, p: nn.sigmoid((u[i] * v[j]).sum(-1) + apply(p, jnp.concatenate([u[i], v[j]], -1))[:, 0]), f32(50 * b, 24), f32(70 * b, 24), i32(50 * b, 20 * b), i32(70 * b, 20 * b), dense(48, 1))
    add('spline_layer', lambda w, x: jnp.einsum('bik,iko->bo', jnp.exp(-(x[..., None] - jnp.linspace(-2, 2, 8)) ** 2), w), f32(d, 8, d, scale=0.1), f32(b, d))
    add('state_space_layer', lambda a, u, c, x: (lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (jnp.broadcast_to(nn.sigmoid(a), x.shape), x * u), axis=1)[1] * c), f32(d), f32(d), f32(d), f32(max(b // 8, 1), 4 * tokens, d))
