"""A child of run.py: holds one JAX backend and serves requests, one JSON line each, until its input ends.

  worker.py built-in|/path/to/plugin.so

Requests: {"load": {"class": NAME, "size": SIZE, "seed": N, "count": N} or {"file": PATH}} answers {"programs": {name: [factor, share]}};
{"program": NAME, "save": PATH or null, "seconds": S} compiles and runs it and answers with its figures, or {"error": TEXT}; with "move": N instead of
"seconds" it only runs, with other arguments (moved).
What programs and backends print goes to stderr, where the statistics lines of a compile are found between the two marks of the answer.
"""
import contextlib
import json
import os
import pathlib
import sys
import time
import traceback

answers = os.fdopen(os.dup(1), 'w')
os.dup2(2, 1)

backend = sys.argv[1]
os.environ['TENON_JAX'] = 'off'
if backend == 'built-in':
    os.environ['JAX_PLATFORMS'] = 'cpu'
else:
    # As users get it: the Python package, with custom-call handlers, in front of this library.
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'python'))
    from tenon_jax import _registration
    _registration.register(backend, replace=True)

import jax  # noqa: E402
import numpy as np  # noqa: E402

import bounds  # noqa: E402
import catalog  # noqa: E402
import derive  # noqa: E402

jax.config.update('jax_enable_compilation_cache', False)


def alike(derived):
    """A context in which the built-in backend makes the arrays of derived programs, for both sides: an ulp of f32 in what JAX draws is many of f64."""
    if not derived:
        return contextlib.nullcontext()
    return jax.default_device(jax.devices('cpu' if backend == 'built-in' else 'xla_cpu')[0])


def memory_mb(field):
    with open('/proc/self/status') as status:
        for line in status:
            if line.startswith(field + ':'):
                return int(line.split()[1]) / 1024
    return float('nan')


def reset_peak():
    try:
        with open('/proc/self/clear_refs', 'w') as f:
            f.write('5')
    except OSError:
        pass


def mark():
    """How much was printed so far, in bytes: stderr is a file of run.py's."""
    sys.stderr.flush()
    return os.fstat(2).st_size


def widened(x):
    """(array of a type that NumPy can save, name of the type)."""
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        x = jax.random.key_data(x)
    x = np.asarray(x)
    name = x.dtype.name
    return (x if x.dtype.kind in 'biufc' else x.astype(np.float32)), name


def moved(arguments, seed):
    """The same arguments with each float as it is, or an ulp above or below."""
    rng = np.random.default_rng(seed)

    def move(x):
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) or not bounds.is_inexact(np.dtype(x.dtype)):
            return x
        wide = np.asarray(x).astype(np.complex128 if np.iscomplexobj(x) else np.float64)
        return (wide * (1 + bounds.epsilon(x.dtype) * rng.integers(-1, 2, x.shape))).astype(x.dtype)

    return jax.tree.map(move, arguments)


def saved(out, path):
    """Writes results for run.py; the names of their types."""
    leaves = [widened(x) for x in jax.tree.leaves(out)]
    np.savez(path, **{str(i): x for i, (x, _) in enumerate(leaves)})
    return [name for _, name in leaves]


def timed(run, arguments, seconds):
    """The best mean of batches, in seconds per call; calls of a batch may overlap, as in a program that waits at its end."""
    def batch(n):
        begin = time.perf_counter()
        for _ in range(n):
            out = run(*arguments)
        jax.block_until_ready(out)
        return (time.perf_counter() - begin) / n

    n, per = 1, batch(1)
    while per * n < seconds / 6 and n < 20000:
        n = max(n + 1, min(8 * n, int(seconds / 6 / max(per, 1e-7))))
        per = min(per, batch(n))
    best, end = per, time.perf_counter() + seconds / 2
    while time.perf_counter() < end:
        best = min(best, batch(n))
    return best


def measure(program, save, seconds, kept):
    if program.name not in kept:
        kept.clear()
        with alike(isinstance(program, derive.Derived)):
            arguments = program.arguments()
        # Arrays of less than a byte that name their device do not fit what JAX compiles for them.
        arguments = jax.block_until_ready(jax.device_put(arguments, jax.devices()[0]) if isinstance(program, derive.Derived) else jax.device_put(arguments))
        try:
            lowered = jax.jit(program.function).lower(*arguments)
        except Exception:
            if isinstance(program, derive.Derived):
                return {'unfit': True}
            raise
        reset_peak()
        before, begin_mark = memory_mb('VmRSS'), mark()
        begin = time.perf_counter()
        compiled = lowered.compile()
        compile_s = time.perf_counter() - begin
        end_mark = mark()
        begin = time.perf_counter()
        out = jax.block_until_ready(compiled(*arguments))
        first_s = time.perf_counter() - begin
        answer = {'compile_ms': compile_s * 1e3, 'first_us': first_s * 1e6, 'peak_mb': max(memory_mb('VmHWM') - before, 0.1),
                  'process_mb': memory_mb('VmHWM'), 'marks': [begin_mark, end_mark]}
        if save:
            answer['types'] = saved(out, save)
        kept[program.name] = (compiled, arguments)
    else:
        answer = {}
    if seconds > 0:
        compiled, arguments = kept[program.name]
        answer['run_us'] = timed(compiled, arguments, seconds) * 1e6
    return answer


def main():
    # What a process pays once is no program's.
    jax.block_until_ready(jax.jit(lambda a, b: jax.numpy.tanh(a @ b).sum(0))(np.ones((9, 9), np.float32), np.ones((9, 9), np.float32)))
    table, kept = {}, {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if 'load' in request:
                what = request['load']
                kept.clear()  # Programs of another size go by the same names.
                with alike(what['as']):
                    table = (catalog.from_file(jax, what['file']) if 'file' in what else
                             catalog.own(jax, what['class'], what['size'], what['seed'], what['count']))
                if what['as']:
                    table = derive.table(jax, what['as'], table)
                answer = {'programs': {name: [p.factor, p.share] for name, p in table.items()}}
            elif 'move' in request:
                compiled, values = kept[request['program']]
                answer = {'types': saved(compiled(*moved(values, request['move'])), request['save'])}
            else:
                answer = measure(table[request['program']], request['save'], request['seconds'], kept)
        except Exception as e:
            traceback.print_exc()
            text = f'{type(e).__name__}: {e}'
            answer = {'error': ' '.join(text.split())[:400]}
            if backend == 'built-in' and isinstance(table.get(request.get('program')), derive.Derived):
                answer = {'unfit': True}  # Nothing to compare with.
        answers.write(json.dumps(answer) + '\n')
        answers.flush()


if __name__ == '__main__':
    main()
