#!/usr/bin/env python3
"""Runs a capture program and compares what it prints, case by case, with a recording from real hardware.

    compare.py --topic wgmma [--only TEXT] [--known known.txt] -- COMMAND ...

COMMAND is the program with whatever carries it (`ptxbench emulate -- build/captures/wgmma`). A case that ends the program
does not end the comparison: the program is started again behind it. Exit code 0: every case as recorded, or known to differ;
1: a difference, or a known difference that is none any more; 2: the comparison itself could not be made.
"""
import argparse
import fnmatch
import math
import pathlib
import re
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SHOWN = 12
PATIENCE = 30  # seconds for one process; what it was at then counts as stuck


class Line:
    """`[~rule...] name: words`."""

    def __init__(self, text):
        self.rule = ""
        if text.startswith("~"):
            self.rule, _, text = text.partition(" ")
        self.name, _, rest = text.partition(": ")
        self.words = rest.split()

    @property
    def fault(self):
        return self.words[:1] == ["error"]


def parse(text):
    lines = {}
    for row in text.splitlines():
        if row and not row.startswith("#") and ": " in row:
            line = Line(row)
            lines[line.name.replace(" incomplete", "")] = line
    return lines


FLOATS = {4: ("<H", "<e"), 8: ("<I", "<f"), 16: ("<Q", "<d")}


def number(word):
    integer, real = FLOATS[len(word)]
    return struct.unpack(real, struct.pack(integer, int(word, 16)))[0]


def ordered(word):
    """Bits as an integer that grows with the value, so that a difference counts ulps."""
    bits, width = int(word, 16), 4 * len(word)
    return bits if bits < 1 << (width - 1) else (1 << (width - 1)) - bits


def close(rule, expected, found):
    """Whether one word satisfies one of the rules (`~ulp4~abs1e-6` means either); under a rule NaN matches NaN."""
    if expected == found:
        return True
    if not rule or len(expected) != len(found) or len(expected) not in FLOATS:
        return False
    e, f = number(expected), number(found)
    if math.isnan(e) or math.isnan(f):
        return math.isnan(e) and math.isnan(f)
    for kind, limit in re.findall(r"~(ulp|rel|abs)([0-9.e+-]+)", rule):
        limit = float(limit)
        if kind == "ulp" and abs(ordered(expected) - ordered(found)) <= limit:
            return True
        if math.isinf(e) or math.isinf(f):
            continue
        if kind == "rel" and abs(e - f) <= limit * abs(e):
            return True
        if kind == "abs" and abs(e - f) <= limit:
            return True
    return False


def difference(expected, found):
    """None, or what differs, in words."""
    if found is None:
        return "no line printed"
    if expected.fault and found.fault:
        return None  # a fault is a fault; its name is the implementation's
    if expected.fault != found.fault:
        return f"recorded '{' '.join(expected.words[:6])}', found '{' '.join(found.words[:6])}'"
    if expected.rule != found.rule or len(expected.words) != len(found.words):
        return f"other shape: recorded {len(expected.words)} words {expected.rule}, found {len(found.words)} {found.rule}"
    bad = [i for i, (e, f) in enumerate(zip(expected.words, found.words)) if not close(expected.rule, e, f)]
    if not bad:
        return None
    shown = ", ".join(f"[{i}] {expected.words[i]} found {found.words[i]}" for i in bad[:4])
    return f"{len(bad)} of {len(expected.words)} words: {shown}{' ...' if len(bad) > 4 else ''}"


def run(command, names, only, seconds):
    """All lines that the program prints, and for each case that ended it, why. Goes on behind such a case."""
    found, reasons, after, deadline = {}, {}, None, time.monotonic() + seconds
    while True:
        arguments = (["--only", only] if only else []) + (["--after", after] if after else [])
        left = deadline - time.monotonic()
        if left <= 0:
            reasons.setdefault(None, f"no more time ({seconds:.0f} s) after {after}")
            return found, reasons
        try:
            done = subprocess.run(command + arguments, capture_output=True, text=True, timeout=min(left, PATIENCE), errors="replace")
            out, err, rc = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as expired:
            out = (expired.stdout or b"").decode(errors="replace")
            err, rc = f"still running after {min(left, PATIENCE):.0f} s", -1
        lines = parse(out)
        found.update(lines)
        if rc == 0:
            return found, reasons
        printed = list(lines)
        if printed and lines[printed[-1]].fault:
            culprit = printed[-1]
        else:  # died without a word: the case after the last that printed
            start = names.index(printed[-1] if printed else after) + 1 if printed or after else 0
            culprit = next((n for n in names[start:] if n not in found and (not only or only in n)), None)
        text = " / ".join(err.strip().splitlines()[-3:]) or f"exit code {rc}"
        # Not one line, twice, for one reason: it is not the cases.
        hopeless = not found and text in reasons.values()
        reasons[culprit] = text
        if culprit is None or culprit == after or hopeless:
            reasons[None] = text
            return found, reasons
        after = culprit


def load_known(path, topic):
    """Lines `topic/case-pattern: why`; returns [(pattern, why)] of this topic."""
    known = []
    if path.exists():
        for row in path.read_text().splitlines():
            if row.strip() and not row.startswith("#"):
                pattern, _, why = row.partition(": ")
                if not why.strip():
                    raise SystemExit(f"{path}: '{row}': write 'topic/case-pattern: why'")
                if fnmatch.fnmatchcase(topic, pattern.split("/")[0]):
                    known.append((pattern.split("/", 1)[1], why.strip()))
    return known


def judge(expected, found, reasons, known):
    """(messages, counts) of one comparison."""
    messages, differing, expected_failures, used = [], 0, 0, set()
    for name, line in expected.items():
        text = difference(line, found.get(name))
        if text is None:
            continue
        matching = [i for i, (pattern, _) in enumerate(known) if fnmatch.fnmatchcase(name, pattern)]
        if matching:
            used.update(matching)
            expected_failures += 1
            continue
        differing += 1
        reason = reasons.get(name) or reasons.get(None)
        messages.append(f"{name}: {text}" + (f" ({reason})" if reason else ""))
    for name in found:
        if name not in expected:
            differing += 1
            messages.append(f"{name}: not in the recording; record again (record.sh) if the case is new")
    for i, (pattern, why) in enumerate(known):
        if i not in used:
            differing += 1
            messages.append(f"known.txt: '{pattern}' ({why}) differs no more: remove the entry")
    return messages, differing, expected_failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--known", type=pathlib.Path, default=HERE / "known.txt")
    parser.add_argument("--recording", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    recording = args.recording or HERE / f"{args.topic}.h200.txt"
    if not recording.exists():
        print(f"{recording} does not exist: record the topic on a GPU with record.sh", file=sys.stderr)
        return 2
    expected = parse(recording.read_text())
    names = list(expected)
    if args.only:
        expected = {n: l for n, l in expected.items() if args.only in n}
    known = [] if args.only else load_known(args.known, args.topic)
    started = time.monotonic()
    try:
        found, reasons = run(args.command, names, args.only, args.seconds)
    except OSError as error:
        print(f"cannot start {args.command[0]}: {error}", file=sys.stderr)
        return 2
    if not found and None in reasons:
        print(f"{args.topic}: the program prints nothing: {reasons[None]}", file=sys.stderr)
        return 2
    messages, differing, expected_failures = judge(expected, found, reasons, known)
    for message in messages[:SHOWN]:
        print(message)
    if len(messages) > SHOWN:
        print(f"... and {len(messages) - SHOWN} more")
    print(f"{args.topic}: {len(expected)} cases recorded, {len(expected) - differing - expected_failures} agree, "
          f"{differing} differ, {expected_failures} known to differ, {time.monotonic() - started:.1f} s")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
