"""THRML, Kozax and jbpe: blocks of spins sampled in turn, formulas evolved as trees, and pairs of bytes merged into tokens."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('thrml', 'kozax', 'jbpe')
FACTOR = 256.0


def programs(jax):
    import jax.numpy as jnp
    import thrml
    from jbpe import encode, pairs, train
    from kozax.fitness_functions.base_fitness_function import BaseFitnessFunction
    from kozax.genetic_programming import GeneticProgramming
    from thrml import models

    R = Random(0)
    P = Programs()
    add = P.add
    KEY = np.array([0, 5], np.uint32)

    # Spins.
    def grid(side):
        nodes = [[thrml.SpinNode() for _ in range(side)] for _ in range(side)]
        flat = sum(nodes, [])
        edges = [(nodes[i][j], nodes[(i + a) % side][(j + b) % side]) for i in range(side) for j in range(side) for a, b in ((0, 1), (1, 0))]
        blocks = [thrml.Block([nodes[i][j] for i in range(side) for j in range(side) if (i + j) % 2 == c]) for c in (0, 1)]
        return flat, edges, blocks

    def sampled(side, samples):
        nodes, edges, blocks = grid(side)

        def run(key, biases, weights):
            model = models.IsingEBM(nodes, edges, biases, weights, jnp.array(0.8))
            program = models.IsingSamplingProgram(model, blocks, clamped_blocks=[])
            k = jax.random.wrap_key_data(key)
            state = models.hinton_init(k, model, blocks, ())
            return thrml.sample_states(k, program, thrml.SamplingSchedule(n_warmup=4, n_samples=samples, steps_per_sample=2), state, [], [thrml.Block(nodes)])
        return run, KEY, R.f32(len(nodes)) * np.float32(0.1), R.f32(len(edges)) * np.float32(0.5)
    add('spins', *sampled(8, 16))
    add('spins_many', *sampled(24, 8))

    def chains(count):
        nodes, edges, blocks = grid(8)

        def run(keys, biases, weights):
            model = models.IsingEBM(nodes, edges, biases, weights, jnp.array(0.8))
            program = models.IsingSamplingProgram(model, blocks, clamped_blocks=[])

            def one(key):
                k = jax.random.wrap_key_data(key)
                state = models.hinton_init(k, model, blocks, ())
                return thrml.sample_states(k, program, thrml.SamplingSchedule(n_warmup=4, n_samples=4, steps_per_sample=2), state, [], [thrml.Block(nodes)])
            return jax.vmap(one)(keys)
        return run, np.stack([KEY + np.uint32(i) for i in range(count)]), R.f32(len(nodes)) * np.float32(0.1), R.f32(len(edges)) * np.float32(0.5)
    add('spins_in_chains', *chains(16))

    # Formulas.
    class Error(BaseFitnessFunction):
        def __call__(self, candidate, data, evaluator):
            x, y = data
            return jnp.mean(jnp.square(jax.vmap(evaluator, in_axes=[None, 0])(candidate, x) - y))

    strategy = GeneticProgramming(num_generations=2, population_size=50, fitness_function=Error(), num_populations=2, max_nodes=15)
    x = (R.share(30, 1) * 10 - 5).astype(np.float32)
    data = (x, (-0.1 * x ** 3 + 0.3 * x ** 2 + 1.5 * x).astype(np.float32))
    population = np.asarray(strategy.initialize_population(jax.random.key(0)))
    add('formulas', lambda p, x, y: jax.vmap(jax.vmap(lambda c: Error()(c, (x, y), strategy.tree_evaluator)))(p), population, *data)

    # Tokens.
    text = np.frombuffer(('the quick brown fox jumps over the lazy dog while the slow green turtle sleeps under the old bridge near the river ' * 4).encode(), np.uint8).astype(np.uint32)
    add('merges', lambda t: train.train_bpe(t, 24), text)
    ids = [np.array(a, np.uint32) for a in zip(*((ord(a), ord(b), 256 + i) for i, (a, b) in enumerate((('t', 'h'), ('e', ' '), ('o', 'w'), ('r', 'i'), ('u', 'n')))))]
    add('encoded', lambda t, a, b, i: encode.bpe_encode_raw(t, a, b, i), text, *ids)
    add('commonest_pair', lambda t: pairs.best_pair(pairs.encode_pair_id(pairs.make_pairs(t), 256)), text)
    return P
