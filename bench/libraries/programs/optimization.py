"""JAXopt, OTT, Optax, evosax: optimisation, transport, evolution."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('jaxopt', 'ott', 'optax', 'evosax')
FACTOR = 2048.0


def programs(jax):
    import evosax
    import evosax.algorithms
    import jax.numpy as jnp
    import jaxopt
    import optax
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn
    from ott.tools import soft_sort

    R = Random(0)
    KEY = np.array([0, 5], np.uint32)
    P = Programs()
    add = P.add
    f32 = R.f32

    x, y = f32(80, 10), f32(80)
    binary = R.randint(0, 2, 80).astype(np.int32)
    multi = R.randint(0, 3, 80).astype(np.int32)

    def ridge(w, l2, x, y):
        return jnp.mean((x @ w - y) ** 2) + 0.5 * l2 * jnp.sum(w ** 2)

    add('implicit_ridge', jax.jacrev(lambda l2, x, y: jaxopt.LBFGS(ridge, maxiter=20, implicit_diff=True).run(jnp.zeros(10), l2, x, y).params), np.float32(1.0), x, y)
    add('lasso', lambda x, y: jaxopt.ProximalGradient(jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=50).run(
        jnp.zeros(10), hyperparams_prox=0.1, data=(x, y)).params, x, y)
    add('projected_simplex', lambda x, y: jaxopt.ProjectedGradient(jaxopt.objective.least_squares, jaxopt.projection.projection_simplex, maxiter=50).run(
        jnp.ones(10) / 10, hyperparams_proj=1.0, data=(x, y)).params, x, y)
    add('logistic_lbfgs', lambda x, y: jaxopt.LBFGS(jaxopt.objective.multiclass_logreg, maxiter=20).run(jnp.zeros((10, 3)), (x, y)).params, x, multi)
    add('gauss_newton', lambda x, y: jaxopt.GaussNewton(lambda w, x, y: jnp.tanh(x @ w) - y, maxiter=5).run(jnp.zeros(10), x, y).params, x, (y * 0.1))
    add('osqp', lambda q, c, a, b: jaxopt.OSQP(maxiter=100).run(None, (q, c), None, (a, b)).params.primal, np.eye(5, dtype=np.float32) * 2, f32(5), f32(3, 5),
        np.abs(f32(3)))
    add('bisection', lambda a: jaxopt.Bisection(lambda x, a: x ** 3 - x - a, 1, 3, check_bracket=False).run(None, a).params, np.float32(2.0))
    add('anderson', lambda a: jaxopt.AndersonAcceleration(lambda x, a: jnp.cos(a * x), maxiter=20).run(jnp.ones(4), a).params, f32(4) * 0.1 + 0.8)

    points = f32(60, 2), f32(50, 2) + 1
    add('sinkhorn', lambda x, y: (lambda o: (o.reg_ot_cost, o.matrix))(sinkhorn.Sinkhorn()(linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.1)))), *points)
    add('sinkhorn_gradient', jax.grad(lambda x, y: sinkhorn.Sinkhorn()(linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.1))).reg_ot_cost), *points)
    add('soft_rank', lambda x: (soft_sort.ranks(x, epsilon=0.05), soft_sort.sort(x)), f32(40))

    weights = {'a': f32(16, 16), 'b': f32(16)}
    for name in ('adam', 'adabelief', 'lion', 'lamb', 'rmsprop', 'adafactor', 'novograd', 'sm3', 'adan', 'prodigy', 'nadamw', 'yogi', 'muon', 'lbfgs'):
        factory = getattr(optax, name, None) or getattr(optax.contrib, name)
        tx = factory() if name in ('prodigy', 'lbfgs') else factory(learning_rate=1e-2)

        def train(w, x, tx=tx):
            def loss(w):
                return jnp.mean((jnp.tanh(x @ w['a'] + w['b']) - x[:, ::-1]) ** 2)

            def step(c, _):
                w, s = c
                value, g = jax.value_and_grad(loss)(w)
                u, s = tx.update(g, s, w, value=value, grad=g, value_fn=loss) if isinstance(tx, optax.GradientTransformationExtraArgs) else tx.update(g, s, w)
                return (optax.apply_updates(w, u), s), value
            return jax.lax.scan(step, (w, tx.init(w)), length=5)[1]

        add('optax_' + name, train, weights, f32(32, 16))

    for name in ('CMA_ES', 'Open_ES', 'DifferentialEvolution', 'PSO', 'SimulatedAnnealing'):
        cls = getattr(evosax.algorithms, name)

        def evolve(key, start, cls=cls, name=name):
            population = cls.__mro__[1].__name__ == 'PopulationBasedAlgorithm'
            es = cls(population_size=16, solution=jnp.zeros(6))
            params = es.default_params
            state = es.init(key, start, jnp.sum(start ** 2, -1), params) if population else es.init(key, start[0], params)

            def generation(c, k):
                pop, c = es.ask(k, c, params)
                fit = jnp.sum((pop - 0.5) ** 2, -1)
                return es.tell(k, pop, fit, c, params)[0], fit.min()
            return jax.lax.scan(generation, state, jax.random.split(key, 8))[1]

        add('evosax_' + name.lower(), evolve, KEY, f32(16, 6))
    return P
