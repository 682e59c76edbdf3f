"""PyTorch/XLA on Tenon, beside PyTorch itself. Runs where torch_xla is installed: in this interpreter, or in the one that TENON_TORCH_PYTHON names."""

import json
import os
import subprocess
import sys

import pytest

from helpers import ROOT

PYTHON = os.environ.get('TENON_TORCH_PYTHON', sys.executable)
PLUGIN = os.environ.get('TENON_PLUGIN') or str(ROOT / 'build/release/lib/pjrt_plugin_tenon.so')


def has_torch_xla():
    found = subprocess.run([PYTHON, '-c', 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch_xla") is None)'], capture_output=True)
    return found.returncode == 0


pytestmark = pytest.mark.skipif(not has_torch_xla(), reason='PyTorch/XLA is not installed (TENON_TORCH_PYTHON names an interpreter that has it)')

PROLOGUE = f'''
import json, os, sys
sys.path.insert(0, {str(ROOT / 'python' / 'tenon_torch')!r})
sys.path.insert(0, {str(ROOT / 'examples' / 'pytorch')!r})
import torch, torch_xla
from torch_xla.experimental import plugins
import tenon_torch
plugins.register_plugin('TENON', tenon_torch.CpuPlugin())
def give(value): print('RESULT ' + json.dumps(value))
'''


def run(code, **environment):
    env = dict(os.environ, PJRT_DEVICE='TENON', TENON_PLUGIN=PLUGIN, **environment)
    process = subprocess.run([PYTHON, '-c', PROLOGUE + code], env=env, capture_output=True, text=True, timeout=600)
    lines = [line for line in process.stdout.splitlines() if line.startswith('RESULT ')]
    assert process.returncode == 0 and lines, f'exit {process.returncode}\n{process.stdout}\n{process.stderr[-4000:]}'
    return json.loads(lines[-1][len('RESULT '):])


def test_a_network_trains_as_in_pytorch():
    losses, expected = run('''
import copy, train
model = train.make_model()
images, labels = train.make_data()
device = torch_xla.device()
on_device = copy.deepcopy(model).to(device)
give([train.train(on_device, images.to(device), labels.to(device), 5, torch_xla.sync), train.train(model, images, labels, 5)])
''')
    assert losses[-1] < 0.9 * losses[0]
    # Roundings of f32 grow through batch norms and Adam's quotients; a wrong term would show in the first digit.
    assert losses == pytest.approx(expected, rel=2e-2)


def test_functions_that_travel_as_custom_calls():
    worst = run('''
x = torch.linspace(-3, 3, 101)
functions = {'erf': torch.erf, 'ndtr': torch.special.ndtr, 'tan': torch.tan, 'gelu': torch.nn.functional.gelu}
give({name: (f(x.to(torch_xla.device())).cpu() - f(x)).abs().max().item() for name, f in functions.items()})
''')
    # Some ulps; tan's largest value here is 22, an ulp of which is 2e-6.
    assert max(worst.values()) < 1e-5, worst


def test_linear_algebra():
    residuals = run('''
torch.manual_seed(0)
a = torch.randn(3, 12, 12)
d = a.to(torch_xla.device())
s = d + d.transpose(-1, -2)
values, vectors = torch.linalg.eigh(s)
q, r = torch.linalg.qr(d)
far = lambda x: x.abs().max().item()
give([far((torch.linalg.inv(d) @ d).cpu() - torch.eye(12)), far((vectors * values[:, None, :] @ vectors.transpose(-1, -2) - s).cpu()), far((q @ r - d).cpu())])
''')
    # n * eps * the largest norm, times condition numbers of some hundreds for the inverse.
    assert residuals[0] < 1e-2 and residuals[1] < 1e-4 and residuals[2] < 1e-4, residuals


def test_arrays_over_four_devices():
    got, expected, spec = run('''
import copy, numpy as np
import torch_xla.runtime as xr
import torch_xla.distributed.spmd as xs
xr.use_spmd()
device = torch_xla.device()
mesh = xs.Mesh(np.arange(4), (2, 2), ('x', 'y'))
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))
cut = copy.deepcopy(model).to(device)
x = torch.randn(8, 16)
on_devices = x.to(device)
xs.mark_sharding(on_devices, mesh, ('x', None))
xs.mark_sharding(cut[0].weight, mesh, ('y', None))
def losses(model, x, sync=lambda: None):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    out = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        sync()
        out.append(loss.item())
    return out
give([losses(cut, on_devices, torch_xla.sync), losses(model, x), torch_xla._XLAC._get_xla_sharding_spec(cut[0].weight)])
''', TENON_NUM_DEVICES='4')
    assert got == pytest.approx(expected, rel=1e-5)
    assert 'devices=[2,1,2]' in spec
