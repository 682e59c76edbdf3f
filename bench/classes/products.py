"""Products that are no large matrix products, and products with their neighbours: small programs that show how a class
does. programs(jax) gives name -> (function, makers of its arguments)."""


def programs(jax):
    import jax.numpy as jnp
    import numpy as np
    lax = jax.lax
    R = np.random.RandomState(11)
    P = {}

    def f32(*shape):
        return lambda x=R.standard_normal(shape).astype(np.float32): jnp.asarray(x)

    def s8(*shape):
        return lambda x=R.randint(-127, 128, shape).astype(np.int8): jnp.asarray(x)

    def add(name, fn, *args):
        P[name] = (fn, args)

    # Chains of small matrices in batches: each product has the one before as its operand.
    add('chain_3x3', lambda a, b, c, d: a @ b @ c @ d, *[f32(4096, 3, 3)] * 4)
    add('chain_4x4_tanh', lambda a, b, c: jnp.tanh(jnp.tanh(a @ b) @ c) @ a, *[f32(2048, 4, 4)] * 3)
    add('conjugate_6x6', lambda a, s: jnp.einsum('bij,bjk,blk->bil', a, s, a), f32(1024, 6, 6), f32(1024, 6, 6))

    # A physics step under vmap: rotations from vectors, inertia in the world's frame, a 3x3 system by Cramer's rule,
    # and the state moved on; many small products that lean on each other.
    def skew(w):
        z = jnp.zeros(())
        return jnp.stack([jnp.stack([z, -w[2], w[1]]), jnp.stack([w[2], z, -w[0]]), jnp.stack([-w[1], w[0], z])])

    def solve3(m, r):
        c0, c1, c2 = m[:, 0], m[:, 1], m[:, 2]
        det = jnp.dot(c0, jnp.cross(c1, c2))
        return jnp.stack([jnp.dot(r, jnp.cross(c1, c2)), jnp.dot(c0, jnp.cross(r, c2)),
                          jnp.dot(c0, jnp.cross(c1, r))]) / (jnp.abs(det) + 1)

    def body(q, w, inertia, torque):
        k = skew(q)
        rot = jnp.eye(3) + .5 * k + .125 * (k @ k)
        world = rot @ (inertia @ inertia.T + jnp.eye(3)) @ rot.T
        accel = solve3(world, torque - jnp.cross(w, world @ w))
        w = w + .01 * accel
        return q + .01 * (rot @ w), w

    def physics(q, w, inertia, torque):
        def step(s, _):
            return jax.vmap(body)(s[0], s[1], inertia, torque), None
        return lax.scan(step, (q, w), None, length=20)[0]
    add('physics_3x3', physics, f32(1000, 3), f32(1000, 3), f32(1000, 3, 3), f32(1000, 3))

    # With a covariance made of `root`, not far from the noise: else inverse and difference below have no digits in some samples.
    def kalman(x, root, f, h, z):
        p = f @ (root @ root.T / 100) @ f.T + .1 * jnp.eye(4)
        s = h @ p @ h.T + jnp.eye(2)
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inv = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        gain = p @ h.T @ inv
        return f @ x + gain @ (z - h @ (f @ x)), p - gain @ h @ p
    add('kalman_vmap', jax.vmap(kalman), f32(2000, 4), f32(2000, 4, 4), f32(2000, 4, 4), f32(2000, 2, 4), f32(2000, 2))

    # Link transforms along an arm: a scan of 4x4 products in batches.
    add('arm_4x4', lambda t: lax.scan(lambda c, m: (c @ m, c[:, :3, 3]), t[0], t)[1], f32(12, 512, 4, 4))

    # Outer products, all dims batched, short k or n.
    add('outer_update', lambda h, u, v: h * .9 + jnp.einsum('bi,bj->bij', u, v), f32(64, 64, 64), f32(64, 64),
        f32(64, 64))
    add('weighted_dots', lambda a, b, w: jax.nn.sigmoid(jnp.einsum('bi,bi->b', a, b) * w), f32(20000, 8), f32(20000, 8),
        f32(20000))
    add('all_batched_norm', lambda a, b: lax.dot_general(a, b, (((), ()), ((0, 1), (0, 1)))) / (1 + jnp.abs(a)),
        f32(300, 300), f32(300, 300))
    add('lora_r2', lambda x, w, a, b: x @ w + (x @ a) @ b, f32(256, 256), f32(256, 256), f32(256, 2), f32(2, 256))

    # Tensor products of features and gates on a state of many small dims.
    def tensor_product(x, y, w):
        out = jnp.einsum('nui,nj,ijk->nuk', x, y, w)
        return out / jnp.sqrt(1 + (out ** 2).sum(-1, keepdims=True))
    add('tensor_product_l1', tensor_product, f32(512, 16, 3), f32(512, 3), f32(3, 3, 3))
    add('tensor_product_mix', lambda x, y, c, w: jnp.einsum('nui,nj,ijk,uv->nvk', x, y, c, w), f32(512, 16, 3),
        f32(512, 5), f32(3, 5, 7), f32(16, 8))

    def gates(s, g):
        for q in range(10):
            s = jnp.moveaxis(jnp.tensordot(g[q], s, ((1,), (q,))), 0, q)
        return s
    add('gates_10', gates, f32(*[2] * 10), f32(10, 2, 2))

    def layers(s, g):
        def layer(s, gl):
            for q in range(8):
                s = jnp.moveaxis(jnp.tensordot(gl[q], s, ((1,), (q,))), 0, q)
            return s, None
        return lax.scan(layer, s, g)[0]
    add('gates_scan', layers, f32(*[2] * 12), f32(10, 8, 2, 2) )
    add('two_site', lambda s, g: jnp.einsum('abcd,icdj->iabj', g, s), f32(64, 2, 2, 512), f32(2, 2, 2, 2))

    # Products with their neighbours.
    add('dense_gelu', lambda x, w, b: jax.nn.gelu(x @ w + b), f32(128, 256), f32(256, 512), f32(512))
    add('mlp_relu', lambda x, w, b, v, c: jnp.maximum(jnp.maximum(x @ w + b, 0) @ v + c, 0), f32(512, 64), f32(64, 128),
        f32(128), f32(128, 64), f32(64))
    add('residual', lambda x, w, b: x + (x @ w + b) * .5, f32(1024, 512), f32(512, 512), f32(512))
    add('scaled_scores', lambda q, k: jnp.einsum('bqd,bkd->bqk', q, k) * .125 + 1., f32(64, 128, 64), f32(64, 128, 64))
    add('int8_scaled', lambda x, w, s: lax.dot_general(x, w, (((1,), (0,)), ((), ())),
                                                       preferred_element_type=jnp.int32) * s,
        s8(128, 512), s8(512, 512), f32(512))
    add('conv_bias_relu', lambda x, w, b: jax.nn.relu(lax.conv_general_dilated(
        x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')) + b), f32(8, 28, 28, 32), f32(3, 3, 32, 32),
        f32(32))
    add('wide_bias', lambda x, w, b: jax.nn.silu(x @ w + b), f32(96, 128), f32(128, 16000), f32(16000))

    # Few rows meet large matrices: a step of decoding, an ensemble's heads, a policy asked for a handful of states.
    def block(x, up, gate, down):
        return x + (jax.nn.silu(x @ gate) * (x @ up)) @ down
    for rows in (1, 3, 7):
        add(f'gated_block_{rows}_rows', block, f32(rows, 640), f32(640, 1700), f32(640, 1700), f32(1700, 640))

    def policy(x, w1, b1, w2, b2, w3):
        return jax.nn.softmax(jnp.tanh(jnp.tanh(x @ w1 + b1) @ w2 + b2) @ w3)
    for rows in (2, 5, 11, 20):
        add(f'policy_{rows}_states', policy, f32(rows, 376), f32(376, 900), f32(900), f32(900, 900), f32(900), f32(900, 17))
    add('logits_2_rows', lambda x, e: jax.lax.top_k(x @ e, 5)[1], f32(2, 384), f32(384, 9000))
    add('weights_turned_4_rows', lambda x, w: x @ w.T, f32(4, 1100), f32(1300, 1100))
    add('integers_3_rows', lambda x, w: x.astype(jnp.int32) @ w.astype(jnp.int32), s8(3, 700), s8(700, 900))
    # Many rows, few columns: clouds of points that are turned, tall arrays by narrow matrices.
    add('turned_clouds', lambda x, r: jnp.einsum('bij,bkj->bik', x, r), f32(500, 64, 3), f32(500, 3, 3))
    add('points_by_affine_maps', lambda x, a, t: jnp.matmul(x, a) + t[:, None], f32(300, 200, 4), f32(300, 4, 4), f32(300, 4))
    add('tall_by_narrow', lambda x, w: jnp.tanh(x @ w), f32(20000, 16), f32(16, 3))
    add('tall_by_narrow_gradient', jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w) ** 2)), f32(8, 5), f32(10000, 8))
    return P
