"""The main job: training a network. Losses against XLA and the evaluator; the same bits for every thread count and instruction set."""

import functools
import pathlib

import pytest
from helpers import ROOT, run

TRAIN = '''
import sys
sys.path.insert(0, %r)
import jax, numpy as np, train_mlp
device = jax.devices("%s")[0]
params, points, labels = jax.device_put((train_mlp.make_params(), *train_mlp.make_data()), device)
losses = []
for _ in range(%d):
    value, params = train_mlp.step(params, points, labels)
    losses.append(float(value).hex())
bits = [np.asarray(leaf).view(np.uint32).ravel()[:4096].tolist() for leaf in jax.tree.leaves(params)]
give({"losses": losses, "bits": bits})
'''
STEPS = 30

# One step computes each loss and gradient by sums of at most 256 products (the batch, the widest layer) and a few roundings more; a sum of n terms
# errs by at most n * eps relative to the sum of magnitudes. Training is stable here (the loss falls), so errors add up over the steps:
# |difference| <= 2 * STEPS * 256 * eps, relative to losses of order 1.
EPS = 2.0 ** -24
BOUND = 2 * STEPS * 256 * EPS


@functools.cache
def train(platform='cpu', steps=STEPS, **environment):
    return run(TRAIN % (str(ROOT / 'examples' / 'jax'), platform, steps), TENON_LOG='info', **environment)


def losses(ran):
    return [float.fromhex(v) for v in ran.result['losses']]


def test_the_loss_falls():
    values = losses(train())
    assert values[-1] < 0.5 * values[0]


def test_everything_is_compiled():
    lines = [line for line in train().statistics() if 'jit_step' in line]
    assert len(lines) == 1
    assert 'evaluate 0,' in lines[0], lines[0]


def test_losses_equal_xla():
    ours, theirs = losses(train()), losses(train('xla_cpu'))
    assert max(abs(a - b) for a, b in zip(ours, theirs)) <= BOUND


def test_losses_equal_the_evaluator():
    minimal = next(iter(sorted((ROOT / 'build').glob('*/lib/pjrt_plugin_minimal.so'))), None)
    if minimal is None:
        pytest.skip('the minimal plugin, which is the evaluator behind PJRT, is not built under build/')
    steps = 3
    ours = losses(train(steps=steps))
    theirs = losses(train(steps=steps, TENON_PLUGIN=str(minimal)))
    assert max(abs(a - b) for a, b in zip(ours, theirs)) <= BOUND


@pytest.mark.parametrize('environment', [{'TENON_NUM_THREADS': '1'}, {'TENON_NUM_THREADS': '2'}, {'TENON_NUM_THREADS': '8'}, {'TENON_MAX_ISA': 'avx2'}])
def test_bits_depend_on_neither_threads_nor_instruction_set(environment):
    flags = pathlib.Path('/proc/cpuinfo').read_text()
    if 'avx2' not in flags:
        pytest.skip('this machine has no AVX2: only the SSE level runs here')
    assert train(**environment).result == train().result
