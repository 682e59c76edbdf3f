"""Pictures of scenes and the shapes in them: rays, triangles, splats, fields of light, meshes, clouds of points."""
import numpy as np

from by_value import Programs, Random

R = Random(101)
f32, i32 = R.f32, R.i32
FACTOR = 32.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add

    def unit(v):
        return v / jnp.maximum(jnp.linalg.norm(v, axis=-1, keepdims=True), 1e-6)

    # Triangles on a screen.
    def rasterise(corners, colours):
        y, x = jnp.mgrid[0:48, 0:64].astype(jnp.float32) + 0.5
        def edge(a, b):
            return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
        def draw(buffers, triangle):
            depth, image = buffers
            (a, b, c), colour = triangle
            w = jnp.stack([edge(b, c), edge(c, a), edge(a, b)]) / (edge(a, b) + edge(b, c) + edge(c, a) + 1e-9)
            z = w[0] * a[2] + w[1] * b[2] + w[2] * c[2]
            seen = (w >= 0).all(0) & (z < depth)
            return (jnp.where(seen, z, depth), jnp.where(seen[..., None], jnp.einsum('khw,kc->hwc', w, colour), image)), None
        return lax.scan(draw, (jnp.full((48, 64), jnp.inf), jnp.zeros((48, 64, 3))), (corners, colours))[0]
    corners = (R.rand(40, 3, 3) * [64, 48, 5]).astype(np.float32)
    add('triangles_in_order_of_depth', rasterise, corners, R.rand(40, 3, 3).astype(np.float32))

    def soft_silhouette(corners):
        y, x = jnp.mgrid[0:32, 0:32].astype(jnp.float32) + 0.5
        def side(a, b):
            return ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / (jnp.hypot(b[0] - a[0], b[1] - a[1]) + 1e-3)
        def one(t):
            d = jnp.stack([side(t[0], t[1]), side(t[1], t[2]), side(t[2], t[0])])
            return jax.nn.sigmoid(jnp.maximum(d.min(0), -d.max(0)))
        return 1 - jnp.prod(1 - jax.vmap(one)(corners), axis=0)
    add('soft_silhouette_gradient', jax.grad(lambda c: ((soft_silhouette(c) - 0.5) ** 2).sum()), (R.rand(20, 3, 2) * 32).astype(np.float32))

    # Rays.
    def nearest_triangle(origin, rays, triangles):
        def hit(o, d, t):
            e1, e2 = t[1] - t[0], t[2] - t[0]
            h = jnp.cross(d, e2)
            det = e1 @ h
            s = (o - t[0]) / jnp.where(jnp.abs(det) < 1e-8, 1.0, det)
            q = jnp.cross(s, e1)
            u, v, far = s @ h, d @ q, e2 @ q
            return jnp.where((u >= 0) & (v >= 0) & (u + v <= 1) & (far > 1e-4) & (jnp.abs(det) > 1e-8), far, jnp.inf)
        far = jax.vmap(lambda d: jax.vmap(lambda t: hit(origin, d, t))(triangles))(rays)
        at = far.argmin(1)
        t = triangles[at]
        return far.min(1), unit(jnp.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]))
    rays = f32(700, 3) * 0.3 + np.array([0, 0, 1], np.float32)
    add('nearest_triangle_of_rays', nearest_triangle, np.zeros(3, np.float32), rays / np.linalg.norm(rays, axis=1, keepdims=True), f32(80, 3, 3) + np.array([0, 0, 4], np.float32))

    def trace_paths(key, rays, centres, radii, albedo):
        def bounce(s, k):
            o, d, light, through = s
            oc = o[:, None] - centres
            b = (oc * d[:, None]).sum(-1)
            root = b * b - (oc * oc).sum(-1) + radii ** 2
            t = jnp.where(root > 0, -b - jnp.sqrt(jnp.maximum(root, 0)), jnp.inf)
            t = jnp.where(t > 1e-3, t, jnp.inf)
            i, t = t.argmin(1), t.min(1)
            hit = jnp.isfinite(t)[:, None]
            p = o + jnp.where(hit, t[:, None], 0) * d
            n = unit(p - centres[i])
            sky = 0.5 * (d[:, 1:2] + 1) * jnp.array([0.5, 0.7, 1.0])
            light = light + jnp.where(hit, 0, through * sky)
            through = jnp.where(hit, through * albedo[i], 0)
            return (p, jnp.where(hit, unit(n + unit(jax.random.normal(k, d.shape))), d), light, through), None
        s = jnp.zeros_like(rays), rays, jnp.zeros_like(rays), jnp.ones_like(rays)
        return lax.scan(bounce, s, jax.random.split(jax.random.wrap_key_data(key), 4))[0][2].mean(0)
    key = np.array([3, 14], np.uint32)
    rays2 = f32(1000, 3)
    add('paths_of_light', trace_paths, key, rays2 / np.linalg.norm(rays2, axis=1, keepdims=True), f32(12, 3) * 3, np.abs(f32(12)) + 0.2, R.rand(12, 3).astype(np.float32))

    def shape(p):
        q = jnp.abs(p) - jnp.array([0.6, 0.4, 0.5])
        box = jnp.linalg.norm(jnp.maximum(q, 0) + 1e-6) + jnp.minimum(q.max(), 0)
        ring = jnp.hypot(jnp.hypot(p[0], p[2]) - 0.8, p[1]) - 0.2
        h = jnp.clip(0.5 + 0.5 * (ring - box) / 0.1, 0, 1)
        return jnp.minimum(box * h + ring * (1 - h) - 0.1 * h * (1 - h), p[1] + 0.7)
    def soft_shadow(points, light):
        def one(p):
            def body(s):
                i, t, r = s
                d = shape(p + t * light)
                return i + 1, t + jnp.clip(d, 0.02, 0.3), jnp.minimum(r, 8 * d / t)
            return lax.while_loop(lambda s: (s[0] < 40) & (s[1] < 4) & (s[2] > 1e-3), body, (0, 0.05, 1.0))[2]
        n = unit(jax.vmap(jax.grad(shape))(points))
        return jax.vmap(one)(points) * jnp.maximum(n @ light, 0)
    add('soft_shadows', soft_shadow, f32(600, 3), np.array([0.48, 0.8, 0.36], np.float32))

    def mandelbrot(x, y):
        def one(c):
            return lax.while_loop(lambda s: (s[0] < 60) & (jnp.abs(s[1]) < 2), lambda s: (s[0] + 1, s[1] * s[1] + c), (0, 0j * c))[0]
        return jax.vmap(jax.vmap(one))(x[None] + 1j * y[:, None])
    add('escape_times', mandelbrot, np.linspace(-2, 0.6, 60).astype(np.float32), np.linspace(-1.1, 1.2, 45).astype(np.float32))

    # Fields of light.
    def encode(x):
        s = x[..., None] * 2.0 ** jnp.arange(6)
        return jnp.concatenate([x, jnp.sin(s).reshape(*x.shape[:-1], -1), jnp.cos(s).reshape(*x.shape[:-1], -1)], -1)
    def field(p, o, d):
        t = jnp.linspace(2.0, 6.0, 24)
        h = encode(o[:, None] + d[:, None] * t[:, None])
        for w in p[:-1]:
            h = jax.nn.relu(h @ w)
        h = h @ p[-1]
        colour, sigma = jax.nn.sigmoid(h[..., :3]), jax.nn.relu(h[..., 3])
        alpha = 1 - jnp.exp(-sigma * (t[1] - t[0]))
        through = jnp.cumprod(jnp.concatenate([jnp.ones_like(alpha[:, :1]), 1 - alpha[:, :-1] + 1e-10], -1), -1)
        w = alpha * through
        return (w[..., None] * colour).sum(1), (w * t).sum(1)
    net = [f32(39, 48) * 0.2, f32(48, 48) * 0.2, f32(48, 4) * 0.2]
    add('radiance_field', field, net, f32(48, 3), f32(48, 3))
    add('radiance_field_gradient', jax.grad(lambda p, o, d, c: ((field(p, o, d)[0] - c) ** 2).mean()), net, f32(32, 3), f32(32, 3), R.rand(32, 3).astype(np.float32))

    def harmonics(d):
        x, y, z = d[..., 0], d[..., 1], d[..., 2]
        return jnp.stack([0.2820948 + 0 * x, 0.4886025 * y, 0.4886025 * z, 0.4886025 * x, 1.0925484 * x * y, 1.0925484 * y * z,
                          0.3153916 * (3 * z * z - 1), 1.0925484 * x * z, 0.5462742 * (x * x - y * y)], -1)
    def splat(means, scales, turns, opacity, coefficients):
        q = unit(turns)
        w, x, y, z = q.T
        rot = jnp.stack([jnp.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
                         jnp.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
                         jnp.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1)], -2)
        m = rot * jnp.exp(scales)[:, None]
        sigma = m @ jnp.swapaxes(m, -1, -2)
        depth = means[:, 2] + 4
        u = means[:, :2] / depth[:, None] * 30 + 16
        j = jnp.zeros((len(means), 2, 3)).at[:, 0, 0].set(30 / depth).at[:, 1, 1].set(30 / depth)
        j = j.at[:, 0, 2].set(-30 * means[:, 0] / depth ** 2).at[:, 1, 2].set(-30 * means[:, 1] / depth ** 2)
        inverse = jnp.linalg.inv(j @ sigma @ jnp.swapaxes(j, -1, -2) + 0.3 * jnp.eye(2))
        colour = jax.nn.sigmoid(jnp.einsum('nk,nkc->nc', harmonics(unit(means)), coefficients))
        order = jnp.argsort(depth)
        grid = jnp.stack(jnp.meshgrid(jnp.arange(32.0), jnp.arange(32.0)), -1)
        def blend(s, g):
            image, through = s
            u, inv, a, c = g
            e = grid - u
            a = jnp.minimum(jax.nn.sigmoid(a) * jnp.exp(-0.5 * jnp.einsum('hwi,ij,hwj->hw', e, inv, e)), 0.99)
            return (image + (through * a)[..., None] * c, through * (1 - a)), None
        return lax.scan(blend, (jnp.zeros((32, 32, 3)), jnp.ones((32, 32))), (u[order], inverse[order], opacity[order], colour[order]))[0][0]
    gaussians = [f32(50, 3), f32(50, 3) * 0.2 - 1.5, f32(50, 4), f32(50), f32(50, 9, 3)]
    add('splatted_gaussians', splat, *gaussians)
    add('splatted_gaussians_gradient', jax.grad(lambda p, y: jnp.abs(splat(*p) - y).mean()), gaussians, R.rand(32, 32, 3).astype(np.float32))

    def textured(texture, uv, normals, light):
        h, w, _ = texture.shape
        x, y = (uv[..., 0] % 1) * w - 0.5, (uv[..., 1] % 1) * h - 0.5
        x0, y0 = jnp.floor(x), jnp.floor(y)
        fx, fy = (x - x0)[..., None], (y - y0)[..., None]
        xi, yi = x0.astype(int), y0.astype(int)
        def at(y, x):
            return texture[y % h, x % w]
        c = (at(yi, xi) * (1 - fx) + at(yi, xi + 1) * fx) * (1 - fy) + (at(yi + 1, xi) * (1 - fx) + at(yi + 1, xi + 1) * fx) * fy
        n = unit(normals)
        c = c * (0.1 + jnp.maximum(n @ light, 0)[..., None]) + 0.3 * jnp.maximum(2 * n[..., 2:] * (n @ light)[..., None] - light[2], 0) ** 20
        return jnp.clip((c * (2.51 * c + 0.03)) / (c * (2.43 * c + 0.59) + 0.14), 0, 1)
    add('textured_pixels', textured, R.rand(64, 64, 3).astype(np.float32), f32(60, 80, 2), f32(60, 80, 3), np.array([0.6, 0.0, 0.8], np.float32))

    # Meshes.
    vertices, faces = f32(500, 3), i32(500, 900, 3)
    def normals(v, f):
        a, b, c = v[f[:, 0]], v[f[:, 1]], v[f[:, 2]]
        n = jnp.cross(b - a, c - a)
        return unit(jnp.zeros_like(v).at[f].add(n[:, None]))
    add('normals_of_vertices', normals, vertices, faces)

    def cotangents(v, f):
        total, weight = jnp.zeros_like(v), jnp.zeros(len(v))
        for k in range(3):
            i, j, o = f[:, k], f[:, (k + 1) % 3], f[:, (k + 2) % 3]
            a, b = v[i] - v[o], v[j] - v[o]
            w = jnp.clip((a * b).sum(-1) / (jnp.linalg.norm(jnp.cross(a, b), axis=-1) + 1e-4), -5, 5)
            total = total.at[i].add(w[:, None] * (v[j] - v[i])).at[j].add(w[:, None] * (v[i] - v[j]))
            weight = weight.at[i].add(jnp.abs(w)).at[j].add(jnp.abs(w))
        return v + 0.3 * total / (weight[:, None] + 1e-3)
    add('smoothed_mesh', lambda v, f: lax.fori_loop(0, 5, lambda _, v: cotangents(v, f), v), vertices, faces)

    def shell_energy(v, rest, f):
        e = v[f[:, [1, 2, 0]]] - v[f]
        volume = jnp.linalg.det(v[f]).sum() / 6
        return ((jnp.linalg.norm(e, axis=-1) - rest) ** 2).sum() + 0.1 * (volume - 1) ** 2
    add('forces_in_a_shell', jax.value_and_grad(shell_energy), vertices, np.abs(f32(900, 3)), faces)

    def skinned(v, weights, turns, moves):
        q = unit(turns)
        t = 2 * jnp.cross(q[None, :, 1:], v[:, None])
        moved = v[:, None] + q[:, :1] * t + jnp.cross(q[None, :, 1:], t) + moves
        return jnp.einsum('nb,nbc->nc', jax.nn.softmax(weights), moved)
    add('skinned_vertices', skinned, f32(600, 3), f32(600, 12), f32(12, 4), f32(12, 3))

    # Clouds of points.
    def farthest(x):
        def step(s, _):
            far, at = s
            far = jnp.minimum(far, ((x - x[at]) ** 2).sum(-1))
            return (far, far.argmax()), at
        return lax.scan(step, (jnp.full(len(x), jnp.inf), 0), None, length=64)[1]
    add('farthest_points', farthest, f32(1000, 3))
    def chamfer(x, y):
        d = ((x[:, None] - y) ** 2).sum(-1)
        return d.min(0).mean() + d.min(1).mean()
    add('distance_of_clouds_gradient', jax.value_and_grad(chamfer), f32(256, 3), f32(200, 3))
    def surface_features(x):
        d = ((x[:, None] - x) ** 2).sum(-1)
        near = x[lax.top_k(-d, 10)[1]]
        near = near - near.mean(1, keepdims=True)
        w, v = jnp.linalg.eigh(jnp.einsum('nki,nkj->nij', near, near))
        return w[:, 0] / w.sum(-1)
    add('curvature_of_neighbours', surface_features, f32(200, 3))
    def voxels(x):
        cell = jnp.clip(jnp.floor((x + 3) * 3).astype(int), 0, 17)
        at = (cell[:, 0] * 18 + cell[:, 1]) * 18 + cell[:, 2]
        count = jnp.zeros(18 ** 3).at[at].add(1)
        return jnp.zeros((18 ** 3, 3)).at[at].add(x) / jnp.maximum(count, 1)[:, None]
    add('means_of_voxels', voxels, f32(3000, 3))
    def morton(x):
        q = jnp.clip((x * 128 + 512), 0, 1023).astype(jnp.uint32)
        for shift, mask in [(16, 0x030000FF), (8, 0x0300F00F), (4, 0x030C30C3), (2, 0x09249249)]:
            q = (q | (q << shift)) & jnp.uint32(mask)
        return jnp.argsort(q[:, 0] | (q[:, 1] << 1) | (q[:, 2] << 2))
    add('points_along_a_curve', morton, f32(1500, 3))
    def inside(points, polygon):
        a, b = polygon, jnp.roll(polygon, -1, 0)
        x, y = points[:, 0, None], points[:, 1, None]
        cross = ((a[:, 1] > y) != (b[:, 1] > y)) & (x < (b[:, 0] - a[:, 0]) * (y - a[:, 1]) / (b[:, 1] - a[:, 1]) + a[:, 0])
        return cross.sum(1) % 2 == 1
    add('points_in_a_polygon', inside, f32(800, 2), f32(37, 2))
    def wrap(x):
        def step(s, _):
            at, = s
            d = x - x[at]
            def better(best, i):
                c = d[best, 0] * d[i, 1] - d[best, 1] * d[i, 0]
                return jnp.where((best == at) | (c < 0), i, best), None
            return (lax.scan(better, at, jnp.arange(len(x)))[0],), at
        return lax.scan(step, (x[:, 0].argmin(),), None, length=20)[1]
    add('wrapped_hull', wrap, f32(120, 2))
    def curve(points, t):
        return jax.vmap(lambda t: lax.fori_loop(0, 7, lambda _, p: p * (1 - t) + jnp.roll(p, -1, 0) * t, points)[0])(t)
    add('curve_of_control_points', curve, f32(8, 3), np.linspace(0, 1, 300).astype(np.float32))
    return P
