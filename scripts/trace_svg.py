#!/usr/bin/env python3
"""Draws a profile that jax.profiler.trace wrote: a lane per thread of Tenon's, spans nested by depth.

  scripts/trace_svg.py FOLDER_OR_TRACE_JSON_GZ OUT.svg [--last NAME]

FOLDER is what jax.profiler.trace got. --last NAME shows the time of the last execution called NAME alone."""

import argparse
import gzip
import html
import json
import pathlib

WIDTH, ROW, LEFT = 1200, 18, 170
COLORS = {'gemm': '#4e79a7', 'conv': '#76b7b2', 'kernel': '#f28e2b', 'copy': '#bab0ac', 'transfer': '#b07aa1', 'loop': '#e8e3d3', 'call': '#e15759', 'evaluate': '#e15759'}
OTHER = '#d4dde4'


def read(path):
    """(thread names, complete events) of Tenon's plane."""
    path = pathlib.Path(path)
    if path.is_dir():
        path = sorted(path.glob('plugins/profile/*/*.trace.json.gz'))[-1]
    events = json.loads(gzip.open(path).read())['traceEvents']
    pids = {e['pid'] for e in events if e.get('name') == 'process_name' and e['args']['name'].startswith('/device:CUSTOM:Tenon')}
    names = {e['tid']: e['args']['name'] for e in events if e.get('name') == 'thread_name' and e['pid'] in pids}
    return names, [e for e in events if e.get('ph') == 'X' and e['pid'] in pids]


def draw(names, events, start, end):
    shown = [e for e in events if e['ts'] < end and e['ts'] + e['dur'] > start and e['dur'] * (WIDTH - LEFT) >= 0.3 * (end - start)]
    parts, y = [], 30
    for tid, name in sorted(names.items(), key=lambda item: item[1]):
        mine = sorted((e for e in shown if e['tid'] == tid), key=lambda e: (e['ts'], -e['dur']))
        if not mine:
            continue
        open_ends, deepest = [], 0
        for e in mine:
            while open_ends and open_ends[-1] <= e['ts'] + 1e-6:
                open_ends.pop()
            depth = len(open_ends)
            open_ends.append(e['ts'] + e['dur'])
            deepest = max(deepest, depth)
            scale = (WIDTH - LEFT) / (end - start)
            x = LEFT + max(e['ts'] - start, 0) * scale
            w = (min(e['ts'] + e['dur'], end) - max(e['ts'], start)) * scale
            args = e.get('args', {})
            color = COLORS.get(args.get('hlo_category'), OTHER)
            about = f'{e["name"]}: {e["dur"]:.0f} us {args.get("long_name", "")}'
            parts.append(f'<rect x="{x:.1f}" y="{y + depth * ROW}" width="{max(w, 0.3):.1f}" height="{ROW - 2}" fill="{color}"><title>{html.escape(about)}</title></rect>')
            if w > 40:
                text = html.escape(e['name'][:int(w / 6)])
                parts.append(f'<text x="{x + 2:.1f}" y="{y + depth * ROW + 12}">{text}</text>')
        parts.append(f'<text x="4" y="{y + 12}">{html.escape(name)}</text>')
        y += (deepest + 1) * ROW + 10
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" font-family="sans-serif" font-size="10"><rect width="100%" height="100%" fill="white"/>'
    return '\n'.join([head, f'<text x="{LEFT}" y="18">{(end - start) / 1000:.2f} ms</text>'] + parts + ['</svg>'])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('trace')
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--last')
    arguments = parser.parse_args()
    names, events = read(arguments.trace)
    around = [e for e in events if arguments.last in (None, e['name'])]
    if not around:
        parser.error(f'nothing is called {arguments.last}')
    if arguments.last:
        around = [max(around, key=lambda e: e['ts'])]
    start, end = min(e['ts'] for e in around), max(e['ts'] + e['dur'] for e in around)
    arguments.out.write_text(draw(names, events, start, end) + '\n')


if __name__ == '__main__':
    main()
