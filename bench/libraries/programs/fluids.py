"""Exponax, JAX-CFD and Dinosaur: equations of flows in Fourier space, on staggered grids and on spheres."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('exponax', 'jax_cfd', 'dinosaur', 'optax')
FACTOR = 1024.0


def programs(jax):
    import dinosaur.coordinate_systems
    import exponax as ex
    import jax.numpy as jnp
    import jax_cfd.base as cfd
    import jax_cfd.spectral as spectral
    import optax
    from dinosaur import held_suarez, primitive_equations, primitive_equations_states, scales, shallow_water, shallow_water_states
    from dinosaur import layer_coordinates, sigma_coordinates, spherical_harmonic, time_integration, units, xarray_utils

    R = Random(0)
    P = Programs()
    add = P.add

    def waves(*shape, top=3):
        """Smooth periodic fields: [channels, n...]."""
        axes = np.meshgrid(*[np.arange(n) * 2 * np.pi / n for n in shape[1:]], indexing='ij')
        out = np.zeros(shape)
        for c in range(shape[0]):
            for _ in range(6):
                k = R.randint(-top, top + 1, len(axes))
                out[c] += R.randn() * np.cos(sum(k * x for k, x in zip(k, axes)) + R.rand() * 6)
        return (out / np.abs(out).max()).astype(np.float32)

    # Exponential integrators.
    for name, stepper, u in (('burgers', ex.stepper.Burgers(1, 1.0, 128, 0.01), waves(1, 128)),
                             ('kuramoto_sivashinsky', ex.stepper.KuramotoSivashinsky(1, 60.0, 128, 0.1, order=4), waves(1, 128)),
                             ('korteweg_de_vries', ex.stepper.KortewegDeVries(1, 20.0, 96, 0.001), waves(1, 96)),
                             ('burgers_2d', ex.stepper.Burgers(2, 1.0, 40, 0.01), waves(2, 40, 40)),
                             ('vorticity', ex.stepper.NavierStokesVorticity(2, 1.0, 48, 0.01), waves(1, 48, 48)),
                             ('kolmogorov', ex.stepper.KolmogorovFlowVorticity(2, 2 * np.pi, 32, 0.01, order=3), waves(1, 32, 32)),
                             ('gray_scott', ex.stepper.reaction.GrayScott(2, 2.0, 48, 1.0), np.abs(waves(2, 48, 48))),
                             ('advection_3d', ex.stepper.AdvectionDiffusion(3, 1.0, 16, 0.01), waves(1, 16, 16, 16)),
                             ('burgers_3d', ex.stepper.Burgers(3, 1.0, 12, 0.01), waves(3, 12, 12, 12))):
        add('exponential_' + name, ex.rollout(stepper, 12), u)
    burgers = ex.stepper.Burgers(1, 1.0, 64, 0.01)
    add('exponential_batch', lambda u: jax.vmap(ex.repeat(burgers, 10))(u), np.stack([waves(1, 64) for _ in range(16)]))
    add('exponential_gradient', jax.value_and_grad(lambda u, y: jnp.mean((ex.repeat(burgers, 10)(u) - y) ** 2)), waves(1, 64), waves(1, 64))
    add('exponential_jacobian', jax.jacfwd(ex.repeat(ex.stepper.Burgers(1, 1.0, 32, 0.01), 4)), waves(1, 32))
    vorticity = ex.stepper.NavierStokesVorticity(2, 1.0, 24, 0.01)
    add('exponential_spectrum', lambda u: jax.vmap(lambda u: ex.get_spectrum(u))(ex.rollout(vorticity, 6, include_init=True)(u)), waves(1, 24, 24))

    def emulate(w, u):
        """A convolution learns what a stepper does, through three steps of itself."""
        tx = optax.adam(1e-3)

        def network(w, u):
            for i, kernel in enumerate(w):
                u = jnp.pad(u, ((0, 0), (2, 2)), mode='wrap')
                u = jax.lax.conv_general_dilated(u[None], kernel, (1,), 'VALID')[0]
                u = jax.nn.gelu(u) if i < 2 else u
            return u

        def loss(w):
            truth = jax.vmap(ex.rollout(burgers, 3))(u)
            guess = jax.vmap(ex.rollout(lambda u: u + 0.1 * network(w, u), 3))(u)
            return jnp.mean((truth - guess) ** 2)

        def one(carry, _):
            w, state = carry
            value, grads = jax.value_and_grad(loss)(w)
            updates, state = tx.update(grads, state)
            return (optax.apply_updates(w, updates), state), value
        return jax.lax.scan(one, (w, tx.init(w)), None, length=4)[1]
    add('exponential_emulator', emulate, [R.f32(12, 1, 5) * 0.4, R.f32(12, 12, 5) * 0.15, R.f32(1, 12, 5) * 0.15], np.stack([waves(1, 64) for _ in range(8)]))

    # Staggered grids.
    grid = cfd.grids.Grid((32, 32), domain=((0, 2 * np.pi), (0, 2 * np.pi)))
    periodic = cfd.boundaries.periodic_boundary_conditions(2)

    def velocity(u, v):
        wrapped = [cfd.grids.GridVariable(cfd.grids.GridArray(x, offset, grid), periodic) for x, offset in zip((u, v), grid.cell_faces)]
        return cfd.pressure.projection(tuple(wrapped))

    def flow(step, steps):
        return lambda u, v: [x.data for x in jax.lax.fori_loop(0, steps, lambda _, w: step(w), velocity(u, v))]
    speed = waves(2, 32, 32)
    time_step = 0.02
    forcing = cfd.forcings.kolmogorov_forcing(grid, 1.0, 4)
    add('staggered_step', flow(cfd.equations.semi_implicit_navier_stokes(1.0, 1e-2, time_step, grid), 1), *speed)
    add('staggered_navier_stokes', flow(cfd.equations.semi_implicit_navier_stokes(1.0, 1e-2, time_step, grid, forcing=forcing), 10), *speed)
    add('staggered_linear', flow(cfd.equations.semi_implicit_navier_stokes(1.0, 1e-2, time_step, grid, convect=cfd.advection.convect_linear), 10), *speed)
    add('staggered_conjugate_gradients', flow(cfd.equations.semi_implicit_navier_stokes(
        1.0, 1e-2, time_step, grid, pressure_solve=lambda *a, **k: cfd.pressure.solve_cg(*a, **k, maxiter=20, rtol=0, atol=0)), 4), *speed)
    add('staggered_runge_kutta', flow(cfd.equations.semi_implicit_navier_stokes(1.0, 1e-2, time_step, grid, time_stepper=cfd.time_stepping.classic_rk4), 4), *speed)
    still = cfd.equations.semi_implicit_navier_stokes(1.0, 1e-2, time_step, grid)
    add('staggered_gradient', jax.grad(lambda u, v: jnp.sum(jax.lax.scan(lambda w, _: (still(w), None), velocity(u, v), None, length=4)[0][0].data ** 2)), *speed)

    square = cfd.grids.Grid((48, 48), domain=((0, 2 * np.pi), (0, 2 * np.pi)))
    turbulence = spectral.time_stepping.crank_nicolson_rk4(spectral.equations.ForcedNavierStokes2D(1e-2, square, smooth=True), 0.01)
    add('spectral_navier_stokes', lambda u: jnp.fft.irfftn(cfd.funcutils.repeated(turbulence, 8)(jnp.fft.rfftn(u))), waves(1, 48, 48)[0])
    line = cfd.grids.Grid((128,), domain=((0, 30.0),))
    chaos = spectral.time_stepping.crank_nicolson_rk4(spectral.equations.KuramotoSivashinsky(line), 0.05)
    add('spectral_kuramoto_sivashinsky', lambda u: jnp.fft.irfft(cfd.funcutils.repeated(chaos, 12)(jnp.fft.rfft(u))), waves(1, 128)[0])

    # Spheres.
    sphere = dinosaur.coordinate_systems.CoordinateSystem(spherical_harmonic.Grid.with_wavenumbers(21), layer_coordinates.LayerCoordinates(2))
    specs = units.SimUnits.from_si()
    densities = np.array([0.9, 1.0])
    mean = np.array([0.1, 0.1], np.float32)
    winds = np.stack([np.cos(np.arcsin(sphere.horizontal.nodal_axes[1])) / 5] * 2).astype(np.float32)

    longitude, sine = sphere.horizontal.nodal_mesh
    bump = np.stack([0.01 * np.exp(-((longitude - 3) ** 2 + (sine - 0.5) ** 2) * 8)] * 2).astype(np.float32)

    def shallow(u, bump):
        state = shallow_water_states.multi_layer(u, densities, sphere)
        state = shallow_water.State(state.vorticity, state.divergence, state.potential + sphere.horizontal.to_modal(bump))
        step = time_integration.step_with_filters(shallow_water.shallow_water_leapfrog_step(sphere, 1e-3, specs, mean, None, densities),
                                                  shallow_water.default_filters(sphere.horizontal, 1e-3))
        state = jax.lax.fori_loop(0, 10, lambda _, s: step(s), (state, state))[1]
        return state.vorticity, state.divergence, state.potential
    add('sphere_shallow_water', shallow, winds, bump)
    add('sphere_shallow_water_gradient', jax.grad(lambda u: jnp.sum(sphere.horizontal.to_nodal(jax.lax.scan(
        lambda s, _: (time_integration.imex_rk_sil3(shallow_water.ShallowWaterEquations(sphere, specs, None, mean, densities), 1e-3)(s), None),
        shallow_water_states.multi_layer(u, densities, sphere), None, length=4)[0].potential) ** 2)), winds)
    add('sphere_transform', lambda x: sphere.horizontal.to_nodal(sphere.horizontal.laplacian(sphere.horizontal.to_modal(x))), R.f32(8, *sphere.horizontal.nodal_shape))

    air = dinosaur.coordinate_systems.CoordinateSystem(spherical_harmonic.Grid.with_wavenumbers(16), sigma_coordinates.SigmaCoordinates.equidistant(6))
    _, features = primitive_equations_states.isothermal_rest_atmosphere(air, specs, p0=1e5 * scales.units.pascal, p1=5e3 * scales.units.pascal)
    temperature = features[xarray_utils.REF_TEMP_KEY]
    orography = primitive_equations.truncated_modal_orography(features[xarray_utils.OROGRAPHY], air)
    dry = primitive_equations.PrimitiveEquations(temperature, orography, air, specs)
    forced = time_integration.compose_equations([dry, held_suarez.HeldSuarezForcing(air, specs, temperature, p0=1e5 * scales.units.pascal)])
    time = specs.nondimensionalize(600 * scales.units.second)
    diffusion = time_integration.exponential_step_filter(air.horizontal, time)

    def atmosphere(equation, steps):
        step = time_integration.step_with_filters(time_integration.imex_rk_sil3(equation, time), [diffusion])

        def run(noise, pressure):
            state = primitive_equations.State(vorticity=noise[0], divergence=noise[1], temperature_variation=noise[2], log_surface_pressure=pressure)
            state = jax.lax.fori_loop(0, steps, lambda _, s: step(s), state)
            return state.vorticity, state.divergence, state.temperature_variation, state.log_surface_pressure
        return run
    scale = np.array([1e-3, 1e-3, 1.0], np.float32)[:, None, None, None]
    mask = np.asarray(air.horizontal.mask)
    noise = (R.f32(3, *air.modal_shape) * scale * mask * np.exp(-np.arange(air.modal_shape[-1]) / 4)).astype(np.float32)
    pressure = (R.f32(*air.surface_modal_shape) * 1e-3 * mask).astype(np.float32)
    add('sphere_primitive_equations', atmosphere(dry, 2), noise, pressure)
    add('sphere_held_suarez', atmosphere(forced, 2), noise, pressure)
    return P
