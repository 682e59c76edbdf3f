"""Simulations on grids that lie between one another: interiors are updated in place, borders are set by rules of their own, sources act at points."""
import numpy as np
from by_value import Programs, Random
R = Random(1301)
f32 = R.f32
FACTOR = 16.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add

    def pulse(h, e):
        def step(i, s):
            h, e = s
            h = h.at[:-1].add(.5 * (e[1:] - e[:-1]))
            e = e.at[1:].add(.5 * (h[1:] - h[:-1]))
            return h, e.at[h.shape[0] // 2].add(jnp.exp(-((i - 30.) / 10) ** 2))
        return lax.fori_loop(0, 100, step, (h, e))
    add('pulse_on_a_line', pulse, f32(201), f32(201))

    def transverse(e, hx, hy):
        def step(i, s):
            e, hx, hy = s
            hx = hx.at[:, :-1].add(-.5 * (e[:, 1:] - e[:, :-1]))
            hy = hy.at[:-1].add(.5 * (e[1:] - e[:-1]))
            e = e.at[1:, 1:].add(.5 * (hy[1:, 1:] - hy[:-1, 1:] - hx[1:, 1:] + hx[1:, :-1]))
            return e.at[e.shape[0] // 2, e.shape[1] // 3].add(jnp.sin(.3 * i)), hx, hy
        return lax.fori_loop(0, 40, step, (e, hx, hy))
    add('transverse_fields', transverse, f32(90, 110), f32(90, 110), f32(90, 110))

    def absorbed(e, b):
        def step(s, i):
            e, b = s
            b = b + .5 * (e[1:] - e[:-1])
            left, right = e[1], e[-2]
            e = e.at[1:-1].add(.5 * (b[1:] - b[:-1]))
            e = e.at[0].set(left).at[-1].set(right)
            return (e.at[40].add(jnp.sin(.1 * i)), b), e[7]
        return lax.scan(step, (e, b), jnp.arange(100.))
    add('absorbing_ends', absorbed, f32(151), f32(150))

    def plate(t):
        def step(i, t):
            t = t.at[1:-1, 1:-1].set(.25 * (t[2:, 1:-1] + t[:-2, 1:-1] + t[1:-1, 2:] + t[1:-1, :-2]))
            t = t.at[0].set(1.).at[-1].set(t[-2]).at[:, 0].set(t[:, 1]).at[:, -1].set(0.)
            return t
        return lax.fori_loop(0, 40, step, t)
    add('plate_with_mixed_borders', plate, f32(97, 101))

    def recorded(u, v):
        receivers = jnp.arange(5, 95, 10)

        def step(s, i):
            u, old = s
            around = jnp.pad(u, 1, mode='edge')
            lap = around[2:, 1:-1] + around[:-2, 1:-1] + around[1:-1, 2:] + around[1:-1, :-2] - 4 * u
            new = 2 * u - old + .2 * v * lap
            new = new.at[50, 3].add((1 - 2 * (.2 * (i - 20)) ** 2) * jnp.exp(-(.2 * (i - 20)) ** 2))
            return (new, u), new[receivers, 2]
        return lax.scan(step, (u, u), jnp.arange(50.))[1]
    add('seismograms', recorded, np.zeros((100, 80), np.float32), np.abs(f32(100, 80)))
    add('seismograms_gradient', lambda v, u: jax.grad(lambda v: (recorded(u, v) ** 2).sum())(v), np.abs(f32(100, 80)), np.zeros((100, 80), np.float32))

    def shallow(h, u, v):
        def step(_, s):
            h, u, v = s
            u = u.at[1:-1].add(-.1 * (h[1:] - h[:-1]) - .01 * u[1:-1])
            v = v.at[:, 1:-1].add(-.1 * (h[:, 1:] - h[:, :-1]) - .01 * v[:, 1:-1])
            return h - .1 * (u[1:] - u[:-1] + v[:, 1:] - v[:, :-1]), u, v
        return lax.fori_loop(0, 40, step, (h, u, v))
    add('shallow_basin', shallow, f32(80, 96), np.zeros((81, 96), np.float32), np.zeros((80, 97), np.float32))

    def cavity(u, v, p):
        def step(_, s):
            u, v, p = s
            div = .5 * (u[1:-1, 2:] - u[1:-1, :-2] + v[2:, 1:-1] - v[:-2, 1:-1])

            def relax(_, p):
                p = p.at[1:-1, 1:-1].set(.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - div))
                return p.at[:, -1].set(p[:, -2]).at[0].set(p[1]).at[:, 0].set(p[:, 1]).at[-1].set(0.)
            p = lax.fori_loop(0, 10, relax, p)
            lap = lambda a: a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4 * a[1:-1, 1:-1]
            u = u.at[1:-1, 1:-1].add(-.05 * (p[1:-1, 2:] - p[1:-1, :-2]) + .02 * lap(u))
            v = v.at[1:-1, 1:-1].add(-.05 * (p[2:, 1:-1] - p[:-2, 1:-1]) + .02 * lap(v))
            return u.at[-1].set(1.).at[0].set(0.), v.at[0].set(0.).at[-1].set(0.), p
        return lax.fori_loop(0, 10, step, (u, v, p))
    add('lid_driven_cavity', cavity, f32(61, 67), f32(61, 67), f32(61, 67))

    def cube(t):
        def step(i, t):
            inner = t[1:-1, 1:-1, 1:-1]
            lap = (t[2:, 1:-1, 1:-1] + t[:-2, 1:-1, 1:-1] + t[1:-1, 2:, 1:-1] + t[1:-1, :-2, 1:-1] + t[1:-1, 1:-1, 2:] + t[1:-1, 1:-1, :-2])
            t = t.at[1:-1, 1:-1, 1:-1].set(inner + .1 * (lap - 6 * inner))
            return t.at[9, 9, 9].set(jnp.cos(.2 * i))
        return lax.fori_loop(0, 10, step, t)
    add('heated_cube', cube, f32(34, 35, 37))

    def pinned(x, v):
        def step(i, s):
            x, v = s
            d = x[1:] - x[:-1]
            f = d * (1 - .1 / jnp.sqrt((d * d).sum(-1, keepdims=True) + 1e-6))
            force = jnp.zeros_like(x).at[:-1].add(f).at[1:].add(-f)
            v = (v + .1 * force).at[0].set(0.)
            x = x + .1 * v
            return x.at[-1].set(jnp.stack([jnp.sin(.1 * i), jnp.cos(.1 * i), 0.])), v
        return lax.fori_loop(0, 40, step, (x, v))
    add('rope_pulled_at_its_end', pinned, f32(120, 3), np.zeros((120, 3), np.float32))

    def shock(r, m, e):
        def step(_, s):
            r, m, e = s
            p = .4 * (e - .5 * m * m / r)
            half = lambda q, f: .5 * (f[1:] + f[:-1]) - .9 * (q[1:] - q[:-1])
            fr, fm, fe = half(r, m), half(m, m * m / r + p), half(e, (e + p) * m / r)
            inner = lambda q, f: q.at[1:-1].add(-.1 * (f[1:] - f[:-1])).at[0].set(q[1]).at[-1].set(q[-2])
            return inner(r, fr), inner(m, fm), inner(e, fe)
        return lax.fori_loop(0, 50, step, (r, m, e))
    add('shock_tube', shock, np.where(np.arange(240) < 120, 1., .125), np.zeros(240), np.where(np.arange(240) < 120, 2.5, .25))

    def maxwell(ex, ey, ez, hx, hy, hz):
        def step(i, s):
            ex, ey, ez, hx, hy, hz = s
            d = lambda a, k: lax.slice_in_dim(a, 1, a.shape[k], axis=k) - lax.slice_in_dim(a, 0, a.shape[k] - 1, axis=k)
            hx = hx.at[:, :-1, :-1].add(.3 * (d(ey, 2)[:, :-1] - d(ez, 1)[:, :, :-1]))
            hy = hy.at[:-1, :, :-1].add(.3 * (d(ez, 0)[:, :, :-1] - d(ex, 2)[:-1]))
            hz = hz.at[:-1, :-1].add(.3 * (d(ex, 1)[:-1] - d(ey, 0)[:, :-1]))
            ex = ex.at[:, 1:, 1:].add(.3 * (d(hz, 1)[:, :, 1:] - d(hy, 2)[:, 1:]))
            ey = ey.at[1:, :, 1:].add(.3 * (d(hx, 2)[1:] - d(hz, 0)[:, :, 1:]))
            ez = ez.at[1:, 1:].add(.3 * (d(hy, 0)[:, 1:] - d(hx, 1)[1:])).at[10, 11, 12].add(jnp.sin(.2 * i))
            return ex, ey, ez, hx, hy, hz
        return lax.fori_loop(0, 8, step, (ex, ey, ez, hx, hy, hz))
    add('fields_in_a_box', maxwell, *[f32(22, 24, 31) for _ in range(6)])

    def elastic(vx, vy, xx, yy, xy, stiffness):
        def step(_, s):
            vx, vy, xx, yy, xy = s
            vx = vx.at[1:-1, 1:-1].add(.1 * (xx[1:-1, 1:-1] - xx[:-2, 1:-1] + xy[1:-1, 1:-1] - xy[1:-1, :-2]))
            vy = vy.at[1:-1, 1:-1].add(.1 * (xy[2:, 1:-1] - xy[1:-1, 1:-1] + yy[1:-1, 2:] - yy[1:-1, 1:-1]))
            dx, dy = vx[2:, 1:-1] - vx[1:-1, 1:-1], vy[1:-1, 1:-1] - vy[1:-1, :-2]
            k = stiffness[1:-1, 1:-1]
            xx = xx.at[1:-1, 1:-1].add(k * (3 * dx + dy))
            yy = yy.at[1:-1, 1:-1].add(k * (dx + 3 * dy))
            xy = xy.at[1:-1, 1:-1].add(k * (vx[1:-1, 2:] - vx[1:-1, 1:-1] + vy[1:-1, 1:-1] - vy[:-2, 1:-1]))
            return vx, vy, xx, yy, xy
        return lax.fori_loop(0, 20, step, (vx, vy, xx, yy, xy))
    add('elastic_waves', elastic, *[f32(83, 91) for _ in range(5)], .05 * np.abs(f32(83, 91)))

    def sandpile(z):
        def step(_, z):
            falls = (z >= 4).astype(jnp.int32)
            z = z - 4 * falls
            z = z.at[1:].add(falls[:-1]).at[:-1].add(falls[1:]).at[:, 1:].add(falls[:, :-1]).at[:, :-1].add(falls[:, 1:])
            return z.at[40, 37].add(1)
        return lax.fori_loop(0, 60, step, z)
    add('sandpile', sandpile, R.i32(8, 79, 81))

    def normalised(x, t):
        def step(_, x):
            x = x / x.sum(1, keepdims=True)
            return x / x.sum(0) * t
        return lax.fori_loop(0, 20, step, x)
    add('rows_and_columns_balanced', normalised, np.abs(f32(190, 210)) + .1, np.abs(f32(210)) + .1)
    return P
