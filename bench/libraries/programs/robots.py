"""MuJoCo MJX and Brax: rigid bodies with joints, contacts and motors, batched over robots, and what learns on them."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('mujoco.mjx', 'brax')
FACTOR = 4096.0  # Contacts and solvers: what differs by roundings at first differs by more after steps.

WALKER = """
<mujoco><option timestep="0.005" iterations="4" ls_iterations="6"/>
<worldbody><geom name="floor" type="plane" size="0 0 1"/>
<body pos="0 0 1.2"><freejoint/><geom type="capsule" fromto="0 0 -.2 0 0 .2" size=".08"/>
<body pos="0 .1 -.25"><joint type="hinge" axis="0 1 0" range="-60 60" limited="true" damping="1"/><geom type="capsule" fromto="0 0 0 0 0 -.35" size=".05"/>
<body pos="0 0 -.4"><joint type="hinge" axis="0 1 0" range="-90 0" limited="true" damping="1"/><geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04"/></body></body>
<body pos="0 -.1 -.25"><joint type="hinge" axis="0 1 0" range="-60 60" limited="true" damping="1"/><geom type="capsule" fromto="0 0 0 0 0 -.35" size=".05"/>
<body pos="0 0 -.4"><joint type="hinge" axis="0 1 0" range="-90 0" limited="true" damping="1"/><geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04"/></body></body>
</body></worldbody>
<actuator><motor joint="" gear="40"/></actuator></mujoco>
"""

PENDULA = """
<mujoco><option timestep="0.01" integrator="RK4"/>
<worldbody><body><joint type="ball"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
<body pos=".3 0 0"><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
<body pos=".3 0 0"><joint type="slide" axis="1 0 0" stiffness="30" damping="1"/><geom type="sphere" size=".05"/></body></body></body></worldbody></mujoco>
"""

BALLS = """
<mujoco><option timestep="0.005" iterations="3" ls_iterations="4"/>
<worldbody><geom type="plane" size="0 0 1"/>
%s</worldbody></mujoco>
""" % ''.join(f'<body pos="{0.21 * (i % 2)} 0 {0.3 + 0.22 * i}"><freejoint/><geom type="{kind}" size=".1 .1 .1"/></body>\n' for i, kind in enumerate(('sphere', 'box', 'sphere', 'capsule')))


def programs(jax):
    import jax.numpy as jnp
    import mujoco
    from brax import envs, math
    from mujoco import mjx

    R = Random(0)
    P = Programs()
    add = P.add
    f32 = R.f32

    def steps(xml, count, batch):
        model = mujoco.MjModel.from_xml_string(xml)
        m = mjx.put_model(model)
        d = mjx.make_data(m)

        def run(qpos, qvel, ctrl):
            def one(qpos, qvel, ctrl):
                start = d.replace(qpos=d.qpos + qpos, qvel=qvel, ctrl=ctrl)
                end = jax.lax.fori_loop(0, count, lambda i, d: mjx.step(m, d), start)
                return end.qpos, end.qvel, end.xpos
            return jax.vmap(one)(qpos, qvel, ctrl)

        return run, f32(batch, model.nq) * 0.01, f32(batch, model.nv) * 0.1, f32(batch, model.nu)

    add('mjx_walker', *steps(WALKER.replace('<actuator><motor joint="" gear="40"/></actuator>', ''), 2, 8))
    add('mjx_pendula', *steps(PENDULA, 5, 32))
    add('mjx_balls', *steps(BALLS, 2, 8))

    def jacobian():
        model = mujoco.MjModel.from_xml_string(PENDULA)
        m = mjx.put_model(model)
        d = mjx.make_data(m)

        def places(qvel):
            end = d.replace(qvel=qvel)
            for _ in range(2):
                end = mjx.step(m, end)
            return end.xpos
        return jax.vmap(jax.jacfwd(places)), f32(16, model.nv)  # Its loops have no reverse mode.
    add('mjx_jacobian', *jacobian())

    for name, backend in (('inverted_pendulum', 'generalized'), ('ant', 'spring'), ('halfcheetah', 'positional'), ('reacher', 'generalized')):
        env = envs.get_environment(name, backend=backend)
        state = jax.jit(env.reset)(jax.random.PRNGKey(0))

        def act(action, q, qd, env=env, state=state):
            def one(action, q, qd):
                start = state.replace(pipeline_state=env.pipeline_init(state.pipeline_state.q + q, state.pipeline_state.qd + qd))
                end = env.step(start, action)
                return end.obs, end.reward
            return jax.vmap(one)(action, q, qd)
        add(f'brax_{name}_{backend}', act, np.tanh(f32(4, env.action_size)), f32(4, *state.pipeline_state.q.shape) * 0.01, f32(4, *state.pipeline_state.qd.shape) * 0.01)

    add('brax_quaternions', jax.vmap(lambda v, q, a: (math.rotate(v, q / math.safe_norm(q)), math.quat_mul(q, a), math.relative_quat(q, a))), f32(200, 3), f32(200, 4), f32(200, 4))

    def gae(rewards, values, dones, last):
        def back(acc, x):
            r, v, n, d = x
            delta = r + 0.99 * n * (1 - d) - v
            acc = delta + 0.99 * 0.95 * (1 - d) * acc
            return acc, acc
        following = jnp.concatenate([values[1:], last[None]])
        return jax.lax.scan(back, jnp.zeros_like(last), (rewards, values, following, dones), reverse=True)[1]
    add('advantages', gae, f32(64, 256), f32(64, 256), (R.rand(64, 256) < 0.05).astype(np.float32), f32(256))
    return P
