#!/usr/bin/env python3
"""Every operation of PyTorch's own table (op_db) through PyTorch/XLA, on Tenon and on XLA's CPU backend, beside PyTorch itself.

    python scripts/torch_ops.py [--dtype float32] [--plugin SO] [--only NAME,NAME] [--samples 6] [--json FILE]

Runs in an interpreter that has torch, torch_xla, expecttest and scipy. XLA's backend is asked only for what does not agree on Tenon. Prints what
differs between the two, and the counts. Each backend works in child processes: an operation that ends its process counts as failed, and the
next process goes on behind it. Random operations and those that return memory as it was are left out, since their results are nobody's.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

LEFT_OUT = ('empty', 'rand', 'normal', 'bernoulli', 'multinomial', 'dropout', 'uniform', 'exponential', 'geometric', 'cauchy', 'log_normal', 'fractional',
            'rrelu', 'gumbel', 'lowrank')

# How far results may be apart, absolutely and relatively: roundings of sums in another order, and functions of a few ulps.
BOUNDS = {'float64': 1e-8, 'float32': 1e-4, 'complex64': 1e-4, 'complex128': 1e-8, 'float16': 2e-3, 'bfloat16': 2e-2}


def moved(value, device):
    """`value` with all tensors in it on `device`."""
    import torch
    if isinstance(value, torch.Tensor):
        return value.detach().to(device)
    if isinstance(value, dict):
        return {key: moved(v, device) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [moved(v, device) for v in value]
        return type(value)(*items) if hasattr(value, '_fields') else type(value)(items)
    return value


def tensors(value):
    import torch
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in tensors(v)] if isinstance(value, (list, tuple)) else []


def difference(got, want):
    """What is wrong with a result, or an empty text."""
    import torch
    if len(got) != len(want):
        return f'{len(got)} results, wanted {len(want)}'
    for g, w in zip(got, want):
        bound = BOUNDS.get(str(w.dtype).removeprefix('torch.'), 0)
        try:
            torch.testing.assert_close(g, w, equal_nan=True, check_stride=False, atol=bound, rtol=bound)
        except AssertionError as error:
            return str(error).replace('\n', ' ')[:300]
    return ''


def work(args):
    """In a child: one line of JSON per operation, the first of two when it begins."""
    import torch
    import torch_xla
    from torch.testing._internal.common_methods_invocations import op_db
    device, dtype = torch_xla.device(), getattr(torch, args.dtype)
    only = set(filter(None, args.only.split(',')))
    begun = {json.loads(line)['op'] for line in open(args.work)}
    with open(args.work, 'a') as out:
        for op in op_db:
            name = op.name + ('.' + op.variant_test_name if op.variant_test_name else '')
            if name in begun or (only and name not in only) or any(word in op.name for word in LEFT_OUT) or dtype not in op.dtypes:
                continue
            print(json.dumps({'op': name}), file=out, flush=True)
            torch.manual_seed(0)
            try:
                samples = list(op.sample_inputs('cpu', dtype, requires_grad=False))
            except Exception:  # Whatever it is, it has nothing to do with the backend.
                samples = []
            if len(samples) > args.samples:
                samples = [samples[i * len(samples) // args.samples] for i in range(args.samples)]
            good, bad = 0, []
            for sample in samples:
                try:
                    want = tensors(op(moved(sample.input, 'cpu'), *moved(sample.args, 'cpu'), **moved(sample.kwargs, 'cpu')))
                except Exception:  # PyTorch itself does not take it.
                    continue
                try:
                    kwargs = {key: device if key == 'device' else value for key, value in moved(sample.kwargs, device).items()}
                    got = [t.cpu() for t in tensors(op(moved(sample.input, device), *moved(sample.args, device), **kwargs))]
                    wrong = difference(got, want)
                except Exception as error:
                    wrong = f'{type(error).__name__}: {str(error)[:300]}'.replace('\n', ' ')
                if wrong:
                    bad.append(wrong)
                else:
                    good += 1
            print(json.dumps({'op': name, 'good': good, 'bad': bad}), file=out, flush=True)


def run(args, environment, only):
    """What became of each operation on one backend."""
    with tempfile.NamedTemporaryFile('w+', suffix='.jsonl') as file:
        command = [sys.executable, __file__, '--work', file.name, '--dtype', args.dtype, '--samples', str(args.samples), '--only', ','.join(only)]
        before = -1
        while True:
            ended = subprocess.run(command, env=dict(os.environ, **environment), capture_output=True, text=True)
            lines = pathlib.Path(file.name).read_text().splitlines()
            if ended.returncode == 0 or len(lines) == before:
                break
            before = len(lines)
        if ended.returncode != 0 and not lines:
            sys.exit(f'nothing ran: {ended.stderr[-2000:]}')
    results = {}
    for line in lines:
        entry = json.loads(line)
        results[entry['op']] = entry if 'good' in entry else {'op': entry['op'], 'good': 0, 'bad': ['ended the process']}
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--dtype', default='float32')
    parser.add_argument('--plugin', default=str(ROOT / 'build/release/lib/pjrt_plugin_tenon.so'))
    parser.add_argument('--only', default='')
    parser.add_argument('--samples', type=int, default=6)
    parser.add_argument('--json')
    parser.add_argument('--work', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        sys.path.insert(0, str(ROOT / 'python' / 'tenon_torch'))
        if os.environ['PJRT_DEVICE'] == 'TENON':
            from torch_xla.experimental import plugins
            import tenon_torch
            plugins.register_plugin('TENON', tenon_torch.CpuPlugin())
        work(args)
        return 0
    on_tenon = run(args, {'PJRT_DEVICE': 'TENON', 'TENON_PLUGIN': args.plugin}, list(filter(None, args.only.split(','))))
    doubtful = [name for name, entry in on_tenon.items() if entry['bad']]
    on_xla = run(args, {'PJRT_DEVICE': 'CPU'}, doubtful) if doubtful else {}
    worse = 0
    for name in doubtful:
        ours, theirs = on_tenon[name], on_xla.get(name, {'good': 0, 'bad': []})
        if ours['good'] != theirs['good']:
            worse += ours['good'] < theirs['good']
            print(f"{name}: {ours['good']} agree on Tenon, {theirs['good']} on XLA's backend; {ours['bad'][0]}")
    judged = sum(entry['good'] > 0 or bool(entry['bad']) for entry in on_tenon.values())
    print(f"{args.dtype}: {judged} operations; with PyTorch agree on every sample {judged - len(doubtful)} on Tenon; "
          f"{len(doubtful)} others, of which XLA's backend does better on {worse}; {len(on_tenon) - judged} more have no sample that PyTorch takes")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({'tenon': on_tenon, 'xla': on_xla}, indent=1))
    return worse > 0


if __name__ == '__main__':
    sys.exit(main())
