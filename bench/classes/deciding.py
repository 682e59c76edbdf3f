"""Models that decide step by step: decoding with caches, search, quantised inference, reinforcement learning in the loop."""
import numpy as np

from by_value import Programs, Random

R = Random(0)
f32, i32 = R.f32, R.i32
FACTOR = 256.0  # States pass through hundreds of steps.


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn, random

    P = Programs()
    add = P.add
    key = np.array([0, 9], np.uint32)

    def rms_norm(x):
        return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    # A language model that reads its own words, one at a time, out of a cache.
    d, heads, words = 64, 4, 300
    layer = lambda: {'q': f32(d, d) * 0.2, 'k': f32(d, d // 2) * 0.2, 'v': f32(d, d // 2) * 0.2, 'o': f32(d, d) * 0.2, 'gate': f32(d, 160) * 0.2, 'up': f32(d, 160) * 0.2, 'down': f32(160, d) * 0.1}
    lm = {'embed': f32(words, d), 'layers': [layer(), layer()]}

    def rotate(x, at):
        half = x.shape[-1] // 2
        a = at[..., None] * 1e4 ** (-jnp.arange(half) / half)
        p, q = x[..., :half], x[..., half:]
        return jnp.concatenate([p * jnp.cos(a) - q * jnp.sin(a), p * jnp.sin(a) + q * jnp.cos(a)], -1)

    def one_word(p, cache, word, at):
        x = p['embed'][word]
        b = x.shape[0]
        new = []
        for q, (ks, vs) in zip(p['layers'], cache):
            y = rms_norm(x)
            query = rotate((y @ q['q']).reshape(b, heads, -1), at[None, None])
            k = rotate((y @ q['k']).reshape(b, 2, -1), at[None, None])
            ks = lax.dynamic_update_slice(ks, k[:, None], (0, at, 0, 0))
            vs = lax.dynamic_update_slice(vs, (y @ q['v']).reshape(b, 1, 2, -1), (0, at, 0, 0))
            s = jnp.einsum('bgrd,btgd->bgrt', query.reshape(b, 2, heads // 2, -1), ks) / 4
            s = nn.softmax(jnp.where(jnp.arange(ks.shape[1]) <= at, s, -1e9))
            x = x + jnp.einsum('bgrt,btgd->bgrd', s, vs).reshape(b, -1) @ q['o']
            y = rms_norm(x)
            x = x + (nn.silu(y @ q['gate']) * (y @ q['up'])) @ q['down']
            new.append((ks, vs))
        return rms_norm(x) @ p['embed'].T, new

    def generate(p, first, choose, length, key):
        b = first.shape[0]
        cache = [(jnp.zeros((b, length, 2, d // heads)),) * 2 for _ in p['layers']]

        def step(s, at):
            word, cache, key = s
            logits, cache = one_word(p, cache, word, at)
            key, k = random.split(key)
            word = choose(k, logits).astype(jnp.int32)
            return (word, cache, key), word
        return lax.scan(step, (first, cache, key), jnp.arange(length))[1]

    add('greedy_words', lambda p, w, k: generate(p, w, lambda k, l: l.argmax(-1), 40, k), lm, i32(words, 1), key)
    add('words_of_the_best_20', lambda p, w, k: generate(p, w, lambda k, l: jnp.take_along_axis(lax.top_k(l, 20)[1], random.categorical(k, lax.top_k(l, 20)[0])[:, None], 1)[:, 0], 24, k), lm, i32(words, 3), key)

    def nucleus(k, logits):
        order = jnp.argsort(-logits, -1)
        p = nn.softmax(jnp.take_along_axis(logits, order, -1))
        kept = jnp.where(jnp.cumsum(p, -1) - p < 0.9, jnp.log(p), -jnp.inf)
        return jnp.take_along_axis(order, random.categorical(k, kept)[:, None], 1)[:, 0]
    add('words_of_a_nucleus', lambda p, w, k: generate(p, w, nucleus, 24, k), lm, i32(words, 3), key)

    def beams(p, w, x):
        def step(s, x):
            scores, h, text, at = s
            h = jnp.tanh(p['e'][text[:, at]] + h @ p['w'] + x)
            total = scores[:, None] + nn.log_softmax(h @ p['o'])
            scores, best = lax.top_k(total.reshape(-1), 5)
            parent = best // total.shape[1]
            text = text[parent].at[:, at + 1].set(best % total.shape[1])
            return (scores, h[parent], text, at + 1), scores[0]
        s = (jnp.array([0] + [-1e9] * 4, jnp.float32), jnp.zeros((5, 24)), jnp.zeros((5, 21), jnp.int32).at[:, 0].set(w), 0)
        return lax.scan(step, s, x)[0][:3:2]
    add('beams_of_5', beams, {'e': f32(97, 24), 'w': f32(24, 24) * 0.3, 'o': f32(24, 97)}, np.int32(3), f32(20, 24))

    def speculate(p, q, words, key):
        a, b = random.split(key)
        x = jnp.take_along_axis(p, words[:, None], 1)[:, 0]
        y = jnp.take_along_axis(q, words[:, None], 1)[:, 0]
        accepted = jnp.cumprod((random.uniform(a, x.shape) < x / y).astype(jnp.int32))
        n = accepted.sum()
        rest = nn.relu(p - q)[jnp.minimum(n, len(words) - 1)]
        return n, jnp.where(jnp.arange(len(words)) < n, words, random.categorical(b, jnp.log(rest + 1e-9)))
    probabilities = np.abs(f32(2, 5, words)) + 0.01
    probabilities /= probabilities.sum(-1, keepdims=True)
    add('speculated_words', speculate, probabilities[0], probabilities[1], i32(words, 5), key)

    # Quantised.
    def int8_net(x, weights, scales):
        for w, s in zip(weights, scales):
            top = jnp.abs(x).max(-1, keepdims=True) / 127
            q = jnp.clip(jnp.round(x / top), -127, 127).astype(jnp.int8)
            y = lax.dot_general(q, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
            x = nn.relu(y.astype(jnp.float32) * top * s)
        return x
    add('int8_layers', int8_net, np.abs(f32(9, 256)), [R.randint(-127, 128, (256, 256)).astype(np.int8) for _ in range(3)], [np.abs(f32(256)) * np.float32(1e-3) + np.float32(1e-4) for _ in range(3)])

    def nibbles(x, packed, scale):
        low, high = (packed & 15).astype(jnp.int8) - 8, (packed >> 4).astype(jnp.int8) - 8
        w = jnp.stack([low, high], 1).reshape(-1, packed.shape[1]).astype(jnp.float32)
        w = (w.reshape(-1, 32, packed.shape[1]) * scale[:, None]).reshape(w.shape)
        return x @ w
    add('int4_groups', nibbles, f32(4, 256), R.u8(128, 192), np.abs(f32(8, 192)))
    add('bf16_gated_layer', lambda x, g, u, o: (nn.silu((x @ g).astype(jnp.float32)).astype(x.dtype) * (x @ u)) @ o, lambda: jnp.asarray(f32(17, 96), jnp.bfloat16),
        *[lambda s=s: jnp.asarray(f32(*s) * 0.1, jnp.bfloat16) for s in ((96, 200), (96, 200), (200, 96))])

    def detections(boxes, scores):
        order = jnp.argsort(-scores)
        b = boxes[order]
        area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
        corner = jnp.maximum(b[:, None, :2], b[None, :, :2]), jnp.minimum(b[:, None, 2:], b[None, :, 2:])
        inside = jnp.prod(nn.relu(corner[1] - corner[0]), -1)
        overlap = inside / (area[:, None] + area - inside)

        def step(i, keep):
            return jnp.where(keep[i] & (jnp.arange(len(b)) > i), keep & (overlap[i] < 0.4), keep)
        return order, lax.fori_loop(0, len(b), step, scores[order] > 0.1)
    corners = np.abs(f32(150, 2)) * 2
    add('boxes_without_overlap', detections, np.concatenate([corners, corners + 0.5 + np.abs(f32(150, 2))], 1), np.abs(f32(150)) % 1)

    def centre_points(heat, offset):
        top = lax.reduce_window(heat, -jnp.inf, lax.max, (3, 3, 1), (1, 1, 1), 'SAME')
        scores, at = lax.top_k(jnp.where(heat == top, heat, 0).reshape(-1), 40)
        y, x, c = jnp.unravel_index(at, heat.shape)
        return scores, c, x + offset[y, x, 0], y + offset[y, x, 1]
    add('points_of_a_heat_map', centre_points, np.abs(f32(40, 40, 5)), f32(40, 40, 2))
    add('nearest_of_bytes', lambda q, x: lax.top_k(-((q[:, None].astype(jnp.int32) - x[None].astype(jnp.int32)) ** 2).sum(-1), 5), R.u8(3, 64), R.u8(1000, 64))

    # Agents in environments that are programs themselves.
    def cart_pole(s, force):
        x, v, a, w = s
        t = (force + 0.05 * w * w * jnp.sin(a)) / 1.1
        b = (9.8 * jnp.sin(a) - jnp.cos(a) * t) / (0.5 * (4 / 3 - 0.1 * jnp.cos(a) ** 2 / 1.1))
        c = t - 0.05 * b * jnp.cos(a) / 1.1
        return x + 0.02 * v, v + 0.02 * c, a + 0.02 * w, w + 0.02 * b

    def policy(p, x):
        h = jnp.tanh(x @ p['a'])
        return h @ p['actor'], (h @ p['critic'])[..., 0]
    actor = {'a': f32(4, 32) * 0.3, 'actor': f32(32, 2) * 0.3, 'critic': f32(32, 1) * 0.3}

    def rollout(p, key, start, steps):
        def step(s, key):
            state, age = s
            a, b = random.split(key)
            x = jnp.stack(state, -1)
            logits, value = policy(p, x)
            action = random.categorical(a, logits)
            state = cart_pole(state, jnp.where(action == 1, 10.0, -10.0))
            done = (jnp.abs(state[0]) > 2.4) | (jnp.abs(state[2]) > 0.2) | (age >= 200)
            fresh = random.uniform(b, (4, len(age)), minval=-0.05, maxval=0.05)
            state = tuple(jnp.where(done, f, c) for f, c in zip(fresh, state))
            log_p = jnp.take_along_axis(nn.log_softmax(logits), action[:, None], 1)[:, 0]
            return (state, jnp.where(done, 0, age + 1)), (x, action, log_p, value, done)
        return lax.scan(step, start, random.split(key, steps))

    def advantages(values, rewards, done, last):
        def step(c, x):
            gae, ahead = c
            v, r, d = x
            delta = r + 0.99 * ahead * (1 - d) - v
            gae = delta + 0.99 * 0.95 * (1 - d) * gae
            return (gae, v), gae
        return lax.scan(step, (jnp.zeros_like(last), last), (values, rewards, done), reverse=True)[1]

    def ppo(p, key, state, age):
        key, k = random.split(key)
        (state, age), (x, action, log_p, value, done) = rollout(p, k, (tuple(state), age), 32)
        gae = advantages(value, jnp.ones_like(value), done.astype(jnp.float32), policy(p, jnp.stack(state, -1))[1])
        data = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), (x, action, log_p, gae, gae + value))

        def loss(p, x, action, log_p, gae, target):
            logits, value = policy(p, x)
            log = nn.log_softmax(logits)
            ratio = jnp.exp(jnp.take_along_axis(log, action[:, None], 1)[:, 0] - log_p)
            gae = (gae - gae.mean()) / (gae.std() + 1e-8)
            clipped = jnp.minimum(ratio * gae, jnp.clip(ratio, 0.8, 1.2) * gae).mean()
            return -clipped + 0.5 * ((value - target) ** 2).mean() + 0.01 * (jnp.exp(log) * log).sum(-1).mean()

        def epoch(p, key):
            order = random.permutation(key, data[0].shape[0]).reshape(4, -1)

            def batch(p, at):
                value, g = jax.value_and_grad(loss)(p, *[a[at] for a in data])
                return jax.tree.map(lambda p, g: p - 0.01 * g, p, g), value
            return lax.scan(batch, p, order)
        return lax.scan(epoch, p, random.split(key, 2))[0]
    add('policy_optimisation', ppo, actor, key, f32(4, 16) * 0.05, np.zeros(16, np.int32))
    add('advantages_of_episodes', advantages, f32(128, 24), f32(128, 24), (f32(128, 24) > 1.5).astype(np.float32), f32(24))

    def q_learning(p, key, start):
        q = lambda p, x: jnp.tanh(x @ p['a']) @ p['actor']
        memory = (jnp.zeros((500, 4)), jnp.zeros(500, jnp.int32), jnp.zeros((500, 4)))

        def step(c, k):
            p, slow, s, memory, at = c
            a, b = random.split(k)
            x = jnp.stack(s)
            act = jnp.where(random.uniform(a) < 0.1, random.randint(a, (), 0, 2), q(p, x).argmax())
            s = cart_pole(s, jnp.where(act == 1, 10.0, -10.0))
            s = tuple(jnp.where(jnp.abs(s[2]) > 0.2, 0.01, v) for v in s)
            memory = tuple(m.at[at % 500].set(v) for m, v in zip(memory, (x, act, jnp.stack(s))))
            rows = random.randint(b, (32,), 0, jnp.minimum(at + 1, 500))
            x, act, y = (m[rows] for m in memory)

            def loss(p):
                target = 1 + 0.99 * q(slow, y).max(-1)
                return ((jnp.take_along_axis(q(p, x), act[:, None], 1)[:, 0] - lax.stop_gradient(target)) ** 2).mean()
            value, g = jax.value_and_grad(loss)(p)
            p = jax.tree.map(lambda p, g: p - 0.001 * g, p, g)
            return (p, jax.tree.map(lambda s, p: 0.99 * s + 0.01 * p, slow, p), s, memory, at + 1), value
        return lax.scan(step, (p, p, tuple(start), memory, 0), random.split(key, 60))[1]
    add('q_learning_with_memory', q_learning, actor, key, f32(4) * 0.02)

    def evolve(key, mean, spread):
        def step(s, k):
            mean, spread, path = s
            e = random.normal(k, (32, 20))
            x = mean + spread * e
            f = (x ** 2 - 10 * jnp.cos(2 * np.pi * x)).sum(-1)
            w = jnp.zeros(32).at[jnp.argsort(f)[:8]].set(jnp.log(8.5) - jnp.log(jnp.arange(1.0, 9.0)))
            move = (w / w.sum()) @ e
            path = 0.8 * path + 0.6 * move
            return (mean + spread * move, spread * jnp.exp(0.2 * (jnp.linalg.norm(path) / np.sqrt(20) - 1)), path), f.min()
        return lax.scan(step, (mean, spread, jnp.zeros(20)), random.split(key, 40))[1]
    add('evolution_with_path', evolve, key, f32(20), np.float32(0.5))

    def genetic(key, genes, values, weights):
        def step(g, k):
            a, b, c, e = random.split(k, 4)
            w = g @ weights
            fit = jnp.where(w < 200, g @ values, 0)
            pair = random.randint(a, (2, 2, 40), 0, 40)
            parents = jnp.where(fit[pair[0]] > fit[pair[1]], pair[0], pair[1])
            child = jnp.where(random.bernoulli(b, 0.5, g.shape), g[parents[0]], g[parents[1]])
            child = child ^ random.bernoulli(c, 0.02, g.shape).astype(jnp.int32)
            return child.at[0].set(g[fit.argmax()]), fit.max()
        return lax.scan(step, genes, random.split(key, 30))
    add('genes_of_a_knapsack', genetic, key, i32(2, 40, 30), i32(50, 30), i32(40, 30))

    def snake(s, action):
        board, body, head, length, food = s
        move = jnp.array([[0, 1], [1, 0], [0, -1], [-1, 0]])[action % 4]
        head = (head + move) % 8
        ate = (head == food).all()
        body = jnp.roll(body, 1, 0).at[0].set(head)
        length = jnp.minimum(length + ate, 16)
        board = jnp.zeros((8, 8), jnp.int32).at[body[:, 0], body[:, 1]].max((jnp.arange(16) < length).astype(jnp.int32))
        food = jnp.where(ate, (food * 5 + 3) % 8, food)
        return (board, body, head, length, food), (ate, board.sum())
    add('snakes', lambda a: jax.vmap(lambda a: lax.scan(snake, (jnp.zeros((8, 8), jnp.int32), jnp.zeros((16, 2), jnp.int32), jnp.array([3, 3]), jnp.int32(1), jnp.array([3, 5])), a)[1])(a), i32(4, 20, 50))

    def iterate_values(reward, wall):
        def step(s):
            v, _, n = s
            near = jnp.stack([jnp.where(jnp.roll(wall, d, a), v, jnp.roll(v, d, a)) for d in (1, -1) for a in (0, 1)])
            new = jnp.where(wall, 0, reward + 0.95 * (0.8 * near.max(0) + 0.2 * near.mean(0)))
            return new, jnp.abs(new - v).max(), n + 1
        v, _, n = lax.while_loop(lambda s: (s[1] > 1e-4) & (s[2] < 300), step, (jnp.zeros_like(reward), jnp.float32(1), 0))
        return v
    add('values_of_a_maze', iterate_values, f32(23, 19), f32(23, 19) > 1)

    def tree_search(key, prior, payoff):
        n, actions = 64, 5

        def simulate(s, k):
            visits, value, child, used = s

            def choose(node):
                v = visits[node]
                return jnp.argmax(value[node] / (v + 1e-6) + 1.5 * prior[node] * jnp.sqrt(v.sum() + 1.0) / (v + 1.0))

            def down(c):
                node, path, act, depth = c
                a = choose(node)
                return child[node, a], path.at[depth].set(node), act.at[depth].set(a), depth + 1
            node, path, act, depth = lax.while_loop(lambda c: (c[0] >= 0) & (c[3] < 12), down, (jnp.int32(0), jnp.zeros(12, jnp.int32), jnp.zeros(12, jnp.int32), 0))
            r = payoff[used] + 0.1 * random.normal(k)
            fresh = (node < 0) & (used < n)
            last = path[depth - 1], act[depth - 1]
            child = child.at[last].set(jnp.where(fresh, used, child[last]))

            def up(i, c):
                visits, value = c
                at = path[i], act[i]
                on = (i < depth).astype(jnp.float32)
                return visits.at[at].add(on), value.at[at].add(on * r * 0.98 ** (depth - i))
            visits, value = lax.fori_loop(0, 12, up, (visits, value))
            return (visits, value, child, used + fresh), None
        z = jnp.zeros((n, actions))
        return lax.scan(simulate, (z, z, jnp.full((n, actions), -1, jnp.int32), jnp.int32(1)), random.split(key, 100))[0][0][0]
    add('search_in_a_tree', tree_search, key, np.abs(f32(64, 5)) % 1, f32(65))

    def soft_actor_critic(p, key, s, a, r, s2):
        mlp = lambda q, x: jnp.maximum(jnp.maximum(x @ q[0], 0) @ q[1], 0) @ q[2]

        def act(q, s, k):
            m, l = jnp.split(mlp(q, s), 2, -1)
            l = jnp.clip(l, -5, 2)
            e = random.normal(k, m.shape)
            u = m + jnp.exp(l) * e
            log = (-0.5 * e * e - l - 0.919 - 2 * (np.log(2) - u - nn.softplus(-2 * u))).sum(-1)
            return jnp.tanh(u), log
        k1, k2 = random.split(key)

        def critic(q):
            a2, log = act(p['actor'], s2, k1)
            x2 = jnp.concatenate([s2, a2], -1)
            target = r + 0.99 * (jnp.minimum(mlp(p['slow'][0], x2), mlp(p['slow'][1], x2))[:, 0] - 0.2 * log)
            x = jnp.concatenate([s, a], -1)
            return sum(((mlp(c, x)[:, 0] - lax.stop_gradient(target)) ** 2).mean() for c in q)

        def actor(q):
            a, log = act(q, s, k2)
            x = jnp.concatenate([s, a], -1)
            return (0.2 * log - jnp.minimum(mlp(p['critics'][0], x), mlp(p['critics'][1], x))[:, 0]).mean()
        down = lambda p, g: jax.tree.map(lambda p, g: p - 3e-4 * g, p, g)
        critics = down(p['critics'], jax.grad(critic)(p['critics']))
        return {'actor': down(p['actor'], jax.grad(actor)(p['actor'])), 'critics': critics, 'slow': jax.tree.map(lambda s, c: 0.995 * s + 0.005 * c, p['slow'], critics)}
    net = lambda i, o: [f32(i, 64) * 0.2, f32(64, 64) * 0.12, f32(64, o) * 0.12]
    add('soft_actor_critic_step', soft_actor_critic, {'actor': net(11, 6), 'critics': [net(14, 1), net(14, 1)], 'slow': [net(14, 1), net(14, 1)]}, key, f32(64, 11), np.tanh(f32(64, 3)), f32(64), f32(64, 11))
    return P
