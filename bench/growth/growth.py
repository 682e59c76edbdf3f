#!/usr/bin/env python3
"""How compile time and memory grow with the size of programs, on any compiler.

  growth.py --on NAME=PLUGIN.so [--on jax=built-in] [--kinds chain,dots] [--sizes 10,100,1000,10000] [--limit SECONDS]
            [--memory GIB] [--tenon PATH] [--csv FILE] [--write FOLDER]

Each program is compiled in a process of its own: by `tenon compile` on a plugin, or by jaxlib's own client for `built-in`
(of the Python that runs this). Time is that of the compile alone, memory the peak of the process above that of the
smallest program of the kind. `growth` is the factor per tenfold size: 10 is linear. One that ends in a signal (a stack
that overflows, memory that is not there) prints its name; `limit` stands for programs that take too long, after which
larger ones of the kind are left out. --write only writes the programs.
"""
import argparse
import csv
import datetime
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

from programs import KINDS

BUILT_IN = """
import json, sys, time
import jax
from jax._src import xla_bridge, compiler
from jaxlib import xla_client
backend = xla_bridge.get_backend("cpu")
text = open(sys.argv[1]).read()
options = xla_client.CompileOptions()
begin = time.perf_counter()
devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
backend.compile_and_load(text, devices, options)
print(json.dumps({"compile_seconds": time.perf_counter() - begin}))
"""


def compile_once(tenon, plugin, path, limit, memory_gib):
    """(seconds, peak bytes, "") of one compile, or what went wrong as the last."""
    if plugin == "built-in":
        command = [sys.executable, "-c", BUILT_IN, path]
        env = dict(os.environ, JAX_PLATFORMS="cpu", TENON_JAX="off", TF_CPP_MIN_LOG_LEVEL="3")
    else:
        command = [tenon, "compile", "--json", "-p", plugin, path]
        env = dict(os.environ)

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (memory_gib << 30, memory_gib << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=err, preexec_fn=limits)
        begin = time.monotonic()
        pause = 0.001
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.monotonic() - begin > limit:
                process.kill()
                os.wait4(process.pid, 0)
                return None, None, "limit"
            time.sleep(pause)
            pause = min(0.05, pause * 1.5)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode < 0:
            return None, None, signal.Signals(-process.returncode).name
        if process.returncode != 0:
            text = (err.read() + out.read()).strip()
            return None, None, "error: " + " ".join(text.split())[-160:]
        return json.loads(out.read())["compile_seconds"], usage.ru_maxrss * 1024, ""


def machine():
    with open("/proc/cpuinfo") as f:
        names = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", action="append", default=[], metavar="NAME=PLUGIN")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--sizes", default="10,100,1000,10000,100000")
    parser.add_argument("--limit", type=float, default=60, help="seconds per compile")
    parser.add_argument("--memory", type=int, default=64, help="GiB of address space per compile")
    parser.add_argument("--tenon", default="tenon", help="the shell's tool")
    parser.add_argument("--csv", help="also as a table of numbers")
    parser.add_argument("--write", help="only write the programs here")
    options = parser.parse_args()
    sizes = [int(s) for s in options.sizes.split(",")]
    kinds = options.kinds.split(",")
    if options.write:
        os.makedirs(options.write, exist_ok=True)
        for kind in kinds:
            for size in sizes:
                with open(os.path.join(options.write, f"{kind}_{size}.mlir"), "w") as f:
                    f.write(KINDS[kind](size))
        return
    compilers = [on.split("=", 1) for on in options.on]
    rows = []
    print("| kind | compiler | ops | compile ms | growth | us per op | memory MiB | growth |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            for name, plugin in compilers:
                last_time = last_memory = base = last_size = None
                for size in sizes:
                    path = os.path.join(folder, f"{kind}_{size}.mlir")
                    if not os.path.exists(path):
                        with open(path, "w") as f:
                            f.write(KINDS[kind](size))
                    seconds, peak, problem = compile_once(options.tenon, plugin, path, options.limit, options.memory)
                    if problem:
                        print(f"| {kind} | {name} | {size} | {problem} | | | | |", flush=True)
                        rows.append([kind, name, size, "", "", problem])
                        if problem == "limit":
                            break
                        continue
                    base = peak if base is None else base
                    memory = max(0, peak - base) / 2**20
                    tens = size / last_size / 10 if last_size else None
                    growth = f"{seconds / last_time / tens:.1f}" if last_time else ""
                    memory_growth = f"{memory / last_memory / tens:.1f}" if last_memory and last_memory > 4 else ""
                    print(f"| {kind} | {name} | {size} | {seconds * 1e3:.2f} | {growth} | {seconds / size * 1e6:.1f} | "
                          f"{memory:.1f} | {memory_growth} |", flush=True)
                    rows.append([kind, name, size, seconds, peak, ""])
                    last_time, last_memory, last_size = seconds, memory, size
    if options.csv:
        with open(options.csv, "w", newline="") as f:
            f.write(f"# {machine()}, {datetime.date.today()}\n")
            writer = csv.writer(f)
            writer.writerow(["kind", "compiler", "ops", "compile_seconds", "peak_bytes", "problem"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
