#!/usr/bin/env python3
"""Packs a build with scripts/dist, unpacks the archive into an empty folder, and runs it from there with an environment
that knows nothing of the source tree. Usage: dist_test.py BUILD [unittest options]"""
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
# What an archive may expect of a system: the C and C++ runtimes, the loader. All else comes along or is opened at run time.
RUNTIME = re.compile(r"(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s))\.so\.\d+")
LIMIT = 40 << 20


def dynamic_section(path):
    text = subprocess.run(["readelf", "-dW", str(path)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\((NEEDED|RPATH|RUNPATH)\).*\[(.*)\]", text)


class Dist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="ptxbench-dist-")
        folder = pathlib.Path(cls.temporary.name)
        packed = subprocess.run([str(ROOT / "scripts/dist"), str(BUILD), str(folder / "out")], capture_output=True, text=True)
        if packed.returncode:
            raise AssertionError(f"scripts/dist: exit code {packed.returncode}\n{packed.stdout}{packed.stderr}")
        print(packed.stdout.strip())
        (cls.archive,) = (folder / "out").glob("ptxbench-*-linux-*.tar.gz")
        with tarfile.open(cls.archive) as archive:
            archive.extractall(folder / "unpacked")
        (cls.root,) = (folder / "unpacked").iterdir()
        (folder / "home").mkdir()
        cls.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "LC_ALL": "C"}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_program(self, *arguments, expect=0, timeout=300):
        run = subprocess.run([str(self.root / "bin/ptxbench"), *arguments], cwd="/", env=self.environment, text=True,
                             capture_output=True, timeout=timeout)
        self.assertEqual(run.returncode, expect, run.stdout + run.stderr)
        return run.stdout

    def binaries(self):
        files = [path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink()]
        return [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]

    def test_size(self):
        self.assertLessEqual(self.archive.stat().st_size, LIMIT)

    def test_programs_and_shim_are_there(self):
        names = {path.name for path in self.binaries()}
        for name in ("ptxbench", "ptxbench-host", "ptxbench-supervisor", "ptxbench-device-emu", "libcudart.so.13", "libcuda.so.1"):
            self.assertIn(name, names)

    def test_what_is_needed_is_inside_or_a_runtime(self):
        # The private libcuda and libcudart are for candidates only: none of our own programs may be linked with them.
        own = {path.name for path in (self.root / "lib/ptxbench").iterdir() if path.is_file()}
        shim = {path.name for path in (self.root / "lib/ptxbench/shim").iterdir()}
        for path in self.binaries():
            for kind, value in dynamic_section(path):
                with self.subTest(file=path.name, kind=kind, value=value):
                    if kind == "NEEDED":
                        inside = own | (shim if path.parent.name == "shim" else set())
                        self.assertTrue(value in inside or RUNTIME.fullmatch(value), f"{path.name} needs {value}")
                    else:
                        self.assertTrue(value.startswith("$ORIGIN"), value)

    def test_the_loader_takes_what_is_inside(self):
        # As found on this machine, which has its own copies of most of these libraries.
        for path in self.binaries():
            if path.parent.name != "bin":
                continue
            listing = subprocess.run(["ldd", str(path)], capture_output=True, text=True, env=self.environment).stdout
            self.assertNotIn("not found", listing, path)
            for name, place in re.findall(r"(\S+) => (\S+)", listing):
                if not RUNTIME.fullmatch(name):
                    self.assertTrue(place.startswith(str(self.root)), f"{path.name}: {name} from {place}")

    def test_licences_of_what_it_brings_along(self):
        licenses = list((self.root / "share/doc/ptxbench/licenses").glob("*.txt"))
        self.assertTrue(licenses)
        self.assertTrue((self.root / "share/doc/ptxbench/LICENSE").is_file())
        self.assertTrue((self.root / "share/ptxbench/tvm-ffi/licenses/NOTICE").is_file())

    def test_nothing_of_nvidia_is_inside(self):
        for path in self.root.rglob("*"):
            if path.is_file() and path.parent.name != "shim":
                self.assertNotRegex(path.name, r"^(lib)?(cuda|cudart|cudnn|cublas|cublasLt|cupti|nvrtc|nvdisasm|nvcc|ptxas)([.\-].*)?$")

    def test_doctor_finds_its_own_parts(self):
        text = self.run_program("doctor")
        for part in ("bin/ptxbench-device-emu", "bin/ptxbench-host", "lib/ptxbench/shim", "share/ptxbench/suites",
                     "share/ptxbench/include", "share/ptxbench/tvm-ffi/include"):
            self.assertIn(str(self.root / part), text)

    def test_tasks(self):
        self.assertIn("gemm_n7168_k5120", self.run_program("tasks"))

    def test_an_evaluation_on_the_emulator(self):
        kernel = self.root / "share/ptxbench/kernels/hopper/gemm.cu"
        verdict = json.loads(self.run_program("eval", str(kernel), "--task", "gemm_n7168_k5120", "--workload", "emu", "--device",
                                              "emu", "--json"))
        self.assertEqual(verdict["status"], "PASSED")
        # M=128 N=7168 K=5120: 2 M N K, all of it by wgmma.
        families = {family["family"]: family for family in verdict["layers"]["executed"]["families"]}
        self.assertEqual(families["wgmma"]["flops"], 2 * 128 * 7168 * 5120)


if __name__ == "__main__":
    unittest.main()
