#!/usr/bin/env python3
"""Holds the knowledge packs to what they say. One mode for each test:

    --fresh      tokens.json has the hash of every file as it is now; generated headers are as their script writes them
    --recount    the counts are what the tokenizer counts (exit 77, "skipped", where it is not installed)
    --wrappers   every wrapper runs on the emulator and gives what wrappers.cu works out without it
    --levels     a GEMM and an attention made of the blocks of the patterns pass `ptxbench eval --pack L4`; with L1 the
                 headers are out of reach
    --blocks     every code block of every document compiles; every block marked trap=KIND ends with that trap

A block of a document is fenced with an info string:
    ```cuda                        declarations at namespace scope, behind the wrapper headers
    ```cuda trap=KIND [threads=N]  a kernel `mistake` that the emulator must stop with this trap
    ```cpp                         a whole candidate
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWLEDGE = ROOT / "knowledge"
INCLUDE = KNOWLEDGE / "hopper/include"
Block = collections.namedtuple("Block", "place line kind trap threads text")

PRELUDE = """
namespace blocks {
using namespace ptxbench::ptx;
extern __shared__ __align__(1024) uint8_t dynamic_shared[];
}
"""
# One program for all mistakes, since nvcc costs seconds: its argument chooses the kernel. Exit code 0: no error showed.
MAIN = """
template <class Kernel>
int launch(Kernel kernel, int threads) {
  void* matrix = nullptr;
  float* out = nullptr;
  cudaMalloc(&matrix, 256 * 256 * 2);
  cudaMemset(matrix, 0, 256 * 256 * 2);
  cudaMalloc(&out, 64 * 256 * 4);
  const CUtensorMap map = ptxbench::ptx::make_tensor_map_2d(matrix, 256, 256, 64, 64);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  kernel<<<1, threads, 65536>>>(map, out);
  return cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}
int main(int, char** argv) {
  switch (std::atoi(argv[1])) {
%s
  }
  return 2;
}
"""


def find_nvcc():
    for place in (os.environ.get("PTXBENCH_NVCC"), ROOT / ".toolchain/cuda/bin/nvcc", shutil.which("nvcc"),
                  "/usr/local/cuda/bin/nvcc"):
        if place and os.access(place, os.X_OK):
            return str(place)
    sys.exit("no nvcc: looked in $PTXBENCH_NVCC, .toolchain/cuda, PATH and /usr/local/cuda; run scripts/setup")


def compile_program(source, program):
    """The whole way to sm_90a code, so that ptxas sees every instruction; and PTX, which the emulator runs."""
    done = subprocess.run([find_nvcc(), "-std=c++17", "-gencode", "arch=compute_90a,code=[sm_90a,compute_90a]", "-cudart",
                           "shared", "-I", INCLUDE, "-I", ROOT / "include", source, "-o", program],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{source} does not compile:\n{(done.stdout + done.stderr)[:4000]}")


def emulate(ptxbench, program, *arguments, schedule="latest"):
    return subprocess.run([ptxbench, "emulate", "--schedule", schedule, "--", program, *arguments], capture_output=True,
                          text=True, timeout=120)


def manifests():
    for path in sorted(KNOWLEDGE.glob("*/pack.toml")):
        yield path, tomllib.loads(path.read_text())


def documents():
    names = {(path.parent / name).resolve()
             for path, manifest in manifests() for level in manifest["level"] for name in level.get("documents", [])}
    unlisted = set(KNOWLEDGE.rglob("*.md")) - names
    if unlisted:
        sys.exit(f"no pack.toml lists {sorted(map(str, unlisted))}")
    return sorted(names)


def blocks_of(path):
    lines = path.read_text().splitlines()
    start = None
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if start is None:
            start, info = number, line[3:].split()
            continue
        if info and info[0] in ("cuda", "cpp"):
            fields = dict(word.split("=") for word in info[1:])
            yield Block(path.relative_to(KNOWLEDGE), start + 1, info[0], fields.pop("trap", None),
                        int(fields.pop("threads", 128)), "\n".join(lines[start:number - 1]))
            if fields:
                sys.exit(f"{path}:{start}: unknown fields {fields}")
        else:
            sys.exit(f"{path}:{start}: a fence is ```cuda or ```cpp, so that it is compiled; indent other text")
        start = None
    if start is not None:
        sys.exit(f"{path}:{start}: a fence that is not closed")


def program_of(blocks):
    headers = sorted(INCLUDE.glob("ptxbench/ptx/hopper/*.cuh"))
    text = ["#include <cuda_bf16.h>\n#include <cuda_runtime.h>\n#include <cstdlib>\n"]
    text += [f"#include <{header.relative_to(INCLUDE)}>\n" for header in headers]
    text += [f'#line {b.line} "{b.place}"\n{b.text}\n' for b in blocks if b.kind == "cpp"]
    text.append(PRELUDE)
    cases = []
    places = sorted({block.place for block in blocks})
    for index, block in enumerate(blocks):  # the blocks of a document build on each other; mistakes have names of their own
        space = f"blocks::d{places.index(block.place)}" + (f"::m{index}" if block.trap else "")
        if block.kind == "cuda":
            text.append(f'namespace {space} {{\n#line {block.line} "{block.place}"\n{block.text}\n}}\n')
        if block.trap:
            cases.append(f"case {index}: return launch({space}::mistake, {block.threads});")
    return "".join(text) + MAIN % "\n".join(cases)


def check_blocks(ptxbench, folder):
    blocks = [block for path in documents() for block in blocks_of(path)]
    source, program = folder / "blocks.cu", folder / "blocks"
    source.write_text(program_of(blocks))
    compile_program(source, program)
    mistakes = [(index, block) for index, block in enumerate(blocks) if block.trap]

    def fault_of(numbered):
        index, block = numbered
        done = emulate(ptxbench, program, str(index))
        found = re.findall(r"trap \[(\w+)\]", done.stderr)
        if found[:1] == [block.trap]:
            return None
        return f"{block.place}:{block.line}: says trap={block.trap}, gives {found or 'no trap'}\n{done.stderr}{done.stdout}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = [fault for fault in pool.map(fault_of, mistakes) if fault]
    print(f"{len(blocks)} blocks compile, {len(mistakes)} of them are mistakes, {len(faults)} of those wrong")
    if faults or not mistakes:
        sys.exit("\n".join(faults) or "no block is marked as a mistake")


def check_wrappers(ptxbench, folder):
    source, program = ROOT / "tests/packs/wrappers.cu", folder / "wrappers"
    text = source.read_text()
    untested = [f"{header.name}: {name}" for header in INCLUDE.glob("ptxbench/ptx/hopper/*.cuh")
                for name in re.findall(r"__device__ __forceinline__ [\w:]+ (\w+)\(|^inline \w+ (\w+)\(", header.read_text(),
                                       re.M) for name in name if name and not re.search(rf"\b{name}\b", text)]
    if untested:
        sys.exit(f"wrappers without a test: {untested}")
    compile_program(source, program)
    names = set(re.findall(r'(?:compare|report|test_load)\([-\d, ]*"([^"]+)"', text))
    for schedule in ("latest", "earliest"):
        done = emulate(ptxbench, program, schedule=schedule)
        good = set(re.findall(r"^ok (.+)$", done.stdout, re.M))
        if done.returncode or "FAILED" in done.stdout or names - good:
            sys.exit(f"schedule {schedule}: {done.stdout}{done.stderr}missing: {sorted(names - good)}")
    print(f"{len(names)} tests of wrappers under two schedules")


def assembled(name, folder, old="", new=""):
    """A candidate with the blocks of a document in the place of its marker line, and `old`, which is there, replaced."""
    text = (ROOT / "tests/packs" / f"{name}.cu").read_text()
    marker = re.search(r"^// @blocks (\S+)\n", text, re.M)
    blocks = [block.text for block in blocks_of(KNOWLEDGE / marker[1]) if not block.trap]
    text = text.replace(marker[0], "\n\n".join(blocks) + "\n")
    if old not in text:
        sys.exit(f"{name}: does not contain {old!r}")
    text = text.replace(old, new)
    path = folder / f"{name}.cu"
    path.write_text(text)
    return path


def check_levels(ptxbench, folder):
    def judge(source, task, level):
        done = subprocess.run([ptxbench, "eval", source, "--task", task, "--pack", level, "--json"], capture_output=True,
                              text=True, env={**os.environ, "PTXBENCH_CACHE": str(folder / "cache")})
        verdict = json.loads(done.stdout) if done.returncode < 3 and done.stdout else {}
        return verdict.get("status", done.stderr), done.stdout

    causal = ("kCausal = false", "kCausal = true")
    # The compiler fence behind a wait must not hide that the wait is missing.
    no_wait = ("  wgmma_wait<0>();\n  registers_change_here(sums);", "  registers_change_here(sums);")
    runs = [("gemm", (), "gemm_n7168_k5120", "L4", "PASSED", "pack headers"),
            ("attention", (), "mha_with_lse_d128", "L4", "PASSED", "pack headers"),
            ("attention", causal, "mha_with_lse_d128_causal", "L4", "PASSED", "pack headers"),
            ("gemm", no_wait, "gemm_n7168_k5120", "L4", "RUNTIME_ERROR", "register_in_flight"),
            ("gemm", (), "gemm_n7168_k5120", "L1", "COMPILE_ERROR", "ptxbench/ptx/hopper/")]
    for name, replacement, task, level, wanted, mention in runs:
        status, record = judge(assembled(name, folder, *replacement), task, level)
        print(f"{name} {task} {level}: {status}")
        if status != wanted or mention not in record:
            sys.exit(f"expected {wanted} and {mention!r} in the record:\n{record[:6000]}")


def check_fresh():
    counts = json.loads((KNOWLEDGE / "tokens.json").read_text())["files"]
    wanted = {path.relative_to(KNOWLEDGE).as_posix() for path in documents()}
    for path, manifest in manifests():
        for level in manifest["level"]:
            wanted |= {(path.parent / level["include"] / name).relative_to(KNOWLEDGE).as_posix()
                       for name in level.get("headers", [])}
    stale = [name for name in sorted(wanted | set(counts)) if name not in counts or name not in wanted or
             hashlib.sha256((KNOWLEDGE / name).read_bytes()).hexdigest() != counts[name]["sha256"]]
    if stale:
        sys.exit(f"knowledge/tokens.json is out of date for {stale}: run scripts/count_tokens")
    check_table(counts)
    check_trap_names()
    sys.exit(subprocess.run([sys.executable, ROOT / "scripts/generate_wgmma_shapes", "--check"]).returncode)


def check_trap_names():
    """Documents call traps as the emulator does: behind the word "trap", and in the first column of contracts/hangs.md."""
    known = set(re.findall(r'return "(\w+)";', (ROOT / "src/ptxbench/emu/types.cc").read_text()))
    said = {name for path in documents() for name in re.findall(r"\btraps?\s+`(\w+)`", path.read_text())}
    first = re.findall(r"^\| (`.*?) \|", (KNOWLEDGE / "hopper/contracts/hangs.md").read_text(), re.M)
    said |= {name for cell in first for name in re.findall(r"`(\w+)`", cell)}
    if said - known or len(said) < 10:
        sys.exit(f"traps that the emulator does not have: {sorted(said - known)}; names found: {len(said)}")


def check_table(counts):
    """docs/packs.md has the sums of the levels."""
    sums = collections.defaultdict(list)
    for path, manifest in manifests():
        total = 0
        for level in manifest["level"]:
            files = [path.parent / name for name in level.get("documents", [])]
            files += [path.parent / level["include"] / name for name in level.get("headers", [])]
            total += sum(counts[file.resolve().relative_to(KNOWLEDGE).as_posix()]["tokens"] for file in files)
            sums[level["name"]].append((manifest["target"], total))
    page = (ROOT / "docs/packs.md").read_text()
    for level, totals in sums.items():
        row = re.search(rf"^\| {level} \|.*\| (\S+) \| (\S+) \|$", page, re.M)
        wanted = {"blackwell": "-", "hopper": "-"} | {target: str(total) for target, total in totals}
        if not row or row.groups() != (wanted["hopper"], wanted["blackwell"]):
            sys.exit(f"docs/packs.md: the row of {level} must end with {wanted['hopper']} | {wanted['blackwell']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxbench", default="ptxbench")
    for mode in ("fresh", "recount", "wrappers", "blocks", "levels"):
        parser.add_argument(f"--{mode}", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.fresh:
            check_fresh()
        if options.recount:
            sys.exit(subprocess.run([sys.executable, ROOT / "scripts/count_tokens", "--check"]).returncode)
        if options.wrappers:
            check_wrappers(options.ptxbench, pathlib.Path(folder))
        if options.levels:
            check_levels(options.ptxbench, pathlib.Path(folder))
        if options.blocks:
            check_blocks(options.ptxbench, pathlib.Path(folder))


if __name__ == "__main__":
    main()
