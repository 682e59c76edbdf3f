"""Jobs of several processes on this machine."""

import json
import os
import socket
import subprocess
import sys
import threading
import time

_PROLOGUE = '''
import json, os, sys
def give(value): print("RESULT " + json.dumps(value), flush=True)
process = int(sys.argv[1])
import jax
jax.distributed.initialize("localhost:" + sys.argv[3], int(sys.argv[2]), process)
import numpy as np, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, AxisType
from jax.experimental import multihost_utils
def mesh_of(*shape, names="xyz", types=None):
    return jax.make_mesh(shape, tuple(names[:len(shape)]), axis_types=types or (AxisType.Auto,) * len(shape))
def put(value, mesh, *spec):
    value = np.asarray(value)
    return jax.make_array_from_callback(value.shape, NamedSharding(mesh, P(*spec)), lambda index: value[index])
def whole(array): return np.asarray(multihost_utils.process_allgather(array, tiled=True))
def shards(array): return [[s.device.id, np.asarray(s.data).tolist()] for s in array.addressable_shards]
'''


def start(code, processes, devices=2, **environment):
    """The processes of a job that runs `code`, which has a mesh_of, put, whole and shards, and gives json-able values."""
    with socket.socket() as probe:
        probe.bind(('localhost', 0))
        port = probe.getsockname()[1]
    env = {k: v for k, v in os.environ.items() if not k.startswith(('TENON_MAX', 'TENON_NUM', 'TENON_JAX', 'TENON_LOG', 'JAX_', 'XLA_'))}
    env.update({'TENON_NUM_DEVICES': str(devices), 'TENON_NUM_THREADS': '2'})
    env.update({k: str(v) for k, v in environment.items()})
    return [
        subprocess.Popen([sys.executable, '-c', _PROLOGUE + code, str(i), str(processes), str(port)],
                         env={**env, **({'TENON_NUM_DEVICES': str(devices[i])} if isinstance(devices, (list, tuple)) else {})},
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(processes)
    ]


def run_job(code, processes=2, devices=2, timeout=240, grace=60, check=True, **environment):
    """The values that each process gave, and what they wrote to stderr. Once one has failed, the others have `grace` seconds to end."""
    job = start(code, processes, devices, **environment)
    ended = [None] * processes

    def read(i):
        ended[i] = job[i].communicate()

    readers = [threading.Thread(target=read, args=(i,)) for i in range(processes)]
    for reader in readers:
        reader.start()
    until = time.monotonic() + timeout
    while any(reader.is_alive() for reader in readers) and time.monotonic() < until:
        time.sleep(0.05)
        if any(process.poll() for process in job):
            until = min(until, time.monotonic() + grace)
    for process in job:
        process.kill()
    for reader in readers:
        reader.join()
    results = [[json.loads(line[len('RESULT '):]) for line in out.splitlines() if line.startswith('RESULT ')] for out, _ in ended]
    if check:
        for process, (out, err) in zip(job, ended):
            assert process.returncode == 0, f'exit {process.returncode}\n{out[-2000:]}\n{err[-4000:]}'
    return results, [err for _, err in ended]
