"""Robots: arms and their bodies, attitudes, plans by samples and by searches, maps, safe controls."""
import numpy as np

from by_value import Programs, Random

R = Random(109)
f32, i32 = R.f32, R.i32
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    key = np.array([8, 21], np.uint32)

    # Arms.
    alpha, a, d = (np.array(v, np.float32) for v in ([1.57, 0, 1.57, -1.57, 1.57, 0], [0, 0.4, 0.03, 0, 0, 0], [0.3, 0, 0, 0.4, 0, 0.1]))
    def link(t, al, a, d):
        c, s, ca, sa = jnp.cos(t), jnp.sin(t), jnp.cos(al), jnp.sin(al)
        return jnp.array([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]])
    def hand(q):
        return lax.scan(lambda T, x: ((lambda T: (T, T))(T @ link(*x))), jnp.eye(4), (q, alpha, a, d))
    def written_out(q):
        T = jnp.eye(4)
        for i in range(6):
            T = T @ link(q[i], alpha[i], a[i], d[i])
        return T
    add('hand_of_an_arm', lambda q: hand(q)[0], f32(6))
    add('hands_of_many_arms', jax.vmap(written_out), f32(500, 6))
    add('jacobians_of_arms', jax.vmap(jax.jacfwd(lambda q: hand(q)[0][:3, 3])), f32(100, 6))
    def inverse(q, target):
        def step(_, q):
            e = target - written_out(q)[:3, 3]
            j = jax.jacfwd(lambda q: written_out(q)[:3, 3])(q)
            return q + j.T @ jnp.linalg.solve(j @ j.T + 0.01 * jnp.eye(3), e)
        return lax.fori_loop(0, 20, step, q)
    add('angles_to_reach', inverse, f32(6) * 0.3, np.array([0.3, 0.2, 0.4], np.float32))
    add('angles_to_reach_many', jax.vmap(inverse), f32(40, 6) * 0.3, (np.array([0.3, 0.2, 0.4]) + 0.05 * f32(40, 3)).astype(np.float32))

    def cross(v):
        return jnp.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    def motion(v):
        return jnp.block([[cross(v[:3]), jnp.zeros((3, 3))], [cross(v[3:]), cross(v[:3])]])
    def transform(q, p):
        c, s = jnp.cos(q), jnp.sin(q)
        E = jnp.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        return jnp.block([[E, jnp.zeros((3, 3))], [-E @ cross(p), E]])
    axis = np.array([0, 0, 1, 0, 0, 0], np.float32)
    def newton_euler(q, qd, qdd, offsets, inertia):
        def outward(s, x):
            v, acc = s
            q, qd, qdd, p, I = x
            X = transform(q, p)
            v = X @ v + axis * qd
            acc = X @ acc + axis * qdd + motion(v) @ (axis * qd)
            return (v, acc), (X, I @ acc - motion(v).T @ (I @ v))
        X, f = lax.scan(outward, (jnp.zeros(6), jnp.array([0, 0, 0, 0, 0, 9.81])), (q, qd, qdd, offsets, inertia))[1]
        def inward(f, x):
            X, own = x
            f = f + own
            return X.T @ f, axis @ f
        return lax.scan(inward, jnp.zeros(6), (X, f), reverse=True)[1]
    def mass(q, p, I):
        return jax.jacfwd(lambda qdd: newton_euler(q, 0 * q, qdd, p, I))(jnp.zeros_like(q))
    body = f32(7, 6, 6) * 0.1
    inertia = (body @ body.transpose(0, 2, 1) + np.eye(6)).astype(np.float32)
    add('torques_of_an_arm', newton_euler, f32(7), f32(7), f32(7), f32(7, 3) * 0.3, inertia)
    add('torques_of_many_arms', jax.vmap(newton_euler, (0, 0, 0, None, None)), f32(60, 7), f32(60, 7), f32(60, 7), f32(7, 3) * 0.3, inertia)
    add('mass_matrix', mass, f32(7), f32(7, 3) * 0.3, inertia)
    def swing(q, qd, p, I):
        def step(s, _):
            q, qd = s
            qdd = jnp.linalg.solve(mass(q, p, I), -newton_euler(q, qd, 0 * q, p, I))
            qd = 0.99 * (qd + 0.005 * qdd)
            return (q + 0.005 * qd, qd), q
        return lax.scan(step, (q, qd), None, length=30)[1]
    add('falling_arm', swing, f32(7) * 0.1, f32(7) * 0.1, f32(7, 3) * 0.3, inertia)

    # Attitudes.
    def times(p, q):
        return jnp.concatenate([p[..., :1] * q[..., :1] - (p[..., 1:] * q[..., 1:]).sum(-1, keepdims=True),
                                p[..., :1] * q[..., 1:] + q[..., :1] * p[..., 1:] + jnp.cross(p[..., 1:], q[..., 1:])], -1)
    def turned(q, v):
        t = 2 * jnp.cross(q[..., 1:], v)
        return v + q[..., :1] * t + jnp.cross(q[..., 1:], t)
    def complementary(gyro, acc):
        def step(q, x):
            w, g = x
            e = jnp.cross(g / jnp.linalg.norm(g), turned(q * jnp.array([1, -1, -1, -1]), jnp.array([0, 0, 1.])))
            q = q + 0.005 * times(q, jnp.concatenate([jnp.zeros(1), w + 0.5 * e]))
            q = q / jnp.linalg.norm(q)
            return q, q
        return lax.scan(step, jnp.array([1., 0, 0, 0]), (gyro, acc))[1]
    add('attitude_from_sensors', complementary, f32(800, 3) * 0.2, f32(800, 3) * 0.1 + np.array([0, 0, 1], np.float32))
    def slerp(p, q, t):
        d = (p * q).sum(-1, keepdims=True)
        q, d = jnp.where(d < 0, -q, q), jnp.abs(d)
        th = jnp.arccos(jnp.clip(d, -1, 0.9999))
        s = jnp.sin(th)
        return jnp.where(d > 0.9995, p + t * (q - p), (jnp.sin((1 - t) * th) * p + jnp.sin(t * th) * q) / s)
    add('blended_attitudes', lambda p, q, t: slerp(p / jnp.linalg.norm(p, axis=-1, keepdims=True), q / jnp.linalg.norm(q, axis=-1, keepdims=True), t), f32(700, 4), f32(700, 4),
        R.rand(700, 1).astype(np.float32))
    def quadrotor(s, u):
        p, v, q, w = s[:3], s[3:6], s[6:10], s[10:]
        acc = turned(q, jnp.array([0, 0, 1.]) * u.sum()) - jnp.array([0, 0, 9.81])
        torque = jnp.array([u[0] - u[2], u[1] - u[3], 0.1 * (u[0] - u[1] + u[2] - u[3])])
        J = jnp.array([0.02, 0.02, 0.04])
        return jnp.concatenate([v, acc, 0.5 * times(q, jnp.concatenate([jnp.zeros(1), w])), (torque - jnp.cross(w, J * w)) / J])
    def rk4(f, s, u, h):
        a = f(s, u)
        b = f(s + h / 2 * a, u)
        c = f(s + h / 2 * b, u)
        return s + h / 6 * (a + 2 * b + 2 * c + f(s + h * c, u))
    at_rest = np.zeros(13, np.float32)
    at_rest[6] = 1
    def flight(s, us):
        return lax.scan(lambda s, u: (rk4(quadrotor, s, u, 0.01),) * 2, s, us)[1]
    thrusts = (2.45 + 0.01 * f32(100, 4)).astype(np.float32)
    add('flight', flight, at_rest, thrusts)
    add('flight_gradient', jax.grad(lambda u, s: (flight(s, u)[:, :3] ** 2).sum()), thrusts, at_rest)

    # Plans.
    def cartpole(s, u):
        x, v, th, w = s[..., 0], s[..., 1], s[..., 2], s[..., 3]
        c, sn = jnp.cos(th), jnp.sin(th)
        acc = (u + 0.1 * sn * (0.5 * w * w - 9.8 * c)) / (1 + 0.1 * sn * sn)
        return jnp.stack([x + 0.02 * v, v + 0.02 * acc, th + 0.02 * w, w + 0.04 * (9.8 * sn - acc * c)], -1)
    def path_integral(key, s, u):
        k = jax.random.wrap_key_data(key)
        noise = 2 * jax.random.normal(k, (256, len(u)))
        def cost(us):
            def step(s, u):
                s = cartpole(s, u)
                return s, s[2] ** 2 + 0.1 * s[0] ** 2 + 1e-3 * u * u
            return lax.scan(step, s, us)[1].sum()
        c = jax.vmap(cost)(u + noise)
        w = jax.nn.softmax(-(c - c.min()) / 0.5)
        return u + w @ noise
    add('plan_by_weighted_paths', path_integral, key, np.array([0, 0, 0.2, 0], np.float32), np.zeros(40, np.float32))
    def cross_entropy(key, s):
        def step(s0, k):
            m, sd = s0
            u = m + sd * jax.random.normal(k, (128, 25))
            def cost(us):
                return lax.scan(lambda c, u: (lambda n: (n, n[2] ** 2 + 0.1 * n[0] ** 2))(cartpole(c, u)), s, us)[1].sum()
            best = u[lax.top_k(-jax.vmap(cost)(u), 16)[1]]
            return (best.mean(0), best.std(0) + 0.05), None
        return lax.scan(step, (jnp.zeros(25), jnp.full(25, 2.0)), jax.random.split(jax.random.wrap_key_data(key), 8))[0][0]
    add('plan_by_cross_entropy', cross_entropy, key, np.array([0, 0, 0.2, 0], np.float32))
    def mpc(A, B, x0):
        n, m, N = 4, 1, 20
        def predict(us):
            return lax.scan(lambda x, u: (A @ x + B @ u,) * 2, x0, us.reshape(N, m))[1]
        H = jax.hessian(lambda u: (predict(u) ** 2).sum() + 0.1 * (u ** 2).sum())(jnp.zeros(N * m))
        g = jax.grad(lambda u: (predict(u) ** 2).sum() + 0.1 * (u ** 2).sum())(jnp.zeros(N * m))
        L = jnp.abs(H).sum(1).max()
        def step(_, s):
            u, v, t = s
            new = jnp.clip(v - (H @ v + g) / L, -1, 1)
            t1 = (1 + jnp.sqrt(1 + 4 * t * t)) / 2
            return new, new + (t - 1) / t1 * (new - u), t1
        return lax.fori_loop(0, 50, step, (jnp.zeros(N * m), jnp.zeros(N * m), 1.0))[0]
    add('controls_within_limits', mpc, (np.eye(4) + 0.1 * f32(4, 4)).astype(np.float32), f32(4, 1), f32(4))
    def barrier(x, goal, obstacles, radii):
        def step(x, _):
            u = 1.0 * (goal - x)
            d = x - obstacles
            h = (d ** 2).sum(-1) - radii ** 2
            A, b = 2 * d, -1.0 * h
            def project(_, s):
                u, lam = s
                def one(c, k):
                    u, lam = c
                    new = jnp.maximum(lam[k] + (b[k] - A[k] @ u) / (A[k] @ A[k]), 0)
                    return (u + (new - lam[k]) * A[k], lam.at[k].set(new)), None
                return lax.scan(one, (u, lam), jnp.arange(len(radii)))[0]
            u = lax.fori_loop(0, 5, project, (u, jnp.zeros(len(radii))))[0]
            x = x + 0.05 * u
            return x, x
        return lax.scan(step, x, None, length=40)[1]
    add('controls_kept_safe', barrier, np.array([-2, 0.1], np.float32), np.array([2, 0], np.float32), f32(6, 2), np.abs(f32(6)) * 0.3)
    def tree_plan(key, start, goal, obstacles):
        k = jax.random.split(jax.random.wrap_key_data(key), 200)
        def step(s, x):
            nodes, parents = s
            i, k = x
            k1, k2 = jax.random.split(k)
            target = jnp.where(jax.random.uniform(k1) < 0.1, goal, jax.random.uniform(k2, (2,), minval=-3, maxval=3))
            dist = jnp.where(jnp.arange(len(nodes)) <= i, ((nodes - target) ** 2).sum(-1), jnp.inf)
            near = dist.argmin()
            new = nodes[near] + 0.3 * (target - nodes[near]) / (jnp.sqrt(dist[near]) + 1e-6)
            free = (((new - obstacles) ** 2).sum(-1) > 0.2).all()
            return (nodes.at[i + 1].set(jnp.where(free, new, nodes[near])), parents.at[i + 1].set(near)), free
        return lax.scan(step, (jnp.zeros((201, 2)).at[0].set(start), jnp.zeros(201, int)), (jnp.arange(200), k))
    add('plan_by_a_growing_tree', tree_plan, key, np.array([-2, -2], np.float32), np.array([2, 2], np.float32), f32(15, 2))
    def minimum_snap(points):
        n = len(points) - 1
        def row(t, k):
            return jnp.array([np.prod([i - j for j in range(k)], dtype=float) * (t ** max(i - k, 0)) * (i >= k) for i in range(6)])
        rows, right = [], []
        for s in range(n):
            z = jnp.zeros(6 * n)
            rows += [z.at[6 * s : 6 * s + 6].set(row(0.0, 0)), z.at[6 * s : 6 * s + 6].set(row(1.0, 0))]
            right += [points[s], points[s + 1]]
            if s + 1 < n:
                for k in range(1, 5):
                    rows.append(z.at[6 * s : 6 * s + 6].set(row(1.0, k)).at[6 * s + 6 : 6 * s + 12].set(-row(0.0, k)))
                    right.append(jnp.zeros(3))
        for k in (1, 2):
            rows += [jnp.zeros(6 * n).at[:6].set(row(0.0, k)), jnp.zeros(6 * n).at[-6:].set(row(1.0, k))]
            right += [jnp.zeros(3)] * 2
        return jnp.linalg.solve(jnp.stack(rows), jnp.stack(right))
    add('smooth_flight_through_points', minimum_snap, f32(6, 3))

    # Maps.
    def occupancy(grid, pose, ranges):
        angle = pose[2] + jnp.linspace(-2, 2, 90)
        t = jnp.linspace(0, 1, 40)
        end = jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1) * ranges[:, None]
        at = jnp.clip(((pose[:2] + end[:, None] * t[:, None]) * 5 + 32).astype(int), 0, 63)
        grid = grid.at[at[:, :-1, 0], at[:, :-1, 1]].add(-0.05)
        return jnp.clip(grid.at[at[:, -1, 0], at[:, -1, 1]].add(0.9), -5, 5)
    add('map_of_a_scan', occupancy, np.zeros((64, 64), np.float32), np.array([0.3, -0.2, 0.5], np.float32), np.abs(f32(90)) * 2 + 1)
    def localise(key, particles, grid, ranges):
        angle = jnp.linspace(-2, 2, 20)
        p = particles + 0.05 * jax.random.normal(jax.random.wrap_key_data(key), particles.shape)
        th = p[:, 2:] + angle
        ends = p[:, None, :2] + jnp.stack([jnp.cos(th), jnp.sin(th)], -1) * ranges[:, None]
        xy = jnp.clip((ends * 8 + 32).astype(int), 0, 63)
        w = jax.nn.softmax(-grid[xy[..., 0], xy[..., 1]].sum(1))
        u = (0.5 + jnp.arange(len(p))) / len(p)
        return p[jnp.searchsorted(jnp.cumsum(w), u)], (w[:, None] * p).sum(0)
    add('particles_on_a_map', localise, key, f32(300, 3), np.abs(f32(64, 64)), np.abs(f32(20)) * 2)
    def slam(mean, cov, us, zs, seen):
        n = len(mean)
        def step(s, x):
            m, S = s
            u, z, k = x
            th = m[2]
            m = m.at[:3].add(jnp.array([u[0] * jnp.cos(th), u[0] * jnp.sin(th), u[1]]))
            G = jnp.eye(n).at[0, 2].set(-u[0] * jnp.sin(th)).at[1, 2].set(u[0] * jnp.cos(th))
            S = G @ S @ G.T + jnp.diag(jnp.where(jnp.arange(n) < 3, 0.01, 0.0))
            def measure(m):
                d = lax.dynamic_slice(m, (3 + 2 * k,), (2,)) - m[:2]
                return jnp.array([jnp.hypot(d[0], d[1]), jnp.arctan2(d[1], d[0]) - m[2]])
            H = jax.jacfwd(measure)(m)
            e = z - measure(m)
            e = e.at[1].set((e[1] + jnp.pi) % (2 * jnp.pi) - jnp.pi)
            K = jnp.linalg.solve(H @ S @ H.T + 0.1 * jnp.eye(2), H @ S).T
            return (m + K @ e, (jnp.eye(n) - K @ H) @ S), m[:3]
        return lax.scan(step, (mean, cov), (us, zs, seen))[1]
    landmarks = np.concatenate([np.zeros(3), 5 * R.randn(16)]).astype(np.float32)
    add('landmarks_and_poses', slam, landmarks, np.eye(19, dtype=np.float32), 0.1 * f32(50, 2), np.abs(f32(50, 2)) + 2, i32(8, 50))
    def pose_graph(x, edges, z):
        def residual(x):
            a, b = x[edges[:, 0]], x[edges[:, 1]]
            c, s = jnp.cos(a[:, 2]), jnp.sin(a[:, 2])
            d = b[:, :2] - a[:, :2]
            e = jnp.stack([c * d[:, 0] + s * d[:, 1], -s * d[:, 0] + c * d[:, 1], b[:, 2] - a[:, 2]], -1) - z
            return (e / jnp.sqrt(1 + (e * e).sum(-1, keepdims=True))).ravel()
        def step(_, x):
            r, j = residual(x), jax.jacfwd(residual)(x).reshape(-1, x.size)
            return x - jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(j.T @ j + 0.1 * jnp.eye(x.size)), j.T @ r).reshape(x.shape)
        return lax.fori_loop(0, 4, step, x)
    add('graph_of_poses', pose_graph, f32(20, 3), np.stack([np.arange(30) % 20, (np.arange(30) * 7 + 1) % 20], 1).astype(np.int32), f32(30, 3))
    return P
