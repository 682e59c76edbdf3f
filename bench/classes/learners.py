"""Learning, agents, optimisation and finance, with derivatives."""
import functools
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(706)
f32, i32, u8 = R.f32, R.i32, R.u8
uni = R.share


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    key = np.array([21, 8], np.uint32)

    # GIN / PNA / graph transformer with edge bias / SchNet filters / NequIP-light
    def pna(p, h, s, r, n=120):
        m = jax.nn.relu(jnp.concatenate([h[s], h[r]], 1) @ p['m'])
        cnt = jnp.maximum(jax.ops.segment_sum(jnp.ones(len(r)), r, n), 1)[:, None]
        mean = jax.ops.segment_sum(m, r, n) / cnt
        sd = jnp.sqrt(jax.nn.relu(jax.ops.segment_sum(m * m, r, n) / cnt - mean ** 2) + 1e-5)
        mx = jax.ops.segment_max(m, r, n); mn = jax.ops.segment_min(m, r, n)
        a = jnp.concatenate([mean, sd, jnp.where(jnp.isfinite(mx), mx, 0), jnp.where(jnp.isfinite(mn), mn, 0)], 1)
        a = jnp.concatenate([a, a * jnp.log1p(cnt), a / jnp.log1p(cnt)], 1)
        return h + jax.nn.relu(a @ p['u'])
    pp = dict(m=f32(48, 20) * .2, u=f32(240, 24) * .1)
    add('principal_aggregation_gradient', jax.grad(lambda p, h, s, r: jnp.mean(pna(p, pna(p, h, s, r), s, r) ** 2)), pp, f32(120, 24), i32(120, 700), i32(120, 700))
    def gt(p, h, adj, spd):
        q, k, v = (h @ p['qkv']).reshape(len(h), 3, 4, 12).transpose(1, 2, 0, 3)
        s = q @ k.transpose(0, 2, 1) / 12 ** .5 + p['b'][spd].transpose(2, 0, 1)
        s = jnp.where(adj, s, s - 2.)
        h = h + (jax.nn.softmax(s, -1) @ v).transpose(1, 0, 2).reshape(len(h), 48)
        lap = jnp.diag(adj.sum(1).astype(jnp.float32)) - adj
        w, V = jnp.linalg.eigh(lap)
        return h + jnp.abs(V[:, 1:9]) @ p['pe']
    A = (lambda a: a | a.T)(R.rand(45, 45) < .1)
    add('graph_transformer_with_laplacian', gt, dict(qkv=f32(48, 144) * .1, b=f32(10, 4), pe=f32(8, 48)), f32(45, 48), A, i32(10, 45, 45))
    def schnet(p, z, x):
        d = x[:, None] - x[None]
        r = jnp.sqrt((d * d).sum(-1) + 1e-6)
        rb = jnp.exp(-8 * (r[..., None] - jnp.linspace(0, 5, 25)) ** 2)
        ssp = lambda a: jax.nn.softplus(a) - jnp.log(2.)
        h = p['e'][z]
        for i in range(2):
            W = ssp(rb @ p['f1'][i]) @ p['f2'][i] * (.5 * (jnp.cos(jnp.pi * jnp.minimum(r / 5, 1)) + 1) * (1 - jnp.eye(len(x))))[..., None]
            h = h + ssp(jnp.einsum('jc,ijc->ic', h @ p['a'][i], W)) @ p['b'][i]
        return jnp.sum(ssp(h @ p['o1']) @ p['o2'])
    sp = dict(e=f32(10, 32), f1=f32(2, 25, 32) * .2, f2=f32(2, 32, 32) * .2, a=f32(2, 32, 32) * .2, b=f32(2, 32, 32) * .2, o1=f32(32, 16) * .2, o2=f32(16, 1))
    add('schnet_forces', jax.grad(schnet, 2), sp, i32(10, 29), f32(29, 3) * 2)
    add('schnet_training_on_forces', jax.grad(lambda p, z, x, f: jnp.mean((jax.grad(schnet, 2)(p, z, x) - f) ** 2)), sp, i32(10, 23), f32(23, 3) * 2, f32(23, 3))

    # Neural CDE, neural SDE, adjoint ODE w/ custom_vjp
    def ncde(p, x):
        def f(h):
            return jnp.tanh(jax.nn.silu(h @ p[0]) @ p[1]).reshape(*h.shape, x.shape[-1])
        def st(h, dx):
            k = jnp.einsum('bhc,bc->bh', f(h), dx)
            k2 = jnp.einsum('bhc,bc->bh', f(h + k), dx)
            return h + .5 * (k + k2), None
        return lax.scan(st, jnp.zeros((x.shape[1], 16)), jnp.diff(x, axis=0))[0]
    add('neural_cde_gradient', jax.grad(lambda p, x: jnp.mean(ncde(p, x) ** 2)), (f32(16, 32) * .3, f32(32, 80) * .2), np.cumsum(f32(41, 9, 5) * .1, 0))
    def adj(p, y0):
        f = lambda p, y: jnp.tanh(y @ p[0]) @ p[1]
        def rk(g, y, h):
            k1 = g(y); k2 = g(jax.tree.map(lambda a, b: a + h / 2 * b, y, k1)); k3 = g(jax.tree.map(lambda a, b: a + h / 2 * b, y, k2)); k4 = g(jax.tree.map(lambda a, b: a + h * b, y, k3))
            return jax.tree.map(lambda a, b, c, d, e: a + h / 6 * (b + 2 * c + 2 * d + e), y, k1, k2, k3, k4)
        @jax.custom_vjp
        def solve(p, y):
            return lax.fori_loop(0, 20, lambda i, y: rk(lambda y: f(p, y), y, .05), y)
        def fwd(p, y):
            y1 = solve(p, y)
            return y1, (p, y1)
        def bwd(r, g):
            p, y1 = r
            def aug(s):
                y, a, _ = s
                dy, vj = jax.vjp(lambda p, y: f(p, y), p, y)
                gp, gy = vj(a)
                return dy, jax.tree.map(jnp.negative, gy), jax.tree.map(jnp.negative, gp)
            s = lax.fori_loop(0, 20, lambda i, s: rk(aug, s, -.05), (y1, g, jax.tree.map(jnp.zeros_like, p)))
            return s[2], s[1]
        solve.defvjp(fwd, bwd)
        return jnp.mean(solve(p, y0) ** 2)
    add('neural_ode_adjoint', jax.grad(adj), (f32(6, 40) * .4, f32(40, 6) * .3), f32(50, 6))

    # VQ-VAE step, EMA codebook, straight-through; consistency; flow matching UNet1D; EDM Heun
    def vq(p, cb, x):
        z = jax.nn.relu(x @ p[0]) @ p[1]
        d = (z * z).sum(1, keepdims=True) - 2 * z @ cb.T + (cb * cb).sum(1)
        i = jnp.argmin(d, 1)
        q = cb[i]
        st = z + lax.stop_gradient(q - z)
        y = jax.nn.relu(st @ p[2]) @ p[3]
        return jnp.mean((y - x) ** 2) + .25 * jnp.mean((z - lax.stop_gradient(q)) ** 2), (i, z)
    def vqs(p, cb, n, s, x):
        (l, (i, z)), g = jax.value_and_grad(vq, has_aux=True)(p, cb, x)
        oh = jax.nn.one_hot(i, len(cb))
        n = .99 * n + .01 * oh.sum(0); s = .99 * s + .01 * oh.T @ z
        perp = jnp.exp(-jnp.sum(oh.mean(0) * jnp.log(oh.mean(0) + 1e-10)))
        return jax.tree.map(lambda a, b: a - .01 * b, p, g), s / (n[:, None] + 1e-5), l, perp
    add('vq_vae_step', vqs, (f32(77, 64) * .1, f32(64, 8) * .1, f32(8, 64) * .1, f32(64, 77) * .1), f32(53, 8), uni(53), f32(53, 8), f32(200, 77))
    # V-trace, Retrace, TD-lambda, GAE dones
    def vtrace(lr, disc, r, v, boot):
        rho = jnp.minimum(1., jnp.exp(lr))
        vn = jnp.concatenate([v[1:], boot[None]])
        dl = rho * (r + disc * vn - v)
        _, a = lax.scan(lambda c, x: ((x[0] + x[1] * x[2] * c,) * 2), jnp.zeros_like(boot), (dl, disc, rho), reverse=True)
        vs = a + v
        return vs, rho * (r + disc * jnp.concatenate([vs[1:], boot[None]]) - v)
    add('vtrace_returns', vtrace, f32(80, 33) * .3, uni(80, 33), f32(80, 33), f32(80, 33), f32(33))
    # acrobot-like RK4 env batched, policy net, REINFORCE gradient via scan
    def acro(s, a):
        def f(s):
            t1, t2, w1, w2 = s
            d1 = 1.25 + 1 + jnp.cos(t2); d2 = .5 * jnp.cos(t2) + 1.25
            p2 = .5 * 9.8 * jnp.cos(t1 + t2 - jnp.pi / 2)
            p1 = -.5 * w2 ** 2 * jnp.sin(t2) - w2 * w1 * jnp.sin(t2) + 1.5 * 9.8 * jnp.cos(t1 - jnp.pi / 2) + p2
            a2 = (a + d2 / d1 * p1 - .5 * w1 ** 2 * jnp.sin(t2) - p2) / (1.25 - d2 ** 2 / d1 + .3)
            return jnp.stack([w1, w2, -(d2 * a2 + p1) / d1, a2])
        k1 = f(s); k2 = f(s + .05 * k1); k3 = f(s + .05 * k2); k4 = f(s + .1 * k3)
        s = s + .1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return jnp.concatenate([jnp.mod(s[:2] + jnp.pi, 2 * jnp.pi) - jnp.pi, jnp.clip(s[2:], -12, 12)])
    def rollout(p, s, key):
        def st(c, k):
            s, done = c
            lg = jnp.tanh(s @ p[0]) @ p[1]
            a = jax.random.categorical(k, lg)
            lp = jnp.take_along_axis(jax.nn.log_softmax(lg), a[:, None], 1)[:, 0]
            s2 = jax.vmap(acro)(s, a - 1.)
            done2 = done | (-jnp.cos(s2[:, 0]) - jnp.cos(s2[:, 0] + s2[:, 1]) > 1)
            return (jnp.where(done[:, None], s, s2), done2), (lp, jnp.where(done, 0., -1.))
        _, (lp, r) = lax.scan(st, (s, jnp.zeros(len(s), bool)), jax.random.split(key, 30))
        G = jnp.cumsum(r[::-1], 0)[::-1]
        return -jnp.mean(lp * (G - G.mean(1, keepdims=True)))
    add('acrobat_policy_gradient', jax.grad(rollout), (f32(4, 32) * .3, f32(32, 3) * .3), f32(37, 4) * .1, key)
    # gridworld with switch on actions and objects, vmapped
    def grid_env(key, maps):
        def step(s, k):
            pos, dr, carry, mp = s
            a = jax.random.randint(k, (), 0, 7)
            fw = jnp.clip(pos + jnp.array([[0, 1], [1, 0], [0, -1], [-1, 0]])[dr], 0, 12)
            cell = mp[fw[0], fw[1]]
            brs = [lambda: (pos, (dr - 1) % 4, carry, mp), lambda: (pos, (dr + 1) % 4, carry, mp),
                   lambda: (jnp.where((cell == 0) | (cell == 4), fw, pos), dr, carry, mp),
                   lambda: (pos, dr, jnp.where(carry == 0, cell * (cell > 1), carry), mp.at[fw[0], fw[1]].set(jnp.where((carry == 0) & (cell > 1), 0, cell))),
                   lambda: (pos, dr, jnp.where(cell == 0, 0, carry), mp.at[fw[0], fw[1]].set(jnp.where(cell == 0, carry, cell))),
                   lambda: (pos, dr, carry, mp.at[fw[0], fw[1]].set(jnp.where(cell == 3, 4, jnp.where(cell == 4, 3, cell)))),
                   lambda: (pos, dr, carry, mp)]
            s = lax.switch(a, brs)
            p = jnp.pad(s[3], 3, constant_values=1)
            obs = lax.dynamic_slice(p, (s[0][0], s[0][1]), (7, 7))
            return s, (obs.sum(), s[2])
        def one(k, m):
            return lax.scan(step, (jnp.array([6, 6]), 0, 0, m), jax.random.split(k, 40))[1]
        return jax.vmap(one)(jax.random.split(key, maps.shape[0]), maps)
    add('minigrids', grid_env, key, i32(5, 50, 13, 13))
    # MAP-Elites
    def elites(key, x):
        def st(s, k):
            arch, fit = s
            k1, k2 = jax.random.split(k)
            par = arch[jax.random.randint(k1, (40,), 0, 100)]
            ch = jnp.clip(par + .1 * jax.random.normal(k2, par.shape), -1, 1)
            f = -(ch ** 2).sum(1) + jnp.cos(4 * ch).sum(1)
            b = jnp.clip(((ch[:, 0] + 1) * 5).astype(jnp.int32), 0, 9) * 10 + jnp.clip(((ch[:, 1] + 1) * 5).astype(jnp.int32), 0, 9)
            best = jnp.full(100, -jnp.inf).at[b].max(f)
            win = (f == best[b]) & (f > fit[b])
            at = jnp.where(win, b, 100)
            return (arch.at[at].set(ch, mode='drop'), fit.at[at].set(f, mode='drop')), jnp.sum(jnp.isfinite(fit))
        return lax.scan(st, (x, jnp.full(100, -jnp.inf)), jax.random.split(key, 30))
    add('elites_of_a_map', elites, key, uni(100, 7) * 2 - 1)
    # L-BFGS two loops with ring memory
    def lbfgs(x, A, b):
        m, n = 6, len(x)
        f = lambda x: .5 * x @ (A @ x) - b @ x + jnp.sum(jnp.log(jnp.cosh(x)))
        g = jax.grad(f)
        def st(s, k):
            x, gr, S, Y, rho = s
            def lo(i, c):
                q, al = c
                j = (k - 1 - i) % m
                a = rho[j] * S[j] @ q
                return q - a * Y[j], al.at[j].set(a)
            q, al = lax.fori_loop(0, m, lo, (gr, jnp.zeros(m)))
            j = (k - 1) % m
            q = q * jnp.where(k > 0, S[j] @ Y[j] / (Y[j] @ Y[j] + 1e-12), 1.)
            def hi(i, r):
                j = (k + i) % m
                return r + S[j] * (al[j] - rho[j] * Y[j] @ r)
            d = -lax.fori_loop(0, m, hi, q)
            t = lax.while_loop(lambda t: (f(x + t * d) > f(x) + 1e-4 * t * gr @ d) & (t > 1e-4), lambda t: t / 2, 1.)
            x2 = x + t * d
            g2 = g(x2)
            s_, y_ = x2 - x, g2 - gr
            return (x2, g2, S.at[k % m].set(s_), Y.at[k % m].set(y_), rho.at[k % m].set(1 / (s_ @ y_ + 1e-12))), f(x2)
        return lax.scan(st, (x, g(x), jnp.zeros((m, n)), jnp.zeros((m, n)), jnp.zeros(m)), jnp.arange(20))[1]
    Sp = (lambda a: (a @ a.T / 40 + np.eye(90)).astype(np.float32))(f32(90, 40))
    add('quasi_newton_two_loops', lbfgs, f32(90), Sp, f32(90))
    # Mehrotra LP interior point w/ cholesky; SDP-like; Frank-Wolfe; simplex projection; group prox; SOCP cone proj
    def mehrotra(A, b, c):
        m, n = A.shape
        def st(s, _):
            x, y, z = s
            rp, rd = b - A @ x, c - A.T @ y - z
            mu = x @ z / n
            D = x / z
            L = jnp.linalg.cholesky((A * D) @ A.T + 1e-5 * jnp.eye(m))
            def sol(rc):
                rhs = rp + A @ (D * rd - rc / z)
                dy = jax.scipy.linalg.cho_solve((L, True), rhs)
                dz = rd - A.T @ dy
                return (rc - x * dz) / z, dy, dz
            dx, dy, dz = sol(-x * z)
            al = lambda v, d: jnp.minimum(1., .99 * jnp.min(jnp.where(d < 0, -v / jnp.where(d < 0, d, -1), jnp.inf)))
            mua = (x + al(x, dx) * dx) @ (z + al(z, dz) * dz) / n
            dx, dy, dz = sol((mua / mu) ** 3 * mu - x * z - dx * dz)
            return (x + al(x, dx) * dx, y + al(z, dz) * dy, z + al(z, dz) * dz), mu
        return lax.scan(st, (jnp.ones(n), jnp.zeros(m), jnp.ones(n)), None, 5)[1]
    Alp = uni(20, 47)
    add('predictor_corrector_program', mehrotra, Alp, Alp @ np.ones(47, np.float32), uni(47) + .1)
    add('predictor_corrector_programs', jax.vmap(mehrotra, (None, None, 0)), Alp, Alp @ np.ones(47, np.float32), uni(13, 47) + .1)
    def simp(v):
        u = -jnp.sort(-v, axis=1)
        c = (jnp.cumsum(u, 1) - 1) / jnp.arange(1, v.shape[1] + 1)
        k = jnp.sum(u > c, 1)
        return jnp.maximum(v - jnp.take_along_axis(c, k[:, None] - 1, 1), 0)
    add('simplex_projected', simp, f32(211, 67))
    add('sparsemax_gradient', jax.grad(lambda v, w: jnp.sum(simp(v) * w)), f32(101, 45), f32(101, 45))
    def fw(A, b):
        def st(x, k):
            g = A.T @ (A @ x - b)
            i = jnp.argmax(jnp.abs(g))
            s = jnp.zeros_like(x).at[i].set(-3 * jnp.sign(g[i]))
            d = s - x
            Ad = A @ d
            t = jnp.clip(-(g @ d) / (Ad @ Ad + 1e-9), 0, 1)
            return x + t * d, g @ d
        return lax.scan(st, jnp.zeros(A.shape[1]), jnp.arange(40))[1]
    add('conditional_gradients', fw, f32(70, 151) * .1, f32(70))
    # Steihaug CG trust region with while, jvp of grad
    def steihaug(x, X, y):
        f = lambda w: jnp.mean(jax.nn.softplus(-y * (X @ w))) + .01 * w @ w
        g = jax.grad(f)
        def outer(s, _):
            x, rad = s
            gr = g(x)
            hv = lambda p: jax.jvp(g, (x,), (p,))[1]
            def body(c):
                z, r, d, k, _ = c
                Bd = hv(d)
                dBd = d @ Bd
                al = r @ r / dBd
                z2 = z + al * d
                a, b, c_ = d @ d, 2 * z @ d, z @ z - rad ** 2
                tau = (-b + jnp.sqrt(jnp.maximum(b * b - 4 * a * c_, 0))) / (2 * a)
                out = (dBd <= 0) | (z2 @ z2 >= rad ** 2)
                r2 = r + al * Bd
                return jnp.where(out, z + tau * d, z2), r2, -r2 + (r2 @ r2) / (r @ r) * d, k + 1, out
            z = lax.while_loop(lambda c: (c[3] < 10) & ~c[4] & (c[1] @ c[1] > 1e-8), body, (jnp.zeros_like(x), gr, -gr, 0, jnp.bool_(False)))[0]
            ratio = (f(x) - f(x + z)) / (-(gr @ z + .5 * z @ hv(z)) + 1e-12)
            return (jnp.where(ratio > .1, x + z, x), jnp.where(ratio > .75, 2 * rad, jnp.where(ratio < .25, rad / 4, rad))), f(x)
        return lax.scan(outer, (x, 1.), None, 6)[1]
    add('trust_region_newton', steihaug, f32(31), f32(403, 31), np.sign(f32(403)))
    # t-copula negative log-likelihood hessian (jacfwd of jacrev)
    def tcop(th, u):
        rho, nu = jnp.tanh(th[0]), 2 + jnp.exp(th[1])
        x = u * (1 + 1 / nu)
        q = (x[:, 0] ** 2 - 2 * rho * x[:, 0] * x[:, 1] + x[:, 1] ** 2) / (1 - rho ** 2)
        lg = jax.scipy.special.gammaln
        return -jnp.mean(lg((nu + 2) / 2) + lg(nu / 2) - 2 * lg((nu + 1) / 2) - .5 * jnp.log(1 - rho ** 2) - (nu + 2) / 2 * jnp.log1p(q / nu) + (nu + 1) / 2 * jnp.log1p(x ** 2 / nu).sum(1))
    add('copula_hessian', jax.jacfwd(jax.jacrev(tcop)), np.array([.3, 1.], np.float32), f32(1001, 2))
    # rough Bergomi by FFT convolution paths
    def rbergomi(key, xi):
        n, m = 64, 301
        k1, k2 = jax.random.split(key)
        dw = jax.random.normal(k1, (m, n)) / 8; dz = jax.random.normal(k2, (m, n)) / 8
        g = ((jnp.arange(n) + 1.) / n) ** -.43
        Y = jnp.fft.irfft(jnp.fft.rfft(dw, 2 * n) * jnp.fft.rfft(g, 2 * n), 2 * n)[:, :n] * .37
        V = xi * jnp.exp(1.9 * Y - .5 * 1.9 ** 2 * ((jnp.arange(n) + 1.) / n) ** .14)
        dB = -.9 * dw + .436 * dz
        X = jnp.cumsum(jnp.sqrt(V) * dB - .5 * V / n, 1)
        return jnp.mean(jnp.maximum(jnp.exp(X[:, -1:]) - jnp.linspace(.8, 1.2, 11), 0), 0)
    add('rough_volatility', rbergomi, key, np.float32(.04))
    add('rough_volatility_greeks', jax.jacfwd(rbergomi, 1), key, np.float32(.04))
    # PINN: third derivatives (KdV) by nested jvp, loss gradient
    def kdv(p, X):
        net = lambda x, t: (jnp.tanh(jnp.tanh(jnp.stack([x, t]) @ p[0] + p[1]) @ p[2]) @ p[3])[0]
        def res(x, t):
            ux = jax.grad(net); uxx = jax.grad(ux); uxxx = jax.grad(uxx)
            return jax.grad(net, 1)(x, t) + net(x, t) * ux(x, t) + .0025 * uxxx(x, t)
        return jnp.mean(jax.vmap(res)(X[:, 0], X[:, 1]) ** 2)
    add('third_derivative_net_gradient', jax.grad(kdv), (f32(2, 20), f32(20), f32(20, 20) * .3, f32(20, 1) * .3), f32(150, 2))
    from jax.experimental import jet
    def jet_lap(p, X):
        f = lambda x: (jnp.tanh(x @ p[0]) @ p[1])[0]
        def one(x, e):
            y, (d1, d2) = jet.jet(f, (x,), ((e, jnp.zeros_like(e)),))
            return d2
        return jax.vmap(lambda x: jax.vmap(lambda e: one(x, e))(jnp.eye(3)).sum())(X)
    add('laplacian_by_taylor', jet_lap, (f32(3, 64), f32(64, 1)), f32(333, 3))
    # hypergradient via custom_root / implicit CG: ridge lambda per feature
    def hyper(lam, X, y, Xv, yv):
        def inner(lam):
            A = lambda w: X.T @ (X @ w) / len(y) + jnp.exp(lam) * w
            return lax.custom_linear_solve(A, X.T @ y / len(y), lambda A, b: jax.scipy.sparse.linalg.cg(A, b, maxiter=20)[0], symmetric=True)
        return jnp.mean((Xv @ inner(lam) - yv) ** 2)
    add('hypergradient_of_ridge', jax.grad(hyper), f32(30), f32(120, 30), f32(120), f32(80, 30), f32(80))
    # MAML second-order with conv net
    def maml(p, xs, ys, xq, yq):
        def net(p, x):
            h = jax.nn.relu(lax.conv_general_dilated(x, p[0], (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')))
            h = jax.nn.relu(lax.conv_general_dilated(h, p[1], (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')))
            return h.mean((1, 2)) @ p[2]
        ls = lambda p, x, y: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(net(p, x)), y[:, None], 1))
        def task(x, y, xq, yq):
            q = jax.tree.map(lambda a, g: a - .1 * g, p, jax.grad(ls)(p, x, y))
            return ls(q, xq, yq)
        return jax.vmap(task)(xs, ys, xq, yq).mean()
    add('second_order_maml_conv', jax.grad(maml), (f32(3, 3, 1, 8) * .3, f32(3, 3, 8, 8) * .2, f32(8, 5) * .3), f32(3, 5, 14, 14, 1), i32(5, 3, 5), f32(3, 7, 14, 14, 1), i32(5, 3, 7))
    # per-example conv gradients with clipping (DP-SGD)
    def dps(p, x, y):
        def l(p, x, y):
            h = jax.nn.relu(lax.conv_general_dilated(x[None], p[0], (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')))
            return -jax.nn.log_softmax(h.reshape(-1) @ p[1])[y]
        g = jax.vmap(jax.grad(l), (None, 0, 0))(p, x, y)
        n = jnp.sqrt(sum(jnp.sum(a ** 2, tuple(range(1, a.ndim))) for a in g))
        s = jnp.minimum(1, 1 / n)
        return jax.tree.map(lambda a: jnp.tensordot(s, a, 1), g)
    add('clipped_gradients_of_each', dps, (f32(5, 5, 3, 10) * .1, f32(640, 10) * .1), f32(33, 16, 16, 3), i32(10, 33))
    # vmapped switch with 24 branches; switch on scalar in scan with heavy branches
    brs = [functools.partial(lambda k, x: .4 * jnp.sin(x + k) * (k % 3) + .3 * jnp.cos(x) ** (k % 4 + 1), k) for k in range(24)]
    add('switch_of_24_vmapped', jax.vmap(lambda i, x: lax.switch(i, brs, x)), i32(24, 57), f32(57, 19))
    add('switch_of_24_in_scan', lambda i, x: lax.scan(lambda c, j: (.9 * lax.switch(j, brs, c), c.sum()), x, i), i32(24, 100), f32(40))
    add('switch_of_24_gradient', jax.grad(lambda x, i: jnp.sum(lax.scan(lambda c, j: (.9 * lax.switch(j, brs, c), c.sum()), x, i)[1])), f32(40), i32(24, 30))
    # ARD GP marginal likelihood hessian
    def gp(th, X, y):
        d = ((X[:, None] - X[None]) * jnp.exp(-th[:4]))
        r = jnp.sqrt((d * d).sum(-1) + 1e-9)
        K = jnp.exp(th[4]) * (1 + 3 ** .5 * r) * jnp.exp(-3 ** .5 * r) + (1e-3 + jnp.exp(th[5])) * jnp.eye(len(y))
        L = jnp.linalg.cholesky(K)
        a = jax.scipy.linalg.solve_triangular(L, y, lower=True)
        return .5 * a @ a + jnp.sum(jnp.log(jnp.diag(L)))
    add('gaussian_process_hessian', jax.hessian(gp), np.array([0, .1, -.1, .2, 0, -1], np.float32), f32(50, 4), f32(50))
    # RBM CD-k, SOM, Hopfield, SMO SVM, decision-tree histogram, isolation forest
    def rbm(W, a, b, v, key):
        def gibbs(v, k):
            k1, k2 = jax.random.split(k)
            h = jax.random.bernoulli(k1, jax.nn.sigmoid(v @ W + b)).astype(jnp.float32)
            return jax.random.bernoulli(k2, jax.nn.sigmoid(h @ W.T + a)).astype(jnp.float32), None
        vk, _ = lax.scan(gibbs, v, jax.random.split(key, 5))
        return W + .1 * (v.T @ jax.nn.sigmoid(v @ W + b) - vk.T @ jax.nn.sigmoid(vk @ W + b)) / len(v), jnp.mean((v - vk) ** 2)
    add('boltzmann_machine_step', rbm, f32(100, 40) * .1, f32(100), f32(40), (R.rand(61, 100) < .5).astype(np.float32), key)
    def som(W, X):
        gy, gx = jnp.meshgrid(jnp.arange(11), jnp.arange(9), indexing='ij')
        g = jnp.stack([gy, gx], -1).reshape(-1, 2)
        def st(W, x):
            b = jnp.argmin(((W - x) ** 2).sum(1))
            h = jnp.exp(-((g - g[b]) ** 2).sum(1) / 4.)
            return W + .1 * h[:, None] * (x - W), b
        return lax.scan(st, W, X)
    add('self_organising_map', som, f32(99, 7), f32(150, 7))
    def smo(K, y):
        n = len(y)
        def st(s, _):
            al, g = s
            up = ((y > 0) & (al < 1)) | ((y < 0) & (al > 0)); lo_ = ((y > 0) & (al > 0)) | ((y < 0) & (al < 1))
            i = jnp.argmax(jnp.where(up, -y * g, -jnp.inf)); j = jnp.argmin(jnp.where(lo_, -y * g, jnp.inf))
            et = jnp.maximum(K[i, i] + K[j, j] - 2 * K[i, j], 1e-6)
            t = (-y[i] * g[i] + y[j] * g[j]) / et
            hi = jnp.minimum(jnp.where(y[i] > 0, 1 - al[i], al[i]), jnp.where(y[j] > 0, al[j], 1 - al[j]))
            t = jnp.clip(t, 0, hi)
            return (al.at[i].add(y[i] * t).at[j].add(-y[j] * t), g + t * y * (K[:, i] - K[:, j])), t
        return lax.scan(st, (jnp.zeros(n), -jnp.ones(n)), None, 120)[0][0]
    Xk = f32(130, 5)
    add('support_vectors_by_pairs', smo, np.exp(-((Xk[:, None] - Xk[None]) ** 2).sum(-1) / 4).astype(np.float32), np.sign(f32(130)))
    def treehist(bins, g, h):
        # level-wise tree growth, depth 4
        node = jnp.zeros(len(g), jnp.int32)
        F = bins.shape[1]
        out = []
        for d in range(4):
            n = 1 << d
            idx = (node[:, None] * F + jnp.arange(F)) * 32 + bins
            H = jnp.zeros((n * F * 32, 2)).at[idx.reshape(-1)].add(jnp.repeat(jnp.stack([g, h], 1), F, 0)).reshape(n, F, 32, 2)
            L = jnp.cumsum(H, 2); T = L[:, :, -1:]
            gain = L[..., 0] ** 2 / (L[..., 1] + 1) + (T - L)[..., 0] ** 2 / ((T - L)[..., 1] + 1)
            best = jnp.argmax(gain.reshape(n, -1), 1)
            f, b = best // 32, best % 32
            out.append(best)
            node = 2 * node + (jnp.take_along_axis(bins, f[node][:, None], 1)[:, 0] > b[node])
        return jnp.concatenate(out), jnp.bincount(node, length=16)
    add('tree_grown_by_histograms', treehist, i32(32, 1501, 9), f32(1501), uni(1501))
    # LinUCB with Sherman-Morrison over arms
    def linucb(ctx, th):
        def st(s, x):
            Ai, b = s
            w = jnp.einsum('aij,aj->ai', Ai, b)
            u = w @ x + jnp.sqrt(jnp.einsum('i,aij,j->a', x, Ai, x))
            a = jnp.argmax(u)
            r = th[a] @ x
            Ax = Ai[a] @ x
            return (Ai.at[a].add(-jnp.outer(Ax, Ax) / (1 + x @ Ax)), b.at[a].add(r * x)), r
        return lax.scan(st, (jnp.tile(jnp.eye(10), (7, 1, 1)), jnp.zeros((7, 10))), ctx)[1]
    add('bandit_with_contexts', linucb, f32(200, 10), f32(7, 10))
    # Gromov-Wasserstein
    def gw(C1, C2):
        n, m = len(C1), len(C2)
        T = jnp.full((n, m), 1 / (n * m))
        def st(T, _):
            cost = (C1 ** 2).mean(1)[:, None] + (C2 ** 2).mean(1)[None] - 2 * C1 @ T @ C2.T
            K = jnp.exp(-cost / .5)
            def sk(_, uv):
                u = (1 / n) / (K @ uv[1])
                return u, (1 / m) / (K.T @ u)
            u, v = lax.fori_loop(0, 20, sk, (jnp.ones(n), jnp.ones(m)))
            return u[:, None] * K * v, None
        return lax.scan(st, T, None, 5)[0]
    add('gromov_transport', gw, uni(45, 45), uni(51, 51))
    add('sliced_transport_gradient', jax.grad(lambda x, y, th: jnp.mean((jnp.sort(x @ th, 0) - jnp.sort(y @ th, 0)) ** 2)), f32(203, 5), f32(203, 5), f32(5, 50))
    # S5 complex diagonal scan w/ bidirectional; S4D kernel by Vandermonde & FFT conv gradient
    def s5(p, u):
        Lam = -jnp.exp(p['re']) + 1j * p['im']
        A = jnp.exp(Lam * p['dt'])
        Bu = u.astype(jnp.complex64) @ ((A - 1) / Lam * (p['Br'] + 1j * p['Bi']))
        op = lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1])
        _, xs = lax.associative_scan(op, (jnp.broadcast_to(A, Bu.shape), Bu))
        _, xb = lax.associative_scan(op, (jnp.broadcast_to(A, Bu.shape), Bu), reverse=True)
        return jnp.real(jnp.concatenate([xs, xb], 1) @ (p['Cr'] + 1j * p['Ci'])) + u * p['D']
    s5p = dict(re=f32(16) * .1, im=f32(16) * 3, dt=uni(16) * .1 + .01, Br=f32(12, 16), Bi=f32(12, 16), Cr=f32(32, 12), Ci=f32(32, 12), D=f32(12))
    add('s5_two_ways', s5, s5p, f32(301, 12))
    add('s5_two_ways_gradient', jax.grad(lambda p, u: jnp.mean(s5(p, u) ** 2)), s5p, f32(301, 12))
    def s4d(C, A, u):
        l = u.shape[1]
        K = 2 * jnp.real(jnp.einsum('hn,hnl->hl', C[..., 0] + 1j * C[..., 1], jnp.exp((-jnp.exp(A[..., :1]) + 1j * A[..., 1:]) * jnp.arange(l) * .01)))
        return jnp.mean(jnp.fft.irfft(jnp.fft.rfft(u, 2 * l) * jnp.fft.rfft(K, 2 * l), 2 * l)[..., :l] ** 2)
    add('s4d_kernel_gradient', jax.grad(s4d, (0, 1)), f32(10, 16, 2), f32(10, 16, 2), f32(10, 250))
    # CRF with constraints; LDS EM; particle Gibbs ancestors; forward filter backward sampling
    def ffbs(key, ll, T):
        def f(a, l):
            a = jax.nn.logsumexp(a[:, None] + T, 0) + l
            return a - jax.nn.logsumexp(a), a
        _, al = lax.scan(f, jnp.zeros(7), ll)
        def b(s, x):
            k, a = x
            s = jax.random.categorical(k, a + T[:, s])
            return s, s
        return lax.scan(b, 0, (jax.random.split(key, len(ll)), al), reverse=True)[1]
    add('states_sampled_backwards', ffbs, key, f32(120, 7), f32(7, 7))
    # deep sets/pointnet++ ball query, transformer w/ relative position bias; Conformer conv module
    def conformer(p, x):
        h = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        h = h @ p['pw1']
        h = h[..., :48] * jax.nn.sigmoid(h[..., 48:])
        h = lax.conv_general_dilated(h, p['dw'], (1,), 'SAME', dimension_numbers=('NWC', 'WIO', 'NWC'), feature_group_count=48)
        m, v = h.mean((0, 1)), h.var((0, 1))
        h = jax.nn.silu((h - m) * lax.rsqrt(v + 1e-5) * p['g'])
        return x + h @ p['pw2']
    cp = dict(pw1=f32(48, 96) * .1, dw=f32(15, 1, 48) * .2, g=f32(48), pw2=f32(48, 48) * .1)
    add('conformer_convolution', conformer, cp, f32(3, 97, 48))
    add('conformer_convolution_gradient', jax.grad(lambda p, x: jnp.mean(conformer(p, x) ** 2)), cp, f32(3, 97, 48))
    def unet1(p, x, t):
        e = jnp.sin(t[:, None] * jnp.exp(-jnp.arange(16) / 3)) @ p['t']
        cv = lambda x, w, s=1: lax.conv_general_dilated(x, w, (s, s), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
        gn = lambda x: ((lambda y: ((y - y.mean((1, 2, 4), keepdims=True)) * lax.rsqrt(y.var((1, 2, 4), keepdims=True) + 1e-5)).reshape(x.shape))(x.reshape(*x.shape[:3], 4, -1)))
        a = jax.nn.silu(gn(cv(x, p['a'])) + e[:, None, None])
        b = jax.nn.silu(gn(cv(a, p['b'], 2)))
        q, k, v = jnp.split(b.reshape(b.shape[0], -1, 16) @ p['qkv'], 3, -1)
        b = b + (jax.nn.softmax(q @ k.transpose(0, 2, 1) / 4, -1) @ v).reshape(b.shape)
        u = jax.image.resize(b, (b.shape[0], *a.shape[1:3], 16), 'nearest')
        return cv(jnp.concatenate([u, a], -1), p['c'])
    up = dict(t=f32(16, 16) * .3, a=f32(3, 3, 3, 16) * .2, b=f32(3, 3, 16, 16) * .1, qkv=f32(16, 48) * .2, c=f32(3, 3, 32, 3) * .1)
    add('flow_matching_unet_gradient', jax.grad(lambda p, x0, x1, t: jnp.mean((unet1(p, x0 * (1 - t[:, None, None, None]) + x1 * t[:, None, None, None], t) - (x1 - x0)) ** 2)), up, f32(3, 18, 22, 3), f32(3, 18, 22, 3), uni(3))
    def edm(p, x):
        sig = jnp.append(((80 ** (1 / 7) + jnp.arange(6) / 5 * (.002 ** (1 / 7) - 80 ** (1 / 7))) ** 7), 0.)
        D = lambda x, s: x / (s * s + 1) + .5 * s / jnp.sqrt(s * s + 1) * unet1(p, x / jnp.sqrt(s * s + 1), jnp.full(x.shape[0], jnp.log(s + 1e-8) / 4))
        def st(x, ss):
            s0, s1 = ss
            d = (x - D(x, s0)) / s0
            xe = x + (s1 - s0) * d
            d2 = (xe - D(xe, s1)) / jnp.maximum(s1, 1e-4)
            return jnp.where(s1 > 0, x + (s1 - s0) * .5 * (d + d2), xe), None
        return lax.scan(st, x * 80, (sig[:-1], sig[1:]))[0]
    add('edm_sampler', edm, up, f32(1, 18, 22, 3))
    return P
