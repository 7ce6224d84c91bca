#!/usr/bin/env python3
"""Time and memory of a report, and how they grow.  Usage: bench/report_bench.py BUILD_FOLDER

Whole processes on warm files: reading, measuring and comparing, the median of three. The run folders are copies of the
demonstration's trajectory (three turns, their verdicts whole) over two models and five tasks, made in a temporary folder:
100,000 turns are 2 GB, since its kernels are cut to 120 lines; one row has them whole. The imported ones hold made-up turns."""
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TASKS = ["gemm_n7168_k5120", "mha_with_lse_d128", "mha_with_lse_d128_causal", "mha_bwd_d128", "gemm_n4096_k4096"]


def demonstration(program, folder):
    """(manifest, the log's events) of the bundled run; it is judged here, so that its verdicts are of today."""
    subprocess.run([program, "run", "--demo", "--out", folder], check=True, capture_output=True)
    lines = (folder / "trajectories/001/events.jsonl").read_text().splitlines()
    return json.loads((folder / "run.json").read_text()), [json.loads(line) for line in lines]


def shortened(event, lines):
    """The same event with shorter kernels and answers. Python keeps the fields' order."""
    cut = lambda text: "\n".join(text.split("\n")[:lines])
    return {key: cut(value) if key in ("source", "text") else value for key, value in event.items()}


def run_folder(folder, turns, manifest, events, lines):
    events = [shortened(event, lines) for event in events]
    start, rest = events[0], "".join(json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n" for event in events[1:])
    plan, models = manifest["trajectories"][0], [{**manifest["models"][0], "name": name} for name in ("alpha", "beta")]
    count = -(-turns // sum(event["event"] == "judged" for event in events))
    plans = [{**plan, "id": f"{i:06}", "repeat": 1 + i, "model": models[i % 2]["name"], "task": TASKS[i // 2 % 5]} for i in range(count)]
    for one in plans:
        place = folder / "trajectories" / one["id"]
        place.mkdir(parents=True)
        (place / "events.jsonl").write_text(json.dumps({**start, "id": one["id"]}, separators=(",", ":")) + "\n" + rest)
    (folder / "run.json").write_text(json.dumps({**manifest, "models": models, "trajectories": plans}))


def imported_folder(folder, turns):
    folder.mkdir()
    make = random.Random(1)
    cells = [{"run": f"{model} {task}", "model": model, "target": "hopper", "task": task, "workload": "w", "language": "cuda",
              "model_date": "", "date_kind": "", "recording": False} for model in ("alpha", "beta") for task in TASKS]
    trajectories = [{"id": str(i), "cell": i % 10, "pack": "L1", "planned_turns": 8, "open": False} for i in range(turns // 8)]
    (folder / "observations.json").write_text(json.dumps({
        "schema": "ptxbench.observations.v2", "source": "made up", "notes": [], "published": [], "references": [],
        "cells": cells, "trajectories": trajectories}))
    with (folder / "turns.jsonl").open("w") as out:
        for i in range(turns):
            passed = make.random() < 0.2
            turn = {"trajectory": i // 8, "turn": 1 + i % 8, "status": "PASSED" if passed else "RUNTIME_ERROR", "correct_paper": passed}
            out.write(json.dumps({**turn, **({"speedup": make.random()} if passed else {}), "reasoning_tokens": make.randrange(50000)}) + "\n")


def in_child(make, *arguments):
    """What this process has held counts as the peak of the programs that it starts, so folders are made in another."""
    child = os.fork()
    if child == 0:
        make(*arguments)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("bench: the run folder could not be made")


def measure(command):
    """(median wall seconds, median CPU seconds, largest peak in MiB) of three runs after one that warms the files."""
    figures = []
    for i in range(4):
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"bench: {' '.join(map(str, command))} failed")
        figures.append((time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    wall, cpu, peak = zip(*figures[1:])
    return statistics.median(wall), statistics.median(cpu), max(peak)


def main():
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release").resolve() / "bin/ptxbench"
    print(f"{len(os.sched_getaffinity(0))} cores; report --by model,task --compare model=alpha:beta")
    print(f"{'':<34}{'turns':>9}{'MB':>8}{'wall s':>9}{'CPU s':>9}{'CPU us/turn':>13}{'peak MiB':>10}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ptxbench-bench-") as place:
        place = pathlib.Path(place)
        manifest, events = demonstration(program, place / "demo")
        native = lambda lines: lambda folder, turns: run_folder(folder, turns, manifest, events, lines)
        cases = [("run folder, kernels of 120 lines", native(120), turns) for turns in (25_000, 50_000, 100_000)]
        cases += [("run folder, kernels of 450 lines", native(10_000), 25_000)]
        cases += [("imported", imported_folder, turns) for turns in (25_000, 50_000, 100_000)]
        for title, make, turns in cases:
            folder = place / "data"
            in_child(make, folder, turns)
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            seconds, cpu, peak = measure([program, "report", folder, "--by", "model,task", "--compare", "model=alpha:beta"])
            print(f"{title:<34}{turns:>9}{size / 1e6:>8.0f}{seconds:>9.2f}{cpu:>9.2f}{1e6 * cpu / turns:>13.1f}{peak:>10.0f}", flush=True)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
