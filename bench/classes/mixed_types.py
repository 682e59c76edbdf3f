"""Bytes, shorts, halves and floats together: pictures, sound, filters of fixed point, attention of low precision."""
import ml_dtypes
import numpy as np
from by_value import Programs, Random

R = Random(4213)
u8, i32 = R.u8, R.i32


def programs(jax):
    import jax.numpy as jnp
    from jax import lax, nn
    P = Programs()
    add = P.add
    u16, f32 = jnp.uint16, jnp.float32

    def planes(x):
        x = (x.astype(f32) / 255 - jnp.array([.485, .456, .406])) / jnp.array([.229, .224, .225])
        return x.transpose(0, 3, 1, 2).astype(jnp.bfloat16)
    add('bytes_to_bf16_planes', planes, u8(5, 61, 67, 3))

    def colours(y, u, v):
        u, v = (jnp.repeat(jnp.repeat(x.astype(f32) - 128, 2, 0), 2, 1) for x in (u, v))
        rgb = jnp.stack([y + 1.402 * v, y - .344 * u - .714 * v, y + 1.772 * u], -1)
        return jnp.clip(rgb + .4995, 0, 255).astype(jnp.uint8)  # No sum lies on the border of two bytes.
    add('colours_of_halved_chroma', colours, u8(120, 160), u8(60, 80), u8(60, 80))
    add('median_of_three_frames', lambda a, b, c: jnp.maximum(jnp.minimum(a, b), jnp.minimum(jnp.maximum(a, b), c)), u8(301, 307), u8(301, 307), u8(301, 307))

    def blocks_apart(a, b):
        return jnp.abs(a.astype(jnp.int16) - b.astype(jnp.int16)).reshape(15, 8, 20, 8).sum((1, 3), dtype=jnp.int32)
    add('differences_of_blocks', blocks_apart, u8(120, 160), u8(120, 160))

    def over(front, back):
        a = front[..., 3:].astype(u16)
        return ((front[..., :3].astype(u16) * a + back[..., :3].astype(u16) * (255 - a) + 127) // 255).astype(jnp.uint8)
    add('one_picture_over_another', over, u8(101, 103, 4), u8(101, 103, 4))

    def matched(a, b):
        ca, cb = (jnp.cumsum(jnp.bincount(x.ravel(), length=256)) for x in (a, b))
        return jnp.searchsorted(cb * a.size, ca * b.size)[a].astype(jnp.uint8)
    add('histogram_matched', matched, u8(101, 103), u8(99, 107))

    def mixed(x, gain):
        return jnp.clip((x.astype(jnp.int32) * gain[:, None] >> 8).sum(0), -32768, 32767).astype(jnp.int16)
    add('sounds_mixed', mixed, R.randint(-9999, 9999, (7, 20011)).astype(np.int16), i32(256, 7))

    def fixed_point(x, taps):
        def step(s, x):
            s = jnp.concatenate([x[None], s[:-1]])
            return s, ((s * taps).sum() + (1 << 14)) >> 15
        return lax.scan(step, jnp.zeros(9, jnp.int32), x)[1].astype(jnp.int16)
    add('fixed_point_in_a_scan', fixed_point, R.randint(-9999, 9999, 1003).astype(np.int32), i32(9999, 9))

    add('masked_softmax_f16', lambda x, m: nn.softmax(jnp.where(m, x, -jnp.inf), axis=-1), R.f16(101, 203), R.rand(101, 203) > .2)

    def turned_attention(q, k, v, c, s):
        def turned(x):
            a, b, c_, s_ = x[..., :12], x[..., 12:], c[:, None, None], s[:, None, None]
            return jnp.concatenate([a * c_ - b * s_, b * c_ + a * s_], -1)
        scores = jnp.einsum('qhgd,khd->hgqk', turned(q), turned(k[:, :, None])[:, :, 0]) / 8
        return jnp.einsum('hgqk,khd->qhgd', nn.softmax(scores.astype(f32)).astype(jnp.bfloat16), v)
    angles = R.rand(53, 12) * 6
    add('turned_grouped_attention_bf16', turned_attention, R.bf16(53, 3, 4, 24), R.bf16(53, 3, 24), R.bf16(53, 3, 24),
        np.cos(angles).astype(ml_dtypes.bfloat16), np.sin(angles).astype(ml_dtypes.bfloat16))
    return P
