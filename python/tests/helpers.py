"""Runs Python snippets in fresh processes: what JAX registers and which threads and instruction sets are used is decided once per process."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

_PROLOGUE = 'import json, sys\ndef give(value): print("RESULT " + json.dumps(value))\n'


class Ran:
    def __init__(self, process):
        self.stdout, self.stderr, self.returncode = process.stdout, process.stderr, process.returncode
        lines = [line for line in process.stdout.splitlines() if line.startswith('RESULT ')]
        self.result = json.loads(lines[-1][len('RESULT '):]) if lines else None

    def statistics(self):
        """The statistics lines: one per compile."""
        return [line for line in self.stderr.splitlines() if line.startswith('tenon: compile ')]


def run(code, check=True, **environment):
    """Runs `code`, which calls give(json-able value) once. Environment values of None remove a variable."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(('TENON_MAX', 'TENON_NUM', 'TENON_JAX', 'TENON_LOG', 'JAX_', 'XLA_'))}
    for name, value in environment.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    process = subprocess.run([sys.executable, '-c', _PROLOGUE + code], env=env, capture_output=True, text=True, timeout=600)
    ran = Ran(process)
    if check:
        assert process.returncode == 0 and ran.result is not None, f'exit {process.returncode}\n{process.stdout}\n{process.stderr}'
    return ran
