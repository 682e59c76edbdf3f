"""Quimb: tensor networks and circuits through JAX's arrays, their gradients and the steps of their optimizers."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('quimb', 'optax')
FACTOR = 1024.0


def programs(jax):
    import jax.numpy as jnp
    import optax
    import quimb.tensor as qtn

    R = Random(0)
    P = Programs()
    add = P.add

    def loss_of(network, function):
        """The arrays of a network, and the function of them: what TNOptimizer makes of it."""
        arrays, skeleton = qtn.pack(network)
        arrays = {k: np.asarray(v, np.complex64 if np.iscomplexobj(v) else np.float32) for k, v in arrays.items()}
        return arrays, lambda a: function(qtn.unpack(a, skeleton))

    # Chains.
    state = qtn.MPS_rand_state(12, 8, seed=1, dtype='float32')
    other = qtn.MPS_rand_state(12, 6, seed=2, dtype='float32')
    hamiltonian = qtn.MPO_ham_heis(12)
    hamiltonian.apply_to_arrays(lambda x: np.real(x).astype(np.float32))

    def energy(psi):
        above, middle, below = qtn.tensor_network_align(psi.H, hamiltonian, psi)
        return (above & middle & below).contract(..., optimize='greedy') / (psi.H & psi).contract(..., optimize='greedy')
    arrays, value = loss_of(state, energy)
    add('chain_energy', value, arrays)
    add('chain_energy_gradient', jax.value_and_grad(value), arrays)

    def optimize(arrays, value=value):
        tx = optax.adam(1e-2)

        def one(carry, _):
            arrays, state = carry
            cost, grads = jax.value_and_grad(value)(arrays)
            updates, state = tx.update(grads, state)
            return (optax.apply_updates(arrays, updates), state), cost
        return jax.lax.scan(one, (arrays, tx.init(arrays)), None, length=6)[1]
    add('chain_optimization', optimize, arrays)
    arrays, value = loss_of(state, lambda psi: (psi.H & other).contract(..., optimize='greedy') ** 2 / (psi.H & psi).contract(..., optimize='greedy'))
    add('chain_overlap_gradient', jax.grad(value), arrays)

    def compressed(psi):
        psi.compress(max_bond=4, cutoff=0.0)
        return jnp.abs((psi.H & psi).contract(..., optimize='greedy'))
    arrays, value = loss_of(state, compressed)
    add('chain_compression', value, arrays)
    arrays, value = loss_of(state, lambda psi: jnp.abs(jnp.ravel(psi.to_dense())))
    add('chain_to_dense', value, arrays)

    def evolve(h):
        """Gates of an evolution in imaginary time on a dense state of ten spins."""
        gate = jax.scipy.linalg.expm(-0.05 * h).reshape(2, 2, 2, 2)

        def sweep(psi, _):
            for i in (*range(0, 9, 2), *range(1, 9, 2)):
                psi = jnp.moveaxis(jnp.tensordot(gate, psi, ((2, 3), (i, i + 1))), (0, 1), (i, i + 1))
            return psi / jnp.linalg.norm(psi), None
        return jax.lax.scan(sweep, jnp.ones((2,) * 10, h.dtype) / 32, None, length=6)[0]
    add('chain_evolution', evolve, (np.diag([1, -1, -1, 1]) + 0.5).astype(np.float32))

    # Grids.
    peps = qtn.PEPS.rand(3, 3, 3, seed=3, dtype='float32')
    arrays, value = loss_of(peps, lambda psi: jnp.log((psi.H & psi).contract(..., optimize='greedy')))
    add('grid_norm', value, arrays)
    add('grid_norm_gradient', jax.value_and_grad(value), arrays)
    arrays, value = loss_of(peps, lambda psi: jnp.log(psi.make_norm().contract_boundary(max_bond=6, cutoff=0.0, layer_tags=('KET', 'BRA'))))
    add('grid_boundary', value, arrays)

    # Circuits.
    def ansatz(p, n, depth):
        circuit = qtn.Circuit(n)
        for d in range(depth):
            for i in range(n):
                circuit.apply_gate('U3', *p[d, i], i, gate_round=d, parametrize=False)
            for i in range(d % 2, n - 1, 2):
                circuit.apply_gate('CZ', i, i + 1, gate_round=d)
        return circuit

    z = np.diag([1, -1]).astype(np.complex64)
    for n, depth in ((6, 3), (8, 4)):
        p = R.f32(depth, n, 3)

        def expectation(p, n=n, depth=depth):
            psi = ansatz(p, n, depth).psi
            total = 0
            for i in range(n - 1):
                total = total + jnp.real((psi.H & psi.gate(jnp.kron(z, z).reshape(2, 2, 2, 2), (i, i + 1))).contract(..., optimize='greedy'))
            return total
        add(f'circuit_expectation_{n}', expectation, p)
        add(f'circuit_gradient_{n}', jax.value_and_grad(expectation), p)
        add(f'circuit_state_{n}', lambda p, n=n, depth=depth: jnp.ravel(ansatz(p, n, depth).psi.contract(..., optimize='greedy').data), p)
    add('circuit_batch', jax.vmap(lambda p: jnp.abs(jnp.ravel(ansatz(p, 5, 3).psi.contract(..., optimize='greedy').data)) ** 2), R.f32(8, 3, 5, 3))
    return P
