"""Moving elements: transposes, concatenations, pads, stacks, interleaving, rolls, views of views."""
from arrays import f32, u8

FACTOR = 1.0


def programs(jax, pick, add):
    jnp, lax = jax.numpy, jax.lax
    n = pick(64, 1024, 4096)
    x = f32(n, n)
    add('transpose', lambda x: x.T + 0, x)
    add('transpose_uint8', lambda x: x.T ^ 1, u8(n, n))
    add('nchw_to_nhwc', lambda x: x.transpose(0, 2, 3, 1) * 1.5, f32(4, n // 16, n // 4, n // 4))
    add('heads', lambda x: x.reshape(n // 8, 16, 8, -1).transpose(0, 2, 1, 3) + 1, f32(n // 8, 16 * n // 2))
    add('swap_last_of_5', lambda x: jnp.transpose(x, (3, 0, 4, 1, 2)) - 1, f32(6, n // 8, 10, n // 16, n // 8))
    add('concatenate_rows', lambda a, b: jnp.concatenate([a, b * 2, a + b]), x, x)
    add('concatenate_columns', lambda a, b: jnp.concatenate([a, b * 2], 1), x, f32(n, n // 3))
    add('stack_last', lambda a, b, c: jnp.stack([a + b, b * c, c - a], -1), *[f32(n * n // 4)] * 3)
    add('unstack_last', lambda x: (x[..., 0] * x[..., 1], x[..., 2] - x[..., 3]), f32(n * n // 4, 4))
    add('interleave', lambda a, b: jnp.stack([a, b], 1).reshape(-1), f32(n * n // 2), f32(n * n // 2))
    add('even_odd', lambda x: jnp.concatenate([x[::2], x[1::2]]), f32(n * n))
    add('pad', lambda x: jnp.pad(x, 3), x)
    add('pad_reflect', lambda x: jnp.pad(x, 3, mode='reflect'), x)
    add('pad_interior', lambda x: lax.pad(x, 0.0, ((1, 0, 1), (0, 2, 1))), f32(n // 2, n // 2))
    add('crop_and_flip', lambda x: x[2:-2, ::-1][:, 1:-1] * 2, x)
    add('rolls', lambda x: jnp.roll(x, 1, 0) + jnp.roll(x, -3, 1), x)
    add('rotate_90', lambda x: jnp.rot90(x) + x, x)
    add('tile', lambda x: jnp.tile(x, (3, 2)), f32(n // 2, n // 2))
    add('repeat', lambda x: jnp.repeat(jnp.repeat(x, 2, 0), 2, 1), f32(n // 2, n // 2))
    add('space_to_depth', lambda x: x.reshape(n // 2, 2, n // 2, 2, 4).transpose(0, 2, 1, 3, 4).reshape(n // 2, n // 2, 16), f32(n, n, 4))
    add('depth_to_space', lambda x: x.reshape(n // 4, n // 4, 4, 4, 2).transpose(0, 2, 1, 3, 4).reshape(n, n, 2), f32(n // 4, n // 4, 32))
    add('patches', lambda x: x.reshape(n // 8, 8, n // 8, 8, 3).transpose(0, 2, 1, 3, 4).reshape(-1, 192), f32(n, n, 3))
    add('triangle', lambda x: jnp.tril(x) + jnp.triu(x, 2), x)
    add('diagonal', lambda x: (jnp.diagonal(x), jnp.diag(x[0])), x)
    add('split_and_swap', lambda x: jnp.concatenate(jnp.split(x, 4, 1)[::-1], 1), x)
    add('half_turn', lambda x: jnp.concatenate([-x[..., n // 2:], x[..., :n // 2]], -1) + x, x)
    add('kronecker', lambda a, b: jnp.kron(a, b), f32(n // 8, n // 8), f32(8, 8))
    add('meshgrid', lambda a, b: (lambda u, v: u * v + u)(*jnp.meshgrid(a, b)), f32(n), f32(n))
    add('sliding_views', lambda x: jnp.stack([x[i:x.shape[0] - 8 + i] for i in range(8)], -1), f32(n * n // 8))
