"""VSAX, Rax, tensordev and thermox: symbols as long vectors, losses of rankings, signatures of paths, and processes that return to their mean."""
import numpy as np

from by_value import Programs, Random

NEEDS = ('vsax', 'rax', 'tensordev', 'thermox')
FACTOR = 256.0


def programs(jax):
    import jax.numpy as jnp
    import rax
    import tensordev
    import thermox
    import vsax

    R = Random(0)
    P = Programs()
    add = P.add

    # Symbols.
    phases = np.exp(2j * np.pi * R.rand(40, 512)).astype(np.complex64)
    signs = (R.randint(0, 2, (40, 2048)) * 2 - 1).astype(np.float32)
    reals = R.f32(40, 1024) / np.float32(32)
    waves, bits, means, turns = vsax.FHRROperations(), vsax.BinaryOperations(), vsax.MAPOperations(), vsax.QuaternionOperations()

    def record(ops):
        def run(book):
            roles, fillers = book[:8], book[8:16]
            bound = [ops.bind(r, f) for r, f in zip(roles, fillers)]
            whole = ops.bundle(*bound)
            asked = jax.vmap(lambda r: ops.bind(whole, ops.inverse(r)))(roles)
            likeness = jnp.abs(asked.conj() @ book.T) / (jnp.linalg.norm(asked, axis=1)[:, None] * jnp.linalg.norm(book, axis=1))
            return jnp.max(likeness[:, 8:], 1), whole
        return run
    add('record_of_waves', record(waves), phases)
    add('record_of_signs', record(bits), signs)
    add('record_of_reals', record(means), reals)

    def sequence(ops):
        def run(book, order):
            def one(memory, i):
                return ops.bundle(ops.permute(memory, 1), book[i]).astype(book.dtype), None
            return jax.lax.scan(one, book[0], order)[0]
        return run
    order = R.i32(40, 24)
    add('sequence_of_waves', sequence(waves), phases, order)
    add('sequence_of_signs', sequence(bits), signs, order)

    def factors(books, whole):
        """Which three symbols, one of each book, were bound: estimates in turn until none changes."""
        def one(c):
            i, guess, _ = c
            new = guess
            for k in range(3):
                others = bits.bind(new[(k + 1) % 3], new[(k + 2) % 3])
                asked = bits.bind(whole, others)
                new = new.at[k].set(jnp.where(books[k].T @ (books[k] @ asked) >= 0, 1.0, -1.0))
            return i + 1, new, jnp.any(new != guess)
        start = jnp.where(books.sum(1) >= 0, 1.0, -1.0)
        i, guess, _ = jax.lax.while_loop(lambda c: (c[0] < 40) & c[2], one, (0, start, True))
        return i, jnp.argmax(jnp.einsum('kd,knd->kn', guess, books), 1)
    books = signs[:39].reshape(3, 13, 2048)
    add('factors', factors, books, books[0, 3] * books[1, 7] * books[2, 11])
    add('turns', lambda a, b: (turns.bind(a, b), turns.bundle(*a[:8]), turns.unbind(turns.bind(a, b), b)), *(q / np.linalg.norm(q, axis=-1, keepdims=True) for q in (R.f32(16, 512, 4), R.f32(16, 512, 4))))

    def learned(book, x, y):
        """Classes as bundles of quantised features, corrected where they are wrong."""
        codes = jnp.sign(jnp.tanh(x @ book[:16, :1024]))
        classes = jax.ops.segment_sum(codes, y, 5)

        def one(classes, cy):
            code, label = cy
            guess = jnp.argmax(classes @ code)
            wrong = (guess != label).astype(jnp.float32)
            return classes.at[label].add(wrong * code).at[guess].add(-wrong * code), guess
        return jax.lax.scan(one, classes, (codes, y))
    add('learned', learned, signs, R.f32(100, 16), R.i32(5, 100))

    # Rankings.
    scores, labels = R.f32(32, 40), R.randint(0, 5, (32, 40)).astype(np.float32)
    there = R.share(32, 40) < 0.8
    for loss in (rax.softmax_loss, rax.listmle_loss, rax.pairwise_logistic_loss, rax.pairwise_hinge_loss, rax.unique_softmax_loss):
        add(loss.__name__, jax.value_and_grad(lambda s, l, w, loss=loss: loss(s, l, where=w, **({'key': jax.random.key(1)} if loss is rax.listmle_loss else {}))), scores, labels, there)
    add('lambda_weights', jax.value_and_grad(lambda s, l, w: rax.pairwise_logistic_loss(s, l, where=w, lambdaweight_fn=rax.dcg2_lambdaweight)), scores, labels, there)
    add('metrics', lambda s, l, w: [m(s, l, where=w) for m in (rax.ndcg_metric, rax.mrr_metric, rax.precision_metric, rax.recall_metric, rax.ap_metric, rax.opa_metric)],
        scores, labels, there)
    segments = np.sort(R.i32(30, 600))
    add('queries_in_segments', jax.value_and_grad(lambda s, l, g: rax.softmax_loss(s, l, segments=g)), R.f32(600), R.randint(0, 2, 600).astype(np.float32), segments)
    add('metrics_in_segments', lambda s, l, g: (rax.ndcg_metric(s, l, segments=g), rax.mrr_metric(s, l, segments=g)), R.f32(600), R.randint(0, 2, 600).astype(np.float32), segments)

    # Paths.
    paths = np.cumsum(R.f32(8, 60, 3) * np.float32(0.1), 1)
    add('signature', lambda x: tensordev.path_signature(x, trunc=4), paths)
    add('signature_gradient', jax.grad(lambda x: sum(jnp.sum(l ** 2) for l in tensordev.path_signature(x, trunc=3)[1:])), paths)
    kernel = tensordev.SigKernel()
    add('signature_kernel', lambda x, y: kernel(x, y), paths, paths[::-1].copy())

    # Processes.
    root = R.f32(6, 6)
    drift, spread = root @ root.T / 6 + np.eye(6, dtype=np.float32), np.eye(6, dtype=np.float32) * np.float32(0.5)
    times = np.linspace(0, 4, 100).astype(np.float32)
    add('returning', lambda k, a, b, d: thermox.sample(jax.random.wrap_key_data(k), times, jnp.zeros(6), a, b, d), np.array([0, 1], np.uint32), drift, R.f32(6), spread)
    add('returning_likelihood', lambda x, a, b, d: thermox.log_prob(jnp.asarray(times), x, a, b, d), np.cumsum(R.f32(100, 6), 0) * np.float32(0.1), drift, R.f32(6), spread)
    return P
