"""In the idioms of code bases: optimisers, layers, molecules, bodies in contact, solvers of equations, samplers, agents, sound, pictures, quantum circuits."""
import functools
import numpy as np
import ml_dtypes
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4711)
f32, i32, u8, share = R.f32, R.i32, R.u8, R.share
bf16 = ml_dtypes.bfloat16
KEY = np.array([3, 77], np.uint32)


def steps_of_optimisers(jax, add):
    import jax.numpy as jnp
    from jax import lax
    tm = jax.tree.map
    sizes = [24, 64, 64, 10]
    params = {f'layer{i}': dict(kernel=R.weights(a, b), bias=f32(b) * np.float32(.01)) for i, (a, b) in enumerate(zip(sizes, sizes[1:]))}
    x, y = f32(128, 24), i32(10, 128)

    def forward(p, x):
        for i in range(3):
            x = x @ p[f'layer{i}']['kernel'] + p[f'layer{i}']['bias']
            if i < 2:
                x = jax.nn.gelu(x)
        return x

    def loss(p, x, y):
        return -jnp.take_along_axis(jax.nn.log_softmax(forward(p, x)), y[:, None], 1).mean()

    zeros = tm(np.zeros_like, params)
    norm = lambda t: jnp.sqrt(sum(jnp.vdot(a, a) for a in jax.tree.leaves(t)))

    def lion(p, m, x, y):
        g = jax.grad(loss)(p, x, y)
        u = tm(lambda m, g: jnp.sign(.9 * m + .1 * g), m, g)
        return tm(lambda p, u: p - 3e-4 * (u + .1 * p), p, u), tm(lambda m, g: .99 * m + .01 * g, m, g)
    add('lion_step', lion, params, zeros, x, y)

    def lamb(p, m, v, t, x, y):
        g = jax.grad(loss)(p, x, y)
        c = jnp.minimum(1., 1. / (norm(g) + 1e-6))
        g = tm(lambda g: g * c, g)
        m = tm(lambda m, g: .9 * m + .1 * g, m, g)
        v = tm(lambda v, g: .999 * v + .001 * g * g, v, g)
        def one(p, m, v):
            u = m / (1 - .9 ** t) / (jnp.sqrt(v / (1 - .999 ** t)) + 1e-6) + .01 * p
            pn, un = jnp.linalg.norm(p), jnp.linalg.norm(u)
            return p - 1e-3 * jnp.where(pn > 0, jnp.where(un > 0, pn / un, 1.), 1.) * u
        return tm(one, p, m, v), m, v, t + 1
    add('lamb_step', lamb, params, zeros, tm(np.abs, params), np.int32(5), x, y)

    def factored(p, rows, cols, x, y):
        g = jax.grad(loss)(p, x, y)
        out, r2, c2 = {}, {}, {}
        for k in p:
            w = g[k]['kernel']
            s = w * w + 1e-30
            r2[k] = .99 * rows[k] + .01 * s.mean(1)
            c2[k] = .99 * cols[k] + .01 * s.mean(0)
            u = w / jnp.sqrt(r2[k][:, None] * c2[k][None] / r2[k].mean())
            u = u / jnp.maximum(1., jnp.sqrt(jnp.mean(u * u)))
            out[k] = dict(kernel=p[k]['kernel'] - 1e-2 * u * jnp.maximum(1e-3, jnp.sqrt(jnp.mean(p[k]['kernel'] ** 2))), bias=p[k]['bias'] - 1e-2 * g[k]['bias'])
        return out, r2, c2
    add('adafactor_step', factored, params, {k: np.ones(v['kernel'].shape[0], np.float32) for k, v in params.items()}, {k: np.ones(v['kernel'].shape[1], np.float32) for k, v in params.items()}, x, y)

    def inverse_root(a, steps=8):
        # coupled iteration for the inverse fourth root
        n = a.shape[0]
        eye = jnp.eye(n, dtype=a.dtype)
        a = a + 1e-4 * jnp.trace(a) / n * eye
        z = 5 / (2 * jnp.linalg.norm(a))
        def body(c):
            i, m, h, e = c
            t = (1.25 * eye - .25 * m)
            t2 = t @ t
            m2 = t2 @ t2 @ m
            return i + 1, m2, h @ t, jnp.max(jnp.abs(m2 - eye))
        _, _, h, _ = lax.while_loop(lambda c: (c[0] < steps) & (c[3] > 1e-6), body, (0, a * z, eye * z ** .25, jnp.float32(1e9)))
        return h
    def shampoo(w, l, r, x, y):
        g = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
        l, r = .95 * l + g @ g.T, .95 * r + g.T @ g
        u = inverse_root(l) @ g @ inverse_root(r)
        return w - .1 * u * jnp.linalg.norm(g) / jnp.linalg.norm(u), l, r
    add('shampoo_step', shampoo, R.weights(48, 32), np.eye(48, dtype=np.float32), np.eye(32, dtype=np.float32), f32(200, 48), f32(200, 32))

    def muon(p, m, x, y):
        g = jax.grad(loss)(p, x, y)
        m = tm(lambda m, g: .95 * m + g, m, g)
        def orthogonal(g):
            a = g / (jnp.linalg.norm(g) + 1e-7)
            turned = a.shape[0] > a.shape[1]
            a = a.T if turned else a
            for _ in range(5):
                b = a @ a.T
                a = 3.4445 * a + (-4.775 * b + 2.0315 * b @ b) @ a
            return a.T if turned else a
        return tm(lambda p, m, g: p - .02 * (orthogonal(g + .95 * m) if p.ndim == 2 else g), p, m, g), m
    add('muon_step', muon, params, zeros, x, y)

    def sharpness(p, v, x, y):
        g = jax.grad(loss)(p, x, y)
        n = norm(g)
        g2 = jax.grad(loss)(tm(lambda p, g: p + .05 * g / (n + 1e-12), p, g), x, y)
        v = tm(lambda v, g: .9 * v + g, v, g2)
        return tm(lambda p, v: p - .1 * v, p, v), v
    add('sharpness_aware_step', sharpness, params, zeros, x, y)

    def sophia(p, m, h, key, x, y):
        g = jax.grad(loss)(p, x, y)
        key = jax.random.wrap_key_data(key)
        logits = forward(p, x)
        ys = jax.random.categorical(key, logits)
        gh = jax.grad(loss)(p, x, ys)
        h = tm(lambda h, a: .99 * h + .01 * len(y) * a * a, h, gh)
        m = tm(lambda m, g: .96 * m + .04 * g, m, g)
        return tm(lambda p, m, h: p * (1 - 1e-4) - 1e-3 * jnp.clip(m / jnp.maximum(.05 * h, 1e-12), -1, 1), p, m, h), m, h
    add('sophia_step', sophia, params, zeros, zeros, KEY, x, y)

    def accumulated(p, m, v, x, y):
        xs, ys = x.reshape(8, 16, 24), y.reshape(8, 16)
        def micro(c, b):
            l, g = jax.value_and_grad(loss)(p, *b)
            return tm(jnp.add, c, (l, g)), l
        (l, g), ls = lax.scan(micro, (0., tm(jnp.zeros_like, p)), (xs, ys))
        g = tm(lambda g: g / 8, g)
        m2 = tm(lambda m, g: .9 * m + .1 * g, m, g)
        v2 = tm(lambda v, g, m: .999 * v + .001 * (g - m) ** 2 + 1e-16, v, g, m2)
        return tm(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, m2, v2), m2, v2, ls
    add('adabelief_over_micro_batches', accumulated, params, zeros, zeros, x, y)

    def two_loops(w, g, s, yv, k, data):
        a, b = data
        fun = lambda w: jnp.mean(jnp.log1p(jnp.exp(-b * (a @ w)))) + 1e-3 * w @ w
        m = s.shape[0]
        rho = 1 / jnp.maximum(jnp.sum(s * yv, 1), 1e-9)
        def down(c, i):
            q, al = c
            j = (k - 1 - i) % m
            ai = jnp.where(i < k, rho[j] * s[j] @ q, 0.)
            return (q - ai * yv[j], al.at[j].set(ai)), None
        (q, al), _ = lax.scan(down, (g, jnp.zeros(m)), jnp.arange(m))
        q = q * (s[(k - 1) % m] @ yv[(k - 1) % m]) / jnp.maximum(yv[(k - 1) % m] @ yv[(k - 1) % m], 1e-9)
        def up(q, i):
            j = (k + i) % m
            return q + s[j] * (al[j] - rho[j] * yv[j] @ q), None
        q, _ = lax.scan(up, q, jnp.arange(m))
        f0, g0 = jax.value_and_grad(fun)(w)
        slope = g0 @ -q
        t = lax.while_loop(lambda t: (fun(w - t * q) > f0 + 1e-4 * t * slope) & (t > 1e-6), lambda t: t * .5, 1.)
        w2 = w - t * q
        g2 = jax.grad(fun)(w2)
        return w2, g2, s.at[k % m].set(w2 - w), yv.at[k % m].set(g2 - g0), k + 1
    a = f32(300, 40)
    hist = f32(10, 40) * np.float32(.1)
    add('limited_memory_step', two_loops, f32(40) * np.float32(.1), f32(40) * np.float32(.01), hist, hist * 2, np.int32(13), (a, np.sign(f32(300))))

    def lora(frozen, ab, m, v, x, y):
        def net(ab, x):
            h = x.astype(jnp.bfloat16)
            for w, (p, q) in zip(frozen, ab):
                h = jax.nn.silu(h @ w + ((h @ p.astype(jnp.bfloat16)) @ q.astype(jnp.bfloat16)) * 2)
            return jnp.mean((h.astype(jnp.float32) - y) ** 2)
        l, g = jax.value_and_grad(net)(ab, x)
        m = tm(lambda m, g: .9 * m + .1 * g, m, g)
        v = tm(lambda v, g: .99 * v + .01 * g * g, v, g)
        return l, tm(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), ab, m, v)
    frozen = [R.weights(256, 256).astype(bf16) for _ in range(3)]
    ab = [(R.weights(256, 8), f32(8, 256) * np.float32(.1)) for _ in range(3)]
    add('low_rank_adapters_step', lora, frozen, ab, tm(np.zeros_like, ab), tm(np.abs, ab), f32(64, 256), f32(64, 256))

    def maml(p, *tasks):
        def task(p, xs, ys, xq, yq):
            def inner(p, _):
                return tm(lambda p, g: p - .1 * g, p, jax.grad(loss)(p, xs, ys)), None
            return loss(lax.scan(inner, p, None, length=3)[0], xq, yq)
        l, g = jax.value_and_grad(lambda p: jnp.mean(jax.vmap(functools.partial(task, p))(*tasks)))(p)
        return l, tm(lambda p, g: p - .01 * g, p, g)
    add('maml_step', maml, params, f32(4, 10, 24), i32(10, 4, 10), f32(4, 15, 24), i32(10, 4, 15))

    def schedule_free(p, z, v, t, xs, ys):
        def step(c, b):
            p, z, v, t = c
            yk = tm(lambda p, z: .9 * p + .1 * z, p, z)
            g = jax.grad(loss)(yk, *b)
            v = tm(lambda v, g: .99 * v + .01 * g * g, v, g)
            lr = 1e-3 * jnp.minimum(1., t / 10.)
            z = tm(lambda z, g, v: z - lr * g / (jnp.sqrt(v) + 1e-8), z, g, v)
            return (tm(lambda p, z: p + (z - p) / (t + 1.), p, z), z, v, t + 1), norm(g)
        return lax.scan(step, (p, z, v, t), (xs, ys))
    add('schedule_free_epochs', schedule_free, params, params, zeros, np.int32(0), x.reshape(8, 16, 24), y.reshape(8, 16))


def layers(jax, add):
    import jax.numpy as jnp
    from jax import lax
    tm = jax.tree.map

    def norm_step(p, stats, key, x, y):
        key = jax.random.fold_in(jax.random.wrap_key_data(key), 7)
        def net(p):
            h, new = x, []
            for i, (w, g, b) in enumerate(p['convs']):
                h = lax.conv_general_dilated(h, w, (1, 1) if i % 2 == 0 else (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
                mu = h.mean((0, 1, 2)); var = jnp.maximum(0., jnp.mean(h * h, (0, 1, 2)) - mu * mu)
                new.append((.9 * stats[i][0] + .1 * mu, .9 * stats[i][1] + .1 * var))
                h = jax.nn.relu((h - mu) * lax.rsqrt(var + 1e-5) * g + b)
            h = h.mean((1, 2))
            keep = jax.random.bernoulli(key, .8, h.shape)
            h = jnp.where(keep, h / .8, 0.)
            lg = h @ p['out']
            one = jax.nn.one_hot(y, 10) * .9 + .01
            return -(one * jax.nn.log_softmax(lg)).sum(-1).mean(), (new, (lg.argmax(-1) == y).mean())
        (l, (new, acc)), g = jax.value_and_grad(net, has_aux=True)(p)
        return tm(lambda p, g: p - .05 * g, p, g), new, l, acc
    convs = [(f32(3, 3, a, b) * np.float32((9 * a) ** -.5), np.ones(b, np.float32), np.zeros(b, np.float32)) for a, b in ((3, 16), (16, 24), (24, 32))]
    add('batch_norm_dropout_step', norm_step, dict(convs=convs, out=R.weights(32, 10)), [(np.zeros(c, np.float32), np.ones(c, np.float32)) for c in (16, 24, 32)], KEY, f32(16, 24, 24, 3), i32(10, 16))

    def vector_quantised(p, cb, n, s, x):
        def net(p):
            z = jax.nn.relu(x @ p['e0']) @ p['e1']
            d = (z * z).sum(-1, keepdims=True) - 2 * z @ cb.T + (cb * cb).sum(-1)
            idx = jnp.argmin(d, -1)
            q = cb[idx]
            zq = z + lax.stop_gradient(q - z)
            r = jax.nn.relu(zq @ p['d0']) @ p['d1']
            return jnp.mean((r - x) ** 2) + .25 * jnp.mean((lax.stop_gradient(q) - z) ** 2), (z, idx)
        (l, (z, idx)), g = jax.value_and_grad(net, has_aux=True)(p)
        one = jax.nn.one_hot(idx, cb.shape[0])
        n = .99 * n + .01 * one.sum(0)
        s = .99 * s + .01 * one.T @ z
        tot = n.sum()
        cb = s / ((n + 1e-5) / (tot + len(n) * 1e-5) * tot)[:, None]
        usage = one.mean(0)
        return tm(lambda p, g: p - 1e-2 * g, p, g), cb, n, s, jnp.exp(-jnp.sum(usage * jnp.log(usage + 1e-10)))
    vp = dict(e0=R.weights(48, 64), e1=R.weights(64, 16), d0=R.weights(16, 64), d1=R.weights(64, 48))
    add('codebook_by_averages_step', vector_quantised, vp, f32(128, 16), np.ones(128, np.float32), f32(128, 16), f32(512, 48))

    def ddim(p, x, key):
        ts = jnp.linspace(1, 0, 11)
        def eps(x, t, c):
            h = jnp.concatenate([x, jnp.broadcast_to(jnp.stack([jnp.sin(t * 10.), jnp.cos(t * 10.)]), (len(x), 2)), jnp.broadcast_to(p['c'][c], (len(x), 8))], -1)
            return jax.nn.silu(jax.nn.silu(h @ p['a']) @ p['b']) @ p['o']
        ab = lambda t: jnp.cos((t + .008) / 1.008 * jnp.pi / 2) ** 2
        def st(c, t2):
            x, k = c
            t, s = t2
            k, k1 = jax.random.split(k)
            e = eps(x, t, 0) + 3. * (eps(x, t, 1) - eps(x, t, 0))
            x0 = (x - jnp.sqrt(1 - ab(t)) * e) / jnp.sqrt(ab(t) + 1e-4)
            q = jnp.quantile(jnp.abs(x0), .95, axis=-1, keepdims=True)
            x0 = jnp.clip(x0, -q, q) / jnp.maximum(q, 1.)
            sg = .3 * jnp.sqrt(jnp.maximum(1 - ab(t) / ab(s), 0.))
            return (jnp.sqrt(ab(s)) * x0 + jnp.sqrt(jnp.maximum(1 - ab(s) - sg ** 2, 0)) * e + sg * jax.random.normal(k1, x.shape), k), None
        return lax.scan(st, (x, jax.random.wrap_key_data(key)), (ts[:-1], ts[1:]))[0][0]
    dp = dict(c=f32(2, 8), a=R.weights(42, 96), b=R.weights(96, 96), o=R.weights(96, 32))
    add('guided_diffusion_sampling', ddim, dp, f32(64, 32), KEY)

    def ffjord(p, x, key):
        e = jax.random.rademacher(jax.random.wrap_key_data(key), x.shape, jnp.float32)
        def f(t, x):
            h = jnp.tanh(x @ p[0] + p[1] * t)
            return jnp.tanh(h @ p[2]) @ p[3]
        def aug(t, s):
            y, vjp = jax.vjp(lambda x: f(t, x), s[0])
            return y, -jnp.sum(vjp(e)[0] * e, -1)
        def st(s, t):
            h = .1
            k1 = aug(t, s); k2 = aug(t + h / 2, tm(lambda a, b: a + h / 2 * b, s, k1)); k3 = aug(t + h / 2, tm(lambda a, b: a + h / 2 * b, s, k2)); k4 = aug(t + h, tm(lambda a, b: a + h * b, s, k3))
            return tm(lambda a, b, c, d, g: a + h / 6 * (b + 2 * c + 2 * d + g), s, k1, k2, k3, k4), None
        (z, dl), _ = lax.scan(jax.checkpoint(st), (x, jnp.zeros(len(x))), jnp.arange(10) * .1)
        return jnp.mean(.5 * jnp.sum(z * z, -1) - dl)
    add('continuous_flow_gradient', jax.grad(ffjord), [R.weights(6, 48), f32(48), R.weights(48, 48), R.weights(48, 6)], f32(96, 6), KEY)

    def selective(p, x):
        B, L, D = x.shape
        N = 8
        xz = x @ p['in']
        u, z = jnp.split(xz, 2, -1)
        u = sum(jnp.pad(u, ((0, 0), (3, 0), (0, 0)))[:, i:i + L] * p['conv'][i] for i in range(4))
        u = jax.nn.silu(u)
        dbc = u @ p['dbc']
        dt = jax.nn.softplus(dbc[..., :1] * p['dt'] + p['dtb'])
        b, c = dbc[..., 1:1 + N], dbc[..., 1 + N:]
        A = -jnp.exp(p['A'])
        da = jnp.exp(dt[..., None] * A)
        db = (dt * u)[..., None] * b[:, :, None]
        def st(h, i):
            a, b_, c_ = i
            h = a * h + b_
            return h, jnp.einsum('bdn,bn->bd', h, c_)
        _, y = lax.scan(st, jnp.zeros((B, u.shape[-1], N)), (da.swapaxes(0, 1), db.swapaxes(0, 1), c.swapaxes(0, 1)))
        return ((y.swapaxes(0, 1) + u * p['D']) * jax.nn.silu(z)) @ p['out']
    mp = {'in': R.weights(32, 128), 'conv': f32(4, 64) * np.float32(.5), 'dbc': R.weights(64, 17), 'dt': f32(64), 'dtb': f32(64), 'A': f32(64, 8), 'D': f32(64), 'out': R.weights(64, 32)}
    add('selective_states', selective, mp, f32(4, 128, 32))
    add('selective_states_gradient', jax.grad(lambda p, x: jnp.mean(selective(p, x) ** 2)), mp, f32(4, 64, 32))

    def s4d(p, x):
        L = x.shape[1]
        dt = jnp.exp(p['ldt'])[:, None]
        A = -jnp.exp(p['lre']) + 1j * p['im']
        dA = A * dt
        C = (p['cr'] + 1j * p['ci']) * (jnp.exp(dA) - 1) / A
        K = 2 * jnp.einsum('hn,hnl->hl', C, jnp.exp(dA[..., None] * jnp.arange(L))).real
        y = jnp.fft.irfft(jnp.fft.rfft(x.swapaxes(1, 2), 2 * L) * jnp.fft.rfft(K, 2 * L), 2 * L)[..., :L].swapaxes(1, 2) + x * p['D']
        a, b = jnp.split(jax.nn.gelu(y) @ p['w'], 2, -1)
        return a * jax.nn.sigmoid(b)
    s4p = dict(ldt=f32(32) - 3, lre=f32(32, 16) * np.float32(.3), im=np.tile(np.pi * np.arange(16, dtype=np.float32), (32, 1)), cr=f32(32, 16), ci=f32(32, 16), D=f32(32), w=R.weights(32, 64))
    add('diagonal_state_space_gradient', jax.grad(lambda p, x: jnp.mean(s4d(p, x) ** 2)), s4p, f32(4, 256, 32))

    def rwkv(p, x):
        T, D = x.shape
        prev = jnp.concatenate([jnp.zeros((1, D)), x[:-1]])
        mix = lambda m: x * m + prev * (1 - m)
        k, v, r = mix(p['mk']) @ p['k'], mix(p['mv']) @ p['v'], jax.nn.sigmoid(mix(p['mr']) @ p['r'])
        def st(c, kv):
            a, b, o = c
            k, v = kv
            no = jnp.maximum(o, p['u'] + k)
            e1, e2 = jnp.exp(o - no), jnp.exp(p['u'] + k - no)
            w = (e1 * a + e2 * v) / (e1 * b + e2)
            no = jnp.maximum(o + p['w'], k)
            e1, e2 = jnp.exp(o + p['w'] - no), jnp.exp(k - no)
            return (e1 * a + e2 * v, e1 * b + e2, no), w
        _, w = lax.scan(st, (jnp.zeros(D), jnp.zeros(D), jnp.full(D, -1e38)), (k, v))
        return (r * w) @ p['o']
    rp = dict(mk=share(64), mv=share(64), mr=share(64), k=R.weights(64, 64), v=R.weights(64, 64), r=R.weights(64, 64), o=R.weights(64, 64), u=f32(64), w=-np.exp(f32(64)))
    add('decayed_keys_and_values', rwkv, rp, f32(256, 64))
    add('decayed_keys_and_values_gradient', jax.grad(lambda p, x: jnp.mean(jax.vmap(lambda x: rwkv(p, x))(x) ** 2)), rp, f32(4, 96, 64))

    def ragged(p, x):
        T, D = x.shape
        E = p['gate'].shape[1]
        w, e = lax.top_k(jax.nn.softmax(x @ p['gate']), 2)
        w = w / w.sum(-1, keepdims=True)
        flat = e.reshape(-1)
        order = jnp.argsort(flat, stable=True)
        sizes = jnp.bincount(flat, length=E).astype(jnp.int32)
        xs = x[order // 2]
        h = jax.nn.silu(lax.ragged_dot(xs, p['up'], sizes)) * lax.ragged_dot(xs, p['gp'], sizes)
        y = lax.ragged_dot(h, p['down'], sizes)
        y = y[jnp.argsort(order)].reshape(T, 2, D)
        aux = E * jnp.sum(jnp.mean(jax.nn.one_hot(e[:, 0], E), 0) * jnp.mean(jax.nn.softmax(x @ p['gate']), 0))
        return jnp.einsum('tkd,tk->td', y, w), aux
    ep = dict(gate=f32(48, 8), up=R.weights(8, 48, 96), gp=R.weights(8, 48, 96), down=R.weights(8, 96, 48))
    add('experts_sorted_and_ragged', ragged, ep, f32(192, 48))
    add('experts_sorted_and_ragged_gradient', jax.grad(lambda p, x: jnp.mean(ragged(p, x)[0] ** 2) + .01 * ragged(p, x)[1]), ep, f32(192, 48))

    def expert_choice(p, x):
        s = jax.nn.softmax(x @ p['gate'], -1)
        g, i = lax.top_k(s.T, 32)
        xs = x[i]
        h = jax.nn.gelu(jnp.einsum('ekd,edf->ekf', xs, p['up']))
        y = jnp.einsum('ekf,efd->ekd', h, p['down']) * g[..., None]
        return jnp.zeros_like(x).at[i.reshape(-1)].add(y.reshape(-1, x.shape[1]))
    add('tokens_chosen_by_experts_gradient', jax.grad(lambda p, x: jnp.mean(expert_choice(p, x) ** 2)), ep, f32(192, 48))

    def decode(p, cache, pos, tok):
        # one token of each request through three layers: rotary positions, grouped heads, int8 cache with scales
        B, H, G, Dh = tok.shape[0], 8, 2, 16
        x = p['emb'][tok]
        inv = 1. / 10000 ** (jnp.arange(0, Dh, 2) / Dh)
        ang = pos[:, None] * inv
        def rot(a):
            a1, a2 = a[..., ::2], a[..., 1::2]
            c, s = jnp.cos(ang)[:, None], jnp.sin(ang)[:, None]
            return jnp.stack([a1 * c - a2 * s, a1 * s + a2 * c], -1).reshape(a.shape)
        rms = lambda x: x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
        new = []
        for w, (kq, ks, vq, vs) in zip(p['layers'], cache):
            h = rms(x)
            q, k, v = rot((h @ w['q']).reshape(B, H, Dh)), rot((h @ w['k']).reshape(B, G, Dh)), (h @ w['v']).reshape(B, G, Dh)
            def put(c, sc, a):
                s = jnp.max(jnp.abs(a), -1, keepdims=True) / 127.
                i8 = jnp.clip(jnp.round(a / s), -127, 127).astype(jnp.int8)
                up = jax.vmap(lambda c, a, p: lax.dynamic_update_slice(c, a[:, None], (0, p, 0)))
                return up(c, i8, pos), up(sc, s, pos)
            kq, ks = put(kq, ks, k); vq, vs = put(vq, vs, v)
            new.append((kq, ks, vq, vs))
            qg = q.reshape(B, G, H // G, Dh)
            sc = jnp.einsum('bghd,bgld->bghl', qg, kq.astype(jnp.float32) * ks) / Dh ** .5
            sc = jnp.where(jnp.arange(kq.shape[2]) <= pos[:, None, None, None], sc, -1e30)
            o = jnp.einsum('bghl,bgld->bghd', jax.nn.softmax(sc, -1), vq.astype(jnp.float32) * vs).reshape(B, H * Dh)
            x = x + o @ w['o']
            h = rms(x)
            x = x + (jax.nn.silu(h @ w['g']) * (h @ w['u'])) @ w['d']
        return rms(x) @ p['emb'].T, new, pos + 1
    D = 128
    mk = lambda: dict(q=R.weights(D, 128), k=R.weights(D, 32), v=R.weights(D, 32), o=R.weights(128, D), g=R.weights(D, 256), u=R.weights(D, 256), d=R.weights(256, D))
    cache = [(R.randint(-127, 128, (4, 2, 256, 16)).astype(np.int8), share(4, 2, 256, 1), R.randint(-127, 128, (4, 2, 256, 16)).astype(np.int8), share(4, 2, 256, 1)) for _ in range(3)]
    add('token_with_cache_of_bytes', decode, dict(emb=f32(512, D) * np.float32(.1), layers=[mk() for _ in range(3)]), cache, np.array([5, 100, 200, 255], np.int32), i32(512, 4))

    def speculate(pt, pd, drafts, key):
        k = jax.random.wrap_key_data(key)
        k1, k2 = jax.random.split(k)
        n = drafts.shape[1]
        pt, pd = jax.nn.softmax(pt), jax.nn.softmax(pd)
        a = jnp.take_along_axis(pt[:, :n], drafts[..., None], -1)[..., 0]
        b = jnp.take_along_axis(pd, drafts[..., None], -1)[..., 0]
        ok = jax.random.uniform(k1, a.shape) < jnp.minimum(1., a / b)
        m = jnp.cumprod(ok.astype(jnp.int32), 1).sum(1)
        res = jnp.maximum(pt[:, :n] - pd, 0)
        res = jnp.concatenate([res / (res.sum(-1, keepdims=True) + 1e-9), pt[:, n:]], 1)
        row = jnp.take_along_axis(res, m[:, None, None], 1)[:, 0]
        t = jax.random.categorical(k2, jnp.log(row + 1e-20))
        pos = jnp.arange(n + 1)
        return jnp.where(pos < m[:, None], jnp.pad(drafts, ((0, 0), (0, 1))), jnp.where(pos == m[:, None], t[:, None], -1)), m
    add('drafts_accepted_or_redrawn', speculate, f32(16, 6, 2000), f32(16, 5, 2000), i32(2000, 16, 5), KEY)

    def beams(p, h0):
        K, V, T = 4, 200, 12
        B = h0.shape[0]
        def st(c, t):
            h, tok, lp, seq, done = c
            x = p['e'][tok]
            h = jnp.tanh(x @ p['wx'] + h @ p['wh'])
            l = jax.nn.log_softmax(h @ p['o'])
            l = jnp.where(done[..., None], jnp.where(jnp.arange(V) == 0, 0., -1e9), l)
            s = (lp[..., None] + l).reshape(B, K * V)
            pen = ((5. + t + 1) / 6.) ** .6
            v, i = lax.top_k(s / pen, K)
            src, tok = i // V, i % V
            g = lambda a: jnp.take_along_axis(a, src.reshape(src.shape + (1,) * (a.ndim - 2)), 1)
            seq = g(seq).at[:, :, t].set(tok)
            return (g(h), tok, v * pen, seq, g(done) | (tok == 0)), None
        init = (jnp.repeat(h0[:, None], K, 1), jnp.ones((B, K), jnp.int32), jnp.tile(jnp.array([0., -1e9, -1e9, -1e9]), (B, 1)), jnp.zeros((B, K, T), jnp.int32), jnp.zeros((B, K), bool))
        c, _ = lax.scan(st, init, jnp.arange(T))
        return c[2], c[3]
    add('beams_with_states_reordered', beams, dict(e=f32(200, 48), wx=R.weights(48, 64), wh=R.weights(64, 64), o=f32(64, 200)), f32(6, 64))

    def ncA(p, grid, key):
        def perceive(g):
            sx = jnp.outer(jnp.array([1., 2., 1.]), jnp.array([-1., 0., 1.])) / 8
            k = jnp.stack([jnp.zeros((3, 3)).at[1, 1].set(1.), sx, sx.T], -1)
            k = jnp.tile(k[:, :, None], (1, 1, 1, 12)).reshape(3, 3, 1, 36)
            return lax.conv_general_dilated(g, k, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=12)
        alive = lambda g: lax.reduce_window(g[..., 3:4], -jnp.inf, lax.max, (1, 3, 3, 1), (1, 1, 1, 1), 'SAME') > .1
        def st(g, k):
            pre = alive(g)
            d = jax.nn.relu(perceive(g) @ p['a']) @ p['b']
            g = g + d * jax.random.bernoulli(k, .5, g.shape[:3] + (1,))
            return g * (pre & alive(g)), None
        g, _ = lax.scan(st, grid, jax.random.split(jax.random.wrap_key_data(key), 8))
        return jnp.mean((g[..., :4] - .5) ** 2)
    add('grown_pattern_gradient', jax.value_and_grad(ncA), dict(a=R.weights(36, 48), b=f32(48, 12) * np.float32(.02)), share(4, 24, 24, 12), KEY)

    def world_model(p, a0, key):
        # imagination of a recurrent state-space model with categorical latents and lambda returns
        k = jax.random.wrap_key_data(key)
        def st(c, k):
            h, z = c
            pol = jnp.concatenate([h, z], -1) @ p['pi']
            k1, k2 = jax.random.split(k)
            act = jax.nn.one_hot(jax.random.categorical(k1, pol), 4)
            x = jax.nn.elu(jnp.concatenate([z, act], -1) @ p['in'])
            g = jnp.concatenate([x, h], -1) @ p['gru']
            r, c_, u = jnp.split(g, 3, -1)
            u = jax.nn.sigmoid(u - 1)
            h = u * jnp.tanh(jax.nn.sigmoid(r) * c_) + (1 - u) * h
            lg = (h @ p['pr']).reshape(-1, 8, 8)
            pr = .99 * jax.nn.softmax(lg) + .01 / 8
            s = jax.nn.one_hot(jax.random.categorical(k2, jnp.log(pr)), 8)
            z = (s + pr - lax.stop_gradient(pr)).reshape(-1, 64)
            hz = jnp.concatenate([h, z], -1)
            return (h, z), (hz @ p['rew'], hz @ p['val'], jnp.sum(jax.nn.log_softmax(pol) * act, -1))
        _, (r, v, lp) = lax.scan(st, (a0, jnp.zeros((len(a0), 64))), jax.random.split(k, 12))
        r, v = r[..., 0], v[..., 0]
        def back(R_, i):
            r, v = i
            R_ = r + .99 * (.05 * v + .95 * R_)
            return R_, R_
        _, ret = lax.scan(back, v[-1], (r[:-1], v[1:]), reverse=True)
        adv = lax.stop_gradient((ret - v[:-1]) / jnp.maximum(1., jnp.percentile(ret, 95) - jnp.percentile(ret, 5)))
        return -jnp.mean(lp[:-1] * adv) + jnp.mean((v[:-1] - lax.stop_gradient(ret)) ** 2)
    wp = {'pi': R.weights(112, 4), 'in': R.weights(68, 48), 'gru': R.weights(96, 144), 'pr': R.weights(48, 64), 'rew': R.weights(112, 1), 'val': R.weights(112, 1)}
    add('imagined_rollouts_gradient', jax.grad(world_model), wp, f32(32, 48), KEY)


def molecules(jax, add):
    import jax.numpy as jnp
    from jax import lax

    def harmonics(v):
        x, y, z = v[..., 0], v[..., 1], v[..., 2]
        s3, s5, s15 = 3 ** .5, 5 ** .5, 15 ** .5
        return jnp.stack([jnp.ones_like(x), s3 * x, s3 * y, s3 * z, s15 * x * y, s15 * y * z, s5 / 2 * (3 * z * z - 1), s15 * x * z, s15 / 2 * (x * x - y * y)], -1)
    cg = f32(9, 9, 9) * (share(9, 9, 9) < .12)
    paths = np.stack(np.nonzero(cg), -1).astype(np.int32)

    def tensor_net(p, pos, spec, snd, rcv):
        n = len(pos)
        d = pos[snd] - pos[rcv]
        r = jnp.sqrt((d * d).sum(-1) + 1e-9)
        Y = harmonics(d / r[:, None])
        u = jnp.clip(r / 4., 0, 1)
        cut = 1 - 28 * u ** 6 + 48 * u ** 7 - 21 * u ** 8
        k = jnp.arange(1, 9) * jnp.pi / 4.
        rad = jax.nn.silu((jnp.sin(k * r[:, None]) / r[:, None] * cut[:, None]) @ p['r0']) @ p['r1']
        h = p['emb'][spec][:, None, :] * jnp.eye(9)[0][None, :, None]
        for l in range(2):
            m = jnp.einsum('abc,eau,eb,eu->ecu', cg, h[snd], Y, rad[:, l * 16:(l + 1) * 16])
            a = jax.ops.segment_sum(m, rcv, n) / 8 ** .5
            b = jnp.einsum('abc,nau,nbu->ncu', cg, a, a)
            h = h + jnp.einsum('ncu,uv->ncv', a, p['w'][l, 0]) + jnp.einsum('ncu,uv->ncv', b, p['w'][l, 1])
            gate = jax.nn.sigmoid(h[:, :1])
            h = h * gate
        return jnp.sum(h[:, 0] @ p['out'])
    n, e = 40, 320
    tp = dict(r0=R.weights(8, 32), r1=R.weights(32, 32), emb=f32(5, 16), w=f32(2, 2, 16, 16) * np.float32(.1), out=f32(16))
    snd, rcv = i32(n, e), i32(n, e)
    snd = np.where(snd == rcv, (snd + 1) % n, snd).astype(np.int32)
    add('tensor_products_of_harmonics', tensor_net, tp, f32(n, 3) * 2, i32(5, n), snd, rcv)
    add('forces_by_tensor_products', lambda *a: jax.value_and_grad(tensor_net, 1)(*a), tp, f32(n, 3) * 2, i32(5, n), snd, rcv)
    def sparse_paths(x, y, w):
        vals = jnp.asarray(cg[tuple(paths.T)])
        t = x[:, paths[:, 0]] * y[:, paths[:, 1], None] * (vals[:, None] * w)
        return jnp.zeros_like(x).at[:, paths[:, 2]].add(t)
    add('tensor_product_by_paths', sparse_paths, f32(320, 9, 16), f32(320, 9), f32(16))

    def stillinger(x, box):
        d = x[:, None] - x[None]
        d = d - box * jnp.round(d / box)
        r2 = (d * d).sum(-1) + jnp.eye(len(x))
        r = jnp.sqrt(r2)
        mask = (r < 1.8) & ~jnp.eye(len(x), dtype=bool)
        rs = jnp.where(mask, r, 1.)
        two = jnp.where(mask, 7.05 * (.602 * rs ** -4 - 1) * jnp.exp(jnp.where(mask, 1 / (rs - 1.8 - 1e-3), 0.)), 0.)
        g = jnp.where(mask, jnp.exp(1.2 / jnp.where(mask, rs - 1.8 - 1e-3, -1.)), 0.)
        u = d / r[..., None]
        c = jnp.einsum('ijx,ikx->ijk', u, u)
        three = 21. * g[:, :, None] * g[:, None, :] * (c + 1 / 3) ** 2 * (1 - jnp.eye(len(x)))[None]
        return .5 * two.sum() + .5 * three.sum()
    add('three_body_forces', jax.grad(stillinger), share(48, 3) * 5, np.float32(5))

    def fire(x, box):
        def energy(x):
            d = x[:, None] - x[None]
            d = d - box * jnp.round(d / box)
            r = jnp.sqrt((d * d).sum(-1) + 1e-6)
            return .25 * jnp.sum(jnp.where(r < 1., (1 - r) ** 2, 0.) * (1 - jnp.eye(len(x))))
        force = jax.grad(lambda x: -energy(x))
        def st(i, c):
            x, v, dt, al, npos = c
            f = force(x)
            v = v + dt * f
            fn, vn = jnp.sqrt(jnp.sum(f * f)) + 1e-9, jnp.sqrt(jnp.sum(v * v)) + 1e-9
            P = jnp.sum(f * v)
            v = (1 - al) * v + al * f / fn * vn
            npos = jnp.where(P >= 0, npos + 1, 0)
            dt2 = jnp.where(P >= 0, jnp.where(npos > 5, jnp.minimum(dt * 1.1, .4), dt), dt * .5)
            al2 = jnp.where(P >= 0, jnp.where(npos > 5, al * .99, al), .1)
            v = jnp.where(P >= 0, v, 0.)
            return (x + dt2 * v) % box, v, dt2, al2, npos
        out = lax.fori_loop(0, 40, st, (x, jnp.zeros_like(x), .1, .1, 0))
        return out[0], energy(out[0])
    add('relaxed_by_inertia', fire, share(64, 2) * 7, np.float32(7))

    def nose(x, v, xi, pxi):
        def force(x):
            d = x[:, None] - x[None]
            d = d - 6. * jnp.round(d / 6.)
            r2 = (d * d).sum(-1) + jnp.eye(len(x)) * 1e3
            s = jnp.where(r2 < 6.25, 1 / r2, 0.) ** 3
            return ((48 * s * (s - .5) / r2)[..., None] * d).sum(1)
        Q, kT, dt = jnp.array([3., 1., 1.]), 1., .002
        def chain(v, xi, p):
            ke = .5 * jnp.sum(v * v)
            def G(i, p, ke):
                return jnp.where(i == 0, 2 * ke - 3 * len(x) * kT, p[i - 1] ** 2 / Q[i - 1] - kT)
            for i in (2, 1, 0):
                s = jnp.exp(-dt / 8 * p[i + 1] / Q[i + 1]) if i < 2 else 1.
                p = p.at[i].set((p[i] * s + dt / 4 * G(i, p, ke)) * s)
            sc = jnp.exp(-dt / 2 * p[0] / Q[0])
            ke = ke * sc * sc
            xi = xi + dt / 2 * p / Q
            for i in (0, 1, 2):
                s = jnp.exp(-dt / 8 * p[i + 1] / Q[i + 1]) if i < 2 else 1.
                p = p.at[i].set((p[i] * s + dt / 4 * G(i, p, ke)) * s)
            return v * sc, xi, p
        def st(c, _):
            x, v, xi, p, f = c
            v, xi, p = chain(v, xi, p)
            v = v + dt / 2 * f
            x = (x + dt * v) % 6.
            f = force(x)
            v, xi, p = chain(v + dt / 2 * f, xi, p)
            return (x, v, xi, p, f), .5 * jnp.sum(v * v)
        return lax.scan(st, (x, v, xi, pxi, force(x)), None, length=30)
    lattice = np.stack(np.meshgrid(*[np.arange(4)] * 3), -1).reshape(-1, 3).astype(np.float32) * np.float32(1.5)
    add('chains_of_thermostats', nose, lattice + f32(64, 3) * np.float32(.05), f32(64, 3), np.zeros(3, np.float32), np.zeros(3, np.float32))

    def cell_list(x):
        # neighbour table by cells of fixed capacity
        n, G, cap, K = len(x), 6, 12, 24
        c = jnp.clip((x / 10 * G).astype(jnp.int32), 0, G - 1)
        h = (c[:, 0] * G + c[:, 1]) * G + c[:, 2]
        o = jnp.argsort(h)
        hs = h[o]
        first = jnp.searchsorted(hs, jnp.arange(G ** 3))
        slot = jnp.arange(n) - first[hs]
        cells = jnp.full((G ** 3, cap), n).at[hs, slot].set(o, mode='drop').reshape(G, G, G, cap)
        around = jnp.concatenate([jnp.roll(cells, (a, b, c), (0, 1, 2)) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)], -1)
        cand = around.reshape(G ** 3, -1)[h]
        xp = jnp.concatenate([x, jnp.full((1, 3), 1e6)])
        d = x[:, None] - xp[cand]
        d = d - 10. * jnp.round(d / 10.)
        ok = ((d * d).sum(-1) < 1.6 ** 2) & (cand < n) & (cand != jnp.arange(n)[:, None])
        rank = jnp.cumsum(ok, 1) - 1
        tab = jnp.full((n, K), n).at[jnp.arange(n)[:, None], jnp.where(ok, rank, K)].set(cand, mode='drop')
        return tab, ok.sum(1).max()
    add('neighbours_by_cells', cell_list, share(500, 3) * 10)

    def ipa(p, s, z, T):
        Rm, t = T
        n, H, P, C = len(s), 4, 4, 16
        q, k, v = ((s @ p[a]).reshape(n, H, C) for a in 'qkv')
        pt = lambda a: jnp.einsum('nij,nhpj->nhpi', Rm, (s @ p[a]).reshape(n, H, P, 3)) + t[:, None, None]
        qp, kp, vp = pt('qp'), pt('kp'), pt('vp')
        d2 = ((qp[:, None] - kp[None]) ** 2).sum((-1, -2))
        a = jnp.einsum('ihc,jhc->ijh', q, k) / C ** .5 + z @ p['b'] - .5 * jax.nn.softplus(p['g']) * (2 / (9 * P)) ** .5 * d2
        a = jax.nn.softmax(a * (1 / 3) ** .5, 1)
        o = jnp.einsum('ijh,jhc->ihc', a, v).reshape(n, -1)
        op = jnp.einsum('nij,nhpi->nhpj', Rm, jnp.einsum('ijh,jhpx->ihpx', a, vp) - t[:, None, None])
        oz = jnp.einsum('ijh,ijc->ihc', a, z).reshape(n, -1)
        f = jnp.concatenate([o, op.reshape(n, -1), jnp.sqrt((op ** 2).sum(-1) + 1e-8).reshape(n, -1), oz], -1)
        s = s + f @ p['o']
        u = s @ p['up']
        qn = jnp.concatenate([jnp.ones((n, 1)), u[:, :3]], -1)
        qn = qn / jnp.linalg.norm(qn, axis=-1, keepdims=True)
        w, x, y, zz = qn.T
        dR = jnp.stack([1 - 2 * (y * y + zz * zz), 2 * (x * y - w * zz), 2 * (x * zz + w * y), 2 * (x * y + w * zz), 1 - 2 * (x * x + zz * zz), 2 * (y * zz - w * x), 2 * (x * zz - w * y), 2 * (y * zz + w * x), 1 - 2 * (x * x + y * y)], -1).reshape(n, 3, 3)
        return s, (Rm @ dR, jnp.einsum('nij,nj->ni', Rm, u[:, 3:]) + t)
    n = 48
    c = 64
    ip = dict(q=R.weights(c, 64), k=R.weights(c, 64), v=R.weights(c, 64), qp=R.weights(c, 48), kp=R.weights(c, 48), vp=R.weights(c, 48), b=R.weights(32, 4), g=f32(4), o=R.weights(64 + 48 + 16 + 128, c), up=R.weights(c, 6) * np.float32(.1))
    Q = np.linalg.qr(R.randn(n, 3, 3))[0].astype(np.float32)
    frames = (Q, f32(n, 3) * 3)
    add('points_attended_in_frames', ipa, ip, f32(n, c), f32(n, n, 32), frames)
    def fape(p, s, z, T, Tt):
        for _ in range(2):
            s, T = ipa(p, s, z, T)
        loc = lambda T: jnp.einsum('nji,nmj->nmi', T[0], T[1][None] - T[1][:, None])
        return jnp.mean(jnp.minimum(jnp.sqrt(((loc(T) - loc(Tt)) ** 2).sum(-1) + 1e-4), 10.))
    add('points_attended_in_frames_gradient', jax.grad(fape), ip, f32(n, c), f32(n, n, 32), frames, (Q[::-1].copy(), f32(n, 3) * 3))

    def evoformer(p, m, z):
        S, N, C = m.shape
        ln = lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        h = ln(m)
        q, k, v, g = ((h @ p[a]).reshape(S, N, 4, 8) for a in ('q', 'k', 'v', 'g'))
        a = jax.nn.softmax(jnp.einsum('sihc,sjhc->shij', q, k) / 8 ** .5 + (ln(z) @ p['zb']).transpose(2, 0, 1)[None], -1)
        m = m + (jnp.einsum('shij,sjhc->sihc', a, v) * jax.nn.sigmoid(g)).reshape(S, N, 32) @ p['mo']
        l, r = ln(m) @ p['l'], ln(m) @ p['r']
        z = z + jnp.einsum('sic,sjd->ijcd', l, r).reshape(N, N, -1) / S @ p['op']
        h = ln(z)
        u, w = (jax.nn.sigmoid(h @ p[a + 'g']) * (h @ p[a]) for a in ('tu', 'tw'))
        z = z + jax.nn.sigmoid(h @ p['tog']) * (ln(jnp.einsum('ikc,jkc->ijc', u, w)) @ p['to'])
        h = ln(z)
        q, k, v = ((h @ p['t' + a]).reshape(N, N, 2, 8) for a in 'qkv')
        a = jax.nn.softmax(jnp.einsum('ijhc,ikhc->ihjk', q, k) / 8 ** .5 + (h @ p['tb']).transpose(2, 0, 1)[None], -1)
        z = z + jnp.einsum('ihjk,ikhc->ijhc', a, v).reshape(N, N, 16) @ p['tao']
        return m, z
    vp = {k: R.weights(*s) for k, s in dict(q=(32, 32), k=(32, 32), v=(32, 32), g=(32, 32), zb=(24, 4), mo=(32, 32), l=(32, 6), r=(32, 6), op=(36, 24), tu=(24, 24), tw=(24, 24), tug=(24, 24), twg=(24, 24), tog=(24, 24), to=(24, 24), tq=(24, 16), tk=(24, 16), tv=(24, 16), tb=(24, 2), tao=(16, 24)).items()}
    add('pairs_and_sequences_block', evoformer, vp, f32(16, 32, 32), f32(32, 32, 24))
    add('pairs_and_sequences_block_gradient', jax.grad(lambda p, m, z: sum(jnp.mean(a ** 2) for a in evoformer(p, m, z))), vp, f32(16, 32, 32), f32(32, 32, 24))


def bodies(jax, add):
    import jax.numpy as jnp
    from jax import lax

    def quat_mul(a, b):
        w, x, y, z = jnp.moveaxis(a, -1, 0); s, t, u, v = jnp.moveaxis(b, -1, 0)
        return jnp.stack([w * s - x * t - y * u - z * v, w * t + x * s + y * v - z * u, w * u - x * v + y * s + z * t, w * v + x * u - y * t + z * s], -1)

    def rotate(q, v):
        u, s = q[..., 1:], q[..., :1]
        return 2 * (u * v).sum(-1, keepdims=True) * u + (s * s - (u * u).sum(-1, keepdims=True)) * v + 2 * s * jnp.cross(u, v)

    corners = jnp.array([[a, b, c] for a in (-.1, .1) for b in (-.1, .1) for c in (-.1, .1)], jnp.float32)

    def step(s, act):
        def sub(c, _):
            x, q, v, w = c
            p = rotate(q[:, None], corners[None])
            vp = v[:, None] + jnp.cross(jnp.broadcast_to(w[:, None], p.shape), p)
            pen = jnp.minimum((x[:, None] + p)[..., 2], 0.)
            fn = jnp.where(pen < 0, -2000. * pen - 20. * vp[..., 2], 0.)
            fn = jnp.maximum(fn, 0.)
            vt = vp[..., :2]
            ft = -jnp.minimum(fn[..., None] * .8, 50. * jnp.linalg.norm(vt + 1e-6, axis=-1, keepdims=True)) * vt / (jnp.linalg.norm(vt + 1e-6, axis=-1, keepdims=True))
            f = jnp.concatenate([ft, fn[..., None]], -1)
            F, T = f.sum(1) + jnp.array([0, 0, -9.81]) + act, jnp.cross(p, f).sum(1)
            # springs between following bodies
            dx = x[1:] - x[:-1]
            l = jnp.sqrt((dx * dx).sum(-1, keepdims=True) + 1e-9)
            sf = 100. * (l - .3) * dx / l
            F = F.at[:-1].add(sf).at[1:].add(-sf)
            v, w = v + .002 * F, w + .1 * T
            q = q + .001 * quat_mul(jnp.concatenate([jnp.zeros_like(w[:, :1]), w], -1), q)
            q = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
            return (x + .002 * v, q, v, w), None
        for _ in range(2):
            s, _ = sub(s, None)
        return s, s[0][:, 2].sum()
    q0 = f32(32, 6, 4)
    q0 /= np.linalg.norm(q0, axis=-1, keepdims=True)
    state = (f32(32, 6, 3) * np.float32(.3), q0, f32(32, 6, 3), f32(32, 6, 3))
    add('boxes_in_contact', jax.vmap(step), state, f32(32, 6, 3))
    add('boxes_in_contact_gradient', jax.grad(lambda a, s: lax.scan(step, s, a)[1].sum()), f32(5, 6, 3), jax.tree.map(lambda a: a[0], state))

    def constrained(M, J, a0, aref, D):
        # contact forces as in smooth convex models: Newton steps with a line search on the cost
        def cost(a):
            r = J @ a - aref
            return .5 * (a - a0) @ M @ (a - a0) + .5 * jnp.sum(D * jnp.where(r < 0, r, 0.) ** 2)
        def body(c):
            a, i, _ = c
            r = J @ a - aref
            act = (r < 0) * D
            g = M @ (a - a0) + J.T @ (act * r)
            H = M + (J.T * act) @ J
            p = -jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(H), g)
            def ls(t, _):
                rr = J @ (a + t * p) - aref
                ac = (rr < 0) * D
                d1 = p @ M @ (a + t * p - a0) + (J @ p) @ (ac * rr)
                d2 = p @ M @ p + (J @ p) @ (ac * (J @ p))
                return t - d1 / (d2 + 1e-12), None
            t, _ = lax.scan(ls, 1., None, length=4)
            return a + t * p, i + 1, jnp.linalg.norm(g)
        a, i, _ = lax.while_loop(lambda c: (c[1] < 12) & (c[2] > 1e-5), body, (a0, 0, jnp.float32(1e9)))
        return a
    A = f32(16, 18, 18)
    add('contact_forces_by_newton', jax.vmap(constrained), A @ A.transpose(0, 2, 1) / 18 + np.eye(18, dtype=np.float32), f32(16, 30, 18), f32(16, 18), f32(16, 30), share(16, 30) + 1)

    parent = [-1, 0, 1, 0, 3]
    def composite(q, qd):
        # mass matrix and bias of a tree of hinges in spatial vectors
        n = len(parent)
        def xform(q, i):
            c, s = jnp.cos(q), jnp.sin(q)
            E = jnp.stack([jnp.stack([c, s, jnp.zeros_like(c)]), jnp.stack([-s, c, jnp.zeros_like(c)]), jnp.array([0., 0., 1.])]) if i % 2 == 0 else jnp.stack([jnp.array([1., 0., 0.]), jnp.stack([jnp.zeros_like(c), c, s]), jnp.stack([jnp.zeros_like(c), -s, c])])
            r = jnp.array([0., 0., -.3])
            rx = jnp.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
            return jnp.block([[E, jnp.zeros((3, 3))], [-E @ rx, E]])
        S = [jnp.eye(6)[2 if i % 2 == 0 else 0] for i in range(n)]
        I0 = jnp.diag(jnp.array([.02, .02, .01, 1., 1., 1.]))
        X = [xform(q[i], i) for i in range(n)]
        def crm(v):
            w, u = v[:3], v[3:]
            sk = lambda a: jnp.array([[0., 0, 0], [0, 0, 0], [0, 0, 0]]).at[0, 1].set(-a[2]).at[0, 2].set(a[1]).at[1, 0].set(a[2]).at[1, 2].set(-a[0]).at[2, 0].set(-a[1]).at[2, 1].set(a[0])
            return jnp.block([[sk(w), jnp.zeros((3, 3))], [sk(u), sk(w)]])
        v, a, f, Ic = [None] * n, [None] * n, [None] * n, [I0] * n
        for i in range(n):
            p = parent[i]
            vj = S[i] * qd[i]
            v[i] = vj if p < 0 else X[i] @ v[p] + vj
            a[i] = X[i] @ (jnp.array([0., 0, 0, 0, 0, 9.81]) if p < 0 else a[p]) + crm(v[i]) @ vj
            f[i] = I0 @ a[i] - crm(v[i]).T @ (I0 @ v[i])
        b = [None] * n
        M = jnp.zeros((n, n))
        for i in reversed(range(n)):
            b[i] = S[i] @ f[i]
            p = parent[i]
            if p >= 0:
                f[p] = f[p] + X[i].T @ f[i]
                Ic[p] = Ic[p] + X[i].T @ Ic[i] @ X[i]
        for i in range(n):
            g = Ic[i] @ S[i]
            M = M.at[i, i].set(S[i] @ g)
            j = i
            while parent[j] >= 0:
                g = X[j].T @ g
                j = parent[j]
                m = S[j] @ g
                M = M.at[i, j].set(m).at[j, i].set(m)
        return jnp.linalg.solve(M, -jnp.stack(b))
    add('accelerations_of_a_tree', jax.vmap(composite), f32(64, 5), f32(64, 5))
    add('accelerations_of_one_tree_jacobian', jax.jacfwd(composite), f32(5), f32(5))

    def mpm(x, v, C, J, key):
        n, g, dt = len(x), 32, 2e-4
        def st(c, _):
            x, v, C, J = c
            base = (x * g - .5).astype(jnp.int32)
            fx = x * g - base
            w = [.5 * (1.5 - fx) ** 2, .75 - (fx - 1) ** 2, .5 * (fx - .5) ** 2]
            stress = -dt * 400. * (J - 1)[:, None, None] * jnp.eye(2) * 4 * g * g * (1 / g * .5) ** 2
            aff = stress + (1 / g * .5) ** 2 * C
            m, mv = jnp.zeros((g, g)), jnp.zeros((g, g, 2))
            for i in range(3):
                for j in range(3):
                    dp = (jnp.array([i, j]) - fx) / g
                    ww = w[i][:, 0] * w[j][:, 1]
                    at = (base[:, 0] + i, base[:, 1] + j)
                    mv = mv.at[at].add(ww[:, None] * ((1 / g * .5) ** 2 * v + jnp.einsum('nij,nj->ni', aff, dp)), mode='drop')
                    m = m.at[at].add(ww * (1 / g * .5) ** 2, mode='drop')
            gv = jnp.where(m[..., None] > 0, mv / jnp.maximum(m, 1e-12)[..., None], 0.) - jnp.array([0., dt * 9.8])
            ii = jnp.arange(g)
            gx = jnp.where((ii < 3)[:, None], jnp.maximum(gv[..., 0], 0), jnp.where((ii > g - 4)[:, None], jnp.minimum(gv[..., 0], 0), gv[..., 0]))
            gy = jnp.where((ii < 3)[None], jnp.maximum(gv[..., 1], 0), jnp.where((ii > g - 4)[None], jnp.minimum(gv[..., 1], 0), gv[..., 1]))
            gv = jnp.stack([gx, gy], -1)
            nv, nC = jnp.zeros_like(v), jnp.zeros_like(C)
            for i in range(3):
                for j in range(3):
                    dp = (jnp.array([i, j]) - fx) / g
                    ww = w[i][:, 0] * w[j][:, 1]
                    gg = gv[base[:, 0] + i, base[:, 1] + j]
                    nv = nv + ww[:, None] * gg
                    nC = nC + 4 * g * g * ww[:, None, None] * gg[:, :, None] * dp[:, None]
            return (x + dt * nv, nv, nC, J * (1 + dt * jnp.trace(nC, axis1=1, axis2=2))), None
        return lax.scan(st, (x, v, C, J), None, length=10)[0]
    add('material_points', mpm, share(1500, 2) * np.float32(.4) + np.float32(.2), f32(1500, 2), f32(1500, 2, 2), np.ones(1500, np.float32), KEY)

    def sph(x, v):
        h = .12
        n = len(x)
        key = jnp.floor(x / h).astype(jnp.int32)
        hsh = (key[:, 0] * 73856093 ^ key[:, 1] * 19349663) & 1023
        o = jnp.argsort(hsh)
        x, v, key, hsh = x[o], v[o], key[o], hsh[o]
        start = jnp.searchsorted(hsh, jnp.arange(1024))
        offs = jnp.array([[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)])
        nk = key[:, None] + offs
        nh = (nk[..., 0] * 73856093 ^ nk[..., 1] * 19349663) & 1023
        j = jnp.minimum(start[nh][..., None] + jnp.arange(16), n - 1)
        ok = (hsh[j] == nh[..., None]) & (key[j] == nk[:, :, None]).all(-1)
        j, ok = j.reshape(n, -1), ok.reshape(n, -1)
        d = x[:, None] - x[j]
        r2 = (d * d).sum(-1)
        w = jnp.where(ok & (r2 < h * h), (h * h - r2) ** 3, 0.)
        rho = 315 / (64 * jnp.pi * h ** 9) * w.sum(1) * .02
        P = 50. * (rho - 1000.)
        r = jnp.sqrt(r2 + 1e-9)
        near = ok & (r2 < h * h) & (r2 > 0)
        fp = jnp.where(near, 45 / (jnp.pi * h ** 6) * (h - r) ** 2 * (P[:, None] + P[j]) / (2 * rho[j] + 1e-6), 0.)[..., None] * d / r[..., None]
        fv = jnp.where(near, 45 / (jnp.pi * h ** 6) * (h - r) / (rho[j] + 1e-6), 0.)[..., None] * (v[j] - v[:, None])
        a = .02 * (fp + .1 * fv).sum(1) / (rho[:, None] + 1e-6) - jnp.array([0., 9.8])
        v = v + 1e-4 * a
        x = x + 1e-4 * v
        out = (x < 0) | (x > 2)
        return jnp.clip(x, 0, 2), jnp.where(out, -.5 * v, v)
    add('fluid_by_hashed_cells', sph, share(800, 2) * 2, f32(800, 2))


def equations(jax, add):
    import jax.numpy as jnp
    from jax import lax
    tm = jax.tree.map
    TS = [[.161], [-.008480655492356989, .335480655492357], [2.8971530571054935, -6.359448489975075, 4.3622954328695815], [5.325864828439257, -11.748883564062828, 7.4955393428898365, -.09249506636175525], [5.86145544294642, -12.92096931784711, 8.159367898576159, -.071584973281401, -.028269050394068383], [.09646076681806523, .01, .4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774]]
    TE = [.001780011052226, .000816434459657, -.007880878010262, .144711007173263, -.582357165452555, .458082105929187, -1 / 66]

    def tsit(f, y0, ts, rtol):
        def cond(s):
            return (s['t'] < ts[-1]) & (s['n'] < 400)
        def body(s):
            t, y, h = s['t'], s['y'], jnp.minimum(s['h'], ts[-1] - s['t'])
            ks = [s['k']]
            for row in TS:
                ks.append(f(y + h * sum(a * k for a, k in zip(row, ks))))
            y1 = y + h * sum(a * k for a, k in zip(TS[-1], ks))
            err = h * sum(e * k for e, k in zip(TE, ks))
            sc = rtol * (1 + jnp.maximum(jnp.abs(y), jnp.abs(y1)))
            e = jnp.sqrt(jnp.mean((err / sc) ** 2))
            ok = e < 1
            fac = jnp.clip(.9 * jnp.maximum(e, 1e-10) ** (-.7 / 5) * jnp.maximum(s['e'], 1e-10) ** (.4 / 5), .2, 10.)
            th = jnp.clip((ts - t) / h, 0., 1.)[:, None]
            hit = (ts > t) & (ts <= t + h) & ok
            h00 = (1 + 2 * th) * (1 - th) ** 2; h10 = th * (1 - th) ** 2; h01 = th ** 2 * (3 - 2 * th); h11 = th ** 2 * (th - 1)
            dense = h00 * y + h10 * h * ks[0] + h01 * y1 + h11 * h * ks[-1]
            return dict(t=jnp.where(ok, t + h, t), y=jnp.where(ok, y1, y), k=jnp.where(ok, ks[-1], ks[0]), h=h * fac, e=jnp.where(ok, e, s['e']), out=jnp.where(hit[:, None], dense, s['out']), n=s['n'] + 1)
        s = lax.while_loop(cond, body, dict(t=ts[0], y=y0, k=f(y0), h=jnp.float32(.01), e=jnp.float32(1.), out=jnp.broadcast_to(y0, (len(ts), len(y0))), n=0))
        return s['out'], s['n']
    lorenz = lambda y: jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])
    ts = np.linspace(0, 1, 17, dtype=np.float32)
    add('adaptive_steps_with_dense_output', lambda y, ts: tsit(lorenz, y, ts, 1e-4), f32(3) * 5, ts)
    add('adaptive_steps_with_dense_output_of_many', jax.vmap(lambda y, ts: tsit(lorenz, y, ts, 1e-4)[0], (0, None)), f32(64, 3) * 5, ts)
    def net(p):
        return lambda y: jnp.tanh(jnp.tanh(y @ p[0] + p[1]) @ p[2]) @ p[3]
    add('adaptive_steps_of_a_network', lambda p, y, ts: tsit(net(p), y, ts, 1e-4), [R.weights(16, 64), f32(64), R.weights(64, 64), R.weights(64, 16)], f32(16), ts * 4)

    def sdirk(y0):
        n = 24
        g = 1 - .5 ** .5
        lap = lambda y: jnp.concatenate([y[1:], y[-1:]]) - 2 * y + jnp.concatenate([y[:1], y[:-1]])
        def f(y):
            a, b = y[:n], y[n:]
            return jnp.concatenate([1 + a * a * b - 4 * a + 20. * lap(a), 3 * a - a * a * b + 20. * lap(b)])
        def stage(y, h):
            lu = jax.scipy.linalg.lu_factor(jnp.eye(2 * n) - h * g * jax.jacfwd(f)(y))
            def newton(base):
                def body(c):
                    k, i, _ = c
                    r = k - f(base + h * g * k)
                    d = jax.scipy.linalg.lu_solve(lu, r)
                    return k - d, i + 1, jnp.sqrt(jnp.mean(d * d))
                return lax.while_loop(lambda c: (c[1] < 8) & (c[2] > 1e-5), body, (f(base), 0, jnp.float32(1.)))[0]
            k1 = newton(y)
            k2 = newton(y + h * (1 - g) * k1)
            return y + h * ((1 - g) * k1 + g * k2)
        def st(y, h):
            y = stage(y, h)
            return y, y[:n].mean()
        return lax.scan(st, y0, jnp.full(10, .05))
    add('stiff_stages_by_newton', sdirk, np.concatenate([1 + np.sin(np.linspace(0, 6, 24)), np.full(24, 3.)]).astype(np.float32))

    def brownian(key, ts):
        k0 = jax.random.wrap_key_data(key)
        def at(t):
            def body(c, _):
                k, s, u, ws, wu = c
                k, kl, kr = jax.random.split(k, 3)
                mid = .5 * (s + u)
                wm = .5 * (ws + wu) + .5 * jnp.sqrt(u - s) * jax.random.normal(k, ws.shape)
                left = t < mid
                pick = lambda a, b: jnp.where(left, a, b)
                return (jax.random.wrap_key_data(pick(jax.random.key_data(kl), jax.random.key_data(kr))), pick(s, mid), pick(mid, u), pick(ws, wm), pick(wm, wu)), None
            (k, s, u, ws, wu), _ = lax.scan(body, (k0, 0., 1., jnp.zeros(3), jax.random.normal(k0, (3,))), None, length=10)
            return ws + (wu - ws) * (t - s) / (u - s)
        w = jax.vmap(at)(ts)
        def heun(y, dw):
            dr = lambda y: -y + jnp.sin(y)
            di = lambda y: .3 * jnp.cos(y)
            h = 1 / 64
            yp = y + dr(y) * h + di(y) * dw
            return y + .5 * (dr(y) + dr(yp)) * h + .5 * (di(y) + di(yp)) * dw, yp
        return lax.scan(heun, jnp.ones(3), jnp.diff(w, axis=0))
    add('paths_from_a_tree_of_keys', brownian, KEY, np.linspace(0, .999, 65, dtype=np.float32))

    def gmres(A, b, m=20):
        n = len(b)
        beta = jnp.linalg.norm(b)
        V = jnp.zeros((m + 1, n)).at[0].set(b / beta)
        H = jnp.zeros((m + 1, m))
        def st(c, j):
            V, H = c
            w = A @ V[j]
            h = V @ w
            w = w - h @ V
            h2 = V @ w
            w = w - h2 @ V
            nw = jnp.linalg.norm(w)
            H = H.at[:, j].set((h + h2).at[j + 1].set(nw))
            return (V.at[j + 1].set(w / (nw + 1e-12)), H), None
        (V, H), _ = lax.scan(st, (V, H), jnp.arange(m))
        q, r = jnp.linalg.qr(H)
        y = jax.scipy.linalg.solve_triangular(r, q[0] * beta)
        return y @ V[:m]
    add('arnoldi_and_least_squares', gmres, np.eye(200, dtype=np.float32) * 4 + f32(200, 200) * np.float32(.1), f32(200))

    def anderson(W, U, b, x):
        m = 5
        f = lambda z: jnp.tanh(z @ W + x @ U + b)
        n = x.shape[0]
        d = W.shape[0]
        X = jnp.zeros((n, m, d)).at[:, 0].set(0.).at[:, 1].set(f(jnp.zeros((n, d))))
        F = jnp.zeros((n, m, d)).at[:, 0].set(f(X[:, 0])).at[:, 1].set(f(X[:, 1]))
        def body(c):
            k, X, F, _ = c
            G = F - X
            A = jnp.einsum('nid,njd->nij', G, G) + 1e-4 * jnp.eye(m)
            used = jnp.arange(m) < k
            A = jnp.where(used[:, None] & used[None], A, jnp.eye(m))
            al = jnp.linalg.solve(A, jnp.broadcast_to(used.astype(jnp.float32)[:, None], (n, m, 1)))[..., 0]
            al = al / al.sum(1, keepdims=True)
            xn = jnp.einsum('nm,nmd->nd', al, F)
            i = k % m
            fn = f(xn)
            return k + 1, X.at[:, i].set(xn), F.at[:, i].set(fn), jnp.linalg.norm(fn - xn) / (1e-5 + jnp.linalg.norm(fn))
        k, X, F, r = lax.while_loop(lambda c: (c[0] < 15) & (c[3] > 1e-4), body, (2, X, F, jnp.float32(1.)))
        return F[:, (k - 1) % m]
    add('fixed_point_by_mixing', anderson, R.weights(48, 48) * np.float32(.6), R.weights(20, 48), f32(48), f32(32, 20))

    def simplex(v):
        u = jnp.sort(v, -1)[..., ::-1]
        c = jnp.cumsum(u, -1) - 1
        k = jnp.sum(u * jnp.arange(1, v.shape[-1] + 1) > c, -1, keepdims=True)
        return jnp.maximum(v - jnp.take_along_axis(c, k - 1, -1) / k, 0)
    def projected(W, A):
        f = lambda W: .5 * jnp.sum((A @ W.T) ** 2) / len(A) - jnp.sum(W * jnp.log(jnp.maximum(W, 0) + 1e-3))
        def st(c, _):
            W, y, t = c
            g = jax.grad(f)(y)
            fy = f(y)
            def ok(s):
                Wn = simplex(y - s * g)
                return f(Wn) <= fy + jnp.sum(g * (Wn - y)) + .5 / s * jnp.sum((Wn - y) ** 2) + 1e-6
            s = lax.while_loop(lambda s: ~ok(s) & (s > 1e-4), lambda s: s * .5, 1.)
            Wn = simplex(y - s * g)
            tn = .5 * (1 + jnp.sqrt(1 + 4 * t * t))
            return (Wn, Wn + (t - 1) / tn * (Wn - W), tn), f(Wn)
        return lax.scan(st, (W, W, 1.), None, length=12)
    add('projected_onto_simplexes', projected, np.full((8, 40), 1 / 40, np.float32), f32(120, 40))

    def spectral(w, n=64):
        k = jnp.fft.fftfreq(n, 1 / n)
        kr = jnp.fft.rfftfreq(n, 1 / n)
        KX, KY = jnp.meshgrid(k, kr, indexing='ij')
        lap = -(KX ** 2 + KY ** 2)
        inv = jnp.where(lap == 0, 0., 1 / jnp.where(lap == 0, 1., lap))
        mask = (jnp.abs(KX) < n / 3) & (jnp.abs(KY) < n / 3)
        def rhs(wh):
            psi = -wh * inv
            u, v = jnp.fft.irfft2(1j * KY * psi), jnp.fft.irfft2(-1j * KX * psi)
            wx, wy = jnp.fft.irfft2(1j * KX * wh), jnp.fft.irfft2(1j * KY * wh)
            return jnp.fft.rfft2(-(u * wx + v * wy)) * mask
        e = jnp.exp(lap * 1e-3 * .01)
        def st(wh, _):
            k1 = rhs(wh)
            k2 = rhs(e * (wh + .01 * k1))
            return e * wh + .005 * (e * k1 + k2), None
        wh, _ = lax.scan(st, jnp.fft.rfft2(w), None, length=4)
        return jnp.fft.irfft2(wh)
    add('vorticity_by_transforms', spectral, f32(64, 64))

    def topology(rho, n=24):
        nx, ny = n, n // 2
        kl = np.random.RandomState(0).rand(8, 8).astype(np.float32)
        kl = jnp.asarray(kl @ kl.T + 4 * np.eye(8, dtype=np.float32))
        nodes = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
        quad = np.stack([nodes[:-1, :-1], nodes[1:, :-1], nodes[1:, 1:], nodes[:-1, 1:]], -1).reshape(-1, 4)
        dof = jnp.asarray(np.stack([2 * quad, 2 * quad + 1], -1).reshape(-1, 8))
        free = jnp.ones(2 * (nx + 1) * (ny + 1)).at[:2 * (ny + 1)].set(0.)
        load = jnp.zeros_like(free).at[-1].set(-1.)
        def solve(r):
            s = 1e-3 + r.reshape(-1) ** 3
            mv = lambda u: free * jnp.zeros_like(u).at[dof].add(s[:, None] * ((u * free)[dof] @ kl)) + (1 - free) * u
            return jax.scipy.sparse.linalg.cg(mv, load, maxiter=60)[0]
        blur = lambda r: lax.reduce_window(jnp.pad(r, 1, mode='edge'), 0., lax.add, (3, 3), (1, 1), 'VALID') / 9
        r = blur(rho)
        u = solve(r)
        ce = jnp.einsum('ea,ab,eb->e', u[dof], kl, u[dof]).reshape(nx, ny)
        dc = -3 * r ** 2 * ce
        def bis(c, _):
            lo, hi = c
            mid = .5 * (lo + hi)
            new = jnp.clip(rho * jnp.sqrt(jnp.maximum(-dc, 0) / mid), jnp.maximum(rho - .2, 0.), jnp.minimum(rho + .2, 1.))
            big = new.mean() > .4
            return (jnp.where(big, mid, lo), jnp.where(big, hi, mid)), None
        (lo, hi), _ = lax.scan(bis, (jnp.float32(1e-9), jnp.float32(1e9)), None, length=50)
        return jnp.clip(rho * jnp.sqrt(jnp.maximum(-dc, 0) / hi), jnp.maximum(rho - .2, 0.), jnp.minimum(rho + .2, 1.)), jnp.sum(ce)
    add('structure_optimised', topology, share(24, 12) * np.float32(.5) + np.float32(.2))

    def pinn(p, x):
        def u(p, x):
            h = x
            for w, b in p[:-1]:
                h = jnp.tanh(h @ w + b)
            return (h @ p[-1][0] + p[-1][1])[0]
        def res(x):
            g = jax.grad(u, 1)(p, x)
            h = jax.hessian(u, 1)(p, x)
            return g[0] + u(p, x) * g[1] - .01 / jnp.pi * h[1, 1]
        return jnp.mean(jax.vmap(res)(x) ** 2)
    add('equation_residuals_gradient', jax.value_and_grad(pinn), [(R.weights(a, b), f32(b)) for a, b in ((2, 32), (32, 32), (32, 32), (32, 1))], f32(256, 2))

    def spherical(f, lmax=31):
        # transform to spherical harmonics by Legendre recurrences along latitudes, Laplacian, back
        nlat, nlon = f.shape
        mu, w = np.polynomial.legendre.leggauss(nlat)
        m = lmax + 1
        P = np.zeros((m, m, nlat))
        P[0, 0] = np.sqrt(.5)
        for l in range(1, m):
            P[l, l] = -np.sqrt((2 * l + 1) / (2 * l)) * np.sqrt(1 - mu ** 2) * P[l - 1, l - 1]
        for l in range(1, m):
            P[l, l - 1] = np.sqrt(2 * l + 1) * mu * P[l - 1, l - 1]
            for k in range(l - 1):
                a = np.sqrt((4 * l * l - 1) / (l * l - k * k)); b = np.sqrt(((l - 1) ** 2 - k * k) / (4 * (l - 1) ** 2 - 1))
                P[l, k] = a * (mu * P[l - 1, k] - b * P[l - 2, k])
        Pj = jnp.asarray(P, jnp.float32)
        fm = jnp.fft.rfft(f, axis=1)[:, :m] / nlon
        c = jnp.einsum('lmj,jm,j->lm', Pj, fm, jnp.asarray(w, jnp.float32))
        l = jnp.arange(m)[:, None]
        c = c * jnp.exp(-l * (l + 1) * 1e-3)
        back = jnp.einsum('lmj,lm->jm', Pj, c)
        return jnp.fft.irfft(jnp.pad(back, ((0, 0), (0, nlon // 2 + 1 - m))) * nlon, nlon, axis=1)
    add('smoothed_on_a_sphere', spherical, f32(48, 96))


def samplers(jax, add):
    import jax.numpy as jnp
    from jax import lax
    tm = jax.tree.map
    X, Y = f32(200, 8), (share(200) < .5).astype(np.float32)

    def hier(q, X, Y, grp):
        mu, ls, z, lt, lam = q['mu'], q['ls'], q['z'], q['lt'], q['lam']
        tau = jnp.exp(lt)
        beta = mu + jnp.exp(ls) * z * lam * tau
        lg = X @ beta + q['a'][grp]
        ll = jnp.sum(Y * jax.nn.log_sigmoid(lg) + (1 - Y) * jax.nn.log_sigmoid(-lg))
        nu = 4.
        t = jnp.sum(-(nu + 1) / 2 * jnp.log1p(q['a'] ** 2 / nu) + lax.lgamma((nu + 1) / 2) - lax.lgamma(nu / 2))
        return ll + t - .5 * jnp.sum(z ** 2) - .5 * mu ** 2 - .5 * ls ** 2 - jnp.sum(jnp.log1p(lam ** 2)) - jnp.log1p(tau ** 2) + lt
    q0 = dict(mu=np.float32(.1), ls=np.float32(-.2), z=f32(8), lt=np.float32(-1), lam=share(8) + 1, a=f32(10))
    grp = i32(10, 200)

    def adapted(q, X, Y, grp, key):
        flat, un = jax.flatten_util.ravel_pytree(q)
        lp = jax.value_and_grad(lambda x: hier(un(x), X, Y, grp))
        n = flat.size
        def st(c, k):
            x, l, g, mean, m2, cnt, le, leb, Hb, t = c
            k1, k2 = jax.random.split(k)
            var = jnp.where(cnt > 5, m2 / jnp.maximum(cnt - 1, 1) + 1e-3, 1.)
            p = jax.random.normal(k1, (n,)) / jnp.sqrt(var)
            eps = jnp.exp(le)
            def leap(s, _):
                x, p, g, _ = s
                p = p + .5 * eps * g
                x = x + eps * var * p
                l, g = lp(x)
                return (x, p + .5 * eps * g, g, l), None
            (xn, pn, gn, ln), _ = lax.scan(leap, (x, p, g, l), None, length=8)
            d = ln - .5 * jnp.sum(pn * pn * var) - l + .5 * jnp.sum(p * p * var)
            acc = jnp.where(jnp.isfinite(d), jnp.minimum(1., jnp.exp(d)), 0.)
            take = jax.random.uniform(k2) < acc
            x, l, g = tm(lambda a, b: jnp.where(take, a, b), (xn, ln, gn), (x, l, g))
            cnt = cnt + 1
            dl = x - mean
            mean = mean + dl / cnt
            m2 = m2 + dl * (x - mean)
            t = t + 1
            Hb = (1 - 1 / (t + 10)) * Hb + (.8 - acc) / (t + 10)
            le = jnp.log(.1) + .5 - jnp.sqrt(t) / .05 * Hb
            eta = t ** -.75
            return (x, l, g, mean, m2, cnt, le, eta * le + (1 - eta) * leb, Hb, t), acc
        l, g = lp(flat)
        z = jnp.zeros(n)
        c, acc = lax.scan(st, (flat, l, g, z, z, 0., jnp.log(.01), jnp.log(.01), 0., 0.), jax.random.split(jax.random.wrap_key_data(key), 6))
        return un(c[3]), c[7], acc
    add('hamiltonian_with_adaptation', adapted, q0, X, Y, grp, KEY)

    def slice_(f, cov, y, key):
        L = jnp.linalg.cholesky(cov + 1e-2 * jnp.eye(len(f)))
        ll = lambda f: -jnp.sum(jnp.exp(f)) + y @ f
        def st(f, k):
            k1, k2, k3, k4 = jax.random.split(k, 4)
            nu = L @ jax.random.normal(k1, f.shape)
            h = ll(f) + jnp.log(jax.random.uniform(k2))
            th = jax.random.uniform(k3) * 2 * jnp.pi
            def body(c):
                th, lo, hi, k, i = c
                k, s = jax.random.split(k)
                lo, hi = jnp.where(th < 0, th, lo), jnp.where(th < 0, hi, th)
                return lo + (hi - lo) * jax.random.uniform(s), lo, hi, k, i + 1
            th, *_ , i = lax.while_loop(lambda c: (ll(f * jnp.cos(c[0]) + nu * jnp.sin(c[0])) < h) & (c[4] < 40), body, (th, th - 2 * jnp.pi, th, k4, 0))
            f = f * jnp.cos(th) + nu * jnp.sin(th)
            return f, i
        return lax.scan(st, f, jax.random.split(jax.random.wrap_key_data(key), 6))
    tt = np.linspace(0, 5, 60)
    add('elliptical_slices', slice_, f32(60) * np.float32(.1), np.exp(-.5 * (tt[:, None] - tt[None]) ** 2).astype(np.float32), R.poisson(2, 60).astype(np.float32), KEY)

    def tempered(x, key):
        like = lambda x: -.5 * jnp.sum((x[1:] - x[:-1] ** 2) ** 2) * 10 - jnp.sum((1 - x) ** 2)
        prior = lambda x: -.5 * jnp.sum(x * x)
        def st(c, k):
            x, lam = c
            k1, k2 = jax.random.split(k)
            ll = jax.vmap(like)(x)
            def ess(d):
                w = jax.nn.softmax(d * ll)
                return 1 / jnp.sum(w * w) - .5 * len(x)
            def bis(i, ab):
                a, b = ab
                m = .5 * (a + b)
                return jnp.where(ess(m) > 0, m, a), jnp.where(ess(m) > 0, b, m)
            d = lax.fori_loop(0, 20, bis, (0., 1. - lam))[0]
            w = jax.nn.softmax(d * ll)
            u = (jnp.arange(len(x)) + jax.random.uniform(k1)) / len(x)
            x = x[jnp.minimum(jnp.searchsorted(jnp.cumsum(w), u), len(x) - 1)]
            lam = lam + d
            def move(x, k):
                e, u = jax.random.split(k)
                xn = x + .2 * jax.random.normal(e, x.shape)
                t = lambda x: jax.vmap(prior)(x) + lam * jax.vmap(like)(x)
                return jnp.where((jnp.log(jax.random.uniform(u, (len(x),))) < t(xn) - t(x))[:, None], xn, x), None
            x, _ = lax.scan(move, x, jax.random.split(k2, 3))
            return (x, lam), d
        return lax.scan(st, (x, 0.), jax.random.split(jax.random.wrap_key_data(key), 6))
    add('tempered_particles', tempered, f32(512, 6), KEY)

    def stein(x, X, Y):
        lp = lambda w: jnp.sum(Y * jax.nn.log_sigmoid(X @ w) + (1 - Y) * jax.nn.log_sigmoid(-X @ w)) - .5 * w @ w
        def st(c, _):
            x, h = c
            g = jax.vmap(jax.grad(lp))(x)
            d2 = ((x[:, None] - x[None]) ** 2).sum(-1)
            bw = jnp.median(d2) / jnp.log(len(x)) + 1e-6
            k = jnp.exp(-d2 / bw)
            phi = (k @ g + 2 / bw * (x * k.sum(1, keepdims=True) - k @ x)) / len(x)
            h = .9 * h + .1 * phi ** 2
            return (x + .05 * phi / (1e-6 + jnp.sqrt(h)), h), None
        return lax.scan(st, (x, jnp.zeros_like(x)), None, length=5)[0][0]
    add('particles_repelled', stein, f32(64, 8), X, Y)

    def lkj(p, x):
        # covariance of correlated effects: partial correlations to a Cholesky factor, and the density of data under it
        d = 6
        z = jnp.tanh(p['z'])
        L = jnp.zeros((d, d)).at[jnp.tril_indices(d, -1)].set(z)
        rem = jnp.sqrt(jnp.cumprod(1 - L ** 2, 1))
        L = (L + jnp.eye(d)) * jnp.concatenate([jnp.ones((d, 1)), rem[:, :-1]], 1)
        L = jnp.exp(p['s'])[:, None] * L
        r = jax.scipy.linalg.solve_triangular(L, (x - p['m']).T, lower=True)
        return .5 * jnp.sum(r * r) + len(x) * jnp.sum(jnp.log(jnp.diag(L))) - jnp.sum(jnp.log1p(-z ** 2 + 1e-6)) + .5 * jnp.sum(p['m'] ** 2)
    add('correlations_by_partials_gradient', jax.value_and_grad(lkj), dict(z=f32(15) * np.float32(.3), s=f32(6) * np.float32(.1), m=f32(6)), f32(300, 6))

    def gp(p, x, y, xs):
        def k(p, a, b):
            d = jnp.sqrt((((a[:, None] - b[None]) / jnp.exp(p['l'])) ** 2).sum(-1) + 1e-12)
            s = 5 ** .5 * d
            return jnp.exp(p['s']) * (1 + s + s * s / 3) * jnp.exp(-s)
        def nll(p):
            K = k(p, x, x) + (jnp.exp(p['n']) + 1e-4) * jnp.eye(len(x))
            c = jnp.linalg.cholesky(K)
            a = jax.scipy.linalg.cho_solve((c, True), y)
            return .5 * y @ a + jnp.sum(jnp.log(jnp.diag(c)))
        l, g = jax.value_and_grad(nll)(p)
        p = tm(lambda p, g: p - 1e-3 * g, p, g)
        c = jnp.linalg.cholesky(k(p, x, x) + (jnp.exp(p['n']) + 1e-4) * jnp.eye(len(x)))
        ks = k(p, x, xs)
        v = jax.scipy.linalg.solve_triangular(c, ks, lower=True)
        m, s = ks.T @ jax.scipy.linalg.cho_solve((c, True), y), jnp.sqrt(jnp.maximum(jnp.exp(p['s']) - (v * v).sum(0), 1e-9))
        u = (m - y.max()) / s
        return l, jnp.argmax(s * (u * jax.scipy.stats.norm.cdf(u) + jax.scipy.stats.norm.pdf(u))), m
    add('process_and_improvement', gp, dict(l=f32(3) * np.float32(.1), s=np.float32(0), n=np.float32(-3)), f32(100, 3), f32(100), f32(150, 3))


def agents(jax, add):
    import jax.numpy as jnp
    from jax import lax
    tm = jax.tree.map

    def ppo(p, env, key):
        k = jax.random.wrap_key_data(key)
        def net(p, o):
            h = jnp.tanh(o @ p['a'])
            h = jnp.tanh(h @ p['b'])
            return h @ p['pi'], (h @ p['v'])[..., 0]
        def env_step(s, a, k):
            x, xd, th, thd = jnp.moveaxis(s, -1, 0)
            f = jnp.where(a == 1, 10., -10.)
            c, sn = jnp.cos(th), jnp.sin(th)
            t = (f + .05 * thd ** 2 * sn) / 1.1
            ta = (9.8 * sn - c * t) / (.5 * (4 / 3 - .1 * c * c / 1.1))
            s2 = jnp.stack([x + .02 * xd, xd + .02 * (t - .05 * ta * c / 1.1), th + .02 * thd, thd + .02 * ta], -1)
            done = (jnp.abs(s2[..., 0]) > 2.4) | (jnp.abs(s2[..., 2]) > .2095)
            fresh = jax.random.uniform(k, s2.shape, minval=-.05, maxval=.05)
            return jnp.where(done[..., None], fresh, s2), done
        def roll(s, k):
            k1, k2 = jax.random.split(k)
            lg, v = net(p, s)
            a = jax.random.categorical(k1, lg)
            lp = jnp.take_along_axis(jax.nn.log_softmax(lg), a[:, None], 1)[:, 0]
            s2, d = env_step(s, a, k2)
            return s2, (s, a, lp, v, jnp.ones_like(v), d)
        k, kr = jax.random.split(k)
        env, (o, a, lp, v, r, d) = lax.scan(roll, env, jax.random.split(kr, 32))
        _, last = net(p, env)
        def gae(c, i):
            g, nv = c
            v, r, d = i
            nd = 1 - d.astype(jnp.float32)
            g = r + .99 * nv * nd - v + .99 * .95 * nd * g
            return (g, v), g
        _, adv = lax.scan(gae, (jnp.zeros_like(last), last), (v, r, d), reverse=True, unroll=4)
        data = tm(lambda x: x.reshape(-1, *x.shape[2:]), (o, a, lp, adv, adv + v))
        def loss(p, b):
            o, a, lp0, adv, ret = b
            lg, v = net(p, o)
            l = jax.nn.log_softmax(lg)
            lp = jnp.take_along_axis(l, a[:, None], 1)[:, 0]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            ratio = jnp.exp(lp - lp0)
            return -jnp.minimum(ratio * adv, jnp.clip(ratio, .8, 1.2) * adv).mean() + .5 * jnp.mean((v - ret) ** 2) + .01 * (jnp.exp(l) * l).sum(-1).mean()
        def epoch(c, k):
            p, m, w = c
            perm = jax.random.permutation(k, 512)
            mb = tm(lambda x: x[perm].reshape(4, 128, *x.shape[1:]), data)
            def one(c, b):
                p, m, w = c
                l, g = jax.value_and_grad(loss)(p, b)
                gn = jnp.sqrt(sum(jnp.sum(a * a) for a in jax.tree.leaves(g)))
                g = tm(lambda a: a * jnp.minimum(1., .5 / (gn + 1e-6)), g)
                m = tm(lambda m, g: .9 * m + .1 * g, m, g); w = tm(lambda w, g: .999 * w + .001 * g * g, w, g)
                return (tm(lambda p, m, w: p - 3e-4 * m / (jnp.sqrt(w) + 1e-5), p, m, w), m, w), l
            return lax.scan(one, (p, m, w), mb)
        z = tm(jnp.zeros_like, p)
        (p, _, _), ls = lax.scan(epoch, (p, z, z), jax.random.split(k, 2))
        return p, env, ls
    pp = dict(a=R.weights(4, 32), b=R.weights(32, 32), pi=R.weights(32, 2) * np.float32(.1), v=R.weights(32, 1))
    add('poles_balanced_by_clipped_policies', ppo, pp, share(16, 4) * np.float32(.1), KEY)

    def c51(p, target, o, a, r, d, o2):
        sup = jnp.linspace(-10, 10, 51)
        q = lambda p, o: (jax.nn.relu(jax.nn.relu(o @ p['a']) @ p['b']) @ p['o']).reshape(-1, 6, 51)
        na = jnp.argmax((jax.nn.softmax(q(p, o2)) * sup).sum(-1), -1)
        pt = jax.nn.softmax(jnp.take_along_axis(q(target, o2), na[:, None, None], 1)[:, 0])
        tz = jnp.clip(r[:, None] + .99 * (1 - d[:, None]) * sup, -10, 10)
        b = (tz + 10) / .4
        w = jnp.clip(1 - jnp.abs(b[:, None, :] - jnp.arange(51)[None, :, None]), 0, 1)
        m = jnp.einsum('bij,bj->bi', w, pt)
        def loss(p):
            lg = jnp.take_along_axis(jax.nn.log_softmax(q(p, o)), a[:, None, None], 1)[:, 0]
            return -(m * lg).sum(-1).mean()
        l, g = jax.value_and_grad(loss)(p)
        return l, tm(lambda p, g: p - 1e-3 * g, p, g), tm(lambda t, p: .995 * t + .005 * p, target, p)
    qp = dict(a=R.weights(20, 64), b=R.weights(64, 64), o=R.weights(64, 306))
    add('distribution_of_returns_step', c51, qp, qp, f32(64, 20), i32(6, 64), f32(64), (share(64) < .1).astype(np.float32), f32(64, 20))

    def sum_tree(tree, idx, pri, key):
        # proportional replay: leaves updated, sums refreshed level by level, then draws by descent
        n = tree.shape[0] // 2
        tree = tree.at[n + idx].set(pri)
        node = n + idx
        for _ in range(int(np.log2(n))):
            node = node // 2
            tree = tree.at[node].set(tree[2 * node] + tree[2 * node + 1])
        u = (jnp.arange(64) + jax.random.uniform(jax.random.wrap_key_data(key), (64,))) / 64 * tree[1]
        def down(c, _):
            i, u = c
            left = tree[2 * i]
            go = u > left
            return (2 * i + go.astype(jnp.int32), jnp.where(go, u - left, u)), None
        (leaf, _), _ = lax.scan(down, (jnp.ones(64, jnp.int32), u), None, length=int(np.log2(n)))
        w = (tree[leaf] / tree[1] * n) ** -.4
        return tree, leaf - n, w / w.max()
    leaves = share(1024)
    tree = np.zeros(2048, np.float32)
    tree[1024:] = leaves
    for j in range(1023, 0, -1):
        tree[j] = tree[2 * j] + tree[2 * j + 1]
    add('replay_by_sums_of_a_tree', sum_tree, tree, i32(1024, 64), share(64), KEY)

    def mcts(p, root, key):
        # batched search with learned dynamics: descent by scores, expansion, values backed up
        B, A, N = root.shape[0], 4, 17
        net = lambda h: (jnp.tanh(h @ p['pi']), jnp.tanh(h @ p['v'])[..., 0])
        emb = jnp.zeros((B, N, root.shape[1])).at[:, 0].set(root)
        pr, v0 = net(root)
        prior = jnp.zeros((B, N, A)).at[:, 0].set(jax.nn.softmax(pr))
        child = jnp.full((B, N, A), -1)
        Nv, W = jnp.zeros((B, N, A)), jnp.zeros((B, N, A))
        par, pact = jnp.full((B, N), -1), jnp.full((B, N), -1)
        bi = jnp.arange(B)
        def sim(c, s):
            emb, prior, child, Nv, W, par, pact = c
            def cond(d):
                return jnp.any(d[3])
            def body(d):
                node, act, _, go = d
                n, w = Nv[bi, node], W[bi, node]
                q = jnp.where(n > 0, w / jnp.maximum(n, 1), 0.)
                u = q + 1.25 * prior[bi, node] * jnp.sqrt(n.sum(-1, keepdims=True) + 1) / (1 + n)
                a = jnp.argmax(u, -1)
                nx = child[bi, node, a]
                a = jnp.where(go, a, act)
                more = go & (nx >= 0)
                return jnp.where(more, nx, node), a, nx, more
            node, act, _, _ = lax.while_loop(cond, body, (jnp.zeros(B, jnp.int32), jnp.zeros(B, jnp.int32), jnp.zeros(B, jnp.int32), jnp.ones(B, bool)))
            h = jnp.tanh(jnp.concatenate([emb[bi, node], jax.nn.one_hot(act, A)], -1) @ p['dyn'])
            pr, v = net(h)
            emb = emb.at[:, s].set(h); prior = prior.at[:, s].set(jax.nn.softmax(pr))
            child = child.at[bi, node, act].set(s); par = par.at[:, s].set(node); pact = pact.at[:, s].set(act)
            def up(d):
                node, v, Nv, W = d
                pn, pa = par[bi, node], pact[bi, node]
                ok = pn >= 0
                v = v * .99
                Nv = Nv.at[bi, jnp.where(ok, pn, 0), pa].add(jnp.where(ok, 1., 0.))
                W = W.at[bi, jnp.where(ok, pn, 0), pa].add(jnp.where(ok, v, 0.))
                return jnp.where(ok, pn, node), v, Nv, W
            _, _, Nv, W = lax.while_loop(lambda d: jnp.any(par[bi, d[0]] >= 0), up, (jnp.full(B, s, jnp.int32), v, Nv, W))
            return (emb, prior, child, Nv, W, par, pact), None
        c, _ = lax.scan(sim, (emb, prior, child, Nv, W, par, pact), jnp.arange(1, N))
        return c[3][:, 0], c[4][:, 0]
    add('searches_with_learned_dynamics', mcts, dict(pi=f32(24, 4), v=R.weights(24, 1), dyn=R.weights(28, 24)), f32(8, 24), KEY)

    def nondominated(F, x, key):
        # ranks by peeling, crowding, tournament, simulated binary crossover, polynomial mutation
        n = len(F)
        dom = (F[:, None] <= F[None]).all(-1) & (F[:, None] < F[None]).any(-1)
        def peel(c):
            rank, cnt, r = c
            front = (cnt == 0) & (rank < 0)
            rank = jnp.where(front, r, rank)
            return rank, cnt - dom[:, :].T.astype(jnp.int32) @ front.astype(jnp.int32), r + 1
        rank, _, _ = lax.while_loop(lambda c: jnp.any(c[0] < 0), peel, (jnp.full(n, -1), dom.sum(0), 0))
        def crowd(f):
            o = jnp.lexsort((f, rank))
            s, rs = f[o], rank[o]
            gap = jnp.concatenate([jnp.full(1, jnp.inf), s[2:] - s[:-2], jnp.full(1, jnp.inf)])
            edge = jnp.concatenate([jnp.ones(1, bool), rs[1:] != rs[:-1]]) | jnp.concatenate([rs[1:] != rs[:-1], jnp.ones(1, bool)])
            return jnp.zeros(n).at[o].set(jnp.where(edge, 1e9, gap))
        cd = jax.vmap(crowd, 1)(F).sum(0)
        k1, k2, k3 = jax.random.split(jax.random.wrap_key_data(key), 3)
        pairs = jax.random.randint(k1, (n, 2), 0, n)
        better = (rank[pairs[:, 0]] < rank[pairs[:, 1]]) | ((rank[pairs[:, 0]] == rank[pairs[:, 1]]) & (cd[pairs[:, 0]] > cd[pairs[:, 1]]))
        par = x[jnp.where(better, pairs[:, 0], pairs[:, 1])]
        a, b = par[::2], par[1::2]
        u = jax.random.uniform(k2, a.shape)
        bt = jnp.where(u < .5, (2 * u) ** (1 / 16), (1 / (2 * (1 - u))) ** (1 / 16))
        ch = jnp.concatenate([.5 * ((1 + bt) * a + (1 - bt) * b), .5 * ((1 - bt) * a + (1 + bt) * b)])
        m = jax.random.uniform(k3, ch.shape)
        dl = jnp.where(m < .5, (2 * m) ** (1 / 21) - 1, 1 - (2 * (1 - m)) ** (1 / 21))
        return jnp.clip(ch + dl, 0, 1), rank
    add('generation_by_fronts', nondominated, share(200, 2), share(200, 10), KEY)

    def elites(grid_x, grid_f, key):
        def st(c, k):
            gx, gf = c
            k1, k2 = jax.random.split(k)
            filled = gf > -jnp.inf
            i = jax.random.categorical(k1, jnp.where(filled, 0., -jnp.inf), shape=(64,))
            x = gx[i] + .1 * jax.random.normal(k2, (64, gx.shape[1]))
            f = -jnp.sum(x * x - 3 * jnp.cos(2 * jnp.pi * x), -1)
            d = jnp.clip(((x[:, :2] + 2) * 4).astype(jnp.int32), 0, 15)
            cell = d[:, 0] * 16 + d[:, 1]
            best = jnp.full(256, -jnp.inf).at[cell].max(f)
            win = (f == best[cell]) & (f > gf[cell])
            to = jnp.where(win, cell, 256)
            return (gx.at[to].set(x, mode='drop'), gf.at[to].set(f, mode='drop')), best.max()
        return lax.scan(st, (grid_x, grid_f), jax.random.split(jax.random.wrap_key_data(key), 15))
    gf = np.where(R.rand(256) < .3, -20 * R.rand(256), -np.inf).astype(np.float32)
    add('elites_of_a_map', elites, f32(256, 6), gf, KEY)


def pictures_and_sound(jax, add):
    import jax.numpy as jnp
    from jax import lax

    def hashed_grid(p, x, dirs, tgt):
        def enc(x):
            out = []
            for l, n in enumerate((8, 13, 21, 34)):
                s = x * n
                b = jnp.floor(s).astype(jnp.uint32)
                f = s - jnp.floor(s)
                v = 0.
                for c in range(8):
                    o = jnp.array([c & 1, c >> 1 & 1, c >> 2 & 1], jnp.uint32)
                    q = b + o
                    h = (q[:, 0] ^ (q[:, 1] * np.uint32(2654435761)) ^ (q[:, 2] * np.uint32(805459861))) & np.uint32(4095)
                    w = jnp.prod(jnp.where(o == 1, f, 1 - f), -1)
                    v = v + w[:, None] * p['t'][l][h]
                out.append(v)
            return jnp.concatenate(out, -1)
        n, s, _ = x.shape
        h = jax.nn.relu(enc(x.reshape(-1, 3)) @ p['a']) @ p['b']
        sig = jax.nn.softplus(h[:, 0]).reshape(n, s)
        rgb = jax.nn.sigmoid(jax.nn.relu(jnp.concatenate([h, jnp.repeat(dirs, s, 0)], -1) @ p['c']) @ p['d']).reshape(n, s, 3)
        al = 1 - jnp.exp(-sig * .05)
        T = jnp.concatenate([jnp.ones((n, 1)), jnp.cumprod(1 - al + 1e-10, 1)[:, :-1]], 1)
        return jnp.mean((((al * T)[..., None] * rgb).sum(1) - tgt) ** 2)
    hp = dict(t=f32(4, 4096, 2) * np.float32(.1), a=R.weights(8, 32), b=R.weights(32, 16), c=R.weights(19, 32), d=R.weights(32, 3))
    add('fields_in_hashed_grids_gradient', jax.grad(hashed_grid), hp, share(64, 24, 3), f32(64, 3), share(64, 3))

    def splats(g, cam):
        m, q, ls, op, col = g
        q = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
        w, x, y, z = q.T
        Rm = jnp.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).reshape(-1, 3, 3)
        M = Rm * jnp.exp(ls)[:, None]
        S = M @ M.transpose(0, 2, 1)
        t = m @ cam[:, :3].T + cam[:, 3]
        zc = jnp.maximum(t[:, 2], .1)
        J = jnp.stack([jnp.stack([1 / zc, 0 * zc, -t[:, 0] / zc ** 2], -1), jnp.stack([0 * zc, 1 / zc, -t[:, 1] / zc ** 2], -1)], 1) * 30
        JW = J @ cam[:, :3]
        C = JW @ S @ JW.transpose(0, 2, 1) + .3 * jnp.eye(2)
        det = C[:, 0, 0] * C[:, 1, 1] - C[:, 0, 1] ** 2
        inv = jnp.stack([C[:, 1, 1], -C[:, 0, 1], C[:, 0, 0]], -1) / det[:, None]
        uv = t[:, :2] / zc[:, None] * 30 + 16
        o = jnp.argsort(zc)
        uv, inv, op, col = uv[o], inv[o], jax.nn.sigmoid(op[o]), jax.nn.sigmoid(col[o])
        px = jnp.stack(jnp.meshgrid(jnp.arange(32.), jnp.arange(32.), indexing='xy'), -1)
        def blend(c, s):
            img, T = c
            u, i, a, cl = s
            d = px - u
            e = -.5 * (i[0] * d[..., 0] ** 2 + 2 * i[1] * d[..., 0] * d[..., 1] + i[2] * d[..., 1] ** 2)
            al = jnp.minimum(.99, a * jnp.exp(jnp.minimum(e, 0.)))
            al = jnp.where(al < 1 / 255, 0., al)
            return (img + (T * al)[..., None] * cl, T * (1 - al)), None
        (img, T), _ = lax.scan(blend, (jnp.zeros((32, 32, 3)), jnp.ones((32, 32))), (uv, inv, op, col))
        return img + T[..., None]
    gs = (f32(100, 3), f32(100, 4), f32(100, 3) * np.float32(.3) - 2, f32(100), f32(100, 3))
    cam = np.concatenate([np.eye(3), [[0], [0], [4]]], 1).astype(np.float32)
    add('splats', splats, gs, cam)
    add('splats_gradient', jax.grad(lambda g, c, t: jnp.mean((splats(g, c) - t) ** 2)), gs, cam, share(32, 32, 3))

    def augment(img, key):
        def one(img, k):
            ks = jax.random.split(k, 8)
            y, x = jax.random.randint(ks[0], (2,), 0, 9)
            img = lax.dynamic_slice(jnp.pad(img, ((4, 4), (4, 4), (0, 0)), mode='reflect'), (y, x, 0), img.shape)
            img = jnp.where(jax.random.bernoulli(ks[1]), img[:, ::-1], img)
            def hue(i):
                mx, mn = i.max(-1), i.min(-1)
                d = mx - mn + 1e-6
                r, g, b = i[..., 0], i[..., 1], i[..., 2]
                h = jnp.where(mx == r, (g - b) / d, jnp.where(mx == g, 2 + (b - r) / d, 4 + (r - g) / d)) / 6 + .1
                h = (h % 1) * 6
                f = jnp.stack([jnp.abs(h - 3) - 1, 2 - jnp.abs(h - 2), 2 - jnp.abs(h - 4)], -1)
                return (jnp.clip(f, 0, 1) - 1) * (d / (mx + 1e-6))[..., None] * mx[..., None] + mx[..., None]
            def solar(i):
                return jnp.where(i > .6, 1 - i, i)
            def blur(i):
                k = jnp.exp(-.5 * (jnp.arange(-2., 3) / jax.random.uniform(ks[3], minval=.5, maxval=2.)) ** 2)
                k = k / k.sum()
                p = jnp.pad(i, ((2, 2), (2, 2), (0, 0)), mode='edge')
                p = sum(k[a] * p[a:a + i.shape[0]] for a in range(5))
                return sum(k[a] * p[:, a:a + i.shape[1]] for a in range(5))
            def turn(i):
                a = jax.random.uniform(ks[4], minval=-.5, maxval=.5)
                yy, xx = jnp.meshgrid(jnp.arange(32.) - 15.5, jnp.arange(32.) - 15.5, indexing='ij')
                c = [jnp.cos(a) * yy - jnp.sin(a) * xx + 15.5, jnp.sin(a) * yy + jnp.cos(a) * xx + 15.5]
                return jnp.stack([jax.scipy.ndimage.map_coordinates(i[..., ch], c, 1, mode='nearest') for ch in range(3)], -1)
            def poster(i):
                return (i * 255).astype(jnp.uint8) // 32 * 32 / jnp.float32(255)
            for j in range(2):
                img = lax.switch(jax.random.randint(ks[5 + j], (), 0, 5), [hue, solar, blur, turn, poster], img)
            cy, cx = jax.random.randint(ks[7], (2,), 0, 32)
            hole = (jnp.abs(jnp.arange(32)[:, None] - cy) < 4) & (jnp.abs(jnp.arange(32)[None] - cx) < 4)
            return jnp.where(hole[..., None], .5, img)
        return jax.vmap(one)(img, jax.random.split(jax.random.wrap_key_data(key), len(img)))
    add('pictures_altered_by_switches', augment, share(16, 32, 32, 3), KEY)

    def tracer(bmin, bmax, left, right, prim, tri, o, d):
        def one(o, d):
            inv = 1 / d
            def cond(c):
                return (c[1] > 0) & (c[4] < 200)
            def body(c):
                st, sp, best, hit, n = c
                i = st[sp - 1]
                sp = sp - 1
                t0, t1 = (bmin[i] - o) * inv, (bmax[i] - o) * inv
                tn, tf = jnp.minimum(t0, t1).max(), jnp.maximum(t0, t1).min()
                go = (tn <= tf) & (tf > 0) & (tn < best)
                leaf = left[i] < 0
                v0, v1, v2 = tri[prim[i]]
                e1, e2 = v1 - v0, v2 - v0
                pv = jnp.cross(d, e2)
                det = e1 @ pv
                tv = o - v0
                u = (tv @ pv) / det
                qv = jnp.cross(tv, e1)
                v = (d @ qv) / det
                t = (e2 @ qv) / det
                h = go & leaf & (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 1e-4) & (t < best)
                best, hit = jnp.where(h, t, best), jnp.where(h, prim[i], hit)
                push = go & ~leaf
                st = jnp.where(push, st.at[sp].set(left[i]).at[sp + 1].set(right[i]), st)
                return st, jnp.where(push, sp + 2, sp), best, hit, n + 1
            c = lax.while_loop(cond, body, (jnp.zeros(24, jnp.int32), 1, jnp.inf, -1, 0))
            return c[2], c[3]
        return jax.vmap(one)(o, d)
    def bvh(tri):
        nodes = []
        def build(ids):
            lo, hi = tri[ids].min((0, 1)), tri[ids].max((0, 1))
            me = len(nodes)
            nodes.append([lo, hi, -1, -1, ids[0]])
            if len(ids) > 1:
                ax = (hi - lo).argmax()
                ids = ids[np.argsort(tri[ids].mean(1)[:, ax], kind='stable')]
                nodes[me][2] = build(ids[:len(ids) // 2])
                nodes[me][3] = build(ids[len(ids) // 2:])
            return me
        build(np.arange(len(tri)))
        return [np.array([n[j] for n in nodes], np.float32 if j < 2 else np.int32) for j in range(5)]
    tri = (f32(64, 1, 3) + f32(64, 3, 3) * np.float32(.3))
    rays = f32(256, 3)
    add('rays_through_boxes_with_a_stack', tracer, *bvh(tri), tri, f32(256, 3) * np.float32(.1) + np.array([0, 0, -5], np.float32), (rays * np.float32(.2) + np.array([0, 0, 1], np.float32)))

    def marched(cam, n=40):
        def sdf(p):
            q = jnp.abs(p) - jnp.array([.6, .4, .5])
            box = jnp.linalg.norm(jnp.maximum(q, 0.) + 1e-9) + jnp.minimum(q.max(), 0.)
            tor = jnp.sqrt((jnp.sqrt(p[0] ** 2 + p[2] ** 2 + 1e-9) - 1.) ** 2 + p[1] ** 2 + 1e-9) - .2
            h = jnp.clip(.5 + .5 * (tor - box) / .2, 0, 1)
            return jnp.minimum(tor * (1 - h) + box * h - .2 * h * (1 - h), p[1] + 1)
        def pixel(u):
            d = jnp.array([u[0], u[1], 1.5]); d = d / jnp.linalg.norm(d)
            def march(o, d, m):
                return lax.while_loop(lambda c: (c[1] > 1e-3) & (c[0] < 8) & (c[2] < m), lambda c: (c[0] + c[1], sdf(o + (c[0] + c[1]) * d), c[2] + 1), (0., sdf(o), 0))
            t, _, it = march(cam, d, 48)
            p = cam + t * d
            nrm = jax.grad(sdf)(p)
            nrm = nrm / (jnp.linalg.norm(nrm) + 1e-6)
            L = jnp.array([.5, .8, -.3])
            def soft(c, _):
                t, k = c
                h = sdf(p + L * t)
                return (t + jnp.clip(h, .02, .2), jnp.minimum(k, 8 * h / t)), None
            (_, sh), _ = lax.scan(soft, (.05, 1.), None, length=16)
            return jnp.where(t < 8, jnp.maximum(nrm @ L, 0.) * jnp.clip(sh, 0, 1) + .1, 0.)
        g = jnp.stack(jnp.meshgrid(jnp.linspace(-1, 1, n), jnp.linspace(-1, 1, n)), -1).reshape(-1, 2)
        return jax.vmap(pixel)(g).reshape(n, n)
    add('shapes_with_soft_shadows', marched, np.array([.1, .3, -3], np.float32))

    def ddsp(f0, amps, mags, noise):
        # harmonic oscillators and noise through filters that change with frames
        hop, T = 64, f0.shape[0]
        up = lambda a: jax.vmap(lambda c: jnp.interp(jnp.arange(T * hop) / hop, jnp.arange(T), c), 1, 1)(a)
        f = up(f0[:, None])[:, 0]
        ph = 2 * jnp.pi * jnp.cumsum(f / 16000)
        k = jnp.arange(1, amps.shape[1] + 1)
        a = up(amps) * (f[:, None] * k < 8000)
        harm = (jnp.sin(ph[:, None] * k) * a).sum(-1)
        ir = jnp.fft.irfft(mags)
        ir = jnp.roll(ir, ir.shape[1] // 2, 1) * (.5 - .5 * jnp.cos(2 * jnp.pi * jnp.arange(ir.shape[1]) / ir.shape[1]))
        fr = noise.reshape(T, hop)
        n = 256
        y = jnp.fft.irfft(jnp.fft.rfft(fr, n) * jnp.fft.rfft(ir, n), n)
        out = jnp.zeros(T * hop + n).at[jnp.arange(T)[:, None] * hop + jnp.arange(n)].add(y)
        return harm + out[:T * hop]
    add('oscillators_and_filtered_noise', ddsp, share(50) * 20 + 10, share(50, 8), share(50, 65), f32(50 * 64))
    def spectral_loss(x, y):
        tot = 0.
        for n in (256, 512):
            w = .5 - .5 * jnp.cos(2 * jnp.pi * jnp.arange(n) / n)
            def mag(s):
                i = jnp.arange(0, len(s) - n + 1, n // 4)[:, None] + jnp.arange(n)
                return jnp.abs(jnp.fft.rfft(s[i] * w)) + 1e-5
            a, b = mag(x), mag(y)
            tot = tot + jnp.mean(jnp.abs(a - b)) + jnp.mean(jnp.abs(jnp.log(a) - jnp.log(b)))
        return tot
    add('losses_of_spectra_gradient', jax.grad(spectral_loss), f32(4096), f32(4096))

    def residual_codes(x, books):
        def st(c, b):
            r, q = c
            d = (b * b).sum(-1) - 2 * r @ b.T
            i = jnp.argmin(d, -1)
            return (r - b[i], q + b[i]), i
        (r, q), codes = lax.scan(st, (x, jnp.zeros_like(x)), books)
        return codes, jnp.mean(r * r)
    add('residual_codes', residual_codes, f32(300, 32), f32(6, 256, 32))

    def yin(x):
        W, hop, tmax = 400, 160, 200
        i = jnp.arange(0, len(x) - W - tmax, hop)
        fr = x[i[:, None] + jnp.arange(W + tmax)]
        n = 1024
        ac = jnp.fft.irfft(jnp.fft.rfft(fr, n) * jnp.conj(jnp.fft.rfft(fr[:, :W], n)), n)[:, :tmax]
        cs = jnp.pad(jnp.cumsum(fr * fr, 1), ((0, 0), (1, 0)))
        e = cs[:, W:W + tmax] - cs[:, :tmax]
        d = e[:, :1] + e - 2 * ac
        cm = d * jnp.arange(tmax) / jnp.maximum(jnp.cumsum(d, 1), 1e-6)
        cm = cm.at[:, 0].set(1.)
        below = (cm < .2) & (cm < jnp.roll(cm, -1, 1))
        t = jnp.where(below.any(1), jnp.argmax(below, 1), jnp.argmin(cm, 1))
        at = lambda o: jnp.take_along_axis(cm, jnp.clip(t + o, 0, tmax - 1)[:, None], 1)[:, 0]
        return 16000 / (t + .5 * (at(-1) - at(1)) / (at(-1) - 2 * at(0) + at(1) + 1e-9)), at(0)
    add('pitch_of_frames', yin, (np.sin(np.arange(16000) * .08) + .1 * R.randn(16000)).astype(np.float32))


def physics_and_discrete(jax, add):
    import jax.numpy as jnp
    from jax import lax

    def apply1(s, g, q):
        n = s.ndim
        return jnp.moveaxis(jnp.tensordot(g, s, ((1,), (q,))), 0, q)

    def qaoa(th, edges_w):
        n = 8
        z = np.array([[1 - 2 * (b >> q & 1) for b in range(2 ** n)] for q in range(n)], np.float32)
        iu = np.triu_indices(n, 1)
        cost = jnp.einsum('e,eb->b', edges_w, jnp.asarray(z[iu[0]] * z[iu[1]]))
        s = jnp.full((2,) * n, 2 ** (-n / 2), jnp.complex64)
        for g, b in th:
            s = (s.reshape(-1) * jnp.exp(-1j * g * cost)).reshape((2,) * n)
            rx = jnp.array([[jnp.cos(b), -1j * jnp.sin(b)], [-1j * jnp.sin(b), jnp.cos(b)]])
            for q in range(n):
                s = apply1(s, rx, q)
        return jnp.sum(jnp.abs(s.reshape(-1)) ** 2 * cost)
    add('approximate_optimisation_circuit_gradient', jax.value_and_grad(qaoa), f32(3, 2), f32(28))

    def noisy(th):
        n = 5
        rho = jnp.zeros((2,) * (2 * n), jnp.complex64).at[(0,) * (2 * n)].set(1.)
        p = .02
        K = [jnp.sqrt(1 - p) * jnp.eye(2, dtype=jnp.complex64), jnp.sqrt(p) * jnp.array([[1, 0], [0, -1]], jnp.complex64)]
        for l in range(2):
            for q in range(n):
                c, s = jnp.cos(th[l, q] / 2), jnp.sin(th[l, q] / 2)
                g = jnp.array([[c, -s], [s, c]]).astype(jnp.complex64)
                rho = apply1(apply1(rho, g, q), g.conj(), n + q)
                rho = sum(apply1(apply1(rho, k, q), k.conj(), n + q) for k in K)
            for q in range(n - 1):
                cz = jnp.ones((2, 2)).at[1, 1].set(-1.)
                sh = [1] * (2 * n); sh[q] = sh[q + 1] = 2
                sh2 = [1] * (2 * n); sh2[n + q] = sh2[n + q + 1] = 2
                rho = rho * cz.reshape(sh) * cz.reshape(sh2)
        return jnp.real(jnp.einsum('ii->', (rho.reshape(2 ** n, 2 ** n) * jnp.asarray([(-1.) ** bin(b).count('1') for b in range(2 ** n)])[:, None])))
    add('noisy_circuit_gradient', jax.value_and_grad(noisy), f32(2, 5))

    def lenia(a, n=64):
        y, x = jnp.meshgrid(jnp.arange(-n // 2, n // 2), jnp.arange(-n // 2, n // 2), indexing='ij')
        r = jnp.sqrt(x ** 2 + y ** 2) / 10.
        k = jnp.where(r < 1, jnp.exp(4 - 1 / jnp.maximum(r * (1 - r), 1e-6)), 0.)
        fk = jnp.fft.fft2(jnp.fft.fftshift(k / k.sum()))
        def st(a, _):
            u = jnp.real(jnp.fft.ifft2(fk * jnp.fft.fft2(a)))
            return jnp.clip(a + .1 * (2 * jnp.exp(-((u - .15) / .015) ** 2 / 2) - 1), 0, 1), None
        return lax.scan(st, a, None, length=5)[0]
    add('smooth_life', lenia, share(64, 64))

    def colouring(adj, pri):
        n = len(pri)
        def body(c):
            col, _ = c
            un = col < 0
            nb = jnp.where(adj & un[None], pri[None], -1.).max(1)
            pick = un & (pri > nb)
            used = jnp.zeros((n, 32), bool).at[:, :].set((adj[:, :, None] & (col[None, :, None] == jnp.arange(32))).any(1))
            first = jnp.argmin(used, 1)
            return jnp.where(pick, first, col), 0
        col, _ = lax.while_loop(lambda c: jnp.any(c[0] < 0), body, (jnp.full(n, -1), 0))
        return col
    A = R.rand(80, 80) < .1
    A = (A | A.T) & ~np.eye(80, dtype=bool)
    add('vertices_coloured_by_priorities', colouring, A, share(80))

    def components(s, r, n=400):
        def body(c):
            l, _ = c
            m = jnp.minimum(l[s], l[r])
            l2 = l.at[s].min(m).at[r].min(m)
            l2 = jnp.minimum(l2, l2[l2])
            l2 = l2[l2]
            return l2, jnp.any(l2 != l)
        return lax.while_loop(lambda c: c[1], body, (jnp.arange(n), True))[0]
    add('components_by_hooks', components, i32(400, 350), i32(400, 350))

    def gtr(p, tips, bl):
        # likelihood of sites under a reversible model with rate classes, along a caterpillar tree
        pi = jax.nn.softmax(p['pi'])
        S = jnp.zeros((4, 4)).at[jnp.triu_indices(4, 1)].set(jnp.exp(p['r']))
        S = S + S.T
        Q = S * pi
        Q = Q - jnp.diag(Q.sum(1))
        Q = Q / -jnp.sum(pi * jnp.diag(Q))
        d = jnp.sqrt(pi)
        w, U = jnp.linalg.eigh(d[:, None] * Q / d)
        rates = jnp.exp(p['a']) ** jnp.array([-1., -.3, .3, 1.])
        t = jnp.exp(bl)[:, None] * rates
        P = jnp.einsum('ik,btk,jk->btij', U / d[:, None], jnp.exp(w * t[..., None]), U * d[:, None])
        L = jnp.ones((4,) + (tips.shape[1], 4))
        sc = 0.
        def st(c, i):
            L, sc = c
            tip, P1, P2 = i
            L = jnp.einsum('tij,tsj->tsi', P1, L) * jnp.einsum('tij,sj->tsi', P2, jax.nn.one_hot(tip, 4))
            m = L.max((0, 2))
            return (L / m[None, :, None], sc + jnp.log(m)), None
        n = tips.shape[0]
        (L, sc), _ = lax.scan(st, (L, jnp.zeros(tips.shape[1])), (tips, P[:n], P[n:]))
        return -jnp.sum(jnp.log(jnp.mean(L @ pi, 0)) + sc)
    add('reversible_substitutions_gradient', jax.value_and_grad(gtr, (0, 2)), dict(pi=f32(4) * np.float32(.1), r=f32(6) * np.float32(.1), a=np.float32(.3)), i32(4, 12, 200), f32(24) * np.float32(.2) - 2)

    def heston_qe(key):
        k0 = jax.random.wrap_key_data(key)
        kap, th, xi, rho, dt = 1.5, .04, .5, -.7, 1 / 50
        def st(c, k):
            x, v = c
            k1, k2, k3 = jax.random.split(k, 3)
            e = jnp.exp(-kap * dt)
            m = th + (v - th) * e
            s2 = v * xi ** 2 * e / kap * (1 - e) + th * xi ** 2 / (2 * kap) * (1 - e) ** 2
            psi = s2 / m ** 2
            b2 = 2 / psi - 1 + jnp.sqrt(2 / psi) * jnp.sqrt(jnp.maximum(2 / psi - 1, 0.))
            z = jax.random.normal(k1, v.shape)
            va = m / (1 + b2) * (jnp.sqrt(jnp.maximum(b2, 0)) + z) ** 2
            p = (psi - 1) / (psi + 1)
            u = jax.random.uniform(k2, v.shape)
            vb = jnp.where(u <= p, 0., jnp.log((1 - p) / jnp.maximum(1 - u, 1e-7)) / ((1 - p) / m))
            vn = jnp.where(psi <= 1.5, va, vb)
            g = .5 * dt * ((kap * rho / xi - .5) + 0) * (v + vn) + rho / xi * (vn - v - kap * th * dt)
            x = x + g + jnp.sqrt(jnp.maximum((1 - rho ** 2) * .5 * dt * (v + vn), 0)) * jax.random.normal(k3, v.shape)
            return (x, vn), jnp.exp(x)
        (x, v), path = lax.scan(st, (jnp.zeros(2048), jnp.full(2048, .04)), jax.random.split(k0, 50))
        K = jnp.linspace(.8, 1.2, 9)
        return jnp.maximum(jnp.exp(x)[:, None] - K, 0).mean(0), jnp.maximum(path.max(0) - path.mean(0), 0).mean()
    add('volatile_paths', heston_qe, KEY)

    def salsa(key, ctr):
        c = jnp.array([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574], jnp.uint32)
        rl = lambda a, n: (a << n) | (a >> (32 - n))
        def block(ct):
            x = [c[0], *key[:4], c[1], key[8], key[9], ct, jnp.uint32(0), c[2], *key[4:8], c[3]]
            s = list(x)
            def rnd(s, _):
                s = list(s)
                for a, b, d, e in [(0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11), (0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)]:
                    s[b] = s[b] ^ rl(s[a] + s[e], 7); s[d] = s[d] ^ rl(s[b] + s[a], 9)
                    s[e] = s[e] ^ rl(s[d] + s[b], 13); s[a] = s[a] ^ rl(s[e] + s[d], 18)
                return tuple(s), None
            s, _ = lax.scan(rnd, tuple(s), None, length=10)
            return jnp.stack([a + b for a, b in zip(s, x)])
        return jax.vmap(block)(ctr)
    add('blocks_of_salsa', salsa, R.randint(0, 2 ** 31, 10).astype(np.uint32), np.arange(256, dtype=np.uint32))
    def ascon(state):
        def perm(x, r):
            # rounds on words of 64 bits as pairs of 32
            x = x.at[2, 1].set(x[2, 1] ^ (jnp.uint32(0xf0) - r * jnp.uint32(15)))
            x0, x1, x2, x3, x4 = x
            x0, x4, x2 = x0 ^ x4, x4 ^ x3, x2 ^ x1
            t = [~a & b for a, b in ((x0, x1), (x1, x2), (x2, x3), (x3, x4), (x4, x0))]
            x0, x1, x2, x3, x4 = x0 ^ t[1], x1 ^ t[2], x2 ^ t[3], x3 ^ t[4], x4 ^ t[0]
            x1, x0, x3, x2 = x1 ^ x0, x0 ^ x4, x3 ^ x2, ~x2
            def ror(a, n):
                h, l = a[0], a[1]
                if n >= 32:
                    h, l, n = l, h, n - 32
                return jnp.stack([(h >> n) | (l << (32 - n)), (l >> n) | (h << (32 - n))]) if n else jnp.stack([h, l])
            out = [a ^ ror(a, m) ^ ror(a, n) for a, (m, n) in zip((x0, x1, x2, x3, x4), ((19, 28), (61, 39), (1, 6), (10, 17), (7, 41)))]
            return jnp.stack(out), None
        return jax.vmap(lambda s: lax.scan(perm, s, jnp.arange(12, dtype=jnp.uint32))[0])(state)
    add('permutations_of_320_bits', ascon, R.randint(0, 2 ** 31, (100, 5, 2)).astype(np.uint32))
    def merkle(leaves):
        def h(a, b):
            x = a * np.uint32(0x9e3779b1) ^ ((b << 13) | (b >> 19))
            for m in (0x85ebca6b, 0xc2b2ae35):
                x = (x ^ (x >> 15)) * np.uint32(m)
            return x ^ (x >> 16) ^ jnp.roll(a, 1, -1)
        lv = [leaves]
        while len(lv[-1]) > 1:
            lv.append(h(lv[-1][::2], lv[-1][1::2]))
        i, proof = 77, []
        for l in lv[:-1]:
            proof.append(l[i ^ 1]); i //= 2
        return lv[-1][0], jnp.stack(proof)
    add('tree_of_hashes', merkle, R.randint(0, 2 ** 31, (1024, 8)).astype(np.uint32))

    def merges(tok, rank):
        # pairs joined by least rank until none is left, as tokenisers do
        n = len(tok)
        def body(c):
            t, ln, _ = c
            nx = jnp.roll(t, -1)
            r = jnp.where(jnp.arange(n) < ln - 1, rank[t, nx], 1 << 20)
            i = jnp.argmin(r)
            ok = r[i] < (1 << 20)
            sh = jnp.where(jnp.arange(n) > i, nx, t)
            new = sh.at[i].set(64 + r[i] % 64)
            return jnp.where(ok, new, t), jnp.where(ok, ln - 1, ln), ok
        t, ln, _ = lax.while_loop(lambda c: c[2], body, (tok, n, True))
        return t, ln
    rank = np.where(R.rand(128, 128) < .15, R.randint(0, 4096, (128, 128)), 1 << 20).astype(np.int32)
    add('pairs_merged_by_rank', merges, i32(64, 100), rank)
    add('pairs_merged_by_rank_of_many', jax.vmap(merges, (0, None)), i32(64, 16, 60), rank)

    def givens_update(Q, Rm, u, v):
        # factors of a matrix after a change of rank one, by rotations
        n = len(u)
        w = Q.T @ u
        def rot(a, b):
            r = jnp.sqrt(a * a + b * b) + 1e-20
            return a / r, b / r
        def up(c, i):
            Q, Rm, w = c
            k = n - 2 - i
            cs, sn = rot(w[k], w[k + 1])
            def mix(M):
                a, b = M[k], M[k + 1]
                return M.at[k].set(cs * a + sn * b).at[k + 1].set(-sn * a + cs * b)
            return (mix(Q.T).T, mix(Rm), w.at[k].set(cs * w[k] + sn * w[k + 1]).at[k + 1].set(0.)), None
        (Q, Rm, w), _ = lax.scan(up, (Q, Rm, w), jnp.arange(n - 1))
        Rm = Rm.at[0].add(w[0] * v)
        def down(c, k):
            Q, Rm = c
            cs, sn = rot(Rm[k, k], Rm[k + 1, k])
            def mix(M):
                a, b = M[k], M[k + 1]
                return M.at[k].set(cs * a + sn * b).at[k + 1].set(-sn * a + cs * b)
            return (mix(Q.T).T, mix(Rm)), None
        (Q, Rm), _ = lax.scan(down, (Q, Rm), jnp.arange(n - 1))
        return Q, Rm
    q, r = np.linalg.qr(R.randn(40, 40))
    add('factors_updated_by_rotations', givens_update, q.astype(np.float32), r.astype(np.float32), f32(40), f32(40))

    def dlrm(p, dense, ids, offs, y):
        def net(p):
            x = jax.nn.relu(dense @ p['b0']) @ p['b1']
            seg = jnp.cumsum(jnp.zeros(ids.shape[1], jnp.int32).at[offs].add(1)) - 1
            es = [jax.ops.segment_sum(t[i % t.shape[0]], seg, len(dense)) for t, i in zip(p['t'], ids)]
            z = jnp.stack([x] + es, 1)
            g = jnp.einsum('bic,bjc->bij', z, z)
            i, j = np.tril_indices(z.shape[1], -1)
            x = jnp.concatenate([x, g[:, i, j]], 1)
            for w, b in p['cross']:
                x = x * (x @ w + b) + x
            lg = (jax.nn.relu(x @ p['o0']) @ p['o1'])[:, 0]
            return jnp.mean(jnp.maximum(lg, 0) - lg * y + jnp.log1p(jnp.exp(-jnp.abs(lg))))
        l, g = jax.value_and_grad(net)(p)
        return l, jax.tree.map(lambda p, g: p - .1 * g / jnp.sqrt(1e-3 + (jnp.mean(g * g, -1, keepdims=True) if g.ndim > 1 else g * g)), p, g)
    lp = dict(b0=R.weights(13, 32), b1=R.weights(32, 16), t=[f32(n, 16) * np.float32(.1) for n in (1000, 500, 200, 50)], cross=[(R.weights(26, 26), f32(26)) for _ in range(2)], o0=R.weights(26, 32), o1=R.weights(32, 1))
    add('clicks_by_crossed_bags_step', dlrm, lp, f32(128, 13), i32(1000, 4, 512), np.arange(0, 512, 4, dtype=np.int32), (share(128) < .3).astype(np.float32))


def programs(jax):
    import jax.flatten_util  # noqa: F401
    import jax.scipy as jsp  # noqa: F401
    import jax.scipy.sparse.linalg  # noqa: F401
    P = Programs()
    for group in (steps_of_optimisers, layers, molecules, bodies, equations, samplers, agents, pictures_and_sound, physics_and_discrete):
        group(jax, P.add)
    return P
