"""A worker process with a time limit per request, seen from run.py."""
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile


class Ended(Exception):
    """The child crashed, or was ended because it took too long; the text says which."""


class Child:
    """One backend in a process of its own, started when first asked, and anew after it ended."""

    def __init__(self, backend, threads=None):
        self.backend, self.threads, self.process, self.loaded = backend, threads, None, None

    def start(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(('JAX_', 'PJRT_'))}
        env.update(TF_CPP_MIN_LOG_LEVEL='3', TENON_LOG='info')
        if self.threads:
            env['TENON_NUM_THREADS'] = str(self.threads)
        self.log = tempfile.NamedTemporaryFile('a', prefix='suite-', suffix='.log')
        self.process = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).parent / 'worker.py'), self.backend], env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        if self.loaded:
            self.send(self.loaded, 120)

    def stop(self):
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.process = None

    def text(self, begin=0, end=None):
        with open(self.log.name, 'rb') as f:
            f.seek(begin)
            return f.read(None if end is None else end - begin).decode(errors='replace')

    def send(self, request, limit):
        """The answer to a request, or Ended after a crash or `limit` seconds."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps(request) + '\n')
            self.process.stdin.flush()
            line = self.process.stdout.readline() if select.select([self.process.stdout], [], [], limit)[0] else None
        except BrokenPipeError:
            line = ''
        if line:
            return json.loads(line)
        late = line is None
        if late:
            self.process.kill()
        code = self.process.wait()
        self.process = None
        if late:
            raise Ended(f'no answer within {limit:.0f} s')
        how = signal.Signals(-code).name if code < 0 else f'exit {code}'
        raise Ended(f'{how}: {" ".join(self.text().split())[-200:]}')

    def load(self, what):
        self.loaded = {'load': what}
        return self.send(self.loaded, 600)
