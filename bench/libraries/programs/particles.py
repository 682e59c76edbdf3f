"""JAX MD and e3nn: molecular dynamics with neighbor lists, cells and thermostats, and equivariant networks on atoms."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('jax_md', 'e3nn_jax', 'flax', 'optax')
FACTOR = 256.0  # Steps add up roundings.


def programs(jax):
    import e3nn_jax as e3nn
    import flax.linen as nn
    import jax.numpy as jnp
    import optax
    from jax_md import elasticity, energy, minimize, partition, quantity, rigid_body, simulate, space

    R = Random(0)
    KEY = np.array([0, 7], np.uint32)
    P = Programs()
    add = P.add
    f32 = R.f32

    def lattice(side, dimension, spacing):
        """Points of a cubic grid, slightly moved, and the size of their box."""
        grid = np.stack(np.meshgrid(*[np.arange(side)] * dimension), -1).reshape(-1, dimension) * spacing + spacing / 2
        return (grid + 0.05 * R.randn(*grid.shape)).astype(np.float32), float(side * spacing)

    # Dynamics: each step is forces by reverse mode and an integrator.
    atoms, box = lattice(4, 3, 1.2)
    displacement, shift = space.periodic(box)
    lennard_jones = energy.lennard_jones_pair(displacement)

    def trajectory(make, steps, **arguments):
        def run(key, r):
            init, step = make
            state = init(key, r, **arguments)
            return jax.lax.fori_loop(0, steps, lambda i, s: step(s), state).position
        return run

    add('lennard_jones_nve', trajectory(simulate.nve(lennard_jones, shift, 2e-3), 20, kT=0.5), KEY, atoms)
    add('nose_hoover_chain', trajectory(simulate.nvt_nose_hoover(lennard_jones, shift, 2e-3, 0.5), 10), KEY, atoms)
    add('langevin', trajectory(simulate.nvt_langevin(lennard_jones, shift, 2e-3, 0.5), 20), KEY, atoms)
    add('brownian', trajectory(simulate.brownian(energy.soft_sphere_pair(displacement), shift, 1e-3, 0.5), 20), KEY, atoms)

    # Lists of neighbors, made anew from cells as particles move.
    many, wide = lattice(16, 2, 1.1)
    flat, flat_shift = space.periodic(wide)

    def cells(layout):
        neighbors, soft = energy.soft_sphere_neighbor_list(flat, wide, dr_threshold=0.3, format=layout)

        def run(key, r, near):
            start, step = simulate.nvt_langevin(soft, flat_shift, 5e-3, 0.1)

            def one(i, carry):
                state, near = carry
                near = near.update(state.position)
                return step(state, neighbor=near), near
            state, near = jax.lax.fori_loop(0, 10, one, (start(key, r, neighbor=near), near))
            return state.position, near.did_buffer_overflow
        return run, KEY, many, lambda: neighbors.allocate(many)

    add('cell_list_dense', *cells(partition.Dense))
    add('cell_list_sparse', *cells(partition.OrderedSparse))
    listed = partition.neighbor_list(flat, wide, 1.5, 0.0)
    add('neighbors', lambda r, near: jnp.sort(near.update(r).idx, axis=1), many, lambda: listed.allocate(many))

    # Minima, and what a minimum answers to strain.
    def fire(r):
        init, step = minimize.fire_descent(energy.soft_sphere_pair(flat, sigma=1.3), flat_shift)
        return jax.lax.fori_loop(0, 20, lambda i, s: step(s), init(r)).position
    add('fire_descent', fire, many[:100])

    def stress(r, strain):
        of_box, _ = space.periodic_general(jnp.eye(3) * box, fractional_coordinates=False)
        u = energy.stillinger_weber(of_box)
        return u(r * 1.8), quantity.stress(energy.lennard_jones_pair(of_box), r, jnp.eye(3) * box + strain)
    add('stillinger_weber_stress', stress, atoms[:20], f32(3, 3) * 0.01)

    def moduli(r):
        general, _ = space.periodic_general(jnp.eye(2) * 5.5, fractional_coordinates=False)
        u = energy.soft_sphere_pair(general, sigma=1.4)
        return elasticity.athermal_moduli(u, cg_tol=1e-4)(r, jnp.eye(2) * 5.5)
    add('elastic_moduli', moduli, lattice(5, 2, 1.1)[0])

    def bodies(key, center, quaternion):
        body = rigid_body.RigidBody(center, rigid_body.Quaternion(quaternion / jnp.linalg.norm(quaternion, axis=-1, keepdims=True)))
        shape = rigid_body.point_union_shape(jnp.array([[0.0, 0, 0.5], [0, 0.3, -0.5], [0.4, 0, 0], [0, -0.3, 0]]), jnp.ones(4))
        u = rigid_body.point_energy(energy.soft_sphere_pair(displacement, sigma=0.6), shape)
        init, step = simulate.nve(u, shift, 2e-3)
        state = init(key, body, 0.1, mass=shape.mass())
        end = jax.lax.fori_loop(0, 5, lambda i, s: step(s), state).position
        return end.center, end.orientation.vec
    add('rigid_bodies', bodies, KEY, atoms[:16], f32(16, 4))

    def pair_correlation(r):
        return quantity.pair_correlation(displacement, jnp.linspace(0.5, 2.0, 30), 0.1)(r)
    add('pair_correlation', pair_correlation, atoms)

    def learned(r, weights):
        """Forces of a sum over pairs of a small network, and what the error of forces says of its weights: reverse over reverse."""
        def u(w, r):
            d = space.map_product(displacement)(r, r)
            x = jnp.sum(d ** 2, -1)[..., None] - jnp.linspace(0, 4, 8)
            return 0.5 * jnp.sum(jnp.tanh(jnp.exp(-x ** 2) @ w[0]) @ w[1] * (1 - jnp.eye(r.shape[0])))
        return jax.grad(lambda w: jnp.mean(jax.grad(u, 1)(w, r) ** 2))(weights)
    add('force_matching', learned, atoms[:32], [f32(8, 16) * 0.3, f32(16)])

    # Equivariant networks.
    nodes, edges = 24, 96
    senders, receivers = R.i32(nodes, edges), R.i32(nodes, edges)
    places = f32(nodes, 3)

    class Layer(nn.Module):
        target: str

        @nn.compact
        def __call__(self, x, vectors, senders, receivers):
            lengths = jnp.linalg.norm(vectors, axis=-1)
            harmonics = e3nn.spherical_harmonics('0e + 1o + 2e', vectors, normalize=True)
            message = e3nn.concatenate([x[senders], e3nn.tensor_product(x[senders], harmonics)]).regroup()
            radial = e3nn.flax.MultiLayerPerceptron([16, message.irreps.num_irreps], jax.nn.silu, output_activation=False)(e3nn.bessel(lengths, 8, 6.0))
            out = e3nn.scatter_sum(message * radial, dst=receivers, output_size=x.shape[0])
            out = e3nn.flax.Linear(e3nn.Irreps(self.target) + f'{sum(m for m, ir in e3nn.Irreps(self.target) if ir.l > 0)}x0e')(out)
            return e3nn.gate(out)

    class Network(nn.Module):
        @nn.compact
        def __call__(self, places, senders, receivers):
            vectors = places[senders] - places[receivers] + 1e-2
            x = e3nn.IrrepsArray('4x0e', jnp.ones((places.shape[0], 4)))
            x = Layer('8x0e + 4x1o')(x, vectors, senders, receivers)
            x = Layer('8x0e + 2x1o + 2x2e')(x, vectors, senders, receivers)
            return e3nn.flax.Linear('0e')(x).array.sum()

    network = Network()

    def weights():
        return jax.jit(network.init)(KEY, places, senders, receivers)

    add('equivariant_forces', lambda w, r, s, t: jax.value_and_grad(lambda r: network.apply(w, r, s, t))(r), weights, places, senders, receivers)
    tx = optax.adam(1e-2)

    def train(w, state, r, s, t, forces):
        def loss(w):
            return jnp.mean((jax.grad(lambda r: network.apply(w, r, s, t))(r) - forces) ** 2)
        value, grads = jax.value_and_grad(loss)(w)
        return value, optax.global_norm(grads), tx.update(grads, state)[1][0].mu

    add('equivariant_step', train, weights, lambda: jax.jit(tx.init)(weights()), places, senders, receivers, f32(nodes, 3))
    add('spherical_harmonics', lambda v: e3nn.spherical_harmonics([0, 1, 2, 3, 4], e3nn.IrrepsArray('1o', v), normalize=True).array, f32(200, 3))
    add('sphere_grid', lambda c: e3nn.to_s2grid(e3nn.IrrepsArray(e3nn.s2_irreps(4), c), 20, 19, quadrature='soft').apply(jnp.tanh).grid_values, f32(8, 25))
    add('sphere_convolution', lambda c: e3nn.from_s2grid(e3nn.to_s2grid(e3nn.IrrepsArray(e3nn.s2_irreps(4), c), 20, 19, quadrature='gausslegendre')
                                                         .apply(jax.nn.relu), e3nn.s2_irreps(4)).array, f32(8, 25))
    add('rotations', jax.vmap(lambda q: (e3nn.quaternion_to_matrix(q / jnp.linalg.norm(q)), e3nn.Irreps('1o + 2e').D_from_quaternion(q / jnp.linalg.norm(q)),
                                         e3nn.quaternion_to_axis_angle(q / jnp.linalg.norm(q))[1])), f32(50, 4))
    add('tensor_square', lambda x: e3nn.tensor_square(e3nn.IrrepsArray('4x0e + 3x1o + 2x2e', x)).array, f32(50, 23))
    return P
