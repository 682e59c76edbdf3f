"""Flashbax and Memorax: buffers of experience, and layers with memory for agents."""
import numpy as np

from by_value import Programs
from weights import Weights

NEEDS = ('flashbax', 'memorax', 'optax')
FACTOR = 256.0


def programs(jax):
    import flashbax as fbx
    import jax.numpy as jnp
    import optax
    from memorax.networks import sequence_models as memories

    KEY = np.array([0, 5], np.uint32)
    R = Weights(jax, 3)
    P = Programs()
    add = P.add

    def transition(*lead):
        return {'obs': R.f32(*lead, 12), 'action': R.i32(4, *lead), 'reward': R.f32(*lead), 'done': R.i32(2, *lead).astype(bool)}

    one = {'obs': np.zeros(12, np.float32), 'action': np.int32(0), 'reward': np.float32(0), 'done': np.bool_(False)}

    uniform = fbx.make_trajectory_buffer(add_batch_size=8, sample_batch_size=32, sample_sequence_length=6, period=2, min_length_time_axis=8, max_length_time_axis=256)

    def trajectories(key, data):
        def step(state, x):
            k, batch = x
            state = uniform.add(state, batch)
            return state, jax.lax.cond(uniform.can_sample(state), lambda: jax.tree.map(lambda leaf: leaf.astype(jnp.float32).sum(), uniform.sample(state, k).experience),
                                       lambda: jax.tree.map(lambda leaf: jnp.float32(0), one))
        return jax.lax.scan(step, uniform.init(one), (jax.random.split(key, 30), data))

    add('trajectory_buffer', trajectories, KEY, transition(30, 8, 4))

    flat = fbx.make_flat_buffer(max_length=2000, min_length=16, sample_batch_size=64, add_batch_size=16)

    def q_learning(key, weights, data):
        optimizer = optax.adam(1e-3)

        def q(w, x):
            return jnp.tanh(x @ w[0]) @ w[1]

        def step(carry, x):
            w, s, buffer = carry
            k, batch = x
            buffer = flat.add(buffer, batch)
            pair = flat.sample(buffer, k).experience

            def loss(w):
                target = pair.first['reward'] + 0.99 * (1 - pair.first['done']) * q(w, pair.second['obs']).max(-1)
                chosen = jnp.take_along_axis(q(w, pair.first['obs']), pair.first['action'][:, None], -1)[:, 0]
                return optax.huber_loss(chosen, jax.lax.stop_gradient(target)).mean()
            value, grads = jax.value_and_grad(loss)(w)
            updates, s = optimizer.update(grads, s, w)
            return (optax.apply_updates(w, updates), s, buffer), value
        buffer = flat.init(one)
        first = jax.tree.map(lambda leaf: leaf[0], data)
        for _ in range(2):
            buffer = flat.add(buffer, first)
        (weights, _, buffer), values = jax.lax.scan(step, (weights, optimizer.init(weights), buffer), (jax.random.split(key, 20), data))
        return weights, values, buffer.current_index

    add('flat_buffer_q_learning', q_learning, KEY, [R.f32(12, 48, k=0.3), R.f32(48, 4, k=0.2)], transition(20, 16))

    prioritised = fbx.make_prioritised_flat_buffer(max_length=1024, min_length=16, sample_batch_size=32, add_batch_size=16, priority_exponent=0.6)

    def by_priority(key, data):
        def step(state, x):
            k, batch = x
            state = prioritised.add(state, batch)
            got = prioritised.sample(state, k)
            error = jnp.abs(got.experience.first['reward'] - got.experience.second['reward']) + 0.1
            return prioritised.set_priorities(state, got.indices, error), (got.indices, got.probabilities)
        state = prioritised.init(one)
        first = jax.tree.map(lambda leaf: leaf[0], data)
        for _ in range(2):
            state = prioritised.add(state, first)
        state, out = jax.lax.scan(step, state, (jax.random.split(key, 20), data))
        return state.sum_tree_state, out

    add('prioritised_buffer', by_priority, KEY, transition(20, 16))

    items = fbx.make_prioritised_item_buffer(max_length=512, min_length=8, sample_batch_size=24, add_batches=True)

    def by_item(key, data):
        def step(state, x):
            k, batch = x
            state = items.add(state, batch)
            got = items.sample(state, k)
            return items.set_priorities(state, got.indices, jnp.abs(got.experience['reward']) + 0.01), got.probabilities.sum()
        state = items.init(one)
        first = jax.tree.map(lambda leaf: leaf[0], data)
        state = items.add(items.add(state, first), first)
        return jax.lax.scan(step, state, (jax.random.split(key, 16), data))[1]

    add('prioritised_items', by_item, KEY, transition(16, 8))

    # Agents that see sequences: their memories are reset where an episode starts.
    mask = (R.uniform_f32(4, 32) < 0.1).astype(np.float32)
    x, y = R.f32(4, 32, 24), R.f32(4, 32, 24)
    for name, module in (
            ('ffm', memories.Memoroid(memories.FFMCell(features=24, memory_size=16, context_size=8))),
            ('lru', memories.Memoroid(memories.LRUCell(features=24, hidden_dim=32))),
            ('s5', memories.Memoroid(memories.S5Cell(features=24, state_size=16))),
            ('mamba', memories.Memoroid(memories.MambaCell(features=24))),
            ('min_gru', memories.Memoroid(memories.MinGRUCell(features=24))),
            ('mlstm', memories.Memoroid(memories.mLSTMCell(features=24, hidden_dim=24, num_heads=4))),
            ('slstm', memories.RNN(memories.sLSTMCell(features=24, hidden_dim=24, num_heads=4))),
            ('linear_attention', memories.Memoroid(memories.LinearAttentionCell(
                head_dim=8, num_heads=3, kernel_init=jax.nn.initializers.lecun_normal(), bias_init=jax.nn.initializers.zeros, param_dtype=jnp.float32))),
            ('shm', memories.RNN(memories.SHMCell(features=8, output_features=24, sample_theta=False)))):
        weights = R.flax(module, x, mask)

        def train(weights, x, mask, y, module=module):
            def loss(w):
                carry, out = module.apply(w, x, mask)
                return jnp.square(out - y).mean(), jax.tree.leaves(carry)
            (value, carry), grads = jax.value_and_grad(loss, has_aux=True)(weights)
            return value, jax.tree.map(lambda w, g: w - 0.01 * g, weights, grads), carry
        add('memory_' + name, train, weights, x, mask, y)
    return P
