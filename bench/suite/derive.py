"""Programs made of others by JAX's own transformations: what a user does next with a function that is known to run.

A kind is a function (jax, function) -> (function, what its arguments become). Programs that a kind does not fit (no float among the arguments, no rule in JAX)
fail to trace, or to run on the built-in backend, and run.py leaves them out. Results of loops and derivatives add up roundings, which WIDER says.
"""
import dataclasses
import functools

import numpy as np

TRIPS, BATCH = 16, 4


def _inexact(jax, leaf):
    return hasattr(leaf, 'dtype') and jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact)


def _first(jax, leaves, *types):
    """The place of the first array of the first of these types that there is one of."""
    for wanted in types:
        for i, leaf in enumerate(leaves):
            if hasattr(leaf, 'dtype') and jax.numpy.issubdtype(leaf.dtype, wanted):
                return i
    raise ValueError('no such array')


def _wide(x):
    """Real numbers in a type to add them up in: doubles stay doubles."""
    return x.astype(np.float64 if x.dtype == np.float64 else np.float32)


def _real_means(jax, out):
    """The means of the real parts of a result's arrays."""
    return [_wide(jax.numpy.real(x)).mean() for x in jax.tree.leaves(out) if x.size and not jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)]


def loop(jax, function):
    """The first float array is a loop's state: each trip adds to it a little of the result of its form, or else of the mean of all results. Where all
    arguments are integers the first of them is, to which a number is added that is zero, as no compiler knows."""
    jnp = jax.numpy

    def looped(*arguments):
        leaves, tree = jax.tree.flatten(arguments)
        at = _first(jax, leaves, jnp.inexact, jnp.integer)

        def called(state):
            return function(*tree.unflatten([*leaves[:at], state, *leaves[at + 1:]]))

        def trip(_, carry):
            state, _ = carry
            out = called(state)
            mean = jnp.tanh(sum(_real_means(jax, out)))
            if not _inexact(jax, state):
                return state + (mean > 2).astype(state.dtype), out
            alike = [x for x in jax.tree.leaves(out) if getattr(x, 'shape', None) == state.shape and x.dtype == state.dtype]
            step = jnp.tanh(alike[0]) if alike else mean
            return state + (jnp.nan_to_num(step) * 1e-3).astype(state.dtype), out

        start = jnp.asarray(leaves[at])
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(called, start))
        return jax.lax.fori_loop(0, TRIPS, trip, (start, zeros))

    return looped, lambda arguments: arguments


def _stacked(jax, arguments):
    """Each array BATCH times in a new first dim, floats a little apart."""
    def stacked(x):
        if _inexact(jax, x):
            return jax.numpy.stack([(x * (1 + i / 64)).astype(x.dtype) for i in range(BATCH)])
        return jax.numpy.stack([x] * BATCH)

    return jax.tree.map(stacked, arguments)


def vmap(jax, function):
    """All of a batch together."""
    return jax.vmap(function), lambda arguments: _stacked(jax, arguments)


def scan(jax, function):
    """A batch one by one: each trip takes its slices and stacks its results, and a sum over all of them is carried."""
    def trip(total, arguments):
        out = function(*arguments)
        return total + jax.numpy.asarray(sum(_real_means(jax, out)), total.dtype), out

    return lambda *arguments: jax.lax.scan(trip, np.float32(0), arguments), lambda arguments: _stacked(jax, arguments)


def branch(jax, function):
    """The function where a mean of the first float array is below 1, and of the array's negative otherwise."""
    def branching(*arguments):
        leaves, tree = jax.tree.flatten(arguments)
        at = _first(jax, leaves, jax.numpy.inexact)
        other = tree.unflatten([*leaves[:at], -leaves[at], *leaves[at + 1:]])
        return jax.lax.cond(_real_means(jax, leaves[at])[0] < 1, lambda a, b: function(*a), lambda a, b: function(*b), arguments, other)

    return branching, lambda arguments: arguments


def jvp(jax, function):
    """The results and their derivatives in the direction of the float arguments themselves."""
    def derived(*arguments):
        def tangent(x):
            return x if _inexact(jax, x) else np.zeros(np.shape(x), jax.dtypes.float0)
        return jax.jvp(function, arguments, jax.tree.map(tangent, arguments))

    return derived, lambda arguments: arguments


def grad(jax, function):
    """The value and the derivatives by every float argument of the mean square of the results."""
    jnp = jax.numpy

    def derived(*arguments):
        leaves, tree = jax.tree.flatten(arguments)
        places = [i for i, leaf in enumerate(leaves) if _inexact(jax, leaf)]

        def loss(values):
            given = list(leaves)
            for i, value in zip(places, values):
                given[i] = value
            out = [x for x in jax.tree.leaves(function(*tree.unflatten(given))) if _inexact(jax, x) and x.size]
            return sum((_wide(jnp.abs(x)) ** 2).mean() for x in out)

        return jax.value_and_grad(loss)([jnp.asarray(leaves[i]) for i in places])

    return derived, lambda arguments: arguments


def _cast(to):
    def kind(jax, function):
        def change(x):
            name = np.dtype(x.dtype).name if hasattr(x, 'dtype') and not jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else ''
            return x.astype(to[name]) if name in to else x
        return function, lambda arguments: jax.tree.map(change, arguments)
    return kind


KINDS = {'loop': loop, 'vmap': vmap, 'scan': scan, 'branch': branch, 'grad': grad, 'jvp': jvp, 'f64': _cast({'float32': 'float64', 'complex64': 'complex128'}),
         'bf16': _cast({'float32': 'bfloat16'}), 'f16': _cast({'float32': 'float16'})}
WIDER = {'loop': TRIPS, 'grad': 16}


@dataclasses.dataclass
class Derived:
    """Stands for a catalog.Program."""
    base: object
    name: str
    function: object
    change: object
    factor: float
    share: float

    def arguments(self):
        return self.change(self.base.arguments())


def table(jax, kind, programs):
    """{name: Derived} of {name: Program}. A loop of f64 is 'f64+loop': kinds apply from left to right."""
    for step in kind.split('+'):
        if step == 'f64':
            jax.config.update('jax_enable_x64', True)
        derived = {}
        for name, base in programs.items():
            function, change = KINDS[step](jax, base.function)
            derived[name] = Derived(base, name, function, functools.partial(_changed, jax, change), base.factor * WIDER.get(step, 1), base.share)
        programs = derived
    return programs


def _changed(jax, change, arguments):
    return change(jax.tree.map(lambda x: x if hasattr(x, 'dtype') else np.asarray(x), arguments))
