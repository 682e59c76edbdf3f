"""Complex arrays that are padded, joined, turned, rolled and shifted: parts that lie side by side, of which some are asked for."""
import numpy as np

from by_value import Programs, Random


def programs(jax):
    import jax.numpy as jnp

    R = Random(0)
    P = Programs()
    add = P.add

    def values(kind, *shape):
        return (R.randn(*shape) + 1j * R.randn(*shape)).astype(kind)

    for kind in (np.complex64, np.complex128):
        name = np.dtype(kind).name.replace('complex', 'c')
        add('pad_rows_' + name, lambda x: jnp.pad(x, ((2, 3), (0, 0))) * 2, values(kind, 50, 70))
        add('pad_both_' + name, lambda x: jnp.pad(x, ((3, 5), (5, 9))), values(kind, 200, 100))
        add('roll_lanes_' + name, lambda x: x + jnp.roll(x, 7, 1) * 1j, values(kind, 60, 100))
        add('roll_rows_' + name, lambda x: x + jnp.roll(x, 7, 0) * 1j, values(kind, 60, 100))
        add('join_lanes_' + name, lambda x, y: jnp.concatenate([x, y, x * 2], 1), values(kind, 40, 33), values(kind, 40, 20))
        add('stencil_' + name,
            lambda x: (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1) - 4 * x) * 1j,
            values(kind, 64, 64))
        add('fill_with_last_' + name, lambda x: jnp.pad(x, ((1, 1), (2, 2)), mode='edge'), values(kind, 30, 50))
        add('pad_with_one_' + name, lambda x: jnp.pad(x, ((1, 1), (2, 2)), constant_values=1 - 2j), values(kind, 30, 50))
        add('spectrum_shift_' + name, lambda x: jnp.fft.ifftshift(jnp.fft.fftshift(x) * 0.5), values(kind, 64, 64))
        add('mirrored_' + name, lambda x: jnp.concatenate([x, jnp.conj(x[:, ::-1])], 1), values(kind, 64, 65))
    return P
