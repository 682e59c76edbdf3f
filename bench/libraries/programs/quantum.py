"""PennyLane and Dynamiqs: circuits with parameters and their gradients, and Schroedinger and Lindblad equations."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('pennylane', 'dynamiqs', 'optax')
FACTOR = 1024.0


def programs(jax):
    import dynamiqs as dq
    import jax.numpy as jnp
    import optax
    import pennylane as qml

    R = Random(0)
    P = Programs()
    add = P.add
    f32 = R.f32

    def node(wires):
        return qml.qnode(qml.device('default.qubit', wires=wires), interface='jax', diff_method='backprop')  # The other methods call Python.

    # A classifier of layers, trained.
    @node(6)
    def classifier(w, x):
        qml.AngleEmbedding(x, wires=range(6))
        qml.StronglyEntanglingLayers(w, wires=range(6))
        return qml.expval(qml.PauliZ(0)), qml.expval(qml.PauliZ(1))

    tx = optax.adam(0.05)

    def train(w, state, x, y):
        def loss(w):
            out = jnp.stack(jax.vmap(classifier, (None, 0))(w, x), -1)
            return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(out, y))
        value, grads = jax.value_and_grad(loss)(w)
        updates, state = tx.update(grads, state)
        return value, grads, state[0].mu

    layers = (R.rand(2, 6, 3) * 3).astype(np.float32)
    add('classifier_step', train, layers, lambda: jax.jit(tx.init)(layers), f32(8, 6), R.i32(2, 8))

    # Ground state of a molecule.
    hydrogen = qml.Hamiltonian([-0.09, 0.17, 0.17, -0.22, 0.12, 0.16, 0.045, -0.045], [
        qml.Identity(0), qml.PauliZ(0), qml.PauliZ(1), qml.PauliZ(2), qml.PauliZ(0) @ qml.PauliZ(2), qml.PauliZ(0) @ qml.PauliZ(1),
        qml.PauliY(0) @ qml.PauliX(1) @ qml.PauliX(2) @ qml.PauliY(3), qml.PauliX(0) @ qml.PauliX(1) @ qml.PauliY(2) @ qml.PauliY(3)])

    @node(4)
    def molecule(w):
        qml.BasisState(np.array([1, 1, 0, 0]), wires=range(4))
        qml.DoubleExcitation(w[0], wires=[0, 1, 2, 3])
        qml.SingleExcitation(w[1], wires=[0, 2])
        qml.SingleExcitation(w[2], wires=[1, 3])
        return qml.expval(hydrogen)

    def descend(w):
        return jax.lax.fori_loop(0, 10, lambda i, w: w - 0.4 * jax.grad(molecule)(w), w)
    add('eigensolver', descend, np.array([0.1, 0.2, 0.3], np.float32))

    @node(4)
    def cut(w):
        for i in range(4):
            qml.Hadamard(i)
        for gamma, beta in zip(w[0], w[1]):
            for i in range(4):
                qml.IsingZZ(gamma, wires=[i, (i + 1) % 4])
            for i in range(4):
                qml.RX(2 * beta, wires=i)
        return qml.probs(wires=range(4))

    add('cut_jacobian', jax.jacobian(cut), f32(2, 3))
    add('cut_hessian', jax.hessian(lambda w: cut(w)[5]), f32(2, 2))

    @node(5)
    def fourier(angles):
        for i in range(5):
            qml.RY(angles[i], wires=i)
        qml.QFT(wires=range(5))
        return qml.state()
    add('fourier_state', jax.vmap(fourier), f32(16, 5))

    @node(4)
    def kernel(a, b):
        qml.IQPEmbedding(a, wires=range(4))
        qml.adjoint(qml.IQPEmbedding)(b, wires=range(4))
        return qml.probs(wires=range(4))
    add('kernel_matrix', lambda x: jax.vmap(lambda a: jax.vmap(lambda b: kernel(a, b)[0])(x))(x), f32(8, 4))

    mixed = qml.device('default.mixed', wires=3)

    @qml.qnode(mixed, interface='jax', diff_method='backprop')
    def noisy(w, p):
        qml.RX(w[0], wires=0)
        qml.CNOT([0, 1])
        qml.DepolarizingChannel(p, wires=0)
        qml.AmplitudeDamping(p, wires=1)
        qml.RY(w[1], wires=2)
        qml.CNOT([1, 2])
        return qml.density_matrix(wires=[0, 2]), qml.purity(wires=[1]), qml.vn_entropy(wires=[0])
    add('noisy_circuit', noisy, f32(2), np.float32(0.1))

    # Dynamics.
    dq.set_progress_meter(False)
    n = 12
    a, times = dq.destroy(n), np.linspace(0, 1, 11).astype(np.float32)
    tensors = [dq.tensor(dq.destroy(6), dq.eye(3)), dq.tensor(dq.eye(6), dq.destroy(3))]

    def oscillator(alpha, detuning):
        h = detuning * a.dag() @ a + 0.5 * (a + a.dag())
        result = dq.mesolve(h, [jnp.sqrt(0.5) * a], dq.coherent(n, alpha), times, exp_ops=[a.dag() @ a], method=dq.method.Tsit5(rtol=1e-4, atol=1e-4))
        return result.expects, result.states[-1].to_jax()
    add('damped_oscillator', oscillator, np.float32(1.2), np.float32(0.7))
    add('damped_oscillator_dense', lambda x, d: dq.mesolve(d * a.dag() @ a.asdense(), [a.asdense()], dq.coherent(n, x), times,
                                                           method=dq.method.Dopri5(rtol=1e-4, atol=1e-4)).states.to_jax(), np.float32(1.2), np.float32(0.7))

    def cavity(g, drive):
        c, q = tensors
        h = g * (c.dag() @ q + c @ q.dag()) - 0.3 * q.dag() @ q.dag() @ q @ q + dq.modulated(lambda t: drive * jnp.cos(3 * t), c + c.dag())
        result = dq.sesolve(h, dq.fock((6, 3), (0, 1)), times, method=dq.method.Tsit5(rtol=1e-4, atol=1e-4))
        return result.states.to_jax()
    add('driven_cavity', cavity, np.float32(1.5), np.float32(0.4))

    def pulse(amplitudes):
        h = dq.pwc(jnp.linspace(0, 1, 9), amplitudes, dq.sigmax()) + 0.5 * dq.sigmaz()
        end = dq.sesolve(h, dq.basis(2, 0), jnp.linspace(0, 1, 9), method=dq.method.Expm()).final_state
        return 1 - dq.fidelity(end, dq.basis(2, 1))
    add('pulse_gradient', jax.value_and_grad(pulse), f32(8))

    def adaptive(amplitude):
        h = dq.modulated(lambda t: amplitude * jnp.sin(jnp.pi * t), dq.sigmax()) + 0.5 * dq.sigmaz()
        end = dq.sesolve(h, dq.basis(2, 0), jnp.linspace(0, 1, 2), method=dq.method.Tsit5(rtol=1e-4, atol=1e-4), gradient=dq.gradient.BackwardCheckpointed()).final_state
        return dq.fidelity(end, dq.basis(2, 1))
    add('adaptive_gradient', jax.value_and_grad(adaptive), np.float32(2.0))

    def spectrum(k):
        h = a.dag() @ a.dag() @ a @ a - k * (a + a.dag())
        values, vectors = jnp.linalg.eigh(h.to_jax())
        thermal = dq.thermal_dm(n, 0.8)
        return values, dq.entropy_vn(thermal), dq.expm(-1j * 0.1 * h.asdense()).to_jax(), dq.wigner(dq.cat(n, 1.0), xmax=2.0, npixels=15)[2]
    add('spectrum_and_wigner', spectrum, np.float32(0.9))

    def propagator(g):
        return dq.sepropagator(g * dq.sigmax() + dq.sigmaz(), times).propagators.to_jax(), dq.mepropagator(g * dq.sigmax(), [dq.sigmam()], times[:3]).propagators.to_jax()
    add('propagators', propagator, np.float32(0.9))
    add('batched_decay', lambda ks: dq.mesolve(ks[:, None, None] * dq.sigmaz().to_jax(), [dq.sigmam()], [dq.basis(2, 0), dq.coherent(2, 0.3)], times,
                                               method=dq.method.Tsit5(rtol=1e-4, atol=1e-4)).states.to_jax(), f32(5))
    return P
