#!/usr/bin/env python3
"""Estimates of steps beside what they took: see README.md.

usage: model.py --plugin SO [--class NAME ...] [--sizes small,l3] [--runs N] [--worst N] [--json FILE] [--plot FILE.png]
"""
import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SUITE = pathlib.Path(__file__).resolve().parent.parent / 'suite'
LEAST_NS = 1000


def child(plugin, class_name, size, runs):
    """Runs the programs of one class in this process, whose environment names the file for the profile."""
    sys.path[:0] = [str(SUITE), str(SUITE.parent.parent / 'python')]
    from tenon_jax import _registration
    _registration.register(plugin, replace=True)
    import jax

    import catalog
    jax.config.update('jax_enable_compilation_cache', False)
    for name, program in catalog.own(jax, class_name, size, seed=1, count=0).items():
        try:
            arguments = program.arguments()

            def call(*values, function=program.function):
                return function(*values)

            call.__name__ = f'{class_name}_{name}'
            run = jax.jit(call)
            for _ in range(runs):
                jax.block_until_ready(run(*arguments))
        except Exception as error:  # Programs are judged by bench/suite; here they only give steps.
            print(f'{class_name}/{name}: {error}'.splitlines()[0], file=sys.stderr)


def steps_of(plugin, class_name, size, runs):
    with tempfile.NamedTemporaryFile(suffix='.tsv') as file:
        environment = dict(os.environ, TENON_PROFILE=file.name, TENON_NUM_THREADS='1', TENON_JAX='off')
        command = [sys.executable, __file__, '--plugin', plugin, '--child', class_name, size, str(runs)]
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            print(f'{class_name}: ended with {done.returncode}: {done.stderr[-300:]}', file=sys.stderr)
        with open(file.name, newline='') as lines:
            for row in csv.DictReader(lines, delimiter='\t', quoting=csv.QUOTE_NONE):
                if int(row['step']) < 0 or class_name not in row['program'] or float(row['estimate_ns']) <= 0:
                    continue
                if int(row['runs']) >= 3 and int(row['least_ns']) >= LEAST_NS:
                    yield {'class': class_name, 'size': size, **{k: v if k in ('program', 'kind', 'what', 'from') else float(v) for k, v in row.items()}}


def bound_of(step):
    """What the model says a step waits for, roughly: the largest of its parts."""
    parts = {'flops': step['flops'] / 100, 'ops': step['ops'] / 16 / 3, 'serial': step['serial'] / 3,
             'memory': (step['bytes_read'] + step['bytes_written']) / 12, 'caches': step['bytes_cached'] / 60}
    return max(parts, key=parts.get)


def error_of(step):
    """How far off: 0.3 is 30 % too long or 1 / 1.3 too short."""
    ratio = step['estimate_ns'] / step['least_ns']
    return max(ratio, 1 / ratio) - 1


def report(steps, worst):
    def table(title, key):
        print(f'\n{title:20} {"steps":>7} {"median error":>13} {"within 2x":>10} {"estimate / measured":>20}')
        groups = {}
        for s in steps:
            groups.setdefault(key(s), []).append(s)
        for name, group in sorted(groups.items(), key=lambda g: -len(g[1])):
            errors = [error_of(s) for s in group]
            centre = math.exp(statistics.median(math.log(s['estimate_ns'] / s['least_ns']) for s in group))
            print(f'{name:20} {len(group):7} {statistics.median(errors):12.0%} {sum(e <= 1 for e in errors) / len(errors):10.0%} {centre:20.2f}')
    table('all', lambda s: 'all')
    table('kind', lambda s: s['kind'])
    table('bound by', bound_of)
    table('class', lambda s: s['class'])
    print('\nfurthest off:')
    for s in sorted(steps, key=error_of, reverse=True)[:worst]:
        print(f"{s['estimate_ns'] / s['least_ns']:8.3f}x  {s['least_ns'] / 1e3:10.1f} us  {s['program']} [{s['size']}]: {s['kind']} {s['what'][:140]}")


def plot(steps, file):
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 7))
    kinds = sorted({s['kind'] for s in steps})
    for kind in kinds:
        some = [s for s in steps if s['kind'] == kind]
        axes.scatter([s['least_ns'] / 1e3 for s in some], [s['estimate_ns'] / 1e3 for s in some], s=6, label=kind, alpha=0.6)
    ends = [LEAST_NS / 1e3, max(s['least_ns'] for s in steps) / 1e3]
    for factor, style in ((1, '-'), (2, ':'), (0.5, ':')):
        axes.plot(ends, [factor * e for e in ends], 'k' + style, linewidth=0.8)
    axes.set(xscale='log', yscale='log', xlabel='measured, us on one core', ylabel='predicted, us', title='Steps of plans')
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--plugin', required=True)
    parser.add_argument('--class', dest='classes', action='append')
    parser.add_argument('--sizes', default='small,l3')
    parser.add_argument('--runs', type=int, default=12)
    parser.add_argument('--worst', type=int, default=25)
    parser.add_argument('--json')
    parser.add_argument('--plot')
    parser.add_argument('--child', nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.plugin, arguments.child[0], arguments.child[1], int(arguments.child[2]))
        return
    classes = arguments.classes or sorted(p.stem for p in (SUITE / 'programs').glob('*.py') if not p.stem.startswith('_'))
    plugin = os.path.abspath(arguments.plugin)
    steps = [s for c in classes for size in arguments.sizes.split(',') for s in steps_of(plugin, c, size, arguments.runs)]
    if not steps:
        sys.exit('no step ran long enough')
    report(steps, arguments.worst)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(steps))
    if arguments.plot:
        plot(steps, arguments.plot)


if __name__ == '__main__':
    main()
