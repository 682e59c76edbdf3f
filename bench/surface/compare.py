#!/usr/bin/env python3
"""Runs programs on two plugins and names those that are slower, differ, fail or are interpreted: see README.md.

usage: compare.py FOLDER --plugin SO --against SO [--only GLOB] [--seconds S] [--below RATIO] [--tenon FILE]
"""
import argparse
import csv
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 60


def measured(tenon, program, options, table):
    """(seconds of the plugin, seconds of the other, whether results agree), or what went wrong."""
    table.unlink(missing_ok=True)
    command = [tenon, 'bench', program, '--random', '-p', options.plugin, '--against', options.against, '--seconds', str(options.seconds), '--csv', table]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f'not through after {TIMEOUT_S} s'
    if not table.exists():
        return (done.stderr.strip().splitlines() or [f'ended with {done.returncode}'])[-1]
    with open(table, newline='') as lines:
        ours, other = (float(row['minimum_seconds']) for row in csv.DictReader(lines))
    return ours, other, done.returncode == 0


def is_interpreted(program):
    """Whether the plan has a step for the evaluator; false where there is no tenon-opt."""
    opt = ROOT / 'build/release/bin/tenon-opt'
    if not opt.exists():
        return False
    plan = subprocess.run([opt, '--plan', program], capture_output=True, text=True)
    return any(line.lstrip().startswith('evaluate ') for line in plan.stdout.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--plugin', required=True)
    parser.add_argument('--against', required=True)
    parser.add_argument('--only', default='*', help='names of files without .mlir, as a glob')
    parser.add_argument('--seconds', type=float, default=0.02)
    parser.add_argument('--below', type=float, default=0.95)
    parser.add_argument('--tenon', default=os.fspath(ROOT / 'build/release/bin/tenon'))
    options = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for program in sorted(options.folder.glob(options.only + '.mlir')):
            result = measured(options.tenon, program, options, pathlib.Path(folder, 'table.csv'))
            notes = ['has steps for the evaluator'] if is_interpreted(program) else []
            if isinstance(result, str):
                notes.append(result)
            else:
                ours, other, agrees = result
                ratios.append(other / ours)
                if not agrees:
                    notes.append('results differ')
                if ratios[-1] < options.below:
                    notes.append(f'{ratios[-1]:.2f} ({ours * 1e6:.1f} : {other * 1e6:.1f} us)')
            if notes:
                print(f'{program.stem:50} {", ".join(notes)}', flush=True)
    if not ratios:
        sys.exit('no program ran on both')
    print(f'{len(ratios)} programs, {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}x, {sum(r < options.below for r in ratios)} below {options.below}')


if __name__ == '__main__':
    main()
