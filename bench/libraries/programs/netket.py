"""NetKet: neural quantum states, sampled by Markov chains, and their energies, forces and natural gradients, in types of 64 bits."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('netket',)
X64 = True  # As NetKet has it by itself.
FACTOR = 4096.0


def programs(jax):
    import jax.numpy as jnp
    import netket as nk
    from jax.flatten_util import ravel_pytree

    R = Random(0)
    P = Programs()
    add = P.add
    KEY = np.array([0, 11], np.uint32)

    chain = nk.graph.Chain(10)
    spins = nk.hilbert.Spin(0.5, 10)
    ising = nk.operator.IsingJax(spins, chain, h=1.0)
    zero = nk.hilbert.Spin(0.5, 10, total_sz=0)
    heisenberg = nk.operator.Heisenberg(zero, chain).to_pauli_strings().to_jax_operator()

    def configurations(count, balanced=False):
        if balanced:
            return np.stack([R.permutation(np.repeat([-1.0, 1.0], 5)) for _ in range(count)])
        return R.choice([-1.0, 1.0], (count, 10))

    def weights(model, size=10):
        return lambda: jax.jit(model.init)(KEY, jnp.ones((1, size)))

    rbm = nk.models.RBM(alpha=2, param_dtype=float)
    wide = nk.models.RBM(alpha=2, param_dtype=complex)
    group = nk.models.GCNN(symmetries=chain, layers=2, features=4, param_dtype=complex)
    autoregressive = nk.models.ARNNDense(hilbert=spins, layers=2, features=8)
    convolutional = nk.models.FastARNNConv1D(hilbert=spins, layers=2, features=6, kernel_size=3)
    jastrow = nk.models.Jastrow(param_dtype=float)

    def local_energies(model, operator, w, s):
        connected, elements = operator.get_conn_padded(s)
        image = model.apply(w, connected.reshape(-1, connected.shape[-1])).reshape(elements.shape)
        return jnp.sum(elements * jnp.exp(image - model.apply(w, s)[:, None]), axis=-1)

    def forces(model, operator):
        """Energy and its gradient from samples, as expect_and_grad has them."""
        def run(w, s):
            local = local_energies(model, operator, w, s)
            mean = local.mean()
            _, back = nk.jax.vjp(lambda w: model.apply(w, s), w, conjugate=True)
            return mean, back(((local - mean) / s.shape[0]).astype(model.apply(w, s).dtype))[0]
        return run

    add('rbm_forces', forces(rbm, ising), weights(rbm), configurations(128))
    add('complex_rbm_forces', forces(wide, heisenberg), weights(wide), configurations(128, True))
    add('group_convolutions', forces(group, ising), weights(group), configurations(32))
    add('jastrow_energies', lambda w, s: local_energies(jastrow, ising, w, s), weights(jastrow), configurations(128))

    # Samplers.
    def sample(sampler, model, length):
        def run(w, seed):
            state = sampler.reset(model, w, sampler.init_state(model, w, seed))
            s, state = sampler.sample(model, w, state=state, chain_length=length)
            return s
        return run

    add('metropolis_local', sample(nk.sampler.MetropolisLocal(spins, n_chains=16), rbm, 8), weights(rbm), KEY)
    add('metropolis_exchange', sample(nk.sampler.MetropolisExchange(zero, graph=chain, n_chains=16), wide, 8), weights(wide), KEY)
    add('direct_sampling', sample(nk.sampler.ARDirectSampler(spins), autoregressive, 8), weights(autoregressive), KEY)
    add('direct_sampling_fast', sample(nk.sampler.ARDirectSampler(spins), convolutional, 8), weights(convolutional), KEY)
    add('autoregressive_forces', forces(autoregressive, ising), weights(autoregressive), configurations(32))

    # Natural gradients.
    def stacked(w, s):
        force = forces(rbm, ising)(w, s)[1]
        jacobian = nk.jax.jacobian(rbm.apply, w['params'], s, mode='real', dense=True, center=True)
        return ravel_pytree(force)[0], jacobian.reshape(-1, jacobian.shape[-1]) / np.sqrt(s.shape[0])

    def natural(w, s):
        g, o = stacked(w, s)
        return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(o.T @ o + 0.01 * jnp.eye(o.shape[1])), g)

    def kernel_trick(w, s):
        """Fewer samples than weights: the system is that of samples, solved by its eigenvalues."""
        g, o = stacked(w, s)
        values, vectors = jnp.linalg.eigh(o @ o.T)
        return o.T @ (vectors @ ((vectors.T @ (o @ g)) / (values + 0.01)))

    def iterated(w, s):
        g, o = stacked(w, s)
        return jax.scipy.sparse.linalg.cg(lambda v: o.T @ (o @ v) + 0.01 * v, g, tol=1e-12, maxiter=300)[0]

    add('natural_gradient', natural, weights(rbm), configurations(128))
    add('natural_gradient_kernel', kernel_trick, weights(rbm), configurations(48))
    add('natural_gradient_iterated', iterated, weights(rbm), configurations(128))

    def exact(w):
        """All states summed: normalized amplitudes, energy, entropy."""
        s = spins.all_states()
        log = rbm.apply(w, s)
        psi = jnp.exp(log - nk.jax.logsumexp_cplx(2 * log).real / 2)
        connected, elements = ising.get_conn_padded(s)
        image = jnp.sum(elements * psi[spins.states_to_numbers(connected)], -1)
        return psi, psi @ image, -jnp.sum(psi ** 2 * jnp.log(psi ** 2))

    add('exact_energy', exact, weights(rbm))

    # Fermions and continuous space.
    orbitals = nk.hilbert.SpinOrbitalFermions(6, n_fermions=3)
    slater = nk.models.Slater2nd(orbitals, param_dtype=float)
    hopping = nk.operator.FermionOperator2nd(orbitals, ['0^ 1', '1^ 0', '2^ 3', '3^ 2', '4^ 5', '5^ 4', '1^ 1 4^ 4'], [-1.0, -1, -1, -1, -1, -1, 2]).to_jax_operator()
    occupied = np.stack([R.permutation(np.repeat([0.0, 1.0], 3)) for _ in range(64)])
    add('slater_forces', forces(slater, hopping), lambda: jax.jit(slater.init)(KEY, jnp.asarray(occupied)), occupied)

    def kinetic(w, x):
        """Energy of interacting particles in a trap: Laplacian of a network by forward over reverse."""
        def log(x):
            h = jnp.tanh(x @ w[0])
            return jnp.sum(jnp.tanh(h @ w[1])) - 0.5 * jnp.sum(x ** 2)

        def one(x):
            gradient = jax.grad(log)
            laplacian = jnp.sum(jax.vmap(lambda e: jax.jvp(gradient, (x,), (e,))[1] @ e)(jnp.eye(x.size)))
            return -0.5 * (laplacian + jnp.sum(gradient(x) ** 2)) + 0.5 * jnp.sum(x ** 2)
        return jax.vmap(one)(x)

    add('kinetic_energies', kinetic, [R.randn(6, 16) * 0.3, R.randn(16, 16) * 0.3], R.randn(64, 6))
    return P
