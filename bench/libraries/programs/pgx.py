"""Pgx: board games played at random."""
import numpy as np

from by_value import Programs

NEEDS = ('pgx',)


def programs(jax):
    import jax.numpy as jnp
    import pgx

    P = Programs()
    add = P.add

    for name in ('tic_tac_toe', 'connect_four', 'go_9x9', 'othello', 'hex', 'animal_shogi', 'backgammon', '2048', 'kuhn_poker'):
        env = pgx.make(name)

        def play(key, env=env):
            def step(state, k):
                logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
                action = jax.random.categorical(k, logits)
                state = jax.vmap(env.step)(state, action, jax.random.split(k, 4))
                return state, (state.observation.sum(), state.rewards, state.terminated, action)
            state = jax.vmap(env.init)(jax.random.split(key, 4))
            return jax.lax.scan(step, state, jax.random.split(key, 6))[1]

        add(name.replace('-', '_'), play, np.array([0, 5], np.uint32))
    return P
