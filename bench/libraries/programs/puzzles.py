"""Jumanji: puzzles, packing and routing, solved by legal moves at random."""
import numpy as np

from by_value import Programs

NEEDS = ('jumanji',)
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    import jumanji

    KEY = np.array([0, 5], np.uint32)
    P = Programs()
    add = P.add

    def play(env, games, steps):
        spec = env.action_spec

        def legal(key, timestep):
            mask = getattr(timestep.observation, 'action_mask', None)
            if mask is None:
                return jnp.asarray(jax.random.randint(key, spec.shape, 0, spec.num_values), spec.dtype)
            if spec.shape and mask.shape == tuple(np.atleast_1d(spec.num_values)):  # One mask over all dims of an action.
                flat = jax.random.categorical(key, jnp.where(mask.ravel(), 0.0, -1e9))
                return jnp.stack(jnp.unravel_index(flat, mask.shape)).astype(spec.dtype)
            return jax.random.categorical(key, jnp.where(mask, 0.0, -1e9), axis=-1).astype(spec.dtype)

        def run(key):
            def one(key):
                def step(carry, k):
                    state, timestep = carry
                    state, timestep = env.step(state, legal(k, timestep))
                    return (state, timestep), (timestep.reward, timestep.step_type)
                state, timestep = env.reset(key)
                (state, timestep), out = jax.lax.scan(step, (state, timestep), jax.random.split(key, steps))
                return jax.tree.leaves(timestep.observation), out
            return jax.vmap(one)(jax.random.split(key, games))
        return run

    for name in ('Game2048-v1', 'GraphColoring-v1', 'Minesweeper-v0', 'RubiksCube-v0', 'SlidingTilePuzzle-v0', 'BinPack-v2', 'FlatPack-v0', 'JobShop-v0', 'Knapsack-v1',
                 'Tetris-v0', 'Cleaner-v0', 'Connector-v3', 'MMST-v0', 'CVRP-v1', 'Maze-v0', 'RobotWarehouse-v0', 'Snake-v1', 'TSP-v1', 'PacMan-v1', 'LevelBasedForaging-v0'):
        add(name.split('-')[0].lower(), play(jumanji.make(name), 4, 12), KEY)
    return P
