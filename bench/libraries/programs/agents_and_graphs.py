"""Networks of haiku and equinox, optimizers of optax, agents and graphs."""
import numpy as np
from by_value import Programs
from weights import Weights, section
NEEDS = ('haiku', 'equinox', 'optax', 'jraph')
FACTOR = 2048.0
def programs(jax):
    import jax.numpy as jnp, optax, haiku as hk, equinox as eqx
    from jax import lax
    P = Programs(); R = Weights(jax, 7); add, f, u, i, fill, zeros = P.add, R.f32, R.uniform_f32, R.i32, R.fill, R.zeros
    KEY = np.array([4, 9], np.uint32); wrap = jax.random.wrap_key_data
    ce = lambda l, y: optax.softmax_cross_entropy_with_integer_labels(l, y).mean()
    def T(g): return hk.without_apply_rng(hk.transform(g))
    def mlp(*s, k=None): return [(f(a, b, k=1 / np.sqrt(a)), f(b, k=.05)) for a, b in zip(s[:-1], s[1:])]
    def net(p, x, act=jax.nn.relu):
        for w, b in p[:-1]: x = act(x @ w + b)
        return x @ p[-1][0] + p[-1][1]
    @section
    def values():
        def duel(x):
            h = hk.nets.MLP([70, 70], activate_final=True)(x); a = hk.Linear(7)(h); return hk.Linear(1)(h) + a - a.mean(-1, keepdims=True)
        q = T(duel); o = f(63, 11); p = R.haiku(q, o); tx = optax.chain(optax.clip_by_global_norm(10.), optax.centralize(), optax.adam(1e-3))
        def dqn(p, t, s, o, a, r, d, o2, w):
            def loss(p):
                an = q.apply(p, o2).argmax(-1); y = r + .99 * (1 - d) * jnp.take_along_axis(q.apply(t, o2), an[:, None], 1)[:, 0]; td = jnp.take_along_axis(q.apply(p, o), a[:, None], 1)[:, 0] - lax.stop_gradient(y); return (w * optax.huber_loss(td)).mean(), jnp.abs(td) ** .6
            (l, pr), g = jax.value_and_grad(loss, has_aux=True)(p); up, s = tx.update(g, s, p); p = optax.apply_updates(p, up); return p, optax.incremental_update(p, t, .005), s, pr
        add('double_dueling_dqn_step', dqn, p, p, zeros(tx, p), o, i(7, 63), f(63), i(2, 63).astype(np.float32), f(63, 11), u(63))
        def c51(p, o, a, r, d, o2):
            z = jnp.linspace(-10, 10, 51); dz = z[1] - z[0]; lg = lambda x: net(p, x).reshape(x.shape[0], 5, 51); pn = jax.nn.softmax(lg(o2)); an = (pn * z).sum(-1).argmax(-1); pn = jnp.take_along_axis(pn, an[:, None, None], 1)[:, 0]
            tz = jnp.clip(r[:, None] + .99 * (1 - d)[:, None] * z, -10, 10); w = jnp.clip(1 - jnp.abs(tz[:, None] - z[None, :, None]) / dz, 0, 1); tp = lax.stop_gradient((w * pn[:, None]).sum(-1)); return -(tp * jax.nn.log_softmax(jnp.take_along_axis(lg(o), a[:, None, None], 1)[:, 0])).sum(-1).mean()
        add('c51_gradient', jax.grad(c51), mlp(9, 60, 60, 255), f(43, 9), i(5, 43), f(43), i(2, 43).astype(np.float32), f(43, 9))
        def iqn(p, k, o, a, y):
            tau = jax.random.uniform(wrap(k), (o.shape[0], 13)); c = jnp.cos(jnp.pi * jnp.arange(1, 33) * tau[..., None]); h = jax.nn.relu(o @ p['o'])[:, None] * jax.nn.relu(c @ p['c']); qv = jnp.take_along_axis(net(p['m'], h), a[:, None, None], 2)[..., 0]; dl = y[:, None, :] - qv[..., None]; return (jnp.abs(tau[..., None] - (dl < 0)) * optax.huber_loss(dl)).sum(1).mean()
        add('implicit_quantile_gradient', jax.grad(iqn), dict(o=f(10, 48), c=f(32, 48, k=.2), m=mlp(48, 48, 6)), KEY, f(37, 10), i(6, 37), f(37, 11))
        def td3(p, tp, s, k, o, a, r, o2):
            n = jnp.clip(.2 * jax.random.normal(wrap(k), a.shape), -.5, .5); a2 = jnp.clip(jnp.tanh(net(tp['pi'], o2)) + n, -1, 1); xx = jnp.concatenate([o2, a2], -1); y = r + .99 * jnp.minimum(net(tp['q1'], xx), net(tp['q2'], xx))[:, 0]; x = jnp.concatenate([o, a], -1)
            lq, g = jax.value_and_grad(lambda p: ((net(p['q1'], x)[:, 0] - y) ** 2 + (net(p['q2'], x)[:, 0] - y) ** 2).mean() - net(jax.tree.map(lax.stop_gradient, p['q1']), jnp.concatenate([o, jnp.tanh(net(p['pi'], o))], -1)).mean())(p); up, s = td.update(g, s); p = optax.apply_updates(p, up); return p, optax.incremental_update(p, tp, .005), s, lq
        pt = dict(pi=mlp(17, 80, 80, 6), q1=mlp(23, 80, 80, 1), q2=mlp(23, 80, 80, 1)); td = optax.adam(3e-4)
        add('td3_step', td3, pt, pt, zeros(td, pt), KEY, f(75, 17), f(75, 6), f(75), f(75, 17))
    @section
    def policies():
        def dist(p, o, k):
            m, ls = jnp.split(net(p, o), 2, -1); ls = jnp.clip(ls, -5, 2); e = jax.random.normal(k, m.shape); x = m + jnp.exp(ls) * e; return jnp.tanh(x), (-.5 * e ** 2 - ls - .919 - 2 * (np.log(2.) - x - jax.nn.softplus(-2 * x))).sum(-1)
        def sac(p, tq, s, k, o, a, r, d, o2):
            k1, k2 = jax.random.split(wrap(k)); al = jnp.exp(p['la']); a2, l2 = dist(p['pi'], o2, k1); xx = jnp.concatenate([o2, a2], -1); qs = jax.vmap(net, (0, None))(tq, xx)[..., 0]; y = lax.stop_gradient(r + .99 * (1 - d) * (qs.min(0) - al * l2)); x = jnp.concatenate([o, a], -1); sg = lax.stop_gradient
            def loss(p):
                lq = ((jax.vmap(net, (0, None))(p['q'], x)[..., 0] - y) ** 2).mean(); an, ln = dist(p['pi'], o, k2); lp = (sg(al) * ln - jax.vmap(net, (0, None))(jax.tree.map(sg, p['q']), jnp.concatenate([o, an], -1))[..., 0].min(0)).mean(); return lq + lp - p['la'] * sg(ln - 4).mean()
            l, g = jax.value_and_grad(loss)(p); up, s = tx.update(g, s); p = optax.apply_updates(p, up); return p, optax.incremental_update(p['q'], tq, .005), s, l
        q = jax.tree.map(lambda *v: np.stack(v), mlp(19, 96, 96, 1), mlp(19, 96, 96, 1)); p = dict(pi=mlp(13, 96, 96, 12), q=q, la=np.float32(-1)); tx = optax.adam(3e-4)
        add('sac_step', sac, p, q, zeros(tx, p), KEY, f(83, 13), f(83, 6), f(83), i(2, 83).astype(np.float32), f(83, 13))
        def ppo(p, s, k, o, a, lp, v, r, d):
            def gae(c, x): r, d, v, vn = x; dl = r + .99 * vn * (1 - d) - v; c = dl + .99 * .95 * (1 - d) * c; return c, c
            adv = lax.scan(gae, jnp.zeros(v.shape[1]), (r, d, v[:-1], v[1:]), reverse=True)[1]; ret = adv + v[:-1]; N = adv.size; fl = lambda x: x.reshape((N,) + x.shape[2:]); data = (fl(o), fl(a), fl(lp), fl(adv), fl(ret))
            def loss(p, b):
                o, a, lp, ad, rt = b; ad = (ad - ad.mean()) / (ad.std() + 1e-8); lg = jax.nn.log_softmax(net(p['pi'], o, jnp.tanh)); n = jnp.take_along_axis(lg, a[:, None], 1)[:, 0]; ra = jnp.exp(n - lp); return -jnp.minimum(ra * ad, jnp.clip(ra, .8, 1.2) * ad).mean() + .5 * ((net(p['v'], o, jnp.tanh)[:, 0] - rt) ** 2).mean() + .01 * (jnp.exp(lg) * lg).sum(-1).mean()
            def epoch(c, k):
                pm = jax.random.permutation(k, N); mb = jax.tree.map(lambda x: x[pm].reshape((4, N // 4) + x.shape[1:]), data)
                def upd(c, b): p, s = c; l, g = jax.value_and_grad(loss)(p, b); up, s = tx2.update(g, s); return (optax.apply_updates(p, up), s), l
                return lax.scan(upd, c, mb)
            return lax.scan(epoch, (p, s), jax.random.split(wrap(k), 3))
        p = dict(pi=mlp(8, 50, 50, 5), v=mlp(8, 50, 50, 1)); tx2 = optax.chain(optax.clip_by_global_norm(.5), optax.adam(optax.linear_schedule(3e-4, 0, 1000), eps=1e-5))
        add('ppo_epochs', ppo, p, zeros(tx2, p), KEY, f(28, 7, 8), i(5, 28, 7), -u(28, 7, lo=1, hi=2), f(29, 7), f(28, 7), (u(28, 7) < .1).astype(np.float32))
        def core(o, d, st):
            cell = hk.ResetCore(hk.LSTM(44)); h = hk.BatchApply(hk.nets.MLP([44], activate_final=True))(o); y, st = hk.dynamic_unroll(cell, (h, d), st); return hk.BatchApply(hk.Linear(6))(y), hk.BatchApply(hk.Linear(1))(y)[..., 0]
        c = T(core); o = f(21, 5, 10); d = u(21, 5) < .1; st = hk.LSTMState(f(5, 44), f(5, 44)); pc = R.haiku(c, o, d, st)
        def impala(p, o, d, st, a, r, mu):
            lg, v = c.apply(p, o, d, st); lp = jnp.take_along_axis(jax.nn.log_softmax(lg), a[..., None], -1)[..., 0]; rho = jnp.minimum(1., jnp.exp(lax.stop_gradient(lp) - mu))[:-1]; g = .99 * (1 - d[1:]); vs = lax.stop_gradient(v); dl = rho * (r[:-1] + g * vs[1:] - vs[:-1])
            er = lax.scan(lambda e, x: ((e := x[0] + x[1] * x[2] * e), e), jnp.zeros(5), (dl, g, rho), reverse=True)[1]; tgt = er + vs[:-1]; adv = rho * (r[:-1] + g * jnp.concatenate([tgt[1:], vs[-1:]]) - vs[:-1]); return -(adv * lp[:-1]).mean() + .5 * ((tgt - v[:-1]) ** 2).mean()
        add('impala_vtrace_lstm_gradient', jax.grad(impala), pc, o, d, st, i(6, 21, 5), f(21, 5), -u(21, 5))
        def mu(p, o, acts, rt, vt, pt):
            hs = lambda x: jnp.sign(x) * (jnp.sqrt(jnp.abs(x) + 1) - 1) + .001 * x
            def two(x): x = jnp.clip(hs(x), -10, 10) + 10; lo = jnp.floor(x); w = x - lo; return jax.nn.one_hot(lo, 21) * (1 - w)[..., None] + jax.nn.one_hot(lo + 1, 21) * w[..., None]
            h = jnp.tanh(net(p['rep'], o)); l = 0.
            for k in range(4):
                l += -(pt[k] * jax.nn.log_softmax(net(p['pi'], h))).sum(-1).mean() - .25 * (two(vt[k]) * jax.nn.log_softmax(net(p['v'], h))).sum(-1).mean()
                h = jnp.concatenate([h, jax.nn.one_hot(acts[k], 6)], -1); l += -(two(rt[k]) * jax.nn.log_softmax(net(p['r'], h))).sum(-1).mean(); h = net(p['dyn'], h); h = (h - h.min(-1, keepdims=True)) / (h.max(-1, keepdims=True) - h.min(-1, keepdims=True) + 1e-5); h = h * .5 + lax.stop_gradient(h) * .5
            return l
        add('muzero_unroll_gradient', jax.grad(mu), dict(rep=mlp(20, 50, 40), pi=mlp(40, 40, 6), v=mlp(40, 40, 21), r=mlp(46, 40, 21), dyn=mlp(46, 50, 40)), f(33, 20), i(6, 4, 33), f(4, 33, k=4), f(4, 33, k=9), np.full((4, 33, 6), 1 / 6, np.float32))
    @section
    def dreamer():
        def rssm(obs, act, k):
            gru = hk.GRU(58); pri = hk.nets.MLP([50, 48]); post = hk.nets.MLP([50, 48]); inp = hk.Linear(50); dec = hk.nets.MLP([50, 15])
            def samp(lg, k): lg = lg.reshape(-1, 6, 8); pr = .99 * jax.nn.softmax(lg) + .01 / 8; z = jax.nn.one_hot(jax.random.categorical(k, jnp.log(pr)), 8); return (z + pr - lax.stop_gradient(pr)).reshape(-1, 48), jnp.log(pr)
            def step(c, x):
                h, z = c; o, a, k = x; y, h = gru(jax.nn.elu(inp(jnp.concatenate([z, a], -1))), h); lp = pri(y); z, q = samp(post(jnp.concatenate([y, o], -1)), k); p = jax.nn.log_softmax(lp.reshape(-1, 6, 8)); sg = lax.stop_gradient; kl = lambda q, p: (jnp.exp(q) * (q - p)).sum((-1, -2)); return (h, z), (jnp.maximum(1., .8 * kl(sg(q), p)) + .2 * kl(q, sg(p)), ((dec(jnp.concatenate([y, z], -1)) - o) ** 2).sum(-1))
            B = obs.shape[1]; return sum(v.mean() for v in hk.scan(step, (jnp.zeros((B, 58)), jnp.zeros((B, 48))), (obs, act, jax.random.split(wrap(k), obs.shape[0])))[1])
        m = T(rssm); a = (f(17, 6, 15), f(17, 6, 4), KEY); p = R.haiku(m, *a)
        add('dreamer_rssm_gradient', jax.value_and_grad(m.apply), p, *a)
        def dnc(x):
            M, W = 18, 10; ctrl = hk.LSTM(40); out = hk.Linear(W * 3 + 1 + M + 3); last = hk.Linear(9)
            def step(c, x):
                s, mem, w, rd = c; y, s = ctrl(jnp.concatenate([x, rd], -1), s); o = out(y); key, er, ad = jnp.tanh(o[:, :W]), jax.nn.sigmoid(o[:, W:2 * W]), jnp.tanh(o[:, 2 * W:3 * W]); be = jax.nn.softplus(o[:, 3 * W]); g = jax.nn.sigmoid(o[:, 3 * W + 1])[:, None]; sh = jax.nn.softmax(o[:, -3:])
                cs = jnp.einsum('bmw,bw->bm', mem, key) / (jnp.linalg.norm(mem, axis=-1) * jnp.linalg.norm(key, axis=-1, keepdims=True) + 1e-6); wc = g * jax.nn.softmax(be[:, None] * cs) + (1 - g) * w; w = sum(sh[:, j:j + 1] * jnp.roll(wc, j - 1, 1) for j in range(3)) ** 1.3; w = w / w.sum(-1, keepdims=True); mem = mem * (1 - w[..., None] * er[:, None]) + w[..., None] * ad[:, None]; rd = jnp.einsum('bm,bmw->bw', w, mem); return (s, mem, w, rd), last(jnp.concatenate([y, rd], -1))
            B = x.shape[1]; return hk.scan(step, (ctrl.initial_state(B), jnp.full((B, M, W), .01), jnp.full((B, M), 1 / M), jnp.zeros((B, W))), x)[1]
        nt = T(dnc); x = i(2, 19, 6, 9).astype(np.float32); pn = R.haiku(nt, x)
        add('neural_turing_machine_gradient', jax.grad(lambda p, x: optax.sigmoid_binary_cross_entropy(nt.apply(p, x), x).mean()), pn, x)
        def xl(t, mem):
            x = hk.Embed(87, 48)(t); new = []
            for l in range(2):
                new.append(x); c = jnp.concatenate([lax.stop_gradient(mem[l]), x], 1); ln = hk.LayerNorm(-1, True, True); q = hk.Linear(48, False)(ln(x)).reshape(x.shape[0], -1, 4, 12); kv = hk.Linear(96, False)(ln(c)).reshape(x.shape[0], -1, 2, 4, 12); Tq, Tk = q.shape[1], kv.shape[1]
                r = hk.get_parameter('r%d' % l, (Tk + Tq, 4, 12), init=hk.initializers.RandomNormal(.1)); ub, vb = [hk.get_parameter(n + str(l), (4, 12), init=hk.initializers.RandomNormal(.1)) for n in 'uv']; ac = jnp.einsum('bqhd,bkhd->bhqk', q + ub, kv[:, :, 0]); bd = jnp.einsum('bqhd,khd->bhqk', q + vb, r[:Tk]); bd = jnp.pad(bd, ((0, 0), (0, 0), (0, 0), (1, 0))).reshape(bd.shape[0], 4, Tk + 1, Tq)[:, :, 1:].reshape(bd.shape)
                mk = jnp.arange(Tk)[None] <= jnp.arange(Tq)[:, None] + Tk - Tq; o = jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(jnp.where(mk, (ac + bd) / 3.46, -1e9)), kv[:, :, 1]).reshape(x.shape); x = x + hk.Linear(48)(o); x = x + hk.nets.MLP([120, 48])(hk.LayerNorm(-1, True, True)(x))
            return hk.Linear(87)(x), jnp.stack(new)
        tx_ = T(xl); t = i(87, 3, 31); me = f(2, 3, 24, 48); pt = R.haiku(tx_, t, me)
        def xll(p, t, m): o, n = tx_.apply(p, t, m); return ce(o[:, :-1], t[:, 1:]), n
        add('transformer_xl_gradient', jax.value_and_grad(xll, has_aux=True), pt, t, me)
        mn = hk.transform_with_state(lambda x, tr=False: hk.nets.MobileNetV1((1, 2, 2, 1), (16, 24, 36, 48), 11)(x, tr)); xm = f(2, 48, 48, 3); pm, sm = fill(jax.eval_shape(lambda: mn.init(jax.random.key(0), xm, True)))
        sm = jax.tree.map(lambda v: np.ones_like(v), sm)
        add('haiku_mobilenet_eval', lambda p, s, x: mn.apply(p, s, None, x)[0], pm, sm, xm)
    @section
    def metas():
        def maml(p, xs, ys, xq, yq):
            def task(xs, ys, xq, yq):
                l = lambda p, x, y: ((net(p, x, jnp.tanh) - y) ** 2).mean(); q = p
                for _ in range(3): q = jax.tree.map(lambda a, g: a - .05 * g, q, jax.grad(l)(q, xs, ys))
                return l(q, xq, yq)
            return jax.vmap(task)(xs, ys, xq, yq).mean()
        add('maml_second_order_gradient', jax.value_and_grad(maml), mlp(1, 38, 38, 1), f(9, 10, 1), f(9, 10, 1), f(9, 13, 1), f(9, 13, 1))
        def proto(p, s, q, y):
            e = lambda x: net(p, x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1] + (-1,)); c = e(s).mean(1); d = ((e(q)[:, None] - c[None]) ** 2).sum(-1); return ce(-d, y), (jnp.argmin(d, -1) == y).mean()
        def hyper(p, z, x, y):
            w = net(p, z); w1, b1, w2 = w[:, :60].reshape(-1, 3, 20), w[:, 60:80], w[:, 80:120].reshape(-1, 20, 2); h = jnp.sin(jnp.einsum('bni,bio->bno', x, w1) + b1[:, None]); return ((jnp.einsum('bno,bop->bnp', h, w2) - y) ** 2).mean()
        add('hypernetwork_gradient', jax.grad(hyper), mlp(8, 40, 120), f(23, 8), f(23, 31, 3), f(23, 31, 2))
        def ggn(p, x, y, v):
            fl = lambda p: net(p, x, jnp.tanh); out, jv = jax.jvp(fl, (p,), (v,)); pr = jax.nn.softmax(out)
            def mv(v): o, jv = jax.jvp(fl, (p,), (v,)); hv = pr * jv - pr * (pr * jv).sum(-1, keepdims=True); return jax.tree.map(lambda a, b: a / len(x) + .1 * b, jax.vjp(fl, p)[1](hv)[0], v)
            g = jax.grad(lambda p: ce(fl(p), y))(p); return jax.scipy.sparse.linalg.cg(mv, g, maxiter=7)[0]
        pg = mlp(21, 34, 34, 9); add('hessian_free_direction', ggn, pg, f(57, 21), i(9, 57), jax.tree.map(np.ones_like, pg))
        def sliced(p, x, k):
            v = jax.random.rademacher(wrap(k), x.shape, dtype=jnp.float32); s = lambda x: net(p, x, jax.nn.softplus); sx, jv = jax.jvp(s, (x,), (v,)); return ((v * jv).sum(-1) + .5 * ((v * sx).sum(-1)) ** 2).mean()
        add('sliced_score_matching_gradient', jax.grad(sliced), mlp(12, 70, 70, 12), f(67, 12), KEY)
        def flowm(p, s, ema, x1, k):
            k1, k2 = jax.random.split(wrap(k)); x0 = jax.random.normal(k1, x1.shape); t = jax.nn.sigmoid(jax.random.normal(k2, (x1.shape[0], 1))); xt = (1 - t) * x0 + t * x1
            l, g = jax.value_and_grad(lambda p: ((net(p, jnp.concatenate([xt, t, jnp.sin(9 * t)], -1), jax.nn.silu) - (x1 - x0)) ** 2).mean())(p); up, s = sf.update(g, s, p); p = optax.apply_updates(p, up); return p, s, jax.tree.map(lambda e, q: .99 * e + .01 * q, ema, optax.contrib.schedule_free_eval_params(s, p)), l
        import optax.contrib; pf = mlp(16, 90, 90, 14); sf = optax.contrib.schedule_free_adamw(1e-3)
        add('flow_matching_schedule_free_step', flowm, pf, jax.tree.map(lambda l: np.ones(l.shape, l.dtype), jax.eval_shape(sf.init, pf)), pf, f(91, 14), KEY)
        def cnf(p, x, e):
            def vf(t, x): return net(p, jnp.concatenate([x, t[None]]), jnp.tanh)
            def aug(t, s):
                x, l = s; dx, vjp = jax.vjp(lambda x: vf(t, x), x); return dx, -(vjp(e_)[0] * e_).sum()
            def one(x, e):
                nonlocal e_; e_ = e; h = .1
                def st(s, t):
                    k1 = aug(t, s); k2 = aug(t + h / 2, jax.tree.map(lambda a, b: a + h / 2 * b, s, k1)); k3 = aug(t + h / 2, jax.tree.map(lambda a, b: a + h / 2 * b, s, k2)); k4 = aug(t + h, jax.tree.map(lambda a, b: a + h * b, s, k3)); return jax.tree.map(lambda a, b, c, d, e: a + h / 6 * (b + 2 * c + 2 * d + e), s, k1, k2, k3, k4), None
                (z, l), _ = lax.scan(st, (x, 0.), jnp.arange(0, 1, h)); return -(-.5 * (z ** 2).sum() - l)
            e_ = None; return jax.vmap(one)(x, e).mean()
        add('ffjord_gradient', jax.grad(cnf), mlp(4, 30, 30, 3), f(29, 3), f(29, 3))
    @section
    def optimisers():
        import optax.contrib as oc
        p0 = dict(a=f(37, 66, k=.2), b=f(66, 66, k=.1), c=f(66, 9, k=.1), d=f(66)); x, y = f(45, 37), i(9, 45)
        loss = lambda p, x, y: ce(jax.nn.gelu(jax.nn.gelu(x @ p['a'] + p['d']) @ p['b']) @ p['c'], y)
        def run(tx, extra=False):
            def go(p, x, y):
                s = tx.init(p)
                def st(c, _):
                    p, s = c; l, g = jax.value_and_grad(loss)(p, x, y); up, s = tx.update(g, s, p, **(dict(value=l) if extra else {})); return (optax.apply_updates(p, up), s), l
                return lax.scan(st, (p, s), None, length=5)
            return go
        add('optax_muon_5', run(oc.muon(.02)), p0, x, y)
        add('optax_prodigy_5', run(oc.prodigy(1.)), p0, x, y)
        add('optax_mechanize_5', run(oc.mechanize(optax.adam(1e-3))), p0, x, y)
        add('optax_momo_adam_5', run(oc.momo_adam(1e-2), True), p0, x, y)
        add('optax_ademamix_5', run(oc.ademamix(1e-3)), p0, x, y)
        add('optax_plateau_sm3_5', run(optax.chain(optax.sm3(1e-2), optax.contrib.reduce_on_plateau(patience=1)), True), p0, x, y)
        add('optax_yogi_noisy_chain_5', run(optax.chain(optax.add_noise(.01, .55, 3), optax.scale_by_yogi(), optax.add_decayed_weights(1e-4), optax.scale_by_trust_ratio(), optax.scale(-1e-3))), p0, x, y)
        def sam(p, x, y):
            tx = oc.sam(optax.sgd(.1), optax.chain(oc.normalize(), optax.sgd(.05)), sync_period=2, opaque_mode=True); s = tx.init(p)
            def st(c, _): p, s = c; g = jax.grad(loss)(p, x, y); up, s = tx.update(g, s, p, grad_fn=lambda q, _: jax.grad(loss)(q, x, y)); return (optax.apply_updates(p, up), s), None
            return lax.scan(st, (p, s), None, length=4)[0][0]
        add('optax_sam_opaque_4', sam, p0, x, y)
        def shampoo(p, st, x, y):
            l, g = jax.value_and_grad(loss)(p, x, y); out, ns = {}, {}
            def root(A):
                A = A + 1e-4 * jnp.trace(A) * jnp.eye(A.shape[0]); z = 1.6 / jnp.linalg.norm(A); 
                def it(i, c): M, H = c; Mi = (1.25 * jnp.eye(A.shape[0]) - .25 * M); M2 = Mi @ Mi; return M2 @ M2 @ M, H @ Mi
                return lax.fori_loop(0, 8, it, (A * z, jnp.eye(A.shape[0]) * z ** .25))[1]
            for k in p:
                if p[k].ndim < 2: out[k] = p[k] - .1 * g[k]; continue
                L, Rr = st[k]; L = .9 * L + g[k] @ g[k].T; Rr = .9 * Rr + g[k].T @ g[k]; ns[k] = (L, Rr); out[k] = p[k] - .1 * root(L) @ g[k] @ root(Rr)
            return out, ns, l
        add('shampoo_newton_roots_step', shampoo, p0, {k: (np.eye(v.shape[0], dtype=np.float32), np.eye(v.shape[1], dtype=np.float32)) for k, v in p0.items() if v.ndim > 1}, x, y)
        def soap(p, st, x, y):
            l, g = jax.value_and_grad(loss)(p, x, y); out, ns = dict(p), {}
            for k in ('a', 'b'):
                L, Rr, QL, QR, m, v = st[k]; L = .95 * L + .05 * g[k] @ g[k].T; Rr = .95 * Rr + .05 * g[k].T @ g[k]; QL = jnp.linalg.qr(L @ QL)[0]; QR = jnp.linalg.qr(Rr @ QR)[0]; gp = QL.T @ g[k] @ QR; m = .9 * m + .1 * g[k]; v = .99 * v + .01 * gp ** 2; out[k] = p[k] - .003 * QL @ ((QL.T @ m @ QR) / jnp.sqrt(v + 1e-8)) @ QR.T; ns[k] = (L, Rr, QL, QR, m, v)
            return out, ns, l
        E = lambda n: np.eye(n, dtype=np.float32)
        add('soap_qr_step', soap, p0, {k: (E(p0[k].shape[0]), E(p0[k].shape[1]), E(p0[k].shape[0]), E(p0[k].shape[1]), np.zeros_like(p0[k]), np.ones_like(p0[k])) for k in 'ab'}, x, y)
        def lb(p, A, b):
            fun = lambda w: optax.logistic_loss(A @ w, b) .mean() + .01 * (w ** 2).sum() if False else jnp.logaddexp(0, -(A @ w) * b).mean() + .01 * (w ** 2).sum()
            tx = optax.lbfgs(memory_size=7, linesearch=optax.scale_by_backtracking_linesearch(15, store_grad=True)); vg = optax.value_and_grad_from_state(fun)
            def st(c, _): w, s = c; v, g = vg(w, state=s); up, s = tx.update(g, s, w, value=v, grad=g, value_fn=fun); return (optax.apply_updates(w, up), s), v
            return lax.scan(st, (p, tx.init(p)), None, length=12)
    @section
    def eqx_():
        class Block(eqx.Module):
            a: eqx.nn.MultiheadAttention; l1: eqx.nn.LayerNorm; l2: eqx.nn.LayerNorm; m: eqx.nn.MLP; r: eqx.nn.RotaryPositionalEmbedding
            def __init__(s, k): k1, k2 = jax.random.split(k); s.a = eqx.nn.MultiheadAttention(4, 52, key=k1); s.l1 = eqx.nn.LayerNorm(52); s.l2 = eqx.nn.LayerNorm(52); s.m = eqx.nn.MLP(52, 52, 140, 1, jax.nn.gelu, key=k2); s.r = eqx.nn.RotaryPositionalEmbedding(12 + 1 - 1 if False else 12)
            def __call__(s, x): h = jax.vmap(s.l1)(x); x = x + s.a(h, h, h, jnp.tril(jnp.ones((len(x), len(x)), bool))); return x + jax.vmap(lambda v: s.m(s.l2(v)))(x)
        class DT(eqx.Module):
            b: list; er: eqx.nn.Linear; es: eqx.nn.Linear; ea: eqx.nn.Embedding; et: eqx.nn.Embedding; o: eqx.nn.Linear
            def __init__(s, k): ks = jax.random.split(k, 8); s.b = [Block(q) for q in ks[:2]]; s.er = eqx.nn.Linear(1, 52, key=ks[3]); s.es = eqx.nn.Linear(11, 52, key=ks[4]); s.ea = eqx.nn.Embedding(6, 52, key=ks[5]); s.et = eqx.nn.Embedding(30, 52, key=ks[6]); s.o = eqx.nn.Linear(52, 6, key=ks[7])
            def __call__(s, r, o, a):
                t = jax.vmap(s.et)(jnp.arange(len(a))); x = jnp.stack([jax.vmap(s.er)(r[:, None]) + t, jax.vmap(s.es)(o) + t, jax.vmap(s.ea)(a) + t], 1).reshape(-1, 52)
                for b in s.b: x = b(x)
                return jax.vmap(s.o)(x[1::3])
        sh = eqx.filter_eval_shape(DT, jax.random.key(0)); arr, st = eqx.partition(sh, lambda v: isinstance(v, jax.ShapeDtypeStruct)); arr = fill(arr); tx = optax.MultiSteps(optax.radam(1e-3), 3)
        def step(a, s, r, o, ac):
            l, g = jax.value_and_grad(lambda a: ce(jax.vmap(eqx.combine(a, st))(r, o, ac), ac))(a); up, s = tx.update(g, s, a); return optax.apply_updates(a, up), s, l
        add('equinox_decision_transformer_step', step, arr, zeros(tx, arr), f(3, 19), f(3, 19, 11), i(6, 3, 19))
        class C1(eqx.Module):
            c: list; n: list; w: eqx.nn.WeightNorm; p: eqx.nn.AdaptiveAvgPool1d; h: eqx.nn.Linear
            def __init__(s, k): ks = jax.random.split(k, 5); s.c = [eqx.nn.Conv1d(a, b, 5, padding=2, stride=2, key=q) for a, b, q in ((4, 22, ks[0]), (22, 34, ks[1]))]; s.n = [eqx.nn.BatchNorm(c, 'b', mode='batch') for c in (22, 34)]; s.w = eqx.nn.WeightNorm(eqx.nn.Conv1d(34, 34, 3, padding=1, key=ks[2])); s.p = eqx.nn.AdaptiveAvgPool1d(3); s.h = eqx.nn.Linear(102, 8, key=ks[3])
            def __call__(s, x, st):
                for c, n in zip(s.c, s.n): x, st = n(c(x), st); x = jax.nn.relu(x)
                return s.h(s.p(x + s.w(x)).reshape(-1)), st
        def mk():
            with jax.ensure_compile_time_eval(): pass
        m, stt = eqx.nn.make_with_state(C1)(jax.random.key(0)); m, stt = jax.tree.map(lambda v: np.asarray(v) if isinstance(v, jax.Array) else v, (m, stt)); ma, ms = eqx.partition(m, eqx.is_array_like if False else (lambda v: isinstance(v, np.ndarray)))
        def bn(a, stt, x, y):
            def loss(a): o, s2 = jax.vmap(eqx.combine(a, ms), axis_name='b', in_axes=(0, None), out_axes=(0, None))(x, stt); return ce(o, y), s2
            return jax.value_and_grad(loss, has_aux=True)(a)
    @section
    def graphs():
        import jraph
        N, E, G = 137, 411, 9
        g = jraph.GraphsTuple(nodes=f(N, 14), edges=f(E, 5), senders=i(N, E), receivers=i(N, E), n_node=np.array([16] * 8 + [9], np.int32), n_edge=np.array([46] * 8 + [43], np.int32), globals=f(G, 3))
        def gat(w, g):
            h = g.nodes
            for W, a in w:
                z = jnp.einsum('nd,dho->nho', h, W); e = jax.nn.leaky_relu((jnp.concatenate([z[g.senders], z[g.receivers]], -1) * a).sum(-1), .2); al = jraph.segment_softmax(e, g.receivers, N); h = jax.nn.elu(jraph.segment_sum(al[..., None] * z[g.senders], g.receivers, N)).reshape(N, -1)
            gi = jnp.repeat(jnp.arange(G), g.n_node, total_repeat_length=N); return jraph.segment_mean(h, gi, G)
        add('gat_two_layers_gradient', jax.grad(lambda w, g: (gat(w, g) ** 2).sum()), [(f(14, 4, 8), f(4, 16)), (f(32, 4, 8, k=.2), f(4, 16))], g)
        def gcn(w, g):
            c = jraph.GraphConvolution(lambda x: x, symmetric_normalization=True, add_self_edges=True)
            for W in w: g = c._replace() if False else c(g._replace(nodes=jax.nn.relu(g.nodes @ W)))
            return jax.nn.log_softmax(g.nodes)
        add('jraph_gcn_gradient', jax.grad(lambda w, g, y: -jnp.take_along_axis(gcn(w, g), y[:, None], 1).mean()), [f(14, 30, k=.3), f(30, 7, k=.2)], g, i(7, N))
        def gnet(p, g):
            up = lambda k: jraph.concatenated_args(lambda x: jax.nn.relu(x @ p[k]))
            n = jraph.GraphNetwork(up('e'), up('n'), up('g'), attention_logit_fn=lambda e, s, r, gl: (e @ p['a']), attention_reduce_fn=lambda e, w: e * w, aggregate_edges_for_nodes_fn=jraph.segment_sum)
            o = n(g); return (o.globals ** 2).sum() + (o.nodes ** 2).mean()
        add('jraph_attention_network_gradient', jax.grad(gnet), dict(e=f(36, 18, k=.2), n=f(14 + 36 + 3, 20, k=.2), g=f(20 + 18 + 3, 10, k=.2), a=f(18, 1)), g)
        def egnn(p, h, x, s, r):
            for q in p:
                d = x[s] - x[r]; d2 = (d ** 2).sum(-1, keepdims=True); m = jax.nn.silu(net(q['e'], jnp.concatenate([h[s], h[r], d2], -1), jax.nn.silu)); m = m * jax.nn.sigmoid(m @ q['a']); x = x + jax.ops.segment_sum(d / (jnp.sqrt(d2 + 1e-8) + 1) * net(q['x'], m, jax.nn.silu), r, len(h)) / len(h); h = h + net(q['h'], jnp.concatenate([h, jax.ops.segment_sum(m, r, len(h))], -1), jax.nn.silu)
            return (h ** 2).mean() + (x ** 2).mean()
        add('egnn_gradient', jax.grad(egnn), [dict(e=mlp(33, 24, 24), a=f(24, 1), x=mlp(24, 24, 1), h=mlp(40, 24, 16)) for _ in range(2)], f(61, 16), f(61, 3), i(61, 403), i(61, 403))
        def energy(p, x, z):
            n = len(z); d = x[:, None] - x[None]; r = jnp.sqrt((d ** 2).sum(-1) + jnp.eye(n)); rb = jnp.exp(-10 * (r[..., None] - jnp.linspace(0, 5, 16)) ** 2); cut = .5 * (jnp.cos(jnp.pi * r / 5) + 1) * (r < 5) * (1 - jnp.eye(n)); h = p['emb'][z]
            for q in p['l']: w = net(q['f'], rb, jax.nn.softplus) * cut[..., None]; h = h + net(q['o'], jnp.einsum('ijc,jc->ic', w, h @ q['i']), jax.nn.softplus)
            return net(p['e'], h, jax.nn.softplus).sum()
        ps = dict(emb=f(6, 26), l=[dict(f=mlp(16, 26, 26), o=mlp(26, 26, 26), i=f(26, 26, k=.2)) for _ in range(2)], e=mlp(26, 13, 1))
        def sch(p, x, z, F): e, fr = jax.vmap(jax.value_and_grad(energy, 1), (None, 0, 0))(p, x, z); return ((fr + F) ** 2).mean() + (e ** 2).mean()
        add('schnet_force_matching_gradient', jax.grad(sch), ps, f(3, 19, 3, k=1.5), i(6, 3, 19), f(3, 19, 3))
    return P
