"""Complex numbers and Fourier transforms."""
import numpy as np

from arrays import c64, f32

FACTOR = 4.0


def programs(jax, pick, add):
    jnp, lax, fft = jax.numpy, jax.lax, jax.numpy.fft
    b, n, m = pick((4, 128, 16), (32, 4096, 256), (128, 32768, 1024))
    add('fft', lambda x: fft.fft(x), c64(b, n))
    add('ifft', lambda x: fft.ifft(x), c64(b, n))
    add('rfft', lambda x: fft.rfft(x), f32(b, n))
    add('irfft', lambda x: fft.irfft(x), c64(b, n // 2 + 1))
    add('fft_600', lambda x: fft.fft(x), c64(b * n // 2400, 600) if b * n >= 2400 else c64(2, 600))
    add('fft_prime', lambda x: fft.fft(x), c64(b, 251), factor=4)
    add('fft_16_many', lambda x: fft.fft(x), c64(b * n // 16, 16))
    add('fft_first_axis', lambda x: fft.fft(x, axis=0), c64(n, b))
    add('fft2', lambda x: fft.fft2(x), c64(m, m))
    add('rfft2_round_trip', lambda x: fft.irfft2(fft.rfft2(x) * 0.5, x.shape), f32(m, m))
    add('fftn_3d', lambda x: fft.fftn(x), c64(*[max(8, int((m * m) ** (1 / 3)))] * 3))
    add('convolution', lambda x, k: fft.irfft(fft.rfft(x, 2 * n) * fft.rfft(k, 2 * n), 2 * n)[:, :n], f32(b, n), f32(n // 4))
    add('power_spectrum', lambda x: (jnp.abs(fft.rfft(x * jnp.hanning(n))) ** 2).mean(0), f32(b, n))
    add('spectrogram', lambda x: jnp.abs(fft.rfft(jax.vmap(lambda i: lax.dynamic_slice(x, (i * 32,), (64,)))(jnp.arange((n - 64) // 32 + 1)) * jnp.hanning(64))), f32(n))
    add('poisson_solver', lambda f: (lambda k: fft.ifft2(fft.fft2(f) / (k[:, None] ** 2 + k[None] ** 2 + 1)).real)(fft.fftfreq(m, 1 / m)), f32(m, m))
    add('autocorrelation', lambda x: (lambda s: fft.irfft(s * s.conj()))(fft.rfft(x)), f32(b, n), factor=4)
    add('gradient', lambda x, w: jax.grad(lambda w: (jnp.abs(fft.rfft(x) * w) ** 2).mean())(w), f32(b, n), f32(n // 2 + 1), factor=4)
    add('shift', lambda x: fft.fftshift(fft.fft2(fft.ifftshift(x))), c64(m, m))
    add('complex_arithmetic', lambda x, y: x * y + x / (y + 3) - x.conj(), c64(b * n), c64(b * n), factor=8)
    add('complex_functions', lambda x: jnp.exp(1j * x.real) * jnp.abs(x) + jnp.angle(x) + jnp.sqrt(x), c64(b * n), factor=8)
    add('complex_power', lambda x: x ** 2 + jnp.log(x + 5) * jnp.tanh(0.1 * x), c64(b * n), factor=8)
    add('polar', lambda r, p: r * (jnp.cos(p) + 1j * jnp.sin(p)), f32(b * n), f32(b * n), factor=2)
    add('complex_sum', lambda x: (x.sum(1), jnp.vdot(x, x), (x * x).mean(0)), c64(b, n), factor=4)
    add('rotation_recurrence', lambda z: lax.fori_loop(0, 50, lambda i, s: s * z / (1e-3 + jnp.abs(s * z)), jnp.ones_like(z)), c64(b * n // 16), factor=64)
    add('split_step', lambda p, v: lax.fori_loop(0, 5, lambda i, p: fft.ifft(fft.fft(p * jnp.exp(-0.05j * v)) * jnp.exp(-0.05j * fft.fftfreq(n) ** 2)), p), c64(n), f32(n), factor=8)
