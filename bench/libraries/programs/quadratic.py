"""qpax, linrax, MPAX and SLSQP-JAX: quadratic and linear programs by interior points, simplexes and first derivatives, and what is constrained and curved."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('qpax', 'linrax', 'mpax', 'slsqp_jax', 'optimistix')
FACTOR = 4096.0


def programs(jax):
    import jax.numpy as jnp
    import linrax
    import mpax
    import optimistix
    import qpax
    import slsqp_jax

    R = Random(0)
    P = Programs()
    add = P.add

    def program(n, equal, bounds, seed):
        r = Random(seed)
        root = r.f32(n, n)
        return (root @ root.T / n + np.eye(n, dtype=np.float32), r.f32(n), r.f32(equal, n), r.f32(equal) * np.float32(0.1), r.f32(bounds, n),
                r.share(bounds) + np.float32(0.5))

    one = program(12, 3, 20, 1)
    many = [np.stack(a) for a in zip(*(program(8, 2, 12, s) for s in range(16)))]
    add('program', lambda *a: qpax.solve_qp(*a, solver_tol=1e-4)[:4], *one)
    add('program_implicit', lambda *a: qpax.solve_qp(*a, solver_tol=1e-4, backend='i')[:4], *one)
    add('program_primal_gradient', jax.grad(lambda *a: jnp.sum(qpax.solve_qp_primal(*a, solver_tol=1e-4, target_kappa=1e-2) ** 2), (0, 1, 5)), *one)
    add('programs', jax.vmap(lambda *a: qpax.solve_qp(*a, solver_tol=1e-4)[0]), *many)
    add('programs_gradient', jax.vmap(jax.grad(lambda q, *a: jnp.sum(qpax.solve_qp_primal(a[0], q, *a[1:], solver_tol=1e-4, target_kappa=1e-2) ** 2))), many[1], many[0], *many[2:])
    add('program_elastic', lambda Q, q, G, h: qpax.solve_qp_elastic(Q, q, G, h, 10.0, solver_tol=1e-4)[0], one[0], one[1], one[4], one[5])

    def portfolio(returns):
        """Weights of least variance for several wanted means."""
        mean, n = returns.mean(0), returns.shape[1]
        cov = jnp.cov(returns.T) + 1e-3 * jnp.eye(n)

        def at(wanted):
            A, b = jnp.stack([jnp.ones(n), mean]), jnp.stack([1.0, wanted])
            return qpax.solve_qp(cov, jnp.zeros(n), A, b, -jnp.eye(n), jnp.zeros(n), solver_tol=1e-4)[0]
        return jax.vmap(at)(mean.min() + (mean.max() - mean.min()) * jnp.linspace(0.3, 0.7, 6))
    add('portfolios', portfolio, R.f32(120, 10) * np.float32(0.1) + np.linspace(0, 0.1, 10).astype(np.float32))

    def steered(state):
        """A double integrator that a program steers, anew at each step, within limits of its force."""
        n = 10
        step = jnp.array([[1, 0.1], [0, 1]], jnp.float32)
        powers = [jnp.linalg.matrix_power(step, k) for k in range(n + 1)]
        push = jnp.array([0.005, 0.1], jnp.float32)
        free = jnp.concatenate(powers[1:])
        forced = jnp.concatenate([jnp.stack([powers[i - j] @ push if j <= i else jnp.zeros(2) for j in range(n)], 1) for i in range(n)])
        Q = forced.T @ forced + 0.1 * jnp.eye(n)
        G, h = jnp.concatenate([jnp.eye(n), -jnp.eye(n)]), jnp.full(2 * n, 0.8)

        def one(x, _):
            u = qpax.solve_qp(Q, forced.T @ (free @ x), jnp.zeros((0, n)), jnp.zeros(0), G, h, solver_tol=1e-3)[0][0]
            return step @ x + push * u, u
        return jax.lax.scan(one, state, None, length=8)
    add('steered', steered, np.array([1.0, 0.5], np.float32))

    # Linear programs, and what follows no line.
    rows, costs = R.share(20, 8), -R.share(8)
    add('simplex', lambda c, a, b: linrax.linprog(c, a, b)[0].x, costs, rows, np.full(20, 2, np.float32))
    add('simplex_of_many', jax.vmap(lambda c, a, b: linrax.linprog(c, a, b)[0].x, (0, None, None)), -R.share(16, 8), rows, np.full(20, 2, np.float32))

    def first_order(solver, sparse=False):
        def run(c, a, b):
            problem = mpax.create_lp(c, jnp.zeros((0, 8)), jnp.zeros(0), -a, -b, jnp.zeros(8), jnp.full(8, jnp.inf), sparse)
            out = solver.optimize(problem)
            return out.primal_solution, out.dual_solution
        return run
    add('primal_dual', first_order(mpax.raPDHG(eps_abs=1e-3, eps_rel=1e-3, jit=True, iteration_limit=2000)), costs, rows, np.full(20, 2, np.float32))
    add('primal_dual_halpern', first_order(mpax.r2HPDHG(eps_abs=1e-3, eps_rel=1e-3, jit=True, iteration_limit=2000)), costs, rows, np.full(20, 2, np.float32))

    def constrained(x):
        solver = slsqp_jax.SLSQP(eq_constraint_fn=lambda x, args: jnp.array([jnp.sum(x ** 2) - 4.0]), n_eq_constraints=1,
                                 ineq_constraint_fn=lambda x, args: x[:3] - jnp.array([0.1, -1.0, 0.2]), n_ineq_constraints=3)
        rosenbrock = lambda x, args: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
        return optimistix.minimise(rosenbrock, solver, x, max_steps=30, throw=False).value
    add('constrained', constrained, np.full(6, 0.8, np.float32))
    return P
