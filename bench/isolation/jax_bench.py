#!/usr/bin/env python3
"""What a process of its own costs a JAX program: jax_bench.py [ROUNDS]

Runs itself with and without TENON_JAX_ISOLATE=1, in turn, and prints the median time of a call of a small program that is waited for and of a training step of a
small network, in microseconds, best of the rounds. Wants the Python package; on a quiet machine with two cores at least."""
import json
import os
import statistics
import subprocess
import sys
import time


def measure():
    import jax
    import jax.numpy as jnp

    def median_us(call, count):
        times = []
        for _ in range(count):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e6

    def chained(step, state, *rest):
        # A training loop waits for nothing but now and then.
        def call():
            s = state
            for _ in range(20):
                s = step(s, *rest)
            jax.block_until_ready(s)
        call()
        return median_us(call, 50) / 20

    add = jax.jit(lambda x: x + 1)
    one = jnp.ones(1)
    add(one).block_until_ready()
    figures = {'call of x + 1, waited for': median_us(lambda: add(one).block_until_ready(), 3000)}

    widths = [64, 256, 256, 10]
    keys = jax.random.split(jax.random.key(0), len(widths))
    params = [(jax.random.normal(k, (a, b)) / a**0.5, jnp.zeros(b)) for k, a, b in zip(keys, widths, widths[1:])]
    x = jax.random.normal(keys[-1], (128, widths[0]))
    y = jax.nn.one_hot(jnp.arange(128) % widths[-1], widths[-1])

    def loss(params):
        h = x
        for w, b in params[:-1]:
            h = jax.nn.relu(h @ w + b)
        w, b = params[-1]
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(h @ w + b) * y, -1))

    step = jax.jit(lambda p: jax.tree.map(lambda a, g: a - 0.01 * g, p, jax.grad(loss)(p)))
    figures['training step, 20 in a row'] = chained(step, params)
    jax.block_until_ready(step(params))
    figures['training step, waited for'] = median_us(lambda: jax.block_until_ready(step(params)), 300)
    print(json.dumps(figures))


def main():
    if os.environ.get('TENON_JAX_BENCH'):
        return measure()
    best = {}
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        for isolate in '01':
            out = subprocess.run([sys.executable, __file__], env=dict(os.environ, TENON_JAX_BENCH='1', TENON_JAX_ISOLATE=isolate), check=True, capture_output=True, text=True)
            for name, value in json.loads(out.stdout.splitlines()[-1]).items():
                key = name, isolate
                best[key] = min(value, best.get(key, value))
    print(f'{"microseconds, best of the rounds":34}{"in process":>12}{"isolated":>12}{"ratio":>8}')
    for name, isolate in best:
        if isolate == '0':
            a, b = best[name, '0'], best[name, '1']
            print(f'{name:34}{a:12.2f}{b:12.2f}{b / a:8.3f}')


if __name__ == '__main__':
    main()
