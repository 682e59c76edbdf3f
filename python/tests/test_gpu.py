"""Training on the GPU plugin: an MLP, a small transformer, a small residual network. All of a step runs on the device, losses follow the CPU plugin's,
and two runs give the same bits."""

import functools

import pytest
from helpers import run

# Plain JAX: what a step computes stands here. Each network is a function of parameters and data to a loss, with what both begin with.
TRAIN = '''
import functools
import jax, numpy as np
from jax import lax, nn, numpy as jnp

draw = np.random.default_rng(3)
def weight(*dims): return (draw.standard_normal(dims) / np.sqrt(np.prod(dims[:-1]))).astype(np.float32)
def norm(x, scale, axes): return (x - x.mean(axes, keepdims=True)) * lax.rsqrt(x.var(axes, keepdims=True) + 1e-5) * scale
def cross_entropy(logits, labels): return -jnp.take_along_axis(nn.log_softmax(logits), labels[..., None], -1).mean()

def mlp():
    x, labels = draw.standard_normal((64, 32)).astype(np.float32), draw.integers(0, 10, 64)
    def loss(p):
        return cross_entropy(nn.gelu(nn.relu(x @ p[0] + p[1]) @ p[2]) @ p[3], labels)
    return loss, [weight(32, 64), np.zeros(64, np.float32), weight(64, 64), weight(64, 10)]

def transformer():
    tokens = draw.integers(0, 50, (4, 17))
    def loss(p):
        x = p['embed'][tokens[:, :-1]] + p['place']
        for b in p['blocks']:
            h = norm(x, b['n1'], -1)
            q, k, v = ((h @ b[n]).reshape(4, 16, 4, 8) for n in ('q', 'k', 'v'))
            scores = jnp.einsum('bihd,bjhd->bhij', q, k) / np.sqrt(8)
            scores = jnp.where(jnp.tril(jnp.ones((16, 16), bool)), scores, -1e9)
            x = x + jnp.einsum('bhij,bjhd->bihd', nn.softmax(scores), v).reshape(4, 16, 32) @ b['o']
            x = x + nn.gelu(norm(x, b['n2'], -1) @ b['w1']) @ b['w2']
        return cross_entropy(x @ p['embed'].T, tokens[:, 1:])
    block = lambda: {'n1': np.ones(32, np.float32), 'n2': np.ones(32, np.float32), **{n: weight(32, 32) for n in 'qkvo'}, 'w1': weight(32, 64),
                     'w2': weight(64, 32)}
    return loss, {'embed': weight(50, 32), 'place': weight(16, 32), 'blocks': [block(), block()]}

def resnet():
    images, labels = draw.standard_normal((8, 16, 16, 3)).astype(np.float32), draw.integers(0, 10, 8)
    conv = functools.partial(lax.conv_general_dilated, padding='SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
    def loss(p):
        x = nn.relu(norm(conv(images, p['stem'], (1, 1)), p['n0'], (0, 1, 2)))
        for b, stride in zip(p['blocks'], (1, 2)):
            y = nn.relu(norm(conv(x, b['c1'], (stride, stride)), b['n1'], (0, 1, 2)))
            y = norm(conv(y, b['c2'], (1, 1)), b['n2'], (0, 1, 2))
            x = nn.relu(y + (conv(x, b['skip'], (stride, stride)) if 'skip' in b else x))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')
        return cross_entropy(x.mean((1, 2)) @ p['head'], labels)
    ones = lambda n: np.ones(n, np.float32)
    return loss, {'stem': weight(3, 3, 3, 8), 'n0': ones(8), 'head': weight(16, 10),
                  'blocks': [{'c1': weight(3, 3, 8, 8), 'c2': weight(3, 3, 8, 8), 'n1': ones(8), 'n2': ones(8)},
                             {'c1': weight(3, 3, 8, 16), 'c2': weight(3, 3, 16, 16), 'n1': ones(16), 'n2': ones(16), 'skip': weight(1, 1, 8, 16)}]}

loss, params = %s()
device = jax.devices('%s')[0]
@jax.jit
def training_step(p):
    value, grads = jax.value_and_grad(loss)(p)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, p, grads)
params, losses = jax.device_put(params, device), []
for _ in range(%d):
    value, params = training_step(params)
    losses.append(float(value).hex())
give({'losses': losses, 'bits': [np.asarray(w).view(np.uint32).ravel().tolist() for w in jax.tree.leaves(params)]})
'''
STEPS = 10

# A loss and its gradients are sums of at most 2,048 products (8 images of 16 x 16 places), rounded once or twice more in each of some ten layers; the
# loss falls, so errors add up over the steps: |difference| <= 2 * STEPS * 2048 * eps, relative to losses of order 1.
BOUND = 2 * STEPS * 2048 * 2.0 ** -24


@functools.cache
def train(network, platform, again=0):
    try:
        return run(TRAIN % (network, platform, STEPS), JAX_PLATFORMS='vulkan,cpu', TENON_LOG='info')
    except AssertionError as error:
        if any(text in str(error) for text in ("Unable to initialize backend 'vulkan'", "Unknown backend: 'vulkan'", "'vulkan' is not in the list")):
            pytest.skip('there is no Vulkan driver, or the wheel was built without the GPU plugin')
        raise


def losses(ran):
    return [float.fromhex(v) for v in ran.result['losses']]


@pytest.mark.parametrize('network', ['mlp', 'transformer', 'resnet'])
def test_training(network):
    ran = train(network, 'vulkan')
    lines = [line for line in ran.statistics() if 'jit_training_step for gpu:' in line]
    assert len(lines) == 1, ran.stderr
    assert 'host steps 0 ' in lines[0] and 'host decisions 0,' in lines[0], lines[0]
    values, cpu = losses(ran), losses(train(network, 'cpu'))
    assert values[-1] < 0.9 * values[0], values
    assert max(abs(a - b) for a, b in zip(values, cpu)) <= BOUND, (values, cpu)
    assert train(network, 'vulkan', again=1).result == ran.result
