"""Radio and radar: symbols on many carriers, equalisers, beams, pulses compressed, signals spread and synchronised."""
import numpy as np

from by_value import Programs, Random

FACTOR = 256.0


def programs(jax):
    import jax.numpy as jnp

    R = Random(0)
    P = Programs()
    add = P.add
    c64 = R.c64

    def carried(bits, channel):
        """Bits to 16 levels on 512 carriers, through a channel of echoes, and back."""
        levels = jnp.array([-3, -1, 3, 1], jnp.float32)
        b = bits.reshape(-1, 512, 4)
        symbols = (levels[2 * b[..., 0] + b[..., 1]] + 1j * levels[2 * b[..., 2] + b[..., 3]]) / np.sqrt(10).astype(np.float32)
        wave = jnp.fft.ifft(symbols, axis=-1)
        wave = jnp.concatenate([wave[:, -64:], wave], 1).ravel()
        heard = jnp.convolve(wave, channel)[:wave.size].reshape(-1, 576)[:, 64:]
        back = jnp.fft.fft(heard, axis=-1) / jnp.fft.fft(channel, 512) * np.sqrt(10).astype(np.float32)
        near = jnp.argmin(jnp.abs(back.real[..., None] - levels), -1), jnp.argmin(jnp.abs(back.imag[..., None] - levels), -1)
        return jnp.stack([near[0] // 2, near[0] % 2, near[1] // 2, near[1] % 2], -1).ravel() == bits
    channel = (np.array([1, 0.4, 0.2, 0.1]) * np.exp(2j * np.pi * R.rand(4))).astype(np.complex64)
    add('many_carriers', carried, R.i32(2, 14 * 512 * 4), channel)
    add('one_block_of_carriers', carried, R.i32(2, 512 * 4), channel)

    def pilots(heard, sent, places):
        """The channel at all carriers from those whose symbols are known, by its few taps."""
        at = heard[places] / sent
        taps = jnp.exp(-2j * jnp.pi * places[:, None] * jnp.arange(16) / 1024).astype(jnp.complex64)
        few = jnp.linalg.solve(taps.conj().T @ taps + 0.01 * jnp.eye(16), taps.conj().T @ at)
        return jnp.fft.fft(few, 1024)
    add('channel_from_pilots', pilots, c64(1024), np.exp(2j * np.pi * R.rand(128)).astype(np.complex64), np.arange(0, 1024, 8).astype(np.int32))

    def detected(channel, heard):
        """Symbols of 8 antennas at each carrier, by least squares with noise."""
        gram = jnp.einsum('kra,krb->kab', channel.conj(), channel) + 0.1 * jnp.eye(8)
        return jnp.linalg.solve(gram, jnp.einsum('kra,kr->ka', channel.conj(), heard)[..., None])[..., 0]
    add('antennas', detected, c64(128, 16, 8), c64(128, 16))

    def precoded(channel):
        u, s, v = jnp.linalg.svd(channel)
        power = jnp.maximum(0, 1 - 0.5 / (s ** 2 + 1e-3))
        return jnp.sum(jnp.log2(1 + power * s ** 2), -1)
    add('capacity', precoded, c64(64, 8, 8))

    def adapted(heard, wanted):
        """A filter of 16 complex taps that learns by each sample."""
        def one(taps, n):
            window = jax.lax.dynamic_slice(heard, (n,), (16,))
            error = wanted[n] - jnp.vdot(taps, window)
            return taps + 0.02 * window * error.conj() / (1e-3 + jnp.vdot(window, window).real), error
        return jax.lax.scan(one, jnp.zeros(16, jnp.complex64), jnp.arange(1000))
    add('taps_that_learn', adapted, c64(1016), c64(1000))

    def recursive(heard, wanted):
        """The same by recursive least squares."""
        def one(carry, n):
            taps, inverse = carry
            window = jax.lax.dynamic_slice(heard, (n,), (12,))
            gain = inverse @ window / (0.99 + jnp.vdot(window, inverse @ window))
            error = wanted[n] - jnp.vdot(taps, window)
            return (taps + gain * error.conj(), (inverse - jnp.outer(gain, window.conj() @ inverse)) / 0.99), jnp.abs(error)
        return jax.lax.scan(one, (jnp.zeros(12, jnp.complex64), 10 * jnp.eye(12, dtype=jnp.complex64)), jnp.arange(300))[1]
    add('taps_by_least_squares', recursive, c64(312), c64(300))

    def constant_modulus(heard):
        def one(taps, n):
            window = jax.lax.dynamic_slice(heard, (n,), (11,))
            y = jnp.vdot(taps, window)
            return taps - 0.005 * window * (y * (jnp.abs(y) ** 2 - 1)).conj(), y
        return jax.lax.scan(one, jnp.zeros(11, jnp.complex64).at[5].set(1), jnp.arange(500))[1]
    add('constant_modulus', constant_modulus, c64(511) * np.float32(0.5))

    chirp = np.exp(1j * np.pi * np.linspace(0, 1, 128) ** 2 * 60).astype(np.complex64)

    def pulses(echoes, chirp):
        """Range by compression, speed by the pulses' phases."""
        spectrum = jnp.fft.fft(chirp, 1024).conj()
        ranges = jnp.fft.ifft(jnp.fft.fft(echoes, 1024, axis=1) * spectrum, axis=1)
        window = jnp.hamming(echoes.shape[0])[:, None]
        return 20 * jnp.log10(jnp.abs(jnp.fft.fftshift(jnp.fft.fft(ranges * window, axis=0), 0)) + 0.1)
    add('ranges_and_speeds', pulses, c64(64, 800), chirp)
    add('one_pulse', lambda e, c: jnp.abs(jnp.fft.ifft(jnp.fft.fft(e, 1024) * jnp.fft.fft(c, 1024).conj())), c64(800), chirp)

    def false_alarms(power):
        """Cells above what their neighbours, but not the nearest, let expect."""
        total = jax.lax.reduce_window(power, 0.0, jax.lax.add, (13, 13), (1, 1), 'SAME')
        guard = jax.lax.reduce_window(power, 0.0, jax.lax.add, (5, 5), (1, 1), 'SAME')
        return power > 4 * (total - guard) / (13 * 13 - 25)
    add('false_alarms', false_alarms, np.abs(R.f32(64, 512)) ** 2)

    def directions(snapshots):
        """Where waves come from: what is orthogonal to the noise's eigenvectors."""
        n = snapshots.shape[0]
        covariance = snapshots @ snapshots.conj().T / snapshots.shape[1]
        _, vectors = jnp.linalg.eigh(covariance)
        steering = jnp.exp(1j * jnp.pi * jnp.arange(n)[:, None] * jnp.sin(jnp.linspace(-1.5, 1.5, 181)))
        return 1 / jnp.sum(jnp.abs(vectors[:, :-3].conj().T @ steering) ** 2, 0)
    add('directions', directions, c64(16, 200))

    def aperture(echoes, positions, ranges):
        """An image by adding up each pulse's echo at each pixel's distance, with its phase."""
        x = jnp.stack(jnp.meshgrid(jnp.linspace(-5, 5, 48), jnp.linspace(45, 55, 48)), -1)

        def one(image, pulse):
            echo, place = pulse
            d = jnp.linalg.norm(x - place, axis=-1)
            at = (d - ranges[0]) / (ranges[1] - ranges[0])
            i = jnp.clip(at.astype(jnp.int32), 0, echo.size - 2)
            f = at - i
            return image + (echo[i] * (1 - f) + echo[i + 1] * f) * jnp.exp(4j * jnp.pi * d / 0.3), None
        return jnp.abs(jax.lax.scan(one, jnp.zeros((48, 48), jnp.complex64), (echoes, positions))[0])
    add('synthetic_aperture', aperture, c64(40, 256), np.stack([np.linspace(-4, 4, 40), np.zeros(40)], 1).astype(np.float32), np.linspace(40, 60, 256).astype(np.float32))

    def acquired(signal, code):
        """Delay and shift in frequency of a code of 1023 chips."""
        spectrum = jnp.fft.fft(code).conj()
        shifts = jnp.linspace(-0.01, 0.01, 21)
        moved = signal * jnp.exp(-2j * jnp.pi * shifts[:, None] * jnp.arange(code.size))
        power = jnp.abs(jnp.fft.ifft(jnp.fft.fft(moved, axis=1) * spectrum, axis=1)) ** 2
        return jnp.unravel_index(jnp.argmax(power), power.shape), power.max() / power.mean()
    code = (R.randint(0, 2, 1023) * 2 - 1).astype(np.complex64)
    add('code_acquired', acquired, (np.roll(code, 317) * np.exp(2j * np.pi * 0.003 * np.arange(1023)) + 0.5 * c64(1023)).astype(np.complex64), code)

    def locked(signal):
        """A loop that follows the phase of a carrier whose symbols turn it by quarters."""
        def one(carry, x):
            phase, speed = carry
            y = x * jnp.exp(-1j * phase)
            error = jnp.sign(y.real) * y.imag - jnp.sign(y.imag) * y.real
            speed = speed + 0.001 * error
            return (phase + speed + 0.05 * error, speed), y
        return jax.lax.scan(one, (jnp.float32(0), jnp.float32(0)), signal)[1]
    add('carrier_followed', locked, (np.exp(1j * (np.pi / 4 + np.pi / 2 * R.randint(0, 4, 1000) + 0.01 * np.arange(1000))) + 0.05 * c64(1000)).astype(np.complex64))
    return P
