"""Runs unmodified JAX through the trace plugin: jax_test.py TRACE_PLUGIN PLUGIN, where PLUGIN may be `xla` for the CPU plugin
that is on PyPI as xla-cpu-pjrt. NumPy judges results, and the trace must show the calls without misuse."""

import glob
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = r'''
import os
import jax, jax.numpy as jnp
import numpy as np

a = np.arange(12, dtype=np.float32).reshape(3, 4)
b = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
np.testing.assert_allclose(np.asarray(jnp.asarray(a) @ jnp.asarray(b)), a @ b, rtol=1e-5, atol=1e-5)
f = jax.jit(lambda x: jnp.exp(x - x.max(-1, keepdims=True)), donate_argnums=0)
np.testing.assert_allclose(np.asarray(f(jnp.asarray(a.T) + 1)), np.exp(a.T - a.T.max(-1, keepdims=True)), rtol=1e-5)
np.testing.assert_allclose(np.asarray(jax.grad(lambda x: (x**3).sum())(a)), 3 * a**2, rtol=1e-5)
x = jax.device_put(a)
x.delete()
assert x.is_deleted()
try:
    jax.jit(lambda x: x + 1).lower(a).compile({'xla_no_such_option': 1})
    raise AssertionError('an unknown option passed')
except Exception as e:
    assert not isinstance(e, AssertionError), e
step = jax.jit(lambda x: x * 0.5 + 1)
y = jnp.asarray(a)
for _ in range(200):
    y = step(y)
np.testing.assert_allclose(np.asarray(y), np.full_like(a, 2), rtol=1e-4)
print('PLATFORM', jax.devices()[0].client.platform_version)
'''


def run(trace, plugin, preload):
    folder = tempfile.mkdtemp()
    file, text = os.path.join(folder, 'trace.json'), os.path.join(folder, 'trace.txt')
    env = dict(os.environ, JAX_PLATFORMS='traced', TENON_JAX='off', TENON_TRACE_FILE=file, TENON_TRACE_TEXT=text,
               PJRT_NAMES_AND_LIBRARY_PATHS='traced:' + (plugin if preload else trace))
    if preload:
        env['LD_PRELOAD'] = trace
    else:
        env['TENON_TRACE_PLUGIN'] = plugin
    done = subprocess.run([sys.executable, '-c', PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'PLATFORM' in done.stdout
    events = json.load(open(file))
    names = {e['name'] for e in events}
    for name in ('PJRT_Client_Create', 'PJRT_Client_Compile', 'PJRT_LoadedExecutable_Execute', 'PJRT_Buffer_Destroy'):
        assert name in names, (name, sorted(names))
    summary = events[-1]['args']
    assert summary['functions']['PJRT_LoadedExecutable_Execute']['calls'] >= 203, summary
    # JAX frees what it gets; what the process keeps until it ends is no misuse of a call.
    misuse = {kind: n for kind, n in summary['misuse'].items() if kind != 'leaked handle'}
    assert not misuse, open(text).read()[-4000:]
    print('passed', plugin, 'preloaded' if preload else 'wrapped', len(events), 'events; at the end:', summary['misuse'])


if __name__ == '__main__':
    try:
        import jax  # noqa: F401
    except ImportError:
        print('SKIPPED: this Python has no JAX')
        sys.exit(0)
    plugin = sys.argv[2]
    if plugin == 'xla':
        plugin = next((f for folder in sys.path for f in glob.glob(folder + '/xla_plugins/xla_cpu_pjrt/*.so')), plugin)
    if not os.path.exists(plugin):
        print('SKIPPED: no plugin', plugin)
        sys.exit(0)
    run(sys.argv[1], plugin, preload=False)
    run(sys.argv[1], plugin, preload=True)
