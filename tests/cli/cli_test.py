#!/usr/bin/env python3
"""The command line as a user meets it. Usage: cli_test.py PTXBENCH [unittest options]"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PTXBENCH = str(pathlib.Path(sys.argv.pop(1)).resolve())
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GEMM = str(ROOT / "kernels/hopper/gemm.cu")
TASK = "gemm_n7168_k5120"


def ptxbench(*arguments, cwd="/", env=None, timeout=300):
    return subprocess.run([PTXBENCH, *arguments], cwd=cwd, text=True, capture_output=True, timeout=timeout,
                          env={**os.environ, **(env or {})})


class Help(unittest.TestCase):
    def test_every_command_shows_an_example(self):
        top = ptxbench("--help")
        self.assertEqual(top.returncode, 0)
        for command in ("eval", "run", "tasks", "show", "inspect", "emulate", "doctor"):
            self.assertIn(command, top.stdout)
            own = ptxbench(command, "--help")
            self.assertEqual(own.returncode, 0, own.stderr)
            self.assertIn("Example:", own.stdout)
            self.assertIn(f"ptxbench {command}", own.stdout)

    def test_bad_usage_is_2_and_on_stderr(self):
        for arguments in ((), ("nonsense",), ("eval",), ("eval", GEMM), ("eval", GEMM, "--task", TASK, "--rules", "lax"),
                          ("eval", GEMM, "--task", TASK, "--seed", "-1"), ("eval", GEMM, "--task", TASK, "--timeout", "0"),
                          ("eval", GEMM, "--task", TASK, "--sanitize", "leakcheck"),
                          ("eval", GEMM, "--task", TASK, "--sanitize", "memcheck,memcheck"),
                          ("show",), ("emulate",)):
            run = ptxbench(*arguments)
            self.assertEqual(run.returncode, 2, (arguments, run.stdout, run.stderr))
            self.assertEqual(run.stdout, "")
            self.assertNotEqual(run.stderr, "")

    def test_output_that_cannot_be_written_is_no_success(self):
        for command in (["tasks", "--json"], ["--version"]):
            with open("/dev/full", "w") as full:
                end = subprocess.run([PTXBENCH, *command], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(end.returncode, 3, end.stderr)
            self.assertIn("error: cannot write the output: No space left on device", end.stderr)
        # A reader that has seen enough is told nothing: `ptxbench tasks | head`.
        reader, writer = os.pipe()
        os.close(reader)
        end = subprocess.run([PTXBENCH, "tasks", "--json"], stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        self.assertEqual((end.returncode, end.stderr), (3, ""))

    def test_tools_of_a_gpu_are_refused_on_the_emulator(self):
        for option in (("--sanitize", "memcheck,synccheck"), ("--audit",)):
            run = ptxbench("eval", GEMM, "--task", TASK, "--device", "emu", *option)
            self.assertEqual(run.returncode, 2, (run.stdout, run.stderr))
            self.assertIn(f"{option[0]} needs --device gpu; the emulator", run.stderr)


class Tasks(unittest.TestCase):
    def test_list_and_json_agree(self):
        text, record = ptxbench("tasks"), json.loads(ptxbench("tasks", "--json").stdout)
        names = {definition["name"] for definition in record}
        for name in ("gemm_n7168_k5120", "mha_with_lse_d128", "mha_with_lse_d128_causal", "mha_bwd_d128",
                     "mha_bwd_d128_causal"):
            self.assertIn(name, names)
            self.assertIn(name, text.stdout)

    def test_show_has_the_public_workload(self):
        # The uuid of the paper's headline GEMM workload.
        shown = ptxbench("show", TASK)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("94920358-01a8-4c5b-9209-3103fd490e94", shown.stdout)
        self.assertIn("M=8192", shown.stdout)

    def test_a_misspelt_name_is_helped(self):
        run = ptxbench("show", "gemm_n7168_k512")
        self.assertEqual(run.returncode, 2)
        self.assertIn(TASK, run.stderr)

    def test_a_broken_definition_names_file_and_path(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "definitions/gemm/broken.json"
            target.parent.mkdir(parents=True)
            definition = json.loads((ROOT / "suites/definitions/gemm/gemm_n7168_k5120.json").read_text())
            definition["name"] = "broken"
            definition["inputs"]["A"]["shape"] = ["M", "K2"]
            target.write_text(json.dumps(definition))
            run = ptxbench("tasks", env={"PTXBENCH_SUITES": folder})
            self.assertEqual(run.returncode, 2)
            self.assertIn("broken.json", run.stderr)
            self.assertIn("K2", run.stderr)


class BadCandidates(unittest.TestCase):
    def check(self, path, code, *words, task=TASK, arguments=()):
        run = ptxbench("eval", str(path), "--task", task, "--json", *arguments)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        self.assertNotIn("internal error", run.stderr)
        for word in words:
            self.assertIn(word, run.stdout + run.stderr)
        return run

    def test_files_that_are_no_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            self.check(folder / "missing.cu", 2, "missing.cu")
            self.check(folder, 2)
            (folder / "empty.cu").write_text("")
            self.check(folder / "empty.cu", 2, "empty")
            (folder / "binary.cu").write_bytes(os.urandom(5000) + b"\0\xff")
            self.check(folder / "binary.cu", 2, "binary.cu")
            with open(folder / "big.cu", "wb") as big:
                big.truncate(100 << 20)
            self.check(folder / "big.cu", 2, "big.cu", "limit")

    def test_unknown_task_workload_target(self):
        self.check(GEMM, 2, "no_such_task", task="no_such_task")
        self.check(GEMM, 2, "0000", arguments=("--workload", "00000000-0000"))
        self.check(GEMM, 2, "hopper", arguments=("--target", "ampere"))
        self.check(GEMM, 2, "blackwell", arguments=("--target", "blackwell"))

    def test_no_gpu_is_infrastructure(self):
        self.check(GEMM, 3, "gpu", arguments=("--device", "gpu"))

    def test_a_gpu_number_that_does_not_exist(self):
        # A made-up driver with two GPUs, as a folder of NVIDIA's libraries.
        libraries = pathlib.Path(PTXBENCH).parents[1] / "tests/gpu/fake"
        self.assertTrue((libraries / "libcuda.so.1").exists())
        for command in (("eval", GEMM, "--task", TASK),):
            run = ptxbench(*command, "--device", "gpu:7", env={"PTXBENCH_NVIDIA_LIBRARIES": str(libraries), "CUDA_VISIBLE_DEVICES": "0,1"})
            self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
            self.assertIn("there is no GPU 7: CUDA sees 2, gpu:0 to gpu:1", run.stderr)
            self.assertIn("CUDA_VISIBLE_DEVICES is '0,1'", run.stderr)

    def test_doctor_names_what_gpu_work_needs(self):
        run = ptxbench("doctor", "--json", env={**os.environ, "PTXBENCH_NVIDIA_LIBRARIES": "/nowhere"})
        inventory = json.loads(run.stdout)
        self.assertEqual(inventory["schema"], "ptxbench.inventory.v1")
        pieces = {piece["name"]: piece for piece in inventory["pieces"]}
        for name in ("CUPTI", "NVML", "cuBLASLt", "cuDNN", "nvdisasm", "ncu", "compute-sanitizer", "driver"):
            piece = pieces[name]
            if piece["state"] == "found":
                self.assertTrue(pathlib.Path(piece["path"]).exists(), piece)
            else:
                for field in ("problem", "how_to_get", "without"):
                    self.assertTrue(piece[field], piece)
        self.assertEqual(run.returncode, 3 if any(p["state"] == "missing" for p in inventory["pieces"]) else 0)

    def test_doctor_finds_gpu_tools_on_path_with_their_versions(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("ncu", "compute-sanitizer"):
                tool = pathlib.Path(folder) / name
                tool.write_text(f"#!/bin/sh\necho {name} of NVIDIA; echo Version 2025.3.1.0 '(build 1)'\n")
                tool.chmod(0o755)
            run = ptxbench("doctor", "--json", env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            pieces = {piece["name"]: piece for piece in json.loads(run.stdout)["pieces"]}
            for name in ("ncu", "compute-sanitizer"):
                self.assertEqual((pieces[name]["path"], pieces[name]["version"]), (f"{folder}/{name}", "2025.3.1.0"))

    def test_a_broken_library_does_not_take_doctor_along(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "broken.c"
            source.write_text("__attribute__((constructor)) static void start(void) { __builtin_trap(); }\n")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{folder}/libcublasLt.so.13", source], check=True)
            run = ptxbench("doctor", "--json", env={**os.environ, "PTXBENCH_NVIDIA_LIBRARIES": folder})
            pieces = {piece["name"]: piece for piece in json.loads(run.stdout)["pieces"]}
            self.assertEqual(pieces["device-gpu"]["state"], "absent")
            self.assertIn("killed by signal", pieces["device-gpu"]["problem"])

    def test_a_gpu_in_quarantine_is_named_and_taken_back(self):
        with tempfile.TemporaryDirectory() as folder:
            notes = pathlib.Path(folder) / "quarantine"
            notes.mkdir()
            (notes / "6f1c2a4e").write_text("the GPU computed 1 where 7 is right")
            env = {**os.environ, "PTXBENCH_CACHE": folder}
            self.assertRegex(ptxbench("doctor", env=env).stdout, "in quarantine +GPU 6f1c2a4e(.*\n)+ +the GPU computed 1")
            run = ptxbench("doctor", "--clear-quarantine", env=env)
            self.assertIn("1 GPUs taken back", run.stderr)
            self.assertNotIn("in quarantine", run.stdout)

    def test_no_compiler_is_infrastructure(self):
        with tempfile.TemporaryDirectory() as folder:
            run = ptxbench("eval", GEMM, "--task", TASK,
                           env={"PATH": "/usr/bin:/bin", "CUDA_HOME": folder, "CUDA_PATH": folder,
                                "PTXBENCH_TOOLCHAIN": folder, "PTXBENCH_CACHE": folder})
            if list(pathlib.Path("/usr/local").glob("cuda*/bin/nvcc")) or (ROOT / ".toolchain/cuda").exists():
                self.skipTest("a toolkit in /usr/local/cuda or .toolchain is found without any variable")
            self.assertEqual(run.returncode, 3, run.stderr)
            self.assertIn("nvcc", run.stderr)

    def test_a_missing_part_of_ours_is_not_blamed_on_nvcc(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(PTXBENCH, folder)
            for arguments in (("doctor",), ("inspect", GEMM), ("eval", GEMM, "--task", TASK)):
                run = subprocess.run([alone, *arguments], text=True, capture_output=True, timeout=60)
                self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
                self.assertRegex(run.stdout + run.stderr, "'ptxbench-(supervisor|device-emu)' is not beside")
                self.assertNotIn("does not answer", run.stdout + run.stderr)


class Evaluation(unittest.TestCase):
    def test_verdict_record(self):
        run = ptxbench("eval", GEMM, "--task", TASK, "--json", "--seed", "1")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        record = json.loads(run.stdout)
        self.assertEqual(record["schema"], "ptxbench.verdict.v1")
        self.assertEqual(record["status"], "PASSED")
        self.assertEqual({name: layer["state"] for name, layer in record["layers"].items()},
                         {"compile": "passed", "correct": "passed", "executed": "passed", "fast": "not_measured"})

    def test_what_the_emulator_cannot_execute_is_not_the_candidates_fault(self):
        source = """#include <ptxbench/ffi.h>
#include <mma.h>
__global__ void kernel(float* out) {
  using namespace nvcuda::wmma;
  fragment<accumulator, 16, 16, 16, float> sums;
  fill_fragment(sums, 0.0f);
  store_matrix_sync(out, sums, 16, mem_row_major);
}
void run(ptxbench::TensorView a, ptxbench::TensorView b, ptxbench::TensorView c) {
  kernel<<<1, 32>>>(static_cast<float*>(c.data()));
}
PTXBENCH_EXPORT(run)
"""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "wmma.cu"
            path.write_text(source)
            trace = pathlib.Path(folder) / "trace.jsonl"
            run = ptxbench("eval", str(path), "--task", TASK, "--json", "--trace", str(trace))
            self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
            record = json.loads(run.stdout)
            self.assertEqual(record["status"], "INFRA_ERROR")
            self.assertIn("wmma.store", record["message"])
            self.assertFalse(trace.exists())

    def test_trace_lines_are_appended(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "trace.jsonl"
            for count in (1, 2):
                ptxbench("eval", GEMM, "--task", TASK, "--trace", str(trace))
                lines = [json.loads(line) for line in trace.read_text().splitlines()]
                self.assertEqual(len(lines), count)
                self.assertEqual((lines[-1]["definition"], lines[-1]["evaluation"]["status"]), (TASK, "PASSED"))

    def test_two_at_once(self):
        with tempfile.TemporaryDirectory() as cache:
            command = [PTXBENCH, "eval", GEMM, "--task", TASK, "--json"]
            env = {**os.environ, "PTXBENCH_CACHE": cache}
            both = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
            for process in both:
                out, _ = process.communicate(timeout=300)
                self.assertEqual(process.returncode, 0, out)
                self.assertEqual(json.loads(out)["status"], "PASSED")

    def test_interrupt_leaves_nothing(self):
        for number, delay in ((signal.SIGINT, 0.3), (signal.SIGINT, 2.0), (signal.SIGTERM, 0.8), (signal.SIGKILL, 1.2)):
            with tempfile.TemporaryDirectory() as folder:
                mark = f"ptxbench-test-{os.getpid()}-{number}-{delay}"
                env = {**os.environ, "TMPDIR": folder, "PTXBENCH_CACHE": folder + "/cache", "PTXBENCH_TEST_MARK": mark}
                process = subprocess.Popen([PTXBENCH, "eval", GEMM, "--task", TASK, "--no-cache"], env=env,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(delay)
                children = descendants(process.pid)
                process.send_signal(number)
                process.wait(timeout=30)
                deadline = time.time() + 10
                while any(alive(pid) for pid in children) and time.time() < deadline:
                    time.sleep(0.05)
                self.assertEqual([pid for pid in children if alive(pid)], [], (number, delay))
                if number != signal.SIGKILL:
                    self.assertEqual([p.name for p in pathlib.Path(folder).glob("ptxbench.*")], [])
                else:  # the next start clears what a killed one left
                    subprocess.run([PTXBENCH, "tasks"], env=env, stdout=subprocess.DEVNULL)
                    self.assertEqual([p.name for p in pathlib.Path(folder).glob("ptxbench.*")], [])


def descendants(root):
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    found, queue = [], [root]
    while queue:
        parent = queue.pop()
        for pid, of in parents.items():
            if of == parent:
                found.append(pid)
                queue.append(pid)
    return found


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
