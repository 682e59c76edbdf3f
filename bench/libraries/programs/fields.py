"""Jaxley, PIX, RLax and Quax: neurons and their membranes, images, losses of agents, and arrays of other kinds."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('jaxley', 'dm_pix', 'rlax', 'quax')
FACTOR = 1024.0


def programs(jax):
    import dm_pix as pix
    import equinox as eqx
    import jax.numpy as jnp
    import jaxley as jx
    import quax
    import rlax
    from jaxley.channels import HH, Leak
    from jaxley.connect import connect
    from jaxley.synapses import IonotropicSynapse
    from quax.examples import lora

    R = Random(0)
    KEY = np.array([0, 23], np.uint32)
    P = Programs()
    add = P.add
    f32 = R.f32

    # Neurons: an implicit step solves a tree of compartments.
    def neuron(branches, parents):
        cell = jx.Cell([jx.Branch(jx.Compartment(), ncomp=2) for _ in range(branches)], parents=parents)
        cell.insert(HH())
        cell.set('HH_gNa', 0.12)
        return cell

    def voltages(module, place, solver='bwd_euler', **options):
        place(module).record(verbose=False)

        def run(current):
            stimulus = place(module).data_stimulate(current)
            return jx.integrate(module, data_stimuli=stimulus, solver=solver, delta_t=0.025, **options)
        return run

    pulse = np.where((np.arange(60) > 5) & (np.arange(60) < 40), 0.5, 0).astype(np.float32)
    soma = lambda m: m.branch(0).loc(0.0)
    add('neuron', voltages(neuron(5, [-1, 0, 0, 1, 1]), soma), pulse)
    add('neuron_crank_nicolson', voltages(neuron(3, [-1, 0, 0]), soma, 'crank_nicolson'), pulse)
    add('neuron_batch', jax.vmap(voltages(neuron(3, [-1, 0, 0]), soma)), (pulse * R.rand(8, 1)).astype(np.float32))

    def trained():
        cell = neuron(3, [-1, 0, 0])
        cell.insert(Leak())
        soma(cell).record(verbose=False)
        cell.make_trainable('HH_gNa', verbose=False)
        cell.make_trainable('Leak_gLeak', verbose=False)
        parameters = cell.get_parameters()

        def run(parameters, current):
            def loss(parameters):
                v = jx.integrate(cell, params=parameters, data_stimuli=soma(cell).data_stimulate(current), checkpoint_lengths=[8, 8])
                return jnp.mean((v + 65) ** 2)
            return jax.value_and_grad(loss)(parameters)
        return run, jax.tree.map(lambda x: np.asarray(x, np.float32), parameters), pulse
    add('neuron_gradient', *trained())

    def network():
        cells = [neuron(1, [-1]) for _ in range(3)]
        net = jx.Network(cells)
        for a, b in ((0, 1), (1, 2), (0, 2)):
            connect(net.cell(a).branch(0).loc(0.0), net.cell(b).branch(0).loc(1.0), IonotropicSynapse())
        net.cell(2).branch(0).loc(0.5).record(verbose=False)
        return lambda current: jx.integrate(net, data_stimuli=net.cell(0).branch(0).loc(0.0).data_stimulate(current), delta_t=0.025)
    add('neuron_network', network(), pulse)

    # Images.
    image = R.rand(24, 24, 3).astype(np.float32)
    batch = R.rand(4, 24, 24, 3).astype(np.float32)
    add('image_colors', lambda x: (pix.adjust_hue(x, 0.1), pix.adjust_saturation(x, 0.6), pix.hsl_to_rgb(pix.rgb_to_hsl(x)), pix.adjust_gamma(x, 0.8)), image)
    add('image_rotations', jax.vmap(lambda x, a: pix.rotate(x, a, order=1, mode='constant')), batch, f32(4))
    add('image_deformation', lambda k, x: pix.elastic_deformation(k, x, alpha=4.0, sigma=2.0), KEY, image)
    add('image_blur_gradient', jax.grad(lambda x, y: jnp.mean(pix.ssim(pix.gaussian_blur(x, 1.2, 5), y))), image, (image + 0.1 * R.rand(24, 24, 3)).astype(np.float32))
    add('image_patches', lambda x: pix.depth_to_space(pix.extract_patches(x, (1, 4, 4, 1), (1, 4, 4, 1), (1, 1, 1, 1), padding='VALID'), 4), batch)

    def augment(k, x):
        a, b, c, d = jax.random.split(k, 4)
        x = pix.random_flip_left_right(a, x)
        x = pix.random_brightness(b, x, 0.2)
        x = pix.random_contrast(c, x, 0.7, 1.3)
        return pix.random_crop(d, x, (4, 16, 16, 3))
    add('image_augmentation', augment, KEY, batch)

    # Losses of agents.
    steps, actions = 20, 5
    rewards, discounts, values = f32(steps), np.where(R.rand(steps) < 0.1, 0, 0.99).astype(np.float32), f32(steps + 1)

    def actor_critic(logits, behaviour, v, a, r, g):
        def loss(logits, v):
            rhos = rlax.categorical_importance_sampling_ratios(logits, behaviour, a)
            out = rlax.vtrace_td_error_and_advantage(v[:-1], v[1:], r, g, rhos)
            return jnp.mean(out.errors ** 2) + rlax.policy_gradient_loss(logits, a, out.pg_advantage, jnp.ones_like(r)) + 0.01 * rlax.entropy_loss(logits, jnp.ones_like(r))
        return jax.value_and_grad(loss, (0, 1))(logits, v)
    add('agent_vtrace', jax.vmap(actor_critic), f32(8, steps, actions), f32(8, steps, actions), f32(8, steps + 1), R.i32(actions, 8, steps), f32(8, steps),
        np.tile(discounts, (8, 1)))

    atoms = np.linspace(-3, 3, 21).astype(np.float32)
    add('agent_categorical', lambda p, n, a, r, g: jax.value_and_grad(lambda p: jnp.mean(jax.vmap(rlax.categorical_double_q_learning, (None, 0, 0, 0, 0, None, 0, 0))(
        atoms, p, a, r, g, atoms, n, n.mean(-1))))(p), f32(16, actions, 21), f32(16, actions, 21), R.i32(actions, 16), f32(16), np.full(16, 0.9, np.float32))
    add('agent_quantiles', lambda p, n, a, r, g: jax.value_and_grad(lambda p: jnp.mean(jax.vmap(rlax.quantile_q_learning, (0, None, 0, 0, 0, 0, 0, None))(
        p, jnp.linspace(0.05, 0.95, 10), a, r, g, n, n, 1.0)))(p), f32(16, 10, actions), f32(16, 10, actions), R.i32(actions, 16), f32(16), np.full(16, 0.9, np.float32))
    add('agent_retrace', jax.vmap(lambda q, t, a, r, g, pi, mu: rlax.retrace(q, t, a, a, r, g, jax.nn.softmax(pi), jax.nn.sigmoid(mu), 0.9)),
        f32(8, steps, actions), f32(8, steps, actions), R.i32(actions, 8, steps), f32(8, steps), np.tile(discounts, (8, 1)), f32(8, steps, actions), f32(8, steps))
    add('agent_advantages', lambda r, g, v: (rlax.truncated_generalized_advantage_estimation(r, g, 0.95, v), rlax.lambda_returns(r, g, v[1:], 0.9),
                                             rlax.n_step_bootstrapped_returns(r, g, v[1:], 4)), rewards, discounts, values)
    add('agent_two_hot', lambda x: rlax.muzero_pair(-20, 20, 41, rlax.SIGNED_HYPERBOLIC_PAIR).apply_inv(jax.nn.softmax(8 * rlax.muzero_pair(
        -20, 20, 41, rlax.SIGNED_HYPERBOLIC_PAIR).apply(x))), f32(64) * 20)
    add('agent_memory', lambda d, q: rlax.knn_query(d, q, 5), f32(64, 8), f32(10, 8))

    # Arrays that stand for others.
    linear = eqx.nn.MLP(8, 8, 16, 2, key=jax.random.PRNGKey(0))
    adapted = lora.loraify(linear, rank=2, key=jax.random.PRNGKey(1))
    adapters, rest = eqx.partition(jax.tree.map(lambda x: np.asarray(x) if isinstance(x, jax.Array) else x, adapted), eqx.is_array)
    add('low_rank_gradient', lambda w, x: jax.grad(lambda w: jnp.mean(jax.vmap(quax.quaxify(eqx.combine(w, rest)))(x) ** 2))(w), adapters, f32(16, 8))

    from quax.examples import structured_matrices as structured
    add('structured_product', lambda d, x: quax.quaxify(lambda a, b: a @ b + b)(structured.TridiagonalMatrix(lower_diag=d[1:], main_diag=d, upper_diag=d[:-1]), x), f32(40), f32(40))
    return P
