"""What one process does: a program in eager PyTorch, or on one backend of PyTorch/XLA."""
import os
import pathlib
import sys
import time

import torch

STEPS_COMPARED = 3
TENON_TORCH = pathlib.Path(__file__).resolve().parents[2] / 'python' / 'tenon_torch'


def on_host(tensors):
    return [tensor.detach().to('cpu', copy=True) for tensor in tensors]


def eager(program):
    """Results of the first steps."""
    torch.manual_seed(0)
    step = program.make(torch.device('cpu'))
    return {'results': [on_host(step()) for _ in range(STEPS_COMPARED)]}


def device_of(backend):
    os.environ['PJRT_DEVICE'] = backend
    import torch_xla
    from torch_xla.experimental import plugins
    if backend == 'TENON':
        if str(TENON_TORCH) in sys.path:  # An installed package registers itself.
            import tenon_torch
            plugins.register_plugin('TENON', tenon_torch.CpuPlugin())
    return torch_xla.device()


def lazy(program, backend, seconds):
    """Results of the first steps, seconds of compilation in them, then the least seconds of execution and of a whole step."""
    device = device_of(backend)
    import torch_xla
    from torch_xla.core import xla_model
    from torch_xla.debug import metrics

    def finish():
        torch_xla.sync()
        xla_model.wait_device_ops()

    torch.manual_seed(0)
    step = program.make(device)
    finish()
    metrics.clear_all()
    results = []
    for _ in range(STEPS_COMPARED):
        values = step()
        finish()
        results.append(on_host(values))
    compiled = metrics.metric_data('CompileTime')
    answer = {'results': results, 'compile': compiled[1] / 1e9 if compiled else 0.0}
    answer['on_host'] = sorted(name for name in metrics.counter_names() if name.startswith('aten::'))
    if seconds:
        answer.update(timed(step, finish, seconds))
    return answer


def timed(step, finish, seconds):
    execution, whole = [], []
    end = time.perf_counter() + seconds
    while len(whole) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        values = step()  # Kept until the end: what nobody holds isn't computed.
        traced = time.perf_counter()
        finish()
        done = time.perf_counter()
        del values
        execution.append(done - traced)
        whole.append(done - start)
    return {'execution': min(execution), 'step': min(whole)}
