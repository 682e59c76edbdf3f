"""Optax transforms around one small network each, a few unusual parameter shapes."""
import numpy as np
from by_value import Programs, Random
NEEDS = ('optax',)
R = Random(1202)
f32, i32 = R.f32, R.i32
FACTOR = 2048.0

def programs(jax):
    import jax.numpy as jnp
    import optax
    from optax import contrib
    P = Programs(); add = P.add
    params = {'a': f32(37, 101) * .1, 'b': f32(101) * .1, 'c': f32(101, 53) * .1, 'd': f32(53) * .1, 'e': f32(53, 3) * .1, 's': np.float32(.5)}
    params['s'] = np.float32(.5)
    x, y = f32(61, 37), i32(3, 61)
    def loss(p, x, y):
        h = jnp.tanh(x @ p['a'] + p['b']); h = jax.nn.silu(h @ p['c'] + p['d'])
        return optax.softmax_cross_entropy_with_integer_labels(p['s'] * (h @ p['e']), y).mean()
    def states(tx):
        s = jax.eval_shape(tx.init, params); r = np.random.RandomState(3)
        def mk(v):
            if np.issubdtype(v.dtype, np.integer): return np.full(v.shape, 3, v.dtype) if v.shape == () else np.zeros(v.shape, v.dtype)
            if v.dtype == bool: return np.zeros(v.shape, bool)
            return (np.abs(r.randn(*v.shape)) * .05 + .01).astype(v.dtype)
        return jax.tree.map(mk, s)
    def step(tx, extra=False):
        def f(p, s, x, y):
            v, g = jax.value_and_grad(loss)(p, x, y)
            u, s = tx.update(g, s, p, value=v) if extra else tx.update(g, s, p)
            return optax.apply_updates(p, u), s, v
        return f
    def both(name, tx, extra=False):
        add(name, step(tx, extra), params, states(tx), x, y)
    both('adafactor_relative', optax.adafactor(1e-2, min_dim_size_to_factor=30, momentum=.9))
    both('lion_clipped_decay', optax.chain(optax.clip_by_global_norm(.5), optax.lion(1e-3, weight_decay=.1)))
    both('schedule_free_adamw', contrib.schedule_free_adamw(1e-2, warmup_steps=10))
    both('lamb_with_trust', optax.lamb(1e-2))
    both('novograd', optax.novograd(1e-2))
    both('amsgrad_inject', optax.inject_hyperparams(optax.amsgrad)(optax.cosine_decay_schedule(1e-2, 100)))
    both('prodigy', contrib.prodigy())
    both('mechanised_sgd', contrib.mechanize(optax.sgd(1e-2)))
    both('ademamix', contrib.ademamix(1e-2))
    both('muon_with_adam', contrib.muon(1e-2))
    both('accumulated_yogi', optax.MultiSteps(optax.yogi(1e-2), 4).gradient_transformation() if hasattr(optax.MultiSteps, 'gradient_transformation') else optax.yogi(1e-2))
    both('zero_nans_agc_nadam', optax.chain(optax.zero_nans(), optax.adaptive_grad_clip(.01), optax.nadam(1e-2), optax.centralize() if False else optax.ema(.9)))
    # lookahead around radam, fast and slow weights
    la = optax.lookahead(optax.radam(1e-2), 5, .5)
    lp = optax.LookaheadParams(params, jax.tree.map(lambda a: a * .9, params))
    sl = jax.tree.map(lambda v: np.full(v.shape, 4, v.dtype) if np.issubdtype(v.dtype, np.integer) else np.full(v.shape, .02, v.dtype), jax.eval_shape(la.init, lp))
    def las(p, s, x, y):
        g = jax.grad(loss)(p.fast, x, y); u, s = la.update(g, s, p); return optax.apply_updates(p, u), s
    add('lookahead_radam', las, lp, sl, x, y)
    # DP-SGD: per-example gradients clipped and noised
    dp = contrib.differentially_private_aggregate(1., .5, 7)
    def dps(p, s, x, y):
        g = jax.vmap(jax.grad(loss), (None, 0, 0))(p, x[:, None], y[:, None]); u, s = dp.update(g, s); return jax.tree.map(lambda a, b: a - .1 * b, p, u), s
    def dps2(p, key, x, y):
        s = contrib.DifferentiallyPrivateAggregateState(key); return dps(p, s, x, y)[0]
    add('private_sgd_step', dps2, params, np.array([1, 2], np.uint32), x[:32], y[:32])
    # L-BFGS 8 steps with zoom line search in a scan
    lb = optax.lbfgs(memory_size=5)
    def lbf(p, A, b):
        f = lambda p: jnp.sum((A @ p - b) ** 2) + .1 * jnp.sum(jnp.cos(3 * p))
        vg = optax.value_and_grad_from_state(f)
        def st(c, _):
            p, s = c; v, g = vg(p, state=s); u, s = lb.update(g, s, p, value=v, grad=g, value_fn=f)
            return (optax.apply_updates(p, u), s), v
        return jax.lax.scan(st, (p, lb.init(p)), None, length=6)
    add('lbfgs_zoom_scanned', lambda p, A, b: lbf(p, A, b)[0][0], f32(31), f32(40, 31) * .3, f32(40))
    # 30 steps of sam in a scan over minibatches gathered
    sam = contrib.sam(optax.sgd(1e-1), optax.chain(contrib.normalize(), optax.sgd(.05)), opaque_mode=False)
    def sm(p, x, y, ix):
        def st(c, i):
            p, s = c; g = jax.grad(loss)(p, x[i], y[i]); u, s = sam.update(g, s, p); return (optax.apply_updates(p, u), s), None
        return jax.lax.scan(st, (p, sam.init(p)), ix)[0][0]
    add('sharpness_aware_scan', sm, params, x, y, i32(61, 20, 16))
    return P
