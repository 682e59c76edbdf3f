"""Arrays that are made of where their elements lie: grids, windows, waves, noise of hashes, tables of angles, masks, matrices with names, each of a number or two."""
import numpy as np
from by_value import Programs, Random

FACTOR = 1024.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(14)
    add = P.add
    one = np.float32(1.1)

    add('rotary_tables', lambda s: (lambda a: (jnp.cos(a), jnp.sin(a)))(jnp.arange(301.)[:, None] * s * 10000. ** (-jnp.arange(0, 64, 2) / 64)), one)
    add('positions_by_waves', lambda s: (lambda a: jnp.stack([jnp.sin(a), jnp.cos(a)], -1).reshape(201, 96))(jnp.arange(201.)[:, None] * s / 1e4 ** (jnp.arange(48.) / 48)), one)
    add('positions_of_pictures', lambda s: (lambda f: jnp.concatenate([jnp.broadcast_to(v, (21, 23, 16)) for p in (jnp.arange(21.)[:, None, None], jnp.arange(23.)[None, :, None]) for v in (jnp.sin(p * f), jnp.cos(p * f))], -1))(s * 1e4 ** (-jnp.arange(16.) / 16)), one)
    add('slopes_and_masks', lambda n: jnp.where(jnp.arange(130)[:, None] >= jnp.arange(130), -jnp.abs(jnp.arange(130)[:, None] - jnp.arange(130)) * 2. ** (-8 * jnp.arange(1, 7) / 6)[:, None, None] * n, -1e9), one)
    add('window_masks', lambda n: (lambda d: (d >= 0) & (d < n))(jnp.arange(257)[:, None] - jnp.arange(257)), np.int32(40))
    add('buckets_of_distances', lambda n: (lambda d: jnp.where(d < 8, d, jnp.minimum(8 + (jnp.log(d / 8 + 1e-6) / np.log(16.) * 8).astype(jnp.int32), 15)) + n)(jnp.abs(jnp.arange(150)[:, None] - jnp.arange(150))), np.int32(3))
    add('gabor_bank', lambda s: (lambda x, y, t: jnp.exp(-(x * x + y * y) / (2 * s * s)) * jnp.cos(2 * (x * jnp.cos(t) + y * jnp.sin(t))))(jnp.linspace(-3, 3, 21)[:, None], jnp.linspace(-3, 3, 21), (jnp.arange(12.) * np.pi / 12)[:, None, None]), one)
    add('windows_of_many_kinds', lambda s: (lambda n: jnp.stack([jnp.hanning(501), jnp.hamming(501), jnp.blackman(501), jnp.bartlett(501), jnp.exp(-.5 * ((n - 250) / (s * 100)) ** 2), jnp.sinc((n - 250) / 50 * s)]))(jnp.arange(501.)), one)
    add('kaiser', lambda s: jax.scipy.special.i0(14 * s * jnp.sqrt(jnp.maximum(1 - ((jnp.arange(401.) - 200) / 200) ** 2, 0))), one)
    add('hash_noise', lambda n: (lambda x: (x ^ (x >> 16)).astype(jnp.float32) * np.float32(2 ** -32))((lambda x: (x ^ (x >> 15)) * np.uint32(0x2c1b3c6d))(jnp.arange(100 * 101, dtype=jnp.uint32).reshape(100, 101) * np.uint32(747796405) + n)), np.uint32(7))

    def value_noise(s):
        def h(i, j):
            x = i * np.uint32(374761393) + j * np.uint32(668265263)
            x = (x ^ (x >> 13)) * np.uint32(1274126177)
            return (x ^ (x >> 16)).astype(jnp.float32) * np.float32(2 ** -32)
        total = 0
        for octave in range(4):
            y, x = jnp.meshgrid(jnp.arange(90.) * s * .05 * 2 ** octave, jnp.arange(100.) * s * .05 * 2 ** octave, indexing='ij')
            i, j = jnp.floor(y).astype(jnp.uint32), jnp.floor(x).astype(jnp.uint32)
            v, u = y - jnp.floor(y), x - jnp.floor(x)
            v, u = v * v * (3 - 2 * v), u * u * (3 - 2 * u)
            total = total + .5 ** octave * ((h(i, j) * (1 - u) + h(i, j + 1) * u) * (1 - v) + (h(i + 1, j) * (1 - u) + h(i + 1, j + 1) * u) * v)
        return total
    add('noise_of_four_octaves', value_noise, one)
    add('halton', lambda n: jnp.stack([(lambda i: sum(((i // b ** k) % b) / float(b) ** (k + 1) for k in range(7)))(jnp.arange(1001) + n) for b in (2, 3, 5)], -1), np.int32(5))
    add('spiral_on_a_sphere', lambda s: (lambda i: (lambda z, t: jnp.stack([jnp.sqrt(1 - z * z) * jnp.cos(t), jnp.sqrt(1 - z * z) * jnp.sin(t), z], -1))(1 - 2 * i / 1200, i * s * np.pi * (3 - 5 ** .5)))(jnp.arange(1200.) + .5), one)
    add('cosines_of_a_transform', lambda s: jnp.cos(np.pi / 47 * (jnp.arange(47.) + .5) * jnp.arange(47.)[:, None]) * s, one)
    add('transform_by_its_matrix', lambda x: jnp.exp(-2j * np.pi / 60 * (jnp.arange(60)[:, None] * jnp.arange(60) % 60)) @ x, R.c64(60, 33))
    add('hilbert_solved', lambda s: jnp.linalg.solve(1 / (jnp.arange(6.)[:, None] + jnp.arange(6.) + s) + jnp.eye(6), jnp.ones(6)), one)
    add('kms_log_determinant', lambda s: jnp.linalg.slogdet(jnp.exp(-jnp.abs(jnp.arange(60.)[:, None] - jnp.arange(60.)) * s)), one)
    add('laplacian_solved', lambda f: jnp.linalg.solve(2.1 * jnp.eye(50) - jnp.eye(50, k=1) - jnp.eye(50, k=-1), f), R.f32(50, 3))
    add('circulant_times', lambda c, x: c[(jnp.arange(101)[:, None] - jnp.arange(101)) % 101] @ x, R.f32(101), R.f32(101))
    add('toeplitz_times', lambda c, x: jax.scipy.linalg.toeplitz(c) @ x, R.f32(131), R.f32(131, 5))
    add('vandermonde_times', lambda x, c: (x[:, None] ** jnp.arange(12)) @ c, R.share(900), R.f32(12))
    add('kernel_of_lines', lambda s, y: jnp.linalg.solve(jnp.exp(-.5 * ((jnp.arange(40.)[:, None] - jnp.arange(40.)) / (5 * s)) ** 2) + .1 * jnp.eye(40), y), one, R.f32(40))
    add('checkers', lambda a, b: jnp.where((jnp.arange(200)[:, None] // 16 + jnp.arange(201) // 16) % 2 == 0, a, b), np.uint8(30), np.uint8(220))
    add('disks', lambda c, r: (((jnp.arange(80.)[:, None] - c[:, 0, None, None]) ** 2 + (jnp.arange(81.) - c[:, 1, None, None]) ** 2) < r[:, None, None] ** 2).any(0), 80 * R.share(20, 2), 10 * R.share(20))
    add('gaussians_on_maps', lambda c: jnp.exp(-((jnp.arange(48.)[:, None] - c[:, 1, None, None]) ** 2 + (jnp.arange(64.) - c[:, 0, None, None]) ** 2) / 8), 48 * R.share(17, 2))
    add('soft_places_of_maps', lambda x: (lambda p: jnp.stack([(p * jnp.arange(64.)).sum((1, 2)), (p * jnp.arange(48.)[:, None]).sum((1, 2))], -1))(jax.nn.softmax(x.reshape(17, -1)).reshape(17, 48, 64)), R.f32(17, 48, 64))
    add('rays_of_a_camera', lambda f, m: (lambda d: d / jnp.linalg.norm(d, axis=-1, keepdims=True))(jnp.stack(jnp.meshgrid((jnp.arange(90.) - 45) / f, (jnp.arange(70.) - 35) / f, jnp.ones(1)), -1).reshape(-1, 3) @ m.T), np.float32(100), R.f32(3, 3))
    add('one_hot_of_labels', lambda i: jax.nn.one_hot(i, 37), R.i32(37, 500))
    add('one_hot_products', lambda i, w: jax.nn.one_hot(i, 37) @ w, R.i32(37, 500), R.f32(37, 20))
    add('triangles_packed', lambda x: x[jnp.tril_indices(50)], R.f32(50, 50))
    add('triangles_unpacked', lambda v: jnp.zeros((50, 50)).at[jnp.tril_indices(50)].set(v), R.f32(1275))
    add('upper_of_many_unpacked', lambda v: jnp.zeros((70, 9, 9)).at[:, jnp.triu_indices(9)[0], jnp.triu_indices(9)[1]].set(v), R.f32(70, 45))
    add('permuted_by_bits', lambda x: x[sum(((jnp.arange(1024) >> k) & 1) << (9 - k) for k in range(10))], R.f32(1024))
    add('large_mask_times', lambda x: jnp.where(jnp.arange(1100)[:, None] >= jnp.arange(1100), x, -1e9), R.f32(1100, 1100))
    add('large_hash_noise', lambda n: (lambda x: (x ^ (x >> 16)).astype(jnp.float32) * np.float32(2 ** -32))((lambda x: (x ^ (x >> 15)) * np.uint32(0x2c1b3c6d))(jnp.arange(2000003, dtype=jnp.uint32) * np.uint32(747796405) + n)), np.uint32(7))
    return P
