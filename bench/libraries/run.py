#!/usr/bin/env python3
"""Programs of libraries above JAX, as bench/suite runs its own: results, compile and run time on Tenon and on JAX's built-in CPU backend.

  run.py [--library NAME]... [options of bench/suite/run.py]

Runs those files of programs/ whose libraries are installed (NEEDS in the file), and names the others with what they miss.
"""
import argparse
import ast
import importlib.util
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def needs(path):
    """Modules that a file names in NEEDS, without running it."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == 'NEEDS':
            return ast.literal_eval(node.value)
    sys.exit(f'{path} does not say in NEEDS which modules it imports')


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--library', action='append', metavar='NAME', help='only this file of programs/; repeatable')
    a, rest = a.parse_known_args()
    files = {path.stem: path for path in sorted((HERE / 'programs').glob('*.py'))}
    if unknown := set(a.library or ()) - set(files):
        sys.exit(f'no library {", ".join(sorted(unknown))}; there are {", ".join(files)}')
    chosen = []
    for name, path in files.items():
        if a.library and name not in a.library:
            continue
        if missing := [module for module in needs(path) if importlib.util.find_spec(module) is None]:
            print(f'skipped {name}: no module {", ".join(missing)}', flush=True)
        else:
            chosen.append(name)
    if not chosen:
        sys.exit('none of the libraries is installed')
    command = [sys.executable, str(HERE.parent / 'suite' / 'run.py'), '--sizes', 'small']
    for name in chosen:
        command += ['--programs', str(files[name]), '--class', name]
    return subprocess.run(command + rest, env={**os.environ, 'KERAS_BACKEND': 'jax'}).returncode  # Other files import Keras, too, and it keeps its first backend.


if __name__ == '__main__':
    sys.exit(main())
