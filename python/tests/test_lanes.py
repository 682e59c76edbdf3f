"""Bodies that are written per device and whose devices go different ways: the same as on JAX's own CPU devices."""

import numpy as np
import pytest

from helpers import run
from jobs import run_job

PROGRAMS = r'''
import os
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices())[[3, 1, 0, 2, 7, 6, 5, 4]].reshape(2, 4), ('x', 'y'))
everywhere = P(('x', 'y'))
x = np.arange(32, dtype=np.float32) + 1
index = lax.axis_index
programs = {}


def shard(f):
    body = jax.shard_map(f, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False)
    programs[f.__name__] = lambda: jax.jit(body)(x)


def shard_rows(f):  # Along x; y is the compiler's.
    body = jax.shard_map(f, mesh=mesh, in_specs=P('x'), out_specs=P('x'), axis_names={'x'}, check_vma=False)
    programs[f.__name__] = lambda: jax.jit(body)(x)


def replicate(f):
    programs[f.__name__] = lambda: jax.pmap(f, axis_name='i')(x.reshape(8, 4))


@shard
def branch_by_id(v):
    return lax.cond(index('x') == 0, lambda: v * 10 + index('y'), lambda: v + 100 * index('y'))

@shard
def branch_by_value(v):
    return lax.cond(v[0] > 9, lambda: v * 10 + index('y'), lambda: v - index('x'))

@shard
def switch_by_id(v):
    return lax.switch(index('y') - 1, [lambda: v + index('x'), lambda: v * 2, lambda: lax.psum(v, 'x') - v])

@shard
def sum_in_one_branch(v):
    return lax.cond(index('x') == 0, lambda: lax.psum(v, 'y'), lambda: -v)

@shard
def sums_in_both_branches(v):
    return lax.cond(index('y') % 2 == 0, lambda: lax.psum(v, 'x'), lambda: lax.pmax(v, 'x') - index('y'))

@shard
def loop_by_id(v):
    return lax.while_loop(lambda c: c[0] < index('y') + 2 * index('x'), lambda c: (c[0] + 1, c[1] * 2 + index('x')), (0, v))[1]

@shard
def loop_by_value(v):
    return lax.while_loop(lambda v: v[0] < 30 + index('y'), lambda v: v + 7 + index('x'), v)

@shard
def loop_with_sums(v):
    return lax.while_loop(lambda c: c[0] < 2 + 3 * index('x'), lambda c: (c[0] + 1, lax.psum(c[1], 'y') / 4 + c[0]), (0, v))[1]

@shard
def loop_until_a_sum(v):
    return lax.while_loop(lambda v: lax.psum(v[0], 'y') < 900, lambda v: v * 2 + lax.pmean(v, 'y'), v)

@shard
def loop_until_the_sum_of_all(v):
    return lax.while_loop(lambda v: lax.psum(v[0], ('x', 'y')) < 900, lambda v: v * 2 + lax.pmean(v, 'y'), v)

@shard
def loops_in_loops(v):
    def outer(c):
        i, v = c
        def inner(d):
            return d[0] + 1, lax.ppermute(d[1], 'y', [(0, 1), (1, 2), (2, 3), (3, 0)]) + i
        return i + 1, lax.while_loop(lambda d: d[0] < i + index('x'), inner, (0, v))[1]
    return lax.while_loop(lambda c: c[0] < 1 + 2 * index('x'), outer, (0, v))[1]

@shard
def branch_in_a_loop(v):
    def body(i, v):
        return lax.cond(i % 2 == index('x'), lambda: lax.psum(v, 'y') / 4, lambda: v + index('y'))
    return lax.fori_loop(0, 5, body, v)

@shard
def a_loop_that_others_must_not_run(v):
    # It ends for those alone that come to it.
    def count(v):
        return lax.while_loop(lambda c: c[0, 0] != 4, lambda c: c + 1, jnp.stack([v * 0 + index('x') * 7, v]))[1]
    return lax.cond(index('x') == 0, lambda: count(v) + lax.psum(v, 'y'), lambda: v)

@shard
def scan_with_sums(v):
    def body(c, t):
        c = lax.ppermute(c, 'x', [(0, 1), (1, 0)]) + t * index('y')
        return c, lax.psum(c, 'y').sum()
    c, sums = lax.scan(body, v, jnp.arange(5.0))
    return c + sums.sum()

@shard
def gradient_through_branches(v):
    return jax.grad(lambda v: lax.cond(index('y') > 1, lambda: jnp.sin(v).sum() * index('x'), lambda: (v * v).sum()))(v)

@shard
def composite(v):
    mean = lax.composite(lambda v: lax.pmean(v, 'y') + index('x'), 'test.mean')
    return mean(v) + lax.cond(index('x') == 1, lambda: mean(v * 2), lambda: v)

@shard_rows
def constraint_in_a_loop(v):
    double = lambda v: lax.with_sharding_constraint(v * 2, jax.NamedSharding(mesh, P('y')))
    return lax.while_loop(lambda c: c[0] < index('x') + 1, lambda c: (c[0] + 1, double(c[1])), (0, v))[1]

@replicate
def replicas_branch(v):
    return lax.cond(index('i') % 3 == 0, lambda: v + index('i'), lambda: v * 2)

@replicate
def replicas_loop(v):
    return lax.while_loop(lambda c: c[0] < index('i') + 1, lambda c: (c[0] + 1, c[1] * 2), (0, v))[1]

@replicate
def replicas_sum_in_a_branch(v):
    groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
    return lax.cond(index('i') < 4, lambda: lax.psum(v, 'i', axis_index_groups=groups), lambda: v - 1)

@replicate
def replicas_sum_in_a_loop(v):
    return lax.while_loop(lambda v: lax.psum(v[0], 'i') < 900, lambda v: v * 2 + lax.pmean(v, 'i'), v)
'''

def _names(decorator):
    lines = PROGRAMS.splitlines()
    return [line[4:line.index('(')] for before, line in zip(lines, lines[1:]) if before.startswith(decorator)]


NAMES = _names('@')


def _results(names, **environment):
    return run(PROGRAMS + f'give({{n: np.asarray(programs[n]()).tolist() for n in {names!r}}})', **environment).result


@pytest.fixture(scope='module')
def wanted():
    return _results(NAMES, JAX_PLATFORMS='cpu', XLA_FLAGS='--xla_force_host_platform_device_count=8')


@pytest.fixture(scope='module')
def got():
    return _results(NAMES, JAX_PLATFORMS='tenon', TENON_NUM_DEVICES=8)


@pytest.fixture(scope='module')
def got_of_processes():
    names = _names('@shard')
    given, _ = run_job(PROGRAMS + f'give({{n: whole(programs[n]()).tolist() for n in {names!r}}})', devices=4)
    return [of_process[0] for of_process in given]


@pytest.mark.parametrize('name', NAMES)
def test_devices_that_go_different_ways(name, wanted, got):
    np.testing.assert_allclose(got[name], wanted[name], rtol=1e-5)


@pytest.mark.parametrize('name', _names('@shard'))
def test_devices_of_two_processes(name, wanted, got_of_processes):
    for values in got_of_processes:
        np.testing.assert_allclose(values[name], wanted[name], rtol=1e-5)
