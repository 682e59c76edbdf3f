"""JaxPM, jax-cosmo and celerite2: particles on meshes, spectra of matter and galaxies, processes along a line of time in types of 64 bits."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('jaxpm', 'jax_cosmo', 'celerite2')
X64 = True  # celerite2 asks for it.
FACTOR = 16384.0


def programs(jax):
    import celerite2.jax
    import jax.numpy as jnp
    import jax_cosmo as jc
    from celerite2.jax import terms
    from jax_cosmo.scipy.integrate import simps
    from jaxpm.painting import cic_paint, cic_paint_2d, cic_read
    from jaxpm.pm import linear_field, lpt, make_ode_fn, pm_forces

    R = Random(0)
    KEY = np.array([0, 41], np.uint32)
    P = Programs()
    add = P.add

    # Particles on meshes.
    n = 16
    mesh = (n, n, n)
    grid = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing='ij'), -1).reshape(-1, 3).astype(np.float64)
    moved = grid + R.randn(*grid.shape)
    values = R.randn(n, n, n)
    add('paint', lambda x: cic_paint(jnp.zeros(mesh), x), moved)
    add('read', cic_read, values, moved)
    add('paint_gradient', jax.grad(lambda x, y: jnp.sum((cic_paint(jnp.zeros(mesh), x) - y) ** 2)), moved, values)
    add('paint_plane', lambda x, w: cic_paint_2d(jnp.zeros((32, 32)), x[:, :2] * 2, w), moved, R.rand(len(moved)))
    add('forces', lambda x: pm_forces(x, mesh_shape=mesh), moved)

    k = np.logspace(-4, 1, 64)
    spectrum = lambda cosmo: lambda x: jnp.interp(x.reshape(-1), k, jc.power.linear_matter_power(cosmo, k)).reshape(x.shape)

    def cosmology(p):
        return jc.Cosmology(Omega_c=p[0], Omega_b=0.05, h=0.7, n_s=0.96, sigma8=p[1], Omega_k=0.0, w0=-1.0, wa=0.0)
    parameters = np.array([0.25, 0.8])

    def initial(p, key):
        return linear_field(mesh, (64.0, 64.0, 64.0), spectrum(cosmology(p)), jax.random.wrap_key_data(key))
    add('linear_field', initial, parameters, KEY)
    add('perturbation', lambda p, f, x: lpt(cosmology(p), f, x, 0.1, order=2)[:2], parameters, values, moved)
    ode = make_ode_fn(mesh)

    def simulate(p, field, steps=6):
        """Kicks and drifts from the first order's positions, then the density."""
        cosmo = cosmology(p)
        x = jnp.asarray(grid, field.dtype)
        dx, v, _ = lpt(cosmo, field, x, 0.1)
        scale = jnp.linspace(0.1, 1.0, steps + 1)

        def one(state, a):
            x, v = state
            v = v + ode((x, v), a, cosmo)[1] * (0.9 / steps)
            return (x + ode((x, v), a, cosmo)[0] * (0.9 / steps), v), None
        (x, v), _ = jax.lax.scan(one, (x + dx, v), scale[:-1])
        return cic_paint(jnp.zeros(mesh), x)
    smooth = np.fft.ifftn(np.fft.fftn(R.randn(*mesh)) * np.exp(-sum(np.meshgrid(*[np.fft.fftfreq(n) ** 2] * 3, indexing='ij')) * 60)).real
    add('particle_mesh', simulate, parameters, smooth)
    add('particle_mesh_gradient', jax.value_and_grad(lambda f, p, y: jnp.sum((simulate(p, f, 3) - y) ** 2)), smooth, parameters, np.ones(mesh))

    # Spectra.
    z = np.linspace(0.01, 2, 100)
    add('distances', lambda p: (jc.background.radial_comoving_distance(cosmology(p), jc.utils.z2a(z)), jc.background.growth_factor(cosmology(p), jc.utils.z2a(z))), parameters)
    add('matter_power', lambda p: jc.power.nonlinear_matter_power(cosmology(p), k, 0.7), parameters)
    add('matter_power_jacobian', jax.jacfwd(lambda p: jc.power.nonlinear_matter_power(cosmology(p), k, 0.7)), parameters)
    galaxies = [jc.redshift.smail_nz(1.0, 2.0, 1.0, gals_per_arcmin2=5.0), jc.redshift.smail_nz(2.0, 2.0, 1.5, gals_per_arcmin2=5.0)]
    multipoles = np.logspace(1, 3, 12)

    def probes():
        return [jc.probes.WeakLensing(galaxies, sigma_e=0.25), jc.probes.NumberCounts(galaxies, jc.bias.constant_linear_bias(1.5))]
    add('angular_spectra', lambda p: jc.angular_cl.angular_cl(cosmology(p), multipoles, probes()), parameters)

    def likelihood(p, y):
        mean, covariance = jc.angular_cl.gaussian_cl_covariance_and_mean(cosmology(p), multipoles, probes()[:1], f_sky=0.25, sparse=False)
        return jc.likelihood.gaussian_log_likelihood(y + mean * 0.99, mean, covariance, include_logdet=True)
    add('angular_likelihood', likelihood, parameters, np.zeros(36))
    add('angular_fisher', jax.jacfwd(lambda p: jc.angular_cl.angular_cl(cosmology(p), multipoles, probes()[:1]).reshape(-1)), parameters)

    def brightness(p):
        return 5 * jnp.log10(jc.background.angular_diameter_distance(cosmology(p), jc.utils.z2a(z)) * (1 + z) ** 2)
    add('supernovae', jax.value_and_grad(lambda p, y: jnp.sum((brightness(p) - y) ** 2)), parameters, R.randn(100))
    add('simpson', lambda p: simps(lambda a: jc.background.dchioverda(cosmology(p), a), 0.1, 1.0, 512), parameters)

    # Processes along a line of time: custom calls that the library brings, through its own handlers.
    times = np.sort(R.rand(120) * 10)
    flux = np.sin(3 * times) + 0.1 * R.randn(120)

    def process(term):
        def run(p, t, y):
            gp = celerite2.jax.GaussianProcess(term(jnp.exp(p)), mean=p[-1])
            gp.compute(t, diag=0.01 + 0 * t, check_sorted=False)
            return gp.log_likelihood(y)
        return run
    kinds = {'oscillator': lambda p: terms.SHOTerm(S0=p[0], w0=p[1], Q=p[2]), 'matern': lambda p: terms.Matern32Term(sigma=p[0], rho=p[1]),
             'rotation': lambda p: terms.RotationTerm(sigma=p[0], period=p[1], Q0=p[2], dQ=p[3], f=0.5)}
    start = np.array([0.1, 0.5, 0.2, 0.1, 0.05])
    for name, term in kinds.items():
        add('process_' + name, jax.value_and_grad(process(term)), start, times, flux)

    def predict(p, t, y, q):
        gp = celerite2.jax.GaussianProcess(kinds['oscillator'](jnp.exp(p)), mean=p[-1])
        gp.compute(t, diag=0.01 + 0 * t, check_sorted=False)
        return gp.predict(y, t=q, return_var=True)
    add('process_prediction', predict, start, times, flux, np.linspace(0, 10, 50))

    def descend(p, t, y):
        return jax.lax.scan(lambda p, _: (p - 1e-4 * jax.grad(lambda p: -process(kinds['oscillator'])(p, t, y))(p), None), p, None, length=8)[0]
    add('process_descent', descend, start, times, flux)
    return P
