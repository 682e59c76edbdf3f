"""Drives the program `tenon` as people and scripts do: cli_test.py --tenon FILE --fake FAKE_PLUGIN [--plugin REAL_PLUGIN] [--trace LIBRARY].

The fake plugin's programs are single words (tenon/plugin/testing/fake_plugin.h); they come from standard input.
"""

import argparse
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

OPTIONS = None
ADD = """func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = stablehlo.add %a, %b : tensor<2x2xf32>
  return %c : tensor<2x2xf32>
}
"""


def npy(descr, shape, data, fortran=False):
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, tuple(shape))
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + data


def floats(*values):
    return npy('<f4', (len(values),), struct.pack('<%df' % len(values), *values))


def read_npy(data):
    """(descr, shape, bytes)"""
    assert data[:6] == b'\x93NUMPY', data[:10]
    size = struct.unpack('<H', data[8:10])[0]
    header = eval(data[10:10 + size])  # noqa: S307: what we wrote ourselves
    return header['descr'], header['shape'], data[10 + size:]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, 'wb') as f:
                f.write(content if isinstance(content, bytes) else content.encode())
        return path

    def call(self, *args, stdin='', env=None, plugin=None):
        command = [OPTIONS.tenon, *args]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, TENON_PLUGIN=plugin or OPTIONS.fake, **(env or {})))
        return done

    def ok(self, *args, **more):
        done = self.call(*args, **more)
        self.assertEqual(done.returncode, 0, (args, done.stdout, done.stderr))
        return done.stdout

    def json(self, *args, **more):
        return json.loads(self.ok('--json', *args, **more))

    def fails(self, code, text, *args, **more):
        done = self.call(*args, **more)
        self.assertEqual(done.returncode, code, (args, done.stdout, done.stderr))
        self.assertIn(text, done.stderr)
        return done


class Basics(Case):
    def test_help_and_usage(self):
        for command in ('plugins', 'info', 'devices', 'run', 'compile', 'explain', 'profile', 'bench', 'diff', 'convert', 'check', 'conform', 'trace',
                        'replay', 'reduce', 'completions', 'man'):
            self.assertIn(command, self.ok('--help'))
            self.assertIn('Examples:\n  tenon ' + command, self.ok(command, '--help'))
        self.assertEqual(self.call('nonsense').returncode, 2)
        self.assertEqual(self.call('run').returncode, 2)
        self.assertEqual(self.call('run', 'x', '--replicas', '0').returncode, 2)

    def test_plugins(self):
        env = {'PJRT_PLUGIN_LIBRARY_PATH': self.folder}
        shutil.copy(OPTIONS.fake, self.path('pjrt_c_api_good_plugin.so'))
        self.path('pjrt_c_api_bad_plugin.so', b'not a library')
        found = {p['name']: p for p in self.json('plugins', '--folders', env=env)['plugins']}
        self.assertTrue(found['good']['usable'], found)
        self.assertEqual(found['good']['version'], '0.117')
        self.assertFalse(found['bad']['usable'])
        self.assertTrue(found['bad']['reason'])
        text = self.ok('plugins', env=env)
        self.assertIn('refused: ', text)
        self.assertIn('good', self.ok('plugins', '--no-load', env=env))

    def bad(self, kind):
        path = self.path('pjrt_c_api_%s_plugin.so' % kind)
        shutil.copy(OPTIONS.bad, path)
        return path

    def test_plugins_survives_what_is_found(self):
        for kind in ('crash', 'abort', 'exit', 'hang', 'chatter'):
            self.bad(kind)
        shutil.copy(OPTIONS.fake, self.path('pjrt_c_api_good_plugin.so'))
        args = ('plugins', '--time-limit', '10')
        env = {'PJRT_PLUGIN_LIBRARY_PATH': self.folder}
        plugins = [p for p in self.json(*args, env=env)['plugins'] if p['path'].startswith(self.folder)]
        # In the order of the folder, whatever each takes.
        self.assertEqual([p['name'] for p in plugins], ['abort', 'chatter', 'crash', 'exit', 'good', 'hang'])
        found = {p['name']: p for p in plugins}
        self.assertEqual([p['name'] for p in plugins if p['usable']], ['chatter', 'good'])
        self.assertEqual(found['good']['version'], '0.117')
        self.assertEqual(found['crash']['reason'], 'crashed with SIGSEGV while loading')
        self.assertEqual(found['abort']['reason'], 'crashed with SIGABRT while loading')
        self.assertEqual(found['exit']['reason'], 'ended its process with status 7 while loading')
        self.assertEqual(found['hang']['reason'], 'did not answer in 10 s')
        text = self.ok(*args, env=env)
        self.assertIn('refused: crashed with SIGSEGV while loading', text)
        self.assertNotIn('nonsense', text)
        self.assertEqual(self.call('plugins', '--time-limit', '0').returncode, 2)

    def test_no_children_are_left(self):
        self.bad('hang')
        # Children have the environment of their parent, which only they and it have.
        env = dict(os.environ, PJRT_PLUGIN_LIBRARY_PATH=self.folder)
        marker = ('PJRT_PLUGIN_LIBRARY_PATH=' + self.folder).encode()

        def children():
            count = 0
            for pid in filter(str.isdigit, os.listdir('/proc')):
                if running.poll() is None and int(pid) == running.pid:
                    continue
                try:
                    with open('/proc/%s/environ' % pid, 'rb') as f:
                        count += marker in f.read()
                except OSError:
                    pass
            return count

        def wait_for(number):
            for _ in range(300):
                if children() == number:
                    return
                time.sleep(0.1)
            self.fail('%d children, wanted %d' % (children(), number))
        running = subprocess.Popen([OPTIONS.tenon, 'plugins'], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(1)
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=60), -signal.SIGINT)
        wait_for(0)

    @unittest.skipIf('--sanitized' in sys.argv, 'sanitizers report crashes themselves')
    def test_crashes_of_plugins_are_told(self):
        for kind, command, end, words in (
                ('crash', 'info', -signal.SIGSEGV, 'crashed with SIGSEGV while loading in the plugin'),
                ('abort', 'info', -signal.SIGABRT, 'crashed with SIGABRT while loading in the plugin'),
                ('opencrash', 'info', -signal.SIGSEGV, 'crashed with SIGSEGV while starting in the plugin'),
                ('exit', 'info', 7, 'the process was ended while loading by the plugin'),
                ('openexit', 'info', 9, 'the process was ended while starting by the plugin')):
            path = self.bad(kind)
            done = self.call('--json', command, '-p', path)
            if kind != 'crash':  # That one takes handlers off first.
                self.assertIn('tenon info: INTERNAL: ' + words + ' ' + path, done.stderr)
                self.assertIn(words, json.loads(done.stdout)['error']['message'])
            self.assertEqual(done.returncode, end, kind)

    def test_info(self):
        about = self.json('info', '--option', 'num_devices=3')
        self.assertEqual(len(about['devices']), 3)
        self.assertEqual(about['devices'][0]['memories'][0]['kind'], 'device')
        self.assertTrue(all(e['present'] for e in about['entries']))
        self.assertIn('Layouts', [e['name'] for e in about['extensions']])
        self.assertIn('device 0', self.ok('info'))
        self.assertNotIn('devices', self.json('info', '--no-client'))

    def test_missing_plugins(self):
        for name in ('/no/such/plugin.so', 'no_such_plugin'):
            done = self.fails(3, 'no', 'info', '-p', name)
            self.assertIn('tenon plugins', done.stderr)
        self.fails(3, '', 'info', '-p', self.path('text.so', 'not a library'))
        error = json.loads(self.call('--json', 'info', '-p', 'no_such_plugin').stdout)['error']
        self.assertEqual(error['code'], 'NOT_FOUND')
        self.fails(2, '', 'info', '--option', 'nonsense')

    def test_misspellings(self):
        self.fails(2, "did you mean 'bench'?", 'bnech', 'x')
        self.fails(2, "did you mean '--plugin'?", 'run', 'x', '--pluggin', 'y')
        self.fails(2, "no command 'quite-something-else'\n", 'quite-something-else')
        env = {'PJRT_PLUGIN_LIBRARY_PATH': self.folder}
        shutil.copy(OPTIONS.fake, self.path('pjrt_c_api_good_plugin.so'))
        self.fails(3, "did you mean 'good'?", 'info', '-p', 'godo', env=env)

    def test_advice_fits_what_was_asked_for(self):
        found = {line.split()[0] for line in self.ok('plugins', '--no-load').splitlines()}
        for name, package in (('xla_cpu', 'xla-cpu-pjrt'), ('tpu', 'libtpu')):
            if not found & {name, 'cpu'}:
                self.fails(3, f'`pip install {package}`', 'info', '-p', name)
        self.fails(3, 'TENON_REMOTE_TOKEN_FILE', 'info', '--remote', '127.0.0.1:1')

    def test_devices_of_all_plugins(self):
        for kind in ('crash', 'hang'):
            self.bad(kind)
        shutil.copy(OPTIONS.fake, self.path('pjrt_c_api_good_plugin.so'))
        env = {'PJRT_PLUGIN_LIBRARY_PATH': self.folder}
        found = {p['name']: p for p in self.json('devices', '--time-limit', '5', env=env)['plugins'] if p['path'].startswith(self.folder)}
        self.assertEqual(len(found['good']['devices']), 2)
        self.assertIn('SIGSEGV', found['crash']['reason'])
        self.assertIn('5 s', found['hang']['reason'])
        text = self.ok('devices', '--time-limit', '5', env=env)
        self.assertIn('good', text)
        self.assertIn('refused: ', text)
        self.assertNotIn('\033', text)

    def test_completions_and_man(self):
        for shell in ('bash', 'zsh', 'fish'):
            text = self.ok('completions', shell)
            for word in ('conform', 'convert', 'max-elements', 'against'):
                self.assertIn(word, text)
            if shutil.which(shell):
                subprocess.run([shell, '-n', self.path('completions.' + shell, text)], check=True)
        self.assertEqual(self.call('completions', 'tcsh').returncode, 2)
        bash = shutil.which('bash')
        if bash:
            script = ('source %s; COMP_WORDS=(tenon ben); COMP_CWORD=1; _tenon; echo "${COMPREPLY[@]}"; '
                      'COMP_WORDS=(tenon bench --warm); COMP_CWORD=2; _tenon; echo "${COMPREPLY[@]}"') % self.path('completions.bash')
            out = subprocess.run([bash, '-c', 'complete() { :; }; ' + script], capture_output=True, text=True).stdout
            self.assertEqual(out.split(), ['bench', '--warm-up'])
        with open(OPTIONS.man) as f:
            self.assertEqual(f.read(), self.ok('man'), 'write it anew: tenon man > docs/cli/tenon.1')

    def test_manual_and_completions_have_the_options_of_help(self):
        with open(OPTIONS.man) as f:
            pages = re.split(r'^\.SS tenon (\S+).*$|^\.SH EXIT STATUS$', f.read(), flags=re.M)
        manual = {name: text.replace('\\-', '-') for name, text in zip(pages[1::2], pages[2::2]) if name}
        bash = dict(re.findall(r'^    (\S+)\) flags="(.*)" ;;$', self.ok('completions', 'bash'), re.M))
        commands = re.findall(r'^  ([a-z]+) ', self.ok('--help').split('ubcommands:')[1], re.M)
        self.assertGreaterEqual(len(commands), 10)
        self.assertEqual(sorted(commands), sorted(manual))
        for command in commands:
            wanted = set()
            for line in re.findall(r'^ +(-.*)$', self.ok(command, '--help'), re.M):
                wanted |= set(re.findall(r'(?<![\w-])--?[a-z][a-z-]*', line.split('  ')[0]))
            self.assertIn('--help', wanted)
            self.assertEqual(set(re.findall(r'\\fB(-[a-z-]+)\\fR', manual[command])), wanted, command)
            self.assertEqual(set(bash[command].split()), wanted, command)


class Output(Case):
    """What becomes of results, and of the program, when they cannot go where they should."""

    def shell(self, script, stdin='add'):
        script = script.replace('TENON', OPTIONS.tenon)
        return subprocess.run(['bash', '-c', script], input=stdin, capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, TENON_PLUGIN=OPTIONS.fake))

    def test_every_command_speaks_json(self):
        program = self.path('program', 'add')
        inputs = ('-i', 'f32[4]:1', '-i', 'f32[4]:2')
        for args in (('plugins', '--no-load'), ('info', '--no-client'), ('run', program, *inputs), ('compile', program),
                     ('bench', program, *inputs, '--iterations', '3'), ('completions', 'bash'), ('man',)):
            self.assertTrue(self.json(*args), args)
        failing = (('run', program, '-p', 'none'), ('run', '/no/such/file'), ('compile', program, '-o', '/no/such/folder/x'), ('bench', '/no/such/file'),
                   ('info', '-p', 'none'), ('convert', '/no/such/file'), ('conform', '-p', 'none'), ('trace',), ('run',), ('nonsense',), ('run', '--nonsense'))
        for args in failing:
            done = self.call('--json', *args)
            self.assertNotIn(done.returncode, (0, -6, -11), args)
            error = json.loads(done.stdout)['error']
            self.assertTrue(error['code'] and error['message'], args)

    def test_pipes_and_full_disks(self):
        run = 'TENON run - -i f32[4]:1 -i f32[4]:2'
        self.assertEqual(self.shell(run + ' | head -1; exit ${PIPESTATUS[1]}').stdout.strip(), 'output 0: f32[4]')
        # A reader that has gone: by the signal, or with the code for outputs where the signal is ignored.
        done = self.shell("TENON man | true; echo ${PIPESTATUS[0]}; trap '' PIPE; TENON man | true; echo ${PIPESTATUS[0]}")
        self.assertTrue(set(done.stdout.split()) <= {'0', '5', '141'}, done)
        for where in ('> /dev/full', '>&-'):
            for what in (run, run + ' --json', 'TENON plugins --no-load --folders', 'TENON completions bash', 'TENON man'):
                done = self.shell('%s %s' % (what, where))
                self.assertEqual(done.returncode, 5, (what, where, done))
                self.assertIn('cannot write', done.stderr)
        # Without standard error and input there is still a result.
        done = self.shell('TENON run %s -i f32[4]:1 -i f32[4]:2 2>&- <&-' % self.path('program', 'add'))
        self.assertEqual((done.returncode, done.stdout), (0, 'output 0: f32[4]\n[3, 3, 3, 3]\n'))

    def test_unwritable_outputs_are_found_before_the_work(self):
        folder = self.path('folder')
        os.makedirs(folder)
        for out in (folder, '/no/such/folder/x', '/dev/null/x'):
            # The program does not exist either: it was not looked at.
            self.fails(5, 'cannot write', 'compile', '/no/such/program', '-o', out)
            self.fails(5, 'cannot write', 'compile', '/no/such/program', '--optimized', out)
        self.fails(5, 'cannot write', 'run', '/no/such/program', '-o', '/no/such/folder/x.npy')

    def test_interrupted(self):
        running = subprocess.Popen([OPTIONS.tenon, 'bench', self.path('program', 'add'), '-i', 'f32[4]:1', '-i', 'f32[4]:2', '--seconds', '600'],
                                   env=dict(os.environ, TENON_PLUGIN=OPTIONS.fake), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        self.assertEqual((running.returncode, out, err), (-signal.SIGINT, b'', b''))

    def test_programs_come_through_pipes(self):
        done = self.shell('TENON run <(echo -n add) -i f32[4]:1 -i f32[4]:2')
        self.assertIn('[3, 3, 3, 3]', done.stdout, done)


class Run(Case):
    def test_literals_and_files(self):
        out = self.json('run', '-', '-i', 'f32[4]:1,2,3,4', '-i', 'f32[4]:[10, 20, 30, 40]', stdin='add')
        self.assertEqual(out['devices'][0]['outputs'], [{'dtype': 'f32', 'shape': [4], 'data': [11, 22, 33, 44]}])
        a = self.path('a.npy', floats(1, 2, 3, 4))
        self.assertIn('[2, 4, 6, 8]', self.ok('run', '-', '-i', a, '-i', a, stdin='add'))
        archive = self.path('both.npz')
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(archive, 'w', method) as z:
                z.writestr('x.npy', floats(1, 1, 1, 1))
                z.writestr('y.npy', floats(5, 6, 7, 8))
            self.assertIn('[6, 7, 8, 9]', self.ok('run', '-', '-i', archive, stdin='add'))
            self.assertIn('[10, 12, 14, 16]', self.ok('run', '-', '-i', archive + ':y', '-i', archive + ':y', stdin='add'))
        big = self.path('big.npy', npy('>f4', (4,), struct.pack('>4f', 1, 2, 3, 4)))
        self.assertIn('[2, 3, 4, 5]', self.ok('run', '-', '-i', big, '-i', 'ones:f32[4]', stdin='add'))

    def test_outputs(self):
        args = ('run', '-', '-i', 'f32[4]:1', '-i', 'iota:f32[4]')
        one, all_of_them = self.path('out.npy'), self.path('out.npz')
        self.ok(*args, '-o', one, stdin='add')
        with open(one, 'rb') as f:
            descr, shape, data = read_npy(f.read())
        self.assertEqual((descr, shape, struct.unpack('<4f', data)), ('<f4', (4,), (1, 2, 3, 4)))
        self.ok('run', '-', '-o', all_of_them, stdin='pair')
        with zipfile.ZipFile(all_of_them) as z:
            self.assertIsNone(z.testzip())
            self.assertEqual(z.namelist(), ['out0.npy', 'out1.npy'])
            self.assertEqual(read_npy(z.read('out1.npy')), ('<i4', (), struct.pack('<i', 7)))
        # What was written can be read.
        self.assertIn('[2, 4, 6, 8]', self.ok('run', '-', '-i', one, '-i', one, stdin='add'))
        self.fails(2, 'npz', 'run', '-', '-o', one, stdin='pair')
        self.fails(2, 'neither', *args, '-o', self.path('out.txt'), stdin='add')
        self.fails(5, 'cannot write', *args, '-o', '/no/such/folder/out.npy', stdin='add')
        self.assertIn('...', self.ok(*args, '--max-elements', '2', stdin='add'))
        try:
            import numpy
        except ImportError:
            return
        numpy.testing.assert_array_equal(numpy.load(one), [1, 2, 3, 4])
        numpy.testing.assert_array_equal(numpy.load(all_of_them)['out0'], numpy.ones(4, numpy.float32))
        numpy.save(one, numpy.arange(4, dtype=numpy.float32))
        self.assertIn('[0, 2, 4, 6]', self.ok('run', '-', '-i', one, '-i', one, stdin='add'))

    def test_random_is_repeatable(self):
        args = ('run', '-', '-i', 'random:f32[4]', '-i', 'zeros:f32[4]')
        first = self.json(*args, '--seed', '1', stdin='add')
        self.assertEqual(first, self.json(*args, '--seed', '1', stdin='add'))
        self.assertNotEqual(first, self.json(*args, '--seed', '2', stdin='add'))
        for value in first['devices'][0]['outputs'][0]['data']:
            self.assertTrue(-1 <= value < 1)

    def test_several_devices(self):
        for d in range(3):
            self.path('x.%d.npy' % d, floats(d, d, d, d))
        args = ('run', '-', '--replicas', '3', '--option', 'num_devices=3', '-i', self.path('x.%d.npy'), '-i', 'f32[4]:10')
        out = self.json(*args, stdin='everywhere add')
        self.assertEqual([d['outputs'][0]['data'][0] for d in out['devices']], [10, 11, 12])
        self.ok(*args, '-o', self.path('y.%d.npy'), stdin='everywhere add')
        self.assertTrue(os.path.exists(self.path('y.2.npy')))
        self.fails(2, '%d', *args, '-o', self.path('y.npy'), stdin='everywhere add')

    def test_bad_inputs(self):
        good = 'f32[4]:1'

        def wrong(text, value, code=4):
            self.fails(code, text, 'run', '-', '-i', value, '-i', good, stdin='add')
        wrong('no .npy file', self.path('text.npy', 'hello, I am no array'))
        wrong('ends within its header', self.path('cut.npy', floats(1, 2, 3, 4)[:40]))
        wrong('takes 16 bytes', self.path('short.npy', floats(1, 2, 3, 4)[:-4]))
        wrong("'<U5'", self.path('strings.npy', npy('<U5', (4,), b'x' * 80)))
        wrong('@FILE', self.path('raw.npy', npy('|V2', (4,), b'x' * 8)))
        wrong('lacks', self.path('header.npy', b'\x93NUMPY\x01\x00\x05\x00{    '))
        wrong('no .npz', self.path('text.npz', 'hello, I am no archive'))
        wrong('No such file', self.path('missing.npy'))
        os.makedirs(self.path('folder.npy'))
        wrong('folder', self.path('folder.npy'))
        with zipfile.ZipFile(self.path('one.npz'), 'w') as z:
            z.writestr('x.npy', floats(1, 2, 3, 4))
        wrong("it has x", self.path('one.npz:y'))
        wrong('3 values', 'f32[4]:1,2,3')
        wrong('is no s8', 's8[1]:x')
        wrong('does not fit', 's8[1]:300')
        wrong('floats', 'floats[4]:1')
        wrong('extent', 'f32[-1]:1')
        wrong('shape', 'random')
        wrong('memory', 'zeros:f32[1000000,1000000,1000]')
        wrong('exceeds', 'zeros:f32[4000000000,4000000000,4000000000]')
        wrong("extent '4x'", self.path('extent.npy', floats(1, 2, 3, 4).replace(b'(4,)', b'(4x)')))
        wrong('does not fit into s4', 's4@' + self.path('nine.npy', npy('|i1', (1,), b'\x09')))
        # A zip entry of 3 GiB in 20 bytes.
        with zipfile.ZipFile(self.path('bomb.npz'), 'w', zipfile.ZIP_DEFLATED) as z:
            z.writestr('x.npy', floats(1, 2, 3, 4))
        with open(self.path('bomb.npz'), 'rb') as f:
            bomb = f.read()
        at = bomb.rindex(b'PK\x01\x02')
        wrong('damaged', self.path('bomb.npz', bomb[:at + 24] + struct.pack('<I', 3 << 30) + bomb[at + 28:]))
        # The program's own complaints.
        self.fails(1, '', 'run', '-', '-i', 's32[4]:1', '-i', good, stdin='add')
        self.fails(1, '', 'run', '-', '-i', 'f32[5]:1', '-i', good, stdin='add')
        self.fails(1, '', 'run', '-', '-i', good, stdin='add')
        self.fails(1, 'INTERNAL', 'run', '-', '-i', good, stdin='refuse')
        self.fails(1, '', 'run', '-', stdin='nonsense')
        self.fails(4, 'No such file', 'run', self.path('missing.mlir'))
        self.fails(4, 'empty', 'run', '-', stdin='')

    def test_compile_and_run_the_executable(self):
        saved = self.path('add.exe')
        about = self.json('compile', '-', '-o', saved, '--optimized', self.path('optimized'), stdin='add')
        self.assertEqual(about['outputs'], ['f32[4]'])
        self.assertEqual(about['bytes'], os.path.getsize(saved))
        self.assertIn('[3, 3, 3, 3]', self.ok('run', saved, '--executable', '-i', 'f32[4]:1', '-i', 'f32[4]:2'))
        self.fails(1, 'same build', 'run', self.path('junk', 'junk'), '--executable')
        self.fails(5, 'cannot write', 'compile', '-', '-o', '/no/such/folder/add.exe', stdin='add')

    def test_compile_for_a_topology(self):
        saved = self.path('add.exe')
        about = self.json('compile', '-', '--topology', 'fake:2', '-o', saved, stdin='add')
        self.assertEqual((about['outputs'], about['bytes']), (['f32[4]'], os.path.getsize(saved)))
        self.assertIn('[3, 3, 3, 3]', self.ok('run', saved, '--executable', '-i', 'f32[4]:1', '-i', 'f32[4]:2'))
        self.fails(3, 'no such topology', 'compile', '-', '--topology', 'fake:9', stdin='add')
        self.fails(2, 'nonsense', 'compile', '-', '--topology', 'fake:2', '--topology-option', 'nonsense', stdin='add')
        self.fails(2, '--topology', 'compile', '-', '--topology-option', 'a=1', stdin='add')
        self.fails(1, 'unknown program', 'compile', '-', '--topology', 'fake:2', stdin='nonsense')

    @unittest.skipUnless(os.environ.get('TENON_LIBTPU_PLUGIN'), 'TENON_LIBTPU_PLUGIN is not set')
    def test_compile_for_a_tpu(self):
        add = self.path('add.mlir', ADD)
        saved = self.path('add.tpu')
        # Without it the library asks a server of the cloud for its name, for minutes.
        env = {'TPU_SKIP_MDS_QUERY': '1'}
        args = ('compile', add, '-p', os.environ['TENON_LIBTPU_PLUGIN'], '--topology', 'v5e:2x2')
        about = self.json(*args, '-o', saved, env=env)
        self.assertEqual((about['outputs'], about['bytes']), (['f32[2,2]'], os.path.getsize(saved)))
        self.assertGreater(about['bytes'], 0)
        self.fails(3, '', *args[:-1], 'v99:2x2', env=env)

    def test_bench(self):
        out = self.json('bench', '-', '-i', 'f32[4]:1', '-i', 'f32[4]:2', '--iterations', '20', '--warm-up', '2', '--against', OPTIONS.fake,
                        stdin='add')['results']
        self.assertEqual([r['runs'] for r in out], [20, 20])
        for r in out:
            self.assertTrue(0 < r['minimum_seconds'] <= r['median_seconds'] <= r['p90_seconds'])
        self.assertIn('median', self.ok('bench', '-', '-i', 'f32[4]:1', '-i', 'f32[4]:2', '--iterations', '5', stdin='add'))
        self.fails(4, '', 'bench', '-', '-i', 'nonsense', '--iterations', '5', stdin='add')

    def test_bench_exports_and_compares(self):
        table, csv = self.path('t.md'), self.path('t.csv')
        args = ('bench', '-', '-i', 'f32[4]:1', '-i', 'f32[4]:2', '--iterations', '12', '--against', OPTIONS.fake)
        text = self.ok(*args, '--markdown', table, '--csv', csv, stdin='add')
        self.assertIn('outputs agree', text)
        with open(table) as f:
            rows = f.read().splitlines()
        self.assertEqual(len(rows), 4)
        self.assertEqual(len({row.count('|') for row in rows}), 1, rows)
        with open(csv) as f:
            rows = f.read().splitlines()
        self.assertEqual([len(row.split(',')) for row in rows], [11, 11, 11])
        self.assertGreater(float(rows[1].split(',')[4]), 0)
        self.fails(5, 'cannot write', *args, '--csv', '/no/such/folder/t.csv', stdin='add')
        few = self.json('bench', '-', '-i', 'f32[4]:1', '-i', 'f32[4]:2', '--iterations', '3', stdin='add')['results'][0]
        self.assertIn('only 3 runs', few['doubts'])

    def test_expected_and_diff(self):
        good = self.path('good.npz')
        add = ('run', '-', '-i', 'f32[4]:1', '-i', 'f32[4]:2')
        self.ok(*add, '-o', good, stdin='add')
        self.assertIn('equal', self.ok(*add, '--expected', good, stdin='add'))
        near, far = self.path('near.npy', floats(3, 3, 3.00001, 3)), self.path('far.npy', floats(3, 3, 4, float('nan')))
        self.assertEqual(self.call(*add, '--expected', near, stdin='add').returncode, 1)
        self.assertIn('agrees', self.ok(*add, '--expected', near, '--tolerance', '1e-5', stdin='add'))
        done = self.call(*add, '--expected', far, '--tolerance', '0.1', stdin='add')
        self.assertEqual(done.returncode, 1)
        self.assertIn('2 of 4 elements differ; the worst is [3]: got 3, wanted nan', done.stdout)
        self.fails(4, 'has 1 arrays', 'run', '-', '--expected', near, stdin='pair')
        self.assertEqual(self.call(*add, '--expected', self.path('short.npy', floats(3)), stdin='add').returncode, 1)
        self.assertEqual(self.call('diff', good, far).returncode, 1)
        self.assertIn('equal', self.ok('diff', far, far))
        out = self.path('pair.npz')
        self.ok('run', '-', '-o', out, stdin='pair')
        done = self.call('--json', 'diff', good, out)
        self.assertEqual(done.returncode, 1)
        self.assertEqual({a['name']: a['same'] for a in json.loads(done.stdout)['arrays']}, {'out0': False, 'out1': False})
        # 2^53 and the next integer are one double.
        big = [self.path(n, npy('<i8', (1,), struct.pack('<q', v))) for n, v in (('a.npy', 2**53), ('b.npy', 2**53 + 1))]
        self.assertEqual(self.call('diff', *big).returncode, 1)
        zeros = [self.path(n, floats(v)) for n, v in (('c.npy', 0.0), ('d.npy', -0.0))]
        self.ok('diff', *zeros)

    def test_profile_of_a_plugin_without_profiles(self):
        self.fails(1, 'keeps no profile', 'profile', '-', '-i', 'f32[4]:1', '-i', 'f32[4]:2', stdin='add')


@unittest.skipUnless('--trace' in sys.argv, 'without the trace plugin')
class Trace(Case):
    def test_subcommand(self):
        kept, text = self.path('trace.json'), self.path('trace.txt')
        done = self.call('trace', '-o', kept, '--text', text, '--library', OPTIONS.trace, 'run', '-', '-i', 'f32[4]:1', '-i', 'f32[4]:2', stdin='add')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('[3, 3, 3, 3]', done.stdout)
        self.assertIn('PJRT_LoadedExecutable_Execute', done.stderr)
        self.assertIn('no misuse', done.stderr)
        with open(kept) as f:
            self.assertEqual(json.load(f)[-1]['args']['functions']['PJRT_LoadedExecutable_Execute']['calls'], 1)
        with open(text) as f:
            self.assertIn('# summary', f.read())

    def test_any_command_and_its_status(self):
        out = json.loads(self.call('--json', 'trace', '--library', OPTIONS.trace, '--', OPTIONS.tenon, '-q', 'info').stdout)
        self.assertEqual(out['status'], 0)
        self.assertGreaterEqual(out['summary']['functions']['PJRT_Client_Create']['calls'], 1)
        self.assertEqual(self.call('trace', '--library', OPTIONS.trace, '--', 'sh', '-c', 'exit 7').returncode, 7)
        self.assertEqual(self.call('trace', '--library', OPTIONS.trace, '--', 'sh', '-c', 'kill -9 $$').returncode, 137)
        self.fails(1, 'cannot start', 'trace', '--library', OPTIONS.trace, '--', '/no/such/program')
        self.fails(1, 'cannot read', 'trace', '--library', '/no/such/library.so', 'info')
        self.fails(2, 'wants a command', 'trace', '--library', OPTIONS.trace)
        self.fails(5, 'cannot write', 'trace', '--library', OPTIONS.trace, '-o', '/no/such/folder/t.json', 'info')


    def test_limit(self):
        kept = self.path('limited.json')
        trace = ('trace', '--library', OPTIONS.trace, '--limit', '1', '-o', kept, '--', OPTIONS.tenon, '-q', 'bench', '-', '--iterations', '3000',
                 '-i', 'f32[4]:1', '-i', 'f32[4]:2')
        done = self.call(*trace, stdin='add')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('were left out', done.stderr)
        with open(kept) as f:
            events = json.load(f)
        self.assertLess(os.path.getsize(kept), 1.3 * 2**20)
        self.assertGreater(events[-1]['args']['left_out'], 0)
        self.assertGreaterEqual(events[-1]['args']['functions']['PJRT_LoadedExecutable_Execute']['calls'], 3000)

    def test_arrows(self):
        kept = self.path('arrows.json')
        self.call('trace', '--library', OPTIONS.trace, '-o', kept, 'run', '-', '-i', 'f32[4]:1', '-i', 'f32[4]:2', stdin='add')
        with open(kept) as f:
            events = json.load(f)
        made = {e['id'] for e in events if e['ph'] == 's'}
        read = [e['id'] for e in events if e['ph'] == 't']
        self.assertEqual(len(made), 3)  # Two arguments and the output,
        self.assertEqual(set(read), made)  # which are read by the execution and the copy to the host.

    def test_capture_and_replay(self):
        folder = self.path('capture')
        capture = ('trace', '--library', OPTIONS.trace, '--capture', folder)
        done = self.call(*capture, 'run', '-', '-i', 'f32[4]:1', '-i', 'f32[4]:2,3,4,5', stdin='add')
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(folder + '/calls.jsonl') as f:
            calls = [json.loads(line) for line in f]
        self.assertEqual([c['op'] for c in calls if c['op'] != 'destroy'], ['compile', 'buffer', 'buffer', 'execute'])
        with open(folder + '/' + calls[2]['data'], 'rb') as f:
            self.assertEqual(struct.unpack('<4f', f.read()), (2, 3, 4, 5))
        out = self.json('replay', folder, '--against', OPTIONS.fake)
        self.assertEqual([(r['compiles'], r['runs'], r['unknown_arguments']) for r in out['results']], [(1, 1, 0)] * 2)
        self.assertEqual(out['different'], [])
        # Without its contents the argument is zeros on both.
        del calls[2]['data']
        self.path('capture/calls.jsonl', ''.join(json.dumps(c) + '\n' for c in calls))
        self.assertEqual(self.json('replay', folder)['results'][0]['unknown_arguments'], 1)
        # What is cut off, what is broken, what is not there.
        self.path('capture/calls.jsonl', json.dumps(calls[0]) + '\n{"op":"exec')
        self.assertEqual(self.json('replay', folder)['results'][0]['runs'], 0)
        self.path('capture/calls.jsonl', '[]\n')
        self.fails(1, 'calls.jsonl:1', 'replay', folder)
        self.path('capture/calls.jsonl', json.dumps(calls[-1] if calls[-1]['op'] == 'execute' else calls[3]) + '\n')
        self.fails(1, 'compiled form', 'replay', folder)
        self.fails(4, 'calls.jsonl', 'replay', '/no/such/folder')

    def test_fail_on_misuse(self):
        # PJRT_Plugin_Initialize, the fourth function of the table, with a struct_size that no caller sends, and its error left alone.
        program = self.path('misuse.py', """import ctypes, struct
lib = ctypes.CDLL(%r)
lib.GetPjrtApi.restype = ctypes.c_void_p
function = struct.unpack('<Q', ctypes.string_at(lib.GetPjrtApi() + 64, 8))[0]
ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(function)(struct.pack('<QQ', 5, 0))
""" % OPTIONS.fake)
        trace = ('trace', '--library', OPTIONS.trace)
        self.assertIn('MISUSE', self.call(*trace, '--', sys.executable, program).stderr)
        self.assertEqual(self.call(*trace, '--', sys.executable, program).returncode, 0)
        self.assertEqual(self.call(*trace, '--fail-on-misuse', '--', sys.executable, program).returncode, 1)
        self.assertEqual(self.call(*trace, '--fail-on-misuse', 'info').returncode, 0)


class OtherTools(Case):
    def test_check_and_conform_say_what_is_missing(self):
        # Alone in a folder and with an empty PATH, the program has nothing to run.
        alone = self.path('tenon')
        shutil.copy(OPTIONS.tenon, alone)
        for command, text in ((('check', 'x.mlir'), 'LLVM'), (('reduce', 'x.mlir'), 'LLVM'), (('conform',), 'tenon-conformance')):
            done = subprocess.run([alone, *command], capture_output=True, text=True, env={'PATH': '', 'TENON_PLUGIN': OPTIONS.fake})
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)

    def test_conform(self):
        if not os.path.exists(os.path.join(os.path.dirname(OPTIONS.tenon), 'tenon-conformance')):
            self.skipTest('tenon-conformance is not built')
        self.fails(3, 'no_such_plugin', 'conform', 'no_such_plugin')

    def test_conform_passes_options_on(self):
        report = self.path('r.json')
        self.ok('conform', '-p', OPTIONS.fake, '--test', 'load.*', '--skip', 'load.entry*', '--timeout', '60', '--batch', '5', '--isolate', '--report',
                report)
        with open(report) as f:
            names = [t['name'] for t in json.load(f)['tests']]
        self.assertTrue(names and not any(n.startswith('load.entry') for n in names), names)
        self.assertIn('| suite |', self.ok('conform', '--matrix', report, '--any-build'))
        self.assertIn('load.', self.ok('conform', '--list'))
        self.assertIn('xla_cpu', self.ok('conform', '--list-profiles'))

    def test_convert_without_llvm_says_how_to_get_it(self):
        if OPTIONS.plugin:
            self.skipTest('this build can convert')
        self.fails(1, 'TENON_BUILD_CPU', 'convert', self.path('add.mlir', ADD))


@unittest.skipUnless('--plugin' in sys.argv, 'without the compiler')
class WithCompiler(Case):
    def call(self, *args, **more):
        return super().call(*args, plugin=OPTIONS.plugin, **more)

    def test_the_plugin_beside_is_found(self):
        """As a new user does it: no variable, no -p."""
        env = {k: v for k, v in os.environ.items() if k not in ('TENON_PLUGIN', 'PJRT_PLUGIN_LIBRARY_PATH')}
        done = subprocess.run([OPTIONS.tenon, 'run', self.path('add.mlir', ADD), '-i', '1,2,3,4', '-i', '4,5,6,7'],
                              capture_output=True, text=True, timeout=120, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('[5, 7]', done.stdout)

    def test_program_shows_what_it_takes(self):
        add = self.path('add.mlir', ADD)
        self.assertIn('[5, 7]', self.ok('run', add, '-i', '1,2,3,4', '-i', 'f32[2,2]:4,5,6,7'))
        self.ok('run', add, '--random')
        self.fails(4, 'f32[2,2], f32[2,2]', 'run', add)
        self.fails(4, 'the program wants f32[2,2]', 'run', add, '-i', 'f64[2,2]:1', '-r')
        self.fails(4, 'the program wants f32[2,2]', 'run', add, '-i', self.path('a.npy', floats(1, 2, 3, 4)), '-r')
        # Bytecode does not show it, the dialect does.
        artifact = self.path('add.mlirbc')
        self.ok('convert', add, '--to', 'artifact', '--target', '1.9.0', '-o', artifact)
        self.ok('run', artifact, '--random')

    def test_profile(self):
        add = self.path('add.mlir', ADD)
        steps = self.json('profile', add, '--random', '--runs', '7')['steps']
        whole, kernel = steps[0], steps[1]
        self.assertEqual((whole['step'], whole['runs'], kernel['kind'], kernel['runs']), (-1, 7, 'kernel', 7))
        self.assertIn('f32[2,2], f32[2,2] -> f32[2,2]; add', kernel['what'])
        self.assertTrue(0 < kernel['least_ns'] <= kernel['total_ns'] <= whole['total_ns'])
        heading, *_, step, origin = self.ok('profile', add, '--random').splitlines()
        self.assertRegex(heading, r'^main: 50 runs, ')
        self.assertIn('kernel 0: f32[2,2]', step)
        self.assertRegex(origin, r'from .*:2 add$')
        self.assertEqual(self.json('run', add, '--random', '--profile')['steps'][0]['runs'], 50)
        for other in (['--output', 'x.npz'], ['--expected', 'x.npz'], ['--tolerance', '1'], ['--max-elements', '3'], ['--executable'], ['--donate']):
            self.fails(2, other[0], 'run', add, '--random', '--profile', *other)
        kept = self.path('steps.tsv')
        self.ok('run', add, '--random', env={'TENON_PROFILE': kept})
        with open(kept) as f:
            self.assertEqual(len({line.count('\t') for line in f}), 1)
        self.fails(3, 'wanted a file that can be written', 'run', add, '--random', env={'TENON_PROFILE': '/no/such/folder/x'})

    def test_settings_that_mean_nothing(self):
        add = self.path('add.mlir', ADD)
        for name, value, wanted in (('TENON_CODEGEN', 'gcc', 'wanted llvm or nothing'), ('TENON_KERNEL_CACHE_MIB', '1G', 'wanted a number from 0'),
                                    ('TENON_DUMP_DIR', add, 'wanted a folder that can be written')):
            self.fails(3, f"{name} is '{value}', {wanted}", 'run', add, '--random', env={name: value})
        self.ok('run', add, '--random', env={'TENON_CODEGEN': 'llvm', 'TENON_KERNEL_CACHE_MIB': '1', 'TENON_DUMP_DIR': self.path('dumps/made')})

    def test_explain(self):
        program = self.path('add.mlir', ADD)
        out = self.json('explain', program, '--random', '--runs', '5')
        self.assertEqual(out['kinds']['kernel']['steps'], 1)
        self.assertGreater(out['least_ns'], 0)
        self.assertGreater(out['estimate_ns'], 0)
        self.assertEqual(out['notes'], [])
        text = self.ok('explain', program, '--random')
        self.assertIn('became    1 kernel', text)

    def test_convert(self):
        add = self.path('add.mlir', ADD)
        artifact = self.path('add.mlirbc')
        self.ok('convert', add, '--to', 'artifact', '-o', artifact)
        with open(artifact, 'rb') as f:
            self.assertEqual(f.read(4), b'ML\xefR')
        back = self.ok('convert', artifact)
        self.assertIn('stablehlo.add', back)
        self.assertIn('"stablehlo.add"', self.ok('convert', artifact, '--generic'))
        self.assertIn('ENTRY main', self.ok('convert', add, '--to', 'hlo-text'))
        self.fails(4, '', 'convert', add, '--to', 'artifact', '--target', '99')
        self.fails(2, '--target', 'convert', add, '--target', '1.9.0')
        self.fails(4, '', 'convert', self.path('bad.mlir', 'func.func @main('))
        self.fails(5, 'cannot write', 'convert', add, '-o', '/no/such/folder/x')

    def test_compile_for_another_level(self):
        add, saved = self.path('add.mlir', ADD), self.path('add.exe')
        about = self.json('compile', add, '--topology', 'cpu:avx2:cores=4', '-o', saved)
        self.assertIn('cpu:avx2:cores=4', about['fingerprint'])
        self.ok('run', saved, '--executable', '--random')
        refused = self.call('run', saved, '--executable', '--random', env={'TENON_MAX_ISA': 'sse4'})
        self.assertIn('was compiled for cpu:avx2:cores=4', refused.stderr)
        self.assertIn('it lacks avx2', refused.stderr)
        self.ok('compile', add, '--topology', 'cpu', '--topology-option', 'target=cpu:avx512')
        self.fails(3, 'wanted cpu:sse4, cpu:avx2 or cpu:avx512', 'compile', add, '--topology', 'cpu:avx1024')
        self.fails(3, 'wanted one of them', 'compile', add, '--topology', 'cpu:avx2', '--topology-option',
                   'target=cpu:avx512')

    def test_devices_are_made_on_demand(self):
        add = self.path('add.mlir', ADD)
        self.assertEqual(len(self.json('run', add, '-r', '--replicas', '2')['devices']), 2)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--tenon', required=True)
    parser.add_argument('--fake', required=True)
    parser.add_argument('--bad', required=True)
    parser.add_argument('--plugin')
    parser.add_argument('--sanitized', action='store_true')
    parser.add_argument('--trace')
    parser.add_argument('--man', default=os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/cli/tenon.1'))
    OPTIONS, rest = parser.parse_known_args()
    for name in ('tenon', 'fake', 'bad', 'plugin', 'trace'):
        if getattr(OPTIONS, name):
            setattr(OPTIONS, name, os.path.abspath(getattr(OPTIONS, name)))
    unittest.main(argv=[sys.argv[0], *rest])
