"""Numbers made of other numbers: pairs of floats, intervals, floats of integers, posits, angles by shifts and sums, residues, decimals, compensated sums."""
import numpy as np
from by_value import Programs, Random

FACTOR = 16.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(8)
    add, f32 = P.add, R.f32
    bits = lambda x: lax.bitcast_convert_type(x, jnp.int32)
    real = lambda x: lax.bitcast_convert_type(x, jnp.float32)

    def two_sum(a, b):
        s = a + b
        t = s - a
        return s, (a - (s - t)) + (b - t)

    def split(a):
        high = real(bits(a) & -4096)
        return high, a - high

    def two_product(a, b):
        p = a * b
        (c, d), (e, f) = split(a), split(b)
        return p, ((c * e - p) + c * f + d * e) + d * f
    add('errors_of_sums', two_sum, f32(5003), f32(5003) * np.float32(1e-4))
    add('parts_of_floats', split, f32(3, 1777))

    def compensated(x):
        def step(s, x):
            total, error = s
            new, e = two_sum(total, x)
            return (new, error + e), None
        (total, error), _ = lax.scan(step, (jnp.float32(0), jnp.float32(0)), x)
        return total + error
    add('compensated_sum', compensated, f32(1000) * 1000)
    add('compensated_sums_of_columns', jax.vmap(compensated, 1), f32(101, 333))

    def up(x):
        return jnp.nextafter(x, jnp.float32(np.inf))

    def down(x):
        return jnp.nextafter(x, jnp.float32(-np.inf))

    def interval_times(a, b):
        ps = jnp.stack([a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]])
        return down(ps.min(0)), up(ps.max(0))

    def interval_polynomial(c, low, high):
        def step(s, c):
            low_, high_ = interval_times(s, (low, high))
            return (down(low_ + c), up(high_ + c)), None
        return lax.scan(step, (jnp.zeros_like(low), jnp.zeros_like(high)), c)[0]
    low = f32(701)
    add('intervals_through_a_polynomial', interval_polynomial, f32(8), low, low + np.float32(.01))
    add('next_floats', lambda x: (up(x), down(x)), f32(4099))

    def soft_added(a, b):
        """The sum of floats by integers, rounded to even."""
        swap = (a & 0x7fffffff) < (b & 0x7fffffff)
        a, b = jnp.where(swap, b, a), jnp.where(swap, a, b)
        ea, eb = (a >> 23) & 255, (b >> 23) & 255
        ma, mb = ((a & 0x7fffff) | 0x800000) << 3, ((b & 0x7fffff) | 0x800000) << 3
        d = jnp.minimum(ea - eb, 27)
        sticky = (mb & ((1 << d) - 1)) != 0
        mb = (mb >> d) | sticky.astype(jnp.int32)
        m = jnp.where((a ^ b) < 0, ma - mb, ma + mb)
        over = m >= (1 << 27)
        m = jnp.where(over, (m >> 1) | (m & 1), m)
        e = ea + over
        shift = jnp.clip(lax.clz(m) - 5, 0, 27)
        m, e = m << shift, e - shift
        r = (m >> 3) + (((m & 7) > 4) | (((m & 7) == 4) & ((m >> 3) & 1 == 1))).astype(jnp.int32)
        return jnp.where(m == 0, 0, (a & -0x80000000) | ((e << 23) + r - 0x800000))
    add('floats_added_by_integers', lambda a, b: real(soft_added(bits(a), bits(b))), f32(3001), f32(3001))

    def posit(x):
        """Posits of 16 bits to floats."""
        sign = x >> 15
        v = jnp.where(sign == 1, (-x) & 0xffff, x) << 17
        first = (v >> 31) & 1
        run = jnp.where(first == 1, lax.clz(~v), lax.clz(v)).astype(jnp.int32)
        k = jnp.where(first == 1, run - 1, -run)
        rest = (v << (run + 1).astype(jnp.uint32))
        e = (rest >> 31).astype(jnp.int32)
        m = (rest << 1) >> 9
        value = real(((2 * k + e + 127) << 23).astype(jnp.int32) | m.astype(jnp.int32))
        return jnp.where(x == 0, 0., jnp.where(sign == 1, -value, value))
    add('posits_to_floats', posit, R.randint(1, 65535, 7001).astype(np.uint32))

    def rotated(angle):
        """Sine and cosine by shifts and sums in 2.28 fixed point."""
        table = np.round(np.arctan(2. ** -np.arange(24)) * 2 ** 28).astype(np.int32)
        x, y, z = jnp.full_like(angle, int(0.6072529350088813 * 2 ** 28)), jnp.zeros_like(angle), angle
        for i in range(24):
            s = jnp.where(z < 0, -1, 1)
            x, y, z = x - s * (y >> i), y + s * (x >> i), z - s * int(table[i])
        return x, y
    add('angles_by_shifts', rotated, ((R.rand(2003) - .5) * 3 * 2 ** 28).astype(np.int32))

    def rotated_in_a_loop(angle, table):
        def step(i, s):
            x, y, z = s
            d = jnp.where(z < 0, -1, 1)
            return x - d * (y >> i), y + d * (x >> i), z - d * table[i]
        return lax.fori_loop(0, 24, step, (jnp.full_like(angle, 1 << 27), jnp.zeros_like(angle), angle))[:2]
    add('angles_by_shifts_in_a_loop', rotated_in_a_loop, ((R.rand(2003) - .5) * 3 * 2 ** 28).astype(np.int32), np.round(np.arctan(2. ** -np.arange(24)) * 2 ** 28).astype(np.int32))

    primes = np.array([251, 241, 239, 233, 229], np.int32)

    def by_residues(a, b):
        """Products of numbers given by their residues, and back by mixed radices."""
        r = (a * b + a) % primes[:, None]
        digits = []
        for i in range(5):
            v = r[i]
            for j in range(i):
                v = (v - digits[j]) % int(primes[i]) * pow(int(primes[j]), -1, int(primes[i])) % int(primes[i])
            digits.append(v)
        return jnp.stack(digits)
    add('numbers_by_residues', by_residues, R.i32(229, 5, 1501), R.i32(229, 5, 1501))

    def decimals(a, b):
        """Sums of packed decimals, 8 digits to a word."""
        t = a + np.uint32(0x06666666)
        s = t + b
        c = ~((t ^ b) ^ s) & np.uint32(0x11111110)
        return s - ((c >> 2) | (c >> 3))
    pack = lambda v: sum(((v // 10 ** i) % 10) << (4 * i) for i in range(7)).astype(np.uint32)
    add('packed_decimals_added', decimals, pack(R.randint(0, 10 ** 7, 3001)), pack(R.randint(0, 10 ** 7, 3001)))

    def digits(n):
        """Words to ten decimal digits as bytes."""
        out = []
        for _ in range(10):
            q = n // np.uint32(10)
            out.append((n - q * np.uint32(10) + np.uint32(48)).astype(jnp.uint8))
            n = q
        return jnp.stack(out[::-1], -1)
    add('digits_of_words', digits, R.randint(0, 2 ** 32, 1999, dtype=np.uint32))

    def root(n):
        """Square roots of integers, bit by bit."""
        def step(s, _):
            n, r, bit = s
            take = n >= r + bit
            return (jnp.where(take, n - (r + bit), n), jnp.where(take, (r >> 1) + bit, r >> 1), bit >> 2), None
        return lax.scan(step, (n, jnp.zeros_like(n), jnp.full_like(n, 1 << 30)), None, length=16)[0][1]
    add('integer_roots', root, R.randint(0, 2 ** 32, 1777, dtype=np.uint32))

    def pairs_times(x, y, a, b):
        """Products of matrices of pairs of bf16: three products of halves."""
        h = lambda u, v: lax.dot(u, v, preferred_element_type=jnp.float32)
        return h(x, a) + (h(x, b) + h(y, a))
    f = f32(100, 90)
    g = f32(90, 70)
    half = lambda v: v.astype(R.bf16(1).dtype)
    add('products_of_pairs_of_bf16', pairs_times, half(f), half(f - half(f).astype(np.float32)), half(g), half(g - half(g).astype(np.float32)))

    def fast_functions(x):
        i = bits(jnp.abs(x) + 1)
        y = real(0x5f3759df - (i >> 1))
        y = y * (1.5 - .5 * (jnp.abs(x) + 1) * y * y)
        log = (i.astype(jnp.float32) * np.float32(2 ** -23) - np.float32(126.94269504))
        exp = real(((x * np.float32(1.442695) + np.float32(126.94)) * np.float32(2 ** 23)).astype(jnp.int32))
        return y, log, exp
    add('functions_by_bits', fast_functions, f32(6007))

    def saturated(a, b):
        """Sums and products of Q15 numbers that stay at their limits."""
        wide = a.astype(jnp.int32) + b.astype(jnp.int32)
        p = (a.astype(jnp.int32) * b.astype(jnp.int32) + (1 << 14)) >> 15
        clip = lambda v: jnp.clip(v, -32768, 32767).astype(jnp.int16)
        return clip(wide), clip(p)
    add('saturated_q15', saturated, R.randint(-32768, 32768, 9001).astype(np.int16), R.randint(-32768, 32768, 9001).astype(np.int16))
    return P
