"""Layers over points, graphs and molecules: messages along edges and triplets, vectors beside scalars, frames, their forces."""
import numpy as np
from by_value import Programs, Random

FACTOR = 64.0
R = Random(4202)
f32, i32, weights = R.f32, R.i32, R.weights


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add
    total = jax.ops.segment_sum

    def edges(x, w1, w2):
        """Features of the 9 nearest points, which change from sample to sample, and their maximum."""
        d = ((x[:, :, None] - x[:, None]) ** 2).sum(-1)
        near = jax.vmap(lambda x, i: x[i])(x, lax.top_k(-d, 9)[1])
        e = jnp.concatenate([jnp.broadcast_to(x[:, :, None], near.shape), near - x[:, :, None]], -1)
        return nn.leaky_relu(nn.leaky_relu(e @ w1) @ w2).max(2)
    cloud = f32(3, 203, 6)
    add('edges_to_near_points', edges, cloud, weights(12, 33), weights(33, 41))
    add('edges_to_near_points_gradient', jax.grad(lambda w1, w2, x: (edges(x, w1, w2) ** 2).mean(), (0, 1)), weights(12, 33), weights(33, 41), cloud)

    def scalars_and_vectors(s, v, x, source, target, wf, ws, wu):
        d = x[target] - x[source]
        r = jnp.sqrt((d * d).sum(-1) + 1e-2)
        waves = jnp.sin(r[:, None] * jnp.arange(1, 21) * np.pi / 5) / r[:, None]
        own, along, new = jnp.split((waves @ wf) * (nn.silu(s) @ ws)[source], 3, -1)
        s = s + total(own, target, 61)
        v = v + total(v[source] * along[:, None] + (d / r[:, None])[:, :, None] * new[:, None], target, 61)
        u = v @ wu
        return s + (u * v).sum(1), v + u * s[:, None]
    s, v, x, graph, maps = f32(61, 27), f32(61, 3, 27), f32(61, 3), i32(61, 2, 701), (weights(20, 81), weights(27, 81), weights(27, 27))
    add('scalars_and_vectors', scalars_and_vectors, s, v, x, *graph, *maps)
    add('forces_of_scalars_and_vectors', jax.grad(lambda x, s, v, *a: scalars_and_vectors(s, v, x, *a)[0].sum()), x, s, v, *graph, *maps)

    def triplets(x, m, source, target, other, own, w, wb):
        d = x[source] - x[target]
        r = jnp.linalg.norm(d + 1e-2, axis=-1)
        angle = jnp.arccos(jnp.clip((d[other] * d[own]).sum(-1) / (r[other] * r[own]), -.99, .99))
        basis = jnp.cos(angle[:, None] * jnp.arange(7))[:, :, None] * jnp.sin(r[other][:, None] * jnp.arange(1, 7))[:, None]
        return m + total(jnp.einsum('tb,tl,bfl->tf', basis.reshape(-1, 42), m[other] @ w, wb), own, 401)
    add('messages_by_angles', triplets, f32(61, 3), f32(401, 23), *i32(61, 2, 401), *i32(401, 2, 1903), weights(23, 9), .1 * f32(42, 23, 9))

    def relations(x, source, target, relation, shares, bases):
        w = jnp.einsum('rb,bio->rio', shares, bases)
        return nn.relu(total(jnp.einsum('ei,eio->eo', x[source], w[relation]), target, 211))
    add('relations_of_shared_bases', relations, f32(211, 17), *i32(211, 2, 1409), i32(13, 1409), f32(13, 5), weights(5, 17, 19))

    add('products_of_three_features', lambda a, w3, w2: jnp.einsum('nci,ncj,nck,ijkp,pc->nc', a, a, a, w3, w2), f32(31, 16, 9), .1 * f32(9, 9, 9, 5), f32(5, 16))

    def attention_of_frames(s, z, turn, shift, wq, wk, wv, wb, gain):
        """Attention by distances of points that each residue places in its frame."""
        n = s.shape[0]

        def placed(w):
            return jnp.einsum('nij,nhpj->nhpi', turn, (s @ w).reshape(n, 5, 4, 3)) + shift[:, None, None]
        q, k, v = placed(wq), placed(wk), placed(wv)
        a = nn.softmax(z @ wb - nn.softplus(gain) * ((q[:, None] - k[None]) ** 2).sum((-1, -2)), 1)
        o = jnp.einsum('ijh,jhpc->ihpc', a, v) - shift[:, None, None]
        return jnp.einsum('nji,nhpj->nhpi', turn, o).reshape(n, -1)
    frames = (f32(47, 24), f32(47, 47, 11), np.linalg.qr(f32(47, 3, 3))[0], f32(47, 3), *[weights(24, 60) for _ in range(3)], weights(11, 5), f32(5))
    add('attention_of_frames', attention_of_frames, *frames)
    add('attention_of_frames_gradient', jax.grad(lambda *a: (attention_of_frames(*a) ** 2).mean(), (0, 1)), *frames)
    return P
