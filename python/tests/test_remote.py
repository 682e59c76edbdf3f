"""JAX over devices of a tenon-device-server, here at the loopback (docs/remote): the same numbers as on devices of the process, and clear errors."""

import contextlib
import pathlib
import queue
import secrets
import shutil
import subprocess
import threading

import pytest

from helpers import ROOT, run
from tenon_jax import library_path

LIBRARIES = pathlib.Path(library_path()).parent
SERVERS = [p for p in (LIBRARIES / 'tenon-device-server', LIBRARIES.parent / 'bin' / 'tenon-device-server') if p.exists()]
pytestmark = pytest.mark.skipif(
    not SERVERS or not (LIBRARIES / 'libtenon_tls.so').exists(), reason='the package was built without the server or without encryption')

# A training with what crosses the connection in one way or the other: arrays there and back, donation, launches that do not wait for each other, a
# loop, LAPACK's and Python's handlers, which run on this side.
TRAIN = '''
import sys
sys.path.insert(0, %r)
import jax, jax.numpy as jnp, numpy as np, train_mlp
params, points, labels = train_mlp.make_params(), *train_mlp.make_data()
step = jax.jit(train_mlp.step, donate_argnums=0)
losses = []
for _ in range(10):
    value, params = step(params, points, labels)
    losses.append(value)
bits = [np.asarray(leaf).view(np.uint32).ravel()[:512].tolist() for leaf in jax.tree.leaves(params)]
matrix = jnp.asarray(np.random.default_rng(1).standard_normal((6, 6)), jnp.float32)
eigenvalues = np.asarray(jnp.linalg.eigh(matrix + matrix.T)[0])
seen = []
called = jax.jit(lambda x: jax.pure_callback(lambda v: seen.append(v.shape) or 2 * v, jax.ShapeDtypeStruct((6,), jnp.float32), x[0]) + 1)(matrix)
summed = jax.lax.fori_loop(0, 100, lambda i, v: v + jnp.sin(v + i), jnp.float32(0))
give({"losses": [float(v).hex() for v in losses], "bits": bits, "eigenvalues": eigenvalues.tolist(), "called": np.asarray(called).tolist(),
      "seen": seen, "summed": float(summed).hex(), "devices": [str(d) for d in jax.devices()]})
''' % str(ROOT / 'examples' / 'jax')


@contextlib.contextmanager
def server(*options):
    """A server at a port that the system chooses; gives its address and the lines that it writes of its clients."""
    process = subprocess.Popen([str(SERVERS[0]), '--listen', '127.0.0.1:0', '--plugin', library_path(), *map(str, options)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = []
    reader = threading.Thread(target=lambda: log.extend(process.stderr), daemon=True)
    reader.start()
    first = queue.Queue()
    threading.Thread(target=lambda: first.put(process.stdout.readline()), daemon=True).start()
    try:
        line = first.get(timeout=30)
        assert line.startswith('listening at port '), (line, log)
        yield '127.0.0.1:' + line.split()[-1], log
    finally:
        process.terminate()
        process.wait(timeout=30)
        reader.join(timeout=30)


def token(folder):
    file = folder / 'token'
    file.touch(mode=0o600)
    file.write_text(secrets.token_hex(32))
    return file


def openssl(folder, *words):
    subprocess.run(['openssl', *map(str, words)], cwd=folder, check=True, capture_output=True, text=True)


def certificates(folder):
    """ca, server and client in `folder`, as docs/remote makes them."""
    key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    openssl(folder, 'req', '-x509', *key, '-days', 2, '-subj', '/CN=us', '-keyout', 'ca.key', '-out', 'ca.pem')
    (folder / 'server.ext').write_text('subjectAltName=IP:127.0.0.1\n')
    (folder / 'client.ext').write_text('')
    for name in ('server', 'client'):
        openssl(folder, 'req', *key, '-subj', f'/CN={name}', '-keyout', f'{name}.key', '-out', f'{name}.csr')
        openssl(folder, 'x509', '-req', '-in', f'{name}.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', 2,
                '-extfile', f'{name}.ext', '-out', f'{name}.pem')


def check_equals_here(ran):
    here = run(TRAIN).result
    assert ran.result == here
    assert float.fromhex(here['losses'][-1]) < float.fromhex(here['losses'][0])


def test_a_training_with_a_token(tmp_path):
    with server('--token-file', token(tmp_path)) as (address, log):
        ran = run(TRAIN, TENON_JAX_REMOTE=address, TENON_REMOTE_TOKEN_FILE=tmp_path / 'token')
    check_equals_here(ran)
    assert any('a session' in line for line in log), log  # It was there that it ran.


def test_a_training_in_a_confined_process(tmp_path):
    with server('--token-file', token(tmp_path), '--sandbox') as (address, _):
        ran = run(TRAIN, check=False, TENON_JAX_REMOTE=address, TENON_REMOTE_TOKEN_FILE=tmp_path / 'token')
    if ran.result is None and 'this kernel cannot confine a process' in ran.stderr:
        pytest.skip('this kernel cannot confine a process')
    check_equals_here(ran)


@pytest.mark.skipif(not shutil.which('openssl'), reason='openssl, which makes certificates, is not installed')
def test_a_training_with_certificates(tmp_path):
    certificates(tmp_path)
    with server('--certificate', tmp_path / 'server.pem', '--key', tmp_path / 'server.key', '--authority', tmp_path / 'ca.pem') as (address, log):
        ran = run(TRAIN, TENON_JAX_REMOTE=address, TENON_REMOTE_CERTIFICATE=tmp_path / 'client.pem', TENON_REMOTE_KEY=tmp_path / 'client.key',
                  TENON_REMOTE_AUTHORITY=tmp_path / 'ca.pem')
    check_equals_here(ran)
    assert any('a session' in line for line in log), log


def test_several_devices_of_the_server(tmp_path):
    with server('--token-file', token(tmp_path)) as (address, _):
        ran = run('''
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
jax.config.update('jax_num_cpu_devices', 4)
mesh = jax.make_mesh((4,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))
rows = jax.device_put(np.arange(32, dtype=np.float32).reshape(8, 4), NamedSharding(mesh, P('x')))
twice = jax.jit(lambda v: (v @ v.T, v.sum(0)))(rows)
mapped = jax.jit(jax.shard_map(lambda v: jax.lax.psum(v, 'x'), mesh=mesh, in_specs=P('x'), out_specs=P()))(rows)
give([len(jax.devices()), *(np.asarray(v).tolist() for v in (*twice, mapped))])
''', TENON_JAX_REMOTE=address, TENON_REMOTE_TOKEN_FILE=tmp_path / 'token')
    rows = [[4 * i + j for j in range(4)] for i in range(8)]
    product = [[sum(a * b for a, b in zip(u, v)) for v in rows] for u in rows]
    sums = [sum(column) for column in zip(*rows)]
    parts = [[sum(rows[2 * k + i][j] for k in range(4)) for j in range(4)] for i in range(2)]
    assert ran.result == [4, product, sums, parts]


def test_who_has_another_token_is_told(tmp_path):
    other = tmp_path / 'other'
    other.mkdir()
    with server('--token-file', token(tmp_path)) as (address, log):
        ran = run('import jax\njax.devices()\ngive(1)', check=False, TENON_JAX_REMOTE=address, TENON_REMOTE_TOKEN_FILE=token(other))
    assert ran.returncode != 0 and 'token' in ran.stderr, ran.stderr
    assert any('refused' in line or 'token' in line for line in log), log


def test_a_server_that_is_not_there_is_named(tmp_path):
    with server('--token-file', token(tmp_path)) as (address, _):
        pass
    ran = run('import jax\njax.devices()\ngive(1)', check=False, TENON_JAX_REMOTE=address, TENON_REMOTE_TOKEN_FILE=tmp_path / 'token')
    assert ran.returncode != 0 and address in ran.stderr, ran.stderr
