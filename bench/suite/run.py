#!/usr/bin/env python3
"""The suite: programs by class and size on Tenon and on JAX's built-in CPU backend, in interleaved rounds, results compared.

  run.py --plugin SO [--class C]... [--only REGEX] [--sizes small,l3,memory] [--seed N] [--rounds 3] [--quick] [--as KIND] [--part P] [--check] [--json OUT] [--plots FOLDER]

Ratios above 1.00 mean that Tenon is faster or smaller. Each class runs in a child process per backend, anew in each round (with --check one for all); a program that
crashes or hangs costs itself alone. A result outside of the bounds of bounds.py is an error, and so is an `evaluate` step. The exit status is 1 when anything failed.
"""
import argparse
import functools
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import bounds
import catalog
import derive
import generate
import report
from child import Child, Ended

STATISTICS = re.compile(r'^tenon: compile .*?kernels (\d+) \((\d+) distinct, \d+ compiled, llvm=(\d+).*?evaluate (\d+), arena (\d+)', re.M)


def default_plugin():
    root = pathlib.Path(__file__).resolve().parents[2]
    for path in (os.environ.get('TENON_PLUGIN'), root / 'build/release/lib/pjrt_plugin_tenon.so', root / 'build/dev/lib/pjrt_plugin_tenon.so'):
        if path and pathlib.Path(path).exists():
            return str(path)
    return None


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--plugin', default=default_plugin(), help='Tenon, or another plugin (TENON_PLUGIN, else that of build/release or build/dev)')
    a.add_argument('--class', dest='classes', action='append', metavar='NAME', help='only this class; a file of bench/classes by its stem; repeatable')
    a.add_argument('--programs', action='append', default=[], metavar='FILE', help='a file with programs(jax) as a class of its own; repeatable')
    a.add_argument('--only', default='', metavar='REGEX', help='programs whose "class/name" contains it')
    a.add_argument('--sizes', default=','.join(catalog.SIZES))
    a.add_argument('--seed', type=int, help='of the generated programs; drawn anew without')
    a.add_argument('--as', dest='kind', metavar='KIND', help='derived programs: ' + ', '.join(derive.KINDS) + ', or several with + between them (derive.py)')
    a.add_argument('--part', type=float, default=1, help='how many of the programs run, chosen by the seed')
    a.add_argument('--generated', type=int, default=5, metavar='N', help='generated programs per class that has a generator; 5 make a tenth')
    a.add_argument('--rounds', type=int, default=3)
    a.add_argument('--seconds', type=float, default=0.4, help='of timing per program, backend and round')
    a.add_argument('--limit', type=float, default=120, help='seconds that a program may take on one backend')
    a.add_argument('--quick', action='store_true', help='the small size, one round, short timing')
    a.add_argument('--check', action='store_true', help='results and evaluate steps only, no timing')
    a.add_argument('--fresh', action='store_true', help='a process per program: peaks of memory that owe nothing to other programs')
    a.add_argument('--json', metavar='FILE')
    a.add_argument('--plots', metavar='FOLDER', help='ratios by class as SVG (needs matplotlib)')
    a.add_argument('--list', action='store_true', help='only print the classes')
    a = a.parse_args()
    if a.quick:
        a.sizes, a.rounds, a.seconds = 'small', 1, 0.1
    if a.check:
        a.rounds, a.seconds = 1, 0.0
    if a.seed is None:
        a.seed = random.SystemRandom().randrange(1000000)
    if a.kind and (unknown := set(a.kind.split('+')) - set(derive.KINDS)):
        sys.exit(f'kinds are {", ".join(derive.KINDS)}, got {", ".join(sorted(unknown))}')
    a.sizes = a.sizes.split(',')
    if unknown := set(a.sizes) - set(catalog.SIZES):
        sys.exit(f'sizes are {", ".join(catalog.SIZES)}, got {", ".join(sorted(unknown))}')
    if not a.plugin and not a.list:
        sys.exit('no plugin: give --plugin or TENON_PLUGIN')
    return a


def sources(a):
    """[(class, size, what a worker loads)], in the order of the report."""
    found = []
    for name in catalog.class_names():
        count = a.generated if name in generate.GENERATORS else 0
        found += [(name, size, {'class': name, 'size': size, 'seed': a.seed, 'count': count}) for size in a.sizes]
    for path in [*catalog.extra_files(), *map(pathlib.Path, a.programs)]:
        if 'small' in a.sizes:
            found.append((path.stem, 'small', {'file': str(path.resolve())}))
    known = {name for name, _, _ in found}
    if a.classes and (unknown := set(a.classes) - known):
        sys.exit(f'no class {", ".join(sorted(unknown))}; there are {", ".join(sorted(known))}')
    return [(name, size, {**what, 'as': a.kind}) for name, size, what in found if not a.classes or name in a.classes]


def ask(child, request, limit, row, side):
    """Sends one request, keeps the best of its figures in row[side]; False after a failure."""
    try:
        answer = child.send(request, limit)
    except Ended as e:
        answer = {'error': str(e)}
    if 'unfit' in answer:
        row['unfit'] = True
        return False
    if 'error' in answer:
        row['errors'][side] = answer['error']
        return False
    figures = row.setdefault(side, {})
    for name, value in answer.items():
        if name == 'marks':
            if m := STATISTICS.findall(child.text(*value)):
                figures.update(zip(('kernels', 'distinct', 'llvm', 'evaluate', 'arena_bytes'), map(int, m[-1])))
        elif isinstance(value, float):
            figures[name] = min(value, figures.get(name, value))
        else:
            figures[name] = value
    return True


def check_results(row, paths, factor, share, moves):
    """Compares what both sides saved and notes a difference as an error. `moves` runs the program on the built-in backend with other arguments."""
    ours, theirs = row['tenon']['types'], row['built-in']['types']
    if ours != theirs:
        row['errors']['result'] = f'types {ours}, wanted {theirs}'
        return
    with np.load(paths['tenon']) as got, np.load(paths['built-in']) as want:
        for i, name in enumerate(theirs):
            if difference := bounds.compare(got[str(i)], want[str(i)], name, factor, share):
                others = moves()
                if others and bounds.within_moves(got[str(i)], want[str(i)], [x[str(i)] for x in others], name, factor):
                    row['moves'] = True
                    continue
                row['errors']['result'] = f'result {i} ({name}): {difference}'
                return


def run_program(children, name, factor, share, a, row, folder, first):
    """One round of one program: both sides in turn, twice when timed, else at the same time."""
    paths = {side: os.path.join(folder, side + '.npz') for side in children}

    @functools.cache
    def moves():
        """Only derived programs have them: nobody chose arguments for which those are well-conditioned."""
        found = []
        for number in range(bounds.MOVES if a.kind else 0):
            path = os.path.join(folder, 'moved.npz')
            try:
                answer = children['built-in'].send({'program': name, 'move': number, 'save': path}, a.limit)
            except Ended:
                return []
            if 'error' in answer:
                return []
            with np.load(path) as file:
                found.append(dict(file))
        return found

    def one(side, save):
        return ask(children[side], {'program': name, 'seconds': a.seconds / 2, 'save': paths[side] if save else None}, a.limit, row, side)

    with ThreadPoolExecutor(2) as pool:
        done = list((pool.map if a.check else map)(lambda side: one(side, first), children))
    if not all(done):
        return
    if first:
        check_results(row, paths, factor, share, moves)
        if row['tenon'].get('evaluate'):
            row['errors']['evaluate'] = f'{row["tenon"]["evaluate"]} evaluate steps'
    for side in () if a.check else children:
        one(side, False)


def both(a):
    return {'built-in': Child('built-in'), 'tenon': Child(os.path.abspath(a.plugin))}


def stop(children):
    for child in children.values():
        child.stop()


def chosen(name, a):
    return zlib.crc32(f'{a.seed} {name}'.encode()) < a.part * 2**32


def run_class(name, size, what, a, rows, folder, shared):
    """All rounds of one class at one size; rows get one entry per program. `shared` children serve instead of new ones, if there are any."""
    for number in range(a.rounds):
        children = shared or both(a)
        try:
            loaded = [child.load(what) for child in children.values()]
            if bad := [answer['error'] for answer in loaded if 'error' in answer]:
                sys.exit(f'class {name}, size {size}: {bad[0]}')
            for program, (factor, share) in loaded[0]['programs'].items():
                if not re.search(a.only, f'{name}/{program}') or not chosen(f'{name}/{program}', a):
                    continue
                row = rows.setdefault(f'{name}/{program}/{size}', {'class': name, 'program': program, 'size': size, 'errors': {}})
                if number and row['errors']:
                    continue
                run_program(children, program, factor, share, a, row, folder, number == 0)
                if row.get('unfit'):
                    del rows[f'{name}/{program}/{size}']
                    continue
                if number == a.rounds - 1 or row['errors']:
                    report.print_row(row)
                if a.fresh:
                    stop(children)
        finally:
            if not shared:
                stop(children)


def main():
    a = arguments()
    found = sources(a)
    if a.list:
        print('\n'.join(f'{name} {size}' for name, size, _ in found))
        return
    print(f'seed {a.seed}, plugin {a.plugin}', flush=True)
    rows = {}
    with tempfile.TemporaryDirectory(prefix='suite-') as folder:
        shared = both(a) if a.check else None
        try:
            for name, size, what in found:
                run_class(name, size, what, a, rows, folder, shared)
                if a.json:
                    report.write_json(a.json, rows, a)
        finally:
            stop(shared or {})
    if not rows:
        sys.exit('no program ran')
    failed = report.print_summary(rows)
    if a.plots:
        report.plot(a.plots, rows)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
