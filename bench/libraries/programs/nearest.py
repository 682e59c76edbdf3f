"""jaxkd and nufftax: trees of points, their neighbours and clusters, and Fourier sums at places that follow no grid."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('jaxkd', 'nufftax')
FACTOR = 256.0


def programs(jax):
    import jax.numpy as jnp
    import jaxkd
    import nufftax
    from jaxkd import extras

    R = Random(0)
    P = Programs()
    add = P.add

    # Trees.
    points, queries = R.share(1000, 3), R.share(200, 3)
    key = np.array([0, 7], np.uint32)
    add('tree', lambda p: tuple(jaxkd.build_tree(p))[1:], points)
    add('tree_cycled', lambda p: tuple(jaxkd.build_tree(p, optimize=False))[1], points)
    add('neighbours', lambda p, q: jaxkd.build_and_query(p, q, k=6), points, queries)
    add('neighbours_in_the_plane', lambda p, q: jaxkd.build_and_query(p, q, k=1), R.share(2000, 2), R.share(300, 2))
    add('counts_within', lambda p, q: jaxkd.count_neighbors(jaxkd.build_tree(p), q, r=np.float32(0.2)), points, queries)
    add('counts_within_radii', lambda p, q, r: jaxkd.count_neighbors(jaxkd.build_tree(p), q, r=r), points, queries, np.linspace(0.05, 0.4, 6).astype(np.float32))
    add('neighbours_by_pairs', lambda p, q: extras.query_neighbors_pairwise(p, q, k=6), points, queries)
    add('counts_by_pairs', lambda p, q: extras.count_neighbors_pairwise(p, q, r=np.float32(0.2)), points, queries)
    add('means', lambda k, p: extras.k_means(jax.random.wrap_key_data(k), p, k=12, steps=15), key, points)
    add('means_by_tree', lambda k, p: extras.k_means(jax.random.wrap_key_data(k), p, k=12, steps=8, pairwise=False), key, points)

    def density(p):
        """Gradient of the log density that distances to the sixth neighbours tell."""
        def loss(p):
            near, _ = jaxkd.build_and_query(jax.lax.stop_gradient(p), jax.lax.stop_gradient(p), k=6)
            d = jnp.sqrt(jnp.sum((p[near[:, 1:]] - p[:, None]) ** 2, -1) + 1e-9)
            return jnp.log(d.mean(1)).sum()
        return jax.grad(loss)(p)
    add('density_gradient', density, points[:400])

    # Sums at places.
    x, y, z = ((R.share(600) - 0.5) * np.float32(2 * np.pi) for _ in range(3))
    c, s, t = R.c64(600), R.f32(300) * 20, R.f32(300) * 20
    add('modes', lambda x, c: nufftax.nufft1d1(x, c, 128, eps=1e-5), x, c)
    add('modes_in_the_plane', lambda x, y, c: nufftax.nufft2d1(x, y, c, (32, 32), eps=1e-5), x, y, c)
    add('modes_in_space', lambda x, y, z, c: nufftax.nufft3d1(x, y, z, c, (12, 12, 12), eps=1e-4), x, y, z, c)
    add('at_places', lambda x, f: nufftax.nufft1d2(x, f, eps=1e-5), x, R.c64(128))
    add('at_places_in_the_plane', lambda x, y, f: nufftax.nufft2d2(x, y, f, eps=1e-5), x, y, R.c64(32, 32))
    add('at_places_in_space', lambda x, y, z, f: nufftax.nufft3d2(x, y, z, f, eps=1e-4), x, y, z, R.c64(12, 12, 12))
    size = nufftax.compute_type3_grid_size(np.pi, 80.0, 1e-4)
    add('places_to_places', lambda x, c, s: nufftax.nufft1d3(x, c, s, size, eps=1e-4), x, c, s)

    def image(x, y, data):
        """A picture from samples of its spectrum by gradients."""
        def residual(f):
            return nufftax.nufft2d2(x, y, f.astype(jnp.complex64), eps=1e-4) - data

        def one(f, _):
            g = jax.grad(lambda f: 0.5 * jnp.sum(jnp.abs(residual(f)) ** 2))(f)
            return jnp.maximum(f - 1e-4 * g, 0), None
        return jax.lax.scan(one, jnp.zeros((24, 24)), None, length=5)[0]
    add('picture_from_samples', image, x, y, c)
    add('places_gradient', jax.grad(lambda x, c: jnp.sum(jnp.abs(nufftax.nufft1d1(x, c, 128, eps=1e-5)) ** 2)), x, c)
    add('spectra_of_many', lambda x, c: jnp.abs(jax.vmap(lambda c: nufftax.nufft1d1(x, c, 64, eps=1e-5))(c)) ** 2, x, R.c64(8, 600))
    return P
