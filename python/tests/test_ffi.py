"""Typed custom calls that a user built against the header that jaxlib ships: examples/ffi_handlers on Tenon."""

import pathlib
import shutil
import subprocess

import jax
import pytest
from helpers import ROOT, run

_SOURCE = ROOT / 'examples' / 'ffi_handlers' / 'handlers.cc'
_PROLOGUE = (ROOT / 'examples' / 'ffi_handlers' / 'handlers.py').read_text()


@pytest.fixture(scope='session')
def library(tmp_path_factory):
    compiler = next((c for c in ('c++', 'g++', 'clang++', 'clang++-22') if shutil.which(c)), None)
    if compiler is None:
        pytest.skip('no C++ compiler')
    path = tmp_path_factory.mktemp('ffi') / 'libhandlers.so'
    subprocess.run([compiler, '-std=c++17', '-O1', '-fPIC', '-shared', '-I', jax.ffi.include_dir(), str(_SOURCE), '-o', str(path)], check=True)
    return pathlib.Path(path)


def run_with(library, code):
    return run(_PROLOGUE + f'\nregister({str(library)!r})\nassert "tenon" in jax.devices()[0].client.platform_version\n' + code).result


def test_attributes_arguments_and_errors(library):
    assert run_with(library, 'give(axpy(2.0, jnp.arange(4.0), jnp.ones(4)).tolist())') == [1.0, 3.0, 5.0, 7.0]
    said = run_with(library, 'try:\n    jax.block_until_ready(axpy(2.0, jnp.arange(4.0), jnp.ones(3)))\nexcept Exception as e:\n    give(str(e))')
    assert 'x has 4 elements, y has 3' in said


def test_every_stage_runs_and_state_is_freed(library):
    result = run_with(
        library, 'f = jax.jit(lambda x: scale(3, scale(5, x)))\n'
        'compiled = f.lower(jnp.ones(2)).compile()\n'
        'after_compile = counts()\n'
        'value = [compiled(jnp.ones(2)).tolist() for _ in range(3)]\n'
        'after_runs = counts()\n'
        'del compiled, f\n'
        'jax.clear_caches()\n'
        'import gc; gc.collect()\n'
        'give([after_compile, value, after_runs, counts()[0]])')
    assert result == [[2, 2, 0, 0], [[15.0, 15.0]] * 3, [2, 2, 6, 6], 0]


def test_stages_of_a_loop_run_once_for_each_execution(library):
    result = run_with(library, 'f = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda i, v: scale(2, v), x))\n'
                      'give([f(jnp.ones(2)).tolist(), counts()])')
    assert result[0] == [1024.0, 1024.0]
    assert result[1][1:] == [1, 1, 1]


def test_errors_of_the_stages(library):
    code = 'try:\n    jax.block_until_ready(scale({}, jnp.ones(2)))\nexcept Exception as e:\n    give(str(e))'
    assert 'scale is negative' in run_with(library, code.format(-1))
    assert 'prepare will not have 13' in run_with(library, code.format(13))


def test_futures_scratch_and_the_hosts_threads(library):
    result = run_with(library, 'give([jax.jit(later)(jnp.arange(3.0)).tolist(), float((parallel(jnp.ones(100000)) == 2).all())])')
    assert result == [[1.0, 2.0, 3.0], 1.0]


def test_what_a_handler_throws_is_an_error_and_no_more(library):
    result = run_with(
        library, 'try:\n    jax.block_until_ready(throws(jnp.ones(3)))\nexcept Exception as e:\n    said = str(e)\n'
        'give([said, axpy(1.0, jnp.ones(1), jnp.ones(1)).tolist()])')
    assert 'from a handler' in result[0]
    assert result[1] == [2.0]
