"""FDTDX, FMMAX and jaxwt: light in time on grids, light in layers by Fourier modes, and wavelets."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('fdtdx', 'fmmax', 'jaxwt')
FACTOR = 4096.0


def programs(jax):
    import fdtdx
    import fmmax
    import jax.numpy as jnp
    import jaxwt

    R = Random(0)
    P = Programs()
    add = P.add
    f32 = R.f32

    # Light in time.
    micro = 1e-6

    def scene(gradient, steps, cells=20, boundary='pml'):
        config = fdtdx.SimulationConfig(time=steps * 1e-16 * 0.95, grid=fdtdx.UniformGrid(spacing=0.05 * micro), backend='cpu', gradient_config=gradient)
        volume = fdtdx.SimulationVolume(partial_grid_shape=(cells, cells, cells))
        objects, constraints = [volume], []
        edges, more = fdtdx.boundary_objects_from_config(fdtdx.BoundaryConfig.from_uniform_bound(thickness=4, boundary_type=boundary), volume)
        objects += list(edges.values())
        constraints += more
        source = fdtdx.PointDipoleSource(partial_grid_shape=(1, 1, 1), wave_character=fdtdx.WaveCharacter(wavelength=0.5 * micro), polarization=2)
        block = fdtdx.UniformMaterialObject(partial_grid_shape=(4, 4, 4), material=fdtdx.Material(permittivity=2.5))
        energy = fdtdx.EnergyDetector(name='energy', partial_grid_shape=(8, 8, 8), reduce_volume=True)
        objects += [source, block, energy]
        constraints += [source.place_at_center(volume), block.set_grid_coordinates((0, 1, 2), ('-', '-', '-'), (12, 6, 6)), energy.place_at_center(volume)]
        containers, arrays, params, config, _ = fdtdx.place_objects(objects, config, constraints, jax.random.key(0))
        arrays, containers, _ = fdtdx.apply_params(arrays, containers, params, jax.random.key(1))
        return containers, arrays, config

    def light(steps, gradient=None, **options):
        containers, arrays, config = scene(gradient, steps, **options)

        def run(inverse):
            state = fdtdx.run_fdtd(arrays.aset('inv_permittivities', jnp.asarray(inverse, jnp.float32)), containers, config, jax.random.key(2), show_progress=False)
            final = state[1]
            return final.fields.E, final.fields.H, final.detector_states['energy']['energy']
        return run, np.asarray(arrays.inv_permittivities)
    run, inverse = light(30)
    add('light', run, inverse)
    run, inverse = light(30, boundary='periodic')
    add('light_periodic', run, inverse)
    run, inverse = light(16, fdtdx.GradientConfig(method='checkpointed', num_checkpoints=4))
    add('light_gradient', jax.grad(lambda x: jnp.sum(run(x)[2])), inverse)

    # Light in layers.
    wavelength = np.float32(0.6)
    lattice = fmmax.LatticeVectors(u=fmmax.X * 0.9, v=fmmax.Y * 0.9)
    expansion = fmmax.generate_expansion(lattice, 24, fmmax.Truncation.CIRCULAR)
    pattern = (R.rand(32, 32) > 0.5).astype(np.float32)
    smooth = np.fft.ifft2(np.fft.fft2(pattern) * np.exp(-(np.fft.fftfreq(32)[:, None] ** 2 + np.fft.fftfreq(32)[None] ** 2) * 100)).real.astype(np.float32)

    def layer(permittivity, formulation=fmmax.Formulation.FFT, angle=0.0):
        wavevector = fmmax.plane_wave_in_plane_wavevector(wavelength, jnp.asarray(angle), jnp.zeros(()), jnp.ones((1, 1)) + 0j)
        return fmmax.eigensolve_isotropic_media(wavelength=wavelength, in_plane_wavevector=wavevector, primitive_lattice_vectors=lattice,
                                                permittivity=permittivity, expansion=expansion, formulation=formulation)

    def reflect(density, thickness, formulation=fmmax.Formulation.FFT, angle=0.1):
        layers = [layer(e, formulation, angle) for e in (jnp.ones((1, 1)) + 0j, 1 + 3 * density + 0j, jnp.full((1, 1), 2.25 + 0j))]
        matrix = fmmax.stack_s_matrix(layers, [jnp.ones(()), thickness, jnp.ones(())])
        return jnp.abs(matrix.s21[..., 0, 0]) ** 2, jnp.abs(matrix.s11[..., 0, 0]) ** 2
    add('layers', reflect, smooth, np.float32(0.3))
    add('layers_vector', lambda d, t: reflect(d, t, fmmax.Formulation.POL), smooth, np.float32(0.3))
    add('layers_angles', lambda d, t, a: jax.lax.map(lambda a: reflect(d, t, angle=a), a), smooth, np.float32(0.3), np.linspace(0, 0.5, 4).astype(np.float32))
    add('layers_gradient', jax.grad(lambda d, t: reflect(d, t)[0].sum(), (0, 1)), smooth, np.float32(0.3))

    def slabs(permittivities, thicknesses):
        matrix = fmmax.stack_s_matrix([layer(x[None, None] + 0j) for x in permittivities], list(thicknesses))
        return jnp.abs(matrix.s11[..., 0, 0]), jnp.abs(matrix.s21[..., 0, 0])
    add('layers_uniform', slabs, np.linspace(1.5, 2, 5).astype(np.float32), np.full(5, 0.2, np.float32))

    # Wavelets.
    signal, image, volume = f32(4, 512), f32(4, 64, 64), f32(2, 16, 16, 16)
    flat = jax.tree.leaves
    add('wavelets', lambda x: jaxwt.wavedec(x, 'db4', level=4), signal)
    add('wavelets_round', lambda x: jaxwt.waverec([c * (jnp.abs(c) > 0.5) for c in jaxwt.wavedec(x, 'sym5', level=4)], 'sym5'), signal)
    add('wavelets_2d', lambda x: flat(jaxwt.wavedec2(x, 'db2', level=3)), image)
    add('wavelets_2d_round', lambda x: jaxwt.waverec2(jax.tree.map(lambda c: jnp.sign(c) * jax.nn.relu(jnp.abs(c) - 0.2), jaxwt.wavedec2(x, 'db3', level=2)), 'db3'), image)
    add('wavelets_3d', lambda x: flat(jaxwt.wavedec3(x, 'haar', level=2)), volume)
    add('wavelets_gradient', jax.grad(lambda x: sum(jnp.sum(jnp.abs(c)) for c in flat(jaxwt.wavedec2(x, 'db2', level=3)))), image)
    add('wavelets_stationary', lambda x: jaxwt.swt(x, 'db2', level=3), signal)
    add('wavelets_packets', lambda x: [v for _, v in sorted((k, jnp.asarray(v)) for k, v in jaxwt.WaveletPacket(x, 'db2', max_level=3).items())], signal[0])

    def denoise(y):
        """The proximal gradient of a sparse image under a blur."""
        blur = jnp.ones((5, 5)) / 25

        def apply(x):
            return jax.scipy.signal.convolve2d(x, blur, mode='same')

        def one(x, _):
            x = x - jax.grad(lambda x: 0.5 * jnp.sum((apply(x) - y) ** 2))(x)
            c = jaxwt.wavedec2(x[None], 'haar', level=2)
            return jaxwt.waverec2(jax.tree.map(lambda c: jnp.sign(c) * jax.nn.relu(jnp.abs(c) - 0.01), c), 'haar')[0], None
        return jax.lax.scan(one, y, None, length=8)[0]
    add('wavelets_deblurring', denoise, image[0])
    return P
