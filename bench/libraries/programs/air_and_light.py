"""jf1uids, TMMax, ExoJAX and jaxdf: gases with shocks, films of glass, light through the air of planets, and operators on fields."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('jf1uids', 'tmmax', 'exojax', 'jaxdf')
FACTOR = 4096.0


def programs(jax):
    import jax.numpy as jnp
    import jf1uids
    from exojax.opacity.lpf import lpf
    from exojax.postproc import response, spin_rotation
    from exojax.rt import rtransfer
    from exojax.special.faddeeva import imwofz, rewofz
    from jaxdf import FiniteDifferences, FourierSeries
    from jaxdf import operators as ops
    from jaxdf.geometry import Domain
    from tmmax.tmm import vectorized_coh_tmm

    R = Random(0)
    P = Programs()
    add = P.add

    # Gases.
    def gas(dimensions, cells, end, **options):
        config = jf1uids.SimulationConfig(dimensionality=dimensions, num_cells=cells, progress_bar=False, **options)
        names = jf1uids.get_registered_variables(config)
        params = jf1uids.SimulationParams(t_end=end, C_cfl=0.4, dt_max=0.1)
        axes = np.meshgrid(*[np.linspace(0, 1, cells)] * dimensions, indexing='ij')
        radius = np.sqrt(sum((a - 0.5) ** 2 for a in axes))
        inside = axes[0] < 0.5 if dimensions == 1 else radius < 0.2
        density, pressure = np.where(inside, 1.0, 0.125).astype(np.float32), np.where(inside, 1.0, 0.1).astype(np.float32)
        speed = {f'velocity_{n}': jnp.zeros_like(jnp.asarray(density)) for n in 'xyz'[:dimensions]}
        state = jf1uids.construct_primitive_state(config=config, registered_variables=names, density=jnp.asarray(density), gas_pressure=jnp.asarray(pressure), **speed)
        config = jf1uids.finalize_config(config, state.shape)
        return (lambda state: jf1uids.time_integration(state, config, params, names)), np.asarray(state)
    add('shock_tube', *gas(1, 200, 0.05))
    add('shock_tube_hllc', *gas(1, 200, 0.05, riemann_solver=jf1uids.HLLC))
    add('explosion', *gas(2, 32, 0.05))
    add('explosion_in_space', *gas(3, 12, 0.05))
    run, state = gas(1, 100, 0.03, differentiation_mode=jf1uids.BACKWARDS, fixed_timestep=True, num_timesteps=20)
    add('shock_tube_gradient', jax.grad(lambda s: jnp.sum(run(s)[0] ** 2)), state)

    # Films.
    waves, angles = np.linspace(5e-7, 7e-7, 60).astype(np.float32), np.linspace(0, 1.2, 20).astype(np.float32)
    glass = np.stack([np.stack([np.linspace(4e-7, 8e-7, 50), np.linspace(n + 0.1, n, 50), np.full(50, k)]) for n, k in ((1.0, 0), (1.45, 0), (2.3, 1e-4), (1.8, 1e-3))]).astype(np.float32)
    layers, thick = np.array([0, 1, 2, 1, 2, 3, 1, 0]), np.array([3e-7, 1e-7, 2e-7, 1e-7, 3e-7, 1e-7], np.float32)
    for name in ('s', 'p'):
        polar = np.array(name == 'p')
        add('films_' + name, lambda d, t, w, a, polar=polar: vectorized_coh_tmm(d, jnp.asarray(layers), t, w, a, jnp.asarray(polar)), glass, thick, waves, angles)
    add('films_gradient', jax.grad(lambda t, d, w, a: jnp.sum(vectorized_coh_tmm(d, jnp.asarray(layers), t, w, a, jnp.asarray(False))[0]) * 1e-7), thick, glass, waves, angles)

    # Air of planets.
    layers_of_air, channels = 60, 400
    depth = (10 ** (R.share(layers_of_air, channels) * 3 - 2)).astype(np.float32)
    source, albedo = R.share(layers_of_air, channels), (R.share(layers_of_air, channels) * np.float32(0.9)).astype(np.float32)
    add('voigt', lambda nu, s, g, i: lpf.xsvector(nu, s, g, i), R.f32(60, channels), R.share(60) + np.float32(0.1), R.share(60) * np.float32(0.2), R.share(60))
    add('voigt_gradient', jax.grad(lambda s, g, nu, i: jnp.sum(jnp.log(lpf.xsvector(nu, s, g, i) + 1e-3)), (0, 1)), R.share(60) + np.float32(0.1), R.share(60) * np.float32(0.2), R.f32(60, channels), R.share(60))
    add('faddeeva', lambda x, y: (jax.vmap(jax.vmap(rewofz))(x, y), jax.vmap(jax.vmap(imwofz))(x, y)), R.f32(40, 100) * 5, R.share(40, 100))
    add('emission', rtransfer.rtrun_emis_pureabs_fbased2st, depth, source)
    mus, weights = (np.asarray(a, np.float32) for a in rtransfer.initialize_gaussian_quadrature(8))
    add('emission_along_rays', rtransfer.rtrun_emis_pureabs_ibased, depth, source, mus, weights)
    add('emission_with_scattering', lambda *a: rtransfer.rtrun_emis_scat_lart_toonhm(*a)[0], depth, albedo, albedo * np.float32(0.3), source)
    add('emission_by_adding', rtransfer.rtrun_emis_scat_fluxadding_toonhm, depth, albedo, albedo * np.float32(0.3), source)
    add('emission_gradient', jax.grad(lambda *a: jnp.sum(rtransfer.rtrun_emis_scat_fluxadding_toonhm(*a)), (0, 1)), depth, albedo, albedo * np.float32(0.3), source)
    speeds = np.linspace(-100, 100, 101).astype(np.float32)
    add('turning_planet', lambda f, v: spin_rotation.convolve_rigid_rotation(f, speeds, v, 0.1, 0.2), R.share(2000), np.float32(40))
    add('seen_by_a_slit', lambda f, b: response.ipgauss(f, speeds, b), R.share(2000), np.float32(5))

    # Fields.
    domain = Domain((64, 64), (1.0, 1.0))

    def operators(kind):
        def run(values):
            u = kind(values, domain)
            return ops.laplacian(u).on_grid + jnp.sin(u.on_grid), ops.gradient(u).on_grid
        return run
    add('laplacian_by_fourier', operators(FourierSeries), R.f32(64, 64, 1))
    add('laplacian_by_differences', operators(lambda v, d: FiniteDifferences(v, d, accuracy=4)), R.f32(64, 64, 1))

    def heat(kind):
        def run(values):
            def one(v, _):
                return v + 1e-2 * ops.laplacian(kind(v, domain)).on_grid, None
            return jax.lax.scan(one, values, None, length=20)[0]
        return run
    add('heat_by_fourier', heat(FourierSeries), R.f32(64, 64, 1))
    add('heat_by_differences', heat(lambda v, d: FiniteDifferences(v, d, accuracy=4)), R.f32(64, 64, 1))
    return P
