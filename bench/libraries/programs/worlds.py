"""Craftax and XLand-MiniGrid: open worlds and grids with rules, explored at random."""
import numpy as np

from by_value import Programs

NEEDS = ('craftax', 'xminigrid')
FACTOR = 64.0


def programs(jax):
    import xminigrid
    from craftax.craftax_env import make_craftax_env_from_name
    from xminigrid.wrappers import DirectionObservationWrapper, GymAutoResetWrapper

    KEY = np.array([0, 5], np.uint32)
    P = Programs()
    add = P.add

    def explore(env, worlds, steps):
        params = env.default_params

        def run(key):
            def step(carry, k):
                obs, state = carry
                action = jax.vmap(lambda k: env.action_space(params).sample(k))(jax.random.split(k, worlds))
                obs, state, reward, done, info = jax.vmap(env.step, in_axes=(0, 0, 0, None))(jax.random.split(k, worlds), state, action, params)
                return (obs, state), (reward, done, obs.mean(tuple(range(1, obs.ndim))))
            obs, state = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(key, worlds), params)
            (obs, state), out = jax.lax.scan(step, (obs, state), jax.random.split(key, steps))
            return obs, out
        return run

    add('craftax_classic', explore(make_craftax_env_from_name('Craftax-Classic-Symbolic-v1', auto_reset=True), 4, 12), KEY)
    add('craftax_classic_pixels', explore(make_craftax_env_from_name('Craftax-Classic-Pixels-v1', auto_reset=False), 2, 4), KEY)
    add('craftax', explore(make_craftax_env_from_name('Craftax-Symbolic-v1', auto_reset=False), 2, 4), KEY)

    def grids(name, worlds=8, steps=16):
        env, params = xminigrid.make(name)
        env = DirectionObservationWrapper(GymAutoResetWrapper(env))

        def run(key):
            def step(timestep, k):
                action = jax.random.randint(k, (worlds,), 0, env.num_actions(params))
                timestep = jax.vmap(env.step, in_axes=(None, 0, 0))(params, timestep, action)
                return timestep, (timestep.reward, timestep.step_type)
            timestep = jax.vmap(env.reset, in_axes=(None, 0))(params, jax.random.split(key, worlds))
            timestep, out = jax.lax.scan(step, timestep, jax.random.split(key, steps))
            return timestep.observation, timestep.state.grid, out
        return run

    for name in ('XLand-MiniGrid-R4-13x13', 'MiniGrid-DoorKey-8x8', 'MiniGrid-FourRooms', 'MiniGrid-MemoryS16', 'MiniGrid-LockedRoom',
                 'MiniGrid-BlockedUnlockPickUp', 'MiniGrid-Playground'):
        add(name.lower().replace('-', '_'), grids(name), KEY)
    return P
