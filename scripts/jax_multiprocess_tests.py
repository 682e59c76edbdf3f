#!/usr/bin/env python3
"""Runs JAX's own tests of several processes (tests/multiprocess) on Tenon, or on JAX's built-in CPU backend for comparison.

  scripts/jax_multiprocess_tests.py --tests JAX/tests/multiprocess [--plugin pjrt_plugin_tenon.so] [--files pjit,array] [--backend tenon|xla]
      [--processes 4] [--devices 2] [--timeout 600]

JAX/tests/multiprocess is the folder of the release that fits the installed JAX. The interpreter that runs this script runs the tests: it needs jax,
jaxlib, tenon-jax, absl-py, hypothesis and portpicker. Prints one line per file: tests, how many passed, were skipped or failed, and seconds; then the
names of what failed. Ends with 1 when something failed."""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

# Of other hardware, or about JAX's profile-guided compilation for it.
_NOT_FOR_CPUS = ('pgle', 'tpu_device', 'colocated_python', 'thread_guard')


def run_file(path, args):
    env = dict(os.environ, JAX_NUM_CPU_DEVICES=str(args.devices), JAX_PLATFORMS='cpu')
    if args.backend == 'xla':
        env['TENON_JAX'] = 'off'
    elif args.plugin:
        env['TENON_PLUGIN'] = str(args.plugin.resolve())
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, str(path), f'--num_processes={args.processes}', *args.extra], env=env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        text, _ = process.communicate(timeout=args.timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text = process.communicate()[0] + '\n(time is up)'
    return process.returncode, text, time.monotonic() - start


def outcomes(text):
    """By test, the worst that a process said of it."""
    worst = {}
    order = ('OK', 'SKIPPED', 'FAILED')
    for what, name in re.findall(r'\[ +(OK|SKIPPED|FAILED) +\] ([\w.]+)', text):
        if name not in worst or order.index(what) > order.index(worst[name]):
            worst[name] = what
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tests', type=pathlib.Path, required=True)
    parser.add_argument('--plugin', type=pathlib.Path)
    parser.add_argument('--files', default='')
    parser.add_argument('--backend', choices=('tenon', 'xla'), default='tenon')
    parser.add_argument('--processes', type=int, default=4)
    parser.add_argument('--devices', type=int, default=2)
    parser.add_argument('--timeout', type=float, default=600)
    parser.add_argument('--logs', type=pathlib.Path, help='folder for what the files wrote')
    parser.add_argument('extra', nargs='*', help='further arguments of the test files')
    args = parser.parse_args()
    wanted = [name for name in args.files.split(',') if name]
    failed = 0
    for path in sorted(args.tests.glob('*_test.py')):
        name = path.name.removesuffix('_test.py')
        if wanted and name not in wanted or not wanted and name in _NOT_FOR_CPUS:
            continue
        code, text, seconds = run_file(path, args)
        if args.logs:
            args.logs.mkdir(parents=True, exist_ok=True)
            (args.logs / f'{name}.{args.backend}.txt').write_text(text)
        results = outcomes(text)
        counts = {what: sum(r == what for r in results.values()) for what in ('OK', 'SKIPPED', 'FAILED')}
        bad = [test for test, what in results.items() if what == 'FAILED']
        failed += len(bad) + (code != 0 and not bad)
        print(f'{name:20} exit {code}: {len(results)} tests, {counts["OK"]} passed, {counts["SKIPPED"]} skipped, {counts["FAILED"]} failed, {seconds:.0f} s', flush=True)
        for test in bad:
            print('    ' + test, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
