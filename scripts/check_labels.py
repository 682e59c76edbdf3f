#!/usr/bin/env python3
"""Every test of a build has one of the labels that CONTRIBUTING.md explains: check_labels.py BUILD_DIR. Exit status 1 when one has none, or an unknown one."""
import json
import subprocess
import sys

LABELS = {'unit', 'lit', 'ops', 'conformance', 'jax', 'fuzz', 'corpus', 'lint', 'external', 'gpu'}


def main(build):
    tests = json.loads(subprocess.run(['ctest', '--test-dir', build, '--show-only=json-v1'], capture_output=True, text=True, check=True).stdout)['tests']
    wrong = 0
    for test in tests:
        labels = {v for p in test.get('properties', []) if p['name'] == 'LABELS' for v in p['value']}
        if not labels or labels - LABELS:
            print(f"{test['name']}: labels {sorted(labels) or 'none'}, wanted some of {sorted(LABELS)}")
            wrong += 1
    print(f'{len(tests)} tests, {wrong} without a known label')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
