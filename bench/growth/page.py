"""The page about growth in the documentation, from bench/growth/results.csv (growth.py --csv); bench/plots.py writes and checks it."""
import csv
import math
import pathlib

from growth.programs import KINDS
from svg import picture, text

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / 'bench' / 'growth' / 'results.csv'
COLORS = {'Tenon': '#3f6fb5', 'XLA': '#d9822b'}


def read():
    """(where and when, {compiler: {kind: {ops: (seconds, peak bytes, problem)}}})"""
    with open(RESULTS, newline='') as file:
        where = file.readline().removeprefix('# ').strip()
        found = {}
        for row in csv.DictReader(file):
            entry = (float(row['compile_seconds'] or 0), int(row['peak_bytes'] or 0), row['problem'])
            found.setdefault(row['compiler'], {}).setdefault(row['kind'], {})[int(row['ops'])] = entry
    return where, found


def powers(low, high):
    return [10.0**n for n in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]


def panel(parts, found, left, width, title, unit, value):
    """One figure over the number of operations, both axes logarithmic: a line per kind and compiler, and what linear would be."""
    top, bottom = 70, 420
    lines = [(compiler, [(ops, value(entries, ops)) for ops, entry in sorted(entries.items()) if not entry[2]])
             for compiler, kinds in found.items() for entries in kinds.values()]
    lines = [(compiler, [(x, y) for x, y in points if y > 0]) for compiler, points in lines]
    xs, ys = ([p[axis] for _, points in lines for p in points] for axis in (0, 1))
    x_at = lambda x: left + width * math.log(x / min(xs)) / math.log(max(xs) / min(xs))
    y_at = lambda y: bottom - (bottom - top) * math.log(y / min(ys)) / math.log(max(ys) / min(ys))
    parts.append(text(left, 52, title, font_weight='bold'))
    for x in powers(min(xs), max(xs)):
        parts += [f'<line x1="{x_at(x):.1f}" x2="{x_at(x):.1f}" y1="{top}" y2="{bottom}" stroke="#ddd"/>', text(x_at(x), bottom + 16, f'{x:,.0f}', text_anchor='middle')]
    for y in powers(min(ys), max(ys)):
        parts += [f'<line x1="{left}" x2="{left + width}" y1="{y_at(y):.1f}" y2="{y_at(y):.1f}" stroke="#ddd"/>',
                  text(left - 6, y_at(y) + 4, f'{y:g} {unit}', text_anchor='end')]
    for compiler, points in lines:
        path = ' '.join(f'{x_at(x):.1f},{y_at(y):.1f}' for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[compiler]}" stroke-opacity="0.7" stroke-width="1.5"/>')
    parts.append(text(left + width / 2, bottom + 34, 'operations', text_anchor='middle'))


def plot(found):
    parts = [text(20, 24, 'Compiling programs of 10 to 100,000 operations, a line per kind of program', font_size=15, font_weight='bold')]
    for i, (compiler, color) in enumerate(COLORS.items()):
        parts += [f'<rect x="{720 + 80 * i}" y="14" width="12" height="12" fill="{color}"/>', text(738 + 80 * i, 24, compiler)]
    panel(parts, found, 80, 350, 'time', 'ms', lambda entries, ops: entries[ops][0] * 1e3)
    smallest = lambda entries: min(peak for _, peak, problem in entries.values() if not problem)
    # Below a mebibyte it is where the heap happened to stand.
    panel(parts, found, 540, 325, 'memory beyond that of the smallest', 'MiB',
          lambda entries, ops: memory if (memory := (entries[ops][1] - smallest(entries)) / 2**20) >= 1 else 0)
    return picture(900, 466, parts)


def milliseconds(entry):
    if entry is None:
        return ''
    seconds, _, problem = entry
    words = {'limit': 'over 60 s', 'error': 'refused'}
    ended = problem.split(':')[0]
    return words.get(ended, ended) if problem else f'{seconds * 1e3:,.0f}' if seconds >= 0.01 else f'{seconds * 1e3:.1f}'


def table(found):
    sizes = [1000, 10000, 100000]
    lines = ['| kind | ' + ' | '.join(f'{c}, {n:,}' for c in COLORS for n in sizes) + ' | what |', '|---|' + '--:|' * (len(sizes) * len(COLORS)) + '---|']
    for kind in found['Tenon']:
        cells = [milliseconds(found[c].get(kind, {}).get(n)) for c in COLORS for n in sizes]
        lines.append(f'| {kind} | ' + ' | '.join(cells) + f' | {KINDS[kind].__doc__.rstrip(".")} |')
    return '\n'.join(lines)


def figures(where, found):
    """Milliseconds to compile, and what a tenfold size costs."""
    tens = [(entries[ops * 10][0] / entries[ops][0], compiler) for compiler, kinds in found.items() for entries in kinds.values()
            for ops in (1000, 10000) if not entries.get(ops, (0, 0, 'none'))[2] and not entries.get(ops * 10, (0, 0, 'none'))[2]]
    own = sorted(factor for factor, compiler in tens if compiler == 'Tenon')
    return (f'Milliseconds to compile, by the number of operations ({where}). From 1,000 operations on, ten times as many take Tenon {own[len(own) // 2]:.1f} times as long in the '
            f'median, {own[-1]:.0f} times at most.\n\n' + table(found))


def outputs():
    """{picture's path: content}, and the lines of the page."""
    where, found = read()
    return {ROOT / 'docs' / 'performance' / 'growth.svg': plot(found)}, figures(where, found)
