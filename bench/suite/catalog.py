"""All programs of the suite: the tables of programs/*.py, what bench/classes/*.py adds, generated ones, and files named by the caller.

A table is a module with `programs(jax, pick, add)`. `pick(small, l3, memory)` is the number of the three that fits the size that is asked for,
`add(name, function, *makers, factor=, share=)` adds one program; makers are of arrays.py. `factor` widens the bound of bounds.py, `share` is the
part of discrete results that may differ (a decision that hangs on a rounding). A module may set FACTOR for all of its programs.
Files of bench/classes have `programs(jax)` that returns {name: (function, [zero-argument makers])} and exist in one size, 'small'; X64 = True
in a file lets its programs have types of 64 bits.
"""
import dataclasses
import importlib
import importlib.util
import pathlib
import sys
import zlib
from collections.abc import Callable

import numpy as np

import generate

HERE = pathlib.Path(__file__).resolve().parent
SIZES = ('small', 'l3', 'memory')


@dataclasses.dataclass
class Program:
    name: str
    function: Callable
    makers: tuple
    factor: float = 1.0
    share: float = 0.0

    def arguments(self):
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return tuple(make(rng) for make in self.makers)


def class_names():
    """Classes of the suite's own tables, in the order of their names."""
    return sorted(path.stem for path in (HERE / 'programs').glob('*.py') if not path.stem.startswith('_'))


def extra_files():
    return sorted((HERE.parent / 'classes').glob('*.py'))


def own(jax, name, size, seed, count):
    """{program name: Program} of a class: its table, and `count` generated ones."""
    jax.config.update('jax_enable_x64', False)
    module = importlib.import_module('programs.' + name)
    table = {}

    def add(program, function, *makers, factor=1.0, share=0.0):
        if program in table:
            raise ValueError(f'class {name}: two programs are called {program}')
        table[program] = Program(program, function, makers, factor * getattr(module, 'FACTOR', 1.0), share)

    module.programs(jax, lambda *values: values[SIZES.index(size)], add)
    for number in range(count):
        program, function, makers = generate.program(jax, name, size, seed, number)
        add(program, function, *makers, factor=generate.FACTOR)
    return table


def from_file(jax, path):
    """Programs of a file with programs(jax). Its generators of numbers start anew before each program's arguments are made."""
    spec = importlib.util.spec_from_file_location('extra_' + pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    jax.config.update('jax_enable_x64', getattr(module, 'X64', False))
    found = module.programs(jax)
    found = found[0] if isinstance(found, tuple) else found
    states = [v for v in vars(module).values() if isinstance(v, np.random.RandomState)]
    factor = getattr(module, 'FACTOR', 16.0)

    def maker(make, program, at):
        def draw(rng):
            if at == 0:
                for state in states:
                    state.seed(sum(map(ord, program)))
            return make()
        return draw

    return {program: Program(program, function, tuple(maker(m, program, i) for i, m in enumerate(makers)), factor)
            for program, (function, makers) in found.items()}
