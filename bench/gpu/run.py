#!/usr/bin/env python3
"""CPU time of programs on software drivers: Tenon's GPU plugin, IREE's Vulkan backend on the same driver, Tenon's CPU
plugin. They take turns, each in a process of its own; the least of all runs counts. See README.md."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


# The compiler as a library that has compiled the program before.
IREE_COMPILE = """
import sys, time
from iree.compiler.api import Invocation, Output, Session, Source
def compile_once(text):
    session = Session()
    session.set_flags('--iree-input-type=stablehlo', '--iree-hal-target-device=vulkan')
    invocation = session.invocation()
    invocation.enable_console_diagnostics()
    source = Source.wrap_buffer(session, text)
    output = Output.open_file(sys.argv[2])
    if not invocation.parse_source(source) or not invocation.execute():
        sys.exit('IREE did not compile the program')
    invocation.output_vm_bytecode(output)
    output.keep()
text = open(sys.argv[1], 'rb').read() + bytes(1)
compile_once(text)
start = time.process_time()
compile_once(text)
print(1e3 * (time.process_time() - start))
"""


def arrays(text):
    """The types of the program's arguments: ['16x8xf32', ...]."""
    start = text.index('@main')
    return re.findall(r'%\w+: tensor<([^>]*)>', text[start:text.index('->', start)])


def measure(plugin, program, runs):
    """Child: compile and run on a plugin; times in milliseconds, as JSON."""
    sys.path.insert(0, str(ROOT / 'python/tenon'))
    import numpy as np
    import tenon
    client = tenon.Client(plugin)
    text = pathlib.Path(program).read_text()
    # The same front end has seen a program before: nobody's first one is measured.
    client.compile('func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n'
                   '  %y = stablehlo.add %x, %x : tensor<3xf32>\n  return %y : tensor<3xf32>\n}')
    start = time.perf_counter(), time.process_time()
    executable = client.compile(text)
    compiled = 1e3 * (time.process_time() - start[1])
    random = np.random.default_rng(1)
    arguments = []
    for array in arrays(text):
        *dims, element = array.split('x')
        dtype = np.dtype({'f': 'float', 'i': 'int'}[element[0]] + element[1:])
        shape = [int(d) for d in dims]
        values = random.standard_normal(shape) if dtype.kind == 'f' else random.integers(0, 100, shape)
        arguments.append(client.array(values.astype(dtype), copy=True))
    times = []
    for _ in range(runs):
        start = time.process_time()
        for result in executable(*arguments):
            result.block_until_ready()
        times.append(1e3 * (time.process_time() - start))
    print(json.dumps({'compile': compiled, 'first': times[0], 'run': min(times[1:])}))


def tenon_times(args, plugin, program):
    environment = dict(os.environ, TENON_LIBRARY=str(args.build / 'lib/libtenon.so.0'))
    out = subprocess.run([sys.executable, __file__, '--child', plugin, str(program), '--runs', str(args.runs)],
                         env=environment, check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def iree_times(args, program, folder):
    module = pathlib.Path(folder) / (program.stem + '.vmfb')
    done = subprocess.run([args.iree / 'python', '-c', IREE_COMPILE, program, module], capture_output=True, text=True)
    if done.returncode != 0:
        return {}  # It does not take the program.
    compiled = float(done.stdout)
    inputs = [f'--input={array}={0.5 if array.split("x")[-1][0] == "f" else 7}' for array in arrays(program.read_text())]
    out = subprocess.run([args.iree / 'iree-benchmark-module', '--device=vulkan', '--function=main',
                          f'--module={module}', f'--benchmark_min_time={args.runs}x', *inputs],
                         capture_output=True, text=True).stdout
    found = re.search(r'process_time/real_time\s+[\d.]+ \w+\s+([\d.]+) (\w+)', out)
    if found is None:
        return {'compile': compiled}
    scale = {'ns': 1e-6, 'us': 1e-3, 'ms': 1, 's': 1e3}[found[2]]
    return {'compile': compiled, 'run': float(found[1]) * scale}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build/release')
    parser.add_argument('--iree', type=pathlib.Path, help='folder with python, iree-compile and iree-benchmark-module')
    parser.add_argument('--programs', nargs='*', default=sorted(p.stem for p in (HERE / 'programs').glob('*.mlir')))
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--child', nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return measure(*args.child, args.runs)
    os.environ.setdefault('LP_NUM_THREADS', '0')  # no time in which threads wait for each other
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault('MESA_SHADER_CACHE_DIR', folder)
        for name in args.programs:
            program = HERE / 'programs' / (name + '.mlir')
            best = {}
            for _ in range(args.rounds):
                turns = {'Vulkan': lambda: tenon_times(args, str(args.build / 'lib/pjrt_plugin_tenon_vulkan.so'), program),
                         'CPU': lambda: tenon_times(args, str(args.build / 'lib/pjrt_plugin_tenon.so'), program)}
                if args.iree:
                    turns['IREE'] = lambda: iree_times(args, program, folder)
                for who, turn in turns.items():
                    for what, ms in turn().items():
                        best[who, what] = min(ms, best.get((who, what), ms))
            rows.append((name, best))
    print('| program | Tenon compile | IREE compile | Tenon run | IREE run | IREE / Tenon | CPU plugin run |')
    print('|---|---|---|---|---|---|---|')
    for name, best in rows:
        def cell(who, what):
            return f'{best[who, what]:.3g}' if (who, what) in best else '-'
        ratio = f"{best['IREE', 'run'] / best['Vulkan', 'run']:.1f}" if ('IREE', 'run') in best else '-'
        print(f"| {name} | {cell('Vulkan', 'compile')} | {cell('IREE', 'compile')} | {cell('Vulkan', 'run')} | "
              f"{cell('IREE', 'run')} | {ratio} | {cell('CPU', 'run')} |")


if __name__ == '__main__':
    sys.exit(main())
