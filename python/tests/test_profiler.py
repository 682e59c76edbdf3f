"""jax.profiler.trace shows what Tenon did: compile phases, executions, steps on every thread, transfers."""

import gzip
import json
import pathlib

from helpers import run

_PROGRAM = r'''
import jax, numpy as np
@jax.jit
def f(x, w):
    return jax.nn.softmax(jax.numpy.tanh(x @ w)).sum(0)
x = np.ones((2048, 2048), np.float32)  # Long enough for the pool's thread to join, however busy the machine is.
with jax.profiler.trace(FOLDER):
    # What is not dense is copied. Executions start in the order in which their copies end, so all are waited for.
    jax.block_until_ready([f(jax.device_put(x[:, ::-1]), x) for _ in range(3)])
give(True)
'''


def _events(folder):
    file, = pathlib.Path(folder).glob('plugins/profile/*/*.trace.json.gz')
    trace = json.loads(gzip.open(file).read())['traceEvents']
    planes = {e['args']['name']: e['pid'] for e in trace if e.get('name') == 'process_name'}
    ours = planes['/device:CUSTOM:Tenon']
    threads = {e['tid']: e['args']['name'] for e in trace if e.get('name') == 'thread_name' and e['pid'] == ours}
    return threads, [e for e in trace if e.get('ph') == 'X' and e['pid'] == ours]


def test_trace(tmp_path):
    run(f'FOLDER = {str(tmp_path)!r}\n' + _PROGRAM, TENON_NUM_THREADS=2)
    threads, events = _events(tmp_path)
    names = {e['name'] for e in events}
    assert {'compile jit_f', 'import', 'simplify', 'fuse', 'schedule', 'generate code'} <= names
    runs = [e for e in events if e['name'] == 'jit_f']
    assert len({e['args']['run_id'] for e in runs}) == 3
    steps = [e for e in events if e.get('args', {}).get('hlo_category') == 'gemm']
    assert steps and all(e['args']['run_id'] in {r['args']['run_id'] for r in runs} for e in steps)
    assert any(e['name'].startswith('kernel') and 'tanh' in e['name'] for e in events)
    assert 'host to device f32[2048,2048]' in names
    # They say where they were written, and what was written there.
    tanh = next(e['args'] for e in events if e['name'].startswith('kernel') and 'tanh' in e['name'])
    assert any('tanh' in tanh[key] for key in ('tf_op', 'stablehlo_ops')), tanh
    place, line = tanh['source'].rsplit(':', 1)
    assert place and int(line) == 8, tanh  # Three lines come before the program above.
    assert any('dot_general' in e['args'].get('stablehlo_ops', '') for e in steps)
    # Steps lie within their execution, in time and on its thread; the others help.
    first = runs[0]
    inside = [e for e in steps if e['tid'] == first['tid'] and first['ts'] <= e['ts'] and e['ts'] + e['dur'] <= first['ts'] + first['dur'] + 1]
    assert inside
    assert any(threads[e['tid']].startswith('tenon-pool') for e in steps)
