"""TORAX: the transport of heat, particles and current in a tokamak, as one loop, in types of 64 bits."""
import copy

import numpy as np

from by_value import Programs

NEEDS = ('torax',)
X64 = True  # The library asks for it.
FACTOR = 16384.0


def programs(jax):
    import torax
    from torax._src.orchestration import jit_run_loop, run_simulation
    from torax.examples import basic_config

    P = Programs()
    add = P.add

    def simulation(steps, **changes):
        config = copy.deepcopy(basic_config.CONFIG)
        config.update({'numerics': {'t_final': 0.25 * steps, 'fixed_dt': 0.25}, 'time_step_calculator': {'calculator_type': 'fixed'}, **changes})
        step = run_simulation.make_step_fn(torax.ToraxConfig.from_dict(config))

        def run(provider):
            states, _, last = jit_run_loop.run_loop_jit.__wrapped__(step, steps + 1, provider)
            profiles = states.core_profiles
            return [x.value[last] for x in (profiles.T_i, profiles.T_e, profiles.psi, profiles.n_e)]
        return run, jax.tree.map(np.asarray, step.runtime_params_provider)
    run, provider = simulation(3)
    add('transport', run, provider)
    run, provider = simulation(2, solver={'solver_type': 'linear', 'use_predictor_corrector': True, 'n_corrector_steps': 2})
    add('transport_corrected', run, provider)
    return P
