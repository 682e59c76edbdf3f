"""StableHLO programs of about n operations, one function per kind: what a kind stands for is its docstring."""


class Writer:
    """Collects the lines of one function; values are names like %7."""

    def __init__(self):
        self.lines = []
        self.count = 0

    def op(self, text, type_):
        self.count += 1
        name = f"%{self.count}"
        self.lines.append(f"{name} = {text} : {type_}")
        return name

    def unary(self, op, a, t):
        return self.op(f"stablehlo.{op} {a}", t)

    def binary(self, op, a, b, t):
        return self.op(f"stablehlo.{op} {a}, {b}", t)

    def scalar(self, value, type_="f32"):
        return self.op(f"stablehlo.constant dense<{value}>", f"tensor<{type_}>")

    def dot(self, a, b, t):
        return self.op(f"stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0]", f"({t}, {t}) -> {t}")

    def main(self, args, results, types):
        """The module: args are (name, type) pairs."""
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in args)
        body = "\n".join(self.lines)
        return (f"func.func @main({arguments}) -> ({', '.join(types)}) {{\n{body}\n"
                f"return {', '.join(results)} : {', '.join(types)}\n}}\n")


def chain(n):
    """Elementwise operations, each on the one before."""
    w, t, x = Writer(), "tensor<256xf32>", "%x"
    for i in range(n):
        x = w.binary(("add", "multiply")[i % 2], x, "%x", t) if i % 3 else w.unary("sine", x, t)
    return w.main([("%x", t)], [x], [t])


def mixed(n):
    """A chain in which every eighth value is a sum over rows that is spread again."""
    w, t, s, x = Writer(), "tensor<16x32xf32>", "tensor<16xf32>", "%x"
    zero = w.scalar("0.0")
    while w.count < n:
        for op in ("add", "multiply", "subtract", "maximum"):
            x = w.binary(op, x, "%x", t)
        x = w.unary("tanh", x, t)
        r = w.op(f"stablehlo.reduce({x} init: {zero}) applies stablehlo.add across dimensions = [1]",
                 f"({t}, tensor<f32>) -> {s}")
        b = w.op(f"stablehlo.broadcast_in_dim {r}, dims = [0]", f"({s}) -> {t}")
        x = w.binary("subtract", x, b, t)
    return w.main([("%x", t)], [x], [t])


def wide(n):
    """Layers of a graph whose nodes are shared by two others; a tenth of all nodes are results."""
    w, t = Writer(), "tensor<64xf32>"
    width = max(2, n // 10)
    layer = [f"%a{i}" for i in range(4)]
    layer = [w.binary("add", layer[i % 4], layer[(i // 4) % 4], t) for i in range(width)]
    while w.count < n:
        layer = [w.binary(("add", "multiply", "maximum")[i % 3], layer[i], layer[(i * 7 + 1) % width], t)
                 for i in range(width)]
    return w.main([(f"%a{i}", t) for i in range(4)], layer, [t] * width)


def nest(n):
    """Loops one after the other, each with a choice inside, whose branches call functions."""
    w, t, x = Writer(), "tensor<64xf32>", "%x"
    ops = 0
    while ops < n:
        k = w.count
        x = w.op(f"""stablehlo.while(%i{k} = %zero, %v{k} = {x}) : tensor<i32>, {t}
cond {{
  %p{k} = stablehlo.compare LT, %i{k}, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p{k} : tensor<i1>
}} do {{
  %n{k} = stablehlo.add %i{k}, %one : tensor<i32>
  %c{k} = "stablehlo.case"(%n{k}) ({{
    %l{k} = func.call @left(%v{k}) : ({t}) -> {t}
    stablehlo.return %l{k} : {t}
  }}, {{
    %r{k} = func.call @right(%v{k}) : ({t}) -> {t}
    stablehlo.return %r{k} : {t}
  }}) : (tensor<i32>) -> {t}
  stablehlo.return %n{k}, %c{k} : tensor<i32>, {t}
}}""", "")
        w.lines[-1] = w.lines[-1][:-3].replace(f"{x} =", f"{x}:2 =", 1)
        x += "#1"
        ops += 11
    head = ("%zero = stablehlo.constant dense<0> : tensor<i32>\n%one = stablehlo.constant dense<1> : tensor<i32>\n")
    w.lines.insert(0, head)
    functions = "".join(f"""func.func private @{name}(%a: {t}) -> {t} {{
  %0 = stablehlo.{op} %a : {t}
  %1 = stablehlo.add %0, %a : {t}
  return %1 : {t}
}}
""" for name, op in (("left", "sine"), ("right", "cosine")))
    return functions + w.main([("%x", t), ("%limit", "tensor<i32>")], [x], [t])


def deep(n):
    """Loops inside of each other, as deep as there are operations (a compiler may refuse great depths)."""
    t = "tensor<8xf32>"
    depth = max(1, n // 5)
    opened, closed, outer = [], [], "%x"
    for d in range(depth):
        opened.append(f"""%w{d}:2 = stablehlo.while(%i{d} = %zero, %v{d} = {outer}) : tensor<i32>, {t}
cond {{
  %p{d} = stablehlo.compare LT, %i{d}, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p{d} : tensor<i1>
}} do {{
  %n{d} = stablehlo.add %i{d}, %one : tensor<i32>""")
        inner = f"%w{d + 1}#1" if d + 1 < depth else f"%v{d}"
        closed.append(f"""%s{d} = stablehlo.sine {inner} : {t}
  stablehlo.return %n{d}, %s{d} : tensor<i32>, {t}
}}""")
        outer = f"%v{d}"
    body = "\n".join(opened + closed[::-1])
    return f"""func.func @main(%x: {t}, %limit: tensor<i32>) -> {t} {{
%zero = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
{body}
return %w0#1 : {t}
}}
"""


def dots(n):
    """Small matrix products, each of the result of the one before."""
    w, t, x = Writer(), "tensor<8x8xf32>", "%x"
    for i in range(n):
        x = w.dot(x, ("%a", "%b")[i % 2], t)
    return w.main([("%x", t), ("%a", t), ("%b", t)], [x], [t])


def unrolled(n):
    """A recurrent network over the rows of an array, written out as JAX writes a Python loop."""
    w, t, h = Writer(), "tensor<4x16xf32>", "%h"
    steps = max(1, n // 7)
    xs = f"tensor<{steps}x4x16xf32>"
    outs = []
    for i in range(steps):
        s = w.op(f"stablehlo.slice %xs [{i}:{i + 1}, 0:4, 0:16]", f"({xs}) -> tensor<1x4x16xf32>")
        r = w.op(f"stablehlo.reshape {s}", f"(tensor<1x4x16xf32>) -> {t}")
        d = w.op(f"stablehlo.dot_general {h}, %w, contracting_dims = [1] x [0]", f"({t}, tensor<16x16xf32>) -> {t}")
        h = w.unary("tanh", w.binary("add", d, r, t), t)
        outs.append(w.op(f"stablehlo.broadcast_in_dim {h}, dims = [1, 2]", f"({t}) -> tensor<1x4x16xf32>"))
    types = ", ".join(["tensor<1x4x16xf32>"] * steps)
    y = w.op(f"stablehlo.concatenate {', '.join(outs)}, dim = 0", f"({types}) -> {xs}")
    return w.main([("%xs", xs), ("%h", t), ("%w", "tensor<16x16xf32>")], [y], [xs])


def constants(n):
    """As many different constant arrays as sums."""
    w, t, x = Writer(), "tensor<4xf32>", "%x"
    for i in range(n // 2):
        c = w.op(f"stablehlo.constant dense<[{i}.0, {i}.5, {i}.25, 1.0]>", t)
        x = w.binary(("add", "multiply")[i % 2], x, c, t)
    return w.main([("%x", t)], [x], [t])


def arguments(n):
    """As many arguments as operations, and a result for every tenth."""
    w, t, x = Writer(), "tensor<16xf32>", "%a0"
    results = []
    for i in range(1, n):
        x = w.binary(("add", "multiply")[i % 2], x, f"%a{i}", t)
        if i % 10 == 0:
            results.append(x)
    results.append(x)
    return w.main([(f"%a{i}", t) for i in range(n)], results, [t] * len(results))


def updates(n):
    """One array whose rows are updated one after the other, each from one that was updated before."""
    w, t, r, x = Writer(), "tensor<64x32xf32>", "tensor<1x32xf32>", "%x"
    zero = w.scalar("0", "i32")
    for i in range(n // 3):
        s = w.op(f"stablehlo.slice {x} [{i % 64}:{i % 64 + 1}, 0:32]", f"({t}) -> {r}")
        s = w.unary("sine", s, r)
        x = w.op(f"stablehlo.dynamic_update_slice {x}, {s}, %i, {zero}",
                 f"({t}, {r}, tensor<i32>, tensor<i32>) -> {t}")
    return w.main([("%x", t), ("%i", "tensor<i32>")], [x], [t])


def alive(n):
    """Products that are all needed again, last one first."""
    w, t, x = Writer(), "tensor<8x8xf32>", "%x"
    values = []
    for i in range(n // 2):
        x = w.dot(x, "%a", t)
        values.append(x)
    for v in reversed(values):
        x = w.dot(x, v, t)
    return w.main([("%x", t), ("%a", t)], [x], [t])


def body(n):
    """One loop with a long body; every second value is the same in every trip."""
    t = "tensor<512xf32>"
    w, x, y = Writer(), "%v", "%a"
    for i in range(n // 2):
        y = w.unary(("sine", "tanh")[i % 2], y, t)
        x = w.binary("add", x, y, t)
    lines = "\n".join(w.lines)
    return f"""func.func @main(%x: {t}, %a: {t}, %limit: tensor<i32>) -> {t} {{
%zero = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%w:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, {t}
cond {{
  %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}} do {{
  %n = stablehlo.add %i, %one : tensor<i32>
{lines}
  stablehlo.return %n, {x} : tensor<i32>, {t}
}}
return %w#1 : {t}
}}
"""


def branches(n):
    """One choice between many branches."""
    t = "tensor<16xf32>"
    parts = [f"{{\n  %b{i} = stablehlo.sine %x : {t}\n  %c{i} = stablehlo.add %b{i}, %a : {t}\n"
             f"  stablehlo.return %c{i} : {t}\n}}" for i in range(max(1, n // 2))]
    return (f"func.func @main(%x: {t}, %a: {t}, %i: tensor<i32>) -> {t} {{\n"
            f'%0 = "stablehlo.case"(%i) ({", ".join(parts)}) : (tensor<i32>) -> {t}\nreturn %0 : {t}\n}}\n')


def carries(n):
    """A loop that carries as many values as there are operations, each handed on to the next one."""
    t, m = "tensor<16xf32>", max(2, n // 2)
    types = ", ".join(["tensor<i32>"] + [t] * m)
    inits = ", ".join(["%i = %zero"] + [f"%v{k} = %x" for k in range(m)])
    lines = "\n".join(f"  %s{k} = stablehlo.add %v{k}, %v{(k + 1) % m} : {t}" for k in range(m))
    results = ", ".join(["%n"] + [f"%s{(k + 1) % m}" for k in range(m)])
    return f"""func.func @main(%x: {t}, %limit: tensor<i32>) -> {t} {{
%zero = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%w:{m + 1} = stablehlo.while({inits}) : {types}
cond {{
  %p = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}} do {{
  %n = stablehlo.add %i, %one : tensor<i32>
{lines}
  stablehlo.return {results} : {types}
}}
return %w#{m} : {t}
}}
"""


def concatenated(n):
    """One array put together from as many as there are operations."""
    w, t = Writer(), "tensor<1x8xf32>"
    parts = [w.binary("multiply", f"%a{i % 10}", f"%a{(i // 10) % 10}", t) for i in range(max(2, n - 1))]
    result = f"tensor<{len(parts)}x8xf32>"
    y = w.op(f"stablehlo.concatenate {', '.join(parts)}, dim = 0", f"({', '.join([t] * len(parts))}) -> {result}")
    return w.main([(f"%a{i}", t) for i in range(10)], [y], [result])


def calls(n):
    """Functions that call each other in a chain of 100 per link, or are called again and again."""
    t = "tensor<16xf32>"
    functions = [f"func.func private @f0(%a: {t}) -> {t} {{\n%0 = stablehlo.sine %a : {t}\nreturn %0 : {t}\n}}\n"]
    for i in range(1, 100):
        functions.append(f"func.func private @f{i}(%a: {t}) -> {t} {{\n%0 = func.call @f{i - 1}(%a) : ({t}) -> {t}\n"
                         f"%1 = stablehlo.add %0, %a : {t}\nreturn %1 : {t}\n}}\n")
    w, x = Writer(), "%x"
    for _ in range(max(1, n // 100)):
        x = w.op(f"func.call @f99({x})", f"({t}) -> {t}")
    return "".join(functions) + w.main([("%x", t)], [x], [t])


KINDS = {f.__name__: f
         for f in (chain, mixed, wide, nest, deep, body, branches, carries, concatenated, calls, dots, unrolled, constants,
                   arguments, updates, alive)}
