"""What run.py prints and writes. By itself: the tables and plots of a run that was written before.

  report.py RUN.json [FOLDER]
"""
import json
import math
import pathlib
import platform
import sys

FIGURES = (('compile', 'compile_ms'), ('run', 'run_us'), ('peak', 'peak_mb'))


def ratio(row, figure):
    """Theirs over ours, or None when one of them is missing."""
    ours, theirs = (row.get(side, {}).get(figure) for side in ('tenon', 'built-in'))
    return theirs / ours if ours and theirs else None


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float('nan')


def label(row):
    return f'{row["class"]}/{row["program"]} {row["size"]}'


def print_row(row):
    text = f'{label(row):52}'
    if row['errors']:
        text += ' ' + '; '.join(f'{side}: {error}' for side, error in row['errors'].items())
    else:
        ours, theirs = row['tenon'], row['built-in']
        text += f' compile {ours["compile_ms"]:8.1f} {theirs["compile_ms"]:8.1f} ms {ratio(row, "compile_ms"):6.2f}x'
        if 'run_us' in ours:
            text += f'  run {ours["run_us"]:10.1f} {theirs["run_us"]:10.1f} us {ratio(row, "run_us"):6.2f}x'
        text += f'  peak {ours["peak_mb"]:7.1f} {theirs["peak_mb"]:7.1f} MB'
        if 'kernels' in ours:
            text += f'  kernels {ours["kernels"]} llvm {ours["llvm"]}'
        if row.get('moves'):
            text += '  as far as an ulp of the arguments moves it'
    print(text, flush=True)


def summary(rows):
    """{class: {figure: (geomean, worst, its program)}} and the same for '(all)'; only of rows without errors."""
    groups = {}
    for row in rows.values():
        groups.setdefault(row['class'], []).append(row)
    groups['(all)'] = list(rows.values())
    out = {}
    for name, group in groups.items():
        out[name] = {'programs': len(group), 'failed': sum(bool(r['errors']) for r in group)}
        for short, figure in FIGURES:
            values = [(value, label(r)) for r in group if not r['errors'] and (value := ratio(r, figure))]
            if values:
                out[name][short] = (geomean([v for v, _ in values]), *min(values))
    return out


def print_summary(rows):
    """Prints the table by class, the slow rows and the failures; returns the number of failures."""
    print(f'\n{"class":20} {"programs":>8} {"failed":>6}   compile x  worst   run x  worst   peak x  worst   slowest program')
    for name, group in summary(rows).items():
        text = f'{name:20} {group["programs"]:8} {group["failed"]:6}  '
        for short, _ in FIGURES:
            text += f' {group[short][0]:7.2f} {group[short][1]:6.2f} ' if short in group else f' {"-":>7} {"-":>6} '
        print(text + '  ' + (group['run'][2] if 'run' in group else ''))
    slow = sorted((value, label(r)) for r in rows.values() if not r['errors'] and (value := ratio(r, 'run_us')) and value < 0.9)
    if slow:
        print('below 0.90x: ' + ', '.join(f'{name} {value:.2f}' for value, name in slow))
    failed = [r for r in rows.values() if r['errors']]
    for row in failed:
        print_row(row)
    print(f'{len(rows)} programs, {len(failed)} failed, evaluate steps {sum(r.get("tenon", {}).get("evaluate", 0) for r in rows.values())}'
          f', {sum(bool(r.get("moves")) for r in rows.values())} as far off as an ulp of the arguments moves them')
    return len(failed)


def write_json(path, rows, a):
    machine = next((line.split(':', 1)[1].strip() for line in open('/proc/cpuinfo') if line.startswith('model name')), platform.processor())
    text = json.dumps({'seed': a.seed, 'plugin': a.plugin, 'rounds': a.rounds, 'machine': machine, 'rows': list(rows.values())}, indent=1)
    pathlib.Path(path).write_text(text + '\n')


def plot(folder, rows):
    """compile.svg, run.svg and peak.svg: each program a dot on a logarithmic axis, a row per class, its geometric mean as a bar."""
    try:
        import matplotlib
    except ImportError:
        print('no plots: matplotlib is not installed')
        return
    matplotlib.use('svg')
    from matplotlib import pyplot
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    colors = {'small': 'tab:blue', 'l3': 'tab:orange', 'memory': 'tab:green'}
    classes = sorted({r['class'] for r in rows.values()}, reverse=True)
    for short, figure in FIGURES:
        fig, axes = pyplot.subplots(figsize=(9, 0.28 * len(classes) + 1.2))
        for y, name in enumerate(classes):
            points = [(value, r['size']) for r in rows.values() if r['class'] == name and not r['errors'] and (value := ratio(r, figure))]
            if points:
                axes.scatter([v for v, _ in points], [y] * len(points), s=9, alpha=0.6, c=[colors[size] for _, size in points], linewidths=0)
                axes.plot([geomean([v for v, _ in points])] * 2, [y - 0.35, y + 0.35], color='black', linewidth=1.5)
        for size, color in colors.items():
            axes.scatter([], [], s=9, c=color, label=size)
        axes.axvline(1, color='gray', linewidth=0.8)
        axes.set_xscale('log')
        axes.set_yticks(range(len(classes)), classes)
        axes.set_xlabel(f'{short}: built-in backend / Tenon (right of 1: Tenon is better)')
        axes.legend(loc='lower right', fontsize=8)
        fig.tight_layout()
        fig.savefig(pathlib.Path(folder) / f'{short}.svg', metadata={'Date': None})
        pyplot.close(fig)


if __name__ == '__main__':
    written = {str(i): row for i, row in enumerate(json.loads(pathlib.Path(sys.argv[1]).read_text())['rows'])}
    print_summary(written)
    if len(sys.argv) > 2:
        plot(sys.argv[2], written)
