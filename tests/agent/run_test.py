#!/usr/bin/env python3
"""ptxbench run as a user meets it, on the emulator. Usage: run_test.py PTXBENCH [--rebase] [unittest options]

--rebase rewrites docs/feedback.md's examples from what the program says now."""
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PTXBENCH = str(pathlib.Path(sys.argv.pop(1)).resolve())
REBASE = "--rebase" in sys.argv
if REBASE:
    sys.argv.remove("--rebase")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KERNEL = (ROOT / "kernels/hopper/gemm.cu").read_text()
DOC = ROOT / "docs/feedback.md"
# Fields that no repetition can keep: src/ptxbench/agent/canonical.h.
TIMES = {"at", "created", "timestamp", "seconds", "wait_seconds", "judge_seconds", "phases", "cached",
         "first_token_seconds", "lost_requests", "possible_cost_of_lost_requests_usd"}


def changed(old, new):
    assert KERNEL.count(old) == 1, (old, KERNEL.count(old))
    return KERNEL.replace(old, new)


# One candidate per status, most of them a small change of the kernel that passes.
CASES = (
    ("NO_KERNEL", "Use wgmma with four stages, like this:\n\n```cuda\n__global__ void gemm() { /* ... */ }\n```\n"),
    ("COMPILE_ERROR", changed("sums_change_here(sums);\n  if (first_lane)", "sums_change_hear(sums);\n  if (first_lane)")),
    ("POLICY_VIOLATION", "#include <cublas_v2.h>\n" + KERNEL),
    # The producer announces fewer bytes than the copies bring.
    ("RUNTIME_ERROR", changed("mbarrier_arrive_expect_tx(full, kBytesA + kBytesB);",
                              "mbarrier_arrive_expect_tx(full, kBytesA);")),
    ("INCORRECT_NUMERICAL", changed("for (int k = 0; k < kTileK / kWgmmaK; ++k) {",
                                    "for (int k = 0; k < kTileK / kWgmmaK - 1; ++k) {")),
    # Right, with the matrix instruction of an older generation.
    ("TARGET_NOT_EXECUTED", (ROOT / "tests/kernels/mutants/mma_sync_gemm.cu").read_text()),
    ("PASSED", KERNEL),
)
TEXT = dict(CASES)


def recording(folder, answers, name="r.traj.json"):
    path = pathlib.Path(folder) / name
    path.write_text(json.dumps({"info": {"recording": "for a test"}, "messages": [
        {"role": "assistant", "content": text if "```" in text else f"```cuda\n{text}```\n", "extra": {"cost": 0.01}}
        for text in answers]}))
    return path


def ptxbench(*arguments):
    return subprocess.run([PTXBENCH, *map(str, arguments)], text=True, capture_output=True, timeout=600)


def strip(value):
    if isinstance(value, dict):
        return {key: strip(child) for key, child in value.items() if key not in TIMES}
    return [strip(child) for child in value] if isinstance(value, list) else value


def canonical(run):
    files = {}
    for path in sorted(pathlib.Path(run).rglob("*")):
        if not path.is_file() or path.name == "lock" or path.suffix == ".tmp":
            continue
        text = path.read_text()
        if path.suffix == ".json":
            text = json.dumps(strip(json.loads(text)))
        elif path.suffix == ".jsonl":
            lines = [strip(json.loads(line)) for line in text.splitlines()]
            lines = [line for line in lines if line.get("event") != "suspend"]
            lines = [line for line, after in zip(lines, lines[1:] + [{}])
                     if line.get("event") != "request" or after.get("event") == "reply"]
            text = "\n".join(map(json.dumps, lines))
        files[str(path.relative_to(run))] = text
    return files


class Run(unittest.TestCase):
    def test_demo(self):
        with tempfile.TemporaryDirectory() as folder:
            run = ptxbench("run", "--demo", "--out", f"{folder}/demo", "--json")
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            summary = json.loads(run.stdout)
            self.assertEqual(summary["results"][0]["results"], ["COMPILE_ERROR", "INCORRECT_NUMERICAL", "PASSED"])
            self.assertIn("PASSED", ptxbench("show", f"{folder}/demo/001/3").stdout)
            self.assertIn("target_reached", ptxbench("show", f"{folder}/demo/001").stdout)
            self.assertIn("1 of 1", ptxbench("show", f"{folder}/demo").stdout)
            trajectory = json.loads(pathlib.Path(f"{folder}/demo/trajectories/001/001.traj.json").read_text())
            self.assertEqual([message["role"] for message in trajectory["messages"]],
                             ["system", "user"] + ["assistant", "user"] * 3 + ["exit"])
            self.assertEqual(trajectory["info"]["exit_status"], "Submitted")
            self.assertIn("recording", trajectory["info"])

    def test_demo_recording_is_made_of_the_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, ROOT / "experiments/make_demo.py", f"{folder}/demo.json"], check=True)
            self.assertEqual(pathlib.Path(f"{folder}/demo.json").read_text(),
                             (ROOT / "experiments/demo.traj.json").read_text(), "run experiments/make_demo.py")

    def test_four_trajectories_killed_and_resumed(self):
        with tempfile.TemporaryDirectory() as folder:
            first = recording(folder, [TEXT["COMPILE_ERROR"], TEXT["NO_KERNEL"], TEXT["RUNTIME_ERROR"]], "a.traj.json")
            second = recording(folder, [TEXT["NO_KERNEL"], TEXT["POLICY_VIOLATION"], TEXT["COMPILE_ERROR"]], "b.traj.json")
            flags = ["run", "--model", f"replay:{first}", "--model", f"replay:{second}", "--trajectories", "2", "--pack", "L0",
                     "--turns", "3", "--seed", "3", "--out"]
            run = ptxbench(*flags, f"{folder}/whole", "--json")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual([row["results"] for row in json.loads(run.stdout)["results"]],
                             [["COMPILE_ERROR", "NO_KERNEL", "RUNTIME_ERROR"]] * 2 +
                             [["NO_KERNEL", "POLICY_VIOLATION", "COMPILE_ERROR"]] * 2)
            # The second model's recording, played with the run's own trajectory as the recording.
            again = ptxbench("run", "--model", f"replay:{folder}/whole/trajectories/003/003.traj.json", "--pack", "L0",
                             "--turns", "3", "--out", f"{folder}/again", "--json")
            self.assertEqual(json.loads(again.stdout)["results"][0]["results"],
                             ["NO_KERNEL", "POLICY_VIOLATION", "COMPILE_ERROR"])
            chance, arguments, kills = random.Random(1), [PTXBENCH, *flags, f"{folder}/killed"], 0
            for _ in range(4):
                process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(chance.uniform(0.02, 0.4))
                process.send_signal(signal.SIGKILL)
                kills += process.wait() == -signal.SIGKILL
                if pathlib.Path(f"{folder}/killed/run.json").exists() and "--resume" not in arguments:
                    arguments.append("--resume")
            self.assertGreater(kills, 0)
            end = subprocess.run(arguments, capture_output=True, text=True)
            self.assertEqual(end.returncode, 0, end.stderr)
            whole, killed = canonical(f"{folder}/whole"), canonical(f"{folder}/killed")
            self.assertEqual(set(whole), set(killed))
            for name in whole:
                self.assertEqual(whole[name], killed[name], name)

    def test_ctrl_c_is_resumable(self):
        with tempfile.TemporaryDirectory() as folder:
            path = recording(folder, [TEXT["RUNTIME_ERROR"]] * 4)
            process = subprocess.Popen([PTXBENCH, "run", "--model", f"replay:{path}", "--pack", "L0", "--turns", "4", "--out",
                                        f"{folder}/out"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            log = pathlib.Path(f"{folder}/out/trajectories/001/events.jsonl")
            while not log.exists() and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
            self.assertEqual(process.returncode, 3, errors)
            self.assertIn("--resume", errors)
            end = ptxbench("run", "--out", f"{folder}/out", "--resume", "--json")
            self.assertEqual(json.loads(end.stdout)["results"][0]["results"], ["RUNTIME_ERROR"] * 4)

    def test_bad_usage(self):
        with tempfile.TemporaryDirectory() as folder:
            path = recording(folder, ["x"])
            for arguments, word in ((("--model", f"replay:{path}"), "--out"), (("--out", f"{folder}/x"), "--model"),
                                    (("--model", f"replay:{path}", "--out", folder), "already"),
                                    (("--model", "no-such-model", "--out", f"{folder}/x"), "no-such-model"),
                                    (("--model", f"replay:{path}", "--out", f"{folder}/x", "--pack", "L9"), "L9"),
                                    (("--model", f"replay:{path}", "--out", f"{folder}/x", "--task", "nothing"), "nothing"),
                                    (("--out", f"{folder}/x", "--resume"), "run.json")):
                run = ptxbench("run", *arguments)
                self.assertEqual(run.returncode, 2, (arguments, run.stderr))
                self.assertIn(word, run.stderr)
                self.assertEqual(run.stdout, "")

    def test_feedback_examples_are_true(self):
        with tempfile.TemporaryDirectory() as folder:
            path = recording(folder, [text for _, text in CASES])
            run = ptxbench("run", "--model", f"replay:{path}", "--pack", "L0", "--turns", len(CASES), "--target-speedup", "9",
                           "--seed", "1", "--out", f"{folder}/out", "--json")
            self.assertEqual(json.loads(run.stdout)["results"][0]["results"], [status for status, _ in CASES], run.stderr)
            events = [json.loads(line) for line in
                      pathlib.Path(f"{folder}/out/trajectories/001/events.jsonl").read_text().splitlines()]
            seen = [event["feedback"] for event in events if event["event"] == "judged"]
        document = DOC.read_text()
        for (status, _), text in zip(CASES, seen):
            example = re.compile(rf"(## {status}\n[^#]*?\n````text\n).*?(````\n)", re.S)
            self.assertRegex(document, example)
            if REBASE:
                document = example.sub(lambda match: match[1] + text + match[2], document, count=1)
            else:
                self.assertIn(text, document, f"{status}: run tests/agent/run_test.py PTXBENCH --rebase")
        if REBASE:
            DOC.write_text(document)


if __name__ == "__main__":
    unittest.main()
