"""Work along the first dim or one in the middle: batches that come last, softmaxes, norms, sorts, scans, choices and products over what is not innermost."""
import numpy as np
from by_value import Programs, Random

FACTOR = 256.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(6)
    add, f32 = P.add, R.f32
    last = lambda f, **k: jax.vmap(f, in_axes=-1, out_axes=-1, **k)

    add('softmax_of_17_before_40', lambda x: jax.nn.softmax(x, 1), f32(30, 17, 40))
    add('softmax_of_channels_first', lambda x: jax.nn.softmax(x, 1), f32(3, 21, 33, 47))
    add('softmax_of_first_gradient', lambda x, y: jax.grad(lambda x: (jax.nn.log_softmax(x, 0) * y).sum())(x), f32(10, 4001), f32(10, 4001))

    def channel_norm(x, s, b):
        m = x.mean(1, keepdims=True)
        v = ((x - m) ** 2).mean(1, keepdims=True)
        return (x - m) * lax.rsqrt(v + 1e-5) * s[:, None, None] + b[:, None, None]
    add('norm_of_channels_first', channel_norm, f32(2, 48, 31, 37), f32(48), f32(48))
    add('norm_of_channels_first_gradient', lambda x, s, b: jax.grad(lambda *a: (channel_norm(*a) ** 2).sum(), (0, 1, 2))(x, s, b), f32(2, 48, 31, 37), f32(48), f32(48))

    add('sorted_in_the_middle', lambda x: jnp.sort(x, 1), f32(20, 33, 50))
    add('argsorted_first', lambda x: jnp.argsort(x, 0), f32(57, 300))
    add('best_3_in_the_middle', lambda x: jax.vmap(lambda v: lax.top_k(v, 3), -1, -1)(x), f32(15, 29, 64)[:, :, :].reshape(15 * 29, 64))
    add('medians_of_first', lambda x: jnp.median(x, 0), f32(9, 80, 111))
    add('quantiles_of_the_middle', lambda x: jnp.quantile(x, np.array([.1, .5, .9], np.float32), axis=1), f32(7, 41, 60))
    add('cumsum_in_the_middle', lambda x: jnp.cumsum(x, 1), f32(12, 101, 35))
    add('cummax_first_backwards', lambda x: lax.cummax(x, 0, reverse=True), f32(200, 171))
    add('largest_and_where_in_the_middle', lambda x: (x.max(1), x.argmax(1)), f32(40, 31, 53))
    add('taken_in_the_middle', lambda x, i: jnp.take_along_axis(x, i, 1), f32(20, 100, 33), R.i32(100, 20, 40, 33))
    add('put_in_the_middle', lambda x, i, y: jnp.put_along_axis(x, i, y, 1, inplace=False), f32(20, 100, 33), R.i32(100, 20, 7, 33), f32(20, 7, 33))
    add('picked_of_classes_first', lambda x, i: jnp.take_along_axis(jax.nn.log_softmax(x, 1), i[:, None], 1).mean(), f32(2, 19, 60, 61), R.i32(19, 2, 60, 61))

    add('products_of_batches_last', last(lambda a, b: a @ b), f32(5, 7, 300), f32(7, 6, 300))
    add('solves_of_batches_last', last(lambda a, b: jnp.linalg.solve(a + 4 * jnp.eye(4), b)), f32(4, 4, 300), f32(4, 300))
    add('factors_of_batches_last', last(lambda a: jnp.linalg.cholesky(a @ a.T + jnp.eye(5))), f32(5, 5, 200))
    add('eigenvalues_of_batches_last', last(lambda a: jnp.linalg.eigvalsh(a @ a.T)), f32(3, 3, 500))
    add('layers_of_batches_last', lambda x, v, w: jnp.einsum('hd,db->hb', w, jnp.tanh(jnp.einsum('dc,cb->db', v, x))), f32(30, 257), f32(50, 30), f32(11, 50))
    add('lstm_of_batches_last', lambda x, w, u: lax.scan(lambda s, x: (lambda g: ((lambda c: ((c, jnp.tanh(c) * jax.nn.sigmoid(g[60:80])), None))(
        jax.nn.sigmoid(g[:20]) * s[0] + jax.nn.sigmoid(g[20:40]) * jnp.tanh(g[40:60]))))(w @ x + u @ s[1]), (jnp.zeros((20, 33)), jnp.zeros((20, 33))), x)[0], f32(25, 9, 33), R.weights(80, 9), R.weights(80, 20))

    def attention(q, k, v):
        """Tokens come last: [batch, heads, width, length]."""
        s = jnp.einsum('bhdq,bhdk->bhqk', q, k) * q.shape[2] ** -.5
        return jnp.einsum('bhqk,bhdk->bhdq', jax.nn.softmax(s, -1), v)
    add('attention_of_tokens_last', attention, *(f32(2, 3, 24, 70) for _ in range(3)))

    def first_tokens(q, k, v):
        """Tokens come first: [length, batch, heads, width]."""
        s = jnp.einsum('qbhd,kbhd->bhqk', q, k) * q.shape[-1] ** -.5
        return jnp.einsum('bhqk,kbhd->qbhd', jax.nn.softmax(s, -1), v)
    add('attention_of_tokens_first', first_tokens, *(f32(67, 5, 4, 20) for _ in range(3)))
    add('attention_of_tokens_first_gradient', jax.grad(lambda q, k, v: (first_tokens(q, k, v) ** 2).sum(), (0, 1, 2)), *(f32(67, 5, 4, 20) for _ in range(3)))
    add('convolved_batches_last', last(lambda x, w: jnp.convolve(x, w, 'same')), f32(100, 77), f32(9, 77))
    add('transformed_first', lambda x: jnp.abs(jnp.fft.rfft(x, axis=0)), f32(120, 150))
    add('transformed_in_the_middle', lambda x: jnp.fft.ifft(jnp.fft.fft(x, axis=1) * jnp.exp(-.1 * jnp.arange(60))[:, None], axis=1).real, f32(6, 60, 45))
    add('interpolated_first', lambda x, t: jax.vmap(lambda v: jnp.interp(t, jnp.arange(50.), v), 1, 1)(x), f32(50, 90), 49 * R.share(131))
    return P
