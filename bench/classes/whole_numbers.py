"""Whole numbers of 64 bits: counts modulo primes, sieves, factors, common divisors, points from the digits of their numbers."""
import numpy as np
from by_value import Programs, Random

X64 = True
R = Random(4206)


def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs()
    add = P.add
    fori = lax.fori_loop

    def i64(high, *shape):
        return R.randint(0, high, shape)

    def partitions(one):
        def part(k, p):
            return fori(k, 301, lambda i, p: p.at[i].set((p[i] + p[i - k]) % 1000000007), p)
        return fori(1, 301, part, jnp.zeros(301, jnp.int64).at[0].set(one))
    add('partitions_counted', partitions, np.int64(1))

    def totients(phi):
        return fori(2, 500, lambda p, t: jnp.where((t[p] == p) & (jnp.arange(3001) % p == 0), t // p * (p - 1), t), phi)
    add('totients_by_a_sieve', totients, np.arange(3001))

    def factor(n):
        """A factor of n by walks of two speeds, which end where their difference shares one with n."""
        def body(s):
            x, y, d, k = s
            x = (x * x + 1) % n
            y = (y * y + 1) % n
            y = (y * y + 1) % n
            return x, y, jnp.gcd(jnp.abs(x - y), n), k + 1
        return lax.while_loop(lambda s: (s[2] == 1) & (s[3] < 2000), body, (n * 0 + 2, n * 0 + 2, n * 0 + 1, 0))[2]
    add('factors_by_two_walks', jax.vmap(factor), np.array([1009 * 10007, 3001 * 4001, 7919 * 6841, 1000003 * 97, 65537 * 257]))

    def binomials(row):
        def step(r, _):
            return (r + jnp.concatenate([jnp.zeros(1, jnp.int64), r[:-1]])) % 998244353, r.sum()
        return lax.scan(step, row, None, length=300)
    add('binomials_modulo', binomials, np.eye(1, 301, dtype=np.int64)[0])
    add('matrix_powers_modulo', lambda a: fori(0, 20, lambda i, x: (x[:, :, None] * x[None] % 1000000007).sum(1) % 1000000007, a), i64(1000000007, 11, 11))
    add('common_divisors_and_multiples', lambda a, b: (jnp.gcd(a, b), jnp.lcm(a % 1000, b % 1000)), i64(10 ** 9, 5003), i64(10 ** 9, 5003))

    def by_bits(directions):
        i = jnp.arange(4001)
        gray = i ^ (i >> 1)

        def bit(k, x):
            return x ^ jnp.where(((gray >> k) & 1)[:, None] == 1, directions[k], 0)
        return fori(0, 30, bit, jnp.zeros((4001, 7), jnp.int64)) / 2. ** 30
    add('points_by_bits_in_a_loop', by_bits, i64(1 << 30, 30, 7))

    def by_digits(i, base):
        def digit(s):
            f, r, i = s
            return f / base, r + f / base * (i % base), i // base
        return lax.while_loop(lambda s: (s[2] > 0).any(), digit, (jnp.ones(i.shape), jnp.zeros(i.shape), i))[1]
    add('points_by_digits_of_five_bases', lambda i: jnp.stack([by_digits(i, b) for b in (2, 3, 5, 7, 11)]), np.arange(1, 2004))
    return P
