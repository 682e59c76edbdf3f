"""Librosax, jax-healpy, JraphX, tsnex and tbats-jax: features of sounds, pixels of spheres, layers over graphs, embeddings of neighbours, seasons of series."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('librosax', 'jax_healpy', 'jraphx', 'tsnex', 'tbats_jax')
FACTOR = 4096.0


def programs(jax):
    import flax.nnx as nnx
    import jax.numpy as jnp
    import jax_healpy as hp
    import tbats_jax
    import tsnex
    from jraphx import nn
    from librosax import feature

    R = Random(0)
    P = Programs()
    add = P.add

    # Sounds.
    t = np.arange(11025) / 22050
    sound = (np.sin(2 * np.pi * 440 * t) + .5 * np.sin(2 * np.pi * (660 + 100 * t) * t) + .1 * R.randn(t.size)).astype(np.float32)
    for name in ('melspectrogram', 'mfcc', 'rms', 'spectral_bandwidth', 'spectral_centroid', 'spectral_contrast', 'spectral_flatness', 'spectral_rolloff', 'zero_crossing_rate'):
        add(name, lambda y, name=name: getattr(feature, name)(y=y) if name in ('rms', 'spectral_flatness', 'zero_crossing_rate') else getattr(feature, name)(y=y, sr=22050), sound)

    # Spheres.
    theta, phi = np.arccos(R.uniform(-.999, .999, 3001)).astype(np.float32), (2 * np.pi * R.share(3001)).astype(np.float32)
    pixels = R.i32(12 * 64 * 64, 3001)
    add('pixels_of_angles', lambda a, b: hp.ang2pix(64, a, b), theta, phi)
    add('angles_of_pixels', lambda p: hp.pix2ang(64, p), pixels)
    add('vectors_of_pixels', lambda p: hp.pix2vec(64, p), pixels)
    add('rings_to_nests', lambda p: hp.ring2nest(64, p), pixels)
    add('nests_to_rings', lambda p: hp.nest2ring(64, p), pixels)
    add('between_pixels', lambda m, a, b: hp.get_interp_val(m, a, b), R.f32(12 * 16 * 16), theta, phi)
    add('neighbours_of_places', lambda a, b: hp.get_all_neighbours(64, a, b), theta, phi)

    # Graphs.
    edges = np.stack([R.i32(200, 1001), R.i32(200, 1001)])
    x = R.f32(200, 16)

    def layer(name, *sizes, **more):
        graph, state, rest = nnx.split(getattr(nn, name)(*sizes, **more, rngs=nnx.Rngs(0)), nnx.Param, ...)
        values, tree = jax.tree.flatten(state)
        values = [np.asarray(v) for v in values]
        add(name.lower(), lambda x, e, *v: nnx.merge(graph, jax.tree.unflatten(tree, v), rest)(x, e), x, edges, *values)
        add(name.lower() + '_gradient', lambda x, e, *v: jax.grad(lambda x: (nnx.merge(graph, jax.tree.unflatten(tree, v), rest)(x, e) ** 2).sum())(x), x, edges, *values)
    layer('GCNConv', 16, 24)
    layer('GATConv', 16, 8, heads=3)
    layer('GATv2Conv', 16, 8, heads=3)
    layer('SAGEConv', 16, 24)
    layer('TransformerConv', 16, 8, heads=3)
    for name in ('global_add_pool', 'global_max_pool', 'global_softmax_pool'):
        add(name, lambda x, b, name=name: getattr(nn, name)(x, b, size=9), x, np.sort(R.i32(9, 200)))

    # Embeddings and series.
    add('embedding', lambda x: tsnex.transform(x, perplexity=10.), R.f32(60, 8))
    f = (np.eye(9) * .9 + .01 * R.randn(9, 9)).astype(np.float32)
    add('innovations', lambda y, x, f, g, w: tbats_jax.tbats_scan(y, x, f, g, w), R.f32(301), R.f32(9), f, R.f32(9) * np.float32(.05), R.f32(9) * np.float32(.3))
    return P
