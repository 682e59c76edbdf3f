"""ripple, microJAX and sgp4jax in types of 64 bits: gravitational waves, lenses of two stars, and satellites."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('ripplegw', 'microjax', 'sgp4jax')
FACTOR = 1e7


def programs(jax):
    jax.config.update('jax_enable_x64', True)
    import jax.numpy as jnp
    import sgp4jax
    from microjax.inverse_ray.lightcurve import mag_binary
    from microjax.point_source import critical_and_caustic_curves, mag_point_source
    from ripplegw.waveforms.cbc.IMRPhenomD import IMRPhenomD, IMRPhenomPv2
    from ripplegw.waveforms.cbc.IMRPhenomX import IMRPhenomXAS
    from ripplegw.waveforms.cbc.Taylor import TaylorF2

    R = Random(0)
    P = Programs()
    add = P.add

    # Gravitational waves.
    f = np.arange(20, 512, 0.5)
    aligned = np.array([28.0, 0.24, 0.3, -0.2, 440.0, 0.0, 0.1, 0.7])
    turning = np.array([28.0, 0.24, 0.1, 0.2, 0.3, 0.0, -0.2, 0.1, 440.0, 0.0, 0.1, 0.7])
    stars = np.array([1.2, 0.245, 0.01, 0.02, 300.0, 400.0, 40.0, 0.0, 0.1, 0.7])
    add('phenom_d', lambda f, p: IMRPhenomD.gen_IMRPhenomD_hphc(f, p, 20.0), f, aligned)
    add('phenom_precessing', lambda f, p: IMRPhenomPv2.gen_IMRPhenomPv2_hphc(f, p, 20.0), f, turning)
    add('phenom_x', lambda f, p: IMRPhenomXAS.gen_IMRPhenomXAS_hphc(f, p, 20.0), f, aligned)
    add('taylor', lambda f, p: TaylorF2.gen_TaylorF2_hphc(f, p, 20.0), f, stars)
    add('phenom_d_of_many', jax.vmap(lambda p, f: IMRPhenomD.gen_IMRPhenomD_hphc(f, p, 20.0)[0], (0, None)), aligned * (1 + 0.01 * R.rand(16, 1)), f)

    def fisher(f, p):
        def parts(p):
            h = IMRPhenomD.gen_IMRPhenomD_hphc(f, p, 20.0)[0] * 1e22
            return jnp.concatenate([h.real, h.imag])
        jacobian = jax.jacfwd(parts)(p)
        return jacobian.T @ (jacobian / (1 + (jnp.concatenate([f, f]) / 100) ** 2)[:, None])
    add('phenom_d_fisher', fisher, f, aligned)

    # Lenses.
    places = (np.linspace(-1.2, 1.2, 60) + 1j * np.linspace(-0.1, 0.2, 60))
    add('points', lambda w, s, q: mag_point_source(w, nlenses=2, s=s, q=q), places, 1.0, 0.1)
    add('points_gradient', jax.jacfwd(lambda s, w: mag_point_source(w, nlenses=2, s=s, q=0.1)), 1.1, places)
    add('caustics', lambda s: critical_and_caustic_curves(npts=50, nlenses=2, s=s, q=0.1), 1.0)
    add('discs', lambda w, s: mag_binary(w, 0.02, s=s, q=0.05, r_resolution=60, th_resolution=60, Nlimb=60, bins_r=10, bins_th=20, MAX_FULL_CALLS=6, chunk_size=6), places[:12], 1.0)

    # Satellites.
    tle = ['1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991', '2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482']
    station = sgp4jax.tle_to_satrec(*tle)
    station = jax.tree.map(np.asarray, station)
    minutes = np.linspace(0, 1440, 300)
    add('satellite', lambda s, t: jax.vmap(lambda t: sgp4jax.propagate_leo(s, t))(t), station, minutes)
    add('satellite_of_any_kind', lambda s, t: jax.vmap(lambda t: sgp4jax.propagate(s, t))(t), station, minutes[:60])
    add('satellite_from_space', lambda s, t: jax.vmap(lambda t: sgp4jax.propagate_gcrf(s, t))(t), station, minutes[:40])
    add('satellite_derivative', lambda s, t: jax.vmap(jax.jacfwd(lambda t: sgp4jax.propagate_leo(s, t)[0]))(t), station, minutes)
    return P
