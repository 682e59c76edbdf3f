"""Short rows that share much: samples between pixels with their colours, features looked up by hashes, pictures of a batch that are turned, flipped or chosen
one by one, running sums from the far end, small systems of equations between large steps."""
from by_value import ByShape


def programs(jax):
    jnp, lax, la = jax.numpy, jax.lax, jax.numpy.linalg
    make = ByShape(jax, 47)
    f32, flags = make.f32, make.flags
    unit = lambda *shape: (lambda: jax.random.uniform(make.key, shape))
    whole = lambda most, *shape: (lambda: jax.random.randint(make.key, shape, 0, most))
    bytes_ = lambda *shape: (lambda: jax.random.randint(make.key, shape, 0, 256).astype(jnp.uint8))

    def between(picture, y, x):
        """Bilinear samples of [h, w, c]."""
        h, w = picture.shape[:2]
        y0, x0 = jnp.floor(y), jnp.floor(x)
        wy, wx = (y - y0)[..., None], (x - x0)[..., None]
        at = lambda i, j: picture[jnp.clip(i, 0, h - 1).astype(jnp.int32), jnp.clip(j, 0, w - 1).astype(jnp.int32)].astype(jnp.float32)
        return (at(y0, x0) * (1 - wx) + at(y0, x0 + 1) * wx) * (1 - wy) + (at(y0 + 1, x0) * (1 - wx) + at(y0 + 1, x0 + 1) * wx) * wy

    def warped_by_flow(picture, flow):
        h, w = picture.shape[:2]
        return between(picture, jnp.arange(h)[:, None] + flow[..., 0], jnp.arange(w) + flow[..., 1])

    def by_homography(picture, m):
        y, x = jnp.meshgrid(jnp.arange(120.), jnp.arange(140.), indexing='ij')
        m = jnp.eye(3) + .001 * m
        u, v, s = (m[i, 0] * x + m[i, 1] * y + m[i, 2] for i in range(3))
        return between(picture, v / s, u / s)

    def regions_pooled(features, boxes):
        def one(box):
            y = box[0] * 30 + (jnp.arange(7) + .5) * (box[2] * 20 + 1) / 7
            x = box[1] * 30 + (jnp.arange(7) + .5) * (box[3] * 20 + 1) / 7
            return between(features, *jnp.meshgrid(y, x, indexing='ij'))
        return jax.vmap(one)(boxes)

    def hashed_features(table, points):
        """One level of a hash grid: features of the corners of each point's cell, weighed."""
        scaled = points * 37
        corner = jnp.floor(scaled).astype(jnp.int32)
        part = scaled - corner
        total = 0
        for k in range(8):
            step = jnp.array([k & 1, k >> 1 & 1, k >> 2])
            cell = (corner + step).astype(jnp.uint32)
            key = (cell[:, 0] ^ cell[:, 1] * jnp.uint32(2654435761) ^ cell[:, 2] * jnp.uint32(805459861)) % table.shape[0]
            total += table[key.astype(jnp.int32)] * jnp.prod(jnp.where(step, part, 1 - part), 1)[:, None]
        return total

    def panorama(sky, directions):
        d = directions / la.norm(directions, axis=1, keepdims=True)
        return between(sky, jnp.arccos(d[:, 2]) * (63 / jnp.pi), (jnp.arctan2(d[:, 1], d[:, 0]) + jnp.pi) * (127 / (2 * jnp.pi)))

    def palette(colours, values):
        x = jnp.clip(jnp.sqrt(jnp.abs(values)) * 31, 0, 30.999)
        i = x.astype(jnp.int32)
        return colours[i] + (colours[i + 1] - colours[i]) * (x - i)[..., None]

    def forces_from_table(table, a, b):
        d = a - b
        r = jnp.sqrt((d * d).sum(1) + .1)
        i = jnp.clip(r * 20, 0, 98).astype(jnp.int32)
        return d * ((table[i] + (table[i + 1] - table[i]) * (r * 20 - i)) / r)[:, None]

    def turned_quarters(pictures, turns):
        return jax.vmap(lambda p, k: lax.switch(k, [lambda p: p, lambda p: jnp.rot90(p), lambda p: jnp.rot90(p, 2), lambda p: jnp.rot90(p, 3)], p))(pictures, turns)

    def augmented(pictures, flip, invert):
        x = jnp.where(flip[:, None, None, None], pictures[:, :, ::-1], pictures).astype(jnp.float32) / 255
        return jnp.where(invert[:, None, None, None], 1 - x, x)

    def kept_or_turned(pictures, keep):
        return jnp.where(keep[:, None, None, None], pictures, pictures.transpose(0, 2, 1, 3))

    def adjusted_by_kind(pictures, kind):
        """Gamma, contrast, inverse or nothing for each picture of bytes."""
        x, k = pictures.astype(jnp.float32) / 255, kind[:, None, None, None]
        return jnp.select([k == 0, k == 1, k == 2], [jnp.sqrt(x), jnp.clip((x - .5) * 1.5 + .5, 0, 1), 1 - x], x)

    def activated_by_choice(x, bias, smooth):
        """One flag for all: what a layer's activation is."""
        return jnp.where(smooth, jnp.tanh(x + bias) * .5, jnp.maximum(x + bias, 0))

    def layer_or_identity(x, w, keep):
        return jnp.where(keep[:, None], jnp.tanh(x * w) * jax.nn.sigmoid(x), x)

    def masked_losses(logits, labels, which):
        hinge = jnp.maximum(0, 1 - logits * labels)
        logistic = jnp.logaddexp(0, -logits * labels)
        return jnp.where(which[:, None], hinge, logistic)

    def experts_of_rows(x, kind):
        return jax.vmap(lambda r, k: lax.cond(k, lambda r: jnp.log1p(jnp.exp(r)), lambda r: r / (1 + jnp.abs(r)), r))(x, kind)

    def smoothed(a, y):
        """A ridge regression for each of few groups, in a loop of many steps."""
        def step(carry, _):
            g = a + carry[:, None, None] * jnp.eye(a.shape[-1])
            s = la.solve(g, y[..., None])[..., 0]
            return .9 * carry + .1 * jnp.abs(s).mean(1), s.sum()
        return lax.scan(step, jnp.ones(a.shape[0]), None, 30)[1]

    return {
        'warped_by_flow': (warped_by_flow, [f32(90, 110, 3), f32(90, 110, 2)]),
        'warped_by_flow_bytes': (warped_by_flow, [bytes_(90, 110, 4), f32(90, 110, 2)]),
        'warped_by_flow_gradient': (lambda p, f: jax.grad(lambda p: (warped_by_flow(p, f) ** 2).sum())(p), [f32(60, 70, 3), f32(60, 70, 2)]),
        'by_homography': (by_homography, [f32(100, 100, 3), f32(3, 3)]),
        'regions_pooled': (regions_pooled, [f32(50, 50, 16), unit(40, 4)]),
        'hashed_features': (hashed_features, [f32(4096, 2), unit(5000, 3)]),
        'hashed_features_gradient': (lambda t, p: jax.grad(lambda t: (hashed_features(t, p) ** 2).sum())(t), [f32(1024, 2), unit(1000, 3)]),
        'panorama': (panorama, [f32(64, 128, 3), f32(6000, 3)]),
        'palette': (palette, [f32(32, 3), f32(150, 160)]),
        'forces_from_table': (forces_from_table, [f32(100), f32(9000, 3), f32(9000, 3)]),
        'turned_quarters': (turned_quarters, [f32(9, 40, 40, 3), whole(4, 9)]),
        'augmented': (augmented, [bytes_(6, 71, 73, 3), flags(.5, 6), flags(.5, 6)]),
        'kept_or_turned': (kept_or_turned, [f32(8, 48, 48, 3), flags(.5, 8)]),
        'adjusted_by_kind': (adjusted_by_kind, [bytes_(8, 61, 67, 3), whole(4, 8)]),
        'activated_by_choice': (activated_by_choice, [f32(400, 250), f32(250), lambda: jnp.asarray(True)]),
        'channels_first_floats': (lambda x: x.transpose(0, 3, 1, 2), [f32(7, 53, 59, 3)]),
        'channels_first_halves': (lambda x: x.astype(jnp.bfloat16).transpose(0, 3, 1, 2), [f32(7, 53, 59, 4)]),
        'channels_last_doubled': (lambda x: x.transpose(0, 2, 3, 1) * 2, [f32(6, 3, 61, 57)]),
        'transposed_by_batch': (lambda x: x.transpose(0, 2, 1), [f32(19, 45, 50)]),
        'layer_or_identity': (layer_or_identity, [f32(300, 200), f32(200), flags(.6, 300)]),
        'masked_losses': (masked_losses, [f32(200, 300), f32(200, 300), flags(.5, 200)]),
        'experts_of_rows': (experts_of_rows, [f32(256, 257), flags(.3, 256)]),
        'log_sums_from_the_end': (lambda x: lax.cumlogsumexp(x, reverse=True), [f32(30000)]),
        'log_sums_from_the_end_of_rows': (lambda x: lax.cumlogsumexp(x, axis=1, reverse=True), [f32(40, 1500)]),
        'stacked_and_turned': (lambda a, b, c: jnp.stack([a * b, b - c, c * a]).T, [f32(12000), f32(12000), f32(12000)]),
        'padded_and_reversed': (lambda x: jnp.pad(x, ((0, 0), (3, 1)))[:, ::-1], [f32(300, 61)]),
        'taken_from_short_rows': (lambda x, i: jnp.take(x, i, axis=1) * 2, [f32(3000, 100), whole(100, 64)]),
        'smoothed': (smoothed, [lambda: jnp.eye(24) * 3 + .1 * jax.random.normal(make.key, (5, 24, 24)), f32(5, 24)]),
        'norms_of_covariances': (lambda x: la.svd(x @ x.transpose(0, 2, 1), compute_uv=False), [f32(8, 30, 40)]),
    }
