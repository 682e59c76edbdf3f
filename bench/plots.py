#!/usr/bin/env python3
"""Figures of speed for the documentation, from runs of bench/suite (run.py --json) and bench/growth (growth.py --csv).

  bench/plots.py RUN.json...   merges the runs into bench/results.json, then writes everything that stands on it
  bench/plots.py               writes it from bench/results.json again
  bench/plots.py --check       fails when what is committed is not what bench/results.json gives

Writes docs/performance/*.svg, and the lines between `<!-- figures -->` and `<!-- end of figures -->` in docs/performance/README.md, growth.md and README.md. Needs nothing but Python.
Of two runs of one program at one size, each side's best counts: a busy machine only ever makes things slower.
"""
import datetime
import json
import math
import pathlib
import re
import sys

from growth import page as growth
from svg import picture, text

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'bench' / 'results.json'
FIGURES = {'run_us': 'run time', 'compile_ms': 'compile time', 'peak_mb': 'peak memory'}
SIZES = {'small': ('#3f6fb5', 'in a core\'s cache'), 'l3': ('#d9822b', 'in the chip\'s cache'), 'memory': ('#3d8f5f', 'in memory')}


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def merge(files):
    """The content of results.json: one row per program and size, figures as [Tenon, XLA]."""
    rows, machines, dates = {}, [], []
    for file in files:
        run = json.loads(pathlib.Path(file).read_text())
        machines.append(run['machine'])
        dates.append(datetime.date.fromtimestamp(pathlib.Path(file).stat().st_mtime).isoformat())
        for row in run['rows']:
            if row['errors']:
                continue
            entry = rows.setdefault((row['class'], row['program'], row['size']), {})
            for figure in FIGURES:
                pair = [row[side].get(figure) for side in ('tenon', 'built-in')]
                if all(pair):
                    entry[figure] = [min(a, b) for a, b in zip(pair, entry.get(figure, pair))]
    return {'machine': ', '.join(sorted(set(machines))), 'date': max(dates),
            'rows': [[*key, {f: [float(f'{v:.4g}') for v in pair] for f, pair in entry.items()}] for key, entry in sorted(rows.items()) if entry]}


def ratios(rows, figure):
    """[(class, size, XLA over Tenon)]"""
    return [(name, size, pair[1] / pair[0]) for name, _, size, entry in rows if (pair := entry.get(figure))]


def slow_end(values):
    """What one program in twenty does not reach. Not the least: single figures of a busy machine may be anything."""
    return sorted(values)[len(values) // 20]


def ticks(low, high):
    return [t for t in (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= t <= high]


def by_class(rows):
    """A bar per class: the geometric mean of run times, and of compile times beside it."""
    width, left, gap, bar, top = 900, 120, 40, 20, 58
    names = sorted({r[0] for r in rows}, key=lambda n: -geomean([v for c, _, v in ratios(rows, 'run_us') if c == n]))
    parts = [text(20, 24, 'Times faster than XLA on the same CPU, through JAX (geometric mean of each class; the line is 1)', font_size=15, font_weight='bold')]
    half = (width - left - gap - 20) / 2
    for column, (figure, color) in enumerate((('run_us', '#3f6fb5'), ('compile_ms', '#d9822b'))):
        means = {n: geomean([v for c, _, v in ratios(rows, figure) if c == n]) for n in names}
        x0, most = left + column * (half + gap), max(means.values())
        parts.append(text(x0, 46, FIGURES[figure], font_weight='bold'))
        for i, name in enumerate(names):
            y, length = top + i * bar, (half - 50) * means[name] / most
            if column == 0:
                parts.append(text(left - 8, y + 12, name, text_anchor='end'))
            parts.append(f'<rect x="{x0:.1f}" y="{y + 2}" width="{length:.1f}" height="{bar - 6}" fill="{color}"/>')
            parts.append(text(x0 + length + 5, y + 13, f'{means[name]:.3g}', font_size=11))
        one = x0 + (half - 50) / most
        parts.append(f'<line x1="{one:.1f}" x2="{one:.1f}" y1="{top}" y2="{top + bar * len(names)}" stroke="#333" stroke-dasharray="2 2"/>')
    return picture(width, top + bar * len(names) + 12, parts)


def dots(rows, figure):
    """Each program a dot on a logarithmic axis, a line per class; the bar is the geometric mean."""
    width, left, line, top = 900, 120, 22, 64
    points = ratios(rows, figure)
    names = sorted({c for c, _, _ in points})
    low, high = min(0.5, min(v for *_, v in points)), max(2, max(v for *_, v in points))
    at = lambda v: left + (width - left - 20) * math.log(v / low) / math.log(high / low)
    bottom = top + line * len(names)
    parts = [text(20, 24, f'{FIGURES[figure].capitalize()}: XLA\'s over Tenon\'s, each program a dot (right of 1: Tenon is better)', font_size=15, font_weight='bold')]
    x = left
    for size, (color, label) in SIZES.items():
        if any(s == size for _, s, _ in points):
            parts += [f'<circle cx="{x + 5}" cy="42" r="4" fill="{color}"/>', text(x + 14, 46, f'{size}: {label}')]
            x += 190
    for t in ticks(low, high):
        parts += [f'<line x1="{at(t):.1f}" x2="{at(t):.1f}" y1="{top - 6}" y2="{bottom}" stroke="{"#333" if t == 1 else "#ddd"}"/>',
                  text(at(t), bottom + 16, f'{t:g}', text_anchor='middle')]
    for i, name in enumerate(names):
        y = top + i * line + line / 2
        parts.append(text(left - 8, y + 4, name, text_anchor='end'))
        own = [(s, v) for c, s, v in points if c == name]
        parts += [f'<circle cx="{at(v):.1f}" cy="{y:.1f}" r="2.6" fill="{SIZES[s][0]}" fill-opacity="0.55"/>' for s, v in own]
        mean = at(geomean([v for _, v in own]))
        parts.append(f'<line x1="{mean:.1f}" x2="{mean:.1f}" y1="{y - 8:.1f}" y2="{y + 8:.1f}" stroke="black" stroke-width="2"/>')
    return picture(width, bottom + 30, parts)


def headline(results):
    rows = results['rows']
    mean = {f: geomean([v for *_, v in ratios(rows, f)]) for f in FIGURES}
    runs = [v for *_, v in ratios(rows, 'run_us')]
    programs = len({(c, p) for c, p, *_ in rows})
    sizes = f' at several sizes, {len(rows)} in all' if len(rows) > programs else ''
    return (f'Over {programs} JAX programs{sizes} ({results["machine"]}, {results["date"]}), against XLA\'s CPU backend in the same minutes: **{mean["compile_ms"]:.1f} times faster to '
            f'compile, {mean["run_us"]:.2f} times faster to run, {mean["peak_mb"]:.1f} times less memory at the peak** (geometric means). '
            f'{sum(v >= 0.95 for v in runs) * 100 // len(runs)} % of the programs run at least as fast (0.95 and up); one in twenty is below {slow_end(runs):.2f}.')


def table(rows):
    lines = ['| class | programs | run | slow end | compile | peak memory |', '|---|--:|--:|--:|--:|--:|']
    for name in (*sorted({r[0] for r in rows}), 'all'):
        own = [r for r in rows if name in (r[0], 'all')]
        means = {f: [v for *_, v in ratios(own, f)] for f in FIGURES}
        cells = [f'{geomean(means["run_us"]):.2f}', f'{slow_end(means["run_us"]):.2f}', f'{geomean(means["compile_ms"]):.1f}', f'{geomean(means["peak_mb"]):.2f}']
        lines.append(f'| {name} | {len(own)} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def outputs(results):
    """{path: content} of everything that stands on the results."""
    rows, docs = results['rows'], ROOT / 'docs' / 'performance'
    made = {docs / 'classes.svg': by_class(rows)}
    for figure, name in (('run_us', 'run'), ('compile_ms', 'compile'), ('peak_mb', 'peak')):
        made[docs / f'{name}.svg'] = dots(rows, figure)
    growth_pictures, growth_figures = growth.outputs()
    made |= growth_pictures
    for page, content in ((docs / 'README.md', headline(results) + '\n\n' + table(rows)), (docs / 'growth.md', growth_figures), (ROOT / 'README.md', headline(results))):
        before = page.read_text()
        after, n = re.subn(r'(<!-- figures -->\n).*?(<!-- end of figures -->)', lambda m: m[1] + content + '\n' + m[2], before, flags=re.S)
        if n != 1:
            sys.exit(f'{page} has no line <!-- figures -->, or several')
        made[page] = after
    return made


def main(arguments):
    check = arguments == ['--check']
    if arguments and not check:
        results = merge(arguments)
        rows = ',\n'.join('  ' + json.dumps(row) for row in results.pop('rows'))
        RESULTS.write_text(json.dumps(results)[:-1] + f', "rows": [\n{rows}\n]}}\n')
    stale = []
    for path, content in outputs(json.loads(RESULTS.read_text())).items():
        if check and (not path.is_file() or path.read_text() != content):
            stale.append(str(path.relative_to(ROOT)))
        elif not check:
            path.write_text(content)
    if stale:
        sys.exit('not what bench/results.json gives: ' + ', '.join(stale) + '; bench/plots.py writes them')


if __name__ == '__main__':
    main(sys.argv[1:])
