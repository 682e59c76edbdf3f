#!/usr/bin/env python3
"""Finds the polynomial coefficients of tenon/kir/math_*.cc.

Remez exchange for linear minimax problems in relative error, coefficients rounded to the target format one after the other, highest degree
first, with the rest refitted each time, so that rounding costs little. Needs mpmath (pip install mpmath).

    scripts/fit_math.py            # all fits
    scripts/fit_math.py exp_f32    # those whose name contains the text

Prints name, the weighted error as a power of two, and the coefficients as C hexadecimal literals, lowest degree first.
"""
import sys
from mpmath import mp, mpf, matrix, lu_solve

mp.prec = 200
TINY = mpf('1e-12')


def round_to(x, bits):
    """x to `bits` significant bits, nearest."""
    if x == 0:
        return mpf(0)
    m, e = mp.frexp(x)
    return mp.ldexp(mp.nint(mp.ldexp(m, bits)), e - bits)


def c_hex(x, f32):
    import struct
    v = float(x)
    if f32:
        v = struct.unpack('f', struct.pack('f', v))[0]
    return v.hex() + ('f' if f32 else '')


def remez(f, powers, weight, a, b, rounds=40):
    """Minimises max |weight(x) (sum c_i x^powers[i] - f(x))| over [a, b]; (coefficients, error)."""
    n = len(powers)
    xs = [a + (b - a) * (1 - mp.cos(mp.pi * (2 * i + 1) / (2 * n + 2))) / 2 for i in range(n + 1)]
    least = (b - a) / 40  # the weight may vanish at 0
    xs = [x if abs(x) > least else least * (1 if x >= 0 else -1) for x in xs]
    last = None
    for _ in range(rounds):
        m = matrix(n + 1, n + 1)
        rhs = matrix(n + 1, 1)
        for i, x in enumerate(xs):
            for j, p in enumerate(powers):
                m[i, j] = x ** p
            m[i, n] = (-1) ** i / weight(x)
            rhs[i] = f(x)
        s = lu_solve(m, rhs)
        c = [s[i] for i in range(n)]

        def err(x):
            return weight(x) * (sum(ci * x ** p for ci, p in zip(c, powers)) - f(x))

        grid = (24 if n < 9 else 8) * (n + 1)
        pts = [a + (b - a) * (1 - mp.cos(mp.pi * i / grid)) / 2 for i in range(grid + 1)]
        pts = [x if abs(x) > TINY else TINY for x in pts]  # weights are often 0/0 at 0
        es = [err(x) for x in pts]
        peaks = []  # the largest of each run of one sign
        for x, e in zip(pts, es):
            if e == 0:
                continue
            if peaks and (peaks[-1][1] > 0) == (e > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > n + 1:
            if abs(peaks[0][1]) < abs(peaks[-1][1]):
                peaks.pop(0)
            else:
                peaks.pop()
        worst = max(abs(e) for e in es)
        if len(peaks) < n + 1:
            return c, worst
        xs = [x for x, _ in peaks]
        if last is not None and abs(worst - last) < last * mpf('1e-4'):
            break
        last = worst
    return c, worst


def fit(name, f, powers, weight, a, b, bits=24, fixed=None, wide=()):
    """`fixed`: {power: value} given beforehand; `wide`: powers whose coefficient is not rounded to `bits` but to 53."""
    a, b = mpf(a), mpf(b)
    done = dict(fixed or {})
    rest = [p for p in powers if p not in done]
    err = None
    while rest:
        g = lambda x: f(x) - sum(c * x ** p for p, c in done.items())
        c, err = remez(g, rest, weight, a, b)
        if bits == 53:  # so wide that rounding all at once costs nothing to speak of
            done.update({p: round_to(ci, bits) for p, ci in zip(rest, c)})
            break
        done[rest[-1]] = round_to(c[-1], 53 if rest[-1] in wide else bits)
        rest.pop()
    # The error with all coefficients rounded.
    grid = 500
    worst = mpf(0)
    for i in range(grid + 1):
        x = a + (b - a) * i / grid
        if abs(x) < TINY:
            x = TINY
        worst = max(worst, abs(weight(x) * (sum(c * x ** p for p, c in done.items()) - f(x))))
    print(f'{name}: 2^{float(mp.log(worst, 2)):.2f} on [{float(a):.6g}, {float(b):.6g}]')
    print('    ' + ', '.join(c_hex(done[p], bits == 24 and p not in wide) for p in sorted(done)))
    sys.stdout.flush()
    return done


def parts(name, x, bits, count):
    """x as a sum of `count` numbers of `bits` bits."""
    out = []
    for _ in range(count):
        p = round_to(x, bits)
        out.append(p)
        x -= p
    print(f'{name}: ' + ', '.join(c_hex(p, bits == 24) for p in out))


LN2 = mp.log(2)
one = mpf(1)


def series(f, terms, near=mpf('1e-8')):
    """f, with its own Taylor polynomial close to zero where f cancels."""
    return lambda x: sum(c * x ** i for i, c in enumerate(terms)) if abs(x) < near else f(x)


def fits():
    # exp(r) = 1 + r q(r), r in [0, ln 2]; error relative to exp(r).
    yield 'exp_f32', lambda: fit('exp_f32 q', series(lambda r: (mp.exp(r) - 1) / r, [1, mpf(1) / 2, mpf(1) / 6]), range(6),
                                 lambda r: r / mp.exp(r), -0.0001, 0.6933, fixed={0: one})
    yield 'expn_f32', lambda: fit('expn_f32 q', series(lambda r: (mp.exp(r) - 1) / r, [1, mpf(1) / 2, mpf(1) / 6]), range(6),
                                  lambda r: abs(r / mp.exp(r)), -0.3468, 0.3468, fixed={0: one})
    # exp(r) - 1 = r + r^2 q(r), |r| <= ln(2)/2; error relative to exp(r) - 1.
    yield 'expm1_f32', lambda: fit('expm1_f32 q', series(lambda r: (mp.exp(r) - 1 - r) / r ** 2, [mpf(1) / 2, mpf(1) / 6, mpf(1) / 24]), range(5),
                                   lambda r: abs(r ** 2 / (mp.exp(r) - 1)), -0.3468, 0.3468)
    # log(1 + f) = f - f^2/2 + f^3 q(f), 1 + f in [sqrt(1/2), sqrt 2]; error relative to log(1 + f).
    for n in (6, 7, 8):
        yield 'log_f32', lambda n=n: fit(f'log_f32 q{n}', series(lambda f: (mp.log1p(f) - f + f * f / 2) / f ** 3, [mpf(1) / 3, -mpf(1) / 4, mpf(1) / 5]), range(n),
                                   lambda f: f ** 3 / mp.log1p(f), -0.29292, 0.41424)
    # sin(r) = r + r^3 q(r^2), cos(r) = 1 - r^2/2 + r^4 q(r^2).
    yield 'sin_f32', lambda: fit('sin_f32 q', series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [-mpf(1) / 6, mpf(1) / 120]), range(3),
                                 lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)), 0, 0.65)
    yield 'cos_f32', lambda: fit('cos_f32 q', series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2, [mpf(1) / 24, -mpf(1) / 720]), range(3),
                                 lambda z: z ** 2 / mp.cos(mp.sqrt(z)), 0, 0.65)
    for name, n, bits in (('tan_f32', 7, 24), ('tan_f64', 15, 53)):
        yield name, lambda name=name, n=n, bits=bits: fit(name + ' q', series(lambda z: (mp.tan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [mpf(1) / 3, mpf(2) / 15], mpf('1e-12')),
                                                         range(n), lambda z: z * mp.sqrt(z) / mp.tan(mp.sqrt(z)), 0, 0.65 if bits == 24 else 0.62, bits=bits)
    for name, n, bits in (('sinh_f32', 3, 24), ('sinh_f64', 8, 53)):
        yield name, lambda name=name, n=n, bits=bits: fit(name + ' q', series(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [mpf(1) / 6, mpf(1) / 120], mpf('1e-12')),
                                                         range(n), lambda z: z * mp.sqrt(z) / mp.sinh(mp.sqrt(z)), 0, 1, bits=bits)
    for name, n, bits in (('atanh_f32', 6, 24), ('atanh_f64', 14, 53)):
        yield name, lambda name=name, n=n, bits=bits: fit(name + ' q', series(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [mpf(1) / 3, mpf(1) / 5], mpf('1e-12')),
                                                         range(n), lambda z: z * mp.sqrt(z) / mp.atanh(mp.sqrt(z)), 0, 0.25, bits=bits)
    # erf(x) = x + x q(x^2) below 1, 1 - exp(-q(x)) above.
    def erf_low(z):
        x = mp.sqrt(z)
        return 2 / mp.sqrt(mp.pi) * (1 - z / 3) - 1 if z < mpf('1e-10') else mp.erf(x) / x - 1
    for n in (6, 7):
        yield 'erf_f32', lambda n=n: fit(f'erf_f32 low{n}', erf_low, range(n), lambda z: 1 / (1 + erf_low(z)), 0, 1.0)
    for n in (7, 8, 9):
        yield 'erf_f32', lambda n=n: fit(f'erf_f32 high{n}', lambda x: -mp.log(mp.erfc(x)), range(n), lambda x: mp.erfc(x) / mp.erf(x), 0.98, 4.0)
    # atan(t) = t + t^3 q(t^2), 0 <= t <= 1.
    for n in (8, 9):
        yield 'atan_f32', lambda n=n: fit(f'atan_f32 q{n}', series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [-mpf(1) / 3, mpf(1) / 5], mpf('1e-12')), range(n),
                                    lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)), 0, 1)
    # f64.
    yield 'exp_f64', lambda: fit('exp_f64 q', series(lambda r: (mp.exp(r) - 1) / r, [1, mpf(1) / 2, mpf(1) / 6]), range(11),
                                 lambda r: abs(r / mp.exp(r)), -0.0001, 0.6933, bits=53, fixed={0: one})
    yield 'expn_f64', lambda: fit('expn_f64 q', series(lambda r: (mp.exp(r) - 1) / r, [1, mpf(1) / 2, mpf(1) / 6]), range(11),
                                  lambda r: abs(r / mp.exp(r)), -0.3467, 0.3467, bits=53, fixed={0: one})
    yield 'expm1_f64', lambda: fit('expm1_f64 q', series(lambda r: (mp.exp(r) - 1 - r) / r ** 2, [mpf(1) / 2, mpf(1) / 6, mpf(1) / 24]), range(11),
                                   lambda r: abs(r ** 2 / (mp.exp(r) - 1)), -0.3467, 0.3467, bits=53)
    yield 'sin_f64', lambda: fit('sin_f64 q', series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [-mpf(1) / 6, mpf(1) / 120], mpf('1e-12')), range(6),
                                 lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)), 0, 0.62, bits=53)
    yield 'cos_f64', lambda: fit('cos_f64 q', series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2, [mpf(1) / 24, -mpf(1) / 720], mpf('1e-12')), range(6),
                                 lambda z: z ** 2 / mp.cos(mp.sqrt(z)), 0, 0.62, bits=53)
    yield 'log_f64', lambda: fit('log_f64 q', series(lambda f: (mp.log1p(f) - f + f * f / 2) / f ** 3, [mpf(1) / 3, -mpf(1) / 4, mpf(1) / 5]), range(19),
                                 lambda f: f ** 3 / mp.log1p(f), -0.29290, 0.41422, bits=53)
    yield 'erf_f64', lambda: fit('erf_f64 low', erf_low, range(12), lambda z: 1 / (1 + erf_low(z)), 0, 1.0, bits=53)
    for n in (15, 17, 19):
        yield 'erf_f64', lambda n=n: fit(f'erf_f64 high{n}', lambda x: -mp.log(mp.erfc(x)), range(n), lambda x: mp.erfc(x) / mp.erf(x), 0.99, 6.0, bits=53)
    yield 'atan_f64', lambda: fit('atan_f64 q', series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [-mpf(1) / 3, mpf(1) / 5], mpf('1e-12')), range(20),
                                  lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)), 0, 1, bits=53)
    # For power: log(1 + f) = 2 atanh(s) with s = f / (2 + f): 2 s + s^3 (2/3 + s^2 q(s^2)); log2(1 + f) = f q(f) for f32; 2^r = 1 + r q(r).
    yield 'pow_f64', lambda: fit('pow_f64 q', series(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2 - 2 * z / 3) / z ** 2, [mpf(2) / 5, mpf(2) / 7], mpf('1e-8')), range(7),
                                 lambda z: z ** 2, 0, 0.02945, bits=53)
    yield 'pow_f32', lambda: fit('pow_f32 log2', series(lambda f: mp.log1p(f) / LN2 / f, [1 / LN2, -1 / LN2 / 2]), range(13), lambda f: f * LN2 / mp.log1p(f), -0.29292, 0.41424, bits=53)
    yield 'exp2_f32', lambda: fit('exp2_f32 q', series(lambda r: (mp.power(2, r) - 1) / r, [LN2, LN2 ** 2 / 2]), range(6), lambda r: abs(r / mp.power(2, r)), -0.0001, 1.0001)
    yield 'exp2_f64', lambda: fit('exp2_f64 q', series(lambda r: (mp.power(2, r) - 1) / r, [LN2, LN2 ** 2 / 2]), range(12), lambda r: abs(r / mp.power(2, r)), -0.5001, 0.5001, bits=53)
    # Special functions of tenon/compiler/import/special.cc, whose coefficients are rounded to their type where they are used. erf_inv(x) = x q(w), w = -log(1 - x^2), or of sqrt(w) further out.
    def erf_inv_w(w):
        x = mp.sqrt(-mp.expm1(-w))
        return mp.sqrt(mp.pi) / 2 if w < mpf('1e-25') else mp.erfinv(x) / x
    for name, bits, cuts in (('erf_inv_f32', 53, ((0, 5, 9), (5, 18, 9))), ('erf_inv_f64', 53, ((0, 6, 22), (6, 16, 19), (16, 38, 17)))):
        for a, b, n in cuts:
            if a == 0:
                yield name, lambda name=name, b=b, n=n, bits=bits: fit(f'{name} q(w - {b / 2})', lambda t, b=b: erf_inv_w(t + mpf(b) / 2), range(n), lambda t, b=b: 1 / erf_inv_w(t + mpf(b) / 2), -mpf(b) / 2, mpf(b) / 2, bits=bits)
            else:
                lo, hi = mp.sqrt(a), mp.sqrt(b)
                mid = mp.nint((lo + hi) * 2) / 4
                yield name, lambda name=name, lo=lo, hi=hi, mid=mid, n=n, bits=bits: fit(f'{name} q(sqrt w - {float(mid)})', lambda t, mid=mid: erf_inv_w((t + mid) ** 2), range(n), lambda t, mid=mid: 1 / erf_inv_w((t + mid) ** 2), lo - mid, hi - mid, bits=bits)
    # erfc(x) = exp(-x^2) t q(t), t = 1 / (1 + x / 2), from 1/2 on.
    def erfc_t(t):
        x = 2 / t - 2
        return mp.exp(x * x) * mp.erfc(x) / t
    for name, bits, last, n in (('erfc_f32', 53, mpf('10.1'), 9), ('erfc_f64', 53, mpf('27.3'), 22)):
        lo, hi = 2 / (2 + last), mpf(2) / mpf('2.5')
        mid = mp.nint((lo + hi) * 8) / 16
        yield name, lambda name=name, lo=lo, hi=hi, mid=mid, n=n, bits=bits: fit(f'{name} q(t - {float(mid)})', lambda u, mid=mid: erfc_t(u + mid), range(n), lambda u, mid=mid: 1 / erfc_t(u + mid), lo - mid, hi - mid, bits=bits)
    # i1e(x) = exp(-x) x q(x - 4) up to 8 in x exp; sqrt(x) i1e(x) = q(1/x) from 8 on.
    for name, bits, n, m in (('bessel_i1e_f32', 53, 16, 7), ('bessel_i1e_f64', 53, 30, 24)):
        yield name, lambda name=name, bits=bits, n=n: fit(f'{name} q(x - 4)', lambda u: mp.exp(-(u + 4)) * (mp.besseli(1, u + 4) / (u + 4) if u + 4 > TINY else mpf(1) / 2), range(n),
                                                          lambda u: mp.exp(u + 4) / (mp.besseli(1, u + 4) / (u + 4) if u + 4 > TINY else mpf(1) / 2), -4, 4, bits=bits)
        yield name, lambda name=name, bits=bits, m=m: fit(f'{name} q(1/x - 1/16)', lambda u: 1 / mp.sqrt(2 * mp.pi) if u + mpf(1) / 16 < TINY else mp.sqrt(1 / (u + mpf(1) / 16)) * mp.exp(-1 / (u + mpf(1) / 16)) * mp.besseli(1, 1 / (u + mpf(1) / 16)),
                                                          range(m), lambda u: mpf('2.6'), -mpf(1) / 16, mpf(1) / 16, bits=bits)
    yield 'const', lambda: (parts('ln2 f32', LN2, 24, 3), parts('log2e f32', 1 / LN2, 24, 2), parts('pi/2 f32', mp.pi / 2, 24, 4), parts('pi f32', mp.pi, 24, 2),
                            parts('ln2 f64', LN2, 53, 2), parts('log2e f64', 1 / LN2, 53, 2), parts('pi/2 f64', mp.pi / 2, 53, 4), parts('2/pi', 2 / mp.pi, 53, 1))


if __name__ == '__main__':
    want = sys.argv[1] if len(sys.argv) > 1 else ''
    for name, run in fits():
        if want in name:
            run()
