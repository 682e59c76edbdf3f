"""Maps and terrain: slopes, flows of water, views, projections, geodesics, tiles, rasters with holes, interpolation between stations."""
import numpy as np

from by_value import Programs, Random

R = Random(211)
f32, i32 = R.f32, R.i32
FACTOR = 64.0


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add
    y, x = np.mgrid[0:131, 0:173].astype(np.float32)
    terrain = (60 * np.sin(x / 17) * np.cos(y / 23) + 0.3 * x + 2 * R.rand(131, 173)).astype(np.float32)
    lat, lon = (np.float32(R.uniform(-60, 60, 401)), np.float32(R.uniform(-170, 170, 401)))

    def gradients(z):
        p = jnp.pad(z, 1, mode='edge')
        n = lambda i, j: p[1 + i:1 + i + z.shape[0], 1 + j:1 + j + z.shape[1]]
        dx = (n(-1, 1) + 2 * n(0, 1) + n(1, 1) - n(-1, -1) - 2 * n(0, -1) - n(1, -1)) / 240
        dy = (n(1, -1) + 2 * n(1, 0) + n(1, 1) - n(-1, -1) - 2 * n(-1, 0) - n(-1, 1)) / 240
        return dx, dy

    def hillshade(z):
        """Relief shaded by a sun, as bytes, with slope and aspect."""
        dx, dy = gradients(z)
        slope, aspect = jnp.arctan(5 * jnp.hypot(dx, dy)), jnp.arctan2(dy, -dx)
        zenith, azimuth = np.deg2rad(45), np.deg2rad(135)
        s = jnp.cos(zenith) * jnp.cos(slope) + jnp.sin(zenith) * jnp.sin(slope) * jnp.cos(azimuth - aspect)
        return (255 * jnp.clip(s, 0, 1)), slope, aspect
    add('hillshade', hillshade, terrain)

    def hillshades(z):
        """Relief under 6 suns, the lightest of them."""
        dx, dy = gradients(z)
        norm = lax.rsqrt(1 + dx * dx + dy * dy)
        a = jnp.arange(6) * jnp.pi / 3
        lights = jnp.stack([jnp.cos(a) * 0.7, jnp.sin(a) * 0.7, jnp.full(6, 0.7)], -1)
        return jnp.einsum('kc,chw->khw', lights, jnp.stack([-dx, -dy, jnp.ones_like(z)]) * norm).max(0)
    add('lightest_of_six_suns', hillshades, terrain)

    def directions(z):
        p = jnp.pad(z, 1, constant_values=1e9)
        moves = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]
        drops = jnp.stack([(z - p[1 + i:1 + i + z.shape[0], 1 + j:1 + j + z.shape[1]]) / np.float32(np.hypot(i, j)) for i, j in moves])
        best = drops.argmax(0)
        at = jnp.arange(z.size).reshape(z.shape)
        step = jnp.array([i * z.shape[1] + j for i, j in moves])
        return jnp.where(drops.max(0) > 0, at + step[best], at), best

    def flow(z):
        """Water that runs down a terrain, accumulated by passing it on 100 times."""
        to, _ = directions(z)
        to, own = to.ravel(), jnp.arange(z.size)
        start = jnp.ones(z.size)
        def step(s, _):
            total, moving = s
            moving = jnp.zeros(z.size).at[to].add(jnp.where(to != own, moving, 0))
            return (total + moving, moving), None
        return lax.scan(step, (start, start), None, length=100)[0][0].reshape(z.shape)
    add('flow_accumulated', flow, terrain[:61, :67])

    def basins(z):
        """Where the water of each cell ends, by jumping over pointers."""
        to, best = directions(z)
        return lax.fori_loop(0, 9, lambda _, t: t[t], to.ravel()).reshape(z.shape), best.astype(jnp.uint8)
    add('basins_by_pointer_jumping', basins, terrain)

    def filled(z):
        """Depressions that are filled until nothing changes."""
        edge = jnp.pad(jnp.zeros((z.shape[0] - 2, z.shape[1] - 2), bool), 1, constant_values=True)
        w = jnp.where(edge, z, 1e6)
        def body(s):
            w, _, n = s
            p = jnp.pad(w, 1, constant_values=1e9)
            low = jnp.minimum(jnp.minimum(p[:-2, 1:-1], p[2:, 1:-1]), jnp.minimum(p[1:-1, :-2], p[1:-1, 2:]))
            new = jnp.where(edge, z, jnp.maximum(z, jnp.minimum(w, low)))
            return new, (new != w).any(), n + 1
        return lax.while_loop(lambda s: s[1] & (s[2] < 400), body, (w, True, 0))
    add('depressions_filled', filled, terrain[:53, :59])

    def viewshed(z, at):
        """What a watcher sees along 360 rays of 60 steps."""
        a = jnp.arange(360) * (jnp.pi / 180)
        r = jnp.arange(1, 61, dtype=jnp.float32)
        px, py = at[0] + r * jnp.cos(a)[:, None], at[1] + r * jnp.sin(a)[:, None]
        ix, iy = jnp.clip(jnp.round(px).astype(int), 0, z.shape[1] - 1), jnp.clip(jnp.round(py).astype(int), 0, z.shape[0] - 1)
        angle = (z[iy, ix] - z[at[1].astype(int), at[0].astype(int)] - 1.7) / (30 * r)
        highest = lax.cummax(angle, axis=1)
        seen = jnp.concatenate([jnp.ones((360, 1), bool), angle[:, 1:] >= highest[:, :-1]], 1)
        return jnp.zeros(z.shape, bool).at[iy, ix].max(seen)
    add('viewshed', viewshed, terrain, np.array([80, 60], np.float32))

    def haversines(lat, lon):
        """Distances over the sphere between all of 401 places, and each one's nearest."""
        a, o = jnp.deg2rad(lat), jnp.deg2rad(lon)
        h = jnp.sin((a[:, None] - a) / 2) ** 2 + jnp.cos(a)[:, None] * jnp.cos(a) * jnp.sin((o[:, None] - o) / 2) ** 2
        d = 2 * 6371.0 * jnp.arcsin(jnp.sqrt(jnp.clip(h, 0, 1)))
        return d, (d + 1e6 * jnp.eye(len(lat))).min(1)
    add('haversines_of_all', haversines, lat, lon)

    def utm(lat, lon):
        """Transverse Mercator by Krueger's series of sines."""
        n = 0.00167922
        alpha = jnp.array([8.377318e-4, 7.608528e-7, 1.197638e-9])
        zone = jnp.floor((lon + 180) / 6)
        l = jnp.deg2rad(lon - (zone * 6 - 177))
        s = jnp.sin(jnp.deg2rad(lat))
        k = 2 * np.sqrt(n) / (1 + n)
        t = jnp.sinh(jnp.arctanh(s) - k * jnp.arctanh(k * s))
        xi, eta = jnp.arctan2(t, jnp.cos(l)), jnp.arctanh(jnp.sin(l) / jnp.sqrt(1 + t * t))
        j = 2.0 * jnp.arange(1, 4)[:, None]
        e = eta + (alpha[:, None] * jnp.cos(j * xi) * jnp.sinh(j * eta)).sum(0)
        north = xi + (alpha[:, None] * jnp.sin(j * xi) * jnp.cosh(j * eta)).sum(0)
        return 500 + 0.9996 * 6367.449 * e, 0.9996 * 6367.449 * north, zone.astype(jnp.int32)
    add('transverse_mercator', utm, lat, lon)

    def vincenty(a, b):
        """Geodesics of an ellipsoid, iterated until all pairs have converged."""
        f = 1 / 298.257
        u1, u2 = jnp.arctan((1 - f) * jnp.tan(a[0])), jnp.arctan((1 - f) * jnp.tan(b[0]))
        l = b[1] - a[1]
        su1, cu1, su2, cu2 = jnp.sin(u1), jnp.cos(u1), jnp.sin(u2), jnp.cos(u2)
        def parts(lam):
            ss = jnp.hypot(cu2 * jnp.sin(lam), cu1 * su2 - su1 * cu2 * jnp.cos(lam))
            cs = su1 * su2 + cu1 * cu2 * jnp.cos(lam)
            sigma = jnp.arctan2(ss, cs)
            sa = cu1 * cu2 * jnp.sin(lam) / jnp.maximum(ss, 1e-12)
            c2 = 1 - sa * sa
            cm = cs - 2 * su1 * su2 / jnp.maximum(c2, 1e-12)
            return ss, cs, sigma, sa, c2, cm
        def body(s):
            lam, _, n = s
            ss, cs, sigma, sa, c2, cm = parts(lam)
            c = f / 16 * c2 * (4 + f * (4 - 3 * c2))
            new = l + (1 - c) * f * sa * (sigma + c * ss * (cm + c * cs * (2 * cm * cm - 1)))
            return new, jnp.abs(new - lam).max(), n + 1
        lam = lax.while_loop(lambda s: (s[1] > 1e-5) & (s[2] < 30), body, (l, jnp.float32(1), 0))[0]
        ss, cs, sigma, sa, c2, cm = parts(lam)
        u = c2 * 0.0067394967
        big_a, big_b = 1 + u / 16384 * (4096 + u * (320 * u - 768)), u / 1024 * (256 + u * (74 * u - 128))
        return 6356.752 * big_a * (sigma - big_b * ss * (cm + big_b / 4 * cs * (2 * cm * cm - 1)))
    add('geodesics_of_vincenty', vincenty, R.uniform(-1, 1, (2, 523)).astype(np.float32), R.uniform(-1, 1, (2, 523)).astype(np.float32))

    def geodetic(p):
        """Earth-centred positions to latitude, longitude and height by five rounds of Bowring's iteration."""
        e2 = 0.00669438
        r = jnp.hypot(p[:, 0], p[:, 1])
        t = jnp.arctan2(p[:, 2], r * (1 - e2))
        for _ in range(5):
            n = 6378.137 / jnp.sqrt(1 - e2 * jnp.sin(t) ** 2)
            t = jnp.arctan2(p[:, 2] + e2 * n * jnp.sin(t), r)
        return jnp.stack([t, jnp.arctan2(p[:, 1], p[:, 0]), r * jnp.cos(t) + p[:, 2] * jnp.sin(t)], -1)
    add('geodetic_of_cartesian', geodetic, (f32(700, 3) * 4000 + 2000).astype(np.float32))

    def geohash(lat, lon):
        """Letters of geohashes: bits of two coordinates interleaved by halving."""
        def bits(v, low, high, n):
            q = ((v - low) * np.float32((1 << n) / (high - low))).astype(jnp.uint32)
            return (q[:, None] >> jnp.arange(n - 1, -1, -1, dtype=jnp.uint32)) & 1
        a, o = bits(lat, -90, 90, 15), bits(lon, -180, 180, 15)
        code = jnp.stack([o, a], -1).reshape(len(lat), 6, 5) @ jnp.array([16, 8, 4, 2, 1], jnp.uint32)
        return jnp.asarray(np.frombuffer(b'0123456789bcdefghjkmnpqrstuvwxyz', np.uint8))[code]
    add('geohashes', geohash, lat, lon)

    def weighted_inverse(stations, values, grid):
        """A field from 37 stations by inverse distances to the power of 2."""
        d2 = ((grid[:, None] - stations) ** 2).sum(-1) + 1e-6
        w = 1 / d2
        return (w @ values) / w.sum(1, keepdims=True)
    add('inverse_distances', weighted_inverse, f32(37, 2), f32(37, 3), f32(2300, 2))

    def kriged(s, v, g):
        """Ordinary kriging with an exponential variogram: one system, many right sides, and variances."""
        dist = lambda a, b: jnp.sqrt(((a[:, None] - b) ** 2).sum(-1) + 1e-12)
        gamma = lambda h: 0.1 * (h > 1e-5) + 1 - jnp.exp(-h / 0.7)
        n = len(s)
        a = jnp.ones((n + 1, n + 1)).at[:n, :n].set(gamma(dist(s, s))).at[n, n].set(0)
        b = jnp.concatenate([gamma(dist(s, g)), jnp.ones((1, len(g)))])
        w = jnp.linalg.solve(a, b)
        return w[:n].T @ v, (w * b).sum(0)
    add('kriging', kriged, f32(41, 2), f32(41), f32(500, 2))

    def variogram(s, v):
        """Half squared differences of 211 places in 12 bins of distance."""
        d = jnp.sqrt(((s[:, None] - s) ** 2).sum(-1))
        h = (v[:, None] - v) ** 2 / 2
        k = jnp.clip((d * 4).astype(int), 0, 12).ravel()
        total, count = jax.ops.segment_sum(h.ravel(), k, 13), jax.ops.segment_sum(jnp.ones(k.shape), k, 13)
        return total / jnp.maximum(count, 1), count
    add('variogram', variogram, f32(211, 2), f32(211))

    def zonal(values, zones, hole):
        """Counts, means, deviations, extremes of a raster with holes by 19 zones."""
        ok = (values != hole).ravel()
        k = jnp.where(ok, zones.ravel(), 19)
        v = jnp.where(ok, values.ravel(), 0)
        n = jnp.maximum(jax.ops.segment_sum(ok.astype(jnp.float32), k, 20), 1)
        m = jax.ops.segment_sum(v, k, 20) / n
        s = jnp.sqrt(jax.ops.segment_sum(jnp.where(ok, (v - m[k]) ** 2, 0), k, 20) / n)
        return n, m, s, jax.ops.segment_max(v, k, 20), jax.ops.segment_min(v, k, 20)
    holes = terrain.copy()
    holes[R.rand(*holes.shape) < 0.1] = -9999
    add('statistics_of_zones', zonal, holes, i32(19, 131, 173), np.float32(-9999))

    def majority(c):
        """Most frequent of 7 classes in windows of 3 by 3."""
        one = jax.nn.one_hot(c, 7, dtype=jnp.int32, axis=0)
        return lax.reduce_window(one, 0, lax.add, (1, 3, 3), (1, 1, 1), 'SAME').argmax(0).astype(jnp.uint8)
    add('majority_of_classes', majority, R.randint(0, 7, (97, 113)).astype(np.uint8))

    def roughness(z):
        """Terrain ruggedness: absolute differences to eight neighbours, and the range in a window."""
        p = jnp.pad(z, 1, mode='reflect')
        h, w = z.shape
        d = sum(jnp.abs(p[i:i + h, j:j + w] - z) for i in range(3) for j in range(3))
        top = lax.reduce_window(z, -jnp.inf, lax.max, (3, 3), (1, 1), 'SAME')
        low = lax.reduce_window(z, jnp.inf, lax.min, (3, 3), (1, 1), 'SAME')
        return d / 8, top - low
    add('roughness_of_terrain', roughness, terrain)

    def regrid(z, m):
        """A raster through a rotation and scale into another grid, bilinear, where holes weigh nothing."""
        yy, xx = jnp.meshgrid(jnp.arange(90.0), jnp.arange(110.0), indexing='ij')
        sx, sy = m[0, 0] * xx + m[0, 1] * yy + m[0, 2], m[1, 0] * xx + m[1, 1] * yy + m[1, 2]
        x0, y0 = jnp.floor(sx), jnp.floor(sy)
        total = weight = 0.0
        for i in (0, 1):
            for j in (0, 1):
                xi, yi = (x0 + j).astype(int), (y0 + i).astype(int)
                ok = (xi >= 0) & (xi < z.shape[1]) & (yi >= 0) & (yi < z.shape[0])
                v = z[jnp.clip(yi, 0, z.shape[0] - 1), jnp.clip(xi, 0, z.shape[1] - 1)]
                w = (1 - jnp.abs(sx - xi)) * (1 - jnp.abs(sy - yi)) * (ok & (v > -9000))
                total, weight = total + w * jnp.where(v > -9000, v, 0), weight + w
        return jnp.where(weight > 0.5, total / jnp.maximum(weight, 1e-6), -9999)
    add('raster_into_a_turned_grid', regrid, holes, np.array([[1.2, -0.37, 20.3], [0.41, 1.1, -4.7]], np.float32))

    def squares(z, level):
        """Marching squares: cases of cells and where contours cross their edges."""
        b = (z > level).astype(jnp.uint8)
        case = b[:-1, :-1] | b[:-1, 1:] << 1 | b[1:, 1:] << 2 | b[1:, :-1] << 3
        def cross(a, c):
            t = (level - a) / (c - a)
            return jnp.where((t >= 0) & (t <= 1), t, -1)
        return case, cross(z[:, :-1], z[:, 1:]), cross(z[:-1], z[1:]), jnp.bincount(case.ravel(), length=16)
    add('contours_by_squares', squares, terrain, np.float32(12.3))

    def cost_distance(cost):
        """Least cost from a corner over a raster: sweeps in four directions, three times."""
        d = jnp.full(cost.shape, 1e6).at[0, 0].set(0)
        def rows(d, c):
            def step(above, s):
                d, c = s
                left = jnp.pad(above[:-1], (1, 0), constant_values=1e6)
                right = jnp.pad(above[1:], (0, 1), constant_values=1e6)
                new = jnp.minimum(d, c + jnp.minimum(above, 1.41 * jnp.minimum(left, right)))
                return new, new
            return lax.scan(step, jnp.full(d.shape[1], 1e6), (d, c))[1]
        def sweep(_, d):
            for flip in (False, True):
                turn = (lambda a: a[::-1]) if flip else (lambda a: a)
                d = turn(rows(turn(d), turn(cost)))
                d = turn(rows(turn(d.T), turn(cost.T))).T
            return d
        return lax.fori_loop(0, 3, sweep, d)
    add('least_costs_by_sweeps', cost_distance, (1 + R.rand(61, 61)).astype(np.float32))

    def sun(days, lat, hours):
        """Height and azimuth of the sun for days, latitudes and hours."""
        g = 2 * jnp.pi / 365 * (days[:, None, None] - 1 + (hours - 12) / 24)
        decl = 0.006918 - 0.399912 * jnp.cos(g) + 0.070257 * jnp.sin(g) - 0.006758 * jnp.cos(2 * g) + 0.000907 * jnp.sin(2 * g)
        eq = 229.18 * (0.000075 + 0.001868 * jnp.cos(g) - 0.032077 * jnp.sin(g) - 0.014615 * jnp.cos(2 * g))
        ha = jnp.deg2rad((hours * 60 + eq) / 4 - 180)
        l = jnp.deg2rad(lat)[:, None]
        s = jnp.sin(l) * jnp.sin(decl) + jnp.cos(l) * jnp.cos(decl) * jnp.cos(ha)
        return jnp.arcsin(jnp.clip(s, -1, 1)), jnp.arctan2(jnp.sin(ha), jnp.cos(ha) * jnp.sin(l) - jnp.tan(decl) * jnp.cos(l))
    add('places_of_the_sun', sun, np.arange(1, 366, 5, dtype=np.float32), np.linspace(-60, 60, 13, dtype=np.float32),
        np.arange(24, dtype=np.float32))

    def tiles(lat, lon):
        """Tiles and pixels of web maps at zoom levels 3 to 12, and keys of quadrants."""
        s = jnp.sin(jnp.deg2rad(lat))
        fx, fy = lon / 360 + 0.5, 0.5 - jnp.log((1 + s) / (1 - s)) / (4 * jnp.pi)
        z = jnp.arange(3, 13)
        px, py = fx[:, None] * (256 << z), fy[:, None] * (256 << z)
        tx, ty = (px / 256).astype(jnp.int32), (py / 256).astype(jnp.int32)
        k = jnp.arange(11, -1, -1)
        return tx, ty, ((tx[:, -1:] >> k & 1) | (ty[:, -1:] >> k & 1) << 1).astype(jnp.uint8) + 48
    add('tiles_of_web_maps', tiles, lat, lon)

    def simplify(p):
        """Effective areas of a line of 173 points: the least is removed until 40 are left."""
        n = len(p)
        def step(s, _):
            prev, nxt, alive = s
            i = jnp.arange(n)
            a, b = p[prev], p[nxt]
            area = jnp.abs((p[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1]) - (b[:, 0] - a[:, 0]) * (p[:, 1] - a[:, 1]))
            k = jnp.where(alive & (i > 0) & (i < n - 1), area, jnp.inf).argmin()
            return (prev.at[nxt[k]].set(prev[k]), nxt.at[prev[k]].set(nxt[k]), alive.at[k].set(False)), k
        i = jnp.arange(n)
        return lax.scan(step, (jnp.maximum(i - 1, 0), jnp.minimum(i + 1, n - 1), jnp.ones(n, bool)), None, length=n - 40)
    add('line_simplified', simplify, np.cumsum(f32(173, 2), 0).astype(np.float32))

    def map_match(track, segments):
        """Projections of a track on all of 97 road segments, then the likeliest sequence of roads."""
        a, b = segments[:, :2], segments[:, 2:]
        d = b - a
        t = jnp.clip(((track[:, None] - a) * d).sum(-1) / ((d * d).sum(-1) + 1e-6), 0, 1)
        foot = a + t[..., None] * d
        e = ((track[:, None] - foot) ** 2).sum(-1)
        far = ((a[:, None] + b[:, None] - a - b) ** 2).sum(-1) * 0.1
        def step(c, e):
            m = c[:, None] + far
            return m.min(0) + e, m.argmin(0)
        last, back = lax.scan(step, e[0], e[1:])
        k = last.argmin()
        return lax.scan(lambda k, b: (b[k],) * 2, k, back, reverse=True)[1], last.min()
    add('track_matched_to_roads', map_match, np.cumsum(0.3 * f32(67, 2), 0).astype(np.float32), f32(97, 4))
    return P
