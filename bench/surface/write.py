#!/usr/bin/env python3
"""Programs from what JAX offers, function by function: see README.md.

usage: write.py FOLDER [--only PREFIX] [--size small|large] [--without-gradients]
"""
import argparse
import inspect
import pathlib
import signal
import warnings

# Arguments by name: m a matrix, v a vector, i integers, c complex numbers, b small square matrices, img pictures.
FLOATS = {'small': {'m': (317, 123), 'v': (5003,), 'sq': (70, 70), 'b': (40, 12, 12), 'img': (3, 60, 60)},
          'large': {'m': (1511, 211), 'v': (150001,), 'sq': (190, 190), 'b': (3001, 6, 6), 'img': (9, 173, 181)}}
SIGNATURES = ['m', 'm m', 'm m m', 'v', 'v v', 'v at', 'i', 'i i', 'c', 'b', 'b b', 'sq', 'sq sq', 'sq u', 'img']
# What reads files, prints, wants other processes, or makes one operation of each element.
LEFT_OUT = {'save', 'savez', 'load', 'array_repr', 'array_str', 'einsum_path', 'frombuffer', 'fromfile', 'fromfunction', 'fromiter', 'from_dlpack', 'set_printoptions',
            'get_printoptions', 'printoptions', 'infeed', 'outfeed', 'create_token', 'block', 'array', 'asarray', 'split', 'vsplit', 'hsplit', 'dsplit', 'array_split', 'unstack',
            'diagflat', 'kron', 'apply_along_axis', 'apply_over_axes'}
STATISTICS = ('norm beta gamma poisson binom t cauchy laplace logistic dirichlet multivariate_normal vonmises gennorm truncnorm betabinom nbinom expon chi2 pareto uniform geom '
              'bernoulli wrapcauchy').split()
SECONDS = 8  # for one function and signature


class TooSlow(BaseException):
    pass


def modules(jax):
    import jax.scipy.linalg
    import jax.scipy.signal
    import jax.scipy.special
    import jax.scipy.stats
    jnp = jax.numpy
    yield from {'jnp': jnp, 'linalg': jnp.linalg, 'fft': jnp.fft, 'special': jax.scipy.special, 'slinalg': jax.scipy.linalg, 'signal': jax.scipy.signal,
                'nn': jax.nn, 'lax': jax.lax}.items()
    for name in STATISTICS:
        if hasattr(jax.scipy.stats, name):
            yield 'stats_' + name, getattr(jax.scipy.stats, name)


def arguments(jax, signature, floats):
    jnp = jax.numpy
    kinds = {name: (shape, jnp.float32) for name, shape in floats.items()}
    kinds |= {'u': (floats['sq'][:1], jnp.float32), 'i': (floats['m'], jnp.int32), 'at': ((900,), jnp.int32), 'c': (floats['m'], jnp.complex64)}
    return [jax.ShapeDtypeStruct(*kinds[name]) for name in signature.split()]


def summed(jax, function):
    def total(*values):
        leaves = [leaf for leaf in jax.tree.leaves(function(*values)) if jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact)]
        return sum(jax.numpy.sum(jax.numpy.real(leaf).astype(jax.numpy.float32)) for leaf in leaves)
    return total


def text_of(jax, function, operands):
    """The program, or None where the function does not take such operands."""
    def call(*values):
        return function(*values)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 2)
    try:
        return jax.jit(call).lower(*operands).as_text()
    except (Exception, TooSlow):  # Whatever a function says of operands that are not for it.
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--only', default='', help='functions whose name begins so: jnp.cum')
    parser.add_argument('--size', choices=FLOATS, default='small')
    parser.add_argument('--without-gradients', action='store_true')
    options = parser.parse_args()
    import jax
    warnings.simplefilter('ignore')

    def stop(*_):
        raise TooSlow

    signal.signal(signal.SIGALRM, stop)
    options.folder.mkdir(parents=True, exist_ok=True)
    seen = set()

    def put(name, text):
        if text is None or text.count('stablehlo.') < 2 or text in seen:
            return
        seen.add(text)
        (options.folder / f'{name}.mlir').write_text(text)

    for module_name, module in modules(jax):
        for name in sorted(dir(module)):
            function = getattr(module, name)
            path = f'{module_name}.{name}'
            if name.startswith('_') or name in LEFT_OUT or not callable(function) or inspect.isclass(function) or not path.startswith(options.only):
                continue
            for signature in SIGNATURES:
                operands = arguments(jax, signature, FLOATS[options.size])
                text = text_of(jax, function, operands)
                put(f'{path}.{signature.replace(" ", "_")}', text)
                if text is not None and operands[0].dtype == jax.numpy.float32 and not options.without_gradients:
                    put(f'{path}.{signature.replace(" ", "_")}.grad', text_of(jax, jax.grad(summed(jax, function)), operands))
    print(f'{len(seen)} programs')


if __name__ == '__main__':
    main()
