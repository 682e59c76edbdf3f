"""JaxMARL: many agents in one world."""
import numpy as np

from by_value import Programs

NEEDS = ('jaxmarl',)
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    import jaxmarl

    KEY = np.array([0, 5], np.uint32)
    P = Programs()
    add = P.add

    def together(env, worlds, steps):
        def run(key):
            def one(key):
                def step(state, k):
                    keys = jax.random.split(k, env.num_agents + 1)
                    actions = {agent: env.action_space(agent).sample(keys[i]) for i, agent in enumerate(env.agents)}
                    obs, state, reward, done, _ = env.step(keys[-1], state, actions)
                    return state, (obs[env.agents[0]].astype(jnp.float32).mean(), [reward[a] for a in env.agents], done['__all__'])
                _, state = env.reset(key)
                return jax.lax.scan(step, state, jax.random.split(key, steps))[1]
            return jax.vmap(one)(jax.random.split(key, worlds))
        return run

    for name, worlds, steps in (('MPE_simple_spread_v3', 8, 20), ('MPE_simple_tag_v3', 8, 20), ('MPE_simple_reference_v3', 8, 20), ('SMAX', 4, 8), ('hanabi', 4, 12),
                                ('overcooked', 8, 20), ('switch_riddle', 8, 20), ('coin_game', 8, 20)):
        add(name.lower(), together(jaxmarl.make(name), worlds, steps), KEY)
    return P
