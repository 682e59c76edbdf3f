#!/usr/bin/env python3
"""Programs of the suite as files, CLASS.NAME.mlir each: for `tenon explain`, `tenon bench --against`, compile_report.

  dump.py FOLDER [--size small] [--class C]... [--only REGEX] [--as KIND] [--libraries]     with JAX's built-in backend
"""
import argparse
import os
import pathlib
import re
import sys

os.environ['JAX_PLATFORMS'] = 'cpu'
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def tables(jax, options):
    """(class, {name: program}) of what is asked for; a file of bench/libraries whose modules are missing is named."""
    import catalog
    wanted = set(options.classes)
    for name in catalog.class_names():
        if not wanted or name in wanted:
            yield name, catalog.own(jax, name, options.size, 0, 0)
    files = list(catalog.extra_files())
    if options.libraries:
        files += sorted((HERE.parent / 'libraries/programs').glob('*.py'))
    for path in files:
        if wanted and path.stem not in wanted:
            continue
        try:
            yield path.stem, catalog.from_file(jax, path)
        except ImportError as e:
            print(f'{path.name}: {e}', file=sys.stderr)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('folder', type=pathlib.Path)
    a.add_argument('--size', default='small')
    a.add_argument('--class', dest='classes', action='append', default=[], metavar='NAME')
    a.add_argument('--only', default='', metavar='REGEX', help='programs whose "class/name" contains it')
    a.add_argument('--as', dest='kind', metavar='KIND', help='derived programs, as in run.py')
    a.add_argument('--libraries', action='store_true', help='those of bench/libraries too')
    options = a.parse_args()
    import jax

    import derive
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables(jax, options):
        for program in (derive.table(jax, options.kind, table) if options.kind else table).values():
            if not re.search(options.only, f'{name}/{program.name}'):
                continue
            try:
                text = jax.jit(program.function).lower(*program.arguments()).as_text()
            except Exception as e:  # A program that one version of a library cannot trace is no reason to stop.
                print(f'{name}.{program.name}: {type(e).__name__}: {e}'[:200], file=sys.stderr)
                continue
            (options.folder / f'{name}.{program.name}.mlir').write_text(text)


if __name__ == '__main__':
    main()
