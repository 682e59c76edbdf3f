"""Arrays of small structs and short rows: programs whose innermost dim is shorter than a vector.

programs(jax) gives {name: (function, [argument makers])}, as bench/README.md says. `vmapped_integrator` and `rigid_bodies` lean on
several classes at once (stacks, short products, loops) and show what a mend of one does to the others.
"""
import numpy as np

from by_value import Programs, Random

R = Random(7)
f32 = R.f32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax

    P = Programs()
    add = P.add

    # Components taken from, combined and stacked along a short last axis.
    def cross(a, b):
        return jnp.stack(
            [
                a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
                a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
                a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
            ],
            -1,
        )

    add("structs_cross", cross, f32(30000, 3), f32(30000, 3))

    def yuv(rgb):
        r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
        y = 0.299 * r + 0.587 * g + 0.114 * b
        return jnp.stack([y, 0.492 * (b - y), 0.877 * (r - y)], -1)

    add("structs_yuv", yuv, f32(240, 320, 3))

    def boxes(b, d):
        c = (b[:, :2] + b[:, 2:]) / 2 + d[:, :2]
        s = (b[:, 2:] - b[:, :2]) * jnp.exp(d[:, 2:])
        return jnp.concatenate([c - s / 2, c + s / 2], -1)

    add("structs_boxes", boxes, f32(20000, 4), f32(20000, 4) * 0.1)

    def affine(p, m):
        x, y = p[..., 0], p[..., 1]
        return jnp.stack([m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]], -1)

    add("structs_affine2d", affine, f32(100, 500, 2), f32(6))

    def quat_mul(p, q):
        w, x, y, z = (p[:, i] for i in range(4))
        a, b, c, d = (q[:, i] for i in range(4))
        return jnp.stack(
            [w * a - x * b - y * c - z * d, w * b + x * a + y * d - z * c, w * c - x * d + y * a + z * b, w * d + x * c - y * b + z * a], 1
        )

    add("structs_quat_mul", quat_mul, f32(20000, 4), f32(20000, 4))

    def bonds(r, i, j):
        d = r[i] - r[j]
        return d / jnp.sqrt((d * d).sum(-1, keepdims=True) + 1e-3)

    add("structs_bonds", bonds, f32(2000, 3), R.randint(0, 2000, 30000), R.randint(0, 2000, 30000))

    def triangles(v):
        a, b, c = v[:, 0], v[:, 1], v[:, 2]
        n = cross(b - a, c - a)
        area = jnp.sqrt((n * n).sum(-1))
        return n / (area[:, None] + 1e-6), area / 2

    add("structs_triangles", triangles, f32(10000, 3, 3))

    def overlap(a, b):
        low = jnp.maximum(a[:, None, :2], b[None, :, :2])
        high = jnp.minimum(a[:, None, 2:], b[None, :, 2:])
        size = jnp.maximum(high - low, 0)
        return size[..., 0] * size[..., 1]

    add("structs_box_overlap", overlap, f32(300, 4), f32(400, 4))
    add("structs_rgba_over", lambda x, y: x[..., :3] * x[..., 3:] + y * (1 - x[..., 3:]), np.abs(f32(200, 300, 4)), f32(200, 300, 3))
    add("structs_bytes_to_gray", lambda x: x[..., 0] * np.float32(0.3) + x[..., 1] * np.float32(0.59) + x[..., 2] * np.float32(0.11),
        R.randint(0, 256, (240, 320, 3)).astype(np.uint8))
    add("structs_bytes_bgr", lambda x: x[..., ::-1], R.randint(0, 256, (240, 320, 3)).astype(np.uint8))
    add("structs_polar", lambda z: jnp.stack([jnp.hypot(z[..., 0], z[..., 1]), jnp.arctan2(z[..., 1], z[..., 0])], -1), f32(20000, 2))
    add("structs_nibbles_of_words", lambda x: jnp.stack([(x >> s) & 15 for s in (0, 4, 8, 12)], -1).astype(jnp.uint8), R.randint(0, 65536, 8000).astype(np.uint16))
    add("structs_bytes_normalise", lambda x: (x.astype(jnp.float32) / 255 - jnp.array([0.5, 0.4, 0.3])) / jnp.array([0.2, 0.25, 0.3]),
        R.randint(0, 256, (240, 320, 3)).astype(np.uint8))
    add("structs_rows_of_table", lambda t, i: t[i], f32(5000, 6), R.randint(0, 5000, 20000))
    add("structs_split_halves", lambda x: jnp.concatenate([x[..., 4:] * -1, x[..., :4]], -1) * 0.5 + x, f32(20000, 8))

    # Short rows.
    add("rows_softmax5", lambda x: jax.nn.softmax(x, -1), f32(20000, 5))
    add("rows_normalise6", lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True), f32(20000, 6))
    add("rows_layernorm20", lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), f32(8000, 20))
    add("rows_max18", lambda x: x.max(-1), f32(10000, 18))
    add("rows_entropy7", lambda x: -(lambda p: (jnp.exp(p) * p).sum(-1))(jax.nn.log_softmax(x, -1)), f32(10000, 7))
    add("rows_argmax9", lambda x: x.argmax(-1), f32(10000, 9))
    add("rows_dot3", lambda a, b: (a * b).sum(-1), f32(40000, 3), f32(40000, 3))
    add("groups_rms", lambda x: x / jnp.sqrt((x.reshape(64, 256, 12, 5) ** 2).mean((1, 3), keepdims=True) + 1e-6).repeat(5, -1).reshape(64, 1, 60),
        f32(64, 256, 60))

    add("rows_standardise12_f64", lambda x: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), R.randn(10000, 12))
    add("rows_cumulative8", lambda x: jnp.cumsum(x, -1), f32(20000, 8))
    add("rows_attend", lambda q, k, v: jnp.einsum("nk,nkd->nd", jax.nn.softmax((q[:, None] * k).sum(-1), -1), v), f32(3000, 4), f32(3000, 6, 4),
        f32(3000, 6, 4))
    add("rows_crossentropy11", lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x, -1), y[:, None], -1).mean(), f32(10000, 11),
        R.randint(0, 11, 10000))
    add("rows_softmax_grad10", jax.grad(lambda x: (jax.nn.softmax(x, -1) ** 2).sum()), f32(8192, 10))
    add("rows_any15", lambda x: (x > 2).any(-1), f32(20000, 15))

    # Structs inside loops, and batched by vmap.
    def pendulum(y):
        th, w, l = y
        return jnp.array([w, -9.81 / l * jnp.sin(th), 0.0])

    def rk4(y, h):
        k1 = pendulum(y)
        k2 = pendulum(y + h / 2 * k1)
        k3 = pendulum(y + h / 2 * k2)
        k4 = pendulum(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    add("vmapped_integrator", jax.vmap(lambda y: lax.fori_loop(0, 200, lambda i, y: rk4(y, 0.01), y)), np.abs(f32(1000, 3)) + 1)

    def euler(w, inertia):
        return cross_one(inertia * w, w) / inertia

    def cross_one(a, b):
        return jnp.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])

    def body(state, inertia):
        q, w = state

        def step(_, s):
            q, w = s
            w = w + 0.01 * euler(w, inertia)
            dq = 0.5 * jnp.concatenate([-jnp.dot(q[1:], w)[None], q[0] * w + cross_one(q[1:], w)])
            q = q + 0.01 * dq
            return q / jnp.sqrt((q * q).sum()), w

        return lax.fori_loop(0, 100, step, (q, w))

    add("rigid_bodies", jax.vmap(lambda q, w, i: body((q, w), i)), f32(1000, 4), f32(1000, 3), np.abs(f32(1000, 3)) + 1)
    return P
