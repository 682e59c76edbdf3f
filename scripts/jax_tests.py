#!/usr/bin/env python3
"""Runs the tests of JAX, or of a library above it, file by file, on JAX's built-in CPU backend and on Tenon, and writes the results side by side.

  scripts/jax_tests.py --tests JAX/tests [--of RELEASE] [--plugin pjrt_plugin_tenon.so] [--files pjit,array] [--only tenon] [--write docs/jax-parity.md]
  scripts/jax_tests.py --tests OPTIMISTIX/tests --name optimistix --files root_find,minimise ...
  scripts/jax_tests.py --tests OPTIMISTIX/tests --name optimistix --sample 600 --rest --write docs/jax-libraries.md

A file NAME is NAME_test.py or test_NAME.py, in the folder or, as in infer/mcmc, below it. With --sample all files below the folder are one, and their tests run in
random order, always the same, until so many seconds of CPU time are gone; a run with --again goes on behind them.

JAX/tests is the folder of the release that fits the installed JAX, or of the one that --of names, for the page to say (its other folders must not be
beside it under the name `jax`). The
interpreter that runs this script runs the tests: it needs jax, jaxlib, tenon-jax, pytest, absl-py, hypothesis, cloudpickle and portpicker.

Each file is one process per backend. What a test came to is written down as it ends, so a test that ends the process counts as `crashed`, and the file
goes on behind it in a new process; one that is under way when the time is up is `hung`, and the file has not ended. Results stay in --results (one JSON
file per test file and backend) and are read from there for files that are not run this time.

With --rest the built-in backend runs, of each file, only the tests that did not pass on Tenon: which tests pass there alone is then just as exact, for a
fraction of the time. The page lists such files apart, unless it has the built-in backend's figures for the whole file from before.

With --known only those tests are run, on Tenon, that the page lists as passing on the built-in backend alone; those that pass now leave the list, and the
stored results say that they pass.

--write PAGE.md puts what both backends have results for into PAGE.json beside it, which the project keeps, and writes the page from that.

This file is also the pytest plugin that does the writing down."""

import argparse
import collections
import datetime
import fnmatch
import importlib.metadata
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOG = 'TENON_JAX_TESTS_LOG'
SELECTION = 'TENON_JAX_TESTS_SELECTION'  # A file with the names of the tests to run, as a JSON list; unset: all.
SAMPLE = 'TENON_JAX_TESTS_SAMPLE'  # Seconds of CPU time for tests in random order; unset: all in their order.
REASONS = ROOT / 'scripts' / 'jax_tests_reasons.txt'
BACKENDS = ('xla', 'tenon')
FAILURES = ('failed', 'crashed', 'hung')


# The pytest plugin: one line per event, flushed, since the process may end at any time.


def _note(**event):
    with open(os.environ[LOG], 'a') as log:
        log.write(json.dumps(event) + '\n')


def _name(nodeid):
    return nodeid if SAMPLE in os.environ else nodeid.split('::', 1)[-1]


def pytest_collection_modifyitems(config, items):
    if LOG not in os.environ:
        return
    if SAMPLE in os.environ:
        _note(event='there', count=len(items))
        random.Random(0).shuffle(items)
    done = set(_outcomes(pathlib.Path(os.environ[LOG])))
    items[:] = [item for item in items if _name(item.nodeid) not in done]
    if SELECTION in os.environ:
        selected = set(json.loads(pathlib.Path(os.environ[SELECTION]).read_text()))
        items[:] = [item for item in items if _name(item.nodeid) in selected]
    _note(event='collected', count=len(items))


def pytest_runtest_teardown(item, nextitem):
    if time.process_time() > float(os.environ.get(SAMPLE, 'inf')):
        item.session.shouldstop = 'the time of the sample is up'


def pytest_runtest_logstart(nodeid, location):
    if LOG in os.environ:
        _note(event='start', test=_name(nodeid))


def pytest_runtest_logreport(report):
    if LOG not in os.environ or (report.when != 'call' and report.outcome == 'passed'):
        return
    why = ''
    if report.outcome == 'failed':
        lines = str(report.longrepr).splitlines()
        errors = ' '.join([line[1:].strip() for line in lines if line.startswith('E ')] or lines[-1:])
        why = errors if len(errors) < 700 else f'{errors[:250]} ... {errors[-450:]}'
    _note(event='end', test=_name(report.nodeid), outcome=report.outcome, why=why, seconds=round(report.duration, 3))


def _outcomes(log):
    """test -> (outcome, why). A test that began and has no end is `crashed`."""
    found = {}
    if not log.exists():
        return found
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event['event'] == 'start':
            found[event['test']] = ('crashed', '')
        elif event['event'] == 'hung':
            found[event['test']] = ('hung', '')
        elif event['event'] == 'end' and found.get(event['test'], ('',))[0] != 'failed':  # A failed teardown outlasts a passed call.
            found[event['test']] = (event['outcome'], event['why'])
    return found


def _forget(log, which):
    """Takes the tests of those outcomes out of the log; None: all tests."""
    kept = [] if which is None else [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    gone = {test for test, (outcome, _) in _outcomes(log).items() if which and outcome in which}
    log.write_text(''.join(json.dumps(event) + '\n' for event in kept if event.get('test') not in gone))


# The runner.


def _environment(arguments, backend, log, selection):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('JAX_', 'TENON_JAX'))}
    env['PYTHONPATH'] = os.pathsep.join([str(ROOT / 'scripts')] + [p for p in [os.environ.get('PYTHONPATH')] if p])
    env['JAX_NUM_GENERATED_CASES'] = '1'
    env['JAX_PLATFORMS'] = 'cpu'
    env['TENON_JAX'] = 'replace' if backend == 'tenon' else 'off'
    env['XLA_FLAGS'] = env.get('XLA_FLAGS', '') + ' --xla_force_host_platform_device_count=8'
    if backend == 'tenon' and arguments.plugin:
        env['TENON_PLUGIN'] = str(arguments.plugin)
    env[LOG] = str(log)
    if selection:
        env[SELECTION] = str(selection)
    if arguments.sample:
        env[SAMPLE] = 'inf' if selection else str(arguments.sample)
    return env


def _run_file(arguments, name, file, backend, tests=None):
    """Runs the file on the backend: `tests` of it, or all."""
    log = arguments.results / f'{name}.{backend}.log'
    _forget(log, FAILURES if arguments.again else None)
    selection = None
    if tests is not None:
        selection = log.with_suffix('.selection')
        selection.write_text(json.dumps(tests))
    command = [sys.executable, '-m', 'pytest', '-q', '--tb=short', '-p', 'jax_tests', '-p', 'no:cacheprovider', '-W', 'ignore',
               f'--rootdir={arguments.tests.parent}', *(['-o', 'addopts=', '-o', 'filterwarnings=', '--continue-on-collection-errors'] if arguments.sample else []), str(file)]
    if arguments.match:
        command += ['-k', arguments.match]
    started, ended, error = time.monotonic(), True, ''
    for _ in range(20 if tests != [] else 0):  # Each crash costs a process; a file with more is not worth the time.
        left = arguments.timeout - (time.monotonic() - started)
        before = len(_outcomes(log))
        try:
            process = subprocess.run(command, env=_environment(arguments, backend, log, selection), cwd=arguments.tests.parent, timeout=max(left, 1),
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
        except subprocess.TimeoutExpired:
            hung = [test for test, (outcome, _) in _outcomes(log).items() if outcome == 'crashed']
            if hung:
                with open(log, 'a') as out:
                    out.write(json.dumps({'event': 'hung', 'test': hung[-1]}) + '\n')
            ended = False
            break
        (arguments.results / f'{name}.{backend}.out').write_text(process.stdout)
        if process.returncode in (0, 1, 5):  # Passed, failed, no tests.
            break
        if len(_outcomes(log)) == before:  # It does not get as far as its tests.
            error = next((line for line in reversed(process.stdout.splitlines()) if line.startswith('E ')), f'exit {process.returncode}')
            break
    outcomes = _outcomes(log)
    result = {'file': name, 'backend': backend, 'seconds': round(time.monotonic() - started, 1), 'tests': outcomes, 'ended': ended,
              'error': error, 'date': datetime.date.today().isoformat(), 'rest': tests is not None}
    stored = arguments.results / f'{name}.{backend}.json'
    there = [event['count'] for event in map(json.loads, log.read_text().splitlines()) if event['event'] == 'there']
    if there:
        result['there'] = there[-1]
    if arguments.again and stored.exists():
        result['seconds'] += json.loads(stored.read_text())['seconds']
    if not (arguments.match or arguments.known):
        stored.write_text(json.dumps(result))
    return result


def _count(tests):
    count = collections.Counter(outcome for outcome, _ in tests.values())
    return count['passed'], sum(count[f] for f in FAILURES), count['skipped'], count['crashed'] + count['hung']


def _reasons():
    """[(pattern, reason)] of `file::test pattern | reason` lines."""
    if not REASONS.exists():
        return []
    rows = [line.split('|', 1) for line in REASONS.read_text().splitlines() if '|' in line and not line.startswith('#')]
    return [(pattern.strip(), reason.strip()) for pattern, reason in rows]


def _differences(xla, tenon):
    """Tests that pass on the built-in backend and do not on Tenon, with what Tenon made of them: of those that Tenon came to the end of."""
    found = {}
    for test, (outcome, _) in xla['tests'].items():
        there = tenon['tests'].get(test, ('missing', ''))
        if outcome == 'passed' and there[0] != 'passed' and (tenon['ended'] or there[0] not in ('missing', 'hung')):
            found[test] = there
    return found


def _load(results):
    loaded = collections.defaultdict(dict)
    for path in sorted(results.glob('*.json')):
        result = json.loads(path.read_text())
        loaded[result['file']][result['backend']] = result
    return loaded


def _half(result):
    """What the kept data says of a file on one backend."""
    passed, failed, skipped, _ = _count(result['tests'])
    late = [test for test, (outcome, _) in result['tests'].items() if outcome == 'hung']
    half = {'passed': passed, 'failed': failed - len(late), 'skipped': skipped, 'seconds': round(result['seconds'])}
    if not result['ended']:
        half['under_way'] = late[-1] if late else ''
    if result['error']:
        half['error'] = _line(result['error'])
    if result.get('rest'):
        half['rest'] = True
    if 'there' in result:
        half['there'] = result['there']
    return half


def _line(text):
    text = re.sub(r'^E\s+|\s+\(/[^)]*\)', '', text)  # pytest's mark; paths of the machine that it ran on.
    text = re.sub(r'''(?<=["'])/[^"'\s]*/(?=[^"'\s/]*)''', '', text)  # Of quoted ones the name of the file stays.
    return re.sub(r'\s+', ' ', text).replace('|', '\\|')[:160]


def _unfinished(half):
    return 'under_way' in half or 'error' in half


def _tests(half):
    return half['passed'] + half['failed'] + half['skipped']


def _kept(path, loaded, names, library, of):
    """The data of earlier pages with the results of this time in it. `names`: all files of the release, or none when it is not at hand."""
    import jax
    kept = json.loads(path.read_text()) if path.exists() else {}
    if kept.get('jax') != jax.__version__:
        kept = {'jax': jax.__version__, 'release': [], 'files': {}}
    kept['release'] = names or kept['release']
    if of:
        kept['of'] = of
    if library:
        kept['release'] = []  # Of libraries there are only chosen files.
        versions = kept.setdefault('libraries', {})
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            versions[library] = 'from its sources'
    for file, by in loaded.items():
        date = max((result['date'] for result in by.values()), default='')
        if len(by) == 2 and date >= kept['files'].get(file, {}).get('date', ''):  # Else the page is of a later run, whose results are not here.
            differences = {test: [outcome, _line(why)] for test, (outcome, why) in sorted(_differences(by['xla'], by['tenon']).items())}
            xla, tenon, before = _half(by['xla']), _half(by['tenon']), kept['files'].get(file, {}).get('xla', {'error': ''})
            if 'rest' in xla and 'rest' not in before and not _unfinished(before) and _tests(before) == _tests(tenon):
                xla = before
            kept['files'][file] = {'date': date, 'xla': xla, 'tenon': tenon, 'passes there alone': differences}
    kept['files'] = dict(sorted(kept['files'].items()))
    path.write_text(json.dumps(kept, indent=1) + '\n')
    return kept


def _passed_now(kept, stored, file, tests):
    """Brings the data of a file, and the stored result on Tenon where there is one, up to date with what tests that the data says pass on the built-in backend
    alone came to on Tenon."""
    row, today = kept['files'].get(file), datetime.date.today().isoformat()
    passed = [test for test, (outcome, _) in tests.items() if outcome == 'passed' and row and test in row['passes there alone']]
    for test in passed:
        before, _ = row['passes there alone'].pop(test)
        row['tenon']['passed'] += 1
        if before not in ('missing', 'hung'):  # Which no sum has.
            row['tenon']['skipped' if before == 'skipped' else 'failed'] -= 1
        row['date'] = today
        if stored:
            stored['tests'][test] = tests[test]
            stored['date'] = today


def _run_known(arguments, label, file, stored):
    """Runs on Tenon what the page lists as passing on the built-in backend alone."""
    data = arguments.write.with_suffix('.json')
    kept = json.loads(data.read_text())
    known = list(kept['files'].get(label, {}).get('passes there alone', {}))
    tests = _run_file(arguments, f'{label}.known', file, 'tenon', known)['tests']
    _passed_now(kept, stored, label, tests)
    data.write_text(json.dumps(kept, indent=1) + '\n')
    if stored:  # Pages are written from it, too.
        (arguments.results / f'{label}.tenon.json').write_text(json.dumps(stored))
    print(f'{label}: {_count(tests)[0]} of {len(known)} pass now', flush=True)


COLUMNS = [(what, backend) for what in ('passed', 'failed', 'skipped', 'seconds') for backend in BACKENDS]


def _table(rows, columns, heads):
    """One line per file and their sums."""
    lines = ['| file | ' + ' | '.join(heads) + ' | passes there alone | date |', '|---' * (len(heads) + 3) + '|']
    sums = [0] * (len(columns) + 1)
    for file, row in rows.items():
        cells = [row[backend][what] for what, backend in columns] + [len(row['passes there alone'])]
        sums = [a + b for a, b in zip(sums, cells)]
        lines.append(f'| {file} | ' + ' | '.join(map(str, cells)) + f' | {row["date"]} |')
    return lines + ['| **all** | ' + ' | '.join(map(str, sums)) + ' | |']


def _differences_table(files, data):
    """The tests that pass on the built-in backend alone: one line per file, outcome and reason."""
    reasons = _reasons()
    rows = collections.defaultdict(list)
    for file, row in files.items():
        for test, (outcome, why) in row['passes there alone'].items():
            reason = next((r for pattern, r in reasons if fnmatch.fnmatchcase(f'{file}::{test}', pattern)), None)
            rows[file, outcome, reason or f'not explained yet: {why}'].append(test.split('::')[-1])
    lines = ['| file | tests | on Tenon | reason |', '|---|---|---|---|'] if rows else ['None.']
    for (file, outcome, reason), tests in rows.items():
        shown = ', '.join(f'`{t}`' for t in tests[:3]) + (f' and {len(tests) - 3} more (`{data}`)' if len(tests) > 3 else '')
        lines.append(f'| {file} | {shown} | {outcome} | {reason} |')
    return lines


def _unfinished_table(files):
    lines = []
    for file, row in files.items():
        done = [f'{row[b]["passed"]} passed, {row[b]["failed"]} failed, {row[b]["skipped"]} skipped' for b in BACKENDS]
        why = '; '.join(dict.fromkeys(f'does not start: {row[b]["error"]}' if 'error' in row[b] else
                                      f'the time was up after {row[b]["seconds"]} s ({"built-in" if b == "xla" else "Tenon"})'
                                      for b in BACKENDS if _unfinished(row[b])))
        lines.append(f'| {file} | {done[0]} | {done[1]} | {why} |')
    return ['| file | built-in, until then | Tenon, until then | why |', '|---|---|---|---|'] + lines if lines else ['None.']


def _write(path, kept):
    files, data = kept['files'], path.with_suffix('.json').name
    unfinished = {file: row for file, row in files.items() if any(_unfinished(row[b]) for b in BACKENDS)}
    ended = {file: row for file, row in files.items() if file not in unfinished}
    samples = {file: row for file, row in ended.items() if 'there' in row['tenon']}
    rest = {file: row for file, row in ended.items() if 'rest' in row['xla'] and file not in samples}
    whole = {file: row for file, row in ended.items() if file not in rest and file not in samples}
    days = sorted(row['date'] for row in files.values())
    libraries = ', '.join(f'{name} {version}' for name, version in sorted(kept.get('libraries', {}).items()))
    title = 'Tests of libraries above JAX' if libraries else "JAX's own tests"
    lines = [f"# {title} on Tenon and on JAX's built-in CPU backend", '',
             f'JAX {kept["jax"]}{", the tests of " + kept["of"] if "of" in kept else ""}{", " + libraries if libraries else ", `JAX_NUM_GENERATED_CASES=1`"}, 8 devices; runs of {days[0]} to {days[-1]}. '
             f'Written by `scripts/jax_tests.py` from `{data}`.',
             'A test that ends the process counts as failed. Times are of runs beside other work on the machine.', '']
    if kept['release']:
        lines += [f'{len(ended)} of the {len(kept["release"])} files of the release were run to their end on Tenon. The built-in backend ran {len(whole)} of them, '
                  f'and of {len(rest)} only what does not pass on Tenon. The other files are listed below.', '']
    if samples:
        lines += ['## Libraries of which a sample ran', '',
                  'Tests in random order, for a while; the built-in backend ran only those of them that fail on Tenon.', '',
                  '| library | tests there are | passed (Tenon) | failed (Tenon) | skipped (Tenon) | of the rest: passed (built-in) | failed (built-in) | passes there alone | date |',
                  '|---' * 9 + '|']
        for file, row in samples.items():
            cells = [row['tenon'][k] for k in ('there', 'passed', 'failed', 'skipped')] + [row['xla'][k] for k in ('passed', 'failed')]
            lines.append(f'| {file} | ' + ' | '.join(map(str, cells)) + f' | {len(row["passes there alone"])} | {row["date"]} |')
        lines.append('')
    if whole:
        lines += _table(whole, COLUMNS, [f'{"s" if what == "seconds" else what} ({"built-in" if b == "xla" else "Tenon"})' for what, b in COLUMNS])
    if rest:
        columns = [(what, 'tenon') for what in ('passed', 'failed', 'skipped', 'seconds')] + [(what, 'xla') for what in ('passed', 'failed', 'skipped')]
        lines += ['', '## Files of which the built-in backend ran the rest', '',
                  'Of these files the built-in backend ran only the tests that fail or are skipped on Tenon, which shows what passes there alone.', '']
        lines += _table(rest, columns, ['passed (Tenon)', 'failed (Tenon)', 'skipped (Tenon)', 's (Tenon)',
                                        'of the rest: passed (built-in)', 'failed (built-in)', 'skipped (built-in)'])
    lines += ['', '## Tests that pass on the built-in backend alone', ''] + _differences_table(files, data)
    lines += ['', '## Files that were not run to their end', '', 'Their tests are in no sum above.', ''] + _unfinished_table(unfinished)
    if kept['release']:
        missing = [name for name in kept['release'] if name not in files]
        lines += ['', '## Files that were not run', '', (', '.join(missing) + ': not reached yet.') if missing else 'None.']
    path.write_text('\n'.join(lines) + '\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tests', type=pathlib.Path)
    parser.add_argument('--of', default='', help='the release that the tests are of, where it is not the installed one')
    parser.add_argument('--plugin', type=pathlib.Path, help='default: what tenon-jax finds')
    parser.add_argument('--files', default='', help='comma-separated, without _test.py; default: none are run, stored results are shown')
    parser.add_argument('--name', default='', help='the library, for the table; default: JAX')
    parser.add_argument('--only', choices=BACKENDS, help='run this backend alone')
    parser.add_argument('--rest', action='store_true', help='the built-in backend runs only what did not pass on Tenon')
    parser.add_argument('--known', action='store_true', help='on Tenon, only what --write PAGE.md lists as passing on the built-in backend alone')
    parser.add_argument('--match', help="pytest's -k; the results are shown and not kept")
    parser.add_argument('--again', action='store_true', help='of each file, only what did not pass or skip last time')
    parser.add_argument('--sample', type=float, default=0, help='CPU seconds of tests of the whole folder in random order; needs --name')
    parser.add_argument('--timeout', type=float, default=1800, help='seconds per file and backend')
    parser.add_argument('--results', type=pathlib.Path, default=ROOT / 'build' / 'jax_tests')
    parser.add_argument('--write', type=pathlib.Path, help='the page, in Markdown; its data lies beside it')
    arguments = parser.parse_args()
    arguments.results = arguments.results.resolve()  # The tests run in another folder.
    arguments.results.mkdir(parents=True, exist_ok=True)
    names = [name for name in arguments.files.split(',') if name]
    if names and not arguments.tests:
        parser.error('--files needs --tests')
    if arguments.known and not arguments.write:
        parser.error('--known needs --write')
    release = []
    if arguments.tests:
        files = [*arguments.tests.glob('*_test.py'), *arguments.tests.glob('test_*.py')]
        release = sorted({path.stem.removesuffix('_test').removeprefix('test_') for path in files})
    if names == ['all']:
        names = release
    if arguments.sample:
        if not (arguments.name and arguments.tests):
            parser.error('--sample needs --tests and --name')
        names = ['.']
    if arguments.tests:
        arguments.tests = arguments.tests.resolve()
    if arguments.plugin:
        arguments.plugin = arguments.plugin.resolve()
    loaded = _load(arguments.results)
    for name in names:
        folder, stem = arguments.tests / pathlib.PurePath(name).parent, pathlib.PurePath(name).name
        candidates = [folder / f'{stem}_test.py', folder / f'test_{stem}.py']
        file = arguments.tests if arguments.sample else next((c for c in candidates if c.exists()), None)
        if file is None:
            parser.error(f'there is neither {candidates[0]} nor {candidates[1]}')
        label = arguments.name if arguments.sample else '.'.join([*arguments.name.split(), *name.split('/')])
        if arguments.known:
            _run_known(arguments, label, file, loaded[label].get('tenon'))
            continue
        for backend in reversed(BACKENDS):  # Tenon first: --rest asks what it made of the tests.
            if arguments.only in (None, backend):
                rest = None
                if arguments.rest and backend == 'xla' and 'tenon' in loaded[label] and not loaded[label]['tenon']['error']:
                    kept_away = FAILURES if arguments.sample else (*FAILURES, 'skipped')
                    rest = [test for test, (outcome, _) in loaded[label]['tenon']['tests'].items() if outcome in kept_away]
                result = _run_file(arguments, label, file, backend, rest)
                loaded[label][backend] = result
                passed, failed, skipped, ended = _count(result['tests'])
                print(f'{label} {backend}: {passed} passed, {failed} failed ({ended} ended the process or hung), {skipped} skipped, {result["seconds"]} s', flush=True)
        if len(loaded[label]) == 2:
            for test, (outcome, why) in sorted(_differences(loaded[label]['xla'], loaded[label]['tenon']).items()):
                if not arguments.match or outcome != 'missing':
                    print(f'  {test}: {outcome}: {why}', flush=True)
    if arguments.write:
        _write(arguments.write, _kept(arguments.write.with_suffix('.json'), loaded, release, arguments.name, arguments.of))


if __name__ == '__main__':
    main()
