#!/usr/bin/env python3
"""Times sums over the processes of a job, on Tenon's engines and on JAX's built-in CPU backend.

  bench/processes.py [--processes 2] [--devices 1] [--sizes 1024,1048576,67108864] [--backends shm,gloo,openmpi,mpich,xla] [--seconds 2]

Sizes are bytes of f32 per device. Prints, per backend and size, the least and the median time of one psum, waited for, in ms as process 0 sees it.
Needs what python/tests needs; on as many cores as processes at least, or the figures are the scheduler's."""

import argparse
import json
import os
import socket
import subprocess
import sys

WORKER = '''
import json, os, sys, time
index, count, port, sizes, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4]), float(sys.argv[5])
index = int(os.environ.get(index, index))
import jax
jax.distributed.initialize("localhost:" + port, count, index)
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jax.experimental import multihost_utils
n = jax.device_count()
mesh = jax.make_mesh((n,), ("x",))
f = jax.jit(jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()))
for size in sizes:
    x = jax.make_array_from_callback((n * size // 4,), NamedSharding(mesh, P("x")), lambda index: np.ones(size // 4, np.float32))
    jax.block_until_ready(f(x))
    start = time.perf_counter()
    jax.block_until_ready(f(x))
    once = float(multihost_utils.broadcast_one_to_all(np.float32(time.perf_counter() - start)))
    runs = int(max(5, min(2000, seconds / max(once, 1e-6))))
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        jax.block_until_ready(f(x))
        times.append(time.perf_counter() - start)
    assert float(np.asarray(f(x).addressable_shards[0].data)[0]) == n
    if index == 0: print("RESULT", json.dumps([size, min(times) * 1e3, sorted(times)[len(times) // 2] * 1e3, runs]), flush=True)
'''


def run(backend, args):
    with socket.socket() as probe:
        probe.bind(('localhost', 0))
        port = probe.getsockname()[1]
    env = dict(os.environ, JAX_PLATFORMS='cpu', JAX_NUM_CPU_DEVICES=str(args.devices))
    ranks = {'openmpi': 'OMPI_COMM_WORLD_RANK', 'mpich': 'PMI_RANK'}
    env.update({'TENON_JAX': 'off'} if backend == 'xla' else {'TENON_COLLECTIVES': 'mpi' if backend in ranks else backend})
    sizes = json.dumps([int(size) for size in args.sizes.split(',')])
    worker = lambda index: [sys.executable, '-c', WORKER, index, str(args.processes), str(port), sizes, str(args.seconds)]
    if backend in ranks:
        root = ['--allow-run-as-root', '--oversubscribe'] if backend == 'openmpi' else []
        commands = [[f'mpirun.{backend}', *root, '-n', str(args.processes), *worker(ranks[backend])]]
    else:
        commands = [worker(str(i)) for i in range(args.processes)]
    job = [subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for command in commands]
    outputs = [process.communicate(timeout=600)[0] for process in job]
    for line in outputs[0].splitlines():
        if line.startswith('RESULT '):
            size, least, median, runs = json.loads(line[len('RESULT '):])
            print(f'{backend:6} {size:10} B  min {least:9.3f} ms  median {median:9.3f} ms  ({runs} runs)', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--processes', type=int, default=2)
    parser.add_argument('--devices', type=int, default=1)
    parser.add_argument('--sizes', default='1024,1048576,67108864')
    parser.add_argument('--backends', default='shm,gloo,xla')
    parser.add_argument('--seconds', type=float, default=2)
    args = parser.parse_args()
    for backend in args.backends.split(','):
        run(backend, args)


if __name__ == '__main__':
    main()
