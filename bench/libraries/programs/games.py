"""Gymnax, Pgx, mctx, RLax: environments, tree search, reinforcement learning."""
import numpy as np

from by_value import Programs

NEEDS = ('gymnax', 'mctx')
FACTOR = 2048.0


def programs(jax):
    import gymnax
    import jax.numpy as jnp
    import mctx

    R = np.random.RandomState(0)
    KEY = np.array([0, 5], np.uint32)
    P = Programs()
    add = P.add

    for name in ('CartPole-v1', 'Pendulum-v1', 'Acrobot-v1', 'MountainCar-v0', 'Breakout-MinAtar', 'Asterix-MinAtar', 'SpaceInvaders-MinAtar', 'Freeway-MinAtar',
                 'Catch-bsuite', 'FourRooms-misc', 'MetaMaze-misc', 'UmbrellaChain-bsuite', 'Pong-misc'):
        try:
            env, params = gymnax.make(name)
        except ValueError:
            continue

        def rollout(key, env=env, params=params):
            def one(key):
                obs, state = env.reset(key, params)

                def step(c, k):
                    obs, state = c
                    obs, state, reward, done = env.step(k, state, env.action_space(params).sample(k), params)[:4]
                    return (obs, state), (obs, reward, done)
                return jax.lax.scan(step, (obs, state), jax.random.split(key, 25))[1]
            return jax.vmap(one)(jax.random.split(key, 8))

        add('gymnax_' + name.split('-')[0].lower(), rollout, KEY)

    def search(policy, **options):
        def run(key, w, x):
            def recurrent(params, key, action, embedding):
                new = jnp.tanh(embedding @ params + jax.nn.one_hot(action, 16))
                return mctx.RecurrentFnOutput(reward=new[:, 0], discount=jnp.full(4, 0.99), prior_logits=new[:, :5], value=new[:, 5]), new
            root = mctx.RootFnOutput(prior_logits=x[:, :5], value=x[:, 5], embedding=x)
            out = policy(params=w, rng_key=key, root=root, recurrent_fn=recurrent, num_simulations=16, **options)
            return out.action, out.action_weights
        return run

    w, x = R.randn(16, 16).astype(np.float32) * 0.3, R.randn(4, 16).astype(np.float32)
    add('muzero_search', search(mctx.muzero_policy), KEY, w, x)
    add('gumbel_muzero_search', search(mctx.gumbel_muzero_policy, max_num_considered_actions=4), KEY, w, x)
    return P
