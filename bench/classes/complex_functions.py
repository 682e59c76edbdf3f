"""Functions of complex numbers: gamma and error functions, theta series, means of arithmetic and geometry, maps of regions, roots by iteration, and their derivatives."""
import numpy as np
from by_value import Programs, Random

FACTOR = 4096.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(13)
    add = P.add
    z = R.c64(2003) * np.float32(.7)
    grid = (np.linspace(-2, 2, 91)[None, :] + 1j * np.linspace(-1.5, 1.5, 67)[:, None]).astype(np.complex64)

    def gamma(z):
        c = [676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905, -.13857109526572012]
        z = z - 1
        x = .9999999999998099 + sum(v / (z + i + 1) for i, v in enumerate(c))
        t = z + 6.5
        return np.float32(2.5066282746310002) * t ** (z + .5) * jnp.exp(-t) * x
    add('gamma', gamma, np.abs(z.real) + 1 + 1j * z.imag)

    def faddeeva(z):
        """Humlicek's rational approximation with 16 terms of Weideman."""
        n, m = 16, 32
        k = np.arange(-m + 1, m)
        length = np.sqrt(n / np.sqrt(2))
        t = length * np.tan(k * np.pi / m / 2)
        f = np.append(0, np.exp(-t * t) * (length ** 2 + t * t))
        a = np.flipud(np.real(np.fft.fft(np.fft.fftshift(f)))[1:n + 1] / (2 * m)).astype(np.float32)
        x = (length + 1j * z) / (length - 1j * z)
        return 2 * jnp.polyval(jnp.array(a), x) / (length - 1j * z) ** 2 + (1 / np.sqrt(np.pi)) / (length - 1j * z)
    up = z.real + 1j * (np.abs(z.imag) + .01)
    add('faddeeva', faddeeva, up.astype(np.complex64))
    add('voigt_profiles', lambda x, c, s, g: (faddeeva((x[:, None] - c + 1j * g) / s).real / s).sum(1), np.linspace(0, 50, 501).astype(np.float32), 50 * R.share(23), .5 + R.share(23), .1 + R.share(23))
    add('voigt_profiles_gradient', lambda y, x, c, s, g: jax.grad(lambda c, s, g: (((faddeeva((x[:, None] - c + 1j * g) / s).real / s).sum(1) - y) ** 2).sum(), (0, 1, 2))(c, s, g), R.f32(301), np.linspace(0, 50, 301).astype(np.float32), 50 * R.share(11), .5 + R.share(11), .1 + R.share(11))
    add('theta_series', lambda z, q: sum(q ** (n * n) * jnp.cos(2 * n * z) for n in range(1, 8)) * 2 + 1, z, (.4 * R.rand(2003) * np.exp(1j * R.rand(2003))).astype(np.complex64))
    add('lattice_sums', lambda z, w: 1 / z ** 2 + (1 / (z[..., None] - w) ** 2 - 1 / w ** 2).sum(-1), grid[:40, :41] + np.complex64(.01), np.array([a + 1j * b for a in range(-4, 5) for b in range(-4, 5) if a or b], np.complex64))
    add('means', lambda a, b: lax.fori_loop(0, 6, lambda _, s: ((s[0] + s[1]) / 2, jnp.sqrt(s[0] * s[1])), (a, b))[0], 1 + R.share(1501) + 1j * R.share(1501), 1 + R.share(1501) + 1j * R.share(1501))
    add('joukowski', lambda z, c: (lambda w: w + 1 / w)(z * jnp.abs(1 - c) + c), np.exp(2j * np.pi * np.arange(1009) / 1009).astype(np.complex64), np.complex64(-.1 + .1j))
    add('mobius_maps', lambda z, m: (m[:, 0, 0, None] * z + m[:, 0, 1, None]) / (m[:, 1, 0, None] * z + m[:, 1, 1, None]), z[:301], R.c64(31, 2, 2))
    add('mobius_maps_composed', lambda m: lax.associative_scan(lambda a, b: (lambda c: c / jnp.linalg.norm(c, axis=(-2, -1), keepdims=True))(b @ a), m), R.c64(257, 2, 2))
    add('roots_by_iteration', lambda z: lax.fori_loop(0, 12, lambda _, z: z - (z ** 3 - 1) / (3 * z * z), z), grid + np.complex64(.003))
    add('roots_of_all_at_once', jax.vmap(lambda c: lax.fori_loop(0, 15, lambda _, r: r - jnp.polyval(c, r) / jnp.prod(r[:, None] - r + jnp.eye(7), 1), jnp.exp(2j * jnp.pi * (jnp.arange(7.) + .25) / 7).astype(jnp.complex64))), np.concatenate([np.ones((50, 1)), R.randn(50, 7)], 1).astype(np.complex64))
    add('julia', lambda c, z: lax.scan(lambda s, _: ((lambda z, n: (jnp.where(jnp.abs(z) < 2, z * z + c, z), n + (jnp.abs(z) < 2)))(*s), None), (z, jnp.zeros(z.shape, jnp.int32)), None, length=25)[0][1], np.complex64(-.8 + .156j), grid)
    add('domain_coloured', lambda z: (lambda w: jnp.stack([jnp.angle(w) / (2 * np.pi) + .5, 1 / (1 + .3 * jnp.log1p(jnp.abs(w))), jnp.abs(w) % 1], -1))((z * z - 1) * (z - 2 - 1j) ** 2 / (z * z + 2 + 2j)), grid)
    for name in ('exp', 'log', 'sqrt', 'sin', 'tanh', 'arctan', 'arcsinh', 'arccos', 'abs', 'angle', 'reciprocal'):
        add(name, getattr(jnp, name), z)
    add('powers', lambda a, b: a ** b, z, R.c64(2003) * np.float32(.5))
    add('logs_of_sums', lambda z: jnp.log(jnp.exp(z - z.real.max()).sum(0)), z.reshape(1, -1)[:, :2000].reshape(40, 50))
    add('squared_sizes_gradient', lambda z, w: jax.grad(lambda w: (jnp.abs(jnp.tanh(z * w)) ** 2).sum())(w), z, R.c64(2003))
    add('derivative_of_a_map', lambda z: jax.vmap(jax.grad(lambda z: jnp.exp(z * z) / (z + 3), holomorphic=True))(z), z)
    add('running_products', lambda z: jnp.cumprod(z / jnp.abs(z)), z)
    add('running_sums_of_columns', lambda z: jnp.cumsum(z.reshape(89, -1)[:, :22], 0), z[:1958])
    add('sorted', lambda z: jnp.sort(z), z)
    add('farthest_apart', lambda z: jnp.abs(z[:, None] - z).max(), z[:300])
    add('polynomial_of_a_matrix', lambda a, z: jax.vmap(lambda z: jnp.linalg.det(z * jnp.eye(6) - a))(z), R.c64(6, 6), z[:200])
    add('resolvents', lambda a, z: jax.vmap(lambda z: jnp.linalg.norm(jnp.linalg.inv(z * jnp.eye(8) - a)))(z), R.c64(8, 8), grid[::6, ::6].ravel())
    add('unitaries_of_generators', lambda h: jax.vmap(lambda h: jax.scipy.linalg.expm(-1j * (h + h.conj().T)))(h), R.c64(29, 5, 5) * np.float32(.3))
    add('blaschke_products', lambda z, a: ((z[:, None] - a) / (1 - a.conj() * z[:, None])).prod(1), (.9 * z[:701] / (1 + np.abs(z[:701]))).astype(np.complex64), (.8 * R.rand(13) * np.exp(6j * R.rand(13))).astype(np.complex64))
    return P
