#!/usr/bin/env python3
"""Trains a small network on generated data with unmodified JAX, on Tenon and then on JAX's built-in CPU backend.

Prints the devices, the platform version, the falling loss, and the compile and step times of both side by side.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

SIZES = (64, 256, 256, 10)
BATCH = 256
ROUNDS = 10  # of measuring


def make_data(seed=0):
    """Points around ten random centres, and which centre each belongs to (one-hot)."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((SIZES[-1], SIZES[0])).astype(np.float32) * 0.3
    labels = rng.integers(0, SIZES[-1], BATCH)
    points = centres[labels] + rng.standard_normal((BATCH, SIZES[0])).astype(np.float32)
    return points, np.eye(SIZES[-1], dtype=np.float32)[labels]


def make_params(seed=1):
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal((a, b)).astype(np.float32) * np.float32(np.sqrt(2 / a)), np.zeros(b, np.float32))
            for a, b in zip(SIZES, SIZES[1:])]


def loss(params, points, labels):
    h = points
    for w, b in params[:-1]:
        h = jax.nn.relu(h @ w + b)
    w, b = params[-1]
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(h @ w + b) * labels, axis=-1))


@jax.jit
def step(params, points, labels):
    value, gradients = jax.value_and_grad(loss)(params, points, labels)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)


def train(device, steps, verbose):
    """Returns (losses, seconds to compile, a function that trains for some more steps)."""
    params, points, labels = jax.device_put((make_params(), *make_data()), device)
    lowered = step.lower(params, points, labels)
    start = time.perf_counter()
    compiled = lowered.compile()
    compile_s = time.perf_counter() - start
    losses = []
    for i in range(steps):
        value, params = compiled(params, points, labels)
        losses.append(float(value))
        if verbose and (i % max(steps // 10, 1) == 0 or i == steps - 1):
            print(f'  step {i:4d}  loss {losses[-1]:.6f}')

    def more(steps):
        nonlocal params
        for _ in range(steps):
            _, params = compiled(params, points, labels)
        jax.block_until_ready(params)

    return losses, compile_s, more


def measure(trainings, steps):
    """Seconds per step of each: the shortest of some rounds in which they take turns, since other programs disturb now one, now the other."""
    best = [float('inf')] * len(trainings)
    for _ in range(ROUNDS):
        for i, more in enumerate(trainings):
            start = time.perf_counter()
            more(steps)
            best[i] = min(best[i], (time.perf_counter() - start) / steps)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--steps', type=int, default=100)
    args = parser.parse_args()

    device = jax.devices()[0]
    print(f'devices           {jax.devices()}')
    print(f'platform version  {device.client.platform_version.splitlines()[-1]}')
    if 'tenon' not in device.client.platform_version:
        raise SystemExit('these devices are not Tenon\'s: is the package tenon-jax installed and TENON_JAX unset?')
    losses, compile_s, more = train(device, args.steps, verbose=True)
    _, xla_compile_s, xla_more = train(jax.devices('xla_cpu')[0], args.steps, verbose=False)
    step_s, xla_step_s = measure([more, xla_more], max(args.steps // ROUNDS, 1))
    print(f'{"":17} {"Tenon":>10} {"XLA":>10}')
    print(f'{"compile, ms":17} {compile_s * 1e3:10.2f} {xla_compile_s * 1e3:10.2f}')
    print(f'{"step, us":17} {step_s * 1e6:10.1f} {xla_step_s * 1e6:10.1f}')
    if not losses[-1] < 0.5 * losses[0]:
        raise SystemExit(f'the loss did not fall: {losses[0]} -> {losses[-1]}')


if __name__ == '__main__':
    main()
