"""Transforms written with strides: butterflies, lifting, filters of every second element, checkers, orderings of bits, sums and differences by halves and thirds."""
import numpy as np
from by_value import Programs, Random

FACTOR = 256.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(15)
    add, f32 = P.add, R.f32

    def fft(x):
        n = x.shape[-1]
        if n == 1:
            return x
        a, b = fft(x[..., ::2]), fft(x[..., 1::2])
        t = jnp.exp(-2j * np.pi / n * jnp.arange(n // 2)).astype(jnp.complex64) * b
        return jnp.concatenate([a + t, a - t], -1)
    add('butterflies_of_64', fft, R.c64(30, 64))
    add('butterflies_of_1024', fft, R.c64(1024))

    def fft3(x):
        n = x.shape[-1]
        if n == 1:
            return x
        a, b, c = (fft3(x[..., k::3]) for k in range(3))
        k = jnp.arange(n // 3)
        b, c = jnp.exp(-2j * np.pi / n * k).astype(jnp.complex64) * b, jnp.exp(-4j * np.pi / n * k).astype(jnp.complex64) * c
        w = np.complex64(np.exp(-2j * np.pi / 3))
        return jnp.concatenate([a + b + c, a + w * b + w * w * c, a + w * w * b + w * c], -1)
    add('butterflies_of_threes', fft3, R.c64(11, 81))

    add('walsh_of_4096', lambda x: lax.fori_loop(0, 12, lambda _, x: (lambda a, b: jnp.concatenate([a + b, a - b]))(x[::2], x[1::2]), x), f32(4096))

    def walsh(x):
        for k in range(9):
            a = x.reshape(-1, 2, 1 << k)
            x = jnp.stack([a[:, 0] + a[:, 1], a[:, 0] - a[:, 1]], 1).reshape(x.shape)
        return x
    add('walsh_written_out', walsh, f32(13, 512).reshape(-1)[:6656])
    add('walsh_by_a_cube', lambda x: (lambda h: jnp.einsum('abc,ia,jb,kc->ijk', x.reshape(8, 8, 8), h, h, h).ravel())(jnp.array([[(-1) ** bin(i & j).count('1') for j in range(8)] for i in range(8)], jnp.float32)), f32(512))

    def lifted(x):
        """The 9/7 wavelet by four steps."""
        a, b = x[..., ::2], x[..., 1::2]
        for f, into in ((-1.586134342, 1), (-.05298011854, 0), (.8829110762, 1), (.4435068522, 0)):
            if into:
                b = b + np.float32(f) * (a + jnp.roll(a, -1, -1))
            else:
                a = a + np.float32(f) * (b + jnp.roll(b, 1, -1))
        return a * np.float32(1.149604398), b / np.float32(1.149604398)
    add('lifted', lifted, f32(50, 302))
    add('lifted_both_ways', lambda x: tuple(jnp.swapaxes(v, 0, 1) for u in lifted(x) for v in lifted(jnp.swapaxes(u, 0, 1))), f32(102, 110))
    add('lifted_columns', lambda x: lifted(x.T), f32(302, 50))

    def unlifted(a, b):
        a, b = a - .25 * (b + jnp.roll(b, 1, -1)), b
        b = b + .5 * (a + jnp.roll(a, -1, -1))
        return jnp.stack([a, b], -1).reshape(*a.shape[:-1], -1)
    add('unlifted', unlifted, f32(50, 151), f32(50, 151))
    add('checkers_relaxed', lambda u, f: lax.fori_loop(0, 10, lambda _, u: u.at[1:-1:2, 1:-1:2].set(.25 * (u[:-2:2, 1:-1:2] + u[2::2, 1:-1:2] + u[1:-1:2, :-2:2] + u[1:-1:2, 2::2]) + f[1:-1:2, 1:-1:2])
        .at[2:-1:2, 2:-1:2].set(.25 * (u[1:-2:2, 2:-1:2] + u[3::2, 2:-1:2] + u[2:-1:2, 1:-2:2] + u[2:-1:2, 3::2])), u), f32(61, 63), f32(61, 63))
    add('every_third_set', lambda x, y: x.at[1::3].set(y).at[2::3].multiply(2), f32(3001), f32(1000))
    add('every_third_column_added', lambda x, y: x.at[:, ::3].add(y), f32(200, 91), f32(200, 31))
    add('backwards_by_twos', lambda x: x[::-2] - x[-2::-2], f32(5002))
    add('backwards_rows_by_threes', lambda x: x[::-3, ::-1] * 2, f32(200, 101))
    add('interleaved_three', lambda a, b, c: jnp.stack([a, b, c], -1).ravel(), f32(3001), f32(3001), f32(3001))
    add('taken_apart_by_five', lambda x: tuple(x[k::5] for k in range(5)), f32(10005))
    add('spread_by_zeros', lambda x: jnp.zeros((60, 3, 61, 2)).at[:, 1, :, 0].set(x).reshape(180, 122), f32(60, 61))
    add('polyphase_of_five', lambda x, h: jnp.stack([jnp.convolve(x, h[k::5]) for k in range(5)], -1).ravel(), f32(1001), f32(45))
    add('every_fifth_filtered', lambda x, h: jnp.convolve(x, h)[::5], f32(3001), f32(45))
    add('pyramid_of_five', lambda x: (lambda f: f(f, x, 5))(lambda f, x, n: () if n == 0 else (x,) + f(f, .25 * (x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2]), n - 1)), f32(96, 128))
    add('pyramid_of_differences', lambda x: (lambda d: (x - jnp.repeat(jnp.repeat(d, 2, 0), 2, 1), d))(.25 * (x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2])), f32(98, 130))
    add('bayer_taken_apart', lambda x: jnp.stack([x[::2, ::2], .5 * (x[1::2, ::2] + x[::2, 1::2]), x[1::2, 1::2]], -1), f32(120, 122))
    add('bayer_of_bytes', lambda x: jnp.stack([x[::2, ::2], ((x[1::2, ::2].astype(jnp.uint16) + x[::2, 1::2]) >> 1).astype(jnp.uint8), x[1::2, 1::2]], -1), R.u8(120, 122))
    add('fields_woven', lambda a, b: jnp.stack([a, b], 1).reshape(-1, a.shape[1]), R.u8(60, 161), R.u8(60, 161))
    add('real_and_imaginary_woven', lambda z: jnp.stack([z.real, z.imag], -1).ravel(), R.c64(3001))
    add('pairs_turned', lambda x, c, s: jnp.stack([x[..., ::2] * c - x[..., 1::2] * s, x[..., ::2] * s + x[..., 1::2] * c], -1).reshape(x.shape), f32(60, 4, 66), f32(60, 1, 33), f32(60, 1, 33))
    add('halves_turned', lambda x, c, s: (lambda a, b: jnp.concatenate([a * c - b * s, a * s + b * c], -1))(x[..., :33], x[..., 33:]), f32(60, 4, 66), f32(60, 1, 33), f32(60, 1, 33))
    add('odd_even_sorted', lambda x: lax.fori_loop(0, 30, lambda _, x: (lambda x: jnp.concatenate([x[:, :1], (lambda a, b: jnp.stack([jnp.minimum(a, b), jnp.maximum(a, b)], -1).reshape(x.shape[0], -1))(x[:, 1:-1:2], x[:, 2:-1:2]), x[:, -1:]], 1))(
        (lambda a, b: jnp.stack([jnp.minimum(a, b), jnp.maximum(a, b)], -1).reshape(x.shape))(x[:, ::2], x[:, 1::2])), x), f32(20, 60))
    add('tridiagonals_by_halves', lambda a, b, c, d: (lambda f: f(f, a, b, c, d))(lambda f, a, b, c, d: d / b if d.shape[0] == 1 else (lambda l, r: (lambda x: jnp.stack([(d[::2] - a[::2] * jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]]) - c[::2] * x) / b[::2], x], 1).reshape(d.shape))(
        f(f, -a[::2] * l, b[1::2] - c[::2] * l - jnp.concatenate([a[2::2], jnp.zeros_like(a[:1])]) * r, -jnp.concatenate([c[2::2], jnp.zeros_like(c[:1])]) * r, d[1::2] - d[::2] * l - jnp.concatenate([d[2::2], jnp.zeros_like(d[:1])]) * r)))(
        a[1::2] / b[::2], c[1::2] / jnp.concatenate([b[2::2], jnp.ones_like(b[:1])]))), f32(64, 21) * np.float32(.1), 2 + R.share(64, 21), f32(64, 21) * np.float32(.1), f32(64, 21))
    add('large_lifted', lifted, f32(1001, 1202))
    add('large_interleaved_three', lambda a, b, c: jnp.stack([a, b, c], -1).ravel(), f32(700001), f32(700001), f32(700001))
    add('large_fields_woven', lambda a, b: jnp.stack([a, b], 1).reshape(-1, a.shape[1]), R.u8(540, 1921), R.u8(540, 1921))
    add('large_halves', lambda x: .25 * (x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2]), f32(1082, 1922))
    return P
