#!/usr/bin/env python3
"""Judges mutants of our kernels: small faults that `ptxbench eval` must find, name and explain.

A mutant is a recipe (mutants/*.mutant): a source file, replacements in it, and the verdict that it must get. Its form:

    # what is wrong, in words
    base: kernels/hopper/gemm.cu         a file of the repository; a .mutant: what that recipe makes
    task: gemm_n7168_k5120
    status: RUNTIME_ERROR | TIMEOUT      any of these
    layer: correct                       the layer that must be the failed one; none for PASSED
    timeout: 3                           seconds for one run, where waiting for the default would be waste
    mention: wgmma.wait_group            words that the verdict must contain, in any case; repeatable
    flops: wgmma 9395240960              FLOPs of a family, exactly; repeatable; bytes likewise
    replace <<<
    text that stands exactly once in the source
    ===
    other text, or nothing
    >>>

    mutants_test.py --check               every recipe is well-formed and fits its base (no compiler, no ptxbench)
    mutants_test.py --ptxbench BIN NAME…  evaluates these, or all
    mutants_test.py --write FOLDER        writes the mutated sources, for other uses
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent / "mutants"
ROOT = FOLDER.parents[2]
LAYERS = ("compile", "correct", "executed", "fast")
STATUSES = {"PASSED", "COMPILE_ERROR", "POLICY_VIOLATION", "RUNTIME_ERROR", "TIMEOUT", "INCORRECT_SHAPE", "INCORRECT_DTYPE",
            "INCORRECT_NUMERICAL", "TARGET_NOT_EXECUTED", "MEASUREMENT_VOID", "INFRA_ERROR"}
# The fields of a verdict that explain it to the kernel's author. Not what the candidate or the compiler printed, and not
# figures or names that are there in any case.
EXPLANATION = {"message", "text", "rule", "where", "what", "hints", "instruction", "refusals", "source_file"}


class Bad(Exception):
    """What is wrong with a recipe, or with a verdict."""


class Recipe:
    def __init__(self, path):
        self.name = path.stem
        self.fields, self.replacements = {}, []
        text = path.read_text()
        for block in re.finditer(r"^replace <<<\n(.*?)^===\n(.*?)^>>>\n", text, re.M | re.S):
            self.replacements.append((block[1], block[2]))
        head = re.sub(r"^replace <<<\n.*?^>>>\n", "", text, flags=re.M | re.S)
        for number, line in enumerate(head.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            match = re.fullmatch(r"(base|task|status|layer|timeout|mention|flops|bytes): (.+)", line)
            if not match:
                raise Bad(f"{path.name}: cannot read line {number} of its fields: {line!r}")
            self.fields.setdefault(match[1], []).append(match[2].strip())
        for key in ("base", "task", "status", "layer"):
            if len(self.fields.get(key, [])) != 1:
                raise Bad(f"{path.name}: needs exactly one '{key}:'")
        self.base, self.task, self.layer = (self.fields[key][0] for key in ("base", "task", "layer"))
        self.statuses = [word.strip() for word in self.fields["status"][0].split("|")]
        if set(self.statuses) - STATUSES:
            raise Bad(f"{path.name}: unknown status in {self.statuses}")
        if self.layer not in LAYERS + ("none",) or (self.layer == "none") != (self.statuses == ["PASSED"]):
            raise Bad(f"{path.name}: layer is one of {', '.join(LAYERS)}, or none with PASSED alone; found {self.layer}")
        if not text.startswith("# "):
            raise Bad(f"{path.name}: starts with a comment that says what is wrong in the mutant")

    def source(self):
        base = ROOT / self.base
        text = Recipe(base).source() if base.suffix == ".mutant" else base.read_text()
        for old, new in self.replacements:
            # The line ends of a recipe are not part of the text, so that a replacement can be a part of a line.
            old, new = old.removesuffix("\n"), new.removesuffix("\n")
            if text.count(old) != 1:
                raise Bad(f"{self.name}: stands {text.count(old)} times in {self.base}, must be once:\n{old}")
            text = text.replace(old, new)
        return text


def words_of(value, explains=False):
    """All words in a record that explain the verdict."""
    if isinstance(value, dict):
        return " ".join(words_of(v, k in EXPLANATION) for k, v in value.items())
    if isinstance(value, list):
        return " ".join(words_of(v, explains) for v in value)
    return value if explains and isinstance(value, str) else ""


def check_verdict(recipe, verdict, code):
    status, layers = verdict["status"], verdict["layers"]
    if status not in recipe.statuses:
        raise Bad(f"status {status} ({verdict.get('message')}), expected {' or '.join(recipe.statuses)}")
    failed = [name for name in LAYERS if layers[name]["state"] == "failed"]
    if failed != ([] if recipe.layer == "none" else [recipe.layer]):
        raise Bad(f"failed layers {failed}, expected {recipe.layer}")
    if code != (0 if status == "PASSED" else 1):
        raise Bad(f"exit code {code} with {status}")
    if status != "PASSED" and not verdict.get("message"):
        raise Bad("no message")
    words = words_of(verdict).lower()
    for mention in recipe.fields.get("mention", []):
        if not re.search(r"(?<!\w)" + re.escape(mention.lower()) + r"(?!\w)", words):
            raise Bad(f"the verdict does not mention {mention!r}; it says: {verdict.get('message')}")
    counts = {family["family"]: family for family in layers["executed"].get("families", [])}
    for figure in ("flops", "bytes"):
        for expected in recipe.fields.get(figure, []):
            family, number = expected.split()
            found = counts.get(family, {}).get(figure)
            if found != int(number):
                raise Bad(f"{figure} of {family}: {found}, expected {number}")


def evaluate(recipe, ptxbench, extra):
    with tempfile.TemporaryDirectory(prefix="ptxbench-mutant-") as folder:
        source = pathlib.Path(folder) / f"{recipe.name}.cu"
        source.write_text(recipe.source())
        command = [ptxbench, "eval", str(source), "--task", recipe.task, "--target", "hopper", "--workload", "emu", "--device",
                   "emu", "--rules", "strict", "--seed", "1", "--json", *extra]
        for seconds in recipe.fields.get("timeout", []):
            command += ["--timeout", seconds]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300)
        try:
            verdict = json.loads(result.stdout)
        except json.JSONDecodeError:
            raise Bad(f"no JSON on stdout, exit code {result.returncode}; stderr: {result.stderr[-2000:]}") from None
        check_verdict(recipe, verdict, result.returncode)
        return f"{verdict['status']}: {verdict.get('message') or 'in every measured layer'} ({verdict.get('seconds', 0):.1f} s)"


def check_pairs():
    """The attention kernels with and without a causal mask, each complete in itself, differ in one constant only."""
    line = "constexpr bool kCausal = false;"
    for name in ("mha_fwd", "mha_bwd"):
        plain, causal = ((ROOT / "kernels/hopper" / file).read_text() for file in (f"{name}.cu", f"{name}_causal.cu"))
        if plain.count(line) != 1 or plain.replace(line, line.replace("false", "true")) != causal:
            raise Bad(f"{name}_causal.cu must be {name}.cu with another value in the line '{line}': copy the change to both")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--ptxbench", metavar="BIN", help="evaluate with this program")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="evaluations at a time")
    parser.add_argument("--eval-option", action="append", default=[], help="passed on to ptxbench eval; repeatable")
    options = parser.parse_args()
    try:
        recipes = [Recipe(path) for path in sorted(FOLDER.glob("*.mutant"))]
        unknown = set(options.names) - {recipe.name for recipe in recipes}
        if unknown:
            raise Bad(f"no such mutant: {', '.join(sorted(unknown))}")
        if options.names:
            recipes = [recipe for recipe in recipes if recipe.name in options.names]
        sources = {recipe.name: recipe.source() for recipe in recipes}
        check_pairs()
    except Bad as bad:
        print(f"mutants: {bad}", file=sys.stderr)
        return 1
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        for name, text in sources.items():
            (options.write / f"{name}.cu").write_text(text)
    if options.check:
        print(f"mutants: {len(recipes)} recipes fit their sources")
    if not options.ptxbench:
        return 0
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {recipe.name: pool.submit(evaluate, recipe, options.ptxbench, options.eval_option) for recipe in recipes}
        for name, run in runs.items():
            try:
                print(f"ok    {name}: {run.result()}", flush=True)
            except (Bad, KeyError, OSError, subprocess.TimeoutExpired) as problem:
                failures += 1
                print(f"FAIL  {name}: {problem!r}" if isinstance(problem, KeyError) else f"FAIL  {name}: {problem}", flush=True)
    print(f"mutants: {len(recipes) - failures} of {len(recipes)} as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
