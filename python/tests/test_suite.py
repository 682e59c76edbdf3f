"""Programs of bench/suite at the smallest size: they compile, agree with JAX's built-in backend, and have no `evaluate` step. Three fifths of them, always
the same: what takes the time is the built-in backend's compiler. TENON_SUITE_PART=1 takes all."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / 'bench' / 'suite'))

import bounds  # noqa: E402


def test_smallest_size(tmp_path):
    report = tmp_path / 'report.json'
    part = os.environ.get('TENON_SUITE_PART', '.6')
    command = [
        sys.executable, str(ROOT / 'bench' / 'suite' / 'run.py'), '--check', '--sizes', 'small', '--seed', '0', '--part', part, '--json', str(report)
    ]
    if os.environ.get('TENON_PLUGIN'):
        command += ['--plugin', os.environ['TENON_PLUGIN']]
    process = subprocess.run(command, capture_output=True, text=True, timeout=2400)
    assert report.exists(), process.stdout[-2000:] + process.stderr[-2000:]
    rows = {f'{r["class"]}/{r["program"]}/{r["size"]}': r['errors'] for r in json.loads(report.read_text())['rows']}
    assert len(rows) > 700, f'only {len(rows)} programs ran'
    failed = {name: errors for name, errors in rows.items() if errors}
    assert not failed, failed


def test_results_of_unstable_programs():
    rng = np.random.default_rng(0)
    want = rng.standard_normal(1000)
    moved = [np.where(rng.random(1000) < .05, -want, want) for _ in range(bounds.MOVES)]
    flipped = np.where(rng.random(1000) < .05, -want, want)
    assert bounds.compare(flipped, want, 'float64', 1, 0)
    assert bounds.within_moves(flipped, want, moved, 'float64', 1)
    assert not bounds.within_moves(want * 1.001, want, [want, *moved[1:]], 'float64', 1)  # Few of the others moved, but by more.
    assert not bounds.within_moves(np.where(flipped == want, want, np.nan), want, moved, 'float64', 1)
    assert not bounds.within_moves(np.arange(1000), np.zeros(1000, int), [np.zeros(1000, int)], 'int32', 1)
    assert bounds.within_moves(np.arange(9) > 7, np.zeros(9, bool), [np.arange(9) == 2], 'bool', 1)
