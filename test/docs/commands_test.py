#!/usr/bin/env python3
"""Runs the commands of Tenon's programs and the Python that the documentation shows, and compares its C++ with the files that it names: commands_test.py --bin FOLDER --root CHECKOUT [--plugins FOLDERS]."""
import argparse
import ctypes
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import numpy

DOCUMENTS = ('README.md', 'docs/cli/README.md', 'docs/trace/README.md', 'docs/sdk/README.md', 'docs/tutorials/jax.md', 'docs/tutorials/cpp.md',
             'docs/tutorials/compiler.md', 'docs/troubleshooting.md', 'docs/conformance/README.md', 'docs/isolation/README.md')
# A command: one of the programs, perhaps with variables before it.
COMMAND = re.compile(r'(\w+=\S+ )*tenon(-\w+)? ')

# What cannot run on every machine: a pattern of the command, and what it needs.
NEEDS = {
    r'xla_cpu': 'the plugin xla_cpu (pip install xla-cpu-pjrt)',
    r'-p tpu': 'libtpu',
    r'train\.py': 'JAX for the same Python',
    r'--sandbox': 'a kernel with Landlock',
}
# What no machine runs as it stands.
NOT_RUN = {
    r'-p broken': 'shows what a crash of a plugin looks like; cli_test has plugins that crash',
    r'pjrt_plugin_remote': 'the plugin of the guide is built from an installed SDK; scripts/check_packages.sh does, and device_plugin_conformance here',
    r'reduce f.mlir -p': 'the program of these examples shows no mistake; cli_test has one that does',
    r'^tenon-conformance ': 'takes a minute; the tests conformance_* run it, and conformance_unit_test makes matrices',
    r'conform -p xla_cpu': 'takes a minute; conformance_xla_cpu runs it',
}

ADD = '''func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.add %a, %b : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
'''
TRAIN = '''import jax, numpy
step = jax.jit(lambda w, x: w - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).mean())(w))
w = numpy.ones((4, 2), numpy.float32)
for _ in range(3):
    w = step(w, numpy.ones((8, 4), numpy.float32))
print(w.shape)
'''


def commands(root):
    """(document, command, lines that it prints there) of every command of the program in a shell block."""
    for document in DOCUMENTS:
        with open(os.path.join(root, document), encoding='utf-8') as f:
            text = f.read()
        for language, block in re.findall(r'^```(\w*)\n(.*?)^```', text, re.M | re.S):
            if language not in ('', 'sh', 'console'):
                continue
            lines = block.splitlines()
            # Where commands are marked, what stands between them is what they print.
            marked = [i for i, line in enumerate(lines) if line.startswith('$ ')] + [len(lines)]
            for begin, end in zip(marked, marked[1:]):
                yield document, without_comment(lines[begin][2:]), lines[begin + 1:end]
            for line in lines if len(marked) == 1 else ():
                if COMMAND.match(line):
                    yield document, without_comment(line), ()


def examples(env):
    """(where, command, ()) of every example in the help of the program."""
    names = re.findall(r'^  ([a-z]+) ', subprocess.run(['tenon', '--help'], capture_output=True, text=True, env=env, check=True).stdout.split('Subcommands:')[1],
                       re.M)
    for name in names:
        text = subprocess.run(['tenon', name, '--help'], capture_output=True, text=True, env=env, check=True).stdout
        for line in re.findall(r'^  (tenon .*)', text.split('Examples:')[1], re.M):
            yield f'tenon {name} --help', line, ()


def without_comment(line):
    return re.sub(r'\s+#.*', '', line)


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='tenon_docs_')
        at = lambda name: os.path.join(cls.folder.name, name)
        for name in ('program.mlir', 'add.mlir', 'softmax.mlir'):
            with open(at(name), 'w', encoding='utf-8') as f:
                f.write(ADD)
        with open(at('f.mlir'), 'w', encoding='utf-8') as f:
            f.write(ADD.replace('%a: tensor<2x2xf32>, %b', '%b').replace('%a', '%b'))
        with open(at('train.py'), 'w', encoding='utf-8') as f:
            f.write(TRAIN)
        for name in ('x', 'x.0', 'x.1', 'x.2', 'x.3'):
            numpy.save(at(name + '.npy'), numpy.ones((2, 2), numpy.float32))
        for name in ('a', 'b'):
            numpy.savez(at(name + '.npz'), out0=numpy.ones(3, numpy.float32))
        for name in ('test', 'examples'):
            os.symlink(os.path.join(OPTIONS.root, name), at(name))
        cls.env = {k: v for k, v in os.environ.items() if k not in ('TENON_PLUGIN', 'PJRT_PLUGIN_LIBRARY_PATH')}
        # `python` is the one that runs this; other plugins are those of its environment, and in --plugins.
        path = (OPTIONS.bin, os.path.dirname(sys.executable), os.environ['PATH'])
        cls.env.update(PATH=os.pathsep.join(path), PJRT_PLUGIN_LIBRARY_PATH=OPTIONS.plugins, TENON_NUM_DEVICES='4')
        subprocess.run('tenon convert add.mlir --to artifact -o step.mlirbc', shell=True, check=True, cwd=cls.folder.name, env=cls.env,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def has(self, need):
        if 'xla_cpu' in need:
            found = subprocess.run(['tenon', 'plugins', '--no-load'], capture_output=True, text=True, env=self.env, check=True).stdout
            return any(line.split()[0] in ('cpu', 'xla_cpu') for line in found.splitlines())
        if 'JAX' in need:
            return subprocess.run(['python', '-c', 'import jax'], capture_output=True, env=self.env).returncode == 0
        if 'Landlock' in need:
            return ctypes.CDLL(None).syscall(444, None, 0, 1) > 0  # landlock_create_ruleset, asked for its version
        return False

    def jax_environment(self):
        """That of programs that run JAX on the plugin of the build."""
        plugin = os.path.join(OPTIONS.bin, '..', 'lib', 'pjrt_plugin_tenon.so')
        env = dict(self.env, TENON_PLUGIN=os.path.abspath(plugin)) if os.path.exists(plugin) else dict(self.env)
        env.pop('JAX_PLATFORMS', None)
        if subprocess.run(['python', '-c', 'import jax, importlib.metadata as m; m.version("tenon-jax")'], capture_output=True, env=env).returncode != 0:
            self.skipTest('needs JAX and tenon_jax for the same Python')
        return env

    def test_python(self):
        env = self.jax_environment()
        ran = 0
        for document in DOCUMENTS:
            with open(os.path.join(OPTIONS.root, document), encoding='utf-8') as f:
                blocks = re.findall(r'^```python\n(.*?)^```', f.read(), re.M | re.S)
            for block in blocks:
                done = subprocess.run(['python', '-c', block], capture_output=True, text=True, timeout=300, cwd=self.folder.name, env=env)
                self.assertEqual(done.returncode, 0, (document, block, done.stdout[-2000:], done.stderr[-2000:]))
                if 'platform_version' in block:
                    self.assertIn('tenon', done.stdout)
                ran += 1
        self.assertGreaterEqual(ran, 4)

    def test_processes(self):
        """The training of docs/processes.md, in two processes of this machine."""
        env = dict(self.jax_environment(), TENON_NUM_DEVICES='1', PROCESSES='2')
        with open(os.path.join(OPTIONS.root, 'docs/processes.md'), encoding='utf-8') as f:
            block, = (b for b in re.findall(r'^```python\n(.*?)^```', f.read(), re.M | re.S) if 'PROCESSES' in b)
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            env['JOB'] = '127.0.0.1:%d' % s.getsockname()[1]
        jobs = [subprocess.Popen(['python', '-c', block], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(env, PROCESS=str(i))) for i in (0, 1)]
        printed = [job.communicate(timeout=300) for job in jobs]
        for i, job in enumerate(jobs):
            self.assertEqual(job.returncode, 0, printed[i][1][-2000:])
        self.assertEqual(printed[0][0], printed[1][0].replace('1 [', '0 [', 1))

    def test_servers(self):
        """The recipes of docs/remote, with servers and clients on this machine."""
        if not os.path.exists(os.path.join(OPTIONS.bin, '..', 'lib', 'libtenon_tls.so')):
            self.skipTest('needs libtenon_tls.so, which is built where OpenSSL is (Debian: libssl-dev)')
        with open(os.path.join(OPTIONS.root, 'docs/remote/README.md'), encoding='utf-8') as f:
            sections = re.split(r'^## ', f.read(), flags=re.M)
        ran = 0
        for section in sections:
            script = ''.join(re.findall(r'^```sh\n(.*?)^```', section, re.M | re.S))
            if 'tenon-device-server --listen' not in script:
                continue
            with socket.socket() as s, tempfile.TemporaryDirectory() as home:
                s.bind(('127.0.0.1', 0))
                address = '127.0.0.1:%d' % s.getsockname()[1]
                s.close()
                script = script.replace('10.0.0.5:8471', address).replace('10.0.0.5', '127.0.0.1')
                script = re.sub(r'^(tenon-device-server .*)$', r'\1 >server.log 2>&1 & for i in $(seq 100); do grep -q listen server.log && break; sleep 0.1; done', script, flags=re.M)
                script = re.sub(r'^TENON_JAX_REMOTE=.*\n', '', script, flags=re.M)  # test_remote.py has trainings.
                script = "trap 'kill $(jobs -p)' EXIT; set -e\n" + script
                shutil.copy(os.path.join(self.folder.name, 'program.mlir'), home)
                done = subprocess.run(['bash', '-c', script], capture_output=True, text=True, timeout=120, cwd=home, env=dict(self.env, HOME=home))
                self.assertEqual(done.returncode, 0, (script, done.stdout, done.stderr))
                self.assertIn('output 0: f32[2,2]', done.stdout)
                ran += 1
        self.assertEqual(ran, 2)

    def test_cpp_is_that_of_the_files(self):
        compared = 0
        for document in DOCUMENTS:
            with open(os.path.join(OPTIONS.root, document), encoding='utf-8') as f:
                blocks = re.findall(r'<!-- (\S+/\S+) -->\n```cpp\n(.*?)```', f.read(), re.S)
            for file, block in blocks:
                with open(os.path.join(OPTIONS.root, file), encoding='utf-8') as f:
                    self.assertIn(block.strip('\n'), f.read(), (document, file))
                compared += 1
        self.assertGreaterEqual(compared, 3)

    def test_all_run(self):
        ran, left_out, used = 0, [], set()
        for document, command, shown in (*commands(OPTIONS.root), *examples(self.env)):
            reason = next((why for pattern, why in NOT_RUN.items() if re.search(pattern, command)), None)
            need = next((what for pattern, what in NEEDS.items() if re.search(pattern, command)), None)
            used |= {p for p in (*NOT_RUN, *NEEDS) if re.search(p, command)}
            if reason is None and need is not None and not self.has(need):
                reason = 'needs ' + need
            if reason is not None:
                left_out.append(f'{document}: {command}: {reason}')
                continue
            done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300, cwd=self.folder.name, env=self.env)
            self.assertEqual(done.returncode, 0, (document, command, done.stdout[-2000:], done.stderr[-2000:]))
            for line in shown:
                self.assertIn(line, done.stdout, (document, command))
            ran += 1
        print(f'{ran} commands ran')
        for line in left_out:
            print('not run:', line)
        self.assertGreaterEqual(ran, 10)
        stale = set(NEEDS) | set(NOT_RUN)
        self.assertEqual(stale - used, set(), 'patterns that no command matches')


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', required=True)
    parser.add_argument('--root', required=True)
    parser.add_argument('--plugins', default='', help='folders of further plugins')
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
