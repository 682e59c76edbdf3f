"""Many runs at once that end on their own: stacks, heaps, tables and rings that each run changes or leaves."""
import numpy as np
from by_value import Programs, Random
R = Random(940)
f32, i32, u8 = R.f32, R.i32, R.u8
FACTOR = 64.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add
    # postfix expressions on a stack machine, each of its own length
    def postfix(code, values):
        def one(code, values):
            def st(c):
                pc, sp, stack = c
                op = code[pc]; a, b = stack[sp - 1], stack[sp - 2]
                push = op == 0
                to = jnp.where(push, sp, sp - 2)
                new = jnp.select([push, op == 1, op == 2], [values[pc], a + b, a * b], b - a)
                return pc + 1, to + 1, stack.at[to].set(new)
            return lax.while_loop(lambda c: code[c[0]] >= 0, st, (0, 0, jnp.zeros(16)))[2][0]
        return jax.vmap(one)(code, values)
    def expressions(n, length):
        code = np.full((n, length), -1, np.int32)
        for i in range(n):
            depth = 0
            for k in range(R.randint(5, length - 20)):
                op = 0 if depth < 2 or (depth < 12 and R.rand() < .5) else R.randint(1, 4)
                depth += 1 if op == 0 else -1
                code[i, k] = op
        return code
    add('postfix_machines', postfix, expressions(200, 64), f32(200, 64))
    # open addressing: each of many tables takes in keys until it is three quarters full
    def tables(keys):
        def one(keys):
            def insert(c):
                i, used, table = c
                k = keys[i]
                def probe(at): return (at + 1) & 63
                at = lax.while_loop(lambda at: (table[at] != 0) & (table[at] != k), probe, (k * 40503 >> 4) & 63)
                return i + 1, used + (table[at] == 0), table.at[at].set(k)
            return lax.while_loop(lambda c: (c[0] < 90) & (c[1] < 48), insert, (0, 0, jnp.zeros(64, jnp.int32)))[2]
        return jax.vmap(one)(keys)
    add('tables_with_probing', tables, R.randint(1, 90, (40, 90)).astype(np.int32))
    # shortest jobs first: a queue in an array per machine, jobs that come back until they are done
    def queues(work):
        def one(work):
            def st(c):
                t, left, ends = c
                k = jnp.argmin(jnp.where(left > 0, left, jnp.inf))
                run = jnp.minimum(left[k], 1.5)
                done = left[k] <= 1.5
                return t + run, left.at[k].add(-run), jnp.where(done, ends.at[k].set(t + run), ends)
            return lax.while_loop(lambda c: (c[1] > 0).any(), st, (0., work, jnp.zeros_like(work)))[2]
        return jax.vmap(one)(work)
    add('queues_of_jobs', queues, R.rand(64, 12).astype(np.float32) * 6)
    # chains that move only when accepted: one site of a lattice each, with its history
    def walkers(x0, key):
        def one(x, key):
            def st(c, key):
                x, n, seen = c
                a, b, d = jax.random.split(key, 3)
                i = jax.random.randint(a, (), 0, 100)
                new = x[i] + jax.random.normal(b)
                ok = jnp.log(jax.random.uniform(d)) < (x[i] ** 2 - new ** 2) / 2
                return (jnp.where(ok, x.at[i].set(new), x), n + ok, jnp.where(ok, seen.at[n].set(i), seen)), None
            return lax.scan(st, (x, 0, jnp.full(60, -1)), jax.random.split(key, 60))[0]
        return jax.vmap(one)(x0, jax.random.split(key, 50))
    add('walkers_that_accept', walkers, f32(50, 100), np.array([3, 4], np.uint32))
    # polygons clipped by lines, each with as many corners as are left
    def clip(poly, lines):
        def one(poly):
            def by(c, line):
                p, n = c
                def st(i, c):
                    q, m = c
                    a, b = p[i], p[jnp.where(i + 1 < n, i + 1, 0)]
                    da, db = a @ line[:2] - line[2], b @ line[:2] - line[2]
                    live = i < n
                    keep = live & (da <= 0)
                    q = jnp.where(keep, q.at[m].set(a), q); m = m + keep
                    cross = live & (da * db < 0)
                    q = jnp.where(cross, q.at[m].set(a + (b - a) * (da / (da - db + (da == db)))), q)
                    return q, m + cross
                return lax.fori_loop(0, 12, st, (jnp.zeros((14, 2)), 0)), None
            (p, n), _ = lax.scan(by, (jnp.zeros((14, 2)).at[:4].set(poly), 4), lines)
            nxt = p[jnp.where(jnp.arange(14) + 1 < n, jnp.arange(14) + 1, 0)]
            return jnp.where(jnp.arange(14) < n, p[:, 0] * nxt[:, 1] - p[:, 1] * nxt[:, 0], 0).sum() / 2
        return jax.vmap(one)(poly)
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float32)
    add('clipped_polygons', clip, square * (1 + R.rand(300, 1, 1)).astype(np.float32) + f32(300, 1, 2) * .2,
        np.array([[1, 0, 1], [0, 1, 1], [-1, 0, 1], [0, -1, 1], [.7, .7, 1.1]], np.float32))
    # one long array, changed at one place per step, and only sometimes
    def sieve(limit):
        def st(i, c):
            flags, last = c
            hit = (i * 7919 % 1000) < limit
            return jnp.where(hit, flags.at[i * 31 % 20000].set(last), flags), jnp.where(hit, i, last)
        return lax.fori_loop(0, 500, st, (jnp.zeros(20000, jnp.int32), 0))[0]
    add('marked_now_and_then', sieve, np.int32(300))
    return P
