"""All programs of bench/suite at the smallest size: they compile, agree with JAX's built-in backend, and have no `evaluate` step."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_smallest_size(tmp_path):
    report = tmp_path / 'report.json'
    command = [sys.executable, str(ROOT / 'bench' / 'suite' / 'run.py'), '--check', '--sizes', 'small', '--seed', '0', '--json', str(report)]
    if os.environ.get('TENON_PLUGIN'):
        command += ['--plugin', os.environ['TENON_PLUGIN']]
    process = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert report.exists(), process.stdout[-2000:] + process.stderr[-2000:]
    rows = {f'{r["class"]}/{r["program"]}/{r["size"]}': r['errors'] for r in json.loads(report.read_text())['rows']}
    assert len(rows) > 700, f'only {len(rows)} programs ran'
    failed = {name: errors for name, errors in rows.items() if errors}
    assert not failed, failed
