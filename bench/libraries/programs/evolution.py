"""QDax and EvoJAX: archives of solutions that differ, and strategies that evolve policies."""
import functools

import numpy as np

from by_value import Programs
from weights import Weights

NEEDS = ('qdax', 'evojax')
FACTOR = 256.0


def programs(jax):
    import jax.numpy as jnp
    from evojax.policy import MLPPolicy
    from evojax.task.cartpole import CartPoleSwingUp
    from evojax.task.waterworld import WaterWorld
    from qdax.core.emitters.cma_opt_emitter import CMAOptimizingEmitter
    from qdax.core.emitters.mutation_operators import isoline_variation, polynomial_crossover, polynomial_mutation
    from qdax.core.emitters.standard_emitters import MixingEmitter
    from qdax.core.map_elites import MAPElites
    from qdax.core.mome import MOME
    from qdax.tasks.arm import arm_scoring_function
    from qdax.tasks.standard_functions import sphere_scoring_function
    from qdax.utils.metrics import default_moqd_metrics, default_qd_metrics

    KEY = np.array([0, 5], np.uint32)
    R = Weights(jax, 5)
    P = Programs()
    add = P.add

    variation = functools.partial(isoline_variation, iso_sigma=0.005, line_sigma=0.05)
    metrics = functools.partial(default_qd_metrics, qd_offset=1.0)

    def illuminate(algorithm, steps):
        def run(key, genotypes, centroids):
            repertoire, state, _ = algorithm.init(genotypes, centroids, key)
            (repertoire, state, key), out = jax.lax.scan(algorithm.scan_update, (repertoire, state, key), None, length=steps)
            return repertoire.fitnesses, repertoire.descriptors, out
        return run

    mixing = MixingEmitter(mutation_fn=lambda x, k: (x, k), variation_fn=variation, variation_percentage=1.0, batch_size=64)
    add('map_elites_arm', illuminate(MAPElites(arm_scoring_function, mixing, metrics), 10), KEY, R.uniform_f32(64, 12), R.uniform_f32(256, 2))

    polynomial = MixingEmitter(mutation_fn=functools.partial(polynomial_mutation, proportion_to_mutate=0.3, eta=5.0, minval=0.0, maxval=1.0),
                               variation_fn=functools.partial(polynomial_crossover, proportion_var_to_change=0.5), variation_percentage=0.5, batch_size=64)
    add('map_elites_polynomial', illuminate(MAPElites(arm_scoring_function, polynomial, metrics), 8), KEY, R.uniform_f32(64, 20), R.uniform_f32(200, 2))

    centroids = R.uniform_f32(128, 2)
    cma = CMAOptimizingEmitter(batch_size=32, genotype_dim=10, centroids=centroids, sigma_g=0.5, min_count=1, max_count=None)
    add('cma_map_elites', illuminate(MAPElites(sphere_scoring_function, cma, metrics), 6), KEY, R.uniform_f32(32, 10), centroids)

    def two_aims(x, key):
        aims = jnp.stack([-jnp.sum(jnp.square(x), -1), -jnp.sum(jnp.square(x - 0.7), -1)], -1)
        return aims, jnp.clip(x[:, :2], 0, 1), {}

    def pareto(key, genotypes, centroids):
        emitter = MixingEmitter(mutation_fn=functools.partial(polynomial_mutation, proportion_to_mutate=0.2, eta=1.0, minval=0.0, maxval=1.0),
                                variation_fn=variation, variation_percentage=0.5, batch_size=32)
        mome = MOME(two_aims, emitter, functools.partial(default_moqd_metrics, reference_point=np.array([-10.0, -10.0], np.float32)), 8)
        repertoire, state, _ = mome.init(genotypes, centroids, key)
        (repertoire, state, key), out = jax.lax.scan(mome.scan_update, (repertoire, state, key), None, length=5)
        return repertoire.fitnesses, out
    add('fronts_of_map_elites', pareto, KEY, R.uniform_f32(32, 6), R.uniform_f32(32, 2))

    def evolve(task, sizes, steps, population=16, generations=2):
        policy = MLPPolicy(input_dim=task.obs_shape[0], hidden_dims=sizes, output_dim=task.act_shape[0], output_act_fn='tanh' if task.act_shape[0] == 1 else 'softmax')

        def run(key, center):
            def generation(carry, key):
                center, deviation = carry
                k_noise, k_task = jax.random.split(key)
                noise = jax.random.normal(k_noise, (population // 2, center.size)) * deviation
                params = jnp.concatenate([center + noise, center - noise])
                state = task.reset(jax.random.split(k_task, population))
                memory = policy.reset(state)

                def step(carry, _):
                    state, memory, total, alive = carry
                    action, memory = policy.get_actions(state, params, memory)
                    state, reward, done = task.step(state, action)
                    return (state, memory, total + reward * alive, alive * (1 - done.astype(jnp.float32))), None
                (_, _, fitness, _), _ = jax.lax.scan(step, (state, memory, jnp.zeros(population), jnp.ones(population)), None, length=steps)
                half = fitness[:population // 2] - fitness[population // 2:]
                return (center + 0.05 * (half[:, None] * noise).mean(0) / (half.std() + 1e-3), deviation * 0.99), fitness
            return jax.lax.scan(generation, (center, jnp.full_like(center, 0.1)), jax.random.split(key, generations))
        return run, R.f32(policy.num_params, k=0.2 if task.act_shape[0] == 1 else 0.002)  # Small enough that no two actions tie.

    for name, task, sizes, steps in (('cart_pole', CartPoleSwingUp(), [16, 16], 24), ('waterworld', WaterWorld(num_items=20, max_steps=100), [24], 5)):
        run, center = evolve(task, sizes, steps)
        add('evojax_' + name, run, KEY, center)
    return P
