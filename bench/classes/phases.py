"""Images from waves: holograms, phases retrieved, coils of a scanner, diffraction from overlapping places, propagation of beams."""
import numpy as np

from by_value import Programs, Random

FACTOR = 8192.0


def programs(jax):
    import jax.numpy as jnp

    R = Random(0)
    P = Programs()
    add = P.add
    c64 = R.c64
    picture = (R.rand(64, 64) > 0.6).astype(np.float32)
    fft, ifft = jnp.fft.fft2, jnp.fft.ifft2

    def alternated(magnitude, support, start):
        """Gerchberg and Saxton: the given magnitudes in both planes in turn."""
        def one(field, _):
            far = fft(field)
            near = ifft(magnitude * jnp.exp(1j * jnp.angle(far)))
            return support * jnp.exp(1j * jnp.angle(near)), jnp.mean(jnp.abs(jnp.abs(far) - magnitude))
        return jax.lax.scan(one, start, None, length=6)
    add('alternated', alternated, np.abs(np.fft.fft2(picture)).astype(np.float32), np.ones((64, 64), np.float32), np.exp(2j * np.pi * R.rand(64, 64)).astype(np.complex64))

    def hybrid(magnitude, inside, start):
        def one(x, _):
            y = ifft(magnitude * jnp.exp(1j * jnp.angle(fft(x)))).real
            return jnp.where(inside & (y > 0), y, x - 0.9 * y), None
        return jax.lax.scan(one, start, None, length=4)[0]
    inside = np.zeros((64, 64), bool)
    inside[16:48, 16:48] = True
    add('hybrid_input_output', hybrid, np.abs(np.fft.fft2(picture * inside)).astype(np.float32), inside, R.share(64, 64))

    def overlapping(patterns, corners, probe, thing):
        """Ptychography: object and probe corrected at each place in turn."""
        def one(carry, place):
            thing, probe = carry
            pattern, corner = place
            view = jax.lax.dynamic_slice(thing, tuple(corner), (32, 32))
            exit_wave = view * probe
            far = fft(exit_wave)
            change = ifft(pattern * far / (jnp.abs(far) + 1e-6)) - exit_wave
            new = view + change * probe.conj() / jnp.max(jnp.abs(probe) ** 2)
            probe = probe + 0.5 * change * view.conj() / (jnp.max(jnp.abs(view) ** 2) + 1e-6)
            return (jax.lax.dynamic_update_slice(thing, new, tuple(corner)), probe), jnp.sum(jnp.abs(change) ** 2)
        return jax.lax.scan(one, (thing, probe), (patterns, corners))
    corners = np.stack(np.meshgrid(np.arange(0, 32, 8), np.arange(0, 32, 8)), -1).reshape(-1, 2).astype(np.int32)
    add('overlapping', overlapping, np.abs(c64(16, 32, 32)) * np.float32(20), corners, c64(32, 32) * np.float32(0.3) + 1, np.ones((64, 64), np.complex64))

    def coils(samples, mask, sensitivities):
        """An image from a quarter of the lines of 8 coils, by conjugate gradients."""
        def forward(x):
            return mask * fft(sensitivities * x, axes=(1, 2)) / 64

        def adjoint(y):
            return jnp.sum(sensitivities.conj() * ifft(mask * y, axes=(1, 2)) * 64, 0)
        return jax.scipy.sparse.linalg.cg(lambda x: adjoint(forward(x)) + 0.01 * x, adjoint(samples), maxiter=10)[0]
    mask = (np.arange(64)[:, None] % 4 == 0).astype(np.float32) * np.ones((1, 64), np.float32)
    add('coils', coils, c64(8, 64, 64), mask, c64(8, 64, 64) * np.float32(0.3))

    def sparse(samples, mask):
        """Few lines and a picture of few edges: a proximal gradient with momentum."""
        def one(carry, _):
            x, y, t = carry
            z = y - ifft(mask * (fft(y) - samples))
            new = z * jnp.maximum(0, 1 - 0.02 / (jnp.abs(z) + 1e-9))
            s = (1 + jnp.sqrt(1 + 4 * t * t)) / 2
            return (new, new + (t - 1) / s * (new - x), s), None
        start = ifft(samples)
        return jax.lax.scan(one, (start, start, jnp.float32(1)), None, length=15)[0][0]
    add('few_lines', sparse, (np.fft.fft2(picture) * mask).astype(np.complex64), mask)

    def beam(field, index):
        """Through layers of glass, half a step in free space before and after each."""
        k = 2 * jnp.pi * jnp.fft.fftfreq(64)
        step = jnp.exp(-0.5j * (k[:, None] ** 2 + k[None] ** 2))

        def one(u, n):
            u = ifft(step * fft(u)) * jnp.exp(1j * n)
            return ifft(step * fft(u)), jnp.sum(jnp.abs(u) ** 2)
        return jax.lax.scan(one, field, index)
    gaussian = np.exp(-((np.arange(64) - 32)[:, None] ** 2 + (np.arange(64) - 32) ** 2) / 100).astype(np.complex64)
    add('beam', beam, gaussian, R.share(12, 64, 64) * np.float32(0.2))
    add('beam_gradient', jax.grad(lambda n, f: jnp.sum(jnp.abs(beam(f, n)[0][:32]) ** 2)), R.share(6, 64, 64) * np.float32(0.2), gaussian)

    def fibre(pulse):
        """A pulse in a fibre: dispersion in frequency, its own phase in time."""
        w = 2 * jnp.pi * jnp.fft.fftfreq(1024, 0.02)
        half = jnp.exp(0.25j * w ** 2 * 0.01)

        def one(u, _):
            u = jnp.fft.ifft(half * jnp.fft.fft(u))
            u = u * jnp.exp(1j * jnp.abs(u) ** 2 * 0.01)
            return jnp.fft.ifft(half * jnp.fft.fft(u)), None
        return jax.lax.scan(one, pulse, None, length=50)[0]
    time = (np.arange(1024) - 512) * 0.02
    add('fibre', fibre, (2 / np.cosh(time)).astype(np.complex64))

    def fibre_of_two(pulses):
        """Two polarisations, each with the other's power."""
        w = 2 * jnp.pi * jnp.fft.fftfreq(1024, 0.02)
        half = jnp.exp(1j * (0.25 * w ** 2 + jnp.array([0.3, -0.3])[:, None] * w) * 0.01)

        def one(u, _):
            u = jnp.fft.ifft(half * jnp.fft.fft(u, axis=1), axis=1)
            power = jnp.abs(u) ** 2
            u = u * jnp.exp(1j * (power + 2 / 3 * power[::-1]) * 0.01)
            return jnp.fft.ifft(half * jnp.fft.fft(u, axis=1), axis=1), None
        return jax.lax.scan(one, pulses, None, length=30)[0]
    add('fibre_of_two', fibre_of_two, np.stack([1.5 / np.cosh(time), 1.2 / np.cosh(time)]).astype(np.complex64))

    def hologram(distance):
        k = jnp.fft.fftfreq(128) * 128 / 6.4e-4
        inside = 1 / 5e-7 ** 2 - k[:, None] ** 2 - k[None] ** 2
        turn = jnp.exp(2j * jnp.pi * (jnp.sqrt(jnp.maximum(inside, 0)) - 1 / 5e-7) * distance)
        return lambda image: jnp.abs(ifft(fft(image) * turn)) ** 2
    add('hologram', lambda image, d: jax.lax.map(lambda d: hologram(d)(image), d), np.pad(picture, 32).astype(np.complex64), np.linspace(1e-3, 4e-3, 6).astype(np.float32))

    def speckle_shift(before, after):
        """How patches of 32 moved: the phases of their cross spectra."""
        def one(corner):
            a, b = (fft(jax.lax.dynamic_slice(x, tuple(corner), (32, 32))) for x in (before, after))
            cross = a.conj() * b
            peak = ifft(cross / (jnp.abs(cross) + 1e-6)).real
            return jnp.argmax(peak)
        return jax.vmap(one)(jnp.asarray(corners))
    add('patches_that_moved', speckle_shift, R.share(64, 64), R.share(64, 64))

    def unwrapped(phase):
        """Least squares of the wrapped differences, by a cosine transform."""
        wrap = lambda d: jnp.arctan2(jnp.sin(d), jnp.cos(d))
        dx, dy = wrap(jnp.diff(phase, axis=0)), wrap(jnp.diff(phase, axis=1))
        rho = jnp.pad(dx, ((0, 1), (0, 0))) - jnp.pad(dx, ((1, 0), (0, 0))) + jnp.pad(dy, ((0, 0), (0, 1))) - jnp.pad(dy, ((0, 0), (1, 0)))
        n, m = phase.shape
        scale = 2 * (jnp.cos(jnp.pi * jnp.arange(n) / n)[:, None] + jnp.cos(jnp.pi * jnp.arange(m) / m) - 2)
        spectrum = jax.scipy.fft.dctn(rho, norm='ortho') / jnp.where(scale == 0, 1, scale)
        return jax.scipy.fft.idctn(spectrum.at[0, 0].set(0), norm='ortho')
    add('unwrapped', unwrapped, np.angle(np.exp(1j * (np.arange(64)[:, None] * 0.2 + np.arange(64) * 0.3))).astype(np.float32))
    return P
