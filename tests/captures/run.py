#!/usr/bin/env python3
"""Builds one capture program, if it is not built yet, and compares its run on the emulated GPU with the recording.

    run.py TOPIC --build-dir build/dev [--only TEXT] [--native] [--build-only]

--native runs it on the GPU of this machine instead. Exit code 77 (skipped, for ctest) if there is no nvcc or no emulator,
unless PTXBENCH_REQUIRE_CAPTURES is set.
"""
import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77
FLAGS = ["-gencode", "arch=compute_90a,code=[sm_90a,compute_90a]", "-cudart", "shared", "-std=c++17", "-O3"]


def skip(reason):
    print(f"skipped: {reason}")
    return 1 if os.environ.get("PTXBENCH_REQUIRE_CAPTURES") else SKIPPED


def find_nvcc():
    homes = [os.environ.get("CUDA_HOME"), ROOT / ".toolchain/cuda", "/usr/local/cuda"]
    candidates = [pathlib.Path(h) / "bin/nvcc" for h in homes if h] + [shutil.which("nvcc")]
    return next((str(c) for c in candidates if c and os.access(c, os.X_OK)), None)


def driver_stub(folder):
    """Something to link against: a CUDA from wheels has no libcuda, and the program must find ours at run time."""
    stub = folder / "stubs/libcuda.so"
    if not stub.exists():
        stub.parent.mkdir(parents=True, exist_ok=True)
        part = stub.with_suffix(f".{os.getpid()}")
        source = "int cuTensorMapEncodeTiled(void) { return 0; }\n"
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-xc", "-", "-o", part], input=source, text=True, check=True)
        part.rename(stub)
    return stub.parent


def build(topic, nvcc, folder):
    """The program, rebuilt when its source, a header here or the compiler changed."""
    source = HERE / f"{topic}.cu"
    digest = hashlib.sha256(f"{nvcc} {FLAGS}".encode())
    for part in [source] + sorted(HERE.glob("*.h")):
        digest.update(part.read_bytes())
    program = folder / topic
    stamp = folder / f"{topic}.stamp"
    if program.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{topic}.{os.getpid()}"
    done = subprocess.run([nvcc, *FLAGS, "-L", driver_stub(folder), "-lcuda", "-o", part, source], capture_output=True, text=True)
    if done.returncode:
        print(f"nvcc refuses {source}:\n{done.stdout}{done.stderr}")
        return None
    part.rename(program)
    stamp.write_text(digest.hexdigest())
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic")
    parser.add_argument("--build-dir", type=pathlib.Path, required=True, help="the CMake build folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    args = parser.parse_args()
    if not (HERE / f"{args.topic}.cu").exists():
        parser.error(f"no topic '{args.topic}'; there are: {' '.join(sorted(p.stem for p in HERE.glob('*.cu')))}")
    nvcc = find_nvcc()
    if nvcc is None:
        return skip("no nvcc; scripts/setup fetches one")
    emulator = args.build_dir.resolve() / "bin/ptxbench"
    if not args.native and not emulator.exists():
        return skip(f"no {emulator}")
    program = build(args.topic, nvcc, args.build_dir.resolve() / "captures")
    if program is None:
        return 1
    if args.build_only:
        return 0
    carrier = [] if args.native else [emulator, "emulate", "--"]
    only = ["--only", args.only] if args.only else []
    # Tensor core sums bit for bit as the hardware adds them, not the fast way.
    environment = dict(os.environ, PTXBENCH_MMA="hopper")
    comparison = [sys.executable, HERE / "compare.py", "--topic", args.topic, *only, "--", *carrier, program]
    return subprocess.run(comparison, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
