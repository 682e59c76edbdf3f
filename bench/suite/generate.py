"""Programs that nobody has seen before: one generator per class, which draws shapes, dtypes and structure from a seed.

GENERATORS[class](draw) returns (function, makers); `draw` is a Draw. All functions are bounded on the arguments that they get, so that the
bounds of bounds.py hold for them with FACTOR.
"""
import zlib

import numpy as np

import arrays
from arrays import f32, i32, integers

FACTOR = 16.0

# How many elements the largest array of a program may have.
ELEMENTS = {'small': 1 << 14, 'l3': 1 << 19, 'memory': 1 << 23}


class Draw:
    def __init__(self, jax, rng, size):
        self.jax, self.jnp, self.lax, self.rng, self.elements = jax, jax.numpy, jax.lax, rng, ELEMENTS[size]

    def one(self, values):
        return values[int(self.rng.integers(len(values)))]

    def number(self, low, high):
        """An integer of [low, high], small ones as likely as large ones."""
        return int(np.exp(self.rng.uniform(np.log(low), np.log(high + 1)))) if low > 0 else int(self.rng.integers(low, high + 1))

    def shape(self, rank, elements=None):
        """Extents whose product is between a quarter of `elements` and all of them, split by chance; odd ones are as likely as round ones."""
        elements = elements or self.elements
        shares = self.rng.dirichlet(np.ones(rank))
        extents = [max(1, int(elements ** share)) for share in shares]
        return tuple(e if self.rng.random() < 0.5 or e < 8 else e // 8 * 8 for e in extents)

    def axes(self, rank, low=1):
        return tuple(sorted(int(a) for a in self.rng.permutation(rank)[:self.number(low, rank)]))

    def smooth(self, count, depth, narrow=False):
        """A random expression of `count` arguments, |values| about 1 all the way, as a function."""
        jnp, lax = self.jnp, self.lax
        unary = [jnp.tanh, jnp.sin, jnp.cos, lambda v: v / (1 + jnp.abs(v)), lambda v: jnp.exp(-v * v), self.jax.nn.sigmoid,
                 lambda v: jnp.log1p(jnp.abs(v)), lambda v: jnp.sqrt(jnp.abs(v) + 0.5), lambda v: lax.rsqrt(v * v + 1),
                 lambda v: jnp.maximum(v, 0), self.jax.nn.softplus, jnp.abs]
        binary = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * jnp.tanh(b), jnp.maximum, jnp.minimum,
                  lambda a, b: a / (2 + jnp.abs(b)), lambda a, b: 0.5 * a + 0.25 * b * b / (1 + jnp.abs(b))]
        if narrow:
            unary = unary[:1] + unary[3:6] + unary[9:10]
        steps = []
        for at in range(depth):
            if self.rng.random() < 0.5:
                steps.append((self.one(unary), int(self.rng.integers(count + at)), None))
            else:
                steps.append((self.one(binary), int(self.rng.integers(count + at)), int(self.rng.integers(count + at))))

        def function(*values):
            values = list(values)
            for op, a, b in steps:
                values.append(op(values[a]) if b is None else op(values[a], values[b]))
            total = values[-1]
            for v in values[count:-1]:
                total = total + v * 0.125
            return total
        return function


def products(d):
    letters = iter('abcdefgh')
    batch = [next(letters) for _ in range(d.number(0, 2))]
    free = [[next(letters) for _ in range(d.number(0, 2))] for _ in range(2)]
    sums = [next(letters) for _ in range(1 + d.number(0, 1))]
    names = batch + free[0] + free[1] + sums
    work = d.elements * 16
    extents = dict(zip(names, d.shape(len(names), work)))
    terms = [[*batch, *free[i], *sums] for i in range(2)]
    out = batch + free[0] + free[1]
    for term in (*terms, out):
        d.rng.shuffle(term)
    while max(int(np.prod([extents[n] for n in t])) for t in (*terms, out)) > d.elements:
        widest = max(extents, key=extents.get)
        extents[widest] = max(1, extents[widest] // 2)
    text = f'{"".join(terms[0])},{"".join(terms[1])}->{"".join(out)}'
    dtype = d.one(['float32', 'float32', 'bfloat16', 'float16'])
    make = [arrays.typed(dtype, *(extents[n] for n in t)) for t in terms]
    return (lambda a, b: d.jnp.einsum(text, a, b)), make


def convolutions(d):
    rank = d.one([1, 2, 2, 2, 3])
    groups = d.one([1, 1, 2, 4])
    ci, co = groups * d.number(1, 16), groups * d.number(1, 16)
    window = [d.number(1, 5) for _ in range(rank)]
    spatial = [max(7, int((d.elements / max(ci, co)) ** (1 / rank) * d.rng.uniform(0.5, 1))) for _ in range(rank)]
    strides, dilation = [d.number(1, 3) for _ in range(rank)], [d.one([1, 1, 2]) for _ in range(rank)]
    padding = d.one(['SAME', 'VALID'])
    last = d.rng.random() < 0.6
    s = 'XYZ'[:rank]
    layout = ('N' + s + 'C', s + 'IO', 'N' + s + 'C') if last else ('NC' + s, 'OI' + s, 'NC' + s)
    x = [1, *spatial, ci] if last else [1, ci, *spatial]
    w = [*window, ci // groups, co] if last else [co, ci // groups, *window]
    return (lambda x, w: d.lax.conv_general_dilated(x, w, strides, padding, rhs_dilation=dilation, dimension_numbers=layout,
                                                    feature_group_count=groups)), [f32(*x), f32(*w)]


def reductions(d):
    rank = d.number(1, 4)
    shape, axes = d.shape(rank), d.axes(rank)
    body = d.smooth(1, d.number(1, 4))
    jnp = d.jnp
    op = d.one([jnp.sum, jnp.max, jnp.min, jnp.mean, jnp.var, d.jax.nn.logsumexp])
    keep = d.rng.random() < 0.4

    def function(x):
        y = body(x)
        return y * 0.5 - op(y, axes, keepdims=True) if keep else op(y, axes)
    return function, [f32(*shape)]


def elementwise(d):
    rank = d.number(1, 4)
    shape, count = d.shape(rank), d.number(1, 4)
    shapes = [shape] + [tuple(e if d.rng.random() < 0.6 else 1 for e in shape) for _ in range(count - 1)]
    return d.smooth(count, d.number(2, 16)), [f32(*s) for s in shapes]


def movement(d):
    jnp = d.jnp
    rank = d.number(2, 5)
    shape = d.shape(rank)
    steps = []
    for _ in range(d.number(2, 5)):
        kind = d.one(['transpose', 'reverse', 'slice', 'pad', 'roll', 'tile', 'merge'])
        steps.append((kind, d.rng.permutation(rank), int(d.rng.integers(rank)), d.number(1, 3)))

    def function(x):
        for kind, order, axis, by in steps:
            axis %= x.ndim
            if kind == 'transpose' and len(order) == x.ndim:
                x = x.transpose([int(a) for a in order])
            elif kind == 'reverse':
                x = jnp.flip(x, axis)
            elif kind == 'slice' and x.shape[axis] > by:
                x = d.lax.slice_in_dim(x, by - 1, x.shape[axis], stride=by, axis=axis)
            elif kind == 'pad':
                x = jnp.pad(x, [(by, 1) if a == axis else (0, 0) for a in range(x.ndim)])
            elif kind == 'roll':
                x = jnp.roll(x, by, axis)
            elif kind == 'tile' and x.shape[axis] < 64:
                x = jnp.concatenate([x, -x], axis)
            elif kind == 'merge' and x.ndim > 2:
                x = x.reshape(*x.shape[:-2], -1)
        return x
    return function, [f32(*shape)]


def indexing(d):
    rank = d.number(1, 3)
    shape = d.shape(rank)
    axis = int(d.rng.integers(rank))
    if d.rng.random() < 0.4:
        want = tuple(max(1, e // 2) if a == axis else e for a, e in enumerate(shape))
        return (lambda x, i: d.jnp.take_along_axis(x, i, axis)), [f32(*shape), i32(shape[axis], *want)]
    take = max(1, shape[axis] * d.number(1, 2) // 2)
    body = d.smooth(1, 2)
    return (lambda x, i: body(d.jnp.take(body(x), i, axis=axis))), [f32(*shape), i32(shape[axis], take)]


def scatters(d):
    rank = d.number(1, 3)
    shape = d.shape(rank)
    rows = max(1, shape[0] // d.number(1, 4))
    op = d.one(['add', 'max', 'min', 'multiply'])
    return ((lambda x, i, u: getattr(x.at[i], op)(d.jnp.tanh(u))),
            [f32(*shape), i32(shape[0], rows), f32(rows, *shape[1:])])


def sorting(d):
    rank = d.number(1, 3)
    shape = d.shape(rank)
    axis = int(d.rng.integers(rank))
    kind = d.one(['sort', 'argsort', 'top', 'pairs', 'descending'])
    make = d.one([f32(*shape), integers(np.int32, -1000000, 1000000, *shape), arrays.u8(*shape)])
    if kind == 'sort':
        return (lambda x: d.jnp.sort(x, axis)), [make]
    if kind == 'descending':
        return (lambda x: d.jnp.sort(x, axis, descending=True)), [make]
    if kind == 'argsort':
        return (lambda x: d.jnp.argsort(x, axis)), [make]
    if kind == 'top':
        return (lambda x: d.lax.top_k(x, min(5, x.shape[-1]))), [make]
    return (lambda x, y: d.lax.sort((x, y), dimension=axis, num_keys=1)), [make, f32(*shape)]


def scans(d):
    rank = d.number(1, 3)
    shape = d.shape(rank)
    axis, reverse = int(d.rng.integers(rank)), bool(d.rng.random() < 0.5)
    op = d.one([d.lax.cumsum, d.lax.cummax, d.lax.cummin, d.lax.cumlogsumexp])
    body = d.smooth(1, 2)
    return (lambda x: op(body(x), axis, reverse=reverse)), [f32(*shape)]


def loops_small(d):
    shape = d.shape(d.number(1, 2), max(8, d.elements // 512))
    body, trips = d.smooth(2, d.number(2, 8)), d.number(10, 200)
    return (lambda x, y: d.lax.fori_loop(0, trips, lambda i, s: d.jnp.tanh(body(s, y)) * 0.5, x)), [f32(*shape), f32(*shape)]


def integers_(d):
    shape = d.shape(d.number(1, 3))
    dtype = d.one([np.int32, np.uint32, np.int16, np.uint8, np.int8])
    jnp, lax = d.jnp, d.lax
    ops = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a ^ b, lambda a, b: a & ~b, lambda a, b: a | (b >> 1), jnp.maximum,
           lambda a, b: jnp.where(a > b, a - b, b), lambda a, b: a << (b & 3), lambda a, b: lax.population_count(a) + b,
           lambda a, b: a // (b | 1), lambda a, b: a % (b | 1)]
    steps = [(d.one(ops), int(d.rng.integers(at + 2)), int(d.rng.integers(at + 2))) for at in range(d.number(2, 10))]

    def function(*values):
        values = list(values)
        for op, a, b in steps:
            values.append(op(values[a], values[b]))
        return values[-1]
    info = np.iinfo(dtype)
    return function, [integers(dtype, info.min + 1, info.max, *shape)] * 1 + [integers(dtype, 1, info.max, *shape)]


def low_precision(d):
    shape = d.shape(d.number(1, 3))
    dtype = d.one(['bfloat16', 'float16'])
    body = d.smooth(2, d.number(1, 3), narrow=True)
    return (lambda x, y: body(x, y)), [arrays.typed(dtype, *shape), arrays.typed(dtype, *shape)]


def windows(d):
    rank = d.number(1, 3)
    shape = d.shape(rank)
    lax = d.lax
    window = [min(e, d.number(1, 4)) for e in shape]
    strides = [d.number(1, 3) for _ in shape]
    start, op = d.one([(0.0, lax.add), (-np.inf, lax.max), (np.inf, lax.min)])
    padding = d.one(['SAME', 'VALID'])
    return (lambda x: lax.reduce_window(x, np.float32(start), op, window, strides, padding)), [f32(*shape)]


def dynamic(d):
    rank = d.number(1, 3)
    shape = tuple(max(2, e) for e in d.shape(rank))
    take = [max(1, e // d.number(1, 4)) for e in shape]

    def function(x, i):
        y = d.lax.dynamic_slice(x, [i[a] for a in range(rank)], take)
        return d.lax.dynamic_update_slice(x, y * 2 + 1, [i[a] // 2 for a in range(rank)])
    return function, [f32(*shape), i32(max(shape), rank)]


def vmapped(d):
    shape = d.shape(3)
    inner = d.one([d.jnp.cumsum, d.jnp.sort, d.jnp.argmax, lambda v: v - d.jnp.max(v), lambda v: d.jnp.convolve(v, v[:3], 'same'),
                   lambda v: v[d.jnp.argsort(d.jnp.abs(v))], lambda v: d.jnp.outer(v, v).sum(0) if v.size < 64 else v * v.sum()])
    body, axis = d.smooth(1, 2), int(d.rng.integers(3))
    return (lambda x: d.jax.vmap(d.jax.vmap(lambda v: inner(body(v))), in_axes=min(axis, 1), out_axes=0)(x)), [f32(*shape)]


def autodiff(d):
    rank, count = d.number(1, 3), d.number(1, 3)
    shape = d.shape(rank, d.elements // 4)
    shapes = [shape] + [tuple(e if d.rng.random() < 0.6 else 1 for e in shape) for _ in range(count - 1)]
    body = d.smooth(count, d.number(2, 8))
    gradient = d.jax.grad(lambda *a: d.jnp.mean(body(*a) ** 2) * 10, argnums=tuple(range(count)))
    return (lambda *a: gradient(*a)), [f32(*s) for s in shapes]


GENERATORS = {
    'products': products, 'convolutions': convolutions, 'reductions': reductions, 'elementwise': elementwise, 'movement': movement,
    'indexing': indexing, 'scatters': scatters, 'sorting': sorting, 'scans': scans, 'loops_small': loops_small, 'integers': integers_,
    'low_precision': low_precision, 'windows': windows, 'dynamic': dynamic, 'vmapped': vmapped, 'autodiff': autodiff,
}


def program(jax, name, size, seed, number):
    """Program `number` of class `name` for a seed: (name, function, makers). The same arguments give the same program."""
    rng = np.random.default_rng([seed, number, zlib.crc32(name.encode()), list(ELEMENTS).index(size)])
    function, makers = GENERATORS[name](Draw(jax, rng, size))
    return f'generated_{seed}_{number}', function, makers
