#!/usr/bin/env python3
"""Programs of PyTorch/XLA on Tenon and on PyTorch/XLA's own CPU backend: results against eager PyTorch, execution, whole steps and compilation.

  run.py [--only REGEX] [--rounds N] [--check] [--json FILE]

Ratios above 1.00 mean that Tenon is faster. Each program runs in a process of its own per backend and round; one that crashes or hangs costs itself alone.
The exit status is 1 when a program fails or differs on Tenon and not on the other backend.
"""
import argparse
import ast
import importlib
import importlib.util
import json
import math
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BACKENDS = {'tenon': 'TENON', 'built-in': 'CPU'}
FIGURES = ('execution', 'step', 'compile')


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--only', default='', metavar='REGEX', help='programs whose "file/name" contains it')
    a.add_argument('--rounds', type=int, default=2, metavar='N', help='processes per program and backend, in turn; the best figures count')
    a.add_argument('--seconds', type=float, default=0.5, help='of timing per process')
    a.add_argument('--limit', type=float, default=120, help='seconds that a process may take')
    a.add_argument('--check', action='store_true', help='results only, no timing')
    a.add_argument('--json', metavar='FILE')
    a.add_argument('--list', action='store_true', help='only print the programs')
    a = a.parse_args()
    if a.rounds < 1:
        sys.exit('--rounds must be 1 or more')
    if a.check:
        a.rounds, a.seconds = 1, 0.0
    return a


def needs(path):
    """Modules that a file names in NEEDS, without running it."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == 'NEEDS':
            return ast.literal_eval(node.value)
    sys.exit(f'{path} does not say in NEEDS which modules it imports')


def programs(only):
    """{file/name: Program} of those that match and whose modules are installed; names the files with what they miss."""
    sys.path.insert(0, str(HERE / 'programs'))
    found = {}
    for path in sorted((HERE / 'programs').glob('*.py')):
        if path.stem == 'common':
            continue
        if missing := [module for module in needs(path) if importlib.util.find_spec(module) is None]:
            print(f'skipped {path.stem}: no module {", ".join(missing)}', flush=True)
            continue
        chosen = {f'{path.stem}/{name}': program for name, program in importlib.import_module(path.stem).PROGRAMS.items()}
        chosen = {name: program for name, program in chosen.items() if re.search(only, name)}
        if chosen:
            for module in needs(path):
                importlib.import_module(module)  # Once for all processes.
        found.update(chosen)
    return found


def find_plugin():
    """Puts the package where it can be imported, and names the plugin of the build when the environment names none."""
    if importlib.util.find_spec('tenon_torch') is None:
        sys.path.append(str(ROOT / 'python' / 'tenon_torch'))
    plugin = os.environ.setdefault('TENON_PLUGIN', str(ROOT / 'build/release/lib/pjrt_plugin_tenon.so'))
    if not pathlib.Path(plugin).is_file():
        sys.exit(f'no plugin at {plugin}: build it or set TENON_PLUGIN')


def answer_into(path, log, function, values):
    """In the new process: writes what the function returns, or its error."""
    import torch
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        answer = function(*values)
    except Exception as e:
        answer = {'error': f'{type(e).__name__}: {e}'}
    torch.save(answer, path)
    os._exit(0)  # Runtimes may take long to shut down, or fail at it.


def in_process(function, values, limit, folder):
    """What the function returns in a process of its own, or {'error': why there is nothing}."""
    import torch
    path, log = folder / 'answer', folder / 'log'
    path.unlink(missing_ok=True)
    process = multiprocessing.get_context('fork').Process(target=answer_into, args=(path, log, function, values))
    process.start()
    process.join(limit)
    if process.is_alive():
        process.kill()
        process.join()
        return {'error': f'over {limit:g} s'}
    if process.exitcode or not path.exists():
        return {'error': f'ended with status {process.exitcode}: {log.read_text(errors="replace")[-500:]}'}
    return torch.load(path, weights_only=False)


def error_of(got, want):
    """Largest difference relative to the largest value; for integers, the share of elements that differ. Types may differ, as PyTorch/XLA's sometimes do."""
    import torch
    if got.shape != want.shape:
        return math.inf
    if not got.numel():
        return 0.0
    if not (want.is_floating_point() or want.is_complex()):
        return (got != want).double().mean().item()
    wide = torch.complex128 if got.is_complex() or want.is_complex() else torch.float64
    got, want = got.to(wide), want.to(wide)
    if (got.isnan() != want.isnan()).any():
        return math.inf
    differs = ~got.isnan() & (got != want)
    if not differs.any():
        return 0.0
    finite = want.abs()[want.isfinite()]
    return (got - want)[differs].abs().max().item() / max(finite.max().item() if finite.numel() else 0.0, 1e-3)


def worst_error(got, want):
    """Of all results of all steps."""
    if [len(step) for step in got] != [len(step) for step in want]:
        return math.inf
    return max((error_of(g, w) for got_step, want_step in zip(got, want) for g, w in zip(got_step, want_step)), default=0.0)


def keep_best(best, answer):
    for figure in FIGURES:
        if figure in answer:
            best[figure] = min(answer[figure], best.get(figure, math.inf))
    best['on_host'] = answer['on_host']


def run_program(name, program, a, folder):
    """A row: errors, and per backend the best figures and the error of the results."""
    import measure
    row = {'name': name, 'errors': {}, **{side: {} for side in BACKENDS}}
    want = in_process(measure.eager, (program,), a.limit, folder) if program.check else {}
    if 'error' in want:
        row['errors']['eager'] = want['error']
    for _ in range(a.rounds):
        for side, backend in BACKENDS.items():
            if side in row['errors']:
                continue
            answer = in_process(measure.lazy, (program, backend, a.seconds), a.limit, folder)
            if 'error' in answer:
                row['errors'][side] = answer['error']
                continue
            keep_best(row[side], answer)
            if 'results' in want:
                row[side]['difference'] = max(worst_error(answer['results'], want['results']), row[side].get('difference', 0.0))
    row['verdict'] = verdict(row, program)
    row['ratios'] = ratios(row)
    return row


def verdict(row, program):
    failed = [side for side in BACKENDS if side in row['errors']]
    if failed:
        return 'both fail' if len(failed) == 2 else f'{failed[0]} fails'
    if not program.check:
        return 'not compared'
    if 'eager' in row['errors']:
        return 'eager fails'
    wrong = [side for side in BACKENDS if row[side]['difference'] > program.tolerance]
    if len(wrong) == 2:
        return 'both differ'
    return {(): 'ok', ('tenon',): 'differs', ('built-in',): 'built-in differs'}[tuple(wrong)]


def ratios(row):
    """Theirs by ours, of the figures that both have."""
    ours, theirs = row['tenon'], row['built-in']
    if row['errors'].keys() & BACKENDS.keys():
        return {}
    return {figure: theirs[figure] / ours[figure] for figure in FIGURES if ours.get(figure) and theirs.get(figure)}


def line(row):
    text = f'{row["name"]:65}'
    for figure in FIGURES:
        if figure in row['ratios']:
            text += f' {figure} {row["tenon"][figure] * 1e3:8.2f} {row["built-in"][figure] * 1e3:8.2f} {row["ratios"][figure]:6.2f}x |'
    text += f' {row["verdict"]}'
    if 'differ' in row['verdict']:
        text += f' ({row["tenon"]["difference"]:.1e} and {row["built-in"]["difference"]:.1e})'
    if on_host := row['tenon'].get('on_host'):
        text += f' (host: {", ".join(name.removeprefix("aten::") for name in on_host)})'
    return text + ''.join(f'\n    {side}: {error[:300]}' for side, error in row['errors'].items())


def print_summary(rows):
    for figure in FIGURES:
        known = [(row['ratios'][figure], row['name']) for row in rows if figure in row['ratios']]
        if not known:
            continue
        mean = math.exp(sum(math.log(ratio) for ratio, _ in known) / len(known))
        print(f'{figure}: geometric mean {mean:.2f}x of {len(known)} programs')
        for ratio, name in sorted(known):
            if ratio < 0.95:
                print(f'  {ratio:6.2f}x {name}')
    counts = {}
    for row in rows:
        counts[row['verdict']] = counts.get(row['verdict'], 0) + 1
    print('results:', ', '.join(f'{count} {name}' for name, count in sorted(counts.items())))


def main():
    a = arguments()
    if missing := [module for module in ('torch', 'torch_xla') if importlib.util.find_spec(module) is None]:
        sys.exit(f'no module {", ".join(missing)}')
    os.environ.setdefault('PJRT_DEVICE', 'CPU')  # torch_xla asks for one when it is imported; each process sets its own.
    chosen = programs(a.only)
    if a.list:
        print('\n'.join(chosen))
        return 0
    if not chosen:
        sys.exit('no program matches')
    find_plugin()
    import torch
    import torch_xla  # noqa: F401 (once for all processes, which then start quickly)
    torch.set_num_threads(1)  # A pool of threads does not live on in a new process.
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, program in chosen.items():
            rows.append(run_program(name, program, a, pathlib.Path(folder)))
            print(line(rows[-1]), flush=True)
    print_summary(rows)
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(rows, indent=1) + '\n')
    return int(any(row['verdict'] in ('differs', 'tenon fails') for row in rows))


if __name__ == '__main__':
    sys.exit(main())
