#!/usr/bin/env python3
"""Writes demo.traj.json from kernels/hopper/gemm.cu: a misspelt name, a dropped step of K, then the kernel as it is."""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNEL = (ROOT / "kernels/hopper/gemm.cu").read_text()

LABEL = "written by the authors of ptxbench from kernels/hopper/gemm.cu; no model was asked"


def changed(old, new):
    assert KERNEL.count(old) == 1, (old, KERNEL.count(old))
    return KERNEL.replace(old, new)


TURNS = (
    ("A persistent TMA + wgmma kernel: one producer thread, two consumer warpgroups, four stages.",
     changed("sums_change_here(sums);\n  if (first_lane)", "sums_change_hear(sums);\n  if (first_lane)")),
    ("That was a misspelt name. Corrected.",
     # The last of the four wgmmas of a slice is left out: a quarter of K is never summed.
     changed("for (int k = 0; k < kTileK / kWgmmaK; ++k) {", "for (int k = 0; k < kTileK / kWgmmaK - 1; ++k) {")),
    ("The loop over a slice stopped one step short, so a quarter of K was missing. All four steps now.", KERNEL),
)


def trajectory():
    messages = [{"role": "assistant", "content": f"{words}\n\n```cuda\n{code}```\n", "extra": {"outcome": "answer"}}
                for words, code in TURNS]
    return {"info": {"recording": LABEL}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "experiments/demo.traj.json"
    out.write_text(json.dumps(trajectory(), indent=1) + "\n")
