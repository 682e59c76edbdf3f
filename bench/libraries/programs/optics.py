"""dLux, cryoJAX and JAX-GalSim: telescopes, electron microscopes and galaxies as images of their parameters."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('dLux', 'cryojax', 'jax_galsim', 'optax')
FACTOR = 4096.0


def programs(jax):
    import cryojax.simulator as cxs
    import dLux as dl
    import dLux.utils as dlu
    import jax.numpy as jnp
    import jax_galsim as galsim
    import optax

    R = Random(0)
    P = Programs()
    add = P.add
    f32 = R.f32

    # Telescopes.
    pixels, diameter = 64, 1.0
    coordinates = dlu.pixel_coords(pixels, diameter)
    aperture = np.asarray(dlu.circle(coordinates, diameter / 2) * (1 - dlu.circle(coordinates, 0.1)), np.float32)
    basis = np.stack([np.asarray(dlu.zernike(j, coordinates, diameter), np.float32) for j in range(2, 10)])
    waves = np.linspace(0.9e-6, 1.1e-6, 5).astype(np.float32)

    def telescope(c):
        layers = [('aperture', dl.layers.BasisOptic(basis=jnp.asarray(basis), transmission=jnp.asarray(aperture), coefficients=c * 1e-7, normalise=True))]
        return dl.AngularOpticalSystem(pixels, diameter, layers, 32, 0.1, 2)

    def image(c, positions, fluxes):
        stars = dl.PointSources(waves, position=positions * 4.8481368e-6 * 0.5, flux=fluxes)
        return stars.model(telescope(c))
    coefficients, stars, fluxes = f32(8), f32(6, 2), R.share(6) + np.float32(0.5)
    add('telescope', image, coefficients, stars, fluxes)
    detector = dl.LayeredDetector([('jitter', dl.layers.ApplyJitter(1.0)), ('bias', dl.layers.AddConstant(0.1)), ('pixels', dl.layers.Downsample(2))])
    add('telescope_detector', lambda c, s, f: detector.model(dl.PSF(image(c, s, f), 0.05)), coefficients, stars, fluxes)
    dark = np.zeros((64, 64), np.float32)
    add('telescope_gradient', jax.value_and_grad(lambda c, s, f, y: jnp.sum((image(c, s, f) - y) ** 2) * 1e4, (0, 1, 2)), coefficients, stars, fluxes, dark)
    add('telescope_jacobian', jax.jacfwd(lambda c: telescope(c).propagate(jnp.asarray(waves[:2]))), coefficients)

    def recover(c, s, f, y):
        tx = optax.adam(1e-2)

        def one(carry, _):
            c, state = carry
            value, grads = jax.value_and_grad(lambda c: jnp.sum((image(c, s, f) - y) ** 2) * 1e4)(c)
            updates, state = tx.update(grads, state)
            return (optax.apply_updates(c, updates), state), value
        return jax.lax.scan(one, (c, tx.init(c)), None, length=4)[1]
    add('telescope_recovery', recover, coefficients, stars, fluxes, dark)

    # Electron microscopes.
    atoms = f32(60, 3) * 8
    spread = np.abs(f32(60, 2)) + np.float32(2)

    def micrograph(volume, angles, defocus, size):
        transfer = cxs.ContrastTransferTheory(ctf=cxs.AstigmaticCTF(defocus_in_angstroms=defocus), amplitude_contrast_ratio=0.1)
        model = cxs.make_image_model(volume, cxs.BasicImageConfig(shape=(size, size), pixel_size=1.5, voltage_in_kilovolts=300.0),
                                     cxs.EulerAnglePose(phi_angle=angles[0], theta_angle=angles[1], psi_angle=angles[2], offset_x_in_angstroms=angles[3]), transfer)
        return model.simulate(outputs_real_space=True)

    def microscope(atoms, angles, defocus):
        return micrograph(cxs.GaussianMixtureVolume(atoms, np.ones((60, 2), np.float32), spread), angles, defocus, 48)
    angles = np.array([20.0, 80.0, -10.0, 1.5], np.float32)
    defocus = np.float32(9800.0)
    add('microscope', microscope, atoms, angles, defocus)
    add('microscope_batch', jax.vmap(microscope, (None, 0, None)), atoms, f32(6, 4) * 30, defocus)
    add('microscope_gradient', jax.value_and_grad(lambda x, a, d, y: jnp.mean((microscope(x, a, d) - y) ** 2), (0, 1)), atoms, angles, defocus, f32(48, 48))
    voxels = np.zeros((32, 32, 32), np.float32)
    voxels[8:24, 10:20, 12:22] = R.share(16, 10, 10)
    slices = lambda v, a, d: micrograph(cxs.FourierVoxelGridVolume.from_real_voxel_grid(v), a, d, 32)
    add('microscope_slice', slices, voxels, angles, defocus)
    add('microscope_slice_gradient', jax.grad(lambda v, a, d, y: jnp.mean((jax.vmap(slices, (None, 0, None))(v, a, d) - y) ** 2)), voxels, f32(4, 4) * 30, defocus, f32(4, 32, 32))

    # Galaxies.
    def galaxy(p, size=40):
        shape = galsim.Exponential(half_light_radius=p[0], flux=p[1]).shear(g1=p[2], g2=p[3]).shift(p[4], p[5])
        seen = galsim.Convolve([shape, galsim.Gaussian(sigma=0.6)], gsparams=galsim.GSParams(minimum_fft_size=128, maximum_fft_size=128))
        return seen.drawImage(nx=size, ny=size, scale=0.3, method='no_pixel').array
    parameters = np.array([1.2, 10.0, 0.1, -0.05, 0.2, -0.1], np.float32)
    add('galaxy', galaxy, parameters)
    add('galaxy_gradient', jax.value_and_grad(lambda p, y: jnp.sum((galaxy(p) - y) ** 2)), parameters, np.zeros((40, 40), np.float32))
    add('galaxy_fisher', lambda p: (lambda j: jnp.einsum('xyi,xyj->ij', j, j))(jax.jacfwd(galaxy)(p)), parameters)
    add('galaxy_batch', jax.vmap(galaxy), parameters + f32(6, 6) * np.float32(0.02))

    def profiles(p):
        kinds = galsim.Gaussian(sigma=p[0]), galsim.Moffat(beta=3.5, half_light_radius=p[0]), galsim.Exponential(half_light_radius=p[0])
        return [kind.drawImage(nx=32, ny=32, scale=0.3, method='no_pixel').array for kind in kinds]
    add('galaxy_profiles', profiles, parameters)
    return P
