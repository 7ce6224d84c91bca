#!/usr/bin/env python3
"""ptxbench run --device gpu against a device process that stands for a GPU (tests/judge/fake_gpu_main.cc): kernels run on the
emulator and nobody counts machine instructions, so that the best verdict is TARGET_NOT_EXECUTED. Usage: run_gpu_test.py BUILD [unittest options]"""
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

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class RunOnGpu(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="ptxbench-run-gpu-")
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        # The program finds its parts beside itself, so it is a copy; the others are links.
        (self.folder / "bin").mkdir()
        (self.folder / "lib").symlink_to(BUILD / "lib")
        self.program = shutil.copy(BUILD / "bin/ptxbench", self.folder / "bin")
        for name in ("ptxbench-device-emu", "ptxbench-host", "ptxbench-supervisor"):
            (self.folder / "bin" / name).symlink_to(BUILD / "bin" / name)
        (self.folder / "bin/ptxbench-device-gpu").symlink_to(BUILD / "bin/ptxbench-device-fake-gpu")
        self.environment = {**os.environ, "TMPDIR": str(self.folder)}
        self.command = [str(self.program), "run", "--out", str(self.folder / "demo"), "--json"]

    def run_program(self, *arguments, **environment):
        return subprocess.run([*self.command, *arguments], text=True, capture_output=True, timeout=300,
                              env={**self.environment, **environment})

    def test_the_demo_killed_and_resumed(self):
        process = subprocess.Popen([*self.command, "--demo", "--turns", "3", "--device", "auto"], env=self.environment, start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        log = self.folder / "demo/trajectories/001/events.jsonl"
        deadline = time.monotonic() + 120
        # In the middle of a turn that is judged on the device: the first one does not compile.
        while process.poll() is None and time.monotonic() < deadline:
            if log.exists() and sum('"event":"reply"' in line for line in log.read_text().splitlines()) == 2:
                break
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL)
        manifest = json.loads((self.folder / "demo/run.json").read_text())
        self.assertEqual(manifest["experiment"]["device"], "gpu")  # what auto came to
        end = self.run_program("--resume")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertEqual(json.loads(end.stdout)["results"][0]["results"],
                         ["COMPILE_ERROR", "INCORRECT_NUMERICAL", "TARGET_NOT_EXECUTED"])
        self.assertNotIn(str(self.folder / "bin"), subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout)

    def test_a_gpu_in_quarantine_is_not_used(self):
        (self.folder / "cache/quarantine").mkdir(parents=True)
        (self.folder / "cache/quarantine/gpu-0").write_text("the GPU computed 1 where 7 is right")
        for device in ("gpu", "auto"):
            run = self.run_program("--demo", "--device", device, PTXBENCH_CACHE=str(self.folder / "cache"))
            self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
            self.assertIn("the GPU computed 1 where 7 is right", run.stderr)
            self.assertIn("--clear-quarantine", run.stderr)
            self.assertFalse((self.folder / "demo/run.json").exists())


if __name__ == "__main__":
    unittest.main()
