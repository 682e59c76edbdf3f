"""Pallas kernels as their interpreter runs them: loops over grids of tiles that are cut from the arguments and set into the results."""
import functools

import numpy as np
from by_value import Programs, Random

FACTOR = 256.0


def programs(jax):
    from jax.experimental import pallas as pl
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(5)
    add = P.add
    shape = jax.ShapeDtypeStruct
    call = functools.partial(pl.pallas_call, interpret=True)
    whole = lambda *s: pl.BlockSpec(s, lambda *_: (0,) * len(s))

    def added(x, y):
        def kernel(x, y, o):
            o[...] = x[...] + 2 * y[...]
        spec = pl.BlockSpec((1024,), lambda i: (i,))
        return call(kernel, out_shape=shape(x.shape, x.dtype), grid=(x.size // 1024,), in_specs=[spec, spec], out_specs=spec)(x, y)
    add('added', added, R.f32(20480), R.f32(20480))

    def product(x, y, tile, deep):
        def kernel(x, y, o):
            @pl.when(pl.program_id(2) == 0)
            def _():
                o[...] = jnp.zeros_like(o)
            o[...] += x[...] @ y[...]
        return call(kernel, out_shape=shape((x.shape[0], y.shape[1]), np.float32), grid=(x.shape[0] // tile, y.shape[1] // tile, x.shape[1] // deep),
                    in_specs=[pl.BlockSpec((tile, deep), lambda i, j, k: (i, k)), pl.BlockSpec((deep, tile), lambda i, j, k: (k, j))],
                    out_specs=pl.BlockSpec((tile, tile), lambda i, j, k: (i, j)))(x, y)
    add('product', lambda x, y: product(x, y, 64, 64), R.f32(192, 256), R.f32(256, 128))
    add('product_of_small_tiles', lambda x, y: product(x, y, 16, 32), R.f32(64, 96), R.f32(96, 80))

    def softmax(x, rows):
        def kernel(x, o):
            v = x[...]
            e = jnp.exp(v - v.max(-1, keepdims=True))
            o[...] = e / e.sum(-1, keepdims=True)
        spec = pl.BlockSpec((rows, x.shape[1]), lambda i: (i, 0))
        return call(kernel, out_shape=shape(x.shape, x.dtype), grid=(x.shape[0] // rows,), in_specs=[spec], out_specs=spec)(x)
    add('softmax_row_by_row', lambda x: softmax(x, 1), R.f32(100, 333))
    add('softmax_by_20_rows', lambda x: softmax(x, 20), R.f32(200, 700))

    def attention(q, k, v, tile):
        heads, length, width = q.shape

        def kernel(q, k, v, o):
            rows = q[0] * width ** -.5

            def step(j, s):
                top, below, acc = s
                scores = rows @ k[0, pl.ds(j * tile, tile), :].T
                new = jnp.maximum(top, scores.max(-1))
                e = jnp.exp(scores - new[:, None])
                keep = jnp.exp(top - new)
                return new, below * keep + e.sum(-1), acc * keep[:, None] + e @ v[0, pl.ds(j * tile, tile), :]
            start = jnp.full(tile, -1e30, jnp.float32), jnp.zeros(tile, jnp.float32), jnp.zeros((tile, width), jnp.float32)
            _, below, acc = lax.fori_loop(0, length // tile, step, start)
            o[0] = acc / below[:, None]
        rows, all_of = pl.BlockSpec((1, tile, width), lambda h, i: (h, i, 0)), pl.BlockSpec((1, length, width), lambda h, i: (h, 0, 0))
        return call(kernel, out_shape=shape(q.shape, q.dtype), grid=(heads, length // tile), in_specs=[rows, all_of, all_of], out_specs=rows)(q, k, v)
    add('attention', lambda q, k, v: attention(q, k, v, 32), R.f32(3, 160, 40), R.f32(3, 160, 40), R.f32(3, 160, 40))

    def norm(x, scale):
        def kernel(x, s, o):
            v = x[...].astype(jnp.float32)
            o[...] = (v * lax.rsqrt((v * v).mean(-1, keepdims=True) + 1e-6) * s[...]).astype(o.dtype)
        spec = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
        return call(kernel, out_shape=shape(x.shape, x.dtype), grid=(x.shape[0] // 8,), in_specs=[spec, whole(x.shape[1])], out_specs=spec)(x, scale)
    add('norm_bf16', norm, R.bf16(96, 320), R.f32(320))

    def turned(x):
        def kernel(x, o):
            o[...] = x[...].T
        return call(kernel, out_shape=shape(x.shape[::-1], x.dtype), grid=(x.shape[0] // 32, x.shape[1] // 32),
                    in_specs=[pl.BlockSpec((32, 32), lambda i, j: (i, j))], out_specs=pl.BlockSpec((32, 32), lambda i, j: (j, i)))(x)
    add('turned', turned, R.f32(160, 256))

    def summed(x):
        def kernel(x, o):
            @pl.when(pl.program_id(0) == 0)
            def _():
                o[...] = jnp.zeros_like(o)
            o[...] += x[...].sum(0, keepdims=True)
        return call(kernel, out_shape=shape((1, x.shape[1]), x.dtype), grid=(x.shape[0] // 16,), in_specs=[pl.BlockSpec((16, x.shape[1]), lambda i: (i, 0))],
                    out_specs=whole(1, x.shape[1]))(x)
    add('columns_summed', summed, R.f32(320, 200))

    def looked_up(ids, table):
        def kernel(ids, table, o):
            def one(i, _):
                o[i, :] = table[ids[i], :]
            lax.fori_loop(0, 16, one, None)
        return call(kernel, out_shape=shape((ids.size, table.shape[1]), table.dtype), grid=(ids.size // 16,),
                    in_specs=[pl.BlockSpec((16,), lambda i: (i,)), whole(*table.shape)], out_specs=pl.BlockSpec((16, table.shape[1]), lambda i: (i, 0)))(ids, table)
    add('looked_up', looked_up, R.i32(100, 128), R.f32(100, 24))

    def blurred(x):
        """Halos: each tile reads three rows of tiles of the padded picture."""
        def kernel(x, o):
            i = pl.program_id(0)
            v = x[pl.ds(i * 10, 12), :]
            o[...] = sum(v[a:a + 10, b:b + o.shape[1]] for a in range(3) for b in range(3)) / 9
        h, w = x.shape
        return call(kernel, out_shape=shape((h - 2, w - 2), x.dtype), grid=((h - 2) // 10,), in_specs=[whole(h, w)], out_specs=pl.BlockSpec((10, w - 2), lambda i: (i, 0)))(x)
    add('blurred', blurred, R.f32(102, 152))

    def running(x):
        def kernel(x, o, last):
            @pl.when(pl.program_id(0) == 0)
            def _():
                last[...] = jnp.zeros_like(last)

            def step(t, h):
                h = .9 * h + x[t, :]
                o[t, :] = h
                return h
            last[0, :] = lax.fori_loop(0, 16, step, last[0, :])
        spec = pl.BlockSpec((16, x.shape[1]), lambda i: (i, 0))
        return call(kernel, out_shape=(shape(x.shape, x.dtype), shape((1, x.shape[1]), x.dtype)), grid=(x.shape[0] // 16,), in_specs=[spec],
                    out_specs=(spec, whole(1, x.shape[1])))(x)[0]
    add('running_averages', running, R.f32(160, 100))

    def experts(owners, x, w):
        """Each tile of rows is multiplied by the matrix of its owner."""
        def kernel(owners, x, w, o):
            o[...] = x[...] @ w[owners[pl.program_id(0)]]
        return call(kernel, out_shape=shape((x.shape[0], w.shape[2]), x.dtype), grid=(owners.size,),
                    in_specs=[whole(owners.size), pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0)), whole(*w.shape)], out_specs=pl.BlockSpec((8, w.shape[2]), lambda i: (i, 0)))(owners, x, w)
    add('experts', experts, R.i32(5, 24), R.f32(192, 48), R.f32(5, 48, 60))
    return P
