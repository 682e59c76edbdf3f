"""Arrays whose last dimension is 3 or 4 and whose windows lie in the dimensions before it: tracks, images with channels last, meshes on grids."""
import numpy as np
from by_value import Programs, Random
R = Random(1211)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 256.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    # velocities, accelerations, curvature and torsion of many tracks
    def frenet(x):
        v = (x[:, 2:] - x[:, :-2]) / 2; a = x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2]; c = jnp.cross(v, a)
        return jnp.linalg.norm(c, axis=-1) / (jnp.linalg.norm(v, axis=-1) ** 3 + 1e-3)
    add('curvature_of_tracks', frenet, f32(53, 301, 3))
    add('velocities_of_tracks', lambda x: (x[:, 1:] - x[:, :-1]) * 30., f32(53, 601, 3))
    add('smoothed_tracks', lambda x: (x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]) / 4, f32(53, 601, 3))
    add('edges_of_polygons', lambda x: jnp.roll(x, -1, 1) - x, f32(101, 203, 3))
    add('mean_square_displacement', lambda x: jnp.stack([((x[:, k:] - x[:, :-k]) ** 2).sum(-1).mean() for k in (1, 3, 7, 13)]), f32(31, 403, 3))
    add('mirrored_images', lambda x: x[:, :, ::-1].astype(jnp.float32) / 127.5 - 1, u8(4, 160, 160, 3))
    add('random_flips_by_image', lambda x, f: jnp.where(f[:, None, None, None], x[:, :, ::-1], x), f32(7, 97, 101, 3), R.rand(7) < .5)
    add('random_crops_normalised', lambda x, o: jax.vmap(lambda x, o: (lax.dynamic_slice(x, (o[0], o[1], 0), (96, 96, 3)).astype(jnp.float32) - jnp.array([123., 116., 103.])) / 58.)(x, o), u8(8, 112, 112, 3), i32(16, 8, 2))
    add('centre_crop_normalised', lambda x: (x[:, 8:-8, 8:-8].astype(jnp.float32) / 255. - jnp.array([.48, .45, .4])) / jnp.array([.22, .22, .23]), u8(8, 112, 112, 3))
    add('sobel_of_colours', lambda x: jnp.abs(x[:, :-2, 1:-1] - x[:, 2:, 1:-1]) + jnp.abs(x[:, 1:-1, :-2] - x[:, 1:-1, 2:]), f32(3, 131, 127, 3))
    add('total_variation_of_colours_gradient', lambda x: jax.grad(lambda x: jnp.sqrt((x[:, 1:, :-1] - x[:, :-1, :-1]) ** 2 + (x[:, :-1, 1:] - x[:, :-1, :-1]) ** 2 + 1e-4).sum())(x), f32(2, 97, 101, 3))
    add('padded_images_on_canvas', lambda x, o: jax.vmap(lambda x, o: lax.dynamic_update_slice(jnp.zeros((128, 128, 3)), x, (o[0], o[1], 0)))(x, o), f32(6, 97, 91, 3), i32(30, 6, 2))
    add('random_erasing', lambda x, o: jax.vmap(lambda x, o: jnp.where(((jnp.arange(97)[:, None] >= o[0]) & (jnp.arange(97)[:, None] < o[0] + 20) & (jnp.arange(101) >= o[1]) & (jnp.arange(101) < o[1] + 30))[..., None], .5, x))(x, o), f32(6, 97, 101, 3), i32(60, 6, 2))
    add('cloth_forces_on_a_grid', lambda x: (lambda d: d * (1 - 1 / jnp.sqrt((d ** 2).sum(-1, keepdims=True) + 1e-6)))(x[:, 1:] - x[:, :-1]), f32(101, 103, 3))
    add('normals_of_height_grid', lambda x: (lambda n: n / jnp.linalg.norm(n, axis=-1, keepdims=True))(jnp.cross(x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1])), f32(103, 101, 3))
    add('bayer_to_colours', lambda b: jnp.stack([b[:, ::2, ::2], .5 * (b[:, ::2, 1::2] + b[:, 1::2, ::2]), b[:, 1::2, 1::2]], -1), f32(3, 120, 124))
    add('white_balance_and_tone', lambda x, g, m: jnp.clip((x.astype(jnp.float32) / 255 * g) @ m, 0, 1) ** (1 / 2.2), u8(3, 101, 103, 3), np.abs(f32(3)), np.abs(f32(3, 3)) * .3)
    add('relative_quaternions_of_tracks', lambda q: (lambda a, b: jnp.stack([(a * b).sum(-1), a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0], a[..., 2] * b[..., 3] - a[..., 3] * b[..., 2]], -1))(q[:, 1:], q[:, :-1]), f32(37, 301, 4))
    add('optical_warp_of_frames', lambda x: x[:, 3:-3, 2:-4] * .5 + x[:, 2:-4, 3:-3] * .5, f32(5, 107, 109, 3))
    add('video_differences', lambda v: jnp.abs(v[1:].astype(jnp.int16) - v[:-1].astype(jnp.int16)).astype(jnp.uint8), u8(9, 97, 101, 3))
    # bytes and words brought to one, colour by colour
    u16, s8 = lambda *s: R.randint(0, 65536, s).astype(np.uint16), lambda *s: R.randint(-128, 128, s).astype(np.int8)
    add('words_of_four_bands_standardised', lambda x: (x.astype(jnp.float32) / 65535 - jnp.array([.31, .27, .44, .12])) / jnp.array([.11, .13, .17, .05]), u16(5, 83, 91, 4))
    add('signed_bytes_to_unit_range', lambda x: ((x.astype(jnp.float32) + 128) / 255 - .5) / .5, s8(7, 61, 97, 3))
    add('days_and_hours_of_seconds', lambda t: jnp.stack([(t // 86400 % 7).astype(jnp.float32) / 7, (t % 86400).astype(jnp.float32) / 3600 / 24, (t % 3600).astype(jnp.float32) / 3600], -1), i32(10**6, 30011))
    # flipped, some of them
    add('flipped_and_normalised', lambda x, f: (lambda y: jnp.where(f[:, None, None, None], y[:, :, ::-1], y))((x.astype(jnp.float32) / 255 - jnp.array([.48, .45, .4])) / jnp.array([.22, .22, .23])), u8(11, 67, 59, 3), R.rand(11) < .5)
    add('turned_upside_down_in_half_range', lambda x, f: (lambda y: jnp.where(f[:, None, None, None], y, y[:, ::-1]))(x.astype(jnp.bfloat16) / 127.5 - 1), u8(13, 41, 57, 3), R.rand(13) < .5)
    add('takes_played_backwards', lambda x, f, g: (lambda y: jnp.where(f[:, None, None], y[:, ::-1], y))(jnp.tanh(x.astype(jnp.float32) / 32767 * g[:, None, :])), R.randint(-32768, 32768, (17, 1501, 2)).astype(np.int16), R.rand(17) < .5, f32(17, 2))
    return P
