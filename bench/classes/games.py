"""Games, policies and decisions over time: environments in batches, trees, grids, the gradients that train them."""
import numpy as np
from by_value import Programs, Random
R = Random(907)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 256.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    key = np.array([5, 6], np.uint32)
    def mlp(ps, x):
        for w, b in ps[:-1]: x = jnp.tanh(x @ w + b)
        return x @ ps[-1][0] + ps[-1][1]
    def net(*s): return [(f32(a, b) / a ** .5, f32(b) * .1) for a, b in zip(s[:-1], s[1:])]

    # PPO epochs with shuffled minibatches over a collected batch
    def ppo(p, m, v, key, obs, act, adv, ret, olp):
        def loss(p, b):
            o, a, ad, r, ol = b
            lo, val = mlp(p['pi'], o), mlp(p['v'], o)[:, 0]
            lp = jax.nn.log_softmax(lo)
            ra = jnp.exp(jnp.take_along_axis(lp, a[:, None], 1)[:, 0] - ol)
            ad = (ad - ad.mean()) / (ad.std() + 1e-8)
            return -jnp.minimum(ra * ad, jnp.clip(ra, .8, 1.2) * ad).mean() + .5 * ((val - r) ** 2).mean() + .01 * (jnp.exp(lp) * lp).sum(-1).mean()
        def mb(c, b):
            p, m, v, t = c
            l, g = jax.value_and_grad(loss)(p, b)
            n = jnp.sqrt(sum((x ** 2).sum() for x in jax.tree.leaves(g))); g = jax.tree.map(lambda x: x * jnp.minimum(1, .5 / n), g)
            m = jax.tree.map(lambda m, g: .9 * m + .1 * g, m, g); v = jax.tree.map(lambda v, g: .999 * v + .001 * g * g, v, g)
            p = jax.tree.map(lambda p, m, v: p - 3e-4 * (m / (1 - .9 ** t)) / (jnp.sqrt(v / (1 - .999 ** t)) + 1e-3), p, m, v)
            return (p, m, v, t + 1), l
        def epoch(c, k):
            i = jax.random.permutation(k, obs.shape[0]).reshape(6, -1)
            return lax.scan(mb, c, jax.tree.map(lambda x: x[i], (obs, act, adv, ret, olp)))
        return lax.scan(epoch, (p, m, v, 1.), jax.random.split(key, 3))
    pp = dict(pi=net(11, 50, 50, 5), v=net(11, 50, 50, 1)); zp = jax.tree.map(lambda x: x * 0, pp)
    add('ppo_epochs', ppo, pp, zp, zp, key, f32(600, 11), i32(5, 600), f32(600), f32(600), -1.6 + .1 * f32(600))

    # prioritised replay with a sum tree
    def per(tree, td, idx, u):
        n = 1024
        def upd(t, x):
            i, p = x; i = i + n
            d = p - t[i]
            return lax.fori_loop(0, 11, lambda k, t: t.at[i >> k].add(d), t), None
        t, _ = lax.scan(upd, tree, (idx, jnp.abs(td) ** .6))
        def sample(u):
            def down(_, c):
                i, u = c; l = t[2 * i]
                r = u >= l
                return 2 * i + r, jnp.where(r, u - l, u)
            return lax.fori_loop(0, 10, down, (1, u * t[1]))[0]
        i = jax.vmap(sample)(u)
        w = (t[i] / t[1] * n) ** -.4
        return t, i - n, w / w.max()
    leaf = R.rand(1024).astype(np.float32); tr = np.zeros(2048, np.float32); tr[1024:] = leaf
    for i in range(1023, 0, -1): tr[i] = tr[2 * i] + tr[2 * i + 1]
    add('replay_sum_tree', per, tr, f32(150), i32(1024, 150), R.rand(150).astype(np.float32) * .98)

    # C51 distributional loss gradient
    def c51(p, tp, o, a, r, d, o2):
        z = jnp.linspace(-10, 10, 51)
        q2 = jax.nn.softmax(mlp(tp, o2).reshape(-1, 4, 51)); a2 = (q2 * z).sum(-1).argmax(-1)
        pn = jnp.take_along_axis(q2, a2[:, None, None], 1)[:, 0]
        tz = jnp.clip(r[:, None] + .99 * (1 - d)[:, None] * z, -10, 10)
        b = (tz + 10) / .4; l = jnp.floor(b).astype(int); u = jnp.minimum(l + 1, 50); w = b - l
        m = jax.vmap(lambda l, u, w, p: jnp.zeros(51).at[l].add(p * (1 - w)).at[u].add(p * w))(l, u, w, pn)
        def loss(p):
            lp = jax.nn.log_softmax(mlp(p, o).reshape(-1, 4, 51))
            return -(m * jnp.take_along_axis(lp, a[:, None, None], 1)[:, 0]).sum(-1).mean()
        return jax.value_and_grad(loss)(p)
    add('distributional_q_gradient', c51, net(9, 70, 204), net(9, 70, 204), f32(90, 9), i32(4, 90), f32(90), (R.rand(90) < .1).astype(np.float32), f32(90, 9))

    # recurrent state-space model imagination with gradient
    def rssm(p, key, obs, act):
        def st(c, x):
            h, s = c; o, a, k = x
            z = jnp.concatenate([s, a], -1) @ p['in']
            r, u, n = jnp.split(z @ p['wi'] + h @ p['wh'], 3, -1)
            u = jax.nn.sigmoid(u - 1); h = u * jnp.tanh(jax.nn.sigmoid(r) * n) + (1 - u) * h
            pr = (h @ p['pr']).reshape(-1, 6, 9); po = (jnp.concatenate([h, o], -1) @ p['po']).reshape(-1, 6, 9)
            i = jax.random.categorical(k, po)
            oh = jax.nn.one_hot(i, 9); pp_ = jax.nn.softmax(po); s = (oh + pp_ - lax.stop_gradient(pp_)).reshape(-1, 54)
            kl = (pp_ * (jax.nn.log_softmax(po) - jax.nn.log_softmax(pr))).sum((-1, -2))
            rec = ((jnp.concatenate([h, s], -1) @ p['out'] - o) ** 2).sum(-1)
            return (h, s), (jnp.maximum(kl, 1.), rec)
        B = obs.shape[1]
        _, (kl, rec) = lax.scan(st, (jnp.zeros((B, 60)), jnp.zeros((B, 54))), (obs, act, jax.random.split(key, len(obs))))
        return kl.mean() + rec.mean()
    rp = {'in': f32(57, 40) * .1, 'wi': f32(40, 180) * .1, 'wh': f32(60, 180) * .1, 'pr': f32(60, 54) * .1, 'po': f32(73, 54) * .1, 'out': f32(114, 13) * .1}
    add('world_model_gradient', jax.value_and_grad(rssm), rp, key, f32(24, 7, 13), f32(24, 7, 3))

    # counterfactual regret for Kuhn poker (vectorised over deals)
    def kuhn(T=200):
        deals = jnp.array([(a, b) for a in range(3) for b in range(3) if a != b])
        def st(c, _):
            reg, ssum = c  # (4 infosets kinds, 3 cards, 2)
            pos = jnp.maximum(reg, 0); n = pos.sum(-1, keepdims=True)
            sg = jnp.where(n > 0, pos / jnp.where(n > 0, n, 1), .5)
            def deal(d):
                a, b = d; w = jnp.where(a > b, 1., -1.)
                s0, s1c, s1b, s2 = sg[0, a], sg[1, b], sg[2, b], sg[3, a]
                vcb = jnp.array([-1., 2 * w]); v2 = s2 @ vcb         # pass, bet -> call or fold
                uc = jnp.array([w, v2]); v1c = s1c @ uc
                ub = jnp.array([1., 2 * w]); v1b = s1b @ ub
                u0 = jnp.array([v1c, v1b]); v0 = s0 @ u0
                z = jnp.zeros((4, 3, 2))
                return z.at[0, a].add(u0 - v0).at[3, a].add(s0[0] * s1c[1] * 0 + s1c[1] * (vcb - v2)).at[1, b].add(-s0[0] * (uc - v1c)).at[2, b].add(-s0[1] * (ub - v1b)), v0
            g, v = jax.vmap(deal)(deals)
            return (reg + g.sum(0), ssum + sg), v.mean()
        return lax.scan(st, (jnp.zeros((4, 3, 2)), jnp.zeros((4, 3, 2))), None, T)
    add('regrets_of_poker', lambda r: kuhn()[0][1] * r, np.float32(1))

    # tic-tac-toe by backward induction over all 3^9 states
    def ttt(_):
        n = 3 ** 9; s = jnp.arange(n); dig = (s[:, None] // 3 ** jnp.arange(9)) % 3
        lines = jnp.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])
        L = dig[:, lines]; w1, w2 = (L == 1).all(-1).any(-1), (L == 2).all(-1).any(-1)
        cnt = (dig > 0).sum(1); mv = jnp.where(cnt % 2 == 0, 1, 2)
        term = w1 | w2 | (cnt == 9); tv = jnp.where(w1, 1, jnp.where(w2, -1, 0))
        nxt = jnp.where(dig == 0, s[:, None] + mv[:, None] * 3 ** jnp.arange(9), 0)
        def back(k, v):
            q = v[nxt]
            b = jnp.where(mv == 1, jnp.where(dig == 0, q, -9).max(1), jnp.where(dig == 0, q, 9).min(1))
            return jnp.where(term, tv, jnp.where(cnt == 8 - k, b, v))
        return lax.fori_loop(0, 9, back, jnp.zeros(n, int))
    add('noughts_and_crosses', lambda x: ttt(0) + x, np.int32(0))
    # 2048 boards
    def g2048(boards, moves):
        def left(row):
            o = jnp.argsort(row == 0, stable=True); r = row[o]
            def m(c, x):
                out, k, last = c
                mg = (x > 0) & (x == last)
                out = jnp.where(mg, out.at[k - 1].add(1), jnp.where(x > 0, out.at[k].set(x), out))
                return (out, k + ((x > 0) & ~mg), jnp.where(mg, 0, jnp.where(x > 0, x, last))), mg
            return lax.scan(m, (jnp.zeros(4, row.dtype), 0, 0), r)[0][0]
        def step(b, m):
            def one(b, m):
                b = lax.switch(m, [lambda b: b, lambda b: b.T, lambda b: b[:, ::-1], lambda b: b.T[:, ::-1]], b)
                b = jax.vmap(left)(b)
                b = lax.switch(m, [lambda b: b, lambda b: b.T, lambda b: b[:, ::-1], lambda b: b[:, ::-1].T], b)
                e = (b == 0).reshape(-1).argmax()
                return b.reshape(-1).at[e].set(jnp.maximum(b.reshape(-1)[e], 1)).reshape(4, 4)
            return jax.vmap(one)(b, m), b.max()
        return lax.scan(step, boards, moves)
    add('sliding_tiles', g2048, i32(2, 90, 4, 4), i32(4, 20, 90))
    # LinUCB with Sherman-Morrison per arm
    def linucb(X, th):
        def st(c, x):
            Ai, b = c
            m = jnp.einsum('aij,aj->ai', Ai, b); w = jnp.sqrt(jnp.einsum('i,aij,j->a', x, Ai, x))
            a = (m @ x + .5 * w).argmax()
            r = th[a] @ x
            v = Ai[a] @ x
            return (Ai.at[a].add(-jnp.outer(v, v) / (1 + x @ v)), b.at[a].add(r * x)), a
        return lax.scan(st, (jnp.tile(jnp.eye(12), (7, 1, 1)), jnp.zeros((7, 12))), X)[1]
    add('contextual_bandit', linucb, f32(400, 12), f32(7, 12))
    # consumption-savings by endogenous grid, interpolation per state
    def egm(R_, Pi, y):
        a = jnp.linspace(0., 20, 120) ** 1.5 / 4
        def it(c, _):
            def nxt(c, yy): return jnp.interp(R_ * a + yy, *c)
            cp = jax.vmap(lambda g, c, yy: jnp.interp(R_ * a + yy, g, c))(*c, y)
            mu = .95 * R_ * (Pi @ cp ** -2.)
            cc = mu ** -.5
            g = a + cc
            z = jnp.zeros((len(y), 1))
            return (jnp.concatenate([z, g], 1), jnp.concatenate([z + 1e-6, cc], 1)), cc.mean()
        g0 = jnp.tile(jnp.concatenate([jnp.zeros(1), a + 1e-3 + .1 * (a + 1)]), (len(y), 1))
        return lax.scan(it, (g0, .1 * g0 + 1e-2), None, 30)
    Pi = R.rand(7, 7); Pi = (Pi / Pi.sum(1, keepdims=True)).astype(np.float32)
    add('endogenous_grid', egm, np.float32(1.03), Pi, (.5 + R.rand(7)).astype(np.float32))
    # Hull-White trinomial tree for a Bermudan; vmapped over strikes
    def tree(ks):
        n = 40; J = 2 * n + 1; j = jnp.arange(J) - n; r = .03 + .004 * j; dt = .25
        def one(k):
            def back(v, i):
                u, d = jnp.append(v[1:], v[-1]), jnp.append(v[0], v[:-1])
                pu = jnp.clip(1 / 6 - .005 * j, 0, 1); pd = jnp.clip(1 / 6 + .005 * j, 0, 1)
                c = jnp.exp(-r * dt) * (pu * u + pd * d + (1 - pu - pd) * v)
                ex = jnp.maximum(k - r, 0) * (n - i) * dt
                return jnp.where(i % 4 == 0, jnp.maximum(c, ex), c), None
            return lax.scan(back, jnp.maximum(k - r, 0.), jnp.arange(n, 0, -1))[0][n]
        return jax.vmap(jax.value_and_grad(one))(ks)
    add('bermudan_on_a_tree', tree, np.linspace(.01, .06, 45).astype(np.float32))
    # multi-state life tables for many policies with discounting
    def life(Q, ages, terms, rate):
        def pol(a, n, i):
            def yr(c, t):
                p, v, pv = c
                p2 = p @ Q[jnp.minimum(a + t, Q.shape[0] - 1)]
                on = t < n
                pv = pv + jnp.where(on, v * (p2[2] - p[2] + .3 * p2[1]), 0)
                return (jnp.where(on, p2, p), v / (1 + i), pv), None
            return lax.scan(yr, (jnp.array([1., 0, 0]), 1 / (1 + i), 0.), jnp.arange(45))[0][2]
        return jax.vmap(jax.value_and_grad(pol, 2))(ages, terms, rate)
    q = np.zeros((100, 3, 3), np.float32); q[:, 0, 1] = .01; q[:, 0, 2] = np.linspace(.001, .2, 100); q[:, 0, 0] = 1 - q[:, 0].sum(1); q[:, 1, 2] = .1; q[:, 1, 1] = .9; q[:, 2, 2] = 1
    add('insured_lives', life, q, i32(50, 800) + 20, i32(35, 800) + 10, (.01 + .04 * R.rand(800)).astype(np.float32))
    # DQN on a vmapped gridworld: act, step, push to replay, learn
    def dqn(p, key):
        N = 16
        def obs(s): return jax.nn.one_hot(s[..., 0] * 7 + s[..., 1], 49)
        def it(c, k):
            p, tp, s, buf, n = c
            k1, k2, k3, k4 = jax.random.split(k, 4)
            q = mlp(p, obs(s))
            a = jnp.where(jax.random.uniform(k1, (N,)) < .1, jax.random.randint(k2, (N,), 0, 4), q.argmax(-1))
            s2 = jnp.clip(s + jnp.array([[0, 1], [1, 0], [0, -1], [-1, 0]])[a], 0, 6)
            d = (s2 == 6).all(-1)
            buf = lax.dynamic_update_slice(buf, jnp.concatenate([s, s2, a[:, None], d[:, None].astype(int)], 1), (n % 512, 0))
            b = buf[jax.random.randint(k3, (32,), 0, jnp.minimum(n + N, 512))]
            def loss(p):
                q = jnp.take_along_axis(mlp(p, obs(b[:, :2])), b[:, 4:5], 1)[:, 0]
                t = b[:, 5] - .01 + .97 * (1 - b[:, 5]) * mlp(tp, obs(b[:, 2:4])).max(-1)
                return ((q - lax.stop_gradient(t)) ** 2).mean()
            l, g = jax.value_and_grad(loss)(p)
            p = jax.tree.map(lambda a, b: a - .1 * b, p, g)
            tp = jax.tree.map(lambda a, b: .95 * a + .05 * b, tp, p)
            s2 = jnp.where(d[:, None], jax.random.randint(k4, (N, 2), 0, 6), s2)
            return (p, tp, s2, buf, n + N), l
        return lax.scan(it, (p, p, jnp.zeros((N, 2), int), jnp.zeros((512, 6), int), 0), jax.random.split(key, 60))[1]
    add('q_learning_on_a_grid', dqn, net(49, 32, 4), key)
    return P
