"""Audax and Augmax: sound in bands of frequency, and pictures that are cropped, turned and coloured at random."""
import numpy as np

from by_value import Programs
from weights import Weights

NEEDS = ('audax', 'augmax')
FACTOR = 256.0


def programs(jax):
    import augmax
    import jax.numpy as jnp
    from audax.core import functional

    KEY = np.array([0, 5], np.uint32)
    R = Weights(jax, 23)
    P = Programs()
    add = P.add

    bank = functional.melscale_fbanks(257, 40, 16000, 0.0, 8000.0)

    def mel(wave):
        power = functional.spectrogram(wave, 0, jnp.hanning(512), 512, 160, 512, 2.0, False, True)
        return jnp.log(jnp.maximum(functional.apply_melscale(power, bank), 1e-6))

    add('spectrogram', mel, R.f32(2, 8000))
    add('spectrogram_gradient', jax.grad(lambda wave: jnp.square(mel(wave)).mean()), R.f32(2, 6000))

    pictures = R.uniform_f32(4, 40, 48, 3)

    def augmented(*transforms):
        chain = augmax.Chain(*transforms)
        return lambda key, x: jax.vmap(chain)(jax.random.split(key, len(x)), x)

    add('crops_and_flips', augmented(augmax.RandomSizedCrop(32, 32), augmax.HorizontalFlip(), augmax.Rotate(20)), KEY, pictures)
    add('warps', augmented(augmax.Warp(strength=4, coarseness=12), augmax.Translate(3, -2)), KEY, pictures)
    add('colours', augmented(augmax.ColorJitter(p=1.0), augmax.RandomGamma(p=1.0), augmax.RandomGrayscale(p=0.3), augmax.Solarization(p=0.3), augmax.Normalize()),
        KEY, pictures)
    add('blurs_and_shuffles', augmented(augmax.GaussianBlur(sigma=2), augmax.GridShuffle(grid_size=(4, 4), p=1.0), augmax.ChannelShuffle()), KEY, pictures)
    add('all_of_them', augmented(augmax.RandomSizedCrop(32, 32), augmax.Rotate90(), augmax.Warp(strength=3, coarseness=8), augmax.ColorJitter(), augmax.GaussianBlur(sigma=1)),
        KEY, pictures)

    def shifted(pad):
        """Pictures shifted by a few pixels at random, as agents that see are trained: padded, then cropped."""
        def run(key, x):
            def one(key, x):
                start = jax.random.randint(key, (2,), 0, 2 * pad + 1)
                return jax.lax.dynamic_slice(jnp.pad(x, ((pad, pad), (pad, pad), (0, 0))), (start[0], start[1], 0), x.shape)
            return jax.vmap(one)(jax.random.split(key, len(x)), x)
        return run

    add('shifts_of_bytes', shifted(4), KEY, R.u8(16, 84, 84, 3))
    add('shifts', shifted(4), KEY, R.uniform_f32(16, 64, 64, 3))
    return P
