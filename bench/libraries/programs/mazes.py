"""Navix: mazes of one agent, walked at random."""
import numpy as np

from by_value import Programs

NEEDS = ('navix',)
FACTOR = 64.0


def programs(jax):
    import navix as nx

    KEY = np.array([0, 5], np.uint32)
    P = Programs()
    add = P.add

    for name in ('Navix-Empty-8x8-v0', 'Navix-DoorKey-8x8-v0', 'Navix-FourRooms-v0', 'Navix-KeyCorridorS3R3-v0', 'Navix-Dynamic-Obstacles-8x8-v0', 'Navix-LavaGapS7-v0',
                 'Navix-GoToDoor-8x8-v0', 'Navix-SimpleCrossingS9N2-v0'):
        env = nx.make(name, observation_fn=nx.observations.symbolic_first_person)

        def walk(key, env=env):
            def one(key):
                def step(timestep, k):
                    timestep = env.step(timestep, jax.random.randint(k, (), 0, len(env.action_set)))
                    return timestep, (timestep.reward, timestep.step_type, timestep.observation.sum())
                return jax.lax.scan(step, env.reset(key), jax.random.split(key, 20))[1]
            return jax.vmap(one)(jax.random.split(key, 8))
        add(name.lower().replace('-v0', '').replace('-', '_'), walk, KEY)
    return P
