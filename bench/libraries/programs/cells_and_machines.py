"""CAX, Ludax, Jax2D and Octax: automata of cells, board games by their rules, bodies in the plane, and an emulated machine of bytes."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('cax', 'ludax', 'jax2d', 'octax')
FACTOR = 1024.0


def programs(jax):
    import jax.numpy as jnp
    import jax2d.engine
    import jax2d.scene
    import jax2d.sim_state
    import ludax
    import ludax.games
    import octax.decode
    import octax.emulator
    import octax.state
    from cax.cs import elementary, lenia, life
    from flax import nnx

    R = Random(0)
    P = Programs()
    add = P.add
    KEY = np.array([0, 5], np.uint32)

    # Cells.
    def lives(make, size, steps):
        def run(cells):
            system = make(nnx.Rngs(0))
            return system(cells, num_steps=steps)[0]
        return run, (R.share(*size) < 0.4).astype(np.float32)

    def lifelike(rule):
        birth, survival = life.Life.birth_survival_from_string(rule)
        return lambda rngs: life.Life(birth=birth, survival=survival, rngs=rngs)
    add('life', *lives(lifelike('B3/S23'), (64, 64, 1), 64))
    add('life_day_and_night', *lives(lifelike('B3678/S34678'), (128, 128, 1), 16))
    add('elementary', *lives(lambda rngs: elementary.Elementary(wolfram_code=elementary.Elementary.wolfram_code_from_rule_number(110), rngs=rngs), (500, 1), 100))

    def fading(cells):
        rule = lenia.LeniaRuleParams(channel_source=0, channel_target=0, weight=1.0, kernel_params=lenia.KernelParams(r=jnp.array(1.0), b=jnp.array([0.5, 1.0, 0.667])),
                                     growth_params=lenia.GrowthParams(mean=jnp.array(0.26), std=jnp.array(0.036)))
        rules = jax.tree.map(lambda a: jnp.asarray(a)[None], rule)
        system = lenia.Lenia(spatial_dims=(64, 64), channel_size=1, R=12, T=10, rule_params=rules)
        return system(cells, num_steps=20)[0]
    add('lenia', fading, R.share(64, 64, 1))

    # Games by their rules.
    def played(name, boards, moves):
        env = ludax.LudaxEnvironment(game_str=getattr(ludax.games, name))

        def run(key):
            def move(state, k):
                a, b = jax.random.split(k)
                action = jax.random.categorical(a, jnp.where(state.legal_action_mask, 0.0, -jnp.inf), axis=1).astype(jnp.int16)
                state = jax.vmap(env.step)(state, action)
                return state, (action, state.terminated)
            state = jax.vmap(env.init)(jax.random.split(key, boards))
            state, out = jax.lax.scan(move, state, jax.random.split(key, moves))
            return state.winners, state.legal_action_mask, out
        return run
    for name, moves in (('connect_four', 20), ('reversi', 12), ('hex', 24), ('gomoku', 16), ('english_draughts', 6), ('yavalath', 16), ('pente', 8)):
        add(name, played(name, 8, moves), KEY)

    # Bodies in the plane.
    static = jax2d.sim_state.StaticSimParams()
    engine = jax2d.engine.PhysicsEngine(static)
    scene = jax2d.engine.create_empty_sim(static, floor_offset=0.0)
    for i in range(4):
        scene, _ = jax2d.scene.add_rectangle_to_scene(scene, static, position=jnp.array([1.0 + 0.4 * i, 0.5 + 0.6 * i]), dimensions=jnp.array([0.5, 0.3]))
        scene, _ = jax2d.scene.add_circle_to_scene(scene, static, position=jnp.array([3.0 - 0.3 * i, 0.6 + 0.7 * i]), radius=0.25)
    scene, _ = jax2d.scene.add_revolute_joint_to_scene(scene, static, a_index=4, b_index=5, a_relative_pos=jnp.array([0.3, 0.0]), b_relative_pos=jnp.array([-0.3, 0.0]), motor_on=True)
    scene = jax.tree.map(np.asarray, scene)

    def falling(steps):
        def run(scene, actions):
            def one(state, a):
                state, _ = engine.step(state, jax2d.sim_state.SimParams(), a)
                return state, state.polygon.position
            return jax.lax.scan(one, scene, actions)[1]
        return run
    controls = np.ones((8, static.num_joints + static.num_thrusters), np.float32)
    add('falling', falling(8), scene, controls)
    add('falling_worlds', lambda s, a, x: jax.vmap(lambda x: falling(4)(s, a * x))(x), scene, controls[:4], np.linspace(-1, 1, 8).astype(np.float32))

    # A machine.
    program = [0x60, 0x00, 0x61, 0x01, 0xA3, 0x00, 0x80, 0x14, 0xC2, 0x1F, 0xC3, 0x0F, 0xD2, 0x35, 0x70, 0x05, 0x81, 0x03, 0xF0, 0x33, 0xF2, 0x65, 0x30, 0x40, 0x12, 0x06,
               0x00, 0xE0, 0x12, 0x06]
    memory = np.array(octax.state.create_state().memory)
    memory[0x200:0x200 + len(program)] = program
    memory[0x300:0x305] = [0xF0, 0x90, 0x90, 0x90, 0xF0]

    def machine(steps):
        def run(memory, key):
            state = octax.state.create_state(key).replace(memory=memory)

            def one(state, _):
                state, instruction = octax.emulator.fetch(state)
                return octax.emulator.execute(state, instruction), None
            state, _ = jax.lax.scan(one, state, None, length=steps)
            return state.V, state.display, state.pc, state.I, state.memory
        return run
    add('machine', machine(200), memory, KEY)
    add('machines', jax.vmap(machine(60), (None, 0)), memory, np.stack([KEY + np.uint32(i) for i in range(16)]))
    return P
